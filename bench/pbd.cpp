// Position-based dynamics: cloth and a bar, as other engines' were measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "bench.h"
#include "bullet_peer.h"
#include "bullet_soft_peer.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
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

/// What the referee says of a run, from positions alone: the largest elongation of the model's edges and
/// error of its tetrahedra's volumes, as parts of what they are at rest, and how far the lowest particle is
/// below where the lowest began [m].
struct Verdict {
  double stretch = 0, volume_error = 0, droop = 0;
};
Verdict judge(const Pbd::Model& model, std::span<const Vec3> start, std::span<const Vec3> x) {
  Verdict verdict;
  for (std::size_t e = 0; e < model.edges.size(); ++e) {
    const auto a = static_cast<std::size_t>(model.edges[e][0]),
               b = static_cast<std::size_t>(model.edges[e][1]);
    const double l = (x[b].cast<double>() - x[a].cast<double>()).norm();
    verdict.stretch = std::max(verdict.stretch, l / static_cast<double>(model.rest_length[e]) - 1);
  }
  const std::vector<Real> volumes = tetrahedron_volumes(x, model.tetrahedra);
  for (std::size_t k = 0; k < volumes.size(); ++k)
    verdict.volume_error =
        std::max(verdict.volume_error,
                 std::abs(static_cast<double>(volumes[k]) / static_cast<double>(model.rest_volume[k]) - 1));
  const auto lowest = [](std::span<const Vec3> of) {
    double least = 1e30;
    for (const Vec3& p : of) least = std::min(least, static_cast<double>(p.y()));
    return least;
  };
  verdict.droop = lowest(start) - lowest(x);
  return verdict;
}

/// `steps` from the start: the least mean of `repeats` runs, and the referee's verdict at the end. With one
/// thread and `links` for it, beside Bullet on these, the two in turn.
void run_beside_bullet(Session& session, Bodies& bodies, int steps, int repeats, double target_ms,
                       double target_stretch, std::span<const Index2> links) {
  const bool with_peer = !links.empty() && session.threads() == 1 && has_bullet();
  if (!links.empty()) say_if_bullet_is_missing();
  const Pbd::State start = bodies.state;
  double ms = 1e30;
  SoftPeerRun peer;
  peer.ms_per_step = 1e30;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    bodies.state = start;
    Report last;
    ms = std::min(ms, measure_bodies(bodies, steps, 1, last));
    if (!with_peer || repeat > 1) continue;
    SoftPeerRun again = run_bullet_soft(bodies.model, start, links, steps);
    if (again.ms_per_step < peer.ms_per_step) peer = std::move(again);
  }
  const Verdict ours = judge(bodies.model, start.particles.x, bodies.state.particles.x);
  const Verdict theirs = with_peer ? judge(bodies.model, start.particles.x, peer.x) : Verdict{};
  const auto figure = [&](const char* metric, double value, const char* unit, double its, double target) {
    session.figure({metric, value, unit, with_peer ? "Bullet 3.24" : "", its, target});
  };
  figure("ms_per_step", ms, "ms", peer.ms_per_step, session.threads() == 1 ? target_ms : none);
  figure("max_stretch", ours.stretch, "1", theirs.stretch, target_stretch);
  figure("tip_droop_m", ours.droop, "m", theirs.droop, none);
  if (!bodies.model.tetrahedra.empty())
    figure("max_volume_error", ours.volume_error, "1", theirs.volume_error, none);
  session.part_of_one_thread(ms, 1 / 1.7);
}

