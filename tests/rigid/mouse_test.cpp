// The mouse joint: the response of its spring, the bound on its force, stability.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "plenum/base/error.h"
#include "rigid/joints.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::JointSpec;
using rigid::JointType;
using test::D3;
using validation::RigidScene;

JointSpec mouse(const Vec3& anchor, const Vec3& target, double frequency, double strength = 1e9) {
  JointSpec spec = test::joint(JointType::mouse, "", "0", anchor);
  spec.target = target, spec.frequency = Real(frequency), spec.strength = Real(strength);
  return spec;
}
RigidScene floating(const rigid::BodySpec& body, const JointSpec& spec) {
  RigidScene scene({.bodies = {body}, .joints = {spec}});
  scene.params.gravity.setZero();
  return scene;
}
/// Where a damped oscillator, let go at 1 at rest, is at phase p = w t.
double oscillator(double ratio, double p) {
  if (ratio == 1) return (1 + p) * std::exp(-p);
  if (ratio < 1) {
    const double w = std::sqrt(1 - ratio * ratio);
    return std::exp(-ratio * p) * (std::cos(w * p) + ratio / w * std::sin(w * p));
  }
  const double s = std::sqrt(ratio * ratio - 1), a = -ratio + s, b = -ratio - s;
  return (a * std::exp(b * p) - b * std::exp(a * p)) / (a - b);
}

TEST(RigidMouse, AnswersLikeADampedOscillator) {
  const double frequency = 2, omega = 2 * std::numbers::pi * frequency, far = 0.2;
  for (const double ratio : {0.2, 1.0, 2.0}) {
    double worst[2] = {};
    for (const int fine : {0, 1}) {
      JointSpec spec = mouse(Vec3::Zero(), Vec3(0, Real(far), 0), frequency);
      spec.damping_ratio = Real(ratio);
      RigidScene scene = floating(validation::unit_box(0, 0, 0), spec);
      scene.params.substeps = fine ? 16 : 8;
      const double a = omega / 60 / scene.params.substeps;  // w h
      for (int k = 1; k <= 90; ++k) {
        scene.step();
        const double left = 1 - double(scene.state.frames.x[0].y()) / far;
        worst[fine] = std::max(worst[fine], std::abs(left - oscillator(ratio, omega * k / 60)));
        // The recurrence of implicit Euler, (1 + a)^2 x2 - 2 (1 + a) x1 + x0 = 0 where ratio is 1, solved.
        const int n = k * scene.params.substeps;
        if (ratio == 1) {
          EXPECT_NEAR(left, (1 + n * a / (1 + a)) * std::pow(1 + a, -n), 1e-5) << k;
        }
      }
      // Implicit Euler moves each root l of the oscillator by l^2 h / 2 (Hairer & Wanner, "Solving ordinary
      // differential equations II", IV.2): at most |t exp(-l t) l^2 h / 2| = |l|^2 h / (2 e Re l), half of it
      // for each of two roots, or 0.27 a for the double one; and 2 for the higher orders.
      const double root = ratio > 1 ? 1 / (ratio - std::sqrt(ratio * ratio - 1)) : 1 / ratio;
      EXPECT_LT(worst[fine], 2 * a * root / (2 * std::numbers::e)) << ratio;
    }
    EXPECT_NEAR(worst[0] / worst[1], 2, 0.2) << ratio;  // first order
  }
}

TEST(RigidMouse, TwoBodiesMeetLikeAnOscillatorOfTheirReducedMass) {
  JointSpec spec = mouse(Vec3(0, 2, 0), Vec3(0, 1, 0), 1);
  spec.body_a = "1";
  rigid::BodySpec heavy = validation::unit_box(0, 0, 0);
  heavy.density = 3000;
  RigidScene scene({.bodies = {validation::unit_box(0, 2, 0), heavy}, .joints = {spec}});
  scene.params.gravity.setZero();
  const double omega = 2 * std::numbers::pi;
  for (int k = 1; k <= 60; ++k) {
    scene.step();
    const double apart = double(scene.state.frames.x[0].y()) - double(scene.state.frames.x[1].y()) - 1;
    EXPECT_NEAR(apart, oscillator(1, omega * k / 60), omega / 480) << k;
    EXPECT_LT(test::momentum(scene).norm(), 0.1);  // of tons at m/s, by rounding
  }
}

