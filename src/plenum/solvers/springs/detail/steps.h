#pragma once
// One step of a net by each family of methods. Held particles enter with the velocity of their pins.
#include "plenum/solvers/springs/springs.h"

namespace plenum::inline PLENUM_ABI {

struct SpringsWorkspace;

void implicit_euler_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                         SpringsWorkspace& w, Real h, Report& report);
void explicit_net_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                       SpringsWorkspace& w, Real h, Report& report);

/// Whether explicit_net_step() is not to be asked, but this: a symplectic method, which hands steps over to
/// classical Runge-Kutta where nothing else follows.
bool is_symplectic(Springs::Integrator integrator);
void symplectic_net_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                         SpringsWorkspace& w, Real h, Report& report);

/// Part of the linear limit of stability that max_dt is. At the limit itself oscillations grow, if only
/// linearly, and springs that turn or change their stiffness shift it, as air does within a frame. Source:
/// Belytschko, Liu & Moran 2000, section 6.2, who ask for 0.8 to 0.98. Methods that amplify at any step have
/// no such limit.
Real part_of_limit(Springs::Integrator integrator);

/// Longest stable step [s] of an explicit method for frequencies up to omega [rad/s] and damping rates up to
/// highest_rate [1/s], and no less than lowest_rate in the fastest mode.
Real explicit_limit(Springs::Integrator integrator, double omega, double highest_rate, double lowest_rate);
/// The same for a net, with frequencies squared of `turning` [1/s^2] besides those of springs and penalties.
/// Springs damp the motion along them, the fastest: h (k + u) <= 2 growth + damping_time k has to hold for
/// every mode, whose part k of the frequency squared is between 0 and what springs have at most, and u
/// between 0 and what penalties and turning have. As it is linear in k, that is for both its ends. `air`
/// [1/s]: as of air_rate().
Real stable_step(const Springs::Model& model, const Springs::Params& params, double air, double turning = 0);
/// Bound [1/s^2] of the frequencies squared with which springs in tension T resist turning, by T/L; that
/// motion no spring damps. As the bound of all (Springs::update()), with T/L for k.
double tension_bound(const Springs::Model& model, std::span<const Vec3> x, const Springs::Params& params);

/// Backward Euler as a minimization, by Newton's method or by local and global steps.
void backward_euler_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                         SpringsWorkspace& w, Real h, Report& report);
void local_global_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                       SpringsWorkspace& w, Real h, Report& report);

/// [J] of the parabola that free flight keeps to, v + h g / 2 at x: what a net had before a part of h [s]
/// that began at x0, v0 [N], with what gravity, the solids as they moved and pins (`from_pins` [J]) gave in
/// it, and what it has now.
struct PartEnergy {
  double before, now;
};
PartEnergy energy_of_part(const Springs::Model& model, const Springs::State& state,
                          const Springs::Params& params, SpringsWorkspace& w, std::span<const Vec3> x0,
                          std::span<const Vec3> v0, Real h, double from_pins);

/// Lets what struck solids in the part of a step of length h [s] that began at x0, v0 [N] bounce: changes
/// velocities alone. w.system has the part's matrix, w.supports its impulses; pins, as they move, gave
/// `from_pins` [J] in it. To be called if w.supports.struck(h).
void bounce(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
            SpringsWorkspace& w, std::span<const Vec3> x0, std::span<const Vec3> v0, Real h, double from_pins,
            Report& report);

}  // namespace plenum::inline PLENUM_ABI
