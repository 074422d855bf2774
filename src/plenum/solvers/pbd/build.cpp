// Making position-based bodies: the generators.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plenum/base/error.h"
#include "plenum/elements/linear_constraints.h"
#include "plenum/elements/position_constraints.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/lattice.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/topology.h"
#include "plenum/math/pose.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Model = Pbd::Model;
using State = Pbd::State;
using Type = PbdPart::Type;
using D3 = Vector3<double>;

void require(bool holds, const std::string& key, const char* what) {
  if (!holds) throw Error(Problem{.key = key, .what = what});
}

std::size_t particles_of(const PbdPart& part) {
  const auto cells = [](int n) { return std::size_t(n) + 1; };
  switch (part.type) {
    case Type::cloth:
      return cells(part.cells_x) * cells(part.cells_z);
    case Type::rope:
      return cells(part.segments);
    case Type::bar:
      return cells(part.cells_x) * cells(part.cells_y) * cells(part.cells_z);
    case Type::mesh_cloth:
      return part.mesh.x.size();
    case Type::soft_body: {
      // Two particles in each cube of the lattice that the bounding box holds.
      if (part.mesh.x.empty()) return 0;
      Vec3 low = part.mesh.x[0], high = low;
      for (const Vec3& x : part.mesh.x) low = low.cwiseMin(x), high = high.cwiseMax(x);
      double count = 2;
      for (int c = 0; c < 3; ++c) count *= std::ceil(double(high[c] - low[c]) / double(part.spacing)) + 1;
      return static_cast<std::size_t>(std::min(count, 1e15));
    }
  }
  return 0;
}

/// Appends one part's arrays, with its own numbering shifted to the model's.
class Builder {
 public:
  Builder(const PbdPart& part, std::string key, Model& model, State& state)
      : part_(part), key_(std::move(key)), m_(model), s_(state), base_(Index(model.mass.size())) {
    made_.type = part.type;
    made_.first_particle = base_;
    made_.first_edge = Index(m_.edges.size());
    made_.first_triangle = Index(m_.triangles.size());
    made_.line_radius = part.line_radius;
    made_.palette = part.palette;
  }

  void run() {
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
    if (part_.tethers && part_.stretch_compliance == 0) tethers();
    m_.parts.push_back(made_);
  }

 private:
  const Vec3& x(Index i) const { return s_.particles.x[std::size_t(base_ + i)]; }

  void particle(const Vec3& x, Real mass) {
    m_.mass.push_back(mass);
    s_.particles.x.push_back(turn_ * x + part_.position);
    s_.particles.v.push_back(part_.velocity);
    s_.particles.inverse_mass.push_back(1 / mass);
  }

  /// rest_length < 0: as placed.
  void distance(Index a, Index b, Real compliance, Real rest_length = -1) {
    m_.edges.push_back(Index2(base_ + a, base_ + b));
    m_.rest_length.push_back(rest_length < 0 ? (x(b) - x(a)).norm() : rest_length);
    m_.stretch_compliance.push_back(compliance);
  }

  void cloth() {
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
    if (part_.bending_stiffness > 0 && part_.bending == PbdPart::Bending::plate)
      plate();
    else if (part_.bending_stiffness > 0)
      for (const Index4& h : hinges(mesh.triangles)) hinge(h);
    for (const Index3& t : mesh.triangles) m_.triangles.push_back((t.array() + base_).matrix());
  }

