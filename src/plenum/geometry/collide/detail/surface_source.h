#pragma once
// Meshes and height fields as contacts see them: triangles in a hierarchy, what surrounds them, and
// distances.
#include <algorithm>
#include <limits>

#include "plenum/geometry/collide/detail/core.h"
#include "plenum/geometry/height_field.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum::inline PLENUM_ABI::detail {

struct MeshSource {
  const SolidMesh& solid;

  template <class Visit>
  void overlapping(const Aabb& box, Visit&& visit) const {
    solid.exact.bvh().overlapping(box, visit);
  }
  /// Calls visit(triangle) for the triangles of leaves that meet `box`, unless is_near(centre, radius [m]) is
  /// false of a ball around them.
  template <class IsNear, class Visit>
  void near(const Aabb& box, IsNear&& is_near, Visit&& visit) const {
    const Bvh& tree = solid.exact.bvh();
    Index stack[Bvh::max_depth + 2];
    int size = 0;
    stack[size++] = 0;
    while (size > 0) {
      const Bvh::Node& node = tree.nodes()[static_cast<std::size_t>(stack[--size])];
      if (!Aabb{node.low, node.high}.overlaps(box)) continue;
      if (!is_near(Vec3(Real(0.5) * (node.low + node.high)), Real(0.5) * (node.high - node.low).norm()))
        continue;
      if (node.count == 0) {
        stack[size++] = node.first + 1;
        stack[size++] = node.first;
        continue;
      }
      for (Index i = node.first; i < node.first + node.count; ++i)
        visit(tree.order()[static_cast<std::size_t>(i)]);
    }
  }
  void fetch(Index t, Index3& v, Vec3 (&x)[3]) const {
    v = solid.mesh.triangles[static_cast<std::size_t>(t)];
    for (int k = 0; k < 3; ++k) x[k] = solid.mesh.x[static_cast<std::size_t>(v[k])];
  }
  Point vertex(Index v) const { return solid.mesh.x[static_cast<std::size_t>(v)].cast<double>(); }
  Index opposite(Index t, int side) const {
    return solid.features.opposite[static_cast<std::size_t>(t)][side];
  }
  SideBits sides(Index t) const { return solid.features.sides[static_cast<std::size_t>(t)]; }
  bool owns_corner(Index t, int k) const { return solid.features.owns[static_cast<std::size_t>(t)] >> k & 1; }
  bool owns_side(Index t, int k) const {
    return solid.features.owns[static_cast<std::size_t>(t)] >> (3 + k) & 1;
  }
  Point outward(Index v) const { return solid.features.normals[static_cast<std::size_t>(v)].cast<double>(); }
  template <class Test>
  bool all_neighbours(Index v, Test&& test) const {
    for (Index q : solid.features.neighbours[static_cast<std::size_t>(v)])
      if (!test(q)) return false;
    return true;
  }

  Aabb bounds() const { return solid.exact.bounds(); }
  /// Least half extent [m] of what may be smaller than the shape that it meets.
  double least_extent() const {
    return solid.features.is_closed ? static_cast<double>(Real(0.5) * bounds().size().minCoeff())
                                    : std::numeric_limits<double>::infinity();
  }
  /// How deep [m] another may be inside before it is nearer to the other side; open meshes have no inside.
  Real half_width() const {
    return solid.features.is_closed ? solid.half_width : std::numeric_limits<Real>::infinity();
  }
  /// At most the distance to the surface, negative inside. Between nodes the field errs by less than half of
  /// its spacing h: h/4 at a ridge of slopes +-1, 0.43 h at a spike in the middle of a cell. Of open meshes
  /// only its size is of use, as beside them a winding number tells no side.
  Real least_distance(const Vec3& x) const {
    const Real d = solid.field.distance(x), h = solid.field.spacing();
    return solid.features.is_closed ? d - Real(0.5) * h : std::abs(d) - h;
  }
  /// Exact distance; false where an open mesh cannot tell it, beyond its border.
  bool distance(const Vec3& x, SignedDistance<Real>& d) const {
    if (solid.features.is_closed) {
      d = solid.exact_distance(x);
      return true;
    }
    Index t = -1;
    d = solid.exact.signed_distance(x, t);
    if (d.distance >= 0 || t < 0) return t >= 0;
    Index3 v;
    Vec3 corner[3];
    fetch(t, v, corner);
    const Vec3 face = (corner[1] - corner[0]).cross(corner[2] - corner[0]);
    return face.dot(d.normal) >= Real(0.999) * face.norm();
  }

