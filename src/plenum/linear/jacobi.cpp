#include "plenum/linear/jacobi.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "plenum/base/parallel.h"
#include "plenum/linear/detail/lanes.h"
#include "plenum/linear/vector_ops.h"

namespace plenum::inline PLENUM_ABI {

template <class T>
void JacobiPreconditioner<T>::update(std::span<const T> diagonal) {
  inverse_.resize(diagonal.size());
  parallel_for(diagonal.size(), vector_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) inverse_[i] = diagonal[i] > 0 ? 1 / diagonal[i] : T(1);
  });
}

template <class T>
void JacobiPreconditioner<T>::operator()(std::span<const T> r, std::span<T> z) const {
  assert(r.size() == inverse_.size() && z.size() == r.size());
  parallel_for(r.size(), vector_block, [&](std::size_t begin, std::size_t end) {
    const T *in = r.data(), *scale = inverse_.data();
    T* out = z.data();
    for (std::size_t i = begin; i < end; ++i) out[i] = scale[i] * in[i];
  });
}

template <class T>
double JacobiPreconditioner<T>::apply_dot(std::span<const T> r, std::span<T> z) const {
  assert(r.size() == inverse_.size() && z.size() == r.size());
  constexpr std::size_t lanes = num_lanes<T>;
  return ordered_sum(r.size(), vector_block, [&](std::size_t begin, std::size_t end) {
    SumLanes sum{};
    std::size_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      const Lanes<T> a = load(&r[i]), b = load(&inverse_[i]) * a;
      store(&z[i], b);
      accumulate(sum, a, b);
    }
    double total = sum_lanes(sum);
    for (; i < end; ++i) {
      z[i] = inverse_[i] * r[i];
      total += double(r[i]) * double(z[i]);
    }
    return total;
  });
}

namespace {
/// Rows of a slice of a BlockMatrix.
template <class T>
constexpr std::size_t slice_width = 64 / sizeof(T);
constexpr std::size_t slices_per_block(std::size_t width) {
  return 1024 / width;
}
}  // namespace

template <class T>
void BlockJacobiPreconditioner<T>::update(Index num_rows, std::span<const T> diagonal_values, T scale) {
  constexpr std::size_t width = slice_width<T>;
  num_rows_ = num_rows;
  inverse_.resize(diagonal_values.size());
  parallel_for(
      diagonal_values.size() / (6 * width), slices_per_block(width), [&](std::size_t begin, std::size_t end) {
        for (std::size_t s = begin; s < end; ++s) {
          const T* d = diagonal_values.data() + s * 6 * width;
          T* out = inverse_.data() + s * 6 * width;
          for (std::size_t l = 0; l < width; ++l) {
            const T a00 = d[l], a11 = d[width + l], a22 = d[2 * width + l], a01 = d[3 * width + l],
                    a02 = d[4 * width + l], a12 = d[5 * width + l];
            // Rounding error of the three pivots; a block of zeros (a lane past the last row) becomes I /
            // tiny.
            const T least = std::max(std::numeric_limits<T>::epsilon() *
                                         std::max(std::max(std::abs(a00), std::abs(a11)), std::abs(a22)),
                                     std::numeric_limits<T>::min() * T(1e6));
            T i0 = 1 / std::max(a00, least);
            const T l10 = a01 * i0, l20 = a02 * i0;
            T i1 = 1 / std::max(a11 - l10 * a01, least);
            const T l21 = (a12 - l20 * a01) * i1;
            T i2 = 1 / std::max(a22 - l20 * a02 - l21 * (a12 - l20 * a01), least);
            i0 *= scale, i1 *= scale, i2 *= scale;
            // Rows of L^-1: (1 0 0), (-l10 1 0), (m -l21 1) with m = l10 l21 - l20; the inverse is L^-T D^-1
            // L^-1.
            const T m = l10 * l21 - l20;
            out[l] = i0 + l10 * l10 * i1 + m * m * i2;
            out[width + l] = i1 + l21 * l21 * i2;
            out[2 * width + l] = i2;
            out[3 * width + l] = -l10 * i1 - m * l21 * i2;
            out[4 * width + l] = m * i2;
            out[5 * width + l] = -l21 * i2;
          }
        }
      });
}

template <class T>
template <bool with_dot, bool to_planes>
double BlockJacobiPreconditioner<T>::product(const T* r, T* z, std::size_t plane) const {
  constexpr std::size_t width = slice_width<T>, lanes = num_lanes<T>;
  const std::size_t rows = num_rows_, slices = (rows + width - 1) / width;
  const auto run = [&](std::size_t begin, std::size_t end) {
    SumLanes sum{};
    // Planes are filled to the end of the last slice.
    for (std::size_t row = begin * width; row < (to_planes ? end * width : std::min(end * width, rows));
         row += lanes) {
      const T* d = inverse_.data() + row / width * 6 * width + row % width;
      const bool whole = row + lanes <= rows;
      alignas(64) T tail[3 * lanes] = {};
      const T* in = r + 3 * row;
      [[maybe_unused]] T* out = whole ? z + 3 * row : tail;
      if (!whole) {
        if (row < rows) std::copy(in, r + 3 * rows, tail);
        in = tail;
      }
      Lanes<T> x0, x1, x2;
      load3(in, x0, x1, x2);
      const Lanes<T> b01 = load(d + 3 * width), b02 = load(d + 4 * width), b12 = load(d + 5 * width);
      const Lanes<T> y0 = load(d) * x0 + b01 * x1 + b02 * x2;
      const Lanes<T> y1 = b01 * x0 + load(d + width) * x1 + b12 * x2;
      const Lanes<T> y2 = b02 * x0 + b12 * x1 + load(d + 2 * width) * x2;
      if constexpr (with_dot) accumulate(sum, x0, y0), accumulate(sum, x1, y1), accumulate(sum, x2, y2);
      if constexpr (to_planes) {
        store(z + row, y0), store(z + plane + row, y1), store(z + 2 * plane + row, y2);
      } else {
        store3(out, y0, y1, y2);
        if (!whole) std::copy(tail, tail + 3 * (rows - row), z + 3 * row);
      }
    }
    return sum_lanes(sum);
  };
  if constexpr (with_dot) {
    return ordered_sum(slices, slices_per_block(width), run);
  } else {
    parallel_for(slices, slices_per_block(width),
                 [&](std::size_t begin, std::size_t end) { run(begin, end); });
    return 0;
  }
}

template <class T>
void BlockJacobiPreconditioner<T>::operator()(std::span<const T> r, std::span<T> z) const {
  assert(r.size() == 3 * static_cast<std::size_t>(num_rows_) && z.size() == r.size());
  product<false, false>(r.data(), z.data(), 0);
}

template <class T>
double BlockJacobiPreconditioner<T>::apply_dot(std::span<const T> r, std::span<T> z) const {
  assert(r.size() == 3 * static_cast<std::size_t>(num_rows_) && z.size() == r.size());
  return product<true, false>(r.data(), z.data(), 0);
}

template <class T>
void BlockJacobiPreconditioner<T>::apply_to_planes(std::span<const T> r, std::size_t plane,
                                                   std::span<T> z_planes) const {
  assert(r.size() == 3 * static_cast<std::size_t>(num_rows_) && z_planes.size() >= 3 * plane);
  product<false, true>(r.data(), z_planes.data(), plane);
}

template class JacobiPreconditioner<float>;
template class JacobiPreconditioner<double>;
template class BlockJacobiPreconditioner<float>;
template class BlockJacobiPreconditioner<double>;

}  // namespace plenum::inline PLENUM_ABI
