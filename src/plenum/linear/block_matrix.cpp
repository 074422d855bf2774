#include "plenum/linear/block_matrix.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "plenum/base/error.h"
#include "plenum/linear/detail/lanes.h"

namespace plenum::inline PLENUM_ABI {
namespace {

struct Entry {
  Index row, column, pair;
  int side;
  Index offset() const { return column - row; }
};

/// Panels of one slice: entry of each lane, or null.
using Panel = std::vector<const Entry*>;

/// Cuts the entries of a slice of rows [first, first + width) into panels. Entries at one offset share a
/// panel if they fill most of it and its columns all exist; the rest is packed row by row.
std::vector<Panel> make_panels(std::vector<Entry>& entries, Index first, Index num_rows, int width) {
  std::vector<Panel> panels;
  const Index live = std::min<Index>(width, num_rows - first);
  std::vector<std::vector<const Entry*>> rest(width);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.offset() < b.offset(); });
  for (std::size_t begin = 0; begin < entries.size();) {
    const Index offset = entries[begin].offset();
    std::size_t end = begin;
    std::vector<Panel> same;  // more than one only where a pair is repeated
    std::vector<int> used(width, 0);
    for (; end < entries.size() && entries[end].offset() == offset; ++end) {
      const int lane = entries[end].row - first, k = used[lane]++;
      if (k == static_cast<int>(same.size())) same.emplace_back(width, nullptr);
      same[k][lane] = &entries[end];
    }
    begin = end;
    for (Panel& panel : same) {
      const auto filled = std::count_if(panel.begin(), panel.end(), [](const Entry* e) { return e; });
      const bool exists = first + offset >= 0 && first + offset + width <= num_rows;
      if (exists && 4 * filled >= 3 * live)
        panels.push_back(std::move(panel));
      else
        for (int l = 0; l < width; ++l)
          if (panel[l]) rest[l].push_back(panel[l]);
    }
  }
  for (std::size_t k = 0;; ++k) {
    Panel panel(width, nullptr);
    bool any = false;
    for (int l = 0; l < width; ++l)
      if (k < rest[l].size()) panel[l] = rest[l][k], any = true;
    if (!any) break;
    panels.push_back(std::move(panel));
  }
  return panels;
}

}  // namespace

BlockPattern::BlockPattern(Index num_rows, std::span<const Index2> pairs, int width)
    : num_rows_(num_rows), width_(width), pair_slots_(2 * pairs.size()) {
  std::vector<std::size_t> row_begin(static_cast<std::size_t>(num_rows) + 1, 0);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const Index i = pairs[p][0], j = pairs[p][1];
    if (i < 0 || j < 0 || i >= num_rows || j >= num_rows || i == j)
      throw Error(Problem{.key = "pairs[" + std::to_string(p) + "]",
                          .what = "must join two different rows",
                          .value = std::to_string(i) + ", " + std::to_string(j),
                          .allowed = "0 to " + std::to_string(num_rows - 1)});
    ++row_begin[i + 1], ++row_begin[j + 1];
  }
  for (Index i = 0; i < num_rows; ++i) row_begin[i + 1] += row_begin[i];
  std::vector<Entry> rows(2 * pairs.size());
  auto next = row_begin;
  for (std::size_t p = 0; p < pairs.size(); ++p)
    for (int side = 0; side < 2; ++side) {
      const Index i = pairs[p][side], j = pairs[p][1 - side];
      rows[next[i]++] = {i, j, static_cast<Index>(p), side};
    }
  std::vector<Entry> entries;
  for (Index first = 0; first < num_rows; first += width) {
    const Index end = std::min(num_rows, first + width);
    entries.assign(rows.begin() + row_begin[first], rows.begin() + row_begin[end]);
    for (const Panel& panel : make_panels(entries, first, num_rows, width)) {
      // The columns of empty lanes continue those of the others, so that the panel needs no gather.
      const Entry* some = *std::find_if(panel.begin(), panel.end(), [](const Entry* e) { return e; });
      const Index start = first + some->offset();
      bool consecutive = start >= 0 && start + width <= num_rows;
      for (const Entry* e : panel) consecutive &= !e || e->offset() == some->offset();
      panel_first_.push_back(consecutive ? start : -1);
      for (int l = 0; l < width; ++l) {
        const Entry* e = panel[l];
        if (e) pair_slots_[2 * static_cast<std::size_t>(e->pair) + e->side] = columns_.size();
        columns_.push_back(consecutive ? start + l : e ? e->column : std::min(first + l, num_rows - 1));
        slot_pairs_.push_back(e ? e->pair : -1);
      }
    }
    slice_panels_.push_back(panel_first_.size());
  }
  place_values();
}

