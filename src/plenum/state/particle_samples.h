#pragma once
// Particles as the samples of a surface that others touch.
#include "plenum/state/boundary.h"
#include "plenum/state/particles.h"

namespace plenum::inline PLENUM_ABI {

/// Samples at the particles, which began the last step at x0 [m] with v0 [m/s]; where there are not as many
/// of these, as before the first step, they stand as they are.
inline Samples samples_of(const Particles& p, std::span<const Vec3> x0, std::span<const Vec3> v0) {
  const bool stepped = x0.size() == p.size() && v0.size() == p.size();
  return {.x0 = stepped ? x0 : std::span<const Vec3>(p.x),
          .x = p.x,
          .v = p.v,
          .v0 = stepped ? v0 : std::span<const Vec3>(p.v),
          .inverse_mass = p.inverse_mass};
}

/// Gives particles impulses and displacements, but for those that nobody moves.
inline void take_impulses(Particles& p, std::span<const SampleImpulse> impulses) {
  for (const SampleImpulse& s : impulses) {
    const auto i = static_cast<std::size_t>(s.sample);
    const Real w = p.inverse_mass[i];
    if (w == 0) continue;
    p.v[i] += w * s.impulse;
    p.x[i] += s.displacement;
  }
}

}  // namespace plenum::inline PLENUM_ABI
