// Bounces of nets in their own steps, off a level floor that is offered as a support.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "plenum/geometry/shapes.h"
#include "springs/nets.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using test::Net;
using Integrator = Springs::Integrator;
constexpr Real dt = Real(1) / 60;
constexpr std::array implicit_methods = {Integrator::implicit_euler, Integrator::backward_euler,
                                         Integrator::local_global};

/// The support of one particle by a floor at `height` [m] that moves up at `speed` [m/s] and gives back all
/// of what strikes it.
Support floor_under(const Net& net, Index particle, Real height, Real speed = 0) {
  Support support;
  support.sample = particle;
  support.normal = Vec3(0, 1, 0);
  support.point = Vec3(0, height, 0);
  support.velocity = Vec3(0, speed, 0);
  support.gap = std::max(net.state.particles.x[std::size_t(particle)].y() - height, Real(0));
  support.restitution = 1;
  return support;
}

/// How high [m] above the floor a mass bounces that falls on a spring from a pin. Pin and floor go up at
/// `speed`.
double rebound(Integrator integrator, double speed) {
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  part.points = {Vec3(0, 2, 0), Vec3(0, Real(1.5), 0)};
  part.springs = {Index2(0, 1)};
  part.mass = 1;
  part.structural_stiffness = 20;
  part.damping_time = 0;
  part.velocity = Vec3(0, Real(speed), 0);
  part.pins = {{.indices = {0}}};
  Net net = test::net_of(part);
  Springs::Params params{.integrator = integrator};
  params.pins.resize(1);
  bool fell = false;
  Real last = 2, high = 0;
  for (int k = 0; k < 60; ++k) {
    const Real floor = 1 + Real(speed) * Real(k) * dt;
    std::array support = {floor_under(net, 1, floor, Real(speed))};
    Springs::rest_on(net.workspace, support);
    params.pins[0].offset = Vec3(0, Real(speed) * Real(k + 1) * dt, 0);
    net.step(params, dt);
    const Real now = net.state.particles.x[1].y() - floor - Real(speed) * dt;
    EXPECT_GT(now, Real(-1e-3));
    if (now > last) fell = true;
    last = now;
    if (fell) high = std::max(high, now);
  }
  return double(high);
}

TEST(SpringsBounce, DoesNotDependOnTheMotionOfAllThatItMeets) {
  // Pins that move up as fast as the floor does give the net work, as the floor does.
  for (const Integrator integrator : implicit_methods) {
    const double still = rebound(integrator, 0);
    EXPECT_GT(still, 0.2);
    for (const double speed : {-3.0, -1.0, 1.0, 3.0})
      EXPECT_NEAR(rebound(integrator, speed), still, 1e-3)
          << names_of(integrator)[std::size_t(integrator)] << " " << speed;
  }
}

/// A soft body that falls at 4 m/s.
Net falling_body() {
  SpringsPart part;
  part.type = SpringsPart::Type::soft_body;
  part.mesh = icosphere_mesh(Real(0.3), 2);
  part.velocity = Vec3(0, -4, 0);
  return test::net_of(part);
}

TEST(SpringsBounce, TheFirstBounceAllocatesNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "allocations are counted elsewhere";
  // But for local_global, which has no preconditioner until it bounces.
  for (const Integrator integrator : {Integrator::implicit_euler, Integrator::backward_euler}) {
    Net net = falling_body();
    const Springs::Params params{.integrator = integrator};
    const auto& x = net.state.particles.x;
    const auto lowest = Index(
        std::min_element(x.begin(), x.end(), [](const Vec3& a, const Vec3& b) { return a.y() < b.y(); }) -
        x.begin());
    const auto step_on = [&](Real height) {
      std::array support = {floor_under(net, lowest, height)};
      Springs::rest_on(net.workspace, support);
      return plenum_test::count_allocations([&] { net.step(params, dt); });
    };
    const Real low = x[std::size_t(lowest)].y();
    step_on(low - Real(0.5));
    EXPECT_EQ(step_on(low - Real(0.1)), 0) << names_of(integrator)[std::size_t(integrator)];
    EXPECT_GT(net.state.particles.v[std::size_t(lowest)].y(), 0) << "it did not bounce";
  }
}

TEST(SpringsBounce, OneThatIsLeftOutIsTold) {
  // Two pairs of masses fall, of which the lower ones strike: a light pair with much to solve for, and a
  // heavy one with little, which the first step of conjugate gradients throws far beyond the solution. (The
  // points between keep the net from being a chain, which is solved exactly.)
  SpringsPart light, heavy;
  light.type = heavy.type = SpringsPart::Type::points;
  light.points = heavy.points = {Vec3(0, 0, 0), Vec3(1, 1, 0), Vec3(1, 1, 1), Vec3(0, 1, 0)};
  light.springs = heavy.springs = {Index2(0, 3)};
  light.velocity = heavy.velocity = Vec3(0, -4, 0);
  light.mass = Real(0.01), light.structural_stiffness = 36;
  heavy.mass = 200, heavy.structural_stiffness = Real(0.036);
  Net net;
  Springs::build({.parts = {light, heavy}}, net.model, net.state);
  std::array supports = {floor_under(net, 0, Real(-0.01)), floor_under(net, 4, Real(-0.01))};
  Springs::rest_on(net.workspace, supports);
  const Report report = net.step({.preconditioner = Springs::Preconditioner::none, .max_iterations = 1}, dt);
  std::string all;
  for (const Report::Warning& warning : report.warnings()) all += std::string(warning.text) + "\n";
  EXPECT_NE(all.find("a net that struck a solid does not bounce"), std::string::npos) << all;
}

}}  // namespace plenum
