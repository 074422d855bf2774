// Nets that bounce off solids under implicit methods.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "plenum/geometry/shapes.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/springs/springs.h"
#include "plenum/world/world.h"
#include "support/constants.h"

namespace plenum { namespace {

using Integrator = Springs::Integrator;
using plenum_test::gravity;
constexpr double fall = 1.2, fps = 60;

struct Bounced {
  double fallen;   // [m] that its centre fell
  double rebound;  // [m] that it rose again, once
};

/// Drops a soft ball onto the floor, which moves at `floor_speed` [m/s] upward, and follows it as the floor
/// sees it. Its energy never grows, that of the parabola that free flight in implicit steps keeps to, v + h g
/// / 2 at x.
Bounced bounce_of(Integrator integrator, double stiffness, double restitution, double floor_speed = 0) {
  SCOPED_TRACE(fmt::format("integrator {}, {} N/m, e = {}", int(integrator), stiffness, restitution));
  World world({.fps = Real(fps)});
  Obstacle::Model model;
  Obstacle::State state;
  Obstacle::build({.parts = {{.shape = Obstacle::Kind::plane}}}, model, state);
  world.add<Obstacle>("floor", std::move(model), std::move(state), {});
  if (floor_speed != 0)
    world.add_keyframes("floor", {.path = "position",
                                  .interpolation = Keyframes::Interpolation::linear,
                                  .times = {0, 2},
                                  .values = {0, 0, 0, 0, 2 * floor_speed, 0}});
  SpringsPart part;
  part.type = SpringsPart::Type::soft_body;
  part.mesh = icosphere_mesh(Real(0.3), 2);
  part.structural_stiffness = Real(stiffness);
  part.position = Vec3(0, Real(0.31 + fall), 0);
  part.velocity = Vec3(0, Real(floor_speed), 0);
  Springs::Model net;
  Springs::State at;
  Springs::build({.parts = {part}}, net, at);
  auto& ball = world.add<Springs>("ball", std::move(net), std::move(at),
                                  {.integrator = integrator, .restitution = Real(restitution)});
  const auto height = [&] {
    double sum = 0, mass = 0;
    for (std::size_t i = 0; i < ball.model.mass.size(); ++i) {
      mass += double(ball.model.mass[i]);
      sum += double(ball.model.mass[i]) * double(ball.state.particles.x[i].y());
    }
    return sum / mass - floor_speed * world.time();
  };
  const auto energy = [&] {
    const auto& x = ball.state.particles.x;
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += double(ball.model.mass[i]) *
             (0.5 * double((ball.state.particles.v[i] - Vec3(0, Real(floor_speed + gravity / fps / 2), 0))
                               .squaredNorm()) +
              gravity * (double(x[i].y()) - floor_speed * world.time()));
    for (std::size_t e = 0; e < ball.model.edges.size(); ++e) {
      const double stretch = double(Springs::strain(ball.model, ball.state, e) * ball.model.rest_length[e]);
      sum += 0.5 * double(ball.model.stiffness[e]) * stretch * stretch;
    }
    return sum;
  };
  const double start = height(), before = energy();
  double low = start, high = 0;
  for (int f = 0; f < int(1.5 * fps); ++f) {
    EXPECT_TRUE(world.step_frame().ok);
    EXPECT_LE(energy(), before * (1 + 1e-3)) << "frame " << f;
    const double now = height();
    if (now < low) low = high = now;
    if (now < high - 0.01 && high > low + 0.01) break;  // it falls again
    high = std::max(high, now);
  }
  return {start - low, high - low};
}

TEST(SlowNetBounce, NeverMakesEnergy) {
  for (const auto integrator :
       {Integrator::implicit_euler, Integrator::backward_euler, Integrator::local_global})
    for (const double stiffness : {1e3, 1e4, 1e5, 1e6})
      for (const double e : {0.5, 1.0}) bounce_of(integrator, stiffness, e);
}

TEST(NetBounce, AStiffBallComesBackWithItsRestitution) {
  // What is nearly rigid rises by e^2 of its fall at most. What its shape swings with is lost to backward
  // Euler: not more than half.
  for (const auto integrator : {Integrator::implicit_euler, Integrator::backward_euler})
    for (const double floor_speed : {0.0, 0.5})
      for (const double e : {0.0, 0.8, 1.0}) {
        const Bounced b = bounce_of(integrator, 1e6, e, floor_speed);
        EXPECT_GT(b.rebound, 0.5 * e * e * b.fallen) << int(integrator) << " " << e << " " << floor_speed;
        EXPECT_LT(b.rebound, (e * e + 0.05) * b.fallen) << int(integrator) << " " << e << " " << floor_speed;
      }
}

}}  // namespace plenum
