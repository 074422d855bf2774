#pragma once
// Eight or sixteen numbers at a time, one of each of as many constraints, as a vector of the compiler (GCC
// and clang). Constraints written over V3<T> are the same for these as for the numbers that tests take.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// As many as registers of 512 bits hold, if there are any. Lanes are constraints that share nothing that
/// moves, so that results depend on it by rounding alone.
#ifdef __AVX512F__
inline constexpr int wide = 64 / sizeof(Real);
#else
inline constexpr int wide = 8;
#endif
typedef Real Wide __attribute__((vector_size(wide * sizeof(Real))));
/// What is kept of a body in one row.
typedef Real Eight __attribute__((vector_size(8 * sizeof(Real))));

[[gnu::always_inline]] inline Wide load_wide(const Real* p) {
  Wide a;
  std::memcpy(&a, p, sizeof a);
  return a;
}
[[gnu::always_inline]] inline void store_wide(Real* p, const Wide& a) {
  std::memcpy(p, &a, sizeof a);
}
[[gnu::always_inline]] inline Wide fill(Real a) {
  return a - Wide{};
}
[[gnu::always_inline]] inline Wide max(const Wide& a, const Wide& b) {
  return a > b ? a : b;
}
[[gnu::always_inline]] inline Wide min(const Wide& a, const Wide& b) {
  return a < b ? a : b;
}
/// Whether any lane of a comparison holds.
template <class Mask>
[[gnu::always_inline]] inline bool any(const Mask& a) {
  long long sum = 0;
  for (int l = 0; l < wide; ++l) sum |= a[l];
  return sum != 0;
}
/// f(lane) for the lanes in which a comparison holds, in order.
template <class Mask, class F>
[[gnu::always_inline]] inline void each_lane(const Mask& a, F&& f) {
  typedef signed char Bytes __attribute__((vector_size(wide)));
  const Bytes bytes = __builtin_convertvector(a, Bytes);
  for (int k = 0; k < wide / 8; ++k) {
    std::uint64_t set;
    std::memcpy(&set, reinterpret_cast<const char*>(&bytes) + 8 * k, 8);
    for (; set != 0;) {
      const int l = std::countr_zero(set) / 8;
      f(8 * k + l);
      set &= ~(std::uint64_t(255) << (8 * l));
    }
  }
}
[[gnu::always_inline]] inline Wide sqrt(const Wide& a) {
  alignas(sizeof(Wide)) Real numbers[wide];
  store_wide(numbers, a);
  for (Real& r : numbers) r = std::sqrt(r);
  return load_wide(numbers);
}
/// 1 / a, and 0 where a is not positive.
[[gnu::always_inline]] inline Wide inverse_or_zero(const Wide& a) {
  const Wide zero{}, one = fill(1);
  return a > zero ? one / (a > zero ? a : one) : zero;
}

/// A number in every lane, as exact as these are.
template <class T>
[[gnu::always_inline]] inline T all_of(double a) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(a);
  else
    return fill(static_cast<Real>(a));
}
template <class T>
[[gnu::always_inline]] inline T root(const T& a) {
  if constexpr (std::is_floating_point_v<T>)
    return std::sqrt(a);
  else
    return sqrt(a);
}
/// 1 / a, and 0 where a is not above the smallest numbers.
template <class T>
[[gnu::always_inline]] inline T inverse_or_nothing(const T& a) {
  const T zero{}, one = all_of<T>(1), least = all_of<T>(1e-30);
  return a > least ? one / (a > least ? a : one) : zero;
}

