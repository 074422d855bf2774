#pragma once
// Who touches whom: edges, neighbours, incident triangles. Every result is sorted, hence the same everywhere.
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Lists of items for each of `size()` owners, in compressed rows: those of owner i are
/// items[offsets[i] .. offsets[i+1]), in increasing order.
struct Rows {
  std::vector<Index> offsets = {0};  ///< [owners + 1]
  std::vector<Index> items;
  std::size_t size() const { return offsets.size() - 1; }
  std::span<const Index> operator[](std::size_t owner) const {
    return {items.data() + offsets[owner], items.data() + offsets[owner + 1]};
  }
};

/// Triangles that touch each vertex. triangles [T][3] < num_vertices.
Rows vertex_triangles(std::size_t num_vertices, std::span<const Index3> triangles);

/// Unique undirected edges (a < b), sorted by a, then b.
std::vector<Index2> unique_edges(std::span<const Index3> triangles);
std::vector<Index2> unique_edges(std::span<const Index4> tetrahedra);

/// Vertices joined to each vertex by an edge. edges [E][2] < num_vertices, each undirected edge once.
Rows vertex_neighbours(std::size_t num_vertices, std::span<const Index2> edges);

/// One side of a triangle: half-edge `corner` of `triangle` runs from its vertex `corner` to the next one.
struct HalfEdge {
  Index low, high;  ///< the two vertices, low < high (equal in a degenerate triangle)
  Index triangle;
  Index corner;  ///< 0, 1 or 2
  bool forward;  ///< runs from low to high
};

/// All 3 T half-edges sorted by (low, high, triangle, corner): those of an edge are neighbours in the list.
std::vector<HalfEdge> sorted_half_edges(std::span<const Index3> triangles);

/// Pairs of triangles that share an edge, as (a, b, c, d): edge a-b, and the corners opposite to it; triangle
/// (a, b, c) has the orientation of the mesh. Only edges with exactly two triangles, sorted.
std::vector<Index4> hinges(std::span<const Index3> triangles);

/// For each triangle the neighbours across the sides (0,1), (1,2), (2,0); -1 where there is none or more than
/// one.
std::vector<Index3> triangle_neighbours(std::span<const Index3> triangles);

/// Faces that belong to exactly one tetrahedron, oriented outward for tetrahedra of positive volume.
std::vector<Index3> boundary_triangles(std::span<const Index4> tetrahedra);

}  // namespace plenum::inline PLENUM_ABI
