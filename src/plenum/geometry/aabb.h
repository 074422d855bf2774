#pragma once
// Axis-aligned bounding boxes.
#include <limits>
#include <span>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// An axis-aligned box; the default one is empty and swallows nothing.
struct Aabb {
  Vec3 low = Vec3::Constant(std::numeric_limits<Real>::infinity());    ///< [m]
  Vec3 high = Vec3::Constant(-std::numeric_limits<Real>::infinity());  ///< [m]

  bool empty() const { return (low.array() > high.array()).any(); }
  Vec3 centre() const { return Real(0.5) * (low + high); }
  Vec3 size() const { return high - low; }
  void extend(const Vec3& p) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  void extend(const Aabb& b) {
    low = low.cwiseMin(b.low);
    high = high.cwiseMax(b.high);
  }
  /// Grown by `margin` [m] on every side.
  Aabb grown(Real margin) const { return {low - Vec3::Constant(margin), high + Vec3::Constant(margin)}; }
  /// `scale` (> 0) times as large about the origin.
  Aabb scaled(Real scale) const { return {scale * low, scale * high}; }
  bool contains(const Vec3& p) const {
    return (p.array() >= low.array()).all() && (p.array() <= high.array()).all();
  }
  /// Whether the closed boxes share a point.
  bool overlaps(const Aabb& b) const {
    return (low.array() <= b.high.array()).all() && (high.array() >= b.low.array()).all();
  }
  Vec3 nearest_point(const Vec3& p) const { return p.cwiseMax(low).cwiseMin(high); }
  Real squared_distance(const Vec3& p) const { return (p - nearest_point(p)).squaredNorm(); }
};

/// The smallest box around points.
inline Aabb bounds_of(std::span<const Vec3> x) {
  Aabb box;
  for (const Vec3& p : x) box.extend(p);
  return box;
}

}  // namespace plenum::inline PLENUM_ABI
