#include "plenum/linear/detail/coarsening.h"

#include <algorithm>
#include <array>
#include <map>

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr double strong_fraction = 0.2;  // of the strongest spring at either end
constexpr double smoothing = 2.0 / 3;    // 4/3 over 2, the bound of the largest eigenvalue of D^-1 L

/// Strong neighbours of every row that moves, without those that do not.
SparseRows<double> strong_neighbours(const NetGraph& net) {
  std::vector<double> strongest(net.num_rows, 0);
  for (std::size_t p = 0; p < net.pairs.size(); ++p)
    for (int end = 0; end < 2; ++end)
      strongest[net.pairs[p][end]] = std::max(strongest[net.pairs[p][end]], net.strength[p]);
  const auto strong = [&](std::size_t p) {
    const Index i = net.pairs[p][0], j = net.pairs[p][1];
    return !net.pinned[i] && !net.pinned[j] && net.strength[p] > 0 &&
           net.strength[p] >= strong_fraction * std::min(strongest[i], strongest[j]);
  };
  SparseRows<double> rows;
  rows.begin.assign(net.num_rows + 1, 0);
  for (std::size_t p = 0; p < net.pairs.size(); ++p)
    if (strong(p)) ++rows.begin[net.pairs[p][0] + 1], ++rows.begin[net.pairs[p][1] + 1];
  for (Index i = 0; i < net.num_rows; ++i) rows.begin[i + 1] += rows.begin[i];
  rows.index.resize(rows.begin.back());
  rows.weight.resize(rows.begin.back());
  auto next = rows.begin;
  for (std::size_t p = 0; p < net.pairs.size(); ++p)
    if (strong(p))
      for (int end = 0; end < 2; ++end) {
        const Index k = next[net.pairs[p][end]]++;
        rows.index[k] = net.pairs[p][1 - end];
        rows.weight[k] = net.strength[p];
      }
  return rows;
}

/// Aggregate of each row, -1 for rows that do not move or have no strong neighbour; their number.
Index aggregate(const SparseRows<double>& strong, std::vector<Index>& of) {
  const Index n = strong.num_rows();
  Index count = 0;
  of.assign(n, -1);
  // Pass 1: a row none of whose neighbours is taken takes them all.
  for (Index i = 0; i < n; ++i) {
    bool is_free = of[i] < 0 && strong.begin[i] < strong.begin[i + 1];
    for (Index k = strong.begin[i]; is_free && k < strong.begin[i + 1]; ++k)
      is_free = of[strong.index[k]] < 0;
    if (!is_free) continue;
    of[i] = count;
    for (Index k = strong.begin[i]; k < strong.begin[i + 1]; ++k) of[strong.index[k]] = count;
    ++count;
  }
  // Pass 2: the rest joins the neighbouring aggregate it is tied to most strongly, as pass 1 left it.
  const std::vector<Index> first = of;
  for (Index i = 0; i < n; ++i) {
    if (first[i] >= 0) continue;
    std::map<Index, double> ties;
    for (Index k = strong.begin[i]; k < strong.begin[i + 1]; ++k)
      if (first[strong.index[k]] >= 0) ties[first[strong.index[k]]] += strong.weight[k];
    double best = 0;
    for (const auto& [aggregate, tie] : ties)
      if (tie > best) best = tie, of[i] = aggregate;
  }
  // Pass 3: what still has no aggregate (a chain's remainder) makes its own, with its free neighbours.
  for (Index i = 0; i < n; ++i) {
    if (of[i] >= 0 || strong.begin[i] == strong.begin[i + 1]) continue;
    of[i] = count;
    for (Index k = strong.begin[i]; k < strong.begin[i + 1]; ++k)
      if (of[strong.index[k]] < 0) of[strong.index[k]] = count;
    ++count;
  }
  return count;
}

template <class T>
SparseRows<T> transpose(const SparseRows<T>& rows, Index num_columns) {
  SparseRows<T> result;
  result.begin.assign(num_columns + 1, 0);
  for (const Index column : rows.index) ++result.begin[column + 1];
  for (Index c = 0; c < num_columns; ++c) result.begin[c + 1] += result.begin[c];
  result.index.resize(rows.index.size());
  result.weight.resize(rows.index.size());
  auto next = result.begin;
  for (Index i = 0; i < rows.num_rows(); ++i)
    for (Index k = rows.begin[i]; k < rows.begin[i + 1]; ++k) {
      const Index at = next[rows.index[k]]++;
      result.index[at] = i;
      result.weight[at] = rows.weight[k];
    }
  return result;
}

}  // namespace

