#include "plenum/world/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "plenum/base/error.h"
#include "plenum/geometry/aabb.h"
#include "plenum/geometry/overlaps.h"
#include "plenum/geometry/shape.h"
#include "plenum/world/order.h"
#include "plenum/world/parameters.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Clock = std::chrono::steady_clock;

/// Around samples that touch each other in their system's own step, with its bodies, if at all; else empty.
Aabb box_of_own_contact(System& system) {
  Aabb box;
  const Boundary* const boundary = system.boundary();
  if (!boundary || !boundary->meets_solids() || !boundary->takes_supports()) return box;
  const Samples samples = boundary->samples();
  for (const Vec3& x : samples.x) box.extend(x);
  return samples.x.empty() ? box : box.grown(samples.radius);
}
/// Whether one may come to the other along one of the axes, as what falls does: the boxes meet, seen along
/// it.
bool lie_on_one_way(const Aabb& a, const Aabb& b) {
  int apart = 0;
  for (int c = 0; c < 3; ++c) apart += !(a.low[c] <= b.high[c] && b.low[c] <= a.high[c]);
  return apart <= 1;
}

/// Of `count` solids, one of them `body`, of the `all` of a system.
std::string name_of_solids(std::size_t count, Index body, std::size_t all, const std::string& system) {
  if (all == 1) return system;
  return count == 1 ? fmt::format("solid {} of {}", body, system)
                    : fmt::format("{} solids of {}", count, system);
}

/// What is to be said of samples that start inside of `all` solids of a system, and of solids between them.
std::vector<std::string> told_of_starts(std::span<const SamplesInside> inside,
                                        std::span<const SolidBetween> between, std::size_t all,
                                        const std::string& system) {
  std::vector<std::string> told;
  if (!inside.empty()) {
    std::size_t samples = 0;
    for (const SamplesInside& in : inside) samples += in.samples;
    const SamplesInside& deepest = *std::ranges::max_element(inside, {}, &SamplesInside::depth);
    told.push_back(
        fmt::format("{} particle{} start{} up to {:.2g} m deep inside {}, and will be pushed out at no "
                    "more than {:g} m/s; move the particles or {}",
                    samples, samples == 1 ? "" : "s", samples == 1 ? "s" : "", deepest.depth,
                    name_of_solids(inside.size(), deepest.body, all, system), push_out_speed, system));
  }
  FacesInside faces;
  std::size_t across = 0, around = 0;
  Index last_across = -1, last_around = -1;
  for (const SolidBetween& solid : between) {
    if (solid.faces.empty())
      ++around, last_around = solid.body;
    else
      ++across, last_across = solid.body, faces.add(solid.faces);
  }
  if (across > 0)
    told.push_back(fmt::format("{}, and will stay caught or pass; move the particles or {}",
                               told_of_faces(faces, "", name_of_solids(across, last_across, all, system)),
                               system));
  if (around > 0)
    told.push_back(
        fmt::format("{} start{} inside a soft body, between its particles, and nothing takes {} out of "
                    "there; move the particles or {}",
                    name_of_solids(around, last_around, all, system), around == 1 ? "s" : "",
                    around == 1 ? "it" : "them", system));
  return told;
}

}  // namespace

double interpolate(const Keyframes& keyframes, int components, int c, double t) {
  const auto& times = keyframes.times;
  const auto value = [&](std::size_t k) {
    return keyframes.values[k * static_cast<std::size_t>(components) + static_cast<std::size_t>(c)];
  };
  if (times.empty()) return 0;
  if (t <= times.front()) return value(0);
  if (t >= times.back()) return value(times.size() - 1);
  const std::size_t k =
      static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), t) - times.begin()) - 1;
  const double h = times[k + 1] - times[k], s = (t - times[k]) / h;
  const double a = value(k), b = value(k + 1);
  switch (keyframes.interpolation) {
    case Keyframes::Interpolation::step:
      return a;
    case Keyframes::Interpolation::linear:
      return a + s * (b - a);
    case Keyframes::Interpolation::smooth:
      break;
  }
  // Fritsch & Butland 1984: the harmonic mean of the neighbouring slopes, zero at extrema and at both ends.
  const auto tangent = [&](std::size_t i) {
    if (i == 0 || i + 1 == times.size()) return 0.0;
    const double left = (value(i) - value(i - 1)) / (times[i] - times[i - 1]);
    const double right = (value(i + 1) - value(i)) / (times[i + 1] - times[i]);
    if (left * right <= 0) return 0.0;
    const double w0 = times[i + 1] - times[i], w1 = times[i] - times[i - 1];
    return 3 * (w0 + w1) / ((2 * w0 + w1) / left + (w0 + 2 * w1) / right);
  };
  const double s2 = s * s, s3 = s2 * s;
  return (2 * s3 - 3 * s2 + 1) * a + (s3 - 2 * s2 + s) * h * tangent(k) + (3 * s2 - 2 * s3) * b +
         (s3 - s2) * h * tangent(k + 1);
}

