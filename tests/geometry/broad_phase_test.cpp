// Broad phases against brute force, in scenes that change: the same pairs in the same order, whatever the
// method, its past and the number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "plenum/base/parallel.h"
#include "plenum/base/random.h"
#include "plenum/geometry/broad/box_grid.h"
#include "plenum/geometry/broad/box_tree.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

static_assert(BroadPhase<SweepAndPrune> && BroadPhase<BoxTree> && BroadPhase<BoxGrid>);

struct Boxes {
  std::vector<Aabb> boxes;
  std::vector<std::uint8_t> active;
  BoxItems items() const { return {boxes, active}; }
};

/// Boxes of very different sizes that drift, jump, stop and start; some are infinite, some touch exactly.
Boxes scene(std::size_t n, std::uint64_t seed, int step) {
  Boxes s;
  for (std::size_t i = 0; i < n; ++i) {
    const Vec4 place = uniform4(seed, i, 0), size = uniform4(seed, i, 1), way = uniform4(seed, i, 2);
    Vec3 centre = Real(20) * place.head<3>();
    // A third stand still, a third drift, a third jump now and then.
    if (i % 3 == 1) centre += Real(0.05) * Real(step) * (way.head<3>() - Vec3::Constant(Real(0.5)));
    if (i % 3 == 2) centre += Real(5) * uniform4(seed, i, 10 + std::uint64_t(step) / 7).head<3>();
    Vec3 half = Vec3::Constant(Real(0.2)) + Real(0.8) * size.head<3>();
    if (i % 50 == 7) half = Vec3(30, Real(0.1), 30);
    if (i % 17 == 3) {  // on a lattice, so that boxes share faces, edges and corners
      centre = centre.array().floor();
      half.setConstant(Real(0.5));
    }
    s.boxes.push_back({centre - half, centre + half});
    if (i % 97 == 11)
      s.boxes.back() = {Vec3::Constant(-std::numeric_limits<Real>::infinity()),
                        Vec3::Constant(std::numeric_limits<Real>::infinity())};
    s.active.push_back(i % 3 == 0 ? 0 : (i + std::size_t(step) / 5) % 4 != 0);
  }
  return s;
}

constexpr auto is_wanted = [](Index i, Index j) { return (i + j) % 5 != 0; };

std::vector<Index2> by_brute_force(const Boxes& s) {
  std::vector<Index2> pairs;
  for (Index i = 0; i < Index(s.boxes.size()); ++i)
    for (Index j = i + 1; j < Index(s.boxes.size()); ++j)
      if ((s.active[i] || s.active[j]) && s.boxes[i].overlaps(s.boxes[j]) && is_wanted(i, j))
        pairs.push_back({i, j});
  return pairs;
}

template <class Method>
class BroadPhases : public testing::Test {};
using Methods = testing::Types<SweepAndPrune, BoxTree, BoxGrid>;
TYPED_TEST_SUITE(BroadPhases, Methods);

TYPED_TEST(BroadPhases, FindThePairsOfBruteForce) {
  for (const std::size_t n : {0, 1, 2, 40, 500})
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
      TypeParam method;
      std::vector<Index2> pairs;
      for (int step = 0; step < 40; ++step) {
        const Boxes s = scene(n, seed, step);
        with_threads(1 + step % 3, [&] { method.find(s.items(), is_wanted, pairs); });
        const std::vector<Index2> expected = by_brute_force(s);
        ASSERT_GE(expected.size(), n == 500 ? 100u : 0u);
        ASSERT_EQ(pairs, expected) << n << " boxes, seed " << seed << ", step " << step;
      }
      // The past leaves no trace, nor does another number of items.
      const Boxes other = scene(n + 13, seed, 3);
      method.find(other.items(), is_wanted, pairs);
      ASSERT_EQ(pairs, by_brute_force(other));
    }
}

TYPED_TEST(BroadPhases, AgreeWithBruteForceOnAnyNumberOfThreads) {
  // Enough of them for many blocks of work.
  std::vector<Boxes> scenes;
  std::vector<std::vector<Index2>> expected;
  for (int step = 0; step < 3; ++step) {
    scenes.push_back(scene(1500, 7, 7 * step));
    expected.push_back(by_brute_force(scenes.back()));
  }
  for (int threads = 1; threads <= 8; ++threads) {
    TypeParam method;
    std::vector<Index2> pairs;
    for (std::size_t step = 0; step < scenes.size(); ++step) {
      with_threads(threads, [&] { method.find(scenes[step].items(), is_wanted, pairs); });
      ASSERT_EQ(pairs, expected[step]) << threads << " threads, step " << step;
    }
  }
}

