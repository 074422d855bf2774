// Joints: Jacobians, conservation, chains that do not stretch, the same bits for any number of threads.
#include <gtest/gtest.h>

#include <cmath>

#include "../../validation/rigid_scenes.h"
#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/integrate/free_rotation.h"
#include "plenum/solvers/rigid/detail/joint_rows.h"
#include "plenum/world/world.h"
#include "rigid/joints.h"
#include "rigid/scene_laws.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using detail::JointPose;
using rigid::AxisMode;
using rigid::AxisSpec;
using rigid::BodySpec;
using rigid::Drive;
using rigid::JointSpec;
using rigid::JointType;
using test::angular_momentum;
using test::arm;
using test::D3;
using test::energy;
using test::joint;
using test::joint_pose;
using test::momentum;
using test::pair;
using test::within;
using validation::RigidScene;
using Q = Quaternion<double>;

constexpr JointType all_types[] = {JointType::ball,      JointType::hinge,    JointType::slider,
                                   JointType::fixed,     JointType::distance, JointType::rope,
                                   JointType::universal, JointType::six_axes, JointType::mouse};

/// Every freedom that a type has is used.
JointSpec with_all_rows(JointSpec spec) {
  spec.cone = 60, spec.twist = 60;
  spec.motion = spec.x = spec.y = spec.z = spec.turn_x = spec.turn_y = spec.turn_z = within(-50, 50);
  return spec;
}

/// Largest error of a joint's locked freedoms, m or rad.
double error_of(const RigidScene& scene, std::size_t k = 0) {
  const Rigid::Joint& j = scene.model.joints[k];
  double value[6], largest = 0;
  detail::joint_values(j, j.a < 0 ? JointPose{} : joint_pose(scene, std::size_t(j.a)),
                       j.b < 0 ? JointPose{} : joint_pose(scene, std::size_t(j.b)), value);
  for (std::size_t r = 0; r < 6; ++r)
    if (j.axes[r].mode == AxisMode::locked)
      largest = std::max(largest, std::abs(value[r] - double(j.axes[r].lower)));
  return largest;
}

TEST(RigidJoints, JacobiansAreTheDerivativesOfTheValues) {
  for (const JointType type : all_types) {
    RigidScene scene(pair(with_all_rows(
        joint(type, "left", "right", Vec3(Real(0.5), Real(0.1), 0), Vec3(1, Real(0.3), Real(-0.2))))));
    // Away from the start, so that no value is zero.
    JointPose a = joint_pose(scene, 0), b = joint_pose(scene, 1);
    b.q = turned<double>(b.q, D3(0.3, -0.4, 0.2));
    b.x += D3(0.05, -0.02, 0.07);
    const Rigid::Joint& j = scene.model.joints[0];
    detail::JointRows rows;
    double value[6];
    detail::joint_rows(j, a, b, value, rows);
    const double h = 1e-6;
    for (int c = 0; c < 12; ++c) {
      const auto moved = [&](double by) {
        JointPose pa = a, pb = b;
        JointPose& p = c < 6 ? pa : pb;
        if (c % 6 < 3)
          p.x[c % 3] += by;
        else
          p.q = turned<double>(p.q, D3(by * D3::Unit(c % 3)));
        std::array<double, 6> value;
        detail::joint_values(j, pa, pb, reinterpret_cast<double(&)[6]>(*value.data()));
        return value;
      };
      const auto up = moved(h), down = moved(-h);
      for (int r = 0; r < 6; ++r) {
        const double numeric = (up[std::size_t(r)] - down[std::size_t(r)]) / (2 * h);
        const D3& linear = rows.n[r];
        const double exact = c < 3   ? -linear[c]
                             : c < 6 ? -rows.on_a[r][c - 3]
                             : c < 9 ? linear[c - 6]
                                     : rows.on_b[r][c - 9];
        // Central differences are better than 1e-9; frames kept as float are unit to 1e-7 only.
        EXPECT_NEAR(exact, numeric, 2e-7)
            << names_of(type)[std::size_t(type)] << " row " << r << " column " << c;
      }
    }
  }
}

