#pragma once
// A broad phase by a uniform grid.
#include "plenum/geometry/broad/box_pairs.h"

namespace plenum::inline PLENUM_ABI {

/// Boxes are filed under the cells of a uniform grid that they touch, found by hashing (Teschner et al. 2003,
/// "Optimized spatial hashing for collision detection of deformable objects"). Each place of the table bears
/// the number of the call that wrote it last; to any other call it is empty, so nothing is cleared, and only
/// cells that hold something are looked at. Cells are somewhat larger than the mean active box; what covers
/// very many of them is compared with every active item instead.
class BoxGrid {
 public:
  void find(const BoxItems& items, PairFilter wanted, std::vector<Index2>& pairs);

 private:
  struct Range {
    Index3 low, high;  ///< cells that an item touches, both ends included
  };
  struct Cell {
    Index3 at;
    Index last;               ///< entry
    std::uint64_t stamp = 0;  ///< of the call that wrote it
  };
  struct Entry {
    Index item, before;  ///< the entry made before in the same cell, -1
  };
  Cell& cell(const Index3& at);
  void grow();

  std::vector<Index> large_, active_;
  std::vector<std::uint8_t> is_large_;
  std::vector<Range> ranges_;   // [N]
  std::vector<Cell> cells_;     // [a power of two]; at most half of them are in use
  std::vector<Index> used_;     // cells of this call, in the order in which items came to them
  std::vector<Entry> entries_;  // of this call
  std::uint64_t stamp_ = 0;
  std::vector<Index2> found_;
  BlockPairs blocks_;
  PairSorter sorter_;
};

}  // namespace plenum::inline PLENUM_ABI
