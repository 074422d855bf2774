// What pictures of a liquid are made of.
#include "plenum/solvers/liquid/liquid.h"

namespace plenum::inline PLENUM_ABI {

void Liquid::geometry(const Model& m, const State& s, DrawableSink& sink) {
  for (const GridSolid& solid : m.solids) {
    const TriangleMesh mesh = solid.mesh();
    sink.triangles({.x = mesh.x,
                    .triangles = mesh.triangles,
                    .pose = solid.pose(),
                    .look = Look::obstacle,
                    .palette = m.palette});
  }
  if (!m.show_particles) return;
  std::vector<Real> speed(s.v.size());
  for (std::size_t p = 0; p < speed.size(); ++p) speed[p] = s.v[p].norm();
  // Spheres that touch where particles are as close as at rest.
  SphereView view{.x = s.x, .radius = m.h / static_cast<Real>(2 * m.per_side) * Real(1.15)};
  view.colour = {.values = speed, .quantity = "speed", .unit = "m/s"};
  sink.spheres(view);
}

}  // namespace plenum::inline PLENUM_ABI
