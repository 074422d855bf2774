// Queries against closed forms and against asking every collider in turn.
#include <gtest/gtest.h>

#include <cmath>

#include "../../validation/rigid_scenes.h"
#include "plenum/base/error.h"
#include "plenum/base/random.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/collide/surface_cast.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/rigid/queries.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Form;
using validation::RigidScene;

/// A heap in the bin, over a plane and beside a mesh and a height field.
RigidScene heap() {
  Rigid::Spec spec = validation::bin();
  spec.bodies.resize(205);
  BodySpec still;
  still.motion = rigid::Motion::fixed;
  still.shapes[0].shape = Form::plane;
  still.position = Vec3(0, -1, 0);
  spec.bodies.push_back(still);
  still.shapes[0].shape = Form::mesh;
  still.shapes[0].mesh = torus_mesh(2, Real(0.5), 32, 16);
  still.position = Vec3(0, 4, 0);
  spec.bodies.push_back(still);
  still.shapes[0] = {};
  still.shapes[0].shape = Form::height_field;
  still.shapes[0].columns = 9;
  still.shapes[0].heights.resize(81);
  for (std::size_t i = 0; i < 81; ++i) still.shapes[0].heights[i] = Real(0.2) * Real(i % 5);
  still.position = Vec3(12, 0, 0);
  spec.bodies.push_back(still);
  RigidScene scene(spec);
  for (int k = 0; k < 120; ++k) scene.step();
  for (std::size_t k = 0; k < scene.model.colliders.size(); ++k) scene.model.colliders[k].layer = 1u << k % 3;
  return scene;
}
Pose collider_pose(const RigidScene& scene, Index k) {
  const Rigid::Collider& c = scene.model.colliders[std::size_t(k)];
  const Pose body = scene.state.frames.pose(std::size_t(c.body));
  return {body * c.local.position, (body.rotation * c.local.rotation).normalized()};
}
const Shape& shape_of(const RigidScene& scene, Index k) {
  return scene.model.shapes[std::size_t(scene.model.colliders[std::size_t(k)].shape)];
}
Vec3 place(std::uint64_t i) {
  const Vec4 u = uniform4(3, i, 0);
  return {20 * u[0] - 7, 8 * u[1], 12 * u[2] - 6};
}
Vec3 way(std::uint64_t i) {
  return (uniform4(3, i, 1).head<3>() - Vec3::Constant(Real(0.5))).normalized();
}

TEST(RigidQueries, RaysMeetWhatAskingEveryColliderMeets) {
  const RigidScene scene = heap();
  const RigidQueries queries(scene.model, scene.state);
  int hits = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Ray ray{place(i), way(i), 0, 10};
    const RigidQueries::Filter filter{.layers = i % 2 ? 5u : ~0u, .ignored_body = Index(i % 200)};
    Index first = -1;
    Real t = 11;
    for (Index k = 0; k < Index(scene.model.colliders.size()); ++k) {
      const Rigid::Collider& c = scene.model.colliders[std::size_t(k)];
      if (!(c.layer & filter.layers) || c.body == filter.ignored_body) continue;
      const auto hit = shape_of(scene, k).intersect(collider_pose(scene, k), ray);
      if (hit && hit->t < t) t = hit->t, first = k;
    }
    const auto hit = queries.ray(ray, filter);
    ASSERT_EQ(hit.has_value(), first >= 0) << i;
    if (!hit) continue;
    ++hits;
    EXPECT_EQ(hit->collider, first) << i;
    EXPECT_NEAR(hit->t, t, 1e-5) << i;  // the rounding of poses at 20 m
    EXPECT_LT((hit->x - ray.at(t)).norm(), 1e-5);
  }
  EXPECT_GT(hits, 100);
}

TEST(RigidQueries, NearestIsThatOfAskingEveryCollider) {
  const RigidScene scene = heap();
  const RigidQueries queries(scene.model, scene.state);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const Vec3 x = place(i);
    Real least = 2;
    bool any = false;
    for (Index k = 0; k < Index(scene.model.colliders.size()); ++k) {
      const Real d = shape_of(scene, k).exact_distance(collider_pose(scene, k).to_local(x)).distance;
      if (std::max(d, Real(0)) <= least) least = std::max(d, Real(0)), any = true;
    }
    const auto found = queries.nearest(x, 2);
    ASSERT_EQ(found.has_value(), any) << i;
    if (!found) continue;
    EXPECT_NEAR(std::max(found->distance, Real(0)), least, 1e-5) << i;
    EXPECT_NEAR((found->x - x).norm(), std::abs(found->distance), 1e-4);
  }
}

