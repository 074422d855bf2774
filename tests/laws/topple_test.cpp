// Stiff nets that turn fast: they fall over, tumble, are blown about. One linearization answers for a small
// turn alone, so steps are divided, and solids are asked again after the last solve.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "laws/world_nets.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/springs/springs.h"
#include "plenum/world/world.h"
#include "support/constants.h"

namespace plenum { namespace {

using plenum_test::gravity;
using test::add_net;
constexpr double allowed = 0.05;  // of the length, in one linear step (implicit_parts.cpp)

double largest_strain_either_way(const SystemOf<Springs>& net) {
  double most = 0;
  for (std::size_t e = 0; e < net.model.edges.size(); ++e)
    most = std::max(most, std::abs(double(Springs::strain(net.model, net.state, e))));
  return most;
}

struct Extent {
  double low = 1e30, high = -1e30, energy = 0;  // of motion and weight [J]
};
Extent extent(const SystemOf<Springs>& net) {
  Extent e;
  const auto& particles = net.state.particles;
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const auto y = double(particles.x[i].y());
    e.low = std::min(e.low, y);
    e.high = std::max(e.high, y);
    e.energy += double(net.model.mass[i]) * (0.5 * double(particles.v[i].squaredNorm()) + gravity * y);
  }
  return e;
}

TEST(Topple, AStepIsDividedUntilNothingTurnsFar) {
  // Two stiff links whose joint moves across, so that they fold by so many radians in a frame, which no frame
  // turns with: sqrt(1 + t^2) - 1 < 0.05 in each part.
  for (const auto& [turn, parts] : {std::pair(0.3, 1), std::pair(0.5, 2), std::pair(0.6, 2)}) {
    constexpr double fps = 30, stiffness = 1e5;
    const double speed = turn * fps * 2 / 3;
    SpringsPart part;
    part.type = SpringsPart::Type::points;
    part.points = {Vec3(-1, 0, 0), Vec3(0, 0, 0), Vec3(1, 0, 0)};
    part.springs = {Index2(0, 1), Index2(1, 2)};
    part.mass = 1;
    part.structural_stiffness = stiffness;
    World world({.fps = Real(fps)});
    auto& net = add_net(world, part, {.gravity = Vec3::Zero()});
    for (const int i : {0, 1, 2})
      net.state.particles.v[std::size_t(i)] = Vec3(0, Real(i == 1 ? speed : -speed / 2), 0);
    const auto energy = [&] {
      double sum = 0;
      for (std::size_t i = 0; i < 3; ++i)
        sum += 0.5 * double(net.model.mass[i]) * double(net.state.particles.v[i].squaredNorm());
      return sum;
    };
    const double before = energy();
    const FrameReport report = world.step_frame();
    ASSERT_TRUE(report.ok);
    EXPECT_EQ(report.systems[0].value("parts"), parts) << turn;
    EXPECT_LT(largest_strain_either_way(net), allowed) << turn;
    EXPECT_LE(energy(), before * 1.0001) << turn;
  }
}

TEST(Topple, AStepIsDividedUntilNoPieceTurnsByMoreThanAQuarterOfARadian) {
  for (const auto& [turn, parts] : {std::pair(0.2, 1), std::pair(0.45, 2)}) {
    constexpr double fps = 30;
    SpringsPart part;
    part.type = SpringsPart::Type::points;
    part.points = {Vec3(Real(-0.5), 0, 0), Vec3(Real(0.5), 0, 0)};
    part.springs.push_back(Index2(0, 1));
    part.mass = 1;
    part.structural_stiffness = 1e5;
    World world({.fps = Real(fps)});
    auto& net = add_net(world, part, {.gravity = Vec3::Zero()});
    const double speed = turn * fps / 2;
    net.state.particles.v[0] = Vec3(0, Real(-speed), 0);
    net.state.particles.v[1] = Vec3(0, Real(speed), 0);
    const FrameReport report = world.step_frame();
    ASSERT_TRUE(report.ok);
    EXPECT_EQ(report.systems[0].value("parts"), parts) << turn;
    EXPECT_LT(largest_strain_either_way(net), 0.01) << turn;
    for (const Vec3& v : net.state.particles.v) EXPECT_NEAR(double(v.norm()), speed, 0.01 * speed) << turn;
  }
}

/// What falls on the floor and over: it neither rises above where it was nor gains energy of motion, and no
/// link is longer or shorter than by what one step may err and twice the strain of the wave that an impact
/// sends out (Smith, McCrackin & Schiefer 1958), v / c with c = l sqrt(k / m).
void expect_calm(const SpringsPart& part, double fps) {
  SCOPED_TRACE(fmt::format("{} N/m, {} Hz", part.structural_stiffness, fps));
  World world({.fps = Real(fps)});
  Obstacle::Model model;
  Obstacle::State state;
  Obstacle::build({.parts = {{.shape = Obstacle::Kind::plane}}}, model, state);
  world.add<Obstacle>("floor", std::move(model), std::move(state), {});
  auto& net = add_net(world, part, {.air_density = 0});
  const Extent start = extent(net);
  const double fastest = std::sqrt(2 * gravity * start.high) + gravity / fps;
  double slowest_wave = 1e30;
  const Real heaviest = *std::max_element(net.model.mass.begin(), net.model.mass.end());
  for (std::size_t e = 0; e < net.model.edges.size(); ++e)
    if (net.model.stiffness[e] == part.structural_stiffness)
      slowest_wave = std::min(
          slowest_wave, double(net.model.rest_length[e] * std::sqrt(net.model.stiffness[e] / heaviest)));
  double strain = 0, energy = 0, high = 0, low = 0;
  for (int f = 0; f < int(2 * fps); ++f) {
    ASSERT_TRUE(world.step_frame().ok);
    const Extent now = extent(net);
    double most = 0;
    for (std::size_t e = 0; e < net.model.edges.size(); ++e)
      if (net.model.stiffness[e] == part.structural_stiffness)
        most = std::max(most, double(Springs::strain(net.model, net.state, e)));
    strain = std::max(strain, most);
    energy = std::max(energy, now.energy);
    high = std::max(high, now.high);
    low = std::min(low, now.low);
  }
  EXPECT_LT(strain, allowed + 2 * fastest / slowest_wave);
  EXPECT_LE(energy, start.energy * (1 + 1e-4));
  EXPECT_LE(high, start.high);
  EXPECT_GE(low, 0);
}

SpringsPart upright_sheet(double stiffness) {
  SpringsPart part;
  part.type = SpringsPart::Type::cloth;
  part.size_x = part.size_z = 1;
  part.cells_x = part.cells_z = 10;
  part.structural_stiffness = Real(stiffness);
  part.shear_stiffness = Real(stiffness / 10);
  part.bending_stiffness = Real(stiffness / 1000);
  part.position = Vec3(0, 1, 0);
  part.rotation = Vec3(0, 0, 90);
  return part;
}

SpringsPart tumbling(const TriangleMesh& mesh, double stiffness) {
  SpringsPart part;
  part.type = SpringsPart::Type::soft_body;
  part.mesh = mesh;
  part.spacing = Real(0.1);
  part.structural_stiffness = Real(stiffness);
  part.position = Vec3(0, 2, 0);
  part.rotation = Vec3(20, 10, 30);
  return part;
}

TEST(SlowTopple, AStiffSheetThatStandsUprightFallsOver) {
  expect_calm(upright_sheet(3e6), 30);
}

TEST(SlowTopple, WhatFallsAndTurnsOverIsNeitherTornNorThrown) {
  for (const double fps : {30.0, 60.0})
    for (const double stiffness : {1e5, 1e6, 1e7}) {
      expect_calm(upright_sheet(stiffness), fps);
      const Vec3 half(Real(0.2), Real(0.4), Real(0.3));
      expect_calm(tumbling(box_mesh(half), stiffness), fps);
      expect_calm(tumbling(torus_mesh(Real(0.35), Real(0.15), 24, 12), stiffness), fps);
    }
}

}}  // namespace plenum
