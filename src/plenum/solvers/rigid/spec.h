#pragma once
// What rigid bodies are made from.
#include <array>
#include <vector>

#include "plenum/base/describe.h"
#include "plenum/geometry/mesh.h"

namespace plenum::inline PLENUM_ABI { namespace rigid {

enum class Motion : int { dynamic, kinematic, fixed };
constexpr std::array<const char*, 3> names_of(Motion) {
  return {"dynamic", "kinematic", "fixed"};
}

enum class Form : int { sphere, box, capsule, cylinder, cone, hull, plane };
constexpr std::array<const char*, 7> names_of(Form) {
  return {"sphere", "box", "capsule", "cylinder", "cone", "hull", "plane"};
}

/// A shape of a body.
struct ShapeSpec {
  Form shape = Form::box;
  Real radius = Real(0.5);
  Vec3 half_extents = Vec3::Constant(Real(0.5));
  Real half_height = Real(0.5);
  std::vector<Vec3> points = {};
  Vec3 position = Vec3::Zero();
  Vec3 rotation = Vec3::Zero();
  int palette = -1;
  void describe(Describer& d);
};

/// Bodies of one kind: one, or `count` of them on a grid.
struct BodySpec {
  std::vector<ShapeSpec> shapes = {ShapeSpec{}};
  Motion motion = Motion::dynamic;
  Vec3 position = Vec3::Zero();
  Vec3 rotation = Vec3::Zero();
  Vec4 orientation = Vec4(0, 0, 0, 1);  ///< unit quaternion x, y, z, w, before `rotation`; for programs
  Vec3 velocity = Vec3::Zero();
  Vec3 angular_velocity = Vec3::Zero();
  Real density = 1000;
  Real friction = Real(0.5);
  Real restitution = 0;
  Real rolling_resistance = 0;
  Vec3 surface_velocity = Vec3::Zero();
  Real gravity_scale = 1;
  int count_x = 1, count_y = 1, count_z = 1;
  Vec3 spacing = Vec3::Constant(Real(1.1));
  void describe(Describer& d);
};

struct Spec {
  std::vector<BodySpec> bodies;
  void describe(Describer& d);
};

}}  // namespace plenum::PLENUM_ABI::rigid
