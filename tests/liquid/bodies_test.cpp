// Bodies in a liquid: momentum, the ledger, determinism, memory, and the solver of the tied pressure.
#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "../../validation/liquid_scenes.h"
#include "../../validation/rigid_scenes.h"
#include "plenum/base/random.h"
#include "plenum/geometry/shape.h"
#include "plenum/linear/pressure_solver.h"
#include "plenum/world/world.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using validation::Water;

Liquid::Spec tub(int n, int nz, double depth) {
  Liquid::Spec spec;
  spec.cells_x = spec.cells_y = n, spec.cells_z = nz;
  spec.spacing = static_cast<Real>(1.0 / n);
  LiquidFill fill;
  fill.shape = GridSolid::Kind::box;
  fill.half_extents = Vec3(1, static_cast<Real>(depth), spec.spacing * static_cast<Real>(nz)) / 2;
  fill.position = fill.half_extents;
  spec.fill = {fill};
  return spec;
}

SolidBody body_of(const Shape& shape, const Vec3& at, double density, double volume) {
  SolidBody body;
  body.shape = &shape;
  body.pose0.position = body.pose.position = body.centre = at;
  body.pose0.rotation = body.pose.rotation = rotation_from_degrees(Vec3(20, 35, 10));
  const double mass = density * volume;
  body.inverse_mass = static_cast<Real>(1 / mass);
  body.inverse_inertia = Mat3::Identity() * static_cast<Real>(1 / (mass * 0.02));
  body.acceleration = Vec3(0, Real(-9.81), 0);
  return body;
}

TEST(LiquidBodies, WhatFluidAndBodyGainIsWhatWallsGive) {
  // A tank that is full to its lid: sums over faces telescope to the pressures beside its walls.
  for (const int nz : {1, 16}) {
    Water water(tub(16, nz, 1));
    const Shape box = BoxShape{Vec3(Real(0.2), Real(0.13), Real(0.17))};
    const Real z = nz == 1 ? Real(0.5) / 16 : Real(0.5);
    const SolidBody body = body_of(box, Vec3(Real(0.47), Real(0.52), z), 2500, nz == 1 ? 0.1 : 0.035);
    const double dt = 1.0 / 60, h = 1.0 / 16, unit = 1000 * h * h * (nz == 1 ? 1 : h);
    water.params.pressure_tolerance = Real(1e-6);
    water.params.volume_rate = 0;
    Liquid::meet(water.workspace, {&body, 1});
    const Report report = water.step(dt);
    ASSERT_EQ(Liquid::pushes(water.workspace).size(), 1u);
    const BodyImpulse& push = Liquid::pushes(water.workspace)[0];
    const GridShape& shape = water.model.shape;
    const auto& faces = water.workspace.immersed.open;
    Vector3<double> fluid = Vector3<double>::Zero(), walls = Vector3<double>::Zero();
    for (int c = 0; c < shape.dimensions(); ++c) {
      const auto a = static_cast<std::size_t>(c);
      const double gain = c == 1 ? -9.81 * dt : 0;
      for (Index k = 0; k < nz; ++k)
        for (Index j = 0; j < 16; ++j)
          for (Index i = 0; i < 16; ++i) {
            const std::size_t at = shape.index(i, j, k);
            const Index along = c == 0 ? i : c == 1 ? j : k, last = c == 2 ? nz - 1 : 15;
            const auto pressure = static_cast<double>(water.state.pressure[at]);
            if (along == 0) walls[c] += pressure * dt * h * (nz == 1 ? 1 : h);
            if (along == last) walls[c] -= pressure * dt * h * (nz == 1 ? 1 : h);
            if (along > 0)
              fluid[c] += unit * static_cast<double>(faces[c][at]) *
                          (static_cast<double>(water.workspace.pairs[a][2 * at + 1]) - gain);
          }
    }
    const Vector3<double> given = push.impulse.cast<double>();
    EXPECT_GT(given.norm(), 1) << "it does push";
    // Rounding of as many terms as there are faces, each of the pressure's size.
    const double scale = 1000 * 9.81 * dt * (nz == 1 ? 1 : 1);
    for (int c = 0; c < shape.dimensions(); ++c)
      EXPECT_NEAR(fluid[c] + given[c], walls[c], 2e-5 * scale) << c << " " << nz;
    // A body that is denser than water falls slower in it than in the air.
    EXPECT_GT(given.y(), 0);
    EXPECT_LT(given.y() * static_cast<double>(body.inverse_mass), 9.81 * dt);
    EXPECT_LT(report.iterations, 40);
  }
}

