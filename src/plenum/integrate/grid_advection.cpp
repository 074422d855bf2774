#include "plenum/integrate/grid_advection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "plenum/base/independent.h"
#include "plenum/base/unfused.h"
#include "plenum/math/wide.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr int batch = 64;

/// Places of some items of a row, in cells from the low corner.
struct Places {
  alignas(64) Real x[batch], y[batch], z[batch];
};
struct Values {
  alignas(64) Real v[batch];
};

struct Layout {
  int sy, sz;
  std::ptrdiff_t items;
  Real nx, ny, nz;
  bool wraps[3];
  Layout(const GridShape& shape, const GridBox& box)
      : sy(static_cast<int>(shape.stride(1))),
        sz(static_cast<int>(shape.stride(2))),
        items(static_cast<std::ptrdiff_t>(shape.size())),
        nx(static_cast<Real>(shape.cells[0])),
        ny(static_cast<Real>(shape.cells[1])),
        nz(static_cast<Real>(shape.cells[2])) {
    for (std::size_t c = 0; c < 3; ++c) wraps[c] = box.sides[2 * c] == GridSide::periodic;
  }
};

/// Where items of a quantity stand in their cells.
struct Offset {
  Real x, y, z;
  explicit Offset(int component)
      : x(component == 0 ? Real(0) : Real(0.5)),
        y(component == 1 ? Real(0) : Real(0.5)),
        z(component == 2 ? Real(0) : Real(0.5)) {}
};

/// Interpolated along x, y and z, and the least and the largest of what it was interpolated from.
template <class T>
struct Sample {
  T value, low, high;
};
/// The part f of the way from a to b: a itself for f = 0, and alike for the part 1 - f of the way from b to
/// a.
template <class T>
[[gnu::always_inline]] inline T part_way(const T& a, const T& b, const T& f) {
  return unfused((1 - f) * a) + unfused(f * b);
}
/// Between items beside each other: 0 and 1 along x, a and b along y.
template <bool range, class T>
[[gnu::always_inline]] inline Sample<T> in_plane(const T& a0, const T& a1, const T& b0, const T& b1,
                                                 const T& fx, const T& fy) {
  Sample<T> r{part_way(part_way(a0, a1, fx), part_way(b0, b1, fx), fy), {}, {}};
  if constexpr (range) {
    // A place at an item has none beside it, whichever side the next one would be on.
    const T a2 = fx > T{} ? a1 : a0, b2 = fx > T{} ? b1 : b0;
    const T l0 = a0 < a2 ? a0 : a2, l1 = b0 < b2 ? b0 : b2, h0 = a0 < a2 ? a2 : a0, h1 = b0 < b2 ? b2 : b0;
    const T l2 = fy > T{} ? l1 : l0, h2 = fy > T{} ? h1 : h0;
    r.low = l0 < l2 ? l0 : l2;
    r.high = h0 < h2 ? h2 : h0;
  }
  return r;
}
template <bool range, class T>
[[gnu::always_inline]] inline Sample<T> between(const Sample<T>& r, const Sample<T>& s, const T& fz) {
  Sample<T> t{part_way(r.value, s.value, fz), {}, {}};
  if constexpr (range) {
    const T low = fz > T{} ? s.low : r.low, high = fz > T{} ? s.high : r.high;
    t.low = r.low < low ? r.low : low;
    t.high = r.high < high ? high : r.high;
  }
  return t;
}

using detail::fill, detail::load_wide, detail::store_wide, detail::wide, detail::Wide;
using Integer = std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;
typedef Integer WideInteger __attribute__((vector_size(wide * sizeof(Integer))));

/// p[index] of lanes, 0 <= index < 2 wide; where it is not, any of these.
[[gnu::always_inline]] inline Wide of_window(const Real* p, const WideInteger& index) {
#if defined(__GNUC__) && !defined(__clang__)
  return __builtin_shuffle(load_wide(p), load_wide(p + wide), index);
#else
  Wide r;
  for (int l = 0; l < wide; ++l) r[l] = p[index[l] & (2 * wide - 1)];
  return r;
#endif
}
/// The first lane in which a comparison holds; wide: none.
[[gnu::always_inline]] inline int first_lane(const WideInteger& mask) {
  typedef signed char Bytes __attribute__((vector_size(wide)));
  const Bytes bytes = __builtin_convertvector(mask, Bytes);
  for (int part = 0; part < wide / 8; ++part) {
    std::uint64_t set;
    std::memcpy(&set, reinterpret_cast<const char*>(&bytes) + 8 * part, 8);
    if (set != 0) return 8 * part + std::countr_zero(set) / 8;
  }
  return wide;
}

