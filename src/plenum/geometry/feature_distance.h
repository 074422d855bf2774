#pragma once
// Closest points of a vertex and a triangle, and of two edges, for one pair or for as many as a vector has
// lanes: without branches. T is a number, or Wide.
#include <type_traits>

#include "plenum/math/wide.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Where two features are nearest: x = sum of weight[i] times place i is the way from the second to the
/// first. The weights of each feature sum to 1, of the second to -1.
template <class T>
struct FeaturePoint {
  T weight[4];
  V3<T> apart;  ///< [m] from the second feature's point to the first's
};

template <class T>
[[gnu::always_inline]] inline T unit_interval(const T& a) {
  const T zero{}, one = zero + 1;
  return a < zero ? zero : a > one ? one : a;
}

/// a / b, and 0 where b is not positive.
template <class T>
[[gnu::always_inline]] inline T part_of(const T& a, const T& b) {
  const T zero{}, one = zero + 1;
  return b > zero ? a / (b > zero ? b : one) : zero;
}

/// Nearest point of the segment from a on, along `ab`, to p: in [0, 1]. Of no length: 0.
template <class T>
[[gnu::always_inline]] inline T along_segment(const V3<T>& ap, const V3<T>& ab) {
  return unit_interval<T>(part_of<T>(dot(ap, ab), dot(ab, ab)));
}

/// Of the vertex x[0] and the triangle x[1], x[2], x[3], which may be degenerate. The nearest of the face,
/// where it is over it, and of its three sides (Ericson 2005, "Real-time collision detection",
/// section 5.1.5).
template <class T>
[[gnu::always_inline]] inline FeaturePoint<T> vertex_triangle(const V3<T> (&x)[4]) {
  const T zero{}, one = zero + 1;
  const V3<T> ab = x[2] - x[1], ac = x[3] - x[1], bc = x[3] - x[2], ap = x[0] - x[1], bp = x[0] - x[2];
  // Barycentric coordinates of the foot, times the square of the normal.
  const T d00 = dot(ab, ab), d01 = dot(ab, ac), d11 = dot(ac, ac), d20 = dot(ap, ab), d21 = dot(ap, ac);
  const T area = d00 * d11 - d01 * d01, v = d11 * d20 - d01 * d21, w = d00 * d21 - d01 * d20;
  // Of a needle these are rounding alone: its sides are as good.
  const auto over = (area > (zero + Real(1e-6)) * d00 * d11) & (v > zero) & (w > zero) & (v + w < area);
  const T fv = part_of<T>(v, area), fw = part_of<T>(w, area);
  const T s = along_segment<T>(ap, ab), t = along_segment<T>(ap, ac), u = along_segment<T>(bp, bc);
  const V3<T> from_ab = ap - s * ab, from_ac = ap - t * ac, from_bc = bp - u * bc;
  const T d_ab = dot(from_ab, from_ab), d_ac = dot(from_ac, from_ac), d_bc = dot(from_bc, from_bc);
  // Weights of the second and the third corner at the nearest side.
  const auto ab_first = (d_ab <= d_ac) & (d_ab <= d_bc);
  const auto ac_first = d_ac <= d_bc;
  T wv = ab_first ? s : ac_first ? zero : one - u;
  T ww = ab_first ? zero : ac_first ? t : u;
  wv = over ? fv : wv, ww = over ? fw : ww;
  const V3<T> apart = ap - (wv * ab + ww * ac);
  return {{one, wv + ww - one, -wv, -ww}, apart};
}

/// The squared sine below which edges count as parallel: rounding alone.
template <class T>
inline constexpr double parallel = std::is_same_v<T, double> ? 1e-14 : 1e-7;

/// Of the edges x[0] x[1] and x[2] x[3]. Source: Ericson 2005, section 5.1.9. Of parallel edges any of the
/// nearest points.
template <class T>
[[gnu::always_inline]] inline FeaturePoint<T> edge_edge(const V3<T> (&x)[4]) {
  const T zero{}, one = zero + 1;
  const V3<T> d1 = x[1] - x[0], d2 = x[3] - x[2], r = x[0] - x[2];
  const T a = dot(d1, d1), e = dot(d2, d2), f = dot(d2, r), c = dot(d1, r), b = dot(d1, d2);
  const T denominator = a * e - b * b;
  T s = denominator > (zero + Real(parallel<T>)) * a * e
            ? unit_interval<T>(part_of<T>(b * f - c * e, denominator))
            : zero;
  const T t = part_of<T>(b * s + f, e), held = unit_interval<T>(t);
  s = unit_interval<T>(part_of<T>(b * held - c, a));
  const V3<T> apart = r + s * d1 - held * d2;
  return {{one - s, s, held - one, -held}, apart};
}

}}  // namespace plenum::PLENUM_ABI::detail
