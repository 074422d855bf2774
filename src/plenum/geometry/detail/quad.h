#pragma once
// Four numbers in one register, by the vector extensions that gcc and clang share.
#include <cstring>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI::detail {

typedef Real Quad __attribute__((vector_size(4 * sizeof(Real))));

inline Quad load_quad(const Real* p) {
  Quad q;
  std::memcpy(&q, p, sizeof q);
  return q;
}
inline void store_quad(Real* p, Quad q) {
  std::memcpy(p, &q, sizeof q);
}
inline Quad fill_quad(Real r) {
  return Quad{r, r, r, r};
}
template <int i0, int i1, int i2, int i3>
inline Quad shuffle(Quad a, Quad b) {
  return __builtin_shufflevector(a, b, i0, i1, i2, i3);
}
/// All four numbers equal to number i.
template <int i>
inline Quad broadcast(Quad a) {
  return shuffle<i, i, i, i>(a, a);
}
inline Quad min(Quad a, Quad b) {
  return a < b ? a : b;
}
inline Quad max(Quad a, Quad b) {
  return a > b ? a : b;
}
/// Rows become columns.
inline void transpose(Quad& a, Quad& b, Quad& c, Quad& d) {
  const Quad ab_low = shuffle<0, 4, 1, 5>(a, b), ab_high = shuffle<2, 6, 3, 7>(a, b);
  const Quad cd_low = shuffle<0, 4, 1, 5>(c, d), cd_high = shuffle<2, 6, 3, 7>(c, d);
  a = shuffle<0, 1, 4, 5>(ab_low, cd_low);
  b = shuffle<2, 3, 6, 7>(ab_low, cd_low);
  c = shuffle<0, 1, 4, 5>(ab_high, cd_high);
  d = shuffle<2, 3, 6, 7>(ab_high, cd_high);
}

}  // namespace plenum::inline PLENUM_ABI::detail
