#pragma once
// Rigid bodies among position-based ones: what they are, what hangs on them, and what joins them.
#include <array>
#include <string>
#include <vector>

#include "plenum/base/describe.h"
#include "plenum/geometry/mesh.h"
#include "plenum/state/pins.h"

namespace plenum::inline PLENUM_ABI {

struct PbdBody {
  enum class Form : int {
    sphere,
    box,
    capsule,
    cylinder,
    hull,  ///< the convex hull of a mesh
  };
  enum class Motion : int {
    dynamic,  ///< by forces
    led,      ///< by a group of Params::pins
  };
  std::string name = {};
  Form shape = Form::box;
  Real radius = Real(0.5);                        ///< [m]
  Vec3 half_extents = Vec3::Constant(Real(0.5));  ///< [m]
  Real half_height = Real(0.5);                   ///< [m] along y
  TriangleMesh mesh = {};                         ///< of a hull
  Motion motion = Motion::dynamic;
  int group = 0;                                                  ///< of Params::pins, that leads it
  Real density = 500;                                             ///< [kg/m^3]
  Vec3 position = Vec3::Zero(), rotation = Vec3::Zero();          ///< [m], [deg] as of parts
  Vec3 velocity = Vec3::Zero(), angular_velocity = Vec3::Zero();  ///< [m/s], [rad/s]
  Real friction = Real(0.5), restitution = 0;
  int palette = -1;
  void describe(Describer& d);
};
constexpr std::array<const char*, 5> names_of(PbdBody::Form) {
  return {"sphere", "box", "capsule", "cylinder", "hull"};
}
constexpr std::array<const char*, 2> names_of(PbdBody::Motion) {
  return {"dynamic", "led"};
}

/// Particles of a part that hang on a body.
struct PbdAttachment {
  ParticlePin particles = {};  ///< which; its group means nothing
  std::string system = {};     ///< that the body is of; empty: this one
  std::string body = {};
  Real compliance = 0;   ///< [m/N]
  bool collide = false;  ///< whether the rest of the part touches the body
  void describe(Describer& d);
};

struct PbdJoint {
  enum class Type : int {
    ball,   ///< anchors stay together
    hinge,  ///< and so does an axis
    fixed,  ///< and nothing turns
    rope,   ///< anchors get no farther apart than they were, or than `length`
  };
  Type type = Type::ball;
  std::string body_a = {}, body_b = {};
  Vec3 anchor = Vec3::Zero(), anchor_b = Vec3::Zero();  ///< [m] in the world; anchor_b of ropes
  Vec3 axis = Vec3::UnitX();
  Real length = 0;      ///< [m] of a rope; 0: as far as its ends are apart
  Real compliance = 0;  ///< [m/N]
  void describe(Describer& d);
};
constexpr std::array<const char*, 4> names_of(PbdJoint::Type) {
  return {"ball", "hinge", "fixed", "rope"};
}

}  // namespace plenum::inline PLENUM_ABI
