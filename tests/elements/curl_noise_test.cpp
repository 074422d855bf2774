// Curl noise: no divergence, the promised speed, smooth in space and time.
#include <gtest/gtest.h>

#include <cmath>

#include "plenum/base/random.h"
#include "plenum/elements/curl_noise.h"

namespace plenum { namespace {

using Vec3d = Vector3<double>;

/// u(x) of a field, in one call for many points.
std::vector<Vec3> field(const Turbulence& t, double time, const std::vector<Vec3>& x) {
  std::vector<Vec3> u(x.size());
  curl_noise(curl_noise_at(t, time), x, u);
  return u;
}

std::vector<Vec3> random_points(std::size_t n, Real size) {
  std::vector<Vec3> x;
  for (std::size_t i = 0; i < n; ++i)
    x.push_back(size * (uniform4(7, i, 0).head<3>() - Vec3::Constant(Real(0.5))));
  return x;
}

TEST(Turbulence, HasNoDivergence) {
  // Central differences of step d: their error is d^2 u''' / 6, and rounding's eps u / d.
  Turbulence t;
  t.speed = 1;
  for (const int octaves : {1, 3}) {
    t.octaves = octaves;
    const std::vector<Vec3> x = random_points(2000, 20);
    const Real d = Real(0.01) / static_cast<Real>(1 << (octaves - 1));
    std::vector<Vec3> around;
    for (const Vec3& p : x)
      for (int c = 0; c < 3; ++c) {
        around.push_back(p + d * Vec3::Unit(c));
        around.push_back(p - d * Vec3::Unit(c));
      }
    const std::vector<Vec3> u = field(t, 0.7, around);
    double divergence = 0, gradient = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      double sum = 0;
      for (int c = 0; c < 3; ++c) {
        const std::size_t k = 6 * i + 2 * static_cast<std::size_t>(c);
        const double width = static_cast<double>(around[k][c]) - static_cast<double>(around[k + 1][c]);
        const Vec3d slope = (u[k] - u[k + 1]).cast<double>() / width;
        sum += slope[c];
        gradient += slope.squaredNorm();
      }
      divergence += sum * sum;
    }
    EXPECT_LT(std::sqrt(divergence / gradient), 5e-3) << octaves;
  }
}

TEST(Turbulence, HasThePromisedSpeedWithoutAMean) {
  Turbulence t;
  t.speed = 3;
  t.size = Real(0.5);
  for (const int octaves : {1, 2, 4}) {
    t.octaves = octaves;
    const std::vector<Vec3> u = field(t, 1.3, random_points(100000, 200));
    double square = 0;
    Vec3d mean = Vec3d::Zero();
    for (const Vec3& v : u) square += v.cast<double>().squaredNorm(), mean += v.cast<double>();
    EXPECT_NEAR(std::sqrt(square / double(u.size())), 3, 0.06) << octaves;
    EXPECT_LT((mean / double(u.size())).norm(), 0.06);
  }
}

TEST(Turbulence, IsSmoothAcrossCellsAndInTime) {
  Turbulence t;
  t.speed = 1;
  std::vector<Vec3> line;
  for (int i = 0; i < 20000; ++i) line.push_back(Real(i) * Vec3(Real(4e-4), Real(2.3e-4), Real(1.1e-4)));
  const std::vector<Vec3> u = field(t, 0, line);
  double most = 0, change = 0;
  for (std::size_t i = 1; i < u.size(); ++i) {
    const double jump = static_cast<double>((u[i] - u[i - 1]).norm());
    most = std::max(most, jump);
    change += jump / static_cast<double>(u.size());
  }
  EXPECT_LT(most, 20 * change);  // a jump at a cell's face would be a thousand times the mean
  const std::vector<Vec3> x = random_points(1000, 20);
  const std::vector<Vec3> a = field(t, 1.0, x), b = field(t, 1.01, x), c = field(t, 5.0, x);
  double near = 0, far = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    near += static_cast<double>((a[i] - b[i]).squaredNorm());
    far += static_cast<double>((a[i] - c[i]).squaredNorm());
  }
  EXPECT_LT(std::sqrt(near / 1000), 0.1);
  EXPECT_GT(std::sqrt(near / 1000), 1e-3);
  EXPECT_GT(std::sqrt(far / 1000), 0.5);
}

TEST(Turbulence, NeighbouringEddiesAreNotCopies) {
  // Lattice vectors of the noise shift its simplices onto each other; fields that repeat there would
  // correlate.
  Turbulence t;
  t.speed = 1;
  const std::vector<Vec3> x = random_points(20000, 50);
  std::vector<Vec3> shifted = x;
  for (Vec3& p : shifted) p += Vec3(Real(5) / 6, Real(-1) / 6, Real(-1) / 6);  // one step along the skewed i
  const std::vector<Vec3> u = field(t, 0, x), w = field(t, 0, shifted);
  double product = 0, square = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    product += static_cast<double>(u[i].dot(w[i]));
    square += static_cast<double>(u[i].squaredNorm());
  }
  EXPECT_LT(std::abs(product / square), 0.2);
}

TEST(Turbulence, OfNoSpeedIsStillAir) {
  for (const Vec3& u : field({}, 0, random_points(10, 5))) EXPECT_EQ(u, Vec3::Zero());
}

}}  // namespace plenum
