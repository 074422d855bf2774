// Speed of the surface of a liquid of particles: the signed distance on the grid, and the mesh.
#include <cmath>

#include "bench.h"
#include "plenum/base/random.h"
#include "plenum/geometry/isosurface.h"
#include "plenum/geometry/mesh_smoothing.h"
#include "plenum/geometry/particle_surface.h"

namespace plenum::bench { namespace {

/// A collapsing column with waves and spray: about `count` particles, eight a cell, as a dam break has them.
std::vector<Vec3> dam_break(const GridShape& shape, std::size_t count) {
  const double nx = shape.cells[0], ny = shape.cells[1], nz = shape.cells[2];
  const double mean = static_cast<double>(count) / 8 / (nx * nz);
  std::vector<Vec3> x;
  std::uint64_t item = 0;
  for (int k = 0; k < 2 * shape.cells[2]; ++k)
    for (int i = 0; i < 2 * shape.cells[0]; ++i) {
      const double a = (i + .5) / (2 * nx), c = (k + .5) / (2 * nz);
      // From twice the mean down to nothing, and waves across.
      const double height =
          mean * (1 + 0.97 * std::cos(3.1415926 * a)) * (1 + 0.15 * std::sin(21 * a + 9 * c));
      for (int j = 0; (j + .5) / 2 < std::min(height, ny); ++j) {
        const Vec4 u = uniform4(1, item++, 0);
        x.emplace_back((i + u[0]) / 2, (j + u[1]) / 2, (k + u[2]) / 2);
      }
    }
  for (const std::size_t body = x.size(), spray = body / 100; x.size() < body + spray;) {
    const Vec4 u = uniform4(2, item++, 0);
    x.emplace_back(u[0] * static_cast<Real>(nx), u[1] * static_cast<Real>(ny), u[2] * static_cast<Real>(nz));
  }
  return x;
}

/// Cells of side 1, a reach of two cells. The target is what mantaflow takes for both on two threads.
void surface(Session& session, const GridShape& shape, std::size_t count, double target) {
  const std::vector<Vec3> x = dam_break(shape, count);
  ParticleSurfaceWorkspace work;
  IsosurfaceWorkspace mesh_work;
  MeshSmoothingWorkspace smoothing;
  SurfaceMesh mesh;
  std::vector<Real> phi(shape.size());
  const auto distance = [&] { particle_distance(shape, Vec3::Zero(), 1, x, 2, true, work, phi); };
  const auto triangles = [&] { isosurface(shape, Vec3::Zero(), 1, phi, mesh_work, mesh); };
  distance();
  const double meshing = Session::best_of(10, triangles);
  const double smooth = Session::best_of(
      5, [&] { smooth_mesh(mesh, 2, smoothing); }, triangles);
  const double seconds = Session::best_of(10, [&] { distance(), triangles(); });
  session.figure("ms_per_step", 1e3 * seconds, "ms", session.threads() == 2 ? target : none);
  session.figure("ms_mesh", 1e3 * meshing, "ms");
  session.figure("ms_smooth", 1e3 * smooth, "ms");
  session.figure("particles", static_cast<double>(x.size()), "1");
  session.figure("triangles", static_cast<double>(mesh.triangles.size()), "1");
  // Each particle is read three times and the field written once and read once; what the surface's own cells
  // take comes on top.
  const double bytes = static_cast<double>(3 * x.size() * sizeof(Vec3) + 2 * phi.size() * sizeof(Real));
  session.figure("limit_fraction", bytes / seconds / 1e9 / session.triad(), "1");
}
const Register small("liquid-surface/213k", [](Session& s) { surface(s, {{64, 64, 32}}, 213'000, 26); });
const Register large("liquid-surface/1800k", [](Session& s) {
  surface(s, {{128, 128, 64}}, 1'800'000, 169);
});

}}  // namespace plenum::bench
