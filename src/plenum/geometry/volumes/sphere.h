#pragma once
// Bounding spheres.
#include <limits>

#include "plenum/geometry/volumes/volume.h"

namespace plenum::inline PLENUM_ABI {

struct Sphere {
  Vec3 centre;  ///< [m]
  Real radius;  ///< [m] >= 0
};

/// The smallest sphere around points. The sphere of the last few is enlarged by the point farthest outside
/// until there is none (Gaertner 1999, "Fast and robust smallest enclosing balls"). Two to four points of the
/// old boundary and the new one make the next sphere, with the new one on its boundary (Welzl 1991, "Smallest
/// enclosing disks (balls and ellipsoids)"). Radii grow, so no four points come twice and it ends; in double,
/// so that what is left to the smallest is the rounding of the result.
template <>
Sphere fit<Sphere>(std::span<const Vec3> x);

/// The smallest sphere around two.
Sphere merge(const Sphere& a, const Sphere& b);

// Radii are rounded up by a few units in the last place, more than these squares lose.
inline bool overlap(const Sphere& a, const Sphere& b) {
  const Real reach = a.radius + b.radius;
  return (a.centre - b.centre).squaredNorm() <= reach * reach;
}
inline bool contains(const Sphere& a, const Vec3& p) {
  return (p - a.centre).squaredNorm() <= a.radius * a.radius;
}
double volume(const Sphere& a);
double surface_area(const Sphere& a);

}  // namespace plenum::inline PLENUM_ABI
