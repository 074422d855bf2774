// Ten thousand random pairs of every kind: separating axes, GJK, EPA and references that share no code with
// them agree.
#include <gtest/gtest.h>

#include "collide/solids.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/collide/epa.h"
#include "plenum/geometry/collide/gjk.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using namespace test;

struct Pair {
  Shape a, b;
  Pose pose;
};

/// B somewhere between deep inside A and a body's length away.
Pair random_pair(Kind ka, Kind kb, Dice& dice, double size) {
  Pair p{random_shape(ka, dice, size), random_shape(kb, dice, size), {}};
  p.pose.position = (size * dice.between(0, 2.6) * dice.direction()).cast<Real>();
  p.pose.rotation = dice.rotation();
  return p;
}

double radius_of(const Shape& shape) {
  const auto* capsule = std::get_if<CapsuleShape>(&shape.variant());
  return static_cast<double>(capsule ? capsule->radius : std::get<SphereShape>(shape.variant()).radius);
}

constexpr int pairs_of_each_kind = 480;  // 21 kinds

TEST(Separation, GjkAndEpaAgreeWithTheReference) {
  Dice dice(11);
  int overlapping = 0, apart = 0, grazing = 0;
  for (int ka = 0; ka < num_kinds; ++ka)
    for (int kb = ka; kb < num_kinds; ++kb)
      for (int i = 0; i < pairs_of_each_kind; ++i) {
        const Pair p = random_pair(Kind(ka), Kind(kb), dice, 1);
        SCOPED_TRACE(std::string(name_of(Kind(ka))) + " " + name_of(Kind(kb)) + " " + std::to_string(i));
        const Solid a = solid_of(p.a, Pose{}), b = solid_of(p.b, p.pose);
        const auto g = gjk<double>(a.support, b.support, p.pose.position.cast<double>(), 1e-6);
        if (!g.overlap) {
          ++apart;
          // A certificate that needs no reference: points of both solids this far apart (their convex
          // combinations of support points), and a slab between the solids as thick.
          EXPECT_NEAR((g.b - g.a).norm(), g.distance, 1e-12);
          EXPECT_NEAR(g.normal.norm(), 1, 1e-12);
          EXPECT_GE(separation(a, b, g.normal), g.distance * (1 - 1e-4) - 1e-9);
          EXPECT_LE(g.lower_bound, g.distance);
          EXPECT_LE(g.distance - g.lower_bound, 1e-5 * g.distance + 1e-9);
          if (a.is_polyhedron && b.is_polyhedron && i % 4 == 0) {
            EXPECT_NEAR(g.distance, polyhedra_separation(a, b), 1e-5);
          }
          continue;
        }
        const auto e = epa<double>(a.support, b.support, g.simplex, 1e-5);
        ++overlapping;
        grazing += e.depth < 0.01;
        // Moving by the depth separates; no direction found otherwise needs less.
        EXPECT_NEAR(-separation(a, b, e.normal), e.depth, 1e-9);
        EXPECT_GE(e.depth, e.lower_bound);
        // Where every direction is as good, 128 vertices run out. A vertex is added where the surface is
        // farthest from the polytope, and then is at least that cap's angle t from all others: caps of t/2
        // around 124 vertices do not overlap, 124 * 2 pi (1 - cos t/2) <= 0.9069 * 4 pi (Fejes Toth 1943), so
        // that the cap is no higher than r (1 - cos t) <= 0.059 r.
        const bool round = (ka == sphere || ka == capsule) && (kb == sphere || kb == capsule);
        EXPECT_LE(e.depth - e.lower_bound,
                  round ? 0.059 * (radius_of(p.a) + radius_of(p.b)) : 1e-3 * e.depth + 1e-6);
        EXPECT_NEAR(e.normal.norm(), 1, 1e-12);
        if (i % 4) continue;
        if (a.is_polyhedron && b.is_polyhedron) {
          EXPECT_NEAR(-e.depth, polyhedra_separation(a, b), 1e-5);
        } else {
          EXPECT_LE(sampled_separation(a, b, 300), -e.depth * (1 - 1e-3) + 1e-6);
        }
      }
  EXPECT_GT(overlapping, 3000);
  EXPECT_GT(apart, 3000);
  EXPECT_GT(grazing, 30);
}

