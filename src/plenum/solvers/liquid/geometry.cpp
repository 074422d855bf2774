// What pictures of a liquid are made of.
#include <algorithm>

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
  Real most = 0;
  for (std::size_t p = 0; p < speed.size(); ++p) {
    speed[p] = s.v[p].norm();
    most = std::max(most, speed[p]);
  }
  // Spheres large enough to close over the gaps between jittered particles; of a flat grid there are none
  // behind that would.
  const Real size = m.shape.is_flat() ? Real(1.7) : Real(1.3);
  SphereView view{.x = s.x, .radius = m.h / static_cast<Real>(2 * m.per_side) * size};
  view.colour = {
      .values = speed, .quantity = "speed", .unit = "m/s", .low = 0, .high = most > 0 ? most : Real(1)};
  sink.spheres(view);
}

}  // namespace plenum::inline PLENUM_ABI
