#include "support/algebra.h"

#include <Eigen/Dense>
#include <cmath>
#include <cstdlib>

namespace plenum_test {

Eigen::VectorXd solve_symmetric(const Eigen::MatrixXd& a, const Eigen::VectorXd& b) {
  return a.ldlt().solve(b);
}

Eigen::VectorXd solve(const Eigen::MatrixXd& a, const Eigen::VectorXd& b) {
  return a.fullPivLu().solve(b);
}

Eigen::MatrixXd inverse(const Eigen::MatrixXd& a) {
  return a.inverse();
}

Eigen::VectorXd eigenvalues(const Eigen::MatrixXd& a) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(a).eigenvalues();
}

Eigen::VectorXd singular_values(const Eigen::MatrixXd& a) {
  return Eigen::JacobiSVD<Eigen::MatrixXd>(a).singularValues();
}

double condition_number(const Eigen::MatrixXd& a) {
  const Eigen::VectorXd singular = singular_values(a);
  return singular[0] / singular[singular.size() - 1];
}

Eigen::MatrixXd random_spd(Eigen::Index n, double condition, unsigned seed) {
  std::srand(seed);
  const Eigen::MatrixXd q =
      Eigen::HouseholderQR<Eigen::MatrixXd>(Eigen::MatrixXd::Random(n, n)).householderQ();
  Eigen::VectorXd d(n);
  for (Eigen::Index i = 0; i < n; ++i) d[i] = std::pow(condition, double(i) / double(n - 1));
  return q * d.asDiagonal() * q.transpose();
}

double largest_difference(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return (a - b).cwiseAbs().maxCoeff();
}

double largest(const Eigen::MatrixXd& a) {
  return a.cwiseAbs().maxCoeff();
}

}  // namespace plenum_test
