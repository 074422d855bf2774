// Sweeps that project all at once, with and without Chebyshev's acceleration, beside those colour by colour.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "pbd/built.h"
#include "plenum/base/parallel.h"
#include "plenum/solvers/pbd/detail/workspace.h"
#include "plenum/solvers/pbd/pbd.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

using Solver = Pbd::Solver;
using D3 = Vector3<double>;
constexpr double rounding = std::numeric_limits<Real>::epsilon();

struct Solved : plenum_test::Built {
  explicit Solved(const std::vector<PbdPart>& parts, Solver solver = Solver::gauss_seidel, int iterations = 1)
      : Built(parts) {
    params.solver = solver, params.iterations = iterations;
  }
  double away_from(const Solved& other) const {
    double most = 0;
    for (std::size_t i = 0; i < model.mass.size(); ++i) most = std::max(most, (x(i) - other.x(i)).norm());
    return most;
  }
};

PbdPart chain(int segments) {
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.to = Vec3(0, -1, 0);
  rope.segments = segments;
  rope.stretch_compliance = Real(1e-3);
  rope.pins.resize(1);
  rope.pins[0].where = ParticlePin::Where::first;
  return rope;
}
PbdPart sheet() {
  PbdPart cloth;
  cloth.cells_x = cloth.cells_z = 8;
  cloth.stretch_compliance = cloth.shear_compliance = Real(2e-3);
  cloth.bending_stiffness = Real(1e-3);
  cloth.pins.resize(2);
  cloth.pins[0].where = ParticlePin::Where::back_left;
  cloth.pins[1].where = ParticlePin::Where::back_right;
  return cloth;
}
/// Every kind of constraint that is projected at once.
std::vector<PbdPart> one_of_each_kind() {
  PbdPart dihedral = sheet(), strain = sheet(), bar{.type = PbdPart::Type::bar}, rope = chain(12);
  for (PbdPart* const part : {&dihedral, &strain, &rope}) part->pins.clear();
  dihedral.bending = PbdPart::Bending::dihedral;
  strain.stretching = PbdPart::Stretching::strain, strain.area_stiffness = 100;
  strain.bending = PbdPart::Bending::isometric;
  strain.position = Vec3(0, 1, 0);
  bar.cells_x = 5, bar.cells_y = bar.cells_z = 2;
  bar.position = Vec3(0, 2, 0);
  PbdPart lattice = bar, fibres = bar;
  lattice.material = PbdPart::Material::distances, lattice.position = Vec3(0, 3, 0);
  fibres.material = PbdPart::Material::strain, fibres.position = Vec3(0, 4, 0);
  rope.bending_stiffness = Real(0.01), rope.position = Vec3(3, 0, 0);
  return {dihedral, strain, bar, lattice, fibres, rope};
}
void disturb(Solved& body, double speed) {
  for (std::size_t i = 0; i < body.state.particles.size(); ++i) {
    const double s = double(i);
    body.state.particles.v[i] =
        Vec3(Real(speed * std::sin(12 * s)), Real(speed * std::cos(7 * s)), Real(speed * std::sin(5 * s)));
  }
}

// A particle of 2 kg between a fixed one and one of 1 kg, whose distances ask for 0.1 m each way: of shares
// of 1 kg, the fixed one makes one go 0.1 m, and the other one half of 0.1 m. Source of the mean: Macklin et
// al. 2014, section 4.2; of shares: Tonge et al. 2012, section 4.
TEST(PbdSolvers, AParticleGoesTheMeanOfWhatItsSharesAre) {
  for (const double relaxation : {1.0, 1.25}) {
    PbdPart rope{.type = PbdPart::Type::rope};
    rope.to = Vec3(Real(1.8), 0, 0), rope.segments = 2;
    Solved three({rope}, Solver::jacobi);
    three.model.mass = {1, 2, 1};
    three.state.particles.inverse_mass = {0, Real(0.5), 1};
    three.model.rest_length = {1, 1};
    three.state.particles.x = {Vec3(0, 0, 0), Vec3(Real(0.9), 0, 0), Vec3(Real(1.8), 0, 0)};
    three.model.pinned = {0}, three.model.pin_group = {0}, three.model.pin_position = {Vec3::Zero()};
    three.model.tethers.clear(), three.model.tether_length.clear();
    Pbd::update(three.model);
    three.params.gravity.setZero(), three.params.substeps = 1;
    three.params.relaxation = static_cast<Real>(relaxation);
    three.run(1);
    EXPECT_NEAR(three.x(1).x(), 0.9 + relaxation * (0.1 - 0.05) / 2, 8 * rounding);
    EXPECT_NEAR(three.x(2).x(), 1.8 + relaxation * 0.05, 8 * rounding);
  }
}

