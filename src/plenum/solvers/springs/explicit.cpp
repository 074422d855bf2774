// Explicit methods.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/base/timing.h"
#include "plenum/integrate/integrators.h"
#include "plenum/solvers/springs/detail/block.h"
#include "plenum/solvers/springs/detail/steps.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// The method's row in the table of integrators.
plenum::Integrator method_of(Springs::Integrator integrator) {
  switch (integrator) {
    case Springs::Integrator::explicit_euler:
      return plenum::Integrator::explicit_euler;
    case Springs::Integrator::explicit_midpoint:
      return plenum::Integrator::explicit_midpoint;
    case Springs::Integrator::heun:
      return plenum::Integrator::heun;
    case Springs::Integrator::rk4:
      return plenum::Integrator::rk4;
    case Springs::Integrator::position_verlet:
      return plenum::Integrator::position_verlet;
    case Springs::Integrator::velocity_verlet:
      return plenum::Integrator::velocity_verlet;
    case Springs::Integrator::leapfrog:
      return plenum::Integrator::leapfrog;
    default:
      return plenum::Integrator::symplectic_euler;
  }
}

}  // namespace

Real part_of_limit(Springs::Integrator integrator) {
  return info(method_of(integrator)).imag_limit > 0 ? Real(0.9) : Real(1);
}

Real stable_step(const Springs::Model& model, const Springs::Params& params, double air, double turning) {
  const Real part = part_of_limit(params.integrator);
  const double penalty = has_penalty(model, params) ? params.penalty_stiffness : 0;
  const double damped = double(model.stiffness_bound) * double(params.stiffness_scale);
  const double undamped = double(model.constraint_bound) * penalty + turning;
  const double highest =
      double(model.damping_bound) * double(damping_factor(params)) + double(params.point_damping) + air;
  const double along =
      double(model.damping_time) * double(damping_factor(params)) * double(model.stiffness_bound);
  const Real whole = explicit_limit(params.integrator, std::sqrt(damped + undamped), highest,
                                    along + double(params.point_damping));
  if (undamped == 0) return part * whole;
  return part * std::min(whole, explicit_limit(params.integrator, std::sqrt(undamped), highest,
                                               params.point_damping));
}

double tension_bound(const Springs::Model& model, std::span<const Vec3> x, const Springs::Params& params) {
  double most = 0;
  for (std::size_t e = 0; e < model.edges.size(); ++e) {
    if (!(model.stiffness[e] > 0)) continue;
    const Vec3 d = x[std::size_t(model.edges[e][1])] - x[std::size_t(model.edges[e][0])];
    const double length = double(d.norm());
    if (length > 0) most = std::max(most, 1 - double(model.rest_length[e]) / length);
  }
  return most * double(model.stiffness_bound) * double(params.stiffness_scale);
}

void find_forces(const Springs::Model& model, std::span<const Vec3> x, std::span<const Vec3> v,
                 const Springs::Params& params, SpringsWorkspace& w) {
  const Real pushed = w.system.forces(x, v, params.stiffness_scale, damping_factor(params), w.rhs);
  w.pushed = std::max(w.pushed, pushed);
  w.volumes.add_forces(x, w.rhs);
  if (has_air(model, params)) {
    blow(model, x, v, params, w);
    parallel_for(model.mass.size(), net_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) w.rhs[i] += air_on(w, i);
    });
  }
  if (has_penalty(model, params))
    for_each_bead_constraint(model, x, [&](std::size_t i, Real value, const Vec3& gradient) {
      w.rhs[i] -= params.penalty_stiffness * value * gradient;
    });
}