struct World::Track {
  std::size_t system;
  Leaf leaf;
  Keyframes keyframes;
};

World::World(WorldSettings settings) : settings_(settings) {}
World::~World() = default;
World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;

void World::add(std::unique_ptr<System> system) {
  if (system->name().empty()) throw Error("a system needs a name");
  if (find(system->name()))
    throw Error(Problem{.key = system->name(), .what = "is the name of two systems", .remedy = "rename one"});
  system->place();
  given_.push_back(numbers_by_path(*system));
  last_good_.forget();
  looked_inside_ = false;
  is_connected_ = false;
  systems_.push_back(std::move(system));
  for (auto& other : systems_) offer_solids(*other, 1, 1, 1);
}

System* World::find(std::string_view name) {
  for (auto& system : systems_)
    if (system->name() == name) return system.get();
  return nullptr;
}

std::span<const Buried> World::spared(std::size_t system, std::size_t other) {
  const std::span<const Buried> buried = depenetration_.buried_in(other);
  const std::vector<Tie>& ties = ties_[system];
  if (std::none_of(ties.begin(), ties.end(), [&](const Tie& tie) { return tie.system == other; }))
    return buried;
  spared_.assign(buried.begin(), buried.end());
  systems_[system]->boundary()->find_passing(passing_);
  for (const Passing& passing : passing_)
    if (const Tie& tie = ties[std::size_t(passing.carrier)]; tie.system == other)
      for (const Index body : tie.bodies) spared_.push_back({other, passing.sample, body});
  std::sort(spared_.begin(), spared_.end(), [](const Buried& a, const Buried& b) {
    return std::pair(a.sample, a.body) < std::pair(b.sample, b.body);
  });
  return spared_;
}

void World::add_keyframes(const std::string& system, Keyframes keyframes) {
  for (std::size_t i = 0; i < systems_.size(); ++i) {
    if (systems_[i]->name() != system) continue;
    std::vector<std::string> paths;
    for (const Leaf& leaf : params_of(*systems_[i])) {
      paths.push_back(leaf.path);
      if (leaf.path != keyframes.path) continue;
      const std::size_t wanted = keyframes.times.size() * static_cast<std::size_t>(leaf.components());
      if (keyframes.times.empty() || keyframes.values.size() != wanted)
        throw Error(
            Problem{.key = system + "." + keyframes.path,
                    .what = fmt::format("keyframes need {} value(s) for each time", leaf.components())});
      for (std::size_t k = 1; k < keyframes.times.size(); ++k)
        if (!(keyframes.times[k] > keyframes.times[k - 1]))
          throw Error(
              Problem{.key = system + "." + keyframes.path,
                      .what = "keyframe times must rise",
                      .value = fmt::format("{} after {}", keyframes.times[k], keyframes.times[k - 1])});
      if (std::optional<Problem> idle = systems_[i]->moves_nothing(keyframes.path)) {
        idle->key = system + "." + keyframes.path;
        throw Error(*idle);
      }
      if (leaf.is_discrete()) keyframes.interpolation = Keyframes::Interpolation::step;
      tracks_.push_back({i, leaf, std::move(keyframes)});
      if (frame_ == 0) {  // the first picture shows the first keyframe
        apply_keyframes(i, 0);
        systems_[i]->place();
      }
      return;
    }
    throw Error(Problem{.key = system + "." + keyframes.path,
                        .what = "no such parameter",
                        .nearest = nearest_name(keyframes.path, paths)});
  }
  std::vector<std::string> names;
  for (const auto& s : systems_) names.push_back(s->name());
  throw Error(Problem{.key = system, .what = "no such system", .nearest = nearest_name(system, names)});
}

