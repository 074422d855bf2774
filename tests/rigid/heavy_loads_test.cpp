// Heavy bodies on light ones, without joints.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "plenum/base/random.h"
#include "plenum/world/world.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using validation::RigidScene;

/// Touching boxes of this width [m], each `ratio` times as heavy as the one below, the least of 20 kg/m^3.
Rigid::Spec column_of(int boxes, double width, double ratio) {
  Rigid::Spec spec{
      .bodies = {validation::fixed_box(Vec3::Constant(Real(50 * width)), Vec3(0, Real(-50 * width), 0))}};
  for (int i = 0; i < boxes; ++i) {
    spec.bodies.push_back(
        validation::box(Vec3::Constant(Real(0.5 * width)), Vec3(0, Real((0.5 + i) * width), 0)));
    spec.bodies.back().density = Real(20 * std::pow(ratio, i));
  }
  return spec;
}

// The bar for hard scenes: overlap under 1 % of the size. A passive scene has no more energy than it began
// with, and what stands is at rest.
TEST(HeavyLoads, StandOnLightBodiesWhateverTheirSizeAndRatio) {
  struct Case {
    int boxes;
    double ratio;
  };
  for (const double width : {0.01, 0.1, 1.0})
    for (const Case& c : {Case{2, 4}, {2, 30}, {2, 1000}, {2, 1e5}, {4, 4}, {4, 10}, {5, 11}}) {
      RigidScene scene(column_of(c.boxes, width, c.ratio));
      const std::vector<Vec3>& x = scene.state.frames.x;
      const double start = test::energy(scene);
      double mass = 0, overlap = 0, drift = 0, gain = 0, fastest = 0;
      for (int i = 1; i <= c.boxes; ++i) mass += 1 / double(scene.state.frames.inverse_mass[std::size_t(i)]);
      for (int k = 0; k < 600; ++k) {
        scene.step();
        gain = std::max(gain, (test::energy(scene) - start) / (mass * 9.81 * width));
        for (std::size_t i = 1; i < x.size(); ++i) {
          const double below = i == 1 ? -0.5 * width : double(x[i - 1].y());
          overlap = std::max(overlap, 1 - (double(x[i].y()) - below) / width);
          drift = std::max(drift, std::hypot(double(x[i].x()), double(x[i].z())) / width);
          if (k >= 300) fastest = std::max(fastest, double(scene.state.frames.v[i].norm()));
        }
      }
      const auto which = testing::Message() << c.boxes << " of " << width << " m, 1:" << c.ratio;
      EXPECT_LT(overlap, 0.01) << which;
      EXPECT_LT(drift, 0.01) << which;
      EXPECT_LT(gain, 1e-5) << which;
      EXPECT_LT(fastest, double(scene.params.sleep_speed) * std::sqrt(0.866 * width)) << which;
    }
}

// What lies on a column and is none of it is a load all the same: a tower on a light box, loose or in joints.
TEST(HeavyLoads, BearWhatLiesOnThem) {
  for (const double width : {0.1, 1.0})
    for (const double lighter : {3.1, 10.0, 30.0}) {
      Rigid::Spec spec = column_of(14, width, 1);
      for (std::size_t i = 1; i < spec.bodies.size(); ++i)
        spec.bodies[i].density = Real(i == 1 ? 1000 / lighter : 1000);
      RigidScene scene(spec);
      for (int k = 0; k < 900; ++k) scene.step();
      const Vec3& top = scene.state.frames.x[14];
      EXPECT_NEAR(top.y() / width, 13.5, 0.02) << width << " " << lighter;
      EXPECT_LT(std::hypot(top.x(), top.z()) / width, 0.02) << width << " " << lighter;
    }
}

