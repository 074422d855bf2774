// Smoke as a whole: determinism, restoring, stability, independence of the pressure solver.
#include "plenum/solvers/smoke/smoke.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/shapes.h"
#include "plenum/world/world.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

struct Gas {
  Smoke::Model model;
  Smoke::State state;
  Smoke::Params params;
  Smoke::Workspace workspace;
  explicit Gas(const Smoke::Spec& spec) { Smoke::build(spec, model, state); }
  Report step(double dt) { return Smoke::step(model, state, params, workspace, static_cast<Real>(dt)); }
  double largest_speed() const {
    double most = 0;
    for (int c = 0; c < model.shape.dimensions(); ++c)
      for (const Real u : state.velocity[c]) most = std::max(most, std::abs(static_cast<double>(u)));
    return most;
  }
};

/// A plume that meets a ball, between walls of every kind.
Smoke::Spec plume(int nx, int ny, int nz) {
  Smoke::Spec spec;
  spec.cells_x = nx, spec.cells_y = ny, spec.cells_z = nz;
  spec.spacing = static_cast<Real>(1.0 / nx);
  spec.top.kind = GridSide::outflow;
  spec.left.kind = GridSide::no_slip;
  if (nz > 1) spec.back.kind = spec.front.kind = GridSide::periodic;
  SmokeShape ball;
  ball.radius = Real(0.15);
  ball.position = Vec3(Real(0.55), Real(0.6), Real(0.5) * static_cast<Real>(nz) / static_cast<Real>(nx));
  spec.solids = {ball};
  return spec;
}
Smoke::Params warm(const Smoke::Spec& spec) {
  Smoke::Params params;
  SmokeSource source;
  source.radius = Real(0.15);
  source.position = Vec3(Real(0.5), Real(0.2), spec.solids[0].position.z());
  source.temperature = 80;
  params.sources = {source};
  params.vorticity_confinement = Real(0.2);
  params.viscosity = Real(1e-4);
  params.cooling = Real(0.1), params.settling = Real(0.1);
  return params;
}

World world_of(const Smoke::Spec& spec, int threads) {
  World world({.fps = 30});
  world.set_threads(threads);
  Gas gas(spec);
  world.add<Smoke>("air", std::move(gas.model), std::move(gas.state), warm(spec));
  return world;
}

TEST(Smoke, SameBitsForEveryNumberOfThreads) {
  for (const int nz : {1, 24}) {
    const Smoke::Spec spec = plume(24, 36, nz);
    std::string first;
    for (const int threads : {1, 2, 3, 5, 8}) {
      World world = world_of(spec, threads);
      for (int k = 0; k < 12; ++k) ASSERT_TRUE(world.step_frame().ok);
      if (first.empty()) first = world.hash().hex();
      EXPECT_EQ(world.hash().hex(), first) << nz << " " << threads;
    }
  }
}

TEST(Smoke, ScratchMemoryIsNoPartOfTheState) {
  const Smoke::Spec spec = plume(20, 30, 20);
  Gas a(spec), b(spec);
  a.params = b.params = warm(spec);
  for (int k = 0; k < 8; ++k) {
    a.step(1.0 / 30);
    b.workspace = {};
    b.step(1.0 / 30);
  }
  EXPECT_EQ(a.state.density, b.state.density);
  EXPECT_EQ(a.state.velocity.along, b.state.velocity.along);
  EXPECT_EQ(a.state.pressure, b.state.pressure);
}

TEST(Smoke, AllocatesNothingInSteadyState) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer has a heap of its own";
  for (const int nz : {1, 20}) {
    const Smoke::Spec spec = plume(20, 30, nz);
    Gas gas(spec);
    gas.params = warm(spec);
    for (int k = 0; k < 3; ++k) gas.step(1.0 / 30);
    EXPECT_EQ(plenum_test::count_allocations([&] {
                for (int k = 0; k < 5; ++k) gas.step(1.0 / 30);
              }),
              0);
  }
}

