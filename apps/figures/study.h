#pragma once
// What the figures show, measured by stepping the library's integrators: how a step amplifies linear motions,
// and how they follow a pendulum. Stoermer's form and leapfrog, which are velocity Verlet in other variables,
// are left out.
#include <complex>
#include <functional>
#include <vector>

#include "plenum/integrate/integrators.h"

namespace plenum::figures {

using Complex = std::complex<double>;

/// Whether growth() knows the method: those that step y' = f(t, y).
bool steps_first_order(Integrator method);

/// Spectral radius of a step on y' = lambda y, z = h lambda: |R(z)| for one-step methods. Infinite at poles.
double growth(Integrator method, Complex z);

/// Spectral radius of a step on x'' = -w^2 x - 2 xi w x', with h w = z > 0.
double oscillator_growth(Integrator method, double z, double xi = 0);

/// Distance from `centre` along the direction `angle` to where inside(point) first turns false, up to
/// `reach`. Scans by `stride`, then bisects.
double distance_to_edge(const std::function<bool(Complex)>& inside, Complex centre, double angle,
                        double reach, double stride);

/// Angle [rad] and rate of a pendulum x'' = -sin x: time in units of sqrt(L/g).
struct Phase {
  double x = 0, v = 0;
};

/// (kinetic + potential) / (m g L), zero at the lowest point.
double energy(const Phase& p);

struct Swing {
  std::vector<Phase> orbit;  ///< [steps + 1], the start first
  long evaluations = 0;      ///< of the force
  long solves = 0;           ///< of linear systems
  bool converged = true;     ///< every nonlinear equation
};

/// The pendulum from `start` in steps of h.
Swing swing(Integrator method, Phase start, double h, int steps);

/// The pendulum released at rest at `amplitude` in (0, pi), at time t >= 0, in closed form: sin(x/2) = k sn(K
/// - t), x' = -2 k cn(K - t), k = sin(amplitude/2). Source: Landau & Lifshitz 1976, "Mechanics", section 11;
/// sn and cn by the arithmetic-geometric mean, Abramowitz & Stegun 1964, section 16.4.
Phase exact_swing(double amplitude, double t);
/// Its period, 4 K(k).
double exact_period(double amplitude);

}  // namespace plenum::figures
