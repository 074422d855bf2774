#include "plenum/linear/pcg.h"

#include <gtest/gtest.h>

#include <limits>

#include "linear/cases.h"
#include "plenum/base/hash.h"
#include "plenum/linear/jacobi.h"
#include "support/algebra.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using plenum_test::random_spd;

template <class T>
class PcgOf : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(PcgOf, Scalars);

/// A dense matrix as callable, in T.
template <class T>
struct DenseOperator {
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> a;
  void operator()(std::span<const T> x, std::span<T> y) const {
    using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
    Eigen::Map<Vector>(y.data(), Eigen::Index(y.size())).noalias() =
        a * Eigen::Map<const Vector>(x.data(), Eigen::Index(x.size()));
  }
};

template <class T>
Eigen::VectorXd residual_of(const Eigen::MatrixXd& a, const std::vector<T>& b, const std::vector<T>& x) {
  return to_eigen(b) - a * to_eigen(x);
}

TYPED_TEST(PcgOf, SolvesRandomMatricesLikeADenseFactorization) {
  using T = TypeParam;
  for (const Eigen::Index n : {1, 7, 60}) {
    const Eigen::MatrixXd a = n == 1 ? Eigen::MatrixXd::Constant(1, 1, 3.0) : random_spd(n, 100, unsigned(n));
    const DenseOperator<T> apply{a.template cast<T>()};
    const auto b = random_vector<T>(std::size_t(n), 3);
    std::vector<T> x(b.size(), 0);
    PcgWorkspace<T> work;
    const double tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-12;
    const SolveReport report = cg<T>(apply, b, x, work, {.relative_tolerance = tolerance});
    EXPECT_TRUE(report.converged());
    const Eigen::VectorXd exact = plenum_test::solve_symmetric(apply.a.template cast<double>(), to_eigen(b));
    // |x - exact| <= condition * relative residual * |exact|.
    EXPECT_LE((to_eigen(x) - exact).norm(), 1.1 * 100 * tolerance * exact.norm());
  }
}

TYPED_TEST(PcgOf, EndsInAtMostNStepsOfExactArithmetic) {
  // Eight different eigenvalues: eight steps (Saad 2003, section 6.11), up to rounding.
  const Eigen::Index n = 8;
  const Eigen::MatrixXd a = random_spd(n, 10, 4);
  const DenseOperator<TypeParam> apply{a.template cast<TypeParam>()};
  const auto b = random_vector<TypeParam>(std::size_t(n), 5);
  std::vector<TypeParam> x(b.size(), 0);
  PcgWorkspace<TypeParam> work;
  EXPECT_TRUE(
      cg<TypeParam>(apply, b, x, work, {.relative_tolerance = 1e-4, .max_iterations = 8}).converged());
}

TYPED_TEST(PcgOf, ReportsTheTrueResidualAndIsSmallerForWarmStarts) {
  using T = TypeParam;
  const auto net = make_net<T>(31, T(0.1));
  BlockMatrix<T, BlockKind::spring> matrix(net.size(), net.pairs);
  assemble(net, T(1) / 60, matrix);
  BlockJacobiPreconditioner<T> precondition;
  precondition.update(matrix);
  const Eigen::MatrixXd a = dense(matrix);
  const auto b = random_vector<T>(3 * net.x.size(), 6);
  std::vector<T> x(b.size(), 0);
  PcgWorkspace<T> work;
  for (const double tolerance : {1e-2, 1e-3, 1e-4}) {
    const SolveReport cold = pcg<T>(matrix, precondition, b, x, work, {.relative_tolerance = tolerance});
    EXPECT_TRUE(cold.converged());
    EXPECT_LE(cold.residual, tolerance);
    const double actual = residual_of(a, b, x).norm() / to_eigen(b).norm();
    EXPECT_NEAR(cold.residual, actual, 0.02 * tolerance);
    const SolveReport warm = pcg<T>(matrix, precondition, b, x, work, {.relative_tolerance = tolerance});
    EXPECT_EQ(warm.iterations, 0);
    EXPECT_TRUE(warm.converged());
  }
}

