// Backward Euler as a minimization, x1 = argmin |x - y|_M^2 / (2 h^2) + E(x), by Newton's method or by L-BFGS
// from the fixed matrix of local and global steps (integrate/minimize.h, integrate/projective_springs.h).
//
// Damping joins it as quadratic terms: that of points as more mass and a nearer y; that along springs as a
// dissipation h/2 sum c (n . (v_j - v_i))^2 with v = (x - x0)/h and n the direction at the start (Kharevych
// et al. 2006, "Geometric, variational integrators for computer animation", section 5). The air acts before,
// on the velocity alone. Supports hold directions, in which x does not change, and their friction is one more
// dissipation; which of them act is settled between minimizations, as between the solves of implicit.cpp.
#include "plenum/integrate/minimize.h"
#include "plenum/base/timing.h"
#include "plenum/solvers/springs/detail/block.h"
#include "plenum/solvers/springs/detail/steps.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr int most_turns = 6;  // that find out which supports act

/// What newton_minimize asks of the net.
class NetPotential {
 public:
  NetPotential(const Springs::Model& model, const Springs::Params& params, std::span<const Real> inverse_mass,
               SpringsWorkspace& w, Real h, Report& report)
      : model_(model), params_(params), inverse_mass_(inverse_mass), w_(w), h_(h), report_(report) {}

  double value(std::span<const Real> flat_x) {
    const std::span<const Vec3> x = as_vectors(flat_x);
    double sum = elastic_energy(w_, x, params_.stiffness_scale);
    if (damped()) {
      find_damping(x);
      sum -=
          0.5 * double(h_) * dot<Real>(flat(std::as_const(w_.dissipation)), flat(std::as_const(w_.motion)));
    }
    w_.supports.for_each_friction([&](Index particle, const Mat3& drag, const Vec3& impulse) {
      const Vec3 v = velocity(x, particle);
      sum += double(v.dot(Real(0.5) * (drag * v) - impulse));
    });
    return sum + beads(x);
  }

  /// Energy of springs, tetrahedra and penalties alone [J].
  double energy(std::span<const Vec3> x) { return elastic_energy(w_, x, params_.stiffness_scale) + beads(x); }

  void gradient(std::span<const Real> flat_x, std::span<Real> flat_g) {
    const std::span<const Vec3> x = as_vectors(flat_x);
    const std::span<Vec3> g = as_vectors(flat_g);
    w_.system.forces(x, {}, params_.stiffness_scale, 0, g);
    w_.volumes.find(x);
    w_.volumes.add_forces(x, g);
    const bool with_damping = damped();
    if (with_damping) find_damping(x);
    if (has_penalty(model_, params_))
      for_each_bead_constraint(model_, x, [&](std::size_t i, Real value, const Vec3& gradient) {
        g[i] -= params_.penalty_stiffness * value * gradient;
      });
    parallel_for(g.size(), net_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (with_damping) g[i] += w_.dissipation[i];
        g[i] = inverse_mass_[i] > 0 ? Vec3(-g[i]) : Vec3(Vec3::Zero());
      }
    });
    w_.supports.for_each_friction([&](Index particle, const Mat3& drag, const Vec3& impulse) {
      g[std::size_t(particle)] += (drag * velocity(x, particle) - impulse) / h_;
    });
  }

  /// The matrix of the linear systems, h^2 (M/h^2 + H) with H projected, without friction.
  void assemble(std::span<const Vec3> x) {
    parallel_for(x.size(), net_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) w_.base[i] = w_.flat_mass[3 * i];
    });
    w_.system.assemble(x, {}, w_.base, h_, params_.stiffness_scale, damping_factor(params_), {});
    w_.volumes.find(x);
    w_.volumes.assemble(x, {}, h_, std::numeric_limits<Real>::max(), w_.system.matrix(), {});
    if (has_penalty(model_, params_))
      for_each_bead_constraint(model_, x, [&](std::size_t i, Real, const Vec3& gradient) {
        w_.system.matrix().add_diagonal(
            Index(i), h_ * h_ * params_.penalty_stiffness * gradient * gradient.transpose());
      });
  }

  /// d = (M/h^2 + H)^-1 r.
  bool solve(std::span<const Real> flat_x, double, std::span<const Real> r, std::span<Real> d) {
    assemble(as_vectors(flat_x));
    w_.supports.for_each_friction([&](Index particle, const Mat3& drag, const Vec3&) {
      w_.system.matrix().add_diagonal(particle, drag);
    });
    const std::span<Real> b = flat(w_.rhs);
    combine<Real>(b, {{h_ * h_, r}});
    set_zero(d);
    const SolveReport solve = solve_linear(model_, params_, inverse_mass_, w_, flat(std::as_const(w_.rhs)), d,
                                           double(params_.tolerance));
    report_.iterations += solve.iterations;
    return solve.status != SolveStatus::not_finite;
  }

  /// [J] that pins, moving at v [N] m/s, give in a step that ends at x.
  double work_of_pins(std::span<const Vec3> x, std::span<const Vec3> v) {
    w_.system.forces(x, {}, params_.stiffness_scale, 0, w_.reaction);
    w_.volumes.find(x);
    w_.volumes.add_forces(x, w_.reaction);
    const bool with_damping = damped();
    if (with_damping) find_damping(x);
    return plenum::work_of_pins(model_, inverse_mass_, v, [&](std::size_t i) -> Vec3 {
      return -h_ * (with_damping ? Vec3(w_.reaction[i] + w_.dissipation[i]) : w_.reaction[i]);
    });
  }

 private:
  double beads(std::span<const Vec3> x) const {
    double sum = 0;
    if (has_penalty(model_, params_))
      for_each_bead_constraint(model_, x, [&](std::size_t, Real value, const Vec3&) {
        sum += 0.5 * double(params_.penalty_stiffness) * double(value) * double(value);
      });
    return sum;
  }
  Vec3 velocity(std::span<const Vec3> x, Index particle) const {
    return (x[std::size_t(particle)] - w_.x0[std::size_t(particle)]) / h_;
  }
  bool damped() const { return w_.system.damped() && damping_factor(params_) > 0; }
  /// w.motion = (x - x0)/h and w.dissipation = the damping forces it meets.
  void find_damping(std::span<const Vec3> x) {
    parallel_for(x.size(), net_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) w_.motion[i] = (x[i] - w_.x0[i]) / h_;
    });
    w_.system.forces(w_.x0, w_.motion, 0, damping_factor(params_), w_.dissipation);
  }

  const Springs::Model& model_;
  const Springs::Params& params_;
  std::span<const Real> inverse_mass_;
  SpringsWorkspace& w_;
  Real h_;
  Report& report_;
};

