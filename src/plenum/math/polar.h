#pragma once
// The rotation of a deformation: for shape matching and corotated elements.
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/math/pose.h"

namespace plenum::inline PLENUM_ABI {

/// As below, of F with a largest singular value that is more than hundreds of times the others, where what
/// follows has no digits left for the turn about its axis. R takes the one singular vector u to the other,
/// which three steps of the power method give, and turns about it by the angle for which tr(R^T F) is
/// largest; not at all, where that is rounding.
template <class T>
Quaternion<T> narrow_polar_rotation(const Matrix3<T>& a, const Quaternion<T>& before) {
  int row = 0;
  a.rowwise().squaredNorm().maxCoeff(&row);
  Vector3<T> u = a.row(row).transpose().normalized();
  for (int k = 0; k < 3; ++k) u = (a.transpose() * (a * u)).normalized();
  const Vector3<T> f = a * u;
  // Twice: from what is opposite the first is off by a hundred roundings.
  Quaternion<T> q = before;
  for (int k = 0; k < 2; ++k) q = (Quaternion<T>::FromTwoVectors(q * u, f) * q).normalized();
  const Matrix3<T> s = q.toRotationMatrix().transpose() * a;
  const T sine = u.dot(Vector3<T>(s(2, 1) - s(1, 2), s(0, 2) - s(2, 0), s(1, 0) - s(0, 1))),
          cosine = s.trace() - u.dot(s * u);
  const T rounding = 16 * std::numeric_limits<T>::epsilon() * f.norm();
  if (!(std::hypot(sine, cosine) > rounding) || (cosine > 0 && std::abs(sine) <= rounding)) return q;
  return (q * Quaternion<T>(Eigen::AngleAxis<T>(std::atan2(sine, cosine), u))).normalized();
}

/// The rotation R for which tr(R^T F) is largest: that of the polar decomposition F = R S; where F turns
/// inside out, the one that flips the axis of its smallest stretch. det R = 1 always. Where R is not unique,
/// that which is reached from `before` by the least turn: of F = f u^T the one that takes before u to f, of
/// F = 0 none. F and before are finite.
///
/// With R as a unit quaternion q, tr(R^T F) = q^T N q with a symmetric 4x4 matrix N without trace (Horn 1987,
/// "Closed-form solution of absolute orientation using unit quaternions"). Its largest eigenvalue is found
/// from above by Newton's method on the characteristic polynomial (Theobald 2005, "Rapid calculation of RMSDs
/// using a quaternion-based characteristic polynomial"), the eigenvector as a column of the adjugate of N - l
/// I. Eigenvalues are s1 + s2 + s3 and s1 - s2 - s3 ... for the singular values s: apart unless the rank is
/// one. Two steps of Newton's method on R, (tr(S) I - S) w = axial(S), S = R^T F, then give it all digits.
template <class T>
Quaternion<T> polar_rotation(const Matrix3<T>& f, const Quaternion<T>& before) {
  const T scale = f.cwiseAbs().maxCoeff();
  if (!(scale > 0)) return before;
  const Matrix3<T> a = f / scale;
  const T square = a.squaredNorm();
  Matrix3<T> minors;
  minors << a.col(1).cross(a.col(2)), a.col(2).cross(a.col(0)), a.col(0).cross(a.col(1));
  if (!(minors.norm() > T(1e-3) * square)) return narrow_polar_rotation(a, before);
  // Rows and columns x, y, z, w.
  Eigen::Matrix<T, 4, 4, Eigen::DontAlign> n;
  const T trace = a.trace();
  n.template topLeftCorner<3, 3>() = a + a.transpose() - trace * Matrix3<T>::Identity();
  const Vector3<T> axial(a(2, 1) - a(1, 2), a(0, 2) - a(2, 0), a(1, 0) - a(0, 1));
  n.template topRightCorner<3, 1>() = axial;
  n.template bottomLeftCorner<1, 3>() = axial.transpose();
  n(3, 3) = trace;
  // l^4 + c2 l^2 + c1 l + c0.
  const T c2 = -2 * square, c1 = -8 * a.determinant(), c0 = n.determinant();
  T l = std::sqrt(3 * square);
  for (int k = 0; k < 60; ++k) {
    const T value = ((l * l + c2) * l + c1) * l + c0, slope = (4 * l * l + 2 * c2) * l + c1;
    if (!(slope > 0)) break;
    const T step = value / slope;
    l -= step;
    if (!(std::abs(step) > 4 * std::numeric_limits<T>::epsilon() * l)) break;
  }
  Eigen::Matrix<T, 4, 4, Eigen::DontAlign> shifted = n;
  shifted.diagonal().array() -= l;
  // Column j of the adjugate: signed minors of row j.
  Eigen::Matrix<T, 4, 1, Eigen::DontAlign> best = Eigen::Matrix<T, 4, 1, Eigen::DontAlign>::Zero();
  for (int j = 0; j < 4; ++j) {
    Eigen::Matrix<T, 4, 1, Eigen::DontAlign> column;
    for (int i = 0; i < 4; ++i) {
      Matrix3<T> minor;
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) minor(r, c) = shifted(r + (r >= j), c + (c >= i));
      column[i] = ((i + j) % 2 == 0 ? 1 : -1) * minor.determinant();
    }
    if (column.squaredNorm() > best.squaredNorm()) best = column;
  }
  const T length = best.norm();
  if (!(length > 0)) return before;
  Quaternion<T> q(best[3] / length, best[0] / length, best[1] / length, best[2] / length);
  if (q.coeffs().dot(before.coeffs()) < 0) q.coeffs() = -q.coeffs();
  for (int k = 0; k < 2; ++k) {
    const Matrix3<T> s = q.toRotationMatrix().transpose() * a;
    const Matrix3<T> slope = s.trace() * Matrix3<T>::Identity() - (s + s.transpose()) / 2;
    const Vector3<T> tilt(s(2, 1) - s(1, 2), s(0, 2) - s(2, 0), s(1, 0) - s(0, 1));
    const T determinant = slope.determinant();
    if (!(std::abs(determinant) > std::numeric_limits<T>::epsilon() * square)) break;
    const Vector3<T> w = slope.inverse() * tilt / 2;
    if (!(w.squaredNorm() < T(0.01))) break;
    q = (q * Quaternion<T>(1, w.x() / 2, w.y() / 2, w.z() / 2)).normalized();
  }
  return q;
}

}  // namespace plenum::inline PLENUM_ABI
