// Vertices by the other solid's signed distance, as in Macklin et al. 2020, "Local optimization for robust
// signed distance field collision"; edges by pairs, whose contact is a closed form. Normal cones: see
// surface_contacts.cpp, and for the two cones of crossing edges Gregorius 2013, "The separating axis test
// between convex polyhedra" (Gauss maps).
#include "plenum/geometry/collide/mesh_contacts.h"

#include <algorithm>
#include <cmath>

#include "plenum/geometry/collide/detail/clusters.h"
#include "plenum/geometry/collide/detail/pairs.h"
#include "plenum/geometry/collide/detail/surface_source.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using detail::Clusters;
using detail::HeightSource;
using detail::MeshSource;
using detail::mix;
using detail::PolyhedronSource;
using Point = Vector3<double>;

/// Sines up to which a direction beside a normal cone is in it. Resting bodies lean by as much as their
/// contacts give; what is missed at one feature its neighbours answer for.
constexpr double loose = 0.02;

/// A surface as seen in the frame of A.
template <class Source>
struct Placed {
  Source source;
  Mat3 rotation;
  Vec3 position;

  Vec3 to_local(const Vec3& x) const { return rotation.transpose() * (x - position); }
  /// x of any number type.
  template <class T>
  Vector3<T> to_frame(const Vector3<T>& x) const {
    return rotation.cast<T>() * x + position.cast<T>();
  }
  /// Box of the surface in another one's frame.
  template <class Other>
  Aabb bounds_in(const Placed<Other>& other) const {
    const Aabb box = source.bounds();
    // The ground goes down without end, which may be any direction.
    if (!box.low.allFinite()) {
      Aabb everywhere;
      everywhere.low.setConstant(-std::numeric_limits<Real>::infinity());
      everywhere.high = -everywhere.low;
      return everywhere;
    }
    const Mat3 turn = other.rotation.transpose() * rotation;
    const Vec3 middle = other.to_local(to_frame<Real>(box.centre())),
               half = Real(0.5) * (turn.cwiseAbs() * box.size());
    return {middle - half, middle + half};
  }
};

/// A convex edge in the frame of A.
struct Edge {
  Aabb box;
  Point p, along;  ///< a corner; the other one less this one
  /// Unit directions across the edge into its faces, at a border straight behind the only one: a direction d
  /// in the edge's normal cone has d . into <= 0.
  Point into[2];
  std::uint32_t id;
};

template <class SourceA, class SourceB>
class MeshCollision {
 public:
  MeshCollision(const SourceA& a, const SourceB& b, const Pose& b_in_a, Real margin)
      : a_{a, Mat3::Identity(), Vec3::Zero()},
        b_{b, b_in_a.rotation.toRotationMatrix(), b_in_a.position},
        margin_(margin),
        slop_(static_cast<double>(detail::preference) * std::min(a.least_extent(), b.least_extent())),
        deepest_edge_(std::min(a.half_width(), b.half_width())),
        clusters_(slop_) {}

  void run(SurfaceManifolds& out) {
    each_near(
        a_, b_, [&](Index v, const Vec3& x) { vertex(a_, b_, v, x, 1); },
        [&](const Vec3& p, const Vec3& q, std::uint32_t id, const auto& into) {
          if (num_edges_ == most_edges) cross_edges(false);
          if (!take_edge(a_, b_, p, q, edges_[num_edges_])) return;
          Edge& e = edges_[num_edges_++];
          finish(a_, into, id, e);
          edges_box_.extend(e.box);
        });
    cross_edges(true);
    if (clusters_.empty() && depth_ < 0) clusters_.add(way_out_, at_, depth_, 29, Clusters::other);
    const Vec3 middle = size_of(a_) <= size_of(b_) ? middle_of(a_) : middle_of(b_);
    clusters_.write(out, middle.template cast<double>());
  }

 private:
  static constexpr int most_edges = 128;

  template <class Part>
  static Vec3 middle_of(const Part& part) {
    return part.to_frame(Vec3(part.source.bounds().centre()));
  }
  /// Of two the smaller is what lies on the other; the ground has no end.
  template <class Part>
  static Real size_of(const Part& part) {
    const Real size = part.source.bounds().size().squaredNorm();
    return std::isfinite(size) ? size : std::numeric_limits<Real>::infinity();
  }

  /// Vertices and convex edges of `near` that may be within the margin of `of`.
  template <class Near, class Of, class OnVertex, class OnEdge>
  void each_near(const Near& near, const Of& of, OnVertex&& on_vertex, OnEdge&& on_edge) {
    const auto is_near = [&](const Vec3& centre, Real radius) {
      return !of.source.is_beyond(of.to_local(near.to_frame(centre)), radius + margin_);
    };
    near.source.features(of.bounds_in(near).grown(margin_), is_near, on_vertex, on_edge);
  }

