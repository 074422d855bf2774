// The staggered grid: its sides, its cut faces, and the stages of a step by themselves.
#include "plenum/state/grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "plenum/geometry/shape.h"
#include "plenum/integrate/grid_advection.h"
#include "plenum/integrate/grid_diffusion.h"
#include "plenum/integrate/grid_projection.h"

namespace plenum { namespace {

constexpr bool is_float = sizeof(Real) == 4;
constexpr double rounding = is_float ? 1e-6 : 1e-14;

GridBox box_of(GridSide side) {
  GridBox box;
  box.sides.fill(side);
  return box;
}

void fill_at_random(std::vector<Real>& a, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (Real& x : a) x = static_cast<Real>(uniform(random));
}

template <class F>
void for_items(const GridShape& shape, int component, F&& f) {
  std::array<Index, 3> n = shape.cells;
  if (component >= 0) ++n[static_cast<std::size_t>(component)];
  for (Index k = 0; k < n[2]; ++k)
    for (Index j = 0; j < n[1]; ++j)
      for (Index i = 0; i < n[0]; ++i) f(i, j, k, shape.index(i, j, k));
}

TEST(Grid, GhostsOfEachSide) {
  const GridShape shape{{5, 4, 3}};
  std::vector<Real> u(shape.size());
  // A tangential component (v along y at sides of x): half-way to the ghost is the wall.
  for (const GridSide side :
       {GridSide::no_slip, GridSide::free_slip, GridSide::inflow, GridSide::outflow, GridSide::periodic}) {
    GridBox box = box_of(side);
    box.velocity[0] = Vec3(Real(0.25), Real(0.5), 0);
    box.velocity[1] = Vec3(Real(-0.25), Real(-1.5), 0);
    fill_at_random(u, 1);
    fill_component_ghosts(shape, box, 1, u);
    const auto v = [&](Index i) { return static_cast<double>(u[shape.index(i, 2, 1)]); };
    switch (side) {
      case GridSide::no_slip:
      case GridSide::inflow:
        EXPECT_NEAR((v(-1) + v(0)) / 2, 0.5, rounding);
        EXPECT_NEAR((v(5) + v(4)) / 2, -1.5, rounding);
        EXPECT_NEAR((v(6) + v(3)) / 2, -1.5, rounding);
        break;
      case GridSide::free_slip:
      case GridSide::outflow:
        EXPECT_EQ(v(-1), v(0));
        EXPECT_EQ(v(5), v(4));
        break;
      case GridSide::periodic:
        EXPECT_EQ(v(-1), v(4));
        EXPECT_EQ(v(5), v(0));
        EXPECT_EQ(v(6), v(1));
    }
    // The normal component stands on the side itself.
    fill_at_random(u, 2);
    const auto n = [&](Index i) { return static_cast<double>(u[shape.index(i, 2, 1)]); };
    const double low = n(0), high = n(5);
    fill_component_ghosts(shape, box, 0, u);
    if (side == GridSide::periodic) {
      EXPECT_EQ(n(5), n(0));
      EXPECT_EQ(n(-1), n(4));
    } else if (side == GridSide::outflow) {
      EXPECT_EQ(n(0), low);
      EXPECT_EQ(n(5), high);
    } else {
      EXPECT_EQ(n(0), 0.25);
      EXPECT_EQ(n(5), -0.25);
    }
    // Cells: what comes in has the given value at the side, and walls let nothing pass.
    fill_at_random(u, 3);
    fill_cell_ghosts(shape, box, Real(0.75), u);
    const auto q = [&](Index j) { return static_cast<double>(u[shape.index(2, j, 1)]); };
    if (side == GridSide::inflow)
      EXPECT_NEAR((q(-1) + q(0)) / 2, 0.75, rounding);
    else
      EXPECT_EQ(q(-1), side == GridSide::periodic ? q(3) : q(0));
  }
}

TEST(Grid, AreasOfCutSquaresAreExactForPlanes) {
  EXPECT_EQ(positive_area(1, 1, 1, 1), 1);
  EXPECT_EQ(positive_area(-1, -1, -1, -1), 0);
  EXPECT_NEAR(static_cast<double>(positive_area(-1, 3, 3, -1)), 0.75, rounding);
  EXPECT_NEAR(static_cast<double>(positive_length(-1, 3)), 0.75, rounding);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int trial = 0; trial < 200; ++trial) {
    // The square [0, 1]^2 cut by a x + b y + c > 0, counted on a fine grid.
    const double a = uniform(random), b = uniform(random), c = uniform(random) / 2;
    const auto value = [&](double x, double y) { return static_cast<Real>(a * x + b * y + c); };
    constexpr int fine = 400;
    int inside = 0;
    for (int i = 0; i < fine; ++i)
      for (int j = 0; j < fine; ++j) inside += a * (i + 0.5) / fine + b * (j + 0.5) / fine + c > 0;
    const double area =
        static_cast<double>(positive_area(value(0, 0), value(1, 0), value(1, 1), value(0, 1)));
    EXPECT_NEAR(area, static_cast<double>(inside) / (fine * fine), 3.0 / fine);
    // What is open on one side is closed on the other.
    const double other =
        static_cast<double>(positive_area(-value(0, 0), -value(1, 0), -value(1, 1), -value(0, 1)));
    EXPECT_NEAR(area + other, 1, 2 * rounding);
  }
}

TEST(Grid, ASphereClosesItsSectionOfEveryPlane) {
  // The closed area of the faces of one plane is that of the disc which the sphere cuts out of it, to second
  // order in h: the polygon inside a circle of radius r lacks h^2 / (12 r) an arc's length.
  for (const Index n : {20, 40}) {
    const GridShape shape{{n, n, n}};
    const double h = 1.0 / n, radius = 0.31;
    FaceField open;
    open.assign(shape, 1);
    close_faces(shape, Vec3::Zero(), static_cast<Real>(h), SphereShape{static_cast<Real>(radius)},
                {.position = Vec3(Real(0.52), Real(0.47), Real(0.5))}, open);
    const std::array<double, 3> centre = {0.52, 0.47, 0.5};
    for (int c = 0; c < 3; ++c)
      for (Index plane = 0; plane <= n; ++plane) {
        double closed = 0;
        for_items(shape, c, [&](Index i, Index j, Index k, std::size_t item) {
          if ((c == 0 ? i : c == 1 ? j : k) == plane) closed += 1 - static_cast<double>(open[c][item]);
        });
        const double d = plane * h - centre[static_cast<std::size_t>(c)];
        const double expected = std::numbers::pi * std::max(0.0, radius * radius - d * d);
        // Slivers close as well: a hundredth of the faces around the disc at most.
        EXPECT_NEAR(closed * h * h, expected, 0.7 * h * h + 0.01 * 8 * radius * h) << c << " " << plane;
      }
  }
}

TEST(Grid, ExtrapolatesLayerByLayer) {
  const GridShape shape{{6, 4, 1}};
  std::vector<std::uint8_t> known(shape.size(), 0);
  std::vector<Real> q(shape.size(), -7);
  for (Index j = 0; j < 4; ++j)
    for (Index i = 0; i < 2; ++i)
      known[shape.index(i, j, 0)] = 1, q[shape.index(i, j, 0)] = static_cast<Real>(j);
  const Extrapolation where = find_extrapolation(shape, known, {6, 4, 1}, 3);
  extrapolate(shape, where, q);
  for (Index j = 0; j < 4; ++j) {
    EXPECT_EQ(q[shape.index(2, j, 0)], j);
    EXPECT_EQ(q[shape.index(4, j, 0)], j);
    EXPECT_EQ(q[shape.index(5, j, 0)], -7);
  }
}

TEST(GridAdvection, MovesByWholeCellsExactlyAndAddsNothing) {
  const GridShape shape{{12, 10, 8}};
  const GridBox box = box_of(GridSide::periodic);
  FaceField velocity;
  velocity.assign(shape, 0);
  std::fill(velocity.along[0].begin(), velocity.along[0].end(), Real(2));
  std::fill(velocity.along[1].begin(), velocity.along[1].end(), Real(-1));
  std::fill(velocity.along[2].begin(), velocity.along[2].end(), Real(3));
  AdvectionWorkspace work;
  for (const int component : {-1, 0, 1, 2})
    for (const AdvectionScheme scheme :
         {AdvectionScheme::semi_lagrangian, AdvectionScheme::cubic, AdvectionScheme::maccormack})
      for (const Trace trace : {Trace::euler, Trace::rk2, Trace::rk3}) {
        std::vector<Real> q(shape.size()), out(shape.size());
        fill_at_random(q, 7);
        const auto fill = [&](std::span<Real> a) {
          if (component < 0)
            fill_cell_ghosts(shape, box, 0, a);
          else
            fill_component_ghosts(shape, box, component, a);
        };
        fill(q);
        advect(shape, box, velocity, 1, scheme, trace, {component, q, out}, work, fill);
        for_items(shape, -1, [&](Index i, Index j, Index k, std::size_t item) {
          const std::size_t from = shape.index((i + 10) % 12, (j + 1) % 10, (k + 5) % 8);
          ASSERT_NEAR(static_cast<double>(out[item]), static_cast<double>(q[from]), 10 * rounding)
              << component << " " << i << " " << j << " " << k;
        });
      }
}

TEST(GridAdvection, InterpolatesWhereTheFlowCameFromHoweverFarNeighboursPart) {
  // Rows of more cells than vectors have lanes, of which neighbours come from beside each other, from a few
  // rows or from all over the box; the reference interpolates one by one, in double precision.
  for (const GridShape& shape : {GridShape{{70, 9, 8}}, GridShape{{70, 20, 1}}})
    for (const double cells : {0.0, 0.3, 2.0, 40.0}) {
      const GridBox box = box_of(GridSide::free_slip);
      FaceField velocity;
      velocity.assign(shape, 0);
      for (int c = 0; c < shape.dimensions(); ++c)
        fill_at_random(velocity.along[static_cast<std::size_t>(c)], static_cast<unsigned>(c));
      fill_velocity_ghosts(shape, box, velocity);
      std::vector<Real> q(shape.size()), out(shape.size());
      fill_at_random(q, 5);
      const auto fill = [&](std::span<Real> a) { fill_cell_ghosts(shape, box, 0, a); };
      fill(q);
      AdvectionWorkspace work;
      advect(shape, box, velocity, static_cast<Real>(cells), AdvectionScheme::semi_lagrangian, Trace::euler,
             {-1, q, out}, work, fill);
      for_items(shape, -1, [&](Index i, Index j, Index k, std::size_t item) {
        const Index at[3] = {i, j, k};
        Index low[3] = {};
        double part[3] = {};
        for (int c = 0; c < shape.dimensions(); ++c) {
          const std::span<const Real> u = velocity[c];
          const double mean = (static_cast<double>(u[item]) +
                               static_cast<double>(u[item + static_cast<std::size_t>(shape.stride(c))])) /
                              2;
          const double x = std::clamp(at[c] + 0.5 - cells * mean, 0.0,
                                      static_cast<double>(shape.cells[static_cast<std::size_t>(c)])) -
                           0.5;
          low[c] = static_cast<Index>(std::floor(x));
          part[c] = x - std::floor(x);
        }
        double expected = 0;
        for (int corner = 0; corner < 1 << shape.dimensions(); ++corner) {
          double weight = 1;
          Index to[3] = {};
          for (int c = 0; c < shape.dimensions(); ++c) {
            const int up = corner >> c & 1;
            weight *= up ? part[c] : 1 - part[c];
            to[c] = low[c] + up;
          }
          expected += weight * static_cast<double>(q[shape.index(to[0], to[1], to[2])]);
        }
        // Places are rounded to an ulp or two of 40 times a speed and of a box of 70 cells; slopes are 2 at
        // most along each axis.
        ASSERT_NEAR(static_cast<double>(out[item]), expected, 6 * 4 * 70 * rounding / 8)
            << cells << " " << i << " " << j << " " << k;
      });
    }
}

TEST(GridAdvection, NeverLeavesTheRangeOfWhatIsThere) {
  const GridShape shape{{20, 16, 1}};
  for (const GridSide side : {GridSide::free_slip, GridSide::no_slip, GridSide::periodic}) {
    const GridBox box = box_of(side);
    FaceField velocity;
    velocity.assign(shape, 0);
    fill_at_random(velocity.along[0], 3), fill_at_random(velocity.along[1], 4);
    fill_velocity_ghosts(shape, box, velocity);
    AdvectionWorkspace work;
    for (const Real step : {Real(0.5), Real(5), Real(50), Real(1e6), Real(1e12), Real(1e30)})
      for (const AdvectionScheme scheme :
           {AdvectionScheme::semi_lagrangian, AdvectionScheme::cubic, AdvectionScheme::maccormack}) {
        std::vector<Real> q(shape.size()), out(shape.size());
        fill_at_random(q, 9);
        const auto fill = [&](std::span<Real> a) { fill_cell_ghosts(shape, box, 0, a); };
        fill(q);
        advect(shape, box, velocity, step, scheme, Trace::rk3, {-1, q, out}, work, fill);
        for_items(shape, -1, [&](Index, Index, Index, std::size_t item) {
          ASSERT_LE(std::abs(static_cast<double>(out[item])), 1 + rounding);
        });
      }
  }
}

TEST(GridAdvection, WallsThatHoldTheFlowDoNotSpeedItUp) {
  // What flows along a wall and is everywhere as fast at every height, carried along it and towards it: the
  // rows beside it are as good as linear interpolation alone has them. MacCormack's correction takes what is
  // between the wall and the first row for an error, and would raise that row to its largest value.
  const GridShape shape{{24, 16, 1}};
  GridBox box = box_of(GridSide::periodic);
  for (const bool high : {false, true}) {
    box.sides[2] = high ? GridSide::free_slip : GridSide::no_slip;
    box.sides[3] = high ? GridSide::no_slip : GridSide::free_slip;
    FaceField velocity;
    velocity.assign(shape, 0);
    for_items(shape, 0, [&](Index, Index, Index, std::size_t item) { velocity.along[0][item] = 1; });
    for_items(shape, 1, [&](Index, Index j, Index, std::size_t item) {
      const Real from = static_cast<Real>(high ? shape.cells[1] - j : j) / static_cast<Real>(shape.cells[1]);
      velocity.along[1][item] = high ? from : -from;
    });
    fill_velocity_ghosts(shape, box, velocity);
    const auto wave = [&](double i) { return 2 + std::sin(2 * std::numbers::pi * i / shape.cells[0]); };
    const auto largest_error = [&](AdvectionScheme scheme) {
      std::vector<Real> q(shape.size()), out(shape.size());
      for_items(shape, 0, [&](Index i, Index, Index, std::size_t item) {
        q[item] = static_cast<Real>(wave(static_cast<double>(i)));
      });
      const auto fill = [&](std::span<Real> a) { fill_component_ghosts(shape, box, 0, a); };
      AdvectionWorkspace work;
      constexpr int steps = 50;
      for (int k = 0; k < steps; ++k) {
        fill(q);
        advect(shape, box, velocity, Real(0.3), scheme, Trace::rk2, {0, q, out}, work, fill);
        std::swap(q, out);
      }
      const Index row = high ? shape.cells[1] - 1 : 0;
      double most = 0;
      for (Index i = 0; i < shape.cells[0]; ++i)
        most =
            std::max(most, std::abs(static_cast<double>(q[shape.index(i, row, 0)]) - wave(i - 0.3 * steps)));
      return most;
    };
    EXPECT_LE(largest_error(AdvectionScheme::maccormack), largest_error(AdvectionScheme::semi_lagrangian))
        << high;
  }
}

TEST(GridDiffusion, ModesDecayByTheirDiscreteEigenvalues) {
  // cos modes between sides without slope: lap has the eigenvalue 2 (cos(pi m / n) - 1) along each axis.
  for (const Index nz : {1, 6}) {
    const GridShape shape{{16, 12, nz}};
    const GridBox box = box_of(GridSide::free_slip);
    const auto fill = [&](std::span<Real> a) { fill_cell_ghosts(shape, box, 0, a); };
    std::vector<Real> q(shape.size()), out(shape.size());
    const auto mode = [&](Index i, Index j, Index k) {
      constexpr double pi = std::numbers::pi;
      return std::cos(pi * 2 * (i + 0.5) / 16) * std::cos(pi * 3 * (j + 0.5) / 12) *
             (nz > 1 ? std::cos(pi * (k + 0.5) / nz) : 1.0);
    };
    double eigenvalue = 0;
    for (const auto& [m, n] :
         {std::pair(2, 16), std::pair(3, 12), std::pair(nz > 1 ? 1 : 0, static_cast<int>(nz))})
      eigenvalue += 2 * (1 - std::cos(std::numbers::pi * m / n));
    for_items(shape, -1, [&](Index i, Index j, Index k, std::size_t item) {
      q[item] = static_cast<Real>(mode(i, j, k));
    });
    fill(q);
    const DiffusedItems items{.end = shape.cells};
    diffuse_explicitly(shape, items, Real(0.1), q, out);
    for_items(shape, -1, [&](Index i, Index j, Index k, std::size_t item) {
      ASSERT_NEAR(static_cast<double>(out[item]), (1 - 0.1 * eigenvalue) * mode(i, j, k), 3 * rounding);
    });
    std::fill(out.begin(), out.end(), Real(0));
    Real change = 1;
    const int sweeps =
        diffuse_implicitly(shape, items, 5, q, out, fill, is_float ? Real(1e-7) : Real(1e-15), 1000, change);
    EXPECT_LT(sweeps, 1000);
    for_items(shape, -1, [&](Index i, Index j, Index k, std::size_t item) {
      ASSERT_NEAR(static_cast<double>(out[item]), mode(i, j, k) / (1 + 5 * eigenvalue), 20 * rounding);
    });
  }
}

TEST(GridProjection, TakesAwayGradientsAndNothingElse) {
  for (const GridSide side : {GridSide::free_slip, GridSide::outflow, GridSide::periodic})
    for (const Index nz : {1, 10}) {
      const GridShape shape{{14, 12, nz}};
      const GridBox box = box_of(side);
      FaceField open, u;
      open.assign(shape, 1);
      if (side != GridSide::periodic)
        close_faces(shape, Vec3::Zero(), 1, SphereShape{3}, {.position = Vec3(7, 6, nz > 1 ? 5 : Real(0.5))},
                    open);
      u.assign(shape, 0);
      for (int c = 0; c < shape.dimensions(); ++c) {
        std::vector<Real>& a = u.along[static_cast<std::size_t>(c)];
        fill_at_random(a, static_cast<unsigned>(c) + 3);
        for (std::size_t i = 0; i < a.size(); ++i)
          if (!(open[c][i] > 0)) a[i] = 0;
      }
      fill_velocity_ghosts(shape, box, u);
      PressureSolver solver(
          grid_poisson(shape, box.pressure_sides(), {.x = open[0], .y = open[1], .z = open[2]}));
      const RowLayout& layout = solver.poisson().layout;
      const DivergenceMeasure before = negative_divergence(shape, u, open, layout, solver.b);
      ASSERT_TRUE(solver.solve(PressureMethod::multigrid, {.relative_tolerance = 1e-7}).converged());
      subtract_gradient(shape, box, open, solver.poisson(), solver.x, u);
      fill_velocity_ghosts(shape, box, u);
      const FaceField once = u;
      const DivergenceMeasure after = negative_divergence(shape, u, open, layout, solver.b);
      EXPECT_LT(after.most, 1e-6 * before.most);
      // What is free of divergence stays.
      std::fill(solver.x.begin(), solver.x.end(), 0.0);
      solver.solve(PressureMethod::multigrid, {.relative_tolerance = 1e-3});
      subtract_gradient(shape, box, open, solver.poisson(), solver.x, u);
      for (int c = 0; c < shape.dimensions(); ++c)
        for_items(shape, c, [&](Index, Index, Index, std::size_t item) {
          ASSERT_NEAR(static_cast<double>(u[c][item]), static_cast<double>(once[c][item]), 1e-5);
        });
    }
}

}}  // namespace plenum
