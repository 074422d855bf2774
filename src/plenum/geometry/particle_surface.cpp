#include "plenum/geometry/particle_surface.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "plenum/base/parallel.h"
#include "plenum/math/wide.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using detail::fill;
using detail::Wide;
using detail::wide;

constexpr Real surface_radius = Real(63) / 256;
constexpr Real surface_scale = Real(10 * (128.0 / 315) * (128.0 / 315));
// What is farther than this from all particles is no liquid, in reaches; with how steeply phi rises there,
// and to what, so that it is continuous and changes nothing around flat surfaces and single balls.
constexpr Real widest_gap = Real(0.45), gap_slope = 8, gap_height = Real(0.1);

/// The cells of the box and of a pad around it, one byte for each, x fastest. Particles are in units of
/// cells: the centre of padded cell (i, j, k) is at i, j, k.
struct PaddedCells {
  Index pad;
  Index n[3];
  PaddedCells(const GridShape& shape, Index p) : pad(p) {
    for (int c = 0; c < 3; ++c) n[c] = shape.cells[static_cast<std::size_t>(c)] + 2 * pad;
  }
  std::size_t width() const { return static_cast<std::size_t>(n[0]); }
  std::size_t plane() const { return width() * static_cast<std::size_t>(n[1]); }
  std::size_t size() const { return plane() * static_cast<std::size_t>(n[2]); }
};

/// out[i] = the largest of in[i - r] ... in[i + r] along each axis in turn. `in` is used as scratch.
void spread(const PaddedCells& cells, Index r, std::vector<std::uint8_t>& in,
            std::vector<std::uint8_t>& out) {
  const auto along = [&](std::ptrdiff_t stride, Index count, std::size_t run, const std::uint8_t* from,
                         std::uint8_t* to) {
    // Lines along the axis lie side by side in runs of `run` bytes; `count` runs follow each other.
    for (Index m = 0; m < count; ++m) {
      std::uint8_t* o = to + m * stride;
      std::memset(o, 0, run);
      for (Index q = std::max<Index>(0, m - r); q <= std::min<Index>(count - 1, m + r); ++q) {
        const std::uint8_t* f = from + q * stride;
        for (std::size_t b = 0; b < run; ++b) o[b] |= f[b];
      }
    }
  };
  const std::size_t width = cells.width(), plane = cells.plane();
  parallel_for(static_cast<std::size_t>(cells.n[2]), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      std::uint8_t *p = in.data() + k * plane, *q = out.data() + k * plane;
      along(static_cast<std::ptrdiff_t>(width), cells.n[1], width, p, q);
      for (Index j = 0; j < cells.n[1]; ++j) {
        const std::uint8_t* f = q + static_cast<std::size_t>(j) * width;
        std::uint8_t* o = p + static_cast<std::size_t>(j) * width;
        std::memcpy(o, f, width);
        for (std::size_t d = 1; d <= static_cast<std::size_t>(r); ++d)
          for (std::size_t b = d; b < width; ++b) o[b] |= f[b - d], o[b - d] |= f[b];
      }
    }
  });
  parallel_for(static_cast<std::size_t>(cells.n[1]), 4, [&](std::size_t begin, std::size_t end) {
    along(static_cast<std::ptrdiff_t>(plane), cells.n[2], (end - begin) * width, in.data() + begin * width,
          out.data() + begin * width);
  });
}

/// Particles, in units of cells, and their images in the walls.
struct Placed {
  Vec3 low;
  Real inverse_h;
  Real reach;  // in cells
  bool walled;
  std::array<bool, 3> periodic;
  PaddedCells cells;

