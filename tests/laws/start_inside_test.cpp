// What begins inside of a solid: told once, and pushed out whole, slowly and with no energy but that of being
// lifted.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/coupling/depenetration.h"
#include "plenum/scene/scene.h"
#include "plenum/solvers/particles/particles.h"
#include "plenum/solvers/rigid/rigid.h"
#include "plenum/solvers/springs/springs.h"
#include "support/constants.h"

namespace plenum { namespace {

using plenum_test::gravity;
constexpr double thickness = 0.01;

std::string obstacle(const std::string& name, const std::string& parts) {
  return fmt::format(R"({{"type": "obstacle", "name": "{}", "model": {{"parts": [{}]}}}},)", name, parts);
}
const std::string table =
    obstacle("floor", R"({"shape": "plane"})") +
    obstacle("table", R"({"shape": "box", "half_extents": [0.3, 0.3, 0.3], "position": [0, 0.6, 0]})");
const std::string stone = obstacle("stone", R"({"shape": "sphere", "radius": 0.6, "position": [0, 1, 0]})");
const std::string shelf =
    obstacle("shelf", R"({"shape": "box", "half_extents": [1, 0.05, 1], "position": [0, 0.9, 0]})");

/// A ball half way in the top of the table, or with the shelf through its middle.
std::string ball(double stiffness, double x = 0) {
  return fmt::format(R"({{"type": "soft_body", "mesh": {{"shape": "icosphere", "radius": 0.3}},
                       "position": [{}, 0.9, 0], "structural_stiffness": {}}})",
                     x, stiffness);
}
/// A cloth that is inside the stone with all of it.
std::string cloth_in_stone(double stiffness) {
  return fmt::format(R"({{"type": "cloth", "position": [0, 1.1, 0], "size_x": 0.8, "size_z": 0.8,
                       "structural_stiffness": {}, "shear_stiffness": {}}})",
                     stiffness, stiffness / 3);
}

Scene scene_of(const std::string& solids, const std::string& part, const std::string& integrator, int fps,
               int threads = 0) {
  Scene scene = load_scene_text(fmt::format(R"({{"world": {{"fps": {}}}, "systems": [{}
      {{"type": "springs", "name": "net", "model": {{"parts": [{}]}}, "params": {{"integrator": "{}"}}}}]}})",
                                            fps, solids, part, integrator),
                                "inside.json");
  scene.world.set_threads(threads);
  return scene;
}

struct NetInScene {
  SystemOf<Springs>& system;
  explicit NetInScene(Scene& scene) : system(dynamic_cast<SystemOf<Springs>&>(*scene.world.find("net"))) {}
  double mass() const {
    double sum = 0;
    for (const Real m : system.model.mass) sum += double(m);
    return sum;
  }
  /// [J]
  double energy() const {
    double sum = 0;
    for (std::size_t i = 0; i < system.model.mass.size(); ++i)
      sum += double(system.model.mass[i]) * (0.5 * double(system.state.particles.v[i].squaredNorm()) +
                                             gravity * double(system.state.particles.x[i].y()));
    for (std::size_t e = 0; e < system.model.edges.size(); ++e) {
      const double stretch =
          double(Springs::strain(system.model, system.state, e)) * double(system.model.rest_length[e]);
      sum += 0.5 * double(system.model.stiffness[e]) * stretch * stretch;
    }
    return sum;
  }
  double largest_strain() const {
    double most = 0;
    for (std::size_t e = 0; e < system.model.edges.size(); ++e)
      most = std::max(most, double(Springs::strain(system.model, system.state, e)));
    return most;
  }
  Vector3<double> centre() const {
    Vector3<double> sum = Vector3<double>::Zero();
    for (std::size_t i = 0; i < system.model.mass.size(); ++i)
      sum += double(system.model.mass[i]) * system.state.particles.x[i].cast<double>();
    return sum / mass();
  }
  double lowest() const {
    double y = 1e9;
    for (const Vec3& x : system.state.particles.x) y = std::min(y, double(x.y()));
    return y;
  }
};

struct Case {
  const char* integrator;
  double stiffness;
  int fps;
};
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int fps : {30, 60})
    for (const double k : {1e1, 1e3, 1e5, 1e7})
      for (const char* integrator : {"implicit_euler", "backward_euler", "local_global"})
        all.push_back({integrator, k, fps});
  for (const char* integrator : {"symplectic_euler", "velocity_verlet", "rk4"})
    for (const double k : {1e1, 1e3}) all.push_back({integrator, k, 60});
  return all;
}

