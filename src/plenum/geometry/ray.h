#pragma once
// Rays against triangles, boxes and primitives. All give the first surface point of the ray with parameter in
// [t_min, t_max], from either side of the surface.
#include <Eigen/Geometry>
#include <limits>
#include <optional>

#include "plenum/geometry/aabb.h"

namespace plenum::inline PLENUM_ABI {

/// The points origin + t direction, t_min <= t <= t_max. The direction need not have unit length.
struct Ray {
  Vec3 origin;     ///< [m]
  Vec3 direction;  ///< not zero
  Real t_min = 0;
  Real t_max = std::numeric_limits<Real>::infinity();

  Vec3 at(Real t) const { return origin + t * direction; }
};

struct RayHit {
  Real t;                           ///< parameter of the ray
  Vec3 normal;                      ///< outward unit normal of the surface, whichever side the ray comes from
  Index triangle = -1;              ///< for meshes
  Vec3 barycentric = Vec3::Zero();  ///< for meshes: weights of the triangle's corners
};

/// A ray prepared for many triangles. Source: Woop, Benthin & Wald 2013, "Watertight ray/triangle
/// intersection", Journal of Computer Graphics Techniques 2(1): the ray becomes the z axis of a sheared
/// frame, where a shared edge is judged by the same arithmetic in both triangles, so that none lets the ray
/// through.
class WatertightRay {
 public:
  explicit WatertightRay(const Ray& ray);

  /// Parameter, corner weights of the hit. The normal is left to the caller. t within [t_min, t_max].
  struct Hit {
    Real t;
    Vec3 barycentric;
  };
  std::optional<Hit> intersect(const Vec3& a, const Vec3& b, const Vec3& c, Real t_max) const;

  /// Whether the ray meets the box before t_max; may say yes for a box missed by a rounding error, never no
  /// for one that is met. entry: parameter at which it enters.
  bool meets(const Vec3& low, const Vec3& high, Real t_max, Real& entry) const;

  const Ray& ray() const { return ray_; }

 private:
  Ray ray_;
  int kx_, ky_, kz_;   // axes; kz_ is the direction's largest
  Real sx_, sy_, sz_;  // shear
  Vec3 inverse_;       // 1 / direction, 0 along slabs
};

/// The unit normal of the triangle comes with the hit; triangle = -1.
std::optional<RayHit> intersect_triangle(const Ray& ray, const Vec3& a, const Vec3& b, const Vec3& c);

// Primitives in their own frames, as in distance.h.
std::optional<RayHit> intersect_plane(const Ray& ray);
std::optional<RayHit> intersect_sphere(const Ray& ray, Real radius);
std::optional<RayHit> intersect_box(const Ray& ray, const Vec3& half_extents);
std::optional<RayHit> intersect_capsule(const Ray& ray, Real radius, Real half_height);
std::optional<RayHit> intersect_cylinder(const Ray& ray, Real radius, Real half_height);
std::optional<RayHit> intersect_cone(const Ray& ray, Real radius, Real half_height);
std::optional<RayHit> intersect_torus(const Ray& ray, Real major_radius, Real minor_radius);

}  // namespace plenum::inline PLENUM_ABI
