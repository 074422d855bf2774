// Shape matching of overlapping clusters.
#include "plenum/solvers/pbd/detail/shapes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plenum/elements/shape_matching.h"
#include "plenum/solvers/pbd/detail/wide_places.h"

namespace plenum::inline PLENUM_ABI {

using detail::Four;
using detail::Place;
using detail::Wide;
using detail::wide;
using detail::Wide3;

namespace {

/// With 1 a cluster would be a liquid, which flows without end.
constexpr Real most_flexible = Real(0.999);

Four four(const Vec3& a) {
  return Four{a.x(), a.y(), a.z(), 0};
}
constexpr std::size_t members_per_block = 256;

Four load_four(const Real* p) {
  Four a;
  std::memcpy(&a, p, sizeof a);
  return a;
}

Rows clusters_around(std::size_t num_particles, const Rows& members, std::span<const Index> numbers) {
  Rows out;
  std::vector<Index> count(num_particles + 1, 0);
  for (const Index c : numbers)
    for (const Index i : members[std::size_t(c)]) ++count[std::size_t(i) + 1];
  out.offsets.assign(num_particles + 1, 0);
  std::partial_sum(count.begin(), count.end(), out.offsets.begin());
  out.items.resize(std::size_t(out.offsets.back()));
  std::vector<Index> at(out.offsets.begin(), out.offsets.end() - 1);
  for (std::size_t k = 0; k < numbers.size(); ++k)
    for (const Index i : members[std::size_t(numbers[k])])
      out.items[std::size_t(at[std::size_t(i)]++)] = Index(k);
  return out;
}

}  // namespace

template <int k>
void ShapeBatch<k>::lay_out(const Pbd::Model& model, std::span<const Index> numbers,
                            std::span<const Index> clusters_of) {
  clusters_.clear(), slots_.clear(), pieces_.clear(), matchings_.clear();
  rest_ = model.rest_position;
  asking_ = clusters_around(model.mass.size(), model.cluster_members, numbers);
  struct Piece {
    std::size_t cluster, first, count;
  };
  std::vector<Piece> pieces;
  std::vector<MatchedShape<k>> shapes;
  std::vector<Vector3<double>> x;
  std::vector<double> mass;
  const auto share = [&](Index i) {
    return double(model.mass[std::size_t(i)]) / double(clusters_of[std::size_t(i)]);
  };
  for (std::size_t c = 0; c < numbers.size(); ++c) {
    const auto number = static_cast<std::size_t>(numbers[c]);
    const std::span<const Index> members = model.cluster_members[number];
    x.clear(), mass.clear();
    for (const Index i : members)
      x.push_back(rest_[std::size_t(i)].template cast<double>()), mass.push_back(share(i));
    shapes.push_back(matched_shape<k>(x, mass));
    const MatchedShape<k>& s = shapes.back();
    Cluster& cluster = clusters_.emplace_back();
    cluster.centre = s.centre.template cast<Real>(), cluster.size = Real(s.size);
    cluster.per_size = Real(1 / s.size);
    for (std::size_t j = 0; j < 6; ++j) cluster.means[j] = Real(s.means[j]);
    cluster.first = members[0];
    const Pbd::Matching& matching = model.cluster_matching[number];
    cluster.flexibility =
        matching.mode == Pbd::ShapeMode::rigid ? Real(0) : std::min(matching.flexibility, most_flexible);
    cluster.first_piece = pieces.size();
    for (std::size_t first = 0; first < members.size(); first += members_per_piece)
      pieces.push_back({c, first, std::min<std::size_t>(members_per_piece, members.size() - first)});
    cluster.last_piece = pieces.size();
  }
  // Lanes hold pieces that are about as large.
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces[a].count > pieces[b].count; });
  for (std::size_t first = 0; first < order.size(); first += wide) {
    Pieces& lanes = pieces_.emplace_back();
    lanes.first_slot = slots_.size();
    lanes.last_slot = lanes.first_slot + pieces[order[first]].count;
    slots_.resize(lanes.last_slot, Slot{});
    for (std::size_t l = 0; l < std::size_t(wide); ++l) {
      const bool holds = first + l < order.size();
      const std::size_t p = order[holds ? first + l : first];
      const Piece& piece = pieces[p];
      lanes.piece[l] = holds ? p : pieces.size();
      lanes.cluster[l] = piece.cluster;
      const auto number = static_cast<std::size_t>(numbers[piece.cluster]);
      const std::span<const Index> members = model.cluster_members[number];
      double total = 0;
      for (const Index i : members) total += share(i);
      const MatchedShape<k>& s = shapes[piece.cluster];
      for (std::size_t j = lanes.first_slot; j < lanes.last_slot; ++j) {
        Slot& slot = slots_[j];
        const std::size_t m = j - lanes.first_slot;
        const bool is_there = holds && m < piece.count;
        const Index i = members[piece.first + (is_there ? m : 0)];
        slot.particle[l] = i;
        if (!is_there) continue;
        const double weight = share(i) / total;
        const Vector3<double> q = (rest_[std::size_t(i)].template cast<double>() - s.centre) / s.size;
        const std::array<double, k> at = shape_coordinates<k>(q, s.means);
        slot.weight[l] = Real(weight);
        for (std::size_t c = 0; c < std::size_t(k); ++c) slot.weighted[c][l] = Real(weight * at[c]);
      }
    }
  }
  sums_.assign((pieces.size() + 1) * sums_per_piece, 0);
  for (std::size_t first = 0; first < clusters_.size(); first += wide) {
    Matching& m = matchings_.emplace_back();
    m.count = int(std::min<std::size_t>(wide, clusters_.size() - first));
    for (int l = 0; l < wide; ++l) {
      const std::size_t c = first + std::size_t(std::min(l, m.count - 1));
      m.cluster[l] = c;
      m.flexibility[l] = clusters_[c].flexibility, m.size[l] = clusters_[c].size;
      for (int j = 0; j < k * k; ++j) m.inverse[j][l] = Real(shapes[c].inverse(j / k, j % k));
      for (int j = 0; j < 9; ++j) m.spread[j][l] = Real(shapes[c].spread(j / 3, j % 3));
      m.spread_scale[l] = Real(shapes[c].spread_scale);
    }
  }
}

