#include "plenum/solvers/particles/detail/flight.h"

#include <cmath>
#include <numbers>

namespace plenum::inline PLENUM_ABI {
namespace {

/// phi1(-z) and phi2(-z) for z >= 0.
void phi(Real z, Real& phi1, Real& phi2) {
  if (z < Real(0.5)) {
    // Taylor; the first term left out is z^8 / 10!, 1e-9.
    phi2 = Real(1) / 362880;
    for (const Real c : {40320, 5040, 720, 120, 24, 6, 2}) phi2 = 1 / c - z * phi2;
    phi1 = 1 - z * phi2;
  } else {
    phi1 = (1 - std::exp(-z)) / z;
    phi2 = (1 - phi1) / z;
  }
}

void fly_one(const ParticleSystem::Params& p, double time, Real h, const Vec3& x0, Real inverse_mass, Vec3& v,
             Vec3& x1) {
  x1 = x0;
  if (!(inverse_mass > 0)) return;
  v += h / 2 * attraction(p, x0);
  const Vec3 air = air_velocity(p, x0 + h / 2 * v, time + static_cast<double>(h) / 2);
  const Real k1 = p.linear_drag * inverse_mass, k2 = p.quadratic_drag * inverse_mass;
  const Vec3 w = v - air;
  const Real b = 1 + h * k1;
  const Real s1 = 2 * (w + h * p.gravity).norm();
  const Real mean = (w.norm() + s1 / (b + std::sqrt(b * b + 2 * h * k2 * s1))) / 2;
  const Real k = k1 + k2 * mean;
  Real phi1, phi2;
  phi(k * h, phi1, phi2);
  const Vec3 a = p.gravity - k * w;
  x1 = x0 + h * (v + h * phi2 * a);
  v += h * phi1 * a;
  v += h / 2 * attraction(p, x1);
}

}  // namespace

Vec3 air_velocity(const ParticleSystem::Params& params, const Vec3& x, double) {
  Vec3 u = params.wind;
  for (const Vortex& vortex : params.vortices) {
    const Real length = vortex.axis.norm();
    if (!(length > 0)) continue;
    const Vec3 axis = vortex.axis / length;
    const Vec3 d = x - vortex.position;
    const Vec3 r = d - d.dot(axis) * axis;
    const Real scale = 1 / (r.squaredNorm() + vortex.radius * vortex.radius);
    u += vortex.circulation / (2 * std::numbers::pi_v<Real>)*scale * axis.cross(r) +
         vortex.updraught * vortex.radius * vortex.radius * scale * axis;
  }
  return u;
}

Vec3 attraction(const ParticleSystem::Params& params, const Vec3& x) {
  Vec3 a = Vec3::Zero();
  for (const Attractor& attractor : params.attractors) {
    const Vec3 d = attractor.position - x;
    const Real q = d.squaredNorm() + attractor.radius * attractor.radius;
    a += attractor.strength / (q * std::sqrt(q)) * d;
  }
  return a;
}

void fly(const ParticleSystem::Params& params, double time, Real h, std::span<const Vec3> x0,
         std::span<const Real> inverse_mass, std::span<Vec3> v, std::span<Vec3> x1) {
  for (std::size_t i = 0; i < x0.size(); ++i) fly_one(params, time, h, x0[i], inverse_mass[i], v[i], x1[i]);
}

void fly(const ParticleSystem::Params& params, double time, std::span<const Real> h, std::span<const Vec3> x0,
         std::span<const Real> inverse_mass, std::span<Vec3> v, std::span<Vec3> x1) {
  for (std::size_t i = 0; i < x0.size(); ++i)
    fly_one(params, time, h[i], x0[i], inverse_mass[i], v[i], x1[i]);
}

}  // namespace plenum::inline PLENUM_ABI
