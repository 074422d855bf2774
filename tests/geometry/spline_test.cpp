// Curves through points.
#include "plenum/geometry/spline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace plenum { namespace {

TEST(Spline, GoesEvenlyThroughItsPoints) {
  // A circle of 32 points, which the curve leaves by less than the fourth power of a step.
  std::vector<Vec3> points;
  const auto on_circle = [](double angle) { return Vec3(Real(std::cos(angle)), 0, Real(std::sin(angle))); };
  for (int k = 0; k <= 32; ++k) points.push_back(on_circle(2 * std::numbers::pi * k / 32));
  const Spline curve(points);
  EXPECT_NEAR(double(curve.length()), 2 * std::numbers::pi, 2e-2);
  for (int k = 2; k <= 30; ++k) {
    const double angle = 2 * std::numbers::pi * k / 32;
    const auto [x, way] = curve.at(curve.length() * Real(k) / 32);
    EXPECT_LT(double((x - on_circle(angle)).norm()), 1e-2);
    EXPECT_LT(std::abs(double(x.norm()) - 1), std::pow(2 * std::numbers::pi / 32, 4));
    EXPECT_GT(double(way.normalized().dot(on_circle(angle + std::numbers::pi / 2))), 0.999);
  }
  EXPECT_LT(double((curve.at(0).first - points.front()).norm()), 1e-6);
  EXPECT_LT(double((curve.at(curve.length()).first - points.back()).norm()), 1e-5);
}

}}  // namespace plenum
