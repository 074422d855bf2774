// Keeping joints within reason: of the work that linearized equations give, and of energy.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/solvers/rigid/detail/joint_island.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

constexpr double most_to_and_fro = 0.02;  ///< part of the energy that bound_energy() lets swing

}  // namespace

template <int D>
double JointIsland<D>::kinetic_energy() const {
  double twice = 0;
  for (const Body& body : bodies_) {
    if (!body.moves) continue;
    const D3 w = body.rotation.transpose() * body.w;
    twice += body.v.squaredNorm() / body.inverse_mass + w.dot(body.inertia.cwiseProduct(w));
  }
  return twice / 2;
}

template <int D>
void JointIsland<D>::keep() {
  for (std::size_t i = 0; i < bodies_.size(); ++i) kept_[i] << bodies_[i].v, bodies_[i].w;
  for (Joint& joint : joints_) joint.kept = joint.impulse;
}

/// [J] that the impulses of springs since keep() would give bodies at rest by themselves.
template <int D>
double JointIsland<D>::work_of_springs() {
  if (!has_springs_) return 0;
  for (auto& change : start_) change.setZero();
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    const Joint& j = joints_[k];
    if (!j.has_springs) continue;
    Vector own = Vector::Zero();
    for (int r = 0; r < D; ++r)
      if (j.is_spring[r] && (j.status[r] == RowStatus::driven || j.status[r] == RowStatus::weakest ||
                             j.status[r] == RowStatus::strongest))
        own[r] = j.impulse[r] - j.kept[r];
    const Joint& full = full_[k];
    const D3 linear = full.n * own;
    auto &a = start_[std::size_t(j.a)], &b = start_[std::size_t(j.b)];
    a.template head<3>() -= bodies_[std::size_t(j.a)].mobility.cwiseProduct(linear);
    b.template head<3>() += bodies_[std::size_t(j.b)].mobility.cwiseProduct(linear);
    a.template tail<3>() -= full.push_a * own, b.template tail<3>() += full.push_b * own;
  }
  double twice = 0;
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    const Body& body = bodies_[i];
    if (!body.moves) continue;
    const D3 v = start_[i].template head<3>(), w = body.rotation.transpose() * start_[i].template tail<3>();
    twice += v.squaredNorm() / body.inverse_mass + w.dot(body.inertia.cwiseProduct(w));
  }
  return twice / 2;
}

/// Takes back what has more energy than this part of that at keep(), than closing all gaps and than springs
/// give, from what has been done to the bodies since.
template <int D>
void JointIsland<D>::bound_work(double part_of_energy) {
  double before = 0, change = 0, mass = 0;  // energies twice
  const auto energy = [](const Body& body, const D3& v, const D3& turn) {
    const D3 w = body.rotation.transpose() * turn;
    return v.squaredNorm() / body.inverse_mass + w.dot(body.inertia.cwiseProduct(w));
  };
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    const Body& body = bodies_[i];
    if (!body.moves) continue;
    const D3 v = kept_[i].template head<3>(), w = kept_[i].template tail<3>();
    before += energy(body, v, w);
    change += energy(body, body.v - v, body.w - w);
    mass += 1 / body.inverse_mass;
  }
  double most = part_of_energy * before + mass * gap_speed * gap_speed;
  if (change > most) most += 2 * work_of_springs();
  if (!(change > most)) return;
  const double part = std::sqrt(most / change);
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    Body& body = bodies_[i];
    if (!body.moves) continue;
    const D3 v = kept_[i].template head<3>(), w = kept_[i].template tail<3>();
    body.v = v + part * (body.v - v), body.w = w + part * (body.w - w);
  }
  for (Joint& joint : joints_) joint.impulse = joint.kept + part * (joint.impulse - joint.kept);
}

/// Slows the bodies to this energy if they have more, about what free ones had in `common` before, which
/// joints do not change: impulses of wild size, a gap apart, would. `more` comes on top, and falls with their
/// speed as the work of an impulse does.
template <int D>
void JointIsland<D>::slow_down(const Common& common, double most, double more) {
  if (!(kinetic_energy() > most + more)) return;
  const Common now = motion_in_common();
  const double rest = kinetic_energy() - now.energy;
  // part^2 rest = most - common + part more
  const double half = rest > 0 ? more / (2 * rest) : 0;
  const double part =
      rest > 0 ? half + std::sqrt(half * half + std::max(most - common.energy, 0.0) / rest) : 0;
  const double kept = std::min(part, 1.0);
  for (Body& body : bodies_) {
    if (!body.moves) continue;
    const D3 r = body.pose.x - now.centre;
    body.v = common.v + common.w.cross(r) + kept * (body.v - now.v - now.w.cross(r));
    body.w = common.w + kept * (body.w - now.w);
  }
}

