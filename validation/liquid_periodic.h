#pragma once
// Flows between periodic sides that have a closed form.
#include <cmath>
#include <limits>
#include <numbers>

#include "liquid_scenes.h"

namespace plenum::validation {

/// Fills the whole box up to a height [m].
inline LiquidFill fill_up_to(const Liquid::Spec& spec, double height) {
  const Vec3 size = spec.spacing * Vec3(static_cast<Real>(spec.cells_x), 0, static_cast<Real>(spec.cells_z)) +
                    Vec3(0, static_cast<Real>(height), 0);
  LiquidFill fill;
  fill.shape = GridSolid::Kind::box;
  fill.half_extents = size / 2;
  fill.position = size / 2;
  return fill;
}

/// A channel a metre high and n cells, full of a viscous liquid that its walls hold, along x or, in three
/// dimensions, along z. From rest a force drives it towards u = 4 y (1 - y), for a second (nu t = H^2).
struct Poiseuille {
  std::size_t particles = 0, particles_left = 0;
  double error = 0;       ///< [m/s] the largest over the particles
  double mean_error = 0;  ///< [m/s] the largest over the cells across the channel, of their particles' means
  /// Half a cell from the wall the ghost beyond it stands for a parabola by h^2 u'' / 8 too little, which
  /// lifts the whole profile; between faces the line is below the parabola by as much at most. Of the start
  /// 32 / pi^3 e^(-pi^2 t) is left (Batchelor 1967, section 4.3), by Euler's method (1 + pi^2 dt)^(-t / dt);
  /// and sweeps and pressures are solved to 1e-4.
  double bound = 0;
  /// [m/s] what velocities without gradients (pic, flip) have besides: at the first faces beside a wall the
  /// mean of the particles, at 1/4, 3/4 and 5/4 of a cell with weights 3, 3 and 1, is that at 17/28 of it and
  /// not at 1/2, where u is larger by 3/28 h u'. The grid's step takes that away again from all of them.
  double wall_bias = 0;

  Poiseuille(int n, bool flat, Liquid::Transfer transfer = Liquid::Transfer::apic) {
    using Kind = Liquid::Side::Kind;
    const int axis = flat ? 0 : 2, steps = 100;
    const double dt = 0.01;
    Liquid::Spec spec;
    spec.cells_x = flat ? 8 : 4, spec.cells_y = n, spec.cells_z = flat ? 1 : 8;
    spec.spacing = static_cast<Real>(1.0 / n);
    for (Liquid::Side* side :
         flat ? std::array{&spec.left, &spec.right} : std::array{&spec.back, &spec.front})
      side->kind = Kind::periodic;
    spec.bottom.kind = spec.top.kind = Kind::no_slip;
    spec.jitter = 0;
    spec.fill = {fill_up_to(spec, 1)};
    Water water(spec);
    water.params.transfer = transfer;
    water.params.viscosity = 1;
    water.params.gravity = Vec3::Zero();
    water.params.gravity[axis] = 8;  // [m/s^2] -nu u''
    particles = water.state.x.size();
    for (int k = 0; k < steps; ++k) water.step(dt);
    particles_left = water.state.x.size();
    std::vector<Vec3> sums(static_cast<std::size_t>(n), Vec3::Zero());
    for (std::size_t p = 0; p < water.state.x.size(); ++p) {
      const double y = static_cast<double>(water.state.x[p].y());
      Vec3 u = water.state.v[p];
      u[axis] -= static_cast<Real>(4 * y * (1 - y));
      error = std::max(error, static_cast<double>(u.norm()));
      sums[std::min(static_cast<std::size_t>(y * n), sums.size() - 1)] += u;
    }
    for (const Vec3& sum : sums)
      mean_error = std::max(mean_error, static_cast<double>(sum.norm()) * n / static_cast<double>(particles));
    const double pi = std::numbers::pi;
    wall_bias = 3.0 / 28 * 4 / n;
    bound = 1.0 / (n * n) + 32 / (pi * pi * pi) * std::pow(1 + pi * pi * dt, -steps) + 1e-4;
  }
};

/// A wave stands in a box as long as it, a metre and n cells, half as deep, along an axis.
struct StandingWave {
  static constexpr double depth = 0.5, height = 0.02;           ///< [m]
  double frequency = std::numeric_limits<double>::quiet_NaN();  ///< over that of omega^2 = g k tanh(k H)
  /// Lower by (k a)^2 / 8 at the height a in deep water (Rayleigh 1915, "Deep water waves, progressive or
  /// stationary, to the third order of approximation"): tanh(k H) is 0.996.
  double expected = 0;
  /// Each of the differences of the pressure, and of the hat functions by which particles give and take and
  /// the surface is found, weakens the wave by (k h)^2 / 12 at most, and its frequency by half of that: four
  /// are (k h)^2 / 6.
  double tolerance = 0;

  StandingWave(int n, int axis) {
    const double k = 2 * std::numbers::pi, omega = std::sqrt(9.81 * k * std::tanh(k * depth));
    expected = 1 - std::pow(k * height, 2) / 8;
    tolerance = std::pow(k / n, 2) / 6;
    Liquid::Spec spec;
    spec.cells_x = axis == 0 ? n : 4, spec.cells_y = 3 * n / 4, spec.cells_z = axis == 0 ? 1 : n;
    spec.spacing = static_cast<Real>(1.0 / n);
    for (Liquid::Side* side : {&spec.left, &spec.right, &spec.back, &spec.front})
      side->kind = Liquid::Side::Kind::periodic;
    spec.fill = {fill_up_to(spec, depth)};
    Water water(spec);
    // It starts flat, at its fastest: of the potential that has no slope at the bottom.
    const double most = height * omega / std::sinh(k * depth);
    for (std::size_t p = 0; p < water.state.x.size(); ++p) {
      const double x = k * static_cast<double>(water.state.x[p][axis]),
                   y = k * static_cast<double>(water.state.x[p].y());
      water.state.v[p].setZero();
      water.state.v[p][axis] = static_cast<Real>(-most * std::cosh(y) * std::sin(x));
      water.state.v[p].y() = static_cast<Real>(most * std::sinh(y) * std::cos(x));
    }
    // The surface's part of the wave is the first moment of the particles' places. Between two times at which
    // it falls through zero, what chance adds to it at the start does not count.
    const double dt = 1.0 / 240;
    double before = 0, first = 0;
    for (double t = 0; t < 3; t += dt) {
      water.step(dt);
      double now = 0;
      for (const Vec3& x : water.state.x) now += std::cos(k * static_cast<double>(x[axis]));
      if (before > 0 && now <= 0) {
        const double at = t + dt * before / (before - now);
        if (first > 0) {
          frequency = 2 * std::numbers::pi / (at - first) / omega;
          return;
        }
        first = at;
      }
      before = now;
    }
  }
};

}  // namespace plenum::validation
