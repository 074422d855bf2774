#pragma once
// Shape: a solid that others collide with, known by its signed distance. (Meshes of such solids are in
// shapes.h; the formulas in distance.h.)
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "plenum/geometry/aabb.h"
#include "plenum/geometry/distance.h"
#include "plenum/geometry/ray.h"
#include "plenum/math/pose.h"

namespace plenum::inline PLENUM_ABI {

/// The half-space y <= 0.
struct PlaneShape {};
struct SphereShape {
  Real radius;  ///< [m] > 0
};
struct BoxShape {
  Vec3 half_extents;  ///< [m] > 0
};
/// Points within `radius` of the segment |y| <= half_height on the y axis.
struct CapsuleShape {
  Real radius, half_height;  ///< [m] > 0, >= 0
};
/// About the y axis, |y| <= half_height.
struct CylinderShape {
  Real radius, half_height;  ///< [m] > 0
};
/// About the y axis; base at -half_height, apex at +half_height.
struct ConeShape {
  Real radius, half_height;  ///< [m] > 0
};
/// About the y axis.
struct TorusShape {
  Real major_radius, minor_radius;  ///< [m] major > minor > 0
};

struct ConvexHull;
/// A convex polyhedron (convex_hull.h).
struct ConvexHullShape {
  std::shared_ptr<const ConvexHull> hull;
};

struct SolidMesh;
/// A mesh of any form (solid_mesh.h), `scale` times as large: distances come from its sampled field, near
/// thin walls from the triangles, which rays meet too.
struct MeshShape {
  std::shared_ptr<const SolidMesh> solid;
  Real scale = 1;  ///< > 0
};

class HeightField;
/// The ground below a surface y = h(x, z) (height_field.h), `scale` times as large.
struct HeightFieldShape {
  std::shared_ptr<const HeightField> field;
  Real scale = 1;  ///< > 0
};

/// A solid in its own frame. Cheap to copy.
class Shape {
 public:
  using Variant = std::variant<PlaneShape, SphereShape, BoxShape, CapsuleShape, CylinderShape, ConeShape,
                               TorusShape, MeshShape, ConvexHullShape, HeightFieldShape>;

  /// Throws Error for lengths that are not finite or out of range, and for a null mesh, hull or field.
  Shape(const Variant& variant);  // NOLINT: implicit by intent
  template <class S>
  requires(std::is_constructible_v<Variant, S>) Shape(const S& shape)  // NOLINT: implicit by intent
      : Shape(Variant(shape)) {}

  const Variant& variant() const { return variant_; }

  /// Distance and normal at a point of the shape's frame.
  SignedDistance<Real> signed_distance(const Vec3& x) const;

  /// The same without a field's error, at any cost.
  SignedDistance<Real> exact_distance(const Vec3& x) const;
  /// By how much [m] signed_distance may be too large beside walls too thin for a mesh's field; 0 if there
  /// are none.
  Real thin_wall_error() const;

  /// Distances [m] at world points x [N] of the shape placed at `pose`; distance [N]. Parallel, vectorized;
  /// allocates nothing.
  void signed_distances(const Pose& pose, std::span<const Vec3> x, std::span<Real> distance) const;
  /// The same with unit normals [N] in the world.
  void signed_distances(const Pose& pose, std::span<const Vec3> x, std::span<Real> distance,
                        std::span<Vec3> normal) const;
  /// Closest surface points [N] in the world.
  void closest_points(const Pose& pose, std::span<const Vec3> x, std::span<Vec3> closest) const;

  /// World box around the shape, the smallest but for meshes and height fields (theirs is that of their
  /// turned local box, and of a height field's surface alone); a plane's is infinite.
  Aabb bounds(const Pose& pose = {}) const;

  /// First point of a world ray on the surface of the shape placed at `pose`, from either side.
  std::optional<RayHit> intersect(const Pose& pose, const Ray& ray) const;

 private:
  Variant variant_;
};

/// First moment s in [0, 1] at which a point that moves from x0 to x1 comes within `radius` [m] of the shape
/// that meanwhile moves from pose0 to pose1 (straight, and turning at a constant rate the shorter way); none
/// if it never does. Conservative advancement (Mirtich 1996, section 2.3.2): the distance is 1-Lipschitz, so
/// no crossing is missed, however thin the shape or fast the point; for a mesh with walls too thin for its
/// field it takes the exact distance. A point that starts within `radius` gives 0. Returns a moment at which
/// the distance is between radius and radius + tolerance [m].
std::optional<Real> first_contact(const Shape& shape, const Pose& pose0, const Pose& pose1, const Vec3& x0,
                                  const Vec3& x1, Real radius, Real tolerance);

}  // namespace plenum::inline PLENUM_ABI
