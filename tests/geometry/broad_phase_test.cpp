// Broad phases against brute force, in scenes that change: the same pairs in the same order, whatever the
// method, its past and the number of threads.
#include <gtest/gtest.h>

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

}}  // namespace plenum
