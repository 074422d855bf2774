// The solvers for comparison, against closed forms, each other and the default one.
#include <gtest/gtest.h>

#include <cmath>

#include "../../validation/rigid_scenes.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::JointSpec;
using rigid::JointType;
using validation::RigidScene;
using Method = Rigid::Method;

constexpr double g = 9.81;

class RigidSolvers : public ::testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(All, RigidSolvers,
                         ::testing::Values(Method::soft_steps, Method::gauss_seidel, Method::direct));

RigidScene scene_of(const rigid::Spec& spec, Method method, int iterations = 200) {
  RigidScene scene(spec);
  scene.params.solver = method, scene.params.iterations = iterations;
  return scene;
}

TEST_P(RigidSolvers, ABlockSlidesAsCoulombSays) {
  // Gravity along the floor stands for the slope: a = g (sin - mu cos).
  for (const double slope : {0.4, 0.8}) {
    RigidScene scene = scene_of(
        {.bodies = {validation::floor_box(),
                    validation::box(Vec3(Real(0.5), Real(0.25), Real(0.5)), Vec3(0, Real(0.25), 0))}},
        GetParam());
    const double down = g / std::hypot(1, slope);
    scene.params.gravity = Vec3(Real(down * slope * 0.6), Real(-down), Real(down * slope * 0.8));
    for (int k = 0; k < 60; ++k) scene.step();
    const double a = std::max(0.0, down * (slope - 0.5));
    EXPECT_NEAR(scene.state.frames.v[1].norm(), a, 0.01 * g * slope) << slope;
    if (a > 0) {
      EXPECT_NEAR(scene.state.frames.v[1].z() / scene.state.frames.v[1].x(), 4.0 / 3, 0.01);
    }
  }
}

TEST_P(RigidSolvers, GapsOfJointsAreTakenBack) {
  JointSpec weld{.type = JointType::fixed, .body_b = "0", .anchor = Vec3(Real(-0.5), 0, 0)};
  RigidScene scene = scene_of({.bodies = {validation::unit_box(0, 0, 0)}, .joints = {weld}}, GetParam());
  scene.params.gravity.setZero();
  scene.state.frames.x[0] = Vec3(Real(0.01), Real(-0.02), 0);
  for (int k = 0; k < 30; ++k) scene.step();
  EXPECT_LT(scene.state.frames.x[0].norm(), 1.1 * 0.0224 * std::pow(0.8, 30));
  EXPECT_LT(scene.state.frames.v[0].norm(), 1e-3);
}

// A link of mass m and length l swings across a tension T with w^2 = 12 T / (m l).
TEST_P(RigidSolvers, LoadedChainsHoldWhereAStepResolvesHowTheySwing) {
  constexpr int links = 8;
  constexpr double length = 0.2, load = 30;
  rigid::Spec spec;
  for (int k = 0; k <= links; ++k) {
    BodySpec link = validation::box(Vec3(Real(0.02), Real(length / 2), Real(0.02)),
                                    Vec3(0, Real(-length * (k + 0.5)), 0));
    link.mass = Real(k < links ? 1 : load);
    spec.bodies.push_back(link);
    spec.joints.push_back({.type = JointType::ball,
                           .body_a = k > 0 ? std::to_string(k - 1) : "",
                           .body_b = std::to_string(k),
                           .anchor = Vec3(0, Real(-length * k), 0)});
  }
  RigidScene scene = scene_of(spec, GetParam(), 1000);
  // h w < 2 by a third.
  const double h = 1.3 / std::sqrt(12 * (links + load) * g / length);
  scene.state.frames.v[links / 2].x() = Real(0.01);
  for (int k = 0; k < int(2 / h); ++k) scene.step(h);
  const double reach = -double(scene.state.frames.x[links].y());
  EXPECT_NEAR(reach, length * (links + 0.5), 2e-3 * length * links);
}

