#include "plenum/solvers/pbd/detail/spins.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "plenum/base/parallel.h"
#include "plenum/geometry/topology.h"
#include "plenum/solvers/pbd/detail/wide_places.h"

namespace plenum::inline PLENUM_ABI {

using detail::Place;
using detail::Wide;
using detail::wide;
using detail::Wide3;
using detail::WidePlace;

namespace {

/// Of the length of a body, a width below which it is a line, which does not turn about itself: what is left
/// of a spin about that comes and goes with the width.
constexpr double least_width = 0.03;
/// A particle that is this much lighter to a push than by its own mass is in a hand.
constexpr Real gripped = Real(0.99);
/// What turns faster than by this in a substep, by its sine, is slowed to it: by that of more than a right
/// angle, places would not tell of it.
constexpr double most_turn = 0.5;
constexpr std::size_t packs_per_block = 64;
constexpr std::size_t places_per_block = 4096;
using D3 = Vector3<double>;
using M3 = Matrix3<double>;

/// What holds particles together, by threes.
std::vector<Index3> ties_of(const Pbd::Model& model) {
  std::vector<Index3> out;
  const auto tie = [&](const auto& items) {
    for (const auto& item : items)
      for (int k = 1; k < int(item.size()); ++k) out.push_back(Index3(item[0], item[k], item[k]));
  };
  tie(model.edges), tie(model.hinges), tie(model.plates), tie(model.bends), tie(model.tetrahedra);
  tie(model.strain_triangles), tie(model.area_triangles), tie(model.strain_tetrahedra), tie(model.tethers);
  for (std::size_t c = 0; c < model.cluster_members.size(); ++c)
    for (const Index i : model.cluster_members[c]) out.push_back(Index3(model.cluster_members[c][0], i, i));
  for (const Pbd::Model::Enclosure& e : model.enclosures) {
    const Pbd::Part& part = model.parts[std::size_t(e.part)];
    for (Index i = 0; i < part.num_particles; ++i)
      out.push_back(Index3(part.first_particle, part.first_particle + i, part.first_particle + i));
  }
  return out;
}

// Half as many lanes as Wide has: the compiler takes vectors apart that are wider than the machine's.
constexpr int half = wide / 2;
typedef double Half __attribute__((vector_size(half * sizeof(double))));
using Half3 = detail::V3<Half>;
template <int from, int... l>
Half half_of(const Wide& a, std::integer_sequence<int, l...>) {
  return __builtin_convertvector(__builtin_shufflevector(a, a, (from + l)...), Half);
}
/// The lanes from `from` on, in double precision.
template <int from>
Half half_of(const Wide& a) {
  return half_of<from>(a, std::make_integer_sequence<int, half>());
}
template <int from>
Half3 half_of(const Wide3& a) {
  return {half_of<from>(a.x), half_of<from>(a.y), half_of<from>(a.z)};
}
template <class T>
double sum_of(const T& of) {
  double out = 0;
  for (std::size_t l = 0; l < sizeof of / sizeof of[0]; ++l) out += double(of[l]);
  return out;
}
template <class T>
void put_sums(const detail::V3<T>& of, double* to) {
  to[0] = sum_of(of.x), to[1] = sum_of(of.y), to[2] = sum_of(of.z);
}

/// As it lies among numbers.
typedef Real LooseWide __attribute__((vector_size(sizeof(Wide)), aligned(sizeof(Real)), may_alias));
/// Component c of `wide` vectors that lie one behind the other.
template <int c, int... l>
Wide component(const Wide (&rows)[3], std::integer_sequence<int, l...>) {
  constexpr auto is_last = [](int lane) { return 3 * lane + c >= 2 * wide; };
  const Wide low = __builtin_shufflevector(rows[0], rows[1], (is_last(l) ? 0 : 3 * l + c)...);
  return __builtin_shufflevector(low, rows[2], (is_last(l) ? 3 * l + c - wide : l)...);
}
Wide3 gather_ways(std::span<const Vec3> ways, const Index* index) {
  Wide3 out;
  if (index[wide - 1] == index[0] + wide - 1) {  // as they are in order, all of them
    const LooseWide* const from = reinterpret_cast<const LooseWide*>(ways[std::size_t(index[0])].data());
    const Wide rows[3] = {from[0], from[1], from[2]};
    constexpr auto lanes = std::make_integer_sequence<int, wide>();
    out = {component<0>(rows, lanes), component<1>(rows, lanes), component<2>(rows, lanes)};
    return out;
  }
  for (int l = 0; l < wide; ++l) {
    const Vec3& way = ways[std::size_t(index[l])];
    out.x[l] = way.x(), out.y[l] = way.y(), out.z[l] = way.z();
  }
  return out;
}
template <class V>
Wide3 fill3(const V& a) {
  return {detail::fill(a[0]), detail::fill(a[1]), detail::fill(a[2])};
}

void copy_places(std::span<const Place> places, AlignedVector<Place>& to) {
  to.resize(places.size());
  parallel_for(places.size(), places_per_block, [&](std::size_t begin, std::size_t end) {
    std::copy(places.begin() + std::ptrdiff_t(begin), places.begin() + std::ptrdiff_t(end),
              to.begin() + std::ptrdiff_t(begin));
  });
}

D3 twist_of(const M3& s) {
  return {s(1, 2) - s(2, 1), s(2, 0) - s(0, 2), s(0, 1) - s(1, 0)};
}

/// The rotation R near to none by which sum m (R y) cross x is sum m y' cross x: `moments` is the sum of
/// m y_i x_j, and `moved` that of m (y - y') cross x, which is small and told apart. By Newton's method: with
/// S that of m y_i x_j, turning y by w changes the sum by -(tr S - S) w. `left`: what it could not do about
/// of the sum, as where a body has come back from inside out. `turning`: the part of sum m y' cross x that is
/// turning.
M3 turn_back(const M3& moments, const D3& moved, const D3& turning, D3& left) {
  // Turning w answers `of`, where it may. Not of the symmetric part of S: of what is on a line and has turned
  // by an angle that would be 0 about halfway of it, and less.
  const auto answer = [](const M3& s, const D3& of, D3& w) {
    const double spread = s.trace();
    const M3 response = (1 + least_width * least_width) * spread * M3::Identity() - s;
    if (!(spread > 0) || !(response.determinant() > 0)) return false;
    w = response.partialPivLu().solve(of);
    return w.allFinite();
  };
  D3 too_much = D3::Zero(), w;
  if (answer(moments, turning, w) && w.norm() > most_turn) too_much = (1 - most_turn / w.norm()) * turning;
  M3 turn = M3::Identity();
  for (int k = 0; k < 4; ++k) {
    left = moved + twist_of((turn - M3::Identity()) * moments) + too_much;
    if (!answer(turn * moments, left, w) || !(w.squaredNorm() < 1)) return turn;
    turn = Quaternion<double>(1, w.x() / 2, w.y() / 2, w.z() / 2).normalized().toRotationMatrix() * turn;
    if (w.squaredNorm() < 1e-14) break;  // the next would be as the square of this one
  }
  left.setZero();
  return turn;
}

}  // namespace

void PbdSpins::lay_out(const Pbd::Model& model) {
  const std::size_t n = model.mass.size();
  const std::vector<Index3> ties = ties_of(model);
  const std::vector<Index> body_of_tie = triangle_components(n, ties);
  std::vector<Index>& body_of = body_of_;
  body_of.assign(n, -1);
  Index count = 0;
  for (std::size_t t = 0; t < ties.size(); ++t)
    for (const Index i : ties[t])
      body_of[std::size_t(i)] = body_of_tie[t], count = std::max(count, body_of_tie[t] + 1);
  std::vector<std::uint8_t> is_matched(n, 0);
  for (std::size_t c = 0; c < model.cluster_members.size(); ++c)
    for (const Index i : model.cluster_members[c]) is_matched[std::size_t(i)] = 1;
  packs_.clear(), blocks_.clear(), bodies_.clear(), turning_.clear();
  std::vector<std::vector<Index>> members(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < n; ++i)
    if (body_of[i] >= 0) members[std::size_t(body_of[i])].push_back(Index(i));
  for (const std::vector<Index>& of : members) {
    if (of.size() < 3) {  // a pair is projected once
      for (const Index i : of) body_of[std::size_t(i)] = -1;
      continue;
    }
    for (const Index i : of) body_of[std::size_t(i)] = Index(bodies_.size());
    Body& body = bodies_.emplace_back();
    body = {.first_block = blocks_.size(),
            .last_block = 0,
            .first = of[0],
            .is_matched = is_matched[std::size_t(of[0])] != 0};
    for (std::size_t k = 0; k < of.size(); k += wide) {
      if (k / wide % packs_per_block == 0) blocks_.push_back({bodies_.size() - 1, packs_.size(), 0});
      Pack& pack = packs_.emplace_back();
      pack = Pack{};
      for (std::size_t l = 0; l < std::size_t(wide); ++l) {
        pack.particle[l] = of[std::min(k + l, of.size() - 1)];
        pack.lanes |= unsigned(k + l < of.size()) << l;
      }
      blocks_.back().last = packs_.size();
    }
    body.last_block = blocks_.size();
  }
  sums_.resize(blocks_.size()), turns_.assign(bodies_.size(), Turn{});
}

void PbdSpins::begin(std::span<const Vec3> x0, std::span<const Real> inverse_mass) {
  turning_.clear();
  for (Body& body : bodies_) {
    int held = 0;
    body.held = -1;
    for (std::size_t b = body.first_block; b < body.last_block && held < 2; ++b)
      for (std::size_t k = blocks_[b].first; k < blocks_[b].last && held < 2; ++k) {
        Pack& pack = packs_[k];
        for (int l = 0; l < wide; ++l) {
          if ((pack.lanes >> l & 1) == 0) break;
          const auto i = std::size_t(pack.particle[l]);
          const Vec3 d = x0[i] - x0[std::size_t(body.first)];
          pack.from_first.x[l] = d.x(), pack.from_first.y[l] = d.y(), pack.from_first.z[l] = d.z();
          pack.mass[l] = inverse_mass[i] > 0 ? 1 / inverse_mass[i] : Real(0);
          if (inverse_mass[i] == 0) ++held, body.held = Index(i), body.held_from = d;
        }
      }
    body.turns = held < 2;
    for (std::size_t b = body.first_block; b < body.last_block && body.turns; ++b) turning_.push_back(b);
  }
}

void PbdSpins::note(std::span<const Place> places) {
  if (turning_.empty()) return;
  copy_places(places, before_);
  for (Turn& turn : turns_) turn.before += std::exchange(turn.left, D3::Zero());
}

void PbdSpins::pause(std::span<const Place> places) {
  if (!turning_.empty()) copy_places(places, paused_);
}

void PbdSpins::resume(std::span<const Place> places) {
  if (turning_.empty()) return;
  parallel_for(places.size(), places_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      for (int c = 0; c < 3; ++c) before_[i].x[c] += places[i].x[c] - paused_[i].x[c];
  });
}

