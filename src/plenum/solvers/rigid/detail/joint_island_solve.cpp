// One linear problem with bounds: the impulses of a joint island, its rows held, driven or let go.
#include <algorithm>
#include <cmath>

#include "plenum/integrate/free_rotation.h"
#include "plenum/solvers/rigid/detail/joint_island.h"
#include "plenum/solvers/rigid/detail/row_status.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using rigid::AxisMode;
using rigid::Drive;
using JointAxis = Rigid::JointAxis;

constexpr int most_revisions = 6;  ///< of all rows at once
constexpr int most_single = 20;    ///< and then of one row each

constexpr double turn_closed = 0.05;  ///< [rad] of an error, what a sub-step closes

/// The value at which a limit is by the end of a sub-step that began at `value`: an error is closed in part,
/// a free way to it may be longer.
double limit_after(double limit, bool is_lower, double value, double most) {
  return is_lower ? std::min(limit, value + most) : std::max(limit, value - most);
}
/// Whether a limit or a lock is passed; a way that is free up to a limit is no error.
bool is_error(RowStatus status, const JointAxis& axis, double value) {
  return status == RowStatus::held || (status == RowStatus::at_lower && value < double(axis.lower)) ||
         (status == RowStatus::at_upper && value > double(axis.upper));
}
/// [N s] or [N m s] that the drive gives in h [s] where a limit leads the value to `end`, at this rate.
double drive_at(const JointAxis& axis, double strength, double end, double rate, double h) {
  const double most = h * strength;
  if (axis.drive == Drive::velocity)
    return double(axis.speed) > rate ? most : double(axis.speed) < rate ? -most : 0;
  if (axis.drive == Drive::spring)
    return std::clamp(
        h * (double(axis.stiffness) * (double(axis.target) - end) - double(axis.damping) * rate), -most,
        most);
  return 0;
}

}  // namespace

/// Once in a sub-step, the impulses of drives that push with all their strength.
template <int D>
void JointIsland<D>::push_drives(const JointScene& scene) {
  if constexpr (general) {
    if (has_pushed_ || !has_drives_) return;
    has_pushed_ = true;
    for (std::size_t k = 0; k < joints_.size(); ++k) {
      Joint& joint = joints_[k];
      const auto& axes = scene.model.joints[std::size_t(joint.joint)].axes;
      if (joint.is_mouse) {
        pull_fully(k, axes[0], scene.h);
        continue;
      }
      for (int r = 0; r < 6; ++r)
        if (pushes_fully(joint.status[r]))
          joint.impulse[r] = full_push(joint.status[r], joint.strength[r], scene.h);
    }
    for (std::size_t k = 0; k < joints_.size(); ++k) push(full_[k], joints_[k].impulse);
  }
}

/// change_ = what it asks for, by least impulses. In loops, and where axes are locked, some rows say what
/// others say, and rounding, or how they were placed, lets them disagree: (A + G)^-1 answers an error b
/// across all that bodies can do with impulses b / G. Those stay out by (A + G)^-1 A (A + G)^-1 b = (A +
/// G)^-1 (b - G (A + G)^-1 b), which of an eigenvalue l keeps l / (l + g)^2: 1 / l of what can move, nothing
/// of what cannot. On such filters: Hansen 1998, "Rank-Deficient and Discrete Ill-Posed Problems", section 4.
template <int D>
void JointIsland<D>::solve_for_least() {
  if (is_redundant_) wanted_ = change_;
  factors_.solve(pattern_, change_);
  if (!is_redundant_) return;
  for (std::size_t k = 0; k < joints_.size(); ++k)
    change_[k] = wanted_[k] - joints_[k].give.cwiseProduct(change_[k]);
  factors_.solve(pattern_, change_);
}