/// Sets x to the first guess, w.target to y and w.flat_mass to the masses that go with it.
void begin(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
           SpringsWorkspace& w, Real h) {
  // Named one by one: clang 14 captures no structured bindings.
  auto& x = state.particles.x;
  auto& v = state.particles.v;
  const auto& inverse_mass = state.particles.inverse_mass;
  const std::size_t n = model.mass.size();
  w.target.resize(n);
  w.motion.resize(n);
  w.dissipation.resize(n);
  w.flat_mass.resize(3 * n);
  const bool air = has_air(model, params);
  if (air) blow(model, x, v, params, w, h);
  parallel_for(n, net_block, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const Real heavier = 1 + h * params.point_damping;
      for (std::size_t c = 0; c < 3; ++c) w.flat_mass[3 * i + c] = model.mass[i] * heavier;
      if (inverse_mass[i] == 0) {
        x[i] += h * v[i];
        w.target[i] = x[i];
        continue;
      }
      Vec3 dv = h * params.gravity;
      if (air) {
        Mat3 matrix = model.mass[i] * Mat3::Identity();
        for (const Index t : w.incident[i]) {
          const AirForce<Real>& push = w.air[std::size_t(t)];
          matrix += (h / 3) * (push.w * push.w.transpose() + push.across * Mat3::Identity());
        }
        dv += matrix.inverse() * (h * air_on(w, i));
      }
      w.target[i] = x[i] + (h / heavier) * (v[i] + dv);
      x[i] += h * (v[i] + state.velocity_change[i]);
    }
  });
}

/// [N] of the gradient that is left where every x is the nearest number to the minimum's, with room for the
/// rounding of the sum: a unit in the last place of the farthest coordinate for every end of a spring, of
/// which the rounding of both its ends is 0.4 in the mean square, of its damping, and of every mass' inertia.
double gradient_rounding(const Springs::Params& params, std::span<const Vec3> x, const SpringsWorkspace& w,
                         Real h) {
  const Real farthest = ordered_reduce(
      x.size(), net_block, Real(0),
      [&](std::size_t first, std::size_t last) {
        Real most = 0;
        for (std::size_t i = first; i < last; ++i) most = std::max(most, x[i].cwiseAbs().maxCoeff());
        return most;
      },
      [](Real a, Real b) { return std::max(a, b); });
  const double ulp = double(std::numeric_limits<Real>::epsilon()) * double(farthest);
  const double inertia = norm<Real>(w.flat_mass) / double(h * h);
  const double springs = double(params.stiffness_scale) * w.stiffness_norm;
  const double damping = double(damping_factor(params)) * w.damping_norm / double(h);
  return ulp * std::hypot(springs, damping, inertia);
}

