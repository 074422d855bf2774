#include "plenum/geometry/bvh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "geometry/reference.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/shapes.h"

namespace plenum { namespace {

std::vector<Aabb> random_boxes(std::size_t n) {
  std::vector<Aabb> boxes(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3 p = test::random_point<5>(i, 1, 1);
    boxes[i].extend(p);
    boxes[i].extend(p + Real(0.1) * test::random_point<5>(i, 1, 2));
  }
  return boxes;
}

void expect_sound(const Bvh& bvh, std::span<const Aabb> boxes) {
  std::set<Index> seen(bvh.order().begin(), bvh.order().end());
  ASSERT_EQ(seen.size(), boxes.size());
  const auto nodes = bvh.nodes();
  std::vector<int> depth(nodes.size(), 0);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Aabb box{nodes[n].low, nodes[n].high};
    ASSERT_LE(depth[n], Bvh::max_depth);
    const auto holds = [&](const Aabb& inner) { return box.contains(inner.low) && box.contains(inner.high); };
    if (nodes[n].count > 0) {
      for (Index i = 0; i < nodes[n].count; ++i) ASSERT_TRUE(holds(boxes[bvh.order()[nodes[n].first + i]]));
    } else {
      for (int side = 0; side < 2; ++side) {
        const Index child = nodes[n].first + side;
        ASSERT_GT(child, Index(n));
        ASSERT_TRUE(holds({nodes[child].low, nodes[child].high}));
        depth[child] = depth[n] + 1;
      }
    }
  }
}

TEST(Bvh, HoldsEveryItemOnceInsideItsBoxes) {
  for (const std::size_t n : {1u, 2u, 4u, 5u, 33u, 5000u}) {
    const auto boxes = random_boxes(n);
    expect_sound(Bvh(boxes), boxes);
  }
  EXPECT_TRUE(Bvh(std::vector<Aabb>{}).empty());
}

TEST(Bvh, SurvivesCoincidentAndLopsidedItems) {
  std::vector<Aabb> same(1000, Aabb{Vec3::Ones(), Vec3::Ones()});
  expect_sound(Bvh(same), same);
  // Places in geometric progression tempt the heuristic to split off one item at a time.
  std::vector<Aabb> lopsided;
  Real at = 1;
  for (int i = 0; i < 100; ++i, at *= Real(0.5)) lopsided.push_back({Vec3(at, 0, 0), Vec3(at, at, at)});
  for (int i = 0; i < 3; ++i) lopsided.insert(lopsided.end(), lopsided.begin(), lopsided.end());
  expect_sound(Bvh(lopsided), lopsided);
}

/// Boxes of three kinds: spread evenly, crowded towards a corner, and many in one place.
std::vector<Aabb> uneven_boxes(std::size_t n, int kind) {
  std::vector<Aabb> boxes = random_boxes(n);
  for (std::size_t i = 0; i < n; ++i) {
    Aabb& box = boxes[i];
    if (kind == 1) {
      const Vec3 at = box.low.cwiseProduct(box.low).cwiseProduct(box.low), size = Real(0.1) * box.size();
      box = {at, at + size.cwiseProduct(at.cwiseAbs())};
    }
    if (kind == 2 && i % 3 != 0) box = {Vec3::Ones(), Vec3::Ones()};
  }
  return boxes;
}

TEST(Bvh, TheSameNodesForAnyNumberOfThreads) {
  Bvh::Scratch scratch;  // whatever it held before
  for (const std::size_t n : {20000u, 1u, 1023u, 1024u, 1025u, 5050u})
    for (int kind = 0; kind < 3; ++kind) {
      const auto boxes = uneven_boxes(n, kind);
      const Bvh one(boxes, 2);
      expect_sound(one, boxes);
      for (int threads = 1; threads <= 8; ++threads) {
        Bvh bvh;
        with_threads(threads, [&] { bvh.rebuild(boxes, 2, scratch); });
        ASSERT_TRUE(std::ranges::equal(bvh.order(), one.order())) << n << " on " << threads;
        ASSERT_EQ(bvh.nodes().size(), one.nodes().size());
        for (std::size_t k = 0; k < one.nodes().size(); ++k) {
          const Bvh::Node &a = bvh.nodes()[k], &b = one.nodes()[k];
          ASSERT_TRUE(a.low == b.low && a.high == b.high && a.first == b.first && a.count == b.count)
              << k << " of " << n << " on " << threads;
        }
      }
    }
}

double half_area(const Aabb& box) {
  const Vector3<double> s = (box.high - box.low).cast<double>();
  return s[0] * s[1] + s[1] * s[2] + s[2] * s[0];
}

/// Cost of the tree whose cuts are found by trying all, one after the other, by the definition.
double cost_by_definition(std::span<const Aabb> boxes, std::vector<Index> items, Index leaf_size) {
  Aabb all, centres;
  for (const Index i : items) all.extend(boxes[i]), centres.extend(boxes[i].centre());
  const auto count = static_cast<Index>(items.size());
  if (count <= leaf_size) return half_area(all) * count;
  double best = std::numeric_limits<double>::infinity();
  std::vector<Index> best_left, best_right;
  for (int axis = 0; axis < 3; ++axis)
    for (int b = 1; b < Bvh::num_bins; ++b) {
      std::vector<Index> left, right;
      Aabb of_left, of_right;
      const Real scale = Real(Bvh::num_bins) / (centres.high[axis] - centres.low[axis]);
      for (const Index i : items) {
        const bool goes_left = (boxes[i].centre()[axis] - centres.low[axis]) * scale < Real(b);
        (goes_left ? left : right).push_back(i);
        (goes_left ? of_left : of_right).extend(boxes[i]);
      }
      if (left.empty() || right.empty()) continue;
      const double cost =
          half_area(of_left) * double(left.size()) + half_area(of_right) * double(right.size());
      if (cost < best) best = cost, best_left = left, best_right = right;
    }
  return half_area(all) + cost_by_definition(boxes, best_left, leaf_size) +
         cost_by_definition(boxes, best_right, leaf_size);
}

TEST(Bvh, CutsWhereTheHeuristicSays) {
  const auto boxes = random_boxes(5000);  // large sets among them
  std::vector<Index> items(boxes.size());
  std::iota(items.begin(), items.end(), Index{0});
  const double expected = cost_by_definition(boxes, items, 2);
  const Bvh bvh(boxes, 2);
  EXPECT_NEAR(bvh.cost(), expected, 1e-9 * expected);
}

TEST(Bvh, CostIsTheSumOfAreas) {
  const std::vector<Aabb> boxes = {{Vec3::Zero(), Vec3(1, 2, 3)}, {Vec3(9, 0, 0), Vec3(10, 1, 1)}};
  EXPECT_EQ(Bvh(boxes, 2).cost(), 2 * (10 * 2 + 2 * 3 + 3 * 10));
  EXPECT_EQ(Bvh(boxes, 1).cost(), 10 * 2 + 2 * 3 + 3 * 10 + 11 + 3);
  EXPECT_EQ(Bvh().cost(), 0);
}

TEST(Bvh, OverlapsAgreeWithExhaustion) {
  const auto boxes = random_boxes(3000);
  const Bvh bvh(boxes);
  for (int q = 0; q < 200; ++q) {
    Aabb query;
    query.extend(test::random_point<5>(q, 1, 7));
    query.extend(test::random_point<5>(q, 1, 8));
    if (q % 2) query = {query.low, query.low + Real(0.1) * query.size()};
    std::set<Index> expected, found;
    for (std::size_t i = 0; i < boxes.size(); ++i)
      if (boxes[i].overlaps(query)) expected.insert(Index(i));
    bvh.overlapping(query, [&](Index item) { ASSERT_TRUE(found.insert(item).second); });
    // A leaf is visited whole: all that overlap, and perhaps neighbours.
    for (const Index item : expected) ASSERT_TRUE(found.contains(item));
    ASSERT_LE(found.size(), expected.size() * 4 + 64);
  }
}

TEST(Bvh, RefitFollowsMovedItemsAndAllThreadsAgree) {
  auto boxes = random_boxes(4000);
  Bvh bvh(boxes), other(boxes);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Vec3 shift = Real(0.2) * test::random_point<5>(i, 1, 9);
    boxes[i] = {boxes[i].low + shift, boxes[i].high + shift};
  }
  const auto box_of = [&](Index i) { return boxes[i]; };
  bvh.refit(box_of);
  expect_sound(bvh, boxes);
  with_threads(3, [&] { other.refit(box_of); });
  for (std::size_t n = 0; n < bvh.nodes().size(); ++n) {
    ASSERT_EQ(bvh.nodes()[n].low, other.nodes()[n].low);
    ASSERT_EQ(bvh.nodes()[n].high, other.nodes()[n].high);
  }
}

TEST(Bvh, NearestAgreesWithExhaustion) {
  std::vector<Vec3> x;
  std::vector<Aabb> boxes;
  for (int i = 0; i < 2000; ++i) {
    x.push_back(test::random_point<5>(i, 1, 3));
    boxes.push_back({x.back(), x.back()});
  }
  const Bvh bvh(boxes);
  for (int q = 0; q < 2000; ++q) {
    const Vec3 p = test::random_point<5>(q, 2, 4);
    Real expected = std::numeric_limits<Real>::infinity();
    for (const Vec3& y : x) expected = std::min(expected, (p - y).squaredNorm());
    Real best = std::numeric_limits<Real>::infinity();
    const Index slot = bvh.nearest(p, best, [&](Index s) { return (p - x[bvh.order()[s]]).squaredNorm(); });
    ASSERT_GE(slot, 0);
    ASSERT_EQ(best, expected);
    best = expected;  // nothing is nearer than the nearest
    ASSERT_EQ(bvh.nearest(p, best, [&](Index s) { return (p - x[bvh.order()[s]]).squaredNorm(); }), -1);
  }
}

}}  // namespace plenum
