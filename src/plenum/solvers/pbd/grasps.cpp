#include "plenum/solvers/pbd/detail/grasps.h"

namespace plenum::inline PLENUM_ABI {

/// Macklin, Mueller & Chentanez 2016, eq. 26, with alpha = 1 / (m w^2), beta = 2 m w and gamma = alpha beta /
/// h = 2 / (w h); of a free particle the step of implicit Euler.
void PbdGrasps::hold(std::span<detail::Place> places, std::span<const Vec3> gone, std::span<const Vec3> x0,
                     Real f0, Real f1, Real h) {
  for (std::size_t k = 0; k < grasps_.size(); ++k) {
    const Grasp& grasp = grasps_[k];
    const auto i = static_cast<std::size_t>(grasp.sample);
    if (i >= places.size() || !(places[i].inverse_mass > 0)) continue;
    detail::Place& place = places[i];
    const Vec3 way = grasp.to - grasp.from, at(place.x[0], place.x[1], place.x[2]);
    const Vec3 off = at - (grasp.from + f1 * way - x0[i]);
    const Vec3 moved = at - gone[i] - (f1 - f0) * way;
    const Real wh = grasp.rate * h, soft = 1 / (wh * wh), damping = 2 / wh;
    const Vec3 change = -(off + soft * given_[k] + damping * moved) / (1 + damping + soft);
    given_[k] += change;
    for (int c = 0; c < 3; ++c) place.x[c] += change[c];
  }
}

}  // namespace plenum::inline PLENUM_ABI
