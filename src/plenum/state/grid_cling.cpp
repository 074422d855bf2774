#include "plenum/state/grid_cling.h"

#include <algorithm>
#include <limits>

#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// The least part of the way to a surface that is told from none.
constexpr Real least_part = Real(1e-3);

}  // namespace

std::vector<Real> find_cling(const GridShape& shape, const Vec3& low, Real h,
                             std::span<const GridSolid> solids, int c) {
  // Distances at all items, ghosts too: those beyond sides are neighbours.
  std::vector<Real> distance(shape.size(), std::numeric_limits<Real>::max());
  const Index low_z = shape.is_flat() ? 0 : -1, high_z = shape.is_flat() ? 0 : shape.cells[2] + 1;
  std::vector<Vec3> x(static_cast<std::size_t>(shape.cells[0] + 3));
  std::vector<Real> d(x.size());
  for (const GridSolid& solid : solids) {
    const Shape geometry = solid.solid();
    for (Index k = low_z; k <= high_z; ++k)
      for (Index j = -1; j <= shape.cells[1] + 1; ++j) {
        for (Index i = -1; i <= shape.cells[0] + 1; ++i) {
          Vec3& at = x[static_cast<std::size_t>(i + 1)];
          at = low + h * (Vec3(static_cast<Real>(i), static_cast<Real>(j), static_cast<Real>(k)) +
                          Vec3::Constant(Real(0.5)));
          at[c] -= h / 2;
        }
        geometry.signed_distances(solid.pose(), x, d);
        Real* to = distance.data() + shape.index(-1, j, k);
        for (std::size_t i = 0; i < d.size(); ++i) to[i] = std::min(to[i], d[i]);
      }
  }
  std::vector<Real> cling(shape.size(), 0);
  std::array<Index, 3> n = shape.cells;
  ++n[static_cast<std::size_t>(c)];
  for (Index k = 0; k < n[2]; ++k)
    for (Index j = 0; j < n[1]; ++j)
      for (Index i = 0; i < n[0]; ++i) {
        const std::size_t at = shape.index(i, j, k);
        const Real here = distance[at];
        if (!(here > 0)) {
          cling[at] = -1;
          continue;
        }
        for (int a = 0; a < shape.dimensions(); ++a)
          for (const std::ptrdiff_t step : {-shape.stride(a), shape.stride(a)}) {
            const Real there = distance[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(at) + step)];
            if (!(there > 0)) cling[at] += 1 / std::max(here / (here - there), least_part) - 1;
          }
      }
  return cling;
}

}  // namespace plenum::inline PLENUM_ABI
