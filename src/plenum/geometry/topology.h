#pragma once
// What kind of surface a triangle mesh is, and repairs on request.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "plenum/geometry/mesh.h"

namespace plenum::inline PLENUM_ABI {

/// Findings about a triangle mesh. Lists of `first_*` hold at most `most_listed` numbers, for messages.
struct TopologyReport {
  static constexpr std::size_t most_listed = 8;

  std::size_t vertices = 0, triangles = 0, edges = 0;
  std::size_t components = 0;             ///< of triangles connected by shared vertices
  std::size_t boundary_edges = 0;         ///< with one triangle
  std::size_t non_manifold_edges = 0;     ///< with three or more
  std::size_t unbalanced_edges = 0;       ///< of those, whose triangles do not run along it both ways equally
  std::size_t inconsistent_edges = 0;     ///< whose two triangles run along it the same way: one is flipped
  std::size_t bow_tie_vertices = 0;       ///< whose triangles form more than one fan
  std::size_t duplicate_triangles = 0;    ///< with the same three vertices as an earlier one
  std::size_t degenerate_triangles = 0;   ///< with a repeated vertex, or no area within rounding
  std::size_t unreferenced_vertices = 0;  ///< without a triangle
  std::size_t coincident_vertices = 0;    ///< at exactly the place of an earlier one
  std::vector<Index2> first_boundary, first_non_manifold, first_inconsistent;  ///< edges, by their vertices
  std::vector<Index> first_bow_ties, first_duplicates, first_degenerates, first_unreferenced;

  bool closed() const { return triangles > 0 && boundary_edges == 0; }
  /// Every edge has one or two triangles and every vertex one fan of them.
  bool manifold() const { return non_manifold_edges == 0 && bow_tie_vertices == 0; }
  /// Neighbouring triangles agree on which side is out.
  bool oriented() const { return inconsistent_edges == 0 && non_manifold_edges == 0; }
  /// Encloses a volume: closed, manifold, oriented, no degenerate or duplicate triangles.
  bool solid() const {
    return closed() && manifold() && oriented() && degenerate_triangles == 0 && duplicate_triangles == 0;
  }
  /// V - E + F of what is referenced; 2 - 2 genus for each closed component.
  long euler_characteristic() const {
    return long(vertices - unreferenced_vertices) - long(edges) + long(triangles);
  }
  /// A clause that names every defect with its count and first places, e.g. "has 2 boundary edges (3-7, 5-8)
  /// and 1 degenerate triangle (5)"; empty if there is none.
  std::string complaint() const;
};

/// Examines connectivity by vertex numbers: a mesh with a vertex for each corner has boundaries everywhere;
/// weld it first. Triangles [T][3] < N.
TopologyReport topology(std::span<const Vec3> x, std::span<const Index3> triangles);
inline TopologyReport topology(const TriangleMesh& mesh) {
  return topology(mesh.x, mesh.triangles);
}

/// Refuse meshes that a simulation cannot use; Error with the complaint, counts and first places, at the key
/// `name`, and whether repaired(welded(mesh)) mends it. require_solid: an outward surface that encloses a
/// volume; vertices without a triangle are borne. require_surface: cloth, which may have boundaries, and any
/// orientation, but is manifold, without degenerate or duplicate triangles and without loose vertices.
void require_solid(const TriangleMesh& mesh, const std::string& name);
void require_surface(const TriangleMesh& mesh, const std::string& name);

/// What is doubtful about a mesh that others collide with, as a clause ("has ...; repair it"); empty if
/// nothing is. Winding numbers bear boundaries, bow ties and loose vertices. But flipped and duplicate
/// triangles, and unbalanced edges, shift the winding by up to one beside them, so that things fall in or are
/// pushed about there; the sides of degenerate triangles count as sharp edges; and what faces inward is a
/// room.
std::string collision_doubts(const TriangleMesh& mesh);

/// Component number [T] of each triangle, numbered in order of first appearance.
std::vector<Index> triangle_components(std::size_t num_vertices, std::span<const Index3> triangles);

/// Number of the vertex [N] that each vertex is welded to: the first within `tolerance` [m] of it, in order
/// of number, so that no welded vertex moves farther than that. 0 welds equal places only.
std::vector<Index> weld_map(std::span<const Vec3> x, Real tolerance);

/// Joins vertices within `tolerance` [m] and drops the vertices that are then unreferenced. Triangles keep
/// their order; those that collapse are dropped.
TriangleMesh welded(const TriangleMesh& mesh, Real tolerance = 0);

/// Without the triangles whose vertices are where those of an earlier one are, and that turn the same way.
TriangleMesh without_repeats(const TriangleMesh& mesh);

/// Without the vertices that have no triangle; the others are renumbered in order.
TriangleMesh without_loose_vertices(const TriangleMesh& mesh);

/// What repaired() may do.
struct Repair {
  bool drop_degenerate = true;
  bool drop_duplicates = true;
  bool drop_unreferenced = true;
  /// Flips triangles so that neighbours agree, and closed components so that their volume is positive.
  bool orient = true;
};

/// A repaired copy. Components of a surface that no orientation suits (a Moebius strip) keep a seam of
/// inconsistent edges.
TriangleMesh repaired(const TriangleMesh& mesh, const Repair& repair = {});

}  // namespace plenum::inline PLENUM_ABI
