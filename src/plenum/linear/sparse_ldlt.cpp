#include "plenum/linear/sparse_ldlt.h"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cassert>
#include <iterator>
#include <set>
#include <string>

#include "plenum/base/error.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Neighbours of each row, rising, without itself.
std::vector<std::vector<Index>> graph_of(Index n, std::span<const Index2> positions) {
  std::vector<std::vector<Index>> graph(static_cast<std::size_t>(n));
  for (const Index2& at : positions) {
    if (at[0] == at[1]) continue;
    graph[std::size_t(at[0])].push_back(at[1]);
    graph[std::size_t(at[1])].push_back(at[0]);
  }
  for (std::vector<Index>& row : graph) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
  return graph;
}

/// New place of each row if always one of least degree goes first: no fill for trees.
std::vector<Index> minimum_degree(std::vector<std::vector<Index>> graph) {
  std::vector<Index> order(graph.size(), 0), joined;
  std::set<std::pair<std::size_t, Index>> by_degree;
  for (std::size_t i = 0; i < graph.size(); ++i) by_degree.emplace(graph[i].size(), Index(i));
  for (Index k = 0; !by_degree.empty(); ++k) {
    const Index i = by_degree.begin()->second;
    by_degree.erase(by_degree.begin());
    order[std::size_t(i)] = k;
    const std::vector<Index> clique = std::move(graph[std::size_t(i)]);
    for (const Index j : clique) {
      std::vector<Index>& row = graph[std::size_t(j)];
      by_degree.erase({row.size(), j});
      joined.clear();
      std::set_union(row.begin(), row.end(), clique.begin(), clique.end(), std::back_inserter(joined));
      joined.erase(std::remove_if(joined.begin(), joined.end(), [&](Index r) { return r == i || r == j; }),
                   joined.end());
      row = joined;
      by_degree.emplace(row.size(), j);
    }
  }
  return order;
}

/// The same approximately, for large graphs, whose degrees take long to keep.
std::vector<Index> approximate_minimum_degree(const std::vector<std::vector<Index>>& graph) {
  using Matrix = Eigen::SparseMatrix<double, Eigen::ColMajor, Index>;
  const auto n = static_cast<Index>(graph.size());
  std::vector<Eigen::Triplet<double, Index>> triplets;
  for (Index i = 0; i < n; ++i) {
    triplets.emplace_back(i, i, 1.0);
    for (const Index j : graph[std::size_t(i)]) triplets.emplace_back(i, j, 1.0);
  }
  Matrix pattern(n, n);
  pattern.setFromTriplets(triplets.begin(), triplets.end());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, Index> inverse;
  Eigen::AMDOrdering<Index>()(pattern, inverse);  // its k-th index is the row that comes k-th
  std::vector<Index> order(graph.size());
  for (Index k = 0; k < n; ++k) order[std::size_t(inverse.indices()[k])] = k;
  return order;
}

constexpr std::size_t large = 4096;  // [rows]

}  // namespace

std::vector<Index> elimination_order(Index n, std::span<const Index2> positions) {
  std::vector<std::vector<Index>> graph = graph_of(n, positions);
  return graph.size() < large ? minimum_degree(std::move(graph)) : approximate_minimum_degree(graph);
}

