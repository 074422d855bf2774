// Bodies that share one geometry, each with a scale of its own.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "../../validation/rigid_scenes.h"
#include "plenum/geometry/shapes.h"
#include "plenum/scene/scene.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace instances { namespace {

using rigid::BodySpec;
using rigid::Form;
using rigid::GeometrySpec;
using rigid::Motion;
using rigid::ShapeSpec;
using test::message;
using validation::RigidScene;
using D3 = Vector3<double>;

/// A ring that is not about its frame's origin.
ShapeSpec ring() {
  ShapeSpec shape;
  shape.shape = Form::mesh;
  shape.mesh = torus_mesh(Real(0.3), Real(0.1), 20, 10);
  for (Vec3& x : shape.mesh.x) x += Vec3(Real(0.2), Real(-0.1), Real(0.3));
  shape.resolution = 24;
  return shape;
}
ShapeSpec stone() {
  ShapeSpec shape;
  shape.shape = Form::hull;
  for (int k = 0; k < 40; ++k) {
    const double a = 2.4 * k, y = (k - 19.5) / 20, r = std::sqrt(1 - y * y);
    shape.points.push_back(
        Vec3(Real(0.3 * r * std::cos(a)), Real(0.2 * y), Real(0.25 * r * std::sin(a) + 0.1)));
  }
  return shape;
}
ShapeSpec of_form(Form form) {
  ShapeSpec shape;
  shape.shape = form;
  shape.radius = Real(0.2), shape.half_height = Real(0.3),
  shape.half_extents = Vec3(Real(0.1), Real(0.2), Real(0.3));
  return shape;
}
ShapeSpec valley() {
  ShapeSpec shape;
  shape.shape = Form::height_field;
  shape.columns = 21;
  shape.grid_spacing = Real(0.2);
  for (int k = 0; k < 21; ++k)
    for (int i = 0; i < 21; ++i)
      shape.heights.push_back(Real(0.02 * (i - 10) * (i - 10) + 0.1 * std::sin(k)));
  return shape;
}

BodySpec body_of(const ShapeSpec& shape, Motion motion = Motion::dynamic) {
  BodySpec body;
  body.shapes = {shape};
  body.motion = motion;
  return body;
}
BodySpec instance(const Vec3& scale, const std::string& of = "one", Motion motion = Motion::dynamic) {
  ShapeSpec shape;
  shape.shape = Form::instance;
  shape.of = of;
  shape.scale = scale;
  return body_of(shape, motion);
}
ShapeSpec stretched(ShapeSpec s, const Vec3& k) {
  for (Vec3& x : s.mesh.x) x = x.cwiseProduct(k);
  for (Vec3& x : s.points) x = x.cwiseProduct(k);
  s.half_extents = s.half_extents.cwiseProduct(k);
  s.radius *= k.x(), s.half_height *= k.y();
  s.grid_spacing *= k.x();
  for (Real& h : s.heights) h *= k.y();
  return s;
}
std::vector<GeometrySpec> one(const ShapeSpec& shape) {
  return {{"one", shape}};
}

TEST(RigidInstances, MassGoesWithTheVolumeAndInertiaWithTheFifthPowerOfTheScale) {
  for (const ShapeSpec& shape :
       {ring(), stone(), of_form(Form::box), of_form(Form::cone), of_form(Form::sphere)}) {
    const RigidScene plain({.bodies = {body_of(shape)}});
    const double mass = 1 / double(plain.state.frames.inverse_mass[0]);
    const D3 inertia = plain.model.inertia[0].cast<double>(), x = plain.state.frames.x[0].cast<double>();
    for (const double s : {0.01, 0.5, 1.7, 30.0}) {
      const RigidScene scene({.bodies = {instance(Vec3::Constant(Real(s)))}, .geometries = one(shape)});
      EXPECT_NEAR(1 / double(scene.state.frames.inverse_mass[0]) / (mass * s * s * s), 1, 1e-6) << s;
      EXPECT_LT((scene.model.inertia[0].cast<double>() / std::pow(s, 5) - inertia).norm(),
                1e-6 * inertia.norm());
      EXPECT_LT((scene.state.frames.x[0].cast<double>() / s - x).norm(), 1e-6);
      EXPECT_NEAR(scene.model.reach[0] / (s * double(plain.model.reach[0])), 1, 1e-5);
    }
  }
}

