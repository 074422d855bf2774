#pragma once
// Faces of two bodies that touch in one plane, as one contact.
//
// A pallet stands on feet, and a crate of several boxes on several faces: each pair of shapes has a manifold
// of its own, and what holds the bodies up by one face would be held in more ways than it can move. The
// points of all of them are those of one flat face; four of the corners stand for it, as they do for the
// polygon of one pair of shapes. (Compare the reduction of manifolds of Rouwe 2022, "Architecting Jolt
// Physics for Horizon Forbidden West".)
#include <vector>

#include "plenum/solvers/rigid/detail/contact_solver.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI {

struct RigidWorkspace;

namespace detail {

/// Scratch memory of join_faces(), which part_faces() gives back.
struct JoinedFaces {
  /// A contact that may be joined with others of its two bodies.
  struct Candidate {
    Index body_a, body_b;  ///< the first is of the first collider
    Index contact;
  };
  /// A contact that is one with others, as it was.
  struct Member {
    Index contact;
    ContactInput alone;
  };
  /// Contacts that are one; the first of them stands for all.
  struct Group {
    std::size_t first, end;  ///< of `members`
    int count;               ///< of points
    std::size_t member[4];   ///< whose points they are
    int point[4];
  };
  std::vector<Candidate> candidates;
  std::vector<Member> members;
  std::vector<Group> groups;
};

/// Joins contacts of faces in one plane of two bodies, with the same friction and so on: the first of them
/// takes four points of all, the others are left without points.
void join_faces(const Rigid::Model& model, const Rigid::State& state, RigidWorkspace& w);

/// After the step is solved and w.gifts found: each contact has its own points again, and of the impulses
/// what they bore; what they gave is with the first of them.
void part_faces(RigidWorkspace& w);

}  // namespace detail
}  // namespace plenum::inline PLENUM_ABI