TEST(SlowStartInside, ABodyHalfInATableIsLiftedOutOfItAndNotThrown) {
  constexpr double way = 0.3 + thickness;
  for (const Case& c : cases()) {
    SCOPED_TRACE(fmt::format("{} {} N/m {} Hz", c.integrator, c.stiffness, c.fps));
    Scene scene = scene_of(table, ball(c.stiffness), c.integrator, c.fps);
    const NetInScene net(scene);
    const double lifted = net.energy() + net.mass() * gravity * way, start = net.centre().y();
    // What it sags by under its own weight, which it may do faster than it is pushed: a column of eight
    // cells.
    const double sag = net.mass() * gravity / c.stiffness;
    // Where it sags by cells, those it lies on are flat and turn what they bear aside: twice its weight, as
    // it comes down at once, on a cap of height sag / 2, by cells of its mean spring.
    const double cell = double(net.system.model.reach),
                 contacts = std::numbers::pi * 0.3 * sag / (cell * cell);
    const double bulge = sag > cell ? 2 * sag / (contacts * cell) : 0;
    for (int f = 0; f < 2 * c.fps; ++f) {
      const double before = net.centre().y();
      ASSERT_TRUE(scene.world.step_frame().ok);
      const double rise = net.centre().y() - before;
      // Minimizations of what is so stiff that rounding of positions strains it have its energy in every
      // step.
      const bool rounded = c.stiffness > 1e6 && c.integrator != std::string("implicit_euler");
      if (sag < 0.01 && !rounded) {
        EXPECT_LE(rise, double(push_out_speed) / c.fps + 1e-4) << f;
      }
      EXPECT_LE(net.centre().y(), start + way + (rounded ? 0.02 : 1e-3)) << f;
      if (!rounded) {
        EXPECT_LE(net.energy(), lifted + 0.01 * net.mass() * gravity * way) << f;
      }
      if (c.stiffness >= 1e3) {
        EXPECT_LE(net.largest_strain(), 0.1 + bulge) << f;
      }
    }
    // It rests on the table, where a soft one flows down from it.
    if (c.stiffness >= 1e3) {
      EXPECT_GE(net.lowest(), 0.9 - 1e-3);
    }
  }
}

TEST(SlowStartInside, AClothAllInsideAStoneIsLaidOverIt) {
  constexpr double way = 0.5 + thickness;
  for (const Case& c : cases()) {
    SCOPED_TRACE(fmt::format("{} {} N/m {} Hz", c.integrator, c.stiffness, c.fps));
    Scene scene = scene_of(stone, cloth_in_stone(c.stiffness), c.integrator, c.fps);
    const NetInScene net(scene);
    const double start = net.centre().y();
    double highest = start;
    for (int f = 0; f < c.fps; ++f) {
      ASSERT_TRUE(scene.world.step_frame().ok);
      highest = std::max(highest, net.centre().y());
    }
    EXPECT_LE(highest, start + way + 1e-3);
    if (c.stiffness < 1e6) {
      EXPECT_LE(net.largest_strain(), 0.1);
    }
    for (const Vec3& x : net.system.state.particles.x)
      EXPECT_GE((x - Vec3(0, 1, 0)).norm(), Real(0.6 + 0.99 * thickness));
  }
}

TEST(StartInside, ABodyWithAShelfThroughItsMiddleComesOutWhole) {
  for (const char* integrator : {"implicit_euler", "symplectic_euler"}) {
    Scene scene = scene_of(shelf, ball(1e4), integrator, 60);
    const NetInScene net(scene);
    const double start = net.energy();
    double gained = 0, strain = 0;
    for (int f = 0; f < 60; ++f) {
      ASSERT_TRUE(scene.world.step_frame().ok);
      gained = std::max(gained, net.energy() - start);
      strain = std::max(strain, net.largest_strain());
    }
    EXPECT_GE(net.lowest(), 0.95 - 1e-3) << integrator;
    EXPECT_LE(gained, 1.01 * net.mass() * gravity * (0.3 + 0.05 + thickness)) << integrator;
    EXPECT_LE(strain, 0.1) << integrator;
  }
}

TEST(StartInside, BodiesOfOneSystemGoEachItsWay) {
  const std::string wall =
      obstacle("wall", R"({"shape": "box", "half_extents": [0.4, 5, 5], "position": [0, 0, 0]})");
  Scene scene = scene_of(wall, ball(1e4, -0.4) + "," + ball(1e4, 0.4), "implicit_euler", 60);
  const NetInScene net(scene);
  for (int f = 0; f < 30; ++f) ASSERT_TRUE(scene.world.step_frame().ok);
  const auto half = Index(net.system.model.mass.size() / 2);
  for (Index i = 0; i < 2 * half; ++i) {
    const Real x = net.system.state.particles.x[std::size_t(i)].x();
    EXPECT_GE(i < half ? -x : x, Real(0.4));
  }
  EXPECT_LE(net.largest_strain(), 0.1);
}

