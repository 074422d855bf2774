#include "plenum/geometry/shape_mass.h"

#include <numbers>

#include "plenum/geometry/convex_hull.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using D3 = Vector3<double>;
constexpr double pi = std::numbers::pi;

struct Measure {
  /// A body of revolution about y.
  static MassProperties round(double volume, double axial, double across) {
    MassProperties m;
    m.volume = m.mass = volume;
    m.inertia = D3(across, axial, across).asDiagonal();
    return m;
  }
  MassProperties operator()(const SphereShape& s) const {
    const double r = double(s.radius), v = 4.0 / 3 * pi * r * r * r;
    return round(v, 0.4 * v * r * r, 0.4 * v * r * r);
  }
  MassProperties operator()(const BoxShape& s) const {
    const D3 h = s.half_extents.cast<double>(), q = h.cwiseProduct(h);
    MassProperties m;
    m.volume = m.mass = 8 * h.prod();
    m.inertia = (m.volume / 3 * D3(q.y() + q.z(), q.x() + q.z(), q.x() + q.y())).asDiagonal();
    return m;
  }
  MassProperties operator()(const CylinderShape& s) const {
    const double r = double(s.radius), l = 2 * double(s.half_height), v = pi * r * r * l;
    return round(v, v * r * r / 2, v * (3 * r * r + l * l) / 12);
  }
  MassProperties operator()(const ConeShape& s) const {
    const double r = double(s.radius), l = 2 * double(s.half_height), v = pi * r * r * l / 3;
    MassProperties m = round(v, 0.3 * v * r * r, v * (0.15 * r * r + 0.0375 * l * l));
    m.centre = D3(0, -l / 4, 0);
    return m;
  }
  MassProperties operator()(const CapsuleShape& s) const {
    const double r = double(s.radius), l = 2 * double(s.half_height);
    const double tube = pi * r * r * l, ends = 4.0 / 3 * pi * r * r * r;
    // A half ball's centre of mass is 3 r / 8 from its flat side.
    return round(tube + ends, tube * r * r / 2 + ends * 0.4 * r * r,
                 tube * (3 * r * r + l * l) / 12 + ends * (0.4 * r * r + l * l / 4 + 3.0 / 8 * l * r));
  }
  MassProperties operator()(const TorusShape& s) const {
    const double a = double(s.major_radius), r = double(s.minor_radius), v = 2 * pi * pi * a * r * r;
    return round(v, v * (a * a + 0.75 * r * r), v * (a * a / 2 + 0.625 * r * r));
  }
  MassProperties operator()(const ConvexHullShape& s) const {
    const TriangleMesh mesh = triangulate(*s.hull);
    return mass_properties(mesh.x, mesh.triangles, 1);
  }
  MassProperties operator()(const PlaneShape&) const { return {}; }
  MassProperties operator()(const MeshShape&) const { return {}; }
  MassProperties operator()(const HeightFieldShape&) const { return {}; }
};

}  // namespace

MassProperties mass_properties(const Shape& shape) {
  return std::visit(Measure{}, shape.variant());
}

}  // namespace plenum::inline PLENUM_ABI
