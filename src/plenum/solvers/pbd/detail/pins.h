#pragma once
// Where pins hold their particles.
#include <cstddef>

#include "plenum/math/pose.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Where a pin holds its particle at the part s of a step, [m]. Those of groups are where they lead at its
/// end.
inline Vec3 place_of_pin(const Pbd::Model& model, const Pbd::Params& params, std::size_t p, Real s) {
  const Vec3& at = model.pin_position[p];
  const Index group = model.pin_group[p];
  if (group < 0) {
    const Pbd::Model::Ride& ride = model.rides[std::size_t(-1 - group)];
    return between(ride.from, ride.to, s) * at;
  }
  return std::size_t(group) < params.pins.size() ? params.pins[std::size_t(group)](at) : at;
}

}}  // namespace plenum::PLENUM_ABI::detail
