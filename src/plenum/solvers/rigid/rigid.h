#pragma once
// Rigid bodies with contacts and joints.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "plenum/geometry/collide/manifold.h"
#include "plenum/geometry/mesh.h"
#include "plenum/geometry/shape.h"
#include "plenum/solvers/rigid/spec.h"
#include "plenum/state/frames.h"
#include "plenum/state/solver.h"

namespace plenum::inline PLENUM_ABI {

struct RigidWorkspace;
namespace detail {
class BodyNames;
}

/// Sub-stepped sequential impulses with soft contacts and relaxation (Catto 2024, "Solver2D"), contacts in
/// coloured batches.
struct Rigid {
  static constexpr const char* name = "rigid";
  static constexpr const char* doc = "rigid bodies with contacts, friction and joints";

  using Spec = rigid::Spec;
  using Motion = rigid::Motion;

  /// A shape fixed to a body.
  struct Collider {
    Index body;
    Index shape;  ///< in Model::shapes
    Pose local;   ///< in the body's principal frame
    Real friction, restitution, rolling, spinning;
    Real static_friction;  ///< >= friction
    Vec3 friction_axis;    ///< unit, in the body's frame; 0: friction is alike in all directions
    Real friction_along,
        friction_across;        ///< parts of both frictions that act along the axis, and across it
    Vec3 surface_velocity;      ///< [m/s] in the body's frame
    Real size;                  ///< [m] smallest width
    Real round;                 ///< [m] radius of a sphere or capsule, else 0
    Vec3 core;                  ///< [m] middle of a ball inside the shape
    Real core_radius;           ///< [m]
    std::uint32_t layer, mask;  ///< one bit; those of the layers it meets
    bool sensor;                ///< feels and does not push
    Real spread;                ///< [m] of its farthest point from its origin; a ball's 0, as it turns unseen
  };
  /// What is drawn of a collider, `scale` times as large; never null, but empty of planes.
  struct Drawing {
    std::shared_ptr<const TriangleMesh> mesh;
    Real scale = 1;
  };
  /// What one freedom of a joint may do: m, N/m, N s/m, N along it; rad, N m/rad, N m s/rad, N m about it.
  struct JointAxis {
    rigid::AxisMode mode = rigid::AxisMode::free;
    rigid::Drive drive = rigid::Drive::none;
    Real lower = 0, upper = 0;  ///< of a limited one; a locked one is held at `lower`
    Real speed = 0, target = 0, stiffness = 0, damping = 0, strength = 0;  ///< of the drive
    bool is_used() const { return mode != rigid::AxisMode::free || drive != rigid::Drive::none; }
  };
  /// What the six freedoms are depends on the type: see detail/joint_rows.h.
  struct Joint {
    rigid::JointType type;
    Index a, b;       ///< bodies; -1: the world
    Pose in_a, in_b;  ///< its frame in the bodies' principal frames, or the world
    std::array<JointAxis, 6> axes;
    Real turn_damping;               ///< [N m s/rad] against the bodies' turning to each other
    Real break_force, break_torque;  ///< [N], [N m]; 0: never
  };
  struct Model {
    std::vector<Shape> shapes;
    std::vector<Collider> colliders;  ///< [K], by body
    std::vector<Index> first;         ///< [N + 1] colliders of each body
    std::vector<Index> solids;        ///< own colliders that push: what bodies() are; no sensors
    std::vector<Motion> motion;       ///< [N]
    std::vector<Vec3> inertia;        ///< [N] kg m^2 about the principal axes; of dynamic bodies
    std::vector<Real> gravity_scale;  ///< [N]
    std::vector<Vec2> damping;        ///< [N] 1/s of the speed and of the turning; below 0: Params'
    std::vector<std::uint8_t> locks;  ///< [N] axes of the world along (bits 0 to 2), about (3 to 5) which
                                      ///< a body does not move
    bool any_locks = false;
    std::vector<std::uint8_t> jointed;  ///< [N] whether a joint holds it
    std::vector<Pose> origin;           ///< [N] the frame its maker gave it, in the principal one
    std::vector<Real> reach;            ///< [N] m of the farthest point of a body from its centre of mass
    std::vector<Drawing> meshes;        ///< [own K] in the collider's frame
    std::shared_ptr<const detail::BodyNames> names;  ///< what bodies are called by; null: nothing
    std::vector<std::string> doubts;                 ///< about meshes to collide with, and where bodies start
    std::vector<int> palette;                        ///< [own K]
    rigid::Colour colour = rigid::Colour::plain;
    std::vector<Joint> joints;  ///< [J]
    std::vector<Index2> apart;  ///< pairs of bodies that a joint keeps from touching, smaller first, sorted
    /// How many of the bodies, the last ones, are solids of other systems: of one collider each, drawn and
    /// moved by their owners. They are fixed, or kinematic while they move.
    std::size_t num_guests = 0;
    std::size_t own_bodies() const { return motion.size() - num_guests; }
    std::size_t own_colliders() const { return colliders.size() - num_guests; }
  };
  /// Contacts [C] of the last step, in the order of their colliders, for warm starting. Impulses are those of
  /// a sub-step of the length that Params::substeps gives.
  struct Contacts {
    std::vector<Index2> pair;                            ///< colliders, first < second
    std::vector<Vec4> impulse;                           ///< N s along the normal, of each point
    std::vector<Vec4> carried;                           ///< N s of it on average, of each point
    std::vector<Eigen::Matrix<std::uint32_t, 4, 1>> id;  ///< of each point
    /// Manifolds as they were last found, in the first collider's frame: a pair that barely moves keeps them.
    std::vector<Vec3> normal;      ///< from first to second
    std::vector<Vec3> point;       ///< [4 C] m
    std::vector<Vec4> separation;  ///< m, of each point
    std::vector<Eigen::Matrix<Real, 8, 1>>
        seen;                         ///< where the second then stood: m, rotation; and its margin
    std::vector<Vec3> friction;       ///< N s on the second, tangential
    std::vector<Real> twist;          ///< N m s about the normal
    std::vector<std::uint8_t> count;  ///< of points
    std::vector<Eigen::Matrix<std::uint8_t, 10, 1>> cache;  ///< ManifoldCache
  };
  /// Pairs whose boxes overlapped in the last step and that were too far apart for a contact, sorted.
  struct Near {
    std::vector<Index2> pair;                     ///< [P] colliders, first < second
    std::vector<Eigen::Matrix<Real, 8, 1>> seen;  ///< how they stood (see Contacts), and how far apart
    std::vector<Eigen::Matrix<std::uint8_t, 10, 1>> cache;  ///< ManifoldCache
  };
  /// What joints [J] carry.
  struct Joints {
    std::vector<Eigen::Matrix<std::uint8_t, 6, 1>> status;  ///< of limits and drives: detail::RowStatus
    std::vector<Vec3> pull;                                 ///< N s on b in the last sub-step
    std::vector<Vec3> force;                                ///< N on b at the joint, mean of the last step
    std::vector<Vec3> torque;          ///< N m on b about the joint, mean of the last step
    std::vector<Real> owed;            ///< J that joints took since and may give back, at an island's first
    std::vector<Vec2> turn;            ///< rad, over turns: a hinge's at [1], a universal joint's two
    std::vector<std::uint8_t> broken;  ///< 1 for ever once it broke
    std::vector<Index> just_broken;    ///< that broke of late (see gathers_events), in their order
  };
  /// Bodies that sleep: islands at rest, which cost nothing until they are stirred.
  struct Rest {
    std::vector<Index> island;  ///< [N] lowest body of the sleeping island it belongs to; -1: awake
    std::vector<Real> quiet;    ///< [N] s for which it has stayed at
    std::vector<Vec3> x;        ///< [N] m
    std::vector<Vec4> q;
    Contacts contacts;            ///< of sleeping bodies, for when they wake
    Vec3 gravity = Vec3::Zero();  ///< [m/s^2] of the last step
    /// [N] m/s^2 and rad/s^2 by which forces of others, as of a liquid that bears them, change velocities:
    /// mean while they are awake. And what they would have been changed by besides since they sleep, m/s and
    /// rad/s.
    std::vector<Vec3> push_v, push_w, stray_v, stray_w;
  };
  /// Which colliders touch: pairs (first < second), sorted. A contact touches if it presses or its surfaces
  /// overlap; a sensor if they overlap.
  struct Touch {
    std::vector<Index2> pairs;   ///< after the last step, of which one at least is awake
    std::vector<Index2> begun;   ///< that began to of late: see gathers_events
    std::vector<Index2> ended;   ///< that ceased to of late, and may have begun to in the same time
    std::vector<Index2> asleep;  ///< between bodies that sleep or stand still, as they were last seen
  };
  /// How kinematic bodies moved in the last step: see detail/driven.h. 0 of others.
  struct Driven {
    std::vector<Vec3> v, w;       ///< [N] m/s, rad/s
    std::vector<Vec3> a, turn_a;  ///< [N] m/s^2, rad/s^2 by which these had changed
    void resize(std::size_t n) {
      for (std::vector<Vec3>* list : {&v, &w, &a, &turn_a}) list->resize(n, Vec3::Zero());
    }
  };
  struct State {
    Frames frames;
    std::vector<Vec3> start_x;  ///< [N] m at the start of the last step
    std::vector<Vec4> start_q;
    Contacts contacts;
    Near near;
    Joints joints;
    Rest rest;
    Touch touch;
    Driven driven;
    /// [N] or [0]: m/s and rad/s that forces of others will change velocities by in the next step. They are
    /// told before it and forgotten after it, so that no checkpoint sees them.
    std::vector<Vec3> coming_v, coming_w;
    double time = 0;  ///< [s]
    Real dt = 0;      ///< [s] of the last step, by which impulses mean forces
    /// Events (touches that begin or end, joints that break) are those since begin_frame(), or of the last
    /// step if nobody called that. No checkpoint needs it: whoever counts in frames begins each of them.
    bool gathers_events = false;
  };
  enum class BroadMethod : int { tree, sweep, grid };
  friend constexpr std::array<const char*, 3> names_of(BroadMethod) { return {"tree", "sweep", "grid"}; }
  /// The default; and, for comparison, two that take a step whole.
  enum class Method : int { soft_steps, gauss_seidel, direct };
  friend constexpr std::array<const char*, 3> names_of(Method) {
    return {"soft_steps", "gauss_seidel", "direct"};
  }
  struct Params {
    Vec3 gravity = Vec3(0, Real(-9.81), 0);
    Method solver = Method::soft_steps;
    int iterations = 50;
    int substeps = 8;
    int max_substeps = 64;
    Real linear_damping = 0, angular_damping = 0;
    Real contact_frequency = 240;
    Real contact_damping = 10;
    Real restitution_threshold = 1;
    BroadMethod broad_phase = BroadMethod::tree;
    bool sleeping = true;
    Real sleep_speed = Real(0.0125);
    Real sleep_time = 1;
    void describe(Describer& d);
  };
  /// Scratch memory, made by the first step.
  struct Workspace {
    std::shared_ptr<RigidWorkspace> data;
    std::vector<SolidBody> bodies;
    std::vector<BodyImpulse> pushes;  ///< of the last step, on guests
    std::vector<Vec3> start_v;        ///< [N] m/s at the start of the last step
    std::vector<Vec3> start_w;        ///< [N] rad/s, the same
    int parts = 1;                    ///< steps that are one for others
    Frames first;                     ///< where bodies were before these, if there are more than one
  };

