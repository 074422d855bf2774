// Clusters of soft bodies that find back to their shapes.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "plenum/base/disjoint_sets.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/solvers/pbd/detail/builder.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Pieces that n particles are in, of which each of the sets holds some together.
template <class Sets>
std::size_t count_pieces(std::size_t n, const Sets& sets) {
  DisjointSets joined(n);
  std::size_t pieces = n;
  sets([&](Index a, Index b) { pieces -= joined.join(a, b); });
  return pieces;
}

}  // namespace

/// Clusters of radius cluster_radius over particles joined by these tetrahedra: one about each particle, in
/// their order, that no cluster before it holds. Members hang together within the ball, so that what is near
/// but apart, as two fingers are, does not stick together. Radius 0: one of what hangs together.
void PbdBuilder::clusters(std::span<const Index4> tetrahedra) {
  const auto n = m_.mass.size() - std::size_t(base_);
  const Rows neighbours = vertex_neighbours(n, unique_edges(tetrahedra));
  const Real radius = part_.cluster_radius;
  const Pbd::Matching matching{part_.shape_mode, part_.flexibility,
                               Real(2 * 3.14159265358979323846) * part_.shape_frequency};
  std::vector<std::uint8_t> is_held(n, 0);
  std::vector<Index> seen(n, -1), members;
  const auto first_cluster = m_.cluster_matching.size();
  for (std::size_t first = 0; first < n; ++first) {
    if (is_held[first]) continue;
    const Vec3 centre = x(Index(first));
    members.assign(1, Index(first)), seen[first] = Index(first);
    for (std::size_t open = 0; open < members.size(); ++open)
      for (const Index next : neighbours[std::size_t(members[open])]) {
        if (seen[std::size_t(next)] == Index(first)) continue;
        if (radius > 0 && !((x(next) - centre).norm() <= radius)) continue;
        seen[std::size_t(next)] = Index(first), members.push_back(next);
      }
    std::sort(members.begin(), members.end());
    for (const Index i : members) {
      is_held[std::size_t(i)] = 1;
      m_.cluster_members.items.push_back(base_ + i);
    }
    m_.cluster_members.offsets.push_back(Index(m_.cluster_members.items.size()));
    m_.cluster_matching.push_back(matching);
  }
  const std::size_t wholes = count_pieces(n, [&](auto&& join) {
    for (std::size_t i = 0; i < n; ++i)
      for (const Index j : neighbours[i]) join(Index(i), j);
  });
  const std::size_t pieces = count_pieces(n, [&](auto&& join) {
    for (std::size_t c = first_cluster; c < m_.cluster_matching.size(); ++c)
      for (const Index i : m_.cluster_members[c]) join(i - base_, m_.cluster_members[c].front() - base_);
  });
  if (pieces > wholes)
    m_.doubts.push_back(
        fmt::format("{}.cluster_radius {:.3g} m: clusters have no particles in common, and {} pieces will "
                    "fall apart: make it at least one and a half times the distance of particles, or 0",
                    key_, radius, pieces));
}

}  // namespace plenum::inline PLENUM_ABI
