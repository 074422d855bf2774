// Liquids that a level set tracks instead of particles.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "../../validation/liquid_scenes.h"
#include "plenum/base/error.h"
#include "plenum/solvers/liquid/liquid.h"
#include "plenum/world/world.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using validation::Water;
using Tracker = Liquid::Tracker;
constexpr double fall = 9.81;  // [m/s^2]

LiquidFill water_box(const Vec3& low, const Vec3& high) {
  LiquidFill fill;
  fill.shape = GridSolid::Kind::box;
  fill.half_extents = (high - low) / 2;
  fill.position = (high + low) / 2;
  return fill;
}

/// A column that breaks around a ball.
Liquid::Spec breaking(int n, int nz, Tracker tracker) {
  Liquid::Spec spec;
  spec.tracker = tracker;
  spec.cells_x = n, spec.cells_y = 3 * n / 4, spec.cells_z = nz;
  spec.spacing = static_cast<Real>(1.0 / n);
  const Real depth = spec.spacing * static_cast<Real>(nz);
  spec.fill = {water_box(Vec3(-1, -1, -1), Vec3(Real(0.35), Real(0.6), depth + 1))};
  GridSolid ball;
  ball.radius = Real(0.12);
  ball.position = Vec3(Real(0.65), Real(0.1), depth / 2);
  spec.solids = {ball};
  return spec;
}
/// A basin filled to a height.
Liquid::Spec basin(int nx, int ny, int nz, double spacing, double height, Tracker tracker) {
  Liquid::Spec spec;
  spec.tracker = tracker;
  spec.cells_x = nx, spec.cells_y = ny, spec.cells_z = nz;
  spec.spacing = static_cast<Real>(spacing);
  spec.fill = {water_box(Vec3(-10, -10, -10), Vec3(10, static_cast<Real>(height), 10))};
  return spec;
}
World level_set_world(const Liquid::Spec& spec, int threads) {
  World world({.fps = 60});
  world.set_threads(threads);
  Water water(spec);
  world.add<Liquid>("water", std::move(water.model), std::move(water.state), water.params);
  return world;
}

TEST(LiquidLevelSet, SameBitsForEveryNumberOfThreads) {
  for (const int nz : {1, 8})
    for (const Tracker tracker : {Tracker::level_set, Tracker::particle_level_set}) {
      const Liquid::Spec spec = breaking(24, nz, tracker);
      std::string first;
      for (const int threads : {1, 3, 8}) {
        World world = level_set_world(spec, threads);
        for (int k = 0; k < 20; ++k) ASSERT_TRUE(world.step_frame().ok);
        if (first.empty()) first = world.hash().hex();
        EXPECT_EQ(world.hash().hex(), first) << nz << " " << threads;
      }
    }
}

TEST(LiquidLevelSet, GoesOnFromASnapshotAndWithoutItsScratchMemory) {
  for (const int nz : {1, 8}) {
    const Liquid::Spec spec = breaking(24, nz, Tracker::particle_level_set);
    World whole = level_set_world(spec, 2), halved = level_set_world(spec, 2),
          resumed = level_set_world(spec, 2);
    for (int k = 0; k < 7; ++k) ASSERT_TRUE(whole.step_frame().ok && halved.step_frame().ok);
    EXPECT_TRUE(resumed.restore(halved.snapshot()).empty());
    for (int k = 0; k < 8; ++k) ASSERT_TRUE(whole.step_frame().ok && resumed.step_frame().ok);
    EXPECT_EQ(resumed.hash().hex(), whole.hash().hex());
    Water a(spec), b(spec);
    for (int k = 0; k < 12; ++k) {
      a.step(1.0 / 60);
      b.workspace = {};
      b.step(1.0 / 60);
    }
    EXPECT_EQ(a.state.phi, b.state.phi);
    EXPECT_EQ(a.state.velocity.along, b.state.velocity.along);
    EXPECT_EQ(a.state.correction.x, b.state.correction.x);
  }
}

TEST(LiquidLevelSet, AllocatesNothingInSteadyState) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer has a heap of its own";
  for (const int nz : {1, 8}) {
    Water water(breaking(24, nz, Tracker::particle_level_set));
    for (int k = 0; k < 60; ++k) water.step(1.0 / 60);
    EXPECT_EQ(plenum_test::count_allocations([&] {
                for (int k = 0; k < 20; ++k) water.step(1.0 / 60);
              }),
              0);
  }
}

