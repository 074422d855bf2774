#include "plenum/geometry/broad/box_grid.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr double most_cells = 64;  // of one item

/// Teschner et al. 2003, section 4.1.
std::uint32_t hash_of(std::int32_t x, std::int32_t y, std::int32_t z) {
  return static_cast<std::uint32_t>(x) * 73856093u ^ static_cast<std::uint32_t>(y) * 19349663u ^
         static_cast<std::uint32_t>(z) * 83492791u;
}

}  // namespace

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
  const double cell = count > 0 && sum > 0 ? 1.2 * sum / count : 1;
  const auto coordinate = [&](Real x) { return std::floor(static_cast<double>(x) / cell); };
  large_.clear(), entries_.clear();
  is_large_.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const Aabb& box = items.boxes[i];
    double low[3], high[3], cells = 1;
    bool fits = true;
    for (int c = 0; c < 3; ++c) {
      low[c] = coordinate(box.low[c]), high[c] = coordinate(box.high[c]);
      cells *= high[c] - low[c] + 1;
      fits &= low[c] > -1e9 && high[c] < 1e9;
    }
    if (!fits || !(cells <= most_cells)) {
      is_large_[i] = 1;
      large_.push_back(static_cast<Index>(i));
      continue;
    }
    for (auto x = static_cast<std::int32_t>(low[0]); x <= static_cast<std::int32_t>(high[0]); ++x)
      for (auto y = static_cast<std::int32_t>(low[1]); y <= static_cast<std::int32_t>(high[1]); ++y)
        for (auto z = static_cast<std::int32_t>(low[2]); z <= static_cast<std::int32_t>(high[2]); ++z)
          entries_.push_back({x, y, z, static_cast<Index>(i)});
  }
  const std::size_t buckets = std::bit_ceil(std::max<std::size_t>(64, entries_.size()));
  const auto bucket_of = [&](const Entry& e) { return hash_of(e.x, e.y, e.z) & (buckets - 1); };
  starts_.assign(buckets + 1, 0);
  for (const Entry& e : entries_) ++starts_[bucket_of(e) + 1];
  for (std::size_t b = 0; b < buckets; ++b) starts_[b + 1] += starts_[b];
  filed_.resize(entries_.size());
  for (std::size_t k = entries_.size(); k-- > 0;) filed_[--starts_[bucket_of(entries_[k]) + 1]] = entries_[k];
  // Bucket b now begins at starts_[b + 1].
  found_.clear();
  blocks_.gather(buckets, 1024, found_, [&](std::size_t begin, std::size_t end, std::vector<Index2>& list) {
    for (std::size_t b = begin; b < end; ++b) {
      const Index first = starts_[b + 1];
      const Index last = b + 1 < buckets ? starts_[b + 2] : static_cast<Index>(filed_.size());
      for (Index s = first; s < last; ++s)
        for (Index t = s + 1; t < last; ++t) {
          const Entry &e = filed_[s], &f = filed_[t];
          if (e.x != f.x || e.y != f.y || e.z != f.z) continue;
          if (!items.active[e.item] && !items.active[f.item]) continue;
          const Aabb &p = items.boxes[e.item], &q = items.boxes[f.item];
          if (!p.overlaps(q)) continue;
          // Of the cells that both touch, the one with the low corner of what they share.
          const Vec3 corner = p.low.cwiseMax(q.low);
          if (coordinate(corner[0]) != e.x || coordinate(corner[1]) != e.y || coordinate(corner[2]) != e.z)
            continue;
          if (wanted(e.item, f.item)) list.push_back({std::min(e.item, f.item), std::max(e.item, f.item)});
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