TEST(LiquidBodies, PressureIsSolvedWhateverCellsTwoClose) {
  // Two boxes in each other, or beside a wall, close cells on all sides: no pressure stands there, whatever
  // the boxes drive in.
  const Shape box = BoxShape{Vec3(Real(0.2), Real(0.13), Real(0.17))};
  for (std::uint64_t k = 0; k < 200; ++k) {
    const auto random = [&](std::uint64_t stream) { return Vec3(uniform4(8, k, stream).head<3>()); };
    Water water(tub(12, 12, 0.8));
    const Vec3 at = random(0).cwiseProduct(Vec3(1, Real(0.8), Real(0.25)));
    std::array<SolidBody, 2> bodies;
    for (std::uint64_t i = 0; i < 2; ++i) {
      SolidBody& body = bodies[i] = body_of(
          box, i == 0 ? at : Vec3(at + Real(0.4) * (random(1) - Vec3::Constant(Real(0.5)))), 300, 0.035);
      body.pose0.rotation = body.pose.rotation = rotation_from_degrees(360 * random(2 + i));
      body.velocity = 4 * random(4) - Vec3::Constant(2);
    }
    Liquid::meet(water.workspace, bodies);
    const Report report = water.step(1.0 / 60);
    EXPECT_LE(report.value("pressure_residual"), static_cast<double>(water.params.pressure_tolerance)) << k;
  }
}

TEST(LiquidBodies, WhatIsHeldMovesNoWater) {
  // A light box that something stops in every step after the liquid has begun to move it, under water at
  // rest: no water is gone, none moves, and the push is the weight of what it displaces.
  for (const int nz : {1, 24}) {
    const int n = 24;
    Water water(tub(n, nz, 0.75));
    const Shape box = BoxShape{Vec3::Constant(Real(0.15))};
    const double displaced = 0.09 * (nz == 1 ? 1 : 0.3);
    SolidBody body =
        body_of(box, Vec3(Real(0.5), Real(0.375), nz == 1 ? Real(0.5) / n : Real(0.5)), 200, displaced);
    body.pose0.rotation = body.pose.rotation = Quat::Identity();
    double start = 0, push = 0, still = 0;
    for (int k = 0; k < 240; ++k) {
      Liquid::meet(water.workspace, {&body, 1});
      water.step(1.0 / 60);
      if (k == 0) start = Liquid::volume(water.model, water.state);
      if (k < 180) continue;
      push += static_cast<double>(Liquid::pushes(water.workspace)[0].impulse.y());
      still = std::max(still, Liquid::kinetic_energy(water.model, water.state, 1000));
    }
    EXPECT_NEAR(push, 1000 * 9.81 * displaced, 0.03 * 1000 * 9.81 * displaced) << nz;
    // What a box that is led and stands leaves of the jitter's energy.
    Water led(tub(n, nz, 0.75));
    SolidBody stands = body;
    stands.inverse_mass = 0, stands.inverse_inertia.setZero(), stands.acceleration.setZero();
    double rest = 0;
    for (int k = 0; k < 240; ++k) {
      Liquid::meet(led.workspace, {&stands, 1});
      led.step(1.0 / 60);
      if (k >= 180) rest = std::max(rest, Liquid::kinetic_energy(led.model, led.state, 1000));
    }
    // Were it not known that it is held, each step would give the water that it displaces the speed that
    // gravity gives: of that a fiftieth at most.
    const double free = 1000 * displaced * std::pow(9.81 / 60, 2) / 2;
    EXPECT_LT(still, rest + free / 50) << nz;
    // To what is asked of the volume without bodies.
    EXPECT_NEAR(Liquid::volume(water.model, water.state), Liquid::volume(led.model, led.state), 0.01 * start)
        << nz;
  }
}

