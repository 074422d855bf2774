#pragma once
// Penetration depth of two convex sets known by their support functions.
//
// Expanding polytope algorithm: van den Bergen 2001, "Proximity queries and penetration depth computation on
// 3D game objects". Starts from the simplex with which gjk() found the overlap.
#include "plenum/geometry/collide/gjk.h"

namespace plenum::inline PLENUM_ABI {

template <class T>
struct EpaResult {
  T depth;            ///< [m] >= 0: moving B by depth * normal separates the sets
  T lower_bound;      ///< [m] no shorter move than this does
  Vector3<T> normal;  ///< unit, from A to B
  Vector3<T> a, b;    ///< the deepest points: a of A inside B, b of B inside A
  int iterations;
};

namespace detail {

/// The polytope inside the Minkowski difference. Fixed memory.
template <class T>
class Polytope {
 public:
  static constexpr int most_vertices = 128, most_faces = 512;
  struct Face {
    int v[3];
    Vector3<T> normal;
    T distance;  ///< of its plane from the origin; infinite for needles, which are never nearest
  };

  SimplexVertex<T> vertices[most_vertices];
  Face faces[most_faces];
  int num_vertices = 0, num_faces = 0;

  void add_face(int a, int b, int c) {
    const Vector3<T>&p = vertices[a].w, &q = vertices[b].w, &r = vertices[c].w;
    const Vector3<T> n = (q - p).cross(r - p);
    const T norm = n.norm();
    Face& f = faces[num_faces++];
    f.v[0] = a;
    f.v[1] = b;
    f.v[2] = c;
    const T longest = std::max({(q - p).squaredNorm(), (r - p).squaredNorm(), (r - q).squaredNorm()});
    if (norm > 64 * std::numeric_limits<T>::epsilon() * longest) {
      f.normal = n / norm;
      f.distance = std::max({f.normal.dot(p), f.normal.dot(q), f.normal.dot(r)});
    } else {
      f.normal.setZero();
      f.distance = std::numeric_limits<T>::infinity();
    }
  }

  int nearest_face() const {
    int best = 0;
    for (int f = 1; f < num_faces; ++f)
      if (faces[f].distance < faces[best].distance) best = f;
    return best;
  }