  static constexpr std::size_t memory_per_triangle = 500;  ///< [bytes] of a mesh, part of memory()
  static std::size_t memory(const Spec& spec);
  static void build(const Spec& spec, Model& model, State& state);
  /// Throws Error if arrays that checkpoints hold do not fit together.
  static void check(const Model& model, const State& state);
  static std::span<const std::string> doubts(const Model& model) { return model.doubts; }
  static Real max_dt(const Model&, const State&, const Params&);
  static Report step(const Model&, State&, const Params&, Workspace&, Real dt);
  /// From here on events gather, over however many steps, until the next call.
  static void begin_frame(State&);
  static void fields(const Model&, State& s, FieldVisitor& visit);
  static void geometry(const Model&, const State&, DrawableSink&);
  /// Marks over the picture: see debug.h.
  static void debug(const Model&, const State&, const Params&, const DebugDraw& wanted, DrawableSink&);
  static void begin_parts(const State&, Workspace&, int parts);
  static std::span<const SolidBody> bodies(const Model&, const State&, const Params&, Workspace&);
  static std::vector<Index> find_bodies(const Model&, const std::string& key, const std::string& text);
  static double mass_of(const Model&, const State&, std::span<const Index> bodies);
  /// Adds what ties these of bodies() to others (boundary.h), by contacts and joints as the last step left
  /// them.
  static void find_links(const Model&, const State&, const Params&, Workspace&, std::span<const Index> bodies,
                         BodyLinks& out);
  static void absorb(const Model&, State&, std::span<const BodyImpulse>);
  /// Adds what rows of joints have carried to what these carry, which may break them.
  static void absorb(const Model&, State&, const Workspace&, std::span<const LinkRow>);
  /// Takes in other systems' solids, which its bodies meet in the next step of dt [s], as bodies after its
  /// own. True if there are more or less of them than before; then everything wakes.
  static bool meet(Model&, State&, std::span<const SolidBody> solids, Real dt);
  static std::span<const BodyImpulse> pushes(const Workspace& w) { return w.pushes; }
  /// Wakes every body. Pushed and moved bodies, changed gravity and what touches wake by themselves; this is
  /// for changes that a step cannot see, as of friction.
  static void wake(const Model&, State&);
};

}  // namespace plenum::inline PLENUM_ABI
