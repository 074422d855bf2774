// What rigid bodies are coloured by.
#include <gtest/gtest.h>

#include <algorithm>

#include "plenum/solvers/rigid/rigid.h"

namespace plenum { namespace {

struct Speeds final : DrawableSink {
  std::vector<std::vector<Real>> values;
  std::vector<std::string> quantities;
  void triangles(const TriangleView& view) override {
    values.emplace_back(view.colour.values.begin(), view.colour.values.end());
    quantities.emplace_back(view.colour.quantity);
  }
  void spheres(const SphereView&) override {}
  void lines(const LineView&) override {}
};

TEST(RigidColour, SpeedIsThatOfEachPointOfABody) {
  // A cube that spins about y at 4 rad/s: its corners, and nothing else of it, are sqrt(0.5) m from the axis.
  rigid::BodySpec cube, wall;
  cube.angular_velocity = Vec3(0, 4, 0);
  wall.motion = rigid::Motion::fixed;
  Rigid::Spec spec;
  spec.bodies = {cube, wall};
  spec.colour = rigid::Colour::speed;
  Rigid::Model model;
  Rigid::State state;
  Rigid::build(spec, model, state);
  Speeds seen;
  Rigid::geometry(model, state, seen);
  ASSERT_EQ(seen.values.size(), 2u);
  ASSERT_FALSE(seen.values[0].empty());
  EXPECT_EQ(seen.quantities[0], "speed");
  EXPECT_NEAR(*std::max_element(seen.values[0].begin(), seen.values[0].end()), 4 * std::sqrt(0.5), 1e-5);
  EXPECT_TRUE(seen.values[1].empty());  // what forces do not move stays neutral
}

struct Ties final : DrawableSink {
  std::vector<std::pair<Vec3, Vec3>> ends;
  void triangles(const TriangleView&) override {}
  void spheres(const SphereView&) override {}
  void lines(const LineView& view) override {
    for (const Index2& s : view.segments) ends.emplace_back(view.x[s[0]], view.x[s[1]]);
  }
};

TEST(RigidGeometry, RopesAreSeenUntilTheyBreak) {
  rigid::BodySpec cube;
  cube.position = Vec3(0, 2, 0);
  rigid::JointSpec rope, ball;
  rope.type = rigid::JointType::rope;
  rope.body_b = "0";
  rope.anchor = Vec3(1, 5, 0), rope.anchor_b = Vec3(0, Real(2.5), 0);
  rope.length = 4;
  ball.body_b = "0";
  ball.anchor = Vec3(0, 2, 0);
  Rigid::Model model;
  Rigid::State state;
  Rigid::build({.bodies = {cube}, .joints = {rope, ball}}, model, state);
  Ties seen;
  Rigid::geometry(model, state, seen);
  ASSERT_EQ(seen.ends.size(), 1u);  // a ball joint has no extent
  EXPECT_LT((seen.ends[0].first - Vec3(1, 5, 0)).norm(), 1e-5);
  EXPECT_LT((seen.ends[0].second - Vec3(0, Real(2.5), 0)).norm(), 1e-5);
  state.joints.broken[0] = 1;
  Ties none;
  Rigid::geometry(model, state, none);
  EXPECT_TRUE(none.ends.empty());
}

}}  // namespace plenum
