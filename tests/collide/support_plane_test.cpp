// The facet on which a body comes to rest, against all triangles of its points.
#include "plenum/geometry/collide/detail/support_plane.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace plenum { namespace {

using detail::Point;

struct Ground {
  std::vector<Manifold::Point> points;
  Point centre, normal;
  double deepest = 1e9;
};

/// Points scattered over a tilted square of side 1, with gaps.
Ground ground(std::mt19937& rng, int count, double rough) {
  std::uniform_real_distribution<double> u(-0.5, 0.5);
  Ground g;
  g.normal = Point(u(rng), 1, u(rng)).normalized();
  const Point a = g.normal.unitOrthogonal(), b = g.normal.cross(a);
  g.centre = Point(3, 2, 1) + 0.3 * u(rng) * a + 0.3 * u(rng) * b + 0.4 * g.normal;
  for (int i = 0; i < count; ++i) {
    const double gap = rough * u(rng);
    g.points.push_back(
        {(Point(3, 2, 1) + u(rng) * a + u(rng) * b).cast<Real>(), Real(gap), std::uint32_t(i)});
    g.deepest = std::min(g.deepest, double(g.points.back().separation));
  }
  return g;
}

detail::SupportPlane plane_of(const Ground& g, double slop) {
  return detail::support_plane(g.points.data(), int(g.points.size()), g.centre, g.normal, g.deepest, slop);
}

/// Least height over the centre of all triangles of points about it: where it comes to rest. NaN: none is.
double lowest_facet(const Ground& g) {
  const Point a = g.normal.unitOrthogonal(), b = g.normal.cross(a);
  double lowest = std::numeric_limits<double>::quiet_NaN();
  const std::size_t n = g.points.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j)
      for (std::size_t k = 0; k < j; ++k) {
        Eigen::Matrix3d m;
        Eigen::RowVector3d gap;
        int column = 0;
        for (const std::size_t p : {i, j, k}) {
          const Point from = g.points[p].x.cast<double>() - g.centre;
          m.col(column) << a.dot(from), b.dot(from), 1;
          gap[column++] = double(g.points[p].separation);
        }
        const Eigen::Vector3d weight = m.fullPivLu().solve(Eigen::Vector3d(0, 0, 1));
        if (!(weight.minCoeff() >= 0)) continue;
        if (const double height = gap * weight; !(lowest <= height)) lowest = height;
      }
  return lowest;
}

TEST(SupportPlane, IsTheFacetUnderTheCentre) {
  std::mt19937 rng(7);
  int over_points = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const int count = 3 + trial % 20;
    const Ground g = ground(rng, count, trial % 3 == 0 ? 0.1 : 0.005);
    const double slop = 1e-7, expected = lowest_facet(g);
    const detail::SupportPlane plane = plane_of(g, slop);
    if (std::isnan(expected)) {
      EXPECT_EQ(plane.level, g.deepest) << trial;
      EXPECT_EQ(plane.tilt.norm(), 0) << trial;
      continue;
    }
    ++over_points;
    EXPECT_NEAR(plane.gap(g.centre), expected, slop) << trial;
    for (const Manifold::Point& p : g.points)
      EXPECT_GE(double(p.separation), plane.gap(p.x.cast<double>()) - slop) << trial;
  }
  EXPECT_GT(over_points, 150);
}

TEST(SupportPlane, IsOneFacetOfEqualPointsAndLevelForOneOrALine) {
  std::mt19937 rng(1);
  Ground g = ground(rng, 12, 0);
  EXPECT_NEAR(plane_of(g, 1e-6).gap(g.centre), 0, 1e-6);
  g.points.resize(1);
  EXPECT_EQ(plane_of(g, 1e-6).level, g.deepest);
  const Vec3 x = g.points[0].x;
  for (int i = 1; i < 5; ++i) g.points.push_back({x + Real(0.1 * i) * Vec3::UnitX(), Real(0.01 * i), 7});
  EXPECT_EQ(plane_of(g, 1e-6).level, g.deepest);
  g.points.assign(4, g.points[0]);
  EXPECT_EQ(plane_of(g, 1e-6).level, g.deepest);
}

}  // namespace
}  // namespace plenum
