// Bounces: one by one, through rows and heaps of balls, flat and with friction.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "../../validation/rigid_scenes.h"
#include "plenum/base/random.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::BodySpec;
using test::ball;
using validation::RigidScene;
using D3 = Vector3<double>;

/// A row of balls, each of its own mass, the first of which comes at 1 m/s.
RigidScene row_of_balls(const std::vector<double>& masses, double e) {
  Rigid::Spec spec;
  for (std::size_t i = 0; i < masses.size(); ++i) {
    BodySpec body = ball(0.1, Vec3(Real(0.2) * Real(i) - (i == 0 ? Real(0.03) : 0), 0, 0));
    body.density = 1000 * Real(masses[i]);
    body.restitution = Real(e);
    body.velocity = Vec3(i == 0, 0, 0);
    spec.bodies.push_back(body);
  }
  RigidScene scene(spec);
  scene.params.gravity.setZero();
  scene.params.restitution_threshold = Real(1e-3);
  return scene;
}

TEST(RigidBounce, ABlowGoesThroughARowOneAfterTheOther) {
  // Lighter from ball to ball, each is struck once: v -> (1 + e) m1/(m1 + m2) v, and keeps (m1 - e m2)/(m1 +
  // m2).
  const std::vector<double> masses = {1, 0.8, 0.6, 0.4, 0.2};
  for (const double e : {1.0, 0.9}) {
    RigidScene scene = row_of_balls(masses, e);
    for (int k = 0; k < 10; ++k) scene.step();
    double comes = 1;
    for (std::size_t i = 0; i + 1 < masses.size(); ++i) {
      const double m1 = masses[i], m2 = masses[i + 1];
      EXPECT_NEAR(scene.state.frames.v[i].x(), comes * (m1 - e * m2) / (m1 + m2), 1e-5) << i;
      comes *= (1 + e) * m1 / (m1 + m2);
    }
    EXPECT_NEAR(scene.state.frames.v.back().x(), comes, 1e-5);
  }
}

TEST(RigidBounce, HeapsOfBallsKeepMomentumAndGainNoEnergy) {
  for (const double friction : {0.0, 0.6})
    for (const double e : {1.0, 0.7}) {
      Rigid::Spec spec;
      for (int i = 0; i < 64; ++i) {
        BodySpec body = ball(0.1, Vec3(Real(i % 4), Real(i / 4 % 4), Real(i / 16)) * Real(0.2));
        const Vec4 way = uniform4(7, std::uint64_t(i), 0), turn = uniform4(7, std::uint64_t(i), 1);
        body.velocity = (way.head<3>().array() - Real(0.5)) * 4;
        body.angular_velocity = (turn.head<3>().array() - Real(0.5)) * 20;
        body.restitution = Real(e), body.friction = Real(friction);
        spec.bodies.push_back(body);
      }
      RigidScene scene(spec);
      scene.params.gravity.setZero();
      scene.params.restitution_threshold = Real(1e-3);
      const double start = test::energy(scene);
      const D3 carried = test::momentum(scene);
      double before = start;
      for (int k = 0; k < 120; ++k) {
        scene.step();
        const double now = test::energy(scene);
        EXPECT_LE(now, before + 1e-5 * start) << k;
        before = now;
      }
      EXPECT_NEAR((test::momentum(scene) - carried).norm(), 0, 1e-4 * std::sqrt(2 * start * 64 * 4.2));
      if (e == 1 && friction == 0) {
        EXPECT_NEAR(before, start, 1e-4 * start);
      }
    }
}

TEST(RigidBounce, AFlatFallBouncesStraight) {
  BodySpec block = validation::box(Vec3(Real(0.3), Real(0.1), Real(0.2)), Vec3(0, Real(0.6), 0));
  block.restitution = Real(0.5);
  RigidScene scene({.bodies = {validation::floor_box(), block}});
  double fell = 0, rose = 0;
  for (int k = 0; k < 40; ++k) {
    scene.step();
    fell = std::min(fell, double(scene.state.frames.v[1].y()));
    rose = std::max(rose, double(scene.state.frames.v[1].y()));
    EXPECT_LT(scene.state.frames.w[1].norm(), 1e-3);
  }
  // Seen at the ends of steps; falls begin a sub-step ahead, and end up to another early.
  const double strikes = std::sqrt(2 * 9.81 * 0.5), unseen = 9.81 * (1.0 / 60 + 2.0 / 480);
  EXPECT_NEAR(fell, -strikes, unseen);
  EXPECT_NEAR(rose, 0.5 * strikes, unseen);
}

/// A ball strikes the floor at 3 m/s, and goes along it. Source: Walton & Braun 1986, of hard spheres without
/// tangential restitution: the impulse along is min(mu (1 + e) m v, 2/7 m slip).
TEST(RigidBounce, WhatStrikesRubs) {
  constexpr double e = 0.8, down = 3;
  for (const double mu : {0.1, 1.0}) {
    BodySpec body = ball(0.1, Vec3(0, Real(0.2), 0));
    body.velocity = Vec3(2, -down, 0);
    body.restitution = Real(e), body.friction = Real(mu);
    BodySpec floor = validation::floor_box();
    floor.friction = Real(mu);
    RigidScene scene({.bodies = {floor, body}});
    scene.params.gravity.setZero();
    for (int k = 0; k < 6; ++k) scene.step();
    const double lost = std::min(mu * (1 + e) * down, 2.0 / 7 * 2);
    EXPECT_NEAR(scene.state.frames.v[1].y(), e * down, 1e-4);
    EXPECT_NEAR(scene.state.frames.v[1].x(), 2 - lost, 1e-4);
    EXPECT_NEAR(scene.state.frames.w[1].z(), -lost / (0.4 * 0.1), 1e-2);
  }
}