// A chain at rest is as long as its compliances make it, sum_i i m g alpha, whichever way it is solved.
TEST(PbdSolvers, HangTheSameChain) {
  const int n = 10;
  double wanted = 0;
  for (int i = 1; i <= n; ++i) wanted += (i - 0.5) * (0.1 / n) * 9.81 * 1e-3;
  for (const Solver solver : {Solver::gauss_seidel, Solver::jacobi, Solver::chebyshev}) {
    Solved body({chain(n)}, solver, solver == Solver::gauss_seidel ? 50 : 200);
    body.params.substeps = 2, body.params.damping = 4;
    body.run(600);
    EXPECT_NEAR(-body.x(std::size_t(n)).y() - 1, wanted, 1e-3 * wanted + 4 * rounding) << int(solver);
  }
}

// And a cloth hangs the same, to a hundredth of its edges: what sweeps leave of the bending of 8 x 8 cells.
TEST(PbdSolvers, HangTheSameCloth) {
  const auto hang = [](Solver solver, int iterations) {
    Solved body({sheet()}, solver, iterations);
    body.params.substeps = 4, body.params.damping = 3;
    body.run(240);
    return body;
  };
  const Solved reference = hang(Solver::gauss_seidel, 100);
  EXPECT_LT(reference.state.particles.x.back().y(), -0.5);
  EXPECT_LT(hang(Solver::jacobi, 300).away_from(reference), 0.01 / 8);
  EXPECT_LT(hang(Solver::chebyshev, 100).away_from(reference), 0.01 / 8);
}

/// Sweeps until one substep is within `part` of how far it is from its end without any, of the chain.
int sweeps_needed(Solver solver, double part) {
  const auto after = [](Solver by, int iterations) {
    Solved body({chain(40)}, by, iterations);
    body.model.stretch_compliance.assign(40, Real(1e-5));
    Pbd::update(body.model);
    body.params.substeps = 1, body.params.relaxation = Real(1.5), body.params.spectral_radius = Real(0.99);
    body.run(1, Real(0.01));
    return body;
  };
  const Solved end = after(Solver::jacobi, 20000), start = after(Solver::jacobi, 1);
  for (int k = 1; k < 20000; k += 1 + k / 20)
    if (after(solver, k).away_from(end) < part * start.away_from(end)) return k;
  return 20000;
}

// Jacobi takes ln(1/e) / (1 - rho) sweeps to a part e of its errors, Chebyshev's method ln(2/e) / sqrt(2 (1 -
// rho)) after the ten of its delay (Golub & Van Loan, Matrix computations, section 11.2.8): of rho = 0.99,
// 690 and 54 + 10 to a thousandth. Even with the radius not quite known, a quarter is enough to be asked for.
TEST(PbdSolvers, ChebyshevTakesFewerSweeps) {
  const int plain = sweeps_needed(Solver::jacobi, 1e-3), accelerated = sweeps_needed(Solver::chebyshev, 1e-3);
  EXPECT_LT(plain, 20000);
  EXPECT_LT(4 * accelerated, plain);
}

// Of the first ten sweeps nothing is accelerated.
TEST(PbdSolvers, ChebyshevBeginsAsJacobi) {
  for (const int iterations : {10, 30}) {
    Solved plain({sheet()}, Solver::jacobi, iterations),
        accelerated({sheet()}, Solver::chebyshev, iterations);
    plain.run(1), accelerated.run(1);
    EXPECT_EQ(plain.state.particles.x == accelerated.state.particles.x, iterations == 10);
  }
}

