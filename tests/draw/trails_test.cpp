// Trails, without pictures: what lines they draw.
#include "plenum/draw/trails.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace plenum { namespace {

/// Notes the lines.
struct Lines final : DrawableSink {
  std::vector<Vec3> x;
  std::vector<Index2> segments;
  std::vector<Real> radii, values;
  std::size_t spheres_seen = 0;
  Look look = Look::body;
  void triangles(const TriangleView&) override {}
  void spheres(const SphereView& view) override { spheres_seen += view.x.size(); }
  void lines(const LineView& view) override {
    x.insert(x.end(), view.x.begin(), view.x.end());
    segments.insert(segments.end(), view.segments.begin(), view.segments.end());
    radii.insert(radii.end(), view.radii.begin(), view.radii.end());
    values.insert(values.end(), view.colour.values.begin(), view.colour.values.end());
    look = view.look;
  }
  double length() const {
    double sum = 0;
    for (const Index2& s : segments) sum += double((x[std::size_t(s[1])] - x[std::size_t(s[0])]).norm());
    return sum;
  }
  double longest() const {
    double most = 0;
    for (const Index2& s : segments)
      most = std::max(most, double((x[std::size_t(s[1])] - x[std::size_t(s[0])]).norm()));
    return most;
  }
};

Lines picture(Trails& trails, double time, const SphereView& view) {
  Lines lines;
  TrailSink sink(trails, lines, time);
  sink.spheres(view);
  return lines;
}

constexpr double frame = 1.0 / 60;
constexpr double rounding = 1e-5;

TEST(Trails, ReachBackForTheirTimeAndThinToNothing) {
  Trails trails;
  Lines lines;
  for (int f = 0; f <= 60; ++f) {
    const std::vector<Vec3> x = {Vec3(Real(2 * f * frame), 0, 0)};  // at 2 m/s
    lines = picture(trails, f * frame, {.x = x, .radius = Real(0.1), .trail = Real(0.41)});
    EXPECT_NEAR(lines.length(), 2 * std::min(f * frame, 0.41), rounding) << f;
  }
  EXPECT_EQ(lines.spheres_seen, 1u);
  EXPECT_EQ(lines.look, Look::trail);
  ASSERT_FALSE(lines.x.empty());
  EXPECT_NEAR(lines.x.back().x(), 2, rounding);
  EXPECT_NEAR(lines.radii.front(), 0, rounding);
  for (std::size_t i = 1; i < lines.radii.size(); ++i) EXPECT_GT(lines.radii[i], lines.radii[i - 1]);
  EXPECT_LT(lines.radii.back(), Real(0.1));  // it vanishes in the sphere
}

TEST(Trails, NoneWhereNoneIsAskedFor) {
  Trails trails;
  for (int f = 0; f < 5; ++f) {
    const std::vector<Vec3> x = {Vec3(Real(f), 0, 0)};
    EXPECT_TRUE(picture(trails, f * frame, {.x = x}).segments.empty());
  }
  EXPECT_EQ(trails.num_points(), 0u);
}

TEST(Trails, FollowIdsThroughBirthsAndDeaths) {
  Trails trails;
  // Sphere k moves at height k. Number 7 takes the place of number 2, which dies after the third picture.
  const std::vector<std::uint32_t> before = {1, 2, 3}, after = {3, 7, 1};
  Lines lines;
  for (int f = 0; f < 6; ++f) {
    const auto& ids = f < 3 ? before : after;
    std::vector<Vec3> x;
    for (const std::uint32_t id : ids) x.emplace_back(Real(f) / 10, Real(id), 0);
    lines = picture(trails, f * frame, {.x = x, .trail = Real(4.5 * frame), .ids = ids});
    for (const Index2& s : lines.segments)
      EXPECT_NEAR(lines.x[std::size_t(s[0])].y(), lines.x[std::size_t(s[1])].y(), rounding) << f;
  }
  const auto reach = [&](int id) {
    double from = 1e9, to = -1e9;
    for (const Vec3& x : lines.x)
      if (std::lround(x.y()) == id) from = std::min(from, double(x.x())), to = std::max(to, double(x.x()));
    return std::pair(from, to);
  };
  EXPECT_NEAR(reach(1).first, 0.05, rounding);
  EXPECT_NEAR(reach(1).second, 0.5, rounding);
  EXPECT_NEAR(reach(7).first, 0.3, rounding);  // from its birth
  EXPECT_NEAR(reach(2).first, 0.05, rounding);
  EXPECT_NEAR(reach(2).second, 0.2, rounding);  // what the dead one left runs out
  for (int f = 6; f < 12; ++f) {
    const std::vector<Vec3> x;
    lines = picture(trails, f * frame, {.x = x, .trail = Real(4.5 * frame)});
  }
  EXPECT_TRUE(lines.segments.empty());
}

TEST(Trails, AreNotDrawnAcrossAPeriodicBox) {
  Trails trails;
  Lines lines;
  for (int f = 0; f < 20; ++f) {
    const double way = 0.11 * f;
    const std::vector<Vec3> x = {Vec3(Real(way - std::floor(way)), 0, 0)};
    lines = picture(trails, f * frame, {.x = x, .trail = 1, .period = Vec3(1, 0, 0)});
    EXPECT_LT(lines.longest(), 0.12) << f;
  }
  EXPECT_NEAR(lines.length(), 0.11 * 17, rounding);  // but for the two steps through the side
}

