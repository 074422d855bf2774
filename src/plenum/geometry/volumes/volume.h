#pragma once
// What every bounding volume can do, and how boxes along the axes do it.
#include <concepts>
#include <span>

#include "plenum/geometry/aabb.h"

namespace plenum::inline PLENUM_ABI {

/// The volume of its kind around points [N >= 1] m, which must be finite. Each kind's header says which
/// volume that is and specializes this.
template <class Volume>
Volume fit(std::span<const Vec3> x);

/// Volumes are closed and hold, rounding included, all that they were made of: fit() every point, merge()
/// both volumes. So overlap() is true whenever what is inside of the two has a point in common.
template <class V>
concept BoundingVolume = requires(const V& a, const V& b, const Vec3& p, std::span<const Vec3> x) {
  { fit<V>(x) } -> std::same_as<V>;
  { merge(a, b) } -> std::same_as<V>;       // a volume around both
  { overlap(a, b) } -> std::same_as<bool>;  // whether they share a point; if rounding hides that, yes
  { contains(a, p) } -> std::same_as<bool>;
  { volume(a) } -> std::same_as<double>;        // [m^3]
  { surface_area(a) } -> std::same_as<double>;  // [m^2]
};

template <>
inline Aabb fit<Aabb>(std::span<const Vec3> x) {
  return bounds_of(x);
}
inline Aabb merge(const Aabb& a, const Aabb& b) {
  return {a.low.cwiseMin(b.low), a.high.cwiseMax(b.high)};
}
inline bool overlap(const Aabb& a, const Aabb& b) {
  return a.overlaps(b);
}
inline bool contains(const Aabb& a, const Vec3& p) {
  return a.contains(p);
}
inline double volume(const Aabb& a) {
  return a.size().cast<double>().prod();
}
inline double surface_area(const Aabb& a) {
  const Vector3<double> s = a.size().cast<double>();
  return 2 * (s[0] * s[1] + s[1] * s[2] + s[2] * s[0]);
}

}  // namespace plenum::inline PLENUM_ABI
