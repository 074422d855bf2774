#pragma once
// What constraints move, and how a sweep projects them.
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// A particle as constraints see it: how far it has gone since the step began, or since ways were counted
/// anew in it. Positions themselves would be rounded by more than what a substep moves them: at 5 m and 1 ms,
/// by half of a tenth of gravity's h^2 g.
struct alignas(4 * sizeof(Real)) Place {
  Real x[3];          ///< [m] from where ways are counted
  Real inverse_mass;  ///< [1/kg]
};

/// How a sweep projects. Times and stiffness as its method takes them.
struct Projection {
  Real compliance_scale = 0;  ///< [1/s^2] 1 / h^2; 0: compliances do not count
  Real part = 1;              ///< in [0, 1], of the error that is taken away: k of classic PBD
  bool is_first = false;      ///< of the substep: multipliers are 0, whatever they hold
  bool is_last = false;       ///< of the substep: nothing asks for multipliers any more
  bool is_back = false;       ///< colours from the last one to the first
  Real strain_limit = 0;      ///< relative elongation beyond which nothing stretches; 0: none
  // Of what is projected all at once (Jacobi).
  Place* sums =
      nullptr;          ///< [N] of particles' ways in this sweep; their fourth number: not to be accelerated
  Real relaxation = 1;  ///< of each change, but for what compliance takes of it
  Real acceleration = 1;  ///< omega of Chebyshev's method
};
/// Multipliers before a projection and after it. Of one sweep they are neither read nor written.
template <class M>
[[gnu::always_inline]] inline M given_before(const M& multiplier, const Projection& how) {
  return how.is_first ? M{} : multiplier;
}
template <class M>
[[gnu::always_inline]] inline void note_given(M& multiplier, const M& sum, const Projection& how) {
  if (!how.is_last) multiplier = sum;
}

}}  // namespace plenum::PLENUM_ABI::detail
