#pragma once
// A liquid by itself, as validation and tests step it.
#include <algorithm>

#include "plenum/solvers/liquid/liquid.h"

namespace plenum::validation {

struct Water {
  Liquid::Model model;
  Liquid::State state;
  Liquid::Params params;
  Liquid::Workspace workspace;
  explicit Water(const Liquid::Spec& spec) { Liquid::build(spec, model, state); }
  Report step(double dt) { return Liquid::step(model, state, params, workspace, static_cast<Real>(dt)); }
  double largest_speed() const {
    double most = 0;
    for (const Vec3& v : state.v) most = std::max(most, static_cast<double>(v.norm()));
    for (int c = 0; c < model.shape.dimensions(); ++c)  // of a level set, on faces
      for (const Real u : state.velocity[c]) most = std::max(most, static_cast<double>(std::abs(u)));
    return most;
  }
};

}  // namespace plenum::validation
