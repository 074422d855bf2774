// One triangle at a time: the face where the shape's deepest point is over it, else the direction that
// separates best (GJK, EPA), judged by the neighbours' corners. Inner edges by the features' normal cones:
// van den Bergen 2003, "Collision detection in interactive 3D environments", section 4.3.9, asks the same of
// Voronoi regions.
#include "plenum/geometry/collide/surface_contacts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "plenum/geometry/collide/detail/clip_features.h"
#include "plenum/geometry/collide/detail/clusters.h"
#include "plenum/geometry/collide/detail/core.h"
#include "plenum/geometry/collide/detail/pairs.h"
#include "plenum/geometry/collide/detail/surface_source.h"
#include "plenum/geometry/collide/epa.h"
#include "plenum/geometry/triangle_distance.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using namespace detail;
using plenum::Feature;  // of a triangle, not of a core
using CoreFeature = detail::Feature;

struct Triangle {
  Index number;
  Index3 v;
  Point x[3];
  Point normal;
  /// How far the face reaches beyond its sides [m]. Beyond a concave one the solid goes on above the face's
  /// plane, so that the plane still bounds it there; a corner of B that is behind both faces counts for both.
  double beyond[3] = {0, 0, 0};
  SideBits sides = 0;
  /// Whether a side is convex by more than a little.
  bool has_edges() const { return (sides & 7u) & ~(sides >> 6); }
};

template <class Source>
class Collision {
 public:
  /// from: B's centre, or what stands for it where sides are asked.
  Collision(const Source& source, const Core& b, double margin, const Point* from)
      : source_(source),
        b_(b),
        centre_(b.centre()),
        from_(from ? *from : b.centre()),
        comes_from_(from != nullptr),
        radius_(b.radius()),
        margin_(margin),
        slop_(static_cast<double>(preference) * std::min(b.least_extent(), source.least_extent())),
        clusters_(slop_) {}

  void run(const Aabb& box, SurfaceManifolds& out) {
    // A ball around the box's middle that holds B and the margin; rounding makes it a little larger.
    const Vec3 middle = box.centre();
    const double reach = b_.kind() == Core::Kind::point ? radius_ + margin_
                                                        : static_cast<double>(Real(0.5) * box.size().norm());
    const Real farthest2 = static_cast<Real>(1.00001 * reach * reach);
    source_.overlapping(box, [&](Index t) {
      Triangle triangle;
      triangle.number = t;
      Vec3 corner[3];
      source_.fetch(t, triangle.v, corner);
      Aabb bounds;
      for (const Vec3& x : corner) bounds.extend(x);
      if (!bounds.overlaps(box) || bounds.squared_distance(middle) > farthest2) return;
      for (int k = 0; k < 3; ++k) triangle.x[k] = corner[k].cast<double>();
      const auto& x = triangle.x;
      if (b_.kind() != Core::Kind::point && b_.is_beyond(x, 3, margin_)) return;
      triangle.normal = (x[1] - x[0]).cross(x[2] - x[0]);
      const double area = triangle.normal.norm();
      if (!(area > 0)) return;  // its sides are those of its neighbours
      triangle.normal /= area;
      if (!is_before(triangle)) {
        if (b_.kind() == Core::Kind::point)
          behind_ = std::min(behind_,
                             (closest_on_triangle<double>(centre_, x[0], x[1], x[2]).point - centre_).norm());
        return;
      }
      if (b_.kind() == Core::Kind::point)
        ball(triangle);
      else
        convex(triangle);
    });
    int kept = 0;
    for (int i = 0; i < num_deferred_; ++i)
      if (!is_resolved(deferred_[i])) deferred_[kept++] = deferred_[i];
    for (int i = 0; i < kept; ++i)
      if (!over_a_ridge(deferred_[i])) over_face(deferred_[i]);
    for (int i = 0; i < kept && clusters_.empty(); ++i) over_face(deferred_[i]);
    // A ball in a thin wall may have another in front of it.
    if (clusters_.empty() || behind_ < before_) push_out();
    clusters_.write(out, centre_);
  }