/// Gives every panel its place. A distance that most slices have a whole panel for gets a plane: values for
/// every row i, of its block in column i + distance. The planes' values of one slice lie together. Panels at
/// -distance read the plane, where the panels above the diagonal hold the mirrored blocks, all of them and no
/// others.
void BlockPattern::place_values() {
  const Index slices = num_slices();
  // Panel of each slice at a distance: the first one that needs no gathers (more only where a pair is
  // repeated).
  std::map<Index, std::vector<std::size_t>> at_distance;
  constexpr auto none = static_cast<std::size_t>(-1);
  for (Index s = 0; s < slices; ++s)
    for (std::size_t p = first_panel(s); p < first_panel(s + 1); ++p)
      if (panel_first_[p] >= 0) {
        auto& panels = at_distance[panel_first_[p] - s * width_];
        panels.resize(slices, none);
        if (panels[s] == none) panels[s] = p;
      }
  std::vector<Index> planes;
  for (const auto& [distance, panels] : at_distance) {
    const auto count = std::count_if(panels.begin(), panels.end(), [](std::size_t p) { return p != none; });
    if (distance > 0 && 4 * count >= 3 * slices) planes.push_back(distance);
  }
  next_unit_ = planes.size() * width_;
  num_units_ = slices * next_unit_;
  places_.assign(num_panels(), {none, 0, false});
  for (std::size_t k = 0; k < planes.size(); ++k) {
    const std::vector<std::size_t>& above = at_distance[planes[k]];
    for (Index s = 0; s < slices; ++s)
      if (above[s] != none) places_[above[s]] = {s * next_unit_ + k * width_, 0, false};
    const auto below = at_distance.find(-planes[k]);
    if (below == at_distance.end()) continue;
    for (Index s = 0; s < slices; ++s) {
      const std::size_t p = below->second[s];
      if (p == none) continue;
      // Its rows' partners lie in one slice or two; both must have put their values into the plane.
      const Index row = s * width_ - planes[k], first = row / width_;
      if (above[first] == none || above[(row + width_ - 1) / width_] == none) continue;
      // Few entries at one distance may have been packed beside others, in panels with gathers; what is left
      // of a row's partners is then no mirror.
      bool same = true;
      for (Index l = 0; l < width_; ++l) {
        const std::size_t there = above[(row + l) / width_] * width_ + (row + l) % width_;
        same = same && slot_pairs_[p * width_ + l] == slot_pairs_[there];
      }
      if (same) places_[p] = {first * next_unit_ + k * width_, row % width_, true};
    }
  }
  for (Place& place : places_)
    if (place.unit == none) place.unit = num_units_, num_units_ += width_;
}

