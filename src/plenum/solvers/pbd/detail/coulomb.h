#pragma once
// Friction at one point, of what turns as it is pushed.
#include <Eigen/Eigenvalues>

#include <algorithm>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// The impulse of friction in the plane of contact. response [1/kg], symmetric and positive definite: what an
/// impulse moves the point by; sticks [kg m]: the impulse that would hold it; bound [kg m] >= 0: mu times
/// what presses. What is beyond the bound slides, and friction is against that: response (f - sticks) = -c f
/// for a c > 0 with |f| = bound (Moreau's maximal dissipation; Stewart & Trinkle 1996, "An implicit
/// time-stepping scheme for rigid body dynamics with inelastic collisions and Coulomb friction"). To cut
/// `sticks` down to the bound instead drives what is turned more easily along one axis than the other off
/// aside: bars that slid at 45 degrees to their course went six degrees off it.
inline Eigen::Vector2d coulomb(const Eigen::Matrix2d& response, const Eigen::Vector2d& sticks, double bound) {
  constexpr int most_steps = 30;
  const double length = sticks.norm();
  if (!(length > bound)) return sticks;
  if (!(bound > 0)) return Eigen::Vector2d::Zero();
  Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> axes;
  axes.computeDirect(response);
  const Eigen::Array2d k = axes.eigenvalues().array().max(0.0),
                       g = k * (axes.eigenvectors().transpose() * sticks).array();
  // 1 / |f| is nearly straight in c, from below: as in trust regions (More & Sorensen 1983).
  double c = 0;
  Eigen::Array2d f = g / k;
  if (!f.allFinite()) return (bound / length) * sticks;
  for (int step = 0; step < most_steps; ++step) {
    const double now = f.matrix().norm();
    if (!(now > bound * (1 + 1e-12))) break;
    const double slope = (f * f / (k + c)).sum();
    c += (now / bound - 1) * now * now / slope;
    f = g / (k + c);
  }
  const double reached = f.matrix().norm();
  if (!(reached > 0) || !f.allFinite()) return (bound / length) * sticks;
  return axes.eigenvectors() * (std::min(1.0, bound / reached) * f).matrix();
}

}}  // namespace plenum::PLENUM_ABI::detail
