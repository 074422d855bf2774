#pragma once
// Newton's method with Armijo backtracking for the stages of implicit integrators.
#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <span>

#include "plenum/base/real.h"
#include "plenum/integrate/workspace.h"
#include "plenum/linear/vector_ops.h"

namespace plenum::inline PLENUM_ABI {

/// A system y' = f(t, y) that implicit methods can step:
///   p.f(t, y, out)            sets out = f(t, y);
///   p.solve(t, y, c, r, out)  sets out = (I - c J)^-1 r with J = df/dy at (t, y), by whatever means (a dense
///                             factorization, conjugate gradients on M - c^2 K, ...); false if it could not.
template <class P, class T>
concept ImplicitProblem = requires(P& p, double t, double c, std::span<const T> in, std::span<T> out) {
  p.f(t, in, out);
  { p.solve(t, in, c, in, out) } -> std::convertible_to<bool>;
};

struct NewtonOptions {
  /// Of |z - base - c f(z)|, relative to |z| + |base| + |c f(z)|, on top of the rounding error of that
  /// expression. Zero: as far as the precision goes.
  double relative_tolerance = 0;
  int max_iterations = 50;
  double sufficient_decrease = 1e-4;  ///< Armijo's constant
};

/// Of a whole step: sums and worst over its stages.
struct NewtonReport {
  bool converged = true;
  int iterations = 0;   ///< linear solves
  int backtracks = 0;   ///< halvings of the step length
  double residual = 0;  ///< largest relative residual of a stage
  void add(const NewtonReport& stage) {
    converged &= stage.converged;
    iterations += stage.iterations;
    backtracks += stage.backtracks;
    residual = std::max(residual, stage.residual);
  }
};

/// Solves z = base + c f(t, z) from the guess in z. On return slope = f(t, z).
///
/// The direction d of g(z) = z - base - c f(t, z) solves (I - c J) d = -g; the step length is halved from 1
/// until |g(z + s d)|^2 <= (1 - 2 eps s) |g(z)|^2. Source: Nocedal & Wright 2006, "Numerical optimization",
/// algorithm 11.4 with the merit function |g|^2 / 2 and condition 11.38. g, d, trial: scratch of z's size.
template <class T, ImplicitProblem<T> Problem>
NewtonReport solve_stage(Problem& problem, double t, double c, std::span<const T> base, std::span<T> z,
                         std::span<T> slope, std::span<T> g, std::span<T> d, std::span<T> trial,
                         const NewtonOptions& options) {
  using Const = std::span<const T>;
  const double rounding = double(std::numeric_limits<T>::epsilon());
  const double base_norm = norm(base);
  const auto residual = [&](std::span<T> at) {
    problem.f(t, Const(at), slope);
    combine<T>(g, {{T(1), at}, {T(-1), base}, {static_cast<T>(-c), slope}});
    return norm(Const(g));
  };
  NewtonReport report;
  double g_norm = residual(z);
  for (;;) {
    const double scale = base_norm + norm(Const(z)) + std::abs(c) * norm(Const(slope));
    report.residual = scale > 0 ? g_norm / scale : 0;
    report.converged = g_norm <= std::max(rounding, options.relative_tolerance) * scale;
    if (report.converged || !std::isfinite(g_norm) || report.iterations >= options.max_iterations) break;
    const bool solved = problem.solve(t, Const(z), c, Const(g), d);
    ++report.iterations;
    if (!solved) {
      residual(z);  // leaves slope at z
      break;
    }
    if (norm(Const(d)) <= 4 * rounding * norm(Const(z))) {
      // Nothing that rounding would not undo: the residual is that of f itself.
      report.converged = true;
      residual(z);
      break;
    }
    double length = 1, trial_norm;
    for (;; length /= 2, ++report.backtracks) {
      combine<T>(trial, {{T(1), z}, {static_cast<T>(-length), d}});
      trial_norm = residual(trial);
      if (trial_norm * trial_norm <= (1 - 2 * options.sufficient_decrease * length) * g_norm * g_norm) break;
      if (length < 1e-3) break;
    }
    if (!(trial_norm < g_norm)) {
      // No way down along the direction: the limit of the precision, or a Jacobian that does not fit.
      g_norm = residual(z);
      const double floor = base_norm + norm(Const(z)) + std::abs(c) * norm(Const(slope));
      report.converged = g_norm <= std::max(64 * rounding, options.relative_tolerance) * floor;
      break;
    }
    copy(Const(trial), z);
    g_norm = trial_norm;
  }
  return report;
}

}  // namespace plenum::inline PLENUM_ABI
