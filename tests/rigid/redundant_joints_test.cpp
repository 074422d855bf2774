// Joints that hold a body in more ways than it can move: least forces, whatever rounding or an assembly that
// does not quite fit makes of their errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "../../validation/rigid_scenes.h"
#include "rigid/joints.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::JointSpec;
using rigid::JointType;
using test::D3;
using validation::RigidScene;

constexpr double gravity = 9.81;

Quat turned_by(double degrees, const Vec3& axis) {
  return Quat(Eigen::AngleAxis<Real>(Real(degrees * std::numbers::pi / 180), axis));
}
double weight(const RigidScene& scene) {
  return gravity / double(scene.state.frames.inverse_mass[0]);
}

// By symmetry each of two joints at the ends of a beam carries half of it. Along it both lock the distance of
// the ends, which rounding makes wrong by 1e-7: over the square of a sub-step 1e5 N and more.
TEST(RigidRedundantJoints, ShareABeamEvenly) {
  for (const JointType type :
       {JointType::ball, JointType::hinge, JointType::slider, JointType::fixed, JointType::universal})
    for (const double yaw : {0., 5., 37., 90.}) {
      const Quat q = turned_by(yaw, Vec3::UnitY());
      rigid::BodySpec beam = validation::box(Vec3(1, Real(0.05), Real(0.1)), Vec3(0, 2, 0));
      beam.rotation = Vec3(0, Real(yaw), 0);
      rigid::Spec spec{.bodies = {beam}};
      for (const double x : {-0.9, 0.9}) {
        JointSpec joint =
            test::joint(type, "", "0", Vec3(0, 2, 0) + q * Vec3(Real(x), 0, 0), q * Vec3::UnitX());
        joint.second_axis = q * Vec3::UnitZ();
        spec.joints.push_back(joint);
      }
      RigidScene scene(spec);
      const double half = weight(scene) / 2;
      for (int k = 0; k < 120; ++k) {
        scene.step();
        for (std::size_t j = 0; j < 2; ++j) {
          // A sub-step's forces are those of errors of 1e-7 m and 1e-7 rad at 480 Hz, 2 kg m^2: 0.1 N m.
          const D3 force = scene.state.joints.force[j].cast<double>();
          ASSERT_LT((force - D3(0, half, 0)).norm(), 0.01 * half) << int(type) << ' ' << yaw << ' ' << k;
          ASSERT_LT(scene.state.joints.torque[j].norm(), 1) << int(type) << ' ' << yaw << ' ' << k;
        }
      }
    }
}

rigid::Spec door(JointType type, double yaw, double break_force) {
  const Quat q = turned_by(yaw, Vec3::UnitY());
  const Vec3 post(Real(0.3), 1, Real(-0.2));
  rigid::BodySpec panel = validation::box(Vec3(Real(0.4), 1, Real(0.02)), post + q * Vec3(Real(0.4), 0, 0));
  panel.rotation = Vec3(0, Real(yaw), 0), panel.density = 500;
  rigid::Spec spec{.bodies = {panel}};
  for (const double y : {-0.7, 0.7}) {
    JointSpec joint = test::joint(type, "", "0", post + Vec3(0, Real(y), 0), Vec3::UnitY());
    joint.break_force = Real(break_force);
    spec.joints.push_back(joint);
  }
  return spec;
}

