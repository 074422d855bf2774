// Rigid bodies whose shape is a mesh of any form, moved by forces.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"
#include "rigid/scene_laws.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Form;
using rigid::Motion;
using test::ball;
using validation::RigidScene;

BodySpec mesh_body(TriangleMesh mesh, const Vec3& position, Motion motion = Motion::dynamic) {
  BodySpec body;
  body.motion = motion;
  body.position = position;
  body.shapes[0].shape = Form::mesh;
  body.shapes[0].mesh = std::move(mesh);
  body.shapes[0].resolution = 24;
  return body;
}
BodySpec mesh_box(double half, const Vec3& position, Motion motion = Motion::dynamic, Index cells = 1) {
  return mesh_body(box_mesh(Vec3::Constant(Real(half)), Index3::Constant(cells)), position, motion);
}
BodySpec ring(double major, double minor, const Vec3& position, Motion motion = Motion::dynamic) {
  return mesh_body(torus_mesh(Real(major), Real(minor), 24, 12), position, motion);
}
BodySpec ground_plane() {
  BodySpec body;
  body.motion = Motion::fixed;
  body.shapes[0].shape = Form::plane;
  return body;
}
BodySpec ground(int n, double spacing) {
  BodySpec body;
  body.motion = Motion::fixed;
  body.shapes[0].shape = Form::height_field;
  body.shapes[0].columns = n;
  body.shapes[0].grid_spacing = Real(spacing);
  body.shapes[0].heights.assign(static_cast<std::size_t>(n * n), Real(0));
  return body;
}
/// Of each kind one, its top at y = 0 around the origin.
std::vector<BodySpec> floors() {
  BodySpec sheet = mesh_body(grid_mesh(Vec2(4, 4), 13, 13), Vec3::Zero(), Motion::fixed);
  BodySpec slab =
      mesh_body(box_mesh(Vec3(2, Real(0.5), 2), Index3(7, 1, 7)), Vec3(0, Real(-0.5), 0), Motion::fixed);
  return {ground_plane(),
          validation::floor_box(),
          validation::fixed_box(Vec3(2, Real(0.1), 2), Vec3(0, Real(-0.1), 0)),
          sheet,
          slab,
          ground(14, 0.31)};
}

TEST(MeshBody, ABoxOfTrianglesWeighsWhatABoxWeighs) {
  const Vec3 half(Real(0.3), Real(0.2), Real(0.5));
  const RigidScene mesh({.bodies = {mesh_body(box_mesh(half, Index3(2, 3, 4)), Vec3(1, 2, 3))}}),
      box({.bodies = {validation::box(half, Vec3(1, 2, 3))}});
  EXPECT_NEAR(mesh.state.frames.inverse_mass[0] / box.state.frames.inverse_mass[0], 1, 1e-6);
  EXPECT_LT((mesh.model.inertia[0] - box.model.inertia[0]).norm(), 1e-6 * box.model.inertia[0].norm());
  EXPECT_LT((mesh.state.frames.x[0] - Vec3(1, 2, 3)).norm(), 1e-6);
}

TEST(MeshBody, ARoundMeshTendsToASphere) {
  // A polyhedron inscribed in a sphere lacks volume in proportion to its edges squared: four times less with
  // each subdivision.
  double before = 0;
  for (const int subdivisions : {1, 2, 3}) {
    const RigidScene mesh({.bodies = {mesh_body(icosphere_mesh(1, subdivisions), Vec3::Zero())}});
    const double lacks = 1 - 1 / (1000.0 * 4 / 3 * std::numbers::pi * mesh.state.frames.inverse_mass[0]);
    const double inertia = mesh.model.inertia[0].mean() / (0.4 * 1000 * 4.0 / 3 * std::numbers::pi);
    EXPECT_GT(lacks, 0);
    if (before > 0) {
      EXPECT_NEAR(before / lacks, 4, 0.3);
    }
    EXPECT_NEAR((1 - inertia) / lacks, 5.0 / 3, 0.1);  // I ~ V^(5/3)
    before = lacks;
  }
  EXPECT_LT(before, 0.012);
}

TEST(MeshBody, AShiftedAndTurnedMeshMovesAboutItsCentreOfMass) {
  BodySpec body = mesh_body(box_mesh(Vec3(Real(0.1), Real(0.2), Real(0.4))), Vec3::Zero());
  for (Vec3& x : body.shapes[0].mesh.x) x += Vec3(1, 0, 0);
  body.rotation = Vec3(0, 90, 0);
  RigidScene scene({.bodies = {body}});
  EXPECT_LT((scene.state.frames.x[0] - Vec3(0, 0, -1)).norm(), 1e-5);
}

