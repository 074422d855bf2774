// What pictures of a liquid are made of.
#include <algorithm>

#include "plenum/solvers/liquid/liquid.h"

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

}  // namespace

void Liquid::surface(const Model& m, const State& s, SurfaceWorkspace& w, SurfaceMesh& out,
                     std::span<const GridWall> bodies) {
  const Real reach = reach_in_cells * m.h;
  std::span<const Vec3> x = s.x;
  if (!m.distance.empty() || !bodies.empty()) {
    mirror_in_solids(m, s.x, reach, bodies, w);
    x = w.x;
  }
  liquid_mesh(m.shape, m.low, m.h, x, reach, true, smoothing, w.mesh, out);
}

namespace {

void draw(const Liquid::Model& m, const Liquid::State& s, std::span<const GridWall> bodies,
          DrawableSink& sink) {
  for (const GridSolid& solid : m.solids) {
    const TriangleMesh mesh = solid.mesh();
    sink.triangles({.x = mesh.x,
                    .triangles = mesh.triangles,
                    .pose = solid.pose(),
                    .look = Look::obstacle,
                    .palette = m.palette});
  }
  if (m.show == Liquid::Show::nothing) return;
  if (m.show == Liquid::Show::surface && !m.shape.is_flat()) {
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
