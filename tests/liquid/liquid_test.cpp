// Liquid as a whole: determinism, restoring, stability, laws of conservation.
#include "plenum/solvers/liquid/liquid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string_view>

#include "../../validation/liquid_scenes.h"
#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/base/random.h"
#include "plenum/solvers/liquid/detail/stages.h"
#include "plenum/world/world.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using validation::Water;

LiquidFill block(const Vec3& low, const Vec3& high) {
  LiquidFill fill;
  fill.shape = GridSolid::Kind::box;
  fill.half_extents = (high - low) / 2;
  fill.position = (high + low) / 2;
  return fill;
}

/// A column that breaks around a ball.
Liquid::Spec dam(int nx, int ny, int nz) {
  Liquid::Spec spec;
  spec.cells_x = nx, spec.cells_y = ny, spec.cells_z = nz;
  spec.spacing = static_cast<Real>(1.0 / nx);
  const Real depth = spec.spacing * static_cast<Real>(nz);
  spec.fill = {block(Vec3::Zero(), Vec3(Real(0.35), Real(0.6), depth))};
  GridSolid ball;
  ball.radius = Real(0.12);
  ball.position = Vec3(Real(0.65), Real(0.1), depth / 2);
  spec.solids = {ball};
  return spec;
}

World world_of(const Liquid::Spec& spec, Liquid::Transfer transfer, int threads) {
  World world({.fps = 60});
  world.set_threads(threads);
  Water water(spec);
  water.params.transfer = transfer;
  world.add<Liquid>("water", std::move(water.model), std::move(water.state), water.params);
  return world;
}

TEST(Liquid, SameBitsForEveryNumberOfThreads) {
  for (const int nz : {1, 20})
    for (const Liquid::Transfer transfer : {Liquid::Transfer::flip, Liquid::Transfer::apic}) {
      const Liquid::Spec spec = dam(32, 24, nz);
      std::string first;
      for (const int threads : {1, 2, 3, 5, 8}) {
        World world = world_of(spec, transfer, threads);
        for (int k = 0; k < 20; ++k) ASSERT_TRUE(world.step_frame().ok);
        if (first.empty()) first = world.hash().hex();
        EXPECT_EQ(world.hash().hex(), first) << nz << " " << threads;
      }
    }
}

TEST(Liquid, ScratchMemoryIsNoPartOfTheState) {
  for (const int nz : {1, 16}) {
    const Liquid::Spec spec = dam(24, 24, nz);
    Water a(spec), b(spec);
    for (int k = 0; k < 12; ++k) {
      a.step(1.0 / 60);
      b.workspace = {};
      b.step(1.0 / 60);
    }
    EXPECT_EQ(a.state.x, b.state.x);
    EXPECT_EQ(a.state.v, b.state.v);
    EXPECT_EQ(a.state.pressure, b.state.pressure);
  }
}

TEST(Liquid, AllocatesNothingInSteadyState) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer has a heap of its own";
  for (const int nz : {1, 16}) {
    Water water(dam(24, 24, nz));
    for (int k = 0; k < 60; ++k) water.step(1.0 / 60);
    EXPECT_EQ(plenum_test::count_allocations([&] {
                for (int k = 0; k < 5; ++k) water.step(1.0 / 60);
              }),
              0);
  }
}

TEST(Liquid, FallsFreely) {
  // A drop in the air: no pressure, x = g t^2 / 2 up to the step's own first order.
  for (const Liquid::Transfer transfer :
       {Liquid::Transfer::pic, Liquid::Transfer::flip, Liquid::Transfer::apic})
    for (const int nz : {1, 32}) {
      Liquid::Spec spec;
      spec.cells_x = 32, spec.cells_y = 64, spec.cells_z = nz;
      spec.spacing = Real(1) / 32;
      LiquidFill drop;
      drop.radius = Real(0.2);
      drop.position = Vec3(Real(0.5), Real(1.5), nz == 1 ? spec.spacing / 2 : Real(0.5));
      spec.fill = {drop};
      Water water(spec);
      water.params.transfer = transfer;
      const auto height = [&] {
        double sum = 0;
        for (const Vec3& x : water.state.x) sum += static_cast<double>(x.y());
        return sum / static_cast<double>(water.state.x.size());
      };
      const double before = height(), dt = 1.0 / 120;
      const int steps = 36;
      for (int k = 0; k < steps; ++k) water.step(dt);
      const double t = steps * dt;
      // Velocity before position: g (t^2 + t dt) / 2 with the step's parts of at most dt.
      EXPECT_NEAR(before - height(), 9.81 * t * t / 2, 9.81 * t * dt / 2 + 1e-3);
      double most = 0;
      for (const Vec3& v : water.state.v)
        most = std::max(most, static_cast<double>((v - Vec3(0, static_cast<Real>(-9.81 * t), 0)).norm()));
      EXPECT_LT(most, 0.02 * 9.81 * t);
    }
}

