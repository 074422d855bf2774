#include "plenum/geometry/graph_colouring.h"

#include <bit>
#include <cstdint>

namespace plenum::inline PLENUM_ABI {

Colouring colour_greedily(std::span<const Index> items, int points, std::size_t num_vertices,
                          std::span<const std::uint8_t> still) {
  const std::size_t n = items.size() / static_cast<std::size_t>(points);
  std::vector<Index> colour(n, -1);
  std::vector<std::uint64_t> used(num_vertices);
  Index colours = 0;
  // Sixty-four colours at a time; what finds none among them waits for the next.
  std::vector<Index> left(n);
  for (std::size_t i = 0; i < n; ++i) left[i] = static_cast<Index>(i);
  for (Index base = 0; !left.empty(); base += 64) {
    used.assign(num_vertices, 0);
    std::size_t kept = 0;
    for (const Index i : left) {
      const std::span<const Index> vertices = items.subspan(
          static_cast<std::size_t>(i) * static_cast<std::size_t>(points), static_cast<std::size_t>(points));
      const auto counts = [&](Index v) { return still.empty() || still[static_cast<std::size_t>(v)] == 0; };
      std::uint64_t taken = 0;
      for (const Index v : vertices)
        if (counts(v)) taken |= used[static_cast<std::size_t>(v)];
      if (~taken == 0) {
        left[kept++] = i;
        continue;
      }
      const int c = std::countr_one(taken);
      for (const Index v : vertices)
        if (counts(v)) used[static_cast<std::size_t>(v)] |= std::uint64_t{1} << c;
      colour[static_cast<std::size_t>(i)] = base + c;
      colours = std::max(colours, base + c + 1);
    }
    left.resize(kept);
  }
  Colouring out;
  out.starts.assign(static_cast<std::size_t>(colours) + 1, 0);
  for (const Index c : colour) ++out.starts[static_cast<std::size_t>(c) + 1];
  for (std::size_t c = 0; c < static_cast<std::size_t>(colours); ++c) out.starts[c + 1] += out.starts[c];
  out.order.resize(n);
  std::vector<Index> next(out.starts.begin(), out.starts.end() - 1);
  for (std::size_t i = 0; i < n; ++i)
    out.order[static_cast<std::size_t>(next[static_cast<std::size_t>(colour[i])]++)] = static_cast<Index>(i);
  return out;
}

}  // namespace plenum::inline PLENUM_ABI