TEST(LiquidBodies, PressureDoesNotTurnWhatIsRound) {
  // It is normal to the surface: it goes through a ball's middle, and passes a capsule's axis.
  for (const int nz : {1, 16})
    for (const bool ball : {true, false}) {
      Water water(tub(16, nz, 0.55));
      const Shape shape = ball ? Shape(SphereShape{Real(0.21)}) : Shape(CapsuleShape{Real(0.13), Real(0.2)});
      SolidBody body =
          body_of(shape, Vec3(Real(0.47), Real(0.52), nz == 1 ? Real(0.5) / 16 : Real(0.43)), 300, 0.03);
      if (!ball && nz == 1) body.pose0.rotation = body.pose.rotation = rotation_from_degrees(Vec3(90, 0, 0));
      const Vec3 axis = body.pose0.rotation * Vec3(Vec3::UnitY());
      body.angular_velocity = 7 * axis;
      body.inverse_inertia = axis * axis.transpose() * body.inverse_inertia(0, 0);  // it goes on standing so
      double pushed = 0;
      for (int k = 0; k < 10; ++k) {
        Liquid::meet(water.workspace, {&body, 1});
        water.step(1.0 / 60);
        const BodyImpulse& push = Liquid::pushes(water.workspace)[0];
        const auto couple = static_cast<double>(ball ? push.couple.norm() : std::abs(push.couple.dot(axis)));
        pushed = std::max(pushed, static_cast<double>(push.impulse.norm()));
        // Rounding of the places of cells.
        EXPECT_LT(couple, 1e-4 * 0.2 * pushed) << nz << " " << ball;
      }
      EXPECT_GT(pushed, 1);
    }
}

/// A box that nothing but a force of another system's bears.
struct Borne {
  validation::RigidScene scene{{.bodies = {validation::box(Vec3::Constant(Real(0.1)), Vec3::Zero())}}};
  Borne() { scene.params.sleeping = true; }
  /// Steps with `part` of its weight, spread over the step.
  void step(double part) {
    const double dt = 1.0 / 60;
    const Real weight = Real(9.81) / scene.state.frames.inverse_mass[0];
    const BodyImpulse push{.body = 0,
                           .impulse = Vec3(0, static_cast<Real>(part * dt) * weight, 0),
                           .point = scene.state.frames.x[0],
                           .couple = Vec3::Zero(),
                           .spread = true};
    Rigid::absorb(scene.model, scene.state, {&push, 1});
    Rigid::step(scene.model, scene.state, scene.params, scene.workspace, static_cast<Real>(dt));
  }
  bool sleeps() const { return scene.state.rest.island[0] >= 0; }
};

TEST(LiquidBodies, WhatALiquidBearsSleepsUntilItIsPushedOtherwise) {
  Borne box;
  for (int k = 0; k < 90; ++k) box.step(1);
  ASSERT_TRUE(box.sleeps());
  // Ripples of a twentieth of the weight, of ten steps each, do not move it.
  Borne rippled = box;
  for (int k = 0; k < 300; ++k) {
    rippled.step(k / 10 % 2 == 0 ? 1.05 : 0.95);
    ASSERT_TRUE(rippled.sleeps()) << k;
  }
  // 20 sleep_speed sqrt(reach) is the most that a body at rest may have; a push that is more by a part a of
  // the weight, forgotten in a second, would give it a g (1 - exp(-t)), and so wakes it from a = 0.0106 on.
  const double limit = 20 * 0.0125 * std::sqrt(0.1 * std::sqrt(3.0));
  for (const double more : {0.8, 1.25, -1.25}) {
    Borne again = box;
    int steps = 0;
    while (steps < 600 && again.sleeps()) again.step(1 + more * limit / 9.81), ++steps;
    if (more == 0.8)
      EXPECT_TRUE(again.sleeps());
    else
      EXPECT_NEAR(steps / 60.0, std::log(1 / (1 - 1 / 1.25)), 0.1) << more;
  }
  // Without the liquid it falls at once.
  Borne left = box;
  for (int k = 0; k < 2; ++k) left.step(0);
  EXPECT_FALSE(left.sleeps());
}

