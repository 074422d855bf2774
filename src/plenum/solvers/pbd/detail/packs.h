#pragma once
// Constraints of one colour, eight or sixteen at a time, and their projections.
#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/elements/position_constraints.h"
#include "plenum/geometry/graph_colouring.h"
#include "plenum/linear/aligned.h"
#include "plenum/math/wide.h"

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

// A pack's `move<at_once>(p, sums, how, previous)` projects its constraints: it moves the particles
// p, or, all at once, adds their ways to the sums. It returns by how much constraints failed to hold.
template <class Pack>
[[gnu::always_inline]] inline void gather_points(const Pack& pack, const Place* places,
                                                 WidePlace (&p)[Pack::points]) {
  for (int i = 0; i < Pack::points; ++i) p[i] = gather_place(places, pack.particle[i]);
}
template <class Pack>
[[gnu::always_inline]] inline void put_points(const Pack& pack, Place* places,
                                              const WidePlace (&p)[Pack::points]) {
  for (int i = 0; i < Pack::points; ++i) put_place(places, pack.particle[i], pack.lanes, p[i]);
}
template <class Pack>
[[gnu::always_inline]] inline void project_one(Pack& pack, Place* places, const Projection& how) {
  WidePlace p[Pack::points];
  gather_points(pack, places, p);
  pack.template move<false>(p, nullptr, how, nullptr);
  put_points(pack, places, p);
}
/// Two packs of a colour, which share no particle. What one waits for, from its loads over a root and two
/// divisions to its stores, is as long as a processor looks ahead; two at a time keep it busy, if what they
/// are in the middle of fits its registers: packs say so (`in_pairs`).
template <class Pack>
[[gnu::always_inline]] inline void project_two(Pack& a, Pack& b, Place* places, const Projection& how) {
  WidePlace p[Pack::points], q[Pack::points];
  gather_points(a, places, p), gather_points(b, places, q);
  a.template move<false>(p, nullptr, how, nullptr);
  b.template move<false>(q, nullptr, how, nullptr);
  put_points(a, places, p), put_points(b, places, q);
}
template <class Pack>
[[gnu::always_inline]] inline Wide project_at_once(Pack& pack, const Place* places, const Projection& how,
                                                   typename Pack::Multipliers& previous) {
  WidePlace p[Pack::points];
  gather_points(pack, places, p);
  PlaceSums<Pack::points> sums(pack.particle, how);
  const Wide residual = pack.template move<true>(p, &sums, how, &previous);
  put_points(pack, how.sums, sums.sum);
  return residual;
}

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

/// The change of a multiplier that leaves nothing stretched beyond the limit: what is soft up to it is hard
/// there. `error` is C, without damping, and `response` what it changes by.
template <class C, class T, int n>
[[gnu::always_inline]] inline T limited(const T& given, const T& error, const T& response, const T (&rest)[n],
                                        const Projection& how) {
  if constexpr (requires { C::elongated(error, rest); }) {
    if (how.strain_limit > 0) {
      const T most = (C::elongated(fill(how.strain_limit), rest) - error) * inverse_or_nothing(response);
      return (response > T{}) & (most < given) ? most : given;
    }
  }
  return given;
}

// Where the gradients of a volume vanish, with points on a line or at one place, its linearization asks them
// to go without bound: a bar pressed onto a line flew off at 10^7 m/s. No projection moves the points of a
// tetrahedron farther than about twice what it is large; it grows from there by steps that its own form can
// tell of. Likewise those of an angle, where one end of its edge alone is free: sheets of angles held at a
// side boiled at 100 m/s.

/// [m^2] That the squares of the ways of a tetrahedron's points may sum to.
template <int points>
[[gnu::always_inline]] inline Wide most_squared(const Wide3 (&x)[points]) {
  Wide size{};
  for (int i = 1; i < points; ++i) size += dot(x[i], x[i]);
  return fill(4) * size;
}
/// The ways that two multipliers lead the points.
template <int points>
[[gnu::always_inline]] inline void bounded_ways(const WidePlace (&p)[points], const Wide3 (&g)[points],
                                                const Wide3 (&h)[points], const Wide& most, Wide& d0,
                                                Wide& d1, Wide3 (&way)[points]) {
  Wide square{};
  for (int i = 0; i < points; ++i) {
    way[i] = p[i].inverse_mass * (d0 * g[i] + d1 * h[i]);
    square += dot(way[i], way[i]);
  }
  if (any(square > most)) [[unlikely]] {
    const Wide less = square < fill(Real(1e30)) ? sqrt(most * inverse_or_nothing(square)) : Wide{};
    const Wide part = square > most ? less : fill(1);
    d0 = part > Wide{} ? part * d0 : Wide{}, d1 = part > Wide{} ? part * d1 : Wide{};
    for (int i = 0; i < points; ++i) way[i] = p[i].inverse_mass * (d0 * g[i] + d1 * h[i]);
  }
}