TEST(RigidJoints, InternalJointsKeepMomentumAndHold) {
  for (const JointType type : all_types) {
    JointSpec spec =
        joint(type, "left", "right", Vec3(Real(0.5), Real(0.1), 0), Vec3(1, Real(0.3), Real(-0.2)));
    RigidScene scene(pair(spec));
    scene.params.gravity.setZero();
    scene.state.frames.v[0] = Vec3(1, -1, Real(0.5));
    scene.state.frames.w[0] = Vec3(3, 1, -2);
    scene.state.frames.w[1] = Vec3(-1, 4, 2);
    const D3 p = momentum(scene), l = angular_momentum(scene);
    double before = energy(scene);
    for (int k = 0; k < 300; ++k) {
      scene.step();
      // What joints take at once when velocities do not fit them; from then on energy stays, to the second
      // order of w h = 0.01 and rounding.
      if (k == 0) before = energy(scene);
      ASSERT_LT(error_of(scene), 2e-5) << names_of(type)[std::size_t(type)] << " step " << k;
    }
    const double eps = std::numeric_limits<Real>::epsilon();
    const double mass = 1 / double(scene.state.frames.inverse_mass[0]);
    // Rounding of 300 x 8 sub-steps of about ten operations each on 5 m/s at 5 m.
    const double scale = 24000 * eps * mass * 5;
    EXPECT_LT((momentum(scene) - p).norm(), scale) << names_of(type)[std::size_t(type)];
    // And equal and opposite impulses act a joint's gap apart, which is third order in w h: 1e-6 of the
    // angular momentum in a sub-step, of changing sign.
    EXPECT_LT((angular_momentum(scene) - l).norm(), 5 * scale + 1e-5 * l.norm())
        << names_of(type)[std::size_t(type)];
    // A rope that tautens takes energy, the spring of a mouse has some.
    if (type == JointType::rope) {
      EXPECT_LT(energy(scene), before);
    } else if (type != JointType::mouse) {
      EXPECT_NEAR(energy(scene) / before, 1, 1e-3) << names_of(type)[std::size_t(type)];
    }
  }
}

TEST(RigidJoints, AChainWithAHeavyEndDoesNotStretch) {
  for (const double ball : {100.0, 1000.0})
    for (const bool level : {false, true}) {
      RigidScene scene = validation::chain_scene(level, 100, ball);
      const double start = energy(scene);
      // What it could lose at most: the ball's fall.
      const double swing = ball * 9.81 * 20;
      for (int k = 0; k < 300; ++k) {
        scene.step();
        const validation::ChainErrors errors = validation::chain_errors(scene);
        ASSERT_LT(errors.gap, 1e-4) << ball << " kg, step " << k;
        ASSERT_LT(errors.stretch, 1e-4) << ball << " kg, step " << k;
        ASSERT_LT(energy(scene), start + 1e-3 * swing) << ball << " kg, step " << k;
      }
    }
}

TEST(SlowRigidJoints, SwingingChainsWithHeavyEndsNeverGainEnergy) {
  for (const int links : {30, 100})
    for (const double ball : {300.0, 1000.0, 2000.0}) {
      RigidScene scene = validation::chain_scene(true, links, ball);
      const double start = energy(scene), length = 0.2 * links, swing = ball * 9.81 * length;
      // Velocities are those of the middles of sub-steps of h: half of h's fall ahead.
      const double early = std::sqrt(2 * 9.81 * length) / (2 * 480 * length);
      double most = 0;
      for (int k = 0; k < 3600; ++k) {
        scene.step();
        most = std::max(most, (energy(scene) - start) / swing);
      }
      EXPECT_LT(most, early) << links << " links, " << ball << " kg";
    }
}

