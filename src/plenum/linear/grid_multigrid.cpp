#include "plenum/linear/grid_multigrid.h"

#include <algorithm>
#include <numeric>

#include "plenum/base/parallel.h"
#include "plenum/linear/detail/grid_assembly.h"
#include "plenum/linear/detail/grid_rows.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

namespace {

constexpr std::size_t most_dense = 64;  // cells of a coarsest grid solved directly
constexpr int coarsest_sweeps = 12;     // forth and back, where it is too large for that

/// A part of the grid that one thread passes over, plane by plane.
struct Tile {
  Index j0, j1, k0, k1;
};

/// How a grid is cut into tiles: so that the planes which a pass keeps (`kept` of them) stay in the second
/// cache. The cut changes no bit of the result, since tiles compute what they need of each other themselves.
struct Tiling {
  Index tile_y, tile_z, count_y, count_z;
  Tiling(const RowLayout& layout, Index ny, Index nz, std::size_t kept, int threads) {
    constexpr std::size_t cache = 500000;  // [bytes]
    const std::size_t rows = cache / (kept * layout.pitch * sizeof(Real));
    tile_y = std::clamp<Index>(static_cast<Index>(rows) - 4, 8, std::max<Index>(8, ny));
    count_y = std::max<Index>(1, (ny + tile_y - 1) / tile_y);
    tile_y = (ny + count_y - 1) / count_y;
    // Tiles of few planes compute much twice; few tiles leave threads without work.
    const Index wanted = std::max<Index>(1, (threads == 1 ? 1 : 2 * threads) / count_y);
    tile_z = std::clamp<Index>((nz + wanted - 1) / wanted, std::min<Index>(nz, 8), std::max<Index>(nz, 1));
    count_z = (nz + tile_z - 1) / tile_z;
  }
  Index count() const { return count_y * count_z; }
  Tile tile(Index t, Index ny, Index nz) const {
    const Index y = t % count_y, z = t / count_y;
    return {y * tile_y, std::min(ny, (y + 1) * tile_y), z * tile_z, std::min(nz, (z + 1) * tile_z)};
  }
};

/// f(tile, scratch) for every tile, on as many threads as there are; each has a scratch of its own.
template <class F>
void for_tiles(Index tiles, std::vector<std::vector<Real>>& scratch, F&& f) {
  const auto workers = static_cast<std::size_t>(std::min<Index>(num_threads(), tiles));
  std::atomic<Index> next = 0;
  const auto work = [&](std::size_t w) {
    for (Index t = next++; t < tiles; t = next++) f(t, scratch[w]);
  };
  if (workers <= 1)
    work(0);
  else
    parallel_blocks(workers, work);
}

/// The last planes of a quantity over the rows of a tile and some around it.
class Ring {
 public:
  Ring(Real* memory, std::size_t pitch, Index first_row, Index rows)
      : memory_(memory), pitch_(pitch), first_(first_row), plane_(pitch * static_cast<std::size_t>(rows)) {}
  static constexpr Index planes = 3;
  Real* row(Index j, Index k) const {
    return memory_ + static_cast<std::size_t>((k + 2 * planes) % planes) * plane_ +
           static_cast<std::size_t>(j - first_) * pitch_ + lanes;
  }
  Rows<Real> around(Index j, Index k) const {
    return {row(j, k), row(j - 1, k), row(j + 1, k), row(j, k - 1), row(j, k + 1)};
  }
  static std::size_t size(std::size_t pitch, Index rows) {
    return planes * pitch * static_cast<std::size_t>(rows) + 2 * lanes;
  }