/// 1.05 s of a cloth that swings down. Bullet's links are those of its own patches: the sides of triangles
/// whose diagonals alternate, and between neighbours of neighbours against bending.
void run_cloth(Session& session, int n, double target_ms, int repeats,
               Pbd::Contact contact = Pbd::Contact::none, int coarse_levels = 0) {
  const PbdPart part = pbd_cloth(n);
  Bodies bodies(part);
  bodies.params.contact = contact;
  bodies.params.coarse_levels = coarse_levels;
  std::vector<Index2> links;
  if (contact == Pbd::Contact::none && coarse_levels == 0)
    links = with_bending_links(bodies.model.mass.size(),
                               unique_edges(grid_mesh(Vec2(part.size_x, part.size_z), part.cells_x,
                                                      part.cells_z, Diagonals::alternating)
                                                .triangles));
  run_beside_bullet(session, bodies, 63, repeats, target_ms, 0.2, links);
}
const Register register_cloth_100("pbd/cloth-100", [](Session& session) { run_cloth(session, 100, 4, 5); });
const Register register_cloth_200("pbd/cloth-200", [](Session& session) { run_cloth(session, 200, 17, 2); });
const Register register_cloth_100_coarse("pbd/cloth-100-coarse", [](Session& session) {
  run_cloth(session, 100, 4, 5, Pbd::Contact::none, 3);
});
// Sixty frames of it in a second, on one core.
const Register register_cloth_100_self("pbd/cloth-100-self", [](Session& session) {
  run_cloth(session, 100, 1e3 / 60, 3, Pbd::Contact::conservative);
});

/// A bar of 1 x 0.2 x 0.2 m and 50 400 tetrahedra, held at one end: edges and volumes without compliance,
/// five sweeps a step, one second. Bullet's has the edges alone.
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
  run_beside_bullet(session, bodies, 60, 5, 6, none, bodies.model.edges);
}
const Register register_bar("pbd/bar-50400", run_bar);

/// Bytes that a step goes through: the state, particles' scratch and the packs of constraints.
double working_set(Bodies& bodies) {
  double bytes = 0;
  for_each_stored([&](FieldVisitor& visit) { Pbd::fields(bodies.model, bodies.state, visit); },
                  [&](const FieldRef& field) { bytes += static_cast<double>(field.bytes()); });
  const PbdWorkspace& w = *bodies.workspace.impl;
  const auto add = [&](const auto&... batches) { ((bytes += static_cast<double>(batches.bytes())), ...); };
  add(w.plates, w.rods, w.volumes, w.tethers, w.distances, w.lattices, w.woven_rods, w.woven_cells);
  const auto particles = static_cast<double>(w.places.size());
  return bytes + particles * (sizeof(detail::Place) + 3 * sizeof(Vec3));
}

/// What a constraint costs in a step of a part with 10^4 to 10^6 of them: the least mean of runs of `steps`
/// steps, in which nothing settles. By the triad at the same working set it is as many bytes as could be
/// moved in that time; `growth` is how many times that of any smaller part one costs at most, and
/// `growth_in_ns` the same of nanoseconds, which packs that stay in a cache cost less. What small parts,
/// whose triad is that of a cache, cost more by that measure than large ones is no growth: `spread` has it.
void scale(Session& session, const std::string& name, const std::function<PbdPart(double)>& part_of) {
  constexpr double none = std::numeric_limits<double>::infinity();
  double least = none, least_ns = none, most = 0, growth = 0, growth_in_ns = 0;
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
    least = std::min(least, cost), least_ns = std::min(least_ns, ns), most = std::max(most, cost);
    growth = std::max(growth, cost / least), growth_in_ns = std::max(growth_in_ns, ns / least_ns);
    const std::string of = fmt::format("{}_{:.0f}", name, constraints);
    session.figure("ns_per_constraint_" + of, ns, "ns");
    const double alone = session.with_one_thread("ns_per_constraint_" + of);
    if (session.threads() == 2 && std::isfinite(alone))
      session.figure("part_of_one_thread_" + of, ns / alone, "1", constraints > 20'000 ? 1 / 1.7 : none);
    session.figure("working_set_" + of, 1e-6 * bytes, "MB");
    session.figure("triad_" + of, triad, "GB/s");
    session.figure("triad_bytes_per_constraint_" + of, cost, "B");
  }
  session.figure("growth_" + name, growth, "1", 1.3);
  session.figure("growth_in_ns_" + name, growth_in_ns, "1");
  session.figure("spread_" + name, most / least, "1");
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
