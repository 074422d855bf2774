#include "plenum/geometry/surface_features.h"

#include <Eigen/Geometry>

namespace plenum::inline PLENUM_ABI {

SideBits detail::side_bits(const Vec3 (&x)[3], const Vec3 (&q)[3], const bool (&has)[3]) {
  const Vector3<double> p0 = x[0].cast<double>();
  const Vector3<double> n = (x[1].cast<double>() - p0).cross(x[2].cast<double>() - p0).normalized();
  unsigned bits = 0;
  for (unsigned k = 0; k < 3; ++k) {
    if (!has[k]) {
      bits |= 1u << k;
      continue;
    }
    const Vector3<double> d = (q[k] - x[k]).cast<double>(), side = (x[(k + 1) % 3] - x[k]).cast<double>();
    // The sine of the angle between the faces.
    const double bend = n.dot(d) * side.norm() / side.cross(d).norm();
    if (bend > flat_angle) bits |= 8u << k;
    if (!(bend >= -flat_angle)) bits |= 1u << k;  // a neighbour without area, too
    // Folded by more than a right angle, the sine is small again.
    if (bend < -flat_angle && bend >= -slight_angle && n.dot(side.cross(d)) < 0) bits |= 64u << k;
  }
  return static_cast<SideBits>(bits);
}

SurfaceFeatures::SurfaceFeatures(const TriangleMesh& mesh) {
  const auto& triangles = mesh.triangles;
  opposite.assign(triangles.size(), Index3::Constant(-1));
  owns.assign(triangles.size(), 0);
  const std::vector<HalfEdge> halves = sorted_half_edges(triangles);
  is_closed = true;
  for (std::size_t i = 0; i < halves.size();) {
    std::size_t end = i;
    while (end < halves.size() && halves[end].low == halves[i].low && halves[end].high == halves[i].high)
      ++end;
    owns[std::size_t(halves[i].triangle)] |= static_cast<std::uint8_t>(8u << halves[i].corner);
    // Neighbours must run along their edge in opposite directions, or their normals disagree.
    if (end - i == 2 && halves[i].low != halves[i].high && halves[i].forward != halves[i + 1].forward) {
      for (std::size_t k = 0; k < 2; ++k) {
        const HalfEdge &here = halves[i + k], &there = halves[i + 1 - k];
        opposite[std::size_t(here.triangle)][here.corner] =
            triangles[std::size_t(there.triangle)][(there.corner + 2) % 3];
      }
    } else {
      is_closed = false;
    }
    i = end;
  }
  sides.reserve(triangles.size());
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    Vec3 x[3], q[3];
    bool has[3];
    for (int k = 0; k < 3; ++k) {
      x[k] = mesh.x[std::size_t(triangles[t][k])];
      has[k] = opposite[t][k] >= 0;
      q[k] = has[k] ? mesh.x[std::size_t(opposite[t][k])] : Vec3(Vec3::Zero());
    }
    sides.push_back(detail::side_bits(x, q, has));
  }
  std::vector<std::uint8_t> has_owner(mesh.x.size(), 0);
  for (std::size_t t = 0; t < triangles.size(); ++t)
    for (unsigned k = 0; k < 3; ++k)
      if (std::uint8_t& has = has_owner[std::size_t(triangles[t][k])]; !has) {
        has = 1;
        owns[t] |= static_cast<std::uint8_t>(1u << k);
      }
  normals.assign(mesh.x.size(), Vec3::Zero());
  for (const Index3& t : triangles) {
    const Vec3& a = mesh.x[std::size_t(t[0])];
    const Vec3 n = (mesh.x[std::size_t(t[1])] - a).cross(mesh.x[std::size_t(t[2])] - a).normalized();
    for (int k = 0; k < 3; ++k) normals[std::size_t(t[k])] += n;
  }
  neighbours = vertex_neighbours(mesh.x.size(), unique_edges(triangles));
}

}  // namespace plenum::inline PLENUM_ABI