Real explicit_limit(Springs::Integrator integrator, double omega, double highest_rate, double lowest_rate) {
  const IntegratorInfo& method = info(method_of(integrator));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (omega == 0) return static_cast<Real>(highest_rate > 0 ? method.real_limit / highest_rate : infinity);
  if (method.symplectic) {
    // With the damping at the old velocity, h <= 2 (sqrt(1 + xi^2) - xi) / omega for damping ratio xi;
    // without cancellation. Source: Belytschko, Liu & Moran 2000, "Nonlinear finite elements for continua and
    // structures", eq. 6.6.12.
    const double xi = highest_rate / (2 * omega);
    return static_cast<Real>(method.imag_limit / (omega * (std::sqrt(1 + xi * xi) + xi)));
  }
  // The eigenvalues of x'' = -omega^2 x - rate x' are no larger than the larger of omega and rate, and lie in
  // the left half-plane. In it the region of classical Runge-Kutta holds the half-disc of radius 2.6 (a test
  // scans it).
  const double size = std::max(omega, highest_rate);
  if (method.imag_limit > 0) return static_cast<Real>(std::min(2.6, method.real_limit) / size);
  // Without damping the others amplify every oscillation, however short the step, by |R(i z)|, z = h omega.
  // They are held to a growth of the fastest mode by no more than a factor e in a second: explicit Euler has
  // |R|^2 = 1 - h rate + z^2, methods of second order have |R|^2 = 1 + z^4 / 4.
  constexpr double growth = 1;  // [1/s]
  const double limit = method.order == 1 ? (2 * growth + lowest_rate) / (omega * omega)
                                         : std::cbrt(8 * growth / std::pow(omega, 4));
  return static_cast<Real>(std::min(limit, method.real_limit / size));
}

namespace {

using Integrator = Springs::Integrator;

bool has_constrained_form(Integrator i) {
  return i == Integrator::symplectic_euler || i == Integrator::velocity_verlet || i == Integrator::leapfrog;
}

/// Whether constraints are kept by impulses along the gradients at the start of the step. The symplectic
/// methods have constrained forms that are symplectic too. Multipliers found from accelerations change the
/// energy of whatever turns at the rate h omega^2: symplectic Euler gains it, velocity Verlet loses it.
bool is_shaken(const Springs::Params& params) {
  return has_constrained_form(params.integrator) && params.stabilization == Springs::Stabilization::shake;
}

/// Accelerations by everything but the constraints; 0 of what is held.
void free_acceleration(const Springs::Model& model, const Springs::State& state,
                       const Springs::Params& params, SpringsWorkspace& w, std::span<const Vec3> x,
                       std::span<const Vec3> v, std::span<Vec3> a) {
  find_forces(model, x, v, params, w);
  const std::span<const Real> inverse_mass = state.particles.inverse_mass;
  parallel_for(x.size(), net_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      a[i] = inverse_mass[i] > 0
                 ? Vec3(params.gravity - params.point_damping * v[i] + inverse_mass[i] * w.rhs[i])
                 : Vec3(Vec3::Zero());
  });
}

