#pragma once
// Scratch memory of a net's steps.
#include <cmath>
#include <span>
#include <vector>

#include "plenum/elements/wind.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/integrate/projective_springs.h"
#include "plenum/integrate/workspace.h"
#include "plenum/linear/incomplete_cholesky.h"
#include "plenum/linear/jacobi.h"
#include "plenum/linear/multigrid.h"
#include "plenum/linear/pcg.h"
#include "plenum/solvers/springs/detail/block.h"
#include "plenum/solvers/springs/detail/least_volumes.h"
#include "plenum/solvers/springs/multipliers.h"
#include "plenum/solvers/springs/rigid_motion.h"
#include "plenum/solvers/springs/spring_system.h"
#include "plenum/solvers/springs/springs.h"
#include "plenum/solvers/springs/supports.h"

namespace plenum::inline PLENUM_ABI {

/// What a prefactored matrix depends on, besides which particles are held.
struct ProjectiveKey {
  Index revision = -1;
  Real h = 0, stiffness_scale = 0, damping_scale = 0, mass_scale = 0, penalty_stiffness = 0;
  bool operator==(const ProjectiveKey&) const = default;
};

/// The springs of a model, then its rods: as springs if they are kept by penalty; and if they are kept by
/// multipliers either with no stiffness but a place in the matrix for that of their tension, or not at all.
struct SpringPairs {
  SpringPairs(const Springs::Model& model, Real penalty_stiffness, bool places_for_rods)
      : edges(model.edges),
        stiffness(model.stiffness),
        rest_length(model.rest_length),
        damping(model.damping) {
    if (!(penalty_stiffness > 0 || places_for_rods)) return;
    const ConstraintSet<Real>& set = model.constraints;
    edges.insert(edges.end(), set.rods.begin(), set.rods.end());
    rest_length.insert(rest_length.end(), set.rod_length.begin(), set.rod_length.end());
    stiffness.resize(edges.size(), penalty_stiffness);
    damping.resize(edges.size(), Real(0));
  }
  std::vector<Index2> edges;
  std::vector<Real> stiffness, rest_length, damping;
};

struct SpringsWorkspace {
  Index revision = -1;          ///< of the model this was laid out for
  Real penalty_stiffness = -1;  ///< of its rods, which are springs of the system if it is positive
  Multipliers<Real> multipliers;
  std::vector<Vec3> moved;           ///< [N] m by constraints, and scratch
  std::vector<Real> rod_stiffness;   ///< [R] N/m by tension
  std::vector<Real> rod_rest;        ///< [R] m while they give way
  std::vector<Vec3> ahead;           ///< [N] m where implicit steps are linearized for constraints
  std::vector<Vec3> towards;         ///< [N] m/s that leads there
  std::vector<Vec3> part_x, part_v;  ///< [N] m, m/s where a part of the step began
  RigidMotions rigid;                ///< of its pieces
  std::vector<Vec3> deviation;       ///< [N] m/s, of the velocities from those
  std::vector<Vec3> bent;            ///< [N] m where tangents to where those lead begin
  std::span<Support> offered;        ///< for the step to come
  SupportSet supports;               ///< those of the step that goes on
  std::vector<Vec3> reaction;        ///< [N] N s of them, and scratch
  struct WithoutFriction {
    Index particle;
    Mat3 diagonal;
    Vec3 rhs;
  };
  std::vector<WithoutFriction> without_friction;  ///< what was where their friction is in the system
  std::vector<Real> told;                         ///< [N] kg on the diagonal, as multigrid is to see it
  std::vector<Vec3> jump;                         ///< [N] m/s of a bounce
  std::vector<Vec3> on_held;                      ///< N s, on what they hold
  SpringSystem<Real> system;
  LeastVolumes volumes;
  NetMatrix matrix() const { return {system.matrix(), volumes}; }  ///< of both
  Real stiffest = 0;                                               ///< [N/m] of its springs
  Real heaviest = 0;                                               ///< [kg] of the particles
  double stiffness_norm = 0;        ///< [N/m] root of the sum of squares, once for each end of its springs
  double damping_norm = 0;          ///< [N s/m] the same of their damping
  double shortest_rod = 1;          ///< [m], at most 1
  bool chain = false;               ///< whether incomplete Cholesky is all but exact for its matrix
  Real wire_stiffness = 0;          ///< [N/m] of wires while strict constraints give way
  std::vector<Real> filter_weight;  ///< [N] 1/kg, of the matrix' diagonal
  std::vector<Vec3> x0;             ///< [N] m at the start of the step
  std::vector<Vec3> v0;             ///< [N] m/s there
  std::vector<Real> base;           ///< [N] kg on the diagonal
  std::vector<Real> diagonal;       ///< [3 N] of the matrix, for Jacobi
  std::vector<Vec3> rhs;            ///< [N]
  Rows incident;                    ///< triangles at each particle
  std::vector<AirForce<Real>> air;  ///< [T] on the triangles
  double air_rate = 0;              ///< [1/s] at which that takes the net along; see air_rate()
  Real pushed = 0;                  ///< as in the state, in this step so far
  Springs::Params used;             ///< the step's, with the method that takes it
  CurlNoise eddies;                 ///< of the air, still during a step
  IntegratorWorkspace<Real> integrator;

