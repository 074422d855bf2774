#include "plenum/geometry/convex_hull.h"

#include <gtest/gtest.h>

#include <map>
#include <numbers>
#include <set>

#include "collide/solids.h"
#include "plenum/base/error.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/triangle_distance.h"

namespace plenum { namespace {

using test::Dice;
using test::Point;

/// What every hull must satisfy, whatever its points.
void expect_hull_of(const ConvexHull& hull, const std::vector<Vec3>& points, const std::string& what) {
  SCOPED_TRACE(what);
  const double tolerance = 4 * convex_hull_tolerance(points);
  // Closed and of genus 0.
  ASSERT_EQ(hull.vertices.size() + hull.faces.size(), hull.edges.size() + 2);
  ASSERT_EQ(hull.corners.size(), 2 * hull.edges.size());
  // Vertices are input points.
  std::set<std::array<Real, 3>> given;
  for (const Vec3& p : points) given.insert({p[0], p[1], p[2]});
  for (const Vec3& v : hull.vertices) EXPECT_TRUE(given.count({v[0], v[1], v[2]}));
  // Nothing is outside.
  const auto height = [&](const ConvexHull::Face& f, const Vec3& x) {
    return f.normal.cast<double>().dot(x.cast<double>()) - static_cast<double>(f.offset);
  };
  for (const ConvexHull::Face& f : hull.faces) {
    EXPECT_NEAR(f.normal.norm(), 1, 1e-6);
    EXPECT_GE(f.count, 3);
    for (const Vec3& p : points) EXPECT_LE(height(f, p), tolerance);
    for (int k = 0; k < f.count; ++k)
      EXPECT_NEAR(height(f, hull.vertices[hull.corners[static_cast<std::size_t>(f.first + k)]]), 0,
                  tolerance);
  }
  // Every half-edge occurs once, with its faces on the sides that the edge names, and every edge is convex.
  std::map<std::pair<int, int>, int> face_of;
  for (std::size_t f = 0; f < hull.faces.size(); ++f)
    for (int k = 0; k < hull.faces[f].count; ++k) {
      const auto first = static_cast<int>(hull.faces[f].first);
      const int a = hull.corners[static_cast<std::size_t>(first + k)],
                b = hull.corners[static_cast<std::size_t>(first + (k + 1) % hull.faces[f].count)];
      EXPECT_TRUE(face_of.insert({{a, b}, static_cast<int>(f)}).second);
    }
  for (const ConvexHull::Edge& e : hull.edges) {
    ASSERT_EQ(face_of.at({e.a, e.b}), e.left);
    ASSERT_EQ(face_of.at({e.b, e.a}), e.right);
    for (const auto& [f, g] : {std::pair{e.left, e.right}, {e.right, e.left}}) {
      Point middle = Point::Zero();
      for (int k = 0; k < hull.faces[g].count; ++k)
        middle +=
            hull.vertices[hull.corners[static_cast<std::size_t>(hull.faces[g].first + k)]].cast<double>();
      middle /= hull.faces[g].count;
      EXPECT_LT(height(hull.faces[f], middle.cast<Real>()), 0.5 * tolerance);
    }
  }
  EXPECT_LT(hull_distance(hull, hull.centre).distance, tolerance);
}

std::vector<Vec3> cube_points(Real h, int per_edge) {
  std::vector<Vec3> x;
  for (int i = 0; i < per_edge; ++i)
    for (int j = 0; j < per_edge; ++j)
      for (int k = 0; k < per_edge; ++k)
        x.push_back(h * (Real(2) / Real(per_edge - 1) * Vec3(Real(i), Real(j), Real(k)) - Vec3::Ones()));
  return x;
}

TEST(ConvexHull, OfACubeFullOfPointsIsTheCube) {
  for (Real h : {Real(1e-3), Real(1), Real(1e3)}) {
    const auto x = cube_points(h, 5);
    const ConvexHull hull = convex_hull(x);
    expect_hull_of(hull, x, "cube");
    EXPECT_EQ(hull.vertices.size(), 8u);
    EXPECT_EQ(hull.faces.size(), 6u);
    EXPECT_EQ(hull.edges.size(), 12u);
    EXPECT_NEAR(hull.centre.norm(), 0, 1e-6 * static_cast<double>(h));
    const TriangleMesh mesh = triangulate(hull);
    EXPECT_NEAR(mass_properties(mesh.x, mesh.triangles).volume / std::pow(2.0 * static_cast<double>(h), 3), 1,
                1e-6);
  }
}

TEST(ConvexHull, TurnedAndMovedCubesStillHaveSixFaces) {
  Dice dice(1);
  for (int trial = 0; trial < 200; ++trial) {
    const Pose pose{Vec3(Real(dice.between(-9, 9)), Real(dice.between(-9, 9)), 3), dice.rotation()};
    auto x = cube_points(1, 3);
    for (Vec3& p : x) p = pose * p;
    const ConvexHull hull = convex_hull(x);
    expect_hull_of(hull, x, "turned cube " + std::to_string(trial));
    EXPECT_EQ(hull.vertices.size(), 8u);
    EXPECT_EQ(hull.faces.size(), 6u);
  }
}

TEST(ConvexHull, OfBoxMatchesTheBox) {
  const Vec3 h(1, 2, 3);
  const ConvexHull box = ConvexHull::box(h);
  expect_hull_of(box, box.vertices, "box");
  EXPECT_EQ(box.support(Vec3(1, -1, 1)), 5);
  const TriangleMesh mesh = triangulate(box);
  EXPECT_NEAR(mass_properties(mesh.x, mesh.triangles).volume, 48, 1e-9);
  Dice dice(2);
  for (int i = 0; i < 1000; ++i) {
    const Vec3 x = (5 * dice.uniform() * dice.direction()).cast<Real>();
    EXPECT_NEAR(hull_distance(box, x).distance, box_distance(x, h).distance, 1e-5);
  }
}

// Flat ones made far from their origin have planes that rounding tilts: what is on one face is before another
// that ends elsewhere.
TEST(ConvexHull, DistancesOfFlatHullsAreThoseOfTheirTriangles) {
  Dice dice(4);
  const auto real3 = [](const Point& p) { return Vec3(p.cast<Real>()); };
  for (int trial = 0; trial < 300; ++trial) {
    const double thickness = trial % 2 ? 0.002 : 0.02, far = trial % 3 == 0 ? 0 : trial % 3 == 1 ? 10 : 100;
    const Quat q = trial % 5 == 0 ? Quat(1, 0, 0, 0) : dice.rotation();
    const Point origin = far * dice.direction();
    std::vector<Vec3> x;
    for (int i = 0; i < 60; ++i)
      x.push_back(real3(q.cast<double>() * Point(dice.between(-1, 1), dice.between(-1, 1),
                                                 0.5 * thickness * dice.between(-1, 1)) +
                        origin));
    if (convex_hull_tolerance(x) > thickness / 4) continue;  // no volume
    const ConvexHull hull = convex_hull(x);
    const TriangleMesh mesh = triangulate(hull);
    const double tolerance = 4 * convex_hull_tolerance(x);
    const auto expect = [&](const Vec3& p, bool is_on) {
      // By all triangles: the nearest, and the solid angle of van Oosterom & Strackee 1983.
      double least = test::infinity, angle = 0;
      for (const Index3& t : mesh.triangles) {
        Point c[3];
        for (int k = 0; k < 3; ++k) c[k] = (mesh.x[std::size_t(t[k])] - p).cast<double>();
        least = std::min(least, closest_on_triangle<double>(Point::Zero(), c[0], c[1], c[2]).point.norm());
        const double la = c[0].norm(), lb = c[1].norm(), lc = c[2].norm();
        angle += 2 * std::atan2(c[0].dot(c[1].cross(c[2])), la * lb * lc + c[0].dot(c[1]) * lc +
                                                                c[1].dot(c[2]) * la + c[2].dot(c[0]) * lb);
      }
      const bool is_outside = angle < 2 * std::numbers::pi;
      const SignedDistance<Real> d = hull_distance(hull, p);
      // Points are up to the tolerance outside of planes, and the distance is known as well as these are.
      if (d.distance > 0)
        EXPECT_NEAR(double(d.distance), least, 2.5 * tolerance) << trial;
      else if (is_on)
        EXPECT_GT(double(d.distance), -2.5 * tolerance) << trial;
      else if (is_outside)
        EXPECT_LT(least, 2.5 * tolerance) << trial;
      EXPECT_NEAR(d.normal.norm(), 1, 1e-5) << trial;
    };
    for (const Vec3& v : hull.vertices) expect(v, true);
    for (int i = 0; i < 60; ++i) {
      // On the surface, and off it.
      const Index3& t = mesh.triangles[std::size_t(dice.below(int(mesh.triangles.size())))];
      double u = dice.uniform(), v = dice.uniform();
      if (u + v > 1) u = 1 - u, v = 1 - v;
      const Point a = mesh.x[std::size_t(t[0])].cast<double>(), b = mesh.x[std::size_t(t[1])].cast<double>(),
                  c = mesh.x[std::size_t(t[2])].cast<double>();
      const Point on = a + u * (b - a) + v * (c - a);
      expect(real3(on), true);
      expect(real3(on + dice.between(0, 0.1) * (b - a).cross(c - a).normalized()), false);
    }
  }
}

TEST(ConvexHull, SurvivesCloudsOfEveryKind) {
  Dice dice(3);
  const auto real3 = [](const Point& p) { return Vec3(p.cast<Real>()); };
  for (int trial = 0; trial < 1500; ++trial) {
    const double size = std::pow(10, dice.between(-3, 3));
    const Point offset = trial % 3 == 0 ? Point(10 * size * dice.direction()) : Point::Zero();
    std::vector<Vec3> x;
    const int n = 4 + dice.below(80);
    const int kind = trial % 8;
    const Quat q = dice.rotation();
    for (int i = 0; i < n; ++i) {
      Point p = dice.direction();
      switch (kind) {
        case 0:
          break;  // on a sphere
        case 1:
          p *= dice.uniform();
          break;  // in a ball
        case 2:
          p = Point(dice.below(3), dice.below(3), dice.below(3));
          break;  // on a grid: coplanar, double
        case 3:
          p = Point(std::cos(0.3 * i), (i % 2) * 0.5, std::sin(0.3 * i));
          break;  // a prism
        case 4:
          p[1] *= 1e-3;
          break;  // flat
        case 5:
          p[0] *= 1e3;
          break;  // a needle
        case 6:   // near-duplicates
          p = Point(dice.below(2), dice.below(2), dice.below(2)) +
              1e-7 * dice.between(0, 3) * dice.direction();
          break;
        default:  // faces bent by rounding
          p = Point(dice.below(5) - 2, dice.below(5) - 2, dice.below(5) - 2) + 3e-6 * dice.direction();
      }
      if (kind == 2 || kind == 3) p = q.cast<double>() * p;
      x.push_back(real3(offset + size * p));
    }
    ConvexHull hull;
    try {
      hull = convex_hull(x);
    } catch (const Error&) {
      // Refused only if the points have no volume: then some plane has all of them near.
      double thinnest = test::infinity;
      bool is_line = true;
      for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
          for (std::size_t k = 0; k < j; ++k) {
            const Point a = x[i].cast<double>(), b = x[j].cast<double>(), c = x[k].cast<double>();
            const Point m = (b - a).cross(c - a);
            if (!(m.norm() > 0)) continue;
            is_line = false;
            double low = 0, high = 0;
            for (const Vec3& p : x) {
              low = std::min(low, m.normalized().dot(p.cast<double>() - a));
              high = std::max(high, m.normalized().dot(p.cast<double>() - a));
            }
            thinnest = std::min(thinnest, high - low);
          }
      if (is_line) continue;
      EXPECT_LT(thinnest, 8 * convex_hull_tolerance(x)) << "refused a solid cloud, trial " << trial;
      continue;
    }
    expect_hull_of(hull, x, "cloud " + std::to_string(trial) + " of kind " + std::to_string(kind));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(ConvexHull, KeepsToTheLimitOfVertices) {
  Dice dice(4);
  std::vector<Vec3> x;
  for (int i = 0; i < 3000; ++i) x.push_back(dice.direction().cast<Real>());
  for (std::size_t limit : {8u, 32u, 256u}) {
    const ConvexHull hull = convex_hull(x, limit);
    EXPECT_LE(hull.vertices.size(), limit);
    EXPECT_GE(hull.vertices.size(), limit - 2);
    // Hexagons of the best covering of the unit sphere by n discs have area 4 pi / n, so a radius of
    // 2.2 / sqrt(n); farthest-first picks reach twice that (Gonzalez 1985). What a disc of radius r cuts off
    // is r^2 / 2 high.
    const double radius = 2 * 2.2 / std::sqrt(static_cast<double>(limit));
    for (const Vec3& p : x) EXPECT_LT(hull_distance(hull, p).distance, 0.5 * radius * radius);
  }
}

TEST(ConvexHull, RefusesWhatHasNoVolume) {
  EXPECT_THROW(convex_hull(std::vector<Vec3>{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}), Error);
  EXPECT_THROW(convex_hull(std::vector<Vec3>(10, Vec3(1, 2, 3))), Error);
  std::vector<Vec3> plane, line;
  for (int i = 0; i < 20; ++i) {
    plane.emplace_back(Real(i % 5), Real(i / 5), 2);
    line.emplace_back(Real(i), Real(2 * i), Real(3 * i));
  }
  EXPECT_THROW(convex_hull(plane), Error);
  EXPECT_THROW(convex_hull(line), Error);
  plane.push_back({0, 0, std::numeric_limits<Real>::quiet_NaN()});
  EXPECT_THROW(convex_hull(plane), Error);
  EXPECT_THROW(Shape(ConvexHullShape{}), Error);
}

TEST(ConvexHull, ShapeAnswersLikeTheBoxItIs) {
  const Vec3 h(Real(0.5), 1, Real(0.25));
  const Shape hull = ConvexHullShape{std::make_shared<const ConvexHull>(ConvexHull::box(h))},
              box = BoxShape{h};
  Dice dice(5);
  for (int i = 0; i < 300; ++i) {
    const Pose pose{dice.direction().cast<Real>(), dice.rotation()};
    const Aabb a = hull.bounds(pose), b = box.bounds(pose);
    EXPECT_NEAR((a.low - b.low).norm() + (a.high - b.high).norm(), 0, 1e-5);
    const Ray ray{(3 * dice.direction()).cast<Real>(), dice.direction().cast<Real>(), 0, 100};
    const auto hit = hull.intersect(pose, ray), expected = box.intersect(pose, ray);
    ASSERT_EQ(hit.has_value(), expected.has_value());
    if (hit) {
      EXPECT_NEAR(hit->t, expected->t, 1e-4);
      EXPECT_NEAR(hit->normal.dot(expected->normal), 1, 1e-4);
    }
    std::vector<Vec3> x = {ray.origin};
    Real d[2];
    hull.signed_distances(pose, x, std::span<Real>(d, 1));
    box.signed_distances(pose, x, std::span<Real>(d + 1, 1));
    EXPECT_NEAR(d[0], d[1], 1e-5);
  }
}

}}  // namespace plenum
