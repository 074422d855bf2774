#pragma once
// Constraints of one colour, eight or sixteen at a time, and their projections.
#include "plenum/elements/position_constraints.h"
#include "plenum/elements/strain_constraints.h"
#include "plenum/solvers/pbd/detail/batch.h"
#include "plenum/solvers/pbd/detail/damping.h"
#include "plenum/solvers/pbd/detail/wide_places.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

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
    if constexpr (requires { C::most_change; }) {
      const Wide most_given = fill(Real(C::most_change)) * inverse_or_nothing(response);
      change = min(max(change, -most_given), most_given);
    }
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
  static constexpr int rates = 1;  ///< that are damped
  void damp(WidePlace (&way)[points], const Damping& how, Wide (&given)[rates]) const {
    Wide3 x[points], g[points];
    halfway<points>(how.middle, particle, from_first, x);
    C::value(x, rest, g);
    damp_along(g, compliance, damping_time, how, given[0], way);
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

/// Neo-Hookean tetrahedra below a part of their volume resist as if lambda were more; see SolidPack.
inline constexpr Real crushed = Real(0.5);    ///< J
inline constexpr Real crushed_hardness = 20;  ///< lambda over mu
/// [J] What they store, of mu V and lambda V.
[[gnu::always_inline]] inline Wide solid_energy(const Wide3 (&x)[4], const Wide (&rest)[9], const Wide& mu,
                                                const Wide& lambda) {
  Wide3 gradient[4];
  const Wide shape = DeviatoricConstraint::value(x, rest, gradient),
             volume = HydrostaticConstraint::value(x, rest, gradient);
  const Wide least = fill(crushed - 1), beyond = min(volume - least, Wide{}), all = max(volume, least);
  const Wide hard = max(lambda, fill(crushed_hardness) * mu);
  const Wide squares = mu * shape * shape + lambda * all * all + hard * beyond * beyond;
  return fill(Real(0.5)) * squares + lambda * least * beyond;
}

/// Neo-Hookean tetrahedra: the deviatoric and the hydrostatic constraint together, by the inverse of their
/// 2x2 response.
///
/// Nothing at all is at rest by the deviatoric energy, and costs lambda V / 2: what has no Poisson's ratio to
/// speak of fell into a point for good. Below half of its volume a tetrahedron resists as if lambda were no
/// less than twenty mu, with the pressure that it has there: of energy, what falls into a point then has more
/// than 2.5 mu V.
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
    const Wide shape = DeviatoricConstraint::value(x, rest, g);
    Wide volume = HydrostaticConstraint::value(x, rest, h), give = compliance[1];
    const auto is_crushed = volume < fill(crushed - 1);
    if (any(is_crushed)) [[unlikely]] {
      const Wide hard = min(give, fill(1 / crushed_hardness) * compliance[0]);
      volume += is_crushed ? fill(crushed - 1) * (hard * inverse_or_nothing(give) - fill(1)) : Wide{};
      give = is_crushed ? hard : give;
    }
    // What is stretched, tr F^T F + J^2 - 4 J > 3, by no more than what it is large at rest, or less: one
    // that may grow by as much as it has grown does so without end where pins tear at it.
    const Wide most = most_squared(x) * min(fill(1), fill(3) * inverse_or_nothing(shape * shape));
    const Wide soft0 = fill(how.compliance_scale) * compliance[0], soft1 = fill(how.compliance_scale) * give;
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
  /// Along all six strains, mu |e|^2 of which the deviatoric energy is near rest, and along the volume: the
  /// deviatoric constraint alone is one number, which what is stretched hardly changes as it twists.
  static constexpr int rates = 7;
  void damp(WidePlace (&way)[points], const Damping& how, Wide (&given)[rates]) const {
    Wide3 x[points], g[points];
    halfway<points>(how.middle, particle, from_first, x);
    const Wide stretch = fill(Real(0.5)) * compliance[0];
    int k = 0;
    const auto along = [&](auto constraint, const Wide& of) {
      decltype(constraint)::value(x, rest, g);
      damp_along(g, of, damping_time, how, given[k++], way);
    };
    along(TetrahedronStretchConstraint<0>{}, stretch), along(TetrahedronStretchConstraint<1>{}, stretch);
    along(TetrahedronStretchConstraint<2>{}, stretch);
    along(TetrahedronShearConstraint<1, 2>{}, compliance[0]);
    along(TetrahedronShearConstraint<2, 0>{}, compliance[0]);
    along(TetrahedronShearConstraint<0, 1>{}, compliance[0]);
    along(HydrostaticConstraint{}, compliance[1]);
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
  static constexpr int rates = 1;
  void damp(WidePlace (&way)[points], const Damping& how, Wide (&given)[rates]) const {
    const Wide3 first = gather_place(how.middle, particle[0]).x;
    Wide3 c = start, g[points];
    for (int i = 1; i < points; ++i) c += weight[i] * (gather_place(how.middle, particle[i]).x - first);
    const Wide3 along = inverse_or_nothing(sqrt(dot(c, c))) * c;
    for (int i = 0; i < points; ++i) g[i] = weight[i] * along;
    damp_along(g, compliance, damping_time, how, given[0], way);
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

using DistanceBatch = Batch<ScalarPack<DistanceConstraint>>;
using DihedralBatch = Batch<ScalarPack<DihedralConstraint>>;
using VolumeBatch = Batch<ScalarPack<VolumeConstraint>>;
using PlateBatch = Batch<LinearPack<4>>;
using RodBatch = Batch<LinearPack<3>>;
using SolidBatch = Batch<SolidPack>;
using TetherBatch = Batch<TetherPack>;

}}  // namespace plenum::PLENUM_ABI::detail
