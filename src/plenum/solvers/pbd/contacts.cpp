#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/geometry/feature_distance.h"
#include "plenum/solvers/pbd/detail/contacts.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using detail::Place;
using detail::Wide;
using detail::wide;
using detail::Wide3;

constexpr std::size_t block_of_particles = 1024, block_of_packs = 16;
constexpr int rounds = 3;          ///< of pushes
constexpr int drawing_rounds = 6;  ///< before what would cross moves as one
constexpr int most_joins = 40;     ///< of zones
constexpr Real widest = 4;         ///< tubes, of their usual radius
/// Of a pair's distance, what a substep may change; and the part of the contact's distance below which
/// nothing comes nearer: far above rounding.
constexpr Real changed = Real(0.9), floor_part = Real(0.01);
/// Pairs that come no nearer than this, as part of the contact's distance, are not looked at: others may
/// push them a little.
constexpr Real touching = Real(1.1);
/// Part of the contact's distance by which what is too near is moved apart in a substep at most.
constexpr Real apart_part = Real(0.25);

Vec3 to_vec(const Place& p) {
  return {p.x[0], p.x[1], p.x[2]};
}
void set(Place& p, const Vec3& x) {
  for (int c = 0; c < 3; ++c) p.x[c] = x[c];
}

/// The largest difference of ways between the features of a pair, squared.
template <class Ways>
[[gnu::always_inline]] inline Wide largest_difference(bool edges, const Ways& way) {
  Wide most{};
  const auto look = [&](int i, int j) {
    const Wide3 d = way[i] - way[j];
    most = detail::max(most, dot(d, d));
  };
  for (int j = 1; j < 4; ++j) {
    if (!edges || j > 1) look(0, j);
    if (edges && j > 1) look(1, j);
  }
  return most;
}

}  // namespace

void PbdContacts::lay_out(std::size_t num_particles, std::span<const Index3> surface) {
  features_.build(num_particles, surface);
  boxes_.resize(num_particles), start_.resize(num_particles), at_start_.resize(num_particles);
  tube_radius_.resize(num_particles), tube_from_.resize(num_particles), tube_by_.resize(num_particles);
  zone_.resize(num_particles);
  zone_way_.resize(num_particles), zone_mass_.resize(num_particles);
  age_ = -1;
}

void PbdContacts::begin_step(std::span<const Vec3> x) {
  x_ = x, age_ = -1, counts_ = {};
}

Vec3 PbdContacts::way_of(std::span<const Place> places, Index i) const {
  return to_vec(places[std::size_t(i)]) - to_vec(start_[std::size_t(i)]);
}

bool PbdContacts::in_tubes(std::span<const Place> places, Real part) const {
  const Real along = Real(age_ + 1);
  return ordered_reduce(
      places.size(), block_of_particles, true,
      [&](std::size_t begin, std::size_t end) {
        bool in = true;
        for (std::size_t i = begin; i < end; ++i)
          in &= (to_vec(places[i]) - tube_from_[i] - along * tube_by_[i]).squaredNorm() <=
                part * part * tube_radius_[i] * tube_radius_[i];
        return in;
      },
      [](bool a, bool b) { return a && b; });
}

/// Lays tubes from where the substep began along velocities, which tremble less than what the sweeps have
/// done so far; wider ones for what the sweeps tear along every time.
void PbdContacts::aim(std::span<const Place> places, std::span<const Vec3> v,
                      const PbdContactSettings& settings) {
  age_ = 0;
  parallel_for(places.size(), block_of_particles, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      tube_from_[i] = to_vec(start_[i]);
      const Vec3 way = way_of(places, Index(i));
      tube_by_[i] = v.empty() ? way : Vec3(settings.h * v[i]);
      tube_radius_[i] = std::clamp(4 * (way - tube_by_[i]).norm(), settings.tube, widest * settings.tube);
    }
  });
}