  /// Vertex v of `near`, at x there, against `of`; sign: +1 if `near` is A.
  template <class Near, class Of>
  void vertex(const Near& near, const Of& of, Index v, const Vec3& at, int sign) {
    const Vec3 x = near.to_frame(at), local = of.to_local(x);
    SignedDistance<Real> d;
    if (of.source.is_far(local, margin_) || !of.source.distance(local, d) || d.distance > margin_) return;
    const Point away = (of.rotation * d.normal).template cast<double>();  // from `of`
    const double gap = static_cast<double>(d.distance);
    const Point normal = -sign * away, middle = x.cast<double>() - 0.5 * gap * away;
    if (gap < depth_) {
      depth_ = gap;
      way_out_ = normal;
      at_ = middle;
    }
    const std::uint32_t id = mix(sign > 0 ? 31 : 32, static_cast<std::uint32_t>(v));
    const detail::Turning turning{sign > 0 ? Manifold::Turns::with_b : Manifold::Turns::with_a};
    const auto meets_along = [&](const Point& n) {  // n from `of`
      return detail::is_outermost_vertex(near.source, v,
                                         near.rotation.transpose().template cast<double>() * -n, loose);
    };
    if (meets_along(away)) {
      clusters_.add(normal, middle, gap, id, Clusters::corner, turning);
      return;
    }
    // Inside, beside an edge, the nearest face need not be the one that was passed: that lies the way back.
    if (gap >= 0 || gap < -static_cast<double>(deepest_edge_)) return;
    const Vec3 back = (near.rotation * -near.source.outward(v).template cast<Real>()).normalized();
    const auto hit = of.source.first_hit(local, of.rotation.transpose() * back, 4 * deepest_edge_);
    if (!hit) return;
    const Point n = (of.rotation * hit->normal).template cast<double>();
    const double depth = static_cast<double>(hit->t) * n.dot(back.template cast<double>());
    if (depth > 0 && depth <= static_cast<double>(deepest_edge_) && meets_along(n))
      clusters_.add(-sign * n, x.cast<double>() + 0.5 * depth * n, -depth, id, Clusters::corner, turning);
  }

  /// Where an edge of `near` lies. False if it is too far from `of`.
  template <class Near, class Of>
  bool take_edge(const Near& near, const Of& of, const Vec3& from, const Vec3& to, Edge& e) const {
    const Vec3 p = near.to_frame(from), q = near.to_frame(to);
    const Real length = (q - p).norm();
    if (!(length > 0) || of.source.is_beyond(of.to_local(Real(0.5) * (p + q)), Real(0.5) * length + margin_))
      return false;
    e.box = {};
    e.box.extend(p);
    e.box.extend(q);
    e.p = p.cast<double>();
    e.along = (q - p).cast<double>();
    return true;
  }
  template <class Near, class Into>
  void finish(const Near& near, const Into& into, std::uint32_t id, Edge& e) const {
    for (int side = 0; side < 2; ++side) e.into[side] = near.rotation.template cast<double>() * into(side);
    e.id = id;
  }

  /// B's edges against those of A that are gathered; and B's vertices, once.
  void cross_edges(bool last) {
    each_near(
        b_, a_,
        [&](Index v, const Vec3& x) {
          if (last) vertex(b_, a_, v, x, -1);
        },
        [&](const Vec3& p, const Vec3& q, std::uint32_t id, const auto& into) {
          Edge e;
          if (num_edges_ == 0 || !take_edge(b_, a_, p, q, e)) return;
          const Aabb reach = e.box.grown(margin_);
          if (!reach.overlaps(edges_box_)) return;
          bool finished = false;
          for (int i = 0; i < num_edges_; ++i) {
            if (!reach.overlaps(edges_[i].box)) continue;
            if (!finished) finish(b_, into, id, e);
            finished = true;
            cross(edges_[i], e);
          }
        });
    num_edges_ = 0;
    edges_box_ = {};
  }

