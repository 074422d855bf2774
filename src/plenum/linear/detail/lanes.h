#pragma once
// One register of numbers as a vector of the compiler (GCC and clang). Vectors wider than the processor's
// registers would do everywhere, but compilers take them apart number by number and through memory: a product
// with a matrix was six times slower on AVX2 than with vectors of its own width.
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

template <class T>
struct LanesOf;
template <>
struct LanesOf<float> {
  typedef float type __attribute__((vector_size(register_bytes)));
};
template <>
struct LanesOf<double> {
  typedef double type __attribute__((vector_size(register_bytes)));
};
template <class T>
using Lanes = typename LanesOf<T>::type;

template <class T>
inline constexpr int num_lanes = register_bytes / static_cast<int>(sizeof(T));

template <class T>
[[gnu::always_inline]] inline Lanes<T> load(const T* p) {
  Lanes<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
[[gnu::always_inline]] inline void store(T* p, const Lanes<T>& v) {
  std::memcpy(p, &v, sizeof v);
}

#ifdef __AVX512F__
/// Components of the vectors x[0..lanes), stored x0 y0 z0 x1 y1 z1 ...
[[gnu::always_inline]] inline void load3(const float* p, Lanes<float>& x, Lanes<float>& y, Lanes<float>& z) {
  const Lanes<float> a = load(p), b = load(p + 16), c = load(p + 32);
  x = __builtin_shufflevector(
      __builtin_shufflevector(a, b, 0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0, 0, 0, 0, 0), c, 0, 1, 2, 3, 4,
      5, 6, 7, 8, 9, 10, 17, 20, 23, 26, 29);
  y = __builtin_shufflevector(
      __builtin_shufflevector(a, b, 1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 0, 0, 0, 0, 0), c, 0, 1, 2, 3, 4,
      5, 6, 7, 8, 9, 10, 18, 21, 24, 27, 30);
  z = __builtin_shufflevector(
      __builtin_shufflevector(a, b, 2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 0, 0, 0, 0, 0, 0), c, 0, 1, 2, 3, 4,
      5, 6, 7, 8, 9, 16, 19, 22, 25, 28, 31);
}
[[gnu::always_inline]] inline void load3(const double* p, Lanes<double>& x, Lanes<double>& y,
                                         Lanes<double>& z) {
  const Lanes<double> a = load(p), b = load(p + 8), c = load(p + 16);
  x = __builtin_shufflevector(__builtin_shufflevector(a, b, 0, 3, 6, 9, 12, 15, 0, 0), c, 0, 1, 2, 3, 4, 5,
                              10, 13);
  y = __builtin_shufflevector(__builtin_shufflevector(a, b, 1, 4, 7, 10, 13, 0, 0, 0), c, 0, 1, 2, 3, 4, 8,
                              11, 14);
  z = __builtin_shufflevector(__builtin_shufflevector(a, b, 2, 5, 8, 11, 14, 0, 0, 0), c, 0, 1, 2, 3, 4, 9,
                              12, 15);
}

/// Inverse of load3.
[[gnu::always_inline]] inline void store3(float* p, const Lanes<float>& x, const Lanes<float>& y,
                                          const Lanes<float>& z) {
  store(p + 0, Lanes<float>(__builtin_shufflevector(
                   __builtin_shufflevector(x, y, 0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5), z, 0,
                   1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13, 20, 15)));
  store(p + 16, Lanes<float>(__builtin_shufflevector(
                    __builtin_shufflevector(x, y, 21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26), z,
                    0, 21, 2, 3, 22, 5, 6, 23, 8, 9, 24, 11, 12, 25, 14, 15)));
  store(p + 32, Lanes<float>(__builtin_shufflevector(
                    __builtin_shufflevector(x, y, 0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0),
                    z, 26, 1, 2, 27, 4, 5, 28, 7, 8, 29, 10, 11, 30, 13, 14, 31)));
}
[[gnu::always_inline]] inline void store3(double* p, const Lanes<double>& x, const Lanes<double>& y,
                                          const Lanes<double>& z) {
  store(p + 0, Lanes<double>(__builtin_shufflevector(__builtin_shufflevector(x, y, 0, 8, 0, 1, 9, 0, 2, 10),
                                                     z, 0, 1, 8, 3, 4, 9, 6, 7)));
  store(p + 8, Lanes<double>(__builtin_shufflevector(__builtin_shufflevector(x, y, 0, 3, 11, 0, 4, 12, 0, 5),
                                                     z, 10, 1, 2, 11, 4, 5, 12, 7)));
  store(p + 16, Lanes<double>(__builtin_shufflevector(
                    __builtin_shufflevector(x, y, 13, 0, 6, 14, 0, 7, 15, 0), z, 0, 13, 2, 3, 14, 5, 6, 15)));
}
#else
namespace lanes_detail {

/// In every four lanes: two of a, then two of b.
template <int i, int j, int k, int l, class V>
[[gnu::always_inline]] inline V pick(const V& a, const V& b) {
  if constexpr (sizeof(V) / sizeof(a[0]) == 8)
    return __builtin_shufflevector(a, b, i, j, 8 + k, 8 + l, 4 + i, 4 + j, 12 + k, 12 + l);
  else
    return __builtin_shufflevector(a, b, i, j, 4 + k, 4 + l);
}

/// Vector `part` of the three that hold four lanes' vectors; with eight lanes, that and the one of the next
/// four.
template <class T>
[[gnu::always_inline]] inline Lanes<T> load_fours(const T* p, int part) {
  typedef T Four __attribute__((vector_size(4 * sizeof(T))));
  Four v;
  std::memcpy(&v, p + 4 * part, sizeof v);
  if constexpr (num_lanes<T> == 8) {
    Four next;
    std::memcpy(&next, p + 4 * part + 12, sizeof next);
    return __builtin_shufflevector(v, next, 0, 1, 2, 3, 4, 5, 6, 7);
  } else {
    return v;
  }
}
template <class T>
[[gnu::always_inline]] inline void store_fours(T* p, int part, const Lanes<T>& v) {
  constexpr std::size_t four = 4 * sizeof(T);
  for (std::size_t k = 0; k < sizeof v / four; ++k)
    std::memcpy(p + 4 * part + 12 * k, reinterpret_cast<const char*>(&v) + k * four, four);
}

}  // namespace lanes_detail

/// Components of the vectors x[0..lanes), stored x0 y0 z0 x1 y1 z1 ...
template <class T>
[[gnu::always_inline]] inline void load3(const T* p, Lanes<T>& x, Lanes<T>& y, Lanes<T>& z) {
  using namespace lanes_detail;
  if constexpr (num_lanes<T> == 2) {
    x = Lanes<T>{p[0], p[3]}, y = Lanes<T>{p[1], p[4]}, z = Lanes<T>{p[2], p[5]};
  } else {
    const Lanes<T> a = load_fours(p, 0), b = load_fours(p, 1), c = load_fours(p, 2);
    // a = x0 y0 z0 x1, b = y1 z1 x2 y2, c = z2 x3 y3 z3
    const Lanes<T> xy = pick<2, 3, 1, 2>(b, c);  // x2 y2 x3 y3
    const Lanes<T> yz = pick<1, 2, 0, 1>(a, b);  // y0 z0 y1 z1
    x = pick<0, 3, 0, 2>(a, xy), y = pick<0, 2, 1, 3>(yz, xy), z = pick<1, 3, 0, 3>(yz, c);
  }
}

/// Inverse of load3.
template <class T>
[[gnu::always_inline]] inline void store3(T* p, const Lanes<T>& x, const Lanes<T>& y, const Lanes<T>& z) {
  using namespace lanes_detail;
  if constexpr (num_lanes<T> == 2) {
    for (int l = 0; l < 2; ++l) p[3 * l] = x[l], p[3 * l + 1] = y[l], p[3 * l + 2] = z[l];
  } else {
    const Lanes<T> xy = pick<0, 2, 0, 2>(x, y);  // x0 x2 y0 y2
    const Lanes<T> yz = pick<1, 3, 1, 3>(y, z);  // y1 y3 z1 z3
    const Lanes<T> zx = pick<0, 2, 1, 3>(z, x);  // z0 z2 x1 x3
    store_fours<T>(p, 0, pick<0, 2, 0, 2>(xy, zx));
    store_fours<T>(p, 1, pick<0, 2, 1, 3>(yz, xy));
    store_fours<T>(p, 2, pick<1, 3, 1, 3>(zx, yz));
  }
}
#endif

/// x[column[0..lanes)].
template <class T>
[[gnu::always_inline]] inline Lanes<T> gather(const T* x, const Index* column) {
#ifdef __AVX512F__
  // (The unmasked intrinsic is the same instruction, but GCC 12 warns of its undefined source operand.)
  if constexpr (sizeof(T) == 4)
    return reinterpret_cast<Lanes<T>>(
        _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, _mm512_loadu_si512(column), x, 4));
#endif
  return [&]<int... l>(std::integer_sequence<int, l...>) {
    return Lanes<T>{x[column[l]]...};
  }
  (std::make_integer_sequence<int, num_lanes<T>>{});
}

