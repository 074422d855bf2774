#pragma once
// Oriented bounding boxes.
#include "plenum/geometry/volumes/volume.h"

namespace plenum::inline PLENUM_ABI {

/// The points centre + axes t with |t[i]| <= half[i].
struct Obb {
  Vec3 centre;  ///< [m]
  Mat3 axes;    ///< columns: unit, at right angles
  Vec3 half;    ///< [m] >= 0
};

/// The box along the principal axes of the surface of the points' convex hull, so that points inside, and
/// many on one place, turn nothing. Source: Gottschalk, Lin & Manocha 1996, "OBBTree: a hierarchical
/// structure for rapid interference detection". Of large hulls the axes are those of a coarser hull; the box
/// holds all points all the same. Points in a plane count as a polygon with two sides.
template <>
Obb fit<Obb>(std::span<const Vec3> x);

/// A box around two: that of least surface among those along the axes of either and along the principal axes
/// of their sixteen corners.
Obb merge(const Obb& a, const Obb& b);

/// The separating axis test for the 15 axes that suffice, exact up to rounding. Same source.
bool overlap(const Obb& a, const Obb& b);
bool contains(const Obb& a, const Vec3& p);
double volume(const Obb& a);
double surface_area(const Obb& a);

}  // namespace plenum::inline PLENUM_ABI