TEST(Smoke, RisesWarmAndParts) {
  const Smoke::Spec spec = plume(24, 36, 24);
  Gas gas(spec);
  gas.params = warm(spec);
  for (int k = 0; k < 80; ++k) gas.step(1.0 / 30);
  // Soot is above the source by now, and none within the ball.
  double above = 0, inside = 0;
  for (Index k = 0; k < 24; ++k)
    for (Index j = 0; j < 36; ++j)
      for (Index i = 0; i < 24; ++i) {
        const Vec3 x = Vec3(static_cast<Real>(i) + Real(0.5), static_cast<Real>(j) + Real(0.5),
                            static_cast<Real>(k) + Real(0.5)) /
                       24;
        const auto soot = static_cast<double>(gas.state.density[gas.model.shape.index(i, j, k)]);
        if ((x - spec.solids[0].position).norm() < Real(0.1)) inside += soot;
        if (x.y() > Real(0.8)) above += soot;
      }
  EXPECT_GT(above, 10);
  EXPECT_EQ(inside, 0);
  EXPECT_GT(gas.largest_speed(), 0.5);
}

TEST(Smoke, SolutionIsIndependentOfThePressureSolver) {
  const Smoke::Spec spec = plume(16, 20, 16);
  std::vector<Real> first;
  for (const PressureMethod method : {PressureMethod::multigrid, PressureMethod::cg, PressureMethod::mic0,
                                      PressureMethod::sor, PressureMethod::jacobi}) {
    Gas gas(spec);
    gas.params = warm(spec);
    gas.params.pressure_solver = method;
    gas.params.pressure_tolerance = Real(1e-6);
    gas.params.pressure_iterations = 100000;
    for (int k = 0; k < 10; ++k) gas.step(1.0 / 30);
    const std::vector<Real>& v = gas.state.velocity.along[1];
    if (first.empty()) first = v;
    double most = 0;
    for (std::size_t i = 0; i < v.size(); ++i)
      most = std::max(most, std::abs(static_cast<double>(v[i]) - static_cast<double>(first[i])));
    // Ten projections of 1e-6 of a velocity around 1 m/s, amplified by the flow's own strain in a third of a
    // second.
    EXPECT_LT(most, 1e-4) << names_of(method)[static_cast<std::size_t>(method)];
  }
}

TEST(Smoke, StableForStepsAndForcesOfAnySize) {
  for (const int nz : {1, 16})
    for (const double cfl : {0.5, 5.0, 50.0})
      for (const Real strength : {Real(1), Real(1e4)}) {
        double unconfined = 0;
        for (const Real confinement : {Real(0), Real(100)}) {
          const Smoke::Spec spec = plume(16, 24, nz);
          Gas gas(spec);
          gas.params = warm(spec);
          gas.params.vorticity_confinement = confinement;
          gas.params.acceleration = Vec3(strength, 0, 0);
          double dt = 0.01, most = 0;
          for (int k = 0; k < 60; ++k) {
            gas.step(dt);
            const double speed = gas.largest_speed();
            ASSERT_TRUE(std::isfinite(speed));
            most = std::max(most, speed);
            dt = std::min(0.5, cfl / 16 / std::max(speed, 1e-3));
          }
          for (const Real q : gas.state.density) ASSERT_TRUE(q >= 0 && q <= Real(1.001));
          // It gives back what is lost, and no more: swirls are as fast as what drives them.
          if (confinement == 0) unconfined = most;
          EXPECT_LT(most, 4 * unconfined) << nz << " " << cfl << " " << strength;
        }
      }
}