 private:
  Real* memory_;
  std::size_t pitch_;
  Index first_;
  std::size_t plane_;
};

/// Where row j of a plane, perhaps beyond the box, is found; -1: nowhere. A checkerboard does not close
/// around an axis of an odd number of cells. There the smoother takes one more at the seam, which has no
/// unknown, so that the last cell and the first one see zero across it; as the same is left out on both ways
/// of the cycle, it stays symmetric. Coarser grids go around.
Index wrapped(Index j, Index n, bool periodic) {
  if (j >= 0 && j < n) return j;
  if (!periodic) return -1;
  const Index around = n + n % 2, at = j % around, to = at < 0 ? at + around : at;
  return to < n ? to : -1;
}

struct Pass {
  const GridPoisson& a;
  std::size_t chunks, nx;
  explicit Pass(const GridPoisson& op)
      : a(op), chunks(op.layout.chunks()), nx(static_cast<std::size_t>(op.layout.cells[0])) {}
  Index row_of(Index j) const { return wrapped(j, a.layout.cells[1], a.layout.periodic[1]); }
  Index plane_of(Index k) const { return wrapped(k, a.layout.cells[2], a.layout.periodic[2]); }
  /// After the chunks of a row were written: also what a load beside the last one finds beyond it. As the
  /// smoother sees them (see wrapped()).
  void ghosts(Real* row) const {
    row[chunks * lanes] = 0;
    fill_ghosts(row, nx, a.layout.periodic[0] && nx % 2 == 0);
  }
  /// As the operator does.
  void closed_ghosts(Real* row) const {
    row[chunks * lanes] = 0;
    fill_ghosts(row, nx, a.layout.periodic[0]);
  }
  /// As restrict_row() does: the first cell lies beside the last of the cells twice as large.
  void ghosts_of_children(Real* row) const {
    ghosts(row);
    if (a.layout.periodic[0] && nx % 2 != 0) row[nx + 1] = row[0];
  }
  void clear(Real* row) const { std::fill_n(row - 1, chunks * lanes + 2, Real(0)); }
  /// Lanes of the first colour in a row.
  static Wide first(Index j, Index k) { return colour_mask((j + k) & 1); }
  static Wide second(Index j, Index k) { return colour_mask((j + k + 1) & 1); }
};

/// Cells of the second colour, from those of the first: (r + sum of w z) / d; 0 at the first.
template <int D>
void second_colour(const Pass& pass, const Real* r, const Ring& first, const Ring& out, Index j, Index k) {
  const Index jj = pass.row_of(j), kk = pass.plane_of(k);
  Real* to = out.row(j, k);
  if (jj < 0 || kk < 0) return pass.clear(to);
  const RowRecords records = records_of(pass.a, jj, kk);
  const Real* rhs = r + pass.a.layout.row(jj, kk);
  const Rows<Real> rows = first.around(j, k);
  const Wide mask = Pass::second(j, k);
  for (std::size_t c = 0; c < pass.chunks; ++c) {
    const std::size_t i = c * lanes;
    const Real* w = records[c];
    store_wide(to + i, mask * load_wide(w + inverse * lanes) *
                           (load_wide(rhs + i) + from_neighbours<D>(records, c, rows)));
  }
  pass.ghosts(to);
}

/// The way down: the residual of a sweep from zero, restricted to `coarse` on the tile of its rows.
template <int D>
void restrict_tile(const Pass& pass, std::span<const Real> r, const RowLayout& coarse, std::span<Real> rc,
                   const Tile& tile, std::vector<Real>& scratch) {
  const RowLayout& layout = pass.a.layout;
  const std::size_t pitch = layout.pitch;
  // Fine rows that reach the tile, and planes.
  const Index f0 = 2 * tile.j0 - 1, f1 = 2 * tile.j1 + 1;
  const Index p0 = D == 3 ? 2 * tile.k0 - 1 : 0, p1 = D == 3 ? 2 * tile.k1 + 1 : 1;
  const Index halo = D == 3 ? 1 : 0;
  const Index y_rows = f1 - f0 + 4, b_rows = f1 - f0 + 2;
  const std::size_t coarse_pitch = coarse.pitch, coarse_chunks = coarse.chunks();
  const auto coarse_rows = static_cast<std::size_t>(tile.j1 - tile.j0);
  Real* memory = scratch.data();
  const Ring first(memory, pitch, f0 - 2, y_rows);
  memory += Ring::size(pitch, y_rows);
  const Ring second(memory, pitch, f0 - 1, b_rows);
  memory += Ring::size(pitch, b_rows);
  Real* left = memory + lanes;
  memory += pitch + 2 * lanes;
  Real* narrow = memory;
  memory += coarse_pitch;
  Real* plane = memory;  // restricted along x and y

  const auto make_first = [&](Index k) {
    for (Index j = f0 - 2; j < f1 + 2; ++j) {
      const Index jj = pass.row_of(j), kk = pass.plane_of(k);
      Real* to = first.row(j, k);
      if (jj < 0 || kk < 0) {
        pass.clear(to);
        continue;
      }
      const RowRecords records = records_of(pass.a, jj, kk);
      const Real* rhs = r.data() + layout.row(jj, kk);
      const Wide mask = Pass::first(j, k);
      for (std::size_t c = 0; c < pass.chunks; ++c)
        store_wide(to + c * lanes,
                   mask * load_wide(records[c] + inverse * lanes) * load_wide(rhs + c * lanes));
      pass.ghosts(to);
    }
  };
  const auto make_second = [&](Index k) {
    for (Index j = f0 - 1; j < f1 + 1; ++j) second_colour<D>(pass, r.data(), first, second, j, k);
  };
  for (Index kk = tile.k0; kk < tile.k1; ++kk)
    for (Index jj = tile.j0; jj < tile.j1; ++jj)
      std::fill_n(rc.data() + coarse.row(jj, kk), coarse_chunks * lanes, Real(0));
  constexpr Real near = Real(0.375), far = Real(0.125);
  const auto restrict_plane = [&](Index k) {
    const Index kk = pass.plane_of(k);
    if (kk < 0) return;
    std::fill_n(plane, coarse_rows * coarse_pitch, Real(0));
    for (Index j = f0; j < f1; ++j) {
      const Index jj = pass.row_of(j);
      if (jj < 0) continue;
      const RowRecords records = records_of(pass.a, jj, kk);
      const Rows<Real> rows = second.around(j, k);
      const Wide mask = Pass::first(j, k);
      for (std::size_t c = 0; c < pass.chunks; ++c) {
        const Real* w = records[c];
        store_wide(left + c * lanes,
                   mask * load_wide(w + spread * lanes) * from_neighbours<D>(records, c, rows));
      }
      pass.ghosts_of_children(left);
      restrict_row(left, coarse_chunks, pass.chunks, narrow);
      // j = f0 + 1 + m is child m of the tile's coarse rows; each gives to the two next to it.
      const auto give = [&](Index to, Real weight) {
        if (to < tile.j0 || to >= tile.j1) return;
        Real* out = plane + static_cast<std::size_t>(to - tile.j0) * coarse_pitch;
        for (std::size_t i = 0; i < coarse_chunks * lanes; ++i) out[i] += weight * narrow[i];
      };
      const Index in = (j + 2) / 2 - 1;  // j >= -1
      give(in, near);
      give(j % 2 == 0 ? in - 1 : in + 1, far);
    }
    const auto give = [&](Index to, Real weight) {
      if (to < tile.k0 || to >= tile.k1) return;
      for (std::size_t m = 0; m < coarse_rows; ++m) {
        Real* out = rc.data() + coarse.row(tile.j0 + static_cast<Index>(m), to);
        const Real* in = plane + m * coarse_pitch;
        for (std::size_t i = 0; i < coarse_chunks * lanes; ++i) out[i] += weight * in[i];
      }
    };
    if constexpr (D == 2) {
      give(0, 1);
    } else {
      const Index in = (k + 2) / 2 - 1;
      give(in, near);
      give(k % 2 == 0 ? in - 1 : in + 1, far);
    }
  };
  for (Index k = p0 - 2 * halo; k < p1 + 2 * halo; ++k) {
    make_first(k);
    if (k - halo >= p0 - halo) make_second(k - halo);
    if (k - 2 * halo >= p0) restrict_plane(k - 2 * halo);
  }
}

/// The way up: the first colour of the sweep from zero, corrected, then both colours once more. Returns
/// through row_sums r . z of each row, if it is not null.
template <int D>
void correct_tile(const Pass& pass, std::span<const Real> r, const RowLayout& coarse,
                  std::span<const Real> zc, std::span<Real> z, const Tile& tile, std::vector<Real>& scratch,
                  double* row_sums) {
  const RowLayout& layout = pass.a.layout;
  const std::size_t pitch = layout.pitch;
  const Index halo = D == 3 ? 1 : 0;
  const Index y_rows = tile.j1 - tile.j0 + 4, b_rows = tile.j1 - tile.j0 + 2;
  Real* memory = scratch.data();
  const Ring first(memory, pitch, tile.j0 - 2, y_rows);
  memory += Ring::size(pitch, y_rows);
  const Ring second(memory, pitch, tile.j0 - 1, b_rows);
  memory += Ring::size(pitch, b_rows);
  Real* correction = memory + lanes;
  memory += pitch + 2 * lanes;
  Real* blend = memory + lanes;

  const auto make_first = [&](Index k) {
    for (Index j = tile.j0 - 2; j < tile.j1 + 2; ++j) {
      const Index jj = pass.row_of(j), kk = pass.plane_of(k);
      Real* to = first.row(j, k);
      if (jj < 0 || kk < 0) {
        pass.clear(to);
        continue;
      }
      interpolate_row<D>(coarse, zc.data(), jj, kk, blend, correction, pass.chunks);
      const RowRecords records = records_of(pass.a, jj, kk);
      const Real* rhs = r.data() + layout.row(jj, kk);
      const Wide mask = Pass::first(j, k);
      for (std::size_t c = 0; c < pass.chunks; ++c) {
        const std::size_t i = c * lanes;
        store_wide(to + i, mask * (load_wide(records[c] + inverse * lanes) * load_wide(rhs + i) +
                                   load_wide(records[c] + spread * lanes) * load_wide(correction + i)));
      }
      pass.ghosts(to);
    }
  };
  const auto make_second = [&](Index k) {
    for (Index j = tile.j0 - 1; j < tile.j1 + 1; ++j) second_colour<D>(pass, r.data(), first, second, j, k);
  };
  const auto finish = [&](Index k) {
    for (Index j = tile.j0; j < tile.j1; ++j) {
      const RowRecords records = records_of(pass.a, j, k);
      const Real* rhs = r.data() + layout.row(j, k);
      Real* to = z.data() + layout.row(j, k);
      const Rows<Real> rows = second.around(j, k);
      const Wide mask = Pass::first(j, k);
      Wide sum{};
      for (std::size_t c = 0; c < pass.chunks; ++c) {
        const std::size_t i = c * lanes;
        const Real* w = records[c];
        const Wide b = load_wide(rhs + i);
        const Wide value = load_wide(rows.c + i) +
                           mask * load_wide(w + inverse * lanes) * (b + from_neighbours<D>(records, c, rows));
        store_wide(to + i, value);
        sum += b * value;
      }
      pass.closed_ghosts(to);
      if (row_sums)
        row_sums[static_cast<std::size_t>(j) +
                 static_cast<std::size_t>(layout.cells[1]) * static_cast<std::size_t>(k)] = sum_of(sum);
    }
  };
  for (Index k = tile.k0 - 2 * halo; k < tile.k1 + 2 * halo; ++k) {
    make_first(k);
    if (k - halo >= tile.k0 - halo) make_second(k - halo);
    if (k - 2 * halo >= tile.k0) finish(k - 2 * halo);
  }
}

/// Scratch of the passes above for tiles of `rows` rows.
std::size_t scratch_size(const RowLayout& layout, const RowLayout& coarse, Index fine_rows) {
  return Ring::size(layout.pitch, fine_rows + 6) + Ring::size(layout.pitch, fine_rows + 4) + layout.pitch +
         4 * lanes + coarse.pitch * static_cast<std::size_t>(fine_rows / 2 + 4) + 4 * lanes;
}

}  // namespace