TYPED_TEST(BroadPhases, AllocateNothingAtRest) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  with_threads(1, [&] {
    TypeParam method;
    std::vector<Index2> pairs;
    Boxes s = scene(300, 1, 1);
    for (std::size_t i = 0; i < s.boxes.size(); ++i) s.active[i] = i % 2;
    method.find(s.items(), is_wanted, pairs);
    method.find(s.items(), is_wanted, pairs);
    EXPECT_EQ(plenum_test::count_allocations([&] {
                for (int k = 0; k < 5; ++k) method.find(s.items(), is_wanted, pairs);
              }),
              0);
  });
}

/// Boxes 0.1 wide in a cube of 10.
std::vector<Aabb> scattered(std::size_t n, std::uint64_t seed) {
  std::vector<Aabb> boxes;
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3 at = Real(10) * uniform4(seed, i, 0).head<3>();
    boxes.push_back({at, at + Vec3::Constant(Real(0.1))});
  }
  return boxes;
}

TEST(BoxTree, IsBuiltAnewOnceItsBoxesHaveGrown) {
  const std::size_t n = 3000;
  const std::vector<std::uint8_t> active(n, 1);
  const auto all = [](Index, Index) { return true; };
  BoxTree tree;
  std::vector<Index2> pairs;
  std::vector<Aabb> boxes = scattered(n, 1);
  tree.find({boxes, active}, all, pairs);
  const std::vector<Index> order(tree.hierarchy().order().begin(), tree.hierarchy().order().end());
  const double built = tree.hierarchy().cost();
  // All a little further: the same tree.
  for (Aabb& box : boxes) box = {box.low + Vec3::Constant(Real(0.05)), box.high + Vec3::Constant(Real(0.05))};
  tree.find({boxes, active}, all, pairs);
  EXPECT_TRUE(std::ranges::equal(order, tree.hierarchy().order()));
  EXPECT_NEAR(tree.hierarchy().cost(), built, 0.01 * built);
  // All elsewhere: fitted, it would be worn out, but it is as good as new.
  boxes = scattered(n, 2);
  Bvh worn = tree.hierarchy();
  worn.refit([&](Index i) { return boxes[i]; });
  EXPECT_GT(worn.cost(), 10 * BoxTree::worn_out * built);
  with_threads(3, [&] { tree.find({boxes, active}, all, pairs); });
  BoxTree fresh;
  std::vector<Index2> expected;
  fresh.find({boxes, active}, all, expected);
  EXPECT_EQ(pairs, expected);
  EXPECT_EQ(tree.hierarchy().cost(), fresh.hierarchy().cost());
  EXPECT_TRUE(std::ranges::equal(tree.hierarchy().order(), fresh.hierarchy().order()));
  // Some elsewhere, step by step: never worse than worn out.
  for (std::uint64_t step = 3; step < 40; ++step) {
    const std::vector<Aabb> others = scattered(n, step);
    for (std::size_t i = step % 20; i < n; i += 20) boxes[i] = others[i];
    tree.find({boxes, active}, all, pairs);
    EXPECT_LE(tree.hierarchy().cost(), 1.1 * BoxTree::worn_out * built) << step;
  }
}

TEST(BoxTree, AnswersQueriesBetweenSteps) {
  BoxTree tree;
  std::vector<Index2> pairs;
  for (int step = 0; step < 20; ++step) {
    const Boxes s = scene(200, 5, step);
    tree.find(s.items(), is_wanted, pairs);
    const Aabb box{Vec3(5, 5, 5), Vec3(8, 9, 7)};
    std::vector<std::uint8_t> met(s.boxes.size(), 0);
    tree.overlapping(box, [&](Index i) { ++met[std::size_t(i)]; });
    for (std::size_t i = 0; i < s.boxes.size(); ++i) {
      EXPECT_LE(met[i], 1);
      if (s.boxes[i].overlaps(box)) {
        EXPECT_EQ(met[i], 1) << i;
      }
    }
  }
}

// What there is no room for is not collected, on any number of threads; and is no matter to the next call.
TEST(BoxTree, StopsWhereThereIsNoMoreRoom) {
  const Boxes s = scene(3000, 5, 0);
  std::vector<Index2> all, pairs;
  BoxTree().find(s.items(), is_wanted, all);
  ASSERT_GT(all.size(), 100U);
  for (const int threads : {1, 3, 8})
    with_threads(threads, [&] {
      BoxTree tree;
      EXPECT_FALSE(tree.find_at_most(100, s.items(), is_wanted, pairs));
      EXPECT_TRUE(pairs.empty());
      EXPECT_TRUE(tree.find_at_most(1'000'000, s.items(), is_wanted, pairs));
      EXPECT_EQ(pairs, all);
    });
  // Of 200 million pairs no more than a part.
  std::vector<Aabb> boxes(20000, Aabb{Vec3::Zero(), Vec3::Ones()});
  const std::vector<std::uint8_t> active(boxes.size(), 1);
  EXPECT_FALSE(BoxTree().find_at_most(
      1000, {boxes, active}, [](Index, Index) { return true; }, pairs));
  EXPECT_LT(pairs.capacity(), 1'000'000U);
}

}}  // namespace plenum
