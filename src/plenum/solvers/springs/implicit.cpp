// Linearly implicit Euler: one Newton step of backward Euler, solved by filtered conjugate gradients.
// Source: Baraff & Witkin 1998, "Large steps in cloth simulation", eq. 6 and section 5. Strict constraints
// are part of the solve, with the stiffness of their forces, as in Tournier, Nesme, Gilles & Faure 2015,
// "Stable constrained dynamics"; the same for rigid bodies in Andrews, Teichmann & Kry 2017, "Geometric
// stiffness for real-time constrained multibody dynamics".
#include <algorithm>
#include <limits>

#include "plenum/base/timing.h"
#include "plenum/solvers/springs/detail/steps.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t block = 4096;
constexpr int newton_steps = 12;  // that a projection on strict constraints takes in a part short enough

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
  const SpringPairs pairs(model, w.penalty_stiffness, true);
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

std::span<Vec3> as_vectors(std::span<Real> flat) {
  return {reinterpret_cast<Vec3*>(flat.data()), flat.size() / 3};
}

/// Calls of(i) for all n particles.
template <class F>
void for_all(std::size_t n, F&& of) {
  parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) of(i);
  });
}

/// Where inertia and pins alone would take the net in h: w.ahead with velocities w.towards, on the strict
/// constraints. Returns the error left of those [m].
double follow_inertia(const Springs::State& state, SpringsWorkspace& w, Real h) {
  const auto& x = state.particles.x;
  const auto& v = state.particles.v;
  for_all(x.size(), [&](std::size_t i) {
    w.ahead[i] = x[i] + h * v[i];
    w.moved[i].setZero();
  });
  const double error =
      w.multipliers.project_positions(w.ahead, state.particles.inverse_mass, newton_steps, w.moved);
  for_all(x.size(), [&](std::size_t i) { w.towards[i] = v[i] + w.moved[i] / h; });
  return error;
}

/// Linearizes the step for strict constraints at w.ahead, where follow_inertia() leads. For a net at rest
/// this is where it is, so that it rests in equilibrium; and where pins come together, a straight rope has
/// already bent. Finds the forces of the constraints there, and gives the system the stiffness that the rods'
/// tension has against turning.
void look_ahead(const Springs::Model& model, const Springs::State& state, const Springs::Params& params,
                SpringsWorkspace& w, Real h) {
  // Named one by one: clang 14 captures no structured bindings.
  const auto& x = state.particles.x;
  const auto& v = state.particles.v;
  const auto& inverse_mass = state.particles.inverse_mass;
  find_forces(model, x, v, params, w);
  for_all(x.size(), [&](std::size_t i) {
    w.moved[i] = inverse_mass[i] > 0
                     ? Vec3(params.gravity - params.point_damping * v[i] + inverse_mass[i] * w.rhs[i])
                     : Vec3(Vec3::Zero());
  });
  w.multipliers.accelerate(w.ahead, w.towards, inverse_mass, 0, w.moved);
  w.multipliers.rod_stiffness(w.rod_stiffness);
  const Real limit = largest_stiffness(w.heaviest, h);
  for (Real& k : w.rod_stiffness) k = std::min(k, limit);
  if (!w.rod_stiffness.empty()) w.system.set_turning(w.rod_stiffness);
}

/// The constraints' forces turn with the points: -h K (x + h v - ahead) = -h^2 K (v - towards) on the
/// right-hand side, of which the system has -h^2 K v for rods already; and h^2 K of beads in the matrix.
void add_turning(const Springs::Model& model, const Springs::State& state, SpringsWorkspace& w, Real h) {
  const auto& rods = model.constraints.rods;
  for (std::size_t r = 0; r < rods.size(); ++r) {
    const auto i = std::size_t(rods[r][0]), j = std::size_t(rods[r][1]);
    const Vec3 impulse = h * h * w.rod_stiffness[r] * (w.towards[j] - w.towards[i]);
    w.rhs[i] -= impulse;
    w.rhs[j] += impulse;
  }
  w.multipliers.for_each_bead_stiffness(w.ahead, [&](Index point, const Mat3& stiffness) {
    const auto i = std::size_t(point);
    w.rhs[i] -= h * h * (stiffness * (state.particles.v[i] - w.towards[i]));
    w.system.matrix().add_diagonal(point, h * h * stiffness);
  });
}

}  // namespace

