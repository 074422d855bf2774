#include "plenum/state/grid_solid.h"

#include "plenum/base/error.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum::inline PLENUM_ABI {

void GridSolid::describe(Describer& d) {
  const auto length = [](const char* doc) { return Info{.unit = "m", .min = 1e-4, .max = 1e4, .doc = doc}; };
  d("shape", shape, {.doc = "what it is"});
  if (d.when("shape", "sphere", shape == Kind::sphere)) d("radius", radius, length("of the sphere"));
  if (d.when("shape", "box", shape == Kind::box))
    d("half_extents", half_extents, length("half of each side"));
  if (d.when("shape", "capsule", shape == Kind::capsule)) {
    d("radius", radius, length("of the capsule"));
    d("half_height", half_height, length("half the length of the axis, which is y"));
  }
  if (d.when("shape", "cylinder", shape == Kind::cylinder)) {
    d("radius", radius, length("of the cylinder"));
    d("half_height", half_height, length("half the height along y"));
  }
  if (d.when("shape", "torus", shape == Kind::torus)) {
    d("radius", radius, length("from the axis y to the middle of the tube"));
    d("minor_radius", minor_radius, length("of the tube"));
  }
  if (d.when("shape", "mesh", shape == Kind::mesh)) {
    d("mesh", surface, {.doc = "a closed surface that faces outward", .required = true});
    d("resolution", resolution,
      {.min = 4, .max = 512, .doc = "cells of its distance field along the longest side"});
  }
  d("position", position, {.unit = "m", .min = -1e5, .max = 1e5, .doc = "of its middle"});
  d("rotation", rotation,
    {.unit = "deg", .min = -3600, .max = 3600, .doc = "intrinsic angles about x, then y, then z"});
}

Shape GridSolid::solid() const {
  switch (shape) {
    case Kind::sphere:
      return SphereShape{radius};
    case Kind::box:
      return BoxShape{half_extents};
    case Kind::capsule:
      return CapsuleShape{radius, half_height};
    case Kind::cylinder:
      return CylinderShape{radius, half_height};
    case Kind::torus:
      return TorusShape{radius, minor_radius};
    case Kind::mesh:
      if (!prepared_)
        prepared_ = std::make_shared<const SolidMesh>(
            surface, DistanceFieldOptions{.resolution = static_cast<Index>(resolution)});
      return MeshShape{prepared_};
  }
  throw Error("unknown shape");
}

void GridSolid::require_closed() const {
  if (shape == Kind::mesh) require_solid(surface, "mesh");
}

std::size_t GridSolid::memory() const {
  if (shape != Kind::mesh) return 0;
  // The distance field's nodes, as if the mesh filled a cube.
  const auto nodes = static_cast<std::size_t>(resolution) + 10;
  return nodes * nodes * nodes * sizeof(Vec4) + memory_per_triangle * surface.triangles.size();
}

Vec3 GridSolid::size() const {
  switch (shape) {
    case Kind::sphere:
      return Vec3::Constant(2 * radius);
    case Kind::box:
      return 2 * half_extents;
    case Kind::capsule:
      return 2 * Vec3(radius, half_height + radius, radius);
    case Kind::cylinder:
      return 2 * Vec3(radius, half_height, radius);
    case Kind::torus:
      return 2 * Vec3(radius + minor_radius, minor_radius, radius + minor_radius);
    case Kind::mesh: {
      Aabb box;
      for (const Vec3& x : surface.x) box.extend(x);
      return surface.x.empty() ? Vec3(Vec3::Zero()) : box.size();
    }
  }
  return Vec3::Zero();
}

TriangleMesh GridSolid::mesh() const {
  switch (shape) {
    case GridSolid::Kind::sphere:
      return icosphere_mesh(radius, 5);
    case GridSolid::Kind::box:
      return box_mesh(half_extents);
    case GridSolid::Kind::capsule:
      return capsule_mesh(radius, half_height, 64, 1, 16);
    case GridSolid::Kind::cylinder:
      return cylinder_mesh(radius, half_height, 64);
    case GridSolid::Kind::torus:
      return torus_mesh(radius, minor_radius, 128, 32);
    case GridSolid::Kind::mesh:
      return surface;
  }
  return {};
}

}  // namespace plenum::inline PLENUM_ABI
