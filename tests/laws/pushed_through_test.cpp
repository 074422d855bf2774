// What keeps surfaces of position-based dynamics apart pushes them into no solid.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

// Half of the cloth was pushed through a plate that both landed on, where the plate is a body of the system.
TEST(PushedThrough, ClothUnderAHeavyBarStaysOnAPlateThatIsABody) {
  Scene s = load_scene_text(R"({"world": {"fps": 60}, "systems": [
      {"type": "obstacle", "name": "legs", "model": {"parts": [
        {"shape": "box", "half_extents": [0.05, 0.25, 1], "position": [-0.9, -0.27, 0]},
        {"shape": "box", "half_extents": [0.05, 0.25, 1], "position": [0.9, -0.27, 0]}]}},
      {"type": "pbd", "name": "soft", "model": {
        "bodies": [{"shape": "box", "half_extents": [1, 0.01, 1], "position": [0, -0.01, 0]}],
        "parts": [
          {"type": "cloth", "size_x": 0.9, "size_z": 0.9, "cells_x": 14, "cells_z": 14,
           "bending_stiffness": 1e-4, "position": [0, 0.02, 0]},
          {"type": "bar", "half_extents": [0.15, 0.1, 0.12], "cells_x": 4, "cells_y": 3, "cells_z": 3,
           "position": [0, 0.4, 0], "rotation": [20, 30, 40], "velocity": [0, -10, 0]}]},
       "params": {"contact": "conservative"}}]})",
                            "plate.json");
  const auto& soft = dynamic_cast<const SystemOf<Pbd>&>(*s.world.find("soft"));
  for (int f = 0; f < 60; ++f) EXPECT_TRUE(s.world.step_frame().ok);
  const Frames& plate = soft.state.frames;
  for (const Vec3& x : soft.state.particles.x)
    EXPECT_GT((plate.rotation(0).conjugate() * Vec3(x - plate.x[0])).y(), 0);
}

/// The solid angle that the surface covers as seen from the first body: it changes its sign by way of 2 pi
/// where the body goes round a sheet or through it.
double solid_angle(const SystemOf<Pbd>& soft) {
  using D3 = Vector3<double>;
  double sum = 0;
  for (const Index3& t : soft.model.surface) {
    D3 r[3];
    for (int i = 0; i < 3; ++i)
      r[i] = (soft.state.particles.x[std::size_t(t[i])] - soft.state.frames.x[0]).cast<double>();
    const double a = r[0].norm(), b = r[1].norm(), c = r[2].norm();
    // Van Oosterom & Strackee 1983, "The solid angle of a plane triangle".
    sum += 2 * std::atan2(r[0].dot(r[1].cross(r[2])),
                          a * b * c + r[0].dot(r[1]) * c + r[1].dot(r[2]) * a + r[2].dot(r[0]) * b);
  }
  return sum;
}

/// At the end of half a second, of a ball of 5 cm that flies at what is at the origin.
double after_a_shot(const std::string& part, int density, double speed, const Vec3& aim) {
  Scene s = load_scene_text(
      R"({"world": {"fps": 60}, "systems": [{"type": "pbd", "name": "soft", "model": {"bodies": [
          {"shape": "sphere", "radius": 0.05, "density": )" +
          std::to_string(density) + R"(, "position": [-0.5, )" + std::to_string(aim.y()) + ", " +
          std::to_string(aim.z()) + R"(], "velocity": [)" + std::to_string(speed) + R"(, 0, 0]}],
          "parts": [)" +
          part + R"(]}, "params": {"contact": "conservative", "gravity": [0, 0, 0]}}]})",
      "shot.json");
  const auto& soft = dynamic_cast<const SystemOf<Pbd>&>(*s.world.find("soft"));
  for (int f = 0; f < 30; ++f) EXPECT_TRUE(s.world.step_frame().ok);
  return solid_angle(soft);
}

// Where they hit near the middles of cells, every fourth passed between particles.
TEST(PushedThrough, BallsDoNotPassClothThatIsHeld) {
  const std::string cloth = R"({"type": "cloth", "size_x": 1, "size_z": 1, "cells_x": 30, "cells_z": 30,
      "rotation": [0, 0, 90], "pins": [{"where": "left"}, {"where": "right"}, {"where": "front"},
      {"where": "back"}]})";
  for (const double speed : {20.0, 40.0, 100.0})
    for (const Vec3& aim : {Vec3(0, Real(0.018), Real(0.013)), Vec3(0, Real(0.018), Real(0.021))})
      EXPECT_LT(after_a_shot(cloth, 300, speed, aim), 0) << speed;
}

// A ball of half a kilogram got inside, at 20 m/s.
TEST(PushedThrough, BallsDoNotGetIntoBalloons) {
  const std::string balloon = R"({"type": "mesh_cloth", "inflated": true, "position": [0.2, 0, 0],
      "mesh": {"shape": "icosphere", "radius": 0.3, "subdivisions": 3}})";
  for (const double speed : {20.0, 60.0})
    EXPECT_NEAR(after_a_shot(balloon, 1000, speed, Vec3(0, Real(0.01), Real(0.013))), 0, 0.1) << speed;
}

}}  // namespace plenum