TEST(LiquidLevelSet, StandsStill) {
  // A surface between centres, at three places; its pressure is that of its depth.
  for (const int nz : {1, 8})
    for (const double part : {0.2, 0.5, 0.8}) {
      const double h = 1.0 / 12, height = (8 + part) * h;
      Water water(basin(12, 14, nz, h, height, Tracker::particle_level_set));
      const double volume = Liquid::volume(water.model, water.state);
      // Redistancing knows the surface to a thousandth of a cell.
      EXPECT_NEAR(volume, height * (nz == 1 ? 1 : nz * h), 1.1e-3 * h);
      for (int k = 0; k < 100; ++k) water.step(1.0 / 60);
      double most = 0, worst = 0;
      for (Index j = 0; j < 8; ++j)
        for (Index i = 0; i < 12; ++i) {
          const std::size_t at = water.model.shape.index(i, j, nz / 2);
          for (int c = 0; c < water.model.shape.dimensions(); ++c)
            most = std::max(most, static_cast<double>(std::abs(water.state.velocity[c][at])));
          worst = std::max(worst, std::abs(static_cast<double>(water.state.pressure[at]) -
                                           1000 * fall * (height - (j + 0.5) * h)));
        }
      // The pressure is solved to 1e-4. Where the surface is at a centre, rounding says whether that is wet;
      // if so, the surface counts as the least theta, 0.05, of a cell above it.
      const double at_centre = part == 0.5 ? 0.05 * 1000 * fall * h : 0;
      EXPECT_LT(most, 1e-3 * std::sqrt(2 * fall * height)) << nz << " " << part;
      EXPECT_LT(worst, 2e-3 * 1000 * fall * height + at_centre) << nz << " " << part;
      EXPECT_NEAR(Liquid::volume(water.model, water.state), volume, 1e-4 * volume);
    }
}

/// Water in a basin of unit length at the highest of its first standing wave.
Water standing_wave(int n, double depth, double amplitude, Tracker tracker) {
  const double h = 1.0 / n, k = std::numbers::pi;
  Water water(basin(n, static_cast<int>((depth + 0.25) * n), 1, h, depth, tracker));
  const GridShape& shape = water.model.shape;
  for (Index j = -1; j < shape.cells[1] + 2; ++j)
    for (Index i = -1; i < shape.cells[0] + 2; ++i) {
      const double x = (i + 0.5) * h, surface = depth + amplitude * std::cos(k * x),
                   slope = -amplitude * k * std::sin(k * x);
      water.state.phi[shape.index(i, j, 0)] = static_cast<Real>(
          std::clamp(((j + 0.5) * h - surface) / std::sqrt(1 + slope * slope), -4 * h, 4 * h));
    }
  water.state.correction = {};
  TrackerWorkspace tracking;
  if (tracker == Tracker::particle_level_set)
    seed_particles({shape, Vec3::Zero(), static_cast<Real>(h)}, water.state.phi, 4, 1, water.state.correction,
                   tracking);
  water.state.volume_wanted = Liquid::volume(water.model, water.state);
  return water;
}

/// [s] of its period, by the times when its first moment is zero.
double sloshing_period(int n, double depth, Tracker tracker) {
  const double h = 1.0 / n;
  Water water = standing_wave(n, depth, 0.02, tracker);
  const GridShape& shape = water.model.shape;
  const double dt = 0.005;
  double before = 0, first = 0, now = 0;
  int crossings = 0;
  for (int k = 0; k < 2000 && crossings < 5; ++k) {
    water.step(dt), now += dt;
    double moment = 0;
    for (Index j = 0; j < shape.cells[1]; ++j)
      for (Index i = 0; i < shape.cells[0]; ++i) {
        const double phi = static_cast<double>(water.state.phi[shape.index(i, j, 0)]);
        moment += std::clamp(0.5 - phi / h, 0.0, 1.0) * ((i + 0.5) * h - 0.5);
      }
    if (k > 0 && before * moment < 0) {
      const double at = now - dt * moment / (moment - before);
      if (crossings++ == 0) first = at;
      if (crossings == 5) return (at - first) / 2;
    }
    before = moment;
  }
  return 0;
}

TEST(LiquidLevelSet, SloshesAtTheFrequencyOfAStandingWave) {
  // omega^2 = g k tanh(k H), k = pi / L (Lamb 1932, "Hydrodynamics", section 228). The next order, of the
  // square of a k = 0.063, is a thousandth at these depths (Tadjbakhsh & Keller 1960, "Standing surface waves
  // of finite amplitude"), and so are (k h)^2 / 12 and (omega dt)^2 / 24.
  for (const double depth : {0.25, 0.5})
    for (const int n : {24, 48}) {
      const double k = std::numbers::pi, omega = std::sqrt(fall * k * std::tanh(k * depth));
      const double late = sloshing_period(n, depth, Tracker::particle_level_set) * omega / (2 * k) - 1;
      EXPECT_NEAR(late, 0, 0.003) << depth << " " << n;
    }
}