/// Constraints with one multiplier each, C of elements/position_constraints.h.
template <class C>
struct alignas(64) ScalarPack {
  static constexpr int points = C::points;
  static constexpr bool in_pairs = true;
  Index particle[points][wide];
  Wide3 from_first[points - 1];  ///< [m] from the first particle to the others where ways are counted from
  Wide rest[C::numbers];
  Wide compliance;    ///< alpha
  Wide multiplier;    ///< lambda, since the substep began
  unsigned lanes;     ///< bits of those that hold a constraint
  Real damping_time;  ///< [s] >= 0

  /// Where ways are counted from; places are positions [m].
  void begin(const Place* places) {
    const Wide3 first = gather_place(places, particle[0]).x;
    for (int i = 1; i < points; ++i) from_first[i - 1] = gather_place(places, particle[i]).x - first;
  }
  using Multipliers = Wide;
  static constexpr int count = 1;  ///< of constraints
  /// One projection of XPBD: dlambda = -(C + alpha~ lambda) / (sum_i w_i |g_i|^2 + alpha~), dx_i = w_i g_i
  /// dlambda, alpha~ = alpha / h^2. Source: Macklin, Mueller & Chentanez 2016, eqs. 17 and 18.
  template <bool at_once>
  [[gnu::always_inline]] Wide move(WidePlace (&p)[points], [[maybe_unused]] PlaceSums<points>* sums,
                                   const Projection& how, [[maybe_unused]] Multipliers* previous) {
    Wide3 x[points], g[points];
    x[0] = Wide3{};
    for (int i = 1; i < points; ++i) x[i] = from_first[i - 1] + (p[i].x - p[0].x);
    const Wide error = C::value(x, rest, g);
    Wide response{};
    for (int i = 0; i < points; ++i) response += p[i].inverse_mass * dot(g[i], g[i]);
    if constexpr (at_once) response = relaxed(response, how);
    // What one constraint alone asks for has squares that sum to S e^2 / r^2, S = sum w^2 |g|^2 <= max w r:
    // no more than `most`, if r is at least e^2 max w / most, or `most` e^2, if it is at least max w / most.
    // Both sides times `most`, which may be zero.
    constexpr bool vanishes = requires {
      C::least_response(error);
    };
    [[maybe_unused]] Wide most{}, floor{};
    if constexpr (vanishes) {
      most = most_squared(x), floor = p[0].inverse_mass;
      for (int i = 1; i < points; ++i) floor = max(floor, p[i].inverse_mass);
    }
    if constexpr (vanishes) floor = floor * C::least_response(error);
    const Wide soft = fill(how.compliance_scale) * compliance;
    const Wide before = given_before(multiplier, how);
    Wide change = fill(-how.part) * (error + soft * before);
    if constexpr (vanishes)
      change = change * most * inverse_or_nothing(max(response * most, floor) + soft * most);
    else
      change = change * inverse_or_nothing(response + soft);
    Wide given = limited<C>(Wide(response > Wide{} ? change : Wide{}), error, response, rest, how),
         residual{};
    if constexpr (at_once) {
      residual = (response + soft) * given * given;
      given = accelerated(before, given, *previous, sums->omega, how);
      for (int i = 0; i < points; ++i) sums->sum[i].x += (p[i].inverse_mass * given) * g[i];
    } else {
      for (int i = 0; i < points; ++i) p[i].x += (p[i].inverse_mass * given) * g[i];
    }
    note_given(multiplier, Wide(before + given), how);
    return residual;
  }
  void damp(WidePlace (&way)[points], const Damping& how) const {
    Wide3 x[points], g[points];
    halfway<points>(how.before, particle, from_first, way, x);
    C::value(x, rest, g);
    damp_along(g, compliance, damping_time, how, way);
  }
};

