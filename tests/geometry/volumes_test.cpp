#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <Eigen/QR>
#include <cmath>
#include <numbers>

#include "geometry/reference.h"
#include "plenum/geometry/collide/gjk.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/volumes/volume_tree.h"
#include "plenum/math/pose.h"

namespace plenum { namespace {

using test::Point;
constexpr double epsilon = std::numeric_limits<Real>::epsilon();

Quat random_rotation(std::uint64_t i) {
  const Vec4 r = uniform4(11, i, 3);
  return Quat(r[0] - Real(0.5), r[1] - Real(0.5), r[2] - Real(0.5), r[3] - Real(0.499)).normalized();
}

/// n points of a box of any proportions, turned and moved; flat and straight ones among them.
std::vector<Vec3> cloud(std::uint64_t i, std::size_t n) {
  const Vec4 r = uniform4(12, i, 1);
  Vec3 half(Real(0.1) + r[0], Real(0.1) + r[1], Real(0.1) + r[2]);
  if (i % 5 == 1) half[i % 3] = 0;
  if (i % 5 == 2) half[i % 3] = half[(i + 1) % 3] = 0;
  if (i % 5 == 3) half[i % 3] *= Real(0.01);
  const Quat turn = i % 2 ? random_rotation(i) : Quat(1, 0, 0, 0);
  const Vec3 place = Real(i % 7 == 6 ? 100 : 1) * test::random_point<12>(i, 1, 2);
  std::vector<Vec3> x;
  for (std::size_t k = 0; k < n; ++k)
    x.push_back(place + turn * half.cwiseProduct(test::random_point<12>(1000 * i + k, 1, 3)));
  return x;
}

template <class Volume>
struct VolumeOf : testing::Test {};
using Kinds = testing::Types<Aabb, Sphere, Obb, Kdop<14>, Kdop<18>, Kdop<26>>;
TYPED_TEST_SUITE(VolumeOf, Kinds);

TYPED_TEST(VolumeOf, HoldsWhatItWasMadeOf) {
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto x = cloud(2 * i, 1 + i % 60), y = cloud(2 * i + 1, 1 + i % 17);
    const auto a = fit<TypeParam>(x), b = fit<TypeParam>(y);
    const auto both = merge(a, b);
    for (const Vec3& p : x) {
      ASSERT_TRUE(contains(a, p)) << i;
      ASSERT_TRUE(contains(both, p)) << i;
    }
    for (const Vec3& p : y) ASSERT_TRUE(contains(both, p)) << i;
    ASSERT_TRUE(overlap(a, both) && overlap(both, b));
  }
}

TYPED_TEST(VolumeOf, IsNoSmallerThanTheHullAndNoLargerThanTheSphereAroundItsBox) {
  const TriangleMesh ball = icosphere_mesh(1, 3);
  const auto a = fit<TypeParam>(ball.x);
  const double pi = std::numbers::pi;
  // The icosphere's volume lies within 3 % of the ball's; each kind lies within the ball around a cube.
  EXPECT_GT(volume(a), 0.97 * 4 * pi / 3);
  EXPECT_GT(surface_area(a), 0.97 * 4 * pi);
  EXPECT_LT(volume(a), 4 * pi / 3 * std::pow(3, 1.5));
  EXPECT_LT(surface_area(a), 4 * pi * 3);
}

/// Clouds brought together until the hulls touch, then pushed a little in or out.
TYPED_TEST(VolumeOf, OverlapsWhereverTheHullsDo) {
  int touching = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    auto x = cloud(2 * i, 12), y = cloud(2 * i + 1, 12);
    const auto support = [](const std::vector<Vec3>& points) {
      return [&points](const Point& d) {
        Point best = points[0].cast<double>();
        for (const Vec3& p : points)
          if (p.cast<double>().dot(d) > best.dot(d)) best = p.cast<double>();
        return best;
      };
    };
    Point inward = Point::Zero();
    const auto move = [&](const Point& d) {
      for (Vec3& p : y) p += Vec3(Real(d[0]), Real(d[1]), Real(d[2]));
    };
    for (int k = 0; k < 4; ++k) {
      const auto r = gjk<double>(support(x), support(y), Point(1, 0, 0), 1e-10);
      if (r.overlap) break;
      inward = (r.a - r.b).normalized();
      move((1 + 1e-3 * k) * (r.a - r.b));
    }
    // GJK takes sets for touching that are apart by a few roundings.
    move(1e-12 * fit<Sphere>(x).radius * inward);
    if (!gjk<double>(support(x), support(y), Point(1, 0, 0), 1e-10).overlap) continue;
    ++touching;
    ASSERT_TRUE(overlap(fit<TypeParam>(x), fit<TypeParam>(y))) << i;
    ASSERT_TRUE(overlap(fit<TypeParam>(y), fit<TypeParam>(x))) << i;
  }
  EXPECT_GT(touching, 200);
}

