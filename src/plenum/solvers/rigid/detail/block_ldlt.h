#pragma once
// A sparse symmetric matrix of small dense blocks, factored anew whenever its values change: L D L^T.
#include <Eigen/Core>
#include <cassert>
#include <span>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Where the blocks of L are, rows and columns in the order of elimination, and which block each step of the
/// factorization changes. Of chains and trees L has no more blocks than the matrix.
struct BlockPattern {
  struct Update {
    Index source, other,
        target;  ///< block target -= L_source D other^T; target below 0: diagonal -1 - target
  };
  std::vector<Index> column_begin;  ///< [n + 1] blocks of L below the diagonal, by columns
  std::vector<Index> row;           ///< of each
  std::vector<Index> update_begin;  ///< [n + 1]
  std::vector<Update> updates;      ///< by columns

  /// Of n block rows with blocks at `positions` (row, column), row > column.
  void analyze(Index n, std::span<const Index2> positions);
  /// Number of the block at (row, column), row > column.
  Index find(Index row, Index column) const;
  Index size() const { return static_cast<Index>(column_begin.size()) - 1; }
};

/// The inverse of a symmetric positive definite matrix, by sweeping out one pivot after another (Goodnight
/// 1979, "A tutorial on the SWEEP operator"). A pivot that has cancelled stays out: its row solves to zero.
template <int D>
Eigen::Matrix<double, D, D> swept_inverse(const Eigen::Matrix<double, D, D>& m) {
  Eigen::Matrix<double, D, D> a = m;
  for (int k = 0; k < D; ++k) {
    const double pivot = a(k, k);
    const double inverse = pivot > 1e-13 * m(k, k) ? 1 / pivot : 0;
    const Eigen::Matrix<double, D, 1> column = a.col(k);
    a.noalias() -= (inverse * column) * column.transpose();
    a.col(k) = inverse * column;
    a.row(k) = a.col(k).transpose();
    a(k, k) = -inverse;
  }
  return -a;
}

template <int D>
Eigen::Matrix<double, D, D> inverse_of(const Eigen::Matrix<double, D, D>& m) {
  return swept_inverse<D>(m);
}
/// Of 3 x 3 by cofactors; by sweeping where the determinant has cancelled.
template <>
inline Eigen::Matrix3d inverse_of<3>(const Eigen::Matrix3d& m) {
  const double a = m(0, 0), b = m(1, 1), c = m(2, 2), d = m(1, 0), e = m(2, 0), f = m(2, 1);
  const double aa = b * c - f * f, dd = e * f - d * c, ee = d * f - e * b;
  const double determinant = a * aa + d * dd + e * ee;
  Eigen::Matrix3d out;
  if (determinant > 1e-10 * a * b * c) {
    const double s = 1 / determinant;
    const double bb = a * c - e * e, cc = a * b - d * d, ff = d * e - a * f;
    out << s * aa, s * dd, s * ee, s * dd, s * bb, s * ff, s * ee, s * ff, s * cc;
    return out;
  }
  return swept_inverse<3>(m);
}

/// Source: Duff, Erisman & Reid, "Direct Methods for Sparse Matrices", section 10; of joints, Baraff 1996,
/// "Linear-time dynamics using Lagrange multipliers".
template <int D>
struct BlockLdlt {
  using Block = Eigen::Matrix<double, D, D>;
  using Vector = Eigen::Matrix<double, D, 1>;
  std::vector<Block> diagonal;  ///< [n] the matrix's, then the inverses of D's
  std::vector<Block> lower;     ///< the matrix's, then L's

  void resize(const BlockPattern& pattern) {
    diagonal.resize(std::size_t(pattern.size()));
    lower.resize(pattern.row.size());
  }
  void factorize(const BlockPattern& pattern) {
    const Index n = pattern.size();
    for (Index j = 0; j < n; ++j) {
      Block& pivot = diagonal[std::size_t(j)];
      pivot = inverse_of<D>(pivot);
      const Index begin = pattern.column_begin[std::size_t(j)],
                  end = pattern.column_begin[std::size_t(j) + 1];
      const Index first = pattern.update_begin[std::size_t(j)],
                  last = pattern.update_begin[std::size_t(j) + 1];
      Index u = first;
      for (Index s = begin; s < end; ++s) {
        // Updates of a column come in the order of their source; `other` is at or after it, not yet scaled.
        const Block scaled = lower[std::size_t(s)] * pivot;
        for (; u < last && pattern.updates[std::size_t(u)].source == s; ++u) {
          const BlockPattern::Update& update = pattern.updates[std::size_t(u)];
          Block& target = update.target < 0 ? diagonal[std::size_t(-1 - update.target)]
                                            : lower[std::size_t(update.target)];
          if (update.target < 0)
            target.noalias() -= scaled * lower[std::size_t(update.other)].transpose();
          else
            target.noalias() -= lower[std::size_t(update.other)] * scaled.transpose();
        }
        lower[std::size_t(s)] = scaled;
      }
    }
  }
  /// x [n] blocks, in the order of elimination, in/out.
  void solve(const BlockPattern& pattern, std::span<Vector> x) const {
    const Index n = pattern.size();
    for (Index j = 0; j < n; ++j)
      for (Index s = pattern.column_begin[std::size_t(j)]; s < pattern.column_begin[std::size_t(j) + 1]; ++s)
        x[std::size_t(pattern.row[std::size_t(s)])].noalias() -= lower[std::size_t(s)] * x[std::size_t(j)];
    for (Index j = n; j-- > 0;) {
      Vector sum = diagonal[std::size_t(j)] * x[std::size_t(j)];
      for (Index s = pattern.column_begin[std::size_t(j)]; s < pattern.column_begin[std::size_t(j) + 1]; ++s)
        sum.noalias() -= lower[std::size_t(s)].transpose() * x[std::size_t(pattern.row[std::size_t(s)])];
      x[std::size_t(j)] = sum;
    }
  }
};

}}  // namespace plenum::PLENUM_ABI::detail
