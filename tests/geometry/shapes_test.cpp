#include "plenum/geometry/shapes.h"

#include <gtest/gtest.h>

#include <numbers>
#include <set>

#include "plenum/base/error.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/topology.h"

namespace plenum { namespace {

using std::numbers::pi;

/// Every edge has two triangles that run along it in opposite directions; no vertex is unused or doubled.
void expect_watertight(const TriangleMesh& mesh) {
  const auto halves = sorted_half_edges(mesh.triangles);
  ASSERT_EQ(halves.size() % 2, 0u);
  for (std::size_t i = 0; i < halves.size(); i += 2) {
    ASSERT_NE(halves[i].low, halves[i].high);
    ASSERT_EQ(halves[i].low, halves[i + 1].low);
    ASSERT_EQ(halves[i].high, halves[i + 1].high);
    ASSERT_NE(halves[i].forward, halves[i + 1].forward);
    const bool more_than_two =
        i + 2 < halves.size() && halves[i].low == halves[i + 2].low && halves[i].high == halves[i + 2].high;
    ASSERT_FALSE(more_than_two);
  }
  const Rows incident = vertex_triangles(mesh.x.size(), mesh.triangles);
  std::set<std::array<Real, 3>> places;
  for (std::size_t v = 0; v < mesh.x.size(); ++v) {
    ASSERT_GT(incident[v].size(), 0u);
    ASSERT_TRUE(places.insert({mesh.x[v][0], mesh.x[v][1], mesh.x[v][2]}).second);
  }
}

int euler_characteristic(const TriangleMesh& mesh) {
  return int(mesh.x.size()) - int(unique_edges(mesh.triangles).size()) + int(mesh.triangles.size());
}

double volume(const TriangleMesh& mesh) {
  return enclosed_volume(mesh.x, mesh.triangles);
}

TEST(Shapes, ClosedOnesAreWatertightOutwardAndOfTheRightGenus) {
  const std::vector<std::pair<TriangleMesh, int>> meshes = {{box_mesh({1, 2, 3}, {2, 3, 4}), 2},
                                                            {icosphere_mesh(Real(0.5), 3), 2},
                                                            {cylinder_mesh(1, 2, 12, 3, 2), 2},
                                                            {capsule_mesh(1, 2, 12, 3, 4), 2},
                                                            {cone_mesh(1, 1, 12, 3, 2), 2},
                                                            {torus_mesh(2, Real(0.5), 24, 12), 0},
                                                            {box_mesh({1, 1, 1}), 2},
                                                            {cylinder_mesh(1, 1, 3), 2},
                                                            {capsule_mesh(1, Real(0.1), 3, 1, 1), 2},
                                                            {cone_mesh(1, 1, 3), 2},
                                                            {torus_mesh(1, Real(0.25), 3, 3), 0},
                                                            {icosphere_mesh(1, 0), 2}};
  for (const auto& [mesh, characteristic] : meshes) {
    expect_watertight(mesh);
    EXPECT_EQ(euler_characteristic(mesh), characteristic);
    EXPECT_GT(volume(mesh), 0);
  }
}

TEST(Shapes, PrismVolumesAreExact) {
  // A regular n-gon of circumradius r has area n/2 r^2 sin(2 pi / n).
  const double polygon = 12 / 2.0 * std::sin(2 * pi / 12);
  EXPECT_NEAR(volume(box_mesh({1, 2, 3}, {2, 3, 4})), 48, 48e-6);
  EXPECT_NEAR(volume(cylinder_mesh(1, 2, 12, 3, 2)), polygon * 4, polygon * 4e-6);
  EXPECT_NEAR(volume(cone_mesh(1, 1, 12, 3, 2)), polygon * 2 / 3, polygon * 1e-6);
}

TEST(Shapes, CurvedVolumesConvergeInSecondOrder) {
  // Inscribed polyhedra err by O(h^2): halving h divides the error by four.
  const auto expect_second_order = [](double exact, auto&& mesh_of) {
    const double coarse = exact - volume(mesh_of(1)), fine = exact - volume(mesh_of(2));
    EXPECT_GT(fine, 0);
    EXPECT_NEAR(coarse / fine, 4, 0.15);
  };
  expect_second_order(4 * pi / 3, [](int level) { return icosphere_mesh(1, 2 + level); });
  expect_second_order(2 * pi * pi * 2 * 0.25,
                      [](int level) { return torus_mesh(2, Real(0.5), 32 * level, 32 * level); });
  expect_second_order(pi * 4 + 4 * pi / 3,
                      [](int level) { return capsule_mesh(1, 2, 24 * level, 1, 6 * level); });
}

TEST(Shapes, IcosphereHasItsVerticesOnTheSphereAndTheCountItPromises) {
  const TriangleMesh mesh = icosphere_mesh(2, 4);
  EXPECT_EQ(mesh.x.size(), 10u * 256 + 2);
  for (const Vec3& p : mesh.x) ASSERT_NEAR(p.norm(), 2, 1e-6);
}

TEST(Shapes, GridFacesUpCoversItsRectangleAndNumbersItsVerticesByRows) {
  for (const Diagonals diagonals : {Diagonals::same, Diagonals::alternating}) {
    const TriangleMesh mesh = grid_mesh({2, 3}, 4, 5, diagonals);
    ASSERT_EQ(mesh.x.size(), 30u);
    for (const Index3& t : mesh.triangles) {
      const Vec3 area = area_vector(mesh.x[t[0]], mesh.x[t[1]], mesh.x[t[2]]);
      EXPECT_NEAR(area[1], 0.5 * 0.5 * 0.6, 1e-6);
    }
    EXPECT_NEAR(surface_area(mesh.x, mesh.triangles), 6, 1e-5);
    EXPECT_EQ(mesh.x[2 * 5 + 1], Vec3(Real(-0.5), 0, Real(3 * (2 / 5.0 - 0.5))));
  }
}

TEST(Shapes, BoxTetrahedraFillTheBoxAndMatchAcrossFaces) {
  const TetMesh mesh = box_tetrahedra({1, 2, 3}, {3, 4, 2});
  double sum = 0;
  for (const Real v : tetrahedron_volumes(mesh.x, mesh.tetrahedra)) {
    ASSERT_GT(v, 0);
    sum += v;
  }
  EXPECT_NEAR(sum, 48, 48e-6);
  TriangleMesh hull{mesh.x, boundary_triangles(mesh.tetrahedra)};
  // Faces that did not match would remain inside: exactly two triangles a cell face of the hull.
  EXPECT_EQ(hull.triangles.size(), 2u * 2 * (3 * 4 + 4 * 2 + 2 * 3));
  EXPECT_NEAR(volume(hull), 48, 48e-6);
  EXPECT_NEAR(surface_area(hull.x, hull.triangles), 2.0 * (2 * 4 + 4 * 6 + 6 * 2), 1e-4);
}

TEST(Shapes, ARevolvedProfileHoldsThePrismsOfItsPolygon) {
  // A cup: its volume is that of the outer prism less the inner one, both over a regular polygon.
  const Real r = Real(0.5), t = Real(0.04), height = 1;
  const std::vector<Vec2> profile = {{0, 0}, {r, 0}, {r, height}, {r - t, height}, {r - t, t}, {0, t}};
  const TriangleMesh cup = revolved_mesh(profile, 40);
  EXPECT_TRUE(topology(cup).solid()) << topology(cup).complaint();
  const double polygon = 20 * std::sin(2 * std::numbers::pi / 40);  // area over radius squared
  EXPECT_NEAR(volume(cup), polygon * (0.25 - 0.46 * 0.46 * 0.96), 1e-5);
}

TEST(Shapes, BadArgumentsAreRefused) {
  const std::vector<Vec2> off = {{1, 0}, {1, 1}, {0, 1}};
  EXPECT_THROW(revolved_mesh(off, 8), Error);
  EXPECT_THROW(revolved_mesh(std::span(off).last(2), 8), Error);
  EXPECT_THROW(icosphere_mesh(-1, 2), Error);
  EXPECT_THROW(icosphere_mesh(1, 30), Error);
  EXPECT_THROW(box_mesh({1, 1, std::numeric_limits<Real>::quiet_NaN()}), Error);
  EXPECT_THROW(box_mesh({1, 1, 1}, {1 << 20, 1 << 20, 1}), Error);
  EXPECT_THROW(grid_mesh({1, 1}, 0, 1), Error);
  EXPECT_THROW(torus_mesh(1, 1, 8, 8), Error);
  EXPECT_THROW(cylinder_mesh(1, 1, 2), Error);
  EXPECT_THROW(box_tetrahedra({1, 1, 1}, {1 << 12, 1 << 12, 1 << 12}), Error);
}

}}  // namespace plenum
