#pragma once
// Contacts of the pairs that the broad phase found.
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Manifolds of all pairs for a step of dt [s] in so many sub-steps. A pair has one, or several if one of the
/// two is a mesh or height field.
void find_manifolds(const Rigid::Model& model, const Rigid::State& state, const Vec3& gravity, Real dt,
                    int substeps, RigidWorkspace& w);

/// The contacts to solve, of all manifolds with points between bodies that are not asleep, with last step's
/// impulses.
void make_contacts(const Rigid::Model& model, const Rigid::State& state, Real dt, RigidWorkspace& w);

/// The solved contacts, kept for the next step; `old`: those of the last one.
void keep_contacts(const Rigid::Contacts& old, const RigidWorkspace& w, Rigid::Contacts& kept);

/// The pairs without contacts, kept likewise.
void keep_near(const RigidWorkspace& w, Rigid::Near& near);

}}  // namespace plenum::PLENUM_ABI::detail
