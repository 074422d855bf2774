// Hinges and universal joints over turns, and the limits of universal joints.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "plenum/world/world.h"
#include "rigid/joints.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using detail::JointPose;
using rigid::AxisSpec;
using rigid::Drive;
using rigid::JointSpec;
using rigid::JointType;
using test::D3;
using test::within;
using validation::RigidScene;
constexpr double in_degrees = std::numbers::pi / 180;

/// A disc of 0.2 m about z, on a hinge through its middle.
Rigid::Spec wheel(const AxisSpec& motion) {
  rigid::BodySpec disc;
  disc.shapes[0].shape = rigid::Form::cylinder;
  disc.shapes[0].radius = Real(0.2), disc.shapes[0].half_height = Real(0.05);
  disc.rotation = Vec3(90, 0, 0);
  JointSpec hinge = test::joint(JointType::hinge, "", "0", Vec3::Zero(), Vec3::UnitZ());
  hinge.motion = motion;
  return {.bodies = {disc}, .joints = {hinge}};
}
constexpr double wheel_moment = 1000 * std::numbers::pi * 0.04 * 0.1 * 0.04 / 2;

/// [rad] by which a body has turned about z, added up from step to step.
class Turning {
 public:
  explicit Turning(const RigidScene& scene) : scene_(scene), last_(now()) {}
  double add() {
    const double next = now();
    sum_ += std::remainder(next - last_, 2 * std::numbers::pi);
    last_ = next;
    return sum_;
  }

 private:
  double now() const {
    const D3 x = scene_.state.frames.rotation(0).cast<double>() * D3::UnitX();
    return std::atan2(x.y(), x.x());
  }
  const RigidScene& scene_;
  double last_, sum_ = 0;
};

TEST(RigidJointTurns, AMotorTurnsAHingeToItsLimitAfterTurns) {
  for (const double sign : {1.0, -1.0}) {
    AxisSpec motor = within(-1000, 1000);
    motor.drive = Drive::velocity, motor.speed = Real(20 * sign), motor.strength = 50;
    RigidScene scene(wheel(motor));
    Turning turning(scene);
    double angle = 0;
    for (int k = 0; k < 120; ++k) {
      scene.step();
      angle = turning.add();
      ASSERT_LE(std::abs(angle), 1000 * in_degrees + 1e-4) << k;
      ASSERT_NEAR(scene.state.joints.turn[0][1], angle, 1e-4) << k;
    }
    EXPECT_NEAR(angle, sign * 1000 * in_degrees, 1e-4);
    // And back, all the turns.
    scene.model.joints[0].axes[5].speed = Real(-20 * sign);
    for (int k = 0; k < 240; ++k) scene.step(), angle = turning.add();
    EXPECT_NEAR(angle, -sign * 1000 * in_degrees, 1e-4);
  }
}

TEST(RigidJointTurns, ASpringOfManyTurnsHasItsPeriod) {
  AxisSpec spring;
  const double omega = std::numbers::pi, target = 1000 * in_degrees;
  spring.drive = Drive::spring, spring.target = 1000, spring.stiffness = Real(wheel_moment * omega * omega);
  RigidScene scene(wheel(spring));
  Turning turning(scene);
  std::vector<double> times;
  double before = -target;
  for (int k = 1; k <= 600; ++k) {
    scene.step();
    const double now = turning.add() - target;
    if ((before < 0) != (now < 0)) times.push_back((k - 1 + before / (before - now)) / 60);
    before = now;
  }
  ASSERT_GE(times.size(), 9u);
  // Implicit Euler's roots are 1 / (1 -+ i w h): they turn by atan(w h), (w h)^2 / 3 slower, 1.4e-5; between
  // steps of 1/60 s the sine is straight to (w dt)^2 / 6 of the step.
  const double period = (times[8] - times[0]) / 4;
  EXPECT_NEAR(period, 2 * std::numbers::pi / omega, 1e-4);
}

