#pragma once
// How parallel loops over a net are divided.
#include <cstddef>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Particles, springs or tetrahedra that a loop takes at a time.
inline constexpr std::size_t net_block = 4096;

}  // namespace plenum::inline PLENUM_ABI
