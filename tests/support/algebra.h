#pragma once
// Dense linear algebra that tests compare with. It is compiled once, in algebra.cpp: Eigen's factorizations
// cost a file that calls them several seconds of compilation each.
#include <Eigen/Core>

namespace plenum_test {

/// The solution of A x = b by L D L^T, for a symmetric A.
Eigen::VectorXd solve_symmetric(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

/// The solution of A x = b by L U with full pivoting, for any regular A.
Eigen::VectorXd solve(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

Eigen::MatrixXd inverse(const Eigen::MatrixXd& a);

/// Of a symmetric matrix, the smallest first.
Eigen::VectorXd eigenvalues(const Eigen::MatrixXd& a);

/// The largest first.
Eigen::VectorXd singular_values(const Eigen::MatrixXd& a);

/// Largest singular value over the smallest.
double condition_number(const Eigen::MatrixXd& a);

/// A symmetric positive definite matrix with eigenvalues from 1 to `condition`, in random directions.
Eigen::MatrixXd random_spd(Eigen::Index n, double condition, unsigned seed);

/// The largest magnitude of a - b.
double largest_difference(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);

/// The largest magnitude in a.
double largest(const Eigen::MatrixXd& a);

}  // namespace plenum_test
