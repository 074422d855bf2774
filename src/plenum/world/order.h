#pragma once
// In which order systems step, and how far solids have gone by then.
#include "plenum/math/pose.h"
#include "plenum/state/boundary.h"
#include "plenum/world/system.h"

namespace plenum::inline PLENUM_ABI {

/// Which systems step when: solids first, wherever the scene names them, since contact needs to know where
/// they have gone. Those that meet others' solids need to know it of these.
inline int rank_of(System& system) {
  Boundary* const boundary = system.boundary();
  if (!boundary || !boundary->samples().x.empty()) return 2;
  if (boundary->meets_solids()) return 1;
  return boundary->bodies().empty() ? 2 : 0;
}

/// A solid on its way through the part [s0, s1] of the substep.
inline SolidBody part_of(SolidBody solid, Real s0, Real s1) {
  // What stands still does so to the last bit.
  const Pose from = solid.pose0, to = solid.pose;
  if (from.position != to.position || from.rotation.coeffs() != to.rotation.coeffs())
    solid.pose0 = between(from, to, s0), solid.pose = between(from, to, s1);
  return solid;
}

}  // namespace plenum::inline PLENUM_ABI