void PbdSpins::take(std::span<Place> places, std::span<const Vec3> gone) {
  if (turning_.empty()) return;
  parallel_blocks(turning_.size(), [&](std::size_t number) {
    const std::size_t b = turning_[number];
    // What a hand holds is heavier, but to shape matching.
    const bool is_weighed = !bodies_[blocks_[b].body].is_matched;
    Wide mass{}, grips{};
    Wide3 at{}, was{}, moments[3] = {};
    Half3 way{}, moved{};
    for (std::size_t k = blocks_[b].first; k < blocks_[b].last; ++k) {
      const Pack& pack = packs_[k];
      const WidePlace start = detail::gather_place(before_.data(), pack.particle);
      const Wide3 then = start.x, now = detail::gather_place(places.data(), pack.particle).x;
      const auto moves = pack.mass > Wide{};
      const Wide of =
          is_weighed ? (moves ? detail::inverse_or_nothing(start.inverse_mass) : Wide{}) : pack.mass;
      const Wide3 old = pack.from_first + gather_ways(gone, pack.particle);
      // Rounded as numbers are, what they are turned by would be as much in every substep.
      const auto add = [&]<int from>(std::integral_constant<int, from>) __attribute__((always_inline)) {
        const Half3 dx = half_of<from>(of) * (half_of<from>(now) - half_of<from>(then));
        way += dx, moved += cross(dx, half_of<from>(old));
      };
      add(std::integral_constant<int, 0>()), add(std::integral_constant<int, half>());
      const Wide heavier = pack.mass * start.inverse_mass;
      grips += (moves & (heavier < detail::fill(gripped))) ? detail::fill(1) : Wide{};
      const Wide3 weighed = of * (pack.from_first + now);
      mass += of, at += of * (pack.from_first + then), was += of * old;
      moments[0] += weighed.x * old, moments[1] += weighed.y * old, moments[2] += weighed.z * old;
    }
    Sums& out = sums_[b];
    out.is_gripped = sum_of(grips) > 0, out.mass = sum_of(mass), put_sums(way, out.way), put_sums(at, out.at),
    put_sums(was, out.was);
    put_sums(moved, out.moved);
    for (int c = 0; c < 3; ++c) put_sums(moments[c], out.moments + 3 * c);
  });
  for (std::size_t n = 0; n < bodies_.size(); ++n) {
    const Body& body = bodies_[n];
    if (!body.turns) continue;
    double mass = 0;
    bool is_gripped = false;
    D3 way = D3::Zero(), at = D3::Zero(), was = D3::Zero(), moved = D3::Zero();
    M3 moments = M3::Zero();
    for (std::size_t b = body.first_block; b < body.last_block; ++b) {
      const Sums& s = sums_[b];
      is_gripped |= s.is_gripped, mass += s.mass, way += D3(s.way), at += D3(s.at), was += D3(s.was);
      moved += D3(s.moved),
          moments += Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(s.moments);
    }
    Turn& turn = turns_[n];
    turn = Turn{.before = turn.before};
    if (!(mass > 0) || (body.is_matched && is_gripped)) continue;
    D3 about = at / mass, end = about + way / mass;
    if (body.held >= 0) {
      const Place& p = places[std::size_t(body.held)];
      about = end = body.held_from.cast<double>() + D3(p.x[0], p.x[1], p.x[2]);
    }
    // What goes with a pin that is led has angular momentum about where that ends, and does not turn.
    const D3 off = at - mass * about;
    const D3 led =
        body.held >= 0
            ? D3(body.held_from.cast<double>() + gone[std::size_t(body.held)].cast<double>() - about)
            : D3(D3::Zero());
    moved -= way.cross(about);
    moments += mass * about * about.transpose() - (at + way) * about.transpose() - about * was.transpose();
    // Where nothing has moved, nothing has turned, however numbers are rounded.
    const D3 turning = twist_of(moments) - moved - off.cross(led);
    const M3 by = turn_back(moments, moved, turning, turn.left) - M3::Identity();
    for (int c = 0; c < 3; ++c) {
      turn.about[c] = Real(end[c]);
      for (int d = 0; d < 3; ++d) turn.by[3 * c + d] = Real(by(c, d));
    }
  }
  parallel_blocks(turning_.size(), [&](std::size_t number) {
    const std::size_t b = turning_[number];
    const Turn& turn = turns_[blocks_[b].body];
    const Wide3 about = {detail::fill(turn.about[0]), detail::fill(turn.about[1]),
                         detail::fill(turn.about[2])};
    Wide by[9];
    for (int c = 0; c < 9; ++c) by[c] = detail::fill(turn.by[c]);
    for (std::size_t k = blocks_[b].first; k < blocks_[b].last; ++k) {
      const Pack& pack = packs_[k];
      WidePlace p = detail::gather_place(places.data(), pack.particle);
      const Wide3 r = pack.from_first + p.x - about;
      const auto moves = pack.mass > Wide{};
      p.x.x += moves ? by[0] * r.x + by[1] * r.y + by[2] * r.z : Wide{};
      p.x.y += moves ? by[3] * r.x + by[4] * r.y + by[5] * r.z : Wide{};
      p.x.z += moves ? by[6] * r.x + by[7] * r.y + by[8] * r.z : Wide{};
      detail::put_place(places.data(), pack.particle, pack.lanes, p);
    }
  });
}

