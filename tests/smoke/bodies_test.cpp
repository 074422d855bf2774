// Bodies that move in smoke: what they drive away, what that costs them, and that nothing is lost of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/geometry/shape.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/rigid/rigid.h"
#include "plenum/solvers/smoke/smoke.h"
#include "plenum/world/world.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

struct StirredGas {
  Smoke::Model model;
  Smoke::State state;
  Smoke::Params params;
  Smoke::Workspace workspace;
  explicit StirredGas(const Smoke::Spec& spec) {
    Smoke::build(spec, model, state);
    params.gravity = Vec3::Zero();
    params.pressure_tolerance = Real(1e-6);
  }
  Report step(std::span<const SolidBody> bodies, double dt) {
    Smoke::meet(workspace, bodies);
    return Smoke::step(model, state, params, workspace, static_cast<Real>(dt));
  }
  /// Of the gas, as what is open of each face carries it.
  Vector3<double> momentum() const {
    const double h = static_cast<double>(model.h), mass = 1.2 * h * h * (model.shape.is_flat() ? 1 : h);
    Vector3<double> sum = Vector3<double>::Zero();
    for (int c = 0; c < model.shape.dimensions(); ++c)
      for (Index k = 0; k < model.shape.cells[2]; ++k)
        for (Index j = 0; j < model.shape.cells[1]; ++j)
          for (Index i = 0; i < model.shape.cells[0]; ++i) {
            const std::size_t at = model.shape.index(i, j, k);
            sum[c] += mass * static_cast<double>(workspace.immersed.open[c][at]) *
                      static_cast<double>(state.velocity[c][at]);
          }
    return sum;
  }
};

Smoke::Spec box_of(int n, bool flat, GridSide sides) {
  Smoke::Spec spec;
  spec.cells_x = spec.cells_y = n;
  spec.cells_z = flat ? 1 : n;
  spec.spacing = static_cast<Real>(1.0 / n);
  for (Smoke::Side* side : {&spec.left, &spec.right, &spec.bottom, &spec.top, &spec.back, &spec.front})
    side->kind = sides;
  return spec;
}
SolidBody led(const Shape& shape, const Pose& from, const Pose& to) {
  return {.shape = &shape, .pose0 = from, .pose = to};
}
SolidBody led(const Shape& shape, const Vec3& from, const Vec3& to) {
  return led(shape, Pose{.position = from}, Pose{.position = to});
}
Vec3 middle(bool flat, int n) {
  return {Real(0.5), Real(0.5), flat ? static_cast<Real>(0.5 / n) : Real(0.5)};
}

/// Largest sum over a cell of what flows through its faces' open parts and what bodies drive through the
/// others [m/s].
double largest_divergence(const StirredGas& gas) {
  const GridShape& shape = gas.model.shape;
  const SmokeBodies& b = gas.workspace.immersed;
  double most = 0;
  for (Index k = 0; k < shape.cells[2]; ++k)
    for (Index j = 0; j < shape.cells[1]; ++j)
      for (Index i = 0; i < shape.cells[0]; ++i) {
        if (!b.known[3][shape.index(i, j, k)]) continue;
        double sum = 0;
        for (int c = 0; c < shape.dimensions(); ++c)
          for (int s = 0; s < 2; ++s) {
            const std::size_t at = shape.index(i, j, k) + static_cast<std::size_t>(s * shape.stride(c));
            const double open = static_cast<double>(b.open[c][at]);
            double through = open * static_cast<double>(gas.state.velocity[c][at]);
            if (open < 1) {
              Vec3 x = gas.model.low +
                       gas.model.h * (Vec3(static_cast<Real>(i), static_cast<Real>(j), static_cast<Real>(k)) +
                                      Vec3::Constant(Real(0.5)));
              x[c] += gas.model.h * (static_cast<Real>(s) - Real(0.5));
              through += (1 - open) * static_cast<double>(b.bodies[0].velocity_at(x)[c]);
            }
            sum += s ? through : -through;
          }
        most = std::max(most, std::abs(sum));
      }
  return most;
}

