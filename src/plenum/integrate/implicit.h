#pragma once
// Implicit one-step and two-step methods. The system is an ImplicitProblem (newton.h), y [n] is advanced in
// place from t to t + h; the report says how the nonlinear equations went. If they did not converge y is the
// best that was found, and finite if the problem is.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "plenum/base/real.h"
#include "plenum/integrate/newton.h"
#include "plenum/integrate/workspace.h"

namespace plenum::inline PLENUM_ABI {

namespace integrate_detail {

/// Vectors of the workspace that stage solves use; methods have their own from `first_free`.
inline constexpr std::size_t first_free = 5;  // slope, g, d, trial, base

template <class T, class Problem>
NewtonReport stage(Problem& problem, double t, double c, std::span<T> z, IntegratorWorkspace<T>& work,
                   const NewtonOptions& options) {
  return solve_stage<T>(problem, t, c, std::span<const T>(work[4]), z, work[0], work[1], work[2], work[3],
                        options);
}

/// Weights of (1 + s) near - s far, s > 0, that add up to one exactly: were each rounded by itself, y would
/// grow or shrink by up to a rounding error every step, in the same direction.
template <class T>
struct Extrapolation {
  T near, far;
  explicit Extrapolation(double s) : near(static_cast<T>(1 + s)), far(T(1) - near) {}
};

}  // namespace integrate_detail

/// Backward Euler, y1 = y + h f(t + h, y1), by Newton-Raphson. L-stable, order 1.
template <class T, ImplicitProblem<T> Problem>
NewtonReport backward_euler_step(Problem& problem, double t, double h, std::span<T> y,
                                 IntegratorWorkspace<T>& work, const NewtonOptions& options = {}) {
  work.prepare(y.size(), integrate_detail::first_free);
  copy(std::span<const T>(y), work[4]);
  return integrate_detail::stage(problem, t + h, h, y, work, options);
}

/// One Newton step of backward Euler from y: (I - h J) (y1 - y) = h f(t + h, y). Linear in cost and, for
/// linear systems, the same. Source: Baraff & Witkin 1998, "Large steps in cloth simulation", eq. 6; Hairer &
/// Wanner 1996, "Solving ordinary differential equations II", section IV.7 (Rosenbrock method of one stage).
template <class T, ImplicitProblem<T> Problem>
NewtonReport linearly_implicit_euler_step(Problem& problem, double t, double h, std::span<T> y,
                                          IntegratorWorkspace<T>& work) {
  work.prepare(y.size(), 3);
  NewtonReport report;
  report.iterations = 1;
  problem.f(t + h, std::span<const T>(y), work[0]);
  combine<T>(work[1], {{static_cast<T>(h), work[0]}});
  report.converged = problem.solve(t + h, std::span<const T>(y), h, std::span<const T>(work[1]), work[2]);
  if (report.converged) combine<T>(y, {{T(1), y}, {T(1), work[2]}});
  return report;
}

/// Implicit midpoint, y1 = y + h f(t + h/2, (y + y1)/2). A-stable, symplectic, order 2; keeps quadratic
/// invariants.
template <class T, ImplicitProblem<T> Problem>
NewtonReport implicit_midpoint_step(Problem& problem, double t, double h, std::span<T> y,
                                    IntegratorWorkspace<T>& work, const NewtonOptions& options = {}) {
  work.prepare(y.size(), integrate_detail::first_free + 1);
  const std::span<T> middle = work[5];
  copy(std::span<const T>(y), work[4]);
  copy(std::span<const T>(y), middle);
  const NewtonReport report = integrate_detail::stage(problem, t + h / 2, h / 2, middle, work, options);
  combine<T>(y, {{T(2), middle}, {T(-1), y}});
  return report;
}

/// Trapezoid, y1 = y + h/2 (f(t, y) + f(t + h, y1)). A-stable, order 2.
template <class T, ImplicitProblem<T> Problem>
NewtonReport trapezoid_step(Problem& problem, double t, double h, std::span<T> y,
                            IntegratorWorkspace<T>& work, const NewtonOptions& options = {}) {
  work.prepare(y.size(), integrate_detail::first_free);
  problem.f(t, std::span<const T>(y), work[0]);
  combine<T>(work[4], {{T(1), y}, {static_cast<T>(h / 2), work[0]}});
  return integrate_detail::stage(problem, t + h, h / 2, y, work, options);
}

/// BDF2 with steps that may vary: y1 = ((1 + w)^2 y - w^2 y_before + h (1 + w) f(t + h, y1)) / (1 + 2 w), w =
/// h / h_before. y_before [n] is the value at t - h_before, and on return that at t. L-stable (for constant
/// steps), order 2; start with any method of order 1 or more. Source: Hairer, Norsett & Wanner 1993, section
/// III.5.
template <class T, ImplicitProblem<T> Problem>
NewtonReport bdf2_step(Problem& problem, double t, double h, double h_before, std::span<T> y,
                       std::span<T> y_before, IntegratorWorkspace<T>& work,
                       const NewtonOptions& options = {}) {
  work.prepare(y.size(), integrate_detail::first_free);
  const double w = h / h_before, over = 1 / (1 + 2 * w);
  const integrate_detail::Extrapolation<T> base(w * w * over);
  combine<T>(work[4], {{base.near, y}, {base.far, y_before}});
  copy(std::span<const T>(y), y_before);
  return integrate_detail::stage(problem, t + h, h * (1 + w) * over, y, work, options);
}

/// Two stages with the same (I - gamma h J), gamma = 1 - 1/sqrt 2: L-stable, order 2. Source: Alexander 1977,
/// "Diagonally implicit Runge-Kutta methods for stiff ODEs", theorem 5; Hairer & Wanner 1996, eq. IV.6.16.
template <class T, ImplicitProblem<T> Problem>
NewtonReport sdirk2_step(Problem& problem, double t, double h, std::span<T> y, IntegratorWorkspace<T>& work,
                         const NewtonOptions& options = {}) {
  constexpr double gamma = 1 - 1 / std::numbers::sqrt2;
  work.prepare(y.size(), integrate_detail::first_free + 1);
  const std::span<T> z = work[5];
  copy(std::span<const T>(y), work[4]);
  copy(std::span<const T>(y), z);
  NewtonReport report = integrate_detail::stage(problem, t + gamma * h, gamma * h, z, work, options);
  // The stage's slope is (z - y) / (gamma h), which is better conditioned for stiff f than f(z).
  constexpr double ahead = (1 - gamma) / gamma;
  const integrate_detail::Extrapolation<T> base(ahead - 1);
  combine<T>(work[4], {{base.far, y}, {base.near, z}});
  copy(std::span<const T>(z), y);
  report.add(integrate_detail::stage(problem, t + h, gamma * h, y, work, options));
  return report;
}

/// Trapezoid to t + gamma h, then BDF2, with gamma = 2 - sqrt 2 (both with the same (I - gamma/2 h J)).
/// L-stable, order 2. Source: Bank et al. 1985, "Transient simulation of silicon devices and circuits"; Hosea
/// & Shampine 1996, "Analysis and implementation of TR-BDF2".
template <class T, ImplicitProblem<T> Problem>
NewtonReport tr_bdf2_step(Problem& problem, double t, double h, std::span<T> y, IntegratorWorkspace<T>& work,
                          const NewtonOptions& options = {}) {
  constexpr double gamma = 2 - std::numbers::sqrt2;
  work.prepare(y.size(), integrate_detail::first_free + 1);
  const std::span<T> z = work[5];
  problem.f(t, std::span<const T>(y), work[0]);
  combine<T>(work[4], {{T(1), y}, {static_cast<T>(gamma / 2 * h), work[0]}});
  copy(std::span<const T>(y), z);
  NewtonReport report = integrate_detail::stage(problem, t + gamma * h, gamma / 2 * h, z, work, options);
  constexpr double over = 1 / (gamma * (2 - gamma));
  const integrate_detail::Extrapolation<T> base((1 - gamma) * (1 - gamma) * over);
  combine<T>(work[4], {{base.near, z}, {base.far, y}});
  copy(std::span<const T>(z), y);
  report.add(integrate_detail::stage(problem, t + h, gamma / 2 * h, y, work, options));
  return report;
}

/// Radau IIA of two stages (t + h/3 and t + h): L-stable, order 3. Source: Hairer & Wanner 1996, table
/// IV.5.5.
///
/// The coupled stages Z = y + h (A x I) F(Z) are solved by triangularly implicit iteration, (I - h L x J) dZ
/// = -residual with A = L U, U of unit diagonal: only systems (I - c J) appear, and in the stiff limit it
/// ends in two iterations. Source: van der Houwen & de Swart 1997, "Triangularly implicit iteration methods
/// for ODE-IVP solvers", section 2.
template <class T, ImplicitProblem<T> Problem>
NewtonReport radau_iia2_step(Problem& problem, double t, double h, std::span<T> y,
                             IntegratorWorkspace<T>& work, const NewtonOptions& options = {}) {
  using Const = std::span<const T>;
  constexpr double a11 = 5.0 / 12, a12 = -1.0 / 12, a21 = 3.0 / 4, a22 = 1.0 / 4;
  constexpr double l11 = a11, l21 = a21, l22 = a22 - a21 * a12 / a11;
  work.prepare(y.size(), 10);
  const std::span<T> z1 = work[0], z2 = work[1], f1 = work[2], f2 = work[3], g1 = work[4], g2 = work[5],
                     d1 = work[6], d2 = work[7], trial1 = work[8], trial2 = work[9];
  const double rounding = double(std::numeric_limits<T>::epsilon());
  const auto residual = [&](std::span<T> at1, std::span<T> at2) {
    problem.f(t + h / 3, Const(at1), f1);
    problem.f(t + h, Const(at2), f2);
    combine<T>(g1, {{T(1), at1}, {T(-1), y}, {static_cast<T>(-a11 * h), f1}, {static_cast<T>(-a12 * h), f2}});
    combine<T>(g2, {{T(1), at2}, {T(-1), y}, {static_cast<T>(-a21 * h), f1}, {static_cast<T>(-a22 * h), f2}});
    return std::sqrt(dot(Const(g1), Const(g1)) + dot(Const(g2), Const(g2)));
  };
  copy(Const(y), z1);
  copy(Const(y), z2);
  NewtonReport report;
  double g_norm = residual(z1, z2);
  const double y_norm = norm(Const(y));
  for (;;) {
    const double scale = y_norm + norm(Const(z2)) + h * (norm(Const(f1)) + norm(Const(f2)));
    report.residual = scale > 0 ? g_norm / scale : 0;
    report.converged = g_norm <= std::max(rounding, options.relative_tolerance) * scale;
    if (report.converged || !std::isfinite(g_norm) || report.iterations >= options.max_iterations) break;
    // Row 1: (I - l11 h J) d1 = -g1. Row 2: (I - l22 h J) d2 = -g2 + l21 h J d1, with h J d1 = (d1 + g1) /
    // l11.
    combine<T>(trial1, {{T(-1), g1}});
    if (!problem.solve(t + h / 3, Const(z1), l11 * h, Const(trial1), d1)) break;
    combine<T>(trial2, {{T(-1), g2}, {static_cast<T>(l21 / l11), d1}, {static_cast<T>(l21 / l11), g1}});
    if (!problem.solve(t + h, Const(z2), l22 * h, Const(trial2), d2)) break;
    report.iterations += 2;
    T length = 1;
    double trial_norm;
    for (;; length /= 2, ++report.backtracks) {
      combine<T>(trial1, {{T(1), z1}, {length, d1}});
      combine<T>(trial2, {{T(1), z2}, {length, d2}});
      trial_norm = residual(trial1, trial2);
      if (trial_norm < g_norm || length < T(1e-3)) break;
    }
    if (!(trial_norm < g_norm)) {
      report.converged = g_norm <= std::max(64 * rounding, options.relative_tolerance) * scale;
      break;
    }
    copy(Const(trial1), z1);
    copy(Const(trial2), z2);
    g_norm = trial_norm;
  }
  copy(Const(z2), y);
  return report;
}

/// A second-order system x'' = a(t, x, v) that implicit methods can step:
///   p.a(t, x, v, out)                      sets out = a;
///   p.solve(t, x, v, cx, cv, r, out)       sets out = (I - cx da/dx - cv da/dv)^-1 r; false if it could not
///                                          (for forces f and masses M: (M - cx df/dx - cv df/dv) out = M r);
///   p.drag_product(t, x, v, u, out)        sets out = da/dv u.
template <class P, class T>
concept SecondOrderProblem = requires(P& p, double t, std::span<const T> in, std::span<T> out) {
  p.a(t, in, in, out);
  { p.solve(t, in, in, t, t, in, out) } -> std::convertible_to<bool>;
  p.drag_product(t, in, in, in, out);
};

/// x'' = a as y' = f with y = (x, v) [2 n], so that every method above steps it.
template <class T, class Problem>
class FirstOrderForm {
 public:
  explicit FirstOrderForm(Problem& problem) : problem_(problem) {}
  void f(double t, std::span<const T> y, std::span<T> out) {
    const std::size_t n = y.size() / 2;
    copy(y.subspan(n), out.first(n));
    problem_.a(t, y.first(n), y.subspan(n), out.subspan(n));
  }
  /// The rows of (I - c J) d = r are dx - c dv = rx and dv - c (K dx + D dv) = rv. Eliminating dv leaves
  /// (I - c D - c^2 K) dx = rx + c rv - c D rx.
  bool solve(double t, std::span<const T> y, double c, std::span<const T> r, std::span<T> d) {
    const std::size_t n = y.size() / 2;
    work_.prepare(n, 1);
    const auto x = y.first(n), v = y.subspan(n), rx = r.first(n), rv = r.subspan(n);
    const auto dx = d.first(n), dv = d.subspan(n);
    problem_.drag_product(t, x, v, rx, dv);
    combine<T>(work_[0], {{T(1), rx}, {static_cast<T>(c), rv}, {static_cast<T>(-c), dv}});
    if (!problem_.solve(t, x, v, c * c, c, std::span<const T>(work_[0]), dx)) return false;
    const T over = static_cast<T>(1 / c);
    combine<T>(dv, {{over, dx}, {-over, rx}});
    return true;
  }

