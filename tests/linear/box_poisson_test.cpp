// Transforms of lines against their definitions, and the direct solver of boxes against factorizations and
// multigrid.
#include "plenum/linear/box_poisson.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/linear/pressure_solver.h"
#include "support/count_allocations.h"

namespace plenum { namespace box_poisson_test { namespace {

using detail::LineBasis, detail::Lines, detail::LineTransform, detail::Wide, detail::wide;
using Side = PressureSide;
constexpr double half_turn = std::numbers::pi;
constexpr auto epsilon = static_cast<double>(std::numeric_limits<Real>::epsilon());

/// 2 * wide lines of n numbers with their scratch memory.
struct Bundle {
  std::size_t n;
  AlignedVector<Real> memory;
  Lines lines, scratch;
  explicit Bundle(std::size_t size) : n(size), memory(4 * size * wide) {
    Wide* w = reinterpret_cast<Wide*>(memory.data());
    lines = {w, w + n}, scratch = {w + 2 * n, w + 3 * n};
  }
  void fill(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (std::size_t j = 0; j < n; ++j)
      for (int l = 0; l < wide; ++l)
        lines.re[j][l] = static_cast<Real>(uniform(random)),
        lines.im[j][l] = static_cast<Real>(uniform(random));
  }
  std::vector<double> line(int l, bool im) const {
    std::vector<double> x;
    for (std::size_t j = 0; j < n; ++j) x.push_back(static_cast<double>((im ? lines.im : lines.re)[j][l]));
    return x;
  }
};
const std::vector<std::size_t> lengths = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,  13,  15,
                                          16, 17, 20, 22, 24, 27, 30, 32, 49, 64, 77, 100, 128, 210};
double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double a : x) sum += a * a;
  return std::sqrt(sum);
}
/// Errors of fast transforms grow as log n in the worst case (Van Loan 1992, section 1.4.2): a few units in
/// the last place for each stage; those of a large prime by the definition as n at worst.
double bound(std::size_t n) {
  double stages = 2;
  for (const std::size_t factor : detail::fourier_factors(n))
    stages += static_cast<double>(std::max<std::size_t>(factor, 4)) / 4;
  return 2 * epsilon * stages;
}

TEST(Fourier, IsTheSumOfItsDefinition) {
  for (const std::size_t n : lengths) {
    Bundle bundle(n);
    bundle.fill(static_cast<unsigned>(n));
    std::vector<std::vector<double>> re, im;
    for (const int l : {0, wide - 1}) re.push_back(bundle.line(l, false)), im.push_back(bundle.line(l, true));
    detail::Fourier(n).transform(bundle.lines, bundle.scratch);
    for (std::size_t q = 0; q < 2; ++q) {
      const int l = q == 0 ? 0 : wide - 1;
      double error = 0, all = 0;
      for (std::size_t k = 0; k < n; ++k) {
        double a = 0, b = 0;
        for (std::size_t j = 0; j < n; ++j) {
          const double angle = -2 * half_turn * static_cast<double>(j * k % n) / static_cast<double>(n);
          a += re[q][j] * std::cos(angle) - im[q][j] * std::sin(angle);
          b += re[q][j] * std::sin(angle) + im[q][j] * std::cos(angle);
        }
        const double da = a - static_cast<double>(bundle.lines.re[k][l]),
                     db = b - static_cast<double>(bundle.lines.im[k][l]);
        error += da * da + db * db, all += a * a + b * b;
      }
      EXPECT_LT(std::sqrt(error / all), bound(n)) << n;
    }
  }
}