TYPED_TEST(PcgOf, SaysSoWhenThePrecisionEndsAndNotWhenTheRecurrenceBelievesIt) {
  using T = TypeParam;
  // Rounding limits |b - A x| / |b| to about eps |A| |x| / |b|; asking for less must not be reported as
  // reached.
  const Eigen::MatrixXd a = random_spd(50, 1e4, 9);
  const DenseOperator<T> apply{a.template cast<T>()};
  const auto b = random_vector<T>(50, 10);
  std::vector<T> x(b.size(), 0);
  PcgWorkspace<T> work;
  const double hopeless = 1e-3 * double(std::numeric_limits<T>::epsilon());
  const SolveReport report =
      cg<T>(apply, b, x, work, {.relative_tolerance = hopeless, .max_iterations = 5000});
  EXPECT_EQ(report.status, SolveStatus::stagnated);
  EXPECT_GT(report.residual, hopeless);
  EXPECT_LT(report.recursive_residual, report.residual);
  const double actual = residual_of(apply.a.template cast<double>().eval(), b, x).norm() / to_eigen(b).norm();
  EXPECT_LT(report.residual, 1e4 * double(std::numeric_limits<T>::epsilon()));
  EXPECT_LT(actual, 1e4 * double(std::numeric_limits<T>::epsilon()));
}

TYPED_TEST(PcgOf, ReportsIndefiniteNonFiniteAndUnfinished) {
  using T = TypeParam;
  PcgWorkspace<T> work;
  Eigen::MatrixXd a = Eigen::MatrixXd::Identity(3, 3);
  a(2, 2) = -1;
  const std::vector<T> b = {0, 0, 1};
  std::vector<T> x(3, 0);
  EXPECT_EQ(cg<T>(DenseOperator<T>{a.template cast<T>()}, b, x, work, {}).status, SolveStatus::indefinite);
  a(2, 2) = std::numeric_limits<double>::quiet_NaN();
  x.assign(3, 0);
  EXPECT_EQ(cg<T>(DenseOperator<T>{a.template cast<T>()}, b, x, work, {}).status, SolveStatus::not_finite);
  const DenseOperator<T> hard{random_spd(30, 1e4, 2).template cast<T>()};
  const auto c = random_vector<T>(30, 3);
  std::vector<T> y(30, 0);
  const SolveReport report = cg<T>(hard, c, y, work, {.relative_tolerance = 1e-4, .max_iterations = 3});
  EXPECT_EQ(report.status, SolveStatus::out_of_iterations);
  EXPECT_EQ(report.iterations, 3);
  std::vector<T> zero(30, 0), guess = random_vector<T>(30, 4);
  EXPECT_TRUE(cg<T>(hard, zero, guess, work, {}).converged());
  EXPECT_EQ(guess, zero);
}

TYPED_TEST(PcgOf, PinnedParticlesKeepTheirValueAndTheRestIsTheReducedSystem) {
  using T = TypeParam;
  const auto net = make_net<T>(9, T(0.1));
  BlockMatrix<T, BlockKind::spring> matrix(net.size(), net.pairs);
  assemble(net, T(1) / 60, matrix);
  BlockJacobiPreconditioner<T> precondition;
  precondition.update(matrix);
  const std::vector<Index> pins = {0, 8};
  const auto filter = [&](std::span<T> v) {
    for (const Index i : pins)
      for (int c = 0; c < 3; ++c) v[3 * i + c] = 0;
  };
  const auto b = random_vector<T>(3 * net.x.size(), 11);
  std::vector<T> x(b.size(), 0);
  x[0] = T(0.5), x[25] = T(-2);  // prescribed: particle 0 along x, particle 8 along y
  const auto given = x;
  PcgWorkspace<T> work;
  const double tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-11;
  const SolveReport report =
      pcg<T>(matrix, precondition, b, x, work, {.relative_tolerance = tolerance}, filter);
  EXPECT_TRUE(report.converged());
  for (const Index i : pins)
    for (int c = 0; c < 3; ++c) EXPECT_EQ(x[3 * i + c], given[3 * i + c]);
  // Reference: strike the pinned rows and columns out, move the prescribed values to the right-hand side.
  const Eigen::MatrixXd a = dense(matrix);
  std::vector<Eigen::Index> free;
  for (Eigen::Index k = 0; k < a.rows(); ++k)
    if (k / 3 != 0 && k / 3 != 8) free.push_back(k);
  const Eigen::VectorXd rhs = (to_eigen(b) - a * to_eigen(given))(free);
  const Eigen::MatrixXd reduced = a(free, free);
  const Eigen::VectorXd exact = plenum_test::solve_symmetric(reduced, rhs);
  EXPECT_NEAR(report.rhs_norm, rhs.norm(), 1e-5 * rhs.norm());
  EXPECT_LE((rhs - reduced * to_eigen(x)(free)).norm(), 1.05 * tolerance * rhs.norm());
  const double smallest = plenum_test::eigenvalues(reduced)[0];
  EXPECT_LE((to_eigen(x)(free) - exact).norm(), 1.1 * tolerance * rhs.norm() / smallest);
}

