// Joints and contacts that cannot both have their way.
#include <gtest/gtest.h>

#include "../../validation/rigid_scenes.h"
#include "rigid/joints.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Drive;
using rigid::JointSpec;
using rigid::JointType;
using validation::RigidScene;

// What joints keep in each other is not driven by the contacts that would part it: balls welded into each
// other that spin freely, and a rope of balls of which each is in the one after the next.
TEST(RigidJoints, GainNothingFromContactsThatTheyHold) {
  {
    Rigid::Spec spec;
    for (const Real side : {Real(-1), Real(1)}) {
      BodySpec ball = validation::sphere(0.3, {0.25 * side, 0, 0});
      ball.velocity = Vec3(0, Real(1.25) * side, 0), ball.angular_velocity = Vec3(0, 0, 5);
      spec.bodies.push_back(ball);
    }
    JointSpec joint = test::joint(JointType::fixed, "0", "1", Vec3::Zero());
    joint.collide = true;
    spec.joints = {joint};
    RigidScene scene(spec);
    scene.params.gravity.setZero();
    const double first = test::energy(scene);
    for (int k = 0; k < 1200; ++k) scene.step();
    EXPECT_NEAR(test::energy(scene), first, 1e-4 * first);
  }
  for (const double apart : {0.2, 0.23, 0.24}) {
    Rigid::Spec spec;
    for (int i = 0; i < 5; ++i)
      spec.bodies.push_back(validation::sphere(0.25, {apart * i, 2 + 0.5 * apart * i, 0}));
    spec.joints = {test::joint(JointType::ball, "", "0", Vec3(0, Real(2.3), 0))};
    for (int i = 1; i < 5; ++i)
      spec.joints.push_back(test::joint(JointType::ball, std::to_string(i - 1), std::to_string(i),
                                        Vec3(Real(apart * (i - 0.5)), Real(2 + 0.5 * apart * (i - 0.5)), 0)));
    RigidScene scene(spec);
    const double first = test::energy(scene);
    const double weight = 9.81 * 5 / double(scene.state.frames.inverse_mass[0]);
    for (int k = 0; k < 1800; ++k) {
      scene.step();
      ASSERT_LT(test::energy(scene) - first, 0.01 * weight * 4 * apart) << apart << ' ' << k;
    }
  }
}

// A motor presses its arm against a post on its own base, with up to three hundred times the arm's weight, or
// with all that it may.
// Contact and joints cannot both have their way; whoever yields, nobody flies away, and momentum is kept.
TEST(RigidJoints, StallWhereAnArmStrikesItsOwnBase) {
  for (const double strength : {1e3, 3e3, 1e9})
    for (const Real off : {Real(0), Real(0.01), Real(0.03)}) {
      JointSpec motor = test::joint(JointType::hinge, "0", "2", Vec3(Real(0.21), 2, 0), Vec3::UnitZ());
      motor.motion.drive = Drive::velocity, motor.motion.speed = 5, motor.motion.strength = Real(strength);
      RigidScene scene(
          {.bodies = {validation::box(Vec3::Constant(Real(0.2)), Vec3(0, 2, 0)),
                      validation::box(Vec3(Real(0.1), Real(0.35), Real(0.1)), Vec3(off, Real(2.6), off)),
                      validation::box(Vec3(Real(0.45), Real(0.05), Real(0.05)), Vec3(Real(0.7), 2, 0))},
           .joints = {motor, test::joint(JointType::fixed, "0", "1", Vec3(0, Real(2.2), 0))}});
      scene.params.gravity.setZero();
      for (int k = 0; k < 1800; ++k) {
        scene.step();
        Vector3<double> momentum = Vector3<double>::Zero();
        double mass = 0;
        for (std::size_t b = 0; b < 3; ++b) {
          const double m = 1 / double(scene.state.frames.inverse_mass[b]);
          momentum += m * scene.state.frames.v[b].cast<double>(), mass += m;
          // Twice the speed of the motor, about the far end of the assembly.
          ASSERT_LT(scene.state.frames.v[b].norm(), 10) << strength << ' ' << k;
        }
        ASSERT_LT(momentum.norm(), 0.01 * mass) << strength << ' ' << k;
      }
    }
}

// What drives is as strong as what it drives is heavy: a motor of any strength on a crane turns the whole
// arm, 3 t of it 5 m out, against gravity, and reaches its speed within a tenth of a second.
TEST(RigidJoints, MotorsOfAnyStrengthLiftAllThatHangsOnThem) {
  JointSpec motor = test::joint(JointType::hinge, "", "0", Vec3(0, 10, 0), Vec3::UnitZ());
  motor.motion.drive = Drive::velocity, motor.motion.speed = Real(0.5);
  RigidScene scene(
      {.bodies = {validation::box(Vec3(Real(0.5), Real(0.1), Real(0.1)), Vec3(Real(0.5), 10, 0)),
                  validation::box(Vec3(2, Real(0.1), Real(0.1)), Vec3(3, 10, 0)),
                  validation::box(Vec3(Real(0.5), Real(0.8), Real(0.9)), Vec3(Real(5.5), 10, 0))},
       .joints = {motor, test::joint(JointType::fixed, "0", "1", Vec3(1, 10, 0)),
                  test::joint(JointType::fixed, "1", "2", Vec3(5, 10, 0))}});
  for (int k = 0; k < 120; ++k) {
    scene.step();
    if (k < 6) continue;
    ASSERT_NEAR(scene.state.frames.w[2].z(), 0.5, 0.005) << k;
  }
}

}}  // namespace plenum
