#include "plenum/geometry/mesh_distance.h"

#include <gtest/gtest.h>

#include "geometry/reference.h"
#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/distance_field.h"
#include "plenum/geometry/shape.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum { namespace {

using test::Point;
using test::triangle_distance;

/// A closed surface with ridges and hollows: a bumpy sphere.
TriangleMesh bumpy_mesh() {
  TriangleMesh mesh = icosphere_mesh(1, 3);
  for (Vec3& p : mesh.x)
    p *= 1 + Real(0.3) * std::sin(5 * p[0]) * std::cos(4 * p[1]) * std::sin(3 * p[2] + 1);
  return mesh;
}

TEST(ClosestOnTriangle, AgreesWithPlaneAndSidesEvenWhenDegenerate) {
  for (int i = 0; i < 20000; ++i) {
    Point a = test::random_point<8>(i, 1, 1).cast<double>(),
          b = test::random_point<8>(i, 1, 2).cast<double>(),
          c = test::random_point<8>(i, 1, 3).cast<double>();
    if (i % 8 == 1) c = a + 0.3 * (b - a);
    if (i % 8 == 2) b = a;
    if (i % 8 == 3) c = a;
    if (i % 8 == 4) c = b;
    if (i % 8 == 5) b = c = a;
    if (i % 8 == 6) c = a + 1e-9 * (c - a) + 2.0 * (b - a);
    const Point p = test::random_point<8>(i, 2, 4).cast<double>();
    const auto at = closest_on_triangle<double>(p, a, b, c);
    ASSERT_NEAR((p - at.point).norm(), triangle_distance(p, a, b, c), 1e-8) << i;
    ASSERT_NEAR(at.barycentric.sum(), 1, 1e-12);
    ASSERT_GE(at.barycentric.minCoeff(), -1e-12);
    ASSERT_LE((at.barycentric[0] * a + at.barycentric[1] * b + at.barycentric[2] * c - at.point).norm(),
              1e-8);
  }
}

TEST(MeshDistance, ClosestPointsAgreeWithExhaustion) {
  const TriangleMesh mesh = bumpy_mesh();
  const MeshDistance exact(mesh);
  for (int i = 0; i < 2000; ++i) {
    const Vec3 p = test::random_point<8>(i, 2);
    double expected = std::numeric_limits<double>::infinity();
    for (const Index3& t : mesh.triangles)
      expected =
          std::min(expected, triangle_distance(p.cast<double>(), mesh.x[t[0]].cast<double>(),
                                               mesh.x[t[1]].cast<double>(), mesh.x[t[2]].cast<double>()));
    const ClosestPoint found = exact.closest(p);
    ASSERT_NEAR(found.distance, expected, 2e-6);
    ASSERT_NEAR((p - found.point).norm(), expected, 2e-6);
    ASSERT_NEAR(std::abs(exact.signed_distance(p).distance), expected, 1e-6);
    ASSERT_LT(exact.closest(p, Real(expected * 0.99)).triangle, 0);
    ASSERT_GE(exact.closest(p, Real(expected * 1.01)).triangle, 0);
  }
}

TEST(MeshDistance, SignsAgreeWithWindingNumbers) {
  for (const TriangleMesh& mesh :
       {bumpy_mesh(), torus_mesh(1, Real(0.3), 16, 8), cone_mesh(1, 1, 5), box_mesh({1, Real(0.01), 1})}) {
    const MeshDistance exact(mesh);
    int inside = 0;
    for (int i = 0; i < 3000; ++i) {
      const Vec3 p =
          test::random_point<8>(i, Real(1.3)).cwiseProduct(Vec3(1, i % 2 ? Real(0.02) : Real(1), 1));
      const Real d = exact.signed_distance(p).distance;
      if (std::abs(d) < 1e-5) continue;
      // The tree's far field against the plain sum (an accuracy beyond reach makes every node near).
      const double plain = exact.winding_number(p, 1e30);
      ASSERT_NEAR(plain, std::round(plain), 1e-5);
      ASSERT_EQ(d<0, plain> 0.5);
      // What a threshold of one half needs of the far field.
      ASSERT_NEAR(exact.winding_number(p), plain, 0.1);
      inside += d < 0;
    }
    EXPECT_GT(inside, 100);
  }
}

