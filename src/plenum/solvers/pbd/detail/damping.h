#pragma once
// Damping along constraints, of the ways of a substep.
#include "plenum/solvers/pbd/detail/wide_places.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

// Damping of tau over stiffness [s]: the force -tau dC/dt / alpha along the gradients. After the sweeps of a
// substep of h a constraint takes the part gamma r / (gamma r + alpha~) of the rate at which its points' ways
// d change it, sum g . d, with gamma = tau / h and its response r: implicit Euler's step of that force alone.
// The gradients g are those halfway, where what turns as a whole changes nothing. Each takes as much of the
// ways' kinetic energy, in the metric of masses, and places stay: whatever is damped beside what is not, in
// whatever order, gains nothing. As part of a projection (Macklin, Mueller & Chentanez 2016, eq. 26) damping
// slows also how errors are taken away: of constraints that are damped unlike each other, those that are not
// drove the others, and sheets and ropes flew apart from rest.

/// How a substep damps.
struct Damping {
  Real compliance_scale;  ///< [1/s^2] 1 / h^2
  Real per_h;             ///< [1/s]
  const Place* before;    ///< [N] where the substep began
};
/// Where the points of a pack are halfway of their ways, from the first one.
template <int points>
[[gnu::always_inline]] inline void halfway(const Place* before, const Index (&particle)[points][wide],
                                           const Wide3 (&from_first)[points - 1],
                                           const WidePlace (&way)[points], Wide3 (&x)[points]) {
  const Wide3 first = gather_place(before, particle[0]).x;
  x[0] = Wide3{};
  for (int i = 1; i < points; ++i)
    x[i] = from_first[i - 1] + (gather_place(before, particle[i]).x - first) +
           fill(Real(0.5)) * (way[i].x - way[0].x);
}
/// Takes its part of the rate along the gradients from the points' ways; a negative compliance: none.
template <int points>
[[gnu::always_inline]] inline void damp_along(const Wide3 (&g)[points], const Wide& compliance,
                                              Real damping_time, const Damping& how,
                                              WidePlace (&way)[points]) {
  Wide rate{}, response{};
  for (int i = 0; i < points; ++i) {
    rate += dot(g[i], way[i].x);
    response += way[i].inverse_mass * dot(g[i], g[i]);
  }
  const Wide gamma = fill(damping_time * how.per_h);
  const Wide part = gamma * inverse_or_nothing(gamma * response + fill(how.compliance_scale) * compliance);
  const Wide given = compliance >= Wide{} ? part * rate : Wide{};
  for (int i = 0; i < points; ++i) way[i].x -= (way[i].inverse_mass * given) * g[i];
}

}}  // namespace plenum::PLENUM_ABI::detail
