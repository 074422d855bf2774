// Contacts of meshes with meshes, boxes and height fields, against those of the convex shapes that the meshes
// are of.
#include "plenum/geometry/collide/mesh_contacts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>
#include <random>

#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/height_field.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum { namespace {

Shape mesh_shape(const TriangleMesh& mesh, Index resolution = 16) {
  return MeshShape{std::make_shared<const SolidMesh>(mesh, DistanceFieldOptions{.resolution = resolution})};
}

struct DeepestPoint {
  Real separation = std::numeric_limits<Real>::infinity();
  Vec3 normal = Vec3::Zero(), x = Vec3::Zero();
};
DeepestPoint deepest_point(const SurfaceManifolds& found) {
  DeepestPoint d;
  for (int s = 0; s < found.count; ++s)
    for (int q = 0; q < found.manifolds[s].count; ++q)
      if (found.manifolds[s].points[q].separation < d.separation)
        d = {found.manifolds[s].points[q].separation, found.manifolds[s].normal,
             found.manifolds[s].points[q].x};
  return d;
}

TEST(MeshContacts, MeshesOfBoxesMeetAsBoxes) {
  // Two boxes in 1000 places, apart by less than the margin or overlapping by a fiftieth. collide() may
  // prefer a face that is up to four thousandths of the least half extent worse: 1 mm. Apart, the least of
  // the separations is the distance, and its normal separates by as much. Overlapping, there may be several
  // local ways out, each at least as deep as the least; a direction beside a normal cone by a sine of 0.02 is
  // off by as much along an edge of 1 m.
  std::mt19937 random(7);
  std::uniform_real_distribution<Real> unit(-1, 1);
  const Vec3 ha(Real(0.5), Real(0.3), Real(0.4)), hb(Real(0.35), Real(0.45), Real(0.25));
  const Shape a = BoxShape{ha}, b = BoxShape{hb};
  for (const Index cells : {1, 4}) {
    const Shape mesh_a = mesh_shape(box_mesh(ha, Index3::Constant(cells))),
                mesh_b = mesh_shape(box_mesh(hb, Index3::Constant(cells)), 24);
    int apart = 0, overlapping = 0;
    for (int k = 0; k < 20000 && apart + overlapping < 1000; ++k) {
      const Pose at{Vec3(unit(random), unit(random), unit(random)),
                    Quat(unit(random), unit(random), unit(random), unit(random)).normalized()};
      ManifoldCache cache;
      const Manifold m = collide(a, b, at, Real(0.1), cache);
      Real expected = std::numeric_limits<Real>::infinity();
      for (int q = 0; q < m.count; ++q) expected = std::min(expected, m.points[q].separation);
      if (m.count == 0 || expected < Real(-0.01)) continue;
      ++(expected > 0 ? apart : overlapping);
      for (const Shape* other : {&mesh_b, &b}) {
        SurfaceManifolds found;
        collide_mesh(mesh_a, *other, at, Real(0.1), found);
        const DeepestPoint d = deepest_point(found);
        // Of boxes the farthest point along a direction is a closed form.
        const Real top = d.normal.cwiseAbs().dot(ha),
                   bottom =
                       d.normal.dot(at.position) - (at.rotation.conjugate() * d.normal).cwiseAbs().dot(hb);
        if (expected > 0) {
          EXPECT_NEAR(d.separation, expected, 1e-3) << k << " of " << cells;
          EXPECT_NEAR(bottom - top, d.separation, 1e-3) << k << " of " << cells;
        } else {
          EXPECT_LT(d.separation, expected + Real(1e-3)) << k << " of " << cells;
          EXPECT_NEAR(bottom - top, d.separation, 0.02) << k << " of " << cells;
        }
      }
    }
    EXPECT_EQ(apart + overlapping, 1000);
    EXPECT_GT(overlapping, 50);
  }
}

TEST(MeshContacts, CrossedPlanksMeetInFourPoints) {
  // No vertex of one is over a face of the other: the corners of what they share are edges that cross.
  const Shape plank = mesh_shape(box_mesh(Vec3(2, Real(0.1), Real(0.2))));
  SurfaceManifolds found;
  const Pose at{Vec3(0, Real(0.199), 0),
                Quat(Eigen::AngleAxis<Real>(std::numbers::pi_v<Real> / 2, Vec3::UnitY()))};
  collide_mesh(plank, plank, at, Real(0.01), found);
  ASSERT_EQ(found.count, 1);
  ASSERT_EQ(found.manifolds[0].count, 4);
  EXPECT_NEAR(found.manifolds[0].normal.y(), 1, 1e-6);
  for (const Manifold::Point& p : found.manifolds[0].points) {
    EXPECT_NEAR(p.separation, -0.001, 1e-6);
    EXPECT_NEAR(std::abs(p.x.x()), 0.2, 1e-5);
    EXPECT_NEAR(std::abs(p.x.z()), 0.2, 1e-5);
  }
}

TEST(MeshContacts, ABoxOnAPlaneAndOnFlatGroundRestsOnItsCorners) {
  const Shape box = mesh_shape(box_mesh(Vec3::Constant(Real(0.5)), Index3(3, 3, 3)));
  const std::vector<Real> heights(64, Real(0));
  const Shape ground = HeightFieldShape{std::make_shared<const HeightField>(8, 8, Real(0.37), heights)};
  for (const bool plane : {false, true}) {
    SurfaceManifolds found;
    const Pose below{Vec3(0, Real(-0.501), 0), Quat::Identity()};
    if (plane)
      collide_mesh_plane(box, below, Real(0.01), found);
    else
      collide_mesh(box, ground, below, Real(0.01), found);
    ASSERT_EQ(found.count, 1);
    ASSERT_EQ(found.manifolds[0].count, 4);
    EXPECT_NEAR(found.manifolds[0].normal.y(), -1, 1e-6);
    for (const Manifold::Point& p : found.manifolds[0].points) {
      EXPECT_NEAR(p.separation, 0.001, 1e-6);
      EXPECT_NEAR(std::abs(p.x.x()), 0.5, 1e-5);
      EXPECT_NEAR(std::abs(p.x.z()), 0.5, 1e-5);
    }
  }
}

TEST(MeshContacts, InnerEdgesOfAFlatFaceAreNotFelt) {
  // A corner over the flat face of a finely divided box, at any place, meets it straight.
  const Shape fine = mesh_shape(box_mesh(Vec3(1, Real(0.2), 1), Index3(9, 2, 9))),
              small = mesh_shape(box_mesh(Vec3::Constant(Real(0.1))));
  for (int k = 0; k < 50; ++k) {
    const Quat turn = Quat(Eigen::AngleAxis<Real>(Real(0.6), Vec3(1, 0, Real(0.7)).normalized()));
    Real low = 0;
    for (int c = 0; c < 8; ++c)
      low = std::min(low, (turn * Vec3(c & 1 ? Real(0.1) : Real(-0.1), c & 2 ? Real(0.1) : Real(-0.1),
                                       c & 4 ? Real(0.1) : Real(-0.1)))
                              .y());
    const Pose at{Vec3(Real(0.013 * k - 0.3), Real(0.2) - low - Real(1e-3), Real(0.007 * k)), turn};
    SurfaceManifolds found;
    collide_mesh(fine, small, at, Real(0.005), found);
    ASSERT_EQ(found.count, 1) << k;
    EXPECT_NEAR(found.manifolds[0].normal.y(), 1, 1e-5) << k;
    EXPECT_NEAR(deepest_point(found).separation, -1e-3, 1e-6) << k;
  }
}

}}  // namespace plenum
