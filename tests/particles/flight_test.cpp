// Flight of particles that do not feel each other: against closed forms and a fine Runge-Kutta integration.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "simulation.h"

namespace plenum { namespace {

constexpr double g = 9.81;
using Vec3d = Vector3<double>;

TEST(Flight, WithoutAirItIsTheExactParabolaForAnyStep) {
  Simulation sim(one_particle({3, 4, 0}));
  for (int k = 0; k < 4; ++k) sim.step(0.25);
  EXPECT_NEAR(sim.x(0).x(), 3, 1e-5);
  EXPECT_NEAR(sim.x(0).y(), 4 - g / 2, 1e-5);
  EXPECT_NEAR(sim.v(0).y(), 4 - g, 1e-5);
}

TEST(Flight, LinearDragIsExactForAnyStep) {
  // v' = -g - k (v - u): v = v_inf + (v0 - v_inf) e^(-kt), x = v_inf t + (v0 - v_inf) (1 - e^(-kt)) / k.
  for (const double k : {0.01, 1.0, 30.0})
    for (const int steps : {1, 7}) {
      Simulation sim(one_particle({3, 4, -1}));
      sim.params.linear_drag = static_cast<Real>(k);
      sim.params.wind = {-2, 0, 1};
      for (int s = 0; s < steps; ++s) sim.step(0.7 / steps);
      const Vec3d v0(3, 4, -1), v_inf = Vec3d(-2, 0, 1) + Vec3d(0, -g, 0) / k;
      const double e = std::exp(-k * 0.7);
      const Vec3d v = v_inf + (v0 - v_inf) * e, x = v_inf * 0.7 + (v0 - v_inf) * (1 - e) / k;
      // Rounding: terms as large as g / k cancel.
      const double tolerance = 2e-6 * (5 + g / k);
      EXPECT_LT((sim.v(0) - v).norm(), tolerance) << k << " " << steps;
      EXPECT_LT((sim.x(0) - x).norm(), tolerance) << k << " " << steps;
    }
}

/// Falls from rest with quadratic drag: v = vt tanh(g t / vt), depth = vt^2 / g log cosh(g t / vt).
double fall_error(int steps, double& depth_error) {
  const double k = 0.5, vt = std::sqrt(g / k), t = 1.0;
  Simulation sim(one_particle(Vec3::Zero()));
  sim.params.quadratic_drag = static_cast<Real>(k);
  for (int s = 0; s < steps; ++s) sim.step(t / steps);
  depth_error = std::abs(-sim.x(0).y() - vt * vt / g * std::log(std::cosh(g * t / vt)));
  return std::abs(-sim.v(0).y() - vt * std::tanh(g * t / vt));
}

TEST(Flight, QuadraticDragConvergesToTheClosedFormInSecondOrder) {
  double depth8, depth16, depth32;
  const double v8 = fall_error(8, depth8), v16 = fall_error(16, depth16), v32 = fall_error(32, depth32);
  EXPECT_GT(std::log2(v8 / v16), 1.8);
  EXPECT_GT(std::log2(v16 / v32), 1.8);
  EXPECT_GT(std::log2(depth8 / depth16), 1.8);
  EXPECT_GT(std::log2(depth16 / depth32), 1.8);
  EXPECT_LT(v32, 1e-2);
}

TEST(Flight, TerminalSpeedIsKeptForAnyStep) {
  for (const double h : {1e-3, 0.1, 10.0, 1e3}) {
    const double k1 = 0.3, k2 = 0.7, vt = (-k1 + std::sqrt(k1 * k1 + 4 * k2 * g)) / (2 * k2);
    Simulation sim(one_particle({0, static_cast<Real>(-vt), 0}));
    sim.params.linear_drag = static_cast<Real>(k1);
    sim.params.quadratic_drag = static_cast<Real>(k2);
    for (int s = 0; s < 5; ++s) sim.step(h);
    EXPECT_NEAR(-sim.v(0).y(), vt, 1e-5 * vt) << h;
  }
}

TEST(Flight, AnyDragIsStable) {
  for (const double k : {1e2, 1e6, 1e12})
    for (const bool quadratic : {false, true}) {
      Simulation sim(one_particle({1e3, 2e3, -1e3}));
      (quadratic ? sim.params.quadratic_drag : sim.params.linear_drag) = static_cast<Real>(k);
      sim.params.wind = {5, 0, 0};
      for (int s = 0; s < 20; ++s) {
        sim.step(1.0 / 30);
        // Never faster than it was or than the wind and a step of gravity make it.
        ASSERT_LT(sim.v(0).norm(), 2450);
      }
      // With much drag the particle goes with the wind, sinking at its terminal speed.
      const double sink = quadratic ? std::sqrt(g / k) : g / k;
      EXPECT_NEAR(sim.v(0).x(), 5, 1e-3) << k;
      EXPECT_NEAR(-sim.v(0).y(), sink, 0.05 * sink + 1e-5) << k;
    }
}

/// A projectile through a vortex past an attractor, by RK4 in double with its own formulas.
Vec3d projectile_reference(double t) {
  using State = Eigen::Matrix<double, 6, 1>;
  const auto rate = [](const State& s) {
    const Vec3d x = s.head<3>(), v = s.tail<3>();
    const Vec3d from = x - Vec3d(1, 0, 0.5);
    const double fall = 1 / (from.x() * from.x() + from.z() * from.z() + 0.25);
    // Turning about +y by the right hand: y x r = (r_z, 0, -r_x).
    const Vec3d air = Vec3d(1, 0, 0) + 6 / (2 * std::numbers::pi) * fall * Vec3d(from.z(), 0, -from.x()) +
                      Vec3d(0, 2 * 0.25 * fall, 0);
    const Vec3d w = v - air, way = Vec3d(0, 2, 1) - x;
    State out;
    out << v,
        Vec3d(0, -g, 0) - (0.2 + 0.3 * w.norm()) * w + 4 / std::pow(way.squaredNorm() + 0.09, 1.5) * way;
    return out;
  };
  State s;
  s << 0, 0, 0, 2, 5, 1;
  const int steps = 4000;
  const double h = t / steps;
  for (int k = 0; k < steps; ++k) {
    const State a = rate(s), b = rate(s + h / 2 * a), c = rate(s + h / 2 * b), d = rate(s + h * c);
    s += h / 6 * (a + 2 * b + 2 * c + d);
  }
  return s.head<3>();
}

TEST(Flight, ProjectileAmongVortexAndAttractorConvergesInSecondOrder) {
  const Vec3d reference = projectile_reference(1);
  std::array<double, 3> error;
  for (int level = 0; level < 3; ++level) {
    Simulation sim(one_particle({2, 5, 1}));
    sim.params.linear_drag = Real(0.2);
    sim.params.quadratic_drag = Real(0.3);
    sim.params.wind = {1, 0, 0};
    sim.params.vortices.push_back({{1, 0, Real(0.5)}, {0, 3, 0}, 6, Real(0.5), 2});
    sim.params.attractors.push_back({{0, 2, 1}, 4, Real(0.3)});
    const int steps = 16 << level;
    for (int k = 0; k < steps; ++k) sim.step(1.0 / steps);
    error[static_cast<std::size_t>(level)] = (sim.x(0) - reference).norm();
  }
  EXPECT_GT(std::log2(error[0] / error[1]), 1.7);
  EXPECT_GT(std::log2(error[1] / error[2]), 1.7);
  EXPECT_LT(error[2], 1e-2);
}

TEST(Flight, OrbitAroundAnAttractorKeepsItsEnergyAndAngularMomentum) {
  Simulation sim(one_particle({0, 1, 0}));
  sim.state.particles.x[0] = {1, 0, 0};
  sim.params.gravity.setZero();
  sim.params.attractors.push_back({Vec3::Zero(), 1, Real(0.1)});
  const auto energy = [&] {
    return sim.v(0).squaredNorm() / 2 - 1 / std::sqrt(sim.x(0).squaredNorm() + 0.01);
  };
  const double before = energy();
  double most = 0;
  for (int k = 0; k < 5000; ++k) {
    sim.step(0.05);
    most = std::max(most, std::abs(energy() - before));
  }
  // Stoermer-Verlet's energy error is bounded, (w h)^2 / 8 of the energies at hand for frequency w = 1.
  EXPECT_LT(most, 2e-3);
  EXPECT_NEAR(sim.x(0).cross(sim.v(0)).z(), 1, 1e-3);
}

TEST(Flight, ZeroInverseMassStays) {
  Simulation sim(one_particle({1, 2, 3}));
  sim.state.particles.inverse_mass[0] = 0;
  sim.params.linear_drag = 1;
  sim.step(0.1);
  EXPECT_EQ(sim.state.particles.x[0], Vec3::Zero());
  EXPECT_EQ(sim.state.particles.v[0], Vec3(1, 2, 3));
}

TEST(Flight, ResultDoesNotDependOnThePlaceInTheArrays) {
  // Lanes of a vector and the rest of an array go different ways through the kernel.
  ParticleSystem::Spec spec = one_particle({1, 2, 3});
  const auto configure = [](Simulation& sim) {
    sim.params.linear_drag = Real(0.5);
    sim.params.quadratic_drag = Real(0.2);
    sim.params.turbulence.speed = 2;
  };
  Simulation alone(spec);
  configure(alone);
  for (int i = 0; i < 36; ++i) {
    spec.positions.push_back(Vec3::Zero());
    spec.velocities.push_back({1, 2, 3});
  }
  Simulation many(spec);
  configure(many);
  many.state.particles.v[20] *= 1000;  // takes the branch for strong drag in its vector
  for (int k = 0; k < 10; ++k) alone.step(0.02), many.step(0.02);
  for (std::size_t i = 0; i < many.size(); ++i) {
    if (i == 20) continue;
    ASSERT_EQ(many.state.particles.x[i], alone.state.particles.x[0]) << i;
  }
}

TEST(Flight, MaxDtIsSetByAttractorsOnly) {
  Simulation sim(one_particle(Vec3::Zero()));
  sim.params.quadratic_drag = 1e6;
  sim.params.turbulence.speed = 10;
  EXPECT_EQ(ParticleSystem::max_dt(sim.model, sim.state, sim.params), std::numeric_limits<Real>::infinity());
  sim.params.attractors.push_back({Vec3::Zero(), 8, Real(0.5)});
  EXPECT_NEAR(ParticleSystem::max_dt(sim.model, sim.state, sim.params), 0.2 * std::sqrt(0.125 / 8), 1e-6);
}

}}  // namespace plenum
