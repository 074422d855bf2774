// Linearly implicit Euler: one Newton step of backward Euler, solved by filtered conjugate gradients
// (implicit_parts.cpp divides steps that are too long for one).
// Source: Baraff & Witkin 1998, "Large steps in cloth simulation", eq. 6 and section 5. Strict constraints
// are part of the solve, with the stiffness of their forces, as in Tournier, Nesme, Gilles & Faure 2015,
// "Stable constrained dynamics"; the same for rigid bodies in Andrews, Teichmann & Kry 2017, "Geometric
// stiffness for real-time constrained multibody dynamics".
#include <algorithm>
#include <limits>

#include "plenum/base/timing.h"
#include "plenum/solvers/springs/detail/block.h"
#include "plenum/solvers/springs/detail/implicit_part.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// h F of the air on the right-hand side, and a third of h (across I + w w^T) of each triangle on the
/// diagonal of its corners: as if each third of a triangle met the air on its own, which is first order like
/// the rest of the step.
void add_air(const Springs::Model& model, const Springs::State& state, const Springs::Params& params,
             SpringsWorkspace& w, Real h) {
  blow(model, state.particles.x, state.particles.v, params, w, h);
  parallel_for(model.mass.size(), net_block, [&](std::size_t begin, std::size_t end) {
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

/// Calls of(i) for all n particles.
template <class F>
void for_all(std::size_t n, F&& of) {
  parallel_for(n, net_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) of(i);
  });
}

/// Root of the sum of m |y|^2 over free particles [kg^1/2 m].
double mass_norm(const Springs::Model& model, const Springs::State& state, std::span<const Vec3> y) {
  return std::sqrt(ordered_sum(y.size(), net_block, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i)
      if (state.particles.inverse_mass[i] > 0) sum += double(model.mass[i]) * double(y[i].squaredNorm());
    return sum;
  }));
}

/// How far [kg^1/2 m] a projection on strict constraints may move a net that went astray in h: the net came
/// from a place where they held, which is as far away as it has travelled, so that what is nearest is no
/// farther. With room for pins, and for starts that were off by a tenth of the shortest rod. Where Newton's
/// method wants more it has lost its way: rods that lie straight between pins and are too long for it, say,
/// ask for an endless move across.
double farthest_projection(const Springs::Model& model, const Springs::State& state, SpringsWorkspace& w,
                           Real h) {
  double total = 0;
  for (const Real m : model.mass) total += double(m);
  double pin_speed = 0;
  for (const Index i : model.pinned)
    if (state.particles.inverse_mass[std::size_t(i)] == 0)
      pin_speed = std::max(pin_speed, double(state.particles.v[std::size_t(i)].norm()));
  return 1.2 * double(h) * mass_norm(model, state, state.particles.v) +
         std::sqrt(total) * (double(h) * pin_speed + 0.1 * w.shortest_rod);
}

