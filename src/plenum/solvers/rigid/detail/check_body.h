#pragma once
// What a body's specification says that no body can be, or that nothing would come of.
#include <string>

#include "plenum/solvers/rigid/spec.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Throws Error with keys that begin with `key`.
void check_body(const rigid::BodySpec& body, const std::string& key);

}}  // namespace plenum::PLENUM_ABI::detail
