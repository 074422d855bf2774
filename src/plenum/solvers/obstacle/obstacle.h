#pragma once
// A kinematic solid: others collide with it, it goes where its parameters (and their keyframes) say.
#include <string>
#include <vector>

#include "plenum/geometry/mesh.h"
#include "plenum/geometry/shape.h"
#include "plenum/math/pose.h"
#include "plenum/state/solver.h"

namespace plenum::inline PLENUM_ABI {

struct Obstacle {
  static constexpr const char* name = "obstacle";
  static constexpr const char* doc = "a solid that moves by keyframes and that others collide with";

  enum class Kind : int { plane, sphere, box, capsule, cylinder, cone, torus, mesh };
  friend constexpr std::array<const char*, 8> names_of(Kind) {
    return {"plane", "sphere", "box", "capsule", "cylinder", "cone", "torus", "mesh"};
  }

  struct Part {
    std::string name = {};  ///< several parts may share one
    Kind shape = Kind::sphere;
    Real radius = Real(0.5);
    Vec3 half_extents = Vec3::Constant(Real(0.5));
    Real half_height = Real(0.5);
    Real minor_radius = Real(0.2);
    TriangleMesh mesh = {};
    int resolution = 64;
    Vec3 position = Vec3::Zero();
    Vec3 rotation = Vec3::Zero();
    bool visible = true;
    int palette = -1;
    void describe(Describer& d);
  };
  struct Spec {
    std::vector<Part> parts = {Part{}};
    void describe(Describer& d);
  };

  struct Model {
    std::vector<Shape> shapes;         ///< [K]
    std::vector<Pose> local;           ///< [K] of each part in the obstacle's frame
    std::vector<TriangleMesh> meshes;  ///< [K] what is drawn, in the part's frame; empty: nothing
    std::vector<int> palette;          ///< [K]
    std::vector<std::string> names;    ///< [K]
    std::vector<std::string> doubts;   ///< about the meshes
  };
  struct State {
    Vec3 position = Vec3::Zero();        ///< [m] at the end of the last step
    Vec4 rotation = Vec4(0, 0, 0, 1);    ///< unit quaternion x, y, z, w
    Vec3 start_position = Vec3::Zero();  ///< [m] at its start
    Vec4 start_rotation = Vec4(0, 0, 0, 1);
    Vec3 velocity = Vec3::Zero();          ///< [m/s] through the last step
    Vec3 angular_velocity = Vec3::Zero();  ///< [rad/s]
  };
  struct Params {
    Vec3 position = Vec3::Zero();
    Vec3 rotation = Vec3::Zero();
    Real friction = Real(0.5);
    Real restitution = 0;
    void describe(Describer& d);
  };
  struct Workspace {
    std::vector<SolidBody> bodies;
  };

  static constexpr std::size_t memory_per_triangle = 400;  ///< [bytes] of a mesh, part of memory()
  static std::size_t memory(const Spec& spec);
  static void build(const Spec& spec, Model& model, State& state);
  static void place(const Model&, State&, const Params&);
  static std::span<const std::string> doubts(const Model& model) { return model.doubts; }
  static Real max_dt(const Model&, const State&, const Params&);
  static Report step(const Model&, State&, const Params&, Workspace&, Real dt);
  static void fields(const Model&, State& s, FieldVisitor& visit);
  static void geometry(const Model&, const State&, DrawableSink&);
  static std::span<const SolidBody> bodies(const Model&, const State&, const Params&, Workspace&);
  /// Parts of that name, the part of that number, or all of them if `text` is empty.
  static std::vector<Index> find_bodies(const Model&, const std::string& key, const std::string& text);
  static void absorb(const Model&, State&, std::span<const BodyImpulse>) {}  // its motion is given
};

}  // namespace plenum::inline PLENUM_ABI
