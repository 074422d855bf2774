// What holds position-based bodies: pins and tethers.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "plenum/geometry/surface_paths.h"
#include "plenum/solvers/pbd/detail/builder.h"

namespace plenum::inline PLENUM_ABI {

void PbdBuilder::pin(std::size_t p) {
  const ParticlePin& pin = part_.pins[p];
  const std::string key = fmt::format("{}.pins[{}]", key_, p);
  for (const Index i :
       hold_pinned(pin, key, base_, s_.particles.x, s_.particles.inverse_mass, pinned_grid(part_))) {
    m_.pinned.push_back(i);
    m_.pin_group.push_back(Index(pin.group));
    m_.pin_position.push_back(s_.particles.x[std::size_t(i)]);
  }
}

namespace {
constexpr std::uint8_t pinned = 1, hangs = 2;  // of held_
}

/// What is pinned or hangs without give on a body. Ropes on bodies of their own system have their lengths
/// held otherwise (build_bodies.cpp).
void PbdBuilder::find_held() {
  const auto n = static_cast<std::size_t>(made_.num_particles), base = static_cast<std::size_t>(base_);
  held_.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) held_[i] = s_.particles.inverse_mass[base + i] == 0 ? pinned : 0;
  for (std::size_t k = 0; k < part_.attachments.size(); ++k) {
    const PbdAttachment& attachment = part_.attachments[k];
    if (attachment.compliance > 0 || (attachment.system.empty() && part_.type == Type::rope)) continue;
    for (const Index i : find_pinned(attachment.particles, fmt::format("{}.attachments[{}]", key_, k),
                                     std::span(s_.particles.x).subspan(base), pinned_grid(part_)))
      held_[std::size_t(i)] = hangs;
  }
}

/// One tether to the nearest pin of each group that hangs together, at most of the four nearest groups, and
/// of as many that hang on bodies. What hangs on bodies, which may yield, has them to other groups as well.
void PbdBuilder::tethers() {
  find_held();
  if (part_.type == Type::mesh_cloth && !part_.inflated) return tethers_along();
  const bool is_rope = part_.type == Type::rope;
  if (!is_rope && part_.type != Type::cloth) return;
  const Index n = made_.num_particles, row = is_rope ? n : Index(part_.cells_x) + 1;
  // Groups of neighbouring pins.
  std::vector<Index> group(std::size_t(n), -1);
  std::vector<std::vector<Index>> groups;
  for (Index i = 0; i < n; ++i) {
    if (!held_[std::size_t(i)] || group[std::size_t(i)] >= 0) continue;
    std::vector<Index> members, open = {i};
    group[std::size_t(i)] = Index(groups.size());
    while (!open.empty()) {
      const Index at = open.back();
      open.pop_back();
      members.push_back(at);
      for (Index dj = -1; dj <= 1; ++dj)
        for (Index di = -1; di <= 1; ++di) {
          const Index a = at % row + di, b = at / row + dj, next = b * row + a;
          if (a < 0 || a >= row || next < 0 || next >= n || group[std::size_t(next)] >= 0 ||
              !held_[std::size_t(next)])
            continue;
          group[std::size_t(next)] = Index(groups.size());
          open.push_back(next);
        }
    }
    groups.push_back(std::move(members));
  }
  // Ropes are as long as their segments; a cloth lies flat at rest, and is as wide as it is far.
  const Real segment = is_rope ? m_.rest_length[std::size_t(made_.first_edge)] : Real(0);
  const auto apart = [&](Index i, Index j) {
    return is_rope ? segment * Real(std::abs(i - j)) : (x(i) - x(j)).norm();
  };
  std::vector<std::pair<Real, Index>> found;
  for (Index i = 0; i < n; ++i) {
    if (held_[std::size_t(i)] == pinned) continue;
    found.clear();
    for (const std::vector<Index>& members : groups) {
      if (&members - groups.data() == group[std::size_t(i)]) continue;
      std::pair<Real, Index> nearest{std::numeric_limits<Real>::max(), -1};
      for (const Index j : members) nearest = std::min(nearest, {apart(i, j), j});
      found.push_back(nearest);
    }
    tie(i, found);
  }
}

void PbdBuilder::tie(Index i, std::vector<std::pair<Real, Index>>& found) {
  constexpr int most = 4;
  std::sort(found.begin(), found.end());
  int to_pins = 0, to_bodies = 0;
  for (const auto& [far, to] : found) {
    if ((held_[std::size_t(to)] == pinned ? to_pins : to_bodies)++ >= most) continue;
    m_.tethers.push_back(Index2(base_ + i, base_ + to));
    m_.tether_length.push_back(far);
  }
}

/// The same for meshes, whose cloth is as long as it is along its surface.
void PbdBuilder::tethers_along() {
  const auto n = static_cast<std::size_t>(made_.num_particles);
  const SurfacePaths paths(part_.mesh.x, part_.mesh.triangles);
  std::vector<std::vector<std::pair<Real, Index>>> found(n);
  std::vector<std::uint8_t> seen(n, 0);
  for (Index i = 0; i < Index(n); ++i) {
    if (!held_[std::size_t(i)] || seen[std::size_t(i)]) continue;
    std::vector<Index> members = {i};
    seen[std::size_t(i)] = 1;
    for (std::size_t open = 0; open < members.size(); ++open)
      for (const Index next : paths.neighbours(members[open]))
        if (held_[std::size_t(next)] && !seen[std::size_t(next)])
          seen[std::size_t(next)] = 1, members.push_back(next);
    const SurfacePaths::Distances far = paths.from(members);
    for (std::size_t k = 0; k < n; ++k) {
      const bool is_own = std::find(members.begin(), members.end(), Index(k)) != members.end();
      if (held_[k] == pinned || far.source[k] < 0 || is_own) continue;
      found[k].push_back({far.distance[k], far.source[k]});
    }
  }
  for (std::size_t k = 0; k < n; ++k) tie(Index(k), found[k]);
}

}  // namespace plenum::inline PLENUM_ABI
