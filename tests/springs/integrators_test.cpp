// Orders of convergence and stability limits of the methods as the net runs them.
#include <gtest/gtest.h>

#include <complex>

#include "plenum/integrate/integrators.h"
#include "springs/nets.h"

namespace plenum { namespace {

using test::Net;
using Integrator = Springs::Integrator;

/// Two masses on springs below a pin, started away from rest.
Net elastic_pendulum() {
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  part.points = {Vec3(0, 0, 0), Vec3(Real(0.6), Real(-0.8), 0), Vec3(1, Real(-1.5), Real(0.3))};
  part.springs = {Index2(0, 1), Index2(1, 2)};
  part.rest_lengths = {Real(0.9), Real(0.8)};
  part.mass = 1;
  part.structural_stiffness = 30;
  part.damping_time = Real(0.01);
  part.pins = {{.indices = {0}}};
  return test::net_of(part);
}

/// Damping at a velocity half a step old costs leapfrog and position Verlet their second order.
bool takes_damping(Integrator integrator) {
  return integrator != Integrator::position_verlet && integrator != Integrator::leapfrog;
}

std::array<test::Vector, 2> after_one_second(Integrator integrator, int steps) {
  Net net = elastic_pendulum();
  Springs::Params params;
  params.integrator = integrator;
  params.tolerance = params.nonlinear_tolerance = Real(1e-6);
  params.nonlinear_iterations = 200;
  if (!takes_damping(integrator)) params.damping_scale = 0;
  for (int k = 0; k < steps; ++k) net.step(params, Real(1) / Real(steps));
  return {net.state.particles.x[1].cast<double>(), net.state.particles.x[2].cast<double>()};
}

/// Classical Runge-Kutta in double, written out, on the same system.
std::array<test::Vector, 2> reference(bool damped) {
  using V = test::Vector;
  struct Y {
    V x[2], v[2];
  };
  const Net net = elastic_pendulum();
  const auto rate = [&](const Y& y) {
    Y d;
    const V at[3] = {V::Zero(), y.x[0], y.x[1]}, moving[3] = {V::Zero(), y.v[0], y.v[1]};
    V f[3] = {V::Zero(), V::Zero(), V::Zero()};
    const double rest[2] = {double(Real(0.9)), double(Real(0.8))};
    for (int s = 0; s < 2; ++s) {
      const V line = at[s + 1] - at[s], n = line.normalized();
      const double pull =
          30 * (line.norm() - rest[s]) +
          (damped ? double(net.model.damping[std::size_t(s)]) : 0) * (moving[s + 1] - moving[s]).dot(n);
      f[s] += pull * n, f[s + 1] -= pull * n;
    }
    for (int i = 0; i < 2; ++i) d.x[i] = y.v[i], d.v[i] = f[i + 1] + V(0, -9.81, 0);
    return d;
  };
  const auto plus = [](const Y& y, double h, const Y& d) {
    Y r;
    for (int i = 0; i < 2; ++i) r.x[i] = y.x[i] + h * d.x[i], r.v[i] = y.v[i] + h * d.v[i];
    return r;
  };
  Y y{{net.state.particles.x[1].cast<double>(), net.state.particles.x[2].cast<double>()},
      {V::Zero(), V::Zero()}};
  const int steps = 4000;
  const double h = 1.0 / steps;
  for (int k = 0; k < steps; ++k) {
    const Y a = rate(y), b = rate(plus(y, h / 2, a)), c = rate(plus(y, h / 2, b)), e = rate(plus(y, h, c));
    y = plus(plus(plus(plus(y, h / 6, a), h / 3, b), h / 3, c), h / 6, e);
  }
  return {y.x[0], y.x[1]};
}

TEST(SpringsIntegrators, EachConvergesWithItsOrder) {
  struct Row {
    Integrator integrator;
    double order;
    int steps;
  };
  for (const Row& row :
       {Row{Integrator::implicit_euler, 1, 200}, Row{Integrator::backward_euler, 1, 200},
        Row{Integrator::local_global, 1, 200}, Row{Integrator::symplectic_euler, 1, 100},
        Row{Integrator::explicit_euler, 1, 400}, Row{Integrator::explicit_midpoint, 2, 50},
        Row{Integrator::heun, 2, 50}, Row{Integrator::rk4, 4, 12}, Row{Integrator::position_verlet, 2, 50},
        Row{Integrator::velocity_verlet, 2, 50}, Row{Integrator::leapfrog, 2, 50}}) {
    const auto exact = reference(takes_damping(row.integrator));
    const auto error = [&](int steps) {
      const auto x = after_one_second(row.integrator, steps);
      return std::sqrt((x[0] - exact[0]).squaredNorm() + (x[1] - exact[1]).squaredNorm());
    };
    const double coarse = error(row.steps), fine = error(2 * row.steps);
    const double order = std::log2(coarse / fine);
    EXPECT_NEAR(order, row.order, 0.35) << names_of(row.integrator)[std::size_t(row.integrator)];
  }
}

TEST(SpringsIntegrators, DampedOscillationDecaysAsTheFormulaOfBackwardEuler) {
  // One mass on a spring along x, pulled out by 0.1 m and let go: with u the elongation, backward Euler is
  // (1 + h c/m + h^2 k/m) v1 = v0 - h k/m u0, u1 = u0 + h v1, here in double.
  constexpr double k = 200, m = 0.5, time = 0.03, h = 1.0 / 120;
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  part.points = {Vec3(0, 0, 0), Vec3(Real(1.1), 0, 0)};
  part.springs = {Index2(0, 1)};
  part.rest_lengths = {1};
  part.mass = Real(m);
  part.structural_stiffness = Real(k);
  part.damping_time = Real(time);
  part.pins = {{.indices = {0}}};
  for (const Integrator integrator :
       {Integrator::implicit_euler, Integrator::backward_euler, Integrator::local_global}) {
    Net net = test::net_of(part);
    Springs::Params params = test::isolated(integrator);
    params.tolerance = params.nonlinear_tolerance = Real(1e-6);
    params.nonlinear_iterations = 500;
    double u = 0.1, v = 0, least = 0;
    for (int step = 0; step < 120; ++step) {
      EXPECT_TRUE(net.step(params, Real(h)).warnings().empty());
      v = (v - h * k / m * u) / (1 + h * time * k / m + h * h * k / m);
      u += h * v;
      least = std::min(least, u);
      // A millionth of the first gradient, 20 N, moves the mass by 4e-7 m in (m/h^2)^-1 a step.
      ASSERT_NEAR(double(net.state.particles.x[1].x()) - 1, u, 2e-5)
          << names_of(integrator)[std::size_t(integrator)] << step;
    }
    EXPECT_LT(least, -0.005);  // it swings through
  }
}

TEST(SpringsIntegrators, BackwardEulerStopsAtTheRoundingOfPositions) {
  // A stiff net falls freely, and what is left of the gradient is soon the rounding of positions some metres
  // from the origin. Newton's method must see that nothing is left to do instead of wandering about in it.
  SpringsPart part = test::hanging_cloth(40);
  part.pins.clear();
  part.structural_stiffness = 5000;
  part.shear_stiffness = 2000;
  part.position = Vec3(Real(3.1), Real(2.3), Real(-4.7));
  part.rotation = Vec3(10, 23, 5);
  Net net = test::net_of(part);
  Springs::Params params;
  params.integrator = Integrator::backward_euler;
  params.nonlinear_tolerance = Real(1e-4);
  const auto mean_height = [&] {
    double sum = 0;
    for (const Vec3& x : net.state.particles.x) sum += double(x.y());
    return sum / double(net.state.particles.x.size());
  };
  const double start = mean_height(), h = 1.0 / 60;
  params.air_density = 0;
  for (int k = 0; k < 20; ++k) {
    const Report report = net.step(params, Real(h));
    EXPECT_TRUE(report.warnings().empty()) << k;
    EXPECT_LE(report.value("newton_steps", 99), 5) << k;
  }
  // But it falls: by backward Euler's g h^2 n (n + 1) / 2.
  EXPECT_NEAR(start - mean_height(), 9.81 * h * h * 20 * 21 / 2, 1e-4);
}

TEST(SpringsIntegrators, BackwardEulerLetsFallWhatWeighsLessThanItsRounding) {
  // Where stiffness times the rounding of positions exceeds the weight of a particle, no net may hang in the
  // air as if the start of a step were its solution.
  for (const Vec3& where : {Vec3(0, 2, 0), Vec3(10, 2, 0), Vec3(100, 2, 0)})
    for (const Real stiffness : {Real(1e3), Real(1e5), Real(1e6)}) {
      SpringsPart part = test::hanging_cloth(20);
      part.pins.clear();
      part.structural_stiffness = stiffness;
      part.position = where;
      Net net = test::net_of(part);
      Springs::Params params;
      params.integrator = Integrator::backward_euler;
      params.air_density = 0;
      const std::vector<Vec3> start = net.state.particles.x;
      const double h = 1.0 / 60;
      for (int k = 0; k < 30; ++k) net.step(params, Real(h));
      double fallen = 0;
      for (std::size_t i = 0; i < start.size(); ++i)
        fallen += double(start[i].y() - net.state.particles.x[i].y()) / double(start.size());
      EXPECT_NEAR(fallen, 9.81 * h * h * 30 * 31 / 2, 0.01) << stiffness << " at " << where.x();
    }
}

TEST(SpringsIntegrators, LocalGlobalDampsANetAsBackwardEulerDoes) {
  // The two minimize the same objective by different means: what they leave of a swinging net's energy
  // agrees.
  const auto left = [](Integrator integrator, Real damping_scale) {
    SpringsPart part = test::hanging_cloth(8);
    part.damping_time = Real(0.02);
    Net net = test::net_of(part);
    Springs::Params params;
    params.integrator = integrator;
    params.air_density = 0;
    params.damping_scale = damping_scale;
    params.tolerance = params.nonlinear_tolerance = Real(1e-5);
    params.nonlinear_iterations = 2000;
    for (int k = 0; k < 60; ++k) net.step(params, Real(1) / 120);
    return test::energy(net, params.gravity);
  };
  const double newton = left(Integrator::backward_euler, 1), local = left(Integrator::local_global, 1);
  EXPECT_NEAR(local, newton, 0.01 * std::abs(newton));
  const double undamped = left(Integrator::local_global, 0);
  EXPECT_GT(std::abs(undamped - local),
            5 * std::abs(local - newton));  // damping is what makes the difference
}

TEST(SpringsIntegrators, TheHalfDiscOfRadius2Point6LiesInTheRegionOfRungeKutta4) {
  for (double angle = 0; angle <= std::numbers::pi / 2; angle += 0.001)
    for (double radius = 0; radius <= 2.6; radius += 0.01) {
      const std::complex<double> z = -std::polar(radius, angle);
      EXPECT_LE(std::abs(1. + z * (1. + z / 2. * (1. + z / 3. * (1. + z / 4.)))), 1 + 1e-12) << z;
    }
}

TEST(SpringsIntegrators, StepsOfMaxDtStayBoundedWithAndWithoutDamping) {
  for (std::size_t i = 0; i < names_of(Integrator{}).size(); ++i) {
    const auto integrator = static_cast<Integrator>(i);
    if (Springs::is_implicit(integrator)) continue;
    for (const Real damping_scale : {Real(0), Real(1), Real(100)}) {
      Net net = test::free_net(7, 20);
      for (std::size_t e = 0; e < net.model.damping.size(); ++e)
        net.model.damping[e] = net.model.stiffness[e] / 1000;
      Springs::update(net.model);
      Springs::Params params = test::isolated(integrator);
      params.damping_scale = damping_scale;
      const Real dt = Springs::max_dt(net.model, net.state, params);
      ASSERT_TRUE(std::isfinite(dt) && dt > 0);
      const double start = test::energy(net, params.gravity);
      double time = 0;
      while (time < 1) net.step(params, dt), time += double(dt);
      // Symplectic methods let the energy swing, others let amplitudes grow by a factor e in a second.
      const bool amplifies = integrator == Integrator::explicit_euler || integrator == Integrator::heun ||
                             integrator == Integrator::explicit_midpoint;
      EXPECT_LT(test::energy(net, params.gravity), start * (amplifies ? std::exp(2.1) : 1.5))
          << names_of(integrator)[i] << damping_scale;
    }
  }
}

TEST(SpringsIntegrators, AStepBeyondMaxDtIsReported) {
  Net net = test::free_net(8, 10);
  const Springs::Params params = test::isolated(Integrator::symplectic_euler);
  const Real dt = Springs::max_dt(net.model, net.state, params);
  EXPECT_TRUE(net.step(params, dt).warnings().empty());
  const Report report = net.step(params, 2 * dt);
  ASSERT_EQ(report.warnings().size(), 1u);
  EXPECT_NE(std::string_view(report.warnings()[0].text).find("max_dt"), std::string_view::npos);
}

TEST(SpringsIntegrators, LeapfrogHandsItsVelocitiesOver) {
  // A change of method mid-way brings velocities up to the positions: the energy does not jump.
  Net net = elastic_pendulum();
  Springs::Params params;
  params.damping_scale = 0;
  params.integrator = Integrator::leapfrog;
  const double start = test::energy(net, params.gravity);
  for (int k = 0; k < 500; ++k) net.step(params, Real(0.001));
  EXPECT_EQ(net.state.velocity_lag, Real(0.001) / 2);
  params.integrator = Integrator::rk4;
  net.step(params, Real(0.001));
  EXPECT_EQ(net.state.velocity_lag, 0);
  EXPECT_NEAR(test::energy(net, params.gravity), start, 2e-4);
}

}}  // namespace plenum
