#pragma once
// The stages of a step of smoke that have files of their own, and what they share.
#include <algorithm>

#include "plenum/base/parallel.h"
#include "plenum/solvers/smoke/smoke.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// f(j, k, first item) for all rows of items of component c (-1: cells), in parallel.
template <class F>
void for_item_rows(const GridShape& shape, int c, F&& f) {
  std::array<Index, 3> n = shape.cells;
  if (c >= 0) ++n[static_cast<std::size_t>(c)];
  const auto ny = static_cast<std::size_t>(n[1]);
  parallel_for(ny * static_cast<std::size_t>(n[2]),
               std::max<std::size_t>(1, 4096 / static_cast<std::size_t>(n[0])),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t row = begin; row < end; ++row) {
                   const auto j = static_cast<Index>(row % ny), k = static_cast<Index>(row / ny);
                   f(j, k, static_cast<std::ptrdiff_t>(shape.index(0, j, k)), n[0]);
                 }
               });
}

/// Where item (i, j, k) of component c stands [m].
inline Vec3 place(const Smoke::Model& m, int c, Index i, Index j, Index k) {
  const auto at = [&](int axis, Index n) {
    return m.low[axis] + m.h * (static_cast<Real>(n) + (axis == c ? Real(0) : Real(0.5)));
  };
  return {at(0, i), at(1, j), at(2, k)};
}

/// Draws what is within sources towards their values.
void add_sources(const Smoke::Model& m, Smoke::State& s, const Smoke::Params& params, Real dt);
/// Lets brushes, strokes of a hand and gusts act.
void stir_gas(const Smoke::Model& m, Smoke::State& s, const Smoke::Params& params, Smoke::Workspace& w,
              Real dt);

}}  // namespace plenum::inline PLENUM_ABI::detail