void PbdSpins::note_damped(std::span<const Place> places, std::span<const Vec3> gone,
                           std::span<const Place> ways) {
  parallel_blocks(turning_.size(), [&](std::size_t number) {
    const std::size_t b = turning_[number];
    const Index held = bodies_[blocks_[b].body].held;
    const Wide3 with = held >= 0 ? fill3(ways[std::size_t(held)].x) : Wide3{};
    Half3 sum{};
    for (std::size_t k = blocks_[b].first; k < blocks_[b].last; ++k) {
      const Pack& pack = packs_[k];
      const WidePlace damped = detail::gather_place(ways.data(), pack.particle);
      const Wide3 whole =
          detail::gather_place(places.data(), pack.particle).x - gather_ways(gone, pack.particle);
      const Wide mass = pack.mass > Wide{} ? detail::inverse_or_nothing(damped.inverse_mass) : Wide{};
      const auto add = [&]<int from>(std::integral_constant<int, from>) __attribute__((always_inline)) {
        sum += half_of<from>(mass) * cross(half_of<from>(whole - with), half_of<from>(damped.x - with));
      };
      add(std::integral_constant<int, 0>()), add(std::integral_constant<int, half>());
    }
    put_sums(sum, sums_[b].way);
  });
  // Damping turns nothing about halfway of ways: halfway to the end, m d / 2 cross (d' - d) is what it did.
  for (const std::size_t b : turning_) turns_[blocks_[b].body].left -= D3(sums_[b].way) / 2;
}

