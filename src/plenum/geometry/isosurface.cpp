#include "plenum/geometry/isosurface.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "plenum/base/parallel.h"

namespace plenum::inline PLENUM_ABI {
namespace detail {
namespace {

/// The two axes beside one, in order.
constexpr int first_beside(int axis) {
  return axis == 0 ? 1 : 0;
}
constexpr int second_beside(int axis) {
  return axis == 2 ? 1 : 2;
}

/// Edge between two corners that differ in one axis.
int edge_between(int a, int b) {
  const int axis = std::countr_zero(static_cast<unsigned>(a ^ b));
  return 4 * axis + (a >> first_beside(axis) & 1) + 2 * (a >> second_beside(axis) & 1);
}
/// Whether two edges of a cell lie in one of its faces.
bool share_face(int e, int f) {
  for (int axis = 0; axis < 3; ++axis) {
    const auto side = [&](int edge) {  // of the cell along the axis, -1 for an edge along it
      const int along = edge / 4;
      if (along == axis) return -1;
      return (first_beside(along) == axis ? edge : edge >> 1) & 1;
    };
    if (side(e) >= 0 && side(e) == side(f)) return true;
  }
  return false;
}

/// Cuts the polygon first, first + 1, ..., last of a loop into triangles whose inner edges lie in no face:
/// the cell beyond the face might have the same one. Whether there is a way.
bool cut_polygon(const int* loop, int first, int last, CellCut& cut) {
  if (last - first < 2) return true;
  const auto is_inner = [&](int a, int b) { return !share_face(loop[a], loop[b]); };
  for (int middle = first + 1; middle < last; ++middle) {
    if ((middle > first + 1 && !is_inner(first, middle)) || (middle < last - 1 && !is_inner(middle, last)))
      continue;
    const int before = cut.num_triangles;
    std::int8_t* t = cut.edges[cut.num_triangles++];
    t[0] = static_cast<std::int8_t>(loop[first]);
    t[1] = static_cast<std::int8_t>(loop[middle]);
    t[2] = static_cast<std::int8_t>(loop[last]);
    if (cut_polygon(loop, first, middle, cut) && cut_polygon(loop, middle, last, cut)) return true;
    cut.num_triangles = before;
  }
  return false;
}

CellCut make_cut(unsigned inside) {
  // Around each face, counter-clockwise from outside, the surface goes from where the way enters the inside
  // to where it leaves it next. The neighbouring face goes along their edge the other way, so that these
  // pieces join to loops that turn counter-clockwise seen from what is not inside.
  std::array<int, 12> next;
  next.fill(-1);
  for (int axis = 0; axis < 3; ++axis)
    for (int side = 0; side < 2; ++side) {
      const int u = (axis + 1) % 3, v = (axis + 2) % 3;
      std::array<int, 4> corner;
      for (int k = 0; k < 4; ++k) {
        const int turned = side == 1 ? k : 3 - k;
        const int at_u = turned == 1 || turned == 2, at_v = turned >= 2;
        corner[static_cast<std::size_t>(k)] = side << axis | at_u << u | at_v << v;
      }
      const auto at = [&](int k) { return corner[static_cast<std::size_t>(k & 3)]; };
      const auto is_inside = [&](int k) { return (inside >> at(k) & 1) != 0; };
      for (int k = 0; k < 4; ++k) {
        if (is_inside(k) || !is_inside(k + 1)) continue;
        int out = k + 1;
        while (is_inside(out + 1)) ++out;
        next[static_cast<std::size_t>(edge_between(at(k), at(k + 1)))] = edge_between(at(out), at(out + 1));
      }
    }
  CellCut cut;
  for (int start = 0; start < 12; ++start) {
    int loop[12], length = 0;
    for (int e = start; next[static_cast<std::size_t>(e)] >= 0;) {
      loop[length++] = e;
      e = std::exchange(next[static_cast<std::size_t>(e)], -1);
    }
    if (length > 0) cut_polygon(loop, 0, length - 1, cut);
  }
  return cut;
}

}  // namespace

const CellCut* cell_cuts() {
  static const std::array<CellCut, 256> cuts = [] {
    std::array<CellCut, 256> all;
    for (unsigned inside = 0; inside < 256; ++inside) all[inside] = make_cut(inside);
    return all;
  }();
  return cuts.data();
}

}  // namespace detail

namespace {

constexpr std::size_t rows_a_block = 32;

/// The nodes of a grid, ghosts included, in rows along x whose signs are bits of words.
struct NodeRows {
  const GridShape& shape;
  Index nx, ny, nz;   // nodes along each axis
  std::size_t words;  // of a row; the last bit of the last one is beyond the row

