#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "plenum/solvers/pbd/detail/contacts.h"
#include "plenum/solvers/pbd/detail/planes.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using detail::Place;
using detail::set;
using detail::to_vec;
using detail::Wide;
using detail::wide;
using detail::Wide3;

constexpr std::size_t block_of_particles = 1024;
/// Of the particles, that make a new list cheaper than a new place in the old one for them.
constexpr double many_strays = 0.1;
constexpr Real widest = 4;  ///< tubes, of their usual radius
/// Part of the contact's distance below which hardly anything comes nearer.
constexpr Real floor_part = Real(0.01);
/// Pairs that there may be for each particle, and besides: six times as many as in a pile of five cloths.
/// They take about 80 bytes each, and grow with the square of how far particles go beside the features.
constexpr std::size_t most_pairs_each = 64, most_pairs_besides = 65536;

}  // namespace

void PbdContacts::lay_out(std::size_t num_particles, std::span<const Index3> surface,
                          std::span<const Index> torn_from) {
  features_.build(num_particles, surface);
  around_ = vertex_triangles(num_particles, surface);
  torn_from_.resize(torn_from.empty() ? 0 : num_particles);
  if (!torn_from.empty()) {
    std::iota(torn_from_.begin(), torn_from_.end(), Index(0));
    std::copy(torn_from.begin(), torn_from.end(), torn_from_.end() - std::ptrdiff_t(torn_from.size()));
  }
  boxes_.resize(num_particles), start_.resize(num_particles), at_start_.resize(num_particles);
  tube_radius_.resize(num_particles), tube_from_.resize(num_particles), tube_by_.resize(num_particles);
  tube_at_.resize(num_particles), tube_way_.resize(num_particles), strays_.resize(num_particles);
  zone_.resize(num_particles);
  zone_way_.resize(num_particles), zone_mass_.resize(num_particles), part_.resize(num_particles);
  zone_lost_.assign(num_particles, Vec3::Zero()), zone_taken_.assign(num_particles, Vec3::Zero());
  zone_borne_.assign(num_particles, Borne::none);
  kept_back_.assign(num_particles, Vec3::Zero());
  any_kept_back_ = false;
  age_ = -1;
}

void PbdContacts::begin_step(std::span<const Vec3> x, std::span<const Index2> edges,
                             std::span<const Index3> triangles, std::span<const Index2> crossings) {
  x_ = x, age_ = -1, cut_level_ = 0, counts_ = {};
  crossing_.clear();
  if (crossings.empty()) return;
  for (const Index2& crossing : crossings) {
    const Index2& edge = edges[std::size_t(crossing[0])];
    const Index3& through = triangles[std::size_t(crossing[1])];
    for (const Index t : around_[std::size_t(edge[0])]) {
      const Index3& of_edge = triangles[std::size_t(t)];
      if (std::find(of_edge.begin(), of_edge.end(), edge[1]) == of_edge.end()) continue;
      for (const Index a : of_edge)
        for (const Index b : through) crossing_.push_back({std::min(a, b), std::max(a, b)});
    }
  }
  const auto less = [](const Index2& a, const Index2& b) { return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1]; };
  std::sort(crossing_.begin(), crossing_.end(), less);
  crossing_.erase(std::unique(crossing_.begin(), crossing_.end()), crossing_.end());
}

void PbdContacts::count_anew(std::span<const Vec3> shift) {
  for (std::size_t i = 0; i < tube_from_.size(); ++i) tube_from_[i] -= shift[i];
}

/// Whether the features of a pair are of triangles that cross each other.
bool PbdContacts::cross(const Index4& pair, bool edges) const {
  if (crossing_.empty()) return false;
  const auto less = [](const Index2& a, const Index2& b) { return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1]; };
  const int first = edges ? 2 : 1;  // of the second one's
  for (int i = 0; i < first; ++i)
    for (int j = first; j < 4; ++j)
      if (!std::binary_search(crossing_.begin(), crossing_.end(),
                              Index2(std::min(pair[i], pair[j]), std::max(pair[i], pair[j])), less))
        return false;
  return true;
}

Vec3 PbdContacts::way_of(std::span<const Place> places, Index i) const {
  return to_vec(places[std::size_t(i)]) - to_vec(start_[std::size_t(i)]);
}

