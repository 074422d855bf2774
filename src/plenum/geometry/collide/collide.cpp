#include "plenum/geometry/collide/collide.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

/// With what the normal of m turns where a ball whose centre is at c touches the shape. Over edges and
/// corners with nothing: the ball may leave them for a face within the step.
void find_turning(const Shape& shape, const Vec3& c, Manifold& m) {
  const Vec3 out = c.cwiseAbs();
  if (as<SphereShape>(shape)) {
    m.set_centres();
  } else if (as<PlaneShape>(shape)) {
    m.turns = Manifold::Turns::with_a;
  } else if (const auto* capsule = as<CapsuleShape>(shape)) {
    m.set_centres(out.y() < capsule->half_height ? Vec3(Vec3::UnitY()) : Vec3(Vec3::Zero()));
  } else if (const auto* box = as<BoxShape>(shape)) {
    if ((out.array() > box->half_extents.array()).count() < 2) m.turns = Manifold::Turns::with_a;
  } else if (const auto* hull = as<ConvexHullShape>(shape)) {
    // Over a face three corners or more lie farthest along the normal.
    Real most = -std::numeric_limits<Real>::max();
    for (const Vec3& x : hull->hull->vertices) most = std::max(most, m.normal.dot(x));
    const Real near = most - Real(1e-4) * hull->hull->bounds.size().minCoeff();
    const auto is_far = [&](const Vec3& x) { return m.normal.dot(x) >= near; };
    if (std::count_if(hull->hull->vertices.begin(), hull->hull->vertices.end(), is_far) > 2)
      m.turns = Manifold::Turns::with_a;
  } else if (const auto* cylinder = as<CylinderShape>(shape)) {
    const bool above = out.y() >= cylinder->half_height, past = std::hypot(c.x(), c.z()) > cylinder->radius;
    if (past && !above)
      m.set_centres(Vec3::UnitY());
    else if (above && !past)
      m.turns = Manifold::Turns::with_a;
  }
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
  find_turning(shape, c, m);
  m.count = 1;
  m.points[0] = {c - Real(0.5) * (d.distance + r) * d.normal, gap, 1};
  return m;
}

/// The manifold of (A, B) from that of (B, A) in B's frame.
Manifold swapped(Manifold m, const Pose& b_in_a) {
  m.turn_over(b_in_a.rotation);
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
