#pragma once
// A sparse symmetric matrix factored once and solved with many times: L D L^T with a fill-reducing order.
#include <memory>
#include <span>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// P A P^T = L D L^T by Eigen's SimplicialLDLT (approximate minimum degree order). The factors are computed
/// in double and kept in T, which solves. T is float or double.
template <class T>
class Factorization {
 public:
  Factorization();
  ~Factorization();
  Factorization(Factorization&&) noexcept;
  Factorization& operator=(Factorization&&) noexcept;

  /// Finds the order and the pattern of L for a symmetric matrix of n rows. positions: (row, column) of
  /// entries, each in either triangle; the mirrored one is implied, repeated ones add up, missing diagonals
  /// are zero. Throws Error for a position outside.
  void analyze(Index n, std::span<const Index2> positions);

  /// Factors the matrix whose entry at positions[k] is values[k]. False if a pivot vanishes or is not finite:
  /// solve() must not be used then.
  bool factorize(std::span<const T> values);

  /// Whether all pivots of the last factorization are positive.
  bool positive_definite() const;
  Index size() const;
  /// Entries of L below the diagonal.
  std::size_t fill() const;

  /// x = A^-1 x for `columns` right-hand sides side by side, x [n][columns], 1 <= columns <= 3. Allocates
  /// nothing; not for two threads at a time.
  void solve(std::span<T> x, int columns = 1);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class Factorization<float>;
extern template class Factorization<double>;

}  // namespace plenum::inline PLENUM_ABI
