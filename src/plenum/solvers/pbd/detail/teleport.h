#pragma once
// What hangs on pins that jump goes with them.
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Moves what hangs on pins that jump in the coming step of dt [s], all by the same way, to where they lead
/// it: as the clothes of a figure that is put elsewhere. A jump is farther than eight times the size of what
/// hangs on them, beyond how they went before. What hangs together is moved as one: parts and bodies by
/// holds; not if any of it hangs on the world, on what is led, or rides. Returns the longest jump [m], or 0:
/// nothing has moved.
Real teleport(const Pbd::Model& model, Pbd::State& state, const Pbd::Params& params, Real dt);

}}  // namespace plenum::PLENUM_ABI::detail
