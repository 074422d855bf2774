// Touches that begin and end, sensors and layers.
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>

#include "../../validation/rigid_scenes.h"
#include "plenum/base/parallel.h"
#include "plenum/world/world.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Form;
using rigid::Motion;
using test::ball;
using validation::RigidScene;

bool has(const std::vector<Index2>& pairs, Index a, Index b) {
  return std::find(pairs.begin(), pairs.end(), Index2(a, b)) != pairs.end();
}

TEST(RigidTouch, ABounceBeginsAndEndsOnce) {
  RigidScene scene({.bodies = {validation::floor_box(), ball(0.5, Vec3(0, 2, 0))}});
  scene.model.colliders[1].restitution = Real(0.9);
  int begun = 0, ended = 0;
  for (int k = 0; k < 70; ++k) {  // falls for 0.55 s, is back after 1.65 s
    scene.step();
    begun += has(scene.state.touch.begun, 0, 1);
    ended += has(scene.state.touch.ended, 0, 1);
    EXPECT_EQ(has(scene.state.touch.pairs, 0, 1), begun > ended);
  }
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(ended, 1);
}

TEST(RigidTouch, AFrameTellsEventsOfAllItsSteps) {
  // A hard ball that bounces many times, and joints that break one after the other as bodies swing.
  Rigid::Spec spec{.bodies = {validation::floor_box(), ball(0.05, Vec3(0, Real(0.4), 0))}};
  for (int k = 0; k < 4; ++k) {
    spec.bodies.push_back(ball(0.1, Vec3(Real(5 + 3 * k), 5, 0)));
    spec.bodies.back().name = "pendulum " + std::to_string(k);
    spec.joints.push_back({.type = rigid::JointType::ball,
                           .body_b = spec.bodies.back().name,
                           .anchor = Vec3(Real(4 + 3 * k), 5, 0)});
    const double mass = 1000 * 4 / 3.0 * std::numbers::pi * 0.001;
    spec.joints.back().break_force = Real((0.7 + 0.6 * k) * mass * 9.81);  // a pendulum pulls by up to three
  }
  constexpr int steps = 6, frames = 240;
  WorldSettings settings;
  settings.substeps = steps;
  World world(settings);
  Rigid::Model model;
  Rigid::State state;
  Rigid::build(spec, model, state);
  model.colliders[1].restitution = Real(0.95);
  auto& system = world.add<Rigid>("bodies", std::move(model), std::move(state), Rigid::Params{});
  RigidScene single(spec);
  single.model.colliders[1].restitution = Real(0.95);
  single.params = system.parameters;
  int both = 0, early = 0, broken = 0;
  for (int f = 0; f < frames; ++f) {
    const double told = world.step_frame().systems[0].value("joints broken");
    std::vector<Index2> begun, ended;
    std::vector<Index> broke;
    for (int k = 0; k < steps; ++k) {
      Rigid::step(single.model, single.state, single.params, single.workspace,
                  static_cast<Real>(1.0 / 60 / steps));
      const Rigid::State& s = single.state;
      for (const auto& [from, to] : {std::pair(&s.touch.begun, &begun), {&s.touch.ended, &ended}})
        for (const Index2& pair : *from)
          if (!has(*to, pair[0], pair[1])) to->push_back(pair);
      broke.insert(broke.end(), s.joints.just_broken.begin(), s.joints.just_broken.end());
    }
    ASSERT_EQ(system.state.frames.x, single.state.frames.x) << f;
    EXPECT_EQ(system.state.touch.begun, begun) << f;
    EXPECT_EQ(system.state.touch.ended, ended) << f;
    std::sort(broke.begin(), broke.end());
    EXPECT_EQ(system.state.joints.just_broken, broke) << f;
    EXPECT_EQ(told, static_cast<double>(broke.size())) << f;
    both += has(begun, 0, 1) && has(ended, 0, 1);
    early += int(begun.size() + ended.size()) - int(single.state.touch.begun.size()) -
             int(single.state.touch.ended.size());
    broken += int(broke.size());
  }
  EXPECT_GT(both, 0);
  EXPECT_GT(early, 10);
  EXPECT_EQ(broken, 4);
}

