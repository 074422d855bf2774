#pragma once
// Several constraints on the same points, projected one after the other between one gathering of their
// particles and one scattering.
#include <tuple>
#include <type_traits>

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
  struct Multipliers {
    Wide of[sizeof...(C)];
  };
  /// All at once, they are so among themselves too.
  template <bool damped, bool at_once>
  [[gnu::always_inline]] Wide project_as(Place* places, const Projection& how,
                                         [[maybe_unused]] Multipliers* previous) {
    WidePlace p[points];
    for (int i = 0; i < points; ++i) p[i] = gather_place(places, particle[i]);
    int k = 0;
    Wide residual{};
    if constexpr (at_once) {
      PlaceSums<points> sums(particle, how);
      const auto one = [&]<class One>(std::type_identity<One>) {
        Wide3 g[points];
        const Wide before = given_before(multiplier[k], how);
        const Wide given = change<One, damped>(p, k, before, g, how, residual);
        const Wide whole =
            accelerated(before, Wide(fill(how.relaxation) * given), previous->of[k], sums.omega, how);
        note_given(multiplier[k++], Wide(before + whole), how);
        for (int i = 0; i < points; ++i) sums.sum[i].x += (p[i].inverse_mass * whole) * g[i];
      };
      (one(std::type_identity<C>{}), ...);
      for (int i = 0; i < points; ++i) put_place(how.sums, particle[i], lanes, sums.sum[i]);
    } else {
      const auto one = [&]<class One>(std::type_identity<One>) {
        Wide3 g[points];
        const Wide before = given_before(multiplier[k], how);
        const Wide given = change<One, damped>(p, k, before, g, how, residual);
        note_given(multiplier[k++], Wide(before + given), how);
        for (int i = 0; i < points; ++i) p[i].x += (p[i].inverse_mass * given) * g[i];
      };
      (one(std::type_identity<C>{}), ...);
      for (int i = 0; i < points; ++i) put_place(places, particle[i], lanes, p[i]);
    }
    return residual;
  }

 private:
  /// dlambda of one of the constraints and its gradients, as of ScalarPack.
  template <class One, bool damped>
  [[gnu::always_inline]] Wide change(const WidePlace (&p)[points], int k, const Wide& before,
                                     Wide3 (&g)[points], const Projection& how, Wide& residual) const {
    Wide3 x[points];
    x[0] = Wide3{};
    for (int i = 1; i < points; ++i) x[i] = from_first[i - 1] + (p[i].x - p[0].x);
    Wide error = One::value(x, rest, g), response{};
    for (int i = 0; i < points; ++i) response += p[i].inverse_mass * dot(g[i], g[i]);
    const Wide is_off = error, answer = response;
    if constexpr (damped) {
      Wide3 unused[points];
      places_before<points>(how.before, particle, from_first, x);
      const Real gamma = damping_time * how.damping_scale;
      error += fill(gamma) * changed<One>(error, Wide(One::value(x, rest, unused)));
      response = fill(1 + gamma) * response;
    }
    const Wide soft = fill(how.compliance_scale) * compliance[k];
    const Wide given =
        limited<One>(Wide(fill(-how.part) * (error + soft * before) * inverse_or_nothing(response + soft)),
                     is_off, answer, rest, how);
    const Wide held = (response > Wide{}) & (compliance[k] >= Wide{}) ? given : Wide{};
    residual += (response + soft) * held * held;
    return held;
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
