#pragma once
// A spring between two points, as pure functions of the vector d = x_j - x_i between its ends.
//
//   E(d) = k/2 (l - l0)^2,  l = |d|,  n = d / l
//   force on i:            f_i = k (l - l0) n = -f_j
//   tangent stiffness:     K = d^2E/dx_i^2 = k [n n^T + (1 - l0/l)(I - n n^T)] = -d^2E/dx_i dx_j
//   damping along it:      f_i = c ((v_j - v_i) . n) n
//
// Source: Provot 1995, "Deformation constraints in a mass-spring model to describe rigid cloth behavior",
// eq. 1; K is Liu et al. 2013, "Fast simulation of mass-spring systems", eq. 13, up to its sign convention.
#include <algorithm>
#include <cmath>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Lengths below this count as zero [m]: the direction of such a spring is unknown, and it pulls along d as a
/// whole.
template <class T>
inline constexpr T shortest_spring = T(1e-12);

/// 1/l, or what replaces it when l is zero; free of branches, so that loops over it become vector code. The
/// floor is added, which changes no length that counts: of a choice of the larger, compilers make one between
/// two quotients, of which the other is 1/0 and traps. length_squared [m^2] >= 0.
template <class T>
T inverse_length(T length_squared) {
  constexpr T floor = shortest_spring<T> * shortest_spring<T>;
  return T(1) / std::sqrt(length_squared + floor);
}

/// E [J]. d [m]; stiffness [N/m]; rest_length [m] >= 0.
template <class T>
T spring_energy(const Vector3<T>& d, T stiffness, T rest_length) {
  const T stretch = d.norm() - rest_length;
  return T(0.5) * stiffness * stretch * stretch;
}

/// dE/dx_j [N] = -dE/dx_i: the force on i. Zero for a spring of no length.
template <class T>
Vector3<T> spring_force(const Vector3<T>& d, T stiffness, T rest_length) {
  return stiffness * (T(1) - rest_length * inverse_length(d.squaredNorm())) * d;
}

/// Damping force on i [N]. relative_velocity = v_j - v_i [m/s]; damping c [N s/m].
template <class T>
Vector3<T> spring_damping_force(const Vector3<T>& d, const Vector3<T>& relative_velocity, T damping) {
  const Vector3<T> n = inverse_length(d.squaredNorm()) * d;
  return damping * relative_velocity.dot(n) * n;
}

/// K [N/m], exact; indefinite where the spring is compressed.
template <class T>
Matrix3<T> spring_hessian(const Vector3<T>& d, T stiffness, T rest_length) {
  const T inverse = inverse_length(d.squaredNorm());
  const Vector3<T> n = inverse * d;
  const T across = T(1) - rest_length * inverse;
  return stiffness * (across * Matrix3<T>::Identity() + (T(1) - across) * n * n.transpose());
}

/// The nearest positive semi-definite matrix to K in the Frobenius norm. K has the eigenvalue k along n and
/// k (1 - l0/l) across it, twice; the nearest one has the same eigenvectors and the negative eigenvalues set
/// to zero (Higham 1988, "Computing a nearest symmetric positive semidefinite matrix", theorem 2.1). So the
/// transverse term is clamped at zero and nothing else changes: a I + b n n^T with
///   a = k max(0, 1 - l0/l),  b = k - a.
template <class T>
struct SpringTangent {
  T across;  ///< a [N/m], 0 <= a <= k
  T along;   ///< b [N/m], 0 <= b <= k
};
template <class T>
SpringTangent<T> spring_tangent(T inverse_length, T stiffness, T rest_length) {
  const T a = stiffness * std::max(T(0), T(1) - rest_length * inverse_length);
  return {a, stiffness - a};
}

/// The projected K [N/m] as a matrix.
template <class T>
Matrix3<T> spring_hessian_projected(const Vector3<T>& d, T stiffness, T rest_length) {
  const T inverse = inverse_length(d.squaredNorm());
  const Vector3<T> n = inverse * d;
  const auto [a, b] = spring_tangent(inverse, stiffness, rest_length);
  return a * Matrix3<T>::Identity() + b * n * n.transpose();
}

}  // namespace plenum::inline PLENUM_ABI