template <int k>
void ShapeBatch<k>::forget() {
  for (Matching& m : matchings_) m.rotation = {Wide{}, Wide{}, Wide{}, detail::fill(1)};
}

template <int k>
void ShapeBatch<k>::count_from(std::span<const Vec3> x) {
  for (Cluster& c : clusters_) c.start = x[std::size_t(c.first)];
  parallel_for(pieces_.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p)
      for (std::size_t j = pieces_[p].first_slot; j < pieces_[p].last_slot; ++j)
        for (int l = 0; l < wide; ++l) {
          const Vec3 d = x[std::size_t(slots_[j].particle[l])] - clusters_[pieces_[p].cluster[l]].start;
          slots_[j].start.x[l] = d.x(), slots_[j].start.y[l] = d.y(), slots_[j].start.z[l] = d.z();
        }
  });
}

template <int k>
void ShapeBatch<k>::project_clusters(std::span<const Place> places) {
  parallel_for(pieces_.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      Wide3 centre{}, sum[k];
      for (Wide3& s : sum) s = Wide3{};
      for (std::size_t j = pieces_[p].first_slot; j < pieces_[p].last_slot; ++j) {
        const Slot& slot = slots_[j];
        const Wide3 x = slot.start + detail::gather_place(places.data(), slot.particle).x;
        centre += slot.weight * x;
        for (int c = 0; c < k; ++c) sum[c] += slot.weighted[c] * x;
      }
      for (int l = 0; l < wide; ++l) {
        Real* const out = &sums_[pieces_[p].piece[l] * sums_per_piece];
        if (pieces_[p].piece[l] * sums_per_piece + sums_per_piece == sums_.size()) continue;
        for (int c = 0; c < k; ++c)
          out[3 * c] = sum[c].x[l], out[3 * c + 1] = sum[c].y[l], out[3 * c + 2] = sum[c].z[l];
        out[3 * k] = centre.x[l], out[3 * k + 1] = centre.y[l], out[3 * k + 2] = centre.z[l];
      }
    }
  });
  parallel_for(matchings_.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Matching& m = matchings_[i];
      Wide3 sum[k + 1];
      for (int l = 0; l < wide; ++l) {
        const Cluster& cluster = clusters_[m.cluster[l]];
        std::array<Real, sums_per_piece> total{};
        for (std::size_t p = cluster.first_piece; p < cluster.last_piece; ++p)
          for (std::size_t j = 0; j < sums_per_piece; ++j) total[j] += sums_[p * sums_per_piece + j];
        for (std::size_t c = 0; c <= std::size_t(k); ++c)
          sum[c].x[l] = total[3 * c], sum[c].y[l] = total[3 * c + 1], sum[c].z[l] = total[3 * c + 2];
      }
      // Coordinates have means of zero: sums need no centre taken off, but for rounding.
      Wide3 rotation[3], map[k];
      {
        const Wide3 a[3] = {sum[0], sum[1], sum[2]};
        detail::wide_polar_rotation(a, m.rotation, rotation);
      }
      for (int c = 0; c < k; ++c) map[c] = Wide3{};
      for (int c = 0; c < 3; ++c) map[c] = m.size * rotation[c];
      if (detail::any(m.flexibility > Wide{})) {
        Wide3 best[k];
        for (int c = 0; c < k; ++c) {
          best[c] = Wide3{};
          for (int j = 0; j < k; ++j) best[c] += m.inverse[j * k + c] * sum[j];
        }
        // Its linear part goes back to its volume at rest (section 4.3), along the volume's gradient and so
        // by as little as may be of what is weighed: goals are then the projections of places onto what the
        // cluster may be, and a mean of such projections makes no way larger. By the same factor in all
        // directions, as there, clusters of few points in a thin body asked for more than they had, and
        // burst; by a part of the map itself, bodies that were drawn out asked for what they had most of, and
        // those of a flexibility of 0.999 burst. What is flat or inside out has no say.
        Wide3 linear[3];
        for (int c = 0; c < 3; ++c) {
          linear[c] = Wide3{};
          for (int j = 0; j < 3; ++j) linear[c] += (m.spread_scale * m.spread[3 * j + c]) * sum[j];
        }
        const Wide none{}, one = detail::fill(1), per_rest = one / (m.size * m.size * m.size);
        const Wide3 areas[3] = {cross(linear[1], linear[2]), cross(linear[2], linear[0]),
                                cross(linear[0], linear[1])};
        const Wide now = per_rest * dot(linear[0], areas[0]);
        const auto sound = now > detail::fill(Real(0.05));
        Wide3 gradient[3];
        Wide response = none;
        for (int c = 0; c < 3; ++c) {
          gradient[c] = Wide3{};
          for (int j = 0; j < 3; ++j) gradient[c] += m.spread[3 * j + c] * areas[j];
          response += per_rest * dot(gradient[c], areas[c]);
        }
        // Of what is small, by half in each direction.
        const Wide missing = detail::min(one - now, detail::fill(Real(1.5)) * now),
                   change = sound ? missing / (response > none ? response : one) : none,
                   by_map = sound ? m.flexibility : none;
        for (int c = 0; c < k; ++c) {
          if (c < 3) {
            best[c] += change * gradient[c];
            map[c] = (one - by_map) * map[c];
          }
          map[c] += by_map * best[c];
        }
      }
      for (int l = 0; l < m.count; ++l) {
        Real* const out = clusters_[m.cluster[l]].map.data();
        for (int c = 0; c <= k; ++c) {
          const Wide3& column = c < k ? map[c < k ? c : 0] : sum[k];
          out[4 * c] = column.x[l], out[4 * c + 1] = column.y[l], out[4 * c + 2] = column.z[l];
        }
      }
    }
  });
}

