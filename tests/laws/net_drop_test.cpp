// Stiff bodies of springs dropped on solids in steps as long as a frame.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "plenum/geometry/shapes.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/springs/springs.h"
#include "plenum/world/world.h"
#include "support/constants.h"

namespace plenum { namespace {

using plenum_test::gravity;

/// The most energy [J] that a body of springs gains in a frame of 1/30 s within 2.5 s of a fall onto a solid,
/// as part of what it fell with: that of the parabola that free flight in implicit steps keeps to, v + h g /
/// 2 at x.
double largest_gain(SpringsPart part, const Obstacle::Part& solid, double stiffness) {
  constexpr double fps = 30, fall = 1.2;
  World world({.fps = Real(fps)});
  Obstacle::Model model;
  Obstacle::State state;
  Obstacle::build({.parts = {solid}}, model, state);
  world.add<Obstacle>("solid", std::move(model), std::move(state), {});
  part.type = SpringsPart::Type::soft_body;
  part.spacing = Real(0.1);
  part.structural_stiffness = Real(stiffness);
  part.position = Vec3(Real(0.02), Real(1.5), Real(0.01));
  Springs::Model net;
  Springs::State at;
  Springs::build({.parts = {part}}, net, at);
  const auto& body = world.add<Springs>("body", std::move(net), std::move(at), {});
  const std::size_t n = body.model.mass.size();
  double mass = 0;
  for (const Real m : body.model.mass) mass += double(m);
  const auto energy = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Vec3 on_parabola = body.state.particles.v[i] - Vec3(0, Real(gravity / fps / 2), 0);
      sum += double(body.model.mass[i]) *
             (0.5 * double(on_parabola.squaredNorm()) + gravity * double(body.state.particles.x[i].y()));
    }
    for (std::size_t e = 0; e < body.model.edges.size(); ++e) {
      const double stretch = double(Springs::strain(body.model, body.state, e) * body.model.rest_length[e]);
      sum += 0.5 * double(body.model.stiffness[e]) * stretch * stretch;
    }
    return sum;
  };
  double last = energy(), most = 0;
  for (int f = 0; f < int(2.5 * fps); ++f) {
    EXPECT_TRUE(world.step_frame().ok);
    const double now = energy();
    most = std::max(most, now - last);
    last = now;
  }
  return most / (mass * gravity * fall);
}

TEST(SlowNetDrop, NoFrameMakesEnergyHoweverStiffTheBody) {
  SpringsPart ball, box, bar;
  ball.mesh = icosphere_mesh(Real(0.3), 2);
  box.mesh = box_mesh(Vec3::Constant(Real(0.25)));
  box.rotation = Vec3(20, 10, 30);
  bar.mesh = box_mesh(Vec3(Real(0.45), Real(0.15), Real(0.15)));
  bar.rotation = Vec3(0, 0, 25);
  const Obstacle::Part floor{.shape = Obstacle::Kind::plane};
  Obstacle::Part sphere, edge, post;
  sphere.shape = Obstacle::Kind::sphere;
  sphere.position = Vec3(0, Real(-0.5), 0);
  edge.shape = Obstacle::Kind::box;
  edge.rotation = Vec3(0, 0, 45);
  edge.position = Vec3(0, Real(-0.7071), 0);
  post.shape = Obstacle::Kind::cylinder;
  post.radius = Real(0.15);
  post.position = Vec3(0, Real(-0.5), 0);
  // A part may make a hundredth of what energy there is, and a frame has as many parts as it needs; a
  // hundredth more is left to the last digits of strains.
  constexpr double allowed = 0.02;
  for (const double stiffness : {1e6, 1e7}) {
    SCOPED_TRACE(fmt::format("{} N/m", stiffness));
    EXPECT_LT(largest_gain(ball, post, stiffness), allowed);
    EXPECT_LT(largest_gain(box, floor, stiffness), allowed);
    EXPECT_LT(largest_gain(box, sphere, stiffness), allowed);
    EXPECT_LT(largest_gain(bar, sphere, stiffness), allowed);
    EXPECT_LT(largest_gain(bar, edge, stiffness), allowed);
    EXPECT_LT(largest_gain(bar, post, stiffness), allowed);
  }
}

}}  // namespace plenum
