#pragma once
// Position-based dynamics: cloth, ropes and soft bodies as constraints on the positions of particles.
//
// A substep predicts positions from velocities, moves them until constraints hold, and takes velocities from
// where they went. Sources: Mueller, Heidelberger, Hennix & Ratcliff 2007, "Position based dynamics"
// (classic); Macklin, Mueller & Chentanez 2016, "XPBD: position-based simulation of compliant constrained
// dynamics"; Macklin et al. 2019, "Small steps in physics simulation" (many substeps of one sweep).
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plenum/base/error.h"
#include "plenum/elements/curl_noise.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/embedding.h"
#include "plenum/geometry/shape.h"
#include "plenum/solvers/pbd/spec.h"
#include "plenum/state/frames.h"
#include "plenum/state/particles.h"
#include "plenum/state/pins.h"
#include "plenum/state/solver.h"
#include "plenum/state/tetrahedra.h"

namespace plenum::inline PLENUM_ABI {

struct PbdWorkspace;

struct Pbd {
  static constexpr const char* name = "pbd";
  static constexpr const char* doc = "position-based dynamics: cloth, ropes, soft bodies that never explode";

  using Spec = PbdSpec;

  /// A generated part: which of the model's arrays are its own.
  struct Part {
    PbdPart::Type type = PbdPart::Type::cloth;
    Index first_particle = 0, num_particles = 0;
    Index first_edge = 0, num_edges = 0;
    Index first_triangle = 0, num_triangles = 0;
    Index first_visual = 0, num_visual = 0;  ///< vertices of its visual mesh
    Index first_visual_triangle = 0, num_visual_triangles = 0;
    Index cells_x = 0, cells_z = 0;  ///< of cloth on a grid, whose particles are row by row along x
    Real line_radius = 0;            ///< [m] of the threads drawn for ropes
    int palette = -1;
    bool gives = false;                               ///< its tethers hold it under a limit of strain only
    Real damping_time = 0, bending_damping_time = 0;  ///< [s] >= 0 of its constraints, and of bending
  };

  using ShapeMode = PbdPart::ShapeMode;
  /// How a cluster finds back to its shape.
  struct Matching {
    ShapeMode mode = ShapeMode::rigid;
    Real flexibility = 0;  ///< in [0, 1], of linear and quadratic ones
    Real rate = 0;         ///< [1/s] >= 0, of what springs back to it; 0: at once
  };

  /// A rigid body, in the frame of its principal axes about its centre of mass.
  struct Body {
    Shape shape = SphereShape{1};
    Pose shape_in;                ///< of the shape in that frame
    Real mass = 1;                ///< [kg] > 0
    Vec3 inertia = Vec3::Ones();  ///< [kg m^2] > 0 about its axes
    bool is_led = false;
    Index group = 0;  ///< of Params::pins, of what is led
    Pose start;       ///< where it was built, of what is led
    Real friction = 0, restitution = 0;
    Real reach = 0;          ///< [m] of its farthest point
    TriangleMesh mesh = {};  ///< drawn, in the shape's frame
    int palette = -1;
  };
  /// A place on a particle (body < 0) or on a body; carriers are numbered after the bodies.
  struct Anchor {
    Index particle = -1, body = -1;
    Vec3 at = Vec3::Zero();  ///< [m] in the body's frame, or in the world if there is neither
  };
  /// Anchors that stay together, or no farther apart than `length`.
  struct Hold {
    Anchor a, b;
    Real length = 0;                ///< [m]
    Real compliance = 0;            ///< [m/N] >= 0
    Index2 along = Index2(-1, -1);  ///< particles of a rope whose length it is; holds while that does
  };
  /// Of two bodies that turn alike: about all axes, or but one. b < 0: the world.
  struct Alignment {
    Index a = 0, b = -1;
    bool about_axis = false;                              ///< which they may turn about
    Vec3 axis_a = Vec3::UnitX(), axis_b = Vec3::UnitX();  ///< unit, in the bodies' frames
    Quat turn = Quat::Identity();                         ///< from b's frame to a's, at the start
  };

