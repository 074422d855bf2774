// Sides of the box: walls that move.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "../../validation/liquid_scenes.h"
#include "plenum/base/error.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

using validation::Water;
using Kind = Liquid::Side::Kind;

constexpr double pi = std::numbers::pi;

LiquidFill whole_box(const Liquid::Spec& spec) {
  LiquidFill fill;
  fill.shape = GridSolid::Kind::box;
  const Vec3 size = spec.spacing * Vec3(static_cast<Real>(spec.cells_x), static_cast<Real>(spec.cells_y),
                                        static_cast<Real>(spec.cells_z));
  fill.half_extents = size / 2;
  fill.position = spec.low + size / 2;
  return fill;
}

/// A layer a metre thick between walls that hold it, of n cells, the upper one of which moves along an axis
/// with `speed`. Its ends are open; as it hardly moves, they stay full, and it flows as an endless one does:
/// p = 0 and no change along it are what such ends ask for.
Liquid::Spec layer(int n, int axis, bool flat, Real speed) {
  Liquid::Spec spec;
  const int along = 2 * n;
  spec.cells_x = axis == 0 ? along : 4, spec.cells_y = n;
  spec.cells_z = flat ? 1 : axis == 2 ? along : 4;
  spec.spacing = static_cast<Real>(1.0 / n);
  spec.jitter = 0;
  for (Liquid::Side* side : {&spec.left, &spec.right, &spec.back, &spec.front}) side->kind = Kind::outflow;
  spec.bottom.kind = spec.top.kind = Kind::no_slip;
  spec.top.velocity[axis] = speed;
  spec.fill = {whole_box(spec)};
  return spec;
}

constexpr Real slow = Real(1e-4);  // [m/s], less than a thousandth of a cell in all of a run

/// Plane Couette flow that a wall begins (Batchelor 1967, "An introduction to fluid dynamics", section 4.3):
/// the part that decays of u / U = y + sum 2 (-1)^n / (n pi) exp(-n^2 pi^2 nu t) sin(n pi y), the walls a
/// metre apart. What backward Euler with steps dt and differences over h do to each wave bounds the error to
/// first order: lambda - lambda^2 dt / 2 and lambda (1 - n^2 pi^2 h^2 / 12) for lambda = n^2 pi^2 nu.
struct Couette {
  double viscosity, t, dt, h;
  double at(double y) const {
    double u = y;
    for (int n = 1; n < 60; ++n)
      u += 2 * (n % 2 ? -1 : 1) / (n * pi) * std::exp(-std::pow(n * pi, 2) * viscosity * t) *
           std::sin(n * pi * y);
    return u;
  }
  double error_bound() const {
    double sum = 0, curvature = 0;
    for (int n = 1; n < 60; ++n) {
      const double lambda = std::pow(n * pi, 2) * viscosity, part = 2 / (n * pi) * std::exp(-lambda * t);
      sum += part * lambda * t * (lambda * dt / 2 + std::pow(n * pi * h, 2) / 12);
      curvature += part * std::pow(n * pi, 2);
    }
    return sum + curvature * h * h / 8;  // linear between faces
  }
};

TEST(LiquidSides, AWallThatMovesBeginsCouettesFlow) {
  struct Case {
    int axis;
    bool flat;
  };
  for (const Case& c : {Case{0, true}, Case{2, false}}) {
    const int n = c.flat ? 20 : 12;
    Water water(layer(n, c.axis, c.flat, slow));
    water.params.gravity.setZero();
    water.params.viscosity = 1;
    water.params.pressure_tolerance = Real(1e-6);
    const double dt = 0.0025;
    double t = 0;
    for (const double until : {0.05, 0.15, 1.0}) {
      while (t < until - dt / 2) water.step(dt), t += dt;
      const Couette exact{1, t, dt, 1.0 / n};
      double most = 0;
      for (std::size_t p = 0; p < water.state.x.size(); ++p) {
        const double u = static_cast<double>(water.state.v[p][c.axis] / slow),
                     y = static_cast<double>(water.state.x[p].y());
        most = std::max(most, std::abs(u - exact.at(y)));
      }
      // A profile that is linear no difference or interpolation changes: what is left is the solver's,
      // 1e-6 of the speed a step over 1 - e^(-pi^2 dt) that viscosity takes of its smoothest error.
      EXPECT_LT(most, exact.error_bound() + 1e-4) << c.axis << c.flat << until;
    }
  }
}