TEST(SmokeBodies, TheFlowAroundThemIsFreeOfDivergence) {
  const Shape ball = SphereShape{Real(0.15)}, door = BoxShape{Vec3(Real(0.25), Real(0.05), Real(0.3))};
  for (const bool flat : {true, false}) {
    const int n = flat ? 48 : 32;
    for (const bool turns : {false, true}) {
      StirredGas gas(box_of(n, flat, GridSide::free_slip));
      gas.params.pressure_tolerance = Real(1e-7);
      double worst = 0;
      for (int k = 0; k < 10; ++k) {
        const auto pose = [&](int step) {
          const Real way = Real(0.02) * static_cast<Real>(step);
          const Vec3 at = middle(flat, n) + Vec3(way - Real(0.1), way / 2, 0);
          return turns ? Pose{at, Quat(Eigen::AngleAxis<Real>(4 * way, Vec3::UnitZ()))}
                       : Pose{.position = at};
        };
        const SolidBody body = led(turns ? door : ball, pose(k), pose(k + 1));
        gas.step(std::span(&body, 1), 0.02);
        worst = std::max(worst, largest_divergence(gas));
      }
      // To what a body at a metre a second drives through a face.
      EXPECT_LT(worst, 1e-5) << flat << turns;
      EXPECT_GT(gas.momentum().norm(), 0);
    }
  }
}

/// Added mass over that of the gas displaced, from the impulse that it takes to set a ball in motion at once.
double added_mass(bool flat, int n, Real radius) {
  StirredGas gas(box_of(n, flat, GridSide::outflow));
  const Shape ball = flat ? Shape(CapsuleShape{radius, 1}) : Shape(SphereShape{radius});
  // A capsule upright through the sheet is a disc there.
  const Quat upright(Eigen::AngleAxis<Real>(std::numbers::pi_v<Real> / 2, Vec3::UnitX()));
  const Vec3 at = middle(flat, n);
  const SolidBody body = led(ball, Pose{at - Vec3(Real(0.001), 0, 0), upright}, Pose{at, upright});
  gas.step(std::span(&body, 1), 0.001);  // 1 m/s
  const double r = static_cast<double>(radius),
               volume = flat ? std::numbers::pi * r * r : 4 * std::numbers::pi / 3 * r * r * r;
  EXPECT_EQ(Smoke::pushes(gas.workspace).size(), 1U);
  return -static_cast<double>(Smoke::pushes(gas.workspace)[0].impulse.x()) / (1.2 * volume);
}

TEST(SmokeBodies, ABallSetInMotionCarriesItsAddedMass) {
  // Between a sphere (cylinder) of radius R and one of radius R / k where the pressure is zero: potential
  // flow gives (1 - k^3) / (2 + k^3), in two dimensions (1 - k^2) / (1 + k^2) (Lamb 1932, sections 92 and
  // 68). The box lies between the spheres in and around it.
  const auto sphere = [](double k) { return (1 - k * k * k) / (2 + k * k * k); };
  const auto disc = [](double k) { return (1 - k * k) / (1 + k * k); };
  constexpr double r = 0.125, in = 2 * r;
  const double of_sphere = added_mass(false, 64, Real(r)), of_disc = added_mass(true, 128, Real(r));
  // Two percent for the ball's radius of eight (sixteen) cells.
  EXPECT_GT(of_sphere, 0.98 * sphere(in));
  EXPECT_LT(of_sphere, 1.02 * sphere(in / std::sqrt(3)));
  EXPECT_GT(of_disc, 0.98 * disc(in));
  EXPECT_LT(of_disc, 1.02 * disc(in / std::sqrt(2)));
}

TEST(SmokeBodies, FreeOnesShareTheirMomentumWithTheGasHoweverLight) {
  constexpr int n = 40;
  constexpr Real radius = Real(0.15);
  const Shape ball = SphereShape{radius};
  const double displaced = 1.2 * 4 * std::numbers::pi / 3 * std::pow(static_cast<double>(radius), 3);
  double first = 0;
  for (const double part : {100.0, 1.0, 0.01, 1e-4}) {
    StirredGas gas(box_of(n, false, GridSide::outflow));
    const Vec3 at = middle(false, n);
    const double mass = part * displaced;
    SolidBody body = led(ball, at, at);
    body.inverse_mass = static_cast<Real>(1 / mass);
    body.inverse_inertia = Mat3::Identity() * static_cast<Real>(1 / (0.4 * mass * 0.0225));
    body.centre = at;
    body.velocity = Vec3(1, 0, 0);
    gas.step(std::span(&body, 1), 0.001);
    // m V' = m V + J and J = -M V' with the added mass M, the same for all.
    const double v = static_cast<double>(gas.workspace.immersed.bodies[0].velocity.x());
    const double added = -gas.workspace.immersed.bodies[0].impulse.x() / v / displaced;
    if (first == 0) first = added;
    EXPECT_NEAR(added, first, 2e-3 * first) << part;
    EXPECT_NEAR(v, part / (part + added), 2e-3 * v) << part;
  }
  EXPECT_NEAR(first, 0.49, 0.02);
}

