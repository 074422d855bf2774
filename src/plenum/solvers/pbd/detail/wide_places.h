#pragma once
// Particles by lanes, and what of a projection all packs share.
#include "plenum/math/wide.h"
#include "plenum/solvers/pbd/detail/projection.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

// All at once (Jacobi): every constraint is projected from where particles are as a sweep begins, and what
// each makes its particles go is summed. A particle in n constraints has a share of 1/n of its mass in each,
// so that it goes the mean of what they ask of its shares, as Macklin, Mueller, Chentanez & Kim 2014,
// "Unified particle physics for real-time applications", section 4.2, average, but equally to and fro:
// momentum is kept. Source of shares: Tonge, Benevolenski & Voroshilov 2012, "Mass splitting for jitter-free
// parallel rigid body simulation", section 4. With D the responses of shares and A those of all, A <= D: a
// sweep multiplies errors by I - r D^-1 A, whose eigenvalues are in [1 - r, 1] for a relaxation r, and stays
// stable for r < 2.
//
// What is relaxed is the response alone, D / r + alpha~: where compliance is all there is, at small steps,
// one sweep has the whole of what is asked for. Relaxed too, chains hung at 0.75 or 1.33 of their length,
// however small steps were.
//
// Chebyshev's semi-iterative method makes lambda = omega (lambda^ - lambda_-1) + lambda_-1 of what a sweep
// makes of multipliers, lambda^, and what they were before the last one. Source: Wang 2015, "A Chebyshev
// semi-iterative approach for accelerating projective and position-based dynamics", eqs. 5 to 8, of
// positions; of multipliers it moves particles by impulses along gradients alone.

[[gnu::always_inline]] inline Wide relaxed(const Wide& response, const Projection& how) {
  return fill(1 / how.relaxation) * response;
}
/// The change of multipliers that ends where Chebyshev's method does, instead of `given`.
template <class M>
[[gnu::always_inline]] inline M accelerated(const M& before, const M& given, M& previous, const Wide& omega,
                                            const Projection& how) {
  const M from = how.is_first ? before : previous;
  previous = before;
  return omega * (before - from + given) - (before - from);
}

struct WidePlace {
  Wide3 x;
  Wide inverse_mass;
};
[[gnu::always_inline]] inline WidePlace gather_place(const Place* places, const Index* index) {
  Wide r[4];
  gather_fours(places->x, index, r);
  return {{r[0], r[1], r[2]}, r[3]};
}
[[gnu::always_inline]] inline void scatter_place(Place* places, const Index* index, unsigned lanes,
                                                 const WidePlace& a) {
  scatter_fours(places->x, index, lanes, {a.x.x, a.x.y, a.x.z, a.inverse_mass});
}
inline constexpr unsigned every_lane = wide == 32 ? ~0U : (1U << wide) - 1;
/// Known at once, a full pack has no branches.
[[gnu::always_inline]] inline void put_place(Place* places, const Index* index, unsigned lanes,
                                             const WidePlace& a) {
  if (lanes == every_lane)
    scatter_place(places, index, every_lane, a);
  else
    scatter_place(places, index, lanes, a);
}

/// The particles' sums in a sweep of all at once.
template <int points>
struct PlaceSums {
  WidePlace sum[points];
  Wide omega;
  [[gnu::always_inline]] PlaceSums(const Index (&particle)[points][wide], const Projection& how) {
    Wide marks{};
    for (int i = 0; i < points; ++i) {
      sum[i] = gather_place(how.sums, particle[i]);
      marks += sum[i].inverse_mass;
    }
    omega = marks > Wide{} ? fill(1) : fill(how.acceleration);
  }
};

}}  // namespace plenum::PLENUM_ABI::detail
