// Linearly implicit Euler: one Newton step of backward Euler, solved by filtered conjugate gradients.
// Source: Baraff & Witkin 1998, "Large steps in cloth simulation", eq. 6 and section 5.
#include <algorithm>
#include <limits>

#include "plenum/base/timing.h"
#include "plenum/solvers/springs/detail/steps.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t block = 4096;

/// h F of the air on the right-hand side, and h B / 3 of each triangle on the diagonal of its corners: as if
/// each third of a triangle met the air on its own, which is first order like the rest of the step.
void add_air(const Springs::Model& model, const Springs::State& state, const Springs::Params& params,
             SpringsWorkspace& w, Real h) {
  blow(model, state.particles.x, state.particles.v, params, w);
  parallel_for(model.mass.size(), block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Mat3 sum = Mat3::Zero();
      for (const Index t : w.incident[i]) {
        const AirForce<Real>& air = w.air[std::size_t(t)];
        sum += air.w * air.w.transpose();
        sum.diagonal().array() += air.across;
      }
      w.base[i] += h / 9 * sum.trace();  // what multigrid is told of it
      w.system.matrix().add_diagonal(Index(i), (h / 3) * sum);
      w.rhs[i] += h * air_on(w, i);
    }
  });
}

/// The scalar diagonal, in w.diagonal.
void find_diagonal(SpringsWorkspace& w, std::size_t n) {
  w.diagonal.resize(3 * n);
  parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
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
  const SpringPairs pairs(model, w.penalty_stiffness);
  std::vector<Real> strength = pairs.stiffness;
  for (Real& k : strength) k = std::max(k, std::numeric_limits<Real>::min());
  w.multigrid = std::make_unique<NetMultigrid<Real>>(Index(inverse_mass.size()), pairs.edges,
                                                     std::span<const Real>(strength), w.multigrid_held);
  return *w.multigrid;
}

/// Rounding moves a particle by about epsilon times the net's size, which a spring answers by h^2 k / m times
/// as much. Beyond 1 / (8 epsilon) that answer drowns gravity, and no solve converges; the strain that a
/// spring of this stiffness shows under its own particle, 8 epsilon g h^2 / l, is far below what anyone sees.
/// m is the largest mass, so that light particles which carry a heavy one are not softened.
Real largest_stiffness(Real heaviest, Real h) {
  return heaviest / (8 * std::numeric_limits<Real>::epsilon() * h * h);
}

}  // namespace

SolveReport solve_linear(const Springs::Model& model, const Springs::Params& params,
                         std::span<const Real> inverse_mass, SpringsWorkspace& w, std::span<const Real> b,
                         std::span<Real> x) {
  const auto filter = [&](std::span<Real> y) {
    for (const Index i : model.pinned)
      if (inverse_mass[std::size_t(i)] == 0) y[3 * i] = y[3 * i + 1] = y[3 * i + 2] = 0;
  };
  const SolveOptions options{.relative_tolerance = double(params.tolerance),
                             .max_iterations = params.max_iterations};
  const auto& matrix = w.system.matrix();
  switch (params.preconditioner) {
    case Springs::Preconditioner::none:
      break;
    case Springs::Preconditioner::jacobi:
      find_diagonal(w, inverse_mass.size());
      w.jacobi.update(w.diagonal);
      return pcg<Real>(matrix, w.jacobi, b, x, w.pcg, options, filter);
    case Springs::Preconditioner::block_jacobi:
      w.block_jacobi.update(matrix);
      return pcg<Real>(matrix, w.block_jacobi, b, x, w.pcg, options, filter);
    case Springs::Preconditioner::incomplete_cholesky:
      if (!w.incomplete_cholesky)
        w.incomplete_cholesky = std::make_unique<IncompleteCholesky<Real>>(matrix.pattern());
      w.incomplete_cholesky->update(matrix);
      return pcg<Real>(matrix, *w.incomplete_cholesky, b, x, w.pcg, options, filter);
    case Springs::Preconditioner::multigrid: {
      NetMultigrid<Real>& multigrid = multigrid_of(model, inverse_mass, w);
      multigrid.update(matrix, std::span<const Real>(w.base));
      return pcg<Real>(matrix, multigrid, b, x, w.pcg, options, filter);
    }
  }
  return pcg<Real>(matrix, IdentityPreconditioner{}, b, x, w.pcg, options, filter);
}

void implicit_euler_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                         SpringsWorkspace& w, Real h, Report& report) {
  const std::size_t n = model.mass.size();
  // Named one by one: clang 14 captures no structured bindings.
  auto& x = state.particles.x;
  auto& v = state.particles.v;
  const auto& inverse_mass = state.particles.inverse_mass;
  {
    const StageTimer timer(report.stages, "assemble");
    parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) w.base[i] = model.mass[i] * (1 + h * params.point_damping);
    });
    const Real limit = largest_stiffness(w.heaviest, h);
    w.system.assemble(x, v, w.base, h, params.stiffness_scale, params.damping_scale, w.rhs, limit);
    if (w.stiffest * params.stiffness_scale > limit)
      report.warn(
          "springs stiffer than the precision can tell at this step act a little softer; raise substeps");
    parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        w.rhs[i] += h * model.mass[i] * (params.gravity - params.point_damping * v[i]);
    });
    if (has_air(model, params)) add_air(model, state, params, w, h);
    if (has_penalty(model, params))
      for_each_bead_constraint(model, x, [&](std::size_t i, Real value, const Vec3& gradient) {
        const Real hk = h * params.penalty_stiffness;
        w.rhs[i] -= hk * (value + h * gradient.dot(v[i])) * gradient;
        w.system.matrix().add_diagonal(Index(i), h * hk * gradient * gradient.transpose());
      });
  }
  SolveReport solve;
  {
    const StageTimer timer(report.stages, "solve");
    // Held particles already have their velocity: it does not change.
    for (const Index i : model.pinned)
      if (inverse_mass[std::size_t(i)] == 0) state.velocity_change[std::size_t(i)].setZero();
    solve =
        solve_linear(model, params, inverse_mass, w, flat(std::as_const(w.rhs)), flat(state.velocity_change));
  }
  report.iterations += solve.iterations;
  report.measure("residual", solve.residual);
  if (solve.status == SolveStatus::out_of_iterations)
    report.warn("the linear solve ran out of iterations; raise max_iterations or tolerance");
  if (solve.status == SolveStatus::stagnated)
    report.warn("the linear solve reached the limit of the precision; raise tolerance");
  const StageTimer timer(report.stages, "move");
  parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      v[i] += state.velocity_change[i];
      x[i] += h * v[i];
    }
  });
  if (w.multipliers.empty()) return;
  // The step went where the springs wanted; the constraints' impulses take it to the nearest place they
  // allow.
  set_zero(flat(w.moved));
  w.multipliers.project_positions(x, inverse_mass, 8, w.moved);
  axpy<Real>(1 / h, flat(std::as_const(w.moved)), flat(v));
}

}  // namespace plenum::inline PLENUM_ABI
