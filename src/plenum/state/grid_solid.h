#pragma once
// Solids placed in the box of a grid: what a fluid flows around, fills or comes from.
#include <memory>

#include "plenum/base/describe.h"
#include "plenum/geometry/mesh.h"
#include "plenum/geometry/shape.h"
#include "plenum/math/pose.h"

namespace plenum::inline PLENUM_ABI {

/// A solid shape in the box.
struct GridSolid {
  enum class Kind : int { sphere, box, capsule, cylinder, torus, mesh };
  friend constexpr std::array<const char*, 6> names_of(Kind) {
    return {"sphere", "box", "capsule", "cylinder", "torus", "mesh"};
  }
  Kind shape = Kind::sphere;
  Real radius = Real(0.1);                        ///< [m]
  Vec3 half_extents = Vec3::Constant(Real(0.1));  ///< [m] of a box
  Real half_height = Real(0.1);                   ///< [m] of a capsule's axis or a cylinder, along y
  Real minor_radius = Real(0.03);                 ///< [m] of a torus's tube
  TriangleMesh surface = {};                      ///< of a mesh: closed
  int resolution = 64;           ///< of a mesh: cells of its distance field along its longest side
  Vec3 position = Vec3::Zero();  ///< [m]
  Vec3 rotation = Vec3::Zero();  ///< [deg]
  void describe(Describer& d);
  /// A mesh is prepared once, by the first call: that is not for two threads at a time, and for what has been
  /// copied afterwards is not done again.
  Shape solid() const;
  /// Throws Error if a mesh encloses no volume, as solids must.
  void require_closed() const;
  /// [bytes] that a mesh takes once prepared; 0 of other shapes.
  std::size_t memory() const;
  static constexpr std::size_t memory_per_triangle = 400;
  /// Box around it that is not turned, in the frame of its pose [m].
  Vec3 size() const;
  Pose pose() const { return {position, rotation_from_degrees(rotation)}; }
  /// Its surface, in the frame of its pose, for pictures.
  TriangleMesh mesh() const;

 private:
  mutable std::shared_ptr<const SolidMesh> prepared_;
};

}  // namespace plenum::inline PLENUM_ABI