void PbdContacts::search(int left, const PbdContactSettings& settings) {
  ++counts_.searches;
  floor_ = floor_part * settings.distance;
  const Real steps = Real(left), near = touching * settings.distance;
  parallel_for(boxes_.size(), block_of_particles, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Vec3 from = x_[i] + tube_from_[i], to = from + steps * tube_by_[i];
      boxes_[i] = Aabb{from.cwiseMin(to), from.cwiseMax(to)}.grown(tube_radius_[i] + near / 2);
    }
  });
  // All that begin_pairs() will find to touch, so that what happens does not depend on when was searched:
  // from the search to the beginning of a substep two particles leave their ways by 2 radii at most, and in
  // it the way of one differs from that of the other by as much as along the tubes and 4 radii.
  const auto sieve = [&](std::vector<Index4>& pairs, bool edges) {
    std::size_t kept = 0;
    for (std::size_t first = 0; first < pairs.size(); first += wide) {
      Wide3 x[4], by[4];
      Wide radius{};
      const std::size_t lanes = std::min<std::size_t>(wide, pairs.size() - first);
      for (std::size_t l = 0; l < std::size_t(wide); ++l) {
        const Index4& pair = pairs[first + std::min(l, lanes - 1)];
        const Vec3 origin = x_[std::size_t(pair[0])], gone = tube_from_[std::size_t(pair[0])];
        for (int i = 0; i < 4; ++i) {
          const auto at = std::size_t(pair[i]);
          const Vec3 from = (x_[at] - origin) + (tube_from_[at] - gone), &way = tube_by_[at];
          x[i].x[l] = from.x(), x[i].y[l] = from.y(), x[i].z[l] = from.z();
          radius[l] = std::max(radius[l], tube_radius_[at]);
          by[i].x[l] = way.x(), by[i].y[l] = way.y(), by[i].z[l] = way.z();
        }
      }
      const Wide3 apart = edges ? detail::edge_edge<Wide>(x).apart : detail::vertex_triangle<Wide>(x).apart;
      const Wide reach = detail::fill(near) + detail::fill(6) * radius +
                         detail::fill(steps + 1) * detail::sqrt(largest_difference(edges, by));
      const Wide distance2 = dot(apart, apart), reach2 = reach * reach;
      for (std::size_t l = 0; l < lanes; ++l)
        if (distance2[l] < reach2[l]) pairs[kept++] = pairs[first + l];
    }
    pairs.resize(kept);
  };
  features_.find(
      boxes_, [&](FeaturePairs& found) { sieve(found.vertex_face, false), sieve(found.edge_edge, true); },
      pairs_);
  counts_.pairs = pairs_.size();
  fill_packs();
}

void PbdContacts::fill_packs() {
  packs_.clear();
  const auto put = [&](const std::vector<Index4>& pairs, bool edges) {
    for (std::size_t first = 0; first < pairs.size(); first += wide) {
      Pack& pack = packs_.emplace_back();
      pack.edges = edges, pack.lanes = 0;
      const std::size_t lanes = std::min<std::size_t>(wide, pairs.size() - first);
      for (std::size_t l = 0; l < std::size_t(wide); ++l) {
        const Index4& pair = pairs[first + std::min(l, lanes - 1)];
        for (int i = 0; i < 4; ++i) pack.particle[i][l] = pair[i];
        if (l < lanes) pack.lanes |= 1U << l;
      }
    }
  };
  put(pairs_.vertex_face, false), put(pairs_.edge_edge, true);
  fast_.assign(packs_.size(), 0);
  if (touches_.size() * block_of_packs < packs_.size())
    touches_.resize((packs_.size() + block_of_packs - 1) / block_of_packs);
}

/// Where the features of each pair are nearest as the substep begins, and which of them may touch in it.
void PbdContacts::begin_pairs(std::span<const Place> places, const PbdContactSettings& settings) {
  const Wide near = detail::fill(touching * settings.distance);
  for (std::vector<Touch>& list : touches_) list.clear();
  parallel_for(packs_.size(), block_of_packs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      Pack& pack = packs_[k];
      Wide3 x[4], way[4];
      Wide inverse_mass[4];
      for (int i = 0; i < 4; ++i) {
        const detail::WidePlace at = detail::gather_place(at_start_.data(), pack.particle[i]);
        x[i] = at.x, inverse_mass[i] = at.inverse_mass;
        way[i] = detail::gather_place(places.data(), pack.particle[i]).x -
                 detail::gather_place(start_.data(), pack.particle[i]).x;
      }
      for (int i = 3; i >= 0; --i) x[i] = x[i] - x[0];
      const auto at = pack.edges ? detail::edge_edge<Wide>(x) : detail::vertex_triangle<Wide>(x);
      pack.apart = detail::sqrt(dot(at.apart, at.apart));
      pack.nearest = pack.apart[0];
      for (int l = 1; l < wide; ++l) pack.nearest = std::min(pack.nearest, pack.apart[l]);
      const auto meets = pack.apart < near + detail::sqrt(largest_difference(pack.edges, way));
      if (!detail::any(meets)) continue;
      const Wide3 normal = detail::inverse_or_zero(pack.apart) * at.apart;
      Wide response{};
      for (int i = 0; i < 4; ++i) response += inverse_mass[i] * at.weight[i] * at.weight[i];
      std::vector<Touch>& list = touches_[k / block_of_packs];
      detail::each_lane(meets, [&](int l) {
        if (!(pack.lanes >> l & 1) || !(response[l] > 0)) return;
        Touch& touch = list.emplace_back();
        for (int i = 0; i < 4; ++i)
          touch.particle[i] = pack.particle[i][l], touch.weight[i] = at.weight[i][l];
        touch.normal = Vec3(normal.x[l], normal.y[l], normal.z[l]);
        touch.apart = pack.apart[l], touch.response = response[l];
        touch.pressed = 0, touch.rubbed = Vec3::Zero();
      });
    }
  });
}

