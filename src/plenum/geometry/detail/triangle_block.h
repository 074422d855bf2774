#pragma once
// Squared distances to eight triangles at once.
#include <Eigen/Geometry>
#include <algorithm>
#include <limits>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI::detail {

/// The triangles of a leaf, coordinate by coordinate, with what their distances need.
struct TriangleBlock {
  static constexpr int width = 8;
  using Lanes = Real[width];
  Lanes ax, ay, az, abx, aby, abz, acx, acy, acz;  // first corner and two sides
  Lanes nx, ny, nz;                                // unit normal
  Lanes ab2, ac2, abac;                            // products of the sides
  Lanes inverse_ab2, inverse_ac2, inverse_bc2;     // 0 for a side of no length
  Lanes area2;  // |ab x ac|^2; -1 for no area, so that nothing is over the face

  void set(int lane, const Vec3& a, const Vec3& b, const Vec3& c) {
    const Vector3<double> ab = b.cast<double>() - a.cast<double>(), ac = c.cast<double>() - a.cast<double>(),
                          bc = c.cast<double>() - b.cast<double>(), n = ab.cross(ac);
    ax[lane] = a[0], ay[lane] = a[1], az[lane] = a[2];
    abx[lane] = Real(ab[0]), aby[lane] = Real(ab[1]), abz[lane] = Real(ab[2]);
    acx[lane] = Real(ac[0]), acy[lane] = Real(ac[1]), acz[lane] = Real(ac[2]);
    ab2[lane] = Real(ab.squaredNorm());
    ac2[lane] = Real(ac.squaredNorm());
    abac[lane] = Real(ab.dot(ac));
    const auto inverse = [](double length2) { return length2 > 1e-36 ? Real(1 / length2) : Real(0); };
    inverse_ab2[lane] = inverse(ab.squaredNorm());
    inverse_ac2[lane] = inverse(ac.squaredNorm());
    inverse_bc2[lane] = inverse(bc.squaredNorm());
    // Sides so nearly parallel that float's products cannot tell them apart: the edges serve.
    const double length = n.norm();
    const bool has_area = length * length > 1e-10 * ab.squaredNorm() * ac.squaredNorm() && length > 1e-30;
    const Vector3<double> unit =
        has_area ? Vector3<double>(n / length) : Vector3<double>(Vector3<double>::Zero());
    nx[lane] = Real(unit[0]), ny[lane] = Real(unit[1]), nz[lane] = Real(unit[2]);
    area2[lane] = has_area ? ab2[lane] * ac2[lane] - abac[lane] * abac[lane] : Real(-1);
  }
};

/// Squared distance from p to each triangle of the block: that to the plane over the face, else the least of
/// those to the sides. No branches, so that the lanes run together.
inline void squared_distances(const TriangleBlock& t, const Vec3& p, TriangleBlock::Lanes& out) {
  const Real px = p[0], py = p[1], pz = p[2];
  const auto clamp = [](Real s) { return std::max(Real(0), std::min(Real(1), s)); };
  for (int i = 0; i < TriangleBlock::width; ++i) {
    const Real x = px - t.ax[i], y = py - t.ay[i], z = pz - t.az[i];
    const Real d1 = t.abx[i] * x + t.aby[i] * y + t.abz[i] * z;
    const Real d2 = t.acx[i] * x + t.acy[i] * y + t.acz[i] * z;
    const Real v = t.ac2[i] * d1 - t.abac[i] * d2, w = t.ab2[i] * d2 - t.abac[i] * d1;
    const Real height = t.nx[i] * x + t.ny[i] * y + t.nz[i] * z;
    const auto square = [](Real a, Real b, Real c) { return a * a + b * b + c * c; };
    const Real s = clamp(d1 * t.inverse_ab2[i]);
    const Real to_ab = square(x - s * t.abx[i], y - s * t.aby[i], z - s * t.abz[i]);
    const Real u = clamp(d2 * t.inverse_ac2[i]);
    const Real to_ac = square(x - u * t.acx[i], y - u * t.acy[i], z - u * t.acz[i]);
    // bc . (p - b) = (ac - ab) . (p - a) - (ac - ab) . ab
    const Real r = clamp((d2 - d1 - t.abac[i] + t.ab2[i]) * t.inverse_bc2[i]);
    const Real sx = t.abx[i] + r * (t.acx[i] - t.abx[i]), sy = t.aby[i] + r * (t.acy[i] - t.aby[i]),
               sz = t.abz[i] + r * (t.acz[i] - t.abz[i]);
    const Real to_bc = square(x - sx, y - sy, z - sz);
    const Real to_sides = std::min(to_ab, std::min(to_ac, to_bc));
    const Real outside = std::min(std::min(v, w), t.area2[i] - v - w);
    out[i] = outside >= 0 ? height * height : to_sides;
  }
}

}  // namespace plenum::inline PLENUM_ABI::detail
