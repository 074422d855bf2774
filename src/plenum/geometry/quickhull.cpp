// Convex hulls of points.
#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "plenum/base/error.h"
#include "plenum/geometry/convex_hull.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Point = Vector3<double>;

/// Quickhull on triangles. A point is added only if it lies more than the tolerance above a face; it then
/// replaces every triangle that it is above by more than 1e-9 of the size: more than the rounding of coplanar
/// points in double precision, less than that of coordinates in single. So edges are convex but for this
/// little, too little to hide from the next point what it must see.
class Quickhull {
 public:
  struct Triangle {
    std::array<int, 3> v;     // points
    std::array<int, 3> next;  // triangle across the edge v[i] -> v[i + 1]
    Point normal;
    double offset;
    std::vector<int> outside;  // points above it and above no earlier one
    int farthest = -1;
    double farthest_distance = 0;
    bool alive = true;
  };

  Quickhull(std::vector<Point> points, double tolerance) : x_(std::move(points)), tolerance_(tolerance) {
    double size = 0;
    for (const Point& p : x_) size = std::max(size, p.lpNorm<Eigen::Infinity>());
    visible_ = 1e-9 * size;
  }

  /// False if the points have no volume.
  bool build(std::size_t max_vertices) {
    if (!start()) return false;
    std::size_t count = 4;
    // Every addition grows the hull; the bound is for rounding alone.
    for (std::size_t added = 0; count < max_vertices && added < 4 * x_.size(); ++added) {
      int top = face_with_farthest_point();
      if (top < 0 && reconsider()) top = face_with_farthest_point();
      if (top < 0) break;
      add(triangles_[static_cast<std::size_t>(top)].farthest, top);
      count = count_vertices();
    }
    return true;
  }

  const std::vector<Triangle>& triangles() const { return triangles_; }
  const std::vector<Point>& points() const { return x_; }

 private:
  Triangle& at(int t) { return triangles_[static_cast<std::size_t>(t)]; }
  const Point& x(int i) const { return x_[static_cast<std::size_t>(i)]; }

  int new_triangle(int a, int b, int c) {
    Triangle t{{a, b, c}, {-1, -1, -1}, (x(b) - x(a)).cross(x(c) - x(a)).normalized(), 0, {}, -1, 0, true};
    t.offset = t.normal.dot(x(a) + x(b) + x(c)) / 3;
    triangles_.push_back(std::move(t));
    return static_cast<int>(triangles_.size()) - 1;
  }

  double height(int t, int i) const {
    const Triangle& f = triangles_[static_cast<std::size_t>(t)];
    return f.normal.dot(x(i)) - f.offset;
  }

  /// Gives a point to the triangle if it is above.
  bool give(int i, int t) {
    const double h = height(t, i);
    if (h <= tolerance_) return false;
    Triangle& f = at(t);
    f.outside.push_back(i);
    if (h > f.farthest_distance) {
      f.farthest_distance = h;
      f.farthest = i;
    }
    return true;
  }

  /// Gives a point to the first triangle that it is above, a fresh one if possible. In exact arithmetic a
  /// point above no fresh one is inside; with thick faces only the test of all is sure, and each point fails
  /// it once.
  void assign(int i, const std::vector<int>& fresh) {
    for (int t : fresh)
      if (give(i, t)) return;
    for (std::size_t t = 0; t < triangles_.size(); ++t)
      if (triangles_[t].alive && give(i, static_cast<int>(t))) return;
  }

  bool start() {
    // The two points farthest apart along an axis, then the farthest from their line and from the plane.
    int low = 0, high = 0;
    double widest = -1;
    const int n = static_cast<int>(x_.size());
    for (int axis = 0; axis < 3; ++axis) {
      int a = 0, b = 0;
      for (int i = 1; i < n; ++i) {
        if (x(i)[axis] < x(a)[axis]) a = i;
        if (x(i)[axis] > x(b)[axis]) b = i;
      }
      if (x(b)[axis] - x(a)[axis] > widest) {
        widest = x(b)[axis] - x(a)[axis];
        low = a;
        high = b;
      }
    }
    if (!(widest > tolerance_)) return false;
    const Point along = (x(high) - x(low)).normalized();
    int third = -1, fourth = -1;
    double most = tolerance_;
    for (int i = 0; i < n; ++i) {
      const double d = (x(i) - x(low)).cross(along).norm();
      if (d > most) {
        most = d;
        third = i;
      }
    }
    if (third < 0) return false;
    const Point normal = (x(high) - x(low)).cross(x(third) - x(low)).normalized();
    most = tolerance_;
    for (int i = 0; i < n; ++i) {
      const double d = std::abs(normal.dot(x(i) - x(low)));
      if (d > most) {
        most = d;
        fourth = i;
      }
    }
    if (fourth < 0) return false;
    if (normal.dot(x(fourth) - x(low)) > 0) std::swap(low, high);  // the fourth lies below (low, high, third)
    const std::vector<int> four = {new_triangle(low, high, third), new_triangle(high, low, fourth),
                                   new_triangle(third, high, fourth), new_triangle(low, third, fourth)};
    at(0).next = {1, 2, 3};
    at(1).next = {0, 3, 2};
    at(2).next = {0, 1, 3};
    at(3).next = {0, 2, 1};
    for (int i = 0; i < n; ++i) assign(i, four);
    return true;
  }

