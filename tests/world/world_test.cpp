#include "plenum/world/world.h"

#include <gtest/gtest.h>

#include <utility>

#include "plenum/base/error.h"
#include "plenum/geometry/shape.h"
#include "plenum/io/checkpoint.h"
#include "support/count_allocations.h"
#include "test_solver.h"

namespace plenum { namespace {

using test::Orbits;
using test::ring;

World orbits(int threads = 1, std::size_t n = 500) {
  World world;
  world.set_threads(threads);
  world.add<Orbits>("inner", {}, ring(n));
  world.add<Orbits>("outer", {}, ring(n / 2), {.stiffness = 3});
  return world;
}

TEST(World, HashIsTheSameForEveryThreadCountAndEveryRepetition) {
  const auto run = [](int threads) {
    World world = orbits(threads);
    for (int f = 0; f < 20; ++f) world.step_frame();
    return world.hash();
  };
  const Hash128 one = run(1);
  for (const int threads : {1, 2, 3, 5, 8}) EXPECT_EQ(run(threads), one) << threads;
}

TEST(World, PoisonedWorkspacesChangeNothing) {
  World clean = orbits(), poisoned = orbits();
  for (int f = 0; f < 20; ++f) {
    clean.step_frame();
    for (std::size_t s = 0; s < poisoned.size(); ++s) poisoned.system(s).poison_workspace();
    poisoned.step_frame();
  }
  EXPECT_EQ(clean.hash(), poisoned.hash());
}

TEST(World, AResumedRunEndsAsAnUninterruptedOneAndSavesTheSameBytes) {
  World whole = orbits(), first = orbits(), second = orbits();
  for (int f = 0; f < 30; ++f) whole.step_frame();
  for (int f = 0; f < 12; ++f) first.step_frame();
  const std::vector<std::byte> saved = first.snapshot();
  second.restore(saved, "saved");
  EXPECT_EQ(second.frame(), 12);
  EXPECT_EQ(second.snapshot(), saved);
  for (int f = 12; f < 30; ++f) second.step_frame();
  EXPECT_EQ(second.hash(), whole.hash());
}

TEST(World, MaxDtIsHonouredBySubsteps) {
  World world;
  auto& system = world.add<Orbits>("orbit", {}, ring(10), {.limit = Real(1.0 / 60 / 7.5)});
  const FrameReport report = world.step_frame();
  EXPECT_EQ(report.systems[0].substeps, 8);
  EXPECT_EQ(system.state.steps, 8);
}

/// Notes its parameters at every step.
struct Recorder : Orbits {
  struct State {
    std::vector<Vec3> seen;
  };
  static Real max_dt(const Model&, const State&, const Params& p) { return p.limit; }
  static Report step(const Model&, State& s, const Params& p, Workspace&, Real) {
    s.seen.push_back(p.gravity);
    return {};
  }
  static void fields(const Model&, auto&& s, FieldVisitor& visit) {
    visit({"seen", "m", Centring::global}, s.seen);
  }
  static void geometry(const Model&, const State&, DrawableSink&) {}
  static void absorb(const Model&, State&, std::span<const SampleImpulse>) {}
  static Samples samples(const Model&, const State&, const Params&, const Workspace&) { return {}; }
};

TEST(World, KeyframesMoveThroughTheSubstepsOfAFrame) {
  World world({.fps = 10, .substeps = 2});
  auto& system = world.add<Recorder>("recorder", {}, {}, {.limit = Real(0.0101)});  // five parts of 10 ms
  world.add_keyframes("recorder", {.path = "gravity",
                                   .interpolation = Keyframes::Interpolation::linear,
                                   .times = {0, 1},
                                   .values = {0, 0, 0, 30, -60, 0}});
  for (int f = 0; f < 3; ++f) world.step_frame();
  ASSERT_EQ(system.state.seen.size(), 30u);
  for (std::size_t k = 0; k < 30; ++k) {
    const double t = 0.01 * double(k + 1);  // where each part ends
    EXPECT_NEAR(system.state.seen[k].x(), 30 * t, 1e-5) << k;
    EXPECT_NEAR(system.state.seen[k].y(), -60 * t, 1e-5) << k;
  }
}

TEST(World, AKeyframeThatShortensMaxDtCountsFromItsFirstSubstep) {
  World world({.fps = 10});
  auto& system = world.add<Recorder>("recorder", {}, {}, {.limit = 1});
  world.add_keyframes("recorder", {.path = "limit",
                                   .interpolation = Keyframes::Interpolation::linear,
                                   .times = {0, 0.1},
                                   .values = {1, 0.021}});
  world.step_frame();
  EXPECT_EQ(system.state.seen.size(), 5u);
}

TEST(World, AnImpossibleMaxDtIsCappedAndSaysSo) {
  World world({.fps = 64, .max_substeps = 20});
  world.add<Orbits>("orbit", {}, ring(10), {.limit = Real(0x1p-26)});
  const FrameReport report = world.step_frame();
  EXPECT_EQ(report.systems[0].substeps, 20);
  ASSERT_EQ(report.systems[0].warnings().size(), 1u);
  const std::string told = report.systems[0].warnings()[0].sentence();
  EXPECT_EQ(told,
            "unstable: max_dt asks for more sub-steps than world.max_substeps; raise it, weaken forces or "
            "raise masses (1048576 needed)");
  // What stops the world then says so too.
  dynamic_cast<SystemOf<Orbits>&>(world.system(0)).parameters.poison = std::numeric_limits<Real>::infinity();
  const FrameReport stopped = world.step_frame();
  EXPECT_EQ(
      stopped.not_finite.sentence(),
      "orbit: position[3] is not finite; the world was put back to its last good frame; it had warned: " +
          told);
}

TEST(World, AValueThatIsNotFiniteIsNamedAndTheLastGoodFrameStands) {
  World world = orbits();
  world.step_frame();
  const Hash128 good = world.hash();
  auto& system = dynamic_cast<SystemOf<Orbits>&>(world.system(1));
  system.parameters.poison = std::numeric_limits<Real>::infinity();
  const FrameReport report = world.step_frame();
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.not_finite.system, "outer");
  EXPECT_EQ(report.not_finite.field, "position");
  EXPECT_EQ(report.not_finite.index, 3u);
  system.parameters.poison = 0;
  EXPECT_EQ(world.hash(), good);
  EXPECT_FALSE(world.step_frame().ok);  // stands until restored
}

/// A heavy ball that drifts, and takes the impulses of what touches it.
struct Ball {
  struct Model {
    Shape shape = SphereShape{.radius = Real(0.5)};
  };
  struct State {
    Vec3 x = Vec3::Zero(), v = Vec3::Zero();
  };
  struct Params {
    Real poison = 0;  // added to the velocity in every step
    void describe(Describer& d) { d("poison", poison); }
  };
  struct Workspace {
    std::vector<SolidBody> bodies;
  };
  static Real max_dt(const Model&, const State&, const Params&) { return 1; }
  static Report step(const Model& m, State& s, const Params& p, Workspace& w, Real dt) {
    w.bodies.resize(1);
    w.bodies[0].shape = &m.shape;
    w.bodies[0].inverse_mass = Real(0.1);
    w.bodies[0].pose0.position = s.x;
    s.x += dt * s.v;  // the poison is felt in the next step
    s.v.y() += p.poison;
    w.bodies[0].pose.position = w.bodies[0].centre = s.x;
    w.bodies[0].velocity = s.v;
    return {};
  }
  static void fields(const Model&, auto&& s, FieldVisitor& visit) {
    visit({"ball_position", "m", Centring::global}, s.x);
    visit({"ball_velocity", "m/s", Centring::global}, s.v);
  }
  static void geometry(const Model&, const State&, DrawableSink&) {}
  static std::span<const SolidBody> bodies(const Model&, const State&, const Params&, const Workspace& w) {
    return w.bodies;
  }
  static void absorb(const Model&, State& s, std::span<const BodyImpulse> impulses) {
    for (const BodyImpulse& j : impulses) s.v += Real(0.1) * j.impulse;
  }
};

/// Grains whose poison goes into their velocity after they have moved, where contact finds it.
struct Grains : Orbits {
  static Report step(const Model& m, State& s, Params p, Workspace& w, Real dt) {
    const Real poison = std::exchange(p.poison, 0);
    const Report report = Orbits::step(m, s, p, w, dt);
    s.particles.v[3].y() -= poison;
    return report;
  }
};

/// Dust that lies on a ball, under a gravity that presses it down, in a world where one of them fails.
FrameReport fail_in_contact(bool dust_fails, bool dust_is_listed_first, int substeps) {
  World world({.substeps = substeps});
  Orbits::State dust;
  dust.particles.resize(4);
  for (std::size_t i = 0; i < 4; ++i) {
    dust.particles.x[i] = Vec3(Real(0.01) * Real(i), Real(0.501), 0);
    dust.particles.v[i] = Vec3(0, -1, 0);
  }
  const auto add_dust = [&] { world.add<Grains>("dust", {}, dust, {.stiffness = 0}); };
  if (dust_is_listed_first) add_dust();
  world.add<Ball>("ball", {}, {});
  if (!dust_is_listed_first) add_dust();
  EXPECT_TRUE(world.step_frame().ok);
  const Hash128 good = world.hash();
  const auto poison = [&](Real p) {
    if (dust_fails)
      dynamic_cast<SystemOf<Grains>&>(*world.find("dust")).parameters.poison = p;
    else
      dynamic_cast<SystemOf<Ball>&>(*world.find("ball")).parameters.poison = p;
  };
  poison(std::numeric_limits<Real>::infinity());
  const FrameReport report = world.step_frame();
  poison(0);
  EXPECT_EQ(world.hash(), good);
  return report;
}

TEST(World, ContactsAreBookedWithoutAllocations) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "allocations are counted elsewhere";
  // A frame allocates its report, whatever the number of sub-steps in which the pair meets.
  const auto allocations_of_a_frame = [](int substeps) {
    World world({.substeps = substeps, .threads = 1});
    Orbits::State dust;
    dust.particles.resize(1);
    auto& grains = world.add<Orbits>("dust", {}, dust, {.stiffness = 0});
    auto& ball = world.add<Ball>("ball", {}, {});
    long count = 0;
    for (int f = 0; f < 4; ++f) {
      ball.state.v.setZero();
      grains.state.particles.x[0] = ball.state.x + Vec3(0, Real(0.501), 0);
      grains.state.particles.v[0] = Vec3(0, -1, 0);
      FrameReport report;
      count = plenum_test::count_allocations([&] { report = world.step_frame(); });
      EXPECT_TRUE(report.ok);
      if (f == 0) continue;  // this ball has no body before its first step
      EXPECT_GT(report.contacts, 0u);
    }
    return count;
  };
  EXPECT_EQ(allocations_of_a_frame(8), allocations_of_a_frame(1));
}