TEST(LiquidBodies, ABoxAfloatFallsAsleep) {
  World world{{.fps = 60}};
  Liquid::Spec spec = tub(20, 1, 0.5);
  Water water(spec);
  // As calm as water of a viscous kind is after three seconds.
  water.params.transfer = Liquid::Transfer::pic;
  water.params.viscosity = Real(0.01);
  rigid::BodySpec floater =
      validation::box(Vec3(Real(0.2), Real(0.1), Real(0.5)), Vec3(Real(0.5), Real(0.53), spec.spacing / 2));
  floater.density = 500;
  floater.lock_z = floater.lock_turn_x = floater.lock_turn_y = true;
  validation::RigidScene scene({.bodies = {floater}});
  scene.params.sleeping = true;
  const auto& bodies =
      world.add<Rigid>("bodies", std::move(scene.model), std::move(scene.state), scene.params);
  world.add<Liquid>("water", std::move(water.model), std::move(water.state), water.params);
  for (int k = 0; k < 480; ++k) world.step_frame();
  for (int k = 0; k < 60; ++k) {
    world.step_frame();
    ASSERT_GE(bodies.state.rest.island[0], 0) << k;
  }
}

TEST(LiquidBodies, LedgerBooksWhatBodiesGain) {
  World world({.fps = 60});
  validation::RigidScene rigid({.bodies = {validation::box(Vec3(Real(0.15), Real(0.1), Real(0.15)),
                                                           Vec3(Real(0.5), Real(0.35), Real(0.5)))}});
  rigid.state.frames.v[0] = Vec3(Real(0.1), 0, 0);
  Water water(tub(16, 16, 0.6));
  auto& bodies = world.add<Rigid>("bodies", std::move(rigid.model), std::move(rigid.state), rigid.params);
  world.add<Liquid>("water", std::move(water.model), std::move(water.state), water.params);
  const double mass = 1 / static_cast<double>(bodies.state.frames.inverse_mass[0]);
  for (int k = 0; k < 5; ++k) {
    const Vec3 before = bodies.state.frames.v[0];
    ASSERT_TRUE(world.step_frame().ok);
    const LedgerEntry& entry = world.ledger().at({"bodies", "water"});
    const Vector3<double> gained =
        mass * ((bodies.state.frames.v[0] - before).cast<double>() + Vector3<double>(0, 9.81 / 60, 0));
    EXPECT_GT(entry.transfers, 0u);
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(gained[c], -entry.impulse[c], 1e-5 * mass) << c;
  }
}

World crates(int threads, Liquid::Tracker tracker = Liquid::Tracker::particles) {
  World world({.fps = 60});
  world.set_threads(threads);
  std::vector<rigid::BodySpec> bodies = {validation::floor_box()};
  for (int k = 0; k < 3; ++k) {
    bodies.push_back(validation::box(Vec3(Real(0.12), Real(0.09), Real(0.1)),
                                     Vec3(Real(0.3) + Real(0.2) * static_cast<Real>(k),
                                          Real(0.6) + Real(0.3) * static_cast<Real>(k), Real(0.5))));
    bodies.back().density = static_cast<Real>(300 + 300 * k);
    bodies.back().rotation = Vec3(10, 20, static_cast<Real>(30 * k));
  }
  validation::RigidScene rigid({.bodies = bodies});
  Liquid::Spec spec = tub(16, 16, 0.5);
  spec.tracker = tracker;
  Water water(spec);
  world.add<Rigid>("bodies", std::move(rigid.model), std::move(rigid.state), rigid.params);
  world.add<Liquid>("water", std::move(water.model), std::move(water.state), water.params);
  return world;
}

TEST(LiquidBodies, SameBitsForEveryNumberOfThreads) {
  std::string first;
  for (const int threads : {1, 2, 3, 5, 8}) {
    World world = crates(threads);
    for (int k = 0; k < 40; ++k) ASSERT_TRUE(world.step_frame().ok);
    if (first.empty()) first = world.hash().hex();
    EXPECT_EQ(world.hash().hex(), first) << threads;
  }
}

