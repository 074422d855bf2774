// Sides of the box: walls that move, and inlets in them.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "../../validation/liquid_scenes.h"
#include "plenum/base/error.h"
#include "plenum/solvers/liquid/detail/stages.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

using validation::Water;
using Kind = Liquid::Side::Kind;

constexpr double pi = std::numbers::pi;

LiquidFill whole_box(const Liquid::Spec& spec) {
  LiquidFill fill;
  fill.shape = GridSolid::Kind::box;
  const Vec3 size = spec.spacing * Vec3(static_cast<Real>(spec.cells_x), static_cast<Real>(spec.cells_y),
                                        static_cast<Real>(spec.cells_z));
  fill.half_extents = size / 2;
  fill.position = spec.low + size / 2;
  return fill;
}

/// A layer a metre thick between walls that hold it, of n cells, the upper one of which moves along an axis
/// with `speed`. Its ends are open; as it hardly moves, they stay full, and it flows as an endless one does:
/// p = 0 and no change along it are what such ends ask for.
Liquid::Spec layer(int n, int axis, bool flat, Real speed) {
  Liquid::Spec spec;
  const int along = 2 * n;
  spec.cells_x = axis == 0 ? along : 4, spec.cells_y = n;
  spec.cells_z = flat ? 1 : axis == 2 ? along : 4;
  spec.spacing = static_cast<Real>(1.0 / n);
  spec.jitter = 0;
  for (Liquid::Side* side : {&spec.left, &spec.right, &spec.back, &spec.front}) side->kind = Kind::outflow;
  spec.bottom.kind = spec.top.kind = Kind::no_slip;
  spec.top.velocity[axis] = speed;
  spec.fill = {whole_box(spec)};
  return spec;
}

constexpr Real slow = Real(1e-4);  // [m/s], less than a thousandth of a cell in all of a run

/// Plane Couette flow that a wall begins (Batchelor 1967, "An introduction to fluid dynamics", section 4.3):
/// the part that decays of u / U = y + sum 2 (-1)^n / (n pi) exp(-n^2 pi^2 nu t) sin(n pi y), the walls a
/// metre apart. What backward Euler with steps dt and differences over h do to each wave bounds the error to
/// first order: lambda - lambda^2 dt / 2 and lambda (1 - n^2 pi^2 h^2 / 12) for lambda = n^2 pi^2 nu.
struct Couette {
  double viscosity, t, dt, h;
  double at(double y) const {
    double u = y;
    for (int n = 1; n < 60; ++n)
      u += 2 * (n % 2 ? -1 : 1) / (n * pi) * std::exp(-std::pow(n * pi, 2) * viscosity * t) *
           std::sin(n * pi * y);
    return u;
  }
  double error_bound() const {
    double sum = 0, curvature = 0;
    for (int n = 1; n < 60; ++n) {
      const double lambda = std::pow(n * pi, 2) * viscosity, part = 2 / (n * pi) * std::exp(-lambda * t);
      sum += part * lambda * t * (lambda * dt / 2 + std::pow(n * pi * h, 2) / 12);
      curvature += part * std::pow(n * pi, 2);
    }
    return sum + curvature * h * h / 8;  // linear between faces
  }
};

TEST(LiquidSides, AWallThatMovesBeginsCouettesFlow) {
  struct Case {
    int axis;
    bool flat;
  };
  for (const Case& c : {Case{0, true}, Case{2, false}}) {
    const int n = c.flat ? 20 : 12;
    Water water(layer(n, c.axis, c.flat, slow));
    water.params.gravity.setZero();
    water.params.viscosity = 1;
    water.params.pressure_tolerance = Real(1e-6);
    const double dt = 0.0025;
    double t = 0;
    for (const double until : {0.05, 0.15, 1.0}) {
      while (t < until - dt / 2) water.step(dt), t += dt;
      const Couette exact{1, t, dt, 1.0 / n};
      double most = 0;
      for (std::size_t p = 0; p < water.state.x.size(); ++p) {
        const double u = static_cast<double>(water.state.v[p][c.axis] / slow),
                     y = static_cast<double>(water.state.x[p].y());
        most = std::max(most, std::abs(u - exact.at(y)));
      }
      // A profile that is linear no difference or interpolation changes: what is left is the solver's,
      // 1e-6 of the speed a step over 1 - e^(-pi^2 dt) that viscosity takes of its smoothest error.
      EXPECT_LT(most, exact.error_bound() + 1e-4) << c.axis << c.flat << until;
    }
  }
}

