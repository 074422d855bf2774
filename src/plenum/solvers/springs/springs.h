#pragma once
// Mass-spring nets: cloth, ropes, soft bodies and nets of one's own, stepped together.
//
// A net is a set of point masses joined by springs, some of them held by pins that may move. Cloth also
// carries triangles, on which air pushes. Sources: Provot 1995, "Deformation constraints in a mass-spring
// model to describe rigid cloth behavior" (structural, shear and bending springs); Baraff & Witkin 1998,
// "Large steps in cloth simulation" (implicit Euler by filtered conjugate gradients); Liu et al. 2013, "Fast
// simulation of mass-spring systems" (its tangent and its local/global form).
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plenum/base/error.h"
#include "plenum/elements/constraint.h"
#include "plenum/elements/curl_noise.h"
#include "plenum/geometry/embedding.h"
#include "plenum/geometry/mesh.h"
#include "plenum/solvers/springs/spec.h"
#include "plenum/state/particles.h"
#include "plenum/state/solver.h"
#include "plenum/state/tetrahedra.h"

namespace plenum::inline PLENUM_ABI {

struct SpringsWorkspace;

struct Springs {
  static constexpr const char* name = "springs";
  static constexpr const char* doc = "mass-spring nets: cloth, ropes, soft bodies, user-defined nets";

  using Spec = SpringsSpec;

  /// What a spring is for; tells generated springs apart in pictures and exports.
  enum Kind : std::uint8_t { structural, shear, bend, user };

  /// A generated part of the net: which of the model's arrays are its own.
  struct Part {
    SpringsPart::Type type = SpringsPart::Type::cloth;
    Index first_particle = 0, num_particles = 0;  ///< as built; tearing appends particles elsewhere
    Index first_triangle = 0, num_triangles = 0;
    Index first_visual = 0, num_visual = 0;  ///< vertices of its visual mesh
    Index first_visual_triangle = 0, num_visual_triangles = 0;
    Index first_rod = 0, num_rods = 0;
    Index first_wire = 0, num_wires = 0;
    Real ball_radius = 0;  ///< [m] of the balls drawn at its particles; 0: none
    Real line_radius = 0;  ///< [m] of the threads drawn for its springs and rods
    SpringsPart::Show show = SpringsPart::Show::surface;
    SpringsPart::Colour colour = SpringsPart::Colour::plain;
    Real colour_low = 0, colour_high = 0;  ///< of the colour map's ends; equal: of what has been seen
    Real trail = 0;                        ///< [s] of their way drawn behind the balls
    int palette = -1;                      ///< of the palette's colours; negative: the picture's choice
    std::string label = {};                ///< words above its first particle; empty: none
  };

  /// Topology, rest shape and materials. After changing one by hand, call update().
  struct Model {
    std::vector<Real> mass;                ///< [N] kg, > 0, of pinned particles too
    std::vector<Index2> edges;             ///< [S][2] < N, two different ends
    std::vector<Real> stiffness;           ///< [S] N/m, >= 0
    std::vector<Real> rest_length;         ///< [S] m, >= 0
    std::vector<Real> damping;             ///< [S] N s/m along the spring, >= 0
    std::vector<std::uint8_t> kind;        ///< [S] of Kind
    std::vector<Index3> triangles;         ///< [T][3] < N, of cloth: drawn, and pushed by the air
    std::vector<Index> pinned;             ///< [P] particles that are held
    std::vector<Index> pin_group;          ///< [P] >= 0, which of Params::pins moves them
    std::vector<Vec3> pin_position;        ///< [P] m, where they are held while their group does not move
    std::vector<Index4> tetrahedra;        ///< [K][4] < N, of soft bodies: they are not turned inside out
    std::vector<Real> rest_volume;         ///< [K] m^3, > 0
    TetEmbedding embedding;                ///< [V] vertices of visual meshes, riding on the particles
    std::vector<Index3> visual_triangles;  ///< of each part, into its own visual vertices
    ConstraintSet<Real> constraints;       ///< strict: fixed distances, and wires that particles slide on
    std::vector<Part> parts;
    std::vector<Index3>
        part_edges;  ///< [parts] first edge, number of edges, number of the first ones to draw

