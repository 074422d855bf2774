// Speed of fluids on grids: the projection by itself, and whole steps of smoke.
#include "plenum/solvers/smoke/smoke.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

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
  session.part_of_one_thread(1e3 * seconds, 1 / 1.7);
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

/// A warm plume from below in a closed box of a metre, around the same sphere; MacCormack, vorticity
/// confinement, pressure to 1e-3.
struct Plume {
  Smoke::Model model;
  Smoke::State state;
  Smoke::Params params;
  Smoke::Workspace workspace;
  Plume(int n, bool flat) {
    Smoke::Spec spec;
    spec.cells_x = spec.cells_y = n;
    spec.cells_z = flat ? 1 : n;
    spec.spacing = static_cast<Real>(1.0 / n);
    const Real z = flat ? spec.spacing / 2 : Real(0.5);
    SmokeShape ball;
    ball.radius = Real(0.15);
    ball.position = Vec3(Real(0.5), Real(0.35), z);
    spec.solids = {ball};
    Smoke::build(spec, model, state);
    params.vorticity_confinement = Real(0.2);
    params.pressure_tolerance = Real(1e-3);
    params.trace = Trace::euler;
    SmokeSource source;
    source.radius = Real(0.1);
    source.position = Vec3(Real(0.5), Real(0.1), z);
    params.sources = {source};
  }
  Report step(Real dt) { return Smoke::step(model, state, params, workspace, dt); }
  /// Bytes that a step goes through: all arrays of state and scratch memory, and of the pressure's finest
  /// grid b, x, three vectors of the iteration and its correction, of which coarser grids have a seventh.
  double working_set() const {
    double bytes = 0;
    const auto add = [&](const auto&... lists) {
      ((bytes += static_cast<double>(lists.size() * sizeof(lists[0]))), ...);
    };
    const Smoke::Workspace& w = workspace;
    for (std::size_t c = 0; c < 3; ++c)
      add(state.velocity.along[c], model.open.along[c], w.forced.along[c], w.moved.along[c], w.vorticity[c]);
    add(state.density, state.temperature, state.pressure, w.scalar, w.vorticity_size, w.advection.forward,
        w.advection.low, w.advection.high, w.pressure.x);
    return bytes + (1 + 4 * 8.0 / 7) * static_cast<double>(w.pressure.b.size() * sizeof(Real));
  }
};

/// Steps of a thirtieth of a second from a plume that has formed.
void plume(Session& session, int n, bool flat, double target) {
  Plume gas(n, flat);
  constexpr Real dt = Real(1) / 30;
  for (int k = 0; k < 20; ++k) gas.step(dt);
  Report report;
  const double seconds = Session::best_of(n > 64 && !flat ? 5 : 15, [&] { report = gas.step(dt); });
  session.figure("ms_per_step", 1e3 * seconds, "ms", session.threads() == 2 ? target : none);
  session.part_of_one_thread(1e3 * seconds, 1 / 1.7);
  session.figure("ns_per_item", 1e9 * seconds / static_cast<double>(gas.model.shape.num_cells()), "ns");
  session.figure("iterations", report.value("pressure_iterations"), "1");
  session.figure("cfl", report.value("cfl"), "1");
  for (const StageTimes::Stage& stage : report.stages.stages())
    session.figure(std::string("ms_") + stage.name, stage.milliseconds, "ms");
}
const Register smoke_64("smoke/64", [](Session& s) { plume(s, 64, false, 12); });
const Register smoke_128("smoke/128", [](Session& s) { plume(s, 128, false, 110); });
const Register smoke_2d("smoke2d/256", [](Session& s) { plume(s, 256, true, 2); });

/// What a cell costs in boxes of 64^3 to 256^3, in steps of one CFL number from the same moment of the same
/// plume. By the triad at the same working set it is as many bytes as could be moved in that time; `growth`
/// is how many times that of the smallest box the dearest costs, and `growth_in_ns` the same of nanoseconds.
void smoke_cells(Session& session) {
  double first = 0, most = 0, first_ns = 0, most_ns = 0;
  for (const int n : {64, 96, 128, 192, 256}) {
    Plume gas(n, false);
    const int steps = 20 * n / 64;
    const Real dt = Real(2) / (3 * static_cast<Real>(steps));
    for (int k = 0; k < steps; ++k) gas.step(dt);
    // What else runs on the machine slows both down: the best of each, in turn.
    const double bytes = gas.working_set(), cells = static_cast<double>(gas.model.shape.num_cells());
    double ns = std::numeric_limits<double>::infinity(), triad = 0;
    Report report;
    for (int turn = 0; turn < 3; ++turn) {
      const double seconds = Session::best_of(n > 128 ? 1 : 4, [&] { report = gas.step(dt); });
      ns = std::min(ns, 1e9 * seconds / cells);
      triad = std::max(triad, measure_triad(static_cast<std::size_t>(bytes / 3)));
    }
    const double cost = ns * triad;
    if (first == 0) first = cost, first_ns = ns;
    most = std::max(most, cost), most_ns = std::max(most_ns, ns);
    const std::string of = fmt::format("_{}", n);
    session.figure("ns_per_cell" + of, ns, "ns");
    session.figure("iterations" + of, report.value("pressure_iterations"), "1");
    session.figure("working_set" + of, 1e-6 * bytes, "MB");
    session.figure("triad" + of, triad, "GB/s");
    session.figure("triad_bytes_per_cell" + of, cost, "B");
  }
  session.figure("growth", most / first, "1", 1.3);
  session.figure("growth_in_ns", most_ns / first_ns, "1");
}
const Register smoke_scaling("smoke/scaling", smoke_cells);

}}  // namespace plenum::bench
