#pragma once
// Liquid in a staggered grid, which makes its velocity free of divergence, in two dimensions or three: marker
// particles that carry it, or a level set that says where it is.
#include <string>
#include <vector>

#include "plenum/geometry/liquid_mesh.h"
#include "plenum/integrate/surface_tracking.h"
#include "plenum/linear/pressure_solver.h"
#include "plenum/state/body_holds.h"
#include "plenum/state/cell_fields.h"
#include "plenum/state/grid.h"
#include "plenum/state/grid_solid.h"
#include "plenum/state/grid_walls.h"
#include "plenum/state/solver.h"

namespace plenum::inline PLENUM_ABI {

/// Liquid that is there at the start.
struct LiquidFill : GridSolid {
  Vec3 velocity = Vec3::Zero();  ///< [m/s]
  void describe(Describer& d);
};
/// A shape that is kept full of liquid.
struct LiquidSource : GridSolid {
  Vec3 velocity = Vec3::Zero();      ///< [m/s] of the liquid in it
  Real start = 0, stop = Real(1e9);  ///< [s] flows in between
  void describe(Describer& d);
};

/// A window in the closed sides of the box where its shape is: liquid comes in through it.
struct LiquidInlet : GridSolid {
  Vec3 velocity = Vec3::Zero();      ///< [m/s] of what comes in
  Real start = 0, stop = Real(1e9);  ///< [s] it comes in between
  void describe(Describer& d);
};

/// Cells low <= (i, j, k) < high of the box; none: low = high.
struct CellWindow {
  std::array<Index, 3> low = {0, 0, 0}, high = {0, 0, 0};
  bool is_empty() const { return low[0] >= high[0]; }
};

/// Bodies of other systems in the liquid, on their way through its step (detail/bodies.cpp).
struct LiquidBodies {
  /// One that moves as a whole.
  struct Body {
    Index first = 0;        ///< of its parts, as the world numbers them
    bool is_led = false;    ///< on a way that is given; else pushed
    Vec3 centre, velocity;  ///< [m], [m/s] of the centre of mass
    Vec3 angular_velocity, acceleration;
    Vec3 angular_acceleration = Vec3::Zero();  ///< [rad/s^2]
    BodyHold hold;
    Real inverse_mass = 0;            ///< [1/kg]
    Mat3 inverse_inertia;             ///< [1/(kg m^2)] in the world
    Vector3<double> impulse, couple;  ///< [N s], [N m s] that it was given in the step so far
    std::size_t begin = 0, end = 0;   ///< its ties
  };
  struct Part {
    SolidBody solid;
    std::size_t number;  ///< as the world has it
    std::size_t body;
    int image = 0;                   ///< which of those across periodic sides
    Vec3 shift = Vec3::Zero();       ///< [m] of that, from the body
    Pose pose;                       ///< now
    Pose before;                     ///< where particles are known to be on the right sides of it
    bool is_thin = false;            ///< maybe thinner than two cells
    std::array<Index, 3> low, high;  ///< items of the grid that it may take from
    std::size_t first = 0;           ///< of its sub-cells
    std::size_t first_item = 0;
  };
  std::vector<SolidBody> told;  ///< by the world, before the step
  std::vector<Body> bodies;
  std::vector<Part> parts;
  std::vector<BodyImpulse> pushes;  ///< given in the last step
  std::vector<GridWall> seen;       ///< where they stood at its end, for pictures

  // The grid with them in it; but for items near bodies, as the model has it.
  FaceField open;                      ///< open fractions of faces
  std::vector<Real> capacity;          ///< as that of the model
  std::vector<std::uint16_t> part_at;  ///< [shape.size()] a part that takes from the cell, from 1; 0: none
  std::vector<std::array<std::array<Index, 3>, 2>> changed;  ///< low and high of items that differ
  std::vector<Vec3> point;                                   ///< [sub-cells] m, middles
  std::vector<Real> outside;                                 ///< [sub-cells] part that is not of the body
  std::vector<std::array<Real, 3>> closed;  ///< [items] part of each lower face that the body closes
  struct Row {
    std::size_t part;
    Index j, k;
    std::uint32_t first = 0, count = 0;  ///< of its ties
  };
  std::vector<Row> rows;
  std::vector<std::uint32_t> sunk;  ///< cells within bodies that border on liquid
  std::vector<std::size_t> thin;    ///< parts that may be thin, by their numbers
  bool any() const { return !parts.empty(); }
};

struct Liquid {
  static constexpr const char* name = "liquid";
  static constexpr const char* doc =
      "liquid with a free surface in a box of cells, in two dimensions or three";

