#pragma once
// Where the numbers of a regular grid of cubic cells stand in memory.
#include <array>
#include <cstddef>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// nx * ny * nz cells, x fastest, with one layer of ghost cells below and two above along each axis that has
/// more than one cell in three dimensions; nz = 1 is a grid of two dimensions, without layers along z.
/// All quantities share one layout: item (i, j, k) is what belongs to cell (i, j, k), its centre or the face
/// on its lower side (the MAC grid of Harlow & Welch 1965), so that the upper faces of the last cells are
/// items of the first upper layer.
struct GridShape {
  std::array<Index, 3> cells = {1, 1, 1};

  bool is_flat() const { return cells[2] == 1; }
  int dimensions() const { return is_flat() ? 2 : 3; }
  std::size_t num_cells() const {
    return static_cast<std::size_t>(cells[0]) * static_cast<std::size_t>(cells[1]) *
           static_cast<std::size_t>(cells[2]);
  }
  /// Items from one cell to the next along each axis.
  std::ptrdiff_t stride(int axis) const {
    const std::ptrdiff_t y = cells[0] + 3, z = y * (cells[1] + 3);
    return axis == 0 ? 1 : axis == 1 ? y : z;
  }
  /// Items of an array, ghosts included.
  std::size_t size() const {
    return static_cast<std::size_t>(stride(2)) * (is_flat() ? 1u : static_cast<std::size_t>(cells[2] + 3));
  }
  /// Of an item; -1 <= i <= nx + 1, likewise j and (unless flat) k.
  std::size_t index(Index i, Index j, Index k) const {
    return static_cast<std::size_t>(1 + i + stride(1) * (1 + j) + (is_flat() ? 0 : stride(2) * (1 + k)));
  }
  bool operator==(const GridShape&) const = default;
};

}  // namespace plenum::inline PLENUM_ABI
