#include "plenum/linear/pressure_solver.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/base/parallel.h"
#include "plenum/linear/detail/grid_rows.h"
#include "plenum/linear/vector_ops.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

namespace {

/// Sweeps of the classic relaxations between two looks at the true residual.
constexpr int sweeps_at_a_time = 20;
/// What a correction in `Real` is asked to take off a residual at most: beyond it recurrences follow
/// rounding.
constexpr double deepest = sizeof(Real) == 4 ? 1e-5 : 1e-13;

/// Factors of the lengths of transforms up to which these take less time than multigrid.
constexpr std::size_t largest_automatic_factor = 13;

namespace {

bool has_closed_regions(const GridPoisson& a) {
  return std::any_of(a.closed_cells.begin(), a.closed_cells.end(), [](Index cells) { return cells > 0; });
}

}  // namespace

template <class F>
void for_row_blocks(const RowLayout& layout, F&& f) {
  const auto ny = static_cast<std::size_t>(layout.cells[1]);
  const std::size_t block = std::max<std::size_t>(1, 8192 / static_cast<std::size_t>(layout.cells[0]));
  parallel_for(layout.rows(), block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row)
      f(static_cast<Index>(row % ny), static_cast<Index>(row / ny));
  });
}

}  // namespace

PressureSolver::PressureSolver(GridPoisson a) : a_(std::make_unique<GridPoisson>(std::move(a))) {
  b.assign(a_->layout.size(), 0);
  x.assign(a_->layout.size(), 0);
}

void PressureSolver::remake(const std::array<Index, 3>& cells, int dimensions, FillPoissonRow fill,
                            const std::array<bool, 3>& periodic) {
  if (!a_) a_ = std::make_unique<GridPoisson>();
  scratch_.changes = true;
  make_poisson(*a_, cells, periodic, dimensions, 1, fill, scratch_);
  const std::size_t n = a_->layout.size();
  b.assign(n, 0);
  x.assign(n, 0);
  for (std::vector<Real>* v : {&r_, &z_, &p_, &e_}) v->assign(n, 0);
  ties.clear();
  mic0_.clear();
  multigrid_fits_ = false;
  box_is_known_ = false;
}

BoxPoisson* PressureSolver::box() {
  if (!box_is_known_) {
    box_is_known_ = true;
    box_.reset();
    if (const std::optional<UniformBox> uniform = find_uniform_box(*a_)) {
      box_.emplace(*a_, *uniform);
      box_is_periodic_ = uniform->has_periodic_axis;
    }
  }
  return box_ ? &*box_ : nullptr;
}

PressureMethod PressureSolver::method_for(PressureMethod wanted) {
  const bool transforms = wanted == PressureMethod::cosine || wanted == PressureMethod::fourier;
  if (!transforms && wanted != PressureMethod::automatic) return wanted;
  if (!transforms && scratch_.changes) return PressureMethod::multigrid;
  const BoxPoisson* b = box();
  if (!b || (!transforms && b->largest_factor() > largest_automatic_factor)) return PressureMethod::multigrid;
  return box_is_periodic_ ? PressureMethod::fourier : PressureMethod::cosine;
}

GridMultigrid& PressureSolver::multigrid() {
  if (!multigrid_) multigrid_ = std::make_unique<GridMultigrid>();
  if (!multigrid_fits_) multigrid_->remake(*a_, scratch_.changes);
  multigrid_fits_ = true;
  return *multigrid_;
}

void PressureSolver::add_correction() {
  parallel_for(x.size(), vector_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) x[i] += static_cast<double>(e_[i]);
  });
  fill_row_ghosts(a_->layout, std::span<double>(x));
}