/// Function k of a basis at cell j; angles in whole parts of a turn, so that large ones are not rounded.
double wave(LineBasis basis, std::size_t n, std::size_t k, std::size_t j) {
  const auto angle = [](std::size_t parts, std::size_t of_turn) {
    return 2 * half_turn * static_cast<double>(parts % of_turn) / static_cast<double>(of_turn);
  };
  switch (basis) {
    case LineBasis::cosine:
      return std::cos(angle(k * (2 * j + 1), 4 * n));
    case LineBasis::sine:
      return std::sin(angle((n - k) * (2 * j + 1), 4 * n));
    case LineBasis::quarter:
      return std::cos(angle((2 * k + 1) * (2 * j + 1), 8 * n));
    case LineBasis::fourier:
      break;
  }
  return std::cos(angle(j * k, n)) + std::sin(angle(j * k, n));
}

TEST(LineTransform, GivesTheInnerProductsWithItsWavesAndGoesBack) {
  for (const LineBasis basis : {LineBasis::cosine, LineBasis::sine, LineBasis::quarter, LineBasis::fourier})
    for (const bool reversed : {false, true})
      for (const std::size_t n : lengths) {
        Bundle bundle(n);
        bundle.fill(static_cast<unsigned>(n));
        const LineTransform transform(n, basis, reversed);
        const bool turned = reversed && basis == LineBasis::quarter;
        const std::vector<double> before[2] = {bundle.line(1, false), bundle.line(wide - 2, true)};
        transform.forward(bundle.lines, bundle.scratch);
        const std::vector<double> found[2] = {bundle.line(1, false), bundle.line(wide - 2, true)};
        transform.inverse(bundle.lines, bundle.scratch);
        const std::vector<double> back[2] = {bundle.line(1, false), bundle.line(wide - 2, true)};
        for (int q = 0; q < 2; ++q) {
          std::vector<double> error, all, lost;
          for (std::size_t k = 0; k < n; ++k) {
            double sum = 0;
            for (std::size_t j = 0; j < n; ++j)
              sum += before[q][j] * wave(basis, n, k, turned ? n - 1 - j : j);
            all.push_back(sum), error.push_back(sum - found[q][k]);
            lost.push_back(transform.scale() * back[q][k] - before[q][k]);
          }
          // Two lines share a transform, and its error with it.
          EXPECT_LT(norm(error), 2 * bound(n) * std::max(norm(all), norm(before[q])))
              << n << " " << int(basis);
          EXPECT_LT(norm(lost), 4 * bound(n) * norm(before[q])) << n << " " << int(basis);
        }
      }
}

TEST(LineTransform, KnowsTheSecondDifferencesOfItsWaves) {
  for (const LineBasis basis : {LineBasis::cosine, LineBasis::sine, LineBasis::quarter, LineBasis::fourier})
    for (const std::size_t n : {2u, 3u, 8u, 15u}) {
      const LineTransform transform(n, basis);
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t j = 0; j < n; ++j) {
          const double here = wave(basis, n, k, j);
          // Half a cell beyond an end lies the same value (no slope), or its negative (zero).
          const double low = j > 0                         ? wave(basis, n, k, j - 1)
                             : basis == LineBasis::fourier ? wave(basis, n, k, n - 1)
                             : basis == LineBasis::sine    ? -here
                                                           : here;
          const double high = j + 1 < n                     ? wave(basis, n, k, j + 1)
                              : basis == LineBasis::fourier ? wave(basis, n, k, 0)
                              : basis == LineBasis::sine || basis == LineBasis::quarter ? -here
                                                                                        : here;
          EXPECT_NEAR(2 * here - low - high, static_cast<double>(transform.eigenvalues()[k]) * here,
                      16 * epsilon);
        }
    }
}