// Shares are pushed equally to and fro, and so is what is accelerated; plain means of particles with unlike
// numbers of constraints would not be. And no sweep turns a body as a whole: x cross m v is lost as by
// others, to the first order of the substep.
TEST(PbdSolvers, KeepMomentum) {
  for (const Solver solver : {Solver::jacobi, Solver::chebyshev})
    for (const PbdPart& part : one_of_each_kind()) {
      Solved body({part}, solver, 25);
      body.params.gravity.setZero(), body.params.substeps = 2;
      disturb(body, 0.5);
      const auto momentum = [&] {
        std::pair<D3, double> sums{D3::Zero(), 0};
        for (std::size_t i = 0; i < body.model.mass.size(); ++i) {
          const D3 p = double(body.model.mass[i]) * body.state.particles.v[i].cast<double>();
          sums.first += p, sums.second += p.norm();
        }
        return sums;
      };
      const auto before = momentum();
      body.run(5);
      double mass = 0;
      for (const Real m : body.model.mass) mass += double(m);
      // Velocities are differences of positions [m] over h, of 25 sweeps.
      EXPECT_LT((momentum().first - before.first).norm(),
                8 * rounding * 120 * 25 * mass + 100 * rounding * before.second);
      EXPECT_GT(before.second, 0.1 * mass);
    }
}

// Of parts so large that their loops divide: threads take 16 packs of 16 constraints of a colour each.
TEST(PbdSolvers, AreTheSameForAnyNumberOfThreads) {
  std::vector<PbdPart> parts = one_of_each_kind();
  for (PbdPart& part : parts)
    if (part.type == PbdPart::Type::bar)
      part.cells_x = 20, part.cells_y = part.cells_z = 5;
    else
      part.cells_x = part.cells_z = 45;
  for (const Solver solver : {Solver::jacobi, Solver::chebyshev}) {
    const auto run = [&](int threads) {
      World world(WorldSettings{.threads = threads});
      Solved body(parts, solver, 15);
      body.params.substeps = 1;
      world.add<Pbd>("bodies", body.model, body.state, body.params);
      for (int k = 0; k < 4; ++k) world.step_frame();
      return world.hash();
    };
    const auto one = run(1);
    for (const int threads : {2, 3, 5, 8}) EXPECT_EQ(run(threads), one) << threads;
  }
}

TEST(PbdSolvers, RememberNothing) {
  Solved a(one_of_each_kind(), Solver::chebyshev, 15), b = Solved(one_of_each_kind(), Solver::chebyshev, 15);
  for (int k = 0; k < 10; ++k) {
    a.run(1), b.run(1);
    b.workspace = {};
  }
  EXPECT_EQ(a.state.particles.x, b.state.particles.x);
}

// Tethers are held after each sweep, and what they hold is not accelerated. Particles between two pins have
// two, of which the second has the say: a hundredth of their lengths is left to the first.
TEST(PbdSolvers, HoldTethers) {
  PbdPart cloth = sheet();
  cloth.stretch_compliance = cloth.shear_compliance = 0;
  const auto farthest = [&](Solver solver, bool holds) {
    Solved body({cloth}, solver, 15);
    body.params.substeps = 2;
    const Pbd::Model held = body.model;
    EXPECT_FALSE(held.tethers.empty());
    if (!holds) body.model.tethers.clear(), body.model.tether_length.clear(), Pbd::update(body.model);
    double most = 0;
    for (int k = 0; k < 60; ++k) {
      body.run(1);
      for (std::size_t t = 0; t < held.tethers.size(); ++t) {
        const Index2& ends = held.tethers[t];
        const double d = (body.x(std::size_t(ends[0])) - body.x(std::size_t(ends[1]))).norm();
        most = std::max(most, d / double(held.tether_length[t]) - 1);
      }
    }
    return most;
  };
  for (const Solver solver : {Solver::jacobi, Solver::chebyshev}) {
    EXPECT_LT(farthest(solver, true), 0.01);
    EXPECT_GT(farthest(solver, false), 0.02);
  }
}

