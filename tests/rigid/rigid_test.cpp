// Rigid bodies: laws, stacks, the same bits for any number of threads, no allocation at rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "../../validation/rigid_scenes.h"
#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/solvers/rigid/detail/workspace.h"
#include "plenum/world/world.h"
#include "rigid/scene_laws.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Form;
using test::angular_momentum;
using test::D3;
using test::energy;
using test::momentum;
using validation::RigidScene;

/// Boxes, balls, capsules and hulls flying at each other.
Rigid::Spec swarm(int count) {
  Rigid::Spec spec = validation::bin();
  spec.bodies.erase(spec.bodies.begin(), spec.bodies.begin() + 5);
  spec.bodies.resize(static_cast<std::size_t>(count));
  const Vec3 middle(-Real(0.45), Real(1.5), 0);
  for (std::size_t i = 0; i < spec.bodies.size(); ++i) {
    BodySpec& body = spec.bodies[i];
    body.velocity = 2 * (middle - body.position);
    body.angular_velocity = Vec3(Real(i % 5), Real(i % 3), -Real(i % 7));
  }
  return spec;
}

TEST(Rigid, FallsAsSymplecticEulerDoes) {
  RigidScene scene({.bodies = {validation::unit_box(1, 2, 3)}});
  for (int k = 0; k < 60; ++k) scene.step();
  // y = -g h^2 n (n + 1) / 2 in n sub-steps of h; what is left is rounding of 480 sums near 5 m.
  const int n = 60 * scene.params.substeps;
  const double h = 1.0 / n;
  EXPECT_NEAR(scene.state.frames.x[0].y(), 2 - 9.81 * h * h * n * (n + 1) / 2, 1e-4);
  EXPECT_EQ(scene.state.frames.x[0].x(), 1);
}

TEST(Rigid, CollisionsKeepMomentumAndLoseEnergy) {
  RigidScene scene(swarm(60));
  scene.params.gravity.setZero();
  const D3 p = momentum(scene), l = angular_momentum(scene);
  double before = energy(scene);
  const double start = before;
  double scale_p = 0, scale_l = 0;
  for (std::size_t i = 0; i < scene.state.frames.size(); ++i) {
    scale_p += double(scene.state.frames.v[i].norm()) / double(scene.state.frames.inverse_mass[i]);
    scale_l += double(scene.state.frames.v[i].norm()) * double(scene.state.frames.x[i].norm()) /
               double(scene.state.frames.inverse_mass[i]);
  }
  for (int k = 0; k < 240; ++k) {
    scene.step();
    const double now = energy(scene);
    // Pushing overlap apart may give some back; a passive heap never gains over the start.
    EXPECT_LE(now, start * 1.0001);
    before = now;
  }
  EXPECT_LT(before, 0.9 * start);  // it did collide
  const double eps = std::numeric_limits<Real>::epsilon();
  // Equal and opposite impulses: rounding of some 240 * 8 * 2 additions, and for L of anchors that stay where
  // they were at the step's start while bodies move up to 1 cm a sub-step of 1 m.
  EXPECT_LT((momentum(scene) - p).norm(), 4000 * eps * scale_p);
  EXPECT_LT((angular_momentum(scene) - l).norm(), 0.01 * scale_l);
}

TEST(Rigid, AFreeBodyKeepsAngularMomentumAndEnergy) {
  RigidScene scene(validation::spinning_box());
  scene.params.gravity.setZero();
  const D3 l = angular_momentum(scene);
  const double e = energy(scene);
  for (int k = 0; k < 1200; ++k) scene.step();
  EXPECT_LT((angular_momentum(scene) - l).norm(), 1e-4 * l.norm());
  EXPECT_NEAR(energy(scene) / e, 1, 2e-4);  // the bar for a minute, here for a third of it
}

TEST(Rigid, AStackOfTwentyStands) {
  RigidScene scene(validation::stack(20));
  for (int k = 0; k < 600; ++k) scene.step();
  const validation::StackErrors errors = validation::stack_errors(scene);
  EXPECT_LT(errors.height_loss, 0.01);
  EXPECT_LT(errors.drift, 0.003);
}

// Two boxes that overlap are pushed apart straight, and keep nothing of the speed at which that is done: 4 of
// their sizes a second at most (ContactSettings::push_speed), of which 1 % may stay.
TEST(Rigid, BoxesThatOverlapPartWithoutSpeedOrSpin) {
  for (const double overlap : {0.02, 0.1}) {
    RigidScene scene({.bodies = {validation::unit_box(0, 0, 0), validation::unit_box(0, 1 - overlap, 0)}});
    scene.params.gravity.setZero();
    for (int k = 0; k < 60; ++k) scene.step();
    const Frames& f = scene.state.frames;
    EXPECT_NEAR(f.x[1].y() - f.x[0].y(), 1, 0.01);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_LT(f.v[i].norm(), 0.04) << overlap << " m";
      EXPECT_LT(f.w[i].norm(), 0.04) << overlap << " m";
    }
  }
}

