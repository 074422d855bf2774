// Faults while running. What is tried, after what broke such programs elsewhere, and where:
// - mesh files, truncated, hostile, degenerate: io/mesh_reader_test, io/corpus_test, tests/fuzz
// - meshes, open, non-manifold, duplicates: geometry/topology_test, geometry/mesh_distance_test
// - scene keys, unknown, duplicate, wrong type: scene/scene_test, scene/fault_test, scene/schema_test
// - scene values, out of range, NaN, dt, counts: scene/fault_test, scene/ranges_test
// - scene size, bombs, nesting, memory: scene/json_test, scene/fault_test, scene/allocation_test
// - paths, traversal, FIFO, links, expansion: scene/fault_test
// - the largest dt, every scene: here
// - NaN in a state is named, put back, neighbours stay finite: here, world/world_test
// - degenerate nets, zero lengths, coincident, empty: here
// - a million pins: here
// - capacity, emitters stop at max_particles: particles/emission_test
// - no convergence, warned of: springs/integrators_test; sub-steps, then an error: world/world_test
// - slower than real time, dropped and counted: world/world_test
// - floating-point traps, every scene: here
// - denormals, flushed on every thread: base/parallel_test; a long run: here
// - threads, same bits: laws/scenes_test, laws/impact_test, each solver's tests
// - disk full, unwritable, reported, old file stands: io/checkpoint_file_test, app/run_test
// - kill -9 while saving, one of two checkpoints loads: io/checkpoint_file_test
// - damaged checkpoints, refused: world/world_test; whole but inconsistent ones: laws/restore_test
// - resumption, same bits, in contact too: laws/scenes_test, laws/impact_test
// - malloc fails, told, nothing half-built: scene/allocation_test
// - create and destroy, memory stays flat: here
// - interruption, stops within a frame: app/run_test
#include <fenv.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "laws/scene_files.h"
#include "plenum/base/error.h"
#include "plenum/scene/scene.h"
#include "plenum/solvers/springs/springs.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

TEST(SlowFaults, EverySceneStaysFiniteAtTheLargestStepThatIsAllowed) {
  for (const std::string& file : scenes()) {
    Scene scene = load_scene(file, {.overrides = {"world.fps=1", "world.substeps=1"}});
    for (int f = 0; f < 2; ++f) {  // from rest, and of what has moved
      const FrameReport report = scene.world.step_frame();
      EXPECT_TRUE(report.ok) << file << ": " << report.not_finite.sentence();
    }
  }
}

TEST(SlowFaults, NoSceneTraps) {
  for (const std::string& file : scenes()) {
    // Traps end the process, so each scene has one of its own; sticky flags would be lost where the world
    // puts the caller's floating-point mode back.
    const auto run = [&] {
      Scene scene = load_scene(file);
      scene.world.set_threads(1);
      feclearexcept(FE_ALL_EXCEPT);
      feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
      for (int f = 0; f < 10; ++f)
        if (!scene.world.step_frame().ok) std::_Exit(1);
      std::_Exit(0);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "") << file;
  }
}

Scene small_scene() {
  return load_scene_text(R"({"systems": [
    {"type": "springs", "name": "one", "model": {"parts": [{"cells_x": 6, "cells_z": 6, "pins": [{"where": "back"}]}]}},
    {"type": "springs", "name": "two", "model": {"parts": [{"cells_x": 6, "cells_z": 6, "pins": [{"where": "back"}]}]}}]})",
                         "s.json");
}

TEST(Faults, ANumberThatIsNotFiniteIsNamedAndTheLastGoodFrameStands) {
  for (const Real poison : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()}) {
    World world = small_scene().world;
    for (int f = 0; f < 3; ++f) ASSERT_TRUE(world.step_frame().ok);
    const std::vector<std::byte> good = world.snapshot();
    dynamic_cast<SystemOf<Springs>&>(world.system(1)).state.particles.v[40].y() = poison;
    const FrameReport report = world.step_frame();
    EXPECT_FALSE(report.ok);
    EXPECT_EQ(report.not_finite.system, "two");
    EXPECT_NE(report.not_finite.sentence().find("two: "), std::string::npos);
    EXPECT_EQ(world.frame(), 3);
    for (const Vec3& v : dynamic_cast<SystemOf<Springs>&>(world.system(0)).state.particles.v)
      EXPECT_TRUE(v.allFinite());
    world.restore(good);
    EXPECT_TRUE(world.step_frame().ok);
  }
}

