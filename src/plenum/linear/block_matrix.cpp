#include "plenum/linear/block_matrix.h"

#include <algorithm>
#include <cassert>

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
}

template <class T, BlockKind kind>
BlockMatrix<T, kind>::BlockMatrix(Index num_rows, std::span<const Index2> pairs)
    : pattern_(num_rows, pairs, width),
      diagonal_(static_cast<std::size_t>(pattern_.num_slices()) * 6 * width, T(0)),
      values_(pattern_.num_slots() * entries, T(0)) {}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::load_panel(std::size_t panel, const T* x, T (*out)[width]) const {
  Lanes<T> a, b, c;
  if (const Index first = pattern_.first_column(panel); first >= 0)
    load3(x + 3 * static_cast<std::size_t>(first), a, b, c);
  else
    gather3(x, pattern_.columns().data() + panel * width, a, b, c);
  store(out[0], a), store(out[1], b), store(out[2], c);
}

namespace {

/// y += block x for the blocks of one panel.
template <BlockKind kind, class T>
[[gnu::always_inline]] inline void multiply_add(const T* v, const Lanes<T>& x0, const Lanes<T>& x1,
                                                const Lanes<T>& x2, Lanes<T>& y0, Lanes<T>& y1,
                                                Lanes<T>& y2) {
  constexpr int n = num_lanes<T>;
  if constexpr (kind == BlockKind::general) {
    y0 += load(v) * x0 + load(v + n) * x1 + load(v + 2 * n) * x2;
    y1 += load(v + 3 * n) * x0 + load(v + 4 * n) * x1 + load(v + 5 * n) * x2;
    y2 += load(v + 6 * n) * x0 + load(v + 7 * n) * x1 + load(v + 8 * n) * x2;
  } else if constexpr (kind == BlockKind::symmetric) {
    const Lanes<T> b01 = load(v + 3 * n), b02 = load(v + 4 * n), b12 = load(v + 5 * n);
    y0 += load(v) * x0 + b01 * x1 + b02 * x2;
    y1 += b01 * x0 + load(v + n) * x1 + b12 * x2;
    y2 += b02 * x0 + b12 * x1 + load(v + 2 * n) * x2;
  } else {
    const Lanes<T> w0 = load(v), w1 = load(v + n), w2 = load(v + 2 * n), a = load(v + 3 * n);
    const Lanes<T> along = w0 * x0 + w1 * x1 + w2 * x2;
    y0 -= a * x0 + w0 * along;
    y1 -= a * x1 + w1 * along;
    y2 -= a * x2 + w2 * along;
  }
}

enum : int { plain, with_dot, as_residual, as_sweep };

}  // namespace

template <class T, BlockKind kind>
template <int mode>
double BlockMatrix<T, kind>::product(const T* inverse, const T* b, const T* x, T* y) const {
  const auto rows = static_cast<std::size_t>(num_rows());
  const auto run = [&](std::size_t begin, std::size_t end) {
    Lanes8 sum{};
    for (std::size_t s = begin; s < end; ++s) {
      const std::size_t first_row = s * width;
      const bool whole = first_row + width <= rows;
      alignas(64) T tail[3 * width] = {};
      const T* own = x + 3 * first_row;
      if (!whole) {
        std::copy(own, x + 3 * rows, tail);
        own = tail;
      }
      Lanes<T> x0, x1, x2, y0{}, y1{}, y2{};
      load3(own, x0, x1, x2);
      multiply_add<BlockKind::symmetric>(diagonal_.data() + s * 6 * width, x0, x1, x2, y0, y1, y2);
      const std::size_t end_panel = pattern_.first_panel(static_cast<Index>(s) + 1);
      for (std::size_t p = pattern_.first_panel(static_cast<Index>(s)); p < end_panel; ++p) {
        Lanes<T> c0, c1, c2;
        if (const Index first = pattern_.first_column(p); first >= 0)
          load3(x + 3 * static_cast<std::size_t>(first), c0, c1, c2);
        else
          gather3(x, pattern_.columns().data() + p * width, c0, c1, c2);
        multiply_add<kind>(values_.data() + p * entries * width, c0, c1, c2, y0, y1, y2);
      }
      if constexpr (mode == with_dot) {
        accumulate(sum, x0, y0), accumulate(sum, x1, y1), accumulate(sum, x2, y2);
      }
      T* out = whole ? y + 3 * first_row : tail;
      if constexpr (mode == as_residual || mode == as_sweep) {
        Lanes<T> b0, b1, b2;
        alignas(64) T b_tail[3 * width] = {};
        if (!whole) std::copy(b + 3 * first_row, b + 3 * rows, b_tail);
        load3(whole ? b + 3 * first_row : b_tail, b0, b1, b2);
        y0 = b0 - y0, y1 = b1 - y1, y2 = b2 - y2;
        if constexpr (mode == as_sweep) {
          Lanes<T> z0 = x0, z1 = x1, z2 = x2;
          multiply_add<BlockKind::symmetric>(inverse + s * 6 * width, y0, y1, y2, z0, z1, z2);
          y0 = z0, y1 = z1, y2 = z2;
          accumulate(sum, b0, y0), accumulate(sum, b1, y1), accumulate(sum, b2, y2);
        } else {
          accumulate(sum, y0, y0), accumulate(sum, y1, y1), accumulate(sum, y2, y2);
        }
      }
      store3(out, y0, y1, y2);
      if (!whole) std::copy(tail, tail + 3 * (rows - first_row), y + 3 * first_row);
    }
    return sum_lanes(sum);
  };
  const std::size_t slices = pattern_.num_slices();
  if constexpr (mode == plain) {
    parallel_for(slices, slices_per_block, [&](std::size_t begin, std::size_t end) { run(begin, end); });
    return 0;
  } else {
    return ordered_sum(slices, slices_per_block, run);
  }
}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::operator()(std::span<const T> x, std::span<T> y) const {
  assert(x.size() == 3 * static_cast<std::size_t>(num_rows()) && y.size() == x.size());
  product<plain>(nullptr, nullptr, x.data(), y.data());
}