TEST(Trails, AreNotDrawnWhereASphereIsPutElsewhere) {
  Trails trails;
  Lines lines;
  for (int f = 0; f < 20; ++f) {
    const std::vector<Vec3> x = {Vec3(Real(0.05 * f + (f < 10 ? 0 : 7)), 0, 0)};
    lines = picture(trails, f * frame, {.x = x, .radius = Real(0.02), .trail = 1});
  }
  EXPECT_NEAR(lines.length(), 0.05 * 18, rounding);
  // A fall from rest is none.
  trails.clear();
  double most = 0;
  for (int f = 0; f <= 60; ++f) {
    const double t = f * frame;
    const std::vector<Vec3> x = {Vec3(0, Real(-4.905 * t * t), 0)};
    lines = picture(trails, t, {.x = x, .radius = Real(0.001), .trail = 2});
    most = 4.905 * t * t;
  }
  EXPECT_NEAR(lines.length(), most, rounding);
}

TEST(Trails, BeginAnewWhenTimeGoesBackAndStayWhenItStands) {
  Trails trails;
  const auto at = [&](double time) {
    const std::vector<Vec3> x = {Vec3(Real(time), 0, 0)};
    return picture(trails, time, {.x = x, .trail = 10});
  };
  for (int f = 0; f < 10; ++f) at(f * frame);
  const std::size_t points = trails.num_points();
  for (int f = 0; f < 100; ++f) EXPECT_NEAR(at(9 * frame).length(), 9 * frame, rounding);  // paused
  EXPECT_EQ(trails.num_points(), points);
  EXPECT_TRUE(at(0).segments.empty());  // reset
  EXPECT_EQ(trails.num_points(), 1u);
  at(frame);
  trails.clear();
  EXPECT_TRUE(at(2 * frame).segments.empty());
}

TEST(Trails, OfOneSphereHaveAtMostSoManyPlacesAndLoseNoLength) {
  Trails trails;
  Lines lines;
  for (int f = 0; f < 5000; ++f) {
    const double angle = 0.01 * f;
    const std::vector<Vec3> x = {Vec3(Real(std::cos(angle)), Real(std::sin(angle)), 0)};
    lines = picture(trails, f * frame, {.x = x, .trail = 20});
    ASSERT_LE(trails.num_points(), Trails::most_pictures);
  }
  EXPECT_GT(trails.num_points(), Trails::most_pictures / 4);
  EXPECT_NEAR(lines.length(), 12, 0.01);  // 20 s, 1200 frames of 0.01 m
}

TEST(Trails, OfManySpheresKeepWithinTheirBudget) {
  constexpr std::size_t budget = 4000;
  Trails trails(budget);
  std::size_t drawn = 0;
  for (int f = 0; f < 120; ++f) {
    // More and more of them, to eight times what 16 places each allow.
    std::vector<Vec3> x;
    std::vector<std::uint32_t> ids;
    for (int i = 0; i < 20 * f; ++i)
      x.emplace_back(Real(0.1 * f), Real(i), 0), ids.push_back(std::uint32_t(i));
    drawn = picture(trails, f * frame, {.x = x, .trail = 1, .ids = ids}).segments.size();
    ASSERT_LE(trails.num_points(), budget) << f;
  }
  EXPECT_GT(drawn, budget / 4);
}

TEST(Trails, AreRoundWhereTheWayIsAndSharpAtABounce) {
  Trails trails;
  Lines lines;
  // Eight pictures a turn: chords would come 0.076 inside of the circle.
  for (int f = 0; f <= 16; ++f) {
    const double angle = f * std::numbers::pi / 4;
    const std::vector<Vec3> x = {Vec3(Real(std::cos(angle)), Real(std::sin(angle)), 0)};
    lines = picture(trails, f * frame, {.x = x, .trail = Real(8 * frame)});
  }
  ASSERT_GT(lines.x.size(), 60u);
  for (const Vec3& x : lines.x) EXPECT_NEAR(x.norm(), 1, 0.015);
  trails.clear();
  for (int f = 0; f <= 16; ++f) {
    const std::vector<Vec3> x = {Vec3(Real(0.1 * f), std::abs(Real(0.3 * (f - 8))), 0)};
    lines = picture(trails, f * frame, {.x = x, .trail = 1});
  }
  for (const Vec3& x : lines.x) EXPECT_GT(x.y(), -rounding);
}

TEST(Trails, HaveTheColoursThatTheSphereHadThere) {
  Trails trails;
  Lines lines;
  for (int f = 0; f < 10; ++f) {
    const std::vector<Vec3> x = {Vec3(Real(f), 0, 0)};
    const std::vector<Real> values = {Real(3 * f)};
    lines = picture(trails, f * frame,
                    {.x = x, .colour = {.values = values, .quantity = "speed", .unit = "m/s"}, .trail = 1});
  }
  ASSERT_EQ(lines.values.size(), lines.x.size());
  ASSERT_FALSE(lines.x.empty());
  for (std::size_t i = 0; i < lines.x.size(); ++i) EXPECT_NEAR(lines.values[i], 3 * lines.x[i].x(), 1e-4);
}

}}  // namespace plenum