/// Marks the particles that are farther off the middles of their tubes, where the substep ends, than a part
/// of the radius; returns their number.
std::size_t PbdContacts::find_strays(std::span<const Place> places, Real part) {
  const Real along = Real(age_ + 1);
  return ordered_reduce(
      places.size(), block_of_particles, std::size_t(0),
      [&](std::size_t begin, std::size_t end) {
        std::size_t count = 0;
        for (std::size_t i = begin; i < end; ++i) {
          strays_[i] = !((to_vec(places[i]) - tube_from_[i] - along * tube_by_[i]).squaredNorm() <=
                         part * part * tube_radius_[i] * tube_radius_[i]);
          count += strays_[i];
        }
        return count;
      },
      [](std::size_t a, std::size_t b) { return a + b; });
}

/// Lays the tubes of strays from where the substep began along velocities, which tremble less than what the
/// sweeps have done so far; wider ones for what the sweeps tear along every time. What is torn about so that
/// none is wide enough gets one along its way in this substep, and strays in the next.
void PbdContacts::aim(std::span<const Place> places, std::span<const Vec3> v,
                      const PbdContactSettings& settings) {
  parallel_for(places.size(), block_of_particles, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (!strays_[i]) continue;
      const Vec3 way = way_of(places, Index(i)), along = v.empty() ? way : Vec3(settings.h * v[i]);
      const Real radius = 4 * (way - along).norm();
      const bool goes_along = radius <= widest * settings.tube;
      tube_by_[i] = goes_along ? along : way;
      tube_radius_[i] = std::clamp(radius, settings.tube, widest * settings.tube);
      tube_from_[i] = to_vec(start_[i]) - Real(age_) * tube_by_[i];
    }
  });
}

/// Begins a list for `left` substeps at most: for fewer where ways are long beside features, whose boxes
/// would meet all others. What all do together brings nothing together.
void PbdContacts::begin_list(int left, const PbdContactSettings& settings) {
  struct Sums {
    Vector3<double> way = Vector3<double>::Zero();
    double way2 = 0;
    Real largest = 0;
  };
  const Sums sums = ordered_reduce(
      boxes_.size(), block_of_particles, Sums(),
      [&](std::size_t begin, std::size_t end) {
        Sums of;
        for (std::size_t i = begin; i < end; ++i) {
          const Vector3<double> by = tube_by_[i].cast<double>();
          of.way += by, of.way2 += by.squaredNorm();
          of.largest = std::max(of.largest, x_[i].cwiseAbs().maxCoeff());
        }
        return of;
      },
      [](const Sums& a, const Sums& b) {
        return Sums{a.way + b.way, a.way2 + b.way2, std::max(a.largest, b.largest)};
      });
  const double n = double(boxes_.size());
  common_way_ = (sums.way / n).cast<Real>();
  const double usual = std::sqrt(std::max(0.0, sums.way2 / n - (sums.way / n).squaredNorm()));
  life_ = left;
  if (usual * left > double(settings.longest_way))
    life_ = std::max(1, int(double(settings.longest_way) / usual));
  // Far above rounding.
  floor_ = std::max(floor_part * settings.distance, 16 * std::numeric_limits<Real>::epsilon() * sums.largest);
}

