#pragma once
// Backward Euler of a net of springs by alternating a local and a global step, with one matrix factored once.
// Source: Liu, Bargteil, O'Brien & Kavan 2013, "Fast simulation of mass-spring systems", sections 4 and 5.
#include <span>
#include <vector>

#include "plenum/base/real.h"
#include "plenum/linear/factorization.h"

namespace plenum::inline PLENUM_ABI {

struct ProjectiveOptions {
  int max_iterations = 20;           ///< local/global rounds
  double gradient_tolerance = 1e-4;  ///< of |gradient|, relative to that at the guess; 0: all rounds
};

struct ProjectiveReport {
  bool converged = false;
  int iterations = 0;
  double gradient_norm = 0;  ///< of the objective at the x that is returned [N]
};

/// Minimizes |x - y|_M^2 / (2 h^2) + sum k/2 (|x_i - x_j| - l0)^2 over the free particles.
///
/// The local step finds for every spring the vector d of length l0 nearest to x_i - x_j; the global one
/// solves (M/h^2 + L) x = M y / h^2 + J d, L the net's Laplacian weighted by k. Written for the increment
/// this is x -= (M/h^2 + L)^-1 gradient(x) (Liu et al. 2017, section 4), which is how it is done here: the
/// factors then need not be more accurate than a preconditioner, and float is enough. The objective never
/// grows.
///
/// Damping along springs joins the objective as h/2 sum c (n . (v_i - v_j))^2, with v = (x - x0)/h the
/// velocity of the step and n the spring's direction at its start x0 (Kharevych et al. 2006, section 5). Its
/// Hessian, c/h n n^T, turns with the spring; the matrix holds c/h I instead, which bounds it and stays
/// constant, so that the objective still never grows.
template <class T>
class ProjectiveSprings {
 public:
  ProjectiveSprings() = default;
  /// Once per net and h; factors. inverse_mass [n] 1/kg, 0 for pinned; springs [S][2] < n; rest_length [S] m;
  /// stiffness [S] N/m; h s; damping [S] N s/m, or empty: none. Throws Error if the matrix cannot be factored
  /// (a stiffness that is negative).
  ProjectiveSprings(std::span<const T> inverse_mass, std::span<const Index2> springs,
                    std::span<const T> rest_length, std::span<const T> stiffness, double h,
                    std::span<const T> damping = {});

  /// x [n], in the guess (pinned particles: where they are), out the minimizer; y [n] as in
  /// IncrementalPotential; x0 [n] where the step begins, for the damping (empty: none acts). Allocates
  /// nothing.
  ProjectiveReport solve(std::span<const Vector3<T>> y, std::span<Vector3<T>> x,
                         const ProjectiveOptions& options, std::span<const Vector3<T>> x0 = {});

  /// The objective [J] and its gradient [N] on free particles (0 on pinned).
  double value(std::span<const Vector3<T>> y, std::span<const Vector3<T>> x,
               std::span<const Vector3<T>> x0 = {}) const;
  void gradient(std::span<const Vector3<T>> y, std::span<const Vector3<T>> x, std::span<Vector3<T>> g,
                std::span<const Vector3<T>> x0 = {}) const;

  /// g = (M/h^2 + L)^-1 g on the free particles: the initial inverse of lbfgs_minimize.
  void precondition(std::span<Vector3<T>> g);

  /// The h it was factored for [s]; 0 if it was not.
  double time_step() const { return h_; }

 private:
  struct Spring {
    Index other;  // end that is not the row's
    T stiffness, rest_length, damping;
  };
  double h_ = 0;
  bool damped_ = false;
  std::vector<T> mass_;                          // [n], 0 for pinned
  std::vector<Index> row_begin_, free_, index_;  // [n + 1]; free particles; place among them or -1
  std::vector<Spring> row_springs_;              // [2 S], by particle
  std::vector<Vector3<T>> gradient_, packed_;
  Factorization<T> factors_;
};

extern template class ProjectiveSprings<float>;
extern template class ProjectiveSprings<double>;

}  // namespace plenum::inline PLENUM_ABI
