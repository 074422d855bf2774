#pragma once
// Position-based bodies as tests take them: built, without air, ready to step.
#include "plenum/solvers/pbd/pbd.h"

namespace plenum_test {

using plenum::Real;

struct Built {
  plenum::Pbd::Model model;
  plenum::Pbd::State state;
  plenum::Pbd::Params params = {};
  plenum::Pbd::Workspace workspace = {};
  plenum::Report last;  ///< of the last step

  Built() = default;
  explicit Built(const plenum::PbdSpec& spec) {
    plenum::Pbd::build(spec, model, state);
    params.air_density = 0;
  }
  explicit Built(const plenum::PbdPart& part) : Built(plenum::PbdSpec{.parts = {part}}) {}
  explicit Built(const std::vector<plenum::PbdPart>& parts) : Built(plenum::PbdSpec{.parts = parts}) {}
  const plenum::Report& step(Real dt = Real(1) / 60) {
    return last = plenum::Pbd::step(model, state, params, workspace, dt);
  }
  void run(int steps, Real dt = Real(1) / 60) {
    for (int k = 0; k < steps; ++k) step(dt);
  }
  plenum::Vector3<double> x(std::size_t i) const { return state.particles.x[i].template cast<double>(); }
};

}  // namespace plenum_test
