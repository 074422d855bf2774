#pragma once
// Visual meshes that ride on simulation meshes: each point is a fixed combination of a few vertices.
#include <span>
#include <vector>

#include "plenum/geometry/mesh.h"

namespace plenum::inline PLENUM_ABI {

/// Points bound to tetrahedra: sum_k weights[k] x[vertices[k]]. Weights sum to 1; all are >= 0 for a point
/// inside its tetrahedron, and outside the nearest one extends linearly.
struct TetEmbedding {
  std::vector<Index4> vertices;  ///< [P]
  std::vector<Vec4> weights;     ///< [P]
};

/// Binds points [P] m to the tetrahedra that hold them, or to the nearest ones. Flat tetrahedra are passed
/// over. Throws Error if there is no other.
TetEmbedding embed_in_tetrahedra(std::span<const Vec3> points, std::span<const Vec3> x,
                                 std::span<const Index4> tetrahedra);

/// Positions [P] of bound points for moved vertices x. Parallel, allocates nothing.
void update_embedded(const TetEmbedding& embedding, std::span<const Vec3> x, std::span<Vec3> points);

/// Points bound to triangles, for cloth: sum_k weights[k] x[vertices[k]] + offset n, with n the unit normal
/// of the triangle and the weights those of the foot in its plane.
struct TriangleEmbedding {
  std::vector<Index3> vertices;  ///< [P]
  std::vector<Vec3> weights;     ///< [P]
  std::vector<Real> offset;      ///< [P] m
};

/// Binds points [P] m to the nearest triangles. Degenerate triangles are passed over. Throws Error if there
/// is no other.
TriangleEmbedding embed_in_triangles(std::span<const Vec3> points, std::span<const Vec3> x,
                                     std::span<const Index3> triangles);

/// Positions [P] of bound points for moved vertices x. Parallel, allocates nothing. A triangle without area
/// gives no offset.
void update_embedded(const TriangleEmbedding& embedding, std::span<const Vec3> x, std::span<Vec3> points);

}  // namespace plenum::inline PLENUM_ABI