  // Backward Euler as a minimization.
  std::vector<Vec3> target;               ///< [N] m, y
  std::vector<Real> flat_mass;            ///< [3 N] kg
  std::vector<Vec3> motion, dissipation;  ///< [N] m/s, N
  ProjectiveSprings<Real> projective;
  ProjectiveKey projective_key;
  std::vector<Real> projective_inverse_mass;  ///< [N] it was factored for

  PcgWorkspace<Real> pcg;
  JacobiPreconditioner<Real> jacobi;
  BlockJacobiPreconditioner<Real> block_jacobi;
  std::unique_ptr<IncompleteCholesky<Real>> incomplete_cholesky;  ///< made when first asked for
  std::unique_ptr<IncompleteCholesky<double>> chain_factors;      ///< the same, of ropes
  std::vector<double> chain_b, chain_x;
  std::vector<Matrix3<double>> chain_free;  ///< [N] projections on what pins and supports leave free
  PcgWorkspace<double> chain_pcg;
  std::unique_ptr<NetMultigrid<Real>> multigrid;  ///< the same
  std::vector<char> multigrid_held;               ///< [N] particles it takes for held

  bool told_of_linear_steps = false;  ///< which strict constraints make minimizers take
};

/// Drags beyond so many times the system's own diagonal take away all but a hundredth of a slip.
inline constexpr Real stiff_drag = 100;

/// Solves A x = b from the guess x, with A = w.matrix(), for the particles that are not held; the
/// others keep their x (to a relative residual of `tolerance` or an absolute one, whichever is met first),
/// and so do the directions in which w.supports hold some. strict: constraints, prepared to filter, whose J x
/// stays that of the guess; b is then met by x and forces of the constraints.
SolveReport solve_linear(const Springs::Model& model, const Springs::Params& params,
                         std::span<const Real> inverse_mass, SpringsWorkspace& w, std::span<const Real> b,
                         std::span<Real> x, double tolerance, double absolute_tolerance = 0,
                         Multipliers<Real>* strict = nullptr);

/// The same for a w.chain without strict constraints, in double, to the precision; leaves x where that fails.
SolveReport solve_chain(const Springs::Model& model, std::span<const Real> inverse_mass, SpringsWorkspace& w,
                        std::span<const Real> b, std::span<Real> x, int max_iterations);

/// w.rhs = forces of springs, air, penalties, and of tetrahedra that w.volumes found, at (x, v) [N].
void find_forces(const Springs::Model& model, std::span<const Vec3> x, std::span<const Vec3> v,
                 const Springs::Params& params, SpringsWorkspace& w);

/// Factor on every spring's damping. It grows with the root of the stiffness, so that what springs hold keeps
/// its damping ratio c / (2 sqrt(k m)).
inline Real damping_factor(const Springs::Params& params) {
  return params.damping_scale * std::sqrt(params.stiffness_scale);
}

/// Energy of springs and tetrahedra [J]; makes w.volumes find those that are flat at x.
inline double elastic_energy(SpringsWorkspace& w, std::span<const Vec3> x, Real stiffness_scale) {
  w.volumes.find(x);
  return w.system.energy(x, stiffness_scale) + w.volumes.energy(x);
}

/// Whether air pushes on anything.
inline bool has_air(const Springs::Model& model, const Springs::Params& params) {
  return !model.triangles.empty() && params.air_density > 0 && (params.drag > 0 || params.lift > 0);
}

/// Fills w.air: the push of the air on every triangle, which moves at the mean velocity of its corners; for
/// an implicit step of h [s], or at this moment if h is zero.
void blow(const Springs::Model& model, std::span<const Vec3> x, std::span<const Vec3> v,
          const Springs::Params& params, SpringsWorkspace& w, Real h = 0);

/// Bound [1/s] of the rates at which the air takes triangles along, |dF/du| / model.air_mass.
double air_rate(const Springs::Model& model, const Springs::State& state, const Springs::Params& params);

/// A third of what w.air holds for the triangles around a particle: the air's force on it [N].
inline Vec3 air_on(const SpringsWorkspace& w, std::size_t particle) {
  Vec3 sum = Vec3::Zero();
  for (const Index t : w.incident[particle]) sum += w.air[std::size_t(t)].force;
  return sum / 3;
}

/// Whether strict constraints are kept by penalty; false if there are none.
inline bool has_penalty(const Springs::Model& model, const Springs::Params& params) {
  return params.constraints == Springs::Constraints::penalty && !model.constraints.empty();
}

/// Sum over free particles of m of(i), in order.
template <class F>
double mass_sum(const Springs::Model& model, std::span<const Real> inverse_mass, F&& of) {
  return ordered_sum(model.mass.size(), net_block, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i)
      if (inverse_mass[i] > 0) sum += double(model.mass[i]) * double(of(i));
    return sum;
  });
}

