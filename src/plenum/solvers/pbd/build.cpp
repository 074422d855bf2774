// Making position-based bodies: cloth, ropes and solids, of which every part is made.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/lattice.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/topology.h"
#include "plenum/solvers/pbd/detail/builder.h"

namespace plenum::inline PLENUM_ABI {

PbdBuilder::PbdBuilder(const PbdSpec& spec, std::size_t p, Model& model, State& state)
    : spec_(spec),
      part_(spec.parts[p]),
      key_(fmt::format("parts[{}]", p)),
      m_(model),
      s_(state),
      base_(Index(model.mass.size())) {
  const PbdPart& part = part_;
  made_.type = part.type;
  made_.first_particle = base_;
  made_.first_edge = Index(m_.edges.size());
  made_.first_triangle = Index(m_.triangles.size());
  made_.line_radius = part.line_radius;
  made_.palette = part.palette;
  // Volumes hold what clusters move: damped, they would drive it back, and both boil.
  const bool is_matched = (part.type == PbdPart::Type::bar || part.type == PbdPart::Type::soft_body) &&
                          part.material == PbdPart::Material::shape_matching;
  made_.damping_time = is_matched ? Real(0) : part.damping_time;
  made_.bending_damping_time = part.bending_damping_time;
}

void PbdBuilder::run() {
  switch (part_.type) {
    case Type::cloth:
      cloth();
      break;
    case Type::rope:
      rope();
      break;
    case Type::soft_body:
      soft_body();
      break;
    case Type::bar:
      bar();
      break;
    case Type::mesh_cloth:
      mesh_cloth();
      break;
  }
  made_.num_particles = Index(m_.mass.size()) - base_;
  made_.num_edges = Index(m_.edges.size()) - made_.first_edge;
  made_.num_triangles = Index(m_.triangles.size()) - made_.first_triangle;
  Refusals refusals;
  for (std::size_t p = 0; p < part_.pins.size(); ++p) refusals.keep([&] { pin(p); });
  refusals.refuse();
  if (part_.type == Type::cloth) made_.cells_x = Index(part_.cells_x), made_.cells_z = Index(part_.cells_z);
  made_.gives = part_.stretch_compliance > 0 || part_.stretching != PbdPart::Stretching::distances;
  if (part_.tethers) tethers();
  m_.parts.push_back(made_);
}

void PbdBuilder::particle(const Vec3& x, Real mass) {
  m_.mass.push_back(mass);
  m_.rest_position.push_back(x);
  s_.particles.x.push_back(turn_ * x + part_.position);
  s_.particles.v.push_back(part_.velocity);
  s_.particles.inverse_mass.push_back(1 / mass);
}

void PbdBuilder::distance(Index a, Index b, Real compliance, Real rest_length) {
  m_.edges.push_back(Index2(base_ + a, base_ + b));
  m_.rest_length.push_back(rest_length < 0 ? (x(b) - x(a)).norm() : rest_length);
  m_.stretch_compliance.push_back(compliance);
}

void PbdBuilder::cloth() {
  const Index nx = part_.cells_x, nz = part_.cells_z;
  const TriangleMesh mesh = grid_mesh(Vec2(part_.size_x, part_.size_z), nx, nz);
  // A quarter of each neighbouring cell: the same for both ways to cut a cell into triangles.
  const Real quarter = part_.areal_density * (part_.size_x / Real(nx)) * (part_.size_z / Real(nz)) / 4;
  for (Index j = 0; j <= nz; ++j)
    for (Index i = 0; i <= nx; ++i) {
      const int cells = ((i > 0) + (i < nx)) * ((j > 0) + (j < nz));
      particle(mesh.x[std::size_t(j * (nx + 1) + i)], quarter * Real(cells));
    }
  const auto at = [&](Index i, Index j) { return j * (nx + 1) + i; };
  if (part_.stretching == PbdPart::Stretching::strain) {
    strains(mesh);
  } else {
    for (Index j = 0; j <= nz; ++j)
      for (Index i = 0; i <= nx; ++i) {
        if (i < nx) distance(at(i, j), at(i + 1, j), part_.stretch_compliance);
        if (j < nz) distance(at(i, j), at(i, j + 1), part_.stretch_compliance);
      }
    for (Index j = 0; j < nz; ++j)
      for (Index i = 0; i < nx; ++i) {
        distance(at(i, j), at(i + 1, j + 1), part_.shear_compliance);
        distance(at(i + 1, j), at(i, j + 1), part_.shear_compliance);
      }
  }
  if (part_.area_stiffness > 0) areas(mesh);
  if (part_.bending_stiffness > 0 && part_.bending == PbdPart::Bending::plate)
    plate();
  else if (part_.bending_stiffness > 0)
    for (const Index4& h : hinges(mesh.triangles)) hinge(h);
  for (const Index3& t : mesh.triangles) m_.triangles.push_back((t.array() + base_).matrix());
}

/// Rows and columns bend as rods as wide as what is nearest to them, and cells twist.
void PbdBuilder::plate() {
  const Index nx = part_.cells_x, nz = part_.cells_z;
  const double hx = double(part_.size_x) / nx, hz = double(part_.size_z) / nz;
  const double rigidity = double(part_.bending_stiffness);
  const auto at = [&](Index i, Index j) { return j * (nx + 1) + i; };
  const auto width = [](Index k, Index last, double h) { return k == 0 || k == last ? h / 2 : h; };
  for (Index j = 0; j <= nz; ++j)
    for (Index i = 0; i <= nx; ++i) {
      if (i > 0 && i < nx)
        bend(at(i - 1, j), at(i, j), at(i + 1, j), rod_bending(hx, hx, rigidity * width(j, nz, hz)));
      if (j > 0 && j < nz)
        bend(at(i, j - 1), at(i, j), at(i, j + 1), rod_bending(hz, hz, rigidity * width(i, nx, hx)));
    }
  for (Index j = 0; j < nz; ++j)
    for (Index i = 0; i < nx; ++i)
      weighted(Index4(at(i, j), at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)), cell_twist(hx, hz, rigidity));
}

