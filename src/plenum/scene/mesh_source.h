#pragma once
// Where a scene's triangle meshes come from: a parametric shape, placed by a similarity.
#include "plenum/base/describe.h"
#include "plenum/geometry/mesh.h"

namespace plenum::inline PLENUM_ABI {

enum class MeshKind : int { grid, box, icosphere, cylinder, capsule, cone, torus };
constexpr std::array<const char*, 7> names_of(MeshKind) {
  return {"grid", "box", "icosphere", "cylinder", "capsule", "cone", "torus"};
}

/// What a scene says of a mesh. Shapes are those of geometry/shapes.h, centred at the origin, y up.
struct MeshSource {
  MeshKind shape = MeshKind::grid;
  Real size_x = 1, size_z = 1;  ///< [m]
  int cells_x = 10, cells_y = 10, cells_z = 10;
  Vec3 half_extents = Vec3::Constant(Real(0.5));  ///< [m]
  Real radius = Real(0.5), half_height = Real(0.5);
  Real major_radius = Real(0.5), minor_radius = Real(0.2);
  int subdivisions = 3, segments = 32, rings = 8, cap_rings = 4, sides = 16;
  Real scale = 1;
  Vec3 rotate = Vec3::Zero(), translate = Vec3::Zero();

  void describe(Describer& d);

  /// Bytes of the mesh, twice over for the memory it takes to make it.
  double memory() const;
};

/// The shape, scaled, turned and moved. Throws Error.
TriangleMesh make_mesh(const MeshSource& source);

}  // namespace plenum::inline PLENUM_ABI
