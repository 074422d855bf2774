#pragma once
// Friction of two surfaces.
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Friction of a contact of colliders a and b, whose normal is set: geometric means along the axes of the one
/// whose friction depends more on the direction.
void set_friction(const Rigid::State& state, const Rigid::Collider& a, const Rigid::Collider& b,
                  ContactInput& c);

/// Mean way from the middle of a face that presses evenly, over that of the contact points: by how much a
/// face twists more easily than its corners alone. The points' polygon, or the disc where they lie on a rim
/// of radius `rim` [m] (0: none) about `centre`, relative to body a as their anchors; half for two points,
/// the ends of a line. Such even pressure is what Contensou 1963, "Couplage entre frottement de glissement et
/// frottement de pivotement", takes.
Real lever_part(const ContactInput& c, const Vec3& centre, Real rim);

}}  // namespace plenum::PLENUM_ABI::detail