std::vector<std::string> World::doubts() const {
  std::vector<std::string> doubts;
  const System* first = nullptr;
  for (const auto& system : systems_) {
    const Boundary* const boundary = system->boundary();
    if (!boundary || !boundary->meets_solids() || boundary->bodies().empty()) continue;
    if (first)
      doubts.push_back(
          fmt::format("bodies of {} and {} pass through each other, since bodies meet those of their own "
                      "system and obstacles; put them into one system",
                      first->name(), system->name()));
    else
      first = system.get();
  }
  for (std::size_t i = 0; i < systems_.size(); ++i) {
    const Aabb box = box_of_own_contact(*systems_[i]);
    for (std::size_t j = 0; j < i; ++j)
      if (lie_on_one_way(box_of_own_contact(*systems_[j]), box))
        doubts.push_back(
            fmt::format("cloth, ropes and soft bodies of {} and {} pass through each other, since they touch "
                        "those of their own system alone; put what is to touch into one system, with contact",
                        systems_[j]->name(), systems_[i]->name()));
  }
  return doubts;
}

bool World::apply_keyframes(std::size_t system, double time) {
  bool any = false;
  for (const Track& track : tracks_) {
    if (track.system != system) continue;
    any = true;
    for (int c = 0; c < track.leaf.components(); ++c)
      track.leaf.set(interpolate(track.keyframes, track.leaf.components(), c, time), c);
  }
  return any;
}

bool World::is_moved(std::size_t system, const std::string& path) const {
  return std::any_of(tracks_.begin(), tracks_.end(),
                     [&](const Track& track) { return track.system == system && track.leaf.path == path; });
}

LedgerEntry& World::booked(const System& from, const System& to) {
  const std::pair pair(from.name(), to.name());
  if (auto met = met_.extract(pair)) {
    met.mapped() = {};
    ledger_.insert(std::move(met));
  }
  return ledger_[pair];
}

void World::touch(std::size_t i, Real h, Real s0, Real s1, FrameReport& report) {
  System& system = *systems_[i];
  Boundary* const a = system.boundary();
  if (!a || a->samples().x.empty()) return;
  const StageTimer timer(report.stages, "contact");
  for (auto& other : systems_) {
    Boundary* const b = other->boundary();
    if (!b || other.get() == &system || b->bodies().empty()) continue;
    const std::size_t k = static_cast<std::size_t>(&other - systems_.data());
    const ContactResult result = contact(*a, *b, h, s0, s1, contact_, spared(i, k));
    report.contacts += result.contacts;
    if (result.contacts > 0) booked(*other, system).add(result.ledger);
  }
}

void World::untie_shared(std::size_t i, std::size_t first_body, std::size_t first_row) {
  if (links_.rows.size() == first_row) return;
  std::vector<Aabb> others;
  for (std::size_t j = 0; j < systems_.size(); ++j)
    if (const Boundary* const other = systems_[j]->boundary(); other && j != i && other->takes_supports())
      if (const Samples samples = other->samples(); !samples.x.empty())
        others.push_back(bounds_of(samples.x));
  if (others.empty()) return;
  std::vector<Index>& shared = numbers_;  // groups, and what is tied to them
  shared.clear();
  for (std::size_t l = first_body; l < links_.bodies.size(); ++l) {
    const Aabb& bounds = support_.solids[std::size_t(links_.bodies[l].body)].bounds;
    if (std::ranges::any_of(others, [&](const Aabb& box) { return box.overlaps(bounds); }))
      shared.push_back(links_.bodies[l].group);
  }
  const auto is_shared = [&](Index group) {
    return group >= 0 && std::find(shared.begin(), shared.end(), group) != shared.end();
  };
  for (bool more = !shared.empty(); std::exchange(more, false);)
    for (std::size_t r = first_row; r < links_.rows.size(); ++r) {
      const LinkRow& row = links_.rows[r];
      if (row.a < 0 || row.b < 0 || is_shared(row.a) == is_shared(row.b)) continue;
      shared.push_back(is_shared(row.a) ? row.b : row.a), more = true;
    }
  const auto begin = links_.rows.begin() + std::ptrdiff_t(first_row);
  links_.rows.erase(std::remove_if(begin, links_.rows.end(),
                                   [&](const LinkRow& row) { return is_shared(row.a) || is_shared(row.b); }),
                    links_.rows.end());
}