TEST(RigidInstances, StretchedOnesWeighWhatTheirCopiesDo) {
  const Vec3 k(Real(0.7), Real(1.9), Real(1.2)), round(Real(0.7), Real(1.9), Real(0.7));
  for (const ShapeSpec& shape :
       {ring(), stone(), of_form(Form::box), of_form(Form::cylinder), of_form(Form::cone)}) {
    const bool is_round = shape.shape == Form::cylinder || shape.shape == Form::cone;
    const Vec3& by = is_round ? round : k;
    const RigidScene copy({.bodies = {body_of(stretched(shape, by))}}),
        scene({.bodies = {instance(by)}, .geometries = one(shape)});
    EXPECT_NEAR(scene.state.frames.inverse_mass[0] / copy.state.frames.inverse_mass[0], 1, 1e-6);
    EXPECT_LT((scene.model.inertia[0] - copy.model.inertia[0]).norm(), 1e-6 * copy.model.inertia[0].norm());
    EXPECT_LT((scene.state.frames.x[0] - copy.state.frames.x[0]).norm(), 1e-6);
  }
  // In closed form: an ellipsoid, from a fine ball (which lacks some 0.2 % of its volume).
  ShapeSpec ball;
  ball.shape = Form::mesh, ball.resolution = 8;
  ball.mesh = icosphere_mesh(Real(0.5), 4);
  const RigidScene scene({.bodies = {instance(Vec3(1, 2, 3))}, .geometries = one(ball)});
  const double m = 1000 * 4.0 / 3 * std::numbers::pi * 0.5 * 1 * 1.5;
  EXPECT_NEAR(1 / double(scene.state.frames.inverse_mass[0]) / m, 1, 5e-3);
  const D3 moments = m / 5 * D3(1 + 2.25, 0.25 + 2.25, 0.25 + 1);
  EXPECT_LT((scene.model.inertia[0].cast<double>() - moments).norm(), 1e-2 * moments.norm());
}

TEST(RigidInstances, OneMeshServesAllThatAreScaledAlikeAlongTheirAxes) {
  rigid::Spec spec{.bodies = {}, .geometries = {{"one", ring()}, {"ground", valley()}}};
  for (int k = 0; k < 50; ++k) spec.bodies.push_back(instance(Vec3::Constant(Real(0.5 + 0.1 * k))));
  for (int k = 0; k < 5; ++k)
    spec.bodies.push_back(instance(Vec3::Constant(Real(1 + k)), "ground", Motion::fixed));
  for (int k = 0; k < 2; ++k) spec.bodies.push_back(instance(Vec3(1, 2, 3)));
  const RigidScene scene(spec);
  const auto solid = [&](std::size_t k) {
    return std::get<MeshShape>(scene.model.shapes[k].variant()).solid.get();
  };
  for (std::size_t k = 1; k < 50; ++k) {
    EXPECT_EQ(solid(k), solid(0));
    EXPECT_EQ(scene.model.meshes[k].mesh, scene.model.meshes[0].mesh);
  }
  for (std::size_t k = 51; k < 55; ++k) EXPECT_EQ(scene.model.meshes[k].mesh, scene.model.meshes[50].mesh);
  EXPECT_NE(solid(55), solid(0));
  EXPECT_EQ(solid(55), solid(56));  // made once
  // Of a grid of bodies too.
  BodySpec grid = body_of(ring());
  grid.count_x = 10;
  const RigidScene many({.bodies = {grid}});
  for (std::size_t k = 1; k < 10; ++k) EXPECT_EQ(many.model.meshes[k].mesh, many.model.meshes[0].mesh);
  EXPECT_LT(Rigid::memory(spec), Rigid::memory({.bodies = std::vector<BodySpec>(20, body_of(ring()))}));
}