TEST(Smoke, NarrowGapsGiveItNoEnergy) {
  // A jet is blown for a fifth of a second at a ball that all but touches a wall: the gap's face, where gas
  // is fastest, looks back into gas that is still. All that is in the box is never faster in the mean than
  // the jet; without it nothing acts, and energy does not grow (1.001, as is asked of all flows) but decays.
  const Vec3 jet(30, -15, 0);
  for (const AdvectionScheme advection :
       {AdvectionScheme::semi_lagrangian, AdvectionScheme::cubic, AdvectionScheme::maccormack})
    for (const Trace trace : {Trace::euler, Trace::rk2, Trace::rk3}) {
      Smoke::Spec spec;
      spec.cells_x = spec.cells_y = 32, spec.cells_z = 1;
      spec.spacing = Real(1) / 32;
      SmokeShape ball;
      ball.radius = Real(0.15);
      ball.position = Vec3(Real(0.85), Real(0.175), spec.spacing / 2);
      spec.solids = {ball};
      Gas gas(spec);
      gas.params.advection = advection, gas.params.trace = trace;
      SmokeSource source;
      source.shape = GridSolid::Kind::box;
      source.half_extents = Vec3(Real(0.2), Real(0.15), Real(0.5));
      source.position = Vec3(Real(0.3), Real(0.4), spec.spacing / 2);
      source.moves = true, source.velocity = jet, source.rate = 1000;
      source.density = source.temperature = 0;
      gas.params.sources = {source};
      const auto energy = [&] { return Smoke::kinetic_energy(gas.model, gas.state, gas.params.air_density); };
      const auto most_in = [&](int steps) {
        double most = 0;
        for (int k = 0; k < steps; ++k) {
          gas.step(1.0 / 60);
          most = std::max(most, energy());
        }
        return most;
      };
      const std::string which = std::string(names_of(advection)[static_cast<std::size_t>(advection)]) + ", " +
                                names_of(trace)[static_cast<std::size_t>(trace)];
      const double all_with_it = static_cast<double>(gas.params.air_density / 2 * jet.squaredNorm());
      EXPECT_LT(most_in(12), all_with_it) << which;
      gas.params.sources.clear();
      const double start = energy();
      EXPECT_LE(most_in(240), 1.001 * start) << which;
      EXPECT_LT(energy(), start / 2) << which;
    }
}

TEST(Smoke, NothingMovesWithoutCause) {
  Smoke::Spec spec = plume(16, 16, 16);
  Gas gas(spec);
  for (int k = 0; k < 5; ++k) gas.step(0.05);
  EXPECT_EQ(gas.largest_speed(), 0);
}

TEST(Smoke, ClingsToSolidsWhereverTheyStandInTheirCells) {
  // Poiseuille's flow between two plates that are solids of the grid: the profile is of second order,
  // wherever the plates cut cells. u = G y (H - y) / (2 nu), largest 1 for G = 8 nu / H^2.
  const auto error = [](int n, double part, Smoke::Diffusion diffusion) {
    Smoke::Spec spec;
    const double h = 1.0 / n, low = 0.2 + part * h, high = 0.8 + 0.37 * h, width = high - low;
    spec.cells_x = 4, spec.cells_y = n, spec.cells_z = 1;
    spec.spacing = static_cast<Real>(h);
    spec.left.kind = spec.right.kind = GridSide::periodic;
    for (const double middle : {low - 0.5, high + 0.5}) {
      SmokeShape plate;
      plate.shape = GridSolid::Kind::box;
      plate.half_extents = Vec3(10, Real(0.5), 10);
      plate.position = Vec3(0, static_cast<Real>(middle), 0);
      spec.solids.push_back(plate);
    }
    spec.solids_grip = true;
    Gas gas(spec);
    gas.params.gravity.setZero();
    gas.params.viscosity = 1;
    gas.params.diffusion = diffusion;
    gas.params.acceleration = Vec3(static_cast<Real>(8 / (width * width)), 0, 0);
    const bool is_explicit = diffusion == Smoke::Diffusion::explicit_euler;
    for (int k = 0; k < (is_explicit ? 5 * n * n : 150); ++k) gas.step(is_explicit ? 0.2 * h * h : 0.01);
    double most = 0;
    for (Index j = 0; j < n; ++j) {
      const double y = (j + 0.5) * h - low;
      const double exact = y > 0 && y < width ? 4 * y * (width - y) / (width * width) : 0;
      most = std::max(
          most, std::abs(static_cast<double>(gas.state.velocity[0][gas.model.shape.index(1, j, 0)]) - exact));
    }
    return most;
  };
  for (const auto diffusion : {Smoke::Diffusion::implicit_euler, Smoke::Diffusion::explicit_euler})
    for (const double part : {0.1, 0.45, 0.62, 0.95}) {
      // Linear between the item and the surface: h^2 u'' / 8 at the most, u'' = 8 / width^2, at each plate.
      EXPECT_LT(error(20, part, diffusion), 1.05 / (20 * 20) / 0.36 * 2) << part;
      if (diffusion == Smoke::Diffusion::implicit_euler) {
        EXPECT_LT(error(40, part, diffusion), 1.05 / (40 * 40) / 0.36 * 2 + 1e-4) << part;
      }
    }
}

