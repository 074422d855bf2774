#pragma once
// Solids placed in the box of a grid: what a fluid flows around, fills or comes from.
#include "plenum/base/describe.h"
#include "plenum/geometry/mesh.h"
#include "plenum/geometry/shape.h"
#include "plenum/math/pose.h"

namespace plenum::inline PLENUM_ABI {

/// A solid shape in the box.
struct GridSolid {
  enum class Kind : int { sphere, box, capsule, cylinder, torus };
  friend constexpr std::array<const char*, 5> names_of(Kind) {
    return {"sphere", "box", "capsule", "cylinder", "torus"};
  }
  Kind shape = Kind::sphere;
  Real radius = Real(0.1);                        ///< [m]
  Vec3 half_extents = Vec3::Constant(Real(0.1));  ///< [m] of a box
  Real half_height = Real(0.1);                   ///< [m] of a capsule's axis or a cylinder, along y
  Real minor_radius = Real(0.03);                 ///< [m] of a torus's tube
  Vec3 position = Vec3::Zero();                   ///< [m]
  Vec3 rotation = Vec3::Zero();                   ///< [deg]
  void describe(Describer& d);
  Shape solid() const;
  Pose pose() const { return {position, rotation_from_degrees(rotation)}; }
  /// Its surface, in the frame of its pose, for pictures.
  TriangleMesh mesh() const;
};

}  // namespace plenum::inline PLENUM_ABI
