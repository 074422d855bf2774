#pragma once
// When a box that moves straight first meets another.
#include <algorithm>
#include <limits>

#include "plenum/geometry/aabb.h"

namespace plenum::inline PLENUM_ABI {

/// A box with sides along the axes whose centre goes from `centre` along `way` [m] as s goes from 0 to 1.
struct SweptBox {
  Vector3<double> centre, way, half;

  /// First s up to `end` at which it shares a point with `box`; infinite if there is none. By slabs (Kay &
  /// Kajiya 1986, "Ray tracing complex scenes"), of the box grown by the moving one.
  double meets(const Aabb& box, double end) const {
    double enter = 0, leave = end;
    for (int axis = 0; axis < 3; ++axis) {
      const double low = static_cast<double>(box.low[axis]) - half[axis] - centre[axis],
                   high = static_cast<double>(box.high[axis]) + half[axis] - centre[axis];
      if (way[axis] == 0) {
        if (low > 0 || high < 0) return std::numeric_limits<double>::infinity();
        continue;
      }
      const double a = low / way[axis], b = high / way[axis];
      enter = std::max(enter, std::min(a, b));
      leave = std::min(leave, std::max(a, b));
    }
    return enter <= leave ? enter : std::numeric_limits<double>::infinity();
  }
  /// All that it comes through.
  Aabb whole() const {
    Aabb box;
    for (const double s : {0.0, 1.0})
      box.extend(Aabb{(centre + s * way - half).cast<Real>(), (centre + s * way + half).cast<Real>()});
    return box;
  }
};

}  // namespace plenum::inline PLENUM_ABI
