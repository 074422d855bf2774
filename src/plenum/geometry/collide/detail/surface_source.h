#pragma once
// Meshes and height fields as contacts see them: triangles in a hierarchy, what surrounds them, and
// distances.
#include <algorithm>
#include <limits>
#include <optional>

#include "plenum/geometry/collide/detail/core.h"
#include "plenum/geometry/collide/detail/reduce.h"
#include "plenum/geometry/convex_hull.h"
#include "plenum/geometry/height_field.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum::inline PLENUM_ABI::detail {

/// Directions from an edge (p, q) into its faces, across it. apex: corners of the faces beside the edge's.
inline Point into_face(const Point& p, const Point& q, const Point& apex) {
  const Point along = q - p, to = apex - p;
  return (to - to.dot(along) / along.squaredNorm() * along).normalized();
}

/// What triangle t of a source speaks for that meets the box: on_vertex(number, x), and of convex edges
/// on_edge(p, q, id, into), where into(side) is the unit direction across the edge into one of its two faces,
/// at a border straight behind the only one.
template <class Source, class OnVertex, class OnEdge>
void features_of_triangle(const Source& source, Index t, const Aabb& box, OnVertex&& on_vertex,
                          OnEdge&& on_edge) {
  Index3 v;
  Vec3 x[3];
  source.fetch(t, v, x);
  const SideBits sides = source.sides(t);
  for (int k = 0; k < 3; ++k) {
    const int next = (k + 1) % 3;
    if (source.owns_corner(t, k) && box.contains(x[k])) on_vertex(v[k], x[k]);
    if (!(sides >> k & 1u) || !source.owns_side(t, k)) continue;
    if (!Aabb{x[k].cwiseMin(x[next]), x[k].cwiseMax(x[next])}.overlaps(box)) continue;
    const auto into = [&, k, next](int side) {
      const Point p = x[k].template cast<double>(), q = x[next].template cast<double>();
      const Point here = into_face(p, q, x[(k + 2) % 3].template cast<double>());
      if (side == 0) return here;
      const Index apex = source.opposite(t, k);
      return apex >= 0 ? into_face(p, q, source.vertex(apex)) : Point(here.cross(q - p).normalized());
    };
    on_edge(x[k], x[next],
            mix(static_cast<std::uint32_t>(std::min(v[k], v[next])),
                static_cast<std::uint32_t>(std::max(v[k], v[next]))),
            into);
  }
}

/// Whether the neighbours of vertex v lie behind it along the unit direction d: whether d is in its normal
/// cone, up to a sine.
template <class Source>
bool is_outermost_vertex(const Source& source, Index v, const Point& d, double sine) {
  if (d.dot(source.outward(v)) <= 0) return false;  // the lowest point of a pit has all on one side, too
  const Point from = source.vertex(v);
  return source.all_neighbours(v, [&](Index q) {
    const Point side = source.vertex(q) - from;
    return d.dot(side) <= sine * side.norm();
  });
}

/// A mesh, `scale` times as large.
struct MeshSource {
  const SolidMesh& solid;
  Real scale = 1, back = 1 / scale;
  mutable Index near = -1;  // nearest triangle of the last exact distance: the next place is close by

  explicit MeshSource(const MeshShape& shape) : solid(*shape.solid), scale(shape.scale) {}

