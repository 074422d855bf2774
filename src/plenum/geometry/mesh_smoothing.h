#pragma once
// Smooths closed triangle meshes without shrinking them.
#include "plenum/geometry/isosurface.h"

namespace plenum::inline PLENUM_ABI {

struct MeshSmoothingWorkspace {
  std::vector<Index> first, incident;  ///< triangles around each vertex, in compressed rows
  std::vector<Vec3> moved;
};

/// `rounds` rounds of two steps, each of which moves every vertex by a share of the way to the mean of its
/// neighbours: `lambda` > 0, which smooths, then a little more in the other direction, such that waves longer
/// than a tenth of the mesh's shortest (in the eigenvalues of the umbrella) keep their height. Source: Taubin
/// 1995, "A signal processing approach to fair surface design", with the pass band 1/lambda + 1/mu = 0.1.
/// Normals become those of the smoothed mesh. The mesh is closed. Allocates only to grow.
void smooth_mesh(SurfaceMesh& mesh, int rounds, MeshSmoothingWorkspace& work, Real lambda = Real(0.5));

}  // namespace plenum::inline PLENUM_ABI
