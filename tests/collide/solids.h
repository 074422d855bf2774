#pragma once
// Random solids and an independent reference for their separation, in double precision.
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "plenum/base/random.h"
#include "plenum/geometry/convex_hull.h"
#include "plenum/geometry/shape.h"

namespace plenum { namespace test {

using Point = Vector3<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A stream of reproducible random numbers.
class Dice {
 public:
  explicit Dice(std::uint64_t stream) : stream_(stream) {}
  double uniform() {
    if (used_ == 4) {
      four_ = uniform4(7, index_++, stream_);
      used_ = 0;
    }
    return static_cast<double>(four_[used_++]);
  }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  int below(int n) { return std::min(n - 1, static_cast<int>(uniform() * n)); }
  Point direction() {
    for (;;) {
      const Point p(between(-1, 1), between(-1, 1), between(-1, 1));
      if (p.norm() > 0.1 && p.norm() < 1) return p.normalized();
    }
  }
  Quat rotation() {
    for (;;) {
      Eigen::Quaterniond q(between(-1, 1), between(-1, 1), between(-1, 1), between(-1, 1));
      if (q.norm() < 0.1 || q.norm() > 1) continue;
      q.normalize();
      return Quat(q.cast<Real>()).normalized();
    }
  }

 private:
  std::uint64_t stream_, index_ = 0;
  Vec4 four_ = Vec4::Zero();
  int used_ = 4;
};

inline Quat turn(double angle, const Vec3& axis) {
  return Quat(Eigen::AngleAxis<Real>(static_cast<Real>(angle), axis.normalized()));
}

enum Kind { sphere, capsule, box, cylinder, cone, hull, num_kinds };
inline const char* name_of(Kind k) {
  constexpr const char* names[] = {"sphere", "capsule", "box", "cylinder", "cone", "hull"};
  return names[k];
}

/// Half extents, radii and heights between 0.3 and 1 times `size`.
Shape random_shape(Kind kind, Dice& dice, double size);

double least_half_extent(const Shape& shape);

/// A solid of the reference: support function in the world, and of a polyhedron all planes and edges, found
/// by trying every three vertices.
struct Solid {
  std::function<Point(const Point&)> support;
  bool is_polyhedron = false;
  std::vector<Point> vertices;
  std::vector<Point> normals;                 // of faces
  std::vector<std::array<int, 3>> triangles;  // on the surface
  std::vector<std::array<int, 2>> edges;
};

Solid solid_of(const Shape& shape, const Pose& pose);

/// Separation along a unit direction from A to B.
double separation(const Solid& a, const Solid& b, const Point& n);

double segment_distance(const Point& p0, const Point& p1, const Point& q0, const Point& q1);

/// Distance of a point from a triangle's plane, or infinity where the foot is outside of the triangle.
double triangle_height(const Point& p, const Point& a, const Point& b, const Point& c);

/// Signed separation of two polyhedra: distance, or minus the least depth over every axis.
double polyhedra_separation(const Solid& a, const Solid& b);

/// The best separating direction found by sampling the sphere densely and climbing from the best samples: a
/// lower bound of the signed separation of any convex pair.
double sampled_separation(const Solid& a, const Solid& b, int samples = 800);

}}  // namespace plenum::test