void PbdBuilder::weighted(const Index4& particles, const LinearConstraint<4>& sum) {
  m_.plates.push_back((particles.array() + base_).matrix());
  m_.plate_weights.push_back(
      Vector4<double>(sum.weights[0], sum.weights[1], sum.weights[2], sum.weights[3]).cast<Real>());
  m_.plate_compliance.push_back(Real(sum.compliance));
}
void PbdBuilder::bend(Index a, Index b, Index c, const LinearConstraint<3>& sum) {
  m_.bends.push_back(Index3(base_ + a, base_ + b, base_ + c));
  m_.bend_weights.push_back(Vector3<double>(sum.weights[0], sum.weights[1], sum.weights[2]).cast<Real>());
  m_.rod_compliance.push_back(Real(sum.compliance));
}

void PbdBuilder::hinge(const Index4& h) {
  if (part_.bending == PbdPart::Bending::dihedral) return dihedral(h, 0);
  const auto at = [&](int i) -> D3 { return x(h[i]).cast<double>(); };
  weighted(h, isometric_bending<D3>(at(0), at(1), at(2), at(3), double(part_.bending_stiffness)));
}

void PbdBuilder::dihedral(const Index4& h, double angle) {
  const auto at = [&](int i) -> D3 { return x(h[i]).cast<double>(); };
  // Near a flat rest state |C| of the isometric energy is the angle times the edge's length.
  const double compliance =
      isometric_bending<D3>(at(0), at(1), at(2), at(3), double(part_.bending_stiffness)).compliance;
  m_.hinges.push_back((h.array() + base_).matrix());
  m_.rest_angle.push_back(Real(angle));
  m_.angle_compliance.push_back(Real(compliance / (at(1) - at(0)).squaredNorm()));
}

