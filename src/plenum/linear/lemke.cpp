#include "plenum/linear/lemke.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace plenum::inline PLENUM_ABI {

LemkeReport lemke(const Eigen::MatrixXd& m, const Eigen::VectorXd& q, Eigen::VectorXd& z) {
  const Eigen::Index n = q.size();
  assert(m.rows() == n && m.cols() == n);
  LemkeReport report;
  z = Eigen::VectorXd::Zero(n);
  if (n == 0 || q.minCoeff() >= 0) {
    report.solved = true;
    return report;
  }
  // Columns: w, z, the artificial variable, the right-hand side; w - M z - 1 z0 = q.
  const Eigen::Index artificial = 2 * n, right = 2 * n + 1;
  Eigen::MatrixXd t(n, 2 * n + 2);
  t << Eigen::MatrixXd::Identity(n, n), -m, -Eigen::VectorXd::Ones(n), q;
  std::vector<Eigen::Index> basis(static_cast<std::size_t>(n));
  for (Eigen::Index i = 0; i < n; ++i) basis[std::size_t(i)] = i;
  const double scale = std::max(1.0, m.cwiseAbs().maxCoeff());
  constexpr double epsilon = 1e-12;

  // Of rows whose quotients with a column are equal, the one whose row of the basis' inverse, which the
  // columns of w hold, is lexicographically least.
  const auto comes_before = [&](Eigen::Index i, Eigen::Index j, Eigen::Index column) {
    for (Eigen::Index c = -1; c < n; ++c) {
      const Eigen::Index k = c < 0 ? right : c;
      const double a = t(i, k) / t(i, column), b = t(j, k) / t(j, column);
      if (std::abs(a - b) > epsilon * std::max({1.0, std::abs(a), std::abs(b)})) return a < b;
    }
    return false;
  };
  const auto pivot = [&](Eigen::Index row, Eigen::Index column) {
    t.row(row) /= t(row, column);
    for (Eigen::Index i = 0; i < n; ++i)
      if (i != row && t(i, column) != 0) t.row(i) -= t(i, column) * t.row(row);
    const Eigen::Index left = basis[std::size_t(row)];
    basis[std::size_t(row)] = column;
    ++report.pivots;
    return left;
  };
  const auto complement = [&](Eigen::Index variable) { return variable < n ? variable + n : variable - n; };

  // The artificial variable enters for the row that is most negative, lexicographically.
  Eigen::Index first = 0;
  for (Eigen::Index i = 1; i < n; ++i)
    if (comes_before(first, i, artificial)) first = i;  // quotients by -1: the largest is the least row
  Eigen::Index entering = complement(pivot(first, artificial));

  const int most = 50 * static_cast<int>(n) + 100;
  while (report.pivots < most) {
    Eigen::Index row = -1;
    for (Eigen::Index i = 0; i < n; ++i)
      if (t(i, entering) > epsilon * scale && (row < 0 || comes_before(i, row, entering))) row = i;
    if (row < 0) return report;  // a ray: no solution on this path
    // On a tie the artificial variable leaves.
    for (Eigen::Index i = 0; i < n; ++i)
      if (basis[std::size_t(i)] == artificial && t(i, entering) > epsilon * scale &&
          t(i, right) / t(i, entering) <= t(row, right) / t(row, entering) + epsilon)
        row = i;
    const Eigen::Index left = pivot(row, entering);
    if (left == artificial) {
      for (Eigen::Index i = 0; i < n; ++i)
        if (const Eigen::Index k = basis[std::size_t(i)]; k >= n && k < 2 * n)
          z[k - n] = std::max(0.0, t(i, right));
      report.solved = true;
      return report;
    }
    entering = complement(left);
  }
  return report;
}

}  // namespace plenum::inline PLENUM_ABI
