#pragma once
// Pairs of colliders whose boxes overlap.
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Poses, margins and boxes of the colliders for a step of dt [s] in which bodies gain at most the speed
/// `gain` [m/s], and the sorted pairs (first < second) of those that belong to different bodies, one of which
/// moves, and whose layers want each other.
void find_pairs(const Rigid::Model& model, const Rigid::State& state, Real gain, Real dt, RigidWorkspace& w);

/// Manifolds of all pairs, and from them the contacts to solve, with last step's impulses.
void find_contacts(const Rigid::Model& model, const Rigid::State& state, RigidWorkspace& w);

/// Keeps the solved contacts for the next step.
void keep_contacts(const RigidWorkspace& w, Rigid::Contacts& contacts);

}}  // namespace plenum::PLENUM_ABI::detail
