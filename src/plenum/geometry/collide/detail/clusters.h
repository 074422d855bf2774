#pragma once
// Gathers contact points of many triangles into manifolds by their normals.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/geometry/collide/detail/core.h"
#include "plenum/geometry/collide/detail/reduce.h"
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

  /// A point over a corner of B is known by its id and kept while there is room; of the others only those
  /// that are outermost in one of eight directions, with regard to their gaps and without, and the deepest.
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
    if (rank == corner) {
      for (int i = 0; i < c->corners; ++i) {
        Item& known = c->items[outermost + i];
        if (known.point.id != item.point.id) continue;
        if (item.point.separation < known.point.separation) known = item;
        return;
      }
      if (c->corners < most_corners) {
        c->items[outermost + c->corners++] = item;
        return;
      }
    }
    const Real depth = -item.point.separation;
    Real score[outermost];
    for (int i = 0; i < 4; ++i) {
      score[i] = c->direction[i].dot(item.point.x);
      score[i + 4] = -score[i];
    }
    for (int i = 0; i < 8; ++i) score[i + 8] = score[i] + regard * depth;
    score[outermost - 1] = depth;
    for (int i = 0; i < outermost; ++i)
      if (score[i] > c->score[i]) {
        c->score[i] = score[i];
        c->items[i] = item;
      }
  }

  void write(SurfaceManifolds& out) {
    out.count = 0;
    for (int i = 0; i < count_; ++i) {
      const Cluster& c = clusters_[i];
      // Corners first, then faces: of points at one place the first is kept, unless another is clearly
      // deeper.
      Item unique[outermost + most_corners];
      int count = 0;
      for (const Rank rank : {corner, face, other})
        for (int k = 0; k < outermost + c.corners; ++k) {
          if (k < outermost && !(c.score[k] > lowest)) continue;
          const Item& item = c.items[k];
          if (item.rank != rank) continue;
          Item* same = find(unique, count, item);
          if (!same)
            unique[count++] = item;
          else if (item.point.separation < same->point.separation - static_cast<Real>(slop_))
            *same = item;
        }
      Manifold::Point points[outermost + most_corners];
      for (int k = 0; k < count; ++k) points[k] = unique[k].point;
      write(c, points, count, count_ - i - 1, out);
    }
  }

 private:
  static constexpr int outermost = 17, most_corners = 16;
  /// How far out a point must be to make good a gap, in gaps: a body that lies on a ridge is to be held by it
  /// and not by what hovers beside it over the ground below.
  static constexpr Real regard = 100;
  static constexpr Real lowest = -std::numeric_limits<Real>::max();
  static constexpr double least_cosine = 0.99619470;  // 5 degrees
  struct Item {
    Manifold::Point point;
    Rank rank;
  };
  struct Cluster {
    Point normal;
    Turning turning;
    double deepest;
    Vec3 direction[4];
    Real score[outermost];
    Item items[outermost + most_corners];
    int corners;
  };

  /// Points of a cluster as a manifold; as two, where four of them would let points sink in that bear, for
  /// others that hover: those that bear, and if there is room those that hover, for the body may tip onto
  /// them.
  void write(const Cluster& c, Manifold::Point* points, int count, int to_come, SurfaceManifolds& out) const {
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
    const auto bears = [&](const Manifold::Point& p) {
      return p.separation <= static_cast<Real>(c.deepest) + slop;
    };
    if (std::all_of(all.points, all.points + all.count, bears)) return;
    Manifold::Point low[outermost + most_corners], high[outermost + most_corners];
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
    best->corners = 0;
    for (Real& s : best->score) s = lowest;
    const Vec3 u = normal.unitOrthogonal().cast<Real>(), v = normal.cast<Real>().cross(u);
    constexpr Real c = Real(0.92387953), s = Real(0.38268343);  // of 22.5 degrees
    best->direction[0] = c * u + s * v;
    best->direction[1] = s * u + c * v;
    best->direction[2] = c * v - s * u;
    best->direction[3] = s * v - c * u;
    return best;
  }

  /// The point of the same id, or else at the same place.
  Item* find(Item* items, int count, const Item& item) const {
    for (int i = 0; i < count; ++i)
      if (items[i].point.id == item.point.id) return &items[i];
    for (int i = 0; i < count; ++i)
      if ((items[i].point.x - item.point.x).squaredNorm() <= static_cast<Real>(slop_ * slop_))
        return &items[i];
    return nullptr;
  }

  double slop_;
  Cluster clusters_[SurfaceManifolds::most];
  int count_ = 0;
};

}  // namespace plenum::inline PLENUM_ABI::detail
