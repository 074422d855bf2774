// Large sets of items are split by all threads together, one set after the other: bins are filled and items
// moved by blocks, as in Wald 2007, section 5. Once sets are small, each thread builds subtrees by itself.
// All is then put where one thread, going down the left side first, would have put it.
#include <algorithm>
#include <numeric>

#include "plenum/geometry/bvh.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Task = Bvh::Scratch::Task;
using Bin = Bvh::Scratch::Bin;
using Bins = Bvh::Scratch::Bins;
using Node = Bvh::Node;
constexpr int num_bins = Bvh::num_bins;

/// Items up to which a set is the work of one thread.
constexpr Index grain = 1024;

double half_area(const Aabb& box) {
  if (box.empty()) return 0;
  const Vector3<double> s = box.size().cast<double>();
  return s[0] * s[1] + s[1] * s[2] + s[2] * s[0];
}

/// Where to cut a set of items: after this bin of this axis.
struct Cut {
  int axis = -1;  // -1: none is better than a leaf
  int bin = 0;
  Real low = 0, scale = 0;  // bin of a centre: (centre - low) * scale; no cut if the scale is 0

  int bin_of(Real centre) const {
    const Real at = (centre - low) * scale;
    return at > 0 ? static_cast<int>(std::min(at, Real(num_bins - 1))) : 0;  // NaN goes to bin 0
  }
};

/// Tasks of a traversal that goes down before it goes aside, so that it leaves one behind a level.
struct Stack {
  Task tasks[Bvh::max_depth + 2];
  int size = 0;
  bool empty() const { return size == 0; }
  void push(const Task& task) { tasks[size++] = task; }
  Task pop() { return tasks[--size]; }
};

