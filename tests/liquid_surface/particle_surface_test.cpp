// Surfaces of liquids made of particles: closed forms, and the sums taken the plain way.
#include "plenum/geometry/particle_surface.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "plenum/base/hash.h"
#include "plenum/base/parallel.h"
#include "plenum/base/random.h"
#include "plenum/geometry/isosurface.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

std::vector<Real> distance_of(const GridShape& shape, double h, const std::vector<Vec3>& x, double reach,
                              bool walled = false) {
  std::vector<Real> phi(shape.size());
  ParticleSurfaceWorkspace work;
  particle_distance(shape, Vec3::Zero(), static_cast<Real>(h), x, static_cast<Real>(reach), walled, work,
                    phi);
  return phi;
}

/// Particles `per_cell`^3 a cell in a box of cells, moved by up to `jitter` of their distance.
std::vector<Vec3> filled(const std::array<double, 3>& low, const std::array<double, 3>& high, double spacing,
                         double jitter) {
  std::vector<Vec3> x;
  std::uint32_t item = 0;
  for (double c = low[2] + spacing / 2; c < high[2]; c += spacing)
    for (double b = low[1] + spacing / 2; b < high[1]; b += spacing)
      for (double a = low[0] + spacing / 2; a < high[0]; a += spacing) {
        const Vec4 u = uniform4(1, item++, 0);
        const auto off = [&](int k) { return jitter * spacing * (static_cast<double>(u[k]) - 0.5); };
        x.emplace_back(static_cast<Real>(a + off(0)), static_cast<Real>(b + off(1)),
                       static_cast<Real>(c + off(2)));
      }
  return x;
}

/// Of an evenly filled half-space seen from height s above it, all in reaches: the integral of the weights,
/// and how far their mean is away.
double weight_of_half_space(double s) {
  const auto below = [](double t) {  // integral of (1 - t^2)^4
    return t - 4 * std::pow(t, 3) / 3 + 6 * std::pow(t, 5) / 5 - 4 * std::pow(t, 7) / 7 + std::pow(t, 9) / 9;
  };
  return below(1) - below(s);
}
double mean_of_half_space(double s) {
  return std::pow(1 - s * s, 5) / 10 / weight_of_half_space(s);
}

TEST(ParticleSurface, LiesWhereAHalfSpaceOfLiquidEnds) {
  // Both constants, from the formula and not from the code.
  EXPECT_NEAR(mean_of_half_space(0), 63.0 / 256, 1e-12);
  const double scale = 10 * std::pow(128.0 / 315, 2);
  EXPECT_NEAR((mean_of_half_space(1e-5) - mean_of_half_space(-1e-5)) / 2e-5 * scale, 1, 1e-8);

  const GridShape shape{{8, 12, 8}};
  const double h = 0.1, reach = 0.2, spacing = 0.0125, level = 45 * spacing;
  const std::vector<Vec3> x = filled({-0.3, 0, -0.3}, {1.1, level, 1.1}, spacing, 0);
  const std::vector<Real> phi = distance_of(shape, h, x, reach);
  for (Index j = 3; j < 8; ++j) {
    const double s = ((j + 0.5) * h - level) / reach;
    // Farther out a few particles are all that a point sees.
    if (s > 0.7 && s < 1) continue;
    const double expected = std::abs(s) < 1
                                ? scale * reach * (mean_of_half_space(s) - 63.0 / 256)
                                : reach * static_cast<double>(s > 0 ? farthest_outside : deepest_inside);
    // The lattice is the midpoint rule for both integrals: off by (spacing / reach)^2 / 24 of the slopes of
    // (1 - t^2)^4 and t (1 - t^2)^4 at the liquid's end, to leading order.
    const double u = std::abs(s) < 1 ? 1 - s * s : 0, c = std::abs(s) < 1 ? mean_of_half_space(s) : 0;
    const double slopes = 8 * std::abs(s) * std::pow(u, 3) * c + std::abs(std::pow(u, 3) * (u - 8 * s * s));
    const double order = std::pow(spacing / reach, 2) / 24 * slopes / weight_of_half_space(std::min(s, 0.9));
    EXPECT_NEAR(static_cast<double>(phi[shape.index(4, j, 4)]), expected, scale * reach * 1.5 * order + 1e-5)
        << j;
  }
}

