#pragma once
// What surrounds each triangle of a surface, as contacts need it to tell real edges from inner ones.
#include <cstdint>
#include <span>
#include <vector>

#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/mesh.h"

namespace plenum::inline PLENUM_ABI {

/// A dihedral angle that differs from flat by no more than this [rad] counts as flat.
constexpr double flat_angle = 1e-3;

/// What a triangle's sides are, as bits: 1 << k if side k, from corner k to the next, is convex (seen from
/// outside) or a border; 1 << (3 + k) if it is concave; else it is flat; 1 << (6 + k) if it is convex, but by
/// no more than `slight_angle`.
using SideBits = std::uint16_t;
constexpr double slight_angle = 0.05;  ///< [rad]

/// Topology around the triangles of a mesh.
struct SurfaceFeatures {
  explicit SurfaceFeatures(const TriangleMesh& mesh);
  SurfaceFeatures() = default;

  std::vector<Index3> opposite;    ///< [T][3] corner of the neighbour across each side; -1: a border, or more
                                   ///< than two triangles meet there
  std::vector<SideBits> sides;     ///< [T]
  std::vector<std::uint8_t> owns;  ///< [T] 1 << k: of the triangles around corner k this one speaks for it;
                                   ///< 8 << k: for side k
  Rows neighbours;                 ///< of each vertex, joined to it by an edge
  std::vector<Vec3> normals;       ///< [V] outward: the sum of the unit normals of the triangles around
  bool is_closed = false;          ///< no side is a border
};

namespace detail {

/// The bits of a triangle whose neighbours across its sides have the other corners q; where has[k] is false
/// side k is a border.
SideBits side_bits(const Vec3 (&x)[3], const Vec3 (&q)[3], const bool (&has)[3]);

}  // namespace detail

}  // namespace plenum::inline PLENUM_ABI