struct Domain {
  GridShape shape;
  PressureSides sides;
};
/// All kinds of sides, sizes with and without powers of two and large primes, flat boxes.
std::vector<Domain> domains() {
  constexpr Side c = Side::closed, o = Side::open, p = Side::periodic;
  return {
      {{{8, 8, 8}}, {c, c, c, c, c, c}},   {{{7, 5, 6}}, {c, c, c, c, c, c}},
      {{{8, 6, 4}}, {o, c, c, o, c, c}},   {{{6, 8, 10}}, {p, p, c, c, p, p}},
      {{{18, 3, 5}}, {c, c, p, p, c, o}},  {{{9, 7, 1}}, {c, o, c, c, c, c}},
      {{{20, 12, 1}}, {p, p, c, c, c, c}}, {{{5, 9, 3}}, {p, p, o, o, p, p}},
      {{{33, 2, 3}}, {c, c, c, c, c, c}},  {{{17, 4, 3}}, {o, o, o, c, o, o}},
      {{{16, 16, 1}}, {p, p, p, p, c, c}}, {{{2, 2, 2}}, {o, o, c, o, c, c}},
      {{{37, 3, 1}}, {o, c, p, p, c, c}},  {{{4, 2, 8}}, {p, p, p, p, p, p}},
  };
}

/// The matrix, written down from the definition.
Eigen::MatrixXd dense_matrix(const Domain& d) {
  const std::array<Index, 3> n = d.shape.cells;
  const auto number = [&](const std::array<Index, 3>& at) { return at[0] + n[0] * (at[1] + n[1] * at[2]); };
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n[0] * n[1] * n[2], n[0] * n[1] * n[2]);
  for (Index k = 0; k < n[2]; ++k)
    for (Index j = 0; j < n[1]; ++j)
      for (Index i = 0; i < n[0]; ++i)
        for (std::size_t c = 0; c < static_cast<std::size_t>(d.shape.dimensions()); ++c)
          for (const int s : {0, 1}) {
            std::array<Index, 3> at = {i, j, k};
            const Index here = number(at);
            at[c] += s == 0 ? -1 : 1;
            if (at[c] < 0 || at[c] >= n[c]) {
              const Side side = d.sides[2 * c + static_cast<std::size_t>(s)];
              if (side == Side::open) a(here, here) += 2;
              if (side != Side::periodic) continue;
              at[c] = (at[c] + n[c]) % n[c];
            }
            a(here, here) += 1, a(here, number(at)) -= 1;
          }
  return a;
}
template <class F>
void for_cells(const RowLayout& layout, F&& f) {
  Index number = 0;
  for (Index k = 0; k < layout.cells[2]; ++k)
    for (Index j = 0; j < layout.cells[1]; ++j)
      for (Index i = 0; i < layout.cells[0]; ++i) f(number++, layout.index(i, j, k));
}

TEST(BoxPoisson, FindsTheSolutionOfAFactorization) {
  unsigned seed = 1;
  for (const Domain& domain : domains()) {
    const GridPoisson a = grid_poisson(domain.shape, domain.sides);
    const std::optional<UniformBox> uniform = find_uniform_box(a);
    ASSERT_TRUE(uniform.has_value()) << a.layout.cells[0];
    BoxPoisson box(a, *uniform);
    const Eigen::MatrixXd dense = dense_matrix(domain);
    std::mt19937 random(seed++);
    std::uniform_real_distribution<double> uniformly(-1, 1);
    std::vector<Real> r(a.layout.size(), 0), z(a.layout.size(), 0);
    for_cells(a.layout, [&](Index, std::size_t item) { r[item] = static_cast<Real>(uniformly(random)); });
    project_closed_regions(a, r);
    Eigen::VectorXd b(dense.rows()), found(dense.rows());
    for_cells(a.layout, [&](Index cell, std::size_t item) { b[cell] = static_cast<double>(r[item]); });
    box.solve(r, z);
    for_cells(a.layout, [&](Index cell, std::size_t item) { found[cell] = static_cast<double>(z[item]); });
    const Eigen::VectorXd expected = Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd>(dense).solve(b);
    // Waves of a box are orthogonal, so that errors are those of six transforms and the eigenvalues' sum.
    // The factorization's own error grows with the condition, at most (2 longest)^2 or so.
    const double longest = *std::max_element(a.layout.cells.begin(), a.layout.cells.end());
    const double of_reference = 4 * longest * longest * std::numeric_limits<double>::epsilon();
    EXPECT_LT((found - expected).norm(), (100 * epsilon + of_reference) * expected.norm())
        << a.layout.cells[0];
    // Beyond the cells there is nothing.
    double beyond = 0;
    for (Index k = 0; k < a.layout.cells[2]; ++k)
      for (Index j = 0; j < a.layout.cells[1]; ++j)
        for (std::size_t i = static_cast<std::size_t>(a.layout.cells[0]);
             i + static_cast<std::size_t>(wide) <= a.layout.pitch; ++i)
          beyond += std::abs(static_cast<double>(z[a.layout.row(j, k) + i]));
    EXPECT_EQ(beyond, 0);
  }
}

