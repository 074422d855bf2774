// Making position-based bodies of triangle meshes: cloth of any form, balloons.
#include <algorithm>

#include "plenum/elements/position_constraints.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/topology.h"
#include "plenum/solvers/pbd/detail/builder.h"

namespace plenum::inline PLENUM_ABI {

/// A wall of triangles that keeps the lengths of its edges and the angles between its triangles as they are
/// placed. `filling` [kg] is shared among particles by the area around each.
void PbdBuilder::wall(const TriangleMesh& mesh, double filling) {
  const double area = surface_area(mesh.x, mesh.triangles);
  const std::vector<Real> masses =
      lumped_masses(mesh.x, mesh.triangles, double(part_.areal_density) + filling / area);
  for (std::size_t i = 0; i < mesh.x.size(); ++i) particle(mesh.x[i], masses[i]);
  for (const Index2& e : unique_edges(mesh.triangles)) distance(e[0], e[1], part_.stretch_compliance);
  if (part_.bending_stiffness > 0)
    for (const Index4& h : hinges(mesh.triangles)) fold(h);
  for (const Index3& t : mesh.triangles) m_.triangles.push_back((t.array() + base_).matrix());
}

/// Two triangles that keep the angle they have. Near it, the energy is that of isometric bending about a flat
/// state, whose |C| is the angle times the edge's length.
void PbdBuilder::fold(const Index4& h) {
  detail::V3<double> points[4], gradient[4];
  for (int i = 0; i < 4; ++i) {
    const D3 p = (x(h[i]) - x(h[0])).cast<double>();
    points[i] = {p.x(), p.y(), p.z()};
  }
  const double angle = detail::DihedralConstraint::value<double>(points, {0.0}, gradient);
  dihedral(h, angle);
}

/// What the mesh encloses; returns the mass [kg] of it.
double PbdBuilder::enclose(const TriangleMesh& mesh) {
  const double volume = enclosed_volume(mesh.x, mesh.triangles);
  Model::Enclosure e{.part = Index(m_.parts.size()), .rest_volume = Real(volume)};
  double filling = double(part_.gas_density) * volume;
  if (part_.filling == PbdPart::Filling::volume) {
    e.ratio = part_.volume_ratio, e.compliance = part_.volume_compliance;
    filling *= double(e.ratio);
  } else {
    const double pressure = double(part_.ambient_pressure) + double(part_.overpressure);
    require(pressure > 0, key_ + ".overpressure", "and ambient_pressure must not both be 0: there is no gas");
    e.has_gas = true, e.amount = pressure * volume, e.outside = part_.ambient_pressure;
  }
  e.filling = Real(filling);
  m_.enclosures.push_back(e);
  return filling;
}

void PbdBuilder::mesh_cloth() {
  if (!part_.inflated) {
    require_surface(part_.mesh, key_ + ".mesh");
    return wall(part_.mesh, 0);
  }
  require_solid(part_.mesh, key_ + ".mesh");
  const TriangleMesh mesh = without_loose_vertices(part_.mesh);
  wall(mesh, enclose(mesh));
}

}  // namespace plenum::inline PLENUM_ABI
