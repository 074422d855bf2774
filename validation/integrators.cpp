// Time integrators against closed forms: decay, the undamped oscillator, and measured orders of convergence.
#include <cmath>
#include <numbers>

#include "plenum/base/error.h"
#include "plenum/integrate/dense_problem.h"
#include "plenum/integrate/integrators.h"
#include "validation.h"

namespace plenum::validation { namespace {

/// Methods that a row of the reference tables speaks of; those that step a first-order system.
std::vector<Integrator> methods_of(const std::string& row) {
  using enum Integrator;
  const std::pair<const char*, std::vector<Integrator>> names[] = {
      {"explicit_euler", {explicit_euler}},
      {"rk2_midpoint", {explicit_midpoint, heun}},
      {"rk3_ssp_or_kutta", {rk3_ssp, rk3_kutta}},
      {"rk4", {rk4}},
      {"implicit_euler", {backward_euler, linearly_implicit_euler}},
      {"implicit_midpoint_or_trapezoid", {implicit_midpoint, trapezoid}},
      {"sdirk2_Lstable", {sdirk2}},
      {"tr_bdf2", {tr_bdf2}},
      {"radau_IIA_2stage", {radau_iia2}},
      {"symplectic_euler_v_then_x", {symplectic_euler}},
      {"symplectic_euler_x_then_v", {symplectic_euler_xv}},
      {"velocity_verlet", {velocity_verlet}},
  };
  for (const auto& [name, methods] : names)
    if (row.starts_with(name)) return methods;
  throw Error("no integrator for the reference row " + row);
}

template <class F>
void explicit_step_of(Integrator method, const F& f, double t, double h, std::span<double> y,
                      IntegratorWorkspace<double>& work) {
  switch (method) {
    case Integrator::explicit_euler:
      return runge_kutta_step(explicit_euler, f, t, h, y, work);
    case Integrator::explicit_midpoint:
      return runge_kutta_step(explicit_midpoint, f, t, h, y, work);
    case Integrator::heun:
      return runge_kutta_step(heun, f, t, h, y, work);
    case Integrator::rk3_ssp:
      return runge_kutta_step(rk3_ssp, f, t, h, y, work);
    case Integrator::rk3_kutta:
      return runge_kutta_step(rk3_kutta, f, t, h, y, work);
    case Integrator::rk4:
      return runge_kutta_step(rk4, f, t, h, y, work);
    default:
      throw Error("not an explicit Runge-Kutta method: " + std::string(info(method).name));
  }
}

/// y(1) of y' = -y, y(0) = 1, in N steps.
double decay(Integrator method, int steps) {
  const auto f = [](double, std::span<const double> in, std::span<double> out) { out[0] = -in[0]; };
  auto problem =
      dense_problem<double>(1, f, [](double, std::span<const double>, auto& j) { j(0, 0) = -1.0; });
  IntegratorWorkspace<double> work;
  std::vector<double> y = {1};
  const double h = 1.0 / steps;
  for (int i = 0; i < steps; ++i) {
    if (info(method).implicit)
      static_cast<void>(implicit_step<double>(method, problem, i * h, h, y, work));
    else
      explicit_step_of(method, f, i * h, h, y, work);
  }
  return y[0];
}

void run_decay(Rows& rows) {
  const Reference table("integrators_decay");
  for (std::size_t r = 0; r < table.size(); ++r)
    for (const Integrator method : methods_of(table.text(r, "method"))) {
      const std::string name(info(method).name);
      const double exact = std::exp(-1.0);
      for (const int n : {10, 20, 40, 80}) {
        const double expected = table.number(r, "yN" + std::to_string(n));
        rows.near(name + ", y(1) in " + std::to_string(n) + " steps", decay(method, n), expected,
                  1e-13 * expected, "1", "integrators_decay.csv");
      }
      const double rate = std::log2((decay(method, 40) - exact) / (decay(method, 80) - exact));
      rows.near(name + ", order of convergence", rate, table.number(r, "order"), 0.1, "1",
                "integrators_decay.csv, 40 to 80 steps");
    }
}

struct Phase {
  double x = 1, v = 0;
};

/// x'' = -x from (1, 0), `steps` steps of h.
Phase oscillate(Integrator method, double h, int steps) {
  IntegratorWorkspace<double> work;
  if (info(method).implicit) {
    auto problem = dense_problem<double>(
        2, [](double, std::span<const double> y, std::span<double> out) { out[0] = y[1], out[1] = -y[0]; },
        [](double, std::span<const double>, auto& j) { j << 0, 1, -1, 0; });
    std::vector<double> y = {1, 0};
    for (int i = 0; i < steps; ++i)
      static_cast<void>(implicit_step<double>(method, problem, i * h, h, y, work));
    return {y[0], y[1]};
  }
  const auto a = [](double, std::span<const double> x, std::span<const double>, std::span<double> out) {
    out[0] = -x[0];
  };
  std::vector<double> x = {1}, v = {0};
  for (int i = 0; i < steps; ++i) static_cast<void>(explicit_step<double>(method, a, i * h, h, x, v, work));
  return {x[0], v[0]};
}

void run_oscillator(Rows& rows) {
  const Reference table("harmonic_oscillator_golden");
  for (std::size_t r = 0; r < table.size(); ++r)
    for (const Integrator method : methods_of(table.text(r, "method"))) {
      const int n = static_cast<int>(table.number(r, "steps_per_period"));
      const double h = 2 * std::numbers::pi / n;
      const Phase end = oscillate(method, h, n);
      const std::string what =
          std::string(info(method).name) + ", " + std::to_string(n) + " steps a period, ";
      const char* const source = "harmonic_oscillator_golden.csv";
      rows.near(what + "x", end.x, table.number(r, "x_after_1_period"), 1e-12, "m", source);
      rows.near(what + "v", end.v, table.number(r, "v_after_1_period"), 1e-12, "m/s", source);
      // The table gives ten digits, and a hundred periods round a hundred times as often as one.
      const Phase late = oscillate(method, h, 100 * n);
      const double expected = table.number(r, "E_rel_err_100_periods");
      rows.near(what + "energy error after 100 periods", late.x * late.x + late.v * late.v - 1, expected,
                1e-9 * std::abs(expected) + 1e-10, "1", source);
    }
}

const Register decay_case("integrators_decay/integrate", Effort::quick, run_decay);
const Register oscillator_case("harmonic_oscillator_golden/integrate", Effort::quick, run_oscillator);

}}  // namespace plenum::validation
