#include "plenum/geometry/collide/time_of_impact.h"

#include <algorithm>
#include <cmath>

#include "plenum/geometry/collide/detail/core.h"
#include "plenum/geometry/collide/gjk.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using detail::Core;
using detail::Point;

/// A motion in double precision, relative to an origin near both shapes.
struct Motion {
  Point p0, velocity, spin;  // velocity and angular velocity per unit of s
  Quaternion<double> q0;

  Motion(const Sweep& sweep, const Point& origin)
      : p0(sweep.start.position.cast<double>() - origin),
        velocity(sweep.way.cast<double>()),
        spin(sweep.turn.cast<double>()),
        q0(sweep.start.rotation.cast<double>().normalized()) {}

  Point position(double s) const { return p0 + s * velocity; }
  Quaternion<double> rotation(double s) const {
    const double angle = spin.norm();
    if (!(angle > 0)) return q0;
    return Quaternion<double>(Eigen::AngleAxisd(s * angle, spin / angle)) * q0;
  }
};

struct Gap {
  double distance, lower_bound;
  Point normal, x;
};

}  // namespace

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
  // How far points of B get from the plane's origin, the lever of a turning plane.
  const double lever =
      plane_a ? std::max((mb.position(0) - ma.position(0)).norm(), (mb.position(1) - ma.position(1)).norm()) +
                    reach_b
              : 0;

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

  double s = 0;
  constexpr int most_steps = 1000;
  Gap last{};
  for (int step = 0;; ++step) {
    Gap gap = measure(s);
    // What overlaps by rounding knows no normal.
    if (step > 0 && !(gap.distance > 0)) gap.normal = last.normal, gap.x = last.x;
    last = gap;
    const double room = gap.lower_bound - target;
    if (gap.distance <= target + slack || !(room > 0) || step == most_steps)
      return Impact{static_cast<Real>(s), gap.normal.cast<Real>(), (gap.x + origin).cast<Real>()};
    // The slab between the shapes has a fixed normal n. A point at p from its body's origin moves along n at
    // v . n + p . (n x spin), and |p| is at most the reach.
    const Point& n = gap.normal;
    double closing;
    if (plane_a && ma.spin.squaredNorm() > 0)
      closing = (ma.velocity - mb.velocity).norm() + mb.spin.norm() * reach_b + ma.spin.norm() * lever;
    else
      closing = n.dot(ma.velocity - mb.velocity) + n.cross(ma.spin).norm() * reach_a +
                n.cross(mb.spin).norm() * reach_b;
    if (!(room < (1 - s) * closing)) return std::nullopt;
    // Half the tolerance stays, so that there is a normal where it ends.
    s = std::min(1.0, s + std::max(room - 0.5 * slack, 0.25 * slack) / closing);
  }
}

}  // namespace plenum::inline PLENUM_ABI
