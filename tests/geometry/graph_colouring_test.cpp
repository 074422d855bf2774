#include "plenum/geometry/graph_colouring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace plenum { namespace {

/// Edges of `bars` bars of 5 x 5 x 60 points, of all in a random order, with random numbers.
std::vector<Index> shuffled_edges(int bars) {
  constexpr int nx = 60, n = 5;
  const int points = bars * nx * n * n;
  std::mt19937 random(7);
  std::vector<Index> name(std::size_t(points), 0);
  std::iota(name.begin(), name.end(), Index(0));
  std::shuffle(name.begin(), name.end(), random);
  std::vector<Index2> edges;
  for (int b = 0; b < bars; ++b)
    for (int i = 0; i < nx; ++i)
      for (int j = 0; j < n; ++j)
        for (int k = 0; k < n; ++k) {
          const auto at = [&](int di, int dj, int dk) {
            return name[std::size_t(((b * nx + i + di) * n + j + dj) * n + k + dk)];
          };
          if (i + 1 < nx) edges.push_back({at(0, 0, 0), at(1, 0, 0)});
          if (j + 1 < n) edges.push_back({at(0, 0, 0), at(0, 1, 0)});
          if (k + 1 < n) edges.push_back({at(0, 0, 0), at(0, 0, 1)});
        }
  std::shuffle(edges.begin(), edges.end(), random);
  std::vector<Index> out;
  for (const Index2& e : edges) out.insert(out.end(), {e[0], e[1]});
  return out;
}

TEST(Slices, ShareNoVertexAndAreAsLarge) {
  for (const int bars : {1, 2}) {
    const std::vector<Index> edges = shuffled_edges(bars);
    const std::size_t n = std::size_t(bars) * 60 * 25;
    const std::vector<Index> slice = slices_of(edges, 2, n, 8);
    ASSERT_EQ(slice.size(), edges.size() / 2);
    std::vector<Index> of(n, -1);
    std::vector<int> sizes(8, 0);
    for (std::size_t e = 0; e < slice.size(); ++e) {
      ASSERT_LT(slice[e], 8);
      if (slice[e] < 0) continue;
      ++sizes[std::size_t(slice[e])];
      for (const Index v : {edges[2 * e], edges[2 * e + 1]}) {
        EXPECT_TRUE(of[std::size_t(v)] == -1 || of[std::size_t(v)] == slice[e]);
        of[std::size_t(v)] = slice[e];
      }
    }
    // Points as far from a corner lie on planes across a bar's diagonal, which cut each edge along it once
    // and those across it, twenty each way, at most once.
    constexpr int cut = 25 + 20 + 20;
    EXPECT_GE(std::accumulate(sizes.begin(), sizes.end(), 0), int(slice.size()) - 7 * cut);
    for (const int size : sizes) EXPECT_NEAR(size, double(slice.size()) / 8, cut);
  }
}

}}  // namespace plenum::
