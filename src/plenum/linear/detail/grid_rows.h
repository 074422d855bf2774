#pragma once
// Kernels over rows of a grid in vectors: what the operator, its smoother and its coarser grids share.
#include <utility>

#include "plenum/base/unfused.h"
#include "plenum/linear/grid_poisson.h"
#include "plenum/math/wide.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

constexpr std::size_t lanes = static_cast<std::size_t>(wide);
typedef double WideDouble __attribute__((vector_size(wide * sizeof(double))));

/// Fields of a record of coefficients.
enum GridField : std::size_t { to_xm, to_xp, to_ym, to_yp, to_zm, to_zp, to_open, inverse, spread };

/// A row and its neighbours; those beyond the box are the row itself, of which no coefficient is then other
/// than zero.
template <class T>
struct Rows {
  const T *c, *ym, *yp, *zm, *zp;
};

/// j - 1 or j + 1 along an axis of n cells: wrapped, or j itself at the end.
inline Index neighbour(Index j, Index step, Index n, bool periodic) {
  const Index to = j + step;
  if (to >= 0 && to < n) return to;
  return periodic ? (to < 0 ? n - 1 : 0) : j;
}

template <class T>
inline Rows<T> rows_around(const RowLayout& layout, const T* x, Index j, Index k) {
  const auto at = [&](Index jj, Index kk) { return x + layout.row(jj, kk); };
  const Index ny = layout.cells[1], nz = layout.cells[2];
  return {at(j, k), at(neighbour(j, -1, ny, layout.periodic[1]), k),
          at(neighbour(j, 1, ny, layout.periodic[1]), k), at(j, neighbour(k, -1, nz, layout.periodic[2])),
          at(j, neighbour(k, 1, nz, layout.periodic[2]))};
}

[[gnu::always_inline]] inline WideDouble load_double(const double* p) {
  WideDouble a;
  std::memcpy(&a, p, sizeof a);
  return a;
}
template <int half, int... c>
[[gnu::always_inline]] inline Wide plus_shifted(const Wide& a, std::integer_sequence<int, c...>) {
  return a + __builtin_shufflevector(a, a, ((c + half) % wide)...);
}
/// Sum of the lanes, halves added to halves.
[[gnu::always_inline]] inline double sum_of(Wide a) {
  constexpr auto all = std::make_integer_sequence<int, wide>();
  if constexpr (wide == 16) a = plus_shifted<8>(a, all);
  a = plus_shifted<4>(a, all);
  a = plus_shifted<2>(a, all);
  a = plus_shifted<1>(a, all);
  return static_cast<double>(a[0]);
}

/// Records of a row's chunks, one after the other.
struct RowRecords {
  const std::uint32_t* record;
  const Real* coefficients;
  Real open;  ///< coefficient of a face that is open throughout
  const Real* operator[](std::size_t chunk) const {
    return coefficients + record[chunk] * (GridPoisson::fields * lanes);
  }
  /// Whether all faces of the chunk are open: its coefficients then need not be loaded.
  bool is_open(std::size_t chunk) const { return record[chunk] == 1; }
  /// Whether it has no unknown.
  bool is_empty(std::size_t chunk) const { return record[chunk] == 0; }
};
inline RowRecords records_of(const GridPoisson& a, Index j, Index k) {
  const std::size_t r =
      static_cast<std::size_t>(j) + static_cast<std::size_t>(a.layout.cells[1]) * static_cast<std::size_t>(k);
  const Real* w = a.coefficients.data();
  return {a.record.data() + r * a.layout.chunks(), w, w[(GridPoisson::fields + to_yp) * lanes]};
}

/// Sum of coefficients times neighbours.
template <int D>
[[gnu::always_inline]] inline Wide from_neighbours(const RowRecords& records, std::size_t chunk,
                                                   const Rows<Real>& x) {
  const std::size_t i = chunk * lanes;
  if (records.is_open(chunk)) {
    Wide sum = load_wide(x.c + i - 1) + load_wide(x.c + i + 1);
    sum += load_wide(x.ym + i) + load_wide(x.yp + i);
    if constexpr (D == 3) sum += load_wide(x.zm + i) + load_wide(x.zp + i);
    return fill(records.open) * sum;
  }
  const Real* w = records[chunk];
  const auto f = [&](std::size_t field) { return load_wide(w + field * lanes); };
  Wide sum = f(to_xm) * load_wide(x.c + i - 1) + f(to_xp) * load_wide(x.c + i + 1);
  sum += f(to_ym) * load_wide(x.ym + i);
  sum += f(to_yp) * load_wide(x.yp + i);
  if constexpr (D == 3) {
    sum += f(to_zm) * load_wide(x.zm + i);
    sum += f(to_zp) * load_wide(x.zp + i);
  }
  return sum;
}

