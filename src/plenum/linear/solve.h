#pragma once
// What every iterative solver is asked and answers.
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

struct SolveOptions {
  double relative_tolerance = 1e-3;  ///< of |b - A x| / |b|
  double absolute_tolerance = 0;     ///< of |b - A x|; the looser of the two counts
  int max_iterations = 1000;         ///< products with A, restarts excluded
};

enum class SolveStatus {
  converged,
  out_of_iterations,  ///< remedy: more iterations, a better preconditioner
  stagnated,          ///< the true residual stopped falling: the limit of the precision; use double
  indefinite,         ///< a direction with p.A p <= 0 was met: the matrix is not positive definite
  not_finite,         ///< the matrix or the right-hand side holds infinities or NaN
};

/// The residuals are of the x that is returned.
struct SolveReport {
  SolveStatus status = SolveStatus::converged;
  int iterations = 0;
  double residual = 0;            ///< true one, |b - A x| / |b| with b - A x recomputed from x
  double recursive_residual = 0;  ///< what the recurrence believed, over |b|
  double rhs_norm = 0;            ///< |b|, after filtering
  bool converged() const { return status == SolveStatus::converged; }
};

}  // namespace plenum::inline PLENUM_ABI
