#pragma once
// What tests of geometry share: random points, and distances by plain means.
#include <algorithm>
#include <cmath>

#include "plenum/base/random.h"
#include "plenum/base/real.h"

namespace plenum::test {

using Point = Vector3<double>;

/// The i-th point of a stream, in the cube of half extents `range`; each file has a seed of its own.
template <std::uint64_t seed>
Vec3 random_point(std::uint64_t i, Real range, std::uint64_t stream = 1) {
  return range * (Real(2) * uniform4(seed, i, stream).head<3>() - Vec3::Ones());
}

inline double segment_distance(const Point& p, const Point& a, const Point& b) {
  const double length2 = (b - a).squaredNorm();
  const double t = length2 > 0 ? std::clamp((p - a).dot(b - a) / length2, 0.0, 1.0) : 0;
  return (p - a - t * (b - a)).norm();
}

/// By exhaustion of a triangle's features, independent of Voronoi regions: the foot in the plane if it lies
/// inside, else the nearest of the three sides. The triangle may be degenerate.
inline double triangle_distance(const Point& p, const Point& a, const Point& b, const Point& c) {
  const Point n = (b - a).cross(c - a);
  const auto left_of = [&](const Point& u, const Point& v) { return n.cross(v - u).dot(p - u) >= 0; };
  if (n.norm() > 1e-12 && left_of(a, b) && left_of(b, c) && left_of(c, a))
    return std::abs(n.dot(p - a)) / n.norm();
  return std::min({segment_distance(p, a, b), segment_distance(p, b, c), segment_distance(p, c, a)});
}

}  // namespace plenum::test