TEST(LiquidLevelSet, WavesKeepTheirVolumeByThemselves) {
  // Without control. A surface that is off by a twentieth of a cell loses that much of the depth; where
  // velocities go on beyond the surface without regard to what flows out there, the wave loses 6 % of it on
  // the coarse grid and 4 % on the fine one in these five periods.
  const double depth = 0.3;
  for (const int n : {24, 48})
    for (const Tracker tracker : {Tracker::level_set, Tracker::particle_level_set}) {
      Water water = standing_wave(n, depth, 0.08, tracker);
      water.params.volume_rate = 0;
      const double before = Liquid::volume(water.model, water.state);
      for (int k = 0; k < 400; ++k) water.step(1.0 / 60);
      EXPECT_NEAR(Liquid::volume(water.model, water.state) / before, 1, 0.05 / (n * depth)) << n;
    }
}

TEST(LiquidLevelSet, KeepsItsVolume) {
  // Of the mean over a second: thin sheets come and go between centres.
  const auto after = [](int nz, Tracker tracker, bool held) {
    Liquid::Spec spec = breaking(24, nz, tracker);
    spec.solids.clear();
    Water water(spec);
    if (!held) water.params.volume_rate = 0;
    const double before = Liquid::volume(water.model, water.state);
    const int frames = nz == 1 ? 240 : 90;
    double mean = 0;
    for (int k = 0; k < frames; ++k) {
      water.step(1.0 / 60);
      if (k >= frames - 60) mean += Liquid::volume(water.model, water.state) / 60;
    }
    return mean / before;
  };
  for (const int nz : {1, 8}) EXPECT_NEAR(after(nz, Tracker::particle_level_set, true), 1, 0.01) << nz;
  // What the grid loses where the column breaks, particles are for (Enright et al. 2002).
  const double alone = after(1, Tracker::level_set, false),
               corrected = after(1, Tracker::particle_level_set, false);
  EXPECT_LT(alone, 0.95);
  EXPECT_LT(std::abs(corrected - 1), std::abs(alone - 1));
}

TEST(LiquidLevelSet, StepsOfTenCellsAndMoreGiveItNoEnergy) {
  // A dam in a closed box, which breaks in steps in which its front crosses six to ten cells. Nothing but
  // gravity acts, so that it never has more than at the start (1.001 of it, as is asked of all flows). Nor
  // is that by loss of the liquid: what sheets thinner than a cell lose comes back by the control of volume
  // where they come to rest, over half of the box.
  for (const int nz : {1, 12})
    for (const Tracker tracker : {Tracker::level_set, Tracker::particle_level_set}) {
      Liquid::Spec spec;
      spec.tracker = tracker;
      spec.cells_x = 24, spec.cells_y = 20, spec.cells_z = nz;
      spec.spacing = Real(0.05);
      spec.fill = {water_box(Vec3(-1, -1, -1), Vec3(Real(0.6), Real(0.8), 10))};
      Water water(spec);
      water.params.cfl = 50, water.params.most_parts = 1;
      const auto energy = [&] {
        return Liquid::kinetic_energy(water.model, water.state, water.params.density) +
               Liquid::potential_energy(water.model, water.state, water.params);
      };
      const double start = energy();
      const double volume = Liquid::volume(water.model, water.state);
      double most = 0;
      for (int k = 0; k < 40; ++k) {
        water.step(0.1);
        most = std::max(most, energy());
      }
      EXPECT_LE(most, 1.001 * start) << nz << " " << static_cast<int>(tracker);
      EXPECT_GT(Liquid::volume(water.model, water.state), 0.7 * volume)
          << nz << " " << static_cast<int>(tracker);
    }
}

TEST(LiquidLevelSet, FlowsThroughNarrowGapsForNoLongerThanItFalls) {
  // A dam breaks against a ball that all but touches a wall. Four seconds later, eight of its sloshes, it has
  // less than the mean of the energies that it began with and that it rests with: that is at most of a basin
  // as much higher as if all of the ball were under water.
  constexpr double width = 0.4, height = 0.6, radius = 0.15;
  const double area = width * height, start = 1000 * fall * area * height / 2,
               rest = 1000 * fall * area * (area + std::numbers::pi * radius * radius) / 2;
  for (const std::array<double, 2>& place : {std::array{0.85, 0.175}, std::array{0.83, 0.15}})
    for (const Tracker tracker : {Tracker::level_set, Tracker::particle_level_set})
      for (const Trace trace : {Trace::euler, Trace::rk2, Trace::rk3}) {
        Liquid::Spec spec;
        spec.tracker = tracker;
        spec.cells_x = spec.cells_y = 32, spec.cells_z = 1;
        spec.spacing = Real(1) / 32;
        spec.fill = {
            water_box(Vec3(-1, -1, -1), Vec3(static_cast<Real>(width), static_cast<Real>(height), 1))};
        GridSolid ball;
        ball.radius = static_cast<Real>(radius);
        ball.position = Vec3(static_cast<Real>(place[0]), static_cast<Real>(place[1]), spec.spacing / 2);
        spec.solids = {ball};
        Water water(spec);
        water.params.trace = trace;
        for (int k = 0; k < 240; ++k) water.step(1.0 / 60);
        EXPECT_LT(Liquid::kinetic_energy(water.model, water.state, water.params.density) +
                      Liquid::potential_energy(water.model, water.state, water.params),
                  (start + rest) / 2)
            << place[0] << " " << static_cast<int>(tracker) << " " << static_cast<int>(trace);
      }
}

