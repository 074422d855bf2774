#pragma once
// Clipping of a convex polygon, a segment or a point by the prism over a face.
#include <Eigen/Geometry>
#include <algorithm>
#include <cstdint>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI::detail {

/// A corner of a clipped polygon and what made it: the edges that end and begin here. Edge k of the incident
/// polygon has number k, side k of the reference face 0x8000 + k.
template <class T>
struct ClipVertex {
  Vector3<T> x;
  std::uint32_t id;
};

/// Sutherland & Hodgman 1974, "Reentrant polygon clipping". reference [nr >= 3] counter-clockwise about its
/// unit normal n; incident [ni >= 1]. Points up to `slop` [m] outside count as inside, so that equal faces
/// meet in their corners whatever the rounding. The result is in buffer[0]; each buffer holds ni + nr.
/// `outwards` [nr] m moves the sides out, where given.
template <class T, std::size_t capacity>
int clip(const Vector3<T>* reference, int nr, const Vector3<T>* incident, int ni, const Vector3<T>& n, T slop,
         ClipVertex<T> (&buffer)[2][capacity], const T* outwards = nullptr) {
  const auto joint = [](std::uint32_t before, std::uint32_t after) { return before << 16 | after; };
  ClipVertex<T>*from = buffer[0], *to = buffer[1];
  int count = ni;
  for (int i = 0; i < ni; ++i)
    from[i] = {incident[i],
               joint(static_cast<std::uint32_t>((i + ni - 1) % ni), static_cast<std::uint32_t>(i))};
  const bool closed = ni > 2;
  for (int k = 0; k < nr && count > 0; ++k) {
    const Vector3<T>& a = reference[k];
    const Vector3<T> side = reference[k + 1 < nr ? k + 1 : 0] - a;
    Vector3<T> outward = side.cross(n);
    const T length = outward.norm();
    if (!(length > 0)) continue;
    outward /= length;
    const std::uint32_t cut = 0x8000u + static_cast<std::uint32_t>(k);
    int kept = 0;
    const T shift = outwards ? outwards[k] : T(0);
    const auto height = [&](int i) { return outward.dot(from[i].x - a) - shift; };
    const T first = height(0);
    T here = first;
    for (int i = 0; i < count; ++i) {
      const int j = i + 1 < count ? i + 1 : 0;
      const T there = j == 0 ? first : height(j);
      const bool in = here <= slop, in_next = there <= slop;
      if (in) to[kept++] = from[i];
      if (in != in_next && (closed || j != 0)) {
        const T t = std::clamp(here / (here - there), T(0), T(1));
        const std::uint32_t edge = from[i].id & 0xffffu;
        to[kept++] = {from[i].x + t * (from[j].x - from[i].x), in ? joint(edge, cut) : joint(cut, edge)};
      }
      here = there;
    }
    std::swap(from, to);
    count = kept;
  }
  if (from != buffer[0]) std::copy(from, from + count, buffer[0]);
  return count;
}

}  // namespace plenum::inline PLENUM_ABI::detail