/// What tetrahedra of particles that there are resist with.
void PbdBuilder::tetrahedra(std::span<const Index4> tetrahedra, std::span<const Real> volumes) {
  const bool is_solid = part_.material == PbdPart::Material::neo_hookean;
  if (part_.material == PbdPart::Material::shape_matching) clusters(tetrahedra);
  if (part_.material == PbdPart::Material::distances)
    for (const Index2& e : unique_edges(tetrahedra)) distance(e[0], e[1], part_.stretch_compliance);
  const Real e = part_.youngs_modulus, nu = part_.poissons_ratio;
  const Real mu = e / (2 * (1 + nu));
  const Vec2 lame(mu, e * nu / ((1 + nu) * (1 - 2 * nu)));
  for (std::size_t k = 0; k < tetrahedra.size(); ++k) {
    const Index4& t = tetrahedra[k];
    Matrix3<double> edges;
    for (int i = 0; i < 3; ++i) edges.col(i) = (x(t[i + 1]) - x(t[0])).cast<double>();
    if (part_.material == PbdPart::Material::strain) {
      // In the axes that the part has before placement.
      const Matrix3<double> own = turn_.cast<double>().toRotationMatrix().transpose() * edges;
      const auto compliance = [&](Real stiffness) {
        return stiffness > 0 ? 1 / (stiffness * volumes[k]) : Real(-1);
      };
      const Vec3 &along = part_.axis_stiffness, &shear = part_.axis_shear_stiffness;
      m_.strain_tetrahedra.push_back((t.array() + base_).matrix());
      m_.strain_tet_inverse.push_back(own.inverse().cast<Real>());
      m_.strain_tet_compliance.push_back({compliance(along[0]), compliance(along[1]), compliance(along[2]),
                                          compliance(shear[0]), compliance(shear[1]), compliance(shear[2])});
    }
    m_.tetrahedra.push_back((t.array() + base_).matrix());
    m_.rest_volume.push_back(volumes[k]);
    m_.volume_compliance.push_back(is_solid ? Real(-1) : part_.volume_compliance);
    m_.rest_inverse.push_back(edges.inverse().cast<Real>());
    m_.lame.push_back(lame);
  }
}

/// A surface to be drawn, bound to the particles by `embedding`, whose vertices are the part's own.
void PbdBuilder::visual(const TetEmbedding& embedding, std::span<const Index3> triangles) {
  made_.first_visual = Index(m_.embedding.vertices.size());
  made_.num_visual = Index(embedding.vertices.size());
  made_.first_visual_triangle = Index(m_.visual_triangles.size());
  made_.num_visual_triangles = Index(triangles.size());
  for (const Index4& v : embedding.vertices) m_.embedding.vertices.push_back((v.array() + base_).matrix());
  m_.embedding.weights.insert(m_.embedding.weights.end(), embedding.weights.begin(), embedding.weights.end());
  m_.visual_triangles.insert(m_.visual_triangles.end(), triangles.begin(), triangles.end());
}

void PbdBuilder::soft_body() {
  require_solid(part_.mesh, key_ + ".mesh");
  const TriangleMesh mesh = without_loose_vertices(part_.mesh);
  TetMesh lattice;
  under(key_, [&] { lattice = lattice_tetrahedra(mesh, part_.spacing, {.inside = Inside::pseudonormals}); });
  // The jagged lattice does not have quite the volume of the body; its mass is the body's.
  const double volume = enclosed_volume(mesh.x, mesh.triangles);
  const std::vector<Real> volumes = tetrahedron_volumes(lattice.x, lattice.tetrahedra);
  double filled = 0;
  for (const Real v : volumes) filled += double(v);
  const std::vector<Real> masses =
      lumped_masses(lattice.x, lattice.tetrahedra, double(part_.density) * volume / filled);
  for (std::size_t i = 0; i < lattice.x.size(); ++i) particle(lattice.x[i], masses[i]);
  tetrahedra(lattice.tetrahedra, volumes);
  visual(embed_in_tetrahedra(mesh.x, lattice.x, lattice.tetrahedra), mesh.triangles);
}

void PbdBuilder::bar() {
  const TetMesh mesh =
      box_tetrahedra(part_.half_extents, Index3(part_.cells_x, part_.cells_y, part_.cells_z));
  const std::vector<Real> volumes = tetrahedron_volumes(mesh.x, mesh.tetrahedra);
  const std::vector<Real> masses = lumped_masses(mesh.x, mesh.tetrahedra, double(part_.density));
  for (std::size_t i = 0; i < mesh.x.size(); ++i) particle(mesh.x[i], masses[i]);
  tetrahedra(mesh.tetrahedra, volumes);
  // Its own surface: the vertices themselves, renumbered.
  TriangleMesh surface{mesh.x, boundary_triangles(mesh.tetrahedra)};
  std::vector<Index> number(mesh.x.size(), -1);
  TetEmbedding embedding;
  for (Index3& t : surface.triangles)
    for (Index& i : t) {
      Index& own = number[std::size_t(i)];
      if (own < 0) {
        own = Index(embedding.vertices.size());
        embedding.vertices.push_back(Index4::Constant(i));
        embedding.weights.push_back(Vec4(1, 0, 0, 0));
      }
      i = own;
    }
  visual(embedding, surface.triangles);
}

}  // namespace plenum::inline PLENUM_ABI
