#include "plenum/elements/spring.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <random>

#include "elements/vectors.h"

namespace plenum { namespace {

using test::random_vector;
using test::V;
using M = Matrix3<double>;

TEST(Spring, ForceIsTheGradientOfTheEnergy) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 50; ++trial) {
    const V d = random_vector(random);
    const double k = 3, l0 = 0.7, e = 1e-5;
    for (int c = 0; c < 3; ++c) {
      const V step = e * V::Unit(c);
      const double slope =
          (spring_energy<double>(d + step, k, l0) - spring_energy<double>(d - step, k, l0)) / (2 * e);
      EXPECT_NEAR(spring_force(d, k, l0)[c], slope, 1e-8);
    }
  }
}

TEST(Spring, HessianIsTheDerivativeOfTheForce) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 50; ++trial) {
    const V d = random_vector(random);
    const double k = 3, l0 = 0.7, e = 1e-6;
    const M h = spring_hessian(d, k, l0);
    for (int c = 0; c < 3; ++c) {
      const V step = e * V::Unit(c);
      const V slope =
          (spring_force<double>(d + step, k, l0) - spring_force<double>(d - step, k, l0)) / (2 * e);
      EXPECT_NEAR((h.col(c) - slope).norm(), 0, 1e-6 / d.norm());
    }
  }
}

TEST(Spring, ProjectionKeepsTheEigenvectorsAndClampsTheNegativeEigenvalues) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const V d = random_vector(random);
    const double k = 3, l0 = 0.7;
    const Eigen::SelfAdjointEigenSolver<M> exact(spring_hessian(d, k, l0));
    const M nearest = exact.eigenvectors() * exact.eigenvalues().cwiseMax(0).asDiagonal() *
                      exact.eigenvectors().transpose();
    EXPECT_NEAR((spring_hessian_projected(d, k, l0) - nearest).norm(), 0, 1e-12);
  }
}

TEST(Spring, DampingTakesEnergyAndActsAlongTheSpringOnly) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 50; ++trial) {
    const V d = random_vector(random), relative = random_vector(random);
    const V f = spring_damping_force(d, relative, 2.0);
    EXPECT_GE(f.dot(relative), 0);  // on i, which moves with -relative as seen from j
    EXPECT_NEAR(f.cross(d).norm(), 0, 1e-12);
    EXPECT_NEAR(f.dot(d.normalized()), 2.0 * relative.dot(d.normalized()), 1e-12);
  }
}

TEST(Spring, WithoutLengthNothingIsInfinite) {
  const Vector3<float> zero = Vector3<float>::Zero();
  EXPECT_EQ(spring_force(zero, 10.f, 1.f).norm(), 0);
  EXPECT_EQ(spring_damping_force(zero, {1, 2, 3}, 1.f).norm(), 0);
  EXPECT_TRUE(spring_hessian_projected(zero, 10.f, 1.f).allFinite());
  // A spring of rest length zero is linear: k d, everywhere.
  const Vector3<float> d(1, 2, 3);
  EXPECT_EQ((spring_force(d, 10.f, 0.f) - 10.f * d).norm(), 0);
  EXPECT_EQ((spring_hessian_projected(d, 10.f, 0.f) - 10.f * Matrix3<float>::Identity()).norm(), 0);
}

}}  // namespace plenum
