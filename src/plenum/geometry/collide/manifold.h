#pragma once
// What the narrow phase finds between two shapes.
#include <cstdint>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Up to four points at which two shapes touch or soon may. Everything is in the frame of shape A, so that
/// nothing is lost far from the world's origin.
struct Manifold {
  struct Point {
    Vec3 x;            ///< [m] midway between the two surfaces
    Real separation;   ///< [m] along the normal; negative: overlap
    std::uint32_t id;  ///< the features that meet here; the same while the same features meet
  };
  Vec3 normal = Vec3::UnitY();  ///< unit, from A to B
  int count = 0;                ///< 0 to 4
  Real apart = 0;               ///< [m] if there are no points: the shapes are at least as far apart as this,
                                ///< and as the margin that was looked through
  Point points[4];
};

/// What a pair remembers from its last collision, so that the next one starts there. Zero-initialized for a
/// new pair; part of the state that a checkpoint holds, as it decides between equally good answers.
struct ManifoldCache {
  std::uint8_t kind = 0;  ///< 0: nothing; else what separated or touched last, as the pair names it
  std::uint8_t a[4] = {}, b[4] = {};  ///< its features: faces, edges, or the vertices of a simplex
  std::uint8_t count = 0;             ///< of the simplex
};

}  // namespace plenum::inline PLENUM_ABI
