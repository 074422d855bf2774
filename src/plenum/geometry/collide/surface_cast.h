#pragma once
// Convex shapes that ask where surfaces are: overlaps and first touches, exactly and from both sides.
#include <optional>

#include "plenum/geometry/collide/time_of_impact.h"

namespace plenum::inline PLENUM_ABI {

/// What the functions here take a surface (MeshShape or HeightFieldShape) for: its triangles, either side of
/// them, and what is inside of a closed mesh, or below a height field as far as its rectangle goes, down
/// without end and with sides below its border. (Contacts, surface_contacts.h, know fronts alone.) None of
/// them allocates.

/// Signed distance [m] of a point of the surface's frame from its triangles, negative inside. Open meshes
/// have no inside. Exact, as Shape::exact_distance().
SignedDistance<Real> surface_distance(const Shape& surface, const Vec3& x);

/// Whether a convex shape (but a plane) shares a point with a surface. By GJK with each triangle that its
/// box meets, and by whether its centre is inside if it meets none. Up to rounding of about 1e-9 of the
/// distance between their centres.
bool overlaps_surface(const Shape& surface, const Pose& at, const Shape& shape, const Pose& pose);

/// First moment, up to `until` (0 to 1), at which a moving convex shape (but a plane) comes within
/// `tolerance` [m, > 0] of a surface that stands still; A is the surface, x lies on it. The moment is 0 if
/// they overlap then; normal and x are those of the surface point nearest to the shape's centre.
///
/// Each triangle, being convex, by conservative advancement on proven lower bounds of the distance, so that
/// the shape stops at most the tolerance before the touch and never after it (as time_of_impact()); front to
/// back through the hierarchy by when the box around the shape's way enters a node's, as a ray (van den
/// Bergen 2004, "Ray casting against general convex objects with application to continuous collision
/// detection", sections 5 and 6), and then by when the shape itself reaches it (as Redon, Kheddar &
/// Coquillart 2002). The work does not grow with the way's length.
std::optional<Impact> cast_at_surface(const Shape& surface, const Pose& at, const Shape& shape,
                                      const Sweep& sweep, Real tolerance, Real until = 1);

}  // namespace plenum::inline PLENUM_ABI
