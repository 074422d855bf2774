#include "plenum/linear/relaxation.h"

#include <gtest/gtest.h>

#include <numbers>

#include "linear/cases.h"
#include "support/algebra.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

template <class T>
class RelaxationOf : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(RelaxationOf, Scalars);

/// -u'' on n points of the unit interval: rows (-1, 2, -1), eigenvalues 2 - 2 cos(k pi / (n + 1)).
template <class T>
struct Laplace {
  Index n;
  template <class Visit>
  void operator()(Index i, Visit&& visit) const {
    if (i > 0) visit(i - 1, T(-1));
    visit(i, T(2));
    if (i + 1 < n) visit(i + 1, T(-1));
  }
};

/// Number of iterations that a spectral radius predicts for a reduction of the error.
double predicted(double radius, double reduction) {
  return std::log(reduction) / std::log(radius);
}

TYPED_TEST(RelaxationOf, ConvergeAtTheRatesOfTheory) {
  using T = TypeParam;
  // Saad 2003, section 4.2.4 (Young): rho(Jacobi) = cos(pi h), rho(GS) = rho(J)^2, optimal omega = 2 / (1 +
  // sin(pi h)) with rho = omega - 1.
  const Laplace<T> rows{24};
  const double h = 1.0 / 25, jacobi = std::cos(std::numbers::pi * h);
  const double omega = 2 / (1 + std::sin(std::numbers::pi * h));
  std::vector<T> b(24, T(1)), x(24), work;
  const double tolerance = 1e-4;
  const auto iterations = [&](auto&& solve) {
    std::fill(x.begin(), x.end(), T(0));
    const SolveReport report = solve(SolveOptions{.relative_tolerance = tolerance, .max_iterations = 5000});
    EXPECT_TRUE(report.converged());
    EXPECT_LE(report.residual, tolerance);
    // Exact solution of -u'' = 1: i (n + 1 - i) / 2.
    for (int i = 0; i < 24; ++i) EXPECT_NEAR(x[std::size_t(i)], (i + 1) * (24 - i) / 2.0, 78 * 3e-3);
    return report.iterations;
  };
  const int by_jacobi =
      iterations([&](const SolveOptions& o) { return jacobi_solve<T>(rows, b, x, work, o); });
  const int by_gauss_seidel =
      iterations([&](const SolveOptions& o) { return gauss_seidel_solve<T>(rows, b, x, o); });
  const int by_sor = iterations([&](const SolveOptions& o) { return sor_solve<T>(rows, b, x, omega, o); });
  const int by_symmetric = iterations(
      [&](const SolveOptions& o) { return gauss_seidel_solve<T>(rows, b, x, o, SweepOrder::symmetric); });
  const int backward = iterations(
      [&](const SolveOptions& o) { return gauss_seidel_solve<T>(rows, b, x, o, SweepOrder::backward); });
  EXPECT_NEAR(by_jacobi, predicted(jacobi, tolerance), 0.1 * predicted(jacobi, tolerance));
  EXPECT_NEAR(by_gauss_seidel, predicted(jacobi * jacobi, tolerance),
              0.1 * predicted(jacobi * jacobi, tolerance));
  EXPECT_LT(by_sor, 2.5 * predicted(omega - 1, tolerance));  // with a Jordan block, so slower at first
  EXPECT_LT(by_symmetric, by_gauss_seidel);
  EXPECT_NEAR(backward, by_gauss_seidel, 2);  // the problem is its own mirror image
}

TYPED_TEST(RelaxationOf, SolveDominantSystemsLikeADenseFactorization) {
  using T = TypeParam;
  std::srand(4);
  Eigen::MatrixXd a = Eigen::MatrixXd::Random(12, 12);
  a = (a + a.transpose()).eval() * 0.5 + 8 * Eigen::MatrixXd::Identity(12, 12);
  const auto rows = [&](Index i, auto&& visit) {
    for (Index j = 0; j < 12; ++j) visit(j, T(a(i, j)));
  };
  const auto b = random_vector<T>(12, 5);
  const Eigen::VectorXd exact = plenum_test::solve_symmetric(a, to_eigen(b));
  const double tolerance = std::is_same_v<T, float> ? 1e-6 : 1e-13;
  std::vector<T> x(12, 0), y(12, 0), work;
  EXPECT_TRUE(jacobi_solve<T>(rows, b, x, work, {.relative_tolerance = tolerance}, 0.9).converged());
  EXPECT_TRUE(gauss_seidel_solve<T>(rows, b, y, {.relative_tolerance = tolerance}).converged());
  EXPECT_LT((to_eigen(x) - exact).norm(), 10 * tolerance * exact.norm());
  EXPECT_LT((to_eigen(y) - exact).norm(), 10 * tolerance * exact.norm());
  EXPECT_EQ(plenum_test::count_allocations([&] { jacobi_solve<T>(rows, b, x, work, {}, 0.9); }), 0);
}

TYPED_TEST(RelaxationOf, ReportDivergenceAndTheLimitOfPrecision) {
  using T = TypeParam;
  const Laplace<T> rows{24};
  std::vector<T> b(24, T(1)), x(24, 0), work;
  EXPECT_EQ(sor_solve<T>(rows, b, x, 2.5, {.max_iterations = 100000}).converged(), false);
  x.assign(24, 0);
  const SolveReport report =
      gauss_seidel_solve<T>(rows, b, x, {.relative_tolerance = 1e-30, .max_iterations = 100000});
  EXPECT_EQ(report.status, SolveStatus::stagnated);
  x.assign(24, 0);
  EXPECT_EQ(gauss_seidel_solve<T>(rows, b, x, {.max_iterations = 2}).status, SolveStatus::out_of_iterations);
}

}}  // namespace plenum
