#pragma once
// A sparse symmetric matrix of fixed pattern, factored anew whenever its values change: L D L^T.
#include <span>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// New place of each of n rows, such that factors of a matrix with entries at `positions` fill in little: no
/// fill for trees. By minimum degree, approximately so for thousands of rows.
std::vector<Index> elimination_order(Index n, std::span<const Index2> positions);

/// P A P^T = L D L^T, in double, for positive semi-definite matrices such as J W J^T of constraints.
/// analyze() finds the order, by minimum degree, and the pattern of L; after it nothing allocates. For a
/// chain or a tree L has no more entries than A, so that factoring and solving cost as much as a product.
/// Source: Davis 2005, "Algorithm 849: a concise sparse Cholesky factorization package" (up-looking, by the
/// elimination tree).
class SparseLdlt {
 public:
  /// For a symmetric matrix of n rows. positions: (row, column) of entries, each in either triangle; the
  /// mirrored one is implied, repeated ones add up, missing diagonals are zero. Throws Error for a position
  /// outside.
  void analyze(Index n, std::span<const Index2> positions);

  /// Factors the matrix whose entry at positions[k] is values[k]. A pivot that has cancelled to below
  /// `cancelled` of its diagonal belongs to a row that depends on those before it: it is left out, its
  /// unknown zero, which solves the system if it has a solution. Returns how many.
  int factorize(std::span<const double> values, double cancelled = 1e-11);

  /// x = (P^T L D L^T P)^-1 x, x [n]. Not for two threads at a time.
  void solve(std::span<double> x);

  Index size() const { return n_; }
  std::size_t fill() const { return row_.size(); }  ///< entries of L below the diagonal

 private:
  Index n_ = 0;
  std::vector<Index> order_;                   // [n] place of each row in the factors
  std::vector<std::size_t> upper_begin_;       // [n + 1] columns of the upper triangle of P A P^T ...
  std::vector<Index> upper_row_;               // ... their rows ...
  std::vector<double> upper_value_;            // ... and values, diagonal included
  std::vector<std::size_t> place_;             // [positions] in upper_value_
  std::vector<Index> parent_;                  // [n] elimination tree, -1 at roots
  std::vector<std::size_t> column_begin_;      // [n + 1] strictly lower L by columns
  std::vector<Index> row_;                     // of L
  std::vector<double> value_, inverse_pivot_;  // of L, and 1 / D [n]
  std::vector<std::size_t> column_end_;        // [n] scratch, as are the following
  std::vector<Index> path_, visited_;
  std::vector<double> work_;
};

}  // namespace plenum::inline PLENUM_ABI
