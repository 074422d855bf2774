#pragma once
// Smoke: a gas of constant density on a staggered grid, in two dimensions or three, that carries soot and
// heat.
#include <optional>
#include <string>
#include <vector>

#include "plenum/integrate/grid_advection.h"
#include "plenum/linear/pressure_solver.h"
#include "plenum/solvers/smoke/detail/bodies.h"
#include "plenum/state/body_holds.h"
#include "plenum/state/cell_fields.h"
#include "plenum/state/grid.h"
#include "plenum/state/grid_solid.h"
#include "plenum/state/solver.h"

namespace plenum::inline PLENUM_ABI {

/// Where smoke comes from, or what it flows around.
using SmokeShape = GridSolid;

/// Linear; a grey between soot, which takes most of the light, and steam, which scatters nearly all: it shows
/// before light walls and dark ones.
inline const Vec3 soot_albedo(Real(0.45), Real(0.46), Real(0.49));

/// Draws what is within its shape towards given values. All of it may be keyframed.
struct SmokeSource : GridSolid {
  Real density = 1;                  ///< [kg/m^3] of soot
  Real temperature = 50;             ///< [K] above the surroundings
  Vec3 velocity = Vec3::Zero();      ///< [m/s]
  bool moves = false;                ///< whether the velocity is given too
  Real rate = 20;                    ///< [1/s] at which the values are approached
  Real start = 0, stop = Real(1e9);  ///< [s] acts in between
  Vec3 colour = soot_albedo;         ///< linear albedo of the soot
  void describe(Describer& d);
};

/// Stirs the gas as a hand does, where keyframes move it: draws along what it passes, and leaves soot.
struct SmokeBrush {
  Vec3 position = Vec3::Zero();      ///< [m]
  Real radius = Real(0.05);          ///< [m] at which it ends, smoothly
  Real density = 1;                  ///< [kg/m^3] of soot, approached
  Real temperature = 0;              ///< [K] above the surroundings, approached
  Vec3 colour = soot_albedo;         ///< linear albedo of the soot
  Real rate = 30;                    ///< [1/s] at which the values are approached
  Real start = 0, stop = Real(1e9);  ///< [s] acts in between
  void describe(Describer& d);
};

struct Smoke {
  static constexpr const char* name = "smoke";
  static constexpr const char* doc = "smoke in a box of cells, in two dimensions or three";

  enum class Diffusion : int { explicit_euler, implicit_euler };
  friend constexpr std::array<const char*, 2> names_of(Diffusion) {
    return {"explicit_euler", "implicit_euler"};
  }
  /// What the sheet of a flat grid is coloured by.
  enum class Show : int { density, temperature, speed, vorticity, ink };
  friend constexpr std::array<const char*, 5> names_of(Show) {
    return {"density", "temperature", "speed", "vorticity", "ink"};
  }

  struct Side {
    GridSide kind = GridSide::free_slip;
    Vec3 velocity = Vec3::Zero();  ///< [m/s] of the wall, or of what flows in
    enum class Profile : int { uniform, parabolic };
    friend constexpr std::array<const char*, 2> names_of(Profile) { return {"uniform", "parabolic"}; }
    Profile profile = Profile::uniform;  ///< of what flows in
    void describe(Describer& d);
  };
  struct Spec {
    int cells_x = 64, cells_y = 64, cells_z = 64;  ///< cells_z = 1: two dimensions
    Real spacing = Real(1) / 64;                   ///< [m] side of a cell
    Vec3 low = Vec3::Zero();                       ///< [m] low corner of the box
    Side left, right, bottom, top, back, front;
    std::vector<SmokeShape> solids = {};
    bool solids_grip = false;  ///< whether the gas sticks to solids (no slip) or slides along them
    Show show = Show::density;
    Real show_low = 0, show_high = 1;  ///< range of the colour map; equal: of what there is
    Real extinction = 20;              ///< [m^2/kg] of light by soot, in pictures of it
    bool coloured = false;             ///< whether soot has colours, which mix
    int palette = -1;                  ///< of the solids
    void describe(Describer& d);
  };

