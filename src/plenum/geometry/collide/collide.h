#pragma once
// The narrow phase: contact manifolds of pairs of shapes.
#include "plenum/geometry/collide/manifold.h"
#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {

/// Contact of two shapes, B placed at `b_in_a` in A's frame. Points separated by up to `margin` [m, >= 0] are
/// reported, as speculative contacts need. At most four points: the deepest, and those that with it span the
/// most area. Pairs of sphere, capsule, box and plane have closed forms; other convex pairs use separating
/// axes on polyhedra or GJK with EPA and face clipping. `cache` speeds up and steadies the next call; any
/// contents are safe. Meshes and height fields have collide_surface(). Allocates nothing, never throws.
Manifold collide(const Shape& a, const Shape& b, const Pose& b_in_a, Real margin, ManifoldCache& cache);

/// Whether collide() knows the pair: both convex (planes count as convex, and meet everything but planes).
bool can_collide(const Shape& a, const Shape& b);

}  // namespace plenum::inline PLENUM_ABI
