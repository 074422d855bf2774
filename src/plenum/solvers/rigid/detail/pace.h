#pragma once
// How often contacts are looked for: once a part of a step, as long as what moves past its neighbours, or
// turns beside them, stays near where they were found.
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// In how many parts a step of dt [s] is taken, which share its sub-steps equally: 1 to Params::substeps, and
/// 1 with solvers that take no sub-steps.
int count_parts(const Rigid::Model& model, const Rigid::State& state, const Rigid::Params& params, Real dt);

}}  // namespace plenum::PLENUM_ABI::detail
