#pragma once
// Shapes of binary trees over boxes, built from above and from below.
#include <span>
#include <vector>

#include "plenum/geometry/aabb.h"

namespace plenum::inline PLENUM_ABI {

/// A binary tree over N >= 1 items, one a leaf: [2 N - 1] nodes, the first of them the root. A node with
/// shape[n] >= 0 has the two neighbouring children shape[n] and shape[n] + 1, both greater than n; else it is
/// the leaf of item ~shape[n].
using TreeShape = std::vector<Index>;

/// Split from above by the surface area heuristic, as a Bvh with one item a leaf. boxes [N >= 1], finite.
TreeShape top_down_tree(std::span<const Aabb> boxes);

/// Joined from below. Boxes lie along Morton's curve; in each round each finds, among the `search_radius`
/// before and after it, the one with which it shares the box of least surface, and those that find each other
/// become one. Source: Meister & Bittner 2018, "Parallel locally-ordered clustering for bounding volume
/// hierarchy construction". boxes [N >= 1], finite. Parallel; the shape does not depend on the number of
/// threads.
TreeShape bottom_up_tree(std::span<const Aabb> boxes, Index search_radius = 16);

}  // namespace plenum::inline PLENUM_ABI
