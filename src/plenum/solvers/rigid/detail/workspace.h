#pragma once
// Scratch memory of a step of rigid bodies.
#include <vector>

#include "plenum/geometry/aabb.h"
#include "plenum/geometry/collide/manifold.h"
#include "plenum/solvers/rigid/detail/contact_solver.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI {

struct RigidWorkspace {
  // Broad phase.
  std::vector<Pose> poses;    ///< [K] of the colliders
  std::vector<Aabb> boxes;    ///< [K] with margins
  std::vector<Real> margins;  ///< [K] m
  std::vector<Index> order;   ///< [K] along the sweep's axis
  std::vector<Index2> pairs;  ///< that may touch, sorted
  std::vector<Index2> unsorted_pairs;
  std::vector<Index> starts;  ///< [K + 1]
  // Narrow phase.
  std::vector<Manifold> manifolds;             ///< [pairs]
  std::vector<ManifoldCache> caches;           ///< [pairs]
  std::vector<Index> previous;                 ///< [pairs] contact of the last step, -1
  std::vector<Index> old_starts;               ///< [K + 1] contacts of the last step by their first collider
  std::vector<Index> contact_pair;             ///< [C] pair of each contact
  std::vector<detail::ContactInput> contacts;  ///< [C]
  // Solver.
  detail::SolverBodies bodies;
  detail::ContactSolver solver;
  std::vector<Vec4> q;  ///< [N] at the current sub-step
};

}  // namespace plenum::inline PLENUM_ABI
