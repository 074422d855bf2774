#include "plenum/state/pins.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "plenum/base/error.h"
#include "plenum/math/pose.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr double far = 1e6;  // [m] positions of things in a scene

std::string text_of(const Vec3& v) {
  return fmt::format("[{:.6g}, {:.6g}, {:.6g}]", v.x(), v.y(), v.z());
}

[[noreturn]] void refuse_empty_box(const ParticlePin& pin, const std::string& key, std::span<const Vec3> x) {
  const auto beyond = [&](Index k) {
    const Vec3& p = x[std::size_t(k)];
    return (p - p.cwiseMax(pin.box_min).cwiseMin(pin.box_max)).norm();
  };
  Index nearest = 0;
  for (Index k = 1; k < Index(x.size()); ++k)
    if (beyond(k) < beyond(nearest)) nearest = k;
  throw Error(Problem{
      .key = key,
      .what = "its box holds no particle of the part",
      .value = text_of(pin.box_min) + " to " + text_of(pin.box_max),
      .remedy =
          fmt::format("the nearest one, particle {} at {} in the world, is {:.3g} m outside: move the box "
                      "or make it larger",
                      nearest, text_of(x[std::size_t(nearest)]), double(beyond(nearest)))});
}

/// What is wrong with moving pins of a group if `groups`, those that pins are of, sorted, lack it.
std::optional<Problem> lacking(const std::vector<Index>& groups, Index group) {
  if (std::binary_search(groups.begin(), groups.end(), group)) return {};
  Problem problem{.what = fmt::format("moves nothing, since no pin is of group {}", group)};
  if (groups.empty())
    problem.remedy = "give a part pins of this group";
  else
    problem.remedy = fmt::format("give pins this group, or move one that they are of: {}",
                                 fmt::join(groups.begin(), groups.end(), ", "));
  return problem;
}

/// Sorts numbers and leaves one of each.
void make_set(std::vector<Index>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

/// The group that the path of a parameter moves; -1: none.
Index group_moved(std::string_view path) {
  constexpr std::string_view pins = "pins[";
  if (!path.starts_with(pins)) return -1;
  Index group = 0;
  std::from_chars(path.data() + pins.size(), path.data() + path.size(), group);
  return group;
}

/// Refuses input unless `holds`.
void require(bool holds, const std::string& key, const char* what, const std::string& value = {}) {
  if (!holds) throw Error(Problem{.key = key, .what = what, .value = value});
}

}  // namespace

void ParticlePin::describe(Describer& d) {
  describe_which(d);
  d("group", group, {.min = 0, .max = 255, .doc = "of params.pins, which move it"});
}

void ParticlePin::describe_which(Describer& d) {
  d("where", where, {.doc = "which particles of the part are held"});
  if (d.when("where", "indices", where == Where::indices))
    d("indices", indices, {.min = 0, .doc = "of the part's own particles"});
  if (d.when("where", "box", where == Where::box)) {
    d("box_min", box_min,
      {.unit = "m",
       .min = -far,
       .max = far,
       .doc = "corner of a box in the world that holds what is inside"});
    d("box_max", box_max, {.unit = "m", .min = -far, .max = far, .doc = "opposite corner"});
  }
}

Vec3 PinMotion::operator()(const Vec3& x) const {
  if (rotation == Vec3::Zero()) return x + offset;
  return rotation_from_degrees(rotation) * (x - pivot) + pivot + offset;
}

void PinMotion::describe(Describer& d) {
  d("offset", offset, {.unit = "m", .min = -1e6, .max = 1e6, .doc = "from where the pins were built"});
  d("rotation", rotation,
    {.unit = "deg", .min = -1e6, .max = 1e6, .doc = "intrinsic angles about x, then y, then z"});
  d("pivot", pivot,
    {.unit = "m", .min = -1e6, .max = 1e6, .doc = "point in the world that the rotation leaves in place"});
  d("released", released, {.doc = "let go"});
}