TEST(Liquid, StandsStill) {
  for (const int nz : {1, 16}) {
    Liquid::Spec spec;
    spec.cells_x = 16, spec.cells_y = 24, spec.cells_z = nz;
    spec.spacing = Real(1) / 16;
    spec.jitter = 0;
    spec.fill = {block(Vec3::Zero(), Vec3(1, 1, spec.spacing * static_cast<Real>(nz)))};
    Water water(spec);
    double most = 0;
    for (int k = 0; k < 200; ++k) {
      water.step(1.0 / 60);
      most = std::max(most, water.largest_speed());
    }
    // Against the speed sqrt(2 g H) of what falls from the surface to the bottom.
    EXPECT_LT(most, 1e-3 * std::sqrt(2 * 9.81));
    // The pressure of the middle of the lowest cells, by their depth.
    const Index k = nz / 2;
    for (Index i = 0; i < 16; ++i)
      EXPECT_NEAR(static_cast<double>(water.state.pressure[water.model.shape.index(i, 0, k)]),
                  1000 * 9.81 * (1 - 0.5 / 16), 0.002 * 1000 * 9.81);
  }
}

TEST(Liquid, PressureKnowsTheSurfaceWhereverItIsBetweenCentres) {
  // Of jittered water at rest that is 8, 8 1/4, 8 1/2 and 8 3/4 cells deep. Had cells above whose centres
  // there is air a pressure that is zero at their centres, it would be that of water an eighth of a cell
  // deeper, on average over all depths, and half a cell at the worst.
  double sum = 0;
  for (const double more : {0.0, 0.25, 0.5, 0.75}) {
    Liquid::Spec spec;
    spec.cells_x = 12, spec.cells_y = 12, spec.cells_z = 12, spec.spacing = Real(1) / 12;
    spec.fill = {block(Vec3(0, 0, 0), Vec3(Real(0.5), Real(8) / 12, 1)),
                 block(Vec3(Real(0.5), 0, 0), Vec3(1, static_cast<Real>(8 + 2 * more) / 12, 1))};
    Water water(spec);
    const double depth =
        static_cast<double>(water.state.x.size()) / water.model.per_cell() / (12.0 * 12.0);  // [cells]
    double mean = 0;
    for (int k = 0; k < 180; ++k) {
      water.step(1.0 / 60);
      if (k < 120) continue;
      for (Index n = 0; n < 144; ++n)
        mean += static_cast<double>(water.state.pressure[water.model.shape.index(n % 12, 2, n / 12)]) /
                (1000 * 9.81 / 12) / (144 * 60);
    }
    sum += (mean + 2.5 - depth) / 4;
  }
  EXPECT_LT(std::abs(sum), 0.125);
}

