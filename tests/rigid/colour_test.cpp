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

}}  // namespace plenum