  /// Contact of two edges that cross, along their common perpendicular.
  void cross(const Edge& a, const Edge& b) {
    const double aa = a.along.squaredNorm(), bb = b.along.squaredNorm(), ab = a.along.dot(b.along);
    const double sine2 = aa * bb - ab * ab;  // times aa bb
    constexpr double least_sine = 1e-3;      // the ends of edges more parallel than that answer for them
    if (!(sine2 > least_sine * least_sine * aa * bb)) return;
    Point n = a.along.cross(b.along) / std::sqrt(sine2);
    if (n.dot(a.into[0] + a.into[1]) > 0) n = -n;
    for (int i = 0; i < 2; ++i)
      if (n.dot(a.into[i]) > loose || -n.dot(b.into[i]) > loose) return;
    // Closest points of two lines: Ericson 2005, "Real-time collision detection", section 5.1.8.
    const Point w = b.p - a.p;
    const double gap = n.dot(w);
    if (gap > static_cast<double>(margin_) || gap < -static_cast<double>(deepest_edge_)) return;
    const double along_a = a.along.dot(w), along_b = b.along.dot(w);
    const double s = (along_a * bb - along_b * ab) / sine2, t = (along_a * ab - along_b * aa) / sine2;
    const auto is_within = [&](double at, double length2) {
      return at * std::sqrt(length2) >= -slop_ && (at - 1) * std::sqrt(length2) <= slop_;
    };
    if (!is_within(s, aa) || !is_within(t, bb)) return;
    const Point middle = 0.5 * (a.p + s * a.along + b.p + t * b.along);
    clusters_.add(n, middle, gap, mix(a.id, b.id), Clusters::other,
                  {Manifold::Turns::with_edges, a.along, b.along});
  }

  Placed<SourceA> a_;
  Placed<SourceB> b_;
  Real margin_;
  double slop_;
  Real deepest_edge_;
  Clusters clusters_;
  double depth_ = 0;  // of the deepest vertex
  Point way_out_ = Point::UnitY(), at_ = Point::Zero();
  int num_edges_ = 0;
  Aabb edges_box_;
  Edge edges_[most_edges];
};

/// Calls visit(source) with what a shape is to contacts of surfaces; false if it is none of them.
template <class Visit>
bool with_source(const Shape& shape, Visit&& visit) {
  static const ConvexHull unit_box = ConvexHull::box(Vec3::Ones());
  const Shape::Variant& v = shape.variant();
  if (const auto* mesh = std::get_if<MeshShape>(&v))
    visit(MeshSource(*mesh));
  else if (const auto* ground = std::get_if<HeightFieldShape>(&v))
    visit(HeightSource(*ground));
  else if (const auto* box = std::get_if<BoxShape>(&v))
    visit(PolyhedronSource{shape, unit_box, box->half_extents});
  else if (const auto* hull = std::get_if<ConvexHullShape>(&v))
    visit(PolyhedronSource{shape, *hull->hull, Vec3::Ones()});
  else
    return false;
  return true;
}

}  // namespace

bool can_collide_mesh(const Shape& b) {
  return with_source(b, [](const auto&) {});
}

void collide_mesh(const Shape& a, const Shape& b, const Pose& b_in_a, Real margin, SurfaceManifolds& out) {
  out.count = 0;
  const auto* mesh = std::get_if<MeshShape>(&a.variant());
  if (!mesh) return;
  with_source(b, [&](const auto& to) { MeshCollision(MeshSource(*mesh), to, b_in_a, margin).run(out); });
}

void collide_mesh_plane(const Shape& a, const Pose& b_in_a, Real margin, SurfaceManifolds& out) {
  out.count = 0;
  const auto* mesh = std::get_if<MeshShape>(&a.variant());
  if (!mesh) return;
  const MeshSource source(*mesh);
  const Vec3 up = b_in_a.rotation * Vec3::UnitY();
  const auto height = [&](const Vec3& x) { return up.dot(x - b_in_a.position); };
  Clusters clusters(static_cast<double>(detail::preference) * source.least_extent());
  source.features(
      source.bounds(), [&](const Vec3& centre, Real radius) { return height(centre) <= radius + margin; },
      [&](Index v, const Vec3& x) {
        const Real gap = height(x);
        if (gap > margin) return;
        clusters.add((-up).cast<double>(), (x - Real(0.5) * gap * up).cast<double>(),
                     static_cast<double>(gap), mix(33, static_cast<std::uint32_t>(v)), Clusters::corner,
                     {Manifold::Turns::with_b});
      },
      [](const auto&...) {});
  clusters.write(out, source.bounds().centre().cast<double>());
}

Real least_along(const Shape& mesh, const Vec3& direction) {
  const MeshSource source(std::get<MeshShape>(mesh.variant()));
  Real least = std::numeric_limits<Real>::max();
  source.features(
      source.bounds(),
      [&](const Vec3& centre, Real radius) {
        return direction.dot(centre) - direction.norm() * radius < least;
      },
      [&](Index, const Vec3& x) { least = std::min(least, direction.dot(x)); }, [](const auto&...) {});
  return least;
}

}  // namespace plenum::inline PLENUM_ABI
