// Capsules, and planes with anything.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/geometry/collide/detail/core.h"
#include "plenum/geometry/collide/detail/pairs.h"
#include "plenum/geometry/collide/detail/reduce.h"

namespace plenum::inline PLENUM_ABI::detail {

void collide_capsules(const CapsuleShape& a, const CapsuleShape& b, const Pose& b_in_a, Real margin,
                      Manifold& m) {
  // Segments s e_y, |s| <= ha, and p + t u, |t| <= hb. Closest points: Ericson 2005, "Real-time collision
  // detection", section 5.1.9, with unit directions.
  m.count = 0;
  const Vec3 p = b_in_a.position, u = b_in_a.rotation * Vec3::UnitY();
  const Real ha = a.half_height, hb = b.half_height, radius = a.radius + b.radius;
  const Real c = u[1], pu = p.dot(u), sine2 = u[0] * u[0] + u[2] * u[2];
  Real s = sine2 > Real(1e-8) ? std::clamp((p[1] - c * pu) / sine2, -ha, ha) : std::clamp(p[1], -ha, ha);
  Real t = std::clamp(c * s - pu, -hb, hb);
  s = std::clamp(p[1] + t * c, -ha, ha);
  t = std::clamp(c * s - pu, -hb, hb);
  Vec3 d = p + t * u;
  d[1] -= s;
  const Real distance = d.norm();
  if (distance > radius + margin) {
    m.apart = distance - radius;
    return;
  }
  // Axes that meet leave the normal to their cross product, or to any direction across both.
  if (distance > Real(1e-6) * radius) {
    m.normal = d / distance;
  } else {
    const Vec3 across(u[2], 0, -u[0]);  // e_y x u
    m.normal = sine2 > Real(1e-8) ? Vec3(across / std::sqrt(sine2)) : Vec3(1, 0, 0);
    if (m.normal.dot(p) < 0) m.normal = -m.normal;
  }
  const Vec3& n = m.normal;
  const auto point = [&](Real sa, Real tb, std::uint32_t id) {
    const Vec3 pa(0, sa, 0), pb = p + tb * u;
    const Real gap = n.dot(pb - pa) - radius;
    if (gap > margin) return;
    m.points[m.count++] = {Real(0.5) * (pa + pb + (a.radius - b.radius) * n), gap, id};
  };
  const bool sides = std::abs(s) < ha && std::abs(t) < hb,
             ends = !sides && std::abs(s) == ha && std::abs(t) == hb;
  // Nearly parallel: the ends of the stretch where they run beside each other.
  constexpr Real most_sine = Real(0.02);
  if (sine2 < most_sine * most_sine && std::abs(n[1]) < Real(0.1)) {
    const Real low = std::max(-ha, p[1] - hb * std::abs(c)), high = std::min(ha, p[1] + hb * std::abs(c));
    if (high - low > Real(0.01) * radius) {
      for (int end = 0; end < 2; ++end) {
        const Real at = end ? high : low;
        const bool is_a = end ? high == ha : low == -ha;
        point(at, std::clamp((at - p[1]) / c, -hb, hb), static_cast<std::uint32_t>(2 + 2 * end + is_a));
      }
      return;
    }
  }
  point(s, t, 1);
  if (sides && sine2 > Real(1e-3))
    m.set_edges(Vec3::UnitY(), u);
  else if (ends)
    m.set_centres();
}

void collide_plane(const Shape& shape, const Pose& pose, Real margin, Manifold& m) {
  constexpr int most = static_cast<int>(ConvexHull::max_vertices) + 8;
  Manifold::Point points[most];
  int count = 0;
  Real slop = 0;
  const Vec3 up = pose.rotation.conjugate() * Vec3::UnitY();  // in the shape's frame
  // Of what is still apart, corners above the middle are not the first to touch. A wide margin would have
  // them taken for the farthest from the deepest point, instead of those that are about to.
  Real middle = std::numeric_limits<Real>::infinity();
  const auto consider = [&](const Vec3& local, Real radius, std::uint32_t id) {
    const Real gap = up.dot(local) + pose.position[1] - radius;
    if (gap > margin || (gap > 0 && gap > middle)) return;
    Vec3 x = pose * local;
    x[1] = Real(0.5) * gap;
    points[count++] = {x, gap, id};
  };
  if (const auto* box = std::get_if<BoxShape>(&shape.variant())) {
    const Vec3& h = box->half_extents;
    slop = preference * h.minCoeff();
    middle = pose.position[1];
    if (pose.position[1] - up.cwiseAbs().dot(h) <= margin)
      for (std::uint32_t i = 0; i < 8; ++i)
        consider(Vec3(i & 1 ? h[0] : -h[0], i & 2 ? h[1] : -h[1], i & 4 ? h[2] : -h[2]), 0, i + 1);
  } else if (const auto* hull = std::get_if<ConvexHullShape>(&shape.variant())) {
    slop = preference * Real(0.5) * hull->hull->bounds.size().minCoeff();
    middle = (pose * hull->hull->centre)[1];
    for (std::size_t i = 0; i < hull->hull->vertices.size(); ++i)
      consider(hull->hull->vertices[i], 0, static_cast<std::uint32_t>(i + 1));
  } else if (const auto core = Core::of(shape, pose)) {
    slop = preference * static_cast<Real>(core->least_extent());
    Feature f;
    core->feature(-Point::UnitY(), false, f);
    for (int i = 0; i < f.count; ++i)
      consider(pose.to_local(f.x[i].cast<Real>()), static_cast<Real>(core->radius()),
               mix(f.id, static_cast<std::uint32_t>(i + 1)));
  }
  keep_four(points, count, Vec3::UnitY(), 2 * slop, m);
  m.turns = Manifold::Turns::with_a;
}

}  // namespace plenum::inline PLENUM_ABI::detail
