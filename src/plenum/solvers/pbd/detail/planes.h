#pragma once
// Planes between the features of pairs, many pairs at a time.
#include <algorithm>
#include <cmath>

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
/// Where the features of pairs are nearest, x from their first particles, and planes across the way there, as
/// far as the arithmetic goes: of edges that are all but parallel, and much nearer than they are long, it
/// leaves no more than chance of where they are nearest, and of the planes' gap less than nothing.
[[gnu::always_inline]] inline Planes rough_planes_between(bool edges, const Wide3 (&x)[4]) {
  Planes out;
  out.nearest = edges ? edge_edge<Wide>(x) : vertex_triangle<Wide>(x);
  const Wide3& apart = out.nearest.apart;
  out.normal = inverse_or_zero(sqrt(dot(apart, apart))) * apart;
  out.gap = along(edges, out.normal, x);
  return out;
}

/// Looks again in double, for the lanes whose planes are not nearly as far apart as the points found are.
[[gnu::noinline, gnu::cold]] inline void refine(bool edges, const Wide3 (&x)[4], Planes& planes) {
  const Wide3& apart = planes.nearest.apart;
  each_lane(planes.gap < fill(Real(0.9)) * sqrt(dot(apart, apart)), [&](int l) {
    V3<double> at[4];
    for (int i = 0; i < 4; ++i) at[i] = {double(x[i].x[l]), double(x[i].y[l]), double(x[i].z[l])};
    const FeaturePoint<double> found = edges ? edge_edge<double>(at) : vertex_triangle<double>(at);
    const double distance = std::sqrt(dot(found.apart, found.apart));
    if (!(distance > 0)) return;
    const V3<double> n = (1 / distance) * found.apart;
    const double gap =
        apart_along<double>(edges, {dot(n, at[0]), dot(n, at[1]), dot(n, at[2]), dot(n, at[3])});
    if (!(gap > double(planes.gap[l]))) return;
    for (int i = 0; i < 4; ++i) planes.nearest.weight[i][l] = Real(found.weight[i]);
    planes.nearest.apart.x[l] = Real(found.apart.x), planes.nearest.apart.y[l] = Real(found.apart.y),
    planes.nearest.apart.z[l] = Real(found.apart.z);
    planes.normal.x[l] = Real(n.x), planes.normal.y[l] = Real(n.y), planes.normal.z[l] = Real(n.z);
  });
  planes.gap = along(edges, planes.normal, x);
}

/// The same, with planes as far apart as the features are but for rounding of their places.
[[gnu::always_inline]] inline Planes planes_between(bool edges, const Wide3 (&x)[4]) {
  Planes out = rough_planes_between(edges, x);
  const Wide3& apart = out.nearest.apart;
  if (any(out.gap < fill(Real(0.9)) * sqrt(dot(apart, apart)))) refine(edges, x, out);
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
