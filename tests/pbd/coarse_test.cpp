// Coarse levels of cloth: what they hold, and what they leave alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "pbd/built.h"
#include "plenum/base/parallel.h"
#include "plenum/solvers/pbd/detail/coarse.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using detail::Place;
using plenum_test::Built;
using D3 = Vector3<double>;

PbdPart sheet(int cells_x, int cells_z) {
  PbdPart part;
  part.cells_x = cells_x, part.cells_z = cells_z;
  part.size_x = Real(0.02) * Real(cells_x), part.size_z = Real(0.02) * Real(cells_z);
  return part;
}

AlignedVector<Place> places_of(const std::vector<Vec3>& x, const Pbd::State& state) {
  AlignedVector<Place> out;
  for (std::size_t i = 0; i < x.size(); ++i)
    out.push_back({{x[i].x(), x[i].y(), x[i].z()}, state.particles.inverse_mass[i]});
  return out;
}

/// Ways [m] that coarse levels move particles by, where they are now.
std::vector<D3> ways_at(const Built& b, int levels) {
  PbdCoarse coarse;
  coarse.lay_out(b.model, levels);
  coarse.begin(places_of(b.state.particles.x, b.state));
  AlignedVector<Place> gone = places_of(std::vector<Vec3>(b.state.particles.size(), Vec3::Zero()), b.state);
  if (!coarse.empty()) coarse.project(gone, {});
  std::vector<D3> out;
  for (const Place& p : gone) out.emplace_back(double(p.x[0]), double(p.x[1]), double(p.x[2]));
  return out;
}
double longest(const std::vector<D3>& ways) {
  double most = 0;
  for (const D3& w : ways) most = std::max(most, w.norm());
  return most;
}
/// Puts particles anew, each by f(of where it is).
template <class F>
void move_all(Built& b, F&& f) {
  for (Vec3& x : b.state.particles.x) x = f(x);
}

// Sums of m dx and x cross m dx of all that a projection moves vanish to rounding, wherever cloth is.
TEST(PbdCoarse, PushesAndTurnsNothing) {
  for (const int levels : {1, 3}) {
    Built b(sheet(37, 23));
    move_all(b, [](const Vec3& x) -> Vec3 {
      return {Real(1.3) * x.x() + Real(0.3) * x.z() * x.z(), Real(0.2) * std::sin(9 * x.x()),
              Real(1.2) * x.z()};
    });
    const std::vector<D3> ways = ways_at(b, levels);
    EXPECT_GT(longest(ways), 0.01) << levels;
    D3 push = D3::Zero(), turn = D3::Zero();
    double sum = 0, moment = 0;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const D3 p = double(b.model.mass[i]) * ways[i];
      push += p, turn += b.x(i).cross(p);
      sum += p.norm(), moment += b.x(i).norm() * p.norm();
    }
    const double rounding = 16 * double(std::numeric_limits<Real>::epsilon());
    EXPECT_LT(push.norm(), rounding * sum) << levels;
    EXPECT_LT(turn.norm(), rounding * moment) << levels;
  }
}

// Flat cloth is as far as it may be, but for rounding; bent, and folded, it is nearer.
TEST(PbdCoarse, LeavesAloneWhatIsNotStretched) {
  Built b(sheet(40, 31));
  EXPECT_LT(longest(ways_at(b, 4)), 1e-6);
  const std::vector<Vec3> flat = b.state.particles.x;
  move_all(b, [](const Vec3& x) -> Vec3 {
    return {Real(0.2) * std::sin(x.x() / Real(0.2)), Real(0.2) * std::cos(x.x() / Real(0.2)), x.z()};
  });
  EXPECT_LT(longest(ways_at(b, 4)), 1e-6);
  b.state.particles.x = flat;
  move_all(b, [](const Vec3& x) -> Vec3 { return {std::abs(x.x()), 0, x.z()}; });
  EXPECT_LT(longest(ways_at(b, 4)), 1e-6);
}

// What hangs stretches by less than half; held particles stay.
TEST(PbdCoarse, CarryWhatHangs) {
  PbdPart strip = sheet(12, 90);
  strip.tethers = false;
  strip.rotation = Vec3(90, 0, 0);
  strip.pins.resize(1);
  strip.pins[0].where = ParticlePin::Where::back;
  double stretch[2];
  for (const int k : {0, 1}) {
    Built b(strip);
    b.params.coarse_levels = k == 0 ? 0 : 4;
    b.params.damping = 5;
    const std::vector<Vec3> start = b.state.particles.x;
    b.run(120);
    stretch[k] = b.last.value("max_stretch");
    for (const Index i : b.model.pinned)
      EXPECT_EQ(b.state.particles.x[std::size_t(i)], start[std::size_t(i)]);
  }
  EXPECT_GT(stretch[0], 0.05);
  EXPECT_LT(stretch[1], stretch[0] / 2);
}

