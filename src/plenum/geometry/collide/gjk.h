#pragma once
// Distance of two convex sets known by their support functions.
//
// Gilbert, Johnson & Keerthi 1988, "A fast procedure for computing the distance between complex objects in
// three-dimensional space". The closest point of a simplex is found by the signed volumes of Montanari,
// Petrinic & Barbieri 2017, "Improving the GJK algorithm for faster and more reliable distance queries
// between convex objects", which decides by signs of volumes that rounding can hardly turn.
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// A point a - b of the Minkowski difference, with the points of both sets that make it.
template <class T>
struct SimplexVertex {
  Vector3<T> w, a, b;
};

/// One to four points of the Minkowski difference and the weights of the point nearest to the origin.
template <class T>
struct Simplex {
  SimplexVertex<T> v[4];
  T weight[4];
  int count = 0;
};

template <class T>
struct GjkResult {
  bool overlap;        ///< the sets share a point; then the rest but the simplex is 0
  T distance;          ///< [m] an upper bound, exact up to rounding and the tolerance
  T lower_bound;       ///< [m] a proven lower bound: the sets are separated by a slab this thick
  Vector3<T> normal;   ///< unit, from A to B: across that slab
  Vector3<T> a, b;     ///< closest points
  Simplex<T> simplex;  ///< where it ended; with overlap it holds the origin
  int iterations;
};

namespace detail {

/// Weights of the point of a simplex nearest to the origin; vertices that do not help get weight 0.
template <class T>
struct SubSimplex {
  T weight[4] = {0, 0, 0, 0};
  T squared = std::numeric_limits<T>::infinity();
};

template <class T>
void evaluate(SubSimplex<T>& s, const Simplex<T>& simplex) {
  Vector3<T> p = Vector3<T>::Zero();
  for (int i = 0; i < simplex.count; ++i) p += s.weight[i] * simplex.v[i].w;
  s.squared = p.squaredNorm();
}

// The vertex added last is part of the nearest feature, or the search has ended: only features that hold it
// are looked at. It has the highest number.

/// S1D of the paper, between vertices i and j.
template <class T>
SubSimplex<T> nearest_on_segment(const Simplex<T>& simplex, int i, int j) {
  const Vector3<T>&a = simplex.v[i].w, &b = simplex.v[j].w;
  SubSimplex<T> s;
  const Vector3<T> ab = b - a;
  const T length2 = ab.squaredNorm(), along = -a.dot(ab);
  const T t = length2 > 0 ? std::clamp(along / length2, T(0), T(1)) : T(0);
  s.weight[i] = 1 - t;
  s.weight[j] = t;
  s.squared = (s.weight[i] * a + s.weight[j] * b).squaredNorm();
  return s;
}

template <class T>
bool same_sign(T a, T b) {
  return (a > 0 && b > 0) || (a < 0 && b < 0);
}

/// S2D: the origin's foot in the plane of vertices i, j and k, by areas in the coordinate plane where the
/// triangle is largest. If the foot is not inside, no distance, but the sides (bits 1 << the vertex opposite)
/// that it is beyond.
template <class T>
SubSimplex<T> foot_in_triangle(const Simplex<T>& simplex, int i, int j, int k, unsigned& beyond) {
  const Vector3<T>&a = simplex.v[i].w, &b = simplex.v[j].w, &c = simplex.v[k].w;
  const Vector3<T> n = (b - a).cross(c - a);
  const T n2 = n.squaredNorm();
  SubSimplex<T> s;
  beyond = 1u << i | 1u << j | 1u << k;
  if (!(n2 > 0)) return s;
  const Vector3<T> foot = n * (a.dot(n) / n2);
  int axis;
  n.cwiseAbs().maxCoeff(&axis);
  const int x = (axis + 1) % 3, y = (axis + 2) % 3;
  const auto twice = [&](const Vector3<T>& p, const Vector3<T>& q, const Vector3<T>& r) {
    return (q[x] - p[x]) * (r[y] - p[y]) - (q[y] - p[y]) * (r[x] - p[x]);
  };
  const T total = n[axis], area[3] = {twice(foot, b, c), twice(a, foot, c), twice(a, b, foot)};
  beyond = (same_sign(total, area[0]) ? 0u : 1u << i) | (same_sign(total, area[1]) ? 0u : 1u << j) |
           (same_sign(total, area[2]) ? 0u : 1u << k);
  if (beyond != 0) return s;
  const T sum = area[0] + area[1] + area[2];
  s.weight[i] = area[0] / sum;
  s.weight[j] = area[1] / sum;
  s.weight[k] = area[2] / sum;
  evaluate(s, simplex);
  return s;
}

template <class T>
SubSimplex<T> nearest_on_triangle(const Simplex<T>& simplex) {
  unsigned beyond;
  SubSimplex<T> best = foot_in_triangle(simplex, 0, 1, 2, beyond);
  for (int i = 0; i < 2; ++i)
    if (beyond & (1u << (1 - i))) {
      const SubSimplex<T> s = nearest_on_segment(simplex, i, 2);
      if (s.squared < best.squared) best = s;
    }
  return best;
}

template <class T>
T volume(const Vector3<T>& a, const Vector3<T>& b, const Vector3<T>& c, const Vector3<T>& d) {
  return (b - a).cross(c - a).dot(d - a);
}

/// S3D.
template <class T>
SubSimplex<T> nearest_in_tetrahedron(const Simplex<T>& simplex) {
  const auto& v = simplex.v;
  const Vector3<T> o = Vector3<T>::Zero();
  const T part[4] = {volume(o, v[1].w, v[2].w, v[3].w), volume(v[0].w, o, v[2].w, v[3].w),
                     volume(v[0].w, v[1].w, o, v[3].w), volume(v[0].w, v[1].w, v[2].w, o)};
  const T total = volume(v[0].w, v[1].w, v[2].w, v[3].w);
  bool inside = true;
  for (T p : part) inside &= same_sign(total, p);
  SubSimplex<T> best;
  if (inside) {
    const T sum = part[0] + part[1] + part[2] + part[3];
    for (int i = 0; i < 4; ++i) best.weight[i] = part[i] / sum;
    best.squared = 0;
    return best;
  }
  bool edge[3] = {false, false, false};  // from i to the last vertex
  for (int i = 0; i < 3; ++i) {
    if (same_sign(total, part[i])) continue;
    const int j = i == 0 ? 1 : 0, k = i == 2 ? 1 : 2;
    unsigned beyond;
    const SubSimplex<T> s = foot_in_triangle(simplex, j, k, 3, beyond);
    if (s.squared < best.squared) best = s;
    edge[k] |= (beyond >> j & 1u) != 0;
    edge[j] |= (beyond >> k & 1u) != 0;
  }
  for (int i = 0; i < 3; ++i)
    if (edge[i]) {
      const SubSimplex<T> s = nearest_on_segment(simplex, i, 3);
      if (s.squared < best.squared) best = s;
    }
  return best;
}

}  // namespace detail

