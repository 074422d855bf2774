// Speed of fluids on grids: the projection by itself, and whole steps of smoke.
#include "plenum/solvers/smoke/smoke.h"

#include <cmath>

#include "bench.h"

namespace plenum::bench { namespace {

/// A closed box with a solid sphere, a source below and a sink above it: n^3 cells, the sphere as cells that
/// are solid as a whole, as other solvers have it.
struct PressureProblem {
  GridShape shape;
  FaceField open;
  PressureSolver solver;
  explicit PressureProblem(Index n) : shape{{n, n, n}} {
    open.assign(shape, 1);
    for_cells([&](Index i, Index j, Index k, double x, double y, double z) {
      if (!is_solid(x, y, z)) return;
      for (std::size_t c = 0; c < 3; ++c) {
        open.along[c][shape.index(i, j, k)] = 0;
        open.along[c][shape.index(i + (c == 0), j + (c == 1), k + (c == 2))] = 0;
      }
    });
    solver = PressureSolver(grid_poisson(shape, {}, {.x = open[0], .y = open[1], .z = open[2]}));
  }
  static bool is_solid(double x, double y, double z) {
    return (x - .5) * (x - .5) + (y - .35) * (y - .35) + (z - .5) * (z - .5) < .15 * .15;
  }
  template <class F>
  void for_cells(F&& f) const {
    const double h = 1.0 / shape.cells[0];
    for (Index k = 0; k < shape.cells[2]; ++k)
      for (Index j = 0; j < shape.cells[1]; ++j)
        for (Index i = 0; i < shape.cells[0]; ++i) f(i, j, k, (i + .5) * h, (j + .5) * h, (k + .5) * h);
  }
  void reset() {
    std::fill(solver.x.begin(), solver.x.end(), 0.0);
    for_cells([&](Index i, Index j, Index k, double x, double y, double z) {
      const bool column = x > .45 && x < .55 && z > .45 && z < .55 && !is_solid(x, y, z);
      solver.b[solver.poisson().layout.index(i, j, k)] = !column              ? Real(0)
                                                         : y > .05 && y < .10 ? Real(1)
                                                         : y > .90 && y < .95 ? Real(-1)
                                                                              : Real(0);
    });
  }
};

/// From zero to a relative true residual of `tolerance`; the operator and its coarser grids are there. The
/// target is for two threads.
void pressure(Session& session, Index n, double tolerance, double target) {
  PressureProblem problem(n);
  SolveReport report;
  const int repeats = n <= 64 ? 20 : n <= 128 ? 8 : 3;
  problem.reset();
  problem.solver.solve(PressureMethod::multigrid, {.relative_tolerance = tolerance});
  const double seconds = Session::best_of(
      repeats,
      [&] { report = problem.solver.solve(PressureMethod::multigrid, {.relative_tolerance = tolerance}); },
      [&] { problem.reset(); });
  session.figure("ms_per_step", 1e3 * seconds, "ms", session.threads() == 2 ? target : none);
  session.figure("iterations", report.iterations, "1", tolerance >= 1e-4 ? 9 : none);
  session.figure("true_residual", report.residual, "1", tolerance);
  // Of all iterations, to what the triad of this run would take for the bytes they must move.
  const double bytes = problem.solver.bytes_per_iteration() * report.iterations;
  session.figure("limit_fraction", bytes / seconds / 1e9 / session.triad(), "1");
}
const Register p64_4("pressure/64-1e-4", [](Session& s) { pressure(s, 64, 1e-4, 4); });
const Register p128_4("pressure/128-1e-4", [](Session& s) { pressure(s, 128, 1e-4, 30); });
const Register p256_4("pressure/256-1e-4", [](Session& s) { pressure(s, 256, 1e-4, 450); });
const Register p64_8("pressure/64-1e-8", [](Session& s) { pressure(s, 64, 1e-8, none); });
const Register p128_8("pressure/128-1e-8", [](Session& s) { pressure(s, 128, 1e-8, none); });
const Register p256_8("pressure/256-1e-8", [](Session& s) { pressure(s, 256, 1e-8, none); });

/// The same box without its sphere, solved directly by cosines; target: what another library's cosine
/// transform takes on two threads. Reaches what its precision leaves in one pass, 1e-8 in a few (float).
void cosine(Session& session, Index n, double target) {
  PressureProblem problem(n);
  PressureSolver& solver = problem.solver;
  solver = PressureSolver(grid_poisson(problem.shape, {}));
  const auto measure = [&](const char* name, double tolerance, double asked) {
    SolveReport report;
    problem.reset();
    solver.solve(PressureMethod::cosine, {.relative_tolerance = tolerance});
    const double seconds = Session::best_of(
        n <= 64 ? 20 : 5,
        [&] { report = solver.solve(PressureMethod::cosine, {.relative_tolerance = tolerance}); },
        [&] { problem.reset(); });
    session.figure(name, 1e3 * seconds, "ms", session.threads() == 2 ? asked : none);
    return report;
  };
  const SolveReport once = measure("ms_per_step", 1e-4, target);
  session.figure("iterations", once.iterations, "1");
  session.figure("true_residual", once.residual, "1", 1e-4);
  const SolveReport deep = measure("ms_to_1e-8", 1e-8, none);
  session.figure("iterations_to_1e-8", deep.iterations, "1");
  session.figure("residual_of_1e-8", deep.residual, "1", 1e-8);
}
const Register c64("pressure/64-cosine", [](Session& s) { cosine(s, 64, 3.3); });
const Register c128("pressure/128-cosine", [](Session& s) { cosine(s, 128, 22); });
const Register c256("pressure/256-cosine", [](Session& s) { cosine(s, 256, 211); });

/// A warm plume from below in a closed box, around the same sphere; MacCormack, vorticity confinement,
/// pressure to 1e-3, steps of a thirtieth of a second from a plume that has formed.
void plume(Session& session, int n, bool flat, double target) {
  Smoke::Spec spec;
  spec.cells_x = spec.cells_y = n;
  spec.cells_z = flat ? 1 : n;
  spec.spacing = static_cast<Real>(1.0 / n);
  const Real z = flat ? spec.spacing / 2 : Real(0.5);
  SmokeShape ball;
  ball.radius = Real(0.15);
  ball.position = Vec3(Real(0.5), Real(0.35), z);
  spec.solids = {ball};
  Smoke::Model model;
  Smoke::State state;
  Smoke::Params params;
  Smoke::Workspace workspace;
  Smoke::build(spec, model, state);
  params.vorticity_confinement = Real(0.2);
  params.pressure_tolerance = Real(1e-3);
  params.trace = Trace::euler;
  SmokeSource source;
  source.radius = Real(0.1);
  source.position = Vec3(Real(0.5), Real(0.1), z);
  params.sources = {source};
  constexpr Real dt = Real(1) / 30;
  for (int k = 0; k < 20; ++k) Smoke::step(model, state, params, workspace, dt);
  Report report;
  const double seconds = Session::best_of(n > 64 && !flat ? 5 : 15,
                                          [&] { report = Smoke::step(model, state, params, workspace, dt); });
  session.figure("ms_per_step", 1e3 * seconds, "ms", session.threads() == 2 ? target : none);
  session.figure("ns_per_item", 1e9 * seconds / static_cast<double>(model.shape.num_cells()), "ns");
  session.figure("iterations", report.value("pressure_iterations"), "1");
  session.figure("cfl", report.value("cfl"), "1");
  for (const StageTimes::Stage& stage : report.stages.stages())
    session.figure(std::string("ms_") + stage.name, stage.milliseconds, "ms");
}
const Register smoke_64("smoke/64", [](Session& s) { plume(s, 64, false, 12); });
const Register smoke_128("smoke/128", [](Session& s) { plume(s, 128, false, 110); });
const Register smoke_2d("smoke2d/256", [](Session& s) { plume(s, 256, true, 2); });

}}  // namespace plenum::bench