template <int k>
void ShapeBatch<k>::add_way(std::size_t particle, const Vec3& x0, const Place& place, Vec3& way) const {
  const Four rest = four(rest_[particle]), at = four(x0), gone = load_four(place.x);
  Four sum{};
  for (const Index number : asking_[particle]) {
    const Cluster& c = clusters_[std::size_t(number)];
    const Four q = c.per_size * (rest - four(c.centre));
    const auto column = [&](int j) { return load_four(c.map.data() + 4 * j); };
    Four goal = column(k) - (at - four(c.start));
    goal += q[0] * column(0) + q[1] * column(1) + q[2] * column(2);
    if constexpr (k == 9) {
      goal += (q[0] * q[0] - c.means[0]) * column(3) + (q[1] * q[1] - c.means[1]) * column(4) +
              (q[2] * q[2] - c.means[2]) * column(5);
      goal += (q[0] * q[1] - c.means[3]) * column(6) + (q[1] * q[2] - c.means[4]) * column(7) +
              (q[2] * q[0] - c.means[5]) * column(8);
    }
    sum += goal - gone;
  }
  way += Vec3(sum[0], sum[1], sum[2]);
}

template class ShapeBatch<3>;
template class ShapeBatch<9>;

void PbdShapes::lay_out(const Pbd::Model& model) {
  const std::size_t n = model.mass.size();
  std::vector<Index> affine, quadratic, clusters_of(n, 0);
  std::vector<Real> rate(n, 0);
  for (std::size_t c = 0; c < model.cluster_members.size(); ++c) {
    const Pbd::Matching& m = model.cluster_matching[c];
    (m.mode == Pbd::ShapeMode::quadratic ? quadratic : affine).push_back(Index(c));
    for (const Index i : model.cluster_members[c])
      ++clusters_of[std::size_t(i)], rate[std::size_t(i)] = m.rate;
  }
  affine_.lay_out(model, affine, clusters_of), quadratic_.lay_out(model, quadratic, clusters_of);
  find_pieces(model);
  per_share_.clear(), rate_.clear();
  for (const Index i : members_)
    per_share_.push_back(1 / Real(clusters_of[std::size_t(i)])), rate_.push_back(rate[std::size_t(i)]);
  given_.assign(members_.size(), Vec3::Zero());
}

