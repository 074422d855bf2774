// What pictures of a liquid are made of.
#include <algorithm>
#include <cmath>
#include <utility>

#include "plenum/base/parallel.h"
#include "plenum/solvers/liquid/detail/level_set.h"
#include "plenum/solvers/liquid/detail/seam.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// How far around it a particle counts for the surface, and rounds of smoothing of its mesh.
constexpr Real reach_in_cells = 2;
constexpr int smoothing = 3;

/// Makes w.x the particles and their images in solids, as the box's sides have theirs: without them the
/// surface would end half a particle's distance before a solid, and a pool have a moat around it.
void mirror_in_solids(const Liquid::Model& m, std::span<const Vec3> x, Real reach,
                      std::span<const GridWall> bodies, Liquid::SurfaceWorkspace& w) {
  const GridShape& shape = m.shape;
  w.x.assign(x.begin(), x.end());
  w.beside.clear();
  for (const Vec3& p : x) {
    std::array<Index, 3> cell;
    bool in = true;
    for (int c = 0; c < 3; ++c) {
      const auto a = static_cast<std::size_t>(c);
      const Real g = (p[c] - m.low[c]) / m.h;
      in = in && g >= 0 && g < static_cast<Real>(shape.cells[a]);
      if (in) cell[a] = static_cast<Index>(g);
    }
    // The distance at a corner of the cell differs by a diagonal at most.
    bool is_beside =
        in && !m.distance.empty() && m.distance[shape.index(cell[0], cell[1], cell[2])] < reach + 2 * m.h;
    for (std::size_t b = 0; b < bodies.size() && !is_beside; ++b)
      is_beside = (p.array() > bodies[b].bounds.low.array() - reach).all() &&
                  (p.array() < bodies[b].bounds.high.array() + reach).all();
    if (is_beside) w.beside.push_back(p);
  }
  const std::size_t count = w.beside.size();
  w.image.resize(count), w.normal.resize(count), w.distance.resize(count), w.depth.resize(count);
  const auto mirror = [&](const Shape& geometry, const Pose& pose) {
    geometry.signed_distances(pose, w.beside, w.distance, w.normal);
    for (std::size_t p = 0; p < count; ++p) w.image[p] = w.beside[p] - 2 * w.distance[p] * w.normal[p];
    geometry.signed_distances(pose, w.image, w.depth);
    // An image is as deep in the solid as the particle is before it, unless that is too thin to hold it.
    for (std::size_t p = 0; p < count; ++p)
      if (w.distance[p] > 0 && w.distance[p] < reach && w.depth[p] < -w.distance[p] / 2)
        w.x.push_back(w.image[p]);
  };
  for (const GridSolid& solid : m.solids) mirror(solid.solid(), solid.pose());
  for (const GridWall& body : bodies) mirror(body.shape, body.pose);
}

/// w.first, w.order: w.beside by the cells of the box that they are in, as all of them are.
void sort_beside(const Liquid::Model& m, Liquid::SurfaceWorkspace& w) {
  const auto cell_of = [&](const Vec3& x) {
    std::array<Index, 3> cell;
    for (int c = 0; c < 3; ++c) {
      const auto a = static_cast<std::size_t>(c);
      cell[a] = std::min(static_cast<Index>((x[c] - m.low[c]) / m.h), m.shape.cells[a] - 1);
    }
    return m.shape.index(cell[0], cell[1], cell[2]);
  };
  w.first.assign(m.shape.size() + 1, 0);
  w.order.resize(w.beside.size());
  for (const Vec3& x : w.beside) ++w.first[cell_of(x)];
  Index sum = 0;
  for (Index& first : w.first) first = std::exchange(sum, sum + first);
  for (std::size_t p = 0; p < w.beside.size(); ++p)
    w.order[static_cast<std::size_t>(w.first[cell_of(w.beside[p])]++)] = static_cast<Index>(p);
  std::copy_backward(w.first.begin(), w.first.end() - 1, w.first.end());
  w.first[0] = 0;
}