/// The incremental potential within what supports leave free.
class Objective {
 public:
  Objective(NetPotential& potential, SpringsWorkspace& w, Real h)
      : potential_(potential, w.flat_mass, flat(std::as_const(w.target)), double(h)), supports_(w.supports) {}
  double value(std::span<const Real> x) { return potential_.value(x); }
  void gradient(std::span<const Real> x, std::span<Real> g) {
    potential_.gradient(x, g);
    supports_.hold(as_vectors(g));
  }
  /// The same before supports have taken their part.
  void force(std::span<const Real> x, std::span<Real> g) { potential_.gradient(x, g); }
  bool direction(std::span<const Real> x, std::span<const Real> g, std::span<Real> d) {
    return potential_.direction(x, g, d);
  }

 private:
  IncrementalPotential<Real, NetPotential> potential_;
  const SupportSet& supports_;
};

/// [J] of half m |v|^2 with v = (x - x0)/h, over free particles.
double kinetic_energy(std::span<const Vec3> x, std::span<const Real> inverse_mass, const SpringsWorkspace& w,
                      Real h) {
  return ordered_sum(x.size(), net_block, [&](std::size_t first, std::size_t last) {
    double sum = 0;
    for (std::size_t i = first; i < last; ++i)
      if (inverse_mass[i] > 0)
        sum += 0.5 * double(w.flat_mass[3 * i]) * double(((x[i] - w.x0[i]) / h).squaredNorm());
    return sum;
  });
}

/// Moves what supports hold to where they want it, h from x0.
void obey_supports(SpringsWorkspace& w, std::span<Vec3> x, Real h) {
  const auto held = w.supports.held();
  const auto free = w.supports.free();
  const auto target = w.supports.target();
  for (std::size_t k = 0; k < held.size(); ++k) {
    const auto i = std::size_t(held[k]);
    x[i] = w.x0[i] + free[k] * (x[i] - w.x0[i]) + h * target[k];
  }
}

/// The step by `minimize`(objective, x, options), with drags beyond `stiff` times the matrix' diagonal taken
/// for sticking.
template <class Minimize>
MinimizeReport minimize_step(const Springs::Model& model, Springs::State& state,
                             const Springs::Params& params, SpringsWorkspace& w, Real h, Real stiff,
                             Report& report, Minimize&& minimize) {
  const StageTimer timer(report.stages, "minimize");
  const std::size_t n = model.mass.size();
  // Named one by one: clang 14 captures no structured bindings.
  auto& x = state.particles.x;
  auto& v = state.particles.v;
  const auto& inverse_mass = state.particles.inverse_mass;
  w.supports.begin(x, v, inverse_mass, state.pressed, params.gravity, 0, h, false);
  begin(model, state, params, w, h);
  NetPotential potential(model, params, inverse_mass, w, h, report);
  Objective objective(potential, w, h);

  // Where nothing but held particles had moved. A minimum has no more energy than that, beside what came in
  // by gravity, air and supports: for a convex E, grad E (x1) . (x1 - x0) >= E(x1) - E(x0).
  w.dissipation.resize(n);
  w.reaction.resize(n);
  std::vector<Vec3>& still = w.reaction;
  for (std::size_t i = 0; i < n; ++i) still[i] = inverse_mass[i] > 0 ? w.x0[i] : x[i];
  const double available = kinetic_energy(w.target, inverse_mass, w, h) + potential.energy(still);

  if (!w.supports.empty()) potential.assemble(w.x0);
  const auto fine = double(params.nonlinear_tolerance);
  const double rough = std::max(fine, 0.1), rounding = gradient_rounding(params, x, w, h);
  double first_gradient = 0;
  MinimizeReport result;
  bool settled = w.supports.empty();
  int turn = 1;
  for (;; ++turn) {
    if (!w.supports.empty()) {
      w.supports.stick(stiff, [&](Index i) { return w.system.matrix().diagonal(i).trace() / 3; });
      obey_supports(w, x, h);
      if (turn == 1) obey_supports(w, still, h);
    }
    // Springs that turn far are stretched where inertia leads, and may be better off where they were.
    if (turn == 1 && objective.value(flat(std::as_const(still))) < objective.value(flat(std::as_const(x))))
      x = still;
    const double tolerance = settled ? fine : rough;
    result = minimize(objective, flat(x),
                      MinimizeOptions{.max_iterations = params.nonlinear_iterations,
                                      .min_iterations = turn == 1 ? 1 : 0,
                                      .gradient_tolerance = turn == 1 ? tolerance : 0,
                                      .absolute_tolerance = std::max(rounding, tolerance * first_gradient)});
    if (turn == 1) first_gradient = result.first_gradient_norm;
    if (!w.supports.empty()) {
      objective.force(flat(std::as_const(x)), flat(w.reaction));
      w.on_held.clear();
      for (const Index i : w.supports.held()) w.on_held.push_back(h * w.reaction[std::size_t(i)]);
      for (std::size_t i = 0; i < n; ++i) w.motion[i] = (x[i] - w.x0[i]) / h;
    }
    if (settled) {
      if (turn < 2 * most_turns && w.supports.catch_passing(w.motion)) continue;
      break;
    }
    const SupportSet::Verdict verdict = w.supports.review(w.motion, w.on_held, inverse_mass);
    const bool again = verdict == SupportSet::Verdict::unsettled ||
                       (verdict == SupportSet::Verdict::friction && (w.chain || turn == 1));
    settled = !again || turn + 1 >= most_turns;
    if (settled) w.supports.settle(w.motion);
  }
  if (!w.supports.empty()) report.measure("turns", turn);
  report.measure("newton_steps", result.iterations);

  // What an end short of the minimum has too much of is taken from its motion.
  double left = available - potential.energy(x);
  if (!w.supports.empty()) left += w.supports.work(w.on_held, w.motion);
  const double kinetic = kinetic_energy(x, inverse_mass, w, h);
  constexpr double rounding_of_energy = 1e-5;
  const double share =
      kinetic <= left + rounding_of_energy * available ? 1 : std::sqrt(std::max(left, 0.0) / kinetic);
  // Less than a thousandth of the speed is what positions round by.
  if (!result.converged && (result.iterations >= params.nonlinear_iterations || share < 0.999))
    report.warn("backward Euler ran out of steps; raise nonlinear_iterations or nonlinear_tolerance");
  parallel_for(n, net_block, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      if (inverse_mass[i] == 0) continue;
      const Vec3 moved = static_cast<Real>(share) * (x[i] - w.x0[i]) / h;
      state.velocity_change[i] = moved - v[i];
      v[i] = moved;
    }
  });
  w.supports.finish(w.on_held, v);
  if (w.supports.struck(h)) {
    potential.assemble(x);
    bounce(model, state, params, w, w.x0, w.v0, h, potential.work_of_pins(x, v), report);
  }
  w.supports.accept(h, state.pressed);
  return result;
}