GridMultigrid::GridMultigrid(const GridPoisson& a) {
  remake(a, false);
}

void GridMultigrid::remake(const GridPoisson& a, bool again) {
  fine_ = &a;
  const auto large = [&](const GridPoisson& g) {
    const std::size_t cells = static_cast<std::size_t>(g.layout.cells[0]) * g.layout.rows();
    return cells > most_dense && can_coarsen(g.layout);
  };
  for (coarser_ = 0; large(at(coarser_));) {
    if (levels_.size() == coarser_) levels_.emplace_back();
    Level& level = levels_[coarser_];
    level.scratch.changes = again;
    make_coarser_poisson(level.a, at(coarser_), level.scratch);
    level.r.assign(level.a.layout.size(), 0);
    level.z.assign(level.a.layout.size(), 0);
    ++coarser_;
  }
  row_sums_.resize(a.layout.rows());
  invert_coarsest();
}

void GridMultigrid::invert_coarsest() {
  const GridPoisson& last = at(coarser_);
  const RowLayout& layout = last.layout;
  const std::size_t n = static_cast<std::size_t>(layout.cells[0]) * layout.rows();
  dense_.clear();
  if (n > most_dense) return;
  matrix_.assign(n * n, 0);
  std::vector<double>& m = matrix_;
  const auto number = [&](Index i, Index j, Index k) {
    return static_cast<std::size_t>(i + layout.cells[0] * (j + layout.cells[1] * k));
  };
  for (Index k = 0; k < layout.cells[2]; ++k)
    for (Index j = 0; j < layout.cells[1]; ++j)
      for (Index i = 0; i < layout.cells[0]; ++i) {
        const std::size_t c = number(i, j, k);
        const auto with = [&](std::size_t field, Index ii, Index jj, Index kk) {
          const double w = static_cast<double>(last.coefficient(i, j, k, field));
          m[c * n + c] += w;
          m[c * n + number(ii, jj, kk)] -= w;
        };
        const auto beside = [&](Index x, Index step, std::size_t axis) {
          return neighbour(x, step, layout.cells[axis], layout.periodic[axis]);
        };
        with(to_xm, beside(i, -1, 0), j, k), with(to_xp, beside(i, 1, 0), j, k);
        with(to_ym, i, beside(j, -1, 1), k), with(to_yp, i, beside(j, 1, 1), k);
        with(to_zm, i, j, beside(k, -1, 2)), with(to_zp, i, j, beside(k, 1, 2));
        m[c * n + c] += static_cast<double>(last.coefficient(i, j, k, to_open));
      }
  // A symmetric generalized inverse by sweeping on every pivot that is not zero (Goodnight 1979, "A tutorial
  // on the SWEEP operator"): a region without an open side loses its last pivot, and one cell of it stays
  // zero; what is no unknown has none.
  std::array<double, most_dense> diagonal;
  std::array<bool, most_dense> swept{};
  for (std::size_t p = 0; p < n; ++p) diagonal[p] = m[p * n + p];
  for (std::size_t p = 0; p < n; ++p) {
    const double pivot = m[p * n + p];
    if (!(pivot > 1e-6 * diagonal[p])) continue;
    swept[p] = true;
    double* row = m.data() + p * n;
    for (std::size_t c = 0; c < n; ++c) row[c] /= pivot;
    for (std::size_t r = 0; r < n; ++r) {
      if (r == p) continue;
      double* other = m.data() + r * n;
      const double factor = other[p];
      if (factor == 0) continue;
      for (std::size_t c = 0; c < n; ++c) other[c] -= factor * row[c];
      other[p] = -factor / pivot;
    }
    row[p] = 1 / pivot;
  }
  dense_.resize(n * n);
  for (std::size_t q = 0; q < n; ++q)
    for (std::size_t p = 0; p < n; ++p)
      dense_[q * n + p] =
          swept[p] && swept[q] ? static_cast<Real>((m[q * n + p] + m[p * n + q]) / 2) : Real(0);
}

