// What keeps surfaces of position-based dynamics apart pushes them into no solid.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plenum/scene/scene.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum { namespace {

/// [m] The least height of any particle at the ends of frames.
double lowest(const std::string& scene, int frames) {
  Scene s = load_scene_text(scene, "pushed_through.json");
  const auto& soft = dynamic_cast<const SystemOf<Pbd>&>(*s.world.find("soft"));
  double least = 1;
  for (int f = 0; f < frames; ++f) {
    EXPECT_TRUE(s.world.step_frame().ok);
    for (const Vec3& x : soft.state.particles.x) least = std::min(least, double(x.y()));
  }
  return least;
}

// A bar of 2.9 kg that lands at 10 m/s on cloth on a plate of two centimetres drove seven particles of the
// cloth through it, for good.
TEST(PushedThrough, ClothUnderAHeavyBarStaysOnAThinPlate) {
  for (const double half : {0.01, 0.002}) {
    const std::string thin = std::to_string(half);
    EXPECT_GT(lowest(R"({"world": {"fps": 60}, "systems": [
        {"type": "obstacle", "name": "plate", "model": {"parts": [
          {"shape": "box", "half_extents": [2, )" +
                         thin + R"(, 2], "position": [0, -)" + thin + R"(, 0]}]}},
        {"type": "pbd", "name": "soft", "model": {"parts": [
          {"type": "cloth", "size_x": 0.9, "size_z": 0.9, "cells_x": 14, "cells_z": 14,
           "bending_stiffness": 1e-4, "position": [0, 0.02, 0]},
          {"type": "bar", "half_extents": [0.15, 0.1, 0.12], "cells_x": 4, "cells_y": 3, "cells_z": 3,
           "position": [0, 0.4, 0], "rotation": [20, 30, 40], "velocity": [0, -10, 0]}]},
         "params": {"contact": "conservative"}}]})",
                     60),
              -half);
  }
}

// Cloth of a gram a square metre under one of ten thousand times as much was pressed four centimetres into
// the ground beside a step.
TEST(PushedThrough, LightClothUnderHeavyClothStaysOnTheGround) {
  EXPECT_GT(lowest(R"({"world": {"fps": 60}, "systems": [
      {"type": "obstacle", "name": "ground", "model": {"parts": [
        {"shape": "plane"}, {"shape": "box", "half_extents": [0.3, 0.15, 1], "position": [-0.3, 0.15, 0]}]}},
      {"type": "pbd", "name": "soft", "model": {"parts": [
        {"type": "cloth", "size_x": 1, "size_z": 1, "cells_x": 16, "cells_z": 16, "position": [0, 0.6, 0],
         "areal_density": 0.001, "bending_stiffness": 0},
        {"type": "cloth", "size_x": 1, "size_z": 1, "cells_x": 16, "cells_z": 16, "position": [0, 0.7, 0],
         "areal_density": 10, "stretch_compliance": 0.01}]},
       "params": {"contact": "conservative"}}]})",
                   60),
            0);
}

}}  // namespace plenum
