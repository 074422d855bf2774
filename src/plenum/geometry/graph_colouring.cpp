#include "plenum/geometry/graph_colouring.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

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

namespace {

/// Items of each vertex.
struct Incidence {
  std::vector<Index> starts, items;
};

Incidence incidence_of(std::span<const Index> items, std::size_t points, std::size_t num_vertices) {
  Incidence out;
  out.starts.assign(num_vertices + 1, 0);
  for (const Index v : items) ++out.starts[std::size_t(v) + 1];
  for (std::size_t v = 0; v < num_vertices; ++v) out.starts[v + 1] += out.starts[v];
  out.items.resize(items.size());
  std::vector<Index> next(out.starts.begin(), out.starts.end() - 1);
  for (std::size_t k = 0; k < items.size(); ++k)
    out.items[std::size_t(next[std::size_t(items[k])]++)] = Index(k / points);
  return out;
}

/// Appends what hangs together with `first`, none of it `seen`, by its distance from there.
void append_by_distance(std::span<const Index> items, std::size_t points, const Incidence& of, Index first,
                        std::vector<std::uint8_t>& seen, std::vector<Index>& order) {
  std::size_t at = order.size();
  order.push_back(first), seen[std::size_t(first)] = 1;
  for (; at < order.size(); ++at) {
    const auto v = std::size_t(order[at]);
    for (Index k = of.starts[v]; k < of.starts[v + 1]; ++k)
      for (const Index other : items.subspan(std::size_t(of.items[std::size_t(k)]) * points, points))
        if (!std::exchange(seen[std::size_t(other)], 1)) order.push_back(other);
  }
}

}  // namespace

std::vector<Index> slices_of(std::span<const Index> items, int points, std::size_t num_vertices, int slices) {
  const auto n = std::size_t(points);
  const Incidence of = incidence_of(items, n, num_vertices);
  std::vector<std::uint8_t> seen(num_vertices), seen_before(num_vertices);
  std::vector<Index> order, from_there;
  for (const Index v : items) {
    if (seen[std::size_t(v)]) continue;
    // From the last of those by their distance from any.
    from_there.clear();
    append_by_distance(items, n, of, v, seen_before, from_there);
    append_by_distance(items, n, of, from_there.back(), seen, order);
  }
  std::vector<Index> slice(num_vertices, -1);
  for (std::size_t k = 0; k < order.size(); ++k)
    slice[std::size_t(order[k])] = Index(k * std::size_t(slices) / order.size());
  std::vector<Index> out(items.size() / n);
  for (std::size_t k = 0; k < out.size(); ++k) {
    const std::span<const Index> vertices = items.subspan(k * n, n);
    const Index first = slice[std::size_t(vertices[0])];
    out[k] =
        std::all_of(vertices.begin(), vertices.end(), [&](Index v) { return slice[std::size_t(v)] == first; })
            ? first
            : -1;
  }
  return out;
}

}  // namespace plenum::inline PLENUM_ABI