  /// What says where the liquid is: marker particles, which carry its velocity too (Harlow & Welch 1965); a
  /// signed distance on the grid, beside velocities there (Osher & Sethian 1988; Foster & Fedkiw 2001); or
  /// that, corrected by particles on both sides of the surface (Enright et al. 2002).
  enum class Tracker : int { particles, level_set, particle_level_set };
  friend constexpr std::array<const char*, 3> names_of(Tracker) {
    return {"particles", "level_set", "particle_level_set"};
  }
  /// How particles take the grid's velocity: as it is (Harlow 1964, particle in cell), by its change
  /// (Brackbill & Ruppel 1986, fluid implicit particle; Zhu & Bridson 2005), or with its gradient (Jiang et
  /// al. 2015, affine particle in cell).
  enum class Transfer : int { pic, flip, apic };
  friend constexpr std::array<const char*, 3> names_of(Transfer) { return {"pic", "flip", "apic"}; }
  /// What a picture shows of it. In two dimensions particles have no surface and are shown instead; a level
  /// set has no particles, and its surface is shown.
  enum class Show : int { surface, particles, nothing };
  friend constexpr std::array<const char*, 3> names_of(Show) { return {"surface", "particles", "nothing"}; }
  /// What a side of the box does to the liquid; words and keys are those of Smoke::Side.
  struct Side {
    enum class Kind : int { free_slip, no_slip, outflow, periodic };
    friend constexpr std::array<const char*, 4> names_of(Kind) {
      return {"free_slip", "no_slip", "outflow", "periodic"};
    }
    Kind kind = Kind::free_slip;
    Vec3 velocity = Vec3::Zero();  ///< [m/s] of a wall without slip, along itself
    void describe(Describer& d);
  };

  struct Spec {
    int cells_x = 64, cells_y = 64, cells_z = 64;  ///< cells_z = 1: two dimensions
    Real spacing = Real(1) / 64;                   ///< [m] side of a cell
    Vec3 low = Vec3::Zero();                       ///< [m] low corner of the box
    Side left, right, bottom, top, back, front;
    Tracker tracker = Tracker::particles;
    int particles_per_side = 2;  ///< of a cell that is full, or near a level set: its square or cube in each
    Real jitter = 1;             ///< [1] of their places at the start, in parts of their distance
    std::vector<GridSolid> solids = {};
    bool solids_grip = false;  ///< whether a viscous liquid sticks to solids or slides along them
    std::vector<LiquidFill> fill = {};
    std::vector<LiquidInlet> inlets = {};
    Show show = Show::surface;
    Vec3 absorption = LiquidView{}.absorption, scattering = LiquidView{}.scattering;  ///< [1/m]
    int palette = -1;                                                                 ///< of the solids
    void describe(Describer& d);
  };

