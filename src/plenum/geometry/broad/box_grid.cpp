#include "plenum/geometry/broad/box_grid.h"

#include <algorithm>
#include <cmath>

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr double most_cells = 64;  // of one item

constexpr std::size_t fewest_places = 1024, boxes_per_block = 256, cells_per_block = 512;

/// Teschner et al. 2003, section 4.1.
std::uint32_t hash_of(const Index3& cell) {
  return static_cast<std::uint32_t>(cell[0]) * 73856093u ^ static_cast<std::uint32_t>(cell[1]) * 19349663u ^
         static_cast<std::uint32_t>(cell[2]) * 83492791u;
}

}  // namespace

/// The place of a cell, or the first one after it that is free, which becomes its.
BoxGrid::Cell& BoxGrid::cell(const Index3& at) {
  const std::size_t mask = cells_.size() - 1;
  for (std::size_t k = hash_of(at) & mask;; k = (k + 1) & mask) {
    Cell& c = cells_[k];
    if (c.stamp == stamp_ && c.at == at) return c;
    if (c.stamp == stamp_) continue;
    c = {at, -1, stamp_};
    used_.push_back(static_cast<Index>(k));
    return c;
  }
}

/// Doubles the table, the cells of this call in it.
void BoxGrid::grow() {
  std::vector<Cell> old(std::max(fewest_places, 2 * cells_.size()));
  old.swap(cells_);
  std::vector<Index> used;
  used.swap(used_);
  used_.reserve(cells_.size() / 2);
  for (const Index k : used) cell(old[k].at).last = old[k].last;
}

void BoxGrid::find(const BoxItems& items, PairFilter wanted, std::vector<Index2>& pairs) {
  const std::size_t n = items.boxes.size();
  pairs.clear();
  active_.clear();
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!items.active[i]) continue;
    active_.push_back(static_cast<Index>(i));
    if (is_bounded(items.boxes[i])) sum += static_cast<double>(items.boxes[i].size().maxCoeff()), count += 1;
  }
  if (active_.empty()) return;
  const double per_cell = count > 0 && sum > 0 ? count / (1.2 * sum) : 1;
  ranges_.resize(n), is_large_.resize(n);
  parallel_for(n, boxes_per_block, [&](std::size_t begin, std::size_t end) {
    const auto coordinate = [&](Real x) { return std::floor(static_cast<double>(x) * per_cell); };
    for (std::size_t i = begin; i < end; ++i) {
      const Aabb& box = items.boxes[i];
      double cells = 1;
      bool fits = true;
      for (int c = 0; c < 3; ++c) {
        const double low = coordinate(box.low[c]), high = coordinate(box.high[c]);
        cells *= high - low + 1;
        fits &= low > -1e9 && high < 1e9;
        if (fits) ranges_[i].low[c] = static_cast<Index>(low), ranges_[i].high[c] = static_cast<Index>(high);
      }
      is_large_[i] = !fits || !(cells <= most_cells);
    }
  });
  ++stamp_;
  large_.clear(), used_.clear(), entries_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    if (is_large_[i]) {
      large_.push_back(static_cast<Index>(i));
      continue;
    }
    const Range& range = ranges_[i];
    for (Index x = range.low[0]; x <= range.high[0]; ++x)
      for (Index y = range.low[1]; y <= range.high[1]; ++y)
        for (Index z = range.low[2]; z <= range.high[2]; ++z) {
          if (2 * used_.size() >= cells_.size()) grow();
          Cell& c = cell({x, y, z});
          entries_.push_back({static_cast<Index>(i), c.last});
          c.last = static_cast<Index>(entries_.size() - 1);
        }
  }
  found_.clear();
  blocks_.gather(used_.size(), cells_per_block, found_,
                 [&](std::size_t begin, std::size_t end, std::vector<Index2>& list) {
                   for (std::size_t k = begin; k < end; ++k) {
                     const Cell& c = cells_[used_[k]];
                     for (Index e = c.last; e >= 0; e = entries_[e].before) {
                       const Index j = entries_[e].item;
                       for (Index f = entries_[e].before; f >= 0; f = entries_[f].before) {
                         const Index i = entries_[f].item;  // smaller: items come in order
                         // Of the cells that both touch, the one with the low corner of what they share.
                         if (ranges_[i].low.cwiseMax(ranges_[j].low) != c.at) continue;
                         if (!items.active[i] && !items.active[j]) continue;
                         if (items.boxes[i].overlaps(items.boxes[j]) && wanted(i, j)) list.push_back({i, j});
                       }
                     }
                   }
                 });
  for (const Index i : large_) {
    const auto meet = [&](Index j) {
      if (j == i || (is_large_[j] && j < i) || !items.boxes[i].overlaps(items.boxes[j])) return;
      if (wanted(i, j)) found_.push_back({std::min(i, j), std::max(i, j)});
    };
    if (items.active[i]) {
      for (std::size_t j = 0; j < n; ++j) meet(static_cast<Index>(j));
    } else {
      // Two large ones of which the other is active: that one, if it comes later, does not look back.
      for (const Index j : active_)
        if (j != i && items.boxes[i].overlaps(items.boxes[j]) && (!is_large_[j] || j > i) && wanted(i, j))
          found_.push_back({std::min(i, j), std::max(i, j)});
    }
  }
  sorter_.sort(n, found_, pairs);
}

}  // namespace plenum::inline PLENUM_ABI