  /// Surface point and normal towards which a point inside is pushed out.
  bool way_out(const Point& x, Point& surface, Point& normal) const {
    const Vec3 at = x.cast<Real>();
    if (!solid.features.is_closed || !solid.exact.bounds().contains(at) || solid.field.distance(at) > 0)
      return false;
    const SignedDistance<Real> d = solid.exact.signed_distance(at);
    if (!(d.distance < 0)) return false;
    normal = d.normal.cast<double>();
    surface = x - static_cast<double>(d.distance) * normal;
    return true;
  }
};

struct HeightSource {
  const HeightField& field;

  template <class Visit>
  void overlapping(const Aabb& box, Visit&& visit) const {
    field.overlapping(box, visit);
  }
  template <class IsNear, class Visit>
  void near(const Aabb& box, IsNear&& is_near, Visit&& visit) const {
    field.overlapping(box, [&](Index t) {
      Index3 v;
      Vec3 x[3];
      field.fetch(t, v, x);
      Aabb bounds;
      for (const Vec3& p : x) bounds.extend(p);
      if (bounds.overlaps(box) && is_near(bounds.centre(), Real(0.5) * bounds.size().norm())) visit(t);
    });
  }
  void fetch(Index t, Index3& v, Vec3 (&x)[3]) const { field.fetch(t, v, x); }
  Point vertex(Index v) const { return field.vertex(v).cast<double>(); }
  Index opposite(Index t, int side) const { return field.opposite(t, side); }
  SideBits sides(Index t) const { return field.sides(t); }
  /// Grid points belong to the cell east and south of them, at the far borders to the last one.
  bool owns_corner(Index t, int k) const {
    const Index cell = t / 2, i = cell % (field.columns() - 1), row = cell / (field.columns() - 1);
    const bool last_i = i == field.columns() - 2, last_k = row == field.rows() - 2;
    if (t % 2 == 0) return k == 0 || (k == 1 && last_k) || (k == 2 && last_i && last_k);
    return k == 2 && last_i;
  }
  bool owns_side(Index t, int k) const {
    const Index cell = t / 2, i = cell % (field.columns() - 1), row = cell / (field.columns() - 1);
    if (t % 2 == 0) return k != 1 || row == field.rows() - 2;
    return k == 2 || (k == 1 && i == field.columns() - 2);
  }
  Point outward(Index) const { return Point::UnitY(); }
  template <class Test>
  bool all_neighbours(Index v, Test&& test) const {
    const Index i = v % field.columns(), k = v / field.columns();
    constexpr int steps[6][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {1, 1}, {-1, -1}};
    for (const auto& s : steps) {
      const Index at_i = i + s[0], at_k = k + s[1];
      if (at_i < 0 || at_k < 0 || at_i >= field.columns() || at_k >= field.rows()) continue;
      if (!test(at_k * field.columns() + at_i)) return false;
    }
    return true;
  }

  /// Down without end.
  Aabb bounds() const {
    Aabb box = field.bounds();
    box.low[1] = -std::numeric_limits<Real>::infinity();
    return box;
  }
  double least_extent() const { return std::numeric_limits<double>::infinity(); }
  Real half_width() const { return std::numeric_limits<Real>::infinity(); }
  Real least_distance(const Vec3& x) const { return field.signed_distance(x).distance; }
  bool distance(const Vec3& x, SignedDistance<Real>& d) const {
    d = field.signed_distance(x);
    return field.covers(x[0], x[2]);
  }

  bool way_out(const Point& x, Point& surface, Point& normal) const {
    const Real east = static_cast<Real>(x[0]), south = static_cast<Real>(x[2]);
    if (!field.covers(east, south)) return false;
    const Index3 v = field.corners(field.triangle_at(east, south));
    surface = vertex(v[0]);
    normal = (vertex(v[1]) - surface).cross(vertex(v[2]) - surface).normalized();
    return normal.dot(x - surface) < 0;
  }
};

}  // namespace plenum::inline PLENUM_ABI::detail