// Many bodies load a light plate that none of them would alone, and so does what lies on these.
TEST(HeavyLoads, LieOnPlates) {
  struct Case {
    int across, high;
    double lighter;  ///< than a cube's material
  };
  for (const double width : {0.1, 1.0})
    for (const Case& c : {Case{3, 1, 2.2}, {4, 1, 10}, {5, 1, 10}, {4, 3, 3}, {11, 1, 40}}) {
      if (c.across > 5 && width > 0.1) continue;  // takes long
      Rigid::Spec spec{.bodies = {validation::floor_box()}};
      const double half = 0.5 * width * c.across;
      spec.bodies.push_back(
          validation::box(Vec3(Real(half), Real(0.1 * width), Real(half)), Vec3(0, Real(0.1 * width), 0)));
      spec.bodies.back().density = Real(1000 / c.lighter);
      double mass = 0;
      for (int i = 0; i < c.across * c.across * c.high; ++i) {
        const auto place = [&](int k) { return (k - 0.5 * (c.across - 1)) * width; };
        spec.bodies.push_back(validation::box(Vec3::Constant(Real(0.45 * width)),
                                              Vec3(Real(place(i % c.across)),
                                                   Real((0.65 + 0.9 * (i / (c.across * c.across))) *
                                                        width),  // NOLINT(bugprone-integer-division)
                                                   Real(place(i / c.across % c.across)))));
        mass += 729 * width * width * width;
      }
      RigidScene scene(spec);
      scene.params.sleeping = false;
      const std::vector<Vec3> at = scene.state.frames.x;
      const double start = test::energy(scene);
      double gain = 0, moved = 0;
      for (int k = 0; k < 900; ++k) {
        scene.step();
        gain = std::max(gain, (test::energy(scene) - start) / (mass * 9.81 * width));
      }
      for (std::size_t i = 1; i < at.size(); ++i)
        moved = std::max(moved, double((scene.state.frames.x[i] - at[i]).norm()) / width);
      const auto which = testing::Message()
                         << c.across << " x " << c.high << " of " << width << " m, 1:" << c.lighter;
      EXPECT_LT(gain, 1e-5) << which;
      EXPECT_LT(moved, 0.01) << which;
    }
}

// Bodies of several shapes stand on all of these as on one face: crates of flush boxes, pallets with feet.
TEST(HeavyLoads, StandOnSeveralShapesAsOnOne) {
  for (const double width : {0.1, 1.0})
    for (const double ratio : {0.0, 12.0, 24.0}) {  // 0: a stack of crates; else their load over the pallet's
      const Rigid::Spec spec =
          ratio == 0 ? validation::crates_of_four(8, width) : validation::laden_pallet(width, ratio);
      RigidScene scene(spec);
      const std::vector<Vec3> before = scene.state.frames.x;
      const double start = test::energy(scene);
      double gain = 0, moved = 0, fastest = 0;
      for (int k = 0; k < 600; ++k) {
        scene.step();
        gain = std::max(gain, test::energy(scene) - start);
        for (std::size_t i = 1; i < before.size(); ++i) {
          moved = std::max(moved, double((scene.state.frames.x[i] - before[i]).norm()) / width);
          if (k >= 300) fastest = std::max(fastest, double(scene.state.frames.v[i].norm()));
        }
      }
      const auto which = testing::Message() << width << " m, " << ratio;
      EXPECT_LE(gain, 1e-6 * std::abs(start)) << which;
      EXPECT_LT(moved, 0.01) << which;
      EXPECT_LT(fastest, double(scene.params.sleep_speed) * std::sqrt(0.866 * width)) << which;
    }
}

// A crate of several boxes slides as far as one of one box does: v^2 / (2 mu g).
TEST(HeavyLoads, SlideOnSeveralShapesAsOnOne) {
  Rigid::Spec spec{.bodies = {validation::floor_box(),
                              validation::box_of_four(Vec3(1, Real(0.5), 1), Vec3(0, Real(0.25), 0))}};
  spec.bodies[1].velocity = Vec3(3, 0, 1);
  RigidScene scene(spec);
  for (int k = 0; k < 120; ++k) scene.step();
  const Vec3& x = scene.state.frames.x[1];
  // Velocities are taken at the ends of sub-steps of 1/240 s, so the way may differ by half of one.
  const double speed = std::sqrt(10.0), way = speed * speed / (2 * 0.5 * 9.81);
  EXPECT_NEAR(std::hypot(x.x(), x.z()), way, speed / 480);
  EXPECT_NEAR(x.x() / x.z(), 3, 1e-3);
  EXPECT_EQ(scene.state.touch.pairs.size(), 4u);
}

