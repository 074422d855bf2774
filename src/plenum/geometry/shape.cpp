#include "plenum/geometry/shape.h"

#include <fmt/format.h>

#include <cmath>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/convex_hull.h"
#include "plenum/geometry/detail/require.h"
#include "plenum/geometry/height_field.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using detail::require_length;

struct Check {
  void operator()(const PlaneShape&) const {}
  void operator()(const SphereShape& s) const { require_length("radius", s.radius); }
  void operator()(const BoxShape& s) const {
    for (int i = 0; i < 3; ++i) require_length("half_extents", s.half_extents[i]);
  }
  void operator()(const CapsuleShape& s) const {
    require_length("radius", s.radius);
    require_length("half_height", s.half_height, true);
  }
  void operator()(const CylinderShape& s) const {
    require_length("radius", s.radius);
    require_length("half_height", s.half_height);
  }
  void operator()(const ConeShape& s) const {
    require_length("radius", s.radius);
    require_length("half_height", s.half_height);
  }
  void operator()(const TorusShape& s) const {
    require_length("major_radius", s.major_radius);
    require_length("minor_radius", s.minor_radius);
    if (!(s.minor_radius < s.major_radius))
      throw Error(Problem{.key = "minor_radius",
                          .what = "is not below the radius from the axis to the middle of the tube",
                          .value = fmt::format("{}", s.minor_radius),
                          .allowed = fmt::format("0 to {} m", s.major_radius)});
  }
  void operator()(const MeshShape& s) const {
    if (!s.solid) throw Error("a mesh shape has no mesh");
    require_length("scale", s.scale);
  }
  void operator()(const ConvexHullShape& s) const {
    if (!s.hull || s.hull->faces.size() < 4) throw Error("a convex hull shape has no hull");
  }
  void operator()(const HeightFieldShape& s) const {
    if (!s.field) throw Error("a height field shape has no field");
    require_length("scale", s.scale);
  }
};

// Overloads that give every alternative one name, so that a batch dispatches once.
SignedDistance<Real> distance_of(const PlaneShape&, const Vec3& x) {
  return plane_distance(x);
}
SignedDistance<Real> distance_of(const SphereShape& s, const Vec3& x) {
  return sphere_distance(x, s.radius);
}
SignedDistance<Real> distance_of(const BoxShape& s, const Vec3& x) {
  return box_distance(x, s.half_extents);
}
SignedDistance<Real> distance_of(const CapsuleShape& s, const Vec3& x) {
  return capsule_distance(x, s.radius, s.half_height);
}
SignedDistance<Real> distance_of(const CylinderShape& s, const Vec3& x) {
  return cylinder_distance(x, s.radius, s.half_height);
}
SignedDistance<Real> distance_of(const ConeShape& s, const Vec3& x) {
  return cone_distance(x, s.radius, s.half_height);
}
SignedDistance<Real> distance_of(const TorusShape& s, const Vec3& x) {
  return torus_distance(x, s.major_radius, s.minor_radius);
}

/// A solid that many share, each with a scale of its own: distances go with it.
template <class Solid>
struct Scaled {
  const Solid* solid;
  Real scale;
};
template <class Solid>
SignedDistance<Real> distance_of(const Scaled<Solid>& s, const Vec3& x) {
  SignedDistance<Real> d = s.solid->signed_distance(x / s.scale);
  d.distance *= s.scale;
  return d;
}

SignedDistance<Real> distance_of(const ConvexHull* hull, const Vec3& x) {
  return hull_distance(*hull, x);
}

/// What a loop needs of a shape: a copy, which cannot alias what the loop writes; of a mesh a bare pointer.
template <class S>
S kernel_of(const S& shape) {
  return shape;
}
Scaled<SolidMesh> kernel_of(const MeshShape& shape) {
  return {shape.solid.get(), shape.scale};
}
const ConvexHull* kernel_of(const ConvexHullShape& shape) {
  return shape.hull.get();
}
Scaled<HeightField> kernel_of(const HeightFieldShape& shape) {
  return {shape.field.get(), shape.scale};
}

