#pragma once
// Ghost collisions: a body that slides over others whose tops are flush meets the sides that they turn to
// each other, as every pair is looked at by itself, and a margin ahead (Catto 2020, "Ghost collisions").
#include <vector>

#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI {

struct RigidWorkspace;

namespace detail {

/// Scratch memory of drop_ghosts().
struct FlushScratch {
  /// A contact of the mover that is looked at, with what may have neighbours.
  struct Contact {
    Index slot, contact;  ///< of its manifold; in w.contact_slot
    Index ground;         ///< the collider that is touched
    Vec3 normal;          ///< from it to the mover
    Index owner = -1;     ///< its body, or -1 of all that stands: what does not move against each other
    Index plane = 0;      ///< in `planes`
    Real top = 0;         ///< [m] where it ends along m of the plane
    bool gone = false;    ///< dropped, or felt along another one's normal
  };
  /// Contacts with one owner and one normal m: the highest keeps the mover above the others too.
  struct Plane {
    Vec3 m;
    Index owner;
    Real low;          ///< [m] where the mover begins along m
    Index first, end;  ///< in `order`
  };
  std::vector<Index2> borne;  ///< colliders that move, and contacts of theirs with what may have neighbours
  std::vector<Contact> contacts;
  std::vector<Plane> planes;
  std::vector<Index> order;  ///< of the contacts: by plane, the highest first
};

/// Drops from w.contact_slot the contacts that cannot come about within the step because of another one. Let
/// a collider M have contacts with B and C, which do not move against each other, the latter along the normal
/// m. That keeps M above the plane that C ends at along m. If B ends there too, or below, and M is above it,
/// then the plane parts M and B, now and at the end of the step: no normal of theirs but m itself is felt.
/// Where faces meet as they turn, theirs becomes m. Costs n (log n + k) for a mover with n contacts of k
/// different normals.
void drop_ghosts(const Rigid::Model& model, RigidWorkspace& w);

}  // namespace detail
}  // namespace plenum::inline PLENUM_ABI
