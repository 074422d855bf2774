// Position-based bodies as a whole: from their specification, and what follows from a model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/measures.h"
#include "plenum/solvers/pbd/detail/builder.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Type = PbdPart::Type;

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

/// What of the model touches, and how short its edges are.
void find_surface(Pbd::Model& model) {
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
  for (const Vec4& inverse : model.strain_inverse) {
    Eigen::Matrix2d rows;
    rows << double(inverse[0]), double(inverse[1]), double(inverse[2]), double(inverse[3]);
    const Eigen::Matrix2d sides = rows.inverse();
    shortest = std::min({shortest, Real(sides.col(0).norm()), Real(sides.col(1).norm()),
                         Real((sides.col(0) - sides.col(1)).norm())});
  }
  model.shortest_edge = std::isfinite(shortest) ? shortest : 0;
}

/// That tears of a checkpoint can be of this model.
void check_tears(const Pbd::Model& whole, const std::vector<Index>& from,
                 const std::vector<Index2>& corners) {
  const auto require = PbdBuilder::require;
  const auto size = Index(whole.mass.size());
  require(from.empty() || whole.rest_position.size() == whole.mass.size(), "torn_from",
          "must be empty, as nothing of the model tears");
  std::vector<Index> left(from.empty() ? 0 : std::size_t(size), 0);  // triangles, or edges, of each particle
  std::vector<std::uint8_t> is_of_rope(from.empty() ? 0 : whole.edges.size(), 0);
  if (!from.empty()) {
    for (const Index3& t : whole.triangles)
      for (const Index i : t) ++left[std::size_t(i)];
    for (const Pbd::Part& part : whole.parts)
      for (Index e = part.first_edge; e < part.first_edge + part.num_edges; ++e)
        if (part.type == PbdPart::Type::rope) {
          is_of_rope[std::size_t(e)] = 1;
          for (const Index i : whole.edges[std::size_t(e)]) ++left[std::size_t(i)];
        }
  }
  const std::size_t triangles = 3 * whole.triangles.size();
  for (const Index i : from) require(i >= 0 && i < size, "torn_from", "must be particles of the whole");
  std::vector<std::uint8_t> has_any(from.size(), 0);
  for (std::size_t k = 0; k < corners.size(); ++k) {
    const Index corner = corners[k][0], now = corners[k][1];
    const std::size_t end = std::size_t(corner) - triangles;  // of an edge, if it is of no triangle
    const bool is_corner = corner >= 0 && std::size_t(corner) < triangles;
    require((k == 0 || corners[k - 1][0] < corner) && corner >= 0 &&
                (is_corner || (end < 2 * is_of_rope.size() && is_of_rope[end / 2])),
            "torn_corners", "must be corners of triangles and ends of ropes' edges, in order");
    require(now >= size && std::size_t(now - size) < from.size(), "torn_corners",
            "must be at particles that tearing made");
    const Index was =
        is_corner ? whole.triangles[std::size_t(corner / 3)][corner % 3] : whole.edges[end / 2][end % 2];
    require(from[std::size_t(now - size)] == was, "torn_corners", "must be at copies of what they were at");
    has_any[std::size_t(now - size)] = 1;
    require(--left[std::size_t(was)] > 0, "torn_corners", "must leave each particle a triangle, or an edge");
  }
  for (const std::uint8_t any : has_any) require(any, "torn_from", "must each have a triangle, or an edge");
}

}  // namespace

void Pbd::check(const Spec& spec, const Params& params) {
  std::vector<Index> groups;
  for (const PbdPart& part : spec.parts)
    for (const ParticlePin& pin : part.pins) groups.push_back(Index(pin.group));
  for (const PbdBody& body : spec.bodies)
    if (body.motion == PbdBody::Motion::led) groups.push_back(Index(body.group));
  check_pin_motions(params.pins, groups);
  if (params.static_friction >= 0 && params.static_friction < params.friction)
    throw Error(Problem{.key = "params.static_friction",
                        .what = "is below the friction of what slides",
                        .value = fmt::format("{}", params.static_friction),
                        .allowed = fmt::format("{} or more, or -1", params.friction),
                        .remedy = "leave it out where rest bears no more than sliding"});
}