  /// Rows and columns bend as rods as wide as what is nearest to them, and cells twist.
  void plate() {
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
        weighted(Index4(at(i, j), at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)),
                 cell_twist(hx, hz, rigidity));
  }

  void weighted(const Index4& particles, const LinearConstraint<4>& sum) {
    m_.plates.push_back((particles.array() + base_).matrix());
    m_.plate_weights.push_back(
        Vector4<double>(sum.weights[0], sum.weights[1], sum.weights[2], sum.weights[3]).cast<Real>());
    m_.plate_compliance.push_back(Real(sum.compliance));
  }
  void bend(Index a, Index b, Index c, const LinearConstraint<3>& sum) {
    m_.bends.push_back(Index3(base_ + a, base_ + b, base_ + c));
    m_.bend_weights.push_back(Vector3<double>(sum.weights[0], sum.weights[1], sum.weights[2]).cast<Real>());
    m_.rod_compliance.push_back(Real(sum.compliance));
  }

  /// [rad] of a hinge as it is.
  Real angle_at(const Index4& h) const {
    using P = detail::V3<double>;
    P places[4], gradients[4];
    for (int i = 0; i < 4; ++i) {
      const D3 p = (x(h[i]) - x(h[0])).cast<double>();
      places[i] = {p.x(), p.y(), p.z()};
    }
    const double flat[] = {0};
    return Real(detail::DihedralConstraint::value(places, flat, gradients));
  }
  void hinge(const Index4& h) {
    const auto at = [&](int i) -> D3 { return x(h[i]).cast<double>(); };
    const LinearConstraint<4> flat =
        isometric_bending<D3>(at(0), at(1), at(2), at(3), double(part_.bending_stiffness));
    const bool is_curved = part_.type == Type::mesh_cloth;
    if (!is_curved && part_.bending == PbdPart::Bending::isometric) return weighted(h, flat);
    // Near a flat rest state |C| of the isometric energy is the angle times the edge's length.
    m_.hinges.push_back((h.array() + base_).matrix());
    m_.rest_angle.push_back(is_curved ? angle_at(h) : Real(0));
    m_.angle_compliance.push_back(Real(flat.compliance / (at(1) - at(0)).squaredNorm()));
  }

  void rope() {
    const Vec3 along = part_.to - part_.from;
    const Index n = part_.segments;
    const Real length = along.norm() * (1 + part_.slack);
    require(length > 0, key_ + ".to", "must differ from `from`");
    const Real rest = length / Real(n), half = part_.linear_density * rest / 2;
    for (Index i = 0; i <= n; ++i)
      particle(part_.from + along * (Real(i) / Real(n)), i == 0 || i == n ? half : 2 * half);
    for (Index i = 0; i < n; ++i) distance(i, i + 1, part_.stretch_compliance, rest);
    if (!(part_.bending_stiffness > 0)) return;
    for (Index i = 1; i < n; ++i)
      bend(i - 1, i, i + 1, rod_bending(double(rest), double(rest), double(part_.bending_stiffness)));
  }

  /// Distances along the edges of tetrahedra of particles that there are, and their volumes.
  void tetrahedra(std::span<const Index4> tetrahedra, std::span<const Real> volumes) {
    const bool is_solid = part_.material == PbdPart::Material::neo_hookean;
    if (!is_solid)
      for (const Index2& e : unique_edges(tetrahedra)) distance(e[0], e[1], part_.stretch_compliance);
    const Real e = part_.youngs_modulus, nu = part_.poissons_ratio;
    const Real mu = e / (2 * (1 + nu));
    // Linearized about rest, mu/2 tr F^T F + lambda/2 (det F - 1 - mu/lambda)^2 is mu e : e + (lambda - mu)/2
    // (tr e)^2: lambda is that of Lame's parameters and mu.
    const Vec2 lame(mu, e * nu / ((1 + nu) * (1 - 2 * nu)) + mu);
    for (std::size_t k = 0; k < tetrahedra.size(); ++k) {
      const Index4& t = tetrahedra[k];
      Matrix3<double> edges;
      for (int i = 0; i < 3; ++i) edges.col(i) = (x(t[i + 1]) - x(t[0])).cast<double>();
      m_.tetrahedra.push_back((t.array() + base_).matrix());
      m_.rest_volume.push_back(volumes[k]);
      m_.volume_compliance.push_back(is_solid ? Real(-1) : part_.volume_compliance);
      m_.rest_inverse.push_back(edges.inverse().cast<Real>());
      m_.lame.push_back(lame);
    }
  }

  /// A surface to be drawn, bound to the particles by `embedding`, whose vertices are the part's own.
  void visual(const TetEmbedding& embedding, std::span<const Index3> triangles) {
    made_.first_visual = Index(m_.embedding.vertices.size());
    made_.num_visual = Index(embedding.vertices.size());
    made_.first_visual_triangle = Index(m_.visual_triangles.size());
    made_.num_visual_triangles = Index(triangles.size());
    for (const Index4& v : embedding.vertices) m_.embedding.vertices.push_back((v.array() + base_).matrix());
    m_.embedding.weights.insert(m_.embedding.weights.end(), embedding.weights.begin(),
                                embedding.weights.end());
    m_.visual_triangles.insert(m_.visual_triangles.end(), triangles.begin(), triangles.end());
  }

  void soft_body() {
    require_solid(part_.mesh, key_ + ".mesh");
    const TriangleMesh mesh = without_loose_vertices(part_.mesh);
    TetMesh lattice;
    under(key_,
          [&] { lattice = lattice_tetrahedra(mesh, part_.spacing, {.inside = Inside::pseudonormals}); });
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

  void mesh_cloth() {
    const TriangleMesh& mesh = part_.mesh;
    if (part_.inflated)
      require_solid(mesh, key_ + ".mesh");
    else
      require_surface(mesh, key_ + ".mesh");
    std::vector<Real> masses(mesh.x.size(), 0);
    const std::vector<Real> areas = triangle_areas(mesh.x, mesh.triangles);
    for (std::size_t t = 0; t < areas.size(); ++t)
      for (const Index i : mesh.triangles[t]) masses[std::size_t(i)] += part_.areal_density * areas[t] / 3;
    for (std::size_t i = 0; i < mesh.x.size(); ++i) {
      require(masses[i] > 0, key_ + ".mesh", "has a vertex without a triangle");
      particle(mesh.x[i], masses[i]);
    }
    for (const Index2& e : unique_edges(mesh.triangles)) distance(e[0], e[1], part_.stretch_compliance);
    if (part_.bending_stiffness > 0)
      for (const Index4& h : hinges(mesh.triangles)) hinge(h);
    for (const Index3& t : mesh.triangles) m_.triangles.push_back((t.array() + base_).matrix());
    if (part_.inflated)
      m_.enclosures.push_back({.part = Index(m_.parts.size()),
                               .rest_volume = Real(enclosed_volume(mesh.x, mesh.triangles)),
                               .compliance = part_.volume_compliance});
  }

  void bar() {
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

  void pin(std::size_t p) {
    const ParticlePin& pin = part_.pins[p];
    const std::string key = fmt::format("{}.pins[{}]", key_, p);
    const PinnedGrid grid =
        part_.type == Type::cloth ? PinnedGrid{Index(part_.cells_x), Index(part_.cells_z)} : PinnedGrid{};
    bool any = false;
    for (const Index i : find_pinned(pin, key, std::span(s_.particles.x).subspan(std::size_t(base_)), grid)) {
      const Index particle = base_ + i;
      if (s_.particles.inverse_mass[std::size_t(particle)] == 0) continue;  // by an earlier pin
      any = true;
      m_.pinned.push_back(particle);
      m_.pin_group.push_back(Index(pin.group));
      m_.pin_position.push_back(s_.particles.x[std::size_t(particle)]);
      s_.particles.inverse_mass[std::size_t(particle)] = 0;
    }
    if (!any)
      throw Error(Problem{.key = key,
                          .what = "holds no particle that pins before it do not hold already",
                          .remedy = "put it before them, hold other particles, or leave it out"});
  }

  /// One tether to the nearest pin of each group that hangs together, at most of the four nearest groups.
  void tethers() {
    const bool is_rope = part_.type == Type::rope;
    if (!is_rope && part_.type != Type::cloth) return;
    const Index n = made_.num_particles, row = is_rope ? n : Index(part_.cells_x) + 1;
    // Groups of neighbouring pins.
    std::vector<Index> group(std::size_t(n), -1);
    std::vector<std::vector<Index>> groups;
    for (Index i = 0; i < n; ++i) {
      if (s_.particles.inverse_mass[std::size_t(base_ + i)] != 0 || group[std::size_t(i)] >= 0) continue;
      std::vector<Index> members, open = {i};
      group[std::size_t(i)] = Index(groups.size());
      while (!open.empty()) {
        const Index at = open.back();
        open.pop_back();
        members.push_back(at);
        for (Index dj = -1; dj <= 1; ++dj)
          for (Index di = -1; di <= 1; ++di) {
            const Index a = at % row + di, b = at / row + dj, next = b * row + a;
            if (a < 0 || a >= row || next < 0 || next >= n || group[std::size_t(next)] >= 0 ||
                s_.particles.inverse_mass[std::size_t(base_ + next)] != 0)
              continue;
            group[std::size_t(next)] = Index(groups.size());
            open.push_back(next);
          }
      }
      groups.push_back(std::move(members));
    }
    // Ropes are as long as their segments; a cloth lies flat at rest, and is as wide as it is far.
    const Real segment = is_rope ? m_.rest_length[std::size_t(made_.first_edge)] : Real(0);
    const auto apart = [&](Index i, Index j) {
      return is_rope ? segment * Real(std::abs(i - j)) : (x(i) - x(j)).norm();
    };
    constexpr std::size_t most = 4;
    std::vector<std::pair<Real, Index>> found;
    for (Index i = 0; i < n; ++i) {
      if (group[std::size_t(i)] >= 0) continue;
      found.clear();
      for (const std::vector<Index>& members : groups) {
        std::pair<Real, Index> nearest{std::numeric_limits<Real>::max(), -1};
        for (const Index j : members) nearest = std::min(nearest, {apart(i, j), j});
        found.push_back(nearest);
      }
      std::sort(found.begin(), found.end());
      for (std::size_t k = 0; k < std::min(most, found.size()); ++k) {
        m_.tethers.push_back(Index2(base_ + i, base_ + found[k].second));
        m_.tether_length.push_back(found[k].first);
      }
    }
  }

  const PbdPart& part_;
  const Quat turn_ = rotation_from_degrees(part_.rotation);
  std::string key_;
  Model& m_;
  State& s_;
  Index base_;
  Pbd::Part made_;
};

}  // namespace

