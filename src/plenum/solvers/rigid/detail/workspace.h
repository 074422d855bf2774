#pragma once
// Scratch memory of a step of rigid bodies.
#include <vector>

#include "plenum/geometry/aabb.h"
#include "plenum/geometry/broad/box_grid.h"
#include "plenum/geometry/broad/box_tree.h"
#include "plenum/geometry/collide/manifold_reuse.h"
#include "plenum/solvers/rigid/detail/contact_solver.h"
#include "plenum/solvers/rigid/detail/flush.h"
#include "plenum/solvers/rigid/detail/islands.h"
#include "plenum/solvers/rigid/detail/joined_faces.h"
#include "plenum/solvers/rigid/detail/joint_solver.h"
#include "plenum/solvers/rigid/detail/whole_step.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI {

namespace detail {
/// A kinematic body whose velocity changes in a step: its mean [m/s, rad/s] and by how much.
struct DrivenBody {
  Index body;
  Vec3 v, w, change, turn_change;
};
}  // namespace detail

struct RigidWorkspace {
  // Who moves.
  std::vector<Index> active;            ///< bodies that the step moves: awake ones and kinematic ones
  std::vector<std::uint8_t> stirs;      ///< [N] awake, or kinematic and moving
  std::vector<std::uint8_t> was_moved;  ///< [N] put elsewhere since the last step, or carried on by itself
  std::vector<std::uint8_t> wakes;      ///< [N] marks of islands, by their lowest body
  bool any_woke = false;
  detail::Islands islands;
  Rigid::Contacts kept, joined;  ///< what is left of a list of contacts, and the list that others join
  // Broad phase.
  std::vector<Vec3> x;                         ///< [N] m of the bodies that the boxes are for
  std::vector<Vec4> turn;                      ///< [N] rotation of these
  std::vector<std::uint8_t> awake;             ///< [N] whether they were awake
  std::vector<Vec3> way, turn_way;             ///< [N] m and rad that its velocities take it in the step
  std::vector<Pose> poses;                     ///< [K] of the colliders
  std::vector<Aabb> boxes;                     ///< [K] with margins
  std::vector<Real> margins;                   ///< [K] m
  std::vector<Real> ways;                      ///< [K] m that a collider may go within the step
  std::vector<Real> tilts;                     ///< [K] by which a plane's normal may turn within it
  std::vector<Index2> pairs;                   ///< that may touch, sorted
  std::vector<std::uint8_t> active_colliders;  ///< [K]
  SweepAndPrune sweep;
  BoxTree tree;
  BoxGrid grid;
  // Narrow phase.
  std::vector<Index> first_slot;           ///< [pairs + 1] of each pair's manifolds
  std::vector<Index> pair_of;              ///< [slots]
  std::vector<Manifold> manifolds;         ///< [slots]
  std::vector<ManifoldCache> caches;       ///< [slots]
  std::vector<ManifoldSeen> seen;          ///< [slots] how pairs stood when manifolds were found
  std::vector<std::uint8_t> carried_over;  ///< [slots] whether that was before this step
  std::vector<Vec3> apart;                 ///< [4 slots] m, of points of guards: see narrow.cpp
  std::vector<Vec2> guard_round;           ///< [slots] m, of guards: radii about what stands for A and for B
  std::vector<Index> previous;             ///< [slots] contact of the last step, -1
  std::vector<Index> old_starts;           ///< [K + 1] contacts of the last step by their first collider
  std::vector<Index> contact_slot;         ///< [C] manifold of each contact
  std::vector<Index> deep;          ///< [N + 1] contacts of each body that are deep: see share_pushes()
  bool any_deep_in_joints = false;  ///< whether bodies that joints hold have such
  detail::FlushScratch flush;
  detail::JoinedFaces joined_faces;
  std::vector<detail::ContactInput> contacts;  ///< [C]
  Rigid::Contacts next;                        ///< those that the step leaves, while it makes them
  std::vector<Index> near_starts;          ///< [K + 1] pairs near in the last step by their first collider
  std::vector<detail::ContactGift> gifts;  ///< [C] of those with guests
  std::vector<Index2> sensed, touching, sleeping_touch, shared;  ///< pairs that touch
  // Solver.
  detail::SolverBodies bodies;
  detail::ContactSolver solver;
  detail::JointSolver joints;
  detail::WholeStep whole;  ///< in place of these two, of the solvers for comparison
  std::vector<Vec4> q;      ///< [N] at the current sub-step
  std::vector<Vec3> spins;  ///< [N] rad/s before contacts of the step
  // Of all parts of a step.
  Real whole_dt = 0;  ///< [s]
  std::vector<detail::DrivenBody> driven;
  std::vector<Index2> begun, ended;  ///< as in Rigid::Touch
  std::vector<Index> just_broken, broke;
  std::vector<Vec3> pulled, turned;  ///< [J] N and N m, sums over the parts
  std::vector<Vec3> step_x;          ///< [N] m where bodies were when it began
  std::vector<Vec4> step_q;          ///< [N]
  // Of links, after the step.
  std::vector<std::uint8_t> is_linked;                ///< [N]
  std::vector<Index> linked, link_ends, link_others;  ///< bodies; neighbours of each, and where they end
};

}  // namespace plenum::inline PLENUM_ABI
