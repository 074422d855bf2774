#pragma once
// From specifications of joints to joints.
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Fills Model::joints and apart and State::joints, of bodies that stand. Throws Error.
void build_joints(const Rigid::Spec& spec, Rigid::Model& model, Rigid::State& state);

}}  // namespace plenum::PLENUM_ABI::detail