TEST(MeshDistance, SignIsRightInFrontOfAKnifeEdge) {
  // The classic failure of plain face normals: closest features are an edge or a corner sharper than 90
  // degrees.
  const TriangleMesh mesh = cone_mesh(Real(0.05), 1, 3);
  const MeshDistance exact(mesh);
  for (int i = 0; i < 2000; ++i) {
    const Vec3 p = Vec3(0, 1, 0) + Real(0.3) * test::random_point<8>(i, 1);
    const Real d = exact.signed_distance(p).distance;
    if (std::abs(d) < 1e-5) continue;
    const bool inside = exact.winding_number(p, 1e30) > 0.5;
    ASSERT_EQ(d < 0, inside);
  }
}

TEST(MeshDistance, WindingNumberSeesThroughAHole) {
  TriangleMesh mesh = icosphere_mesh(1, 3);
  mesh.triangles.pop_back();
  const MeshDistance exact(mesh);
  // The hole takes its share of the solid angle: about 1 in 1280, triangles differing by less than a half.
  EXPECT_NEAR(exact.winding_number(Vec3(0, 0, 0), 1e30), 1 - 1.0 / 1280, 0.5 / 1280);
  EXPECT_NEAR(exact.winding_number(Vec3(0, 0, 0)), 1, 0.1);
  EXPECT_NEAR(exact.winding_number(Vec3(0, 3, 0)), 0, 0.1);
}

TEST(MeshDistance, RefusesEmptyMeshesAndBadIndices) {
  EXPECT_THROW(MeshDistance(TriangleMesh{}), Error);
  EXPECT_THROW(MeshDistance(TriangleMesh{{{0, 0, 0}}, {{0, 0, 1}}}), Error);
  EXPECT_THROW(MeshDistance(TriangleMesh{{{0, 0, 0}}, {{0, -1, 0}}}), Error);
}

TEST(DistanceField, IsExactAtNodesAndOverFlatFaces) {
  const TriangleMesh mesh = box_mesh({1, 1, 1});
  const DistanceField field(mesh, {.resolution = 16});
  for (int i = 0; i < 2000; ++i) {
    // So far from the edges that the face below is the closest for all nodes of the cell (h = 1/8).
    const Vec3 p(Real(0.5) * test::random_point<8>(i, 1)[0], 1 + Real(0.2) * test::random_point<8>(i, 1)[1],
                 Real(0.5) * test::random_point<8>(i, 1)[2]);
    const auto d = field.signed_distance(p);
    ASSERT_NEAR(d.distance, p[1] - 1, 2e-6);
    ASSERT_LE((d.normal - Vec3(0, 1, 0)).norm(), 1e-4);
  }
}

TEST(DistanceField, ConvergesToTheExactDistanceInSecondOrder) {
  // Against the closed form of the torus that the mesh approximates much more finely than the grids do.
  const TriangleMesh mesh = torus_mesh(1, Real(0.5), 256, 128);
  const MeshDistance exact(mesh);
  struct Errors {
    double distance = 0, normal = 0;
  };
  const auto errors = [&](Index resolution) {
    const DistanceField field(mesh, exact, {.resolution = resolution, .padding = 2});
    Errors e;
    for (int i = 0; i < 4000; ++i) {
      const Point p = test::random_point<8>(i, Real(1.55)).cast<double>();
      const auto truth = torus_distance<double>(p, 1.0, 0.5);
      if (std::abs(truth.distance) > 0.2) continue;  // away from the medial axis
      const auto found = field.signed_distance(p.cast<Real>());
      e.distance = std::max(e.distance, std::abs(found.distance - truth.distance));
      e.normal = std::max(e.normal, (found.normal.cast<double>() - truth.normal).norm());
    }
    return e;
  };
  const Errors coarse = errors(16), fine = errors(32);
  EXPECT_GT(coarse.distance / fine.distance, 3);
  EXPECT_GT(coarse.normal / fine.normal, 1.7);
  // h = 3/32: at most h^2/8 times the curvature, 2 per metre in one direction and 2 in the other.
  EXPECT_LT(fine.distance, 4 * (3.0 / 32) * (3.0 / 32) / 8);
}

