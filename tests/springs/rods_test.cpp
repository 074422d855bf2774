// Rods and wires under implicit Euler at the steps of pictures: rest, conservation, robustness.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numbers>

#include "springs/nets.h"

namespace plenum { namespace {

using test::Net;
using test::rope_of;
using Integrator = Springs::Integrator;

double kinetic_energy(const Net& net) {
  double sum = 0;
  for (std::size_t i = 0; i < net.model.mass.size(); ++i)
    if (net.state.particles.inverse_mass[i] > 0)
      sum += 0.5 * double(net.model.mass[i]) * double(net.state.particles.v[i].squaredNorm());
  return sum;
}

/// Points of n equal links and weights of `length` hung between (0, 0) and (1, 0): each point adds its weight
/// over H to the slope, so slopes are (i - (n-1)/2) q, and the q for which the links span 1 m is found by
/// bisection.
std::vector<test::Vector> hanging_chain(int n, double length) {
  const auto points = [&](double q) {
    std::vector<test::Vector> x = {test::Vector::Zero()};
    for (int i = 0; i < n; ++i) {
      const double slope = (i - 0.5 * (n - 1)) * q;
      x.push_back(x.back() + length / n / std::hypot(1, slope) * test::Vector(1, slope, 0));
    }
    return x;
  };
  double wide = 0, narrow = 1e3;
  for (int k = 0; k < 200; ++k) {
    const double q = 0.5 * (wide + narrow);
    (points(q).back()[0] > 1 ? wide : narrow) = q;
  }
  return points(wide);
}

TEST(SpringsRods, AFastRopeOfManyShortRodsKeepsItsLengthAtSixtyHertz) {
  constexpr int n = 300;
  SpringsPart part = rope_of(n, 2);
  part.pins = {{.where = SpringsPin::Where::first}};
  Net net = test::net_of(part);
  Springs::Params params;
  double most_parts = 0;
  for (int frame = 0; frame < 180; ++frame) {
    const Report report = net.step(params, Real(1) / 60);
    most_parts = std::max(most_parts, report.value("parts"));
    const auto& x = net.state.particles.x;
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_NEAR((x[i + 1] - x[i]).cast<double>().norm(), 2.0 / n, 1e-3 * 2.0 / n) << frame << " " << i;
    // Held at one end it can lose no more than m g times its length.
    ASSERT_LT(kinetic_energy(net), 2 * 9.81 * test::total_mass(net)) << frame;
  }
  EXPECT_GT(most_parts, 1);  // the step is divided where the rope whips
  EXPECT_LE(most_parts, 32);
}

TEST(SpringsRods, ASlackRopeDrawnStraightFallsAndThenKeepsItsLength) {
  // Its rods cannot have their length where they begin; no force along the rope would bring it about.
  for (const int links : {10, 32, 100})
    for (const double slack : {0.01, 0.05, 0.3, 1.0}) {
      SpringsPart part = rope_of(links, 2);
      part.slack = static_cast<Real>(slack);
      part.pins = {{.where = SpringsPin::Where::first}, {.where = SpringsPin::Where::last}};
      Net net = test::net_of(part);
      Springs::Params params;
      params.point_damping = Real(0.5);
      for (int frame = 0; frame < 120; ++frame) {
        net.step(params, Real(1) / 60);
        // It can fall no deeper than half its length, and rods that come together when it is all slack may
        // push as much again.
        ASSERT_LT(kinetic_energy(net), 2 * 9.81 * test::total_mass(net) * (1 + slack))
            << links << " " << slack;
      }
      const double length = 2 * (1 + slack) / links;
      const auto& x = net.state.particles.x;
      for (std::size_t k = 0; k + 1 < x.size(); ++k)
        EXPECT_NEAR((x[k + 1] - x[k]).cast<double>().norm(), length, 1e-3 * length) << links << " " << slack;
    }
}

TEST(SpringsRods, ARopeThatItsPinsPullTooLongStretchesEvenly) {
  for (const int links : {10, 30, 100}) {
    SpringsPart part = rope_of(links, 2);
    part.pins = {{.where = SpringsPin::Where::first}, {.where = SpringsPin::Where::last, .group = 1}};
    Net net = test::net_of(part);
    Springs::Params params;
    params.pins.resize(2);
    std::size_t warnings = 0;
    for (int frame = 0; frame < 120; ++frame) {
      params.pins[1].offset[0] = Real(0.05) * std::min(Real(1), Real(frame) / 60);
      warnings += net.step(params, Real(1) / 60).warnings().size();
      ASSERT_LT(kinetic_energy(net), 2 * test::total_mass(net)) << links;  // 2 m/s, of all of it
    }
    EXPECT_GT(warnings, 0u);
    const auto& x = net.state.particles.x;
    for (std::size_t k = 0; k + 1 < x.size(); ++k)
      EXPECT_NEAR((x[k + 1] - x[k]).cast<double>().norm(), 2.05 / links, 0.01 * 2.05 / links) << links;
  }
}

TEST(SpringsRods, ARopeComesToRestWhereAChainHangsAtSixtyHertz) {
  constexpr int n = 32, frames = 1200;
  for (const double length : {1.05, 1.5, 3.0}) {
    SpringsPart part = rope_of(n, length);
    part.pins = {{.where = SpringsPin::Where::first}, {.where = SpringsPin::Where::last, .group = 1}};
    Net net = test::net_of(part);
    Springs::Params params;
    params.point_damping = 3;
    params.pins.resize(2);
    for (int k = 0; k < frames; ++k) {
      params.pins[1].offset[0] = (1 - part.to[0]) * std::min(Real(1), Real(k) / 120);
      net.step(params, Real(1) / 60);
    }
    // Positions round by epsilon times the length, lengths of a chain of n links by n times that, and what a
    // step puts back of it is a velocity. A solve ends when nothing but rounding is left of the weight, 4
    // epsilon or 1e-10 of h g on n points, in each of the 2 / (h c) = 40 steps that damping remembers. And of
    // the motion when the end stops, of 3 m/s or so, the damping leaves exp(-c t / 2).
    const double epsilon = double(std::numeric_limits<Real>::epsilon());
    const double rounding = n * epsilon * length;
    const double solves = 40 * std::max(4 * epsilon, 1e-10) * std::sqrt(n) * 9.81 / 60;
    const double speed = rounding * 60 + solves + 3 * std::exp(-1.5 * (frames - 120) / 60);
    EXPECT_LT(kinetic_energy(net), 0.5 * test::total_mass(net) * speed * speed) << length;
    // In equilibrium, but for forces of that rounding, which move every link by as much of its length.
    const std::vector<test::Vector> chain = hanging_chain(n, length);
    double off = 0;
    for (int i = 0; i <= n; ++i)
      off = std::max(off,
                     (net.state.particles.x[std::size_t(i)].cast<double>() - chain[std::size_t(i)]).norm());
    EXPECT_LT(off, std::max(n * rounding, 1e-6)) << length;
  }
}

TEST(SpringsRods, ABeadOnATinyRingComesToRestAtSixtyHertz) {
  // omega^2 = g / R: h omega = 1.65 for a ring of 1 mm.
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  const Real radius = Real(1e-3);
  part.points = {Vec3(radius * std::sqrt(Real(0.5)), -radius * std::sqrt(Real(0.5)), 0)};
  part.wires = {{.shape = WireShape::circle, .beads = {0}, .axis = Vec3(0, 0, 1), .radius = radius}};
  Net net = test::net_of(part);
  for (int k = 0; k < 120; ++k) net.step({}, Real(1) / 60);
  // Backward Euler divides a swing by (1 + h^2 omega^2)^(1/2) = 1.9 in each step.
  const double epsilon = double(std::numeric_limits<Real>::epsilon());
  // The solve ends at forces of 4 epsilon or 1e-10 of the weight, which hold a bead at that angle.
  const double rounding = std::max(16 * epsilon, 4e-10) * double(radius);
  EXPECT_NEAR(double(net.state.particles.x[0][0]), 0, rounding);
  EXPECT_NEAR(double(net.state.particles.x[0][1]), -double(radius), rounding);
  EXPECT_LT(double(net.state.particles.v[0].norm()), 60 * rounding);
}

TEST(SpringsRods, AFreeRopeKeepsItsMomentum) {
  std::mt19937 random(3);
  std::uniform_real_distribution<Real> u(-1, 1);
  Net net = test::net_of(rope_of(20, 1));
  Springs::Params params = test::isolated(Integrator::implicit_euler);
  params.tolerance = Real(1e-6);
  for (Vec3& v : net.state.particles.v) v = Vec3(u(random), u(random), u(random));
  const test::Vector p = test::momentum(net);
  const double mass = test::total_mass(net);
  for (int k = 0; k < 200; ++k) net.step(params, Real(1) / 60);
  // A step rounds each impulse, and its solve leaves 1e-6 of what moves: velocities of 1 m/s.
  EXPECT_LT((test::momentum(net) - p).norm(), 200 * 2e-6 * mass);
}

TEST(SpringsRods, ASpinningRopeLosesWhatBackwardEulerTakes) {
  // A straight free rope that turns by theta in a step is drawn to 2 x - x_before and back along itself:
  // tan theta' = sin theta / (2 - cos theta), so theta' = theta - theta^3 and d omega / dt = -h omega^3.
  const double h = 1.0 / 60, omega = 4;
  Net net = test::net_of(rope_of(20, 1));
  const Springs::Params params = test::isolated(Integrator::implicit_euler);
  const test::Vector centre(0.5, 0, 0);
  for (std::size_t i = 0; i < net.model.mass.size(); ++i)
    net.state.particles.v[i] =
        Vec3(0, static_cast<Real>(omega * (double(net.state.particles.x[i][0]) - 0.5)), 0);
  const double start = test::angular_momentum(net)[2];
  for (int k = 0; k < 60; ++k) net.step(params, static_cast<Real>(h));
  EXPECT_NEAR(test::momentum(net).norm(), 0, 60 * 1e-6 * test::total_mass(net));
  // Of the next order, theta^2 = 0.4 %; and the last velocity is that of a chord, a half step behind.
  EXPECT_NEAR(test::angular_momentum(net)[2] / start, 1 / std::sqrt(1 + 2 * h * omega * omega), 0.01);
  for (const Vec3& x : net.state.particles.x) EXPECT_LT((x.cast<double>() - centre).norm(), 0.5 + 1e-4);
}

TEST(SpringsRods, StepsAndStiffnessesOfEverySizeStayBounded) {
  // A rope let go level, with steps from 1/15 to 1/240 s and bending springs of any stiffness beside its
  // rods. Nothing can move it but its weight: springs start with no energy, and backward Euler only takes.
  for (const double h : {1.0 / 15, 1.0 / 30, 1.0 / 60, 1.0 / 240})
    for (const Real stiffness : {Real(0), Real(1), Real(1e3), Real(1e6)}) {
      SpringsPart part = rope_of(24, 1);
      part.bending_stiffness = stiffness;
      part.pins = {{.where = SpringsPin::Where::first}};
      Net net = test::net_of(part);
      // h^2 k / m is up to 10^6, and the tolerance is one of all forces, of which the weight is a small part.
      const Springs::Params params{.tolerance = Real(1e-5)};
      const auto motion_and_weight = [&] {
        double sum = kinetic_energy(net);
        for (std::size_t i = 0; i < net.model.mass.size(); ++i)
          sum -= double(net.model.mass[i]) * double(params.gravity.dot(net.state.particles.x[i]));
        return sum;
      };
      const double before = motion_and_weight();
      double highest = before, error = 0;
      for (int k = 0; k < static_cast<int>(4 / h); ++k) {
        error = std::max(error, net.step(params, static_cast<Real>(h)).value("constraint_error"));
        highest = std::max(highest, motion_and_weight());
        ASSERT_TRUE(std::isfinite(highest)) << h << ' ' << stiffness;
      }
      // 1 % of the weight's work, m g L / 2, for the solves' tolerance.
      EXPECT_LT(highest - before, 1e-2 * test::total_mass(net) * 9.81 / 2) << h << ' ' << stiffness;
      EXPECT_LT(motion_and_weight(), before) << h << ' ' << stiffness;
      EXPECT_LT(error, 1e-6) << h << ' ' << stiffness;  // of 1 m, as single precision allows
    }
}

}}  // namespace plenum
