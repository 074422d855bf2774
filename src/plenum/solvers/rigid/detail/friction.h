#pragma once
// Friction of two surfaces.
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Friction of a contact of colliders a and b, whose normal is set: geometric means along the axes of the one
/// whose friction depends more on the direction.
void set_friction(const Rigid::State& state, const Rigid::Collider& a, const Rigid::Collider& b,
                  ContactInput& c);

}}  // namespace plenum::PLENUM_ABI::detail
