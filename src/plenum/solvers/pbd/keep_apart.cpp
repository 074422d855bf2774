// Nothing crosses: what would close its gap moves together.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plenum/solvers/pbd/detail/contacts.h"
#include "plenum/solvers/pbd/detail/planes.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using detail::Place;
using detail::to_vec;
using detail::Wide;
using detail::wide;
using detail::Wide3;

constexpr std::size_t particles_in_block = 1024, packs_in_block = 16;
constexpr int drawing_rounds = 6;      ///< before what would cross moves as one
constexpr int shortening_rounds = 12;  ///< of what drawing leaves too fast
constexpr int most_joins = 40;         ///< of zones
constexpr Real nothing = Real(1e-4);   ///< of a gap, that counts as no change
constexpr Real changed = Real(0.9);    ///< of a gap, at most, in a substep
constexpr int bearing_rounds = 3;      ///< of what solids leave a zone no way
constexpr Real beyond = Real(1e-2);    ///< of the floor, that is not beyond a solid yet

}  // namespace

/// [m] By which a pair's gap may shrink in a substep. What is as near as the floor comes no nearer, but may
/// leave, and slide along.
Real PbdContacts::most_change(Real gap) const {
  return changed * std::max(gap - floor_, Real(0));
}

/// [m] That any particle has gone since the step began, at most.
Real PbdContacts::longest_gone() const {
  return std::sqrt(ordered_reduce(
      start_.size(), particles_in_block, Real(0),
      [&](std::size_t begin, std::size_t end) {
        Real most = 0;
        for (std::size_t i = begin; i < end; ++i) most = std::max(most, to_vec(start_[i]).squaredNorm());
        return most;
      },
      [](Real a, Real b) { return std::max(a, b); }));
}

/// Marks the pairs whose gap might change by too much; returns their number.
std::size_t PbdContacts::find_fast(std::span<const Place> places) {
  // No two ways differ by more than twice the longest.
  const Real longest2 = ordered_reduce(
      places.size(), particles_in_block, Real(0),
      [&](std::size_t begin, std::size_t end) {
        Real most = 0;
        for (std::size_t i = begin; i < end; ++i)
          most = std::max(most, way_of(places, Index(i)).squaredNorm());
        return most;
      },
      [](Real a, Real b) { return std::max(a, b); });
  const Real reach = 2 * std::sqrt(longest2);
  // Of ways that are meant to be the same.
  const Real rounding = 4 * std::numeric_limits<Real>::epsilon() * longest_gone();
  return ordered_reduce(
      packs_.size(), packs_in_block, std::size_t(0),
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
          const Wide most = detail::fill(changed) * detail::max(pack.gap - detail::fill(floor_), Wide{});
          const Wide slack = detail::fill(rounding) + detail::fill(nothing) * detail::max(pack.gap, Wide{});
          auto fast = detail::along(pack.edges, pack.normal, way) < -(most + slack);
          unsigned bits = 0;
          if (detail::any(fast)) {
            // Another plane may have them on its sides.
            Wide3 x[4], end[4];
            for (int i = 0; i < 4; ++i) x[i] = detail::gather_place(at_start_.data(), pack.particle[i]).x;
            for (int i = 3; i >= 0; --i) x[i] = x[i] - x[0], end[i] = x[i] + (way[i] - way[0]);
            const detail::Planes ends = detail::planes_between(pack.edges, end);
            fast &=
                !detail::stay_apart(pack.edges, pack.normal, ends.normal, x, end,
                                    detail::max(detail::min(pack.gap - most, detail::fill(floor_)), Wide{}));
            for (int l = 0; l < wide; ++l) bits |= unsigned(fast[l] != 0) << l;
          }
          fast_[k] = bits & pack.lanes;
          count += std::size_t(__builtin_popcount(fast_[k]));
        }
        return count;
      },
      [](std::size_t a, std::size_t b) { return a + b; });
}

/// What limits say here: what solids have made of particles stays. What began the substep inside a solid goes
/// no deeper, so that where substeps begin nothing stands in the way of what does not move.
void PbdContacts::begin_limits(std::span<const Place> places) {
  limits_begun_ = true;
  first_limit_.assign(places.size(), Index(-1));
  std::erase_if(limits_, [&](const PbdLimit& limit) {
    return places[std::size_t(limit.particle)].inverse_mass == 0 ||
           !to_vec(places[std::size_t(limit.particle)]).allFinite();
  });
  std::sort(limits_.begin(), limits_.end(),
            [](const PbdLimit& a, const PbdLimit& b) { return a.particle < b.particle; });
  for (std::size_t k = limits_.size(); k-- > 0;) {
    PbdLimit& limit = limits_[k];
    const auto i = std::size_t(limit.particle);
    first_limit_[i] = Index(k);
    limit.least = std::min({limit.least, limit.normal.dot(to_vec(places[i])),
                            limit.normal.dot(to_vec(start_[i])) + std::max(limit.goes, Real(0))});
  }
}

