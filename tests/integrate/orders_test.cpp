// Limits of stability and orders of convergence of the integrators.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "integrate/problems.h"

namespace plenum { namespace {

/// Largest growth over some hundred steps of an oscillation or a drag, for stability limits.
double growth(Integrator method, double omega, double drag) {
  std::vector<double> x = {drag > 0 ? 0.0 : 1.0}, v = {1};
  double worst = 0;
  advance<double>(method, oscillator<double>(omega, drag), 1, 300, x, v, [&](int) {
    const double size = drag > 0 ? std::abs(v[0]) : std::hypot(x[0], v[0] / omega);
    worst = std::max(worst, size);
  });
  return worst;
}

TEST(Integrators, AreStableUpToTheirLimitsAndNotBeyond) {
  for (const IntegratorInfo& method : integrator_table) {
    if (std::isinf(method.imag_limit)) {
      EXPECT_LT(growth(method.id, 1e3, 0), 3) << method.name;
    } else {
      if (method.imag_limit > 0) {
        EXPECT_LT(growth(method.id, 0.98 * method.imag_limit, 0), 30) << method.name;
      }
      EXPECT_GT(growth(method.id, std::max(0.7, 1.02 * method.imag_limit), 0), 30) << method.name;
    }
    if (method.id == Integrator::stoermer_verlet) continue;  // its velocity is a difference of positions
    if (std::isinf(method.real_limit)) {
      EXPECT_LT(growth(method.id, 0, 1e3), 1.5) << method.name;
    } else {
      EXPECT_LT(growth(method.id, 0, 0.98 * method.real_limit), 3) << method.name;
      EXPECT_GT(growth(method.id, 0, 1.02 * method.real_limit), 30) << method.name;
    }
  }
}

/// Error at t = 1 of the damped, forced, nonlinear x'' = -sin x - 0.3 v + cos 2t against a tiny-step RK4.
double forced_error(Integrator method, int steps) {
  const auto forced = scalar_problem<double>(
      [](double t, double x, double v) { return -std::sin(x) - 0.3 * v + std::cos(2 * t); },
      [](double, double x, double) { return -std::cos(x); }, [](double, double, double) { return -0.3; });
  static const std::array<double, 2> exact = [] {
    // Independent of the code under test: RK4 written out, 20 000 steps.
    const auto f = [](double t, double x, double v) { return -std::sin(x) - 0.3 * v + std::cos(2 * t); };
    double x = 1, v = 0.5;
    const double h = 1.0 / 20000;
    for (int i = 0; i < 20000; ++i) {
      const double t = i * h;
      const double k1 = v, l1 = f(t, x, v), k2 = v + h / 2 * l1, l2 = f(t + h / 2, x + h / 2 * k1, k2);
      const double k3 = v + h / 2 * l2, l3 = f(t + h / 2, x + h / 2 * k2, k3);
      const double k4 = v + h * l3, l4 = f(t + h, x + h * k3, k4);
      x += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
      v += h / 6 * (l1 + 2 * l2 + 2 * l3 + l4);
    }
    return std::array{x, v};
  }();
  std::vector<double> x = {1}, v = {0.5};
  advance<double>(method, forced, 1.0 / steps, steps, x, v);
  return std::hypot(x[0] - exact[0], v[0] - exact[1]);
}

TEST(Integrators, ConvergeAtTheirOrder) {
  for (const IntegratorInfo& method : integrator_table) {
    // A drag is taken at an old velocity by these, which leaves first order (position Verlet: see below).
    const bool first_with_drag = method.id == Integrator::position_verlet ||
                                 method.id == Integrator::stoermer_verlet ||
                                 method.id == Integrator::leapfrog;
    const double rate = std::log2(forced_error(method.id, 80) / forced_error(method.id, 160));
    EXPECT_NEAR(rate, first_with_drag ? 1 : method.order, 0.12) << method.name;
  }
}

TEST(Integrators, ConvergeAtTheirOrderWithoutDrag) {
  for (const IntegratorInfo& method : integrator_table) {
    const auto error = [&](int steps) {
      std::vector<double> x = {1}, v = {0};
      advance<double>(method.id, oscillator<double>(), 1.0 / steps, steps, x, v);
      return std::hypot(x[0] - std::cos(1.0), v[0] + std::sin(1.0));
    };
    EXPECT_NEAR(std::log2(error(40) / error(80)), method.order, 0.1) << method.name;
  }
}

}}  // namespace plenum
