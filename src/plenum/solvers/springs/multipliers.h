#pragma once
// Strict constraints by Lagrange multipliers: the forces J^T lambda that keep C(x) = 0, with J the gradients.
#include <span>
#include <vector>

#include "plenum/elements/constraint.h"
#include "plenum/linear/pcg.h"
#include "plenum/linear/sparse_ldlt.h"

namespace plenum::inline PLENUM_ABI {

/// Newton steps that nets allow a projection on strict constraints in a step short enough.
inline constexpr int projection_steps = 24;

/// Solves for multipliers; everything between x and the multipliers is done in double. inverse_mass [N] 1/kg
/// may be zero: such points take part and do not yield. Allocates only in the constructor.
template <class T>
class Multipliers {
 public:
  Multipliers() = default;
  Multipliers(std::size_t num_points, ConstraintSet<T> set);

  bool empty() const { return set_.empty(); }
  std::size_t size() const { return row_.size(); }  ///< scalar constraints

  /// Adds W J^T lambda to accelerations a [N] m/s^2 so that C'' = -2 r C' - r^2 C: C'' = 0 for rate r = 0,
  /// and for r > 0 errors decay as (1 + r t) exp(-r t). Source: Baumgarte 1972, "Stabilization of constraints
  /// and integrals of motion in dynamical systems", eq. 8. x [N] m, v [N] m/s. Returns iterations of the
  /// solve.
  int accelerate(std::span<const Vector3<T>> x, std::span<const Vector3<T>> v,
                 std::span<const T> inverse_mass, double rate, std::span<Vector3<T>> a);

  /// Moves x [N] m to C = 0 by the least displacement in the norm of the masses, to first order: Newton steps
  /// dx = -W J^T (J W J^T)^-1 C until |C| is at the rounding error of x, at most `max_steps`. Source:
  /// Goldenthal et al. 2007, "Efficient simulation of inextensible cloth", section 4.2 (fast projection).
  /// Returns the largest |C| left [m], of points that can move. moved [N] m, or empty: the displacement is
  /// added to it, free of the rounding of x.
  double project_positions(std::span<Vector3<T>> x, std::span<const T> inverse_mass, int max_steps,
                           std::span<Vector3<T>> moved = {}) {
    return project({}, x, inverse_mass, max_steps, moved);
  }

  /// The same with forces along the gradients at `before` [N] m, where the step began: the constraint
  /// impulses of symplectic methods. Source: Ryckaert, Ciccotti & Berendsen 1977, "Numerical integration of
  /// the Cartesian equations of motion of a system with constraints" (SHAKE), all constraints at once.
  double shake(std::span<const Vector3<T>> before, std::span<Vector3<T>> x, std::span<const T> inverse_mass,
               int max_steps, std::span<Vector3<T>> moved = {}) {
    return project(before, x, inverse_mass, max_steps, moved);
  }

  /// Changes v [N] m/s to C' = J v = 0 by the least change in the norm of the masses. Source: Cline & Pai
  /// 2003, "Post-stabilization for rigid body simulation with contact and constraints".
  void project_velocities(std::span<const Vector3<T>> x, std::span<const T> inverse_mass,
                          std::span<Vector3<T>> v);

  double largest_error(std::span<const Vector3<T>> x);  ///< max |C| [m]

  /// Confines points to the directions that orthogonal projections `free` leave to each, as contact does; all
  /// other points are free. Holds for all that follows: W becomes W P. Constraints between points that
  /// contact leaves no way to meet them are left alone.
  void confine(std::span<const Index> points, std::span<const Matrix3<T>> free);

  /// Prepares filter() for points at x [N] m with weights W [N] 1/kg, 0 for those that do not yield.
  void prepare_filter(std::span<const Vector3<T>> x, std::span<const T> weight);
  /// The nearest motion y [N] that J y = 0 allows, where near is measured by W^-1: y -= W J^T (J W J^T)^-1 J
  /// y, the projection by which conjugate gradients stay within the constraints. With W the inverse of what a
  /// matrix has on its diagonal, a light point that holds a heavy one costs no more iterations than any
  /// other. y of held points must be zero. Source: Gould, Hribar & Nocedal 2001, "On the solution of equality
  /// constrained quadratic programming problems arising in optimization", algorithm 2.1 and section 3.
  void filter(std::span<Vector3<T>> y);
  /// The transpose, for forces: y -= J^T (J W J^T)^-1 J W y. What is left of a force in the directions that
  /// confine() took away is what contact has to bear.
  void filter_dual(std::span<Vector3<T>> y);

  /// Geometric stiffness T/L [N/m] of the rods [R] by their tensions T in the last accelerate(): the force of
  /// a rod turns with it, which resists motion across it like springs of that stiffness. Zero for rods that
  /// are pushed, so that it is positive semi-definite. Source: Tournier, Nesme, Gilles & Faure 2015, "Stable
  /// constrained dynamics", section 4 (d(J^T lambda)/dx).
  void rod_stiffness(std::span<T> out) const;
  /// The same of the wires, on the beads that feel it: adds add(point, K [N/m]), K = k t t^T with the wire's
  /// direction t and k = -lambda t^T H t of its constraints' second derivatives H. x [N] m, where
  /// accelerate() was called.
  template <class Add>
  void for_each_bead_stiffness(std::span<const Vector3<T>> x, Add&& add) const {
    for (std::size_t b = 0; b < set_.beads.size(); ++b) {
      const std::size_t r = set_.rods.size() + 2 * b;
      const Vector t = row_[r].gradient.cross(row_[r + 1].gradient).normalized();
      const auto terms =
          wire_constraints<double>(set_.wires[std::size_t(set_.bead_wire[b])].template cast<double>(),
                                   x[std::size_t(set_.beads[b])].template cast<double>(), t);
      const double k = -lambda_[r] * terms[0].curvature - lambda_[r + 1] * terms[1].curvature;
      if (k > 0) add(set_.beads[b], Matrix3<T>((k * t * t.transpose()).template cast<T>()));
    }
  }