TEST(Faults, DegenerateNetsStayFiniteUnderEveryMethod) {
  for (const char* model :
       {R"("points": [[0, 1, 0], [0, 1, 0]], "springs": [[0, 1]])",                             // zero length
        R"("points": [[0, 1, 0], [0, 1, 0]], "springs": [[0, 1]], "rest_lengths": [0.5])",      // coincident
        R"("points": [[0, 1, 0], [0, 1, 0], [0, 1, 0]], "springs": [[0, 1], [0, 1], [1, 2]])",  // doubled
        R"("points": [[0, 1, 0]])",                                                             // no springs
        R"("points": [[0, 1, 0], [1, 1, 0]], "springs": [[0, 1]], "pins": [{"where": "all"}])",  // all held
        R"("points": [[0, 1, 0], [1, 1, 0]], "springs": [[0, 1]], "masses": [1e-9, 1e9])"})
    for (const char* integrator : names_of(Springs::Integrator{})) {
      Scene scene = load_scene_text(
          std::string(
              R"({"systems": [{"type": "springs", "name": "net", "model": {"parts": [{"type": "points", )") +
              model + R"(}]}, "params": {"integrator": ")" + integrator + "\"}}]}",
          "s.json");
      for (int f = 0; f < 10; ++f) {
        const FrameReport report = scene.world.step_frame();
        ASSERT_TRUE(report.ok) << model << integrator << report.not_finite.sentence();
      }
    }
}

TEST(Faults, ScenesOfNothingRunOrAreRefusedWithASentence) {
  const auto try_it = [](const std::string& systems) {
    const auto problems = check_scene_text("{\"systems\": [" + systems + "]}", "s.json");
    if (!problems.empty()) return;  // said so
    Scene scene = load_scene_text("{\"systems\": [" + systems + "]}", "s.json");
    for (int f = 0; f < 3; ++f) EXPECT_TRUE(scene.world.step_frame().ok);
    const std::vector<std::byte> saved = scene.world.snapshot();
    scene.world.restore(saved);
  };
  try_it("");
  try_it(R"({"type": "particles", "name": "p", "model": {"max_particles": 0}})");
  try_it(R"({"type": "particles", "name": "p"})");
  try_it(R"({"type": "springs", "name": "s", "model": {"parts": []}})");
  try_it(R"({"type": "obstacle", "name": "o", "model": {"parts": []}})");
  Scene none =
      load_scene_text(R"({"systems": [{"type": "particles", "name": "p", "model": {"max_particles": 0}},
    {"type": "obstacle", "name": "o", "model": {"parts": [{"shape": "plane"}]}}]})",
                      "s.json");
  for (int f = 0; f < 3; ++f) EXPECT_TRUE(none.world.step_frame().ok);
}

TEST(SlowFaults, AMillionPinsAreHeld) {
  Scene scene = load_scene_text(R"({"systems": [{"type": "springs", "name": "rope", "model": {"parts": [
      {"type": "rope", "segments": 1000000, "to": [1000, 0, 0], "pins": [{"where": "all"}]}]}}]})",
                                "s.json");
  const auto& net = dynamic_cast<SystemOf<Springs>&>(scene.world.system(0));
  const std::vector<Vec3> before = net.state.particles.x;
  ASSERT_EQ(net.model.pinned.size(), 1000001u);
  for (int f = 0; f < 2; ++f) ASSERT_TRUE(scene.world.step_frame().ok);
  EXPECT_TRUE(net.state.particles.x == before);
}

TEST(Faults, ALongDecayEndsInZeroAndLeavesNoDenormals) {
  // Damped at 50 1/s an oscillation of 1 m is below the least normal float, 1e-38, after 2 s; 10 s are run.
  Scene scene = load_scene_text(R"({"gravity": [0, 0, 0], "systems": [{"type": "springs", "name": "net",
    "model": {"parts": [{"type": "points", "points": [[0, 0, 0], [1, 0, 0]], "velocity": [0, 1, 0]}]},
    "params": {"integrator": "symplectic_euler", "point_damping": 50}}]})",
                                "s.json");
  for (int f = 0; f < 600; ++f) ASSERT_TRUE(scene.world.step_frame().ok);
  for (const Vec3& v : dynamic_cast<SystemOf<Springs>&>(scene.world.system(0)).state.particles.v)
    for (int c = 0; c < 3; ++c) EXPECT_NE(std::fpclassify(v[c]), FP_SUBNORMAL);
}

/// Bytes that the heap has given out.
std::size_t in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(Faults, MemoryStaysFlatOverWorldsThatComeAndGo) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer has a heap of its own";
  const auto cycle = [] {
    Scene scene = small_scene();
    scene.world.set_threads(2);
    scene.world.step_frame();
  };
  for (int k = 0; k < 20; ++k) cycle();
  const std::size_t before = in_use();
  for (int k = 0; k < 300; ++k) cycle();
  EXPECT_LT(in_use(), before + before / 100 + 65536);
}

}}  // namespace plenum