/// sample_linear for as many places as there are lanes, if it can be done without collecting items one by
/// one, which is what takes the time: neighbours mostly come from beside each other, so that few windows of
/// two vectors hold the items of all, and lanes are picked from those. Whether it was.
template <int D, bool range>
bool sample_windows(const Layout& layout, const Real* a, const Offset& offset, const Real* at_x,
                    const Real* at_y, const Real* at_z, Real* out, Real* low, Real* high) {
  constexpr int most_windows = 4;  // more take as long as collecting
  const Wide x = load_wide(at_x) - fill(offset.x) + fill(1), y = load_wide(at_y) - fill(offset.y) + fill(1);
  const WideInteger i = __builtin_convertvector(x, WideInteger), j = __builtin_convertvector(y, WideInteger);
  const Wide fx = x - __builtin_convertvector(i, Wide), fy = y - __builtin_convertvector(j, Wide);
  WideInteger row = j * layout.sy;
  Wide fz{};
  if constexpr (D == 3) {
    const Wide z = load_wide(at_z) - fill(offset.z) + fill(1);
    const WideInteger k = __builtin_convertvector(z, WideInteger);
    fz = z - __builtin_convertvector(k, Wide);
    row += k * layout.sz;
  }
  alignas(64) Integer rows[wide], columns[wide];
  std::memcpy(rows, &row, sizeof row);
  std::memcpy(columns, &i, sizeof i);
  const std::ptrdiff_t last = layout.items - (D == 3 ? layout.sz : 0) - layout.sy - 2 * wide;
  Sample<Wide> result{};
  WideInteger left = ~WideInteger{};
  int lane = 0;
  for (int windows = 0; windows < most_windows; ++windows) {
    // Where it would begin if all lanes before had come from beside this one, with room on both sides.
    const Integer begin = columns[lane] - lane - wide / 2;
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(rows[lane]) + begin;
    if (first < 0 || first > last) return false;
    const Real* p = a + first;
    const WideInteger index = i - begin, next = index + 1;
    const WideInteger held = left & (row == rows[lane]) & (index >= 0) & (next < 2 * wide);
    const auto plane = [&](const Real* q) {
      return in_plane<range, Wide>(of_window(q, index), of_window(q, next), of_window(q + layout.sy, index),
                                   of_window(q + layout.sy, next), fx, fy);
    };
    Sample<Wide> s = plane(p);
    if constexpr (D == 3) s = between<range, Wide>(s, plane(p + layout.sz), fz);
    result.value = held ? s.value : result.value;
    if constexpr (range) {
      result.low = held ? s.low : result.low;
      result.high = held ? s.high : result.high;
    }
    left &= ~held;
    lane = first_lane(left);
    if (lane == wide) {
      store_wide(out, result.value);
      if constexpr (range) store_wide(low, result.low), store_wide(high, result.high);
      return true;
    }
  }
  return false;
}

