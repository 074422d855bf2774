#pragma once
// A bounding volume hierarchy: a binary tree of axis-aligned boxes over any items that have boxes.
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/geometry/aabb.h"
#include "plenum/geometry/ray.h"

namespace plenum::inline PLENUM_ABI {

/// Built top-down by the binned surface area heuristic (Wald 2007, "On fast construction of SAH-based
/// bounding volume hierarchies"), with median splits where that finds none, at most `max_depth` deep. The
/// tree and the order of its nodes depend on the boxes alone, not on the number of threads that build it.
/// Queries read no items: they hand item numbers to the caller.
class Bvh {
 public:
  static constexpr int max_depth = 64;
  static constexpr Index default_leaf_size = 4;
  static constexpr int num_bins = 16;  ///< that centres are sorted into, per axis

  struct Node {
    Vec3 low, high;
    Index first;  ///< of the two neighbouring children, or of the leaf's items in order()
    Index count;  ///< items of a leaf; 0 for an inner node
  };

  Bvh() = default;
  /// boxes [N]; leaf_size >= 1: most items of a leaf.
  explicit Bvh(std::span<const Aabb> boxes, Index leaf_size = default_leaf_size);

  /// Memory for rebuild().
  struct Scratch {
    /// A set of items, side by side in the order, and the node over it.
    struct Task {
      Index node, begin, end;
      int depth;
    };
    struct Bin {
      Aabb box;
      Index count = 0;
    };
    using Bins = std::array<std::array<Bin, num_bins>, 3>;  // by axis
    std::vector<Vec3> centres;                              // [N] of the boxes
    std::vector<Index> moved;                               // [N] items on their way to a side
    std::vector<Index> num_left;                            // [blocks + 1] of all blocks before
    std::vector<Bins> bins;                                 // [blocks]
    std::vector<Node> top, below;         // of large sets; of each small one in its own part
    std::vector<Task> subtrees;           // small sets, in order
    std::vector<Index> num_nodes, bases;  // of each subtree, and where they will go
  };
  /// The tree that the constructor would make. Parallel; allocates nothing once it has met as many boxes.
  void rebuild(std::span<const Aabb> boxes, Index leaf_size, Scratch& scratch);

  bool empty() const { return nodes_.empty(); }
  std::span<const Node> nodes() const { return nodes_; }
  /// Item numbers, those of a leaf side by side.
  std::span<const Index> order() const { return order_; }
  Aabb bounds() const { return empty() ? Aabb{} : Aabb{nodes_[0].low, nodes_[0].high}; }
  /// [m^2] what the surface area heuristic makes small: half the areas of the nodes, those of leaves times
  /// their items. The work of queries of one kind grows in proportion (MacDonald and Booth 1990, "Heuristics
  /// for ray tracing using space subdivision"). Parallel.
  double cost() const;

  /// Fits the tree's boxes to items that moved; box_of(item) gives an item's box. The tree keeps its shape,
  /// so queries slow down when neighbours have moved far apart. Parallel, allocates nothing.
  template <class BoxOf>
  void refit(BoxOf&& box_of) {
    refit_leaves([&](std::size_t begin, std::size_t end) {
      for (std::size_t n = begin; n < end; ++n) {
        Node& node = nodes_[n];
        if (node.count == 0) continue;
        Aabb box;
        for (Index i = node.first; i < node.first + node.count; ++i) box.extend(box_of(order_[i]));
        node.low = box.low;
        node.high = box.high;
      }
    });
    refit_inner();
  }

  /// Calls visit(item) for every item whose leaf's box overlaps `box`.
  template <class Visit>
  void overlapping(const Aabb& box, Visit&& visit) const {
    Stack stack;
    if (!empty()) stack.push(0, 0);
    while (!stack.empty()) {
      const Node& node = nodes_[stack.pop().node];
      if ((node.low.array() > box.high.array()).any() || (node.high.array() < box.low.array()).any())
        continue;
      if (node.count > 0) {
        for (Index i = node.first; i < node.first + node.count; ++i) visit(order_[i]);
      } else {
        stack.push(node.first + 1, 0);
        stack.push(node.first, 0);
      }
    }
  }

  /// Branch and bound for the nearest item. squared_distance(slot) returns the squared distance from `x` to
  /// the item order()[slot]. Returns the slot of the nearest, or -1 if none is nearer than `best`, which on
  /// return holds its squared distance.
  template <class SquaredDistance>
  Index nearest(const Vec3& x, Real& best, SquaredDistance&& squared_distance) const {
    Index found = -1;
    each_near_leaf(x, best, [&](const Node& leaf) {
      for (Index i = leaf.first; i < leaf.first + leaf.count; ++i) {
        const Real d = squared_distance(i);
        if (d < best) {
          best = d;
          found = i;
        }
      }
    });
    return found;
  }

