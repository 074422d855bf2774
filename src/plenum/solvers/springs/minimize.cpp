// Backward Euler as a minimization, x1 = argmin |x - y|_M^2 / (2 h^2) + E(x), by Newton's method or by local
// and global steps (integrate/minimize.h, integrate/projective_springs.h).
//
// Damping joins it as quadratic terms: that of points as more mass and a nearer y; that along springs as a
// dissipation h/2 sum c (n . (v_j - v_i))^2 with v = (x - x0)/h and n the direction at the start (Kharevych
// et al. 2006, "Geometric, variational integrators for computer animation", section 5). The air acts before,
// on the velocity alone.
#include "plenum/integrate/minimize.h"
#include "plenum/base/timing.h"
#include "plenum/solvers/springs/detail/steps.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t block = 4096;

std::span<const Vec3> as_vectors(std::span<const Real> flat) {
  return {reinterpret_cast<const Vec3*>(flat.data()), flat.size() / 3};
}
std::span<Vec3> as_vectors(std::span<Real> flat) {
  return {reinterpret_cast<Vec3*>(flat.data()), flat.size() / 3};
}

/// What newton_minimize asks of the net.
class NetPotential {
 public:
  NetPotential(const Springs::Model& model, const Springs::Params& params, std::span<const Real> inverse_mass,
               SpringsWorkspace& w, Real h, Report& report)
      : model_(model), params_(params), inverse_mass_(inverse_mass), w_(w), h_(h), report_(report) {}

  double value(std::span<const Real> flat_x) {
    const std::span<const Vec3> x = as_vectors(flat_x);
    double sum = w_.system.energy(x, params_.stiffness_scale);
    if (damped()) {
      find_damping(x);
      sum -=
          0.5 * double(h_) * dot<Real>(flat(std::as_const(w_.dissipation)), flat(std::as_const(w_.motion)));
    }
    if (has_penalty(model_, params_))
      for_each_bead_constraint(model_, x, [&](std::size_t, Real value, const Vec3&) {
        sum += 0.5 * double(params_.penalty_stiffness) * double(value) * double(value);
      });
    return sum;
  }

  void gradient(std::span<const Real> flat_x, std::span<Real> flat_g) {
    const std::span<const Vec3> x = as_vectors(flat_x);
    const std::span<Vec3> g = as_vectors(flat_g);
    w_.system.forces(x, {}, params_.stiffness_scale, 0, g);
    const bool with_damping = damped();
    if (with_damping) find_damping(x);
    if (has_penalty(model_, params_))
      for_each_bead_constraint(model_, x, [&](std::size_t i, Real value, const Vec3& gradient) {
        g[i] -= params_.penalty_stiffness * value * gradient;
      });
    parallel_for(g.size(), block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (with_damping) g[i] += w_.dissipation[i];
        g[i] = inverse_mass_[i] > 0 ? Vec3(-g[i]) : Vec3(Vec3::Zero());
      }
    });
  }

  /// d = (c M + H)^-1 r.
  bool solve(std::span<const Real> flat_x, double c, std::span<const Real> r, std::span<Real> d) {
    const std::span<const Vec3> x = as_vectors(flat_x);
    parallel_for(x.size(), block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) w_.base[i] = static_cast<Real>(c) * w_.flat_mass[3 * i];
    });
    w_.system.assemble(x, {}, w_.base, 1, params_.stiffness_scale, params_.damping_scale / h_, {});
    if (has_penalty(model_, params_))
      for_each_bead_constraint(model_, x, [&](std::size_t i, Real, const Vec3& gradient) {
        w_.system.matrix().add_diagonal(Index(i),
                                        params_.penalty_stiffness * gradient * gradient.transpose());
      });
    set_zero(d);
    const SolveReport solve =
        solve_linear(model_, params_, inverse_mass_, w_, r, d, double(params_.tolerance));
    report_.iterations += solve.iterations;
    return solve.status != SolveStatus::not_finite;
  }

 private:
  bool damped() const { return w_.system.damped() && params_.damping_scale > 0; }
  /// w.motion = (x - x0)/h and w.dissipation = the damping forces it meets.
  void find_damping(std::span<const Vec3> x) {
    parallel_for(x.size(), block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) w_.motion[i] = (x[i] - w_.x0[i]) / h_;
    });
    w_.system.forces(w_.x0, w_.motion, 0, params_.damping_scale, w_.dissipation);
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
  if (air) blow(model, x, v, params, w);
  parallel_for(n, block, [&](std::size_t first, std::size_t last) {
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

/// [N] of the gradient that is left where every x is the nearest number to the minimum's: half a unit in the
/// last place of the farthest coordinate at both ends of every spring, and of every mass' inertia.
double gradient_rounding(const Springs::Params& params, std::span<const Vec3> x, const SpringsWorkspace& w,
                         Real h) {
  const Real farthest = ordered_reduce(
      x.size(), block, Real(0),
      [&](std::size_t first, std::size_t last) {
        Real most = 0;
        for (std::size_t i = first; i < last; ++i) most = std::max(most, x[i].cwiseAbs().maxCoeff());
        return most;
      },
      [](Real a, Real b) { return std::max(a, b); });
  const double ulp = double(std::numeric_limits<Real>::epsilon()) * double(farthest);
  const double inertia = norm<Real>(w.flat_mass) / double(h * h);
  return 0.5 * ulp * std::hypot(double(params.stiffness_scale) * w.stiffness_norm, inertia);
}

/// Velocities from what has become of x, after the constraints have had their say.
void end(const Springs::Model& model, Springs::State& state, SpringsWorkspace& w, Real h) {
  // Named one by one: clang 14 captures no structured bindings.
  auto& x = state.particles.x;
  auto& v = state.particles.v;
  const auto& inverse_mass = state.particles.inverse_mass;
  w.multipliers.project_positions(x, inverse_mass, 8);
  parallel_for(model.mass.size(), block, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      if (inverse_mass[i] == 0) continue;
      const Vec3 moved = (x[i] - w.x0[i]) / h;
      state.velocity_change[i] = moved - v[i];
      v[i] = moved;
    }
  });
}

}  // namespace