  explicit NodeRows(const GridShape& s)
      : shape(s),
        nx(s.cells[0] + 2),
        ny(s.cells[1] + 2),
        nz(s.cells[2] + 2),
        words(static_cast<std::size_t>(nx) / 64 + 1) {}
  std::size_t size() const { return static_cast<std::size_t>(ny) * static_cast<std::size_t>(nz); }
  Index j(std::size_t row) const { return static_cast<Index>(row % static_cast<std::size_t>(ny)); }
  Index k(std::size_t row) const { return static_cast<Index>(row / static_cast<std::size_t>(ny)); }
  std::size_t first(std::size_t row) const { return shape.index(-1, j(row) - 1, k(row) - 1); }
};

/// The signs of 64 nodes of a row and of the nodes one farther.
struct Signs {
  std::uint64_t here, next;
  Signs(const std::uint64_t* row, std::size_t w, std::size_t words)
      : here(row[w]), next(here >> 1 | (w + 1 < words ? row[w + 1] << 63 : 0)) {}
};

/// Bits of the nodes of word w that have a next one in the row.
std::uint64_t has_next(const NodeRows& nodes, std::size_t w) {
  const std::ptrdiff_t left = static_cast<std::ptrdiff_t>(nodes.nx) - 1 - 64 * static_cast<std::ptrdiff_t>(w);
  return left >= 64 ? ~std::uint64_t{0} : left <= 0 ? 0 : (std::uint64_t{1} << left) - 1;
}

/// The four rows around a row of cells, and which of 64 of these the surface cuts.
struct CellSigns {
  Signs rows[4];  // at (j, k), (j + 1, k), (j, k + 1), (j + 1, k + 1)
  std::uint64_t cut;
  CellSigns(const NodeRows& nodes, const std::uint64_t* inside, std::size_t row, std::size_t w)
      : rows{of(nodes, inside, row, w), of(nodes, inside, row + 1, w),
             of(nodes, inside, row + static_cast<std::size_t>(nodes.ny), w),
             of(nodes, inside, row + static_cast<std::size_t>(nodes.ny) + 1, w)} {
    std::uint64_t any = 0, all = ~std::uint64_t{0};
    for (const Signs& s : rows) any |= s.here | s.next, all &= s.here & s.next;
    cut = any & ~all & has_next(nodes, w);
  }
  unsigned case_of(int bit) const {
    unsigned inside = 0;
    for (unsigned r = 0; r < 4; ++r)
      inside |= (static_cast<unsigned>(rows[r].here >> bit & 1) |
                 static_cast<unsigned>(rows[r].next >> bit & 1) << 1)
                << (2 * r);
    return inside;
  }

