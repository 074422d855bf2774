#pragma once
// Conjugate gradients over any callable A, with any preconditioner, judged by the true residual.
// Source: Hestenes & Stiefel 1952; preconditioned form Saad 2003, "Iterative methods for sparse linear
// systems", algorithm 9.1.
#include <cmath>
#include <span>
#include <vector>

#include "plenum/base/real.h"
#include "plenum/linear/solve.h"
#include "plenum/linear/vector_ops.h"

namespace plenum::inline PLENUM_ABI {

/// Scratch of pcg(), reusable between solves of one size.
template <class T>
struct PcgWorkspace {
  std::vector<T> r, z, p, q;
  void resize(std::size_t n) {
    for (auto* v : {&r, &z, &p, &q}) v->resize(n);
  }
};

/// No preconditioning: z = r.
struct IdentityPreconditioner {
  template <class T>
  void operator()(std::span<const T> r, std::span<T> z) const {
    copy(r, z);
  }
};

/// No constraints.
struct NoFilter {
  template <class T>
  void operator()(std::span<T>) const {}
};

namespace pcg_detail {

// Callables may offer their product and a sum in one pass over memory; the result must be that of two.
template <class T, class Apply>
double apply_dot(const Apply& apply, std::span<const T> x, std::span<T> y) {
  if constexpr (requires { apply.apply_dot(x, y); }) {
    return apply.apply_dot(x, y);
  } else {
    apply(x, y);
    return dot<T>(x, y);
  }
}

template <class T, class Apply>
void residual(const Apply& apply, std::span<const T> b, std::span<const T> x, std::span<T> r) {
  if constexpr (requires { apply.residual(b, x, r); }) {
    apply.residual(b, x, r);
  } else {
    apply(x, r);
    residual_from_product<T>(b, r);
  }
}

}  // namespace pcg_detail

/// Solves A x = b for symmetric positive definite A, in place from the guess x (warm start).
///
/// apply(span<const T> x, span<T> y) sets y = A x; precondition(span<const T> r, span<T> z) sets z = P r with
/// P symmetric positive definite. Either may be a class with more: `double apply_dot(x, y)` returns x.y as
/// well, `residual(b, x, r)` sets r = b - A x in one pass.
///
/// filter(span<T> v) projects v onto the free directions (an orthogonal projection, for pinned particles
/// say): the filtered-out part of x is kept as given, and S (b - A x) = 0 is solved for the rest. A filter
/// that is not orthogonal has its transpose as filter.dual(v), for residuals. Source:
/// Baraff & Witkin 1998, "Large steps in cloth simulation", section 5.3, with the initial residual, the
/// threshold |S (b - A x_fixed)| and the filtered preconditioner corrected as in Ascher & Boxerman 2003, "On
/// the modified conjugate gradient method in cloth simulation", section 3.
///
/// The recurrence's residual drifts away from b - A x by rounding, in float long before 1e-6. So when the
/// recurrence reports convergence b - A x is recomputed, and if it is not small enough the iteration starts
/// anew from it, for as long as that at least halves it. Allocates nothing if the workspace has the size of
/// b.
template <class T, class Apply, class Precondition, class Filter = NoFilter>
SolveReport pcg(const Apply& apply, const Precondition& precondition, std::span<const T> b, std::span<T> x,
                PcgWorkspace<T>& work, const SolveOptions& options, const Filter& filter = {}) {
  using Const = std::span<const T>;
  using Mutable = std::span<T>;
  const std::size_t n = b.size();
  work.resize(n);
  const Mutable r(work.r), z(work.z), p(work.p), q(work.q);
  constexpr bool filtered = !std::is_same_v<Filter, NoFilter>;
  const auto filter_dual = [&](std::span<T> v) {
    if constexpr (requires { filter.dual(v); })
      filter.dual(v);
    else
      filter(v);
  };

  SolveReport report;
  if constexpr (filtered) {
    // r = S (b - A x_fixed), whose norm is the right-hand side's in the space of free directions.
    copy(Const(x), p);
    filter(p);
    for (std::size_t i = 0; i < n; ++i) z[i] = x[i] - p[i];
    pcg_detail::residual(apply, b, Const(z), r);
    filter_dual(r);
    report.rhs_norm = norm(Const(r));
  } else {
    report.rhs_norm = norm(b);
  }
  if (report.rhs_norm == 0) {  // the solution is known, and a relative tolerance of nothing is never met
    if constexpr (filtered)
      copy(Const(z), x);
    else
      set_zero(x);
    return report;
  }
  const double tolerance = std::max(options.absolute_tolerance, options.relative_tolerance * report.rhs_norm);

  pcg_detail::residual(apply, b, Const(x), r);
  filter_dual(r);
  double true_norm = norm(Const(r)), recursive_norm = true_norm;
  report.status = SolveStatus::out_of_iterations;
  for (;;) {
    if (!std::isfinite(true_norm)) {
      report.status = SolveStatus::not_finite;
      break;
    }
    if (true_norm <= tolerance) {
      report.status = SolveStatus::converged;
      break;
    }
    if (report.status != SolveStatus::out_of_iterations || report.iterations >= options.max_iterations) break;
    double rho = 0;
    bool first = true;
    while (report.iterations < options.max_iterations) {
      const double rho_new = pcg_detail::apply_dot<T>(precondition, r, z);
      filter(z);
      if (first)
        copy(Const(z), p);
      else
        xpay(Const(z), static_cast<T>(rho_new / rho), p);
      first = false;
      rho = rho_new;
      const double curvature = pcg_detail::apply_dot<T>(apply, p, q);
      if (!(curvature > 0) || !(rho > 0)) {
        report.status = std::isfinite(curvature) && std::isfinite(rho) ? SolveStatus::indefinite
                                                                       : SolveStatus::not_finite;
        break;
      }
      filter_dual(q);
      recursive_norm =
          std::sqrt(step_and_residual(static_cast<T>(rho / curvature), Const(p), Const(q), x, r));
      ++report.iterations;
      if (!(recursive_norm > tolerance)) break;
    }
    const double before = true_norm;
    pcg_detail::residual(apply, b, Const(x), r);
    filter_dual(r);
    true_norm = norm(Const(r));
    if (report.status == SolveStatus::out_of_iterations && report.iterations < options.max_iterations &&
        true_norm > 0.5 * before)
      report.status = SolveStatus::stagnated;
  }
  report.residual = true_norm / report.rhs_norm;
  report.recursive_residual = recursive_norm / report.rhs_norm;
  return report;
}

/// Conjugate gradients without a preconditioner.
template <class T, class Apply>
SolveReport cg(const Apply& apply, std::span<const T> b, std::span<T> x, PcgWorkspace<T>& work,
               const SolveOptions& options) {
  return pcg<T>(apply, IdentityPreconditioner{}, b, x, work, options);
}

}  // namespace plenum::inline PLENUM_ABI
