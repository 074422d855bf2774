// Position-based bodies as others meet them.
#include <algorithm>

#include "plenum/integrate/body_impulse.h"
#include "plenum/solvers/pbd/detail/workspace.h"
#include "plenum/state/particle_samples.h"

namespace plenum::inline PLENUM_ABI {

void Pbd::rest_on(Workspace& workspace, std::span<Support> supports) {
  if (!workspace.impl) workspace.impl = std::make_unique<PbdWorkspace>();
  workspace.impl->offered = supports;
}

void Pbd::link(Workspace& workspace, BodyLinks& links) {
  if (!workspace.impl) workspace.impl = std::make_unique<PbdWorkspace>();
  workspace.impl->links = &links;
}

void Pbd::grasp(Workspace& workspace, std::span<const Grasp> grasps) {
  if (!workspace.impl) workspace.impl = std::make_unique<PbdWorkspace>();
  workspace.impl->grasps.take(grasps);
}

void Pbd::gust(Workspace& workspace, const Gust& gust) {
  if (!workspace.impl) workspace.impl = std::make_unique<PbdWorkspace>();
  workspace.impl->gust = gust;
}

Samples Pbd::samples(const Model& model, const State& state, const Params& params,
                     const Workspace& workspace) {
  const PbdWorkspace* const w = workspace.impl.get();
  Samples samples = w ? samples_of(state.particles, w->step_x0.empty() ? w->x0 : w->step_x0, w->v0)
                      : samples_of(state.particles, {}, {});
  samples.radius = solid_distance(model, params);
  samples.faces = model.surface;
  samples.friction = params.friction, samples.restitution = params.restitution;
  samples.has_air =
      !model.triangles.empty() && params.air_density > 0 && (params.drag > 0 || params.lift > 0);
  return samples;
}

void Pbd::absorb(const Model&, State& state, std::span<const SampleImpulse> impulses) {
  take_impulses(state.particles, impulses);
}

std::span<const SolidBody> Pbd::bodies(const Model& model, const State& state, const Params& params,
                                       Workspace& workspace) {
  if (model.bodies.empty()) return {};
  if (!workspace.impl) workspace.impl = std::make_unique<PbdWorkspace>();
  PbdWorkspace& w = *workspace.impl;
  w.body_solids.resize(model.bodies.size());
  const Frames& f = state.frames;
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    const Body& of = model.bodies[i];
    const auto placed = [&](const Pose& frame) {
      return Pose{frame * of.shape_in.position, frame.rotation * of.shape_in.rotation};
    };
    const Pose now = f.pose(i),
               before = w.body_starts.size() == w.body_solids.size() ? w.body_starts[i] : now;
    SolidBody& solid = w.body_solids[i];
    solid.shape = &of.shape;
    solid.pose0 = placed(before), solid.pose = placed(now);
    solid.angular_velocity = f.w[i];
    solid.velocity = f.v[i] + f.w[i].cross(solid.pose.position - f.x[i]);
    solid.inverse_mass = f.inverse_mass[i];
    solid.inverse_inertia = world_inertia<Real>(now.rotation, f.inverse_inertia[i]);
    solid.centre = f.x[i];
    solid.acceleration = solid.inverse_mass > 0 ? params.gravity : Vec3::Zero();
    solid.owner = Index(i);
    solid.friction = of.friction, solid.restitution = of.restitution;
  }
  return w.body_solids;
}

void Pbd::absorb(const Model&, State& state, std::span<const BodyImpulse> impulses) {
  for (const BodyImpulse& j : impulses) take_impulse(state.frames, std::size_t(j.body), j);
}

bool Pbd::meet(Model& model, State&, std::span<const SolidBody> solids, Real) {
  if (model.bodies.empty()) return false;
  const bool others = solids.size() != model.guests.size();
  model.guests.resize(solids.size(), {SphereShape{1}, {}, {}, 0, 0});
  for (std::size_t g = 0; g < solids.size(); ++g)
    model.guests[g] = {*solids[g].shape, solids[g].pose0, solids[g].pose, solids[g].friction,
                       solids[g].restitution};
  return others;
}

std::span<const BodyImpulse> Pbd::pushes(const Workspace& workspace) {
  if (!workspace.impl) return {};
  return workspace.impl->bodies.pushes();
}

}  // namespace plenum::inline PLENUM_ABI
