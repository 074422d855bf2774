#pragma once
// Periodic axes: what stands beyond a side is what stands at the opposite one.
//
// Stages work on items 0 to n - 1 of such an axis, of faces and cells alike: the faces on its two sides are
// one, number 0. Ghosts -1, n and n + 1 are copies of n - 1, 0 and 1, so that differences and interpolation
// need to know of no seam. What particles give to ghosts is added to what these stand for. All of it happens
// only where the window of a step covers the axis (Workspace::wraps): elsewhere nothing comes near the seam.
#include <algorithm>
#include <cmath>

#include "plenum/solvers/liquid/detail/stages.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Solids as near to a periodic side as this have an image beyond the other one [cells].
inline constexpr Real seam_reach = 8;

inline bool any(const std::array<bool, 3>& axes) {
  return axes[0] || axes[1] || axes[2];
}

/// f(item, item at the opposite side) for the items of `box` with the number `ghost` along axis a.
template <class F>
void for_seam(const GridShape& shape, ItemBox box, std::size_t a, Index ghost, F&& f) {
  const Index n = shape.cells[a], real = ghost < 0 ? ghost + n : ghost - n;
  box.low[a] = ghost, box.high[a] = ghost + 1;
  const std::ptrdiff_t way = (real - ghost) * shape.stride(static_cast<int>(a));
  for_rows(box, [&](Index j, Index k) {
    const auto row = static_cast<std::ptrdiff_t>(shape.index(0, j, k));
    for (std::ptrdiff_t i = row + box.low[0]; i < row + box.high[0]; ++i) f(i, i + way);
  });
}

/// Copies into the ghosts of the axes that wrap, corners too; `q` has N numbers an item, and `box` are the
/// items along the other axes that matter.
template <int N, class T>
void wrap_items(const GridShape& shape, const std::array<bool, 3>& wraps, const ItemBox& box, T* q) {
  for (std::size_t a = 0; a < static_cast<std::size_t>(shape.dimensions()); ++a) {
    if (!wraps[a]) continue;
    for (const Index ghost : {Index(-1), shape.cells[a], shape.cells[a] + 1})
      for_seam(shape, box, a, ghost, [&](std::ptrdiff_t to, std::ptrdiff_t from) {
        for (int c = 0; c < N; ++c) q[N * to + c] = q[N * from + c];
      });
  }
}
/// Adds what is in the ghosts -1 and n to what they stand for.
template <int N>
void fold_items(const GridShape& shape, const std::array<bool, 3>& wraps, const ItemBox& box, Real* q) {
  for (std::size_t a = 0; a < static_cast<std::size_t>(shape.dimensions()); ++a) {
    if (!wraps[a]) continue;
    for (const Index ghost : {Index(-1), shape.cells[a]})
      for_seam(shape, box, a, ghost, [&](std::ptrdiff_t from, std::ptrdiff_t to) {
        for (int c = 0; c < N; ++c) q[N * to + c] += q[N * from + c];
      });
  }
}

/// All items of a grid.
inline ItemBox all_items(const GridShape& shape) {
  return grown(shape, CellWindow{.high = shape.cells}, 1, 2);
}

/// A coordinate [m] in the box of which it is the same place, along a periodic axis of n cells; what is not
/// finite stays so. It is in a cell, by the very formula that sorts particles.
inline Real wrapped(Real x, Real low, Real h, Index n) {
  const Real inv_h = 1 / h, cells = static_cast<Real>(n);
  const auto outside = [&](Real g) { return g < 0 || g >= cells; };
  Real g = (x - low) * inv_h;
  if (!outside(g)) return x;
  x -= std::floor(g / cells) * (cells * h);
  g = (x - low) * inv_h;
  return outside(g) ? low : x;  // by rounding: both ends are one place
}
/// A place in the box of which it is the same.
inline Vec3 wrapped(const Liquid::Model& m, Vec3 x) {
  for (int c = 0; c < m.shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    if (m.is_periodic(a)) x[c] = wrapped(x[c], m.low[c], m.h, m.shape.cells[a]);
  }
  return x;
}

inline std::array<bool, 3> periodic_axes(const Liquid::Model& m) {
  std::array<bool, 3> axes = {};
  for (std::size_t a = 0; a < static_cast<std::size_t>(m.shape.dimensions()); ++a) axes[a] = m.is_periodic(a);
  return axes;
}

/// f(shift [m]) for the images across periodic sides, itself among them, of what is within `bounds` [m] that
/// come as near to the box as `reach` [m]. What is longer than four boxes along an axis has none along it.
template <class F>
void for_images(const Liquid::Model& m, const Aabb& bounds, Real reach, F&& f) {
  std::array<int, 3> first = {}, last = {};
  Vec3 length = Vec3::Zero();
  for (int c = 0; c < m.shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    length[c] = m.h * static_cast<Real>(m.shape.cells[a]);
    if (!m.is_periodic(a) || !(bounds.high[c] - bounds.low[c] < 4 * length[c])) continue;
    first[a] = static_cast<int>(std::ceil((m.low[c] - reach - bounds.high[c]) / length[c]));
    last[a] = static_cast<int>(std::floor((m.low[c] + length[c] + reach - bounds.low[c]) / length[c]));
  }
  for (int k = first[2]; k <= last[2]; ++k)
    for (int j = first[1]; j <= last[1]; ++j)
      for (int i = first[0]; i <= last[0]; ++i)
        f(Vec3(static_cast<Real>(i) * length.x(), static_cast<Real>(j) * length.y(),
               static_cast<Real>(k) * length.z()));
}
inline Pose moved(Pose pose, const Vec3& by) {
  if (!by.isZero(0)) pose.position += by;
  return pose;
}

/// Faces on two sides that are one place become as open as the less open one; ghosts are copied.
inline void join_sides(const Liquid::Model& m, FaceField& open) {
  const std::array<bool, 3> periodic = periodic_axes(m);
  const ItemBox all = all_items(m.shape);
  for (std::size_t c = 0; c < static_cast<std::size_t>(m.shape.dimensions()); ++c) {
    Real* const fractions = open.along[c].data();
    if (periodic[c])
      for_seam(m.shape, all, c, m.shape.cells[c], [&](std::ptrdiff_t upper, std::ptrdiff_t lower) {
        fractions[lower] = std::min(fractions[lower], fractions[upper]);
      });
    wrap_items<1>(m.shape, periodic, all, fractions);
  }
}

}}  // namespace plenum::inline PLENUM_ABI::detail
