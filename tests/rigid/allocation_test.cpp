// Steps of a heap in motion allocate nothing, once there has been as much of everything as there will be.
#include <gtest/gtest.h>

#include <cmath>

#include "../../validation/rigid_scenes.h"
#include "plenum/base/parallel.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using validation::RigidScene;

/// The bin of scene C with 200 bodies, and a paddle that turns in it.
Rigid::Spec stirred_bin() {
  Rigid::Spec spec = validation::bin(2, 5);
  rigid::BodySpec paddle = validation::box(Vec3(Real(0.1), Real(0.4), Real(0.9)), Vec3(0, Real(0.5), 0));
  paddle.motion = rigid::Motion::kinematic;
  paddle.angular_velocity = Vec3(0, 2, 0);
  spec.bodies.push_back(paddle);
  return spec;
}

class StirredBin : public ::testing::TestWithParam<Rigid::BroadMethod> {};
INSTANTIATE_TEST_SUITE_P(Methods, StirredBin,
                         ::testing::Values(Rigid::BroadMethod::tree, Rigid::BroadMethod::sweep,
                                           Rigid::BroadMethod::grid));

TEST_P(StirredBin, AllocatesNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  with_threads(1, [&] {
    RigidScene scene(stirred_bin());
    scene.params.broad_phase = GetParam();
    int steps = 0;
    // Gravity turns, too, so that the heap leans to one wall after the other.
    const auto step = [&] {
      const double angle = 0.02 * steps++;
      scene.params.gravity =
          Real(9.81) * Vec3(Real(0.5 * std::sin(angle)), Real(-0.8), Real(0.5 * std::cos(angle)));
      Rigid::step(scene.model, scene.state, scene.params, scene.workspace, Real(1) / 60);
    };
    for (int k = 0; k < 300; ++k) step();
    // A turn of gravity, three times from the same start: there is no more of anything than there has been.
    // The tree has a memory of its own, of where boxes were, which the second time is that of the third.
    const Rigid::State start = scene.state;
    const int started = steps;
    const std::vector<Vec3> before = scene.state.frames.x;
    for (int round = 0; round < 3; ++round) {
      scene.state = start;
      steps = started;
      for (int k = 0; k < 315; ++k) {
        const long made = plenum_test::count_allocations(step);
        if (round == 2) {
          ASSERT_EQ(made, 0) << "in step " << steps << " with " << scene.state.contacts.pair.size()
                             << " contacts";
        }
      }
    }
    // It did move.
    double way = 0;
    for (std::size_t i = 0; i < before.size(); ++i)
      way += double((scene.state.frames.x[i] - before[i]).norm()) / double(before.size());
    EXPECT_GT(way, 0.3);
  });
}

/// A light box under loads of ten and a hundred times its mass.
Rigid::Spec column() {
  Rigid::Spec spec{.bodies = {validation::floor_box()}};
  for (int i = 0; i < 3; ++i) {
    spec.bodies.push_back(validation::unit_box(0, 0.5 + i, 0));
    spec.bodies.back().density = Real(10 * std::pow(10, i));
  }
  return spec;
}

// What is found anew in each step: columns, towers, faces that are one.
TEST(RigidAllocation, WhatStandsAllocatesNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  const std::pair<const char*, Rigid::Spec> cases[] = {{"column", column()},
                                                       {"tower", validation::slabs(40, 0.1)},
                                                       {"pallet", validation::laden_pallet(1, 4)},
                                                       {"crates", validation::crates_of_four(5, 1)}};
  with_threads(1, [&] {
    for (const auto& [name, spec] : cases) {
      RigidScene scene(spec);
      scene.params.sleeping = false;
      const auto step = [&] { scene.step(); };
      for (int k = 0; k < 120; ++k) step();
      for (int k = 0; k < 120; ++k)
        ASSERT_EQ(plenum_test::count_allocations(step), 0) << name << " step " << k;
    }
  });
}

}}  // namespace plenum
