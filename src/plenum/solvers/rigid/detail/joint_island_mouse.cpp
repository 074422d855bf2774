// The bound on the force of a mouse: a ball, where other drives have one for each row.
//
// Within it the three rows are driven, by an implicit spring and damper (Catto 2011, "Soft constraints:
// reinventing the spring for games"); beyond, their impulse is the bound along what the spring alone would
// give, as friction is cut back onto its cone. The spring's impulse is the minimum of a convex quadratic,
// which falls all the way there from none: a cut one leaves less of it than none does. The spring drives
// again once it asks for less along the pull.
#include <algorithm>

#include "plenum/solvers/rigid/detail/joint_island.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// [N] of the spring, unbounded, that goes from x0 to x1 [m] in h [s].
Eigen::Vector3d force_of(const Rigid::JointAxis& axis, const Eigen::Vector3d& x0, const Eigen::Vector3d& x1,
                         double h) {
  return -double(axis.stiffness) * x1 - double(axis.damping) / h * (x1 - x0);
}

}  // namespace

/// At the start of a sub-step: all its strength along what its spring asks for where the velocities lead.
template <int D>
void JointIsland<D>::pull_fully(std::size_t k, const Rigid::JointAxis& axis, double h) {
  Joint& j = joints_[k];
  if (j.status[0] == RowStatus::driven) return;
  const D3 x0 = Eigen::Map<const D3>(j.value), x1 = x0 + h * rate(full_[k]).template head<3>();
  j.impulse.template head<3>() = h * double(axis.strength) * force_of(axis, x0, x1, h).normalized();
}

/// Whether it changes between driven and pushing with all its strength, and keeps to which.
template <int D>
bool JointIsland<D>::revise_mouse(std::size_t k, const Rigid::JointAxis& axis, double h, bool with_bias) {
  Joint& j = joints_[k];
  const double most = double(axis.strength);
  const D3 impulse = (j.impulse + change_[k]).template head<3>();
  RowStatus next = j.status[0];
  if (next == RowStatus::driven) {
    if (impulse.norm() > h * most) next = RowStatus::strongest;
  } else if (with_bias) {
    const D3 x1 = (value_[k] + h * (rate(full_[k]) - rate_[k])).template head<3>(),
             force = force_of(axis, Eigen::Map<const D3>(j.value), x1, h);
    const double along = impulse.isZero(0) ? force.norm() : force.dot(impulse) / impulse.norm();
    if (along < most) next = RowStatus::driven;
  }
  std::copy(j.status, j.status + 6, j.next);
  std::fill(j.next, j.next + 3, next);
  return next != j.status[0];
}

/// Takes over what revise_mouse() found, and cuts the impulse that was too long.
template <int D>
void JointIsland<D>::adopt_mouse(std::size_t k, const Rigid::JointAxis& axis, double h) {
  Joint& j = joints_[k];
  if (j.next[0] == j.status[0]) return;
  if (j.next[0] == RowStatus::strongest) {
    const D3 whole = (j.impulse + change_[k]).template head<3>();
    Vector change = Vector::Zero();
    change.template head<3>() = h * double(axis.strength) * whole.normalized() - j.impulse.template head<3>();
    j.impulse += change;
    push(full_[k], change);
  }
  std::copy(j.next, j.next + 3, j.status);
}

template void JointIsland<3>::pull_fully(std::size_t, const Rigid::JointAxis&, double);
template void JointIsland<6>::pull_fully(std::size_t, const Rigid::JointAxis&, double);
template bool JointIsland<3>::revise_mouse(std::size_t, const Rigid::JointAxis&, double, bool);
template bool JointIsland<6>::revise_mouse(std::size_t, const Rigid::JointAxis&, double, bool);
template void JointIsland<3>::adopt_mouse(std::size_t, const Rigid::JointAxis&, double);
template void JointIsland<6>::adopt_mouse(std::size_t, const Rigid::JointAxis&, double);

}}  // namespace plenum::PLENUM_ABI::detail
