#include "plenum/geometry/distance_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/mesh_distance.h"
#include "plenum/geometry/topology.h"

namespace plenum::inline PLENUM_ABI {
namespace {

void require_range(const char* name, Index value, Index least, Index most) {
  if (value < least || value > most)
    throw Error(Problem{.key = name,
                        .what = "is out of range",
                        .value = fmt::format("{}", value),
                        .allowed = fmt::format("{} to {}", least, most)});
}

/// Cubic Hermite basis on [0, 1]: values and slopes of the weights of value and slope at both ends.
struct Hermite {
  Real v0, v1, s0, s1;      // weights
  Real dv0, dv1, ds0, ds1;  // their derivatives
};
inline Hermite hermite(Real t) {
  const Real r = 1 - t;
  Hermite h;
  h.v1 = t * t * (3 - 2 * t);
  h.v0 = 1 - h.v1;
  h.s0 = t * r * r;
  h.s1 = -t * t * r;
  h.dv1 = 6 * t * r;
  h.dv0 = -h.dv1;
  h.ds0 = r * (1 - 3 * t);
  h.ds1 = t * (3 * t - 2);
  return h;
}

}  // namespace

struct DistanceField::Cell {
  const Vec4* corner;  // node of the cell's low corner
  std::size_t row, slice;
  Vec3 t;         // in [0, 1]
  Vec3 overhang;  // x minus the nearest point of the box [m]
};

DistanceField::Cell DistanceField::locate(const Vec3& x) const {
  Cell cell;
  Index3 index;
  for (int axis = 0; axis < 3; ++axis) {
    // Written so that NaN becomes the low end.
    const Real inside =
        std::min(bounds_.high[axis], x[axis] > bounds_.low[axis] ? x[axis] : bounds_.low[axis]);
    cell.overhang[axis] = x[axis] - inside;
    const Real at = (inside - bounds_.low[axis]) * inverse_spacing_;
    index[axis] = std::min(static_cast<Index>(at), nodes_[axis] - 2);
    cell.t[axis] = std::min(at - Real(index[axis]), Real(1));
  }
  cell.row = std::size_t(nodes_[0]);
  cell.slice = cell.row * std::size_t(nodes_[1]);
  cell.corner = samples_.data() + std::size_t(index[2]) * cell.slice + std::size_t(index[1]) * cell.row +
                std::size_t(index[0]);
  return cell;
}

Real DistanceField::distance(const Vec3& x) const {
  const Cell cell = locate(x);
  const Hermite u = hermite(cell.t[0]), v = hermite(cell.t[1]), w = hermite(cell.t[2]);
  Real plane[2], plane_w[2];
  for (int k = 0; k < 2; ++k) {
    Real line[2], line_v[2], line_w[2];
    for (int j = 0; j < 2; ++j) {
      const Vec4& a = cell.corner[k * cell.slice + j * cell.row];
      const Vec4& b = *(&a + 1);
      line[j] = u.v0 * a[3] + u.v1 * b[3] + u.s0 * a[0] + u.s1 * b[0];
      line_v[j] = u.v0 * a[1] + u.v1 * b[1];
      line_w[j] = u.v0 * a[2] + u.v1 * b[2];
    }
    plane[k] = v.v0 * line[0] + v.v1 * line[1] + v.s0 * line_v[0] + v.s1 * line_v[1];
    plane_w[k] = v.v0 * line_w[0] + v.v1 * line_w[1];
  }
  const Real d = w.v0 * plane[0] + w.v1 * plane[1] + w.s0 * plane_w[0] + w.s1 * plane_w[1];
  const Real beyond = cell.overhang.squaredNorm();
  return beyond > 0 ? std::sqrt(beyond + d * d) : d;
}

SignedDistance<Real> DistanceField::signed_distance(const Vec3& x) const {
  const Cell cell = locate(x);
  const Hermite u = hermite(cell.t[0]), v = hermite(cell.t[1]), w = hermite(cell.t[2]);
  // Lines along x, then planes, then the cell. f: value; _u, _v, _w: derivatives by the cell's coordinates;
  // gv, gw: the sampled derivatives along y and z, carried to where they are needed, and gv_u... theirs.
  Real f2[2], f2_u[2], f2_v[2], gw2[2], gw2_u[2], gw2_v[2];
  for (int k = 0; k < 2; ++k) {
    Real f[2], f_u[2], gv[2], gv_u[2], gw[2], gw_u[2];
    for (int j = 0; j < 2; ++j) {
      const Vec4& a = cell.corner[k * cell.slice + j * cell.row];
      const Vec4& b = *(&a + 1);
      f[j] = u.v0 * a[3] + u.v1 * b[3] + u.s0 * a[0] + u.s1 * b[0];
      f_u[j] = u.dv1 * (b[3] - a[3]) + u.ds0 * a[0] + u.ds1 * b[0];
      gv[j] = u.v0 * a[1] + u.v1 * b[1];
      gv_u[j] = u.dv1 * (b[1] - a[1]);
      gw[j] = u.v0 * a[2] + u.v1 * b[2];
      gw_u[j] = u.dv1 * (b[2] - a[2]);
    }
    f2[k] = v.v0 * f[0] + v.v1 * f[1] + v.s0 * gv[0] + v.s1 * gv[1];
    f2_u[k] = v.v0 * f_u[0] + v.v1 * f_u[1] + v.s0 * gv_u[0] + v.s1 * gv_u[1];
    f2_v[k] = v.dv1 * (f[1] - f[0]) + v.ds0 * gv[0] + v.ds1 * gv[1];
    gw2[k] = v.v0 * gw[0] + v.v1 * gw[1];
    gw2_u[k] = v.v0 * gw_u[0] + v.v1 * gw_u[1];
    gw2_v[k] = v.dv1 * (gw[1] - gw[0]);
  }
  const Real d = w.v0 * f2[0] + w.v1 * f2[1] + w.s0 * gw2[0] + w.s1 * gw2[1];
  Vec3 gradient(w.v0 * f2_u[0] + w.v1 * f2_u[1] + w.s0 * gw2_u[0] + w.s1 * gw2_u[1],
                w.v0 * f2_v[0] + w.v1 * f2_v[1] + w.s0 * gw2_v[0] + w.s1 * gw2_v[1],
                w.dv1 * (f2[1] - f2[0]) + w.ds0 * gw2[0] + w.ds1 * gw2[1]);
  gradient *= inverse_spacing_;
  const Real beyond = cell.overhang.squaredNorm();
  Real distance = d;
  if (beyond > 0) {
    distance = std::sqrt(beyond + d * d);
    // Clamped coordinates no longer move the point of the box; the overhang grows with them instead.
    for (int axis = 0; axis < 3; ++axis)
      gradient[axis] = cell.overhang[axis] != 0 ? cell.overhang[axis] : d * gradient[axis];
  }
  const Real length = gradient.norm();
  return {distance, length > 0 ? Vec3(gradient / length) : Vec3(0, 1, 0)};
}

DistanceField::DistanceField(const TriangleMesh& mesh, const DistanceFieldOptions& options)
    : DistanceField(mesh, MeshDistance(mesh), options) {}

DistanceField::DistanceField(const TriangleMesh& mesh, const MeshDistance& exact,
                             const DistanceFieldOptions& options) {
  require_range("resolution", options.resolution, 4, 1024);
  require_range("padding", options.padding, 1, 64);
  const Aabb box = exact.bounds();
  const Real longest = box.size().maxCoeff();
  if (!std::isfinite(longest) || !(longest > 0))
    throw Error(Problem{.what = "the mesh has no extent", .value = fmt::format("{} m", longest)});
  spacing_ = longest / Real(options.resolution);
  inverse_spacing_ = 1 / spacing_;
  std::size_t count = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const auto cells =
        static_cast<Index>(std::ceil(box.size()[axis] * inverse_spacing_)) + 2 * options.padding;
    nodes_[axis] = cells + 1;
    count *= std::size_t(nodes_[axis]);
    // The grid and the mesh share their centre.
    bounds_.low[axis] = box.centre()[axis] - Real(0.5) * Real(cells) * spacing_;
    bounds_.high[axis] = bounds_.low[axis] + Real(cells) * spacing_;
  }
  if (count * sizeof(Vec4) > options.max_bytes)
    throw Error(Problem{.key = "resolution",
                        .what = "needs more memory than allowed",
                        .value = fmt::format("{} MB", count * sizeof(Vec4) >> 20),
                        .allowed = fmt::format("up to {} MB", options.max_bytes >> 20),
                        .remedy = "lower the resolution"});
  samples_.resize(count);
  const bool by_winding = options.inside == Inside::winding_number ||
                          (options.inside == Inside::automatic && !topology(mesh).solid());
  // A row of nodes at a time: each starts from the triangle nearest to the node before, which prunes nearly
  // all of the tree. Rows start afresh, so that they may run in any order.
  const std::size_t rows = std::size_t(nodes_[1]) * std::size_t(nodes_[2]);
  parallel_for(rows, 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const Index j = static_cast<Index>(row % std::size_t(nodes_[1]));
      const Index k = static_cast<Index>(row / std::size_t(nodes_[1]));
      Index near = -1;
      bool inside = false;
      Real before = 0;
      for (Index i = 0; i < nodes_[0]; ++i) {
        const Vec3 x = bounds_.low + spacing_ * Vec3(Real(i), Real(j), Real(k));
        SignedDistance<Real> d;
        if (by_winding) {
          d = exact.unsigned_distance(x, near);
          // Where the surface is farther than the step from the last node, the side cannot have changed.
          if (i == 0 || before + d.distance <= Real(1.01) * spacing_) inside = exact.winding_number(x) > 0.5;
          before = d.distance;
          if (inside) d = {-d.distance, -d.normal};
        } else {
          d = exact.signed_distance(x, near);
        }
        samples_[row * std::size_t(nodes_[0]) + std::size_t(i)] << spacing_ * d.normal, d.distance;
      }
    }
  });
}

}  // namespace plenum::inline PLENUM_ABI