/// The step, however long it is, with the tetrahedra that w.volumes has found. Returns what it leaves of
/// constraints that it puts back [m].
double one_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                SpringsWorkspace& w, Real h, Report& report) {
  // Named one by one: clang 14 captures no structured bindings.
  auto& x = state.particles.x;
  auto& v = state.particles.v;
  const auto& inverse_mass = state.particles.inverse_mass;
  const std::size_t n = model.mass.size();
  const bool exact = !w.multipliers.empty();
  const double rate = params.stabilization == Springs::Stabilization::baumgarte ? params.baumgarte_rate : 0;
  const auto freely = [&](std::span<const Vec3> at, std::span<const Vec3> moving, std::span<Vec3> a) {
    free_acceleration(model, state, params, w, at, moving, a);
  };
  const auto accelerate = [&](double, std::span<const Real> x_now, std::span<const Real> v_now,
                              std::span<Real> out) {
    const std::span<const Vec3> at = as_vectors(x_now), moving = as_vectors(v_now);
    const std::span<Vec3> a = as_vectors(out);
    freely(at, moving, a);
    if (exact) report.iterations += w.multipliers.accelerate(at, moving, inverse_mass, rate, a);
  };
  const bool staggered = params.integrator == Integrator::leapfrog;
  const bool shaken = exact && is_shaken(params);
  const bool projected = exact && !shaken && params.stabilization >= Springs::Stabilization::projection;
  double error = 0;
  {
    const StageTimer timer(report.stages, "step");
    // Velocities behind the positions are brought up to them when another method takes over.
    if (!staggered && state.velocity_lag > 0) {
      w.integrator.prepare(3 * n, 1);
      accelerate(0, flat(x), flat(v), w.integrator[0]);
      axpy<Real>(state.velocity_lag, w.integrator[0], flat(v));
      state.velocity_lag = 0;
    }
    if (shaken) {
      const bool verlet = params.integrator == Integrator::velocity_verlet;
      w.integrator.prepare(3 * n, 1);
      error = shake_step<Real>(freely, w.multipliers,
                               staggered ? state.velocity_lag + h / 2
                               : verlet  ? h / 2
                                         : h,
                               h, verlet ? h / 2 : 0, !staggered, x, v, inverse_mass, w.part_x, w.moved,
                               as_vectors(w.integrator[0]));
      state.velocity_lag = staggered ? h / 2 : 0;
    } else if (staggered) {
      // From t - lag to t + h/2: a change of step, and the start with no lag, need nothing of their own.
      // Source: Hockney & Eastwood 1988, "Computer simulation using particles", eq. 4-2.
      w.integrator.prepare(3 * n, 1);
      accelerate(0, flat(x), flat(v), w.integrator[0]);
      axpy<Real>(state.velocity_lag + h / 2, w.integrator[0], flat(v));
      axpy<Real>(h, flat(std::as_const(v)), flat(x));
      state.velocity_lag = h / 2;
    } else if (params.integrator == Integrator::symplectic_euler && !exact) {
      // The same as below in fewer passes over memory.
      find_forces(model, x, v, params, w);
      parallel_for(n, net_block, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          if (inverse_mass[i] > 0)
            v[i] += h * (params.gravity - params.point_damping * v[i] + inverse_mass[i] * w.rhs[i]);
          x[i] += h * v[i];
        }
      });
    } else {
      explicit_step<Real>(method_of(params.integrator), accelerate, 0, double(h), flat(x), flat(v),
                          w.integrator);
    }
  }
  if (projected) {
    const StageTimer timer(report.stages, "constrain");
    error = w.multipliers.project_positions(x, inverse_mass, 8);
    w.multipliers.project_velocities(x, inverse_mass, v);
  }
  return error;
}

/// What a step may do to strict constraints. A rod's impulse acts along its direction at the start, and finds
/// its length only if it turns by less than a right angle; a quarter of a radian keeps whips' energy to some
/// per cent (a test). Beyond twice that, the step is divided again.
constexpr double most_turn = 0.25;  // [rad] of a rod, by its motion and acceleration at the start
constexpr double safety = 0.5;      // of the stable step, as tensions and volumes change within it
constexpr double tolerance = 1e-3;  // of lengths that are to be kept, as part of the shortest
constexpr double loose = 0.1;       // the same, where stabilization lets them drift
constexpr int most_parts = 1024;    // of a step

/// Longest step [s] that strict constraints let an explicit method take from here: neither does a rod or a
/// bead's direction turn by more than `most_turn`, nor does a wave along taut rods become unstable. Tension T
/// resists turning by T/L (rod_stiffness()), whose frequencies are bounded as those of springs are
/// (Springs::update()). a [N] m/s^2: accelerations by everything else; those by constraints are added.
double constrained_limit(const Springs::Model& model, const Springs::State& state,
                         const Springs::Params& params, SpringsWorkspace& w, std::span<Vec3> a) {
  const std::span<const Vec3> x = state.particles.x, v = state.particles.v;
  const std::span<const Real> inverse_mass = state.particles.inverse_mass;
  const ConstraintSet<Real>& set = model.constraints;
  w.multipliers.accelerate(x, v, inverse_mass, 0, a);
  double limit = std::numeric_limits<double>::infinity();
  const auto turn_within = [&](const Vec3& motion, const Vec3& change, Real length) {
    // h |v| + h^2 |a| / 2 = c.
    const double c = most_turn * double(length), speed = double(motion.norm());
    limit = std::min(limit, 2 * c / (speed + std::sqrt(speed * speed + 2 * c * double(change.norm()))));
  };
  std::vector<Real>& stiffness = w.base;  // [N] N/m against turning
  std::fill(stiffness.begin(), stiffness.end(), Real(0));
  w.multipliers.rod_stiffness(w.rod_stiffness);
  for (std::size_t r = 0; r < set.rods.size(); ++r) {
    const auto i = std::size_t(set.rods[r][0]), j = std::size_t(set.rods[r][1]);
    turn_within(v[j] - v[i], a[j] - a[i], set.rod_length[r]);
    stiffness[i] += w.rod_stiffness[r];
    stiffness[j] += w.rod_stiffness[r];
  }
  for (std::size_t b = 0; b < set.beads.size(); ++b) {
    const auto i = std::size_t(set.beads[b]);
    const Wire<Real>& wire = set.wires[std::size_t(set.bead_wire[b])];
    if (wire.shape != WireShape::line) turn_within(v[i], a[i], wire.radius);
  }
  w.multipliers.for_each_bead_stiffness(
      x, [&](Index bead, const Mat3& k) { stiffness[std::size_t(bead)] += k.trace(); });
  const auto per_mass = [&](Index i) {
    return double(stiffness[std::size_t(i)]) * double(inverse_mass[std::size_t(i)]);
  };
  double highest = 0;
  for (const Index2& rod : set.rods) highest = std::max(highest, per_mass(rod[0]) + per_mass(rod[1]));
  for (const Index bead : set.beads) highest = std::max(highest, per_mass(bead));
  return std::min(limit, safety * double(stable_step(model, params, w.air_rate, highest)));
}

