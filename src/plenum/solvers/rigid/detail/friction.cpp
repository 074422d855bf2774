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

}}  // namespace plenum::PLENUM_ABI::detail