TEST(RigidJoints, HangingChainCarriesItsWeight) {
  RigidScene scene = validation::chain_scene(false, 10, 100);
  for (int k = 0; k < 60; ++k) scene.step();
  for (int i = 0; i < 10; ++i) {
    const Vec3& force = scene.state.joints.force[std::size_t(i)];
    const double weight = 9.81 * (100 + 9 - i);
    EXPECT_NEAR(force.y(), weight, 1e-4 * weight);
    EXPECT_LT(std::hypot(force.x(), force.z()), 1e-3 * weight);
  }
}

/// Pairs of boxes in hinges, falling onto a floor.
Rigid::Spec hinges(int count, Real lean = 0) {
  Rigid::Spec spec{.bodies = {validation::floor_box()}};
  for (int i = 0; i < count; ++i) {
    const Vec3 at(Real(i % 4) * Real(0.9) + Real(i % 5) * lean, 1 + Real(0.6) * Real(i / 4),
                  Real(0.13) * Real(i % 3));
    for (const Real side : {Real(-0.25), Real(0.25)})
      spec.bodies.push_back(validation::box(Vec3(Real(0.25), Real(0.05), Real(0.2)), at + Vec3(side, 0, 0)));
    JointSpec hinge =
        joint(JointType::hinge, std::to_string(2 * i + 1), std::to_string(2 * i + 2), at, Vec3::UnitZ());
    hinge.motion = within(-60, 90);
    spec.joints.push_back(hinge);
  }
  return spec;
}
std::unique_ptr<World> hinge_world(int threads) {
  WorldSettings settings;
  settings.threads = threads;
  auto world = std::make_unique<World>(settings);
  Rigid::Model model;
  Rigid::State state;
  Rigid::build(hinges(24), model, state);
  world->add<Rigid>("hinges", std::move(model), std::move(state), Rigid::Params{});
  return world;
}

TEST(RigidJoints, FallingHingesHaveTheSameBitsForAnyNumberOfThreads) {
  const auto hash_of = [](int threads) {
    const auto world = hinge_world(threads);
    for (int k = 0; k < 120; ++k) world->step_frame();
    return world->hash();
  };
  const auto one = hash_of(1);
  for (const int threads : {2, 3, 5, 8}) EXPECT_EQ(hash_of(threads), one) << threads;
}

TEST(RigidJoints, RestoredInMidFallGoesOnWithTheSameBits) {
  const auto straight = hinge_world(1), saved = hinge_world(1), restored = hinge_world(1);
  for (int k = 0; k < 50; ++k) straight->step_frame(), saved->step_frame();
  restored->restore(saved->snapshot());
  for (int k = 0; k < 60; ++k) straight->step_frame(), restored->step_frame();
  EXPECT_EQ(restored->hash(), straight->hash());
}

// Heaps that differ by millimetres fall differently, and now and then a pair balances on an edge for seconds:
// of 60 of them two moved after 4.5 s. So at most one of four may.
TEST(RigidJoints, FallingHingesHoldAndComeToRest) {
  int moving = 0;
  for (const Real lean : {Real(0), Real(0.001), Real(0.002), Real(0.003)}) {
    RigidScene scene(hinges(24, lean));
    for (int k = 0; k < 300; ++k) {
      scene.step();
      for (std::size_t j = 0; j < scene.model.joints.size(); ++j) ASSERT_LT(error_of(scene, j), 1e-3) << k;
    }
    double speed = 0;
    for (const Vec3& v : scene.state.frames.v) speed = std::max<double>(speed, v.norm());
    moving += speed > 0.2;
  }
  EXPECT_LE(moving, 1);
}

double turn_of(const RigidScene& scene, std::size_t i = 0) {
  const D3 x = scene.state.frames.rotation(i).cast<double>() * D3::UnitX();
  return std::atan2(x.y(), x.x());
}
constexpr double arm_mass = 10, arm_moment = arm_mass * (1 + 0.01) / 12 + arm_mass / 4,
                 degree = 0.017453292519943;

