#include "plenum/elements/wind.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "elements/vectors.h"

namespace plenum { namespace {

using test::random_vector;
using test::V;
constexpr double density = 1.2;

TEST(Wind, FrontalFlowGivesTheDefinitionOfTheDragCoefficient) {
  const V area(0, 0, 0.5), u(0, 0, -4);
  const AirForce<double> air = air_force(area, u, density, 1.3, 0.8);
  EXPECT_NEAR(air.force[2], -0.5 * density * 1.3 * 0.5 * 16, 1e-12);
  EXPECT_NEAR(air.force.head<2>().norm(), 0, 1e-12);
}

TEST(Wind, DragIsAlongTheFlowAndLiftAcrossIt) {
  const V area(0, 0.5, 0);
  const double angle = 0.3, speed = 4;  // incidence, between flow and plate
  const V u(speed * std::cos(angle), speed * std::sin(angle), 0),
      along = u / speed, across(-std::sin(angle), std::cos(angle), 0);
  const V force = air_force(area, u, density, 0.9, 1.1).force;
  const double pressure = 0.5 * density * speed * speed * 0.5;
  EXPECT_NEAR(force.dot(along), pressure * 0.9 * std::sin(angle), 1e-12);
  EXPECT_NEAR(force.dot(across), pressure * 1.1 * std::sin(angle) * std::cos(angle), 1e-12);
}

TEST(Wind, BothSidesFeelTheSameAndGrazingOrStillAirNothing) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 20; ++trial) {
    const V area = random_vector(random, 3), u = random_vector(random, 3);
    EXPECT_NEAR(
        (air_force(area, u, density, 1., .5).force - air_force<double>(-area, u, density, 1., .5).force)
            .norm(),
        0, 1e-12);
  }
  EXPECT_EQ(air_force(V(0, 1, 0), V(5, 0, 0), density, 1., 1.).force.norm(), 0);
  EXPECT_EQ(air_force(V(0, 1, 0), V(0, 0, 0), density, 1., 1.).force.norm(), 0);
  EXPECT_EQ(air_force(V(0, 0, 0), V(5, 0, 0), density, 1., 1.).force.norm(), 0);
}

TEST(Wind, InStillAirItTakesEnergy) {
  std::mt19937 random(6);
  for (int trial = 0; trial < 100; ++trial) {
    const V area = random_vector(random, 3), velocity = random_vector(random, 3);
    EXPECT_LE(air_force<double>(area, -velocity, density, 0.7, 1.9).force.dot(velocity), 0);
  }
}

// Coefficients, masses and steps over many decades, with no drag at all among them. The condition of the
// matrix, up to 1e9, takes as many digits.
TEST(Wind, AnImplicitStepTurnsAFreePieceByTheLiftAndSlowsItByTheDrag) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> decades(-3, 3);
  for (int trial = 0; trial < 20000; ++trial) {
    const V area = random_vector(random, 3), u = random_vector(random, 3), m = area.normalized();
    const double drag = trial % 10 == 0 ? 0 : std::pow(10, decades(random));
    const double lift = std::pow(10, decades(random)), lightness = std::pow(10, 1.5 * decades(random));
    const AirForce<double> air = air_force(area, u, density, drag, lift, lightness);
    const Matrix3<double> matrix =
        (1 / lightness + air.across) * Matrix3<double>::Identity() + air.w * air.w.transpose();
    const V left = u - matrix.ldlt().solve(air.force);  // seen from the piece after the step
    const double slower = 1 + 0.5 * density * drag * area.norm() * std::abs(u.dot(m)) * lightness;
    EXPECT_NEAR(left.norm() / u.norm(), 1 / slower, 1e-7);
    EXPECT_GE(left.dot(m) * u.dot(m), -1e-7 * u.squaredNorm());  // it never turns beyond grazing flow
    EXPECT_GE(left.dot(u), -1e-7 * u.squaredNorm());
  }
}

TEST(Wind, ShortImplicitStepsFeelTheForceItself) {
  std::mt19937 random(8);
  for (int trial = 0; trial < 100; ++trial) {
    const V area = random_vector(random, 3), u = random_vector(random, 3);
    const V force = air_force(area, u, density, 0.8, 1.4).force;
    for (const double lightness : {1e-3, 1e-5})
      EXPECT_LE((air_force(area, u, density, 0.8, 1.4, lightness).force - force).norm(),
                20 * lightness * force.norm());
  }
}

}}  // namespace plenum