void Pbd::check(const Spec& spec, const Params& params) {
  std::vector<Index> groups;
  for (const PbdPart& part : spec.parts)
    for (const ParticlePin& pin : part.pins) groups.push_back(Index(pin.group));
  check_pin_motions(params.pins, groups);
}

std::optional<Problem> Pbd::moves_nothing(const Model& model, std::string_view path) {
  return pins_move_nothing(path, model.pin_group);
}

std::size_t Pbd::memory(const Spec& spec) {
  std::size_t bytes = 0;
  for (const PbdPart& part : spec.parts) {
    const std::size_t n = particles_of(part);
    // Constraints for each particle of a cloth, a rope and a lattice, with their packs of lanes.
    const bool solid = part.type == Type::soft_body || part.type == Type::bar;
    const std::size_t edges = part.type == Type::cloth ? 4 : part.type == Type::rope ? 1 : 7;
    const std::size_t others = solid ? 6 : part.bending_stiffness > 0 ? 3 : 0;
    bytes += n * (40 * sizeof(Real) + 2 * sizeof(Index3));
    bytes += n * edges * (2 * sizeof(Index2) + 6 * sizeof(Real));
    bytes += n * others * (2 * sizeof(Index4) + 16 * sizeof(Real));
    if (part.type == Type::soft_body) bytes += memory_per_triangle * part.mesh.triangles.size();
  }
  return bytes;
}

