// Position-based dynamics: cloth and a bar, as other engines' were measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "bench.h"
#include "plenum/solvers/pbd/detail/workspace.h"
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

/// Bytes that a step goes through: the state, particles' scratch and the packs of constraints.
double working_set(Bodies& bodies) {
  double bytes = 0;
  for_each_stored([&](FieldVisitor& visit) { Pbd::fields(bodies.model, bodies.state, visit); },
                  [&](const FieldRef& field) { bytes += static_cast<double>(field.bytes()); });
  const PbdWorkspace& w = *bodies.workspace.impl;
  const auto add = [&](const auto&... batches) { ((bytes += static_cast<double>(batches.bytes())), ...); };
  add(w.plates, w.rods, w.volumes, w.tethers, w.distances);
  const auto particles = static_cast<double>(w.places.size());
  return bytes + particles * (sizeof(detail::Place) + 3 * sizeof(Vec3));
}

/// What a constraint costs in a step of a part with 10^4 to 10^6 of them: the least mean of runs of `steps`
/// steps, in which nothing settles. By the triad at the same working set it is as many bytes as could be
/// moved in that time; `growth` is how many times that of the smallest part the dearest costs, and
/// `growth_in_ns` the same of nanoseconds, which packs that stay in a cache cost less.
void scale(Session& session, const std::string& name, const std::function<PbdPart(double)>& part_of) {
  double first = 0, most = 0, first_ns = 0, most_ns = 0;
  for (const double wanted : {1e4, 3e4, 1e5, 3e5, 1e6}) {
    Bodies bodies(part_of(wanted));
    const Pbd::Model& m = bodies.model;
    const auto constraints = static_cast<double>(m.edges.size() + m.plates.size() + m.bends.size() +
                                                 m.tethers.size() + m.tetrahedra.size());
    Pbd::step(bodies.model, bodies.state, bodies.params, bodies.workspace, pbd_dt);  // lays out the workspace
    const int steps = std::max(1, static_cast<int>(1e5 / wanted));
    // What else runs on the machine slows both down: the best of each, in turn.
    const double bytes = working_set(bodies);
    double ns = std::numeric_limits<double>::infinity(), triad = 0;
    for (int turn = 0; turn < 3; ++turn) {
      Report last;
      ns = std::min(ns, 1e6 * measure_bodies(bodies, steps, 4, last) / constraints);
      triad = std::max(triad, measure_triad(static_cast<std::size_t>(bytes / 3)));
    }
    const double cost = ns * triad;
    if (first == 0) first = cost, first_ns = ns;
    most = std::max(most, cost), most_ns = std::max(most_ns, ns);
    const std::string of = fmt::format("{}_{:.0f}", name, constraints);
    session.figure("ns_per_constraint_" + of, ns, "ns");
    session.figure("working_set_" + of, 1e-6 * bytes, "MB");
    session.figure("triad_" + of, triad, "GB/s");
    session.figure("triad_bytes_per_constraint_" + of, cost, "B");
  }
  session.figure("growth_" + name, most / first, "1", 1.3);
  session.figure("growth_in_ns_" + name, most_ns / first_ns, "1");
}
const Register register_pbd_scaling("pbd/scaling", [](Session& session) {
  // A particle of such cloth bears about eight constraints, one of such bars eleven and a half.
  scale(session, "cloth",
        [](double n) { return pbd_cloth(static_cast<int>(std::lround(std::sqrt(n / 8)))); });
  scale(session, "bar", [](double n) {
    PbdPart bar{.type = PbdPart::Type::bar};
    bar.material = PbdPart::Material::distances;
    bar.cells_y = bar.cells_z = static_cast<int>(std::lround(std::cbrt(n / 5 / 11.5)));
    bar.cells_x = 5 * bar.cells_y;
    bar.pins.resize(1);
    bar.pins[0].where = ParticlePin::Where::box;
    bar.pins[0].box_min = Vec3(Real(-0.501), -1, -1), bar.pins[0].box_max = Vec3(Real(-0.499), 1, 1);
    return bar;
  });
});

}}  // namespace plenum::bench