  /// Calls visit(leaf) for leaves whose boxes are nearer to `x` than the squared distance `best`, nearest
  /// side first; visit lowers `best` as it finds items.
  template <class Visit>
  void each_near_leaf(const Vec3& x, const Real& best, Visit&& visit) const {
    Stack stack;
    if (!empty()) stack.push(0, squared_distance_to(nodes_[0], x));
    while (!stack.empty()) {
      const Entry entry = stack.pop();
      if (!(entry.key < best)) continue;
      const Node* node = &nodes_[entry.node];
      while (node->count == 0) {
        const Node *near = &nodes_[node->first], *far = near + 1;
        Real to_near = squared_distance_to(*near, x), to_far = squared_distance_to(*far, x);
        if (to_far < to_near) {
          std::swap(near, far);
          std::swap(to_near, to_far);
        }
        if (to_far < best) stack.push(static_cast<Index>(far - nodes_.data()), to_far);
        node = to_near < best ? near : nullptr;
        if (!node) break;
      }
      if (node) visit(*node);
    }
  }

  /// Branch and bound for what comes first. key(box) is a lower bound of the keys of all in a box, infinite
  /// if none of it counts; calls visit(item) for items of leaves whose keys are at most `most`, nearest side
  /// first; visit lowers `most` as it finds items.
  template <class Key, class Visit>
  void front_to_back(const double& most, Key&& key, Visit&& visit) const {
    struct Far {
      Index node;
      double key;
    } stack[max_depth + 2];
    int size = 0;
    const auto key_of = [&](Index n) { return key(Aabb{nodes_[n].low, nodes_[n].high}); };
    if (!empty()) stack[size++] = {0, key_of(0)};
    while (size > 0) {
      const Far top = stack[--size];
      if (!(top.key <= most)) continue;
      const Node& node = nodes_[top.node];
      if (node.count > 0) {
        for (Index i = node.first; i < node.first + node.count; ++i) visit(order_[i]);
        continue;
      }
      const double keys[2] = {key_of(node.first), key_of(node.first + 1)};
      const int near = keys[1] < keys[0] ? 1 : 0;
      for (const int side : {1 - near, near})
        if (keys[side] <= most) stack[size++] = {node.first + side, keys[side]};
    }
  }

  /// First item along a ray. hit(slot, t_max) returns the parameter at which the ray meets the item
  /// order()[slot], or NaN. Returns the slot, or -1; t_max then is the hit's parameter.
  template <class Hit>
  Index first_hit(const WatertightRay& ray, Real& t_max, Hit&& hit) const {
    Index found = -1;
    Stack stack;
    Real entry;
    if (!empty() && ray.meets(nodes_[0].low, nodes_[0].high, t_max, entry)) stack.push(0, entry);
    while (!stack.empty()) {
      const Entry top = stack.pop();
      if (top.key > t_max) continue;
      const Node& node = nodes_[top.node];
      if (node.count > 0) {
        for (Index i = node.first; i < node.first + node.count; ++i) {
          const Real t = hit(i, t_max);
          if (t < t_max || (t == t_max && found < 0)) {
            t_max = t;
            found = i;
          }
        }
        continue;
      }
      Real entries[2];
      bool met[2];
      for (int side = 0; side < 2; ++side) {
        const Node& child = nodes_[node.first + side];
        met[side] = ray.meets(child.low, child.high, t_max, entries[side]);
      }
      const int near = met[0] && met[1] && entries[1] < entries[0] ? 1 : 0;
      for (const int side : {1 - near, near})
        if (met[side]) stack.push(node.first + side, entries[side]);
    }
    return found;
  }

 private:
  struct Entry {
    Index node;
    Real key;
  };
  /// Depth-first traversal leaves at most one sibling a level behind.
  struct Stack {
    Entry entries[max_depth + 2];
    int size = 0;
    bool empty() const { return size == 0; }
    void push(Index node, Real key) { entries[size++] = {node, key}; }
    Entry pop() { return entries[--size]; }
  };

  static Real squared_distance_to(const Node& node, const Vec3& x) {
    Real sum = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const Real below = node.low[axis] - x[axis], above = x[axis] - node.high[axis];
      const Real d = std::max(std::max(below, above), Real(0));
      sum += d * d;
    }
    return sum;
  }

  void refit_leaves(FunctionRef<void(std::size_t, std::size_t)> leaves);
  void refit_inner();

  std::vector<Node> nodes_;
  std::vector<Index> order_;
};

/// Boxes [T] of triangles.
std::vector<Aabb> triangle_boxes(std::span<const Vec3> x, std::span<const Index3> triangles);

}  // namespace plenum::inline PLENUM_ABI