TEST(ParticleSurface, OfOneParticleIsABall) {
  const GridShape shape{{10, 10, 10}};
  const Vec3 x(Real(0.52), Real(0.47), Real(0.55));
  const double reach = 0.25;
  const std::vector<Real> phi = distance_of(shape, 0.1, {x}, reach);
  for (Index k = -1; k <= 10; ++k)
    for (Index j = -1; j <= 10; ++j)
      for (Index i = -1; i <= 10; ++i) {
        const double d = (Vector3<double>(i + .5, j + .5, k + .5) * 0.1 - x.cast<double>()).norm();
        const double expected = d < reach ? 10 * std::pow(128.0 / 315, 2) * (d - reach * 63 / 256)
                                          : reach * static_cast<double>(farthest_outside);
        EXPECT_NEAR(static_cast<double>(phi[shape.index(i, j, k)]), expected, 1e-5);
      }
}

TEST(ParticleSurface, IsThePlainSumWhereverItIsNotDeepInside) {
  const GridShape shape{{20, 14, 14}};
  const double h = 0.1, reach = 0.23;
  std::vector<Vec3> x = filled({0.2, 0.1, 0}, {1.5, 1.2, 1.2}, 0.05, 0.9);
  for (std::uint32_t i = 0; i < 60; ++i) {
    const Vec4 u = uniform4(2, i, 0);
    x.emplace_back(2 * u[0], Real(1.4) * u[1], Real(1.4) * u[2]);
  }
  x.emplace_back(Real(-5), Real(0), Real(0));
  x.emplace_back(std::numeric_limits<Real>::quiet_NaN(), Real(0.5), Real(0.5));
  const std::vector<Real> phi = distance_of(shape, h, x, reach);
  int deep = 0, near = 0, far = 0;
  for (Index k = -1; k <= 14; ++k)
    for (Index j = -1; j <= 14; ++j)
      for (Index i = -1; i <= 20; ++i) {
        const Vector3<double> p = h * Vector3<double>(i + .5, j + .5, k + .5);
        double sum = 0, nearest = 2;
        Vector3<double> mean = Vector3<double>::Zero();
        for (const Vec3& q : x) {
          const double d2 = (q.cast<double>() - p).squaredNorm() / (reach * reach);
          if (!(d2 < 1)) continue;
          nearest = std::min(nearest, std::sqrt(d2));
          const double w = std::pow(1 - d2, 3);
          sum += w;
          mean += w * (q.cast<double>() - p);
        }
        const double value = static_cast<double>(phi[shape.index(i, j, k)]);
        const double expected =
            sum > 0 ? std::max(10 * std::pow(128.0 / 315, 2) * ((mean / sum).norm() - reach * 63 / 256),
                               reach * std::min(8 * (nearest - 0.45), 0.1))
                    : reach * static_cast<double>(farthest_outside);
        if (value == static_cast<double>(deepest_inside * static_cast<Real>(reach))) {
          // Cells all around hold particles, whose mean is near.
          ++deep;
          EXPECT_LT(expected, -0.5 * reach * 63 / 256);
        } else {
          ++(sum > 0 ? near : far);
          // A particle at the rim weighs (1 - d^2)^3 of rounding: the mean may be off where it is alone.
          EXPECT_NEAR(value, expected, sum > 1e-4 ? 1e-4 : 0.1);
        }
      }
  EXPECT_GT(deep, 100);
  EXPECT_GT(near, 500);
  EXPECT_GT(far, 500);
}

TEST(ParticleSurface, LeavesWideGapsOpenAndClosesNarrowOnes) {
  const GridShape shape{{6, 20, 6}};
  const double h = 0.1, reach = 0.2, spacing = 0.05;
  for (const double gap : {0.05, 0.3}) {
    // Around y = 1.05, where centres are. Particles end half their distance before their liquid does.
    std::vector<Vec3> x = filled({-0.3, 0.2, -0.3}, {0.9, 1.05 - gap / 2, 0.9}, spacing, 0);
    for (const Vec3& p : filled({-0.3, 0.2, -0.3}, {0.9, 1.05 - gap / 2, 0.9}, spacing, 0))
      x.emplace_back(p.x(), Real(2.1) - p.y(), p.z());
    const std::vector<Real> phi = distance_of(shape, h, x, reach);
    EXPECT_EQ(phi[shape.index(3, 10, 3)] < 0, gap < 0.45 * reach) << gap;
    EXPECT_LT(phi[shape.index(3, 6, 3)], 0);
    EXPECT_LT(phi[shape.index(3, 14, 3)], 0);
  }
}