TEST(RigidTouch, WhatSleepsGoesOnTouching) {
  RigidScene scene(validation::stack(3));
  scene.params.sleeping = true;
  int begun = 0, ended = 0;
  const auto run = [&](int steps) {
    for (int k = 0; k < steps; ++k) {
      scene.step();
      begun += int(scene.state.touch.begun.size());
      ended += int(scene.state.touch.ended.size());
    }
  };
  run(120);
  EXPECT_TRUE(scene.state.touch.pairs.empty());
  EXPECT_EQ(scene.state.touch.asleep, (std::vector<Index2>{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(begun - ended, 3);
  begun = ended = 0;
  Rigid::wake(scene.model, scene.state);
  run(1);
  EXPECT_EQ(scene.state.touch.pairs, (std::vector<Index2>{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(begun, 0);
  EXPECT_EQ(ended, 0);
  scene.state.frames.x[3].y() += 5;  // the top one is taken away
  run(1);
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(has(scene.state.touch.ended, 2, 3));
}

TEST(RigidTouch, ASensorFeelsAndDoesNotPush) {
  BodySpec gate = validation::fixed_box(Vec3(1, Real(0.25), 1), Vec3(0, 3, 0));
  gate.sensor = true;
  const BodySpec falling = ball(0.25, Vec3(0, 5, 0));
  RigidScene scene({.bodies = {validation::floor_box(), gate, falling}}),
      free({.bodies = {validation::floor_box(), falling}});
  scene.params.sleeping = true;
  Real entered = 0, left = 0;
  for (int k = 0; k < 60; ++k) {
    scene.step(), free.step();
    EXPECT_EQ(scene.state.frames.x[2], free.state.frames.x[1]) << k;
    if (has(scene.state.touch.begun, 1, 2)) entered = scene.state.frames.x[2].y();
    if (has(scene.state.touch.ended, 1, 2)) left = scene.state.frames.x[2].y();
  }
  // A step at 6 m/s is 10 cm, felt where it begins.
  EXPECT_NEAR(entered, 3.5, 0.25);
  EXPECT_NEAR(left, 2.5, 0.3);
  // A body that sleeps within a sensor is within it still.
  BodySpec cage = validation::fixed_box(Vec3(1, 1, 1), Vec3(0, 1, 0));
  cage.sensor = true;
  RigidScene caged({.bodies = {validation::floor_box(), cage, validation::unit_box(0, 0.5, 0)}});
  caged.params.sleeping = true;
  for (int k = 0; k < 120; ++k) {
    caged.step();
    EXPECT_FALSE(has(caged.state.touch.ended, 1, 2));
  }
  EXPECT_GE(caged.state.rest.island[2], 0);
  EXPECT_TRUE(has(caged.state.touch.asleep, 1, 2));
}

TEST(RigidTouch, SensorsAreNoSolidsForOtherSystems) {
  BodySpec gate = validation::fixed_box(Vec3(1, Real(0.25), 1), Vec3(0, 3, 0)),
           two = ball(0.5, Vec3(4, 1, 0));
  gate.sensor = true;
  two.shapes.push_back(two.shapes[0]), two.shapes[1].position = Vec3(1, 0, 0);
  RigidScene scene({.bodies = {validation::floor_box(), gate, two}});
  const auto bodies = Rigid::bodies(scene.model, scene.state, scene.params, scene.workspace);
  ASSERT_EQ(bodies.size(), 3u);
  EXPECT_EQ(bodies[0].owner, 0);
  EXPECT_EQ(bodies[1].owner, 2);
  EXPECT_EQ(bodies[2].owner, 2);
  // Impulses name solids by their place in that list.
  const std::vector<BodyImpulse> push = {{.body = 1, .impulse = Vec3(1, 0, 0), .point = bodies[1].centre}};
  Rigid::absorb(scene.model, scene.state, push);
  EXPECT_GT(scene.state.frames.v[2].x(), 0);
}

TEST(RigidTouch, LayersPassThroughEachOther) {
  BodySpec ghost = ball(0.25, Vec3(0, 1, 0)), solid = ball(0.25, Vec3(2, 1, 0));
  ghost.passes = {3};
  BodySpec floor = validation::floor_box();
  floor.layer = 3;
  RigidScene scene({.bodies = {floor, ghost, solid}});
  for (int k = 0; k < 60; ++k) scene.step();
  EXPECT_LT(scene.state.frames.x[1].y(), -2);
  EXPECT_NEAR(scene.state.frames.x[2].y(), 0.25, 1e-3);
}

TEST(RigidTouch, TheSamePairsForAnyNumberOfThreads) {
  const auto run = [](int threads) {
    Rigid::Spec spec = validation::bin();
    spec.bodies.resize(155);
    RigidScene scene(spec);
    scene.params.sleeping = true;
    std::vector<Index2> all;
    with_threads(threads, [&] {
      for (int k = 0; k < 200; ++k) {
        scene.step();
        for (const auto* list : {&scene.state.touch.begun, &scene.state.touch.ended})
          all.insert(all.end(), list->begin(), list->end());
      }
    });
    return all;
  };
  const auto one = run(1);
  EXPECT_GT(one.size(), 100u);
  for (const int threads : {2, 5}) EXPECT_EQ(run(threads), one);
}

}}  // namespace plenum
