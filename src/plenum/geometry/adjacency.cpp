#include "plenum/geometry/adjacency.h"

#include <algorithm>
#include <tuple>

namespace plenum::inline PLENUM_ABI {
namespace {

template <class Cell>
std::vector<Index2> edges_of_cells(std::span<const Cell> cells) {
  constexpr int corners = Cell::RowsAtCompileTime;
  std::vector<Index2> edges;
  edges.reserve(cells.size() * corners * (corners - 1) / 2);
  for (const Cell& cell : cells)
    for (int i = 0; i < corners; ++i)
      for (int j = i + 1; j < corners; ++j)
        if (cell[i] != cell[j]) edges.emplace_back(std::min(cell[i], cell[j]), std::max(cell[i], cell[j]));
  std::sort(edges.begin(), edges.end(),
            [](const Index2& a, const Index2& b) { return std::tie(a[0], a[1]) < std::tie(b[0], b[1]); });
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  edges.shrink_to_fit();
  return edges;
}

}  // namespace

Rows vertex_triangles(std::size_t num_vertices, std::span<const Index3> triangles) {
  Rows rows;
  rows.offsets.assign(num_vertices + 1, 0);
  const auto each_corner = [&](auto&& visit) {
    for (std::size_t t = 0; t < triangles.size(); ++t)
      for (int i = 0; i < 3; ++i) {
        const Index v = triangles[t][i];
        // A degenerate triangle touches a vertex once, however often it names it.
        if ((i > 0 && v == triangles[t][0]) || (i > 1 && v == triangles[t][1])) continue;
        visit(v, static_cast<Index>(t));
      }
  };
  each_corner([&](Index v, Index) { ++rows.offsets[v + 1]; });
  for (std::size_t v = 0; v < num_vertices; ++v) rows.offsets[v + 1] += rows.offsets[v];
  rows.items.resize(rows.offsets.back());
  std::vector<Index> next(rows.offsets.begin(), rows.offsets.end() - 1);
  each_corner([&](Index v, Index t) { rows.items[next[v]++] = t; });
  return rows;
}

std::vector<Index2> unique_edges(std::span<const Index3> triangles) {
  return edges_of_cells(triangles);
}
std::vector<Index2> unique_edges(std::span<const Index4> tetrahedra) {
  return edges_of_cells(tetrahedra);
}

Rows vertex_neighbours(std::size_t num_vertices, std::span<const Index2> edges) {
  Rows rows;
  rows.offsets.assign(num_vertices + 1, 0);
  for (const Index2& e : edges)
    for (int i = 0; i < 2; ++i) ++rows.offsets[e[i] + 1];
  for (std::size_t v = 0; v < num_vertices; ++v) rows.offsets[v + 1] += rows.offsets[v];
  rows.items.resize(rows.offsets.back());
  std::vector<Index> next(rows.offsets.begin(), rows.offsets.end() - 1);
  for (const Index2& e : edges) {
    rows.items[next[e[0]]++] = e[1];
    rows.items[next[e[1]]++] = e[0];
  }
  for (std::size_t v = 0; v < num_vertices; ++v)
    std::sort(rows.items.begin() + rows.offsets[v], rows.items.begin() + rows.offsets[v + 1]);
  return rows;
}

std::vector<HalfEdge> sorted_half_edges(std::span<const Index3> triangles) {
  std::vector<HalfEdge> halves;
  halves.reserve(triangles.size() * 3);
  for (std::size_t t = 0; t < triangles.size(); ++t)
    for (int i = 0; i < 3; ++i) {
      const Index a = triangles[t][i], b = triangles[t][(i + 1) % 3];
      halves.push_back({std::min(a, b), std::max(a, b), static_cast<Index>(t), i, a < b});
    }
  std::sort(halves.begin(), halves.end(), [](const HalfEdge& a, const HalfEdge& b) {
    return std::tie(a.low, a.high, a.triangle, a.corner) < std::tie(b.low, b.high, b.triangle, b.corner);
  });
  return halves;
}

namespace {

/// Calls visit(first half-edge, second half-edge) for every edge with exactly two triangles.
template <class Visit>
void each_shared_edge(std::span<const HalfEdge> halves, Visit&& visit) {
  for (std::size_t i = 0; i < halves.size();) {
    std::size_t end = i + 1;
    while (end < halves.size() && halves[end].low == halves[i].low && halves[end].high == halves[i].high)
      ++end;
    if (end - i == 2 && halves[i].low != halves[i].high && halves[i].triangle != halves[i + 1].triangle)
      visit(halves[i], halves[i + 1]);
    i = end;
  }
}

}  // namespace

std::vector<Index4> hinges(std::span<const Index3> triangles) {
  std::vector<Index4> result;
  each_shared_edge(sorted_half_edges(triangles), [&](const HalfEdge& first, const HalfEdge& second) {
    const auto opposite = [&](const HalfEdge& h) { return triangles[h.triangle][(h.corner + 2) % 3]; };
    // In an oriented mesh one of the two runs from low to high; it becomes (a, b, c).
    const bool swap = !first.forward && second.forward;
    const HalfEdge &one = swap ? second : first, &other = swap ? first : second;
    const Index a = one.forward ? one.low : one.high, b = one.forward ? one.high : one.low;
    result.emplace_back(a, b, opposite(one), opposite(other));
  });
  return result;
}

std::vector<Index3> triangle_neighbours(std::span<const Index3> triangles) {
  std::vector<Index3> result(triangles.size(), Index3(-1, -1, -1));
  each_shared_edge(sorted_half_edges(triangles), [&](const HalfEdge& first, const HalfEdge& second) {
    result[first.triangle][first.corner] = second.triangle;
    result[second.triangle][second.corner] = first.triangle;
  });
  return result;
}

std::vector<Index3> boundary_triangles(std::span<const Index4> tetrahedra) {
  struct Face {
    std::array<Index, 3> sorted;
    Index3 corners;
  };
  constexpr int faces_of_tet[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
  std::vector<Face> faces;
  faces.reserve(tetrahedra.size() * 4);
  for (const Index4& tet : tetrahedra)
    for (const auto& f : faces_of_tet) {
      Face face{{tet[f[0]], tet[f[1]], tet[f[2]]}, Index3(tet[f[0]], tet[f[1]], tet[f[2]])};
      std::sort(face.sorted.begin(), face.sorted.end());
      faces.push_back(face);
    }
  std::sort(faces.begin(), faces.end(), [](const Face& a, const Face& b) { return a.sorted < b.sorted; });
  std::vector<Index3> boundary;
  for (std::size_t i = 0; i < faces.size();) {
    std::size_t end = i + 1;
    while (end < faces.size() && faces[end].sorted == faces[i].sorted) ++end;
    if (end - i == 1) boundary.push_back(faces[i].corners);
    i = end;
  }
  return boundary;
}

}  // namespace plenum::inline PLENUM_ABI
