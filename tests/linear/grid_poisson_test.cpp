// The Poisson equation on cut grids, its multigrid and all its solvers.
#include "plenum/linear/grid_poisson.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <numbers>
#include <random>

#include "plenum/base/error.h"
#include "plenum/base/hash.h"
#include "plenum/base/parallel.h"
#include "plenum/linear/pressure_solver.h"

namespace plenum { namespace {

using Side = PressureSide;
constexpr bool is_float = sizeof(Real) == 4;

/// Faces of which a third are closed and a third cut, and cells that are solid throughout.
struct CutFaces {
  std::vector<Real> x, y, z;
  FaceFractions view() const { return {x, y, z}; }
};
CutFaces random_faces(const GridShape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  CutFaces f;
  for (std::vector<Real>* v : {&f.x, &f.y, &f.z}) {
    v->resize(shape.size());
    for (Real& a : *v) {
      const double u = uniform(random);
      a = u < 0.33 ? Real(0) : u < 0.66 ? static_cast<Real>(uniform(random)) + Real(0.05) : Real(1);
      a = std::min(a, Real(1));
    }
  }
  for (Index k = 0; k < shape.cells[2]; ++k)
    for (Index j = 0; j < shape.cells[1]; ++j)
      for (Index i = 0; i < shape.cells[0]; ++i)
        if (uniform(random) < 0.15) {
          f.x[shape.index(i, j, k)] = f.x[shape.index(i + 1, j, k)] = 0;
          f.y[shape.index(i, j, k)] = f.y[shape.index(i, j + 1, k)] = 0;
          f.z[shape.index(i, j, k)] = 0;
          if (!shape.is_flat()) f.z[shape.index(i, j, k + 1)] = 0;
        }
  return f;
}

/// The matrix, written down from the definition.
Eigen::MatrixXd dense_matrix(const GridShape& shape, const PressureSides& sides, const CutFaces& f) {
  const Index nx = shape.cells[0], ny = shape.cells[1], nz = shape.cells[2];
  const Index n = nx * ny * nz;
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n, n);
  const auto number = [&](Index i, Index j, Index k) { return i + nx * (j + ny * k); };
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto axis = static_cast<std::size_t>(c);
    const std::vector<Real>& open = c == 0 ? f.x : c == 1 ? f.y : f.z;
    for (Index k = 0; k < nz; ++k)
      for (Index j = 0; j < ny; ++j)
        for (Index i = 0; i < nx; ++i) {
          std::array<Index, 3> below = {i, j, k};
          const Index here = number(i, j, k);
          if (below[axis] == 0) {
            // Both sides of the axis at this line of cells.
            std::array<Index, 3> top = below, beyond = below;
            top[axis] = shape.cells[axis] - 1;
            beyond[axis] = shape.cells[axis];
            const Index last = number(top[0], top[1], top[2]);
            const double low = static_cast<double>(open[shape.index(i, j, k)]),
                         high = static_cast<double>(open[shape.index(beyond[0], beyond[1], beyond[2])]);
            if (sides[2 * axis] == Side::periodic && here != last) {
              a(here, here) += low, a(last, last) += low, a(here, last) -= low, a(last, here) -= low;
            }
            if (sides[2 * axis] == Side::open) a(here, here) += 2 * low;
            if (sides[2 * axis + 1] == Side::open) a(last, last) += 2 * high;
            continue;
          }
          --below[axis];
          const Index other = number(below[0], below[1], below[2]);
          const double w = static_cast<double>(open[shape.index(i, j, k)]);
          a(here, here) += w, a(other, other) += w, a(here, other) -= w, a(other, here) -= w;
        }
  }
  return a;
}

struct Domain {
  GridShape shape;
  PressureSides sides;
};
std::vector<Domain> domains() {
  constexpr Side c = Side::closed, o = Side::open, p = Side::periodic;
  return {
      {{{7, 5, 6}}, {c, c, c, c, c, c}},  {{{8, 6, 4}}, {o, c, c, o, c, c}},
      {{{6, 8, 10}}, {p, p, c, c, p, p}}, {{{18, 3, 5}}, {c, c, p, p, c, o}},
      {{{9, 7, 1}}, {c, o, c, c, c, c}},  {{{20, 12, 1}}, {p, p, c, c, c, c}},
      {{{5, 9, 3}}, {p, p, c, c, p, p}},  {{{33, 2, 3}}, {c, c, c, c, c, c}},
      {{{7, 4, 9}}, {p, p, c, o, p, p}},  {{{21, 11, 1}}, {p, p, p, p, c, c}},
      {{{17, 1, 5}}, {p, p, p, p, p, p}},
  };
}