/// The response of two constraints on the same particles, [a b; b c].
struct PairResponse {
  Wide a{}, b{}, c{};
  template <int points>
  PairResponse(const WidePlace (&p)[points], const Wide3 (&g)[points], const Wide3 (&h)[points]) {
    for (int i = 0; i < points; ++i) {
      a += p[i].inverse_mass * dot(g[i], g[i]);
      b += p[i].inverse_mass * dot(g[i], h[i]);
      c += p[i].inverse_mass * dot(h[i], h[i]);
    }
  }
  /// Adds compliances. Of a neo-Hookean body that has grown alike in all directions the two say the same, and
  /// share it: the response would be singular without compliances.
  void soften(const Wide& soft0, const Wide& soft1) {
    const Wide shared = fill(1 + Real(0.01));
    a = shared * a + soft0, c = shared * c + soft1;
  }
  /// The changes of the multipliers that take the errors e0 and e1 away.
  void answer(const Wide& e0, const Wide& e1, Wide& d0, Wide& d1) const {
    const Wide determinant = inverse_or_nothing(a * c - b * b);
    d0 = determinant * (b * e1 - c * e0), d1 = determinant * (b * e0 - a * e1);
  }
};

/// Neo-Hookean tetrahedra: the deviatoric and the hydrostatic constraint together, by the inverse of their
/// 2x2 response.
struct alignas(64) SolidPack {
  static constexpr int points = 4;
  static constexpr bool in_pairs = false;
  Index particle[points][wide];
  Wide3 from_first[points - 1];
  Wide rest[9];
  Wide compliance[2];  ///< 1 / (mu V), 1 / (lambda V)
  Wide multiplier[2];
  unsigned lanes;
  Real damping_time;

  void begin(const Place* places) {
    const Wide3 first = gather_place(places, particle[0]).x;
    for (int i = 1; i < points; ++i) from_first[i - 1] = gather_place(places, particle[i]).x - first;
  }
  struct Multipliers {
    Wide of[2];
  };
  static constexpr int count = 1;
  template <bool at_once>
  [[gnu::always_inline]] Wide move(WidePlace (&p)[points], [[maybe_unused]] PlaceSums<points>* sums,
                                   const Projection& how, [[maybe_unused]] Multipliers* previous) {
    Wide3 x[points], g[points], h[points];
    x[0] = Wide3{};
    for (int i = 1; i < points; ++i) x[i] = from_first[i - 1] + (p[i].x - p[0].x);
    const Wide shape = DeviatoricConstraint::value(x, rest, g),
               volume = HydrostaticConstraint::value(x, rest, h);
    // What is stretched, tr F^T F + J^2 - 4 J > 3, by no more than what it is large at rest, or less: one
    // that may grow by as much as it has grown does so without end where pins tear at it.
    const Wide most = most_squared(x) * min(fill(1), fill(3) * inverse_or_nothing(shape * shape));
    const Wide soft0 = fill(how.compliance_scale) * compliance[0],
               soft1 = fill(how.compliance_scale) * compliance[1];
    PairResponse response(p, g, h);
    if constexpr (at_once)
      for (Wide* const of : {&response.a, &response.b, &response.c}) *of = relaxed(*of, how);
    response.soften(soft0, soft1);
    const Wide before0 = given_before(multiplier[0], how), before1 = given_before(multiplier[1], how);
    const Wide e0 = fill(how.part) * (shape + soft0 * before0),
               e1 = fill(how.part) * (volume + soft1 * before1);
    Wide d0, d1, residual{};
    response.answer(e0, e1, d0, d1);
    if constexpr (at_once) {
      const auto& [a, b, c] = response;
      residual = d0 * (a * d0 + b * d1) + d1 * (b * d0 + c * d1);
      d0 = accelerated(before0, d0, previous->of[0], sums->omega, how);
      d1 = accelerated(before1, d1, previous->of[1], sums->omega, how);
    }
    bounded_ways(p, g, h, most, d0, d1, x);
    for (int i = 0; i < points; ++i)
      if constexpr (at_once)
        sums->sum[i].x += x[i];
      else
        p[i].x += x[i];
    note_given(multiplier[0], Wide(before0 + d0), how), note_given(multiplier[1], Wide(before1 + d1), how);
    return residual;
  }
  void damp(WidePlace (&way)[points], const Damping& how) const {
    Wide3 x[points], g[points];
    halfway<points>(how.before, particle, from_first, way, x);
    DeviatoricConstraint::value(x, rest, g);
    damp_along(g, compliance[0], damping_time, how, way);
    HydrostaticConstraint::value(x, rest, g);
    damp_along(g, compliance[1], damping_time, how, way);
  }
};

