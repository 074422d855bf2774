// Ropes: nets that join no particle to any beyond the next but one, which incomplete Cholesky factors exactly.
#include "plenum/linear/incomplete_cholesky.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

SolveReport solve_chain(const Springs::Model& model, std::span<const Real> inverse_mass, SpringsWorkspace& w,
                        std::span<const Real> b, std::span<Real> x, int max_iterations) {
  const auto& matrix = w.system.matrix();
  if (!w.chain_factors) w.chain_factors = std::make_unique<IncompleteCholesky<double>>(matrix.pattern());
  IncompleteCholesky<double>& factors = *w.chain_factors;
  factors.update(matrix);
  const auto filter = [&](std::span<double> y) {
    for (const Index i : model.pinned)
      if (inverse_mass[std::size_t(i)] == 0) y[3 * i] = y[3 * i + 1] = y[3 * i + 2] = 0;
    const auto held = w.supports.held();
    for (std::size_t k = 0; k < held.size(); ++k) {
      Eigen::Map<Vector3<double>> here(y.data() + 3 * held[k]);
      here = (w.supports.free()[k].cast<double>() * here).eval();
    }
  };
  w.chain_b.assign(b.begin(), b.end());
  w.chain_x.assign(x.begin(), x.end());
  const auto apply = [&](std::span<const double> v, std::span<double> y) { factors.multiply(v, y); };
  // Pins and supports are no part of the factors, each takes an iteration or two.
  const SolveReport report =
      pcg<double>(apply, factors, w.chain_b, w.chain_x, w.chain_pcg,
                  {.relative_tolerance = 1e-9, .max_iterations = max_iterations}, filter);
  if (report.converged())
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<Real>(w.chain_x[i]);
  return report;
}

}  // namespace plenum::inline PLENUM_ABI
