#pragma once
// Signed distance field of a mesh, sampled on a grid.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plenum/geometry/aabb.h"
#include "plenum/geometry/distance.h"
#include "plenum/geometry/mesh.h"

namespace plenum::inline PLENUM_ABI {

class MeshDistance;

/// How inside is told from outside.
enum class Inside {
  automatic,       ///< pseudonormals if the mesh is a solid (topology.h), else winding numbers
  pseudonormals,   ///< exact for closed, manifold, oriented meshes
  winding_number,  ///< above one half is inside: bears holes, overlaps, self-intersections, loose triangles
};

struct DistanceFieldOptions {
  Index resolution = 64;  ///< cells along the longest side of the mesh, 4 to 1024
  Index padding = 4;      ///< cells around the mesh, 1 to 64
  Inside inside = Inside::automatic;
  std::size_t max_bytes = std::size_t{1} << 30;  ///< refused beyond
};

/// Distance and gradient, exact at the nodes of a grid, and between them the tricubic Hermite interpolant of
/// both with zero mixed derivatives. That is continuous with its first derivatives, reproduces linear
/// functions (a flat face away from its edges is exact), and errs by O(h^2) in the distance and O(h) in the
/// normal where the surface bends, h the spacing. The normal is the normalized gradient of the interpolant
/// itself.
///
/// Between the two sides of a wall thinner than two spacings the interpolant may never reach zero. The cells
/// around such places are marked as thin; SolidMesh answers there with the exact distance.
///
/// Outside of the grid the distance is a lower bound that joins it continuously: with c the nearest point of
/// the grid's box, sqrt(|x - c|^2 + d(c)^2), since the box is convex and holds the surface.
class DistanceField {
 public:
  DistanceField() = default;
  /// Samples the mesh, in parallel; the result does not depend on the number of threads. Throws Error for an
  /// empty mesh, bad indices, options out of range or too much memory.
  explicit DistanceField(const TriangleMesh& mesh, const DistanceFieldOptions& options = {});
  DistanceField(const TriangleMesh& mesh, const MeshDistance& exact, const DistanceFieldOptions& options);

  SignedDistance<Real> signed_distance(const Vec3& x) const;
  Real distance(const Vec3& x) const;

  /// Points [count] m of the field's frame, coordinate by coordinate.
  struct Points {
    const Real *x, *y, *z;
  };
  /// Normals [count] to write, coordinate by coordinate; null pointers if they are not wanted.
  struct Normals {
    Real *x, *y, *z;
  };
  /// Distances [count] m of many points, sixteen at a time. Equal to those of single points up to rounding;
  /// a point's result does not depend on the others.
  void evaluate(std::size_t count, const Points& points, Real* distance, const Normals& normals = {}) const;

  /// Balls about nodes inside, each as large as the mesh holds there, at most `most`: the largest first, then
  /// always the one that leaves the others farthest, until the largest would reach all nodes that are left.
  struct Ball {
    Vec3 centre;
    Real radius;  ///< [m] > 0
  };
  std::vector<Ball> inner_balls(std::size_t most) const;

  /// Whether the mesh has walls thinner than two spacings, and whether x lies within two cells of one.
  bool has_thin_walls() const { return !thin_.empty(); }
  bool is_thin_at(const Vec3& x) const;
  /// Whether inside is told by winding numbers.
  bool by_winding() const { return by_winding_; }

  const Aabb& bounds() const { return bounds_; }  ///< of the grid
  Real spacing() const { return spacing_; }       ///< [m] of the nodes
  const Index3& nodes() const { return nodes_; }  ///< per axis
  std::size_t bytes() const { return samples_.size() * sizeof(Vec4) + thin_.size(); }

 private:
  struct Cell;
  void mark_thin_walls(const MeshDistance& exact);
  Cell locate(const Vec3& x) const;
  template <bool with_normals>
  void evaluate_group(std::size_t count, const Points& points, Real* distance, const Normals& normals) const;

  Aabb bounds_;
  Real spacing_ = 0, inverse_spacing_ = 0;
  Index3 nodes_ = Index3::Zero();
  /// By node (k ny + j) nx + i: spacing times the gradient, then the distance, so that interpolation weights
  /// are free of units.
  std::vector<Vec4> samples_;
  std::vector<std::uint8_t> thin_;  ///< by the node of the cell's low corner; empty: there are none
  bool by_winding_ = false;
};

}  // namespace plenum::inline PLENUM_ABI
