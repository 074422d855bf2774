// Forces between particles, against sums over all pairs in double.
#include <gtest/gtest.h>

#include <cmath>

#include "plenum/base/parallel.h"
#include "plenum/base/random.h"
#include "plenum/solvers/particles/detail/pair_forces.h"
#include "simulation.h"

namespace plenum { namespace {

using Vec3d = Vector3<double>;

struct Reference {
  std::vector<Vec3d> force;
  PairEnergy sum;
  double scale = 0;  ///< sum of the forces' magnitudes, for rounding
};

/// Every pair, and every image within the cut-off.
Reference brute_force(const LennardJones& lj, const std::vector<Vec3>& x, const Vec3d& box) {
  const Mie mie(lj);
  const double sigma = static_cast<double>(lj.sigma), eps = static_cast<double>(lj.epsilon);
  const double rc = static_cast<double>(lj.cutoff);
  const bool shifted = lj.truncation == LennardJones::Truncation::linear_force_shift;
  Reference out;
  out.force.assign(x.size(), Vec3d::Zero());
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      Vec3d d = (x[i].cast<double>() - x[j].cast<double>()) / sigma;
      for (int c = 0; c < 3; ++c)
        if (box[c] > 0) d[c] -= box[c] / sigma * std::round(d[c] * sigma / box[c]);
      const double r = d.norm();
      if (r >= rc) continue;
      double slope = mie.slope(r), energy = mie.energy(r);
      if (shifted) {
        energy -= mie.energy(rc) + (r - rc) * mie.slope(rc);
        slope -= mie.slope(rc);
      }
      out.force[i] -= eps / sigma * slope * d / r;
      out.force[j] += eps / sigma * slope * d / r;
      out.scale = std::max(out.scale, eps / sigma * std::abs(slope));
      out.sum.potential += eps * energy;
      out.sum.virial -= eps * slope * r;
      out.sum.pairs += 1;
    }
  return out;
}

/// Points no closer than `least`, uniform in a cube [0, side]^3 around `centre`.
std::vector<Vec3> scattered(std::size_t n, double side, double least, const Vec3& centre,
                            std::uint64_t seed = 3) {
  std::vector<Vec3> x;
  for (std::uint64_t k = 0; x.size() < n; ++k) {
    const Vec3 p =
        centre + static_cast<Real>(side) * (uniform4(seed, k, 0).head<3>() - Vec3::Constant(Real(0.5)));
    bool free = true;
    for (const Vec3& q : x) free = free && static_cast<double>((p - q).norm()) > least;
    if (free) x.push_back(p);
  }
  return x;
}

void expect_agreement(const LennardJones& lj, const std::vector<Vec3>& x, const Vec3& low, const Vec3& high) {
  const Reference reference = brute_force(lj, x, (high - low).cast<double>());
  PairList list;
  list.build(x, {lj.sigma, lj.cutoff + lj.skin, low, high});
  const std::vector<Real> inverse_mass(x.size(), 1);
  std::vector<Vec3> a(x.size(), Vec3::Zero()), b = a;
  pair_accelerations(lj, x, inverse_mass, list, a);
  const PairEnergy sum = pair_accelerations_and_energy(lj, x, inverse_mass, list, b);
  // Relative error of a force: n units in the last place of r; of positions, eps |x| / r more.
  const double tolerance = (sizeof(Real) == 4 ? 2e-4 : 1e-11) * (reference.scale + 1e-30);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_LT((a[i].cast<double>() - reference.force[i]).norm(), tolerance) << i;
    ASSERT_EQ(a[i], b[i]);
  }
  EXPECT_EQ(sum.pairs, reference.sum.pairs);
  const double relative = sizeof(Real) == 4 ? 2e-5 : 1e-12;
  EXPECT_NEAR(sum.potential, reference.sum.potential,
              relative * (std::abs(reference.sum.potential) + static_cast<double>(lj.epsilon) * sum.pairs));
  EXPECT_NEAR(sum.virial, reference.sum.virial,
              relative * (std::abs(reference.sum.virial) + 50 * static_cast<double>(lj.epsilon) * sum.pairs));
}

LennardJones reduced() {
  LennardJones lj;
  lj.epsilon = lj.sigma = 1;
  return lj;
}

