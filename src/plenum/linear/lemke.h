#pragma once
// Linear complementarity problems, solved directly: the reference for iterative contact solvers.
#include <Eigen/Core>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

struct LemkeReport {
  bool solved = false;  ///< false: no solution was found; for copositive-plus matrices there is none
  int pivots = 0;
};

/// Finds z [n] with z >= 0, w = M z + q >= 0 and z . w = 0. M [n][n] need not be symmetric; q [n]. Lemke's
/// complementary pivoting with the covering vector 1, and lexicographic ties, so that it does not cycle on
/// the degenerate problems that redundant contacts are. It ends for every copositive-plus M, such as every
/// positive semi-definite one. Dense: n^2 a pivot, and about n pivots. z is left zero if it fails. Source:
/// Cottle, Pang & Stone 1992, "The linear complementarity problem", algorithm 4.4.5 and section 4.9.
LemkeReport lemke(const Eigen::MatrixXd& m, const Eigen::VectorXd& q, Eigen::VectorXd& z);

}  // namespace plenum::inline PLENUM_ABI
