#pragma once
// A periodic box of Lennard-Jones particles in reduced units: lengths in sigma, energies in eps, masses in m.
#include <cmath>

#include "plenum/solvers/particles/particles.h"

namespace plenum::validation {

/// cells^3 fcc cells of side a, with velocities of that temperature [eps/k].
inline ParticleSystem::Spec fcc_box(int cells, double a, double temperature) {
  ParticleSystem::Spec spec;
  spec.mass = 1;
  spec.max_particles = 0;
  spec.periodic_high = Vec3::Constant(static_cast<Real>(a * cells));
  spec.blocks.resize(1);
  spec.blocks[0].lattice = ParticleBlock::Lattice::fcc;
  spec.blocks[0].low.setZero();
  spec.blocks[0].high = spec.periodic_high;
  spec.blocks[0].spacing = static_cast<Real>(a);
  spec.blocks[0].thermal_speed = static_cast<Real>(std::sqrt(temperature));
  return spec;
}

}  // namespace plenum::validation
