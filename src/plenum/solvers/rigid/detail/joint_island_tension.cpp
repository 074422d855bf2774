// Tension that is stiff for a sub-step: how stiff, of each body and of all together, and what is done about
// it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/solvers/rigid/detail/joint_island.h"
#include "plenum/solvers/rigid/detail/locks.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Of h^2 k / I, with k the stiffness that tension gives: from where on turning is damped, how fast the part
/// of it that is taken in a sub-step rises and up to which, and what is let through. Leapfrog is stable below
/// 4, its frequency is right to a percent below 0.25. E2 of validation/rigid_scenes.h neither gains energy
/// nor gapes with these.
constexpr double damping_from = 0.2, damping_rate = 1, damping_most = 0.5, stiffness_most = 1;
/// [rad] of relative turning in a sub-step from where on it is damped too, [rad] of turning that is let
/// through, and from which h^2 k / I on both apply: wheels, which hang by their middle, turn as fast as they
/// like.
constexpr double turn_damped = 0.2, turn_most = 0.3, turn_stiffness = 0.02;
/// Steps of the power method in estimate_vibration(), and what the estimate, which comes from below, is taken
/// times.
constexpr int power_steps = 4;
constexpr double power_safety = 1.25;
constexpr double closing_part = 0.01;  ///< of the kinetic energy, that closing gaps may have for it

/// About as random as its digits: fractions of multiples of the golden ratio (Weyl 1916).
double weyl(std::size_t i) {
  const double x = double(i + 1) * 0.6180339887498949;
  return 2 * (x - std::floor(x)) - 1;
}

}  // namespace

/// Of each body, h^2 k / I with k the stiffness of the joints' tension on a body that is free to turn: no
/// vibration of bodies in joints has a larger one.
template <int D>
void JointIsland<D>::find_stiffness(double h) {
  was_heavier_ = is_heavier_;
  is_heavier_ = false;
  for (Body& body : bodies_) body.stiffness = 0, body.is_heavier = false;
  for (const Joint& j : joints_) {
    const D3& force = j.pull;  // on b
    const double part = 1 / (force.squaredNorm() + std::numeric_limits<double>::min());
    const auto add = [&](Body& body, const D3& arm, double pulls) {
      if (!body.moves || !(pulls > 0)) return;
      // By the mean of the inverse moments across the force.
      const auto& k = body.inverse_inertia;
      double response = (k.trace() - part * force.dot(k * force)) / 2;
      // About the joint, where that stands still, by Steiner's theorem.
      if (j.is_pinned) response /= 1 + response * arm.squaredNorm() / body.inverse_mass;
      body.stiffness += h * pulls * response;
    };
    add(bodies_[std::size_t(j.a)], j.arm_a, -force.dot(j.arm_a));
    add(bodies_[std::size_t(j.b)], j.arm_b, force.dot(j.arm_b));
  }
  for (Body& body : bodies_) body.vibrates = body.stiffness;
}

/// [m] of all joints, angles times the reach of the smaller body.
template <int D>
double JointIsland<D>::widest_gap(const JointScene& scene) const {
  double widest = 0;
  for (const Joint& j : joints_) {
    if constexpr (general) {
      const auto& axes = scene.model.joints[std::size_t(j.joint)].axes;
      for (int r = 0; r < 6; ++r) {
        const Rigid::JointAxis& axis = axes[std::size_t(r)];
        if (axis.mode == rigid::AxisMode::free || !axis.is_used()) continue;
        const double over = j.value[r] - double(axis.upper), under = double(axis.lower) - j.value[r];
        const double off = axis.mode == rigid::AxisMode::locked ? std::abs(under) : std::max(over, under);
        widest = std::max(widest, off * (r < 3 ? 1 : j.size));
      }
    } else {
      widest = std::max(widest, j.gap.norm());
    }
  }
  return widest;
}

/// Whether bodies in these joints may vibrate much slower than find_stiffness() says, as those of mechanisms
/// do: a light crank turns no faster than the heavy slider lets it. In a tree most are free to. Where
/// the speeds at which gaps close are not small against those of the bodies, tension is of gaps.
template <int D>
bool JointIsland<D>::may_vibrate_less(const JointScene& scene, const SolverBodies& bodies) {
  if (!has_loops_ || std::none_of(bodies_.begin(), bodies_.end(),
                                  [](const Body& body) { return body.stiffness > damping_from; }))
    return false;
  load(bodies);
  double mass = 0;
  for (const Body& body : bodies_)
    if (body.moves) mass += 1 / body.inverse_mass;
  return mass * std::pow(widest_gap(scene) / scene.h, 2) < closing_part * 2 * kinetic_energy();
}

