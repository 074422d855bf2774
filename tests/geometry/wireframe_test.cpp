// Lines of shapes lie on their surfaces, and there are as many as the shape has edges.
#include "plenum/geometry/wireframe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "plenum/geometry/convex_hull.h"
#include "plenum/geometry/height_field.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum { namespace {

using std::numbers::pi;

const Pose placed{Vec3(1, -2, 3), rotation_from_degrees(Vec3(20, 50, -70))};

Wireframe wires(const Shape& shape) {
  Wireframe out;
  add_wireframe(shape, placed, out);
  EXPECT_EQ(out.x.size(), 2 * out.segments.size());
  return out;
}

/// Ends are on the surface; chords of 11.25 degrees leave a circle of radius r by r (1 - cos 5.625 degrees).
void expect_on_surface(const Shape& shape, Real radius) {
  const Wireframe w = wires(shape);
  EXPECT_FALSE(w.segments.empty());
  const double sag = radius * (1 - std::cos(pi / 32));
  for (const Index2& s : w.segments) {
    const Vec3 a = placed.to_local(w.x[s[0]]), b = placed.to_local(w.x[s[1]]);
    EXPECT_NEAR(shape.exact_distance(a).distance, 0, 1e-5);
    EXPECT_NEAR(shape.exact_distance(b).distance, 0, 1e-5);
    const double middle = shape.exact_distance(Vec3((a + b) / 2)).distance;
    EXPECT_LE(std::abs(middle), sag + 1e-5);
  }
}

TEST(Wireframe, LinesLieOnTheSurface) {
  expect_on_surface(SphereShape{Real(0.7)}, Real(0.7));
  expect_on_surface(BoxShape{Vec3(Real(0.5), 1, 2)}, 0);
  expect_on_surface(CapsuleShape{Real(0.4), Real(0.8)}, Real(0.4));
  expect_on_surface(CylinderShape{Real(0.4), Real(0.8)}, Real(0.4));
  expect_on_surface(ConeShape{Real(0.4), Real(0.8)}, Real(0.4));
  // The widest circle bends least, and its chords' middles are the farthest inside.
  expect_on_surface(TorusShape{1, Real(0.3)}, Real(1.3));
}

TEST(Wireframe, HasTheEdgesOfPolyhedra) {
  EXPECT_EQ(wires(BoxShape{Vec3(1, 2, 3)}).segments.size(), 12u);
  const std::vector<Vec3> tetrahedron = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const auto hull = std::make_shared<const ConvexHull>(convex_hull(tetrahedron));
  EXPECT_EQ(wires(ConvexHullShape{hull}).segments.size(), 6u);
  // Of a box of triangles the diagonals are not edges; nor is anything of a fine ball.
  const auto box = std::make_shared<const SolidMesh>(box_mesh(Vec3(1, 2, 3), Index3(2, 2, 2)),
                                                     DistanceFieldOptions{.resolution = 8});
  EXPECT_EQ(wires(MeshShape{box}).segments.size(), 24u);
  EXPECT_TRUE(wires(PlaneShape{}).segments.empty());
}

TEST(Wireframe, HasTheLinesOfAGrid) {
  const std::vector<Real> heights = {0, 1, 0, 1, 2, 1};
  const auto field = std::make_shared<const HeightField>(3, 2, Real(0.5), heights);
  EXPECT_EQ(wires(HeightFieldShape{field}).segments.size(), 2u * 2 + 3u * 1);
}

TEST(Wireframe, ArcsBeginAndEndWhereTheyShould) {
  Wireframe w;
  add_arc(Vec3(1, 2, 3), Vec3::UnitZ(), Vec3(2, 0, 0), Real(pi / 2), w);
  EXPECT_EQ(w.segments.size(), 8u);
  EXPECT_LT((w.x.front() - Vec3(3, 2, 3)).norm(), 1e-6);
  EXPECT_LT((w.x.back() - Vec3(1, 4, 3)).norm(), 1e-6);
  for (const Vec3& x : w.x) EXPECT_NEAR((x - Vec3(1, 2, 3)).norm(), 2, 1e-6);
  w.clear();
  add_box({Vec3(0, 0, 0), Vec3(1, 2, 3)}, w);
  double length = 0;
  for (const Index2& s : w.segments) length += double((w.x[s[1]] - w.x[s[0]]).norm());
  EXPECT_NEAR(length, 4 * (1 + 2 + 3), 1e-5);
}

}}  // namespace plenum