TEST(RigidJointTurns, APositionMotorOfThreeTurnsStopsThere) {
  AxisSpec motor;
  const double omega = 10;
  motor.drive = Drive::spring, motor.target = -1080, motor.strength = 20;
  motor.stiffness = Real(wheel_moment * omega * omega), motor.damping = Real(2 * wheel_moment * omega);
  RigidScene scene(wheel(motor));
  Turning turning(scene);
  double angle = 0;
  for (int k = 0; k < 300; ++k) scene.step(), angle = turning.add();
  EXPECT_NEAR(angle, -1080 * in_degrees, 1e-4);
  EXPECT_LT(scene.state.frames.w[0].norm(), 1e-4);
}

TEST(RigidJointTurns, AMotorHoldsALoadAtALimitAndASpringLeavesIt) {
  // Weight draws the arm from the upper limit, a motor pushes it there with twice as much.
  AxisSpec motor = within(-90, 30);
  motor.drive = Drive::velocity, motor.speed = 2, motor.strength = 98;
  RigidScene scene = test::arm(motor);
  for (int k = 0; k < 120; ++k) scene.step();
  const auto angle = [&] { return double(scene.state.joints.turn[0][1]); };
  EXPECT_NEAR(angle(), 30 * in_degrees, 1e-4);
  const double torque = 10 * 9.81 * 0.5 * std::cos(30 * in_degrees);
  EXPECT_NEAR(scene.state.joints.torque[0].z(), torque, 1e-3 * torque);
  // A spring from beyond the limit holds it there; then draws it off as its target comes within.
  Rigid::JointAxis& axis = scene.model.joints[0].axes[5];
  axis.drive = Drive::spring, axis.stiffness = 1000, axis.damping = 100, axis.target = 1;
  for (int k = 0; k < 30; ++k) scene.step();
  EXPECT_NEAR(angle(), 30 * in_degrees, 1e-4);
  axis.target = 0;
  scene.params.gravity.setZero();
  for (int k = 0; k < 240; ++k) scene.step();
  EXPECT_NEAR(angle(), 0, 1e-4);
}

TEST(RigidJointTurns, AreKeptWhereTheyTurnByMoreThanHalfATurnInAStep) {
  AxisSpec wide = within(-10000, 10000);
  RigidScene scene(wheel(wide));
  scene.params.substeps = 1;
  scene.state.frames.w[0] = Vec3(0, 0, 250);  // 4.2 radians in a step
  for (int k = 1; k <= 30; ++k) {
    scene.step();
    ASSERT_NEAR(scene.state.joints.turn[0][1], 250.0 * k / 60, 0.01) << k;
  }
}

std::unique_ptr<World> wheel_world() {
  AxisSpec motor = within(-1000, 1000);
  motor.drive = Drive::velocity, motor.speed = 20, motor.strength = 50;
  auto world = std::make_unique<World>(WorldSettings{});
  Rigid::Model model;
  Rigid::State state;
  Rigid::build(wheel(motor), model, state);
  world->add<Rigid>("wheel", std::move(model), std::move(state), Rigid::Params{});
  return world;
}

TEST(RigidJointTurns, AreRestored) {
  const auto straight = wheel_world(), saved = wheel_world(), restored = wheel_world();
  const auto angle = [](World& world) {
    return dynamic_cast<SystemOf<Rigid>&>(world.system(0)).state.joints.turn[0][1];
  };
  for (int k = 0; k < 45; ++k) straight->step_frame(), saved->step_frame();
  EXPECT_GT(angle(*saved), 4 * std::numbers::pi);
  restored->restore(saved->snapshot());
  for (int k = 0; k < 40; ++k) straight->step_frame(), restored->step_frame();
  EXPECT_EQ(restored->hash(), straight->hash());
  EXPECT_NEAR(angle(*restored), 1000 * in_degrees, 1e-4);
}

JointSpec cross(const AxisSpec& turn_x, const AxisSpec& turn_y) {
  JointSpec spec = test::joint(JointType::universal, "", "0", Vec3::Zero(), Vec3::UnitX());
  spec.turn_x = turn_x, spec.turn_y = turn_y;
  return spec;
}
RigidScene rod_on_cross(const AxisSpec& turn_x, const AxisSpec& turn_y) {
  return RigidScene(
      {.bodies = {validation::box(Vec3(Real(0.05), Real(0.05), Real(0.5)), Vec3(0, 0, Real(0.5)))},
       .joints = {cross(turn_x, turn_y)}});
}

