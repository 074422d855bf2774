// The integrators, of float and double, against the tables of validation/reference.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "integrate/problems.h"
#include "integrate/reference.h"
#include "plenum/integrate/dense_problem.h"

namespace plenum { namespace {

template <class T>
class IntegratorTables : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(IntegratorTables, Scalars);

/// What rounding adds to a float motion of size 1 in `steps` steps: a random walk of at most 16 roundings a
/// step, of half an eps each, to four standard deviations (Henrici 1962, section 1.5).
double rounding_of(int steps) {
  return 4 * std::sqrt(16.0 * steps) * epsilon<float> / 2;
}

/// The methods that a row of a reference table speaks of.
std::vector<Integrator> methods_of(const std::string& row) {
  using enum Integrator;
  if (row == "explicit_euler") return {explicit_euler};
  if (row == "rk2_midpoint_or_heun") return {explicit_midpoint, heun};
  if (row == "rk2_midpoint") return {explicit_midpoint, heun};  // the same on linear systems
  if (row == "rk3_ssp_or_kutta") return {rk3_ssp, rk3_kutta};
  if (row == "rk4_classic" || row == "rk4") return {rk4};
  if (row == "implicit_euler") return {backward_euler, linearly_implicit_euler};
  if (row == "implicit_midpoint_or_trapezoid_or_newmark_beta_1_4")
    return {implicit_midpoint, trapezoid, newmark};
  if (row == "implicit_midpoint_or_trapezoid") return {implicit_midpoint, trapezoid, newmark};
  if (row == "sdirk2_Lstable_gamma_1_minus_1_over_sqrt2" || row == "sdirk2_Lstable") return {sdirk2};
  if (row == "tr_bdf2_gamma_2_minus_sqrt2") return {tr_bdf2};
  if (row == "radau_IIA_2stage") return {radau_iia2};
  if (row == "symplectic_euler_v_then_x") return {symplectic_euler};
  if (row == "symplectic_euler_x_then_v") return {symplectic_euler_xv};
  if (row == "velocity_verlet") return {velocity_verlet, stoermer_verlet, leapfrog};
  ADD_FAILURE() << "unknown row " << row;
  return {};
}

/// y(1) of y' = -y, y(0) = 1, in N steps.
template <class T>
double decay(Integrator method, int steps) {
  const double h = 1.0 / steps;
  if (method == Integrator::newmark) {  // x'' = x with v = -x is the same motion
    std::vector<T> x = {1}, v = {-1};
    advance<T>(method, linear_problem<T>(-1), h, steps, x, v);
    return double(x[0]);
  }
  const auto f = [](double, std::span<const T> y, std::span<T> out) { out[0] = -y[0]; };
  auto problem = dense_problem<T>(1, f, [](double, std::span<const T>, auto& j) { j(0, 0) = T(-1); });
  IntegratorWorkspace<T> work;
  std::vector<T> y = {1};
  for (int i = 0; i < steps; ++i) {
    if (info(method).implicit) {
      const auto report = implicit_step<T>(method, problem, i * h, h, y, work);
      EXPECT_TRUE(report && report->converged) << info(method).name;
    } else {
      EXPECT_TRUE(explicit_step<T>(method, f, i * h, h, y, work)) << info(method).name;
    }
  }
  return double(y[0]);
}

TYPED_TEST(IntegratorTables, ReproduceTheDecayTable) {
  using T = TypeParam;
  for (const Row& row : read_reference("integrators_decay.csv"))
    for (const Integrator method : methods_of(row.at("method")))
      for (const int n : {10, 20, 40, 80}) {
        const double expected = number(row, "yN" + std::to_string(n));
        // The table's tolerance in double. Newmark's motion along x = -v is unstable: an error grows by e
        // while y shrinks by it.
        const double unstable = method == Integrator::newmark ? std::exp(2.0) : 1;
        const double tolerance = std::is_same_v<T, double> ? 1e-13 : rounding_of(n) * unstable;
        EXPECT_NEAR(decay<T>(method, n), expected, tolerance * expected) << info(method).name << " N=" << n;
      }
}

TEST(Integrators, TableAgreesWithTheDecayTable) {
  const auto limit = [](const Row& row, const char* column) {
    return row.at(column) == "inf" ? std::numeric_limits<double>::infinity() : number(row, column);
  };
  for (const Row& row : read_reference("integrators_decay.csv"))
    for (const Integrator method : methods_of(row.at("method"))) {
      const IntegratorInfo& known = info(method);
      EXPECT_EQ(known.id, method);
      EXPECT_EQ(known.order, int(number(row, "order"))) << known.name;
      const auto expect_limit = [&](double value, double expected) {
        if (std::isinf(expected))
          EXPECT_EQ(value, expected) << known.name;
        else
          EXPECT_NEAR(value, expected, 1e-10 * expected) << known.name;
      };
      expect_limit(known.real_limit, limit(row, "real_limit"));
      expect_limit(known.imag_limit, limit(row, "imag_limit"));
      expect_limit(known.damping_at_infinity, limit(row, "Rinf"));
    }
  for (std::size_t i = 0; i < integrator_table.size(); ++i) {
    EXPECT_EQ(integrator_table[i].id, static_cast<Integrator>(i));
    EXPECT_EQ(integrator_named(integrator_table[i].name), static_cast<Integrator>(i));
  }
  EXPECT_EQ(integrator_named("euler"), std::nullopt);
}

TYPED_TEST(IntegratorTables, ReproduceTheOscillatorTable) {
  using T = TypeParam;
  for (const Row& row : read_reference("harmonic_oscillator_golden.csv"))
    for (const Integrator method : methods_of(row.at("method"))) {
      const int n = int(number(row, "steps_per_period"));
      std::vector<T> x = {1}, v = {0};
      double most = -1e9, least = 1e9, last = 0;
      advance<T>(method, oscillator<T>(), 2 * std::numbers::pi / n, n, x, v, [&](int) {
        last = double(x[0]) * double(x[0]) + double(v[0]) * double(v[0]) - 1;
        most = std::max(most, last);
        least = std::min(least, last);
      });
      // Stoermer's velocities are differences over h of positions that round once a step.
      const double h = 2 * std::numbers::pi / n, amplitude = std::max(1.0, double(std::hypot(x[0], v[0])));
      const double lost = method == Integrator::stoermer_verlet ? 1 / (4 * h) : 1;
      const double tolerance = std::is_same_v<T, double> ? 1e-12 : rounding_of(n) * lost * amplitude;
      EXPECT_NEAR(x[0], number(row, "x_after_1_period"), tolerance) << info(method).name << n;
      EXPECT_NEAR(v[0], number(row, "v_after_1_period"), tolerance) << info(method).name << n;
      EXPECT_NEAR(last, number(row, "E_rel_err_1_period"), 4 * tolerance + 1e-9 * std::abs(last));
      EXPECT_NEAR(most, number(row, "E_rel_err_max"), 4 * tolerance + 1e-9 * std::abs(most))
          << info(method).name;
      EXPECT_NEAR(least, number(row, "E_rel_err_min"), 4 * tolerance + 1e-9) << info(method).name;
    }
}

TEST(Integrators, EnergyOfTheOscillatorAfterAHundredPeriods) {
  for (const Row& row : read_reference("harmonic_oscillator_golden.csv"))
    for (const Integrator method : methods_of(row.at("method"))) {
      const int n = int(number(row, "steps_per_period"));
      std::vector<double> x = {1}, v = {0};
      advance<double>(method, oscillator<double>(), 2 * std::numbers::pi / n, 100 * n, x, v);
      const double expected = number(row, "E_rel_err_100_periods");
      const double error = x[0] * x[0] + v[0] * v[0] - 1;
      EXPECT_NEAR(error, expected, 1e-8 * std::abs(expected) + 2e-11) << info(method).name << n;
    }
}

/// Period over 2 pi of the pendulum x'' = -sin x released at rest, by the time of its first passage through
/// zero.
template <class T>
double pendulum_period(Integrator method, double amplitude, double h) {
  std::vector<T> x = {static_cast<T>(amplitude)}, v = {0};
  double x0 = amplitude, v0 = 0, zero = -1;
  const int steps = int(8 * std::numbers::pi / h);
  advance<T>(method, pendulum<T>(), h, steps, x, v, [&](int i) {
    if (zero < 0 && x[0] <= 0) {
      // Root of the cubic through values and slopes at both ends, by bisection.
      const double x1 = x[0], v1 = v[0];
      double low = 0, high = 1;
      for (int k = 0; k < 60; ++k) {
        const double s = (low + high) / 2, r = 1 - s;
        const double value =
            r * r * (1 + 2 * s) * x0 + s * r * r * h * v0 + s * s * (3 - 2 * s) * x1 - s * s * r * h * v1;
        (value > 0 ? low : high) = s;
      }
      zero = (i - 1 + low) * h;
    }
    x0 = x[0], v0 = v[0];
  });
  EXPECT_GT(zero, 0);
  return 4 * zero / (2 * std::numbers::pi);
}

TEST(Integrators, PendulumPeriod) {
  for (const Row& row : read_reference("pendulum_period.csv")) {
    const double degrees = number(row, "theta0_deg"), expected = number(row, "T_over_T0");
    const double amplitude = degrees * std::numbers::pi / 180;
    const double h = 2 * std::numbers::pi * expected / 2000;
    const double tolerance = degrees <= 150 ? 1e-6 : 1e-5;
    for (const Integrator method : {Integrator::velocity_verlet, Integrator::rk4, Integrator::radau_iia2})
      EXPECT_NEAR(pendulum_period<double>(method, amplitude, h) / expected, 1, tolerance)
          << info(method).name << " at " << degrees;
    // One metre at 60 Hz: h sqrt(g / L) in units of 1/omega0.
    if (degrees <= 90)
      for (const IntegratorInfo& method : integrator_table)
        if (method.order >= 2) {
          const double coarse = std::sqrt(9.81) / 60;
          EXPECT_NEAR(pendulum_period<float>(method.id, amplitude, coarse) / expected, 1, 0.01)
              << method.name;
        }
  }
}

template <class T>
struct DoublePendulum {
  // Absolute angles, m = L = 1, g = 9.81; y = (theta1, theta2, omega1, omega2). Lagrange's equations:
  // 2 a1 + cos(d) a2 = -sin(d) w2^2 - 2 g sin(theta1), cos(d) a1 + a2 = sin(d) w1^2 - g sin(theta2), d =
  // theta1 - theta2.
  void operator()(double, std::span<const T> y, std::span<T> f) const {
    const T g = T(9.81), d = y[0] - y[1], c = std::cos(d), s = std::sin(d);
    const T r1 = -s * y[3] * y[3] - 2 * g * std::sin(y[0]), r2 = s * y[2] * y[2] - g * std::sin(y[1]);
    const T determinant = 2 - c * c;
    f[0] = y[2], f[1] = y[3];
    f[2] = (r1 - c * r2) / determinant, f[3] = (2 * r2 - c * r1) / determinant;
  }
};

std::vector<double> double_pendulum_start(const std::string& name) {
  const double degree = std::numbers::pi / 180;
  if (name == "10deg_10deg") return {10 * degree, 10 * degree, 0, 0};
  if (name == "90deg_90deg") return {90 * degree, 90 * degree, 0, 0};
  return {90 * degree, 0, 0, 0};
}

/// Largest error against the golden double pendulum, in angle and rate, up to t = `until`.
template <class T, class Step>
double double_pendulum_error(const std::string& name, double h, double until, const Step& step) {
  double worst = 0;
  std::vector<T> y;
  for (const double start : double_pendulum_start(name)) y.push_back(static_cast<T>(start));
  int steps = 0;
  for (const Row& row : read_reference("double_pendulum_golden.csv")) {
    if (row.at("case") != name || number(row, "t") > until) continue;
    const int target = int(std::lround(number(row, "t") / h));
    for (; steps < target; ++steps) step(steps * h, h, std::span<T>(y));
    const char* columns[] = {"theta1", "theta2", "omega1", "omega2"};
    for (int k = 0; k < 4; ++k) worst = std::max(worst, std::abs(double(y[k]) - number(row, columns[k])));
  }
  EXPECT_GT(steps, 0);
  return worst;
}

TEST(Integrators, DoublePendulumByRk4) {
  IntegratorWorkspace<double> work;
  const auto step = [&](double t, double h, std::span<double> y) {
    runge_kutta_step(rk4, DoublePendulum<double>{}, t, h, y, work);
  };
  for (const char* name : {"10deg_10deg", "90deg_90deg", "90deg_0deg"})
    EXPECT_LT(double_pendulum_error<double>(name, 1e-4, 3, step), 1e-6) << name;
  EXPECT_LT(double_pendulum_error<double>("10deg_10deg", 1e-3, 5, step), 1e-6);
  // The orbits diverge exponentially; float is held to the early part of the regular case.
  IntegratorWorkspace<float> float_work;
  const auto float_step = [&](double t, double h, std::span<float> y) {
    runge_kutta_step(rk4, DoublePendulum<float>{}, t, h, y, float_work);
  };
  EXPECT_LT(double_pendulum_error<float>("10deg_10deg", 0.01, 1, float_step), 1e-4);
}

TEST(Integrators, DoublePendulumByImplicitMethodsConvergesAtTheirOrder) {
  auto problem = dense_problem<double>(4, DoublePendulum<double>{});
  IntegratorWorkspace<double> work;
  for (const IntegratorInfo& method : integrator_table) {
    if (!method.implicit || method.second_order_only || !method.self_starting) continue;
    const auto step = [&](double t, double h, std::span<double> y) {
      const auto report = implicit_step<double>(method.id, problem, t, h, y, work);
      EXPECT_TRUE(report && report->converged) << method.name;
    };
    const double h = method.order == 1 ? 5e-4 : 5e-3;
    const double coarse = double_pendulum_error<double>("90deg_90deg", h, 0.5, step);
    const double fine = double_pendulum_error<double>("90deg_90deg", h / 2, 0.5, step);
    EXPECT_NEAR(std::log2(coarse / fine), method.order, 0.15) << method.name << " " << coarse << " " << fine;
  }
}

}}  // namespace plenum
