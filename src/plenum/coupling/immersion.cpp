#include "plenum/coupling/immersion.h"

namespace plenum::inline PLENUM_ABI {

LedgerEntry immersion_reaction(Medium& medium, std::size_t owner, Boundary& boundary,
                               ImmersionWorkspace& workspace) {
  const Samples samples = boundary.samples();
  workspace.impulses.assign(samples.x.size(), Vec3::Zero());
  medium.reaction(owner, workspace.impulses);
  LedgerEntry entry;
  workspace.on_samples.clear();
  for (std::size_t i = 0; i < samples.x.size(); ++i) {
    const Vec3& j = workspace.impulses[i];
    if (j == Vec3::Zero()) continue;
    entry.book(samples.x[i], j);
    workspace.on_samples.push_back({static_cast<Index>(i), j, Vec3::Zero()});
  }
  boundary.absorb(workspace.on_samples);
  return entry;
}

}  // namespace plenum::inline PLENUM_ABI
