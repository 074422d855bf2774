#include "plenum/geometry/embedding.h"

#include <Eigen/Geometry>
#include <cmath>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/bvh.h"
#include "plenum/geometry/triangle_distance.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Point = Vector3<double>;
constexpr std::size_t points_per_block = 256;

double volume6(const Point& a, const Point& b, const Point& c, const Point& d) {
  return (b - a).cross(c - a).dot(d - a);
}

struct Tetrahedron {
  Point corner[4];
  Tetrahedron(std::span<const Vec3> x, const Index4& t) {
    for (int k = 0; k < 4; ++k) corner[k] = x[t[k]].cast<double>();
  }
  bool is_flat() const {
    double longest = 0;
    for (int i = 0; i < 4; ++i)
      for (int j = i + 1; j < 4; ++j) longest = std::max(longest, (corner[i] - corner[j]).norm());
    return !(std::abs(volume6(corner[0], corner[1], corner[2], corner[3])) >
             1e-9 * longest * longest * longest);
  }
  Vector4<double> weights(const Point& p) const {
    const double all = volume6(corner[0], corner[1], corner[2], corner[3]);
    Vector4<double> w;
    for (int k = 0; k < 4; ++k) {
      Point c[4] = {corner[0], corner[1], corner[2], corner[3]};
      c[k] = p;
      w[k] = volume6(c[0], c[1], c[2], c[3]) / all;
    }
    return w;
  }
  /// 0 inside.
  double squared_distance(const Point& p) const {
    if (weights(p).minCoeff() >= 0) return 0;
    double least = std::numeric_limits<double>::infinity();
    constexpr int faces[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    for (const auto& f : faces)
      least = std::min(
          least,
          (p - closest_on_triangle<double>(p, corner[f[0]], corner[f[1]], corner[f[2]]).point).squaredNorm());
    return least;
  }
};

bool has_no_area(std::span<const Vec3> x, const Index3& t) {
  const Point ab = (x[t[1]] - x[t[0]]).cast<double>(), ac = (x[t[2]] - x[t[0]]).cast<double>();
  return !(ab.cross(ac).norm() > 1e-9 * std::max(ab.squaredNorm(), ac.squaredNorm()));
}

/// Items that may be bound to, and the tree of their boxes.
template <class Cell>
struct Hosts {
  std::vector<Cell> cells;
  Bvh bvh;
  template <class Usable>
  Hosts(std::span<const Vec3> x, std::span<const Cell> all, Usable&& usable) {
    std::vector<Aabb> boxes;
    for (const Cell& cell : all) {
      if (!usable(cell)) continue;
      cells.push_back(cell);
      Aabb& box = boxes.emplace_back();
      for (int k = 0; k < Cell::RowsAtCompileTime; ++k) box.extend(x[cell[k]]);
    }
    if (cells.empty()) throw Error("the simulation mesh has no cell with an extent for points to ride on");
    bvh = Bvh(boxes);
  }
  template <class SquaredDistance>
  const Cell& nearest(const Vec3& p, SquaredDistance&& to) const {
    Real best = std::numeric_limits<Real>::infinity();
    const Index slot = bvh.nearest(p, best, [&](Index s) { return Real(to(cells[bvh.order()[s]])); });
    return cells[slot < 0 ? 0 : bvh.order()[slot]];
  }
};

}  // namespace

TetEmbedding embed_in_tetrahedra(std::span<const Vec3> points, std::span<const Vec3> x,
                                 std::span<const Index4> tetrahedra) {
  const Hosts<Index4> hosts(x, tetrahedra, [&](const Index4& t) { return !Tetrahedron(x, t).is_flat(); });
  TetEmbedding embedding;
  embedding.vertices.resize(points.size());
  embedding.weights.resize(points.size());
  parallel_for(points.size(), points_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Point p = points[i].cast<double>();
      const Index4& host =
          hosts.nearest(points[i], [&](const Index4& t) { return Tetrahedron(x, t).squared_distance(p); });
      embedding.vertices[i] = host;
      embedding.weights[i] = Tetrahedron(x, host).weights(p).cast<Real>();
    }
  });
  return embedding;
}

void update_embedded(const TetEmbedding& embedding, std::span<const Vec3> x, std::span<Vec3> points) {
  parallel_for(points.size(), 4 * points_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Index4& v = embedding.vertices[i];
      const Vec4& w = embedding.weights[i];
      points[i] = w[0] * x[v[0]] + w[1] * x[v[1]] + w[2] * x[v[2]] + w[3] * x[v[3]];
    }
  });
}

TriangleEmbedding embed_in_triangles(std::span<const Vec3> points, std::span<const Vec3> x,
                                     std::span<const Index3> triangles) {
  const Hosts<Index3> hosts(x, triangles, [&](const Index3& t) { return !has_no_area(x, t); });
  TriangleEmbedding embedding;
  embedding.vertices.resize(points.size());
  embedding.weights.resize(points.size());
  embedding.offset.resize(points.size());
  parallel_for(points.size(), points_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Index3& host = hosts.nearest(points[i], [&](const Index3& t) {
        return (points[i] - closest_on_triangle(points[i], x[t[0]], x[t[1]], x[t[2]]).point).squaredNorm();
      });
      const Point p = points[i].cast<double>(), a = x[host[0]].cast<double>(), b = x[host[1]].cast<double>(),
                  c = x[host[2]].cast<double>();
      const Point n = (b - a).cross(c - a);
      const double area2 = n.squaredNorm();
      const double v = n.dot((p - a).cross(c - a)) / area2, w = n.dot((b - a).cross(p - a)) / area2;
      embedding.vertices[i] = host;
      embedding.weights[i] = Vec3(Real(1 - v - w), Real(v), Real(w));
      embedding.offset[i] = Real(n.dot(p - a) / std::sqrt(area2));
    }
  });
  return embedding;
}

void update_embedded(const TriangleEmbedding& embedding, std::span<const Vec3> x, std::span<Vec3> points) {
  parallel_for(points.size(), 4 * points_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Index3& v = embedding.vertices[i];
      const Vec3& w = embedding.weights[i];
      const Vec3 n = (x[v[1]] - x[v[0]]).cross(x[v[2]] - x[v[0]]);
      const Real length = n.norm();
      points[i] = w[0] * x[v[0]] + w[1] * x[v[1]] + w[2] * x[v[2]];
      if (length > 0) points[i] += embedding.offset[i] / length * n;
    }
  });
}

}  // namespace plenum::inline PLENUM_ABI
