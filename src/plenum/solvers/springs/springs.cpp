#include "plenum/solvers/springs/springs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plenum/integrate/minimize.h"
#include "plenum/math/pose.h"
#include "plenum/solvers/springs/detail/steps.h"
#include "plenum/solvers/springs/detail/workspace.h"
#include "plenum/state/particle_samples.h"

namespace plenum::inline PLENUM_ABI {

static_assert(Buildable<Springs> && HasSupports<Springs> && HasEdits<Springs>);

Springs::Workspace::Workspace() = default;
Springs::Workspace::~Workspace() = default;
Springs::Workspace::Workspace(Workspace&&) noexcept = default;
Springs::Workspace& Springs::Workspace::operator=(Workspace&&) noexcept = default;

void Springs::Params::describe(Describer& d) {
  d("gravity", gravity, {.unit = "m/s^2", .min = -1e4, .max = 1e4, .doc = "acceleration of free fall"});
  d("integrator", integrator, {.doc = "method of stepping in time"});
  d("stiffness_scale", stiffness_scale,
    {.min = 0,
     .max = 1e6,
     .doc = "factor on every spring's stiffness; its root is one on damping, so that damping ratios stay",
     .logarithmic = true});
  d("damping_scale", damping_scale,
    {.min = 0, .max = 1e6, .doc = "factor on every spring's damping, and so on damping ratios"});
  d("point_damping", point_damping,
    {.unit = "1/s", .min = 0, .max = 1e4, .doc = "rate at which every particle's motion decays"});
  d("wind", wind,
    {.unit = "m/s", .min = -1e4, .max = 1e4, .doc = "velocity of the air, which pushes on triangles"});
  d("turbulence", turbulence, {.doc = "eddies in the air, which make cloth flutter"});
  d("air_density", air_density,
    {.unit = "kg/m^3", .min = 0, .max = 2000, .doc = "of the air; 0: no air", .usual = 5});
  d("drag", drag, {.min = 0, .max = 10, .doc = "drag coefficient of triangles"});
  d("lift", lift, {.min = 0, .max = 10, .doc = "lift coefficient of triangles"});
  d("tear_strain", tear_strain,
    {.min = 0, .max = 1000, .doc = "relative elongation at which springs tear; 0: never", .usual = 2});
  d("constraints", constraints, {.doc = "how fixed distances and wires are kept"});
  d("penalty_stiffness", penalty_stiffness,
    {.unit = "N/m", .min = 0, .max = 1e9, .doc = "of constraints kept by penalty", .logarithmic = true});
  d("stabilization", stabilization, {.doc = "what keeps multipliers from drifting, in explicit methods"});
  d("baumgarte_rate", baumgarte_rate,
    {.unit = "1/s",
     .min = 0,
     .max = 1e4,
     .doc = "at which Baumgarte stabilization pulls back",
     .usual = 100});
  d("preconditioner", preconditioner,
    {.doc = "of linear solves; ropes by themselves have incomplete_cholesky, exact for them"});
  d("tolerance", tolerance,
    {.min = 1e-7, .max = 0.5, .doc = "relative true residual of linear solves", .logarithmic = true});
  d("max_iterations", max_iterations, {.min = 1, .max = 100000, .doc = "of a linear solve"});
  d("nonlinear_tolerance", nonlinear_tolerance,
    {.min = 1e-7,
     .max = 0.5,
     .doc = "of backward Euler: gradient relative to the first",
     .logarithmic = true});
  d("nonlinear_iterations", nonlinear_iterations,
    {.min = 1, .max = 10000, .doc = "of backward Euler: Newton steps or rounds of local_global"});
  d("thickness", thickness,
    {.unit = "m", .min = 0, .max = 10, .doc = "kept between the net and obstacles", .usual = 0.1});
  d("friction", friction, {.min = 0, .max = 10, .doc = "Coulomb coefficient against obstacles", .usual = 2});
  d("restitution", restitution,
    {.min = 0, .max = 1, .doc = "of impacts on obstacles, at most: implicit methods damp what bounces"});
  d("pins", pins, {.doc = "motions of pin groups 0, 1, ...", .max_count = 256});
}

namespace {

/// Makes room for a step that bounces, by backward Euler (implicit_parts.cpp), so that the first one to do so
/// does not allocate.
void make_room_to_bounce(std::size_t n, SpringsWorkspace& w) {
  for (auto* vectors : {&w.reaction, &w.jump, &w.target, &w.motion, &w.dissipation}) vectors->resize(n);
  w.flat_mass.resize(3 * n);
  w.integrator.prepare(3 * n, newton_vectors);
}

/// of [N] = the piece that each particle hangs together with by springs and rods, from 0; returns how many
/// there are.
Index number_pieces(const Springs::Model& model, std::vector<Index>& of) {
  of.resize(model.mass.size());
  std::iota(of.begin(), of.end(), 0);
  // Every particle points to one before it, or to itself: the first of its piece.
  const auto first = [&](Index i) {
    while (of[std::size_t(i)] != i) i = of[std::size_t(i)] = of[std::size_t(of[std::size_t(i)])];
    return i;
  };
  const auto join = [&](std::span<const Index2> pairs) {
    for (const Index2& e : pairs) {
      const Index a = first(e[0]), b = first(e[1]);
      of[std::size_t(std::max(a, b))] = std::min(a, b);
    }
  };
  join(model.edges);
  join(model.constraints.rods);
  Index count = 0;
  for (std::size_t i = 0; i < of.size(); ++i)
    of[i] = of[i] == Index(i) ? count++ : of[std::size_t(of[i])];  // which has its number already
  return count;
}

/// Lays the workspace out for the model if it is not.
SpringsWorkspace& prepare(Springs::Workspace& workspace, const Springs::Model& model,
                          const Springs::Params& params) {
  if (!workspace.impl) workspace.impl = std::make_unique<SpringsWorkspace>();
  SpringsWorkspace& w = *workspace.impl;
  const Real penalty = has_penalty(model, params) ? params.penalty_stiffness : 0;
  const std::size_t n = model.mass.size();
  if (w.revision == model.revision && w.x0.size() == n && w.penalty_stiffness == penalty) return w;
  const SpringPairs pairs(model, penalty, true);
  w.system =
      SpringSystem<Real>(n, pairs.edges, std::span<const Real>(pairs.stiffness),
                         std::span<const Real>(pairs.rest_length), std::span<const Real>(pairs.damping));
  const auto largest = [](const std::vector<Real>& of) {
    return of.empty() ? Real(0) : *std::max_element(of.begin(), of.end());
  };
  w.stiffest = largest(pairs.stiffness);
  w.heaviest = largest(model.mass);
  // No particle is joined to any beyond the next but one. The last springs of a cloth are the widest.
  w.chain = std::all_of(pairs.edges.rbegin(), pairs.edges.rend(),
                        [](const Index2& e) { return std::abs(e[0] - e[1]) <= 2; });
  w.stiffness_norm = std::sqrt(2 * dot<Real>(pairs.stiffness, pairs.stiffness));
  w.damping_norm = std::sqrt(2 * dot<Real>(pairs.damping, pairs.damping));
  w.shortest_rod = 1;
  for (const Real length : model.constraints.rod_length)
    w.shortest_rod = std::min(w.shortest_rod, double(length));
  w.multipliers = penalty > 0 ? Multipliers<Real>() : Multipliers<Real>(n, model.constraints);
  for (auto* vectors : {&w.moved, &w.ahead, &w.towards}) vectors->resize(w.multipliers.empty() ? 0 : n);
  w.part_x.resize(n);
  w.part_v.resize(n);
  w.deviation.resize(n);
  w.bent.resize(n);
  w.rigid = RigidMotions();
  if (w.multipliers.empty()) {
    std::vector<Index> piece_of;
    number_pieces(model, piece_of);
    w.rigid = RigidMotions(piece_of, model.constraints.beads, model.pinned);
  }
  w.rod_stiffness.resize(w.multipliers.empty() ? 0 : model.constraints.rods.size());
  if (!w.rod_stiffness.empty()) w.system.set_turning(w.rod_stiffness);
  w.penalty_stiffness = penalty;
  w.multigrid.reset();
  w.incomplete_cholesky.reset();
  w.chain_factors.reset();
  w.volumes.lay_out(model);
  w.x0.resize(n);
  w.v0.resize(n);
  w.base.resize(n);
  w.rhs.resize(n);
  w.pcg.resize(3 * n);
  w.incident = vertex_triangles(n, model.triangles);
  w.air.resize(model.triangles.size());
  w.revision = model.revision;
  return w;
}

/// Gives held particles the velocity that takes them where their pins will be after dt, and mass to the
/// released ones.
void move_pins(const Springs::Model& model, Springs::State& state, const Springs::Params& params, Real dt) {
  for (std::size_t p = 0; p < model.pinned.size(); ++p) {
    const auto i = static_cast<std::size_t>(model.pinned[p]), group = std::size_t(model.pin_group[p]);
    const Springs::PinMotion* const motion = group < params.pins.size() ? &params.pins[group] : nullptr;
    const bool held = !(motion && motion->released);
    state.particles.inverse_mass[i] = held ? Real(0) : 1 / model.mass[i];
    if (!held) continue;
    const Vec3 target = motion ? (*motion)(model.pin_position[p]) : model.pin_position[p];
    state.particles.v[i] = (target - state.particles.x[i]) / dt;
  }
}

}  // namespace

Real Springs::max_dt(const Model& model, const State& state, const Params& params) {
  if (is_implicit(params.integrator)) return std::numeric_limits<Real>::infinity();
  // Explicit Euler amplifies what no spring damps, the other methods need no word of it.
  const bool amplifies = params.integrator == Integrator::explicit_euler;
  return stable_step(model, params, air_rate(model, state, params),
                     amplifies ? tension_bound(model, state.particles.x, params) : 0);
}

Report Springs::step(const Model& model, State& state, const Params& params, Workspace& workspace, Real dt) {
  Report report;
  if (!(dt > 0) || model.mass.empty()) return report;
  SpringsWorkspace& w = prepare(workspace, model, params);
  if (is_implicit(params.integrator) && w.multipliers.empty()) make_room_to_bounce(model.mass.size(), w);
  w.x0 = state.particles.x;
  w.v0 = state.particles.v;
  if (has_air(model, params)) w.eddies = curl_noise_at(params.turbulence, state.time);
  state.time += static_cast<double>(dt);
  move_pins(model, state, params, dt);
  w.on_held.reserve(w.offered.size());
  w.supports.take(std::exchange(w.offered, {}), state.particles.x);
  // What tears may turn inside out: its springs no longer say where its particles belong.
  w.volumes.set_scale(params.tear_strain == 0 ? params.stiffness_scale : Real(0));
  switch (params.integrator) {
    case Integrator::implicit_euler:
      implicit_euler_step(model, state, params, w, dt, report);
      break;
    case Integrator::backward_euler:
    case Integrator::local_global:
      // Strict constraints are part of a linear solve.
      if (!w.multipliers.empty()) {
        if (!std::exchange(w.told_of_linear_steps, true))
          report.warn(
              "strict constraints make backward_euler and local_global take the linear step of "
              "implicit_euler; "
              "set constraints to penalty for their own");
        implicit_euler_step(model, state, params, w, dt, report);
      } else if (params.integrator == Integrator::backward_euler)
        backward_euler_step(model, state, params, w, dt, report);
      else
        local_global_step(model, state, params, w, dt, report);
      break;
    default:
      w.air_rate = air_rate(model, state, params);
      if (is_symplectic(params.integrator))
        symplectic_net_step(model, state, params, w, dt, report);
      else
        explicit_net_step(model, state, params, w, dt, report);
      // Tension and air change within a frame that was divided before it.
      if (dt > Real(1.001) / part_of_limit(params.integrator) * stable_step(model, params, w.air_rate))
        report.warn("unstable: the step exceeds max_dt; raise the sub-steps or lower the stiffness");
  }
  w.supports.clear();
  if (!model.tetrahedra.empty()) report.measure("flat", static_cast<double>(w.volumes.num_found()));
  if (!w.multipliers.empty()) {
    const double error = w.multipliers.largest_error(state.particles.x);
    report.measure("constraint_error", error, "m");
    if (!(error <= 0.1 * w.shortest_rod))
      report.warn(
          "strict constraints are not met: they contradict each other, began or drifted off their lengths; "
          "let pins come closer, choose another stabilization or raise the sub-steps");
  }
  // Rounding must not let held particles drift from their pins.
  for (std::size_t p = 0; p < model.pinned.size(); ++p) {
    const auto i = static_cast<std::size_t>(model.pinned[p]), group = std::size_t(model.pin_group[p]);
    if (state.particles.inverse_mass[i] != 0) continue;
    state.particles.x[i] =
        group < params.pins.size() ? params.pins[group](model.pin_position[p]) : model.pin_position[p];
  }
  return report;
}

namespace {

template <class S>
void visit_fields(const Springs::Model& model, S& state, FieldVisitor& visit) {
  visit({"position", "m", Centring::particle}, state.particles.x);
  visit({"velocity", "m/s", Centring::particle}, state.particles.v);
  visit({"inverse_mass", "1/kg", Centring::particle}, state.particles.inverse_mass);
  visit({"velocity_change", "m/s", Centring::particle}, state.velocity_change);
  visit({"contact_force", "N", Centring::particle}, state.pressed);
  visit({"velocity_lag", "s", Centring::global}, state.velocity_lag);
  visit({"damp_steps", "1", Centring::global}, state.damp_steps);
  visit({"damp_length", "1", Centring::global}, state.damp_length);
  visit({"was_damped", "1", Centring::global}, state.was_damped);
  visit({"time", "s", Centring::global}, state.time);
  visit.derived({"speed", "m/s", Centring::particle}, [&](std::vector<Real>& out) {
    out.resize(state.particles.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = state.particles.v[i].norm();
  });
  visit.derived({"strain", "1", Centring::edge}, [&](std::vector<Real>& out) {
    out.resize(model.edges.size());
    for (std::size_t e = 0; e < out.size(); ++e) out[e] = Springs::strain(model, state, e);
  });
}

}  // namespace

Real Springs::strain(const Model& model, const State& state, std::size_t edge) {
  const Index2 e = model.edges[edge];
  const Real l0 = model.rest_length[edge];
  const Real l = (state.particles.x[std::size_t(e[1])] - state.particles.x[std::size_t(e[0])]).norm();
  return l0 > 0 ? l / l0 - 1 : 0;
}

void Springs::fields(const Model& model, State& state, FieldVisitor& visit) {
  visit_fields(model, state, visit);
}

void Springs::model_fields(Model& model, FieldVisitor& visit) {
  visit({"mass", "kg", Centring::particle}, model.mass);
  visit({"edges", "", Centring::edge}, model.edges);
  visit({"stiffness", "N/m", Centring::edge}, model.stiffness);
  visit({"rest_length", "m", Centring::edge}, model.rest_length);
  visit({"damping", "N s/m", Centring::edge}, model.damping);
  visit({"kind", "", Centring::edge}, model.kind);
  visit({"triangles", "", Centring::triangle}, model.triangles);
  visit({"part_edges", "", Centring::global}, model.part_edges);
  visit({"stiffness_bound", "1/s^2", Centring::global}, model.stiffness_bound);
  visit({"damping_bound", "1/s", Centring::global}, model.damping_bound);
  visit({"air_mass", "kg", Centring::triangle}, model.air_mass);
  visit({"damping_time", "s", Centring::global}, model.damping_time);
  visit({"reach", "m", Centring::global}, model.reach);
  visit({"constraint_bound", "1/kg", Centring::global}, model.constraint_bound);
  visit({"revision", "", Centring::global}, model.revision);
}

Samples Springs::samples(const Model& model, const State& state, const Params& params,
                         const Workspace& workspace) {
  const SpringsWorkspace* const w = workspace.impl.get();
  Samples samples = w ? samples_of(state.particles, w->x0, w->v0) : samples_of(state.particles, {}, {});
  samples.radius = params.thickness;
  samples.friction = params.friction, samples.restitution = params.restitution;
  if (model.reach > 0) samples.reach = model.reach;
  samples.has_air =
      !model.triangles.empty() && params.air_density > 0 && (params.drag > 0 || params.lift > 0);
  return samples;
}

void Springs::rest_on(Workspace& workspace, std::span<Support> supports) {
  if (!workspace.impl) workspace.impl = std::make_unique<SpringsWorkspace>();
  workspace.impl->offered = supports;
}

void Springs::find_overdrawn(const Model& model, const State& state, Real most, std::vector<Index>& out) {
  // A lattice that a solid were let through would be turned inside out.
  if (!model.tetrahedra.empty()) return;
  for (std::size_t e = 0; e < model.edges.size(); ++e)
    if (strain(model, state, e) > most - 1) out.insert(out.end(), {model.edges[e][0], model.edges[e][1]});
}

void Springs::find_pieces(const Model& model, const State& state, Pieces& out) {
  const Index count = number_pieces(model, out.of);
  out.held.assign(std::size_t(count), 0);
  for (std::size_t i = 0; i < model.mass.size(); ++i)
    if (state.particles.inverse_mass[i] == 0) out.held[std::size_t(out.of[i])] = 1;
  for (const Index i : model.constraints.beads) out.held[std::size_t(out.of[std::size_t(i)])] = 1;
}

void Springs::absorb(const Model&, State& state, std::span<const SampleImpulse> impulses) {
  take_impulses(state.particles, impulses);
}

}  // namespace plenum::inline PLENUM_ABI