TYPED_TEST(PcgOf, BlockJacobiInvertsTheBlocksAndStaysDefinite) {
  using T = TypeParam;
  BlockMatrix<T, BlockKind::general> matrix(21, {});
  for (Index i = 0; i < 20; ++i) matrix.set_diagonal(i, random_spd(3, 30, unsigned(i)).template cast<T>());
  matrix.set_diagonal(20, Matrix3<T>(Vector3<T>(1, 0, -2).asDiagonal()));  // singular and indefinite
  BlockJacobiPreconditioner<T> precondition;
  precondition.update(matrix);
  const auto r = random_vector<T>(63, 12);
  std::vector<T> z(63), again(63), back(63);
  precondition(r, z);
  EXPECT_NEAR(precondition.apply_dot(r, again), to_eigen(r).dot(to_eigen(z)),
              1e-6 * std::abs(to_eigen(r).dot(to_eigen(z))));
  EXPECT_EQ(z, again);
  matrix(z, back);
  for (int k = 0; k < 60; ++k)
    EXPECT_NEAR(double(back[k]), double(r[k]), 30 * 20 * double(std::numeric_limits<T>::epsilon()));
  EXPECT_GT(r[61] * z[61], 0);
  EXPECT_GT(r[62] * z[62], 0);
  EXPECT_TRUE(std::isfinite(z[61]) && std::isfinite(z[62]));
}

TYPED_TEST(PcgOf, SameBitsForEveryThreadCountAndNoAllocations) {
  using T = TypeParam;
  const auto net = make_net<T>(61, T(0.1));
  BlockMatrix<T, BlockKind::spring> matrix(net.size(), net.pairs);
  assemble(net, T(1) / 60, matrix);
  BlockJacobiPreconditioner<T> precondition;
  PcgWorkspace<T> work;
  const auto b = random_vector<T>(3 * net.x.size(), 13);
  std::vector<T> x(b.size());
  const auto solve = [&] {
    std::fill(x.begin(), x.end(), T(0));
    precondition.update(matrix);
    return pcg<T>(matrix, precondition, b, x, work, {.relative_tolerance = 1e-4});
  };
  const auto hash = [&] {
    const SolveReport report = solve();
    Hasher hasher;
    hasher.add(x.data(), x.size() * sizeof(T));
    hasher.add(&report.residual, sizeof report.residual);
    return hasher.digest();
  };
  const Hash128 expected = hash();
  for (const int threads : {1, 2, 3, 5, 8}) with_threads(threads, [&] { EXPECT_EQ(hash(), expected); });
  EXPECT_EQ(plenum_test::count_allocations(solve), 0);
}

TYPED_TEST(PcgOf, JacobiPreconditionerDividesByTheDiagonal) {
  using T = TypeParam;
  JacobiPreconditioner<T> precondition;
  const std::vector<T> d = {1, 2, 4, 0, -1}, r = {3, 3, 3, 3, 3};
  std::vector<T> z(5);
  precondition.update(d);
  precondition(r, z);
  EXPECT_EQ(z, (std::vector<T>{3, T(1.5), T(0.75), 3, 3}));
  EXPECT_EQ(precondition.apply_dot(r, z), 3 * (3 + 1.5 + 0.75 + 3 + 3));
}

TYPED_TEST(PcgOf, VectorPassesAgreeWithTheirDefinitions) {
  using T = TypeParam;
  for (const std::size_t n : {1u, 15u, 16u, 33u, 20001u}) {
    const auto a = random_vector<T>(n, 1), b = random_vector<T>(n, 2);
    EXPECT_NEAR(dot<T>(a, b), to_eigen(a).dot(to_eigen(b)), 1e-12 * double(n));
    auto y = b;
    axpy<T>(T(0.5), a, y);
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], b[i] + T(0.5) * a[i], 1e-6);
    y = b;
    xpay<T>(a, T(0.5), y);
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], a[i] + T(0.5) * b[i], 1e-6);
    auto x = a, r = b;
    const double rr = step_and_residual<T>(T(0.5), a, b, x, r);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(x[i], T(1.5) * a[i], 1e-6 * (1 + std::abs(a[i])));
      EXPECT_NEAR(r[i], T(0.5) * b[i], 1e-6 * (1 + std::abs(b[i])));
    }
    EXPECT_NEAR(rr, to_eigen(r).squaredNorm(), 1e-12 * double(n));
  }
}

}}  // namespace plenum