  /// A face on a closed side that an inlet covers.
  struct InletFace {
    std::uint32_t face;  ///< of those across the axis
    std::uint8_t axis;
    bool high;                  ///< whether the side is that of the largest coordinate
    std::uint32_t inlet;        ///< which of the model's
    std::array<Index, 3> cell;  ///< that it leads into
    Real part;                  ///< of it that is covered
  };
  struct Model {
    GridShape shape;
    Real h = 1;               ///< [m]
    Vec3 low = Vec3::Zero();  ///< [m]
    std::array<Side, 6> sides = {};
    Tracker tracker = Tracker::particles;
    int per_side = 2;
    Real jitter = 0;
    FaceField open;  ///< open fractions of faces; no items: all are open
    /// [shape.size()] part of the hat function around a cell's centre that is in the box and not in solids.
    std::vector<Real> capacity;
    /// [shape.size()] m, signed distance to solids at low corners of cells; no items: there are none.
    std::vector<Real> distance;
    std::vector<GridSolid> solids;  ///< then their images across periodic sides (detail/seam.h)
    std::size_t num_solids = 0;     ///< without these
    /// All solids, if any may be thinner than two cells; near_walls [shape.size()] is 1 for cells that one of
    /// those is near, and 2 for those that it may cut. There particles are stopped by the solids' surfaces,
    /// not by `distance`.
    std::vector<GridWall> walls;
    std::vector<std::uint8_t> near_walls;
    WallClearance clearance;                               ///< of `walls`, if there are any
    std::array<std::vector<Real>, 3> cling;                ///< if solids grip: of faces (state/grid_cling.h)
    std::array<std::vector<std::uint32_t>, 3> wall_faces;  ///< closed by walls that stand between corners
    std::vector<LiquidInlet> inlets;
    std::vector<InletFace> inlet_faces;  ///< by axis and face
    /// Of a level set: cells whose centres are in solids, and of which place before these each is the mirror
    /// image, in cells from the low corner.
    struct Mirror {
      std::uint32_t item;
      Vec3 place;
    };
    std::vector<Mirror> mirrors;
    Show show = Show::surface;
    Vec3 absorption = Vec3::Zero(), scattering = Vec3::Zero();  ///< [1/m] of red, green and blue light
    int palette = -1;
    /// Particles of a full cell.
    int per_cell() const { return shape.is_flat() ? per_side * per_side : per_side * per_side * per_side; }
    bool has_level_set() const { return tracker != Tracker::particles; }
    bool is_open(std::size_t side) const { return sides[side].kind == Side::Kind::outflow; }
    bool is_closed(std::size_t side) const { return sides[side].kind <= Side::Kind::no_slip; }
    /// Whether the sides across an axis are one place.
    bool is_periodic(std::size_t axis) const { return sides[2 * axis].kind == Side::Kind::periodic; }
    bool has_slip(std::size_t side) const { return sides[side].kind != Side::Kind::no_slip; }
  };
  struct State {
    std::vector<Vec3> x;            ///< [N] m; of a flat grid, z is in its middle
    std::vector<Vec3> v;            ///< [N] m/s
    std::vector<Vec3> du, dv, dw;   ///< [N] 1/s, gradients of the components of v; [0] but with apic
    std::vector<Real> pressure;     ///< [shape.size()] Pa: where the next projection starts
    double time = 0;                ///< [s]
    std::uint64_t num_emitted = 0;  ///< particles that began or were moved to a new place, ever
    // Of a level set, which has no particles that carry velocities.
    std::vector<Real> phi;  ///< [shape.size()] m, signed distance to the surface within four cells of it
    FaceField velocity;     ///< [shape.size()] m/s, and around the liquid
    TrackerParticles correction;  ///< of the level set
    double volume_wanted = 0;     ///< [m^3, of a flat grid m^2] came in and did not leave
    std::uint64_t num_parts = 0;  ///< of steps, ever
    BodyHolds holds;              ///< of bodies that move by themselves
    /// Of thin parts: their numbers, and where particles were known to be on the right sides of them.
    std::vector<Index> part;
    std::vector<Vec3> part_position;
    std::vector<Eigen::Matrix<Real, 4, 1>> part_rotation;  ///< x, y, z, w
  };
  struct Params {
    Vec3 gravity = Vec3(0, Real(-9.81), 0);  ///< [m/s^2]
    Transfer transfer = Transfer::apic;
    Real flip = Real(0.97);                                   ///< [1] part of flip in its blend with pic
    AdvectionScheme advection = AdvectionScheme::maccormack;  ///< of velocities beside a level set
    Trace trace = Trace::rk2;                                 ///< of these
    Real density = 1000;                                      ///< [kg/m^3]
    Real viscosity = 0;                                       ///< [m^2/s], kinematic
    bool reseed = false;    ///< particles from where they crowd to where the liquid has too few
    Real volume_rate = 10;  ///< [1/s] at which crowded particles are spread; 0: not at all
    Real cfl = 2;           ///< [1] cells that the fastest particle crosses in a part of a step
    int most_parts = 8;     ///< of a step
    PressureMethod pressure_solver = PressureMethod::automatic;
    Real pressure_tolerance = Real(1e-4);  ///< of the residual, relative
    int pressure_iterations = 100;
    Real sphere_drag = Real(0.47);  ///< [1] of particles, over their section
    Real plate_drag = Real(1.17);   ///< [1] of cloth across the flow, over its area
    bool measure = false;
    Real inflow = 1;  ///< [1] velocities of inlets are multiplied by it
    std::vector<LiquidSource> sources = {};
    void describe(Describer& d);
  };
  /// The liquid as what particles and cloth are in: it drags and lifts them, and they push it.
  struct Drag final : Medium {
    const Model* model = nullptr;
    State* state = nullptr;
    Vec3 gravity = Vec3::Zero();
    Real density = 0, drag = 0, plate_drag = 0;  ///< as in Params
    std::vector<std::vector<Vec3>> impulses;     ///< [owners][samples] N s, of the step to come
    void probe(std::span<const Vec3> x, std::span<MediumProbe> out) const override;
    void immerse(std::size_t owner, const Samples& samples, Real h) override;
    void reaction(std::size_t owner, std::span<Vec3> out) const override;

