// Nets that rest on solids, in whole frames of 1/60 s: what is held up is part of the implicit solve.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "laws/world_nets.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/springs/springs.h"
#include "plenum/world/world.h"
#include "support/constants.h"

namespace plenum { namespace {

using plenum_test::gravity;
using test::add_net;
using test::largest_strain;
using Solid = Obstacle::Part;

void add_solid(World& world, const Solid& part, Real friction = Real(0.3)) {
  Obstacle::Model model;
  Obstacle::State state;
  Obstacle::build({.parts = {part}}, model, state);
  world.add<Obstacle>(fmt::format("solid{}", world.size()), std::move(model), std::move(state),
                      {.friction = friction});
}

constexpr Springs::Integrator integrators[] = {Springs::Integrator::implicit_euler,
                                               Springs::Integrator::backward_euler,
                                               Springs::Integrator::local_global};

struct Named {
  const char* name;
  Solid solid;
};
std::vector<Named> solids() {
  return {
      {"capsule along z",
       {.shape = Obstacle::Kind::capsule, .radius = Real(0.1), .half_height = 2, .rotation = Vec3(90, 0, 0)}},
      {"post",
       {.shape = Obstacle::Kind::cylinder,
        .radius = Real(0.1),
        .half_height = 1,
        .position = Vec3(0, -1, 0)}},
      {"cone",
       {.shape = Obstacle::Kind::cone,
        .radius = Real(0.4),
        .half_height = Real(0.5),
        .position = Vec3(0, Real(-0.5), 0)}},
      {"box", {.shape = Obstacle::Kind::box, .half_extents = Vec3::Constant(Real(0.2))}},
      {"sphere", {.shape = Obstacle::Kind::sphere, .radius = Real(0.3)}}};
}

/// [N s] that solids gave to the net in the last substep.
Vector3<double> given(const World& world) {
  Vector3<double> sum = Vector3<double>::Zero();
  for (const auto& [pair, entry] : world.ledger())
    if (pair.second == "net") sum += entry.impulse;
  return sum;
}

SpringsPart sheet(Real size, int cells) {
  SpringsPart part;
  part.size_x = part.size_z = size;
  part.cells_x = part.cells_z = cells;
  part.structural_stiffness = 1500;
  part.shear_stiffness = 600;
  part.bending_stiffness = 3;
  return part;
}

TEST(Support, RodsKeptByPenaltyLieOnTheFloor) {
  for (const auto integrator : integrators) {
    World world({.fps = 60});
    add_solid(world, {.shape = Obstacle::Kind::plane});
    SpringsPart part;
    part.type = SpringsPart::Type::points;
    part.points = {Vec3(0, Real(0.5), 0), Vec3(Real(0.4), Real(0.6), 0), Vec3(Real(0.8), Real(0.5), 0)};
    part.springs = {Index2(0, 1)};
    part.rods = {Index2(1, 2)};
    Springs::Params params{.integrator = integrator, .constraints = Springs::Constraints::penalty};
    auto& net = add_net(world, part, params);
    for (int k = 0; k < 180; ++k) ASSERT_TRUE(world.step_frame().ok) << int(integrator);
    for (const Vec3& x : net.state.particles.x)
      EXPECT_NEAR(x.y(), double(params.thickness), 1e-3) << int(integrator);
  }
}

TEST(SlowSupport, ClothFallsOnSolidsInOneStepAFrame) {
  constexpr double stiffness = 1500, weight = 0.2 * 2 * 2 * gravity, h = 1.0 / 60;
  for (const auto integrator : integrators)
    for (const Named& on : solids()) {
      SCOPED_TRACE(fmt::format("{} {}", int(integrator), on.name));
      const int cells = integrator == integrators[0] ? 40 : 20;
      const double cell = 2.0 / cells;
      // As fast as it comes, it goes on beside what is held up for one step.
      const double fall = std::sqrt(2 * gravity * 0.8), ahead = fall * h / cell;
      World world({.fps = 60});
      add_solid(world, on.solid);
      SpringsPart part = sheet(2, cells);
      part.position = Vec3(Real(0.1), Real(0.8), 0);
      auto& net = add_net(world, part, {.integrator = integrator});
      double strain = 0;
      for (int f = 0; f < 180; ++f) {
        const FrameReport report = world.step_frame();
        ASSERT_TRUE(report.ok) << on.name;
        strain = std::max(strain, largest_strain(net));
      }
      EXPECT_LT(strain, std::sqrt(1 + ahead * ahead) - 1) << on.name;
      // At worst all of it hangs by two threads of a fold; four times for the swing.
      EXPECT_LT(largest_strain(net), 4 * weight / 2 / (stiffness * cell)) << on.name;
    }
}

TEST(Support, InextensibleRopesFallOnSolidsInOneStepAFrame) {
  constexpr double link = 0.05, h = 1.0 / 60;
  for (const Named& on : solids()) {
    World world({.fps = 60});
    add_solid(world, on.solid);
    SpringsPart part;
    part.type = SpringsPart::Type::rope;
    part.from = Vec3(-1, Real(0.8), 0), part.to = Vec3(1, Real(0.8), 0);
    part.segments = 40;
    part.inextensible = true;
    auto& net = add_net(world, part);
    double error = 0;
    for (int f = 0; f < 180; ++f) {
      const FrameReport report = world.step_frame();
      ASSERT_TRUE(report.ok) << on.name;
      for (const Index2& rod : net.model.constraints.rods) {
        const auto& x = net.state.particles.x;
        error = std::max(error,
                         std::abs(double((x[std::size_t(rod[1])] - x[std::size_t(rod[0])]).norm()) - link));
      }
    }
    // What nobody could foretell is met after the step, where it has fallen by g h^2 at most.
    EXPECT_LT(error, gravity * h * h) << on.name;
  }
}

/// A rope of 0.5 kg/m over a drum, hanging down by `left` and `right` [m].
SpringsPart rope_over_drum(double radius, double left, double right, bool inextensible) {
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  const double whole = left + radius * std::numbers::pi + right;
  const auto n = static_cast<Index>(std::lround(whole / 0.02));
  for (Index k = 0; k <= n; ++k) {
    const double s = k * whole / n - left, angle = std::clamp(s / radius, 0.0, std::numbers::pi);
    const double down = std::max(-s, 0.0) + std::max(s - radius * std::numbers::pi, 0.0);
    part.points.push_back(Vec3(Real(-radius * std::cos(angle)), Real(radius * std::sin(angle) - down), 0));
    if (k > 0) (inextensible ? part.rods : part.springs).push_back(Index2(k - 1, k));
  }
  part.mass = Real(0.01);
  part.structural_stiffness = 1e4;
  return part;
}

/// T2 / T1 = exp(mu theta) before a rope slides round a drum (Euler 1769, Eytelwein 1808). With the weight w
/// of what lies on the drum, T' = mu (T + w r sin) + w r cos from T(0) = w times the length on the left.
double longest_right(double radius, double left, double mu) {
  const double a = radius * (1 - mu * mu) / (1 + mu * mu), b = -mu * (a + radius);
  return (left - b) * std::exp(mu * std::numbers::pi) - b;
}

TEST(SlowSupport, ARopeOverADrumSlidesWhereEytelweinSays) {
  constexpr double mu = 0.3, radius = 0.2, left = 0.5;
  const double limit = longest_right(radius, left, mu);
  // A chain of links at an angle d to each other loses half of one at either end, mu d of mu pi: 3 %. Springs
  // that begin without tension draw twice what they will bear at rest.
  struct Case {
    bool inextensible, slides;
    double part;
  };
  for (const auto integrator : integrators)
    for (const Case& c :
         {Case{true, false, 0.8}, {true, true, 1.1}, {false, false, 0.5}, {false, true, 1.1}}) {
      if (c.inextensible && integrator != integrators[0]) continue;  // the same step
      const std::string what =
          fmt::format("{} {} {}", int(integrator), c.inextensible ? "rods" : "springs", c.part);
      World world({.fps = 60});
      add_solid(world,
                {.shape = Obstacle::Kind::capsule,
                 .radius = Real(radius - 0.01),
                 .half_height = 1,
                 .rotation = Vec3(90, 0, 0)},
                Real(mu));
      auto& net = add_net(world, rope_over_drum(radius, left, c.part * limit, c.inextensible),
                          {.integrator = integrator, .friction = Real(mu)});
      const auto n = static_cast<double>(net.model.mass.size());
      const Vec3 end = net.state.particles.x.back();
      double pushed = 0;
      for (int f = 0; f < 120; ++f) {
        ASSERT_TRUE(world.step_frame().ok) << what;
        if (f >= 60) pushed += given(world).y();
      }
      const double moved = double((net.state.particles.x.back() - end).norm());
      if (c.slides) {
        EXPECT_GT(moved, 0.5) << what;
      } else {
        // Elastic strain of 3 % at the heaviest end, T / (k l0) with l0 = 0.02 m; rods creep by less than g h
        // / 1000.
        EXPECT_LT(moved, c.inextensible ? 2 * gravity / 60 / 1000 : 0.03 * c.part * limit) << what;
        EXPECT_NEAR(pushed / (0.01 * n * gravity), 1, 0.01) << what;
      }
    }
}

TEST(Support, WhatGravityTakesToTheFloorIsHeldUpInTheSameStep) {
  // A stiff upright link that by its velocity alone would end above the floor, and by gravity too ends below
  // it. Held up after the step, it would be compressed by half of how far that is.
  constexpr double h = 1.0 / 30, speed = 0.6, gap = h * speed + 0.3 * gravity * h * h, thickness = 0.01;
  World world({.fps = 30});
  add_solid(world, {.shape = Obstacle::Kind::plane});
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  part.points = {Vec3(0, Real(thickness + gap), 0), Vec3(0, Real(thickness + gap + 0.1), 0)};
  part.springs.push_back(Index2(0, 1));
  part.mass = Real(0.01);
  part.structural_stiffness = 1e5;
  part.velocity = Vec3(0, Real(-speed), 0);
  auto& net = add_net(world, part, {.thickness = Real(thickness)});
  ASSERT_TRUE(world.step_frame().ok);
  // One step leaves 1/(1 + h^2 k / m) of what the ends would have come together.
  EXPECT_LT(std::abs(double(Springs::strain(net.model, net.state, 0))), 1e-3);
  EXPECT_NEAR(double(net.state.particles.x[0].y()), thickness, 1e-4);
}

TEST(Support, AStiffSheetSticksToASlopeOrSlidesByCoulombsLaw) {
  constexpr double slope = 20 * std::numbers::pi / 180;
  for (const auto integrator : integrators)
    for (const double mu : {0.2, 0.3, 0.42}) {
      SCOPED_TRACE(fmt::format("{} {}", int(integrator), mu));
      World world({.fps = 60});
      add_solid(world, {.shape = Obstacle::Kind::plane, .rotation = Vec3(0, 0, -20)}, Real(mu));
      SpringsPart part = sheet(1, 20);
      part.rotation = Vec3(0, 0, -20);
      part.position = Real(0.01) * Vec3(Real(std::sin(slope)), Real(std::cos(slope)), 0);
      auto& net = add_net(world, part, {.integrator = integrator, .air_density = 0, .friction = Real(mu)});
      const Vec3 start = net.state.particles.x[0];
      for (int f = 0; f < 60; ++f) ASSERT_TRUE(world.step_frame().ok);
      const double moved = double((net.state.particles.x[0] - start).norm());
      const double a = gravity * (std::sin(slope) - mu * std::cos(slope));
      // Implicit Euler is ahead by half a step's velocity; the first step begins with no slip to tell the
      // way.
      if (a > 0)
        EXPECT_NEAR(moved, a / 2, a / 2 * 0.05) << mu;
      else
        EXPECT_LT(moved, 1e-5) << mu;
    }
}

}}  // namespace plenum
