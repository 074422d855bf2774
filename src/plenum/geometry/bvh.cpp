#include "plenum/geometry/bvh.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace plenum::inline PLENUM_ABI {
namespace {

double half_area(const Aabb& box) {
  if (box.empty()) return 0;
  const Vector3<double> s = box.size().cast<double>();
  return s[0] * s[1] + s[1] * s[2] + s[2] * s[0];
}

constexpr int num_bins = 16;

/// Where to cut a set of items: after this bin of this axis.
struct Cut {
  int axis = -1;  // -1: none is better than a leaf
  int bin = 0;
  Real low = 0, scale = 0;  // bin of a centre: (centre - low) * scale

  int bin_of(Real centre) const {
    const Real at = (centre - low) * scale;
    return at > 0 ? static_cast<int>(std::min(at, Real(num_bins - 1))) : 0;  // NaN goes to bin 0
  }
};

class Builder {
 public:
  Builder(std::span<const Aabb> boxes, Index leaf_size, std::vector<Bvh::Node>& nodes,
          std::vector<Index>& order, Bvh::Scratch& scratch)
      : boxes_(boxes),
        leaf_size_(std::max(leaf_size, Index{1})),
        nodes_(nodes),
        order_(order),
        centres_(scratch.centres),
        right_(scratch.right),
        tasks_(scratch.tasks) {
    centres_.clear();
    right_.resize(boxes.size());
    tasks_.clear();
    tasks_.reserve(2 * Bvh::max_depth);
    for (const Aabb& box : boxes) centres_.push_back(box.centre());
    order_.resize(boxes.size());
    std::iota(order_.begin(), order_.end(), Index{0});
    nodes_.reserve(2 * boxes.size() / std::size_t(leaf_size_) + 1);
  }

  void build() {
    nodes_.emplace_back();
    tasks_.push_back({0, 0, static_cast<Index>(boxes_.size()), 0});
    while (!tasks_.empty()) {
      const Bvh::Scratch::Task task = tasks_.back();
      tasks_.pop_back();
      Aabb box;
      for (Index i = task.begin; i < task.end; ++i) box.extend(boxes_[order_[i]]);
      const Index count = task.end - task.begin;
      if (count <= leaf_size_) {
        nodes_[task.node] = {box.low, box.high, task.begin, count};
        continue;
      }
      const Index middle = split(task.begin, task.end, task.depth);
      const auto first = static_cast<Index>(nodes_.size());
      nodes_[task.node] = {box.low, box.high, first, 0};
      nodes_.resize(nodes_.size() + 2);
      tasks_.push_back({first + 1, middle, task.end, task.depth + 1});
      tasks_.push_back({first, task.begin, middle, task.depth + 1});
    }
  }

 private:
  Index split(Index begin, Index end, int depth) {
    // 2^31 items halved 30 times fit in leaves, so medians from here on keep within the greatest depth.
    constexpr int sah_depth = Bvh::max_depth - 32;
    if (depth < sah_depth) {
      const Cut cut = best_cut(begin, end);
      if (cut.axis >= 0) {
        // Stable, as std::stable_partition, which allocates.
        Index left = begin, right = 0;
        for (Index i = begin; i < end; ++i) {
          const Index item = order_[i];
          if (cut.bin_of(centres_[item][cut.axis]) <= cut.bin)
            order_[left++] = item;
          else
            right_[right++] = item;
        }
        std::copy(right_.begin(), right_.begin() + right, order_.begin() + left);
        return left;
      }
    }
    Aabb centres;
    for (Index i = begin; i < end; ++i) centres.extend(centres_[order_[i]]);
    int axis = 0;
    centres.size().maxCoeff(&axis);
    const Index middle = begin + (end - begin) / 2;
    // A strict order even of NaN and of equal centres: numbers decide.
    const auto before = [&](Index a, Index b) {
      const Real ca = centres_[a][axis], cb = centres_[b][axis];
      if (ca < cb) return true;
      if (cb < ca) return false;
      return a < b;
    };
    const bool finite = std::all_of(order_.begin() + begin, order_.begin() + end,
                                    [&](Index item) { return centres_[item][axis] == centres_[item][axis]; });
    if (finite)
      std::nth_element(order_.begin() + begin, order_.begin() + middle, order_.begin() + end, before);
    return middle;
  }

  Cut best_cut(Index begin, Index end) const {
    Aabb centres;
    for (Index i = begin; i < end; ++i) centres.extend(centres_[order_[i]]);
    Cut best;
    double best_cost = std::numeric_limits<double>::infinity();
    for (int axis = 0; axis < 3; ++axis) {
      const Real extent = centres.high[axis] - centres.low[axis];
      if (!(extent > 0)) continue;
      Cut cut{axis, 0, centres.low[axis], Real(num_bins) / extent};
      if (!(cut.scale < std::numeric_limits<Real>::infinity())) continue;
      struct Bin {
        Aabb box;
        Index count = 0;
      };
      std::array<Bin, num_bins> bins;
      for (Index i = begin; i < end; ++i) {
        Bin& bin = bins[cut.bin_of(centres_[order_[i]][axis])];
        bin.box.extend(boxes_[order_[i]]);
        ++bin.count;
      }
      std::array<double, num_bins> right_cost{};
      Bin right;
      for (int b = num_bins - 1; b > 0; --b) {
        right.box.extend(bins[b].box);
        right.count += bins[b].count;
        right_cost[b] = half_area(right.box) * right.count;
      }
      Bin left;
      for (int b = 0; b + 1 < num_bins; ++b) {
        left.box.extend(bins[b].box);
        left.count += bins[b].count;
        if (left.count == 0 || left.count == end - begin) continue;
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
  std::vector<Bvh::Node>& nodes_;
  std::vector<Index>& order_;
  std::vector<Vec3>& centres_;
  std::vector<Index>& right_;
  std::vector<Bvh::Scratch::Task>& tasks_;
};

constexpr std::size_t items_per_block = 512;

}  // namespace

Bvh::Bvh(std::span<const Aabb> boxes, Index leaf_size) {
  if (boxes.empty()) return;
  Scratch scratch;
  Builder(boxes, leaf_size, nodes_, order_, scratch).build();
  nodes_.shrink_to_fit();
}

void Bvh::rebuild(std::span<const Aabb> boxes, Index leaf_size, Scratch& scratch) {
  nodes_.clear(), order_.clear();
  if (boxes.empty()) return;
  nodes_.reserve(2 * boxes.size());
  Builder(boxes, leaf_size, nodes_, order_, scratch).build();
}

void Bvh::refit_leaves(FunctionRef<void(std::size_t, std::size_t)> leaves) {
  parallel_for(nodes_.size(), items_per_block, leaves);
}

void Bvh::refit_inner() {
  // Children come after their parent.
  for (std::size_t n = nodes_.size(); n-- > 0;) {
    Node& node = nodes_[n];
    if (node.count > 0) continue;
    const Node &a = nodes_[node.first], &b = nodes_[node.first + 1];
    node.low = a.low.cwiseMin(b.low);
    node.high = a.high.cwiseMax(b.high);
  }
}

std::vector<Aabb> triangle_boxes(std::span<const Vec3> x, std::span<const Index3> triangles) {
  std::vector<Aabb> boxes(triangles.size());
  parallel_for(triangles.size(), items_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t)
      for (int i = 0; i < 3; ++i) boxes[t].extend(x[triangles[t][i]]);
  });
  return boxes;
}

}  // namespace plenum::inline PLENUM_ABI
