#pragma once
// Pairs of colliders whose boxes overlap.
#include <cstring>

#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Whether two vectors are equal, asked fast for many of which most are.
template <class Vector>
bool is_same(const Vector& a, const Vector& b) {
  return std::memcmp(a.data(), b.data(), sizeof(Vector)) == 0 || a == b;
}

/// Whether a collider may go, in a step, so far that contacts at its start do not tell what it meets.
inline bool is_swift(Real way, const Rigid::Collider& c) {
  return way > Real(0.5) * c.size;
}

/// Where a collider is, and how far it may come within a step.
struct ColliderWay {
  Pose pose;
  Real length;  ///< [m]
  Real margin;  ///< [m] within which it looks for contacts
  Real tilt;    ///< by which a plane's normal may turn
  Aabb box;     ///< [m] with the margin
};
/// In a step of dt [s]; `stirs`: whether its body is awake, or kinematic and moving.
ColliderWay way_of(const Rigid::Model& model, const Rigid::State& state, const Rigid::Collider& c, bool stirs,
                   const Vec3& gravity, Real dt);

/// How far [m] collider i may come within the step, where collider j is. A plane that turns comes the farther
/// the farther away that is.
inline Real way_towards(const RigidWorkspace& w, Index i, Index j) {
  if (!(w.tilts[i] > 0)) return w.ways[i];
  const Aabb& box = w.boxes[j];
  return w.ways[i] +
         w.tilts[i] * ((box.centre() - w.poses[i].position).norm() + Real(0.5) * box.size().norm());
}
inline Real way_between(const RigidWorkspace& w, Index i, Index j) {
  return way_towards(w, i, j) + way_towards(w, j, i);
}

/// Poses, ways, margins and boxes of the colliders for a step of dt [s], and the sorted pairs (first <
/// second) of those that belong to different bodies, one of which moves, and whose layers want each other.
void find_pairs(const Rigid::Model& model, const Rigid::State& state, const Vec3& gravity, Real dt,
                Rigid::BroadMethod method, RigidWorkspace& w);

}}  // namespace plenum::PLENUM_ABI::detail
