#pragma once
// Constants of the formulas that tests compare with.

namespace plenum_test {

/// [m/s^2] of scenes that say nothing else.
inline constexpr double gravity = 9.81;

}  // namespace plenum_test
