// Free bodies of a `rigid` system on cloth and jelly: where they are heavy beside it, and where they are
// small beside its triangles.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/scene/scene.h"
#include "plenum/solvers/pbd/pbd.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum { namespace {

struct Borne {
  Scene scene;
  const SystemOf<Rigid>* rigid = nullptr;
  const SystemOf<Pbd>* soft = nullptr;

  Borne(const std::string& body, const std::string& part, const std::string& world = "",
        const std::string& params = "")
      : scene(load_scene_text(fmt::format(R"({{"world": {{{}}}, "systems": [
              {{"type": "rigid", "name": "bodies", "model": {{"bodies": [
                {{"name": "floor", "motion": "fixed", "shapes": [{{"shape": "plane"}}]}}, {}]}}}},
              {{"type": "pbd", "name": "soft", "model": {{"parts": [{}]}}, "params": {{{}}}}}]}})",
                                          world, body, part, params),
                              "borne.json")) {
    for (std::size_t i = 0; i < scene.world.size(); ++i) {
      if (const auto* r = dynamic_cast<const SystemOf<Rigid>*>(&scene.world.system(i))) rigid = r;
      if (const auto* p = dynamic_cast<const SystemOf<Pbd>*>(&scene.world.system(i))) soft = p;
    }
  }
  void run(int frames) {
    for (int k = 0; k < frames; ++k) ASSERT_TRUE(scene.world.step_frame().ok);
  }
  const Vec3& place() const { return rigid->state.frames.x[1]; }
  double speed() const { return double(rigid->state.frames.v[1].norm()); }
  /// [J] of body 1: it falls, goes and turns.
  double energy() const {
    const Frames& f = rigid->state.frames;
    const double mass = 1 / double(f.inverse_mass[1]);
    const Vector3<double> spin = (f.rotation(1).conjugate() * f.w[1]).cast<double>();
    return mass * (9.81 * double(f.x[1].y()) + f.v[1].squaredNorm() / 2) +
           spin.cwiseAbs2().cwiseQuotient(f.inverse_inertia[1].cast<double>()).sum() / 2;
  }
  double spin() const { return double(rigid->state.frames.w[1].norm()); }
};

std::string ball(double radius, double density, const char* position) {
  return fmt::format(R"({{"name": "b", "density": {}, "position": {},
                          "shapes": [{{"shape": "sphere", "radius": {}}}]}})",
                     density, position, radius);
}
constexpr const char* held_cloth =
    R"({"type": "cloth", "size_x": 1.6, "size_z": 1.6, "cells_x": 24, "cells_z": 24,
    "areal_density": 0.3, "position": [0, 1, 0],
    "pins": [{"where": "left"}, {"where": "right"}, {"where": "back"}, {"where": "front"}]})";

// A cloth of 0.77 kg that does not stretch, held on all sides, under balls of 6 to 60 kg that fall from 0.18
// m: tethers hold what presses on them where it draws them out of the plane by more than a twentieth, 0.04 m
// over the way to a pin of 0.8 m; the bound is twice that. At one sweep in each of ten substeps light
// particles alone would let all of these through.
TEST(Borne, HeavyBallsStayOnHeldCloth) {
  for (const double density : {800., 2000., 8000.}) {
    Borne run(ball(0.12, density, "[0.03, 1.3, 0.02]"), held_cloth);
    for (int k = 0; k < 120; ++k) {
      run.run(1);
      ASSERT_GT(run.place().y(), 1 + 0.12 - 0.08) << density << " at " << k;
    }
  }
}

// Corners of a box come down between particles 67 mm apart.
TEST(Borne, BoxesOnTheirCornersStayOnHeldCloth) {
  Borne run(R"({"name": "b", "density": 2000, "position": [0.03, 1.25, 0.02], "rotation": [45, 35.3, 0],
                "shapes": [{"shape": "box", "half_extents": [0.08, 0.08, 0.08]}]})",
            held_cloth);
  for (int k = 0; k < 180; ++k) {
    run.run(1);
    ASSERT_GT(run.place().y(), 1) << k;
  }
}

// Slender bodies are spun about their length by the least error of attitude or lever: pencils of 0.1 kg came
// to 4500 rad/s, 30 times their energy. What they have they only lose, to a tenth.
TEST(Borne, PencilsAreNotSpunUp) {
  for (const double speed : {3., 4., 5., 6., 8., 10., 15.}) {
    Borne run(fmt::format(R"({{"name": "b", "density": 800, "position": [0.03, 1.25, 0.02],
                              "rotation": [10, 20, 60], "velocity": [0.5, {}, 0.2],
                              "shapes": [{{"shape": "capsule", "radius": 0.01, "half_height": 0.2}}]}})",
                          -speed),
              held_cloth);
    const double start = run.energy();
    for (int k = 0; k < 60; ++k) {
      run.run(1);
      ASSERT_LT(run.energy(), 1.1 * start) << speed << " at " << k;
    }
  }
}

