#pragma once
// Who touches whom: when it begins and ends.
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Before the step is solved: what woke goes on touching what it touched when it fell asleep.
void wake_touch(const Rigid::Model& model, Rigid::State& state, RigidWorkspace& w);

/// After the step is solved: what touches now, and what began to and ended since the step before.
void find_touch(const Rigid::Model& model, Rigid::State& state, RigidWorkspace& w);

/// After bodies fell asleep: their touching is put aside.
void rest_touch(const Rigid::Model& model, Rigid::State& state, RigidWorkspace& w);

}}  // namespace plenum::PLENUM_ABI::detail
