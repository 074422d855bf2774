// Stiff nets turn as rigid bodies do, in steps as long as a frame.
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/geometry/shapes.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/springs/springs.h"
#include "plenum/world/world.h"
#include "support/constants.h"

namespace plenum { namespace {

using Vector = Vector3<double>;
using plenum_test::gravity;
constexpr double h = 1.0 / 30;

struct TurningNet {
  Springs::Model model;
  Springs::State state;
  Springs::Workspace workspace;
  explicit TurningNet(const SpringsPart& part) { Springs::build({.parts = {part}}, model, state); }
  Report step(const Springs::Params& params) {
    return Springs::step(model, state, params, workspace, static_cast<Real>(h));
  }
  double mass(std::size_t i) const { return double(model.mass[i]); }
  Vector x(std::size_t i) const { return state.particles.x[i].cast<double>(); }
  Vector v(std::size_t i) const { return state.particles.v[i].cast<double>(); }
  std::size_t size() const { return model.mass.size(); }
  double kinetic_energy() const {
    double sum = 0;
    for (std::size_t i = 0; i < size(); ++i)
      if (state.particles.inverse_mass[i] > 0) sum += 0.5 * mass(i) * v(i).squaredNorm();
    return sum;
  }
  /// About the origin.
  Vector angular_momentum() const {
    Vector sum = Vector::Zero();
    for (std::size_t i = 0; i < size(); ++i) sum += mass(i) * x(i).cross(v(i));
    return sum;
  }
  double strain() const {
    double most = 0;
    for (std::size_t e = 0; e < model.edges.size(); ++e)
      most = std::max(most, std::abs(double(Springs::strain(model, state, e))));
    return most;
  }
};

/// A box of springs, 0.9 m long and 0.3 m thick, from the origin along x.
SpringsPart bar(double stiffness) {
  SpringsPart part;
  part.type = SpringsPart::Type::soft_body;
  part.mesh = box_mesh(Vec3(Real(0.45), Real(0.15), Real(0.15)));
  part.spacing = Real(0.1);
  part.structural_stiffness = Real(stiffness);
  part.position = Vec3(Real(0.45), 0, 0);
  return part;
}

// Released level, a cloth that hangs from one corner never goes faster than its fall gives it, however stiff.
TEST(Turning, WhatHangsFromACornerNeverGainsEnergy) {
  struct Case {
    int cells;
    double stiffness, fps;
  };
  for (const Case& c : {Case{2, 1e6, 60}, Case{2, 1e6, 240}, Case{4, 1e5, 30}, Case{4, 1e6, 30},
                        Case{4, 1e7, 30}, Case{4, 1e7, 60}}) {
    SpringsPart part;
    part.cells_x = part.cells_z = c.cells;
    part.areal_density = Real(0.2);
    part.structural_stiffness = part.shear_stiffness = Real(c.stiffness);
    part.bending_stiffness = 1000;
    part.pins = {{.where = SpringsPin::Where::back_left}};
    TurningNet net(part);
    Springs::Params params;
    params.air_density = 0;
    const auto weight = [&] {
      double sum = 0;
      for (std::size_t i = 0; i < net.size(); ++i) sum += net.mass(i) * gravity * net.x(i).y();
      return sum;
    };
    const double before = weight(), whole = 0.2 * gravity * std::sqrt(0.5);  // what all of the fall is worth
    for (int step = 0; step < int(10 * c.fps); ++step) {
      Springs::step(net.model, net.state, params, net.workspace, Real(1 / c.fps));
      // Implicit steps begin with half a step's fall too much.
      ASSERT_LT(net.kinetic_energy() + weight() - before, 0.02 * whole)
          << c.cells << ' ' << c.stiffness << ' ' << c.fps << ' ' << step;
    }
  }
}

TEST(SlowTurning, ABarHungAtAnEdgeSwingsAsAPhysicalPendulumHoweverStiff) {
  // From level, its energy is m g (fall of its centre of mass) = I w^2 / 2 about the edge. Torque and turn
  // are those of symplectic Euler, whose energy is off by h/2 (torque w), and back at both ends of the swing
  // (Hairer, Lubich & Wanner 2006, Geometric numerical integration, IX.1).
  for (const double stiffness : {1e5, 1e6, 1e7}) {
    SpringsPart part = bar(stiffness);
    const Real edge = Real(-0.15), near = Real(0.01);
    part.pins = {{.where = SpringsPin::Where::box,
                  .box_min = Vec3(-near, edge - near, -1),
                  .box_max = Vec3(near, edge + near, 1)}};
    TurningNet net(part);
    const Vector hinge(0, double(edge), 0);
    double inertia = 0, mass = 0, energy = 0, highest = 0, fastest = 0;
    Vector centre = Vector::Zero();
    for (std::size_t i = 0; i < net.size(); ++i) {
      const Vector r = net.x(i) - hinge;
      inertia += net.mass(i) * (r.x() * r.x() + r.y() * r.y());
      mass += net.mass(i);
      centre += net.mass(i) * r;
    }
    centre /= mass;
    const double reach = std::hypot(centre.x(), centre.y());
    const double due = mass * gravity * (centre.y() + reach);  // hanging below the edge
    const double wiggle = h / 2 * mass * gravity * reach * std::sqrt(2 * due / inertia);
    // Half a minute: what one swing gains many would add up.
    for (int k = 0; k < 900; ++k) {
      if (k == 840) fastest = 0;
      net.step({.air_density = 0});
      energy = net.kinetic_energy();
      fastest = std::max(fastest, energy);
      Vector now = Vector::Zero();
      for (std::size_t i = 0; i < net.size(); ++i) now += net.mass(i) * (net.x(i) - hinge);
      highest = std::max(highest, energy + mass * gravity * (now.y() / mass - centre.y()));
    }
    // A first-order method with steps of 0.2 of a radian: a hundredth of the swing is left to each of the 20.
    EXPECT_NEAR(fastest, due, wiggle + 0.2 * due) << stiffness;
    EXPECT_LT(highest, wiggle) << stiffness;
    EXPECT_LT(net.strain(), 0.02) << stiffness;
  }
}

TEST(Turning, AFreeBodyKeepsItsSpinAndSize) {
  // About the axis of least inertia, of most, and about one between, where it tumbles (Landau & Lifshitz,
  // Mechanics, section 37). In the frame of the body it rests, but for the centrifugal force.
  for (const double stiffness : {1e4, 1e6})
    for (const Vector& spin : {Vector(6, 0, 0), Vector(0, 6, 0), Vector(1, 2, 5)}) {
      TurningNet net(bar(stiffness));
      Vector centre = Vector::Zero();
      double mass = 0;
      for (std::size_t i = 0; i < net.size(); ++i) {
        centre += net.mass(i) * net.x(i);
        mass += net.mass(i);
      }
      centre /= mass;
      for (std::size_t i = 0; i < net.size(); ++i) {
        net.state.particles.x[i] -= centre.cast<Real>();
        net.state.particles.v[i] = spin.cross(net.x(i)).cast<Real>();
      }
      const double energy = net.kinetic_energy();
      const Vector momentum = net.angular_momentum();
      for (int k = 0; k < 90; ++k) net.step({.gravity = Vec3::Zero(), .air_density = 0});
      // What it stretches by takes m (w R)^2 / k of it, less than 1 %; the rest is the linear solve's
      // thousandth of centrifugal forces.
      EXPECT_NEAR(net.kinetic_energy(), energy, 0.03 * energy) << stiffness << " " << spin.transpose();
      EXPECT_LT((net.angular_momentum() - momentum).norm(), 1e-3 * momentum.norm()) << stiffness;
      EXPECT_LT(net.strain(), 0.02) << stiffness;
    }
}

/// Two masses on a spring 1 m long at rest, which spin [rad/s] about its middle at the length [m] at which
/// they stay: k (l - l0) = m w^2 l / 2.
struct SpinningPair : TurningNet {
  double length;
  SpinningPair(double mass, double stiffness, double spin)
      : SpinningPair(mass, stiffness, spin, 1 / (1 - mass * spin * spin / (2 * stiffness))) {}

