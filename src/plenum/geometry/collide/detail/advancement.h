#pragma once
// Conservative advancement (Mirtich 1996, "Impulse-based dynamic simulation of rigid body systems", section
// 2.3.2) on proven lower bounds of a distance.
#include <algorithm>
#include <optional>

#include "plenum/geometry/collide/detail/core.h"
#include "plenum/geometry/collide/time_of_impact.h"

namespace plenum::inline PLENUM_ABI::detail {

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

/// How fast, per unit of s, a slab between two bodies may close whose fixed normal is n: a point at p from
/// its body's origin moves along n at v . n + p . (n x spin), and |p| is at most the reach.
inline double closing_along(const Point& n, const Motion& a, double reach_a, const Motion& b,
                            double reach_b) {
  return n.dot(a.velocity - b.velocity) + n.cross(a.spin).norm() * reach_a + n.cross(b.spin).norm() * reach_b;
}
/// The same between a plane, A, and what does not come farther than `lever` from its origin.
inline double closing_on_plane(const Point& n, const Motion& plane, double lever, const Motion& b,
                               double reach) {
  if (plane.spin.squaredNorm() > 0)
    return (plane.velocity - b.velocity).norm() + b.spin.norm() * reach + plane.spin.norm() * lever;
  return closing_along(n, plane, 0, b, reach);
}
/// Such a lever.
inline double lever_of(const Motion& plane, const Motion& b, double reach) {
  return std::max((b.position(0) - plane.position(0)).norm(), (b.position(1) - plane.position(1)).norm()) +
         reach;
}

struct Gap {
  double distance, lower_bound;  // [m] of the cores
  Point normal, x;
};
struct Advance {
  double s;
  Gap gap;
};

/// First s in [0, end) at which the distance is within target + slack [m], slack > 0; none if there is none.
/// measure(s) is the gap then; closing(normal) bounds how fast a slab with that normal closes.
template <class Measure, class Closing>
std::optional<Advance> advance(Measure&& measure, Closing&& closing, double target, double slack,
                               double end) {
  double s = 0;
  constexpr int most_steps = 1000;
  Gap last{};
  for (int step = 0;; ++step) {
    Gap gap = measure(s);
    // What overlaps by rounding knows no normal.
    if (step > 0 && !(gap.distance > 0)) gap.normal = last.normal, gap.x = last.x;
    last = gap;
    const double room = gap.lower_bound - target;
    if (gap.distance <= target + slack || !(room > 0) || step == most_steps) return Advance{s, gap};
    const double speed = closing(gap.normal);
    if (!(room < (end - s) * speed)) return std::nullopt;
    // Half the tolerance stays, so that there is a normal where it ends.
    s = std::min(end, s + std::max(room - 0.5 * slack, 0.25 * slack) / speed);
  }
}

}  // namespace plenum::inline PLENUM_ABI::detail