  /// Topology, rest shape and materials. After changing one by hand, call update().
  struct Model {
    /// What a closed part encloses: a volume that it is given, or a gas that presses.
    struct Enclosure {
      Index part = 0;        ///< whose triangles are closed and face outward
      Real rest_volume = 0;  ///< [m^3] > 0
      Real ratio = 1;        ///< of the volume that it is given to rest_volume, > 0; without gas
      Real compliance = 0;   ///< [m^6/J] >= 0, of that volume
      bool has_gas = false;
      double amount = 0;  ///< [J] >= 0: n R T = p V of the gas
      Real outside = 0;   ///< [Pa] >= 0, against it
      Real filling = 0;   ///< [kg] >= 0 of what is inside, which the particles' masses hold
    };
    std::vector<Real> mass;                  ///< [N] kg, > 0, of pinned particles too
    std::vector<Index2> edges;               ///< [E][2] < N, distances
    std::vector<Real> rest_length;           ///< [E] m, >= 0
    std::vector<Real> stretch_compliance;    ///< [E] m/N, >= 0
    std::vector<Index4> hinges;              ///< [H][4] < N: a, b of the edge, c and d opposite to it
    std::vector<Real> rest_angle;            ///< [H] rad
    std::vector<Real> angle_compliance;      ///< [H] rad/(N m)
    std::vector<Index4> plates;              ///< [P][4] < N, of elements/linear_constraints.h
    std::vector<Vec4> plate_weights;         ///< [P]
    std::vector<Real> plate_compliance;      ///< [P] m/N
    std::vector<Index3> bends;               ///< [B][3] < N: neighbours along ropes, rows and columns
    std::vector<Vec3> bend_weights;          ///< [B] 1/m
    std::vector<Real> rod_compliance;        ///< [B] 1/(N m)
    std::vector<Index4> tetrahedra;          ///< [K][4] < N
    std::vector<Real> rest_volume;           ///< [K] m^3
    std::vector<Real> volume_compliance;     ///< [K] m^6/J, >= 0, of their volumes; < 0: they are solids
    std::vector<Mat3> rest_inverse;          ///< [K] 1/m, of (x1 - x0, x2 - x0, x3 - x0) at rest, of solids
    std::vector<Vec2> lame;                  ///< [K] Pa, mu > 0 and lambda >= 0 of the solids
    std::vector<Vec3> rest_position;         ///< [N] m, of what finds back to its shape, or may tear
    Rows cluster_members;                    ///< [C] particles < N of each cluster, at least one
    std::vector<Matching> cluster_matching;  ///< [C]
    std::vector<Index3> strain_triangles;    ///< [S][3] < N, with a warp and a weft
    std::vector<Vec4> strain_inverse;        ///< [S] 1/m, rest of elements/strain_constraints.h
    std::vector<Vec3> strain_compliance;     ///< [S] 1/J of warp, weft and their angle; < 0: none
    std::vector<Index3> area_triangles;      ///< [A][3] < N, that resist changes of their areas
    std::vector<Real> rest_area;             ///< [A] m^2
    std::vector<Real> area_compliance;       ///< [A] m^4/J >= 0
    std::vector<Index4> strain_tetrahedra;   ///< [U][4] < N, with three axes
    std::vector<Mat3> strain_tet_inverse;    ///< [U] 1/m, as rest_inverse, in the material's axes
    std::vector<std::array<Real, 6>> strain_tet_compliance;  ///< [U] 1/J of x, y, z, yz, zx, xy; < 0: none
    std::vector<Index2> tethers;                             ///< [L][2] < N: a particle, and a held one
    std::vector<Real> tether_length;                         ///< [L] m that they may be apart
    std::vector<Index3> triangles;         ///< [T][3] < N, drawn, and those of cloth pushed by the air
    std::vector<Index> pinned;             ///< [P] particles that are held
    std::vector<Index> pin_group;          ///< [P] which of Params::pins moves them; -1 - c: the carrier c
    std::vector<Vec3> pin_position;        ///< [P] m, where they are held while their group does not move, or
                                           ///< in their carrier's frame
    TetEmbedding embedding;                ///< [V] vertices of visual meshes, riding on the particles
    std::vector<Index3> visual_triangles;  ///< of each part, into its own visual vertices
    std::vector<Part> parts;
    std::vector<Enclosure> enclosures;
    std::vector<Body> bodies;
    std::vector<Hold> holds;  ///< attachments, joints' anchors, and what keeps ropes from stretching
    std::vector<Alignment> alignments;
    std::vector<Index2> apart;         ///< sorted: parts and bodies or carriers that do not touch
    std::vector<Index2> bodies_apart;  ///< sorted: bodies, the lesser first, that do not touch
    /// Solids of other systems, on their way through the next step; set by meet().
    struct Guest {
      Shape shape;
      Pose from, to;
      Real friction, restitution;
    };
    std::vector<Guest> guests;
    /// How a carrier goes through the next step by itself; set by ride(). Its frame sits at its centre of
    /// mass, or at its shape's origin if no force moves it. Until ride() is called, what hangs on it hangs in
    /// the air.
    struct Ride {
      Pose from, to;
      Quat hung = Quat::Identity();  ///< its rotation as particles were hung on it, which lay as at rest
      Real inverse_mass = 0;         ///< [1/kg]
      Mat3 inverse_inertia = Mat3::Zero();  ///< [1/(kg m^2)] in its frame
    };
    std::vector<Carrier> carriers;  ///< bodies of other systems that particles hang on
    std::vector<Ride> rides;        ///< [carriers]
    bool is_hung = false;           ///< whether anchors on carriers are in their frames; else in the world
    std::vector<Real> air_mass;     ///< [T] kg that the air on each triangle moves; see update()
    std::vector<Index3> surface;  ///< [S][3] < N what touches: triangles, faces of tetrahedra, edges of ropes
                                  ///< as (a, b, b); see update()
    std::vector<Index2> surface_edges;  ///< of it
    Real shortest_edge = 0;             ///< [m] at rest; see update()
    Real largest_part = 0;              ///< [m] across, as it starts; 0: not known
    /// What tearing has made of cloth, which is the model's own part of checkpoints. All else of a torn model
    /// follows from these and the whole; see resume(). Changes by hand are of the whole.
    std::vector<Index> torn_from;        ///< [A] of the whole's N particles, those that N, N + 1, ... are of
    std::vector<Index2> torn_corners;    ///< [C] corners of triangles, 3 t + c, or ends of ropes' edges,
                                         ///< 3 T + 2 e + c, of the whole, and the particles >= N they are now
    std::shared_ptr<const Model> whole;  ///< before anything tore; null: nothing has
    std::vector<std::string> doubts;     ///< about where bodies start
    Index revision = 0;                  ///< counts updates, so that workspaces notice them
  };