/// What tension resists velocities with: start_ = h^2 K u, K = sum T r (1 - t t^T) of turning over the
/// joints' tensions T along t with arms r. Returns u^T h^2 K u.
template <int D>
double JointIsland<D>::resist(double h) {
  double work = 0;
  for (auto& resistance : start_) resistance.setZero();
  for (const Joint& j : joints_) {
    const double strength = j.pull.norm();
    if (!(strength > 0)) continue;
    const D3 t = j.pull / strength;
    const auto across = [&](const D3& v) -> D3 { return v - t * t.dot(v); };
    const auto turn = [&](Index i, double pulls) {
      const Body& body = bodies_[std::size_t(i)];
      if (!body.moves || !(pulls > 0)) return;
      const D3 torque = h * pulls * across(body.w);
      start_[std::size_t(i)].template tail<3>() += torque, work += torque.dot(body.w);
    };
    turn(j.a, -j.pull.dot(j.arm_a)), turn(j.b, j.pull.dot(j.arm_b));
    if (!j.is_span || j.pull.dot(j.gap) >= 0) continue;
    // A rod turns about its ends too.
    const Body &a = bodies_[std::size_t(j.a)], &b = bodies_[std::size_t(j.b)];
    const D3 swing = across(b.v - a.v + b.w.cross(j.arm_b) - a.w.cross(j.arm_a));
    const D3 force = h * strength / j.gap.norm() * swing;
    work += force.dot(swing);
    auto &on_a = start_[std::size_t(j.a)], &on_b = start_[std::size_t(j.b)];
    on_a.template head<3>() -= force, on_a.template tail<3>() -= j.arm_a.cross(force);
    on_b.template head<3>() += force, on_b.template tail<3>() += j.arm_b.cross(force);
  }
  return work;
}

/// Scales what find_stiffness() has said down to the stiffest vibration that the joints allow: the largest
/// eigenvalue of h^2 P M^-1 K, with P what the rows leave of velocities, by the power method (Golub & Van
/// Loan, section 8.2). The rows are to be factored.
template <int D>
void JointIsland<D>::estimate_vibration(double h) {
  const auto project = [&] {
    for (std::size_t k = 0; k < joints_.size(); ++k) change_[k] = -rate(joints_[k]);
    solve_for_least();
    for (std::size_t k = 0; k < joints_.size(); ++k) push(joints_[k], change_[k]);
  };
  std::size_t seed = 0;
  for (Body& body : bodies_) {
    body.v.setZero(), body.w.setZero();
    for (int c = 0; c < 3 && body.moves; ++c) body.w[c] = weyl(seed++);
  }
  project();
  double estimate = 0, bound = 0;
  for (int step = 0; step < power_steps; ++step) {
    const double work = resist(h), twice = 2 * kinetic_energy();
    if (!(twice > 0) || !(work > 0)) break;
    estimate = std::max(estimate, work / twice);  // Rayleigh's quotient
    if (step + 1 == power_steps) break;
    const double scale = 1 / std::sqrt(twice);
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      Body& body = bodies_[i];
      if (!body.moves) continue;
      body.v = scale * body.mobility.cwiseProduct(start_[i].template head<3>());
      body.w = scale * (body.inverse_inertia * start_[i].template tail<3>());
    }
    project();
  }
  for (const Body& body : bodies_) bound = std::max(bound, body.stiffness);
  const double part = std::min(power_safety * estimate / bound, 1.0);
  for (Body& body : bodies_) body.vibrates = part * body.stiffness;
}

/// A body that a vibration is too stiff for is given the moments of inertia under which it is
/// `stiffness_most`.
template <int D>
void JointIsland<D>::make_heavier() {
  for (Body& body : bodies_)
    if (body.vibrates > stiffness_most) {
      body.inverse_inertia *= stiffness_most / body.vibrates;
      is_heavier_ = body.is_heavier = true;
      body.stiffness = body.vibrates = stiffness_most;
    }
}

