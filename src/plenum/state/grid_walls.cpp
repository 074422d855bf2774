#include "plenum/state/grid_walls.h"

#include <algorithm>
#include <cmath>

#include "plenum/base/parallel.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum::inline PLENUM_ABI {
namespace {

struct LeastWidth {
  static constexpr Real unbounded = std::numeric_limits<Real>::infinity();
  Real operator()(const PlaneShape&) const { return unbounded; }
  Real operator()(const SphereShape& s) const { return 2 * s.radius; }
  Real operator()(const BoxShape& s) const { return 2 * s.half_extents.minCoeff(); }
  Real operator()(const CapsuleShape& s) const { return 2 * s.radius; }
  Real operator()(const CylinderShape& s) const { return 2 * std::min(s.radius, s.half_height); }
  Real operator()(const ConeShape& s) const { return 2 * std::min(s.radius, s.half_height); }
  Real operator()(const TorusShape& s) const { return 2 * s.minor_radius; }
  Real operator()(const MeshShape&) const { return 0; }
  Real operator()(const ConvexHullShape&) const { return 0; }
  Real operator()(const HeightFieldShape&) const { return unbounded; }
};

bool overlap(const Aabb& bounds, const Vec3& a, const Vec3& b, Real margin) {
  return (a.cwiseMin(b).array() - margin <= bounds.high.array()).all() &&
         (a.cwiseMax(b).array() + margin >= bounds.low.array()).all();
}

/// Along a surface's normal n, as far in a flat grid's plane as `length` across the surface.
Vec3 along_normal(Vec3 n, Real length, bool flat) {
  if (!flat) return length * n;
  n.z() = 0;
  const Real in_plane = n.norm();
  return in_plane > Real(0.1) ? Vec3(n * (length / (in_plane * in_plane))) : Vec3(Vec3::Zero());
}

/// The distance and normal in the world if x may be nearer than `limit` to the surface.
std::optional<SignedDistance<Real>> near_distance(const GridWall& wall, const Vec3& x, Real limit) {
  if (!overlap(wall.bounds, x, x, limit)) return std::nullopt;
  const Vec3 local = wall.pose.to_local(x);
  if (const auto* mesh = std::get_if<MeshShape>(&wall.shape.variant());
      mesh && mesh->solid->exact.closest(local / mesh->scale, limit / mesh->scale).triangle < 0)
    return std::nullopt;
  SignedDistance<Real> d = wall.shape.exact_distance(local);
  d.normal = wall.pose.rotation * d.normal;
  return d;
}

/// Whether the solid is thinner than `width` around x, which is in it: along its normal n, an axis or a
/// diagonal of cells. Where two walls meet only a diagonal leads through both.
bool is_thin_around(const GridWall& wall, const Vec3& x, const Vec3& n, Real width, bool flat) {
  const auto thin_along = [&](const Vec3& way) {
    const auto up = wall.shape.intersect(wall.pose, Ray{x, width * way, 0, 1});
    if (!up) return false;
    const auto down = wall.shape.intersect(wall.pose, Ray{x, -width * way, 0, 1 - up->t});
    return down.has_value();
  };
  if (thin_along(n)) return true;
  // One of each two opposite ways.
  for (int k = flat ? 0 : -1; k < (flat ? 1 : 2); ++k)
    for (int j = -1; j < 2; ++j)
      for (int i = -1; i < 2; ++i)
        if (const int number = i + 3 * j + 9 * k;
            number > 0 &&
            thin_along(Vec3(static_cast<Real>(i), static_cast<Real>(j), static_cast<Real>(k)).normalized()))
          return true;
  return false;
}

}  // namespace

Real least_width(const Shape& solid) {
  return std::visit(LeastWidth{}, solid.variant());
}

bool GridWall::blocks(const Vec3& a, const Vec3& b) const {
  if (a == b || !overlap(bounds, a, b, 0)) return false;
  return shape.intersect(pose, Ray{a, b - a, 0, 1}).has_value();
}

Vec3 GridWall::beside(const Vec3& x, Real gap, bool flat) const {
  const SignedDistance<Real> d = shape.exact_distance(pose.to_local(x));
  if (d.distance > 0) return x;
  return x + along_normal(pose.rotation * d.normal, gap - d.distance, flat);
}

