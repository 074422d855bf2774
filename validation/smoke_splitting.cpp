// The error of integrating the terms of the equation one after the other, at a grid that stays the same.
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "plenum/solvers/smoke/smoke.h"
#include "validation.h"

namespace plenum::validation { namespace {

struct Flow {
  Smoke::Model model;
  Smoke::State state;
  Smoke::Params params;
  Smoke::Workspace workspace;
  explicit Flow(const Smoke::Spec& spec) {
    Smoke::build(spec, model, state);
    params.gravity.setZero();
    params.pressure_tolerance = Real(1e-6);
  }
  Real& u(Index i, Index j) { return state.velocity.along[0][model.shape.index(i, j, 0)]; }
  Real& v(Index i, Index j) { return state.velocity.along[1][model.shape.index(i, j, 0)]; }
  void run(double time, double dt) {
    const int steps = static_cast<int>(std::lround(time / dt));
    for (int k = 0; k < steps; ++k)
      Smoke::step(model, state, params, workspace, static_cast<Real>(time / steps));
  }
};

/// Steady vortices of Taylor and Green without viscosity, U0 = L = 1: root mean square error after half a
/// turn.
double vortex_error(int n, double cfl) {
  Smoke::Spec spec;
  spec.cells_x = spec.cells_y = n, spec.cells_z = 1, spec.spacing = static_cast<Real>(1.0 / n);
  for (Smoke::Side* s : {&spec.left, &spec.right, &spec.bottom, &spec.top}) s->kind = GridSide::periodic;
  Flow flow(spec);
  flow.params.advection = AdvectionScheme::cubic;
  flow.params.trace = Trace::rk3;
  const double k = 2 * std::numbers::pi;
  const auto u = [&](Index i, Index j) { return -std::cos(k * i / n) * std::sin(k * (j + 0.5) / n); };
  for (Index j = 0; j <= n; ++j)
    for (Index i = 0; i <= n; ++i) {
      flow.u(i, j) = static_cast<Real>(u(i, j));
      flow.v(i, j) = static_cast<Real>(std::sin(k * (i + 0.5) / n) * std::cos(k * j / n));
    }
  flow.run(0.5, cfl / n);
  double sum = 0;
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < n; ++i) sum += std::pow(static_cast<double>(flow.u(i, j)) - u(i, j), 2);
  return std::sqrt(sum) / n;
}

/// Speed at the wall of a developed channel, over nu u'' dt. Viscosity holds u* at the wall, and the pressure
/// then adds dt G with G = nu u'' in the steady state: u = u* + nu u'' dt, u* the parabola. (Of the grid,
/// whose ghosts add h^2 / 4 to y (H - y).)
double slip_over_prediction(double dt) {
  constexpr int n = 16;
  constexpr double nu = 0.1, h = 1.0 / n;
  Smoke::Spec spec;
  spec.cells_x = 32, spec.cells_y = n, spec.cells_z = 1, spec.spacing = static_cast<Real>(h);
  spec.left.kind = GridSide::inflow, spec.left.velocity = Vec3(1, 0, 0);
  spec.left.profile = Smoke::Side::Profile::parabolic;
  spec.right.kind = GridSide::outflow;
  spec.bottom.kind = spec.top.kind = GridSide::no_slip;
  Flow flow(spec);
  flow.params.viscosity = static_cast<Real>(nu);
  flow.run(8, dt);
  const auto parabola = [&](Index j) { return (j + 0.5) * h * (1 - (j + 0.5) * h) + h * h / 4; };
  const double edge = static_cast<double>(flow.u(24, 0)), middle = static_cast<double>(flow.u(24, n / 2));
  const double a = (middle - edge) / (parabola(n / 2) - parabola(0));
  return (edge - a * parabola(0)) / (nu * 2 * a * dt);
}

void splitting(Rows& rows) {
  const std::string source = "Chorin 1969: projection splits in first order";
  double before = 0;
  for (const double cfl : {1.0, 0.5, 0.25}) {
    const double error = vortex_error(128, cfl);
    const std::string label = "128^2, CFL 1 / " + std::to_string(static_cast<int>(std::lround(1 / cfl)));
    rows.report("error of steady vortices after half a turn, " + label, error, "U0", source);
    if (before > 0)
      rows.near("its order in dt, to " + label, std::log2(before / error), 1, 0.25, "1", source);
    before = error;
  }
  for (const double dt : {0.04, 0.02, 0.01})
    rows.near("slip at the wall of a channel over nu u'' dt, dt = " + std::to_string(dt).substr(0, 4),
              slip_over_prediction(dt), 1, 0.05, "1",
              "the pressure acts after viscosity: closed form of the steady state");
}
const Register register_splitting("smoke/splitting", Effort::thorough, splitting);

}}  // namespace plenum::validation
