// Liquid as a whole: determinism, restoring, stability, laws of conservation.
#include "plenum/solvers/liquid/liquid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/world/world.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

struct Water {
  Liquid::Model model;
  Liquid::State state;
  Liquid::Params params;
  Liquid::Workspace workspace;
  explicit Water(const Liquid::Spec& spec) { Liquid::build(spec, model, state); }
  Report step(double dt) { return Liquid::step(model, state, params, workspace, static_cast<Real>(dt)); }
  double largest_speed() const {
    double most = 0;
    for (const Vec3& v : state.v) most = std::max(most, static_cast<double>(v.norm()));
    return most;
  }
};

LiquidFill block(const Vec3& low, const Vec3& high) {
  LiquidFill fill;
  fill.shape = GridSolid::Kind::box;
  fill.half_extents = (high - low) / 2;
  fill.position = (high + low) / 2;
  return fill;
}

/// A column that breaks around a ball.
Liquid::Spec dam(int nx, int ny, int nz) {
  Liquid::Spec spec;
  spec.cells_x = nx, spec.cells_y = ny, spec.cells_z = nz;
  spec.spacing = static_cast<Real>(1.0 / nx);
  const Real depth = spec.spacing * static_cast<Real>(nz);
  spec.fill = {block(Vec3::Zero(), Vec3(Real(0.35), Real(0.6), depth))};
  GridSolid ball;
  ball.radius = Real(0.12);
  ball.position = Vec3(Real(0.65), Real(0.1), depth / 2);
  spec.solids = {ball};
  return spec;
}

World world_of(const Liquid::Spec& spec, Liquid::Transfer transfer, int threads) {
  World world({.fps = 60});
  world.set_threads(threads);
  Water water(spec);
  water.params.transfer = transfer;
  world.add<Liquid>("water", std::move(water.model), std::move(water.state), water.params);
  return world;
}

TEST(Liquid, SameBitsForEveryNumberOfThreads) {
  for (const int nz : {1, 20})
    for (const Liquid::Transfer transfer : {Liquid::Transfer::flip, Liquid::Transfer::apic}) {
      const Liquid::Spec spec = dam(32, 24, nz);
      std::string first;
      for (const int threads : {1, 2, 3, 5, 8}) {
        World world = world_of(spec, transfer, threads);
        for (int k = 0; k < 20; ++k) ASSERT_TRUE(world.step_frame().ok);
        if (first.empty()) first = world.hash().hex();
        EXPECT_EQ(world.hash().hex(), first) << nz << " " << threads;
      }
    }
}

TEST(Liquid, ScratchMemoryIsNoPartOfTheState) {
  for (const int nz : {1, 16}) {
    const Liquid::Spec spec = dam(24, 24, nz);
    Water a(spec), b(spec);
    for (int k = 0; k < 12; ++k) {
      a.step(1.0 / 60);
      b.workspace = {};
      b.step(1.0 / 60);
    }
    EXPECT_EQ(a.state.x, b.state.x);
    EXPECT_EQ(a.state.v, b.state.v);
    EXPECT_EQ(a.state.pressure, b.state.pressure);
  }
}

TEST(Liquid, AllocatesNothingInSteadyState) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer has a heap of its own";
  for (const int nz : {1, 16}) {
    Water water(dam(24, 24, nz));
    for (int k = 0; k < 60; ++k) water.step(1.0 / 60);
    EXPECT_EQ(plenum_test::count_allocations([&] {
                for (int k = 0; k < 5; ++k) water.step(1.0 / 60);
              }),
              0);
  }
}

TEST(Liquid, FallsFreely) {
  // A drop in the air: no pressure, x = g t^2 / 2 up to the step's own first order.
  for (const Liquid::Transfer transfer : {Liquid::Transfer::pic, Liquid::Transfer::flip, Liquid::Transfer::apic})
    for (const int nz : {1, 32}) {
      Liquid::Spec spec;
      spec.cells_x = 32, spec.cells_y = 64, spec.cells_z = nz;
      spec.spacing = Real(1) / 32;
      LiquidFill drop;
      drop.radius = Real(0.2);
      drop.position = Vec3(Real(0.5), Real(1.5), nz == 1 ? spec.spacing / 2 : Real(0.5));
      spec.fill = {drop};
      Water water(spec);
      water.params.transfer = transfer;
      const auto height = [&] {
        double sum = 0;
        for (const Vec3& x : water.state.x) sum += static_cast<double>(x.y());
        return sum / static_cast<double>(water.state.x.size());
      };
      const double before = height(), dt = 1.0 / 120;
      const int steps = 36;
      for (int k = 0; k < steps; ++k) water.step(dt);
      const double t = steps * dt;
      // Velocity before position: g (t^2 + t dt) / 2 with the step's parts of at most dt.
      EXPECT_NEAR(before - height(), 9.81 * t * t / 2, 9.81 * t * dt / 2 + 1e-3);
      double most = 0;
      for (const Vec3& v : water.state.v)
        most = std::max(most, static_cast<double>((v - Vec3(0, static_cast<Real>(-9.81 * t), 0)).norm()));
      EXPECT_LT(most, 0.02 * 9.81 * t);
    }
}

TEST(Liquid, StandsStill) {
  for (const int nz : {1, 16}) {
    Liquid::Spec spec;
    spec.cells_x = 16, spec.cells_y = 24, spec.cells_z = nz;
    spec.spacing = Real(1) / 16;
    spec.jitter = 0;
    spec.fill = {block(Vec3::Zero(), Vec3(1, 1, spec.spacing * static_cast<Real>(nz)))};
    Water water(spec);
    double most = 0;
    for (int k = 0; k < 200; ++k) {
      water.step(1.0 / 60);
      most = std::max(most, water.largest_speed());
    }
    // Against the speed sqrt(2 g H) of what falls from the surface to the bottom.
    EXPECT_LT(most, 1e-3 * std::sqrt(2 * 9.81));
    // The pressure of the middle of the lowest cells, by their depth.
    const Index k = nz / 2;
    for (Index i = 0; i < 16; ++i)
      EXPECT_NEAR(static_cast<double>(water.state.pressure[water.model.shape.index(i, 0, k)]),
                  1000 * 9.81 * (1 - 0.5 / 16), 0.002 * 1000 * 9.81);
  }
}

TEST(Liquid, StableForStepsAndForcesOfAnySize) {
  for (const int nz : {1, 12})
    for (const Liquid::Transfer transfer : {Liquid::Transfer::flip, Liquid::Transfer::apic})
      for (const double cfl : {0.5, 5.0, 50.0})
        for (const Real strength : {Real(1), Real(1e4)}) {
          Water water(dam(16, 20, nz));
          const std::size_t n = water.state.x.size();
          water.params.transfer = transfer;
          water.params.gravity = Vec3(strength / 3, -strength, 0);
          water.params.most_parts = 1;
          double dt = 0.001, longest = dt;
          for (int k = 0; k < 40; ++k) {
            water.step(dt);
            const double speed = water.largest_speed();
            ASSERT_TRUE(std::isfinite(speed));
            // No faster than what falls through the box and is pushed for a step more.
            EXPECT_LT(speed, 3 * (std::sqrt(2 * static_cast<double>(strength) * 2) +
                                  static_cast<double>(strength) * longest))
                << nz << " " << static_cast<int>(transfer) << " cfl " << cfl << " step " << k << " dt " << dt;
            dt = std::min(0.1, cfl / 16 / std::max(speed, 1e-3));
            longest = std::max(longest, dt);
          }
          EXPECT_EQ(water.state.x.size(), n);
        }
}

}}  // namespace plenum