 private:
  static Signs of(const NodeRows& nodes, const std::uint64_t* inside, std::size_t row, std::size_t w) {
    return {inside + row * nodes.words, w, nodes.words};
  }
};

/// Which of the edges that start at 64 nodes of a row the surface crosses, along each axis.
struct Crossings {
  std::uint64_t along[3] = {};
  Crossings() = default;
  Crossings(const NodeRows& nodes, const std::uint64_t* inside, std::size_t row, std::size_t w) {
    const std::uint64_t* here = inside + row * nodes.words;
    const Signs s(here, w, nodes.words);
    along[0] = (s.here ^ s.next) & has_next(nodes, w);
    if (nodes.j(row) + 1 < nodes.ny) along[1] = s.here ^ here[nodes.words + w];
    if (nodes.k(row) + 1 < nodes.nz)
      along[2] = s.here ^ here[nodes.words * static_cast<std::size_t>(nodes.ny) + w];
  }
};

template <class F>
void each_bit(std::uint64_t bits, F&& f) {
  for (; bits != 0; bits &= bits - 1) f(std::countr_zero(bits));
}

void find_signs(const NodeRows& nodes, const Real* phi, std::uint64_t* inside) {
  parallel_for(nodes.size(), rows_a_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const Real* p = phi + nodes.first(row);
      for (std::size_t w = 0; w < nodes.words; ++w) {
        const int n = std::min<int>(64, static_cast<int>(nodes.nx) - 64 * static_cast<int>(w));
        std::uint64_t bits = 0;
        for (int i = 0; i < n; ++i) bits |= std::uint64_t{p[64 * w + static_cast<std::size_t>(i)] < 0} << i;
        inside[row * nodes.words + w] = bits;
      }
    }
  });
}

void count(const NodeRows& nodes, const std::uint64_t* inside, IsosurfaceWorkspace::Row* rows) {
  const detail::CellCut* cuts = detail::cell_cuts();
  parallel_for(nodes.size(), rows_a_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      IsosurfaceWorkspace::Row counted{};
      const bool has_cells = nodes.j(row) + 1 < nodes.ny && nodes.k(row) + 1 < nodes.nz;
      for (std::size_t w = 0; w < nodes.words; ++w) {
        const Crossings crossings(nodes, inside, row, w);
        for (int c = 0; c < 3; ++c) counted.vertices[c] += std::popcount(crossings.along[c]);
        if (!has_cells) continue;
        const CellSigns cells(nodes, inside, row, w);
        each_bit(cells.cut, [&](int bit) { counted.triangles += cuts[cells.case_of(bit)].num_triangles; });
      }
      rows[row] = counted;
    }
  });
}

void place_vertices(const NodeRows& nodes, const Vec3& low, Real h, const Real* phi,
                    const std::uint64_t* inside, const IsosurfaceWorkspace::Row* rows, SurfaceMesh& out) {
  const std::ptrdiff_t stride[3] = {1, nodes.shape.stride(1), nodes.shape.stride(2)};
  const Index last[3] = {nodes.nx - 1, nodes.ny - 1, nodes.nz - 1};
  parallel_for(nodes.size(), rows_a_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      Index to[3] = {rows[row].vertices[0], rows[row].vertices[1], rows[row].vertices[2]};
      const Real* first = phi + nodes.first(row);
      for (std::size_t w = 0; w < nodes.words; ++w) {
        const Crossings crossings(nodes, inside, row, w);
        for (int axis = 0; axis < 3; ++axis)
          each_bit(crossings.along[axis], [&](int bit) {
            Index at[3] = {static_cast<Index>(64 * w) + bit, nodes.j(row), nodes.k(row)};
            const Real *a = first + at[0], *b = a + stride[axis];
            const Real share = std::clamp(*a / (*a - *b), Real(0), Real(1));
            // Central differences, one-sided where the layers end.
            const auto gradient = [&](const Real* p) {
              Vec3 g;
              for (int c = 0; c < 3; ++c) {
                const std::ptrdiff_t up = at[c] < last[c] ? stride[c] : 0, down = at[c] > 0 ? stride[c] : 0;
                g[c] = (p[up] - p[-down]) * (up != 0 && down != 0 ? Real(0.5) : Real(1));
              }
              return g;
            };
            Vec3 position(static_cast<Real>(at[0]), static_cast<Real>(at[1]), static_cast<Real>(at[2]));
            const Vec3 g = gradient(a);
            ++at[axis];
            const Vec3 normal = g + share * (gradient(b) - g);
            position[axis] += share;
            const Real length = normal.norm();
            const auto v = static_cast<std::size_t>(to[axis]++);
            out.x[v] = low + h * (position - Vec3::Constant(Real(0.5)));
            out.normals[v] =
                length > 0 ? Vec3(normal / length) : Vec3(Vec3::Unit(axis) * Real(*a < 0 ? 1 : -1));
          });
      }
    }
  });
}