// Nothing presses, so nothing of the push may stay: rounding apart, less than the 35/s of the default
// contacts give by the slop of 1e-4 m, 3.5 mm/s.
TEST(Rigid, RowsThatOverlapPartWithoutSpeed) {
  for (const double overlap : {0.003, 0.01, 0.1}) {
    Rigid::Spec spec;
    for (int i = 0; i < 10; ++i) spec.bodies.push_back(validation::unit_box(i * (1 - overlap), 0, 0));
    RigidScene scene(spec);
    scene.params.gravity.setZero();
    for (int k = 0; k < 180; ++k) {
      scene.step();
      for (const Vec3& v : scene.state.frames.v) ASSERT_LT(v.norm(), 0.0035) << overlap << " m, step " << k;
    }
    const std::vector<Vec3>& x = scene.state.frames.x;
    for (std::size_t i = 1; i < 10; ++i) EXPECT_GT(x[i].x() - x[i - 1].x(), 0.999) << overlap << " m";
  }
}
TEST(Rigid, AStackThatOverlapsRisesAndStands) {
  for (const double overlap : {0.01, 0.1}) {
    Rigid::Spec spec{.bodies = {validation::floor_box()}};
    for (int i = 0; i < 10; ++i)
      spec.bodies.push_back(validation::unit_box(0, 0.5 - overlap + i * (1 - overlap), 0));
    RigidScene scene(spec);
    double highest = 0;
    for (int k = 0; k < 600; ++k) {
      scene.step();
      highest = std::max(highest, double(scene.state.frames.x[10].y()));
    }
    // Half a metre per second throws it 13 mm up; 20 m/s threw it over the others.
    EXPECT_LT(highest, 9.5 + 0.013) << overlap << " m";
    EXPECT_NEAR(scene.state.frames.x[10].y(), 9.5, 0.01) << overlap << " m";
    EXPECT_LT(scene.state.frames.v[10].norm(), 0.01) << overlap << " m";
  }
}

TEST(Rigid, AStackStandsForEverySizeAndDensity) {
  for (const double size : {0.01, 1.0, 100.0})
    for (const double density : {1.0, 1e4}) {
      Rigid::Spec spec{
          .bodies = {validation::fixed_box(Vec3::Constant(Real(50 * size)), Vec3(0, Real(-50 * size), 0))}};
      for (int i = 0; i < 5; ++i) {
        spec.bodies.push_back(
            validation::box(Vec3::Constant(Real(0.5 * size)), Vec3(0, Real((0.5 + i) * size), 0)));
        spec.bodies.back().density = Real(density);
      }
      RigidScene scene(spec);
      for (int k = 0; k < 300; ++k) scene.step();
      for (int i = 1; i <= 5; ++i) {
        const Vec3& x = scene.state.frames.x[static_cast<std::size_t>(i)];
        // Overlap of neighbours under 1 % of the size.
        const double below =
            i == 1 ? -0.5 * size : double(scene.state.frames.x[static_cast<std::size_t>(i - 1)].y());
        EXPECT_NEAR(x.y() - below, size, 0.01 * size) << size << " m, " << density;
        EXPECT_LT(std::hypot(x.x(), x.z()), 0.01 * size) << size << " m, " << density;
      }
    }
}

TEST(Rigid, ABoxOnASlopeSticksAndSlidesAsCoulombSays) {
  const double angle = std::atan(0.5);
  for (const double friction : {0.505, 0.495}) {
    BodySpec floor =
        validation::fixed_box(Vec3(50, 1, 50), Vec3(Real(-std::sin(angle)), Real(-std::cos(angle)), 0));
    BodySpec block = validation::box(Vec3(Real(0.5), Real(0.25), Real(0.5)),
                                     Vec3(Real(0.25 * std::sin(angle)), Real(0.25 * std::cos(angle)), 0));
    floor.rotation = block.rotation = Vec3(0, 0, Real(-angle * 180 / 3.14159265358979));
    floor.friction = block.friction = Real(friction);
    RigidScene scene({.bodies = {floor, block}});
    for (int k = 0; k < 60; ++k) scene.step();
    const Vec3 start = scene.state.frames.x[1];
    for (int k = 0; k < 300; ++k) scene.step();
    const double way = (scene.state.frames.x[1] - start).norm();
    if (friction > 0.5)
      EXPECT_LT(way, 1e-3);
    else  // (g sin - mu g cos) t^2 / 2 from its speed after the first second on, at least
      EXPECT_GT(way, 9.81 * (std::sin(angle) - friction * std::cos(angle)) * 25 / 2);
  }
}