TEST(Pairs, NearOnesHaveTheEnergyOfTheForceTheyFeel) {
  for (const auto& [n, m] : {std::pair<Real, Real>(12, 6), {6, 4}}) {
    LennardJones lj = reduced();
    lj.n = n;
    lj.m = m;
    const std::vector<Real> inverse_mass(2, 1);
    const auto at = [&](Real r, Vec3& acceleration) {
      const std::vector<Vec3> x = {Vec3::Zero(), Vec3(r, 0, 0)};
      PairList list;
      list.build(x, {lj.sigma, lj.cutoff + lj.skin, Vec3::Zero(), Vec3::Zero()});
      std::vector<Vec3> a(2, Vec3::Zero());
      const double energy = pair_accelerations_and_energy(lj, x, inverse_mass, list, a).potential;
      acceleration = a[1];
      return energy;
    };
    for (const Real r : {Real(0.2), Real(0.35), Real(0.45)}) {
      const Real d = Real(0.02);
      Vec3 a, unused;
      const double slope = (at(r + d, unused) - at(r - d, unused)) / (2 * double(d));
      at(r, a);
      EXPECT_NEAR(-slope, double(a.x()), 2e-3 * double(a.x()))
          << r;  // a parabola: central differences are exact
    }
  }
}

TEST(Pairs, AgreeWithTheSumOverAllPairsInTheOpen) {
  LennardJones lj = reduced();
  for (const auto truncation : {LennardJones::Truncation::cut, LennardJones::Truncation::linear_force_shift})
    for (const std::size_t n : {1u, 2u, 7u, 8u, 9u, 100u, 1000u}) {
      lj.truncation = truncation;
      const double side = std::cbrt(double(n) / 0.5);
      expect_agreement(lj, scattered(n, side, 0.85, {3, -20, 1}), Vec3::Zero(), Vec3::Zero());
    }
}

TEST(Pairs, AgreeInPeriodicBoxesWhereverTheBoxesAre) {
  LennardJones lj = reduced();
  lj.truncation = LennardJones::Truncation::cut;
  // Barely two cut-offs wide, and periodic along all, two and one of the axes; particles may stand in any
  // image.
  for (const Vec3& sides : {Vec3(6, 7, 8), Vec3(6, 0, 8), Vec3(0, 9, 0)}) {
    const Vec3 low(-1, 2, 5);
    std::vector<Vec3> x = scattered(250, 7, 0.85, low + Vec3(3, 3, 3));
    // Keep those that are not too close through the box's faces.
    std::vector<Vec3> kept;
    for (const Vec3& p : x) {
      bool free = true;
      for (const Vec3& q : kept) {
        Vec3 d = p - q;
        for (int c = 0; c < 3; ++c)
          if (sides[c] > 0) d[c] -= sides[c] * std::round(d[c] / sides[c]);
        free = free && d.norm() > Real(0.85);
      }
      if (free) kept.push_back(p);
    }
    ASSERT_GT(kept.size(), 80u);
    for (std::size_t i = 0; i < kept.size(); i += 3) kept[i] += Vec3(2, -1, 1).cwiseProduct(sides);
    expect_agreement(lj, kept, low, low + sides);
  }
}

TEST(Pairs, AgreeForGeneralExponents) {
  LennardJones lj = reduced();
  for (const auto truncation : {LennardJones::Truncation::cut, LennardJones::Truncation::linear_force_shift})
    for (const auto& [n, m] : {std::pair{9.0, 6.0}, {14.0, 7.0}, {10.5, 5.2}}) {
      lj.truncation = truncation;
      lj.n = static_cast<Real>(n);
      lj.m = static_cast<Real>(m);
      expect_agreement(lj, scattered(300, 9, 0.85, Vec3::Zero()), Vec3::Zero(), Vec3::Zero());
    }
}

TEST(Pairs, AgreeInUnitsOfAtoms) {
  // Argon: powers of sigma in metres would underflow.
  LennardJones lj = reduced();
  lj.sigma = Real(3.405e-10);
  lj.epsilon = Real(1.654e-21);
  std::vector<Vec3> x = scattered(200, 7, 0.85, Vec3::Zero());
  for (Vec3& p : x) p *= lj.sigma;
  expect_agreement(lj, x, Vec3::Zero(), Vec3::Zero());
}

TEST(Pairs, AgreeWithParticlesFarAway) {
  std::vector<Vec3> x = scattered(300, 8, 0.85, Vec3::Zero());
  x.push_back({1e4, 0, 0});
  x.push_back({1e4, 1.1f, 0});
  x.push_back({-50, 2e3, -1e5});
  expect_agreement(reduced(), x, Vec3::Zero(), Vec3::Zero());
}

TEST(Pairs, ListsOfManyStayShortWhenOneHasFlownAway) {
  std::vector<Vec3> x;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j)
      for (int k = 0; k < 16; ++k) x.push_back(Real(1.1) * Vec3(Real(i), Real(j), Real(k)));
  const auto entries = [&] {
    PairList list;
    list.build(x, {1, Real(2.8), Vec3::Zero(), Vec3::Zero()});
    std::size_t n = 0;
    for (const PairList::Block& block : list.blocks)
      for (const PairList::Run& run : block.runs) n += run.size;
    return n;
  };
  const std::size_t before = entries();
  x.push_back({1e6, 0, 0});
  EXPECT_LT(entries(), before + before / 10);
}

