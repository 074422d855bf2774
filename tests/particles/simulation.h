#pragma once
// A particle system with everything it needs, outside of any world.
#include "plenum/solvers/particles/particles.h"

namespace plenum {

struct Simulation {
  ParticleSystem::Model model;
  ParticleSystem::State state;
  ParticleSystem::Params params;
  ParticleSystem::Workspace workspace;
  explicit Simulation(const ParticleSystem::Spec& spec) { ParticleSystem::build(spec, model, state); }
  Report step(double h) {
    return ParticleSystem::step(model, state, params, workspace, static_cast<Real>(h));
  }
  std::size_t size() const { return state.size(); }
  Vector3<double> x(std::size_t i) const { return state.particles.x[i].cast<double>(); }
  Vector3<double> v(std::size_t i) const { return state.particles.v[i].cast<double>(); }
};

/// One particle of 1 kg at the origin.
inline ParticleSystem::Spec one_particle(const Vec3& velocity) {
  ParticleSystem::Spec spec;
  spec.max_particles = 1;
  spec.mass = 1;
  spec.positions = {Vec3::Zero()};
  spec.velocities = {velocity};
  return spec;
}

}  // namespace plenum
