#pragma once
// Several constraints on the same points, projected one after the other between one gathering of their
// particles and one scattering.
#include <tuple>
#include <type_traits>
#include <utility>

#include "plenum/elements/folding_constraints.h"
#include "plenum/elements/strain_constraints.h"
#include "plenum/solvers/pbd/detail/packs.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Constraints C... of the same points and rest state, each with a compliance of its own; a negative one: it
/// does not hold.
///
/// Lengths and angles are those of an element's mirror image too: where a tetrahedron has turned inside out,
/// strains hold it there, against its volume and its neighbours. While det F < 0 it is a neo-Hookean solid
/// instead, which comes back from there (elements/position_constraints.h), as soft as the mean of its axes.
template <class... C>
struct alignas(64) JointPack {
  using First = std::tuple_element_t<0, std::tuple<C...>>;
  static constexpr int points = First::points, numbers = First::numbers, count = sizeof...(C);
  static constexpr bool in_pairs = false;
  static_assert(((C::points == points && C::numbers == numbers) && ...));
  Index particle[points][wide];
  Wide3 from_first[points - 1];  ///< [m] from the first particle to the others where ways are counted from
  Wide rest[numbers];
  static constexpr bool is_solid = requires { First::is_solid; };
  Wide compliance[count], multiplier[count];
  Wide solid_multiplier[is_solid ? 2 : 1];  ///< of what is inside out
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
  template <bool at_once>
  [[gnu::always_inline]] Wide move(WidePlace (&p)[points], [[maybe_unused]] PlaceSums<points>* sums,
                                   const Projection& how, [[maybe_unused]] Multipliers* previous) {
    Wide residual{}, upright = fill(1);
    Wide3 back[points];
    bool is_mirrored = false;
    if constexpr (is_solid) {
      if (how.is_first)
        for (Wide& of : solid_multiplier) of = Wide{};
      if (any_mirrored(p, upright)) [[unlikely]] {
        is_mirrored = true;
        turn_back<at_once>(p, upright, how, back, residual);
      }
    }
    if constexpr (at_once) {
      if (is_mirrored) [[unlikely]]
        for (int i = 0; i < points; ++i) sums->sum[i].x += back[i];
      int k = 0;
      const auto one = [&]<class One>(std::type_identity<One>) {
        Wide3 g[points];
        const Wide before = given_before(multiplier[k], how);
        const Wide given = change<One, true>(p, k, before, upright, g, how, residual);
        const Wide whole = accelerated(before, given, previous->of[k], sums->omega, how);
        note_given(multiplier[k++], Wide(before + whole), how);
        for (int i = 0; i < points; ++i) sums->sum[i].x += (p[i].inverse_mass * whole) * g[i];
      };
      (one(std::type_identity<C>{}), ...);
    } else {
      if (is_mirrored) [[unlikely]]
        for (int i = 0; i < points; ++i) p[i].x += back[i];
      const auto one = [&]<int k>(std::integral_constant<int, k>) {
        Wide3 g[points];
        const Wide before = given_before(multiplier[k], how);
        const Wide given =
            change<std::tuple_element_t<k, std::tuple<C...>>, false>(p, k, before, upright, g, how, residual);
        note_given(multiplier[k], Wide(before + given), how);
        for (int i = 0; i < points; ++i) p[i].x += (p[i].inverse_mass * given) * g[i];
      };
      const auto all = [&]<int... k>(std::integer_sequence<int, k...>) {
        // Of what is swept there and back, closed surfaces.
        if (points == 3 && how.is_back)
          (one(std::integral_constant<int, count - 1 - k>{}), ...);
        else
          (one(std::integral_constant<int, k>{}), ...);
      };
      all(std::make_integer_sequence<int, count>{});
    }
    return residual;
  }
  static constexpr int rates = count;
  void damp(WidePlace (&way)[points], const Damping& how, Wide (&given)[rates]) const {
    Wide3 x[points];
    halfway<points>(how.middle, particle, from_first, x);
    int k = 0;
    const auto one = [&]<class One>(std::type_identity<One>) {
      Wide3 g[points];
      One::value(x, rest, g);
      damp_along(g, compliance[k], damping_time, how, given[k], way), ++k;
    };
    (one(std::type_identity<C>{}), ...);
  }

