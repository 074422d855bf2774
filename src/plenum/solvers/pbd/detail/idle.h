#pragma once
// Parameters of position-based dynamics that do nothing for what there is.
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {

/// Whether a part is cloth that tears: no balloon, from which what it encloses would come out.
bool can_tear(const Pbd::Model& model, std::size_t part);

/// Warns of parameters that are set and mean nothing.
void warn_of_idle(const Pbd::Model& model, const Pbd::Params& params, Report& report);

}  // namespace plenum::inline PLENUM_ABI
