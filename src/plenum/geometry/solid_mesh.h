#pragma once
// A triangle mesh prepared to be collided with.
#include <algorithm>

#include "plenum/geometry/distance_field.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/mesh_distance.h"
#include "plenum/geometry/surface_features.h"
#include "plenum/geometry/topology.h"

namespace plenum::inline PLENUM_ABI {

/// The mesh, its exact queries, its sampled distance field and what contacts know of its edges. Share it
/// between shapes by a pointer.
struct SolidMesh {
  /// Triangles that repeat others, however often, count once.
  explicit SolidMesh(const TriangleMesh& triangles, const DistanceFieldOptions& options = {})
      : doubts(collision_doubts(triangles)),
        mesh(without_repeats(triangles)),
        exact(mesh),
        field(mesh, exact, options),
        features(mesh) {
    cores = field.inner_balls(most_cores);
    half_width = std::max(
        cores.empty() ? Real(0) : cores.front().radius,
        static_cast<Real>(enclosed_volume(mesh.x, mesh.triangles) / surface_area(mesh.x, mesh.triangles)));
  }

  /// From the field, but exact near walls too thin for it.
  SignedDistance<Real> signed_distance(const Vec3& x) const {
    return field.is_thin_at(x) ? exact_distance(x) : field.signed_distance(x);
  }
  /// From the triangles alone, everywhere.
  SignedDistance<Real> exact_distance(const Vec3& x) const {
    if (!field.by_winding()) return exact.signed_distance(x);
    Index near = -1;
    const SignedDistance<Real> d = exact.unsigned_distance(x, near);
    return exact.winding_number(x) > 0.5 ? SignedDistance<Real>{-d.distance, -d.normal} : d;
  }

  /// What is doubtful about what it was made of, as a clause; empty: nothing, as of every solid that faces
  /// outward.
  std::string doubts;
  TriangleMesh mesh;
  MeshDistance exact;
  DistanceField field;
  SurfaceFeatures features;
  /// Balls inside that stand for it where it moves fast, the largest first; none if the field is too coarse.
  static constexpr std::size_t most_cores = 16;
  std::vector<DistanceField::Ball> cores;
  /// [m] radius of the largest, but at least volume over area, which is half a thin plate's width however
  /// coarse the field; of closed meshes.
  Real half_width;
};

}  // namespace plenum::inline PLENUM_ABI
