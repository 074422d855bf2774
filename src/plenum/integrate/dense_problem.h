#pragma once
// Small dense systems as ImplicitProblem: a right-hand side, a Jacobian (given, or by differences) and a
// dense LU. Kept out of integrators.h because it brings Eigen's factorizations.
#include <Eigen/LU>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// y' = f(t, y) with y [n], n small. f(double t, span<const T> y, span<T> dydt); jacobian(double t,
/// span<const T> y, Eigen matrix& J) fills J [n][n], or is left out for central differences. Allocates in the
/// constructor only.
template <class T, class F, class Jacobian = std::nullptr_t>
class DenseProblem {
 public:
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  DenseProblem(std::size_t n, F f, Jacobian jacobian = {})
      : f_(std::move(f)),
        jacobian_(std::move(jacobian)),
        j_(n, n),
        factors_(static_cast<Eigen::Index>(n)),
        y_(n),
        high_(n),
        low_(n) {}

  void f(double t, std::span<const T> y, std::span<T> out) { f_(t, y, out); }

  bool solve(double t, std::span<const T> y, double c, std::span<const T> r, std::span<T> d) {
    const auto n = static_cast<Eigen::Index>(y.size());
    if constexpr (std::is_same_v<Jacobian, std::nullptr_t>)
      differences(t, y);
    else
      jacobian_(t, y, j_);
    j_ *= static_cast<T>(-c);
    j_.diagonal().array() += T(1);
    factors_.compute(j_);
    using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
    Eigen::Map<Vector> out(d.data(), n);
    // Row by row, because Eigen's product with a permutation allocates.
    for (Eigen::Index i = 0; i < n; ++i) out[factors_.permutationP().indices()[i]] = r[i];
    factors_.matrixLU().template triangularView<Eigen::UnitLower>().solveInPlace(out);
    factors_.matrixLU().template triangularView<Eigen::Upper>().solveInPlace(out);
    return out.allFinite();
  }

 private:
  /// Central differences with steps of the cube root of the precision, where their error is least (Press et
  /// al. 2007, "Numerical recipes", section 5.7).
  void differences(double t, std::span<const T> y) {
    const T step = std::cbrt(std::numeric_limits<T>::epsilon());
    for (std::size_t k = 0; k < y.size(); ++k) {
      std::copy(y.begin(), y.end(), y_.begin());
      const T h = step * std::max(T(1), std::abs(y[k]));
      y_[k] = y[k] + h;
      const T upper = y_[k];
      f_(t, std::span<const T>(y_), std::span<T>(high_));
      y_[k] = y[k] - h;
      const T width = upper - y_[k];
      f_(t, std::span<const T>(y_), std::span<T>(low_));
      for (std::size_t i = 0; i < y.size(); ++i) j_(i, k) = (high_[i] - low_[i]) / width;
    }
  }

  F f_;
  Jacobian jacobian_;
  Matrix j_;
  Eigen::PartialPivLU<Matrix> factors_;
  std::vector<T> y_, high_, low_;
};

/// DenseProblem<T> with the callables' types deduced.
template <class T, class F>
DenseProblem<T, F> dense_problem(std::size_t n, F f) {
  return {n, std::move(f)};
}
template <class T, class F, class Jacobian>
DenseProblem<T, F, Jacobian> dense_problem(std::size_t n, F f, Jacobian jacobian) {
  return {n, std::move(f), std::move(jacobian)};
}

}  // namespace plenum::inline PLENUM_ABI