/// Finds the pairs of the strays, which are all particles of a new list. False, and no list, if there are too
/// many.
bool PbdContacts::search(const PbdContactSettings& settings) {
  ++counts_.searches;
  const Real near = detail::touching * settings.distance, steps = Real(life_ - age_);
  parallel_for(boxes_.size(), block_of_particles, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Vec3 &by = tube_by_[i], at = x_[i] + (tube_from_[i] + Real(age_) * by);
      tube_at_[i] = Place{{at.x(), at.y(), at.z()}, tube_radius_[i]};
      tube_way_[i] = Place{{by.x(), by.y(), by.z()}, start_[i].inverse_mass};
      if (!strays_[i]) continue;
      const Vec3 from = at - Real(age_) * common_way_, to = from + steps * (by - common_way_);
      boxes_[i] = Aabb{from.cwiseMin(to), from.cwiseMax(to)}.grown(tube_radius_[i] + near / 2);
    }
  });
  // Those that come within the contact's distance while their particles are in their tubes: the gap across
  // one direction shrinks along the tubes, and by a radius at each end. What others hold on both sides
  // nothing keeps apart.
  const auto sieve = [&](std::vector<Index4>& pairs, bool edges) {
    std::size_t kept = 0;
    for (std::size_t first = 0; first < pairs.size(); first += wide) {
      Index particle[4][wide];
      const std::size_t lanes = std::min<std::size_t>(wide, pairs.size() - first);
      for (std::size_t l = 0; l < std::size_t(wide); ++l)
        for (int i = 0; i < 4; ++i) particle[i][l] = pairs[first + std::min(l, lanes - 1)][i];
      Wide3 x[4], by[4];
      Wide radius[4], inverse_mass{};
      for (int i = 0; i < 4; ++i) {
        const detail::WidePlace at = detail::gather_place(tube_at_.data(), particle[i]),
                                way = detail::gather_place(tube_way_.data(), particle[i]);
        x[i] = at.x, radius[i] = at.inverse_mass, by[i] = way.x, inverse_mass += way.inverse_mass;
      }
      for (int i = 3; i >= 0; --i) x[i] = x[i] - x[0];
      const detail::Planes planes = detail::rough_planes_between(edges, x);
      const Wide shrinks = detail::fill(steps) * detail::min(detail::along(edges, planes.normal, by), Wide{});
      const Wide off = edges ? detail::max(radius[0], radius[1]) + detail::max(radius[2], radius[3])
                             : radius[0] + detail::max(radius[1], detail::max(radius[2], radius[3]));
      const auto meets = (planes.gap + shrinks - off < detail::fill(near)) & (inverse_mass > Wide{});
      for (std::size_t l = 0; l < lanes; ++l)
        if (meets[l] && (settings.conservative || !hung_together(pairs[first + l], edges)) &&
            !cross(pairs[first + l], edges))
          pairs[kept++] = pairs[first + l];
    }
    pairs.resize(kept);
  };
  const auto sieve_both = [&](FeaturePairs& found) {
    sieve(found.vertex_face, false), sieve(found.edge_edge, true);
  };
  const std::size_t most = most_pairs_each * boxes_.size() + most_pairs_besides;
  bool fits = false;
  if (is_new_) {
    fits = features_.find(boxes_, sieve_both, pairs_, most);
  } else {
    std::erase_if(pairs_.vertex_face, [&](const Index4& pair) { return has_stray(pair); });
    std::erase_if(pairs_.edge_edge, [&](const Index4& pair) { return has_stray(pair); });
    fits = features_.find(boxes_, strays_, sieve_both, pairs_, most);
  }
  counts_.pairs = pairs_.size();
  if (fits) fill_packs(), is_new_ = false;
  return fits;
}

/// Leaves what is not held but a part of its way.
void PbdContacts::go_part(std::span<Place> places, Real part) const {
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].inverse_mass == 0) continue;
    const Vec3 from = to_vec(start_[i]);
    set(places[i], from + part * (to_vec(places[i]) - from));
  }
}

/// Begins a list of all particles. If that is too long even for one substep, what is not held goes but a part
/// of its way, and less and less until it fits: contact is never left out, time is.
void PbdContacts::search_all(std::span<Place> places, std::span<const Vec3> v, int left,
                             const PbdContactSettings& settings) {
  age_ = 0, is_new_ = true;
  std::fill(strays_.begin(), strays_.end(), 1);
  aim(places, v, settings);
  // What was too much a substep ago is so again: it is not tried before what fitted then, but for one more.
  constexpr int most_halvings = 16;
  for (int level = std::max(0, cut_level_ - 1), gone = 0; level < most_halvings + 2; ++level) {
    if (level == 1 && left == 1) continue;
    const int halvings = std::max(0, level - 1);
    if (halvings > gone) {
      if (gone == 0) ++counts_.cut;
      go_part(places, level <= most_halvings ? std::ldexp(Real(1), gone - halvings) : Real(0));
      gone = halvings;
      aim(places, {}, settings);
    }
    begin_list(level == 0 ? left : 1, settings);
    cut_level_ = level;
    if (search(settings)) return;
  }
  // Even what stands still is near to too much: it is held by those pairs that were found.
  fill_packs(), is_new_ = false;
}

bool PbdContacts::has_stray(const Index4& pair) const {
  return strays_[std::size_t(pair[0])] | strays_[std::size_t(pair[1])] | strays_[std::size_t(pair[2])] |
         strays_[std::size_t(pair[3])];
}

/// Whether the features of a pair shared a vertex before anything tore.
bool PbdContacts::hung_together(const Index4& pair, bool edges) const {
  if (torn_from_.empty()) return false;
  const int first = edges ? 2 : 1;  // of the second one's
  for (int i = 0; i < first; ++i)
    for (int j = first; j < 4; ++j)
      if (torn_from_[std::size_t(pair[i])] == torn_from_[std::size_t(pair[j])]) return true;
  return false;
}

