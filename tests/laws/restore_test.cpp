// Checkpoints that are whole and undamaged but do not fit together: refused with a sentence, or harmless.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "plenum/base/error.h"
#include "plenum/io/checkpoint.h"
#include "plenum/scene/scene.h"

namespace plenum { namespace {

/// Nets that tear, points on a wire, particles that come, die and push each other, and a moving obstacle.
Scene every_array() {
  return load_scene_text(R"({"systems": [
    {"type": "obstacle", "name": "floor", "model": {"parts": [{"shape": "plane"}]}},
    {"type": "springs", "name": "net", "model": {"parts": [
      {"cells_x": 8, "cells_z": 8, "position": [0, 1, 0], "structural_stiffness": 50, "shear_stiffness": 50,
       "areal_density": 5, "pins": [{"where": "back"}]},
      {"type": "points", "points": [[0, 2, 0], [1, 2, 0]], "springs": [[0, 1]],
       "wires": [{"shape": "line", "axis": [1, 0, 0], "origin": [0, 2, 0], "beads": [0]}]}]},
     "params": {"tear_strain": 0.02}},
    {"type": "particles", "name": "drops", "model": {"max_particles": 400, "radius": 0.01,
      "blocks": [{"lattice": "random", "count": 40, "lifetime": 2}]},
     "params": {"pair": {"epsilon": 1e-6, "sigma": 0.05}, "emitters": [{"rate": 200}, {"rate": 50}]}}]})",
                         "s.json");
}

struct Block {
  std::string name;
  ScalarType type;
  int components;
  std::size_t count;
  std::vector<std::byte> data;
};

std::vector<Block> blocks_of(std::span<const std::byte> bytes) {
  std::vector<Block> blocks;
  for (const CheckpointBlock& b : read_checkpoint(bytes, "test"))
    blocks.push_back({b.name, b.type, b.components, b.count, {b.data.begin(), b.data.end()}});
  return blocks;
}

/// An undamaged checkpoint of these blocks, with checksums that are right.
std::vector<std::byte> bytes_of(const std::vector<Block>& blocks) {
  std::vector<std::byte> buffer;
  CheckpointWriter writer(buffer);
  for (const Block& b : blocks) writer.add(b.name, b.type, b.components, b.count, b.data.data());
  writer.finish();
  return buffer;
}

void set_count(Block& block, std::size_t count) {
  block.count = count;
  block.data.resize(count * static_cast<std::size_t>(block.components) * size_of(block.type));
}

template <class T>
void set_first(Block& block, T value) {
  ASSERT_EQ(block.type, scalar_type_of<T>());
  std::memcpy(block.data.data(), &value, sizeof value);
}

class Restore : public testing::Test {
 protected:
  Restore() {
    for (int f = 0; f < 12; ++f) EXPECT_TRUE(scene.world.step_frame().ok);
    saved = scene.world.snapshot();
  }
  Block& block(std::vector<Block>& blocks, const std::string& name) {
    for (Block& b : blocks)
      if (b.name == name) return b;
    ADD_FAILURE() << "no block " << name;
    return blocks.front();
  }
  /// Refused by one sentence that names the block, with the world as it was.
  template <class Change>
  void expect_refused(const std::string& name, Change&& change, const std::string& named = {}) {
    std::vector<Block> blocks = blocks_of(saved);
    change(block(blocks, name));
    try {
      scene.world.restore(bytes_of(blocks), "changed.ck");
      ADD_FAILURE() << name << " is accepted";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("changed.ck"), 0u) << error.what();
      EXPECT_NE(std::string(error.what()).find(named.empty() ? name : named), std::string::npos)
          << error.what();
    }
    EXPECT_EQ(scene.world.snapshot(), saved) << name;
  }

  Scene scene = every_array();
  std::vector<std::byte> saved;
};