TEST(Separation, CollideFindsTheLeastSeparationOfEveryPair) {
  Dice dice(12);
  int touching = 0;
  for (int ka = 0; ka < num_kinds; ++ka)
    for (int kb = 0; kb < num_kinds; ++kb)
      for (int i = 0; i < 280; ++i) {
        const Pair p = random_pair(Kind(ka), Kind(kb), dice, 1);
        SCOPED_TRACE(std::string(name_of(Kind(ka))) + " " + name_of(Kind(kb)) + " " + std::to_string(i));
        const Solid a = solid_of(p.a, Pose{}), b = solid_of(p.b, p.pose);
        const auto g = gjk<double>(a.support, b.support, p.pose.position.cast<double>(), 1e-6);
        double truth = g.distance;
        if (g.overlap) truth = -epa<double>(a.support, b.support, g.simplex, 1e-5).depth;
        const Real margin = i % 2 ? Real(0.3) : Real(0);
        ManifoldCache cache;
        const Manifold m = collide(p.a, p.b, p.pose, margin, cache);
        // Preference between features may cost four thousandths of the least half extent (pairs.h).
        const double least = std::min(least_half_extent(p.a), least_half_extent(p.b));
        const double tolerance = 6e-3 * least + 1e-5;
        if (truth > static_cast<double>(margin) + tolerance) {
          EXPECT_EQ(m.count, 0);
          continue;
        }
        if (truth > static_cast<double>(margin) - tolerance) continue;
        ++touching;
        ASSERT_GT(m.count, 0) << truth;
        EXPECT_NEAR(m.normal.norm(), 1, 1e-5);
        double deepest = infinity;
        for (int k = 0; k < m.count; ++k)
          deepest = std::min(deepest, static_cast<double>(m.points[k].separation));
        // Several points on a face may be two hundredths deeper than the edges that nearly lie on it; what is
        // found is never less deep.
        const bool polyhedra = (ka == box || ka == hull) && (kb == box || kb == hull);
        const double deeper = tolerance + (polyhedra && m.count > 1 ? 2e-2 * least : 0);
        EXPECT_LE(deepest, truth + tolerance);
        EXPECT_GE(deepest, truth - deeper);
        // The normal separates as well as the truth does.
        const double apart = separation(a, b, m.normal.cast<double>().normalized());
        EXPECT_LE(apart, truth + tolerance);
        EXPECT_GE(apart, truth - deeper);
        for (int k = 0; k < m.count; ++k) {
          const auto& q = m.points[k];
          EXPECT_LE(q.separation, margin);
          // The point is halfway between a point of either surface.
          // (Segments of capsules count as level up to a sine of 0.1, which costs half a percent of the
          // radius.)
          const double tilt = ka == capsule || kb == capsule ? 5e-3 : 0;
          const double half = 0.5 * std::abs(static_cast<double>(q.separation)) + 2e-3 * least + tilt + 1e-5;
          EXPECT_LE(std::abs(static_cast<double>(p.a.signed_distance(q.x).distance)), half);
          EXPECT_LE(std::abs(static_cast<double>(p.b.signed_distance(p.pose.to_local(q.x)).distance)), half);
          for (int l = 0; l < k; ++l) EXPECT_NE(q.id, m.points[l].id);
        }
      }
  EXPECT_GT(touching, 4000);
}

TEST(Separation, EveryPairGivesContactsWithinTheMarginAndNoneBeyond) {
  // Speculative contacts: B stands off by a known gap, along the normal of the contact, and the margin is a
  // little more or a little less.
  Dice dice(18);
  for (int ka = 0; ka <= num_kinds; ++ka)
    for (int kb = 0; kb < num_kinds; ++kb)
      for (int i = 0; i < 60; ++i) {
        const Shape a = ka == num_kinds ? Shape(PlaneShape{}) : random_shape(Kind(ka), dice, 1),
                    b = random_shape(Kind(kb), dice, 1);
        SCOPED_TRACE(std::string(ka == num_kinds ? "plane" : name_of(Kind(ka))) + " " + name_of(Kind(kb)) +
                     " " + std::to_string(i));
        Pose pose{Vec3::Zero(), dice.rotation()};
        Point n = Point::UnitY(), at;
        const Solid turned = solid_of(b, pose);
        if (ka == num_kinds) {
          at = Point(dice.between(-2, 2), 0, dice.between(-2, 2));
        } else {
          n = dice.direction();
          at = solid_of(a, Pose{}).support(n);
        }
        // B's lowest point against n stands over A's highest: the slab between them is as thick as the gap.
        const double gap = dice.between(0.05, 0.3);
        pose.position = (at + gap * n - turned.support(-n)).cast<Real>();
        const double least =
            ka == num_kinds ? least_half_extent(b) : std::min(least_half_extent(a), least_half_extent(b));
        ManifoldCache fresh, again;
        const Manifold none = collide(a, b, pose, static_cast<Real>(gap - 6e-3 * least), fresh);
        EXPECT_EQ(none.count, 0);
        for (ManifoldCache* cache : {&fresh, &again}) {
          const Manifold m = collide(a, b, pose, static_cast<Real>(gap + 6e-3 * least), *cache);
          ASSERT_GT(m.count, 0);
          double nearest = infinity;
          for (int k = 0; k < m.count; ++k)
            nearest = std::min(nearest, static_cast<double>(m.points[k].separation));
          EXPECT_NEAR(nearest, gap, 6e-3 * least + 1e-5);
          EXPECT_GT(m.normal.cast<double>().dot(n), 0.9);
        }
      }
}