class Builder {
 public:
  Builder(std::span<const Aabb> boxes, Index leaf_size, std::vector<Index>& order, Bvh::Scratch& scratch)
      : boxes_(boxes), leaf_size_(std::max(leaf_size, Index{1})), order_(order), s_(scratch) {
    const std::size_t n = boxes.size();
    s_.centres.resize(n), s_.moved.resize(n), s_.below.resize(2 * n), order_.resize(n);
    parallel_for(n, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        s_.centres[i] = boxes[i].centre();
        order_[i] = static_cast<Index>(i);
      }
    });
    // On each level there are no more large sets than fit.
    const std::size_t most = Bvh::max_depth * (n / grain + 1);
    s_.top.reserve(2 * most), s_.subtrees.reserve(most);
    s_.num_nodes.reserve(most), s_.bases.reserve(most);
  }

  void build(std::vector<Node>& nodes) {
    split_large();
    const std::size_t n = s_.subtrees.size();
    s_.num_nodes.resize(n), s_.bases.resize(n);
    parallel_for(n, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t t = begin; t < end; ++t) s_.num_nodes[t] = build_subtree(s_.subtrees[t]);
    });
    join(nodes);
  }

 private:
  /// The nodes of large sets; of small ones the number of the subtree, as a leaf.
  void split_large() {
    s_.top.clear(), s_.subtrees.clear();
    s_.top.emplace_back();
    Stack stack;
    stack.push({0, 0, static_cast<Index>(boxes_.size()), 0});
    while (!stack.empty()) {
      const Task task = stack.pop();
      if (task.end - task.begin <= grain) {
        s_.top[task.node].first = static_cast<Index>(s_.subtrees.size());
        s_.top[task.node].count = 1;
        s_.subtrees.push_back(task);
        continue;
      }
      const Aabb box = bounds(task, boxes_);
      const Index middle = split(task), first = static_cast<Index>(s_.top.size());
      s_.top[task.node] = {box.low, box.high, first, 0};
      s_.top.resize(s_.top.size() + 2);
      stack.push({first + 1, middle, task.end, task.depth + 1});
      stack.push({first, task.begin, middle, task.depth + 1});
    }
  }

  /// Below a small set; first children count from its own node. Returns how many nodes there are.
  Index build_subtree(const Task& root) {
    Node* const nodes = &s_.below[2 * static_cast<std::size_t>(root.begin)];
    Index size = 1;
    Stack stack;
    stack.push({0, root.begin, root.end, root.depth});
    while (!stack.empty()) {
      const Task task = stack.pop();
      const Aabb box = bounds(task, boxes_);
      const Index count = task.end - task.begin;
      if (count <= leaf_size_) {
        nodes[task.node] = {box.low, box.high, task.begin, count};
        continue;
      }
      const Index middle = split(task), first = size;
      nodes[task.node] = {box.low, box.high, first, 0};
      size += 2;
      stack.push({first + 1, middle, task.end, task.depth + 1});
      stack.push({first, task.begin, middle, task.depth + 1});
    }
    return size;
  }

  /// All nodes into one array: two children side by side, then what is below the left one, then the right.
  void join(std::vector<Node>& nodes) {
    std::size_t size = s_.top.size() - s_.subtrees.size();
    for (const Index n : s_.num_nodes) size += static_cast<std::size_t>(n);
    nodes.resize(size);
    Index next = 1;
    Stack stack;  // of nodes of the top, `begin` where they go
    stack.push({0, 0, 0, 0});
    while (!stack.empty()) {
      const Task task = stack.pop();
      const Node& node = s_.top[task.node];
      if (node.count > 0) {
        s_.subtrees[node.first].node = task.begin;
        s_.bases[node.first] = next;
        next += s_.num_nodes[node.first] - 1;
        continue;
      }
      nodes[task.begin] = {node.low, node.high, next, 0};
      stack.push({node.first + 1, next + 1, 0, 0});
      stack.push({node.first, next, 0, 0});
      next += 2;
    }
    parallel_for(s_.subtrees.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t t = begin; t < end; ++t) {
        const Task& root = s_.subtrees[t];
        const Node* const from = &s_.below[2 * static_cast<std::size_t>(root.begin)];
        for (Index k = 0; k < s_.num_nodes[t]; ++k) {
          Node node = from[k];
          if (node.count == 0) node.first += s_.bases[t] - 1;
          nodes[k == 0 ? root.node : s_.bases[t] + k - 1] = node;
        }
      }
    });
  }

  /// Items of a block of a set: many enough, and few blocks.
  static std::size_t block_of(std::size_t count) { return std::max(std::size_t{grain}, count / 64 + 1); }

  /// The smallest box around what[item] for the items of a set.
  template <class What>
  Aabb bounds(const Task& task, const What& what) const {
    const auto around = [&](std::size_t begin, std::size_t end) {
      Aabb box;
      for (std::size_t i = begin; i < end; ++i) box.extend(what[order_[i]]);
      return box;
    };
    const auto first = static_cast<std::size_t>(task.begin), last = static_cast<std::size_t>(task.end);
    if (last - first <= grain) return around(first, last);
    return ordered_reduce(
        last - first, grain, Aabb{},
        [&](std::size_t begin, std::size_t end) { return around(first + begin, first + end); },
        [](Aabb a, const Aabb& b) {
          a.extend(b);
          return a;
        });
  }

  /// Moves the items of a set to their sides; returns where the right one begins.
  Index split(const Task& task) {
    // 2^31 items halved 30 times fit in leaves, so medians from here on keep within the greatest depth.
    constexpr int sah_depth = Bvh::max_depth - 32;
    const Aabb centres = bounds(task, s_.centres);
    if (task.depth < sah_depth) {
      const Cut cut = best_cut(task, centres);
      if (cut.axis >= 0)
        return partition(task, [&](Index item) { return cut.bin_of(s_.centres[item][cut.axis]) <= cut.bin; });
    }
    int axis = 0;
    centres.size().maxCoeff(&axis);
    const Index middle = task.begin + (task.end - task.begin) / 2;
    // A strict order even of equal centres: numbers decide.
    const auto before = [&](Index a, Index b) {
      const Real ca = s_.centres[a][axis], cb = s_.centres[b][axis];
      if (ca < cb) return true;
      if (cb < ca) return false;
      return a < b;
    };
    const auto begin = order_.begin() + task.begin, end = order_.begin() + task.end;
    const bool finite =
        std::all_of(begin, end, [&](Index item) { return s_.centres[item][axis] == s_.centres[item][axis]; });
    if (finite) std::nth_element(begin, order_.begin() + middle, end, before);
    return middle;
  }

  /// Stable, as std::stable_partition, which allocates.
  template <class GoesLeft>
  Index partition(const Task& task, GoesLeft&& goes_left) {
    const auto n = static_cast<std::size_t>(task.end - task.begin), block = block_of(n);
    Index* const items = &order_[task.begin];
    Index* const moved = &s_.moved[task.begin];
    if (n <= grain) {
      Index left = 0, right = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const Index item = items[i];
        if (goes_left(item))
          items[left++] = item;
        else
          moved[right++] = item;
      }
      std::copy(moved, moved + right, items + left);
      return task.begin + left;
    }
    s_.num_left.assign((n + block - 1) / block + 1, 0);
    parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
      s_.num_left[begin / block + 1] =
          static_cast<Index>(std::count_if(items + begin, items + end, goes_left));
    });
    std::partial_sum(s_.num_left.begin(), s_.num_left.end(), s_.num_left.begin());
    const Index all_left = s_.num_left.back();
    parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
      Index left = s_.num_left[begin / block];
      Index right = all_left + static_cast<Index>(begin) - left;
      for (std::size_t i = begin; i < end; ++i) moved[goes_left(items[i]) ? left++ : right++] = items[i];
    });
    parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
      std::copy(moved + begin, moved + end, items + begin);
    });
    return task.begin + all_left;
  }

  void fill(const Index* begin, const Index* end, const Cut (&cuts)[3], Bins& bins) const {
    for (const Cut& cut : cuts) {
      if (cut.scale == 0) continue;
      for (const Index* i = begin; i < end; ++i) {
        Bin& bin = bins[cut.axis][cut.bin_of(s_.centres[*i][cut.axis])];
        bin.box.extend(boxes_[*i]);
        ++bin.count;
      }
    }
  }
  void fill(const Task& task, const Cut (&cuts)[3], Bins& bins) {
    const auto n = static_cast<std::size_t>(task.end - task.begin), block = block_of(n);
    const Index* const items = &order_[task.begin];
    if (n <= grain) return fill(items, items + n, cuts, bins);
    s_.bins.resize((n + block - 1) / block);
    parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
      s_.bins[begin / block] = {};
      fill(items + begin, items + end, cuts, s_.bins[begin / block]);
    });
    for (const Bins& of_block : s_.bins)
      for (int axis = 0; axis < 3; ++axis)
        for (int b = 0; b < num_bins; ++b) {
          bins[axis][b].box.extend(of_block[axis][b].box);
          bins[axis][b].count += of_block[axis][b].count;
        }
  }

  Cut best_cut(const Task& task, const Aabb& centres) {
    Cut cuts[3];
    for (int axis = 0; axis < 3; ++axis) {
      cuts[axis] = {axis, 0, centres.low[axis], 0};
      const Real extent = centres.high[axis] - centres.low[axis];
      // The scale of what is narrower would overflow; compilers divide before they ask, so never by 0.
      constexpr Real least = 2 * Real(num_bins) / std::numeric_limits<Real>::max();
      const Real scale = Real(num_bins) / (extent + least);
      if (extent > least) cuts[axis].scale = scale;
    }
    Bins bins;
    fill(task, cuts, bins);
    const Index count = task.end - task.begin;
    Cut best;
    double best_cost = std::numeric_limits<double>::infinity();
    for (const Cut& cut : cuts) {
      if (cut.scale == 0) continue;
      const auto& of_axis = bins[cut.axis];
      std::array<double, num_bins> right_cost{};
      Bin right;
      for (int b = num_bins - 1; b > 0; --b) {
        right.box.extend(of_axis[b].box);
        right.count += of_axis[b].count;
        right_cost[b] = half_area(right.box) * right.count;
      }
      Bin left;
      for (int b = 0; b + 1 < num_bins; ++b) {
        left.box.extend(of_axis[b].box);
        left.count += of_axis[b].count;
        if (left.count == 0 || left.count == count) continue;
        const double cost = half_area(left.box) * left.count + right_cost[b + 1];
        if (cost < best_cost) {
          best_cost = cost;
          best = cut;
          best.bin = b;
        }
      }
    }
    return best;
  }

  std::span<const Aabb> boxes_;
  Index leaf_size_;
  std::vector<Index>& order_;
  Bvh::Scratch& s_;
};

}  // namespace

Bvh::Bvh(std::span<const Aabb> boxes, Index leaf_size) {
  Scratch scratch;
  rebuild(boxes, leaf_size, scratch);
  nodes_.shrink_to_fit();
}

void Bvh::rebuild(std::span<const Aabb> boxes, Index leaf_size, Scratch& scratch) {
  nodes_.clear(), order_.clear();
  if (boxes.empty()) return;
  nodes_.reserve(2 * boxes.size());
  Builder(boxes, leaf_size, order_, scratch).build(nodes_);
}

}  // namespace plenum::inline PLENUM_ABI
