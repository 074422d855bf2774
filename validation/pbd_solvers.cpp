// Position-based dynamics: what is lost of angular momentum, and how many sweeps each solver takes.
#include <fmt/format.h>

#include <cmath>

#include "plenum/solvers/pbd/pbd.h"
#include "validation.h"

namespace plenum::validation { namespace {

using Solver = Pbd::Solver;
using D3 = Vector3<double>;

struct SolvedParts {
  Pbd::Model model;
  Pbd::State state;
  Pbd::Params params = {};
  Pbd::Workspace workspace = {};

  explicit SolvedParts(const PbdPart& part, Solver solver = Solver::gauss_seidel) {
    Pbd::build({.parts = {part}}, model, state);
    params.air_density = 0;
    params.solver = solver;
  }
  void run(int steps, Real dt = Real(1) / 60) {
    for (int k = 0; k < steps; ++k) Pbd::step(model, state, params, workspace, dt);
  }
  /// [kg m/s] and [kg m^2/s] about the origin.
  std::pair<D3, D3> momenta() const {
    std::pair<D3, D3> sums{D3::Zero(), D3::Zero()};
    for (std::size_t i = 0; i < model.mass.size(); ++i) {
      const D3 p = double(model.mass[i]) * state.particles.v[i].cast<double>();
      sums.first += p, sums.second += state.particles.x[i].cast<double>().cross(p);
    }
    return sums;
  }
};

struct Loss {
  double spin, momentum;  ///< parts of angular momentum, and of mass times the fastest particle's speed
};
/// Of a part that turns freely by w [rad/s] about its middle, after a second.
Loss spin(const PbdPart& part, Solver solver, int substeps, const Vec3& w) {
  SolvedParts body(part, solver);
  body.params.gravity.setZero();
  body.params.substeps = substeps;
  if (solver != Solver::gauss_seidel) body.params.iterations = 15;
  D3 centre = D3::Zero();
  double mass = 0, fastest = 0;
  for (std::size_t i = 0; i < body.model.mass.size(); ++i) {
    mass += double(body.model.mass[i]);
    centre += double(body.model.mass[i]) * body.state.particles.x[i].cast<double>();
  }
  const Vec3 middle = (centre / mass).cast<Real>();
  for (std::size_t i = 0; i < body.model.mass.size(); ++i) {
    Vec3& x = body.state.particles.x[i];
    x -= middle;
    body.state.particles.v[i] = w.cross(x);
    fastest = std::max(fastest, double(body.state.particles.v[i].norm()));
  }
  const auto [push, turn] = body.momenta();
  body.run(60);
  const auto [end_push, end_turn] = body.momenta();
  return {(end_turn - turn).norm() / turn.norm(), (end_push - push).norm() / (mass * fastest)};
}

void run_angular_momentum(Rows& rows) {
  const double rate = 4;
  PbdPart pair{.type = PbdPart::Type::rope};
  pair.segments = 1;
  PbdPart sheet;
  sheet.cells_x = sheet.cells_z = 10;
  sheet.stretch_compliance = sheet.shear_compliance = Real(1e-4);
  sheet.bending_stiffness = Real(1e-3);
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.cells_x = 8, bar.cells_y = bar.cells_z = 2;
  struct Turning {
    const char* name;
    PbdPart part;
    Vec3 w;
    Solver solver = Solver::gauss_seidel;
  };
  const auto about = [&](double x, double y, double z) {
    return Vec3(Real(rate * x), Real(rate * y), Real(rate * z));
  };
  for (const Turning& t :
       {Turning{"pair at a fixed distance", pair, about(0, 0, 1)}, Turning{"sheet", sheet, about(0, 1, 0)},
        Turning{"bar that tumbles", bar, about(0.6, 0.8, 0)},
        Turning{"sheet, jacobi", sheet, about(0, 1, 0), Solver::jacobi},
        Turning{"sheet, chebyshev", sheet, about(0, 1, 0), Solver::chebyshev}}) {
    double before = 0;
    for (const int substeps : {5, 10, 20, 40}) {
      const Loss loss = spin(t.part, t.solver, substeps, t.w);
      const double h = 1.0 / 60 / substeps;
      const std::string what = fmt::format("{}, {} substeps", t.name, substeps);
      rows.report(what + ": angular momentum lost in a substep", loss.spin * h, "1", "no reference");
      // What pulls towards the middle of a circle does so at the end of a substep, from where it turns back
      // what went on along the tangent: (w h)^2 of L is lost in each, L' = -h L^3 / I^2. That is of a pair;
      // of three particles and more, what is lost is given back.
      const double implicit = 1 - 1 / std::sqrt(1 + 2 * h * rate * rate);
      const bool is_pair = t.part.type == PbdPart::Type::rope;
      if (is_pair)
        rows.near(what + ": angular momentum lost in a second", loss.spin, implicit, 0.02 * implicit + 1e-4,
                  "1", "1 - (1 + 2 h w^2 t)^(-1/2), implicit Euler on a circle");
      else
        rows.at_most(what + ": angular momentum lost in a second", loss.spin, implicit / 10, "1",
                     "a tenth of implicit Euler's; rounding");
      if (is_pair && before > 0)
        rows.near(what + ": order of the loss in a second", std::log2(before / loss.spin), 1, 0.1, "1",
                  "first order");
      if (substeps == 40)
        rows.at_most(what + ": momentum gained in a second", loss.momentum, 2e-4, "1",
                     "none; rounding of ways, 6e-8 of a radius in each of 2400 substeps at worst");
      before = loss.spin;
    }
  }
}
const Register register_angular("pbd/angular-momentum", Effort::quick, run_angular_momentum);

constexpr int most_sweeps = 10000;

/// Where a step of 10 ms of a hanging part ends after so many sweeps.
std::vector<Vec3> after_sweeps(const PbdPart& part, Solver solver, int iterations) {
  SolvedParts body(part, solver);
  body.params.substeps = 1, body.params.iterations = iterations;
  body.run(1, Real(0.01));
  return body.state.particles.x;
}
double farthest(const std::vector<Vec3>& a, const std::vector<Vec3>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, double((a[i] - b[i]).norm()));
  return most;
}

/// Sweeps until what is left of the way to the end is a hundredth of it.
int sweeps_of(const PbdPart& part, Solver solver, const std::vector<Vec3>& end, double way) {
  int k = 1;
  while (k < most_sweeps && farthest(after_sweeps(part, solver, k), end) > 0.01 * way) k += 1 + k / 25;
  return k;
}

void run_solvers(Rows& rows) {
  PbdPart chain{.type = PbdPart::Type::rope};
  chain.to = Vec3(0, -1, 0), chain.segments = 20;
  chain.stretch_compliance = Real(1e-5);
  chain.pins.resize(1);
  chain.pins[0].where = ParticlePin::Where::first;
  PbdPart cloth;
  cloth.cells_x = cloth.cells_z = 20;
  cloth.stretch_compliance = cloth.shear_compliance = Real(1e-4);
  cloth.rotation = Vec3(90, 0, 0);  // it hangs from one side
  cloth.pins.resize(1);
  cloth.pins[0].where = ParticlePin::Where::back;
  for (const auto& [name, part] :
       {std::pair<const char*, PbdPart>{"chain of 20", chain}, {"cloth of 20 x 20", cloth}}) {
    const std::vector<Vec3> end = after_sweeps(part, Solver::gauss_seidel, most_sweeps);
    const double way = farthest(after_sweeps(part, Solver::gauss_seidel, 1), end);
    const int colours = sweeps_of(part, Solver::gauss_seidel, end, way),
              plain = sweeps_of(part, Solver::jacobi, end, way),
              accelerated = sweeps_of(part, Solver::chebyshev, end, way);
    const std::string what = std::string(name) + ": sweeps to a hundredth of the error, ";
    rows.report(what + "gauss_seidel", colours, "1", "no reference");
    rows.at_most(what + "jacobi", plain, most_sweeps - 1, "1", "the end that gauss_seidel finds");
    rows.at_most(what + "chebyshev", accelerated, plain / 2.0, "1", "half of jacobi's; Wang 2015, section 5");
    for (const Solver solver : {Solver::jacobi, Solver::chebyshev})
      rows.at_most(fmt::format("{}: end of {} from that of gauss_seidel, of the way there", name,
                               solver == Solver::jacobi ? "jacobi" : "chebyshev"),
                   farthest(after_sweeps(part, solver, most_sweeps), end) / way, 0.01, "1", "none");
  }
}
const Register register_solvers("pbd/solvers", Effort::quick, run_solvers);

}}  // namespace plenum::validation
