#include "plenum/geometry/volumes/tree_shape.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "plenum/base/parallel.h"
#include "plenum/geometry/bvh.h"
#include "plenum/geometry/volumes/volume.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Every third bit of the result, from the 21 lowest of `bits`.
std::uint64_t spread(std::uint64_t bits) {
  std::uint64_t out = 0;
  for (int i = 0; i < 21; ++i) out |= (bits >> i & 1) << (3 * i);
  return out;
}

/// Items in the order of their centres along the curve of Morton 1966.
std::vector<Index> morton_order(std::span<const Aabb> boxes) {
  Aabb centres;
  for (const Aabb& box : boxes) centres.extend(box.centre());
  constexpr double cells = (1 << 21) - 1;
  const double size = centres.size().maxCoeff(), scale = size > 0 ? cells / size : 0;
  std::vector<std::pair<std::uint64_t, Index>> codes(boxes.size());
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Vector3<double> at = scale * (boxes[i].centre() - centres.low).cast<double>();
    for (int axis = 0; axis < 3; ++axis)
      codes[i].first |= spread(static_cast<std::uint64_t>(at[axis])) << axis;
    codes[i].second = static_cast<Index>(i);
  }
  std::sort(codes.begin(), codes.end());
  std::vector<Index> order;
  order.reserve(codes.size());
  for (const auto& code : codes) order.push_back(code.second);
  return order;
}

struct Cluster {
  Aabb box;
  Index link;  ///< what the shape has for it
};

}  // namespace

TreeShape top_down_tree(std::span<const Aabb> boxes) {
  const Bvh bvh(boxes, 1);
  TreeShape shape;
  shape.reserve(bvh.nodes().size());
  for (const Bvh::Node& node : bvh.nodes())
    shape.push_back(node.count > 0 ? ~bvh.order()[node.first] : node.first);
  return shape;
}

TreeShape bottom_up_tree(std::span<const Aabb> boxes, Index search_radius) {
  std::vector<Cluster> clusters, joined;
  for (Index item : morton_order(boxes)) clusters.push_back({boxes[item], ~item});
  std::vector<Index> best(clusters.size());
  TreeShape shape(2 * clusters.size() - 1);
  auto free = static_cast<Index>(shape.size());  // pairs fill the shape from its end, so parents come first
  while (clusters.size() > 1) {
    const auto n = static_cast<Index>(clusters.size());
    constexpr std::size_t clusters_per_block = 256;
    parallel_for(clusters.size(), clusters_per_block, [&](std::size_t begin, std::size_t end) {
      for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
        // A strict order of pairs that both sides share: the first of all pairs finds itself, so every round
        // joins some. Of equal areas, those whose places differ least as bits are first; so rows of equal
        // boxes fall into pairs, where the lowest numbers would make a chain.
        std::tuple<double, Index, Index> least{std::numeric_limits<double>::infinity(), 0, 0};
        best[i] = i > 0 ? i - 1 : i + 1;
        for (Index j = std::max(i - search_radius, Index{0}); j <= std::min(i + search_radius, n - 1); ++j) {
          if (j == i) continue;
          const double area = surface_area(merge(clusters[i].box, clusters[j].box));
          const std::tuple<double, Index, Index> key{area, i ^ j, std::min(i, j)};
          if (key < least) least = key, best[i] = j;
        }
      }
    });
    joined.clear();
    for (Index i = 0; i < n; ++i) {
      const Index j = best[i];
      if (best[j] != i)
        joined.push_back(clusters[i]);
      else if (i < j) {
        free -= 2;
        shape[free] = clusters[i].link;
        shape[free + 1] = clusters[j].link;
        joined.push_back({merge(clusters[i].box, clusters[j].box), free});
      }
    }
    std::swap(clusters, joined);
  }
  shape[0] = clusters[0].link;
  return shape;
}

}  // namespace plenum::inline PLENUM_ABI