    Real constraint_bound = 0;   ///< [1/kg] of the highest frequency squared per stiffness of penalties
    Real stiffness_bound = 0;    ///< [1/s^2] of the net's highest frequency squared; see update()
    Real damping_bound = 0;      ///< [1/s] of the highest damping rate
    Real damping_time = 0;       ///< [s] the least of damping over stiffness
    std::vector<Real> air_mass;  ///< [T] kg that the air on each triangle moves; see update()
    Real reach = 0;              ///< [m] mean rest length of springs that have one
    Index revision = 0;          ///< counts updates, so that workspaces notice them
  };

  struct State {
    Particles particles;
    std::vector<Vec3> velocity_change;  ///< [N] m/s of the last implicit step, the next one's first guess
    std::vector<Real> pressed;    ///< [N] N by solids in the last implicit step, the next one's first guess
    Real velocity_lag = 0;        ///< [s] of velocities behind positions, under leapfrog
    Index damp_steps = 0;         ///< for which classical Runge-Kutta takes a symplectic method's steps
    Index damp_length = 0;        ///< as many as were last set for it
    std::uint8_t was_damped = 0;  ///< whether it took the last one
    double time = 0;              ///< [s] simulated, for what changes with it
  };

  enum class Integrator : int {
    implicit_euler,    ///< linearized once a step (Baraff & Witkin 1998): stable for every stiffness
    backward_euler,    ///< the same to convergence, as a minimization by Newton's method with line search
    local_global,      ///< backward Euler with one prefactored matrix (Liu et al. 2013)
    symplectic_euler,  ///< the cheapest explicit method that keeps energy
    explicit_euler,
    explicit_midpoint,
    heun,
    rk4,
    position_verlet,
    velocity_verlet,
    leapfrog,  ///< with velocities half a step behind
  };
  static constexpr bool is_implicit(Integrator i) { return i < Integrator::symplectic_euler; }

  /// What conjugate gradients are preconditioned with.
  enum class Preconditioner : int {
    none,
    jacobi,
    block_jacobi,         ///< 3x3 blocks
    incomplete_cholesky,  ///< without fill, of 3x3 blocks; few iterations, each on one thread
    multigrid,            ///< the fewest iterations, growing least with the number of particles
  };

  /// How strict constraints are kept.
  enum class Constraints : int {
    multipliers,  ///< exactly, by Lagrange multipliers
    penalty,      ///< nearly, by springs of `penalty_stiffness`
  };
  /// What keeps multipliers from drifting off by the error of an explicit method. Implicit ones always
  /// project.
  enum class Stabilization : int {
    none,
    baumgarte,   ///< pulls back at `baumgarte_rate` (Baumgarte 1972)
    projection,  ///< puts positions and velocities back after each step (Cline & Pai 2003)
    shake,       ///< symplectic for symplectic_euler, velocity_verlet and leapfrog (SHAKE, RATTLE); else
                 ///< projection
  };

  using PinMotion = plenum::PinMotion;

  struct Params {
    Vec3 gravity = Vec3(0, Real(-9.81), 0);
    Integrator integrator = Integrator::implicit_euler;
    Real stiffness_scale = 1;
    Real damping_scale = 1;
    Real point_damping = 0;
    Vec3 wind = Vec3::Zero();
    Turbulence turbulence = {};
    Real air_density = Real(1.2);
    Real drag = 1;
    Real lift = Real(0.5);
    Real tear_strain = 0;
    Constraints constraints = Constraints::multipliers;
    Real penalty_stiffness = Real(1e5);
    Stabilization stabilization = Stabilization::shake;
    Real baumgarte_rate = 20;
    Preconditioner preconditioner = Preconditioner::block_jacobi;
    Real tolerance = Real(1e-3);
    int max_iterations = 1000;
    Real nonlinear_tolerance = Real(1e-3);
    int nonlinear_iterations = 100;
    Real thickness = Real(0.01);
    Real friction = Real(0.3);
    Real restitution = 0;
    std::vector<PinMotion> pins =
        {};  ///< of pin groups 0, 1, ...; groups beyond it stay where they were built