TEST(SmokeBodies, MovingOneIsAsStandingInAStreamTheOtherWay) {
  constexpr int n = 32;
  Smoke::Spec spec = box_of(n, false, GridSide::outflow);
  const Vec3 at = middle(false, n);
  StirredGas moving(spec);
  const Shape ball = SphereShape{Real(0.2)};
  const SolidBody body = led(ball, at - Vec3(Real(0.001), 0, 0), at);
  moving.step(std::span(&body, 1), 0.001);
  SmokeShape same;
  same.radius = Real(0.2), same.position = at;
  spec.solids = {same};
  StirredGas standing(spec);
  for (Real& u : standing.state.velocity.along[0]) u = -1;
  standing.step({}, 0.001);
  for (int c = 0; c < 3; ++c)
    for (Index k = 0; k < n; ++k)
      for (Index j = 0; j < n; ++j)
        for (Index i = 0; i < n; ++i) {
          const std::size_t q = standing.model.shape.index(i, j, k);
          if (!(standing.model.open[c][q] > 0)) continue;
          ASSERT_NEAR(moving.state.velocity[c][q], standing.state.velocity[c][q] + (c == 0 ? 1 : 0), 2e-4);
        }
}

TEST(SmokeBodies, WhatTheyLoseTheGasGains) {
  for (const bool flat : {true, false}) {
    const int n = flat ? 64 : 32;
    // Without walls, and from rest, so that nothing but the body's push moves the gas.
    StirredGas gas(box_of(n, flat, GridSide::periodic));
    const Shape ball = SphereShape{Real(0.17)}, crate = BoxShape{Vec3(Real(0.1), Real(0.12), Real(0.15))};
    std::vector<SolidBody> bodies = {led(ball, middle(flat, n), middle(flat, n))};
    bodies[0].inverse_mass = Real(20);
    bodies[0].inverse_inertia = Mat3::Identity() * 500;
    bodies[0].centre = middle(flat, n);
    bodies[0].velocity = Vec3(Real(0.5), Real(-0.3), flat ? Real(0) : Real(0.2));
    const Vec3 corner = middle(flat, n) + Vec3(Real(0.3), Real(-0.3), 0);
    bodies.push_back(led(crate, corner, corner + Vec3(Real(0.01), Real(0.02), 0)));
    gas.step(bodies, 0.02);
    Vector3<double> given = Vector3<double>::Zero();
    for (const BodyImpulse& push : Smoke::pushes(gas.workspace)) given += push.impulse.cast<double>();
    EXPECT_GT(given.norm(), 0.001);
    // A rounding of the velocities for each of the faces' sum.
    EXPECT_LT((gas.momentum() + given).norm(), 1e-5 * given.norm()) << flat;
  }
}

TEST(SmokeBodies, TheGasLiftsThemByTheWeightOfWhatTheyDisplace) {
  // A ball as heavy as the gas stays; one half as heavy rises, from rest, with (1 - s) g / (s + c), where c
  // of the gas goes along: 1/2 with a ball and 1 with a cylinder (Lamb 1932, sections 68 and 92), in a gas
  // without bounds, of which the box adds some percent.
  for (const bool flat : {true, false})
    for (const double s : {1.0, 0.5}) {
      const int n = 32;
      StirredGas gas(box_of(n, flat, GridSide::free_slip));
      gas.params.gravity = Vec3(0, Real(-9.81), 0);
      const double r = 0.15, pi = std::numbers::pi, volume = flat ? pi * r * r : 4 * pi / 3 * r * r * r;
      const Shape ball = SphereShape{static_cast<Real>(r)};
      SolidBody body = led(ball, middle(flat, n), middle(flat, n));
      body.centre = middle(flat, n);
      body.inverse_mass = static_cast<Real>(1 / (s * 1.2 * volume));
      body.acceleration = gas.params.gravity;
      const double dt = 1e-3;
      gas.step({&body, 1}, dt);
      ASSERT_EQ(Smoke::pushes(gas.workspace).size(), 1u);
      const BodyImpulse& push = Smoke::pushes(gas.workspace)[0];
      const double gained = static_cast<double>(push.impulse.y() * body.inverse_mass) / dt - 9.81;
      const double asked = (1 - s) * 9.81 / (s + (flat ? 1 : 0.5));
      // Volume counted by areas of faces: second order, (h / 2 r)^2. The walls add (r / half the width)^2 or
      // ^3.
      const double walls = std::pow(r / 0.5, flat ? 2 : 3), cells = std::pow(0.5 / n / r, 2);
      EXPECT_NEAR(gained, asked, (cells + (s < 1 ? walls : 0)) * 9.81) << flat << " " << s;
      EXPECT_NEAR(static_cast<double>(push.impulse.x() * body.inverse_mass) / dt, 0, cells * 9.81);
    }
}