/// Largest error, over gravity, of how a dam's free side, in a box to whose left wall it reaches, begins to
/// move: `cells` are those of its width. A column a wide and H high, bed and wall without friction, starts
/// with
///   du/dt = sum over n of 2 g / (k H) tanh(k a) cos(k y), k = (n + 1/2) pi / H:
/// its pressure is that of rest, rho g (H - y), and a harmonic function that takes that away at the free side
/// (as Stoker 1957, "Water waves", section 12.1, has for a column without end). At the bed the series has a
/// logarithm, so the lowest tenth is left out.
double error_of_dams_start(int cells, double height, Liquid::Tracker tracker) {
  constexpr double gravity = 9.81, dt = 1e-5;
  const double h = 1.0 / cells;
  Liquid::Spec spec;
  spec.tracker = tracker;
  spec.cells_x = 2 * cells, spec.cells_y = static_cast<int>(height * cells) + 4, spec.cells_z = 1;
  spec.spacing = static_cast<Real>(h);
  spec.jitter = 0;
  spec.fill = {block(Vec3(-1, -1, -1), Vec3(1, static_cast<Real>(height), 1))};
  Water water(spec);
  water.params.volume_rate = 0;
  water.params.pressure_tolerance = Real(1e-8);
  water.step(dt);
  double most = 0;
  for (Index j = 0; j < static_cast<Index>(height * cells); ++j) {
    const double y = (j + 0.5) * h;
    if (y < height / 10) continue;
    double expected = 0;
    for (int n = 0; n < 2000; ++n) {
      const double k = (n + 0.5) * std::numbers::pi / height;
      expected += 2 * gravity / (k * height) * std::tanh(k) * std::cos(k * y);
    }
    const auto u = static_cast<double>(water.workspace.carry[0][water.model.shape.index(cells, j, 0)]);
    most = std::max(most, std::abs(u / dt - expected) / gravity);
  }
  return most;
}

TEST(Liquid, ADamBeginsToBreakAsPotentialFlowDoes) {
  for (const Liquid::Tracker tracker : {Liquid::Tracker::particles, Liquid::Tracker::level_set})
    for (const double height : {1.0, 2.0}) {
      const double coarse = error_of_dams_start(20, height, tracker),
                   fine = error_of_dams_start(40, height, tracker);
      // The lowest rows are 4.5 cells of the fine grid over the bed, and 2.5 of the coarse one: of second
      // order the error falls by their ratio squared, 2^1.7 (H = 1).
      EXPECT_LT(fine, 0.01) << height;
      EXPECT_GT(std::log2(coarse / fine), 1.5) << height;
    }
}

TEST(Liquid, StableForStepsAndForcesOfAnySize) {
  for (const int nz : {1, 12})
    for (const Liquid::Transfer transfer : {Liquid::Transfer::flip, Liquid::Transfer::apic})
      for (const double cfl : {0.5, 5.0, 50.0})
        for (const Real strength : {Real(1), Real(1e4)}) {
          Water water(dam(16, 20, nz));
          const std::size_t n = water.state.x.size();
          water.params.transfer = transfer;
          water.params.gravity = Vec3(strength / 3, -strength, 0);
          water.params.most_parts = 1;
          double dt = 0.001, longest = dt;
          for (int k = 0; k < 40; ++k) {
            water.step(dt);
            const double speed = water.largest_speed();
            ASSERT_TRUE(std::isfinite(speed));
            // No faster than what falls through the box and is pushed for a step more.
            EXPECT_LT(speed, 3 * (std::sqrt(2 * static_cast<double>(strength) * 2) +
                                  static_cast<double>(strength) * longest))
                << nz << " " << static_cast<int>(transfer) << " cfl " << cfl << " step " << k << " dt " << dt;
            dt = std::min(0.1, cfl / 16 / std::max(speed, 1e-3));
            longest = std::max(longest, dt);
          }
          EXPECT_EQ(water.state.x.size(), n);
        }
}

TEST(Liquid, SaysWhenItsPartsAreTooCoarseToHoldAVolume) {
  // Thrown at 20 m/s on cells of 1/16 m; a part may cross three.
  for (const double cells : {2.5, 3.5}) {
    Water water(dam(16, 20, 1));
    for (Vec3& v : water.state.v) v = Vec3(20, 0, 0);
    water.params.gravity.setZero();
    water.params.most_parts = 1;
    const Report report = water.step(cells / 16 / 20);
    bool warned = false;
    for (const auto& warning : report.warnings())
      warned = warned || std::string_view(warning.text).find("raise most_parts") != std::string_view::npos;
    EXPECT_EQ(warned, cells > 3) << cells << " as " << report.value("cfl");
  }
}