    void describe(Describer& d);
  };

  struct Workspace {
    Workspace();
    ~Workspace();
    Workspace(Workspace&&) noexcept;
    Workspace& operator=(Workspace&&) noexcept;
    std::unique_ptr<SpringsWorkspace> impl;
  };

  /// [bytes] of a mesh, part of memory(): what is drawn, and the distances by which its inside is found.
  static constexpr std::size_t memory_per_triangle = 400;
  static std::size_t memory(const Spec& spec);
  /// Bytes that steps need besides, by the method that params choose: an estimate.
  static std::size_t scratch_memory(const Spec& spec, const Params& params);
  static void build(const Spec& spec, Model& model, State& state);
  /// Checks a model that was made or changed by hand (throws Error) and recomputes its bounds.
  static void update(Model& model);
  /// Throws Error if params move pins of a group that none is of.
  static void check(const Spec& spec, const Params& params);
  /// What is wrong with keyframes of the parameter at this path, which move pins of a group that none is of.
  static std::optional<Problem> moves_nothing(const Model& model, std::string_view path);
  /// Throws Error if arrays that checkpoints hold do not fit together.
  static void check(const Model& model, const State& state);

  static Real max_dt(const Model& model, const State& state, const Params& params);
  static constexpr const char* remedy_of_small_steps =
      "take an implicit method, lower the stiffness or raise the masses";
  static Report step(const Model& model, State& state, const Params& params, Workspace& workspace, Real dt);
  static void fields(const Model& model, State& state, FieldVisitor& visit);
  static void geometry(const Model& model, const State& state, DrawableSink& sink);
  static TetrahedraView tetrahedra(const Model& model) { return {model.tetrahedra, &model.embedding}; }

  /// Relative elongation l / l0 - 1 of a spring; zero if it has no rest length.
  static Real strain(const Model& model, const State& state, std::size_t edge);

  /// Tears springs whose strain is above params.tear_strain: removes them, and opens the cloth at one end of
  /// each, where the triangles on the far side get a vertex of their own. Mass and momentum stay the same.
  /// True if anything tore.
  static bool edit(Model& model, State& state, const Params& params, Workspace& workspace);
  static void model_fields(Model& model, FieldVisitor& visit);

  static Samples samples(const Model& model, const State& state, const Params& params,
                         const Workspace& workspace);
  static void find_overdrawn(const Model& model, const State& state, Real most, std::vector<Index>& out);
  static bool tears(const Params& params) { return params.tear_strain > 0; }
  static void find_pieces(const Model& model, const State& state, Pieces& out);
  static void absorb(const Model& model, State& state, std::span<const SampleImpulse> impulses);
  static bool takes_supports(const Params& params) { return is_implicit(params.integrator); }
  static void rest_on(Workspace& workspace, std::span<Support> supports);
};

constexpr std::array<const char*, 11> names_of(Springs::Integrator) {
  return {"implicit_euler",  "backward_euler",    "local_global", "symplectic_euler",
          "explicit_euler",  "explicit_midpoint", "heun",         "rk4",
          "position_verlet", "velocity_verlet",   "leapfrog"};
}
constexpr std::array<const char*, 5> names_of(Springs::Preconditioner) {
  return {"none", "jacobi", "block_jacobi", "incomplete_cholesky", "multigrid"};
}
constexpr std::array<const char*, 2> names_of(Springs::Constraints) {
  return {"multipliers", "penalty"};
}
constexpr std::array<const char*, 4> names_of(Springs::Stabilization) {
  return {"none", "baumgarte", "projection", "shake"};
}

}  // namespace plenum::inline PLENUM_ABI