  template <class Visit>
  void overlapping(const Aabb& box, Visit&& visit) const {
    solid.exact.bvh().overlapping(box.scaled(back), visit);
  }
  /// Vertices and convex edges of triangles in leaves that meet `box`, unless is_near(centre, radius [m]) is
  /// false of a ball around them; each once, though some may be outside.
  template <class IsNear, class OnVertex, class OnEdge>
  void features(const Aabb& box, IsNear&& is_near, OnVertex&& on_vertex, OnEdge&& on_edge) const {
    const Bvh& tree = solid.exact.bvh();
    Index stack[Bvh::max_depth + 2];
    int size = 0;
    stack[size++] = 0;
    while (size > 0) {
      const Bvh::Node& node = tree.nodes()[static_cast<std::size_t>(stack[--size])];
      const Aabb bounds = Aabb{node.low, node.high}.scaled(scale);
      if (!bounds.overlaps(box) || !is_near(bounds.centre(), Real(0.5) * bounds.size().norm())) continue;
      if (node.count == 0) {
        stack[size++] = node.first + 1;
        stack[size++] = node.first;
        continue;
      }
      for (Index i = node.first; i < node.first + node.count; ++i)
        features_of_triangle(*this, tree.order()[static_cast<std::size_t>(i)], box, on_vertex, on_edge);
    }
  }
  void fetch(Index t, Index3& v, Vec3 (&x)[3]) const {
    v = solid.mesh.triangles[static_cast<std::size_t>(t)];
    for (int k = 0; k < 3; ++k) x[k] = scale * solid.mesh.x[static_cast<std::size_t>(v[k])];
  }
  Point vertex(Index v) const {
    return Vec3(scale * solid.mesh.x[static_cast<std::size_t>(v)]).cast<double>();
  }
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

  Aabb bounds() const { return solid.exact.bounds().scaled(scale); }
  /// Least half extent [m] of what may be smaller than the shape that it meets.
  double least_extent() const {
    return solid.features.is_closed ? static_cast<double>(Real(0.5) * bounds().size().minCoeff())
                                    : std::numeric_limits<double>::infinity();
  }
  /// How deep [m] another may be inside before it is nearer to the other side; open meshes have no inside.
  Real half_width() const {
    return solid.features.is_closed ? scale * solid.half_width : std::numeric_limits<Real>::infinity();
  }
  /// Whether the field alone tells that x is farther outside than `reach` [m]. Between nodes it errs by less
  /// than half of its spacing h: h/4 at a ridge of slopes +-1, 0.43 h at a spike in the middle of a cell. Of
  /// open meshes only its size is of use, as beside them a winding number tells no side.
  bool is_far(const Vec3& x, Real reach) const {
    const Real d = scale * solid.field.distance(back * x), h = scale * solid.field.spacing();
    return (solid.features.is_closed ? d - Real(0.5) * h : std::abs(d) - h) > reach;
  }
  /// The same, by the triangles where the field is too coarse to tell.
  bool is_beyond(const Vec3& x, Real reach) const {
    if (is_far(x, reach)) return true;
    if (reach > scale * solid.field.spacing()) return false;
    const Real d = scale * solid.exact.signed_distance(back * x, near).distance;
    return (solid.features.is_closed ? d : std::abs(d)) > reach;
  }
  /// Exact distance; false where an open mesh cannot tell it, beyond its border.
  bool distance(const Vec3& x, SignedDistance<Real>& d) const {
    const bool by_winding = solid.features.is_closed && solid.field.by_winding();
    d = by_winding ? solid.exact_distance(back * x) : solid.exact.signed_distance(back * x, near);
    d.distance *= scale;
    if (solid.features.is_closed || d.distance >= 0) return std::isfinite(d.distance);
    Index3 v;
    Vec3 corner[3];
    fetch(near, v, corner);
    const Vec3 face = (corner[1] - corner[0]).cross(corner[2] - corner[0]);
    return face.dot(d.normal) >= Real(0.999) * face.norm();
  }

  /// As Bvh::front_to_back().
  template <class Key, class Visit>
  void front_to_back(const double& most, Key&& key, Visit&& visit) const {
    solid.exact.bvh().front_to_back(
        most, [&](const Aabb& box) { return key(box.scaled(scale)); }, visit);
  }
  /// What bounds the solid besides its triangles: nothing.
  template <class Visit>
  void walls(const Aabb&, Visit&&) const {}
  /// Exact distance, negative inside of a closed mesh; open ones have no inside.
  SignedDistance<Real> solid_distance(const Vec3& x) const {
    SignedDistance<Real> d = solid.features.is_closed ? solid.exact_distance(back * x)
                                                      : solid.exact.unsigned_distance(back * x, near);
    d.distance *= scale;
    return d;
  }
  bool is_inside(const Point& x) const {
    const Vec3 at = x.cast<Real>();
    return solid.features.is_closed && bounds().contains(at) && solid_distance(at).distance < 0;
  }

