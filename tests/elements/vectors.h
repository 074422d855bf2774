#pragma once
// Random vectors for the tests of forces.
#include <random>

#include "plenum/base/real.h"

namespace plenum::test {

using V = Vector3<double>;

/// In the cube of half extents `range`.
inline V random_vector(std::mt19937& random, double range = 1) {
  std::uniform_real_distribution<double> u(-range, range);
  return {u(random), u(random), u(random)};
}

}  // namespace plenum::test
