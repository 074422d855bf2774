#pragma once
// What rounding may add to a motion in float.
#include <cmath>
#include <limits>

namespace plenum::validation {

/// Error that rounding leaves in a motion of size 1 after `steps` steps, in float unless told otherwise. A
/// step rounds numbers of that size some 16 times at most (two components, stages and sums of up to four
/// terms), each time by half an eps at most and in either direction: the errors add up as a random walk
/// (Henrici 1962, "Discrete variable methods in ordinary differential equations", section 1.5), here to four
/// standard deviations.
inline double rounding_of(int steps, double epsilon = std::numeric_limits<float>::epsilon()) {
  return 4 * std::sqrt(16.0 * steps) * epsilon / 2;
}

}  // namespace plenum::validation
