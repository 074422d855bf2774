#pragma once
// An inextensible rope that hangs between two level points, as the solver of springs comes to hang it; what
// the catenary is compared with, and drawn beside.
#include <algorithm>

#include "plenum/solvers/springs/springs.h"

namespace plenum::validation {

/// Positions [links + 1] m of a rope of `links` links and `length` m, > 1, hung between (0, 0, 0) and (1, 0,
/// 0) once it is still: it starts straight, its end comes nearer for two seconds, and for 18 more it calms
/// down.
/// `substeps` of each of 60 frames a second.
inline std::vector<Vec3> hanging_rope(int links, double length, int substeps = 1) {
  SpringsPart part;
  part.type = SpringsPart::Type::rope;
  part.segments = links;
  part.to = Vec3(static_cast<Real>(length), 0, 0);
  part.inextensible = true;
  part.bending_stiffness = 0;
  part.pins.resize(2);
  part.pins[0].where = SpringsPin::Where::first;
  part.pins[1].where = SpringsPin::Where::last;
  part.pins[1].group = 1;
  Springs::Model model;
  Springs::State state;
  Springs::Workspace workspace;
  Springs::Params params;
  params.point_damping = 3;
  params.pins.resize(2);
  Springs::build({.parts = {part}}, model, state);
  const Real per_second = static_cast<Real>(60 * substeps);
  for (int k = 0; k < 1200 * substeps; ++k) {
    params.pins[1].offset[0] = (1 - part.to[0]) * std::min(Real(1), Real(k) / (2 * per_second));
    Springs::step(model, state, params, workspace, 1 / per_second);
  }
  return state.particles.x;
}

}  // namespace plenum::validation