/// A full square whose lid moves at 1 m/s.
Liquid::Spec cavity(int n) {
  Liquid::Spec spec;
  spec.cells_x = spec.cells_y = n, spec.cells_z = 1, spec.spacing = static_cast<Real>(1.0 / n);
  for (Liquid::Side* side : {&spec.left, &spec.right, &spec.bottom, &spec.top}) side->kind = Kind::no_slip;
  spec.top.velocity = Vec3(1, 0, 0);
  spec.fill = {whole_box(spec)};
  return spec;
}

TEST(LiquidSides, ALidDragsAFullBoxRound) {
  const int n = 32;
  Water water(cavity(n));
  water.params.gravity.setZero();
  water.params.viscosity = Real(0.01);
  // The flow never has the energy of all of it going as the lid does, which viscosity takes again.
  const double most = 0.5 * 1000 * 1 * 1;
  double energy = 0;
  for (int k = 0; k < 20 * n; ++k) {
    water.step(1.0 / n);
    energy = Liquid::kinetic_energy(water.model, water.state, water.params.density);
    ASSERT_LT(energy, most);
  }
  // In a box that is full and closed the centre of mass stands still, but for a layer of cells at the lid.
  Vec3 mean = Vec3::Zero();
  for (const Vec3& v : water.state.v) mean += v / static_cast<Real>(water.state.v.size());
  EXPECT_LT(mean.norm(), 1.0 / n);
  // u on the upright centre line at Re 100: Ghia, Ghia & Shin 1982, table I.
  constexpr std::array<std::array<double, 2>, 9> published = {{{0.0547, -0.03717},
                                                               {0.1016, -0.06434},
                                                               {0.1719, -0.10150},
                                                               {0.2813, -0.15662},
                                                               {0.4531, -0.21090},
                                                               {0.5, -0.20581},
                                                               {0.6172, -0.13641},
                                                               {0.7344, 0.00332},
                                                               {0.8516, 0.23151}}};
  for (const auto& [y, u] : published) {
    double sum = 0, weight = 0;
    for (std::size_t p = 0; p < water.state.x.size(); ++p) {
      const Vec3 way = (water.state.x[p] - Vec3(Real(0.5), static_cast<Real>(y), 0)) * n;
      const double w = std::max(0.0, 1 - std::abs(static_cast<double>(way.x()) / 2)) *
                       std::max(0.0, 1 - std::abs(static_cast<double>(way.y())));
      sum += w * static_cast<double>(water.state.v[p].x()), weight += w;
    }
    EXPECT_NEAR(sum / weight, u, 0.02) << y;
  }
}

TEST(LiquidSides, WallsThatMoveGiveTheSameBitsForEveryNumberOfThreads) {
  for (const bool flat : {true, false}) {
    std::string first;
    for (const int threads : {1, 3, 8}) {
      World world({.fps = 60});
      world.set_threads(threads);
      Water water(layer(16, 0, flat, 1));
      water.params.viscosity = Real(0.01);
      world.add<Liquid>("water", std::move(water.model), std::move(water.state), water.params);
      for (int k = 0; k < 10; ++k) ASSERT_TRUE(world.step_frame().ok);
      if (first.empty()) first = world.hash().hex();
      EXPECT_EQ(world.hash().hex(), first) << flat << " " << threads;
    }
  }
}

TEST(LiquidSides, LayersBetweenWallsThatMoveWithThemGoOn) {
  // What moves as its walls do is not changed by them: momentum and energy stay to rounding.
  Liquid::Spec spec = layer(12, 0, true, slow);
  spec.bottom.velocity = spec.top.velocity;
  spec.fill[0].velocity = spec.top.velocity;
  Water water(spec);
  water.params.gravity.setZero();
  water.params.viscosity = 1;
  for (int k = 0; k < 100; ++k) water.step(0.01);
  for (const Vec3& v : water.state.v) ASSERT_LT((v - spec.top.velocity).norm(), 1e-4 * slow);
}

TEST(LiquidSides, RefusesWallsThatCannotBe) {
  const auto problem_of = [](const Liquid::Spec& spec) {
    try {
      Water water(spec);
    } catch (const Error& error) {
      return error.problem();
    }
    ADD_FAILURE() << "not refused";
    return Problem{};
  };
  Liquid::Spec spec = cavity(8);
  spec.top.velocity = Vec3(1, Real(0.1), 0);
  EXPECT_EQ(problem_of(spec).key, "top.velocity");
  EXPECT_NE(problem_of(spec).what.find("out of its plane"), std::string::npos);
  spec = cavity(8);
  spec.left.kind = Kind::free_slip, spec.left.velocity = Vec3(0, 1, 0);
  EXPECT_EQ(problem_of(spec).key, "left.velocity");
  EXPECT_NE(problem_of(spec).remedy.find("no_slip"), std::string::npos);
}

}}  // namespace plenum