TEST_P(RigidSolvers, SpinningFrictionStopsABallThatSpins) {
  // Of pressure m g and I = 0.4 m r^2 the spin falls by c g / (0.4 r^2) a second, and stays 0.
  constexpr double c = 0.004, start = 8, rate = c * g / (0.4 * 0.1 * 0.1);  // 0.82 s
  BodySpec ball = validation::sphere(0.1, {0, 0.1, 0});
  ball.spinning_friction = Real(c);
  for (const double friction : {0.5, 0.0}) {
    ball.friction = Real(friction);
    for (const double sign : {1.0, -1.0}) {
      ball.angular_velocity = Vec3(0, Real(sign * start), 0);
      RigidScene scene = scene_of({.bodies = {validation::floor_box(), ball}}, GetParam());
      double before = start;
      for (int k = 1; k <= 90; ++k) {
        scene.step();
        const double spin = sign * double(scene.state.frames.w[1].y());
        // In the first step the ball may still come to bear: a step's loss.
        EXPECT_NEAR(spin, std::max(0.0, start - rate * k / 60), rate / 60) << k;
        EXPECT_LE(spin, before + 1e-6 * start);
        before = spin;
      }
      EXPECT_NEAR(before, 0, 1e-5 * start);
      EXPECT_LT((scene.state.frames.x[1] - ball.position).norm(), 1e-3);
    }
  }
}

TEST_P(RigidSolvers, SpinningFrictionAddsToWhatAFaceRubs) {
  // (mu l + c) m g: by sub-steps a face presses evenly, with the mean way from a square's middle as its
  // lever; the others rub at its four corners.
  const double corners = std::sqrt(0.5), even = (std::sqrt(2.0) + std::asinh(1.0)) / 6;
  const double lever = GetParam() == Rigid::Method::soft_steps ? even : corners;
  for (const double c : {0.0, 0.1}) {
    BodySpec slab = validation::box(Vec3(Real(0.5), Real(0.05), Real(0.5)), Vec3(0, Real(0.05), 0));
    slab.spinning_friction = Real(c);
    slab.angular_velocity = Vec3(0, 15, 0);
    RigidScene scene = scene_of({.bodies = {validation::floor_box(), slab}}, GetParam());
    for (int k = 0; k < 30; ++k) scene.step();
    const double rate = (0.5 * lever + c) * g / (2 * 0.25 / 3);
    EXPECT_NEAR(scene.state.frames.w[1].y(), 15 - 0.5 * rate, 0.02 * 0.5 * rate) << c;
  }
}

TEST_P(RigidSolvers, ABallComesBackFromAFloor) {
  BodySpec ball = validation::unit_box(0, 2, 0);
  ball.shapes[0].shape = rigid::Form::sphere;
  ball.restitution = Real(0.8);
  RigidScene scene = scene_of({.bodies = {validation::floor_box(), ball}}, GetParam());
  double least = 0, most = 0;
  for (int k = 0; k < 60; ++k) {
    scene.step();
    const double v = scene.state.frames.v[1].y();
    least = std::min(least, v);
    if (v > 0) most = std::max(most, v);
  }
  // Falling 1.5 m; a step's gravity is lost or won.
  EXPECT_NEAR(most, 0.8 * std::sqrt(2 * g * 1.5), 2 * g / 60);
}

TEST_P(RigidSolvers, AStackStands) {
  rigid::Spec spec{.bodies = {validation::floor_box()}};
  for (int i = 0; i < 5; ++i) spec.bodies.push_back(validation::unit_box(0, 0.5 + i, 0));
  RigidScene scene = scene_of(spec, GetParam());
  for (int k = 0; k < 300; ++k) scene.step();
  for (int i = 1; i <= 5; ++i) {
    const Vec3& x = scene.state.frames.x[std::size_t(i)];
    EXPECT_NEAR(x.y(), i - 0.5, 0.01);
    EXPECT_LT(std::hypot(x.x(), x.z()), 0.01);
  }
  // The lowest contact carries all of it: impulses are those of a default sub-step.
  double carried = 0;
  for (std::size_t k = 0; k < scene.state.contacts.pair.size(); ++k)
    if (scene.state.contacts.pair[k][0] == 0) carried += double(scene.state.contacts.impulse[k].sum());
  EXPECT_NEAR(carried, 5000 * g / 60 / scene.params.substeps, 0.01 * 5000 * g / 60 / scene.params.substeps);
}

