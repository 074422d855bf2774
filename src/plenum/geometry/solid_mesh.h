#pragma once
// A triangle mesh prepared to be collided with.
#include "plenum/geometry/distance_field.h"
#include "plenum/geometry/mesh_distance.h"
#include "plenum/geometry/surface_features.h"

namespace plenum::inline PLENUM_ABI {

/// The mesh, its exact queries, its sampled distance field and what contacts know of its edges. Share it
/// between shapes by a pointer.
struct SolidMesh {
  explicit SolidMesh(TriangleMesh triangles, const DistanceFieldOptions& options = {})
      : mesh(std::move(triangles)), exact(mesh), field(mesh, exact, options), features(mesh) {}

  TriangleMesh mesh;
  MeshDistance exact;
  DistanceField field;
  SurfaceFeatures features;
};

}  // namespace plenum::inline PLENUM_ABI