/// Points of one pass through the kernels: coordinates apart, so that the kernels vectorize.
constexpr std::size_t tile = 64;
struct Tile {
  Real x[tile], y[tile], z[tile];
  Real distance[tile], nx[tile], ny[tile], nz[tile];
};

void load_local(Tile& t, const Mat3& r, const Vec3& p, const Vec3* x, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Real dx = x[i][0] - p[0], dy = x[i][1] - p[1], dz = x[i][2] - p[2];
    t.x[i] = r(0, 0) * dx + r(1, 0) * dy + r(2, 0) * dz;  // the transpose turns into the local frame
    t.y[i] = r(0, 1) * dx + r(1, 1) * dy + r(2, 1) * dz;
    t.z[i] = r(0, 2) * dx + r(1, 2) * dy + r(2, 2) * dz;
  }
}

template <bool with_normal, class Kernel>
void evaluate(Tile& t, Kernel kernel, std::size_t count) {
  if constexpr (std::is_same_v<Kernel, Scaled<SolidMesh>>) {
    const DistanceField& field = kernel.solid->field;
    for (std::size_t i = 0; i < count; ++i)
      t.x[i] /= kernel.scale, t.y[i] /= kernel.scale, t.z[i] /= kernel.scale;
    field.evaluate(count, {t.x, t.y, t.z}, t.distance,
                   with_normal ? DistanceField::Normals{t.nx, t.ny, t.nz} : DistanceField::Normals{});
    for (std::size_t i = 0; i < count; ++i) t.distance[i] *= kernel.scale;
    if (!field.has_thin_walls()) return;
    for (std::size_t i = 0; i < count; ++i) {
      const Vec3 x(t.x[i], t.y[i], t.z[i]);
      if (!field.is_thin_at(x)) continue;
      SignedDistance<Real> d = kernel.solid->exact_distance(x);
      d.distance *= kernel.scale;
      t.distance[i] = d.distance;
      if constexpr (with_normal) {
        t.nx[i] = d.normal[0];
        t.ny[i] = d.normal[1];
        t.nz[i] = d.normal[2];
      }
    }
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      const auto d = distance_of(kernel, Vec3(t.x[i], t.y[i], t.z[i]));
      t.distance[i] = d.distance;
      if constexpr (with_normal) {
        t.nx[i] = d.normal[0];
        t.ny[i] = d.normal[1];
        t.nz[i] = d.normal[2];
      }
    }
  }
}

Vec3 world_normal(const Tile& t, const Mat3& r, std::size_t i) {
  return {r(0, 0) * t.nx[i] + r(0, 1) * t.ny[i] + r(0, 2) * t.nz[i],
          r(1, 0) * t.nx[i] + r(1, 1) * t.ny[i] + r(1, 2) * t.nz[i],
          r(2, 0) * t.nx[i] + r(2, 1) * t.ny[i] + r(2, 2) * t.nz[i]};
}

/// Calls store(tile, rotation, first, count) for tiles of results, in parallel.
template <bool with_normal, class Store>
void each_tile(const Shape::Variant& variant, const Pose& pose, std::span<const Vec3> x, Store&& store) {
  const Mat3 r = pose.rotation.toRotationMatrix();
  std::visit(
      [&](const auto& shape) {
        parallel_for(x.size(), 16 * tile, [&](std::size_t begin, std::size_t end) {
          Tile t;
          for (std::size_t first = begin; first < end; first += tile) {
            const std::size_t count = std::min(tile, end - first);
            load_local(t, r, pose.position, x.data() + first, count);
            evaluate<with_normal>(t, kernel_of(shape), count);
            store(t, r, first, count);
          }
        });
      },
      variant);
}

}  // namespace

Shape::Shape(const Variant& variant) : variant_(variant) {
  std::visit(Check{}, variant_);
}

