// How well the integrators keep an energy.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <map>
#include <numbers>

#include "integrate/problems.h"

namespace plenum { namespace {

TEST(Integrators, RankByTheEnergyTheyKeepOnAnOscillator) {
  using enum Integrator;
  // |E - E0| / E0 at most over 1 000 periods of 100 steps. What to expect is known from the amplification per
  // step, |R(ih)|^2: 1 for the first row, 1 - h^6/72 (rk4), 1 - h^4/12 (rk3), 1 + h^4/4 (rk2), (1 + h^2)^-+1
  // (Euler); bounded at h^2/4 and h/2 for the symplectic ones.
  const std::vector<std::vector<Integrator>> ranks = {
      {implicit_midpoint, trapezoid, newmark},
      {rk4},
      {velocity_verlet, stoermer_verlet, leapfrog, position_verlet},
      {sdirk2, tr_bdf2},
      {symplectic_euler, symplectic_euler_xv},
      {rk3_kutta, rk3_ssp},
      {explicit_midpoint, heun},
      {backward_euler, linearly_implicit_euler},
      {explicit_euler}};
  std::map<Integrator, double> error;
  for (const IntegratorInfo& method : integrator_table) {
    double& worst = error[method.id];
    std::vector<double> x = {1}, v = {0};
    advance<double>(method.id, oscillator<double>(), 2 * std::numbers::pi / 100, 100000, x, v, [&](int) {
      const double change = std::abs(x[0] * x[0] + v[0] * v[0] - 1);
      worst = std::max(worst, std::isfinite(change) ? change : 1e300);
    });
  }
  for (std::size_t r = 0; r + 1 < ranks.size(); ++r)
    for (const Integrator better : ranks[r])
      for (const Integrator worse : ranks[r + 1])
        EXPECT_LT(error[better], error[worse] / 1.5) << info(better).name << " against " << info(worse).name;
  // And by how much. Verlet keeps v^2 + (1 - h^2/4) x^2, position Verlet the same with x and v exchanged, and
  // symplectic Euler x^2 + v^2 -+ h x v (see the head of harmonic_oscillator_golden.csv), so
  // that with x = 1, v = 0 at first their errors are at most h^2/4, h^2/4 / (1 - h^2/4) and h / (2 - h); a
  // thousand periods pass within 1e-3 of the worst phase. The others change x^2 + v^2 by |R(ih)|^2 a step.
  const double h = 2 * std::numbers::pi / 100, h2 = h * h, g2 = 1.5 - std::numbers::sqrt2;  // gamma^2, SDIRK2
  const auto after = [](double per_step) { return std::abs(std::expm1(100000 * std::log1p(per_step))); };
  const double sdirk_denominator = (1 + g2 * h2) * (1 + g2 * h2);
  const double sdirk = after(-g2 * g2 * h2 * h2 / sdirk_denominator);
  const std::map<Integrator, double> amplified = {
      {rk4, after(-h2 * h2 * h2 / 72 + h2 * h2 * h2 * h2 / 576)},
      {rk3_kutta, after(-h2 * h2 / 12 + h2 * h2 * h2 / 36)},
      {rk3_ssp, after(-h2 * h2 / 12 + h2 * h2 * h2 / 36)},
      {explicit_midpoint, after(h2 * h2 / 4)},
      {heun, after(h2 * h2 / 4)},
      {sdirk2, sdirk},
      {tr_bdf2, sdirk},
      {backward_euler, after(-h2 / (1 + h2))},
      {linearly_implicit_euler, after(-h2 / (1 + h2))},
      {radau_iia2, after(-h2 * h2 / 36 / (1 + h2 / 9 + h2 * h2 / 36))},
      {explicit_euler, after(h2)}};
  for (const auto& [method, expected] : amplified)
    EXPECT_NEAR(error[method], expected, 1e-6 * expected) << info(method).name;
  const std::map<Integrator, double> bounded = {{velocity_verlet, h2 / 4},
                                                {stoermer_verlet, h2 / 4},
                                                {leapfrog, h2 / 4},
                                                {position_verlet, h2 / 4 / (1 - h2 / 4)},
                                                {symplectic_euler, h / (2 - h)},
                                                {symplectic_euler_xv, h / (2 - h)}};
  for (const auto& [method, expected] : bounded) {
    EXPECT_LT(error[method], expected * (1 + 1e-6)) << info(method).name;
    EXPECT_GT(error[method], expected * (1 - 1e-3)) << info(method).name;
  }
  // BDF2 follows the larger root of (3/2 - ih) r^2 - 2 r + 1/2 = 0 once the other, near 1/3, has died; what
  // that one took with it, and the start by the trapezoid, are of the order h^2.
  const std::complex<double> z(0, h), r = (2.0 + std::sqrt(1.0 + 2.0 * z)) / (3.0 - 2.0 * z);
  EXPECT_NEAR(error[bdf2], after(std::norm(r) - 1), h2);
  for (const Integrator method : ranks[0]) EXPECT_LT(error[method], 1e-10) << info(method).name;
}

/// Largest energy error of the nonlinear pendulum during the last two of `periods`.
double pendulum_energy_error(Integrator method, int periods) {
  std::vector<double> x = {1.5}, v = {0};
  const double initial = -std::cos(x[0]);
  double worst = 0;
  const int steps = 60 * periods;
  advance<double>(method, pendulum<double>(), 2 * std::numbers::pi / 60, steps, x, v, [&](int i) {
    const double energy = v[0] * v[0] / 2 - std::cos(x[0]);
    if (i > steps - 2 * 60) worst = std::max(worst, std::abs(energy - initial));
  });
  return worst;
}

TEST(Integrators, SymplecticMethodsKeepThePendulumsEnergyAndOthersDrift) {
  for (const IntegratorInfo& method : integrator_table) {
    if (method.order == 1 && !method.symplectic) continue;  // has lost or gained everything by then
    const double early = pendulum_energy_error(method.id, 10), late = pendulum_energy_error(method.id, 100);
    // The trapezoid is conjugate to the midpoint, and Newmark's average acceleration is the trapezoid.
    const bool bounded =
        method.symplectic || method.id == Integrator::trapezoid || method.id == Integrator::newmark;
    if (bounded)
      EXPECT_LT(late, 1.1 * early) << method.name;
    else
      EXPECT_GT(late, 3 * early) << method.name;
  }
}

}}  // namespace plenum
