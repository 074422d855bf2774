#include "plenum/scene/mesh_source.h"

#include <Eigen/Geometry>

#include "plenum/base/error.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/topology.h"
#include "plenum/io/mesh_reader.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr double degree = 3.14159265358979323846 / 180;

TriangleMesh shape_mesh(const MeshSource& s) {
  switch (s.shape) {
    case MeshKind::file:
      break;
    case MeshKind::grid:
      return grid_mesh(Vec2(s.size_x, s.size_z), s.cells_x, s.cells_z);
    case MeshKind::box:
      return box_mesh(s.half_extents, Index3(s.cells_x, s.cells_y, s.cells_z));
    case MeshKind::icosphere:
      return icosphere_mesh(s.radius, s.subdivisions);
    case MeshKind::cylinder:
      return cylinder_mesh(s.radius, s.half_height, s.segments, s.rings, s.cap_rings);
    case MeshKind::capsule:
      return capsule_mesh(s.radius, s.half_height, s.segments, s.rings, s.cap_rings);
    case MeshKind::cone:
      return cone_mesh(s.radius, s.half_height, s.segments, s.rings, s.cap_rings);
    case MeshKind::torus:
      return torus_mesh(s.major_radius, s.minor_radius, s.segments, s.sides);
  }
  return {};
}

}  // namespace

void MeshSource::describe(Describer& d) {
  const auto is = [&](const char* name, MeshKind kind) { return d.when("shape", name, shape == kind); };
  const Info length{.unit = "m", .min = 1e-9, .max = 1e6};
  const auto with_doc = [](Info info, const char* doc) {
    info.doc = doc;
    return info;
  };
  const Info cells{.min = 1, .max = 10000, .doc = "divisions along this axis"};
  d("shape", shape, {.doc = "a file, or a shape centred at the origin with y up"});
  if (is("file", MeshKind::file)) {
    d("file", file, {.doc = "OBJ, PLY or STL, relative to the scene's folder", .required = true});
    d("repair", repair,
      {.doc = "welds, drops degenerate and duplicate triangles and loose vertices, and orients the rest"});
    if (d.when("repair", "true", repair))
      d("weld", weld,
        {.unit = "m", .min = 0, .max = 1e6, .doc = "vertices at most this far apart become one"});
  }
  if (is("grid", MeshKind::grid)) {
    d("size_x", size_x, with_doc(length, "extent along x"));
    d("size_z", size_z, with_doc(length, "extent along z"));
    d("cells_x", cells_x, cells);
    d("cells_z", cells_z, cells);
  }
  if (is("box", MeshKind::box)) {
    d("half_extents", half_extents, with_doc(length, "half the side lengths"));
    d("cells_x", cells_x, cells);
    d("cells_y", cells_y, cells);
    d("cells_z", cells_z, cells);
  }
  if (is("icosphere", MeshKind::icosphere)) {
    d("radius", radius, with_doc(length, "of the sphere or around the y axis"));
    d("subdivisions", subdivisions,
      {.min = 0, .max = 9, .doc = "how often each triangle of an icosahedron is cut into four"});
  }
  const bool cylinder = is("cylinder", MeshKind::cylinder), capsule = is("capsule", MeshKind::capsule),
             cone = is("cone", MeshKind::cone);
  const bool round = cylinder || capsule || cone;
  if (round) {
    d("radius", radius, with_doc(length, "of the sphere or around the y axis"));
    d("half_height", half_height, with_doc(length, "half the height, without the caps of a capsule"));
    d("rings", rings, {.min = 1, .max = 10000, .doc = "divisions along the side"});
    d("cap_rings", cap_rings, {.min = 1, .max = 10000, .doc = "divisions of the caps"});
  }
  const bool torus = is("torus", MeshKind::torus);
  if (torus) {
    d("major_radius", major_radius, with_doc(length, "from the axis to the middle of the tube"));
    d("minor_radius", minor_radius, with_doc(length, "of the tube"));
    d("sides", sides, {.min = 3, .max = 10000, .doc = "divisions around the tube"});
  }
  if (round || torus) d("segments", segments, {.min = 3, .max = 10000, .doc = "divisions around the axis"});
  d("scale", scale, {.min = 1e-9, .max = 1e9, .doc = "factor on all lengths, applied first"});
  d("rotate", rotate,
    {.unit = "deg", .min = -3600, .max = 3600, .doc = "intrinsic angles about x, then y, then z"});
  d("translate", translate, {.unit = "m", .min = -1e6, .max = 1e6, .doc = "applied last"});
}

double MeshSource::triangles() const {
  const auto number = [](int n) { return static_cast<double>(n); };
  switch (shape) {
    case MeshKind::file:
      return 0;
    case MeshKind::grid:
      return 2 * number(cells_x) * number(cells_z);
    case MeshKind::box:
      return 4 * (number(cells_x) * number(cells_y) + number(cells_y) * number(cells_z) +
                  number(cells_z) * number(cells_x));
    case MeshKind::icosphere:
      return 20 * std::exp2(2 * subdivisions);
    case MeshKind::cylinder:
    case MeshKind::capsule:
    case MeshKind::cone:
      return 2 * number(segments) * (number(rings) + 2 * number(cap_rings));
    case MeshKind::torus:
      return 2 * number(segments) * number(sides);
  }
  return 0;
}

double MeshSource::memory(std::size_t file_bytes) const {
  // A corner of a polygon takes two characters and makes a triangle, in an array that grows by doubling.
  if (shape == MeshKind::file) return 12 * static_cast<double>(file_bytes);
  // A closed mesh of the sphere's kind has two more than half as many vertices as triangles.
  return 2 * triangles() * (sizeof(Index3) + sizeof(Vec3));
}

TriangleMesh make_mesh(const MeshSource& source, const std::string& path) {
  TriangleMesh mesh = source.shape == MeshKind::file ? read_mesh(path, max_mesh_file) : shape_mesh(source);
  if (source.shape == MeshKind::file && source.repair) mesh = repaired(welded(mesh, source.weld));
  const auto angle = [&](int axis) { return static_cast<double>(source.rotate[axis]) * degree; };
  const Mat3 turn = (Eigen::AngleAxisd(angle(0), Eigen::Vector3d::UnitX()) *
                     Eigen::AngleAxisd(angle(1), Eigen::Vector3d::UnitY()) *
                     Eigen::AngleAxisd(angle(2), Eigen::Vector3d::UnitZ()))
                        .toRotationMatrix()
                        .cast<Real>();
  const bool turned = source.rotate != Vec3::Zero();
  for (Vec3& x : mesh.x) {
    x *= source.scale;
    if (turned) x = turn * x;
    x += source.translate;
    if (!x.allFinite())
      throw Error(Problem{.what = "the mesh is not finite after scaling", .remedy = "lower its scale"});
  }
  return mesh;
}

}  // namespace plenum::inline PLENUM_ABI
