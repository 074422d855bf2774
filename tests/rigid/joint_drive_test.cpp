// Drives of limited strength, over arms far longer than bodies are wide: what they may give, and no more.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <random>

#include "../../validation/rigid_scenes.h"
#include "plenum/solvers/rigid/detail/joint_rows.h"
#include "rigid/joints.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::AxisMode;
using rigid::AxisSpec;
using rigid::BodySpec;
using rigid::Drive;
using rigid::JointSpec;
using rigid::JointType;
using test::energy;
using test::joint_pose;
using test::within;
using validation::box;
using validation::RigidScene;

/// A thin stick and a plate, at rest and without weight; the joint's origin is `arm` from each.
Rigid::Spec stick_and_plate(const JointSpec& joint, double arm) {
  BodySpec a = box(Vec3(Real(0.015), Real(0.125), Real(0.015)), Vec3::Zero()),
           b = box(Vec3(Real(0.1), Real(0.04), Real(0.1)), Vec3(0, 0, Real(2 * arm)));
  a.passes = b.passes = {0};
  JointSpec j = joint;
  j.type = JointType::six_axes, j.body_a = "0", j.body_b = "1", j.anchor = Vec3(0, 0, Real(arm));
  j.axis = Vec3::UnitZ(), j.second_axis = Vec3::UnitY();
  return {.bodies = {a, b}, .joints = {j}};
}
std::array<AxisSpec*, 6> axes_of(JointSpec& j) {
  return {&j.x, &j.y, &j.z, &j.turn_x, &j.turn_y, &j.turn_z};
}

TEST(RigidDrives, PushOverALongArmWithoutTurningWhatIsLocked) {
  for (const bool limits : {true, false}) {
    JointSpec j;
    for (AxisSpec* axis : axes_of(j)) axis->mode = AxisMode::locked;
    j.x = j.z = within(-0.3, 0.3);
    if (!limits) j.x.mode = j.z.mode = AxisMode::free;
    j.x.drive = Drive::spring, j.x.target = Real(0.155), j.x.stiffness = 7073, j.x.damping = 10;
    j.x.strength = 53;
    j.z.drive = Drive::velocity, j.z.speed = 1, j.z.strength = 13;
    RigidScene scene(stick_and_plate(j, 1));
    scene.params.gravity.setZero();
    for (int k = 0; k < 180; ++k) scene.step();
    // The stick is at the spring's target; the motor has led it to its limit, or leads it still.
    double value[6];
    detail::joint_values(scene.model.joints[0], joint_pose(scene, 0), joint_pose(scene, 1), value);
    EXPECT_NEAR(value[0], 0.155, 0.01) << limits;
    EXPECT_NEAR(value[2], limits ? 0.3 : 3, 0.05) << limits;
    for (const Vec3& v : scene.state.frames.v) EXPECT_LT(v.norm(), limits ? 0.1 : 1.1) << limits;
  }
}

TEST(RigidDrives, GiveAtMostTheirStrengthTimesTheWay) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    std::mt19937 random(seed);
    const auto uniform = [&](double a, double b) { return a + (b - a) * (random() / 4294967296.0); };
    JointSpec j;
    std::array<double, 6> targets = {};  // some of them beyond limits
    std::size_t number = 0;
    for (AxisSpec* axis : axes_of(j)) {
      double& target = targets[number];
      const double most = number++ < 3 ? 0.3 : 60;
      if (random() % 3 == 0) {
        axis->mode = AxisMode::locked;
        continue;
      }
      *axis = within(uniform(-most, 0), uniform(0, most));
      if (random() % 2 == 0) continue;
      axis->drive = random() % 2 ? Drive::velocity : Drive::spring;
      axis->speed = Real(uniform(-10, 10)), target = uniform(-most, most);
      axis->stiffness = Real(std::pow(10, uniform(1, 4))), axis->damping = Real(std::pow(10, uniform(0, 3)));
      axis->strength = Real(std::pow(10, uniform(1, 3)));
    }
    RigidScene scene(stick_and_plate(j, seed % 2 ? 1 : 0.15));
    scene.params.gravity.setZero();
    scene.params.substeps = 1;
    Rigid::Joint& joint = scene.model.joints[0];
    for (std::size_t r = 0; r < 6; ++r)
      joint.axes[r].target = Real(targets[r] * (r < 3 ? 1 : std::numbers::pi / 180));
    double last[6], value[6], given = 0, largest = 0;
    detail::joint_values(joint, joint_pose(scene, 0), joint_pose(scene, 1), last);
    for (int k = 0; k < 480; ++k) {
      scene.step(1. / 480);
      detail::joint_values(joint, joint_pose(scene, 0), joint_pose(scene, 1), value);
      for (std::size_t r = 0; r < 6; ++r) {
        const double way = value[r] - last[r], turn = 2 * std::numbers::pi;
        if (joint.axes[r].drive != Drive::none)
          given += double(joint.axes[r].strength) * std::abs(r < 3 ? way : std::remainder(way, turn));
        last[r] = value[r];
      }
      largest = std::max(largest, energy(scene) / (given + 1));
    }
    EXPECT_LT(largest, 1.1) << seed;
  }
}

