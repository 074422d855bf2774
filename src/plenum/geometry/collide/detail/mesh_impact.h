#pragma once
#include <optional>

#include "plenum/geometry/collide/time_of_impact.h"

namespace plenum::inline PLENUM_ABI::detail {

/// time_of_impact() where one of the two is a mesh at least.
std::optional<Impact> mesh_time_of_impact(const Shape& a, const Sweep& sweep_a, const Shape& b,
                                          const Sweep& sweep_b, Real separation, Real tolerance);

}  // namespace plenum::inline PLENUM_ABI::detail