TEST_F(Restore, CountsThatDisagreeAreRefused) {
  expect_refused("net/velocity", [](Block& b) { set_count(b, 5); });
  expect_refused("net/mass", [](Block& b) { set_count(b, b.count + 1); });
  expect_refused(
      "net/stiffness", [](Block& b) { set_count(b, 3); }, "net/edges");
  expect_refused(
      "net/triangles", [](Block& b) { set_count(b, 0); }, "net/air_mass");
  expect_refused("net/part_edges", [](Block& b) { set_count(b, 1); });
  expect_refused("drops/velocity", [](Block& b) { set_count(b, 0); });
  expect_refused("drops/acceleration", [](Block& b) { set_count(b, 2); });
  expect_refused("drops/pair_origin", [](Block& b) { set_count(b, b.count - 1); });
  expect_refused("drops/emitter_count", [](Block& b) { set_count(b, 1); });
  expect_refused("floor/position", [](Block& b) { set_count(b, 2); });
  for (const char* name : {"net/params", "net/given_params", "net/moved_params", "net/paths_of_params"})
    expect_refused(
        name, [](Block& b) { set_count(b, b.count / 2); }, "net/params");
}

TEST_F(Restore, ValuesThatNameNothingAreRefused) {
  expect_refused("frame", [](Block& b) { set_first<std::int64_t>(b, -5); });
  expect_refused("frame", [](Block& b) { set_first(b, std::numeric_limits<std::int64_t>::max()); });
  expect_refused("net/edges", [](Block& b) { set_first<std::int32_t>(b, 1000000000); });
  expect_refused("net/triangles", [](Block& b) { set_first<std::int32_t>(b, -1); });
  expect_refused("net/part_edges", [](Block& b) { set_first<std::int32_t>(b, 1 << 20); });
  expect_refused("net/mass", [](Block& b) { set_first<Real>(b, 0); });
  expect_refused("net/air_mass", [](Block& b) { set_first<Real>(b, 0); });
  expect_refused("net/position", [](Block& b) { set_first(b, std::numeric_limits<Real>::quiet_NaN()); });
  for (const char* name : {"net/params", "net/given_params"})
    expect_refused(name, [](Block& b) { set_first(b, std::numeric_limits<double>::infinity()); });
}

TEST_F(Restore, SamplesInsideOfNoSolidAreRefused) {
  for (const std::vector<std::int64_t>& overlap :
       {std::vector<std::int64_t>{1, 3, 0}, {-1, 0, 0}, {1, 1, 0}, {1, 0, -1}}) {
    std::vector<Block> blocks = blocks_of(saved);
    Block& block = blocks.emplace_back(Block{"inside_solids", ScalarType::i64, 3, 1, {}});
    block.data.resize(3 * sizeof(std::int64_t));
    std::memcpy(block.data.data(), overlap.data(), block.data.size());
    EXPECT_THROW(scene.world.restore(bytes_of(blocks), "changed.ck"), Error);
    EXPECT_EQ(scene.world.snapshot(), saved);
  }
}

TEST_F(Restore, MoreParticlesThanThereIsRoomForAreRefused) {
  std::vector<Block> blocks = blocks_of(saved);
  for (const char* name :
       {"position", "velocity", "inverse_mass", "birth", "lifetime", "id", "acceleration", "pair_origin"})
    set_count(block(blocks, std::string("drops/") + name), 401);
  EXPECT_THROW(scene.world.restore(bytes_of(blocks), "changed.ck"), Error);
  EXPECT_EQ(scene.world.snapshot(), saved);
}

// Whatever array is cut short or made longer: what is accepted must run. Sanitizers see the rest.
TEST_F(Restore, WhatIsAcceptedRuns) {
  const std::vector<Block> good = blocks_of(saved);
  std::size_t refused = 0;
  for (std::size_t k = 0; k < good.size(); ++k)
    for (const std::size_t count : {std::size_t{0}, good[k].count / 2, good[k].count + 1}) {
      if (count == good[k].count) continue;
      std::vector<Block> blocks = good;
      set_count(blocks[k], count);
      try {
        scene.world.restore(bytes_of(blocks), "changed.ck");
      } catch (const Error&) {
        ++refused;
        continue;
      }
      EXPECT_TRUE(scene.world.step_frame().ok) << good[k].name << " of " << count;
    }
  EXPECT_GT(refused, 2 * good.size());
  scene.world.restore(saved);
  EXPECT_EQ(scene.world.snapshot(), saved);
}