SolveReport solve_linear(const Springs::Model& model, const Springs::Params& params,
                         std::span<const Real> inverse_mass, SpringsWorkspace& w, std::span<const Real> b,
                         std::span<Real> x, Multipliers<Real>* strict) {
  const auto hold = [&](std::span<Real> y) {
    for (const Index i : model.pinned)
      if (inverse_mass[std::size_t(i)] == 0) y[3 * i] = y[3 * i + 1] = y[3 * i + 2] = 0;
  };
  // An orthogonal projection on what pins and constraints leave free.
  const auto filter = [&](std::span<Real> y) {
    hold(y);
    if (strict) strict->filter(as_vectors(y));
  };
  SolveOptions options{.relative_tolerance = double(params.tolerance),
                       .max_iterations = params.max_iterations};
  const auto& matrix = w.system.matrix();
  if (strict) {
    // Constraints may carry nearly all of b, and then what is left of it is rounding: of Real, or in double
    // that of the filter, whose own solve ends at 1e-13 and which errs by as much times the number of rods
    // in a chain.
    constexpr double rounding = std::max(4 * double(std::numeric_limits<Real>::epsilon()), 1e-10);
    const std::span<Real> rest = flat(w.moved);
    copy(b, rest);
    hold(rest);
    const double whole = norm(flat(std::as_const(w.moved)));
    matrix.residual(b, std::span<const Real>(x), rest);
    hold(rest);
    options.absolute_tolerance = rounding * (whole + norm(flat(std::as_const(w.moved))));
  }
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

namespace {

/// The step, after follow_inertia() if there are strict constraints. Returns the error left of those [m].
double one_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                SpringsWorkspace& w, Real h, Report& report) {
  const std::size_t n = model.mass.size();
  // Named one by one: clang 14 captures no structured bindings.
  auto& x = state.particles.x;
  auto& v = state.particles.v;
  const auto& inverse_mass = state.particles.inverse_mass;
  const bool strict = !w.multipliers.empty();
  {
    const StageTimer timer(report.stages, "assemble");
    if (strict) look_ahead(model, state, params, w, h);
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
    if (strict) add_turning(model, state, w, h);
  }
  SolveReport solve;
  {
    const StageTimer timer(report.stages, "solve");
    // Held particles already have their velocity: it does not change.
    for (const Index i : model.pinned)
      if (inverse_mass[std::size_t(i)] == 0) state.velocity_change[std::size_t(i)].setZero();
    if (strict) {
      // The guess must meet J (x + h (v + dv) - ahead) = 0, which the solve then keeps.
      auto& change = state.velocity_change;
      w.multipliers.prepare_filter(w.ahead, inverse_mass);
      for (std::size_t i = 0; i < n; ++i) w.moved[i] = inverse_mass[i] > 0 ? w.towards[i] - v[i] : change[i];
      for (std::size_t i = 0; i < n; ++i) change[i] -= w.moved[i];
      w.multipliers.filter(change);
      for (std::size_t i = 0; i < n; ++i) change[i] += w.moved[i];
    }
    solve = solve_linear(model, params, inverse_mass, w, flat(std::as_const(w.rhs)),
                         flat(state.velocity_change), strict ? &w.multipliers : nullptr);
    // Constraints that contradict each other can leave the solve worse off than without it.
    if (strict && !solve.converged() && !(solve.residual <= 1))
      for (std::size_t i = 0; i < n; ++i)
        if (inverse_mass[i] > 0) state.velocity_change[i] = w.towards[i] - v[i];
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
  if (!strict) return 0;
  // The step ended on tangents to the constraints; the rest of the way is of second order.
  set_zero(flat(w.moved));
  const double error = w.multipliers.project_positions(x, inverse_mass, 4 * newton_steps, w.moved);
  axpy<Real>(1 / h, flat(std::as_const(w.moved)), flat(v));
  return error;
}

}  // namespace

void implicit_euler_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                         SpringsWorkspace& w, Real h, Report& report) {
  if (w.multipliers.empty()) {
    one_step(model, state, params, w, h, report);
    return;
  }
  // Newton's method must find its way back to the strict constraints from where inertia leads, and then from
  // where the step does. A fast rope of many short rods bends within a few of them, and what is linear there
  // ends soon: the step is divided by two, and again, until it does. If no part is short enough, constraints
  // contradict each other, and the rest is taken as it is.
  constexpr int most = 32;
  double shortest = 1;  // [m]
  for (const Real length : model.constraints.rod_length) shortest = std::min(shortest, double(length));
  const double tolerance = 1e-3 * shortest;
  int parts = 0;
  for (int done = 0, size = most; done < most; done += size, ++parts) {
    while (done % (2 * size) == 0 && 2 * size <= most - done) size *= 2;
    w.part_x = state.particles.x;
    w.part_v = state.particles.v;
    bool found = false;
    for (;; size /= 2) {
      const Real part = h * static_cast<Real>(size) / most;
      found = follow_inertia(state, w, part) <= tolerance &&
              one_step(model, state, params, w, part, report) <= tolerance;
      if (found) break;
      state.particles.x = w.part_x;
      state.particles.v = w.part_v;
      set_zero(flat(state.velocity_change));
      if (size == 1) break;
    }
    if (found) continue;
    size = most - done;
    const Real rest = h * static_cast<Real>(size) / most;
    follow_inertia(state, w, rest);
    one_step(model, state, params, w, rest, report);
  }
  report.measure("parts", parts);
}

}  // namespace plenum::inline PLENUM_ABI
