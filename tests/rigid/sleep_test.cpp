// Islands at rest: when they sleep, what wakes them, and that neither depends on threads or interruptions.
#include <gtest/gtest.h>

#include <cmath>

#include "../../validation/rigid_scenes.h"
#include "plenum/base/parallel.h"
#include "plenum/world/world.h"
#include "rigid/joints.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Drive;
using rigid::Form;
using rigid::JointSpec;
using rigid::JointType;
using rigid::Motion;
using validation::RigidScene;

struct Sleepy : RigidScene {
  explicit Sleepy(const Rigid::Spec& spec) : RigidScene(spec) { params.sleeping = true; }
  void run(int steps) {
    for (int k = 0; k < steps; ++k) step();
  }
  bool sleeps(std::size_t body) const { return state.rest.island[body] >= 0; }
  /// Of dynamic bodies.
  int num_sleeping() const {
    int count = 0;
    for (Index island : state.rest.island) count += island >= 0;
    return count;
  }
  double energy() const {
    double sum = 0;
    const Frames& f = state.frames;
    for (std::size_t i = 0; i < f.size(); ++i) {
      if (!(f.inverse_mass[i] > 0)) continue;
      const Vector3<double> spin = f.rotation(i).cast<double>().conjugate() * f.w[i].cast<double>();
      const double m = 1 / double(f.inverse_mass[i]);
      sum += (m * f.v[i].cast<double>().squaredNorm() +
              model.inertia[i].cast<double>().dot(spin.cwiseProduct(spin))) /
                 2 -
             m * params.gravity.cast<double>().dot(f.x[i].cast<double>());
    }
    return sum;
  }
};

TEST(RigidSleep, AStackSleepsAndStaysWhereItIs) {
  Sleepy scene(validation::stack(10));
  scene.run(240);
  ASSERT_EQ(scene.num_sleeping(), 10);
  for (std::size_t i = 1; i <= 10; ++i) EXPECT_EQ(scene.state.rest.island[i], 1);  // one island
  const auto x = scene.state.frames.x;
  scene.run(240);
  EXPECT_EQ(scene.state.frames.x, x);
  EXPECT_EQ(scene.num_sleeping(), 10);
}

TEST(RigidSleep, StacksOfEverySizeSleep) {
  for (const double size : {0.01, 1.0, 100.0}) {
    Rigid::Spec spec{
        .bodies = {validation::fixed_box(Vec3::Constant(Real(50 * size)), Vec3(0, Real(-50 * size), 0))}};
    for (int i = 0; i < 5; ++i)
      spec.bodies.push_back(
          validation::box(Vec3::Constant(Real(0.5 * size)), Vec3(0, Real((0.505 + 1.01 * i) * size), 0)));
    Sleepy scene(spec);
    // Times go with the root of the size.
    scene.run(180 + static_cast<int>(180 * std::sqrt(size)));
    EXPECT_EQ(scene.num_sleeping(), 5) << size << " m";
  }
}

TEST(RigidSleep, WhatFloatsOrFliesDoesNotSleep) {
  Rigid::Spec spec{.bodies = {validation::floor_box()}};
  for (int i = 0; i < 2; ++i) spec.bodies.push_back(validation::unit_box(i, 20, 0));  // touching
  for (std::size_t i = 1; i < 3; ++i) spec.bodies[i].velocity = Vec3(0, 0, Real(0.01));
  Sleepy scene(spec);
  scene.params.gravity.setZero();
  scene.run(300);
  EXPECT_EQ(scene.num_sleeping(), 0);
  EXPECT_NEAR(scene.state.frames.x[1].z(), 0.05, 1e-4);

  // At the top of its flight in weak gravity a body is slow for longer than sleep_time.
  Sleepy thrown({.bodies = {validation::floor_box(), validation::unit_box(0, 0.5, 0)}});
  thrown.params.gravity = Vec3(0, Real(-0.01), 0);
  thrown.state.frames.v[1] = Vec3(0, Real(0.02), 0);
  thrown.run(120);
  EXPECT_FALSE(thrown.sleeps(1));
  EXPECT_NEAR(thrown.state.frames.v[1].y(), 0, 1e-3);
}

