#pragma once
// Where a triangle, or an edge, is nearest to a shape.
#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {

/// Of a triangle, or of an edge, in a shape's frame.
struct TriangleCorners {
  Vec3 x[3];      ///< [m]
  int count = 3;  ///< 2 of an edge
  Vec3 at(const Vec3& weight) const { return weight[0] * x[0] + weight[1] * x[1] + weight[2] * x[2]; }
};

/// [m] radius of the ball that rolls over all of its surface from within.
Real rounding_of(const Shape& shape);

inline constexpr int steps_to_nearest = 10;
/// How much nearer the shape a point is that counts as much as one in the triangle's middle, at one edge's
/// length from there: part of that length. With 0 the gap's gradient is the shape's.
inline constexpr Real pull_to_middle = Real(0.025);
/// Weights of the point with the least signed distance to a convex shape, to 1e-3 of `thickness` [m], and of
/// points about as near, with a `pull`, the one nearest to the middle; sought from `start`, weights that sum
/// to 1, in as many steps at most, or else from the middle in steps_to_nearest.
Vec3 nearest_weights(const Shape& shape, const TriangleCorners& corners, Real thickness, Real pull = 0);
Vec3 nearest_weights(const Shape& shape, const TriangleCorners& corners, Real thickness, const Vec3& start,
                     int steps, Real pull = 0);

}  // namespace plenum::inline PLENUM_ABI
