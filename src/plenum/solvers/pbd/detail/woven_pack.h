#pragma once
// Bending and two distances between its points, projected one after the other between one gathering of their
// particles and one scattering, which take half of the time of such projections.
#include "plenum/solvers/pbd/detail/packs.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// A constraint on a weighted sum of points, as of LinearPack, and then the distances of the points a0 and
/// b0, and of a1 and b1, as of ScalarPack: of a row a rod and its two segments, of a cell its twist and its
/// two diagonals. None is damped.
template <int n, int a0, int b0, int a1, int b1>
struct alignas(64) WovenPack {
  static constexpr int points = n, count = 3;
  static constexpr bool in_pairs = true;
  Index particle[points][wide];
  Wide3 start;       ///< [m] the sum where ways are counted from
  Wide3 between[2];  ///< [m] from the one end to the other of the distances where ways are counted from
  Wide weight[points];
  Wide compliance;
  Wide rest[2], give[2];  ///< lengths [m] and compliances of the distances
  Wide3 multiplier;
  Wide tension[2];  ///< multipliers of the distances
  unsigned lanes;
  Real damping_time;  ///< 0

  void begin(const Place* places) {
    const Wide3 first = gather_place(places, particle[0]).x;
    Wide3 x[points];
    x[0] = Wide3{}, start = Wide3{};
    for (int i = 1; i < points; ++i) {
      x[i] = gather_place(places, particle[i]).x - first;
      start += weight[i] * x[i];
    }
    between[0] = x[b0] - x[a0], between[1] = x[b1] - x[a1];
  }
  struct Multipliers {};
  void project(Place* places, const Projection& how) { project_one(*this, places, how); }
  template <bool at_once>
  [[gnu::always_inline]] Wide move(WidePlace (&p)[points], PlaceSums<points>*, const Projection& how,
                                   Multipliers*) {
    static_assert(!at_once);
    Wide3 error = start;
    Wide response{};
    for (int i = 0; i < points; ++i) {
      if (i > 0) error += weight[i] * (p[i].x - p[0].x);
      response += (weight[i] * weight[i]) * p[i].inverse_mass;
    }
    const Wide soft = fill(how.compliance_scale) * compliance;
    const Wide scale = response > Wide{} ? fill(-how.part) * inverse_or_nothing(response + soft) : Wide{};
    const Wide3 before = given_before(multiplier, how), given = scale * (error + soft * before);
    for (int i = 0; i < points; ++i) p[i].x += (p[i].inverse_mass * weight[i]) * given;
    note_given(multiplier, before + given, how);
    hold(p[a0], p[b0], 0, how), hold(p[a1], p[b1], 1, how);
    return Wide{};
  }

 private:
  [[gnu::always_inline]] void hold(WidePlace& a, WidePlace& b, int k, const Projection& how) {
    const Wide3 x[2] = {Wide3{}, between[k] + (b.x - a.x)};
    Wide3 g[2];
    const Wide length[1] = {rest[k]};
    const Wide error = DistanceConstraint::value(x, length, g);
    const Wide response = (a.inverse_mass + b.inverse_mass) * dot(g[1], g[1]);
    const Wide soft = fill(how.compliance_scale) * give[k];
    const Wide before = given_before(tension[k], how);
    const Wide change = fill(-how.part) * (error + soft * before) * inverse_or_nothing(response + soft);
    const Wide given =
        limited<DistanceConstraint>(Wide(response > Wide{} ? change : Wide{}), error, response, length, how);
    a.x += (a.inverse_mass * given) * g[0], b.x += (b.inverse_mass * given) * g[1];
    note_given(tension[k], Wide(before + given), how);
  }
};

/// A rod with its two segments; a cell that twists with its two diagonals.
using WovenRodBatch = Batch<WovenPack<3, 0, 1, 1, 2>>;
using WovenCellBatch = Batch<WovenPack<4, 0, 3, 1, 2>>;

}}  // namespace plenum::PLENUM_ABI::detail
