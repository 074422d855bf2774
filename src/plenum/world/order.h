#pragma once
// In which order systems step, and how far solids have gone by then.
#include "plenum/math/pose.h"
#include "plenum/state/boundary.h"
#include "plenum/world/system.h"

namespace plenum::inline PLENUM_ABI {

inline constexpr int last_rank = 3;

/// Which systems step when: solids first, wherever the scene names them, since contact needs to know where
/// they have gone. Then what flows around bodies, so that these meet its push together with all else that
/// touches them. Those that meet others' solids need to know where these have gone.
inline int rank_of(System& system) {
  Boundary* const boundary = system.boundary();
  if (!boundary || !boundary->samples().x.empty()) return last_rank;
  if (boundary->surrounds_bodies()) return 1;
  if (boundary->meets_solids()) return 2;
  return boundary->bodies().empty() ? last_rank : 0;
}

/// A solid on its way through the part [s0, s1] of the substep.
inline SolidBody part_of(SolidBody solid, Real s0, Real s1) {
  // What stands still does so to the last bit.
  const Pose from = solid.pose0, to = solid.pose;
  if (from.position != to.position || from.rotation.coeffs() != to.rotation.coeffs())
    solid.pose0 = between(from, to, s0), solid.pose = between(from, to, s1);
  return solid;
}

/// A solid that is yet to step, from the time t0 [s] after the start of the substep to t1, if nothing touches
/// it.
inline SolidBody foreseen(SolidBody solid, Real t0, Real t1) {
  const Pose now = solid.pose;
  const Vec3 arm = now.position - solid.centre;
  const auto at = [&](Real t) {
    const Vec3 angle = t * solid.angular_velocity;
    const Real size = angle.norm();
    const Quat turn = size > 0 ? Quat(Eigen::AngleAxis<Real>(size, angle / size)) : Quat(1, 0, 0, 0);
    const Vec3 centre = solid.centre + t * (solid.velocity - solid.angular_velocity.cross(arm));
    return Pose{Vec3(centre + turn * arm), (turn * now.rotation).normalized()};
  };
  solid.pose0 = t0 > 0 ? at(t0) : now;
  solid.pose = t1 > 0 ? at(t1) : now;
  return solid;
}

}  // namespace plenum::inline PLENUM_ABI
