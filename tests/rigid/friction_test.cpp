// Friction that depends on the direction, or on whether a body rests.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "../../validation/rigid_scenes.h"

namespace plenum { namespace {

using rigid::BodySpec;
using validation::RigidScene;

constexpr double g = 9.81;

/// A flat box on a floor, whose gravity pulls it along the floor: a slope.
struct Slope {
  RigidScene scene;
  Slope(BodySpec box, double tan_angle, double heading) : scene({.bodies = {validation::floor_box(), box}}) {
    const double down = g / std::hypot(1, tan_angle), along = down * tan_angle;
    scene.params.gravity =
        Vec3(Real(along * std::cos(heading)), Real(-down), Real(along * std::sin(heading)));
  }
  Vec3 velocity(double seconds) {
    for (int k = 0; k < int(std::lround(60 * seconds)); ++k) scene.step();
    return scene.state.frames.v[1];
  }
};
BodySpec slab(double friction) {
  BodySpec body = validation::box(Vec3(Real(0.5), Real(0.05), Real(0.5)), Vec3(0, Real(0.05), 0));
  body.friction = Real(friction * friction / 0.5);  // so that with the floor's 0.5 the mean is this
  return body;
}

// A capsule that lies along x is thrown along (1, 0, 1) and slides while it begins to roll: friction acts
// against the slip of the surface, (v_x, v_z - w r) by v_x' = -mu g s_x, (v_z - w r)' = -(1 + m r^2/I) mu g
// s_z, s being the unit vector of the slip.
TEST(RigidFriction, IsOpposedToTheSlipOfWhatAlsoRolls) {
  const double mu = 0.2, r = 0.1, length = 2;
  BodySpec body = validation::box(Vec3::Ones(), Vec3(0, Real(r), 0));
  body.shapes[0].shape = rigid::Form::capsule, body.shapes[0].radius = Real(r);
  body.shapes[0].half_height = Real(length / 2), body.rotation = Vec3(0, 0, 90);
  body.velocity = Vec3(3, 0, 3);
  body.friction = Real(mu * mu / 0.5);
  RigidScene scene({.bodies = {validation::floor_box(), body}});
  const double m = 1 / double(scene.state.frames.inverse_mass[1]);
  const double inertia = double(scene.model.inertia[1].minCoeff());
  double slip_x = 3, slip_z = 3, vz = 3;
  constexpr int parts = 100;
  for (int step = 0; step < 60; ++step) {
    for (int k = 0; k < parts; ++k) {
      // The midpoint rule.
      const double h = 1 / (60.0 * parts), gain = 1 + m * r * r / inertia;
      const auto rates = [&](double x, double z) {
        const double rate = -mu * g / std::hypot(x, z);
        return std::pair(rate * x, rate * z);
      };
      const auto [x1, z1] = rates(slip_x, slip_z);
      const auto [x2, z2] = rates(slip_x + h / 2 * x1, slip_z + h / 2 * gain * z1);
      slip_x += h * x2, slip_z += h * gain * z2, vz += h * z2;
    }
    scene.step();
    // To first order in the sub-step, of 2 ms.
    const double t = (step + 1) / 60.0, bound = mu * g * (0.01 * t + 1.0 / 480);
    EXPECT_NEAR(scene.state.frames.v[1].x(), slip_x, bound) << t;
    EXPECT_NEAR(scene.state.frames.v[1].z(), vz, bound) << t;
  }
}

TEST(RigidFriction, AcrossTheAxisIsAnother) {
  // Down the slope along the axis, and across it: a = g (sin - mu cos).
  for (const double heading : {0.0, std::numbers::pi / 2}) {
    BodySpec body = slab(0.6);
    body.friction_axis = Vec3::UnitX();
    body.friction_across = body.friction / 9;  // the mean with the floor is a third
    const double mu = heading > 0 ? 0.2 : 0.6, slope = 0.8;
    const double a = g * (slope - mu) / std::hypot(1, slope);
    const Vec3 v = Slope(body, slope, heading).velocity(1);
    EXPECT_NEAR(v.norm(), a, 0.01 * a) << heading;
  }
  // On a slope that only the axis holds it rests there, and slides in the other direction.
  for (const double heading : {0.0, std::numbers::pi / 2}) {
    BodySpec body = slab(0.6);
    body.friction_axis = Vec3::UnitX();
    body.friction_across = body.friction / 9;
    const Vec3 v = Slope(body, 0.4, heading).velocity(1);
    EXPECT_EQ(v.norm() > 0.5, heading > 0);
  }
}

TEST(RigidFriction, ThatIsAlongAnAxisAloneStopsHeavyBodiesToo) {
  // A block of 27 t on runners: friction along the axis brakes it, and across there is none.
  for (const bool along : {true, false}) {
    BodySpec body = validation::box(Vec3::Constant(Real(1.5)), Vec3(0, Real(1.5), 0));
    body.friction = Real(0.5), body.friction_axis = Vec3::UnitX(), body.friction_across = 0;
    body.velocity = along ? Vec3(4, 0, 0) : Vec3(0, 0, 4);
    RigidScene scene({.bodies = {validation::floor_box(), body}});
    for (int k = 0; k < 30; ++k) scene.step();
    EXPECT_NEAR(scene.state.frames.v[1].norm(), along ? 4 - 0.5 * g * 0.5 : 4, 0.01) << along;
  }
}

TEST(RigidFriction, SlipIsNormalToTheEllipse) {
  // Between the axes, the force (cos, sin of t times mu1, mu2) goes with slip along (cos t / mu1, sin t /
  // mu2): maximum dissipation. Drawn at a constant speed, 45 degrees from the axis, as a conveyor does.
  BodySpec body = slab(0.6);
  body.friction_axis = Vec3::UnitX();
  body.friction_across = body.friction / 4;  // 0.6 and 0.3
  body.velocity = Vec3(1, 0, 1);
  RigidScene scene({.bodies = {validation::floor_box(), body}});
  scene.step();
  const Vec3 change = scene.state.frames.v[1] - body.velocity;
  // slip (1, 1): tan t = mu2 / mu1, force (mu1 cos t, mu2 sin t) = (mu1^2, mu2^2) / |(mu1, mu2)|.
  const double norm = std::hypot(0.6, 0.3);
  EXPECT_NEAR(change.x(), -g / 60 * 0.36 / norm, 0.02 * g / 60);
  EXPECT_NEAR(change.z(), -g / 60 * 0.09 / norm, 0.02 * g / 60);
}

TEST(RigidFriction, OfRestIsMoreThanOfSliding) {
  BodySpec body = slab(0.3);
  body.static_friction = body.friction * 4;  // 0.6 with a floor whose own is twice its 0.5
  BodySpec floor = validation::floor_box();
  floor.static_friction = Real(0.5);
  const auto run = [&](double slope, double push) {
    Slope s(body, slope, 0);
    s.scene.state.frames.v[1] = Vec3(Real(push), 0, 0);
    return double(s.velocity(1).x());
  };
  EXPECT_LT(std::abs(run(0.55, 0)), 1e-3);  // rests: 0.55 < 0.6
  EXPECT_GT(run(0.65, 0), 0.5);             // does not
  // Set going it slides on with the other one.
  const double a = g * (0.55 - 0.3) / std::hypot(1, 0.55);
  EXPECT_NEAR(run(0.55, 1), 1 + a, 0.02);
}

}  // namespace
}  // namespace plenum