  int face_with_farthest_point() const {
    int best = -1;
    double most = 0;
    for (std::size_t t = 0; t < triangles_.size(); ++t)
      if (triangles_[t].alive && triangles_[t].farthest >= 0 && triangles_[t].farthest_distance > most) {
        most = triangles_[t].farthest_distance;
        best = static_cast<int>(t);
      }
    return best;
  }

  /// Points given up as within the tolerance of a triangle may be above a later, steeper one.
  bool reconsider() {
    std::vector<char> is_vertex(x_.size(), 0);
    for (const Triangle& t : triangles_)
      for (int v : t.v) is_vertex[static_cast<std::size_t>(v)] |= t.alive;
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (!is_vertex[i]) assign(static_cast<int>(i), {});
    return face_with_farthest_point() >= 0;
  }

  std::size_t count_vertices() const {  // Euler: a closed triangle mesh has 2 V - 4 triangles
    return static_cast<std::size_t>(alive_ / 2 + 2);
  }

  void add(int point, int first) {
    // The triangles that see the point, connected with the first.
    seen_.assign(triangles_.size(), 0);
    std::vector<int> visible = {first};
    seen_[static_cast<std::size_t>(first)] = 1;
    for (std::size_t k = 0; k < visible.size(); ++k)
      for (int n : triangles_[static_cast<std::size_t>(visible[k])].next)
        if (!seen_[static_cast<std::size_t>(n)] && height(n, point) > visible_) {
          seen_[static_cast<std::size_t>(n)] = 1;
          visible.push_back(n);
        }
    fill_holes(visible);
    // The horizon: edges from a visible to a hidden triangle. Both sets are connected, so it is one loop.
    struct Horizon {
      int a, b, beyond;
    };
    std::vector<Horizon> horizon;
    for (int t : visible)
      for (std::size_t k = 0; k < 3; ++k) {
        const int n = at(t).next[k];
        if (!seen_[static_cast<std::size_t>(n)]) horizon.push_back({at(t).v[k], at(t).v[(k + 1) % 3], n});
      }
    std::vector<int> fresh;
    for (const Horizon& e : horizon) {
      const int t = new_triangle(e.a, e.b, point);
      fresh.push_back(t);
      at(t).next[0] = e.beyond;
      Triangle& beyond = at(e.beyond);
      for (std::size_t k = 0; k < 3; ++k)
        if (beyond.v[k] == e.b && beyond.v[(k + 1) % 3] == e.a) beyond.next[k] = t;
    }
    for (std::size_t i = 0; i < fresh.size(); ++i)
      for (std::size_t j = 0; j < fresh.size(); ++j)
        if (horizon[i].b == horizon[j].a) {
          at(fresh[i]).next[1] = fresh[j];
          at(fresh[j]).next[2] = fresh[i];
        }
    for (int t : visible) at(t).alive = false;
    for (int t : visible) {
      const std::vector<int> outside = std::move(at(t).outside);
      at(t).outside = {};
      for (int i : outside)
        if (i != point) assign(i, fresh);
    }
    alive_ += static_cast<int>(fresh.size()) - static_cast<int>(visible.size());
  }