/// A square or cube of liquid in the middle of a box, without weight.
Water blob(int nz, Liquid::Transfer transfer) {
  Liquid::Spec spec;
  spec.cells_x = spec.cells_y = 24, spec.cells_z = nz;
  spec.spacing = Real(1) / 24;
  const Real z = nz == 1 ? spec.spacing : Real(0.75);
  spec.fill = {
      block(Vec3(Real(0.25), Real(0.25), nz == 1 ? Real(0) : Real(0.25)), Vec3(Real(0.75), Real(0.75), z))};
  Water water(spec);
  water.params.transfer = transfer;
  water.params.gravity.setZero();
  return water;
}
/// Whether a particle is two cells and more within the blob.
bool is_deep(const Vec3& x, int nz) {
  for (int c = 0; c < (nz == 1 ? 2 : 3); ++c)
    if (std::abs(x[c] - Real(0.5)) > Real(0.25) - Real(2.1) / 24) return false;
  return true;
}

TEST(Liquid, AffineParticlesKeepARotation) {
  // A rigid rotation is linear and free of divergence: affine particles give it to faces and take it back
  // exactly (Jiang et al. 2015, section 5.3), and with it linear and angular momentum. Those without a
  // gradient do not.
  for (const int nz : {1, 24})
    for (const Liquid::Transfer transfer : {Liquid::Transfer::apic, Liquid::Transfer::pic}) {
      Water water = blob(nz, transfer);
      water.params.volume_rate = 0;
      const Vec3 turn = nz == 1 ? Vec3(0, 0, 1) : Vec3(Real(0.5), Real(-0.3), Real(0.8));  // [1/s]
      Liquid::State& s = water.state;
      const Vec3 middle(Real(0.5), Real(0.5), nz == 1 ? s.x[0].z() : Real(0.5));
      for (std::vector<Vec3>* a : {&s.du, &s.dv, &s.dw}) a->resize(s.x.size());
      for (std::size_t p = 0; p < s.x.size(); ++p) {
        s.v[p] = turn.cross(s.x[p] - middle);
        s.du[p] = Vec3(0, -turn.z(), turn.y());
        s.dv[p] = Vec3(turn.z(), 0, -turn.x());
        s.dw[p] = Vec3(-turn.y(), turn.x(), 0);
      }
      // So short a step that nothing moves by more than a rounding.
      water.step(1e-7);
      double most = 0;
      for (std::size_t p = 0; p < s.x.size(); ++p)
        if (is_deep(s.x[p], nz))
          most = std::max(most, static_cast<double>((s.v[p] - turn.cross(s.x[p] - middle)).norm()));
      if (transfer == Liquid::Transfer::apic)
        // Rounding of velocities around 1/2 and the pressure's tolerance.
        EXPECT_LT(most, 2e-5) << nz;
      else
        EXPECT_GT(most, 1e-3) << nz;
    }
}

TEST(Liquid, FacesTakeTheMomentumOfParticles) {
  // Weights around a particle sum to one, and what a gradient adds around it to nothing.
  for (const int nz : {1, 24})
    for (const Liquid::Transfer transfer : {Liquid::Transfer::flip, Liquid::Transfer::apic}) {
      Water water = blob(nz, transfer);
      Liquid::State& s = water.state;
      std::array<double, 3> momentum{}, size{};
      for (std::vector<Vec3>* a : {&s.du, &s.dv, &s.dw}) a->resize(s.x.size());
      for (std::size_t p = 0; p < s.x.size(); ++p) {
        const auto draw = [&](std::uint64_t stream) {
          const Vec4 r = uniform4(1, p, stream);
          return Vec3(2 * r[0] - 1, 2 * r[1] - 1, 2 * r[2] - 1);
        };
        s.v[p] = draw(0), s.du[p] = 20 * draw(1), s.dv[p] = 20 * draw(2), s.dw[p] = 20 * draw(3);
        for (int c = 0; c < (nz == 1 ? 2 : 3); ++c) {
          momentum[static_cast<std::size_t>(c)] += static_cast<double>(s.v[p][c]);
          size[static_cast<std::size_t>(c)] += std::abs(static_cast<double>(s.v[p][c]));
        }
      }
      detail::sort_particles(water.model, s, water.workspace, 2);
      detail::particles_to_faces(water.model, s, water.params, water.workspace);
      const GridShape& shape = water.model.shape;
      for (std::size_t c = 0; c < static_cast<std::size_t>(shape.dimensions()); ++c) {
        double sum = 0, weight = 0;
        for (Index k = 0; k < (nz == 1 ? 1 : nz + 1); ++k)
          for (Index j = 0; j <= 24; ++j)
            for (Index i = 0; i <= 24; ++i) {
              const CellWindow& window = water.workspace.window;
              const std::array<Index, 3> at = {i, j, k};
              bool in = true;
              for (std::size_t a = 0; a < 3; ++a)
                in = in && at[a] >= window.low[a] && at[a] <= window.high[a];
              if (!in) continue;
              sum += static_cast<double>(water.workspace.pairs[c][2 * shape.index(i, j, k)]);
              weight += static_cast<double>(water.workspace.pairs[c][2 * shape.index(i, j, k) + 1]);
            }
        // Sums of a hundred numbers of about one a face, rounded.
        EXPECT_NEAR(sum, momentum[c], 1e-5 * size[c]);
        EXPECT_NEAR(weight, static_cast<double>(s.x.size()), 1e-5 * static_cast<double>(s.x.size()));
      }
    }
}

