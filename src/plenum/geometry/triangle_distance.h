#pragma once
// Closest point of a triangle.
#include <Eigen/Geometry>
#include <algorithm>
#include <limits>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// The part of a triangle a closest point lies on.
enum class Feature : int { vertex0, vertex1, vertex2, edge01, edge12, edge20, face };

template <class T>
struct TrianglePoint {
  Vector3<T> point;
  Vector3<T> barycentric;  ///< weights of the corners, >= 0, sum 1
  Feature feature;
};

/// Closest point to p of the triangle (a, b, c), degenerate ones included. Source: Ericson 2005, "Real-time
/// collision detection", section 5.1.5 (Voronoi regions of the features).
template <class T>
inline TrianglePoint<T> closest_on_triangle(const Vector3<T>& p, const Vector3<T>& a, const Vector3<T>& b,
                                            const Vector3<T>& c) {
  using V = Vector3<T>;
  const V ab = b - a, ac = c - a, ap = p - a;
  const T d1 = ab.dot(ap), d2 = ac.dot(ap);
  if (d1 <= 0 && d2 <= 0) return {a, V(1, 0, 0), Feature::vertex0};
  const V bp = p - b;
  const T d3 = ab.dot(bp), d4 = ac.dot(bp);
  if (d3 >= 0 && d4 <= d3) return {b, V(0, 1, 0), Feature::vertex1};
  const V cp = p - c;
  const T d5 = ab.dot(cp), d6 = ac.dot(cp);
  if (d6 >= 0 && d5 <= d6) return {c, V(0, 0, 1), Feature::vertex2};
  const T vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0 && d1 > d3) {
    const T v = d1 / (d1 - d3);
    return {a + v * ab, V(1 - v, v, 0), Feature::edge01};
  }
  const T vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0 && d2 > d6) {
    const T w = d2 / (d2 - d6);
    return {a + w * ac, V(1 - w, 0, w), Feature::edge20};
  }
  const T va = d3 * d6 - d5 * d4;
  if (va <= 0 && d4 >= d3 && d5 >= d6 && (d4 > d3 || d5 > d6)) {
    const T w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
    return {b + w * (c - b), V(0, 1 - w, w), Feature::edge12};
  }
  // Over the face. A needle's face is all rounding error: its longest side is as good and never wrong.
  constexpr T epsilon = std::numeric_limits<T>::epsilon();
  const T ab2 = ab.squaredNorm(), ac2 = ac.squaredNorm(), bc2 = (c - b).squaredNorm();
  if (ab.cross(ac).squaredNorm() <= 256 * epsilon * epsilon * ab2 * ac2) {
    const auto fraction = [](T along, T length2) { return std::min(T(1), std::max(T(0), along / length2)); };
    if (ab2 >= ac2 && ab2 >= bc2) {
      const T v = fraction(d1, ab2);
      return {a + v * ab, V(1 - v, v, 0), Feature::edge01};
    }
    if (ac2 >= bc2) {
      const T w = fraction(d2, ac2);
      return {a + w * ac, V(1 - w, 0, w), Feature::edge20};
    }
    const T w = fraction((c - b).dot(bp), bc2);
    return {b + w * (c - b), V(0, 1 - w, w), Feature::edge12};
  }
  const T scale = 1 / (va + vb + vc);
  const T v = vb * scale, w = vc * scale;
  return {a + v * ab + w * ac, V(1 - v - w, v, w), Feature::face};
}

}  // namespace plenum::inline PLENUM_ABI
