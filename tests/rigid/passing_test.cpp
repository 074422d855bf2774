// Bodies that fly past others, or land behind an edge that they pass: speculative contacts are planes, which
// go on where the shapes do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plenum/geometry/shapes.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::Form;
using validation::RigidScene;

constexpr Real half = Real(0.12);  // of what passes [m]

rigid::BodySpec passer(Form form, const Vec3& at, const Vec3& velocity) {
  rigid::BodySpec body = validation::box(Vec3::Constant(half), at);
  body.shapes[0].shape = form;
  body.shapes[0].radius = half;
  body.shapes[0].half_height = half;
  // Capsules and cylinders lie across the way.
  if (form == Form::capsule || form == Form::cylinder)
    body.orientation = Quat(Eigen::AngleAxis<Real>(Real(1.5707963), Vec3::UnitX())).coeffs();
  body.velocity = velocity;
  body.gravity_scale = 0;
  return body;
}

/// Its top at height 0.
rigid::BodySpec wall(bool of_triangles) {
  rigid::BodySpec body = validation::fixed_box(Vec3(Real(0.1), 1, 1), Vec3(0, -1, 0));
  if (of_triangles) {
    body.shapes[0] = {};
    body.shapes[0].shape = Form::mesh;
    body.shapes[0].mesh = box_mesh(Vec3(Real(0.1), 1, 1));
  }
  return body;
}

TEST(Passing, ChangesNothingAboveAWall) {
  for (const bool of_triangles : {false, true})
    for (const Form form : {Form::sphere, Form::box, Form::capsule, Form::cylinder})
      for (const double speed : {1.0, 4.0, 10.0, 40.0})
        for (const double room : {0.002, 0.01, 0.04})
          for (int phase = 0; phase < 6; phase += of_triangles ? 3 : 1) {
            const Vec3 v(Real(speed), 0, 0);
            const Vec3 at(Real(-0.6 - speed / 60 * phase / 6), half + Real(room), 0);
            RigidScene scene({.bodies = {wall(of_triangles), passer(form, at, v)}});
            for (int k = 0; k < int(80 / speed); ++k) scene.step();
            ASSERT_LT((scene.state.frames.v[1] - v).norm(), 1e-4 * speed)
                << of_triangles << " form " << int(form) << ", " << speed << " m/s, " << room << " m, phase "
                << phase;
            ASSERT_LT(scene.state.frames.w[1].norm(), 1e-3 * speed);
          }
}

TEST(Passing, ChangesNothingBesideABallThatMayMove) {
  for (const double speed : {5.0, 20.0, 60.0})
    for (int phase = 0; phase < 24; ++phase) {
      const Vec3 v(Real(speed), 0, 0);
      RigidScene scene(
          {.bodies = {
               passer(Form::sphere, Vec3::Zero(), Vec3::Zero()),
               passer(Form::sphere, Vec3(Real(-1 - speed / 60 * phase / 24), half * 2 + Real(0.01), 0), v)}});
      for (int k = 0; k < int(120 / speed); ++k) scene.step();
      EXPECT_LT((scene.state.frames.v[1] - v).norm(), 1e-4 * speed) << speed << " m/s, phase " << phase;
      EXPECT_LT(scene.state.frames.v[0].norm(), 1e-4 * speed);
    }
}

/// A square hole with so much room on each side.
std::vector<rigid::BodySpec> hole(Real room) {
  const Real side = half + room;
  std::vector<rigid::BodySpec> walls;
  for (const Real s : {Real(-1), Real(1)}) {
    walls.push_back(validation::fixed_box(Vec3(1, 1, 3), Vec3(s * (1 + side), -1, 0)));
    walls.push_back(validation::fixed_box(Vec3(side, 1, 1), Vec3(0, -1, s * (1 + side))));
  }
  return walls;
}

TEST(Passing, LetsCubesAndBallsFallIntoHolesThatFit) {
  for (const Form form : {Form::box, Form::sphere})
    for (const double room : {0.002, 0.005, 0.02})
      for (const double height : {0.05, 0.5, 2.0}) {
        Rigid::Spec spec{.bodies = hole(Real(room))};
        rigid::BodySpec body = passer(form, Vec3(0, half + Real(height), 0), Vec3::Zero());
        body.gravity_scale = 1;
        spec.bodies.push_back(body);
        RigidScene scene(spec);
        const double free_fall = std::sqrt(2 * (height + 1) / 9.81);
        int steps = 0;
        while (scene.state.frames.x.back().y() > half - 1 && steps < 300) scene.step(), ++steps;
        EXPECT_NEAR(steps / 60.0, free_fall, 2 / 60.0) << int(form) << " " << room << " m, from " << height;
      }
}

// What comes in low over an edge lands flat, as soon as all of it is over the table, and keeps its way.
TEST(Passing, LandsBehindTheEdge) {
  for (const Form form : {Form::sphere, Form::box})
    for (const double speed : {3.0, 6.0})
      for (int phase = 0; phase < 16; ++phase) {
        rigid::BodySpec table = validation::fixed_box(Vec3(4, 1, 4), Vec3(4, -1, 0));
        const Vec3 v(Real(speed), Real(-0.5), 0);
        const double before = half + 0.01 + speed / 60 * phase / 16;  // of the edge
        rigid::BodySpec body =
            passer(form, Vec3(Real(-before), Real(half + 0.5 * (before + 1.2 * half) / speed), 0), v);
        body.friction = table.friction = 0;
        RigidScene scene({.bodies = {table, body}});
        double lowest = 1;
        for (int k = 0; k < 30; ++k) {
          scene.step();
          lowest = std::min<double>(lowest, scene.state.frames.x[1].y());
        }
        EXPECT_NEAR(scene.state.frames.v[1].x(), speed, 1e-3 * speed) << int(form) << " phase " << phase;
        EXPECT_NEAR(scene.state.frames.v[1].y(), 0, 1e-3) << phase;
        EXPECT_LT(scene.state.frames.w[1].norm(), 1e-2) << phase;
        EXPECT_GT(lowest, half - 0.01 * 2 * half) << phase;
      }
}

}  // namespace
}  // namespace plenum
