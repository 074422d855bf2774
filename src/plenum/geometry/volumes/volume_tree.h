#pragma once
// Hierarchies of bounding volumes of any kind over the triangles of a mesh.
#include <cstdint>
#include <span>
#include <vector>

#include "plenum/geometry/volumes/kdop.h"
#include "plenum/geometry/volumes/obb.h"
#include "plenum/geometry/volumes/sphere.h"
#include "plenum/geometry/volumes/tree_shape.h"

namespace plenum::inline PLENUM_ABI {

/// A binary tree with one triangle a leaf. There are trees of Aabb, Sphere, Obb and Kdop<14>, <18>, <26>.
template <BoundingVolume Volume>
class VolumeTree {
 public:
  struct Node {
    Volume volume;
    Index link;  ///< as in TreeShape

    bool is_leaf() const { return link < 0; }
    Index triangle() const { return ~link; }
  };

  /// Each node's volume is fit() to the corners below it. x [V] m; triangles [T >= 1][3] < V; shape is a tree
  /// over the triangles (tree_shape.h, triangle_boxes()). Throws Error for a mesh without triangles, indices
  /// out of range, coordinates that are not finite and a shape of another number of items. Parallel; the
  /// result does not depend on the number of threads.
  VolumeTree(std::span<const Vec3> x, std::span<const Index3> triangles, TreeShape shape);

  /// Follows corners that moved: leaves are fit() to them, inner nodes merge() their children. Linear in the
  /// number of triangles. Exact for boxes along the axes and k-DOPs; spheres and oriented boxes so become
  /// wider than those of a new tree. x must be finite.
  void refit(std::span<const Vec3> x, std::span<const Index3> triangles);

  std::span<const Node> nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
};

/// Calls visit(triangle of a, triangle of b) once for each pair whose volumes overlap, as do all pairs of
/// volumes above it that were met: all that share a point, and more the less tight the volumes are. Both
/// trees are descended at once. Returns the number of pairs of volumes that were tested. `stack` is scratch.
template <class Volume, class Visit>
std::int64_t overlapping_pairs(const VolumeTree<Volume>& a, const VolumeTree<Volume>& b,
                               std::vector<Index2>& stack, Visit&& visit) {
  std::int64_t tests = 0;
  stack.assign(1, Index2(0, 0));
  while (!stack.empty()) {
    const Index2 pair = stack.back();
    stack.pop_back();
    const auto &na = a.nodes()[pair[0]], &nb = b.nodes()[pair[1]];
    ++tests;
    if (!overlap(na.volume, nb.volume)) continue;
    if (na.is_leaf() && nb.is_leaf()) {
      visit(na.triangle(), nb.triangle());
      continue;
    }
    const Index first_a = na.is_leaf() ? pair[0] : na.link, last_a = na.is_leaf() ? pair[0] : na.link + 1;
    const Index first_b = nb.is_leaf() ? pair[1] : nb.link, last_b = nb.is_leaf() ? pair[1] : nb.link + 1;
    for (Index i = last_a; i >= first_a; --i)
      for (Index j = last_b; j >= first_b; --j) stack.emplace_back(i, j);
  }
  return tests;
}

}  // namespace plenum::inline PLENUM_ABI
