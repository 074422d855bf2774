#pragma once
// Solids of other systems among the bodies.
//
// A guest is a body like the others, after the own ones, of one collider: fixed, or kinematic while it moves.
// So whatever holds for bodies that no force moves holds for it: pairs, manifolds, continuous contacts,
// sleep, touches, queries. Its place and velocities are set before each step, such that it arrives where its
// owner says that it has gone; what it was given is told after it.
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// After a part of a step, before bodies fall asleep: adds what contacts gave to guests, sorted by these.
void find_pushes(const Rigid::Model& model, const Rigid::State& state, RigidWorkspace& w,
                 std::vector<BodyImpulse>& out);

}}  // namespace plenum::PLENUM_ABI::detail