/// Where bodies of the geometry are after they have fallen on the floor: as instances and as copies.
void expect_alike(const ShapeSpec& shape, const Vec3& k, const ShapeSpec& floor, double tolerance) {
  RigidScene scenes[2] = {
      RigidScene({.bodies = {instance(k, "floor", Motion::fixed), instance(k), instance(k)},
                  .geometries = {{"one", shape}, {"floor", floor}}}),
      RigidScene({.bodies = {body_of(stretched(floor, k), Motion::fixed), body_of(stretched(shape, k)),
                             body_of(stretched(shape, k))}})};
  double fell = 0;
  for (RigidScene& scene : scenes) {
    for (const std::size_t i : {1u, 2u}) {
      scene.state.frames.x[i] += Vec3(Real(0.1 * i), Real(0.7 * i) * k.y(), 0);
      scene.state.frames.q[i] =
          (Quat(Eigen::AngleAxis<Real>(Real(0.4 * i), Vec3::UnitX())) * scene.state.frames.rotation(i))
              .normalized()
              .coeffs();
    }
    for (int step = 0; step < 45; ++step) scene.step();
    fell = std::max(fell, double(scene.state.contacts.pair.size()));
  }
  EXPECT_GT(fell, 0);
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_LE((scenes[0].state.frames.x[i] - scenes[1].state.frames.x[i]).norm(), tolerance) << i;
    EXPECT_LE((scenes[0].state.frames.v[i] - scenes[1].state.frames.v[i]).norm(), 10 * tolerance) << i;
  }
}

TEST(RigidInstances, MoveAsTheirCopies) {
  ShapeSpec slab;
  slab.shape = Form::mesh, slab.resolution = 16;
  slab.mesh = box_mesh(Vec3(2, Real(0.2), 2), Index3(5, 1, 5));
  // Scales that round nothing, and one that does: a step magnifies that, as impacts do.
  for (const ShapeSpec& floor : {slab, valley()})
    for (const ShapeSpec& shape : {ring(), stone()}) {
      expect_alike(shape, Vec3::Constant(2), floor, 1e-6);
      expect_alike(shape, Vec3::Constant(Real(0.5)), floor, 1e-6);
      expect_alike(shape, Vec3(1, 2, 1), floor, 1e-6);
    }
}

TEST(RigidInstances, WhatCannotBeIsRefused) {
  const auto said = [](const Vec3& scale, const ShapeSpec& shape, Motion motion = Motion::dynamic) {
    return message({.bodies = {instance(scale, "one", motion)}, .geometries = one(shape)});
  };
  const auto expect = [](const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << ": " << text;
  };
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  for (const Vec3& scale : {Vec3(1, 0, 1), Vec3(-1, -1, -1), Vec3(nan, 1, 1)})
    expect(said(scale, ring()), {"bodies[0].shapes[0].scale", "above 0"});
  expect(said(Vec3(1, 2, 1), of_form(Form::sphere)), {"scale", "round", "[1, 2, 1]"});
  expect(said(Vec3(1, 2, 1), of_form(Form::capsule)), {"scale", "round"});
  expect(said(Vec3(1, 2, 3), of_form(Form::cylinder)), {"scale", "x and z"});
  expect(said(Vec3(1, 2, 3), valley(), Motion::fixed), {"scale", "x and z"});
  expect(said(Vec3::Ones(), valley()), {"height field cannot be moved"});
  ShapeSpec open = ring();
  open.mesh.triangles.pop_back();
  EXPECT_NE(said(Vec3::Ones(), open), "");
  EXPECT_EQ(said(Vec3::Ones(), open, Motion::fixed), "");
  expect(said(Vec3::Ones(), of_form(Form::plane), Motion::fixed),
         {"geometries[0].shape", "cannot be shared"});
  expect(message({.bodies = {instance(Vec3::Ones(), "ona")}, .geometries = one(ring())}),
         {"bodies[0].shapes[0].of", "'one'"});
  expect(message({.bodies = {instance(Vec3::Ones())}}), {"empty"});
  expect(message({.bodies = {}, .geometries = {{"one", stone()}, {"one", ring()}}}), {"geometries[1].name"});
}

TEST(RigidInstances, SceneFilesHaveThem) {
  const auto text = [](const std::string& scale) {
    return "{\"systems\": [{\"type\": \"rigid\", \"name\": \"r\", \"model\": {\n"
           "\"geometries\": [{\"name\": \"ring\", \"shape\": \"mesh\", \"mesh\": {\"shape\": \"torus\"}}],\n"
           "\"bodies\": [{\"shapes\": [{\"shape\": \"instance\", \"of\": \"ring\", \"scale\": " +
           scale + "}]}]}}]}";
  };
  EXPECT_EQ(check_scene_text(text("[2, 2, 2]"), "s.json").size(), 0u);
  for (const char* scale : {"[1, 0, 1]", "[1, -2, 1]"}) {
    const auto problems = check_scene_text(text(scale), "s.json");
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].key, "systems[0].model.bodies[0].shapes[0].scale[1]");
    EXPECT_EQ(problems[0].line, 3);
  }
}

}}}  // namespace plenum::instances