template <class T>
Coarsening<T> coarsen(const NetGraph& fine) {
  Coarsening<T> result;
  NetGraph& coarse = result.coarse;
  const SparseRows<double> strong = strong_neighbours(fine);
  std::vector<Index> of;
  coarse.num_rows = aggregate(strong, of);
  coarse.pinned.assign(coarse.num_rows, 0);

  // P = (I - omega D^-1 L) P0: rows sum to one, so that a translation of the net is one of the coarse net.
  SparseRows<double> p;
  std::map<Index, double> row;
  for (Index i = 0; i < fine.num_rows; ++i) {
    row.clear();
    if (of[i] >= 0) {
      double total = 0;
      for (Index k = strong.begin[i]; k < strong.begin[i + 1]; ++k) total += strong.weight[k];
      row[of[i]] += 1 - smoothing;
      for (Index k = strong.begin[i]; k < strong.begin[i + 1]; ++k)
        row[of[strong.index[k]]] += smoothing * strong.weight[k] / total;
    }
    for (const auto& [column, weight] : row) {
      p.index.push_back(column);
      p.weight.push_back(weight);
    }
    p.begin.push_back(static_cast<Index>(p.index.size()));
  }

  // An element with block B and interpolated ends c = P_i - P_j (ground: P_i) is the coarse energy c c^T (x)
  // B: an off-diagonal block c_I c_J B, which a spring of -c_I c_J B makes, and what that leaves of the
  // diagonal, a ground of c_I (sum_J c_J) B.
  struct Contribution {
    Index row, column;  // of the coarse pair; equal: a ground
    Index element;      // of the fine net
    double weight;
  };
  std::vector<Contribution> contributions;
  std::vector<std::pair<Index, double>> c;
  const auto add = [&](Index element, Index i, Index j) {
    c.clear();
    for (Index k = p.begin[i]; k < p.begin[i + 1]; ++k) c.emplace_back(p.index[k], p.weight[k]);
    if (j >= 0)
      for (Index k = p.begin[j]; k < p.begin[j + 1]; ++k) {
        const auto same =
            std::find_if(c.begin(), c.end(), [&](const auto& e) { return e.first == p.index[k]; });
        if (same == c.end())
          c.emplace_back(p.index[k], -p.weight[k]);
        else
          same->second -= p.weight[k];
      }
    std::sort(c.begin(), c.end());
    double sum = 0;
    for (const auto& entry : c) sum += entry.second;
    constexpr double nothing = 1e-9;
    for (std::size_t a = 0; a < c.size(); ++a) {
      for (std::size_t b = a + 1; b < c.size(); ++b)
        if (const double w = -c[a].second * c[b].second; std::abs(w) > nothing)
          contributions.push_back({c[a].first, c[b].first, element, w});
      if (const double w = c[a].second * sum; std::abs(w) > nothing)
        contributions.push_back({c[a].first, c[a].first, element, w});
    }
  };
  for (std::size_t s = 0; s < fine.pairs.size(); ++s)
    add(static_cast<Index>(s), fine.pairs[s][0], fine.pairs[s][1]);
  for (std::size_t g = 0; g < fine.ground.size(); ++g)
    add(static_cast<Index>(fine.pairs.size() + g), fine.ground[g], -1);
  // Pairs before grounds, each by row and column, and fine elements in order: sums have one order.
  std::sort(contributions.begin(), contributions.end(), [](const Contribution& a, const Contribution& b) {
    const bool ground_a = a.row == a.column, ground_b = b.row == b.column;
    return std::tie(ground_a, a.row, a.column, a.element) < std::tie(ground_b, b.row, b.column, b.element);
  });
  const auto fine_strength = [&](Index element) {
    const auto pairs = static_cast<Index>(fine.pairs.size());
    return element < pairs ? fine.strength[element] : fine.ground_strength[element - pairs];
  };
  for (std::size_t k = 0; k < contributions.size();) {
    const Index i = contributions[k].row, j = contributions[k].column;
    double strength = 0;
    for (; k < contributions.size() && contributions[k].row == i && contributions[k].column == j; ++k) {
      result.elements.index.push_back(contributions[k].element);
      result.elements.weight.push_back(static_cast<T>(contributions[k].weight));
      strength += contributions[k].weight * fine_strength(contributions[k].element);
    }
    result.elements.begin.push_back(static_cast<Index>(result.elements.index.size()));
    if (i == j) {
      coarse.ground.push_back(i);
      coarse.ground_strength.push_back(strength);
    } else {
      coarse.pairs.push_back({i, j});
      coarse.strength.push_back(strength);
    }
  }
  result.prolong.begin = p.begin;
  result.prolong.index = p.index;
  result.prolong.weight.assign(p.weight.begin(), p.weight.end());
  result.restrict_ = transpose(result.prolong, coarse.num_rows);
  return result;
}

template Coarsening<float> coarsen<float>(const NetGraph&);
template Coarsening<double> coarsen<double>(const NetGraph&);

}  // namespace plenum::inline PLENUM_ABI
