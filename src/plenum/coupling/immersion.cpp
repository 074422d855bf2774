#include "plenum/coupling/immersion.h"

namespace plenum::inline PLENUM_ABI {

void immerse(Medium& medium, std::size_t owner, const Boundary& boundary, Real h,
             ImmersionWorkspace& workspace) {
  Samples samples = boundary.samples();
  boundary.find_areas(workspace.areas);
  const std::size_t n = workspace.areas.size();
  if (n == samples.x.size() && n > 0) {
    workspace.normals.resize(n), workspace.sizes.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Real size = workspace.areas[i].norm();
      workspace.sizes[i] = size;
      workspace.normals[i] = size > 0 ? Vec3(workspace.areas[i] / size) : Vec3(Vec3::Zero());
    }
    samples.area = workspace.sizes, samples.normal = workspace.normals;
  }
  medium.immerse(owner, samples, h);
}

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