  /// Hidden triangles that the visible ones surround, which only rounding makes possible, become visible.
  void fill_holes(std::vector<int>& visible) {
    std::vector<char> reached = seen_;
    std::vector<int> largest;
    for (std::size_t t = 0; t < triangles_.size(); ++t) {
      if (!triangles_[t].alive || reached[t]) continue;
      std::vector<int> component = {static_cast<int>(t)};
      reached[t] = 1;
      for (std::size_t k = 0; k < component.size(); ++k)
        for (int n : triangles_[static_cast<std::size_t>(component[k])].next)
          if (!reached[static_cast<std::size_t>(n)]) {
            reached[static_cast<std::size_t>(n)] = 1;
            component.push_back(n);
          }
      if (component.size() > largest.size()) std::swap(component, largest);
      for (int c : component) {
        seen_[static_cast<std::size_t>(c)] = 1;
        visible.push_back(c);
      }
    }
  }

  std::vector<Point> x_;
  double tolerance_, visible_;
  std::vector<Triangle> triangles_;
  std::vector<char> seen_;
  int alive_ = 4;
};

/// Groups of triangles that make the polygons of the final hull.
class Merger {
 public:
  Merger(const Quickhull& hull, double tolerance) : x_(hull.points()), tolerance_(tolerance) {
    std::vector<int> number(hull.triangles().size(), -1);
    for (std::size_t t = 0; t < number.size(); ++t)
      if (hull.triangles()[t].alive) {
        number[t] = static_cast<int>(v_.size());
        v_.push_back(hull.triangles()[t].v);
        next_.push_back(hull.triangles()[t].next);
      }
    for (auto& next : next_)
      for (int& n : next) n = number[static_cast<std::size_t>(n)];
    for (std::size_t t = 0; t < v_.size(); ++t) {
      group_.push_back(static_cast<int>(t));
      members_.push_back({static_cast<int>(t)});
      normals_.push_back(area(t));
      weights_.push_back(normals_[t].norm());
      centres_.push_back(weights_[t] * (at(v_[t][0]) + at(v_[t][1]) + at(v_[t][2])) / 3);
    }
    offsets_.resize(v_.size());
    for (std::size_t g = 0; g < v_.size(); ++g) place_plane(g);
  }