TEST(SlowStartInside, AClothThatIsHeldIsPushedOutToo) {
  const std::string post = obstacle("post", R"({"shape": "sphere", "radius": 0.3, "position": [0, 1, 0]})");
  std::string held = cloth_in_stone(100);
  held.insert(held.size() - 1, R"(, "pins": [{"where": "left"}])");
  for (const char* integrator : {"implicit_euler", "backward_euler", "local_global", "symplectic_euler"}) {
    Scene scene = scene_of(post, held, integrator, 60);
    const NetInScene net(scene);
    for (int f = 0; f < 120; ++f) ASSERT_TRUE(scene.world.step_frame().ok);
    for (const Vec3& x : net.system.state.particles.x)
      EXPECT_GE((x - Vec3(0, 1, 0)).norm(), Real(0.3 + 0.99 * thickness)) << integrator;
    EXPECT_LE(net.largest_strain(), 0.1) << integrator;
  }
}

TEST(StartInside, ItIsToldOnceWithTheRemedy) {
  Scene scene = scene_of(table, ball(1e4), "implicit_euler", 60);
  const FrameReport first = scene.world.step_frame();
  ASSERT_EQ(first.remarks.size(), 1u);
  EXPECT_EQ(scene.world.system(first.remarks[0].system).name(), "net");
  EXPECT_EQ(
      first.remarks[0].text,
      "147 particles start up to 0.3 m deep inside table, and will be pushed out at no more than 1 m/s; "
      "move the particles or table");
  EXPECT_TRUE(scene.world.step_frame().remarks.empty());
  Scene resumed = scene_of(table, ball(1e4), "implicit_euler", 60);
  resumed.world.restore(scene.world.snapshot());
  EXPECT_TRUE(resumed.world.step_frame().remarks.empty());
}

TEST(StartInside, OfSeveralSolidsNoneIsNamed) {
  Scene scene = load_scene_text(R"({"systems": [
      {"type": "obstacle", "name": "stones", "model": {"parts": [
        {"shape": "sphere", "radius": 0.5}, {"shape": "sphere", "radius": 0.5, "position": [3, 0, 0]},
        {"shape": "sphere", "radius": 0.5, "position": [6, 0, 0]}]}},
      {"type": "particles", "name": "dust", "model": {"positions": [[3, 0, 0], [6, 0, 0]]}}]})",
                                "stones.json");
  const FrameReport first = scene.world.step_frame();
  ASSERT_EQ(first.remarks.size(), 1u);
  EXPECT_EQ(first.remarks[0].text.find("2 particles start up to 0.5 m deep inside 2 solids of stones, and"),
            0u)
      << first.remarks[0].text;
}

TEST(SlowStartInside, AClothAcrossAThinPlateGoesToOneSide) {
  // A row of particles is in the middle of a plate of 2 cm, no deeper in it than they keep from solids. Half
  // of the cloth was drawn to either side, and the links between to twice their length.
  Scene scene = scene_of(
      obstacle("plate", R"({"shape": "box", "half_extents": [0.01, 1, 1], "position": [0, 1, 0]})"),
      R"({"type": "cloth", "position": [0, 1.1, 0], "size_x": 0.8, "size_z": 0.8, "cells_x": 40, "cells_z": 40,
          "structural_stiffness": 1e6, "shear_stiffness": 3e5})",
      "implicit_euler", 30);
  const NetInScene net(scene);
  EXPECT_EQ(scene.world.step_frame().remarks.size(), 1u);
  double strain = net.largest_strain();
  for (int f = 0; f < 20; ++f) {
    ASSERT_TRUE(scene.world.step_frame().ok);
    strain = std::max(strain, net.largest_strain());
  }
  EXPECT_LT(strain, 0.1);
  const auto& x = net.system.state.particles.x;
  const auto right = std::count_if(x.begin(), x.end(), [](const Vec3& here) { return here.x() > 0; });
  EXPECT_TRUE(right == 0 || std::size_t(right) == x.size()) << right;
}