TEST(LiquidBodies, ScratchMemoryIsNoPartOfTheState) {
  for (const auto tracker : {Liquid::Tracker::particles, Liquid::Tracker::particle_level_set}) {
    World a = crates(2, tracker), b = crates(1, tracker);
    for (int k = 0; k < 40; ++k) {
      a.step_frame();
      b.find("water")->poison_workspace();
      b.step_frame();
    }
    EXPECT_EQ(a.hash().hex(), b.hash().hex());
  }
}

TEST(LiquidBodies, ALevelSetBearsWhatItDisplaces) {
  // A box that is held under water at rest is pushed by the weight of what it displaces, and one that is led
  // out of the water and back leaves as much of it as there was. Source: Archimedes; of the box, a face of a
  // cell is told of to a tenth.
  for (const auto tracker : {Liquid::Tracker::level_set, Liquid::Tracker::particle_level_set}) {
    const int n = 24;
    Liquid::Spec spec = tub(n, 1, 0.6);
    spec.tracker = tracker;
    Water water(spec);
    const Shape box = BoxShape{Vec3::Constant(Real(0.15))};
    const double displaced = 0.09, h = 1.0 / n;
    SolidBody body = body_of(box, Vec3(Real(0.5), Real(0.3), Real(0.5) / n), 200, displaced);
    body.pose0.rotation = body.pose.rotation = Quat::Identity();
    double push = 0;
    for (int k = 0; k < 60; ++k) {
      Liquid::meet(water.workspace, {&body, 1});
      const Report report = water.step(1.0 / 60);
      EXPECT_TRUE(report.warnings().empty());
      if (k >= 30) push += static_cast<double>(Liquid::pushes(water.workspace)[0].impulse.y());
    }
    EXPECT_NEAR(push, 1000 * 9.81 * displaced / 2, 0.03 * 1000 * 9.81 * displaced / 2);
    body.inverse_mass = 0, body.inverse_inertia.setZero();
    water.params.measure = true;
    const auto lead = [&](double from, double to, int frames) {
      double volume = 0;
      for (int k = 0; k < frames; ++k) {
        body.pose0.position.y() = static_cast<Real>(from + (to - from) * k / frames);
        body.pose.position.y() = static_cast<Real>(from + (to - from) * (k + 1) / frames);
        Liquid::meet(water.workspace, {&body, 1});
        volume = water.step(1.0 / 60).value("volume");
      }
      return volume;
    };
    const double wanted = 0.6 - displaced, error = 0.1 * h * 1.2;
    EXPECT_NEAR(lead(0.3, 0.3, 1), wanted, error);
    EXPECT_NEAR(Liquid::volume(water.model, water.state, &water.workspace), wanted, error);
    EXPECT_NEAR(Liquid::potential_energy(water.model, water.state, water.params, &water.workspace),
                1000 * 9.81 * (0.6 * 0.3 - displaced * 0.3), 1000 * 9.81 * error * 0.45);
    EXPECT_NEAR(lead(0.3, 0.82, 60), wanted, 0.02 * wanted);
    EXPECT_NEAR(lead(0.82, 0.3, 60), wanted, 0.02 * wanted);
  }
}

TEST(LiquidBodies, WhatLiesOnTheGroundLeavesNoCellUnderIt) {
  // A light box that fills whole cells down to the ground. Were one of these the liquid's, it would be shut
  // in on all sides and still have to take up what the box gains: an equation without a solution.
  for (const auto tracker :
       {Liquid::Tracker::particles, Liquid::Tracker::level_set, Liquid::Tracker::particle_level_set})
    for (const int nz : {1, 20}) {
      Liquid::Spec spec = tub(20, nz, 0.5);
      spec.tracker = tracker;
      Water water(spec);
      const Shape box = BoxShape{Vec3(Real(0.15), Real(0.1), Real(0.15))};
      SolidBody body = body_of(box, Vec3(Real(0.5), Real(0.1), nz == 1 ? Real(0.025) : Real(0.5)), 500,
                               nz == 1 ? 0.06 : 0.018);
      body.pose0.rotation = body.pose.rotation = Quat::Identity();
      for (int k = 0; k < 5; ++k) {
        Liquid::meet(water.workspace, {&body, 1});
        const Report report = water.step(1.0 / 60);
        double residual = 1;
        for (const Report::Measure& measure : report.measures())
          if (std::string_view(measure.name) == "pressure_residual") residual = measure.value;
        EXPECT_LE(residual, static_cast<double>(water.params.pressure_tolerance))
            << static_cast<int>(tracker) << " " << nz << " " << k;
      }
    }
}

