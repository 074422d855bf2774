#pragma once
// Triangle and tetrahedral meshes: plain arrays, nothing more.
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// A triangle mesh. Counter-clockwise corners seen from outside give the outward normal.
struct TriangleMesh {
  std::vector<Vec3> x;            ///< [N] m
  std::vector<Index3> triangles;  ///< [T][3] < N
};

/// A tetrahedral mesh. (x1-x0) x (x2-x0) . (x3-x0) > 0 for every tetrahedron.
struct TetMesh {
  std::vector<Vec3> x;             ///< [N] m
  std::vector<Index4> tetrahedra;  ///< [T][4] < N
};

}  // namespace plenum::inline PLENUM_ABI
