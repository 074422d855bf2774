#include "plenum/geometry/measures.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <numbers>

#include "plenum/base/parallel.h"
#include "plenum/geometry/shapes.h"

namespace plenum { namespace {

using std::numbers::pi;

MassProperties mass_of(const TriangleMesh& mesh, double density = 1) {
  return mass_properties(mesh.x, mesh.triangles, density);
}

void expect_near(const Matrix3<double>& a, const Matrix3<double>& b, double tolerance) {
  EXPECT_LE((a - b).cwiseAbs().maxCoeff(), tolerance) << a << "\n\n" << b;
}

Matrix3<double> diagonal(double a, double b, double c) {
  return Vector3<double>(a, b, c).asDiagonal();
}

TEST(MassProperties, BoxFarFromTheOriginIsExact) {
  TriangleMesh mesh = box_mesh({1, 2, 4}, {2, 1, 3});
  for (Vec3& p : mesh.x) p += Vec3(64, -32, 128);  // exact in float: the only error left is the algorithm's
  const MassProperties m = mass_of(mesh, 3);
  EXPECT_NEAR(m.volume, 64, 1e-4);
  EXPECT_NEAR(m.mass, 192, 1e-4);
  EXPECT_LE((m.centre - Vector3<double>(64, -32, 128)).norm(), 1e-5);
  // m/3 (b^2 + c^2) for half extents.
  expect_near(m.inertia, 192.0 / 3 * diagonal(4 + 16, 1 + 16, 1 + 4), 1e-2);
}

TEST(MassProperties, SphereAndTorusConvergeToClosedFormsInSecondOrder) {
  const auto errors = [](auto&& mesh_of, double mass, double about_axis, double across) {
    const Matrix3<double> exact = diagonal(across, about_axis, across);
    const MassProperties coarse = mass_of(mesh_of(1)), fine = mass_of(mesh_of(2));
    EXPECT_NEAR((mass - coarse.mass) / (mass - fine.mass), 4, 0.15);
    EXPECT_NEAR((exact - coarse.inertia).norm() / (exact - fine.inertia).norm(), 4, 0.15);
    EXPECT_LE((fine.inertia - exact).norm(), 0.02 * exact.norm());
  };
  const double sphere = 4 * pi / 3;
  errors([](int level) { return icosphere_mesh(1, 2 + level); }, sphere, 0.4 * sphere, 0.4 * sphere);
  // Solid torus: m (R^2 + 3/4 r^2) about its axis, m (R^2/2 + 5/8 r^2) across.
  const double R = 2, r = 0.5, torus = 2 * pi * pi * R * r * r;
  errors([](int level) { return torus_mesh(2, Real(0.5), 32 * level, 32 * level); }, torus,
         torus * (R * R + 0.75 * r * r), torus * (R * R / 2 + 0.625 * r * r));
}

TEST(MassProperties, TurnWithTheBody) {
  TriangleMesh mesh = box_mesh({1, 2, 3});
  const Matrix3<double> upright = mass_of(mesh).inertia;
  const Mat3 turn = Eigen::AngleAxis<Real>(Real(0.7), Vec3(1, 2, 3).normalized()).toRotationMatrix();
  for (Vec3& p : mesh.x) p = turn * p;
  const Matrix3<double> r = turn.cast<double>();
  expect_near(mass_of(mesh).inertia, r * upright * r.transpose(), 1e-3);
}

TEST(MassProperties, TetrahedraAndTheirHullAgree) {
  TetMesh mesh = box_tetrahedra({1, 2, 3}, {3, 4, 2});
  for (Vec3& p : mesh.x) p += Vec3(5, 6, 7) + Real(0.05) * Vec3(p[1] * p[1], p[2] * p[0], p[0] * p[0]);
  const MassProperties of_tets = mass_properties(mesh.x, mesh.tetrahedra, 2);
  const MassProperties of_hull = mass_properties(mesh.x, boundary_triangles(mesh.tetrahedra), 2);
  EXPECT_NEAR(of_tets.mass, of_hull.mass, 1e-9 * of_tets.mass);
  EXPECT_LE((of_tets.centre - of_hull.centre).norm(), 1e-9);
  expect_near(of_tets.inertia, of_hull.inertia, 1e-8 * of_tets.inertia.norm());
}

TEST(Measures, SurfaceAreaAndCentroid) {
  TriangleMesh mesh = box_mesh({1, 2, 3}, {2, 2, 2});
  for (Vec3& p : mesh.x) p += Vec3(4, 5, 6);
  EXPECT_NEAR(surface_area(mesh.x, mesh.triangles), 88, 1e-4);
  EXPECT_LE((surface_centroid(mesh.x, mesh.triangles) - Vector3<double>(4, 5, 6)).norm(), 1e-5);
  double sum = 0;
  for (const Real a : triangle_areas(mesh.x, mesh.triangles)) sum += a;
  EXPECT_NEAR(sum, 88, 1e-4);
}

TEST(Measures, LumpedMassesSumToTheMass) {
  const TriangleMesh cloth = grid_mesh({10, 10}, 20, 30);
  const std::vector<Real> areal = lumped_masses(cloth.x, cloth.triangles, 0.2);
  double sum = 0;
  for (const Real m : areal) {
    EXPECT_GT(m, 0);
    sum += m;
  }
  EXPECT_NEAR(sum, 20, 1e-4);
  const TetMesh body = box_tetrahedra({1, 2, 3}, {2, 3, 4});
  sum = 0;
  for (const Real m : lumped_masses(body.x, body.tetrahedra, 1000)) sum += m;
  EXPECT_NEAR(sum, 48000, 0.05);
}

TEST(Normals, HaveUnitLengthAndConvergeToThoseOfASurface) {
  // Facet normals err by O(h). Where the triangles around a vertex are symmetric about it up to O(h), as on a
  // regular torus, these errors cancel and the order is two; on the icosphere's creases it is one.
  const auto worst = [](const TriangleMesh& mesh, auto&& exact) {
    const std::vector<Vec3> normals = vertex_normals(mesh);
    Real error = 0;
    for (std::size_t v = 0; v < mesh.x.size(); ++v) {
      EXPECT_NEAR(normals[v].norm(), 1, 1e-6);
      error = std::max(error, (normals[v] - exact(mesh.x[v])).norm());
    }
    return error;
  };
  const auto of_torus = [](const Vec3& p) {
    return Vec3((p - Real(2) * Vec3(p[0], 0, p[2]).normalized()).normalized());
  };
  const Real half = Real(0.5);
  EXPECT_NEAR(worst(torus_mesh(2, half, 32, 16), of_torus) / worst(torus_mesh(2, half, 64, 32), of_torus), 4,
              0.5);
  const auto of_sphere = [](const Vec3& p) { return Vec3(p.normalized()); };
  EXPECT_NEAR(worst(icosphere_mesh(3, 3), of_sphere) / worst(icosphere_mesh(3, 4), of_sphere), 2, 0.3);
}

TEST(Normals, AreWeightedByArea) {
  // One vertex between a unit right triangle facing +z and one three times as large facing +x.
  const TriangleMesh mesh{{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 3, 0}, {0, 0, 1}}, {{0, 1, 2}, {0, 3, 4}}};
  const Vec3 expected = Vec3(3, 0, 1).normalized();
  EXPECT_LE((vertex_normals(mesh)[0] - expected).norm(), 1e-6);
}

TEST(Normals, OfTinyMeshesSurviveAndLooseVerticesGetZero) {
  TriangleMesh mesh = icosphere_mesh(Real(1e-9), 1);
  mesh.x.emplace_back(1, 1, 1);
  const std::vector<Vec3> normals = vertex_normals(mesh);
  for (std::size_t v = 0; v + 1 < mesh.x.size(); ++v) ASSERT_NEAR(normals[v].norm(), 1, 1e-5);
  EXPECT_EQ(normals.back(), Vec3(Vec3::Zero()));
}

TEST(Normals, HaveTheSameBitsForEveryThreadCount) {
  const TriangleMesh mesh = torus_mesh(1, Real(0.3), 80, 40);
  const std::vector<Vec3> expected = vertex_normals(mesh);
  for (const int threads : {1, 2, 3, 8})
    with_threads(threads, [&] { EXPECT_EQ(vertex_normals(mesh), expected); });
}

TEST(Adjacency, OfTwoTriangles) {
  const std::vector<Index3> triangles = {{0, 1, 2}, {2, 1, 3}};
  EXPECT_EQ(unique_edges(triangles), (std::vector<Index2>{{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}}));
  const auto h = hinges(triangles);
  EXPECT_EQ(h, (std::vector<Index4>{{1, 2, 0, 3}}));
  EXPECT_EQ(triangle_neighbours(triangles), (std::vector<Index3>{{-1, 1, -1}, {0, -1, -1}}));
  const Rows rows = vertex_triangles(4, triangles);
  EXPECT_EQ(std::vector<Index>(rows[1].begin(), rows[1].end()), (std::vector<Index>{0, 1}));
  EXPECT_EQ(std::vector<Index>(rows[3].begin(), rows[3].end()), (std::vector<Index>{1}));
  const Rows ring = vertex_neighbours(4, unique_edges(triangles));
  EXPECT_EQ(std::vector<Index>(ring[1].begin(), ring[1].end()), (std::vector<Index>{0, 2, 3}));
}

TEST(Adjacency, CountsOfAGridFollowEuler) {
  const Index n = 7, m = 5;
  const TriangleMesh mesh = grid_mesh({1, 1}, n, m);
  const auto edges = unique_edges(mesh.triangles);
  EXPECT_EQ(Index(edges.size()), n * (m + 1) + m * (n + 1) + n * m);
  EXPECT_EQ(Index(hinges(mesh.triangles).size()), n * (m - 1) + m * (n - 1) + n * m);  // inner edges
  const TetMesh tets = box_tetrahedra({1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(unique_edges(tets.tetrahedra).size(), 18u);  // 12 of the cube, 6 diagonals
}

}}  // namespace plenum