  /// f(p, cell) for the particle and what the walls mirror of it, as far as it is within the pad.
  template <class F>
  void each_image(const Vec3& x, F&& f) const {
    const Vec3 p = (x - low) * inverse_h + Vec3::Constant(static_cast<Real>(cells.pad) - Real(0.5));
    const auto cell_of = [&](const Vec3& q) {
      return static_cast<std::size_t>(q.x() + Real(0.5)) +
             cells.width() * static_cast<std::size_t>(q.y() + Real(0.5)) +
             cells.plane() * static_cast<std::size_t>(q.z() + Real(0.5));
    };
    // Most are far from the walls, if there are any. What is not a number is nowhere.
    const Real margin = walled ? static_cast<Real>(cells.pad) + reach : Real(0);
    const auto is_within = [&](Real lower, int c) {
      return p[c] > lower - Real(0.5) && p[c] < static_cast<Real>(cells.n[c]) - Real(0.5) - lower;
    };
    if (is_within(margin, 0) && is_within(margin, 1) && is_within(margin, 2)) return f(p, cell_of(p));
    const auto pad = static_cast<Real>(cells.pad);
    if (!walled || !is_within(pad, 0) || !is_within(pad, 1) || !is_within(pad, 2)) return;
    Real at[3][3];
    int count[3];
    for (int c = 0; c < 3; ++c) {
      const Real low_side = pad - Real(0.5), high_side = static_cast<Real>(cells.n[c]) - pad - Real(0.5);
      count[c] = 0;
      at[c][count[c]++] = p[c];
      const bool wraps = periodic[static_cast<std::size_t>(c)];
      const Real length = high_side - low_side;
      if (p[c] - low_side < reach) at[c][count[c]++] = wraps ? p[c] + length : 2 * low_side - p[c];
      if (high_side - p[c] < reach) at[c][count[c]++] = wraps ? p[c] - length : 2 * high_side - p[c];
    }
    for (int k = 0; k < count[2]; ++k)
      for (int j = 0; j < count[1]; ++j)
        for (int i = 0; i < count[0]; ++i) {
          const Vec3 image(at[0][i], at[1][j], at[2][k]);
          f(image, cell_of(image));
        }
  }
};

constexpr std::size_t particles_a_block = 8192;

/// sorted: images of particles in cells that `near` marks, in the order of cells and, within a cell, of
/// particles; work.cells says where those of a cell begin.
void sort_by_cells(const Placed& placed, std::span<const Vec3> x, ParticleSurfaceWorkspace& work) {
  const PaddedCells& cells = placed.cells;
  const auto num_slabs = static_cast<std::size_t>(cells.n[2]);
  const std::size_t num_blocks = (x.size() + particles_a_block - 1) / particles_a_block;
  work.counts.assign(num_blocks * num_slabs, 0);
  const auto each_near = [&](std::size_t begin, std::size_t end, auto&& f) {
    for (std::size_t i = begin; i < end; ++i)
      placed.each_image(x[i], [&](const Vec3& p, std::size_t cell) {
        if (work.near[cell] != 0) f(p, cell / cells.plane());
      });
  };
  parallel_for(x.size(), particles_a_block, [&](std::size_t begin, std::size_t end) {
    Index* count = work.counts.data() + begin / particles_a_block * num_slabs;
    each_near(begin, end, [&](const Vec3&, std::size_t slab) { ++count[slab]; });
  });
  work.slabs.resize(num_slabs + 1);
  Index total = 0;
  for (std::size_t slab = 0; slab < num_slabs; ++slab) {
    work.slabs[slab] = total;
    for (std::size_t b = 0; b < num_blocks; ++b)
      total += std::exchange(work.counts[b * num_slabs + slab], total);
  }
  work.slabs[num_slabs] = total;
  work.by_slab.resize(static_cast<std::size_t>(total));
  work.sorted.resize(static_cast<std::size_t>(total));
  parallel_for(x.size(), particles_a_block, [&](std::size_t begin, std::size_t end) {
    Index* to = work.counts.data() + begin / particles_a_block * num_slabs;
    each_near(begin, end, [&](const Vec3& p, std::size_t slab) {
      work.by_slab[static_cast<std::size_t>(to[slab]++)] = p;
    });
  });
  work.cells.resize(cells.size() + 1);
  work.cells[cells.size()] = total;
  parallel_for(num_slabs, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t slab = begin; slab < end; ++slab) {
      Index* first = work.cells.data() + slab * cells.plane();
      const std::span<const Vec3> here(work.by_slab.data() + work.slabs[slab],
                                       work.by_slab.data() + work.slabs[slab + 1]);
      std::fill(first, first + cells.plane(), 0);
      const auto cell_of = [&](const Vec3& p) {
        return static_cast<std::size_t>(p.x() + Real(0.5)) +
               cells.width() * static_cast<std::size_t>(p.y() + Real(0.5));
      };
      for (const Vec3& p : here) ++first[cell_of(p)];
      Index at = work.slabs[slab];
      for (std::size_t c = 0; c < cells.plane(); ++c) at += std::exchange(first[c], at);
      for (const Vec3& p : here) work.sorted[static_cast<std::size_t>(first[cell_of(p)]++)] = p;
      // Each cell's begin has moved to its end, which is where the next one begins.
      std::copy_backward(first, first + cells.plane() - 1, first + cells.plane());
      first[0] = work.slabs[slab];
    }
  });
}

