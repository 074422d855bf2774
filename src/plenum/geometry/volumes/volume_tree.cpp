#include "plenum/geometry/volumes/volume_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"

namespace plenum::inline PLENUM_ABI {
namespace {

void require_sound(std::span<const Vec3> x, std::span<const Index3> triangles, const TreeShape& shape) {
  if (triangles.empty()) throw Error("a hierarchy of volumes needs a triangle");
  for (const Index3& t : triangles)
    if ((t.array() < 0).any() || (t.array() >= static_cast<Index>(x.size())).any())
      throw Error(Problem{.what = "a triangle names a vertex that is not there",
                          .value = fmt::format("{}, {}, {}", t[0], t[1], t[2]),
                          .allowed = fmt::format("0 to {}", static_cast<Index>(x.size()) - 1)});
  for (const Vec3& p : x)
    if (!p.allFinite()) throw Error("a vertex of a hierarchy of volumes is not finite");
  if (shape.size() != 2 * triangles.size() - 1)
    throw Error(Problem{.what = "the shape of a tree is not one over the mesh's triangles",
                        .value = fmt::format("{} nodes", shape.size()),
                        .allowed = fmt::format("{}", 2 * triangles.size() - 1),
                        .remedy = "build it from triangle_boxes() of the same mesh"});
}

template <class Volume>
Volume fit_triangle(std::span<const Vec3> x, const Index3& t) {
  const Vec3 corners[] = {x[t[0]], x[t[1]], x[t[2]]};
  return fit<Volume>(corners);
}

constexpr std::size_t leaves_per_block = 256, nodes_per_block = 16;

}  // namespace

template <BoundingVolume Volume>
VolumeTree<Volume>::VolumeTree(std::span<const Vec3> x, std::span<const Index3> triangles, TreeShape shape) {
  require_sound(x, triangles, shape);
  nodes_.resize(shape.size());
  // The triangles below a node lie side by side in the order of a depth-first walk, from its first on.
  std::vector<Index> count(shape.size(), 1), first(shape.size(), 0), order(triangles.size());
  for (std::size_t n = shape.size(); n-- > 0;)
    if (shape[n] >= 0) count[n] = count[shape[n]] + count[shape[n] + 1];
  for (std::size_t n = 0; n < shape.size(); ++n) {
    nodes_[n].link = shape[n];
    if (shape[n] < 0) {
      order[first[n]] = ~shape[n];
    } else {
      first[shape[n]] = first[n];
      first[shape[n] + 1] = first[n] + count[shape[n]];
    }
  }
  parallel_for(nodes_.size(), nodes_per_block, [&](std::size_t begin, std::size_t end) {
    std::vector<Index> corners;
    std::vector<Vec3> points;
    for (std::size_t n = begin; n < end; ++n) {
      corners.clear(), points.clear();
      for (Index i = first[n]; i < first[n] + count[n]; ++i)
        for (Index v : triangles[order[i]]) corners.push_back(v);
      std::sort(corners.begin(), corners.end());
      corners.erase(std::unique(corners.begin(), corners.end()), corners.end());
      for (Index v : corners) points.push_back(x[v]);
      nodes_[n].volume = fit<Volume>(points);
    }
  });
}

template <BoundingVolume Volume>
void VolumeTree<Volume>::refit(std::span<const Vec3> x, std::span<const Index3> triangles) {
  parallel_for(nodes_.size(), leaves_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t n = begin; n < end; ++n)
      if (nodes_[n].is_leaf()) nodes_[n].volume = fit_triangle<Volume>(x, triangles[nodes_[n].triangle()]);
  });
  for (std::size_t n = nodes_.size(); n-- > 0;)  // children come after their parent
    if (const Index child = nodes_[n].link; child >= 0)
      nodes_[n].volume = merge(nodes_[child].volume, nodes_[child + 1].volume);
}

template class VolumeTree<Aabb>;
template class VolumeTree<Sphere>;
template class VolumeTree<Obb>;
template class VolumeTree<Kdop<14>>;
template class VolumeTree<Kdop<18>>;
template class VolumeTree<Kdop<26>>;

}  // namespace plenum::inline PLENUM_ABI
