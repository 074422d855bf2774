#pragma once
// What rigid bodies are made from.
#include <array>
#include <vector>

#include "plenum/base/describe.h"
#include "plenum/geometry/mesh.h"
#include "plenum/solvers/rigid/assemblies.h"
#include "plenum/solvers/rigid/joint_spec.h"

namespace plenum::inline PLENUM_ABI { namespace rigid {

enum class Motion : int { dynamic, kinematic, fixed };
constexpr std::array<const char*, 3> names_of(Motion) {
  return {"dynamic", "kinematic", "fixed"};
}

/// instance: a geometry of the specification that many shapes may share, each with a scale of its own.
enum class Form : int { sphere, box, capsule, cylinder, cone, hull, plane, mesh, height_field, instance };
constexpr std::array<const char*, 10> names_of(Form) {
  return {"sphere", "box",   "capsule", "cylinder",     "cone",
          "hull",   "plane", "mesh",    "height_field", "instance"};
}
/// What is met triangle by triangle.
constexpr bool is_surface(Form form) {
  return form == Form::mesh || form == Form::height_field;
}

/// What bodies and their shapes may be made of.
struct Material {
  std::string name = {};
  Real density = 1000;
  Real friction = Real(0.5);
  Real static_friction = not_given;
  Real restitution = 0;
  Real rolling_resistance = 0;
  Real spinning_friction = 0;
  void describe(Describer& d);
};

/// A shape of a body.
struct ShapeSpec {
  Form shape = Form::box;
  Real radius = Real(0.5);
  Vec3 half_extents = Vec3::Constant(Real(0.5));
  Real half_height = Real(0.5);
  std::vector<Vec3> points = {};
  TriangleMesh mesh = {};
  int resolution = 64;
  int columns = 2;
  Real grid_spacing = 1;
  std::vector<Real> heights = {};
  std::string of = {};
  Vec3 scale = Vec3::Ones();
  Vec3 position = Vec3::Zero();
  Vec3 rotation = Vec3::Zero();
  std::string material = {};
  int palette = -1;
  void describe(Describer& d);
  /// What it is and how large, not where.
  void describe_form(Describer& d);
};

/// A shape that instances name.
struct GeometrySpec {
  std::string name = {};
  ShapeSpec shape = {};
  void describe(Describer& d);
};

/// A part of a body whose mass is in one point.
struct PointMass {
  Vec3 position = Vec3::Zero();
  Real mass = 1;
  void describe(Describer& d);
};

/// Bodies of one kind: one, or `count` of them on a grid.
struct BodySpec {
  std::string name = {};
  std::vector<ShapeSpec> shapes = {ShapeSpec{}};
  Motion motion = Motion::dynamic;
  Vec3 position = Vec3::Zero();
  Vec3 rotation = Vec3::Zero();
  Vec4 orientation = Vec4(0, 0, 0, 1);  ///< unit quaternion x, y, z, w, before `rotation`; for programs
  Vec3 velocity = Vec3::Zero();
  Vec3 angular_velocity = Vec3::Zero();
  std::string material = {};
  Real density = not_given;
  Real mass = not_given;
  Vec3 inertia = Vec3::Zero();
  std::vector<PointMass> point_masses = {};
  bool lock_x = false, lock_y = false, lock_z = false;
  bool lock_turn_x = false, lock_turn_y = false, lock_turn_z = false;
  Real friction = not_given;
  Real static_friction = not_given;
  Vec3 friction_axis = Vec3::Zero();
  Real friction_across = not_given;
  Real restitution = not_given;
  Real rolling_resistance = not_given;
  Real spinning_friction = not_given;
  Vec3 surface_velocity = Vec3::Zero();
  Real gravity_scale = 1;
  Real linear_damping = not_given, angular_damping = not_given;
  int layer = 0;
  std::vector<Index> passes = {};
  bool sensor = false;
  int count_x = 1, count_y = 1, count_z = 1;
  Vec3 spacing = Vec3::Constant(Real(1.1));
  void describe(Describer& d);
};

/// What bodies that forces move are coloured by.
enum class Colour : int { plain, speed };
constexpr std::array<const char*, 2> names_of(Colour) {
  return {"plain", "speed"};
}

struct Spec {
  std::vector<BodySpec> bodies;
  std::vector<JointSpec> joints = {};
  std::vector<AssemblySpec> assemblies = {};
  std::vector<Material> materials = {};
  std::vector<GeometrySpec> geometries = {};
  Colour colour = Colour::plain;
  void describe(Describer& d);
};

}}  // namespace plenum::PLENUM_ABI::rigid
