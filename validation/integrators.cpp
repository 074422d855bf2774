// Time integrators against closed forms: decay, the undamped oscillator, and the measured order of every one.
// The templates are held to the tables' tolerances in double and to what rounding allows in float.
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <utility>

#include "plenum/base/error.h"
#include "plenum/integrate/dense_problem.h"
#include "plenum/integrate/motion.h"
#include "rounding.h"
#include "validation.h"

namespace plenum::validation { namespace {

/// Methods that a row of the reference tables speaks of.
std::vector<Integrator> methods_of(const std::string& row) {
  using enum Integrator;
  const std::pair<const char*, std::vector<Integrator>> names[] = {
      {"explicit_euler", {explicit_euler}},
      {"rk2_midpoint", {explicit_midpoint, heun}},
      {"rk3_ssp_or_kutta", {rk3_ssp, rk3_kutta}},
      {"rk4", {rk4}},
      {"implicit_euler", {backward_euler, linearly_implicit_euler}},
      {"implicit_midpoint_or_trapezoid", {implicit_midpoint, trapezoid, newmark}},
      {"sdirk2_Lstable", {sdirk2}},
      {"tr_bdf2", {tr_bdf2}},
      {"radau_IIA_2stage", {radau_iia2}},
      {"symplectic_euler_v_then_x", {symplectic_euler}},
      {"symplectic_euler_x_then_v", {symplectic_euler_xv}},
      {"velocity_verlet", {velocity_verlet, stoermer_verlet, leapfrog}},
  };
  for (const auto& [name, methods] : names)
    if (row.starts_with(name)) return methods;
  throw Error("no integrator for the reference row " + row);
}

/// y(1) of y' = -y, y(0) = 1, in N steps. Newmark's method and BDF2 follow x'' = x with v = -x, the same
/// decay.
template <class T>
double decay(Integrator method, int steps) {
  const double h = 1.0 / steps;
  if (method == Integrator::newmark || method == Integrator::bdf2) {
    auto problem = linear_problem<T>(-1);
    const T x = 1, v = -1;
    Motion<T, decltype(problem)> motion(method, problem, 0, h, {&x, 1}, {&v, 1});
    for (int i = 0; i < steps; ++i) motion.step();
    return double(motion.x()[0]);
  }
  const auto f = [](double, std::span<const T> in, std::span<T> out) { out[0] = -in[0]; };
  auto problem = dense_problem<T>(1, f, [](double, std::span<const T>, auto& j) { j(0, 0) = T(-1); });
  IntegratorWorkspace<T> work;
  std::vector<T> y = {1};
  for (int i = 0; i < steps; ++i)
    if (!implicit_step<T>(method, problem, i * h, h, y, work)) explicit_step<T>(method, f, i * h, h, y, work);
  return double(y[0]);
}

/// BDF2's y(1): the recurrence (3 + 2 h) y2 = 4 y1 - y0 from y0 = 1 and the trapezoid's y1, by its roots.
double decay_of_bdf2(int steps) {
  const double h = 1.0 / steps, root = std::sqrt(1 - 2 * h), first = (1 - h / 2) / (1 + h / 2);
  const double r = (2 + root) / (3 + 2 * h), s = (2 - root) / (3 + 2 * h);
  const double a = (first - s) / (r - s);
  return a * std::pow(r, steps) + (1 - a) * std::pow(s, steps);
}

void decay_rows(Rows& rows, Integrator method, const std::function<double(int)>& expected,
                const char* source) {
  const std::string name(info(method).name);
  for (const int n : {10, 20, 40, 80})
    rows.near(name + ", y(1) in " + std::to_string(n) + " steps", decay<double>(method, n), expected(n),
              1e-13 * expected(n), "1", source);
  // Later steps damp what earlier ones rounded as much as y. Newmark's and BDF2's motion along x = -v is
  // unstable instead: an error grows by e while y shrinks by it, and so ends larger by e^2 beside it.
  const bool along_motion = method == Integrator::newmark || method == Integrator::bdf2;
  const double tolerance = rounding_of(80) * (along_motion ? std::exp(2.0) : 1) * expected(80);
  rows.near(name + ", y(1) in 80 steps, float", decay<float>(method, 80), expected(80), tolerance, "1",
            source);
}

void run_decay(Rows& rows) {
  const Reference table("integrators_decay");
  const char* const source = "integrators_decay.csv";
  for (std::size_t r = 0; r < table.size(); ++r)
    for (const Integrator method : methods_of(table.text(r, "method"))) {
      decay_rows(
          rows, method, [&](int n) { return table.number(r, "yN" + std::to_string(n)); }, source);
      const double exact = std::exp(-1.0);
      const double rate =
          std::log2((decay<double>(method, 40) - exact) / (decay<double>(method, 80) - exact));
      rows.near(std::string(info(method).name) + ", order of convergence", rate, table.number(r, "order"),
                0.1, "1", "integrators_decay.csv, 40 to 80 steps");
    }
  decay_rows(rows, Integrator::bdf2, decay_of_bdf2, "closed form: roots of BDF2's recurrence");
}

struct Phase {
  double x = 1, v = 0;
};

/// A problem's motion from (1, 0), `steps` steps of h.
template <class T, class Problem>
Phase follow(Integrator method, Problem problem, double h, int steps) {
  const T x = 1, v = 0;
  Motion<T, Problem> motion(method, problem, 0, h, {&x, 1}, {&v, 1});
  for (int i = 0; i < steps; ++i) motion.step();
  return {double(motion.x()[0]), double(motion.v()[0])};
}

template <class T>
Phase oscillate(Integrator method, double h, int steps) {
  return follow<T>(method, linear_problem<T>(1), h, steps);
}

/// One period of n steps in double and float, against the expected end.
void oscillator_rows(Rows& rows, Integrator method, int n, Phase expected, const std::string& source) {
  const double h = 2 * std::numbers::pi / n;
  const std::string what = std::string(info(method).name) + ", " + std::to_string(n) + " steps a period, ";
  const Phase end = oscillate<double>(method, h, n);
  rows.near(what + "x", end.x, expected.x, 1e-12, "m", source);
  rows.near(what + "v", end.v, expected.v, 1e-12, "m/s", source);
  // In float rounding errors go round with the motion, and grow with its amplitude. Stoermer's form rounds
  // its positions, once a step, and the motion takes their difference over h for a velocity.
  const double amplitude = std::max(1.0, std::hypot(expected.x, expected.v));
  const double over_h = method == Integrator::stoermer_verlet ? 1 / (4 * h) : 1;
  const Phase rounded = oscillate<float>(method, h, n);
  rows.at_most(what + "error of (x, v), float", std::hypot(rounded.x - expected.x, rounded.v - expected.v),
               rounding_of(n) * amplitude * over_h, "1", source);
}

/// The energy's error after one period, and the largest and smallest of its steps.
void energy_rows(Rows& rows, Integrator method, int n, std::pair<const Reference*, std::size_t> row,
                 const char* source) {
  const double one = 1, zero = 0;
  auto problem = linear_problem<double>(1);
  Motion<double, decltype(problem)> motion(method, problem, 0, 2 * std::numbers::pi / n, {&one, 1},
                                           {&zero, 1});
  double largest = -std::numeric_limits<double>::infinity(), smallest = -largest, last = 0;
  for (int k = 0; k < n; ++k) {
    motion.step();
    const double x = motion.x()[0], v = motion.v()[0];
    last = x * x + v * v - 1;
    largest = std::max(largest, last), smallest = std::min(smallest, last);
  }
  const auto add = [&](const char* what, const char* column, double measured) {
    const double expected = row.first->number(row.second, column);
    // Ten digits in the table, and an energy is as exact as twice the state, which is so to 1e-12.
    rows.near(std::string(info(method).name) + ", " + std::to_string(n) + " steps a period, " + what,
              measured, expected, 1e-9 * std::abs(expected) + 4e-12, "1", source);
  };
  add("energy error after it", "E_rel_err_1_period", last);
  add("largest energy error in it", "E_rel_err_max", largest);
  add("smallest energy error in it", "E_rel_err_min", smallest);
}

void run_oscillator(Rows& rows) {
  const Reference table("harmonic_oscillator_golden");
  const char* const source = "harmonic_oscillator_golden.csv";
  for (std::size_t r = 0; r < table.size(); ++r)
    for (const Integrator method : methods_of(table.text(r, "method"))) {
      const int n = static_cast<int>(table.number(r, "steps_per_period"));
      oscillator_rows(rows, method, n,
                      {table.number(r, "x_after_1_period"), table.number(r, "v_after_1_period")}, source);
      energy_rows(rows, method, n, {&table, r}, source);
      // The table gives ten digits, and a hundred periods round a hundred times as often as one.
      const Phase late = oscillate<double>(method, 2 * std::numbers::pi / n, 100 * n);
      const double expected = table.number(r, "E_rel_err_100_periods");
      // Stoermer's velocities again.
      const double rounding = method == Integrator::stoermer_verlet ? 1e-10 * n : 1e-10;
      rows.near(std::string(info(method).name) + ", " + std::to_string(n) +
                    " steps a period, energy error after 100 periods",
                late.x * late.x + late.v * late.v - 1, expected, 1e-9 * std::abs(expected) + rounding, "1",
                source);
    }
  // Drift, kick, drift is velocity Verlet with x and v exchanged: v = -sin(n theta) / sqrt(1 - h^2/4).
  for (const int n : {50, 100, 200}) {
    const double h = 2 * std::numbers::pi / n, angle = 2 * n * std::asin(h / 2);
    oscillator_rows(rows, Integrator::position_verlet, n,
                    {std::cos(angle), -std::sin(angle) / std::sqrt(1 - h * h / 4)},
                    "closed form: theta = 2 asin(h/2) a step");
  }
}

/// What theory says of each method: its order, and its order where the force depends on the velocity. The
/// positional forms of Verlet and leapfrog take a drag at a velocity that is half a step or a whole one old,
/// an error of first order.
struct TheoreticalOrder {
  Integrator method;
  int order, with_drag;
  const char* source;
};
constexpr const char* volume_1 = "Hairer, Norsett & Wanner 1993, II.1 and III.5";
constexpr const char* volume_2 = "Hairer & Wanner 1996, IV.3, IV.5 and IV.6";
constexpr const char* geometric = "Hairer, Lubich & Wanner 2006, I.1 and II.1";
constexpr TheoreticalOrder theoretical_orders[] = {
    {Integrator::explicit_euler, 1, 1, volume_1},
    {Integrator::symplectic_euler, 1, 1, geometric},
    {Integrator::symplectic_euler_xv, 1, 1, geometric},
    {Integrator::explicit_midpoint, 2, 2, volume_1},
    {Integrator::heun, 2, 2, volume_1},
    {Integrator::rk3_ssp, 3, 3, "Shu & Osher 1988, eq. 2.18"},
    {Integrator::rk3_kutta, 3, 3, volume_1},
    {Integrator::rk4, 4, 4, volume_1},
    {Integrator::stoermer_verlet, 2, 1, geometric},
    {Integrator::position_verlet, 2, 1, geometric},
    {Integrator::velocity_verlet, 2, 2, geometric},
    {Integrator::leapfrog, 2, 1, geometric},
    {Integrator::backward_euler, 1, 1, volume_2},
    {Integrator::linearly_implicit_euler, 1, 1, volume_2},
    {Integrator::implicit_midpoint, 2, 2, geometric},
    {Integrator::trapezoid, 2, 2, geometric},
    {Integrator::newmark, 2, 2, "Hughes 1987, section 9.1"},
    {Integrator::bdf2, 2, 2, volume_1},
    {Integrator::sdirk2, 2, 2, "Alexander 1977, theorem 5"},
    {Integrator::tr_bdf2, 2, 2, "Hosea & Shampine 1996"},
    {Integrator::radau_iia2, 3, 3, volume_2},
};
static_assert(std::size(theoretical_orders) == integrator_table.size());

/// log2 of the ratio of the errors at t = 1 with N and 2 N steps.
template <class Problem>
double measured_order(Integrator method, const Problem& problem, int steps) {
  const auto error = [&](int n) {
    const Phase end = follow<double>(method, problem, 1.0 / n, n);
    return std::hypot(end.x - std::cos(1.0), end.v + std::sin(1.0));
  };
  return std::log2(error(steps) / error(2 * steps));
}

/// Both motions are x = cos t. The second is a pendulum with drag, driven so that it is, which puts every
/// order condition to the test: nonlinear, and with a force that depends on position, velocity and time (the
/// method of manufactured solutions, Roache 2002, "Code verification by the method of manufactured
/// solutions").
void run_orders(Rows& rows) {
  const auto oscillator = linear_problem<double>(1);
  constexpr double drag = 0.3;
  const auto driven = scalar_problem<double>(
      [](double t, double x, double v) {
        return -std::sin(x) - drag * v - std::cos(t) + std::sin(std::cos(t)) - drag * std::sin(t);
      },
      [](double, double x, double) { return -std::cos(x); }, [](double, double, double) { return -drag; });
  for (const TheoreticalOrder& known : theoretical_orders) {
    const std::string name(info(known.method).name);
    rows.near(name + ", x'' = -x", measured_order(known.method, oscillator, 40), known.order, 0.1, "1",
              std::string(known.source) + "; 40 to 80 steps");
    rows.near(name + ", driven pendulum with drag", measured_order(known.method, driven, 160),
              known.with_drag, 0.1, "1", std::string(known.source) + "; 160 to 320 steps");
  }
}

const Register decay_case("integrators_decay/integrate", Effort::quick, run_decay);
const Register oscillator_case("harmonic_oscillator_golden/integrate", Effort::quick, run_oscillator);
const Register orders_case("integrate/orders", Effort::quick, run_orders);

}}  // namespace plenum::validation