TEST(RigidJoints, ALimitStopsAndHolds) {
  RigidScene scene = arm(within(-30, 30));
  double lowest = 0;
  for (int k = 0; k < 120; ++k) {
    scene.step();
    lowest = std::min(lowest, turn_of(scene));
  }
  // Stops where it should, does not bounce, and bears the torque of the weight.
  EXPECT_NEAR(lowest, -30 * degree, 1e-4);
  EXPECT_NEAR(turn_of(scene), -30 * degree, 1e-4);
  const double torque = arm_mass * 9.81 * 0.5 * std::cos(30 * degree);
  EXPECT_NEAR(scene.state.joints.torque[0].z(), torque, 1e-3 * torque);
  EXPECT_NEAR(scene.state.joints.force[0].y(), arm_mass * 9.81, 1e-2);
  // And lets go.
  scene.params.gravity = Vec3(0, Real(9.81), 0);
  for (int k = 0; k < 20; ++k) scene.step();
  EXPECT_GT(turn_of(scene), -20 * degree);
}

TEST(RigidJoints, AMotorKeepsItsSpeedWithinItsStrength) {
  AxisSpec motor;
  motor.drive = Drive::velocity, motor.speed = 2, motor.strength = 1000;
  RigidScene strong = arm(motor);
  for (int k = 0; k < 60; ++k) strong.step();
  EXPECT_NEAR(strong.state.frames.w[0].z(), 2, 1e-4);
  EXPECT_NEAR(turn_of(strong), 2, 2.0 / 60);
  // Half of what would hold it: it falls with the other half, (tau - m g d) / I.
  motor.strength = Real(arm_mass * 9.81 * 0.25);
  RigidScene weak = arm(motor);
  weak.step();
  EXPECT_NEAR(weak.state.frames.w[0].z(), -arm_mass * 9.81 * 0.25 / arm_moment / 60, 1e-3);
  EXPECT_NEAR(weak.state.joints.torque[0].z(), motor.strength, 1e-2);
}

TEST(RigidJoints, ASpringHoldsTheArmWhereTorquesBalance) {
  AxisSpec spring;
  spring.drive = Drive::spring, spring.stiffness = 200, spring.damping = 40;
  RigidScene scene = arm(spring);
  for (int k = 0; k < 600; ++k) scene.step();
  const double angle = turn_of(scene);
  EXPECT_NEAR(-200 * angle, arm_mass * 9.81 * 0.5 * std::cos(angle), 0.02);
}

TEST(RigidJoints, ConeAndTwistLimitABall) {
  JointSpec ball = joint(JointType::ball, "", "0", Vec3::Zero(), Vec3::UnitX());
  ball.cone = 40, ball.twist = 20;
  RigidScene scene(
      {.bodies = {validation::box(Vec3(Real(0.5), Real(0.05), Real(0.1)), Vec3(Real(0.5), 0, 0))},
       .joints = {ball}});
  scene.state.frames.w[0] = Vec3(6, 2, 0);
  for (int k = 0; k < 240; ++k) {
    scene.step();
    double value[6];
    detail::joint_values(scene.model.joints[0], JointPose{}, joint_pose(scene, 0), value);
    ASSERT_LT(value[3], 40.1 * degree) << k;
    ASSERT_LT(std::abs(value[4]), 20.1 * degree) << k;
    ASSERT_LT(error_of(scene), 1e-4) << k;
  }
  // Hanging at the cone, its weight pulls the arm down by 40 degrees.
  const D3 x = scene.state.frames.rotation(0).cast<double>() * D3::UnitX();
  EXPECT_NEAR(std::acos(x.x()), 40 * degree, 1e-3);
}

