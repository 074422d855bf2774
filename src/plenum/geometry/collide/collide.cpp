#include "plenum/geometry/collide/collide.h"

#include "plenum/geometry/collide/detail/pairs.h"

namespace plenum::inline PLENUM_ABI {
namespace {

bool is_convex(const Shape& shape) {
  return !std::holds_alternative<TorusShape>(shape.variant()) &&
         !std::holds_alternative<MeshShape>(shape.variant()) &&
         !std::holds_alternative<HeightFieldShape>(shape.variant());
}

template <class S>
const S* as(const Shape& shape) {
  return std::get_if<S>(&shape.variant());
}

bool is_polyhedron(const Shape& shape) {
  return as<BoxShape>(shape) || as<ConvexHullShape>(shape);
}

Pose inverse(const Pose& p) {
  const Quat back = p.rotation.conjugate();
  return {back * (-p.position), back};
}

/// A ball of radius r whose centre is at c in the shape's frame, where the result is too; normal from the
/// shape to the ball. The signed distance of every shape is exact, so this is a closed form.
Manifold against_ball(const Shape& shape, const Vec3& c, Real r, Real margin) {
  Manifold m;
  const SignedDistance<Real> d = shape.signed_distance(c);
  const Real gap = d.distance - r;
  if (gap > margin) {
    m.apart = gap;
    return m;
  }
  m.normal = d.normal;
  m.count = 1;
  m.points[0] = {c - Real(0.5) * (d.distance + r) * d.normal, gap, 1};
  return m;
}

/// The manifold of (A, B) from that of (B, A) in B's frame.
Manifold swapped(Manifold m, const Pose& b_in_a) {
  m.normal = -(b_in_a.rotation * m.normal);
  for (int i = 0; i < m.count; ++i) m.points[i].x = b_in_a * m.points[i].x;
  return m;
}

}  // namespace

bool can_collide(const Shape& a, const Shape& b) {
  return is_convex(a) && is_convex(b) && !(as<PlaneShape>(a) && as<PlaneShape>(b));
}

Manifold collide(const Shape& a, const Shape& b, const Pose& b_in_a, Real margin, ManifoldCache& cache) {
  if (const auto* ball = as<SphereShape>(b)) return against_ball(a, b_in_a.position, ball->radius, margin);
  if (const auto* ball = as<SphereShape>(a))
    return swapped(against_ball(b, b_in_a.to_local(Vec3::Zero()), ball->radius, margin), b_in_a);
  Manifold m;
  if (as<PlaneShape>(a)) {
    if (!as<PlaneShape>(b)) detail::collide_plane(b, b_in_a, margin, m);
    return m;
  }
  if (as<PlaneShape>(b)) {
    detail::collide_plane(a, inverse(b_in_a), margin, m);
    return swapped(m, b_in_a);
  }
  if (const auto* box_a = as<BoxShape>(a), *box_b = as<BoxShape>(b); box_a && box_b) {
    if (detail::collide_boxes(box_a->half_extents, box_b->half_extents, b_in_a, margin, cache, m)) return m;
  } else if (is_polyhedron(a) && is_polyhedron(b)) {
    if (detail::collide_polyhedra(a, b, b_in_a, margin, cache, m)) return m;
  } else if (const auto* capsule_a = as<CapsuleShape>(a), *capsule_b = as<CapsuleShape>(b);
             capsule_a && capsule_b) {
    detail::collide_capsules(*capsule_a, *capsule_b, b_in_a, margin, m);
    return m;
  }
  detail::collide_cores(a, b, b_in_a, margin, cache, m);
  return m;
}

}  // namespace plenum::inline PLENUM_ABI