/// A slab that stands on the floor's side, a stack of three on it, and another stack beside.
Rigid::Spec two_stacks() {
  Rigid::Spec spec{.bodies = {validation::floor_box(),
                              validation::fixed_box(Vec3(1, Real(0.25), 1), Vec3(0, Real(0.25), 0))}};
  for (int i = 0; i < 3; ++i) spec.bodies.push_back(validation::unit_box(0, 1 + i, 0));
  for (int i = 0; i < 3; ++i) spec.bodies.push_back(validation::unit_box(5, 0.5 + i, 0));
  return spec;
}

TEST(RigidSleep, AStackWakesWhenItsSupportIsRemoved) {
  Sleepy scene(two_stacks());
  scene.run(240);
  ASSERT_EQ(scene.num_sleeping(), 6);
  scene.state.frames.x[1] += Vec3(0, 0, -10);  // pulled away, so fast that nothing follows
  scene.step();
  for (std::size_t i = 2; i < 5; ++i) EXPECT_FALSE(scene.sleeps(i));
  for (std::size_t i = 5; i < 8; ++i) EXPECT_TRUE(scene.sleeps(i));  // the other stack need not know
  scene.run(300);
  EXPECT_NEAR(scene.state.frames.x[4].y(), 2.5, 0.02);
  EXPECT_EQ(scene.num_sleeping(), 6);
}

TEST(RigidSleep, ABlowMovesASleepingStackAsItMovesOneThatIsAwake) {
  Rigid::Spec spec = two_stacks();
  BodySpec ball;
  ball.shapes[0].shape = Form::sphere;
  ball.position = Vec3(0, 30, 12);
  ball.gravity_scale = 0;
  spec.bodies.push_back(ball);
  Sleepy asleep(spec), awake(spec);
  awake.params.sleeping = false;
  for (Sleepy* scene : {&asleep, &awake}) {
    scene->run(240);
    // Straight at the box in the middle.
    scene->state.frames.x[8] = Vec3(0, 2, 6);
    scene->state.frames.v[8] = Vec3(0, 0, -8);
  }
  ASSERT_EQ(asleep.num_sleeping(), 7);  // and the ball, which hangs there
  for (int k = 0; k < 45; ++k) {
    asleep.step(), awake.step();
    for (std::size_t i = 0; i < spec.bodies.size(); ++i)
      EXPECT_LT((asleep.state.frames.v[i] - awake.state.frames.v[i]).norm(), k < 40 ? 0.05 : 0.5)
          << k << " " << i;
  }
  EXPECT_FALSE(asleep.sleeps(2));
  EXPECT_TRUE(asleep.sleeps(6));
  EXPECT_LT(asleep.state.frames.v[3].z(), -1);  // it was hit
}

TEST(RigidSleep, ImpulsesGravityAndWhatTheyStandOnWake) {
  Rigid::Spec spec = two_stacks();
  spec.bodies[1].motion = Motion::kinematic;
  const auto at_rest = [&] {
    Sleepy scene(spec);
    scene.run(240);
    EXPECT_EQ(scene.num_sleeping(), 6);
    return scene;
  };
  Sleepy pushed = at_rest();
  // Collider 3 is body 3, each having one.
  const BodyImpulse impulse{3, Vec3(100, 0, 0), pushed.state.frames.x[3]};
  Rigid::absorb(pushed.model, pushed.state, std::span(&impulse, 1));
  pushed.step();
  EXPECT_EQ(pushed.num_sleeping(), 3);

  Sleepy turned = at_rest();
  turned.params.gravity = Vec3(1, Real(-9.81), 0);
  turned.step();
  EXPECT_EQ(turned.num_sleeping(), 0);

  Sleepy lifted = at_rest();
  lifted.state.frames.v[1] = Vec3(0, Real(0.5), 0);
  lifted.step();
  EXPECT_EQ(lifted.num_sleeping(), 3);
  lifted.run(120);
  EXPECT_EQ(lifted.num_sleeping(), 3);  // on a lift nobody sleeps, however smooth the ride
  EXPECT_NEAR(lifted.state.frames.v[4].y(), 0.5, 0.01);

  Sleepy moved = at_rest();
  moved.state.frames.x[4] += Vec3(0, 1, 0);
  moved.step();
  EXPECT_EQ(moved.num_sleeping(), 3);
  EXPECT_LT(moved.state.frames.v[4].y(), -0.1);

  Sleepy told = at_rest();
  Rigid::wake(told.model, told.state);
  EXPECT_EQ(told.num_sleeping(), 0);
  EXPECT_TRUE(told.state.rest.contacts.pair.empty());
  EXPECT_GE(told.state.contacts.pair.size(), 6u);

  Sleepy off = at_rest();
  off.params.sleeping = false;
  off.step();
  EXPECT_EQ(off.num_sleeping(), 0);
}

