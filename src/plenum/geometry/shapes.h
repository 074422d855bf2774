#pragma once
// Parametric meshes, centred at the origin, y up, outward orientation. All but the grid are closed: no two
// vertices share a place and every edge has two triangles. Arguments out of range throw Error.
#include <span>

#include "plenum/geometry/mesh.h"

namespace plenum::inline PLENUM_ABI {

/// How the cells of a grid are cut into two triangles.
enum class Diagonals {
  same,         ///< all from (i, j) to (i+1, j+1)
  alternating,  ///< in a checkerboard, so that the grid has no preferred diagonal
};

/// Rectangle in the plane y = 0 with normal +y. Vertex (i, j) has number j (nx + 1) + i and lies at
/// (size_x (i/nx - 1/2), 0, size_z (j/nz - 1/2)). size [m] > 0; nx, nz >= 1 cells.
TriangleMesh grid_mesh(const Vec2& size, Index nx, Index nz, Diagonals diagonals = Diagonals::alternating);

/// Box with half extents [m] > 0 and cells >= 1 per axis.
TriangleMesh box_mesh(const Vec3& half_extents, const Index3& cells = Index3(1, 1, 1));

/// Sphere of radius [m] > 0: an icosahedron, each triangle cut into four `subdivisions` times (0 to 9), with
/// its 10 * 4^subdivisions + 2 vertices on the sphere.
TriangleMesh icosphere_mesh(Real radius, int subdivisions);

/// Cylinder about the y axis, |y| <= half_height. segments >= 3 around, rings >= 1 along the side, cap_rings
/// >= 1 from the rim to the middle of each cap.
TriangleMesh cylinder_mesh(Real radius, Real half_height, Index segments, Index rings = 1,
                           Index cap_rings = 1);

/// Capsule about the y axis: a cylinder |y| <= half_height with hemispheres on its ends. segments >= 3
/// around, rings >= 1 along the side, cap_rings >= 1 from the rim to the pole.
TriangleMesh capsule_mesh(Real radius, Real half_height, Index segments, Index rings = 1,
                          Index cap_rings = 4);

/// Cone about the y axis with its base at y = -half_height and its apex at y = +half_height. rings >= 1 along
/// the slope, cap_rings >= 1 on the base.
TriangleMesh cone_mesh(Real radius, Real half_height, Index segments, Index rings = 1, Index cap_rings = 1);

/// Torus about the y axis. major_radius > minor_radius > 0 [m]; segments >= 3 around the axis, sides >= 3
/// around the tube.
TriangleMesh torus_mesh(Real major_radius, Real minor_radius, Index segments, Index sides);

/// Surface swept by a profile turned about the y axis: points (distance from the axis, height) [m], the first
/// and the last on the axis, none else. The outside is to its right where distance points right and height
/// up: from the bottom along the outside to the top. A cup's goes over its rim and down to the middle of its
/// ground; one that runs the other way encloses a room. segments >= 3 around.
TriangleMesh revolved_mesh(std::span<const Vec2> profile, Index segments);

/// Box filled with five tetrahedra a cell, mirrored from cell to neighbour so that faces match. Vertex
/// (i, j, k) has number (k (ny + 1) + j) (nx + 1) + i. half_extents [m] > 0; cells >= 1 per axis.
TetMesh box_tetrahedra(const Vec3& half_extents, const Index3& cells);

}  // namespace plenum::inline PLENUM_ABI
