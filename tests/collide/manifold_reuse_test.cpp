// Manifolds that a pair keeps while it barely moves, beside references of the solids themselves.
#include "plenum/geometry/collide/manifold_reuse.h"

#include <gtest/gtest.h>

#include "collide/solids.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/collide/gjk.h"

namespace plenum { namespace {

using namespace test;

/// B moved by at most `way` [m] and turned by at most `angle` [rad] about its origin.
Pose moved(const Pose& pose, double way, double angle, Dice& dice) {
  Pose to = pose;
  to.position += (way * dice.uniform() * dice.direction()).cast<Real>();
  const Point axis = dice.direction();
  to.rotation = (turn(angle * dice.uniform(), axis.cast<Real>()) * pose.rotation).normalized();
  return to;
}
Real least_of(const Manifold& m) {
  Real least = std::numeric_limits<Real>::max();
  for (int k = 0; k < m.count; ++k) least = std::min(least, m.points[k].separation);
  return least;
}

/// Pairs of unit size that nearly touch, so that their distance is what GJK finds.
template <class F>
void each_close_pair(F&& f) {
  Dice dice(31);
  for (int ka = 0; ka < num_kinds; ++ka)
    for (int kb = 0; kb < num_kinds; ++kb)
      for (int i = 0; i < 40; ++i) {
        const Shape a = random_shape(Kind(ka), dice, 1), b = random_shape(Kind(kb), dice, 1);
        Pose pose{Vec3::Zero(), dice.rotation()};
        const Solid solid = solid_of(a, Pose{});
        // As far out along a direction as brings the surfaces together.
        const Point out = dice.direction();
        double near = 0, far = 4;
        for (int k = 0; k < 40; ++k) {
          const double middle = (near + far) / 2;
          pose.position = (middle * out).cast<Real>();
          const Solid other = solid_of(b, pose);
          (gjk<double>(solid.support, other.support, out, 1e-6).overlap ? near : far) = middle;
        }
        pose.position = ((far + dice.between(0.001, 0.01)) * out).cast<Real>();
        SCOPED_TRACE(std::string(name_of(Kind(ka))) + " " + name_of(Kind(kb)) + " " + std::to_string(i));
        f(a, b, pose, dice);
      }
}

TEST(ManifoldReuse, CarriedSeparationsAreThoseOfTheSolids) {
  int carried = 0;
  each_close_pair([&](const Shape& a, const Shape& b, const Pose& pose, Dice& dice) {
    const Real margin = Real(0.02);
    ManifoldCache cache;
    Manifold m = collide(a, b, pose, margin, cache);
    if (m.count == 0) return;
    const Pose to = moved(pose, 0.9 * double(most_way), 0.9 * double(most_turn), dice);
    const auto distance = [&](const Pose& where) {
      const Solid sa = solid_of(a, Pose{}), sb = solid_of(b, where);
      return gjk<double>(sa.support, sb.support, where.position.cast<double>(), 1e-7).distance;
    };
    // Bisection ends in an overlap where solids touch at two places along the way; GJK does not measure it.
    if (distance(pose) == 0) return;
    // The narrow phase may prefer a direction at an angle to the shortest way, along which the gap is smaller
    // by the cosine; what moves across the angle then changes them differently.
    const double gap = distance(pose), seen = double(least_of(m)), before = seen - gap;
    const double cosine = std::min(seen, gap) / std::max(seen, gap), sine = std::sqrt(1 - cosine * cosine);
    ASSERT_TRUE(carry_over({pose, margin}, to, margin, 1, m));
    ++carried;
    // Second order in the turn at a lever of a few sizes, and in the way over a radius of at least 0.3.
    const double first = double(most_way) + 2 * double(most_turn),
                 second = double(most_turn) * double(most_turn) * 3 +
                          double(most_way + most_turn) * double(most_way + most_turn) / 0.3;
    EXPECT_NEAR(double(least_of(m)) - distance(to), before, sine * first + second + 2e-6);
  });
  EXPECT_GT(carried, 1000);
}

TEST(ManifoldReuse, WhatMovesFartherOrLooksFartherIsLookedForAgain) {
  const ManifoldSeen seen{{Vec3(0, 2, 0), Quat::Identity()}, Real(0.01)};
  Manifold m;
  m.count = 1;
  m.points[0] = {Vec3(0, 1, 0), Real(0.004), 1};
  const Manifold before = m;
  const auto carries = [&](const Pose& pose, Real margin, Real size) {
    Manifold copy = before;
    const bool does = carry_over(seen, pose, margin, size, copy);
    if (!does) {
      EXPECT_EQ(copy.points[0].separation, before.points[0].separation);
    }
    return does;
  };
  const Vec3 up(0, 1, 0);
  for (const Real size : {Real(0.1), Real(1), Real(10)}) {
    const Vec3 x = seen.b_in_a.position;
    EXPECT_TRUE(carries({x + Real(0.9) * most_way * size * up, Quat::Identity()}, Real(0.01), size));
    EXPECT_FALSE(carries({x + Real(1.1) * most_way * size * up, Quat::Identity()}, Real(0.01), size));
    EXPECT_TRUE(carries({x, turn(0.9 * double(most_turn), up)}, Real(0.01), size));
    EXPECT_FALSE(carries({x, turn(1.1 * double(most_turn), up)}, Real(0.01), size));
    EXPECT_TRUE(carries(seen.b_in_a, Real(0.01) + Real(0.9) * most_margin * size, size));
    EXPECT_FALSE(carries(seen.b_in_a, Real(0.01) + Real(1.1) * most_margin * size, size));
  }
  Manifold copy = m;
  EXPECT_FALSE(carry_over({seen.b_in_a, -1}, seen.b_in_a, 0, 1, copy));
  // The same turn, written as the other quaternion.
  const Quat same = turn(0.5 * double(most_turn), up);
  Manifold one = m, two = m;
  one.points[0].x = two.points[0].x = Vec3(1, 1, 0);
  one.normal = two.normal = Vec3(0, 0, 1);
  ASSERT_TRUE(carry_over(seen, {seen.b_in_a.position, same}, Real(0.01), 1, one));
  ASSERT_TRUE(carry_over(seen, {seen.b_in_a.position, Quat(-same.w(), -same.x(), -same.y(), -same.z())},
                         Real(0.01), 1, two));
  EXPECT_EQ(one.points[0].separation, two.points[0].separation);
  EXPECT_NEAR(one.points[0].separation, Real(0.004) - Real(0.5) * most_turn, 1e-7);
}

TEST(ManifoldReuse, WhatIsApartIsAtLeastAsFarAsTheManifoldSays) {
  Dice dice(32);
  int known = 0;
  for (int ka = 0; ka < num_kinds; ++ka)
    for (int kb = 0; kb < num_kinds; ++kb)
      for (int i = 0; i < 60; ++i) {
        const Shape a = random_shape(Kind(ka), dice, 1), b = random_shape(Kind(kb), dice, 1);
        const Pose pose{(dice.between(1, 3) * dice.direction()).cast<Real>(), dice.rotation()};
        ManifoldCache cache;
        // Twice: the second starts from what the first remembers.
        for (int again = 0; again < 2; ++again) {
          const Manifold m = collide(a, b, pose, Real(0.01), cache);
          if (m.count > 0 || m.apart == 0) continue;
          const Solid sa = solid_of(a, Pose{}), sb = solid_of(b, pose);
          const auto g = gjk<double>(sa.support, sb.support, pose.position.cast<double>(), 1e-6);
          EXPECT_LE(double(m.apart), g.distance + 2e-6) << name_of(Kind(ka)) << " " << name_of(Kind(kb));
          EXPECT_GE(m.apart, Real(0.01));
          ++known;
        }
      }
  EXPECT_GT(known, 2000);
}

TEST(ManifoldReuse, WhatStaysApartIsOutOfTheMargin) {
  Dice dice(33);
  int stayed = 0, left = 0;
  for (int i = 0; i < 4000; ++i) {
    const Kind ka = Kind(dice.below(num_kinds)), kb = Kind(dice.below(num_kinds));
    const Shape a = random_shape(ka, dice, 1), b = random_shape(kb, dice, 1);
    const Pose pose{(dice.between(1.2, 2.5) * dice.direction()).cast<Real>(), dice.rotation()};
    const auto distance = [&](const Pose& where) {
      const Solid sa = solid_of(a, Pose{}), sb = solid_of(b, where);
      const auto g = gjk<double>(sa.support, sb.support, where.position.cast<double>(), 1e-6);
      return g.overlap ? 0.0 : g.distance;
    };
    const double gap = distance(pose);
    if (gap == 0) continue;
    const Pose to = moved(pose, 0.3, 3, dice);
    double spread = 0;
    const Solid still = solid_of(b, Pose{});
    for (int k = 0; k < 200; ++k) spread = std::max(spread, still.support(dice.direction()).norm());
    if (!stays_apart({pose, Real(gap)}, to, Real(0.02), Real(1.05 * spread))) {
      ++left;
      continue;
    }
    ++stayed;
    EXPECT_GT(distance(to), 0.02 - 1e-6) << name_of(ka) << " " << name_of(kb);
  }
  EXPECT_GT(stayed, 100);
  EXPECT_GT(left, 100);
}

}}  // namespace plenum
