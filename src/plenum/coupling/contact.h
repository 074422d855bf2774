#pragma once
// Contact of a boundary's samples with another's rigid bodies, after both have moved through a substep.
#include <vector>

#include "plenum/coupling/depenetration.h"
#include "plenum/coupling/ledger.h"
#include "plenum/coupling/swept_solid.h"

namespace plenum::inline PLENUM_ABI {

/// Scratch memory of contact, reusable.
struct ContactWorkspace {
  struct Contact {
    Index sample;
    Index body;
    Vec3 impulse, displacement, point;
  };
  std::vector<SweptSolid> solids;
  std::vector<std::vector<Contact>> blocks;  ///< found by each block of samples
  std::vector<NearSolids> near;              ///< of each block
  std::vector<SampleImpulse> on_samples;
  std::vector<BodyImpulse> on_bodies;
};

struct ContactResult {
  std::size_t contacts = 0;
  LedgerEntry ledger;  ///< what the samples were given
};

/// Finds every sample that touched or crossed a body of `b` during a step of length h [s], by conservative
/// advancement along its path in the body's moving frame (the distance is 1-Lipschitz, so nothing passes
/// through, however thin or fast), and answers with a Coulomb impulse and the displacement that leaves it on
/// the surface:
///
///   normal    j_n = (1 + e) w / W,  w the normal speed at the moment of touch (contact.cpp, Bounce); below
///             the restitution threshold 2 g h, where e = 0, j_n = -v_n / W with v_n that at the step's end
///   tangent   |j_t| <= mu j_n, directed against the slip
///
/// with W the sum of both sides' effective inverse masses, e and mu the larger restitution and the geometric
/// mean of the frictions. `a` absorbs the impulses and `b` their opposites. Source: Mirtich 1996 (impulses,
/// conservative advancement); Bridson, Fedkiw & Anderson 2002, section 4 (friction on the displacement, so
/// that a sticking sample does not creep). The samples' step spans the part [s0, s1] of the substep through
/// which the bodies' poses are given. What is `buried` is left alone.
ContactResult contact(Boundary& a, Boundary& b, Real h, Real s0, Real s1, ContactWorkspace& workspace,
                      std::span<const Buried> buried = {});

/// The longest way [m] that a sample of `a` whose path comes near a body of `b` travels relative to it in a
/// step of length h [s], as far as its velocity tells; 0 if none does.
Real approach(const Boundary& a, const Boundary& b, Real h);

}  // namespace plenum::inline PLENUM_ABI
