#include "plenum/geometry/height_field.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plenum/base/error.h"
#include "plenum/base/random.h"
#include "plenum/geometry/mesh_distance.h"
#include "plenum/geometry/shape.h"
#include "plenum/geometry/shapes.h"

namespace plenum { namespace {

HeightField rough(Index columns, Index rows, Real spacing) {
  std::vector<Real> y;
  for (Index i = 0; i < columns * rows; ++i) y.push_back(uniform4(3, std::uint64_t(i), 0)[0]);
  return {columns, rows, spacing, y};
}

Vec3 point_about_field(int i, Real size) {
  const Vec4 r = uniform4(4, std::uint64_t(i), 0);
  return Vec3(size * (2 * r[0] - 1), Real(0.5) + 2 * (2 * r[1] - 1), size * (2 * r[2] - 1));
}

TEST(HeightField, DistancesAndRaysAgreeWithItsMesh) {
  const HeightField field = rough(23, 14, Real(0.2));
  const TriangleMesh mesh = height_field_mesh(field);
  const MeshDistance exact(mesh);
  int below = 0, hits = 0;
  for (int i = 0; i < 2000; ++i) {
    const Vec3 p = point_about_field(i, 3);
    const SignedDistance<Real> d = field.signed_distance(p);
    ASSERT_NEAR(std::abs(d.distance), exact.closest(p).distance, 2e-6) << i;
    ASSERT_NEAR(d.normal.norm(), 1, 1e-5);
    // Below means that the surface is straight above.
    const auto above = exact.intersect({p, Vec3::UnitY()});
    if (std::abs(d.distance) > 1e-4) {
      ASSERT_EQ(d.distance < 0, above.has_value()) << p.transpose();
    }
    below += d.distance < 0;
    const Vec3 direction = point_about_field(i + 5000, 3) - p;
    const auto hit = field.intersect({p, direction}), truth = exact.intersect({p, direction});
    ASSERT_EQ(hit.has_value(), truth.has_value()) << i;
    if (!hit) continue;
    ++hits;
    ASSERT_NEAR(hit->t, truth->t, 1e-5);
    ASSERT_LT((hit->normal - truth->normal).norm(), 1e-4);
    ASSERT_GT(hit->normal[1], 0);
  }
  EXPECT_GT(below, 300);
  EXPECT_GT(hits, 300);
}

TEST(HeightField, TrianglesKnowTheirNeighbours) {
  const HeightField field = rough(7, 5, 1);
  const TriangleMesh mesh = height_field_mesh(field);
  const SurfaceFeatures features(mesh);
  EXPECT_FALSE(features.is_closed);
  for (Index t = 0; t < Index(mesh.triangles.size()); ++t) {
    ASSERT_EQ(field.sides(t), features.sides[std::size_t(t)]) << t;
    for (int side = 0; side < 3; ++side)
      ASSERT_EQ(field.opposite(t, side), features.opposite[std::size_t(t)][side]) << t << " " << side;
    // The middle of a triangle lies over it.
    const Index3& v = mesh.triangles[std::size_t(t)];
    const Vec3 middle =
        (mesh.x[std::size_t(v[0])] + mesh.x[std::size_t(v[1])] + mesh.x[std::size_t(v[2])]) / 3;
    ASSERT_EQ(field.triangle_at(middle[0], middle[2]), t);
  }
}

TEST(HeightField, BoxQueriesMissNothing) {
  const HeightField field = rough(20, 31, Real(0.5));
  const TriangleMesh mesh = height_field_mesh(field);
  for (int i = 0; i < 200; ++i) {
    Aabb box;
    box.extend(point_about_field(i, 5));
    box.extend(Vec3(box.low + Vec3::Constant(Real(0.7) * uniform4(5, std::uint64_t(i), 0)[0])));
    std::vector<int> found(mesh.triangles.size(), 0);
    field.overlapping(box, [&](Index t) { ++found[std::size_t(t)]; });
    for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
      ASSERT_LE(found[t], 1);
      Aabb own;
      for (int k = 0; k < 3; ++k) own.extend(mesh.x[std::size_t(mesh.triangles[t][k])]);
      if (own.overlaps(box)) {
        ASSERT_EQ(found[t], 1);
      }
    }
  }
}

TEST(HeightField, IsAShape) {
  const auto field = std::make_shared<const HeightField>(rough(9, 9, Real(0.25)));
  const Shape shape = HeightFieldShape{field};
  const Pose pose{Vec3(1, 2, 3), Quat(Eigen::AngleAxis<Real>(Real(0.5), Vec3::UnitZ()))};
  std::vector<Vec3> x, normal(300);
  std::vector<Real> distance(300);
  for (int i = 0; i < 300; ++i) x.push_back(pose * point_about_field(i, 2));
  shape.signed_distances(pose, x, distance, normal);
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(distance[i], field->signed_distance(pose.to_local(x[i])).distance, 1e-5);
  for (Index v = 0; v < 81; ++v)
    ASSERT_TRUE(shape.bounds(pose).grown(Real(1e-5)).contains(pose * field->vertex(v)));
  const auto hit =
      shape.intersect(pose, {pose * Vec3(Real(0.1), 5, Real(0.2)), pose.rotation * Vec3(0, -1, 0)});
  ASSERT_TRUE(hit);
  EXPECT_NEAR(field->signed_distance(Vec3(Real(0.1), 5 - hit->t, Real(0.2))).distance, 0, 1e-5);
  EXPECT_THROW(Shape(HeightFieldShape{}), Error);
}

TEST(HeightField, RefusesWhatIsNone) {
  const std::vector<Real> four(4, 0);
  EXPECT_NO_THROW(HeightField(2, 2, 1, four));
  EXPECT_THROW(HeightField(1, 4, 1, four), Error);
  EXPECT_THROW(HeightField(2, 3, 1, four), Error);
  EXPECT_THROW(HeightField(2, 2, 0, four), Error);
  std::vector<Real> bad = four;
  bad[2] = std::numeric_limits<Real>::quiet_NaN();
  EXPECT_THROW(HeightField(2, 2, 1, bad), Error);
}

TEST(SurfaceFeatures, OfABoxAreItsTwelveEdges) {
  const TriangleMesh mesh = box_mesh({1, 1, 1}, Index3(2, 2, 2));
  const SurfaceFeatures features(mesh);
  EXPECT_TRUE(features.is_closed);
  int convex = 0;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    for (int k = 0; k < 3; ++k) {
      const Vec3 middle = Real(0.5) * (mesh.x[std::size_t(mesh.triangles[t][k])] +
                                       mesh.x[std::size_t(mesh.triangles[t][(k + 1) % 3])]);
      const bool is_edge = (middle.cwiseAbs().array() > Real(0.999)).count() >= 2;
      ASSERT_EQ(features.sides[t] >> k & 1, int(is_edge));
      ASSERT_EQ(features.sides[t] >> (3 + k) & 1, 0);
      convex += is_edge;
    }
  EXPECT_EQ(convex, 12 * 2 * 2);  // two pieces of each, from two sides
  // Inside out, the edges are concave.
  TriangleMesh room = mesh;
  for (Index3& t : room.triangles) std::swap(t[1], t[2]);
  int concave = 0;
  for (const SideBits bits : SurfaceFeatures(room).sides) {
    ASSERT_EQ(bits & 7, 0);
    for (int k = 3; k < 6; ++k) concave += bits >> k & 1;
  }
  EXPECT_EQ(concave, 48);
  // Without a triangle, its neighbours have borders.
  TriangleMesh open = mesh;
  open.triangles.pop_back();
  EXPECT_FALSE(SurfaceFeatures(open).is_closed);
}

}}  // namespace plenum