/// Where inertia, pins and supports alone would take the net in h: w.ahead with velocities w.towards, on the
/// strict constraints. False if the way back to those is not found.
bool follow_inertia(const Springs::Model& model, const Springs::State& state, SpringsWorkspace& w, Real h) {
  const auto& x = state.particles.x;
  const auto& v = state.particles.v;
  for_all(x.size(), [&](std::size_t i) {
    w.towards[i] = v[i];
    w.moved[i].setZero();
  });
  w.supports.lead(w.towards);
  for_all(x.size(), [&](std::size_t i) { w.ahead[i] = x[i] + h * w.towards[i]; });
  const double error =
      w.multipliers.project_positions(w.ahead, state.particles.inverse_mass, projection_steps, w.moved);
  for_all(x.size(), [&](std::size_t i) { w.towards[i] += w.moved[i] / h; });
  return error <= strict_tolerance * w.shortest_rod &&
         mass_norm(model, state, w.moved) <= farthest_projection(model, state, w, h);
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
  w.supports.hold(w.moved);
  w.multipliers.accelerate(w.ahead, w.towards, inverse_mass, 0, w.moved);
  w.multipliers.rod_stiffness(w.rod_stiffness);
  const Real limit = largest_stiffness(w, h);
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

/// Makes the first guess of a solve, dv in `change`, one that pins, supports and `strict` constraints allow.
void guess_allowed(const Springs::State& state, SpringsWorkspace& w, std::span<Vec3> change, bool strict) {
  const auto& v = state.particles.v;
  const auto& inverse_mass = state.particles.inverse_mass;
  const auto held = w.supports.held();
  const auto free = w.supports.free();
  const auto target = w.supports.target();
  const auto to_target = [&](std::size_t k, const Vec3& dv) -> Vec3 {
    const Vec3& now = v[std::size_t(held[k])];
    return target[k] - (now - free[k] * now) - (dv - free[k] * dv);
  };
  if (!strict) {
    for (std::size_t k = 0; k < held.size(); ++k) {
      Vec3& dv = change[std::size_t(held[k])];
      dv += to_target(k, dv);
    }
    return;
  }
  // It must meet J (x + h (v + dv) - ahead) = 0, which the solve then keeps, as w.towards does. Supports that
  // came to act since then change that along their normals, and along the rods to the others.
  const std::size_t n = v.size();
  w.filter_weight.resize(n);
  for_all(n, [&](std::size_t i) {
    const Real diagonal = w.system.matrix().diagonal(Index(i)).trace() / 3;
    w.filter_weight[i] = inverse_mass[i] > 0 ? 1 / diagonal : Real(0);
  });
  w.multipliers.prepare_filter(w.ahead, w.filter_weight);
  for_all(n, [&](std::size_t i) { w.moved[i].setZero(); });
  for (std::size_t k = 0; k < held.size(); ++k) {
    const auto i = std::size_t(held[k]);
    w.moved[i] = to_target(k, w.towards[i] - v[i]);
  }
  w.multipliers.filter(w.moved);
  for_all(n, [&](std::size_t i) {
    if (inverse_mass[i] > 0) w.towards[i] += w.moved[i];
    w.moved[i] = inverse_mass[i] > 0 ? Vec3(w.towards[i] - v[i]) : change[i];
    change[i] -= w.moved[i];
  });
  w.supports.hold(change);
  w.multipliers.filter(change);
  for_all(n, [&](std::size_t i) { change[i] += w.moved[i]; });
}

/// w.on_held = the impulses that keep what supports hold where the solve has put it.
void find_reactions(const Springs::Model& model, const Springs::State& state, SpringsWorkspace& w,
                    bool strict) {
  w.reaction.resize(model.mass.size());
  w.matrix().residual(flat(std::as_const(w.rhs)), flat(state.velocity_change), flat(w.reaction));
  for (const Index i : model.pinned)
    if (state.particles.inverse_mass[std::size_t(i)] == 0) w.reaction[std::size_t(i)].setZero();
  if (strict) w.multipliers.filter_dual(w.reaction);
  w.on_held.clear();
  for (const Index i : w.supports.held()) w.on_held.push_back(-w.reaction[std::size_t(i)]);
}

/// Friction of what slides on supports, as part of the system. Keeps what was there for remove_friction(): of
/// sums in single precision nothing can be taken away again.
void add_friction(const Springs::State& state, SpringsWorkspace& w) {
  w.without_friction.clear();
  w.supports.for_each_friction([&](Index particle, const Mat3& drag, const Vec3& impulse) {
    const auto i = std::size_t(particle);
    w.without_friction.push_back({particle, w.system.matrix().diagonal(particle), w.rhs[i]});
    w.system.matrix().add_diagonal(particle, drag);
    w.rhs[i] += impulse - drag * state.particles.v[i];
  });
}

void remove_friction(SpringsWorkspace& w) {
  // Of a particle with several, the first to be added was without any.
  for (std::size_t k = w.without_friction.size(); k-- > 0;) {
    const SpringsWorkspace::WithoutFriction& was = w.without_friction[k];
    w.system.matrix().set_diagonal(was.particle, was.diagonal);
    w.rhs[std::size_t(was.particle)] = was.rhs;
  }
}

/// [kg m/s] what a residual may be where solids are met: the tolerance, of momentum and weight. What stiff
/// springs answer an impact with is thousands of times that, and a thousandth of it would throw a net.
double fine_residual(const Springs::Model& model, const Springs::State& state, const Springs::Params& params,
                     Real h) {
  const auto& v = state.particles.v;
  const Real fall = (h * params.gravity).squaredNorm();
  const double squares = mass_sum(model, state.particles.inverse_mass,
                                  [&](std::size_t i) { return model.mass[i] * (v[i].squaredNorm() + fall); });
  return double(params.tolerance) * std::sqrt(squares);
}

/// Solves for state.velocity_change within pins, supports and `strict` constraints. Adds to `turns`.
SolveReport solve_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                       SpringsWorkspace& w, Real h, bool strict, double& turns) {
  auto& change = state.velocity_change;
  const auto& v = state.particles.v;
  const auto& inverse_mass = state.particles.inverse_mass;
  // Held particles already have their velocity: it does not change.
  for (const Index i : model.pinned)
    if (inverse_mass[std::size_t(i)] == 0) change[std::size_t(i)].setZero();
  // Turns that may come to other supports need no more digits than the signs that decide on them, beside
  // momentum and weights; the friction of a chain, which adds up along it, does. (A cloth of 7 000 particles
  // that slips from a ball takes half the iterations so.)
  // Nor may what is left of a stiff net's forces push what turns with a frame about, from step to step: what
  // hangs from a corner would go faster and faster.
  const bool meets = !strict && !w.supports.held().empty(), turns_about = !strict && w.rigid.any();
  constexpr double finest = 0.01;  // beyond which single precision has no digits to answer with
  const double relative = (meets || turns_about ? finest : 1) * double(params.tolerance);
  double fine = meets || turns_about ? fine_residual(model, state, params, h) : 0;
  if (!meets && turns_about) {
    const double squares = ordered_sum(v.size(), net_block, [&](std::size_t begin, std::size_t end) {
      double sum = 0;
      for (std::size_t i = begin; i < end; ++i)
        if (inverse_mass[i] > 0) sum += double(w.rhs[i].squaredNorm());
      return sum;
    });
    // Small nets have few modes to lose in what a solve has left over, and are cheap to solve.
    const double small = v.size() < 1000 ? 0.1 : 1.0;
    fine = small * std::min(fine, double(params.tolerance) * std::sqrt(squares));
  }
  const double rough =
      strict ? 0 : std::max(10 * fine, 0.01 * double(h * params.gravity.norm()) * norm<Real>(model.mass));
  int iterations = 0;
  const bool chain = strict || w.chain;
  const int most = chain ? 6 : 3;  // turns that find out which supports act; chains are cheap
  bool settled = w.supports.empty();
  for (int turn = 1;; ++turn) {
    ++turns;
    if (!strict &&
        w.supports.stick(stiff_drag, [&](Index i) { return w.system.matrix().diagonal(i).trace() / 3; }))
      w.multipliers.confine(w.supports.held(), w.supports.free());
    guess_allowed(state, w, change, strict);
    add_friction(state, w);
    SolveReport solve = solve_linear(model, params, inverse_mass, w, flat(std::as_const(w.rhs)), flat(change),
                                     relative, settled ? fine : rough, strict ? &w.multipliers : nullptr);
    solve.iterations = iterations += solve.iterations;
    // What conjugate gradients have lost is worse than no answer.
    if (!strict && !(solve.residual <= 1)) {
      for_all(v.size(), [&](std::size_t i) {
        if (inverse_mass[i] > 0) change[i].setZero();
      });
      guess_allowed(state, w, change, strict);
    }
    if (w.supports.empty()) return solve;
    find_reactions(model, state, w, strict);
    remove_friction(w);
    for_all(v.size(), [&](std::size_t i) { w.reaction[i] = v[i] + change[i]; });
    // Friction of nets follows in the next steps, from what pressed in this one.
    if (settled) {
      // What only the last digits have let pass is held after all.
      if (turn >= 2 * most || !w.supports.catch_passing(w.reaction)) return solve;
      w.multipliers.confine(w.supports.held(), w.supports.free());
      continue;
    }
    const SupportSet::Verdict verdict = w.supports.review(w.reaction, w.on_held, inverse_mass);
    const bool again = verdict == SupportSet::Verdict::unsettled ||
                       (verdict == SupportSet::Verdict::friction && (chain || turn == 1));
    w.multipliers.confine(w.supports.held(), w.supports.free());
    settled = !again || turn + 1 >= most;
    if (settled) w.supports.settle(w.reaction);
  }
}

}  // namespace

