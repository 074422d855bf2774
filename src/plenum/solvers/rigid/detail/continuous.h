#pragma once
// Continuous detection: what bodies meet within a step that go too far in it for contacts at its start.
#include <span>

#include "plenum/geometry/collide/time_of_impact.h"
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

constexpr std::uint32_t core_touch_id = 0x7ffffef0u;  ///< of the point of core_touch()
constexpr std::uint32_t guard_id = 0x7fffff00u;       ///< of the points of a guard, four from here
constexpr int most_guards = 2;                        ///< of a pair

/// How a collider moves in dt [s] if nothing holds its body.
Sweep sweep_of(const Rigid::Model& model, const Rigid::State& state, const Vec3& gravity, Real dt,
               const Rigid::Collider& c);

/// The contact that balls inside body b will have with solid a if nothing holds them, as one point of b that
/// is still apart, on the plane of their first touch: what stays outside of them is left to the contacts of
/// the next step. False if no ball comes there.
bool core_touch(const Shape& shape_a, const Sweep& sweep_a, const Rigid::Collider& b, const Shape& shape_b,
                const Sweep& sweep_b, Manifold& m);

/// Whether contacts at a step's start may not tell what the colliders i and j will meet in it: one of them
/// goes, past the other, farther than half its width. All but height fields, below which all is
/// solid.
bool needs_guard(const Rigid::Model& model, const Rigid::State& state, const RigidWorkspace& w, Real dt,
                 Index i, Index j);

/// How many guards a pair that needs them has: meshes are guarded in more points than others.
int num_guards(const Shape& a, const Shape& b);

enum class Guarded {
  no,          ///< the two pass each other
  by_impact,   ///< from the plane of their first touch
  by_contact,  ///< they touch already: from that of the nearest contact
};
/// What keeps two colliders apart that may go far, or turn fast, in a step: the plane in which they first
/// touch, or that already is between them, and one's guard. Its points may come as near the plane as they are
/// when it is touched, or as their room; by_contact a quarter of the size nearer, but for what comes down
/// from farther off on the other's surface. now: the contacts that there are. m [num_guards()]: the guards,
/// empty so far. apart [4 for each] m: from where their points are to meet on A, to where they are to on B,
/// in the world now. round [num_guards()] m: radii of A and B about what stands for them.
Guarded guard(const Rigid::Model& model, const Rigid::State& state, const Rigid::Collider& a,
              const Rigid::Collider& b, const Sweep& sweep_a, const Sweep& sweep_b,
              std::span<const Manifold> now, Manifold* m, Vec3* apart, Vec2* round);

}}  // namespace plenum::PLENUM_ABI::detail
