#include "plenum/geometry/collide/time_of_impact.h"

#include <algorithm>
#include <cmath>

#include "plenum/geometry/collide/detail/advancement.h"
#include "plenum/geometry/collide/detail/mesh_impact.h"
#include "plenum/geometry/collide/gjk.h"

namespace plenum::inline PLENUM_ABI {

using detail::Core;
using detail::Gap;
using detail::Motion;
using detail::Point;

Pose Sweep::at(Real s) const {
  const Real angle = turn.norm();
  const Quat by = angle > 0 ? Quat(Eigen::AngleAxis<Real>(s * angle, turn / angle)) : Quat(1, 0, 0, 0);
  return {start.position + s * way, (by * start.rotation).normalized()};
}

Sweep Sweep::between(const Pose& from, const Pose& to) {
  Quaternion<double> turn =
      to.rotation.cast<double>().normalized() * from.rotation.cast<double>().normalized().conjugate();
  if (turn.w() < 0) turn.coeffs() = -turn.coeffs();
  const double sine = turn.vec().norm();
  const double scale = sine > 0 ? 2 * std::atan2(sine, turn.w()) / sine : 0;
  return {from, to.position - from.position, (scale * turn.vec()).cast<Real>()};
}

std::optional<Impact> time_of_impact(const Shape& shape_a, const Sweep& sweep_a, const Shape& shape_b,
                                     const Sweep& sweep_b, Real separation, Real tolerance) {
  if (std::holds_alternative<MeshShape>(shape_a.variant()) ||
      std::holds_alternative<MeshShape>(shape_b.variant()))
    return detail::mesh_time_of_impact(shape_a, sweep_a, shape_b, sweep_b, separation, tolerance);
  const bool plane_a = std::holds_alternative<PlaneShape>(shape_a.variant());
  if (std::holds_alternative<PlaneShape>(shape_b.variant())) {
    if (plane_a) return std::nullopt;
    auto impact = time_of_impact(shape_b, sweep_b, shape_a, sweep_a, separation, tolerance);
    if (impact) impact->normal = -impact->normal;
    return impact;
  }
  const Point origin = sweep_b.start.position.cast<double>();
  const Motion ma(sweep_a, origin), mb(sweep_b, origin);
  auto core_a = Core::of(shape_a, Pose{}), core_b = Core::of(shape_b, Pose{});
  if (!core_b || (!core_a && !plane_a)) return std::nullopt;
  Core& b = *core_b;
  const double reach_a = core_a ? core_a->reach() : 0, reach_b = b.reach();
  const double radius = (core_a ? core_a->radius() : 0) + b.radius();
  const double target = radius + static_cast<double>(separation), slack = static_cast<double>(tolerance);
  const double lever = plane_a ? detail::lever_of(ma, mb, reach_b) : 0;

  const auto measure = [&](double s) -> Gap {
    b.place(mb.rotation(s), mb.position(s));
    if (plane_a) {
      const Point n = ma.rotation(s) * Point::UnitY(), deepest = b.support(-n);
      const double height = n.dot(deepest - ma.position(s));
      return {height, height, n, deepest - n * (b.radius() + 0.5 * (height - radius))};
    }
    core_a->place(ma.rotation(s), ma.position(s));
    const auto g = gjk<double>([&](const Point& d) { return core_a->support(d); },
                               [&](const Point& d) { return b.support(d); }, b.centre() - core_a->centre(),
                               1e-6, 0.01 * slack);
    if (g.overlap) {
      const Point apart = b.centre() - core_a->centre();
      return {0, 0, apart.norm() > 0 ? Point(apart.normalized()) : Point::UnitY(), g.simplex.v[0].a};
    }
    const Point pa = g.a + core_a->radius() * g.normal, pb = g.b - b.radius() * g.normal;
    return {g.distance, g.lower_bound, g.normal, 0.5 * (pa + pb)};
  };

  const auto closing = [&](const Point& n) {
    return plane_a ? detail::closing_on_plane(n, ma, lever, mb, reach_b)
                   : detail::closing_along(n, ma, reach_a, mb, reach_b);
  };
  const auto hit = detail::advance(measure, closing, target, slack, 1);
  if (!hit) return std::nullopt;
  return Impact{static_cast<Real>(hit->s), hit->gap.normal.cast<Real>(), (hit->gap.x + origin).cast<Real>()};
}

}  // namespace plenum::inline PLENUM_ABI
