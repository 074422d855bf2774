#include "plenum/geometry/mesh_distance.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "plenum/base/error.h"
#include "plenum/geometry/adjacency.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Point = Vector3<double>;

Point unit_or_zero(const Point& v) {
  const double length = v.norm();
  return length > 0 ? Point(v / length) : Point(Point::Zero());
}

/// Solid angle of a triangle seen from the origin, van Oosterom & Strackee 1983, eq. 8.
double solid_angle(const Point& a, const Point& b, const Point& c) {
  const double la = a.norm(), lb = b.norm(), lc = c.norm();
  return 2 * std::atan2(a.dot(b.cross(c)), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb);
}

void check(const TriangleMesh& mesh) {
  if (mesh.triangles.empty()) throw Error("a mesh without triangles has no distance");
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    for (int k = 0; k < 3; ++k) {
      const Index v = mesh.triangles[t][k];
      if (v < 0 || std::size_t(v) >= mesh.x.size())
        throw Error(Problem{.key = fmt::format("triangles[{}][{}]", t, k),
                            .what = "names a vertex that is not there",
                            .value = fmt::format("{}", v),
                            .allowed = fmt::format("0 to {}", Index(mesh.x.size()) - 1)});
    }
}

/// Pseudonormals by triangle and Feature: the face's unit normal; over an edge the sum of its faces' normals;
/// at a vertex the sum of the normals around weighted by their angles (Baerentzen & Aanaes 2005, eq. 2).
std::vector<std::array<Vec3, 7>> feature_normals(const TriangleMesh& mesh) {
  const auto& triangles = mesh.triangles;
  std::vector<Point> face(triangles.size()), vertex(mesh.x.size(), Point::Zero());
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    Point p[3];
    for (int k = 0; k < 3; ++k) p[k] = mesh.x[triangles[t][k]].cast<double>();
    face[t] = unit_or_zero((p[1] - p[0]).cross(p[2] - p[0]));
    for (int k = 0; k < 3; ++k) {
      const Point u = p[(k + 1) % 3] - p[k], v = p[(k + 2) % 3] - p[k];
      vertex[triangles[t][k]] += std::atan2(u.cross(v).norm(), u.dot(v)) * face[t];
    }
  }
  std::vector<std::array<Vec3, 7>> normals(triangles.size());
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    for (int k = 0; k < 3; ++k) normals[t][k] = vertex[triangles[t][k]].cast<Real>();
    normals[t][int(Feature::face)] = face[t].cast<Real>();
  }
  const std::vector<HalfEdge> halves = sorted_half_edges(triangles);
  for (std::size_t i = 0; i < halves.size();) {
    std::size_t end = i;
    Point sum = Point::Zero();
    for (; end < halves.size() && halves[end].low == halves[i].low && halves[end].high == halves[i].high;
         ++end)
      sum += face[halves[end].triangle];
    for (; i < end; ++i)
      normals[halves[i].triangle][int(Feature::edge01) + halves[i].corner] = sum.cast<Real>();
  }
  return normals;
}

}  // namespace

MeshDistance::MeshDistance(const TriangleMesh& mesh) {
  check(mesh);
  const std::vector<Aabb> boxes = triangle_boxes(mesh.x, mesh.triangles);
  bvh_ = Bvh(boxes, detail::TriangleBlock::width);
  const auto order = bvh_.order();
  const auto normals = feature_normals(mesh);
  triangles_.reserve(order.size());
  pseudonormals_.reserve(order.size());
  slot_of_.resize(order.size());
  for (const Index t : order) {
    const Index3& v = mesh.triangles[t];
    slot_of_[t] = static_cast<Index>(triangles_.size());
    triangles_.push_back({mesh.x[v[0]], mesh.x[v[1]], mesh.x[v[2]]});
    pseudonormals_.push_back(normals[t]);
  }
  block_of_.assign(order.size(), -1);
  for (const Bvh::Node& node : bvh_.nodes()) {
    if (node.count == 0) continue;
    block_of_[node.first] = static_cast<Index>(blocks_.size());
    detail::TriangleBlock& block = blocks_.emplace_back();
    for (int lane = 0; lane < detail::TriangleBlock::width; ++lane) {
      const Triangle& t = triangles_[node.first + std::min(lane, node.count - 1)];
      block.set(lane, t.a, t.b, t.c);
    }
  }
  // Children come after their parents: sums go upwards.
  struct Sum {
    double area = 0;
    Point first = Point::Zero(), vector = Point::Zero();
  };
  const auto nodes = bvh_.nodes();
  std::vector<Sum> sums(nodes.size());
  dipoles_.resize(nodes.size());
  for (std::size_t n = nodes.size(); n-- > 0;) {
    Sum& sum = sums[n];
    if (nodes[n].count == 0) {
      for (int side = 0; side < 2; ++side) {
        const Sum& child = sums[nodes[n].first + side];
        sum.area += child.area;
        sum.first += child.first;
        sum.vector += child.vector;
      }
    } else {
      for (Index i = nodes[n].first; i < nodes[n].first + nodes[n].count; ++i) {
        const Point a = triangles_[i].a.cast<double>(), b = triangles_[i].b.cast<double>(),
                    c = triangles_[i].c.cast<double>();
        const Point vector = 0.5 * (b - a).cross(c - a);
        sum.area += vector.norm();
        sum.first += vector.norm() / 3 * (a + b + c);
        sum.vector += vector;
      }
    }
    const Point low = nodes[n].low.cast<double>(), high = nodes[n].high.cast<double>();
    Dipole& dipole = dipoles_[n];
    dipole.area = sum.vector;
    dipole.centre = sum.area > 0 ? Point(sum.first / sum.area) : Point(0.5 * (low + high));
    dipole.radius = (high - dipole.centre).cwiseMax(dipole.centre - low).norm();
  }
}