void PressureSolver::conjugate_gradients(Precondition precondition, double tolerance, int max_iterations,
                                         SolveReport& report, double& left) {
  const std::span<Real> r(r_), z(z_), p(p_), e(e_);
  const bool keeps_means = !ties.empty() && has_closed_regions(*a_);
  set_zero(e);
  double rho = 0;
  bool first = true;
  while (report.iterations < max_iterations) {
    const double rho_new = precondition(std::span<const Real>(r_), z);
    if (keeps_means) project_closed_regions(*a_, z), fill_row_ghosts(a_->layout, z);
    if (first)
      copy(std::span<const Real>(z_), p);
    else
      xpay(std::span<const Real>(z_), static_cast<Real>(rho_new / rho), p);
    first = false;
    rho = rho_new;
    const double curvature = energy_product(*a_, p_) + ties.energy(std::span<const Real>(p_));
    if (!(curvature > 0) || !(rho > 0)) {
      report.status =
          std::isfinite(curvature) && std::isfinite(rho) ? SolveStatus::indefinite : SolveStatus::not_finite;
      return;
    }
    const double alpha = rho / curvature;
    left = std::sqrt(step_and_residual(*a_, alpha, p_, e, r));
    if (!ties.empty()) {
      ties.subtract(alpha, r);
      if (keeps_means) project_closed_regions(*a_, r);
      left = norm(std::span<const Real>(r));
    }
    ++report.iterations;
    if (!(left > tolerance)) return;
  }
}

void PressureSolver::sweep(PressureMethod method, Real relaxation) {
  const RowLayout& layout = a_->layout;
  const auto relax_rows = [&]<int D>(const std::vector<Real>& from, std::vector<Real>& to, int colour) {
    for_row_blocks(layout, [&](Index j, Index k) {
      const RowRecords records = records_of(*a_, j, k);
      const Rows<Real> rows = rows_around(layout, from.data(), j, k);
      const Real* rhs = r_.data() + layout.row(j, k);
      Real* out = to.data() + layout.row(j, k);
      const Wide weight = fill(relaxation) * (colour < 0 ? fill(1) : colour_mask((j + k + colour) & 1));
      for (std::size_t c = 0; c < layout.chunks(); ++c) {
        const std::size_t i = c * lanes;
        const Real* w = records[c];
        store_wide(out + i, load_wide(rows.c + i) + weight * load_wide(w + inverse * lanes) *
                                                        (load_wide(rhs + i) - product<D>(records, c, rows)));
      }
      fill_ghosts(out, static_cast<std::size_t>(layout.cells[0]), layout.periodic[0]);
    });
  };
  const auto relax = [&](const std::vector<Real>& from, std::vector<Real>& to, int colour) {
    if (a_->dimensions == 2)
      relax_rows.operator()<2>(from, to, colour);
    else
      relax_rows.operator()<3>(from, to, colour);
  };
  // Whole vectors are stored, so that the halves of a checkerboard go to another array each.
  if (method == PressureMethod::jacobi) {
    relax(e_, z_, -1);
    std::swap(e_, z_);
  } else {
    relax(e_, z_, 0);
    relax(z_, e_, 1);
  }
}

void PressureSolver::make_mic0() {
  // Bridson 2015, "Fluid simulation for computer graphics", figure 5.2: modified by 0.97, safe below 0.25.
  constexpr Real modified = Real(0.97), safe = Real(0.25);
  const RowLayout& layout = a_->layout;
  mic0_.assign(layout.size(), 0);
  for (Index k = 0; k < layout.cells[2]; ++k)
    for (Index j = 0; j < layout.cells[1]; ++j)
      for (Index i = 0; i < layout.cells[0]; ++i) {
        const Real d = a_->diagonal(i, j, k);
        if (!(d > 0)) continue;
        Real e = d;
        const auto without = [&](Index ii, Index jj, Index kk, std::size_t to, std::size_t b1,
                                 std::size_t b2) {
          if (ii < 0 || jj < 0 || kk < 0) return;  // a periodic axis loses the factor's couplings around
          const Real q = mic0_[layout.index(ii, jj, kk)], w = a_->coefficient(ii, jj, kk, to);
          const Real others = a_->coefficient(ii, jj, kk, b1) + a_->coefficient(ii, jj, kk, b2);
          e -= w * q * w * q + modified * w * others * q * q;
        };
        without(i - 1, j, k, to_xp, to_yp, to_zp);
        without(i, j - 1, k, to_yp, to_xp, to_zp);
        without(i, j, k - 1, to_zp, to_xp, to_yp);
        if (e < safe * d) e = d;
        mic0_[layout.index(i, j, k)] = 1 / std::sqrt(e);
      }
}