template <class T, BlockKind kind>
BlockMatrix<T, kind>::BlockMatrix(Index num_rows, std::span<const Index2> pairs)
    : pattern_(num_rows, pairs, width),
      diagonal_(static_cast<std::size_t>(pattern_.num_slices()) * 6 * width, T(0)),
      values_(pattern_.num_units() * entries, T(0)),
      plane_(static_cast<std::size_t>(pattern_.num_slices()) * width + width),
      planes_(6 * plane_, T(0)) {}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::split(const T* x, T* planes) const {
  const auto rows = static_cast<std::size_t>(num_rows());
  constexpr std::size_t lanes = num_lanes<T>;
  parallel_for(pattern_.num_slices(), 8 * slices_per_block, [&](std::size_t begin, std::size_t end) {
    const auto split_row = [&](std::size_t row, const T* in) {
      Lanes<T> a, b, c;
      load3(in, a, b, c);
      store(planes + row, a), store(planes + plane_ + row, b), store(planes + 2 * plane_ + row, c);
    };
    std::size_t row = begin * width;
    for (; row < end * width && row + lanes <= rows; row += lanes) split_row(row, x + 3 * row);
    for (; row < end * width; row += lanes) {
      alignas(64) T tail[3 * lanes] = {};
      if (row < rows) std::copy(x + 3 * row, x + 3 * rows, tail);
      split_row(row, tail);
    }
  });
}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::gather_panel(std::size_t panel, const T* planes, T (*out)[width]) const {
  for (int c = 0; c < 3; ++c)
    for (int l = 0; l < width; l += num_lanes<T>)
      store(out[c] + l, gather(planes + c * plane_, pattern_.columns().data() + panel * width + l));
}

namespace {

/// Reads number e of a panel's blocks, for as many lanes as a register holds.
template <class T>
struct PanelValues {
  static constexpr int width = 64 / sizeof(T);
  const T* v;
  [[gnu::always_inline]] Lanes<T> operator[](int e) const { return load(v + e * width); }
};

/// The same for a mirrored panel whose lanes lie in two panels of a plane: lanes from `shift` on of a row of
/// the first, then those of the next.
template <class T>
struct StraddlingValues {
  static constexpr int width = PanelValues<T>::width;
  const T *v, *next;
  Straddling<T> lanes;
  [[gnu::always_inline]] Lanes<T> operator[](int e) const { return lanes(v + e * width, next + e * width); }
};

/// Calls f with the values of lanes [lane, lane + lanes of a register) of a panel at a place.
template <int entries, class T, class F>
[[gnu::always_inline]] inline void with_values(const BlockPattern::Place& place, std::size_t next_unit,
                                               const T* values, int lane, const F& f) {
  constexpr int width = PanelValues<T>::width, lanes = num_lanes<T>;
  const T* v = values + entries * place.unit;
  const int first = place.shift + lane;
  if (first + lanes <= width) return f(PanelValues<T>{v + first});
  const T* next = v + entries * next_unit;
  if (first >= width) return f(PanelValues<T>{next + first - width});
  f(StraddlingValues<T>{v + width - lanes, next, Straddling<T>(first - (width - lanes))});
}

/// y += block x, or its transpose.
template <BlockKind kind, bool transposed = false, class Values, class V>
[[gnu::always_inline]] inline void multiply_add(const Values& b, const V& x0, const V& x1, const V& x2, V& y0,
                                                V& y1, V& y2) {
  if constexpr (kind == BlockKind::general) {
    constexpr int row = transposed ? 1 : 3, column = transposed ? 3 : 1;
    y0 += b[0] * x0 + b[column] * x1 + b[2 * column] * x2;
    y1 += b[row] * x0 + b[row + column] * x1 + b[row + 2 * column] * x2;
    y2 += b[2 * row] * x0 + b[2 * row + column] * x1 + b[2 * row + 2 * column] * x2;
  } else if constexpr (kind == BlockKind::symmetric) {
    const V b01 = b[3], b02 = b[4], b12 = b[5];
    y0 += b[0] * x0 + b01 * x1 + b02 * x2;
    y1 += b01 * x0 + b[1] * x1 + b12 * x2;
    y2 += b02 * x0 + b12 * x1 + b[2] * x2;
  } else {
    const V w0 = b[0], w1 = b[1], w2 = b[2], a = b[3];
    const V along = w0 * x0 + w1 * x1 + w2 * x2;
    y0 -= a * x0 + w0 * along;
    y1 -= a * x1 + w1 * along;
    y2 -= a * x2 + w2 * along;
  }
}

enum : int { plain, with_dot, as_residual, after_jacobi, as_sweep };

}  // namespace

