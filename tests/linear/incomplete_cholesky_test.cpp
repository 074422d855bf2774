#include "plenum/linear/incomplete_cholesky.h"

#include <gtest/gtest.h>

#include "linear/cases.h"
#include "plenum/linear/jacobi.h"
#include "plenum/linear/pcg.h"
#include "support/algebra.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

template <class T>
class IncompleteCholeskyOf : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(IncompleteCholeskyOf, Scalars);

TYPED_TEST(IncompleteCholeskyOf, IsExactForBlockTridiagonalMatrices) {
  using T = TypeParam;
  const Index n = 40;
  std::vector<Index2> pairs;
  for (Index i = 0; i + 1 < n; ++i) pairs.push_back({i, i + 1});
  pairs.push_back({7, 6});  // once more, the other way round
  BlockMatrix<T, BlockKind::general> matrix(n, pairs);
  std::mt19937 random(2);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (Index i = 0; i < n; ++i) {
    Matrix3<T> d;
    for (int k = 0; k < 9; ++k) d(k / 3, k % 3) = T(uniform(random));
    matrix.set_diagonal(i, Matrix3<T>((d + d.transpose()) / 2 + 8 * Matrix3<T>::Identity()));
  }
  for (Index p = 0; p < Index(pairs.size()); ++p) {
    typename BlockMatrix<T, BlockKind::general>::Block block;
    for (T& b : block) b = T(uniform(random));
    matrix.set_pair_block(p, block);
  }
  IncompleteCholesky<T> factor(matrix.pattern());
  EXPECT_EQ(factor.update(matrix), 0);
  const auto r = random_vector<T>(3 * std::size_t(n), 3);
  std::vector<T> z(r.size());
  factor(r, z);
  const Eigen::VectorXd exact = plenum_test::solve_symmetric(dense(matrix), to_eigen(r));
  EXPECT_LT((to_eigen(z) - exact).norm(), 200 * double(std::numeric_limits<T>::epsilon()) * exact.norm());
  std::vector<T> product(r.size());
  factor.multiply(r, product);
  const Eigen::VectorXd expected = dense(matrix) * to_eigen(r);
  EXPECT_LT((to_eigen(product) - expected).norm(),
            20 * double(std::numeric_limits<T>::epsilon()) * expected.norm());
}

TYPED_TEST(IncompleteCholeskyOf, FactorsReproduceTheMatrixOnItsPattern) {
  // The defining property of IC(0): (L + D) D^-1 (L + D)^T - A vanishes on the pattern of A.
  using T = TypeParam;
  const auto net = make_net<T>(7, T(0.2));
  BlockMatrix<T, BlockKind::spring> matrix(net.size(), net.pairs);
  assemble(net, T(1) / 60, matrix);
  IncompleteCholesky<T> factor(matrix.pattern());
  ASSERT_EQ(factor.update(matrix), 0);
  const Eigen::Index n = 3 * net.size();
  Eigen::MatrixXd inverse(n, n);
  std::vector<T> r(std::size_t(n), 0), z(r);
  for (Eigen::Index k = 0; k < n; ++k) {
    r[std::size_t(k)] = 1;
    factor(r, z);
    r[std::size_t(k)] = 0;
    inverse.col(k) = to_eigen(z);
  }
  const Eigen::MatrixXd product = plenum_test::inverse(inverse), a = dense(matrix);
  EXPECT_LT(plenum_test::largest_difference(product, product.transpose()),
            1e4 * double(std::numeric_limits<T>::epsilon()) * plenum_test::largest(a));
  double fill = 0;
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j) {
      const bool in_pattern = a.block<3, 3>(i / 3 * 3, j / 3 * 3).norm() > 0;
      if (in_pattern)
        EXPECT_NEAR(product(i, j), a(i, j),
                    1e4 * double(std::numeric_limits<T>::epsilon()) * plenum_test::largest(a));
      else
        fill = std::max(fill, std::abs(product(i, j)));
    }
  EXPECT_GT(fill, 1e-3 * plenum_test::largest(a));  // a net is no rope: there is something incomplete
}

TYPED_TEST(IncompleteCholeskyOf, NeedsFarFewerIterationsThanBlockJacobi) {
  using T = TypeParam;
  const auto net = make_net<T>(50, T(0.1));
  BlockMatrix<T, BlockKind::spring> matrix(net.size(), net.pairs);
  assemble(net, T(1) / 60, matrix);
  IncompleteCholesky<T> factor(matrix.pattern());
  BlockJacobiPreconditioner<T> jacobi;
  EXPECT_GE(factor.update(matrix), 0);
  jacobi.update(matrix);
  const auto b = random_vector<T>(3 * net.x.size(), 4);
  std::vector<T> x(b.size(), 0), y(x);
  PcgWorkspace<T> work;
  const SolveOptions options{.relative_tolerance = 1e-4};
  const SolveReport by_factor = pcg<T>(matrix, factor, b, x, work, options);
  const SolveReport by_jacobi = pcg<T>(matrix, jacobi, b, y, work, options);
  EXPECT_TRUE(by_factor.converged());
  EXPECT_TRUE(by_jacobi.converged());
  EXPECT_LT(2 * by_factor.iterations, by_jacobi.iterations);
  EXPECT_EQ(plenum_test::count_allocations([&] { factor.update(matrix), factor(b, x); }), 0);
}

TYPED_TEST(IncompleteCholeskyOf, ShiftsTheDiagonalWhereAPivotBreaksDown) {
  using T = TypeParam;
  // Kershaw 1978's example of a positive definite matrix whose IC(0) meets a negative pivot: cyclic, 3 on the
  // diagonal, -2 to the neighbours, 2 across; here times the identity block.
  const std::vector<Index2> pairs = {{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  const T value[] = {-2, -2, -2, 2};
  BlockMatrix<T, BlockKind::symmetric> matrix(4, pairs);
  for (Index i = 0; i < 4; ++i) matrix.set_diagonal(i, Matrix3<T>(Matrix3<T>::Identity() * T(3)));
  for (Index p = 0; p < 4; ++p) matrix.set_pair_block(p, {value[p], value[p], value[p], 0, 0, 0});
  EXPECT_GT(plenum_test::eigenvalues(dense(matrix))[0], 0);
  IncompleteCholesky<T> factor(matrix.pattern());
  EXPECT_GT(factor.update(matrix), 0);
  const auto b = random_vector<T>(12, 4);
  std::vector<T> x(12, 0);
  PcgWorkspace<T> work;
  EXPECT_TRUE(pcg<T>(matrix, factor, b, x, work, {.relative_tolerance = 1e-5}).converged());
  // Not definite at all: says so, and is still a definite preconditioner.
  matrix.set_diagonal(0, Matrix3<T>(-Matrix3<T>::Identity()));
  EXPECT_LT(factor.update(matrix), 0);
  std::vector<T> z(12);
  factor(b, z);
  EXPECT_GT(to_eigen(b).dot(to_eigen(z)), 0);
}

}}  // namespace plenum
