// Features that may come near each other, their distances, and where surfaces cross: against plain means.
#include "plenum/geometry/near_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "geometry/reference.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/crossings.h"
#include "plenum/geometry/feature_distance.h"
#include "plenum/geometry/shapes.h"

namespace plenum { namespace {

using detail::V3;
using test::Point;

Vec3 point(std::uint64_t i, Real range, std::uint64_t stream = 1) {
  return test::random_point<4711>(i, range, stream);
}
V3<double> v3(const Point& p) {
  return {p.x(), p.y(), p.z()};
}
Point at(const detail::FeaturePoint<double>& f, const std::array<Point, 4>& x) {
  return f.weight[0] * x[0] + f.weight[1] * x[1] + f.weight[2] * x[2] + f.weight[3] * x[3];
}

/// The least distance of two segments over their ends, and their lines where these are nearest within both.
double segments_distance(const Point& a, const Point& b, const Point& c, const Point& d) {
  double least = std::min({test::segment_distance(a, c, d), test::segment_distance(b, c, d),
                           test::segment_distance(c, a, b), test::segment_distance(d, a, b)});
  const Point u = b - a, v = d - c, n = u.cross(v);
  if (n.norm() < 1e-9) return least;
  const double s = (c - a).cross(v).dot(n) / n.squaredNorm(), t = (c - a).cross(u).dot(n) / n.squaredNorm();
  if (s >= 0 && s <= 1 && t >= 0 && t <= 1) least = std::min(least, (a + s * u - c - t * v).norm());
  return least;
}

/// Four points, some of them in one plane, on one line or in one place.
std::array<Point, 4> places(std::uint64_t k) {
  std::array<Point, 4> x;
  for (std::uint64_t i = 0; i < 4; ++i) x[i] = point(4 * k + i, 1).cast<double>();
  if (k % 5 == 1) x[3] = 0.5 * (x[1] + x[2]);
  if (k % 5 == 2) x[3] = x[2] + (x[1] - x[0]);
  if (k % 5 == 3) x[3] = x[2];
  if (k % 5 == 4)
    for (Point& p : x) p.y() = 0;
  return x;
}

TEST(FeatureDistance, IsThatOfAllParts) {
  for (std::uint64_t k = 0; k < 5000; ++k) {
    const std::array<Point, 4> x = places(k);
    const V3<double> all[4] = {v3(x[0]), v3(x[1]), v3(x[2]), v3(x[3])};
    const auto face = detail::vertex_triangle<double>(all);
    EXPECT_NEAR(std::sqrt(dot(face.apart, face.apart)), test::triangle_distance(x[0], x[1], x[2], x[3]), 1e-5)
        << k;
    if ((x[3] - x[2]).norm() == 0) continue;
    const auto edges = detail::edge_edge<double>(all);
    EXPECT_NEAR(std::sqrt(dot(edges.apart, edges.apart)), segments_distance(x[0], x[1], x[2], x[3]), 1e-5)
        << k;
    for (const auto* f : {&face, &edges}) {
      EXPECT_LT((at(*f, x) - Point(f->apart.x, f->apart.y, f->apart.z)).norm(), 1e-12);
      EXPECT_NEAR(f->weight[0] + f->weight[1] + f->weight[2] + f->weight[3], 0, 1e-12);
    }
  }
}

/// Two crumpled sheets and a string of edges.
struct Crumpled {
  std::vector<Vec3> x;
  std::vector<Index3> triangles;
  Crumpled() {
    for (int sheet = 0; sheet < 2; ++sheet) {
      const auto first = Index(x.size());
      const TriangleMesh mesh = grid_mesh(Vec2(1, 1), 9, 7);
      for (std::size_t i = 0; i < mesh.x.size(); ++i)
        x.push_back(mesh.x[i] + Vec3(0, Real(0.1) * Real(sheet), 0) +
                    point(i, Real(0.08), 9 + std::uint64_t(sheet)));
      for (const Index3& t : mesh.triangles) triangles.push_back((t.array() + first).matrix());
    }
    const auto first = Index(x.size());
    for (Index k = 0; k < 12; ++k) {
      x.push_back(Vec3(Real(0.08) * Real(k) - Real(0.5), 0, 0) + point(std::uint64_t(k), Real(0.1), 12));
      if (k > 0) triangles.push_back({first + k - 1, first + k, first + k});
    }
  }
};

using Pair = std::array<std::vector<Index>, 2>;
Pair pair_of(std::vector<Index> a, std::vector<Index> b, bool edges) {
  std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
  if (edges && b < a) std::swap(a, b);
  return {a, b};
}

TEST(NearFeatures, FindEachPairOfFeaturesWhoseBoxesOverlapOnce) {
  const Crumpled s;
  std::vector<Aabb> boxes;
  for (const Vec3& x : s.x) boxes.push_back(Aabb{x, x}.grown(Real(0.01)));
  NearFeatures near;
  near.build(s.x.size(), s.triangles);
  FeaturePairs found;
  near.find(
      boxes, [](FeaturePairs&) {}, found);

  const auto overlap = [&](const std::vector<Index>& a, const std::vector<Index>& b) {
    Aabb of_a, of_b;
    for (const Index i : a) of_a.extend(boxes[std::size_t(i)]);
    for (const Index i : b) of_b.extend(boxes[std::size_t(i)]);
    return of_a.overlaps(of_b);
  };
  const auto share = [](const std::vector<Index>& a, const std::vector<Index>& b) {
    return std::any_of(a.begin(), a.end(),
                       [&](Index i) { return std::find(b.begin(), b.end(), i) != b.end(); });
  };
  std::set<Pair> faces, edges;
  std::vector<std::vector<Index>> all_edges, all_faces;
  for (const Index2& e : unique_edges(s.triangles))
    if (e[0] != e[1]) all_edges.push_back({e[0], e[1]});
  for (const Index3& t : s.triangles)
    if (t[1] != t[2]) all_faces.push_back({t[0], t[1], t[2]});
  for (std::size_t i = 0; i < all_edges.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (!share(all_edges[i], all_edges[j]) && overlap(all_edges[i], all_edges[j]))
        edges.insert(pair_of(all_edges[i], all_edges[j], true));
  for (Index v = 0; v < Index(s.x.size()); ++v)
    for (const std::vector<Index>& f : all_faces)
      if (!share({v}, f) && overlap({v}, f)) faces.insert(pair_of({v}, f, false));

  std::set<Pair> found_faces, found_edges;
  for (const Index4& p : found.vertex_face) found_faces.insert(pair_of({p[0]}, {p[1], p[2], p[3]}, false));
  for (const Index4& p : found.edge_edge) found_edges.insert(pair_of({p[0], p[1]}, {p[2], p[3]}, true));
  EXPECT_EQ(found_faces, faces);
  EXPECT_EQ(found_edges, edges);
  EXPECT_EQ(found.vertex_face.size(), faces.size());
  EXPECT_EQ(found.edge_edge.size(), edges.size());
  EXPECT_GT(faces.size(), 300U);
  EXPECT_GT(edges.size(), 1000U);
}

// With room for fewer than there are it stops soon after, and says so; whoever's threads they are.
TEST(NearFeatures, StopWhereThereIsNoMoreRoom) {
  const Crumpled s;
  std::vector<Aabb> boxes;
  for (const Vec3& x : s.x) boxes.push_back(Aabb{x, x}.grown(10));
  NearFeatures near;
  near.build(s.x.size(), s.triangles);
  FeaturePairs all, found;
  EXPECT_TRUE(near.find(
      boxes, [](FeaturePairs&) {}, all));
  EXPECT_TRUE(near.find(
      boxes, [](FeaturePairs&) {}, found, all.size()));
  EXPECT_EQ(found.size(), all.size());
  EXPECT_FALSE(near.find(
      boxes, [](FeaturePairs&) {}, found, all.size() - 1));
  EXPECT_FALSE(near.find(
      boxes, [](FeaturePairs&) {}, found, 1));
  // Of 75 million pairs a part is looked at.
  const TriangleMesh sheet = grid_mesh(Vec2(1, 1), 60, 60);
  boxes.assign(sheet.x.size(), Aabb{Vec3::Zero(), Vec3::Ones()});
  near.build(sheet.x.size(), sheet.triangles);
  EXPECT_FALSE(near.find(
      boxes, [](FeaturePairs&) {}, found, 1));
  EXPECT_LT(found.size(), 5'000'000U);
  for (const int threads : {1, 3, 8}) {
    FeaturePairs again;
    with_threads(threads, [&] {
      EXPECT_FALSE(near.find(
          boxes, [](FeaturePairs&) {}, again, 1));
    });
    EXPECT_EQ(again.vertex_face, found.vertex_face) << threads;
    EXPECT_EQ(again.edge_edge, found.edge_edge) << threads;
  }
  // Nor are the pairs of patches without bound: of 300 x 300 cells there would be 63 million.
  const TriangleMesh large = grid_mesh(Vec2(1, 1), 300, 300);
  boxes.assign(large.x.size(), Aabb{Vec3::Zero(), Vec3::Ones()});
  near.build(large.x.size(), large.triangles);
  EXPECT_FALSE(near.find(
      boxes, [](FeaturePairs&) {}, found));
  EXPECT_EQ(found.size(), 0U);
}

// Where few boxes are new, what is found for them is what is found for all.
TEST(NearFeatures, OfChangedVerticesAlone) {
  const Crumpled s;
  std::vector<Aabb> boxes;
  for (const Vec3& x : s.x) boxes.push_back(Aabb{x, x}.grown(Real(0.01)));
  NearFeatures features;
  features.build(s.x.size(), s.triangles);
  FeaturePairs all;
  const auto every = [](FeaturePairs&) {};
  features.find(boxes, every, all);
  std::vector<std::uint8_t> changed(s.x.size(), 0);
  for (std::size_t i = 0; i < s.x.size(); i += 37)
    changed[i] = 1, boxes[i].low -= Vec3::Constant(Real(0.05)), boxes[i].high += Vec3::Constant(Real(0.02));
  const auto has_changed = [&](const Index4& pair) {
    return std::any_of(pair.begin(), pair.end(), [&](Index v) { return changed[std::size_t(v)] != 0; });
  };
  std::erase_if(all.vertex_face, has_changed), std::erase_if(all.edge_edge, has_changed);
  features.find(boxes, changed, every, all);
  NearFeatures anew;
  anew.build(s.x.size(), s.triangles);
  FeaturePairs expected;
  anew.find(boxes, every, expected);
  const auto sorted = [](std::vector<Index4> pairs) {
    std::vector<std::array<Index, 4>> out;
    for (const Index4& p : pairs) out.push_back({p[0], p[1], p[2], p[3]});
    std::sort(out.begin(), out.end());
    return out;
  };
  EXPECT_EQ(sorted(all.vertex_face), sorted(expected.vertex_face));
  EXPECT_EQ(sorted(all.edge_edge), sorted(expected.edge_edge));
  EXPECT_GT(expected.size(), 1000U);
}

TEST(Crossings, AreWhereAnEdgePassesThroughATriangle) {
  const Vec3 a(0, 0, 0), b(1, 0, 0), c(0, 0, 1);
  EXPECT_TRUE(crosses({Real(0.2), -1, Real(0.2)}, {Real(0.2), 1, Real(0.2)}, a, b, c));
  EXPECT_TRUE(crosses({Real(0.2), 1, Real(0.2)}, {Real(0.2), -1, Real(0.2)}, a, b, c));
  EXPECT_FALSE(crosses({Real(0.8), -1, Real(0.8)}, {Real(0.8), 1, Real(0.8)}, a, b, c));
  EXPECT_FALSE(crosses({Real(0.2), Real(0.1), Real(0.2)}, {Real(0.2), 1, Real(0.2)}, a, b, c));
  EXPECT_FALSE(crosses({-1, 0, Real(0.2)}, {2, 0, Real(0.2)}, a, b, c)) << "in its plane";
  // A hair above, far out: no more than a rounding of the coordinates.
  const Real far = 1024, up = std::nextafter(far, 2 * far);
  const Vec3 p(far, far, far), q(far + 1, far, far), r(far, far, far + 1);
  const Vec3 low(far + Real(0.25), far - 1, far + Real(0.25));
  EXPECT_FALSE(crosses({low.x(), up, low.z()}, {low.x(), far + 1, low.z()}, p, q, r));
  EXPECT_TRUE(crosses(low, {low.x(), up, low.z()}, p, q, r));
}

TEST(Crossings, AreThoseOfAllEdgesWithAllTriangles) {
  const Crumpled s;
  std::vector<Index2> edges = unique_edges(s.triangles);
  std::erase_if(edges, [](const Index2& e) { return e[0] == e[1]; });
  std::vector<Index2> expected;
  for (std::size_t e = 0; e < edges.size(); ++e)
    for (std::size_t t = 0; t < s.triangles.size(); ++t) {
      const Index3& of = s.triangles[t];
      bool shares = of[1] == of[2];
      for (const Index v : of) shares |= v == edges[e][0] || v == edges[e][1];
      const auto x = [&](Index i) { return s.x[std::size_t(i)]; };
      // By the parameters of the meeting point, in double.
      if (shares) continue;
      const Point o = x(of[0]).cast<double>(), u = x(of[1]).cast<double>() - o,
                  v = x(of[2]).cast<double>() - o;
      const Point p = x(edges[e][0]).cast<double>() - o, d = x(edges[e][1]).cast<double>() - o - p;
      Matrix3<double> m;
      m << u, v, -d;
      const Point y = m.fullPivLu().solve(p);
      if (y[0] >= 0 && y[1] >= 0 && y[0] + y[1] <= 1 && y[2] >= 0 && y[2] <= 1)
        expected.push_back({Index(e), Index(t)});
    }
  EXPECT_GT(expected.size(), 20U);
  EXPECT_EQ(crossings(s.x, edges, s.triangles), expected);
}

}}  // namespace plenum