template <class T, BlockKind kind>
template <int mode>
double BlockMatrix<T, kind>::product(const T* inverse, T damping, const T* b, const T* planes, T* y) const {
  const auto rows = static_cast<std::size_t>(num_rows());
  const T *in0 = planes, *in1 = in0 + plane_, *in2 = in1 + plane_;
  constexpr std::size_t lanes = num_lanes<T>;
  const auto run = [&](std::size_t begin, std::size_t end) {
    SumLanes sum{};
    for (std::size_t row = begin * width; row < std::min(end * width, rows); row += lanes) {
      const auto s = static_cast<Index>(row / width), lane = static_cast<Index>(row % width);
      const bool whole = row + lanes <= rows;
      alignas(64) T tail[3 * lanes];
      const Lanes<T> x0 = load(in0 + row), x1 = load(in1 + row), x2 = load(in2 + row);
      Lanes<T> y0{}, y1{}, y2{};
      const std::size_t blocks = static_cast<std::size_t>(s) * 6 * width + lane;
      if constexpr (mode != after_jacobi && mode != as_sweep)
        multiply_add<BlockKind::symmetric>(PanelValues<T>{diagonal_.data() + blocks}, x0, x1, x2, y0, y1, y2);
      const std::size_t end_panel = pattern_.first_panel(s + 1);
      for (std::size_t p = pattern_.first_panel(s); p < end_panel; ++p) {
        Lanes<T> c0, c1, c2;
        if (const Index first = pattern_.first_column(p); first >= 0) {
          const std::size_t at = static_cast<std::size_t>(first) + lane;
          c0 = load(in0 + at), c1 = load(in1 + at), c2 = load(in2 + at);
        } else {
          const Index* columns = pattern_.columns().data() + p * width + lane;
          c0 = gather(in0, columns), c1 = gather(in1, columns), c2 = gather(in2, columns);
        }
        const BlockPattern::Place& place = pattern_.place(p);
        if (place.mirrored)
          with_values<entries>(place, pattern_.next_unit(), values_.data(), lane,
                               [&](const auto& b) { multiply_add<kind, true>(b, c0, c1, c2, y0, y1, y2); });
        else
          multiply_add<kind>(PanelValues<T>{values_.data() + entries * place.unit + lane}, c0, c1, c2, y0, y1,
                             y2);
      }
      if constexpr (mode == with_dot) {
        accumulate(sum, x0, y0), accumulate(sum, x1, y1), accumulate(sum, x2, y2);
      }
      T* out = whole ? y + 3 * row : tail;
      if constexpr (mode >= as_residual) {
        Lanes<T> b0, b1, b2;
        alignas(64) T b_tail[3 * lanes] = {};
        if (!whole) std::copy(b + 3 * row, b + 3 * rows, b_tail);
        load3(whole ? b + 3 * row : b_tail, b0, b1, b2);
        if constexpr (mode == after_jacobi) {
          const T rest = 1 - damping;
          y0 = rest * b0 - y0, y1 = rest * b1 - y1, y2 = rest * b2 - y2;
        } else {
          y0 = b0 - y0, y1 = b1 - y1, y2 = b2 - y2;
        }
        if constexpr (mode == as_sweep) {
          const T rest = 1 - damping;
          Lanes<T> z0 = rest * x0, z1 = rest * x1, z2 = rest * x2;
          multiply_add<BlockKind::symmetric>(PanelValues<T>{inverse + blocks}, y0, y1, y2, z0, z1, z2);
          y0 = z0, y1 = z1, y2 = z2;
          accumulate(sum, b0, y0), accumulate(sum, b1, y1), accumulate(sum, b2, y2);
        }
        if constexpr (mode == as_residual) {
          accumulate(sum, y0, y0), accumulate(sum, y1, y1), accumulate(sum, y2, y2);
        }
      }
      store3(out, y0, y1, y2);
      if (!whole) std::copy(tail, tail + 3 * (rows - row), y + 3 * row);
    }
    return sum_lanes(sum);
  };
  const std::size_t slices = pattern_.num_slices();
  if constexpr (mode == plain || mode == after_jacobi) {
    parallel_for(slices, slices_per_block, [&](std::size_t begin, std::size_t end) { run(begin, end); });
    return 0;
  } else {
    return ordered_sum(slices, slices_per_block, run);
  }
}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::operator()(std::span<const T> x, std::span<T> y) const {
  assert(x.size() == 3 * static_cast<std::size_t>(num_rows()) && y.size() == x.size());
  split(x.data(), planes_.data());
  product<plain>(nullptr, 0, nullptr, planes_.data(), y.data());
}

