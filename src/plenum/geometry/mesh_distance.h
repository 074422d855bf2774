#pragma once
// Exact distance and ray queries of a triangle mesh through a bounding volume hierarchy.
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "plenum/geometry/bvh.h"
#include "plenum/geometry/detail/triangle_block.h"
#include "plenum/geometry/distance.h"
#include "plenum/geometry/mesh.h"
#include "plenum/geometry/triangle_distance.h"

namespace plenum::inline PLENUM_ABI {

/// Closest point of a mesh.
struct ClosestPoint {
  Real distance;     ///< [m] >= 0
  Vec3 point;        ///< [m]
  Index triangle;    ///< -1: none within the limit
  Vec3 barycentric;  ///< weights of the triangle's corners
};

/// A still mesh prepared for queries. Keeps its own copy of the corners, in the order of the tree's leaves.
/// The mesh must have a triangle and indices in range; Error otherwise.
class MeshDistance {
 public:
  explicit MeshDistance(const TriangleMesh& mesh);

  /// Closest point within `limit` [m] of x.
  ClosestPoint closest(const Vec3& x, Real limit = std::numeric_limits<Real>::infinity()) const;

  /// Signed distance to a closed, manifold, oriented mesh: the sign by the angle-weighted pseudonormal of the
  /// closest feature (Baerentzen & Aanaes 2005), evaluated in double, so that it is exact. `near` is a
  /// triangle thought to be close (any will do, -1 for none): the nearer, the faster. On return, the closest
  /// one.
  SignedDistance<Real> signed_distance(const Vec3& x, Index& near) const;
  SignedDistance<Real> signed_distance(const Vec3& x) const {
    Index near = -1;
    return signed_distance(x, near);
  }

  /// Unsigned distance, exact to double's rounding for the triangle found, with the direction away from the
  /// closest point.
  SignedDistance<Real> unsigned_distance(const Vec3& x, Index& near) const;

  /// Generalized winding number of the mesh about x: 1 inside and 0 outside a closed mesh, in between near
  /// the holes of an open one (Jacobson et al. 2013). Far groups of triangles count as dipoles (Barill et al.
  /// 2018, first order, at more than `accuracy` radii), near ones by their solid angles (van Oosterom &
  /// Strackee 1983).
  double winding_number(const Vec3& x, double accuracy = 2.5) const;

  std::optional<RayHit> intersect(const Ray& ray) const;

  Aabb bounds() const { return bvh_.bounds(); }
  const Bvh& bvh() const { return bvh_; }

 private:
  struct Triangle {
    Vec3 a, b, c;
  };
  struct Dipole {
    Vector3<double> centre, area;  // area-weighted mean point; sum of area vectors
    double radius;                 // of the ball about the centre that holds the triangles
  };
  Index nearest_slot(const Vec3& x, Real& squared, Index hint) const;
  Vector3<double> exact_offset(const Vec3& x, Index slot, Feature& feature) const;

  Bvh bvh_;
  std::vector<Triangle> triangles_;                 // by slot, i.e. in the order of the tree's leaves
  std::vector<detail::TriangleBlock> blocks_;       // a leaf each
  std::vector<Index> block_of_;                     // by the leaf's first slot
  std::vector<Index> slot_of_;                      // of each triangle of the mesh
  std::vector<std::array<Vec3, 7>> pseudonormals_;  // by slot, of each Feature; not unit
  std::vector<Dipole> dipoles_;                     // by node
};

}  // namespace plenum::inline PLENUM_ABI