template <class Visit>
void PbdContacts::each_limit(Index i, Visit&& visit) const {
  const Index first = first_limit_[std::size_t(i)];
  if (first < 0) return;
  for (auto k = std::size_t(first); k < limits_.size() && limits_[k].particle == i; ++k) visit(limits_[k]);
}

/// What does not let the particle there, what does not yield before what does; or nothing.
const PbdLimit* PbdContacts::in_the_way(Index i, const Vec3& place) const {
  const PbdLimit* found = nullptr;
  each_limit(i, [&](const PbdLimit& limit) {
    const bool is = limit.normal.dot(place) < limit.least - beyond * floor_;
    if (is && (found == nullptr || (found->yields && !limit.yields))) found = &limit;
  });
  return found;
}

void PbdContacts::put_back(std::span<Place> places) {
  for (const PbdLimit& limit : limits_) {
    const auto i = std::size_t(limit.particle);
    const Real lacks = limit.least - limit.normal.dot(to_vec(places[i]));
    if (!(lacks > 0)) continue;
    detail::set(places[i], to_vec(places[i]) + lacks * limit.normal);
    if (limit.yields) kept_back_[i] -= lacks * limit.normal, any_kept_back_ = true;
  }
}

/// Zones that would lead some of their particles into solids slide along these, and are led from now on. Not
/// those that held particles lead.
void PbdContacts::bear_zones(std::span<const Place> places) {
  std::fill(zone_borne_.begin(), zone_borne_.end(), Borne::none);
  any_borne_free_ = false;
  for (int round = 0; round < bearing_rounds; ++round) {
    bool any = false;
    for (const PbdLimit& limit : limits_) {
      const auto i = std::size_t(limit.particle), z = std::size_t(zone_of(limit.particle));
      if (zone_mass_[z] < 0 && zone_borne_[z] == Borne::none) continue;
      const bool is_alone = zone_[i] == Index(i) && zone_mass_[z] * places[i].inverse_mass == 1;
      if (is_alone) continue;
      const Vec3 common = zone_way_[z] / std::abs(zone_mass_[z]);
      const Real lacks = limit.least - limit.normal.dot(to_vec(start_[i]) + common);
      if (!(lacks > beyond * floor_)) continue;
      zone_way_[z] = common + lacks * limit.normal, zone_mass_[z] = -1, any = true;
      if (!limit.yields)
        zone_borne_[z] = Borne::fixed;
      else if (zone_borne_[z] == Borne::none)
        zone_borne_[z] = Borne::free, any_borne_free_ = true;
    }
    if (!any) return;
  }
}

/// Of zones that only free bodies bear: their momenta before they are moved, and what of these each
/// particle's velocity is to have back after that.
void PbdContacts::note_borne(std::span<const Place> places) {
  for (std::size_t i = 0; any_borne_free_ && i < places.size(); ++i)
    if (const auto z = std::size_t(zone_of(Index(i))); zone_borne_[z] == Borne::free)
      zone_taken_[z] += way_of(places, Index(i)) / places[i].inverse_mass;
}

void PbdContacts::keep_back_borne(std::span<const Place> places) {
  if (!any_borne_free_) return;
  std::vector<Real>& mass = part_;  // of zones
  std::fill(mass.begin(), mass.end(), Real(0));
  const auto each = [&](auto&& f) {
    for (std::size_t i = 0; i < places.size(); ++i)
      if (const auto z = std::size_t(zone_of(Index(i))); zone_borne_[z] == Borne::free) f(i, z);
  };
  each([&](std::size_t i, std::size_t z) {
    zone_taken_[z] -= way_of(places, Index(i)) / places[i].inverse_mass;
    mass[z] += 1 / places[i].inverse_mass;
  });
  each([&](std::size_t i, std::size_t z) { kept_back_[i] += zone_taken_[z] / mass[z]; });
  std::fill(zone_taken_.begin(), zone_taken_.end(), Vec3::Zero());
  any_kept_back_ = true;
}

