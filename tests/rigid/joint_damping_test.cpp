// Damping of joints against the turning of their bodies to each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "../../validation/rigid_scenes.h"
#include "rigid/joints.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::AssemblySpec;
using rigid::AssemblyType;
using rigid::JointSpec;
using rigid::JointType;
using validation::RigidScene;

// A body that turns about its middle on a held joint: w = w0 exp(-c t / I). Backward Euler, h c / I a step,
// is behind by half of that, relatively.
TEST(RigidJointDamping, SlowsTurningExponentially) {
  for (const JointType type : {JointType::ball, JointType::hinge, JointType::universal})
    for (const auto method :
         {Rigid::Method::soft_steps, Rigid::Method::gauss_seidel, Rigid::Method::direct}) {
      JointSpec joint = test::joint(type, "", "0", Vec3::Zero(), Vec3::UnitZ());
      const Vec3 half(Real(0.3), Real(0.1), Real(0.2));
      const double inertia = 1000 * 8 * 0.3 * 0.1 * 0.2 * (0.3 * 0.3 + 0.1 * 0.1) / 3, rate = 0.8;
      joint.turn_damping = Real(rate * inertia);
      RigidScene scene({.bodies = {validation::box(half, Vec3::Zero())}, .joints = {joint}});
      scene.params.gravity.setZero(), scene.params.solver = method;
      scene.state.frames.w[0] = Vec3(0, 0, 3);
      for (int k = 0; k < 120; ++k) scene.step();
      const double behind = rate / 60 / 2;
      EXPECT_NEAR(std::log(3 / double(scene.state.frames.w[0].z())), 2 * rate, 1.05 * behind * 2 * rate)
          << int(type) << int(method);
      EXPECT_NEAR(double(scene.state.joints.torque[0].z()),
                  -rate * inertia * double(scene.state.frames.w[0].z()),
                  2 * rate / 60 * rate * inertia * double(scene.state.frames.w[0].z()));
    }
}

// However strong it is: what both have in common stays, and what they turn by to each other goes.
TEST(RigidJointDamping, KeepsMomentumAndTakesTheRest) {
  for (const JointType type : {JointType::ball, JointType::hinge, JointType::universal})
    for (const double damping : {10.0, 100.0, 1e6}) {
      JointSpec joint = test::joint(type, "left", "right", Vec3(Real(0.5), Real(0.1), Real(0.05)));
      joint.turn_damping = Real(damping);
      RigidScene scene(test::pair(joint));
      scene.params.gravity.setZero();
      scene.state.frames.w[0] = Vec3(1, -2, Real(0.5)), scene.state.frames.w[1] = Vec3(Real(-0.5), 1, 2);
      const auto momentum = [&] {
        const Frames& f = scene.state.frames;
        Vector3<double> sum = Vector3<double>::Zero();
        for (std::size_t i = 0; i < f.size(); ++i)
          sum += (f.x[i].cross(f.v[i]) / f.inverse_mass[i]).cast<double>() +
                 f.rotation(i).cast<double>() *
                     scene.model.inertia[i].cast<double>().cwiseProduct(scene.body_spin(i));
        return sum;
      };
      scene.step();
      const Vector3<double> before = momentum();
      double last = test::energy(scene);
      for (int k = 0; k < 600; ++k) {
        scene.step();
        const double now = test::energy(scene);
        ASSERT_LE(now, last * (1 + 1e-5)) << k;
        last = now;
      }
      EXPECT_LT((momentum() - before).norm(), 0.002 * before.norm()) << int(type) << ' ' << damping;
      EXPECT_LT((scene.state.frames.w[0] - scene.state.frames.w[1]).norm(), 0.02)
          << int(type) << ' ' << damping;
    }
}

// An arm that is let go level creeps at the rate at which damping carries its weight, however strong that is,
// or comes to it by 1 - exp(-c t / I), with the moment of inertia about the joint: implicit, with what the
// joint holds. A motor of that strength turns it as fast without weight.
TEST(RigidJointDamping, LetsArmsCreep) {
  for (const JointType type : {JointType::ball, JointType::hinge, JointType::universal})
    for (const bool motor : {false, true})
      for (const double damping : {50.0, 500.0, 5e4}) {
        if (motor && type != JointType::hinge) continue;
        const double mass = 1000 * 8 * 0.5 * 0.05 * 0.05, couple = mass * 9.81 * 0.5;
        JointSpec joint = test::joint(type, "", "0", Vec3::Zero(), Vec3::UnitZ());
        joint.second_axis = Vec3::UnitX(), joint.turn_damping = Real(damping);
        if (motor)
          joint.motion.drive = rigid::Drive::velocity, joint.motion.speed = -1000,
          joint.motion.strength = Real(couple);
        RigidScene scene(
            {.bodies = {validation::box(Vec3(Real(0.5), Real(0.05), Real(0.05)), Vec3(Real(0.5), 0, 0))},
             .joints = {joint}});
        if (motor) scene.params.gravity.setZero();
        const double inertia = mass * (1.0 / 3 + 0.05 * 0.05 / 3), time = 0.1;
        for (int k = 0; k < 6; ++k) scene.step();
        const double wanted = couple / damping * (1 - std::exp(-damping * time / inertia));
        // It falls by under 0.06 rad meanwhile; backward Euler is behind by h c / 2 I of what is not yet
        // gone.
        const double behind = 0.5 * std::min(1.0, damping / inertia / 480) *
                              std::min(1.0, damping * time / inertia) * std::exp(-damping * time / inertia);
        EXPECT_NEAR(-double(scene.state.frames.w[0].z()), wanted, wanted * (0.004 + behind))
            << int(type) << motor << damping;
      }
}

TEST(RigidJointDamping, LetsRagdollsComeToRest) {
  for (const double turn : {0.0, 70.0, 160.0}) {
    AssemblySpec person{.type = AssemblyType::ragdoll};
    person.position = Vec3(0, 1, 0), person.rotation = Vec3(Real(turn), 0, 20);
    rigid::Spec spec{.bodies = {validation::floor_box()}};
    spec.assemblies = {person};
    RigidScene scene(spec);
    scene.params.sleeping = true;
    for (int k = 0; k < 60 * 20; ++k) scene.step();
    for (std::size_t i = 1; i < scene.state.rest.island.size(); ++i)
      EXPECT_GE(scene.state.rest.island[i], 0) << turn << ": body " << i;
  }
}

}}  // namespace plenum
