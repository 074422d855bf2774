#pragma once
// Two solvers of a step's velocities besides the default one, for comparison.
#include "plenum/solvers/rigid/detail/velocity_problem.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Projected Gauss-Seidel from the impulses that the rows hold (which are applied first): row after row as if
/// it were alone, so many times. Friction's two rows are solved together, and slide against the slip. Source:
/// Jean 1999, "The non-smooth contact dynamics method".
void solve_by_gauss_seidel(int iterations, VelocityProblem& problem);

struct DirectReport {
  int largest = 0;  ///< unknowns of an island
  int refused = 0;  ///< islands that are too large, or without a solution, solved by Gauss-Seidel instead
};

/// One linear complementarity problem for each island of bodies, by lemke(). Friction's cones have eight
/// sides, one of which is turned against the slip in a few rounds, so that there it is exact. Rows without
/// bounds are eliminated. Islands of more than `most_unknowns` are left to Gauss-Seidel.
DirectReport solve_directly(VelocityProblem& problem);

constexpr int most_unknowns = 700;

}}  // namespace plenum::PLENUM_ABI::detail