double PressureSolver::apply_mic0(std::span<const Real> r, std::span<Real> z) {
  const RowLayout& layout = a_->layout;
  const Index nx = layout.cells[0], ny = layout.cells[1], nz = layout.cells[2];
  const auto w = [&](Index i, Index j, Index k, std::size_t f) { return a_->coefficient(i, j, k, f); };
  for (Index k = 0; k < nz; ++k)
    for (Index j = 0; j < ny; ++j)
      for (Index i = 0; i < nx; ++i) {
        const std::size_t c = layout.index(i, j, k);
        const Real q = mic0_[c];
        if (q == 0) continue;
        Real t = r[c];
        const auto from = [&](Index ii, Index jj, Index kk, std::size_t f) {
          const std::size_t n = layout.index(ii, jj, kk);
          t += w(ii, jj, kk, f) * mic0_[n] * z[n];
        };
        if (i > 0) from(i - 1, j, k, to_xp);
        if (j > 0) from(i, j - 1, k, to_yp);
        if (k > 0) from(i, j, k - 1, to_zp);
        z[c] = t * q;
      }
  double sum = 0;
  for (Index k = nz - 1; k >= 0; --k)
    for (Index j = ny - 1; j >= 0; --j) {
      for (Index i = nx - 1; i >= 0; --i) {
        const std::size_t c = layout.index(i, j, k);
        const Real q = mic0_[c];
        if (q == 0) continue;
        Real t = z[c];
        if (i + 1 < nx) t += w(i, j, k, to_xp) * q * z[layout.index(i + 1, j, k)];
        if (j + 1 < ny) t += w(i, j, k, to_yp) * q * z[layout.index(i, j + 1, k)];
        if (k + 1 < nz) t += w(i, j, k, to_zp) * q * z[layout.index(i, j, k + 1)];
        z[c] = t * q;
        sum += static_cast<double>(r[c]) * static_cast<double>(z[c]);
      }
      fill_ghosts(z.data() + layout.row(j, k), static_cast<std::size_t>(nx), layout.periodic[0]);
    }
  return sum;
}

namespace {

bool is_zero(std::span<const double> x) {
  const auto differs = [](std::span<const double> part) {
    return std::any_of(part.begin(), part.end(), [](double v) { return v != 0; });
  };
  // What is warm-started mostly tells so early.
  constexpr std::size_t block = 16384;
  const std::size_t first = std::min(x.size(), block);
  return !differs(x.first(first)) && ordered_reduce(
                                         x.size() - first, block, 0,
                                         [&](std::size_t begin, std::size_t end) {
                                           return differs(x.subspan(first + begin, end - begin)) ? 1 : 0;
                                         },
                                         [](int p, int q) { return p | q; }) == 0;
}

}  // namespace

SolveReport PressureSolver::solve(PressureMethod method, const SolveOptions& options) {
  method = method_for(method);
  // Neither sweeps nor transforms know what bodies add.
  if (!ties.empty() && method != PressureMethod::cg && method != PressureMethod::mic0)
    method = PressureMethod::multigrid;
  // The factor's substitutions are one thread's alone: no other should wait for them.
  if (method == PressureMethod::mic0) return solve_by(method, options);
  SolveReport report;
  with_ready_threads([&] { report = solve_by(method, options); });
  return report;
}

