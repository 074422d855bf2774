// Redistancing and particles that correct a level set.
#include "plenum/integrate/level_set.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "plenum/base/hash.h"
#include "plenum/base/parallel.h"
#include "plenum/base/random.h"
#include "plenum/integrate/tracker_particles.h"

namespace plenum { namespace {

template <class F>
void fill_cells(const GridShape& shape, double h, std::vector<Real>& phi, F&& f) {
  phi.assign(shape.size(), 0);
  for (Index k = 0; k < shape.cells[2]; ++k)
    for (Index j = 0; j < shape.cells[1]; ++j)
      for (Index i = 0; i < shape.cells[0]; ++i)
        phi[shape.index(i, j, k)] = static_cast<Real>(f((i + .5) * h, (j + .5) * h, (k + .5) * h));
}

struct Errors {
  double largest = 0, mean = 0, at_surface = 0;
};
/// Of a redistanced circle or ball of radius 0.3 around the middle of the unit box, given as a function that
/// is no distance: steep on one side and shallow on the other (Russo & Smereka 2000, section 4, in their
/// spirit).
Errors redistanced_ball(int n, bool flat) {
  const GridShape shape{{n, n, flat ? 1 : n}};
  const double h = 1.0 / n, radius = 0.3, band = 0.15;
  const auto exact = [&](double x, double y, double z) {
    return std::hypot(x - 0.52, y - 0.49, flat ? 0.0 : z - 0.5) - radius;
  };
  std::vector<Real> phi;
  fill_cells(shape, h, phi, [&](double x, double y, double z) {
    return exact(x, y, z) * (0.1 + std::pow(x - 0.2, 2) + std::pow(y - 0.3, 2));
  });
  RedistanceWorkspace work;
  redistance(shape, static_cast<Real>(h), static_cast<Real>(band), phi, work);
  Errors e;
  long count = 0;
  for (Index k = 0; k < shape.cells[2]; ++k)
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < n; ++i) {
        const double d = exact((i + .5) * h, (j + .5) * h, (k + .5) * h);
        if (std::abs(d) > 0.12) continue;
        const double off = std::abs(static_cast<double>(phi[shape.index(i, j, k)]) - d);
        e.largest = std::max(e.largest, off);
        e.mean += off, ++count;
        if (std::abs(d) < 1.2 * h) e.at_surface = std::max(e.at_surface, off);
      }
  e.mean /= static_cast<double>(count);
  return e;
}

TEST(Redistance, IsOfSecondOrder) {
  for (const bool flat : {true, false}) {
    Errors before;
    for (const int n : flat ? std::vector{32, 64, 128} : std::vector{24, 48}) {
      const Errors e = redistanced_ball(n, flat);
      std::printf("%s n %d: largest %.2e mean %.2e at surface %.2e\n", flat ? "circle" : "ball", n, e.largest,
                  e.mean, e.at_surface);
      if (before.largest > 0 && e.mean > 2e-6) {
        EXPECT_GT(std::log2(before.mean / e.mean), 1.7);
        EXPECT_GT(std::log2(before.at_surface / e.at_surface), 1.6);
      }
      before = e;
    }
  }
}

TEST(Redistance, LeavesADistanceAlone) {
  const int n = 64;
  const double h = 1.0 / n;
  const GridShape shape{{n, n, 1}};
  std::vector<Real> phi;
  // A plane at an angle: exact for every scheme; so nothing may move but by rounding.
  const auto plane = [](double x, double y, double) { return 0.6 * (x - 0.5) + 0.8 * (y - 0.47); };
  fill_cells(shape, h, phi, plane);
  const std::vector<Real> before = phi;
  RedistanceWorkspace work;
  redistance(shape, static_cast<Real>(h), Real(0.2), phi, work);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < n; ++i) {
      const std::size_t at = shape.index(i, j, 0);
      if (std::abs(before[at]) < Real(0.15)) {
        EXPECT_NEAR(phi[at], before[at], 2e-5);
      }
    }
}

TEST(Redistance, KeepsTheSurfaceInPlaceHoweverOften) {
  const int n = 64;
  const double h = 1.0 / n, radius = 0.3;
  const GridShape shape{{n, n, 1}};
  std::vector<Real> phi;
  fill_cells(shape, h, phi,
             [&](double x, double y, double) { return std::hypot(x - 0.5, y - 0.5) - radius; });
  extend_linearly(shape, phi);
  const double area = enclosed_measure(shape, static_cast<Real>(h), phi);
  // Squares of side h / 8: an edge of length 2 pi r passes 8 * 2 pi r / h of them, each off by half of it at
  // random.
  EXPECT_NEAR(area, std::numbers::pi * radius * radius,
              h * h / 64 * std::sqrt(16 * std::numbers::pi * radius / h) * 3);
  RedistanceWorkspace work;
  for (int k = 0; k < 100; ++k) redistance(shape, static_cast<Real>(h), static_cast<Real>(4 * h), phi, work);
  // Each time ends when no value changes by more than 1e-4 cells a step; twice that, all around.
  EXPECT_NEAR(enclosed_measure(shape, static_cast<Real>(h), phi), area,
              2 * std::numbers::pi * radius * 100 * 2e-4 * h);
}