void Pbd::check(const Model& model, const State& state) {
  const auto require = PbdBuilder::require;
  const Model& whole = model.whole ? *model.whole : model;
  const std::size_t size = whole.mass.size(), n = size + model.torn_from.size(), bodies = model.bodies.size();
  check_tears(whole, model.torn_from, model.torn_corners);
  const Particles& p = state.particles;
  require(p.x.size() == n && p.v.size() == n && p.inverse_mass.size() == n, "position",
          "and the other arrays of particles must hold one item for each");
  const Frames& f = state.frames;
  require(f.x.size() == bodies && f.q.size() == bodies && f.v.size() == bodies && f.w.size() == bodies &&
              f.inverse_mass.size() == bodies && f.inverse_inertia.size() == bodies,
          "body_position", "and the other arrays of bodies must hold one item for each");
  for (const Vec4& q : f.q)
    require(std::abs(q.norm() - 1) < Real(1e-3), "body_rotation", "must hold unit quaternions");
  const std::vector<Real>& inflation = state.inflation;
  require(inflation.empty() || inflation.size() == model.enclosures.size(), "inflation",
          "must hold one item for each balloon, or none");
  for (const Real i : inflation) require(i >= 0, "inflation", "must not be negative");
  require(state.touching.size() == state.touch_normal.size(), "body_touching",
          "and body_touch_normal must have one length");
  // Guests, which are numbered after the bodies, may be others now; what is not found is forgotten.
  for (std::size_t k = 0; k < state.touching.size(); ++k) {
    const Index2& pair = state.touching[k];
    require(pair[0] >= 0 && pair[0] < pair[1] && std::size_t(pair[0]) < bodies &&
                (k == 0 || is_before(state.touching[k - 1], pair)),
            "body_touching", "must be pairs of a body and what comes after it, in order");
  }
}

std::optional<Problem> Pbd::moves_nothing(const Model& model, std::string_view path) {
  std::vector<Index> groups;
  for (const Index group : model.pin_group)
    if (group >= 0) groups.push_back(group);
  for (const Pbd::Body& body : model.bodies)
    if (body.is_led) groups.push_back(body.group);
  return pins_move_nothing(path, groups);
}

std::size_t Pbd::memory(const Spec& spec) {
  std::size_t bytes = 0;
  for (const PbdPart& part : spec.parts) {
    const std::size_t n = particles_of(part);
    // Constraints for each particle of a cloth, a rope and a lattice, with their packs of lanes.
    const bool solid = part.type == Type::soft_body || part.type == Type::bar;
    const bool wall = part.type == Type::mesh_cloth;
    const std::size_t edges = part.type == Type::cloth ? 4 : part.type == Type::rope ? 1 : wall ? 3 : 7;
    const std::size_t others = solid ? 6 : part.bending_stiffness > 0 ? 3 : 0;
    bytes += n * (40 * sizeof(Real) + 2 * sizeof(Index3));
    if (solid && part.material == PbdPart::Material::strain) bytes += n * 6 * 60 * sizeof(Real);
    // Two triangles for each particle, one pack's lane of which holds about thirty numbers.
    if (!solid && part.type != Type::rope) {
      const bool strains = part.stretching == PbdPart::Stretching::strain;
      bytes += n * 2 * sizeof(Real) * ((strains ? 40 : 0) + (part.area_stiffness > 0 ? 20 : 0));
    }
    // A particle is in about six clusters, of quadratic shapes of ten numbers each; fewer if they are small.
    if (solid && part.material == PbdPart::Material::shape_matching) bytes += n * (6 * 80 + 64);
    bytes += n * edges * (2 * sizeof(Index2) + 6 * sizeof(Real));
    bytes += n * others * (2 * sizeof(Index4) + 16 * sizeof(Real));
    if (part.type == Type::soft_body) bytes += memory_per_triangle * part.mesh.triangles.size();
  }
  return bytes;
}

void Pbd::build(const Spec& spec, Model& model, State& state) {
  model = {};
  state = {};
  const auto require = PbdBuilder::require;
  require(!spec.parts.empty() || !spec.bodies.empty(), "parts",
          "is empty, and so is bodies: give at least one part or body");
  std::size_t n = 0;
  for (const PbdPart& part : spec.parts) n += particles_of(part);
  require(n <= std::size_t(1) << 30, "parts", "hold more than 2^30 particles");
  Refusals refusals;
  // Before parts, which may begin beside them.
  refusals.keep([&] { build_bodies(spec, model, state); });
  for (std::size_t p = 0; p < spec.parts.size(); ++p)
    refusals.keep([&] { PbdBuilder(spec, p, model, state).run(); });
  refusals.refuse();
  join_bodies(spec, model, state);
  update(model);
  find_doubts(model, state);
}

