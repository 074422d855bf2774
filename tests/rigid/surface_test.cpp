// Rigid bodies on triangle meshes and height fields, and bodies so fast that they might pass a wall.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "../../validation/rigid_scenes.h"
#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/shapes.h"
#include "rigid/scene_laws.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Form;
using rigid::Motion;
using test::ball;
using validation::RigidScene;

BodySpec mesh_body(TriangleMesh mesh) {
  BodySpec body;
  body.motion = Motion::fixed;
  body.shapes[0].shape = Form::mesh;
  body.shapes[0].mesh = std::move(mesh);
  return body;
}
/// Heights h(x, z) on n x n points.
template <class H>
BodySpec ground(int n, double spacing, H&& h) {
  BodySpec body;
  body.motion = Motion::fixed;
  rigid::ShapeSpec& shape = body.shapes[0];
  shape.shape = Form::height_field;
  shape.columns = n;
  shape.grid_spacing = Real(spacing);
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < n; ++i)
      shape.heights.push_back(Real(h((i - (n - 1) / 2.0) * spacing, (k - (n - 1) / 2.0) * spacing)));
  return body;
}
BodySpec plane() {
  BodySpec body;
  body.motion = Motion::fixed;
  body.shapes[0].shape = Form::plane;
  return body;
}
std::vector<BodySpec> flat_floors() {
  return {plane(), mesh_body(grid_mesh(Vec2(10, 10), 31, 31)),
          ground(32, 0.33, [](double, double) { return 0.0; })};
}

TEST(RigidSurface, ABallRollsOverTrianglesAsOverAPlane) {
  for (const BodySpec& floor : flat_floors()) {
    BodySpec rolling = ball(0.1, Vec3(-2, Real(0.1), Real(-0.71)));
    rolling.velocity = Vec3(2, 0, Real(0.6));
    rolling.angular_velocity = Vec3(6, 0, -20);
    RigidScene scene({.bodies = {floor, rolling}});
    for (int k = 0; k < 90; ++k) {
      scene.step();
      // It keeps its height and its velocity.
      EXPECT_NEAR(scene.state.frames.x[1].y(), 0.1, 1e-4) << k;
      EXPECT_LT((scene.state.frames.v[1] - rolling.velocity).norm(), 0.01) << k;
    }
    EXPECT_NEAR(scene.state.frames.x[1].x(), -2 + 2 * 1.5, 0.01);
  }
}

TEST(RigidSurface, ABoxSlidesOverTrianglesAsOverAPlane) {
  Vec3 over_plane = Vec3::Zero();
  for (const BodySpec& floor : flat_floors()) {
    BodySpec block = validation::box(Vec3(Real(0.2), Real(0.1), Real(0.15)), Vec3(-2, Real(0.1), Real(0.07)));
    block.rotation = Vec3(0, 20, 0);
    block.velocity = Vec3(3, 0, 0);
    RigidScene scene({.bodies = {floor, block}});
    for (int k = 0; k < 60; ++k) {
      scene.step();
      EXPECT_NEAR(scene.state.frames.x[1].y(), 0.1, 1e-3) << k;
      EXPECT_LT(scene.state.frames.w[1].norm(), 0.05) << k;
    }
    // It stops after v^2 / (2 mu g); a step at 3 m/s is 5 cm.
    EXPECT_NEAR(scene.state.frames.x[1].x(), -2 + 9 / (2 * 0.5 * 9.81), 0.025);
    if (floor.shapes[0].shape == Form::plane)
      over_plane = scene.state.frames.x[1];
    else  // which way it is led astray, as it is over a plane
      EXPECT_NEAR(scene.state.frames.x[1].z(), over_plane.z(), 0.005);
  }
}

TEST(RigidSurface, ABallLiesInAGrooveOfTwoSlopes) {
  // Two manifolds at once: its centre is r sqrt(2) above the groove's line.
  TriangleMesh groove;
  groove.x = {Vec3(-1, 1, -3), Vec3(-1, 1, 3), Vec3(0, 0, -3), Vec3(0, 0, 3), Vec3(1, 1, -3), Vec3(1, 1, 3)};
  groove.triangles = {Index3(0, 1, 2), Index3(2, 1, 3), Index3(2, 3, 4), Index3(4, 3, 5)};
  for (const BodySpec& floor :
       {mesh_body(groove), ground(21, 0.1, [](double x, double) { return std::abs(x); })}) {
    BodySpec body = ball(0.2, Vec3(Real(0.1), Real(0.5), Real(0.03)));
    body.rolling_resistance = Real(0.01);
    RigidScene scene({.bodies = {floor, body}});
    for (int k = 0; k < 300; ++k) scene.step();
    EXPECT_NEAR(scene.state.frames.x[1].x(), 0, 1e-3);
    EXPECT_NEAR(scene.state.frames.x[1].y(), 0.2 * std::sqrt(2.0), 1e-3);
    EXPECT_LT(scene.state.frames.v[1].norm(), 1e-2);
    EXPECT_EQ(scene.state.contacts.pair.size(), 2u);
  }
}

