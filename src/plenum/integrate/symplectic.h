#pragma once
// Symplectic methods for x'' = a(t, x, v), with a(double t, span<const T> x, span<const T> v, span<T> out).
// Symplectic while a does not depend on v; a drag is taken at the velocity that each method has at hand.
// Source: Hairer, Lubich & Wanner 2006, "Geometric numerical integration", sections I.1.4 and VI.3.
#include <span>

#include "plenum/base/real.h"
#include "plenum/integrate/workspace.h"

namespace plenum::inline PLENUM_ABI {

/// v1 = v + h a(x, v), x1 = x + h v1.
template <class T, class A>
void symplectic_euler_vx_step(const A& a, double t, double h, std::span<T> x, std::span<T> v,
                              IntegratorWorkspace<T>& work) {
  work.prepare(x.size(), 1);
  const T dt = static_cast<T>(h);
  a(t, std::span<const T>(x), std::span<const T>(v), work[0]);
  combine<T>(v, {{T(1), v}, {dt, work[0]}});
  combine<T>(x, {{T(1), x}, {dt, v}});
}

/// x1 = x + h v, v1 = v + h a(x1, v).
template <class T, class A>
void symplectic_euler_xv_step(const A& a, double t, double h, std::span<T> x, std::span<T> v,
                              IntegratorWorkspace<T>& work) {
  work.prepare(x.size(), 1);
  const T dt = static_cast<T>(h);
  combine<T>(x, {{T(1), x}, {dt, v}});
  a(t + h, std::span<const T>(x), std::span<const T>(v), work[0]);
  combine<T>(v, {{T(1), v}, {dt, work[0]}});
}

/// Velocity Verlet, x1 = x + h v + h^2/2 a, v1 = v + h/2 (a + a1). The acceleration is part of the state: on
/// entry a(t, x, v), on return a(t + h, x1, v + h a), so that a step evaluates once. A drag in a1 is taken at
/// the predicted velocity v + h a, which keeps the method second order. Source: Swope et al. 1982, "A
/// computer simulation method for the calculation of equilibrium constants", eq. 2.
template <class T, class A>
void velocity_verlet_step(const A& a, double t, double h, std::span<T> x, std::span<T> v,
                          std::span<T> acceleration, IntegratorWorkspace<T>& work) {
  work.prepare(x.size(), 2);
  const T dt = static_cast<T>(h), half = static_cast<T>(h / 2), half_square = static_cast<T>(h * h / 2);
  const std::span<T> predicted = work[0], half_way = work[1];
  combine<T>(x, {{T(1), x}, {dt, v}, {half_square, acceleration}});
  combine<T>(predicted, {{T(1), v}, {dt, acceleration}});
  combine<T>(half_way, {{T(1), v}, {half, acceleration}});
  a(t + h, std::span<const T>(x), std::span<const T>(predicted), acceleration);
  combine<T>(v, {{T(1), half_way}, {half, acceleration}});
}

/// The same without a stored acceleration; evaluates twice.
template <class T, class A>
void velocity_verlet_step(const A& a, double t, double h, std::span<T> x, std::span<T> v,
                          IntegratorWorkspace<T>& work) {
  work.prepare(x.size(), 3);
  const std::span<T> acceleration = work[2];
  a(t, std::span<const T>(x), std::span<const T>(v), acceleration);
  velocity_verlet_step(a, t, h, x, v, acceleration, work);
}

/// Position Verlet in drift-kick-drift form, x' = x + h/2 v, v1 = v + h a(t + h/2, x', v), x1 = x' + h/2 v1.
/// Starts by itself, keeps no acceleration, evaluates once.
/// Source: Tuckerman, Berne & Martyna 1992, "Reversible multiple time scale molecular dynamics", eq. 2.22.
template <class T, class A>
void position_verlet_step(const A& a, double t, double h, std::span<T> x, std::span<T> v,
                          IntegratorWorkspace<T>& work) {
  work.prepare(x.size(), 1);
  const T dt = static_cast<T>(h), half = static_cast<T>(h / 2);
  combine<T>(x, {{T(1), x}, {half, v}});
  a(t + h / 2, std::span<const T>(x), std::span<const T>(v), work[0]);
  combine<T>(v, {{T(1), v}, {dt, work[0]}});
  combine<T>(x, {{T(1), x}, {half, v}});
}

/// Stoermer's two-step form, x1 = 2 x - x_before + h^2 a(t, x, (x - x_before)/h). Keeps positions alone: on
/// return x_before is x and x is x1. Start with stoermer_verlet_start. Source: Verlet 1967, "Computer
/// experiments on classical fluids I", eq. 4.
template <class T, class A>
void stoermer_verlet_step(const A& a, double t, double h, std::span<T> x, std::span<T> x_before,
                          IntegratorWorkspace<T>& work) {
  work.prepare(x.size(), 2);
  const T inverse = static_cast<T>(1 / h), square = static_cast<T>(h * h);
  const std::span<T> v = work[0], acceleration = work[1];
  combine<T>(v, {{inverse, x}, {-inverse, x_before}});
  a(t, std::span<const T>(x), std::span<const T>(v), acceleration);
  combine<T>(acceleration, {{T(2), x}, {T(-1), x_before}, {square, acceleration}});
  combine<T>(x_before, {{T(1), x}});
  combine<T>(x, {{T(1), acceleration}});
}

/// x_before such that stoermer_verlet_step goes on from (x, v) at time t: x - h v + h^2/2 a.
template <class T, class A>
void stoermer_verlet_start(const A& a, double t, double h, std::span<const T> x, std::span<const T> v,
                           std::span<T> x_before, IntegratorWorkspace<T>& work) {
  work.prepare(x.size(), 1);
  a(t, x, v, work[0]);
  combine<T>(x_before, {{T(1), x}, {static_cast<T>(-h), v}, {static_cast<T>(h * h / 2), work[0]}});
}

/// Leapfrog with velocities half a step behind: v_half is v(t - h/2) on entry and v(t + h/2) on return, x1 =
/// x + h v_half. Start with leapfrog_start; v at t is the mean of two successive v_half. Source: Hockney &
/// Eastwood 1988, "Computer simulation using particles", eq. 4-2.
template <class T, class A>
void leapfrog_step(const A& a, double t, double h, std::span<T> x, std::span<T> v_half,
                   IntegratorWorkspace<T>& work) {
  symplectic_euler_vx_step(a, t, h, x, v_half, work);
}

/// v(t - h/2) = v - h/2 a, in place of v.
template <class T, class A>
void leapfrog_start(const A& a, double t, double h, std::span<const T> x, std::span<T> v,
                    IntegratorWorkspace<T>& work) {
  work.prepare(x.size(), 1);
  a(t, x, std::span<const T>(v), work[0]);
  combine<T>(v, {{T(1), v}, {static_cast<T>(-h / 2), work[0]}});
}

}  // namespace plenum::inline PLENUM_ABI
