#include "plenum/geometry/collide/time_of_impact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "collide/solids.h"
#include "plenum/base/random.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/collide/gjk.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"

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

/// A box of triangles.
Shape mesh_box(const Vec3& half) {
  return MeshShape{std::make_shared<SolidMesh>(box_mesh(half, Index3(3, 2, 4)), DistanceFieldOptions{16})};
}

TEST(TimeOfImpact, OfBoxesOfTrianglesIsThatOfBoxes) {
  const Real tolerance = Real(1e-4);
  constexpr double rounding = 1e-5;  // as above
  int hits = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto any = [&](std::uint64_t stream) {
      return Vec3(uniform4(11, i, stream).head<3>() - Vec3::Constant(Real(0.5)));
    };
    const Vec3 half_a(Real(0.3), Real(0.1), Real(0.4)), half_b(Real(0.2), Real(0.25), Real(0.02));
    const Sweep a{{any(0), Quat(uniform4(12, i, 0)).normalized()}, any(1), 4 * any(2)};
    const Sweep b{
        {Vec3(2, 0, 0) + any(3), Quat(uniform4(12, i, 1)).normalized()}, Vec3(-4, 0, 0) + any(4), 6 * any(5)};
    const auto expected = time_of_impact(BoxShape{half_a}, a, BoxShape{half_b}, b, 0, tolerance);
    const auto gap = [&](Real s) {
      const Solid sa = solid_of(BoxShape{half_a}, a.at(s)), sb = solid_of(BoxShape{half_b}, b.at(s));
      const auto g =
          gjk<double>(sa.support, sb.support, (b.at(s).position - a.at(s).position).cast<double>(), 1e-6);
      return g.overlap ? 0.0 : g.distance;
    };
    const Shape of_a[] = {BoxShape{half_a}, mesh_box(half_a)}, of_b[] = {BoxShape{half_b}, mesh_box(half_b)};
    for (int which = 1; which < 4; ++which) {
      const auto hit = time_of_impact(of_a[which & 1], a, of_b[which >> 1], b, 0, tolerance);
      ASSERT_EQ(hit.has_value(), expected.has_value()) << i;
      if (!hit) continue;
      ++hits;
      // The boxes do not touch before, and are within the tolerance then.
      for (int k = 0; k < 20; ++k) EXPECT_GT(gap(hit->s * Real(k) / 20), 0) << i << " " << which;
      EXPECT_GT(gap(hit->s), 0) << i << " " << which;
      EXPECT_LE(gap(hit->s), tolerance + rounding) << i << " " << which;
    }
    // Against a plane: the corners of the box are those of its triangles.
    const Sweep ground{
        {Vec3(-1, 0, 0), Quat(Eigen::AngleAxis<Real>(Real(-1.5), Vec3::UnitZ()))}, Vec3::Zero(), any(6)};
    const auto box = time_of_impact(PlaneShape{}, ground, BoxShape{half_b}, b, 0, tolerance),
               mesh = time_of_impact(of_b[1], b, PlaneShape{}, ground, 0, tolerance);
    ASSERT_EQ(mesh.has_value(), box.has_value()) << i;
    if (!mesh) continue;
    const Vec3 up = ground.at(mesh->s).rotation * Vec3::UnitY();
    const double height =
        static_cast<double>(up.dot(b.at(mesh->s).position - ground.start.position) -
                            (b.at(mesh->s).rotation.conjugate() * up).cwiseAbs().dot(half_b));
    EXPECT_GT(height, -rounding) << i;
    EXPECT_LE(height, tolerance + rounding) << i;
    EXPECT_LT((mesh->normal + up).norm(), 1e-5) << i;
  }
  EXPECT_GT(hits, 100);
}

TEST(TimeOfImpact, ARingFliesPastWhatItsHoleTakes) {
  // Along its axis, over a ball in its middle that fits by 1 cm, or is too large by 1 cm.
  const Shape ring = MeshShape{
      std::make_shared<SolidMesh>(torus_mesh(Real(0.3), Real(0.1), 64, 32), DistanceFieldOptions{16})};
  const Sweep flight{at({0, -1, 0}), Vec3(0, 2, 0), Vec3::Zero()},
      still{at(Vec3::Zero()), Vec3::Zero(), Vec3::Zero()};
  EXPECT_FALSE(time_of_impact(ring, flight, SphereShape{Real(0.19)}, still, 0, Real(1e-4)));
  const auto hit = time_of_impact(ring, flight, SphereShape{Real(0.21)}, still, 0, Real(1e-4));
  ASSERT_TRUE(hit);
  // Centres of tube and ball are 0.31 apart then: the ring has (0.31^2 - 0.3^2)^(1/2) to go. The polyhedron
  // is inside of the torus by up to 0.1 (1 - cos(pi / 32)) + 0.4 (1 - cos(pi / 64)) = 1 mm, which shifts that
  // by 4 mm.
  EXPECT_NEAR(2 * hit->s, 1 - std::sqrt(0.31 * 0.31 - 0.09), 0.005);
}

TEST(TimeOfImpact, WhatComesFromBehindPassesASheet) {
  const Shape sheet =
      MeshShape{std::make_shared<SolidMesh>(grid_mesh(Vec2(2, 2), 3, 3), DistanceFieldOptions{8})};
  const Shape ball = SphereShape{Real(0.1)};
  const Sweep still{at(Vec3::Zero()), Vec3::Zero(), Vec3::Zero()},
      down{at({0, 1, 0}), Vec3(0, -2, 0), Vec3::Zero()}, up{at({0, -1, 0}), Vec3(0, 2, 0), Vec3::Zero()};
  EXPECT_FALSE(time_of_impact(sheet, still, ball, up, 0, Real(1e-4)));
  const auto hit = time_of_impact(sheet, still, ball, down, 0, Real(1e-4));
  ASSERT_TRUE(hit);
  EXPECT_NEAR(hit->s, 0.45, 1e-4);
  EXPECT_LT((hit->normal - Vec3::UnitY()).norm(), 1e-4);
}

}}  // namespace plenum
