#pragma once
// Ghost collisions: a body that slides over others whose tops are flush meets the sides that they turn to
// each other, as every pair is looked at by itself, and a margin ahead (Catto 2020, "Ghost collisions").
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Drops from w.contact_slot the contacts that cannot come about within the step because of another one. Let
/// a collider M have contacts with B and C, which do not move against each other, the latter along the normal
/// m. That keeps M above the plane that C ends at along m. If B ends there too, or below, and M is above it,
/// then the plane parts M and B, now and at the end of the step: no normal of theirs but m itself is felt.
/// Where faces meet as they turn, theirs becomes m.
void drop_ghosts(const Rigid::Model& model, RigidWorkspace& w);

}}  // namespace plenum::PLENUM_ABI::detail