TEST(DistanceField, NormalIsTheGradientOfTheDistance) {
  const TriangleMesh mesh = bumpy_mesh();
  const DistanceField field(mesh, {.resolution = 24});
  const Real h = std::is_same_v<Real, float> ? Real(1e-3) : Real(1e-5);
  const double tolerance = std::is_same_v<Real, float> ? 5e-3 : 1e-4;
  int compared = 0;
  for (int i = 0; i < 3000; ++i) {
    const Vec3 p = test::random_point<8>(i, 3);  // inside and outside of the grid
    Vec3 gradient;
    for (int axis = 0; axis < 3; ++axis)
      gradient[axis] =
          (field.distance(p + h * Vec3::Unit(axis)) - field.distance(p - h * Vec3::Unit(axis))) / (2 * h);
    // Not where the grid's border passes between the two points, nor where opposite sides cancel.
    const Aabb inner = field.bounds().grown(-2 * h), outer = field.bounds().grown(2 * h);
    bool near_border = false;
    for (int axis = 0; axis < 3; ++axis)
      near_border |= (p[axis] < inner.low[axis] && p[axis] > outer.low[axis]) ||
                     (p[axis] > inner.high[axis] && p[axis] < outer.high[axis]);
    if (near_border || gradient.norm() < 0.3) continue;
    ++compared;
    ASSERT_LE((gradient.normalized() - field.signed_distance(p).normal).norm(), tolerance) << i;
    ASSERT_NEAR(field.signed_distance(p).distance, field.distance(p), 1e-6);
  }
  EXPECT_GT(compared, 2500);
}

TEST(DistanceField, ManyPointsGetWhatEachGetsAlone) {
  const DistanceField field(bumpy_mesh(), {.resolution = 24});
  for (const std::size_t n : {1u, 3u, 16u, 17u, 1000u}) {
    std::vector<Real> x(n), y(n), z(n), distance(n), alone(n), nx(n), ny(n), nz(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Vec3 p = test::random_point<8>(i, i % 4 ? Real(1.3) : Real(5));
      x[i] = p[0], y[i] = p[1], z[i] = p[2];
    }
    field.evaluate(n, {x.data(), y.data(), z.data()}, alone.data());
    field.evaluate(n, {x.data(), y.data(), z.data()}, distance.data(), {nx.data(), ny.data(), nz.data()});
    for (std::size_t i = 0; i < n; ++i) {
      const auto expected = field.signed_distance(Vec3(x[i], y[i], z[i]));
      ASSERT_NEAR(distance[i], expected.distance, 2e-6);
      ASSERT_NEAR(alone[i], expected.distance, 2e-6);
      ASSERT_LE((Vec3(nx[i], ny[i], nz[i]) - expected.normal).norm(), 1e-4);
      // Whatever its neighbours are.
      Real single;
      field.evaluate(1, {&x[i], &y[i], &z[i]}, &single);
      ASSERT_EQ(single, alone[i]);
    }
  }
}

TEST(SolidMesh, IsExactAtWallsThinnerThanItsCells) {
  for (const Real thickness : {Real(1e-4), Real(2e-3), Real(6e-3), Real(2e-2)}) {
    const Vec3 half(Real(0.5), thickness / 2, Real(0.5));
    const SolidMesh sheet(box_mesh(half));
    EXPECT_TRUE(sheet.field.has_thin_walls());
    for (int i = 0; i < 2000; ++i) {
      // Up to a cell from the faces, and over all of the border.
      const Vec3 x(Real(0.52) * std::sin(Real(i)), Real(0.015) * std::sin(Real(1.7) * Real(i)),
                   Real(0.52) * std::sin(Real(2.3) * Real(i)));
      const SignedDistance<Real> expected = box_distance(x, half), got = sheet.signed_distance(x);
      EXPECT_NEAR(got.distance, expected.distance, 1e-6) << x.transpose();
    }
  }
  // A single layer of triangles has no inside.
  const SolidMesh layer(grid_mesh(Vec2(1, 1), 8, 8));
  for (int i = 0; i < 500; ++i) {
    const Vec3 x(Real(0.49) * std::sin(Real(i)), Real(0.015) * std::sin(Real(1.7) * Real(i)),
                 Real(0.49) * std::sin(Real(2.3) * Real(i)));
    EXPECT_NEAR(layer.signed_distance(x).distance, std::abs(x.y()), 1e-6) << x.transpose();
  }
}

TEST(SolidMesh, OfThickBodiesAnswersFromItsFieldAlone) {
  EXPECT_FALSE(SolidMesh(box_mesh(Vec3(Real(0.5), Real(0.2), Real(0.3)))).field.has_thin_walls());
  EXPECT_FALSE(SolidMesh(icosphere_mesh(1, 4)).field.has_thin_walls());
  EXPECT_FALSE(SolidMesh(torus_mesh(1, Real(0.2), 64, 32)).field.has_thin_walls());
}

