#pragma once
// Particle systems: points emitted or placed, moved by gravity, the air (drag, wind, turbulence, vortices),
// attractors and forces between pairs, and removed at the end of their life.
#include <vector>

#include "plenum/elements/curl_noise.h"
#include "plenum/geometry/mesh.h"
#include "plenum/solvers/particles/lennard_jones.h"
#include "plenum/solvers/particles/pair_list.h"
#include "plenum/state/particles.h"
#include "plenum/state/solver.h"

namespace plenum::inline PLENUM_ABI {

/// Where particles come from: rate, cone of directions, speed, lifetime. All of it may be keyframed.
struct ParticleEmitter {
  enum class Shape : int { point, disc, mesh };
  friend constexpr std::array<const char*, 3> names_of(Shape) { return {"point", "disc", "mesh"}; }

  Shape shape = Shape::point;
  Vec3 position = Vec3::Zero();         ///< [m]
  Vec3 direction = Vec3(0, 1, 0);       ///< axis of the cone, any length; a mesh emits along its normals
  Real radius = Real(0.1);              ///< [m] of the disc, which is perpendicular to `direction`
  int surface = 0;                      ///< of the mesh: index into Spec::surfaces
  Real rate = 100;                      ///< [1/s]
  Real speed = 5;                       ///< [m/s]
  Real speed_variation = Real(0.1);     ///< speeds are uniform in speed (1 -+ speed_variation)
  Real spread = Real(11.5);             ///< [deg] half-angle of the cone, filled uniformly by solid angle
  Real lifetime = 0;                    ///< [s]; 0: forever
  Real lifetime_variation = Real(0.1);  ///< lifetimes are uniform in lifetime (1 -+ lifetime_variation)
  Real start = 0, stop = Real(1e9);     ///< [s] emits in between
  std::int64_t count = 0;               ///< emits at most this many; 0: no limit
  void describe(Describer& d);
};

/// Pulls with the acceleration of a Plummer sphere, mu d / (d^2 + radius^2)^(3/2), d the way to its centre.
struct Attractor {
  Vec3 position = Vec3::Zero();  ///< [m]
  Real strength = 1;             ///< mu [m^3/s^2]; negative: repels
  Real radius = Real(0.1);       ///< [m] softening, > 0
  void describe(Describer& d);
};

/// A straight vortex in the air, felt through drag. Swirl speed at distance r from the axis:
/// circulation r / (2 pi (r^2 + radius^2)), the core of Scully 1975.
struct Vortex {
  Vec3 position = Vec3::Zero();  ///< [m] a point of the axis
  Vec3 axis = Vec3(0, 1, 0);     ///< any length; right-handed
  Real circulation = 10;         ///< [m^2/s]
  Real radius = Real(0.2);       ///< [m] of the core, > 0
  Real updraught = 0;            ///< [m/s] along the axis, falling off as radius^2 / (r^2 + radius^2)
  void describe(Describer& d);
};

/// Particles of one block placed at the start.
struct ParticleBlock {
  enum class Shape : int { box, ball };
  friend constexpr std::array<const char*, 2> names_of(Shape) { return {"box", "ball"}; }
  enum class Lattice : int { cubic, fcc, random };
  friend constexpr std::array<const char*, 3> names_of(Lattice) { return {"cubic", "fcc", "random"}; }

  Shape shape = Shape::box;
  Vec3 low = Vec3::Constant(Real(-0.5)), high = Vec3::Constant(Real(0.5));  ///< [m] of the box
  Vec3 centre = Vec3::Zero();                                               ///< [m] of the ball
  Real radius = Real(0.5);                                                  ///< [m] of the ball
  Lattice lattice = Lattice::cubic;
  Real spacing = Real(0.1);      ///< [m] side of the lattice's cubic cell
  std::int64_t count = 1000;     ///< of random places
  Vec3 velocity = Vec3::Zero();  ///< [m/s] of the whole block
  Real thermal_speed = 0;        ///< [m/s] standard deviation of each component (Maxwell-Boltzmann)
  Real lifetime = 0;             ///< [s]; 0: forever
  void describe(Describer& d);
};

struct ParticleSystem {
  static constexpr const char* name = "particles";
  static constexpr const char* doc =
      "particles from emitters or blocks, in gravity, air and each other's field";

  /// What geometry() colours the spheres by.
  enum class Colour : int { plain, speed, age };
  friend constexpr std::array<const char*, 3> names_of(Colour) { return {"plain", "speed", "age"}; }

  struct Surface {
    TriangleMesh mesh;
    void describe(Describer& d);
  };