TEST(RigidQueries, OverlapsAreThoseOfAskingEveryCollider) {
  const RigidScene scene = heap();
  const RigidQueries queries(scene.model, scene.state);
  const Shape probe = BoxShape{Vec3(Real(0.4), Real(0.6), Real(0.3))};
  std::vector<Index> found;
  std::size_t most = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Pose pose{place(i), Quat(Eigen::AngleAxis<Real>(Real(i), way(i)))};
    queries.overlap(probe, pose, found);
    most = std::max(most, found.size());
    std::vector<Index> expected;
    for (Index k = 0; k < Index(scene.model.colliders.size()); ++k) {
      if (!can_collide(shape_of(scene, k), probe)) continue;
      const Pose at = collider_pose(scene, k);
      ManifoldCache cache;
      const Manifold m = collide(
          shape_of(scene, k), probe,
          {at.to_local(pose.position), (at.rotation.conjugate() * pose.rotation).normalized()}, 0, cache);
      if (m.count > 0) expected.push_back(k);
    }
    std::erase_if(found, [&](Index k) { return !can_collide(shape_of(scene, k), probe); });
    EXPECT_EQ(found, expected) << i;
  }
  EXPECT_GE(most, 3u);
}

TEST(RigidQueries, CastsMeetWhatAskingEveryColliderMeets) {
  const RigidScene scene = heap();
  const RigidQueries queries(scene.model, scene.state);
  const Real tolerance = Real(1e-3);
  int hits = 0;
  for (std::uint64_t i = 0; i < 150; ++i) {
    const Shape probe = i % 3 == 0   ? Shape(SphereShape{Real(0.01)})
                        : i % 3 == 1 ? Shape(BoxShape{Vec3(Real(0.2), Real(0.02), Real(0.4))})
                                     : Shape(CapsuleShape{Real(0.1), Real(0.3)});
    const Pose from{place(i) + Vec3(0, 4, 0), Quat(Eigen::AngleAxis<Real>(Real(i), way(i)))};
    const Pose to{from.position + 9 * way(i + 1000), i % 2 ? from.rotation : Quat(1, 0, 0, 0)};
    const Sweep sweep = Sweep::between(from, to);
    std::optional<Impact> first;
    Index which = -1;
    for (Index k = 0; k < Index(scene.model.colliders.size()); ++k) {
      const Pose at = collider_pose(scene, k);
      const auto impact =
          can_collide(shape_of(scene, k), probe)
              ? time_of_impact(shape_of(scene, k), Sweep::between(at, at), probe, sweep, 0, tolerance)
              : cast_at_surface(shape_of(scene, k), at, probe, sweep, tolerance);
      if (impact && (!first || impact->s < first->s)) first = impact, which = k;
    }
    const auto hit = queries.cast(probe, from, to, tolerance);
    ASSERT_EQ(hit.has_value(), first.has_value()) << i;
    if (!hit) continue;
    ++hits;
    EXPECT_EQ(hit->collider, which) << i;
    EXPECT_EQ(hit->t, first->s) << i;
  }
  EXPECT_GT(hits, 50);
}

TEST(RigidQueries, AMovingBallStopsWhereGeometrySays) {
  BodySpec sphere = validation::unit_box(0, 0, 0);
  sphere.shapes[0].shape = Form::sphere;
  sphere.shapes[0].radius = 1;
  sphere.motion = rigid::Motion::fixed;
  BodySpec floor = sphere;
  floor.shapes[0] = {};
  floor.shapes[0].shape = Form::mesh;
  floor.shapes[0].mesh = grid_mesh(Vec2(20, 20), 9, 9);
  floor.position = Vec3(0, -5, 0);
  const RigidScene scene({.bodies = {sphere, floor}});
  const RigidQueries queries(scene.model, scene.state);
  const Real tolerance = Real(1e-3);
  // Past the ball's side at half its height: centres are 1.5 apart.
  const auto hit =
      queries.cast(SphereShape{Real(0.5)}, {Vec3(Real(0.5), 4, 0)}, {Vec3(Real(0.5), -4, 0)}, tolerance);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->body, 0);
  EXPECT_NEAR(4 - 8 * double(hit->t), std::sqrt(1.5 * 1.5 - 0.25), 2e-3);
  EXPECT_NEAR(hit->normal.x(), 1.0 / 3, 2e-3);
  // Beside it, down to the mesh: also a box, which turns on its way.
  for (const Shape& shape : {Shape(SphereShape{Real(0.5)}), Shape(BoxShape{Vec3::Constant(Real(0.5))})}) {
    const auto down =
        queries.cast(shape, {Vec3(3, 4, Real(0.3))},
                     {Vec3(3, -12, Real(0.3)), Quat(Eigen::AngleAxis<Real>(1, Vec3::UnitY()))}, tolerance);
    ASSERT_TRUE(down);
    EXPECT_EQ(down->body, 1);
    EXPECT_NEAR(4 - 16 * double(down->t), -4.5, 2e-3);
    EXPECT_NEAR(down->normal.y(), 1, 1e-5);
  }
  EXPECT_FALSE(queries.cast(SphereShape{Real(0.5)}, {Vec3(3, 4, 0)}, {Vec3(3, -4, 0)}, tolerance));
  RigidQueries::Filter filter;
  filter.ignored_body = 0;
  const auto through =
      queries.cast(SphereShape{Real(0.5)}, {Vec3(0, 4, 0)}, {Vec3(0, -8, 0)}, tolerance, filter);
  ASSERT_TRUE(through);
  EXPECT_EQ(through->body, 1);
  EXPECT_THROW(queries.cast(PlaneShape{}, {}, {}, tolerance), Error);
}