TEST(Redistance, MakesNoSurfaceOfWhatIsFarFromADistance) {
  // A ball whose surroundings are anything of the right sign, as flows leave them.
  const int n = 48;
  const double h = 1.0 / n, radius = 0.2;
  const GridShape shape{{n, n, n}};
  std::vector<Real> phi;
  std::uint64_t item = 0;
  const auto exact = [&](double x, double y, double z) {
    return std::hypot(x - .5, y - .5, z - .5) - radius;
  };
  fill_cells(shape, h, phi, [&](double x, double y, double z) {
    const double d = exact(x, y, z), any = 0.001 + static_cast<double>(uniform4(1, item++, 0)[0]);
    return std::abs(d) < 2 * h ? d : std::copysign(any, d);
  });
  const std::vector<Real> before = phi;
  RedistanceWorkspace work;
  redistance(shape, Real(h), Real(4 * h), phi, work);
  for (Index k = 0; k < n; ++k)
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < n; ++i) {
        const std::size_t at = shape.index(i, j, k);
        const double d = exact((i + .5) * h, (j + .5) * h, (k + .5) * h);
        EXPECT_GT(phi[at] * before[at], 0);
        if (std::abs(d) < 3.5 * h) {
          EXPECT_NEAR(phi[at], d, h * h / radius);
        }
      }
}

TEST(Redistance, IsTheSameForEveryNumberOfThreads) {
  Hash128 first;
  for (int threads = 1; threads <= 8; ++threads)
    with_threads(threads, [&] {
      const GridShape shape{{40, 30, 20}};
      std::vector<Real> phi;
      fill_cells(shape, 0.1, phi, [](double x, double y, double z) {
        return 0.3 * (std::sin(3 * x) + std::cos(2 * y) + std::sin(4 * z) - 0.2);
      });
      RedistanceWorkspace work;
      redistance(shape, Real(0.1), Real(0.4), phi, work);
      const LevelSetBox box{shape, Vec3::Zero(), Real(0.1)};
      TrackerParticles particles;
      TrackerWorkspace tracking;
      seed_particles(box, phi, 8, 1, particles, tracking);
      FaceField u;
      u.assign(shape, Real(0.3));
      carry_along(box, {}, u, Real(0.1), particles.x);
      correct_by_particles(box, particles, phi, tracking);
      fit_radii(box, phi, particles);
      Hasher hasher;
      hasher.add(phi.data(), phi.size() * sizeof(Real));
      hasher.add(particles.x.data(), particles.size() * sizeof(Vec3));
      hasher.add(particles.radius.data(), particles.size() * sizeof(Real));
      if (threads == 1) first = hasher.digest();
      EXPECT_EQ(hasher.digest(), first) << threads;
    });
}

TEST(TrackerParticles, TouchTheSurfaceAndCorrectNothingThatIsRight) {
  const int n = 40;
  const double h = 1.0 / n;
  const LevelSetBox box{{{n, n, n}}, Vec3::Zero(), static_cast<Real>(h)};
  std::vector<Real> phi;
  fill_cells(box.shape, h, phi,
             [](double x, double y, double z) { return std::hypot(x - .5, y - .5, z - .5) - .3; });
  extend_linearly(box.shape, phi);
  TrackerParticles particles;
  TrackerWorkspace tracking;
  seed_particles(box, phi, 16, 1, particles, tracking);
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const double d = (particles.x[i].cast<double>() - Vector3<double>::Constant(0.5)).norm() - 0.3;
    EXPECT_EQ(particles.sign[i], d < 0 ? -1 : 1);
    EXPECT_LT(std::abs(d), 4.5 * h);
    const double radius = std::clamp(std::abs(d), 0.1 * h, 0.5 * h);
    EXPECT_NEAR(particles.radius[i], radius, h * h);  // phi is linear between centres
  }
  // Cells whose centre is within three cells, of a ball.
  const double cells =
      4 * std::numbers::pi / 3 * (std::pow(0.3 + 3 * h, 3) - std::pow(0.3 - 3 * h, 3)) / (h * h * h);
  EXPECT_NEAR(static_cast<double>(particles.size()) / 16, cells, 0.05 * cells);
  const std::vector<Real> before = phi;
  EXPECT_EQ(correct_by_particles(box, particles, phi, tracking), 0u);
  EXPECT_EQ(phi, before);

  // A level set that has lost more than half a cell all around gets most of it back: as far as the balls of
  // those that have escaped reach, which touch what it was.
  particles = {};
  seed_particles(box, phi, 64, 1, particles, tracking);
  for (Real& p : phi) p += static_cast<Real>(0.7 * h);
  EXPECT_GT(correct_by_particles(box, particles, phi, tracking), 100u);
  const double radius = std::cbrt(enclosed_measure(box.shape, box.h, phi) * 3 / (4 * std::numbers::pi));
  EXPECT_LT(radius, 0.3 + 0.05 * h);
  EXPECT_GT(radius, 0.3 - 0.35 * h);
  const std::size_t size = particles.size();
  seed_particles(box, before, 64, 2, particles, tracking);
  // Those refused for being nearer than a tenth of a cell, of three on each side, are tried once more.
  EXPECT_GE(particles.size(), size);
  EXPECT_LT(static_cast<double>(particles.size()), (1 + 0.1 / 3 + 0.005) * static_cast<double>(size));
}