SolveReport PressureSolver::solve_by(PressureMethod method, const SolveOptions& options) {
  const GridPoisson& a = *a_;
  for (std::vector<Real>* v : {&r_, &z_, &p_, &e_})
    if (v->size() != a.layout.size()) v->assign(a.layout.size(), 0);
  imbalance_ = project_closed_regions(a, b);
  SolveReport report;
  report.rhs_norm = norm(std::span<const Real>(b));
  if (report.rhs_norm == 0) {
    std::fill(x.begin(), x.end(), 0.0);
    return report;
  }
  // What a body drives into a closed region as it comes through its wall, or out as it leaves, is shared by
  // all cells of it, so that their mean pressure does not push the body: else it grew without bound.
  if (!ties.empty() && has_closed_regions(a)) project_closed_pressures(a, x);
  fill_row_ghosts(a.layout, std::span<double>(x));
  const double tolerance = std::max(options.absolute_tolerance, options.relative_tolerance * report.rhs_norm);
  // Of the residual as of b, what lies in closed regions and no pressure can balance does not count: the
  // rounding of b and of the residual's own sums.
  const auto measure = [&] {
    double all = std::sqrt(true_residual(a, b, x, r_));
    if (!ties.empty()) {
      ties.energy(std::span<const double>(x));
      ties.subtract(1, r_);
      all = norm(std::span<const Real>(r_));
    }
    if (all <= tolerance || project_closed_regions(a, r_) == 0) return all;
    return norm(std::span<const Real>(r_));
  };
  // From nothing the residual is b, and need not be found.
  double left;
  if (is_zero(x)) {
    std::copy(b.begin(), b.end(), r_.begin());
    left = report.rhs_norm;
  } else {
    left = measure();
  }
  double believed = left;
  report.status = SolveStatus::out_of_iterations;
  const auto identity = [&](std::span<const Real> r, std::span<Real> z) {
    copy(r, z);
    fill_row_ghosts(a.layout, z);
    return dot(r, std::span<const Real>(z));
  };
  if (method == PressureMethod::mic0 && mic0_.empty()) make_mic0();
  const Index longest = *std::max_element(a.layout.cells.begin(), a.layout.cells.end());
  for (;;) {
    if (!std::isfinite(left)) {
      report.status = SolveStatus::not_finite;
      break;
    }
    if (left <= tolerance) {
      report.status = SolveStatus::converged;
      break;
    }
    if (report.status != SolveStatus::out_of_iterations || report.iterations >= options.max_iterations) break;
    const double before = left, goal = std::max(tolerance, deepest * left);
    switch (method) {
      case PressureMethod::jacobi:
      case PressureMethod::gauss_seidel:
      case PressureMethod::sor: {
        // Jacobi damped by its best smoothing factor, which also lets the checkerboard decay (Trottenberg,
        // Oosterlee & Schueller 2001, section 2.1.2); the best factor of successive over-relaxation for the
        // box (Young 1971).
        const Real damped = a.dimensions == 2 ? Real(4) / 5 : Real(6) / 7;
        const Real over = static_cast<Real>(2 / (1 + std::sin(std::numbers::pi / longest)));
        set_zero(std::span<Real>(e_));
        for (int s = 0; s < sweeps_at_a_time && report.iterations < options.max_iterations; ++s) {
          sweep(method, method == PressureMethod::jacobi ? damped
                        : method == PressureMethod::sor  ? over
                                                         : Real(1));
          ++report.iterations;
        }
        break;
      }
      case PressureMethod::cosine:
      case PressureMethod::fourier:
        box()->solve(r_, e_);
        ++report.iterations;
        break;
      case PressureMethod::cg:
        conjugate_gradients(identity, goal, options.max_iterations, report, left);
        break;
      case PressureMethod::mic0:
        conjugate_gradients([&](std::span<const Real> r, std::span<Real> z) { return apply_mic0(r, z); },
                            goal, options.max_iterations, report, left);
        break;
      default:
        conjugate_gradients(multigrid(), goal, options.max_iterations, report, left);
    }
    believed = left;
    add_correction();
    left = measure();
    const bool sweeps = method == PressureMethod::jacobi || method == PressureMethod::gauss_seidel ||
                        method == PressureMethod::sor;
    // Sweeps are slow without being stuck.
    if (report.status == SolveStatus::out_of_iterations && report.iterations < options.max_iterations &&
        left > (sweeps ? 0.9999 : 0.5) * before && left > tolerance)
      report.status = SolveStatus::stagnated;
  }
  report.residual = left / report.rhs_norm;
  report.recursive_residual = believed / report.rhs_norm;
  return report;
}

double PressureSolver::bytes_per_iteration() {
  // Beside the cycle: the search direction (z read, p read and written), its energy (p), the step (p read, x
  // and r read and written).
  return multigrid().bytes_per_cycle() + sizeof(Real) * 9.0 * static_cast<double>(a_->layout.size()) +
         2 * sizeof(Real) * static_cast<double>(a_->coefficients.size());
}

}  // namespace plenum::inline PLENUM_ABI