void World::offer_supports(std::size_t i, Real h, Real s0, Real s1, FrameReport& report) {
  System& system = *systems_[i];
  supports_.clear();
  supporters_.clear();
  links_.clear();
  linkers_.clear(), row_ends_.clear();
  Boundary* const a = system.boundary();
  if (!a || !a->takes_supports()) return;
  const StageTimer timer(report.stages, "contact");
  Index groups = 0;
  for (std::size_t k = 0; k < systems_.size(); ++k) {
    Boundary* const b = systems_[k]->boundary();
    if (!b || systems_[k].get() == &system) continue;
    const std::size_t first = supports_.size();
    find_supports(*a, *b, h, s0, s1, support_, supports_, spared(i, k));
    if (!depenetration_.empty()) depenetration_.supports(a->samples(), k, supports_);
    supporters_.resize(supports_.size(), k);
    const std::size_t first_body = links_.bodies.size(), first_row = links_.rows.size();
    find_links(*b, std::span(supports_).subspan(first), h, s0, s1, support_, links_);
    untie_shared(i, first_body, first_row);
    linkers_.resize(links_.bodies.size(), k);
    row_ends_.resize(k + 1, first_row), row_ends_[k] = links_.rows.size();
    // Numbered from 0, lest what is there for each group be there for each body of the system.
    const auto each_group = [&](auto&& f) {
      for (std::size_t s = first; s < supports_.size(); ++s) f(supports_[s].group);
      for (std::size_t l = first_body; l < links_.bodies.size(); ++l) f(links_.bodies[l].group);
      for (std::size_t r = first_row; r < links_.rows.size(); ++r)
        for (Index* const of : {&links_.rows[r].a, &links_.rows[r].b})
          if (*of >= 0) f(*of);
    };
    numbers_.clear();
    each_group([&](Index group) { numbers_.push_back(group); });
    std::sort(numbers_.begin(), numbers_.end());
    numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
    each_group([&](Index& group) {
      group = groups + Index(std::lower_bound(numbers_.begin(), numbers_.end(), group) - numbers_.begin());
    });
    groups += Index(numbers_.size());
  }
  a->rest_on(supports_);
  a->link(links_);
}

void World::return_supports(const System& system, Real h, Real lead, FrameReport& report) {
  LedgerEntry sum;
  reactions_.clear();
  std::span<const SolidBody> solids;
  for (std::size_t s = 0; s < supports_.size(); ++s) {
    const Support& support = supports_[s];
    if (s == 0 || supporters_[s] != supporters_[s - 1])
      solids = systems_[supporters_[s]]->boundary()->bodies();
    if (support.impulse != Vec3::Zero()) {
      // With the arm that it had for the one that it pushed: what pushes a body from both sides would turn it
      // by all that it has turned since.
      Vec3 point = support.point + h * support.velocity;
      if (support.bearer.inverse_mass > 0)
        point = solids[std::size_t(support.body)].centre + (support.point - support.bearer.centre);
      sum.book(point, support.impulse, support.couple);
      reactions_.push_back({.body = support.body,
                            .impulse = -support.impulse,
                            .point = point,
                            .lead = support.yielded ? lead : Real(0),
                            .couple = -support.couple,
                            .shift = support.shift,
                            .turn = support.turn});
    }
    if (s + 1 < supports_.size() && supporters_[s + 1] == supporters_[s]) continue;
    System& supporter = *systems_[supporters_[s]];
    report.contacts += sum.transfers;
    if (sum.transfers > 0) booked(supporter, system).add(sum);
    supporter.boundary()->absorb(reactions_);
    sum = {};
    reactions_.clear();
  }
  // What bodies have given each other is a matter of their own.
  std::size_t row = 0;
  for (std::size_t l = 0; l < links_.bodies.size(); ++l) {
    const LinkedBody& linked = links_.bodies[l];
    Boundary& of = *systems_[linkers_[l]]->boundary();
    if (l == 0 || linkers_[l] != linkers_[l - 1]) solids = of.bodies();
    if (!linked.impulse.isZero(0) || !linked.couple.isZero(0) || !linked.shift.isZero(0) ||
        !linked.turn.isZero(0))
      reactions_.push_back({.body = linked.body,
                            .impulse = linked.impulse,
                            .point = solids[std::size_t(linked.body)].centre,
                            .couple = linked.couple,
                            .shift = linked.shift,
                            .turn = linked.turn});
    if (l + 1 < links_.bodies.size() && linkers_[l + 1] == linkers_[l]) continue;
    of.absorb(reactions_);
    of.absorb(std::span(links_.rows).subspan(row, row_ends_[linkers_[l]] - row));
    row = row_ends_[linkers_[l]];
    reactions_.clear();
  }
}

