#include "plenum/linear/multigrid.h"

#include <gtest/gtest.h>

#include "linear/cases.h"
#include "plenum/base/hash.h"
#include "plenum/linear/detail/coarsening.h"
#include "plenum/linear/jacobi.h"
#include "plenum/linear/pcg.h"
#include "support/algebra.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

template <class T>
class MultigridOf : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(MultigridOf, Scalars);

template <class T>
Eigen::MatrixXd dense_interpolation(const SparseRows<T>& rows, Index columns) {
  Eigen::MatrixXd p = Eigen::MatrixXd::Zero(rows.num_rows(), columns);
  for (Index i = 0; i < rows.num_rows(); ++i)
    for (Index k = rows.begin[i]; k < rows.begin[i + 1]; ++k) p(i, rows.index[k]) += double(rows.weight[k]);
  return p;
}

/// Laplacian of a net with given weights of its elements (pairs, then grounds).
Eigen::MatrixXd laplacian(const NetGraph& net, const std::vector<double>& weight) {
  Eigen::MatrixXd l = Eigen::MatrixXd::Zero(net.num_rows, net.num_rows);
  for (std::size_t p = 0; p < net.pairs.size(); ++p) {
    const Index i = net.pairs[p][0], j = net.pairs[p][1];
    l(i, i) += weight[p], l(j, j) += weight[p];
    l(i, j) -= weight[p], l(j, i) -= weight[p];
  }
  for (std::size_t g = 0; g < net.ground.size(); ++g)
    l(net.ground[g], net.ground[g]) += weight[net.pairs.size() + g];
  return l;
}

TEST(Coarsening, SumsAreTheGalerkinProductAndTranslationsAreKept) {
  const Net<double> net = make_net<double>(14);
  NetGraph fine;
  fine.num_rows = net.size();
  fine.pairs = net.pairs;
  fine.strength = net.stiffness;
  fine.pinned.assign(net.x.size(), 0);
  fine.pinned[0] = fine.pinned[100] = 1;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0.5, 2);
  for (int level = 0; level < 2; ++level) {
    const Coarsening<double> c = coarsen<double>(fine);
    ASSERT_GT(c.coarse.num_rows, 0);
    EXPECT_LT(c.coarse.num_rows, fine.num_rows / 4);
    const Eigen::MatrixXd p = dense_interpolation(c.prolong, c.coarse.num_rows);
    EXPECT_EQ(dense_interpolation(c.restrict_, fine.num_rows), p.transpose());
    for (Index i = 0; i < fine.num_rows; ++i) EXPECT_NEAR(p.row(i).sum(), fine.pinned[i] ? 0 : 1, 1e-12) << i;
    // Any weights of the fine elements, through the sums, against P^T L P.
    std::vector<double> weight(fine.pairs.size() + fine.ground.size());
    for (double& w : weight) w = uniform(random);
    std::vector<double> coarse_weight(c.coarse.pairs.size() + c.coarse.ground.size(), 0);
    ASSERT_EQ(c.elements.num_rows(), Index(coarse_weight.size()));
    for (Index e = 0; e < c.elements.num_rows(); ++e)
      for (Index k = c.elements.begin[e]; k < c.elements.begin[e + 1]; ++k)
        coarse_weight[e] += c.elements.weight[k] * weight[c.elements.index[k]];
    const Eigen::MatrixXd galerkin = p.transpose() * laplacian(fine, weight) * p;
    EXPECT_LT(plenum_test::largest_difference(laplacian(c.coarse, coarse_weight), galerkin), 1e-11);
    fine = c.coarse;
  }
}

