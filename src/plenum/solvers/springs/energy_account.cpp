#include "plenum/solvers/springs/detail/energy_account.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr double part_of_energy = 0.05;  // kinetic and elastic, that may be made or lost before it is felt
constexpr double remembered = 1;         // [s]

/// Sums over what is not held [J].
struct Motion {
  double kinetic = 0;  ///< after a step
  double gained = 0;   ///< in it, less what gravity gave
};

/// From x0, v0 to x, v [N] m, m/s.
Motion motion_of(const Springs::Model& model, std::span<const Real> inverse_mass, const Vec3& gravity,
                 std::span<const Vec3> x0, std::span<const Vec3> v0, std::span<const Vec3> x,
                 std::span<const Vec3> v) {
  const auto of = [&](std::size_t begin, std::size_t end) {
    Motion sum;
    for (std::size_t i = begin; i < end; ++i) {
      const Real mass = inverse_mass[i] > 0 ? model.mass[i] : Real(0);
      const Real gained = Real(0.5) * (v[i] - v0[i]).dot(v[i] + v0[i]) - gravity.dot(x[i] - x0[i]);
      sum.kinetic += double(mass * v[i].squaredNorm());
      sum.gained += double(mass * gained);
    }
    sum.kinetic *= 0.5;
    return sum;
  };
  return ordered_reduce(x.size(), net_block, Motion(), of, [](const Motion& a, const Motion& b) {
    return Motion{a.kinetic + b.kinetic, a.gained + b.gained};
  });
}

}  // namespace

EnergyAccount::EnergyAccount(const Springs::Model& model, const Springs::State& state,
                             const Springs::Params& params, SpringsWorkspace& w, std::span<const Vec3> x0,
                             std::span<const Vec3> v0)
    : model_(model), params_(params), w_(w), x0_(x0), v0_(v0), before_(elastic(state)) {}

bool EnergyAccount::overdrawn(const Springs::State& state, Real h) {
  const std::span<const Vec3> x = state.particles.x;
  const bool carried = std::any_of(model_.pinned.begin(), model_.pinned.end(), [&](Index i) {
    return state.particles.inverse_mass[std::size_t(i)] == 0 &&
           state.particles.v[std::size_t(i)] != Vec3::Zero();
  });
  made_ = state.energy_made;
  seen_ = state.energy_seen;
  taken_ = 0;
  // What pins give through rods is not known here.
  if (carried && !w_.multipliers.empty()) return false;
  const double given = work_of_air(state) + (carried ? work_of_pins(state, h) : 0), after = elastic(state);
  const Motion motion =
      motion_of(model_, state.particles.inverse_mass, params_.gravity, x0_, v0_, x, state.particles.v);
  kinetic_ = motion.kinetic;
  seen_ = std::max(kinetic_ + after, seen_ * std::max(0.0, 1 - double(h) / remembered));
  const double most = part_of_energy * seen_, own = motion.gained + after - before_ - given;
  made_ = std::max(made_ + own, -most);
  if (made_ <= most) return false;
  // What positions round by is a velocity as well, the greater the shorter the step, and a height.
  const double extent = ordered_reduce(
      x.size(), net_block, 0.0,
      [&](std::size_t begin, std::size_t end) {
        Real farthest = 0;
        for (std::size_t i = begin; i < end; ++i) farthest = std::max(farthest, x[i].cwiseAbs().maxCoeff());
        return double(farthest);
      },
      [](double a, double b) { return std::max(a, b); });
  const double rounding = 4 * double(std::numeric_limits<Real>::epsilon()) * extent,
               speed = rounding / double(h);
  const double unknown = mass_sum(model_, state.particles.inverse_mass, [&](std::size_t) {
    return 0.5 * speed * speed + double(params_.gravity.norm()) * rounding;
  });
  // What it made before is gone where the energy has become less since, by contact or into height.
  const double over = std::min(made_ - most - unknown, own);
  taken_ = std::clamp(over, 0.0, kinetic_);
  return !(over <= 0.1 * most);
}

void EnergyAccount::enter(Springs::State& state) const {
  if (!std::isfinite(made_) || !std::isfinite(seen_)) return;
  state.energy_made = made_ - taken_;
  state.energy_seen = seen_;
  if (taken_ == 0) return;
  const Real part = static_cast<Real>(std::sqrt(1 - taken_ / kinetic_));
  parallel_for(state.particles.v.size(), net_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      if (state.particles.inverse_mass[i] > 0) state.particles.v[i] *= part;
  });
}

/// [J] of springs, penalties, and tetrahedra that w.volumes found.
double EnergyAccount::elastic(const Springs::State& state) {
  const std::span<const Vec3> x = state.particles.x;
  return w_.system.forces(x, state.particles.v, params_.stiffness_scale, damping_factor(params_), w_.rhs) +
         w_.volumes.energy(x) + penalty_energy(model_, params_, x);
}

/// The most that it may have given [J].
double EnergyAccount::work_of_air(const Springs::State& state) const {
  if (!has_air(model_, params_)) return 0;
  const std::span<const Vec3> x = state.particles.x;
  return ordered_sum(x.size(), net_block, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += std::max(0.0, double(air_on(w_, i).dot(x[i] - x0_[i])));
    return sum;
  });
}

/// The most that pins may have given through springs [J]: as much as at the step's beginning, or its end.
double EnergyAccount::work_of_pins(const Springs::State& state, Real h) {
  const std::span<const Vec3> v = state.particles.v;
  const auto power = [&](std::span<const Vec3> at, std::span<const Vec3> moving) {
    find_forces(model_, at, moving, params_, w_);
    return plenum::work_of_pins(model_, state.particles.inverse_mass, v,
                                [&](std::size_t i) -> Vec3 { return -w_.rhs[i]; });
  };
  return double(h) * std::max({0.0, power(x0_, v0_), power(state.particles.x, v)});
}

}  // namespace plenum::inline PLENUM_ABI
