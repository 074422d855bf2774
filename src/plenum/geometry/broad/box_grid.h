#pragma once
// A broad phase by a uniform grid.
#include "plenum/geometry/broad/box_pairs.h"

namespace plenum::inline PLENUM_ABI {

/// Boxes are filed under the cells of a uniform grid that they touch, found by hashing (Teschner et al. 2003,
/// "Optimized spatial hashing for collision detection of deformable objects"). Cells are somewhat larger than
/// the mean active box; what covers very many of them is compared with every active item instead.
class BoxGrid {
 public:
  void find(const BoxItems& items, PairFilter wanted, std::vector<Index2>& pairs);

 private:
  struct Entry {
    std::int32_t x, y, z;
    Index item;
  };
  std::vector<Index> large_, active_;
  std::vector<std::uint8_t> is_large_;
  std::vector<Entry> entries_, filed_;
  std::vector<Index> starts_;
  std::vector<Index2> found_;
  BlockPairs blocks_;
  PairSorter sorter_;
};

}  // namespace plenum::inline PLENUM_ABI