TEST(RigidJoints, ARopeIsSlackUntilItIsTaut) {
  JointSpec rope = joint(JointType::rope, "", "0", Vec3::Zero());
  rope.anchor_b = Vec3(0, Real(-0.5), 0), rope.length = 2;
  RigidScene scene({.bodies = {validation::unit_box(0, -1, 0)}, .joints = {rope}});
  double lowest = 0;
  for (int k = 0; k < 120; ++k) {
    scene.step();
    if (k == 20) {  // it has fallen 0.6 m of 1.5 m
      EXPECT_EQ(scene.state.joints.force[0].y(), 0);
    }
    lowest = std::min<double>(lowest, scene.state.frames.x[0].y());
  }
  EXPECT_GE(lowest, -2.5001);
  EXPECT_NEAR(scene.state.frames.x[0].y(), -2.5, 1e-3);
  EXPECT_NEAR(scene.state.joints.force[0].y(), 9810, 10);
}

TEST(RigidJoints, AnOverloadedJointBreaksOnceAndIsReported) {
  RigidScene holds = arm({}, 200), breaks = arm({}, 120);
  int broke = 0;
  for (int k = 0; k < 60; ++k) {
    holds.step();
    const Report report = breaks.step();
    broke += static_cast<int>(report.value("joints broken"));
  }
  // A rod swinging down from level pulls with 5/2 of its weight at the bottom (energy and centripetal force).
  EXPECT_EQ(broke, 1);
  EXPECT_EQ(breaks.state.joints.broken[0], 1);
  EXPECT_LT(breaks.state.frames.x[0].y(), -0.6);
}

/// Boxes that hang from the world by fixed joints; each joint bears so many times its box's weight.
Rigid::Spec hanging(const std::vector<double>& bears) {
  Rigid::Spec spec;
  for (std::size_t k = 0; k < bears.size(); ++k) {
    spec.bodies.push_back(validation::unit_box(2.0 * double(k), 0, 0));
    spec.joints.push_back(joint(JointType::fixed, "", std::to_string(k), Vec3(Real(2 * k), Real(0.5), 0)));
    spec.joints.back().break_force = Real(bears[k] * 9810);
  }
  return spec;
}

TEST(RigidJoints, TheStateSaysWhichJointsBrokeInTheLastStep) {
  RigidScene scene(hanging({0.5, 2, 0.9, 2, 0.1}));
  EXPECT_TRUE(scene.state.joints.just_broken.empty());
  scene.step();
  EXPECT_EQ(scene.state.joints.just_broken, (std::vector<Index>{0, 2, 4}));
  EXPECT_EQ(scene.state.joints.broken, (std::vector<std::uint8_t>{1, 0, 1, 0, 1}));
  scene.step();
  EXPECT_TRUE(scene.state.joints.just_broken.empty());
  scene.params.gravity *= 3;
  scene.step();
  EXPECT_EQ(scene.state.joints.just_broken, (std::vector<Index>{1, 3}));
}

TEST(RigidJoints, BreaksAreSavedAndRestored) {
  const auto make = [] {
    auto world = std::make_unique<World>(WorldSettings{});
    Rigid::Model model;
    Rigid::State state;
    Rigid::build(hanging({0.5, 2, 0.9}), model, state);
    world->add<Rigid>("boxes", std::move(model), std::move(state), Rigid::Params{});
    return world;
  };
  const auto saved = make(), restored = make();
  saved->step_frame();
  restored->restore(saved->snapshot());
  auto& system = dynamic_cast<SystemOf<Rigid>&>(restored->system(0));
  EXPECT_EQ(system.state.joints.just_broken, (std::vector<Index>{0, 2}));
  EXPECT_EQ(restored->hash(), saved->hash());
  saved->step_frame(), restored->step_frame();
  EXPECT_TRUE(system.state.joints.just_broken.empty());
  EXPECT_EQ(restored->hash(), saved->hash());
  // A list that names what is not broken is refused.
  for (const std::vector<Index>& wrong : {std::vector<Index>{1}, {-1}, {3}, {2, 0}, {0, 0}}) {
    system.state.joints.just_broken = wrong;
    EXPECT_THROW(Rigid::check(system.model, system.state), Error) << wrong[0];
  }
}