// Only parts in one plane are one face: what hovers over lower parts of a body bears nothing, wherever it is
// in the list of bodies, and a cube on a ridge between lower tiles stands and falls as on three bodies.
TEST(HeavyLoads, StandOnRidgesBetweenLowerParts) {
  for (const double width : {0.01, 0.1, 1.0})
    for (const double lower : {0.001, 0.02, 0.1})
      for (const double height : {0.0, 2.0}) {
        const auto at = [&](double x, double y, double z) {
          return Vec3(Real(x * width), Real(y * width), Real(z * width));
        };
        rigid::BodySpec ground = validation::fixed_box(at(0.2, 0.5, 1), Vec3::Zero());
        ground.shapes[0].position = at(0, -0.5, 0);
        for (const double side : {-1.0, 1.0}) {
          ground.shapes.push_back(ground.shapes[0]);
          ground.shapes.back().half_extents = at(0.4, 0.5, 1);
          ground.shapes.back().position = at(0.6 * side, -0.5 - lower, 0);
        }
        Rigid::Spec spec{.bodies = {ground, validation::box(at(0.5, 0.5, 0.5), at(0, 0.5, 0))}};
        spec.bodies[1].position.y() += Real(height);
        RigidScene scene(spec);
        double lowest = 1;
        for (int k = 0; k < 150; ++k) {
          scene.step();
          lowest = std::min(lowest, double(scene.state.frames.x[1].y()) / width - 0.5);
        }
        const auto which = testing::Message() << width << " " << lower << " " << height;
        // The bar of hard scenes.
        EXPECT_GT(lowest, -0.01) << which;
        EXPECT_NEAR(scene.state.frames.x[1].y() / width, 0.5, 0.01) << which;
        EXPECT_LT(scene.state.frames.v[1].norm(), scene.params.sleep_speed * std::sqrt(width)) << which;
      }
}

// Sixty thin slabs sag by more than one of them until they are firm, and are not thrown up by that.
TEST(HeavyLoads, TowersOfSlabsGainNothingAsTheyGetFirm) {
  for (const double height : {0.03, 0.06, 0.15}) {
    RigidScene scene(validation::slabs(60, height));
    const double start = test::energy(scene);
    for (int k = 0; k < 300; ++k) {
      scene.step();
      ASSERT_LE(test::energy(scene) - start, 1e-6 * std::abs(start)) << height << " step " << k;
    }
    const Vec3& top = scene.state.frames.x[60];
    EXPECT_LT(std::hypot(top.x(), top.z()), 0.01) << height;
  }
}

// What a tower has carried does not throw it up when the load is taken away, nor what its contacts gain as
// they get firm under a load.
TEST(HeavyLoads, TowersThatAreRelievedNeitherBounceNorFall) {
  struct Case {
    int slabs;
    double height, load;  ///< [m]; in masses of a slab
  };
  for (const Case& c : {Case{30, 0.15, 5}, {60, 0.06, 50}, {40, 0.1, 2}}) {
    Rigid::Spec spec = validation::slabs(c.slabs, c.height);
    spec.bodies.push_back(
        validation::box(Vec3::Constant(Real(0.5)), Vec3(0, Real(c.slabs * c.height + 0.5), 0)));
    spec.bodies.back().mass = Real(c.load * 1000 * c.height);
    RigidScene scene(spec);
    const auto which = testing::Message() << c.slabs << " of " << c.height << " m under " << c.load;
    const double start = test::energy(scene);
    for (int k = 0; k < 480; ++k) {
      scene.step();
      ASSERT_LE(test::energy(scene) - start, 1e-6 * std::abs(start)) << which << " step " << k;
    }
    scene.state.frames.x.back() = Vec3(20, 1, 0);
    scene.state.frames.v.back().setZero();
    const std::size_t top = std::size_t(c.slabs);
    double up = 0;
    for (int k = 0; k < 900; ++k) {
      scene.step();
      up = std::max(up, double(scene.state.frames.v[top].y()));
    }
    // A hop of no more than a centimetre.
    EXPECT_LT(up, std::sqrt(2 * 9.81 * 0.01)) << which;
    const Vec3& at = scene.state.frames.x[top];
    EXPECT_LT(std::hypot(at.x(), at.z()), 0.01) << which;
  }
}

