// Forces, torques and impulses from outside.
#include "plenum/solvers/rigid/pushes.h"

#include <gtest/gtest.h>

#include "../../validation/rigid_scenes.h"
#include "plenum/base/error.h"

namespace plenum { namespace {

using rigid::BodySpec;
using validation::RigidScene;

BodySpec plank() {
  BodySpec body = validation::box(Vec3(Real(0.5), Real(0.1), Real(0.2)), Vec3(1, 2, 3));
  body.rotation = Vec3(20, 30, 40);
  return body;
}

TEST(RigidPushes, AnImpulseAtAPointGivesItsMomentumAndMoment) {
  RigidScene scene({.bodies = {plank()}});
  const Vec3 impulse(3, -2, 5), point(Real(1.2), Real(2.1), Real(2.7));
  rigid::add_impulse(scene.model, scene.state, 0, impulse, point);
  const Frames& f = scene.state.frames;
  EXPECT_LT((f.v[0] / f.inverse_mass[0] - impulse).norm(), 1e-5);
  const Mat3 r = f.rotation(0).toRotationMatrix();
  const Vec3 momentum = r * scene.model.inertia[0].asDiagonal() * r.transpose() * f.w[0];
  EXPECT_LT((momentum - (point - f.x[0]).cross(impulse)).norm(), 1e-5);
}

TEST(RigidPushes, ConstantForceAndTorqueAccelerateEvenly) {
  BodySpec ball = validation::unit_box(0, 0, 0);
  ball.shapes[0].shape = rigid::Form::sphere;
  ball.mass = 2;
  RigidScene scene({.bodies = {ball}});
  scene.params.gravity.setZero();
  const Real dt = Real(1) / 60;
  for (int k = 0; k < 60; ++k) {
    rigid::add_force(scene.model, scene.state, 0, Vec3(6, 0, 0), dt);
    rigid::add_torque(scene.model, scene.state, 0, Vec3(0, Real(0.4), 0), dt);
    scene.step();
  }
  EXPECT_NEAR(scene.state.frames.v[0].x(), 3, 1e-4);          // F t / m
  EXPECT_NEAR(scene.state.frames.w[0].y(), 0.4 / 0.2, 1e-4);  // I = 2/5 m r^2 = 0.2
}

TEST(RigidPushes, WakeWhatSleepsAndLeaveWhatIsFixed) {
  RigidScene scene({.bodies = {validation::floor_box(), validation::unit_box(0, 0.5, 0)}});
  scene.params.sleeping = true;
  for (int k = 0; k < 120; ++k) scene.step();
  ASSERT_GE(scene.state.rest.island[1], 0);
  rigid::add_impulse(scene.model, scene.state, 1, Vec3(5000, 0, 0));
  scene.step();
  EXPECT_LT(scene.state.rest.island[1], 0);
  EXPECT_GT(scene.state.frames.v[1].x(), 4);
  rigid::add_impulse(scene.model, scene.state, 0, Vec3(5000, 0, 0), Vec3(1, 2, 3));
  EXPECT_TRUE(scene.state.frames.v[0].isZero(0));
  EXPECT_THROW(rigid::add_impulse(scene.model, scene.state, 2, Vec3::UnitX()), Error);
  const Rigid::Model none;
  Rigid::State nowhere;
  try {
    rigid::add_impulse(none, nowhere, 0, Vec3::UnitX());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no bodies"), std::string::npos) << error.what();
  }
}

TEST(RigidPushes, LockedAxesTakeTheirPart) {
  BodySpec body = plank();
  body.lock_x = body.lock_turn_z = true;
  RigidScene scene({.bodies = {body}});
  rigid::add_impulse(scene.model, scene.state, 0, Vec3(100, 100, 100), Vec3(2, 2, 2));
  EXPECT_EQ(scene.state.frames.v[0].x(), 0);
  EXPECT_NEAR(scene.state.frames.w[0].z(), 0, 1e-6);
  EXPECT_GT(scene.state.frames.v[0].y(), 0);
}

}  // namespace
}  // namespace plenum
