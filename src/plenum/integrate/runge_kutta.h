#pragma once
// Explicit Runge-Kutta methods of any Butcher tableau.
//
// A first-order system y' = f(t, y) is given by f(double t, span<const T> y, span<T> dydt); a second-order
// one, x'' = a(t, x, v), by a(double t, span<const T> x, span<const T> v, span<T> out). Arrays are flat and
// of any length; time is always a double, because float time loses a microsecond after a minute.
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <string_view>

#include "plenum/base/real.h"
#include "plenum/integrate/workspace.h"

namespace plenum::inline PLENUM_ABI {

/// k_i = f(t + c_i h, y + h sum_j<i a_ij k_j), y1 = y + h sum_i b_i k_i. Source: Hairer, Norsett & Wanner
/// 1993, "Solving ordinary differential equations I", definition II.1.1.
template <std::size_t num_stages>
struct ButcherTableau {
  static constexpr std::size_t stages = num_stages;
  std::array<std::array<double, num_stages>, num_stages> a;  ///< strictly lower triangular
  std::array<double, num_stages> b;
  std::array<double, num_stages> c;
};

inline constexpr ButcherTableau<1> explicit_euler{{{{0}}}, {1}, {0}};
/// Runge 1895: f at the middle of the step.
inline constexpr ButcherTableau<2> explicit_midpoint{{{{0, 0}, {0.5, 0}}}, {0, 1}, {0, 0.5}};
/// Heun 1900: mean of f at both ends, the explicit trapezoid.
inline constexpr ButcherTableau<2> heun{{{{0, 0}, {1, 0}}}, {0.5, 0.5}, {0, 1}};
/// Shu & Osher 1988, eq. 2.18: strong stability preserving.
inline constexpr ButcherTableau<3> rk3_ssp{
    {{{0, 0, 0}, {1, 0, 0}, {0.25, 0.25, 0}}}, {1.0 / 6, 1.0 / 6, 2.0 / 3}, {0, 1, 0.5}};
/// Kutta 1901, of third order.
inline constexpr ButcherTableau<3> rk3_kutta{
    {{{0, 0, 0}, {0.5, 0, 0}, {-1, 2, 0}}}, {1.0 / 6, 2.0 / 3, 1.0 / 6}, {0, 0.5, 1}};
/// Kutta 1901, the classic one of fourth order.
inline constexpr ButcherTableau<4> rk4{{{{0, 0, 0, 0}, {0.5, 0, 0, 0}, {0, 0.5, 0, 0}, {0, 0, 1, 0}}},
                                       {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6},
                                       {0, 0.5, 0.5, 1}};

/// One step of y' = f(t, y), in place. y [n].
template <class T, std::size_t s, class F>
void runge_kutta_step(const ButcherTableau<s>& tableau, const F& f, double t, double h, std::span<T> y,
                      IntegratorWorkspace<T>& work) {
  work.prepare(y.size(), s + 1);
  const std::span<T> stage = work[s];
  std::array<Term<T>, s + 1> terms;
  terms[0] = {T(1), y};
  for (std::size_t i = 0; i < s; ++i) {
    for (std::size_t j = 0; j < i; ++j) terms[j + 1] = {static_cast<T>(h * tableau.a[i][j]), work[j]};
    if (i > 0) combine(stage, std::span<const Term<T>>(terms.data(), i + 1));
    f(t + tableau.c[i] * h, std::span<const T>(i > 0 ? stage : y), work[i]);
  }
  for (std::size_t j = 0; j < s; ++j) terms[j + 1] = {static_cast<T>(h * tableau.b[j]), work[j]};
  combine(y, std::span<const Term<T>>(terms));
}

/// One step of x'' = a(t, x, v), in place: the method for y = (x, v) without stacking the two. x, v [n].
template <class T, std::size_t s, class A>
void runge_kutta_step(const ButcherTableau<s>& tableau, const A& a, double t, double h, std::span<T> x,
                      std::span<T> v, IntegratorWorkspace<T>& work) {
  // Stage i has velocity u_i (its own derivative of x) and acceleration k_i.
  work.prepare(x.size(), 2 * s + 1);
  const std::span<T> stage = work[2 * s];
  const auto u = [&](std::size_t i) { return i == 0 ? v : work[2 * i]; };
  const auto k = [&](std::size_t i) { return work[2 * i + 1]; };
  std::array<Term<T>, s + 1> terms;
  for (std::size_t i = 0; i < s; ++i) {
    if (i > 0) {
      terms[0] = {T(1), v};
      for (std::size_t j = 0; j < i; ++j) terms[j + 1] = {static_cast<T>(h * tableau.a[i][j]), k(j)};
      combine(u(i), std::span<const Term<T>>(terms.data(), i + 1));
      terms[0] = {T(1), x};
      for (std::size_t j = 0; j < i; ++j) terms[j + 1].x = u(j);
      combine(stage, std::span<const Term<T>>(terms.data(), i + 1));
    }
    a(t + tableau.c[i] * h, std::span<const T>(i > 0 ? stage : x), std::span<const T>(u(i)), k(i));
  }
  terms[0] = {T(1), x};
  for (std::size_t j = 0; j < s; ++j) terms[j + 1] = {static_cast<T>(h * tableau.b[j]), u(j)};
  combine(x, std::span<const Term<T>>(terms));
  terms[0] = {T(1), v};
  for (std::size_t j = 0; j < s; ++j) terms[j + 1].x = k(j);
  combine(v, std::span<const Term<T>>(terms));
}

}  // namespace plenum::inline PLENUM_ABI