SignedDistance<Real> Shape::signed_distance(const Vec3& x) const {
  return std::visit([&](const auto& shape) { return distance_of(kernel_of(shape), x); }, variant_);
}

SignedDistance<Real> Shape::exact_distance(const Vec3& x) const {
  const auto* mesh = std::get_if<MeshShape>(&variant_);
  if (!mesh) return signed_distance(x);
  SignedDistance<Real> d = mesh->solid->exact_distance(x / mesh->scale);
  d.distance *= mesh->scale;
  return d;
}

Real Shape::thin_wall_error() const {
  // At a ridge of slopes +-1 the cubic Hermite interpolant stands off by a quarter of the spacing.
  const auto* mesh = std::get_if<MeshShape>(&variant_);
  if (!mesh || !mesh->solid->field.has_thin_walls()) return 0;
  return mesh->scale * mesh->solid->field.spacing() / 4;
}

void Shape::signed_distances(const Pose& pose, std::span<const Vec3> x, std::span<Real> distance) const {
  each_tile<false>(variant_, pose, x, [&](const Tile& t, const Mat3&, std::size_t first, std::size_t count) {
    std::copy_n(t.distance, count, distance.data() + first);
  });
}

void Shape::signed_distances(const Pose& pose, std::span<const Vec3> x, std::span<Real> distance,
                             std::span<Vec3> normal) const {
  each_tile<true>(variant_, pose, x, [&](const Tile& t, const Mat3& r, std::size_t first, std::size_t count) {
    std::copy_n(t.distance, count, distance.data() + first);
    for (std::size_t i = 0; i < count; ++i) normal[first + i] = world_normal(t, r, i);
  });
}

void Shape::closest_points(const Pose& pose, std::span<const Vec3> x, std::span<Vec3> closest) const {
  each_tile<true>(variant_, pose, x, [&](const Tile& t, const Mat3& r, std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      closest[first + i] = x[first + i] - t.distance[i] * world_normal(t, r, i);
  });
}

namespace {

/// Half extents of the world box of a solid of revolution with two discs at y = +-half_height: per world axis
/// i, |a_i| half_height + radius sqrt(1 - a_i^2), with a the solid's axis in the world.
Vec3 extents_of_cylinder(const Vec3& axis, Real radius, Real half_height) {
  return half_height * axis.cwiseAbs() +
         radius * (Vec3::Ones() - axis.cwiseAbs2()).cwiseMax(Real(0)).cwiseSqrt();
}

}  // namespace

Aabb Shape::bounds(const Pose& pose) const {
  const Mat3 r = pose.rotation.toRotationMatrix();
  const Vec3 axis = r.col(1);
  struct Bounds {
    const Mat3& r;
    const Vec3& axis;
    const Vec3& p;
    Aabb around(const Vec3& half) const { return {p - half, p + half}; }
    Aabb operator()(const PlaneShape&) const {
      return around(Vec3::Constant(std::numeric_limits<Real>::infinity()));
    }
    Aabb operator()(const SphereShape& s) const { return around(Vec3::Constant(s.radius)); }
    Aabb operator()(const BoxShape& s) const { return around(r.cwiseAbs() * s.half_extents); }
    Aabb operator()(const CapsuleShape& s) const {
      return around(s.half_height * axis.cwiseAbs() + Vec3::Constant(s.radius));
    }
    Aabb operator()(const CylinderShape& s) const {
      return around(extents_of_cylinder(axis, s.radius, s.half_height));
    }
    Aabb operator()(const ConeShape& s) const {
      const Vec3 disc = extents_of_cylinder(axis, s.radius, 0), base = p - s.half_height * axis;
      Aabb box{base - disc, base + disc};
      box.extend(p + s.half_height * axis);
      return box;
    }
    Aabb operator()(const TorusShape& s) const {
      return around(extents_of_cylinder(axis, s.major_radius, 0) + Vec3::Constant(s.minor_radius));
    }
    Aabb operator()(const MeshShape& s) const { return turned(s.solid->exact.bounds().scaled(s.scale)); }
    Aabb operator()(const HeightFieldShape& s) const { return turned(s.field->bounds().scaled(s.scale)); }
    Aabb turned(const Aabb& local) const {
      const Vec3 middle = p + r * local.centre(), half = Real(0.5) * (r.cwiseAbs() * local.size());
      return {middle - half, middle + half};
    }
    Aabb operator()(const ConvexHullShape& s) const {
      Aabb box;
      for (const Vec3& v : s.hull->vertices) box.extend(p + r * v);
      return box;
    }
  };
  return std::visit(Bounds{r, axis, pose.position}, variant_);
}