   private:
    std::vector<std::array<Index, 2>> found;  ///< cells near samples and particles in them
    std::vector<Index> first, near;           ///< [shape.size() + 1] where a cell's begin; particles
    void gather(std::span<const Vec3> x);
    template <class F>
    void for_near(const Vec3& x, F&& f) const;
  };
  /// Of what mirrors a level set in solids: a row of centres, and how deep these are [m].
  struct MirrorWorkspace {
    std::vector<Vec3> x, normal;
    std::vector<Real> distance, depth;  ///< [shape.size()] depth, zero between uses
  };
  /// Arrays of the box are touched only where there is liquid.
  struct Workspace {
    // Particles in cells (detail/sort.cpp).
    struct Block {
      std::array<Index, 3> low, high;
    };
    /// A cell that lacks particles, or has some to spare.
    struct Seeds {
      std::array<Index, 3> cell;
      std::uint32_t first;  ///< of its particles
      int count, given;     ///< it had, or still has; it was given
      std::uint64_t taken;  ///< places that those have, by bits
    };
    std::vector<Seeds> lacking, spare;
    std::vector<std::size_t> lacking_in, spare_in;  ///< [rows + 1]
    struct SourceCell {
      std::array<Index, 3> cell;
      int count;
    };
    std::vector<Block> blocks;
    std::vector<SourceCell> source_cells;
    std::vector<std::uint32_t> key, bucket, order;  ///< [N]
    std::vector<std::uint32_t> counts;              ///< [blocks * slabs]
    std::vector<std::uint32_t> slab_begin;          ///< [slabs + 1] planes z = const, or rows of a flat grid
    std::vector<std::uint32_t> cell_end;            ///< [cells of the box] in `order`
    std::vector<Vec3> x, v, du, dv, dw;             ///< [N] in the new order
    /// Cells around all particles; those of the pressure's operator; those that have velocities.
    CellWindow occupied, solved, window;
    std::array<bool, 3> wraps = {};  ///< periodic axes that these cover (detail/seam.h)

    // Faces (detail/transfer.cpp, detail/faces.cpp).
    /// [2 * shape.size()] by component: momentum and weight of a unit of mass, then velocity before the
    /// forces and after, then velocity and its change.
    std::array<AlignedVector<Real>, 3> pairs;
    std::array<AlignedVector<Real>, 3> carry;  ///< [shape.size()] m/s that moves particles
    AlignedVector<Real> crowd;                 ///< [shape.size()] particles over those of a full cell
    std::vector<std::uint8_t> liquid;          ///< [shape.size()] whether a cell is of the liquid
    std::vector<std::uint8_t> shallow;         ///< [shape.size()] has particles, but its centre is in air
    std::array<std::vector<std::uint8_t>, 3> known, later;  ///< [shape.size()] faces that have a velocity
    PressureSolver pressure;
    // Of a level set (detail/level_set.cpp).
    FaceField flow, carried;          ///< [shape.size()] m/s that carries, and that is carried
    std::vector<Real> before, image;  ///< [shape.size()] m; [mirrors] m
    SurfaceTrackingWorkspace tracking;
    MirrorWorkspace mirroring;
    std::vector<Model::Mirror> body_mirrors;
    std::vector<std::uint8_t> layer;  ///< [shape.size()] of cells: how many they are from the liquid
    std::vector<Real> inflow;         ///< [inlets] parts of their velocities in the part of a step
    LiquidBodies immersed;
    /// What stops particles: the model's walls, then thin parts of bodies, by their numbers there.
    std::vector<GridWall> walls;
    std::vector<std::size_t> wall_parts;
    Drag drag;
  };

