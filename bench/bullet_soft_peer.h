#pragma once
// Bullet's soft bodies, from the same package as its rigid ones, on the same scenes as ours.
#include <span>
#include <vector>

#include "plenum/solvers/pbd/pbd.h"

namespace plenum::bench {

struct SoftPeerRun {
  double ms_per_step = 0;
  std::vector<Vec3> x;  ///< [N] m at the end
};

/// Neighbours and, as Bullet's generateBendingConstraints(2) joins them in memory for every two particles,
/// those of neighbours that are none themselves, in order.
std::vector<Index2> with_bending_links(std::size_t num_particles, std::vector<Index2> links);

/// `steps` steps of 1/60 s of the particles of a model on links, each with five sweeps of position-based
/// links (Bullet has no position-based volumes of tetrahedra) of the greatest stiffness. Air, collisions and
/// damping are off. Empty without Bullet (bullet_peer.h).
SoftPeerRun run_bullet_soft(const Pbd::Model& model, const Pbd::State& state, std::span<const Index2> links,
                            int steps);

}  // namespace plenum::bench