/// Draws back what of the surface has gone through a wall into its middle. The field between cell centres
/// does not see walls thinner than cells, and a liquid on one side of such a wall would come out of the
/// other. No place of a surface is farther than 0.45 reach from its particles (particle_surface.h); one that
/// sees none so near, but a wall before the nearest, is that wall's.
void keep_to_sides(const Liquid::Model& m, std::span<const GridWall> walls, Real reach,
                   Liquid::SurfaceWorkspace& w, SurfaceMesh& out) {
  w.depth.resize(out.x.size());
  const auto around = static_cast<Index>(std::ceil(reach / m.h));
  for (const GridWall& wall : walls) {
    wall.shape.signed_distances(wall.pose, out.x, w.depth);
    parallel_for(out.x.size(), 256, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        Vec3& x = out.x[v];
        if (!(w.depth[v] > 0 && w.depth[v] < reach / 2)) continue;
        std::array<Index, 3> low, high;
        for (int c = 0; c < 3; ++c) {
          const auto a = static_cast<std::size_t>(c);
          const auto cell = static_cast<Index>(std::floor((x[c] - m.low[c]) / m.h));
          low[a] = std::max(cell - around, Index{0});
          high[a] = std::min(cell + around, m.shape.cells[a] - 1);
        }
        bool is_seen = false;
        Real nearest = reach * reach;
        const Vec3* from = nullptr;
        for (Index k = low[2]; k <= high[2] && !is_seen; ++k)
          for (Index j = low[1]; j <= high[1] && !is_seen; ++j) {
            if (low[0] > high[0]) break;
            const auto first = static_cast<std::size_t>(w.first[m.shape.index(low[0], j, k)]),
                       last = static_cast<std::size_t>(w.first[m.shape.index(high[0], j, k) + 1]);
            for (std::size_t q = first; q < last && !is_seen; ++q) {
              const Vec3& p = w.beside[static_cast<std::size_t>(w.order[q])];
              const Real squared = (p - x).squaredNorm();
              is_seen = squared < reach * reach / 4 && !wall.blocks(p, x);
              if (squared < nearest) nearest = squared, from = &p;
            }
          }
        if (is_seen || from == nullptr) continue;
        const auto in = wall.shape.intersect(wall.pose, Ray{*from, x - *from, 0, 1});
        const auto back = wall.shape.intersect(wall.pose, Ray{x, *from - x, 0, 1});
        if (in && back) x = *from + (in->t + 1 - back->t) / 2 * (x - *from);
      }
    });
  }
}

/// [h] how far a centre is beyond the sides of a box of n cells, negative in it.
Real beyond(Index at, Index n) {
  return std::abs(static_cast<Real>(at) - static_cast<Real>(n - 1) / 2) - static_cast<Real>(n) / 2;
}

/// The level set cut off at the sides of the box, as a mesh.
void mesh_level_set(const Liquid::Model& m, const Liquid::State& s, Liquid::SurfaceWorkspace& w,
                    SurfaceMesh& out) {
  const GridShape& shape = m.shape;
  w.mesh.phi.assign(s.phi.begin(), s.phi.end());
  extend(shape, Beyond::mirrored, w.mesh.phi);
  detail::for_rows(detail::all_items(shape), [&](Index j, Index k) {
    const Real beside = std::max(beyond(j, shape.cells[1]), beyond(k, shape.cells[2]));
    Real* const row = w.mesh.phi.data() + shape.index(0, j, k);
    for (std::ptrdiff_t i = -1; i < shape.cells[0] + 2; ++i)
      row[i] = std::max(row[i], m.h * std::max(beside, beyond(static_cast<Index>(i), shape.cells[0])));
  });
  isosurface(shape, m.low, m.h, w.mesh.phi, w.mesh.isosurface, out);
  smooth_mesh(out, smoothing, w.mesh.smoothing);
}

/// Of a flat grid: the surface of a slab two cells thick that phi is the section of.
void mesh_slab(const Liquid::Model& m, const Liquid::State& s, Liquid::SurfaceWorkspace& w,
               SurfaceMesh& out) {
  const GridShape& flat = m.shape;
  const GridShape slab{{flat.cells[0], flat.cells[1], 2}};
  std::vector<Real> section(s.phi.begin(), s.phi.end());
  extend(flat, Beyond::mirrored, section);
  w.mesh.phi.assign(slab.size(), 0);
  for (Index k = -1; k < 4; ++k)
    for (Index j = -1; j < flat.cells[1] + 2; ++j)
      for (Index i = -1; i < flat.cells[0] + 2; ++i)
        w.mesh.phi[slab.index(i, j, k)] =
            std::max(section[flat.index(i, j, 0)],
                     m.h * std::max({beyond(i, flat.cells[0]), beyond(j, flat.cells[1]), beyond(k, 2)}));
  isosurface(slab, m.low - Vec3(0, 0, m.h / 2), m.h, w.mesh.phi, w.mesh.isosurface, out);
}

}  // namespace