TEST(Rigid, TheSameBitsForAnyNumberOfThreads) {
  const auto hash_of = [](int threads) {
    WorldSettings settings;
    settings.threads = threads;
    World world(settings);
    Rigid::Spec spec = swarm(120);
    spec.bodies.push_back(validation::floor_box());
    Rigid::Model model;
    Rigid::State state;
    Rigid::build(spec, model, state);
    world.add<Rigid>("bodies", std::move(model), std::move(state), Rigid::Params{});
    for (int k = 0; k < 120; ++k) world.step_frame();
    return world.hash();
  };
  const auto one = hash_of(1);
  for (const int threads : {2, 3, 5, 8}) EXPECT_EQ(hash_of(threads), one) << threads;
}

TEST(Rigid, TheSameBitsForEveryBroadPhase) {
  const auto run = [](Rigid::BroadMethod method) {
    Rigid::Spec spec = swarm(120);
    spec.bodies.push_back(validation::floor_box());
    RigidScene scene(spec);
    scene.params.sleeping = true;
    for (int k = 0; k < 240; ++k) {
      scene.params.broad_phase =
          method == Rigid::BroadMethod::tree && k % 50 > 40 ? Rigid::BroadMethod::grid : method;
      scene.step();
    }
    return scene.state.frames.x;
  };
  const auto tree = run(Rigid::BroadMethod::tree);
  EXPECT_EQ(run(Rigid::BroadMethod::sweep), tree);
  EXPECT_EQ(run(Rigid::BroadMethod::grid), tree);
}

TEST(Rigid, AHeapAtRestAllocatesNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  with_threads(1, [&] {
    RigidScene scene(validation::stack(10));
    for (int k = 0; k < 60; ++k) scene.step();
    const Real dt = Real(1) / 60;
    EXPECT_EQ(plenum_test::count_allocations([&] {
                for (int k = 0; k < 60; ++k)
                  Rigid::step(scene.model, scene.state, scene.params, scene.workspace, dt);
              }),
              0);
  });
}

TEST(Rigid, WhatLiesStillKeepsItsManifolds) {
  RigidScene scene(validation::pyramid(6));
  const auto carried = [&] {
    const auto& over = scene.workspace.data->carried_over;
    return std::count(over.begin(), over.end(), 1);
  };
  scene.step();
  EXPECT_EQ(carried(), 0);
  for (int k = 0; k < 240; ++k) scene.step();
  // 30 contacts between boxes and 6 with the floor.
  EXPECT_EQ(scene.state.contacts.pair.size(), 36u);
  long kept = 0;
  for (int k = 0; k < 60; ++k) scene.step(), kept += carried();
  EXPECT_GT(kept, 60 * 36 * 9 / 10);
  // What is moved from outside is looked for again.
  scene.state.frames.x[6] += Vec3(0, Real(0.01), 0);
  scene.step();
  EXPECT_LT(carried(), 36);
}

TEST(Rigid, WhatCannotBeIsRefused) {
  BodySpec plane;
  plane.shapes[0].shape = Form::plane;
  EXPECT_THROW(RigidScene({.bodies = {plane}}), Error);
  BodySpec flat;
  flat.shapes[0].shape = Form::hull;
  flat.shapes[0].points = {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(0, 0, 1), Vec3(1, 0, 1)};
  EXPECT_THROW(RigidScene({.bodies = {flat}}), Error);
}

TEST(Rigid, BodiesInOnePlacePartAtThePushesSpeed) {
  // All pairs push along the same axis. The row that they make parts at four sizes a second at most, however
  // many they are; with no other than pairwise bounds its ends left at 40 m/s.
  Rigid::Spec spec;
  for (int i = 0; i < 60; ++i) spec.bodies.push_back(validation::unit_box(0, 0, 0));
  validation::RigidScene scene(spec);
  scene.params.gravity.setZero();
  Real fastest = 0;
  for (int k = 0; k < 1800; ++k) {
    scene.step();
    for (const Vec3& v : scene.state.frames.v) fastest = std::max(fastest, v.norm());
  }
  EXPECT_LT(fastest, 4);
  Real widest = 0;
  for (const Vec3& x : scene.state.frames.x) widest = std::max(widest, x.norm());
  EXPECT_GT(widest, 30);
}

}}  // namespace plenum
