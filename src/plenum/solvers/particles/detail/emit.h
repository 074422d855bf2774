#pragma once
// Births: where, which way, how fast and for how long, as pure functions of (seed, emitter, serial number).
#include "plenum/solvers/particles/particles.h"

namespace plenum::inline PLENUM_ABI {

struct Birth {
  Vec3 x;         ///< [m]
  Vec3 v;         ///< [m/s]
  Real lifetime;  ///< [s]; 0: forever
};

/// The birth with number `serial` of emitter number `e`, which stands at `position` and looks along
/// `direction` at that moment.
Birth draw_birth(const ParticleSystem::Model& model, const ParticleEmitter& emitter, std::size_t e,
                 std::int64_t serial, const Vec3& position, const Vec3& direction);

/// Whether the emitter names a surface that the model has, if it needs one.
bool has_surface(const ParticleSystem::Model& model, const ParticleEmitter& emitter);

/// Unit vectors a, b with (a, b, n) right-handed and orthogonal, for unit n. Source: Duff et al. 2017,
/// "Building an orthonormal basis, revisited".
void orthonormal_basis(const Vec3& n, Vec3& a, Vec3& b);

/// A direction in the cone of half-angle `spread` [rad] about unit `n`, uniform by solid angle for u1, u2
/// uniform in [0, 1).
Vec3 direction_in_cone(const Vec3& n, Real spread, Real u1, Real u2);

}  // namespace plenum::inline PLENUM_ABI