TEST(SmokeBodies, HeldOnesAreAsGoodAsThoseThatAreLed) {
  // A ball as heavy as the gas in a stream, which something stops in every step after the gas has pushed it.
  const int n = 32;
  Smoke::Spec spec = box_of(n, true, GridSide::free_slip);
  spec.left.kind = GridSide::inflow, spec.left.velocity = Vec3(1, 0, 0);
  spec.right.kind = GridSide::outflow;
  StirredGas held(spec), led_one(spec);
  const Shape ball = SphereShape{Real(0.15)};
  SolidBody body = led(ball, middle(true, n), middle(true, n));
  for (int k = 0; k < 160; ++k) {
    led_one.step({&body, 1}, 1.0 / n);
    SolidBody free = body;
    free.centre = middle(true, n);
    free.inverse_mass = static_cast<Real>(1 / (1.2 * std::numbers::pi * 0.0225));
    free.inverse_inertia(2, 2) = free.inverse_mass * 2 / Real(0.0225);
    held.step({&free, 1}, 1.0 / n);
  }
  double most = 0;
  for (int c = 0; c < 2; ++c)
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < n; ++i) {
        const std::size_t at = held.model.shape.index(i, j, 0);
        if (held.workspace.immersed.open[c][at] > 0)
          most = std::max(most, std::abs(static_cast<double>(held.state.velocity[c][at] -
                                                             led_one.state.velocity[c][at])));
      }
  EXPECT_LT(most, 0.02);  // of the stream's speed
}

TEST(SmokeBodies, StableForOneThatMovesTenCellsAStep) {
  for (const bool flat : {true, false}) {
    const int n = flat ? 96 : 32;
    for (const bool grips : {false, true}) {
      Smoke::Spec spec = box_of(n, flat, GridSide::free_slip);
      spec.solids_grip = grips;
      StirredGas gas(spec);
      gas.params.pressure_tolerance = Real(1e-4);
      std::fill(gas.state.density.begin(), gas.state.density.end(), Real(1));
      const Shape ball = SphereShape{Real(0.12)};
      constexpr double dt = 1.0 / 30;
      const double way = 10.0 / n, speed = way / dt;
      double x = 0.3, direction = 1, most = 0;
      for (int k = 0; k < 40; ++k) {
        if ((x + direction * way > 0.8) || (x + direction * way < 0.2)) direction = -direction;
        const Vec3 from = middle(flat, n) + Vec3(static_cast<Real>(x - 0.5), 0, 0);
        x += direction * way;
        const Vec3 to = middle(flat, n) + Vec3(static_cast<Real>(x - 0.5), 0, 0);
        const SolidBody body = led(ball, from, to);
        gas.step(std::span(&body, 1), dt);
        for (int c = 0; c < gas.model.shape.dimensions(); ++c)
          for (const Real u : gas.state.velocity[c]) most = std::max(most, std::abs(static_cast<double>(u)));
      }
      // Around a ball the flow is at most one and a half times as fast, around a disc twice (Lamb 1932); it
      // is thrown back and forth here, and the box is narrow.
      EXPECT_LT(most, 5 * speed) << flat << grips;
      for (const Real soot : gas.state.density) {
        ASSERT_GE(soot, 0);
        ASSERT_LE(soot, 1 + 1e-5);
      }
      // It comes to rest when the ball does.
      const double before = Smoke::kinetic_energy(gas.model, gas.state, 1);
      const Vec3 end = middle(flat, n) + Vec3(static_cast<Real>(x - 0.5), 0, 0);
      const SolidBody still = led(ball, end, end);
      for (int k = 0; k < 20; ++k) gas.step(std::span(&still, 1), dt);
      EXPECT_LT(Smoke::kinetic_energy(gas.model, gas.state, 1), before);
    }
  }
}