/// Which particles hang together by clusters, in blocks.
void PbdShapes::find_pieces(const Pbd::Model& model) {
  std::vector<Index> of(model.mass.size(), -1);  // a particle of the same piece, the first one of itself
  const auto first_of = [&](Index i) {
    while (of[std::size_t(i)] != i) i = of[std::size_t(i)] = of[std::size_t(of[std::size_t(i)])];
    return i;
  };
  for (std::size_t c = 0; c < model.cluster_members.size(); ++c) {
    const std::span<const Index> members = model.cluster_members[c];
    for (const Index i : members)
      if (of[std::size_t(i)] < 0) of[std::size_t(i)] = i;
    for (const Index i : members) {
      const Index a = first_of(members[0]), b = first_of(i);
      of[std::size_t(std::max(a, b))] = std::min(a, b);
    }
  }
  members_.clear(), weight_.clear(), blocks_.clear(), pushed_.clear();
  for (std::size_t i = 0; i < of.size(); ++i)
    if (of[i] >= 0) of[i] = first_of(Index(i)), members_.push_back(Index(i));
  std::stable_sort(members_.begin(), members_.end(),
                   [&](Index a, Index b) { return of[std::size_t(a)] < of[std::size_t(b)]; });
  for (std::size_t first = 0, last = 0; first < members_.size(); first = last) {
    double mass = 0;
    for (; last < members_.size() && of[std::size_t(members_[last])] == of[std::size_t(members_[first])];
         ++last)
      mass += double(model.mass[std::size_t(members_[last])]);
    for (std::size_t j = first; j < last; ++j)
      weight_.push_back(double(model.mass[std::size_t(members_[j])]) / mass);
    for (std::size_t j = first; j < last; j += members_per_block)
      blocks_.push_back({pushed_.size(), j, std::min(last, j + members_per_block), {}});
    pushed_.emplace_back();
  }
  way_.resize(members_.size());
}

void PbdShapes::begin(std::span<const Vec3> x) {
  affine_.forget(), quadratic_.forget();
  count_from(x);
}
void PbdShapes::count_from(std::span<const Vec3> x) {
  affine_.count_from(x), quadratic_.count_from(x);
}
void PbdShapes::reset() {
  std::fill(given_.begin(), given_.end(), Vec3::Zero());
}

/// Sums of m dx vanish but for rounding, which is the same again and again in what lies still: it pushed
/// bodies on, by 0.1 m/s in two seconds of a hundred substeps. What it comes to is taken off.
void PbdShapes::project(std::span<Place> places, std::span<const Vec3> x0, const detail::Projection& how) {
  if (empty()) return;
  affine_.project_clusters(places), quadratic_.project_clusters(places);
  const bool has_affine = !affine_.empty(), has_quadratic = !quadratic_.empty();
  parallel_for(blocks_.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      Block& block = blocks_[b];
      block.sum.setZero();
      for (std::size_t j = block.first; j < block.last; ++j) {
        const auto i = static_cast<std::size_t>(members_[j]);
        Vec3 way = Vec3::Zero();
        if (has_affine) affine_.add_way(i, x0[i], places[i], way);
        if (has_quadratic) quadratic_.add_way(i, x0[i], places[i], way);
        way_[j] = per_share_[j] * way;
        block.sum += weight_[j] * way_[j].cast<double>();
      }
    }
  });
  std::fill(pushed_.begin(), pushed_.end(), Vector3<double>::Zero());
  for (const Block& block : blocks_) pushed_[block.piece] += block.sum;
  parallel_for(blocks_.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      const Block& block = blocks_[b];
      const Vec3 pushed = pushed_[block.piece].cast<Real>();
      for (std::size_t j = block.first; j < block.last; ++j) {
        Place& place = places[std::size_t(members_[j])];
        if (place.inverse_mass == 0) continue;
        // XPBD of C = x - goal with the energy m rate^2 C^2 / 2, a compliance of 1 / (m rate^2).
        const Real soft = rate_[j] > 0 ? how.compliance_scale / (rate_[j] * rate_[j]) : Real(0);
        const Vec3 change = how.part * (way_[j] - pushed - soft * given_[j]) / (1 + soft);
        given_[j] += change;
        for (int c = 0; c < 3; ++c) place.x[c] += change[c];
      }
    }
  });
}

}  // namespace plenum::inline PLENUM_ABI
