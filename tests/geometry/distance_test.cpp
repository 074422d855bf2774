#include "plenum/geometry/distance.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <numbers>
#include <vector>

#include "geometry/reference.h"
#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/base/random.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shape.h"
#include "plenum/geometry/shapes.h"

namespace plenum { namespace {

using test::Point;
using test::triangle_distance;
using Distance = std::function<SignedDistance<double>(const Point&)>;

struct Solid {
  const char* name;
  Shape shape;
  TriangleMesh mesh;  ///< a fine mesh of its surface
  double mesh_error;  ///< [m] bound of the distance between the two surfaces
  Distance distance;
};

/// Sagitta of a chord that spans 2 pi / n of a circle.
double sagitta(double radius, int n) {
  return radius * (1 - std::cos(std::numbers::pi / n));
}

const std::vector<Solid>& solids() {
  static const std::vector<Solid> all = {
      {"sphere", SphereShape{1}, icosphere_mesh(1, 4), 1.5e-3,
       [](const Point& x) { return sphere_distance(x, 1.0); }},
      {"box", BoxShape{{1, Real(0.5), Real(0.75)}}, box_mesh({1, Real(0.5), Real(0.75)}), 1e-6,
       [](const Point& x) { return box_distance(x, Point(1, 0.5, 0.75)); }},
      {"capsule", CapsuleShape{Real(0.5), Real(0.75)}, capsule_mesh(Real(0.5), Real(0.75), 64, 1, 16),
       2 * sagitta(0.5, 64), [](const Point& x) { return capsule_distance(x, 0.5, 0.75); }},
      {"cylinder", CylinderShape{Real(0.75), Real(0.5)}, cylinder_mesh(Real(0.75), Real(0.5), 64),
       sagitta(0.75, 64), [](const Point& x) { return cylinder_distance(x, 0.75, 0.5); }},
      {"cone", ConeShape{Real(0.75), 1}, cone_mesh(Real(0.75), 1, 64), sagitta(0.75, 64),
       [](const Point& x) { return cone_distance(x, 0.75, 1.0); }},
      {"flat cone", ConeShape{2, Real(0.25)}, cone_mesh(2, Real(0.25), 96), sagitta(2, 96),
       [](const Point& x) { return cone_distance(x, 2.0, 0.25); }},
      {"torus", TorusShape{1, Real(0.25)}, torus_mesh(1, Real(0.25), 96, 32),
       sagitta(1.25, 96) + sagitta(0.25, 32), [](const Point& x) { return torus_distance(x, 1.0, 0.25); }},
  };
  return all;
}

Point random_position(std::uint64_t i, double range) {
  const Vec4 u = uniform4(11, i, 5);
  return range * (2 * u.head<3>().cast<double>() - Point::Ones());
}

/// Winding number by the solid angles of the triangles (van Oosterom & Strackee 1983): 1 inside, 0 outside.
double winding_number(const Point& p, const TriangleMesh& mesh) {
  double sum = 0;
  for (const Index3& t : mesh.triangles) {
    const Point a = mesh.x[t[0]].cast<double>() - p, b = mesh.x[t[1]].cast<double>() - p,
                c = mesh.x[t[2]].cast<double>() - p;
    const double la = a.norm(), lb = b.norm(), lc = c.norm();
    sum += 2 * std::atan2(a.cross(b).dot(c), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb);
  }
  return sum / (4 * std::numbers::pi);
}

TEST(Distance, AgreesWithAFineMeshOfTheSurface) {
  for (const Solid& solid : solids())
    for (int i = 0; i < 150; ++i) {
      const Point p = random_position(i, 1.5);
      double expected = std::numeric_limits<double>::infinity();
      for (const Index3& t : solid.mesh.triangles)
        expected = std::min(expected, triangle_distance(p, solid.mesh.x[t[0]].cast<double>(),
                                                        solid.mesh.x[t[1]].cast<double>(),
                                                        solid.mesh.x[t[2]].cast<double>()));
      if (winding_number(p, solid.mesh) > 0.5) expected = -expected;
      ASSERT_NEAR(solid.distance(p).distance, expected, solid.mesh_error)
          << solid.name << " " << p.transpose();
    }
}

TEST(Distance, NormalIsTheGradientAndLeadsToTheSurface) {
  for (const Solid& solid : solids()) {
    int smooth = 0;
    for (int i = 0; i < 2000; ++i) {
      const Point p = random_position(i, 2);
      const auto d = solid.distance(p);
      ASSERT_NEAR(d.normal.norm(), 1, 1e-12) << solid.name;
      ASSERT_NEAR(solid.distance(p - d.distance * d.normal).distance, 0, 1e-12) << solid.name;
      Point gradient;
      const double h = 1e-5;
      for (int axis = 0; axis < 3; ++axis)
        gradient[axis] = (solid.distance(p + h * Point::Unit(axis)).distance -
                          solid.distance(p - h * Point::Unit(axis)).distance) /
                         (2 * h);
      // Across the medial axis the central difference mixes two gradients and is shorter than one.
      if (gradient.norm() < 0.9999) continue;
      ++smooth;
      ASSERT_LE((gradient - d.normal).norm(), 2e-2) << solid.name << " " << p.transpose();
    }
    EXPECT_GT(smooth, 1950) << solid.name;
  }
}

TEST(Distance, IsLipschitzWithConstantOne) {
  for (const Solid& solid : solids())
    for (int i = 0; i < 5000; ++i) {
      const Point a = random_position(2 * i, 2),
                  b = i % 2 ? random_position(2 * i + 1, 2) : a + 1e-3 * random_position(i, 1);
      ASSERT_LE(std::abs(solid.distance(a).distance - solid.distance(b).distance),
                (a - b).norm() * (1 + 1e-9) + 1e-14)
          << solid.name;
    }
}

TEST(Distance, HasAUnitNormalWhereTheGradientIsNotUnique) {
  for (const Solid& solid : solids())
    for (const Point& p :
         {Point(0, 0, 0), Point(0, 0.25, 0), Point(0, -0.5, 0), Point(0, 3, 0), Point(1, 0, 0),
          Point(0, 0, 1), Point(0, 1, 0), Point(0.75, -1, 0), Point(1, 0.5, 0.75)}) {
      const auto d = solid.distance(p);
      ASSERT_NEAR(d.normal.norm(), 1, 1e-12) << solid.name << " " << p.transpose();
      ASSERT_NEAR(solid.distance(p - d.distance * d.normal).distance, 0, 1e-12)
          << solid.name << " " << p.transpose();
    }
}

TEST(Distance, KnownValues) {
  EXPECT_DOUBLE_EQ(box_distance(Point(2, 3, 0), Point(1, 1, 1)).distance, std::sqrt(5.0));
  EXPECT_DOUBLE_EQ(box_distance(Point(0.5, 0, 0), Point(1, 2, 3)).distance, -0.5);
  EXPECT_DOUBLE_EQ(torus_distance(Point(0, 0, 0), 2.0, 0.5).distance, 1.5);
  EXPECT_DOUBLE_EQ(torus_distance(Point(0, 1, 2), 2.0, 0.5).distance, 0.5);
  EXPECT_DOUBLE_EQ(cylinder_distance(Point(4, 5, 0), 1.0, 1.0).distance, 5);
  EXPECT_DOUBLE_EQ(capsule_distance(Point(3, 5, 0), 1.0, 1.0).distance, 4);
  EXPECT_DOUBLE_EQ(cone_distance(Point(0, 3, 0), 1.0, 1.0).distance, 2);
  EXPECT_DOUBLE_EQ(cone_distance(Point(0, -3, 0), 1.0, 1.0).distance, 2);
  EXPECT_DOUBLE_EQ(cone_distance(Point(4, -5, 0), 1.0, 1.0).distance, 5);
}

Pose some_pose() {
  return {Vec3(Real(0.3), Real(-0.2), Real(0.5)),
          Quat(Eigen::AngleAxis<Real>(Real(0.8), Vec3(1, 2, -1).normalized()))};
}

TEST(Shape, BatchesAgreeWithSinglePointsInEveryPose) {
  std::vector<Vec3> x;
  for (int i = 0; i < 3001; ++i) x.push_back(random_position(i, 2).cast<Real>());
  const Pose pose = some_pose();
  std::vector<Real> distance(x.size()), with_normal(x.size());
  std::vector<Vec3> normal(x.size()), closest(x.size());
  for (const Solid& solid : solids())
    for (const int threads : {1, 3})
      with_threads(threads, [&] {
        solid.shape.signed_distances(pose, x, distance);
        solid.shape.signed_distances(pose, x, with_normal, normal);
        solid.shape.closest_points(pose, x, closest);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const Point local =
              pose.rotation.conjugate().cast<double>() * (x[i] - pose.position).cast<double>();
          const auto expected = solid.distance(local);
          ASSERT_NEAR(distance[i], expected.distance, 3e-6) << solid.name;
          ASSERT_NEAR(with_normal[i], expected.distance, 3e-6) << solid.name;
          ASSERT_NEAR((x[i] - closest[i]).norm(), std::abs(expected.distance), 3e-6) << solid.name;
          ASSERT_NEAR(solid.shape.signed_distance(pose.to_local(closest[i])).distance, 0, 3e-6) << solid.name;
          ASSERT_NEAR(normal[i].norm(), 1, 1e-5) << solid.name;
        }
      });
}

TEST(Shape, BoundsHoldTheSurfaceTightly) {
  const Pose pose = some_pose();
  for (const Solid& solid : solids()) {
    std::vector<Vec3> x = solid.mesh.x;
    for (Vec3& p : x) p = pose * p;
    const Aabb of_mesh = bounds_of(x), box = solid.shape.bounds(pose);
    EXPECT_LE((of_mesh.low - box.low).cwiseAbs().maxCoeff(), solid.mesh_error + 1e-6) << solid.name;
    EXPECT_LE((of_mesh.high - box.high).cwiseAbs().maxCoeff(), solid.mesh_error + 1e-6) << solid.name;
    EXPECT_TRUE(box.grown(Real(1e-6)).contains(of_mesh.low) && box.grown(Real(1e-6)).contains(of_mesh.high));
  }
  EXPECT_TRUE(std::isinf(Shape(PlaneShape{}).bounds(pose).high[1]));
}

TEST(Shape, RefusesBadLengths) {
  EXPECT_THROW(Shape(SphereShape{-1}), Error);
  EXPECT_THROW(Shape(SphereShape{std::numeric_limits<Real>::infinity()}), Error);
  EXPECT_THROW(Shape(BoxShape{{1, 0, 1}}), Error);
  EXPECT_THROW(Shape(TorusShape{1, 2}), Error);
  EXPECT_NO_THROW(Shape(CapsuleShape{1, 0}));
}

TEST(FirstContact, OfAPointFlyingAtASphereIsWhereTheRayMeetsIt) {
  const Shape ball = SphereShape{1};
  const Real radius = Real(0.1), tolerance = Real(1e-4);
  const auto s =
      first_contact(ball, {}, {}, Vec3(-5, Real(0.5), 0), Vec3(5, Real(0.5), 0), radius, tolerance);
  ASSERT_TRUE(s);
  const double exact = (5 - std::sqrt(1.1 * 1.1 - 0.25)) / 10;
  EXPECT_LE(*s, exact + 1e-6);
  EXPECT_NEAR(*s, exact, 2e-5);
  EXPECT_FALSE(first_contact(ball, {}, {}, Vec3(-5, Real(1.2), 0), Vec3(5, Real(1.2), 0), radius, tolerance));
  EXPECT_EQ(first_contact(ball, {}, {}, Vec3(Real(0.5), 0, 0), Vec3(5, 0, 0), radius, tolerance), Real(0));
}

TEST(FirstContact, NothingPassesAThinPlateHoweverFast) {
  const Shape plate = BoxShape{{1, 1, Real(5e-4)}};
  for (int i = 0; i < 1000; ++i) {
    const Vec4 u = uniform4(3, i, 1);
    const Vec3 through(Real(1.9) * (u[0] - Real(0.5)), Real(1.9) * (u[1] - Real(0.5)), 0);
    const Vec3 away = random_position(i, 100).cast<Real>();
    if (std::abs(away[2]) < 1) continue;
    const auto s = first_contact(plate, {}, {}, through - away, through + away, 0, Real(1e-4));
    ASSERT_TRUE(s);
    EXPECT_NEAR(*s, 0.5, 2e-3);
  }
}

TEST(FirstContact, ATurningBladeHitsAPointThatStandsStill) {
  const Shape blade = BoxShape{{1, Real(0.05), Real(0.05)}};
  const Pose end{Vec3::Zero(), Quat(Eigen::AngleAxis<Real>(Real(2), Vec3::UnitZ()))};
  const Vec3 p(0, Real(0.8), 0);
  const auto s = first_contact(blade, {}, end, p, p, 0, Real(1e-5));
  ASSERT_TRUE(s);
  // The blade's flank y = 0.05 reaches the point when 0.8 cos(angle) = 0.05.
  EXPECT_NEAR(*s * 2, std::acos(0.05 / 0.8), 1e-4);
}

}}  // namespace plenum