// At 20 frames a second `rigid` takes two steps, which are one for the cloth: it is met on all of the way.
TEST(Borne, BodiesOfLongFramesAreMetOnAllOfTheirWay) {
  Borne run(R"({"name": "b", "density": 800, "position": [0, 1.5, 0], "velocity": [2, 0.5, 0],
                "angular_velocity": [0, 4, 0], "shapes": [{"shape": "sphere", "radius": 0.1}]})",
            held_cloth, R"("fps": 20)");
  System& system = run.scene.world.system(0);
  for (int k = 0; k < 3; ++k) {
    const Pose before = run.rigid->state.frames.pose(1);
    const Vec3 v = run.rigid->state.frames.v[1];
    run.run(1);
    const SolidBody body = system.boundary()->bodies()[1];
    EXPECT_EQ(body.pose0.position, before.position) << k;
    EXPECT_EQ(body.pose.position, run.place()) << k;
    EXPECT_NEAR((body.velocity - body.gained - v).norm(), 0, 1e-6) << k;
  }
}

// Cells of jelly are 0.2 m wide, and what falls onto the middle of one is met by its triangles. Centres of
// bodies stay over the jelly where they have come onto it; a triangle bears them at one point, about which a
// step of gravity turns them by g h / r at most.
TEST(Borne, BodiesSmallerThanACellLieOnJelly) {
  const char* jelly = R"({"type": "bar", "half_extents": [0.6, 0.2, 0.6], "cells_x": 6, "cells_y": 2,
      "cells_z": 6, "density": 300, "youngs_modulus": 3e5, "position": [0, 0.211, 0]})";
  for (const double fps : {60., 30.})
    for (const double half : {0.03, 0.06}) {
      Borne run(fmt::format(R"({{"name": "b", "density": 600, "position": [0.07, 0.6, 0.02],
                                 "rotation": [10, 20, 5],
                                 "shapes": [{{"shape": "box", "half_extents": [{0}, {0}, {0}]}}]}})",
                            half),
                jelly, fmt::format(R"("fps": {})", fps));
      run.run(int(2 * fps));
      for (int k = 0; k < int(fps); ++k) {
        run.run(1);
        ASSERT_GT(run.place().y(), 0.4) << fps << ' ' << half << " at " << k;
        ASSERT_LT(run.spin(), 9.81 / fps / half) << fps << ' ' << half << " at " << k;
      }
    }
}

// A box of 2 kg slides on cloth of 0.77 kg that is held on all sides at 2 m/s: it loses mu g, 5.9 m/s^2, and
// stands after 0.34 s, less what it rocks by as it is laid down; nothing without friction. Held by the pins
// alone, which light cloth brings it nothing of, it slid on as on ice.
TEST(Borne, SlidesOnTautClothByCoulombsLaw) {
  for (const double mu : {0.6, 0.}) {
    const std::string box = fmt::format(R"({{"name": "b", "density": 500, "position": [-0.4, 1.056, 0],
        "velocity": [2, 0, 0], "friction": {},
        "shapes": [{{"shape": "box", "half_extents": [0.1, 0.05, 0.1]}}]}})",
                                        mu);
    Borne run(box, held_cloth, "", fmt::format(R"("friction": {})", mu));
    run.run(12);
    const double expected = 2 - mu * 9.81 * 0.2;
    EXPECT_NEAR(double(run.rigid->state.frames.v[1].x()), expected, 0.25 * (2 - expected) + 0.1) << mu;
    if (mu == 0) continue;
    run.run(24);
    EXPECT_LT(run.speed(), 0.05);
    EXPECT_NEAR(double(run.place().x()), -0.4 + 2 * 2 / (2 * mu * 9.81), 0.1);
  }
}

// What bounces, if by a little, is met by triangles too, though it does not bounce off these.
TEST(Borne, SmallBallsThatBounceStayOnHeldCloth) {
  Borne run(R"({"name": "b", "density": 200, "position": [0.03, 1.3, 0.02], "restitution": 0.1,
                "shapes": [{"shape": "sphere", "radius": 0.02}]})",
            held_cloth);
  for (int k = 0; k < 120; ++k) {
    run.run(1);
    ASSERT_GT(run.place().y(), 0.9) << k;
  }
}

}}  // namespace plenum
