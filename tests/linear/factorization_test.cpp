#include "plenum/linear/factorization.h"

#include <gtest/gtest.h>

#include <limits>

#include "linear/cases.h"
#include "plenum/base/error.h"
#include "support/algebra.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

template <class T>
class FactorizationOf : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(FactorizationOf, Scalars);

/// Random entries beside a diagonal of `shift`.
SymmetricCase random_symmetric(Index n, double shift, unsigned seed) {
  SymmetricCase c;
  c.dense = Eigen::MatrixXd::Zero(n, n);
  std::mt19937 random(seed);
  std::uniform_int_distribution<Index> row(0, n - 1);
  std::uniform_real_distribution<double> value(-1, 1);
  const auto add = [&](Index i, Index j, double v) {
    c.positions.push_back({i, j});
    c.values.push_back(v);
    c.dense(i, j) += v;
    if (i != j) c.dense(j, i) += v;
  };
  for (Index i = 0; i < n; ++i) add(i, i, shift);
  for (Index k = 0; k < 4 * n; ++k) {
    const Index i = row(random), j = row(random);
    add(i, j, value(random) * 0.25);
  }
  return c;
}

template <class T>
std::vector<T> rounded(const std::vector<double>& v) {
  return std::vector<T>(v.begin(), v.end());
}

TYPED_TEST(FactorizationOf, SolvesLikeADenseFactorization) {
  using T = TypeParam;
  for (const double shift : {6.0, 0.6}) {  // positive definite, and indefinite
    const SymmetricCase c = random_symmetric(40, shift, 7);
    Factorization<T> f;
    f.analyze(40, c.positions);
    const bool definite = plenum_test::eigenvalues(c.dense)[0] > 0;
    EXPECT_EQ(definite, shift == 6.0);
    ASSERT_TRUE(f.factorize(rounded<T>(c.values)));
    EXPECT_EQ(f.positive_definite(), definite);
    EXPECT_EQ(f.size(), 40);
    for (const int columns : {1, 2, 3}) {
      const auto b = random_vector<T>(std::size_t(40 * columns), 3);
      auto x = b;
      f.solve(x, columns);
      for (int k = 0; k < columns; ++k) {
        Eigen::VectorXd bk(40), xk(40);
        for (int i = 0; i < 40; ++i) bk[i] = b[i * columns + k], xk[i] = x[i * columns + k];
        const Eigen::VectorXd exact = plenum_test::solve(c.dense, bk);
        const double condition = plenum_test::condition_number(c.dense);
        EXPECT_LT((xk - exact).norm(),
                  40 * condition * double(std::numeric_limits<T>::epsilon()) * exact.norm());
      }
    }
  }
}

TYPED_TEST(FactorizationOf, IsRefilledWithoutASecondAnalysisAndSolvesWithoutAllocating) {
  using T = TypeParam;
  const SymmetricCase c = random_symmetric(30, 6, 8);
  Factorization<T> f;
  f.analyze(30, c.positions);
  auto values = rounded<T>(c.values);
  ASSERT_TRUE(f.factorize(values));
  for (T& v : values) v *= 2;
  ASSERT_TRUE(f.factorize(values));
  const auto b = random_vector<T>(30, 3);
  auto x = b;
  EXPECT_EQ(plenum_test::count_allocations([&] { f.solve(x); }), 0);
  EXPECT_LT((2 * c.dense * to_eigen(x) - to_eigen(b)).norm(),
            300 * double(std::numeric_limits<T>::epsilon()) * to_eigen(b).norm());
}

TYPED_TEST(FactorizationOf, SaysSoWhenAMatrixIsSingularOrAPositionOutside) {
  using T = TypeParam;
  Factorization<T> f;
  const std::vector<Index2> positions = {{0, 0}, {1, 1}, {1, 0}};
  f.analyze(2, positions);
  EXPECT_FALSE(f.factorize(std::vector<T>{1, 1, 1}));
  EXPECT_FALSE(f.positive_definite());
  EXPECT_TRUE(f.factorize(std::vector<T>{1, 2, 1}));
  const std::vector<Index2> outside = {{0, 2}};
  EXPECT_THROW(f.analyze(2, outside), Error);
}

}}  // namespace plenum
