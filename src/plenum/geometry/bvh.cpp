#include "plenum/geometry/bvh.h"

#include <algorithm>

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t items_per_block = 512;

}  // namespace

double Bvh::cost() const {
  return ordered_sum(nodes_.size(), items_per_block, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t n = begin; n < end; ++n) {
      const Vector3<double> d = (nodes_[n].high - nodes_[n].low).cast<double>();
      sum += (d[0] * d[1] + d[1] * d[2] + d[2] * d[0]) * std::max(nodes_[n].count, Index{1});
    }
    return sum;
  });
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
