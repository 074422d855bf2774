// What a world is resumed from: its blocks, and everything that is checked before one of them is believed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "plenum/base/error.h"
#include "plenum/io/checkpoint.h"
#include "plenum/world/parameters.h"
#include "plenum/world/world.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t num_centrings = static_cast<std::size_t>(Centring::cell) + 1;
constexpr const char* overlaps_block = "inside_solids";
constexpr std::array<const char*, 4> pins_blocks = {"pins", "places_of_pins", "pinned_samples",
                                                    "pinned_samples_offsets"};
constexpr std::int64_t last_frame = std::int64_t{1} << 53;  // numbers beyond are not exact in times

/// First item of a block, which need not be aligned, that is infinite or not a number, or the block's count.
std::size_t first_not_finite(const CheckpointBlock& block) {
  const auto components = static_cast<std::size_t>(block.components);
  const auto scan = [&]<class T>(T value) {
    for (std::size_t k = 0; k < block.count * components; ++k) {
      std::memcpy(&value, block.data.data() + k * sizeof value, sizeof value);
      if (!std::isfinite(value)) return k / components;
    }
    return block.count;
  };
  return block.type == ScalarType::f32   ? scan(float{})
         : block.type == ScalarType::f64 ? scan(double{})
                                         : block.count;
}

template <class T>
std::vector<T> values_of(const CheckpointBlock& block) {
  std::vector<T> values(block.count * static_cast<std::size_t>(block.components));
  if (!values.empty()) std::memcpy(values.data(), block.data.data(), block.data.size());
  return values;
}

std::string_view text_of(const CheckpointBlock& block) {
  return {reinterpret_cast<const char*>(block.data.data()), block.data.size()};
}

/// Pins as four blocks hold them.
Hand::Pins pins_of(std::span<const CheckpointBlock> b) {
  return {values_of<std::int64_t>(b[0]), values_of<double>(b[1]), values_of<std::int64_t>(b[2]),
          values_of<double>(b[3])};
}

/// Parameters as a checkpoint holds them.
struct SavedParams {
  static constexpr std::size_t blocks = 4;
  std::vector<std::string_view> paths;  ///< of each number
  std::vector<double> now, given;       ///< when the checkpoint was made, and as the scene gave them
  std::vector<std::uint8_t> moved;      ///< 1: by keyframes

  explicit SavedParams(std::span<const CheckpointBlock> b)
      : now(values_of<double>(b[0])), given(values_of<double>(b[1])), moved(values_of<std::uint8_t>(b[2])) {
    for (std::string_view text = text_of(b[3]); !text.empty();) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      paths.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  bool fits() const {
    return paths.size() == now.size() && given.size() == now.size() && moved.size() == now.size();
  }
  /// The first number of a parameter, or the count of all if the checkpoint does not have it.
  std::size_t find(const Leaf& leaf) const {
    const auto n = static_cast<std::size_t>(leaf.components());
    for (std::size_t k = 0; k + n <= paths.size(); ++k)
      if (paths[k] == leaf.path && paths[k + n - 1] == leaf.path) return k;
    return paths.size();
  }
};

std::string text_of(const Leaf& leaf, std::span<const double> numbers) {
  if (leaf.kind == Leaf::Kind::boolean) return numbers[0] != 0 ? "true" : "false";
  if (leaf.kind == Leaf::Kind::choice) {
    const auto index = static_cast<std::size_t>(std::max(numbers[0], 0.0));
    return index < leaf.names.size() ? leaf.names[index] : "?";
  }
  if (numbers.size() == 1) return fmt::format("{:.7g}", numbers[0]);
  return fmt::format("[{:.7g}, {:.7g}, {:.7g}]", numbers[0], numbers[1], numbers[2]);
}

/// Gives a system the parameters of a checkpoint, but those that its own scene gives another value than the
/// checkpoint's did, `given` [numbers], or moves no more: `moved` [numbers]. Says which these are.
std::vector<std::string> set_params(System& system, std::span<const double> given,
                                    std::span<const std::uint8_t> moved, const SavedParams& saved) {
  std::vector<std::string> changed;
  std::size_t own = 0;
  for (const Leaf& leaf : params_of(system)) {
    const auto n = static_cast<std::size_t>(leaf.components());
    const std::span<const double> mine = given.subspan(own, n);
    const bool moves = moved[own] != 0;
    own += n;
    std::span<const double> value = mine;
    std::string was = "not there";
    if (const std::size_t k = saved.find(leaf); k < saved.paths.size()) {
      const std::span<const double> theirs = std::span(saved.given).subspan(k, n);
      const bool same = std::equal(mine.begin(), mine.end(), theirs.begin());
      if (same && (moves || saved.moved[k] == 0)) {
        value = std::span(saved.now).subspan(k, n);
        was.clear();
      } else {
        was = saved.moved[k] != 0 ? "moved by keyframes" : text_of(leaf, theirs);
      }
    }
    for (std::size_t c = 0; c < n; ++c) leaf.set(value[c], static_cast<int>(c));
    if (!was.empty())
      changed.push_back(fmt::format("{}.{}: {}, was {}", system.name(), leaf.path, text_of(leaf, mine), was));
  }
  return changed;
}

}  // namespace

