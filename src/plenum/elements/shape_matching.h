#pragma once
// Points that find back to a shape: what is known of it at rest. Source: Mueller, Heidelberger, Teschner &
// Gross 2005, "Meshless deformations based on shape matching", sections 3.3 and 4.
#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Coordinates that a shape is deformed by: three, and their squares and products, less the means over its
/// points. With means of zero goals have the centre of the points, so that matching pushes nothing.
template <int k>
std::array<double, k> shape_coordinates(const Vector3<double>& q, const std::array<double, 6>& means) {
  static_assert(k == 3 || k == 9);
  std::array<double, k> out{q.x(), q.y(), q.z()};
  if constexpr (k == 9) {
    const double products[6] = {q.x() * q.x(), q.y() * q.y(), q.z() * q.z(),
                                q.x() * q.y(), q.y() * q.z(), q.z() * q.x()};
    for (std::size_t c = 0; c < 6; ++c) out[c + 3] = products[c] - means[c];
  }
  return out;
}

/// A shape at rest. Its points have the coordinates q = (X - centre) / size and weights m / sum m. With S =
/// sum_i weight_i x_i q_i^T of the points now, the best rotation is the polar one of S's first three columns,
/// and the best linear (k = 3) or quadratic (k = 9) map of q is S P (eqs. 5 to 10).
template <int k>
struct MatchedShape {
  Vector3<double> centre;                                 ///< [m] of mass
  double size;                                            ///< [m] > 0: from the centre to the farthest point
  std::array<double, 6> means;                            ///< of squares and products
  Eigen::Matrix<double, k, k, Eigen::DontAlign> inverse;  ///< P, of sum_i weight_i q_i q_i^T
  /// That of the first three coordinates alone, which gives the best linear map A, is spread_scale spread,
  /// with tr(spread) = 1. With the cofactors C of A, d det(A) = tr(C^T dA) = spread_scale sum_i weight_i
  /// (dA q_i) . (C spread q_i): along dA ~ C spread the volume changes at the least cost sum_i weight_i
  /// |dA q_i|^2. Its moments dA M A^T ~ C A^T = det(A) I are symmetric, so that it does not turn the points.
  Eigen::Matrix<double, 3, 3, Eigen::DontAlign> spread;
  double spread_scale;
};

/// Without directions of less than 1e-5 of the largest eigenvalue.
template <int n>
Eigen::Matrix<double, n, n> pseudo_inverse(const Eigen::Matrix<double, n, n>& symmetric) {
  using Square = Eigen::Matrix<double, n, n>;
  const Eigen::SelfAdjointEigenSolver<Square> solver(symmetric);
  const double least = 1e-5 * solver.eigenvalues().maxCoeff();
  Square inverse = Square::Zero();
  for (int c = 0; c < n; ++c)
    if (solver.eigenvalues()[c] > least && least > 0)
      inverse +=
          solver.eigenvectors().col(c) * solver.eigenvectors().col(c).transpose() / solver.eigenvalues()[c];
  return inverse;
}

/// x [M] m, mass [M] kg > 0, M > 0. Of points that do not span all coordinates (flat ones, too few), P is the
/// pseudo-inverse: maps leave out what they do not know.
template <int k>
MatchedShape<k> matched_shape(std::span<const Vector3<double>> x, std::span<const double> mass) {
  MatchedShape<k> shape;
  double total = 0;
  shape.centre.setZero(), shape.means.fill(0);
  for (std::size_t i = 0; i < x.size(); ++i) total += mass[i], shape.centre += mass[i] * x[i];
  shape.centre /= total;
  shape.size = 0;
  for (const Vector3<double>& p : x) shape.size = std::max(shape.size, (p - shape.centre).norm());
  if (!(shape.size > 0)) shape.size = 1;
  const auto local = [&](std::size_t i) -> Vector3<double> { return (x[i] - shape.centre) / shape.size; };
  if constexpr (k == 9)
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::array<double, k> q = shape_coordinates<k>(local(i), {});
      for (std::size_t c = 0; c < 6; ++c) shape.means[c] += mass[i] / total * q[c + 3];
    }
  using Square = Eigen::Matrix<double, k, k>;
  Square sum = Square::Zero();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::array<double, k> q = shape_coordinates<k>(local(i), shape.means);
    const Eigen::Map<const Eigen::Matrix<double, k, 1>> v(q.data());
    sum += mass[i] / total * v * v.transpose();
  }
  shape.inverse = pseudo_inverse<k>(sum);
  const Matrix3<double> spread = pseudo_inverse<3>(sum.template topLeftCorner<3, 3>());
  shape.spread_scale = spread.trace();
  shape.spread = spread / (shape.spread_scale > 0 ? shape.spread_scale : 1);
  return shape;
}

}  // namespace plenum::inline PLENUM_ABI
