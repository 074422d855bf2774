#pragma once
// One cache line of numbers as a vector of the compiler (GCC and clang), lowered to whatever the processor
// has.
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <cstring>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

template <class T>
struct LanesOf;
template <>
struct LanesOf<float> {
  typedef float type __attribute__((vector_size(64)));
};
template <>
struct LanesOf<double> {
  typedef double type __attribute__((vector_size(64)));
};
template <class T>
using Lanes = typename LanesOf<T>::type;
typedef double Lanes8 __attribute__((vector_size(64)));

template <class T>
inline constexpr int num_lanes = 64 / sizeof(T);

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

/// x[column[0..lanes)].
[[gnu::always_inline]] inline Lanes<float> gather(const float* x, const Index* column) {
#ifdef __AVX512F__
  // (The unmasked intrinsic is the same instruction, but GCC 12 warns of its undefined source operand.)
  return reinterpret_cast<Lanes<float>>(
      _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, _mm512_loadu_si512(column), x, 4));
#else
  Lanes<float> v;
  for (int l = 0; l < 16; ++l) v[l] = x[column[l]];
  return v;
#endif
}
[[gnu::always_inline]] inline Lanes<double> gather(const double* x, const Index* column) {
  Lanes<double> v;
  for (int l = 0; l < 8; ++l) v[l] = x[column[l]];
  return v;
}

/// Lanes [shift, shift + lanes) of a followed by b; shift in [0, lanes).
[[gnu::always_inline]] inline Lanes<float> shifted(const Lanes<float>& a, const Lanes<float>& b, int shift) {
#ifdef __AVX512F__
  const __m512i ramp = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return reinterpret_cast<Lanes<float>>(
      _mm512_permutex2var_ps(reinterpret_cast<__m512>(a), _mm512_add_epi32(ramp, _mm512_set1_epi32(shift)),
                             reinterpret_cast<__m512>(b)));
#else
  float both[32];
  store(both, a), store(both + 16, b);
  return load(both + shift);
#endif
}
[[gnu::always_inline]] inline Lanes<double> shifted(const Lanes<double>& a, const Lanes<double>& b,
                                                    int shift) {
#ifdef __AVX512F__
  const __m512i ramp = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
  return reinterpret_cast<Lanes<double>>(
      _mm512_permutex2var_pd(reinterpret_cast<__m512d>(a), _mm512_add_epi64(ramp, _mm512_set1_epi64(shift)),
                             reinterpret_cast<__m512d>(b)));
#else
  double both[16];
  store(both, a), store(both + 8, b);
  return load(both + shift);
#endif
}

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

/// a0 + a1 + ... in a fixed order, in double.
[[gnu::always_inline]] inline double sum_lanes(const Lanes8& v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

/// Adds a b to the double accumulator.
[[gnu::always_inline]] inline void accumulate(Lanes8& sum, const Lanes<double>& a, const Lanes<double>& b) {
  sum += a * b;
}
typedef float Half8 __attribute__((vector_size(32)));
[[gnu::always_inline]] inline void accumulate(Lanes8& sum, const Lanes<float>& a, const Lanes<float>& b) {
  const Half8 a0 = __builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7);
  const Half8 a1 = __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15);
  const Half8 b0 = __builtin_shufflevector(b, b, 0, 1, 2, 3, 4, 5, 6, 7);
  const Half8 b1 = __builtin_shufflevector(b, b, 8, 9, 10, 11, 12, 13, 14, 15);
  sum += __builtin_convertvector(a0, Lanes8) * __builtin_convertvector(b0, Lanes8);
  sum += __builtin_convertvector(a1, Lanes8) * __builtin_convertvector(b1, Lanes8);
}

}  // namespace plenum::inline PLENUM_ABI