/// Constraints on weighted sums, of elements/linear_constraints.h: the multiplier is a vector.
template <int n>
struct alignas(64) LinearPack {
  static constexpr int points = n;
  static constexpr bool in_pairs = true;
  Index particle[points][wide];
  Wide3 start;  ///< [m] the sum where ways are counted from
  Wide weight[points];
  Wide compliance;
  Wide3 multiplier;
  unsigned lanes;
  Real damping_time;

  void begin(const Place* places) {
    // Of differences: the weights' sum is zero but for rounding.
    const Wide3 first = gather_place(places, particle[0]).x;
    start = Wide3{};
    for (int i = 1; i < points; ++i) start += weight[i] * (gather_place(places, particle[i]).x - first);
  }
  using Multipliers = Wide3;
  static constexpr int count = 1;
  template <bool at_once>
  [[gnu::always_inline]] Wide move(WidePlace (&p)[points], [[maybe_unused]] PlaceSums<points>* sums,
                                   const Projection& how, [[maybe_unused]] Multipliers* previous) {
    Wide3 error = start;
    Wide response{}, squares{}, lightest{};
    for (int i = 0; i < points; ++i) {
      if (i > 0) error += weight[i] * (p[i].x - p[0].x);
      const Wide square = weight[i] * weight[i];
      response += square * p[i].inverse_mass, squares += square, lightest = max(lightest, p[i].inverse_mass);
    }
    // Where a point of hardly any weight alone is free, it would have to go without bound: none goes farther
    // than eight times |C| over the root of the weights' squares.
    response = max(response, fill(Real(1) / 64) * lightest * squares);
    if constexpr (at_once) response = relaxed(response, how);
    const Wide soft = fill(how.compliance_scale) * compliance;
    const Wide scale = response > Wide{} ? fill(-how.part) * inverse_or_nothing(response + soft) : Wide{};
    const Wide3 before = given_before(multiplier, how);
    Wide3 given = scale * (error + soft * before);
    Wide residual{};
    if constexpr (at_once) {
      residual = (response + soft) * dot(given, given);
      given = accelerated(before, given, *previous, sums->omega, how);
      for (int i = 0; i < points; ++i) sums->sum[i].x += (p[i].inverse_mass * weight[i]) * given;
    } else {
      for (int i = 0; i < points; ++i) p[i].x += (p[i].inverse_mass * weight[i]) * given;
    }
    note_given(multiplier, before + given, how);
    return residual;
  }
  /// Along C alone, which turns nothing: what is bent may turn as a whole.
  void damp(WidePlace (&way)[points], const Damping& how) const {
    const Wide3 first = gather_place(how.before, particle[0]).x;
    Wide3 c = start, g[points];
    for (int i = 1; i < points; ++i)
      c += weight[i] *
           ((gather_place(how.before, particle[i]).x - first) + fill(Real(0.5)) * (way[i].x - way[0].x));
    const Wide3 along = inverse_or_nothing(sqrt(dot(c, c))) * c;
    for (int i = 0; i < points; ++i) g[i] = weight[i] * along;
    damp_along(g, compliance, damping_time, how, way);
  }
};

/// Tethers: a particle gets no farther from a held one than they are apart at rest. Source: Kim, Chentanez &
/// Mueller-Fischer 2012, "Long range attachments - a method to simulate inextensible clothing in computer
/// games", section 3.
struct alignas(64) TetherPack {
  static constexpr int points = 2;
  static constexpr bool in_pairs = false;
  Index particle[points][wide];  ///< and its anchor, which stays as it is
  Wide3 from_first;              ///< [m] to the anchor where ways are counted from
  Wide length;                   ///< [m]
  unsigned lanes;
  Real damping_time;  ///< not damped

  void begin(const Place* places) {
    from_first = gather_place(places, particle[1]).x - gather_place(places, particle[0]).x;
  }
  struct Multipliers {};
  [[gnu::always_inline]] void project(Place* places, const Projection& how) const {
    WidePlace p = gather_place(places, particle[0]);
    const WidePlace anchor = gather_place(places, particle[1]);
    const Wide3 d = from_first + (anchor.x - p.x);
    const Wide square = dot(d, d);
    // Those of pins that have let go do not hold.
    const Wide reach = fill(1 + how.strain_limit) * length;
    const auto pulls = (square > reach * reach) & (anchor.inverse_mass == Wide{}) & (p.inverse_mass > Wide{});
    if (!any(pulls)) return;
    const Wide far = sqrt(square);
    p.x += (pulls ? fill(how.part) * max(far - reach, Wide{}) * inverse_or_nothing(far) : Wide{}) * d;
    scatter_place(places, particle[0], lanes, p);
  }
};

