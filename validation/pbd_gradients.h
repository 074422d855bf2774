#pragma once
// What the files of pbd/gradients share.
#include <random>

#include "plenum/base/real.h"
#include "validation.h"

namespace plenum::validation {

inline double between(std::mt19937& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}
inline Vector3<double> anywhere(std::mt19937& random, double range) {
  const double x = between(random, -range, range), y = between(random, -range, range);
  return {x, y, between(random, -range, range)};
}
/// The larger, and what is no number if either is none.
inline void take(double& worst, double error) {
  if (!(error <= worst)) worst = error;
}

/// Of what only the solver itself projects (pbd_gradients_solver.cpp): tethers, attachments, joints,
/// contacts; what a hand holds; gas, shapes, and patches of cloth.
void check_gradients_of_solver(Rows& rows);

}  // namespace plenum::validation