 private:
  // Angles [rad] up to which a corner belongs to the feature that looks along a direction: for directions
  // that come from iterations, and for exact ones.
  static constexpr double loose = 2e-3, tight = 1e-9;
  inline static const Turning with_surface{Manifold::Turns::with_a};
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  /// Whether B touches the triangle from its front. It comes from where its centre is; from the nearest place
  /// outside, where that is inside: what is slender has its centre so near its own surface that a blow
  /// carries it in, and must be held by all that it lies on, not in one point.
  bool is_before(const Triangle& t) {
    if (t.normal.dot(from_ - t.x[0]) >= 0) return true;
    return b_.kind() != Core::Kind::point && !comes_from_ && is_inside() &&
           t.normal.dot(outside_ - t.x[0]) >= 0;
  }

  /// Whether B's centre is inside; then the way out of there is known. Asked only where it may be, as exact
  /// distances take their time.
  bool is_inside() {
    if (asked_) return inside_;
    asked_ = true;
    inside_ = source_.way_out(centre_, surface_, way_out_);
    if (inside_) outside_ = centre_ + (way_out_.dot(surface_ - centre_) + slop_) * way_out_;
    return inside_;
  }

  /// Whether a much shallower contact, once resolved, leaves B clear of the triangle.
  bool is_resolved(const Triangle& t) {
    look_along(t.normal);
    const double gap = t.normal.dot(deepest_ - t.x[0]) - radius_;
    return clusters_.any([&](const Point& n, double deepest) {
      if (deepest < 0.5 * gap) return false;
      return n.dot(b_.support(-n)) - radius_ - top(t, n) >= std::min(deepest, 0.0) - slop_;
    });
  }

  static std::uint32_t edge_id(Index a, Index b) {
    return mix(static_cast<std::uint32_t>(std::min(a, b)), static_cast<std::uint32_t>(std::max(a, b)));
  }

  /// Whether the surface around the corners (bits) of the triangle lies behind them along d: whether d is in
  /// their normal cone.
  bool is_outermost(const Triangle& t, const Point& d, unsigned corners, double tolerance) const {
    if (d.dot(t.normal) < -tolerance) return false;
    const auto is_behind = [&](const Point& from, Index q) {
      const Point away = source_.vertex(q) - from;
      return d.dot(away) <= tolerance * away.norm();
    };
    switch (std::popcount(corners)) {
      case 3:
        return true;
      case 2: {
        const int side = corners == 3 ? 0 : corners == 6 ? 1 : 2;
        const Index q = source_.opposite(t.number, side);
        return q < 0 || is_behind(t.x[side], q);
      }
      default: {
        // The lowest point of a pit has all of the surface on one side, too.
        const int k = std::countr_zero(corners);
        return d.dot(source_.outward(t.v[k])) > 0 &&
               source_.all_neighbours(t.v[k], [&](Index q) { return is_behind(t.x[k], q); });
      }
    }
  }

  /// Id of a side or corner of the triangle.
  std::uint32_t id_of(const Triangle& t, unsigned corners) const {
    switch (std::popcount(corners)) {
      case 3:
        return mix(21, static_cast<std::uint32_t>(t.number));
      case 2: {
        const int side = corners == 3 ? 0 : corners == 6 ? 1 : 2;
        return mix(22, edge_id(t.v[side], t.v[(side + 1) % 3]));
      }
      default:
        return mix(23, static_cast<std::uint32_t>(t.v[std::countr_zero(corners)]));
    }
  }

  void ball(const Triangle& t) {
    const auto closest = closest_on_triangle<double>(centre_, t.x[0], t.x[1], t.x[2]);
    const Point offset = centre_ - closest.point;
    const double distance = offset.norm(), gap = distance - radius_;
    before_ = std::min(before_, distance);
    if (gap > margin_) return;
    constexpr unsigned corners_of[7] = {1, 2, 4, 3, 6, 5, 7};
    const unsigned corners = corners_of[static_cast<int>(closest.feature)];
    Point n = t.normal;
    if (corners != 7 && distance > 1e-9 * radius_) {
      n = offset / distance;
      if (!is_outermost(t, n, corners, tight)) return;
    }
    // The ball keeps one id as it rolls over faces.
    clusters_.add(n, closest.point + 0.5 * gap * n, gap, corners == 7 ? 1 : id_of(t, corners),
                  corners == 7 ? Clusters::face : Clusters::other, corners == 7 ? with_surface : Turning{});
  }

