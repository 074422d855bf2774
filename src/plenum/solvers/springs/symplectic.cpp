// Where symplectic methods do not do.
//
// They neither make energy nor lose it while frequencies stay about what they are. But where a spring is
// shorter than half its rest length it pushes aside with more than its stiffness, -k (l0/l - 1), and through
// no length at all its force turns round within no time; a flat tetrahedron's stiffness comes and goes. No
// step is short enough for these: symplectic methods wander up, an undamped net without end. Classical
// Runge-Kutta is stable for the same step, keeps linear momentum, and damps what it does not resolve: it
// takes the steps until nothing of this has happened for a while. Every change of method makes a little
// energy or loses it, for the one keeps a slightly different energy than the other, and changes at the same
// phase of a swing would add up: so that while is counted in steps and twice as long every time, and changes
// become rare.
#include <algorithm>
#include <cmath>

#include "plenum/solvers/springs/detail/steps.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Integrator = Springs::Integrator;

constexpr Real pushed_aside = 1;                  // l0/l - 1
constexpr Index calming = 64, longest = 1 << 20;  // steps

/// Whether damping along springs takes what the fastest modes gain: a tenth of the critical one.
bool is_well_damped(const Springs::Model& model, const Springs::Params& params) {
  const double omega = std::sqrt(double(model.stiffness_bound) * double(params.stiffness_scale));
  return double(model.damping_time) * double(damping_factor(params)) * omega > 0.2;
}

/// Whether a spring that acts on what moves was that short anywhere on a straight way from x0 to x [N] m.
/// Those between held points are as short as their pins want them.
bool pushes_aside(const Springs::Model& model, std::span<const Real> inverse_mass, std::span<const Vec3> x0,
                  std::span<const Vec3> x) {
  for (std::size_t e = 0; e < model.edges.size(); ++e) {
    const auto i = std::size_t(model.edges[e][0]), j = std::size_t(model.edges[e][1]);
    if (!(model.stiffness[e] > 0 && inverse_mass[i] + inverse_mass[j] > 0)) continue;
    const Vec3 from = x0[j] - x0[i], way = x[j] - x[i] - from;
    const Real square = way.squaredNorm();
    const Real nearest = square > 0 ? std::clamp(-from.dot(way) / square, Real(0), Real(1)) : Real(0);
    const Real longest_pushed = model.rest_length[e] / (1 + pushed_aside);
    if ((from + nearest * way).squaredNorm() < longest_pushed * longest_pushed) return true;
  }
  return false;
}

}  // namespace

bool is_symplectic(Integrator i) {
  return i == Integrator::symplectic_euler || i == Integrator::velocity_verlet ||
         i == Integrator::position_verlet || i == Integrator::leapfrog;
}

void symplectic_net_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                         SpringsWorkspace& w, Real h, Report& report) {
  w.pushed = 0;
  const bool damp = state.damp_steps > 0, back = !damp && state.was_damped != 0;
  // Symplectic Euler's velocities are leapfrog's, half a step behind, by another name.
  const bool behind = params.integrator == Integrator::symplectic_euler;
  if (behind && damp && !state.was_damped) state.velocity_lag = h / 2;
  if (damp || (behind && back)) {
    w.used = params;
    w.used.integrator = damp ? Integrator::rk4 : Integrator::leapfrog;
    explicit_net_step(model, state, w.used, w, h, report);
    if (behind) state.velocity_lag = 0;
  } else {
    explicit_net_step(model, state, params, w, h, report);
  }
  if (damp) report.measure("damped_by_rk4", 1);
  const bool abrupt =
      w.volumes.num_found() > 0 ||
      (w.pushed > pushed_aside && pushes_aside(model, state.particles.inverse_mass, w.x0, state.particles.x));
  state.was_damped = damp;
  if (abrupt && !is_well_damped(model, params)) {
    if (!damp) state.damp_length = std::clamp(2 * state.damp_length, calming, longest);
    state.damp_steps = state.damp_length;
  } else if (damp) {
    --state.damp_steps;
  }
}

}  // namespace plenum::inline PLENUM_ABI