// A ball in layer 2 that passes through layer 1, a sensor before it and a wall behind it.
TEST(RigidQueries, LeaveOutSensorsAndWhatPassesThroughTheAsker) {
  rigid::BodySpec sensor = validation::sphere(0.5, {2, 0, 0}), ball = validation::sphere(0.5, {4, 0, 0});
  sensor.sensor = true;
  ball.layer = 2, ball.passes = {1};
  const RigidScene scene({.bodies = {sensor, ball, validation::fixed_box(Vec3::Ones(), Vec3(8, 0, 0))}});
  const RigidQueries queries(scene.model, scene.state);
  const Ray ray{Vec3::Zero(), Vec3::UnitX(), 0, 20};
  const auto met = [&](const RigidQueries::Filter& filter) {
    const auto hit = queries.ray(ray, filter);
    return hit ? hit->body : Index(-1);
  };
  EXPECT_EQ(met({}), 1);
  EXPECT_EQ(met({.sensors = true}), 0);
  EXPECT_EQ(met({.own_layers = 1u << 1}), 2);
  EXPECT_EQ(met({.own_layers = 1u << 1 | 1u << 3}), 1);
  EXPECT_EQ(met({.layers = 1u << 0}), 2);
  EXPECT_EQ(met({.layers = 1u << 2, .own_layers = 1u << 1}), -1);
  std::vector<Index> overlaps;
  queries.overlap(SphereShape{Real(3)}, {Vec3(3, 0, 0)}, overlaps, {.sensors = true});
  EXPECT_EQ(overlaps.size(), 2);
  EXPECT_EQ(queries.nearest(Vec3(2, 0, 0), 20)->body, 1);
}

// A mesh floor, and a plate of which nothing is left out though the way is ten thousand times the ball's
// size.
TEST(RigidQueries, NothingIsTooSmallToBeStopped) {
  BodySpec floor;
  floor.motion = rigid::Motion::fixed;
  floor.shapes[0].shape = Form::mesh;
  floor.shapes[0].mesh = grid_mesh(Vec2(20, 20), 9, 9);
  const RigidScene scene({.bodies = {floor}});
  const RigidQueries queries(scene.model, scene.state);
  for (const auto& [radius, height] : {std::pair{0.02, 49.0}, {0.005, 19.0}, {0.001, 4.0}, {0.0001, 4.0}})
    for (const Shape& shape :
         {Shape(SphereShape{Real(radius)}), Shape(BoxShape{Vec3::Constant(Real(radius))})}) {
      const auto hit = queries.cast(shape, {Vec3(Real(0.3), Real(height), Real(0.2))},
                                    {Vec3(Real(0.3), -1, Real(0.2))}, Real(1e-4));
      ASSERT_TRUE(hit) << radius;
      EXPECT_NEAR(double(hit->t), (height - radius) / (height + 1), 1e-4 / (height + 1) + 2e-7) << radius;
    }
}

