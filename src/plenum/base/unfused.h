#pragma once
// Sums of products that do not depend on the order of their terms.
#include <cstddef>
#include <cstring>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// A product as it is rounded, which the compiler does not fuse with the sum that it is part of. a b + c d is
/// fused into fma(a, b, c d), which differs from fma(c, d, a b); unfused(a b) + unfused(c d) does not change
/// when the terms change places, as they do in mirror images. T is a number or a vector of the compiler;
/// loops over numbers stay loops over numbers. Clang fuses within one expression alone, and GCC knows no
/// better way for vectors than to think that an instruction changes them.
template <class T>
[[gnu::always_inline]] inline T unfused(T product) {
#if defined(__GNUC__) && !defined(__clang__) && defined(__FMA__)
#ifdef __AVX512F__
  constexpr std::size_t most = 64;
#else
  constexpr std::size_t most = 32;
#endif
  if constexpr (sizeof(T) <= most) {
    asm("" : "+v"(product));
  } else {
    typedef double Part __attribute__((vector_size(most)));
    Part parts[sizeof(T) / most];
    std::memcpy(parts, &product, sizeof product);
    for (Part& part : parts) asm("" : "+v"(part));
    std::memcpy(&product, parts, sizeof product);
  }
#elif defined(__GNUC__) && !defined(__clang__) && !defined(__x86_64__)
  product = __builtin_assoc_barrier(product);
#endif
  return product;
}

}  // namespace plenum::inline PLENUM_ABI