TEST(DistanceField, OutsideTheGridIsALowerBoundAndContinuous) {
  const TriangleMesh mesh = bumpy_mesh();
  const MeshDistance exact(mesh);
  const DistanceField field(mesh, exact, {.resolution = 48});
  for (int i = 0; i < 3000; ++i) {
    const Vec3 p = test::random_point<8>(i, 8);
    const Real truth = exact.signed_distance(p).distance, found = field.distance(p);
    // h = 2.4/48; interpolation errs by less than h^2/2 there.
    if (!field.bounds().contains(p)) {
      ASSERT_LE(found, truth + 2e-3);
      ASSERT_GE(found, Real(0.4) * truth);
    }
    const Vec3 q = p + Real(1e-3) * test::random_point<8>(i, 1, 2);
    ASSERT_LE(std::abs(field.distance(q) - found), Real(1.3) * (q - p).norm() + 2e-5);
  }
}

TEST(DistanceField, OfABrokenMeshKnowsItsInside) {
  // A hole and an overlapping second sphere: no pseudonormal is right everywhere, winding numbers are.
  TriangleMesh mesh = icosphere_mesh(1, 3);
  mesh.triangles.pop_back();
  const TriangleMesh second = icosphere_mesh(1, 3);
  const auto offset = Index(mesh.x.size());
  for (const Vec3& p : second.x) mesh.x.push_back(p + Vec3(1, 0, 0));
  for (const Index3& t : second.triangles) mesh.triangles.emplace_back(t + Index3::Constant(offset));
  const DistanceField field(mesh, {.resolution = 32});
  for (int i = 0; i < 2000; ++i) {
    const Vec3 p = test::random_point<8>(i, 2);
    const Real in_first = p.norm() - 1, in_second = (p - Vec3(1, 0, 0)).norm() - 1;
    if (std::min(std::abs(in_first), std::abs(in_second)) < 0.2) continue;
    ASSERT_EQ(field.distance(p) < 0, std::min(in_first, in_second) < 0) << p.transpose();
  }
}

TEST(DistanceField, HasTheSameBitsForEveryThreadCount) {
  const TriangleMesh mesh = bumpy_mesh();
  const DistanceField one(mesh, {.resolution = 16});
  with_threads(3, [&] {
    const DistanceField three(mesh, {.resolution = 16});
    for (int i = 0; i < 2000; ++i) {
      const Vec3 p = test::random_point<8>(i, 2);
      ASSERT_EQ(one.distance(p), three.distance(p));
    }
  });
}

TEST(DistanceField, RefusesWhatItCannotHold) {
  const TriangleMesh mesh = icosphere_mesh(1, 1);
  EXPECT_THROW(DistanceField(mesh, {.resolution = 512, .max_bytes = 1 << 20}), Error);
  EXPECT_THROW(DistanceField(mesh, {.resolution = 0}), Error);
  EXPECT_THROW(DistanceField(TriangleMesh{{{0, 0, 0}}, {{0, 0, 0}}}), Error);
}

TEST(MeshShape, BatchesAgreeWithTheField) {
  const auto solid = std::make_shared<const SolidMesh>(bumpy_mesh(), DistanceFieldOptions{.resolution = 24});
  const Shape shape = MeshShape{solid};
  const Pose pose{Vec3(1, 2, 3), Quat(Eigen::AngleAxis<Real>(Real(0.5), Vec3::UnitZ()))};
  std::vector<Vec3> x, normal(1000);
  std::vector<Real> distance(1000), alone(1000);
  for (int i = 0; i < 1000; ++i) x.push_back(pose * test::random_point<8>(i, 2));
  shape.signed_distances(pose, x, alone);
  shape.signed_distances(pose, x, distance, normal);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto expected = solid->field.signed_distance(pose.to_local(x[i]));
    ASSERT_NEAR(distance[i], expected.distance, 2e-6);
    ASSERT_NEAR(alone[i], expected.distance, 2e-6);
    ASSERT_LE((normal[i] - pose.rotation * expected.normal).norm(), 2e-4);
  }
  const Aabb box = shape.bounds(pose);
  for (const Vec3& p : solid->mesh.x) ASSERT_TRUE(box.grown(Real(1e-5)).contains(pose * p));
  const auto hit = shape.intersect(pose, {pose * Vec3(5, 0, 0), pose.rotation * Vec3(-1, 0, 0)});
  ASSERT_TRUE(hit);
  EXPECT_NEAR(
      solid->exact
          .closest(pose.to_local(Vec3(pose * Vec3(5, 0, 0) + hit->t * (pose.rotation * Vec3(-1, 0, 0)))))
          .distance,
      0, 1e-5);
  EXPECT_THROW(Shape(MeshShape{}), Error);
}

}}  // namespace plenum
