#pragma once
// What a pointer does to a world: it picks the particle or the body under it and pulls it through a spring.
#include <optional>

#include "plenum/world/world.h"

namespace plenum::inline PLENUM_ABI {

/// A ray of the picture, from the eye.
struct PointerRay {
  Vec3 eye;        ///< [m]
  Vec3 direction;  ///< unit, through the pointer
  Vec3 forward;    ///< unit, the way the camera looks
};

class Pointer {
 public:
  struct Grip {
    std::size_t system = 0;
    Index sample = -1;          ///< -1: a body
    Index body = -1;            ///< place in Boundary::bodies(); -1: a sample
    Vec3 place = Vec3::Zero();  ///< [m] of the body, in its frame
    Vec3 x = Vec3::Zero();      ///< [m] where it was grabbed
  };

  /// Grabs the sample that is seen nearest to the ray, within `angle` [rad] of it, if it can move; among
  /// equals the first. Where there is none, or a solid before it, grabs the first solid that the ray meets,
  /// if that can move. False, and nothing is held, if there is none.
  bool press(World& world, const PointerRay& ray, Real angle);
  /// Pulls what is held to where the ray meets the plane through its first place that faces the camera.
  void move(World& world, const PointerRay& ray) const;
  void release(World& world);

  bool holds() const { return grip_.has_value(); }
  const std::optional<Grip>& grip() const { return grip_; }

 private:
  void grab_solid(World& world, const PointerRay& ray);

  std::optional<Grip> grip_;
};

/// The system whose parameters a viewer shows first: the first one that is more than a solid in the way of
/// others; 0 if there is none.
std::size_t leading_system(World& world);

}  // namespace plenum::inline PLENUM_ABI