/// One after the other, pushes the pairs that touch apart and lets friction take back what has slid.
void PbdContacts::press(std::span<Place> places, const PbdContactSettings& settings) {
  const Real distance = settings.distance, step = apart_part * distance;
  for (std::vector<Touch>& list : touches_)
    for (Touch& touch : list) {
      Place* place[4];
      Vec3 slid = Vec3::Zero();
      for (int i = 0; i < 4; ++i) {
        const auto at = std::size_t(touch.particle[i]);
        place[i] = &places[at];
        slid += touch.weight[i] * (to_vec(*place[i]) - to_vec(start_[at]));
      }
      const Real along = touch.normal.dot(slid), inverse = 1 / touch.response;
      const Real target = std::min(distance, touch.apart + step);
      // No more is taken back than was given.
      const Real push = std::max((target - touch.apart - along) * inverse, -touch.pressed);
      if (push == 0 && touch.pressed == 0) continue;
      touch.pressed += push;
      Vec3 rub = touch.rubbed - inverse * (slid - along * touch.normal);
      const Real bound = settings.friction * touch.pressed, length2 = rub.squaredNorm();
      if (length2 > bound * bound) rub *= bound / std::sqrt(length2);
      const Vec3 change = push * touch.normal + (rub - touch.rubbed);
      touch.rubbed = rub;
      for (int i = 0; i < 4; ++i)
        set(*place[i], to_vec(*place[i]) + (place[i]->inverse_mass * touch.weight[i]) * change);
    }
}

/// [m] By which a pair's distance may change in a substep.
Real PbdContacts::most_change(Real apart) const {
  // What is very near may still leave, step by step.
  return changed * (apart > 2 * floor_ ? apart - floor_ : apart / 2);
}

/// Marks the pairs whose distance might change by too much; returns their number.
std::size_t PbdContacts::find_fast(std::span<const Place> places) {
  // No two ways differ by more than twice the longest.
  const Real longest2 = ordered_reduce(
      places.size(), block_of_particles, Real(0),
      [&](std::size_t begin, std::size_t end) {
        Real most = 0;
        for (std::size_t i = begin; i < end; ++i)
          most = std::max(most, way_of(places, Index(i)).squaredNorm());
        return most;
      },
      [](Real a, Real b) { return std::max(a, b); });
  const Real reach = 2 * std::sqrt(longest2);
  return ordered_reduce(
      packs_.size(), block_of_packs, std::size_t(0),
      [&](std::size_t begin, std::size_t end) {
        std::size_t count = 0;
        for (std::size_t k = begin; k < end; ++k) {
          const Pack& pack = packs_[k];
          fast_[k] = 0;
          if (reach < most_change(pack.nearest)) continue;
          Wide3 way[4];
          for (int i = 0; i < 4; ++i)
            way[i] = detail::gather_place(places.data(), pack.particle[i]).x -
                     detail::gather_place(start_.data(), pack.particle[i]).x;
          Wide most;
          for (int l = 0; l < wide; ++l) most[l] = most_change(pack.apart[l]);
          const Wide way2 = largest_difference(pack.edges, way);
          const auto fast = way2 > most * most;
          unsigned bits = 0;
          if (detail::any(fast))
            for (int l = 0; l < wide; ++l) bits |= unsigned(fast[l] != 0) << l;
          fast_[k] = bits & pack.lanes;
          count += std::size_t(__builtin_popcount(fast_[k]));
        }
        return count;
      },
      [](std::size_t a, std::size_t b) { return a + b; });
}

