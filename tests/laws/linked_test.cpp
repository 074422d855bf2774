// Bodies of a `rigid` system that rest on each other, on the ground or on joints, under and on soft bodies:
// what holds them answers what pushes them in the same step.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/scene/scene.h"
#include "plenum/solvers/pbd/pbd.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum { namespace {

struct Linked {
  Scene scene;
  const SystemOf<Rigid>* rigid = nullptr;
  const SystemOf<Pbd>* soft = nullptr;

  Linked(const std::string& bodies, const std::string& joints, const std::string& part,
         const std::string& rigid_params = "", const std::string& soft_params = "")
      : scene(load_scene_text(fmt::format(R"({{"systems": [
              {{"type": "rigid", "name": "bodies", "model": {{"bodies": [{}], "joints": [{}]}},
                "params": {{{}}}}},
              {{"type": "pbd", "name": "soft", "model": {{"parts": [{}]}}, "params": {{{}}}}}]}})",
                                          bodies, joints, rigid_params, part, soft_params),
                              "linked.json")) {
    for (std::size_t i = 0; i < scene.world.size(); ++i) {
      if (const auto* r = dynamic_cast<const SystemOf<Rigid>*>(&scene.world.system(i))) rigid = r;
      if (const auto* p = dynamic_cast<const SystemOf<Pbd>*>(&scene.world.system(i))) soft = p;
    }
  }
  void run(int frames) {
    for (int k = 0; k < frames; ++k) ASSERT_TRUE(scene.world.step_frame().ok);
  }
  const Frames& frames() const { return rigid->state.frames; }
};

constexpr const char* floor_body = R"({"name": "floor", "motion": "fixed", "shapes": [{"shape": "plane"}]})";

std::string box(const std::string& name, double density, const char* half, double x, double y, double z) {
  return fmt::format(R"(, {{"name": "{}", "density": {}, "position": [{}, {}, {}],
                          "shapes": [{{"shape": "box", "half_extents": {}}}]}})",
                     name, density, x, y, z, half);
}
std::string jelly(const char* half, const char* cells, const char* more) {
  return fmt::format(
      R"({{"type": "bar", "half_extents": {}, {}, "density": 300, "youngs_modulus": 3e4, {}}})", half, cells,
      more);
}
constexpr const char* cells4 = R"("cells_x": 4, "cells_y": 4, "cells_z": 4)";

// A step of gravity is 2.7 mm and 0.16 m/s; what holds what lies under the jelly leaves nothing of it.
TEST(Linked, BoxesUnderJellyStandOnTheGround) {
  for (const double density : {400., 20.}) {
    Linked run(floor_body + box("box", density, "[0.2, 0.1, 0.2]", 0, 0.1, 0), "",
               jelly("[0.15, 0.15, 0.15]", cells4, R"("position": [0, 0.361, 0])"));
    for (int k = 0; k < 180; ++k) {
      run.run(1);
      EXPECT_NEAR(run.frames().x[1].y(), 0.1, 2e-4) << density << " at " << k;
      EXPECT_LT(run.frames().v[1].norm(), 0.005) << density << " at " << k;
    }
  }
}

// Jelly of 8 kg comes at 3 m/s onto a box of 0.3 kg: 50 times the box's momentum in each step. A body that
// yielded as if nothing held it would be driven into the ground by centimetres, and leap out again.
TEST(Linked, LightBoxesBearWhatFallsOnThem) {
  Linked run(floor_body + box("box", 20, "[0.2, 0.1, 0.2]", 0, 0.1, 0), "",
             jelly("[0.15, 0.15, 0.15]", cells4, R"("position": [0, 0.81, 0])"));
  double lowest = 1, highest = 0;
  for (int k = 0; k < 180; ++k) {
    run.run(1);
    lowest = std::min(lowest, double(run.frames().x[1].y()));
    highest = std::max(highest, double(run.frames().x[1].y()));
  }
  EXPECT_GT(lowest, 0.1 - 1e-3);
  EXPECT_LT(highest, 0.1 + 5e-3);
}

// Half a millimetre is what contacts of `rigid` overlap by at rest; steps of gravity would leave centimetres.
TEST(Linked, StacksOnJellyStandAndDoNotOverlap) {
  std::string bodies = floor_body;
  for (int i = 0; i < 4; ++i)
    bodies += box(fmt::format("b{}", i), 100, "[0.1, 0.05, 0.1]", 0, 0.455 + 0.101 * i, 0);
  Linked run(bodies, "",
             jelly("[0.5, 0.2, 0.5]", R"("cells_x": 10, "cells_y": 4, "cells_z": 10)",
                   R"("position": [0, 0.2, 0])"));
  run.run(240);
  const Frames& f = run.frames();
  for (int i = 1; i <= 4; ++i) {
    if (i > 1) {
      EXPECT_NEAR(f.x[std::size_t(i)].y() - f.x[std::size_t(i - 1)].y(), 0.1, 5e-4) << i;
    }
    EXPECT_LT(f.v[std::size_t(i)].norm(), 0.005) << i;
    EXPECT_LT(std::hypot(f.x[std::size_t(i)].x(), f.x[std::size_t(i)].z()), 0.02) << i;
  }
}

