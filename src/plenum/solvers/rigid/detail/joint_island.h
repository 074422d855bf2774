#pragma once
// Joints that hang together through moving bodies, solved directly.
//
// In each sub-step from poses x0, velocities v (gravity and contacts included), one impulse per row acts
// along the Jacobian at x0 such that the joints' values are right at the end of the sub-step:
//   J(x0) dv = -c(x0 + h v) / h,  dv = M^-1 J^T dl,   (J M^-1 J^T) dl = -c(x0 + h v) / h
// which is one Newton step of the SHAKE method (Ryckaert, Ciccotti & Berendsen 1977): c is evaluated where
// the velocities would lead, its curvature included, so that turning joints neither gape nor lose energy.
// After the bodies have moved, J(x1) v = 0 is solved in the same way: the velocity part of RATTLE (Andersen
// 1983). As the next sub-step's impulses act along the same J(x1), this changes nothing in what follows
// unless contacts look at the velocities, and is left out where none do.
//
// Tension T over an arm r resists turning like a spring of stiffness T r (geometric stiffness: Tournier et
// al. 2015, "Stable constrained dynamics"), which this explicit scheme follows as long as h^2 T r / I is well
// below 4. Where a sub-step is too long for it, the bodies of a joint are damped against each other.
//
// Contacts are to see velocities that the joints allow, so these are projected before, J(x0) v = 0: the last
// impulses once more would push as the last blow did. What J(x0) dv = -c / h gives bodies that turn far in a
// sub-step, or in a net that is stretched straight, may be wild: it is let do no more than a bounded work.
//
// J M^-1 J^T has a block for each joint, and off the diagonal for two joints that share a moving body; it is
// factored in double (Baraff 1996).
//
// Limits and bounded drives are an active set: a row is held, driven or let go; where a solve contradicts
// that (a limit would pull, a drive exceed its strength, a value pass its limit) the row changes and the
// factors are made anew, as in block principal pivoting (Judice & Pires 1994), at most a few times, and then
// row by row (Murty 1974). All this is one linear problem about the poses to which the velocities led at
// first: where a drive's impulse alone would lead before locked rows answer says nothing. Of driven
// bodies, drives' work along their ways bounds the energy.
//
// Angles that are followed over turns are those nearest to where the rates lead, from what they were before.
#include <cstdint>
#include <vector>

#include "plenum/solvers/rigid/detail/block_ldlt.h"
#include "plenum/solvers/rigid/detail/joint_rows.h"
#include "plenum/solvers/rigid/detail/solver_bodies.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// What the row of a freedom does.
enum class RowStatus : std::uint8_t {
  idle,      ///< nothing: free, or within limits
  held,      ///< locked
  at_lower,  ///< may push up only
  at_upper,  ///< may push down only
  driven,    ///< by its drive
  weakest,   ///< its drive pushes down with all its strength
  strongest  ///< or up
};

/// What a step of joints reads besides the solver's bodies.
struct JointScene {
  const Rigid::Model& model;
  const Rigid::State& state;
  const SolverBodies& bodies;
  std::span<const Vec4> q;  ///< [N] rotations at the current sub-step, of bodies that are not fixed
  std::span<const std::uint8_t> stirs;  ///< [N] awake
  double h;                             ///< [s] of a sub-step
};

/// D rows a joint: 3 for balls without limits, else 6.
template <int D>
class JointIsland {
 public:
  static constexpr bool general = D == 6;
  using Vector = Eigen::Matrix<double, D, 1>;
  using Rows = Eigen::Matrix<double, 3, D>;
  using D3 = Eigen::Vector3d;

