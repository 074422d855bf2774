#pragma once
// Broad phases: which of many boxes overlap. Three ways, one shape; see BroadPhase.
#include <atomic>
#include <concepts>
#include <limits>
#include <span>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/geometry/aabb.h"

namespace plenum::inline PLENUM_ABI {

/// Boxes [N] by reference. Items that are not active need not move and are paired with active ones alone.
/// Boxes may be infinite, as planes' are; they may not be empty.
struct BoxItems {
  std::span<const Aabb> boxes;           ///< [N] m
  std::span<const std::uint8_t> active;  ///< [N] 0 or 1
};

/// By comparisons alone, which infinite boxes do not trap.
inline bool is_bounded(const Aabb& box) {
  constexpr Real most = std::numeric_limits<Real>::max();
  return (box.low.array() >= -most).all() && (box.high.array() <= most).all();
}

/// Whether a pair whose boxes overlap is wanted. Asked from several threads at once.
using PairFilter = FunctionRef<bool(Index, Index)>;

/// find() gives all pairs of wanted items whose closed boxes overlap and of which one is active at least:
/// (smaller, larger), each once, sorted. The result depends on its arguments alone; what is remembered from
/// earlier calls only saves time. N may change from call to call. Allocates nothing once it has met as many
/// items and pairs.
template <class B>
concept BroadPhase = std::default_initializable<B> &&
    requires(B b, const BoxItems& items, PairFilter wanted, std::vector<Index2>& pairs) {
  b.find(items, wanted, pairs);
};

/// Room for n pairs in all; for as many again if there is less, so that maxima that creep up soon ask no
/// more.
inline void make_room(std::vector<Index2>& pairs, std::size_t n) {
  if (pairs.capacity() < n) pairs.reserve(2 * n);
}

/// Sorts pairs of items below n: by counting on the first, then each short list by the second.
class PairSorter {
 public:
  void sort(std::size_t n, std::span<const Index2> unsorted, std::vector<Index2>& pairs);

 private:
  std::vector<Index> starts_;
};

/// Lists that blocks of a parallel loop fill by themselves, joined in the blocks' order.
class BlockPairs {
 public:
  /// Room for `pairs` pairs of each block of n items.
  void reserve(std::size_t n, std::size_t block, std::size_t pairs) {
    const std::size_t blocks = (n + block - 1) / block;
    if (lists_.size() < blocks) lists_.resize(blocks);
    for (std::size_t b = 0; b < blocks; ++b) lists_[b].reserve(pairs);
  }
  /// fill(begin, end, list) for consecutive ranges of at most `block` of n items; appends all lists to `out`.
  /// False, and nothing appended, if there are more than `most` with those that are there: what is over is
  /// not even collected, but for the ranges that threads are at.
  template <class Fill>
  bool gather(std::size_t n, std::size_t block, std::vector<Index2>& out, Fill&& fill,
              std::size_t most = SIZE_MAX) {
    const std::size_t blocks = (n + block - 1) / block;
    if (lists_.size() < blocks) lists_.resize(blocks);
    std::atomic<std::size_t> count = out.size();
    parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
      // One range may be all there is.
      for (std::size_t b = begin; b < end; b += block) {
        std::vector<Index2>& list = lists_[b / block];
        list.clear();
        if (count.load(std::memory_order_relaxed) > most) continue;
        fill(b, std::min(b + block, end), list);
        count.fetch_add(list.size(), std::memory_order_relaxed);
      }
    });
    // Whether it is too many does not depend on which came first.
    if (count > most) return false;
    std::size_t size = out.size();
    for (std::size_t b = 0; b < blocks; ++b) size += lists_[b].size();
    make_room(out, size);
    for (std::size_t b = 0; b < blocks; ++b) out.insert(out.end(), lists_[b].begin(), lists_[b].end());
    return true;
  }

 private:
  std::vector<std::vector<Index2>> lists_;
};

/// Sweep along the axis of the largest variance (Baraff 1992, "Dynamic simulation of non-penetrating rigid
/// bodies", section 3.2), in the order of the last call, which is nearly sorted.
class SweepAndPrune {
 public:
  void find(const BoxItems& items, PairFilter wanted, std::vector<Index2>& pairs);

 private:
  struct Entry {
    Aabb box;
    Index item;
    bool active;
  };
  std::vector<Index> order_;
  std::vector<Entry> sorted_;
  std::vector<Index2> found_;
  BlockPairs blocks_;
  PairSorter sorter_;
};

}  // namespace plenum::inline PLENUM_ABI
