// The mouse, as the window uses it, without a window: from a point of the picture to a pull on a particle.
#include "plenum/world/pointer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plenum/draw/camera.h"
#include "plenum/draw/palette_sink.h"
#include "plenum/scene/scene.h"
#include "plenum/solvers/rigid/rigid.h"
#include "plenum/solvers/springs/springs.h"

namespace plenum { namespace {

constexpr Real aspect = Real(16) / 9;
constexpr int height = 720;

/// A ball first, as in the scenes, then a cloth that hangs by its upper edge, facing +z.
World hanging() {
  return load_scene_text(R"({"systems": [
    {"type": "obstacle", "name": "ball", "model": {"parts": [{"shape": "sphere", "radius": 0.1, "position": [0, -3, 0]}]}},
    {"type": "springs", "name": "cloth",
     "model": {"parts": [{"type": "cloth", "cells_x": 20, "cells_z": 20, "rotation": [90, 0, 0], "pins": [{"where": "back"}]}]},
     "params": {"air_density": 1.2}}]})",
                         "s.json")
      .world;
}

Camera in_front() {
  return {.eye = Vec3(0, 0, 3), .target = Vec3::Zero(), .up = Vec3::UnitY(), .field_of_view = Real(0.6)};
}

/// Where in the picture a point is seen, -1 to 1: the camera of in_front() looks along -z from z = 3.
Vec2 seen(const Vec3& x) {
  const Real half = std::tan(Real(0.3)) * (3 - x.z());
  return {x.x() / (half * aspect), x.y() / half};
}
PointerRay ray_through(const Vec2& p) {
  const Camera camera = in_front();
  return {camera.eye, camera.ray(p.x(), p.y(), aspect), camera.forward()};
}
constexpr Real fourteen_pixels = Real(14) * Real(0.6) / height;

const std::vector<Vec3>& positions(World& world) {
  return dynamic_cast<SystemOf<Springs>&>(*world.find("cloth")).state.particles.x;
}

TEST(Pointer, APressPicksTheParticleUnderItAndNoHeldOne) {
  World world = hanging();
  Pointer pointer;
  for (const Index i : {Index(21 * 20), Index(21 * 10 + 7), Index(21 * 20 + 20)}) {
    ASSERT_TRUE(pointer.press(world, ray_through(seen(positions(world)[std::size_t(i)])), fourteen_pixels));
    EXPECT_EQ(pointer.grip()->system, 1u);
    EXPECT_EQ(pointer.grip()->sample, i);
  }
  // The corner that hangs on its pin, and the background.
  std::size_t top = 0;
  for (std::size_t i = 0; i < positions(world).size(); ++i)
    if (positions(world)[i].y() > positions(world)[top].y()) top = i;
  const Vec2 above = seen(positions(world)[top]) + Vec2(0, Real(0.05));
  EXPECT_FALSE(pointer.press(world, ray_through(above), fourteen_pixels));
  EXPECT_FALSE(pointer.press(world, ray_through(Vec2(Real(0.9), Real(-0.9))), fourteen_pixels));
  EXPECT_FALSE(pointer.holds());
}

TEST(Pointer, AParticleFollowsTheDragAndIsLetGoOnRelease) {
  World world = hanging();
  Pointer pointer;
  const auto corner = std::size_t(21 * 20);
  for (int f = 0; f < 10; ++f) world.step_frame();
  const Vec2 start = seen(positions(world)[corner]);
  ASSERT_TRUE(pointer.press(world, ray_through(start), fourteen_pixels));
  const auto held = std::size_t(pointer.grip()->sample);
  EXPECT_EQ(held, corner);
  // Half a second to the right and up, then half a second still, as a hand does.
  const Vec2 way(Real(0.12), Real(0.3));
  for (int f = 1; f <= 60; ++f) {
    pointer.move(world, ray_through(start + way * std::min(Real(f) / 30, Real(1))));
    ASSERT_TRUE(world.dragging());
    ASSERT_TRUE(world.step_frame().ok);
  }
  const Vec2 end = seen(positions(world)[held]);
  // The hand's spring is soft, and the cloth's weight hangs on it besides the pins: it gets most of the way.
  // One particle's own mass on it, half a gram, would move a net of 0.2 kg by nothing.
  EXPECT_LT((end - (start + way)).norm(), way.norm() / 2);
  EXPECT_GT((end - start).dot(way.normalized()), way.norm() / 2);
  pointer.release(world);
  EXPECT_FALSE(pointer.holds());
  EXPECT_FALSE(world.dragging());
  for (int f = 0; f < 240; ++f) world.step_frame();
  EXPECT_LT((seen(positions(world)[held]) - start).norm(), way.norm() / 3);  // it hangs again
}

/// A box of 8 kg that lies on a plane, 3 m from the eye, beside a wall that stands still.
World table() {
  return load_scene_text(
             R"({"world": {"fps": 60}, "systems": [{"type": "rigid", "name": "table", "model": {"bodies": [
    {"motion": "fixed", "shapes": [{"shape": "plane"}], "position": [0, -0.1, 0]},
    {"shapes": [{"shape": "box", "half_extents": [0.1, 0.1, 0.1]}], "density": 1000},
    {"motion": "fixed", "shapes": [{"shape": "box", "half_extents": [0.1, 0.4, 0.4]}], "position": [0.6, 0.3, 0]}]}}]})",
             "s.json")
      .world;
}
const Frames& frames(World& world) {
  return dynamic_cast<SystemOf<Rigid>&>(*world.find("table")).state.frames;
}