TYPED_TEST(VolumeOf, IsApartFromWhatIsFarAway) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    auto x = cloud(i, 20), y = x;
    // Farther along the diagonal of a cube than any of the kinds reaches.
    const Real reach = 2 * fit<Sphere>(x).radius;
    for (Vec3& p : y) p += Vec3::Constant(Real(1.01) * reach + Real(1e-3)) * std::sqrt(Real(3));
    ASSERT_FALSE(overlap(fit<TypeParam>(x), fit<TypeParam>(y))) << i;
  }
}

/// Sphere through two to four points: where the planes of equal distance and that of the points meet.
double brute_force_radius(const std::vector<Vec3>& x) {
  std::vector<Point> p;
  for (const Vec3& v : x) p.push_back(v.cast<double>() - x[0].cast<double>());
  double best = std::numeric_limits<double>::infinity();
  const auto look = [&](const Point& c, double radius) {
    for (const Point& q : p)
      if ((q - c).norm() > radius * (1 + 1e-9)) return;
    best = std::min(best, radius);
  };
  const std::size_t n = p.size();
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) {
      look(0.5 * (p[a] + p[b]), 0.5 * (p[a] - p[b]).norm());
      for (std::size_t c = b + 1; c < n; ++c) {
        const auto through = [&](const Point& last_row, double last_right) {
          Eigen::Matrix3d rows;
          rows << 2 * (p[b] - p[a]).transpose(), 2 * (p[c] - p[a]).transpose(), last_row.transpose();
          const Eigen::Vector3d right(p[b].squaredNorm() - p[a].squaredNorm(),
                                      p[c].squaredNorm() - p[a].squaredNorm(), last_right);
          const Eigen::ColPivHouseholderQR<Eigen::Matrix3d> qr(rows);
          if (!qr.isInvertible()) return;
          const Point centre = qr.solve(right);
          look(centre, (centre - p[a]).norm());
        };
        const Point normal = (p[b] - p[a]).cross(p[c] - p[a]);
        through(normal, normal.dot(p[a]));
        for (std::size_t d = c + 1; d < n; ++d)
          through(2 * (p[d] - p[a]), p[d].squaredNorm() - p[a].squaredNorm());
      }
    }
  return best;
}

TEST(Sphere, IsTheSmallestByExhaustion) {
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto x = cloud(i, 2 + i % 9);
    const Sphere s = fit<Sphere>(x);
    // The radius is rounded up by 4 epsilon; its centre is rounded like a coordinate; exhaustion lets points
    // be outside by 1e-9.
    const double rounding = epsilon * (8 * s.radius + s.centre.norm()) + 1e-8 * s.radius;
    EXPECT_NEAR(s.radius, brute_force_radius(x), rounding) << i;
  }
}

TEST(Sphere, IsTheSmallestOfManyPoints) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto x = cloud(5 * i, 3000);
    const Sphere s = fit<Sphere>(x);
    // The distance to the farthest point is a convex function of the centre: what is least nearby is least.
    // Rounding as above, and 1e-12 of points on the boundary.
    const double rounding = epsilon * (8 * s.radius + s.centre.norm()) + 1e-11 * s.radius;
    for (std::uint64_t k = 0; k < 200; ++k) {
      const Point off = 1e-3 * s.radius * test::random_point<13>(k, 1).cast<double>();
      double farthest = 0;
      for (const Vec3& p : x)
        farthest = std::max(farthest, (p.cast<double>() - s.centre.cast<double>() - off).norm());
      ASSERT_GT(farthest, s.radius - rounding);
    }
  }
  EXPECT_NEAR(fit<Sphere>(icosphere_mesh(2, 4).x).radius, 2, 32 * epsilon);
  EXPECT_NEAR(fit<Sphere>(box_mesh(Vec3(1, 2, 3), Index3(3, 4, 5)).x).radius, std::sqrt(14.), 32 * epsilon);
}