// A door on two balls or hinges: each carries half its weight, and what turns it about its lower corner is
// held by opposite forces across, which are largest where hinges bear no couples: weight * 0.4 m / 1.4 m. One
// that is placed a millimetre off, along the posts, is no other.
TEST(RigidRedundantJoints, HoldADoorByItsWeight) {
  for (const JointType type : {JointType::ball, JointType::hinge})
    for (const double yaw : {0., 37., 141.})
      for (const double misfit : {0., 1e-3}) {
        RigidScene scene(door(type, yaw, 0));
        scene.model.joints[1].in_b.position.y() += Real(misfit);
        const double w = weight(scene), across = w * 0.4 / 1.4;
        for (int k = 0; k < 300; ++k) scene.step();
        const D3 low = scene.state.joints.force[0].cast<double>(),
                 high = scene.state.joints.force[1].cast<double>();
        const double least = 0.01 * w;
        EXPECT_NEAR(low.y(), w / 2, least) << int(type) << ' ' << yaw << ' ' << misfit;
        EXPECT_NEAR(high.y(), w / 2, least) << int(type) << ' ' << yaw << ' ' << misfit;
        EXPECT_LT((low + high - D3(0, w, 0)).norm(), least) << int(type) << ' ' << yaw << ' ' << misfit;
        const double sideways = std::hypot(low.x(), low.z());
        if (type == JointType::ball)
          EXPECT_NEAR(sideways, across, least) << yaw << ' ' << misfit;
        else
          EXPECT_LT(sideways, across) << yaw << ' ' << misfit;
        EXPECT_LT(scene.state.frames.v[0].norm() + scene.state.frames.w[0].norm(), 1e-3);
      }
}

// Of balls the load is 181 N.
TEST(RigidRedundantJoints, BreakADoorByItsLoadAlone) {
  for (const double strength : {150., 200.}) {
    RigidScene scene(door(JointType::ball, 37, strength));
    int breaks = 0;
    for (int k = 0; k < 120; ++k) {
      scene.step();
      breaks += int(scene.state.joints.just_broken.size());
    }
    EXPECT_EQ(breaks > 0, strength < 181) << strength;
  }
}

// A wheel on an axle of two bearings, in a frame that turns: neither loses, as on one hinge, and the
// bearings carry couples of I w p, over 0.6 m, and not more.
TEST(RigidRedundantJoints, LetAWheelTurnInATurningFrame) {
  for (const auto& [low, high] :
       {std::pair(JointType::hinge, JointType::hinge), std::pair(JointType::ball, JointType::ball),
        std::pair(JointType::hinge, JointType::ball)})
    for (const double spin : {10., 20., 50.}) {
      rigid::BodySpec frame = validation::box(Vec3(Real(0.5), Real(0.1), Real(0.5)), Vec3(0, Real(-0.4), 0));
      rigid::BodySpec wheel = validation::box(Vec3::Constant(Real(0.1)), Vec3::Zero());
      wheel.shapes[0].shape = rigid::Form::cylinder;
      wheel.shapes[0].radius = Real(0.25), wheel.shapes[0].half_height = Real(0.05);
      wheel.rotation = Vec3(90, 0, 0);
      frame.passes = wheel.passes = {0};
      rigid::Spec spec{.bodies = {frame, wheel}};
      spec.joints = {test::joint(low, "0", "1", Vec3(0, 0, Real(-0.3)), Vec3::UnitZ()),
                     test::joint(high, "0", "1", Vec3(0, 0, Real(0.3)), Vec3::UnitZ())};
      RigidScene scene(spec);
      scene.params.gravity.setZero();
      scene.state.frames.w[0] = Vec3(0, 1, 0), scene.state.frames.w[1] = Vec3(0, 1, Real(spin));
      const double before = test::energy(scene);
      const D3 turning = test::angular_momentum(scene);
      for (int k = 0; k < 600; ++k) scene.step();
      // Float sums 5e3 roundings of 6e-8.
      EXPECT_NEAR(test::energy(scene) / before, 1, 3e-4) << int(low) << int(high) << ' ' << spin;
      EXPECT_LT((test::angular_momentum(scene) - turning).norm(), 1e-3 * turning.norm());
      // m r^2 / 2 of the wheel, 19.6 kg; the frame's turning speeds up by at most what its angular momentum
      // is.
      const double couple = turning.norm() * spin;
      for (const Vec3& force : scene.state.joints.force) EXPECT_LT(double(force.norm()), couple / 0.6);
    }
}

}}  // namespace plenum
