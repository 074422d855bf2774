#pragma once
// Immersion of a boundary's samples in a medium: drag and buoyancy go both ways.
#include <cstdint>
#include <vector>

#include "plenum/coupling/ledger.h"
#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

struct ImmersionWorkspace {
  std::vector<Vec3> impulses;
  std::vector<SampleImpulse> on_samples;
  std::vector<Vec3> areas, normals;
  std::vector<Real> sizes;
  /// By owner: how many samples were immersed, and their numbers if they have any.
  struct Immersed {
    std::size_t count = 0;
    std::vector<std::uint32_t> id;
  };
  std::vector<Immersed> immersed;
};

/// Immerses the samples of a boundary under the number `owner`, with areas and normals of those that have
/// them, for a step of h [s].
void immerse(Medium& medium, std::size_t owner, const Boundary& boundary, Real h,
             ImmersionWorkspace& workspace);

/// Hands the medium's reaction to the samples it was immersed with, whatever their indices are by now;
/// returns what the samples were given. What ceased to be keeps its impulse; what began has none. Samples at
/// rest by keyframes (zero inverse mass) are told too: their system decides.
LedgerEntry immersion_reaction(Medium& medium, std::size_t owner, Boundary& boundary,
                               ImmersionWorkspace& workspace);

}  // namespace plenum::inline PLENUM_ABI
