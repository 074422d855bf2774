// Energy of nets under explicit methods at the longest step these allow themselves: where springs are pushed
// together, turned or carried along, no linear bound of that step tells what is made of nothing.
#include <gtest/gtest.h>

#include "springs/nets.h"

namespace plenum { namespace {

using test::Net;
using Integrator = Springs::Integrator;

/// What a method may make of a net's energy is a twentieth of what it has then; and rounding.
constexpr double most = 1 / 0.95 + 0.001;

struct Energies {
  double highest = 0, last = 0;  ///< over the first
};

Energies energies_of(Net& net, const Springs::Params& params, double seconds, Real frame) {
  const double start = test::energy(net, params.gravity);
  Energies of;
  for (double time = 0; time < seconds;) {
    const Real dt = frame / std::ceil(frame / Springs::max_dt(net.model, net.state, params));
    net.step(params, dt);
    time += double(dt);
    of.last = test::energy(net, params.gravity) / start;
    // Not std::max, which would pass over what is no number.
    if (!(of.last <= of.highest)) of.highest = of.last;
  }
  return of;
}

/// Those that do not amplify by nature.
constexpr Integrator methods[] = {Integrator::symplectic_euler, Integrator::velocity_verlet,
                                  Integrator::position_verlet, Integrator::leapfrog, Integrator::rk4};

std::string name(Integrator integrator) {
  return names_of(integrator)[std::size_t(integrator)];
}

Springs::Params undamped(Integrator integrator) {
  Springs::Params params = test::isolated(integrator);
  params.damping_scale = 0;
  return params;
}

/// 8 x 8 points and springs between neighbours of up to two places, pulled to twice their rest lengths.
SpringsPart pulled_apart() {
  constexpr int n = 8;
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  part.mass = Real(0.01);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      part.points.push_back(Vec3(Real(i), 0, Real(j)) * Real(2) / Real(n));
      for (const auto& [di, dj] : {std::pair(0, 1), std::pair(1, 0), std::pair(1, 1), std::pair(1, -1),
                                   std::pair(2, 0), std::pair(0, 2)})
        if (i + di < n && j + dj < n && j + dj >= 0) {
          part.springs.push_back(Index2(i * n + j, (i + di) * n + j + dj));
          part.rest_lengths.push_back(static_cast<Real>(std::hypot(di, dj) / n));
        }
    }
  return part;
}

TEST(SpringsCollapse, WhatFallsTogetherGainsNoEnergy) {
  // Without looking after it, 386 J were 2.3 MJ after ten seconds.
  for (const Integrator integrator : methods) {
    Net net = test::net_of(pulled_apart());
    const Energies of = energies_of(net, undamped(integrator), 10, Real(1) / 30);
    EXPECT_LE(of.highest, most) << name(integrator);
    // rk4 damps what it hardly resolves, the symplectic ones are to keep most.
    if (integrator != Integrator::rk4) {
      EXPECT_GE(of.last, 0.5) << name(integrator);
    }
  }
}

TEST(SpringsCollapse, WhatStrictConstraintsHoldGainsNoneEither) {
  for (const Integrator integrator : methods)
    for (const bool many : {false, true}) {
      SpringsPart part = pulled_apart();
      part.rods = {Index2(0, 1)};
      if (many)
        part.rods = {Index2(0, 1),   Index2(1, 2),   Index2(8, 9),
                     Index2(27, 28), Index2(28, 36), Index2(45, 46)};
      Net net = test::net_of(part);
      const Energies of = energies_of(net, undamped(integrator), 5, Real(1) / 30);
      EXPECT_LE(of.highest, most) << name(integrator) << many;
    }
}

TEST(SpringsCollapse, RandomNetsGainNone) {
  for (unsigned seed = 0; seed < 100; ++seed)
    for (const Integrator integrator : methods) {
      std::mt19937 random(seed);
      std::uniform_real_distribution<Real> u(-1, 1);
      Net net = test::free_net(seed, 3 + int(seed % 30));
      const Real length = std::pow(Real(10), u(random)), stiffness = std::pow(Real(10), 2 * u(random));
      for (Real& l : net.model.rest_length) l *= length * std::pow(Real(3), u(random));
      for (Real& k : net.model.stiffness) k *= stiffness * std::pow(Real(3), u(random));
      const Real speed = std::pow(Real(10), u(random));
      for (Vec3& v : net.state.particles.v) v *= speed;
      Springs::update(net.model);
      const Energies of = energies_of(net, undamped(integrator), 3, Real(1) / 30);
      EXPECT_LE(of.highest, most) << name(integrator) << seed;
    }
}

TEST(SpringsCollapse, ShortStepsAreLeftAlone) {
  // At a tenth of the longest step the energy swings by far less than is looked after: the books stay open,
  // and the motion is that of the method.
  for (const Integrator integrator : methods) {
    Net net = test::free_net(3);
    const Springs::Params params = undamped(integrator);
    const Real dt = Springs::max_dt(net.model, net.state, params) / 10;
    const double start = test::energy(net, params.gravity);
    for (int k = 0; k < 2000; ++k) {
      const Report report = net.step(params, dt);
      ASSERT_EQ(report.iterations, 0);
    }
    EXPECT_NEAR(test::energy(net, params.gravity), start, 0.03 * start) << name(integrator);
    EXPECT_NEAR(net.state.energy_made, test::energy(net, params.gravity) - start, 1e-3 * start)
        << name(integrator);
  }
}

TEST(SpringsCollapse, PinsAndGravityGiveWhatTheyGive) {
  // A net that hangs is shaken by its pins: it may take up what they give.
  for (const Integrator integrator : methods) {
    SpringsPart part = test::hanging_cloth(6);
    part.damping_time = 0;
    part.structural_stiffness = part.shear_stiffness = 100;
    for (SpringsPin& pin : part.pins) pin.group = 0;
    Net free = test::net_of(part), fine = test::net_of(part);
    Springs::Params params;
    params.integrator = integrator;
    params.air_density = 0;
    params.damping_scale = 0;
    params.pins.resize(1);
    const auto shaken = [&](Net& net, int steps) {
      for (int k = 1; k <= steps; ++k) {
        params.pins[0].offset = Vec3(0, Real(0.1) * std::sin(Real(8) * Real(k) / Real(steps)), 0);
        net.step(params, Real(1) / Real(steps));
      }
      return test::energy(net, params.gravity);
    };
    const double coarse = shaken(free, 240), reference = shaken(fine, 4000);
    // Of the weight times its side. Symplectic Euler's error of first order in the step is half of it.
    EXPECT_NEAR(coarse, reference, 0.01 * test::total_mass(fine) * test::g) << name(integrator);
  }
}

}}  // namespace plenum