/// One after the other draws the particles of pairs that are too fast towards their common way across their
/// gap, until the pair is slow enough; where a solid is in the way, to the way of what lies on that. Few are:
/// this is not worth threads.
void PbdContacts::draw_together(std::span<Place> places) {
  for (std::size_t k = 0; k < packs_.size(); ++k) {
    const Pack& pack = packs_[k];
    for (int l = 0; fast_[k] >> l != 0; ++l) {
      if (!(fast_[k] >> l & 1)) continue;
      const Vec3 n(pack.normal.x[l], pack.normal.y[l], pack.normal.z[l]);
      Real way[4];
      bool is_held[4];
      for (int i = 0; i < 4; ++i) {
        way[i] = n.dot(way_of(places, pack.particle[i][l]));
        is_held[i] = places[std::size_t(pack.particle[i][l])].inverse_mass == 0;
      }
      const Real limit = Real(0.99) * most_change(pack.gap[l]),
                 closing = -detail::apart_along(pack.edges, way);
      if (!(closing > limit)) continue;
      const PbdLimit* bears = nullptr;
      const bool is_led = std::any_of(is_held, is_held + 4, [](bool held) { return held; });
      // A round for each that is found to be borne.
      for (bool again = true; std::exchange(again, false);) {
        Real common = 0, held = 0, mass = 0;
        int num_held = 0;
        for (int i = 0; i < 4; ++i) {
          const Real inverse_mass = places[std::size_t(pack.particle[i][l])].inverse_mass;
          if (!is_held[i])
            common += way[i] / inverse_mass, mass += 1 / inverse_mass;
          else
            held += way[i], ++num_held;
        }
        common = num_held > 0 ? held / Real(num_held) : common / mass;
        Vec3 to[4], gained = Vec3::Zero();  // [m], [kg m]
        for (int i = 0; i < 4; ++i) {
          const Index particle = pack.particle[i][l];
          to[i] = to_vec(places[std::size_t(particle)]);
          if (is_held[i]) continue;
          const Vec3 by = (limit / closing - 1) * (way[i] - common) * n;
          to[i] += by, gained += by / places[std::size_t(particle)].inverse_mass;
          const PbdLimit* const found = in_the_way(particle, to[i]);
          if (found == nullptr) continue;
          is_held[i] = again = true;
          if (bears == nullptr || !found->yields) bears = found;
        }
        if (again) continue;
        const bool strikes = !is_led && bears != nullptr && bears->yields && mass > 0;
        any_kept_back_ = any_kept_back_ || strikes;
        PbdStrike strike{.by = strikes ? bears->by : Index(-1),
                         .normal = n.dot(gained) < 0 ? Vec3(-n) : n,
                         .particles = {},
                         .count = 0};
        for (int i = 0; i < 4; ++i) {
          if (is_held[i]) continue;
          const auto particle = std::size_t(pack.particle[i][l]);
          detail::set(places[particle], to[i]);
          if (!strikes) continue;
          kept_back_[particle] -= gained / mass;
          strike.particles[strike.count++] = Index(particle);
        }
        if (strikes) strikes_.push_back(strike);
      }
    }
  }
}

template <class Visit>
void PbdContacts::each_fast(Visit&& visit) {
  for (std::size_t k = 0; k < packs_.size(); ++k)
    for (int l = 0; fast_[k] >> l != 0; ++l)
      if (fast_[k] >> l & 1) visit(packs_[k], l);
}

/// The zone of a particle.
Index PbdContacts::zone_of(Index i) {
  while (zone_[std::size_t(i)] != i) i = zone_[std::size_t(i)] = zone_[std::size_t(zone_[std::size_t(i)])];
  return i;
}

/// Particles of pairs that are too fast are of one zone from now on.
void PbdContacts::join_fast() {
  each_fast([&](Pack& pack, int l) {
    for (int i = 1; i < 4; ++i) {
      const Index a = zone_of(pack.particle[0][l]), b = zone_of(pack.particle[i][l]);
      zone_[std::size_t(std::max(a, b))] = std::min(a, b);
    }
  });
}

/// Momenta and masses of zones. Held particles lead theirs, whose masses are less than 0.
void PbdContacts::sum_zones(std::span<const Place> places) {
  std::fill(zone_way_.begin(), zone_way_.end(), Vec3::Zero());
  std::fill(zone_mass_.begin(), zone_mass_.end(), Real(0));
  const auto add = [&](bool held) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if ((places[i].inverse_mass == 0) != held) continue;
      const auto z = std::size_t(zone_of(Index(i)));
      if (!held && zone_mass_[z] < 0) continue;
      const Real mass = held ? Real(-1) : 1 / places[i].inverse_mass;
      zone_way_[z] += std::abs(mass) * way_of(places, Index(i)), zone_mass_[z] += mass;
    }
  };
  add(true), add(false);
}