/// One Newton step towards joints that are right at the end of the sub-step, or towards rates of zero.
/// Springs act too, or only keep what they have done.
template <int D>
template <bool with_bias>
void JointIsland<D>::solve_rows(const JointScene& scene, bool springs) {
  const double h = scene.h;
  if constexpr (with_bias) predict(h);
  for (int revisions = 0;; ++revisions) {
    for (std::size_t k = 0; k < joints_.size(); ++k) {
      const Joint& j = joints_[k];
      const Body &a = bodies_[std::size_t(j.a)], &b = bodies_[std::size_t(j.b)];
      if constexpr (!general) {
        if constexpr (with_bias)
          change_[k] = (-1 / h) * (j.closes * j.gap + ahead(b, j.arm_b) - ahead(a, j.arm_a)) - (b.v - a.v);
        else
          change_[k] = -rate(j);
      } else {
        const Rigid::Joint& of = scene.model.joints[std::size_t(j.joint)];
        const Vector now = rate(full_[k]);
        // Where rows have changed, from there on by rates: one linear problem with bounds, about one set of
        // poses. A drive's impulse alone, over a long arm, turns bodies anywhere, and what joints would be
        // there says nothing of where they will be once locked rows have answered.
        if (with_bias && revisions > 0) value_[k] += h * (now - rate_[k]);
        if (!with_bias) value_[k] = Eigen::Map<const Vector>(j.value) + h * now;
        rate_[k] = now;
        if (with_bias && revisions == 0) {
          JointPose to_a{a.pose.x + h * a.v, turned<double>(a.pose.q, a.turn)},
              to_b{b.pose.x + h * b.v, turned<double>(b.pose.q, b.turn)};
          double value[6];
          joint_values(of, to_a, to_b, value);
          for (int r = j.winds; r < 6; ++r) value[r] = wound(value[r], j.value[r] + h * rate_[k][r]);
          for (int r = 0; r < 6; ++r) value_[k][r] = value[r];
        }
        D3 damped = D3::Zero();  // impulses of the damping so far
        for (int r = 0; r < 3 && j.turn_damping > 0; ++r)
          if (j.damps[r]) damped[r] = j.impulse[3 + r] - full_push(j.status[3 + r], j.strength[3 + r], h);
        for (int r = 0; r < 6; ++r) {
          const JointAxis& axis = of.axes[std::size_t(r)];
          double wrong = 0, closing = 0;
          switch (j.status[r]) {
            case RowStatus::held:
            case RowStatus::at_lower:
            case RowStatus::at_upper:
              if (with_bias) {
                const double most = r < 3 ? j.most : turn_closed;
                double end = 0;
                if (j.status[r] == RowStatus::held)
                  end = std::clamp(double(axis.lower), j.value[r] - most, j.value[r] + most);
                else if (j.status[r] == RowStatus::at_lower)
                  end = limit_after(double(axis.lower), true, j.value[r], most);
                else
                  end = limit_after(double(axis.upper), false, j.value[r], most);
                wrong = (value_[k][r] - end) / h;
                closing = is_error(j.status[r], axis, j.value[r]) ? j.value[r] - end : 0;
              } else {
                wrong = rate_[k][r];
              }
              break;
            case RowStatus::driven:
              if (axis.drive == Drive::velocity)
                wrong = rate_[k][r] - double(axis.speed);
              else if (springs)  // in relaxation it answers changes as it did before
                wrong = (double(axis.stiffness) * (value_[k][r] - double(axis.target)) +
                         (double(axis.damping) + (r >= 3 ? j.damping[r - 3] : 0)) *
                             (value_[k][r] - j.value[r]) / h) *
                            h * j.soft[r] +
                        j.soft[r] * j.impulse[r];
              break;
            default:
              if (r >= 3 && j.damps[r - 3] && springs)
                wrong = rate_[k][r] + j.damp_soft.row(r - 3).dot(damped);
              break;
          }
          change_[k][r] = -wrong;
          if (with_bias) joints_[k].closing[r] = closing;
        }
      }
    }
    for (std::size_t k = 0; k < joints_.size(); ++k)
      change_[k] -= joints_[k].give.cwiseProduct(joints_[k].impulse);
    solve_for_least();
    if constexpr (general)
      if (has_bounds_)
        for (std::size_t i = 0; i < bodies_.size(); ++i) start_[i] << bodies_[i].v, bodies_[i].w;
    for (std::size_t k = 0; k < joints_.size(); ++k) push(joints_[k], change_[k]);
    if constexpr (general)
      if (has_bounds_ && revisions < most_revisions + most_single && revise<with_bias>(scene, springs)) {
        if (revisions >= most_revisions) change_one();
        for (std::size_t i = 0; i < bodies_.size(); ++i)
          bodies_[i].v = start_[i].template head<3>(), bodies_[i].w = start_[i].template tail<3>();
        adopt(scene);
        factorize(scene);
        continue;
      }
    break;
  }
  for (std::size_t k = 0; k < joints_.size(); ++k) joints_[k].impulse += change_[k];
}