TEST(MeshBody, ABoxOfTrianglesRestsAsABox) {
  // Within 1 % of its size, without drift, on every kind of floor and on a corner of them; then it sleeps.
  int which = 0;
  for (const BodySpec& floor : floors())
    for (const Index cells : {1, 3}) {
      RigidScene scene({.bodies = {floor, mesh_box(0.25, Vec3(Real(1.2), Real(0.27), Real(-0.7)),
                                                   Motion::dynamic, cells)}});
      scene.state.frames.w[1] = Vec3(Real(0.3), 0, Real(-0.2));
      for (int k = 0; k < 120; ++k) scene.step();
      const Vec3 settled = scene.state.frames.x[1];
      EXPECT_NEAR(settled.y(), 0.25, 0.005) << which << " of " << cells;
      for (int k = 0; k < 600; ++k) scene.step();
      EXPECT_LT((scene.state.frames.x[1] - settled).norm(), 1e-3) << which << " of " << cells;
      scene.params.sleeping = true;
      for (int k = 0; k < 90; ++k) scene.step();
      EXPECT_GE(scene.state.rest.island[1], 0) << which << " of " << cells;
      ++which;
    }
}

TEST(MeshBody, BoxesOfTrianglesStack) {
  // Aligned, so that corners meet corners and edges edges; and turned.
  for (const double turn : {0.0, 20.0}) {
    std::vector<BodySpec> bodies = {
        mesh_body(box_mesh(Vec3(2, Real(0.5), 2)), Vec3(0, Real(-0.5), 0), Motion::fixed)};
    for (int i = 0; i < 4; ++i) {
      bodies.push_back(mesh_box(0.25, Vec3(0, Real(0.25 + 0.5 * i), 0)));
      bodies.back().rotation = Vec3(0, Real(turn * i), 0);
    }
    RigidScene scene({.bodies = bodies});
    for (int k = 0; k < 600; ++k) scene.step();
    for (int i = 0; i < 4; ++i) {
      const Vec3 at = scene.state.frames.x[i + 1];
      EXPECT_NEAR(at.y(), 0.25 + 0.5 * i, 0.005) << i << " turned by " << turn;
      EXPECT_LT(std::hypot(at.x(), at.z()), 0.01) << i << " turned by " << turn;
    }
  }
}

TEST(MeshBody, ARingHangsOnAPeg) {
  // Along a capsule much longer than the hole; the ring's axis is y.
  BodySpec peg = validation::fixed_box(Vec3::Ones(), Vec3::Zero());
  peg.shapes[0].shape = Form::capsule;
  peg.shapes[0].radius = Real(0.08);
  peg.shapes[0].half_height = 1;
  peg.friction = 0.5;
  for (const double at : {0.0, 0.6}) {
    BodySpec hoop = ring(0.4, 0.08, Vec3(Real(0.2), Real(at), 0));
    RigidScene scene({.bodies = {peg, hoop}});
    scene.params.gravity = Vec3(Real(-9.81), 0, 0);
    for (int k = 0; k < 600; ++k) scene.step();
    const Vec3 x = scene.state.frames.x[1];
    // The inner radius of 24 segments is between 0.32 cos(pi / 24) and 0.32.
    EXPECT_NEAR(std::hypot(x.x(), x.z()), 0.32 - 0.08, 0.006) << at;
    EXPECT_NEAR(x.y(), at, 0.05) << at;
  }
}

TEST(MeshBody, ARingHangsInARing) {
  BodySpec lower = ring(0.4, 0.08, Vec3(0, Real(-0.5), 0));
  lower.rotation = Vec3(90, 0, 0);
  BodySpec upper = ring(0.4, 0.08, Vec3::Zero(), Motion::fixed);
  upper.rotation = Vec3(0, 0, 90);
  RigidScene scene({.bodies = {upper, lower}});
  for (int k = 0; k < 900; ++k) scene.step();
  const Vec3 x = scene.state.frames.x[1];
  // Two inner radii below.
  EXPECT_NEAR(x.norm(), 0.64, 0.01);
  EXPECT_LT(x.y(), -0.6);
}

TEST(MeshBody, AFreeCollisionKeepsMomentumAndGainsNoEnergy) {
  for (int trial = 0; trial < 12; ++trial) {
    const Real t = Real(trial);
    BodySpec a = ring(0.4, 0.12, Vec3(-1, 0, 0)),
             b = mesh_body(box_mesh(Vec3(Real(0.3), Real(0.2), Real(0.25))),
                           Vec3(1, Real(0.05) * t, Real(0.1)));
    if (trial % 3 == 1) b.shapes[0].mesh = icosphere_mesh(Real(0.3), 2);
    if (trial % 3 == 2) b = ring(0.35, 0.1, b.position);
    a.rotation = Vec3(37 * t, 11 * t, 5 * t);
    b.rotation = Vec3(-13 * t, 29 * t, 50 * t);
    a.velocity = Vec3(2, 0, 0), b.velocity = Vec3(-2, 0, Real(0.2));
    a.angular_velocity = Vec3(1, t, -2), b.angular_velocity = Vec3(0, 2, -t);
    RigidScene scene({.bodies = {a, b}});
    scene.params.gravity.setZero();
    const auto p = test::momentum(scene);
    double most = test::energy(scene);
    const double first = most, scale = std::sqrt(2 * most / double(scene.state.frames.inverse_mass[0]));
    for (int k = 0; k < 120; ++k) {
      scene.step();
      const double now = test::energy(scene);
      EXPECT_LE(now, most + 2e-5 * first) << trial << " at " << k;
      most = std::min(most, now);
    }
    EXPECT_LT(most, 0.99 * first) << trial << ": they missed each other";
    EXPECT_LT((test::momentum(scene) - p).norm(), 1e-4 * scale) << trial;
  }
}

