// The same behaviour for bodies of every size.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "../../validation/rigid_scenes.h"

namespace plenum { namespace {

using validation::RigidScene;

/// Touching boxes of this width [m], one on the other.
Rigid::Spec stack_of(int boxes, double width) {
  Rigid::Spec spec{
      .bodies = {validation::fixed_box(Vec3::Constant(Real(50 * width)), Vec3(0, Real(-50 * width), 0))}};
  for (int i = 0; i < boxes; ++i)
    spec.bodies.push_back(
        validation::box(Vec3::Constant(Real(0.5 * width)), Vec3(0, Real((0.5 + i) * width), 0)));
  return spec;
}

double measured(const Report& report, std::string_view name) {
  double value = -1;
  for (const Report::Measure& m : report.measures())
    if (m.name == std::string_view(name)) value = m.value;
  return value;
}

// For at least 20 s, and for as many times as a body takes to fall by its own size. Overlap of neighbours:
// under 1 % of the size. A stack of twenty whose boxes lie straight leans by its drift; one box over the next
// is half a width from falling.
TEST(RigidSize, StacksStandWhateverTheirSize) {
  for (const double width : {0.01, 0.02, 0.05, 0.1, 1.0, 10.0, 100.0})
    for (const int boxes : {10, 20}) {
      RigidScene scene(stack_of(boxes, width));
      const std::vector<Vec3>& x = scene.state.frames.x;
      const int steps = static_cast<int>(1200 * std::max(1.0, std::sqrt(width)));
      double overlap = 0, drift = 0;
      for (int k = 0; k < steps; ++k) {
        scene.step();
        for (std::size_t i = 1; i < x.size(); ++i) {
          const double below = i == 1 ? -0.5 * width : double(x[i - 1].y());
          overlap = std::max(overlap, (width - (x[i].y() - below)) / width);
          drift = std::max(drift, std::hypot(x[i].x(), x[i].z()) / width);
        }
      }
      EXPECT_LT(overlap, 0.01) << boxes << " of " << width << " m";
      EXPECT_LT(drift, 0.05) << boxes << " of " << width << " m";
    }
}

// What stands is at rest, also where it may not sleep: for a minute no body of a tower of forty, a wall or a
// pyramid is ever as fast, from the twentieth second on, as one that may sleep.
TEST(SlowRigidSize, WhatIsTallStandsAwake) {
  const auto stands = [](RigidScene scene, const char* name) {
    const Frames& f = scene.state.frames;
    const std::vector<Vec3> x = f.x;
    for (int k = 0; k < 3600; ++k) {
      scene.step();
      for (std::size_t i = 1; i < x.size(); ++i) {
        if (k >= 1200) {
          ASSERT_LT(f.v[i].norm(), scene.params.sleep_speed * std::sqrt(scene.model.reach[i])) << name << k;
        }
        const Vec3 way = f.x[i] - x[i];
        ASSERT_LT(std::hypot(way.x(), way.z()), Real(0.1) * scene.model.reach[i]) << name << k;
      }
    }
  };
  stands(RigidScene(stack_of(40, 1)), "forty of 1 m, step ");
  stands(RigidScene(stack_of(40, 0.5)), "forty of 0.5 m, step ");
  stands(RigidScene(stack_of(40, 0.1)), "forty of 0.1 m, step ");
  stands(RigidScene(stack_of(40, 0.05)), "forty of 0.05 m, step ");
  stands(RigidScene(validation::pyramid(12)), "pyramid, step ");
  Rigid::Spec wall{.bodies = {validation::floor_box()}};
  for (int row = 0; row < 20; ++row)
    for (int i = 0; i <= 6; ++i) {
      // Half a brick at the ends of every other row.
      const bool half = row % 2 == 1 && (i == 0 || i == 6);
      if (row % 2 == 0 && i == 6) continue;
      const double x = row % 2 == 0 ? 0.5 * i + 0.25 : i == 0 ? 0.125 : i == 6 ? 2.875 : 0.5 * i;
      wall.bodies.push_back(validation::box(Vec3(half ? Real(0.12) : Real(0.245), Real(0.125), Real(0.125)),
                                            Vec3(Real(x), Real(0.125 + 0.25 * row), 0)));
    }
  stands(RigidScene(wall), "wall, step ");
}

TEST(RigidSize, OnlySmallBodiesThatBearEachOtherTakeMoreSubsteps) {
  RigidScene small(stack_of(2, 0.01)), large(stack_of(20, 0.5)), alone(stack_of(1, 0.01)),
      fixed(stack_of(2, 0.01));
  fixed.params.max_substeps = fixed.params.substeps;
  for (int k = 0; k < 30; ++k) {
    // 20 boxes of 0.29 m bear half of what buckles them at 8 sub-steps; these fall as fast for their size at
    // sqrt(29) times as many.
    EXPECT_NEAR(measured(small.step(), "sub-steps"), 8 * std::sqrt(29.0), 1);
    EXPECT_EQ(measured(large.step(), "sub-steps"), 8);
    EXPECT_EQ(measured(alone.step(), "sub-steps"), 8);
    EXPECT_EQ(measured(fixed.step(), "sub-steps"), 8);
  }
  // What is in the air bears nothing; nor does what nothing weighs.
  small.params.gravity.setZero();
  EXPECT_EQ(measured(small.step(), "sub-steps"), 8);
}

// Impulses are kept for sub-steps of the default length: what a stack carries does not depend on how many it
// takes, and nothing jumps where their number changes.
TEST(RigidSize, ImpulsesMeanTheSameHoweverManySubstepsThereAre) {
  RigidScene scene(stack_of(2, 0.02));
  for (int k = 0; k < 120; ++k) scene.step();
  const double mass = 1000 * 0.02 * 0.02 * 0.02, weight = mass * 9.81 / 480;
  const auto loads = [&] {
    std::array<double, 2> sums{};
    for (std::size_t c = 0; c < 2; ++c) sums[c] = double(scene.state.contacts.impulse[c].sum()) / weight;
    return sums;
  };
  EXPECT_NEAR(loads()[0], 2, 0.02);
  EXPECT_NEAR(loads()[1], 1, 0.01);
  scene.params.max_substeps = 8;
  for (int k = 0; k < 3; ++k) {
    scene.step();
    EXPECT_NEAR(loads()[0], 2, 0.02);
    EXPECT_LT(std::abs(scene.state.frames.v[2].y()), 1e-3);
  }
}

// Just past the angle of friction a block gains g (sin - mu cos) = g sqrt(1 + mu^2) sin(beyond), Coulomb's
// law. What rounds positions lets contacts tremble, the more the larger they are; that adds no friction: a
// part e of the load would take e mu g cos from the gain, and e = 3e-5 is 2 % of it.
TEST(RigidSize, BlocksSlideAsCoulombSaysWhateverTheirSize) {
  constexpr double friction = 0.5, beyond = 0.03 * 3.14159265358979 / 180;
  const double angle = std::atan(friction) + beyond,
               gain = 9.81 * std::sqrt(1 + friction * friction) * std::sin(beyond);
  for (const double size : {0.01, 0.1, 1.0, 10.0, 100.0}) {
    const rigid::BodySpec plane = validation::slope(angle, friction, size);
    rigid::BodySpec block =
        validation::box(Vec3(Real(0.5), Real(0.25), Real(0.5)) * Real(size),
                        Vec3(Real(0.25 * std::sin(angle)), Real(0.25 * std::cos(angle)), 0) * Real(size));
    block.rotation = plane.rotation, block.friction = plane.friction;
    RigidScene scene({.bodies = {plane, block}});
    const auto speed = [&] { return scene.state.frames.v[1].cast<double>().dot(validation::down(angle)); };
    for (int k = 0; k < 60; ++k) scene.step();
    const double before = speed();
    for (int k = 0; k < 180; ++k) scene.step();
    EXPECT_NEAR((speed() - before) / 3, gain, 0.02 * gain) << size << " m";
  }
}

}}  // namespace plenum