std::vector<std::uint8_t> World::moved_numbers(std::size_t system, const std::vector<Leaf>& leaves) const {
  std::vector<std::uint8_t> moved;
  for (const Leaf& leaf : leaves)
    moved.resize(moved.size() + static_cast<std::size_t>(leaf.components()), is_moved(system, leaf.path));
  return moved;
}

std::vector<std::byte> World::snapshot() {
  std::vector<std::byte> buffer;
  CheckpointWriter writer(buffer);
  writer.add("identity", identity_);
  const auto fps = static_cast<double>(settings_.fps);
  writer.add("fps", ScalarType::f64, 1, 1, &fps);
  writer.add("memo", memo_);
  writer.add("frame", ScalarType::i64, 1, 1, &frame_);
  for (std::size_t i = 0; i < systems_.size(); ++i) {
    System& system = *systems_[i];
    const std::vector<Leaf> leaves = params_of(system);
    const std::vector<double> numbers = numbers_of(leaves), given = numbers_of(leaves, given_[i]);
    writer.add(system.name() + "/params", ScalarType::f64, 1, numbers.size(), numbers.data());
    writer.add(system.name() + "/given_params", ScalarType::f64, 1, given.size(), given.data());
    const std::vector<std::uint8_t> moved = moved_numbers(i, leaves);
    writer.add(system.name() + "/moved_params", ScalarType::u8, 1, moved.size(), moved.data());
    writer.add(system.name() + "/paths_of_params", paths_of(leaves));
    for_each_stored([&](FieldVisitor& visit) { system.stored_fields(visit); },
                    [&](const FieldRef& field) {
                      writer.add(system.name() + "/" + field.info.name, field.type, field.components,
                                 field.count, field.data);
                    });
  }
  // Only while there are any: who starts outside of solids has nothing to do with this.
  if (!overlaps_.empty())
    writer.add(overlaps_block, ScalarType::i64, 3, overlaps_.size(), &overlaps_[0].system);
  if (hand_.num_pins() > 0) {
    const Hand::Pins pins = hand_.pins();
    writer.add(pins_blocks[0], ScalarType::i64, 4, pins.what.size() / 4, pins.what.data());
    writer.add(pins_blocks[1], ScalarType::f64, 10, pins.where.size() / 10, pins.where.data());
    writer.add(pins_blocks[2], ScalarType::i64, 1, pins.samples.size(), pins.samples.data());
    writer.add(pins_blocks[3], ScalarType::f64, 4, pins.held.size() / 4, pins.held.data());
  }
  writer.finish();
  return buffer;
}

