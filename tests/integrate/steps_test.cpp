// What a step does besides being accurate: solves, damps, reports, and leaves memory alone.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plenum/integrate/dense_problem.h"
#include "plenum/integrate/integrators.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

template <class T>
class IntegratorSteps : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(IntegratorSteps, Scalars);

TEST(Integrators, ArmijoBacktrackingRescuesNewton) {
  // y' = -1e4 atan(y) from far away: full Newton steps on g(z) = z - y0 + h 1e4 atan(z) overshoot and
  // diverge.
  int evaluations = 0;
  auto problem = dense_problem<double>(
      1,
      [&](double, std::span<const double> y, std::span<double> f) {
        ++evaluations;
        f[0] = -1e4 * std::atan(y[0]);
      },
      [](double, std::span<const double> y, auto& j) { j(0, 0) = -1e4 / (1 + y[0] * y[0]); });
  IntegratorWorkspace<double> work;
  std::vector<double> y = {20};
  const NewtonReport report = backward_euler_step<double>(problem, 0, 1, y, work);
  EXPECT_TRUE(report.converged);
  EXPECT_GT(report.backtracks, 0);
  EXPECT_NEAR(y[0] + 1e4 * std::atan(y[0]), 20, 1e-8);
}

TEST(Integrators, StiffDecayIsDampedByLStableMethodsInOneStep) {
  // Prothero & Robinson's problem y' = -1e6 (y - cos t) - sin t: the solution is cos t, off by y0 - 1 at
  // first.
  const auto f = [](double t, std::span<const double> y, std::span<double> out) {
    out[0] = -1e6 * (y[0] - std::cos(t)) - std::sin(t);
  };
  for (const IntegratorInfo& method : integrator_table) {
    if (!method.implicit || method.second_order_only || !method.self_starting) continue;
    auto problem =
        dense_problem<double>(1, f, [](double, std::span<const double>, auto& j) { j(0, 0) = -1e6; });
    IntegratorWorkspace<double> work;
    std::vector<double> y = {2};
    for (int i = 0; i < 10; ++i) implicit_step<double>(method.id, problem, i * 0.1, 0.1, y, work);
    const double error = std::abs(y[0] - std::cos(1.0));
    if (method.damping_at_infinity == 0)
      EXPECT_LT(error, 1e-3) << method.name;
    else
      EXPECT_GT(error, 0.5) << method.name;  // rings on with |R| near 1
  }
}

TEST(Integrators, ReportNonConvergenceInsteadOfThrowing) {
  // A right-hand side without a solution: z = y0 + h (z^2 + 1) with h = 10 has no real root.
  auto problem = dense_problem<double>(
      1, [](double, std::span<const double> y, std::span<double> f) { f[0] = y[0] * y[0] + 1; });
  IntegratorWorkspace<double> work;
  std::vector<double> y = {0};
  const NewtonReport report = backward_euler_step<double>(problem, 0, 10, y, work);
  EXPECT_FALSE(report.converged);
  EXPECT_TRUE(std::isfinite(y[0]));
}

TYPED_TEST(IntegratorSteps, StepsDoNotAllocateAndDoNotReadTheirWorkspace) {
  using T = TypeParam;
  const std::size_t n = 20;
  const auto a = [](double, std::span<const T> x, std::span<const T> v, std::span<T> out) {
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = -x[i] * x[i] * x[i] - T(0.1) * v[i];
  };
  auto dense = dense_problem<T>(n, [](double, std::span<const T> y, std::span<T> f) {
    for (std::size_t i = 0; i < y.size(); ++i) f[i] = -y[i] * y[(i + 1) % y.size()];
  });
  for (const IntegratorInfo& method : integrator_table) {
    if (!method.self_starting) continue;
    const auto run = [&](T poison) {
      IntegratorWorkspace<T> work;
      work.prepare(n, 12);
      for (std::size_t k = 0; k < 12; ++k)
        for (T& w : work[k]) w = poison;
      std::vector<T> x(n), v(n, T(0.25));
      for (std::size_t i = 0; i < n; ++i) x[i] = T(1) + T(i) / T(n);
      const auto step = [&](int i) {
        if (method.implicit)
          implicit_step<T>(method.id, dense, 0.01 * i, 0.01, x, work);
        else
          explicit_step<T>(method.id, a, 0.01 * i, 0.01, x, v, work);
      };
      step(0);
      EXPECT_EQ(plenum_test::count_allocations([&] { step(1); }), 0) << method.name;
      x.insert(x.end(), v.begin(), v.end());
      return x;
    };
    EXPECT_EQ(run(T(0)), run(std::numeric_limits<T>::quiet_NaN())) << method.name;
  }
}

TEST(Integrators, CombineTakesAnyNumberOfTerms) {
  const std::size_t n = 5;
  for (std::size_t count = 1; count <= 20; ++count) {
    std::vector<std::vector<double>> x;
    std::vector<Term<double>> terms;
    std::vector<double> expected(n, 0), out(n, 99);
    for (std::size_t k = 0; k < count; ++k) x.emplace_back(n, double(k + 1));
    for (std::size_t k = 0; k < count; ++k) {
      const double c = k % 3 == 1 ? 0 : double(k) - 2;
      terms.push_back({c, x[k]});
      for (double& e : expected) e += c * double(k + 1);
    }
    combine<double>(out, std::span<const Term<double>>(terms));
    EXPECT_EQ(out, expected);
  }
}

}}  // namespace plenum