/// The motion as one rigid body that has the momentum and angular momentum of free bodies: what they do
/// besides has neither, and its energy adds to that. Of bodies that are held none.
template <int D>
auto JointIsland<D>::motion_in_common() const -> Common {
  Common out;
  double mass = 0;
  D3 momentum = D3::Zero(), spin = D3::Zero();
  for (const Body& body : bodies_) {
    if (!body.moves || body.locks != 0) return {};
    const double m = 1 / body.inverse_mass;
    mass += m, momentum += m * body.v, out.centre += m * body.pose.x;
  }
  out.centre /= mass, out.v = momentum / mass;
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();
  for (const Body& body : bodies_) {
    const double m = 1 / body.inverse_mass;
    const D3 r = body.pose.x - out.centre;
    const Eigen::Matrix3d own = body.rotation * body.inertia.asDiagonal() * body.rotation.transpose();
    spin += m * r.cross(body.v) + own * body.w;
    inertia += own + m * (r.squaredNorm() * Eigen::Matrix3d::Identity() - r * r.transpose());
  }
  out.w = inverse_of<3>(inertia) * spin;
  out.energy = (mass * out.v.squaredNorm() + spin.dot(out.w)) / 2;
  return out;
}

/// [J] of all bodies at the speed at which the widest gap is closed in the sub-step, at most gap_speed.
template <int D>
double JointIsland<D>::energy_of_closing(double h) const {
  double speed = 0, mass = 0;
  for (const Joint& j : joints_) {
    if constexpr (general) {
      for (int r = 0; r < D; ++r) speed = std::max(speed, std::abs(j.closing[r]) * (r < 3 ? 1 : j.size) / h);
    } else {
      speed = std::max(speed, j.closes * j.gap.norm() / h);
    }
  }
  for (const Body& body : bodies_)
    if (body.moves) mass += 1 / body.inverse_mass;
  return mass * std::pow(std::min(speed, gap_speed), 2) / 2;
}

/// [J] that may go to and fro by itself: speeds fit the joints at one end of a sub-step, and in its middle
/// after it; of what turns by x in it (x/2)^2 of the energy is the less or more there, and swings as x does
/// over the turns of a mechanism.
template <int D>
double JointIsland<D>::most_owed() const {
  return is_heavier_ ? 0 : most_to_and_fro * kinetic_energy();
}

/// Leaves the bodies no more energy than this, than joints took before and may give back (owed_), than
/// closing gaps takes, which is to be given back when they are closed, and what drives, and bodies that are
/// led, have given since before_: an impulse's work is that along the mean of the rates before and after it,
/// at most strength times way. Locked rows and limits give none. This is passivity control by the energy
/// observed at a port (Hannaford & Ryu 2002, "Time-domain passivity control of haptic interfaces").
template <int D>
void JointIsland<D>::bound_energy(const Common& common, double before, double h) {
  const double own = std::max(before - borrowed_, 0.0);
  borrowed_ = 0;
  double first = 0, last = 0, led = 0;
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    const Joint& j = joints_[k];
    const Joint& full = general ? full_[k] : j;
    const Body &a = bodies_[std::size_t(j.a)], &b = bodies_[std::size_t(j.b)];
    if (!j.has_bounds && !(j.turn_damping > 0) && (a.moves || a.fixed) && (b.moves || b.fixed)) continue;
    const Vector impulse = j.impulse - given_[k];
    if constexpr (general) {
      const Vector now = rate(full);
      for (int r = 0; r < D; ++r)
        if (j.status[r] == RowStatus::driven || j.status[r] == RowStatus::weakest ||
            j.status[r] == RowStatus::strongest || (r >= 3 && j.damps[r - 3]))
          first += impulse[r] * before_[k][r] / 2, last += impulse[r] * now[r] / 2;
      if (!a.moves) led += impulse.dot(full.n.transpose() * a.v + full.on_a.transpose() * a.w);
      if (!b.moves) led -= impulse.dot(full.n.transpose() * b.v + full.on_b.transpose() * b.w);
    } else {
      if (!a.moves) led += impulse.dot(a.v + a.w.cross(j.arm_a));
      if (!b.moves) led -= impulse.dot(b.v + b.w.cross(j.arm_b));
    }
  }
  const double closing = energy_of_closing(h), driven = std::max(first, 0.0) + std::max(led, 0.0),
               most = std::max(last, 0.0);
  slow_down(common, own + owed_ + closing + driven, most);
  const double given = kinetic_energy() - own - (first + last + led), repaid = std::min(given, owed_);
  borrowed_ = std::clamp(given - repaid, 0.0, closing);
  owed_ = std::clamp(owed_ - repaid, 0.0, most_owed());
}

template double JointIsland<3>::kinetic_energy() const;
template void JointIsland<3>::keep();
template double JointIsland<3>::work_of_springs();
template void JointIsland<3>::bound_work(double);
template void JointIsland<3>::slow_down(const Common&, double, double);
template auto JointIsland<3>::motion_in_common() const -> Common;
template double JointIsland<3>::energy_of_closing(double) const;
template double JointIsland<3>::most_owed() const;
template void JointIsland<3>::bound_energy(const Common&, double, double);
template double JointIsland<6>::kinetic_energy() const;
template void JointIsland<6>::keep();
template double JointIsland<6>::work_of_springs();
template void JointIsland<6>::bound_work(double);
template void JointIsland<6>::slow_down(const Common&, double, double);
template auto JointIsland<6>::motion_in_common() const -> Common;
template double JointIsland<6>::energy_of_closing(double) const;
template double JointIsland<6>::most_owed() const;
template void JointIsland<6>::bound_energy(const Common&, double, double);

}}  // namespace plenum::PLENUM_ABI::detail
