// Position-based dynamics: cloth and a bar, as other engines' were measured.
#include <algorithm>
#include <cmath>

#include "bench.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::bench { namespace {

constexpr Real pbd_dt = Real(1) / 60;

struct Bodies {
  Pbd::Model model;
  Pbd::State state;
  Pbd::Params params = {};
  Pbd::Workspace workspace = {};

  explicit Bodies(const PbdPart& part) {
    Pbd::build({.parts = {part}}, model, state);
    params.air_density = 0;
  }
};

/// 10 x 10 m of n x n particles, 0.2 kg/m^2, flat and horizontal, two corners pinned, without compliance.
PbdPart pbd_cloth(int n) {
  PbdPart part;
  part.size_x = part.size_z = 10;
  part.cells_x = part.cells_z = n - 1;
  part.areal_density = Real(0.2);
  part.bending_stiffness = Real(1e-3);
  part.pins.resize(2);
  part.pins[0].where = ParticlePin::Where::back_left;
  part.pins[1].where = ParticlePin::Where::back_right;
  return part;
}

/// The mean of `steps` from the start, of the fastest of `repeats` runs [ms]; the last state stays.
double measure_bodies(Bodies& bodies, int steps, int repeats, Report& last) {
  const Pbd::State start = bodies.state;
  Pbd::step(bodies.model, bodies.state, bodies.params, bodies.workspace, pbd_dt);  // lays out the workspace
  return 1e3 / steps *
         Session::best_of(
             repeats,
             [&] {
               for (int k = 0; k < steps; ++k)
                 last = Pbd::step(bodies.model, bodies.state, bodies.params, bodies.workspace, pbd_dt);
             },
             [&] { bodies.state = start; });
}

/// 1.05 s of a cloth that swings down: milliseconds a step, and how far its edges are stretched then.
void run_cloth(Session& session, int n, double target_ms, int repeats,
               Pbd::Contact contact = Pbd::Contact::none) {
  Bodies bodies(pbd_cloth(n));
  bodies.params.contact = contact;
  Report last;
  const double ms = measure_bodies(bodies, 63, repeats, last);
  session.figure("ms_per_step", ms, "ms", session.threads() == 1 ? target_ms : none);
  session.figure("max_stretch", last.value("max_stretch"), "1", 0.2);
  if (const double one = session.with_one_thread("ms_per_step"); !std::isnan(one))
    session.figure("part_of_one_thread", ms / one, "1", session.threads() == 2 ? 1 / 1.7 : none);
}
const Register register_cloth_100("pbd/cloth-100", [](Session& session) { run_cloth(session, 100, 4, 5); });
const Register register_cloth_200("pbd/cloth-200", [](Session& session) { run_cloth(session, 200, 17, 2); });
// Sixty frames of it in a second, on one core.
const Register register_cloth_100_self("pbd/cloth-100-self", [](Session& session) {
  run_cloth(session, 100, 1e3 / 60, 3, Pbd::Contact::conservative);
});

/// A bar of 1 x 0.2 x 0.2 m and 50 400 tetrahedra, held at one end: edges and volumes without compliance,
/// five sweeps a step.
void run_bar(Session& session) {
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.half_extents = Vec3(Real(0.5), Real(0.1), Real(0.1));
  bar.cells_x = 70, bar.cells_y = bar.cells_z = 12;
  bar.density = 1000;
  bar.material = PbdPart::Material::distances;
  bar.pins.resize(1);
  bar.pins[0].where = ParticlePin::Where::box;
  bar.pins[0].box_min = Vec3(Real(-0.501), -1, -1), bar.pins[0].box_max = Vec3(Real(-0.499), 1, 1);
  Bodies bodies(bar);
  bodies.params.substeps = 5;
  Report last;
  const double ms = measure_bodies(bodies, 60, 5, last);
  double tip = 0;
  for (const Vec3& x : bodies.state.particles.x) tip = std::min(tip, double(x.y()) + 0.1);
  session.figure("ms_per_step", ms, "ms", session.threads() == 1 ? 6 : none);
  session.figure("tip_droop_m", -tip, "m");
  session.figure("max_stretch", last.value("max_stretch"), "1");
  session.figure("max_volume_error", last.value("max_volume_error"), "1");
  if (const double one = session.with_one_thread("ms_per_step"); !std::isnan(one))
    session.figure("part_of_one_thread", ms / one, "1", session.threads() == 2 ? 1 / 1.7 : none);
}
const Register register_bar("pbd/bar-50400", run_bar);

}}  // namespace plenum::bench
