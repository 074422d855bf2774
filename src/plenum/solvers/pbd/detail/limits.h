#pragma once
// Where solids that do not yield leave particles no way.
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// A particle of a substep and the plane of a solid: normal . way >= least, for its way from where ways are
/// counted.
struct PbdLimit {
  Index particle;
  Vec3 normal;          ///< unit, out of the solid
  Real least;           ///< [m]
  Real goes;            ///< [m] that the solid goes along it in the substep
  bool yields = false;  ///< whether the solid is free
  Index by = -1;        ///< of what yields: which of its touches this is
};

/// Particles of a pair that what yields has kept from going on, by one that lies on it: they have struck it.
struct PbdStrike {
  Index by;     ///< see PbdLimit
  Vec3 normal;  ///< unit, of the pair, the way that they were pushed back
  Index particles[4];
  int count;
};

}  // namespace plenum::inline PLENUM_ABI
