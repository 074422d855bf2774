#include "plenum/geometry/distance_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/detail/quad.h"
#include "plenum/geometry/detail/require.h"
#include "plenum/geometry/mesh_distance.h"
#include "plenum/geometry/topology.h"

namespace plenum::inline PLENUM_ABI {
namespace detail {

/// Where a coordinate lies along one axis of the grid.
struct GridPlace {
  Index cell;
  Real t;         // in [0, 1]
  Real overhang;  // beyond the grid [m]
};

}  // namespace detail

namespace {

using detail::GridPlace;

/// Cubic Hermite basis on [0, 1]: weights of the values and of the slopes at both ends, and their
/// derivatives; those of the values are -dv1 and dv1.
struct Hermite {
  Real v0, v1, s0, s1, dv1, ds0, ds1;
};
inline Hermite hermite(Real t) {
  const Real r = 1 - t;
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

/// Value and derivatives by the cell's coordinates.
struct Interpolated {
  Real d, d_x, d_y, d_z;
};

/// The interpolant in a cell: the sum over its nodes of
///   H_v(x) H_v(y) H_v(z) d + H_s(x) H_v(y) H_v(z) g_x + H_v(x) H_s(y) H_v(z) g_y + H_v(x) H_v(y) H_s(z) g_z
/// with the weights H above, first along x, then y, then z. sample(n, c) gives component c (g_x, g_y, g_z, d)
/// of node n = x + 2 y + 4 z. No branches, so that loops over cells vectorize; what the caller does not use
/// of the result is not computed.
template <class Sample>
inline Interpolated interpolate(const Sample& sample, Real tx, Real ty, Real tz) {
  const Hermite x = hermite(tx), y = hermite(ty), z = hermite(tz);
  struct Line {  // along x: the value, the slopes along y and z, and their derivatives
    Real d, gy, gz, d_x, gy_x, gz_x;
  };
  const auto line = [&](int a) {
    const int b = a + 1;
    return Line{x.v0 * sample(a, 3) + x.v1 * sample(b, 3) + x.s0 * sample(a, 0) + x.s1 * sample(b, 0),
                x.v0 * sample(a, 1) + x.v1 * sample(b, 1),
                x.v0 * sample(a, 2) + x.v1 * sample(b, 2),
                x.dv1 * (sample(b, 3) - sample(a, 3)) + x.ds0 * sample(a, 0) + x.ds1 * sample(b, 0),
                x.dv1 * (sample(b, 1) - sample(a, 1)),
                x.dv1 * (sample(b, 2) - sample(a, 2))};
  };
  struct Plane {
    Real d, gz, d_x, gz_x, d_y, gz_y;
  };
  const auto plane = [&](int a) {
    const Line p = line(a), q = line(a + 2);
    return Plane{y.v0 * p.d + y.v1 * q.d + y.s0 * p.gy + y.s1 * q.gy,         y.v0 * p.gz + y.v1 * q.gz,
                 y.v0 * p.d_x + y.v1 * q.d_x + y.s0 * p.gy_x + y.s1 * q.gy_x, y.v0 * p.gz_x + y.v1 * q.gz_x,
                 y.dv1 * (q.d - p.d) + y.ds0 * p.gy + y.ds1 * q.gy,           y.dv1 * (q.gz - p.gz)};
  };
  const Plane p = plane(0), q = plane(4);
  return {z.v0 * p.d + z.v1 * q.d + z.s0 * p.gz + z.s1 * q.gz,
          z.v0 * p.d_x + z.v1 * q.d_x + z.s0 * p.gz_x + z.s1 * q.gz_x,
          z.v0 * p.d_y + z.v1 * q.d_y + z.s0 * p.gz_y + z.s1 * q.gz_y,
          z.dv1 * (q.d - p.d) + z.ds0 * p.gz + z.ds1 * q.gz};
}

inline GridPlace place(Real x, Real low, Real high, Real inverse_spacing, Index nodes) {
  // Written so that NaN becomes the low end.
  const Real from_below = x > low ? x : low;
  const Real inside = from_below < high ? from_below : high;
  const Real at = (inside - low) * inverse_spacing;
  const Index floor = static_cast<Index>(at), last = nodes - 2;
  const Index cell = floor < last ? floor : last;
  const Real t = at - Real(cell);
  return {cell, t < 1 ? t : Real(1), x - inside};
}

/// Distance and gradient (not unit) from the interpolant and the way beyond the grid's box. A clamped
/// coordinate no longer moves the point of the box; the overhang grows with it instead.
struct Extended {
  Real distance, x, y, z;
};
inline Extended extended(const Interpolated& in, Real ox, Real oy, Real oz, Real inverse_spacing) {
  const Real beyond = ox * ox + oy * oy + oz * oz;
  const bool is_beyond = beyond > 0;
  const Real scale = is_beyond ? in.d * inverse_spacing : inverse_spacing;
  const Real far = std::sqrt(beyond + in.d * in.d);
  return {is_beyond ? far : in.d, ox != 0 ? ox : scale * in.d_x, oy != 0 ? oy : scale * in.d_y,
          oz != 0 ? oz : scale * in.d_z};
}

}  // namespace

struct DistanceField::Cell {
  const Vec4* corner;  // node of the cell's low corner
  std::size_t row, slice;
  GridPlace x, y, z;
  Real operator()(int node, int component) const {
    return corner[std::size_t(node & 1) + std::size_t(node >> 1 & 1) * row + std::size_t(node >> 2) * slice]
                 [component];
  }
};

inline DistanceField::Cell DistanceField::locate(const Vec3& p) const {
  Cell cell;
  cell.x = place(p[0], bounds_.low[0], bounds_.high[0], inverse_spacing_, nodes_[0]);
  cell.y = place(p[1], bounds_.low[1], bounds_.high[1], inverse_spacing_, nodes_[1]);
  cell.z = place(p[2], bounds_.low[2], bounds_.high[2], inverse_spacing_, nodes_[2]);
  cell.row = std::size_t(nodes_[0]);
  cell.slice = cell.row * std::size_t(nodes_[1]);
  cell.corner = samples_.data() + std::size_t(cell.z.cell) * cell.slice +
                std::size_t(cell.y.cell) * cell.row + std::size_t(cell.x.cell);
  return cell;
}

Real DistanceField::distance(const Vec3& x) const {
  const Cell cell = locate(x);
  return extended(interpolate(cell, cell.x.t, cell.y.t, cell.z.t), cell.x.overhang, cell.y.overhang,
                  cell.z.overhang, inverse_spacing_)
      .distance;
}

SignedDistance<Real> DistanceField::signed_distance(const Vec3& x) const {
  const Cell cell = locate(x);
  const Extended e = extended(interpolate(cell, cell.x.t, cell.y.t, cell.z.t), cell.x.overhang,
                              cell.y.overhang, cell.z.overhang, inverse_spacing_);
  const Vec3 gradient(e.x, e.y, e.z);
  const Real length = gradient.norm();
  return {e.distance, length > 0 ? Vec3(gradient / length) : Vec3(0, 1, 0)};
}

namespace {
constexpr int group = 16;  // points of one pass: as many as a register of 512 bits holds floats
}

template <bool with_normals>
void DistanceField::evaluate_group(std::size_t count, const Points& points, Real* distance,
                                   const Normals& normals) const {
  // Short groups repeat their last point, so that every loop has a fixed length.
  Real x[group], y[group], z[group];
  for (int i = 0; i < group; ++i) {
    const std::size_t from = std::min(std::size_t(i), count - 1);
    x[i] = points.x[from];
    y[i] = points.y[from];
    z[i] = points.z[from];
  }
  Real tx[group], ty[group], tz[group], ox[group], oy[group], oz[group];
  Index cx[group], cy[group], cz[group];
  const Vec3 low = bounds_.low, high = bounds_.high;
  const Index3 nodes = nodes_;
  const Real inverse_spacing = inverse_spacing_;
  for (int i = 0; i < group; ++i) {
    const GridPlace p = place(x[i], low[0], high[0], inverse_spacing, nodes[0]);
    const GridPlace q = place(y[i], low[1], high[1], inverse_spacing, nodes[1]);
    const GridPlace r = place(z[i], low[2], high[2], inverse_spacing, nodes[2]);
    cx[i] = p.cell, tx[i] = p.t, ox[i] = p.overhang;
    cy[i] = q.cell, ty[i] = q.t, oy[i] = q.overhang;
    cz[i] = r.cell, tz[i] = r.t, oz[i] = r.overhang;
  }
  // The samples of eight nodes for each point, turned so that a component of all points lies side by side.
  Real samples[8][4][group];
  const std::size_t row = std::size_t(nodes[0]), slice = row * std::size_t(nodes[1]);
  for (int first = 0; first < group; first += 4) {
    const Vec4* corner[4];
    for (int i = 0; i < 4; ++i)
      corner[i] = samples_.data() + std::size_t(cz[first + i]) * slice + std::size_t(cy[first + i]) * row +
                  std::size_t(cx[first + i]);
    for (int n = 0; n < 8; ++n) {
      const std::size_t offset =
          std::size_t(n & 1) + std::size_t(n >> 1 & 1) * row + std::size_t(n >> 2) * slice;
      detail::Quad a = detail::load_quad(corner[0][offset].data()),
                   b = detail::load_quad(corner[1][offset].data()),
                   c = detail::load_quad(corner[2][offset].data()),
                   d = detail::load_quad(corner[3][offset].data());
      detail::transpose(a, b, c, d);
      detail::store_quad(&samples[n][0][first], a);
      detail::store_quad(&samples[n][1][first], b);
      detail::store_quad(&samples[n][2][first], c);
      detail::store_quad(&samples[n][3][first], d);
    }
  }
  Real out[group], nx[group], ny[group], nz[group];
  for (int i = 0; i < group; ++i) {
    const auto sample = [&](int node, int component) { return samples[node][component][i]; };
    const Extended e =
        extended(interpolate(sample, tx[i], ty[i], tz[i]), ox[i], oy[i], oz[i], inverse_spacing);
    out[i] = e.distance;
    if constexpr (with_normals) {
      const Real length = std::sqrt(e.x * e.x + e.y * e.y + e.z * e.z);
      const bool has_direction = length > 0;
      const Real scale = 1 / (has_direction ? length : Real(1));
      nx[i] = scale * e.x;
      ny[i] = has_direction ? scale * e.y : Real(1);
      nz[i] = scale * e.z;
    }
  }
  std::copy_n(out, count, distance);
  if constexpr (with_normals) {
    std::copy_n(nx, count, normals.x);
    std::copy_n(ny, count, normals.y);
    std::copy_n(nz, count, normals.z);
  }
}

void DistanceField::evaluate(std::size_t count, const Points& points, Real* distance,
                             const Normals& normals) const {
  for (std::size_t first = 0; first < count; first += group) {
    const std::size_t size = std::min<std::size_t>(group, count - first);
    const Points from{points.x + first, points.y + first, points.z + first};
    if (normals.x)
      evaluate_group<true>(size, from, distance + first,
                           {normals.x + first, normals.y + first, normals.z + first});
    else
      evaluate_group<false>(size, from, distance + first, {});
  }
}

DistanceField::DistanceField(const TriangleMesh& mesh, const DistanceFieldOptions& options)
    : DistanceField(mesh, MeshDistance(mesh), options) {}

DistanceField::DistanceField(const TriangleMesh& mesh, const MeshDistance& exact,
                             const DistanceFieldOptions& options) {
  detail::require_count("resolution", options.resolution, 4, 1024);
  detail::require_count("padding", options.padding, 1, 64);
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
  by_winding_ = options.inside == Inside::winding_number ||
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
        if (by_winding_) {
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
  mark_thin_walls(exact);
}

void DistanceField::mark_thin_walls(const MeshDistance& exact) {
  // The corners of a cell that the surface crosses are within its diagonal of the surface. From each such
  // node's closest point c go inwards by one spacing: in a wall of less than two spacings the nearest surface
  // is then the other side, which faces the other way, or one has come out of it. Beside a convex edge of a
  // thick body the nearest face is at a right angle or so, and the cell stays unmarked.
  const Real near_surface = std::sqrt(Real(3)) * Real(1.01) * spacing_;
  const std::size_t rows = std::size_t(nodes_[1]) * std::size_t(nodes_[2]);
  std::vector<std::uint8_t> thin(samples_.size(), 0);
  const bool any = ordered_reduce(
      rows, 4, false,
      [&](std::size_t begin, std::size_t end) {
        bool found = false;
        for (std::size_t row = begin; row < end; ++row) {
          const Index j = static_cast<Index>(row % std::size_t(nodes_[1]));
          const Index k = static_cast<Index>(row / std::size_t(nodes_[1]));
          Index near = -1;
          for (Index i = 0; i < nodes_[0]; ++i) {
            const std::size_t node = row * std::size_t(nodes_[0]) + std::size_t(i);
            const Real d = samples_[node][3];
            // A node on the surface knows no direction beside an edge; its neighbours speak for it.
            if (!(std::abs(d) <= near_surface && std::abs(d) >= Real(1e-3) * spacing_)) continue;
            const Vec3 outward = samples_[node].head<3>() * inverse_spacing_;
            const Vec3 node_at = bounds_.low + spacing_ * Vec3(Real(i), Real(j), Real(k));
            // A point that comes to lie on the surface knows no direction either, as along a face from an
            // edge, or in a wall of just that thickness: there a second, less deep one decides.
            for (const Real depth : {Real(1), Real(0.9)}) {
              const Vec3 deep = node_at - (d + depth * spacing_) * outward;
              SignedDistance<Real> there;
              if (by_winding_) {
                there = exact.unsigned_distance(deep, near);
                if (exact.winding_number(deep) > 0.5) there = {-there.distance, -there.normal};
              } else {
                there = exact.signed_distance(deep, near);
              }
              if (std::abs(there.distance) < Real(1e-3) * spacing_) continue;
              constexpr Real facing_away = Real(-0.3);
              if (there.distance > 0 || there.normal.dot(outward) < facing_away) thin[node] = 1, found = true;
              break;
            }
          }
        }
        return found;
      },
      [](bool a, bool b) { return a || b; });
  if (!any) return;
  // Two cells to all sides of a marked node: axis by axis, the cell of low corner i is within them of node m
  // if m - 3 <= i <= m + 2 (the cells that touch the node are m - 1 and m).
  const std::size_t stride[3] = {1, std::size_t(nodes_[0]), std::size_t(nodes_[0]) * std::size_t(nodes_[1])};
  for (int axis = 0; axis < 3; ++axis) {
    thin_.assign(samples_.size(), 0);
    for (std::size_t node = 0; node < thin.size(); ++node) {
      if (!thin[node]) continue;
      const auto at = static_cast<Index>(node / stride[axis] % std::size_t(nodes_[axis]));
      for (Index i = std::max(at - 3, 0); i <= std::min(at + 2, nodes_[axis] - 2); ++i)
        thin_[node + std::size_t(i) * stride[axis] - std::size_t(at) * stride[axis]] = 1;
    }
    thin.swap(thin_);
  }
  thin_.swap(thin);
}

std::vector<DistanceField::Ball> DistanceField::inner_balls(std::size_t most) const {
  std::vector<Ball> inside;
  for (std::size_t node = 0; node < samples_.size(); ++node) {
    if (!(samples_[node][3] < 0)) continue;
    const auto i = static_cast<Index>(node);
    const Index3 at(i % nodes_[0], i / nodes_[0] % nodes_[1], i / nodes_[0] / nodes_[1]);
    inside.push_back({bounds_.low + spacing_ * at.cast<Real>(), -samples_[node][3]});
  }
  const auto is_smaller = [](const Ball& a, const Ball& b) { return a.radius < b.radius; };
  std::vector<Ball> chosen;
  std::vector<Real> apart(inside.size(), std::numeric_limits<Real>::max());  // from the chosen balls
  auto next = std::max_element(inside.begin(), inside.end(), is_smaller);
  while (next != inside.end() && chosen.size() < most) {
    chosen.push_back(*next);
    next = inside.end();
    Real farthest = chosen.front().radius;
    for (std::size_t k = 0; k < inside.size(); ++k) {
      const Ball& ball = inside[k];
      apart[k] = std::min(apart[k], (ball.centre - chosen.back().centre).norm() - chosen.back().radius);
      if (apart[k] + ball.radius <= farthest) continue;
      farthest = apart[k] + ball.radius;
      next = inside.begin() + static_cast<std::ptrdiff_t>(k);
    }
  }
  return chosen;
}

bool DistanceField::is_thin_at(const Vec3& x) const {
  if (thin_.empty() || !bounds_.contains(x)) return false;
  return thin_[static_cast<std::size_t>(locate(x).corner - samples_.data())] != 0;
}

}  // namespace plenum::inline PLENUM_ABI