TEST(Liquid, IsIndependentOfThePressureSolver) {
  std::vector<Vec3> first;
  for (const PressureMethod method :
       {PressureMethod::multigrid, PressureMethod::cg, PressureMethod::mic0, PressureMethod::gauss_seidel}) {
    Water water(dam(24, 20, 1));
    water.params.volume_rate = 0;
    water.params.pressure_solver = method;
    water.params.pressure_tolerance = Real(1e-6);
    water.params.pressure_iterations = 100000;
    for (int k = 0; k < 10; ++k) water.step(1.0 / 60);
    if (first.empty()) first = water.state.x;
    ASSERT_EQ(water.state.x.size(), first.size());
    // In the order of cells, which a rounding may change for particles on their borders.
    double sum = 0;
    for (std::size_t p = 0; p < first.size(); ++p) {
      double nearest = 1;
      for (std::size_t q = p < 40 ? 0 : p - 40; q < std::min(first.size(), p + 40); ++q)
        nearest = std::min(nearest, static_cast<double>((water.state.x[p] - first[q]).norm()));
      sum += nearest;
    }
    // Tolerances of 1e-6 of velocities of a metre a second, for a sixth of one.
    EXPECT_LT(sum / static_cast<double>(first.size()), 1e-4)
        << names_of(method)[static_cast<std::size_t>(method)];
  }
}

TEST(Liquid, TransfersKeepAUniformFlow) {
  for (const int nz : {1, 24})
    for (const Liquid::Transfer transfer :
         {Liquid::Transfer::pic, Liquid::Transfer::flip, Liquid::Transfer::apic}) {
      Water water = blob(nz, transfer);
      const Vec3 u(Real(0.7), Real(-0.4), nz == 1 ? Real(0) : Real(0.2));
      for (Vec3& v : water.state.v) v = u;
      for (int k = 0; k < 10; ++k) water.step(0.01);
      Eigen::Vector3d sum = Eigen::Vector3d::Zero();
      for (const Vec3& v : water.state.v) sum += v.cast<double>();
      // A hundredth of a second moves it by less than a cell; the pressure's tolerance is all that acts.
      EXPECT_LT((sum / static_cast<double>(water.state.v.size()) - u.cast<double>()).norm(), 1e-4);
    }
}

TEST(Liquid, StaysOutOfSolidsAndInTheBox) {
  for (const int nz : {1, 16}) {
    // A ball in the way that touches no side: between it and a side a particle has no place to go.
    Liquid::Spec spec = dam(32, 24, nz);
    spec.solids[0].position.y() = Real(0.25);
    Water water(spec);
    const std::size_t n = water.state.x.size();
    for (int k = 0; k < 90; ++k) {
      water.step(1.0 / 60);
      ASSERT_EQ(water.state.x.size(), n);
    }
    const GridSolid& ball = water.model.solids[0];
    double deepest = 0;
    for (const Vec3& x : water.state.x) {
      Vec3 d = x - ball.position;
      if (nz == 1) d.z() = 0;
      deepest = std::max(deepest, static_cast<double>(ball.radius - d.norm()));
    }
    // The distance is linear between corners: h^2 / (8 r) off at most, in each direction.
    EXPECT_LT(deepest, 3 * (1.0 / 32) * (1.0 / 32) / (8 * 0.12));
  }
}