/// Sum of m a . b over what is not held.
double mass_dot(const Springs::Model& model, const Springs::State& state, std::span<const Vec3> a,
                std::span<const Vec3> b) {
  return ordered_sum(a.size(), net_block, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i)
      if (state.particles.inverse_mass[i] > 0) sum += double(model.mass[i]) * double(a[i].dot(b[i]));
    return sum;
  });
}

/// Takes the energy that a method makes of nothing. Held points carry a net along: with u the least motion,
/// in the norm |.| of the masses, that goes with them, v - u is what of its motion meets the constraints of
/// held points at rest, and by d'Alembert's principle
///
///   d/dt |v - u|^2 / 2 = (v - u) . (F - M du/dt),
///
/// with F the forces of everything but constraints: |v - u| grows by their work on it and by |du|, no more.
class EnergyBound {
 public:
  /// Before a step from w.part_x; a [N] m/s^2: accelerations by everything but constraints.
  EnergyBound(const Springs::Model& model, const Springs::State& state, SpringsWorkspace& w,
              std::span<const Vec3> a)
      : lag_(state.velocity_lag) {
    for (const Index i : model.pinned)
      carried_ = carried_ || (state.particles.inverse_mass[std::size_t(i)] == 0 &&
                              state.particles.v[std::size_t(i)] != Vec3::Zero());
    const auto& v = state.particles.v;
    own_ = mass_dot(model, state, v, v);
    push_ = mass_dot(model, state, a, a);
    if (!carried_) return;
    carry(state, w, w.towards);
    own_ += mass_dot(model, state, w.towards, w.towards) - 2 * mass_dot(model, state, w.towards, v);
    power_ = mass_dot(model, state, w.towards, a);
  }

