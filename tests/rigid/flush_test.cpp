// What slides over bodies whose tops are flush does not feel where one ends and the next begins.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "../../validation/rigid_scenes.h"
#include "plenum/solvers/rigid/detail/flush.h"
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Form;
using rigid::ShapeSpec;
using validation::RigidScene;

constexpr double slab_width = 0.5;  // [m]

/// Slabs along x, without friction, their tops at y = 0, or at y = step from x = 4.75 m on.
Rigid::Spec floor_of_slabs(bool one_body, double step = 0) {
  Rigid::Spec spec;
  BodySpec all;
  all.motion = rigid::Motion::fixed, all.friction = 0;
  all.shapes.clear();
  for (int k = -4; k < 60; ++k) {
    const Vec3 half(Real(slab_width / 2), Real(0.5), 2),
        at(Real(slab_width * k), Real(-0.5 + (k < 10 ? 0.0 : step)), 0);
    BodySpec body = validation::fixed_box(half, at);
    body.friction = 0;
    all.shapes.push_back(body.shapes[0]);
    all.shapes.back().position = at;
    if (!one_body) spec.bodies.push_back(body);
  }
  if (one_body) spec.bodies.push_back(all);
  return spec;
}

struct Slider {
  std::string name;
  BodySpec body;
  double height;  ///< [m] of its middle above what it lies on
};
std::vector<Slider> sliders() {
  std::vector<Slider> all;
  for (const double half : {0.5, 0.1, 0.05})
    all.push_back({"box", validation::box(Vec3::Constant(Real(half)), Vec3::Zero()), half});
  const auto add = [&](const char* name, double height) -> ShapeSpec& {
    all.push_back({name, validation::box(Vec3::Ones(), Vec3::Zero()), height});
    return all.back().body.shapes[0];
  };
  ShapeSpec& capsule = add("capsule", 0.2);
  capsule.shape = Form::capsule, capsule.radius = Real(0.2), capsule.half_height = Real(0.3);
  capsule.rotation = Vec3(0, 0, 90);
  ShapeSpec& cylinder = add("cylinder", 0.2);
  cylinder.shape = Form::cylinder, cylinder.radius = Real(0.3), cylinder.half_height = Real(0.2);
  ShapeSpec& ball = add("ball", 0.1);
  ball.shape = Form::sphere, ball.radius = Real(0.1);
  ShapeSpec& hull = add("hull", 0.2);
  hull.shape = Form::hull;
  for (int k = 0; k < 6; ++k)
    for (const double y : {-0.2, 0.2}) {
      const double angle = 0.1 + k * std::numbers::pi / 3;
      hull.points.push_back(Vec3(Real(0.4 * std::cos(angle)), Real(y), Real(0.4 * std::sin(angle))));
    }
  return all;
}

class FlushBodies : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(OneBody, FlushBodies, ::testing::Bool());

TEST_P(FlushBodies, KeepTheSpeedOfWhatSlidesOverThem) {
  for (const Slider& slider : sliders())
    for (const double yaw : {0.0, 10.0})
      for (const double speed : {0.5, 3.0, 10.0})
        for (const double drop : {0.0, 0.05}) {
          Rigid::Spec spec = floor_of_slabs(GetParam());
          BodySpec body = slider.body;
          body.position = Vec3(Real(0.6), Real(slider.height + drop), 0);
          body.rotation = Vec3(0, Real(yaw), 0);
          body.velocity = Vec3(Real(speed), 0, 0), body.friction = 0;
          spec.bodies.push_back(body);
          RigidScene scene(spec);
          for (int k = 0; k < 120; ++k) {
            scene.step();
            if (drop > 0 && k < 12) continue;  // it falls for sqrt(2 drop / g) = 0.1 s
            // Overlap, and what it is thrown up by, within the 1 % of its size that contacts are held to.
            ASSERT_NEAR(scene.state.frames.x.back().y(), slider.height, 0.02 * slider.height)
                << slider.name << " at " << speed << " m/s, yaw " << yaw << ", step " << k;
          }
          // Normals turned aside by a thousandth count as one: of the speed at which it falls that may be
          // lost.
          const double lost = 0.001 * std::sqrt(2 * 9.81 * drop) + 1e-4 * speed;
          EXPECT_NEAR(scene.state.frames.v.back().x(), speed, lost)
              << slider.name << " at " << speed << " m/s, yaw " << yaw << ", from " << drop << " m";
        }
}