  void convex(Triangle& t) {
    look_along(t.normal);
    const double height = t.normal.dot(deepest_ - t.x[0]), gap = height - radius_;
    if (gap > margin_) return;
    t.sides = source_.sides(t.number);
    for (int k = 0; k < 3; ++k)
      if (t.sides & (8u << k)) t.beyond[k] = margin_ + 0.1 * b_.least_extent();
    const double shallow = -static_cast<double>(steady_depth(3)) * b_.least_extent();
    if (!t.has_edges()) {
      // Only the face can be touched, or a side bent by so little that the face's normal will do.
      if (gap > shallow)
        over_face(t);
      else
        defer(t);
      for (int k = 0; k < 3; ++k)
        if (t.sides & (64u << k)) over_slight_edge(t, k);
      return;
    }
    if (gap > shallow && covers(t, deepest_) && over_face(t)) return;
    const auto support_a = [&](const Point& d) { return corner_along(t, d); };
    const auto support_b = [&](const Point& d) { return b_.support(d); };
    const double fine = 1e-7 * b_.least_extent();
    const auto g = gjk<double>(support_a, support_b, centre_ - t.x[0], 1e-6, fine, margin_ + radius_);
    if (!g.overlap && g.lower_bound > margin_ + radius_) return;
    Point d = g.normal, on_a = g.a, on_b = g.b;
    double along = g.distance;
    if (g.overlap || g.distance < fine) {
      const auto e = epa<double>(support_a, support_b, g.simplex, 1e-5, fine);
      d = e.normal;
      on_a = e.a;
      on_b = e.b;
      along = -e.depth;
    }
    // The face, where its own normal separates as well as the best.
    if (height >= along - slop_ && over_face(t, along - radius_ + 2 * slop_)) return;
    const unsigned corners = corners_towards(t, d);
    if (!is_outermost(t, d, corners, loose)) {
      // An inner edge.
      if (gap > shallow)
        over_face(t);
      else
        defer(t);
      return;
    }
    edge_or_corner(t, d, corners, along, on_a, on_b);
  }

  /// Deep below a face another direction may be the way out: its contact waits for the others. Of more than
  /// there is room for the deepest is left out, which is the least likely way out.
  void defer(const Triangle& t) {
    if (!clip_over_face(t)) return;
    const double depth = deepest_of_clipped(t.x[0], t.normal);
    int place = num_deferred_;
    if (num_deferred_ < most_deferred)
      ++num_deferred_;
    else if (place = static_cast<int>(std::min_element(depth_of_, depth_of_ + most_deferred) - depth_of_);
             depth_of_[place] >= depth)
      return;
    deferred_[place] = t;
    depth_of_[place] = depth;
  }

  /// Contact of the triangle's side or corner that looks along d, which separates by `along` at these points.
  void edge_or_corner(const Triangle& t, const Point& d, unsigned corners, double along, Point on_a,
                      Point on_b) {
    // A face of B, where its own normal separates as well.
    if (const auto face = b_.face_normal(-d)) {
      const Point n = -*face;
      const double separates = n.dot(b_.support(-n)) - top(t, n);
      const unsigned facing = corners_towards(t, n);
      if (separates >= along - slop_ && is_outermost(t, n, facing, loose) &&
          over_face_of_b(t, n, facing, along - radius_ + 2 * slop_))
        return;
    }
    b_.feature(-d, false, scratch_);
    if (std::popcount(corners) == 2 && scratch_.count == 2) {
      const int side = corners == 3 ? 0 : corners == 6 ? 1 : 2;
      CoreFeature& edge = reference_;
      edge.count = 2;
      edge.x[0] = t.x[side];
      edge.x[1] = t.x[(side + 1) % 3];
      collected_.count = 0;
      pair_segments(edge, scratch_, d, 0, radius_, margin_, id_of(t, corners), collected_);
      double least = infinite;
      for (int i = 0; i < collected_.count; ++i)
        least = std::min(least, static_cast<double>(collected_.points[i].separation));
      if (least <= along - radius_ + 2 * slop_) return add_collected(d);
    }
    const double deep = along - radius_;
    if (deep > margin_) return;
    if ((on_b - on_a - along * d).norm() > slop_) find_witnesses(t, d, along, on_a, on_b);
    Turning turning;
    // Not where B touches with an end of its line: the normal is not across that then, nor stays so.
    if (std::popcount(corners) == 2 && scratch_.count == 2)
      if (const auto line = line_through(b_, scratch_, on_b, slop_)) {
        const int side = corners == 3 ? 0 : corners == 6 ? 1 : 2;
        turning = {Manifold::Turns::with_edges, t.x[(side + 1) % 3] - t.x[side], *line};
      }
    clusters_.add(d, 0.5 * (on_a + on_b - radius_ * d), deep, mix(id_of(t, corners), scratch_.id),
                  Clusters::other, turning);
  }

