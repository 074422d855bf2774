// Explicit methods.
#include <cmath>

#include "plenum/base/timing.h"
#include "plenum/integrate/integrators.h"
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

void find_forces(const Springs::Model& model, std::span<const Vec3> x, std::span<const Vec3> v,
                 const Springs::Params& params, SpringsWorkspace& w) {
  w.system.forces(x, v, params.stiffness_scale, params.damping_scale, w.rhs);
  if (has_air(model, params)) {
    blow(model, x, v, params, w);
    parallel_for(model.mass.size(), block, [&](std::size_t begin, std::size_t end) {
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

void explicit_net_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                       SpringsWorkspace& w, Real h, Report& report) {
  // Named one by one: clang 14 captures no structured bindings.
  auto& x = state.particles.x;
  auto& v = state.particles.v;
  const auto& inverse_mass = state.particles.inverse_mass;
  const std::size_t n = model.mass.size();
  const bool exact = !w.multipliers.empty();
  const double rate = params.stabilization == Springs::Stabilization::baumgarte ? params.baumgarte_rate : 0;
  const auto acceleration_of = [&](std::size_t i, const Vec3& velocity) -> Vec3 {
    return inverse_mass[i] > 0
               ? Vec3(params.gravity - params.point_damping * velocity + inverse_mass[i] * w.rhs[i])
               : Vec3(Vec3::Zero());
  };
  const auto free_acceleration = [&](std::span<const Vec3> at, std::span<const Vec3> moving,
                                     std::span<Vec3> a) {
    find_forces(model, at, moving, params, w);
    parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) a[i] = acceleration_of(i, moving[i]);
    });
  };
  const auto accelerate = [&](double, std::span<const Real> x_now, std::span<const Real> v_now,
                              std::span<Real> out) {
    const std::span<const Vec3> at = as_vectors(x_now), moving = as_vectors(v_now);
    const std::span<Vec3> a = as_vectors(out);
    free_acceleration(at, moving, a);
    if (exact) report.iterations += w.multipliers.accelerate(at, moving, inverse_mass, rate, a);
  };
  using Integrator = Springs::Integrator;
  const bool staggered = params.integrator == Integrator::leapfrog;
  // The symplectic methods have constrained forms that are symplectic too. Multipliers found from
  // accelerations change the energy of whatever turns at the rate h omega^2: symplectic Euler gains it,
  // velocity Verlet loses it.
  const bool symplectic = staggered || params.integrator == Integrator::symplectic_euler ||
                          params.integrator == Integrator::velocity_verlet;
  const bool shaken = exact && symplectic && params.stabilization == Springs::Stabilization::shake;
  const bool projected = exact && !shaken && params.stabilization >= Springs::Stabilization::projection;
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
      shake_step<Real>(free_acceleration, w.multipliers,
                       staggered ? state.velocity_lag + h / 2
                       : verlet  ? h / 2
                                 : h,
                       h, verlet ? h / 2 : 0, !staggered, x, v, inverse_mass, w.x0, w.moved,
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
    } else if (params.integrator == Springs::Integrator::symplectic_euler && !exact) {
      // The same as below in fewer passes over memory.
      find_forces(model, x, v, params, w);
      parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          v[i] += h * acceleration_of(i, v[i]);
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
    w.multipliers.project_positions(x, inverse_mass, 8);
    w.multipliers.project_velocities(x, inverse_mass, v);
  }
}

}  // namespace plenum::inline PLENUM_ABI
