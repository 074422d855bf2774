#pragma once
// The turning of a body on which no torque acts.
#include <algorithm>
#include <cmath>

#include "plenum/math/pose.h"

namespace plenum::inline PLENUM_ABI {

/// World inverse inertia R diag(d) R^T.
template <class T>
Matrix3<T> world_inertia(const Quaternion<T>& q, const Vector3<T>& d) {
  const Matrix3<T> r = q.toRotationMatrix();
  return r * d.asDiagonal() * r.transpose();
}

/// The unit quaternion of the rotation vector [rad]. Source: exponential map of unit quaternions.
template <class T>
Quaternion<T> rotation_by(const Vector3<T>& by) {
  // Near zero by series, which costs less and has no 0/0; the next terms are below 1e-15.
  const T x = by.squaredNorm() / 4;
  const bool small = x < T(0.01);
  const T half = small ? T(0) : std::sqrt(x);
  const T cosine =
      small ? 1 - x / 2 * (1 - x / 12 * (1 - x / 30 * (1 - x / 56 * (1 - x / 90)))) : std::cos(half);
  const T scale =
      small ? (1 - x / 6 * (1 - x / 20 * (1 - x / 42 * (1 - x / 72)))) / 2 : std::sin(half) / (2 * half);
  return Quaternion<T>(cosine, scale * by.x(), scale * by.y(), scale * by.z());
}

/// Turns q by the rotation vector [rad].
template <class T>
Quaternion<T> turned(const Quaternion<T>& q, const Vector3<T>& by) {
  return (rotation_by(by) * q).normalized();
}

/// Turns a free body for h [s]. The angular momentum L = R I R^T w is kept exactly and the attitude follows
///   dq/dt = w(q) q / 2,  w(q) = R I^-1 R^T L
/// by the classical Runge-Kutta method, in parts of at most 0.25 rad (but at most 32 of them; faster bodies
/// keep L, and with it bounded speed, and lose accuracy only). Energy follows to the method's order. Balls
/// and symmetric bodies turn exactly (Landau & Lifshitz, Mechanics, section 33). q: unit, from the principal
/// axes to the world; inertia [kg m^2] > 0 about them; w [rad/s] in the world. Source: Euler's equations in
/// the form of Dullweber, Leimkuhler & McLachlan 1997, section 2.
template <class T>
void rotate_freely(Quaternion<T>& q, const Vector3<T>& inertia, Vector3<T>& w, T h) {
  const T largest = inertia.maxCoeff(), smallest = inertia.minCoeff();
  const Vector3<T> inverse = inertia.cwiseInverse();
  if (largest - smallest <= T(1e-5) * largest) {  // its velocity does not change
    q = turned(q, Vector3<T>(h * w));
    return;
  }
  const Vector3<T> momentum = q * inertia.cwiseProduct(q.conjugate() * w).eval();
  for (int k = 0; k < 3; ++k) {
    const T across = inertia[(k + 1) % 3], other = inertia[(k + 2) % 3];
    if (std::abs(across - other) > T(1e-5) * largest) continue;
    // Symmetric about axis u: L . u stays, the body turns about u and u about L, both evenly.
    const T transverse = 2 / (across + other), axial = inverse[k] - transverse;
    const Vector3<T> u = q * Vector3<T>::Unit(k);
    const T along = axial * momentum.dot(u);
    q = turned(Quaternion<T>(rotation_by(Vector3<T>((h * along) * u)) * q),
               Vector3<T>((h * transverse) * momentum));
    w = transverse * momentum + along * (q * Vector3<T>::Unit(k));
    return;
  }
  const T fastest = momentum.norm() / smallest;
  const int parts = static_cast<int>(std::clamp<T>(std::ceil(std::abs(h) * fastest * 4), 1, 32));
  using V4 = Eigen::Matrix<T, 4, 1>;
  const auto rate = [&](const V4& c) -> V4 {
    const Quaternion<T> p = Quaternion<T>(c[3], c[0], c[1], c[2]).normalized();
    const Vector3<T> s = p * inverse.cwiseProduct(p.conjugate() * momentum).eval();
    return (Quaternion<T>(0, s.x() / 2, s.y() / 2, s.z() / 2) * p).coeffs();
  };
  const T step = h / T(parts);
  for (int k = 0; k < parts; ++k) {
    const V4 c = q.coeffs();
    const V4 k1 = rate(c), k2 = rate(c + step / 2 * k1), k3 = rate(c + step / 2 * k2),
             k4 = rate(c + step * k3);
    const V4 next = c + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    q = Quaternion<T>(next[3], next[0], next[1], next[2]).normalized();
  }
  w = q * inverse.cwiseProduct(q.conjugate() * momentum).eval();
}

}  // namespace plenum::inline PLENUM_ABI