TEST(Sphere, MergesToTheSmallestAroundTwo) {
  const Sphere a{Vec3(0, 0, 0), 1}, b{Vec3(4, 0, 0), 2}, inside{Vec3(Real(0.5), 0, 0), Real(0.25)};
  const Sphere both = merge(a, b);  // from -1 to 6
  EXPECT_NEAR(both.radius, 3.5, 16 * epsilon);
  EXPECT_NEAR((both.centre - Vec3(Real(2.5), 0, 0)).norm(), 0, 16 * epsilon);
  EXPECT_EQ(merge(a, inside).radius, 1);
  EXPECT_EQ(merge(inside, a).radius, 1);
}

TEST(Obb, RecoversABox) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Vec3 half(Real(0.3), Real(0.7), Real(1.5));
    const Quat turn = random_rotation(i);
    std::vector<Vec3> x;
    // Points inside, all to one side, must not turn it.
    for (const Vec3& p : box_mesh(half, Index3(1, 1, 1)).x) x.push_back(turn * p);
    for (std::uint64_t k = 0; k < 100; ++k)
      x.push_back(turn * half.cwiseProduct(Real(0.5) * (test::random_point<14>(k, 1) + Vec3::Ones())));
    const Obb box = fit<Obb>(x);
    // Corners are rounded by epsilon of 2 m and axes turned by as much over the least difference of the
    // variances, under 1/10; so each side is off by some 40 epsilon.
    EXPECT_NEAR(volume(box), 8 * 0.3 * 0.7 * 1.5, 8 * 3 * 100 * epsilon);
    EXPECT_NEAR(surface_area(box), 8 * (0.3 * 0.7 + 0.7 * 1.5 + 1.5 * 0.3), 24 * 100 * epsilon);
  }
}

TEST(Obb, OfFlatPointsIsFlat) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Quat turn = random_rotation(i);
    std::vector<Vec3> x;
    for (const Vec3& p : grid_mesh(Vec2(2, 1), 7, 5).x) x.push_back(turn * p);
    const Obb box = fit<Obb>(x);
    // Half sides are enlarged by 16 epsilon of the half diagonal; corners are rounded, and axes are off by
    // some ten roundings over the relative gap of the variances, 3/4.
    const double rounding = (16 * std::sqrt(1.25) + 20) * epsilon;
    EXPECT_NEAR(surface_area(box), 4, 8 * 2 * 1.5 * rounding) << i;
    EXPECT_NEAR(box.half.maxCoeff(), 1, rounding);
    EXPECT_NEAR(box.half.minCoeff(), 0, rounding);
  }
}

/// The distance of two boxes by GJK in double.
double box_distance(const Obb& a, const Obb& b, bool& overlaps) {
  const auto support = [](const Obb& box) {
    return [&box](const Point& d) -> Point {
      const Matrix3<double> axes = box.axes.cast<double>();
      Point t = axes.transpose() * d;
      for (int i = 0; i < 3; ++i) t[i] = t[i] < 0 ? -double(box.half[i]) : double(box.half[i]);
      return box.centre.cast<double>() + axes * t;
    };
  };
  const auto r =
      gjk<double>(support(a), support(b), Point(b.centre.cast<double>() - a.centre.cast<double>()));
  overlaps = r.overlap;
  return r.distance;
}

