#pragma once
// Ghost collisions: a body that slides over others whose tops are flush meets the sides that they turn to
// each other, as every pair is looked at by itself, and a margin ahead (Catto 2020, "Ghost collisions").
#include <limits>
#include <vector>

#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI {

struct RigidWorkspace;

namespace detail {

/// Cosine above which two normals are one: turned aside by 0.001 rad, what falls loses as small a part of its
/// speed.
constexpr Real same_normal = Real(1 - 5e-7);

/// Scratch memory of drop_ghosts().
struct FlushScratch {
  /// A contact of the mover that is looked at.
  struct Contact {
    Index slot, contact;    ///< of its manifold; in w.contact_slot
    Index ground;           ///< the collider that is touched
    Vec3 normal;            ///< from it to the mover
    Index plane = 0;        ///< in `planes`
    Real top = 0;           ///< [m] where `ground` ends along m of the plane
    bool gone = false;      ///< dropped, or felt along another one's normal
    int count = 0;          ///< of its points
    Vec3 x[4] = {};         ///< [m] midway between the surfaces
    Real half_gap[4] = {};  ///< [m] half of the separation, or overlap
  };
  /// Contacts with one normal m: the highest keeps the mover above the others too.
  struct Plane {
    Vec3 m;
    Real low =
        std::numeric_limits<Real>::max();  ///< [m] where the mover begins along m, or more until sorted
    Index first = 0, end = 0;              ///< in `order`
    bool is_sorted = false;
  };
  /// A contact of a collider with one of a group of colliders that move alike.
  struct Borne {
    Index mover, group, contact;
  };
  std::vector<Contact> contacts;
  std::vector<Plane> planes;
  std::vector<Index> order;  ///< of the contacts of sorted planes, each one's highest first
  std::vector<Borne> borne;
  std::vector<Index2> pairs;            ///< [C] colliders, -1 if dropped before
  std::vector<std::uint8_t> slides;     ///< [C] whether the two go past each other
  std::vector<std::uint8_t> is_slider;  ///< [K] whether a collider goes past one that moves, too
  std::vector<Index> heads, next;  ///< [K], [2 C] lists of each slider's contacts: twice their number, + 1
                                   ///< for the second of the pair
};

/// Drops from w.contact_slot the contacts that cannot come about within the step because of another one. Let
/// a collider M have contacts with B and C, which move alike along m, the normal of the latter. That keeps M
/// above the plane that C ends at along m. If B ends there too, or below, and M is above it, then the plane
/// parts M and B, now and at the end of the step: no normal of theirs but m itself is felt. Where faces meet
/// as they turn, theirs becomes m. B and C move alike if they belong to one body, or no force moves them;
/// otherwise B must not rise above C within the step, as they move now, and M not drive C before it. Costs n
/// (log n + k) for a mover with n contacts of k different normals.
void drop_ghosts(const Rigid::Model& model, RigidWorkspace& w);

}  // namespace detail
}  // namespace plenum::inline PLENUM_ABI