/// Coefficients times differences: A x, without what rounding a large x would take from its differences.
/// Opposite neighbours are added first, so that the product of a mirror image is the image of the product.
template <int D>
[[gnu::always_inline]] inline Wide product(const RowRecords& records, std::size_t chunk,
                                           const Rows<Real>& x) {
  const std::size_t i = chunk * lanes;
  const Wide c = load_wide(x.c + i);
  if (records.is_open(chunk)) {
    Wide sum = (c - load_wide(x.c + i - 1)) + (c - load_wide(x.c + i + 1));
    sum += (c - load_wide(x.ym + i)) + (c - load_wide(x.yp + i));
    if constexpr (D == 3) sum += (c - load_wide(x.zm + i)) + (c - load_wide(x.zp + i));
    return fill(records.open) * sum;
  }
  const Real* w = records[chunk];
  const auto f = [&](std::size_t field) { return load_wide(w + field * lanes); };
  const auto pair = [&](std::size_t low, std::size_t high, const Real* below, const Real* above) {
    return unfused(f(low) * (c - load_wide(below + i))) + unfused(f(high) * (c - load_wide(above + i)));
  };
  Wide sum = pair(to_xm, to_xp, x.c - 1, x.c + 1);
  sum += pair(to_ym, to_yp, x.ym, x.yp);
  if constexpr (D == 3) sum += pair(to_zm, to_zp, x.zm, x.zp);
  return sum + f(to_open) * c;
}
template <int D>
[[gnu::always_inline]] inline WideDouble product_in_double(const Real* w, const Rows<double>& x,
                                                           std::size_t i) {
  const auto f = [&](std::size_t field) {
    return __builtin_convertvector(load_wide(w + field * lanes), WideDouble);
  };
  const WideDouble c = load_double(x.c + i);
  const auto pair = [&](std::size_t low, std::size_t high, const double* below, const double* above) {
    return unfused(f(low) * (c - load_double(below + i))) + unfused(f(high) * (c - load_double(above + i)));
  };
  WideDouble sum = pair(to_xm, to_xp, x.c - 1, x.c + 1);
  sum += pair(to_ym, to_yp, x.ym, x.yp);
  if constexpr (D == 3) sum += pair(to_zm, to_zp, x.zm, x.zp);
  return sum + f(to_open) * c;
}

/// Lanes of one colour of a checkerboard, 1 there and 0 elsewhere; `parity` of the first lane's cell.
[[gnu::always_inline]] inline Wide colour_mask(int parity) {
  Wide mask;
  for (int l = 0; l < wide; ++l) mask[l] = Real((l + parity) % 2 == 0 ? 1 : 0);
  return mask;
}

/// The ghosts of one row.
template <class T>
inline void fill_ghosts(T* row, std::size_t n, bool periodic) {
  row[-1] = periodic ? row[n - 1] : T(0);
  row[n] = periodic ? row[0] : T(0);
}

/// Of interpolation from cells twice as large, along one axis: the cell a fine one is in, weighted 3/4, and
/// the next one on the side it is nearer to, weighted 1/4; -1 beyond the box.
struct Parents {
  Index near, far;
};
inline Parents parents(Index fine, Index coarse_n, bool periodic) {
  const Index near = fine / 2;
  Index far = fine % 2 == 0 ? near - 1 : near + 1;
  if (periodic)
    far = far < 0 ? coarse_n - 1 : far >= coarse_n ? 0 : far;
  else if (far >= coarse_n)
    far = -1;
  return {near, far};
}