TEST(Liquid, LeavesThroughOpenSidesAndComesFromSources) {
  Liquid::Spec spec;
  spec.cells_x = 32, spec.cells_y = 24, spec.cells_z = 1;
  spec.spacing = Real(1) / 32;
  spec.bottom.kind = Liquid::Side::Kind::outflow;
  Water water(spec);
  EXPECT_TRUE(water.state.x.empty());
  LiquidSource tap;
  tap.shape = GridSolid::Kind::box;
  tap.half_extents = Vec3(Real(0.0625), Real(0.0625), Real(0.1));
  tap.position = Vec3(Real(0.5), Real(0.6), spec.spacing / 2);
  tap.velocity = Vec3(0, -2, 0);
  tap.stop = Real(0.5);
  water.params.gravity.setZero();
  water.params.sources = {tap};
  std::size_t most = 0;
  double most_flow = 0;
  for (int k = 0; k < 120; ++k) {
    water.step(1.0 / 60);
    most = std::max(most, water.state.x.size());
    if (k == 29) most_flow = static_cast<double>(water.state.num_emitted);
  }
  EXPECT_GT(most, 200u);
  // It delivers its section times its speed for half a second: 4 cells wide, 2 m/s = 64 cells/s, 4 particles
  // a cell, and its own content of 64; to a cell's content a step that is not yet full again.
  EXPECT_NEAR(most_flow, 4 * 64 * 0.5 * 4 + 64, 0.15 * 4 * 64 * 0.5 * 4);
  EXPECT_TRUE(water.state.x.empty());
}

TEST(Liquid, KeepsItsVolume) {
  Liquid::Spec spec;
  spec.cells_x = 32, spec.cells_y = 28, spec.cells_z = 1;
  spec.spacing = Real(1) / 32;
  spec.fill = {block(Vec3::Zero(), Vec3(Real(0.4), Real(0.6), spec.spacing))};
  Water held(spec), loose(spec);
  loose.params.volume_rate = 0;
  const double wanted = 0.4 * 0.6;
  for (int k = 0; k < 600; ++k) held.step(1.0 / 60), loose.step(1.0 / 60);
  EXPECT_NEAR(Liquid::volume(held.model, held.state), wanted, 0.02 * wanted);
  EXPECT_LT(Liquid::volume(loose.model, loose.state), 0.9 * wanted);
}

/// Cells whose neighbours all have particles and that have fewer than a quarter of a full one's.
int count_starved(const Water& water) {
  const GridShape& shape = water.model.shape;
  std::vector<int> count(shape.size(), 0);
  for (const Vec3& x : water.state.x) {
    const Vec3 g = (x - water.model.low) / water.model.h;
    ++count[shape.index(static_cast<Index>(g.x()), static_cast<Index>(g.y()),
                        shape.is_flat() ? 0 : static_cast<Index>(g.z()))];
  }
  int starved = 0;
  for (Index k = shape.is_flat() ? 0 : 1; k < (shape.is_flat() ? 1 : shape.cells[2] - 1); ++k)
    for (Index j = 1; j < shape.cells[1] - 1; ++j)
      for (Index i = 1; i < shape.cells[0] - 1; ++i) {
        const std::size_t at = shape.index(i, j, k);
        bool inner = true;
        for (int c = 0; c < shape.dimensions(); ++c)
          for (const std::ptrdiff_t step : {-shape.stride(c), shape.stride(c)})
            inner = inner && count[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(at) + step)] > 0;
        starved += inner && count[at] < std::max(1, water.model.per_cell() / 4);
      }
  return starved;
}