/// Matrix, hierarchy and right-hand side of a step of a net with pinned corners.
template <class T>
struct Problem {
  Net<T> net;
  BlockMatrix<T, BlockKind::spring> matrix;
  std::vector<char> pinned;
  std::vector<T> base, b;
  NetMultigrid<T> multigrid;
  explicit Problem(Net<T> made)
      : net(std::move(made)), matrix(net.size(), net.pairs), pinned(net.x.size(), 0) {
    pinned.front() = pinned.back() = 1;
    base.assign(net.x.size(), net.mass);
    assemble(net, T(1) / 60, matrix);
    multigrid = NetMultigrid<T>(net.size(), net.pairs, net.stiffness, pinned);
    multigrid.update(matrix, std::span<const T>(base));
    b = random_vector<T>(3 * net.x.size(), 5);
    filter(b);
  }
  void filter(std::span<T> v) const {
    for (std::size_t i = 0; i < pinned.size(); ++i)
      if (pinned[i])
        for (int c = 0; c < 3; ++c) v[3 * i + c] = 0;
  }
  template <class P>
  SolveReport solve(const P& precondition, std::vector<T>& x, double tolerance = 1e-4) const {
    PcgWorkspace<T> work;
    x.assign(b.size(), 0);
    return pcg<T>(matrix, precondition, b, x, work, {.relative_tolerance = tolerance, .max_iterations = 3000},
                  [&](std::span<T> v) { filter(v); });
  }
};

TYPED_TEST(MultigridOf, CycleIsSymmetricPositiveDefinite) {
  using T = TypeParam;
  const Problem<T> problem(make_net<T>(9, T(0.2)));
  const auto n = Eigen::Index(problem.b.size());
  ASSERT_GE(problem.multigrid.num_levels(), 2);
  Eigen::MatrixXd v(n, n);
  std::vector<T> r(problem.b.size(), 0), z(r);
  for (Eigen::Index k = 0; k < n; ++k) {
    r[std::size_t(k)] = 1;
    const double rz = problem.multigrid.apply_dot(r, z);
    EXPECT_NEAR(rz, z[std::size_t(k)], 1e-6 * std::abs(rz));
    r[std::size_t(k)] = 0;
    for (Eigen::Index i = 0; i < n; ++i) v(i, k) = double(z[std::size_t(i)]);
  }
  const double rounding = 100 * double(std::numeric_limits<T>::epsilon()) * plenum_test::largest(v);
  EXPECT_LT(plenum_test::largest_difference(v, v.transpose()), rounding);
  const Eigen::MatrixXd symmetric = (v + v.transpose()) / 2;
  EXPECT_GT(plenum_test::eigenvalues(symmetric)[0], 0);
}

TYPED_TEST(MultigridOf, IterationsHardlyGrowWithTheNetWhereBlockJacobiGrowsWithItsSide) {
  using T = TypeParam;
  std::vector<int> multigrid, jacobi;
  for (const Index side : {20, 40, 80}) {
    const Problem<T> problem(make_net<T>(side, T(0.05)));
    BlockJacobiPreconditioner<T> block_jacobi;
    block_jacobi.update(problem.matrix);
    std::vector<T> x, y;
    const SolveReport by_multigrid = problem.solve(problem.multigrid, x),
                      by_jacobi = problem.solve(block_jacobi, y);
    EXPECT_TRUE(by_multigrid.converged());
    EXPECT_TRUE(by_jacobi.converged());
    multigrid.push_back(by_multigrid.iterations);
    jacobi.push_back(by_jacobi.iterations);
    EXPECT_LT(problem.multigrid.operator_complexity(), 1.4);
  }
  EXPECT_LE(multigrid[2], 20);
  EXPECT_LE(multigrid[2], multigrid[0] + 8);
  EXPECT_GE(jacobi[2], 4 * multigrid[2]);
}

TYPED_TEST(MultigridOf, SolvesNetsInAnyNumbering) {
  using T = TypeParam;
  auto shuffled = make_net<T>(40, T(0.05));
  shuffle(shuffled);
  const Problem<T> problem(std::move(shuffled));
  std::vector<T> x;
  const SolveReport report = problem.solve(problem.multigrid, x);
  EXPECT_TRUE(report.converged());
  EXPECT_LE(report.iterations, 22);
}

