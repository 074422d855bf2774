#pragma once
// Incomplete Cholesky factorization without fill, of 3x3 blocks.
#include <span>
#include <vector>

#include "plenum/base/real.h"
#include "plenum/linear/block_matrix.h"

namespace plenum::inline PLENUM_ABI {

/// A ~ (L + D) D^-1 (L + D)^T with L in the strictly lower pattern of A. Exact where elimination makes no
/// fill (a rope numbered along its length). Source: Meijerink & van der Vorst 1977, "An iterative solution
/// method for linear systems of which the coefficient matrix is a symmetric M-matrix"; where a pivot block is
/// not positive definite the diagonal is raised by a growing fraction of itself: Manteuffel 1980, "An
/// incomplete factorization technique for positive definite linear systems".
///
/// Solving walks the rows in sequence and so uses one thread; where particles are many prefer NetMultigrid.
template <class T>
class IncompleteCholesky {
 public:
  IncompleteCholesky() = default;
  /// Once per pattern.
  explicit IncompleteCholesky(const BlockPattern& pattern);

  /// Factors a matrix of that pattern. Returns the shift that was needed, as a fraction of the diagonal: 0
  /// for nets' matrices that are diagonally dominant; negative if none up to 1 helped (the matrix is not
  /// positive definite, or not finite), and then the preconditioner is the diagonal's alone. Allocates
  /// nothing.
  template <BlockKind kind, class U>
  double update(const BlockMatrix<U, kind>& matrix);

  /// The same for P A P + d (I - P), with which a solve filtered by P has the exact preconditioner of what is
  /// left: project(i) is P of row i, a symmetric projection. multiply() stays that of A.
  template <BlockKind kind, class U, class Project>
  double update(const BlockMatrix<U, kind>& matrix, const Project& project) {
    projection_.resize(diagonal_.size());
    for (std::size_t i = 0; i < projection_.size(); ++i) projection_[i] = project(static_cast<Index>(i));
    return update(matrix);
  }

  /// y = A x with the matrix that was given; x, y [3 n].
  void multiply(std::span<const T> x, std::span<T> y) const;

  /// z = ((L + D) D^-1 (L + D)^T)^-1 r; r, z [3 n].
  void operator()(std::span<const T> r, std::span<T> z) const;

 private:
  bool factor(double shift);

  struct Product {
    Index left, right;  // L_ij and L_kj of one sum
  };
  Index n_ = 0;
  std::vector<Index> row_begin_, column_;       // strictly lower pattern by rows, columns ascending
  std::vector<std::size_t> slots_;              // slots of the matrix that add up to each entry ...
  std::vector<std::size_t> slot_begin_;         // ... [entries + 1]
  std::vector<std::size_t> product_begin_;      // [entries + 1]
  std::vector<Product> products_;               // pairs of entries to the left in both rows
  std::vector<Matrix3<T>> original_, lower_;    // [entries]
  std::vector<Matrix3<T>> diagonal_, inverse_;  // [n]
  std::vector<Matrix3<T>> projection_;          // [n] P, or empty
};

extern template class IncompleteCholesky<float>;
extern template class IncompleteCholesky<double>;

}  // namespace plenum::inline PLENUM_ABI
