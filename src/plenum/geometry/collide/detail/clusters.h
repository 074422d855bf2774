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
  /// that are outermost in one of eight directions, and the deepest.
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
    score[8] = depth;
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
      keep_four(points, count, c.normal.cast<Real>(), static_cast<Real>(2 * slop_), out.manifolds[out.count],
                true);
      Manifold& m = out.manifolds[out.count++];
      m.turns = c.turning.by;
      if (m.turns == Manifold::Turns::with_edges)
        m.set_edges(c.turning.edge_a.cast<Real>(), c.turning.edge_b.cast<Real>());
    }
  }

 private:
  static constexpr int outermost = 9, most_corners = 16;
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
