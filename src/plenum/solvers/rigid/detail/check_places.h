#pragma once
// Bodies that start within each other.
#include <string>

#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Of bodies that start with their centres of mass in one place, solid there, and that push each other: how
/// many there are, where, two of them, and the remedy; of several such places that with the most. Empty if
/// there are none. Joints must have been built.
std::string doubt_of_places(const rigid::Spec& given, const rigid::Spec& assembled, const Rigid::Model& model,
                            const Rigid::State& state);

}}  // namespace plenum::PLENUM_ABI::detail