TEST(Smoke, ComesFromAMeshAsFromItsShape) {
  const auto soot = [](GridSolid::Kind kind) {
    Smoke::Spec spec;
    spec.cells_x = spec.cells_y = spec.cells_z = 24, spec.spacing = Real(1) / 24;
    Gas gas(spec);
    SmokeSource source;
    source.shape = kind;
    source.radius = Real(0.2);
    source.surface = icosphere_mesh(Real(0.2), 4);
    source.position = Vec3(Real(0.5), Real(0.4), Real(0.52));
    gas.params.sources = {source};
    gas.params.gravity.setZero();
    gas.step(1.0 / 30);
    double sum = 0;
    for (const Real q : gas.state.density) sum += static_cast<double>(q);
    return sum;
  };
  // The icosphere lies within the sphere: 4 pi / 3 less 1 % or so of its volume.
  EXPECT_NEAR(soot(GridSolid::Kind::mesh) / soot(GridSolid::Kind::sphere), 1, 0.02);
}

TEST(Smoke, WhatFlowsInHasItsProfile) {
  Smoke::Spec spec;
  spec.cells_x = 24, spec.cells_y = 16, spec.cells_z = 1, spec.spacing = Real(1) / 16;
  spec.left.kind = GridSide::inflow, spec.left.velocity = Vec3(3, 0, 0);
  spec.left.profile = Smoke::Side::Profile::parabolic;
  spec.right.kind = GridSide::outflow;
  spec.bottom.kind = spec.top.kind = GridSide::no_slip;
  Gas gas(spec);
  gas.params.gravity.setZero();
  gas.params.viscosity = Real(0.1);
  // A channel keeps it: fully developed from its start. The pressure acts after viscosity, whose wall it
  // gives a slip of its gradient times dt, 8 nu u dt / H^2; besides, the ghosts' h^2 u'' / 8.
  const double dt = 0.005, slip = 8 * 0.1 * 3 * dt, ghosts = 1.05 * 3 / (16 * 16);
  for (int k = 0; k < 800; ++k) gas.step(dt);
  for (const Index i : {0, 1, 12, 24})
    for (Index j = 0; j < 16; ++j) {
      const double y = (j + 0.5) / 16;
      EXPECT_NEAR(static_cast<double>(gas.state.velocity[0][gas.model.shape.index(i, j, 0)]),
                  12 * y * (1 - y), i == 0 ? 1e-5 : slip + ghosts)
          << i << " " << j;
    }
}

TEST(Smoke, RefusesWhatContradictsItself) {
  const auto refused = [](const Smoke::Spec& spec, const std::string& key) {
    Smoke::Model model;
    Smoke::State state;
    try {
      Smoke::build(spec, model, state);
      ADD_FAILURE() << "not refused: " << key;
    } catch (const Error& error) {
      EXPECT_EQ(error.problem().key, key);
      EXPECT_FALSE(error.problem().remedy.empty());
    }
  };
  Smoke::Spec spec;
  spec.cells_x = spec.cells_y = spec.cells_z = 8;
  spec.left.kind = GridSide::periodic;
  refused(spec, "right.kind");
  spec.left.kind = GridSide::no_slip;
  spec.left.velocity = Vec3(1, 0, 0);
  refused(spec, "left.velocity");
  spec.left.velocity = Vec3::Zero();
  SmokeShape all;
  all.radius = 10;
  spec.solids = {all};
  refused(spec, "solids");
}