double inner(std::span<const Real> a, std::span<const Real> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// Calls f(cell number, item) for all cells.
template <class F>
void for_cells(const RowLayout& layout, F&& f) {
  Index number = 0;
  for (Index k = 0; k < layout.cells[2]; ++k)
    for (Index j = 0; j < layout.cells[1]; ++j)
      for (Index i = 0; i < layout.cells[0]; ++i) f(number++, layout.index(i, j, k));
}

TEST(GridPoisson, IsTheMatrixOfItsDefinition) {
  unsigned seed = 1;
  for (const Domain& domain : domains()) {
    const CutFaces faces = random_faces(domain.shape, seed++);
    const GridPoisson a = grid_poisson(domain.shape, domain.sides, faces.view());
    const Eigen::MatrixXd expected = dense_matrix(domain.shape, domain.sides, faces);
    std::vector<Real> x(a.layout.size(), 0), y(a.layout.size(), 0);
    for_cells(a.layout, [&](Index column, std::size_t item) {
      std::fill(x.begin(), x.end(), Real(0));
      x[item] = 1;
      fill_row_ghosts(a.layout, std::span<Real>(x));
      apply(a, x, y);
      for_cells(a.layout, [&](Index row, std::size_t at) {
        ASSERT_NEAR(static_cast<double>(y[at]), expected(row, column), is_float ? 1e-6 : 1e-14);
      });
    });
  }
}

TEST(GridPoisson, EveryMethodFindsTheSolutionOfAFactorization) {
  for (const PressureMethod method :
       {PressureMethod::jacobi, PressureMethod::gauss_seidel, PressureMethod::sor, PressureMethod::cg,
        PressureMethod::mic0, PressureMethod::multigrid}) {
    unsigned seed = 1;
    for (const Domain& domain : domains()) {
      const CutFaces faces = random_faces(domain.shape, seed);
      PressureSolver solver(grid_poisson(domain.shape, domain.sides, faces.view()));
      const Eigen::MatrixXd a = dense_matrix(domain.shape, domain.sides, faces);
      const RowLayout& layout = solver.poisson().layout;
      std::mt19937 random(seed++);
      std::uniform_real_distribution<double> uniform(-1, 1);
      Eigen::VectorXd b = Eigen::VectorXd::Zero(a.rows());
      for_cells(layout, [&](Index cell, std::size_t item) {
        const double value = uniform(random);
        if (a(cell, cell) > 0) b[cell] = value, solver.b[item] = static_cast<Real>(value);
      });
      // Odd periodic axes have no checkerboard: their relaxation by colours is no Gauss-Seidel method there,
      // and over- relaxation need not converge.
      bool odd = false;
      for (std::size_t c = 0; c < 3; ++c) odd |= layout.periodic[c] && layout.cells[c] % 2 != 0;
      if (odd && (method == PressureMethod::gauss_seidel || method == PressureMethod::sor)) continue;
      const SolveReport report = solver.solve(method, {.relative_tolerance = 1e-8, .max_iterations = 200000});
      EXPECT_TRUE(report.converged()) << names_of(method)[static_cast<std::size_t>(method)] << " "
                                      << layout.cells[0] << " " << report.residual;
      // The least solution, of the part of b that has one; compared without what is free in closed regions.
      const Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> decomposition(a);
      const Eigen::VectorXd expected = decomposition.solve(b);
      Eigen::VectorXd found = Eigen::VectorXd::Zero(a.rows());
      for_cells(layout, [&](Index cell, std::size_t item) { found[cell] = solver.x[item]; });
      const Eigen::VectorXd free = decomposition.solve(a * (found - expected));
      // |A e| <= 1e-8 |b| and the least eigenvalue is above 1e-3 on grids of twenty cells.
      EXPECT_LT(free.norm(), 1e-8 * 1e3 * b.norm() * 10);
      EXPECT_LT((a * found - a * expected).norm(), (is_float ? 1e-6 : 1e-7) * b.norm());
    }
  }
}

TEST(GridMultigrid, IsASymmetricPositiveOperator) {
  unsigned seed = 3;
  for (const Domain& domain : domains()) {
    for (const bool cut : {false, true}) {
      const CutFaces faces = random_faces(domain.shape, seed++);
      const GridPoisson a = grid_poisson(domain.shape, domain.sides, cut ? faces.view() : FaceFractions{});
      GridMultigrid m(a);
      std::mt19937 random(seed);
      std::uniform_real_distribution<double> uniform(-1, 1);
      std::array<std::vector<Real>, 2> r, z;
      for (std::size_t q = 0; q < 2; ++q) {
        r[q].assign(a.layout.size(), 0);
        z[q].assign(a.layout.size(), 0);
        for_cells(a.layout,
                  [&](Index, std::size_t item) { r[q][item] = static_cast<Real>(uniform(random)); });
        // Cells without an unknown hold nothing.
        for (Index k = 0; k < a.layout.cells[2]; ++k)
          for (Index j = 0; j < a.layout.cells[1]; ++j)
            for (Index i = 0; i < a.layout.cells[0]; ++i)
              if (!(a.diagonal(i, j, k) > 0)) r[q][a.layout.index(i, j, k)] = 0;
        project_closed_regions(a, r[q]);
        const double energy = m(r[q], z[q]);
        EXPECT_NEAR(energy, inner(r[q], z[q]), 1e-5 * std::abs(energy));
        EXPECT_GT(energy, 0);
      }
      const double p = inner(r[0], z[1]), q = inner(r[1], z[0]);
      EXPECT_NEAR(p, q, (is_float ? 1e-5 : 1e-12) * std::sqrt(inner(r[0], z[0]) * inner(r[1], z[1])));
    }
  }
}

/// The anchors' problem: a closed box with a solid sphere, a source below and a sink above it.
struct SphereBox {
  GridShape shape;
  CutFaces faces;
  explicit SphereBox(Index n) : shape{{n, n, n}} {
    for (std::vector<Real>* v : {&faces.x, &faces.y, &faces.z}) v->assign(shape.size(), 1);
    for_solid([&](Index i, Index j, Index k) {
      faces.x[shape.index(i, j, k)] = faces.x[shape.index(i + 1, j, k)] = 0;
      faces.y[shape.index(i, j, k)] = faces.y[shape.index(i, j + 1, k)] = 0;
      faces.z[shape.index(i, j, k)] = faces.z[shape.index(i, j, k + 1)] = 0;
    });
  }
  template <class F>
  void for_solid(F&& f) const {
    const double n = shape.cells[0];
    for (Index k = 0; k < shape.cells[2]; ++k)
      for (Index j = 0; j < shape.cells[1]; ++j)
        for (Index i = 0; i < shape.cells[0]; ++i) {
          const double x = (i + 0.5) / n - 0.5, y = (j + 0.5) / n - 0.35, z = (k + 0.5) / n - 0.5;
          if (x * x + y * y + z * z < 0.15 * 0.15) f(i, j, k);
        }
  }
  void set_right_side(PressureSolver& solver) const {
    const RowLayout& layout = solver.poisson().layout;
    const double n = shape.cells[0];
    for (Index k = 0; k < shape.cells[2]; ++k)
      for (Index j = 0; j < shape.cells[1]; ++j)
        for (Index i = 0; i < shape.cells[0]; ++i) {
          const double x = (i + 0.5) / n, y = (j + 0.5) / n, z = (k + 0.5) / n;
          const bool column = x > 0.45 && x < 0.55 && z > 0.45 && z < 0.55;
          solver.b[layout.index(i, j, k)] = !column                ? Real(0)
                                            : y > 0.05 && y < 0.10 ? Real(1)
                                            : y > 0.90 && y < 0.95 ? Real(-1)
                                                                   : Real(0);
        }
  }
};

TEST(GridMultigrid, TakesNoMoreIterationsOnLargerGrids) {
  // At most nine to 1e-4 whatever the size; the best plain multigrid of the peers takes 7, 9 and 12.
  for (const Index n : {16, 32, 48, 64, 96}) {
    const SphereBox box(n);
    PressureSolver solver(grid_poisson(box.shape, {}, box.faces.view()));
    box.set_right_side(solver);
    const SolveReport report = solver.solve(PressureMethod::multigrid, {.relative_tolerance = 1e-4});
    EXPECT_TRUE(report.converged());
    EXPECT_LE(report.iterations, 9) << n;
    EXPECT_LE(report.residual, 1e-4);
  }
}

TEST(GridMultigrid, GoesAroundAxesOfOddNumbersOfCellsToo) {
  // It is not as good there, but still multigrid: iterations do not grow as the side, as those of conjugate
  // gradients do, nor as its root, as with MIC(0) (Gustafsson 1978), of which it takes fewer.
  constexpr Side c = Side::closed, p = Side::periodic;
  for (const PressureSides& sides :
       {PressureSides{p, p, c, c, c, c}, PressureSides{c, c, p, p, p, p}, PressureSides{p, p, p, p, p, p}}) {
    const auto iterations = [&](Index n, PressureMethod method) {
      const SphereBox box(n);
      PressureSolver solver(grid_poisson(box.shape, sides, box.faces.view()));
      box.set_right_side(solver);
      const SolveReport report = solver.solve(method, {.relative_tolerance = 1e-4, .max_iterations = 1000});
      EXPECT_TRUE(report.converged());
      return report.iterations;
    };
    const int coarse = iterations(35, PressureMethod::multigrid);
    EXPECT_LT(coarse, iterations(35, PressureMethod::mic0));
    EXPECT_LT(iterations(87, PressureMethod::multigrid), std::sqrt(87.0 / 35) * coarse);
  }
}

TEST(GridMultigrid, ReachesInTruthWhatFloatCannotHold) {
  const SphereBox box(64);
  PressureSolver solver(grid_poisson(box.shape, {}, box.faces.view()));
  box.set_right_side(solver);
  const SolveReport report = solver.solve(PressureMethod::multigrid, {.relative_tolerance = 1e-8});
  EXPECT_TRUE(report.converged());
  // The residual once more, by plain loops in double precision.
  const GridPoisson& a = solver.poisson();
  const RowLayout& layout = a.layout;
  double left = 0, all = 0;
  for (Index k = 0; k < 64; ++k)
    for (Index j = 0; j < 64; ++j)
      for (Index i = 0; i < 64; ++i) {
        double sum = static_cast<double>(solver.b[layout.index(i, j, k)]);
        all += sum * sum;
        const auto flow = [&](const std::vector<Real>& f, Index ii, Index jj, Index kk, Index fi, Index fj,
                              Index fk) {
          if (ii < 0 || jj < 0 || kk < 0 || ii > 63 || jj > 63 || kk > 63) return;
          sum -= static_cast<double>(f[box.shape.index(fi, fj, fk)]) *
                 (solver.x[layout.index(i, j, k)] - solver.x[layout.index(ii, jj, kk)]);
        };
        flow(box.faces.x, i - 1, j, k, i, j, k), flow(box.faces.x, i + 1, j, k, i + 1, j, k);
        flow(box.faces.y, i, j - 1, k, i, j, k), flow(box.faces.y, i, j + 1, k, i, j + 1, k);
        flow(box.faces.z, i, j, k - 1, i, j, k), flow(box.faces.z, i, j, k + 1, i, j, k + 1);
        left += sum * sum;
      }
  EXPECT_LT(std::sqrt(left / all), 1.01e-8);
}

TEST(GridPoisson, FlowAroundACylinderConvergesInSecondOrder) {
  // Potential flow p = (r + R^2 / r) cos(angle) around a cylinder, which no fluid enters; on the sides of the
  // box its flux is given. Source: Lamb 1932, "Hydrodynamics", article 68.
  constexpr double radius = 0.23, cx = 0.51, cy = 0.47;
  const auto potential = [&](double x, double y) {
    const double dx = x - cx, dy = y - cy;
    return dx * (1 + radius * radius / (dx * dx + dy * dy));
  };
  // The stream function: its difference between the ends of a face is what flows through it.
  const auto stream = [&](double x, double y) {
    const double dx = x - cx, dy = y - cy;
    return dy * (1 - radius * radius / (dx * dx + dy * dy));
  };
  std::vector<double> errors;
  for (const Index n : {32, 64, 128}) {
    const GridShape shape{{n, n, 1}};
    const double h = 1.0 / n;
    CutFaces faces;
    faces.x.assign(shape.size(), 1), faces.y.assign(shape.size(), 1);
    // Open parts of edges, exactly.
    const auto open = [&](double at, double from, double middle, double other) {
      const double d = at - other, half = radius * radius > d * d ? std::sqrt(radius * radius - d * d) : 0;
      const double closed = std::max(0.0, std::min(from + h, middle + half) - std::max(from, middle - half));
      return static_cast<Real>(half > 0 ? 1 - closed / h : 1);
    };
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < n; ++i) {
        const auto tidy = [](Real f) { return f < Real(1e-6) ? Real(0) : f; };
        faces.x[shape.index(i, j, 0)] = tidy(open(i * h, j * h, cy, cx));
        faces.y[shape.index(i, j, 0)] = tidy(open(j * h, i * h, cx, cy));
      }
    PressureSolver solver(grid_poisson(shape, {}, faces.view()));
    const GridPoisson& a = solver.poisson();
    for (Index m = 0; m < n; ++m) {
      // What flows out through the left and right sides, and the lower and upper ones.
      const auto add = [&](Index i, Index j, double flux) {
        solver.b[a.layout.index(i, j, 0)] += static_cast<Real>(flux);
      };
      add(0, m, -(stream(0, (m + 1) * h) - stream(0, m * h)) / h * h);
      add(n - 1, m, (stream(1, (m + 1) * h) - stream(1, m * h)) / h * h);
      add(m, 0, (stream((m + 1) * h, 0) - stream(m * h, 0)) / h * h);
      add(m, n - 1, -(stream((m + 1) * h, 1) - stream(m * h, 1)) / h * h);
    }
    ASSERT_TRUE(solver.solve(PressureMethod::multigrid, {.relative_tolerance = 1e-7}).converged());
    double mean = 0, cells = 0;
    std::vector<double> difference;
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < n; ++i) {
        const double x = (i + 0.5) * h, y = (j + 0.5) * h;
        if (!(a.diagonal(i, j, 0) > 0) || std::hypot(x - cx, y - cy) < radius) continue;
        difference.push_back(solver.x[a.layout.index(i, j, 0)] - potential(x, y));
        mean += difference.back(), ++cells;
      }
    mean /= cells;
    double sum = 0;
    for (const double d : difference) sum += (d - mean) * (d - mean);
    errors.push_back(std::sqrt(sum / cells));
  }
  for (std::size_t q = 0; q + 1 < errors.size(); ++q)
    EXPECT_GT(std::log2(errors[q] / errors[q + 1]), 1.7) << errors[q] << " " << errors[q + 1];
}