TYPED_TEST(MultigridOf, CopesWithRopesPiecesAndLooseParticles) {
  using T = TypeParam;
  Net<T> net;  // a rope of 200, a second one of 3, a pair, and two particles of no spring
  net.side = 0;
  net.mass = T(0.01);
  for (Index i = 0; i < 207; ++i) net.x.push_back({T(i), T(0.1) * T(i % 3), 0});
  const auto tie = [&](Index i, Index j) {
    net.pairs.push_back({i, j});
    net.stiffness.push_back(T(1e4));
    net.rest_length.push_back(T(0.9));
  };
  for (Index i = 0; i + 1 < 200; ++i) tie(i, i + 1);
  tie(200, 201), tie(201, 202), tie(203, 204);
  const auto n = Index(net.x.size());
  BlockMatrix<T, BlockKind::spring> matrix(n, net.pairs);
  assemble(net, T(1) / 60, matrix);
  NetMultigrid<T> multigrid(n, net.pairs, net.stiffness);
  const std::vector<T> base(net.x.size(), net.mass);
  multigrid.update(matrix, std::span<const T>(base));
  const auto b = random_vector<T>(3 * net.x.size(), 5);
  std::vector<T> x(b.size(), 0);
  PcgWorkspace<T> work;
  const SolveReport report = pcg<T>(matrix, multigrid, b, x, work, {.relative_tolerance = 1e-4});
  EXPECT_TRUE(report.converged());
  EXPECT_LE(report.iterations, 40);
  const Eigen::VectorXd exact = plenum_test::solve_symmetric(dense(matrix), to_eigen(b));
  EXPECT_LT((dense(matrix) * (to_eigen(x) - exact)).norm(), 1.1e-4 * to_eigen(b).norm());

  // No springs at all: the cycle is the inverse of the diagonal to within its damping.
  BlockMatrix<T, BlockKind::spring> loose(3, {});
  for (Index i = 0; i < 3; ++i) loose.set_diagonal(i, Matrix3<T>(Matrix3<T>::Identity() * T(2)));
  NetMultigrid<T> none(3, {}, {});
  const std::vector<T> two(3, T(2));
  none.update(loose, std::span<const T>(two));
  std::vector<T> r(9, T(1)), z(9);
  none(r, z);
  for (const T v : z) EXPECT_NEAR(v, 0.5, 0.1);
}

TYPED_TEST(MultigridOf, TakesMatricesOfSymmetricBlocks) {
  using T = TypeParam;
  const Problem<T> problem(make_net<T>(20, T(0.1)));
  BlockMatrix<T, BlockKind::symmetric> copy(problem.net.size(), problem.net.pairs);
  for (Index i = 0; i < copy.num_rows(); ++i) copy.set_diagonal(i, problem.matrix.diagonal(i));
  for (std::size_t s = 0; s < copy.pattern().num_slots(); ++s)
    if (copy.pattern().slot_pairs()[s] >= 0) copy.set_slot_block(s, problem.matrix.slot_block(s));
  NetMultigrid<T> multigrid(copy.num_rows(), problem.net.pairs, problem.net.stiffness, problem.pinned);
  multigrid.update(copy, std::span<const T>(problem.base));
  std::vector<T> z(problem.b.size()), expected(z);
  multigrid(problem.b, z);
  problem.multigrid(problem.b, expected);
  double worst = 0, size = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    worst = std::max(worst, std::abs(double(z[i]) - double(expected[i])));
    size = std::max(size, std::abs(double(expected[i])));
  }
  EXPECT_LT(worst, 1e4 * double(std::numeric_limits<T>::epsilon()) * size);
}

TYPED_TEST(MultigridOf, SameBitsForEveryThreadCountAndNoAllocations) {
  using T = TypeParam;
  Problem<T> problem(make_net<T>(61, T(0.1)));
  std::vector<T> x(problem.b.size());
  PcgWorkspace<T> work;
  const auto solve = [&] {
    problem.multigrid.update(problem.matrix, std::span<const T>(problem.base));
    std::fill(x.begin(), x.end(), T(0));
    pcg<T>(problem.matrix, problem.multigrid, problem.b, x, work, {.relative_tolerance = 1e-4},
           [&](std::span<T> v) { problem.filter(v); });
  };
  const auto hash = [&] {
    solve();
    Hasher hasher;
    hasher.add(x.data(), x.size() * sizeof(T));
    return hasher.digest();
  };
  const Hash128 expected = hash();
  for (const int threads : {1, 2, 3, 5, 8}) with_threads(threads, [&] { EXPECT_EQ(hash(), expected); });
  EXPECT_EQ(plenum_test::count_allocations(solve), 0);
}

}}  // namespace plenum
