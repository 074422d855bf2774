#pragma once
// Ground given by heights on a regular grid.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plenum/geometry/aabb.h"
#include "plenum/geometry/distance.h"
#include "plenum/geometry/mesh.h"
#include "plenum/geometry/ray.h"
#include "plenum/geometry/surface_features.h"

namespace plenum::inline PLENUM_ABI {

/// A surface y = h(x, z) over a rectangle about the y axis; what lies below it is solid, down without end,
/// and the rectangle's border has no walls. Grid point (i, k) has number k columns + i and lies at
/// x = (i - (columns - 1) / 2) spacing, z likewise with k. Each cell is cut from its corner (i, k) to
/// (i + 1, k + 1): triangle 2 c is the half that holds (i, k + 1), 2 c + 1 the one with (i + 1, k), where
/// c = k (columns - 1) + i. A pyramid of least and greatest heights makes queries fast (Williams 1983's
/// pyramids with extremes in place of means, as in Tevs, Ihrke & Seidel 2008, "Maximum mipmaps").
class HeightField {
 public:
  /// heights [rows * columns] m, finite; columns, rows >= 2; spacing [m] > 0. Throws Error otherwise.
  HeightField(Index columns, Index rows, Real spacing, std::span<const Real> heights);

  Index columns() const { return columns_; }
  Index rows() const { return rows_; }
  Real spacing() const { return spacing_; }
  std::span<const Real> heights() const { return heights_; }
  Aabb bounds() const;

  Vec3 vertex(Index i, Index k) const {
    return {(Real(i) - Real(0.5) * Real(columns_ - 1)) * spacing_, heights_[std::size_t(k * columns_ + i)],
            (Real(k) - Real(0.5) * Real(rows_ - 1)) * spacing_};
  }
  Vec3 vertex(Index number) const { return vertex(number % columns_, number / columns_); }
  /// Numbers of a triangle's corners, counter-clockwise from above.
  Index3 corners(Index triangle) const;
  /// The corners' numbers and places.
  void fetch(Index triangle, Index3& v, Vec3 (&x)[3]) const;
  /// Corner of the neighbour across side `side`; -1 on the border.
  Index opposite(Index triangle, int side) const;
  SideBits sides(Index triangle) const { return sides_[std::size_t(triangle)]; }
  /// The triangle above or below (x, z), the nearest one outside the rectangle.
  Index triangle_at(Real x, Real z) const;
  bool covers(Real x, Real z) const;

  /// Calls visit(triangle) for the triangles of all cells whose box overlaps `box`, in a fixed order.
  template <class Visit>
  void overlapping(const Aabb& box, Visit&& visit) const {
    // A few cells are walked one by one.
    const Index2 i = cells_between(box.low[0], box.high[0], columns_),
                 k = cells_between(box.low[2], box.high[2], rows_);
    constexpr std::int64_t few = 1024;
    if (std::int64_t(i[1] - i[0]) * (k[1] - k[0]) <= few) {
      for (Index row = k[0]; row < k[1]; ++row)
        for (Index column = i[0]; column < i[1]; ++column) {
          const Index cell = row * (columns_ - 1) + column;
          const Vec2& e = extremes_[std::size_t(cell)];
          if (e[0] > box.high[1] || e[1] < box.low[1]) continue;
          visit(2 * cell);
          visit(2 * cell + 1);
        }
      return;
    }
    Stack stack;
    stack.push({Index(levels_.size()) - 1, 0, 0});
    while (stack.size > 0) {
      const Cell c = stack.pop();
      if (!box_of(c).overlaps(box)) continue;
      if (c.level == 0) {
        const Index cell = c.k * (columns_ - 1) + c.i;
        visit(2 * cell);
        visit(2 * cell + 1);
      } else {
        each_child(c, [&](const Cell& child) { stack.push(child); });
      }
    }
  }

  /// Calls visit(p, q) for the pieces of the border beside which `box` is.
  template <class Visit>
  void border(const Aabb& box, Visit&& visit) const {
    const Index2 i = cells_between(box.low[0], box.high[0], columns_),
                 k = cells_between(box.low[2], box.high[2], rows_);
    const auto is_between = [&](const Vec3& p, int axis) {
      return p[axis] >= box.low[axis] && p[axis] <= box.high[axis];
    };
    for (const Index row : {Index(0), rows_ - 1})
      for (Index c = i[0]; c < i[1] && is_between(vertex(0, row), 2); ++c)
        visit(vertex(c, row), vertex(c + 1, row));
    for (const Index column : {Index(0), columns_ - 1})
      for (Index c = k[0]; c < k[1] && is_between(vertex(column, 0), 0); ++c)
        visit(vertex(column, c), vertex(column, c + 1));
  }
  /// Branch and bound for the triangle that comes first, as Bvh::front_to_back().
  template <class Key, class Visit>
  void front_to_back(const double& most, Key&& key, Visit&& visit) const {
    struct Far {
      Cell cell;
      double key;
    } stack[4 * 32];
    int size = 0;
    const auto push = [&](const Cell& c) {
      const double k = key(box_of(c));
      if (k <= most) stack[size++] = {c, k};
    };
    push({Index(levels_.size()) - 1, 0, 0});
    while (size > 0) {
      const Far top = stack[--size];
      if (!(top.key <= most)) continue;
      if (top.cell.level == 0) {
        const Index cell = top.cell.k * (columns_ - 1) + top.cell.i;
        visit(2 * cell);
        visit(2 * cell + 1);
        continue;
      }
      const int first = size;
      each_child(top.cell, push);
      std::sort(stack + first, stack + size, [](const Far& l, const Far& r) { return l.key > r.key; });
    }
  }

  /// Exact distance to the surface, negative below it.
  SignedDistance<Real> signed_distance(const Vec3& x) const;
  /// First surface point of a ray, from either side.
  std::optional<RayHit> intersect(const Ray& ray) const;

 private:
  struct Level {
    Index columns, rows;  // of cells
    std::size_t first;
  };
  struct Cell {
    Index level, i, k;
    Real key = 0;
  };
  struct Stack {
    Cell cells[4 * 32];
    int size = 0;
    void push(const Cell& c) { cells[size++] = c; }
    Cell pop() { return cells[--size]; }
  };
  /// First cell, and one past the last, of those between two coordinates, which may be infinite.
  Index2 cells_between(Real low, Real high, Index points) const;
  Aabb box_of(const Cell& c) const;
  template <class Visit>
  void each_child(const Cell& c, Visit&& visit) const {
    const Level& below = levels_[std::size_t(c.level - 1)];
    for (Index k = 2 * c.k; k < std::min(2 * c.k + 2, below.rows); ++k)
      for (Index i = 2 * c.i; i < std::min(2 * c.i + 2, below.columns); ++i) visit(Cell{c.level - 1, i, k});
  }

  Index columns_, rows_;
  Real spacing_;
  std::vector<Real> heights_;
  std::vector<Level> levels_;  // of the pyramid, cells first
  std::vector<Vec2> extremes_;
  std::vector<SideBits> sides_;
};

/// Its surface as triangles, numbered as above.
TriangleMesh height_field_mesh(const HeightField& field);

}  // namespace plenum::inline PLENUM_ABI