/// support_a, support_b: Vector3<T>(const Vector3<T>& direction), points of the sets farthest along it, in
/// one frame. Stops when distance - lower bound <= relative * distance + absolute [m], or as soon as the
/// lower bound exceeds `enough` [m].
template <class T, class SupportA, class SupportB>
GjkResult<T> gjk(const SupportA& support_a, const SupportB& support_b, const Vector3<T>& first_direction,
                 T relative = T(1e-6), T absolute = T(0), T enough = std::numeric_limits<T>::infinity()) {
  constexpr int most_iterations = 64;
  constexpr T epsilon = std::numeric_limits<T>::epsilon();
  GjkResult<T> r{false, 0, 0, Vector3<T>::UnitY(), Vector3<T>::Zero(), Vector3<T>::Zero(), {}, 0};
  Simplex<T>& s = r.simplex;
  const auto sample = [&](const Vector3<T>& direction) {
    SimplexVertex<T> v;
    v.a = support_a(direction);
    v.b = support_b(Vector3<T>(-direction));
    v.w = v.a - v.b;
    return v;
  };
  s.v[0] = sample(first_direction.squaredNorm() > 0 ? first_direction : Vector3<T>::UnitX());
  s.weight[0] = 1;
  s.count = 1;
  Vector3<T> v = s.v[0].w;
  T best = v.squaredNorm(), largest = best;
  bool solve = false;
  Simplex<T> last = s;
  for (r.iterations = 0; r.iterations < most_iterations; ++r.iterations) {
    if (solve) {
      const detail::SubSimplex<T> sub = s.count == 2   ? detail::nearest_on_segment(s, 0, 1)
                                        : s.count == 3 ? detail::nearest_on_triangle(s)
                                                       : detail::nearest_in_tetrahedron(s);
      if (s.count == 4 && sub.squared == 0) {
        r.overlap = true;
        return r;
      }
      if (!(sub.squared < best)) {  // rounding: no nearer than before
        s = last;
        break;
      }
      best = sub.squared;
      int kept = 0;
      for (int i = 0; i < s.count; ++i)
        if (sub.weight[i] > 0) {
          s.v[kept] = s.v[i];
          s.weight[kept++] = sub.weight[i];
        }
      s.count = kept;
      v.setZero();
      for (int i = 0; i < s.count; ++i) v += s.weight[i] * s.v[i].w;
    }
    if (best <= 16 * epsilon * epsilon * largest) {
      r.overlap = true;
      return r;
    }
    const T norm = std::sqrt(best);
    const SimplexVertex<T> next = sample(-v);
    // The direction that proves the bound is kept with it: where a later one is nearer to the origin, it may
    // well separate less.
    if (const T bound = v.dot(next.w) / norm; bound > r.lower_bound) {
      r.lower_bound = bound;
      r.normal = -v / norm;
    }
    largest = std::max(largest, next.w.squaredNorm());
    if (r.lower_bound > enough || norm - r.lower_bound <= relative * norm + absolute) break;
    bool known = false;
    for (int i = 0; i < s.count; ++i) known |= next.w == s.v[i].w;
    if (known) break;
    last = s;
    s.v[s.count++] = next;
    solve = true;
  }
  v.setZero();
  for (int i = 0; i < s.count; ++i) {
    v += s.weight[i] * s.v[i].w;
    r.a += s.weight[i] * s.v[i].a;
    r.b += s.weight[i] * s.v[i].b;
  }
  r.distance = v.norm();
  if (!(r.distance > 0)) {
    r.overlap = true;
    return r;
  }
  if (!(r.lower_bound > 0)) r.normal = -v / r.distance;
  r.lower_bound = std::min(r.lower_bound, r.distance);
  return r;
}

}  // namespace plenum::inline PLENUM_ABI