/// The same for `count` places from anywhere, whose items are collected one by one. In vectors too: a
/// compiler may round the same formula of single numbers otherwise.
template <int D, bool range>
void sample_collected(const Layout& layout, const Real* a, const Offset& offset, const Real* at_x,
                      const Real* at_y, const Real* at_z, int count, Real* out, Real* low, Real* high) {
  // One is added for the layer of ghosts, which also makes truncation the floor. Lanes without a place take
  // the first one.
  struct Along {
    alignas(64) Integer item[wide];
    Wide part;
    Along(const Real* at, Real from, int places) {
      alignas(64) Real held[wide];
      if (places < wide)
        for (int l = 0; l < wide; ++l) held[l] = at[l < places ? l : 0];
      const Wide x = load_wide(places < wide ? held : at) - fill(from) + fill(1);
      const WideInteger whole = __builtin_convertvector(x, WideInteger);
      part = x - __builtin_convertvector(whole, Wide);
      std::memcpy(item, &whole, sizeof whole);
    }
  };
  const Along x(at_x, offset.x, count), y(at_y, offset.y, count);
  alignas(64) int base[wide];
  PLENUM_INDEPENDENT
  for (int l = 0; l < wide; ++l)
    base[l] = static_cast<int>(x.item[l]) + layout.sy * static_cast<int>(y.item[l]);
  const auto collect = [&](int to) {
    alignas(64) Real found[wide];
    PLENUM_INDEPENDENT
    for (int l = 0; l < wide; ++l) found[l] = a[base[l] + to];
    return load_wide(found);
  };
  const auto plane = [&](int above) {
    return in_plane<range, Wide>(collect(above), collect(above + 1), collect(above + layout.sy),
                                 collect(above + layout.sy + 1), x.part, y.part);
  };
  Sample<Wide> s;
  if constexpr (D == 2) {
    s = plane(0);
  } else {
    const Along z(at_z, offset.z, count);
    PLENUM_INDEPENDENT
    for (int l = 0; l < wide; ++l) base[l] += layout.sz * static_cast<int>(z.item[l]);
    s = plane(0);
    s = between<range, Wide>(s, plane(layout.sz), z.part);
  }
  const auto store = [&](const Wide& value, Real* to) {
    for (int l = 0; l < count; ++l) to[l] = value[l];
  };
  if (count == wide) {
    store_wide(out, s.value);
    if constexpr (range) store_wide(low, s.low), store_wide(high, s.high);
    return;
  }
  store(s.value, out);
  if constexpr (range) store(s.low, low), store(s.high, high);
}

/// Linear interpolation between the eight (four) items around each place; with `range`, also the least and
/// the largest of them. Places are in the box, so that all are in the array.
template <int D, bool range>
void sample_linear(const Layout& layout, const Real* a, const Offset& offset, const Places& at, int n,
                   Real* out, Real* low, Real* high) {
  for (int m = 0; m < n; m += wide) {
    const int count = std::min(wide, n - m);
    Real *to_low = range ? low + m : nullptr, *to_high = range ? high + m : nullptr;
    if (count < wide ||
        !sample_windows<D, range>(layout, a, offset, at.x + m, at.y + m, at.z + m, out + m, to_low, to_high))
      sample_collected<D, range>(layout, a, offset, at.x + m, at.y + m, at.z + m, count, out + m, to_low,
                                 to_high);
  }
}

/// Cubic Hermite interpolation between b and c with the slopes of central differences, limited as monotone
/// data need (Fritsch & Carlson 1980).
Real monotone_cubic(Real a, Real b, Real c, Real d, Real t) {
  const Real rise = c - b;
  const auto limited = [&](Real slope) {
    if (slope * rise <= 0) return Real(0);
    return rise > 0 ? std::min(slope, 3 * rise) : std::max(slope, 3 * rise);
  };
  const Real s0 = limited((c - a) / 2), s1 = limited((d - b) / 2);
  return b + t * (s0 + t * (3 * rise - 2 * s0 - s1 + t * (s0 + s1 - 2 * rise)));
}

template <int D>
void sample_cubic(const GridShape& shape, const Layout& layout, const Real* a, const Offset& offset,
                  const Places& at, int n, Real* out) {
  const int top[3] = {static_cast<int>(shape.cells[0]) + 2, static_cast<int>(shape.cells[1]) + 2,
                      static_cast<int>(shape.cells[2]) + 2};
  for (int m = 0; m < n; ++m) {
    const Real x = at.x[m] - offset.x + 1, y = at.y[m] - offset.y + 1, z = at.z[m] - offset.z + 1;
    const int i = static_cast<int>(x), j = static_cast<int>(y), k = D == 3 ? static_cast<int>(z) : 0;
    const auto along_x = [&](int row) {
      const auto item = [&](int ii) { return a[row + std::clamp(ii, 0, top[0])]; };
      return monotone_cubic(item(i - 1), item(i), item(i + 1), item(i + 2), x - static_cast<Real>(i));
    };
    const auto along_y = [&](int plane) {
      const auto row = [&](int jj) { return along_x(plane + layout.sy * std::clamp(jj, 0, top[1])); };
      return monotone_cubic(row(j - 1), row(j), row(j + 1), row(j + 2), y - static_cast<Real>(j));
    };
    if constexpr (D == 2) {
      out[m] = along_y(0);
    } else {
      const auto plane = [&](int kk) { return along_y(layout.sz * std::clamp(kk, 0, top[2])); };
      out[m] = monotone_cubic(plane(k - 1), plane(k), plane(k + 1), plane(k + 2), z - static_cast<Real>(k));
    }
  }
}