TEST(LiquidLevelSet, ComesInThroughInletsAndFromSourcesAndLeavesThroughOpenSides) {
  // A window in the left side fills a basin from its bottom: flux times time, of what is kept full at the
  // window from the start, a layer of cells.
  const double h = 1.0 / 24;
  for (const int nz : {1, 6}) {
    Liquid::Spec spec = basin(24, 24, nz, h, 0.2, Tracker::particle_level_set);
    LiquidInlet inlet;
    inlet.shape = GridSolid::Kind::box;
    inlet.position = Vec3(0, static_cast<Real>(4 * h), 0);
    inlet.half_extents = Vec3(Real(0.01), static_cast<Real>(2 * h), 10);
    inlet.velocity = Vec3(1, 0, 0);
    spec.inlets = {inlet};
    Water water(spec);
    const double width = nz == 1 ? 1 : nz * h, before = Liquid::volume(water.model, water.state);
    for (int k = 0; k < 60; ++k) water.step(1.0 / 60);
    const double came = Liquid::volume(water.model, water.state) - before, flux = 4 * h * width;
    EXPECT_NEAR(came, flux, 0.02 * flux + 2 * 4 * h * h * width) << nz;
  }
  // A source in the air fills itself and feeds a stream, which leaves through the bottom.
  Liquid::Spec spec;
  spec.tracker = Tracker::particle_level_set;
  spec.cells_x = 32, spec.cells_y = 24, spec.cells_z = 1;
  spec.spacing = Real(1) / 32;
  spec.bottom.kind = Liquid::Side::Kind::outflow;
  Water water(spec);
  EXPECT_EQ(Liquid::volume(water.model, water.state), 0);
  LiquidSource tap;
  tap.shape = GridSolid::Kind::box;
  tap.half_extents = Vec3(Real(0.125), Real(0.0625), Real(0.1));
  tap.position = Vec3(Real(0.5), Real(0.6), spec.spacing / 2);
  tap.velocity = Vec3(0, -2, 0);
  tap.stop = Real(0.5);
  water.params.gravity.setZero();
  water.params.sources = {tap};
  double most = 0;
  for (int k = 0; k < 120; ++k) {
    water.step(1.0 / 60);
    most = std::max(most, Liquid::volume(water.model, water.state));
  }
  // As wide as it is from its top to the bottom.
  EXPECT_NEAR(most, 0.25 * (0.6 + 0.0625), 0.1 * 0.25 * (0.6 + 0.0625));
  EXPECT_LT(Liquid::volume(water.model, water.state), 0.02 * most);
}

TEST(LiquidLevelSet, RefusesWhatItCannot) {
  const auto refused = [](const Liquid::Spec& spec) -> std::string {
    Liquid::Model model;
    Liquid::State state;
    try {
      Liquid::build(spec, model, state);
    } catch (const Error& error) {
      EXPECT_FALSE(error.problem().remedy.empty());
      return error.problem().key;
    }
    return "nothing";
  };
  Liquid::Spec periodic = basin(16, 16, 1, 1.0 / 16, 0.5, Tracker::level_set);
  periodic.left.kind = periodic.right.kind = Liquid::Side::Kind::periodic;
  EXPECT_EQ(refused(periodic), "tracker");
  Liquid::Spec thin = basin(16, 16, 1, 1.0 / 16, 0.5, Tracker::level_set);
  GridSolid wall;
  wall.shape = GridSolid::Kind::box;
  wall.half_extents = Vec3(Real(0.02), Real(0.3), 1);
  wall.position = Vec3(Real(0.5), Real(0.3), 0);
  thin.solids = {wall};
  EXPECT_EQ(refused(thin), "solids[0]");
  Liquid::Spec outside = basin(16, 16, 1, 1.0 / 16, 0.5, Tracker::level_set);
  outside.fill.push_back(water_box(Vec3(2, 2, 0), Vec3(3, 3, 1)));
  EXPECT_EQ(refused(outside), "fill[1]");
}

}}  // namespace plenum