void PbdSpins::make_up(std::span<const Vec3> x, std::span<Vec3> v, Real h) {
  if (turning_.empty()) return;
  bool any = false;
  for (Turn& turn : turns_) {
    turn.left += std::exchange(turn.before, D3::Zero());
    any = any || turn.left != D3::Zero();
  }
  if (!any) return;
  const auto lacks = [&](std::size_t b) { return turns_[blocks_[b].body].left != D3::Zero(); };
  parallel_blocks(turning_.size(), [&](std::size_t number) {
    const std::size_t b = turning_[number];
    if (!lacks(b)) return;
    const Wide3 first = fill3(x[std::size_t(bodies_[blocks_[b].body].first)]);
    Half mass{};
    Half3 at{}, spread[3] = {};
    for (std::size_t k = blocks_[b].first; k < blocks_[b].last; ++k) {
      const Wide3 from_first = gather_ways(x, packs_[k].particle) - first;
      const auto add = [&]<int from>(std::integral_constant<int, from>) __attribute__((always_inline)) {
        const Half m = half_of<from>(packs_[k].mass);
        const Half3 r = half_of<from>(from_first), weighed = m * r;
        mass += m, at += weighed;
        spread[0] += weighed.x * r, spread[1] += weighed.y * r, spread[2] += weighed.z * r;
      };
      add(std::integral_constant<int, 0>()), add(std::integral_constant<int, half>());
    }
    sums_[b].mass = sum_of(mass), put_sums(at, sums_[b].at);
    for (int c = 0; c < 3; ++c) put_sums(spread[c], sums_[b].moments + 3 * c);
  });
  for (std::size_t n = 0; n < bodies_.size(); ++n) {
    const Body& body = bodies_[n];
    Turn& turn = turns_[n];
    const D3 left = std::exchange(turn.left, D3::Zero());
    std::fill_n(turn.by, 3, Real(0));
    if (left == D3::Zero() || !body.turns) continue;
    double mass = 0;
    D3 at = D3::Zero();
    M3 spread = M3::Zero();
    for (std::size_t b = body.first_block; b < body.last_block; ++b) {
      mass += sums_[b].mass, at += D3(sums_[b].at);
      spread += Eigen::Map<const M3>(sums_[b].moments);  // which is symmetric
    }
    if (!(mass > 0)) continue;
    const D3 first = x[std::size_t(body.first)].cast<double>(), middle = at / mass;
    const D3 about = body.held >= 0 ? D3(x[std::size_t(body.held)].cast<double>() - first) : middle;
    spread += mass * (about - middle) * (about - middle).transpose() - mass * middle * middle.transpose();
    if (!(spread.trace() > 0)) continue;
    const Eigen::LDLT<M3> inertia((1 + least_width * least_width) * spread.trace() * M3::Identity() - spread);
    D3 by = inertia.solve(left);
    if (!by.allFinite()) continue;
    by *= most_turn / std::max(by.norm(), most_turn);
    for (int c = 0; c < 3; ++c)
      turn.by[c] = Real(by[c] / double(h)), turn.about[c] = Real(about[c] + first[c]);
  }
  parallel_blocks(turning_.size(), [&](std::size_t number) {
    const std::size_t b = turning_[number];
    const Turn& turn = turns_[blocks_[b].body];
    const Vec3 spin = Eigen::Map<const Vec3>(turn.by), about = Eigen::Map<const Vec3>(turn.about);
    if (spin == Vec3::Zero()) return;
    for (std::size_t k = blocks_[b].first; k < blocks_[b].last; ++k)
      for (int l = 0; l < wide; ++l) {
        if (!(packs_[k].mass[l] > 0)) continue;
        const auto i = std::size_t(packs_[k].particle[l]);
        v[i] += spin.cross(x[i] - about);
      }
  });
}

}  // namespace plenum::inline PLENUM_ABI