void Pbd::build(const Spec& spec, Model& model, State& state) {
  model = {};
  state = {};
  require(!spec.parts.empty(), "parts", "must hold at least one part");
  std::size_t n = 0;
  for (const PbdPart& part : spec.parts) n += particles_of(part);
  require(n <= std::size_t(1) << 30, "parts", "hold more than 2^30 particles");
  Refusals refusals;
  for (std::size_t p = 0; p < spec.parts.size(); ++p)
    refusals.keep([&] { Builder(spec.parts[p], fmt::format("parts[{}]", p), model, state).run(); });
  refusals.refuse();
  update(model);
}

namespace {

/// What of the model touches, and how short its edges are.
void find_surface(Model& model) {
  model.surface = model.triangles;
  const std::vector<Index3> faces = boundary_triangles(model.tetrahedra);
  model.surface.insert(model.surface.end(), faces.begin(), faces.end());
  for (const Pbd::Part& part : model.parts)
    if (part.type == Type::rope)
      for (Index e = part.first_edge; e < part.first_edge + part.num_edges; ++e) {
        const Index2& ends = model.edges[std::size_t(e)];
        model.surface.push_back({ends[0], ends[1], ends[1]});
      }
  model.surface_edges = unique_edges(model.surface);
  std::erase_if(model.surface_edges, [](const Index2& e) { return e[0] == e[1]; });
  Real shortest = std::numeric_limits<Real>::infinity();
  for (const Real length : model.rest_length)
    if (length > 0) shortest = std::min(shortest, length);
  for (const Mat3& inverse : model.rest_inverse) {
    const Mat3 edges = inverse.inverse();
    for (int i = 0; i < 3; ++i) {
      shortest = std::min(shortest, edges.col(i).norm());
      shortest = std::min(shortest, (edges.col(i) - edges.col((i + 1) % 3)).norm());
    }
  }
  model.shortest_edge = std::isfinite(shortest) ? shortest : 0;
}

}  // namespace