void Liquid::surface(const Model& m, const State& s, SurfaceWorkspace& w, SurfaceMesh& out,
                     std::span<const GridWall> bodies) {
  if (m.has_level_set()) return m.shape.is_flat() ? mesh_slab(m, s, w, out) : mesh_level_set(m, s, w, out);
  const Real reach = reach_in_cells * m.h;
  std::span<const Vec3> x = s.x;
  if (!m.distance.empty() || !bodies.empty()) {
    mirror_in_solids(m, s.x, reach, bodies, w);
    x = w.x;
  }
  liquid_mesh(m.shape, m.low, m.h, x, reach, true, smoothing, w.mesh, out, detail::periodic_axes(m));
  const bool has_thin = std::any_of(bodies.begin(), bodies.end(),
                                    [&](const GridWall& body) { return may_be_thin(body.shape, m.h); });
  if (m.walls.empty() && !has_thin) return;
  sort_beside(m, w);
  keep_to_sides(m, m.walls, reach, w, out);
  keep_to_sides(m, bodies, reach, w, out);
}

namespace {

void draw(const Liquid::Model& m, const Liquid::State& s, std::span<const GridWall> bodies,
          DrawableSink& sink) {
  Aabb box;
  box.extend(m.low);
  for (int c = 0; c < 3; ++c)
    box.high[c] = m.low[c] + m.h * static_cast<Real>(m.shape.cells[static_cast<std::size_t>(c)]);
  for (std::size_t k = 0; k < m.solids.size(); ++k) {
    const GridSolid& solid = m.solids[k];
    // Images that are only near the box are not seen.
    if (k >= m.num_solids && !solid.solid().bounds(solid.pose()).overlaps(box)) continue;
    const TriangleMesh mesh = solid.mesh();
    sink.triangles({.x = mesh.x,
                    .triangles = mesh.triangles,
                    .pose = solid.pose(),
                    .look = Look::obstacle,
                    .palette = m.palette});
  }
  if (m.show == Liquid::Show::nothing) return;
  if (m.has_level_set() && m.shape.is_flat()) {
    Liquid::SurfaceWorkspace workspace;
    SurfaceMesh mesh;
    Liquid::surface(m, s, workspace, mesh);
    std::vector<Real> speed(mesh.x.size());
    Real most = 0;
    for (std::size_t v = 0; v < speed.size(); ++v) {
      speed[v] = detail::velocity_at(m, s, mesh.x[v]).norm();
      most = std::max(most, speed[v]);
    }
    TriangleView view{.x = mesh.x, .triangles = mesh.triangles, .normals = mesh.normals};
    view.colour = {
        .values = speed, .quantity = "speed", .unit = "m/s", .low = 0, .high = most > 0 ? most : Real(1)};
    sink.triangles(view);
    return;
  }
  if ((m.show == Liquid::Show::surface || m.has_level_set()) && !m.shape.is_flat()) {
    // Pictures are made by one thread at a time or, if by more, each with memory of its own.
    static thread_local Liquid::SurfaceWorkspace workspace;
    static thread_local SurfaceMesh mesh;
    Liquid::surface(m, s, workspace, mesh, bodies);
    sink.liquid({.x = mesh.x,
                 .triangles = mesh.triangles,
                 .normals = mesh.normals,
                 .absorption = m.absorption,
                 .scattering = m.scattering});
    return;
  }
  std::vector<Real> speed(s.v.size());
  Real most = 0;
  for (std::size_t p = 0; p < speed.size(); ++p) {
    speed[p] = s.v[p].norm();
    most = std::max(most, speed[p]);
  }
  // Spheres large enough to close over the gaps between jittered particles; of a flat grid there are none
  // behind that would.
  const Real size = m.shape.is_flat() ? Real(2.1) : Real(1.3);
  SphereView view{.x = s.x, .radius = m.h / static_cast<Real>(2 * m.per_side) * size};
  view.colour = {
      .values = speed, .quantity = "speed", .unit = "m/s", .low = 0, .high = most > 0 ? most : Real(1)};
  sink.spheres(view);
}

}  // namespace

void Liquid::geometry(const Model& m, const State& s, DrawableSink& sink) {
  draw(m, s, {}, sink);
}
void Liquid::geometry(const Model& m, const State& s, const Workspace& w, DrawableSink& sink) {
  draw(m, s, w.immersed.seen, sink);
}

}  // namespace plenum::inline PLENUM_ABI
