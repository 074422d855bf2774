#include "study.h"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <limits>
#include <numbers>

#include "plenum/integrate/dense_problem.h"
#include "plenum/integrate/motion.h"

namespace plenum::figures {
namespace {

/// x'' = -x - 2 xi x', whose time unit is 1/w.
struct Oscillator {
  double xi = 0;
  double a(double x, double v) const { return -x - 2 * xi * v; }
  double by_x(double) const { return -1; }
  double by_v() const { return -2 * xi; }
};
/// x'' = -sin x.
struct Pendulum {
  double a(double x, double) const { return -std::sin(x); }
  double by_x(double x) const { return -std::cos(x); }
  double by_v() const { return 0; }
};

/// One degree of freedom as the library asks for it (SecondOrderProblem), counting evaluations.
template <class System>
struct Problem {
  System system;
  long evaluations = 0;
  void a(double, std::span<const double> x, std::span<const double> v, std::span<double> out) {
    ++evaluations;
    out[0] = system.a(x[0], v[0]);
  }
  bool solve(double, std::span<const double> x, std::span<const double>, double cx, double cv,
             std::span<const double> r, std::span<double> out) const {
    out[0] = r[0] / (1 - cx * system.by_x(x[0]) - cv * system.by_v());
    return std::isfinite(out[0]);
  }
  void drag_product(double, std::span<const double>, std::span<const double>, std::span<const double> u,
                    std::span<double> out) const {
    out[0] = system.by_v() * u[0];
  }
};

/// What a method carries from step to step: x, v, and for Newmark the acceleration, for BDF2 the x and v of
/// one step before.
constexpr std::size_t carried(Integrator method) {
  return method == Integrator::newmark ? 3 : method == Integrator::bdf2 ? 4 : 2;
}

/// One step of h; y [carried(method)].
template <class System>
NewtonReport advance(Integrator method, Problem<System>& problem, double h, std::span<double> y,
                     IntegratorWorkspace<double>& work) {
  if (method == Integrator::newmark)
    return newmark_step<double>(problem, 0, h, y.first(1), y.subspan(1, 1), y.subspan(2, 1), work);
  FirstOrderForm<double, Problem<System>> form(problem);
  if (method == Integrator::bdf2) return bdf2_step<double>(form, 0, h, h, y.first(2), y.subspan(2, 2), work);
  if (const auto report = implicit_step<double>(method, form, 0, h, y, work)) return *report;
  const auto a = [&](double t, std::span<const double> x, std::span<const double> v, std::span<double> out) {
    problem.a(t, x, v, out);
  };
  NewtonReport report;
  report.converged = explicit_step<double>(method, a, 0, h, y.first(1), y.subspan(1, 1), work);
  return report;
}

}  // namespace

bool steps_first_order(Integrator method) {
  return !info(method).second_order_only;
}

double growth(Integrator method, Complex z) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // y' = z y with a step of 1, as two real equations.
  const auto f = [z](double, std::span<const double> y, std::span<double> out) {
    out[0] = z.real() * y[0] - z.imag() * y[1];
    out[1] = z.imag() * y[0] + z.real() * y[1];
  };
  auto problem = dense_problem<double>(
      2, f, [z](double, std::span<const double>, auto& j) { j << z.real(), -z.imag(), z.imag(), z.real(); });
  IntegratorWorkspace<double> work;
  std::array<double, 2> y = {1, 0};
  if (explicit_step<double>(method, f, 0, 1, y, work)) return std::hypot(y[0], y[1]);
  const auto size = [](Complex r) { return std::isfinite(std::abs(r)) ? std::abs(r) : infinity; };
  if (method == Integrator::bdf2) {
    // y1 = p y + q y_before; the roots of r^2 = p r + q.
    std::array<double, 2> before = {0, 0}, other = {0, 0}, one = {1, 0};
    const bool solved = bdf2_step<double>(problem, 0, 1, 1, y, before, work).converged &&
                        bdf2_step<double>(problem, 0, 1, 1, other, one, work).converged;
    if (!solved) return infinity;
    const Complex p(y[0], y[1]), q(other[0], other[1]), root = std::sqrt(p * p + 4.0 * q);
    return std::max(size((p + root) / 2.0), size((p - root) / 2.0));
  }
  // Radau's stages converge by a factor of two or so an iteration where the solution grows.
  const auto report = implicit_step<double>(method, problem, 0, 1, y, work, {.max_iterations = 400});
  if (!report || !report->converged) return infinity;
  return size({y[0], y[1]});
}

double oscillator_growth(Integrator method, double z, double xi) {
  Problem<Oscillator> problem{{xi}};
  IntegratorWorkspace<double> work;
  const std::size_t n = carried(method);
  Eigen::MatrixXd step(n, n);
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<double> y(n, 0);
    y[k] = 1;
    advance(method, problem, z, y, work);
    for (std::size_t i = 0; i < n; ++i) step(Eigen::Index(i), Eigen::Index(k)) = y[i];
  }
  return Eigen::EigenSolver<Eigen::MatrixXd>(step, false).eigenvalues().cwiseAbs().maxCoeff();
}

double distance_to_edge(const std::function<bool(Complex)>& inside, Complex centre, double angle,
                        double reach, double stride) {
  const Complex direction = std::polar(1.0, angle);
  double low = 0, high = stride;
  while (high < reach && inside(centre + high * direction)) low = high, high += stride;
  if (high >= reach) return reach;
  for (int k = 0; k < 40; ++k) {
    const double middle = (low + high) / 2;
    (inside(centre + middle * direction) ? low : high) = middle;
  }
  return low;
}

double energy(const Phase& p) {
  return p.v * p.v / 2 + 1 - std::cos(p.x);
}

Swing swing(Integrator method, Phase start, double h, int steps) {
  Problem<Pendulum> problem{{}};
  Motion<double, Problem<Pendulum>> motion(method, problem, 0, h, {&start.x, 1}, {&start.v, 1});
  Swing result;
  result.orbit.push_back(start);
  for (int i = 0; i < steps; ++i) {
    const NewtonReport report = motion.step();
    result.converged &= report.converged;
    result.solves += report.iterations;
    result.orbit.push_back({motion.x()[0], motion.v()[0]});
  }
  result.evaluations = problem.evaluations;
  return result;
}

double exact_period(double amplitude) {
  double a = 1, b = std::cos(amplitude / 2);
  for (int k = 0; k < 12; ++k) {
    const double mean = (a + b) / 2;
    b = std::sqrt(a * b);
    a = mean;
  }
  return 2 * std::numbers::pi / a;
}

Phase exact_swing(double amplitude, double t) {
  const double k = std::sin(amplitude / 2);
  constexpr int levels = 12;
  std::array<double, levels + 1> a{1}, c{k};
  double b = std::cos(amplitude / 2);
  for (int n = 0; n < levels; ++n) {
    a[n + 1] = (a[n] + b) / 2;
    c[n + 1] = (a[n] - b) / 2;
    b = std::sqrt(a[n] * b);
  }
  const double u = exact_period(amplitude) / 4 - t;
  double phi = std::ldexp(a[levels] * u, levels);
  for (int n = levels; n > 0; --n) phi = (phi + std::asin(c[n] / a[n] * std::sin(phi))) / 2;
  return {2 * std::asin(k * std::sin(phi)), -2 * k * std::cos(phi)};
}

}  // namespace plenum::figures