// However many sweeps, and however much they accelerate, none oversteps an error by so much that the next
// substep's is larger: what falls freely, with as little to mend as rounding leaves, is at rest in itself. A
// substep rounds ways of 0.2 m to 1e-8 m, which is 1e-5 m/s, and 120 of them add up as their root.
TEST(PbdSolvers, WhatFallsIsAtRestInItself) {
  std::vector<PbdPart> parts = one_of_each_kind();
  for (PbdPart& part : parts) {
    if (part.type == PbdPart::Type::cloth) part.stretch_compliance = part.shear_compliance = 0;
    if (part.type == PbdPart::Type::rope) part.stretch_compliance = 0;
  }
  // Of nothing but distances: no sweep that all take part in leaves more of an error with its sign turned.
  PbdPart slack = chain(12);
  slack.pins.clear(), slack.stretch_compliance = 0, slack.position = Vec3(4, 0, 0),
                      slack.rotation = Vec3(20, 30, 40);
  parts.push_back(slack);
  for (const Solver solver : {Solver::jacobi, Solver::chebyshev})
    for (const int sweeps : {1, 3, 11, 20, 25, 60})
      for (const Real relaxation : {Real(1.5), Real(1.9)})
        for (const Real radius : {Real(0.997), Real(0.9999)}) {
          if (solver == Solver::jacobi && radius > Real(0.997)) continue;
          Solved body(parts, solver, sweeps);
          body.params.relaxation = relaxation, body.params.spectral_radius = radius;
          body.run(12);
          const Vec3 fall = Real(0.2) * body.params.gravity;
          double fastest = 0;
          for (const Vec3& v : body.state.particles.v) fastest = std::max(fastest, double((v - fall).norm()));
          EXPECT_LT(fastest, 3e-3) << int(solver) << ' ' << sweeps << ' ' << relaxation << ' ' << radius;
        }
}

// From inside out, of any stiffness and step, with what accelerates most; in their own size.
TEST(PbdSolvers, StayFinite) {
  for (const Solver solver : {Solver::jacobi, Solver::chebyshev})
    for (const Real dt : {Real(1e-3), Real(0.05)})
      for (const Real compliance : {Real(0), Real(1e-6), Real(1)}) {
        std::vector<PbdPart> parts = one_of_each_kind();
        for (PbdPart& part : parts) part.stretch_compliance = part.volume_compliance = compliance;
        Solved body(parts, solver, 40);
        body.params.substeps = 1, body.params.gravity.setZero();
        body.params.relaxation = Real(1.9), body.params.spectral_radius = Real(0.9999);
        for (Vec3& x : body.state.particles.x) x = -x;
        disturb(body, 1);
        body.run(60, dt);
        for (const Vec3& x : body.state.particles.x) ASSERT_TRUE(x.allFinite() && x.norm() < 100);
      }
}

// Where nothing else is to be held, sweeps over what stretches are sweeps over everything: the same bits. (Of
// damping there are as many as iterations.)
TEST(PbdSolvers, StretchSweepsAreSweepsOfWhatStretches) {
  for (const auto stretching : {PbdPart::Stretching::distances, PbdPart::Stretching::strain}) {
    PbdPart part;
    part.cells_x = 6, part.cells_z = 20;
    part.stretching = stretching;
    part.stretch_compliance = Real(1e-5), part.shear_compliance = Real(1e-5);
    part.bending_stiffness = 0;
    part.rotation = Vec3(90, 0, 0);
    part.pins.resize(1);
    part.pins[0].where = ParticlePin::Where::back;
    plenum_test::Built by_all(part), by_stretch(part);
    by_all.params.iterations = 5, by_stretch.params.stretch_sweeps = 5;
    by_all.run(20), by_stretch.run(20);
    EXPECT_EQ(by_all.state.particles.x, by_stretch.state.particles.x);
  }
}

// Of what n particles hang on, a sweep leaves each slow error but for a little part of it, n sweeps but for n
// times as much: at rest, while each substep adds as much anew, n sweeps leave an n-th of the error.
TEST(PbdSolvers, StretchSweepsCarryWhatHangs) {
  PbdPart strip;
  strip.cells_x = 6, strip.cells_z = 90;
  strip.size_x = Real(0.12), strip.size_z = Real(1.8);
  strip.tethers = false;
  strip.rotation = Vec3(90, 0, 0);
  strip.pins.resize(1);
  strip.pins[0].where = ParticlePin::Where::back;
  double stretch[2];
  for (const int k : {0, 1}) {
    plenum_test::Built b(strip);
    b.params.stretch_sweeps = k == 0 ? 1 : 4, b.params.damping = 5;
    b.run(120);
    stretch[k] = b.last.value("max_stretch");
  }
  EXPECT_GT(stretch[0], 0.05);
  EXPECT_NEAR(stretch[1], stretch[0] / 4, 0.25 * stretch[0] / 4);
}