TEST(SmokeBodies, SmokePartsAndIsDrawnAlong) {
  constexpr int n = 96;
  StirredGas gas(box_of(n, true, GridSide::free_slip));
  std::fill(gas.state.density.begin(), gas.state.density.end(), Real(1));
  const Shape ball = SphereShape{Real(0.1)};
  const auto at = [&](int k) {
    return Vec3(Real(0.2) + Real(0.01) * static_cast<Real>(k), Real(0.5), Real(0.5) / n);
  };
  for (int k = 0; k < 40; ++k) {
    const SolidBody body = led(ball, at(k), at(k + 1));
    gas.step(std::span(&body, 1), 1.0 / 60);
  }
  const Vec3 end = at(40);
  const auto item = [&](double x, double y) {
    return gas.model.shape.index(static_cast<Index>(x * n), static_cast<Index>(y * n), 0);
  };
  const double x = static_cast<double>(end.x());
  EXPECT_EQ(gas.state.density[item(x, 0.5)], 0);
  EXPECT_GT(gas.state.density[item(x - 0.15, 0.5)], Real(0.8));
  // Before it and behind it the gas goes along at 0.6 m/s and less, beside it the other way.
  EXPECT_GT(gas.state.velocity[0][item(x + 0.12, 0.5)], Real(0.2));
  EXPECT_GT(gas.state.velocity[0][item(x - 0.12, 0.5)], Real(0.1));
  EXPECT_LT(gas.state.velocity[0][item(x, 0.65)], 0);
}

/// A ball that a keyframe moves, and a light one that flies.
World swept(int threads, bool flat, GridSide sides = GridSide::free_slip) {
  World world({.fps = 30});
  world.set_threads(threads);
  const int n = flat ? 40 : 24;
  Smoke::Spec spec = box_of(n, flat, sides);
  SmokeShape pole;
  pole.position = Vec3(Real(0.8), Real(0.8), Real(0.5));
  if (sides != GridSide::periodic) spec.solids = {pole};
  StirredGas gas(spec);
  gas.params.gravity = Vec3(0, Real(-9.81), 0);
  gas.params.pressure_tolerance = Real(1e-4);
  SmokeSource source;
  source.position = Vec3(Real(0.5), Real(0.3), Real(0.5));
  source.half_extents = Vec3::Constant(Real(0.6));
  if (!flat) gas.params.sources = {source};
  world.add<Smoke>("air", std::move(gas.model), std::move(gas.state), std::move(gas.params));
  Obstacle::Spec obstacle;
  obstacle.parts.resize(1);
  obstacle.parts[0].radius = Real(0.15);
  Obstacle::Model solid;
  Obstacle::State placed;
  Obstacle::Params params;
  Obstacle::build(obstacle, solid, placed);
  params.position = Vec3(Real(0.3), Real(0.5), middle(flat, n).z());
  world.add<Obstacle>("ball", std::move(solid), std::move(placed), std::move(params));
  world.add_keyframes("ball", {.path = "position",
                               .times = {0, 0.5},
                               .values = {0.3, 0.5, static_cast<double>(middle(flat, n).z()), 0.6, 0.6,
                                          static_cast<double>(middle(flat, n).z())}});
  Rigid::Spec bodies;
  bodies.bodies.resize(1);
  bodies.bodies[0].name = "light";
  bodies.bodies[0].shapes.resize(1);
  bodies.bodies[0].shapes[0].shape = rigid::Form::sphere;
  bodies.bodies[0].shapes[0].radius = Real(0.1);
  bodies.bodies[0].density = 3;
  bodies.bodies[0].position = Vec3(Real(0.7), Real(0.4), middle(flat, n).z());
  bodies.bodies[0].velocity = Vec3(Real(-0.2), Real(0.3), 0);
  Rigid::Model model;
  Rigid::State state;
  Rigid::Params of;
  Rigid::build(bodies, model, state);
  of.gravity = Vec3::Zero();
  world.add<Rigid>("bodies", std::move(model), std::move(state), std::move(of));
  return world;
}

