#include "plenum/geometry/distance_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/detail/quad.h"
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

using detail::broadcast;
using detail::fill_quad;
using detail::Quad;
using detail::shuffle;

/// Cubic Hermite basis on [0, 1] for three coordinates at once: weights of the values and of the slopes at
/// both ends, and their derivatives; those of the values are -dv1 and dv1.
struct Hermite {
  Quad v0, v1, s0, s1, dv1, ds0, ds1;
};
inline Hermite hermite(Quad t) {
  const Quad r = 1 - t;
  Hermite h;
  h.v1 = t * t * (3 - 2 * t);
  h.v0 = 1 - h.v1;
  h.s0 = t * r * r;
  h.s1 = -t * t * r;
  h.dv1 = 6 * t * r;
  h.ds0 = r * (1 - 3 * t);
  h.ds1 = t * (3 * t - 2);
  return h;
}

/// The four lines of a cell along x, in the order (y, z) = 00, 10, 01, 11: the samples at one end of each.
struct Ends {
  Quad gx, gy, gz, d;
};
inline Ends ends(const Vec4* corner, std::size_t row, std::size_t slice) {
  Ends e{detail::load_quad(corner[0].data()), detail::load_quad(corner[row].data()),
         detail::load_quad(corner[slice].data()), detail::load_quad(corner[slice + row].data())};
  detail::transpose(e.gx, e.gy, e.gz, e.d);
  return e;
}

}  // namespace

struct DistanceField::Cell {
  const Vec4* corner;  // node of the cell's low corner
  std::size_t row, slice;
  Quad t;         // in [0, 1]
  Quad overhang;  // x minus the nearest point of the box [m]
};

inline DistanceField::Cell DistanceField::locate(const Vec3& x) const {
  Cell cell;
  const Quad p{x[0], x[1], x[2], 0}, low{bounds_.low[0], bounds_.low[1], bounds_.low[2], 0},
      high{bounds_.high[0], bounds_.high[1], bounds_.high[2], 0};
  // max takes its second argument for NaN: such a point gets the value at a corner, in bounds.
  const Quad inside = detail::min(detail::max(p, low), high);
  cell.overhang = p - inside;
  const Quad at = (inside - low) * inverse_spacing_;
  const Index i = std::min(static_cast<Index>(at[0]), nodes_[0] - 2),
              j = std::min(static_cast<Index>(at[1]), nodes_[1] - 2),
              k = std::min(static_cast<Index>(at[2]), nodes_[2] - 2);
  cell.t = detail::min(at - Quad{Real(i), Real(j), Real(k), 0}, fill_quad(1));
  cell.row = std::size_t(nodes_[0]);
  cell.slice = cell.row * std::size_t(nodes_[1]);
  cell.corner = samples_.data() + std::size_t(k) * cell.slice + std::size_t(j) * cell.row + std::size_t(i);
  return cell;
}

// With H the weights above, the interpolant is the sum over the cell's nodes of
//   H_v(x) H_v(y) H_v(z) d + H_s(x) H_v(y) H_v(z) g_x + H_v(x) H_s(y) H_v(z) g_y + H_v(x) H_v(y) H_s(z) g_z:
// first along x on the four lines of the cell (f: value, gy, gz), then over the lines.

Real DistanceField::distance(const Vec3& x) const {
  const Cell cell = locate(x);
  const Hermite h = hermite(cell.t);
  const Ends a = ends(cell.corner, cell.row, cell.slice), b = ends(cell.corner + 1, cell.row, cell.slice);
  const Quad v0 = broadcast<0>(h.v0), v1 = broadcast<0>(h.v1);
  const Quad f = v0 * a.d + v1 * b.d + broadcast<0>(h.s0) * a.gx + broadcast<0>(h.s1) * b.gx;
  const Quad gy = v0 * a.gy + v1 * b.gy, gz = v0 * a.gz + v1 * b.gz;
  const Quad vy = shuffle<1, 5, 1, 5>(h.v0, h.v1), sy = shuffle<1, 5, 1, 5>(h.s0, h.s1);
  const Quad vz = shuffle<2, 2, 6, 6>(h.v0, h.v1), sz = shuffle<2, 2, 6, 6>(h.s0, h.s1);
  const Quad sum = vz * (vy * f + sy * gy) + sz * vy * gz;
  const Real d = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  const Quad o = cell.overhang * cell.overhang;
  const Real beyond = o[0] + o[1] + o[2];
  return beyond > 0 ? std::sqrt(beyond + d * d) : d;
}

SignedDistance<Real> DistanceField::signed_distance(const Vec3& x) const {
  const Cell cell = locate(x);
  const Hermite h = hermite(cell.t);
  const Ends a = ends(cell.corner, cell.row, cell.slice), b = ends(cell.corner + 1, cell.row, cell.slice);
  const Quad v0 = broadcast<0>(h.v0), v1 = broadcast<0>(h.v1), dv1 = broadcast<0>(h.dv1);
  const Quad f = v0 * a.d + v1 * b.d + broadcast<0>(h.s0) * a.gx + broadcast<0>(h.s1) * b.gx;
  const Quad gy = v0 * a.gy + v1 * b.gy, gz = v0 * a.gz + v1 * b.gz;
  const Quad f_x = dv1 * (b.d - a.d) + broadcast<0>(h.ds0) * a.gx + broadcast<0>(h.ds1) * b.gx;
  const Quad gy_x = dv1 * (b.gy - a.gy), gz_x = dv1 * (b.gz - a.gz);
  const Quad vy = shuffle<1, 5, 1, 5>(h.v0, h.v1), sy = shuffle<1, 5, 1, 5>(h.s0, h.s1);
  const Quad vz = shuffle<2, 2, 6, 6>(h.v0, h.v1), sz = shuffle<2, 2, 6, 6>(h.s0, h.s1);
  const Quad dvy = shuffle<1, 5, 1, 5>(-h.dv1, h.dv1), dsy = shuffle<1, 5, 1, 5>(h.ds0, h.ds1);
  const Quad dvz = shuffle<2, 2, 6, 6>(-h.dv1, h.dv1), dsz = shuffle<2, 2, 6, 6>(h.ds0, h.ds1);
  const Quad plane = vy * f + sy * gy;
  Quad sum_x = vz * (vy * f_x + sy * gy_x) + sz * vy * gz_x;
  Quad sum_y = vz * (dvy * f + dsy * gy) + sz * dvy * gz;
  Quad sum_z = dvz * plane + dsz * vy * gz;
  Quad sum_d = vz * plane + sz * vy * gz;
  detail::transpose(sum_x, sum_y, sum_z, sum_d);
  const Quad sums = (sum_x + sum_y) + (sum_z + sum_d);  // spacing times the gradient, then the distance
  const Real d = sums[3];
  Quad gradient = sums * inverse_spacing_;
  const Quad o = cell.overhang * cell.overhang;
  const Real beyond = o[0] + o[1] + o[2];
  Real distance = d;
  if (beyond > 0) {
    distance = std::sqrt(beyond + d * d);
    // Clamped coordinates no longer move the point of the box; the overhang grows with them instead.
    gradient = cell.overhang != 0 ? cell.overhang : d * gradient;
  }
  const Quad g2 = gradient * gradient;
  const Real length = std::sqrt(g2[0] + g2[1] + g2[2]);
  if (!(length > 0)) return {distance, Vec3(0, 1, 0)};
  const Real scale = 1 / length;
  return {distance, Vec3(scale * gradient[0], scale * gradient[1], scale * gradient[2])};
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
