#pragma once
// Damping along constraints, of the ways of a substep.
#include "plenum/solvers/pbd/detail/wide_places.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

// Damping of tau over stiffness [s]: the force -tau dC/dt / alpha along the gradients. After the sweeps of a
// substep of h the ways d of points take implicit Euler's step of these forces alone: with gamma = tau / h,
// lambda = gamma sum g . d / alpha~ of d_i = d_i0 - w_i g_i lambda, by Gauss-Seidel on the multipliers,
//
//   dlambda = (gamma sum g . d - alpha~ lambda) / (gamma r + alpha~),   r = sum w_i |g_i|^2.
//
// That is descent along each multiplier in turn of sum m |d|^2 / 2 + sum alpha~ lambda^2 / (2 gamma), which
// is the ways' kinetic energy as it begins and no less than it later: whatever is damped beside what is not,
// in whatever order and number of sweeps, gains nothing. Gradients are those halfway of undamped ways, where
// what turns as a whole changes nothing; places stay. As part of a projection (Macklin, Mueller & Chentanez
// 2016, eq. 26) damping slows also how errors are taken away: of constraints that are damped unlike each
// other, those that are not drove the others, and sheets and ropes flew apart from rest.

/// How a substep damps.
struct Damping {
  Real compliance_scale;  ///< [1/s^2] 1 / h^2
  Real per_h;             ///< [1/s]
  const Place* middle;    ///< [N] halfway of the substep
  bool is_first = false;  ///< sweep: multipliers are 0, whatever they hold
};
/// Where the points of a pack are halfway of their ways, from the first one.
template <int points>
[[gnu::always_inline]] inline void halfway(const Place* middle, const Index (&particle)[points][wide],
                                           const Wide3 (&from_first)[points - 1], Wide3 (&x)[points]) {
  const Wide3 first = gather_place(middle, particle[0]).x;
  x[0] = Wide3{};
  for (int i = 1; i < points; ++i) x[i] = from_first[i - 1] + (gather_place(middle, particle[i]).x - first);
}
/// Takes its part of the rate along the gradients from the points' ways; a negative compliance: none.
template <int points>
[[gnu::always_inline]] inline void damp_along(const Wide3 (&g)[points], const Wide& compliance,
                                              Real damping_time, const Damping& how, Wide& multiplier,
                                              WidePlace (&way)[points]) {
  Wide rate{}, response{};
  for (int i = 0; i < points; ++i) {
    rate += dot(g[i], way[i].x);
    response += way[i].inverse_mass * dot(g[i], g[i]);
  }
  const Wide gamma = fill(damping_time * how.per_h), soft = fill(how.compliance_scale) * compliance;
  const Wide before = how.is_first ? Wide{} : multiplier;
  const Wide change = (gamma * rate - soft * before) * inverse_or_nothing(gamma * response + soft);
  const Wide given = compliance >= Wide{} ? change : Wide{};
  multiplier = before + given;
  for (int i = 0; i < points; ++i) way[i].x -= (way[i].inverse_mass * given) * g[i];
}

}}  // namespace plenum::PLENUM_ABI::detail
