#pragma once
// Algebraic multigrid for the matrices of nets, M + h^2 K: the preconditioner whose work grows with the
// number of particles and no faster.
#include <memory>
#include <span>

#include "plenum/base/real.h"
#include "plenum/linear/block_matrix.h"

namespace plenum::inline PLENUM_ABI {

/// One V-cycle as preconditioner: z = V r, symmetric positive definite. T is float or double.
///
/// The matrix is base (diagonal, scalar per particle) plus the sum over pairs of (e_i - e_j)(e_i - e_j)^T (x)
/// B with 3x3 blocks B. Interpolation is smoothed aggregation, smoothed with the graph Laplacian of the
/// pairs' strengths instead of the matrix: its weights are scalars fixed with the net, the near null space it
/// keeps (translations) is that of every net, and the coarse matrices are sums of fine blocks with weights
/// known beforehand, refilled in a few passes each step. base is lumped. Smoother: damped block-Jacobi, whose
/// eigenvalues lie below 2 for such a sum. Sources: Vanek, Mandel & Brezina 1996, "Algebraic multigrid by
/// smoothed aggregation for second and fourth order elliptic problems"; Tamstorf, Jones & McCormick 2015,
/// "Smoothed aggregation multigrid for cloth simulation", who smooth with the matrix.
template <class T>
class NetMultigrid {
 public:
  NetMultigrid();
  ~NetMultigrid();
  NetMultigrid(NetMultigrid&&) noexcept;
  NetMultigrid& operator=(NetMultigrid&&) noexcept;

  /// Once per net. pairs [P][2] as of the matrix; strength [P] > 0, typical stiffness of each (weak pairs,
  /// below a fifth of their neighbours', do not guide the coarse grids); pinned [n] or empty: not zero for
  /// particles that do not move, of which the coarse nets know nothing.
  NetMultigrid(Index num_rows, std::span<const Index2> pairs, std::span<const T> strength,
               std::span<const char> pinned = {});

  /// Refills the hierarchy. matrix: of the same pairs; base [n] as given to assemble_springs: what its
  /// diagonal blocks hold beyond minus the sum of their rows. The matrix is read by later calls: it must
  /// stay. Allocates nothing.
  template <BlockKind kind>
  void update(const BlockMatrix<T, kind>& matrix,
              std::span<const T> base) requires(kind != BlockKind::general);

  /// z = V r, with r, z [3 n]; returns r.z from apply_dot. Not for two threads at a time; allocates nothing.
  void operator()(std::span<const T> r, std::span<T> z) const { apply_dot(r, z); }
  double apply_dot(std::span<const T> r, std::span<T> z) const;

  int num_levels() const;
  Index num_rows(int level) const;
  /// Blocks of all levels over those of the first.
  double operator_complexity() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class NetMultigrid<float>;
extern template class NetMultigrid<double>;

}  // namespace plenum::inline PLENUM_ABI
