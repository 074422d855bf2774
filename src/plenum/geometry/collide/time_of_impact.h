#pragma once
// When two moving shapes first touch.
#include <optional>

#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {

/// A motion: straight, and turning at a constant rate about the origin.
struct Sweep {
  Pose start;
  Vec3 way;   ///< [m] of the origin
  Vec3 turn;  ///< [rad] rotation vector, of any length

  Pose at(Real s) const;  ///< 0 <= s <= 1
  /// From one pose to another, turning the shorter way.
  static Sweep between(const Pose& from, const Pose& to);
};

struct Impact {
  Real s;       ///< fraction of the motion, 0 to 1
  Vec3 normal;  ///< unit, from A to B, in the world
  Vec3 x;       ///< [m] in the world, midway between the surfaces
};

/// First moment at which two moving shapes come within `separation` [m, >= 0] of each other; none if they
/// never do. Conservative advancement (Mirtich 1996, "Impulse-based dynamic simulation of rigid body
/// systems", section 2.3.2) on proven lower bounds of the distance, so no contact is missed, however thin the
/// shapes or fast their motion. At the moment returned the distance lies between separation and separation +
/// tolerance [m, > 0]; if they start closer, that moment is 0. A motion so intricate that a thousand steps do
/// not settle it is cut short: the moment reached is returned, before any contact. For the pairs that
/// can_collide() knows, and for a mesh with any of these shapes, a plane or another mesh, by their triangles;
/// what comes to an open mesh from behind its faces passes. Others give none. Allocates nothing.
std::optional<Impact> time_of_impact(const Shape& a, const Sweep& sweep_a, const Shape& b,
                                     const Sweep& sweep_b, Real separation, Real tolerance);

}  // namespace plenum::inline PLENUM_ABI
