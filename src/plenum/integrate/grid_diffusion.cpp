#include "plenum/integrate/grid_diffusion.h"

#include <algorithm>
#include <cmath>

namespace plenum::inline PLENUM_ABI {
namespace {

/// map(row of item, first item, items, parity of the first item) joined over rows in order, by maximum.
template <class Map>
Real over_rows(const GridShape& shape, const DiffusedItems& items, Map&& map) {
  const auto ny = static_cast<std::size_t>(items.end[1] - items.begin[1]),
             nz = static_cast<std::size_t>(items.end[2] - items.begin[2]);
  const Index nx = items.end[0] - items.begin[0];
  return ordered_reduce(
      ny * nz, std::max<std::size_t>(1, 4096 / static_cast<std::size_t>(nx)), Real(0),
      [&](std::size_t begin, std::size_t end) {
        Real most = 0;
        for (std::size_t row = begin; row < end; ++row) {
          const Index j = items.begin[1] + static_cast<Index>(row % ny),
                      k = items.begin[2] + static_cast<Index>(row / ny);
          most = std::max(
              most, map(static_cast<std::ptrdiff_t>(shape.index(items.begin[0], j, k)), nx, (j + k) & 1));
        }
        return most;
      },
      [](Real a, Real b) { return std::max(a, b); });
}

/// Sum of the neighbours.
template <int D>
Real around(const Real* u, std::ptrdiff_t i, std::ptrdiff_t sy, std::ptrdiff_t sz) {
  Real sum = (u[i - 1] + u[i + 1]) + (u[i - sy] + u[i + sy]);
  if constexpr (D == 3) sum += u[i - sz] + u[i + sz];
  return sum;
}

}  // namespace

void diffuse_explicitly(const GridShape& shape, const DiffusedItems& items, Real number,
                        std::span<const Real> u, std::span<Real> out) {
  const std::ptrdiff_t sy = shape.stride(1), sz = shape.stride(2);
  const auto rows = [&]<int D>() {
    over_rows(shape, items, [&](std::ptrdiff_t first, Index n, int) {
      for (std::ptrdiff_t i = first; i < first + n; ++i) {
        const Real lap = around<D>(u.data(), i, sy, sz) - 2 * D * u[static_cast<std::size_t>(i)];
        const auto at = static_cast<std::size_t>(i);
        const Real cling = items.cling.empty() ? Real(0) : items.cling[at];
        const bool moves = (items.moves.empty() || items.moves[at]) && cling >= 0;
        out[at] = moves ? (u[at] + number * lap) / (1 + number * cling) : u[at];
      }
      return Real(0);
    });
  };
  if (shape.is_flat())
    rows.operator()<2>();
  else
    rows.operator()<3>();
}

int diffuse_implicitly(const GridShape& shape, const DiffusedItems& items, Real number,
                       std::span<const Real> u0, std::span<Real> u, FunctionRef<void(std::span<Real>)> fill,
                       Real tolerance, int max_sweeps, Real& change) {
  const std::ptrdiff_t sy = shape.stride(1), sz = shape.stride(2);
  const auto half_sweep = [&]<int D>(int colour) {
    const Real inverse = 1 / (1 + 2 * D * number);
    return over_rows(shape, items, [&](std::ptrdiff_t first, Index n, int parity) {
      Real most = 0;
      for (std::ptrdiff_t i = first + ((parity + colour) & 1); i < first + n; i += 2) {
        const auto at = static_cast<std::size_t>(i);
        if (!items.moves.empty() && !items.moves[at]) continue;
        Real now = inverse * (u0[at] + number * around<D>(u.data(), i, sy, sz));
        if (!items.cling.empty() && items.cling[at] != 0) {
          if (items.cling[at] < 0) continue;
          now /= 1 + inverse * number * items.cling[at];
        }
        most = std::max(most, std::abs(now - u[at]));
        u[at] = now;
      }
      return most;
    });
  };
  int sweeps = 0;
  change = 0;
  while (sweeps < max_sweeps) {
    change = 0;
    for (int colour = 0; colour < 2; ++colour) {
      change = std::max(
          change, shape.is_flat() ? half_sweep.operator()<2>(colour) : half_sweep.operator()<3>(colour));
      fill(u);
    }
    ++sweeps;
    if (!(change > tolerance)) break;
  }
  return sweeps;
}

}  // namespace plenum::inline PLENUM_ABI