TEST(World, TheSystemThatFailedFirstIsNamedThoughContactSpreadsIt) {
  for (const int substeps : {1, 3})
    for (const bool dust_fails : {false, true})
      for (const bool dust_is_listed_first : {false, true}) {
        const FrameReport report = fail_in_contact(dust_fails, dust_is_listed_first, substeps);
        EXPECT_FALSE(report.ok);
        EXPECT_EQ(report.not_finite.system, dust_fails ? "dust" : "ball") << substeps << dust_is_listed_first;
      }
}

TEST(World, ValuesPokedInFromOutsideAreNotKept) {
  World world = orbits();
  world.step_frame();
  const Hash128 good = world.hash();
  auto& system = dynamic_cast<SystemOf<Orbits>&>(world.system(0));
  system.state.particles.v[7].x() = std::numeric_limits<Real>::quiet_NaN();
  EXPECT_FALSE(world.step_frame().ok);
  EXPECT_EQ(world.hash(), good);
  // The same before the first frame, when there is nothing to go back to.
  World fresh = orbits();
  dynamic_cast<SystemOf<Orbits>&>(fresh.system(1)).state.particles.x[5].z() =
      std::numeric_limits<Real>::infinity();
  const FrameReport report = fresh.step_frame();
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.not_finite.system, "outer");
  EXPECT_EQ(report.not_finite.index, 5u);
  EXPECT_EQ(fresh.frame(), 0);
}

