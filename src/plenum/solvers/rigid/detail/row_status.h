#pragma once
// What rows of joints do, asked by all that solves for them.
#include "plenum/solvers/rigid/detail/joint_island.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

inline bool is_active(RowStatus s) {
  return s == RowStatus::held || s == RowStatus::at_lower || s == RowStatus::at_upper ||
         s == RowStatus::driven;
}
inline bool pushes_fully(RowStatus s) {
  return s == RowStatus::weakest || s == RowStatus::strongest;
}
inline bool has_drive(const Rigid::JointAxis& axis) {
  return axis.drive == rigid::Drive::velocity ||
         (axis.drive == rigid::Drive::spring && (axis.stiffness > 0 || axis.damping > 0));
}
/// [N s] or [N m s] of a drive that pushes with all its strength [N] or [N m] for h [s].
inline double full_push(RowStatus s, double strength, double h) {
  return s == RowStatus::strongest ? h * strength : s == RowStatus::weakest ? -h * strength : 0;
}
inline RowStatus at_rest(const Rigid::JointAxis& axis) {
  if (axis.mode == rigid::AxisMode::locked) return RowStatus::held;
  return has_drive(axis) ? RowStatus::driven : RowStatus::idle;
}

}}  // namespace plenum::PLENUM_ABI::detail
