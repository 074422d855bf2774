#pragma once
// An independent judge of how far rigid bodies overlap: in double precision, by other methods than those of
// geometry/collide, and for any engine's bodies alike.
#include <vector>

#include "plenum/math/pose.h"
#include "plenum/solvers/rigid/spec.h"

namespace plenum::bench {

/// Where a body is.
struct BodyPose {
  Vector3<double> position;
  Quaternion<double> rotation;
};

/// A convex solid: the hull of points, grown by a radius.
struct Solid {
  std::vector<Vector3<double>> points;  ///< [m] in the body's frame
  double radius = 0;                    ///< [m]
};
/// A sphere, box, capsule or hull, in its body's frame. Throws Error for other shapes.
Solid solid_of(const rigid::ShapeSpec& shape);

/// How deep [m] two solids overlap: the least translation that parts them; negative, the distance between
/// them. Distance by Wolfe 1976, "Finding the nearest point in a polytope"; depth by all separating axes.
double overlap(const Solid& a, const BodyPose& at, const Solid& b, const BodyPose& bt);

/// Of all pairs of shapes of two bodies that overlap, one of them movable.
struct Overlaps {
  std::size_t pairs = 0;
  double mean = 0, largest = 0;  ///< [m]
};
Overlaps overlaps(const rigid::Spec& spec, const std::vector<BodyPose>& poses);

}  // namespace plenum::bench
