// Ropes: nets that join no particle to any beyond the next but one, which incomplete Cholesky factors
// exactly.
#include "plenum/linear/incomplete_cholesky.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

SolveReport solve_chain(const Springs::Model& model, std::span<const Real> inverse_mass, SpringsWorkspace& w,
                        std::span<const Real> b, std::span<Real> x, int max_iterations) {
  const auto& matrix = w.system.matrix();
  if (!w.chain_factors) w.chain_factors = std::make_unique<IncompleteCholesky<double>>(matrix.pattern());
  IncompleteCholesky<double>& factors = *w.chain_factors;
  // What pins and supports leave free.
  w.chain_free.assign(inverse_mass.size(), Matrix3<double>::Identity());
  for (const Index i : model.pinned)
    if (inverse_mass[std::size_t(i)] == 0) w.chain_free[std::size_t(i)].setZero();
  const auto held = w.supports.held();
  for (std::size_t k = 0; k < held.size(); ++k) {
    // A projection in single precision is none in double: P = 3 P^2 - 2 P^3 is (McWeeny 1960).
    const Matrix3<double> p = w.supports.free()[k].cast<double>(), square = p * p;
    w.chain_free[std::size_t(held[k])] = 3 * square - 2 * square * p;
  }
  factors.update(matrix, [&](Index i) { return w.chain_free[std::size_t(i)]; });
  const auto filter = [&](std::span<double> y) {
    for (std::size_t i = 0; i < w.chain_free.size(); ++i) {
      Eigen::Map<Vector3<double>> here(y.data() + 3 * i);
      here = (w.chain_free[i] * here).eval();
    }
  };
  w.chain_b.assign(b.begin(), b.end());
  w.chain_x.assign(x.begin(), x.end());
  const auto apply = [&](std::span<const double> v, std::span<double> y) { factors.multiply(v, y); };
  const SolveReport report =
      pcg<double>(apply, factors, w.chain_b, w.chain_x, w.chain_pcg,
                  {.relative_tolerance = 1e-9, .max_iterations = max_iterations}, filter);
  if (report.converged())
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<Real>(w.chain_x[i]);
  return report;
}

}  // namespace plenum::inline PLENUM_ABI
