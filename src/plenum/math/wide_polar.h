#pragma once
// Rotations of deformations, one in each lane, from rotations that are near.
#include "plenum/math/polar.h"
#include "plenum/math/wide.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Unit quaternions.
struct WideQuat {
  Wide x, y, z, w;
};

/// The columns of rotations.
[[gnu::always_inline]] inline void columns_of(const WideQuat& q, Wide3 (&r)[3]) {
  const Wide one = fill(1), two = fill(2);
  const Wide xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z, xy = q.x * q.y, yz = q.y * q.z, zx = q.z * q.x;
  const Wide wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
  r[0] = {one - two * (yy + zz), two * (xy + wz), two * (zx - wy)};
  r[1] = {two * (xy - wz), one - two * (xx + zz), two * (yz + wx)};
  r[2] = {two * (zx + wy), two * (yz - wx), one - two * (xx + yy)};
}

/// The rotations R for which tr(R^T F) is largest, as polar_rotation; f: the columns of F. Newton's method on
/// R from `q`: S = R^T F, (tr(S) I - sym(S)) w = (S_zy - S_yz, ...), R <- R (1, w/2). It converges
/// quadratically from what is near; where tr(S) I - S is positive definite in the end, R is the one that is
/// sought, since every other stationary one has a pair of singular values with a negative sum. What has not
/// arrived is taken by polar_rotation.
inline void wide_polar_rotation(const Wide3 (&f)[3], WideQuat& q, Wide3 (&r)[3]) {
  const WideQuat before = q;
  const Wide half = fill(Real(0.5)), zero{};
  Wide way{}, least{};
  for (int k = 0; k < 5; ++k) {
    columns_of(q, r);
    const Wide sxx = dot(r[0], f[0]), syy = dot(r[1], f[1]), szz = dot(r[2], f[2]);
    const Wide sxy = dot(r[0], f[1]), syx = dot(r[1], f[0]), syz = dot(r[1], f[2]), szy = dot(r[2], f[1]);
    const Wide szx = dot(r[2], f[0]), sxz = dot(r[0], f[2]);
    // tr(S) I - (S + S^T) / 2.
    const Wide a = syy + szz, b = sxx + szz, c = sxx + syy;
    const Wide d = zero - half * (sxy + syx), e = zero - half * (szx + sxz), g = zero - half * (syz + szy);
    const Wide3 tilt = {szy - syz, sxz - szx, syx - sxy};
    const WideSym3 adjugate = {b * c - g * g, a * c - e * e, a * b - d * d,
                               e * g - d * c, d * g - e * b, d * e - a * g};
    const Wide determinant = a * adjugate.xx + d * adjugate.xy + e * adjugate.xz;
    // Smallest pivots, against the mean one: definite by a margin.
    const Wide mean = (a + b + c) * fill(Real(1) / 3);
    const Wide margin = min(min(a, adjugate.zz * fill(Real(8)) - mean * mean * fill(Real(1e-2))),
                            determinant - mean * mean * mean * fill(Real(1e-3)));
    least = margin;
    const auto good = margin > zero;
    const Wide inverse = good ? fill(1) / (good ? determinant : fill(1)) : zero;
    const Wide3 w = inverse * (adjugate * tilt);
    way = dot(w, w);
    // q (w/2, 1), normalized.
    const Wide ux = half * w.x, uy = half * w.y, uz = half * w.z;
    const WideQuat n = {q.x + q.w * ux + q.y * uz - q.z * uy, q.y + q.w * uy + q.z * ux - q.x * uz,
                        q.z + q.w * uz + q.x * uy - q.y * ux, q.w - q.x * ux - q.y * uy - q.z * uz};
    const Wide scale = fill(1) / sqrt(n.x * n.x + n.y * n.y + n.z * n.z + n.w * n.w);
    q = {scale * n.x, scale * n.y, scale * n.z, scale * n.w};
    // The next step would be as the square of this one.
    if (!any(way > fill(sizeof(Real) == 4 ? Real(1e-8) : Real(1e-16)))) break;
  }
  const auto arrived = (least > zero) & (way < fill(sizeof(Real) == 4 ? Real(1e-7) : Real(1e-15)));
  if (any(~arrived)) {
    for (int l = 0; l < wide; ++l) {
      if (arrived[l]) continue;
      Matrix3<Real> m;
      for (int c = 0; c < 3; ++c) m.col(c) = Vec3(f[c].x[l], f[c].y[l], f[c].z[l]);
      if (!m.allFinite()) continue;
      const Quaternion<Real> found =
          polar_rotation<Real>(m, Quaternion<Real>(before.w[l], before.x[l], before.y[l], before.z[l]));
      q.x[l] = found.x(), q.y[l] = found.y(), q.z[l] = found.z(), q.w[l] = found.w();
    }
  }
  columns_of(q, r);
}

}}  // namespace plenum::PLENUM_ABI::detail
