#pragma once
// Solids of a boundary on their way through a part of the substep, with what tells quickly who is far away.
#include <vector>

#include "plenum/geometry/aabb.h"
#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

/// Samples that a parallel loop takes at a time.
inline constexpr std::size_t samples_per_block = 512;

struct SweptSolid {
  SolidBody body = {};         ///< with its poses at the start and the end of the part
  Aabb bounds = {};            ///< of the whole motion
  bool is_half_space = false;  ///< a plane that does not move: near are points x with normal . x < offset
  Vec3 normal = Vec3::Zero();
  Real offset = 0;                     ///< [m]
  Vec3 start_velocity = Vec3::Zero();  ///< [m/s] of the centre of mass, of what yields
  Vec3 start_spin = Vec3::Zero();      ///< [rad/s] of it
  Real width = 0;                      ///< [m] its least, where it is asked for

  /// Whether a straight path from x0 to x1 may come near. Most samples of a cloud of many are far from
  /// everything, and to find that out must cost no more than to read them.
  bool is_near(const Vec3& x0, const Vec3& x1) const {
    if (is_half_space)  // a straight path between points outside of it stays outside
      return std::min(normal.dot(x0), normal.dot(x1)) < offset;
    return bounds.overlaps({x0.cwiseMin(x1), x0.cwiseMax(x1)});
  }
};

/// A free body as what it bears pushes it along, on its way through a step of h [s].
Bearer bearer_of(const SweptSolid& solid, Real h);

/// Says how a body that goes through a step of h [s] yields to a support by it.
void bear_by(const SweptSolid& solid, Real h, Support& support);

/// Fills `out` with the bodies' motions in the part [s0, s1] of the substep, near being within `margin` [m].
void sweep(std::span<const SolidBody> bodies, Real s0, Real s1, Real margin, std::vector<SweptSolid>& out);

}  // namespace plenum::inline PLENUM_ABI
