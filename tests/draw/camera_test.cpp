#include "plenum/draw/camera.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plenum/base/random.h"
#include "plenum/draw/bounds.h"

namespace plenum { namespace {

// Picture coordinates from -1 to 1, by the textbook pinhole; x is divided by the aspect.
Vec2 seen_at(const Camera& camera, const Vec3& x, Real aspect) {
  const Vec3 f = (camera.target - camera.eye).normalized(), r = f.cross(camera.up).normalized(),
             u = r.cross(f);
  const Vec3 d = x - camera.eye;
  const Real t = std::tan(camera.field_of_view / 2) * d.dot(f);
  return {d.dot(r) / (t * aspect), d.dot(u) / t};
}

TEST(Camera, FewThatFlewAwayDoNotFrameTheMany) {
  std::vector<Vec3> x;
  for (int i = 0; i < 1000; ++i) x.push_back(uniform4(8, i, 0).head<3>());  // in the unit cube
  for (int i = 0; i < 20; ++i) x.emplace_back(Real(50 + i), Real(-70), Real(30));
  BoundsSink bounds;
  bounds.spheres({.x = x, .radius = Real(0.1)});
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_LT(bounds.subject.high[axis], 2);
    EXPECT_GT(bounds.subject.low[axis], -1);
  }
  // Every one of a few counts.
  BoundsSink few;
  few.spheres({.x = std::span(x).last(21), .radius = Real(0.1)});
  EXPECT_GT(few.subject.high.x(), 69);
}

TEST(Camera, TornPiecesThatFlewAwayDoNotFrameTheRest) {
  // A cloth in the unit square, a shard far away, and one close by.
  constexpr int n = 20;
  std::vector<Vec3> x;
  std::vector<Index3> triangles;
  std::vector<Index2> segments;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) x.emplace_back(Real(i) / (n - 1), 0, Real(j) / (n - 1));
  for (Index i = 0; i + 1 < n; ++i)
    for (Index j = 0; j + 1 < n; ++j) {
      const Index a = i * n + j;
      triangles.push_back({a, a + 1, a + n});
      triangles.push_back({a + 1, a + n + 1, a + n});
      segments.push_back({a, a + 1});
      segments.push_back({a, a + n});
    }
  const auto add_shard = [&](const Vec3& at) {
    const auto a = Index(x.size());
    for (const Vec3& d : {Vec3(0, 0, 0), Vec3(Real(0.1), 0, 0), Vec3(0, 0, Real(0.1))}) x.push_back(at + d);
    triangles.push_back({a, a + 1, a + 2});
    segments.push_back({a, a + 1});
    segments.push_back({a + 1, a + 2});
  };
  add_shard(Vec3(Real(0.5), Real(-80), Real(0.5)));
  add_shard(Vec3(Real(1.2), 0, 0));
  // A thread that still hangs on the cloth, of too few points to count among them, is seen to its end.
  const auto thread = Index(x.size());
  x.emplace_back(Real(-7), 0, 0);
  triangles.push_back({0, 1, thread});
  segments.push_back({0, thread});
  BoundsSink surface, net;
  surface.triangles({.x = x, .triangles = triangles});
  net.lines({.x = x, .segments = segments, .radius = 0});
  for (const Aabb& box : {surface.subject, net.subject}) {
    EXPECT_EQ(box.low, Vec3(-7, 0, 0));
    EXPECT_LT((box.high - Vec3(Real(1.3), 0, 1)).norm(), Real(1e-6));
  }
}

TEST(Camera, FramesWhatItIsGivenAndNoMore) {
  const Real aspect = Real(1.5);
  for (int trial = 0; trial < 20; ++trial) {
    const Framing framing{
        .azimuth = Real(0.3) * trial, .elevation = Real(0.05) * trial - Real(0.2), .room = Real(1.2)};
    SubjectFrame subject(aspect, framing);
    std::vector<Vec3> points;
    for (int i = 0; i < 50; ++i) {
      const Vec4 u = uniform4(5, i, trial);
      points.emplace_back(3 * u[0] + trial, u[1] - 2, 2 * u[2]);
      subject.include(points.back());
    }
    const Camera camera = subject.camera();
    Real left = 1, right = -1, low = 1, high = -1;
    for (const Vec3& x : points) {
      const Vec2 p = seen_at(camera, x, aspect);
      left = std::min(left, p.x()), right = std::max(right, p.x());
      low = std::min(low, p.y()), high = std::max(high, p.y());
    }
    // Inside with the room asked for, as large as that allows, and in the middle both ways.
    const Real edge = 1 / framing.room;
    EXPECT_NEAR(std::max(right, high), edge, 1e-3);
    EXPECT_NEAR(left, -right, 0.25);  // the tangents balance at the depth of the extremes, not their pixels
    EXPECT_LE(right, edge + 1e-3);
    EXPECT_GE(left, -edge - 1e-3);
    EXPECT_LE(high, edge + 1e-3);
    EXPECT_GE(low, -edge - 1e-3);
    EXPECT_NEAR(camera.eye.y() - camera.target.y(), camera.distance() * std::sin(framing.elevation),
                1e-3 * camera.distance());
  }
}

