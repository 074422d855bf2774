#pragma once
// A triangle mesh prepared to be collided with.
#include "plenum/geometry/distance_field.h"
#include "plenum/geometry/mesh_distance.h"

namespace plenum::inline PLENUM_ABI {

/// The mesh, its exact queries, and its sampled distance field. Share it between shapes by a pointer.
struct SolidMesh {
  explicit SolidMesh(TriangleMesh triangles, const DistanceFieldOptions& options = {})
      : mesh(std::move(triangles)), exact(mesh), field(mesh, exact, options) {}

  TriangleMesh mesh;
  MeshDistance exact;
  DistanceField field;
};

}  // namespace plenum::inline PLENUM_ABI