TEST(RigidDrives, LimitsDrawInSlowlyWhatStartsBeyondThem) {
  // At the pace of closing gaps, 0.5 m/s of the bodies, which leaves no speed.
  for (const bool slides : {false, true}) {
    JointSpec j = test::joint(slides ? JointType::slider : JointType::hinge, "", "0", Vec3::Zero(),
                              slides ? Vec3(Vec3::UnitX()) : Vec3(Vec3::UnitZ()));
    j.motion = slides ? within(0.4, 0.6) : within(30, 60);
    RigidScene scene(
        {.bodies = {box(Vec3(Real(0.5), Real(0.05), Real(0.05)), Vec3(Real(0.5), 0, 0))}, .joints = {j}});
    double value[6] = {}, fastest = 0;
    for (int k = 0; k < 90; ++k) {
      const Vec3 before = scene.state.frames.x[0];
      scene.step();
      fastest = std::max(fastest, 60 * double((scene.state.frames.x[0] - before).norm()));
      EXPECT_LT(scene.state.frames.v[0].norm(), 0.01) << slides << " " << k;
    }
    detail::joint_values(scene.model.joints[0], {}, joint_pose(scene, 0), value);
    EXPECT_NEAR(value[slides ? 0 : 5], slides ? 0.4 : 30 * std::numbers::pi / 180, 1e-3);
    EXPECT_GT(fastest, 0.4);
    EXPECT_LT(fastest, 0.52);
  }
}

TEST(RigidDrives, PressOnAFloorThatGivesByTheirStrength) {
  // A rod of 10 kg on a hinge, driven into the floor by ten and a hundred times its weight at its end. Its
  // two points there, 1.005 m out of its hinge, are springs of frequency 0.19 of the sub-steps' rate for its
  // inertia about the hinge, 10/12 (1 + 0.1^2) + 10/4 = 3.34 kg m^2, in front of the hinge's own.
  const double omega = 2 * std::numbers::pi * 0.19 * 480, give = 1 / (3.34 * omega * omega);  // m/N
  for (const double strength : {1e3, 1e4}) {
    JointSpec j = test::joint(JointType::hinge, "", "1", Vec3(0, Real(0.6), 0), Vec3::UnitZ());
    j.motion.drive = Drive::velocity, j.motion.speed = -1, j.motion.strength = Real(strength);
    const Vec3 half(Real(0.5), Real(0.05), Real(0.05));
    RigidScene scene(
        {.bodies = {validation::floor_box(), box(half, Vec3(Real(0.5), Real(0.6), 0))}, .joints = {j}});
    double lowest = 0;
    for (int k = 0; k < 240; ++k) {
      scene.step();
      const Vec3 end = scene.state.frames.pose(1) * Vec3(half.x(), -half.y(), 0);
      lowest = std::min(lowest, double(end.y()));
    }
    // And as it arrives, by a little of the 2 mm that its end, at 1 m/s, comes in a sub-step.
    const Vec3 end = scene.state.frames.pose(1) * Vec3(half.x(), -half.y(), 0);
    EXPECT_GT(end.y(), -give * strength) << strength;
    EXPECT_GT(lowest, -give * strength - 0.05 / 480) << strength;
    EXPECT_LT(scene.state.frames.w[1].norm(), 0.01) << strength;
    EXPECT_NEAR(scene.state.joints.torque[0].z(), -strength, 0.01 * strength);
  }
}