  struct State {
    Particles particles;
    Frames frames;                 ///< of the rigid bodies
    std::vector<Index2> touching;  ///< [C] bodies that touch, or a body and a guest, which are numbered after
                                   ///< bodies and carriers
    std::vector<Vec3> touch_normal;  ///< [C] unit, from the first to the second, in the first one's frame
    std::vector<Real> inflation;  ///< [enclosures] where Params::inflation has led them, >= 0, as the sizes
                                  ///< of balloons take time; empty: not yet begun
    std::vector<Real> stored;     ///< [solids] J, that neo-Hookean bodies may yet move with; empty: not yet
                                  ///< begun
    double time = 0;              ///< [s] simulated, for what changes with it
  };

  enum class Method : int {
    xpbd,  ///< compliances in physical units (Macklin, Mueller & Chentanez 2016)
    pbd,   ///< a stiffness from 0 to 1, whose effect depends on iterations and step (Mueller et al. 2007)
  };
  /// In which order a sweep projects.
  enum class Solver : int {
    gauss_seidel,  ///< one colour after the other, each from where those before have led
    jacobi,        ///< all from the same places, and particles go to the mean (Macklin et al. 2014)
    chebyshev,     ///< as jacobi, accelerated by Chebyshev's semi-iterative method (Wang 2015)
  };
  /// Whether bodies touch each other and themselves.
  enum class Contact : int {
    none,          ///< they pass through
    fast,          ///< they are pushed apart; what is too fast passes, and is counted, but for ropes
    conservative,  ///< nothing crosses but near what crosses at the start
  };
  struct Params {
    Vec3 gravity = Vec3(0, Real(-9.81), 0);
    Method method = Method::xpbd;
    Solver solver = Solver::gauss_seidel;
    Real relaxation = Real(1.5);
    Real spectral_radius = Real(0.997);
    Contact contact = Contact::none;
    int substeps = 10;
    int iterations = 1;
    int stretch_sweeps = 1;  ///< >= 1, of gauss_seidel
    int coarse_levels = 0;   ///< >= 0, of cloth on a grid
    Real stiffness = 1;
    Real inflation = 1;
    Real damping = 0;
    Vec3 wind = Vec3::Zero();
    Turbulence turbulence = {};
    Real air_density = Real(1.2);
    Real drag = 1;
    Real lift = Real(0.5);
    Real thickness = Real(0.01);
    Real friction = Real(0.3);
    Real static_friction = -1;  ///< < 0: as friction
    Real restitution = 0;
    Real strain_limit = 0;
    Real tear_strain = 0;
    std::vector<PinMotion> pins =
        {};  ///< of pin groups 0, 1, ...; groups beyond it stay where they were built

    void describe(Describer& d);
  };

  struct Workspace {
    Workspace();
    ~Workspace();
    Workspace(Workspace&&) noexcept;
    Workspace& operator=(Workspace&&) noexcept;
    std::unique_ptr<PbdWorkspace> impl;
  };

