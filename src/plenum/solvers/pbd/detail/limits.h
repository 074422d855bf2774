#pragma once
// Where solids that do not yield leave particles no way.
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// A particle of a substep and the plane of a solid: normal . way >= least, for its way from where ways are
/// counted.
struct PbdLimit {
  Index particle;
  Vec3 normal;      ///< unit, out of the solid
  Real least;       ///< [m]
  Real goes;        ///< [m] that the solid goes along it in the substep
  Real yields = 0;  ///< [1/kg] of the solid, there and along the normal; 0: it does not
  Index by = -1;    ///< of what yields: which of its touches this is
};

/// What a limit took from particles, and what yields is to be given, as nothing else has it.
struct PbdGiven {
  Index by;      ///< see PbdLimit
  Vec3 impulse;  ///< [kg m]
};

}  // namespace plenum::inline PLENUM_ABI
