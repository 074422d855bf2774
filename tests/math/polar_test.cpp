// The rotation of the polar decomposition, beside Eigen's singular value decomposition.
#include "plenum/math/polar.h"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <random>

namespace plenum { namespace {

template <class T>
class Polar : public testing::Test {};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(Polar, Numbers);

TYPED_TEST(Polar, IsThatOfTheSingularValues) {
  using T = TypeParam;
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 2000; ++trial) {
    Matrix3<T> f;
    for (int k = 0; k < 9; ++k) f(k / 3, k % 3) = static_cast<T>(normal(random));
    const Eigen::JacobiSVD<Eigen::Matrix3d> svd(f.template cast<double>(),
                                                Eigen::ComputeFullU | Eigen::ComputeFullV);
    const Eigen::Vector3d s = svd.singularValues();
    Eigen::Matrix3d u = svd.matrixU();
    const double sign = (u * svd.matrixV().transpose()).determinant();
    u.col(2) *= sign;
    const Eigen::Matrix3d r = u * svd.matrixV().transpose();
    const Matrix3<T> got = polar_rotation(f, Quaternion<T>(1, 0, 0, 0)).toRotationMatrix();
    // A disturbance of F turns R by its size over the sum of the two least stretches, the least with its
    // sign.
    const double gap = s[1] + sign * s[2];
    EXPECT_LT((got.template cast<double>() - r).norm(),
              30 * double(std::numeric_limits<T>::epsilon()) * s[0] / gap);
  }
}

TYPED_TEST(Polar, IsARotationForAnyMatrix) {
  using T = TypeParam;
  const T eps = std::numeric_limits<T>::epsilon();
  std::mt19937 random(4);
  std::uniform_int_distribution<int> small(-2, 2);
  std::uniform_real_distribution<double> power(-12, 12);
  for (int trial = 0; trial < 5000; ++trial) {
    // Many of rank one or two, and zeros.
    Matrix3<T> f;
    for (int k = 0; k < 9; ++k) f(k / 3, k % 3) = static_cast<T>(small(random));
    f *= static_cast<T>(std::pow(10, power(random)));
    const Matrix3<T> r =
        polar_rotation(f, Quaternion<T>(Eigen::AngleAxis<T>(1, Vector3<T>::UnitX()))).toRotationMatrix();
    EXPECT_LT((r.transpose() * r - Matrix3<T>::Identity()).norm(), 20 * eps);
    EXPECT_NEAR(r.determinant(), 1, 20 * eps);
  }
}

TYPED_TEST(Polar, KeepsWhatWasWhereNothingSaysOtherwise) {
  using T = TypeParam;
  const Quaternion<T> before(Eigen::AngleAxis<T>(T(0.7), Vector3<T>(1, 2, 3).normalized()));
  EXPECT_EQ(polar_rotation(Matrix3<T>(Matrix3<T>::Zero()), before).coeffs(), before.coeffs());
}

// Of a matrix f u^T, any rotation that takes u to f is one; the least turn from what was is taken. What is
// narrow turns about its axis by what is left across, which that rounds by eps over its width.
TYPED_TEST(Polar, TakesTheAxisOfWhatIsNarrowAlongIt) {
  using T = TypeParam;
  const double eps = double(std::numeric_limits<T>::epsilon());
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  const auto any = [&] {
    return Quaternion<double>(normal(random), normal(random), normal(random), normal(random)).normalized();
  };
  for (int trial = 0; trial < 1000; ++trial) {
    const Matrix3<double> r = any().toRotationMatrix(), axes = any().toRotationMatrix();
    for (const double width : {1e-4, 1e-5, 1e-6, 0.0}) {
      const Vector3<double> stretches(1, width, width / 2);
      const Matrix3<double> f = r * axes * stretches.asDiagonal() * axes.transpose();
      const Matrix3<double> found = polar_rotation(Matrix3<T>(f.cast<T>()), Quaternion<T>(1, 0, 0, 0))
                                        .toRotationMatrix()
                                        .template cast<double>();
      const Matrix3<double> off = (found - r) * axes * stretches.asDiagonal();
      EXPECT_LT(off.col(0).norm(), 20 * eps) << width;
      EXPECT_LT(off.rightCols<2>().norm(), std::max(20 * eps, width < 100 * eps ? 4 * width : 0)) << width;
    }
  }
}

}}  // namespace plenum
