#pragma once
// What the writers of grids ask of arrays.
#include <fmt/format.h>

#include "plenum/base/error.h"
#include "plenum/io/grid_writer.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Throws Error if the array has not one item for each of the grid, ghosts among them.
inline void check_count(const NamedArray& array, const GridShape& shape) {
  if (array.count != shape.size())
    throw Error(Problem{.key = std::string(array.name),
                        .what = "has a wrong number of items for the grid with its ghosts",
                        .value = fmt::format("{}", array.count),
                        .allowed = fmt::format("{}", shape.size())});
}

}}  // namespace plenum::inline PLENUM_ABI::detail