TEST(RigidSurface, NothingFallsThroughAtSpeed) {
  std::vector<BodySpec> floors = flat_floors();
  floors.push_back(
      ground(41, 0.25, [](double x, double z) { return 0.2 * std::sin(3 * x) * std::sin(2 * z); }));
  for (const BodySpec& floor : floors) {
    for (const double speed : {10.0, 60.0, 300.0}) {
      std::vector<BodySpec> bodies = {
          floor,
          ball(0.05, Vec3(-2, 2, 0)),
          validation::box(Vec3(Real(0.2), Real(0.02), Real(0.1)), Vec3(-1, 2, 0)),
          validation::box(Vec3(Real(0.05), Real(0.05), Real(0.05)), Vec3(0, 2, 0)),
          validation::box(Vec3::Constant(Real(0.1)), Vec3(1, 2, 0)),
          ball(0.01, Vec3(2, 2, 0))};
      bodies[3].shapes[0].shape = Form::capsule;
      bodies[3].shapes[0].radius = bodies[3].shapes[0].half_height = Real(0.05);
      for (std::size_t i = 1; i < bodies.size(); ++i) {
        bodies[i].velocity = Vec3(0, Real(-speed), 1);
        bodies[i].angular_velocity = Vec3(3, 2, 1);
      }
      RigidScene scene({.bodies = bodies});
      for (int k = 0; k < 60; ++k) {
        scene.step();
        for (std::size_t i = 1; i < bodies.size(); ++i) {
          const Vec3& x = scene.state.frames.x[i];
          if (std::abs(x.x()) < 4.5 && std::abs(x.z()) < 4.5) {  // slopes throw them off the field
            EXPECT_GT(x.y(), -0.21) << i << " at " << speed << " m/s";
          }
        }
      }
    }
  }
}

TEST(RigidSurface, WhatIsSlenderStaysAboveWhatItFallsOn) {
  // Blows carry the middle of a cone in, which lies half a radius above what it lies on.
  BodySpec block = mesh_body(box_mesh(Vec3(5, 1, 5), Index3(6, 1, 6)));
  block.position = Vec3(0, -1, 0);
  for (const BodySpec& floor : {block, ground(14, 0.8, [](double, double) { return 0.0; })}) {
    std::vector<BodySpec> bodies = {floor};
    std::mt19937 generator(7);
    std::uniform_real_distribution<double> angle(0, 360);
    for (int i = 0; i < 64; ++i) {
      BodySpec body;
      rigid::ShapeSpec& shape = body.shapes[0];
      shape.shape = i % 2 ? Form::cone : Form::hull;
      shape.radius = Real(0.029), shape.half_height = Real(0.354);
      if (i % 2 == 0) {
        shape.points = {Vec3(0, Real(0.354), 0)};
        for (int k = 0; k < 5; ++k)
          shape.points.push_back(
              Vec3(Real(0.029 * std::cos(1.2566 * k)), Real(-0.354), Real(0.029 * std::sin(1.2566 * k))));
      }
      body.position = Vec3(i % 8 - Real(3.5), Real(0.9 + i / 16 * 0.5), i / 8 - Real(3.5));
      body.rotation = Vec3(Real(angle(generator)), Real(angle(generator)), Real(angle(generator)));
      bodies.push_back(body);
    }
    RigidScene scene({.bodies = bodies});
    for (int k = 0; k < 180; ++k) scene.step();
    for (std::size_t i = 1; i < bodies.size(); ++i) EXPECT_GT(scene.state.frames.x[i].y(), -0.01) << i;
  }
}

TEST(RigidSurface, AFastBallDoesNotPassAThinWall) {
  // The bar: 1 cm at 300 m/s, a wall of 1 mm; a box, and a plate of two triangles.
  const BodySpec solid = validation::fixed_box(Vec3(Real(0.0005), 1, 1), Vec3(Real(0.3), 0, 0));
  BodySpec plate = mesh_body(grid_mesh(Vec2(2, 2), 1, 1));
  plate.rotation = Vec3(0, 0, 90);
  plate.position = Vec3(Real(0.3), 0, 0);
  for (const BodySpec& wall : {solid, plate})
    for (const double radius : {0.005, 0.05})
      for (int k = 0; k < 20; ++k) {
        BodySpec bullet = ball(radius, Vec3(Real(-3 - 0.217 * k), Real(0.01 * k), 0));
        bullet.velocity = Vec3(300, 0, 0);
        RigidScene scene({.bodies = {wall, bullet}});
        scene.params.gravity.setZero();
        for (int n = 0; n < 10; ++n) scene.step();
        EXPECT_LT(scene.state.frames.x[1].x(), 0.3) << k;
        EXPECT_GT(scene.state.frames.x[1].x(), 0.3 - radius - 0.05) << k;  // and not stopped before it
      }
}

