#pragma once
// Several constraints on the same points, projected one after the other between one gathering of their
// particles and one scattering.
#include <tuple>

#include "plenum/elements/strain_constraints.h"
#include "plenum/solvers/pbd/detail/packs.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Constraints C... of the same points and rest state, each with a compliance of its own; a negative one: it
/// does not hold.
template <class... C>
struct alignas(64) JointPack {
  using First = std::tuple_element_t<0, std::tuple<C...>>;
  static constexpr int points = First::points, numbers = First::numbers, count = sizeof...(C);
  static_assert(((C::points == points && C::numbers == numbers) && ...));
  Index particle[points][wide];
  Wide3 from_first[points - 1];  ///< [m] from the first particle to the others when the step began
  Wide rest[numbers];
  Wide compliance[count], multiplier[count];
  unsigned lanes;
  Real damping_time;

  void begin(const Place* places) {
    const Wide3 first = gather_place(places, particle[0]).x;
    for (int i = 1; i < points; ++i) from_first[i - 1] = gather_place(places, particle[i]).x - first;
  }
  template <bool damped>
  [[gnu::always_inline]] void project_as(Place* places, const Projection& how) {
    WidePlace p[points];
    for (int i = 0; i < points; ++i) p[i] = gather_place(places, particle[i]);
    int k = 0;
    (take<C, damped>(p, k++, how), ...);
    for (int i = 0; i < points; ++i) put_place(places, particle[i], lanes, p[i]);
  }

 private:
  /// As ScalarPack::project_as.
  template <class One, bool damped>
  [[gnu::always_inline]] void take(WidePlace (&p)[points], int k, const Projection& how) {
    Wide3 x[points], g[points];
    x[0] = Wide3{};
    for (int i = 1; i < points; ++i) x[i] = from_first[i - 1] + (p[i].x - p[0].x);
    Wide error = One::value(x, rest, g), response{};
    for (int i = 0; i < points; ++i) response += p[i].inverse_mass * dot(g[i], g[i]);
    if constexpr (damped) {
      Wide3 unused[points];
      places_before<points>(how.before, particle, from_first, x);
      const Real gamma = damping_time * how.damping_scale;
      error += fill(gamma) * changed<One>(error, Wide(One::value(x, rest, unused)));
      response = fill(1 + gamma) * response;
    }
    const Wide soft = fill(how.compliance_scale) * compliance[k];
    const Wide before = given_before(multiplier[k], how);
    const Wide change = fill(-how.part) * (error + soft * before) * inverse_or_nothing(response + soft);
    const Wide given = (response > Wide{}) & (compliance[k] >= Wide{}) ? change : Wide{};
    note_given(multiplier[k], Wide(before + given), how);
    for (int i = 0; i < points; ++i) p[i].x += (p[i].inverse_mass * given) * g[i];
  }
};

using TriangleStrainPack =
    JointPack<TriangleStretchConstraint<0>, TriangleStretchConstraint<1>, TriangleShearConstraint>;
/// Stretch along x, y, z; shear of yz, zx, xy.
using TetrahedronStrainPack = JointPack<TetrahedronStretchConstraint<0>, TetrahedronStretchConstraint<1>,
                                        TetrahedronStretchConstraint<2>, TetrahedronShearConstraint<1, 2>,
                                        TetrahedronShearConstraint<2, 0>, TetrahedronShearConstraint<0, 1>>;
using TriangleStrainBatch = Batch<TriangleStrainPack>;
using TetrahedronStrainBatch = Batch<TetrahedronStrainPack>;
using AreaBatch = Batch<ScalarPack<TriangleAreaConstraint>>;

}}  // namespace plenum::PLENUM_ABI::detail