std::vector<std::string> World::restore(std::span<const std::byte> bytes, const std::string& name) {
  require_connected();  // by where things began
  const std::vector<CheckpointBlock> blocks = read_checkpoint(bytes, name);
  const auto other = [&](const std::string& why) {
    return Error(Problem{.file = name, .what = "is a checkpoint of another scene: " + why});
  };
  // Check everything before anything changes.
  std::size_t at = 0;
  const auto expect = [&](const std::string& block, ScalarType type,
                          int components) -> const CheckpointBlock& {
    if (at >= blocks.size()) throw other(block + " is missing");
    const CheckpointBlock& b = blocks[at++];
    if (b.name != block) throw other(fmt::format("it holds {} where {} belongs", b.name, block));
    if (b.type != type || b.components != components) throw other(block + " is of another type");
    return b;
  };
  const auto inconsistent = [&](const std::string& key, std::string what, std::string value,
                                std::string allowed) {
    return Error(Problem{.file = name,
                         .key = key,
                         .what = std::move(what),
                         .value = std::move(value),
                         .allowed = std::move(allowed)});
  };
  if (text_of(expect("identity", ScalarType::u8, 1)) != identity_)
    throw other(
        "names, types, models or meshes of the systems differ; params, keyframes, gravity, world.substeps "
        "and all that pictures need may be changed");
  const CheckpointBlock& fps = expect("fps", ScalarType::f64, 1);
  if (const auto own = static_cast<double>(settings_.fps); fps.count != 1 || values_of<double>(fps)[0] != own)
    throw Error(Problem{.file = name,
                        .key = "world.fps",
                        .what = "differs from the checkpoint's, whose clock counts frames",
                        .value = fmt::format("{:g}", own),
                        .allowed = fps.count == 1 ? fmt::format("{:g}", values_of<double>(fps)[0]) : ""});
  expect("memo", ScalarType::u8, 1);
  const CheckpointBlock& frame = expect("frame", ScalarType::i64, 1);
  if (frame.count != 1) throw other("frame is not one number");
  const std::int64_t number = values_of<std::int64_t>(frame)[0];
  if (number < 0 || number > last_frame)
    throw inconsistent("frame", "is not the number of a frame", fmt::format("{}", number),
                       fmt::format("0 to {}", last_frame));
  for (auto& system : systems_) {
    const CheckpointBlock& params = expect(system->name() + "/params", ScalarType::f64, 1);
    const CheckpointBlock& given = expect(system->name() + "/given_params", ScalarType::f64, 1);
    expect(system->name() + "/moved_params", ScalarType::u8, 1);
    expect(system->name() + "/paths_of_params", ScalarType::u8, 1);
    for (const CheckpointBlock* block : {&params, &given})
      if (const std::size_t bad = first_not_finite(*block); bad < block->count)
        throw inconsistent(block->name, "holds a value that is not finite", fmt::format("number {}", bad),
                           "");
    if (!SavedParams(std::span(blocks).subspan(at - SavedParams::blocks)).fits())
      throw inconsistent(params.name, "holds another number of values than there are paths",
                         fmt::format("{}", params.count), "");
    std::array<const CheckpointBlock*, num_centrings> first = {};  // of each centring
    for_each_stored(
        [&](FieldVisitor& visit) { system->stored_fields(visit); },
        [&](const FieldRef& field) {
          const std::string block = system->name() + "/" + field.info.name;
          const CheckpointBlock& b = expect(block, field.type, field.components);
          const auto refuse_count = [&](std::size_t wanted) {
            throw inconsistent(block, "has a wrong number of items", fmt::format("{}", b.count),
                               fmt::format("{}", wanted));
          };
          const bool of_samples =
              field.info.centring != Centring::global && field.info.centring != Centring::edge;
          if (!field.resizable || (!system->has_check() && field.info.centring != Centring::edge)) {
            if (b.count != field.count) refuse_count(field.count);
          }
          if (of_samples) {
            const CheckpointBlock*& leader = first[static_cast<std::size_t>(field.info.centring)];
            if (!leader) leader = &b;
            if (b.count != leader->count) refuse_count(leader->count);
          }
          if (const std::size_t bad = first_not_finite(b); bad < b.count)
            throw inconsistent(block, "holds a value that is not finite", fmt::format("item {}", bad), "");
        });
  }
  if (at < blocks.size() && blocks[at].name == overlaps_block) {
    const CheckpointBlock& overlaps = expect(overlaps_block, ScalarType::i64, 3);
    const std::vector<std::int64_t> numbers = values_of<std::int64_t>(overlaps);
    const auto count = static_cast<std::int64_t>(systems_.size());
    for (std::size_t k = 0; k < overlaps.count; ++k) {
      const std::int64_t system = numbers[3 * k], solids = numbers[3 * k + 1], body = numbers[3 * k + 2];
      if (system < 0 || system >= count || solids < 0 || solids >= count || system == solids || body < 0 ||
          body > std::numeric_limits<Index>::max() || !systems_[static_cast<std::size_t>(system)]->boundary())
        throw inconsistent(overlaps_block, "names no system or solid that is there",
                           fmt::format("item {}", k), "");
    }
  }
  if (at < blocks.size() && blocks[at].name == pins_blocks[0]) {
    const std::size_t first = at;
    expect(pins_blocks[0], ScalarType::i64, 4), expect(pins_blocks[1], ScalarType::f64, 10);
    expect(pins_blocks[2], ScalarType::i64, 1), expect(pins_blocks[3], ScalarType::f64, 4);
    for (std::size_t k = first; k < at; ++k)
      if (const std::size_t bad = first_not_finite(blocks[k]); bad < blocks[k].count)
        throw inconsistent(blocks[k].name, "holds a value that is not finite", fmt::format("item {}", bad),
                           "");
    Hand scratch;
    if (!scratch.set_pins(pins_of(std::span(blocks).subspan(first)), systems_.size()))
      throw inconsistent(pins_blocks[0], "and what belongs to it do not fit together", "", "");
  }
  if (at != blocks.size()) throw other("it holds more systems");

  // What only a solver knows is checked in place, with the way back open.
  const std::vector<std::byte> before = snapshot();
  std::vector<std::string> changed;
  try {
    changed = load(blocks);
    for (const auto& system : systems_) {
      try {
        system->check();
      } catch (const Error& error) {
        Problem problem = error.problem();
        problem.file = name;
        problem.key = system->name() + "/" + problem.key;
        throw Error(std::move(problem));
      }
    }
  } catch (...) {
    load(read_checkpoint(before, name));
    for (const auto& system : systems_) system->resume();
    throw;
  }
  for (const auto& system : systems_) system->resume();
  failed_ = false;
  // What is in another place now than it was may be inside of something.
  looked_inside_ = frame_ > 0 && changed.empty();
  accumulator_ = 0;
  last_good_.forget();
  return changed;
}

