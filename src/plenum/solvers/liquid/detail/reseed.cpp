// Particles from where they crowd to where the liquid has run short of them.
//
// Chance and stretching leave cells within the liquid with one particle or none, whose velocity is then that
// of a neighbour's, while others have many. A particle stands for its volume, and so none is made or taken:
// one of the fullest cells goes to a free place of the emptiest. There it takes the flow's velocity, as if
// it had always been; the velocity of a cell is a mean, which it leaves as it was, but for what the particle
// differed from the flow around it.
#include <algorithm>

#include "plenum/solvers/liquid/detail/emit.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using Workspace = Liquid::Workspace;

/// Component c of the flow before the part of the step, linear between faces.
Real velocity_before(const Liquid::Model& m, const Workspace& w, int c, const Vec3& x) {
  const GridShape& shape = m.shape;
  std::array<Index, 3> low{};
  std::array<Real, 3> t{};
  for (int a = 0; a < shape.dimensions(); ++a) {
    const auto q = static_cast<std::size_t>(a);
    const Real g = (x[a] - m.low[a]) / m.h + (a == c ? Real(0) : Real(0.5));
    const auto below = static_cast<Index>(g);
    low[q] = a == c ? below : below - 1;
    t[q] = g - static_cast<Real>(below);
  }
  const Real* pair = w.pairs[static_cast<std::size_t>(c)].data();
  Real sum = 0;
  for (Index k = 0; k < (shape.is_flat() ? 1 : 2); ++k)
    for (Index j = 0; j < 2; ++j)
      for (Index i = 0; i < 2; ++i) {
        const std::size_t at = shape.index(low[0] + i, low[1] + j, low[2] + k);
        const Real u = pair[2 * at] - pair[2 * at + 1];
        sum += u * (i ? t[0] : 1 - t[0]) * (j ? t[1] : 1 - t[1]) * (k ? t[2] : 1 - t[2]);
      }
  return sum;
}

/// Which of a cell's places particles are in, by bits.
std::uint64_t taken_places(const Liquid::Model& m, const Liquid::State& s, const std::array<Index, 3>& cell,
                           std::uint32_t begin, std::uint32_t end) {
  const int n = m.per_side, dimensions = m.shape.dimensions();
  std::uint64_t taken = 0;
  for (std::uint32_t p = begin; p < end; ++p) {
    int place = 0;
    for (int c = dimensions; c-- > 0;) {
      const Real in_cell =
          (s.x[p][c] - m.low[c]) / m.h - static_cast<Real>(cell[static_cast<std::size_t>(c)]);
      place = place * n + std::clamp(static_cast<int>(in_cell * static_cast<Real>(n)), 0, n - 1);
    }
    taken |= std::uint64_t{1} << place;
  }
  return taken;
}

}  // namespace

int reseed_particles(const Liquid::Model& m, Liquid::State& s, Workspace& w) {
  const GridShape& shape = m.shape;
  const int full = m.per_cell(), least = least_particles(m);
  const auto is_inner = [&](Index i, Index j, Index k) {
    const auto cell = static_cast<std::ptrdiff_t>(shape.index(i, j, k));
    if (capacities(m, w)[static_cast<std::size_t>(cell)] < Real(0.8)) return false;
    if (!w.walls.empty() && may_be_cut(m, w, static_cast<std::size_t>(cell))) return false;
    for (int c = 0; c < shape.dimensions(); ++c) {
      const auto a = static_cast<std::size_t>(c);
      const Index at = c == 0 ? i : c == 1 ? j : k;
      // Sides that are closed have no air beyond.
      if ((at > 0 || w.wraps[a]) && !w.liquid[static_cast<std::size_t>(cell - shape.stride(c))]) return false;
      if ((at + 1 < shape.cells[a] || w.wraps[a]) &&
          !w.liquid[static_cast<std::size_t>(cell + shape.stride(c))])
        return false;
      if ((at == 0 && m.is_open(2 * a)) || (at + 1 == shape.cells[a] && m.is_open(2 * a + 1))) return false;
    }
    return w.liquid[static_cast<std::size_t>(cell)] != 0;
  };
  // Cells that lack particles, and how full others are, row by row, then joined in order.
  const ItemBox box{w.occupied.low, w.occupied.high};
  const std::size_t rows = box.rows();
  w.lacking_in.assign(rows + 1, 0);
  w.spare_in.assign(rows + 1, 0);
  const auto each_cell = [&](auto&& lacks, auto&& spares) {
    for_rows(box, [&](Index j, Index k) {
      const std::size_t row =
          static_cast<std::size_t>(j - box.low[1]) + box.rows_y() * static_cast<std::size_t>(k - box.low[2]);
      for (Index i = box.low[0]; i < box.high[0]; ++i) {
        const auto [begin, end] = range_of(m, w, i, j, k);
        const auto count = static_cast<int>(end - begin);
        if (count < least && is_inner(i, j, k)) lacks(row, std::array<Index, 3>{i, j, k}, begin, count);
        if (count > full) spares(row, std::array<Index, 3>{i, j, k}, begin, count);
      }
    });
  };
  each_cell([&](std::size_t row, const auto&, std::uint32_t, int) { ++w.lacking_in[row + 1]; },
            [&](std::size_t row, const auto&, std::uint32_t, int) { ++w.spare_in[row + 1]; });
  for (std::size_t row = 0; row < rows; ++row) {
    w.lacking_in[row + 1] += w.lacking_in[row];
    w.spare_in[row + 1] += w.spare_in[row];
  }
  if (w.lacking_in[rows] == 0 || w.spare_in[rows] == 0) return 0;
  w.lacking.resize(w.lacking_in[rows]);
  w.spare.resize(w.spare_in[rows]);
  each_cell(
      [&](std::size_t row, const auto& cell, std::uint32_t begin, int count) {
        w.lacking[w.lacking_in[row]++] = {
            cell, begin, count, 0,
            taken_places(m, s, cell, begin, begin + static_cast<std::uint32_t>(count))};
      },
      [&](std::size_t row, const auto& cell, std::uint32_t begin, int count) {
        w.spare[w.spare_in[row]++] = {cell, begin, count, 0, 0};
      });
  int most = 0, moved = 0;
  for (const Workspace::Seeds& cell : w.spare) most = std::max(most, cell.count);
  // From the fullest, level by level; within a level in the order of cells.
  std::size_t to = 0;
  for (int level = most; level > full && to < w.lacking.size(); --level)
    for (Workspace::Seeds& from : w.spare) {
      if (from.count < level || to == w.lacking.size()) continue;
      Workspace::Seeds& cell = w.lacking[to];
      const std::uint32_t p = from.first + static_cast<std::uint32_t>(--from.count);
      int place = 0;
      while (place + 1 < full && (cell.taken >> place & 1)) ++place;
      cell.taken |= std::uint64_t{1} << place;
      s.x[p] = seed_place(m, cell.cell, place, s.num_emitted++);
      for (int c = 0; c < shape.dimensions(); ++c) s.v[p][c] = velocity_before(m, w, c, s.x[p]);
      ++moved;
      if (++cell.given + cell.count >= least) ++to;
    }
  return moved;
}

}}  // namespace plenum::inline PLENUM_ABI::detail
