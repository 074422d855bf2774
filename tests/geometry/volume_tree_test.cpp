#include "plenum/geometry/volumes/volume_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "geometry/reference.h"
#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/bvh.h"
#include "plenum/geometry/collide/gjk.h"
#include "plenum/geometry/shapes.h"

namespace plenum { namespace {

using test::Point;
using Pairs = std::set<std::pair<Index, Index>>;

TreeShape shape_of(const TriangleMesh& mesh, bool top_down) {
  const auto boxes = triangle_boxes(mesh.x, mesh.triangles);
  return top_down ? top_down_tree(boxes) : bottom_up_tree(boxes);
}

/// Two rings that cross, and the same bent and dented.
struct Scene {
  TriangleMesh a = torus_mesh(1, Real(0.3), 20, 9), b = torus_mesh(1, Real(0.3), 18, 8);
  Scene() {
    for (Vec3& p : b.x)
      p = Vec3(p[0] + Real(0.45), Real(0.6) * p[2] - Real(0.8) * p[1], Real(0.8) * p[2] + Real(0.6) * p[1]);
  }
  void deform() {
    for (TriangleMesh* mesh : {&a, &b})
      for (std::size_t i = 0; i < mesh->x.size(); ++i) {
        Vec3& p = mesh->x[i];
        const Real angle = Real(1.2) * p[0];
        p = Vec3(p[0], std::cos(angle) * p[1] - std::sin(angle) * p[2],
                 std::sin(angle) * p[1] + std::cos(angle) * p[2]) +
            Real(0.03) * test::random_point<21>(i, 1);
      }
  }
};

/// Pairs of triangles with a point in common, by GJK in double for each two.
Pairs intersections(const TriangleMesh& a, const TriangleMesh& b) {
  const auto support = [](const TriangleMesh& mesh, std::size_t t) {
    return [&mesh, t](const Point& d) {
      Point best = mesh.x[mesh.triangles[t][0]].cast<double>();
      for (int k = 1; k < 3; ++k)
        if (const Point p = mesh.x[mesh.triangles[t][k]].cast<double>(); p.dot(d) > best.dot(d)) best = p;
      return best;
    };
  };
  Pairs pairs;
  for (std::size_t s = 0; s < a.triangles.size(); ++s)
    for (std::size_t t = 0; t < b.triangles.size(); ++t)
      if (gjk<double>(support(a, s), support(b, t), Point(1, 0, 0)).overlap) pairs.emplace(s, t);
  return pairs;
}

template <class Volume>
Pairs leaf_overlaps(const VolumeTree<Volume>& a, const VolumeTree<Volume>& b) {
  Pairs pairs;
  for (const auto& na : a.nodes())
    for (const auto& nb : b.nodes())
      if (na.is_leaf() && nb.is_leaf() && overlap(na.volume, nb.volume))
        pairs.emplace(na.triangle(), nb.triangle());
  return pairs;
}

template <class Volume>
Pairs found_pairs(const VolumeTree<Volume>& a, const VolumeTree<Volume>& b) {
  Pairs pairs;
  std::vector<Index2> stack;
  overlapping_pairs(a, b, stack, [&](Index s, Index t) { ASSERT_TRUE(pairs.emplace(s, t).second); });
  return pairs;
}

template <class Volume>
void expect_sound(const VolumeTree<Volume>& tree, const TriangleMesh& mesh) {
  const auto nodes = tree.nodes();
  ASSERT_EQ(nodes.size(), 2 * mesh.triangles.size() - 1);
  std::vector<std::set<Index>> below(nodes.size());
  for (std::size_t n = nodes.size(); n-- > 0;) {
    if (nodes[n].is_leaf()) {
      below[n].insert(nodes[n].triangle());
    } else {
      ASSERT_GT(nodes[n].link, Index(n));
      for (Index child : {nodes[n].link, nodes[n].link + 1})
        for (Index t : below[child]) ASSERT_TRUE(below[n].insert(t).second);
    }
    for (Index t : below[n])
      for (Index v : mesh.triangles[t]) ASSERT_TRUE(contains(nodes[n].volume, mesh.x[v]));
  }
  ASSERT_EQ(below[0].size(), mesh.triangles.size());
}

template <class Volume>
struct VolumeTreeOf : testing::Test {};
using Kinds = testing::Types<Aabb, Sphere, Obb, Kdop<14>, Kdop<18>, Kdop<26>>;
TYPED_TEST_SUITE(VolumeTreeOf, Kinds);

TYPED_TEST(VolumeTreeOf, FindsThePairsOfExhaustionBeforeAndAfterRefit) {
  const auto expect_pairs = [](const auto& a, const auto& b, const Pairs& exact) {
    const Pairs found = found_pairs(a, b), leaves = leaf_overlaps(a, b);
    EXPECT_TRUE(std::includes(found.begin(), found.end(), exact.begin(), exact.end()));
    EXPECT_TRUE(std::includes(leaves.begin(), leaves.end(), found.begin(), found.end()));
    // A box or k-DOP holds those of its children; a sphere or oriented box holds their triangles alone.
    if (!std::is_same_v<TypeParam, Sphere> && !std::is_same_v<TypeParam, Obb>) {
      EXPECT_EQ(found, leaves);
    }
    return found;
  };
  Scene scene;
  const Pairs exact = intersections(scene.a, scene.b);
  ASSERT_GT(exact.size(), 50u);
  const TriangleMesh a = scene.a, b = scene.b;
  scene.deform();
  const Pairs exact_deformed = intersections(scene.a, scene.b);
  ASSERT_GT(exact_deformed.size(), 50u);
  ASSERT_NE(exact, exact_deformed);
  for (const bool top_down : {true, false}) {
    VolumeTree<TypeParam> ta(a.x, a.triangles, shape_of(a, top_down));
    VolumeTree<TypeParam> tb(b.x, b.triangles, shape_of(b, top_down));
    expect_sound(ta, a);
    expect_sound(tb, b);
    expect_pairs(ta, tb, exact);
    ta.refit(scene.a.x, scene.a.triangles);
    tb.refit(scene.b.x, scene.b.triangles);
    expect_sound(ta, scene.a);
    // After merging, volumes hold those of their children, whatever their kind.
    EXPECT_EQ(expect_pairs(ta, tb, exact_deformed), leaf_overlaps(ta, tb));
  }
}

TYPED_TEST(VolumeTreeOf, HasTheSameBitsWithAnyNumberOfThreads) {
  Scene scene;
  const TriangleMesh before = scene.a;
  scene.deform();
  for (const bool top_down : {true, false}) {
    std::vector<VolumeTree<TypeParam>> trees;
    for (const int threads : {1, 2, 3, 5})
      with_threads(threads, [&] {
        for (const bool moved : {false, true}) {
          trees.emplace_back(before.x, before.triangles, shape_of(before, top_down));
          if (moved) trees.back().refit(scene.a.x, scene.a.triangles);
        }
      });
    for (std::size_t k = 2; k < trees.size(); ++k)
      for (std::size_t n = 0; n < trees[k].nodes().size(); ++n) {
        const auto &a = trees[k].nodes()[n], &b = trees[k % 2].nodes()[n];
        ASSERT_EQ(a.link, b.link);
        ASSERT_EQ(std::memcmp(&a.volume, &b.volume, sizeof a.volume), 0);
      }
  }
}

TYPED_TEST(VolumeTreeOf, HoldsOneTriangle) {
  TriangleMesh mesh{{Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(0, 1, 0)}, {Index3(0, 1, 2)}};
  const VolumeTree<TypeParam> tree(mesh.x, mesh.triangles, shape_of(mesh, false));
  expect_sound(tree, mesh);
  EXPECT_EQ(found_pairs(tree, tree), (Pairs{{0, 0}}));
}

TEST(VolumeTree, RefusesWhatIsNoMesh) {
  TriangleMesh mesh = icosphere_mesh(1, 0);
  const TreeShape shape = shape_of(mesh, true);
  EXPECT_THROW(VolumeTree<Aabb>(mesh.x, {}, {}), Error);
  EXPECT_THROW(VolumeTree<Aabb>(mesh.x, mesh.triangles, TreeShape(3, -1)), Error);
  mesh.triangles[3][1] = 12;
  EXPECT_THROW(VolumeTree<Aabb>(mesh.x, mesh.triangles, shape), Error);
  mesh.triangles[3][1] = 0;
  mesh.x[5][2] = std::numeric_limits<Real>::quiet_NaN();
  EXPECT_THROW(VolumeTree<Aabb>(mesh.x, mesh.triangles, shape), Error);
}

/// Sets of items below the nodes of a tree.
std::set<std::set<Index>> groups_of(const TreeShape& shape) {
  std::vector<std::set<Index>> below(shape.size());
  for (std::size_t n = shape.size(); n-- > 0;) {
    if (shape[n] < 0)
      below[n] = {~shape[n]};
    else
      for (Index child : {shape[n], shape[n] + 1}) below[n].insert(below[child].begin(), below[child].end());
  }
  return {below.begin(), below.end()};
}

/// Where every cluster sees all others, joining mutual nearest gives the tree of joining the nearest two of
/// all, one after the other, since the box of a union is no smaller than those of its parts (Walter et al.
/// 2008, "Fast agglomerative clustering for rendering").
TEST(TreeShape, FromBelowIsGreedyClusteringWhereTheSearchIsWide) {
  std::vector<Aabb> boxes;
  std::map<std::set<Index>, Aabb> clusters;
  for (Index i = 0; i < 80; ++i) {
    Aabb box;
    box.extend(test::random_point<22>(i, 1, 1));
    box.extend(box.low + Real(0.1) * test::random_point<22>(i, 1, 2));
    boxes.push_back(box);
    clusters[{i}] = box;
  }
  std::set<std::set<Index>> expected;
  for (const auto& [items, box] : clusters) expected.insert(items);
  while (clusters.size() > 1) {
    double least = std::numeric_limits<double>::infinity();
    std::set<Index> first, second;
    for (auto a = clusters.begin(); a != clusters.end(); ++a)
      for (auto b = std::next(a); b != clusters.end(); ++b) {
        const Vector3<double> s =
            (a->second.high.cwiseMax(b->second.high) - a->second.low.cwiseMin(b->second.low)).cast<double>();
        if (const double area = s[0] * s[1] + s[1] * s[2] + s[2] * s[0]; area < least)
          least = area, first = a->first, second = b->first;
      }
    Aabb box = clusters[first];
    box.extend(clusters[second]);
    clusters.erase(first), clusters.erase(second);
    first.insert(second.begin(), second.end());
    expected.insert(first);
    clusters[first] = box;
  }
  EXPECT_EQ(groups_of(bottom_up_tree(boxes, 80)), expected);
}

int depth_of(const TreeShape& shape) {
  std::vector<int> depth(shape.size(), 0);
  for (std::size_t n = 0; n < shape.size(); ++n)
    if (shape[n] >= 0) depth[shape[n]] = depth[shape[n] + 1] = depth[n] + 1;
  return *std::max_element(depth.begin(), depth.end());
}

TEST(TreeShape, EqualBoxesMakeABalancedTree) {
  const std::vector<Aabb> same(1024, Aabb{Vec3::Ones(), 2 * Vec3::Ones()});
  EXPECT_EQ(depth_of(bottom_up_tree(same)), 10);
  EXPECT_EQ(depth_of(top_down_tree(same)), 10);
  std::vector<Aabb> grid;  // in which all neighbours are as near
  for (int i = 0; i < 1024; ++i) {
    const Vec3 low(Real(i % 32), 0, Real(i / 32));
    grid.push_back({low, low + Vec3::Ones()});
  }
  EXPECT_LE(depth_of(bottom_up_tree(grid)), 20);
}

}}  // namespace plenum
