#include "plenum/coupling/immersion.h"

#include <algorithm>

namespace plenum::inline PLENUM_ABI {
namespace {

/// Gives impulses of samples with the numbers `before` to those that have these now; the others get none.
void follow(std::span<const std::uint32_t> before, std::span<const std::uint32_t> now,
            std::vector<Vec3>& given) {
  const std::size_t n = before.size();
  given.resize(n + now.size(), Vec3::Zero());
  const std::uint32_t last = n > 0 ? *std::max_element(before.begin(), before.end()) : 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    Vec3& to = given[n + i];
    if (i < n && before[i] == now[i]) {
      to = given[i];
    } else if (n > 0 && now[i] <= last) {
      // Places of the dead are taken by the last of the living.
      std::size_t from = n;
      while (from > 0 && before[from - 1] != now[i]) --from;
      if (from > 0) to = given[from - 1];
    }
  }
  given.erase(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(n));
}

}  // namespace

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
  if (workspace.immersed.size() <= owner) workspace.immersed.resize(owner + 1);
  workspace.immersed[owner].count = samples.x.size();
  workspace.immersed[owner].id.assign(samples.id.begin(), samples.id.end());
  medium.immerse(owner, samples, h);
}

LedgerEntry immersion_reaction(Medium& medium, std::size_t owner, Boundary& boundary,
                               ImmersionWorkspace& workspace) {
  const Samples samples = boundary.samples();
  const ImmersionWorkspace::Immersed& before = workspace.immersed[owner];
  workspace.impulses.assign(before.count, Vec3::Zero());
  medium.reaction(owner, workspace.impulses);
  if (!samples.id.empty()) follow(before.id, samples.id, workspace.impulses);
  workspace.impulses.resize(samples.x.size(), Vec3::Zero());
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