void GridMultigrid::solve_coarsest(const GridPoisson& a, std::span<const Real> r, std::span<Real> z) const {
  const RowLayout& layout = a.layout;
  const Index nx = layout.cells[0], ny = layout.cells[1], nz = layout.cells[2];
  if (!dense_.empty()) {
    const auto n = static_cast<std::size_t>(nx) * layout.rows();
    std::array<Real, most_dense> sum{};
    std::size_t q = 0;
    for (Index k = 0; k < nz; ++k)
      for (Index j = 0; j < ny; ++j)
        for (Index i = 0; i < nx; ++i, ++q) {
          const Real b = r[layout.index(i, j, k)];
          for (std::size_t p = 0; p < n; ++p) sum[p] += dense_[q * n + p] * b;
        }
    q = 0;
    for (Index k = 0; k < nz; ++k)
      for (Index j = 0; j < ny; ++j) {
        for (Index i = 0; i < nx; ++i, ++q) z[layout.index(i, j, k)] = sum[q];
        fill_ghosts(z.data() + layout.row(j, k), static_cast<std::size_t>(nx), layout.periodic[0]);
      }
    return;
  }
  // Symmetric Gauss-Seidel, cell after cell, which needs no checkerboard.
  std::fill(z.begin(), z.end(), Real(0));
  const auto relax = [&](Index i, Index j, Index k) {
    const Rows<Real> rows = rows_around(layout, z.data(), j, k);
    const auto x = static_cast<std::size_t>(i);
    const Real* w = records_of(a, j, k)[x / lanes] + x % lanes;
    Real* row = z.data() + layout.row(j, k);
    row[x] = w[inverse * lanes] *
             (r[layout.index(i, j, k)] + w[to_xm * lanes] * row[static_cast<std::ptrdiff_t>(x) - 1] +
              w[to_xp * lanes] * row[x + 1] + w[to_ym * lanes] * rows.ym[x] + w[to_yp * lanes] * rows.yp[x] +
              w[to_zm * lanes] * rows.zm[x] + w[to_zp * lanes] * rows.zp[x]);
    if (layout.periodic[0] && (i == 0 || i == nx - 1)) fill_ghosts(row, static_cast<std::size_t>(nx), true);
  };
  for (int sweep = 0; sweep < coarsest_sweeps; ++sweep) {
    for (Index k = 0; k < nz; ++k)
      for (Index j = 0; j < ny; ++j)
        for (Index i = 0; i < nx; ++i) relax(i, j, k);
    for (Index k = nz - 1; k >= 0; --k)
      for (Index j = ny - 1; j >= 0; --j)
        for (Index i = nx - 1; i >= 0; --i) relax(i, j, k);
  }
}

