#pragma once
// Solvers of the Poisson equation on a grid, chosen by name. All take the same operator, start from the x
// that they are given, and are judged by the true residual.
#include <memory>

#include "plenum/base/parallel.h"
#include "plenum/linear/body_ties.h"
#include "plenum/linear/box_poisson.h"
#include "plenum/linear/grid_multigrid.h"
#include "plenum/linear/solve.h"

namespace plenum::inline PLENUM_ABI {

/// `cosine` and `fourier` solve directly in a box without solids or free surface (box_poisson.h), each axis
/// by the waves that suit its sides; `fourier` if any axis is periodic, `cosine` if none is.
enum class PressureMethod : int {
  automatic,
  jacobi,
  gauss_seidel,
  sor,
  cg,
  mic0,
  multigrid,
  cosine,
  fourier
};
constexpr std::array<const char*, 9> names_of(PressureMethod) {
  return {"automatic", "jacobi", "gauss_seidel", "sor", "cg", "mic0", "multigrid", "cosine", "fourier"};
}
/// What to tell a user whose `wanted` method does not fit: the one that was `taken` instead is another.
constexpr const char* misfit_of(PressureMethod wanted, PressureMethod taken) {
  if (wanted == taken || wanted == PressureMethod::automatic) return nullptr;
  if (taken == PressureMethod::fourier)
    return "pressure_solver cosine is for a box without periodic sides and fourier was taken; set it to "
           "fourier";
  if (taken == PressureMethod::cosine)
    return "pressure_solver fourier is for a box with periodic sides and cosine was taken; set it to cosine";
  return "pressure_solver cosine and fourier are for a box without solids or free surface and multigrid was "
         "taken; set it to automatic";
}

/// Solves A x = b.
///
/// Conjugate gradients and sweeps compute in `Real` a correction to x, which is kept in double precision: a
/// pressure in float is rounded by more than the tolerance allows where its range is large (at 256^3 cells
/// the residual of the rounded solution is about 5e-5 of the right-hand side). When the recurrence has
/// converged the correction is added, and b - A x computed anew; if that is not small enough the iteration
/// goes on from it (iterative refinement, Wilkinson 1963).
class PressureSolver {
 public:
  PressureSolver() = default;
  explicit PressureSolver(GridPoisson a);
  PressureSolver(PressureSolver&&) = default;
  PressureSolver& operator=(PressureSolver&&) = default;

  /// Makes the operator anew (make_poisson) in the memory of the old one, and b and x zero: for regions that
  /// change from step to step.
  void remake(const std::array<Index, 3>& cells, int dimensions, FillPoissonRow fill,
              const std::array<bool, 3>& periodic = {});

  const GridPoisson& poisson() const { return *a_; }
  bool is_made() const { return a_ != nullptr; }

  /// Right-hand side and solution, arrays of poisson().layout; what is no cell is zero. solve() takes the
  /// mean out of closed regions of b.
  std::vector<Real> b;
  std::vector<double> x;
  /// What bodies add to A; remake() takes it away. Sweeps would not converge for light bodies, transforms
  /// know boxes alone: multigrid is used instead of both.
  BodyTies ties;

  /// The method that solve() takes: for `automatic` the transforms of a box if the operator is one that does
  /// not change and whose sides have no large prime factors, else multigrid, which also stands in for
  /// transforms that do not fit.
  PressureMethod method_for(PressureMethod wanted);

  /// Allocates nothing after the first call with the same method.
  SolveReport solve(PressureMethod method, const SolveOptions& options);

  /// Of the last solve, the largest mean of a closed region that was taken out of b.
  double imbalance() const { return imbalance_; }
  /// Bytes that an iteration of conjugate gradients with multigrid moves, as in GridMultigrid.
  double bytes_per_iteration();

 private:
  using Precondition = FunctionRef<double(std::span<const Real>, std::span<Real>)>;
  void conjugate_gradients(Precondition precondition, double tolerance, int max_iterations,
                           SolveReport& report, double& left);
  SolveReport solve_by(PressureMethod method, const SolveOptions& options);
  void sweep(PressureMethod method, Real relaxation);
  void add_correction();
  GridMultigrid& multigrid();
  BoxPoisson* box();
  void make_mic0();
  double apply_mic0(std::span<const Real> r, std::span<Real> z);

  std::unique_ptr<GridPoisson> a_;
  std::unique_ptr<GridMultigrid> multigrid_;
  bool multigrid_fits_ = false;  ///< its coarser grids are those of the operator
  std::optional<BoxPoisson> box_;
  bool box_is_known_ = false;  ///< whether it was looked whether the operator is one of a box
  bool box_is_periodic_ = false;
  PoissonScratch scratch_;
  std::vector<Real> r_, z_, p_, e_;
  std::vector<Real> mic0_;  ///< inverse of the pivots' roots
  double imbalance_ = 0;
};

}  // namespace plenum::inline PLENUM_ABI