TEST(RigidMouse, TheForceHasOneBoundInEveryDirection) {
  // 1000 kg that half of the weight pulls up: falls with the other half.
  const double weight = 1000 * 9.81;
  RigidScene weak({.bodies = {validation::unit_box(0, 0, 0)},
                   .joints = {mouse(Vec3::Zero(), Vec3(0, 10, 0), 5, weight / 2)}});
  for (int k = 1; k <= 60; ++k) {
    weak.step();
    ASSERT_NEAR(weak.state.frames.v[0].y(), -9.81 / 2 * k / 60, 1e-4) << k;
    ASSERT_NEAR(weak.state.joints.force[0].y(), weight / 2, 1e-4 * weight) << k;
  }
  // Strong enough, it holds the body below its target by m g / k.
  RigidScene strong({.bodies = {validation::unit_box(0, 0, 0)},
                     .joints = {mouse(Vec3::Zero(), Vec3(0, Real(0.5), 0), 2, 1.5 * weight)}});
  for (int k = 0; k < 240; ++k) strong.step();
  const double omega = 4 * std::numbers::pi;
  EXPECT_NEAR(strong.state.frames.x[0].y(), 0.5 - 9.81 / (omega * omega), 1e-4);
  EXPECT_NEAR(strong.state.joints.force[0].y(), weight, 1e-3 * weight);
  // Along a diagonal neither more nor less than along an axis.
  for (const Vec3& to : {Vec3(9, 0, 0), Vec3(5, 5, 5), Vec3(-1, 7, 2)}) {
    RigidScene scene = floating(validation::unit_box(0, 0, 0), mouse(Vec3::Zero(), to, 5, 100));
    for (int k = 1; k <= 30; ++k) scene.step();
    EXPECT_NEAR(scene.state.joints.force[0].norm(), 100, 1e-2);
    EXPECT_LT((scene.state.frames.v[0] - Real(0.1 * 30 / 60) * to.normalized()).norm(), 1e-5);
  }
}

TEST(RigidMouse, StaysStableHoweverStiffAndComesToRestAtItsTarget) {
  const Vec3 corner(Real(0.5), Real(0.5), Real(0.3)), target(1, 2, Real(-1));
  const double distance = (target - corner).norm();
  for (const double frequency : {0.5, 20.0, 1000.0, 1e4})
    for (const double strength : {2e3, 1e5, 1e9})
      for (const int substeps : {1, 8}) {
        RigidScene scene =
            floating(validation::unit_box(0, 0, 0), mouse(corner, target, frequency, strength));
        scene.params.substeps = substeps;
        // What the spring holds at the start, and a bounded one less.
        const double omega = 2 * std::numbers::pi * frequency;
        const double most = std::min(1000 * omega * omega * distance / 2, strength) * distance;
        double energy = 0;
        for (int k = 0; k < 300; ++k) {
          scene.step();
          energy = test::energy(scene);
          ASSERT_LT(energy, 1.001 * most) << frequency << " Hz, " << strength << " N, " << substeps;
        }
        // Where it is strong its corner has come to the target; the body may go on turning about it, and by
        // the centrifugal force draws the spring out.
        const double left = (scene.state.frames.pose(0) * corner - target).norm();
        const double spin = scene.state.frames.w[0].norm();
        if (strength > 1e4 && frequency > 1) {
          EXPECT_LT(left, 1e-4 + 1.1 * corner.norm() * spin * spin / (omega * omega))
              << frequency << " Hz, " << strength << " N, " << substeps;
        }
      }
}

TEST(RigidMouse, PullsAChainThatGoesOnHolding) {
  Rigid::Spec spec = validation::chain(false, 20, 5);
  JointSpec hand = mouse(Vec3(0, Real(30 - 4.05), 0), Vec3(2, 28, 0), 3, 500);
  hand.body_b = "19";
  spec.joints.push_back(hand);
  RigidScene scene(spec);
  scene.params.linear_damping = scene.params.angular_damping = 2;
  for (int k = 0; k < 600; ++k) {
    scene.step();
    ASSERT_LT(validation::chain_errors(scene).gap, 1e-4) << k;
    ASSERT_LT(scene.state.joints.force.back().norm(), 500 * 1.0001) << k;
  }
  // At rest: what the spring is drawn out by carries its force.
  const double mass = 5, omega = 6 * std::numbers::pi;
  const D3 left = scene.state.frames.x[19].cast<double>() - D3(2, 28, 0);
  const D3 force = scene.state.joints.force.back().cast<double>();
  EXPECT_LT((force + mass * omega * omega * left).norm(), 0.02 * force.norm());
}

TEST(RigidMouse, NeedsABodyToPull) {
  JointSpec spec = mouse(Vec3::Zero(), Vec3::Zero(), 5);
  spec.body_a = "0", spec.body_b = "";
  try {
    RigidScene scene({.bodies = {validation::unit_box(0, 0, 0)}, .joints = {spec}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("joints[0].body_b"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("a mouse pulls a body"), std::string::npos) << e.what();
  }
}

}}  // namespace plenum::<anonymous>