/// A source and a sink beside each other's mirror images.
void set_right_side(PressureSolver& solver, double phase) {
  const RowLayout& layout = solver.poisson().layout;
  for (Index k = 0; k < layout.cells[2]; ++k)
    for (Index j = 0; j < layout.cells[1]; ++j)
      for (Index i = 0; i < layout.cells[0]; ++i)
        solver.b[layout.index(i, j, k)] = static_cast<Real>(
            std::sin(0.3 * i + phase) * std::cos(0.2 * j) * std::sin(0.5 * k + 1) + (i == 3 && j == 5));
}

TEST(BoxPoisson, AgreesWithMultigridAndInTruth) {
  constexpr Side c = Side::closed, o = Side::open, p = Side::periodic;
  for (const Domain& domain :
       {Domain{{{64, 48, 40}}, {c, c, c, c, c, c}}, Domain{{{45, 64, 22}}, {p, p, c, o, c, c}},
        Domain{{{96, 100, 1}}, {c, o, o, o, c, c}}, Domain{{{128, 64, 1}}, {p, p, p, p, c, c}}}) {
    PressureSolver direct(grid_poisson(domain.shape, domain.sides)),
        iterative(grid_poisson(domain.shape, domain.sides));
    set_right_side(direct, 0.4), set_right_side(iterative, 0.4);
    const bool periodic = domain.sides[0] == p;
    EXPECT_EQ(direct.method_for(PressureMethod::automatic),
              periodic ? PressureMethod::fourier : PressureMethod::cosine);
    const SolveReport report = direct.solve(PressureMethod::automatic,
                                            {.relative_tolerance = 1e-10, .max_iterations = 10}),
                      other = iterative.solve(PressureMethod::multigrid,
                                              {.relative_tolerance = 1e-10, .max_iterations = 200});
    EXPECT_TRUE(report.converged()) << report.residual;
    EXPECT_TRUE(other.converged());
    // Each pass takes the residual down to the rounding of its result: |A| |x| eps, |A| <= 12, and |x| up to
    // |b| over the least eigenvalue, near (pi / 100)^2; double needs one, float a few.
    EXPECT_LE(report.iterations, sizeof(Real) == 4 ? 5 : 2);
    // But for a constant.
    double mean = 0, count = 0, most = 0, range = 0;
    for_cells(direct.poisson().layout,
              [&](Index, std::size_t item) { mean += direct.x[item] - iterative.x[item], ++count; });
    const bool closed = domain.sides[2] != o && domain.sides[3] != o && domain.sides[1] != o;
    mean = closed ? mean / count : 0;
    for_cells(direct.poisson().layout, [&](Index, std::size_t item) {
      most = std::max(most, std::abs(direct.x[item] - iterative.x[item] - mean));
      range = std::max(range, std::abs(direct.x[item]));
    });
    // |x - y| <= |A^-1| (|r_x| + |r_y|) with residuals of 1e-10 |b| and |A^-1| around 1e3.
    EXPECT_LT(most, 1e-10 * 2e3 * report.rhs_norm);
    EXPECT_GT(range, 1e3 * most);
  }
}

