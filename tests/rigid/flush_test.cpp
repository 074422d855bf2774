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

/// Slabs along x whose tops are at y = 0, or at y = step from x = 4.75 m on: moved by forces, on a floor, or
/// by themselves.
Rigid::Spec row_of_slabs(rigid::Motion motion, const Vec3& velocity, double step = 0) {
  Rigid::Spec spec = floor_of_slabs(false, step);
  for (BodySpec& slab : spec.bodies) slab.motion = motion, slab.velocity = velocity;
  if (motion != rigid::Motion::dynamic) return spec;
  // Down to the floor.
  for (BodySpec& slab : spec.bodies)
    if (slab.position.y() > Real(-0.5))
      slab.position.y() -= Real(step / 2), slab.shapes[0].half_extents.y() += Real(step / 2);
  spec.bodies.insert(spec.bodies.begin(),
                     validation::fixed_box(Vec3(60, Real(0.5), 20), Vec3(0, Real(-1.5), 0)));
  return spec;
}

TEST(FlushRow, KeepsTheSpeedOfWhatSlidesOverItWhereItMoves) {
  struct Row {
    rigid::Motion motion;
    Vec3 velocity;
  };
  for (const Row& row :
       {Row{rigid::Motion::dynamic, Vec3::Zero()}, Row{rigid::Motion::kinematic, Vec3(-1, 0, 0)},
        Row{rigid::Motion::kinematic, Vec3(0, Real(0.5), 0)}})
    for (const Slider& slider : sliders())
      for (const double yaw : {0.0, 10.0})
        for (const double speed : {0.5, 3.0, 10.0}) {
          Rigid::Spec spec = row_of_slabs(row.motion, row.velocity);
          BodySpec body = slider.body;
          body.position = Vec3(Real(0.6), Real(slider.height), 0);
          body.rotation = Vec3(0, Real(yaw), 0);
          body.velocity = Vec3(Real(speed), row.velocity.y(), 0), body.friction = 0;
          spec.bodies.push_back(body);
          RigidScene scene(spec);
          for (int k = 0; k < 120; ++k) {
            scene.step();
            const double top = double(row.velocity.y()) * scene.state.time;
            ASSERT_NEAR(scene.state.frames.x.back().y() - top, slider.height, 0.02 * slider.height)
                << slider.name << " at " << speed << " m/s, yaw " << yaw << ", step " << k;
          }
          EXPECT_NEAR(scene.state.frames.v.back().x(), speed, 1e-4 * speed)
              << slider.name << " at " << speed << " m/s, yaw " << yaw;
        }
}

TEST(FlushRow, StopsWhatRunsIntoAStepWhereItMoves) {
  // As floors do, in the frame of the row; a slab that is moved by forces weighs enough to stay.
  for (const bool by_forces : {false, true})
    for (const Slider& slider : sliders()) {
      if (slider.name != "box") continue;
      const double back = by_forces ? 0 : 0.3;  // [m/s] of the row
      const auto motion = by_forces ? rigid::Motion::dynamic : rigid::Motion::kinematic;
      Rigid::Spec spec = row_of_slabs(motion, Vec3(Real(-back), 0, 0), 0.02 * slider.height);
      for (BodySpec& slab : spec.bodies)
        if (slab.motion == rigid::Motion::dynamic) slab.density = 1e6;
      BodySpec body = slider.body;
      body.position = Vec3(4, Real(slider.height), 0);
      body.velocity = Vec3(Real(0.5 - back), 0, 0), body.friction = 0;
      spec.bodies.push_back(body);
      RigidScene scene(spec);
      const double step_at = 10 * slab_width - slab_width / 2, rocks = 3.0 / 16 * 0.25 / 9.81;
      for (int k = 0; k < 120; ++k) {
        scene.step();
        ASSERT_LT(scene.state.frames.x.back().x() + slider.height + back * scene.state.time,
                  step_at + rocks + 0.02 * slider.height)
            << k;
      }
    }
}

TEST(FlushRow, StopsWhatRunsIntoABodyThatRises) {
  Rigid::Spec spec;
  spec.bodies.push_back(validation::fixed_box(Vec3(1, Real(0.5), 2), Vec3(-1, Real(-0.5), 0)));
  BodySpec piston = validation::box(Vec3(1, Real(0.5), 2), Vec3(1, Real(-0.5), 0));
  piston.motion = rigid::Motion::kinematic, piston.velocity = Vec3(0, 1, 0);
  spec.bodies.push_back(piston);
  for (BodySpec& body : spec.bodies) body.friction = 0;
  BodySpec body = validation::box(Vec3::Constant(Real(0.1)), Vec3(Real(-0.102), Real(0.1), 0));
  body.velocity = Vec3(Real(0.5), 0, 0), body.friction = 0;
  spec.bodies.push_back(body);
  RigidScene scene(spec);
  // It rocks back over the edge that strikes it; what is below the piston's top comes no farther than the
  // hundredth of its size that contacts are held to.
  for (int k = 0; k < 12; ++k) {
    scene.step();
    const Vec3 corner = scene.state.frames.pose(2) * Vec3(Real(0.1), Real(-0.1), 0);
    ASSERT_LT(corner.y(), scene.state.time) << k;
    ASSERT_LT(corner.x(), 0.002) << k;
  }
}

TEST(FlushRow, StopsWhatDrivesDownTheBodyThatItComesFrom) {
  // A heavy box falls on a floating one, beside a fixed one: they go down together, so it meets that one's
  // side.
  for (const double falls : {0.5, 1.0, 2.0}) {
    Rigid::Spec spec;
    BodySpec floats = validation::box(Vec3(1, Real(0.5), 2), Vec3(-1, Real(-0.5), 0));
    floats.gravity_scale = 0;
    spec.bodies = {floats, validation::fixed_box(Vec3(1, Real(0.5), 2), Vec3(1, Real(-0.5), 0))};
    BodySpec body =
        validation::box(Vec3::Constant(Real(0.1)), Vec3(Real(-0.175), Real(0.1 + falls / 120), 0));
    body.velocity = Vec3(5, Real(-falls), 0), body.density = 10000;
    spec.bodies.push_back(body);
    for (BodySpec& b : spec.bodies) b.friction = 0;
    RigidScene scene(spec);
    for (int k = 0; k < 60; ++k) {
      scene.step();
      const Aabb box = scene.model.shapes[2].bounds(scene.state.frames.pose(2));
      ASSERT_LT(std::min(box.high.x(), -box.low.y()), 0.002) << k;  // 1 % of its size
    }
  }
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