std::vector<std::string> World::load(std::span<const CheckpointBlock> blocks) {
  std::vector<std::string> changed;
  std::size_t at = 2;  // after identity and fps
  memo_ = text_of(blocks[at++]);
  std::memcpy(&frame_, blocks[at++].data.data(), sizeof frame_);
  for (std::size_t i = 0; i < systems_.size(); ++i) {
    System& system = *systems_[i];
    const SavedParams saved(blocks.subspan(at));
    at += SavedParams::blocks;
    const std::vector<Leaf> leaves = params_of(system);
    const std::vector<std::string> own =
        set_params(system, numbers_of(leaves, given_[i]), moved_numbers(i, leaves), saved);
    changed.insert(changed.end(), own.begin(), own.end());
    for_each_stored([&](FieldVisitor& visit) { system.stored_fields(visit); },
                    [&](const FieldRef& field) {
                      const CheckpointBlock& b = blocks[at++];
                      field.resize(field.owner, b.count);
                      if (b.count > 0) std::memcpy(field.data_of(field.owner), b.data.data(), b.data.size());
                    });
    system.poison_workspace();
    if (!own.empty()) system.place();  // what moved between two scenes did not move in time
  }
  overlaps_.clear();
  if (at < blocks.size() && blocks[at].name == overlaps_block) {
    overlaps_.resize(blocks[at].count);
    std::memcpy(overlaps_.data(), blocks[at].data.data(), blocks[at].data.size());
    ++at;
  }
  hand_.set_pins(at < blocks.size() ? pins_of(blocks.subspan(at)) : Hand::Pins{}, systems_.size());
  return changed;
}

Hash128 World::hash() {
  Hasher hasher;
  hasher.add(&frame_, sizeof frame_);
  for (auto& system : systems_) {
    const std::vector<double> numbers = numbers_of(params_of(*system));
    hasher.add(numbers.data(), numbers.size() * sizeof(double));
    for_each_stored([&](FieldVisitor& visit) { system->stored_fields(visit); },
                    [&](const FieldRef& field) {
                      hasher.add(&field.count, sizeof field.count);
                      hasher.add(field.data, field.bytes());
                    });
  }
  if (hand_.num_pins() > 0) {
    const Hand::Pins pins = hand_.pins();
    hasher.add(pins.what.data(), pins.what.size() * sizeof(std::int64_t));
    hasher.add(pins.where.data(), pins.where.size() * sizeof(double));
    hasher.add(pins.samples.data(), pins.samples.size() * sizeof(std::int64_t));
    hasher.add(pins.held.data(), pins.held.size() * sizeof(double));
  }
  if (!overlaps_.empty()) hasher.add(overlaps_.data(), overlaps_.size() * sizeof overlaps_[0]);
  return hasher.digest();
}

}  // namespace plenum::inline PLENUM_ABI
