// Bodies that start in one place are told of, once.
#include <gtest/gtest.h>

#include "joints.h"
#include "scene_laws.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Spec;
using test::ball;

std::vector<std::string> doubts(const Spec& spec) {
  return validation::RigidScene(spec).model.doubts;
}
BodySpec cube(double x) {
  return validation::unit_box(x, 0, 0);
}

TEST(RigidPlaces, ThirtyBoxesInOneAreToldOfOnce) {
  Spec spec;
  for (int k = 0; k < 30; ++k) spec.bodies.push_back(cube(2));
  spec.bodies.push_back(cube(7)), spec.bodies.push_back(cube(7));
  spec.bodies.push_back(cube(5));
  spec.bodies[0].name = "first";
  const auto said = doubts(spec);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(
      said[0],
      "30 bodies start in one place, at 2 0 0, and others in 1 more, first and bodies[1] among them, and "
      "will push each other out of it; give each a `position` of its own, or let them pass each other "
      "by `layer` and `passes`");
}

TEST(RigidPlaces, OfGridsAndAssembliesAsJointsCallThem) {
  BodySpec grid = cube(0);
  grid.name = "g", grid.count_x = 3, grid.spacing = Vec3::Constant(2);
  rigid::AssemblySpec brick;
  brick.type = rigid::AssemblyType::pyramid, brick.count = 1;
  brick.half_extents = Vec3::Constant(Real(0.5)), brick.position = Vec3(2, Real(-0.5), 0);
  const auto said = doubts({.bodies = {grid}, .assemblies = {brick}});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].substr(0, 66), "2 bodies start in one place, at 2 0 0, g[2] and number 3 among the");
}

TEST(RigidPlaces, ThatDoNotPushEachOtherAreNot) {
  EXPECT_TRUE(doubts({.bodies = {cube(0), cube(2)}}).empty());
  EXPECT_FALSE(doubts({.bodies = {cube(0), ball(0.1, Vec3::Zero())}}).empty());
  Spec spec{.bodies = {cube(0), cube(0)}};
  spec.bodies[1].sensor = true;
  EXPECT_TRUE(doubts(spec).empty());
  spec.bodies[1].sensor = false, spec.bodies[1].motion = rigid::Motion::fixed;
  spec.bodies[0].motion = rigid::Motion::kinematic;
  EXPECT_TRUE(doubts(spec).empty());
  spec = {.bodies = {cube(0), cube(0)}};
  spec.bodies[1].layer = 3, spec.bodies[0].passes = {3};
  EXPECT_TRUE(doubts(spec).empty());
  spec = {.bodies = {cube(0), cube(0)},
          .joints = {test::joint(rigid::JointType::fixed, "0", "1", Vec3::Zero())}};
  EXPECT_TRUE(doubts(spec).empty());
  spec.joints[0].collide = true;
  EXPECT_FALSE(doubts(spec).empty());
  // A ball in a frame of four bars.
  BodySpec frame = cube(0);
  frame.shapes.clear();
  for (const double side : {-1, 1}) {
    frame.shapes.push_back(
        {.half_extents = Vec3(Real(0.1), 1, Real(0.1)), .position = Vec3(Real(side), 0, 0)});
    frame.shapes.push_back(
        {.half_extents = Vec3(1, Real(0.1), Real(0.1)), .position = Vec3(0, Real(side), 0)});
  }
  EXPECT_TRUE(doubts({.bodies = {frame, ball(0.5, Vec3::Zero())}}).empty());
}

}}  // namespace plenum