/// Moves places back into the box; inside[m] becomes 0 where one was beyond a side that does not lead on.
inline void keep_in_box(bool wraps, Real n, Real* x, int count, Real* inside) {
  if (wraps) {
    PLENUM_INDEPENDENT
    for (int m = 0; m < count; ++m) {
      x[m] -= n * std::floor(x[m] / n);
      // Rounding of what is just below zero; of what is so far that its place along the axis is not known;
      // and what is not a number.
      x[m] = x[m] >= 0 && x[m] < n ? x[m] : Real(0);
    }
    return;
  }
  PLENUM_INDEPENDENT
  for (int m = 0; m < count; ++m) {
    // A place that is not a number goes to the low side, so that no step reads beyond its arrays.
    const Real kept = x[m] > 0 ? (x[m] < n ? x[m] : n) : Real(0);
    inside[m] = kept == x[m] ? inside[m] : Real(0);
    x[m] = kept;
  }
}

/// Half a cell beside a wall that holds what flows along it a component along that wall has no values: the
/// ghost beyond is what makes its mean with the first item the wall's (state/grid.h).
struct HeldLayers {
  bool low[3], high[3];
  HeldLayers(const GridBox& box, int component) {
    for (int c = 0; c < 3; ++c) {
      const auto holds = [&](std::size_t side) {
        return component >= 0 && component != c &&
               (box.sides[side] == GridSide::no_slip || box.sides[side] == GridSide::inflow);
      };
      low[c] = holds(2 * static_cast<std::size_t>(c)), high[c] = holds(2 * static_cast<std::size_t>(c) + 1);
    }
  }
  /// inside[m] becomes 0 for places in the layers across axis c of n cells.
  void leave(int c, Real n, const Real* x, int count, Real* inside) const {
    if (!low[c] && !high[c]) return;
    const Real least = low[c] ? Real(0.5) : Real(0), most = high[c] ? n - Real(0.5) : n;
    PLENUM_INDEPENDENT
    for (int m = 0; m < count; ++m) inside[m] = x[m] >= least && x[m] <= most ? inside[m] : Real(0);
  }
};

template <int D>
class Tracer {
 public:
  Tracer(const GridShape& shape, const GridBox& box, const FaceField& velocity, Real step, Trace trace,
         int component)
      : layout(shape, box), offset(component), step_(step), trace_(trace), component_(component) {
    for (int c = 0; c < D; ++c) {
      u_[c] = velocity[c].data();
      const auto cells = static_cast<std::uint32_t>(shape.cells[static_cast<std::size_t>(c)]);
      const std::uint32_t power = std::bit_ceil(cells + 1);
      shift_[c] = static_cast<Real>(power) + static_cast<Real>(power - cells) / 2;
    }
  }

  const Layout layout;
  const Offset offset;

  /// Where the flow brings items i to i + n of a row from (direction 1) or to (-1).
  void trace(Index i, Index j, Index k, std::size_t item, int n, Real direction, Places& at,
             Values& inside) const {
    Values v[3], v2[3], v3[3];
    Places start;
    for (int m = 0; m < n; ++m) {
      start.x[m] = static_cast<Real>(i + m) + offset.x;
      start.y[m] = static_cast<Real>(j) + offset.y;
      start.z[m] = static_cast<Real>(k) + offset.z;
      inside.v[m] = 1;
    }
    velocity_of_items(item, n, v);
    const Real h = -direction * step_;
    switch (trace_) {
      case Trace::euler:
        move(start, h, v, n, at, inside);
        break;
      case Trace::rk2:
        move(start, h / 2, v, n, at, inside);
        velocity_at(at, n, v2);
        if (Values stays; any_stay(v, v2, n, stays)) {
          Values ignored;
          move(start, h * Real(0.75), v2, n, at, ignored);
          velocity_at(at, n, v3);
          // Of all items first: in one loop with the choice, lanes that are not chosen are computed from what
          // registers happen to hold, which may trap.
          for (int c = 0; c < D; ++c) {
            for (int m = 0; m < n; ++m) v3[c].v[m] = ralston(v[c].v[m], v2[c].v[m], v3[c].v[m]);
            for (int m = 0; m < n; ++m) v2[c].v[m] = stays.v[m] > 0 ? v3[c].v[m] : v2[c].v[m];
          }
        }
        move(start, h, v2, n, at, inside);
        break;
      case Trace::rk3:
        move(start, h / 2, v, n, at, inside);
        velocity_at(at, n, v2);
        move(start, h * Real(0.75), v2, n, at, inside);
        velocity_at(at, n, v3);
        for (int c = 0; c < D; ++c)
          for (int m = 0; m < n; ++m) v[c].v[m] = ralston(v[c].v[m], v2[c].v[m], v3[c].v[m]);
        move(start, h, v, n, at, inside);
        break;
    }
  }

