#include "plenum/solvers/rigid/detail/extent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/geometry/convex_hull.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

constexpr Real no_width = std::numeric_limits<Real>::max();

struct Measure {
  const Shape& shape;

  Extent operator()(const PlaneShape&) const { return {no_width, 0}; }
  Extent operator()(const SphereShape& s) const { return {2 * s.radius, s.radius}; }
  Extent operator()(const BoxShape& s) const {
    return {2 * s.half_extents.minCoeff(), s.half_extents.norm()};
  }
  Extent operator()(const CapsuleShape& s) const { return {2 * s.radius, s.half_height + s.radius}; }
  template <class RoundAboutY>
  static Extent upright(const RoundAboutY& s) {
    return {2 * std::min(s.radius, s.half_height), std::hypot(s.radius, s.half_height)};
  }
  Extent operator()(const CylinderShape& s) const { return upright(s); }
  Extent operator()(const ConeShape& s) const { return upright(s); }
  Extent operator()(const TorusShape& s) const {
    return {2 * s.minor_radius, s.major_radius + s.minor_radius};
  }
  Extent operator()(const ConvexHullShape& s) const {
    Real reach = 0;
    for (const Vec3& x : s.hull->vertices) reach = std::max(reach, x.norm());
    return {s.hull->bounds.size().minCoeff(), reach};
  }
  Extent surface() const {
    const Aabb box = shape.bounds();
    return {no_width, box.low.cwiseAbs().cwiseMax(box.high.cwiseAbs()).norm()};
  }
  Extent operator()(const MeshShape&) const { return surface(); }
  Extent operator()(const HeightFieldShape&) const { return surface(); }
};

}  // namespace

Extent extent_of(const Shape& shape) {
  return std::visit(Measure{shape}, shape.variant());
}

Real spread_of(const Shape& shape) {
  if (std::holds_alternative<PlaneShape>(shape.variant())) return std::numeric_limits<Real>::infinity();
  return std::holds_alternative<SphereShape>(shape.variant()) ? 0 : extent_of(shape).reach;
}

Real round_of(const Shape& shape) {
  if (const auto* sphere = std::get_if<SphereShape>(&shape.variant())) return sphere->radius;
  if (const auto* capsule = std::get_if<CapsuleShape>(&shape.variant())) return capsule->radius;
  return 0;
}

}}  // namespace plenum::PLENUM_ABI::detail