TEST(Pairs, SlopesAreThoseOfTheEnergy) {
  for (const Mie mie : {Mie(12, 6), Mie(9, 6), Mie(20, 3.5)}) {
    EXPECT_NEAR(mie.energy(mie.minimum()), -1, 1e-14);
    EXPECT_NEAR(mie.slope(mie.minimum()), 0, 1e-13);
    for (const double r : {0.9, 1.2, 2.0}) {
      const double d = 1e-5;
      EXPECT_NEAR(mie.slope(r), (mie.energy(r + d) - mie.energy(r - d)) / (2 * d),
                  1e-6 * (1 + std::abs(mie.slope(r))));
      EXPECT_NEAR(mie.curvature(r), (mie.slope(r + d) - mie.slope(r - d)) / (2 * d),
                  1e-6 * (1 + std::abs(mie.curvature(r))));
    }
  }
}

TEST(Pairs, TailsAreTheIntegralsBeyondTheCutOff) {
  // Simpson's rule in u = 1/r; the integrand in u is a polynomial-like power, smooth to zero.
  const Mie mie(12, 6);
  const double rho = 0.7, rc = 2.5;
  const int intervals = 2000;
  double energy = 0, pressure = 0;
  for (int k = 1; k <= intervals; ++k) {
    const double u = double(k) / intervals / rc, r = 1 / u;
    const double weight = (k == intervals ? 1 : k % 2 ? 4 : 2) / (3.0 * intervals * rc);
    energy += weight * mie.energy(r) * r * r / (u * u);
    pressure += weight * mie.slope(r) * r * r * r / (u * u);
  }
  EXPECT_NEAR(mie.tail_energy(rho, rc), 2 * std::numbers::pi * rho * energy, 1e-6);
  EXPECT_NEAR(mie.tail_pressure(rho, rc), -2 * std::numbers::pi / 3 * rho * rho * pressure, 1e-6);
}

ParticleSystem::Spec liquid(int cells, double density, double temperature) {
  ParticleSystem::Spec spec;
  spec.mass = 1;
  const Real a = static_cast<Real>(std::cbrt(4 / density));
  spec.periodic_high = Vec3::Constant(a * static_cast<Real>(cells));
  spec.blocks.resize(1);
  spec.blocks[0].lattice = ParticleBlock::Lattice::fcc;
  spec.blocks[0].low.setZero();
  spec.blocks[0].high = spec.periodic_high;
  spec.blocks[0].spacing = a;
  spec.blocks[0].thermal_speed = static_cast<Real>(std::sqrt(temperature));
  return spec;
}

Simulation molecules(const ParticleSystem::Spec& spec) {
  Simulation sim(spec);
  sim.params.gravity.setZero();
  sim.params.pair = reduced();
  sim.params.report_energy = true;
  return sim;
}

TEST(Pairs, MomentumIsConservedToRounding) {
  Simulation sim = molecules(liquid(5, 0.8, 2));
  const auto momentum = [&] {
    Vec3d p = Vec3d::Zero();
    for (std::size_t i = 0; i < sim.size(); ++i) p += sim.v(i);
    return p;
  };
  const Vec3d before = momentum();
  for (int k = 0; k < 200; ++k) sim.step(0.004);
  // A kick rounds each velocity by at most half a unit in the last place of some 2: 400 kicks of 500
  // particles at random.
  const double eps = static_cast<double>(std::numeric_limits<Real>::epsilon());
  EXPECT_LT((momentum() - before).norm(), 4 * eps * 2 * std::sqrt(400.0 * 500));
}

TEST(Pairs, EnergyErrorIsOfSecondOrderInTheStep) {
  std::array<double, 2> worst;
  for (int level = 0; level < 2; ++level) {
    Simulation sim = molecules(liquid(4, 0.8, 1.5));
    const double h = 0.008 / (1 << level);
    double first = 0, most = 0;
    for (int k = 0; k < (100 << level); ++k) {
      const Report report = sim.step(h);
      const double energy = report.value("kinetic_energy") + report.value("pair_energy");
      if (k == 0) first = energy;
      most = std::max(most, std::abs(energy - first));
    }
    worst[static_cast<std::size_t>(level)] = most;
  }
  EXPECT_NEAR(std::log2(worst[0] / worst[1]), 2, 0.5);
}