  /// Deep in the surface: the best direction between the faces of a convex side. True if it is better than
  /// the face's own; then B touches the side, or what the side's neighbours answer for.
  bool over_a_ridge(const Triangle& t) {
    const auto along = [&](const Point& n) { return n.dot(b_.support(-n)) - top(t, n); };
    double best = along(t.normal) + slop_;
    Point direction;
    unsigned corners = 0;
    for (int side = 0; side < 3; ++side) {
      const Index q = source_.opposite(t.number, side);
      const Point &x = t.x[side], &y = t.x[(side + 1) % 3];
      if (q < 0 || !(t.sides & (1u << side)) || (t.sides & (64u << side))) continue;
      const Point other = (x - y).cross(source_.vertex(q) - y).normalized();  // the neighbour's normal
      // Golden section over the arc.
      const auto at = [&](double s) { return Point((t.normal + s * (other - t.normal)).normalized()); };
      constexpr double golden = 0.61803398874989485;
      double low = 0, high = 1;
      for (int i = 0; i < 16; ++i) {
        const double s0 = high - golden * (high - low), s1 = low + golden * (high - low);
        (along(at(s0)) > along(at(s1)) ? high : low) = along(at(s0)) > along(at(s1)) ? s1 : s0;
      }
      for (const double s : {0.5 * (low + high), 1.0})
        if (const double here = along(at(s)); here > best) {
          best = here;
          direction = at(s);
          corners = 1u << side | 1u << (side + 1) % 3;
        }
    }
    if (corners == 0) return false;
    Point on_a, on_b;
    find_witnesses(t, direction, best, on_a, on_b);
    const int side = corners == 3 ? 0 : corners == 6 ? 1 : 2;
    const Point edge = t.x[(side + 1) % 3] - t.x[side];
    const Point off = (on_a - t.x[side]).cross(edge);
    if (off.norm() <= slop_ * edge.norm()) edge_or_corner(t, direction, corners, best, on_a, on_b);
    return true;
  }

  /// Where the triangle and B, which overlap by -along in the direction d, touch once B is moved out: GJK
  /// finds these points well, whereas EPA's last face need not hold the origin's foot.
  void find_witnesses(const Triangle& t, const Point& d, double along, Point& on_a, Point& on_b) const {
    const Point shift = (slop_ - along) * d;
    const auto g =
        gjk<double>([&](const Point& n) { return corner_along(t, n); },
                    [&](const Point& n) { return Point(b_.support(n) + shift); }, d, 1e-6, 1e-3 * slop_);
    on_b = g.b - shift;
    on_a = on_b - along * d;
  }

  static const Point& corner_along(const Triangle& t, const Point& n) {
    const double along[3] = {n.dot(t.x[0]), n.dot(t.x[1]), n.dot(t.x[2])};
    return t.x[std::max_element(along, along + 3) - along];
  }

  static double top(const Triangle& t, const Point& n) {
    return std::max({n.dot(t.x[0]), n.dot(t.x[1]), n.dot(t.x[2])});
  }

  /// B's deepest point along -n.
  void look_along(const Point& n) {
    if (looked_ && n == looked_along_) return;
    looked_ = true;
    has_incident_ = false;
    looked_along_ = n;
    deepest_ = b_.support(-n);
  }