void World::offer_solids(System& system, Real h, Real s0, Real s1) {
  Boundary* const a = system.boundary();
  if (!a || !(a->meets_solids() || a->surrounds_bodies())) return;
  solids_.clear();
  solid_ends_.clear();
  const Real whole = s1 > s0 ? h / (s1 - s0) : 0;  // [s] of the substep
  Index owners = 0;
  for (auto& other : systems_) {
    Boundary* const b = other->boundary();
    if (b && a->surrounds_bodies()) {
      const bool gone = rank_of(*other) < rank_of(system);
      const Index first = owners;
      for (const SolidBody& solid : b->bodies()) {
        solids_.push_back(gone ? part_of(solid, s0, s1) : foreseen(solid, s0 * whole, s1 * whole));
        Index& owner = solids_.back().owner;
        owner = owner < 0 ? owners : first + owner;
        owners = std::max(owners, owner + 1);
      }
    } else if (b && !b->meets_solids()) {
      for (const SolidBody& solid : b->bodies()) solids_.push_back(part_of(solid, s0, s1));
    }
    solid_ends_.push_back(solids_.size());
  }
  a->meet(solids_, h);
}

void World::return_pushes(const System& system, std::span<const BodyImpulse> pushes, FrameReport& report) {
  std::size_t next = 0, first = 0;
  for (std::size_t k = 0; next < pushes.size(); first = solid_ends_[k++]) {
    LedgerEntry sum;
    reactions_.clear();
    for (; next < pushes.size() && std::size_t(pushes[next].body) < solid_ends_[k]; ++next) {
      const BodyImpulse& push = pushes[next];
      sum.book(push.point, -push.impulse, -push.couple);
      reactions_.push_back(push);
      reactions_.back().body -= static_cast<Index>(first);
    }
    if (reactions_.empty()) continue;
    report.contacts += sum.transfers;
    booked(*systems_[k], system).add(sum);
    systems_[k]->boundary()->absorb(reactions_);
  }
}

bool World::let_through(System& system, Real s1, bool overtaken, Report& report) {
  Boundary* const a = system.boundary();
  std::size_t moved = 0;
  for (std::size_t first = 0, end = 0; first < supports_.size(); first = end) {
    while (end < supports_.size() && supporters_[end] == supporters_[first]) ++end;
    const std::span<const Support> supports(supports_.data() + first, end - first);
    moved +=
        plenum::let_through(*a, *systems_[supporters_[first]]->boundary(), supports, s1, overtaken, passage_);
  }
  if (moved > 0)
    report.warn(
        a->tears()
            ? "a fast solid drew a net out to three times its length before it tore, and was let through; "
              "slow "
              "it down, let the net tear sooner, or raise substeps"
            : "a fast solid drew a net out to three times its length, and was let through; slow it down, or "
              "let the net tear");
  return moved > 0;
}

void World::warn_of_gaps(FrameReport& report) {
  for (std::size_t i = 0; i < systems_.size(); ++i) {
    Boundary* const net = systems_[i]->boundary();
    const Samples samples = net ? net->samples() : Samples{};
    if (samples.x.empty() || samples.reach == std::numeric_limits<Real>::infinity()) continue;
    for (auto& other : systems_) {
      Boundary* const solids = other->boundary();
      if (!solids || other == systems_[i]) continue;
      for (const SolidBody& body : solids->bodies()) {
        // Of three sides the middle one: a plate has one short side, and is met by its faces.
        Vec3 size = body.shape->bounds().size();
        std::sort(size.begin(), size.end());
        if (size[1] + 2 * samples.radius < samples.reach)
          report.systems[i].warn(
              "a solid is smaller than the gaps between particles, and can pass; use more cells, or more "
              "thickness");
      }
    }
  }
}