Real largest_stiffness(const SpringsWorkspace& w, Real h) {
  return w.heaviest / ((w.chain ? 8 : 32) * std::numeric_limits<Real>::epsilon() * h * h);
}

void find_frames(const Springs::Model& model, const Springs::State& state, SpringsWorkspace& w) {
  const auto& particles = state.particles;
  w.rigid.find(particles.x, particles.v, model.mass, particles.inverse_mass, w.supports);
  w.rigid.take_from(particles.x, particles.v, 0, w.deviation);
}

PartEnd implicit_part(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                      SpringsWorkspace& w, Real elapsed, Real h, bool strict, Report& report) {
  if (w.rigid.any()) w.rigid.bend(state.particles.x, h, w.bent);
  w.supports.begin(w.rigid.any() ? w.bent : state.particles.x, state.particles.v,
                   state.particles.inverse_mass, state.pressed, params.gravity, elapsed, h,
                   !w.multipliers.empty());
  w.multipliers.confine(w.supports.held(), w.supports.free());
  if (strict && !follow_inertia(model, state, w, h)) return PartEnd::not_met;
  const std::size_t n = model.mass.size();
  // Named one by one: clang 14 captures no structured bindings.
  auto& x = state.particles.x;
  auto& v = state.particles.v;
  const auto& inverse_mass = state.particles.inverse_mass;
  {
    const StageTimer timer(report.stages, "assemble");
    // Stiffness acts on what turns a piece out of its frame, not on the frame's own gain.
    w.rigid.take_from(x, v, h, w.deviation);
    w.volumes.find(x, w.deviation, h);
    if (strict) look_ahead(model, state, params, w, h);
    parallel_for(n, net_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) w.base[i] = model.mass[i] * (1 + h * params.point_damping);
    });
    const Real limit = largest_stiffness(w, h);
    // Where strict constraints give way or bodies yield, after the step, all stretch is counted as tension:
    // it damps what no shorter part could take back.
    const Real travelled = w.multipliers.empty() && !w.supports.movable() ? h : Real(0);
    w.system.assemble(x, w.deviation, w.base, h, params.stiffness_scale, damping_factor(params), w.rhs, limit,
                      travelled);
    w.volumes.assemble(x, w.deviation, h, limit, w.system.matrix(), w.rhs);
    // The limit grows with the square of the substeps.
    if (const Real beyond = w.stiffest * params.stiffness_scale / limit; beyond > 1)
      report.warn(
          "springs stiffer than the precision can tell at this step act softer, by the square of the factor "
          "that substeps lack",
          1, static_cast<std::int64_t>(std::ceil(std::sqrt(double(beyond)))));
    parallel_for(n, net_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        w.rhs[i] += h * model.mass[i] * (params.gravity - params.point_damping * v[i]);
    });
    w.rigid.add_centrifugal(x, model.mass, h, w.rhs);
    if (has_air(model, params)) add_air(model, state, params, w, h);
    const Real wire = has_penalty(model, params) ? params.penalty_stiffness : w.wire_stiffness;
    if (wire > 0 && !strict)
      for_each_bead_constraint(model, x, [&](std::size_t i, Real value, const Vec3& gradient) {
        const Real hk = h * wire;
        w.rhs[i] -= hk * (value + h * gradient.dot(v[i])) * gradient;
        w.system.matrix().add_diagonal(Index(i), h * hk * gradient * gradient.transpose());
      });
    if (strict) add_turning(model, state, w, h);
  }
  SolveReport solve;
  {
    const StageTimer timer(report.stages, "solve");
    double turns = 0;
    solve = solve_step(model, state, params, w, h, strict, turns);
    if (!w.supports.empty()) report.measure("turns", turns);
    // Constraints that contradict each other can leave the solve worse off than without it.
    if (!w.multipliers.empty() && !solve.converged() && !(solve.residual <= 1))
      for (std::size_t i = 0; i < n; ++i)
        if (inverse_mass[i] > 0)
          state.velocity_change[i] = strict ? Vec3(w.towards[i] - v[i]) : Vec3(h * params.gravity);
  }
  report.iterations += solve.iterations;
  report.measure("residual", solve.residual);
  // What was asked of it beyond the tolerance is for good measure.
  if (!strict && solve.residual <= double(params.tolerance)) solve.status = SolveStatus::converged;
  if (solve.status == SolveStatus::out_of_iterations)
    report.warn("the linear solve ran out of iterations; raise max_iterations or tolerance");
  if (solve.status == SolveStatus::stagnated)
    report.warn("the linear solve reached the limit of the precision; raise substeps or tolerance");
  if (solve.status == SolveStatus::indefinite || solve.status == SolveStatus::not_finite)
    report.warn("the linear solve broke down; raise substeps, or the masses of the lightest particles");
  const StageTimer timer(report.stages, "move");
  for_all(n, [&](std::size_t i) { v[i] += state.velocity_change[i]; });
  w.supports.finish(w.on_held, v);
  find_frames(model, state, w);
  w.rigid.advance(x, v, model.mass, inverse_mass, h);
  if (!strict) return PartEnd::met;
  // The step ended on tangents to the constraints; the rest of the way is of second order.
  set_zero(flat(w.moved));
  const double farthest = farthest_projection(model, state, w, h);
  // What friction holds yields less to it.
  w.filter_weight.assign(inverse_mass.begin(), inverse_mass.end());
  w.supports.for_each_friction([&](Index particle, const Mat3& drag, const Vec3&) {
    Real& weight = w.filter_weight[std::size_t(particle)];
    weight = 1 / (1 / weight + drag.trace() / 2);
  });
  const double error = w.multipliers.project_positions(x, w.filter_weight, 2 * projection_steps, w.moved);
  const bool met = error <= strict_tolerance * w.shortest_rod && mass_norm(model, state, w.moved) <= farthest;
  axpy<Real>(1 / h, flat(std::as_const(w.moved)), flat(v));
  if (met) return PartEnd::met;
  return solve.status == SolveStatus::out_of_iterations ? PartEnd::stuck : PartEnd::not_met;
}

}  // namespace plenum::inline PLENUM_ABI