/// For a vector of nodes, their distance to the weighted mean of the particles around them and to the nearest
/// one [cells], and whether there are any.
struct ToMean {
  Real distance[wide], nearest[wide];
  bool any[wide];
};
/// Of nodes i, i + 1, ... of the row of padded cells (j, k).
void to_mean(const PaddedCells& cells, const ParticleSurfaceWorkspace& work, Index i, Index j, Index k,
             Index around, Real reach, ToMean& out) {
  const Real inverse = 1 / (reach * reach);
  Wide node;
  for (int l = 0; l < wide; ++l) node[l] = static_cast<Real>(i + l);
  Wide weight{}, x{}, y{}, z{}, nearest{};
  const Index first = std::max<Index>(0, i - around),
              last = std::min<Index>(cells.n[0] - 1, i + static_cast<Index>(wide) - 1 + around);
  for (Index kk = std::max<Index>(0, k - around); kk <= std::min(cells.n[2] - 1, k + around); ++kk)
    for (Index jj = std::max<Index>(0, j - around); jj <= std::min(cells.n[1] - 1, j + around); ++jj) {
      // How near a particle of the row may be.
      const auto gap = [](Index d) { return std::max(Real(0), static_cast<Real>(std::abs(d)) - Real(0.5)); };
      if (gap(jj - j) * gap(jj - j) + gap(kk - k) * gap(kk - k) >= reach * reach) continue;
      const Index* begin = work.cells.data() + cells.width() * static_cast<std::size_t>(jj) +
                           cells.plane() * static_cast<std::size_t>(kk);
      for (Index q = begin[first]; q < begin[last + 1]; ++q) {
        const Vec3& p = work.sorted[static_cast<std::size_t>(q)];
        const Real dy = p.y() - static_cast<Real>(j), dz = p.z() - static_cast<Real>(k);
        const Wide dx = fill(p.x()) - node;
        const Wide near =
            detail::max(fill(1 - (dy * dy + dz * dz) * inverse) - fill(inverse) * dx * dx, Wide{});
        nearest = detail::max(nearest, near);
        const Wide w = near * near * near;
        weight += w;
        x += w * dx;
        y += w * fill(dy);
        z += w * fill(dz);
      }
    }
  for (int l = 0; l < wide; ++l) {
    out.any[l] = weight[l] > 0;
    out.nearest[l] = reach * std::sqrt(1 - nearest[l]);
    out.distance[l] = out.any[l] ? std::sqrt(x[l] * x[l] + y[l] * y[l] + z[l] * z[l]) / weight[l] : Real(0);
  }
}

}  // namespace