TEST(RigidJoints, CloseTheirGapsAlikeWhereverTheyAre) {
  // A box a metre away from where a joint to the world holds it.
  const auto way = [](double at) {
    BodySpec body = validation::unit_box(at, 0, 0);
    body.name = "it", body.gravity_scale = 0;
    RigidScene scene(
        {.bodies = {body}, .joints = {joint(JointType::ball, "it", "", Vec3(Real(at - 0.5), 0, 0))}});
    scene.state.frames.x[0].x() += 1;
    for (int k = 0; k < 4; ++k) scene.step();
    return scene.state.frames.x[0].x() - at;
  };
  // Four positions, each known to half a last place, 2^-18 m.
  EXPECT_NEAR(way(64), way(0), 4 * std::ldexp(1, -18));
}

TEST(RigidJoints, TurnsOfSixAxesThatCannotBeToldApartAreRefused) {
  const auto refused = [](AxisSpec JointSpec::*axis, const AxisSpec& as, const char* what) {
    JointSpec six = joint(JointType::six_axes, "left", "right", Vec3(Real(0.5), 0, 0));
    six.turn_x.mode = six.turn_y.mode = six.turn_z.mode = AxisMode::locked;
    six.*axis = as;
    EXPECT_NE(test::message(pair(six)).find(what), std::string::npos) << test::message(pair(six));
  };
  refused(&JointSpec::turn_y, {}, "turn_y: is free while another");
  refused(&JointSpec::turn_y, within(-170, 170), "-80 to 80");
  refused(&JointSpec::turn_x, within(-300, 300), "-180 to 180");
  JointSpec fine = joint(JointType::six_axes, "left", "right", Vec3(Real(0.5), 0, 0));
  fine.turn_x = within(-170, 170), fine.turn_y = within(-75, 75);
  EXPECT_EQ(test::message(pair(fine)), "");
}

TEST(RigidJoints, AFreeSixAxesJointDoesNothingAndALockedOneIsFixed) {
  JointSpec six = joint(JointType::six_axes, "left", "right", Vec3(Real(0.5), 0, 0));
  RigidScene free(pair(six)), none(pair(six));
  none.model.joints.clear();
  none.state.joints = {};
  for (int k = 0; k < 30; ++k) free.step(), none.step();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(free.state.frames.x[i], none.state.frames.x[i]);
  AxisSpec locked;
  locked.mode = AxisMode::locked;
  six.x = six.y = six.z = six.turn_x = six.turn_y = six.turn_z = locked;
  RigidScene fixed(pair(six));
  fixed.state.frames.w[0] = Vec3(1, 2, 3);
  for (int k = 0; k < 60; ++k) fixed.step();
  EXPECT_LT(error_of(fixed), 1e-5);
}

TEST(RigidJoints, AClosedLoopOfHingesWithMoreRowsThanFreedomsMoves) {
  // Four bars in a plane: 4 x 5 rows on 4 x 6 freedoms, three of them redundant, and one way to move.
  Rigid::Spec spec;
  const Vec3 corners[] = {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(1, 1, 0), Vec3(0, 1, 0)};
  for (int i = 0; i < 4; ++i) {
    const Vec3 from = corners[i], to = corners[(i + 1) % 4];
    BodySpec bar = validation::box(Vec3(Real(0.5), Real(0.05), Real(0.05)), (from + to) / 2);
    bar.rotation = Vec3(0, 0, Real(90 * i));
    if (i == 0) bar.motion = rigid::Motion::fixed;
    spec.bodies.push_back(bar);
    spec.joints.push_back(
        joint(JointType::hinge, std::to_string((i + 3) % 4), std::to_string(i), from, Vec3::UnitZ()));
  }
  RigidScene scene(spec);
  scene.params.gravity = Vec3(Real(9.81), 0, 0);
  for (int k = 0; k < 120; ++k) {
    scene.step();
    // Until it lies flat, where the bars touch and any angle will do.
    for (std::size_t j = 0; j < 4 && k < 28; ++j) ASSERT_LT(error_of(scene, j), 1e-4) << k;
    for (std::size_t j = 0; j < 4; ++j) ASSERT_LT(error_of(scene, j), 0.02) << k;
  }
  EXPECT_NEAR(scene.state.frames.x[2].x(), 1.5, 0.01);
  EXPECT_NEAR(scene.state.frames.x[2].y(), 0.1, 0.05);  // joints have the last word over contacts
}