/// All bits set in the first half, none in the second.
template <class T>
inline constexpr auto before_end = [] {
  std::array<std::conditional_t<sizeof(T) == 4, int, long long>, 2 * num_lanes<T>> bits{};
  for (int l = 0; l < num_lanes<T>; ++l) bits[l] = -1;
  return bits;
}();

/// Numbers [shift, shift + lanes) of a[0..lanes) followed by b[0..lanes); shift in [1, lanes). May read lanes
/// - 1 numbers behind a's and before b's.
template <class T>
struct Straddling {
#ifdef __AVX512F__
  __m512i from;
  explicit Straddling(int shift) {
    if constexpr (sizeof(T) == 4)
      from = _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                              _mm512_set1_epi32(shift));
    else
      from = _mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(shift));
  }
  [[gnu::always_inline]] Lanes<T> operator()(const T* a, const T* b) const {
    const Lanes<T> va = load(a), vb = load(b);
    if constexpr (sizeof(T) == 4)
      return reinterpret_cast<Lanes<T>>(
          _mm512_permutex2var_ps(reinterpret_cast<__m512>(va), from, reinterpret_cast<__m512>(vb)));
    else
      return reinterpret_cast<Lanes<T>>(
          _mm512_permutex2var_pd(reinterpret_cast<__m512d>(va), from, reinterpret_cast<__m512d>(vb)));
  }