  void run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t t = 0; t < v_.size(); ++t)
        for (std::size_t k = 0; k < 3; ++k) {
          const auto g = static_cast<std::size_t>(group_[t]);
          const auto h = static_cast<std::size_t>(group_[static_cast<std::size_t>(next_[t][k])]);
          // The plane of the larger judges: a sliver's own means little.
          if (g == h ||
              height(weights_[g] < weights_[h] ? h : g, weights_[g] < weights_[h] ? g : h) < -tolerance_)
            continue;
          if (!stays_flat(g, h)) continue;
          unite(std::min(g, h), std::max(g, h));
          changed = true;
        }
    }
    // A plane that cuts off the middle of a neighbour belongs to a sliver that lies between two larger faces.
    // It joins the one that it is nearest to.
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t g = 0; g < v_.size() && !changed; ++g) {
        bool is_concave = false;
        std::size_t nearest = g;
        double most = -std::numeric_limits<double>::infinity();
        for (int t : members_[g])
          for (int n : next_[static_cast<std::size_t>(t)]) {
            const auto h = static_cast<std::size_t>(group_[static_cast<std::size_t>(n)]);
            if (h == g) continue;
            is_concave |= height(g, h) > tolerance_;
            if (height(h, g) > most) {
              most = height(h, g);
              nearest = h;
            }
          }
        if (!is_concave || nearest == g) continue;
        unite(std::min(g, nearest), std::max(g, nearest));
        changed = true;
      }
    }
    // A group that surrounds others swallows them: its border must be one loop.
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t g = 0; g < v_.size() && !changed; ++g) {
        auto loops = borders(g);
        if (loops.size() < 2) continue;
        std::size_t outer = 0;
        for (std::size_t l = 1; l < loops.size(); ++l)
          if (loops[l].size() > loops[outer].size()) outer = l;
        for (std::size_t l = 0; l < loops.size() && !changed; ++l) {
          if (l == outer) continue;
          const auto [t, k] = loops[l].front();
          const auto h = static_cast<std::size_t>(group_[static_cast<std::size_t>(
              next_[static_cast<std::size_t>(t)][static_cast<std::size_t>(k)])]);
          unite(std::min(g, h), std::max(g, h));
          changed = true;
        }
      }
    }
  }

  struct Polygon {
    std::vector<int> corners;
    Point normal;  // the mean of its triangles', weighted by area
  };

  /// Corners of the polygons; those where only two polygons meet, which are points on an edge, are left out.
  std::vector<Polygon> polygons() const {
    std::vector<Polygon> result;
    for (std::size_t g = 0; g < v_.size(); ++g) {
      if (members_[g].empty()) continue;
      Polygon polygon{{}, normals_[g].normalized()};
      for (const auto& loop : borders(g))
        for (const auto& [t, k] : loop)
          polygon.corners.push_back(v_[static_cast<std::size_t>(t)][static_cast<std::size_t>(k)]);
      result.push_back(std::move(polygon));
    }
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<int> degree(x_.size(), 0);
      for (const Polygon& p : result)
        for (int c : p.corners) ++degree[static_cast<std::size_t>(c)];
      for (Polygon& p : result)
        changed |=
            std::erase_if(p.corners, [&](int c) { return degree[static_cast<std::size_t>(c)] < 3; }) > 0;
      changed |= std::erase_if(result, [](const Polygon& p) { return p.corners.size() < 3; }) > 0;
    }
    return result;
  }

 private:
  Point area(std::size_t t) const {
    const Point &a = at(v_[t][0]), &b = at(v_[t][1]), &c = at(v_[t][2]);
    return (b - a).cross(c - a);
  }
  const Point& at(int i) const { return x_[static_cast<std::size_t>(i)]; }

  void place_plane(std::size_t g) { offsets_[g] = normals_[g].normalized().dot(centres_[g] / weights_[g]); }

  /// Height of the middle of group h over the plane of group g. A clearly convex edge between them has both
  /// clearly below the other's plane.
  double height(std::size_t g, std::size_t h) const {
    return normals_[g].normalized().dot(centres_[h] / weights_[h]) - offsets_[g];
  }

  /// Whether the plane of both groups together stays near the corners of both: many small bends add up.
  bool stays_flat(std::size_t g, std::size_t h) const {
    const Point n = (normals_[g] + normals_[h]).normalized();
    const double offset = n.dot(centres_[g] + centres_[h]) / (weights_[g] + weights_[h]);
    for (std::size_t k : {g, h})
      for (int t : members_[k])
        for (int c : v_[static_cast<std::size_t>(t)])
          if (std::abs(n.dot(at(c)) - offset) > 2 * tolerance_) return false;
    return true;
  }

  void unite(std::size_t g, std::size_t h) {
    for (int t : members_[h]) group_[static_cast<std::size_t>(t)] = static_cast<int>(g);
    members_[g].insert(members_[g].end(), members_[h].begin(), members_[h].end());
    members_[h].clear();
    normals_[g] += normals_[h];
    centres_[g] += centres_[h];
    weights_[g] += weights_[h];
    place_plane(g);
  }

  /// Loops of half-edges (triangle, side) between a group and others, in order.
  std::vector<std::vector<std::pair<int, int>>> borders(std::size_t g) const {
    std::vector<std::pair<int, int>> open;
    for (int t : members_[g])
      for (int k = 0; k < 3; ++k)
        if (group_[static_cast<std::size_t>(
                next_[static_cast<std::size_t>(t)][static_cast<std::size_t>(k)])] != static_cast<int>(g))
          open.emplace_back(t, k);
    std::vector<std::vector<std::pair<int, int>>> loops;
    std::vector<char> used(open.size(), 0);
    const auto from = [&](const std::pair<int, int>& e) {
      return v_[static_cast<std::size_t>(e.first)][static_cast<std::size_t>(e.second)];
    };
    const auto to = [&](const std::pair<int, int>& e) {
      return v_[static_cast<std::size_t>(e.first)][static_cast<std::size_t>((e.second + 1) % 3)];
    };
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (used[i]) continue;
      std::vector<std::pair<int, int>> loop = {open[i]};
      used[i] = 1;
      while (to(loop.back()) != from(loop.front())) {
        std::size_t j = 0;
        while (j < open.size() && (used[j] || from(open[j]) != to(loop.back()))) ++j;
        if (j == open.size()) break;
        used[j] = 1;
        loop.push_back(open[j]);
      }
      loops.push_back(std::move(loop));
    }
    return loops;
  }

  const std::vector<Point>& x_;
  double tolerance_;
  std::vector<std::array<int, 3>> v_, next_;
  std::vector<int> group_;
  std::vector<std::vector<int>> members_;
  std::vector<Point> normals_;  // summed cross products
  std::vector<double> offsets_, weights_;
  std::vector<Point> centres_;  // weighted by area
};

void refuse(const std::string& what, const std::string& remedy) {
  throw Error(Problem{.what = what, .remedy = remedy});
}

}  // namespace

