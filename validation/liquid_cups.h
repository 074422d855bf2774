#pragma once
// Vessels made of meshes, with walls of a fraction of a cell.
#include <cmath>
#include <vector>

#include "plenum/geometry/shapes.h"
#include "plenum/solvers/liquid/liquid.h"

namespace plenum::validation {

/// A round vessel about the y axis, from y = 0 to its height [m].
struct Vessel {
  double radius = 0.3, height = 0.6, wall = 0.006;  ///< [m] outer
  Index segments = 64;
  bool has_lid = false;

  TriangleMesh mesh() const {
    const auto at = [](double r, double y) { return Vec2(static_cast<Real>(r), static_cast<Real>(y)); };
    const double in = radius - wall;
    if (!has_lid)
      return revolved_mesh(std::vector<Vec2>{at(0, 0), at(radius, 0), at(radius, height), at(in, height),
                                             at(in, wall), at(0, wall)},
                           segments);
    TriangleMesh out = revolved_mesh(
        std::vector<Vec2>{at(0, 0), at(radius, 0), at(radius, height), at(0, height)}, segments);
    const TriangleMesh room = revolved_mesh(
        std::vector<Vec2>{at(0, height - wall), at(in, height - wall), at(in, wall), at(0, wall)}, segments);
    const auto first = static_cast<Index>(out.x.size());
    out.x.insert(out.x.end(), room.x.begin(), room.x.end());
    for (const Index3& t : room.triangles) out.triangles.push_back(t + Index3::Constant(first));
    return out;
  }
  /// Whether a point of the vessel's frame is within its room, below its rim.
  bool holds(const Vec3& x) const {
    // Of the polygon that the circle is: the nearest side's distance from the axis.
    const double side = 2 * std::acos(-1.0) / segments, angle = std::atan2(double(-x.z()), double(x.x()));
    const double from_middle = angle - (std::floor(angle / side) + 0.5) * side;
    const double across = std::hypot(double(x.x()), double(x.z())) * std::cos(from_middle);
    return across < (radius - wall) * std::cos(side / 2) && double(x.y()) > wall &&
           double(x.y()) < height - (has_lid ? wall : 0);
  }
};

/// A tank a metre wide, of n cells, with what fills a vessel to `level` [m] over its ground; not the vessel.
inline Liquid::Spec content_of(const Vessel& vessel, const Vec3& position, const Vec3& degrees, double level,
                               int n, bool flat) {
  Liquid::Spec spec;
  spec.spacing = static_cast<Real>(1.0 / n);
  spec.cells_x = spec.cells_y = n, spec.cells_z = flat ? 1 : n;
  spec.low = Vec3(Real(-0.5), 0, flat ? -spec.spacing / 2 : Real(-0.5));
  LiquidFill fill;
  fill.shape = GridSolid::Kind::cylinder;
  // Not through the walls, to where jittered places may be.
  const double room = (vessel.radius - vessel.wall) * std::cos(std::acos(-1.0) / vessel.segments);
  fill.radius = static_cast<Real>(room - 0.3 / n);
  fill.half_height = static_cast<Real>(level / 2);
  fill.position = Pose{position, rotation_from_degrees(degrees)} *
                  Vec3(0, static_cast<Real>(vessel.wall + 0.3 / n + level / 2), 0);
  fill.rotation = degrees;
  spec.fill = {fill};
  return spec;
}

}  // namespace plenum::validation
