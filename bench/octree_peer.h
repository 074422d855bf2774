#pragma once
// A plain octree over still boxes, the peer of Bvh in the bench.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "plenum/geometry/aabb.h"
#include "plenum/geometry/ray.h"

namespace plenum::bench {

/// Cubes cut into eight until they hold `leaf_size` items or `max_depth` is reached; a leaf lists every item
/// whose box overlaps it (Samet 1990, "The design and analysis of spatial data structures"). Items in more
/// than one leaf are met once a query, by a stamp.
class Octree {
 public:
  explicit Octree(std::span<const Aabb> boxes, std::size_t leaf_size = 8, int max_depth = 10)
      : boxes_(boxes), leaf_size_(leaf_size), max_depth_(max_depth), stamp_(boxes.size(), 0) {
    Aabb all;
    for (const Aabb& box : boxes) all.extend(box);
    const Vec3 half = Vec3::Constant(Real(0.5) * all.size().maxCoeff());
    std::vector<Index> items(boxes.size());
    std::iota(items.begin(), items.end(), Index{0});
    nodes_.emplace_back();
    split(0, {all.centre() - half, all.centre() + half}, items, 0);
  }

  template <class Visit>
  void overlapping(const Aabb& box, Visit&& visit) {
    ++now_;
    stack_.clear();
    if (nodes_[0].box.overlaps(box)) stack_.push_back({0, 0});
    while (!stack_.empty()) {
      const Node& node = nodes_[stack_.back().node];
      stack_.pop_back();
      for (Index i = node.begin; i < node.end; ++i)
        if (fresh(items_[i])) visit(items_[i]);
      if (node.first_child < 0) continue;
      for (Index child = node.first_child; child < node.first_child + 8; ++child)
        if (nodes_[child].box.overlaps(box)) stack_.push_back({child, 0});
    }
  }

  /// hit(item, t_max) gives the parameter at which the ray meets the item, or NaN. Returns the item or -1.
  template <class Hit>
  Index first_hit(const WatertightRay& ray, Real& t_max, Hit&& hit) {
    ++now_;
    Index found = -1;
    Real entry;
    stack_.clear();
    if (ray.meets(nodes_[0].box.low, nodes_[0].box.high, t_max, entry)) stack_.push_back({0, entry});
    while (!stack_.empty()) {
      const Entry top = stack_.back();
      stack_.pop_back();
      if (top.key > t_max) continue;
      const Node& node = nodes_[top.node];
      if (node.first_child >= 0) {
        const std::size_t begin = stack_.size();
        for (Index k = 0; k < 8; ++k) {
          const Node& child = nodes_[node.first_child + k];
          if ((child.first_child >= 0 || child.begin < child.end) &&
              ray.meets(child.box.low, child.box.high, t_max, entry))
            stack_.push_back({node.first_child + k, entry});
        }
        std::sort(stack_.begin() + static_cast<std::ptrdiff_t>(begin), stack_.end(),
                  [](const Entry& a, const Entry& b) { return a.key > b.key; });
        continue;
      }
      for (Index i = node.begin; i < node.end; ++i) {
        if (!fresh(items_[i])) continue;
        const Real t = hit(items_[i], t_max);
        if (t < t_max) t_max = t, found = items_[i];
      }
    }
    return found;
  }

 private:
  struct Node {
    Aabb box;
    Index first_child = -1, begin = 0, end = 0;
  };
  struct Entry {
    Index node;
    Real key;
  };
  bool fresh(Index item) { return std::exchange(stamp_[item], now_) != now_; }

  void split(Index n, const Aabb& box, const std::vector<Index>& items, int depth) {
    nodes_[n].box = box;
    if (items.size() <= leaf_size_ || depth == max_depth_) {
      nodes_[n].begin = static_cast<Index>(items_.size());
      items_.insert(items_.end(), items.begin(), items.end());
      nodes_[n].end = static_cast<Index>(items_.size());
      return;
    }
    const auto first = static_cast<Index>(nodes_.size());
    nodes_[n].first_child = first;
    nodes_.resize(nodes_.size() + 8);
    const Vec3 middle = box.centre();
    for (Index k = 0; k < 8; ++k) {
      Aabb cell = box;
      for (int axis = 0; axis < 3; ++axis) (k >> axis & 1 ? cell.low : cell.high)[axis] = middle[axis];
      std::vector<Index> inside;
      for (Index item : items)
        if (boxes_[item].overlaps(cell)) inside.push_back(item);
      split(first + k, cell, inside, depth + 1);
    }
  }

  std::span<const Aabb> boxes_;
  std::size_t leaf_size_;
  int max_depth_;
  std::vector<Node> nodes_;
  std::vector<Index> items_;
  std::vector<std::uint32_t> stamp_;
  std::uint32_t now_ = 0;
  std::vector<Entry> stack_;
};

}  // namespace plenum::bench