TEST(LiquidBodies, ALevelSetSaysThatThinOnesDoNotHoldIt) {
  // A cell and a half is thin, two and a half are not.
  for (const double cells : {1.5, 2.5}) {
    const int n = 16;
    Liquid::Spec spec = tub(n, 1, 0.5);
    const Shape plate = BoxShape{Vec3(Real(0.2), static_cast<Real>(cells / (2 * n)), Real(0.2))};
    SolidBody body = body_of(plate, Vec3(Real(0.5), Real(0.3), Real(0.5) / n), 1000, 0.02);
    for (const auto tracker : {Liquid::Tracker::particles, Liquid::Tracker::level_set}) {
      spec.tracker = tracker;
      Water water(spec);
      Liquid::meet(water.workspace, {&body, 1});
      bool warned = false;
      const Report report = water.step(1.0 / 60);
      for (const auto& warning : report.warnings())
        warned =
            warned || std::string_view(warning.text).find("thinner than two cells") != std::string_view::npos;
      EXPECT_EQ(warned, tracker == Liquid::Tracker::level_set && cells < 2) << cells;
    }
  }
}

TEST(LiquidBodies, EveryFaceThatAThinOneClosesMovesWithIt) {
  // Plates of a tenth of a cell at many places between the centres of cells and at many angles.
  const int n = 16;
  const GridShape shape{{n, n, n}};
  for (std::uint64_t trial = 0; trial < 60; ++trial) {
    const Vec4 place = uniform4(3, trial, 0), turn = uniform4(3, trial, 1);
    Water water(tub(n, n, 0.5));
    const Real thickness = Real(0.05 / n);
    const Shape plate = BoxShape{Vec3(Real(0.2), thickness, Real(0.15))};
    SolidBody body = body_of(plate, Vec3::Constant(Real(0.5)) + place.head<3>() / n, 2500, 0.001);
    // Along the grid as well as across.
    body.pose.rotation = body.pose0.rotation =
        trial % 3 == 0 ? Quat(Quat::Identity()) : rotation_from_degrees(90 * turn.head<3>());
    Liquid::meet(water.workspace, {&body, 1});
    water.step(1.0 / 240);
    const LiquidBodies& b = water.workspace.immersed;
    ASSERT_EQ(b.parts.size(), 1u);
    const LiquidBodies::Part& part = b.parts[0];
    int closed = 0;
    for (Index k = 0; k < n; ++k)
      for (Index j = 0; j < n; ++j)
        for (Index i = 0; i < n; ++i)
          for (int c = 0; c < 3; ++c) {
            const std::array<Index, 3> item = {i, j, k};
            const auto a = static_cast<std::size_t>(c);
            if (b.open[c][shape.index(i, j, k)] > 0 || item[a] == 0) continue;
            ++closed;
            std::size_t number = part.first_item, stride = 1;
            for (std::size_t d = 0; d < 3; ++d) {
              ASSERT_GE(item[d], part.low[d]) << trial;
              ASSERT_LT(item[d], part.high[d]) << trial;
              number += stride * static_cast<std::size_t>(item[d] - part.low[d]);
              stride *= static_cast<std::size_t>(part.high[d] - part.low[d]);
            }
            EXPECT_EQ(b.closed[number][a], 1) << trial;
          }
    EXPECT_GT(closed, 10) << trial;
  }
}