 private:
  [[gnu::always_inline]] void from_the_first(const WidePlace (&p)[points], Wide3 (&x)[points]) const {
    x[0] = Wide3{};
    for (int i = 1; i < points; ++i) x[i] = from_first[i - 1] + (p[i].x - p[0].x);
  }
  /// Whether some are inside out; `upright`: 1 of those that are not, 0 of those that are.
  [[gnu::always_inline]] bool any_mirrored(const WidePlace (&p)[points], Wide& upright) const {
    Wide3 x[points], f[3];
    from_the_first(p, x);
    deformation(x, rest, f);
    const auto mirrored = dot(f[0], cross(f[1], f[2])) < Wide{};
    upright = mirrored ? Wide{} : fill(1);
    return any(mirrored);
  }
  /// The ways by which those that are inside out go back, and none of the others.
  template <bool at_once>
  [[gnu::noinline]] void turn_back(const WidePlace (&p)[points], const Wide& upright, const Projection& how,
                                   Wide3 (&way)[points], Wide& residual) {
    Wide3 x[points], g[points], h[points];
    from_the_first(p, x);
    const Wide shape = DeviatoricConstraint::value(x, rest, g),
               volume = HydrostaticConstraint::value(x, rest, h);
    Wide sum{}, held{};
    for (const Wide& of : compliance) {
      sum += of >= Wide{} ? of : Wide{};
      held += of >= Wide{} ? fill(1) : Wide{};
    }
    const Wide soft = fill(how.compliance_scale) * sum * inverse_or_nothing(held);
    PairResponse response(p, g, h);
    response.soften(soft, soft);
    Wide d0, d1;
    const Wide e0 = shape + soft * solid_multiplier[0], e1 = volume + soft * solid_multiplier[1];
    response.answer(fill(how.part) * e0, fill(how.part) * e1, d0, d1);
    const auto stays = (upright > Wide{}) | (held == Wide{});
    d0 = stays ? Wide{} : d0, d1 = stays ? Wide{} : d1;
    residual -= e0 * d0 + e1 * d1;
    if constexpr (at_once) d0 = fill(how.relaxation) * d0, d1 = fill(how.relaxation) * d1;
    // As of SolidPack: no more than what it is large at rest, where pins tear at it.
    const Wide most = most_squared(x) * min(fill(1), fill(3) * inverse_or_nothing(shape * shape));
    bounded_ways(p, g, h, most, d0, d1, way);
    solid_multiplier[0] += d0, solid_multiplier[1] += d1;
  }
  /// dlambda of one of the constraints and its gradients, as of ScalarPack.
  template <class One, bool at_once>
  [[gnu::always_inline]] Wide change(const WidePlace (&p)[points], int k, const Wide& before,
                                     const Wide& upright, Wide3 (&g)[points], const Projection& how,
                                     Wide& residual) const {
    Wide3 x[points];
    from_the_first(p, x);
    const Wide error = One::value(x, rest, g);
    Wide response{};
    for (int i = 0; i < points; ++i) response += p[i].inverse_mass * dot(g[i], g[i]);
    if constexpr (at_once) response = relaxed(response, how);
    const Wide soft = fill(how.compliance_scale) * compliance[k];
    const Wide given =
        limited<One>(Wide(fill(-how.part) * (error + soft * before) * inverse_or_nothing(response + soft)),
                     error, response, rest, how);
    const Wide held = (response > Wide{}) & (compliance[k] >= Wide{}) & (upright > Wide{}) ? given : Wide{};
    residual += (response + soft) * held * held;
    return held;
  }
};

using TriangleStrainPack =
    JointPack<TriangleStretchConstraint<0>, TriangleStretchConstraint<1>, TriangleShearConstraint>;
using SkinStrainPack =
    JointPack<FoldingConstraint<TriangleStretchConstraint<0>>,
              FoldingConstraint<TriangleStretchConstraint<1>>, FoldingConstraint<TriangleShearConstraint>>;
/// Stretch along x, y, z; shear of yz, zx, xy.
using TetrahedronStrainPack = JointPack<TetrahedronStretchConstraint<0>, TetrahedronStretchConstraint<1>,
                                        TetrahedronStretchConstraint<2>, TetrahedronShearConstraint<1, 2>,
                                        TetrahedronShearConstraint<2, 0>, TetrahedronShearConstraint<0, 1>>;
using TriangleStrainBatch = Batch<TriangleStrainPack>;
using TetrahedronStrainBatch = Batch<TetrahedronStrainPack>;
using AreaBatch = Batch<ScalarPack<TriangleAreaConstraint>>;
using SkinDistanceBatch = Batch<ScalarPack<FoldingConstraint<DistanceConstraint>>>;
using SkinStrainBatch = Batch<SkinStrainPack>;
using SkinAreaBatch = Batch<ScalarPack<FoldingConstraint<TriangleAreaConstraint>>>;

}}  // namespace plenum::PLENUM_ABI::detail
