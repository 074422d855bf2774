// Stam's stable fluids: each of the four stages against a closed form, and what makes them stable.
#include "plenum/solvers/stable_fluids/stable_fluids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/world/world.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

constexpr double half_turn = std::numbers::pi;

struct Square {
  StableFluids::Model model;
  StableFluids::State state;
  StableFluids::Params params;
  StableFluids::Workspace workspace;
  explicit Square(int n) { StableFluids::build({.cells = n, .size = 1}, model, state); }
  Report step(double dt) {
    return StableFluids::step(model, state, params, workspace, static_cast<Real>(dt));
  }
  /// f(x, y, item) for all cells, at their centres.
  template <class F>
  void for_cells(F&& f) const {
    for (Index j = 1; j <= model.n; ++j)
      for (Index i = 1; i <= model.n; ++i)
        f((i - 0.5) * static_cast<double>(model.h), (j - 0.5) * static_cast<double>(model.h), model.at(i, j));
  }
};

TEST(StableFluids, ProjectionTakesGradientsAway) {
  // Of the gradient of cos(pi x) cos(pi y): central differences see sin^2(pi h) / h^2 of it along each axis
  // and the pressure's equation 4 sin^2(pi h / 2) / h^2, so that sin^2(pi h / 2) is left of it each time, and
  // a step projects twice.
  for (const int n : {8, 16}) {
    Square square(n);
    square.params.sweeps = 4000;
    square.for_cells([&](double x, double y, std::size_t q) {
      square.state.u[q] = static_cast<Real>(-std::sin(half_turn * x) * std::cos(half_turn * y));
      square.state.v[q] = static_cast<Real>(-std::cos(half_turn * x) * std::sin(half_turn * y));
    });
    // Differences at the walls need the rim.
    for (Index i = 1; i <= n; ++i) {
      const StableFluids::Model& m = square.model;
      square.state.u[m.at(0, i)] = -square.state.u[m.at(1, i)];
      square.state.u[m.at(n + 1, i)] = -square.state.u[m.at(n, i)];
      square.state.v[m.at(i, 0)] = -square.state.v[m.at(i, 1)];
      square.state.v[m.at(i, n + 1)] = -square.state.v[m.at(i, n)];
    }
    square.step(1e-12);
    const double s = std::sin(half_turn / (2 * n)), left = s * s * s * s;
    square.for_cells([&](double x, double y, std::size_t q) {
      EXPECT_NEAR(static_cast<double>(square.state.u[q]),
                  -left * std::sin(half_turn * x) * std::cos(half_turn * y), sizeof(Real) == 4 ? 2e-6 : 1e-9);
    });
  }
}

TEST(StableFluids, InkSpreadsAsTheHeatEquationSays) {
  // 1 + cos(pi x) decays by exp(-k pi^2 t); backward Euler is of first order.
  const auto error = [](int steps) {
    Square square(32);
    square.params.ink_diffusion = 1;
    square.params.sweeps = 400;
    square.for_cells([&](double x, double, std::size_t q) {
      square.state.ink[q] = static_cast<Real>(1 + std::cos(half_turn * x));
    });
    for (int k = 0; k < steps; ++k) square.step(0.1 / steps);
    double most = 0;
    const double decay = std::exp(-half_turn * half_turn * 0.1);
    square.for_cells([&](double x, double, std::size_t q) {
      most = std::max(
          most, std::abs(static_cast<double>(square.state.ink[q]) - 1 - decay * std::cos(half_turn * x)));
    });
    return most;
  };
  const double coarse = error(10), fine = error(20);
  // (1 + z / m)^-m of exp(-z) is e^-z z^2 / (2 m) away, z = pi^2 / 10: 0.0182 of ten steps.
  EXPECT_NEAR(coarse, 0.0182, 0.002);
  EXPECT_NEAR(coarse / fine, 2, 0.2);
}