template <class T, BlockKind kind>
double BlockMatrix<T, kind>::apply_dot(std::span<const T> x, std::span<T> y) const {
  assert(x.size() == 3 * static_cast<std::size_t>(num_rows()) && y.size() == x.size());
  return product<with_dot>(nullptr, nullptr, x.data(), y.data());
}

template <class T, BlockKind kind>
double BlockMatrix<T, kind>::residual(std::span<const T> b, std::span<const T> x, std::span<T> r) const {
  assert(x.size() == 3 * static_cast<std::size_t>(num_rows()) && b.size() == x.size() &&
         r.size() == x.size());
  return product<as_residual>(nullptr, b.data(), x.data(), r.data());
}

template <class T, BlockKind kind>
double BlockMatrix<T, kind>::jacobi_sweep(std::span<const T> inverse, std::span<const T> b,
                                          std::span<const T> x, std::span<T> y) const {
  assert(x.size() == 3 * static_cast<std::size_t>(num_rows()) && b.size() == x.size() &&
         y.size() == x.size());
  assert(inverse.size() == diagonal_.size() && x.data() != y.data());
  return product<as_sweep>(inverse.data(), b.data(), x.data(), y.data());
}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::set_diagonal_from_rows(std::span<const T> base) requires(kind ==
                                                                                    BlockKind::symmetric) {
  const auto rows = static_cast<std::size_t>(num_rows());
  assert(base.size() == rows);
  parallel_for(pattern_.num_slices(), slices_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      Lanes<T> own{}, sum[6] = {};
      for (std::size_t l = 0; l < width && s * width + l < rows; ++l) own[l] = base[s * width + l];
      sum[0] = sum[1] = sum[2] = own;
      const std::size_t end_panel = pattern_.first_panel(static_cast<Index>(s) + 1);
      for (std::size_t p = pattern_.first_panel(static_cast<Index>(s)); p < end_panel; ++p)
        for (int e = 0; e < 6; ++e) sum[e] -= load(values_.data() + (p * 6 + e) * width);
      for (int e = 0; e < 6; ++e) store(diagonal_.data() + (s * 6 + e) * width, sum[e]);
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
  const T* v = values_.data() + slot / width * entries * width + slot % width;
  Block block;
  for (int k = 0; k < entries; ++k) block[k] = v[k * width];
  return block;
}

template <class T, BlockKind kind>
void BlockMatrix<T, kind>::set_pair_block(Index pair, const Block& block) {
  for (int side = 0; side < 2; ++side) {
    const std::size_t slot = pattern_.slot(pair, side);
    T* v = values_.data() + slot / width * entries * width + slot % width;
    for (int k = 0; k < entries; ++k) {
      const bool transposed = kind == BlockKind::general && side == 1;
      v[k * width] = block[transposed ? 3 * (k % 3) + k / 3 : k];
    }
  }
}

template <class T, BlockKind kind>
Matrix3<T> BlockMatrix<T, kind>::slot_block(std::size_t slot) const {
  const T* v = values_.data() + slot / width * entries * width + slot % width;
  Matrix3<T> m;
  if constexpr (kind == BlockKind::general) {
    for (int k = 0; k < 9; ++k) m(k / 3, k % 3) = v[k * width];
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
  T* v = values_.data() + slot / width * entries * width + slot % width;
  if constexpr (kind == BlockKind::general) {
    for (int k = 0; k < 9; ++k) v[k * width] = block(k / 3, k % 3);
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