// A plank of 1 kg, fixed to the world at its end, under 8 kg of jelly at the other: joints of `rigid` do not
// yield, so it stays level within their own 0.1 mm.
TEST(Linked, PlanksOnJointsBearJelly) {
  Linked run(fmt::format(R"({{"name": "plank", "density": 100, "position": [0.4, 1, 0],
                             "shapes": [{{"shape": "box", "half_extents": [0.4, 0.02, 0.15]}}]}})"),
             R"({"type": "fixed", "body_b": "plank", "anchor": [0, 1, 0]})",
             jelly("[0.15, 0.15, 0.15]", cells4, R"("position": [0.6, 1.18, 0])"), "", R"("friction": 1)");
  for (int k = 0; k < 120; ++k) {
    run.run(1);
    EXPECT_NEAR(run.frames().x[0].y(), 1, 1e-3) << k;
    EXPECT_LT(run.frames().w[0].norm(), 0.05) << k;
  }
}

// Planks of 0.2 kg on hinges, from one post to another, 0.2 m apart, under 8 kg of jelly: what is tied so
// answers to two steps of gravity, 0.33 m/s, on the mean. Straight, a chain gives way across; what holds it
// is that it has. With levers of the step's start planks rolled at 2.8 m/s, 0.8 on the mean.
TEST(Linked, HeldChainsBearJelly) {
  std::string bodies = floor_body, joints;
  for (int i = 0; i < 6; ++i)
    bodies += box(fmt::format("p{}", i), 60, "[0.09, 0.02, 0.2]", -0.5 + 0.2 * i, 1, 0);
  for (const double x : {-0.62, 0.62})
    bodies += fmt::format(R"(, {{"name": "e{}", "motion": "fixed", "position": [{}, 1, 0],
                                "shapes": [{{"shape": "box", "half_extents": [0.02, 0.02, 0.2]}}]}})",
                          x > 0 ? 1 : 0, x);
  for (int i = 0; i <= 6; ++i)
    joints += fmt::format(R"({}{{"type": "hinge", "body_a": "{}", "body_b": "{}", "anchor": [{}, 1, 0],
                               "axis": [0, 0, 1]}})",
                          i > 0 ? ", " : "", i > 0 ? fmt::format("p{}", i - 1) : "e0",
                          i < 6 ? fmt::format("p{}", i) : "e1", -0.6 + 0.2 * i);
  Linked run(bodies, joints, jelly("[0.15, 0.15, 0.15]", cells4, R"("position": [0, 1.18, 0])"), "",
             R"("contact": "fast", "substeps": 10)");
  run.run(240);
  double lowest = 1, squares = 0;
  for (int k = 0; k < 60; ++k) {
    run.run(1);
    for (std::size_t i = 1; i <= 6; ++i) {
      squares += double(run.frames().v[i].squaredNorm()) / (60 * 6);
      lowest = std::min(lowest, double(run.frames().x[i].y()));
    }
  }
  EXPECT_LT(std::sqrt(squares), 2 * 9.81 / 60);
  // Hinges of `rigid` do not yield, so that of 1.2 m nothing hangs down by more than what they gape.
  EXPECT_GT(lowest, 0.95);
}

TEST(Linked, JointedBodiesComeToRestOnJelly) {
  std::string bodies = floor_body, joints;
  for (int i = 0; i < 5; ++i)
    bodies += box(fmt::format("c{}", i), 100, "[0.08, 0.06, 0.06]", -0.36 + 0.18 * i, 0.48, 0.01 * i);
  for (int i = 0; i < 4; ++i)
    joints +=
        fmt::format(R"({}{{"type": "ball", "body_a": "c{}", "body_b": "c{}", "anchor": [{}, 0.48, 0]}})",
                    i ? ", " : "", i, i + 1, -0.27 + 0.18 * i);
  Linked run(bodies, joints,
             jelly("[0.5, 0.2, 0.5]", R"("cells_x": 10, "cells_y": 4, "cells_z": 10)",
                   R"("position": [0, 0.2, 0])"));
  run.run(420);
  // A twentieth of what a step of gravity does.
  for (std::size_t i = 1; i <= 5; ++i) {
    EXPECT_LT(run.frames().v[i].norm(), 0.008) << i;
    EXPECT_LT(run.frames().w[i].norm(), 0.1) << i;
  }
}