TEST_P(FlushBodies, StillStopWhatRunsIntoAStep) {
  // A hundredth of the slider's width is no longer flush. Struck at its foot it rocks: from a blow that
  // leaves it 3/4 v / (2 half) of spin its middle goes up, and on, by half (3/16 v^2) / (g half) at most.
  for (const Slider& slider : sliders()) {
    if (slider.name != "box") continue;
    Rigid::Spec spec = floor_of_slabs(GetParam(), 0.02 * slider.height);
    BodySpec body = slider.body;
    body.position = Vec3(4, Real(slider.height), 0);
    body.velocity = Vec3(Real(0.5), 0, 0), body.friction = 0;
    spec.bodies.push_back(body);
    RigidScene scene(spec);
    const double step_at = 10 * slab_width - slab_width / 2, rocks = 3.0 / 16 * 0.25 / 9.81;
    for (int k = 0; k < 120; ++k) {
      scene.step();
      ASSERT_LT(scene.state.frames.x.back().x() + slider.height, step_at + rocks + 0.02 * slider.height) << k;
    }
  }
}

TEST(FlushFloor, BearWhatTipsOverTheirEdges) {
  // A plank whose middle is over the gap between two slabs, one end up: it comes down and lies on both.
  Rigid::Spec spec;
  for (const double x : {-1.0, 1.0})
    spec.bodies.push_back(validation::fixed_box(Vec3(Real(0.9), Real(0.5), 1), Vec3(Real(x), Real(-0.5), 0)));
  BodySpec plank = validation::box(Vec3(1, Real(0.05), Real(0.2)), Vec3(Real(0.1), Real(0.4), 0));
  plank.rotation = Vec3(0, 0, 15);
  spec.bodies.push_back(plank);
  RigidScene scene(spec);
  for (int k = 0; k < 180; ++k) {
    scene.step();
    // One per cent of its thickness.
    ASSERT_GT(scene.model.shapes.back().bounds(scene.state.frames.pose(2)).low.y(), -0.001) << k;
  }
  EXPECT_NEAR(scene.state.frames.x.back().y(), 0.05, 0.001);
}

/// A block in the corner of a floor and a wall of n x n tiles each, which it lies on and leans against.
RigidScene block_in_corner(int n) {
  Rigid::Spec spec;
  const double width = 0.1 * n;
  BodySpec tile = validation::fixed_box(Vec3::Constant(Real(0.05)), Vec3(Real(width / 2), Real(-0.05), 0));
  tile.count_x = tile.count_z = n, tile.spacing = Vec3::Constant(Real(0.1));
  spec.bodies.push_back(tile);
  tile.position = Vec3(Real(-0.05), Real(0.05), 0);
  tile.count_x = 1, tile.count_y = n;
  spec.bodies.push_back(tile);
  const Vec3 half = Vec3::Constant(Real(width / 2 - 0.02));
  spec.bodies.push_back(validation::box(half, Vec3(half.x(), half.y(), 0)));
  return RigidScene(spec);
}

TEST(FlushFloor, CostsAsItsContacts) {
  // [s] for each contact.
  const auto cost = [](int n) {
    RigidScene scene = block_in_corner(n);
    scene.step();
    RigidWorkspace& w = *scene.workspace.data;
    EXPECT_GE(w.contact_slot.size(), std::size_t(2 * (n - 1) * (n - 1)));
    double least = std::numeric_limits<double>::max();
    for (int k = 0; k < 5; ++k) {
      const auto start = std::chrono::steady_clock::now();
      detail::drop_ghosts(scene.model, w);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      least = std::min(least, took.count());
    }
    return least / double(w.contact_slot.size());
  };
  // 16 times as many: a logarithm grows by 1.5, what goes with the square by 16; the rest is for caches.
  EXPECT_LT(cost(64), 6 * cost(16));
}

}  // namespace
}  // namespace plenum