TEST(Pairs, ReportedEnergyIsThatOfTheState) {
  Simulation sim = molecules(liquid(4, 0.8, 1));
  sim.params.pair.truncation = LennardJones::Truncation::cut_with_tail;
  Report report;
  for (int k = 0; k < 20; ++k) report = sim.step(0.004);
  const Reference reference =
      brute_force(sim.params.pair, sim.state.particles.x, (sim.model.periodic_high).cast<double>());
  const double n = double(sim.size()), volume = sim.model.periodic_high.cast<double>().prod();
  const Mie mie(12, 6);
  EXPECT_NEAR(report.value("pair_energy"), reference.sum.potential + n * mie.tail_energy(n / volume, 2.5),
              1e-3 * n);
  EXPECT_NEAR(report.value("pressure"),
              (2 * report.value("kinetic_energy") + reference.sum.virial) / (3 * volume) +
                  mie.tail_pressure(n / volume, 2.5),
              1e-3);
  const PairEnergy again = ParticleSystem::pair_energy(sim.model, sim.state, sim.params, sim.workspace);
  EXPECT_NEAR(again.potential, report.value("pair_energy"), 1e-5 * n);
}

TEST(Pairs, ListsThatLastGiveTheForcesOfNewOnes) {
  // A thick skin keeps one list for the whole run, a thin one renews it all the time.
  std::array<std::vector<Vec3>, 2> x;
  int renewed = 0;
  for (int run = 0; run < 2; ++run) {
    Simulation sim = molecules(liquid(4, 0.7, 1));
    sim.params.pair.skin = run == 0 ? Real(0.8) : Real(0.02);
    for (int k = 0; k < 30; ++k) {
      const Report report = sim.step(0.004);
      if (run == 1) renewed += static_cast<int>(report.value("lists"));
    }
    x[static_cast<std::size_t>(run)] = sim.state.particles.x;
  }
  EXPECT_GT(renewed, 15);
  // Sums in another order differ in rounding, which chaos has doubled a few times in 0.12 time units.
  for (std::size_t i = 0; i < x[0].size(); ++i) ASSERT_LT((x[0][i] - x[1][i]).norm(), Real(1e-4)) << i;
}

TEST(Pairs, InOnePlaceStayFinite) {
  ParticleSystem::Spec spec;
  spec.positions.assign(20, Vec3::Zero());
  spec.positions.push_back({Real(1e-6), 0, 0});
  Simulation sim = molecules(spec);
  for (int k = 0; k < 10; ++k) sim.step(1e-4);
  for (std::size_t i = 0; i < sim.size(); ++i) ASSERT_TRUE(sim.x(i).allFinite());
}

TEST(Pairs, WhatIsNotFiniteNeitherHangsNorSpreadsBeyondReach) {
  ParticleSystem::Spec spec = liquid(4, 0.5, 1);
  spec.periodic_high.setZero();  // open: the grid follows the particles
  Simulation sim = molecules(spec);
  sim.state.particles.x[0].x() = std::numeric_limits<Real>::quiet_NaN();
  sim.state.particles.x[1].y() = std::numeric_limits<Real>::infinity();
  sim.state.particles.x[2].z() = std::numeric_limits<Real>::max();
  sim.params.pair.skin = 1;
  for (int k = 0; k < 3; ++k) sim.step(0.001);
  EXPECT_TRUE(sim.x(sim.size() - 1).allFinite());  // in the opposite corner
}

TEST(Pairs, ACutOffBeyondTheBoxIsShortenedAndSaid) {
  Simulation sim = molecules(liquid(1, 0.8, 0));
  EXPECT_EQ(sim.step(0.001).warnings().size(), 1u);
}

TEST(Pairs, MaxDtIsThatOfTheStiffestPair) {
  Simulation sim = molecules(liquid(4, 0.8, 0));
  // At rest: 2/w with w^2 = 2 * 4 U''(r0), U''(r0) = 72 / 2^(1/3); a fifth of it.
  const double cold = 0.4 / std::sqrt(8 * 72 / std::cbrt(2.0));
  EXPECT_NEAR(ParticleSystem::max_dt(sim.model, sim.state, sim.params), cold, 1e-4 * cold);
  for (Vec3& v : sim.state.particles.v) v += Vec3(100, 0, 0);  // together: changes nothing
  EXPECT_NEAR(ParticleSystem::max_dt(sim.model, sim.state, sim.params), cold, 1e-3 * cold);
  sim.state.particles.v[3] += Vec3(0, 40, 0);
  EXPECT_LT(ParticleSystem::max_dt(sim.model, sim.state, sim.params), cold / 4);
}

}}  // namespace plenum