void particle_distance(const GridShape& shape, const Vec3& low, Real h, std::span<const Vec3> x, Real reach,
                       bool walled, ParticleSurfaceWorkspace& work, std::span<Real> phi,
                       const std::array<bool, 3>& periodic) {
  const Real cells_reach = reach / h;
  const auto around = static_cast<Index>(std::ceil(cells_reach));
  // Nodes are those of the box and one layer around; what they reach lies within this pad, and so do images
  // in walls.
  const PaddedCells cells(shape, around + 1);
  const Placed placed{low, 1 / h, cells_reach, walled, periodic, cells};
  for (std::vector<std::uint8_t>* bytes : {&work.occupied, &work.deep, &work.near, &work.spread})
    bytes->resize(cells.size());

  // Which cells are occupied; with all cells in reach occupied, a node is deep inside; without any it is far.
  std::fill(work.occupied.begin(), work.occupied.end(), std::uint8_t{0});
  parallel_for(x.size(), particles_a_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      placed.each_image(x[i], [&](const Vec3&, std::size_t cell) {
        __atomic_store_n(&work.occupied[cell], std::uint8_t{1}, __ATOMIC_RELAXED);
      });
  });
  const auto each_cell = [&](auto&& f) {
    parallel_for(cells.size(), 1 << 15, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c) f(c);
    });
  };
  each_cell([&](std::size_t c) { work.spread[c] = work.occupied[c] ^ 1; });
  spread(cells, around, work.spread, work.deep);
  each_cell([&](std::size_t c) { work.deep[c] ^= 1, work.spread[c] = work.occupied[c]; });
  spread(cells, around, work.spread, work.near);
  // The nodes to look at, and the particles that they see.
  each_cell([&](std::size_t c) { work.spread[c] = work.occupied[c] = work.near[c] & (work.deep[c] ^ 1); });
  spread(cells, around, work.spread, work.near);
  sort_by_cells(placed, x, work);
  const std::uint8_t* looked_at = work.occupied.data();

  const Index nx = shape.cells[0], ny = shape.cells[1], nz = shape.cells[2];
  const Real outside = farthest_outside * reach, inside = deepest_inside * reach;
  // Beyond the first layer of ghosts nothing is looked at.
  const auto rows = static_cast<std::size_t>(ny + 3) * static_cast<std::size_t>(nz + 3);
  parallel_for(rows, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const auto j = static_cast<Index>(row % static_cast<std::size_t>(ny + 3)) - 1,
                 k = static_cast<Index>(row / static_cast<std::size_t>(ny + 3)) - 1;
      Real* out = phi.data() + shape.index(-1, j, k);
      std::fill(out, out + nx + 3, outside);
      if (j > ny || k > nz) continue;
      const Index pj = j + cells.pad, pk = k + cells.pad;
      const std::size_t first_cell = cells.width() * static_cast<std::size_t>(pj) +
                                     cells.plane() * static_cast<std::size_t>(pk) +
                                     static_cast<std::size_t>(cells.pad - 1);
      const std::uint8_t *look = looked_at + first_cell, *deep = work.deep.data() + first_cell;
      for (Index i = 0; i < nx + 2; ++i) out[i] = deep[i] != 0 ? inside : outside;
      for (Index i = 0; i < nx + 2; i += wide) {
        const Index count = std::min<Index>(wide, nx + 2 - i);
        if (std::memchr(look + i, 1, static_cast<std::size_t>(count)) == nullptr) continue;
        ToMean mean;
        to_mean(cells, work, cells.pad - 1 + i, pj, pk, around, cells_reach, mean);
        for (Index l = 0; l < count; ++l)
          if (look[i + l] != 0 && mean.any[l])
            out[i + l] = std::max(
                surface_scale * (mean.distance[l] * h - surface_radius * reach),
                std::min(gap_slope * (mean.nearest[l] * h - widest_gap * reach), gap_height * reach));
      }
      if (!walled) continue;
      // What is beyond the box is not liquid.
      const auto beyond = [&](Index at, Index n) {
        return h *
               (std::abs(static_cast<Real>(at) - static_cast<Real>(n - 1) / 2) - static_cast<Real>(n) / 2);
      };
      const Real beside = std::max(beyond(j, ny), beyond(k, nz));
      for (Index i = 0; i < nx + 2; ++i) out[i] = std::max(out[i], std::max(beside, beyond(i - 1, nx)));
    }
  });
}

void smooth_field(const GridShape& shape, int passes, std::span<Real> phi, std::span<Real> scratch) {
  const Index nx = shape.cells[0], ny = shape.cells[1], nz = shape.cells[2];
  const std::ptrdiff_t sy = shape.stride(1), sz = shape.stride(2);
  const auto each_row = [&](auto&& f) {
    parallel_for(static_cast<std::size_t>(ny) * static_cast<std::size_t>(nz), 16,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t row = begin; row < end; ++row)
                     f(shape.index(0, static_cast<Index>(row % static_cast<std::size_t>(ny)),
                                   static_cast<Index>(row / static_cast<std::size_t>(ny))));
                 });
  };
  for (int pass = 0; pass < passes; ++pass) {
    each_row([&](std::size_t first) {
      const Real* p = phi.data() + first;
      Real* out = scratch.data() + first;
      for (Index i = 0; i < nx; ++i) {
        const Real around = (p[i - 1] + p[i + 1]) + (p[i - sy] + p[i + sy]) + (p[i - sz] + p[i + sz]);
        out[i] = p[i] / 2 + around / 12;
      }
    });
    each_row([&](std::size_t first) {
      std::memcpy(phi.data() + first, scratch.data() + first, static_cast<std::size_t>(nx) * sizeof(Real));
    });
  }
}

}  // namespace plenum::inline PLENUM_ABI
