#include "plenum/geometry/ray.h"

#include <gtest/gtest.h>

#include <functional>

#include "geometry/reference.h"
#include "plenum/geometry/detail/polynomial_roots.h"
#include "plenum/geometry/distance.h"
#include "plenum/geometry/mesh_distance.h"
#include "plenum/geometry/shape.h"
#include "plenum/geometry/shapes.h"

namespace plenum { namespace {

using test::Point;

/// First zero of the signed distance along a ray by marching in small steps and bisection: slow and plain.
/// None if there is no change of sign.
std::optional<double> march(const std::function<double(const Point&)>& distance, const Ray& ray, double far) {
  const Point o = ray.origin.cast<double>(), d = ray.direction.cast<double>();
  const auto f = [&](double t) { return distance(o + t * d); };
  const double step = 1e-3 / d.norm();
  const bool inside = f(0) < 0;
  for (double t = step; t < far; t += step)
    if ((f(t) < 0) != inside) {
      double a = t - step, b = t;
      for (int i = 0; i < 60; ++i) {
        const double m = 0.5 * (a + b);
        ((f(m) < 0) == inside ? a : b) = m;
      }
      return b;
    } else {
      // Distances are 1-Lipschitz: nothing changes within |f|.
      t += std::max(0.0, std::abs(f(t)) / d.norm() - step);
    }
  return std::nullopt;
}

TEST(Ray, MeetsEveryPrimitiveWhereItsDistanceChangesSign) {
  struct Solid {
    const char* name;
    Shape shape;
    std::function<SignedDistance<double>(const Point&)> distance;
  };
  const std::vector<Solid> solids = {
      {"sphere", SphereShape{1}, [](const Point& x) { return sphere_distance(x, 1.0); }},
      {"box", BoxShape{{1, Real(0.5), Real(0.75)}},
       [](const Point& x) { return box_distance(x, Point(1, 0.5, 0.75)); }},
      {"capsule", CapsuleShape{Real(0.5), Real(0.75)},
       [](const Point& x) { return capsule_distance(x, 0.5, 0.75); }},
      {"cylinder", CylinderShape{Real(0.75), Real(0.5)},
       [](const Point& x) { return cylinder_distance(x, 0.75, 0.5); }},
      {"cone", ConeShape{Real(0.75), 1}, [](const Point& x) { return cone_distance(x, 0.75, 1.0); }},
      {"torus", TorusShape{1, Real(0.25)}, [](const Point& x) { return torus_distance(x, 1.0, 0.25); }},
      {"plane", PlaneShape{}, [](const Point& x) { return plane_distance(x); }},
  };
  for (const Solid& solid : solids) {
    int hits = 0;
    for (int i = 0; i < 400; ++i) {
      const Vec3 from = test::random_point<6>(i, i % 3 ? 3 : 1, 1), to = test::random_point<6>(i, 1, 2);
      const Ray ray{from, (i % 2 ? Real(2) : Real(0.5)) * (to - from), 0, 30};
      const auto hit = solid.shape.intersect({}, ray);
      const auto expected = march([&](const Point& x) { return solid.distance(x).distance; }, ray, 30);
      ASSERT_EQ(hit.has_value(), expected.has_value()) << solid.name << " " << i;
      if (!hit) continue;
      ++hits;
      const double length = ray.direction.norm();
      ASSERT_NEAR(hit->t * length, *expected * length, 2e-5) << solid.name << " " << i;
      const auto there = solid.distance(ray.origin.cast<double>() + *expected * ray.direction.cast<double>());
      // On an edge either face's normal is right; rays that hit one within rounding are rare.
      if ((hit->normal.cast<double>() - there.normal).norm() > 1e-3) {
        const auto near_edge =
            solid.distance(ray.origin.cast<double>() + (*expected - 2e-3) * ray.direction.cast<double>());
        ASSERT_GT((near_edge.normal - there.normal).norm(), 1e-3) << solid.name << " " << i;
      }
    }
    EXPECT_GT(hits, 100) << solid.name;
  }
}

TEST(Ray, HonoursItsIntervalAndSeesBothSides) {
  const Shape ball = SphereShape{1};
  EXPECT_NEAR(ball.intersect({}, {Vec3(-3, 0, 0), Vec3(1, 0, 0)})->t, 2, 1e-6);
  EXPECT_NEAR(ball.intersect({}, {Vec3(-3, 0, 0), Vec3(1, 0, 0), Real(2.5)})->t, 4, 1e-6);
  EXPECT_FALSE(ball.intersect({}, {Vec3(-3, 0, 0), Vec3(1, 0, 0), 0, Real(1.9)}));
  EXPECT_FALSE(ball.intersect({}, {Vec3(-3, 0, 0), Vec3(-1, 0, 0)}));
  const auto from_inside = ball.intersect({}, {Vec3(0, 0, 0), Vec3(0, 2, 0)});
  ASSERT_TRUE(from_inside);
  EXPECT_NEAR(from_inside->t, 0.5, 1e-6);
  EXPECT_LE((from_inside->normal - Vec3(0, 1, 0)).norm(), 1e-6);
}

TEST(Ray, FromFarAwayIsAsExact) {
  // A quadratic with coefficients at the origin of the ray would lose all digits here.
  const auto hit = intersect_sphere({Vec3(-1e6, Real(0.5), 0), Vec3(1, 0, 0)}, 1);
  ASSERT_TRUE(hit);
  EXPECT_NEAR(hit->normal[1], 0.5, 1e-5);
}

TEST(Ray, TurnsWithThePose) {
  const Pose pose{Vec3(1, 2, 3), Quat(Eigen::AngleAxis<Real>(Real(0.5), Vec3::UnitZ()))};
  const Shape box = BoxShape{{1, 1, 1}};
  const auto hit = box.intersect(pose, {pose * Vec3(5, Real(0.25), 0), pose.rotation * Vec3(-1, 0, 0)});
  ASSERT_TRUE(hit);
  EXPECT_NEAR(hit->t, 4, 1e-5);
  EXPECT_LE((hit->normal - pose.rotation * Vec3(1, 0, 0)).norm(), 1e-5);
}

TEST(Ray, NoneSlipsThroughTheEdgesAndCornersOfAClosedMesh) {
  // Aimed exactly at vertices and edge middles from inside: with a common edge test some would find neither
  // triangle.
  TriangleMesh mesh = icosphere_mesh(1, 3);
  for (std::size_t i = 0; i < mesh.x.size(); ++i) mesh.x[i] += Real(0.01) * test::random_point<6>(i, 1, 3);
  const MeshDistance exact(mesh);
  int rays = 0;
  for (const Index3& t : mesh.triangles)
    for (int k = 0; k < 3; ++k) {
      const Vec3 a = mesh.x[t[k]], b = mesh.x[t[(k + 1) % 3]];
      for (const Vec3& target : {a, Vec3(Real(0.5) * (a + b)), Vec3(a + Real(0.3) * (b - a))}) {
        const Vec3 from = Real(0.2) * test::random_point<6>(rays++, 1, 4);
        const auto hit = exact.intersect({from, target - from});
        ASSERT_TRUE(hit);
        ASSERT_NEAR(hit->t, 1, 1e-4);
        ASSERT_NEAR(hit->barycentric.sum(), 1, 1e-5);
      }
    }
  EXPECT_EQ(rays, 1280 * 9);
}

TEST(Ray, MeshHitsAgreeWithExhaustion) {
  const TriangleMesh mesh = torus_mesh(1, Real(0.4), 40, 20);
  const MeshDistance exact(mesh);
  int hits = 0;
  for (int i = 0; i < 3000; ++i) {
    const Vec3 from = test::random_point<6>(i, 2, 5);
    const Ray ray{from, test::random_point<6>(i, 1, 6) - from};
    std::optional<RayHit> expected;
    for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
      const Index3& v = mesh.triangles[t];
      const auto hit = intersect_triangle(ray, mesh.x[v[0]], mesh.x[v[1]], mesh.x[v[2]]);
      if (hit && (!expected || hit->t < expected->t)) expected = hit;
    }
    const auto found = exact.intersect(ray);
    ASSERT_EQ(found.has_value(), expected.has_value());
    if (!found) continue;
    ++hits;
    ASSERT_EQ(found->t, expected->t);
    const Index3& v = mesh.triangles[found->triangle];
    const Vec3 at = found->barycentric[0] * mesh.x[v[0]] + found->barycentric[1] * mesh.x[v[1]] +
                    found->barycentric[2] * mesh.x[v[2]];
    ASSERT_LE((at - ray.at(found->t)).norm(), 1e-5);
  }
  EXPECT_GT(hits, 1000);
}

TEST(Ray, AlongAxesAndInThePlanesOfBoxesWorks) {
  const TriangleMesh mesh = box_mesh({1, 1, 1}, {4, 4, 4});
  const MeshDistance exact(mesh);
  for (int axis = 0; axis < 3; ++axis)
    for (const Real sign : {Real(-1), Real(1)})
      for (const Real offset : {Real(0), Real(0.5), Real(0.25), Real(-0.5)}) {
        Vec3 from = Vec3::Constant(offset);
        from[axis] = -3 * sign;
        const auto hit = exact.intersect({from, sign * Vec3::Unit(axis)});
        ASSERT_TRUE(hit);
        ASSERT_NEAR(hit->t, 2, 1e-6);
      }
}

TEST(PolynomialRoots, AreFoundAsConstructed) {
  // (t + 2)(t - 0.5)(t - 0.75)(t - 3)
  const std::array<double, 4> expected = {-2, 0.5, 0.75, 3};
  std::array<double, 5> c = {1, 0, 0, 0, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t k = i + 1; k > 0; --k) c[k] = c[k - 1] - expected[i] * c[k];
    c[0] *= -expected[i];
  }
  const auto roots = detail::polynomial_roots<4>(c, -10, 10);
  ASSERT_EQ(roots.count, 4u);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(roots.values[i], expected[i], 1e-13);
  EXPECT_EQ(detail::polynomial_roots<4>(c, 0, 1).count, 2u);
  EXPECT_EQ((detail::polynomial_roots<2>({1, 0, 1}, -5, 5).count), 0u);
}

}}  // namespace plenum