/// [J] that held particles give, as they move at v [N] m/s, with impulse_of(i) [N s] of what holds each.
template <class Impulse>
double work_of_pins(const Springs::Model& model, std::span<const Real> inverse_mass, std::span<const Vec3> v,
                    Impulse&& impulse_of) {
  double sum = 0;
  for (const Index p : model.pinned)
    if (const auto i = std::size_t(p); inverse_mass[i] == 0) sum += double(impulse_of(i).dot(v[i]));
  return sum;
}

/// Calls add(particle, C, gradient) for both constraints of every bead on its wire.
template <class Add>
void for_each_bead_constraint(const Springs::Model& model, std::span<const Vec3> x, Add&& add) {
  const ConstraintSet<Real>& set = model.constraints;
  for (std::size_t b = 0; b < set.beads.size(); ++b) {
    const auto i = static_cast<std::size_t>(set.beads[b]);
    for (const auto& term :
         wire_constraints<Real>(set.wires[std::size_t(set.bead_wire[b])], x[i], Vec3::Zero()))
      add(i, term.value, term.gradient);
  }
}

/// Views of a vector of Vec3 as flat numbers, [3 N].
inline std::span<Real> flat(std::vector<Vec3>& v) {
  return {reinterpret_cast<Real*>(v.data()), 3 * v.size()};
}
inline std::span<const Real> flat(const std::vector<Vec3>& v) {
  return {reinterpret_cast<const Real*>(v.data()), 3 * v.size()};
}
/// And back.
inline std::span<const Vec3> as_vectors(std::span<const Real> flat) {
  return {reinterpret_cast<const Vec3*>(flat.data()), flat.size() / 3};
}
inline std::span<Vec3> as_vectors(std::span<Real> flat) {
  return {reinterpret_cast<Vec3*>(flat.data()), flat.size() / 3};
}

}  // namespace plenum::inline PLENUM_ABI