/// Mass and moments, without what find_stiffness() has made of these in the last sub-step.
template <int D>
void JointIsland<D>::take_inertia(Body& body, SolverBodies& bodies) {
  BodyInertia& row = bodies.inertia[std::size_t(body.index)];
  body.inverse_mass = double(row.inverse_mass);
  Real* k = row.inverse;
  if (body.is_heavier) {
    row.enlarged = 1;
    Mat3 m =
        (body.rotation * body.inverse_moments.asDiagonal() * body.rotation.transpose()).template cast<Real>();
    if (body.locks & turning_locks) m = turning_freely(m, body.locks);
    k[0] = m(0, 0), k[1] = m(1, 1), k[2] = m(2, 2), k[3] = m(0, 1), k[4] = m(0, 2), k[5] = m(1, 2);
  }
  body.inverse_inertia = inverse_inertia_of(row);
}

/// Contacts are to see the moments of inertia that joints see: projections in turn, each orthogonal in a
/// measure of its own, may grow without bound.
template <int D>
void JointIsland<D>::give_inertia(SolverBodies& bodies) const {
  for (const Body& body : bodies_) {
    if (!body.is_heavier) continue;
    BodyInertia& row = bodies.inertia[std::size_t(body.index)];
    Real* k = row.inverse;
    row.enlarged = 1;
    const auto& m = body.inverse_inertia;
    k[0] = Real(m(0, 0)), k[1] = Real(m(1, 1)), k[2] = Real(m(2, 2));
    k[3] = Real(m(0, 1)), k[4] = Real(m(0, 2)), k[5] = Real(m(1, 2));
  }
}

/// Takes relative turning from bodies whose joints pull so hard that a sub-step is long for the vibration:
/// impulses are equal and opposite, and at most halve what they act on.
template <int D>
void JointIsland<D>::damp(double h) {
  for (Joint& j : joints_) {
    Body &a = bodies_[std::size_t(j.a)], &b = bodies_[std::size_t(j.b)];
    if (a.w == b.w) continue;
    const double stiffness = std::max(a.stiffness, b.stiffness);
    double part = damping_rate * (std::max(a.vibrates, b.vibrates) - damping_from);
    if (stiffness > turn_stiffness) part = std::max(part, h * (b.w - a.w).norm() - turn_damped);
    if (!(part > 0)) continue;
    const D3 impulse = inverse_of<3>(Eigen::Matrix3d(a.inverse_inertia + b.inverse_inertia)) * (b.w - a.w) *
                       std::min(part, damping_most);
    a.w += a.inverse_inertia * impulse, b.w -= b.inverse_inertia * impulse;
  }
}

/// Bodies under tension turn by so much in a sub-step at most: beyond, the linearized equations say nothing.
template <int D>
void JointIsland<D>::limit(double h) {
  for (Body& body : bodies_) {
    if (!(body.stiffness > turn_stiffness)) continue;
    const double turn = h * body.w.norm();
    if (turn > turn_most) body.w *= turn_most / turn;
  }
}

template void JointIsland<3>::find_stiffness(double);
template double JointIsland<3>::widest_gap(const JointScene&) const;
template bool JointIsland<3>::may_vibrate_less(const JointScene&, const SolverBodies&);
template double JointIsland<3>::resist(double);
template void JointIsland<3>::estimate_vibration(double);
template void JointIsland<3>::make_heavier();
template void JointIsland<3>::take_inertia(Body&, SolverBodies&);
template void JointIsland<3>::give_inertia(SolverBodies&) const;
template void JointIsland<3>::damp(double);
template void JointIsland<3>::limit(double);
template void JointIsland<6>::find_stiffness(double);
template double JointIsland<6>::widest_gap(const JointScene&) const;
template bool JointIsland<6>::may_vibrate_less(const JointScene&, const SolverBodies&);
template double JointIsland<6>::resist(double);
template void JointIsland<6>::estimate_vibration(double);
template void JointIsland<6>::make_heavier();
template void JointIsland<6>::take_inertia(Body&, SolverBodies&);
template void JointIsland<6>::give_inertia(SolverBodies&) const;
template void JointIsland<6>::damp(double);
template void JointIsland<6>::limit(double);

}}  // namespace plenum::PLENUM_ABI::detail