TEST(Obb, OverlapAgreesWithGjk) {
  int apart = 0, together = 0, close = 0;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    Obb boxes[2];
    for (std::uint64_t k = 0; k < 2; ++k) {
      const Vec4 r = uniform4(15, 2 * i + k, 1);
      boxes[k].half = Vec3(Real(0.02) + r[0], Real(0.02) + r[1], Real(0.02) + r[2]);
      boxes[k].centre = Real(1.5) * test::random_point<15>(2 * i + k, 1, 2);
      // A third of the pairs is parallel, another nearly so.
      Quat turn = random_rotation(i % 3 == 0 ? 2 * i + k : 2 * i);
      if (i % 3 == 1 && k == 1) turn = turn * Quat(1, Real(1e-4) * r[3], 0, Real(1e-4)).normalized();
      boxes[k].axes = turn.toRotationMatrix();
    }
    if (i % 2 == 0) {  // to within a thousandth of touching
      bool overlaps;
      const auto gap = [&](Real s) {
        Obb b = boxes[1];
        b.centre = boxes[0].centre + s * (boxes[1].centre - boxes[0].centre).normalized();
        return b;
      };
      Real low = 0, high = 8;
      for (int k = 0; k < 40; ++k) {
        const Real middle = Real(0.5) * (low + high);
        box_distance(boxes[0], gap(middle), overlaps);
        (overlaps ? low : high) = middle;
      }
      boxes[1] = gap(high + (i % 4 ? Real(2e-3) : Real(-2e-3)));
    }
    bool overlaps;
    const double distance = box_distance(boxes[0], boxes[1], overlaps);
    const bool found = overlap(boxes[0], boxes[1]);
    ASSERT_EQ(found, overlap(boxes[1], boxes[0])) << i;
    if (overlaps) {
      ++together;
      ASSERT_TRUE(found) << i;
    } else {
      // Rounding may make those overlap that are apart by less than some epsilon of their size over the sine
      // between their edges.
      ++apart;
      close += distance < 3e-3;
      ASSERT_FALSE(found) << i << " " << distance;
    }
  }
  EXPECT_GT(apart, 5000);
  EXPECT_GT(together, 5000);
  EXPECT_GT(close, 2000);
}

TEST(Obb, LongThinBoxesThatCrossOverlap) {
  // The worst for rounding: cross products of long axes, and hardly any width.
  for (std::uint64_t i = 0; i < 2000; ++i) {
    Obb a{Vec3::Zero(), random_rotation(i).toRotationMatrix(), Vec3(100, Real(1e-5), Real(1e-5))};
    Obb b{Vec3::Zero(), random_rotation(i + 5000).toRotationMatrix(), Vec3(100, Real(1e-5), Real(1e-5))};
    const Vec4 r = uniform4(16, i, 1);
    a.centre = a.axes * Vec3(100 * (r[0] - Real(0.5)), 0, 0);
    b.centre = b.axes * Vec3(100 * (r[1] - Real(0.5)), 0, 0);
    ASSERT_TRUE(overlap(a, b)) << i;
  }
}

TEST(Kdop, HasTheVolumesOfPolyhedraWithItsFaces) {
  const auto expect = [](const auto& a, double v, double area) {
    // Slabs are widened by up to 4 epsilon of the largest |x| + |y| + |z|, less than five half widths, at
    // both ends; measured in double, with hundreds of roundings.
    EXPECT_NEAR(volume(a), v, (3 * 20 * epsilon + 1e-13) * v);
    EXPECT_NEAR(surface_area(a), area, (2 * 20 * epsilon + 1e-13) * area);
  };
  const auto cube = box_mesh(Vec3::Ones()).x;
  expect(fit<Kdop<14>>(cube), 8, 24);
  expect(fit<Kdop<18>>(cube), 8, 24);
  expect(fit<Kdop<26>>(cube), 8, 24);
  std::vector<Vec3> octahedron, dodecahedron = cube, rhombicuboctahedron;
  for (int axis = 0; axis < 3; ++axis)
    for (Real s : {Real(-1), Real(1)}) {
      octahedron.push_back(s * Vec3::Unit(axis));
      dodecahedron.push_back(2 * s * Vec3::Unit(axis));
    }
  for (const Vec3& p : cube)
    for (int axis = 0; axis < 3; ++axis) {
      rhombicuboctahedron.push_back(p);
      rhombicuboctahedron.back()[axis] *= 1 + std::numbers::sqrt2_v<Real>;
    }
  const double root2 = std::numbers::sqrt2, root3 = std::numbers::sqrt3;
  expect(fit<Kdop<14>>(octahedron), 4. / 3, 4 * root3);
  expect(fit<Kdop<18>>(dodecahedron), 16, 24 * root2);  // rhombic, edges of root 3
  expect(fit<Kdop<26>>(rhombicuboctahedron), (12 + 10 * root2) / 3 * 8, (18 + 2 * root3) * 4);  // edges of 2
}

}}  // namespace plenum
