#pragma once
// Geometric multigrid for the Poisson equation on a grid, as a preconditioner: one symmetric V-cycle from
// zero.
//
// Each level sweeps once over the cells in the two colours of a checkerboard before the correction from cells
// twice as large, and once in the opposite order after it (Gauss-Seidel; Trottenberg, Oosterlee & Schueller
// 2001, "Multigrid", sections 2.1 and 5.1). Interpolation is linear between cell centres, its weights shared
// out among those that are unknowns; restriction is its transpose. So the cycle is a symmetric positive
// operator, as conjugate gradients ask (Tatebe 1993; McAdams, Sifakis & Teran 2010, "A parallel multigrid
// Poisson solver for fluids simulation on large grids").
//
// What moves through memory is what such a solver costs. The sweep from zero is known in closed form: cells
// of the first colour become r / d, those of the second follow from them, and what is left over stands at the
// first colour alone. Hence the way down reads r and writes only the coarse right-hand side, and the way up
// computes the first sweep anew from r instead of reading it: four bytes a cell down, twelve and a half up.
#include <atomic>
#include <vector>

#include "plenum/linear/grid_poisson.h"

namespace plenum::inline PLENUM_ABI {

class GridMultigrid {
 public:
  /// Coarser grids of `a`, which must outlive this.
  explicit GridMultigrid(const GridPoisson& a);
  GridMultigrid() = default;
  /// Coarser grids of an operator that has changed, in the memory of the old ones; `again`: and will change
  /// again.
  void remake(const GridPoisson& a, bool again);

  /// z = M r, with ghosts of z; returns r . z. Not for several threads at a time. Allocates nothing once it
  /// ran with as many threads.
  double operator()(std::span<const Real> r, std::span<Real> z);
  std::size_t num_levels() const { return coarser_ + 1; }
  /// Bytes that one cycle moves through memory, if nothing stays in a cache between two passes.
  double bytes_per_cycle() const;

 private:
  struct Level {
    GridPoisson a;
    std::vector<Real> r, z;
    PoissonScratch scratch;
  };
  const GridPoisson& at(std::size_t level) const { return level == 0 ? *fine_ : levels_[level - 1].a; }
  double cycle(std::size_t level, std::span<const Real> r, std::span<Real> z);
  void invert_coarsest();
  void solve_coarsest(const GridPoisson& a, std::span<const Real> r, std::span<Real> z) const;

  const GridPoisson* fine_ = nullptr;
  std::vector<Level> levels_;             ///< coarser ones
  std::size_t coarser_ = 0;               ///< how many of them are in use
  std::vector<Real> dense_;               ///< inverse on the coarsest grid; empty: it is swept instead
  std::vector<double> matrix_;            ///< scratch of its making
  std::vector<std::vector<Real>> rings_;  ///< scratch of each thread
  std::vector<double> row_sums_;
};

}  // namespace plenum::inline PLENUM_ABI