/// A full square whose lid moves at 1 m/s.
Liquid::Spec cavity(int n) {
  Liquid::Spec spec;
  spec.cells_x = spec.cells_y = n, spec.cells_z = 1, spec.spacing = static_cast<Real>(1.0 / n);
  for (Liquid::Side* side : {&spec.left, &spec.right, &spec.bottom, &spec.top}) side->kind = Kind::no_slip;
  spec.top.velocity = Vec3(1, 0, 0);
  spec.fill = {whole_box(spec)};
  return spec;
}

TEST(LiquidSides, ALidDragsAFullBoxRound) {
  const int n = 32;
  Water water(cavity(n));
  water.params.gravity.setZero();
  water.params.viscosity = Real(0.01);
  // The flow never has the energy of all of it going as the lid does, which viscosity takes again.
  const double most = 0.5 * 1000 * 1 * 1;
  double energy = 0;
  for (int k = 0; k < 20 * n; ++k) {
    water.step(1.0 / n);
    energy = Liquid::kinetic_energy(water.model, water.state, water.params.density);
    ASSERT_LT(energy, most);
  }
  // In a box that is full and closed the centre of mass stands still, but for a layer of cells at the lid.
  Vec3 mean = Vec3::Zero();
  for (const Vec3& v : water.state.v) mean += v / static_cast<Real>(water.state.v.size());
  EXPECT_LT(mean.norm(), 1.0 / n);
  // u on the upright centre line at Re 100: Ghia, Ghia & Shin 1982, table I.
  constexpr std::array<std::array<double, 2>, 9> published = {{{0.0547, -0.03717},
                                                               {0.1016, -0.06434},
                                                               {0.1719, -0.10150},
                                                               {0.2813, -0.15662},
                                                               {0.4531, -0.21090},
                                                               {0.5, -0.20581},
                                                               {0.6172, -0.13641},
                                                               {0.7344, 0.00332},
                                                               {0.8516, 0.23151}}};
  for (const auto& [y, u] : published) {
    double sum = 0, weight = 0;
    for (std::size_t p = 0; p < water.state.x.size(); ++p) {
      const Vec3 way = (water.state.x[p] - Vec3(Real(0.5), static_cast<Real>(y), 0)) * n;
      const double w = std::max(0.0, 1 - std::abs(static_cast<double>(way.x()) / 2)) *
                       std::max(0.0, 1 - std::abs(static_cast<double>(way.y())));
      sum += w * static_cast<double>(water.state.v[p].x()), weight += w;
    }
    EXPECT_NEAR(sum / weight, u, 0.02) << y;
  }
}

TEST(LiquidSides, WallsThatMoveGiveTheSameBitsForEveryNumberOfThreads) {
  for (const bool flat : {true, false}) {
    std::string first;
    for (const int threads : {1, 3, 8}) {
      World world({.fps = 60});
      world.set_threads(threads);
      Water water(layer(16, 0, flat, 1));
      water.params.viscosity = Real(0.01);
      world.add<Liquid>("water", std::move(water.model), std::move(water.state), water.params);
      for (int k = 0; k < 10; ++k) ASSERT_TRUE(world.step_frame().ok);
      if (first.empty()) first = world.hash().hex();
      EXPECT_EQ(world.hash().hex(), first) << flat << " " << threads;
    }
  }
}

TEST(LiquidSides, LayersBetweenWallsThatMoveWithThemGoOn) {
  // What moves as its walls do is not changed by them: momentum and energy stay to rounding.
  Liquid::Spec spec = layer(12, 0, true, slow);
  spec.bottom.velocity = spec.top.velocity;
  spec.fill[0].velocity = spec.top.velocity;
  Water water(spec);
  water.params.gravity.setZero();
  water.params.viscosity = 1;
  for (int k = 0; k < 100; ++k) water.step(0.01);
  for (const Vec3& v : water.state.v) ASSERT_LT((v - spec.top.velocity).norm(), 1e-4 * slow);
}

/// Why a box is refused.
Problem problem_of(const Liquid::Spec& spec) {
  try {
    Water water(spec);
  } catch (const Error& error) {
    return error.problem();
  }
  ADD_FAILURE() << "not refused";
  return {};
}

TEST(LiquidSides, RefusesWallsThatCannotBe) {
  Liquid::Spec spec = cavity(8);
  spec.top.velocity = Vec3(1, Real(0.1), 0);
  EXPECT_EQ(problem_of(spec).key, "top.velocity");
  EXPECT_NE(problem_of(spec).what.find("out of its plane"), std::string::npos);
  spec = cavity(8);
  spec.left.kind = Kind::free_slip, spec.left.velocity = Vec3(0, 1, 0);
  EXPECT_EQ(problem_of(spec).key, "left.velocity");
  EXPECT_NE(problem_of(spec).remedy.find("no_slip"), std::string::npos);
}