TEST(World, LargeStatesComeBackWholeAtEveryThreadCount) {
  constexpr std::size_t n = 600001;  // positions and velocities of 7 MB each, written past the caches
  for (const int threads : {1, 3}) {
    World world;
    world.set_threads(threads);
    auto& system = world.add<Orbits>("many", {}, ring(n));
    for (int f = 0; f < 3; ++f) ASSERT_TRUE(world.step_frame().ok);
    const Hash128 good = world.hash();
    for (const std::size_t bad : {n - 1, std::size_t{400000}}) {
      World again;
      again.set_threads(threads);
      auto& copy = again.add<Orbits>("many", {}, system.state);
      ASSERT_TRUE(again.step_frame().ok);
      const Hash128 before = again.hash();
      copy.state.particles.x[bad].y() = std::numeric_limits<Real>::quiet_NaN();
      const FrameReport report = again.step_frame();
      EXPECT_EQ(report.not_finite.index, bad);
      EXPECT_EQ(again.hash(), before);
    }
    EXPECT_EQ(world.hash(), good);
  }
}

TEST(World, LateFramesAreDroppedAndCountedInsteadOfSpiralling) {
  World world = orbits();
  FrameReport last;
  EXPECT_EQ(world.advance(5.0, last), 15);  // 0.25 s of the five, at 60 frames a second
  EXPECT_NEAR(world.dropped_seconds(), 4.75, 1e-9);
  EXPECT_EQ(world.advance(std::numeric_limits<double>::quiet_NaN(), last), 0);
  EXPECT_EQ(world.advance(-1, last), 0);
}

