#pragma once
// Planes between the features of pairs, many pairs at a time.
#include <algorithm>

#include "plenum/geometry/feature_distance.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// How far the first feature of a pair is from the second along a direction, at least, of its points along
/// it: the gap between two planes across it; of ways, by what it grows.
template <class T>
[[gnu::always_inline]] inline T apart_along(bool edges, const T (&at)[4]) {
  using detail::max, detail::min, std::max, std::min;
  return edges ? T(min(at[0], at[1]) - max(at[2], at[3])) : T(at[0] - max(at[1], max(at[2], at[3])));
}
[[gnu::always_inline]] inline Wide along(bool edges, const Wide3& n, const Wide3 (&x)[4]) {
  return apart_along<Wide>(edges, {dot(n, x[0]), dot(n, x[1]), dot(n, x[2]), dot(n, x[3])});
}

struct Planes {
  FeaturePoint<Wide> nearest;
  Wide3 normal;  ///< 0 where they touch
  Wide gap;      ///< [m] no more than their distance, whatever rounding made of the normal
};
/// Where the features of pairs are nearest, x from their first particles, and planes across the way there.
[[gnu::always_inline]] inline Planes planes_between(bool edges, const Wide3 (&x)[4]) {
  Planes out;
  out.nearest = edges ? edge_edge<Wide>(x) : vertex_triangle<Wide>(x);
  const Wide3& apart = out.nearest.apart;
  out.normal = inverse_or_zero(sqrt(dot(apart, apart))) * apart;
  out.gap = along(edges, out.normal, x);
  return out;
}

/// Whether one plane, across the sum of two directions, has more than `least` between the features both at
/// the start and at the end, and so all the way if they go straight.
[[gnu::always_inline]] inline auto stay_apart(bool edges, const Wide3& n0, const Wide3& n1,
                                              const Wide3 (&start)[4], const Wide3 (&end)[4],
                                              const Wide& least) {
  const Wide3 sum = n0 + n1;
  const Wide3 n = inverse_or_zero(sqrt(dot(sum, sum))) * sum;
  return min(along(edges, n, start), along(edges, n, end)) > least;
}

}}  // namespace plenum::PLENUM_ABI::detail
