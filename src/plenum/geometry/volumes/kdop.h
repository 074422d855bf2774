#pragma once
// Discretely oriented polytopes: intersections of k/2 slabs whose normals are fixed.
#include <array>
#include <cstddef>

#include "plenum/geometry/volumes/volume.h"

namespace plenum::inline PLENUM_ABI {

/// Source: Klosowski et al. 1998, "Efficient collision detection using bounding volume hierarchies of
/// k-DOPs". The normals are the 3 axes; for 14 and 26 also the 4 diagonals (+-1, +-1, 1) of a cube; for 18
/// and 26 also the 6 diagonals of its faces. They are not unit: projections are sums of coordinates.
template <int k>
requires(k == 14 || k == 18 || k == 26) struct Kdop {
  static constexpr std::size_t slabs = k / 2;
  std::array<Real, slabs> low, high;  ///< [m] of the projections on kdop_directions<k>
};

namespace detail {

using Direction = std::array<signed char, 3>;
inline constexpr std::array<Direction, 13> directions = {{{1, 0, 0},
                                                          {0, 1, 0},
                                                          {0, 0, 1},
                                                          {1, 1, 1},
                                                          {-1, 1, 1},
                                                          {1, -1, 1},
                                                          {1, 1, -1},
                                                          {1, 1, 0},
                                                          {1, -1, 0},
                                                          {1, 0, 1},
                                                          {1, 0, -1},
                                                          {0, 1, 1},
                                                          {0, 1, -1}}};

}  // namespace detail

/// Normals of the slabs.
template <int k>
constexpr std::array<detail::Direction, k / 2> kdop_directions() {
  std::array<detail::Direction, k / 2> d{};
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = detail::directions[k == 18 && i > 2 ? i + 4 : i];
  return d;
}

/// Each slab the thinnest around points.
template <>
Kdop<14> fit<Kdop<14>>(std::span<const Vec3> x);
template <>
Kdop<18> fit<Kdop<18>>(std::span<const Vec3> x);
template <>
Kdop<26> fit<Kdop<26>>(std::span<const Vec3> x);

template <int k>
Kdop<k> merge(const Kdop<k>& a, const Kdop<k>& b) {
  Kdop<k> both;
  for (std::size_t i = 0; i < both.slabs; ++i) {
    both.low[i] = a.low[i] < b.low[i] ? a.low[i] : b.low[i];
    both.high[i] = a.high[i] > b.high[i] ? a.high[i] : b.high[i];
  }
  return both;
}

/// Whether they share a value of every projection: true also of some that are apart, for two polytopes may be
/// separated by none of their slabs.
template <int k>
bool overlap(const Kdop<k>& a, const Kdop<k>& b) {
  for (std::size_t i = 0; i < a.slabs; ++i)
    if (a.low[i] > b.high[i] || b.low[i] > a.high[i]) return false;
  return true;
}

template <int k>
bool contains(const Kdop<k>& a, const Vec3& p) {
  constexpr auto normals = kdop_directions<k>();
  for (std::size_t i = 0; i < a.slabs; ++i) {
    const Real at = Real(normals[i][0]) * p[0] + Real(normals[i][1]) * p[1] + Real(normals[i][2]) * p[2];
    if (at < a.low[i] || at > a.high[i]) return false;
  }
  return true;
}

template <int k>
double volume(const Kdop<k>& a);
template <int k>
double surface_area(const Kdop<k>& a);

}  // namespace plenum::inline PLENUM_ABI