LiquidInlet window(const Vec3& low, const Vec3& high, const Vec3& velocity) {
  LiquidInlet inlet;
  inlet.shape = GridSolid::Kind::box;
  inlet.half_extents = (high - low) / 2;
  inlet.position = (high + low) / 2;
  inlet.velocity = velocity;
  return inlet;
}
/// A box a metre long.
Liquid::Spec basin(int n, bool flat) {
  Liquid::Spec spec;
  spec.cells_x = spec.cells_y = n, spec.cells_z = flat ? 1 : n / 2;
  spec.spacing = static_cast<Real>(1.0 / n);
  return spec;
}
/// [m^2 or m^3] of the particles.
double content(const Water& water) {
  return static_cast<double>(water.state.x.size()) / water.model.per_cell() *
         std::pow(static_cast<double>(water.model.h), water.model.shape.is_flat() ? 2 : 3);
}
std::size_t count_beyond(const Water& water) {
  std::array<Index, 3> cell;
  std::size_t count = 0;
  for (const Vec3& x : water.state.x) count += !detail::find_cell(water.model, x, cell);
  return count;
}

TEST(LiquidInlets, TheVolumeGrowsByFluxAndTime) {
  struct Case {
    bool flat, fits, pool;  // whether the window ends where cells do, and whether it is under water
  };
  for (const Case& c : {Case{true, true, false}, Case{true, false, true}, Case{false, false, true}}) {
    const int n = c.flat ? 40 : 20;
    Liquid::Spec spec = basin(n, c.flat);
    const Real low = c.fits ? Real(0.1) : Real(0.063), high = c.fits ? Real(0.3) : Real(0.227),
               h = spec.spacing, back = Real(0.11), front = c.flat ? 1 : Real(0.39);
    spec.inlets = {
        window(Vec3(Real(-0.1), low, c.flat ? -1 : back), Vec3(h / 4, high, front), Vec3(1, 0, 0))};
    if (c.pool) {
      spec.fill = {whole_box(spec)};
      spec.fill[0].position.y() = Real(-0.25);
    }
    Water water(spec);
    const double before = content(water), seconds = c.flat ? 2 : 4,
                 flux = (static_cast<double>(high) - static_cast<double>(low)) * (c.flat ? 1 : 0.28);
    for (int k = 0; k < 200; ++k) water.step(seconds / 200);
    const double grown = content(water) - before;
    EXPECT_NEAR(grown / (flux * seconds), 1, 0.01) << c.flat << c.fits << c.pool;
    // What is seen of it is as much, but for spray.
    if (c.pool) {
      EXPECT_NEAR(Liquid::volume(water.model, water.state) / content(water), 1, 0.01) << c.flat;
    }
    EXPECT_EQ(count_beyond(water), 0u);
  }
}

TEST(LiquidInlets, ABodyOverAWindowClosesItsPartOfIt) {
  // A block that is held beside the wall, over a half of the window and over all of it, in air and under
  // water.
  const int n = 24;
  const double h = 1.0 / n;
  for (const auto tracker : {Liquid::Tracker::particles, Liquid::Tracker::particle_level_set})
    for (const bool pool : {false, true})
      for (const double covered : {0.5, 1.0}) {
        Liquid::Spec spec = basin(n, true);
        spec.tracker = tracker;
        spec.inlets = {window(Vec3(-1, static_cast<Real>(4 * h), -1),
                              Vec3(static_cast<Real>(h / 4), static_cast<Real>(8 * h), 1), Vec3(1, 0, 0))};
        if (pool) {
          spec.fill = {whole_box(spec)};
          spec.fill[0].position.y() = 0;
        }
        Water water(spec);
        // From the middle of the window or its lower end upwards, three cells thick.
        const double bottom = (8 - 4 * covered) * h, top = 10 * h;
        const Shape block =
            BoxShape{Vec3(static_cast<Real>(3 * h), static_cast<Real>((top - bottom) / 2), 1)};
        SolidBody body;
        body.shape = &block;
        body.pose0.position = body.pose.position = body.centre =
            Vec3(0, static_cast<Real>((bottom + top) / 2), spec.spacing / 2);
        body.inverse_mass = 0, body.inverse_inertia.setZero();
        const auto held = [&] {
          return tracker == Liquid::Tracker::particles
                     ? content(water)
                     : Liquid::volume(water.model, water.state, &water.workspace);
        };
        double before = 0;
        for (int k = 0; k < 61; ++k) {
          Liquid::meet(water.workspace, {&body, 1});
          water.step(1.0 / 60);
          if (k == 0) before = held();
        }
        // Particles come one by one, and a level set keeps a layer of cells at the window full from the
        // start.
        const double flux = 4 * h * (1 - covered);
        EXPECT_NEAR(held() - before, flux, 0.02 * flux + (covered < 1 ? 2 * h * h : 1e-3 * h * h))
            << names_of(tracker)[static_cast<std::size_t>(tracker)] << pool << covered;
      }
}