  /// [bytes] of a mesh, part of memory(): what is drawn, and the distances by which its inside is found.
  static constexpr std::size_t memory_per_triangle = 400;
  static std::size_t memory(const Spec& spec);
  static void build(const Spec& spec, Model& model, State& state);
  static std::span<const std::string> doubts(const Model& model) { return model.doubts; }
  /// Checks a model that was made or changed by hand (throws Error) and recomputes what follows from it.
  static void update(Model& model);
  /// Throws Error if params move pins of a group that none is of.
  static void check(const Spec& spec, const Params& params);
  /// Throws Error if arrays of the state do not fit together, as those of a checkpoint of another scene.
  static void check(const Model& model, const State& state);
  static std::optional<Problem> moves_nothing(const Model& model, std::string_view path);

  static Real max_dt(const Model& model, const State& state, const Params& params);
  static Report step(const Model& model, State& state, const Params& params, Workspace& workspace, Real dt);
  static void fields(const Model& model, State& state, FieldVisitor& visit);
  static void geometry(const Model& model, const State& state, DrawableSink& sink);
  static TetrahedraView tetrahedra(const Model& model) { return {model.tetrahedra, &model.embedding}; }

  /// [m] Between the middles of surfaces that touch: twice Params::thickness, but no more than half of the
  /// shortest edge at rest, lest a surface push itself apart.
  static Real contact_distance(const Model& model, const Params& params);

  /// [m] Params::thickness, but no more than a quarter of the largest part's size: what is thicker has pinned
  /// particles, bodies and the ground within its layer, and is thrown out of them for ever.
  static Real solid_distance(const Model& model, const Params& params);

  /// Relative elongation l / l0 - 1 of an edge; zero if it has no rest length.
  static Real strain(const Model& model, const State& state, std::size_t edge);

  /// Opens cloth where a side of its triangles is longer than (1 + params.tear_strain) times what it is at
  /// rest: vertices are divided between the triangles around them. Ropes snap likewise, each piece at its
  /// most stretched segment. Mass and momentum stay. True if anything tore. Walls of balloons and soft bodies
  /// do not tear.
  static bool edit(Model& model, State& state, const Params& params, Workspace& workspace);
  /// [N] which piece of a rope each particle is in; -1: of none.
  static std::vector<Index> rope_pieces(const Model& model);
  static void model_fields(Model& model, FieldVisitor& visit);
  /// Makes of a model what its torn_from and torn_corners say: masses, constraints, pins.
  static void resume(Model& model);
  static bool tears(const Params& params) { return params.tear_strain > 0; }

  static Samples samples(const Model& model, const State& state, const Params& params,
                         const Workspace& workspace);
  static void absorb(const Model& model, State& state, std::span<const SampleImpulse> impulses);
  /// Takes back what contact after a step has led through each other, if nothing is to cross.
  static void settle(const Model& model, State& state, const Params& params, Workspace& workspace);
  static std::span<const SolidBody> bodies(const Model& model, const State& state, const Params& params,
                                           Workspace& workspace);
  static void absorb(const Model& model, State& state, std::span<const BodyImpulse> impulses);
  static bool meet(Model& model, State& state, std::span<const SolidBody> solids, Real dt);
  static std::span<const BodyImpulse> pushes(const Workspace& workspace);
  static std::span<const Carrier> carriers(const Model& model) { return model.carriers; }
  static void find_passing(const Model& model, std::vector<Passing>& out);
  static void ride(Model& model, State& state, std::span<const SolidBody> carriers);
  static std::span<const BodyImpulse> pulls(const Workspace& workspace);
  static bool takes_supports(const Params&) { return true; }
  static void rest_on(Workspace& workspace, std::span<Support> supports);
  static void link(Workspace& workspace, BodyLinks& links);
  static void grasp(Workspace& workspace, std::span<const Grasp> grasps);
  static void gust(Workspace& workspace, const Gust& gust);
  /// Opens cloth that may tear along edges beside a cut, on the one side of it.
  static bool open(Model& model, State& state, const Params& params, const CutSector& cut);
};

constexpr std::array<const char*, 3> names_of(Pbd::Contact) {
  return {"none", "fast", "conservative"};
}
constexpr std::array<const char*, 3> names_of(Pbd::Solver) {
  return {"gauss_seidel", "jacobi", "chebyshev"};
}
constexpr std::array<const char*, 2> names_of(Pbd::Method) {
  return {"xpbd", "pbd"};
}

}  // namespace plenum::inline PLENUM_ABI