/// Projects a weighted sum of n points and the distances of two pairs of them, woven and one after the other,
/// in two sweeps of a substep; the points [n] after them.
template <int n, int a0, int b0, int a1, int b1>
void project_woven(const std::vector<Real>& weights, std::vector<detail::Place>& woven,
                   std::vector<detail::Place>& apart) {
  const std::vector<detail::Place> at = {{{0, 0, 0}, 2},
                                         {{1, Real(0.1), Real(-0.1)}, 3},
                                         {{Real(1.1), Real(0.2), Real(0.9)}, 1},
                                         {{Real(0.2), Real(-0.3), Real(1.1)}, Real(1.5)}};
  std::vector<detail::Place> moved = at;
  for (std::size_t i = 0; i < moved.size(); ++i)
    for (int c = 0; c < 3; ++c) moved[i].x[c] = Real(0.03 * std::sin(double(3 * i) + 2.0 * c));
  std::vector<Index> all;
  for (Index i = 0; i < n; ++i) all.push_back(i);
  const std::vector<Index> ends = {a0, b0, a1, b1};
  const std::vector<std::uint8_t> still(at.size(), 0);
  constexpr Real rest[2] = {Real(0.9), Real(1.3)}, give[2] = {Real(0.02), Real(0.3)};
  const auto bend = [&](auto& pack, int l) {
    for (int i = 0; i < n; ++i) pack.weight[i][l] = weights[std::size_t(i)];
    pack.compliance[l] = Real(0.4);
  };
  detail::Batch<detail::WovenPack<n, a0, b0, a1, b1>> together;
  together.lay_out(all, still, {}, [&](auto& pack, int l, std::size_t) {
    bend(pack, l);
    for (int k = 0; k < 2; ++k) pack.rest[k][l] = rest[k], pack.give[k][l] = give[k];
  });
  detail::Batch<detail::LinearPack<n>> sums;
  sums.lay_out(all, still, {}, [&](auto& pack, int l, std::size_t) { bend(pack, l); });
  detail::DistanceBatch distances;
  distances.lay_out(ends, still, {}, [&](auto& pack, int l, std::size_t k) {
    pack.rest[0][l] = rest[k], pack.compliance[l] = give[k];
  });
  together.begin(at.data()), sums.begin(at.data()), distances.begin(at.data());
  woven = moved, apart = moved;
  for (int k = 0; k < 2; ++k) {
    detail::Projection how{.compliance_scale = 1, .part = Real(0.8)};
    how.is_first = k == 0, how.is_last = k == 1;
    how.strain_limit = Real(0.2);
    together.sweep(woven.data(), how);
    sums.sweep(apart.data(), how), distances.sweep(apart.data(), how);
  }
}

// What is projected between one gathering and one scattering is what is projected one after the other.
TEST(PbdSolvers, WovenBendingIsBendingAndThenDistances) {
  std::vector<detail::Place> woven, apart;
  const auto compare = [&] {
    for (std::size_t i = 0; i < woven.size(); ++i)
      for (int c = 0; c < 3; ++c)
        EXPECT_NEAR(woven[i].x[c], apart[i].x[c], 16 * std::numeric_limits<Real>::epsilon()) << i;
  };
  project_woven<3, 0, 1, 1, 2>({1, Real(-2.5), Real(1.5)}, woven, apart), compare();
  project_woven<4, 0, 3, 1, 2>({1, -1, -1, 1}, woven, apart), compare();
}

// Each edge, bend and plate of a model is in one pack, woven or not, whatever of it is damped or torn away.
TEST(PbdSolvers, NothingIsWovenTwiceOrLeftOut) {
  PbdPart cloth, rope{.type = PbdPart::Type::rope};
  cloth.cells_x = 7, cloth.cells_z = 4, cloth.bending_stiffness = Real(1e-3);
  rope.segments = 9, rope.bending_stiffness = Real(1e-3);
  PbdPart damped = cloth, isometric = cloth;
  damped.damping_time = Real(0.01);
  isometric.bending = PbdPart::Bending::isometric;
  plenum_test::Built b(std::vector<PbdPart>{cloth, rope, damped, isometric});
  b.model.edges.pop_back(), b.model.rest_length.pop_back(), b.model.stretch_compliance.pop_back();
  Pbd::update(b.model);
  const PbdWorkspace& w = laid_out(b.workspace, b.model, true);
  EXPECT_GT(w.woven_rods.size(), 0U);
  EXPECT_GT(w.woven_cells.size(), 0U);
  EXPECT_EQ(w.woven_rods.size() + w.rods.size() + w.meshes.rods.size(), b.model.bends.size());
  EXPECT_EQ(w.woven_cells.size() + w.plates.size() + w.meshes.plates.size(), b.model.plates.size());
  EXPECT_EQ(2 * (w.woven_rods.size() + w.woven_cells.size()) + w.distances.size() + w.meshes.distances.size(),
            b.model.edges.size());
  laid_out(b.workspace, b.model, false);
  EXPECT_EQ(w.woven_rods.size() + w.woven_cells.size(), 0U);
  EXPECT_EQ(w.distances.size() + w.meshes.distances.size(), b.model.edges.size());
}

