#pragma once
// Manifolds of pairs that barely move, without looking for them again: the coherence that Coumans 2010,
// "Contact generation" (GDC), and Rouwe 2022, "Architecting Jolt physics" (GDC), build on.
#include "plenum/geometry/collide/manifold.h"
#include "plenum/math/pose.h"

namespace plenum::inline PLENUM_ABI {

/// How B stood in A when their manifold was found, and how far apart its points might then be.
struct ManifoldSeen {
  Pose b_in_a;
  Real margin = -1;  ///< [m]; negative: never again
};

/// Of the smaller one's width: how far B may go in A, and what more margin may be asked for.
inline constexpr Real most_way = Real(5e-4), most_margin = Real(3e-3);
/// [rad] B may turn by. Normals stay with A, so this is by how much they may be wrong.
inline constexpr Real most_turn = Real(5e-4);

/// Carries a manifold found as `seen` says over to where B now stands in A. false if B moved by more than
/// the constants above allow, or the margin [m] is wider than what was looked through; m is then unchanged.
/// size [m] of the smaller one. Points keep their places on both surfaces, separations follow to first order;
/// the second is (2.5e-7 + 5e-7) of the size for flat faces, and as much again where they are round.
inline bool carry_over(const ManifoldSeen& seen, const Pose& b_in_a, Real margin, Real size, Manifold& m) {
  if (!(seen.margin >= 0) || margin > seen.margin + most_margin * size) return false;
  const Vec3 way = b_in_a.position - seen.b_in_a.position;
  if (way.squaredNorm() > most_way * most_way * size * size) return false;
  const Quat turn = b_in_a.rotation * seen.b_in_a.rotation.conjugate();
  if (4 * turn.vec().squaredNorm() > most_turn * most_turn) return false;
  const Vec3 turned = (turn.w() < 0 ? Real(-2) : Real(2)) * turn.vec();
  for (int k = 0; k < m.count; ++k) {
    Manifold::Point& point = m.points[k];
    const Vec3 moved = way + turned.cross(point.x - seen.b_in_a.position);
    point.separation += m.normal.dot(moved);
    point.x += Real(0.5) * moved;
  }
  return true;
}

/// Whether B cannot have come nearer than the margin [m] since it was seen farther away than seen.margin [m].
/// spread [m]: of B's farthest point from its origin.
inline bool stays_apart(const ManifoldSeen& seen, const Pose& b_in_a, Real margin, Real spread) {
  const Vec3 way = b_in_a.position - seen.b_in_a.position;
  const Quat turn = b_in_a.rotation * seen.b_in_a.rotation.conjugate();
  constexpr Real half_turn = Real(3.1416);  // an angle is at most pi times its half's sine
  return margin + way.norm() + half_turn * turn.vec().norm() * spread < seen.margin;
}

}  // namespace plenum::inline PLENUM_ABI