void World::look_inside(FrameReport& report) {
  std::vector<SamplesInside> found;
  std::vector<SolidBetween> between;
  depenetration_.clear();
  for (std::size_t i = 0; i < systems_.size(); ++i) {
    Boundary* const a = systems_[i]->boundary();
    if (!a || a->samples().x.empty()) continue;
    std::optional<MeshOverlaps> overlaps;
    for (std::size_t k = 0; k < systems_.size(); ++k) {
      Boundary* const b = systems_[k]->boundary();
      if (!b || k == i || b->bodies().empty()) continue;
      found.clear(), between.clear();
      const std::span<const Buried> but = spared(i, k);
      find_inside(*a, *b, found, but);
      if (!overlaps)
        overlaps.emplace(a->samples().x, a->samples().faces, systems_[i]->tetrahedra().tetrahedra);
      find_between(*a, *overlaps, *b, found, between, but);
      for (const SamplesInside& inside : found) {
        const Overlap overlap{std::int64_t(i), std::int64_t(k), inside.body};
        if (std::find(overlaps_.begin(), overlaps_.end(), overlap) == overlaps_.end())
          overlaps_.push_back(overlap);
      }
      for (std::string& told : told_of_starts(found, between, b->bodies().size(), systems_[k]->name()))
        report.remarks.push_back({i, std::move(told)});
    }
  }
}

void World::find_buried(std::size_t i, Real h, Real s0, Real s1) {
  depenetration_.clear();
  const auto of_system = [&](const Overlap& o) { return o.system == std::int64_t(i); };
  if (std::none_of(overlaps_.begin(), overlaps_.end(), of_system)) return;
  const Boundary& a = *systems_[i]->boundary();
  depenetration_.begin(a, h);
  for (std::size_t k = 0; k < systems_.size(); ++k) {
    Boundary* const b = systems_[k]->boundary();
    if (!b || k == i || b->bodies().empty()) continue;
    depenetration_.add(k, b->bodies(), s0, s1, [&](Index body) {
      const Overlap overlap{std::int64_t(i), std::int64_t(k), body};
      return std::find(overlaps_.begin(), overlaps_.end(), overlap) != overlaps_.end();
    });
  }
  depenetration_.find(a);
  // What is out is a matter of contact from then on.
  std::erase_if(overlaps_, [&](const Overlap& o) {
    return of_system(o) && !depenetration_.has(std::size_t(o.solids), Index(o.body));
  });
}

void World::push_out(System& system, FrameReport& report) {
  if (depenetration_.empty()) return;
  const StageTimer timer(report.stages, "contact");
  depenetration_.move(*system.boundary());
  for (std::size_t k = 0; k < systems_.size(); ++k) {
    const std::span<const BodyImpulse> reactions = depenetration_.reactions(k);
    if (reactions.empty()) continue;
    LedgerEntry sum;
    for (const BodyImpulse& r : reactions) sum.book(r.point, -r.impulse);
    report.contacts += sum.transfers;
    booked(*systems_[k], system).add(sum);
    systems_[k]->boundary()->absorb(reactions);
  }
}

int World::contact_parts(System& system, Real h, Report& report) {
  Boundary* const a = system.boundary();
  if (!a || a->samples().x.empty()) return 1;
  const Real reach = a->samples().reach;
  if (!(reach < std::numeric_limits<Real>::infinity() && reach > 0)) return 1;
  Real longest = 0;
  for (auto& other : systems_)
    if (Boundary* const b = other->boundary(); b && other.get() != &system && !b->bodies().empty())
      longest = std::max(longest, approach(*a, *b, h));
  if (longest <= reach) return 1;
  // Contact and the pull between samples are solved in turn. A tenth of the reach in each turn keeps a net
  // that is struck at 20 m/s from being pulled through the solid that strikes it (laws/impact_test).
  constexpr double turns = 10;
  constexpr int most = 256;
  const double wanted = std::ceil(turns * static_cast<double>(longest) / static_cast<double>(reach));
  if (wanted > most)
    report.warn("a net and a solid meet too fast for contact to follow; raise substeps or slow them down");
  else if (wanted > settings_.max_substeps)
    report.warn(
        "a net and a solid meet too fast for contact to follow within world.max_substeps; raise it or slow "
        "them down",
        1, static_cast<std::int64_t>(wanted));
  return static_cast<int>(
      std::clamp(wanted, 1.0, static_cast<double>(std::min(most, settings_.max_substeps))));
}