void place_triangles(const NodeRows& nodes, const std::uint64_t* inside, const IsosurfaceWorkspace::Row* rows,
                     SurfaceMesh& out) {
  const detail::CellCut* cuts = detail::cell_cuts();
  const auto up = static_cast<std::size_t>(nodes.ny);
  parallel_for(nodes.size(), rows_a_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      if (nodes.j(row) + 1 == nodes.ny || nodes.k(row) + 1 == nodes.nz) continue;
      Index3* t = out.triangles.data() + rows[row].triangles;
      // Along x in four rows, along y in those of both k, along z in those of both j.
      const std::size_t of_list[8] = {row, row + 1, row + up, row + up + 1, row, row + up, row, row + 1};
      constexpr int axis_of_list[8] = {0, 0, 0, 0, 1, 1, 2, 2};
      Index before[8];
      for (int l = 0; l < 8; ++l) before[l] = rows[of_list[l]].vertices[axis_of_list[l]];
      for (std::size_t w = 0; w < nodes.words; ++w) {
        const CellSigns cells(nodes, inside, row, w);
        std::uint64_t crossed[8];
        for (int l = 0; l < 8; ++l)
          crossed[l] = Crossings(nodes, inside, of_list[l], w).along[axis_of_list[l]];
        each_bit(cells.cut, [&](int bit) {
          const std::uint64_t lower = (std::uint64_t{1} << bit) - 1;
          Index vertex[12];
          for (int l = 0; l < 4; ++l) vertex[l] = before[l] + std::popcount(crossed[l] & lower);
          for (int l = 4; l < 8; ++l) {
            // The two edges of the list at this node and the next: 4 a + o + 2 p with o along x.
            const int e = 4 * axis_of_list[l] + 2 * (l & 1);
            vertex[e] = before[l] + std::popcount(crossed[l] & lower);
            vertex[e + 1] = vertex[e] + static_cast<Index>(crossed[l] >> bit & 1);
          }
          const detail::CellCut& cut = cuts[cells.case_of(bit)];
          for (int m = 0; m < cut.num_triangles; ++m)
            *t++ = Index3(vertex[cut.edges[m][0]], vertex[cut.edges[m][1]], vertex[cut.edges[m][2]]);
        });
        for (int l = 0; l < 8; ++l) before[l] += std::popcount(crossed[l]);
      }
    }
  });
}

}  // namespace

void isosurface(const GridShape& shape, const Vec3& low, Real h, std::span<const Real> phi,
                IsosurfaceWorkspace& work, SurfaceMesh& out) {
  const NodeRows nodes(shape);
  work.inside.resize(nodes.size() * nodes.words);
  work.rows.resize(nodes.size());
  find_signs(nodes, phi.data(), work.inside.data());
  count(nodes, work.inside.data(), work.rows.data());
  Index vertices = 0, triangles = 0;
  for (IsosurfaceWorkspace::Row& row : work.rows) {
    for (Index& v : row.vertices) vertices += std::exchange(v, vertices);
    triangles += std::exchange(row.triangles, triangles);
  }
  out.x.resize(static_cast<std::size_t>(vertices));
  out.normals.resize(static_cast<std::size_t>(vertices));
  out.triangles.resize(static_cast<std::size_t>(triangles));
  place_vertices(nodes, low, h, phi.data(), work.inside.data(), work.rows.data(), out);
  place_triangles(nodes, work.inside.data(), work.rows.data(), out);
}

}  // namespace plenum::inline PLENUM_ABI