  /// Where a ray from x meets the surface.
  std::optional<RayHit> first_hit(const Vec3& x, const Vec3& direction, Real t_max) const {
    return solid.exact.intersect({back * x, back * direction, 0, t_max});
  }

  /// Surface point and normal towards which a point inside is pushed out.
  bool way_out(const Point& x, Point& surface, Point& normal) const {
    const Vec3 here = x.cast<Real>(), at = back * here;
    if (!solid.features.is_closed || !solid.exact.bounds().contains(at) || is_far(here, 0)) return false;
    const SignedDistance<Real> d = solid.exact_distance(at);
    if (!(d.distance < 0)) return false;
    normal = d.normal.cast<double>();
    surface = x - static_cast<double>(scale * d.distance) * normal;
    return true;
  }
};

/// A height field, `scale` times as large.
struct HeightSource {
  const HeightField& field;
  Real scale = 1, back = 1 / scale;

  explicit HeightSource(const HeightFieldShape& shape) : field(*shape.field), scale(shape.scale) {}

  template <class Visit>
  void overlapping(const Aabb& box, Visit&& visit) const {
    field.overlapping(box.scaled(back), visit);
  }
  template <class IsNear, class OnVertex, class OnEdge>
  void features(const Aabb& box, IsNear&& is_near, OnVertex&& on_vertex, OnEdge&& on_edge) const {
    overlapping(box, [&](Index t) {
      Index3 v;
      Vec3 x[3];
      fetch(t, v, x);
      Aabb bounds;
      for (const Vec3& p : x) bounds.extend(p);
      if (bounds.overlaps(box) && is_near(bounds.centre(), Real(0.5) * bounds.size().norm()))
        features_of_triangle(*this, t, box, on_vertex, on_edge);
    });
  }
  void fetch(Index t, Index3& v, Vec3 (&x)[3]) const {
    field.fetch(t, v, x);
    if (scale == 1) return;  // reading again what was just written costs more than all the rest
    for (Vec3& corner : x) corner *= scale;
  }
  Point vertex(Index v) const { return Vec3(scale * field.vertex(v)).cast<double>(); }
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
    Aabb box = field.bounds().scaled(scale);
    box.low[1] = -std::numeric_limits<Real>::infinity();
    return box;
  }
  double least_extent() const { return std::numeric_limits<double>::infinity(); }
  Real half_width() const { return std::numeric_limits<Real>::infinity(); }
  bool is_far(const Vec3& x, Real reach) const { return is_beyond(x, reach); }
  bool is_beyond(const Vec3& x, Real reach) const {
    return scale * field.signed_distance(back * x).distance > reach;
  }
  bool distance(const Vec3& x, SignedDistance<Real>& d) const {
    d = field.signed_distance(back * x);
    d.distance *= scale;
    return field.covers(back * x[0], back * x[2]);
  }
  template <class Key, class Visit>
  void front_to_back(const double& most, Key&& key, Visit&& visit) const {
    field.front_to_back(
        most, [&](const Aabb& box) { return key(box.scaled(scale)); }, visit);
  }
  /// The sides of the ground below the border beside `box`, a little farther down than that.
  template <class Visit>
  void walls(const Aabb& box, Visit&& visit) const {
    field.border(box.scaled(back), [&](const Vec3& p, const Vec3& q) {
      const Vec3 a = scale * p, b = scale * q;
      const Real bottom = std::min({a[1], b[1], box.low[1]}) - scale * field.spacing();
      const Point corners[4] = {a.cast<double>(), b.cast<double>(), Vec3(b[0], bottom, b[2]).cast<double>(),
                                Vec3(a[0], bottom, a[2]).cast<double>()};
      visit(corners);
    });
  }
  /// Exact distance to the surface, negative below it.
  SignedDistance<Real> solid_distance(const Vec3& x) const {
    SignedDistance<Real> d = field.signed_distance(back * x);
    d.distance *= scale;
    return d;
  }
  bool is_inside(const Point& x) const {
    Point surface, normal;
    return way_out(x, surface, normal);
  }

  std::optional<RayHit> first_hit(const Vec3& x, const Vec3& direction, Real t_max) const {
    return field.intersect({back * x, back * direction, 0, t_max});
  }

  bool way_out(const Point& x, Point& surface, Point& normal) const {
    const Real east = back * static_cast<Real>(x[0]), south = back * static_cast<Real>(x[2]);
    if (!field.covers(east, south)) return false;
    const Index3 v = field.corners(field.triangle_at(east, south));
    surface = vertex(v[0]);
    normal = (vertex(v[1]) - surface).cross(vertex(v[2]) - surface).normalized();
    return normal.dot(x - surface) < 0;
  }
};

