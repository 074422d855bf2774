#pragma once
// How often contacts are looked for: once a part of a step, as long as what moves past its neighbours, or
// turns beside them, stays near where they were found.
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// How many sub-steps, of `left` of Params::substeps that a step of dt [s] has, the next part of it takes: 1
/// to left, and all with solvers that take no sub-steps.
int substeps_of_part(const Rigid::Model& model, const Rigid::State& state, const Rigid::Params& params,
                     Real dt, int left);

}}  // namespace plenum::PLENUM_ABI::detail
