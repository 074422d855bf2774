// Making position-based bodies of triangle meshes: cloth of any form, balloons.
#include <fmt/format.h>

#include <algorithm>

#include "plenum/elements/position_constraints.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/topology.h"
#include "plenum/solvers/pbd/detail/builder.h"

namespace plenum::inline PLENUM_ABI {

/// Warp, weft and shear of triangles; the mesh as it is before placement. Per area their energy is
/// warp/2 e_u^2 + weft/2 e_v^2 + shear/2 (2 e_uv)^2 for small strains e; of equal warp and weft, with half of
/// that as shear, the same in every direction, and nothing thins when it is stretched.
void PbdBuilder::strains(const TriangleMesh& mesh) {
  const Real stiffness[3] = {part_.warp_stiffness, part_.weft_stiffness, part_.shear_stiffness};
  D3 warp = part_.type == Type::cloth ? D3(1, 0, 0) : D3(part_.warp.cast<double>());
  require(warp.norm() > 0, key_ + ".warp", "must not be zero");
  warp.normalize();
  std::size_t across = 0;
  for (const Index3& t : mesh.triangles) {
    const auto at = [&](int c) -> D3 { return mesh.x[std::size_t(t[c])].cast<double>(); };
    const D3 a = at(1) - at(0), b = at(2) - at(0), n = a.cross(b).normalized();
    // Where the triangle lies across the warp, any direction does.
    D3 u = warp - n.dot(warp) * n;
    if (u.norm() < 1e-3) u = n.unitOrthogonal(), ++across;
    u.normalize();
    const D3 v = n.cross(u);
    Eigen::Matrix2d sides;
    sides << u.dot(a), u.dot(b), v.dot(a), v.dot(b);
    const Eigen::Matrix2d inverse = sides.inverse();
    const double area = a.cross(b).norm() / 2;
    m_.strain_triangles.push_back((t.array() + base_).matrix());
    m_.strain_inverse.push_back(
        Vec4(Real(inverse(0, 0)), Real(inverse(0, 1)), Real(inverse(1, 0)), Real(inverse(1, 1))));
    Vec3 compliance;
    for (int c = 0; c < 3; ++c)
      compliance[c] = stiffness[c] > 0 ? Real(1 / (double(stiffness[c]) * area)) : Real(-1);
    m_.strain_compliance.push_back(compliance);
  }
  if (across == mesh.triangles.size())
    m_.doubts.push_back(fmt::format(
        "{}.warp is at right angles to every triangle, and any direction is taken for it: give one that lies "
        "in the cloth",
        key_));
}

/// The energy area_stiffness / 2 (A - A_0)^2 / A_0 of each triangle.
void PbdBuilder::areas(const TriangleMesh& mesh) {
  const std::vector<Real> areas = triangle_areas(mesh.x, mesh.triangles);
  for (std::size_t t = 0; t < areas.size(); ++t) {
    m_.area_triangles.push_back((mesh.triangles[t].array() + base_).matrix());
    m_.rest_area.push_back(areas[t]);
    m_.area_compliance.push_back(areas[t] / part_.area_stiffness);
  }
}

/// A wall of triangles that keeps the lengths of its edges and the angles between its triangles as they are
/// placed. `filling` [kg] is shared among particles by the area around each.
void PbdBuilder::wall(const TriangleMesh& mesh, double filling) {
  const double area = surface_area(mesh.x, mesh.triangles);
  const std::vector<Real> masses =
      lumped_masses(mesh.x, mesh.triangles, double(part_.areal_density) + filling / area);
  for (std::size_t i = 0; i < mesh.x.size(); ++i) particle(mesh.x[i], masses[i]);
  if (part_.stretching == PbdPart::Stretching::strain)
    strains(mesh);
  else
    for (const Index2& e : unique_edges(mesh.triangles)) distance(e[0], e[1], part_.stretch_compliance);
  if (part_.area_stiffness > 0) areas(mesh);
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
