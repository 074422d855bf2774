#pragma once
// Where solids lie between the vertices of a mesh: across its faces, or wholly inside of its tetrahedra.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/geometry/bvh.h"
#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {

/// Faces that reach into a solid between their corners.
struct FacesInside {
  std::size_t triangles = 0, edges = 0;
  Real depth = 0;          ///< [m] of the deepest place
  Vec3 at = Vec3::Zero();  ///< [m] that place

  bool empty() const { return triangles + edges == 0; }
  /// The corners of edges (a, b, b) are two.
  void add(const Index3& face, Real deep, const Vec3& where);
  void add(const FacesInside& others);
};

/// As a clause: "2 triangles `of` start up to 0.1 m deep inside `solid` between their particles, at
/// [0, 1, 0]"; edges are called segments, as those of ropes.
std::string told_of_faces(const FacesInside& faces, const std::string& of, const std::string& solid);

/// A mesh as it lies now, to be asked for many solids. Keeps views of what it is made of.
class MeshOverlaps {
 public:
  /// faces: triangles, and edges as (a, b, b).
  MeshOverlaps(std::span<const Vec3> x, std::span<const Index3> faces, std::span<const Index4> tetrahedra);

  std::span<const Index3> faces() const { return faces_; }
  std::span<const Index4> tetrahedra() const { return tetrahedra_; }

  /// Calls visit(face, depth, place) for faces that reach deeper than `least` [m] into the shape placed at
  /// `pose`, but for those of which a corner does, with how deep, and where they do. In shapes that are not
  /// convex some may be missed.
  void faces_inside(const Shape& shape, const Pose& pose, Real least,
                    FunctionRef<void(Index, Real, const Vec3&)> visit) const;
  /// A tetrahedron with a point inside of it, of those that count; -1: none. With some slack, part of its
  /// heights, the point may lie on a face: whoever is between two tetrahedra is in a body too.
  Index tetrahedron_around(const Vec3& at, Real slack, FunctionRef<bool(Index)> counts) const;
  /// One around the middle of a shape placed at `pose`, as is any that holds all of it; -1: none.
  Index tetrahedron_around(const Shape& shape, const Pose& pose, FunctionRef<bool(Index)> counts) const;

 private:
  std::span<const Vec3> x_;
  std::span<const Index3> faces_;
  std::span<const Index4> tetrahedra_;
  std::vector<Aabb> face_boxes_;
  std::vector<Aabb> run_boxes_;  ///< of faces in a row, which lie side by side in most meshes
  Bvh tetrahedron_tree_;
};

}  // namespace plenum::inline PLENUM_ABI