/// Factors w.projective for what it is to be used for, unless it is already.
void factor(const Springs::Model& model, const Springs::State& state, const Springs::Params& params,
            SpringsWorkspace& w, Real h, Report& report) {
  const Real heavier = 1 + h * params.point_damping;
  const ProjectiveKey key{model.revision,       h,       params.stiffness_scale,
                          params.damping_scale, heavier, w.penalty_stiffness};
  if (key == w.projective_key && state.particles.inverse_mass == w.projective_inverse_mass) return;
  const StageTimer timer(report.stages, "factor");
  std::vector<Real> inverse_mass = state.particles.inverse_mass;
  for (Real& inverse : inverse_mass) inverse /= heavier;
  // What a wire may resist with, whichever way.
  if (has_penalty(model, params))
    for (const Index i : model.constraints.beads) {
      Real& inverse = inverse_mass[std::size_t(i)];
      inverse /= 1 + h * h * w.penalty_stiffness * inverse;
    }
  SpringPairs pairs(model, w.penalty_stiffness, false);
  for (std::size_t e = 0; e < model.edges.size(); ++e) pairs.stiffness[e] *= params.stiffness_scale;
  for (Real& c : pairs.damping) c *= damping_factor(params);
  w.projective = ProjectiveSprings<Real>(inverse_mass, pairs.edges, pairs.rest_length, pairs.stiffness,
                                         double(h), pairs.damping);
  w.projective_key = key;
  w.projective_inverse_mass = state.particles.inverse_mass;
}

}  // namespace

void backward_euler_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                         SpringsWorkspace& w, Real h, Report& report) {
  minimize_step(model, state, params, w, h, stiff_drag, report,
                [&](Objective& objective, std::span<Real> x, const MinimizeOptions& options) {
                  return newton_minimize<Real>(objective, x, w.integrator, options);
                });
}

void local_global_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                       SpringsWorkspace& w, Real h, Report& report) {
  factor(model, state, params, w, h, report);
  // Its matrix knows nothing of drags: what they hold back more than the net itself does is to stick.
  constexpr Real stiff = 1;
  const MinimizeReport result = minimize_step(
      model, state, params, w, h, stiff, report,
      [&](Objective& objective, std::span<Real> x, const MinimizeOptions& options) {
        return lbfgs_minimize<Real>(objective, x, w.integrator, options, [&](std::span<Real> g) {
          w.supports.hold(as_vectors(g));
          w.projective.precondition(as_vectors(g));
          w.supports.hold(as_vectors(g));
        });
      });
  // Newton's method still sees the weight of what its matrix is exact for.
  const double weight = double(params.gravity.norm()) * norm<Real>(w.flat_mass) / std::sqrt(3.0);
  if (result.gradient_norm > weight && weight > 0 && result.converged)
    report.warn("springs too stiff for local_global at this step and precision; raise substeps");
}

}  // namespace plenum::inline PLENUM_ABI