TEST(BoxPoisson, LeavesARoundedResidual) {
  // One pass: what rounding the solution leaves, |A| |x| eps / 2 in each of seven terms at most.
  const GridPoisson a = grid_poisson({{64, 64, 64}}, {});
  BoxPoisson box(a, *find_uniform_box(a));
  std::vector<Real> r(a.layout.size(), 0), z(a.layout.size(), 0), left(a.layout.size(), 0);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniformly(-1, 1);
  for_cells(a.layout, [&](Index, std::size_t item) { r[item] = static_cast<Real>(uniformly(random)); });
  project_closed_regions(a, r);
  box.solve(r, z);
  std::vector<double> x(z.begin(), z.end());
  fill_row_ghosts(a.layout, std::span<double>(x));
  const double residual = std::sqrt(true_residual(a, r, x, left));
  double size = 0;
  for (const double v : x) size += v * v;
  EXPECT_LT(residual, 12 * 10 * epsilon * std::sqrt(size));
}

TEST(BoxPoisson, SameBitsForEveryNumberOfThreadsAndNoAllocation) {
  for (const GridShape& shape : {GridShape{{40, 33, 24}}, GridShape{{100, 90, 1}}}) {
    std::vector<double> first;
    for (const int threads : {1, 2, 3, 5, 8})
      with_threads(threads, [&] {
        PressureSolver solver(grid_poisson(shape, {}));
        set_right_side(solver, 0);
        solver.solve(PressureMethod::cosine, {.relative_tolerance = 1e-7});
        if (first.empty()) first = solver.x;
        EXPECT_TRUE(std::equal(first.begin(), first.end(), solver.x.begin())) << threads;
        if (!plenum_test::can_count_allocations) return;
        EXPECT_EQ(plenum_test::count_allocations([&] {
                    for (int k = 0; k < 3; ++k) {
                      set_right_side(solver, k);
                      solver.solve(PressureMethod::cosine, {.relative_tolerance = 1e-7});
                    }
                  }),
                  0);
      });
  }
}

TEST(BoxPoisson, IsTakenWhereItFitsOnly) {
  const GridShape shape{{8, 9, 10}};
  std::vector<Real> x(shape.size(), 1), y(shape.size(), 1), z(shape.size(), 1);
  EXPECT_TRUE(find_uniform_box(grid_poisson(shape, {}, {.x = x, .y = y, .z = z})));
  y[shape.index(3, 4, 5)] = Real(0.5);
  const auto make = [&] { return grid_poisson(shape, {}, {.x = x, .y = y, .z = z}); };
  EXPECT_FALSE(find_uniform_box(make()));
  PressureSolver cut(make());
  for (const PressureMethod wanted :
       {PressureMethod::automatic, PressureMethod::cosine, PressureMethod::fourier})
    EXPECT_EQ(cut.method_for(wanted), PressureMethod::multigrid);
  EXPECT_NE(misfit_of(PressureMethod::cosine, PressureMethod::multigrid), nullptr);
  EXPECT_EQ(misfit_of(PressureMethod::automatic, PressureMethod::multigrid), nullptr);
  // Part of an open side that is closed.
  y.assign(shape.size(), 1);
  PressureSides sides = {};
  sides[3] = Side::open;
  y[shape.index(2, 9, 2)] = 0;
  EXPECT_FALSE(find_uniform_box(grid_poisson(shape, sides, {.x = x, .y = y, .z = z})));
  // A large prime: by name, but not by itself.
  PressureSolver prime(grid_poisson({{31, 8, 8}}, {}));
  EXPECT_EQ(prime.method_for(PressureMethod::automatic), PressureMethod::multigrid);
  EXPECT_EQ(prime.method_for(PressureMethod::cosine), PressureMethod::cosine);
  EXPECT_EQ(prime.method_for(PressureMethod::fourier), PressureMethod::cosine);
  EXPECT_NE(misfit_of(PressureMethod::fourier, PressureMethod::cosine), nullptr);
}

}}}  // namespace plenum::box_poisson_test
