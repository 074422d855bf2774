#pragma once
// Gathers contact points of many triangles into manifolds by their normals.
#include <algorithm>
#include <cmath>

#include "plenum/geometry/collide/detail/core.h"
#include "plenum/geometry/collide/detail/reduce.h"
#include "plenum/geometry/collide/surface_contacts.h"

namespace plenum::inline PLENUM_ABI::detail {

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

  /// Two points at one place become one: that of higher rank, unless the other is clearly deeper, with the id
  /// of the higher rank, so that a corner is known by the same id whichever triangle is found first.
  void add(const Point& normal, const Point& x, double gap, std::uint32_t id, Rank rank) {
    Cluster* c = find(normal, gap);
    if (!c) return;
    const Vec3 at = x.cast<Real>();
    // Directions touched at once may share a corner of B: the normal makes the difference.
    std::uint32_t direction = 0;
    for (int i = 0; i < 3; ++i)
      direction = 9 * direction + static_cast<std::uint32_t>(std::lround(4 * normal[i]) + 4);
    const Item item{{at, static_cast<Real>(gap), mix(id, direction)}, rank};
    if (Item* known = find(*c, item)) {
      const std::uint32_t name = rank > known->rank ? item.point.id : known->point.id;
      const Real lower = item.point.separation - known->point.separation, slop = static_cast<Real>(slop_);
      if (rank > known->rank ? lower < slop : lower < -slop) known->point = item.point;
      known->point.id = name;
      known->rank = std::max(known->rank, rank);
      return update(*c, normal, gap);
    }
    if (c->count == room) reduce(*c);
    c->items[c->count++] = item;
    update(*c, normal, gap);
  }

  void write(SurfaceManifolds& out) {
    out.count = 0;
    for (int i = 0; i < count_; ++i) {
      Cluster& c = clusters_[i];
      Manifold::Point points[room];
      for (int k = 0; k < c.count; ++k) points[k] = c.items[k].point;
      Manifold& m = out.manifolds[out.count++];
      keep_four(points, c.count, c.normal.cast<Real>(), static_cast<Real>(2 * slop_), m, true);
    }
  }

 private:
  static constexpr int room = 48;
  static constexpr double least_cosine = 0.99619470;  // 5 degrees
  struct Item {
    Manifold::Point point;
    Rank rank;
  };
  struct Cluster {
    Point normal;
    double deepest;
    Item items[room];
    int count;
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
    best->deepest = gap;
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

  void update(Cluster& c, const Point& normal, double gap) {
    if (gap >= c.deepest) return;
    c.deepest = gap;
    c.normal = normal;
  }

  /// Makes room: keeps corners of B, the deepest point, and the outermost in eight directions.
  void reduce(Cluster& c) {
    bool keep[room] = {};
    const Vec3 n = c.normal.cast<Real>();
    const Vec3 u = n.unitOrthogonal(), v = n.cross(u);
    for (int i = 0; i <= 8; ++i) {
      const Real angle = Real(0.78539816) * Real(i);
      const Vec3 direction = std::cos(angle) * u + std::sin(angle) * v;
      int best = 0;
      const auto score = [&](int k) {
        return i == 8 ? -c.items[k].point.separation : direction.dot(c.items[k].point.x);
      };
      for (int k = 1; k < c.count; ++k)
        if (score(k) > score(best)) best = k;
      keep[best] = true;
    }
    int kept = 0;
    for (int k = 0; k < c.count; ++k)
      if (keep[k] || (c.items[k].rank == corner && kept < room / 2)) c.items[kept++] = c.items[k];
    c.count = kept;
  }

  double slop_;
  Cluster clusters_[SurfaceManifolds::most];
  int count_ = 0;
};

}  // namespace plenum::inline PLENUM_ABI::detail