/// Takes from the bodies the rates that their joints do not allow. With their own moments of inertia this
/// takes energy; with those of find_stiffness() it might give some.
template <int D>
void JointIsland<D>::project(const JointScene& scene, bool springs) {
  const double before = is_heavier_ ? kinetic_energy() : 0;
  const Common common = is_heavier_ ? motion_in_common() : Common{};
  solve_rows<false>(scene, springs);
  if (is_heavier_) slow_down(common, before);
}

template <int D>
template <bool with_bias>
bool JointIsland<D>::revise(const JointScene& scene, bool springs) {
  bool any = false;
  const double h = scene.h;
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    Joint& j = joints_[k];
    if (!j.has_bounds) continue;
    const Rigid::Joint& of = scene.model.joints[std::size_t(j.joint)];
    const Vector now = rate(full_[k]);
    if (j.is_mouse) {
      any |= revise_mouse(k, of.axes[0], h, springs);
      continue;
    }
    for (int r = 0; r < D; ++r) {
      const JointAxis& axis = of.axes[std::size_t(r)];
      RowStatus& next = j.next[r];
      next = j.status[r];
      if (axis.mode == AxisMode::locked || !axis.is_used()) continue;
      // Of a drive, without what damps it.
      const double damping = r >= 3 && j.status[r] == RowStatus::driven ? h * j.damping[r - 3] * now[r] : 0;
      const double impulse = j.impulse[r] + change_[k][r] + damping, most = h * j.strength[r];
      // Where the value will be, by the change of its rate.
      const double value = value_[k][r] + h * (now[r] - rate_[k][r]);
      const double closes = r < 3 ? j.most : turn_closed;
      const double lower = limit_after(double(axis.lower), true, j.value[r], closes),
                   upper = limit_after(double(axis.upper), false, j.value[r], closes);
      const auto drive = [&](double limit) {
        return drive_at(axis, j.strength[r], limit, with_bias ? (limit - j.value[r]) / h : 0, h);
      };
      // Impulses fall as values rise: a lower limit, the drive's full strength, the drive, its full strength
      // down, an upper limit. What leaves one of these goes to the next, lest it come back at once.
      const auto released = [&](double impulse_there) {
        return !has_drive(axis)         ? RowStatus::idle
               : impulse_there >= most  ? RowStatus::strongest
               : impulse_there <= -most ? RowStatus::weakest
                                        : RowStatus::driven;
      };
      const bool above = value > upper, below = value < lower;
      bool over = false;  // to one that comes before the limit that is passed too
      // A limit gives what its drive does not, and only pushes.
      if (j.status[r] == RowStatus::at_lower) {
        if (const double there = drive(lower); impulse < there) next = released(there);
      } else if (j.status[r] == RowStatus::at_upper) {
        if (const double there = drive(upper); impulse > there) next = released(there);
      } else if (j.status[r] == RowStatus::driven && std::abs(impulse) > most) {
        next = impulse > 0 ? RowStatus::strongest : RowStatus::weakest;
        over = impulse > 0 ? above : below;
      } else if (pushes_fully(j.status[r])) {
        double wrong = now[r] - double(axis.speed);
        if (axis.drive == Drive::spring)
          wrong = springs ? double(axis.stiffness) * (value - double(axis.target)) +
                                double(axis.damping) * (value - j.value[r]) / h + impulse / h
                          : 0;
        over = j.status[r] == RowStatus::strongest ? wrong > 0 : wrong < 0;
        if (over) next = RowStatus::driven;
      }
      const bool limit = j.status[r] == RowStatus::at_lower || j.status[r] == RowStatus::at_upper;
      if (with_bias && axis.mode == AxisMode::limited && !limit && !over) {
        if (below) next = RowStatus::at_lower;
        if (above) next = RowStatus::at_upper;
      }
      any |= next != j.status[r];
    }
  }
  return any;
}