/// [m/s] How fast a light box goes that carries jelly down a slope of `degrees`, after a second.
double slides(double degrees, double friction) {
  const double a = degrees * std::numbers::pi / 180, up = 0.05, middle = 0.1 + 0.1 + 0.0052;
  const auto at = [&](double height) {
    return fmt::format("[{}, {}, 0]", -height * std::sin(a), height * std::cos(a));
  };
  Linked run(fmt::format(R"({{"name": "slope", "motion": "fixed", "friction": {1}, "rotation": [0, 0, {0}],
                             "shapes": [{{"shape": "plane"}}]}},
                            {{"name": "sled", "density": 50, "friction": {1}, "position": {2}, "rotation": [0, 0, {0}],
                             "shapes": [{{"shape": "box", "half_extents": [0.2, 0.05, 0.2]}}]}})",
                         degrees, friction, at(up)),
             "",
             fmt::format(R"({{"type": "bar", "half_extents": [0.15, 0.1, 0.15], "cells_x": 4, "cells_y": 3,
                              "cells_z": 4, "density": 300, "youngs_modulus": 1e6, "position": {},
                              "rotation": [0, 0, {}]}})",
                         at(middle), degrees),
             "", R"("friction": 10)");
  run.run(60);
  return double(run.frames().v[1].norm());
}

// Coulomb: below the angle of friction it stands; above, all goes down with g (sin a - mu cos a), and what
// the jelly adds to the load of a sled a tenth as heavy counts for the sled's friction.
TEST(Linked, SledsUnderJellyObeyCoulomb) {
  EXPECT_LT(slides(20, 0.5), 0.002);
  const double a = 20 * std::numbers::pi / 180;
  const double law = 9.81 * (std::sin(a) - 0.15 * std::cos(a));
  EXPECT_NEAR(slides(20, 0.15), law, 0.05 * law);
}

// Jelly strikes the first of two boxes, fixed to each other, in zero gravity.
TEST(Linked, JointsPassOnMomentum) {
  Linked run(fmt::format(R"({{"name": "a", "density": 300, "position": [0, 0, 0],
                             "shapes": [{{"shape": "box", "half_extents": [0.1, 0.2, 0.2]}}]}})") +
                 box("b", 300, "[0.1, 0.2, 0.2]", 0.21, 0.1, 0.05),
             R"({"type": "ball", "body_a": "a", "body_b": "b", "anchor": [0.105, 0, 0]})",
             jelly("[0.15, 0.15, 0.15]", cells4, R"("position": [-0.3, 0.1, 0.02], "velocity": [3, 0, 0])"),
             R"("gravity": [0, 0, 0])", R"("gravity": [0, 0, 0])");
  struct Sums {
    Vector3<double> momentum = Vector3<double>::Zero(), spin = momentum;
  };
  const auto sums = [&] {
    Sums out;
    const auto add = [&](double m, const Vec3& x, const Vec3& v) {
      out.momentum += m * v.cast<double>(), out.spin += m * x.cast<double>().cross(v.cast<double>());
    };
    const Frames& f = run.frames();
    for (std::size_t i = 0; i < f.size(); ++i) {
      add(1 / double(f.inverse_mass[i]), f.x[i], f.v[i]);
      const Vec3 local = (f.rotation(i).conjugate() * f.w[i]).cwiseQuotient(f.inverse_inertia[i]);
      out.spin += (f.rotation(i) * local).cast<double>();
    }
    const Particles& p = run.soft->state.particles;
    for (std::size_t i = 0; i < p.size(); ++i) add(double(run.soft->model.mass[i]), p.x[i], p.v[i]);
    return out;
  };
  const Sums before = sums();
  run.run(60);
  const Sums after = sums();
  // The other box goes along: it has half of what both have got.
  EXPECT_GT(run.frames().v[1].x(), 0.3);
  EXPECT_LT((after.momentum - before.momentum).norm(), 1e-5 * before.momentum.norm());
  // What is turned within a step is turned by levers of its end: of first order in the step.
  EXPECT_LT((after.spin - before.spin).norm(), 0.02 * 0.15 * before.momentum.norm());
}

/// A patch of cloth of 12 g that lies on a crate of `crate()`.
std::string feather(double at_x, double speed) {
  return fmt::format(R"({{"type": "cloth", "size_x": 0.2, "size_z": 0.2, "cells_x": 4, "cells_z": 4,
                          "position": [{}, 0.21, 0], "velocity": [{}, 0, 0]}})",
                     at_x, speed);
}
std::string crate(const char* more) {
  return fmt::format(R"(, {{"name": "crate", "density": 400, "position": [0, 0.1, 0], {},
                          "shapes": [{{"shape": "box", "half_extents": [0.2, 0.1, 0.2]}}]}})",
                     more);
}