// Behind an open sheet there is no inside: both of its sides are met, and only near it.
TEST(RigidQueries, SheetsAreMetFromBothSides) {
  BodySpec sheet;
  sheet.motion = rigid::Motion::fixed;
  sheet.shapes[0].shape = Form::mesh;
  sheet.shapes[0].mesh = grid_mesh(Vec2(4, 4), 9, 9);
  for (Vec3& x : sheet.shapes[0].mesh.x)
    x.y() = x.squaredNorm() / 8 - Real(1.0 / 81);  // a bowl, flat and 0 in its middle
  const RigidScene scene({.bodies = {sheet}});
  const RigidQueries queries(scene.model, scene.state);
  std::vector<Index> found;
  for (const Real side : {Real(1), Real(-1)}) {
    queries.overlap(BoxShape{Vec3::Constant(Real(0.1))}, {Vec3(0, Real(0.08) * side, 0)}, found);
    EXPECT_EQ(found.size(), 1u) << side;
    queries.overlap(BoxShape{Vec3::Constant(Real(0.1))}, {Vec3(0, Real(0.12) * side, 0)}, found);
    EXPECT_EQ(found.size(), 0u) << side;
    const auto hit =
        queries.cast(SphereShape{Real(0.1)}, {Vec3(0, side, 0)}, {Vec3(0, -side, 0)}, Real(1e-4));
    ASSERT_TRUE(hit) << side;
    EXPECT_NEAR(hit->t, 0.45, 1e-4) << side;
    EXPECT_GT(hit->normal.y() * side, 0.99);
    EXPECT_FALSE(queries.nearest(Vec3(0, Real(0.5) * side, 0), Real(0.2))) << side;
    const auto near = queries.nearest(Vec3(0, Real(0.15) * side, 0), Real(0.2));
    ASSERT_TRUE(near) << side;
    EXPECT_NEAR(near->distance, 0.15, 1e-5);
  }
}

TEST(RigidQueries, TheGroundBelowAHeightFieldIsSolid) {
  BodySpec ground;
  ground.motion = rigid::Motion::fixed;
  ground.shapes[0].shape = Form::height_field;
  ground.shapes[0].columns = 9;
  ground.shapes[0].heights.assign(81, 0);
  const RigidScene scene({.bodies = {ground}});
  const RigidQueries queries(scene.model, scene.state);
  std::vector<Index> found;
  const Shape ball = SphereShape{Real(0.1)};
  for (const double depth : {0.05, 0.11, 0.5, 30.0}) {
    const Vec3 x(Real(0.3), Real(-depth), Real(0.2));
    queries.overlap(ball, {x}, found);
    EXPECT_EQ(found.size(), 1u) << depth;
    const auto hit = queries.cast(ball, {x}, {x + Vec3(0, 1, 0)}, Real(1e-3));
    ASSERT_TRUE(hit) << depth;
    EXPECT_EQ(hit->t, 0) << depth;
    EXPECT_NEAR(hit->normal.y(), 1, 1e-6) << depth;
    const auto near = queries.nearest(x, Real(0.2));
    ASSERT_TRUE(near) << depth;
    EXPECT_NEAR(near->distance, -depth, 1e-5) << depth;
  }
  // Beside it, too: from there a ball comes to the side of the ground.
  const Real border = 4 * ground.shapes[0].grid_spacing;
  queries.overlap(ball, {Vec3(border + Real(0.05), -3, 0)}, found);
  EXPECT_EQ(found.size(), 1u);
  queries.overlap(ball, {Vec3(border + Real(0.15), -3, 0)}, found);
  EXPECT_EQ(found.size(), 0u);
  const auto hit = queries.cast(ball, {Vec3(border + 1, -3, 0)}, {Vec3(border - 1, -3, 0)}, Real(1e-4));
  ASSERT_TRUE(hit);
  EXPECT_NEAR(hit->t, 0.45, 1e-4);
  EXPECT_NEAR(hit->normal.x(), 1, 1e-5);
}

TEST(RigidQueries, CastsThatBeginInsideHitAtOnce) {
  // In a ring's tube, before whose other side there is less than the ball's diameter: the whole way round.
  rigid::BodySpec ring;
  ring.motion = rigid::Motion::fixed;
  ring.shapes[0].shape = Form::mesh;
  ring.shapes[0].mesh = torus_mesh(Real(0.4), Real(0.12), 24, 12);
  const RigidScene scene({.bodies = {ring}});
  const RigidQueries queries(scene.model, scene.state);
  for (int k = 0; k < 500; ++k) {
    const Vector4<double> u = uniform4(1, std::uint64_t(k), 0).cast<double>();
    const double radius = 0.05 + 0.5 * u[0], round = 6.28 * u[1], across = 6.28 * u[2], off = 0.1 * u[3];
    const double at = 0.4 + off * std::cos(across);
    const Vec3 x(Real(at * std::cos(round)), Real(off * std::sin(across)), Real(at * std::sin(round)));
    const auto& shape = shape_of(scene, 0);
    const Vec3 here = collider_pose(scene, 0).to_local(x);
    ASSERT_LT(shape.exact_distance(here).distance, 0);
    const auto hit = queries.cast(SphereShape{Real(radius)}, {x}, {x + Vec3(0, 3, 0)}, Real(1e-4));
    ASSERT_TRUE(hit);
    EXPECT_EQ(hit->t, 0) << "radius " << radius << ", " << shape.exact_distance(here).distance << " m inside";
  }
}

}}  // namespace plenum