TEST(Separation, IsTheSameFromBothSides) {
  Dice dice(13);
  for (int ka = 0; ka < num_kinds; ++ka)
    for (int kb = 0; kb < num_kinds; ++kb)
      for (int i = 0; i < 50; ++i) {
        const Pair p = random_pair(Kind(ka), Kind(kb), dice, 1);
        SCOPED_TRACE(std::string(name_of(Kind(ka))) + " " + name_of(Kind(kb)) + " " + std::to_string(i));
        const Pose back{p.pose.to_local(Vec3::Zero()), p.pose.rotation.conjugate()};
        ManifoldCache c1, c2;
        const Manifold m = collide(p.a, p.b, p.pose, Real(0.1), c1),
                       w = collide(p.b, p.a, back, Real(0.1), c2);
        const double tolerance = 1e-2 * std::min(least_half_extent(p.a), least_half_extent(p.b));
        const auto least = [](const Manifold& x) {
          double s = infinity;
          for (int k = 0; k < x.count; ++k) s = std::min(s, static_cast<double>(x.points[k].separation));
          return s;
        };
        if (m.count == 0 || w.count == 0) {
          EXPECT_GT(std::min(least(m), least(w)), 0.1 - tolerance);
        } else {
          EXPECT_NEAR(least(m), least(w), tolerance);
        }
      }
}

TEST(Separation, DoesNotDependOnTheUnitOfLength) {
  Dice dice(14);
  for (double size : {0.01, 100.0}) {
    for (int ka = 0; ka < num_kinds; ++ka)
      for (int kb = 0; kb < num_kinds; ++kb)
        for (int i = 0; i < 40; ++i) {
          const Pair p = random_pair(Kind(ka), Kind(kb), dice, size);
          SCOPED_TRACE(std::string(name_of(Kind(ka))) + " " + name_of(Kind(kb)) + " " + std::to_string(i));
          const Solid a = solid_of(p.a, Pose{}), b = solid_of(p.b, p.pose);
          const auto g = gjk<double>(a.support, b.support, p.pose.position.cast<double>(), 1e-6);
          double truth = g.distance;
          if (g.overlap) truth = -epa<double>(a.support, b.support, g.simplex, 1e-5).depth;
          ManifoldCache cache;
          const Manifold m = collide(p.a, p.b, p.pose, Real(0.1 * size), cache);
          const double tolerance = 6e-3 * size + 1e-5 * size;
          EXPECT_TRUE(m.count > 0 || truth > 0.1 * size - tolerance);
          double deepest = infinity;
          for (int k = 0; k < m.count; ++k)
            deepest = std::min(deepest, static_cast<double>(m.points[k].separation));
          if (m.count > 0) {
            EXPECT_NEAR(deepest, truth, tolerance);
          }
        }
  }
}

