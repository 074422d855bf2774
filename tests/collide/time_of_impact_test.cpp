#include "plenum/geometry/collide/time_of_impact.h"

#include <gtest/gtest.h>

#include <numbers>

#include "collide/solids.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/collide/gjk.h"

namespace plenum { namespace {

using namespace test;

Pose at(const Vec3& x) {
  return {x, Quat::Identity()};
}

/// The motion of the contract: straight, and turning at a constant rate.
Pose moved(const Pose& p, const Pose& q, double s) {
  return {p.position + static_cast<Real>(s) * (q.position - p.position),
          p.rotation.slerp(static_cast<Real>(s), q.rotation)};
}

std::optional<Impact> first_touch(const Shape& a, const Pose& a0, const Pose& a1, const Shape& b,
                                  const Pose& b0, const Pose& b1, Real separation, Real tolerance) {
  return time_of_impact(a, Sweep::between(a0, a1), b, Sweep::between(b0, b1), separation, tolerance);
}

TEST(TimeOfImpact, BulletStopsBeforeThinWall) {
  // A 1 cm ball at 300 m/s, a step of 1/60 s: 5 m, through a wall of 1 mm.
  const Shape ball = SphereShape{Real(0.005)}, wall = BoxShape{{Real(0.0005), 1, 1}};
  for (double y : {0.0, 0.37, -0.9}) {
    const Vec3 from(-2, static_cast<Real>(y), Real(0.1)), to(3, static_cast<Real>(y), Real(0.1));
    const auto hit = first_touch(wall, at({0, 0, 0}), at({0, 0, 0}), ball, at(from), at(to), 0, Real(1e-4));
    ASSERT_TRUE(hit);
    EXPECT_NEAR(hit->s, (2 - 0.0055) / 5, 1e-4 / 5 + 1e-6);
    EXPECT_LE(hit->s, (2 - 0.0055) / 5 + 1e-6);
    EXPECT_NEAR((hit->normal - Vec3(-1, 0, 0)).norm(), 0, 1e-5);
  }
  const auto miss = first_touch(wall, at({0, 0, 0}), at({0, 0, 0}), ball, at({-2, Real(1.1), 0}),
                                at({3, Real(1.1), 0}), 0, Real(1e-4));
  EXPECT_FALSE(miss);
  // Both moving: only relative motion counts, far from the world's origin too.
  const Vec3 far(300, 200, 100);
  const auto both = first_touch(wall, at(far), at(far + Vec3(10, 0, 0)), ball, at(far + Vec3(-2, 0, 0)),
                                at(far + Vec3(13, 0, 0)), 0, Real(1e-4));
  ASSERT_TRUE(both);
  EXPECT_NEAR(both->s, (2 - 0.0055) / 5, 1e-4);
}

TEST(TimeOfImpact, SpinningRodHitsABall) {
  // A rod of half length 1 turns through 90 degrees from the x axis to the y axis about z; a ball of radius
  // 0.1 waits at distance 0.8 on the diagonal. Contact: sin(45 deg - angle) 0.8 = 0.1 + 0.05.
  const Shape rod = CapsuleShape{Real(0.05), 1}, ball = SphereShape{Real(0.1)};
  const Quat flat = turn(-std::numbers::pi / 2, {0, 0, 1});
  const Pose end{Vec3::Zero(), turn(std::numbers::pi / 2, {0, 0, 1}) * flat};
  const Real d = Real(0.8 / std::numbers::sqrt2);
  const auto hit =
      first_touch(rod, {Vec3::Zero(), flat}, end, ball, at({d, d, 0}), at({d, d, 0}), 0, Real(1e-4));
  ASSERT_TRUE(hit);
  const double angle = std::numbers::pi / 4 - std::asin(0.15 / 0.8);
  EXPECT_NEAR(hit->s, angle / (std::numbers::pi / 2), 1e-4 / 0.8);
  EXPECT_LE(hit->s, angle / (std::numbers::pi / 2) + 1e-6);
}

TEST(TimeOfImpact, PlanesAndTouchingStarts) {
  const Shape plane = PlaneShape{}, box = BoxShape{{Real(0.5), Real(0.5), Real(0.5)}};
  const auto fall = first_touch(plane, {}, {}, box, at({0, 2, 0}), at({0, -2, 0}), 0, Real(1e-5));
  ASSERT_TRUE(fall);
  EXPECT_NEAR(fall->s, 1.5 / 4, 1e-5);
  const auto swapped = first_touch(box, at({0, 2, 0}), at({0, -2, 0}), plane, {}, {}, 0, Real(1e-5));
  ASSERT_TRUE(swapped);
  EXPECT_NEAR((swapped->normal + fall->normal).norm(), 0, 1e-6);
  // A plane that tips up by 30 degrees about z meets the far lower edge of a box 2 m away at tan(angle) = 0.5
  // / 2.5.
  const auto tip = first_touch(plane, {}, {Vec3::Zero(), turn(std::numbers::pi / 6, {0, 0, 1})}, box,
                               at({2, 1, 0}), at({2, 1, 0}), 0, Real(1e-5));
  ASSERT_TRUE(tip);
  EXPECT_NEAR(tip->s, std::atan(0.5 / 2.5) / (std::numbers::pi / 6), 1e-4);
  const auto deep = first_touch(box, {}, {}, box, at({Real(0.3), 0, 0}), at({3, 0, 0}), 0, Real(1e-4));
  ASSERT_TRUE(deep);
  EXPECT_EQ(deep->s, 0);
  // Leaving, and at rest apart.
  EXPECT_FALSE(first_touch(box, {}, {}, box, at({Real(1.01), 0, 0}), at({3, 0, 0}), 0, Real(1e-4)));
  EXPECT_FALSE(first_touch(box, {}, {}, box, at({Real(1.01), 0, 0}), at({Real(1.01), 0, 0}), 0, Real(1e-4)));
  EXPECT_FALSE(first_touch(plane, {}, {}, plane, {}, {}, 0, Real(1e-4)));
}

TEST(TimeOfImpact, NeverMissesAndNeverComesLate) {
  Dice dice(31);
  int hits = 0, misses = 0;
  for (int trial = 0; trial < 1200; ++trial) {
    const Shape a = random_shape(Kind(dice.below(num_kinds)), dice, 1),
                b = random_shape(Kind(dice.below(num_kinds)), dice, 1);
    const Pose a0{(4 * dice.direction()).cast<Real>(), dice.rotation()},
        a1{(4 * dice.direction()).cast<Real>(), dice.rotation()};
    const Pose b0{(4 * dice.direction()).cast<Real>(), dice.rotation()},
        b1{(4 * dice.direction()).cast<Real>(), dice.rotation()};
    const double tolerance = 1e-3, wanted = trial % 2 ? 0.02 : 0;
    const auto hit =
        first_touch(a, a0, a1, b, b0, b1, static_cast<Real>(wanted), static_cast<Real>(tolerance));
    (hit ? hits : misses) += 1;
    const auto distance = [&](double s) {
      const Pose pa = moved(a0, a1, s), pb = moved(b0, b1, s);
      const Solid sa = solid_of(a, pa), sb = solid_of(b, pb);
      const auto g = gjk<double>(sa.support, sb.support, (pb.position - pa.position).cast<double>(), 1e-6);
      return g.overlap ? 0.0 : g.distance;
    };
    // Single precision places shapes a few metres out to about a micrometre, at speeds of up to 10 m per s.
    constexpr double rounding = 1e-5;
    const double until = hit ? static_cast<double>(hit->s) : 1;
    for (int i = 0; i < 40 && until > 0; ++i) EXPECT_GE(distance(until * i / 40), wanted - rounding) << trial;
    if (hit) {
      EXPECT_LE(distance(until), wanted + tolerance + rounding) << trial;
    }
  }
  EXPECT_GT(hits, 200);
  EXPECT_GT(misses, 200);
}

}}  // namespace plenum
