#pragma once
// Unconstrained minimization, by Newton's method and by L-BFGS, both with Armijo backtracking; and backward
// Euler as a minimization.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "plenum/base/real.h"
#include "plenum/integrate/workspace.h"
#include "plenum/linear/vector_ops.h"

namespace plenum::inline PLENUM_ABI {

struct MinimizeOptions {
  int max_iterations = 100;
  int min_iterations = 0;             ///< before the tolerances count, unless the gradient is zero
  double gradient_tolerance = 1e-6;   ///< of |gradient|, relative to that at the start
  double absolute_tolerance = 0;      ///< of |gradient|; the looser of the two counts
  double sufficient_decrease = 1e-4;  ///< Armijo's constant
  int max_backtracks = 30;
};

struct MinimizeReport {
  bool converged = false;
  int iterations = 0;   ///< directions computed
  int evaluations = 0;  ///< of the objective
  int backtracks = 0;   ///< halvings of the step length
  double value = 0;     ///< at the x that is returned
  double gradient_norm = 0;
  double first_gradient_norm = 0;  ///< at the x it began from
};

/// An objective is asked for
///   double value(span<const T> x);
///   void gradient(span<const T> x, span<T> g);
/// and, by newton_minimize,
///   bool direction(span<const T> x, span<const T> g, span<T> d);  d = -H^-1 g with H the Hessian at x, made
///                                                                 positive definite; false if it could not.
template <class T>
using MinimizeWorkspace = IntegratorWorkspace<T>;

namespace minimize_detail {

inline bool is_small(double tolerance, const MinimizeOptions& options, const MinimizeReport& report) {
  return report.gradient_norm <= tolerance &&
         (report.iterations >= options.min_iterations || report.gradient_norm == 0);
}

/// Moves x along d to the first length 1, 1/2, 1/4 ... with value <= value0 + c length g.d (Nocedal & Wright
/// 2006, algorithm 3.1). Near a minimum the decrease drowns in the rounding error of the value long before
/// the gradient does; there the step must not raise the value by more than that and must shrink the gradient
/// (the approximate condition of Hager & Zhang 2005, "A new conjugate gradient method with guaranteed descent
/// and an efficient line search", section 4). On success x, value and g are those of the new point.
template <class T, class Objective>
bool line_search(Objective& objective, std::span<const T> d, double slope, std::span<T> x, std::span<T> trial,
                 std::span<T> g, std::span<T> g_trial, const MinimizeOptions& options,
                 MinimizeReport& report) {
  const double rounding = 16 * double(std::numeric_limits<T>::epsilon()) * std::abs(report.value);
  double length = 1;
  for (int k = 0; k <= options.max_backtracks; ++k, length /= 2, ++report.backtracks) {
    combine<T>(trial, {{T(1), x}, {static_cast<T>(length), d}});
    const double value = objective.value(std::span<const T>(trial));
    ++report.evaluations;
    const double change = value - report.value;
    const bool decreased = change <= options.sufficient_decrease * length * slope;
    if (!decreased && !(std::abs(change) <= rounding)) continue;
    objective.gradient(std::span<const T>(trial), g_trial);
    const double g_norm = norm(std::span<const T>(g_trial));
    if (!std::isfinite(g_norm)) continue;
    if (!decreased && !(g_norm < report.gradient_norm)) continue;
    copy(std::span<const T>(trial), x);
    copy(std::span<const T>(g_trial), g);
    report.value = value;
    report.gradient_norm = g_norm;
    return true;
  }
  return false;
}

}  // namespace minimize_detail

/// Vectors of scratch that newton_minimize takes.
inline constexpr std::size_t newton_vectors = 4;

/// Minimizes from x, in place, by Newton's method. Source: Nocedal & Wright 2006, algorithm 3.2. A direction
/// that does not descend is replaced by the negative gradient. Allocates nothing once the workspace has
/// grown.
template <class T, class Objective>
MinimizeReport newton_minimize(Objective& objective, std::span<T> x, MinimizeWorkspace<T>& work,
                               const MinimizeOptions& options = {}) {
  work.prepare(x.size(), newton_vectors);
  const std::span<T> g = work[0], d = work[1], trial = work[2], g_trial = work[3];
  MinimizeReport report;
  report.value = objective.value(std::span<const T>(x));
  report.evaluations = 1;
  objective.gradient(std::span<const T>(x), g);
  report.gradient_norm = report.first_gradient_norm = norm(std::span<const T>(g));
  const double tolerance =
      std::max(options.absolute_tolerance, options.gradient_tolerance * report.gradient_norm);
  while (true) {
    report.converged = minimize_detail::is_small(tolerance, options, report);
    if (report.converged || report.iterations >= options.max_iterations) break;
    const bool solved = objective.direction(std::span<const T>(x), std::span<const T>(g), d);
    ++report.iterations;
    double slope = solved ? dot(std::span<const T>(g), std::span<const T>(d)) : 0;
    if (!(slope < 0)) {
      combine<T>(d, {{T(-1), g}});
      slope = -report.gradient_norm * report.gradient_norm;
    }
    if (!minimize_detail::line_search<T>(objective, d, slope, x, trial, g, g_trial, options, report)) break;
  }
  return report;
}

/// Pairs that L-BFGS remembers.
inline constexpr int lbfgs_history = 8;

/// No better guess of the inverse Hessian than a multiple of the identity.
struct ScaledIdentity {};

/// Minimizes from x, in place, by limited-memory BFGS. Source: Nocedal & Wright 2006, algorithms 7.4 and 7.5;
/// pairs without curvature are left out (Li & Fukushima 2001, "On the global convergence of the BFGS method
/// for nonconvex unconstrained optimization problems").
///
/// initial_inverse(span<T> v) replaces v by H0^-1 v with H0 a fixed approximation of the Hessian. A
/// prefactored M/h^2 + L of a net of springs makes this the method of Liu, Bouaziz & Kavan 2017,
/// "Quasi-Newton methods for real-time simulation of hyperelastic materials". Without it, the usual scaled
/// identity.
template <class T, class Objective, class InitialInverse = ScaledIdentity>
MinimizeReport lbfgs_minimize(Objective& objective, std::span<T> x, MinimizeWorkspace<T>& work,
                              const MinimizeOptions& options = {}, InitialInverse&& initial_inverse = {}) {
  constexpr int m = lbfgs_history;
  constexpr bool identity = std::is_same_v<std::remove_cvref_t<InitialInverse>, ScaledIdentity>;
  using Const = std::span<const T>;
  work.prepare(x.size(), 6 + 2 * m);
  const std::span<T> g = work[0], d = work[1], trial = work[2], g_trial = work[3], x_old = work[4],
                     g_old = work[5];
  const auto s = [&](int k) { return work[6 + 2 * (k % m)]; };
  const auto y = [&](int k) { return work[7 + 2 * (k % m)]; };
  std::array<double, m> sy{}, alpha{};

  MinimizeReport report;
  report.value = objective.value(Const(x));
  report.evaluations = 1;
  objective.gradient(Const(x), g);
  report.gradient_norm = report.first_gradient_norm = norm(Const(g));
  const double tolerance =
      std::max(options.absolute_tolerance, options.gradient_tolerance * report.gradient_norm);
  int stored = 0;  // pairs so far; the last m of them are kept
  double scale = 1;
  while (true) {
    report.converged = minimize_detail::is_small(tolerance, options, report);
    if (report.converged || report.iterations >= options.max_iterations) break;
    ++report.iterations;
    // d = -H g by the two loops of algorithm 7.4.
    combine<T>(d, {{T(-1), g}});
    const int first = std::max(0, stored - m);
    for (int k = stored - 1; k >= first; --k) {
      alpha[k % m] = dot(Const(s(k)), Const(d)) / sy[k % m];
      axpy<T>(static_cast<T>(-alpha[k % m]), y(k), d);
    }
    if constexpr (identity) {
      // Of the first step nothing is known but that it should not be longer than x changes by the unit.
      if (stored == 0) scale = 1 / std::max(1.0, report.gradient_norm);
      combine<T>(d, {{static_cast<T>(scale), d}});
    } else {
      initial_inverse(d);
    }
    for (int k = first; k < stored; ++k) {
      const double beta = dot(Const(y(k)), Const(d)) / sy[k % m];
      axpy<T>(static_cast<T>(alpha[k % m] - beta), s(k), d);
    }
    double slope = dot(Const(g), Const(d));
    if (!(slope < 0)) {
      combine<T>(d, {{T(-1), g}});
      slope = -report.gradient_norm * report.gradient_norm;
      stored = 0;
    }
    copy(Const(x), x_old);
    copy(Const(g), g_old);
    if (!minimize_detail::line_search<T>(objective, d, slope, x, trial, g, g_trial, options, report)) {
      if (stored == 0) break;
      stored = 0;  // once more, without what was remembered
      continue;
    }
    combine<T>(s(stored), {{T(1), x}, {T(-1), x_old}});
    combine<T>(y(stored), {{T(1), g}, {T(-1), g_old}});
    const double curvature = dot(Const(s(stored)), Const(y(stored)));
    const double y_square = dot(Const(y(stored)), Const(y(stored)));
    if (curvature > 1e-10 * std::sqrt(y_square * dot(Const(s(stored)), Const(s(stored))))) {
      sy[stored % m] = curvature;
      scale = curvature / y_square;
      ++stored;
    }
  }
  return report;
}

/// Backward Euler as a minimization: x1 = argmin |x - y|_M^2 / (2 h^2) + E(x) with y = x0 + h v0 + h^2 M^-1
/// f_external; then v1 = (x1 - x0)/h. Source: Martin et al. 2011, "Example-based elastic materials", eq. 7;
/// Gast et al. 2015, "Optimization integrators for large time steps", eq. 5.
///
/// Potential: double value(x), void gradient(x, g) of E, and for newton_minimize `bool solve(span<const T> x,
/// double c, span<const T> r, span<T> d)` which sets d = (M c + H)^-1 r with H the Hessian of E, projected to
/// be positive semi-definite, and c = 1/h^2.
template <class T, class Potential>
class IncrementalPotential {
 public:
  /// mass [n], one per scalar of x; y [n]; h s.
  IncrementalPotential(Potential& potential, std::span<const T> mass, std::span<const T> y, double h)
      : potential_(potential), mass_(mass), y_(y), inverse_square_(1 / (h * h)) {}

  double value(std::span<const T> x) {
    const double inertia = ordered_sum(x.size(), vector_block, [&](std::size_t begin, std::size_t end) {
      double sum = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const double d = double(x[i]) - double(y_[i]);
        sum += double(mass_[i]) * d * d;
      }
      return sum;
    });
    return 0.5 * inverse_square_ * inertia + potential_.value(x);
  }
  void gradient(std::span<const T> x, std::span<T> g) {
    potential_.gradient(x, g);
    parallel_for(x.size(), vector_block, [&](std::size_t begin, std::size_t end) {
      const T c = static_cast<T>(inverse_square_);
      for (std::size_t i = begin; i < end; ++i) g[i] += c * mass_[i] * (x[i] - y_[i]);
    });
  }
  bool direction(std::span<const T> x, std::span<const T> g, std::span<T> d) {
    if (!potential_.solve(x, inverse_square_, g, d)) return false;
    combine<T>(d, {{T(-1), d}});
    return true;
  }

 private:
  Potential& potential_;
  std::span<const T> mass_, y_;
  double inverse_square_;
};

}  // namespace plenum::inline PLENUM_ABI