// Nothing is thrown by what lands: a slab of a thousand times their mass falls onto four feet.
TEST(HeavyLoads, LandOnFeet) {
  for (const double height : {0.01, 0.1, 0.5}) {
    Rigid::Spec spec{.bodies = {validation::floor_box()}};
    for (int i = 0; i < 4; ++i) {
      spec.bodies.push_back(
          validation::box(Vec3(Real(0.1), Real(0.1), Real(0.1)),
                          Vec3(Real(i & 1 ? 0.8 : -0.8), Real(0.1), Real(i & 2 ? 0.8 : -0.8))));
      spec.bodies.back().density = 20;
    }
    spec.bodies.push_back(validation::box(Vec3(1, Real(0.1), 1), Vec3(0, Real(0.3 + height), 0)));
    spec.bodies.back().density = 2000;
    RigidScene scene(spec);
    const double start = test::energy(scene);
    double gain = 0, up = 0;
    for (int k = 0; k < 300; ++k) {
      scene.step();
      gain = std::max(gain, test::energy(scene) - start);
      up = std::max(up, double(scene.state.frames.v[5].y()));
    }
    EXPECT_LT(gain, 1e-4 * std::abs(start)) << height;
    EXPECT_LT(up, 0.1 * std::sqrt(2 * 9.81 * height) + 0.02) << height;
    EXPECT_NEAR(scene.state.frames.x[5].y(), 0.3, 0.002) << height;
    for (std::size_t i = 1; i < 5; ++i)
      EXPECT_NEAR(std::abs(scene.state.frames.x[i].x()), 0.8, 0.01) << height;
  }
}

/// Boxes of 10 to 70 cm thrown together, of masses of 1:300.
Rigid::Spec rubble(int count) {
  std::mt19937 random(7);
  const auto in = [&](double low, double high) {
    return low + (high - low) * double(random()) / double(std::mt19937::max());
  };
  Rigid::Spec spec{.bodies = {validation::floor_box()}};
  for (int i = 0; i < count; ++i) {
    const double half = in(0.05, 0.35);
    spec.bodies.push_back(validation::box(Vec3::Constant(Real(half)),
                                          Vec3(Real(in(-1, 1)), Real(0.5 + 0.4 * i), Real(in(-1, 1)))));
  }
  return spec;
}

TEST(HeavyLoads, TheSameBitsForAnyNumberOfThreads) {
  const auto hash_of = [](int threads) {
    WorldSettings settings;
    settings.threads = threads;
    World world(settings);
    Rigid::Model model;
    Rigid::State state;
    Rigid::build(rubble(100), model, state);
    world.add<Rigid>("bodies", std::move(model), std::move(state), Rigid::Params{});
    for (int k = 0; k < 180; ++k) world.step_frame();
    return world.hash();
  };
  const auto one = hash_of(1);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(hash_of(threads), one) << threads;
}

// A slab that falls on a stick presses it aslant, on two of its edges, and rolls it. Neither gains anything.
TEST(HeavyLoads, DoNotThrowTheStickThatTheyFallOn) {
  std::uint64_t seed = 0;
  const auto random = [&](double low, double high) {
    return Real(low + (high - low) * double(uniform4(3, seed++, 0)[0]));
  };
  for (int fall = 0; fall < 48; ++fall) {
    const Real length = (fall % 2 ? Real(0.03) : Real(0.1)) * random(0.7, 1.3);
    rigid::BodySpec stick =
        validation::box(length * Vec3(1, random(0.1, 0.5), random(0.1, 0.5)), Vec3::Zero());
    stick.position = Vec3(random(-0.3, 0.3), stick.shapes[0].half_extents.y(), random(-0.2, 0.2));
    stick.rotation.y() = random(0, 360);
    rigid::BodySpec slab =
        validation::box(Vec3(Real(0.9), Real(0.1), Real(0.4)), Vec3(0, random(0.4, 2.7), 0));
    slab.density = fall % 4 < 2 ? Real(300) : Real(3000);
    slab.rotation = Vec3(random(-5, 5), random(0, 360), random(-5, 5));
    RigidScene scene({.bodies = {validation::floor_box(), stick, slab}});
    const double first = test::energy(scene);
    for (int k = 0; k < 180; ++k) {
      scene.step();
      ASSERT_LT(test::energy(scene), first) << fall << ' ' << k;
      ASSERT_LT(scene.state.frames.v[1].norm(), 15)
          << fall << ' ' << k;  // the slab comes down at up to 7 m/s
    }
  }
}

}}  // namespace plenum
