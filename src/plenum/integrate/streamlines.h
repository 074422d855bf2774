#pragma once
// Lines that a flow on a grid goes along at one moment.
#include <cstdint>
#include <span>
#include <vector>

#include "plenum/state/grid.h"

namespace plenum::inline PLENUM_ABI {

/// A flow on a staggered grid, as pictures look at it.
struct GridFlow {
  GridShape shape;
  Vec3 low = Vec3::Zero();                   ///< [m] low corner of the box
  Real h = 1;                                ///< [m] side of a cell
  const FaceField& velocity;                 ///< [m/s], with ghosts
  std::span<const std::uint8_t> fluid = {};  ///< [shape.size()] 1 where a cell holds fluid; empty: all do

  Vec3 centre(Index i, Index j, Index k) const {
    const auto at = [](Index n) { return static_cast<Real>(n) + Real(0.5); };
    return low + h * Vec3(at(i), at(j), at(k));
  }
  /// Whether x [m] is in the box and in a cell that holds fluid.
  bool holds(const Vec3& x) const;
  /// [m/s] at x [m] in the box, linear between faces.
  Vec3 velocity_at(const Vec3& x) const;
  /// [m/s] the root of the mean square at centres of cells that move at all.
  Real usual_speed() const;
};

struct Streamlines {
  std::vector<Vec3> x;      ///< [m] points, line by line, in the direction of the flow
  std::vector<Index> ends;  ///< of lines, in x
};

/// Streamlines that nowhere come nearer to each other than half of `apart` [m] > 0 and leave no gap of much
/// more than that. They end where the flow all but rests, at the ends of the fluid, and where they come round
/// to themselves. Source: Jobard & Lefer 1997, "Creating evenly-spaced streamlines of arbitrary density",
/// here in three dimensions too. The same lines whatever the number of threads.
Streamlines evenly_spaced_streamlines(const GridFlow& flow, Real apart);

}  // namespace plenum::inline PLENUM_ABI