TEST(LiquidInlets, ARoundWindowHasTheAreaOfACircle) {
  Liquid::Spec spec = basin(24, false);
  LiquidInlet pipe;
  pipe.shape = GridSolid::Kind::cylinder;
  pipe.radius = Real(0.21), pipe.half_height = Real(0.1);
  pipe.position = Vec3(Real(0.5), 1, Real(0.25));
  pipe.velocity = Vec3(0, -1, 0);
  spec.inlets = {pipe};
  Water water(spec);
  double area = 0;
  for (const Liquid::InletFace& face : water.model.inlet_faces)
    area += static_cast<double>(face.part * spec.spacing * spec.spacing);
  // Half of a line of 64 to a cell at each of two ends of the circle, if it has none.
  EXPECT_NEAR(area / (pi * 0.21 * 0.21), 1, 1.0 / 24 / 64 / 0.21);
}

TEST(LiquidInlets, AWholeSideLetsInAStreamThatGoesOn) {
  // Through a channel that is full, and up under a pool: the velocity is the inlet's everywhere.
  for (const bool flat : {true, false}) {
    const int n = 16;
    Liquid::Spec spec = basin(n, flat);
    spec.right.kind = Kind::outflow;
    spec.fill = {whole_box(spec)};
    spec.fill[0].velocity = Vec3(Real(0.5), 0, 0);
    spec.inlets = {window(Vec3(-1, -1, -1), Vec3(Real(0.01), 2, 2), Vec3(Real(0.5), 0, 0))};
    Water water(spec);
    water.params.gravity.setZero();
    water.params.pressure_tolerance = Real(1e-6);
    for (int k = 0; k < 200; ++k) water.step(0.02);
    double most = 0;
    int in = 0;
    for (std::size_t p = 0; p < water.state.x.size(); ++p)
      if (water.state.x[p].x() < 1)
        most = std::max(most, static_cast<double>((water.state.v[p] - spec.inlets[0].velocity).norm())), ++in;
    EXPECT_LT(most, 1e-3);
    EXPECT_NEAR(in, n * n * (flat ? 4 : n / 2 * 8), 0.01 * n * n * (flat ? 4 : n / 2 * 8));
  }
  Liquid::Spec spec = basin(24, true);
  spec.fill = {whole_box(spec)};
  spec.fill[0].position.y() = Real(-0.2);
  spec.inlets = {window(Vec3(-1, -1, -1), Vec3(2, Real(0.01), 2), Vec3(0, Real(0.25), 0))};
  spec.fill[0].velocity = spec.inlets[0].velocity;
  Water water(spec);
  for (int k = 0; k < 100; ++k) water.step(0.01);
  double mean = 0, most = 0;
  for (std::size_t p = 0; p < water.state.x.size(); ++p) {
    mean += static_cast<double>(water.state.x[p].y()) / static_cast<double>(water.state.x.size());
    most = std::max(most, static_cast<double>((water.state.v[p] - spec.inlets[0].velocity).norm()));
  }
  EXPECT_NEAR(mean, (0.3 + 0.25) / 2, 0.5 / 24);
  EXPECT_LT(most, std::sqrt(2 * 9.81 / 24));
}

TEST(LiquidInlets, AreOpenFromStartToStop) {
  Liquid::Spec spec = basin(20, true);
  spec.inlets = {window(Vec3(-1, Real(0.2), -1), Vec3(Real(0.01), Real(0.4), 1), Vec3(2, 0, 0))};
  spec.inlets[0].start = Real(0.105), spec.inlets[0].stop = Real(0.255);
  Water water(spec);
  for (int k = 0; k < 10; ++k) water.step(0.01);
  EXPECT_TRUE(water.state.x.empty());
  for (int k = 0; k < 30; ++k) water.step(0.01);
  // Each of the eight places of the window lets in whole particles.
  EXPECT_NEAR(static_cast<double>(water.state.x.size()), 2 * 0.2 * 0.15 * 400 * 4, 8);
}

