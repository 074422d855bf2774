#include "plenum/solvers/rigid/detail/friction.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// A unit vector normal to the unit vector n, without a jump where n does not change much. Source: Duff et
/// al. 2017, "Building an orthonormal basis, revisited".
Vec3 tangent_to(const Vec3& n) {
  const Real sign = n.z() >= 0 ? Real(1) : Real(-1);
  const Real a = -1 / (sign + n.z()), b = n.x() * n.y() * a;
  return {1 + sign * n.x() * n.x() * a, sign * b, -sign * n.x()};
}

/// The direction along a surface of normal n in which its friction axis lies, in the world; zero if there is
/// none.
Vec3 grain(const Rigid::State& state, const Rigid::Collider& c, const Vec3& n) {
  if (c.friction_axis.isZero(0)) return Vec3::Zero();
  const Vec3 axis = state.frames.rotation(c.body) * c.friction_axis, along = axis - n.dot(axis) * n;
  const Real length = along.norm();
  return length > Real(1e-3) ? Vec3(along / length) : Vec3(Vec3::Zero());
}

/// Part of a surface's friction that acts in the tangential direction t: the radius of its ellipse, which may
/// be flat. What is along its axes but for rounding is along them.
Real friction_part(const Rigid::Collider& c, const Vec3& grain, const Vec3& t) {
  constexpr Real aligned = Real(1e-3);  // sine
  if (grain.isZero(0)) return 1;
  const Real along = std::abs(grain.dot(t)), across = grain.cross(t).norm();
  if (across < aligned) return c.friction_along;
  if (along < aligned) return c.friction_across;
  return c.friction_along * c.friction_across /
         std::max(std::hypot(c.friction_across * along, c.friction_along * across),
                  std::numeric_limits<Real>::min());
}

}  // namespace

void set_friction(const Rigid::State& state, const Rigid::Collider& a, const Rigid::Collider& b,
                  ContactInput& c) {
  c.friction = std::sqrt(a.friction * b.friction);
  c.static_friction = std::sqrt(a.static_friction * b.static_friction);
  c.friction_ratio = 1;
  const Vec3 of_a = grain(state, a, c.normal), of_b = grain(state, b, c.normal);
  if (of_a.isZero(0) && of_b.isZero(0)) {
    c.friction_axis = tangent_to(c.normal);
    return;
  }
  const auto least_part = [](const Rigid::Collider& s) {
    return std::min(s.friction_along, s.friction_across);
  };
  const bool by_a = !of_a.isZero(0) && (of_b.isZero(0) || least_part(a) <= least_part(b));
  const auto mean = [&](const Vec3& t) {
    return std::sqrt(friction_part(a, of_a, t) * friction_part(b, of_b, t));
  };
  Vec3 t = by_a ? of_a : of_b, other = c.normal.cross(t);
  Real most = mean(t), least = mean(other);
  if (most < least) std::swap(most, least), t = other;
  c.friction_axis = t;
  c.friction *= most, c.static_friction *= most;
  c.friction_ratio = most > 0 ? least / most : 1;
}

Real lever_part(const ContactInput& c, const Vec3& centre, Real rim) {
  if (c.count == 2) return Real(0.5);
  if (c.count < 3) return 1;
  if (rim > 0) {
    Real sum = 0;
    int on_rim = 0;
    for (int p = 0; p < c.count; ++p) {
      const Vec3 from = c.points[p].ra - centre;
      const Real way = (from - c.normal.dot(from) * c.normal).norm();
      sum += way;
      on_rim += std::abs(way - rim) < Real(0.05) * rim;
    }
    if (on_rim == c.count) return Real(2) / 3 * rim * static_cast<Real>(c.count) / sum;
  }
  Vec3 middle = Vec3::Zero();
  for (int p = 0; p < c.count; ++p) middle += c.points[p].ra / static_cast<Real>(c.count);
  Vec3 x[4];
  Real way[4], ways = 0;
  for (int p = 0; p < c.count; ++p) {
    x[p] = c.points[p].ra - middle;
    way[p] = x[p].norm();
    ways += way[p];
  }
  const auto twice_area = [&](int p, int q) { return c.normal.dot(x[p].cross(x[q])); };
  // Around the polygon; a wrong order crosses itself and encloses less.
  constexpr int orders[3][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 1, 3, 2}};
  const int* order = orders[0];
  if (c.count == 4) {
    Real largest = -1;
    for (const auto& o : orders) {
      Real sum = 0;
      for (int k = 0; k < 4; ++k) sum += twice_area(o[k], o[(k + 1) % 4]);
      if (std::abs(sum) > largest) largest = std::abs(sum), order = o;
    }
  }
  // Over a triangle with its apex in the middle, two thirds of the mean over the opposite side, by Simpson's
  // rule over its halves.
  Real area = 0, moment = 0;
  for (int k = 0; k < c.count; ++k) {
    const int p = order[k], q = order[(k + 1) % c.count];
    const Real part = std::abs(twice_area(p, q));
    area += part;
    const Vec3 half = Real(0.5) * (x[p] + x[q]), quarter = Real(0.25) * (x[q] - x[p]);
    moment += part *
              (way[p] + way[q] + 2 * half.norm() + 4 * ((half - quarter).norm() + (half + quarter).norm())) /
              18;
  }
  // On a line, all of them.
  if (!(area > Real(1e-4) * ways * ways)) return Real(0.5);
  return moment / area * static_cast<Real>(c.count) / ways;
}

}}  // namespace plenum::PLENUM_ABI::detail
