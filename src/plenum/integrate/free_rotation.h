#pragma once
// The turning of a body on which no torque acts.
#include <algorithm>
#include <array>
#include <cmath>

#include "plenum/math/pose.h"

namespace plenum::inline PLENUM_ABI {

/// World inverse inertia R diag(d) R^T.
template <class T>
Matrix3<T> world_inertia(const Quaternion<T>& q, const Vector3<T>& d) {
  const Matrix3<T> r = q.toRotationMatrix();
  return r * d.asDiagonal() * r.transpose();
}

/// Of x = (angle / 2)^2 below `small_turn`, cos(angle / 2) and sin(angle / 2) / angle by series, which cost
/// less than the functions and have no 0/0; the next terms are below 1e-16. N: a number or a vector of them.
inline constexpr double small_turn = 0.01;
template <class N>
N cosine_of_half(const N& x) {
  return 1 + x * (-1. / 2 + x * (1. / 24 + x * (-1. / 720 + x * (1. / 40320))));
}
template <class N>
N sine_of_half(const N& x) {
  return 1. / 2 + x * (-1. / 12 + x * (1. / 240 + x * (-1. / 10080 + x * (1. / 725760))));
}

/// The unit quaternion of the rotation vector [rad]. Source: exponential map of unit quaternions.
template <class T>
Quaternion<T> rotation_by(const Vector3<T>& by) {
  const T x = by.squaredNorm() / 4;
  if (x < T(small_turn)) {
    const T scale = T(sine_of_half<T>(x));
    return Quaternion<T>(T(cosine_of_half<T>(x)), scale * by.x(), scale * by.y(), scale * by.z());
  }
  const T half = std::sqrt(x), scale = std::sin(half) / (2 * half);
  return Quaternion<T>(std::cos(half), scale * by.x(), scale * by.y(), scale * by.z());
}

/// q as a unit quaternion.
template <class T>
Quaternion<T> unit(const Quaternion<T>& q) {
  // What has been multiplied with its like is off by rounding only, which needs no root: the series of
  // (1 + e)^(-1/2), whose next term is below 1e-18.
  const T e = q.squaredNorm() - 1;
  if (!(std::abs(e) < T(1e-6))) return q.normalized();
  return Quaternion<T>((1 - e * (T(1. / 2) - T(3. / 8) * e)) * q.coeffs());
}

/// Turns q by the rotation vector [rad].
template <class T>
Quaternion<T> turned(const Quaternion<T>& q, const Vector3<T>& by) {
  return unit(Quaternion<T>(rotation_by(by) * q));
}

namespace free_rotation {

/// Numbers of one body, or of several at a time: N is a number or a vector of them. Quaternions x y z w.
template <class N>
using Three = std::array<N, 3>;
template <class N>
using Four = std::array<N, 4>;

template <class N>
Three<N> cross(const Three<N>& a, const Three<N>& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
/// a turned by the unit quaternion q, or back.
template <class N>
Three<N> turned_by(const Four<N>& q, const Three<N>& a) {
  const Three<N> u{q[0], q[1], q[2]}, t = cross<N>(u, a), twice{t[0] + t[0], t[1] + t[1], t[2] + t[2]};
  const Three<N> on = cross<N>(u, twice);
  return {a[0] + q[3] * twice[0] + on[0], a[1] + q[3] * twice[1] + on[1], a[2] + q[3] * twice[2] + on[2]};
}
template <class N>
Three<N> turned_back_by(const Four<N>& q, const Three<N>& a) {
  return turned_by<N>({-q[0], -q[1], -q[2], q[3]}, a);
}
/// R diag(d) R^T a.
template <class N>
Three<N> applied(const Four<N>& q, const Three<N>& d, const Three<N>& a) {
  const Three<N> b = turned_back_by<N>(q, a);
  return turned_by<N>(q, {d[0] * b[0], d[1] * b[1], d[2] * b[2]});
}

/// One part of h [s] by the classical Runge-Kutta method, from a unit quaternion to one that is almost.
/// `half` and `sixth` of h. On the way between unit quaternions, which the motion itself keeps, any smooth
/// continuation of w(q) serves.
template <class N>
void turn_part(Four<N>& q, const Three<N>& momentum, const Three<N>& half_inverse, const N& h, const N& half,
               const N& sixth) {
  const auto rate = [&](const Four<N>& p) -> Four<N> {
    const Three<N> s = applied<N>(p, half_inverse, momentum), u{p[0], p[1], p[2]}, c = cross<N>(s, u);
    return {p[3] * s[0] + c[0], p[3] * s[1] + c[1], p[3] * s[2] + c[2],
            -(s[0] * u[0] + s[1] * u[1] + s[2] * u[2])};
  };
  const auto ahead = [&](const N& by, const Four<N>& k) -> Four<N> {
    return {q[0] + by * k[0], q[1] + by * k[1], q[2] + by * k[2], q[3] + by * k[3]};
  };
  const Four<N> k1 = rate(q), k2 = rate(ahead(half, k1)), k3 = rate(ahead(half, k2)), k4 = rate(ahead(h, k3));
  for (std::size_t c = 0; c < 4; ++c) {
    const N middle = k2[c] + k3[c];
    q[c] += sixth * (k1[c] + (middle + middle) + k4[c]);
  }
}

/// In how many parts a body is turned by h [s] that turns no faster than `fastest` [rad/s].
template <class T>
int parts_of(T h, T fastest) {
  return static_cast<int>(std::clamp<T>(std::ceil(std::abs(h) * fastest * 4), 1, 32));
}

}  // namespace free_rotation

/// Whether two moments of inertia are as good as the same, of a body whose largest is `largest`.
template <class T>
bool alike(T a, T b, T largest) {
  return std::abs(a - b) <= T(1e-5) * largest;
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
  if (alike(largest, smallest, largest)) {  // its velocity does not change
    q = turned(q, Vector3<T>(h * w));
    return;
  }
  const Vector3<T> momentum = q * inertia.cwiseProduct(q.conjugate() * w).eval();
  const Vector3<T> inverse = inertia.cwiseInverse();
  for (int k = 0; k < 3; ++k) {
    const T across = inertia[(k + 1) % 3], other = inertia[(k + 2) % 3];
    if (!alike(across, other, largest)) continue;
    // Symmetric about axis u: L . u stays, the body turns about u and u about L, both evenly.
    const T transverse = 2 / (across + other), axial = inverse[k] - transverse;
    const Vector3<T> u = q * Vector3<T>::Unit(k);
    const T along = axial * momentum.dot(u);
    q = turned(Quaternion<T>(rotation_by(Vector3<T>((h * along) * u)) * q),
               Vector3<T>((h * transverse) * momentum));
    w = transverse * momentum + along * (q * Vector3<T>::Unit(k));
    return;
  }
  using namespace free_rotation;
  const int parts = parts_of<T>(h, momentum.norm() / smallest);
  const T step = h / T(parts);
  const Three<T> l{momentum.x(), momentum.y(), momentum.z()};
  const Three<T> half_inverse{inverse.x() / 2, inverse.y() / 2, inverse.z() / 2};
  for (int k = 0; k < parts; ++k) {
    Four<T> c{q.x(), q.y(), q.z(), q.w()};
    turn_part<T>(c, l, half_inverse, step, step / 2, step / 6);
    q = unit(Quaternion<T>(c[3], c[0], c[1], c[2]));
  }
  w = q * inverse.cwiseProduct(q.conjugate() * momentum).eval();
}

}  // namespace plenum::inline PLENUM_ABI
