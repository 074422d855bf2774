#pragma once
// What must hold of every byte string given to a mesh reader: an Error, or a valid mesh that the rest of the
// geometry bears, and that survives being written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plenum/base/error.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/topology.h"
#include "plenum/io/mesh_reader.h"
#include "plenum/io/mesh_writer.h"

namespace plenum {

inline void require(bool holds) {
  if (!holds) std::abort();
}

template <class Parse>
int fuzz_mesh_reader(Parse&& parse, const std::uint8_t* data, std::size_t size) {
  TriangleMesh mesh;
  try {
    mesh = parse(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  } catch (const Error& e) {
    require(std::string_view(e.what()).size() < 2000);
    return 0;
  }
  require(!mesh.triangles.empty());
  // No more than the bytes can have meant: a corner takes at least one.
  require(mesh.triangles.size() <= size && mesh.x.size() <= size);
  for (const Vec3& p : mesh.x) require(p.allFinite());
  for (const Index3& t : mesh.triangles)
    for (int k = 0; k < 3; ++k) require(t[k] >= 0 && std::size_t(t[k]) < mesh.x.size());
  topology(mesh);
  repaired(welded(mesh, Real(1e-3)));
  vertex_normals(mesh);
  const TriangleMesh copy = parse_ply(format_ply(mesh.x, mesh.triangles), "copy");
  require(copy.x == mesh.x && copy.triangles == mesh.triangles);
  return 0;
}

}  // namespace plenum
