#pragma once
// The surface on which a quantity of a grid is zero, as triangles.
#include <cstdint>
#include <span>
#include <vector>

#include "plenum/geometry/mesh.h"
#include "plenum/math/grid_shape.h"

namespace plenum::inline PLENUM_ABI {

/// A triangle mesh with the directions it faces.
struct SurfaceMesh {
  std::vector<Vec3> x;            ///< [N] m
  std::vector<Vec3> normals;      ///< [N] unit
  std::vector<Index3> triangles;  ///< [T][3] < N, counter-clockwise from outside
  void clear() { x.clear(), normals.clear(), triangles.clear(); }
};

struct IsosurfaceWorkspace {
  struct Row {
    Index vertices[3];  ///< crossings of edges that start in the row, along each axis; then where they begin
    Index triangles;    ///< of the cells above the row; then where they begin
  };
  std::vector<std::uint64_t> inside;  ///< one bit for each node, in whole words for each row
  std::vector<Row> rows;
};

/// The surface phi = 0 between cell centres, one layer of ghosts included; phi < 0 is inside. phi
/// [shape.size()] of a grid of three dimensions whose box has its low corner at `low` [m], with cells of side
/// h [m]. The mesh is closed if no ghost is inside: every edge has two triangles, which pass it in opposite
/// directions, and the triangles around each vertex are one fan. Vertices lie on the edges between centres
/// and are shared; normals are the gradient of phi.
///
/// Cells are cut as in marching cubes (Lorensen & Cline 1987). Where a face of a cell has its two pairs of
/// opposite corners on different sides, corners inside are kept apart, in both cells the same (Montani,
/// Scateni & Scopigno 1994, "A modified look-up table for implicit disambiguation of marching cubes").
/// Vertices are counted row by row and found again by counting, without a table of edges (Schroeder, Maynard
/// & Geveci 2015, "Flying edges"). Allocates only to grow.
void isosurface(const GridShape& shape, const Vec3& low, Real h, std::span<const Real> phi,
                IsosurfaceWorkspace& work, SurfaceMesh& out);

namespace detail {
/// How one cell is cut. Corner c of a cell is at (c & 1, c >> 1 & 1, c >> 2); bit c of the case says that it
/// is inside. Edge 4 a + o + 2 p runs along axis a and lies at o and p of the other two axes, in order.
struct CellCut {
  int num_triangles = 0;
  std::int8_t edges[12][3] = {};
};
const CellCut* cell_cuts();  ///< [256]
}  // namespace detail

}  // namespace plenum::inline PLENUM_ABI
