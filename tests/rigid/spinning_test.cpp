// Faces that spin on a floor: even pressure, whose lever is the mean way from the middle.
#include <gtest/gtest.h>

#include <cmath>

#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::Form;
using validation::RigidScene;

constexpr double rubs = 0.5 * 9.81;  // m/s^2, friction times gravity

/// Mean way from the middle of a rectangle of sides a and b, by the midpoint rule.
double mean_way(double a, double b) {
  constexpr int n = 400;
  double sum = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) sum += std::hypot(a * ((i + 0.5) / n - 0.5), b * ((j + 0.5) / n - 0.5));
  return sum / (n * n);
}

/// [rad/s^2] by which it is slowed over a third of a second, from 10 rad/s; not in the first step, at whose
/// start it is not pressed yet.
double slowing(rigid::BodySpec body) {
  body.angular_velocity = Vec3(0, 10, 0);
  RigidScene scene({.bodies = {validation::floor_box(), body}});
  scene.step();
  const double before = scene.state.frames.w[1].y();
  for (int k = 0; k < 19; ++k) scene.step();
  return (before - scene.state.frames.w[1].y()) / (19 / 60.0);
}

// Simpson's rule over halves of the sides is right to 4 parts in a thousand for sides of 1:1 to 1:10.
TEST(SpinningFaces, RectanglesRubWithTheirMeanWay) {
  for (const double b : {1.0, 0.5, 0.2, 0.1}) {
    const double want = rubs * mean_way(1, b) * 12 / (1 + b * b);
    EXPECT_NEAR(slowing(validation::box(Vec3(Real(0.5), Real(0.05), Real(b / 2)), Vec3(0, Real(0.05), 0))),
                want, 0.01 * want)
        << b;
  }
}

TEST(SpinningFaces, DiscsRubWithTwoThirdsOfTheirRadius) {
  rigid::BodySpec disc = validation::box(Vec3::Ones(), Vec3(0, Real(0.05), 0));
  disc.shapes[0].shape = Form::cylinder;
  disc.shapes[0].radius = Real(0.5);
  disc.shapes[0].half_height = Real(0.05);
  const double want = 4 * rubs / (3 * 0.5);
  EXPECT_NEAR(slowing(disc), want, 0.01 * want);
}

// A line of length l that presses evenly: l/4. The moment of inertia is the model's own.
TEST(SpinningFaces, LinesRubWithAQuarterOfTheirLength) {
  rigid::BodySpec rod = validation::box(Vec3::Ones(), Vec3(0, Real(0.05), 0));
  rod.shapes[0].shape = Form::capsule;
  rod.shapes[0].radius = Real(0.05);
  rod.shapes[0].half_height = Real(0.5);
  rod.rotation = Vec3(0, 0, 90);
  const RigidScene scene({.bodies = {rod}});
  const double inertia =
      1 / double(scene.state.frames.inverse_inertia[0].minCoeff() / scene.state.frames.inverse_mass[0]);
  const double want = rubs * 0.25 / inertia;
  EXPECT_NEAR(slowing(rod), want, 0.01 * want);
}

}  // namespace
}  // namespace plenum