TEST(RigidJoints, AllocateNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  with_threads(1, [&] {
    RigidScene scene = validation::chain_scene(true, 20),
               mixed(pair(with_all_rows(joint(JointType::ball, "left", "right", Vec3(Real(0.5), 0, 0)))));
    JointSpec spec = joint(JointType::mouse, "left", "right", Vec3(1, 0, 0));
    spec.strength = 10;
    RigidScene mouse(pair(spec)),
        cross(pair(with_all_rows(joint(JointType::universal, "left", "right", Vec3(Real(0.5), 0, 0)))));
    for (int k = 0; k < 5; ++k) scene.step(), mixed.step(), mouse.step(), cross.step();
    const Real dt = Real(1) / 60;
    EXPECT_EQ(plenum_test::count_allocations([&] {
                for (int k = 0; k < 60; ++k) {
                  Rigid::step(scene.model, scene.state, scene.params, scene.workspace, dt);
                  for (RigidScene* s : {&mixed, &mouse, &cross})
                    Rigid::step(s->model, s->state, s->params, s->workspace, dt);
                }
              }),
              0);
  });
}

TEST(RigidJoints, JointsToMissingBodiesAreRefused) {
  const auto sentence_of = [](const JointSpec& spec) -> std::string {
    try {
      RigidScene scene(pair(spec));
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(sentence_of(joint(JointType::ball, "left", "rihgt", Vec3::Zero())).find("right"),
            std::string::npos);
  EXPECT_NE(sentence_of(joint(JointType::ball, "left", "2", Vec3::Zero())).find("names no body"),
            std::string::npos);
  EXPECT_NE(sentence_of(joint(JointType::ball, "left", "left", Vec3::Zero())).find("itself"),
            std::string::npos);
  EXPECT_NE(sentence_of(joint(JointType::ball, "", "", Vec3::Zero())).find("needs a body"),
            std::string::npos);
  EXPECT_NE(sentence_of(joint(JointType::hinge, "left", "right", Vec3::Zero(), Vec3::Zero())).find("axis"),
            std::string::npos);
  EXPECT_EQ(sentence_of(joint(JointType::ball, "0", "right", Vec3::Zero())), "");
  JointSpec cross = joint(JointType::universal, "left", "right", Vec3::Zero());
  cross.turn_y = within(30, -30);
  EXPECT_NE(sentence_of(cross).find("joints[0].turn_y.lower: is above upper"), std::string::npos);
}

TEST(RigidJoints, HoldWhatContactsWouldPartInVain) {
  // Balls on a floor, in each other by up to seven tenths, that collide although joints hold them so. Nothing
  // moves them: pushes that joints answer are internal, and the floor's is the weight.
  for (const JointType type : {JointType::ball, JointType::hinge, JointType::fixed}) {
    Rigid::Spec spec{.bodies = {validation::floor_box()}};
    for (int i = 0; i < 4; ++i) spec.bodies.push_back(validation::sphere(0.5, {0.3 * i, 0.5, 0}));
    for (int i = 1; i < 4; ++i) {
      JointSpec joint;
      joint.type = type, joint.body_a = std::to_string(i), joint.body_b = std::to_string(i + 1);
      joint.anchor = Vec3(Real(0.3 * (i - 0.5)), Real(0.5), 0), joint.collide = true;
      spec.joints.push_back(joint);
    }
    RigidScene scene(spec);
    Real highest = 0;
    for (int k = 0; k < 600; ++k) {
      scene.step();
      for (int i = 1; i <= 4; ++i) highest = std::max(highest, scene.state.frames.x[std::size_t(i)].y());
    }
    EXPECT_LT(highest, 0.52) << int(type);
  }
}

}}  // namespace plenum