  struct Model {
    GridShape shape;
    Real h = 1;               ///< [m]
    Vec3 low = Vec3::Zero();  ///< [m]
    GridBox box;
    FaceField open;  ///< open fractions of faces; no items: all are open
    /// Where there is fluid, by quantity: faces along x, y, z, cells. Empty without solids.
    std::array<std::vector<std::uint8_t>, 4> known;
    std::array<Extrapolation, 4> extrapolation;
    std::vector<SmokeShape> solids;
    bool solids_grip = false;
    /// Of faces along x, y, z, if solids grip: how near their surfaces are (integrate/grid_diffusion.h).
    std::array<std::vector<Real>, 3> cling;
    Show show = Show::density;
    Real show_low = 0, show_high = 1;
    Real extinction = 20;
    bool coloured = false;
    int palette = -1;
  };
  struct State {
    FaceField velocity;         ///< [m/s], with ghosts
    std::vector<Real> density;  ///< [shape.size()] kg/m^3 of soot
    /// [shape.size()] kg/m^3: density times its albedo in red, green, blue. Inks that mix add these, so that
    /// colours are kept as the density is. No items if soot has no colours.
    std::array<std::vector<Real>, 3> scattered;
    std::vector<Real> temperature;  ///< [shape.size()] K above the surroundings
    std::vector<Real> pressure;     ///< [shape.size()] Pa: where the next projection starts
    double time = 0;                ///< [s]
    std::vector<Vec3>
        brushed;      ///< [brushes] m, where they were at the end of the step; none before the first
    BodyHolds holds;  ///< of bodies that move by themselves
  };
  struct Params {
    Vec3 gravity = Vec3(0, Real(-9.81), 0);  ///< [m/s^2]
    Real thermal_expansion = Real(1) / 293;  ///< [1/K] of an ideal gas, the inverse of its temperature
    Real soot_weight = Real(0.1);            ///< [m^3/kg] relative weight of a unit of soot
    Vec3 acceleration = Vec3::Zero();        ///< [m/s^2] of all of the gas
    Real vorticity_confinement = 0;          ///< [1]
    Real viscosity = 0;                      ///< [m^2/s], kinematic
    Diffusion diffusion = Diffusion::implicit_euler;
    Real air_density = Real(1.2);    ///< [kg/m^3]
    Real sphere_drag = Real(0.47);   ///< [1] of particles, over their section
    Real plate_drag = Real(1.17);    ///< [1] of cloth across the flow, over its area
    Real cooling = 0, settling = 0;  ///< [1/s] decay of temperature and of soot
    AdvectionScheme advection = AdvectionScheme::maccormack;
    Trace trace = Trace::rk2;
    PressureMethod pressure_solver = PressureMethod::automatic;
    Real pressure_tolerance = Real(1e-4);  ///< of the residual, relative
    int pressure_iterations = 100;
    bool report_energy = false;
    std::vector<SmokeSource> sources = {};
    std::vector<SmokeBrush> brushes = {};
    Real stroke_density =
        1;  ///< [kg/m^3] of soot that strokes of a hand leave; each has the next of some inks
    void describe(Describer& d);
  };
  /// The gas as what particles and cloth are in: it drags them, and they drag it.
  struct Wind final : Medium {
    const Model* model = nullptr;
    State* state = nullptr;
    Real density = 0, drag = 0, plate_drag = 0;  ///< as in Params
    std::vector<std::vector<Vec3>> impulses;     ///< [owners][samples] N s, of the step to come
    bool dragged_twice = false;                  ///< whether some of these have air of their own besides
    void probe(std::span<const Vec3> x, std::span<MediumProbe> out) const override;
    void immerse(std::size_t owner, const Samples& samples, Real h) override;
    void reaction(std::size_t owner, std::span<Vec3> out) const override;
  };
  struct Workspace {
    FaceField forced, moved;                     ///< [shape.size()] each, m/s
    std::vector<Real> scalar;                    ///< [shape.size()]
    std::array<std::vector<Real>, 3> vorticity;  ///< [shape.size()] 1/s at cell centres
    std::vector<Real> vorticity_size;
    AdvectionWorkspace advection;
    PressureSolver pressure;
    std::optional<Stroke> stroke;  ///< in the next step
    std::optional<Gust> gust;      ///< in the next step
    SmokeBodies immersed;
    Wind wind;
  };

  static std::size_t memory(const Spec& spec);
  static constexpr std::size_t memory_per_triangle = GridSolid::memory_per_triangle;
  static void build(const Spec& spec, Model& model, State& state);
  /// Throws Error if arrays that checkpoints hold do not fit the model.
  static void check(const Model& model, const State& state);
  static Real max_dt(const Model& model, const State& state, const Params& params);
  static constexpr const char* remedy_of_small_steps = "lower viscosity, or set diffusion to implicit_euler";
  static Report step(const Model& model, State& state, const Params& params, Workspace& workspace, Real dt);
  /// Bodies that it flows around and pushes in the next step.
  static void meet(Workspace& workspace, std::span<const SolidBody> bodies);
  static std::span<const BodyImpulse> pushes(const Workspace& workspace) { return workspace.immersed.pushes; }
  static Medium* medium(const Model& model, State& state, const Params& params, Workspace& workspace);
  /// The box, without height if it is flat.
  static Aabb stirred_box(const Model& model);
  static void stir(Workspace& workspace, const Stroke& stroke) { workspace.stroke = stroke; }
  static void gust(Workspace& workspace, const Gust& gust) { workspace.gust = gust; }
  static void fields(const Model& model, State& state, FieldVisitor& visit);
  static void geometry(const Model& model, const State& state, DrawableSink& sink);
  static void debug(const Model& model, const State& state, const Params& params, const DebugDraw& wanted,
                    DrawableSink& sink);
  static CellFields cells(const Model& model, const State&) {
    return {.shape = model.shape, .low = model.low, .spacing = model.h, .scalars = {}, .vectors = {}};
  }

  /// [J] of the whole box, a flat one a metre deep: each face's velocity counts for the volume around it.
  static double kinetic_energy(const Model& model, const State& state, Real air_density);
};

}  // namespace plenum::inline PLENUM_ABI
