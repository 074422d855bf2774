#include "plenum/linear/vector_ops.h"

#include <cassert>
#include <cmath>

#include "plenum/base/parallel.h"
#include "plenum/linear/detail/lanes.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Sum over [begin, end): whole vectors by `lanes`, the rest by `item`, both into a double.
template <class T, class OnLanes, class OnItem>
double sum_range(std::size_t begin, std::size_t end, OnLanes&& lanes, OnItem&& item) {
  constexpr std::size_t width = num_lanes<T>;
  SumLanes even{}, odd{};
  std::size_t i = begin;
  for (; i + 2 * width <= end; i += 2 * width) lanes(i, even), lanes(i + width, odd);
  for (; i + width <= end; i += width) lanes(i, even);
  double sum = sum_lanes(even + odd);
  for (; i < end; ++i) sum += item(i);
  return sum;
}

}  // namespace

template <class T>
double dot(std::span<const T> x, std::span<const T> y) {
  assert(x.size() == y.size());
  return ordered_sum(x.size(), vector_block, [&](std::size_t begin, std::size_t end) {
    return sum_range<T>(
        begin, end, [&](std::size_t i, SumLanes& sum) { accumulate(sum, load(&x[i]), load(&y[i])); },
        [&](std::size_t i) { return double(x[i]) * double(y[i]); });
  });
}

template <class T>
double norm(std::span<const T> x) {
  return std::sqrt(dot(x, x));
}

template <class T>
void set_zero(std::span<T> x) {
  parallel_for(x.size(), vector_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) x[i] = 0;
  });
}

template <class T>
void copy(std::span<const T> x, std::span<T> y) {
  assert(x.size() == y.size());
  parallel_for(x.size(), vector_block, [&](std::size_t begin, std::size_t end) {
    const T* in = x.data();
    T* out = y.data();
    for (std::size_t i = begin; i < end; ++i) out[i] = in[i];
  });
}

template <class T>
void axpy(T a, std::span<const T> x, std::span<T> y) {
  assert(x.size() == y.size());
  parallel_for(x.size(), vector_block, [&](std::size_t begin, std::size_t end) {
    const T* in = x.data();
    T* out = y.data();
    for (std::size_t i = begin; i < end; ++i) out[i] += a * in[i];
  });
}

template <class T>
void xpay(std::span<const T> x, T a, std::span<T> y) {
  assert(x.size() == y.size());
  parallel_for(x.size(), vector_block, [&](std::size_t begin, std::size_t end) {
    const T* in = x.data();
    T* out = y.data();
    for (std::size_t i = begin; i < end; ++i) out[i] = in[i] + a * out[i];
  });
}

template <class T>
double residual_from_product(std::span<const T> b, std::span<T> r) {
  assert(b.size() == r.size());
  return ordered_sum(b.size(), vector_block, [&](std::size_t begin, std::size_t end) {
    return sum_range<T>(
        begin, end,
        [&](std::size_t i, SumLanes& sum) {
          const Lanes<T> v = load(&b[i]) - load<T>(&r[i]);
          store(&r[i], v);
          accumulate(sum, v, v);
        },
        [&](std::size_t i) {
          r[i] = b[i] - r[i];
          return double(r[i]) * double(r[i]);
        });
  });
}

template <class T>
double step_and_residual(T a, std::span<const T> p, std::span<const T> q, std::span<T> x, std::span<T> r) {
  assert(p.size() == q.size() && p.size() == x.size() && p.size() == r.size());
  return ordered_sum(p.size(), vector_block, [&](std::size_t begin, std::size_t end) {
    return sum_range<T>(
        begin, end,
        [&](std::size_t i, SumLanes& sum) {
          store(&x[i], load<T>(&x[i]) + a * load(&p[i]));
          const Lanes<T> v = load<T>(&r[i]) - a * load(&q[i]);
          store(&r[i], v);
          accumulate(sum, v, v);
        },
        [&](std::size_t i) {
          x[i] += a * p[i];
          r[i] -= a * q[i];
          return double(r[i]) * double(r[i]);
        });
  });
}

#define PLENUM_INSTANTIATE(T)                                                 \
  template double dot<T>(std::span<const T>, std::span<const T>);             \
  template double norm<T>(std::span<const T>);                                \
  template void set_zero<T>(std::span<T>);                                    \
  template void copy<T>(std::span<const T>, std::span<T>);                    \
  template void axpy<T>(T, std::span<const T>, std::span<T>);                 \
  template void xpay<T>(std::span<const T>, T, std::span<T>);                 \
  template double residual_from_product<T>(std::span<const T>, std::span<T>); \
  template double step_and_residual<T>(T, std::span<const T>, std::span<const T>, std::span<T>, std::span<T>);
PLENUM_INSTANTIATE(float)
PLENUM_INSTANTIATE(double)
#undef PLENUM_INSTANTIATE

}  // namespace plenum::inline PLENUM_ABI