void World::advance_system(std::size_t i, Real h, double end, FrameReport& report) {
  System& system = *systems_[i];
  // Keyframes may change what max_dt answers: the shorter of both ends counts.
  Real limit = system.max_dt();
  const bool keyframed = apply_keyframes(i, end);
  if (keyframed) limit = std::min(limit, system.max_dt());
  int parts = 1;
  double wanted = 1;
  if (h > limit) {
    wanted = limit > 0 ? std::ceil(static_cast<double>(h) / static_cast<double>(limit)) : 1e9;
    parts = static_cast<int>(std::min(wanted, static_cast<double>(settings_.max_substeps)));
  }
  const int fast = contact_parts(system, h, report.systems[i]);
  parts = std::max(parts, fast);
  if (Boundary* const own = system.boundary()) own->begin_parts(parts);
  bool through = false;
  int size = 1;  // of a step, in parts
  for (int k = 0; k < parts; k += size) {
    if (through) size = parts - k;
    const Real part_h = h * static_cast<Real>(size) / static_cast<Real>(parts);
    if (keyframed && parts > 1)  // what is held by keyframes moves through every part, not in the first one
      apply_keyframes(i, end - static_cast<double>(h) * (parts - size - k) / parts);
    const Real s0 = static_cast<Real>(k) / static_cast<Real>(parts);
    const Real s1 = static_cast<Real>(k + size) / static_cast<Real>(parts);
    find_buried(i, part_h, s0, s1);
    offer_supports(i, part_h, s0, s1, report);
    offer_solids(system, part_h, s0, s1);
    offer_carriers(i, s0, s1);
    Report part = system.step(part_h);
    look_for_failure(i, i + 1);
    part.substeps = 1;
    report.systems[i].add(part);
    return_supports(system, part_h, h * (1 - s0), report);
    if (Boundary* const a = system.boundary()) return_pushes(system, a->pushes(), report);
    return_pulls(i, h * (1 - s1), report);
    push_out(system, report);
    touch(i, part_h, s0, s1, report);
    // Not late in the substep: a net that is let go so draws itself together in a step long enough for the
    // implicit method to damp it, or it would be thrown by all that the solid has put into it.
    if (parts == 1 || 2 * s1 <= 1) through = let_through(system, s1, fast > 1, report.systems[i]) || through;
    if (Boundary* const a = system.boundary()) a->settle();
    look_for_failure(i, i + 1);
    look_for_failure(0, systems_.size());
  }
  // The last word, after what the system says of each part: it knows the figure.
  if (wanted > settings_.max_substeps)
    report.systems[i].warn(
        "unstable: max_dt asks for more sub-steps than world.max_substeps; raise it, weaken forces or raise "
        "masses",
        1, static_cast<std::int64_t>(std::min(wanted, 1e15)));
}

void World::substep(Real h, double end, FrameReport& report) {
  hand_.pull(
      systems_, [&](std::size_t i) { return hung_mass(i); }, h);
  for (auto& system : systems_)
    if (Medium* const medium = system->medium())
      for (std::size_t owner = 0; owner < systems_.size(); ++owner)
        if (Boundary* const boundary = systems_[owner]->boundary(); boundary && systems_[owner] != system)
          immerse(*medium, owner, *boundary, h, immersion_);
  met_.merge(ledger_);
  ledger_.clear();
  for (int turn = 0; turn <= last_rank; ++turn)
    for (std::size_t i = 0; i < systems_.size(); ++i)
      if (rank_of(*systems_[i]) == turn) advance_system(i, h, end, report);
  for (auto& system : systems_)
    if (Medium* const medium = system->medium())
      for (std::size_t owner = 0; owner < systems_.size(); ++owner)
        if (Boundary* const boundary = systems_[owner]->boundary(); boundary && systems_[owner] != system) {
          const LedgerEntry entry = immersion_reaction(*medium, owner, *boundary, immersion_);
          if (entry.transfers > 0) booked(*system, *systems_[owner]).add(entry);
        }
  const StageTimer timer(report.stages, "edit");
  for (auto& system : systems_) system->edit();
  look_for_failure(0, systems_.size());
}