TEST(Liquid, FillsUpStarvedCellsAndKeepsWhatItHas) {
  // The particles of three inner cells are put into three others; one step puts as many back as a quarter.
  for (const int nz : {1, 12})
    for (const auto transfer : {Liquid::Transfer::flip, Liquid::Transfer::apic}) {
      Liquid::Spec spec;
      spec.cells_x = spec.cells_y = 12, spec.cells_z = nz, spec.spacing = Real(1) / 12;
      spec.fill = {block(Vec3::Zero(), Vec3(1, 1, 1))};
      spec.jitter = Real(0.5);
      Water water(spec);
      water.params.transfer = transfer;
      water.params.gravity.setZero();
      water.params.volume_rate = 0;
      water.params.reseed = true;
      for (Vec3& x : water.state.x) {
        const Vec3 g = x * 12;
        const bool middle = nz == 1 || static_cast<int>(g.z()) == 5;
        const int column = static_cast<int>(g.x());
        if (middle && static_cast<int>(g.y()) == 6 && (column == 3 || column == 5 || column == 7))
          x.x() += Real(1) / 12;
      }
      EXPECT_EQ(count_starved(water), 3);
      const std::size_t before = water.state.x.size();
      water.step(1.0 / 600);
      EXPECT_EQ(count_starved(water), 0) << nz;
      EXPECT_EQ(water.state.x.size(), before);
      for (const Vec3& v : water.state.v) ASSERT_LT(v.norm(), 1e-5);
    }
}

TEST(Liquid, ViscosityDampsVorticesByTheirWaveNumber) {
  // A closed box that is full, with the vortices of Taylor and Green, which slip along its sides: u decays as
  // exp(-2 pi^2 nu t). Backward Euler's own factor, and the grid's eigenvalue.
  Liquid::Spec spec;
  const int n = 24;
  spec.cells_x = spec.cells_y = n, spec.cells_z = 1, spec.spacing = static_cast<Real>(1.0 / n);
  spec.fill = {block(Vec3::Zero(), Vec3(1, 1, 1))};
  spec.jitter = 0;
  Water water(spec);
  water.params.gravity.setZero();
  const double pi = std::acos(-1.0);
  water.params.viscosity = Real(0.2);
  const double dt = 0.005;
  for (std::size_t p = 0; p < water.state.x.size(); ++p) {
    const auto x = static_cast<double>(water.state.x[p].x()), y = static_cast<double>(water.state.x[p].y());
    water.state.v[p] = Vec3(static_cast<Real>(0.05 * std::sin(pi * x) * std::cos(pi * y)),
                            static_cast<Real>(-0.05 * std::cos(pi * x) * std::sin(pi * y)), 0);
  }
  water.params.pressure_tolerance = Real(1e-6);
  // After the first step, which takes the velocities from the particles to the faces, as far as they are
  // hats.
  water.step(dt);
  const double before = Liquid::kinetic_energy(water.model, water.state, 1);
  for (int k = 0; k < 20; ++k) water.step(dt);
  const double left = Liquid::kinetic_energy(water.model, water.state, 1) / before;
  EXPECT_NEAR(std::log(left) / (-4 * pi * pi * 0.2 * 20 * dt), 1, 0.04);
}

TEST(Liquid, ViscosityLeavesAFreeFall) {
  for (const int nz : {1, 10}) {
    Liquid::Spec spec;
    spec.cells_x = 20, spec.cells_y = 40, spec.cells_z = nz == 1 ? 1 : 20, spec.spacing = Real(0.05);
    spec.fill = {block(Vec3(Real(0.3), Real(1.4), 0), Vec3(Real(0.7), Real(1.8), Real(0.5)))};
    Water water(spec);
    water.params.viscosity = 10;
    water.params.volume_rate = 0;
    for (int k = 0; k < 20; ++k) water.step(0.01);
    for (const Vec3& v : water.state.v) ASSERT_NEAR(static_cast<double>(v.y()), -9.81 * 0.2, 1e-4);
  }
}

