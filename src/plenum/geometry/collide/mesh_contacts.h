#pragma once
// Contacts of triangle meshes that move: with planes, boxes, hulls, height fields and other meshes.
#include "plenum/geometry/collide/surface_contacts.h"

namespace plenum::inline PLENUM_ABI {

/// Contact of a mesh A with B placed at `b_in_a` in A's frame: a mesh, height field, box or convex hull; one
/// of the two at least is closed, not a surface with a border. Points separated by up to `margin` [m, >= 0]
/// are reported, gathered into manifolds by their directions as collide_surface() does. Ids are those of the
/// vertices and edges that meet.
///
/// Two polyhedra touch where a vertex of one meets a face of the other, or where two convex edges cross;
/// other contacts are limits of these. A vertex is found by the other's signed distance, whose gradient is
/// the normal; two edges have the normal of their cross product. A direction counts only if it is in the
/// normal cones of the features that meet: only there is the distance a local minimum, so inner edges are not
/// felt, and of what is inside the way out agrees with both surfaces. A vertex inside whose nearest face is a
/// wrong way out is tried against the face that it finds going back along its own normal. Where none of these
/// is found and a vertex is inside a closed mesh or below a height field, the deepest one is pushed out the
/// shortest way.
///
/// The sampled distance field decides what is looked at: whole branches of a mesh's hierarchy are left out by
/// the distance at their middle, so that the cost goes with what is near. What is left is exact to rounding:
/// a coarse field costs time and no accuracy. Edges count as crossing down to an overlap of
/// the thinner solid's half width (SolidMesh). A vertex farther inside a thin wall than its middle is pushed
/// out on the other side. Allocates nothing, never throws.
void collide_mesh(const Shape& a, const Shape& b, const Pose& b_in_a, Real margin, SurfaceManifolds& out);

/// Whether collide_mesh() knows shape B.
bool can_collide_mesh(const Shape& b);

/// Contact of a mesh A with the plane B: the vertices within `margin` [m] of it, exactly.
void collide_mesh_plane(const Shape& a, const Pose& b_in_a, Real margin, SurfaceManifolds& out);

/// Least of direction . x over the vertices of a mesh [m, if the direction is unit].
Real least_along(const Shape& mesh, const Vec3& direction);

}  // namespace plenum::inline PLENUM_ABI