TEST(SmokeBodies, SameBitsForEveryNumberOfThreadsAndAfterRestoring) {
  for (const bool flat : {true, false}) {
    std::string first;
    std::vector<std::byte> half_way;
    for (const int threads : {1, 2, 3, 5, 8}) {
      World world = swept(threads, flat);
      for (int k = 0; k < 12; ++k) {
        if (k == 6) half_way = world.snapshot();
        ASSERT_TRUE(world.step_frame().ok);
      }
      if (first.empty()) first = world.hash().hex();
      EXPECT_EQ(world.hash().hex(), first) << flat << " " << threads;
    }
    World again = swept(2, flat);
    again.restore(half_way);
    for (int k = 6; k < 12; ++k) ASSERT_TRUE(again.step_frame().ok);
    EXPECT_EQ(again.hash().hex(), first);
  }
}

TEST(SmokeBodies, ScratchMemoryIsNoPartOfTheState) {
  for (const bool grips : {false, true}) {
    Smoke::Spec spec = box_of(20, false, grips ? GridSide::free_slip : GridSide::periodic);
    spec.solids_grip = grips;
    StirredGas a(spec), b(spec);
    for (StirredGas* gas : {&a, &b}) gas->params.viscosity = grips ? Real(1e-3) : Real(0);
    const Shape ball = SphereShape{Real(0.2)}, crate = BoxShape{Vec3(Real(0.1), Real(0.1), Real(0.2))};
    const auto at = [](int k) {
      // Moves, stands for a while, and moves again.
      const int step = k < 4 ? k : k < 9 ? 4 : k - 5;
      return Vec3(Real(0.4) + Real(0.02) * static_cast<Real>(step), Real(0.5), Real(0.5));
    };
    const Vec3 corner(Real(0.8), Real(0.2), Real(0.5));
    for (int k = 0; k < 14; ++k) {
      const SolidBody bodies[] = {led(ball, at(k), at(k + 1)), led(crate, corner, corner)};
      a.step(bodies, 1.0 / 30);
      b.workspace = {};
      b.step(bodies, 1.0 / 30);
      ASSERT_EQ(a.state.velocity.along, b.state.velocity.along) << k;
      ASSERT_EQ(a.state.pressure, b.state.pressure) << k;
    }
  }
}

TEST(SmokeBodies, TheLedgerHoldsWhatRigidBodiesTake) {
  World world = swept(1, false);
  Rigid::State& rigid = dynamic_cast<SystemOf<Rigid>&>(*world.find("bodies")).state;
  const double mass = 1 / static_cast<double>(rigid.frames.inverse_mass[0]);
  for (int k = 0; k < 5; ++k) {
    const Vec3 before = rigid.frames.v[0];
    ASSERT_TRUE(world.step_frame().ok);
    const auto entry = world.ledger().find({"bodies", "air"});
    ASSERT_NE(entry, world.ledger().end());
    const Vector3<double> gained = mass * (rigid.frames.v[0] - before).cast<double>();
    EXPECT_GT(gained.norm(), 1e-7);
    EXPECT_LT((gained + entry->second.impulse).norm(), 1e-5 * mass);
  }
}

TEST(SmokeBodies, AllocateNothingInSteadyState) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer has a heap of its own";
  StirredGas gas(box_of(24, false, GridSide::free_slip));
  const Shape ball = SphereShape{Real(0.2)};
  const auto step = [&](int k) {
    const auto at = [&](int q) {
      return Vec3(middle(false, 24) + Vec3(Real(0.05) * std::sin(Real(0.7) * static_cast<Real>(q)), 0, 0));
    };
    const SolidBody body = led(ball, at(k), at(k + 1));
    gas.step(std::span(&body, 1), 1.0 / 30);
  };
  for (int k = 0; k < 20; ++k) step(k);
  EXPECT_EQ(plenum_test::count_allocations([&] {
              for (int k = 20; k < 30; ++k) step(k);
            }),
            0);
}

