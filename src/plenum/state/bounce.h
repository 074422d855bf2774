#pragma once
// When contacts bounce.
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// [m/s^2] sets the scale of the restitution threshold, and of how near a sample is to rest; nothing else.
inline constexpr Real earth_gravity = Real(9.81);

/// Whether a contact with restitution e, met at the speed `approach` [m/s], bounces: what falls back within
/// the step h [s] would do so for ever.
inline bool bounces(Real approach, Real e, Real h) {
  return e > 0 && approach > 2 * earth_gravity * h;
}

}  // namespace plenum::inline PLENUM_ABI
