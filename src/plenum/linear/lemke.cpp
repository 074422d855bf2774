#include "plenum/linear/lemke.h"

#include <Eigen/LU>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace plenum::inline PLENUM_ABI {
namespace {

/// Scales of the unknowns that make diagonals 1, or, where they are 0, the largest entry of the row.
Eigen::VectorXd equilibration(const Eigen::MatrixXd& m) {
  const Eigen::Index n = m.rows();
  Eigen::VectorXd scale = Eigen::VectorXd::Zero(n);
  for (Eigen::Index i = 0; i < n; ++i)
    if (m(i, i) > 0) scale[i] = 1 / std::sqrt(m(i, i));
  for (Eigen::Index i = 0; i < n; ++i) {
    if (m(i, i) > 0) continue;
    const double most = (m.row(i).transpose().cwiseAbs().cwiseProduct(scale)).maxCoeff();
    scale[i] = most > 0 ? 1 / most : 1;
  }
  return scale;
}

/// Pivots on a scaled problem, |q| of at most 1; z of the basis, solved for again from the problem itself,
/// so that rounding of the tableau does not stay in it.
bool pivot_to_end(const Eigen::MatrixXd& m, const Eigen::VectorXd& q, Eigen::VectorXd& z, int& pivots) {
  const Eigen::Index n = q.size();
  // Columns: w, z, the artificial variable, the right-hand side; w - M z - 1 z0 = q.
  const Eigen::Index artificial = 2 * n, right = 2 * n + 1;
  Eigen::MatrixXd t(n, 2 * n + 2);
  t << Eigen::MatrixXd::Identity(n, n), -m, -Eigen::VectorXd::Ones(n), q;
  std::vector<Eigen::Index> basis(static_cast<std::size_t>(n));
  for (Eigen::Index i = 0; i < n; ++i) basis[std::size_t(i)] = i;
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
    ++pivots;
    return left;
  };
  const auto complement = [&](Eigen::Index variable) { return variable < n ? variable + n : variable - n; };

  // The artificial variable enters for the row that is most negative, lexicographically.
  Eigen::Index first = 0;
  for (Eigen::Index i = 1; i < n; ++i)
    if (comes_before(first, i, artificial)) first = i;  // quotients by -1: the largest is the least row
  Eigen::Index entering = complement(pivot(first, artificial));

  const int most = pivots + 50 * static_cast<int>(n) + 100;
  while (pivots < most) {
    const double least = 1e-10 * t.col(entering).cwiseAbs().maxCoeff();
    Eigen::Index row = -1;
    for (Eigen::Index i = 0; i < n; ++i)
      if (t(i, entering) > least && (row < 0 || comes_before(i, row, entering))) row = i;
    if (row < 0) return false;  // a ray: no solution on this path
    // On a tie the artificial variable leaves.
    for (Eigen::Index i = 0; i < n; ++i)
      if (basis[std::size_t(i)] == artificial && t(i, entering) > least &&
          t(i, right) / t(i, entering) <= t(row, right) / t(row, entering) + epsilon)
        row = i;
    const Eigen::Index left = pivot(row, entering);
    if (left == artificial) break;
    entering = complement(left);
  }
  std::vector<Eigen::Index> held;
  for (const Eigen::Index k : basis) {
    if (k == artificial) return false;
    if (k >= n) held.push_back(k - n);
  }
  std::sort(held.begin(), held.end());
  z.setZero(n);
  if (held.empty()) return true;
  const Eigen::MatrixXd inner = m(held, held);
  const Eigen::VectorXd outer = -q(held);
  const Eigen::VectorXd inside = inner.partialPivLu().solve(outer);
  z(held) = inside;
  return true;
}

}  // namespace

LemkeReport lemke(const Eigen::MatrixXd& m, const Eigen::VectorXd& q, Eigen::VectorXd& z) {
  const Eigen::Index n = q.size();
  assert(m.rows() == n && m.cols() == n);
  LemkeReport report;
  z = Eigen::VectorXd::Zero(n);
  if (n == 0 || q.minCoeff() >= 0) {
    report.solved = true;
    return report;
  }
  const Eigen::VectorXd scale = equilibration(m);
  const Eigen::MatrixXd scaled = scale.asDiagonal() * m * scale.asDiagonal();
  Eigen::VectorXd right = scale.cwiseProduct(q);
  const double size = right.cwiseAbs().maxCoeff();
  right /= size;
  // A degenerate problem, whose ties are lost in rounding, is perturbed (Cottle, Pang & Stone 1992, 4.2),
  // more until its solution satisfies the problem that was asked.
  for (const double softness : {0.0, 1e-12, 1e-10, 1e-8, 1e-7}) {
    Eigen::MatrixXd softer = scaled;
    softer.diagonal() *= 1 + softness;
    Eigen::VectorXd found;
    if (!pivot_to_end(softer, right, found, report.pivots)) continue;
    const Eigen::VectorXd w = scaled * found + right;
    const double error = w.cwiseMin(found).cwiseAbs().maxCoeff();  // of complementarity
    const double allowed = 1e-9 + 10 * softness * found.cwiseAbs().maxCoeff();
    if (!(error <= allowed)) continue;
    z = size * scale.cwiseProduct(found.cwiseMax(0));
    report.solved = true;
    return report;
  }
  return report;
}

}  // namespace plenum::inline PLENUM_ABI
