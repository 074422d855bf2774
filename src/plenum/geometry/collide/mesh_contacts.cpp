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
  Vec3 to_frame(const Vec3& x) const { return rotation * x + position; }
  Point to_frame(const Point& x) const { return rotation.cast<double>() * x + position.cast<double>(); }
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
    const Vec3 middle = other.to_local(to_frame(box.centre())),
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
        a_, b_, [&](Index t, int k) { vertex(a_, b_, t, k, 1); },
        [&](Index t, int k) {
          if (num_edges_ == most_edges) cross_edges(false);
          if (take_edge(a_, b_, t, k, edges_[num_edges_])) edges_box_.extend(edges_[num_edges_++].box);
        });
    cross_edges(true);
    if (clusters_.empty() && depth_ < 0) clusters_.add(way_out_, at_, depth_, 29, Clusters::other);
    clusters_.write(out);
  }

 private:
  static constexpr int most_edges = 128;

  /// Vertices and convex edges of `near` that may be within the margin of `of`, each once.
  template <class Near, class Of, class OnVertex, class OnEdge>
  void each_near(const Near& near, const Of& of, OnVertex&& on_vertex, OnEdge&& on_edge) {
    const auto is_near = [&](const Vec3& centre, Real radius) {
      return of.source.least_distance(of.to_local(near.to_frame(centre))) <= radius + margin_;
    };
    near.source.near(of.bounds_in(near).grown(margin_), is_near, [&](Index t) {
      const SideBits sides = near.source.sides(t);
      for (int k = 0; k < 3; ++k) {
        if (near.source.owns_corner(t, k)) on_vertex(t, k);
        if ((sides >> k & 1u) && near.source.owns_side(t, k)) on_edge(t, k);
      }
    });
  }

  /// Corner k of a triangle of `near` against `of`; sign: +1 if `near` is A.
  template <class Near, class Of>
  void vertex(const Near& near, const Of& of, Index t, int k, int sign) {
    Index3 v;
    Vec3 corner[3];
    near.source.fetch(t, v, corner);
    const Vec3 x = near.to_frame(corner[k]), local = of.to_local(x);
    if (of.source.least_distance(local) > margin_) return;
    SignedDistance<Real> d;
    if (!of.source.distance(local, d) || d.distance > margin_) return;
    const Point away = (of.rotation * d.normal).template cast<double>();  // from `of`
    const double gap = static_cast<double>(d.distance);
    const Point normal = -sign * away, middle = x.cast<double>() - 0.5 * gap * away;
    if (gap < depth_) {
      depth_ = gap;
      way_out_ = normal;
      at_ = middle;
    }
    const Point towards = near.rotation.transpose().template cast<double>() * -away;
    if (towards.dot(near.source.outward(v[k])) <= 0) return;
    const Point from = near.source.vertex(v[k]);
    if (!near.source.all_neighbours(v[k], [&](Index q) {
          const Point side = near.source.vertex(q) - from;
          return towards.dot(side) <= loose * side.norm();
        }))
      return;
    clusters_.add(normal, middle, gap, mix(sign > 0 ? 31 : 32, static_cast<std::uint32_t>(v[k])),
                  Clusters::corner);
  }

  /// Side k of a triangle. False if it is too far from `of`.
  template <class Near, class Of>
  bool take_edge(const Near& near, const Of& of, Index t, int k, Edge& e) const {
    Index3 v;
    Vec3 corner[3];
    near.source.fetch(t, v, corner);
    const Vec3 p = near.to_frame(corner[k]), q = near.to_frame(corner[(k + 1) % 3]);
    if (of.source.least_distance(of.to_local(Real(0.5) * (p + q))) > Real(0.5) * (q - p).norm() + margin_)
      return false;
    e.box = {};
    e.box.extend(p);
    e.box.extend(q);
    e.p = p.cast<double>();
    e.along = (q - p).cast<double>();
    const double length2 = e.along.squaredNorm();
    if (!(length2 > 0)) return false;
    const auto into = [&](const Point& apex) {
      const Point to = apex - e.p;
      return Point((to - to.dot(e.along) / length2 * e.along).normalized());
    };
    e.into[0] = into(near.to_frame(corner[(k + 2) % 3]).template cast<double>());
    const Index apex = near.source.opposite(t, k);
    e.into[1] = apex >= 0 ? into(near.to_frame(near.source.vertex(apex)))
                          : Point(e.into[0].cross(e.along).normalized());
    const Index w = v[(k + 1) % 3];
    e.id = mix(static_cast<std::uint32_t>(std::min(v[k], w)), static_cast<std::uint32_t>(std::max(v[k], w)));
    return true;
  }

  /// B's edges against those of A that are gathered; and B's vertices, once.
  void cross_edges(bool last) {
    each_near(
        b_, a_,
        [&](Index t, int k) {
          if (last) vertex(b_, a_, t, k, -1);
        },
        [&](Index t, int k) {
          Edge e;
          if (num_edges_ == 0 || !take_edge(b_, a_, t, k, e)) return;
          const Aabb reach = e.box.grown(margin_);
          if (!reach.overlaps(edges_box_)) return;
          for (int i = 0; i < num_edges_; ++i)
            if (reach.overlaps(edges_[i].box)) cross(edges_[i], e);
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
    clusters_.add(n, middle, gap, mix(a.id, b.id), Clusters::other);
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

}  // namespace

void collide_surfaces(const Shape& a, const Shape& b, const Pose& b_in_a, Real margin,
                      SurfaceManifolds& out) {
  out.count = 0;
  const auto *mesh_a = std::get_if<MeshShape>(&a.variant()), *mesh_b = std::get_if<MeshShape>(&b.variant());
  const auto *ground_a = std::get_if<HeightFieldShape>(&a.variant()),
             *ground_b = std::get_if<HeightFieldShape>(&b.variant());
  const auto run = [&](const auto& from, const auto& to) {
    MeshCollision(from, to, b_in_a, margin).run(out);
  };
  if (mesh_a && mesh_b)
    run(MeshSource{*mesh_a->solid}, MeshSource{*mesh_b->solid});
  else if (mesh_a && ground_b)
    run(MeshSource{*mesh_a->solid}, HeightSource{*ground_b->field});
  else if (ground_a && mesh_b)
    run(HeightSource{*ground_a->field}, MeshSource{*mesh_b->solid});
}

void collide_mesh_plane(const Shape& a, const Pose& b_in_a, Real margin, SurfaceManifolds& out) {
  out.count = 0;
  const auto* mesh = std::get_if<MeshShape>(&a.variant());
  if (!mesh) return;
  const MeshSource source{*mesh->solid};
  const Vec3 up = b_in_a.rotation * Vec3::UnitY();
  const auto height = [&](const Vec3& x) { return up.dot(x - b_in_a.position); };
  Clusters clusters(static_cast<double>(detail::preference) * source.least_extent());
  const auto is_near = [&](const Vec3& centre, Real radius) { return height(centre) <= radius + margin; };
  source.near(source.bounds(), is_near, [&](Index t) {
    Index3 v;
    Vec3 corner[3];
    source.fetch(t, v, corner);
    for (int k = 0; k < 3; ++k) {
      if (!source.owns_corner(t, k)) continue;
      const Real gap = height(corner[k]);
      if (gap > margin) continue;
      clusters.add((-up).cast<double>(), (corner[k] - Real(0.5) * gap * up).cast<double>(),
                   static_cast<double>(gap), mix(33, static_cast<std::uint32_t>(v[k])), Clusters::corner);
    }
  });
  clusters.write(out);
}

Real least_along(const Shape& mesh, const Vec3& direction) {
  const MeshSource source{*std::get<MeshShape>(mesh.variant()).solid};
  Real least = std::numeric_limits<Real>::max();
  const auto is_near = [&](const Vec3& centre, Real radius) {
    return direction.dot(centre) - direction.norm() * radius < least;
  };
  source.near(source.bounds(), is_near, [&](Index t) {
    Index3 v;
    Vec3 corner[3];
    source.fetch(t, v, corner);
    for (const Vec3& x : corner) least = std::min(least, direction.dot(x));
  });
  return least;
}

}  // namespace plenum::inline PLENUM_ABI