 private:
  using Vector = Vector3<double>;
  struct Row {
    Index first;   ///< -1: none
    Index second;  ///< the gradient is +g here and -g at `first`
    Vector gradient;
    double value, curvature;
    Index first_at = -1, second_at = -1;  ///< where points_ holds them
  };
  /// Coupling of two rows through a point they share, at points_[at].
  struct Entry {
    Index column, at;
    double sign, value;
  };
  void evaluate(std::span<const Vector3<T>> x, std::span<const Vector3<T>> v, bool keep_gradients = false);
  /// Both projections: along the gradients at `before`, or, if that is empty, at each x in turn.
  double project(std::span<const Vector3<T>> before, std::span<Vector3<T>> x, std::span<const T> inverse_mass,
                 int max_steps, std::span<Vector3<T>> moved);
  double rate_of(const Row& row, std::span<const Vector3<T>> v) const;  ///< J v of a row
  /// What P of points_[at] leaves of a direction.
  Vector freed(Index at, const Vector& g) const {
    const Index held = confined_at_[std::size_t(at)];
    return held < 0 ? g : Vector(free_[std::size_t(held)] * g);
  }
  /// Fills J W J^T from the gradients.
  void couple(std::span<const T> inverse_mass);
  /// Solves J W J^T lambda = rhs_ by conjugate gradients, which its factors precondition: one or two
  /// iterations, a few more where constraints depend on each other.
  int solve();
  /// Adds W J^T lambda to `out`, or J^T lambda on what yields if not `weighted`, rounded once for each point.
  void apply(std::span<Vector3<T>> out, bool weighted = true);
  /// Solves J W J^T lambda = rhs_ and adds W J^T lambda to `out`, and to `also` if it is not empty.
  int solve_and_apply(std::span<const T> inverse_mass, std::span<Vector3<T>> out,
                      std::span<Vector3<T>> also = {});

  ConstraintSet<T> set_;
  std::vector<Row> row_;
  std::vector<std::size_t> row_begin_;  // [rows + 1] into entries_
  std::vector<Entry> entries_;          // off the diagonal of J W J^T
  std::vector<double> diagonal_, rhs_, lambda_;
  SparseLdlt factors_;                 // of J W J^T
  std::vector<double> coupled_;        // what they are made of: diagonal_, and entries_ below it
  bool factored_ = false;              // or too much fill
  bool redundant_ = false;             // rows depend on others, which then hold as exactly as those
  std::vector<Index> points_;          // that rows act on
  std::vector<double> weight_;         // of them, on the diagonal of W
  std::vector<Vector> sum_;            // J^T lambda on them
  std::vector<Index> place_;           // of all points in points_; -1: not there
  std::vector<Index> confined_at_;     // of points_ in free_; -1: not confined
  std::vector<Matrix3<double>> free_;  // P
  PcgWorkspace<double> pcg_;
};

/// One step of a symplectic method for x'' = a(x, v) whose positions end on the constraints, moved there
/// along the gradients at the start, and whose velocities, if they are of the same time, end along them:
///
///   v += first_kick a;  x += h v;  x, v to C = 0;  v += second_kick a;  v to J v = 0
///
/// Symplectic Euler has kicks of h and 0, velocity Verlet of h/2 and h/2 (RATTLE, Andersen 1983), and
/// leapfrog of h and 0 with velocities half a step behind, not `same_time` (SHAKE). Source: Hairer, Lubich &
/// Wanner 2006, "Geometric numerical integration", section VII.1.4. acceleration(x, v, out): free of
/// constraints. x [N] m, v [N] m/s, in/out; before, moved, a [N]: scratch. Returns the largest |C| left [m].
template <class T, class A>
double shake_step(const A& acceleration, Multipliers<T>& multipliers, double first_kick, double h,
                  double second_kick, bool same_time, std::span<Vector3<T>> x, std::span<Vector3<T>> v,
                  std::span<const T> inverse_mass, std::span<Vector3<T>> before, std::span<Vector3<T>> moved,
                  std::span<Vector3<T>> a) {
  const auto kick = [&](double length, std::span<const Vector3<T>> by) {
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += static_cast<T>(length) * by[i];
  };
  acceleration(std::span<const Vector3<T>>(x), std::span<const Vector3<T>>(v), a);
  kick(first_kick, a);
  for (std::size_t i = 0; i < x.size(); ++i) {
    before[i] = x[i];
    moved[i].setZero();
    x[i] += static_cast<T>(h) * v[i];
  }
  const double error = multipliers.shake(before, x, inverse_mass, 50, moved);
  kick(1 / h, moved);
  if (second_kick > 0) {
    acceleration(std::span<const Vector3<T>>(x), std::span<const Vector3<T>>(v), a);
    kick(second_kick, a);
  }
  if (same_time) multipliers.project_velocities(x, inverse_mass, v);
  return error;
}

extern template class Multipliers<float>;
extern template class Multipliers<double>;

}  // namespace plenum::inline PLENUM_ABI
