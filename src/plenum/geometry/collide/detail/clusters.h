#pragma once
// Gathers contact points of many triangles into manifolds by their normals.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/geometry/collide/detail/core.h"
#include "plenum/geometry/collide/detail/reduce.h"
#include "plenum/geometry/collide/detail/support_plane.h"
#include "plenum/geometry/collide/surface_contacts.h"

namespace plenum::inline PLENUM_ABI::detail {

/// With what the normal of a point turns: see Manifold.
struct Turning {
  Manifold::Turns by = Manifold::Turns::with_neither;
  Point edge_a = {0, 0, 0}, edge_b = {0, 0, 0};
};

class Clusters {
 public:
  enum Rank { other, face, corner };  // of a point, by what it lies on
  /// slop [m]: points of one cluster nearer to each other are one.
  explicit Clusters(double slop) : slop_(slop) {}
  bool empty() const { return count_ == 0; }
  /// Whether test(normal, separation of the deepest point) holds for one of the manifolds.
  template <class Test>
  bool any(Test&& test) const {
    return std::any_of(clusters_, clusters_ + count_,
                       [&](const Cluster& c) { return test(c.normal, c.deepest); });
  }

  void add(const Point& normal, const Point& x, double gap, std::uint32_t id, Rank rank,
           const Turning& turning = {}) {
    Cluster* c = find(normal, gap);
    if (!c) return;
    // Directions touched at once may share a corner of B: the normal makes the difference.
    std::uint32_t direction = 0;
    for (int i = 0; i < 3; ++i)
      direction = 9 * direction + static_cast<std::uint32_t>(std::lround(4 * normal[i]) + 4);
    const Item item{{x.cast<Real>(), static_cast<Real>(gap), mix(id, direction)}, rank};
    if (gap < c->deepest) {
      c->deepest = gap;
      c->normal = normal;
      c->turning = turning;
    }
    if (Item* same = find(*c, item)) {
      if (is_better(item, *same)) *same = item;
      return;
    }
    if (c->count == room) thin(*c);
    c->items[c->count++] = item;
  }

  /// centre: of what lies on the surface, or what comes near it.
  void write(SurfaceManifolds& out, const Point& centre) {
    out.count = 0;
    for (int i = 0; i < count_; ++i) {
      // Corners first, then faces: they last longest.
      const Cluster& c = clusters_[i];
      Manifold::Point points[room];
      int count = 0;
      for (const Rank rank : {corner, face, other})
        for (int k = 0; k < c.count; ++k)
          if (c.items[k].rank == rank) points[count++] = c.items[k].point;
      write(c, points, count, count_ - i - 1, centre, out);
    }
  }

 private:
  static constexpr int most_corners = 16, outermost = 17, room = 48;
  /// How far out a point must be to make good a gap, in gaps: a body that lies on a ridge is to be held by it
  /// and not by what hovers beside it over the ground below.
  static constexpr Real regard = 100;
  static constexpr double least_cosine = 0.99619470;  // 5 degrees
  struct Item {
    Manifold::Point point;
    Rank rank;
  };
  struct Cluster {
    Point normal;
    Turning turning;
    double deepest;
    Item items[room];
    int count;
  };

  /// Of two points that are one.
  bool is_better(const Item& item, const Item& known) const {
    const Real deeper = known.point.separation - item.point.separation;
    if (item.point.id == known.point.id) return deeper > 0;
    // The one that lasts longer, unless the other is clearly deeper.
    const auto clear = static_cast<Real>(slop_);
    return deeper > clear || (item.rank > known.rank && deeper >= -clear);
  }

  /// Makes room among the points: those over corners of B stay, up to most_corners, and of the others those
  /// that are outermost in one of eight directions, with regard to their gaps and without, and the deepest.
  void thin(Cluster& c) const {
    const Vec3 u = c.normal.unitOrthogonal().template cast<Real>(), v = c.normal.cast<Real>().cross(u);
    constexpr Real cosine = Real(0.92387953), sine = Real(0.38268343);  // of 22.5 degrees
    const Vec3 direction[4] = {cosine * u + sine * v, sine * u + cosine * v, cosine * v - sine * u,
                               sine * v - cosine * u};
    int best[outermost];
    Real most[outermost];
    for (Real& m : most) m = -std::numeric_limits<Real>::max();
    for (int k = 0; k < c.count; ++k) {
      const Manifold::Point& p = c.items[k].point;
      Real score[outermost];
      for (int i = 0; i < 4; ++i) {
        score[i] = direction[i].dot(p.x);
        score[i + 4] = -score[i];
      }
      for (int i = 0; i < 8; ++i) score[i + 8] = score[i] - regard * p.separation;
      score[outermost - 1] = -p.separation;
      for (int i = 0; i < outermost; ++i)
        if (score[i] > most[i]) {
          most[i] = score[i];
          best[i] = k;
        }
    }
    int kept = 0, corners = 0;
    for (int k = 0; k < c.count; ++k)
      if ((c.items[k].rank == corner && corners++ < most_corners) ||
          std::find(best, best + outermost, k) != best + outermost)
        c.items[kept++] = c.items[k];
    c.count = kept;
  }

