#include "plenum/solvers/springs/springs.h"

#include <cmath>

#include "plenum/math/pose.h"
#include "plenum/solvers/springs/detail/steps.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

static_assert(Buildable<Springs> && HasSamples<Springs>);

Springs::Workspace::Workspace() = default;
Springs::Workspace::~Workspace() = default;
Springs::Workspace::Workspace(Workspace&&) noexcept = default;
Springs::Workspace& Springs::Workspace::operator=(Workspace&&) noexcept = default;

Vec3 Springs::PinMotion::operator()(const Vec3& x) const {
  const Real angle = rotation.norm();
  if (angle == 0) return x + offset;
  return Quat(Eigen::AngleAxis<Real>(angle, rotation / angle)) * (x - pivot) + pivot + offset;
}

void Springs::PinMotion::describe(Describer& d) {
  d("offset", offset, {.unit = "m", .doc = "from where the pins were built"});
  d("rotation", rotation, {.unit = "rad", .doc = "about the axis along it, by its length"});
  d("pivot", pivot, {.unit = "m", .doc = "point in the world that the rotation leaves in place"});
  d("released", released, {.doc = "let go"});
}

void Springs::Params::describe(Describer& d) {
  d("gravity", gravity, {.unit = "m/s^2", .doc = "acceleration of free fall"});
  d("integrator", integrator, {.doc = "method of stepping in time"});
  d("stiffness_scale", stiffness_scale,
    {.min = 0, .max = 1e6, .doc = "factor on every spring's stiffness", .logarithmic = true});
  d("damping_scale", damping_scale, {.min = 0, .max = 1e6, .doc = "factor on every spring's damping"});
  d("point_damping", point_damping,
    {.unit = "1/s", .min = 0, .max = 1e4, .doc = "rate at which every particle's motion decays"});
  d("wind", wind, {.unit = "m/s", .doc = "velocity of the air, which pushes on triangles"});
  d("air_density", air_density, {.unit = "kg/m^3", .min = 0, .max = 2000, .doc = "of the air; 0: no air"});
  d("drag", drag, {.min = 0, .max = 10, .doc = "drag coefficient of triangles"});
  d("lift", lift, {.min = 0, .max = 10, .doc = "lift coefficient of triangles"});
  d("tolerance", tolerance,
    {.min = 1e-7, .max = 0.5, .doc = "relative true residual of linear solves", .logarithmic = true});
  d("max_iterations", max_iterations, {.min = 1, .max = 100000, .doc = "of a linear solve"});
  d("thickness", thickness, {.unit = "m", .min = 0, .max = 10, .doc = "kept between the net and obstacles"});
  d("friction", friction, {.min = 0, .max = 10, .doc = "Coulomb coefficient against obstacles"});
  d("restitution", restitution, {.min = 0, .max = 1, .doc = "of impacts on obstacles"});
  d("pins", pins, {.doc = "motions of pin groups 0, 1, ...", .max_count = 256});
}

namespace {

/// Lays the workspace out for the model if it is not.
SpringsWorkspace& prepare(Springs::Workspace& workspace, const Springs::Model& model) {
  if (!workspace.impl) workspace.impl = std::make_unique<SpringsWorkspace>();
  SpringsWorkspace& w = *workspace.impl;
  if (w.revision == model.revision && w.x0.size() == model.mass.size()) return w;
  const std::size_t n = model.mass.size();
  w.system =
      SpringSystem<Real>(n, model.edges, std::span<const Real>(model.stiffness),
                         std::span<const Real>(model.rest_length), std::span<const Real>(model.damping));
  w.x0.resize(n);
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

Real Springs::max_dt(const Model& model, const State&, const Params& params) {
  if (params.integrator == Integrator::implicit_euler) return std::numeric_limits<Real>::infinity();
  // Symplectic Euler with the damping at the old velocity: h <= 2 (sqrt(1 + xi^2) - xi) / omega for damping
  // ratio xi. Source: Belytschko, Liu & Moran 2000, "Nonlinear finite elements for continua and structures",
  // eq. 6.6.12.
  const Real omega = std::sqrt(model.stiffness_bound * params.stiffness_scale);
  const Real rate = model.damping_bound * params.damping_scale + params.point_damping;
  if (omega == 0) return rate > 0 ? 2 / rate : std::numeric_limits<Real>::infinity();
  const Real xi = rate / (2 * omega);
  return 2 / (omega * (std::sqrt(1 + xi * xi) + xi));  // the same without cancellation
}

Report Springs::step(const Model& model, State& state, const Params& params, Workspace& workspace, Real dt) {
  Report report;
  if (!(dt > 0) || model.mass.empty()) return report;
  SpringsWorkspace& w = prepare(workspace, model);
  w.x0 = state.particles.x;
  move_pins(model, state, params, dt);
  switch (params.integrator) {
    case Integrator::implicit_euler:
      implicit_euler_step(model, state, params, w, dt, report);
      break;
    case Integrator::symplectic_euler:
      explicit_step(model, state, params, w, dt, report);
      break;
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

void Springs::geometry(const Model& model, const State& state, DrawableSink& sink) {
  int palette = 0;
  for (const Part& part : model.parts) {
    if (part.num_triangles > 0)
      sink.triangles(
          {.x = state.particles.x,
           .triangles = std::span(model.triangles)
                            .subspan(std::size_t(part.first_triangle), std::size_t(part.num_triangles)),
           .look = Look::cloth,
           .palette = palette});
    else
      sink.lines({.x = state.particles.x,
                  .segments = std::span(model.edges)
                                  .subspan(std::size_t(part.first_edge), std::size_t(part.num_drawn_edges)),
                  .palette = palette});
    ++palette;
  }
}

Samples Springs::samples(const Model&, const State& state, const Params& params, const Workspace& workspace) {
  const bool stepped = workspace.impl && workspace.impl->x0.size() == state.particles.size();
  return {.x0 = stepped ? workspace.impl->x0 : state.particles.x,
          .x = state.particles.x,
          .v = state.particles.v,
          .inverse_mass = state.particles.inverse_mass,
          .radius = params.thickness,
          .friction = params.friction,
          .restitution = params.restitution};
}

void Springs::absorb(const Model&, State& state, std::span<const SampleImpulse> impulses) {
  for (const SampleImpulse& s : impulses) {
    const auto i = static_cast<std::size_t>(s.sample);
    const Real w = state.particles.inverse_mass[i];
    if (w == 0) continue;
    state.particles.v[i] += w * s.impulse;
    state.particles.x[i] += s.displacement;
  }
}

}  // namespace plenum::inline PLENUM_ABI
