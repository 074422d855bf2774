#pragma once
// Pairs of colliders whose boxes overlap.
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Whether a collider may go, in a step, so far that contacts at its start do not tell what it meets.
inline bool is_swift(Real way, const Rigid::Collider& c) {
  return way > Real(0.5) * c.size;
}

/// Poses, ways, margins and boxes of the colliders for a step of dt [s], and the sorted pairs (first <
/// second) of those that belong to different bodies, one of which moves, and whose layers want each other.
void find_pairs(const Rigid::Model& model, const Rigid::State& state, const Vec3& gravity, Real dt,
                Rigid::BroadMethod method, RigidWorkspace& w);

}}  // namespace plenum::PLENUM_ABI::detail