// A chain of 16 springs of 10^-2 m/N hangs as far as its compliance says, of whatever number of sweeps all at
// once: relaxed, one hung at 0.75 of that, two at 1.33, and no smaller step mended it.
TEST(PbdSolvers, HangAtOnceAsComplianceSays) {
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.from = Vec3(0, 0, 0), rope.to = Vec3(0, -1, 0), rope.segments = 16, rope.linear_density = Real(0.1);
  rope.stretch_compliance = Real(1e-2), rope.tethers = false;
  rope.pins.resize(1);
  rope.pins[0].where = ParticlePin::Where::first;
  for (const Pbd::Solver solver : {Pbd::Solver::jacobi, Pbd::Solver::chebyshev})
    for (const int iterations : {1, 2, 4}) {
      plenum_test::Built b(rope);
      b.params.solver = solver, b.params.iterations = iterations, b.params.substeps = 80;
      b.params.damping = 4;
      b.run(8 * 60);
      double wanted = 0, below = 0;
      for (std::size_t k = b.model.mass.size() - 1; k > 0; --k)
        below += double(b.model.mass[k]) * 9.81, wanted += 1e-2 * below;
      // What a sweep leaves is at most the part of the response of shares, of half of the mass, in D / r +
      // alpha~.
      const double h = 1.0 / (60 * 80), left = 4 / double(b.model.mass[1]) * h * h / 1e-2;
      EXPECT_NEAR(-b.x(16).y() - 1, wanted, left * wanted) << int(solver) << ' ' << iterations;
    }
}

TEST(PbdSolvers, StretchSweepsOfOtherSolversAreTold) {
  for (const Pbd::Solver solver : {Pbd::Solver::gauss_seidel, Pbd::Solver::jacobi, Pbd::Solver::chebyshev}) {
    plenum_test::Built cloth(PbdPart{});
    cloth.params.solver = solver, cloth.params.stretch_sweeps = 2;
    EXPECT_EQ(cloth.step().warnings().empty(), solver == Pbd::Solver::gauss_seidel);
  }
}

// Those of large solids are projected in slices.
TEST(PbdSolvers, SlicedSolidsAreTheSameOnAnyNumberOfThreads) {
  using Material = PbdPart::Material;
  for (const Material material : {Material::distances, Material::neo_hookean, Material::strain})
    for (const Solver solver : {Solver::gauss_seidel, Solver::jacobi}) {
      PbdPart bar{.type = PbdPart::Type::bar};
      bar.half_extents = Vec3(Real(0.52), Real(0.08), Real(0.08));
      bar.cells_x = 52, bar.cells_y = bar.cells_z = 8;
      bar.material = material;
      bar.pins.resize(1);
      bar.pins[0].where = ParticlePin::Where::box;
      bar.pins[0].box_min = Vec3(-1, -1, -1), bar.pins[0].box_max = Vec3(Real(-0.51), 1, 1);
      std::vector<Vec3> x;
      for (const int threads : {1, 2, 3, 8}) {
        Solved b({bar}, solver);
        with_threads(threads, [&] { b.run(3); });
        const PbdWorkspace& w = *b.workspace.impl;
        EXPECT_GE(b.model.tetrahedra.size() + b.model.strain_tetrahedra.size(), 16384U);
        // None is left out.
        EXPECT_EQ(w.lattices.size(), b.model.edges.size());
        EXPECT_EQ(w.volumes.size() + w.solids.size(), b.model.tetrahedra.size());
        EXPECT_EQ(w.solid_strains.size(), b.model.strain_tetrahedra.size());
        if (threads == 1) x = b.state.particles.x;
        EXPECT_EQ(b.state.particles.x, x) << int(material) << ' ' << threads;
      }
    }
}

}}  // namespace plenum
