// The mouse, as the window uses it, without a window: from a point of the picture to a pull on a particle.
#include "plenum/world/pointer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "plenum/draw/camera.h"
#include "plenum/draw/palette_sink.h"
#include "plenum/geometry/topology.h"
#include "plenum/scene/scene.h"
#include "plenum/solvers/pbd/pbd.h"
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

/// The same cloth by position-based dynamics, beside a crate of 8 kg on a rope.
World position_based(const char* params = "{}") {
  return load_scene_text(fmt::format(R"({{"world": {{"fps": 60}}, "systems": [
    {{"type": "pbd", "name": "cloth", "model": {{
      "parts": [
        {{"type": "cloth", "cells_x": 20, "cells_z": 20, "stretch_compliance": 1e-4, "shear_compliance": 1e-3, "rotation": [90, 0, 0],
          "pins": [{{"where": "back"}}]}}],
      "bodies": [{{"name": "crate", "shape": "box", "half_extents": [0.1, 0.1, 0.1], "density": 1000, "position": [0.8, 0, 0]}}],
      "joints": [{{"type": "rope", "body_a": "crate", "anchor": [0.8, 0.1, 0], "anchor_b": [0.8, 0.6, 0]}}]}},
     "params": {}}}]}})",
                                     params),
                         "s.json")
      .world;
}
SystemOf<Pbd>& pbd(World& world) {
  return dynamic_cast<SystemOf<Pbd>&>(*world.find("cloth"));
}
void frames_of(World& world, int count) {
  for (int f = 0; f < count; ++f) ASSERT_TRUE(world.step_frame().ok);
}

// A hand that could hold all of the system, of M g / k = g / w^2 = 0.4 mm, holds one particle as well as a
// patch.
TEST(Pointer, ParticlesAndPatchesOfPositionBasedClothAreDraggedThrownAndLetGo) {
  for (const Real radius : {Real(0), Real(0.125)}) {
    World world = position_based();
    frames_of(world, 20);
    Pointer pointer;
    pointer.settings.radius = radius;
    const auto corner = std::size_t(21 * 20);
    const auto& x = pbd(world).state.particles.x;
    const Vec3 start = x[corner];
    ASSERT_TRUE(pointer.press(world, ray_through(seen(start)), fourteen_pixels));
    ASSERT_EQ(std::size_t(pointer.grip()->sample), corner);
    const Vec3 way(Real(0.2), Real(0.35), 0);
    for (int f = 1; f <= 60; ++f) {
      pointer.move(world, ray_through(seen(start + way * std::min(Real(f) / 30, Real(1)))));
      frames_of(world, 1);
    }
    EXPECT_LT((x[corner] - start - way).norm(), 0.02) << radius;
    // Carried downwards at 1 m/s, it flies on as fast when it is let go.
    for (int f = 1; f <= 12; ++f) {
      pointer.move(world, ray_through(seen(start + way - Vec3(0, Real(f) / 60, 0))));
      frames_of(world, 1);
    }
    EXPECT_NEAR(pbd(world).state.particles.v[corner].y(), -1, 0.25) << radius;
    pointer.release(world);
    EXPECT_FALSE(world.dragging());
    frames_of(world, 240);
    EXPECT_LT((x[corner] - start).norm(), 0.1) << radius;
  }
}

/// Where the point of the crate is that its front is grabbed at, hanging 1 cm and as much again as the hand's
/// steps let it below where a spring of 5 Hz pulls it; the crate turns about it.
Vec3 crate_front(World& world) {
  return pbd(world).state.frames.pose(0) * Vec3(0, 0, Real(0.1));
}
constexpr const char* in_syrup = R"({"damping": 2})";

TEST(Pointer, ABodyOnARopeIsDraggedAndLetGo) {
  World world = position_based(in_syrup);
  frames_of(world, 20);
  Pointer pointer;
  const Vec3 front = crate_front(world), up(0, Real(0.3), 0);
  ASSERT_TRUE(pointer.press(world, ray_through(seen(front)), fourteen_pixels));
  ASSERT_EQ(pointer.grip()->body, 0);
  for (int f = 1; f <= 120; ++f) {
    pointer.move(world, ray_through(seen(front + up * std::min(Real(f) / 30, Real(1)))));
    frames_of(world, 1);
  }
  EXPECT_LT((crate_front(world) - front - up).norm(), 0.03);
  pointer.release(world);
  frames_of(world, 300);
  EXPECT_LT((crate_front(world) - front).norm(), 0.03);  // the rope has it again
}