TEST(SmokeBodies, LightOnesThatLeaveAClosedBoxAreNotThrown) {
  // A ball of a twelfth of the air's density rises through the lid, which is no solid of its own: the gas
  // that takes its place comes from nowhere. With the added mass of a ball, half of what it displaces, it is
  // never faster than what lifts it makes it on its way up, and the gas at its equator 3/2 of that.
  const double density = 0.1, radius = 0.12, volume = 4.0 / 3 * std::numbers::pi * std::pow(radius, 3);
  const double lift = 9.81 * (1.2 - density) / (density + 0.6), fastest = std::sqrt(2 * lift * 0.6);
  for (const GridSide sides : {GridSide::free_slip, GridSide::no_slip}) {
    StirredGas gas(box_of(24, false, sides));
    gas.params.gravity = Vec3(0, Real(-9.81), 0);
    gas.params.pressure_tolerance = Real(1e-4);
    const Shape ball = SphereShape{static_cast<Real>(radius)};
    SolidBody body;
    body.shape = &ball;
    body.pose0.position = body.pose.position = body.centre = Vec3(Real(0.5), Real(0.7), Real(0.5));
    body.inverse_mass = static_cast<Real>(1 / (density * volume));
    body.inverse_inertia = Mat3::Identity() * static_cast<Real>(2.5 / (density * volume * radius * radius));
    body.acceleration = Vec3(0, Real(-9.81), 0);
    const double dt = 1.0 / 60;
    for (int k = 0; k < 90; ++k) {
      const Report report = gas.step({&body, 1}, dt);
      const Vec3 gained = body.inverse_mass * Smoke::pushes(gas.workspace)[0].impulse;
      body.velocity += gained + static_cast<Real>(dt) * body.acceleration;
      body.pose0 = body.pose;
      body.pose.position += static_cast<Real>(dt) * body.velocity;
      body.centre = body.pose.position;
      ASSERT_LT(static_cast<double>(body.velocity.norm()), fastest) << k;
      ASSERT_LT(report.value("cfl") / 24 / dt, 1.5 * fastest) << k;
    }
  }
}

TEST(SmokeBodies, GasThatViscosityStopsIsNoCauseForComplaint) {
  // What a ball has stirred fades by h^2 / nu in each direction, until rounding is all there is of it.
  Smoke::Spec spec = box_of(16, false, GridSide::no_slip);
  spec.solids_grip = true;
  StirredGas gas(spec);
  gas.params.viscosity = 1;
  const Shape ball = SphereShape{Real(0.15)};
  const Vec3 middle = Vec3::Constant(Real(0.5));
  for (int k = 0; k < 200; ++k) {
    const auto at = [&](int step) {
      return Vec3(middle + Vec3(Real(0.01) * Real(std::min(step, 20)), 0, 0));
    };
    const SolidBody solid = led(ball, at(k), at(k + 1));
    EXPECT_TRUE(gas.step({&solid, 1}, 1.0 / 60).warnings().empty()) << k;
  }
}

TEST(SmokeBodies, WhatFlowsIntoAClosedBoxIsToldWithBodiesAndWithout) {
  const Shape ball = SphereShape{Real(0.2)};
  const Vec3 middle = Vec3::Constant(Real(0.5));
  enum Body { none, within, through_a_side };
  const auto is_told = [&](GridSide left, GridSide right, Body body) {
    Smoke::Spec spec = box_of(16, false, GridSide::free_slip);
    spec.left.kind = left, spec.left.velocity = Vec3(1, 0, 0);
    spec.right.kind = right, spec.right.velocity = Vec3(1, 0, 0);
    if (left == GridSide::free_slip) spec.left.velocity.setZero();
    if (right != GridSide::inflow) spec.right.velocity.setZero();
    StirredGas gas(spec);
    bool told = false;
    for (int k = 0; k < 4; ++k) {
      const Vec3 to =
          body == through_a_side ? Vec3(Real(0.5), Real(0.15) - Real(0.02) * Real(k), Real(0.5)) : middle;
      const SolidBody solid = led(ball, to, to);
      const Report report = gas.step(std::span(&solid, body == none ? 0 : 1), 0.02);
      for (const Report::Warning& w : report.warnings())
        told = told || std::string_view(w.text).find("give the box an outflow") != std::string_view::npos;
    }
    return told;
  };
  for (const Body body : {none, within, through_a_side}) {
    EXPECT_TRUE(is_told(GridSide::inflow, GridSide::free_slip, body)) << body;
    EXPECT_FALSE(is_told(GridSide::inflow, GridSide::outflow, body)) << body;
    EXPECT_FALSE(is_told(GridSide::inflow, GridSide::inflow, body)) << body << ": as much out as in";
    EXPECT_FALSE(is_told(GridSide::free_slip, GridSide::free_slip, body)) << body;
  }
}

}}  // namespace plenum::(anonymous)