 private:
  /// Of items themselves, from the faces beside them.
  void velocity_of_items(std::size_t item, int n, Values* v) const {
    const std::ptrdiff_t stride[3] = {1, layout.sy, layout.sz};
    for (int c = 0; c < D; ++c) {
      const Real* u = u_[c] + item;
      const std::ptrdiff_t up = stride[c];
      if (c == component_) {
        for (int m = 0; m < n; ++m) v[c].v[m] = u[m];
      } else if (component_ < 0) {
        PLENUM_INDEPENDENT
        for (int m = 0; m < n; ++m) v[c].v[m] = (u[m] + u[m + up]) / 2;
      } else {
        // The faces of the two cells that the item lies between.
        const std::ptrdiff_t back = stride[component_];
        PLENUM_INDEPENDENT
        for (int m = 0; m < n; ++m) v[c].v[m] = ((u[m] + u[m + up]) + (u[m - back] + u[m + up - back])) / 4;
      }
    }
  }
  /// Of the third order, from those at the start, half-way by the first and at three quarters by the second
  /// (Ralston 1962).
  static Real ralston(Real v, Real v2, Real v3) { return (2 * v + 3 * v2 + 4 * v3) / 9; }
  /// The midpoint rule fails where it says less than half of what the start does, as at the face of a narrow
  /// gap that looks back into still water: its way ends where it began, the face brings itself its own
  /// velocity, and nothing that flows in slows it down. A closed box had eighty times its energy so. Such
  /// ways are traced by the third order. Those along which the flow changes by less, as all do in the limit
  /// of short steps, are left as they are.
  bool any_stay(const Values* v, const Values* half_way, int n, Values& stays) const {
    Real any = 0;
    for (int m = 0; m < n; ++m) {
      Real first = 0, second = 0;
      for (int c = 0; c < D; ++c) {
        first += v[c].v[m] * v[c].v[m];
        second += half_way[c].v[m] * half_way[c].v[m];
      }
      stays.v[m] = 4 * second < first ? Real(1) : Real(0);
      any = std::max(any, stays.v[m]);
    }
    return any > 0;
  }
  void velocity_at(const Places& at, int n, Values* v) const {
    for (int c = 0; c < D; ++c)
      sample_linear<D, false>(layout, u_[c], Offset(c), at, n, v[c].v, nullptr, nullptr);
  }
  /// Places are rounded to multiples of one number throughout the box, that of the farthest of them, by a
  /// detour over numbers between one power of two and the next. Left alone, places near the low sides would
  /// be known to more digits than their mirror images at the high ones, and so would all that is carried:
  /// that is where symmetric flows used to lose their symmetry.
  void move(const Places& start, Real h, const Values* v, int n, Places& to, Values& inside) const {
    PLENUM_INDEPENDENT
    for (int m = 0; m < n; ++m) {
      to.x[m] = (start.x[m] + shift_[0] + h * v[0].v[m]) - shift_[0];
      to.y[m] = (start.y[m] + shift_[1] + h * v[1].v[m]) - shift_[1];
      if constexpr (D == 3) to.z[m] = (start.z[m] + shift_[2] + h * v[2].v[m]) - shift_[2];
    }
    keep_in_box(layout.wraps[0], layout.nx, to.x, n, inside.v);
    keep_in_box(layout.wraps[1], layout.ny, to.y, n, inside.v);
    if constexpr (D == 3) keep_in_box(layout.wraps[2], layout.nz, to.z, n, inside.v);
  }

  const Real* u_[3] = {};
  Real shift_[3] = {};  ///< puts the box in the middle between two powers of two
  Real step_;
  Trace trace_;
  int component_;
};

