#pragma once
// Contacts of convex shapes with triangle surfaces: meshes and height fields.
#include "plenum/geometry/collide/manifold.h"
#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {

/// What touches between a surface and a shape: one manifold for each direction in which it is touched.
struct SurfaceManifolds {
  static constexpr int most = 8;
  Manifold manifolds[most];
  int count = 0;
};

/// Contact of a surface A (MeshShape or HeightFieldShape) with a convex shape B placed at `b_in_a` in A's
/// frame. Points separated by up to `margin` [m, >= 0] are reported. Triangles whose normals differ by less
/// than 5 degrees share a manifold of at most four points, its normal that of the deepest; of more than eight
/// directions the deepest stay. Ids of points are those of B's corner where one lies over a face, so they
/// last while it slides from triangle to triangle, and those of the mesh's edge or corner elsewhere.
///
/// Surfaces are one-sided: solid behind their faces. A triangle does not touch a shape whose centre is behind
/// its plane, so the far side of a thin plate does not pull. A shape whose centre is inside a closed mesh or
/// below a height field touches what it would with its centre moved out the shortest way, or up along the
/// normal of the ground above it; where that is nothing it is pushed out there. Open meshes let it pass.
///
/// `from`, in A's frame, stands for B's centre where sides are asked, if given: what a blow has carried
/// through an open or thin mesh stays on the side that it came from.
///
/// Inner edges are not felt: a direction is a contact's normal only if the surface around the triangle's
/// feature lies behind it, which is to say in the feature's normal cone. Where the triangle alone would
/// answer with another, its face's normal is taken, and only over the face. A side bent by less than
/// `slight_angle` counts as part of its faces, but to balls, for which every direction is exact. Where B is
/// deeper than a twentieth of its least half extent the direction found separates, but may not be the one
/// that does so soonest. Allocates nothing, never throws.
void collide_surface(const Shape& a, const Shape& b, const Pose& b_in_a, Real margin, SurfaceManifolds& out,
                     const Vec3* from = nullptr);

/// Whether collide_surface() knows the pair, in this order: a surface, and a convex shape but a plane.
bool can_collide_surface(const Shape& a, const Shape& b);

}  // namespace plenum::inline PLENUM_ABI