void Pbd::update(Model& model) {
  const std::size_t n = model.mass.size();
  const auto require = PbdBuilder::require;
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
  for (const Vec2& lame : model.lame)
    require(lame[0] > 0 && lame[1] >= 0, "lame", "must be a positive mu and a lambda of at least 0");
  check("strain_triangles", model.strain_triangles, model.strain_inverse.size(),
        model.strain_compliance.size());
  check("area_triangles", model.area_triangles, model.rest_area.size(), model.area_compliance.size());
  check("strain_tetrahedra", model.strain_tetrahedra, model.strain_tet_inverse.size(),
        model.strain_tet_compliance.size());
  check("tethers", model.tethers, model.tether_length.size());
  check("triangles", model.triangles);
  require(model.cluster_matching.size() == model.cluster_members.size(), "cluster_members",
          "and cluster_matching must have one length");
  require(model.cluster_matching.empty() || model.rest_position.size() == n, "rest_position",
          "must be that of every particle");
  for (std::size_t c = 0; c < model.cluster_matching.size(); ++c) {
    require(!model.cluster_members[c].empty(), "cluster_members", "must not be empty");
    for (const Index i : model.cluster_members[c])
      require(i >= 0 && std::size_t(i) < n, "cluster_members", "must be particles");
    const Matching& m = model.cluster_matching[c];
    require(m.flexibility >= 0 && m.flexibility <= 1 && m.rate >= 0, "cluster_matching",
            "must have a flexibility from 0 to 1 and a rate of at least 0");
  }
  for (const Part& part : model.parts) {
    require(part.first_particle >= 0 && part.num_particles >= 0 &&
                std::size_t(part.first_particle) + std::size_t(part.num_particles) <= n,
            "parts", "must be of particles");
    require(part.damping_time >= 0 && part.bending_damping_time >= 0, "parts",
            "must have damping times of at least 0");
  }
  for (const Model::Enclosure& e : model.enclosures) {
    require(e.part >= 0 && std::size_t(e.part) < model.parts.size(), "enclosures", "must be of parts");
    const Part& part = model.parts[std::size_t(e.part)];
    require(part.num_particles > 0 && part.num_triangles > 0, "enclosures",
            "must be of parts with triangles");
    for (Index t = part.first_triangle; t < part.first_triangle + part.num_triangles; ++t)
      for (const Index i : model.triangles[std::size_t(t)])
        require(i >= part.first_particle && i < part.first_particle + part.num_particles, "enclosures",
                "must be of parts with triangles of their own particles");
    require(e.rest_volume > 0 && e.ratio > 0 && e.compliance >= 0 && e.amount >= 0 && e.outside >= 0 &&
                e.filling >= 0,
            "enclosures", "must have a positive volume, and no negative compliance, pressure or mass");
  }
  require(model.pin_group.size() == model.pinned.size() && model.pin_position.size() == model.pinned.size(),
          "pinned", "and its arrays must have one length");
  for (const Pbd::Body& body : model.bodies)
    require(body.mass > 0 && body.inertia.minCoeff() > 0, "bodies", "must have positive masses and moments");
  const auto is_anchor = [&](const Pbd::Anchor& a) {
    return a.body < Index(model.bodies.size() + model.carriers.size()) && a.particle < Index(n) &&
           (a.body < 0 || a.particle < 0);
  };
  for (const Pbd::Hold& hold : model.holds)
    require(is_anchor(hold.a) && is_anchor(hold.b) && hold.length >= 0 && hold.compliance >= 0, "holds",
            "must hold particles and bodies by no negative length or compliance");
  require(model.rides.size() == model.carriers.size(), "carriers", "and rides must have one length");
  for (const Pbd::Alignment& a : model.alignments)
    require(a.a >= 0 && std::max(a.a, a.b) < Index(model.bodies.size()), "alignments", "must be of bodies");
  std::sort(model.apart.begin(), model.apart.end(), is_before);
  std::sort(model.bodies_apart.begin(), model.bodies_apart.end(), is_before);
  model.air_mass = least_corner_masses(model.mass, model.triangles);
  find_surface(model);
  ++model.revision;
}

Real Pbd::contact_distance(const Model& model, const Params& params) {
  return std::min(2 * params.thickness, model.shortest_edge / 2);
}

Real Pbd::solid_distance(const Model& model, const Params& params) {
  return model.largest_part > 0 ? std::min(params.thickness, model.largest_part / 4) : params.thickness;
}

}  // namespace plenum::inline PLENUM_ABI
