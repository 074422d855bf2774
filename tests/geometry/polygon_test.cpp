#include "plenum/geometry/polygon.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <numbers>

#include "plenum/base/random.h"
#include "plenum/geometry/adjacency.h"

namespace plenum { namespace {

using Corners = std::vector<Vec3>;

Corners turned(Corners corners) {
  const Mat3 r = Eigen::AngleAxis<Real>(Real(1.2), Vec3(1, 2, 3).normalized()).toRotationMatrix();
  for (Vec3& p : corners) p = r * p + Vec3(5, -3, 2);
  return corners;
}

/// n - 2 triangles, all facing the polygon's way, whose areas sum to the polygon's, and which use every side.
void expect_covers(const Corners& corners, double area) {
  PolygonTriangulator triangulator;
  const auto triangles = triangulator.triangulate(corners);
  ASSERT_EQ(triangles.size(), corners.size() - 2);
  Vector3<double> total = Vector3<double>::Zero();
  for (std::size_t i = 1; i + 1 < corners.size(); ++i)
    total +=
        0.5 * (corners[i] - corners[0]).cast<double>().cross((corners[i + 1] - corners[0]).cast<double>());
  const Vector3<double> normal = total.normalized();
  double sum = 0;
  for (const Index3& t : triangles) {
    const Vector3<double> a = corners[t[0]].cast<double>(), b = corners[t[1]].cast<double>(),
                          c = corners[t[2]].cast<double>();
    const double part = 0.5 * (b - a).cross(c - a).dot(normal);
    ASSERT_GE(part, -1e-6 * area);  // equal sums with no negative part: no overlap
    sum += part;
  }
  EXPECT_NEAR(sum, area, 2e-5 * area);
  // The boundary of the triangles is the polygon: n edges with one triangle, the n - 3 diagonals with two.
  const auto halves = sorted_half_edges(triangles);
  std::size_t single = 0;
  for (std::size_t i = 0; i < halves.size();) {
    std::size_t end = i + 1;
    while (end < halves.size() && halves[end].low == halves[i].low && halves[end].high == halves[i].high)
      ++end;
    if (end - i == 1) {
      ++single;
      const Index gap = halves[i].high - halves[i].low;
      ASSERT_TRUE(gap == 1 || gap == Index(corners.size()) - 1);
    }
    i = end;
  }
  EXPECT_EQ(single, corners.size());
}

TEST(Polygon, ConvexConcaveSpiralAndComb) {
  expect_covers(turned({{0, 0, 0}, {2, 0, 0}, {2, 1, 0}, {0, 1, 0}}), 2);
  expect_covers(turned({{0, 0, 0}, {2, 0, 0}, {Real(0.5), Real(0.5), 0}, {0, 2, 0}}), 1);  // an arrow head
  expect_covers({{Real(0.5), Real(0.5), 0}, {0, 2, 0}, {0, 0, 0}, {2, 0, 0}}, 1);  // beginning at its notch
  expect_covers(
      turned({{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {2, 1, 0}, {2, 2, 0}, {1, 2, 0}, {0, 2, 0}, {0, 1, 0}}), 4);
  Corners comb;
  double area = 0;
  for (int i = 0; i < 40; ++i) {
    comb.emplace_back(Real(2 * i), 0, 0);
    comb.emplace_back(Real(2 * i + 1), 0, 0);
    comb.emplace_back(Real(2 * i + 1), Real(5 + i % 3), 0);
    comb.emplace_back(Real(2 * i + 2), Real(5 + i % 3), 0);
  }
  comb.emplace_back(80, 10, 0);
  comb.emplace_back(0, 10, 0);
  for (std::size_t i = 0; i < comb.size(); ++i) {
    const Vec3 &p = comb[i], &q = comb[(i + 1) % comb.size()];
    area += 0.5 * (double(p[0]) * q[1] - double(p[1]) * q[0]);
  }
  expect_covers(turned(comb), area);
  Corners spiral;  // two arms, out and back
  const int n = 120;
  for (int i = 0; i < n; ++i) {
    const double angle = 0.15 * i, r = 1 + 0.05 * i;
    spiral.emplace_back(Real(r * std::cos(angle)), Real(r * std::sin(angle)), 0);
  }
  for (int i = n - 1; i >= 0; --i) {
    const double angle = 0.15 * i, r = 1.3 + 0.06 * i;
    spiral.emplace_back(Real(r * std::cos(angle)), Real(r * std::sin(angle)), 0);
  }
  area = 0;
  for (std::size_t i = 0; i < spiral.size(); ++i) {
    const Vec3 &p = spiral[i], &q = spiral[(i + 1) % spiral.size()];
    area += 0.5 * (double(p[0]) * q[1] - double(p[1]) * q[0]);
  }
  expect_covers(turned(spiral), std::abs(area));
}

TEST(Polygon, RandomStarsAreCovered) {
  for (int trial = 0; trial < 100; ++trial) {
    Corners star;
    const int n = 5 + trial;
    double area = 0;
    for (int i = 0; i < n; ++i) {
      const double angle = 2 * std::numbers::pi * i / n,
                   r = 0.2 + uniform4(1, std::uint64_t(i), std::uint64_t(trial))[0];
      star.emplace_back(Real(r * std::cos(angle)), Real(r * std::sin(angle)), 0);
    }
    for (int i = 0; i < n; ++i) {
      const Vec3 &p = star[i], &q = star[(i + 1) % n];
      area += 0.5 * (double(p[0]) * q[1] - double(p[1]) * q[0]);
    }
    expect_covers(turned(star), area);
  }
}

TEST(Polygon, DegenerateAndCrossingOnesStillGiveTheirCountOfTriangles) {
  PolygonTriangulator triangulator;
  const Corners point(6, Vec3(1, 1, 1)), line = {{0, 0, 0}, {1, 0, 0}, {3, 0, 0}, {2, 0, 0}, {5, 0, 0}};
  const Corners bow = {{0, 0, 0}, {2, 1, 0}, {2, 0, 0}, {0, 1, 0}, {-1, Real(0.5), 0}};
  const Corners huge = {{0, 0, 0},
                        {Real(3e38), 0, 0},
                        {Real(3e38), Real(3e38), 0},
                        {Real(1e38), Real(1e37), 0},
                        {0, Real(3e38), 0}};
  for (const Corners& corners : {point, line, bow, huge})
    EXPECT_EQ(triangulator.triangulate(corners).size(), corners.size() - 2);
}

TEST(Polygon, AMillionCornersAreWithinTheWorkThatIsAllowed) {
  Corners circle;
  const int n = 1'000'000;
  for (int i = 0; i < n; ++i) {
    const double angle = 2 * std::numbers::pi * i / n;
    circle.emplace_back(Real(1e6 * std::cos(angle)), Real(1e6 * std::sin(angle)), 0);
  }
  PolygonTriangulator triangulator;  // rounding makes many corners reflex
  EXPECT_EQ(triangulator.triangulate(circle).size(), std::size_t(n) - 2);
  Corners few = {{0, 0, 0}, {2, 0, 0}, {Real(0.5), Real(0.5), 0}, {0, 2, 0}};
  PolygonTriangulator none(0);
  EXPECT_TRUE(none.triangulate(few).empty());
}

}}  // namespace plenum