/// Packs by colour.
template <class Pack>
class Batch {
 public:
  bool empty() const { return packs_.empty(); }
  std::size_t bytes() const { return packs_.size() * sizeof(Pack); }
  /// Constraints, or groups of those that a pack projects together.
  std::size_t size() const {
    std::size_t lanes = 0;
    for (const Pack& pack : packs_) lanes += static_cast<std::size_t>(std::popcount(pack.lanes));
    return lanes;
  }

  /// Lays out `items` [count * points] with fill(pack, lane, item) for what they are besides their particles;
  /// particles that `still` [N] marks may be shared within a colour. Those of a pack are damped alike, each
  /// as its first particle's `damping_time` [N] s says; empty: none is. What is within a slice of
  /// slices_of() is projected one colour after the other by itself, beside the other slices, before what is
  /// between them: a loop over a colour on several threads takes some microseconds, of which that it begins
  /// and ends takes one. Empty: there are none.
  template <class Fill>
  void lay_out(std::span<const Index> items, std::span<const std::uint8_t> still,
               std::span<const Real> damping_time, Fill&& set, std::span<const Index> slice = {}) {
    constexpr auto points = static_cast<std::size_t>(Pack::points);
    packs_.clear(), starts_.assign(1, 0), slices_.assign(1, 0);
    const Index num_slices = slice.empty() ? 0 : *std::max_element(slice.begin(), slice.end()) + 1;
    std::vector<Index> numbers, vertices;
    for (Index s = 0; s <= num_slices; ++s) {
      numbers.clear(), vertices.clear();
      for (std::size_t k = 0; k < items.size() / points; ++k) {
        if (!slice.empty() && slice[k] != (s < num_slices ? s : -1)) continue;
        numbers.push_back(Index(k));
        for (std::size_t i = 0; i < points; ++i) vertices.push_back(items[k * points + i]);
      }
      append(colour_greedily(vertices, Pack::points, still.size(), still), numbers, items, damping_time, set);
      if (s < num_slices) slices_.push_back(starts_.size() - 1);
    }
  }