void Pbd::update(Model& model) {
  const std::size_t n = model.mass.size();
  const auto check = [&](const char* name, const auto& items, auto... sizes) {
    require(((items.size() == sizes) && ...), name, "and its arrays must have one length");
    for (const auto& item : items)
      require(item.minCoeff() >= 0 && std::size_t(item.maxCoeff()) < n, name, "must join particles");
  };
  for (const Real mass : model.mass) require(mass > 0, "mass", "must be positive");
  check("edges", model.edges, model.rest_length.size(), model.stretch_compliance.size());
  check("hinges", model.hinges, model.rest_angle.size(), model.angle_compliance.size());
  check("plates", model.plates, model.plate_weights.size(), model.plate_compliance.size());
  check("bends", model.bends, model.bend_weights.size(), model.rod_compliance.size());
  check("tetrahedra", model.tetrahedra, model.rest_volume.size(), model.volume_compliance.size(),
        model.rest_inverse.size(), model.lame.size());
  for (const Vec2& lame : model.lame) require(lame.minCoeff() > 0, "lame", "must be positive");
  check("tethers", model.tethers, model.tether_length.size());
  check("triangles", model.triangles);
  for (const Model::Enclosure& e : model.enclosures)
    require(e.part >= 0 && std::size_t(e.part) < model.parts.size() && e.rest_volume > 0 && e.compliance >= 0,
            "enclosures", "must be of parts, with a positive volume and no negative compliance");
  require(model.pin_group.size() == model.pinned.size() && model.pin_position.size() == model.pinned.size(),
          "pinned", "and its arrays must have one length");
  // The air gives each triangle the mass that its lightest corner has for it, three times.
  std::vector<Real> around(n, 0);
  for (const Index3& t : model.triangles)
    for (const Index i : t) ++around[std::size_t(i)];
  model.air_mass.resize(model.triangles.size());
  for (std::size_t t = 0; t < model.air_mass.size(); ++t) {
    Real least = std::numeric_limits<Real>::infinity();
    for (const Index i : model.triangles[t])
      least = std::min(least, model.mass[std::size_t(i)] / around[std::size_t(i)]);
    model.air_mass[t] = 3 * least;
  }
  find_surface(model);
  ++model.revision;
}

Real Pbd::contact_distance(const Model& model, const Params& params) {
  return std::min(2 * params.thickness, model.shortest_edge / 2);
}

}  // namespace plenum::inline PLENUM_ABI
