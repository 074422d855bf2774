#pragma once
// Motion of particles that do not feel each other.
#include <span>

#include "plenum/elements/curl_noise.h"
#include "plenum/solvers/particles/particles.h"

namespace plenum::inline PLENUM_ABI {

/// What a step's motion takes from the parameters: attractors and vortices by reference, turbulence at its
/// middle.
struct Flight {
  const ParticleSystem::Params& params;
  CurlNoise turbulence;
  bool has_drag, has_quadratic_drag;
  Flight(const ParticleSystem::Params& params, double middle);
};

/// Velocity of the air [m/s] at x [m]: wind, vortices, turbulence; both [n].
void air_velocity(const Flight& flight, std::span<const Vec3> x, std::span<Vec3> u);

/// Moves particles by h [s].
///
/// The velocity w relative to the air obeys w' = a - k(|w|) w, k = k1 + k2 |w|. With k held at its mean over
/// the step the motion is the exact exponential one (Hochbruck & Ostermann 2010, "Exponential integrators",
/// eq. 2.7),
///
///   v1 = v0 + h phi1(-kh) (a - k w0),   x1 = x0 + h v0 + h^2 phi2(-kh) (a - k w0),
///   phi1(z) = (e^z - 1) / z,   phi2(z) = (e^z - 1 - z) / z^2,
///
/// where the mean takes |w| as the mean of its values at both ends, the second from an implicit Euler step,
/// s1 (1 + h k1 + h k2 s1) = |w0 + h a|. Second order; exact for linear drag and for no drag; the terminal
/// speed is a fixed point for any h; never unstable. The air is taken in the middle of the way that the
/// particle would go without it. Attractors kick by h/2 before and after (Strang 1968).
///
/// x0, inverse_mass [n]; v [n] in/out; x1 [n] out, may not overlap x0. Zero inverse mass: stays where it is.
/// A particle's result does not depend on its neighbours in the arrays.
void fly(const Flight& flight, Real h, std::span<const Vec3> x0, std::span<const Real> inverse_mass,
         std::span<Vec3> v, std::span<Vec3> x1);

}  // namespace plenum::inline PLENUM_ABI