  /// Where ways are counted from; places are positions [m].
  void begin(const Place* places) {
    parallel_for(packs_.size(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) packs_[k].begin(places);
    });
  }

  /// f(pack) of each, in parallel.
  template <class F>
  void each(F&& f) {
    parallel_for(packs_.size(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) f(packs_[k]);
    });
  }

  /// One sweep, colour by colour (Gauss-Seidel).
  void sweep(Place* places, const Projection& how) {
    sweep_with(how.is_back,
               [&](std::size_t first, std::size_t last) { project_all(first, last, places, how); });
  }
  /// Likewise of damping: takes its part from the ways [N] of a substep, with their inverse masses.
  void damp(Place* ways, const Damping& how) {
    sweep_with(false, [&](std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; ++k) {
        const Pack& pack = packs_[k];
        if (!(pack.damping_time > 0)) continue;
        WidePlace way[Pack::points];
        gather_points(pack, ways, way);
        pack.damp(way, how);
        put_points(pack, ways, way);
      }
    });
  }

  /// All at once: adds the ways of particles, whose masses in `places` are shares, to how.sums. Returns by
  /// how much constraints fail to hold, the sum of |C + alpha~ lambda|^2 over their responses.
  double sweep_at_once(Place* places, const Projection& how) {
    previous_.resize(packs_.size());
    const auto add = [&](std::size_t begin, std::size_t end) {
      Wide sum{};
      for (std::size_t k = begin; k < end; ++k) sum += project_at_once(packs_[k], places, how, previous_[k]);
      double of_lanes = 0;
      for (int l = 0; l < wide; ++l) of_lanes += static_cast<double>(sum[l]);
      return of_lanes;
    };
    double residual = ordered_sum(slices_.size() - 1, 1, [&](std::size_t begin, std::size_t end) {
      double sum = 0;
      for (std::size_t c = slices_[begin]; c < slices_[end]; ++c) sum += add(starts_[c], starts_[c + 1]);
      return sum;
    });
    for (std::size_t c = slices_.back(); c + 1 < starts_.size(); ++c)
      residual += ordered_sum(
          starts_[c + 1] - starts_[c], packs_per_block,
          [&](std::size_t begin, std::size_t end) { return add(starts_[c] + begin, starts_[c] + end); });
    return residual;
  }
  /// Adds to those of each particle [N] how many constraints share it.
  void count(std::span<Real> shares) const {
    for (const Pack& pack : packs_)
      for (int l = 0; l < wide; ++l)
        for (int i = 0; i < Pack::points && (pack.lanes >> l & 1) != 0; ++i)
          shares[static_cast<std::size_t>(pack.particle[i][l])] += Pack::count;
  }

 private:
  /// Appends those of the items that `numbers` tells, by their colours.
  template <class Fill>
  void append(const Colouring& colours, std::span<const Index> numbers, std::span<const Index> items,
              std::span<const Real> damping_time, Fill&& set) {
    constexpr auto points = static_cast<std::size_t>(Pack::points);
    for (Index c = 0; c < colours.num_colours(); ++c) {
      const auto first = static_cast<std::size_t>(colours.starts[std::size_t(c)]),
                 last = static_cast<std::size_t>(colours.starts[std::size_t(c) + 1]);
      const auto item_at = [&](std::size_t k) { return std::size_t(numbers[std::size_t(colours.order[k])]); };
      const auto damping_at = [&](std::size_t k) {
        return damping_time.empty() ? Real(0)
                                    : damping_time[static_cast<std::size_t>(items[item_at(k) * points])];
      };
      for (std::size_t k = first, end; k < last; k = end) {
        Pack& pack = packs_.emplace_back();
        pack = Pack{};
        pack.damping_time = damping_at(k);
        for (end = k + 1; end < std::min(last, k + wide) && damping_at(end) == pack.damping_time;) ++end;
        for (std::size_t l = 0; l < std::size_t(wide); ++l) {
          // Lanes left over repeat the last constraint, and write nothing.
          const bool holds = k + l < end;
          const std::size_t item = item_at(holds ? k + l : end - 1);
          for (std::size_t i = 0; i < points; ++i) pack.particle[i][l] = items[item * points + i];
          set(pack, int(l), item);
          pack.lanes |= unsigned(holds) << l;
        }
      }
      starts_.push_back(packs_.size());
    }
  }
  /// f(first, last) of the packs of each colour of each slice, and then of those between, in blocks; or back.
  template <class F>
  [[gnu::always_inline]] void sweep_with(bool is_back, F&& f) {
    const auto between = [&] {
      sweep_colours(slices_.back(), starts_.size() - 1, is_back, [&](std::size_t first, std::size_t last) {
        parallel_for(last - first, packs_per_block,
                     [&](std::size_t begin, std::size_t end) { f(first + begin, first + end); });
      });
    };
    if (is_back) between();
    parallel_blocks(slices_.size() - 1,
                    [&](std::size_t k) { sweep_colours(slices_[k], slices_[k + 1], is_back, f); });
    if (!is_back) between();
  }
  template <class F>
  void sweep_colours(std::size_t begin, std::size_t end, bool is_back, F&& f) {
    for (std::size_t n = begin; n < end; ++n) {
      const std::size_t c = is_back ? begin + end - 1 - n : n;
      f(starts_[c], starts_[c + 1]);
    }
  }
  [[gnu::always_inline]] void project_all(std::size_t first, std::size_t last, Place* places,
                                          const Projection& how) {
    for (std::size_t k = first; k < last; ++k) {
      Pack& pack = packs_[k];
      if constexpr (Pack::in_pairs)
        if (k + 1 < last) {
          project_two(pack, packs_[++k], places, how);
          continue;
        }
      project(pack, places, how);
    }
  }
  [[gnu::always_inline]] static void project(Pack& pack, Place* places, const Projection& how) {
    if constexpr (requires { &Pack::project; })
      pack.project(places, how);
    else
      project_one(pack, places, how);
  }

  static constexpr std::size_t packs_per_block = 16;
  AlignedVector<Pack> packs_;
  AlignedVector<typename Pack::Multipliers> previous_;  ///< of each pack, before the last sweep; once wanted
  std::vector<std::size_t> starts_ = {0};               ///< [colours + 1]
  std::vector<std::size_t> slices_ = {0};               ///< [slices + 1] colours of each; others follow
};

using DistanceBatch = Batch<ScalarPack<DistanceConstraint>>;
using DihedralBatch = Batch<ScalarPack<DihedralConstraint>>;
using VolumeBatch = Batch<ScalarPack<VolumeConstraint>>;
using PlateBatch = Batch<LinearPack<4>>;
using RodBatch = Batch<LinearPack<3>>;
using SolidBatch = Batch<SolidPack>;
using TetherBatch = Batch<TetherPack>;

}}  // namespace plenum::PLENUM_ABI::detail