TEST(Pointer, PinsHoldWhatWasDraggedUntilTheyAreTakenUpOrOff) {
  World world = position_based(in_syrup);
  frames_of(world, 20);
  Pointer pointer;
  EXPECT_FALSE(pointer.pin(world));
  const auto corner = std::size_t(21 * 20);
  const auto& x = pbd(world).state.particles.x;
  const Vec3 start = x[corner], way(Real(0.1), Real(0.3), 0), front = crate_front(world), up(0, Real(0.2), 0);
  const auto carry = [&](const Vec3& from, const Vec3& to) {
    ASSERT_TRUE(pointer.press(world, ray_through(seen(from)), fourteen_pixels));
    for (int f = 1; f <= 30; ++f) {
      pointer.move(world, ray_through(seen(from + (to - from) * Real(f) / 30)));
      frames_of(world, 1);
    }
  };
  carry(start, start + way);
  EXPECT_TRUE(pointer.pin(world));
  EXPECT_FALSE(pointer.holds());
  EXPECT_FALSE(world.dragging());
  // A second one, of a body.
  carry(front, front + up);
  EXPECT_TRUE(pointer.pin(world));
  EXPECT_EQ(world.num_pins(), 2U);
  frames_of(world, 120);
  EXPECT_LT((x[corner] - start - way).norm(), 0.02);
  EXPECT_LT((crate_front(world) - front - up).norm(), 0.03);
  // Taken up by what it holds, and let go.
  carry(x[corner], start);
  EXPECT_EQ(world.num_pins(), 1U);
  pointer.release(world);
  world.unpin();
  EXPECT_EQ(world.num_pins(), 0U);
  frames_of(world, 300);
  EXPECT_LT((crate_front(world) - front).norm(), 0.03);
  EXPECT_LT((x[corner] - start).norm(), 0.1);
}

TEST(Pointer, TheWindBrushBlowsWhereItIsAndNowhereElse) {
  World world = position_based(), still = position_based();
  frames_of(world, 20), frames_of(still, 20);
  Pointer pointer;
  pointer.settings.tool = PointerSettings::Tool::wind;
  // Along the ray, onto the lower left corner; 10 m/s over a few dm^2 are some newtons for 50 g.
  pointer.settings.wind_speed = 10;
  const auto left = std::size_t(21 * 20), right = left + 20;
  const Vec3 at = pbd(world).state.particles.x[left];
  ASSERT_TRUE(pointer.press(world, ray_through(seen(at)), fourteen_pixels));
  EXPECT_TRUE(pointer.holds());
  EXPECT_FALSE(world.dragging());
  for (int f = 0; f < 6; ++f) {
    pointer.move(world, ray_through(seen(at)), 1.0 / 60);
    frames_of(world, 1), frames_of(still, 1);
  }
  const auto moved = [&](std::size_t i) {
    return Vec3(pbd(world).state.particles.x[i] - pbd(still).state.particles.x[i]);
  };
  EXPECT_LT(moved(left).z(), -0.02);  // away from the eye
  EXPECT_LT(moved(right).norm(), 0.2 * moved(left).norm());
  pointer.release(world);
  EXPECT_FALSE(pointer.holds());
  // What blows no longer is forgotten.
  World a = position_based(), b = position_based();
  frames_of(a, 5), frames_of(b, 5);
  ASSERT_TRUE(pointer.press(a, ray_through(seen(at)), fourteen_pixels));
  pointer.move(a, ray_through(seen(at)), 1.0 / 60);
  pointer.release(a);
  frames_of(a, 5), frames_of(b, 5);
  EXPECT_EQ(a.hash(), b.hash());
}

TEST(Pointer, AGustIsStrongestInTheMiddleAndEndsAtItsRadius) {
  const Gust gust{.point = Vec3(0, 0, 3), .along = -Vec3::UnitZ(), .radius = 2, .velocity = Vec3(4, 0, 0)};
  EXPECT_EQ(gust.at(Vec3(0, 0, -7)), Vec3(4, 0, 0));
  EXPECT_EQ(gust.at(Vec3(0, 2, 0)), Vec3(0, 0, 0));
  EXPECT_NEAR(gust.at(Vec3(1, 0, 0)).x(), 4 * 0.75 * 0.75, 1e-6);
}

TEST(Pointer, CutsClothFromBorderToBorderInTwo) {
  World world = position_based();
  frames_of(world, 20);
  Pointer pointer;
  pointer.settings.tool = PointerSettings::Tool::cut;
  Pbd::Model& model = pbd(world).model;
  const double mass = [&] {
    double sum = 0;
    for (const Real m : model.mass) sum += double(m);
    return sum;
  }();
  // Beside the cloth nothing is cut, nor is it by a pointer that stands still.
  ASSERT_TRUE(pointer.press(world, ray_through(Vec2(Real(-0.6), Real(-0.1))), fourteen_pixels));
  pointer.move(world, ray_through(Vec2(Real(-0.6), Real(-0.1))));
  pointer.move(world, ray_through(Vec2(Real(-0.5), Real(-0.1))));
  EXPECT_FALSE(model.whole);
  // Across it in many small steps, as a mouse goes, with frames between.
  for (int k = 1; k <= 40; ++k) {
    pointer.move(world, ray_through(Vec2(Real(-0.5) + Real(k) / 40, Real(-0.1))));
    frames_of(world, 1);
  }
  pointer.release(world);
  const TopologyReport report = topology(model.rest_position, model.triangles);
  EXPECT_EQ(report.components, 2U);
  EXPECT_TRUE(report.manifold() && report.oriented()) << report.complaint();
  double after = 0;
  for (const Real m : model.mass) after += double(m);
  EXPECT_NEAR(after, mass, 1e-5 * mass);
  // What is below falls; what is above hangs on.
  frames_of(world, 60);
  Real lowest = 0, highest = -10;
  for (const Vec3& x : pbd(world).state.particles.x)
    lowest = std::min(lowest, x.y()), highest = std::max(highest, x.y());
  EXPECT_LT(lowest, -2);
  EXPECT_NEAR(highest, 0.5, 0.01);
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
