#pragma once
// A rope that hangs between two level points, as the solver of springs comes to hang it; what the catenary is
// compared with, and drawn beside.
#include <algorithm>

#include "plenum/solvers/springs/springs.h"

namespace plenum::validation {

/// A rope of `links` links and `length` m, > 1, hung between (0, 0, 0) and (1, 0, 0): it starts straight, its
/// end comes nearer for two seconds, and for the rest it calms down.
struct HangingRope {
  int links = 32;
  double length = 1.5;
  int substeps = 1;      ///< of each of 60 frames a second
  double stiffness = 0;  ///< EA over its weight; 0: it is inextensible
  double seconds = 20;
  Springs::Integrator integrator = Springs::Integrator::implicit_euler;

  static constexpr double linear_density = 0.1;  ///< [kg/m]

  /// Positions [links + 1] m at the end.
  std::vector<Vec3> hang() const {
    Springs::Params params;
    SpringsPart part;
    part.type = SpringsPart::Type::rope;
    part.segments = links;
    part.to = Vec3(static_cast<Real>(length), 0, 0);
    part.linear_density = static_cast<Real>(linear_density);
    part.inextensible = stiffness == 0;
    part.stiffness_of = SpringsPart::StiffnessOf::elongation;
    part.structural_stiffness =
        static_cast<Real>(stiffness * linear_density * length * double(params.gravity.norm()));
    part.bending_stiffness = 0;
    part.pins.resize(2);
    part.pins[0].where = SpringsPin::Where::first;
    part.pins[1].where = SpringsPin::Where::last;
    part.pins[1].group = 1;
    Springs::Model model;
    Springs::State state;
    Springs::Workspace workspace;
    params.integrator = integrator;
    params.point_damping = 3;
    params.pins.resize(2);
    Springs::build({.parts = {part}}, model, state);
    const Real per_second = static_cast<Real>(60 * substeps);
    for (int k = 0; k < static_cast<int>(seconds * 60) * substeps; ++k) {
      params.pins[1].offset[0] = (1 - part.to[0]) * std::min(Real(1), Real(k) / (2 * per_second));
      Springs::step(model, state, params, workspace, 1 / per_second);
    }
    return state.particles.x;
  }
};

}  // namespace plenum::validation
