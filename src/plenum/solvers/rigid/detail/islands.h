#pragma once
// Disjoint sets of bodies that hang together.
#include <numeric>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Each set is named by its lowest member (Tarjan 1975, "Efficiency of a good but not linear set union
/// algorithm", with path halving), so the order of connections does not matter.
class Islands {
 public:
  void reset(std::size_t n) {
    parent_.resize(n);
    std::iota(parent_.begin(), parent_.end(), Index(0));
    leans_.assign(n, 0);
    stirs_.assign(n, 0);
  }
  /// A contact or joint between two dynamic bodies.
  void connect(Index a, Index b) {
    a = island(a), b = island(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }
  /// A contact or joint of a dynamic body with one that stands still: the island has something to rest on.
  void lean(Index a) { leans_[a] = 1; }
  /// One with what moves by itself: the island stays awake.
  void stir(Index a) { stirs_[a] = 1; }

  Index island(Index i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  bool leans(Index i) const { return leans_[i]; }
  bool is_stirred(Index i) const { return stirs_[i]; }

 private:
  std::vector<Index> parent_;
  std::vector<std::uint8_t> leans_, stirs_;
};

}}  // namespace plenum::PLENUM_ABI::detail