void backward_euler_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                         SpringsWorkspace& w, Real h, Report& report) {
  const StageTimer timer(report.stages, "minimize");
  begin(model, state, params, w, h);
  NetPotential potential(model, params, state.particles.inverse_mass, w, h, report);
  IncrementalPotential<Real, NetPotential> objective(potential, w.flat_mass, flat(std::as_const(w.target)),
                                                     double(h));
  // Weight alone may pull less than rounding does; the first step sums it up all the same.
  const MinimizeReport result =
      newton_minimize<Real>(objective, flat(state.particles.x), w.integrator,
                            {.max_iterations = params.nonlinear_iterations,
                             .min_iterations = 1,
                             .gradient_tolerance = double(params.nonlinear_tolerance),
                             .absolute_tolerance = gradient_rounding(params, state.particles.x, w, h)});
  report.measure("newton_steps", result.iterations);
  if (!result.converged && result.iterations >= params.nonlinear_iterations)
    report.warn("backward Euler ran out of Newton steps; raise nonlinear_iterations or nonlinear_tolerance");
  end(model, state, w, h);
}

void local_global_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                       SpringsWorkspace& w, Real h, Report& report) {
  if (has_penalty(model, params) && !model.constraints.beads.empty())
    report.warn("local_global leaves out wires kept by penalty; keep constraints by multipliers");
  begin(model, state, params, w, h);
  const Real heavier = 1 + h * params.point_damping;
  ProjectiveKey key{model.revision,       h,       params.stiffness_scale,
                    params.damping_scale, heavier, w.penalty_stiffness};
  if (!(key == w.projective_key) || state.particles.inverse_mass != w.projective_inverse_mass) {
    const StageTimer timer(report.stages, "factor");
    std::vector<Real> inverse_mass = state.particles.inverse_mass;
    for (Real& inverse : inverse_mass) inverse /= heavier;
    SpringPairs pairs(model, w.penalty_stiffness, false);
    for (std::size_t e = 0; e < model.edges.size(); ++e) pairs.stiffness[e] *= params.stiffness_scale;
    for (Real& c : pairs.damping) c *= params.damping_scale;
    w.projective = ProjectiveSprings<Real>(inverse_mass, pairs.edges, pairs.rest_length, pairs.stiffness,
                                           double(h), pairs.damping);
    w.projective_key = key;
    w.projective_inverse_mass = state.particles.inverse_mass;
  }
  const StageTimer timer(report.stages, "minimize");
  const ProjectiveReport result =
      w.projective.solve(w.target, state.particles.x,
                         {.max_iterations = params.nonlinear_iterations,
                          .gradient_tolerance = double(params.nonlinear_tolerance)},
                         w.x0);
  report.iterations += result.iterations;
  end(model, state, w, h);
}

}  // namespace plenum::inline PLENUM_ABI