TEST(Smoke, SaysWhenMoreFlowsInThanOut) {
  Smoke::Spec spec;
  spec.cells_x = spec.cells_y = 16, spec.cells_z = 1;
  spec.left.kind = GridSide::inflow;
  spec.left.velocity = Vec3(1, 0, 0);
  Gas closed(spec);
  EXPECT_FALSE(closed.step(0.01).warnings().empty());
  spec.right.kind = GridSide::outflow;
  Gas open(spec);
  EXPECT_TRUE(open.step(0.01).warnings().empty());
  // What flows in flows out.
  for (int k = 0; k < 5; ++k) open.step(0.01);
  double out = 0;
  for (Index j = 0; j < 16; ++j)
    out += static_cast<double>(open.state.velocity[0][open.model.shape.index(16, j, 0)]);
  EXPECT_NEAR(out, 16, 1e-2);
}

struct SeenFlow : DrawableSink {
  std::vector<Vec3> sheet, points;
  bool over = false;
  void triangles(const TriangleView& view) override {
    EXPECT_EQ(view.colour.values.size(), view.x.size());
    for (const Index3& t : view.triangles)
      for (const Index k : t) sheet.push_back(view.x[std::size_t(k)]);
  }
  void spheres(const SphereView&) override {}
  void lines(const LineView& view) override {
    for (const Index2& segment : view.segments)
      for (const Index k : segment) points.push_back(view.x[std::size_t(k)]);
    over = view.look == Look::mark;
  }
};

// What is drawn over pictures: a sheet where it is asked for, lines in the box, arrows on the sheet alone.
TEST(Smoke, ShowsHowItFlows) {
  const std::array<int, 3> cells = {12, 16, 12};
  const Smoke::Spec spec = plume(cells[0], cells[1], cells[2]);
  World world = world_of(spec, 1);
  for (int k = 0; k < 10; ++k) ASSERT_TRUE(world.step_frame().ok);
  const Vec3 high = spec.low + spec.spacing * Vec3(12, 16, 12);
  const auto in_box = [&](const Vec3& x) {
    return ((x - spec.low).array() > -spec.spacing).all() && ((high - x).array() > -spec.spacing).all();
  };
  const auto seen = [&](const DebugDraw& wanted) {
    SeenFlow flow;
    world.system(0).debug(wanted, flow);
    EXPECT_TRUE(std::all_of(flow.points.begin(), flow.points.end(), in_box));
    EXPECT_TRUE(std::all_of(flow.sheet.begin(), flow.sheet.end(), in_box));
    return flow;
  };
  DebugDraw wanted;
  EXPECT_TRUE(seen(wanted).points.empty() && seen(wanted).sheet.empty());
  wanted.streamlines = true;
  const SeenFlow lines = seen(wanted);
  EXPECT_GT(lines.points.size(), 100u);
  EXPECT_FALSE(lines.over);
  wanted = {};
  wanted.arrows = true;
  for (const auto slice : {DebugDraw::Slice::x, DebugDraw::Slice::y, DebugDraw::Slice::z}) {
    wanted.slice = slice, wanted.slice_at = Real(0.3);
    const SeenFlow sheet = seen(wanted);
    const int axis = static_cast<int>(slice) - 1;
    const Real layer = std::floor(Real(0.3) * static_cast<Real>(cells[std::size_t(axis)])) + Real(0.5);
    ASSERT_FALSE(sheet.sheet.empty());
    EXPECT_TRUE(sheet.over);
    for (const Vec3& x : sheet.sheet) EXPECT_NEAR(x[axis], spec.low[axis] + spec.spacing * layer, 1e-5);
    EXPECT_GT(sheet.points.size(), 20u);
  }
}

}}  // namespace plenum