/// A disc of radius 0.3 in the middle of the unit square, and particles on both sides of its rim.
struct SeededDisc {
  static constexpr int n = 40;
  static constexpr double h = 1.0 / n;
  LevelSetBox box{{{n, n, 1}}, Vec3::Zero(), static_cast<Real>(h)};
  std::vector<Real> phi;
  TrackerParticles particles;
  SeededDisc() {
    fill_cells(box.shape, h, phi, [](double x, double y, double) { return std::hypot(x - .5, y - .5) - .3; });
    extend_linearly(box.shape, phi);
    TrackerWorkspace work;
    seed_particles(box, phi, 16, 1, particles, work);
  }
};

TEST(TrackerParticles, OfAirWithoutPressureKnowNothingWithinTheLiquid) {
  // Outer particles of a ball that has grown by a tenth of a cell more than theirs, or by two cells: the
  // former say so, the latter only where the outside is a fluid too. What is not told of is seeded anew.
  const SeededDisc disc;
  const double h = disc.h;
  const LevelSetBox& box = disc.box;
  for (const double grown : {0.4, 2.0})
    for (const Outside outside : {Outside::fluid, Outside::empty}) {
      TrackerParticles particles = disc.particles;
      TrackerWorkspace work;
      std::vector<Real> phi = disc.phi;
      for (Real& p : phi) p -= static_cast<Real>(grown * h);
      // Those within half a cell of the surface that was, whose balls are at least a tenth.
      std::size_t inner = 0;
      for (const std::int8_t sign : particles.sign) inner += sign < 0;
      const std::size_t told = correct_by_particles(box, particles, phi, work, outside);
      if (grown < 0.5 || outside == Outside::fluid)
        EXPECT_GT(told, 100u) << grown;
      else
        EXPECT_LT(told, inner / 10) << grown;
      phi = disc.phi;
      for (Real& p : phi) p -= static_cast<Real>(grown * h);
      extend_linearly(box.shape, phi);
      seed_particles(box, phi, 16, 2, particles, work, outside);
      std::size_t escaped = 0;
      for (std::size_t i = 0; i < particles.size(); ++i) {
        const double d = (particles.x[i].cast<double>() - Vector3<double>(0.5, 0.5, 0.5)).head<2>().norm() -
                         (0.3 + grown * h);
        escaped += particles.sign[i] > 0 && d < -0.52 * h;
      }
      if (outside == Outside::empty) {
        EXPECT_EQ(escaped, 0u) << grown;
      } else if (grown > 1) {
        EXPECT_GT(escaped, 100u);
      }
    }
}

TEST(TrackerParticles, OfTheLiquidThatHangFarOutsideOfItGo) {
  // Inner ones of a ball that has shrunk by two cells, which all stay, or by seven: where the outside is
  // empty, none of those is left that are more than three cells from its surface, or four with half a cell's
  // diagonal.
  const SeededDisc disc;
  const double h = disc.h;
  const LevelSetBox& box = disc.box;
  for (const double shrunk : {2.0, 7.0})
    for (const Outside outside : {Outside::fluid, Outside::empty}) {
      TrackerParticles particles = disc.particles;
      TrackerWorkspace work;
      std::vector<Real> phi = disc.phi;
      for (Real& p : phi) p += static_cast<Real>(shrunk * h);
      seed_particles(box, phi, 16, 2, particles, work, outside);
      std::size_t escaped = 0, far = 0;
      for (std::size_t i = 0; i < particles.size(); ++i) {
        const double d = (particles.x[i].cast<double>() - Vector3<double>(0.5, 0.5, 0.5)).head<2>().norm() -
                         (0.3 - shrunk * h);
        escaped += particles.sign[i] < 0 && d > 0.52 * h;
        far += particles.sign[i] < 0 && d > 4 * h;
      }
      if (shrunk < 3 || outside == Outside::fluid) {
        EXPECT_GT(escaped, 100u) << shrunk;
      }
      if (outside == Outside::empty) {
        EXPECT_EQ(far, 0u) << shrunk;
      } else if (shrunk > 3) {
        EXPECT_GT(far, 100u);
      }
    }
}

}}  // namespace plenum