  /// Replaces the faces that see the new vertex by a fan around it. False if rounding spoilt their border.
  bool add_vertex(const SimplexVertex<T>& vertex, T slack) {
    if (num_vertices == most_vertices) return false;
    const int apex = num_vertices;
    struct Edge {
      int a, b;
    };
    Edge border[most_faces];
    int count = 0, kept = 0;
    for (int f = 0; f < num_faces; ++f) {
      const Face& face = faces[f];
      // A needle has no side of its own; it goes where its plane's absence cannot hurt, with the visible.
      const bool is_needle = !(face.distance < std::numeric_limits<T>::infinity());
      const bool visible = !is_needle && face.normal.dot(vertex.w) - face.distance > slack;
      if (!visible) {
        faces[kept++] = face;
        continue;
      }
      for (int k = 0; k < 3; ++k) {
        const int a = face.v[k], b = face.v[(k + 1) % 3];
        int twin = 0;
        while (twin < count && !(border[twin].a == b && border[twin].b == a)) ++twin;
        if (twin < count)
          border[twin] = border[--count];
        else if (count < most_faces)
          border[count++] = {a, b};
      }
    }
    if (count < 3 || kept + count > most_faces) return false;
    // One closed loop leaves and reaches each of its vertices once.
    for (int i = 0; i < count; ++i) {
      int leaving = 0, reaching = 0;
      for (int j = 0; j < count; ++j) {
        leaving += border[j].a == border[i].a;
        reaching += border[j].b == border[i].a;
      }
      if (leaving != 1 || reaching != 1) return false;
    }
    vertices[num_vertices++] = vertex;
    num_faces = kept;
    for (int i = 0; i < count; ++i) add_face(border[i].a, border[i].b, apex);
    return true;
  }
};

}  // namespace detail

/// Supports as for gjk(). Round sets should be handed over by their cores: a polytope of 128 vertices that
/// must follow a sphere everywhere, as between concentric ones, may stay 6 % of its radius inside. (Each new
/// vertex is at least the largest cap's angle t from all others, so caps of half that angle are a packing:
/// 124 (1 - cos t/2) <= 2 * 0.9069, Fejes Toth 1943, hence 1 - cos t <= 0.059.) Stops when depth - lower
/// bound <= relative * depth + absolute [m].
template <class T, class SupportA, class SupportB>
EpaResult<T> epa(const SupportA& support_a, const SupportB& support_b, const Simplex<T>& start,
                 T relative = T(1e-6), T absolute = T(0)) {
  using V = Vector3<T>;
  detail::Polytope<T> p;
  const auto sample = [&](const V& direction) {
    SimplexVertex<T> v;
    v.a = support_a(direction);
    v.b = support_b(V(-direction));
    v.w = v.a - v.b;
    return v;
  };
  T largest = 0;
  const auto push = [&](const SimplexVertex<T>& v) {
    p.vertices[p.num_vertices++] = v;
    largest = std::max(largest, v.w.norm());
  };
  for (int i = 0; i < start.count; ++i) push(start.v[i]);
  constexpr T epsilon = std::numeric_limits<T>::epsilon();

  // A touch leaves fewer than four points. Add those farthest off the point, line or plane.
  const auto& v = p.vertices;
  if (p.num_vertices == 1) {
    SimplexVertex<T> best = v[0];
    for (int i = 0; i < 6; ++i) {
      V direction = V::Zero();
      direction[i / 2] = i % 2 ? T(-1) : T(1);
      const auto s = sample(direction);
      largest = std::max(largest, s.w.norm());
      if ((s.w - v[0].w).squaredNorm() > (best.w - v[0].w).squaredNorm()) best = s;
    }
    if ((best.w - v[0].w).norm() <= 16 * epsilon * largest) return {0, 0, V::UnitY(), v[0].a, v[0].b, 0};
    push(best);
  }
  if (p.num_vertices == 2) {
    const V line = (v[1].w - v[0].w).normalized();
    SimplexVertex<T> best = v[0];
    T most = 0;
    const V across = line.unitOrthogonal(), other = line.cross(across);
    for (int i = 0; i < 6; ++i) {
      const T angle = T(1.0471975511965976) * T(i);
      const auto s = sample(V(std::cos(angle) * across + std::sin(angle) * other));
      const T off = (s.w - v[0].w).cross(line).norm();
      if (off > most) {
        most = off;
        best = s;
      }
    }
    if (most <= 16 * epsilon * largest) return {0, 0, across, v[0].a, v[0].b, 0};
    push(best);
  }
  if (p.num_vertices == 3) {
    const V n = (v[1].w - v[0].w).cross(v[2].w - v[0].w).normalized();
    const auto up = sample(n), down = sample(V(-n));
    const T above = n.dot(up.w - v[0].w), below = n.dot(v[0].w - down.w);
    if (std::max(above, below) <= 16 * epsilon * largest) return {0, 0, n, up.a, up.b, 0};
    push(above > below ? up : down);
  }
  // Outward faces.
  const bool flip = detail::volume(v[0].w, v[1].w, v[2].w, v[3].w) > 0;
  const int b = flip ? 2 : 1, c = flip ? 1 : 2;
  p.add_face(0, b, c);
  p.add_face(0, c, 3);
  p.add_face(0, 3, b);
  p.add_face(c, b, 3);

  // The support of any direction bounds the depth from above, the nearest face from below.
  EpaResult<T> r{std::numeric_limits<T>::infinity(), 0, V::UnitY(), V::Zero(), V::Zero(), 0};
  const T slack = 32 * epsilon * largest;
  typename detail::Polytope<T>::Face nearest = p.faces[0];
  for (r.iterations = 0; r.iterations < detail::Polytope<T>::most_vertices; ++r.iterations) {
    const auto& face = p.faces[p.nearest_face()];
    if (!(face.distance < std::numeric_limits<T>::infinity())) break;
    r.lower_bound = std::max(face.distance, T(0));
    const auto s = sample(face.normal);
    const T reach = face.normal.dot(s.w);
    // Where it converged, the last face; an earlier one may do as well by luck, but its corners are far apart
    // and so are the points that they would give.
    const bool converged = reach - face.distance <= relative * reach + std::max(absolute, slack);
    if (reach < r.depth || converged) {
      r.depth = reach;
      r.normal = face.normal;
      nearest = face;
    }
    if (converged) break;
    if (!p.add_vertex(s, slack)) break;
  }
  r.depth = std::max(r.depth, T(0));
  r.lower_bound = std::min(r.lower_bound, r.depth);
  // Witnesses: the origin's foot on the face. Of coplanar triangles, which are equally near, the one that
  // holds it.
  const auto weights = [&](const typename detail::Polytope<T>::Face& face) {
    const auto &s0 = p.vertices[face.v[0]], &s1 = p.vertices[face.v[1]], &s2 = p.vertices[face.v[2]];
    const V foot = nearest.distance * nearest.normal, n = (s1.w - s0.w).cross(s2.w - s0.w);
    const T n2 = n.squaredNorm();
    if (!(n2 > 0)) return V(1, 0, 0);
    const T w1 = (foot - s0.w).cross(s2.w - s0.w).dot(n) / n2,
            w2 = (s1.w - s0.w).cross(foot - s0.w).dot(n) / n2;
    return V(1 - w1 - w2, w1, w2);
  };
  V w = weights(nearest);
  if (w.minCoeff() < -T(1e-6)) {
    for (int f = 0; f < p.num_faces; ++f) {
      const auto& face = p.faces[f];
      if (face.distance - nearest.distance > slack || face.normal.dot(nearest.normal) < 1 - 64 * epsilon)
        continue;
      const V other = weights(face);
      if (other.minCoeff() > w.minCoeff()) {
        w = other;
        nearest = face;
      }
    }
  }
  const T w1 = std::clamp(w[1], T(0), T(1)), w2 = std::clamp(w[2], T(0), 1 - w1), w0 = 1 - w1 - w2;
  const auto &s0 = p.vertices[nearest.v[0]], &s1 = p.vertices[nearest.v[1]], &s2 = p.vertices[nearest.v[2]];
  r.a = w0 * s0.a + w1 * s1.a + w2 * s2.a;
  r.b = w0 * s0.b + w1 * s1.b + w2 * s2.b;
  return r;
}

}  // namespace plenum::inline PLENUM_ABI