std::optional<RayHit> Shape::intersect(const Pose& pose, const Ray& ray) const {
  const Ray local{pose.to_local(ray.origin), pose.rotation.conjugate() * ray.direction, ray.t_min, ray.t_max};
  struct Intersect {
    const Ray& ray;
    std::optional<RayHit> operator()(const PlaneShape&) const { return intersect_plane(ray); }
    std::optional<RayHit> operator()(const SphereShape& s) const { return intersect_sphere(ray, s.radius); }
    std::optional<RayHit> operator()(const BoxShape& s) const { return intersect_box(ray, s.half_extents); }
    std::optional<RayHit> operator()(const CapsuleShape& s) const {
      return intersect_capsule(ray, s.radius, s.half_height);
    }
    std::optional<RayHit> operator()(const CylinderShape& s) const {
      return intersect_cylinder(ray, s.radius, s.half_height);
    }
    std::optional<RayHit> operator()(const ConeShape& s) const {
      return intersect_cone(ray, s.radius, s.half_height);
    }
    std::optional<RayHit> operator()(const TorusShape& s) const {
      return intersect_torus(ray, s.major_radius, s.minor_radius);
    }
    /// The parameter stays what it is.
    Ray scaled_down(Real scale) const {
      return {ray.origin / scale, ray.direction / scale, ray.t_min, ray.t_max};
    }
    std::optional<RayHit> operator()(const MeshShape& s) const {
      return s.solid->exact.intersect(scaled_down(s.scale));
    }
    std::optional<RayHit> operator()(const ConvexHullShape& s) const { return intersect_hull(ray, *s.hull); }
    std::optional<RayHit> operator()(const HeightFieldShape& s) const {
      return s.field->intersect(scaled_down(s.scale));
    }
  };
  auto hit = std::visit(Intersect{local}, variant_);
  if (hit) hit->normal = pose.rotation * hit->normal;
  return hit;
}

std::optional<Real> first_contact(const Shape& shape, const Pose& pose0, const Pose& pose1, const Vec3& x0,
                                  const Vec3& x1, Real radius, Real tolerance) {
  // In the shape's frame the point moves no faster than its world velocity relative to the origin of the pose
  // plus the turning rate times its distance from that origin.
  const Vec3 from = x0 - pose0.position, to = x1 - pose1.position;
  const Real angle = pose0.rotation.angularDistance(pose1.rotation);
  const Real fastest = (to - from).norm() + angle * std::max(from.norm(), to.norm());
  constexpr int most_steps = 1000;  // only a point that slides along the surface needs more than a few
  const bool exact = shape.thin_wall_error() > 0;
  Real s = 0;
  for (int step = 0; step < most_steps; ++step) {
    const Quat rotation = pose0.rotation.slerp(s, pose1.rotation);
    const Vec3 at = rotation.conjugate() * (from + s * (to - from));
    const Real gap = (exact ? shape.exact_distance(at) : shape.signed_distance(at)).distance - radius;
    if (gap <= tolerance) return s;
    if (gap >= (1 - s) * fastest) return std::nullopt;
    s = std::min(Real(1), s + gap / fastest);
  }
  return s;
}

}  // namespace plenum::inline PLENUM_ABI
