#pragma once
// What hangs together, joined pair by pair.
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Sets of 0 ... n - 1, each named by its least member, so that the order of joins does not matter (Tarjan
/// 1975, "Efficiency of a good but not linear set union algorithm", with path halving).
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), Index(0)); }
  Index find(Index i) {
    while (parent_[std::size_t(i)] != i)
      i = parent_[std::size_t(i)] = parent_[std::size_t(parent_[std::size_t(i)])];
    return i;
  }
  /// Whether they were apart.
  bool join(Index a, Index b) {
    a = find(a), b = find(b);
    if (a != b) parent_[std::size_t(std::max(a, b))] = std::min(a, b);
    return a != b;
  }

 private:
  std::vector<Index> parent_;
};

}  // namespace plenum::inline PLENUM_ABI
