// What hangs on pins that jump goes with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "plenum/geometry/aabb.h"
#include "plenum/scene/scene.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum { namespace {

const std::string jumping_cloth = R"({"type": "cloth", "cells_x": 20, "cells_z": 20, "position": [0, 1, 0],
    "pins": [{"where": "left", "group": 0}]})";

/// A system in which group 0 of pins goes by `way` after half a second, and back after another.
Scene jump_scene(const std::string& model, const std::string& way) {
  return load_scene_text(R"({"world": {"fps": 60}, "systems": [{"type": "pbd", "name": "soft", "model": {)" +
                             model + R"(}, "params": {"contact": "conservative", "pins": [{}]},
      "keyframes": [{"path": "pins[0].offset", "interpolation": "step", "times": [0, 0.5, 1],
        "values": [[0, 0, 0], )" +
                             way + R"(, [0, 0, 0]]}]}]})",
                         "jump.json");
}

Real largest_extent(const Pbd::State& state) {
  Aabb box;
  for (const Vec3& x : state.particles.x) box.extend(x);
  return box.size().maxCoeff();
}

// It was drawn out to 444 times its length, for good.
TEST(Teleport, ClothGoesWithItsPinsAndIsNotDrawnOut) {
  for (const char* const way : {"[20, 0, 0]", "[100, 1, -30]"}) {
    Scene s = jump_scene("\"parts\": [" + jumping_cloth + "]", way);
    const auto& soft = dynamic_cast<const SystemOf<Pbd>&>(*s.world.find("soft"));
    int warned = 0;
    for (int f = 0; f < 90; ++f) {
      const FrameReport report = s.world.step_frame();
      ASSERT_TRUE(report.ok);
      warned += int(report.systems[0].warnings().size());
      EXPECT_LT(largest_extent(soft.state), Real(1.5)) << way << " " << f;
    }
    EXPECT_EQ(warned, 2);
  }
}

// What is dragged is dragged.
TEST(Teleport, ClothThatIsLedFastIsDrawnAndComesBack) {
  Scene s = jump_scene("\"parts\": [" + jumping_cloth + "]", "[4, 0, 0]");
  const auto& soft = dynamic_cast<const SystemOf<Pbd>&>(*s.world.find("soft"));
  Real fastest = 0;
  for (int f = 0; f < 180; ++f) {
    const FrameReport report = s.world.step_frame();
    ASSERT_TRUE(report.ok);
    EXPECT_TRUE(report.systems[0].warnings().empty());
    for (const Vec3& v : soft.state.particles.v) fastest = std::max(fastest, v.norm());
  }
  EXPECT_GT(fastest, Real(100));
  EXPECT_LT(largest_extent(soft.state), Real(1.5));
}

// A body on a rope goes too; what hangs on nothing that jumps stays.
TEST(Teleport, WhatIsTiedToItGoesTooAndTheRestStays) {
  Scene s = jump_scene(R"("bodies": [
        {"name": "weight", "shape": "sphere", "radius": 0.1, "density": 300, "position": [1.2, 1, 0]},
        {"name": "other", "shape": "sphere", "radius": 0.1, "density": 300, "position": [5, 1, 0]}],
      "parts": [{"type": "rope", "segments": 20, "from": [0, 1, 0], "to": [1.1, 1, 0],
                 "pins": [{"where": "first", "group": 0}],
                 "attachments": [{"where": "last", "body": "weight"}]}])",
                       "[100, 0, 0]");
  const auto& soft = dynamic_cast<const SystemOf<Pbd>&>(*s.world.find("soft"));
  for (int f = 0; f < 40; ++f) ASSERT_TRUE(s.world.step_frame().ok);
  EXPECT_LT((soft.state.frames.x[0] - Vec3(100, 1, 0)).norm(), Real(1.5));
  EXPECT_LT(std::abs(soft.state.frames.x[1].x() - 5), Real(0.01));
}

}}  // namespace plenum
