#pragma once
// Choosing four contact points of many.
#include <Eigen/Geometry>
#include <cmath>

#include "plenum/geometry/collide/manifold.h"

namespace plenum::inline PLENUM_ABI::detail {

/// Mixes the numbers of features into one id (the finalizer of MurmurHash3).
inline std::uint32_t mix(std::uint32_t a, std::uint32_t b) {
  std::uint32_t h = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u + (a << 6) + (a >> 2));
  h ^= h >> 16;
  h *= 0x85EBCA6Bu;
  h ^= h >> 13;
  h *= 0xC2B2AE35u;
  return h ^ (h >> 16);
}

/// Writes points into the manifold; of more than four, the deepest, the farthest from it, and on either side
/// of their line the one that spans the largest triangle. Depths that differ by less than `slop` [m] count as
/// equal and a fixed direction decides, so that rounding does not change the choice from step to step. With
/// `always`, three or four points on a line are thinned as well.
inline void keep_four(const Manifold::Point* p, int count, const Vec3& normal, Real slop, Manifold& m,
                      bool always = false) {
  m.normal = normal;
  if (count <= (always ? 2 : 4)) {
    m.count = count;
    for (int i = 0; i < count; ++i) m.points[i] = p[i];
    return;
  }
  // The fixed direction is weighed so that it makes at most `slop` of difference over the points' extent.
  Vec3 fixed(Real(0.8506508), Real(0.3090170), Real(0.5257311));
  fixed -= normal.dot(fixed) * normal;
  Real low = fixed.dot(p[0].x), high = low;
  for (int i = 1; i < count; ++i) {
    const Real s = fixed.dot(p[i].x);
    low = std::min(low, s);
    high = std::max(high, s);
  }
  const Real weight = high > low ? slop / (high - low) : Real(0);
  const auto argmax = [&](auto&& score, Real least) {
    int best = -1;
    for (int i = 0; i < count; ++i) {
      const Real s = score(i);
      if (s > least) {
        least = s;
        best = i;
      }
    }
    return best;
  };
  const int first = argmax([&](int i) { return weight * fixed.dot(p[i].x) - p[i].separation; },
                           -std::numeric_limits<Real>::infinity());
  const Vec3 origin = p[first].x;
  const int second = argmax([&](int i) { return (p[i].x - origin).squaredNorm(); }, Real(0));
  m.points[0] = p[first];
  m.count = 1;
  if (second < 0) return;
  const Vec3 line = p[second].x - origin, across = normal.cross(line);
  m.points[m.count++] = p[second];
  const Real least = slop * line.norm();  // a point within `slop` of the line adds nothing
  const int left = argmax([&](int i) { return across.dot(p[i].x - origin); }, least);
  const int right = argmax([&](int i) { return -across.dot(p[i].x - origin); }, least);
  if (left >= 0) m.points[m.count++] = p[left];
  if (right >= 0) m.points[m.count++] = p[right];
}

}  // namespace plenum::inline PLENUM_ABI::detail
