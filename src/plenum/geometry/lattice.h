#pragma once
// Tetrahedral lattices that fill closed surfaces.
#include "plenum/geometry/distance_field.h"
#include "plenum/geometry/mesh.h"

namespace plenum::inline PLENUM_ABI {

struct LatticeOptions {
  /// Moves vertices of the boundary onto the surface, as far as every tetrahedron stays well shaped, and cuts
  /// off what that leaves as spikes. Without, the boundary is jagged.
  bool snap = true;
  Inside inside = Inside::automatic;
};

/// Fills a closed surface with the tetrahedra of a body-centred cubic lattice whose cubes have edges of
/// length `spacing` [m]: all alike, with dihedral angles of 60 and 90 degrees and edges of spacing and
/// spacing sqrt(3)/2, the lattice of isosurface stuffing (Labelle & Shewchuk 2007, section 3). Where
/// the surface has sides on the ends of its bounds, cubes are stretched to fit these, if a quarter is enough,
/// so that boxes along the axes of more than 1.6 cubes are filled whole, edges and corners. Kept are those
/// whose centroid is inside or on such a side; then, instead of stuffing's cuts, boundary vertices move to
/// the closest point of the surface, by halves where a whole step would leave a tetrahedron of under a tenth
/// of the regular one's shape quality. What sticks out and is flat for that, vertices of four tetrahedra at
/// most with less than a twentieth of the volume of one within, is cut off, and what is behind it snapped in
/// turn. Vertices are numbered in order of the lattice. Throws Error for a spacing out of range or so coarse
/// that nothing is kept, and for bad meshes.
TetMesh lattice_tetrahedra(const TriangleMesh& surface, Real spacing, const LatticeOptions& options = {});

/// Shape quality of a tetrahedron: 6 sqrt(2) volume over the cube of the root mean square edge; 1 if regular,
/// 0 if flat, negative if inverted (Parthasarathy et al. 1994).
Real tetrahedron_quality(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d);

}  // namespace plenum::inline PLENUM_ABI
