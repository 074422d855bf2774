// Nets under explicit methods at the longest step these allow themselves: where springs are pushed together
// or turn within a step, no linear bound of that step tells what is made of nothing.
#include <gtest/gtest.h>

#include "springs/nets.h"

namespace plenum { namespace {

using test::Net;
using Integrator = Springs::Integrator;

/// Symplectic Euler's T + U swings between 1 / (1 + z / 2) and 1 / (1 - z / 2) of what it keeps, on linear
/// springs and with z = h omega; the longest step has z = 1.8. The others swing less.
constexpr double swing = 10;

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

TEST(SpringsCollapse, WhatFallsTogetherGainsNoEnergyAndKeepsItsMomentum) {
  // Symplectic methods alone take it from 386 J to 2.3 MJ.
  for (const Integrator integrator : methods) {
    Net net = test::net_of(pulled_apart());
    const Vec3 along(1, 0, 0);
    for (Vec3& v : net.state.particles.v) v += along;
    const Energies of = energies_of(net, undamped(integrator), 10, Real(1) / 30);
    // Its fast modes alone are near the limit.
    EXPECT_LE(of.highest, 1.5) << name(integrator);
    EXPECT_LE(of.last, 1) << name(integrator);
    const test::Vector momentum = test::momentum(net),
                       expected = test::total_mass(net) * along.cast<double>();
    EXPECT_NEAR((momentum - expected).norm(), 0, 1e-4 * expected.norm()) << name(integrator);
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
      EXPECT_LE(of.highest, 1.5) << name(integrator) << many;
      EXPECT_LE(of.last, 1) << name(integrator) << many;
    }
}

TEST(SpringsCollapse, WhatIsDampedComesToRest) {
  // Symplectic methods alone make for ever what the damping takes.
  for (const Integrator integrator : methods) {
    SpringsPart part = pulled_apart();
    part.pins = {{.indices = {0, 7, 56, 63}}};
    Net net = test::net_of(part);
    Springs::Params params = undamped(integrator);
    params.point_damping = 1;
    for (int k = 0; k < 12 * 60;) {
      const auto parts = int(std::ceil(1 / (60 * Springs::max_dt(net.model, net.state, params))));
      for (int p = 0; p < parts; ++p) net.step(params, 1 / (Real(60) * Real(parts)));
      ++k;
    }
    double kinetic = 0;
    for (std::size_t i = 0; i < net.model.mass.size(); ++i)
      kinetic += 0.5 * double(net.model.mass[i]) * double(net.state.particles.v[i].squaredNorm());
    EXPECT_LT(kinetic, 0.1) << name(integrator);  // of 386 J
  }
}

TEST(SpringsCollapse, AWeightOnASpringSwingsForEver) {
  // Far and near the limit: nothing is taken from what no spring pushes aside.
  for (const Integrator integrator : {Integrator::symplectic_euler, Integrator::velocity_verlet,
                                      Integrator::position_verlet, Integrator::leapfrog})
    for (const double z : {0.1, 0.5, 1.0, 1.7}) {
      SpringsPart part;
      part.type = SpringsPart::Type::points;
      part.points = {Vec3(0, 0, 0), Vec3(0, -1, 0)};
      part.springs = {Index2(0, 1)};
      part.mass = 1;
      part.structural_stiffness = 100;
      part.damping_time = 0;
      part.pins = {{.indices = {0}}};
      Net net = test::net_of(part);
      net.state.particles.x[1] = Vec3(0, Real(-1.2), 0);
      double early = 0, late = 0;
      for (int k = 0; k < 10'000; ++k) {
        net.step(undamped(integrator), static_cast<Real>(z / 10));
        const double off = std::abs(double(net.state.particles.x[1].y()) + 1);
        double& most = k < 5'000 ? early : late;
        most = std::max(most, off);
      }
      EXPECT_NEAR(late, early, 1e-2 * early) << name(integrator) << z;
    }
}

TEST(SpringsCollapse, SwingsBeyondHalfTheRestLengthArePumpedByNoChangeOfMethod) {
  // Each swing calls Runge-Kutta in at the same phase: changed for a fixed time, velocity Verlet made 68
  // times the energy of the first of these.
  for (const Integrator integrator : {Integrator::velocity_verlet, Integrator::leapfrog,
                                      Integrator::symplectic_euler, Integrator::position_verlet})
    for (const auto& [amplitude, k, h] : {std::array{0.55, 144., 1. / 30},
                                          {0.8, 144., 1. / 60},
                                          {0.55, 144., 1. / 60},
                                          {0.7, 100., 1. / 120}}) {
      SpringsPart part;
      part.type = SpringsPart::Type::points;
      part.points = {Vec3(0, 0, 0), Vec3(1, 0, 0)};
      part.springs = {Index2(0, 1)};
      part.mass = 1;
      part.structural_stiffness = static_cast<Real>(k);
      part.damping_time = 0;
      part.pins = {{.indices = {0}}};
      Net net = test::net_of(part);
      net.state.particles.x[1].x() += static_cast<Real>(amplitude);
      const double start = test::energy(net, Vec3::Zero()), z = h * std::sqrt(k);
      for (int n = 0; n < int(100 / h); ++n) {
        net.step(undamped(integrator), static_cast<Real>(h));
        // What symplectic Euler's energy swings by.
        ASSERT_LE(test::energy(net, Vec3::Zero()), 1.05 * start / (1 - z / 2))
            << name(integrator) << amplitude << n;
      }
    }
}

TEST(SpringsCollapse, SpringsBetweenPinsCallNothingIn) {
  // Pins hold one at a third of its rest length; a weight beside it swings for ever near the limit.
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  part.points = {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(5, 0, 0), Vec3(6, 0, 0)};
  part.springs = {Index2(0, 1), Index2(2, 3)};
  part.rest_lengths = {3, 1};
  part.mass = 1;
  part.structural_stiffness = 100;
  part.damping_time = 0;
  part.pins = {{.indices = {0, 1, 2}}};
  Net net = test::net_of(part);
  net.state.particles.x[3].x() = Real(6.2);
  double late = 0;
  for (int k = 0; k < 5000; ++k) {
    net.step(undamped(Integrator::velocity_verlet), Real(0.1));
    if (k > 4000) late = std::max(late, std::abs(double(net.state.particles.x[3].x()) - 6));
  }
  EXPECT_GT(late, 0.19);
}

TEST(SpringsCollapse, SlowNetsAreNoOthers) {
  // The same motion in longer units of time: nothing counts seconds.
  for (const Real slow : {Real(1), Real(100)}) {
    Net net = test::net_of(pulled_apart());
    for (Real& k : net.model.stiffness) k /= slow * slow;
    Springs::update(net.model);
    const Springs::Params params = undamped(Integrator::velocity_verlet);
    const double start = test::energy(net, params.gravity);
    const Real dt = Springs::max_dt(net.model, net.state, params);
    double highest = 0;
    for (int k = 0; k < 5000; ++k) {
      net.step(params, dt);
      highest = std::max(highest, test::energy(net, params.gravity) / start);
    }
    EXPECT_LE(highest, 1.5) << slow;
    EXPECT_LE(test::energy(net, params.gravity), start) << slow;
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
      EXPECT_LE(of.highest, swing) << name(integrator) << seed;
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