/// Error (root mean square, of the mean velocity) of the profile of a stream that falls steadily between
/// upright plates a metre apart, or nearly, which hold it: a parabola, G H^2 / (12 nu) = 1 fast in the mean,
/// since there is no pressure at either end. Plates are sides, or solids that stand anywhere in their cells.
double error_of_falling_stream(int n, bool solids) {
  const double h = 1.0 / n, low = solids ? 2.3 * h : 0, high = solids ? low + 1 - 0.7 * h : 1,
               width = high - low;
  Liquid::Spec spec;
  spec.cells_x = solids ? n + 5 : n, spec.cells_y = 2 * n, spec.cells_z = 1;
  spec.spacing = static_cast<Real>(h);
  spec.bottom.kind = spec.top.kind = Liquid::Side::Kind::outflow;
  if (solids) {
    for (const double middle : {low - 0.5, high + 0.5}) {
      GridSolid plate;
      plate.shape = GridSolid::Kind::box;
      plate.half_extents = Vec3(Real(0.5), 10, 10);
      plate.position = Vec3(static_cast<Real>(middle), 0, 0);
      spec.solids.push_back(plate);
    }
    spec.solids_grip = true;
  } else {
    spec.left.kind = spec.right.kind = Liquid::Side::Kind::no_slip;
  }
  spec.fill = {block(Vec3(static_cast<Real>(low), 0, 0), Vec3(static_cast<Real>(high), 2, 1))};
  Water water(spec);
  LiquidSource tap;
  tap.shape = GridSolid::Kind::box;
  tap.half_extents = Vec3(2, Real(0.1), 1);
  tap.position = Vec3(Real(0.5), Real(1.9), 0);
  tap.velocity = Vec3(0, -1, 0);
  water.params.sources = {tap};
  water.params.gravity = Vec3(0, static_cast<Real>(-12 / (width * width)), 0);
  water.params.viscosity = 1;
  for (int k = 0; k < 50; ++k) water.step(0.02);
  // In ranges of the width, as parts of the mean, which the source sets.
  constexpr int ranges = 10;
  std::array<double, ranges> sum{}, exact{};
  double total = 0;
  int count = 0;
  for (std::size_t p = 0; p < water.state.x.size(); ++p) {
    const auto y = static_cast<double>(water.state.x[p].y());
    if (y < 0.5 || y > 1) continue;
    const double s = (static_cast<double>(water.state.x[p].x()) - low) / width;
    const auto r = static_cast<std::size_t>(std::clamp(s * ranges, 0.0, ranges - 1.0));
    sum[r] -= static_cast<double>(water.state.v[p].y());
    exact[r] += 6 * s * (1 - s);
    ++count;
  }
  EXPECT_GT(count, 100);
  for (std::size_t r = 0; r < ranges; ++r) total += sum[r];
  double all = 0;
  for (std::size_t r = 0; r < ranges; ++r) all += exact[r];
  double squares = 0;
  for (std::size_t r = 0; r < ranges; ++r) squares += std::pow(sum[r] / total - exact[r] / all, 2);
  return std::sqrt(squares * ranges);
}

TEST(Liquid, AViscousStreamBetweenPlatesHasPoiseuillesProfile) {
  // What is linear within h of a parabola is off it by h^2 u'' / 8 at most, u'' = 12.
  for (const bool solids : {false, true})
    EXPECT_LT(error_of_falling_stream(12, solids), 12.0 / (12 * 12) / 8) << solids;
}

TEST(Liquid, SaysThatTransformsDoNotFit) {
  Water water(dam(16, 12, 1));
  water.params.pressure_solver = PressureMethod::cosine;
  const Report report = water.step(1.0 / 60);
  ASSERT_GT(report.warnings().size(), 0u);
  EXPECT_NE(std::string(report.warnings()[0].text).find("automatic"), std::string::npos);
}

TEST(Liquid, RefusesWhatCannotBe) {
  Liquid::Spec spec = dam(16, 16, 1);
  spec.fill.push_back(block(Vec3(2, 2, 0), Vec3(3, 3, 1)));
  Liquid::Model model;
  Liquid::State state;
  try {
    Liquid::build(spec, model, state);
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.problem().key, "fill[1]");
    EXPECT_FALSE(error.problem().remedy.empty());
  }
}

TEST(Liquid, CostsNothingWhereThereIsNone) {
  // The same water in a box a hundred times as large: the pressure's operator is no larger.
  Liquid::Spec small = dam(32, 24, 1), large = small;
  small.solids.clear(), large.solids.clear();
  large.cells_x = 320, large.cells_y = 240;
  Water a(small), b(large);
  a.step(1.0 / 120), b.step(1.0 / 120);
  EXPECT_EQ(a.workspace.pressure.poisson().layout.cells, b.workspace.pressure.poisson().layout.cells);
}

}}  // namespace plenum