  static std::size_t memory(const Spec& spec);
  static constexpr std::size_t memory_per_triangle = GridSolid::memory_per_triangle;
  static void build(const Spec& spec, Model& model, State& state);
  /// Throws Error if arrays that checkpoints hold do not fit the model.
  static void check(const Model& model, const State& state);
  static Real max_dt(const Model& model, const State& state, const Params& params);
  static Report step(const Model& model, State& state, const Params& params, Workspace& workspace, Real dt);
  /// Bodies that the next step flows around and pushes, and what it gave them. A flat grid is the section of
  /// them at its middle, and holds what a metre of its depth does. What starts in a body, at time zero, is
  /// taken out.
  static void meet(Workspace& workspace, std::span<const SolidBody> bodies);
  static std::span<const BodyImpulse> pushes(const Workspace& workspace);
  /// What samples of others are immersed in. They are far apart and small beside a cell, or cloth: the liquid
  /// flows through where they are.
  static Medium* medium(const Model& model, State& state, const Params& params, Workspace& workspace);
  static void fields(const Model& model, State& state, FieldVisitor& visit);
  static void geometry(const Model& model, const State& state, DrawableSink& sink);
  /// The same with the bodies that the last step flowed around: the surface goes on into them.
  static void geometry(const Model& model, const State& state, const Workspace& workspace,
                       DrawableSink& sink);
  static void debug(const Model& model, const State& state, const Params& params, const DebugDraw& wanted,
                    DrawableSink& sink);
  /// At cell centres of the box, or of a large one only around the liquid: `fullness`, `velocity` [m/s] and
  /// `pressure` [Pa] of the last projection.
  static CellFields cells(const Model& model, const State& state);

  // A level set goes on into bodies as in a mirror; with the workspace of the last step, what these take is
  // left out of the measures of one.
  /// [J] of the particles, each a full cell's part, a flat grid a metre deep; without their spin. Of a level
  /// set, of the faces, each half of what is full of both cells.
  static double kinetic_energy(const Model& model, const State& state, Real density,
                               const Workspace* flowed = nullptr);
  /// [J] above low, along axes that are not periodic.
  static double potential_energy(const Model& model, const State& state, const Params& params,
                                 const Workspace* flowed = nullptr);
  /// [m^3, of a flat grid m^2] of the region that is at least half full, or where the level set is negative.
  static double volume(const Model& model, const State& state, const Workspace* flowed = nullptr);
  /// [shape.size()] how full of particles the surroundings of each cell's centre are: 1 within liquid, 1/2 at
  /// its surface, 0 outside; solids and what is beyond the box count as full of what is beside them. A
  /// surface for pictures is where it is 1/2. Of a level set, what it would be if the surface were flat.
  static void fullness(const Model& model, const State& state, std::vector<Real>& out);

  struct SurfaceWorkspace {
    std::vector<Vec3> x;                      ///< [m] particles, then their images in solids
    std::vector<Vec3> beside, normal, image;  ///< particles near solids, and their images in one of these
    std::vector<Real> distance, depth;        ///< [m] of particles and of images
    std::vector<Index> first, order;          ///< of particles near solids in cells, and their numbers
    LiquidMeshWorkspace mesh;
  };
  /// The closed surface of a liquid in three dimensions (geometry/liquid_mesh.h), or of its level set. It
  /// meets sides of the box squarely and ends there, at periodic ones cut off as it goes on; it goes on into
  /// solids and bodies as in a mirror, so that no gap is seen beside them, but not out of the far sides of
  /// those thinner than two cells. Allocates only to grow.
  static void surface(const Model& model, const State& state, SurfaceWorkspace& workspace, SurfaceMesh& out,
                      std::span<const GridWall> bodies = {});
};

}  // namespace plenum::inline PLENUM_ABI