/// The fastest that the mean of the moving bodies goes up in a second, by the speed at which the last comes.
double rebound(const Rigid::Spec& spec) {
  RigidScene scene(spec);
  const std::vector<Vec3>& v = scene.state.frames.v;
  const double comes = -v.back().y();
  double up = 0;
  for (int k = 0; k < 60; ++k) {
    scene.step();
    double carried = 0, mass = 0;
    for (std::size_t i = 1; i < v.size(); ++i) {
      const double m = 1 / double(scene.state.frames.inverse_mass[i]);
      carried += m * v[i].y(), mass += m;
    }
    up = std::max(up, carried / mass);
  }
  return up / comes;
}

// Impulses that build up pass by pass while something light is squeezed between what is heavy and the floor
// must not be given back: that would be a rebound of 0.2 to 0.5. Masses of up to 2.75:1 are left to the
// passes.
TEST(RigidBounce, NothingBouncesOffWhatItSqueezes) {
  for (const double ratio : {1.0, 2.0, 8.0, 65.0, 1000.0})
    for (const double height : {0.2, 0.23}) {
      const double h = 0.5 * std::cbrt(4.0 / 3 * 3.14159265 * 0.125 / ratio);
      BodySpec cube = validation::box(Vec3::Constant(Real(h)), Vec3(0, Real(h), 0));
      BodySpec heavy = validation::sphere(0.5, {0, 2 * h + 0.5 + height, 0});
      heavy.velocity = Vec3(0, -5, 0);
      EXPECT_LT(rebound({.bodies = {validation::floor_box(), cube, heavy}}), ratio < 2.75 ? 0.1 : 0.05)
          << ratio;
    }
}

// Through gaps that are closed within a sub-step and through such as are not. Masses of up to 2.75:1 are left
// to the passes, which leave a tenth, and so is what comes slower than 0.3 m/s.
TEST(RigidBounce, StacksThatFallDoNotBounce) {
  for (const int boxes : {3, 5, 10})
    for (const double gap : {0.0, 0.001, 0.003, 0.01, 0.03, 0.1}) {
      Rigid::Spec spec{.bodies = {validation::floor_box()}};
      for (int i = 0; i < boxes; ++i) {
        spec.bodies.push_back(validation::unit_box(0, 0.8 + i * (1 + gap), 0));
        spec.bodies.back().velocity = Vec3(0, -5, 0);
      }
      EXPECT_LT(rebound(spec), gap < 0.002 ? 0.05 : 0.1 + 0.3 / 5) << boxes << " " << gap;
    }
}

// A blow goes on through joints.
TEST(RigidBounce, NothingBouncesOffWhatJointsHold) {
  for (const bool ball : {false, true}) {
    Rigid::Spec spec{.bodies = {validation::floor_box()}};
    spec.bodies.push_back(validation::box(Vec3(1, Real(0.05), Real(0.3)), Vec3(0, 2, 0)));
    spec.bodies.push_back(ball ? validation::sphere(0.3, {0, 2.4, 0})
                               : validation::box(Vec3::Constant(Real(0.3)), Vec3(0, Real(2.4), 0)));
    spec.bodies.back().velocity = Vec3(0, -5, 0);
    spec.bodies.back().density = 3000;
    spec.bodies[1].name = "plank";
    spec.joints.push_back({.type = rigid::JointType::fixed, .body_b = "plank", .anchor = Vec3(0, 2, 0)});
    EXPECT_LT(rebound(spec), 0.05) << ball;
  }
}

TEST(RigidBounce, WhatJointsHoldTogetherDoesNotBounce) {
  for (const rigid::JointType type : {rigid::JointType::fixed, rigid::JointType::ball}) {
    Rigid::Spec spec{.bodies = {validation::floor_box()}};
    for (int i = 0; i < 8; ++i) {
      spec.bodies.push_back(validation::unit_box(0, 0.7 + i, 0));
      spec.bodies.back().velocity = Vec3(0, -5, 0);
      spec.bodies.back().name = "box " + std::to_string(i);
      if (i > 0)
        spec.joints.push_back({.type = type,
                               .body_a = "box " + std::to_string(i - 1),
                               .body_b = "box " + std::to_string(i),
                               .anchor = Vec3(0, Real(0.2 + i), 0)});
    }
    EXPECT_LT(rebound(spec), 0.05) << int(type);
  }
}

// A ball comes down on what has landed just before it, in the same step and in a later one.
TEST(RigidBounce, WhatFallsWithALightCubeDoesNotBounceOffIt) {
  for (const double ratio : {3.0, 8.0, 65.0, 1000.0})
    for (const double gap : {0.0, 0.001, 0.01, 0.05}) {
      const double h = 0.5 * std::cbrt(4.0 / 3 * 3.14159265 * 0.125 / ratio);
      BodySpec cube = validation::box(Vec3::Constant(Real(h)), Vec3(0, Real(h + 0.2), 0));
      BodySpec heavy = validation::sphere(0.5, {0, 2 * h + 0.7 + gap, 0});
      cube.velocity = heavy.velocity = Vec3(0, -5, 0);
      // What comes slower than 0.3 m/s is left to the passes.
      EXPECT_LT(rebound({.bodies = {validation::floor_box(), cube, heavy}}), 0.3 / 5) << ratio << " " << gap;
    }
}

}}  // namespace plenum
