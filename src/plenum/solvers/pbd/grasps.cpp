#include "plenum/solvers/pbd/detail/grasps.h"

namespace plenum::inline PLENUM_ABI {

/// Macklin, Mueller & Chentanez 2016, eq. 26, with alpha = 1 / (m w^2), beta = 2 m w and gamma = alpha beta /
/// h = 2 / (w h); of a free particle the step of implicit Euler. An impulse p that comes to it moves particle
/// and spring together, m dx (1 + 2 w h + w^2 h^2) = p: solved with all else by the Schur complement of the
/// spring's own equation. Held by turns with all else, a particle gives no more than its inertia m / h^2.
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
    const Real wh = grasp.rate * h, heavier = 1 + 2 * wh + wh * wh;
    const Vec3 change = -(wh * wh * off + 2 * wh * moved) / heavier;
    for (int c = 0; c < 3; ++c) place.x[c] += change[c];
    place.inverse_mass /= heavier;
  }
}

}  // namespace plenum::inline PLENUM_ABI