/// What a hand has pinned: a patch of a cloth, a particle of a net and a body.
Scene pinned_things() {
  return load_scene_text(R"({"systems": [
    {"type": "pbd", "name": "cloth", "model": {"parts": [{"type": "cloth", "cells_x": 8, "cells_z": 8}]}},
    {"type": "springs", "name": "net", "model": {"parts": [{"cells_x": 6, "cells_z": 6, "position": [2, 0, 0]}]}},
    {"type": "rigid", "name": "bodies", "model": {"bodies": [
      {"shapes": [{"shape": "box", "half_extents": [0.1, 0.2, 0.3]}], "position": [-2, 0, 0]}]}}]})",
                         "s.json");
}
void pin_things(World& world) {
  world.drag(0, 40, Vec3(0, Real(0.2), 0)), world.pin();
  world.drag(1, 3, Vec3(2, Real(0.1), 0), 8, 0), world.pin();
  world.drag_body(2, 0, Vec3(Real(0.1), 0, 0), Vec3(-2, Real(0.1), 0)), world.pin();
}
struct CountMarks final : DrawableSink {
  std::vector<Vec3> at;
  std::size_t num_lines = 0;
  void triangles(const TriangleView&) override {}
  void spheres(const SphereView& view) override { at.insert(at.end(), view.x.begin(), view.x.end()); }
  void lines(const LineView&) override { ++num_lines; }
};

TEST(RestorePins, OfAHandGoOnHolding) {
  Scene whole = pinned_things();
  for (int k = 0; k < 5; ++k) whole.world.step_frame();
  const Hash128 free = whole.world.hash();
  pin_things(whole.world);
  EXPECT_NE(whole.world.hash(), free);
  for (int k = 0; k < 10; ++k) whole.world.step_frame();
  const std::vector<std::byte> snapshot = whole.world.snapshot();
  for (int k = 0; k < 20; ++k) ASSERT_TRUE(whole.world.step_frame().ok);
  Scene resumed = pinned_things();
  resumed.world.restore(snapshot);
  EXPECT_EQ(resumed.world.num_pins(), 3U);
  for (int k = 0; k < 20; ++k) resumed.world.step_frame();
  EXPECT_EQ(resumed.world.hash(), whole.world.hash());
  CountMarks marks;
  resumed.world.show_pins(marks);
  EXPECT_EQ(marks.at,
            (std::vector<Vec3>{Vec3(0, Real(0.2), 0), Vec3(2, Real(0.1), 0), Vec3(-2, Real(0.1), 0)}));
  EXPECT_EQ(marks.num_lines, 3U);
  // A checkpoint from before them has none.
  Scene before = pinned_things();
  const std::vector<std::byte> bare = before.world.snapshot();
  whole.world.restore(bare);
  EXPECT_EQ(whole.world.num_pins(), 0U);
}

TEST(RestorePins, ThatCannotBeAreRefused) {
  Scene scene = pinned_things();
  pin_things(scene.world);
  const std::vector<Block> good = blocks_of(scene.world.snapshot());
  const auto at = [&](const char* name) {
    return std::size_t(
        std::find_if(good.begin(), good.end(), [&](const Block& b) { return b.name == name; }) -
        good.begin());
  };
  const Hash128 hash = scene.world.hash();
  const auto refuse = [&](const std::vector<Block>& blocks) {
    EXPECT_THROW(scene.world.restore(bytes_of(blocks)), Error);
    EXPECT_EQ(scene.world.hash(), hash);
  };
  std::vector<Block> bad = good;
  set_first(bad[at("pins")], std::int64_t(3));  // a system that is not there
  refuse(bad);
  bad = good, set_count(bad[at("pins")], 2);
  refuse(bad);
  bad = good, set_count(bad[at("pinned_samples")], 1);
  refuse(bad);
  bad = good, set_first(bad[at("places_of_pins")], std::numeric_limits<double>::quiet_NaN());
  refuse(bad);
  bad = good, set_first(bad[at("pinned_samples")], std::int64_t(-1));
  refuse(bad);
  bad = good, bad.pop_back();
  refuse(bad);
  scene.world.restore(bytes_of(good));
  EXPECT_EQ(scene.world.num_pins(), 3U);
}

}}  // namespace plenum