#else
  int shift;
  decltype(Lanes<T>{} < Lanes<T>{}) in_a;
  explicit Straddling(int shift) : shift(shift) {
    std::memcpy(&in_a, &before_end<T>[shift], sizeof in_a);
  }
  [[gnu::always_inline]] Lanes<T> operator()(const T* a, const T* b) const {
    return in_a ? load(a + shift) : load(b + shift - num_lanes<T>);
  }
#endif
};

/// Vectors of a row with a component to spare, and symmetric blocks with two: for arrays padded accordingly.
template <class T>
struct SmallLanes;
template <>
struct SmallLanes<float> {
  typedef float four __attribute__((vector_size(16)));
  typedef float eight __attribute__((vector_size(32)));
};
template <>
struct SmallLanes<double> {
  typedef double four __attribute__((vector_size(32)));
  typedef double eight __attribute__((vector_size(64)));
};
template <class T>
using Lanes4 = typename SmallLanes<T>::four;
template <class T>
using Block8 = typename SmallLanes<T>::eight;
template <class V, class T>
[[gnu::always_inline]] inline V load_as(const T* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

/// Sums of products of numbers, in double.
typedef double SumLanes __attribute__((vector_size(register_bytes)));

/// a0 + a1 + ... in a fixed order: halves are added to each other.
[[gnu::always_inline]] inline double sum_lanes(const SumLanes& v) {
  double a[register_bytes / 8];
  std::memcpy(a, &v, sizeof a);
  for (int half = register_bytes / 16; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) a[i] += a[i + half];
  return a[0];
}

/// Adds a b to the double accumulator.
[[gnu::always_inline]] inline void accumulate(SumLanes& sum, const Lanes<double>& a, const Lanes<double>& b) {
  sum += a * b;
}
[[gnu::always_inline]] inline void accumulate(SumLanes& sum, const Lanes<float>& a, const Lanes<float>& b) {
  constexpr int half = num_lanes<float> / 2;
  [&]<int... l>(std::integer_sequence<int, l...>) {
    sum += __builtin_convertvector(__builtin_shufflevector(a, a, l...), SumLanes) *
           __builtin_convertvector(__builtin_shufflevector(b, b, l...), SumLanes);
    sum += __builtin_convertvector(__builtin_shufflevector(a, a, half + l...), SumLanes) *
           __builtin_convertvector(__builtin_shufflevector(b, b, half + l...), SumLanes);
  }
  (std::make_integer_sequence<int, half>{});
}

}  // namespace plenum::inline PLENUM_ABI