TEST_P(RigidSolvers, APendulumSwingsInItsTime) {
  JointSpec pivot;
  pivot.type = JointType::hinge;
  pivot.body_b = "0";
  pivot.anchor = Vec3(0, 3, 0), pivot.axis = Vec3::UnitZ();
  BodySpec bob =
      validation::box(Vec3::Constant(Real(0.1)), Vec3(Real(std::sin(0.1)), Real(3 - std::cos(0.1)), 0));
  RigidScene scene = scene_of({.bodies = {bob}, .joints = {pivot}}, GetParam());
  const double inertia = 1 + 0.01 * 2 / 3.0,
               period = 2 * std::numbers::pi * std::sqrt(inertia / g) * (1 + 0.01 / 16);
  const double h = 1.0 / 240;
  double before = scene.state.frames.x[0].x();
  std::vector<double> crossings;
  for (int k = 0; k < 2400 && crossings.size() < 5; ++k) {
    scene.step(h);
    const double now = scene.state.frames.x[0].x();
    if (before > 0 && now <= 0) crossings.push_back(h * (k + before / (before - now)));
    before = now;
    // Drift is taken back: the arm keeps its length.
    ASSERT_NEAR((scene.state.frames.x[0] - Vec3(0, 3, 0)).norm(), 1, 2e-3);
  }
  ASSERT_EQ(crossings.size(), 5u);
  EXPECT_NEAR((crossings[4] - crossings[0]) / 4, period, 0.01 * period);
  EXPECT_NEAR(scene.state.joints.force[0].y(), 8 * g, 0.3 * 8 * g);  // of 8 kg, and what turns it
}

TEST_P(RigidSolvers, PilesNeverGainEnergy) {
  rigid::Spec spec{.bodies = {validation::floor_box()}};
  for (int i = 0; i < 6; ++i) {
    BodySpec body =
        validation::box(Vec3(Real(0.3), Real(0.2), Real(0.25)),
                        Vec3(Real(0.1) * Real(i % 2), Real(0.5 + 0.95 * i), Real(0.05) * Real(i % 3)));
    body.rotation = Vec3(Real(20 * i), Real(35 * i), 0);
    spec.bodies.push_back(body);
  }
  RigidScene scene = scene_of(spec, GetParam());
  const auto energy = [&] {
    double sum = 0;
    const Frames& f = scene.state.frames;
    for (std::size_t i = 1; i < f.size(); ++i) {
      const Vec3 w = f.rotation(i).conjugate() * f.w[i];
      sum += (double(f.v[i].squaredNorm()) / 2 + g * double(f.x[i].y())) / double(f.inverse_mass[i]) +
             double(w.dot(scene.model.inertia[i].cwiseProduct(w))) / 2;
    }
    return sum;
  };
  const double start = energy();
  for (int k = 0; k < 240; ++k) {
    scene.step();
    ASSERT_LT(energy(), 1.001 * start) << k;
  }
  double speed = 0;
  for (const Vec3& v : scene.state.frames.v) speed = std::max<double>(speed, v.norm());
  EXPECT_LT(speed, 0.1);
}

TEST(RigidReference, ManyIterationsOfGaussSeidelMeetTheDirectSolution) {
  // Without friction the velocities of a step are unique (Moreau 1966): the least kinetic energy of the
  // change.
  rigid::Spec spec{.bodies = {validation::floor_box()}};
  spec.bodies[0].friction = 0;
  for (int i = 0; i < 8; ++i) {
    BodySpec body =
        validation::box(Vec3(Real(0.3), Real(0.2), Real(0.25)),
                        Vec3(Real(0.25) * Real(i % 2), Real(0.21 + 0.35 * i), Real(0.05) * Real(i % 3)));
    body.rotation = Vec3(0, Real(25 * i), 0);
    body.friction = 0;
    spec.bodies.push_back(body);
  }
  RigidScene one = scene_of(spec, Method::direct), two = scene_of(spec, Method::gauss_seidel, 20000);
  int touching = 0;
  for (int k = 0; k < 12; ++k) {
    two.state = one.state;
    one.step(), two.step();
    touching = std::max(touching, int(one.state.contacts.pair.size()));
    for (std::size_t i = 1; i < spec.bodies.size(); ++i) {
      EXPECT_LT((one.state.frames.v[i] - two.state.frames.v[i]).norm(), 2e-4) << k;
      EXPECT_LT((one.state.frames.w[i] - two.state.frames.w[i]).norm(), 2e-3) << k;
    }
  }
  EXPECT_GE(touching, 6);
}

TEST(RigidReference, TheDirectSolverBearsAThousandTimesTheMass) {
  BodySpec light = validation::unit_box(0, 0.5, 0), heavy = validation::unit_box(0, 1.5, 0);
  light.density = 1;
  RigidScene scene = scene_of({.bodies = {validation::floor_box(), light, heavy}}, Method::direct);
  double least = 1e9;
  for (int k = 0; k < 300; ++k) {
    scene.step();
    least = std::min(least, double(scene.state.frames.x[2].y()));
  }
  EXPECT_GT(least, 1.499);
}

}  // namespace
}  // namespace plenum
