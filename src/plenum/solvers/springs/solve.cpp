// The linear systems of a net's implicit steps, by conjugate gradients within pins, supports and strict
// constraints.
#include <algorithm>
#include <limits>

#include "plenum/solvers/springs/detail/block.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// The scalar diagonal, in w.diagonal.
void find_diagonal(SpringsWorkspace& w, std::size_t n) {
  w.diagonal.resize(3 * n);
  parallel_for(n, net_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Mat3 here = w.system.matrix().diagonal(Index(i));
      for (int c = 0; c < 3; ++c) w.diagonal[3 * i + std::size_t(c)] = here(c, c);
    }
  });
}

/// The multigrid hierarchy of the net with its held particles; made anew if those have changed.
NetMultigrid<Real>& multigrid_of(const Springs::Model& model, std::span<const Real> inverse_mass,
                                 SpringsWorkspace& w) {
  const auto is_held = [&](std::size_t i) { return static_cast<char>(inverse_mass[i] == 0); };
  bool same = w.multigrid != nullptr && w.multigrid_held.size() == inverse_mass.size();
  for (std::size_t p = 0; same && p < model.pinned.size(); ++p) {
    const auto i = static_cast<std::size_t>(model.pinned[p]);
    same = w.multigrid_held[i] == is_held(i);
  }
  if (same) return *w.multigrid;
  w.multigrid_held.resize(inverse_mass.size());
  for (std::size_t i = 0; i < inverse_mass.size(); ++i) w.multigrid_held[i] = is_held(i);
  const SpringPairs pairs(model, w.penalty_stiffness, true);
  std::vector<Real> strength = pairs.stiffness;
  for (Real& k : strength) k = std::max(k, std::numeric_limits<Real>::min());
  w.multigrid = std::make_unique<NetMultigrid<Real>>(Index(inverse_mass.size()), pairs.edges,
                                                     std::span<const Real>(strength), w.multigrid_held);
  return *w.multigrid;
}

/// w.told = w.base, and what multigrid has to know of supports so that its coarse levels do not carry off
/// what stands still: the share of the diagonal that they hold, and their friction.
void tell_of_supports(SpringsWorkspace& w) {
  w.told = w.base;
  const auto held = w.supports.held();
  const auto free = w.supports.free();
  for (std::size_t k = 0; k < held.size(); ++k) {
    const Real diagonal = w.system.matrix().diagonal(held[k]).trace() / 3;
    w.told[std::size_t(held[k])] += diagonal * (3 - free[k].trace()) / 3;
  }
  w.supports.for_each_friction([&](Index particle, const Mat3& drag, const Vec3&) {
    w.told[std::size_t(particle)] += drag.trace() / 3;
  });
}

}  // namespace

SolveReport solve_linear(const Springs::Model& model, const Springs::Params& params,
                         std::span<const Real> inverse_mass, SpringsWorkspace& w, std::span<const Real> b,
                         std::span<Real> x, double relative_tolerance, double absolute_tolerance,
                         Multipliers<Real>* strict) {
  const auto hold = [&](std::span<Real> y) {
    for (const Index i : model.pinned)
      if (inverse_mass[std::size_t(i)] == 0) y[3 * i] = y[3 * i + 1] = y[3 * i + 2] = 0;
  };
  // A projection on what pins, supports and constraints leave free.
  struct Filter {
    const decltype(hold)& pins;
    const SupportSet& supports;
    Multipliers<Real>* strict;
    void operator()(std::span<Real> y) const {
      pins(y);
      supports.hold(as_vectors(y));
      if (strict) strict->filter(as_vectors(y));
    }
    void dual(std::span<Real> y) const {
      pins(y);
      supports.hold(as_vectors(y));
      if (!strict) return;
      strict->filter_dual(as_vectors(y));
      supports.hold(as_vectors(y));
    }
  };
  const Filter filter{hold, w.supports, strict};
  SolveOptions options{.relative_tolerance = relative_tolerance,
                       .absolute_tolerance = absolute_tolerance,
                       .max_iterations = params.max_iterations};
  const auto& matrix = w.system.matrix();
  const NetMatrix whole_matrix = w.matrix();
  if (strict) {
    // They converge in a few times the stiffest mode's share, or contradict each other.
    options.max_iterations = std::min(options.max_iterations, 300);
    // Constraints may carry nearly all of b, and then what is left of it is rounding: of Real, or in double
    // that of the filter, whose own solve ends at 1e-13 and which errs by as much times the number of rods
    // in a chain.
    constexpr double rounding = std::max(4 * double(std::numeric_limits<Real>::epsilon()), 1e-10);
    const std::span<Real> rest = flat(w.moved);
    copy(b, rest);
    hold(rest);
    const double whole = norm(flat(std::as_const(w.moved)));
    whole_matrix.residual(b, std::span<const Real>(x), rest);
    hold(rest);
    options.absolute_tolerance += rounding * (whole + norm(flat(std::as_const(w.moved))));
  }
  // A stiff light chain answers what is left of a residual by its weight alone: a thousandth of its springs'
  // forces would throw it about. It is cheap to leave nothing but rounding.
  if (!strict && w.chain) {
    const SolveReport report = solve_chain(model, inverse_mass, w, b, x, params.max_iterations);
    if (report.converged()) return report;
  }
  switch (params.preconditioner) {
    case Springs::Preconditioner::none:
      break;
    case Springs::Preconditioner::jacobi:
      find_diagonal(w, inverse_mass.size());
      w.jacobi.update(w.diagonal);
      return pcg<Real>(whole_matrix, w.jacobi, b, x, w.pcg, options, filter);
    case Springs::Preconditioner::block_jacobi:
      w.block_jacobi.update(matrix);
      return pcg<Real>(whole_matrix, w.block_jacobi, b, x, w.pcg, options, filter);
    case Springs::Preconditioner::incomplete_cholesky:
      if (!w.incomplete_cholesky)
        w.incomplete_cholesky = std::make_unique<IncompleteCholesky<Real>>(matrix.pattern());
      w.incomplete_cholesky->update(matrix);
      return pcg<Real>(whole_matrix, *w.incomplete_cholesky, b, x, w.pcg, options, filter);
    case Springs::Preconditioner::multigrid: {
      NetMultigrid<Real>& multigrid = multigrid_of(model, inverse_mass, w);
      if (!w.supports.empty()) tell_of_supports(w);
      multigrid.update(matrix, std::span<const Real>(w.supports.empty() ? w.base : w.told));
      return pcg<Real>(whole_matrix, multigrid, b, x, w.pcg, options, filter);
    }
  }
  return pcg<Real>(whole_matrix, IdentityPreconditioner{}, b, x, w.pcg, options, filter);
}

}  // namespace plenum::inline PLENUM_ABI