TEST(ParticleSurface, OfAPoolMeetsItsWallsSquarely) {
  const GridShape shape{{16, 12, 10}};
  const double h = 0.1, level = 0.63;
  const std::vector<Vec3> x = filled({0, 0, 0}, {1.6, level, 1}, 0.025, 0);
  const std::vector<Real> phi = distance_of(shape, h, x, 0.2, true);
  IsosurfaceWorkspace work;
  SurfaceMesh mesh;
  isosurface(shape, Vec3::Zero(), Real(h), phi, work, mesh);
  double volume = 0;
  Vec3 low = Vec3::Constant(1e9f), high = -low;
  for (const Vec3& p : mesh.x) low = low.cwiseMin(p), high = high.cwiseMax(p);
  for (const Index3& t : mesh.triangles)
    volume += static_cast<double>(mesh.x[t[0]].dot(mesh.x[t[1]].cross(mesh.x[t[2]]))) / 6;
  // Layers of particles end half their distance above the last one: at 0.625 from 0.6125.
  const double top = 0.625 + 0.0;
  EXPECT_NEAR(static_cast<double>(high.y()), top, 0.01);
  EXPECT_NEAR(static_cast<double>(high.x() - low.x()), 1.6, 1e-4);
  EXPECT_NEAR(static_cast<double>(high.z() - low.z()), 1, 1e-4);
  EXPECT_NEAR(static_cast<double>(low.y()), 0, 1e-4);
  // Cells at edges of the box are cut by a plane: at most h^2 / 8 for each length of an edge is missing.
  EXPECT_NEAR(volume, 1.6 * 1 * top, h * h / 8 * 4 * (1.6 + 1 + top) + 0.01 * 1.6);
}

TEST(SmoothField, TakesTheShortestWavesOutAndLeavesPlanesAlone) {
  const GridShape shape{{12, 9, 7}};
  std::vector<Real> board(shape.size()), plane(shape.size()), scratch(shape.size());
  const auto each = [&](Index margin, auto&& f) {
    for (Index k = -1 + margin; k <= 7 - margin; ++k)
      for (Index j = -1 + margin; j <= 9 - margin; ++j)
        for (Index i = -1 + margin; i <= 12 - margin; ++i) f(shape.index(i, j, k), i, j, k);
  };
  const auto height = [](Index i, Index j, Index k) { return static_cast<Real>(3 * i - 2 * j + k); };
  each(0, [&](std::size_t at, Index i, Index j, Index k) {
    board[at] = (i + j + k) % 2 == 0 ? Real(1) : Real(-1);
    plane[at] = height(i, j, k);
  });
  smooth_field(shape, 1, board, scratch);
  smooth_field(shape, 3, plane, scratch);
  each(1, [&](std::size_t at, Index i, Index j, Index k) {
    EXPECT_NEAR(board[at], 0, 1e-6);
    EXPECT_NEAR(plane[at], height(i, j, k), 1e-4);
  });
}

TEST(ParticleSurface, IsTheSameForEveryNumberOfThreads) {
  const GridShape shape{{40, 30, 20}};
  const std::vector<Vec3> x = filled({0, 0, 0}, {1.7, 2, 2}, 0.05, 0.9);
  Hash128 first;
  for (int threads = 1; threads <= 8; ++threads)
    with_threads(threads, [&] {
      std::vector<Real> phi = distance_of(shape, 0.1, x, 0.2, true), scratch(shape.size());
      smooth_field(shape, 2, phi, scratch);
      Hasher hasher;
      hasher.add(phi.data(), phi.size() * sizeof(Real));
      if (threads == 1) first = hasher.digest();
      EXPECT_EQ(hasher.digest(), first) << threads;
    });
}

TEST(ParticleSurface, AllocatesNothingTheSecondTime) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "allocations cannot be counted in this build";
  const GridShape shape{{20, 20, 20}};
  const std::vector<Vec3> x = filled({0, 0, 0}, {1, 1, 1}, 0.05, 0.9);
  std::vector<Real> phi(shape.size());
  ParticleSurfaceWorkspace work;
  const auto frame = [&] {
    particle_distance(shape, Vec3::Zero(), Real(0.1), x, Real(0.2), true, work, phi);
  };
  frame();
  EXPECT_EQ(plenum_test::count_allocations(frame), 0);
}

}}  // namespace plenum
