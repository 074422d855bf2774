#pragma once
// Triangles of polygons.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Cuts polygons into triangles by clipping ears (Meisters 1975): a corner is an ear if it is convex and no
/// other corner lies in its triangle. A grid of the reflex corners, the only ones that can, makes it near
/// linear for shapes met in practice. Keeps scratch memory between polygons.
class PolygonTriangulator {
 public:
  /// Ear clipping is quadratic in the worst case; `max_work` bounds the number of corner-in-triangle tests
  /// over the triangulator's life.
  explicit PolygonTriangulator(std::uint64_t max_work = 200'000'000) : work_left_(max_work) {}

  /// The n - 2 triangles [n-2][3] < n of a polygon with corners
  /// [n >= 3] m, nearly planar, convex or concave, in the polygon's orientation. What is left of one that
  /// crosses itself, and polygons without area, become fans. Returns an empty span if the work is used up.
  /// The result is valid until the next call.
  std::span<const Index3> triangulate(std::span<const Vec3> corners);

 private:
  void sort_reflex_corners();
  Index column_of(double x) const;
  Index row_of(double y) const;
  bool is_ear(Index corner, bool strict);

  std::uint64_t work_left_;
  std::vector<std::array<double, 2>> p_;
  std::vector<Index> next_, before_, reflex_;
  Index side_ = 1;  ///< of the grid, in cells
  std::array<double, 2> low_{}, scale_{};
  std::vector<Index> cell_begin_, cell_items_;  ///< reflex corners by cell
  std::vector<Index3> triangles_;
};

}  // namespace plenum::inline PLENUM_ABI