TEST(World, KeyframesMoveAParameterAndStrangersAreRefused) {
  World world = orbits();
  world.add_keyframes("inner", {.path = "gravity",
                                .interpolation = Keyframes::Interpolation::linear,
                                .times = {0, 1},
                                .values = {0, 0, 0, 0, -6, 0}});
  for (int f = 0; f < 30; ++f) world.step_frame();
  EXPECT_NEAR(dynamic_cast<SystemOf<Orbits>&>(world.system(0)).parameters.gravity.y(), -3, 1e-5);
  try {
    world.add_keyframes("inner", {.path = "gravty", .times = {0}, .values = {0}});
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.problem().nearest, "gravity");
  }
  EXPECT_THROW(world.add_keyframes("iner", {.path = "gravity", .times = {0}, .values = {0}}), Error);
  EXPECT_THROW(world.add_keyframes("inner", {.path = "gravity", .times = {0}, .values = {0}}), Error);
  EXPECT_THROW(world.add_keyframes("inner", {.path = "stiffness", .times = {1, 1}, .values = {0, 1}}), Error);
}

TEST(Keyframes, SmoothCurvesPassThroughTheirPointsAndNeverOvershoot) {
  const Keyframes k{.times = {0, 1, 3, 4}, .values = {0, 1, 1, 5}};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(interpolate(k, 1, 0, k.times[i]), k.values[i], 1e-12);
  double last = 0;
  for (double t = 0; t <= 4; t += 0.01) {
    const double v = interpolate(k, 1, 0, t);
    EXPECT_GE(v, last - 1e-12);
    last = v;
  }
  EXPECT_EQ(interpolate(k, 1, 0, 2.0), 1);
  EXPECT_EQ(interpolate(k, 1, 0, -5), 0);
  EXPECT_EQ(interpolate(k, 1, 0, 9), 5);
}

TEST(World, NamesAreUnique) {
  World world = orbits();
  EXPECT_THROW(world.add<Orbits>("inner", {}, ring(4)), Error);
  EXPECT_THROW(world.add<Orbits>("", {}, ring(4)), Error);
}

TEST(World, DraggingPullsASampleToItsTargetAtEveryFrameRate) {
  for (const Real fps : {Real(5), Real(60), Real(1000)}) {
    World world({.fps = fps});
    auto& system = world.add<Orbits>("free", {}, ring(10), {.stiffness = 0, .gravity = Vec3::Zero()});
    world.drag(0, 2, Vec3(3, 1, -2));
    for (int f = 0; f < static_cast<int>(3 * fps); ++f) world.step_frame();
    EXPECT_LT((system.state.particles.x[2] - Vec3(3, 1, -2)).norm(), 0.01) << fps;
    world.release();
    EXPECT_FALSE(world.dragging());
  }
}

