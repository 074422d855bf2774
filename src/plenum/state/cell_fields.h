#pragma once
// A system's cells as other programs see them (io/grid_writer.h).
#include <vector>

#include "plenum/math/grid_shape.h"

namespace plenum::inline PLENUM_ABI {

/// Where the cells are, and values at their centres that the system does not store.
struct CellFields {
  GridShape shape;
  Vec3 low = Vec3::Zero();  ///< [m] corner of the box of cells
  Real spacing = 1;         ///< [m] side of a cell
  struct Scalars {
    const char* name;
    std::vector<Real> values;  ///< [shape.size()]
  };
  struct Vectors {
    const char* name;
    std::vector<Vec3> values;  ///< [shape.size()]
  };
  /// None of both: the values are the system's stored fields that have an item for each of the grid.
  std::vector<Scalars> scalars;
  std::vector<Vectors> vectors;
};

}  // namespace plenum::inline PLENUM_ABI
