#include "plenum/geometry/convex_hull.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "plenum/geometry/triangle_distance.h"

namespace plenum::inline PLENUM_ABI {

void ConvexHull::pack() {
  const std::size_t v = padded(vertices.size()), f = padded(faces.size()), e = padded(edges.size());
  lanes.assign(3 * v + 4 * f + 12 * e, 0);
  Real* row = lanes.data();
  for (int axis = 0; axis < 3; ++axis, row += v)
    for (std::size_t i = 0; i < v; ++i) row[i] = vertices[std::min(i, vertices.size() - 1)][axis];
  for (int axis = 0; axis < 4; ++axis, row += f)
    for (std::size_t i = 0; i < f; ++i)
      row[i] = i < faces.size() ? (axis < 3 ? faces[i].normal[axis] : faces[i].offset)
                                : (axis < 3 ? Real(0) : std::numeric_limits<Real>::infinity());
  for (int axis = 0; axis < 12; ++axis, row += e)
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const Edge& edge = edges[i];
      row[i] = axis < 3   ? (vertices[edge.b] - vertices[edge.a])[axis]
               : axis < 6 ? faces[edge.left].normal[axis - 3]
               : axis < 9 ? faces[edge.right].normal[axis - 6]
                          : vertices[edge.a][axis - 9];
    }
}

std::uint16_t ConvexHull::support(const Vec3& direction) const {
  std::size_t best = 0;
  Real most = -std::numeric_limits<Real>::infinity();
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const Real along = vertices[i].dot(direction);
    if (along > most) {
      most = along;
      best = i;
    }
  }
  return static_cast<std::uint16_t>(best);
}

