#pragma once
// Lines that show a shape: edges, and circles of what is round.
#include <vector>

#include "plenum/geometry/mesh.h"
#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {

/// Line segments between points.
struct Wireframe {
  std::vector<Vec3> x;           ///< [N] m
  std::vector<Index2> segments;  ///< indices into x

  void clear() { x.clear(), segments.clear(); }
  void add(const Vec3& a, const Vec3& b);
};

/// The arc from `start` (m, relative to the centre) by `angle` [rad] about the unit axis, in chords of at
/// most 11.25 degrees; a circle for 2 pi.
void add_arc(const Vec3& centre, const Vec3& axis, const Vec3& start, Real angle, Wireframe& out);

/// The twelve edges of a box.
void add_box(const Aabb& box, Wireframe& out);

/// The lines of a shape placed at `pose`, all of them on its surface but for chords of circles: edges of
/// boxes, hulls, height fields and meshes (of these where faces meet at more than 15 degrees, or end), three
/// great circles of a sphere, and rims and sides of what is round about an axis. A plane, which has no end,
/// has none.
void add_wireframe(const Shape& shape, const Pose& pose, Wireframe& out);

}  // namespace plenum::inline PLENUM_ABI