  /// B's feature around it.
  const CoreFeature& incident() {
    if (!has_incident_) {
      has_incident_ = true;
      b_.feature(-looked_along_, false, incident_);
      keep_deeper_end(looked_along_, radius_, incident_);
    }
    return incident_;
  }

  static bool covers(const Triangle& t, const Point& p) {
    for (int k = 0; k < 3; ++k) {
      const Point side = t.x[(k + 1) % 3] - t.x[k];
      if (side.cross(p - t.x[k]).dot(t.normal) < -t.beyond[k] * side.norm()) return false;
    }
    return true;
  }

  /// Between the normals of a slightly convex side's faces is a wedge over neither face. What is deepest
  /// there touches the edge; the face's normal is near enough.
  void over_slight_edge(const Triangle& t, int side) {
    const Point &x = t.x[side], &y = t.x[(side + 1) % 3];
    const Point edge = (y - x).normalized(), from = deepest_ - x;
    const double along = edge.dot(from), length = (y - x).norm();
    const double reach = 2 * slight_angle * (std::abs(t.normal.dot(from)) + slop_);
    const double beyond = edge.cross(t.normal).dot(from);
    if (beyond < 0 || beyond > reach || along < -reach || along > length + reach) return;
    const Point other = source_.vertex(source_.opposite(t.number, side)) - x;
    if ((other - edge.dot(other) * edge).dot(from) > 0) return;  // over the neighbour
    const double height = t.normal.dot(from), gap = height - radius_;
    clusters_.add(t.normal, deepest_ + (0.5 * gap - height) * t.normal, gap,
                  mix(24, mix(incident().id, 0xffffu)), Clusters::face, with_surface);
  }

  static unsigned corners_towards(const Triangle& t, const Point& d) {
    const double along[3] = {d.dot(t.x[0]), d.dot(t.x[1]), d.dot(t.x[2])};
    const int top = static_cast<int>(std::max_element(along, along + 3) - along);
    unsigned corners = 0;
    for (int k = 0; k < 3; ++k)
      if (along[top] - along[k] <= loose * (t.x[top] - t.x[k]).norm()) corners |= 1u << k;
    return corners;
  }

  /// B's facing feature over the triangle, in clipped_. False if none of it is within the margin.
  bool clip_over_face(const Triangle& t) {
    look_along(t.normal);
    const CoreFeature& f = incident();
    num_clipped_ = clip<double>(t.x, 3, f.x, f.count, t.normal, slop_, clipped_, t.beyond);
    return deepest_of_clipped(t.x[0], t.normal) - radius_ <= margin_;
  }

  /// Least height of the clipped points over a plane through x.
  double deepest_of_clipped(const Point& x, const Point& n) const {
    double least = infinite;
    for (int i = 0; i < num_clipped_; ++i) least = std::min(least, n.dot(clipped_[0][i].x - x));
    return least;
  }

  /// Contact of B's facing feature with the face. False if there is none.
  /// `most` [m]: none counts unless one is at least this deep.
  bool over_face(const Triangle& t, double most = infinite) {
    if (!clip_over_face(t) || deepest_of_clipped(t.x[0], t.normal) - radius_ > most) return false;
    for (int i = 0; i < num_clipped_; ++i) {
      const ClipVertex<double>& v = clipped_[0][i];
      const double height = t.normal.dot(v.x - t.x[0]), gap = height - radius_;
      if (gap > margin_) continue;
      // A corner of B keeps its id from triangle to triangle.
      const bool is_corner = (v.id & 0x80008000u) == 0;
      const std::uint32_t id =
          mix(is_corner ? 24 : mix(25, static_cast<std::uint32_t>(t.number)), mix(incident_.id, v.id));
      clusters_.add(t.normal, v.x + (0.5 * gap - height) * t.normal, gap, id,
                    is_corner ? Clusters::corner : Clusters::face, with_surface);
    }
    return true;
  }

