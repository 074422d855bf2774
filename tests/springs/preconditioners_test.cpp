// The linear solves of implicit steps under every preconditioner.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plenum/solvers/springs/detail/workspace.h"
#include "plenum/world/world.h"
#include "springs/nets.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using test::hanging_cloth;
using test::Net;
using test::net_of;

constexpr Springs::Preconditioner every_preconditioner[] = {
    Springs::Preconditioner::none, Springs::Preconditioner::jacobi, Springs::Preconditioner::block_jacobi,
    Springs::Preconditioner::incomplete_cholesky, Springs::Preconditioner::multigrid};

/// A cloth large enough for several blocks of every loop and three levels of multigrid, stiff and falling.
Net stiff_cloth() {
  SpringsPart part = hanging_cloth(50);
  part.structural_stiffness = part.shear_stiffness = 1e4;
  part.pins.push_back({.where = SpringsPin::Where::front_left, .group = 1});
  return net_of(part);
}

Springs::Params with(Springs::Preconditioner preconditioner) {
  Springs::Params params;
  params.preconditioner = preconditioner;
  params.wind = Vec3(3, 1, 0);
  params.pins.resize(2);
  return params;
}

TEST(SpringsPreconditioners, SolveTheSameSystems) {
  // Every solve leaves at most 2e-4 of the right-hand side h F, which is a velocity error of up to |r| / m:
  // no mode has an eigenvalue below the mass. Heavy cloth: float's rounding leaves about eps h^2 k / m.
  constexpr double tolerance = 2e-4;
  std::vector<Vec3> reference;
  for (const auto preconditioner : every_preconditioner) {
    SpringsPart part = hanging_cloth(50);
    part.areal_density = 5;
    Net net = net_of(part);
    Springs::Params params = with(preconditioner);
    params.tolerance = Real(tolerance);
    params.max_iterations = 20000;
    double allowed = 0;
    for (int k = 0; k < 3; ++k) {
      const Report report = net.step(params, Real(1) / 60);
      EXPECT_LE(report.value("residual"), tolerance);
      double rhs = 0;
      for (const Vec3& f : net.workspace.impl->rhs) rhs += f.cast<double>().squaredNorm();
      allowed += tolerance * std::sqrt(rhs) / double(net.model.mass[0]);
    }
    if (reference.empty()) reference = net.state.particles.v;
    double difference = 0;
    for (std::size_t i = 0; i < reference.size(); ++i)
      difference += (reference[i] - net.state.particles.v[i]).cast<double>().squaredNorm();
    EXPECT_LT(std::sqrt(difference), 2 * allowed) << int(preconditioner);
  }
}

TEST(SpringsPreconditioners, TheHashIsTheSameForEveryThreadCountAndWhateverTheScratchHolds) {
  for (const auto preconditioner : every_preconditioner) {
    const auto run = [&](int threads, bool poison) {
      World world;
      world.set_threads(threads);
      Net net = stiff_cloth();
      auto& system = dynamic_cast<SystemOf<Springs>&>(
          world.add<Springs>("cloth", net.model, net.state, with(preconditioner)));
      for (int f = 0; f < 3; ++f) {
        if (poison && f > 0) {
          constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
          SpringsWorkspace& w = *system.workspace.impl;
          for (auto* v : {&w.pcg.r, &w.pcg.z, &w.pcg.p, &w.pcg.q, &w.base, &w.diagonal})
            std::fill(v->begin(), v->end(), nan);
          for (auto* v : {&w.rhs, &w.x0, &w.moved}) std::fill(v->begin(), v->end(), Vec3(nan, nan, nan));
          // A cycle of not-a-numbers leaves them on every level.
          std::vector<Real> r(3 * w.rhs.size(), nan), z(r);
          if (w.multigrid) (*w.multigrid)(std::span<const Real>(r), std::span<Real>(z));
        }
        world.step_frame();
      }
      return world.hash();
    };
    const Hash128 one = run(1, false);
    EXPECT_EQ(run(1, true), one) << int(preconditioner) << " poisoned";
    for (const int threads : {2, 3, 5, 8})
      EXPECT_EQ(run(threads, threads == 5), one) << int(preconditioner) << " on " << threads;
  }
}

TEST(SpringsPreconditioners, ASteadyStepAllocatesNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "allocations are counted elsewhere";
  for (const auto preconditioner : every_preconditioner) {
    Net net = stiff_cloth();
    const Springs::Params params = with(preconditioner);
    for (const int threads : {1, 2})
      with_threads(threads, [&] {
        for (int k = 0; k < 2; ++k) net.step(params, Real(1) / 60);
        EXPECT_EQ(plenum_test::count_allocations([&] {
                    for (int k = 0; k < 3; ++k) net.step(params, Real(1) / 60);
                  }),
                  0)
            << int(preconditioner);
      });
  }
}

TEST(SpringsPreconditioners, FollowTearingAndReleasedPins) {
  for (const auto preconditioner : every_preconditioner) {
    SpringsPart part = hanging_cloth(10);
    part.pins = {{.where = SpringsPin::Where::left, .group = 0},
                 {.where = SpringsPin::Where::right, .group = 1}};
    Net net = net_of(part);
    Springs::Params params = with(preconditioner);
    params.tear_strain = Real(0.3);
    params.tolerance = Real(1e-4);
    int torn = 0;
    for (int k = 0; k < 100; ++k) {
      params.pins[1].offset = Vec3(Real(k) / 60, 0, 0);
      params.pins[0].released = k >= 80;
      // Falling after a release, the momentum grows by the weight of what hangs freely; here only that the
      // system that was torn, or let go, is the one that was solved.
      EXPECT_LE(net.step(params, Real(1) / 60).value("residual"), 1e-4) << k;
      torn += Springs::edit(net.model, net.state, params, net.workspace);
    }
    EXPECT_GT(torn, 0) << int(preconditioner);
    for (const Vec3& x : net.state.particles.x) EXPECT_TRUE(x.allFinite());
  }
}

}}  // namespace plenum