TEST(GridPoisson, ConvergesInSecondOrderInABox) {
  // cos(pi x) cos(2 pi y) cos(pi z) between closed sides, and sin(pi z / 2) where the lower z is open.
  constexpr double pi = std::numbers::pi;
  std::vector<double> errors;
  for (const Index n : {8, 16, 32}) {
    const GridShape shape{{n, n, n}};
    PressureSolver solver(grid_poisson(
        shape, {Side::closed, Side::closed, Side::periodic, Side::periodic, Side::open, Side::closed}));
    const RowLayout& layout = solver.poisson().layout;
    const double h = 1.0 / n;
    const auto exact = [&](Index i, Index j, Index k) {
      return std::cos(pi * (i + 0.5) * h) * std::cos(2 * pi * (j + 0.5) * h) *
             std::sin(pi / 2 * (k + 0.5) * h);
    };
    const double eigenvalue = pi * pi * (1 + 4 + 0.25);
    for (Index k = 0; k < n; ++k)
      for (Index j = 0; j < n; ++j)
        for (Index i = 0; i < n; ++i)
          solver.b[layout.index(i, j, k)] = static_cast<Real>(h * h * eigenvalue * exact(i, j, k));
    ASSERT_TRUE(solver.solve(PressureMethod::multigrid, {.relative_tolerance = 1e-7}).converged());
    double most = 0;
    for (Index k = 0; k < n; ++k)
      for (Index j = 0; j < n; ++j)
        for (Index i = 0; i < n; ++i)
          most = std::max(most, std::abs(solver.x[layout.index(i, j, k)] - exact(i, j, k)));
    errors.push_back(most);
  }
  for (std::size_t q = 0; q + 1 < errors.size(); ++q) EXPECT_GT(std::log2(errors[q] / errors[q + 1]), 1.8);
}