ConvexHull ConvexHull::box(const Vec3& half_extents) {
  ConvexHull hull;
  const Vec3& h = half_extents;
  for (int i = 0; i < 8; ++i)
    hull.vertices.emplace_back(i & 1 ? h[0] : -h[0], i & 2 ? h[1] : -h[1], i & 4 ? h[2] : -h[2]);
  // Counter-clockwise from outside; face 2 axis + (positive side).
  constexpr std::uint16_t corners[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                           {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
  std::array<int, 64> face_of;
  face_of.fill(-1);
  for (int f = 0; f < 6; ++f) {
    Vec3 normal = Vec3::Zero();
    normal[f / 2] = f % 2 ? Real(1) : Real(-1);
    hull.faces.push_back({normal, h[f / 2], static_cast<std::uint16_t>(4 * f), 4});
    for (int k = 0; k < 4; ++k) {
      hull.corners.push_back(corners[f][k]);
      face_of[static_cast<std::size_t>(corners[f][k] * 8 + corners[f][(k + 1) % 4])] = f;
    }
  }
  for (std::uint16_t a = 0; a < 8; ++a)
    for (std::uint16_t b = a + 1; b < 8; ++b)
      if (face_of[static_cast<std::size_t>(a * 8 + b)] >= 0)
        hull.edges.push_back({a, b, static_cast<std::uint16_t>(face_of[static_cast<std::size_t>(a * 8 + b)]),
                              static_cast<std::uint16_t>(face_of[static_cast<std::size_t>(b * 8 + a)])});
  hull.bounds = {-h, h};
  hull.pack();
  return hull;
}

TriangleMesh triangulate(const ConvexHull& hull) {
  TriangleMesh mesh;
  mesh.x = hull.vertices;
  for (const ConvexHull::Face& f : hull.faces)
    for (std::uint16_t k = 1; k + 1 < f.count; ++k)
      mesh.triangles.emplace_back(hull.corners[f.first], hull.corners[std::size_t(f.first) + k],
                                  hull.corners[std::size_t(f.first) + k + 1]);
  return mesh;
}

namespace {

/// By how much [m] heights of x over faces may be off: a hull's points are outside of its planes by up to
/// four times its tolerance, and products round.
Real doubt_of_heights(const ConvexHull& hull, const Vec3& x) {
  const Vec3 farthest = hull.bounds.low.cwiseAbs().cwiseMax(hull.bounds.high.cwiseAbs());
  constexpr Real epsilon = std::numeric_limits<Real>::epsilon();
  return 4 * std::max(8 * epsilon * farthest.sum(), Real(1e-7) * hull.bounds.size().maxCoeff()) +
         4 * epsilon * x.lpNorm<1>();
}

/// The nearest point of the faces that a search has looked at.
struct NearestFace {
  Real squared = std::numeric_limits<Real>::infinity();
  Vec3 to = Vec3::Zero();  ///< x from its nearest point

  void look_at(const ConvexHull& hull, const ConvexHull::Face& f, Real height, const Vec3& x) {
    if (height * height > squared) return;  // a plane's height bounds the distance to its face from below
    const std::uint16_t* c = &hull.corners[f.first];
    // Over the face's prism the plane's foot is nearest.
    bool inside = true;
    for (std::uint16_t k = 0; k < f.count && inside; ++k) {
      const Vec3 &a = hull.vertices[c[k]], &b = hull.vertices[c[k + 1 < f.count ? k + 1 : 0]];
      inside = (b - a).cross(x - a).dot(f.normal) >= 0;
    }
    if (inside) {
      if (height * height < squared) {
        squared = height * height;
        to = height * f.normal;
      }
      return;
    }
    for (std::uint16_t k = 0; k < f.count; ++k) {
      const Vec3 &a = hull.vertices[c[k]], &b = hull.vertices[c[k + 1 < f.count ? k + 1 : 0]];
      const Vec3 ab = b - a;
      const Real s = std::clamp((x - a).dot(ab) / ab.squaredNorm(), Real(0), Real(1));
      const Vec3 d = x - (a + s * ab);
      if (d.squaredNorm() < squared) {
        squared = d.squaredNorm();
        to = d;
      }
    }
  }
};

/// Nearest of all faces, triangle by triangle.
SignedDistance<Real> nearest_triangle(const ConvexHull& hull, const Vec3& x, Real doubt) {
  Real least = std::numeric_limits<Real>::infinity();
  Vec3 to = Vec3::Zero();
  const ConvexHull::Face* nearest = nullptr;
  for (const ConvexHull::Face& f : hull.faces) {
    if (std::abs(f.normal.dot(x) - f.offset) > least + doubt) continue;
    const auto corner = [&](int n) -> Vector3<double> {
      return (hull.vertices[hull.corners[std::size_t(f.first + n)]] - x).cast<double>();
    };
    for (int k = 1; k + 1 < f.count; ++k) {
      const Vec3 offset =
          closest_on_triangle<double>(Vector3<double>::Zero(), corner(0), corner(k), corner(k + 1))
              .point.cast<Real>();
      if (const Real d = offset.norm(); d < least) least = d, to = -offset, nearest = &f;
    }
  }
  return {least, least > doubt ? Vec3(to / least) : nearest->normal};
}

}  // namespace

SignedDistance<Real> hull_distance(const ConvexHull& hull, const Vec3& x) {
  Real most = -std::numeric_limits<Real>::infinity();
  const ConvexHull::Face* nearest_plane = nullptr;
  const auto height_over = [&](const ConvexHull::Face& f) { return f.normal.dot(x) - f.offset; };
  for (const ConvexHull::Face& f : hull.faces) {
    const Real height = height_over(f);
    if (height > most) {
      most = height;
      nearest_plane = &f;
    }
  }
  const Real doubt = doubt_of_heights(hull, x);
  if (most <= 0) {
    // All of the hull is behind each of its planes, so that a ball inside that comes near one is as small:
    // what is farther from the surface is beyond a sharp edge.
    if (most > -doubt)
      if (const auto d = nearest_triangle(hull, x, doubt); d.distance > 2 * doubt) return d;
    return {most, nearest_plane->normal};
  }
  // The nearest point lies on a face that sees x.
  NearestFace seen;
  for (const ConvexHull::Face& f : hull.faces)
    if (const Real height = height_over(f); height >= 0) seen.look_at(hull, f, height, x);
  const Real distance = std::sqrt(seen.squared);
  // By rounding those that do may be others, far from x where it is on the surface or in the plane of
  // something flat. A point p is nearest to x if and only if all of the hull is behind the plane through p
  // across x - p; what is before it bounds the error.
  if (distance > doubt &&
      seen.to.dot(hull.vertices[hull.support(seen.to)] - (x - seen.to)) > doubt * distance)
    return nearest_triangle(hull, x, doubt);
  if (!(distance > 0)) return {most, nearest_plane->normal};
  return {distance, seen.to / distance};
}

std::optional<RayHit> intersect_hull(const Ray& ray, const ConvexHull& hull) {
  Real enter = -std::numeric_limits<Real>::infinity(), leave = std::numeric_limits<Real>::infinity();
  const ConvexHull::Face *in = nullptr, *out = nullptr;
  for (const ConvexHull::Face& f : hull.faces) {
    const Real height = f.offset - f.normal.dot(ray.origin), rate = f.normal.dot(ray.direction);
    if (rate == 0) {
      if (height < 0) return std::nullopt;
      continue;
    }
    const Real t = height / rate;
    if (rate < 0 && t > enter) {
      enter = t;
      in = &f;
    } else if (rate > 0 && t < leave) {
      leave = t;
      out = &f;
    }
  }
  if (enter > leave) return std::nullopt;
  if (in && enter >= ray.t_min && enter <= ray.t_max) return RayHit{.t = enter, .normal = in->normal};
  if (out && leave >= ray.t_min && leave <= ray.t_max) return RayHit{.t = leave, .normal = out->normal};
  return std::nullopt;
}

}  // namespace plenum::inline PLENUM_ABI
