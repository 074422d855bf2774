// Strict constraints against closed forms, by multipliers and by penalty.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "plenum/integrate/integrators.h"
#include "plenum/solvers/springs/multipliers.h"
#include "springs/nets.h"

namespace plenum { namespace {

using test::Net;
using Integrator = Springs::Integrator;
using Constraints = Springs::Constraints;
using Stabilization = Springs::Stabilization;
using test::g;

SpringsPart bead_on(SpringsWire wire, const Vec3& start) {
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  part.points = {start};
  part.mass = Real(0.5);
  wire.beads = {0};
  part.wires = {wire};
  return part;
}

Springs::Params params_of(Integrator integrator, Constraints constraints = Constraints::multipliers) {
  Springs::Params params;
  params.integrator = integrator;
  params.constraints = constraints;
  params.penalty_stiffness = Real(1e5);
  return params;
}

TEST(SpringsConstraints, ABeadSlidesDownALineAtTheRateOfItsSlope) {
  SpringsWire wire;
  wire.axis = Vec3(3, -4, 0);  // sin of the slope 0.8
  for (const auto constraints : {Constraints::multipliers, Constraints::penalty})
    for (const auto integrator : {Integrator::velocity_verlet, Integrator::rk4, Integrator::implicit_euler}) {
      Net net = test::net_of(bead_on(wire, Vec3(0, 0, 0)));
      const Springs::Params params = params_of(integrator, constraints);
      const int steps = 1000;
      for (int k = 0; k < steps; ++k) net.step(params, Real(1) / steps);
      // x(1 s) = g sin(a) / 2 along the line. Implicit Euler is a step's worth of fall ahead.
      const double along = 0.8 * g / 2,
                   ahead = integrator == Integrator::implicit_euler ? 0.8 * g / 2 / steps : 0;
      const Vec3 x = net.state.particles.x[0];
      EXPECT_NEAR(double(x[0]), 0.6 * (along + ahead), 2e-4);
      EXPECT_NEAR(double(x[1]), -0.8 * (along + ahead), 2e-4);
    }
}

TEST(SpringsConstraints, ABeadOnAHelixKeepsItsLawOfFall) {
  SpringsWire wire;
  wire.shape = WireShape::helix;
  wire.radius = Real(0.5);
  wire.pitch = Real(0.8);
  const double turn = 2 * std::numbers::pi * 0.5, sine = 0.8 / std::hypot(0.8, turn);
  for (const auto constraints : {Constraints::multipliers, Constraints::penalty}) {
    Net net = test::net_of(bead_on(wire, Vec3(Real(0.5), 0, 0)));
    const Springs::Params params = params_of(Integrator::rk4, constraints);
    const Real dt = Real(1) / 2000;
    ASSERT_GE(Springs::max_dt(net.model, net.state, params), dt);
    for (int k = 0; k < 2000; ++k) net.step(params, dt);
    // Along the arc s'' = g sin(a): the height falls by g sin^2(a) t^2 / 2.
    const Vec3 x = net.state.particles.x[0];
    EXPECT_NEAR(double(x[1]), -g * sine * sine / 2, 2e-3 * g * sine * sine / 2);
    EXPECT_NEAR(std::hypot(double(x[0]), double(x[2])), 0.5,
                constraints == Constraints::penalty ? 1e-4 : 1e-6);
  }
}

TEST(SpringsConstraints, ABeadOnACircleIsAPendulum) {
  SpringsWire wire;
  wire.shape = WireShape::circle;
  wire.axis = Vec3(0, 0, 1);
  // Released at 90 degrees, T = 1.18034 T0 (pendulum_period.csv): at the bottom after a quarter.
  const double period = 1.18034059901609 * 2 * std::numbers::pi / std::sqrt(g);
  Net net = test::net_of(bead_on(wire, Vec3(1, 0, 0)));
  const Springs::Params params = params_of(Integrator::rk4);
  for (int k = 0; k < 500; ++k) net.step(params, static_cast<Real>(period / 4 / 500));
  EXPECT_NEAR(double(net.state.particles.x[0][0]), 0, 1e-4);
  EXPECT_NEAR(double(net.state.particles.x[0][1]), -1, 1e-6);
  EXPECT_NEAR(double(net.state.particles.v[0].norm()), std::sqrt(2 * g), 1e-4);
}

SpringsPart pendulum(int links) {
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  for (Index i = 0; i <= links; ++i) {
    part.points.push_back(Vec3(Real(i), 0, 0));
    if (i > 0) part.rods.push_back(Index2(i - 1, i));
  }
  part.mass = 1;
  part.pins = {{.indices = {0}}};
  return part;
}

TEST(SpringsConstraints, StabilizationKeepsAPendulumFromDrifting) {
  const auto drift = [](Stabilization stabilization, Integrator integrator) {
    Net net = test::net_of(pendulum(3));
    Springs::Params params = params_of(integrator);
    params.stabilization = stabilization;
    double worst = 0;
    for (int k = 0; k < 2000; ++k)
      worst = std::max(worst, net.step(params, Real(0.005)).value("constraint_error"));
    return worst;
  };
  // Ten seconds of a chaotic triple pendulum, links of 1 m.
  const double none = drift(Stabilization::none, Integrator::velocity_verlet);
  EXPECT_GT(none, 1e-3);
  EXPECT_LT(drift(Stabilization::baumgarte, Integrator::velocity_verlet), none / 2);
  EXPECT_LT(drift(Stabilization::projection, Integrator::velocity_verlet), 2e-6);
  EXPECT_LT(drift(Stabilization::shake, Integrator::velocity_verlet), 2e-6);
  EXPECT_LT(drift(Stabilization::shake, Integrator::symplectic_euler), 2e-6);
  EXPECT_LT(drift(Stabilization::shake, Integrator::leapfrog), 2e-6);
  EXPECT_LT(drift(Stabilization::shake, Integrator::rk4), 2e-6);
  EXPECT_LT(drift(Stabilization::none, Integrator::implicit_euler), 2e-6);
  EXPECT_LT(drift(Stabilization::none, Integrator::backward_euler), 2e-6);
}

TEST(SpringsConstraints, MinimizersTellOnceThatConstraintsMakeThemTakeALinearStep) {
  for (const auto integrator :
       {Integrator::implicit_euler, Integrator::backward_euler, Integrator::local_global})
    for (const auto kept : {Springs::Constraints::multipliers, Springs::Constraints::penalty}) {
      Net net = test::net_of(pendulum(2));
      Springs::Params params = params_of(integrator);
      params.constraints = kept;
      const bool linear =
          integrator != Integrator::implicit_euler && kept == Springs::Constraints::multipliers;
      const Report first = net.step(params, Real(1) / 60);
      ASSERT_EQ(first.warnings().size(), linear ? 1u : 0u) << names_of(integrator)[std::size_t(integrator)];
      if (linear) {
        EXPECT_NE(std::string_view(first.warnings()[0].text).find("implicit_euler"), std::string_view::npos);
      }
      EXPECT_TRUE(net.step(params, Real(1) / 60).warnings().empty());
    }
}

TEST(SpringsConstraints, ShakenSymplecticMethodsKeepTheEnergyOfAPendulum) {
  for (const auto integrator : {Integrator::symplectic_euler, Integrator::velocity_verlet}) {
    Net net = test::net_of(pendulum(1));
    const Springs::Params params = params_of(integrator);
    const double start = test::energy(net, params.gravity);
    double worst = 0;
    for (int k = 0; k < 60 * 60; ++k) {  // a minute at 60 Hz
      net.step(params, Real(1) / 60);
      worst = std::max(worst, std::abs(test::energy(net, params.gravity) - start));
    }
    // Bounded (Hairer, Lubich & Wanner 2006, IX.8): of size h omega for the first order, its square for the
    // second, of the swing's m g L = 9.81 J, with h omega = 0.05 at the highest frequency there is.
    EXPECT_LT(worst, integrator == Integrator::symplectic_euler ? 0.1 * 9.81 : 0.005 * 9.81);
  }
}

TEST(SpringsConstraints, PenaltyTendsToTheMultipliersAsItStiffens) {
  const auto end_of = [](Constraints constraints, Real stiffness) {
    Net net = test::net_of(pendulum(2));
    Springs::Params params = params_of(Integrator::rk4, constraints);
    params.penalty_stiffness = stiffness;
    for (int k = 0; k < 5000; ++k) net.step(params, Real(1e-4));
    return test::Vector(net.state.particles.x[2].cast<double>());
  };
  const test::Vector exact = end_of(Constraints::multipliers, 0);
  const double soft = (end_of(Constraints::penalty, 1e3) - exact).norm();
  const double stiff = (end_of(Constraints::penalty, 1e5) - exact).norm();
  // The stretch is tension / stiffness, first order in 1/k.
  EXPECT_LT(stiff, soft / 30);
  EXPECT_LT(stiff, 1e-2);
}

TEST(SpringsConstraints, AStiffPenaltyMakesNoEnergyOfARopeThatWhips) {
  for (const Real stiffness : {Real(1e5), Real(1e6), Real(1e7)})
    for (const int links : {20, 40}) {
      SpringsPart part;
      part.type = SpringsPart::Type::rope;
      part.segments = links;
      part.to = Vec3(2, 0, 0);
      part.inextensible = true;
      part.pins = {{.where = SpringsPin::Where::first}};
      Net net = test::net_of(part);
      const Springs::Params params{.constraints = Constraints::penalty, .penalty_stiffness = stiffness};
      for (int frame = 0; frame < 240; ++frame) {
        const Report report = net.step(params, Real(1) / 60);
        ASSERT_TRUE(report.warnings().empty()) << report.warnings()[0].text;
        double twice = 0, stretch = 0;
        for (std::size_t i = 1; i <= std::size_t(links); ++i) {
          twice += double(net.model.mass[i]) * double(net.state.particles.v[i].squaredNorm());
          const Vec3 d = net.state.particles.x[i] - net.state.particles.x[i - 1];
          stretch = std::max(stretch, std::abs(double(d.norm()) * links / 2 - 1));
        }
        // Its weight falls by half its length, and what is longer has fallen farther.
        ASSERT_LT(twice / 2, test::total_mass(net) * g) << stiffness << " " << links << " " << frame;
        // By half a radian along the tangent, sqrt(1 + 0.5^2) - 1.
        ASSERT_LT(stretch, 0.12) << stiffness << " " << links << " " << frame;
      }
    }
}

// From starts that differ by a hair, of which five in 25 got longer than that.
TEST(SpringsConstraints, ARopeThatWhipsGetsNoLongerThanATurnMakesIt) {
  SpringsPart part;
  part.type = SpringsPart::Type::rope;
  part.segments = 40;
  part.to = Vec3(2, 0, 0);
  part.inextensible = true;
  part.pins = {{.where = SpringsPin::Where::first}};
  const Springs::Params params{.constraints = Constraints::penalty, .penalty_stiffness = Real(1e7)};
  for (int start = 0; start < 25; ++start) {
    Net net = test::net_of(part);
    for (int i = 1; i <= 40; ++i)
      net.state.particles.v[std::size_t(i)].y() = Real(1e-4 * std::sin(start * 7.1 + i * (1 + start)));
    for (int frame = 0; frame < 240; ++frame) {
      ASSERT_TRUE(net.step(params, Real(1) / 60).warnings().empty());
      for (std::size_t i = 1; i <= 40; ++i)
        ASSERT_LT((net.state.particles.x[i] - net.state.particles.x[i - 1]).norm(), 1.12 * 0.05) << start;
    }
  }
}

TEST(SpringsConstraints, AnInextensibleRopeHangsAtItsLength) {
  SpringsPart part;
  part.type = SpringsPart::Type::rope;
  part.segments = 50;
  part.to = Vec3(2, 0, 0);
  part.inextensible = true;
  part.bending_stiffness = 0;
  part.pins = {{.where = SpringsPin::Where::first}};
  Net net = test::net_of(part);
  Springs::Params params;
  params.point_damping = 2;
  double worst = 0;
  for (int k = 0; k < 600; ++k) {
    net.step(params, Real(1) / 60);
    for (std::size_t i = 0; i < 50; ++i)
      worst = std::max(
          worst, std::abs(double((net.state.particles.x[i + 1] - net.state.particles.x[i]).norm()) - 0.04));
  }
  EXPECT_LT(worst, 1e-5);
  EXPECT_NEAR(double(net.state.particles.x[50][1]), -2, 1e-3);
}

TEST(Multipliers, ProjectionIsTheShortestWayInTheNormOfTheMasses) {
  // Two points of masses 1 and 3, 2 m apart, to be at 1 m: they meet at their centre of mass's ratio.
  ConstraintSet<double> set;
  set.rods = {Index2(0, 1)};
  set.rod_length = {1};
  Multipliers<double> multipliers(2, set);
  std::vector<Vector3<double>> x = {{0, 0, 0}, {2, 0, 0}};
  const std::vector<double> w = {1, 1.0 / 3};
  EXPECT_LT(multipliers.project_positions(x, w, 20), 1e-14);
  EXPECT_NEAR(x[0][0], 0.75, 1e-12);
  EXPECT_NEAR(x[1][0], 1.75, 1e-12);
  std::vector<Vector3<double>> v = {{1, 2, 0}, {-3, 4, 1}};
  multipliers.project_velocities(x, w, v);
  EXPECT_NEAR(v[1][0] - v[0][0], 0, 1e-12);
  EXPECT_NEAR(v[0][0] + 3 * v[1][0], 1 - 9, 1e-12);  // momentum
  EXPECT_EQ(v[0][1], 2);
}

TEST(Multipliers, RedundantAndImmovableConstraintsDoNoHarm) {
  ConstraintSet<double> set;
  set.rods = {Index2(0, 1), Index2(1, 2), Index2(0, 2), Index2(0, 1), Index2(3, 4)};
  set.rod_length = {1, 1, 1, 1, 5};
  Multipliers<double> multipliers(5, set);
  std::vector<Vector3<double>> x = {{0, 0, 0}, {1.1, 0, 0}, {0.4, 1, 0}, {0, 0, 5}, {0, 0, 6}};
  const std::vector<double> w = {1, 1, 1, 0, 0};  // the last two cannot move, and are 4 m too near
  multipliers.project_positions(x, w, 20);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR((x[i] - x[(i + 1) % 3]).norm(), 1, 1e-9);
  EXPECT_EQ(x[4], (Vector3<double>(0, 0, 6)));
}

}}  // namespace plenum
