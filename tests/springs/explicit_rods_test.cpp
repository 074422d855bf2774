// Rods under explicit methods at the steps of pictures: whips, pins that move, contradictions.
#include <gtest/gtest.h>

#include <numbers>

#include "springs/nets.h"

namespace plenum { namespace {

using test::Net;
using Integrator = Springs::Integrator;
using test::g;
constexpr double length = 2;

/// Held at its first point.
SpringsPart hung_rope(int links) {
  SpringsPart part = test::rope_of(links, length);
  part.pins = {{.where = SpringsPin::Where::first}};
  return part;
}

/// Largest error of a rod, relative to its length.
double stretch(const Net& net) {
  double most = 0;
  for (std::size_t r = 0; r < net.model.constraints.rods.size(); ++r) {
    const Index2 ends = net.model.constraints.rods[r];
    const Vec3 d = net.state.particles.x[std::size_t(ends[1])] - net.state.particles.x[std::size_t(ends[0])];
    most =
        std::max(most, std::abs(d.cast<double>().norm() / double(net.model.constraints.rod_length[r]) - 1));
  }
  return most;
}

/// What a method may show of energy that it was not given, over m g L, of which half can set the rope in
/// motion.
double energy_bound(Integrator integrator, double h, double seconds) {
  switch (integrator) {
    // Symplectic methods keep an energy of their own. Of an oscillation with h omega <= 1, which is what the
    // step is divided to, kinetic and potential energy add up to no more than 1/(1 - (h omega/2)^2) of it
    // under velocity Verlet and 1/(1 - h omega/2) under the others: a third and as much again, were all of it
    // in the fastest waves (Hairer, Lubich & Wanner 2006, I.1.4).
    case Integrator::velocity_verlet:
      return 0.5 / 3;
    case Integrator::symplectic_euler:
    case Integrator::leapfrog:
      return 0.5;
    // Of explicit Euler's, whose positions are half a step late, an energy is bounded that differs by h/2
    // times the power of the weight, m g sqrt(g L) at most; a swing that shortens the step gains it once.
    case Integrator::explicit_euler: {
      const double swings = seconds / (std::numbers::pi * std::sqrt(2 * length / (3 * g)));
      return std::ceil(swings) * h / 2 * std::sqrt(g / length);
    }
    // The rest may gain nothing, or damp. Turning by a quarter of a radian a step makes local errors of
    // 0.25^3 / 24 of what turns, the tip's share.
    default:
      return 1e-3;
  }
}

TEST(SlowSpringsExplicitRods, ARopeWhipsWithoutGainingEnergyUnderEveryMethod) {
  struct Run {
    int fps, links;
    double seconds;
  };
  for (const Integrator integrator :
       {Integrator::symplectic_euler, Integrator::velocity_verlet, Integrator::leapfrog, Integrator::rk4,
        Integrator::heun, Integrator::explicit_midpoint, Integrator::position_verlet,
        Integrator::explicit_euler})
    for (const Run run : {Run{30, 20, 20}, Run{60, 5, 20}, Run{60, 20, 20}, Run{120, 20, 5}, Run{60, 50, 4},
                          Run{30, 100, 2}}) {
      if (integrator == Integrator::explicit_euler && run.links > 5)
        continue;  // takes all the parts there are
      Net net = test::net_of(hung_rope(run.links));
      const Springs::Params params{.integrator = integrator};
      const double unit = test::total_mass(net) * g * length, before = test::energy(net, params.gravity);
      const std::string what = std::string(names_of(integrator)[std::size_t(integrator)]) + " " +
                               std::to_string(run.links) + " " + std::to_string(run.fps);
      double highest = before, most_parts = 0;
      for (int frame = 0; frame < static_cast<int>(run.seconds * run.fps); ++frame) {
        const Report report = net.step(params, Real(1) / Real(run.fps));
        ASSERT_TRUE(report.warnings().empty()) << what << ": " << report.warnings()[0].text;
        most_parts = std::max(most_parts, report.value("parts"));
        highest = std::max(highest, test::energy(net, params.gravity));
        ASSERT_LT(stretch(net), 1e-3) << what << " " << frame;
      }
      ASSERT_TRUE(std::isfinite(highest)) << what;
      EXPECT_LT((highest - before) / unit, energy_bound(integrator, 1.0 / run.fps, run.seconds)) << what;
      EXPECT_GT(most_parts, run.links >= 20 ? 1 : 0) << what;
    }
}

TEST(SpringsExplicitRods, AGentlePendulumIsNotDivided) {
  for (const Integrator integrator : {Integrator::symplectic_euler, Integrator::velocity_verlet,
                                      Integrator::leapfrog, Integrator::rk4, Integrator::heun}) {
    SpringsPart part = hung_rope(1);
    Net net = test::net_of(part);
    for (int frame = 0; frame < 120; ++frame)
      EXPECT_EQ(net.step({.integrator = integrator}, Real(1) / 60).value("parts"), 1);
  }
}

TEST(SpringsExplicitRods, ARopeThatHangsStaysAtRestThoughItsWavesAreFast) {
  // omega = 2 n sqrt(g / L) for a link under the weight of all n: h omega = 7.4.
  constexpr int n = 100;
  for (const Integrator integrator : {Integrator::symplectic_euler, Integrator::velocity_verlet,
                                      Integrator::leapfrog, Integrator::rk4, Integrator::heun}) {
    SpringsPart part = hung_rope(n);
    part.to = Vec3(0, static_cast<Real>(-length), 0);
    Net net = test::net_of(part);
    double parts = 0;
    for (int frame = 0; frame < 120; ++frame)
      parts = net.step({.integrator = integrator}, Real(1) / 60).value("parts");
    EXPECT_GE(parts, 4);
    double fastest = 0;
    for (const Vec3& v : net.state.particles.v) fastest = std::max(fastest, double(v.norm()));
    EXPECT_LT(fastest, 1e-3) << names_of(integrator)[std::size_t(integrator)];
  }
}

TEST(SpringsExplicitRods, WhatPushesAPointOffItsRodsGivesItNoSpeed) {
  // 2 mm along links of 2 cm, as contact would. Put back within 1/60 s that is 0.12 m/s; within a part of it,
  // as many times more.
  constexpr int n = 100;
  SpringsPart part = hung_rope(n);
  part.to = Vec3(0, static_cast<Real>(-length), 0);
  for (const Integrator integrator : {Integrator::symplectic_euler, Integrator::velocity_verlet,
                                      Integrator::leapfrog, Integrator::rk4, Integrator::heun}) {
    Net net = test::net_of(part);
    const Springs::Params params{.integrator = integrator};
    net.state.particles.x[50][1] += Real(2e-3);
    net.step(params, Real(1) / 60);
    double fastest = 0;
    for (const Vec3& v : net.state.particles.v) fastest = std::max(fastest, double(v.norm()));
    EXPECT_LT(fastest, 0.12) << names_of(integrator)[std::size_t(integrator)];
    EXPECT_LT(stretch(net), 1e-3);
  }
}

TEST(SpringsExplicitRods, APinThatCarriesARopeAlongGivesItNoEnergy) {
  // Seen from a pin that moves evenly, and with it the rope from the start, it hangs and swings as from one
  // at rest.
  const Vec3 speed(1, Real(0.5), 2);
  for (const Integrator integrator :
       {Integrator::velocity_verlet, Integrator::rk4, Integrator::heun, Integrator::explicit_midpoint}) {
    Net net = test::net_of(hung_rope(10));
    Springs::Params params{.integrator = integrator, .pins = std::vector<Springs::PinMotion>(1)};
    for (Vec3& v : net.state.particles.v) v = speed;
    const double unit = test::total_mass(net) * g * length;
    double highest = 0;
    for (int frame = 1; frame <= 600; ++frame) {
      params.pins[0].offset = speed * (Real(frame) / 60);
      ASSERT_TRUE(net.step(params, Real(1) / 60).warnings().empty());
      Net seen{net.model, net.state};
      for (Vec3& v : seen.state.particles.v) v -= speed;
      for (Vec3& x : seen.state.particles.x) x -= params.pins[0].offset;
      seen.state.particles.v[0].setZero();
      highest = std::max(highest, test::energy(seen, params.gravity) / unit);
    }
    // What it may gain by the bound's own terms of second order, for it is told of forces at the start alone.
    EXPECT_LT(highest, 0.5 / 3) << names_of(integrator)[std::size_t(integrator)];
  }
}

TEST(SpringsExplicitRods, PinsThatJumpLeaveEverythingFinite) {
  for (const auto stabilization : {Springs::Stabilization::none, Springs::Stabilization::baumgarte,
                                   Springs::Stabilization::projection, Springs::Stabilization::shake})
    for (const Integrator integrator : {Integrator::symplectic_euler, Integrator::velocity_verlet,
                                        Integrator::leapfrog, Integrator::rk4, Integrator::heun}) {
      SpringsPart part = hung_rope(10);
      part.pins.push_back({.where = SpringsPin::Where::last, .group = 1});
      Net net = test::net_of(part);
      Springs::Params params{.integrator = integrator,
                             .stabilization = stabilization,
                             .pins = std::vector<Springs::PinMotion>(2)};
      std::int64_t warnings = 0;
      for (int frame = 0; frame < 90; ++frame) {
        params.pins[1].offset =
            Vec3(Real(frame / 15 % 3 - 1), Real(frame / 15 % 2), 0);  // within reach or not
        params.pins[1].released = frame >= 60;
        const Report told = net.step(params, Real(1) / 60);
        for (const auto& warning : told.warnings()) warnings += warning.count;
        for (const Vec3& x : net.state.particles.x) ASSERT_LT(double(x.norm()), 100) << frame;
      }
      EXPECT_GT(warnings, 0);
    }
}

}}  // namespace plenum
