// What lies on a slope under Coulomb's law, for every way in which a method's positions follow its
// velocities.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/particles/particles.h"
#include "plenum/solvers/springs/springs.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

constexpr double angle = 30 * std::numbers::pi / 180, gravity = 9.81, seconds = 2, fps = 60;
constexpr double thickness = 0.01;
const Vec3 up(Real(std::sin(angle)), Real(std::cos(angle)), 0);
const Vec3 down(Real(std::cos(angle)), Real(-std::sin(angle)), 0);

World world_with_slope(double friction) {
  World world({.fps = Real(fps)});
  Obstacle::Model model;
  Obstacle::State state;
  Obstacle::build({.parts = {{.shape = Obstacle::Kind::plane}}}, model, state);
  world.add<Obstacle>("slope", model, state, {.rotation = Vec3(0, 0, -30), .friction = Real(friction)});
  return world;
}

/// tan 30 degrees = 0.577: the first holds.
constexpr double frictions[] = {1, 0.3};

/// Of a way of some metres: it lands on the slope from within 1e-6 m and 1e-5 of a step's way, and single
/// precision rounds positions by 2.4e-7 m in each of 120 frames or more.
constexpr double slack = 2e-4;

/// Whether all points went down the slope, or stayed, as Coulomb says. A method of first order may be off by
/// half of the velocity that a step of 1/60 s gives, for all of the time.
void expect_way(const std::vector<Vec3>& from, const std::vector<Vec3>& to, double friction,
                bool first_order) {
  const double a = gravity * (std::sin(angle) - friction * std::cos(angle));
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Vec3 way = to[i] - from[i];
    if (a <= 0) {
      EXPECT_LT(double(way.norm()), 1e-6) << i;  // some ulps of a position
    } else {
      EXPECT_NEAR(double(way.dot(down)), a * seconds * seconds / 2,
                  slack + (first_order ? a * seconds / fps / 2 : 0))
          << i;
      EXPECT_NEAR(double(way.dot(up)), 0, 1e-5) << i;
      EXPECT_NEAR(double(way.z()), 0, slack) << i;
    }
  }
}

TEST(Slope, ParticlesStickOrSlideAsCoulombSays) {
  for (const double friction : frictions) {
    SCOPED_TRACE(friction);
    World world = world_with_slope(friction);
    ParticleSystem::Model model;
    ParticleSystem::State state;
    ParticleSystem::build({.radius = 0, .positions = {Vec3::Zero()}}, model, state);
    auto& points =
        world.add<ParticleSystem>("points", model, state, {.restitution = 0, .friction = Real(friction)});
    const auto from = points.state.particles.x;
    for (int f = 0; f < int(seconds * fps); ++f) ASSERT_TRUE(world.step_frame().ok);
    expect_way({from.begin(), from.end()}, {points.state.particles.x.begin(), points.state.particles.x.end()},
               friction, false);
  }
}

TEST(Slope, NetsStickOrSlideAsCoulombSaysWithEveryIntegrator) {
  using Integrator = Springs::Integrator;
  for (std::size_t k = 0; k < names_of(Integrator{}).size(); ++k)
    for (const double friction : frictions) {
      SCOPED_TRACE(fmt::format("{} {}", names_of(Integrator{})[k], friction));
      const auto integrator = static_cast<Integrator>(k);
      World world = world_with_slope(friction);
      SpringsPart part;
      part.size_x = part.size_z = Real(0.2);
      part.cells_x = part.cells_z = 2;
      part.areal_density = 2;
      part.structural_stiffness = 100;
      part.bending_stiffness = 0;
      part.rotation = Vec3(0, 0, -30);
      part.position = Real(thickness) * up;
      Springs::Model model;
      Springs::State state;
      Springs::build({.parts = {part}}, model, state);
      auto& net = world.add<Springs>("net", std::move(model), std::move(state),
                                     {.integrator = integrator,
                                      .air_density = 0,
                                      .thickness = Real(thickness),
                                      .friction = Real(friction)});
      const auto from = net.state.particles.x;
      for (int f = 0; f < int(seconds * fps); ++f) ASSERT_TRUE(world.step_frame().ok);
      const bool first_order = Springs::is_implicit(integrator) ||
                               integrator == Integrator::symplectic_euler ||
                               integrator == Integrator::explicit_euler;
      expect_way({from.begin(), from.end()}, {net.state.particles.x.begin(), net.state.particles.x.end()},
                 friction, first_order);
    }
}

/// A point that lands on a slope in the midst of a step, and is held where it struck.
TEST(Slope, WhatLandsIsHeldWhereItTouched) {
  World world = world_with_slope(10);
  ParticleSystem::Model model;
  ParticleSystem::State state;
  // Straight down from 0.4 of the first frame's way, so that it touches the slope at the origin.
  const double speed = 3, height = 0.4 * speed / fps;
  ParticleSystem::build(
      {.radius = 0, .positions = {Vec3(0, Real(height), 0)}, .velocities = {Vec3(0, Real(-speed), 0)}}, model,
      state);
  auto& point = world.add<ParticleSystem>("point", model, state, {.restitution = 0, .friction = 10});
  for (int f = 0; f < 60; ++f) {
    ASSERT_TRUE(world.step_frame().ok);
    // The touch is found within 1e-6 m and 1e-5 of a step's way.
    EXPECT_LT(double(point.state.particles.x[0].norm()), 1e-5) << f;
  }
}

}}  // namespace plenum
