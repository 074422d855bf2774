#include "plenum/geometry/broad/box_tree.h"

#include <algorithm>

namespace plenum::inline PLENUM_ABI {
namespace {

/// Share of its largest side by which a box is fattened.
constexpr Real fatness = Real(0.05);
constexpr std::size_t items_per_block = 64, pairs_per_block = 2048, usual_neighbours = 12;

bool contains(const Aabb& a, const Aabb& b) {
  return (a.low.array() <= b.low.array()).all() && (a.high.array() >= b.high.array()).all();
}

}  // namespace

void BoxTree::rebuild() {
  bounded_boxes_.clear();
  for (Index i : bounded_) bounded_boxes_.push_back(fat_[i]);
  tree_.rebuild(bounded_boxes_, 2, scratch_);
  built_cost_ = tree_.cost();
}

bool BoxTree::find_at_most(std::size_t most, const BoxItems& items, PairFilter wanted,
                           std::vector<Index2>& pairs) {
  const std::size_t n = items.boxes.size();
  pairs.clear();
  bool build = fat_.size() != n;
  if (build) {
    fat_.assign(n, Aabb{});  // empty: holds nothing
    active_.assign(n, 0);
    close_.clear();
    // Room for as many neighbours as solids have in a heap, so that motion seldom asks for more.
    close_.reserve(usual_neighbours * n), found_.reserve(usual_neighbours * n);
    pairs.reserve(usual_neighbours * n);
    dirty_items_.reserve(n);
    blocks_.reserve(n, items_per_block, usual_neighbours * items_per_block);
    blocks_.reserve(usual_neighbours * n, pairs_per_block, pairs_per_block);
  }
  // Who left its fat box, or became active; who stopped being it.
  dirty_.assign(n, 0);
  dirty_items_.clear();
  bool any_moved = false, any_stopped = false;
  for (std::size_t i = 0; i < n; ++i) {
    const bool active = items.active[i] != 0;
    if (!active && !active_[i] && contains(fat_[i], items.boxes[i])) continue;
    any_stopped |= active_[i] && !active;
    if (!contains(fat_[i], items.boxes[i])) {
      const Aabb& box = items.boxes[i];
      build |= is_bounded(box) != is_bounded(fat_[i]);
      fat_[i] = is_bounded(box) ? box.grown(fatness * box.size().maxCoeff()) : box;
      dirty_[i] = 1;
      any_moved = true;
    } else if (active && !active_[i]) {
      dirty_[i] = 1;
    }
    if (dirty_[i]) dirty_items_.push_back(static_cast<Index>(i));
    active_[i] = active;
  }
  if (build) {
    bounded_.clear(), unbounded_.clear();
    for (std::size_t i = 0; i < n; ++i)
      (is_bounded(fat_[i]) ? bounded_ : unbounded_).push_back(static_cast<Index>(i));
    rebuild();
  } else if (any_moved && !tree_.empty()) {
    tree_.refit([&](Index b) { return fat_[bounded_[b]]; });
    if (tree_.cost() > worn_out * built_cost_) rebuild();
  }
  if (any_stopped || !dirty_items_.empty())
    std::erase_if(close_, [&](const Index2& p) {
      return dirty_[p[0]] || dirty_[p[1]] || !(active_[p[0]] || active_[p[1]]);
    });
  const bool fits = blocks_.gather(
      dirty_items_.size(), items_per_block, close_,
      [&](std::size_t begin, std::size_t end, std::vector<Index2>& list) {
        for (std::size_t k = begin; k < end; ++k) {
          const Index i = dirty_items_[k];
          const auto meet = [&](Index j) {
            // Two that ask find each other twice.
            if (j == i || (dirty_[j] && j < i) || !(active_[i] || active_[j])) return;
            list.push_back({std::min(i, j), std::max(i, j)});
          };
          if (is_bounded(fat_[i])) {
            overlapping(fat_[i], meet);
          } else {
            for (std::size_t j = 0; j < n; ++j) meet(static_cast<Index>(j));
          }
        }
      },
      most);
  if (!fits) {
    fat_.clear();  // the next call begins anew
    return false;
  }
  found_.clear();
  blocks_.gather(close_.size(), pairs_per_block, found_,
                 [&](std::size_t begin, std::size_t end, std::vector<Index2>& list) {
                   for (std::size_t k = begin; k < end; ++k) {
                     const Index2& p = close_[k];
                     if (items.boxes[p[0]].overlaps(items.boxes[p[1]]) && wanted(p[0], p[1]))
                       list.push_back(p);
                   }
                 });
  sorter_.sort(n, found_, pairs);
  return true;
}

}  // namespace plenum::inline PLENUM_ABI