TEST(GridPoisson, ClosedRegionsAreProjectedEachForItself) {
  // Two chambers with a wall between, and a third that is open.
  const GridShape shape{{12, 6, 4}};
  CutFaces faces;
  for (std::vector<Real>* v : {&faces.x, &faces.y, &faces.z}) v->assign(shape.size(), 1);
  for (Index k = 0; k < 4; ++k)
    for (Index j = 0; j < 6; ++j) faces.x[shape.index(4, j, k)] = faces.x[shape.index(8, j, k)] = 0;
  PressureSolver solver(
      grid_poisson(shape, {Side::closed, Side::open, Side::closed, Side::closed, Side::closed, Side::closed},
                   faces.view()));
  const GridPoisson& a = solver.poisson();
  ASSERT_EQ(a.closed_cells.size(), 3u);
  EXPECT_EQ(a.closed_cells[0], 96);
  EXPECT_EQ(a.closed_cells[1], 96);
  EXPECT_EQ(a.closed_cells[2], 0);
  EXPECT_EQ(a.num_unknowns(), 288u);
  for_cells(a.layout, [&](Index, std::size_t item) { solver.b[item] = Real(0.5); });
  solver.b[a.layout.index(1, 2, 3)] = 4;
  const SolveReport report = solver.solve(PressureMethod::multigrid, {.relative_tolerance = 1e-6});
  EXPECT_TRUE(report.converged());
  EXPECT_NEAR(solver.imbalance(), 0.5 + 3.5 / 96, 1e-6);
  EXPECT_NEAR(static_cast<double>(solver.b[a.layout.index(6, 2, 3)]), 0, 1e-7);
  EXPECT_EQ(solver.b[a.layout.index(10, 2, 3)], Real(0.5));
}