/// Largest error of the steady eddy of Taylor and Green in a walled square after `time`, at CFL 0.5.
double eddy_error(int n, double time) {
  Square square(n);
  square.params.sweeps = n * n / 8;  // waves as long as the square need sweeps as n^2
  square.for_cells([&](double x, double y, std::size_t q) {
    square.state.u[q] = static_cast<Real>(std::sin(half_turn * x) * std::cos(half_turn * y));
    square.state.v[q] = static_cast<Real>(-std::cos(half_turn * x) * std::sin(half_turn * y));
  });
  const int steps = static_cast<int>(std::lround(time * 2 * n));
  for (int k = 0; k < steps; ++k) square.step(time / steps);
  double sum = 0;
  square.for_cells([&](double x, double y, std::size_t q) {
    const double e =
        static_cast<double>(square.state.u[q]) - std::sin(half_turn * x) * std::cos(half_turn * y);
    sum += e * e;
  });
  return std::sqrt(sum) / n;
}

TEST(StableFluids, EddyStandsInFirstOrder) {
  const double coarse = eddy_error(16, 0.25), middle = eddy_error(32, 0.25), fine = eddy_error(64, 0.25);
  EXPECT_GT(std::log2(coarse / middle), 0.75);  // linear interpolation at a constant CFL number: one
  EXPECT_GT(std::log2(middle / fine), 0.75);
  EXPECT_LT(fine, 0.05);
}

Square two_jets(int n) {
  Square square(n);
  square.params.jets = {{.position = Vec3(Real(0.2), Real(0.3), 0), .push = Vec3(6, 3, 0)},
                        {.position = Vec3(Real(0.8), Real(0.3), 0), .push = Vec3(-6, 3, 0)}};
  return square;
}

TEST(StableFluids, StableForStepsOfAnySize) {
  for (const double dt : {0.01, 1.0, 1e4}) {
    Square square = two_jets(24);
    for (int k = 0; k < 20; ++k) square.step(0.02);
    square.params.jets.clear();
    // Nothing comes: carrying along makes no new extremes of the ink.
    const auto most = [&] { return *std::max_element(square.state.ink.begin(), square.state.ink.end()); };
    const Real before = most();
    EXPECT_GT(before, Real(0.1));
    for (int k = 0; k < 50; ++k) square.step(dt);
    EXPECT_LE(most(), before * Real(1.00001));
    for (std::size_t q = 0; q < square.model.size(); ++q) {
      ASSERT_TRUE(square.state.ink[q] >= 0);
      ASSERT_TRUE(std::isfinite(square.state.u[q]) && std::isfinite(square.state.v[q]));
    }
  }
}

TEST(StableFluids, StartsAnewFromItsStateAlone) {
  Square a = two_jets(20), b = two_jets(20);
  for (int k = 0; k < 10; ++k) {
    a.step(0.02);
    b.workspace = {};
    b.step(0.02);
  }
  EXPECT_EQ(a.state.u, b.state.u);
  EXPECT_EQ(a.state.v, b.state.v);
  EXPECT_EQ(a.state.ink, b.state.ink);
}

TEST(StableFluids, SameBitsForEveryNumberOfThreads) {
  std::string first;
  for (const int threads : {1, 2, 3, 5, 8}) {
    World world({.fps = 30});
    world.set_threads(threads);
    Square square = two_jets(24);
    world.add<StableFluids>("ink", std::move(square.model), std::move(square.state), square.params);
    for (int k = 0; k < 10; ++k) ASSERT_TRUE(world.step_frame().ok);
    if (first.empty()) first = world.hash().hex();
    EXPECT_EQ(world.hash().hex(), first) << threads;
  }
}

TEST(StableFluids, AllocatesNothingInSteadyState) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer has a heap of its own";
  Square square = two_jets(24);
  square.params.viscosity = Real(1e-3);
  for (int k = 0; k < 2; ++k) square.step(0.02);
  EXPECT_EQ(plenum_test::count_allocations([&] {
              for (int k = 0; k < 5; ++k) square.step(0.02);
            }),
            0);
}

TEST(StableFluids, RefusesFieldsThatDoNotFit) {
  Square square(8);
  square.state.ink.pop_back();
  EXPECT_THROW(StableFluids::check(square.model, square.state), Error);
}

}}  // namespace plenum
