#include "plenum/linear/sparse_ldlt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "linear/cases.h"
#include "plenum/base/error.h"
#include "support/algebra.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

/// J J^T of random rows J with few entries each; `repeat` rows of J are copies of earlier ones, which makes
/// the matrix singular.
SymmetricCase random_product(Index rows, Index columns, int repeat, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<Index> column(0, columns - 1);
  std::uniform_real_distribution<double> value(-1, 1);
  Eigen::MatrixXd j = Eigen::MatrixXd::Zero(rows, columns);
  for (Index r = 0; r < rows; ++r)
    if (r < rows - repeat)
      for (int k = 0; k < 3; ++k) j(r, column(random)) = 1 + std::abs(value(random));
    else
      j.row(r) = j.row(r - rows + repeat);
  SymmetricCase c;
  c.dense = j * j.transpose();
  for (Index r = 0; r < rows; ++r)
    for (Index s = 0; s <= r; ++s) {
      if (c.dense(r, s) == 0) continue;
      c.positions.push_back((r + s) % 2 ? Index2{r, s} : Index2{s, r});
      c.values.push_back(0.25 * c.dense(r, s));
      c.positions.push_back({r, s});
      c.values.push_back(0.75 * c.dense(r, s));
    }
  return c;
}

TEST(SparseLdlt, SolvesLikeADenseFactorization) {
  const SymmetricCase c = random_product(40, 120, 0, 7);
  SparseLdlt f;
  f.analyze(40, c.positions);
  EXPECT_EQ(f.factorize(c.values), 0);
  EXPECT_EQ(f.size(), 40);
  std::vector<double> x = random_vector<double>(40, 3);
  const Eigen::VectorXd b = Eigen::Map<Eigen::VectorXd>(x.data(), 40), exact = plenum_test::solve(c.dense, b);
  f.solve(x);
  const Eigen::VectorXd singular = plenum_test::singular_values(c.dense);
  EXPECT_LT((Eigen::Map<Eigen::VectorXd>(x.data(), 40) - exact).norm(),
            40 * singular[0] / singular[39] * std::numeric_limits<double>::epsilon() * exact.norm());
}

TEST(SparseLdlt, RowsThatDependOnOthersAreLeftOut) {
  const SymmetricCase c = random_product(40, 120, 5, 7);
  SparseLdlt f;
  f.analyze(40, c.positions);
  EXPECT_EQ(f.factorize(c.values), 5);
  // A right-hand side that has solutions gets one, with five unknowns zero.
  std::vector<double> x = random_vector<double>(40, 3);
  const Eigen::VectorXd b = c.dense * Eigen::Map<Eigen::VectorXd>(x.data(), 40);
  std::copy(b.begin(), b.end(), x.begin());
  f.solve(x);
  EXPECT_EQ(std::count(x.begin(), x.end(), 0.0), 5);
  const Eigen::VectorXd rest = c.dense * Eigen::Map<Eigen::VectorXd>(x.data(), 40) - b;
  const Eigen::VectorXd singular = plenum_test::singular_values(c.dense);
  EXPECT_LT(rest.norm(), 40 * singular[0] / singular[34] * std::numeric_limits<double>::epsilon() * b.norm());
}

TEST(SparseLdlt, ATreeHasNoFill) {
  std::vector<Index2> positions;
  for (Index i = 0; i < 100; ++i) positions.push_back({i, i});
  for (Index i = 1; i < 100; ++i) positions.push_back({i, (i * 7) / 11});  // each with an earlier one
  SparseLdlt f;
  f.analyze(100, positions);
  EXPECT_EQ(f.fill(), 99u);
}

TEST(SparseLdlt, IsRefilledWithoutASecondAnalysisAndWithoutAllocating) {
  const SymmetricCase c = random_product(30, 90, 0, 8);
  SparseLdlt f;
  f.analyze(30, c.positions);
  std::vector<double> twice = c.values;
  for (double& v : twice) v *= 2;
  std::vector<double> x(30, 1.0), y(30, 2.0);
  const long allocated = plenum_test::count_allocations([&] {
    f.factorize(c.values);
    f.solve(x);
    f.factorize(twice);
    f.solve(y);
  });
  if (plenum_test::can_count_allocations) {
    EXPECT_EQ(allocated, 0);
  }
  for (std::size_t i = 0; i < 30; ++i) EXPECT_NEAR(x[i], y[i], 1e-10 * std::abs(x[i]));
}

TEST(SparseLdlt, RefusesPositionsOutside) {
  SparseLdlt f;
  EXPECT_THROW(f.analyze(3, std::vector<Index2>{{0, 3}}), Error);
  EXPECT_THROW(f.analyze(3, std::vector<Index2>{{-1, 0}}), Error);
}

}  // namespace
}  // namespace plenum