TEST(LiquidInlets, GiveTheSameBitsForEveryNumberOfThreads) {
  for (const bool flat : {true, false}) {
    std::string first;
    for (const int threads : {1, 3, 8}) {
      World world({.fps = 60});
      world.set_threads(threads);
      Liquid::Spec spec = basin(20, flat);
      spec.inlets = {window(Vec3(-1, Real(0.2), Real(0.1)), Vec3(Real(0.01), Real(0.43), Real(0.3)),
                            Vec3(2, Real(0.5), 0))};
      if (flat) spec.inlets[0].position.z() = 0;
      Water water(spec);
      water.params.viscosity = Real(0.001);
      world.add<Liquid>("water", std::move(water.model), std::move(water.state), water.params);
      for (int k = 0; k < 20; ++k) ASSERT_TRUE(world.step_frame().ok);
      if (first.empty()) first = world.hash().hex();
      EXPECT_EQ(world.hash().hex(), first) << flat << " " << threads;
    }
  }
}

TEST(LiquidInlets, HoldWhatFlowsAlongThem) {
  // One that lets in next to nothing drags a viscous layer as a wall would that moves so; its side has slip.
  Liquid::Spec spec = layer(12, 0, true, 0);
  spec.top.kind = Kind::free_slip;
  spec.inlets = {window(Vec3(-1, Real(0.99), -1), Vec3(3, 2, 1), Vec3(slow, slow * Real(-1e-6), 0))};
  Water water(spec);
  water.params.gravity.setZero();
  water.params.viscosity = 1;
  for (int k = 0; k < 100; ++k) water.step(0.01);
  // 2 / pi e^(-pi^2 t) of the speed is left of the start (Couette), of Euler's method a little more.
  const double left = 2 / pi * std::pow(1 + pi * pi * 0.01, -100);
  for (std::size_t p = 0; p < water.state.x.size(); ++p)
    ASSERT_NEAR(static_cast<double>(water.state.v[p].x() / slow), static_cast<double>(water.state.x[p].y()),
                left + 1e-4);
}

TEST(LiquidInlets, GoOnFromTheStateAlone) {
  Liquid::Spec spec = basin(20, true);
  spec.inlets = {window(Vec3(-1, Real(0.2), -1), Vec3(Real(0.01), Real(0.43), 1), Vec3(2, 1, 0))};
  Water a(spec), b(spec);
  for (int k = 0; k < 30; ++k) {
    a.step(1.0 / 60);
    b.workspace = {};
    b.step(1.0 / 60);
  }
  EXPECT_GT(a.state.x.size(), 300u);
  EXPECT_EQ(a.state.x, b.state.x);
  EXPECT_EQ(a.state.v, b.state.v);
}

TEST(LiquidInlets, WarnWhereABoxIsFull) {
  Liquid::Spec spec = basin(12, true);
  spec.fill = {whole_box(spec)};
  spec.inlets = {window(Vec3(-1, Real(0.2), -1), Vec3(Real(0.01), Real(0.4), 1), Vec3(1, 0, 0))};
  Water water(spec);
  const Report report = water.step(0.01);
  ASSERT_EQ(report.warnings().size(), 1u);
  EXPECT_NE(std::string(report.warnings()[0].text).find("outflow"), std::string::npos);
  // Not if what comes in can go out.
  spec.right.kind = Kind::outflow;
  Water open(spec);
  EXPECT_EQ(open.step(0.01).warnings().size(), 0u);
}

TEST(LiquidInlets, RefusesThoseThatLetNothingIn) {
  Liquid::Spec spec = basin(12, true);
  const LiquidInlet good = window(Vec3(-1, Real(0.2), -1), Vec3(Real(0.01), Real(0.4), 1), Vec3(1, 0, 0));
  spec.inlets = {good, good};
  spec.inlets[1].position.x() = Real(0.5), spec.inlets[1].half_extents.x() = Real(0.1);
  EXPECT_EQ(problem_of(spec).key, "inlets[1]");
  spec.inlets[1] = good;
  EXPECT_EQ(problem_of(spec).key, "inlets[1]");  // covered already
  spec.inlets = {good};
  spec.inlets[0].velocity = Vec3(0, 1, 0);
  EXPECT_EQ(problem_of(spec).key, "inlets[0].velocity");
  EXPECT_NE(problem_of(spec).remedy.find("inwards"), std::string::npos);
  spec.inlets = {good};
  spec.left.kind = Kind::outflow;
  EXPECT_EQ(problem_of(spec).key, "inlets[0]");
}

}}  // namespace plenum
