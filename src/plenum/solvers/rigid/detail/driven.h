#pragma once
// Bodies that their velocities alone move, as these change from step to step.
//
// A velocity is given for a whole step, so what speeds up or turns a corner evenly comes as stairs, and each
// stair is a blow: what stands on a lift hops, and a crate on a cart slips though friction could hold it.
// Within the step they follow a line instead, whose mean is what was given, so that they get to where that
// takes them: as monotone schemes for conservation laws do (van Leer 1979, "Towards the ultimate conservative
// difference scheme V", with the minmod limiter of Roe 1986), by the smaller of the last two changes, and by
// none where these are not in one direction. What jumps, jumps.
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Before a step of dt [s]: finds those whose velocities change in it.
void find_driven(const Rigid::Model& model, const Rigid::State& state, Real dt, RigidWorkspace& w);
/// Gives them the velocities that they have at `when`, -1/2 at the start of the step and 1/2 at its end.
void drive(Real when, RigidWorkspace& w);
/// After the step: keeps what the next one compares with.
void keep_driven(const Rigid::Model& model, Real dt, Rigid::State& state);

}}  // namespace plenum::PLENUM_ABI::detail