TEST(RigidJointTurns, AUniversalJointKnowsItsAnglesAllTheWayRound) {
  const RigidScene scene = rod_on_cross(within(-50, 50), within(-50, 50));
  for (const double a : {-170.0, -95.0, 0.0, 30.0, 120.0})
    for (const double b : {-150.0, -90.0, 0.0, 45.0, 100.0}) {
      JointPose pose = test::joint_pose(scene, 0);
      pose.q = (Eigen::AngleAxisd(a * in_degrees, D3::UnitX()) *
                Eigen::AngleAxisd(b * in_degrees, D3::UnitY()) * pose.q)
                   .normalized();
      double value[6];
      detail::joint_values(scene.model.joints[0], JointPose{}, pose, value);
      EXPECT_NEAR(value[3], 0, 1e-6);
      EXPECT_NEAR(value[4], a * in_degrees, 1e-6);
      EXPECT_NEAR(value[5], b * in_degrees, 1e-6);
    }
}

TEST(RigidJointTurns, AUniversalJointStopsAtItsLimitsAndBearsTheWeightThere) {
  for (const bool about_y : {false, true}) {
    RigidScene scene = about_y ? rod_on_cross(within(-60, 60), within(-20, 35))
                               : rod_on_cross(within(-20, 35), within(-60, 60));
    scene.params.gravity = about_y ? Vec3(Real(9.81), 0, 0) : Vec3(0, Real(-9.81), 0);
    double most = 0;
    for (int k = 0; k < 120; ++k) {
      scene.step();
      const D3 z = scene.state.frames.rotation(0).cast<double>() * D3::UnitZ();
      most = std::max(most, std::acos(std::clamp(z.z(), -1.0, 1.0)));
    }
    EXPECT_NEAR(most, 35 * in_degrees, 1e-4);
    const D3 z = scene.state.frames.rotation(0).cast<double>() * D3::UnitZ();
    EXPECT_NEAR(std::acos(z.z()), 35 * in_degrees, 1e-4);
    const double torque = 10 * 9.81 * 0.5 * std::cos(35 * in_degrees);
    EXPECT_NEAR(scene.state.joints.torque[0].norm(), torque, 1e-3 * torque);
  }
}

TEST(RigidJointTurns, AThrownUniversalJointStaysWithinBothLimits) {
  RigidScene scene = rod_on_cross(within(-30, 30), within(-20, 40));
  scene.state.frames.w[0] = Vec3(9, -7, 0);
  scene.state.frames.v[0] = scene.state.frames.w[0].cross(scene.state.frames.x[0]);
  for (int k = 0; k < 240; ++k) {
    scene.step();
    double value[6];
    detail::joint_values(scene.model.joints[0], JointPose{}, test::joint_pose(scene, 0), value);
    ASSERT_LT(std::abs(value[3]), 1e-4) << k;
    ASSERT_LT(std::abs(value[4]), 30.1 * in_degrees) << k;
    ASSERT_GT(value[5], -20.1 * in_degrees) << k;
    ASSERT_LT(value[5], 40.1 * in_degrees) << k;
  }
}

TEST(RigidJointTurns, AMotorTurnsAUniversalJointOverTurns) {
  AxisSpec motor = within(-1000, 500), held;
  held.mode = rigid::AxisMode::locked;
  motor.drive = Drive::velocity, motor.speed = 15, motor.strength = 500;
  for (const bool about_y : {false, true}) {
    RigidScene scene = about_y ? rod_on_cross(held, motor) : rod_on_cross(motor, held);
    scene.params.gravity.setZero();
    for (int k = 0; k < 90; ++k) scene.step();
    EXPECT_NEAR(scene.state.joints.turn[0][about_y], 500 * in_degrees, 1e-4);
    EXPECT_NEAR(scene.state.joints.turn[0][!about_y], 0, 1e-4);
    const D3 z = scene.state.frames.rotation(0).cast<double>() * D3::UnitZ();
    EXPECT_NEAR(z.z(), std::cos(500 * in_degrees), 1e-4);
  }
}

}}  // namespace plenum::<anonymous>