TEST(Camera, FramesSpheresWithTheirRadius) {
  SubjectFrame subject(1, {.room = 1});
  const std::vector<Vec3> x = {Vec3(1, 2, 3)};
  subject.spheres({.x = x, .radius = Real(0.5)});
  const Camera camera = subject.camera();
  // A ball that touches all four sides: sin(fov / 2) = r / distance.
  EXPECT_NEAR((camera.eye - x[0]).norm(), 0.5 / std::sin(camera.field_of_view / 2), 1e-4);
  EXPECT_NEAR((camera.target - x[0]).norm(), 0, 1e-4);
}

TEST(Camera, LeavesOutObstaclesAndWhatIsNotFinite) {
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  const std::vector<Vec3> x = {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(0, 1, 0), Vec3(nan, 0, 0), Vec3(50, 0, 0)};
  const std::vector<Index3> triangles = {Index3(0, 1, 2), Index3(0, 1, 3), Index3(0, 1, 9)};
  SubjectFrame a(1), b(1);
  a.include(x[0]), a.include(x[1]), a.include(x[2]);
  b.triangles({.x = x, .triangles = triangles});
  b.spheres({.x = x, .radius = 1, .look = Look::obstacle});
  EXPECT_EQ(a.camera().eye, b.camera().eye);
  EXPECT_TRUE(SubjectFrame(1).camera().eye.allFinite());
}

TEST(Camera, OrbitPanAndZoomDoWhatTheySay) {
  Camera camera;
  const Real distance = camera.distance();
  camera.orbit(Real(0.4), Real(0.2));
  EXPECT_NEAR(camera.distance(), distance, 1e-5 * distance);
  // Pitching up past the pole stops before it.
  for (int i = 0; i < 100; ++i) camera.orbit(0, Real(0.1));
  EXPECT_LT(camera.forward().y(), 0);
  EXPECT_GT(camera.forward().y(), -0.9999);
  EXPECT_TRUE(camera.right().allFinite());
  camera.zoom(Real(0.5));
  EXPECT_NEAR(camera.distance(), distance / 2, 1e-5 * distance);
  // Panning by half the picture's height puts the old target on its lower edge.
  const Vec3 target = camera.target;
  camera.pan(0, Real(0.5));
  EXPECT_NEAR(seen_at(camera, target, 1).y(), -1, 1e-4);
  // The ray through a picked point passes through it.
  const Vec3 x(Real(0.2), Real(0.1), Real(0.3));
  const Vec2 p = seen_at(camera, x, Real(1.7));
  EXPECT_NEAR(camera.ray(p.x(), p.y(), Real(1.7)).dot((x - camera.eye).normalized()), 1, 1e-6);
  // And the point is found again; what lies behind the eye is not on the picture.
  const std::optional<Vec2> found = camera.project(x, Real(1.7));
  ASSERT_TRUE(found);
  EXPECT_LT((*found - p).norm(), 1e-5);
  EXPECT_FALSE(camera.project(2 * camera.eye - x, Real(1.7)));
  // A shifted lens moves it aside, and the ray through where it is now still finds it.
  camera.shift = Real(0.3);
  const std::optional<Vec2> aside = camera.project(x, Real(1.7));
  ASSERT_TRUE(aside);
  EXPECT_LT((*aside - p - Vec2(Real(0.3), 0)).norm(), 1e-5);
  EXPECT_NEAR(camera.ray(aside->x(), aside->y(), Real(1.7)).dot((x - camera.eye).normalized()), 1, 1e-6);
}

TEST(Camera, FollowsWithoutJerking) {
  FollowCamera follow;
  const auto subject = [](Real x) {
    SubjectFrame frame(Real(1.5));
    frame.include(Vec3(x, 0, 0), 1);
    return frame;
  };
  const Camera first = follow.update(subject(0), 0);
  EXPECT_EQ(follow.update(subject(0), Real(0.1)).eye, first.eye);
  Vec3 last = first.eye, last_step = Vec3::Zero();
  Camera camera;
  for (int i = 0; i < 200; ++i) {
    camera = follow.update(subject(5), Real(1) / 30);
    const Vec3 step = camera.eye - last;
    EXPECT_LT((step - last_step).norm(), 0.15) << i;  // no jerk, though the subject jumped by five
    last = camera.eye, last_step = step;
  }
  // In the end it frames the subject where it is.
  EXPECT_NEAR((camera.target - Vec3(5, 0, 0)).norm(), 0, 0.05);
}

}}  // namespace plenum