/// A hull stretched along its axes, which only that of a box may be.
struct PolyhedronSource {
  const Shape& shape;
  const ConvexHull& hull;
  Vec3 scale;

  template <class IsNear, class OnVertex, class OnEdge>
  void features(const Aabb& box, IsNear&& is_near, OnVertex&& on_vertex, OnEdge&& on_edge) const {
    for (std::size_t v = 0; v < hull.vertices.size(); ++v)
      if (const Vec3 x = at(v); box.contains(x)) on_vertex(static_cast<Index>(v), x);
    for (const ConvexHull::Edge& e : hull.edges) {
      const Vec3 p = at(e.a), q = at(e.b);
      Aabb bounds;
      bounds.extend(p);
      bounds.extend(q);
      if (!bounds.overlaps(box) || !is_near(bounds.centre(), Real(0.5) * (q - p).norm())) continue;
      const auto into = [&](int side) {
        // The left face is to the left of its side from a to b.
        const Point along = (q - p).template cast<double>();
        const Point normal = hull.faces[side ? e.right : e.left].normal.template cast<double>();
        return Point((side ? along.cross(normal) : normal.cross(along)).normalized());
      };
      on_edge(p, q, mix(e.a, e.b), into);
    }
  }
  Point vertex(Index v) const { return at(static_cast<std::size_t>(v)).cast<double>(); }
  Point outward(Index v) const { return vertex(v) - hull.centre.cwiseProduct(scale).cast<double>(); }
  /// Of a convex polyhedron all vertices will do.
  template <class Test>
  bool all_neighbours(Index v, Test&& test) const {
    for (Index q = 0; q < static_cast<Index>(hull.vertices.size()); ++q)
      if (q != v && !test(q)) return false;
    return true;
  }
  Aabb bounds() const { return shape.bounds(); }
  double least_extent() const { return static_cast<double>(half_width()); }
  Real half_width() const { return Real(0.5) * bounds().size().minCoeff(); }
  bool is_far(const Vec3& x, Real reach) const { return is_beyond(x, reach); }
  bool is_beyond(const Vec3& x, Real reach) const { return shape.signed_distance(x).distance > reach; }
  bool distance(const Vec3& x, SignedDistance<Real>& d) const {
    d = shape.signed_distance(x);
    return true;
  }
  std::optional<RayHit> first_hit(const Vec3& x, const Vec3& direction, Real t_max) const {
    return shape.intersect({}, {x, direction, 0, t_max});
  }

 private:
  Vec3 at(std::size_t v) const { return hull.vertices[v].cwiseProduct(scale); }
};

}  // namespace plenum::inline PLENUM_ABI::detail