  /// Takes in joints of the model; orders them once.
  void build(const JointScene& scene, std::span<const Index> joints);
  /// At the start of a step: statuses and pulls of the last one, poses, factors.
  void start(const JointScene& scene, SolverBodies& bodies);
  /// Begins a sub-step: pushes of drives, and velocities that joints allow if contacts are to look at them.
  void begin(const JointScene& scene, SolverBodies& bodies, bool contacts);
  /// Impulses after which the joints will be right at the end of the sub-step.
  void solve(const JointScene& scene, SolverBodies& bodies);
  /// And after which they do not change.
  void relax(const JointScene& scene, SolverBodies& bodies);
  /// Poses, rows and factors where the bodies now are, and moments of inertia for all that act on them.
  void update(const JointScene& scene, SolverBodies& bodies);
  /// Of blows without a bounce (ContactSolver::absorb): whether one that moves the bodies marked comes here.
  bool is_reached(std::span<const Real> moved) const;
  /// Takes from the bodies the rates that a round of contacts gave and the joints do not allow, and marks
  /// what thereby changes by more than `least` [m/s] anywhere. A blow's impulses are no load of the next
  /// sub-step.
  void absorb(const JointScene& scene, SolverBodies& bodies, Real least, std::span<Real> moved);
  /// The search's next direction: what the last round has changed plus `keep` times the last one. Returns how
  /// far it may go at most: limits and ropes only push, or only pull, and what was given beyond would be
  /// taken back at once.
  double turn_way(double keep);
  void go_way(double step);
  void forget_blow();
  /// Marks the bodies that move.
  void mark(std::span<std::uint8_t> out) const;
  /// At the end of a sub-step: adds its impulses to the forces of the step.
  void collect();
  void store(double dt, Rigid::Joints& out) const;
  std::size_t size() const { return joints_.size(); }
  /// One that moves; -1 if none does.
  Index a_body() const {
    for (const Body& b : bodies_)
      if (b.moves) return b.index;
    return -1;
  }
  bool has_bounds() const { return has_bounds_; }
  /// Whether update() has made moments of inertia others than the bodies' own, or has taken that back.
  bool changed_inertia() const { return is_heavier_ || was_heavier_; }
  /// Whether what leads its bodies and their locked axes may want what cannot be: of speeds that close gaps
  /// the next sub-step then takes none back.
  bool may_conflict() const { return may_conflict_; }
  /// Since start(); bodies in joints sleep and wake together.
  bool sleeps() const { return sleeps_; }

 private:
  struct Body {
    Index index = -1;                     ///< -1: the world
    bool moves = false, gyrates = false;  ///< dynamic; with unequal moments
    bool fixed = false;
    D3 inertia = D3::Ones(), inverse_moments = D3::Ones();  ///< [kg m^2] principal, and inverted
    JointPose pose;
    Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
    D3 v = D3::Zero(), w = D3::Zero();
    D3 turn = D3::Zero();         ///< [rad] by which it will turn in the sub-step
    double sine = 1, cosine = 1;  ///< sin |turn| / |turn|, (1 - cos |turn|) / |turn|^2
    double inverse_mass = 0;
    D3 mobility = D3::Zero();  ///< [1/kg] along the axes of the world; of locked ones 0, of others the above
    std::uint8_t locks = 0;    ///< Rigid::Model::locks
    bool is_heavier = false;   ///< by find_stiffness()
    double stiffness = 0;      ///< h^2 k / I of the stiffness k [N m/rad] that its joints' tension gives it
    double vibrates = 0;       ///< or less: of the stiffest vibration that all joints together allow
    Eigen::Matrix3d inverse_inertia = Eigen::Matrix3d::Zero();
  };
  struct Joint {
    Index joint = 0, a = 0, b = 0;  ///< in the model; bodies here
    // Jacobian, columns for rows; of rows that do nothing zero. Linear, on a, on b, and the latter two times
    // the inverse inertias. Those of balls: n is the unit matrix.
    Rows n, on_a, on_b, push_a, push_b;
    D3 arm_a, arm_b;                  ///< [m] to the joint
    D3 gap;                           ///< [m] of balls
    double value[6] = {};             ///< of others, where the bodies are
    double closing[6] = {};           ///< of their errors, what this sub-step takes back
    double most = 0;                  ///< [m] of an error that a sub-step closes
    double closes = 1;                ///< part of it that a sub-step closes
    D3 pull;                          ///< [N s] on b in the last sub-step
    Vector impulse = Vector::Zero();  ///< in this sub-step
    Vector kept = Vector::Zero();     ///< of it, at keep()
    Vector blow = Vector::Zero(), blow_change = Vector::Zero(), blow_way = Vector::Zero();  ///< see absorb()
    D3 force = D3::Zero(), torque = D3::Zero();  ///< impulses of the step
    Vector give = Vector::Zero();                ///< [1/kg] of the regularization
    double soft[6] = {};                         ///< [1/kg] of springs
    RowStatus status[6] = {}, next[6] = {};
    int winds = 6;        ///< from this row on
    double turn[2] = {};  ///< [rad] what rows 4 and 5 are to be near, of those that wind
    double driven_mass = 0, driven_moment = 0;  ///< [kg], [kg m] of what a motor drives
    double strength[6] = {};                    ///< [N] or [N m] of the drives
    bool has_bounds = false;
    bool is_mouse = false, is_span = false, slides = false;
    bool is_pinned = false;   ///< to what does not move: all that is left is to turn about the joint
    double size = 0;          ///< [m] reach of the smaller of its bodies
    double turn_damping = 0;  ///< [N m s/rad]
    // Of it, in rows 3 to 5: which it acts in, what each has of it alone [N m s/rad], and the softness
    // [1/kg].
    bool damps[3] = {};
    double damping[3] = {};
    Eigen::Matrix3d damp_soft = Eigen::Matrix3d::Zero();
    bool has_springs = false, is_spring[6] = {};
    bool is_locked = false;  ///< a body of it has locked axes
  };
  struct Shared {
    Index block, later, earlier, body;
    double sign;
    bool later_b, earlier_b;  ///< whether the body is the joint's b
  };