double GridMultigrid::cycle(std::size_t level, std::span<const Real> r, std::span<Real> z) {
  const GridPoisson& a = at(level);
  if (level == coarser_) {
    solve_coarsest(a, r, z);
    return 0;
  }
  Level& next = levels_[level];
  const RowLayout &layout = a.layout, &coarse = next.a.layout;
  const Pass pass(a);
  const auto cells = static_cast<std::size_t>(layout.cells[0]) * layout.rows();
  const int threads = cells < 20000 ? 1 : num_threads();
  const auto run = [&](Index ny, Index nz, const Tiling& tiling, auto&& f) {
    const auto work = [&](Index t, std::vector<Real>& scratch) { f(tiling.tile(t, ny, nz), scratch); };
    if (threads == 1)
      for (Index t = 0; t < tiling.count(); ++t) work(t, rings_[0]);
    else
      for_tiles(tiling.count(), rings_, work);
  };
  const Index cy = coarse.cells[1], cz = coarse.cells[2], ny = layout.cells[1], nz = layout.cells[2];
  const Tiling down(layout, ny, cz, 7, threads);
  Tiling by_coarse_rows = down;
  by_coarse_rows.tile_y = (down.tile_y + 1) / 2;
  by_coarse_rows.count_y = (cy + by_coarse_rows.tile_y - 1) / by_coarse_rows.tile_y;
  const Tiling up(layout, ny, nz, 7, threads);
  const std::size_t need = scratch_size(layout, coarse, std::max(2 * by_coarse_rows.tile_y, up.tile_y) + 2);
  if (rings_.size() < static_cast<std::size_t>(num_threads()))
    rings_.resize(static_cast<std::size_t>(num_threads()));
  for (std::vector<Real>& ring : rings_)
    if (ring.size() < need) ring.assign(need, 0);
  const auto by_dimension = [&](auto&& f) {
    if (a.dimensions == 2)
      f.template operator()<2>();
    else
      f.template operator()<3>();
  };
  by_dimension([&]<int D>() {
    run(cy, cz, by_coarse_rows, [&](const Tile& tile, std::vector<Real>& scratch) {
      restrict_tile<D>(pass, r, coarse, next.r, tile, scratch);
    });
  });
  cycle(level + 1, next.r, next.z);
  double* sums = level == 0 ? row_sums_.data() : nullptr;
  by_dimension([&]<int D>() {
    run(ny, nz, up, [&](const Tile& tile, std::vector<Real>& scratch) {
      correct_tile<D>(pass, r, coarse, next.z, z, tile, scratch, sums);
    });
  });
  return 0;
}

double GridMultigrid::operator()(std::span<const Real> r, std::span<Real> z) {
  cycle(0, r, z);
  if (coarser_ == 0) {
    double sum = 0;
    for (std::size_t i = 0; i < r.size(); ++i) sum += static_cast<double>(r[i]) * static_cast<double>(z[i]);
    return sum;
  }
  double sum = 0;
  for (const double row : row_sums_) sum += row;
  return sum;
}

double GridMultigrid::bytes_per_cycle() const {
  double bytes = 0;
  for (std::size_t level = 0; level < coarser_; ++level) {
    const auto items = static_cast<double>(at(level).layout.size());
    const auto coarse = static_cast<double>(at(level + 1).layout.size());
    // Down: r read, coarse r written with its allocation. Up: r and coarse z read, z written likewise.
    bytes += sizeof(Real) * (items + 2 * coarse + items + coarse + 2 * items) +
             2 * sizeof(std::uint32_t) * static_cast<double>(at(level).record.size()) +
             2 * sizeof(Real) * static_cast<double>(at(level).coefficients.size());
  }
  return bytes;
}

}  // namespace plenum::inline PLENUM_ABI
