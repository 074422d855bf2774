// Particles into the order of cells, in two stable passes: into slabs of cells by blocks of particles, then
// within each slab by counting. Nothing depends on the number of threads.
#include <algorithm>
#include <bit>

#include "plenum/solvers/liquid/detail/stages.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

constexpr std::size_t block_size = 8192;
constexpr std::uint32_t gone = 0xffffffffu;

}  // namespace

void set_windows(const Liquid::Model& m, const CellWindow& occupied, Index margin, Liquid::Workspace& w) {
  const GridShape& shape = m.shape;
  // The pressure's operator is of a multiple of eight cells, which its coarser grids fit.
  constexpr Index step = 8;
  // Within bodies cells beside those of particles have a pressure too.
  const Index beside = w.immersed.any() ? 1 : 0;
  w.occupied = w.solved = w.window = occupied;
  w.wraps = {};
  if (occupied.is_empty()) return;
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    w.solved.low[a] = std::max<Index>(0, occupied.low[a] - beside) / step * step;
    w.solved.high[a] = std::min(shape.cells[a], (occupied.high[a] + beside + step - 1) / step * step);
    w.window.low[a] = std::max<Index>(0, std::min(occupied.low[a] - margin, w.solved.low[a]));
    w.window.high[a] = std::min(shape.cells[a], std::max(occupied.high[a] + margin, w.solved.high[a]));
    w.wraps[a] = m.is_periodic(a) && (w.window.low[a] == 0 || w.window.high[a] == shape.cells[a]);
    if (!w.wraps[a]) continue;
    w.solved.low[a] = w.window.low[a] = 0;
    w.solved.high[a] = w.window.high[a] = shape.cells[a];
  }
}

