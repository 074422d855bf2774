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
/// Rows become columns.
inline void transpose(Quad& a, Quad& b, Quad& c, Quad& d) {
  const Quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
             ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
             cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

}  // namespace plenum::inline PLENUM_ABI::detail
