#pragma once
// Scratch vectors of the integrators, and the one vector pass they are made of.
#include <array>
#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Scratch vectors of one size, owned by the caller and reused; allocates only when asked for more than
/// before. Integrators neither read what a step left in it nor need it to be initialized.
template <class T>
class IntegratorWorkspace {
 public:
  /// At least `count` vectors of n.
  void prepare(std::size_t n, std::size_t count) {
    n_ = n;
    if (storage_.size() < n * count) storage_.resize(n * count);
  }
  std::span<T> operator[](std::size_t i) { return {storage_.data() + i * n_, n_}; }

 private:
  std::size_t n_ = 0;
  std::vector<T> storage_;
};

/// One term c x of a linear combination.
template <class T>
struct Term {
  T c;
  std::span<const T> x;
};

namespace integrate_detail {

/// Items of a block of a pass; independent of the number of threads.
inline constexpr std::size_t pass_block = 8192;

template <class T, std::size_t count>
void combine_exactly(std::span<T> out, const std::array<T, count>& c, const std::array<const T*, count>& x) {
  parallel_for(out.size(), pass_block, [&](std::size_t begin, std::size_t end) {
    T* y = out.data();
    for (std::size_t i = begin; i < end; ++i) {
      T sum = c[0] * x[0][i];
      for (std::size_t k = 1; k < count; ++k) sum += c[k] * x[k][i];
      y[i] = sum;
    }
  });
}

template <class T, std::size_t count, std::size_t capacity>
void combine_first(std::span<T> out, const std::array<T, capacity>& c,
                   const std::array<const T*, capacity>& x) {
  std::array<T, count> c_used;
  std::array<const T*, count> x_used;
  for (std::size_t k = 0; k < count; ++k) c_used[k] = c[k], x_used[k] = x[k];
  combine_exactly<T, count>(out, c_used, x_used);
}

}  // namespace integrate_detail

/// out = sum of c x over the terms, in one pass over memory, left to right; terms of zero are skipped. out
/// may be one of the x. At least one term, at most 7 that are not zero in one pass; further ones in further
/// passes.
template <class T>
void combine(std::span<T> out, std::span<const Term<T>> terms) {
  constexpr std::size_t capacity = 8;
  std::array<T, capacity> c{};
  std::array<const T*, capacity> x{};
  std::size_t used = 0;
  const auto flush = [&] {
    using namespace integrate_detail;
    switch (used) {
      case 1:
        combine_first<T, 1>(out, c, x);
        break;
      case 2:
        combine_first<T, 2>(out, c, x);
        break;
      case 3:
        combine_first<T, 3>(out, c, x);
        break;
      case 4:
        combine_first<T, 4>(out, c, x);
        break;
      case 5:
        combine_first<T, 5>(out, c, x);
        break;
      case 6:
        combine_first<T, 6>(out, c, x);
        break;
      case 7:
        combine_first<T, 7>(out, c, x);
        break;
      case 8:
        combine_first<T, 8>(out, c, x);
        break;
      default:
        break;
    }
  };
  for (const Term<T>& term : terms) {
    assert(term.x.size() == out.size());
    if (term.c == T(0) && used > 0) continue;
    if (used == capacity) {
      flush();  // the sum so far is in out and becomes the first term; out must not be one of the later x
                // then
      c[0] = 1, x[0] = out.data(), used = 1;
    }
    c[used] = term.c, x[used] = term.x.data(), ++used;
  }
  flush();
}

template <class T>
void combine(std::span<T> out, std::initializer_list<Term<T>> terms) {
  combine(out, std::span<const Term<T>>(terms.begin(), terms.size()));
}

}  // namespace plenum::inline PLENUM_ABI