/// Of what revise() found lets only the first stand: the method of Murty (1974, "Note on a Bard-type scheme
/// for solving the complementarity problem"), which cannot cycle.
template <int D>
void JointIsland<D>::change_one() {
  bool any = false;
  for (Joint& j : joints_) {
    if (!j.has_bounds) continue;
    if (j.is_mouse) {
      if (any) std::copy(j.status, j.status + 6, j.next);
      any |= j.next[0] != j.status[0];
      continue;
    }
    for (int r = 0; r < 6; ++r) {
      if (any) j.next[r] = j.status[r];
      any |= j.next[r] != j.status[r];
    }
  }
}

/// Takes over what revise() found; impulses that no longer act are taken back.
template <int D>
void JointIsland<D>::adopt(const JointScene& scene) {
  has_changed_ = true;
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    Joint& j = joints_[k];
    if (!j.has_bounds) continue;
    Vector change = Vector::Zero();
    if (j.is_mouse) {
      adopt_mouse(k, scene.model.joints[std::size_t(j.joint)].axes[0], scene.h);
      continue;
    }
    for (int r = 0; r < D; ++r) {
      if (j.next[r] == j.status[r]) continue;
      const double most = scene.h * j.strength[r];
      double impulse = 0;
      if (j.next[r] == RowStatus::strongest) impulse = most;
      if (j.next[r] == RowStatus::weakest) impulse = -most;
      if (j.next[r] == RowStatus::driven && pushes_fully(j.status[r])) impulse = j.impulse[r];
      change[r] = impulse - j.impulse[r];
      j.impulse[r] = impulse;
      j.status[r] = j.next[r];
    }
    push(full_[k], change);
  }
}

template void JointIsland<3>::push_drives(const JointScene&);
template void JointIsland<3>::project(const JointScene&, bool);
template void JointIsland<3>::solve_for_least();
template void JointIsland<3>::solve_rows<true>(const JointScene&, bool);
template void JointIsland<3>::solve_rows<false>(const JointScene&, bool);
template bool JointIsland<3>::revise<true>(const JointScene&, bool);
template bool JointIsland<3>::revise<false>(const JointScene&, bool);
template void JointIsland<3>::change_one();
template void JointIsland<3>::adopt(const JointScene&);
template void JointIsland<6>::push_drives(const JointScene&);
template void JointIsland<6>::project(const JointScene&, bool);
template void JointIsland<6>::solve_for_least();
template void JointIsland<6>::solve_rows<true>(const JointScene&, bool);
template void JointIsland<6>::solve_rows<false>(const JointScene&, bool);
template bool JointIsland<6>::revise<true>(const JointScene&, bool);
template bool JointIsland<6>::revise<false>(const JointScene&, bool);
template void JointIsland<6>::change_one();
template void JointIsland<6>::adopt(const JointScene&);

}}  // namespace plenum::PLENUM_ABI::detail