Rigid::Spec mixed_pile() {
  Rigid::Spec spec{
      .bodies = {mesh_body(box_mesh(Vec3(2, Real(0.5), 2)), Vec3(0, Real(-0.5), 0), Motion::fixed)}};
  for (int i = 0; i < 12; ++i) {
    const Vec3 at(Real(0.3 * (i % 3) - 0.3), Real(0.4 + 0.35 * (i / 2)), Real(0.25 * (i % 2)));
    BodySpec body = i % 3 == 0   ? ring(0.3, 0.1, at)
                    : i % 3 == 1 ? mesh_box(0.2, at)
                                 : validation::box(Vec3::Constant(Real(0.15)), at);
    body.rotation = Vec3(Real(20 * i), Real(35 * i), 0);
    spec.bodies.push_back(body);
  }
  return spec;
}

TEST(MeshBody, TheSameBitsForAnyNumberOfThreads) {
  const auto run = [](int threads) {
    RigidScene scene(mixed_pile());
    with_threads(threads, [&] {
      for (int k = 0; k < 120; ++k) scene.step();
    });
    return scene.state.frames.x;
  };
  const auto one = run(1);
  for (const int threads : {2, 8}) EXPECT_EQ(run(threads), one) << threads;
}

TEST(MeshBody, RunsOnTheSameFromAKeptState) {
  RigidScene scene(mixed_pile());
  for (int k = 0; k < 60; ++k) scene.step();
  RigidScene resumed(mixed_pile());
  resumed.state = scene.state;
  for (int k = 0; k < 60; ++k) scene.step(), resumed.step();
  EXPECT_EQ(scene.state.frames.x, resumed.state.frames.x);
  EXPECT_EQ(scene.state.frames.q, resumed.state.frames.q);
}

TEST(MeshBody, ARingFiredAtAWallDoesNotPassIt) {
  for (const double speed : {20.0, 100.0, 300.0})
    for (const bool mesh_wall : {false, true})
      for (int k = 0; k < 8; ++k) {
        BodySpec hoop = ring(0.4, 0.08, Vec3(Real(-3 - 0.217 * k), 0, 0));
        hoop.rotation = Vec3(Real(20 * k), Real(31 * k), 0);
        hoop.velocity = Vec3(Real(speed), 0, 0);
        hoop.angular_velocity = Vec3(3, 1, 2);
        const Vec3 half(Real(0.05), 3, 3), at(Real(0.5), 0, 0);
        const BodySpec wall =
            mesh_wall ? mesh_body(box_mesh(half), at, Motion::fixed) : validation::fixed_box(half, at);
        RigidScene scene({.bodies = {wall, hoop}});
        scene.params.gravity.setZero();
        for (int n = 0; n < 60; ++n) scene.step();
        EXPECT_LT(scene.state.frames.x[1].x(), 0.5)
            << speed << " m/s, " << k << (mesh_wall ? " mesh" : " box");
      }
}

TEST(MeshBody, WhatEnclosesNoVolumeIsRefused) {
  EXPECT_THROW(RigidScene({.bodies = {mesh_body(grid_mesh(Vec2(1, 1), 2, 2), Vec3::Zero())}}), Error);
  TriangleMesh inward = box_mesh(Vec3::Ones());
  for (Index3& t : inward.triangles) std::swap(t[0], t[1]);
  try {
    RigidScene({.bodies = {mesh_body(inward, Vec3::Zero())}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("faces inward"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("bodies[0].shapes[0].mesh"), std::string::npos) << e.what();
  }
}

TEST(MeshBody, AllocatesNothingAtRest) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  with_threads(1, [&] {
    RigidScene scene(mixed_pile());
    for (int k = 0; k < 300; ++k) scene.step();
    EXPECT_EQ(plenum_test::count_allocations([&] {
                for (int k = 0; k < 60; ++k)
                  Rigid::step(scene.model, scene.state, scene.params, scene.workspace, Real(1) / 60);
              }),
              0);
  });
}

}}  // namespace plenum