template <int start, int... c>
[[gnu::always_inline]] inline Wide interleave(const Wide& a, const Wide& b,
                                              std::integer_sequence<int, c...>) {
  return __builtin_shufflevector(a, b, (start + c / 2 + (c % 2) * wide)...);
}
/// a[start], b[start], a[start + 1], b[start + 1], ...
template <int start>
[[gnu::always_inline]] inline Wide interleave(const Wide& a, const Wide& b) {
  return interleave<start>(a, b, std::make_integer_sequence<int, wide>());
}
template <int start, int... c>
[[gnu::always_inline]] inline Wide every_second(const Wide& a, const Wide& b,
                                                std::integer_sequence<int, c...>) {
  return __builtin_shufflevector(a, b, (start + 2 * c)...);
}
/// Lanes start, start + 2, ... of a and then b.
template <int start>
[[gnu::always_inline]] inline Wide every_second(const Wide& a, const Wide& b) {
  return every_second<start>(a, b, std::make_integer_sequence<int, wide>());
}

/// Row (j, k) of the finer grid, interpolated from coarse rows `x`: first along y and z into `blend`, a row
/// of the coarse layout with room for a vector on either side, then along x into `out`, whole chunks of n
/// cells.
template <int D>
inline void interpolate_row(const RowLayout& coarse, const Real* x, Index j, Index k, Real* blend, Real* out,
                            std::size_t chunks) {
  const Parents py = parents(j, coarse.cells[1], coarse.periodic[1]);
  const Parents pz = D == 3 ? parents(k, coarse.cells[2], coarse.periodic[2]) : Parents{0, -1};
  const Real* rows[4];
  Real weights[4];
  int n = 0;
  const auto add = [&](Index jj, Index kk, Real weight) {
    if (jj < 0 || kk < 0) return;
    rows[n] = x + coarse.row(jj, kk);
    weights[n++] = weight;
  };
  constexpr Real near = Real(0.75), far = Real(0.25), nz = D == 3 ? near : Real(1);
  add(py.near, pz.near, near * nz);
  add(py.far, pz.near, far * nz);
  if (D == 3) {
    add(py.near, pz.far, near * far);
    add(py.far, pz.far, far * far);
  }
  for (; n < 4; ++n) rows[n] = rows[0], weights[n] = 0;
  const Wide w0 = fill(weights[0]), w1 = fill(weights[1]), w2 = fill(weights[2]), w3 = fill(weights[3]);
  const std::size_t coarse_chunks = coarse.chunks();
  for (std::size_t c = 0; c < coarse_chunks; ++c) {
    const std::size_t i = c * lanes;
    Wide sum = w0 * load_wide(rows[0] + i) + w1 * load_wide(rows[1] + i);
    if constexpr (D == 3) sum += w2 * load_wide(rows[2] + i) + w3 * load_wide(rows[3] + i);
    store_wide(blend + i, sum);
  }
  fill_ghosts(blend, static_cast<std::size_t>(coarse.cells[0]), coarse.periodic[0]);
  const Wide three = fill(Real(0.75)), one = fill(Real(0.25));
  for (std::size_t c = 0; 2 * c < chunks; ++c) {
    const std::size_t i = c * lanes;
    const Wide m = three * load_wide(blend + i);
    const Wide even = m + one * load_wide(blend + i - 1), odd = m + one * load_wide(blend + i + 1);
    store_wide(out + 2 * i, interleave<0>(even, odd));
    if (2 * c + 1 < chunks) store_wide(out + 2 * i + lanes, interleave<wide / 2>(even, odd));
  }
}

/// The transpose along x, halved: out (coarse) = 3/8 of both children and 1/8 of the ones beyond; `in` has
/// its ghosts.
inline void restrict_row(const Real* in, std::size_t coarse_chunks, std::size_t fine_chunks, Real* out) {
  const Wide near = fill(Real(0.375)), far = fill(Real(0.125));
  for (std::size_t c = 0; c < coarse_chunks; ++c) {
    const Real* f = in + 2 * c * lanes;
    const bool second = 2 * c + 1 < fine_chunks;
    const Wide zero{};
    const Wide a = load_wide(f), b = second ? load_wide(f + lanes) : zero;
    // Shifted by one: the last odd cell before, and the first even one after.
    const Wide before_a = load_wide(f - 1), before_b = second ? load_wide(f + lanes - 1) : zero;
    const Wide after_a = load_wide(f + 1), after_b = second ? load_wide(f + lanes + 1) : zero;
    const Wide even = every_second<0>(a, b), odd = every_second<1>(a, b);
    const Wide odd_before = every_second<0>(before_a, before_b),
               even_after = every_second<1>(after_a, after_b);
    store_wide(out + c * lanes, near * (even + odd) + far * (odd_before + even_after));
  }
}

}}  // namespace plenum::inline PLENUM_ABI::detail
