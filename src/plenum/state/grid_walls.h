#pragma once
// Walls thinner than the cells of a grid: what they separate stays apart.
//
// Distances at the corners of cells do not see a wall that stands between them. What does are segments: two
// cells whose centres no straight or once broken way through the face between them joins are on two sides of
// something, and the face is closed. The ways are found by rays against the solid's own surface, so that a
// closed surface leaves no face open between within and without, however thin it is. The idea of telling
// sides by crossings rather than by signs: Guendelman, Selle, Losasso & Fedkiw 2005, "Coupling water and
// smoke to thin deformable and rigid shells", section 4.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plenum/geometry/shape.h"
#include "plenum/state/grid.h"

namespace plenum::inline PLENUM_ABI {

/// The least width [m] that a solid is known to have everywhere; 0: of meshes and hulls nothing is known.
Real least_width(const Shape& solid);
/// Whether it may have walls that the corners of cells of side h [m] do not see.
inline bool may_be_thin(const Shape& solid, Real h) {
  return least_width(solid) < 2 * h;
}

/// A solid where it stands, as ways of particles and of sight meet it.
struct GridWall {
  Shape shape;
  Pose pose;
  Aabb bounds;  ///< [m] in the world
  GridWall(const Shape& solid, const Pose& at) : shape(solid), pose(at), bounds(solid.bounds(at)) {}
  bool blocks(const Vec3& a, const Vec3& b) const;
  /// x, or if that is in the solid the nearest place outside, `gap` [m] before the surface.
  Vec3 beside(const Vec3& x, Real gap, bool flat) const;
};

/// How far surfaces are at least from everywhere in the cells near walls: a way that is shorter needs no look
/// at them. A cell has 4^3 parts (4^2 of a flat grid).
struct WallClearance {
  static constexpr int parts = 4;  ///< along an axis
  bool is_flat = false;
  std::vector<std::uint32_t> first;  ///< [shape.size()] of a cell's parts in `least`; far: none
  std::vector<std::uint8_t> least;   ///< [h / 64]
  static constexpr std::uint32_t far = ~0u;

  /// Of cells that near[shape.size()] marks.
  void find(const GridShape& shape, const Vec3& low, Real h, std::span<const GridWall> walls,
            std::span<const std::uint8_t> near);
  /// [h] at the part t of the way through the cell, 0 <= t < 1; negative: it is not near.
  Real at(std::size_t cell, const std::array<Real, 3>& t) const {
    if (first[cell] == far) return -1;
    std::uint32_t part = 0;
    for (std::size_t a = is_flat ? 2 : 3; a-- > 0;)
      part = parts * part + std::min(static_cast<std::uint32_t>(parts * t[a]), std::uint32_t{parts - 1});
    return Real(least[first[cell] + part]) / 64;
  }
};

/// Closes faces that separate what the wall keeps apart. Faces on the box's sides stay as they are, but for
/// those across `periodic` axes.
void close_walls(const GridShape& shape, const Vec3& low, Real h, const GridWall& wall, FaceField& open,
                 const std::array<bool, 3>& periodic = {});

/// Where something stops that goes from x0 to x1 [m] among walls; it slides along them. The way from x0 to
/// the result, straight or broken, crosses none, and ends `gap` [m] before what it met. Where no such place
/// is found it stays where it was.
struct WallStop {
  Vec3 x;
  int num_met = 0;
  std::array<Vec3, 3> normal;       ///< [num_met] of those met, towards where it came from
  std::array<std::size_t, 3> wall;  ///< [num_met] which these are of
};
WallStop stop_at_walls(std::span<const GridWall> walls, const Vec3& x0, const Vec3& x1, Real gap, bool flat);

}  // namespace plenum::inline PLENUM_ABI