TEST(RigidDrives, RodsThatTurnFarInASubStepKeepEnergy) {
  for (const int n : {1, 2, 4}) {
    Rigid::Spec spec;
    for (int i = 0; i < n; ++i) {
      BodySpec body = box(Vec3(Real(0.25), Real(0.1), Real(0.08)), Vec3(Real(0.35 + 0.6 * i), 0, 0));
      body.passes = {0};
      body.angular_velocity = Vec3(2, 1, Real(i - 1));
      spec.bodies.push_back(body);
      JointSpec rod = test::joint(JointType::distance, i > 0 ? std::to_string(i - 1) : "", std::to_string(i),
                                  Vec3(Real(0.6 * i), 0, 0));
      rod.anchor_b = rod.anchor + Vec3(Real(0.1), 0, 0);
      spec.joints.push_back(rod);
    }
    RigidScene scene(spec);
    scene.step();
    const double start = energy(scene);
    double mass = 0, most = 0;
    for (const Real inverse : scene.state.frames.inverse_mass) mass += 1 / double(inverse);
    for (int k = 0; k < 1200; ++k) {
      scene.step();
      most = std::max(most, energy(scene) - start);
    }
    EXPECT_LT(most, 0.01 * mass * 9.81 * 0.6 * n) << n;
  }
}

TEST(RigidDrives, TurnWhatHasSlidFarOut) {
  // Boxes on the world, turned by motors within limits, and others that fall along an axis of theirs that is
  // free, until they are a hundred times their size out. Where they cannot go they do not.
  std::mt19937 random(7);
  const auto between = [&](double a, double b) { return Real(a + (b - a) * random() / 4294967296.0); };
  for (int run = 0; run < 40; ++run) {
    const auto limited = [&] { return within(-double(between(20, 60)), double(between(20, 60))); };
    JointSpec first, second;
    for (JointSpec* j : {&first, &second}) {
      j->type = JointType::six_axes;
      j->axis = Vec3(between(-1, 1), between(-1, 1), between(-1, 1));
      j->second_axis = Vec3(between(-1, 1), between(-1, 1), between(-1, 1));
      for (AxisSpec* axis : axes_of(*j)) axis->mode = AxisMode::locked;
      j->turn_x = limited(), j->turn_y = limited(), j->turn_z = limited();
    }
    for (AxisSpec* axis : {&first.turn_x, &first.turn_y}) {
      axis->drive = Drive::velocity, axis->speed = between(-10, 10);
      axis->strength = Real(std::pow(10, double(between(1, 4))));
    }
    second.x.mode = AxisMode::free;
    first.body_b = second.body_a = "0", second.body_b = "1";
    second.anchor = Vec3(0, 0, Real(0.35));
    BodySpec a = box(Vec3(between(0.05, 0.2), between(0.05, 0.2), Real(0.3)), Vec3::Zero()),
             b = box(Vec3(between(0.05, 0.2), between(0.05, 0.2), Real(0.3)), Vec3(0, 0, Real(0.7)));
    a.passes = b.passes = {0};
    RigidScene scene({.bodies = {a, b}, .joints = {first, second}});
    double out = 0, gap = 0;
    for (int k = 0; k < 480; ++k) {
      scene.step();
      double value[6];
      detail::joint_values(scene.model.joints[1], joint_pose(scene, 0), joint_pose(scene, 1), value);
      out = std::max(out, double((scene.state.frames.x[1] - scene.state.frames.x[0]).norm()));
      gap = std::max({gap, std::abs(value[1]), std::abs(value[2])});
    }
    // The rest of two Newton steps, x^2 / 2 each of the way out by which a body turns in a sub-step, is below
    // a thousandth. Of 2 360 such runs two were beyond: where limits of both joints hold and their axes come
    // to lie in one plane, the posture is singular and any rate may be asked for.
    EXPECT_LT(gap, 2e-2 * out) << run << ": " << out << " m out";
  }
}

}}  // namespace plenum