/// Of each particle of pairs that are too fast, shortens the way beside the common one of its zone so that
/// neither side of a pair uses up more than half of what its gap may shrink by. That makes no other pair of
/// the zone faster than it may be, but where both sides went one way; those follow in the next round. All
/// that is tangled so goes on by as much as it can: moved as one with a held row, a wrung cloth stood still
/// in the air for ever, drawn out to twenty times its length.
void PbdContacts::shorten(std::span<Place> places) {
  join_fast(), sum_zones(places), bear_zones(places), note_borne(places);
  std::fill(part_.begin(), part_.end(), Real(1));
  const auto common_of = [&](Index i) {
    const auto z = std::size_t(zone_of(i));
    return Vec3(zone_way_[z] / std::abs(zone_mass_[z]));
  };
  each_fast([&](Pack& pack, int l) {
    const Vec3 n(pack.normal.x[l], pack.normal.y[l], pack.normal.z[l]),
        common = common_of(pack.particle[0][l]);
    const Real most = Real(0.495) * most_change(pack.gap[l]);
    for (int i = 0; i < 4; ++i) {
      const Index particle = pack.particle[i][l];
      const bool is_first = i < (pack.edges ? 2 : 1);
      const Real closing = (is_first ? -1 : 1) * n.dot(way_of(places, particle) - common);
      if (!(closing > most)) continue;
      Real& part = part_[std::size_t(particle)];
      part = std::min(part, most / closing);
    }
  });
  // What is shortened gives its momentum to its zone.
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!(part_[i] < 1) || places[i].inverse_mass == 0) continue;
    const Vec3 common = common_of(Index(i)), way = way_of(places, Index(i));
    zone_lost_[std::size_t(zone_of(Index(i)))] += (1 - part_[i]) / places[i].inverse_mass * (way - common);
    detail::set(places[i], to_vec(start_[i]) + common + part_[i] * (way - common));
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto z = std::size_t(zone_of(Index(i)));
    if (places[i].inverse_mass == 0 || !(zone_mass_[z] > 0) || zone_lost_[z].isZero(0)) continue;
    detail::set(places[i], to_vec(places[i]) + zone_lost_[z] / zone_mass_[z]);
  }
  std::fill(zone_lost_.begin(), zone_lost_.end(), Vec3::Zero());
  keep_back_borne(places);
  put_back(places);
}

/// Particles of pairs that are too fast from now on move as one. If they do already, they are led by held
/// particles that part, or are as near as rounding, and nothing can be done.
void PbdContacts::join_zones(std::span<Place> places) {
  // Those that are of one zone before any more are joined have moved as one.
  each_fast([&](Pack& pack, int l) {
    const Index zone = zone_of(pack.particle[0][l]);
    for (int i = 1; i < 4; ++i)
      if (zone_of(pack.particle[i][l]) != zone) return;
    pack.lanes &= ~(1U << l);
    ++(zone_mass_[std::size_t(zone)] < 0 ? counts_.forced : counts_.let_go);
  });
  join_fast(), sum_zones(places), bear_zones(places), note_borne(places);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto z = std::size_t(zone_of(Index(i)));
    const bool is_alone = zone_[i] == Index(i) && zone_mass_[z] * places[i].inverse_mass == 1;
    if (places[i].inverse_mass == 0 || is_alone) continue;
    detail::set(places[i], to_vec(start_[i]) + zone_way_[z] / std::abs(zone_mass_[z]));
  }
  keep_back_borne(places);
}

void PbdContacts::freeze(std::span<Place> places) {
  forget_kept_back();
  // What is not finite stays so, and is told of.
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i].inverse_mass > 0 && to_vec(places[i]).allFinite())
      detail::set(places[i], to_vec(start_[i]));
}

void PbdContacts::keep_apart(std::span<Place> places) {
  for (int round = 0; round < drawing_rounds; ++round) {
    if (find_fast(places) == 0) return;
    if (!limits_begun_) begin_limits(places);
    draw_together(places);
  }
  if (find_fast(places) == 0) return;
  const auto begin_zones = [&] {
    std::fill(zone_mass_.begin(), zone_mass_.end(), Real(0));
    for (std::size_t i = 0; i < zone_.size(); ++i) zone_[i] = Index(i);
  };
  begin_zones();
  for (int round = 0; round < shortening_rounds; ++round) {
    shorten(places);
    if (find_fast(places) == 0) return;
  }
  ++counts_.zones;
  begin_zones();
  for (int join = 0; join < most_joins; ++join) {
    join_zones(places);
    if (find_fast(places) == 0) return;
  }
  ++counts_.frozen, freeze(places);
}

}  // namespace plenum::inline PLENUM_ABI
