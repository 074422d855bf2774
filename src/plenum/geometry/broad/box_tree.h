#pragma once
// A broad phase by a hierarchy of fat boxes.
#include "plenum/geometry/broad/box_pairs.h"
#include "plenum/geometry/bvh.h"

namespace plenum::inline PLENUM_ABI {

/// Items are held in boxes somewhat larger than theirs, which stand while the items move within; a hierarchy
/// over these (bvh.h) is fitted to those that change, and built anew, on all threads, once its cost by the
/// surface area heuristic is `worn_out` of what it was when it was built. Pairs of fat boxes are kept from
/// call to call: only items that leave theirs, or become active, ask the hierarchy for their neighbours. So
/// what rests costs a comparison for each neighbour, and what is not active nothing. Idea: Bullet's
/// btDbvtBroadphase and Catto's b2BroadPhase.
class BoxTree {
 public:
  static constexpr double worn_out = 1.5;

  void find(const BoxItems& items, PairFilter wanted, std::vector<Index2>& pairs) {
    find_at_most(SIZE_MAX, items, wanted, pairs);
  }
  /// False, and no pairs, if there are more than `most` of fat boxes: memory is bounded by these.
  bool find_at_most(std::size_t most, const BoxItems& items, PairFilter wanted, std::vector<Index2>& pairs);

  /// Calls visit(item) for every item whose fat box overlaps `box`; items as of the last find().
  template <class Visit>
  void overlapping(const Aabb& box, Visit&& visit) const {
    for (Index i : unbounded_) visit(i);
    tree_.overlapping(box, [&](Index b) {
      const Index i = bounded_[b];
      if (fat_[i].overlaps(box)) visit(i);
    });
  }
  /// Over the fat boxes of what is not infinite; an item's number there is not the one it has here.
  const Bvh& hierarchy() const { return tree_; }

 private:
  void rebuild();

  std::vector<Aabb> fat_;             // [N]
  std::vector<std::uint8_t> active_;  // [N] as of the last call
  std::vector<std::uint8_t> dirty_;   // [N]
  std::vector<Index> dirty_items_;
  std::vector<Index> bounded_, unbounded_;
  std::vector<Aabb> bounded_boxes_;
  Bvh::Scratch scratch_;
  Bvh tree_;
  double built_cost_ = 0;
  std::vector<Index2> close_;  // pairs of fat boxes with an active item
  std::vector<Index2> found_;
  BlockPairs blocks_;
  PairSorter sorter_;
};

}  // namespace plenum::inline PLENUM_ABI
