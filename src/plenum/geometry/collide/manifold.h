#pragma once
// What the narrow phase finds between two shapes.
#include <cstdint>

#include "plenum/math/pose.h"

namespace plenum::inline PLENUM_ABI {

/// Up to four points at which two shapes touch or soon may. Everything is in the frame of shape A, so that
/// nothing is lost far from the world's origin.
struct Manifold {
  struct Point {
    Vec3 x;            ///< [m] midway between the two surfaces
    Real separation;   ///< [m] along the normal; negative: overlap
    std::uint32_t id;  ///< the features that meet here; the same while the same features meet
  };
  /// With what the normal turns while A and B do, as what touches is a face of A or of B, an edge of each, or
  /// what is round about a centre each or about a line of either (an edge, a capsule's axis).
  enum class Turns : std::uint8_t { with_neither, with_a, with_b, with_edges, with_centres };

  Vec3 normal = Vec3::UnitY();  ///< unit, from A to B
  int count = 0;                ///< 0 to 4
  Turns turns = Turns::with_neither;
  Real apart = 0;       ///< [m] if there are no points: the shapes are at least as far apart as this,
                        ///< and as the margin that was looked through
  Vec3 edge_a, edge_b;  ///< along the edges or the line, the other 0; of any length; only if they turn it
  Point points[4];

  void set_edges(const Vec3& a, const Vec3& b) { turns = Turns::with_edges, edge_a = a, edge_b = b; }
  void set_centres(const Vec3& line_of_a = Vec3::Zero()) {
    turns = Turns::with_centres, edge_a = line_of_a, edge_b.setZero();
  }
  /// Seen from a frame in which this one is turned by q, with A and B swapped.
  void turn_over(const Quat& q) {
    normal = -(q * normal);
    if (turns == Turns::with_edges || turns == Turns::with_centres) {
      edge_a.swap(edge_b);
      edge_a = q * edge_a, edge_b = q * edge_b;
    } else if (turns == Turns::with_a) {
      turns = Turns::with_b;
    } else if (turns == Turns::with_b) {
      turns = Turns::with_a;
    }
  }
};

/// What a pair remembers from its last collision, so that the next one starts there. Zero-initialized for a
/// new pair; part of the state that a checkpoint holds, as it decides between equally good answers.
struct ManifoldCache {
  std::uint8_t kind = 0;  ///< 0: nothing; else what separated or touched last, as the pair names it
  std::uint8_t a[4] = {}, b[4] = {};  ///< its features: faces, edges, or the vertices of a simplex
  std::uint8_t count = 0;             ///< of the simplex
};

}  // namespace plenum::inline PLENUM_ABI
