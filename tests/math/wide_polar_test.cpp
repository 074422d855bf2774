// Rotations in lanes against those of one deformation at a time.
#include "plenum/math/wide_polar.h"

#include <gtest/gtest.h>

#include <random>

namespace plenum { namespace {

using namespace detail;  // NOLINT: what is tested

TEST(WidePolar, IsThePolarRotationFromNearAndFromFar) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0, 1);
  const double eps = std::numeric_limits<Real>::epsilon();
  for (int trial = 0; trial < 300; ++trial) {
    Wide3 f[3], r[3];
    WideQuat q = {};
    Matrix3<Real> m[wide];
    // Of every kind: near a rotation or not, inside out, tiny and large, flat.
    for (int l = 0; l < wide; ++l) {
      for (int c = 0; c < 9; ++c) m[l](c / 3, c % 3) = Real(normal(random) * (trial % 3 ? 1 : 0.2));
      if (trial % 3 == 0) m[l] += Matrix3<Real>::Identity();
      if (trial % 5 == 0) m[l].col(1) = m[l].col(0);
      m[l] *= Real(std::pow(10.0, double(trial % 7) - 3));
      for (int c = 0; c < 3; ++c) f[c].x[l] = m[l](0, c), f[c].y[l] = m[l](1, c), f[c].z[l] = m[l](2, c);
      q.w[l] = 1;
    }
    wide_polar_rotation(f, q, r);
    for (int l = 0; l < wide; ++l) {
      Matrix3<Real> found;
      for (int c = 0; c < 3; ++c) found.col(c) = Vec3(r[c].x[l], r[c].y[l], r[c].z[l]);
      EXPECT_LT((found.transpose() * found - Matrix3<Real>::Identity()).norm(), 16 * eps);
      EXPECT_GT(found.determinant(), 0);
      const Matrix3<double> d = m[l].cast<double>();
      const Matrix3<double> best =
          polar_rotation<double>(d, Quaternion<double>::Identity()).toRotationMatrix();
      // No other rotation has a larger trace.
      const double size = d.norm();
      EXPECT_NEAR((found.cast<double>().transpose() * d).trace(), (best.transpose() * d).trace(),
                  8 * eps * size);
      // The trace is flat there: a rotation that is off by a little is told by S = R^T F, which is to be
      // symmetric, but for some twenty roundings of each number of R and S.
      const Matrix3<double> s = found.cast<double>().transpose() * d;
      EXPECT_LT((s - s.transpose()).norm(), 64 * eps * size) << trial;
    }
  }
}

}}  // namespace plenum