TEST(Separation, KeepsIdsUnderSmallMotionAndRepeatsItsBits) {
  Dice dice(15);
  for (int ka = 0; ka < num_kinds; ++ka)
    for (int kb = 0; kb < num_kinds; ++kb) {
      int same = 0, total = 0;
      for (int i = 0; i < 120; ++i) {
        const Pair p = random_pair(Kind(ka), Kind(kb), dice, 1);
        ManifoldCache cache, again;
        const Manifold m = collide(p.a, p.b, p.pose, 0, cache);
        const Manifold twin = collide(p.a, p.b, p.pose, 0, again);
        ASSERT_EQ(m.count, twin.count);
        for (int k = 0; k < m.count; ++k) {
          ASSERT_EQ(std::memcmp(m.points[k].x.data(), twin.points[k].x.data(), sizeof(Vec3)), 0);
          ASSERT_EQ(m.points[k].separation, twin.points[k].separation);
          ASSERT_EQ(m.points[k].id, twin.points[k].id);
        }
        ASSERT_EQ(cache.kind, again.kind);
        if (m.count == 0) continue;
        // A step of 1e-6 of the size crosses one of the few hundred events between features with a chance of
        // about 1e-4 each at most.
        Pose moved = p.pose;
        moved.position += (1e-6 * dice.direction()).cast<Real>();
        const Manifold next = collide(p.a, p.b, moved, 0, cache);
        ++total;
        bool equal = next.count == m.count;
        for (int k = 0; k < m.count && equal; ++k) {
          bool found = false;
          for (int l = 0; l < next.count; ++l) found |= next.points[l].id == m.points[k].id;
          equal = found;
        }
        same += equal;
      }
      EXPECT_GE(same, total - 2) << name_of(Kind(ka)) << " " << name_of(Kind(kb));
    }
}

TEST(Separation, StaysTrueAlongAMotionThatTheCacheFollows) {
  // A body slides and turns over another, in and out of contact. What the cache shortens must stay a contact:
  // the normal separates to within the depth up to which a face is kept (pairs.h), gaps are never missed.
  Dice dice(16);
  int touching = 0;
  for (int ka = 0; ka < num_kinds; ++ka)
    for (int kb = 0; kb < num_kinds; ++kb)
      for (int run = 0; run < 4; ++run) {
        const Shape a = random_shape(Kind(ka), dice, 1), b = random_shape(Kind(kb), dice, 1);
        SCOPED_TRACE(std::string(name_of(Kind(ka))) + " " + name_of(Kind(kb)) + " " + std::to_string(run));
        const Point along = dice.direction(), start = -1.5 * along + 0.6 * dice.direction(),
                    axis = dice.direction();
        const Quat q = dice.rotation();
        const double least = std::min(least_half_extent(a), least_half_extent(b));
        ManifoldCache cache;
        for (int i = 0; i < 60; ++i) {
          const Pose pose{(start + 0.05 * i * along).cast<Real>(),
                          Quat(Eigen::AngleAxis<Real>(Real(0.02 * i), axis.cast<Real>())) * q};
          const Manifold m = collide(a, b, pose, Real(0.02), cache);
          const Solid sa = solid_of(a, Pose{}), sb = solid_of(b, pose);
          const auto g = gjk<double>(sa.support, sb.support, pose.position.cast<double>(), 1e-6);
          const double truth =
              g.overlap ? -epa<double>(sa.support, sb.support, g.simplex, 1e-4).depth : g.distance;
          if (m.count == 0) {
            EXPECT_GT(truth, 0.02 - 6e-3 * least - 1e-5);
            continue;
          }
          ++touching;
          EXPECT_LT(truth, 0.02 + 6e-3 * least + 1e-5);
          const double depth = -separation(sa, sb, m.normal.cast<double>().normalized());
          const bool polyhedra = (ka == box || ka == hull) && (kb == box || kb == hull);
          const double flat = polyhedra && m.count > 1 ? 2e-2 * least : 0;
          EXPECT_LE(depth, std::max(-truth + flat + 6e-3 * least, 0.05 * least) + 1e-5);
          double deepest = infinity;
          for (int k = 0; k < m.count; ++k)
            deepest = std::min(deepest, static_cast<double>(m.points[k].separation));
          EXPECT_GE(deepest, -depth - 6e-3 * least - 1e-5);
          EXPECT_LE(deepest, -depth + flat + 6e-3 * least + 1e-5);
        }
      }
  EXPECT_GT(touching, 2000);
}

TEST(Separation, AllocatesNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "allocations cannot be counted here";
  Dice dice(17);
  for (int ka = 0; ka < num_kinds; ++ka)
    for (int kb = 0; kb < num_kinds; ++kb)
      for (int i = 0; i < 20; ++i) {
        const Pair p = random_pair(Kind(ka), Kind(kb), dice, 1);
        ManifoldCache cache;
        EXPECT_EQ(plenum_test::count_allocations([&] {
                    for (int k = 0; k < 2; ++k) (void)collide(p.a, p.b, p.pose, Real(0.1), cache);
                  }),
                  0);
      }
}

}}  // namespace plenum
