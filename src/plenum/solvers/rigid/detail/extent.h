#pragma once
// How large shapes are.
#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Of surfaces, as of planes, the width is the largest number: nothing gets to their other side unseen.
struct Extent {
  Real width;  ///< [m] smallest
  Real reach;  ///< [m] of the farthest point from the shape's origin; of planes 0 (see way_towards())
};
Extent extent_of(const Shape& shape);

/// [m] of the farthest point that a turn moves from the shape's origin: a ball's 0, a plane's infinite.
Real spread_of(const Shape& shape);

/// [m] radius of a sphere or capsule, else 0.
Real round_of(const Shape& shape);

}}  // namespace plenum::PLENUM_ABI::detail
