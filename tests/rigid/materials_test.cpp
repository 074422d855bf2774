// What bodies are made of, by name, and what air takes from each.
#include <gtest/gtest.h>

#include <cmath>

#include "../../validation/rigid_scenes.h"
#include "plenum/scene/scene.h"
#include "plenum/solvers/rigid/materials.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Material;
using test::ball;
using test::message;
using validation::RigidScene;
using D3 = Vector3<double>;

const Material ice{.name = "ice", .density = 917, .friction = Real(0.02), .restitution = Real(0.3)},
    lead{.name = "lead", .density = 11340, .static_friction = Real(0.9), .spinning_friction = Real(0.01)};

/// A rod of two unit cubes along x.
BodySpec two_cubes() {
  BodySpec body = validation::unit_box(0, 0, 0);
  body.shapes.push_back(body.shapes[0]);
  body.shapes[0].position = Vec3(Real(-0.5), 0, 0), body.shapes[1].position = Vec3(Real(0.5), 0, 0);
  return body;
}

TEST(RigidMaterials, WithoutOneTheDefaultsHold) {
  const RigidScene scene({.bodies = {validation::unit_box(0, 0, 0)}, .materials = {ice}});
  const Rigid::Collider& c = scene.model.colliders[0];
  EXPECT_EQ(c.friction, Real(0.5));
  EXPECT_EQ(c.static_friction, Real(0.5));
  EXPECT_EQ(c.restitution, 0);
  EXPECT_EQ(c.rolling, 0);
  EXPECT_EQ(c.spinning, 0);
  EXPECT_NEAR(1 / scene.state.frames.inverse_mass[0], 1000, 1e-3);
}

TEST(RigidMaterials, TheBodysOwnValuesComeBeforeTheShapesMaterialBeforeTheBodys) {
  BodySpec body = two_cubes();
  body.material = "ice";
  body.shapes[1].material = "lead";
  body.restitution = 0;  // the default of materials too, but given
  body.rolling_resistance = Real(0.1);
  const RigidScene scene({.bodies = {body}, .materials = {lead, ice}});
  const Rigid::Collider &a = scene.model.colliders[0], &b = scene.model.colliders[1];
  EXPECT_EQ(a.friction, ice.friction);
  EXPECT_EQ(b.friction, Real(0.5));
  EXPECT_EQ(b.static_friction, lead.static_friction);
  EXPECT_EQ(a.spinning, 0);
  EXPECT_EQ(b.spinning, lead.spinning_friction);
  for (const auto* c : {&a, &b}) {
    EXPECT_EQ(c->restitution, 0);
    EXPECT_EQ(c->rolling, Real(0.1));
  }
}

TEST(RigidMaterials, PartsOfACompoundWeighWhatTheirMaterialDoes) {
  BodySpec body = two_cubes();
  body.shapes[0].material = "ice", body.shapes[1].material = "lead";
  const auto expect = [](const BodySpec& of, double m0, double m1) {
    const RigidScene scene({.bodies = {of}, .materials = {ice, lead}});
    const double m = m0 + m1, x = (m1 - m0) / (2 * m);
    EXPECT_NEAR(1 / double(scene.state.frames.inverse_mass[0]), m, 1e-6 * m);
    EXPECT_NEAR(scene.state.frames.x[0].x(), x, 1e-6);
    // About x as cubes; about the others by Steiner.
    const double about_x = m / 6, across = m / 6 + m0 * (0.5 + x) * (0.5 + x) + m1 * (0.5 - x) * (0.5 - x);
    EXPECT_LT((scene.model.inertia[0].cast<double>() - D3(about_x, across, across)).norm(), 1e-6 * across);
  };
  expect(body, 917, 11340);
  body.mass = 10;  // of the whole: shares stay
  expect(body, 10 * 917.0 / 12257, 10 * 11340.0 / 12257);
  body.mass = rigid::not_given, body.density = 2;
  expect(body, 2, 2);
}

TEST(RigidMaterials, NamesThatAreNoneAndTwiceAreRefused) {
  BodySpec body = two_cubes();
  body.material = "icee";
  std::string said = message({.bodies = {body}, .materials = {ice, lead}});
  for (const char* part : {"bodies[0].material", "icee", "'ice'"})
    EXPECT_NE(said.find(part), std::string::npos) << part << ": " << said;
  body.material.clear();
  body.shapes[1].material = "leda";
  said = message({.bodies = {body}, .materials = {ice, lead}});
  for (const char* part : {"bodies[0].shapes[1].material", "leda", "'lead'"})
    EXPECT_NE(said.find(part), std::string::npos) << part << ": " << said;
  EXPECT_NE(message({.bodies = {body}}).find("empty"), std::string::npos);
  said = message({.bodies = {validation::unit_box(0, 0, 0)}, .materials = {ice, ice}});
  EXPECT_NE(said.find("materials[1].name"), std::string::npos) << said;
}

TEST(RigidMaterials, SceneFilesHaveThem) {
  const auto text = [](const std::string& name) {
    return "{\"systems\": [{\"type\": \"rigid\", \"name\": \"r\", \"model\": {\n"
           "\"materials\": [{\"name\": \"ice\", \"density\": 917, \"friction\": 0.02}],\n"
           "\"bodies\": [{\"shapes\": [{\"shape\": \"box\", \"material\": \"" +
           name + "\"}], \"friction\": 0.5}]}}]}";
  };
  Scene scene = load_scene_text(text("ice"), "s.json");
  const auto problems = check_scene_text(text("icy"), "s.json");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].key.find("bodies[0].shapes[0].material"), std::string::npos) << problems[0].key;
  EXPECT_EQ(problems[0].nearest, "ice");
}

TEST(RigidDamping, OfABodyComesBeforeTheSystems) {
  // Implicit Euler in each sub-step h: v1 = v0 / (1 + h c), of turning likewise.
  std::vector<BodySpec> bodies;
  const double of_system[2] = {0.7, 0.4}, own[3] = {-1, 0, 3};
  for (const double linear : own)
    for (const double angular : own) {
      BodySpec body = ball(0.1, Vec3(0, 0, Real(bodies.size())), Vec3(2, 0, 0));
      body.angular_velocity = Vec3(0, 0, 5);
      body.linear_damping = Real(linear), body.angular_damping = Real(angular);
      bodies.push_back(body);
    }
  RigidScene scene({.bodies = bodies});
  scene.params.gravity.setZero();
  scene.params.linear_damping = Real(of_system[0]), scene.params.angular_damping = Real(of_system[1]);
  for (int k = 0; k < 60; ++k) scene.step();
  const int steps = 60 * scene.params.substeps;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const double linear = own[i / 3] < 0 ? of_system[0] : own[i / 3],
                 angular = own[i % 3] < 0 ? of_system[1] : own[i % 3];
    // Float rounds each of the 480 products.
    EXPECT_NEAR(scene.state.frames.v[i].x(), 2 * std::pow(1 + linear / steps, -steps), 2 * steps * 6e-8) << i;
    EXPECT_NEAR(scene.state.frames.w[i].z(), 5 * std::pow(1 + angular / steps, -steps), 5 * steps * 6e-8)
        << i;
  }
}

TEST(RigidDamping, FallingEndsAtTheSpeedWhereItCarriesTheWeight) {
  BodySpec body = ball(0.1, Vec3::Zero());
  body.linear_damping = 5;
  RigidScene scene({.bodies = {body}});
  for (int k = 0; k < 300; ++k) scene.step();
  EXPECT_NEAR(scene.state.frames.v[0].y(), -9.81 / 5, 1e-4);
}

}}  // namespace plenum
