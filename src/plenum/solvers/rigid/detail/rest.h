#pragma once
// Sleep: islands of bodies that have come to rest cost nothing until something stirs them.
//
// An island is what hangs together by contacts and joints of dynamic bodies. It falls asleep when all of it
// has been slow for a while and it leans on something that stands still; it wakes when something that moves
// comes so near that they may touch within the step, when one of its bodies is pushed or put elsewhere, when
// what it leans on is, and when gravity changes. A liquid that bears it pushes it in every step: that counts
// as leaning, and wakes it when it differs from what it was by enough to set the body moving. All that
// decides is part of the state, so a run that is resumed sleeps and wakes like one that was not interrupted.
#include "plenum/base/parallel.h"
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Start of a step of dt [s]: wakes what was pushed or moved from outside since the last one, and everything
/// if sleeping is switched off or gravity has changed; then lists who moves (RigidWorkspace::active, stirs).
void stir(const Rigid::Model& model, Rigid::State& state, const Rigid::Params& params, Real dt,
          RigidWorkspace& w);

/// After the narrow phase: wakes the islands that something awake may touch within the step, and lists anew
/// who moves. True if there were any; pairs and contacts must then be found once more.
bool wake_touched(const Rigid::Model& model, Rigid::State& state, RigidWorkspace& w);

/// End of a step of dt [s]: lets islands fall asleep. `joints` connects bodies that joints hold together.
void settle(const Rigid::Model& model, Rigid::State& state, const Rigid::Params& params, Real dt,
            FunctionRef<void(Islands&)> joints, RigidWorkspace& w);

/// Drops contacts of colliders from `first` on, which are gone; all bodies are awake.
void forget(Index first, Rigid::State& state, RigidWorkspace& w);

/// Wakes every body.
void wake_all(const Rigid::Model& model, Rigid::State& state, RigidWorkspace& w);

}}  // namespace plenum::PLENUM_ABI::detail