/// A vector of three; T is a number, or Wide.
template <class T>
struct V3 {
  T x, y, z;
  [[gnu::always_inline]] V3& operator+=(const V3& b) { return x += b.x, y += b.y, z += b.z, *this; }
  [[gnu::always_inline]] V3& operator-=(const V3& b) { return x -= b.x, y -= b.y, z -= b.z, *this; }
};
using Wide3 = V3<Wide>;
template <class T>
[[gnu::always_inline]] inline V3<T> operator+(const V3<T>& a, const V3<T>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T>
[[gnu::always_inline]] inline V3<T> operator-(const V3<T>& a, const V3<T>& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T>
[[gnu::always_inline]] inline V3<T> operator-(const V3<T>& a) {
  return {-a.x, -a.y, -a.z};
}
template <class T>
[[gnu::always_inline]] inline V3<T> operator*(const T& s, const V3<T>& a) {
  return {s * a.x, s * a.y, s * a.z};
}
template <class T>
[[gnu::always_inline]] inline T dot(const V3<T>& a, const V3<T>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
[[gnu::always_inline]] inline V3<T> cross(const V3<T>& a, const V3<T>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/// Symmetric 3x3: xx yy zz xy xz yz.
struct WideSym3 {
  Wide xx, yy, zz, xy, xz, yz;
};
[[gnu::always_inline]] inline Wide3 operator*(const WideSym3& m, const Wide3& a) {
  return {m.xx * a.x + m.xy * a.y + m.xz * a.z, m.xy * a.x + m.yy * a.y + m.yz * a.z,
          m.xz * a.x + m.yz * a.y + m.zz * a.z};
}

/// a turned by the unit quaternion (u, w).
[[gnu::always_inline]] inline Wide3 rotate(const Wide3& u, const Wide& w, const Wide3& a) {
  const Wide3 t = fill(2) * cross(u, a);
  return a + w * t + cross(u, t);
}

// Of each half of eight lanes on its own, lanes of a (0 to 7) and of b (8 to 15).
#define PLENUM_OF(c) (wide == 8 || (c) < 8 ? (c) : (c) + 8)
#define PLENUM_SHUFFLE(a, b, c0, c1, c2, c3, c4, c5, c6, c7)                                         \
  shuffled<PLENUM_OF(c0), PLENUM_OF(c1), PLENUM_OF(c2), PLENUM_OF(c3), PLENUM_OF(c4), PLENUM_OF(c5), \
           PLENUM_OF(c6), PLENUM_OF(c7)>(a, b)
template <int... c>
[[gnu::always_inline]] inline Wide shuffled(const Wide& a, const Wide& b) {
  if constexpr (wide == 8)
    return __builtin_shufflevector(a, b, c...);
  else
    return __builtin_shufflevector(a, b, c..., (c + 8)...);
}

/// Rows of eight lanes become columns, in each half of eight lanes on its own.
[[gnu::always_inline]] inline void transpose(Wide (&r)[8]) {
#define PLENUM_LOW(a, b) PLENUM_SHUFFLE(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define PLENUM_HIGH(a, b) PLENUM_SHUFFLE(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
  const Wide s0 = PLENUM_LOW(r[0], r[1]), s1 = PLENUM_HIGH(r[0], r[1]);
  const Wide s2 = PLENUM_LOW(r[2], r[3]), s3 = PLENUM_HIGH(r[2], r[3]);
  const Wide s4 = PLENUM_LOW(r[4], r[5]), s5 = PLENUM_HIGH(r[4], r[5]);
  const Wide s6 = PLENUM_LOW(r[6], r[7]), s7 = PLENUM_HIGH(r[6], r[7]);
#undef PLENUM_LOW
#undef PLENUM_HIGH
#define PLENUM_LOW(a, b) PLENUM_SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define PLENUM_HIGH(a, b) PLENUM_SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
  const Wide t0 = PLENUM_LOW(s0, s2), t1 = PLENUM_HIGH(s0, s2), t2 = PLENUM_LOW(s1, s3),
             t3 = PLENUM_HIGH(s1, s3);
  const Wide t4 = PLENUM_LOW(s4, s6), t5 = PLENUM_HIGH(s4, s6), t6 = PLENUM_LOW(s5, s7),
             t7 = PLENUM_HIGH(s5, s7);
#undef PLENUM_LOW
#undef PLENUM_HIGH
#define PLENUM_LOW(a, b) PLENUM_SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define PLENUM_HIGH(a, b) PLENUM_SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
  r[0] = PLENUM_LOW(t0, t4), r[4] = PLENUM_HIGH(t0, t4);
  r[1] = PLENUM_LOW(t1, t5), r[5] = PLENUM_HIGH(t1, t5);
  r[2] = PLENUM_LOW(t2, t6), r[6] = PLENUM_HIGH(t2, t6);
  r[3] = PLENUM_LOW(t3, t7), r[7] = PLENUM_HIGH(t3, t7);
#undef PLENUM_LOW
#undef PLENUM_HIGH
}
#undef PLENUM_SHUFFLE
#undef PLENUM_OF

/// Rows of four numbers become columns and back, in each quarter or half of the lanes on its own.
typedef Real Four __attribute__((vector_size(4 * sizeof(Real))));
/// Of each four lanes on their own, lanes of a (0 to 3) and of b (4 to 7).
template <int c0, int c1, int c2, int c3, class W>
[[gnu::always_inline]] inline W of_fours(const W& a, const W& b) {
  constexpr auto from = [](int block, int c) { return 4 * block + (c < 4 ? c : c - 4 + wide); };
  if constexpr (sizeof(W) == 2 * sizeof(Four))
    return __builtin_shufflevector(a, b, from(0, c0), from(0, c1), from(0, c2), from(0, c3), from(1, c0),
                                   from(1, c1), from(1, c2), from(1, c3));
  else
    return __builtin_shufflevector(a, b, from(0, c0), from(0, c1), from(0, c2), from(0, c3), from(1, c0),
                                   from(1, c1), from(1, c2), from(1, c3), from(2, c0), from(2, c1),
                                   from(2, c2), from(2, c3), from(3, c0), from(3, c1), from(3, c2),
                                   from(3, c3));
}
[[gnu::always_inline]] inline void transpose_fours(Wide (&r)[4]) {
  const Wide a = of_fours<0, 4, 1, 5>(r[0], r[1]), b = of_fours<2, 6, 3, 7>(r[0], r[1]);
  const Wide c = of_fours<0, 4, 1, 5>(r[2], r[3]), d = of_fours<2, 6, 3, 7>(r[2], r[3]);
  r[0] = of_fours<0, 1, 4, 5>(a, c), r[1] = of_fours<2, 3, 6, 7>(a, c);
  r[2] = of_fours<0, 1, 4, 5>(b, d), r[3] = of_fours<2, 3, 6, 7>(b, d);
}
/// Four rows, one after the other in blocks of four lanes; of two, where there are eight lanes.
template <class W = Wide>
[[gnu::always_inline]] inline W join_fours(const Four& a, const Four& b, [[maybe_unused]] const Four& c,
                                           [[maybe_unused]] const Four& d) {
  if constexpr (sizeof(W) == 2 * sizeof(Four)) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
  } else {
    const Eight low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7),
                high = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
}
/// Lanes 4 b to 4 b + 3. By numbers of lanes the compiler makes each of its four from where it came from.
template <int b, class W>
[[gnu::always_inline]] inline Four four_of(const W& a) {
  return __builtin_shufflevector(a, a, 4 * b, 4 * b + 1, 4 * b + 2, 4 * b + 3);
}
/// out[c][l] = rows[4 index[l] + c].
[[gnu::always_inline]] inline void gather_fours(const Real* rows, const Index* index, Wide (&out)[4]) {
  const auto row = [&](int l) {
    Four a;
    std::memcpy(&a, rows + 4 * std::ptrdiff_t(index[l % wide]), sizeof a);
    return a;
  };
  for (int l = 0; l < 4; ++l) out[l] = join_fours(row(l), row(l + 4), row(l + 8), row(l + 12));
  transpose_fours(out);
}
/// Of lanes 4 b to 4 b + 3.
template <int b>
[[gnu::always_inline]] inline void put_fours(Real* rows, const Index* index, unsigned lanes,
                                             const Wide (&r)[4]) {
  for (int l = 0; l < 4; ++l) {
    const Four part = four_of<b>(r[l]);
    const int lane = l + 4 * b;
    if (lanes >> lane & 1) std::memcpy(rows + 4 * std::ptrdiff_t(index[lane]), &part, sizeof part);
  }
}
/// rows[4 index[l] + c] = in[c][l] for the lanes whose bit is set; those rows must be different.
[[gnu::always_inline]] inline void scatter_fours(Real* rows, const Index* index, unsigned lanes,
                                                 const Wide (&in)[4]) {
  Wide r[4] = {in[0], in[1], in[2], in[3]};
  transpose_fours(r);
  put_fours<0>(rows, index, lanes, r), put_fours<1>(rows, index, lanes, r);
  if constexpr (wide == 16) put_fours<2>(rows, index, lanes, r), put_fours<3>(rows, index, lanes, r);
}

/// The row of a lane and, where there are sixteen, that of the lane eight farther; and back.
template <class W = Wide>
[[gnu::always_inline]] inline W join(const Real* low, [[maybe_unused]] const Real* high) {
  Eight a;
  std::memcpy(&a, low, sizeof a);
  if constexpr (wide == 8) {
    return a;
  } else {
    Eight b;
    std::memcpy(&b, high, sizeof b);
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
}
template <int half, class W>
[[gnu::always_inline]] inline Eight half_of(const W& a) {
  if constexpr (wide == 8)
    return a;
  else
    return __builtin_shufflevector(a, a, 8 * half, 8 * half + 1, 8 * half + 2, 8 * half + 3, 8 * half + 4,
                                   8 * half + 5, 8 * half + 6, 8 * half + 7);
}

}}  // namespace plenum::PLENUM_ABI::detail