void sort_particles(const Liquid::Model& m, const Liquid::State& s, Liquid::Workspace& w, Index margin) {
  const GridShape& shape = m.shape;
  const std::size_t n = s.x.size(), num_blocks = (n + block_size - 1) / block_size;
  const Index nx = shape.cells[0], ny = shape.cells[1], nz = shape.cells[2];
  const bool flat = shape.is_flat();
  const auto slabs = static_cast<std::size_t>(flat ? ny : nz);
  const auto slab_cells = static_cast<std::size_t>(nx) * (flat ? 1u : static_cast<std::size_t>(ny));
  w.blocks.resize(num_blocks);
  for (std::vector<std::uint32_t>* a : {&w.key, &w.bucket, &w.order}) a->resize(n);
  w.counts.assign(num_blocks * slabs, 0);
  w.slab_begin.resize(slabs + 1);
  w.cell_end.resize(shape.num_cells());

  // A key is a slab's number and that of a cell in it, apart by a shift: a division for each particle would
  // take as long as the rest.
  const int shift = std::bit_width(slab_cells);
  const std::uint32_t in_slab = (1u << shift) - 1;
  const Real inv_h = 1 / m.h;
  parallel_for(n, block_size, [&](std::size_t begin, std::size_t end) {
    const std::size_t b = begin / block_size;
    std::uint32_t* counts = w.counts.data() + b * slabs;
    Liquid::Workspace::Block block{{nx, ny, nz}, {0, 0, 0}};
    for (std::size_t p = begin; p < end; ++p) {
      const Vec3 g = (s.x[p] - m.low) * inv_h;
      // A value that is not finite is in no cell.
      const bool in = g.x() >= 0 && g.x() < static_cast<Real>(nx) && g.y() >= 0 &&
                      g.y() < static_cast<Real>(ny) &&
                      (flat || (g.z() >= 0 && g.z() < static_cast<Real>(nz)));
      if (!in) {
        w.key[p] = gone;
        continue;
      }
      const std::array<Index, 3> cell = {static_cast<Index>(g.x()), static_cast<Index>(g.y()),
                                         flat ? 0 : static_cast<Index>(g.z())};
      for (std::size_t c = 0; c < 3; ++c) {
        block.low[c] = std::min(block.low[c], cell[c]);
        block.high[c] = std::max(block.high[c], cell[c] + 1);
      }
      const auto slab = static_cast<std::uint32_t>(flat ? cell[1] : cell[2]);
      w.key[p] = slab << shift | static_cast<std::uint32_t>(flat ? cell[0] : cell[0] + nx * cell[1]);
      ++counts[slab];
    }
    w.blocks[b] = block;
  });
  CellWindow occupied{{nx, ny, nz}, {0, 0, 0}};
  for (const Liquid::Workspace::Block& block : w.blocks)
    for (std::size_t c = 0; c < 3; ++c) {
      occupied.low[c] = std::min(occupied.low[c], block.low[c]);
      occupied.high[c] = std::max(occupied.high[c], block.high[c]);
    }
  if (occupied.low[0] >= occupied.high[0]) occupied = {};
  set_windows(m, occupied, margin, w);
  // Where each block's particles of each slab go.
  std::uint32_t sum = 0;
  for (std::size_t slab = 0; slab < slabs; ++slab) {
    w.slab_begin[slab] = sum;
    for (std::size_t b = 0; b < num_blocks; ++b) {
      const std::uint32_t count = w.counts[b * slabs + slab];
      w.counts[b * slabs + slab] = sum;
      sum += count;
    }
  }
  w.slab_begin[slabs] = sum;
  parallel_for(n, block_size, [&](std::size_t begin, std::size_t end) {
    std::uint32_t* to = w.counts.data() + begin / block_size * slabs;
    for (std::size_t p = begin; p < end; ++p)
      if (w.key[p] != gone) w.bucket[to[w.key[p] >> shift]++] = static_cast<std::uint32_t>(p);
  });
  // The part of a slab's cells that can have particles.
  const std::size_t first_cell = flat ? 0 : static_cast<std::size_t>(occupied.low[1] * nx);
  const std::size_t last_cell = flat ? slab_cells : static_cast<std::size_t>(occupied.high[1] * nx);
  parallel_for(slabs, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t slab = begin; slab < end; ++slab) {
      const std::uint32_t from = w.slab_begin[slab], to = w.slab_begin[slab + 1];
      if (from == to) continue;
      std::uint32_t* cell = w.cell_end.data() + slab * slab_cells;
      std::fill(cell + first_cell, cell + last_cell, 0u);
      for (std::uint32_t q = from; q < to; ++q) ++cell[w.key[w.bucket[q]] & in_slab];
      std::uint32_t at = from;
      for (std::size_t c = first_cell; c < last_cell; ++c) {
        const std::uint32_t count = cell[c];
        cell[c] = at;
        at += count;
      }
      for (std::uint32_t q = from; q < to; ++q) {
        const std::uint32_t p = w.bucket[q];
        w.order[cell[w.key[p] & in_slab]++] = p;
      }
    }
  });
  // Which cells have any, in the window and a layer around it.
  w.liquid.resize(shape.size());
  if (w.window.is_empty()) return;
  for_rows(grown(shape, w.window, 1, 1), [&](Index j, Index k) {
    std::uint8_t* row = w.liquid.data() + shape.index(0, j, k);
    std::fill(row + w.window.low[0] - 1, row + w.window.high[0] + 1, std::uint8_t{0});
    if (j < occupied.low[1] || j >= occupied.high[1] || k < occupied.low[2] || k >= occupied.high[2]) return;
    const auto slab = static_cast<std::size_t>(flat ? j : k);
    if (w.slab_begin[slab] == w.slab_begin[slab + 1]) return;
    const std::size_t first =
        static_cast<std::size_t>(nx) *
        (static_cast<std::size_t>(j) + static_cast<std::size_t>(ny) * static_cast<std::size_t>(k));
    for (Index i = occupied.low[0]; i < occupied.high[0]; ++i) {
      const std::size_t c = first + static_cast<std::size_t>(i);
      const bool leads = c - slab * slab_cells == first_cell;
      const std::uint32_t before = leads ? w.slab_begin[slab] : w.cell_end[c - 1];
      row[i] = w.cell_end[c] > before;
    }
  });
}

std::array<std::uint32_t, 2> particles_in(const Liquid::Model& m, const Liquid::Workspace& w, Index i,
                                          Index j, Index k) {
  const ItemBox box{w.occupied.low, w.occupied.high};
  const bool in = i >= box.low[0] && i < box.high[0] && j >= box.low[1] && j < box.high[1] &&
                  k >= box.low[2] && k < box.high[2];
  if (!in || !w.liquid[m.shape.index(i, j, k)]) return {0, 0};
  return range_of(m, w, i, j, k);
}

std::array<std::uint32_t, 2> range_of(const Liquid::Model& m, const Liquid::Workspace& w, Index i, Index j,
                                      Index k) {
  const bool flat = m.shape.is_flat();
  const auto nx = static_cast<std::size_t>(m.shape.cells[0]), ny = static_cast<std::size_t>(m.shape.cells[1]);
  const std::size_t cell =
      static_cast<std::size_t>(i) + nx * (static_cast<std::size_t>(j) + ny * static_cast<std::size_t>(k));
  const auto slab = static_cast<std::size_t>(flat ? j : k);
  if (w.slab_begin[slab] == w.slab_begin[slab + 1]) return {w.slab_begin[slab], w.slab_begin[slab]};
  const std::size_t first = flat ? slab * nx : nx * (slab * ny + static_cast<std::size_t>(w.occupied.low[1]));
  return {cell == first ? w.slab_begin[slab] : w.cell_end[cell - 1], w.cell_end[cell]};
}

}}  // namespace plenum::inline PLENUM_ABI::detail
