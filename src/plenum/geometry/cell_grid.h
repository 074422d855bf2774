#pragma once
// Points sorted into the cells of a uniform grid: the neighbours of a point within a cell's side lie in the
// cells around its own.
#include <span>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// A box cut into equal cells. The cells of a column along z are consecutive.
struct CellLayout {
  Vec3 low = Vec3::Zero();           ///< [m]
  Vec3 inverse_side = Vec3::Ones();  ///< [1/m]
  Index3 dims = Index3::Ones();      ///< cells along each axis, >= 1

  /// The box [low, high] in cells with sides of at least `side` [m], but of no more than `max_cells`, >= 1,
  /// in all: the sides grow until they fit.
  static CellLayout fit(const Vec3& low, const Vec3& high, const Vec3& side, std::size_t max_cells);

  std::size_t size() const {
    return static_cast<std::size_t>(dims[0]) * static_cast<std::size_t>(dims[1]) *
           static_cast<std::size_t>(dims[2]);
  }
  /// Cell along one axis; what is outside of the box belongs to the cell at its border, so the map is
  /// monotone.
  Index along(int axis, Real x) const {
    const Real cell = (x - low[axis]) * inverse_side[axis];
    const Real last = static_cast<Real>(dims[axis] - 1);
    return cell > 0 ? static_cast<Index>(cell < last ? cell : last) : 0;
  }
  Index3 cell_of(const Vec3& x) const { return {along(0, x[0]), along(1, x[1]), along(2, x[2])}; }
  std::size_t index_of(const Index3& cell) const {
    return (static_cast<std::size_t>(cell[0]) * static_cast<std::size_t>(dims[1]) +
            static_cast<std::size_t>(cell[1])) *
               static_cast<std::size_t>(dims[2]) +
           static_cast<std::size_t>(cell[2]);
  }
};

/// Points in the order of their cells, and within a cell in the order of their indices.
struct CellGrid {
  CellLayout layout;
  std::vector<Index> start;  ///< [cells + 1] first place of each cell in `order`
  std::vector<Index> order;  ///< [N] indices of points

  /// Sorts finite points [N] by counting, in parallel; the result does not depend on the number of threads.
  /// Allocates only to grow.
  void sort(const CellLayout& layout, std::span<const Vec3> x);

  std::span<const Index> points_of(std::size_t cell) const {
    return {order.data() + start[cell], static_cast<std::size_t>(start[cell + 1] - start[cell])};
  }

 private:
  std::vector<Index> cell_;    // [N] of each point
  std::vector<Index> counts_;  // [chunks][cells]
};

}  // namespace plenum::inline PLENUM_ABI