TEST(Pointer, ABodyIsLiftedAndThrown) {
  World world = table();
  for (int f = 0; f < 60; ++f) ASSERT_TRUE(world.step_frame().ok);
  Pointer pointer;
  // The plane and the wall do not move, nor does the background.
  EXPECT_FALSE(pointer.press(world, ray_through(seen(Vec3(0, Real(-0.5), 0))), fourteen_pixels));
  EXPECT_FALSE(
      pointer.press(world, ray_through(seen(Vec3(Real(0.6), Real(0.5), Real(0.4)))), fourteen_pixels));
  const Vec2 place = seen(Vec3(Real(0.03), Real(0.02), Real(0.1)));
  ASSERT_TRUE(pointer.press(world, ray_through(place), fourteen_pixels));
  EXPECT_EQ(pointer.grip()->body, 1);
  EXPECT_NEAR((pointer.grip()->place - Vec3(Real(0.03), Real(0.02), Real(0.1))).norm(), 0, 1e-3);
  const Vec2 up = seen(Vec3(Real(-0.5), Real(0.4), Real(0.1)));
  for (int f = 0; f < 240; ++f) {
    pointer.move(world, ray_through(up));
    ASSERT_TRUE(world.step_frame().ok);
  }
  // It hangs from the hand, which holds its weight by a spring, g / w^2 lower and as much again as an
  // implicit spring gives way at h w = 0.5; between a pull and the next one it falls by h g.
  const Real sag = Real(9.81) / std::pow(Real(2 * 3.14159 * 5), Real(2));
  const Pose pose = frames(world).pose(1);
  EXPECT_NEAR((pose * pointer.grip()->place - Vec3(Real(-0.5), Real(0.4) - sag, Real(0.1))).norm(), 0,
              1.3 * double(sag));
  EXPECT_LT(frames(world).v[1].norm(), 9.81 / 60);
  // Carried at 2 m/s for a fifth of a second, it flies on as fast when it is let go.
  for (int f = 1; f <= 12; ++f) {
    pointer.move(world, ray_through(seen(Vec3(Real(-0.5) - 2 * Real(f) / 60, Real(0.4), Real(0.1)))));
    ASSERT_TRUE(world.step_frame().ok);
  }
  pointer.release(world);
  ASSERT_TRUE(world.step_frame().ok);
  EXPECT_NEAR(frames(world).v[1].x(), -2, 0.5);
  EXPECT_FALSE(world.dragging());
}

TEST(Pointer, ABodyIsNotPulledThroughAWallAndWakes) {
  World world = table();
  for (int f = 0; f < 120; ++f) ASSERT_TRUE(world.step_frame().ok);  // it sleeps
  Pointer pointer;
  ASSERT_TRUE(pointer.press(world, ray_through(seen(Vec3(0, 0, Real(0.1)))), fourteen_pixels));
  for (int f = 0; f < 120; ++f) {
    pointer.move(world, ray_through(seen(Vec3(Real(1.2), Real(0.1), Real(0.1)))));
    ASSERT_TRUE(world.step_frame().ok);
    // Faces meet at 0.4: a hundredth of its size is what overlap is bounded by elsewhere.
    EXPECT_LT(frames(world).x[1].x(), 0.402) << f;
  }
  EXPECT_GT(frames(world).x[1].x(), 0.35);
}

TEST(Pointer, TheFirstSystemThatIsNoObstacleLeads) {
  World world = hanging();
  EXPECT_EQ(leading_system(world), 1u);
  World empty;
  EXPECT_EQ(leading_system(empty), 0u);
}

/// Notes what it is given.
struct Palettes final : DrawableSink {
  std::vector<int> seen;
  void triangles(const TriangleView& view) override { seen.push_back(view.palette); }
  void spheres(const SphereView& view) override { seen.push_back(view.palette); }
  void lines(const LineView& view) override { seen.push_back(view.palette); }
};

TEST(PaletteSink, EveryPartOfASceneHasAnEntryOfItsOwnUnlessTheSceneSaysWhich) {
  World world = load_scene_text(R"({"systems": [
    {"type": "obstacle", "name": "a", "model": {"parts": [{"shape": "sphere"}, {"shape": "box", "palette": 3}]}},
    {"type": "springs", "name": "b", "model": {"parts": [{"cells_x": 2, "cells_z": 2}, {"cells_x": 2, "cells_z": 2, "palette": 5},
      {"type": "rope", "ball_radius": 0.1}]}},
    {"type": "particles", "name": "c", "model": {"positions": [[0, 0, 0]]}},
    {"type": "springs", "name": "d", "model": {"parts": [{"cells_x": 2, "cells_z": 2}]}}]})",
                                "s.json")
                    .world;
  Palettes palettes;
  PaletteSink sink(palettes);
  for (std::size_t s = 0; s < world.size(); ++s) {
    sink.next_system();
    world.system(s).geometry(sink);
  }
  // Sphere (neutral), box; cloth, cloth, rope and its balls; particles; cloth.
  EXPECT_EQ(palettes.seen, (std::vector<int>{-1, 3, 0, 5, 2, 2, 3, 4}));
}

}}  // namespace plenum