Index MeshDistance::nearest_slot(const Vec3& x, Real& squared, Index hint) const {
  Index found = -1;
  if (hint >= 0) {
    const Triangle& t = triangles_[slot_of_[hint]];
    const Real d = (x - closest_on_triangle(x, t.a, t.b, t.c).point).squaredNorm();
    if (d < squared) {
      squared = d;
      found = slot_of_[hint];
    }
  }
  bvh_.each_near_leaf(x, squared, [&](const Bvh::Node& leaf) {
    detail::TriangleBlock::Lanes to;
    detail::squared_distances(blocks_[block_of_[leaf.first]], x, to);
    Real least = to[0];
    for (const Real d : to) least = std::min(least, d);
    if (!(least < squared)) return;
    squared = least;
    Index lane = 0;
    while (to[lane] != least) ++lane;
    found = leaf.first + lane;
  });
  return found;
}

ClosestPoint MeshDistance::closest(const Vec3& x, Real limit) const {
  // One more than the limit in the last place, so that a point at exactly the limit is found.
  Real squared = limit * limit * (1 + 2 * std::numeric_limits<Real>::epsilon());
  const Index slot = nearest_slot(x, squared, -1);
  if (slot < 0) return {limit, x, -1, Vec3::Zero()};
  const Triangle& t = triangles_[slot];
  const Point p = x.cast<double>();
  const auto at = closest_on_triangle<double>(p, t.a.cast<double>(), t.b.cast<double>(), t.c.cast<double>());
  return {Real((p - at.point).norm()), at.point.cast<Real>(), bvh_.order()[slot],
          at.barycentric.cast<Real>()};
}

Vector3<double> MeshDistance::exact_offset(const Vec3& x, Index slot, Feature& feature) const {
  const Triangle& t = triangles_[slot];
  const Point p = x.cast<double>();
  const auto at = closest_on_triangle<double>(p, t.a.cast<double>(), t.b.cast<double>(), t.c.cast<double>());
  feature = at.feature;
  return p - at.point;
}

SignedDistance<Real> MeshDistance::signed_distance(const Vec3& x, Index& near) const {
  Real squared = std::numeric_limits<Real>::infinity();
  const Index slot = nearest_slot(x, squared, near);
  if (slot < 0) return {std::numeric_limits<Real>::infinity(), Vec3::UnitY()};  // x is not finite
  near = bvh_.order()[slot];
  Feature feature;
  const Point offset = exact_offset(x, slot, feature);
  const Point pseudonormal = pseudonormals_[slot][int(feature)].cast<double>();
  const double distance = offset.norm();
  const double side = offset.dot(pseudonormal) < 0 ? -1 : 1;
  // On the surface the offset has no direction left.
  const Point normal = distance > 1e-30 ? Point(side / distance * offset) : unit_or_zero(pseudonormal);
  return {Real(side * distance), normal.cast<Real>()};
}

SignedDistance<Real> MeshDistance::unsigned_distance(const Vec3& x, Index& near) const {
  Real squared = std::numeric_limits<Real>::infinity();
  const Index slot = nearest_slot(x, squared, near);
  if (slot < 0) return {std::numeric_limits<Real>::infinity(), Vec3::UnitY()};
  near = bvh_.order()[slot];
  Feature feature;
  const Point offset = exact_offset(x, slot, feature);
  const double distance = offset.norm();
  const Point normal = distance > 1e-30 ? Point(offset / distance)
                                        : unit_or_zero(pseudonormals_[slot][int(feature)].cast<double>());
  return {Real(distance), normal.cast<Real>()};
}

double MeshDistance::winding_number(const Vec3& x, double accuracy) const {
  const Point p = x.cast<double>();
  const auto nodes = bvh_.nodes();
  std::array<Index, Bvh::max_depth + 2> stack;
  std::size_t size = 0;
  stack[size++] = 0;
  double sum = 0;
  while (size > 0) {
    const Index n = stack[--size];
    const Point to = dipoles_[n].centre - p;
    const double distance = to.norm();
    if (distance > accuracy * dipoles_[n].radius) {
      sum += dipoles_[n].area.dot(to) / (distance * distance * distance);
    } else if (nodes[n].count == 0) {
      stack[size++] = nodes[n].first + 1;
      stack[size++] = nodes[n].first;
    } else {
      for (Index i = nodes[n].first; i < nodes[n].first + nodes[n].count; ++i)
        sum += solid_angle(triangles_[i].a.cast<double>() - p, triangles_[i].b.cast<double>() - p,
                           triangles_[i].c.cast<double>() - p);
    }
  }
  return sum / (4 * std::numbers::pi);
}

std::optional<RayHit> MeshDistance::intersect(const Ray& ray) const {
  const WatertightRay prepared(ray);
  Real t_max = ray.t_max;
  const Index slot = bvh_.first_hit(prepared, t_max, [&](Index i, Real limit) {
    const auto hit = prepared.intersect(triangles_[i].a, triangles_[i].b, triangles_[i].c, limit);
    return hit ? hit->t : std::numeric_limits<Real>::quiet_NaN();
  });
  if (slot < 0) return std::nullopt;
  const auto hit = prepared.intersect(triangles_[slot].a, triangles_[slot].b, triangles_[slot].c, ray.t_max);
  if (!hit) return std::nullopt;
  return RayHit{hit->t, pseudonormals_[slot][int(Feature::face)], bvh_.order()[slot], hit->barycentric};
}

}  // namespace plenum::inline PLENUM_ABI