void PbdContacts::fill_packs() {
  packs_.clear();
  const auto put = [&](const std::vector<Index4>& pairs, bool edges) {
    for (std::size_t first = 0; first < pairs.size(); first += wide) {
      Pack& pack = packs_.emplace_back();
      pack.edges = edges, pack.lanes = pack.rims = 0;
      const std::size_t lanes = std::min<std::size_t>(wide, pairs.size() - first);
      for (std::size_t l = 0; l < std::size_t(wide); ++l) {
        const Index4& pair = pairs[first + std::min(l, lanes - 1)];
        for (int i = 0; i < 4; ++i) pack.particle[i][l] = pair[i];
        if (l >= lanes) continue;
        pack.lanes |= 1U << l;
        if (hung_together(pair, edges)) pack.rims |= 1U << l;
      }
    }
  };
  put(pairs_.vertex_face, false), put(pairs_.edge_edge, true);
  fast_.assign(packs_.size(), 0);
  if (touches_.size() * block_of_touches < packs_.size())
    touches_.resize((packs_.size() + block_of_touches - 1) / block_of_touches);
}

void PbdContacts::begin_at(std::span<const Place> places, std::span<const Vec3> gone) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Vec3 x = x_[i] + gone[i];
    start_[i] = Place{{gone[i].x(), gone[i].y(), gone[i].z()}, places[i].inverse_mass};
    at_start_[i] = Place{{x.x(), x.y(), x.z()}, places[i].inverse_mass};
  }
}

void PbdContacts::hold(std::span<Place> places, std::span<const Vec3> gone, std::span<const Vec3> v, int left,
                       const PbdContactSettings& settings, const PbdSpins::Outside& outside,
                       std::span<const PbdLimit> limits, FunctionRef<bool(int)> between) {
  begin_at(places, gone);
  limits_.assign(limits.begin(), limits.end()), limits_begun_ = false;
  forget_kept_back();
  const bool holds = age_ >= 0 && age_ < life_;
  const std::size_t strays = holds ? find_strays(places, Real(0.5)) : places.size();
  if (double(strays) > many_strays * double(places.size())) {
    search_all(places, v, left, settings);
  } else if (strays > 0) {
    aim(places, v, settings);
    if (!search(settings)) search_all(places, v, left, settings);
  }
  begin_pairs(places, settings);
  press(places, settings, outside);
  for (int round = 1; between(round) || round < least_rounds; ++round) press(places, settings, outside);
  if (settings.conservative) keep_all_apart(places, settings);
  ++age_;
}

void PbdContacts::settle(std::span<Place> places, std::span<const Vec3> gone,
                         const PbdContactSettings& settings, std::span<const PbdLimit> limits) {
  begin_at(places, gone);
  limits_.assign(limits.begin(), limits.end()), limits_begun_ = false;
  forget_kept_back();
  search_all(places, {}, 1, settings);
  begin_pairs(places, settings);
  keep_all_apart(places, settings);
  forget_kept_back();  // what others have moved has no velocity that could be kept
  age_ = -1;
}

void PbdContacts::forget_kept_back() {
  if (std::exchange(any_kept_back_, false)) std::fill(kept_back_.begin(), kept_back_.end(), Vec3::Zero());
  strikes_.clear();
}

void PbdContacts::give_back(std::span<Vec3> v, Real h) {
  if (!std::exchange(any_kept_back_, false)) return;
  for (std::size_t i = 0; i < kept_back_.size(); ++i) {
    if (kept_back_[i].isZero(0)) continue;
    v[i] += kept_back_[i] / h;
    kept_back_[i].setZero();
  }
}

void PbdContacts::keep_all_apart(std::span<Place> places, const PbdContactSettings& settings) {
  keep_apart(places);
  // Pushed out of their tubes, particles might meet what is not in the list. Where that does not end, all go
  // but a part of their way, and not at all at last: what is drawn together from far, as by tethers, would
  // otherwise stay where it is for ever.
  constexpr int whole = 2, most = 6;
  for (int again = 0; find_strays(places, 1) > 0; ++again) {
    if (again == most) {
      ++counts_.frozen, freeze(places), find_strays(places, 1);
    } else if (again >= whole) {
      go_part(places, Real(0.25)), find_strays(places, 1);
    }
    aim(places, {}, settings);
    if (!search(settings)) search_all(places, {}, 1, settings);
    begin_pairs(places, settings), keep_apart(places);
    if (again == most) break;
  }
}

}  // namespace plenum::inline PLENUM_ABI