void SparseLdlt::analyze(Index n, std::span<const Index2> positions) {
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const auto [i, j] = std::pair(positions[k][0], positions[k][1]);
    if (i < 0 || j < 0 || i >= n || j >= n)
      throw Error(Problem{.key = "positions[" + std::to_string(k) + "]",
                          .what = "lies outside of the matrix",
                          .value = std::to_string(i) + ", " + std::to_string(j),
                          .allowed = "0 to " + std::to_string(n - 1)});
  }
  n_ = n;
  const auto size = static_cast<std::size_t>(n);
  order_ = elimination_order(n, positions);

  // The upper triangle by columns, rows in order, each once.
  struct Place {
    Index column, row;
    auto operator<=>(const Place&) const = default;
  };
  const auto place_of = [&](const Index2& at) {
    const Index a = order_[std::size_t(at[0])], b = order_[std::size_t(at[1])];
    return Place{std::max(a, b), std::min(a, b)};
  };
  std::vector<Place> places;
  for (Index k = 0; k < n; ++k) places.push_back({k, k});
  for (const Index2& at : positions) places.push_back(place_of(at));
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  upper_begin_.assign(size + 1, 0);
  upper_row_.clear();
  for (const Place& place : places) {
    ++upper_begin_[std::size_t(place.column) + 1];
    upper_row_.push_back(place.row);
  }
  for (std::size_t k = 0; k < size; ++k) upper_begin_[k + 1] += upper_begin_[k];
  upper_value_.assign(places.size(), 0);
  place_.clear();
  for (const Index2& at : positions)
    place_.push_back(static_cast<std::size_t>(std::lower_bound(places.begin(), places.end(), place_of(at)) -
                                              places.begin()));

  // The elimination tree, and the number of entries in each column of L.
  parent_.assign(size, -1);
  visited_.assign(size, -1);
  std::vector<std::size_t> count(size, 0);
  for (Index k = 0; k < n; ++k) {
    visited_[std::size_t(k)] = k;
    for (std::size_t p = upper_begin_[std::size_t(k)]; p < upper_begin_[std::size_t(k) + 1]; ++p)
      for (auto i = static_cast<std::size_t>(upper_row_[p]); visited_[i] != k; i = std::size_t(parent_[i])) {
        if (parent_[i] < 0) parent_[i] = k;
        ++count[i];
        visited_[i] = k;
      }
  }
  column_begin_.assign(size + 1, 0);
  for (std::size_t k = 0; k < size; ++k) column_begin_[k + 1] = column_begin_[k] + count[k];
  row_.assign(column_begin_[size], 0);
  value_.assign(column_begin_[size], 0);
  column_end_.assign(size, 0);
  path_.assign(size, 0);
  inverse_pivot_.assign(size, 0);
  work_.assign(size, 0);
}

int SparseLdlt::factorize(std::span<const double> values, double cancelled) {
  assert(values.size() == place_.size());
  std::fill(upper_value_.begin(), upper_value_.end(), 0.0);
  for (std::size_t k = 0; k < values.size(); ++k) upper_value_[place_[k]] += values[k];
  std::fill(visited_.begin(), visited_.end(), Index(-1));
  std::fill(work_.begin(), work_.end(), 0.0);
  const auto n = static_cast<std::size_t>(n_);
  int dropped = 0;
  for (std::size_t k = 0; k < n; ++k) {
    // Row k of L: a triangular solve whose pattern are the paths from the entries of column k to the root,
    // descendants before ancestors at the end of path_.
    std::size_t top = n;
    visited_[k] = static_cast<Index>(k);
    for (std::size_t p = upper_begin_[k]; p < upper_begin_[k + 1]; ++p) {
      auto i = static_cast<std::size_t>(upper_row_[p]);
      work_[i] += upper_value_[p];
      std::size_t length = 0;
      for (; visited_[i] != static_cast<Index>(k); i = std::size_t(parent_[i])) {
        path_[length++] = static_cast<Index>(i);
        visited_[i] = static_cast<Index>(k);
      }
      while (length > 0) path_[--top] = path_[--length];
    }
    const double diagonal = work_[k];
    double pivot = diagonal;
    work_[k] = 0;
    for (; top < n; ++top) {
      const auto i = static_cast<std::size_t>(path_[top]);
      const double y = work_[i];
      work_[i] = 0;
      for (std::size_t p = column_begin_[i]; p < column_end_[i]; ++p)
        work_[std::size_t(row_[p])] -= value_[p] * y;
      const double l = y * inverse_pivot_[i];
      pivot -= l * y;
      row_[column_end_[i]] = static_cast<Index>(k);
      value_[column_end_[i]++] = l;
    }
    column_end_[k] = column_begin_[k];
    const bool depends = !(pivot > cancelled * diagonal);
    dropped += depends;
    inverse_pivot_[k] = depends ? 0 : 1 / pivot;
  }
  return dropped;
}

void SparseLdlt::solve(std::span<double> x) {
  const auto n = static_cast<std::size_t>(n_);
  assert(x.size() == n);
  double* const y = work_.data();
  for (std::size_t i = 0; i < n; ++i) y[order_[i]] = x[i];
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t p = column_begin_[j]; p < column_begin_[j + 1]; ++p) y[row_[p]] -= value_[p] * y[j];
  for (std::size_t j = n; j-- > 0;) {
    double sum = y[j] * inverse_pivot_[j];
    for (std::size_t p = column_begin_[j]; p < column_begin_[j + 1]; ++p) sum -= value_[p] * y[row_[p]];
    y[j] = sum;
  }
  for (std::size_t i = 0; i < n; ++i) x[i] = y[order_[i]];
}

}  // namespace plenum::inline PLENUM_ABI
