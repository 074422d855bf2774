#pragma once
// Immersion of a boundary's samples in a medium: drag and buoyancy go both ways.
#include <vector>

#include "plenum/coupling/ledger.h"
#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

struct ImmersionWorkspace {
  std::vector<Vec3> impulses;
  std::vector<SampleImpulse> on_samples;
  std::vector<Vec3> areas, normals;
  std::vector<Real> sizes;
};

/// Immerses the samples of a boundary under the number `owner`, with areas and normals of those that have
/// them, for a step of h [s].
void immerse(Medium& medium, std::size_t owner, const Boundary& boundary, Real h,
             ImmersionWorkspace& workspace);

/// Hands the medium's reaction to the samples it was immersed with; returns what the samples were given.
/// Samples at rest by keyframes (zero inverse mass) are told too: their system decides.
LedgerEntry immersion_reaction(Medium& medium, std::size_t owner, Boundary& boundary,
                               ImmersionWorkspace& workspace);

}  // namespace plenum::inline PLENUM_ABI