void close_walls(const GridShape& shape, const Vec3& low, Real h, const GridWall& wall, FaceField& open,
                 const std::array<bool, 3>& periodic) {
  const bool flat = shape.is_flat();
  // Items whose ways the surface may meet: none is farther from an item's low corner than this.
  const Real reach = Real(1.6) * h, gap = Real(0.01) * h;
  std::array<Index, 3> first = {0, 0, 0}, last = {0, 0, 0};
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    const auto n = static_cast<Real>(shape.cells[a]);
    first[a] =
        static_cast<Index>(std::clamp(std::floor((wall.bounds.low[c] - reach - low[c]) / h), Real(0), n));
    last[a] =
        static_cast<Index>(std::clamp(std::ceil((wall.bounds.high[c] + reach - low[c]) / h), Real(-1), n));
    if (first[a] > last[a]) return;
  }
  const auto corner = [&](Index i, Index j, Index k) -> Vec3 {
    return low +
           h * Vec3(static_cast<Real>(i), static_cast<Real>(j), flat ? Real(0.5) : static_cast<Real>(k));
  };
  const auto ny = static_cast<std::size_t>(last[1] - first[1] + 1),
             nz = static_cast<std::size_t>(last[2] - first[2] + 1);
  // The place of a cell: its centre, or if that is in a thin wall the nearest outside. In what is thick the
  // corners' distances say enough, and around its edges more than one place does.
  const auto place_of = [&](const Vec3& centre) -> std::optional<Vec3> {
    const SignedDistance<Real> d = wall.shape.exact_distance(wall.pose.to_local(centre));
    if (d.distance > 0) return centre;
    const Vec3 n = wall.pose.rotation * d.normal;
    if (!is_thin_around(wall, centre, n, 2 * h, flat)) return std::nullopt;
    return centre + along_normal(n, gap - d.distance, flat);
  };
  // Whether something passes face (c; i, j, k), whose cells' places are a and b.
  const auto passes = [&](int c, Index i, Index j, Index k, const Vec3& a, const Vec3& b) {
    if (!wall.blocks(a, b)) return true;
    const int p = c == 0 ? 1 : 0, q = c == 2 ? 1 : 2;
    for (Index v = 0; v < (flat ? 1 : 2); ++v)
      for (Index u = 0; u < 2; ++u) {
        Vec3 x = corner(i, j, k);
        x[p] += static_cast<Real>(u) * h;
        if (!flat) x[q] += static_cast<Real>(v) * h;
        if (wall.shape.exact_distance(wall.pose.to_local(x)).distance > 0 && !wall.blocks(a, x) &&
            !wall.blocks(x, b))
          return true;
      }
    return false;
  };
  parallel_for(ny * nz, 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const Index j = first[1] + static_cast<Index>(row % ny), k = first[2] + static_cast<Index>(row / ny);
      for (Index i = first[0]; i <= last[0]; ++i) {
        const Vec3 at = corner(i, j, k);
        if (!(std::abs(wall.shape.signed_distance(wall.pose.to_local(at)).distance) < reach)) continue;
        const std::array<Index, 3> item = {i, j, k};
        for (int c = 0; c < shape.dimensions(); ++c) {
          const auto a = static_cast<std::size_t>(c);
          bool is_face = periodic[a] || (item[a] > 0 && item[a] < shape.cells[a]);
          for (std::size_t b = 0; b < 3; ++b) is_face = is_face && (b == a || item[b] < shape.cells[b]);
          if (!is_face) continue;
          Real& fraction = open.along[a][shape.index(i, j, k)];
          if (!(fraction > 0)) continue;
          Vec3 above = at + Vec3::Constant(h / 2);
          if (flat) above.z() = at.z();
          Vec3 below = above;
          below[c] -= h;
          const auto a_place = place_of(below), b_place = place_of(above);
          if (a_place && b_place && !passes(c, i, j, k, *a_place, *b_place)) fraction = 0;
        }
      }
    }
  });
}

