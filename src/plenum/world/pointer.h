#pragma once
// What a pointer does to a world: it picks the particle or the body under it and pulls it through a spring,
// blows on what it passes over, or cuts it; and it stirs fluids.
#include <array>
#include <optional>

#include "plenum/world/world.h"

namespace plenum::inline PLENUM_ABI {

/// A ray of the picture, from the eye.
struct PointerRay {
  Vec3 eye;        ///< [m]
  Vec3 direction;  ///< unit, through the pointer
  Vec3 forward;    ///< unit, the way the camera looks
};

struct PointerSettings {
  enum class Tool : int { pull, wind, cut };
  Tool tool = Tool::pull;
  Real radius = Real(0.125);  ///< of what is pulled along, or blown on, over the system's size
  Real wind_speed = 8;        ///< [m/s]

  void describe(Describer& d);
};
constexpr std::array<const char*, 3> names_of(PointerSettings::Tool) {
  return {"pull", "wind", "cut"};
}

class Pointer {
 public:
  struct Grip {
    std::size_t system = 0;
    Index sample = -1;          ///< -1: a body
    Index body = -1;            ///< place in Boundary::bodies(); -1: a sample
    Vec3 place = Vec3::Zero();  ///< [m] of the body, in its frame
    Vec3 x = Vec3::Zero();      ///< [m] where it was grabbed
  };
  PointerSettings settings = {};

  /// Begins to pull, to blow or to cut.
  /// To pull, grabs the sample that is seen nearest to the ray, within `angle` [rad] of it, if it can move;
  /// among equals the first. Where there is none, or a solid before it, grabs the first solid that the ray
  /// meets, if that can move; and where there is none of these either, stirs the sheet of a fluid that the
  /// ray meets. To blow, stirs what is under it if there is no sample anywhere, but a box of a fluid. False,
  /// and nothing is held, if there is none.
  bool press(World& world, const PointerRay& ray, Real angle);
  /// Pulls what is held to where the ray meets the plane through its first place that faces the camera. Or
  /// blows: along the pointer's way, if in `seconds` it has gone as fast as a tenth of the wind, else along
  /// the ray. Or cuts what the ray has passed over.
  void move(World& world, const PointerRay& ray, double seconds = 0);
  void release(World& world);
  /// Leaves what is pulled pinned to where it is pulled. False if nothing is.
  bool pin(World& world);

  bool holds() const { return grip_.has_value() || brush_.has_value(); }
  const std::optional<Grip>& grip() const { return grip_; }

 private:
  void grab_solid(World& world, const PointerRay& ray);
  /// Sets the brush on the first fluid under the ray.
  void set_on_fluid(World& world, const PointerRay& ray, bool sheets_only);

  struct Brush {
    Real depth;         ///< [m] of what it was set on, along the camera's way
    Real radius;        ///< [m]
    Vec3 direction, x;  ///< where it was last
    bool stirs = false;
    std::optional<Real> sheet = {};  ///< [m] z of a sheet of fluid, which it stays on
  };
  std::optional<Grip> grip_;
  std::optional<Brush> brush_;
  Index strokes_ = 0;  // so far
};

/// The system whose parameters a viewer shows first: the first one that is more than a solid in the way of
/// others; 0 if there is none.
std::size_t leading_system(World& world);

}  // namespace plenum::inline PLENUM_ABI