template <class T, BlockKind kind>
double BlockMatrix<T, kind>::apply_dot(std::span<const T> x, std::span<T> y) const {
  assert(x.size() == 3 * static_cast<std::size_t>(num_rows()) && y.size() == x.size());
  split(x.data(), planes_.data());
  return product<with_dot>(nullptr, 0, nullptr, planes_.data(), y.data());
}

template <class T, BlockKind kind>
double BlockMatrix<T, kind>::residual(std::span<const T> b, std::span<const T> x, std::span<T> r) const {
  assert(x.size() == 3 * static_cast<std::size_t>(num_rows()) && b.size() == x.size() &&
         r.size() == x.size());
  split(x.data(), planes_.data());
  return product<as_residual>(nullptr, 0, b.data(), planes_.data(), r.data());
}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::residual_after_jacobi(std::span<const T> b, T damping, std::span<const T> x_planes,
                                                 std::span<T> r) const {
  assert(b.size() == 3 * static_cast<std::size_t>(num_rows()) && r.size() == b.size());
  assert(x_planes.size() >= 3 * plane_);
  product<after_jacobi>(nullptr, damping, b.data(), x_planes.data(), r.data());
}

template <class T, BlockKind kind>
double BlockMatrix<T, kind>::jacobi_sweep(std::span<const T> inverse, T damping, std::span<const T> b,
                                          std::span<const T> x_planes, std::span<T> y) const {
  assert(b.size() == 3 * static_cast<std::size_t>(num_rows()) && y.size() == b.size());
  assert(inverse.size() == diagonal_.size() && x_planes.size() >= 3 * plane_);
  return product<as_sweep>(inverse.data(), damping, b.data(), x_planes.data(), y.data());
}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::set_diagonal_from_rows(std::span<const T> base) requires(kind ==
                                                                                    BlockKind::symmetric) {
  const auto rows = static_cast<std::size_t>(num_rows());
  assert(base.size() == rows);
  parallel_for(pattern_.num_slices(), slices_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin * width; row < end * width; row += num_lanes<T>) {
      const auto s = static_cast<Index>(row / width), lane = static_cast<Index>(row % width);
      Lanes<T> own{}, sum[6] = {};
      for (std::size_t l = 0; l < num_lanes<T> && row + l < rows; ++l) own[l] = base[row + l];
      sum[0] = sum[1] = sum[2] = own;
      const std::size_t end_panel = pattern_.first_panel(s + 1);
      for (std::size_t p = pattern_.first_panel(s); p < end_panel; ++p)
        with_values<entries>(pattern_.place(p), pattern_.next_unit(), values_.data(), lane,
                             [&](const auto& b) {
                               for (int e = 0; e < 6; ++e) sum[e] -= b[e];
                             });
      for (int e = 0; e < 6; ++e)
        store(diagonal_.data() + (static_cast<std::size_t>(s) * 6 + e) * width + lane, sum[e]);
    }
  });
}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::set_zero() {
  std::fill(diagonal_.begin(), diagonal_.end(), T(0));
  std::fill(values_.begin(), values_.end(), T(0));
}