TEST(RigidSurface, AFastBallPassesBesideAWall) {
  const BodySpec wall = validation::fixed_box(Vec3(Real(0.01), 1, 1), Vec3(Real(0.3), 0, 0));
  BodySpec bullet = ball(0.05, Vec3(-2, Real(1.06), 0));
  bullet.velocity = Vec3(300, 0, 0);
  RigidScene scene({.bodies = {wall, bullet}});
  scene.params.gravity.setZero();
  for (int n = 0; n < 10; ++n) scene.step();
  EXPECT_NEAR(scene.state.frames.x[1].x(), -2 + 300 * 10.0 / 60, 0.01);
  EXPECT_EQ(scene.state.frames.v[1], bullet.velocity);
}

TEST(RigidSurface, FastBallsMeetHeadOn) {
  BodySpec a = ball(0.02, Vec3(-3, 0, 0)), b = ball(0.02, Vec3(Real(3.3), 0, 0));
  a.velocity = Vec3(200, 0, 0), b.velocity = Vec3(-200, 0, 0);
  RigidScene scene({.bodies = {a, b}});
  scene.params.gravity.setZero();
  for (int n = 0; n < 10; ++n) scene.step();
  EXPECT_LT(scene.state.frames.x[0].x(), scene.state.frames.x[1].x());
  EXPECT_LT(scene.state.frames.v[0].norm(), 1);
}

TEST(RigidSurface, AKinematicMeshCarriesABox) {
  BodySpec lift = mesh_body(box_mesh(Vec3(1, Real(0.1), 1), Index3(5, 1, 5)));
  lift.motion = Motion::kinematic;
  lift.velocity = Vec3(Real(0.3), Real(0.5), 0);
  RigidScene scene({.bodies = {lift, validation::box(Vec3::Constant(Real(0.1)), Vec3(0, Real(0.2), 0))}});
  for (int k = 0; k < 120; ++k) scene.step();
  EXPECT_LT((scene.state.frames.v[1] - lift.velocity).norm(), 0.01);
  EXPECT_NEAR(scene.state.frames.x[1].y() - scene.state.frames.x[0].y(), 0.2, 2e-3);
}

TEST(RigidSurface, TheSameBitsForAnyNumberOfThreads) {
  const auto run = [](int threads) {
    Rigid::Spec spec = validation::bin();
    spec.bodies.resize(205);
    spec.bodies[0] = ground(25, 0.5, [](double x, double z) { return 0.1 * std::sin(2 * x + z); });
    RigidScene scene(spec);
    with_threads(threads, [&] {
      for (int k = 0; k < 90; ++k) scene.step();
    });
    return scene.state.frames.x;
  };
  const auto one = run(1);
  for (const int threads : {2, 5}) EXPECT_EQ(run(threads), one) << threads;
}

TEST(RigidSurface, AtRestOnAMeshAllocatesNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  with_threads(1, [&] {
    RigidScene scene({.bodies = {mesh_body(grid_mesh(Vec2(4, 4), 13, 13)), validation::unit_box(0, 0.5, 0),
                                 ball(0.2, Vec3(Real(1.2), Real(0.2), 0))}});
    for (int k = 0; k < 60; ++k) scene.step();
    EXPECT_EQ(plenum_test::count_allocations([&] {
                for (int k = 0; k < 60; ++k)
                  Rigid::step(scene.model, scene.state, scene.params, scene.workspace, Real(1) / 60);
              }),
              0);
  });
}

TEST(RigidSurface, WhatCannotBeIsRefused) {
  BodySpec moving = ground(3, 1, [](double, double) { return 0.0; });
  moving.motion = Motion::dynamic;
  EXPECT_THROW(RigidScene({.bodies = {moving}}), Error);
  EXPECT_THROW(RigidScene({.bodies = {mesh_body({})}}), Error);
  BodySpec ragged = ground(3, 1, [](double, double) { return 0.0; });
  ragged.shapes[0].heights.pop_back();
  EXPECT_THROW(RigidScene({.bodies = {ragged}}), Error);
}

}}  // namespace plenum
