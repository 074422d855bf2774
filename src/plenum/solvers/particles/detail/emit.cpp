#include "plenum/solvers/particles/detail/emit.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/base/random.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr Real two_pi = 2 * std::numbers::pi_v<Real>;

Vec3 unit_or_up(const Vec3& d) {
  const Real length = d.norm();
  return length > 0 ? Vec3(d / length) : Vec3(0, 1, 0);
}

/// `value` with relative variation: uniform in value (1 -+ variation).
Real varied(Real value, Real variation, Real u) {
  return value * (1 + variation * (2 * u - 1));
}

}  // namespace

void orthonormal_basis(const Vec3& n, Vec3& a, Vec3& b) {
  const Real sign = std::copysign(Real(1), n.z());
  const Real p = -1 / (sign + n.z());
  const Real q = n.x() * n.y() * p;
  a = {1 + sign * n.x() * n.x() * p, sign * q, -sign * n.x()};
  b = {q, sign + n.y() * n.y() * p, -n.y()};
}

Vec3 direction_in_cone(const Vec3& n, Real spread, Real u1, Real u2) {
  // The area of a spherical cap is proportional to its height (Archimedes). 1 - cos keeps its digits as 2
  // sin^2(./2).
  const Real half = std::sin(spread / 2);
  const Real height = 2 * half * half * u1;
  const Real sine = std::sqrt(height * (2 - height));
  Vec3 a, b;
  orthonormal_basis(n, a, b);
  return (1 - height) * n + sine * (std::cos(two_pi * u2) * a + std::sin(two_pi * u2) * b);
}

bool has_surface(const ParticleSystem::Model& model, const ParticleEmitter& emitter) {
  return emitter.shape != ParticleEmitter::Shape::mesh ||
         (emitter.surface >= 0 && static_cast<std::size_t>(emitter.surface) < model.surfaces.size());
}

Birth draw_birth(const ParticleSystem::Model& model, const ParticleEmitter& emitter, std::size_t e,
                 std::int64_t serial, const Vec3& position, const Vec3& direction) {
  const auto draw = [&](std::uint64_t which) {
    return uniform4(model.seed, static_cast<std::uint64_t>(serial), 2 * e + which);
  };
  const Vec4 u = draw(0), w = draw(1);
  Birth birth;
  birth.x = position;
  Vec3 axis = unit_or_up(direction);
  switch (emitter.shape) {
    case ParticleEmitter::Shape::point:
      break;
    case ParticleEmitter::Shape::disc: {
      Vec3 a, b;
      orthonormal_basis(axis, a, b);
      const Real r = emitter.radius * std::sqrt(w[0]), angle = two_pi * w[1];
      birth.x += r * (std::cos(angle) * a + std::sin(angle) * b);
      break;
    }
    case ParticleEmitter::Shape::mesh: {
      const auto s = static_cast<std::size_t>(emitter.surface);
      const TriangleMesh& mesh = model.surfaces[s];
      const std::vector<double>& area = model.cumulative_area[s];
      // 24 bits would leave out triangles of fine meshes, so the choice takes a second number for its low
      // bits.
      const double at = (static_cast<double>(w[2]) + static_cast<double>(w[3]) * 0x1p-24) * area.back();
      const auto found = std::upper_bound(area.begin(), area.end(), at);
      const auto t = static_cast<std::size_t>(std::min(found, area.end() - 1) - area.begin());
      const Index3 corners = mesh.triangles[t];
      const Vec3 &p = mesh.x[corners[0]], &q = mesh.x[corners[1]], &r = mesh.x[corners[2]];
      // Uniform in a triangle (Turk 1990, "Generating random points in triangles").
      const Real root = std::sqrt(w[0]);
      birth.x += (1 - root) * p + root * (1 - w[1]) * q + root * w[1] * r;
      axis = unit_or_up((q - p).cross(r - p));
      break;
    }
  }
  birth.v = varied(emitter.speed, emitter.speed_variation, u[2]) *
            direction_in_cone(axis, emitter.spread * Real(std::numbers::pi / 180), u[0], u[1]);
  birth.lifetime = varied(emitter.lifetime, emitter.lifetime_variation, u[3]);
  return birth;
}

}  // namespace plenum::inline PLENUM_ABI