  /// Points of the triangle's feature that looks along n over B's face, whose outward normal is -n. False if
  /// there are none.
  bool over_face_of_b(const Triangle& t, const Point& n, unsigned corners, double most) {
    b_.feature(-n, true, reference_);
    Point feature[3];
    int corner_of[3], count = 0;
    for (int k = 0; k < 3; ++k)
      if (corners & (1u << k)) {
        feature[count] = t.x[k];
        corner_of[count++] = k;
      }
    num_clipped_ = clip<double>(reference_.x, reference_.count, feature, count, Point(-n), slop_, clipped_);
    // The face of a round cap is an octagon: what it leaves out may be the deepest.
    if (deepest_of_clipped(reference_.x[0], -n) - radius_ > std::min(margin_, most)) return false;
    for (int i = 0; i < num_clipped_; ++i) {
      const ClipVertex<double>& v = clipped_[0][i];
      const double gap = n.dot(reference_.x[0] - v.x) - radius_;
      if (gap > margin_) continue;
      const bool is_corner = (v.id & 0x80008000u) == 0;
      const std::uint32_t id =
          is_corner ? id_of(t, 1u << corner_of[v.id & 0xffffu]) : mix(id_of(t, corners), v.id);
      clusters_.add(n, v.x + 0.5 * gap * n, gap, mix(id, reference_.id), Clusters::other,
                    {Manifold::Turns::with_b});
    }
    return true;
  }

  void add_collected(const Point& n) {
    for (int i = 0; i < collected_.count; ++i) {
      const Manifold::Point& p = collected_.points[i];
      clusters_.add(n, p.x.template cast<double>(), static_cast<double>(p.separation), p.id, Clusters::other);
    }
  }

  /// In the deepest points on all sides: something long turns about a single one while it is lifted, and its
  /// other end falls deeper.
  void push_out() {
    if (!is_inside()) return;
    const Point n = way_out_, u = n.unitOrthogonal(), v = n.cross(u);
    const Point towards[5] = {-n, u - n, -u - n, v - n, -v - n};
    for (std::uint32_t k = 0; k < 5; ++k) {
      const Point s = b_.support(towards[k]);
      const double gap = n.dot(s - surface_) - radius_;
      if (gap <= margin_) clusters_.add(n, s - (0.5 * gap + radius_) * n, gap, mix(28, k), Clusters::other);
    }
  }

  const Source& source_;
  const Core& b_;
  Point centre_, from_;
  bool comes_from_;
  double radius_, margin_, slop_;
  Clusters clusters_;
  double before_ = infinite,
         behind_ = infinite;  // from a ball's middle to faces that look at it, or away [m]
  bool asked_ = false, inside_ = false;
  Point surface_, way_out_, outside_;
  bool looked_ = false, has_incident_ = false;
  Point looked_along_, deepest_;
  static constexpr int most_deferred = 32;
  int num_deferred_ = 0;
  Triangle deferred_[most_deferred];
  double depth_of_[most_deferred];  // heights over the face: the least is the deepest
  ClipVertex<double> clipped_[2][2 * CoreFeature::most_corners];
  int num_clipped_ = 0;
  CoreFeature incident_, reference_, scratch_;
  Collector collected_;
};

}  // namespace

bool can_collide_surface(const Shape& a, const Shape& b) {
  return (std::holds_alternative<MeshShape>(a.variant()) ||
          std::holds_alternative<HeightFieldShape>(a.variant())) &&
         Core::of(b, Pose{}).has_value();
}

void collide_surface(const Shape& a, const Shape& b, const Pose& b_in_a, Real margin, SurfaceManifolds& out,
                     const Vec3* from) {
  out.count = 0;
  const auto core = Core::of(b, b_in_a);
  if (!core) return;
  const Aabb box = b.bounds(b_in_a).grown(margin);
  const bool is_ball = core->kind() == Core::Kind::point;  // is met from its middle, whatever side that is on
  const Point place = from ? Point(from->cast<double>()) : Point(Point::Zero());
  const Point* const side = from && !is_ball ? &place : nullptr;
  if (const auto* mesh = std::get_if<MeshShape>(&a.variant())) {
    const MeshSource source(*mesh);
    Collision<MeshSource>(source, *core, static_cast<double>(margin), side).run(box, out);
  } else if (const auto* ground = std::get_if<HeightFieldShape>(&a.variant())) {
    const HeightSource source(*ground);
    Collision<HeightSource>(source, *core, static_cast<double>(margin), side).run(box, out);
  }
}

}  // namespace plenum::inline PLENUM_ABI