  /// After it, of length h [s]: whether it gained more than a tenth of the motion that there was. Velocities
  /// that lag behind positions lack a kick d, which shows as a gain of 2 v . d + d^2 <= v^2 / 10 + 11 d^2.
  bool exceeded(const Springs::Model& model, const Springs::State& state, const Springs::Params& params,
                SpringsWorkspace& w, Real h) {
    const auto& x = state.particles.x;
    const auto& v = state.particles.v;
    // Explicit Euler's positions are where they were half a step ago: from rest, they stay for a step.
    const Real lead = params.integrator == Integrator::explicit_euler ? h / 2 : Real(0);
    for (std::size_t i = 0; i < x.size(); ++i) w.ahead[i] = w.part_x[i] + lead * w.part_v[i];
    double work = elastic_energy(w, w.ahead, params.stiffness_scale) - double(h) * power_;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Vec3 to = x[i] + lead * v[i];
      w.moved[i] = to - w.ahead[i];
      w.ahead[i] = to;
    }
    work -= elastic_energy(w, w.ahead, params.stiffness_scale);
    std::fill(w.ahead.begin(), w.ahead.end(), params.gravity);
    work += mass_dot(model, state, w.ahead, w.moved);
    if (has_air(model, params))
      for (std::size_t i = 0; i < x.size(); ++i) work += std::max(0.0, double(air_on(w, i).dot(w.moved[i])));
    most_ = std::sqrt(std::max(0.0, own_ + 2 * work));
    if (carried_) {
      carry(state, w, w.ahead);
      for (std::size_t i = 0; i < x.size(); ++i) w.moved[i] = w.ahead[i] - w.towards[i];
      most_ += std::sqrt(mass_dot(model, state, w.moved, w.moved));
    } else {
      set_zero(flat(w.ahead));
    }
    for (std::size_t i = 0; i < x.size(); ++i) w.moved[i] = v[i] - w.ahead[i];
    now_ = std::sqrt(mass_dot(model, state, w.moved, w.moved));
    const double kick = double(lag_ + h / 2) * std::sqrt(push_);
    // What positions round by is a velocity as well, the greater the shorter the step.
    double mass = 0, extent = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      mass += double(model.mass[i]);
      extent = std::max(extent, double(x[i].cwiseAbs().maxCoeff()));
    }
    const double rounding = 4 * double(std::numeric_limits<Real>::epsilon()) * extent / double(h);
    return !(now_ * now_ - most_ * most_ <= 0.1 * own_ + 11 * kick * kick + mass * rounding * rounding);
  }

  /// Then: slows v - u down to what it may be.
  void enforce(Springs::State& state, const SpringsWorkspace& w) const {
    if (now_ <= most_) return;
    const Real part = static_cast<Real>(most_ / now_);
    for (std::size_t i = 0; i < w.moved.size(); ++i)
      if (state.particles.inverse_mass[i] > 0) state.particles.v[i] = w.ahead[i] + part * w.moved[i];
  }

 private:
  /// u [N] m/s.
  static void carry(const Springs::State& state, SpringsWorkspace& w, std::span<Vec3> u) {
    for (std::size_t i = 0; i < u.size(); ++i)
      u[i] = state.particles.inverse_mass[i] > 0 ? Vec3(Vec3::Zero()) : state.particles.v[i];
    w.multipliers.project_velocities(state.particles.x, state.particles.inverse_mass, u);
  }

  Real lag_ = 0;  // [s]
  bool carried_ = false;
  double own_ = 0;             // |v - u|^2 before [J]
  double push_ = 0;            // |F|^2 in the norm of the inverse masses [W/s]
  double power_ = 0;           // F . u [W]
  double most_ = 0, now_ = 0;  // |v - u| after, as it may be and as it is
};

/// Whether a method may gain energy from strict constraints. Shaken ones do not, and where positions and
/// velocities are projected neither do those that are stable on the imaginary axis; but multipliers from
/// accelerations give it to whatever turns under symplectic Euler and leapfrog.
bool gains(const Springs::Params& params) {
  if (is_shaken(params)) return false;
  return params.stabilization < Springs::Stabilization::projection ||
         !(params.integrator == Integrator::rk4 || params.integrator == Integrator::position_verlet ||
           params.integrator == Integrator::velocity_verlet);
}

/// Whether a step from `before` [N] m turned any rod by more than twice what it may, or went to what is not
/// finite.
bool turned_too_far(const Springs::Model& model, std::span<const Vec3> before, std::span<const Vec3> x) {
  const double least = std::cos(2 * most_turn);
  for (const Index2& rod : model.constraints.rods) {
    const auto i = std::size_t(rod[0]), j = std::size_t(rod[1]);
    const Vec3 from = before[j] - before[i], to = x[j] - x[i];
    if (!(double(from.dot(to)) >= least * double(from.norm()) * double(to.norm()))) return true;
  }
  for (const Index bead : model.constraints.beads)
    if (!x[std::size_t(bead)].allFinite()) return true;
  return false;
}

/// Puts a net that contact, a hand or a pin took off its strict constraints back on them, without the
/// velocity that a step would make of the way back, the greater the shorter it is. False if they are not met
/// then, or only far away: nothing has moved.
bool put_back(Springs::State& state, SpringsWorkspace& w, double close, bool divided) {
  auto& x = state.particles.x;
  const double off = w.multipliers.largest_error(x);
  if (off <= close && !divided) return true;
  w.part_x = x;
  const double error = w.multipliers.project_positions(x, state.particles.inverse_mass, projection_steps);
  double farthest = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    farthest = std::max(farthest, double((x[i] - w.part_x[i]).norm()));
  // A point need not move farther than all of its chain is too long, or too short.
  if (error <= close && farthest <= 2 * off * double(w.multipliers.size())) {
    if (off > close) w.multipliers.project_velocities(x, state.particles.inverse_mass, state.particles.v);
    return true;
  }
  x = w.part_x;
  return off <= close;
}

