// Manifolds whose points are known.
#include <gtest/gtest.h>

#include <numbers>
#include <set>

#include "collide/solids.h"
#include "plenum/base/error.h"
#include "plenum/geometry/collide/collide.h"

namespace plenum { namespace {

using namespace test;

Manifold once(const Shape& a, const Shape& b, const Pose& pose, double margin = 0) {
  ManifoldCache cache;
  return collide(a, b, pose, static_cast<Real>(margin), cache);
}

/// Area that the points span in the plane across the normal: the largest quadrilateral of their order.
double spread(const Manifold& m) {
  double area = 0;
  for (int i = 0; i < m.count; ++i)
    for (int j = 0; j < m.count; ++j)
      for (int k = 0; k < m.count; ++k)
        area = std::max(
            area, 0.5 * static_cast<double>(
                            (m.points[j].x - m.points[i].x).cross(m.points[k].x - m.points[i].x).norm()));
  return area;
}

Shape box_hull(const Vec3& h) {
  return ConvexHullShape{std::make_shared<const ConvexHull>(ConvexHull::box(h))};
}

TEST(Manifold, ClosedFormsOfRoundShapes) {
  const Manifold balls = once(SphereShape{1}, SphereShape{2}, {{0, Real(2.5), 0}, Quat::Identity()});
  ASSERT_EQ(balls.count, 1);
  EXPECT_NEAR(balls.points[0].separation, -0.5, 1e-6);
  EXPECT_NEAR((balls.normal - Vec3(0, 1, 0)).norm(), 0, 1e-6);
  EXPECT_NEAR((balls.points[0].x - Vec3(0, Real(0.75), 0)).norm(), 0, 1e-6);
  EXPECT_EQ(once(SphereShape{1}, SphereShape{2}, {{0, Real(3.5), 0}, Quat::Identity()}, 0.4).count, 0);
  EXPECT_EQ(once(SphereShape{1}, SphereShape{2}, {{0, Real(3.5), 0}, Quat::Identity()}, 0.6).count, 1);

  // Concentric balls still have a unit normal.
  EXPECT_NEAR(once(SphereShape{1}, SphereShape{2}, {}).normal.norm(), 1, 1e-6);

  const Manifold on_box = once(BoxShape{{1, 1, 1}}, SphereShape{1}, {{2, 2, 0}, Quat::Identity()}, 1);
  ASSERT_EQ(on_box.count, 1);
  EXPECT_NEAR(on_box.points[0].separation, std::sqrt(2.0) - 1, 1e-6);
  EXPECT_NEAR((on_box.normal - Vec3(1, 1, 0).normalized()).norm(), 0, 1e-6);

  // Crossed capsules meet in one point, parallel ones in two, end to end in one.
  const Shape capsule = CapsuleShape{Real(0.5), 1};
  const Manifold crossed = once(capsule, capsule, {{0, 0, Real(0.9)}, turn(std::numbers::pi / 2, {0, 0, 1})});
  ASSERT_EQ(crossed.count, 1);
  EXPECT_NEAR(crossed.points[0].separation, -0.1, 1e-6);
  EXPECT_NEAR((crossed.points[0].x - Vec3(0, 0, Real(0.45))).norm(), 0, 1e-6);
  const Manifold parallel = once(capsule, capsule, {{Real(0.9), Real(0.5), 0}, Quat::Identity()});
  ASSERT_EQ(parallel.count, 2);
  std::set<double> ends;
  for (int k = 0; k < 2; ++k) {
    EXPECT_NEAR(parallel.points[k].separation, -0.1, 1e-6);
    ends.insert(static_cast<double>(parallel.points[k].x[1]));
  }
  EXPECT_NEAR(*ends.begin(), -0.5, 1e-6);
  EXPECT_NEAR(*ends.rbegin(), 1, 1e-6);
  EXPECT_EQ(once(capsule, capsule, {{0, Real(2.9), 0}, Quat::Identity()}).count, 1);
}

TEST(Manifold, BoxRestingOnABoxHasFourCorners) {
  for (const bool hulls : {false, true})
    for (double tilt : {0.0, 1e-4, -1e-4})
      for (double yaw : {0.0, 0.3, std::numbers::pi / 4}) {
        const Vec3 h(Real(0.5), Real(0.5), Real(0.5)), floor(5, Real(0.5), 5);
        const Shape a = hulls ? box_hull(floor) : Shape(BoxShape{floor}),
                    b = hulls ? box_hull(h) : Shape(BoxShape{h});
        const Pose pose{{1, Real(0.999), 2}, turn(tilt, {1, 0, Real(0.3)}) * turn(yaw, {0, 1, 0})};
        const Manifold m = once(a, b, pose, 0.01);
        ASSERT_EQ(m.count, 4);
        EXPECT_NEAR(m.normal[1], 1, 1e-4);
        EXPECT_NEAR(spread(m), 0.5, 1e-3);
        for (int k = 0; k < 4; ++k) EXPECT_NEAR(m.points[k].separation, -0.001, 2e-4);
      }
}

TEST(Manifold, ACardThatJutsOutOverACardLiesOnAllOfItsFace) {
  // One lies on another, out over its border by 1 mm and 2 cm. Tilted by t and l, all of its lower face is
  // within 0.24 t + 0.34 l = 2.5 mm of the other one, so four of its corners, or of where it passes the
  // border, are contacts; yet along the normal of edges that cross at the border it may be less deep than on
  // the face.
  const Vec3 h(Real(0.17), Real(0.006), Real(0.12));
  for (const bool hulls : {false, true})
    for (const double tilt : {-3e-3, -1e-3, 1e-3, 3e-3})
      for (const double lean : {-5e-3, -2e-3, 2e-3, 5e-3})
        for (const double yaw : {-0.1, -0.03, 0.003, 0.05}) {
          const Shape card = hulls ? box_hull(h) : Shape(BoxShape{h});
          const Quat q = turn(tilt, {1, 0, 0}) * turn(lean, {0, 0, 1}) * turn(yaw, {0, 1, 0});
          const Manifold m = once(card, card, {{Real(0.02), Real(0.0116), Real(0.001)}, q}, 0.005);
          SCOPED_TRACE(std::to_string(tilt) + " " + std::to_string(lean) + " " + std::to_string(yaw));
          EXPECT_EQ(m.count, 4);
          EXPECT_GT(m.normal[1], 0.999);
          // Most of half the overlap of the two, 0.32 by 0.239 m.
          EXPECT_GT(spread(m), 0.8 * 0.5 * 0.32 * 0.239);
        }
}

TEST(Manifold, EqualBoxesThatOverlapPartlyShareARectangle) {
  const Shape box = BoxShape{{Real(0.5), Real(0.5), Real(0.5)}},
              hull = box_hull({Real(0.5), Real(0.5), Real(0.5)});
  for (const Shape* b : {&box, &hull}) {
    const Manifold m = once(box, *b, {{Real(0.55), Real(0.999), Real(1e-6)}, Quat::Identity()}, 0.01);
    ASSERT_EQ(m.count, 4);
    EXPECT_NEAR(spread(m), 0.5 * 0.45, 1e-3);
    for (int k = 0; k < 4; ++k) {
      EXPECT_GT(m.points[k].x[0], 0.05 - 1e-3);
      EXPECT_LT(m.points[k].x[0], 0.5 + 1e-3);
    }
  }
  // Turned by 45 degrees the overlap is an octagon: four of its corners span most of it.
  const Manifold octagon = once(box, box, {{0, Real(0.999), 0}, turn(std::numbers::pi / 4, {0, 1, 0})}, 0.01);
  ASSERT_EQ(octagon.count, 4);
  EXPECT_GT(spread(octagon), 0.29);
}

TEST(Manifold, CrossedEdgesMeetInOnePoint) {
  const Vec3 h(1, 1, 1);
  for (const bool hulls : {false, true}) {
    const Shape box = hulls ? box_hull(h) : Shape(BoxShape{h});
    // Each box stands on an edge; the two edges cross at right angles, 1 cm deep.
    const Quat up = turn(std::numbers::pi / 4, {0, 0, 1}), across = turn(std::numbers::pi / 4, {1, 0, 0});
    const double height = 2 * std::sqrt(2.0) - 0.01;
    const Pose pose{up.conjugate() * Vec3(0, static_cast<Real>(height), 0), up.conjugate() * across};
    const Manifold m = once(box, box, pose);
    ASSERT_EQ(m.count, 1);
    EXPECT_NEAR(m.points[0].separation, -0.01, 1e-5);
    EXPECT_NEAR((up * m.normal - Vec3(0, 1, 0)).norm(), 0, 1e-5);
    EXPECT_NEAR((up * m.points[0].x - Vec3(0, static_cast<Real>(std::sqrt(2.0) - 0.005), 0)).norm(), 0, 1e-4);
  }
}

TEST(Manifold, StandingAndLyingCylinders) {
  const Shape cylinder = CylinderShape{Real(0.5), 1}, floor = BoxShape{{5, Real(0.5), 5}},
              plane = PlaneShape{}, cone = ConeShape{Real(0.5), 1};
  const Shape hull_floor = box_hull({5, Real(0.5), 5});
  for (const Shape* ground : {&floor, &plane, &hull_floor}) {
    const Real top = ground == &plane ? Real(0) : Real(0.5);
    for (const Shape* body : {&cylinder, &cone})
      for (double tilt : {0.0, 1e-4, 5e-3}) {
        const Pose standing{{0, top + Real(0.999), 0}, turn(tilt, {1, 0, Real(0.4)})};
        const Manifold m = once(*ground, *body, standing, 0.02);
        ASSERT_EQ(m.count, 4);
        EXPECT_GT(spread(m), 0.24);  // the square in the disc gives 0.25
        EXPECT_NEAR(m.normal[1], 1, 1e-3);
        EXPECT_NEAR(m.points[0].separation, -0.001, 0.5 * tilt + 1e-4);
      }
    const Pose lying{{0, top + Real(0.499), 0}, turn(std::numbers::pi / 2, {1, 0, 0})};
    const Manifold m = once(*ground, cylinder, lying, 0.01);
    ASSERT_EQ(m.count, 2);
    EXPECT_NEAR((m.points[0].x - m.points[1].x).norm(), 2, 1e-3);
    for (int k = 0; k < 2; ++k) EXPECT_NEAR(m.points[k].separation, -0.001, 1e-5);
    const Manifold capsule = once(*ground, CapsuleShape{Real(0.5), 1}, lying, 0.01);
    ASSERT_EQ(capsule.count, 2);
    EXPECT_NEAR((capsule.points[0].x - capsule.points[1].x).norm(), 2, 1e-3);
    for (int k = 0; k < 2; ++k) EXPECT_NEAR(capsule.points[k].separation, -0.001, 1e-5);
  }
  // Two lying cylinders side by side touch along a line.
  const Manifold side = once(cylinder, cylinder, {{Real(0.999), Real(0.3), 0}, Quat::Identity()}, 0.01);
  ASSERT_EQ(side.count, 2);
  EXPECT_NEAR((side.points[0].x - side.points[1].x).norm(), 1.7, 1e-3);
  // One cylinder on another: caps overlap in a disc.
  const Manifold stacked = once(cylinder, cylinder, {{0, Real(1.999), 0}, Quat::Identity()}, 0.01);
  ASSERT_EQ(stacked.count, 4);
  EXPECT_GT(spread(stacked), 0.24);
}

TEST(Manifold, TiltedDiscTouchesAtItsLowestPoint) {
  const Shape cylinder = CylinderShape{1, Real(0.1)}, floor = BoxShape{{5, Real(0.5), 5}};
  Dice dice(21);
  for (int i = 0; i < 50; ++i) {
    const double tilt = dice.between(0.05, 0.6), azimuth = dice.between(0, 6.28);
    const Quat q =
        turn(tilt, Vec3(static_cast<Real>(std::cos(azimuth)), 0, static_cast<Real>(std::sin(azimuth))));
    const double lowest = std::sin(tilt) + 0.1 * std::cos(tilt);
    const Manifold m = once(floor, cylinder, {{0, static_cast<Real>(0.5 + lowest - 0.001), 0}, q}, 0.001);
    ASSERT_GE(m.count, 1);
    Real deepest = 1;
    for (int k = 0; k < m.count; ++k) deepest = std::min(deepest, m.points[k].separation);
    EXPECT_NEAR(deepest, -0.001, 1e-5);
  }
}

TEST(Manifold, PlanesMeetEverything) {
  const Shape plane = PlaneShape{}, box = BoxShape{{Real(0.5), 1, Real(0.5)}};
  const Pose pose{{3, Real(0.995), 1}, Quat::Identity()};
  const Manifold m = once(plane, box, pose);
  ASSERT_EQ(m.count, 4);
  EXPECT_NEAR(spread(m), 0.5, 1e-5);
  for (int k = 0; k < 4; ++k) {
    EXPECT_NEAR(m.points[k].separation, -0.005, 1e-6);
    EXPECT_NEAR(m.points[k].x[1], -0.0025, 1e-6);
  }
  const Manifold w = once(box, plane, {pose.to_local(Vec3::Zero()), Quat::Identity()});
  ASSERT_EQ(w.count, 4);
  EXPECT_NEAR((w.normal - Vec3(0, -1, 0)).norm(), 0, 1e-6);
  EXPECT_EQ(once(plane, SphereShape{1}, {{0, Real(0.9), 0}, Quat::Identity()}).count, 1);
  EXPECT_EQ(once(plane, box_hull({1, 1, 1}), {{0, Real(0.99), 0}, Quat::Identity()}).count, 4);
  EXPECT_EQ(once(plane, plane, {}).count, 0);
  EXPECT_FALSE(can_collide(plane, plane));
  EXPECT_FALSE(can_collide(plane, TorusShape{1, Real(0.2)}));
  EXPECT_TRUE(can_collide(plane, box));
}

TEST(Manifold, RestingPairsKeepTheirIdsThroughNoise) {
  const Shape floor = BoxShape{{5, Real(0.5), 5}}, box = BoxShape{{Real(0.5), Real(0.5), Real(0.5)}},
              hull = box_hull({Real(0.5), Real(0.5), Real(0.5)}),
              cylinder = CylinderShape{Real(0.5), Real(0.5)};
  Dice dice(22);
  for (const Shape* a : {&floor, &box, &hull})
    for (const Shape* b : {&box, &hull, &cylinder})
      for (const Vec3& at : {Vec3(0, Real(0.999), 0), Vec3(Real(0.55), Real(0.999), 0),
                             Vec3(Real(0.2), Real(0.999), Real(0.3))}) {
        ManifoldCache cache;
        std::set<std::uint32_t> first;
        for (int i = 0; i < 200; ++i) {
          const Pose pose{at + (1e-5 * dice.direction()).cast<Real>(),
                          turn(2e-5 * dice.uniform(), dice.direction().cast<Real>())};
          const Manifold m = collide(*a, *b, pose, Real(0.01), cache);
          ASSERT_GE(m.count, 3);
          std::set<std::uint32_t> ids;
          for (int k = 0; k < m.count; ++k) ids.insert(m.points[k].id);
          if (i == 0) first = ids;
          ASSERT_EQ(ids, first) << i;
        }
      }
}

TEST(Manifold, SurvivesStrangeCachesAndPoses) {
  Dice dice(23);
  for (int i = 0; i < 3000; ++i) {
    const Shape a = random_shape(Kind(dice.below(num_kinds)), dice, 1),
                b = random_shape(Kind(dice.below(num_kinds)), dice, 1);
    ManifoldCache cache;
    cache.kind = static_cast<std::uint8_t>(dice.below(256));
    for (int k = 0; k < 4; ++k) {
      cache.a[k] = static_cast<std::uint8_t>(dice.below(256));
      cache.b[k] = static_cast<std::uint8_t>(dice.below(256));
    }
    cache.count = static_cast<std::uint8_t>(dice.below(256));
    // Aligned, coincident and touching placements, where axes vanish.
    Pose pose;
    if (dice.below(2)) pose.rotation = turn(std::numbers::pi / 2 * dice.below(4), Vec3::Unit(dice.below(3)));
    if (dice.below(2)) pose.position = static_cast<Real>(dice.below(3)) * Vec3::Unit(dice.below(3));
    const Manifold m = collide(a, b, pose, Real(0.1), cache);
    ASSERT_GE(m.count, 0);
    ASSERT_LE(m.count, 4);
    for (int k = 0; k < m.count; ++k) {
      EXPECT_TRUE(m.points[k].x.allFinite());
      EXPECT_TRUE(std::isfinite(m.points[k].separation));
      EXPECT_NEAR(m.normal.norm(), 1, 1e-5);
    }
  }
}

}}  // namespace plenum
