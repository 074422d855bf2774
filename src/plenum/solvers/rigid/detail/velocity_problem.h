#pragma once
// The velocities of a whole step as one problem of rows, in double: what the solvers for comparison solve.
//
// With J the rows' Jacobian, the impulses l and the velocities v = v0 + M^-1 J^T l are to meet, row by row,
//   lower <= l <= upper,  J v + softness l = target  (or beyond it at a bound),
// and in each cone of friction two rows l1, l2 with |(l1, l2)| <= coefficient times the impulses that press;
// of spinning friction one row, |l| <= that.
// Sources: Stewart & Trinkle 1996, "An implicit time-stepping scheme for rigid body dynamics with inelastic
// collisions and Coulomb friction"; Anitescu & Potra 1997, "Formulating dynamic multi-rigid-body contact
// problems with friction as solvable linear complementarity problems".
#include <vector>

#include "plenum/solvers/rigid/detail/contact_solver.h"
#include "plenum/solvers/rigid/detail/joint_island.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

struct RowBody {
  Vector3<double> v = Vector3<double>::Zero(), w = Vector3<double>::Zero();  ///< [m/s], [rad/s]
  double inverse_mass = 0;
  Matrix3<double> inverse_inertia = Matrix3<double>::Zero();  ///< in the world
  bool moves() const { return inverse_mass > 0 || inverse_inertia.trace() > 0; }
};

/// rate = n . (v_b - v_a) + on_b . w_b - on_a . w_a
struct VelocityRow {
  Index a, b;
  Vector3<double> n, on_a, on_b;
  double target = 0;    ///< of the rate
  double softness = 0;  ///< rate per impulse
  double lower, upper;  ///< of the impulse
  double gap = 0;       ///< of what the row holds: separation, or distance from a limit [m], [rad]
  double impulse = 0;
  Index joint = -1;  ///< that it is of, and which freedom
  int freedom = 0;
};

struct FrictionCone {
  Index row, size;     ///< its rows: two, or one
  Index first, count;  ///< rows that press
  double coefficient;  ///< 1, or m of rolling and spinning
};

struct VelocityProblem {
  std::vector<RowBody> bodies;    ///< [N + 1] as SolverBodies
  std::vector<VelocityRow> rows;  ///< of joints, of contacts' normals, of cones
  std::vector<FrictionCone> cones;
  std::vector<Index> first_normal;          ///< [C + 1] of each contact
  std::vector<Index> first_cone;            ///< [C + 1] likewise: one of each point, rolling, spinning
  Index num_joint_rows = 0, num_plain = 0;  ///< rows before the normals; before those of cones

  double rate(const VelocityRow& row) const;
  void push(const VelocityRow& row, double impulse);
  /// Inverse mass that the row meets.
  double response(const VelocityRow& row) const;
};

/// Rows of joints that are not broken and of contacts, for a step of h [s] from where the bodies are now.
/// Contacts start with `warm` times the impulses that they hold.
void make_problem(const JointScene& scene, std::span<const ContactInput> contacts, double h, double warm,
                  VelocityProblem& problem);

}}  // namespace plenum::PLENUM_ABI::detail