void World::look_for_failure(std::size_t begin, std::size_t end) {
  if (search_ && !search_->found)
    search_->found = !all_finite(std::span(systems_).subspan(begin, end - begin), search_->where);
}

NotFinite World::first_to_fail(const NotFinite& seen) {
  // Scratch memory is of a later state, perhaps of an edited model.
  const auto go_back = [&] {
    last_good_.recall(systems_);
    overlaps_ = overlaps_before_;
    for (auto& system : systems_) system->poison_workspace();
  };
  search_ = Search{false, seen};
  go_back();
  const double frame = 1.0 / static_cast<double>(settings_.fps);
  FrameReport again;
  again.systems.resize(systems_.size());
  for (auto& system : systems_) system->begin_frame();
  for (int k = 0; k < settings_.substeps && !search_->found; ++k)
    substep(static_cast<Real>(frame / settings_.substeps),
            (static_cast<double>(frame_) + static_cast<double>(k + 1) / settings_.substeps) * frame, again);
  go_back();
  const NotFinite where = std::move(search_->where);
  search_.reset();
  return where;
}

FrameReport World::step_frame() {
  FrameReport report;
  report.systems.resize(systems_.size());
  if (failed_) {
    report.ok = false;
    return report;
  }
  require_connected();
  const auto start = Clock::now();
  with_threads(settings_.threads, [&] {
    if (settings_.keep_last_good && !last_good_.holds()) {
      report.ok = last_good_.keep(systems_, report.not_finite);
      if (!report.ok) return;
    }
    if (frame_ == 0) warn_of_gaps(report);
    if (!std::exchange(looked_inside_, true)) look_inside(report);
    overlaps_before_ = overlaps_;
    const double frame = 1.0 / static_cast<double>(settings_.fps);
    const Real h = static_cast<Real>(frame / settings_.substeps);
    for (auto& system : systems_) system->begin_frame();
    for (int k = 0; k < settings_.substeps && report.ok; ++k) {
      substep(h, (static_cast<double>(frame_) + static_cast<double>(k + 1) / settings_.substeps) * frame,
              report);
      const StageTimer timer(report.stages, "check");
      report.ok = settings_.keep_last_good && k + 1 == settings_.substeps
                      ? last_good_.keep(systems_, report.not_finite)
                      : all_finite(systems_, report.not_finite);
    }
    if (report.ok) {
      ++frame_;
    } else {
      failed_ = true;
      if (settings_.keep_last_good) report.not_finite = first_to_fail(report.not_finite);
      for (std::size_t i = 0; i < systems_.size(); ++i)
        if (const auto warnings = report.systems[i].warnings();
            systems_[i]->name() == report.not_finite.system && !warnings.empty())
          report.not_finite.warned = warnings.back().sentence();
    }
  });
  report.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return report;
}

int World::advance(double seconds, FrameReport& last) {
  const double frame = 1.0 / static_cast<double>(settings_.fps);
  if (std::isfinite(seconds) && seconds > 0) accumulator_ += seconds;
  const double most = std::max(frame, static_cast<double>(settings_.max_frame_lag));
  if (accumulator_ > most) {
    dropped_ += accumulator_ - most;
    accumulator_ = most;
  }
  int frames = 0;
  while (accumulator_ >= frame) {
    accumulator_ -= frame;
    std::vector<Remark> remarks;
    if (frames > 0) remarks.swap(last.remarks);
    last = step_frame();
    last.remarks.insert(last.remarks.begin(), remarks.begin(), remarks.end());
    ++frames;
    if (!last.ok) break;
  }
  return frames;
}

void World::drag(std::size_t system, Index sample, const Vec3& target, Real frequency, Real radius) {
  hand_.drag(systems_, system, sample, target, frequency, radius);
}

bool World::open(const CutSector& cut) {
  bool any = false;
  for (auto& system : systems_)
    if (Boundary* const boundary = system->boundary()) any = boundary->open(cut) || any;
  return any;
}

}  // namespace plenum::inline PLENUM_ABI
