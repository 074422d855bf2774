#pragma once
// Jacobi, Gauss-Seidel and successive over-relaxation, for matrices given row by row.
//
// rows(Index i, visit) calls visit(Index j, T a_ij) for the entries of row i, the diagonal once among them.
// Source: Saad 2003, "Iterative methods for sparse linear systems", section 4.1.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/base/real.h"
#include "plenum/linear/solve.h"
#include "plenum/linear/vector_ops.h"

namespace plenum::inline PLENUM_ABI {

namespace relaxation_detail {

inline constexpr std::size_t rows_per_block = 1024;

/// |b - A x|, each row summed in double.
template <class T, class Rows>
double residual_norm(const Rows& rows, std::span<const T> b, std::span<const T> x) {
  return std::sqrt(ordered_sum(b.size(), rows_per_block, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      double r = double(b[i]);
      rows(static_cast<Index>(i), [&](Index j, T a) { r -= double(a) * double(x[j]); });
      sum += r * r;
    }
    return sum;
  }));
}

/// Sweeps until the true residual is small enough; sweep() advances x once.
template <class T, class Rows, class Sweep>
SolveReport iterate(const Rows& rows, std::span<const T> b, std::span<T> x, const SolveOptions& options,
                    Sweep&& sweep) {
  SolveReport report;
  report.rhs_norm = norm(b);
  const double tolerance = std::max(options.absolute_tolerance, options.relative_tolerance * report.rhs_norm);
  double r = residual_norm<T>(rows, b, x);
  double best = r;
  int since_best = 0;
  for (;;) {
    if (!std::isfinite(r)) {
      report.status = SolveStatus::not_finite;
      break;
    }
    if (r <= tolerance) {
      report.status = SolveStatus::converged;
      break;
    }
    if (report.iterations >= options.max_iterations) {
      report.status = SolveStatus::out_of_iterations;
      break;
    }
    // A convergent sweep reaches its asymptotic rate soon; where rounding has the upper hand nothing
    // improves.
    if (since_best >= 50) {
      report.status = SolveStatus::stagnated;
      break;
    }
    sweep();
    ++report.iterations;
    r = residual_norm<T>(rows, b, x);
    since_best = r < 0.999 * best ? 0 : since_best + 1;
    best = std::min(best, r);
  }
  report.residual = report.rhs_norm > 0 ? r / report.rhs_norm : r;
  report.recursive_residual = report.residual;
  return report;
}

}  // namespace relaxation_detail

/// x += damping D^-1 (b - A x) until converged. x, b [n]; work grows to [n]. Converges for damping = 1 if A
/// is strictly diagonally dominant; with damping < 2 / lambda_max(D^-1 A) if A is symmetric positive
/// definite. Parallel over rows. An iteration counts one sweep.
template <class T, class Rows>
SolveReport jacobi_solve(const Rows& rows, std::span<const T> b, std::span<T> x, std::vector<T>& work,
                         const SolveOptions& options, double damping = 1) {
  work.resize(b.size());
  return relaxation_detail::iterate<T>(rows, b, x, options, [&] {
    parallel_for(b.size(), relaxation_detail::rows_per_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        T r = b[i], diagonal = 1;
        rows(static_cast<Index>(i), [&](Index j, T a) {
          r -= a * x[j];
          if (j == static_cast<Index>(i)) diagonal = a;
        });
        work[i] = x[i] + static_cast<T>(damping) * r / diagonal;
      }
    });
    copy(std::span<const T>(work), x);
  });
}

enum class SweepOrder { forward, backward, symmetric };

/// Successive over-relaxation: row by row, x_i += omega (b_i - sum_j a_ij x_j) / a_ii with what was updated
/// before. Converges for 0 < omega < 2 if A is symmetric positive definite (Saad 2003, theorem 4.10). Rows in
/// sequence, one thread; `symmetric` is one forward and one backward sweep.
template <class T, class Rows>
SolveReport sor_solve(const Rows& rows, std::span<const T> b, std::span<T> x, double omega,
                      const SolveOptions& options, SweepOrder order = SweepOrder::forward) {
  const auto n = static_cast<Index>(b.size());
  const auto relax = [&](Index i) {
    T r = b[i], diagonal = 1;
    rows(i, [&](Index j, T a) {
      r -= a * x[j];
      if (j == i) diagonal = a;
    });
    x[i] += static_cast<T>(omega) * r / diagonal;
  };
  return relaxation_detail::iterate<T>(rows, b, x, options, [&] {
    if (order != SweepOrder::backward)
      for (Index i = 0; i < n; ++i) relax(i);
    if (order != SweepOrder::forward)
      for (Index i = n - 1; i >= 0; --i) relax(i);
  });
}

/// Gauss-Seidel: over-relaxation with omega = 1.
template <class T, class Rows>
SolveReport gauss_seidel_solve(const Rows& rows, std::span<const T> b, std::span<T> x,
                               const SolveOptions& options, SweepOrder order = SweepOrder::forward) {
  return sor_solve<T>(rows, b, x, 1, options, order);
}

}  // namespace plenum::inline PLENUM_ABI