TEST(LiquidBodies, AllocateNothingInSteadyState) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer has a heap of its own";
  const Shape box = BoxShape{Vec3(Real(0.15), Real(0.1), Real(0.12))};
  std::array<SolidBody, 2> bodies = {body_of(box, Vec3(Real(0.3), Real(0.5), Real(0.5)), 500, 0.0144),
                                     body_of(box, Vec3(Real(0.7), Real(0.4), Real(0.5)), 500, 0.0144)};
  bodies[1].inverse_mass = 0, bodies[1].inverse_inertia.setZero();
  for (const auto tracker : {Liquid::Tracker::particles, Liquid::Tracker::particle_level_set}) {
    Liquid::Spec spec = tub(16, 16, 0.5);
    spec.tracker = tracker;
    Water water(spec);
    const auto step = [&] {
      Liquid::meet(water.workspace, bodies);
      water.step(1.0 / 60);
    };
    for (int k = 0; k < 60; ++k) step();
    EXPECT_EQ(plenum_test::count_allocations([&] {
                for (int k = 0; k < 5; ++k) step();
              }),
              0);
  }
}

TEST(LiquidBodies, TiedPressureSolvesTheTiedEquation) {
  // Against the equation itself, by products with the operator; a body a thousandth as dense as the fluid
  // too.
  const GridShape shape{{12, 10, 8}};
  PressureSides sides{};
  sides.fill(PressureSide::closed);
  sides[3] = PressureSide::open;
  for (const double mass : {1.0, 1e-3}) {
    PressureSolver solver(grid_poisson(shape, sides));
    const RowLayout& layout = solver.poisson().layout;
    std::uint64_t drawn = 0;
    const auto draw = [&] { return uniform4(7, drawn++, 0)[0] - Real(0.5); };
    std::size_t begin = 0;
    for (int body = 0; body < 2; ++body) {
      for (Index k = 2; k < 6; ++k)
        for (Index j = 2; j < 6; ++j)
          for (Index i = 2 + 4 * body; i < 6 + 4 * body; ++i) {
            BodyTies::Tie tie{static_cast<std::uint32_t>(layout.index(i, j, k)), {}};
            for (Real& g : tie.g) g = draw();
            solver.ties.ties.push_back(tie);
          }
      BodyTies::Body of;
      of.begin = begin, of.end = begin = solver.ties.ties.size();
      of.s = Eigen::Matrix<double, 6, 6>::Identity() * (0.01 / mass);
      solver.ties.bodies.push_back(of);
    }
    for (Index k = 0; k < 8; ++k)
      for (Index j = 0; j < 10; ++j)
        for (Index i = 0; i < 12; ++i) solver.b[layout.index(i, j, k)] = draw();
    const SolveReport report =
        solver.solve(PressureMethod::automatic, {.relative_tolerance = 1e-6, .max_iterations = 200});
    EXPECT_TRUE(report.converged());
    std::vector<Real> r(layout.size());
    true_residual(solver.poisson(), solver.b, solver.x, r);
    std::vector<double> left(r.begin(), r.end());
    for (const BodyTies::Body& body : solver.ties.bodies) {
      Eigen::Matrix<double, 6, 1> sum = Eigen::Matrix<double, 6, 1>::Zero();
      for (std::size_t t = body.begin; t < body.end; ++t)
        for (std::size_t q = 0; q < 6; ++q)
          sum[static_cast<Eigen::Index>(q)] +=
              static_cast<double>(solver.ties.ties[t].g[q]) * solver.x[solver.ties.ties[t].item];
      sum = body.s * sum;
      for (std::size_t t = body.begin; t < body.end; ++t)
        for (std::size_t q = 0; q < 6; ++q)
          left[solver.ties.ties[t].item] -=
              static_cast<double>(solver.ties.ties[t].g[q]) * sum[static_cast<Eigen::Index>(q)];
    }
    double square = 0, whole = 0;
    for (std::size_t i = 0; i < left.size(); ++i)
      square += left[i] * left[i],
          whole += static_cast<double>(solver.b[i]) * static_cast<double>(solver.b[i]);
    EXPECT_LT(std::sqrt(square / whole), 2e-6);
  }
}

}}  // namespace plenum