double convex_hull_tolerance(std::span<const Vec3> points) {
  double largest = 0;
  const Aabb box = bounds_of(points);
  for (const Vec3& p : points) largest = std::max(largest, static_cast<double>(p.lpNorm<1>()));
  // The second part keeps double precision's own rounding far below the thickness of faces.
  return std::max(8 * static_cast<double>(std::numeric_limits<Real>::epsilon()) * largest,
                  1e-7 * static_cast<double>(box.size().maxCoeff()));
}

ConvexHull convex_hull(std::span<const Vec3> points, std::size_t max_vertices) {
  if (points.size() < 4)
    refuse(fmt::format("a convex hull of {} points has no volume", points.size()), "give at least four");
  for (const Vec3& p : points)
    if (!p.allFinite()) refuse("a point of a convex hull is not finite", "remove it");
  max_vertices = std::clamp<std::size_t>(max_vertices, 4, ConvexHull::max_vertices);
  const double tolerance = convex_hull_tolerance(points);

  // About the middle of the points, so that a far origin costs nothing more.
  const Point middle = bounds_of(points).centre().cast<double>();
  std::vector<Point> x;
  x.reserve(points.size());
  for (const Vec3& p : points) x.push_back(p.cast<double>() - middle);

  Quickhull hull(x, tolerance);
  if (!hull.build(max_vertices))
    refuse("the points of a convex hull lie in a plane, on a line or in a point",
           "give it thickness, or use another shape");
  Merger merger(hull, tolerance);
  merger.run();
  const auto polygons = merger.polygons();

  ConvexHull result;
  std::vector<int> number(x.size(), -1);
  for (const auto& polygon : polygons)
    for (int c : polygon.corners) number[static_cast<std::size_t>(c)] = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (number[i] == 0) {
      number[i] = static_cast<int>(result.vertices.size());
      result.vertices.push_back(points[i]);
      result.bounds.extend(points[i]);
    }
  std::vector<int> face_of(result.vertices.size() * result.vertices.size(), -1);
  const auto slot = [&](std::size_t a, std::size_t b) -> int& {
    return face_of[a * result.vertices.size() + b];
  };
  for (const auto& polygon : polygons) {
    const Point& normal = polygon.normal;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (int c : polygon.corners) {
      low = std::min(low, normal.dot(x[static_cast<std::size_t>(c)]));
      high = std::max(high, normal.dot(x[static_cast<std::size_t>(c)]));
    }
    const double offset = 0.5 * (low + high) + normal.dot(middle);
    const auto face = static_cast<int>(result.faces.size());
    result.faces.push_back({normal.cast<Real>(), static_cast<Real>(offset),
                            static_cast<std::uint16_t>(result.corners.size()),
                            static_cast<std::uint16_t>(polygon.corners.size())});
    for (std::size_t k = 0; k < polygon.corners.size(); ++k) {
      const int a = number[static_cast<std::size_t>(polygon.corners[k])];
      const int b = number[static_cast<std::size_t>(polygon.corners[(k + 1) % polygon.corners.size()])];
      result.corners.push_back(static_cast<std::uint16_t>(a));
      slot(static_cast<std::size_t>(a), static_cast<std::size_t>(b)) = face;
    }
  }
  for (std::size_t a = 0; a < result.vertices.size(); ++a)
    for (std::size_t b = a + 1; b < result.vertices.size(); ++b) {
      const int left = slot(a, b), right = slot(b, a);
      if (left >= 0 && right >= 0)
        result.edges.push_back({static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b),
                                static_cast<std::uint16_t>(left), static_cast<std::uint16_t>(right)});
    }
  if (result.vertices.size() + result.faces.size() != result.edges.size() + 2 ||
      result.corners.size() != 2 * result.edges.size())
    refuse("the points of a convex hull are too close to a plane to tell its faces", "give it thickness");

  double volume = 0;
  Point moment = Point::Zero();
  for (const auto& polygon : polygons)
    for (std::size_t k = 1; k + 1 < polygon.corners.size(); ++k) {
      const Point &a = x[static_cast<std::size_t>(polygon.corners[0])],
                  &b = x[static_cast<std::size_t>(polygon.corners[k])],
                  &c = x[static_cast<std::size_t>(polygon.corners[k + 1])];
      const double v = a.dot(b.cross(c));
      volume += v;
      moment += v * (a + b + c) / 4;
    }
  result.centre = (middle + moment / volume).cast<Real>();
  result.pack();
  return result;
}

}  // namespace plenum::inline PLENUM_ABI