std::vector<Index> hold_pinned(const ParticlePin& pin, const std::string& key, Index first,
                               std::span<const Vec3> x, std::span<Real> inverse_mass,
                               const PinnedGrid& grid) {
  std::vector<Index> held;
  for (const Index i : find_pinned(pin, key, x.subspan(std::size_t(first)), grid)) {
    Real& w = inverse_mass[std::size_t(first + i)];
    if (w != 0) held.push_back(first + i);
    w = 0;
  }
  if (held.empty())
    throw Error(Problem{.key = key,
                        .what = "holds no particle that pins before it do not hold already",
                        .remedy = "put it before them, hold other particles, or leave it out"});
  return held;
}

const std::vector<Index>& require_particles(const std::vector<Index>& indices, const std::string& key,
                                            std::size_t num_particles) {
  for (std::size_t k = 0; k < indices.size(); ++k)
    if (indices[k] < 0 || std::size_t(indices[k]) >= num_particles)
      throw Error(Problem{.key = fmt::format("{}[{}]", key, k),
                          .what = "is not a particle of the part",
                          .value = std::to_string(indices[k]),
                          .allowed = fmt::format("0 to {}", num_particles - 1)});
  return indices;
}

std::vector<Index> find_pinned(const ParticlePin& pin, const std::string& key, std::span<const Vec3> places,
                               const PinnedGrid& grid) {
  using Where = ParticlePin::Where;
  const Index n = Index(places.size());
  if (pin.where == Where::indices) {
    require(!pin.indices.empty(), key + ".indices", "names no particle; list those to be held");
    return require_particles(pin.indices, key + ".indices", places.size());
  }
  if (pin.where == Where::box)
    require((pin.box_min.array() <= pin.box_max.array()).all(), key + ".box_min",
            "must not be greater than box_max in any direction", text_of(pin.box_min));
  const bool is_cloth = grid.cells_x > 0;
  require(is_cloth || pin.where == Where::box || pin.where == Where::all || pin.where == Where::first ||
              pin.where == Where::last,
          key + ".where", "names an edge or a corner, which only cloth has",
          names_of(pin.where)[std::size_t(pin.where)]);
  const Index nx = grid.cells_x, nz = grid.cells_z;
  std::vector<Index> found;
  for (Index k = 0; k < n; ++k) {
    const Index i = k % (nx + 1), j = k / (nx + 1);
    const Vec3& x = places[std::size_t(k)];
    const bool left = i == 0, right = i == nx, back = j == 0, front = j == nz;
    const auto holds = [&] {
      switch (pin.where) {
        case Where::indices:
          return false;
        case Where::box:
          return (x.array() >= pin.box_min.array()).all() && (x.array() <= pin.box_max.array()).all();
        case Where::all:
          return true;
        case Where::corners:
          return (left || right) && (back || front);
        case Where::back_left:
          return back && left;
        case Where::back_right:
          return back && right;
        case Where::front_left:
          return front && left;
        case Where::front_right:
          return front && right;
        case Where::left:
          return left;
        case Where::right:
          return right;
        case Where::back:
          return back;
        case Where::front:
          return front;
        case Where::first:
          return k == 0;
        case Where::last:
          return k == n - 1;
      }
      return false;
    };
    if (holds()) found.push_back(k);
  }
  if (found.empty()) refuse_empty_box(pin, key, places);  // all else holds some in every part
  return found;
}

void check_pin_motions(std::span<const PinMotion> motions, std::vector<Index> groups) {
  make_set(groups);
  Refusals refusals;
  for (std::size_t g = 0; g < motions.size(); ++g) {
    const PinMotion& motion = motions[g];
    if (motion.offset == Vec3::Zero() && motion.rotation == Vec3::Zero() && !motion.released) continue;
    if (std::optional<Problem> problem = lacking(groups, Index(g))) {
      problem->key = fmt::format("params.pins[{}]", g);
      refusals.keep(*problem);
    }
  }
  refusals.refuse();
}

std::optional<Problem> pins_move_nothing(std::string_view path, std::vector<Index> groups) {
  const Index group = group_moved(path);
  if (group < 0) return {};
  make_set(groups);
  return lacking(groups, group);
}

}  // namespace plenum::inline PLENUM_ABI
