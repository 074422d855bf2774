#pragma once
// Every time integrator of the house, and the one table that says what each of them is.
//
// The methods are function templates over float and double in the headers below; the functions at the end
// choose one at run time, for a scene file's or a test's sake.
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "plenum/base/real.h"
#include "plenum/integrate/implicit.h"
#include "plenum/integrate/newton.h"
#include "plenum/integrate/runge_kutta.h"
#include "plenum/integrate/symplectic.h"
#include "plenum/integrate/workspace.h"

namespace plenum::inline PLENUM_ABI {

enum class Integrator {
  explicit_euler,
  symplectic_euler,     ///< velocity first
  symplectic_euler_xv,  ///< position first
  explicit_midpoint,
  heun,
  rk3_ssp,
  rk3_kutta,
  rk4,
  stoermer_verlet,
  position_verlet,
  velocity_verlet,
  leapfrog,
  backward_euler,
  linearly_implicit_euler,
  implicit_midpoint,
  trapezoid,
  newmark,
  bdf2,
  sdirk2,
  tr_bdf2,
  radau_iia2,
};

/// What is known of a method from its stability function R(z), z = h lambda, on y' = lambda y.
struct IntegratorInfo {
  Integrator id;
  std::string_view name;  ///< as in scene files
  int order;              ///< of the global error
  /// Largest h |lambda| on the negative real axis with |R| <= 1. For the methods for x'' = a: of a drag a =
  /// -lambda v.
  double real_limit;
  /// Largest h omega of an undamped oscillation with |R| <= 1; 0: none, infinity: any.
  double imag_limit;
  double damping_at_infinity;  ///< |R(-infinity)|; 0 for L-stable methods
  bool implicit;
  bool symplectic;
  bool second_order_only;  ///< for x'' = a alone
  bool self_starting;      ///< needs nothing of earlier steps
};

namespace integrate_detail {
inline constexpr double unlimited = std::numeric_limits<double>::infinity();
}

/// Limits: roots of |R(z)| = 1 (Hairer & Wanner 1996, section IV.2); for the symplectic ones h omega = 2,
/// where the eigenvalues of the oscillator's step matrix (trace 2 - h^2 omega^2) leave the unit circle.
inline constexpr std::array<IntegratorInfo, 21> integrator_table{{
#define PLENUM_ROW(id, ...) {Integrator::id, #id, __VA_ARGS__}
    // name, order, real, imaginary, |R(-inf)|, implicit, symplectic, second order only, self-starting
    PLENUM_ROW(explicit_euler, 1, 2, 0, integrate_detail::unlimited, false, false, false, true),
    PLENUM_ROW(symplectic_euler, 1, 2, 2, integrate_detail::unlimited, false, true, true, true),
    PLENUM_ROW(symplectic_euler_xv, 1, 2, 2, integrate_detail::unlimited, false, true, true, true),
    PLENUM_ROW(explicit_midpoint, 2, 2, 0, integrate_detail::unlimited, false, false, false, true),
    PLENUM_ROW(heun, 2, 2, 0, integrate_detail::unlimited, false, false, false, true),
    PLENUM_ROW(rk3_ssp, 3, 2.51274532661833, 1.7320508075688772, integrate_detail::unlimited, false, false,
               false, true),
    PLENUM_ROW(rk3_kutta, 3, 2.51274532661833, 1.7320508075688772, integrate_detail::unlimited, false, false,
               false, true),
    PLENUM_ROW(rk4, 4, 2.78529356340528, 2.8284271247461903, integrate_detail::unlimited, false, false, false,
               true),
    PLENUM_ROW(stoermer_verlet, 2, 2, 2, integrate_detail::unlimited, false, true, true, false),
    PLENUM_ROW(position_verlet, 2, 2, 2, integrate_detail::unlimited, false, true, true, true),
    PLENUM_ROW(velocity_verlet, 2, 2, 2, integrate_detail::unlimited, false, true, true, true),
    PLENUM_ROW(leapfrog, 2, 2, 2, integrate_detail::unlimited, false, true, true, false),
    PLENUM_ROW(backward_euler, 1, integrate_detail::unlimited, integrate_detail::unlimited, 0, true, false,
               false, true),
    PLENUM_ROW(linearly_implicit_euler, 1, integrate_detail::unlimited, integrate_detail::unlimited, 0, true,
               false, false, true),
    PLENUM_ROW(implicit_midpoint, 2, integrate_detail::unlimited, integrate_detail::unlimited, 1, true, true,
               false, true),
    PLENUM_ROW(trapezoid, 2, integrate_detail::unlimited, integrate_detail::unlimited, 1, true, false, false,
               true),
    PLENUM_ROW(newmark, 2, integrate_detail::unlimited, integrate_detail::unlimited, 1, true, false, true,
               false),
    PLENUM_ROW(bdf2, 2, integrate_detail::unlimited, integrate_detail::unlimited, 0, true, false, false,
               false),
    PLENUM_ROW(sdirk2, 2, integrate_detail::unlimited, integrate_detail::unlimited, 0, true, false, false,
               true),
    PLENUM_ROW(tr_bdf2, 2, integrate_detail::unlimited, integrate_detail::unlimited, 0, true, false, false,
               true),
    PLENUM_ROW(radau_iia2, 3, integrate_detail::unlimited, integrate_detail::unlimited, 0, true, false, false,
               true),
#undef PLENUM_ROW
}};

constexpr const IntegratorInfo& info(Integrator id) {
  return integrator_table[static_cast<std::size_t>(id)];
}

constexpr std::optional<Integrator> integrator_named(std::string_view name) {
  for (const IntegratorInfo& row : integrator_table)
    if (row.name == name) return row.id;
  return std::nullopt;
}

/// Calls use(tableau) with the Butcher tableau of an explicit Runge-Kutta method. Returns false, and calls
/// nothing, for the others.
template <class Use>
bool with_tableau(Integrator method, const Use& use) {
  switch (method) {
    case Integrator::explicit_euler:
      return use(explicit_euler), true;
    case Integrator::explicit_midpoint:
      return use(explicit_midpoint), true;
    case Integrator::heun:
      return use(heun), true;
    case Integrator::rk3_ssp:
      return use(rk3_ssp), true;
    case Integrator::rk3_kutta:
      return use(rk3_kutta), true;
    case Integrator::rk4:
      return use(rk4), true;
    default:
      return false;
  }
}

/// One step of y' = f(t, y) by an explicit method. Returns false, and does nothing, for the others.
template <class T, class F>
bool explicit_step(Integrator method, const F& f, double t, double h, std::span<T> y,
                   IntegratorWorkspace<T>& work) {
  return with_tableau(method, [&](const auto& tableau) { runge_kutta_step<T>(tableau, f, t, h, y, work); });
}

/// One step of x'' = a(t, x, v) by an explicit, self-starting method. Returns false, and does nothing, for
/// the others. Everything that resumes a run is in x and v.
template <class T, class A>
bool explicit_step(Integrator method, const A& a, double t, double h, std::span<T> x, std::span<T> v,
                   IntegratorWorkspace<T>& work) {
  switch (method) {
    case Integrator::symplectic_euler:
      symplectic_euler_vx_step(a, t, h, x, v, work);
      return true;
    case Integrator::symplectic_euler_xv:
      symplectic_euler_xv_step(a, t, h, x, v, work);
      return true;
    case Integrator::position_verlet:
      position_verlet_step(a, t, h, x, v, work);
      return true;
    case Integrator::velocity_verlet:
      velocity_verlet_step(a, t, h, x, v, work);
      return true;
    default:
      return with_tableau(method,
                          [&](const auto& tableau) { runge_kutta_step<T>(tableau, a, t, h, x, v, work); });
  }
}

/// One step of y' = f(t, y) by an implicit, self-starting method; nothing for the others.
template <class T, ImplicitProblem<T> Problem>
std::optional<NewtonReport> implicit_step(Integrator method, Problem& problem, double t, double h,
                                          std::span<T> y, IntegratorWorkspace<T>& work,
                                          const NewtonOptions& options = {}) {
  switch (method) {
    case Integrator::backward_euler:
      return backward_euler_step(problem, t, h, y, work, options);
    case Integrator::linearly_implicit_euler:
      return linearly_implicit_euler_step(problem, t, h, y, work);
    case Integrator::implicit_midpoint:
      return implicit_midpoint_step(problem, t, h, y, work, options);
    case Integrator::trapezoid:
      return trapezoid_step(problem, t, h, y, work, options);
    case Integrator::sdirk2:
      return sdirk2_step(problem, t, h, y, work, options);
    case Integrator::tr_bdf2:
      return tr_bdf2_step(problem, t, h, y, work, options);
    case Integrator::radau_iia2:
      return radau_iia2_step(problem, t, h, y, work, options);
    default:
      return std::nullopt;
  }
}

}  // namespace plenum::inline PLENUM_ABI
