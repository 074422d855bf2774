#pragma once
// Meshes and their fields to OBJ, PLY and VTU files. Files are written beside their place and renamed into
// it: there is never half a file. Errors (a full disk, a missing folder, ...) throw Error naming the file.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plenum/geometry/mesh.h"
#include "plenum/state/field.h"

namespace plenum::inline PLENUM_ABI {

/// A named array over the points or cells of a mesh, by reference.
struct NamedArray {
  std::string_view name;
  ScalarType type;
  int components;     ///< scalars per item
  std::size_t count;  ///< items
  const void* data;   ///< count * components scalars
};

/// Of scalars or of small fixed-size Eigen vectors.
template <class T>
NamedArray named_array(std::string_view name, std::span<const T> values) {
  using Traits = ItemTraits<T>;
  return {name, scalar_type_of<typename Traits::Scalar>(), Traits::components, values.size(), values.data()};
}
template <class T>
NamedArray named_array(std::string_view name, const std::vector<T>& values) {
  return named_array(name, std::span<const T>(values));
}

enum class PlyEncoding { ascii, binary_little_endian, binary_big_endian };

/// Triangles of an OBJ file that other programs show as an object of their own.
struct ObjObject {
  std::string name;            ///< in one line
  std::size_t first_triangle;  ///< it ends where the next one begins
};

/// Wavefront OBJ. Numbers are written with the fewest digits that read back to the same bits. normals: per
/// vertex, or empty. lines: written as elements `l`. objects: in the order of their triangles; `o name`
/// stands before the faces of each.
std::string format_obj(std::span<const Vec3> x, std::span<const Index3> triangles,
                       std::span<const Vec3> normals = {}, std::span<const Index2> lines = {},
                       std::span<const ObjObject> objects = {});

/// Stanford PLY; point_data become properties of the vertices, vectors as name_0, name_1, ... (normals, an
/// array of three components called "normal", as nx, ny, nz). lines become an element "edge" with
/// vertex1 and vertex2. Without triangles and lines a point cloud.
std::string format_ply(std::span<const Vec3> x, std::span<const Index3> triangles,
                       std::span<const NamedArray> point_data = {},
                       PlyEncoding encoding = PlyEncoding::binary_little_endian,
                       std::span<const Index2> lines = {});

/// What a VTU file holds. Cells are numbered triangles first, then tetrahedra, then lines; with none of them
/// each point is a cell of its own.
struct VtuContent {
  std::span<const Vec3> x = {};  ///< [m]
  std::span<const Index3> triangles = {};
  std::span<const Index4> tetrahedra = {};
  std::span<const Index2> lines = {};
  std::span<const NamedArray> point_data = {};  ///< counts equal that of x
  std::span<const NamedArray> cell_data = {};   ///< counts equal that of the cells
  double time = 0;                              ///< [s]
};

/// VTK's XML format for unstructured grids (version 1.0, appended base64, 64-bit headers), for ParaView.
std::string format_vtu(const VtuContent& content);

void write_obj(const std::string& path, const TriangleMesh& mesh, std::span<const Vec3> normals = {});
void write_ply(const std::string& path, const TriangleMesh& mesh, std::span<const NamedArray> point_data = {},
               PlyEncoding encoding = PlyEncoding::binary_little_endian);
void write_vtu(const std::string& path, const VtuContent& content);

/// A ParaView collection (.pvd) of files that belong to successive times [s].
struct TimedFile {
  double time;
  std::string file;  ///< relative to the collection
};
std::string format_pvd(std::span<const TimedFile> files);

/// write_file_safely for text.
void write_text_safely(const std::string& path, std::string_view text);

}  // namespace plenum::inline PLENUM_ABI
