#pragma once
// Loops over what lies in the same order in all of them.
#include <bit>

#include "plenum/base/parallel.h"

namespace plenum::inline PLENUM_ABI {

/// As parallel_for(), in as many ranges as a power of two, each of as many items as the others or one more.
/// What a thread begins with then ends at the same part of all items, however many these are: a half, of two
/// threads. Where one loop goes over particles and another over constraints in their order, as colours do in
/// turn, a thread finds all but what is at the ends of its part where it left it. In blocks of `block` items
/// parts ended some rows of a cloth from each other, and these rows came over from the other core in every
/// loop: a cloth of 100 x 100 took a sixteenth longer on two threads so.
template <class F>
void parallel_for_evenly(std::size_t n, std::size_t block, F&& f) {
  const std::size_t num_blocks = std::bit_ceil((n + block - 1) / block);
  if (n == 0) return;
  if (num_blocks == 1) return f(std::size_t{0}, n);
  parallel_blocks(num_blocks, [&](std::size_t b) { f(n * b / num_blocks, n * (b + 1) / num_blocks); });
}

}  // namespace plenum::inline PLENUM_ABI
