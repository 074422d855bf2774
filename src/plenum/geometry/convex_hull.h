#pragma once
// Convex polyhedra: their topology, for face clipping and edge tests, and their construction from points.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plenum/geometry/aabb.h"
#include "plenum/geometry/distance.h"
#include "plenum/geometry/mesh.h"
#include "plenum/geometry/ray.h"

namespace plenum::inline PLENUM_ABI {

/// A convex polyhedron. Faces are polygons: coplanar triangles are merged. Numbers are small, so that hulls
/// of contacts stay in the cache.
struct ConvexHull {
  struct Face {
    Vec3 normal;          ///< unit, outward
    Real offset;          ///< [m]; normal . x <= offset inside
    std::uint16_t first;  ///< of its corners in `corners`
    std::uint16_t count;  ///< >= 3, counter-clockwise from outside
  };
  /// An edge between two faces; a -> b is counter-clockwise in `left`, b -> a in `right`.
  struct Edge {
    std::uint16_t a, b;
    std::uint16_t left, right;
  };
  std::vector<Vec3> vertices;          ///< [V] m, V <= max_vertices
  std::vector<Face> faces;             ///< [F]
  std::vector<std::uint16_t> corners;  ///< vertices of the faces, one face after the other
  std::vector<Edge> edges;             ///< [E]; V - E + F = 2
  Vec3 centre = Vec3::Zero();          ///< [m] of volume
  Aabb bounds;                         ///< [m]

  /// The same once more, coordinate by coordinate and padded to whole registers, for loops over all of a
  /// kind: first 3 rows of vertices (padded with the last one), then 4 of planes (normal, offset; padded with
  /// a plane infinitely far), then 12 of edges (b - a, normals of left and right, a; padded with zeros).
  /// Made by pack().
  std::vector<Real> lanes;
  static constexpr std::size_t lane = 8;
  static constexpr std::size_t padded(std::size_t n) { return (n + lane - 1) / lane * lane; }
  void pack();

  static constexpr std::size_t max_vertices = 256;

  /// Vertex farthest along `direction`; ties give the lowest number.
  std::uint16_t support(const Vec3& direction) const;
  /// A box about the origin, with its eight vertices in the order of bits x + 2 y + 4 z.
  static ConvexHull box(const Vec3& half_extents);
};

/// Convex hull of points [N >= 4] m by Quickhull (Barber, Dobkin & Huhdanpaa 1996, "The Quickhull algorithm
/// for convex hulls"), in double precision, with thick faces: points nearer to a face than the tolerance (a
/// multiple of the rounding of the largest coordinate) belong to it, and nearly coplanar neighbours are
/// merged until every edge is convex. Duplicates and near-duplicates are welded. More vertices than
/// `max_vertices` are reduced to those that a hull of that many farthest-first picks keeps.
/// Throws Error, naming the remedy, for fewer than four points, points that are not finite, and points of no
/// volume (all within the tolerance of a plane).
ConvexHull convex_hull(std::span<const Vec3> points, std::size_t max_vertices = ConvexHull::max_vertices);

/// The tolerance [m] of convex_hull() for these points: no point is farther outside the hull than four
/// times it.
double convex_hull_tolerance(std::span<const Vec3> points);

/// Triangles of the hull's faces, for drawing and mass properties.
TriangleMesh triangulate(const ConvexHull& hull);

/// Signed distance [m] and its gradient: outside to the nearest of all faces, edges and corners; inside to
/// the nearest plane.
SignedDistance<Real> hull_distance(const ConvexHull& hull, const Vec3& x);

/// First surface point of a ray, from either side. Source: Cyrus & Beck 1978, "Generalized two- and
/// three-dimensional clipping".
std::optional<RayHit> intersect_hull(const Ray& ray, const ConvexHull& hull);

}  // namespace plenum::inline PLENUM_ABI