// Linear momentum of what flies stays with every solver. Ways of half a metre are rounded by 3e-8 m, which is
// 2e-5 m/s of a particle in a substep, and on the mean of 961, summed over 200 substeps, 1e-5 m/s.
TEST(PbdCoarse, KeepMomentum) {
  for (const auto solver : {Pbd::Solver::gauss_seidel, Pbd::Solver::jacobi, Pbd::Solver::chebyshev}) {
    Built b(sheet(30, 30));
    b.params.gravity.setZero();
    b.params.coarse_levels = 3, b.params.solver = solver, b.params.iterations = 3;
    for (std::size_t i = 0; i < b.state.particles.size(); ++i) {
      const Vec3 x = b.state.particles.x[i];
      b.state.particles.v[i] = Vec3(3 * x.x() + 1, 2 * x.z() * x.z(), -x.x()) + Vec3(0, 4 * x.x(), 0);
    }
    const auto momentum = [&] {
      D3 sum = D3::Zero();
      for (std::size_t i = 0; i < b.state.particles.size(); ++i)
        sum += double(b.model.mass[i]) * b.state.particles.v[i].cast<double>();
      return sum;
    };
    const D3 before = momentum();
    b.run(20);
    EXPECT_LT((momentum() - before).norm(), 1e-4 * before.norm());
  }
}

// Nor is energy gained: projections onto what holds only take of it, for any step and solver.
TEST(PbdCoarse, GainNoEnergy) {
  for (const auto solver : {Pbd::Solver::gauss_seidel, Pbd::Solver::jacobi, Pbd::Solver::chebyshev})
    for (const double dt : {0.001, 0.01, 0.05}) {
      Built b(sheet(30, 20));
      b.params.gravity.setZero();
      b.params.coarse_levels = 3, b.params.solver = solver;
      for (std::size_t i = 0; i < b.state.particles.size(); ++i) {
        const Real k = Real(i);
        b.state.particles.v[i] = Vec3(std::sin(3 * k), std::sin(5 * k), std::sin(7 * k));
      }
      const auto energy = [&] {
        double sum = 0;
        for (std::size_t i = 0; i < b.state.particles.size(); ++i)
          sum += double(b.model.mass[i]) * double(b.state.particles.v[i].squaredNorm()) / 2;
        return sum;
      };
      const double before = energy();
      for (int k = 0; k < 30; ++k) {
        b.step(Real(dt));
        ASSERT_LT(energy(), before) << names_of(solver)[std::size_t(solver)] << ", " << dt;
      }
    }
}

// Halves whose edges are gone do not pull each other.
TEST(PbdCoarse, NothingPullsThroughATear) {
  Built b(sheet(41, 20));
  const auto side = [](Index i) { return i % 42 <= 20; };
  std::vector<Index2> edges;
  std::vector<Real> lengths, compliances;
  for (std::size_t e = 0; e < b.model.edges.size(); ++e) {
    if (side(b.model.edges[e][0]) != side(b.model.edges[e][1])) continue;
    edges.push_back(b.model.edges[e]), lengths.push_back(b.model.rest_length[e]);
    compliances.push_back(b.model.stretch_compliance[e]);
  }
  b.model.edges = edges, b.model.rest_length = lengths, b.model.stretch_compliance = compliances;
  Pbd::update(b.model);
  move_all(b, [](const Vec3& x) -> Vec3 { return x + Vec3(x.x() < 0 ? Real(-1) : Real(1), 0, 0); });
  EXPECT_LT(longest(ways_at(b, 1)), 1e-6);
}

// Cloth that tears while it is held stays finite, resumes and is the same for any number of threads.
TEST(PbdCoarse, TheSameForAnyNumberOfThreads) {
  std::vector<Vec3> first;
  for (const int threads : {1, 2, 3, 5, 8}) {
    PbdPart part = sheet(45, 45);
    part.pins.resize(1);
    part.pins[0].where = ParticlePin::Where::corners;
    part.tethers = false, part.velocity = Vec3(0, -20, 0);
    Built b(part);
    b.params.coarse_levels = 4, b.params.tear_strain = Real(0.1);
    bool tore = false;
    with_threads(threads, [&] {
      for (int k = 0; k < 25; ++k) {
        b.step();
        tore = Pbd::edit(b.model, b.state, b.params, b.workspace) || tore;
        // Workspaces hold nothing that is needed.
        if (threads == 3) b.workspace = {};
      }
    });
    EXPECT_TRUE(tore);
    for (const Vec3& x : b.state.particles.x) ASSERT_TRUE(x.allFinite());
    if (first.empty()) first = b.state.particles.x;
    EXPECT_EQ(b.state.particles.x, first) << threads;
  }
}

TEST(PbdCoarse, AllocateNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  Built b(sheet(30, 20));
  b.params.coarse_levels = 3;
  with_threads(1, [&] {
    b.step();
    EXPECT_EQ(plenum_test::count_allocations([&] { b.step(); }), 0);
  });
}

TEST(PbdCoarse, SayWhereThereIsNothingToHold) {
  Built rope(PbdPart{.type = PbdPart::Type::rope});
  rope.params.coarse_levels = 2;
  EXPECT_EQ(rope.step().warnings().size(), 1U);
  Built cloth(sheet(10, 10));
  cloth.params.coarse_levels = 2;
  EXPECT_TRUE(cloth.step().warnings().empty());
}

}}  // namespace plenum
