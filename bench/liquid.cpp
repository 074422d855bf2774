// Speed of liquids on grids: a broken dam as in the scenes of mantaflow.
#include "plenum/solvers/liquid/liquid.h"

#include "bench.h"

namespace plenum::bench { namespace {

/// A closed box of nx x ny x nz cells, water against its left side over a part of its length and height,
/// eight particles a cell; FLIP. Measured are steps of the middle of its fall, surface meshing apart.
void dam_break(Session& session, int scale, double target) {
  Liquid::Spec spec;
  spec.cells_x = 64 * scale, spec.cells_y = 64 * scale, spec.cells_z = 32 * scale;
  spec.spacing = static_cast<Real>(1.0 / spec.cells_x);
  LiquidFill column;
  column.shape = GridSolid::Kind::box;
  // 26 x 32 x 32 cells of 8 are 213 000 particles, 55 x 64 x 64 are 1.8 million.
  column.half_extents = Vec3(scale == 1 ? Real(13) : Real(13.75), Real(16), Real(16)) / 64;
  column.position = column.half_extents;
  spec.fill = {column};
  Liquid::Model model;
  Liquid::State state;
  Liquid::Params params;
  Liquid::Workspace workspace;
  Liquid::build(spec, model, state);
  params.transfer = Liquid::Transfer::flip;
  const Real dt = Real(1) / static_cast<Real>(240 * scale);
  for (int k = 0; k < 80 * scale; ++k) Liquid::step(model, state, params, workspace, dt);
  Report report;
  const int repeats = scale == 1 ? 20 : 8;
  const double seconds =
      Session::best_of(repeats, [&] { report = Liquid::step(model, state, params, workspace, dt); });
  const auto n = static_cast<double>(state.x.size());
  session.figure("ms_per_step", 1e3 * seconds, "ms", session.threads() == 2 ? target : none);
  session.part_of_one_thread(1e3 * seconds, 1 / 1.7);
  session.figure("ns_per_item", 1e9 * seconds / n, "ns");
  session.figure("particles", n, "1");
  session.figure("iterations", report.value("pressure_iterations"), "1");
  session.figure("cfl", report.value("cfl"), "1");
  // What must move: particles are counted into slabs and cells (44 bytes each), taken into order and to faces
  // (52), back and on (48); cells are cleared (28), made velocities (60), extrapolated and read (60); and the
  // iterations of both solves.
  const CellWindow& window = workspace.window;
  const double cells = static_cast<double>(window.high[0] - window.low[0]) *
                       static_cast<double>(window.high[1] - window.low[1]) *
                       static_cast<double>(window.high[2] - window.low[2]);
  const double bytes = sizeof(Real) / 4.0 * (144 * n + 148 * cells) +
                       workspace.pressure.bytes_per_iteration() * report.iterations;
  session.figure("limit_fraction", bytes / seconds / 1e9 / session.triad(), "1");
  session.figure("parts", report.value("parts"), "1");
  for (const StageTimes::Stage& stage : report.stages.stages())
    session.figure(std::string("ms_") + stage.name, stage.milliseconds, "ms");
}
const Register liquid_213k("liquid/213k", [](Session& s) { dam_break(s, 1, 15); });
const Register liquid_1800k("liquid/1800k", [](Session& s) { dam_break(s, 2, 150); });

}}  // namespace plenum::bench