/// f(i, j, k, item, n) for batches of all items of a quantity that stands at cells or on faces.
template <class F>
void for_batches(const GridShape& shape, int component, F&& f) {
  std::array<Index, 3> n = shape.cells;
  if (component >= 0) ++n[static_cast<std::size_t>(component)];
  const auto rows = static_cast<std::size_t>(n[1]) * static_cast<std::size_t>(n[2]);
  parallel_for(rows, std::max<std::size_t>(1, 2048 / static_cast<std::size_t>(n[0])),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t row = begin; row < end; ++row) {
                   const auto j = static_cast<Index>(row % static_cast<std::size_t>(n[1])),
                              k = static_cast<Index>(row / static_cast<std::size_t>(n[1]));
                   for (Index i = 0; i < n[0]; i += batch)
                     f(i, j, k, shape.index(i, j, k), std::min<int>(batch, n[0] - i));
                 }
               });
}

template <int D>
void advect(const GridShape& shape, const GridBox& box, const FaceField& velocity, Real step,
            AdvectionScheme scheme, Trace trace, const AdvectedQuantity& quantity, AdvectionWorkspace& work,
            FunctionRef<void(std::span<Real>)> fill) {
  const Tracer<D> tracer(shape, box, velocity, step, trace, quantity.component);
  const Real* q = quantity.q.data();
  if (scheme != AdvectionScheme::maccormack) {
    Real* out = quantity.out.data();
    for_batches(shape, quantity.component, [&](Index i, Index j, Index k, std::size_t item, int n) {
      Places at;
      Values inside;
      tracer.trace(i, j, k, item, n, 1, at, inside);
      if (scheme == AdvectionScheme::cubic)
        sample_cubic<D>(shape, tracer.layout, q, tracer.offset, at, n, out + item);
      else
        sample_linear<D, false>(tracer.layout, q, tracer.offset, at, n, out + item, nullptr, nullptr);
    });
    return;
  }
  for (std::vector<Real>* v : {&work.forward, &work.low, &work.high}) v->resize(shape.size());
  Real *forward = work.forward.data(), *low = work.low.data(), *high = work.high.data();
  for_batches(shape, quantity.component, [&](Index i, Index j, Index k, std::size_t item, int n) {
    Places at;
    Values inside;
    tracer.trace(i, j, k, item, n, 1, at, inside);
    sample_linear<D, true>(tracer.layout, q, tracer.offset, at, n, forward + item, low + item, high + item);
    // What comes from a side is not corrected: there is no way back to it.
    for (int m = 0; m < n; ++m)
      if (inside.v[m] == 0)
        low[item + static_cast<std::size_t>(m)] = high[item + static_cast<std::size_t>(m)] =
            forward[item + static_cast<std::size_t>(m)];
  });
  fill(work.forward);
  // Nor is there one from beside walls that hold the flow. What is between a wall and the first item grows by
  // whatever the item has: as an error to be put right, that would draw the largest value around along the
  // wall.
  const HeldLayers held(box, quantity.component);
  for_batches(shape, quantity.component, [&](Index i, Index j, Index k, std::size_t item, int n) {
    Places at;
    Values inside, back;
    tracer.trace(i, j, k, item, n, -1, at, inside);
    held.leave(0, tracer.layout.nx, at.x, n, inside.v);
    held.leave(1, tracer.layout.ny, at.y, n, inside.v);
    if constexpr (D == 3) held.leave(2, tracer.layout.nz, at.z, n, inside.v);
    sample_linear<D, false>(tracer.layout, forward, tracer.offset, at, n, back.v, nullptr, nullptr);
    const Real *f = forward + item, *from = q + item, *l = low + item, *h = high + item;
    Real* out = quantity.out.data() + item;
    PLENUM_INDEPENDENT
    for (int m = 0; m < n; ++m) {
      const Real corrected = f[m] + (from[m] - back.v[m]) / 2;
      const Real limited = corrected < l[m] ? l[m] : corrected > h[m] ? h[m] : corrected;
      out[m] = inside.v[m] > 0 ? limited : f[m];
    }
  });
}

}  // namespace

void advect(const GridShape& shape, const GridBox& box, const FaceField& velocity, Real step,
            AdvectionScheme scheme, Trace trace, const AdvectedQuantity& quantity, AdvectionWorkspace& work,
            FunctionRef<void(std::span<Real>)> fill) {
  const auto f = shape.is_flat() ? advect<2> : advect<3>;
  f(shape, box, velocity, step, scheme, trace, quantity, work, fill);
}

}  // namespace plenum::inline PLENUM_ABI