/// The step of a net without strict constraints. Tetrahedra that are flat, or become so, are stiffer than
/// stable_step() knows of, and their stiffness ends at once where they are flat no more: what it allows is
/// divided while there are any, until `safety` is left to the step that would be stable.
void step_with_volumes(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                       SpringsWorkspace& w, Real h, Report& report) {
  constexpr double most = 64;
  // Named one by one: clang 14 captures no structured bindings.
  const auto& x = state.particles.x;
  const auto& v = state.particles.v;
  int parts = 0;
  for (Real left = h; left > 0; ++parts) {
    w.volumes.find(x, v, left);
    double divide = 1;
    if (w.volumes.num_found() > 0) {
      const double bound = w.volumes.frequency_bound(x, state.particles.inverse_mass, w.base);
      const double allowed = std::min(double(left), double(stable_step(model, params, w.air_rate)));
      const double stable = safety * double(stable_step(model, params, w.air_rate, bound));
      divide = std::clamp(std::ceil(allowed / stable), 1.0, most);
    }
    const Real part = left / static_cast<Real>(divide);
    one_step(model, state, params, w, part, report);
    left = divide > 1 ? left - part : Real(0);
  }
  report.measure("parts", parts);
}

}  // namespace

void explicit_net_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                       SpringsWorkspace& w, Real h, Report& report) {
  if (w.multipliers.empty()) {
    step_with_volumes(model, state, params, w, h, report);
    return;
  }
  // Named one by one: clang 14 captures no structured bindings.
  auto& x = state.particles.x;
  auto& v = state.particles.v;
  const bool keeps = params.stabilization >= Springs::Stabilization::projection, bounded = gains(params);
  const double close = (keeps ? tolerance : loose) * w.shortest_rod;
  const auto implicitly = [&](Real rest) {
    set_zero(flat(state.velocity_change));
    state.velocity_lag = 0;
    implicit_euler_step(model, state, params, w, rest, report);
    report.warn(
        "strict constraints ask for more than an explicit method can do: steps ended by implicit Euler; "
        "raise "
        "the sub-steps");
  };
  int parts = 0;
  for (int done = 0, size = most_parts; done < most_parts; done += size, ++parts) {
    w.integrator.prepare(3 * x.size(), 1);
    const std::span<Vec3> a = as_vectors(w.integrator[0]);
    w.volumes.find(x, v, h * static_cast<Real>(size) / most_parts);
    free_acceleration(model, state, params, w, x, v, a);
    EnergyBound bound(model, state, w, a);
    const double limit = constrained_limit(model, state, params, w, a);
    const auto fits = [&](int of) { return double(h) * of <= limit * most_parts; };
    while (done % (2 * size) == 0 && 2 * size <= most_parts - done && fits(2 * size)) size *= 2;
    while (size > 1 && !fits(size)) size /= 2;
    if ((done == 0 || !keeps) && !put_back(state, w, close, keeps && size < most_parts))
      return implicitly(h * static_cast<Real>(most_parts - done) / most_parts);
    w.part_x = x;
    w.part_v = v;
    const Real lag = state.velocity_lag;
    bool found = false;
    for (;; size /= 2) {
      const Real part = h * static_cast<Real>(size) / most_parts;
      w.volumes.find(x, v, part);
      found = one_step(model, state, params, w, part, report) <= close && !turned_too_far(model, w.part_x, x);
      const bool surged = found && bound.exceeded(model, state, params, w, part);
      if (found && (bounded || (surged && size == 1))) bound.enforce(state, w);
      if (found && (!surged || size == 1)) break;
      found = false;
      x = w.part_x;
      v = w.part_v;
      state.velocity_lag = lag;
      if (size == 1) break;
    }
    if (!found) return implicitly(h * static_cast<Real>(most_parts - done) / most_parts);
  }
  report.measure("parts", parts);
}

}  // namespace plenum::inline PLENUM_ABI