  struct Spec {
    std::int64_t max_particles = 100000;  ///< capacity, reserved at the start; blocks and lists count too
    Real mass = Real(1e-3);               ///< [kg] of each
    Real radius = Real(0.02);             ///< [m] of each, in pictures and in contact
    std::int64_t seed = 1;                ///< of the random numbers
    std::vector<ParticleBlock> blocks = {};
    std::vector<Vec3> positions = {};    ///< [m] of further particles
    std::vector<Vec3> velocities = {};   ///< [m/s] of those; empty: at rest
    std::vector<Surface> surfaces = {};  ///< that emitters may use
    Vec3 periodic_low = Vec3::Zero();   ///< [m] corners of the box that repeats for forces between particles;
    Vec3 periodic_high = Vec3::Zero();  ///< equal along an axis: open there
    Colour colour = Colour::plain;
    Real colour_low = 0, colour_high = 0;  ///< range of the colour map; equal: of what has been seen
    Real trail = 0;                        ///< [s] of its way drawn behind each
    int palette = -1;
    void describe(Describer& d);
  };

  struct Model {
    std::size_t capacity = 0;
    Real inverse_mass = 1;     ///< [1/kg] of emitted particles
    Real radius = Real(0.02);  ///< [m]
    std::uint64_t seed = 1;
    std::vector<TriangleMesh> surfaces;
    std::vector<std::vector<double>> cumulative_area;  ///< [surface][triangle] m^2, running sums
    Vec3 periodic_low = Vec3::Zero(), periodic_high = Vec3::Zero();  ///< [m] equal along open axes
    Colour colour = Colour::plain;
    Real colour_low = 0, colour_high = 0;  ///< range of the colour map; equal: of what has been seen
    Real trail = 0;                        ///< [s] of its way drawn behind each
    int palette = -1;
  };

  struct State {
    Particles particles;            ///< [N]
    std::vector<double> birth;      ///< [N] s
    std::vector<Real> lifetime;     ///< [N] s; 0: forever
    std::vector<std::uint32_t> id;  ///< [N] serial number, in order of birth; stays when the index changes
    /// Of forces between particles, which are computed once a step, at its end. Empty: not known.
    std::vector<Vec3> acceleration;  ///< [N] m/s^2
    /// The list of neighbours is a function of these, so that it may be forgotten and made again. Empty: to
    /// be renewed.
    std::vector<Vec3> pair_origin;     ///< [N] m
    Vec2 pair_setting = Vec2::Zero();  ///< sigma [m], range [sigma]
    double time = 0;                   ///< [s]
    double next_expiry = 0;            ///< [s] no particle dies before
    std::int64_t next_id = 0;
    std::vector<double> due;              ///< [E] fraction of the next particle of each emitter
    std::vector<std::int64_t> emitted;    ///< [E] so far: the counter of its random numbers
    std::vector<Vec3> emitter_position;   ///< [E] m, at the end of the last step
    std::vector<Vec3> emitter_direction;  ///< [E]
    std::size_t size() const { return particles.size(); }
  };

  struct Params {
    Vec3 gravity = Vec3(0, Real(-9.81), 0);  ///< [m/s^2]
    Real linear_drag = 0;                    ///< [kg/s] force per relative speed
    Real quadratic_drag = 0;                 ///< [kg/m] force per squared relative speed
    Vec3 wind = Vec3::Zero();                ///< [m/s]
    Turbulence turbulence = {};
    Real restitution = Real(0.3);
    Real friction = Real(0.3);
    std::vector<ParticleEmitter> emitters = {};
    std::vector<Attractor> attractors = {};
    std::vector<Vortex> vortices = {};
    LennardJones pair = {};
    bool report_energy = false;  ///< energies, and the pressure of a periodic box, in reports
    void describe(Describer& d);
  };

  struct Workspace {
    std::vector<Vec3> x0;  ///< [N] m, positions at the start of the last step
    PairList pairs;
    std::vector<Index> dead;                ///< who dies in this step
    std::vector<std::size_t> deaths;        ///< before each block of particles
    std::vector<Vec3> unused_acceleration;  ///< [N] what a measurement of energies computes besides
  };

  static std::size_t memory(const Spec& spec);
  /// Bytes that steps need besides, by the method that params choose: an estimate.
  static std::size_t scratch_memory(const Spec& spec, const Params& params);
  static void build(const Spec& spec, Model& model, State& state);
  /// Throws Error, with a key from "params" on, for parameters that contradict each other or the spec.
  static void check(const Spec& spec, const Params& params);
  /// Throws Error if arrays that checkpoints hold do not fit together.
  static void check(const Model& model, const State& state);
  static Real max_dt(const Model& model, const State& state, const Params& params);
  /// Its one method is explicit: only the forces can change.
  static constexpr const char* remedy_of_small_steps =
      "raise the mass, weaken or widen the pair force (epsilon, sigma) or the attractors (strength, radius), "
      "or begin with less energy";
  static Report step(const Model& model, State& state, const Params& params, Workspace& workspace, Real dt);
  static void fields(const Model& model, State& state, FieldVisitor& visit);
  static void geometry(const Model& model, const State& state, DrawableSink& sink);
  static Samples samples(const Model& model, const State& state, const Params& params,
                         const Workspace& workspace);
  /// Sums over pairs of the state as it is.
  static PairEnergy pair_energy(const Model& model, const State& state, const Params& params,
                                Workspace& workspace);
  static void absorb(const Model& model, State& state, std::span<const SampleImpulse> impulses);
};

}  // namespace plenum::inline PLENUM_ABI