 private:
  Problem& problem_;
  IntegratorWorkspace<T> work_;
};

/// Newmark's method, x1 = x + h v + h^2 ((1/2 - beta) a + beta a1), v1 = v + h ((1 - gamma) a + gamma a1).
/// The acceleration is part of the state: on entry that of (t, x, v), on return that of the end. beta = 1/4,
/// gamma = 1/2 is the average acceleration, A-stable and of order 2; gamma > 1/2 damps and is of order 1.
/// Source: Newmark 1959, "A method of computation for structural dynamics"; Hughes 1987, "The finite element
/// method", section 9.1.
template <class T, SecondOrderProblem<T> Problem>
NewtonReport newmark_step(Problem& problem, double t, double h, std::span<T> x, std::span<T> v,
                          std::span<T> acceleration, IntegratorWorkspace<T>& work, double beta = 0.25,
                          double gamma = 0.5, const NewtonOptions& options = {}) {
  // Unknown: a1, with g(a1) = a1 - a(x1(a1), v1(a1)) and dg = I - beta h^2 da/dx - gamma h da/dv.
  struct Stage {
    Problem& problem;
    double cx, cv;
    std::span<T> x0, v0, x1, v1;
    void positions(std::span<const T> a1) {
      combine<T>(x1, {{T(1), x0}, {static_cast<T>(cx), a1}});
      combine<T>(v1, {{T(1), v0}, {static_cast<T>(cv), a1}});
    }
    void f(double time, std::span<const T> a1, std::span<T> out) {
      positions(a1);
      problem.a(time, x1, v1, out);
    }
    bool solve(double time, std::span<const T> a1, double, std::span<const T> r, std::span<T> d) {
      positions(a1);
      return problem.solve(time, x1, v1, cx, cv, r, d);
    }
  };
  const std::size_t own = integrate_detail::first_free;
  work.prepare(x.size(), own + 4);
  Stage stage{problem, beta * h * h, gamma * h, work[own], work[own + 1], work[own + 2], work[own + 3]};
  combine<T>(stage.x0,
             {{T(1), x}, {static_cast<T>(h), v}, {static_cast<T>((0.5 - beta) * h * h), acceleration}});
  combine<T>(stage.v0, {{T(1), v}, {static_cast<T>((1 - gamma) * h), acceleration}});
  set_zero(work[4]);
  const NewtonReport report = integrate_detail::stage(stage, t + h, 1.0, acceleration, work, options);
  stage.positions(acceleration);
  copy(std::span<const T>(stage.x1), x);
  copy(std::span<const T>(stage.v1), v);
  return report;
}

}  // namespace plenum::inline PLENUM_ABI