void WallClearance::find(const GridShape& shape, const Vec3& low, Real h, std::span<const GridWall> walls,
                         std::span<const std::uint8_t> near) {
  is_flat = shape.is_flat();
  const int layers = is_flat ? 1 : parts;
  const auto of_cell = static_cast<std::uint32_t>(parts * parts * layers);
  first.assign(shape.size(), far);
  std::vector<std::array<Index, 3>> cells;
  for (Index k = 0; k < shape.cells[2]; ++k)
    for (Index j = 0; j < shape.cells[1]; ++j)
      for (Index i = 0; i < shape.cells[0]; ++i) {
        const std::size_t at = shape.index(i, j, k);
        if (!near[at]) continue;
        first[at] = static_cast<std::uint32_t>(cells.size()) * of_cell;
        cells.push_back({i, j, k});
      }
  least.resize(cells.size() * of_cell);
  // In solids nothing is free.
  const auto distance = [&](const Vec3& x) {
    Real most = std::numeric_limits<Real>::max();
    for (const GridWall& wall : walls)
      most = std::min(most, wall.shape.exact_distance(wall.pose.to_local(x)).distance);
    return most;
  };
  // Distances change by no more than one goes. A part's middle is this far from its corners, in cells.
  const Real half = std::sqrt(Real(is_flat ? 2 : 3)) / (2 * parts) + Real(1e-3);
  parallel_for(cells.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      const std::array<Index, 3>& cell = cells[c];
      Vec3 centre = low;
      for (int a = 0; a < 3; ++a)
        centre[a] += h * (static_cast<Real>(cell[static_cast<std::size_t>(a)]) + Real(0.5));
      const Real of_centre = distance(centre) / h;
      std::uint8_t* to = least.data() + c * of_cell;
      for (int k = 0; k < layers; ++k)
        for (int j = 0; j < parts; ++j)
          for (int i = 0; i < parts; ++i) {
            Vec3 offset(static_cast<Real>(2 * i + 1 - parts), static_cast<Real>(2 * j + 1 - parts),
                        is_flat ? Real(0) : static_cast<Real>(2 * k + 1 - parts));
            offset /= 2 * parts;
            // Far enough for most ways, it need not be known better.
            Real here = of_centre - offset.norm();
            if (here < Real(0.75)) here = of_centre > -1 ? distance(centre + h * offset) / h : Real(0);
            *to++ = static_cast<std::uint8_t>(std::clamp(std::floor(64 * (here - half)), Real(0), Real(255)));
          }
    }
  });
}

WallStop stop_at_walls(std::span<const GridWall> walls, const Vec3& x0, const Vec3& x1, Real gap, bool flat) {
  WallStop out{.x = x0, .num_met = 0, .normal = {}, .wall = {}};
  const auto is_free = [&](const Vec3& a, const Vec3& b) {
    for (const GridWall& wall : walls)
      if (wall.blocks(a, b)) return false;
    return true;
  };
  // Off the surfaces by the gap, so that rounding leaves no doubt of the side.
  const auto settled = [&](const Vec3& from, Vec3 x) -> std::optional<Vec3> {
    bool moved = false;
    for (const GridWall& wall : walls)
      if (const auto d = near_distance(wall, x, gap); d && d->distance < gap) {
        x += along_normal(d->normal, gap - d->distance, flat);
        moved = true;
      }
    if (moved && !is_free(from, x)) return std::nullopt;
    return x;
  };
  Vec3 to = x1;
  for (int slide = 0;; ++slide) {
    std::optional<RayHit> hit;
    std::size_t met_wall = 0;
    for (std::size_t q = 0; q < walls.size(); ++q)
      if (const GridWall& wall = walls[q]; to != out.x && overlap(wall.bounds, out.x, to, 0)) {
        const auto other = wall.shape.intersect(wall.pose, Ray{out.x, to - out.x, 0, hit ? hit->t : Real(1)});
        if (other) hit = other, met_wall = q;
      }
    if (!hit) {
      if (const auto x = settled(out.x, to)) out.x = *x;
      return out;
    }
    if (slide == static_cast<int>(out.normal.size())) return out;
    Vec3 n = hit->normal;
    if (n.dot(to - out.x) > 0) n = -n;
    out.wall[static_cast<std::size_t>(out.num_met)] = met_wall;
    out.normal[static_cast<std::size_t>(out.num_met++)] = n;
    const Vec3 met = out.x + hit->t * (to - out.x);
    Vec3 rest = (1 - hit->t) * (to - out.x);
    rest -= n.dot(rest) * n;
    if (flat) rest.z() = 0;
    const Vec3 before = met + along_normal(n, gap, flat);
    if (is_free(out.x, before))
      if (const auto x = settled(out.x, before)) out.x = *x;
    to = out.x + rest;
  }
}

}  // namespace plenum::inline PLENUM_ABI