TEST(GridPoisson, RefusesHalfAPeriodicAxis) {
  EXPECT_THROW(grid_poisson(GridShape{{8, 8, 8}}, {Side::periodic, Side::open}), Error);
}

TEST(PressureSolver, MadeAnewIsAsMadeAtFirst) {
  // Other cells and other openings each time, in the same memory; the first is the largest.
  PressureSolver solver;
  const std::array<GridShape, 4> shapes = {GridShape{{40, 24, 20}}, GridShape{{21, 24, 9}},
                                           GridShape{{33, 10, 20}}, GridShape{{40, 24, 20}}};
  for (unsigned seed = 0; seed < shapes.size(); ++seed) {
    const GridShape& shape = shapes[seed];
    const CutFaces f = random_faces(shape, seed);
    PressureSides sides = {};
    sides[3] = Side::open;
    PressureSolver once(grid_poisson(shape, sides, f.view()));
    const RowLayout& layout = once.poisson().layout;
    solver.remake(shape.cells, 3, [&](Index j, Index k, const PoissonRow& row) {
      for (std::size_t field = 0; field < 7; ++field)
        for (Index i = 0; i < shape.cells[0]; ++i)
          row.to[field][i] = once.poisson().coefficient(i, j, k, field);
    });
    ASSERT_EQ(solver.poisson().layout.size(), layout.size());
    EXPECT_EQ(solver.poisson().coefficients, once.poisson().coefficients);
    EXPECT_EQ(solver.poisson().closed_cells, once.poisson().closed_cells);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (Index k = 0; k < shape.cells[2]; ++k)
      for (Index j = 0; j < shape.cells[1]; ++j)
        for (Index i = 0; i < shape.cells[0]; ++i)
          if (const std::size_t at = layout.index(i, j, k); once.poisson().diagonal(i, j, k) > 0)
            once.b[at] = solver.b[at] = static_cast<Real>(uniform(random));
    const SolveOptions options{.relative_tolerance = 1e-5};
    const SolveReport a = once.solve(PressureMethod::multigrid, options),
                      b = solver.solve(PressureMethod::multigrid, options);
    EXPECT_TRUE(a.converged());
    EXPECT_EQ(a.iterations, b.iterations);
    EXPECT_EQ(once.x, solver.x);
  }
}

TEST(GridMultigrid, SameBitsForEveryNumberOfThreads) {
  const SphereBox box(48);
  std::vector<double> first;
  for (const int threads : {1, 2, 3, 5, 8})
    with_threads(threads, [&] {
      PressureSolver solver(grid_poisson(box.shape, {}, box.faces.view()));
      box.set_right_side(solver);
      for (const PressureMethod method :
           {PressureMethod::multigrid, PressureMethod::jacobi, PressureMethod::sor, PressureMethod::mic0})
        solver.solve(method, {.relative_tolerance = method == PressureMethod::multigrid ? 1e-5 : 1e-12,
                              .max_iterations = 10});
      if (first.empty())
        first = solver.x;
      else
        EXPECT_TRUE(std::equal(first.begin(), first.end(), solver.x.begin())) << threads;
    });
}

}}  // namespace plenum
