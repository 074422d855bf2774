#pragma once
// When two moving convex shapes first touch.
#include <optional>

#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {

struct Impact {
  Real s;       ///< fraction of the motion, 0 to 1
  Vec3 normal;  ///< unit, from A to B, in the world
  Vec3 x;       ///< [m] in the world, midway between the surfaces
};

/// First moment at which shapes that move from a0 to a1 and from b0 to b1 (straight, and turning at a
/// constant rate the shorter way about their origins) come within `separation` [m, >= 0] of each other; none
/// if they never do. Conservative advancement (Mirtich 1996, "Impulse-based dynamic simulation of rigid body
/// systems", section 2.3.2) on proven lower bounds of the distance, so no contact is missed, however thin the
/// shapes or fast their motion. At the moment returned the distance lies between separation and separation +
/// tolerance [m, > 0]; if they start closer, that moment is 0. A motion so intricate that a thousand steps do
/// not settle it is cut short: the moment reached is returned, before any contact. For the pairs that
/// can_collide() knows; others give none. Allocates nothing.
std::optional<Impact> time_of_impact(const Shape& a, const Pose& a0, const Pose& a1, const Shape& b,
                                     const Pose& b0, const Pose& b1, Real separation, Real tolerance);

}  // namespace plenum::inline PLENUM_ABI
