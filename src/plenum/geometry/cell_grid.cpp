#include "plenum/geometry/cell_grid.h"

#include <algorithm>
#include <cmath>

#include "plenum/base/parallel.h"

namespace plenum::inline PLENUM_ABI {

CellLayout CellLayout::fit(const Vec3& low, const Vec3& high, const Vec3& side, std::size_t max_cells) {
  Vector3<double> size = (high - low).cast<double>();
  for (int c = 0; c < 3; ++c)
    if (!(size[c] > 0) || !std::isfinite(size[c]))
      size[c] = 0;  // one cell; diverged points must not end up in a loop
  Vector3<double> wanted = side.cast<double>(), dims;
  const auto cells = [&] {
    for (int c = 0; c < 3; ++c) {
      const double whole = std::floor(size[c] / wanted[c]);
      // No axis alone may pass what an Index holds.
      dims[c] = whole > 1 ? std::min(whole, static_cast<double>(max_cells)) : 1;
    }
    return dims.prod();
  };
  while (cells() > static_cast<double>(max_cells)) wanted *= 1.1;
  CellLayout layout;
  layout.low = low;
  for (int c = 0; c < 3; ++c) {
    layout.dims[c] = static_cast<Index>(dims[c]);
    layout.inverse_side[c] = static_cast<Real>(size[c] > 0 ? dims[c] / size[c] : 1.0);
  }
  return layout;
}

void CellGrid::sort(const CellLayout& new_layout, std::span<const Vec3> x) {
  layout = new_layout;
  const std::size_t n = x.size(), cells = layout.size();
  // A stable sort has one result, so the number of chunks may follow the number of threads.
  constexpr std::size_t least_per_chunk = 4096;
  const std::size_t chunks =
      std::clamp<std::size_t>(n / least_per_chunk, 1, static_cast<std::size_t>(std::min(num_threads(), 16)));
  const std::size_t per_chunk = (n + chunks - 1) / chunks;
  cell_.resize(n);
  order.resize(n);
  start.resize(cells + 1);
  counts_.resize(chunks * cells);

  parallel_blocks(chunks, [&](std::size_t c) {
    Index* const count = counts_.data() + c * cells;
    std::fill_n(count, cells, 0);
    for (std::size_t i = std::min(n, c * per_chunk); i < std::min(n, (c + 1) * per_chunk); ++i) {
      cell_[i] = static_cast<Index>(layout.index_of(layout.cell_of(x[i])));
      ++count[cell_[i]];
    }
  });
  Index sum = 0;
  for (std::size_t k = 0; k < cells; ++k) {
    start[k] = sum;
    for (std::size_t c = 0; c < chunks; ++c) {
      const Index here = counts_[c * cells + k];
      counts_[c * cells + k] = sum;
      sum += here;
    }
  }
  start[cells] = sum;
  parallel_blocks(chunks, [&](std::size_t c) {
    Index* const next = counts_.data() + c * cells;
    for (std::size_t i = std::min(n, c * per_chunk); i < std::min(n, (c + 1) * per_chunk); ++i)
      order[static_cast<std::size_t>(next[cell_[i]]++)] = static_cast<Index>(i);
  });
}

}  // namespace plenum::inline PLENUM_ABI
