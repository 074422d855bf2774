#include "plenum/geometry/nearest_on_triangle.h"

#include <algorithm>
#include <cmath>

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr int line_searches = 5;

/// Where a rising function is zero between two places, by the Illinois rule of false position; `low` and
/// `high` hold its values there, of either sign. Source: Dowell & Jarratt 1971, "A modified regula falsi
/// method for computing the root of an equation", BIT 11.
template <class F>
Real root_between(Real low, Real high, F&& value) {
  Real from = 0, to = 1, middle = 0;
  for (int k = 0, last = 0; k < line_searches; ++k) {
    middle = from - low * (to - from) / (high - low);
    const Real at = value(middle);
    if (at < 0) {
      from = middle, low = at;
      if (last < 0) high /= 2;
      last = -1;
    } else {
      to = middle, high = at;
      if (last > 0) low /= 2;
      last = 1;
    }
    if (!(high > low)) break;
  }
  return middle;
}

Vec3 middle_of(const TriangleCorners& corners) {
  return corners.count == 2 ? Vec3(Real(0.5), Real(0.5), 0) : Vec3::Constant(Real(1) / 3);
}

}  // namespace

Real rounding_of(const Shape& shape) {
  if (const auto* const ball = std::get_if<SphereShape>(&shape.variant())) return ball->radius;
  if (const auto* const capsule = std::get_if<CapsuleShape>(&shape.variant())) return capsule->radius;
  return 0;
}

// Weights of the point with the least signed distance, to a part of the thickness: that of what is convex is
// so along a triangle, and the Frank-Wolfe method finds it (Macklin, Erleben, Mueller, Chentanez, Jeschke &
// Corse 2020, "Local optimization for robust signed distance field collision", section 4). Its steps go from
// the corner that is worst to the one that is best, as those towards a corner get to the inside of a
// triangle but slowly: by one over their number (Lacoste-Julien & Jaggi 2015, "On the global linear
// convergence of Frank-Wolfe optimization variants", section 2, pairwise).
// Of points that are as near, by a face or an edge that lies along the triangle, it is the one nearest to the
// middle: with no choice between them it jumped from step to step, and crates on jelly trembled. A square of
// the way from the middle, added to what is convex, makes it strictly so, and where it is least continuous in
// what moves (Tikhonov 1963, "Solution of incorrectly formulated problems and the regularization method").
Vec3 nearest_weights(const Shape& shape, const TriangleCorners& corners, Real thickness, const Vec3& start,
                     int steps, Real pull_to) {
  const Vec3 middle = corners.at(middle_of(corners));
  Real longest2 = 0;
  for (int j = 0; j < corners.count; ++j)
    longest2 = std::max(longest2, (corners.x[(j + 1) % corners.count] - corners.x[j]).squaredNorm());
  const Real pull = longest2 > 0 ? 2 * pull_to / std::sqrt(longest2) : Real(0);
  const auto gradient = [&](const Vec3& x) {
    return Vec3(shape.signed_distance(x).normal + pull * (x - middle));
  };
  Vec3 weight = start;
  for (int step = 0; step < steps; ++step) {
    const Vec3 at = corners.at(weight), normal = gradient(at);
    int to = 0, from = -1;
    for (int j = 0; j < corners.count; ++j) {
      if (normal.dot(corners.x[j] - corners.x[to]) < 0) to = j;
      if (weight[j] > 0 && (from < 0 || normal.dot(corners.x[j] - corners.x[from]) > 0)) from = j;
    }
    // No point of a convex function is lower than this along its gradient.
    if (!(normal.dot(corners.x[to] - at) < Real(-1e-3) * thickness)) break;
    const Vec3 way = weight[from] * (corners.x[to] - corners.x[from]);
    const auto slope = [&](Real s) { return gradient(at + s * way).dot(way); };
    const Real low = normal.dot(way), high = slope(1);
    if (!(low < 0)) break;
    const Real s = high > 0 ? root_between(low, high, slope) : Real(1);
    weight[to] += s * weight[from];
    weight[from] = s < 1 ? (1 - s) * weight[from] : Real(0);
  }
  return weight;
}

Vec3 nearest_weights(const Shape& shape, const TriangleCorners& corners, Real thickness, Real pull) {
  return nearest_weights(shape, corners, thickness, middle_of(corners), steps_to_nearest, pull);
}

}  // namespace plenum::inline PLENUM_ABI
