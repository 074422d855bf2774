#pragma once
// Matrices the tests of linear/ share: nets of springs in any position, and their dense copies.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "plenum/linear/block_matrix.h"

namespace plenum {

/// A square grid of particles with structural, shear and bending springs, side 10 m, 0.2 kg/m^2.
template <class T>
struct Net {
  Index side = 0;
  T mass = 0;  // [kg] of a particle
  std::vector<Vector3<T>> x;
  std::vector<Index2> pairs;
  std::vector<T> stiffness, rest_length;
  Index size() const { return side * side; }
};

template <class T>
Net<T> make_net(Index side, T noise = 0, unsigned seed = 1) {
  Net<T> net;
  net.side = side;
  const T h = T(10) / T(side - 1);
  net.mass = T(20) / T(side * side);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (Index i = 0; i < side; ++i)
    for (Index j = 0; j < side; ++j) net.x.push_back({T(j) * h, 0, T(i) * h});
  const auto add = [&](Index i, Index j, Index di, Index dj, T k) {
    if (i + di < 0 || i + di >= side || j + dj < 0 || j + dj >= side) return;
    const Index a = i * side + j, b = (i + di) * side + j + dj;
    net.pairs.push_back({a, b});
    net.stiffness.push_back(k);
    net.rest_length.push_back((net.x[a] - net.x[b]).norm());
  };
  for (Index i = 0; i < side; ++i)
    for (Index j = 0; j < side; ++j) {
      add(i, j, 0, 1, 5000), add(i, j, 1, 0, 5000), add(i, j, 1, 1, 5000), add(i, j, 1, -1, 5000);
      add(i, j, 0, 2, 50), add(i, j, 2, 0, 50);
    }
  for (auto& p : net.x)
    for (int c = 0; c < 3; ++c) p[c] += noise * h * T(normal(random));
  return net;
}

/// Renumbers the particles at random, so that no neighbours are consecutive.
template <class T>
void shuffle(Net<T>& net, unsigned seed = 5) {
  std::vector<Index> to(net.x.size());
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<Index>(i);
  std::shuffle(to.begin(), to.end(), std::mt19937(seed));
  auto x = net.x;
  for (std::size_t i = 0; i < to.size(); ++i) net.x[to[i]] = x[i];
  for (auto& pair : net.pairs) pair = {to[pair[0]], to[pair[1]]};
}

/// Convex tangent of a spring, scaled: s k (d d^T + max(0, 1 - l0 / l) (I - d d^T)), written down directly.
template <class T>
Matrix3<T> spring_tangent(const Vector3<T>& d, T k, T l0) {
  const T l = d.norm();
  const Vector3<T> n = d / l;
  const Matrix3<T> along = n * n.transpose();
  return k * (along + std::max(T(0), 1 - l0 / l) * (Matrix3<T>::Identity() - along));
}

/// M + h^2 K of the net, assembled by the lane kernel; f = forces.
template <class T>
void assemble(const Net<T>& net, T h, BlockMatrix<T, BlockKind::spring>& matrix,
              std::vector<Vector3<T>>* force = nullptr) {
  const auto& pattern = matrix.pattern();
  std::vector<T> k(pattern.num_slots()), l0(pattern.num_slots()), base(net.x.size(), net.mass);
  pattern.template spread<T>(net.stiffness, 0, k);
  pattern.template spread<T>(net.rest_length, 0, l0);
  std::span<Vector3<T>> f;
  if (force) force->resize(net.x.size()), f = *force;
  matrix.assemble_springs(net.x, {}, base, f, [&](std::size_t s, T d0, T d1, T d2, T, T, T) {
    const T inverse = 1 / std::max(std::sqrt(d0 * d0 + d1 * d1 + d2 * d2), T(1e-20));
    const T ratio = l0[s] * inverse, a = h * h * k[s] * std::max(T(0), 1 - ratio);
    const T w = std::sqrt(h * h * k[s] - a) * inverse, pull = k[s] * (1 - ratio);
    return SpringTerm<T>{a, w * d0, w * d1, w * d2, pull * d0, pull * d1, pull * d2};
  });
}

/// Dense copy, by what the interface says of the blocks.
template <class T, BlockKind kind>
Eigen::MatrixXd dense(const BlockMatrix<T, kind>& matrix) {
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(3 * matrix.num_rows(), 3 * matrix.num_rows());
  for (Index i = 0; i < matrix.num_rows(); ++i)
    a.block<3, 3>(3 * i, 3 * i) = matrix.diagonal(i).template cast<double>();
  for (Index p = 0; p < matrix.pattern().num_pairs(); ++p)
    for (int side = 0; side < 2; ++side) {
      // The slot's column names one end; the other is its row.
      const std::size_t slot = matrix.pattern().slot(p, side), other = matrix.pattern().slot(p, 1 - side);
      const Index column = matrix.pattern().columns()[slot], row = matrix.pattern().columns()[other];
      a.block<3, 3>(3 * row, 3 * column) += matrix.slot_block(slot).template cast<double>();
    }
  return a;
}

/// A sparse symmetric matrix: positions in either triangle, some repeated, and its dense sum.
struct SymmetricCase {
  std::vector<Index2> positions;
  std::vector<double> values;
  Eigen::MatrixXd dense;
};

template <class T>
std::vector<T> random_vector(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> v(n);
  for (T& x : v) x = T(normal(random));
  return v;
}

template <class T>
Eigen::VectorXd to_eigen(const std::vector<T>& v) {
  return Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>>(v.data(), Eigen::Index(v.size()))
      .template cast<double>();
}

}  // namespace plenum
