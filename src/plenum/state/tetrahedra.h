#pragma once
// Tetrahedra between the particles of a system, for exports.
#include <span>

#include "plenum/geometry/embedding.h"

namespace plenum::inline PLENUM_ABI {

/// Views of a model's arrays.
struct TetrahedraView {
  std::span<const Index4> tetrahedra = {};  ///< indices of particles, in the order of the field "position"
  /// How the vertices of the surfaces that geometry() shows, one after the other, ride on the particles.
  const TetEmbedding* riding = nullptr;
};

}  // namespace plenum::inline PLENUM_ABI