  /// What a sub-step closes of a gap: a part of the joint's arms, and this speed [m/s].
  static constexpr double gap_part = 0.02, gap_speed = 0.5;

  void find_rows(const JointScene& scene);
  void find_pushes();
  void load(const SolverBodies& bodies);
  void save(SolverBodies& bodies) const;
  double predict(double h);
  // In joint_island_tension.cpp, which comes after joint_island.cpp where both are compiled as one: a class
  // is not to be instantiated after its members.
  void find_stiffness(double h);
  bool may_vibrate_less(const JointScene& scene, const SolverBodies& bodies);
  double widest_gap(const JointScene& scene) const;
  double resist(double h);
  void estimate_vibration(double h);
  void make_heavier();
  void take_inertia(Body& body, SolverBodies& bodies);
  void give_inertia(SolverBodies& bodies) const;
  void damp(double h);
  void limit(double h);
  // In joint_island_bounds.cpp.
  void keep();
  void bound_work(double part_of_energy);
  struct Common {
    D3 centre = D3::Zero(), v = D3::Zero(), w = D3::Zero();
    double energy = 0;
  };
  Common motion_in_common() const;
  void slow_down(const Common& common, double most, double more = 0);
  double energy_of_closing(double h) const;
  double most_owed() const;
  void bound_energy(const Common& common, double before, double h);
  double kinetic_energy() const;
  double work_of_springs();
  // In joint_island_blow.cpp: the public ones of blows. In joint_island.cpp:
  void factorize(const JointScene& scene);
  void find_softness(const JointScene& scene, Joint& joint) const;
  void find_damping(Joint& joint, const Joint& full, double h) const;
  static bool acts(const Joint& joint, int row);
  // In joint_island_solve.cpp:
  void push_drives(const JointScene& scene);
  void project(const JointScene& scene, bool springs);
  void solve_for_least();
  template <bool with_bias>
  void solve_rows(const JointScene& scene, bool springs);
  template <bool with_bias>
  bool revise(const JointScene& scene, bool springs);
  void change_one();
  void adopt(const JointScene& scene);
  // In joint_island_mouse.cpp.
  void pull_fully(std::size_t k, const Rigid::JointAxis& axis, double h);
  bool revise_mouse(std::size_t k, const Rigid::JointAxis& axis, double h, bool with_bias);
  void adopt_mouse(std::size_t k, const Rigid::JointAxis& axis, double h);
  // In joint_island_drives.cpp.
  void find_driven(const JointScene& scene);
  void find_strength(const JointScene& scene);
  double span_turn(double h) const;
  bool swings_far() const;
  Vector rate(const Joint& joint) const;
  void push(const Joint& joint, const Vector& impulse);
  D3 ahead(const Body& body, const D3& arm) const;
  /// [1/kg] that a row of a joint of bodies with locks gives.
  double give_of_locked(const Body& a, const Body& b, const Joint& joint, int row) const;

  std::vector<Body> bodies_;
  std::vector<Joint> joints_;  ///< in the order of elimination
  std::vector<Joint> full_;    ///< general: rows of all that may act, before statuses
  std::vector<Shared> shared_;
  BlockPattern pattern_;
  BlockLdlt<D> factors_;
  std::vector<Vector> change_, wanted_, value_, rate_;
  std::vector<Vector> before_, given_;                     ///< rates and impulses at the start of solve()
  std::vector<Eigen::Matrix<double, 6, 1>> start_, kept_;  ///< [bodies] velocities
  bool has_bounds_ = false, has_drives_ = false, has_springs_ = false;
  bool is_heavier_ = false, was_heavier_ = false;  ///< a body, by find_stiffness(), and in the last sub-step
  bool may_conflict_ = false;
  bool sleeps_ = false;
  bool has_blow_ = false;      ///< whether absorb() has been here since collect()
  bool has_spans_ = false;     ///< rods or ropes
  bool has_pushed_ = false;    ///< push_drives(), in this sub-step
  bool has_changed_ = false;   ///< a row, in this solve()
  double borrowed_ = 0;        ///< [J] of bound_energy(), to close gaps
  double owed_ = 0;            ///< [J] that joints took and may give back
  bool has_loops_ = false;     ///< perhaps through the world
  bool is_redundant_ = false;  ///< or joints hold what locked axes hold
};

extern template class JointIsland<3>;
extern template class JointIsland<6>;

}}  // namespace plenum::PLENUM_ABI::detail
