#pragma once
// Where solids that do not yield leave particles no way.
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// A particle of a substep and the plane of a solid: normal . way >= least, for its way from where ways are
/// counted.
struct PbdLimit {
  Index particle;
  Vec3 normal;  ///< unit, out of the solid
  Real least;   ///< [m]
  Real goes;    ///< [m] that the solid goes along it in the substep
};

}  // namespace plenum::inline PLENUM_ABI