TEST(RigidSleep, AHangingChainSleepsAsOneAndWakesWithItsAnchor) {
  Rigid::Spec spec = validation::chain(false, 10, 10);
  BodySpec beam = validation::fixed_box(Vec3::Constant(Real(0.1)), spec.joints[0].anchor);
  beam.name = "beam";
  spec.bodies.push_back(beam);
  (spec.joints[0].body_a.empty() ? spec.joints[0].body_a : spec.joints[0].body_b) = "beam";
  Sleepy scene(spec);
  scene.run(120);
  ASSERT_EQ(scene.num_sleeping(), 10);
  const auto pull = scene.state.joints.pull;
  scene.run(60);
  EXPECT_EQ(scene.state.joints.pull, pull);
  Sleepy moved = scene;
  moved.state.frames.x.back() += Vec3(Real(0.05), 0, 0);
  moved.step();
  EXPECT_EQ(moved.num_sleeping(), 0);
  scene.state.frames.v[9] = Vec3(1, 0, 0);
  scene.step();
  EXPECT_EQ(scene.num_sleeping(), 0);
  // As of a chain that never slept: the ball is held from the first step on.
  EXPECT_LT(std::abs(scene.state.frames.v[9].y()), 0.1);
}

TEST(RigidSleep, WakingGivesNoEnergy) {
  Rigid::Spec spec = validation::bin();
  spec.bodies.resize(205);
  // Else a ball that spins in its place keeps all awake that it touches.
  for (BodySpec& body : spec.bodies) body.rolling_resistance = body.spinning_friction = Real(0.01);
  Sleepy scene(spec);
  // A heap is chaotic: when most of it has come to rest differs between processors.
  for (int n = 0; n < 60 && scene.num_sleeping() <= 100; ++n) scene.run(60);
  ASSERT_GT(scene.num_sleeping(), 100);
  double before = scene.energy();
  double mass = 0;
  for (Real m : scene.state.frames.inverse_mass) mass += m > 0 ? 1 / double(m) : 0;
  // Overlap that rest has left may be pushed apart: a heap's mean overlap is under a millimetre.
  const double allowed = mass * 9.81 * 1e-3;
  for (int k = 0; k < 4; ++k) {
    Rigid::wake(scene.model, scene.state);
    for (int n = 0; n < 60; ++n) {
      scene.step();
      EXPECT_LT(scene.energy(), before + allowed);
    }
    before = std::min(before, scene.energy());
  }
}

/// Half of the bin's bodies in a pile, which has come to rest in part.
World pile_in_bin(int threads, bool sleeping, int bodies) {
  WorldSettings settings;
  settings.threads = threads;
  World world(settings);
  Rigid::Spec spec = validation::bin();
  spec.bodies.resize(static_cast<std::size_t>(bodies) + 5);
  Rigid::Model model;
  Rigid::State state;
  Rigid::build(spec, model, state);
  Rigid::Params params;
  params.sleeping = sleeping;
  world.add<Rigid>("bodies", std::move(model), std::move(state), params);
  return world;
}

TEST(RigidSleep, TheSameBitsForAnyNumberOfThreads) {
  for (const bool sleeping : {true, false}) {
    const auto hash_of = [&](int threads) {
      World world = pile_in_bin(threads, sleeping, 150);
      for (int k = 0; k < 300; ++k) world.step_frame();
      return world.hash();
    };
    const auto one = hash_of(1);
    EXPECT_EQ(hash_of(3), one) << sleeping;  // more of them: `validate rigid/threads`
  }
}