template <class T, BlockKind kind>
Matrix3<T> BlockMatrix<T, kind>::diagonal(Index i) const {
  const T* d = diagonal_.data() + static_cast<std::size_t>(i / width) * 6 * width + i % width;
  Matrix3<T> m;
  m << d[0], d[3 * width], d[4 * width], d[3 * width], d[width], d[5 * width], d[4 * width], d[5 * width],
      d[2 * width];
  return m;
}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::set_diagonal(Index i, const Matrix3<T>& block) {
  T* d = diagonal_.data() + static_cast<std::size_t>(i / width) * 6 * width + i % width;
  const auto e = symmetric_entries(block);
  for (int k = 0; k < 6; ++k) d[k * width] = e[k];
}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::add_diagonal(Index i, const Matrix3<T>& block) {
  T* d = diagonal_.data() + static_cast<std::size_t>(i / width) * 6 * width + i % width;
  const auto e = symmetric_entries(block);
  for (int k = 0; k < 6; ++k) d[k * width] += e[k];
}

template <class T, BlockKind kind>
auto BlockMatrix<T, kind>::pair_block(Index pair) const -> Block {
  const std::size_t slot = pattern_.slot(pair, 0);
  const T* v = values_.data() + pattern_.value_of(slot, entries);
  const bool transposed = kind == BlockKind::general && pattern_.place(slot / width).mirrored;
  Block block;
  for (int k = 0; k < entries; ++k) block[transposed ? 3 * (k % 3) + k / 3 : k] = v[k * width];
  return block;
}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::set_pair_block(Index pair, const Block& block) {
  for (int side = 0; side < 2; ++side) {
    const std::size_t slot = pattern_.slot(pair, side);
    T* v = values_.data() + pattern_.value_of(slot, entries);
    const bool transposed =
        kind == BlockKind::general && (side == 1) != pattern_.place(slot / width).mirrored;
    for (int k = 0; k < entries; ++k) v[k * width] = block[transposed ? 3 * (k % 3) + k / 3 : k];
  }
}

template <class T, BlockKind kind>
Matrix3<T> BlockMatrix<T, kind>::slot_block(std::size_t slot) const {
  const T* v = values_.data() + pattern_.value_of(slot, entries);
  Matrix3<T> m;
  if constexpr (kind == BlockKind::general) {
    for (int k = 0; k < 9; ++k) m(k / 3, k % 3) = v[k * width];
    if (pattern_.place(slot / width).mirrored) m.transposeInPlace();
  } else if constexpr (kind == BlockKind::symmetric) {
    m << v[0], v[3 * width], v[4 * width], v[3 * width], v[width], v[5 * width], v[4 * width], v[5 * width],
        v[2 * width];
  } else {
    const Vector3<T> w{v[0], v[width], v[2 * width]};
    m = -(v[3 * width] * Matrix3<T>::Identity() + w * w.transpose());
  }
  return m;
}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::set_slot_block(std::size_t slot,
                                          const Matrix3<T>& block) requires(kind != BlockKind::spring) {
  T* v = values_.data() + pattern_.value_of(slot, entries);
  if constexpr (kind == BlockKind::general) {
    const bool transposed = pattern_.place(slot / width).mirrored;
    for (int k = 0; k < 9; ++k) v[k * width] = transposed ? block(k % 3, k / 3) : block(k / 3, k % 3);
  } else {
    const auto e = symmetric_entries(block);
    for (int k = 0; k < 6; ++k) v[k * width] = e[k];
  }
}

template class BlockMatrix<float, BlockKind::general>;
template class BlockMatrix<float, BlockKind::symmetric>;
template class BlockMatrix<float, BlockKind::spring>;
template class BlockMatrix<double, BlockKind::general>;
template class BlockMatrix<double, BlockKind::symmetric>;
template class BlockMatrix<double, BlockKind::spring>;

}  // namespace plenum::inline PLENUM_ABI
