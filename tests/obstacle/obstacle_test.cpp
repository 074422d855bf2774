#include "plenum/solvers/obstacle/obstacle.h"

#include <gtest/gtest.h>

#include <numbers>

#include "plenum/geometry/shapes.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

SystemOf<Obstacle>& add(World& world, const std::vector<Obstacle::Part>& parts,
                        const Obstacle::Params& params = {}) {
  Obstacle::Model model;
  Obstacle::State state;
  Obstacle::build({.parts = parts}, model, state);
  return world.add<Obstacle>("obstacle", model, state, params);
}

TEST(Obstacle, EveryPrimitiveIsDrawnAsLargeAsItCollides) {
  using Kind = Obstacle::Kind;
  for (const Kind kind : {Kind::sphere, Kind::box, Kind::capsule, Kind::cylinder, Kind::cone, Kind::torus}) {
    World world;
    const auto& obstacle = add(world, {{.shape = kind}});
    const TriangleMesh& mesh = obstacle.model.meshes[0];
    ASSERT_FALSE(mesh.triangles.empty());
    for (const Vec3& x : mesh.x)
      EXPECT_NEAR(obstacle.model.shapes[0].signed_distance(x).distance, 0, 1e-5)
          << names_of(kind)[static_cast<std::size_t>(kind)];
  }
}

TEST(Obstacle, MeshesCollideThroughTheirDistance) {
  World world;
  const auto& obstacle =
      add(world, {{.shape = Obstacle::Kind::mesh, .mesh = icosphere_mesh(1, 4), .resolution = 40}});
  // The icosphere's facets lie up to 1 - cos(edge / 2 sqrt 3) = 0.0008 inside of the sphere; the field errs
  // by h^2.
  for (const Vec3& x :
       {Vec3(Real(1.2), 0, 0), Vec3(0, Real(-1.05), 0), Vec3(Real(0.5), Real(0.5), Real(0.5))})
    EXPECT_NEAR(obstacle.model.shapes[0].signed_distance(x).distance, x.norm() - 1, 5e-3);
}

TEST(Obstacle, DoubtsOfItsMeshesAreTold) {
  World world;
  TriangleMesh open = icosphere_mesh(1, 2);
  open.triangles.pop_back();
  TriangleMesh doubled = open;
  doubled.triangles.push_back(open.triangles[3]);
  const auto kind = Obstacle::Kind::mesh;
  add(world,
      {{.shape = kind, .mesh = open, .resolution = 8}, {.shape = kind, .mesh = doubled, .resolution = 8}});
  const std::span<const std::string> doubts = world.system(0).doubts();
  ASSERT_EQ(doubts.size(), 1u);  // holes are borne
  EXPECT_TRUE(doubts[0].starts_with("model.parts[1].mesh has 3 edges of three triangles or more ("))
      << doubts[0];
  EXPECT_NE(doubts[0].find("1 duplicate triangle (319)"), std::string::npos) << doubts[0];
}

TEST(Obstacle, ItsBodiesMoveAsItsKeyframesSay) {
  World world({.fps = 100});
  auto& obstacle = add(world, {{.shape = Obstacle::Kind::box, .position = Vec3(1, 0, 0)}});
  world.add_keyframes("obstacle", {.path = "position",
                                   .interpolation = Keyframes::Interpolation::linear,
                                   .times = {0, 1},
                                   .values = {0, 0, 0, 3, 0, 0}});
  world.add_keyframes("obstacle", {.path = "rotation",
                                   .interpolation = Keyframes::Interpolation::linear,
                                   .times = {0, 1},
                                   .values = {0, 0, 0, 0, 90, 0}});
  world.step_frame();
  world.step_frame();
  const std::span<const SolidBody> bodies = world.system(0).boundary()->bodies();
  ASSERT_EQ(bodies.size(), 1u);
  const Real w = Real(std::numbers::pi / 2);
  EXPECT_NEAR((bodies[0].angular_velocity - Vec3(0, w, 0)).norm(), 0, 1e-3);
  // The part turns about the obstacle's origin: its centre moves with v + w x r.
  const Vec3 r = bodies[0].pose.position - obstacle.state.position;
  EXPECT_NEAR((bodies[0].velocity - Vec3(3, 0, 0) - Vec3(0, w, 0).cross(r)).norm(), 0, 2e-2);
  EXPECT_NEAR(obstacle.state.position.x(), 0.06, 1e-6);
}

TEST(Obstacle, ItStandsAtItsFirstKeyframeFromTheStart) {
  World world;
  auto& obstacle = add(world, {{}});
  world.add_keyframes("obstacle", {.path = "position", .times = {0, 1}, .values = {7, 0, 0, 8, 0, 0}});
  EXPECT_EQ(obstacle.state.position, Vec3(7, 0, 0));
}

TEST(Obstacle, ItStandsWhereItsParametersSayFromTheStart) {
  World world;
  auto& obstacle = add(world, {{}}, {.position = Vec3(100, 0, 0)});
  EXPECT_EQ(obstacle.state.position, Vec3(100, 0, 0));
  world.step_frame();
  EXPECT_EQ(obstacle.state.velocity, Vec3::Zero());
  EXPECT_EQ(obstacle.state.position, Vec3(100, 0, 0));
}

}  // namespace
}  // namespace plenum