// What carries a crate is not what it slides on, whatever lies on the crate.
TEST(Linked, CratesUnderAFeatherGoWithWhatCarriesThem) {
  for (const bool conveys : {false, true}) {
    const char* const ground = conveys ? R"({"name": "belt", "motion": "fixed", "surface_velocity": [1, 0, 0],
                      "shapes": [{"shape": "plane"}]})"
                                       : R"({"name": "sledge", "motion": "kinematic", "velocity": [1, 0, 0],
                      "position": [0, -0.1, 0], "shapes": [{"shape": "box", "half_extents": [4, 0.1, 4]}]})";
    Linked run(std::string(ground) + crate(R"("velocity": [1, 0, 0])"), "", feather(0, 1));
    run.run(60);
    EXPECT_NEAR(run.frames().x[1].x(), 1, 0.01) << conveys;
    EXPECT_NEAR(run.frames().v[1].x(), 1, 0.01) << conveys;
  }
}

// Nor is a crate that spins held by more friction than alone.
TEST(Linked, CratesUnderAFeatherSpinAsAlone) {
  const auto spins = [](const std::string& part) {
    Linked run(R"({"name": "floor", "motion": "fixed", "friction": 0.05, "shapes": [{"shape": "plane"}]})" +
                   crate(R"("friction": 0.05, "angular_velocity": [0, 5, 0])"),
               "", part);
    run.run(30);
    return double(run.frames().w[1].y());
  };
  const double alone = spins(feather(5, 0));
  EXPECT_LT(alone, 4.5);
  // The feather is a thousandth of the crate.
  EXPECT_NEAR(spins(feather(0, 0)), alone, 0.01 * alone);
}

// What rests is held by static friction: tan 20 degrees = 0.364 is between both coefficients.
TEST(Linked, CratesUnderAFeatherRestByStaticFriction) {
  const std::string rubs = R"("friction": 0.1, "static_friction": 0.6, "rotation": [0, 0, 20])";
  Linked run(fmt::format(R"({{"name": "slope", "motion": "fixed", {0}, "shapes": [{{"shape": "plane"}}]}},
                            {{"name": "sled", "mass": 6.2, {0}, "position": [-0.0171, 0.046985, 0],
                              "shapes": [{{"shape": "box", "half_extents": [0.2, 0.05, 0.2]}}]}})",
                         rubs),
             "", R"({"type": "cloth", "size_x": 0.2, "size_z": 0.2, "cells_x": 4, "cells_z": 4,
                     "position": [-0.0376, 0.10337, 0], "rotation": [0, 0, 20]})",
             "", R"("friction": 10)");
  run.run(60);
  EXPECT_LT(run.frames().v[1].norm(), 0.002);
}

// 80 N of jelly break a joint of 40 N that holds 9 N by itself, and not one of 200 N.
TEST(Linked, JointsBreakUnderJelly) {
  for (const double most : {40., 200.}) {
    Linked run(R"({"name": "plank", "density": 100, "position": [0.4, 1, 0],
                   "shapes": [{"shape": "box", "half_extents": [0.4, 0.02, 0.15]}]})",
               fmt::format(
                   R"({{"type": "fixed", "body_b": "plank", "anchor": [0, 1, 0], "break_force": {}}})", most),
               jelly("[0.15, 0.15, 0.15]", cells4, R"("position": [0.6, 1.176, 0])"));
    run.run(60);
    EXPECT_EQ(run.rigid->state.joints.broken[0], most < 80) << most;
    if (most > 80) {
      // What it carries: both weights, as a mean of steps of a jelly that still sways a little.
      EXPECT_NEAR(run.rigid->state.joints.force[0].y(), 9.81 * (0.96 + 8.1), 0.15 * 9.81 * 9) << most;
    }
  }
}

// Jelly presses a crate up against a ceiling, from which it falls in its own step. The crate's edges lie
// along those of cells, in a row of them or between two: then no point of them is nearer than others.
TEST(Linked, CratesBetweenJellyAndACeilingRest) {
  for (const char* const half : {"[0.1, 0.05, 0.1]", "[0.15, 0.05, 0.15]", "[0.2, 0.05, 0.2]"}) {
    Linked run(R"({"name": "ceiling", "motion": "fixed", "position": [0, 0.505, 0],
                   "shapes": [{"shape": "box", "half_extents": [1, 0.1, 1]}]},
                  {"name": "floor", "motion": "fixed", "shapes": [{"shape": "plane"}]})" +
                   box("crate", 100, half, 0, 0.355, 0),
               "", jelly("[0.15, 0.15, 0.15]", cells4, R"("position": [0, 0.15, 0])"));
    run.run(90);
    for (int k = 0; k < 30; ++k) {
      run.run(1);
      EXPECT_LT(run.frames().v[2].norm(), 0.005) << half << " at " << k;
      EXPECT_NEAR(run.frames().x[2].y(), 0.355, 1e-3) << half << " at " << k;
    }
  }
}

}}  // namespace plenum
