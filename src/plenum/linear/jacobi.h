#pragma once
// Preconditioners that need the diagonal only.
#include <span>

#include "plenum/base/real.h"
#include "plenum/linear/aligned.h"
#include "plenum/linear/block_matrix.h"

namespace plenum::inline PLENUM_ABI {

/// z = D^-1 r for the diagonal D of a matrix.
template <class T>
class JacobiPreconditioner {
 public:
  /// diagonal [n], > 0; an entry that is not is replaced by 1. Allocates only when n grows.
  void update(std::span<const T> diagonal);
  void operator()(std::span<const T> r, std::span<T> z) const;
  double apply_dot(std::span<const T> r, std::span<T> z) const;  ///< z = D^-1 r; returns r.z

 private:
  AlignedVector<T> inverse_;
};

/// z = s D^-1 r for the 3x3 diagonal blocks D of a BlockMatrix and a damping factor s.
template <class T>
class BlockJacobiPreconditioner {
 public:
  /// Inverts the blocks by L D L^T. A pivot below the rounding error of its block (a block that is singular,
  /// or not positive definite) is raised to it, so that the result is positive definite whatever the matrix.
  /// Allocates only when the matrix grows.
  template <BlockKind kind>
  void update(const BlockMatrix<T, kind>& matrix, T scale = 1) {
    update(matrix.num_rows(), matrix.diagonal_values(), scale);
  }
  void update(Index num_rows, std::span<const T> diagonal_values, T scale = 1);
  void operator()(std::span<const T> r, std::span<T> z) const;
  double apply_dot(std::span<const T> r, std::span<T> z) const;  ///< z = s D^-1 r; returns r.z

  /// The same with z by component, as BlockMatrix::jacobi_sweep wants it: three planes of `plane` numbers.
  void apply_to_planes(std::span<const T> r, std::size_t plane, std::span<T> z_planes) const;

  /// The blocks s D^-1, stored like BlockMatrix::diagonal_values().
  std::span<const T> values() const { return inverse_; }

 private:
  template <bool with_dot, bool to_planes>
  double product(const T* r, T* z, std::size_t plane) const;

  Index num_rows_ = 0;
  AlignedVector<T> inverse_;
};

extern template class JacobiPreconditioner<float>;
extern template class JacobiPreconditioner<double>;
extern template class BlockJacobiPreconditioner<float>;
extern template class BlockJacobiPreconditioner<double>;

}  // namespace plenum::inline PLENUM_ABI
