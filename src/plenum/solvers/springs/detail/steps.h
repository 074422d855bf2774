#pragma once
// One step of a net by each family of methods. Held particles enter with the velocity of their pins.
#include "plenum/solvers/springs/springs.h"

namespace plenum::inline PLENUM_ABI {

struct SpringsWorkspace;

void implicit_euler_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                         SpringsWorkspace& w, Real h, Report& report);
void explicit_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                   SpringsWorkspace& w, Real h, Report& report);

}  // namespace plenum::inline PLENUM_ABI