/// One after the other draws the particles of pairs that are too fast towards their common way, until the
/// pair is slow enough. Few are: this is not worth threads.
void PbdContacts::draw_together(std::span<Place> places) {
  for (std::size_t k = 0; k < packs_.size(); ++k) {
    const Pack& pack = packs_[k];
    for (int l = 0; fast_[k] >> l != 0; ++l) {
      if (!(fast_[k] >> l & 1)) continue;
      Vec3 way[4], common = Vec3::Zero(), held = Vec3::Zero();
      Real mass = 0, most2 = 0;
      int num_held = 0;
      for (int i = 0; i < 4; ++i) {
        way[i] = way_of(places, pack.particle[i][l]);
        const Real k_i = places[std::size_t(pack.particle[i][l])].inverse_mass;
        if (k_i > 0)
          common += way[i] / k_i, mass += 1 / k_i;
        else
          held += way[i], ++num_held;
      }
      common = num_held > 0 ? Vec3(held / Real(num_held)) : Vec3(common / mass);
      for (int i = 0; i < 4; ++i)
        for (int j = pack.edges ? 2 : 1; j < 4; ++j)
          if (pack.edges ? i < 2 : i == 0) most2 = std::max(most2, (way[i] - way[j]).squaredNorm());
      const Real limit = Real(0.99) * most_change(pack.apart[l]), most = std::sqrt(most2);
      if (!(most > limit)) continue;
      for (int i = 0; i < 4; ++i) {
        const Index at = pack.particle[i][l];
        Place& place = places[std::size_t(at)];
        if (place.inverse_mass > 0)
          set(place, to_vec(start_[std::size_t(at)]) + common + limit / most * (way[i] - common));
      }
    }
  }
}

/// Particles of pairs that are too fast from now on move as one.
void PbdContacts::join_zones(std::span<Place> places) {
  const auto root = [&](Index i) {
    while (zone_[std::size_t(i)] != i) i = zone_[std::size_t(i)] = zone_[std::size_t(zone_[std::size_t(i)])];
    return i;
  };
  for (std::size_t k = 0; k < packs_.size(); ++k)
    for (int l = 0; fast_[k] >> l != 0; ++l) {
      if (!(fast_[k] >> l & 1)) continue;
      for (int i = 1; i < 4; ++i) {
        const Index a = root(packs_[k].particle[0][l]), b = root(packs_[k].particle[i][l]);
        zone_[std::size_t(std::max(a, b))] = std::min(a, b);
      }
    }
  // Held particles lead their zone.
  std::fill(zone_way_.begin(), zone_way_.end(), Vec3::Zero());
  std::fill(zone_mass_.begin(), zone_mass_.end(), Real(0));
  const auto add = [&](bool held) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if ((places[i].inverse_mass == 0) != held) continue;
      const auto z = std::size_t(root(Index(i)));
      if (!held && zone_mass_[z] < 0) continue;
      const Real mass = held ? Real(-1) : 1 / places[i].inverse_mass;
      zone_way_[z] += std::abs(mass) * way_of(places, Index(i)), zone_mass_[z] += mass;
    }
  };
  add(true), add(false);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto z = std::size_t(root(Index(i)));
    const bool is_alone = zone_[i] == Index(i) && zone_mass_[z] * places[i].inverse_mass == 1;
    if (places[i].inverse_mass == 0 || is_alone) continue;
    set(places[i], to_vec(start_[i]) + zone_way_[z] / std::abs(zone_mass_[z]));
  }
}

void PbdContacts::freeze(std::span<Place> places) const {
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i].inverse_mass > 0) set(places[i], to_vec(start_[i]));
}

void PbdContacts::keep_apart(std::span<Place> places) {
  for (int round = 0; round < drawing_rounds; ++round) {
    if (find_fast(places) == 0) return;
    draw_together(places);
  }
  if (find_fast(places) == 0) return;
  ++counts_.zones;
  for (std::size_t i = 0; i < zone_.size(); ++i) zone_[i] = Index(i);
  for (int join = 0; join < most_joins; ++join) {
    join_zones(places);
    if (find_fast(places) == 0) return;
  }
  ++counts_.frozen, freeze(places);
}

void PbdContacts::hold(std::span<Place> places, std::span<const Vec3> gone, std::span<const Vec3> v, int left,
                       const PbdContactSettings& settings, FunctionRef<void()> between) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Vec3 x = x_[i] + gone[i];
    start_[i] = Place{{gone[i].x(), gone[i].y(), gone[i].z()}, places[i].inverse_mass};
    at_start_[i] = Place{{x.x(), x.y(), x.z()}, places[i].inverse_mass};
  }
  if (age_ < 0 || !in_tubes(places, Real(0.5))) {
    aim(places, v, settings);
    // What is torn about so that no tube is wide enough gets a list for this substep alone.
    if (in_tubes(places, Real(0.5)))
      search(left, settings);
    else
      aim(places, {}, settings), search(1, settings);
  }
  begin_pairs(places, settings);
  for (int round = 0; round < rounds; ++round) {
    if (round > 0) between();
    press(places, settings);
  }
  if (settings.conservative) {
    keep_apart(places);
    // Pushed out of their tubes, particles might meet what is not in the list.
    for (int again = 0; !in_tubes(places, 1); ++again) {
      if (again == 2) ++counts_.frozen, freeze(places);
      aim(places, {}, settings), search(1, settings);
      begin_pairs(places, settings), keep_apart(places);
      if (again == 2) break;
    }
  }
  ++age_;
}

}  // namespace plenum::inline PLENUM_ABI