TEST(StartInside, ItHashesTheSameForEveryThreadCountAndAfterARestart) {
  const auto run = [](int threads, int restart) {
    Scene scene = scene_of(table, ball(1e3), "implicit_euler", 60, threads);
    for (int f = 0; f < 30; ++f) {
      if (f == restart) {
        const std::vector<std::byte> saved = scene.world.snapshot();
        scene = scene_of(table, ball(1e3), "implicit_euler", 60, threads);
        scene.world.restore(saved);
        EXPECT_EQ(scene.world.snapshot(), saved);
      }
      scene.world.step_frame();
    }
    return scene.world.hash();
  };
  const Hash128 one = run(1, -1);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(run(threads, -1), one) << threads;
  for (const int restart : {0, 7, 25}) EXPECT_EQ(run(2, restart), one) << restart;
}

TEST(StartInside, ASceneThatPutsItInsideAfterACheckpointIsLookedAtAgain) {
  const std::string high = table, net = ball(1e4);
  const auto at = [&](double y) {
    return load_scene_text(fmt::format(R"({{"systems": [
      {{"type": "obstacle", "name": "block", "params": {{"position": [0, {}, 0]}}, "model": {{"parts": [
        {{"shape": "box", "half_extents": [0.3, 0.3, 0.3]}}]}}}},
      {{"type": "springs", "name": "net", "model": {{"parts": [{}]}}}}]}})",
                                       y, net),
                           "inside.json");
  };
  Scene before = at(-5), after = at(0.6);
  EXPECT_TRUE(before.world.step_frame().remarks.empty());
  after.world.restore(before.world.snapshot());
  EXPECT_EQ(after.world.step_frame().remarks.size(), 1u);
}

TEST(StartInside, ParticlesComeOutEachByItselfAtNoMoreThanTheCap) {
  Scene scene = load_scene_text(R"({"systems": [
    {"type": "obstacle", "name": "stone", "model": {"parts": [{"shape": "sphere", "radius": 0.5}]}},
    {"type": "particles", "name": "dust", "params": {"gravity": [0, 0, 0]}, "model": {"radius": 0.01,
      "blocks": [{"low": [-0.3, -0.3, -0.3], "high": [0.3, 0.3, 0.3], "spacing": 0.05}]}}]})",
                                "dust.json");
  auto& dust = dynamic_cast<SystemOf<ParticleSystem>&>(*scene.world.find("dust"));
  for (int f = 0; f < 40; ++f) {
    const std::vector<Vec3> before = dust.state.particles.x;
    ASSERT_TRUE(scene.world.step_frame().ok);
    for (std::size_t i = 0; i < before.size(); ++i) {
      ASSERT_LE((dust.state.particles.x[i] - before[i]).norm(), push_out_speed / 60 + Real(1e-5));
      ASSERT_EQ(dust.state.particles.v[i], Vec3(Vec3::Zero()));
    }
  }
  for (const Vec3& x : dust.state.particles.x) EXPECT_NEAR(double(x.norm()), 0.51, 1e-3);
}

TEST(StartInside, ANetAndARigidBodyPartWithoutMomentumOfTheirOwn) {
  Scene scene = load_scene_text(fmt::format(R"({{"systems": [
    {{"type": "rigid", "name": "stone", "params": {{"gravity": [0, 0, 0]}}, "model": {{"bodies": [
      {{"shapes": [{{"shape": "sphere", "radius": 0.3}}], "density": 100, "position": [0, 0.6, 0]}}]}}}},
    {{"type": "springs", "name": "net", "params": {{"gravity": [0, 0, 0]}},
     "model": {{"parts": [{}]}}}}]}})",
                                            ball(1e3)),
                                "part.json");
  auto& stone = dynamic_cast<SystemOf<Rigid>&>(*scene.world.find("stone"));
  const NetInScene net(scene);
  for (int f = 0; f < 60; ++f) ASSERT_TRUE(scene.world.step_frame().ok);
  for (const Vec3& x : net.system.state.particles.x)
    EXPECT_GE((x - stone.state.frames.x[0]).norm(), Real(0.3 + 0.9 * thickness));
  EXPECT_LE(stone.state.frames.v[0].norm(), Real(1e-3));
  EXPECT_LE(net.largest_strain(), 0.01);
}

TEST(StartInside, WhatTouchesASolidIsNotInside) {
  // On the table, and within the thickness kept from it.
  for (const double y : {1.2 + thickness, 1.2, 1.2 - 0.9 * thickness}) {
    Scene scene = load_scene_text(fmt::format(R"({{"systems": [{} {{"type": "springs", "name": "net", "model":
      {{"parts": [{{"type": "soft_body", "mesh": {{"shape": "icosphere", "radius": 0.3}},
       "position": [0, {}, 0]}}]}}}}]}})",
                                              table, y),
                                  "on.json");
    EXPECT_TRUE(scene.world.step_frame().remarks.empty()) << y;
  }
}

}}  // namespace plenum