 private:
  SpinningPair(double mass, double stiffness, double spin, double l)
      : TurningNet(at_rest(mass, stiffness, l)), length(l) {
    for (const int side : {0, 1})
      state.particles.v[std::size_t(side)] = Vec3(0, Real((2 * side - 1) * spin * l / 2), 0);
  }
  static SpringsPart at_rest(double mass, double stiffness, double l) {
    SpringsPart part;
    part.type = SpringsPart::Type::points;
    part.points = {Vec3(Real(-l / 2), 0, 0), Vec3(Real(l / 2), 0, 0)};
    part.springs = {Index2(0, 1)};
    part.rest_lengths = {Real(1)};
    part.mass = Real(mass);
    part.structural_stiffness = Real(stiffness);
    return part;
  }
};

TEST(Turning, WhatSpinsIsStretchedByTheCentrifugalForce) {
  constexpr double mass = 0.5;
  SpinningPair net(mass, 500, 10);
  ASSERT_NEAR(net.mass(0), mass, 1e-6);
  const Vector momentum = net.angular_momentum();
  for (int k = 0; k < 150; ++k) {
    net.step({.gravity = Vec3::Zero(), .air_density = 0, .tolerance = Real(1e-6)});
    EXPECT_NEAR((net.x(1) - net.x(0)).norm(), net.length, 0.01 * net.length) << k;
  }
  EXPECT_NEAR(net.angular_momentum().z(), momentum.z(), 1e-4 * momentum.z());
}

TEST(Turning, WhatAnEighthOfTheStepDoesNotAnswerForIsTold) {
  // Frames turn by at most a quarter of a radian in a part, and have no share of what turns twice as far.
  for (const double turn : {0.2, 1.2}) {
    SpringsPart part;
    part.type = SpringsPart::Type::points;
    part.points = {Vec3(-1, 0, 0), Vec3(1, 0, 0)};
    part.springs = {Index2(0, 1)};
    part.structural_stiffness = Real(1e6);
    TurningNet net(part);
    const double spin = turn / (h / 8);
    for (const int side : {0, 1})
      net.state.particles.v[std::size_t(side)] = Vec3(0, Real((2 * side - 1) * spin), 0);
    const Report report = net.step({.gravity = Vec3::Zero(), .air_density = 0});
    EXPECT_EQ(report.warnings().size(), turn > 1 ? 1U : 0U) << turn;
    for (const Report::Warning& warning : report.warnings())
      EXPECT_NE(std::string_view(warning.text).find("turn too fast for the step"), std::string_view::npos);
  }
}

TEST(Turning, WhatSpinsSlowlyIsStretchedByTheCentrifugalForceHoweverShortTheStep) {
  for (const double step : {1.0 / 30, 1.0 / 1000, 1.0 / 4000}) {
    SpinningPair net(0.5, 4, 0.5);
    for (double time = 0; time < 6; time += step) {
      Springs::step(net.model, net.state,
                    {.gravity = Vec3::Zero(), .air_density = 0, .tolerance = Real(1e-6)}, net.workspace,
                    Real(step));
      // A thirtieth of the stretch.
      ASSERT_NEAR((net.x(1) - net.x(0)).norm(), net.length, (net.length - 1) / 30) << step;
    }
  }
}

TEST(Turning, WhatIsStruckBesideItsPinsGainsNoEnergy) {
  // A string of two links whose middle is hardly off the line of its pins, and would turn about that by many
  // radians in any step.
  for (const double off : {1e-7, 1e-5, 1e-3}) {
    SpringsPart part;
    part.type = SpringsPart::Type::points;
    part.points = {Vec3(0, 0, 0), Vec3(Real(0.5), Real(off), 0), Vec3(1, 0, 0)};
    part.springs = {Index2(0, 1), Index2(1, 2)};
    part.mass = Real(0.1);
    part.structural_stiffness = 100;
    part.pins = {{.where = SpringsPin::Where::indices, .indices = {0, 2}}};
    TurningNet net(part);
    net.state.particles.v[1] = Vec3(0, 0, 1);
    const double struck = net.kinetic_energy();
    for (int k = 0; k < 60; ++k) {
      net.step({.gravity = Vec3::Zero(), .air_density = 0});
      ASSERT_LE(net.kinetic_energy(), struck) << off << " " << k;
    }
  }
}

TEST(Turning, AWheelThatSpinsAboveTheFloorDoesNotTouchIt) {
  constexpr int rim = 60;
  constexpr double radius = 0.5, spin = 10, thickness = 0.01, gap = 1e-3;
  for (const double stiffness : {1e4, 1e6})
    for (const Real fps : {30, 60}) {
      SpringsPart part;
      part.type = SpringsPart::Type::points;
      part.points = {Vec3(0, 0, Real(-0.2)), Vec3(0, 0, Real(0.2))};
      part.springs = {Index2(0, 1)};
      for (int i = 0; i < rim; ++i) {
        const double angle = 2 * std::numbers::pi * i / rim;
        part.points.push_back(Vec3(Real(radius * std::cos(angle)), Real(radius * std::sin(angle)), 0));
        for (const int to : {0, 1, 2 + (i + 1) % rim}) part.springs.push_back(Index2(to, 2 + i));
      }
      part.mass = Real(0.02);
      part.structural_stiffness = Real(stiffness);
      part.position = Vec3(0, Real(radius + thickness + gap), 0);
      World world({.fps = fps});
      Obstacle::Model floor;
      Obstacle::State floor_state;
      Obstacle::build({.parts = {{.shape = Obstacle::Kind::plane}}}, floor, floor_state);
      world.add<Obstacle>("floor", std::move(floor), std::move(floor_state), {});
      Springs::Model model;
      Springs::State state;
      Springs::build({.parts = {part}}, model, state);
      auto& net = world.add<Springs>(
          "net", std::move(model), std::move(state),
          {.gravity = Vec3::Zero(), .air_density = 0, .thickness = Real(thickness), .friction = Real(0.5)});
      auto& particles = net.state.particles;
      for (std::size_t i = 0; i < particles.size(); ++i)
        particles.v[i] = Vec3(0, 0, Real(-spin)).cross(particles.x[i] - part.position);
      for (int k = 0; k < 30; ++k) ASSERT_TRUE(world.step_frame().ok);
      Vector momentum = Vector::Zero();
      double mass = 0;
      for (std::size_t i = 0; i < particles.size(); ++i) {
        mass += double(net.model.mass[i]);
        momentum += double(net.model.mass[i]) * particles.v[i].cast<double>();
      }
      // Of the speed of its rim, what rounding leaves.
      EXPECT_LT(momentum.norm() / mass, 1e-4 * spin * radius) << stiffness << " " << fps;
    }
}

TEST(Turning, ASheetHungAtAnEdgeFallsAsFastHoweverStiff) {
  // A rigid plate of length L would pass below its hinge at sqrt(3 g L) at the far edge; one that bends is no
  // faster than what falls freely from L, sqrt(2 g L), but for its whip. Half of the first is asked.
  for (const double stiffness : {1e4, 1e5, 1e6, 1e7}) {
    SpringsPart part;
    part.type = SpringsPart::Type::cloth;
    part.size_x = part.size_z = 1;
    part.cells_x = part.cells_z = 10;
    part.structural_stiffness = part.shear_stiffness = Real(stiffness);
    part.bending_stiffness = Real(stiffness / 100);
    part.pins = {{.where = SpringsPin::Where::left}};
    TurningNet net(part);
    double fastest = 0;
    for (int k = 0; k < 60; ++k) {
      net.step({.air_density = 0});
      for (std::size_t i = 0; i < net.size(); ++i) fastest = std::max(fastest, net.v(i).norm());
    }
    EXPECT_GT(fastest, 0.5 * std::sqrt(3 * gravity)) << stiffness;
    EXPECT_LT(fastest, 2 * std::sqrt(3 * gravity)) << stiffness;
  }
}

}}  // namespace plenum
