#pragma once
// Where a scene's triangle meshes come from: a file, or a parametric shape; placed by a similarity.
#include <string>
#include <vector>

#include "plenum/base/describe.h"
#include "plenum/geometry/mesh.h"

namespace plenum::inline PLENUM_ABI {

enum class MeshKind : int { file, grid, box, icosphere, cylinder, capsule, cone, torus };
constexpr std::array<const char*, 8> names_of(MeshKind) {
  return {"file", "grid", "box", "icosphere", "cylinder", "capsule", "cone", "torus"};
}

/// What a scene says of a mesh. Shapes are those of geometry/shapes.h, centred at the origin, y up.
struct MeshSource {
  MeshKind shape = MeshKind::file;
  std::string file;             ///< relative to the scene's folder
  bool repair = false;          ///< weld, drop what is degenerate, duplicate or loose, and orient
  Real weld = 0;                ///< [m] vertices closer than this become one
  Real size_x = 1, size_z = 1;  ///< [m]
  int cells_x = 10, cells_y = 10, cells_z = 10;
  Vec3 half_extents = Vec3::Constant(Real(0.5));  ///< [m]
  Real radius = Real(0.5), half_height = Real(0.5);
  Real major_radius = Real(0.5), minor_radius = Real(0.2);
  int subdivisions = 3, segments = 32, rings = 8, cap_rings = 4, sides = 16;
  Real scale = 1;
  Vec3 rotate = Vec3::Zero(), translate = Vec3::Zero();

  void describe(Describer& d);

  /// Number of triangles; 0 of a file, which has to be read to know.
  double triangles() const;
  /// Bytes of the mesh, twice over for the memory it takes to make it. Of a file, from its size.
  double memory(std::size_t file_bytes) const;
};

/// The shape, or the mesh of the file at `path`, scaled, turned and moved. Throws Error.
TriangleMesh make_mesh(const MeshSource& source, const std::string& path);

/// Largest mesh file that is read.
inline constexpr std::size_t max_mesh_file = std::size_t{1} << 30;

}  // namespace plenum::inline PLENUM_ABI