  /// Points of a cluster as a manifold; as two, where four of them would let points sink in that bear, for
  /// others that hover: those that bear, and if there is room those that hover, for the body may tip onto
  /// them.
  void write(const Cluster& c, Manifold::Point* points, int count, int to_come, const Point& centre,
             SurfaceManifolds& out) const {
    const Vec3 normal = c.normal.cast<Real>();
    const auto slop = static_cast<Real>(2 * slop_);
    const auto keep = [&](const Manifold::Point* from, int n) {
      Manifold& m = out.manifolds[out.count++];
      keep_four(from, n, normal, slop, m, true);
      m.turns = c.turning.by;
      if (m.turns == Manifold::Turns::with_edges)
        m.set_edges(c.turning.edge_a.cast<Real>(), c.turning.edge_b.cast<Real>());
    };
    keep(points, count);
    const Manifold& all = out.manifolds[out.count - 1];
    const auto is_deep = [&](const Manifold::Point& p) {
      return p.separation <= static_cast<Real>(c.deepest) + slop;
    };
    if (std::all_of(all.points, all.points + all.count, is_deep)) return;
    const SupportPlane plane =
        support_plane(points, count, centre, c.normal, c.deepest, static_cast<double>(slop));
    const auto bears = [&](const Manifold::Point& p) {
      return static_cast<double>(p.separation) <= plane.gap(p.x.cast<double>()) + static_cast<double>(slop);
    };
    if (std::all_of(all.points, all.points + all.count, bears)) return;
    Manifold::Point low[room], high[room];
    int num_low = 0, num_high = 0;
    for (int k = 0; k < count; ++k) (bears(points[k]) ? low[num_low++] : high[num_high++]) = points[k];
    Manifold bearing;
    keep_four(low, num_low, normal, slop, bearing, true);
    const bool sinks = std::any_of(bearing.points, bearing.points + bearing.count,
                                   [&](const auto& p) { return p.separation < gap_at(all, p.x) - slop; });
    if (!sinks) return;
    --out.count;
    keep(low, num_low);
    if (out.count + to_come < SurfaceManifolds::most) keep(high, num_high);
  }

  /// Gap at x of a plane through the manifold's points as keep_four() orders them: the first two and what is
  /// beside their line, on the side of x.
  static Real gap_at(const Manifold& m, const Vec3& x) {
    const auto& p = m.points;
    if (m.count == 1) return p[0].separation;
    const Vec3 line = p[1].x - p[0].x, across = m.normal.cross(line), from = x - p[0].x;
    Real along = line.dot(from), gap = p[0].separation;
    for (int k = 2; k < m.count; ++k) {
      const Vec3 beside = p[k].x - p[0].x;
      const Real part = across.dot(from) / across.dot(beside);
      if (!(part > 0)) continue;
      along -= part * line.dot(beside);
      gap += part * (p[k].separation - p[0].separation);
      break;
    }
    return gap + along / line.squaredNorm() * (p[1].separation - p[0].separation);
  }

  Cluster* find(const Point& normal, double gap) {
    Cluster* best = nullptr;
    double most = least_cosine;
    for (int i = 0; i < count_; ++i)
      if (const double cosine = clusters_[i].normal.dot(normal); cosine > most) {
        most = cosine;
        best = &clusters_[i];
      }
    if (best) return best;
    if (count_ < SurfaceManifolds::most) {
      best = &clusters_[count_++];
    } else {
      best = std::max_element(clusters_, clusters_ + count_,
                              [](const Cluster& l, const Cluster& r) { return l.deepest < r.deepest; });
      if (best->deepest <= gap) return nullptr;
    }
    best->normal = normal;
    best->deepest = std::numeric_limits<double>::infinity();  // none yet
    best->count = 0;
    return best;
  }

  /// The point of the same id, or else at the same place.
  Item* find(Cluster& c, const Item& item) const {
    for (int i = 0; i < c.count; ++i)
      if (c.items[i].point.id == item.point.id) return &c.items[i];
    for (int i = 0; i < c.count; ++i)
      if ((c.items[i].point.x - item.point.x).squaredNorm() <= static_cast<Real>(slop_ * slop_))
        return &c.items[i];
    return nullptr;
  }

  double slop_;
  Cluster clusters_[SurfaceManifolds::most];
  int count_ = 0;
};

}  // namespace plenum::inline PLENUM_ABI::detail