TEST(Checkpoint, EveryTruncationAndEveryFlippedBitIsRefused) {
  World world = orbits(1, 20);
  for (int f = 0; f < 3; ++f) world.step_frame();
  const std::vector<std::byte> good = world.snapshot();
  const Hash128 hash = world.hash();
  for (std::size_t n = 0; n < good.size(); ++n)
    ASSERT_THROW(world.restore(std::span(good).first(n), "cut"), Error) << n;
  std::vector<std::byte> bad = good;
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const std::byte mask{static_cast<unsigned char>(1u << (i % 8))};
    bad[i] ^= mask;
    ASSERT_THROW(world.restore(bad, "flipped"), Error) << i;
    bad[i] ^= mask;
  }
  EXPECT_EQ(world.hash(), hash);  // refusals left the world as it was
  world.restore(good, "good");
}

TEST(Checkpoint, ParametersThatTheSceneGivesOtherwiseAreNewAndTheRestGoOn) {
  World first = orbits();
  for (int f = 0; f < 3; ++f) first.step_frame();
  dynamic_cast<SystemOf<Orbits>&>(first.system(0)).parameters.stiffness = 7;  // by a slider, say
  first.set_memo("noted");
  const std::vector<std::byte> saved = first.snapshot();
  World same = orbits();
  EXPECT_EQ(same.restore(saved), std::vector<std::string>());
  EXPECT_EQ(same.snapshot(), saved);
  EXPECT_EQ(same.memo(), "noted");

  World second;
  auto& inner = second.add<Orbits>("inner", {}, ring(500));
  auto& outer = second.add<Orbits>("outer", {}, ring(250), {.stiffness = 4, .gravity = Vec3(0, -1, 2)});
  EXPECT_EQ(second.restore(saved), (std::vector<std::string>{"outer.stiffness: 4, was 3",
                                                             "outer.gravity: [0, -1, 2], was [0, -1, 0]"}));
  EXPECT_EQ(inner.parameters.stiffness, 7);
  EXPECT_EQ(outer.parameters.stiffness, 4);
  EXPECT_EQ(outer.parameters.gravity, Vec3(0, -1, 2));
  EXPECT_EQ(second.frame(), 3);
  EXPECT_TRUE(second.step_frame().ok);
}

TEST(Checkpoint, WhatKeyframesMovedNoMoreHasTheScenesValue) {
  const auto moved = [] {
    World world = orbits();
    world.add_keyframes("inner", {.path = "gravity", .times = {0, 1}, .values = {0, 0, 0, 0, -6, 0}});
    return world;
  };
  World first = moved(), again = moved(), still = orbits();
  for (int f = 0; f < 12; ++f) first.step_frame();
  const std::vector<std::byte> saved = first.snapshot();
  EXPECT_EQ(again.restore(saved), std::vector<std::string>());
  EXPECT_EQ(again.snapshot(), saved);
  EXPECT_EQ(still.restore(saved),
            std::vector<std::string>{"inner.gravity: [0, -1, 0], was moved by keyframes"});
  EXPECT_EQ(dynamic_cast<SystemOf<Orbits>&>(still.system(0)).parameters.gravity, Vec3(0, -1, 0));
}

TEST(Checkpoint, AnotherClockIsRefused) {
  World world = orbits(), slower({.fps = 30});
  slower.add<Orbits>("inner", {}, ring(500));
  slower.add<Orbits>("outer", {}, ring(250), {.stiffness = 3});
  try {
    slower.restore(world.snapshot(), "saved");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "saved: world.fps: differs from the checkpoint's, whose clock counts frames: 30 (allowed: "
                 "60)");
  }
}

TEST(Checkpoint, AnotherSceneIsRefused) {
  World one = orbits(), other;
  other.add<Orbits>("inner", {}, ring(20));
  EXPECT_THROW(other.restore(one.snapshot(), "other"), Error);
  World same = orbits();
  same.set_identity("another text");
  EXPECT_THROW(same.restore(one.snapshot(), "other"), Error);
}

}  // namespace
}  // namespace plenum