TEST(SlowRigidSleep, TheWholeBinHasTheSameBitsForAnyNumberOfThreads) {
  for (const bool sleeping : {true, false}) {
    const auto hash_of = [&](int threads) {
      World world = pile_in_bin(threads, sleeping, 2000);
      for (int k = 0; k < (sleeping ? 400 : 120); ++k) world.step_frame();
      return world.hash();
    };
    const auto one = hash_of(1);
    EXPECT_EQ(hash_of(3), one) << sleeping;  // more of them: `validate rigid/threads`
  }
}

TEST(RigidSleep, ARunThatIsInterruptedSleepsAndWakesLikeOneThatIsNot) {
  World world = pile_in_bin(2, true, 150);
  for (int k = 0; k < 400; ++k) world.step_frame();
  const std::vector<std::byte> saved = world.snapshot();
  World resumed = pile_in_bin(1, true, 150);
  resumed.restore(saved, "saved");
  for (int k = 0; k < 300; ++k) {
    // All of it wakes half-way.
    if (k == 100)
      for (World* w : {&world, &resumed})
        static_cast<SystemOf<Rigid>&>(w->system(0)).parameters.gravity = Vec3(2, -9, 0);
    if (k % 7 == 0) resumed.system(0).poison_workspace();
    world.step_frame(), resumed.step_frame();
  }
  EXPECT_EQ(resumed.hash(), world.hash());
}

TEST(RigidSleep, SleepingAllocatesNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  with_threads(1, [&] {
    Sleepy scene(two_stacks());
    scene.run(240);
    EXPECT_EQ(plenum_test::count_allocations([&] {
                for (int k = 0; k < 60; ++k)
                  Rigid::step(scene.model, scene.state, scene.params, scene.workspace, Real(1) / 60);
              }),
              0);
  });
}

// A minute hand, a slider and what lies on a slow belt go on; what a motor cannot move falls asleep.
TEST(RigidSleep, SlowMotorsAndBeltsGoOn) {
  for (const bool slides : {false, true}) {
    JointSpec joint =
        test::joint(slides ? JointType::slider : JointType::hinge, "", "0", Vec3(0, 2, 0), Vec3::UnitY());
    joint.motion.drive = Drive::velocity, joint.motion.speed = Real(0.00175);
    Sleepy scene({.bodies = {validation::box(Vec3::Constant(Real(0.2)), Vec3(0, 2, 0))}, .joints = {joint}});
    scene.params.gravity.setZero();
    for (int k = 0; k < 60 * 60; ++k) scene.step();
    const Frames& f = scene.state.frames;
    const double gone = slides ? f.x[0].y() - 2 : 2 * std::asin(std::abs(f.q[0].y()));
    EXPECT_NEAR(gone, 0.00175 * 60, 0.01 * 0.00175 * 60) << slides;
  }
  BodySpec belt = validation::fixed_box(Vec3(5, Real(0.5), 1), Vec3(0, Real(-0.5), 0));
  belt.surface_velocity = Vec3(Real(0.005), 0, 0);
  Sleepy carried({.bodies = {belt, validation::box(Vec3::Constant(Real(0.2)), Vec3(0, Real(0.2), 0))}});
  for (int k = 0; k < 20 * 60; ++k) carried.step();
  EXPECT_NEAR(carried.state.frames.x[1].x(), 0.1, 0.002);

  JointSpec weak = test::joint(JointType::hinge, "", "0", Vec3(0, Real(0.2), 0), Vec3::UnitY());
  weak.motion.drive = Drive::velocity, weak.motion.speed = 1, weak.motion.strength = Real(0.1);
  Sleepy stuck({.bodies = {validation::box(Vec3::Constant(Real(0.2)), Vec3(0, Real(0.2), 0)),
                           validation::fixed_box(Vec3(Real(0.1), Real(0.1), Real(0.1)),
                                                 Vec3(Real(0.301), Real(0.2), Real(0.1)))},
                .joints = {weak}});
  for (int k = 0; k < 10 * 60; ++k) stuck.step();
  EXPECT_TRUE(stuck.sleeps(0));
}

}}  // namespace plenum
