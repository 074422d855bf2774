#include "plenum/linear/block_matrix.h"

#include <gtest/gtest.h>

#include <limits>

#include "linear/cases.h"
#include "plenum/base/error.h"
#include "plenum/base/hash.h"
#include "plenum/linear/jacobi.h"
#include "support/algebra.h"

namespace plenum { namespace {

template <class T>
class BlockMatrixOf : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(BlockMatrixOf, Scalars);

/// Grid (panels without gathers), shuffled grid (gathers) and a handful of rows (one partial slice).
template <class T>
std::vector<Net<T>> nets() {
  std::vector<Net<T>> result = {make_net<T>(13, T(0.2)), make_net<T>(13, T(0.2)), make_net<T>(2, T(0.2))};
  shuffle(result[1]);
  return result;
}

TYPED_TEST(BlockMatrixOf, EveryPairHasASlotInBothItsRows) {
  for (const auto& net : nets<TypeParam>()) {
    const BlockPattern pattern(net.size(), net.pairs, 8);
    std::vector<int> taken(pattern.num_slots(), 0);
    for (std::size_t p = 0; p < net.pairs.size(); ++p)
      for (int side = 0; side < 2; ++side) {
        const std::size_t slot = pattern.slot(Index(p), side);
        EXPECT_EQ(taken[slot]++, 0);
        EXPECT_EQ(pattern.slot_pairs()[slot], Index(p));
        EXPECT_EQ(pattern.columns()[slot], net.pairs[p][1 - side]);
        // The slot's panel belongs to the slice of its row, its lane to the row.
        const Index row = net.pairs[p][side];
        EXPECT_GE(slot / 8, pattern.first_panel(row / 8));
        EXPECT_LT(slot / 8, pattern.first_panel(row / 8 + 1));
        EXPECT_EQ(slot % 8, std::size_t(row % 8));
      }
    for (std::size_t s = 0; s < taken.size(); ++s) {
      EXPECT_EQ(pattern.slot_pairs()[s] >= 0, taken[s] == 1);
      EXPECT_GE(pattern.columns()[s], 0);
      EXPECT_LT(pattern.columns()[s], net.size());
    }
  }
}

TYPED_TEST(BlockMatrixOf, GridsNeedFewEmptySlotsAndFewGathers) {
  const auto net = make_net<TypeParam>(100);
  const BlockPattern pattern(net.size(), net.pairs, 16);
  std::size_t gathered = 0;
  for (std::size_t p = 0; p < pattern.num_panels(); ++p) gathered += pattern.first_column(p) < 0;
  EXPECT_LT(double(pattern.num_slots()), 1.03 * 2 * double(net.pairs.size()));
  EXPECT_LT(double(gathered), 0.05 * double(pattern.num_panels()));
}

TYPED_TEST(BlockMatrixOf, BadPairsAreRefused) {
  const auto refused = [](Index i, Index j) {
    const Index2 pair{i, j};
    try {
      BlockPattern(3, std::span(&pair, 1), 8);
    } catch (const Error& e) {
      return std::string(e.what()).find("two different rows") != std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(refused(0, 3));
  EXPECT_TRUE(refused(-1, 2));
  EXPECT_TRUE(refused(1, 1));
  EXPECT_FALSE(refused(1, 2));
}

/// Matrix-vector products against the dense sum of the blocks that were set.
template <class T, BlockKind kind>
void expect_products_agree_with_dense_blocks(const Net<T>& net) {
  std::vector<Index2> pairs = net.pairs;
  pairs.push_back({pairs[0][1], pairs[0][0]});  // the same two rows again, the other way round
  BlockMatrix<T, kind> matrix(net.size(), pairs);
  const std::size_t n = 3 * static_cast<std::size_t>(net.size());
  Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(n, n);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (Index i = 0; i < net.size(); ++i) {
    Matrix3<T> d;
    for (int k = 0; k < 9; ++k) d(k / 3, k % 3) = T(uniform(random));
    d = (d + d.transpose()).eval();
    matrix.set_diagonal(i, d);
    expected.block<3, 3>(3 * i, 3 * i) = d.template cast<double>();
  }
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    typename BlockMatrix<T, kind>::Block block;
    for (T& b : block) b = T(uniform(random));
    matrix.set_pair_block(Index(p), block);
    EXPECT_EQ(matrix.pair_block(Index(p)), block);
    Eigen::Matrix3d m;
    if constexpr (kind == BlockKind::general) {
      m << block[0], block[1], block[2], block[3], block[4], block[5], block[6], block[7], block[8];
    } else if constexpr (kind == BlockKind::symmetric) {
      m << block[0], block[3], block[4], block[3], block[1], block[5], block[4], block[5], block[2];
    } else {
      const Eigen::Vector3d w(block[0], block[1], block[2]);
      m = -(double(block[3]) * Eigen::Matrix3d::Identity() + w * w.transpose());
    }
    expected.block<3, 3>(3 * pairs[p][0], 3 * pairs[p][1]) += m;
    expected.block<3, 3>(3 * pairs[p][1], 3 * pairs[p][0]) += m.transpose();
  }
  const auto x = random_vector<T>(n, 7), b = random_vector<T>(n, 8);
  std::vector<T> y(n), z(n), r(n);
  matrix(x, y);
  const double xy = matrix.apply_dot(x, z);
  const double rr = matrix.residual(b, x, r);
  const Eigen::VectorXd reference = expected * to_eigen(x);
  // A row sums about 40 products of numbers of order one.
  const double tolerance = 40 * 4 * double(std::numeric_limits<T>::epsilon());
  EXPECT_LT(plenum_test::largest_difference(to_eigen(y), reference), tolerance);
  EXPECT_LT(plenum_test::largest_difference(to_eigen(r), to_eigen(b) - reference), tolerance);
  EXPECT_EQ(y, z);
  EXPECT_NEAR(xy, to_eigen(x).dot(to_eigen(y)), 1e-12 * double(n));
  EXPECT_NEAR(rr, to_eigen(r).squaredNorm(), 1e-12 * double(n));
}

TYPED_TEST(BlockMatrixOf, ProductsAgreeWithDenseBlocks) {
  for (const auto& net : nets<TypeParam>()) {
    expect_products_agree_with_dense_blocks<TypeParam, BlockKind::general>(net);
    expect_products_agree_with_dense_blocks<TypeParam, BlockKind::symmetric>(net);
    expect_products_agree_with_dense_blocks<TypeParam, BlockKind::spring>(net);
  }
}

/// A block of n^3 points with neighbours to 26 sides, of which a part is missing: what is left at one
/// distance in the numbering may be packed with others here and in a panel of its own there.
template <class T>
Net<T> gappy_block(Index n, double missing, unsigned seed) {
  Net<T> net;
  net.side = 1;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto at = [&](Index i, Index j, Index k) { return (i * n + j) * n + k; };
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j)
      for (Index k = 0; k < n; ++k) {
        net.x.push_back({T(i), T(j), T(k)});
        for (Index d = 0; d < 27; ++d) {
          const Index a = i + d / 9 - 1, b = j + d / 3 % 3 - 1, c = k + d % 3 - 1;
          if (a < 0 || b < 0 || c < 0 || a >= n || b >= n || c >= n) continue;
          if (at(i, j, k) < at(a, b, c) && uniform(random) >= missing)
            net.pairs.push_back({at(i, j, k), at(a, b, c)});
        }
      }
  return net;
}

TYPED_TEST(BlockMatrixOf, BlocksOfAnyNetAreThereOnce) {
  // K 1 = 0 for springs that each take and give the same, and K is symmetric; on nets as wide as the slices,
  // whole or with gaps.
  using T = TypeParam;
  std::size_t mirrored = 0;
  for (Index n = 3; n <= 12; ++n)
    for (const double missing : {0.0, 0.02, 0.1, 0.3}) {
      const Net<T> net = gappy_block<T>(n, missing, static_cast<unsigned>(n));
      const auto rows = static_cast<Index>(net.x.size());
      BlockMatrix<T, BlockKind::spring> matrix(rows, net.pairs);
      const std::vector<T> base(net.x.size(), T(0));
      matrix.assemble_springs(std::span<const Vector3<T>>(net.x), {}, std::span<const T>(base), {},
                              [&matrix](std::size_t slot, T d0, T d1, T d2, T, T, T) -> SpringTerm<T> {
                                const T there = matrix.pattern().slot_pairs()[slot] >= 0 ? T(1) : T(0);
                                return {there, there * d0, there * d1, there * d2, 0, 0, 0};
                              });
      for (std::size_t p = 0; p < matrix.pattern().num_panels(); ++p)
        mirrored += matrix.pattern().place(p).mirrored;
      const std::vector<T> one(3 * net.x.size(), T(1));
      std::vector<T> y(one.size());
      matrix(one, y);
      // Sums of at most 26 blocks of small whole numbers are exact.
      for (const T value : y) ASSERT_EQ(value, T(0)) << n << " " << missing;
      const auto u = random_vector<T>(one.size(), 1), v = random_vector<T>(one.size(), 2);
      const double uv = [&] {
        matrix(u, y);
        return to_eigen(v).dot(to_eigen(y));
      }();
      const double vu = [&] {
        matrix(v, y);
        return to_eigen(u).dot(to_eigen(y));
      }();
      EXPECT_NEAR(uv, vu, 100 * double(std::numeric_limits<T>::epsilon()) * double(one.size()))
          << n << " " << missing;
    }
  EXPECT_GT(mirrored, 0u);
}

TYPED_TEST(BlockMatrixOf, GridsStoreEveryBlockOnceAndNetsInAnyOrderTwice) {
  auto net = make_net<TypeParam>(100);
  const auto once = double(net.pairs.size()), rows = double(net.size());
  const BlockMatrix<TypeParam, BlockKind::spring> grid(net.size(), net.pairs);
  EXPECT_LT(double(grid.values().size()) / 4, 1.1 * once + rows);
  shuffle(net);
  const BlockMatrix<TypeParam, BlockKind::spring> shuffled(net.size(), net.pairs);
  EXPECT_GE(double(shuffled.values().size()) / 4, 2 * once);
}

TYPED_TEST(BlockMatrixOf, SmoothingAgreesWithDenseBlocks) {
  using T = TypeParam;
  for (const auto& net : nets<T>()) {
    BlockMatrix<T, BlockKind::spring> matrix(net.size(), net.pairs);
    assemble(net, T(1) / 60, matrix);
    const std::size_t n = 3 * net.x.size();
    const T damping = T(0.7);
    BlockJacobiPreconditioner<T> jacobi;
    jacobi.update(matrix, damping);
    const auto b = random_vector<T>(n, 3), guess = random_vector<T>(n, 4);
    const Eigen::MatrixXd a = dense(matrix);
    Eigen::MatrixXd d = Eigen::MatrixXd::Zero(Eigen::Index(n), Eigen::Index(n));
    for (Eigen::Index i = 0; i < net.size(); ++i) d.block<3, 3>(3 * i, 3 * i) = a.block<3, 3>(3 * i, 3 * i);
    const auto planes_of = [&](const std::vector<T>& v) {
      AlignedVector<T> planes(3 * matrix.plane(), T(0));
      for (std::size_t k = 0; k < n; ++k) planes[k % 3 * matrix.plane() + k / 3] = v[k];
      return planes;
    };
    const double size = to_eigen(b).norm(), condition = a.norm() / d.diagonal().minCoeff();
    const double tolerance = 20 * condition * double(std::numeric_limits<T>::epsilon()) * size;
    std::vector<T> y(n);
    const double by = matrix.jacobi_sweep(jacobi.values(), damping, b, planes_of(guess), y);
    const Eigen::VectorXd sweep =
        to_eigen(guess) +
        double(damping) * plenum_test::solve_symmetric(d, to_eigen(b) - a * to_eigen(guess));
    EXPECT_LT((to_eigen(y) - sweep).norm(), tolerance);
    EXPECT_NEAR(by, to_eigen(b).dot(to_eigen(y)), 1e-12 * double(n) * size * to_eigen(y).norm());
    AlignedVector<T> first(3 * matrix.plane(), T(0));
    jacobi.apply_to_planes(b, matrix.plane(), first);
    const Eigen::VectorXd start = double(damping) * plenum_test::solve_symmetric(d, to_eigen(b));
    for (std::size_t k = 0; k < n; ++k)
      EXPECT_NEAR(first[k % 3 * matrix.plane() + k / 3], start[Eigen::Index(k)], tolerance);
    matrix.residual_after_jacobi(b, damping, first, y);
    EXPECT_LT((to_eigen(y) - (to_eigen(b) - a * start)).norm(), tolerance);
  }
}

TYPED_TEST(BlockMatrixOf, SpringAssemblyAgreesWithTheTangentWrittenDown) {
  using T = TypeParam;
  for (const auto& net : nets<T>()) {
    BlockMatrix<T, BlockKind::spring> matrix(net.size(), net.pairs);
    std::vector<Vector3<T>> force;
    const T h = T(1) / 60;
    assemble(net, h, matrix, &force);
    Eigen::MatrixXd expected = double(net.mass) * Eigen::MatrixXd::Identity(3 * net.size(), 3 * net.size());
    Eigen::VectorXd f = Eigen::VectorXd::Zero(3 * net.size());
    for (std::size_t p = 0; p < net.pairs.size(); ++p) {
      const Index i = net.pairs[p][0], j = net.pairs[p][1];
      const Eigen::Vector3d d = (net.x[j] - net.x[i]).template cast<double>();
      const Eigen::Matrix3d k =
          double(h) * double(h) *
          spring_tangent<double>(d, double(net.stiffness[p]), double(net.rest_length[p]));
      const Eigen::Vector3d pull = double(net.stiffness[p]) * (1 - double(net.rest_length[p]) / d.norm()) * d;
      expected.block<3, 3>(3 * i, 3 * i) += k;
      expected.block<3, 3>(3 * j, 3 * j) += k;
      expected.block<3, 3>(3 * i, 3 * j) -= k;
      expected.block<3, 3>(3 * j, 3 * i) -= k;
      f.segment<3>(3 * i) += pull;
      f.segment<3>(3 * j) -= pull;
    }
    const double eps = double(std::numeric_limits<T>::epsilon());
    EXPECT_LT(plenum_test::largest_difference(dense(matrix), expected),
              30 * eps * plenum_test::largest(expected));
    // Forces lose digits where l is near l0: the bound is that of k x.
    for (Index i = 0; i < net.size(); ++i)
      EXPECT_LT((force[i].template cast<double>() - f.segment<3>(3 * i)).norm(), 30 * eps * 5000 * 15);
  }
}

TYPED_TEST(BlockMatrixOf, SpringAssemblyPassesVelocitiesOfBothEnds) {
  using T = TypeParam;
  const auto net = make_net<T>(5);
  BlockMatrix<T, BlockKind::spring> matrix(net.size(), net.pairs);
  std::vector<Vector3<T>> v(net.x.size()), f(net.x.size());
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = {T(i), T(2 * i), T(i * i)};
  const std::vector<T> base(net.x.size(), T(1));
  const auto pairs = matrix.pattern().slot_pairs();
  matrix.assemble_springs(net.x, v, base, f, [&](std::size_t s, T, T, T, T v0, T v1, T v2) {
    const T on = pairs[s] < 0 ? T(0) : T(1);
    return SpringTerm<T>{0, 0, 0, 0, on * v0, on * v1, on * v2};
  });
  std::vector<Vector3<T>> expected(net.x.size(), Vector3<T>::Zero());
  for (const Index2& pair : net.pairs) {
    const Index i = pair[0], j = pair[1];
    expected[i] += v[j] - v[i];
    expected[j] += v[i] - v[j];
  }
  for (std::size_t i = 0; i < v.size(); ++i) EXPECT_EQ(f[i], expected[i]);  // small whole numbers: exact
}

TYPED_TEST(BlockMatrixOf, SameBitsForEveryThreadCount) {
  using T = TypeParam;
  const auto net = make_net<T>(61, T(0.2));
  const auto x = random_vector<T>(3 * net.x.size(), 9);
  const auto hash = [&] {
    BlockMatrix<T, BlockKind::spring> matrix(net.size(), net.pairs);
    std::vector<Vector3<T>> force;
    assemble(net, T(1) / 60, matrix, &force);
    std::vector<T> y(x.size());
    const double xy = matrix.apply_dot(x, y);
    Hasher hasher;
    hasher.add(matrix.values().data(), matrix.values().size_bytes());
    hasher.add(matrix.diagonal_values().data(), matrix.diagonal_values().size_bytes());
    hasher.add(force.data(), force.size() * sizeof force[0]);
    hasher.add(y.data(), y.size() * sizeof(T));
    hasher.add(&xy, sizeof xy);
    return hasher.digest();
  };
  const Hash128 expected = hash();
  for (const int threads : {1, 2, 3, 5, 8}) with_threads(threads, [&] { EXPECT_EQ(hash(), expected); });
}

}}  // namespace plenum
