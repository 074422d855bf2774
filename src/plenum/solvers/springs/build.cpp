// Making nets: the generators.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "plenum/base/error.h"
#include "plenum/geometry/lattice.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/topology.h"
#include "plenum/math/pose.h"
#include "plenum/solvers/springs/detail/require.h"
#include "plenum/solvers/springs/springs.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Model = Springs::Model;
using State = Springs::State;

std::size_t particles_of(const SpringsPart& part) {
  switch (part.type) {
    case SpringsPart::Type::cloth:
      return std::size_t(part.cells_x + 1) * std::size_t(part.cells_z + 1);
    case SpringsPart::Type::rope:
      return std::size_t(part.segments) + 1;
    case SpringsPart::Type::soft_body: {
      // Two particles in each cube of the lattice that the bounding box holds.
      if (part.mesh.x.empty()) return 0;
      Vec3 low = part.mesh.x[0], high = low;
      for (const Vec3& x : part.mesh.x) low = low.cwiseMin(x), high = high.cwiseMax(x);
      double count = 2;
      for (int c = 0; c < 3; ++c) count *= std::ceil(double(high[c] - low[c]) / double(part.spacing)) + 1;
      return static_cast<std::size_t>(std::min(count, 1e15));
    }
    case SpringsPart::Type::points:
      return part.points.size();
  }
  return 0;
}
std::size_t edges_of(const SpringsPart& part) {
  switch (part.type) {
    case SpringsPart::Type::cloth:
      return 6 * particles_of(part);
    case SpringsPart::Type::rope:
      return 2 * particles_of(part);
    case SpringsPart::Type::soft_body:
      return 7 * particles_of(part);  // a particle inside a body-centred lattice has 14 neighbours
    case SpringsPart::Type::points:
      return part.springs.size();
  }
  return 0;
}

/// Appends one part's arrays, with its own numbering shifted to the model's.
class Builder {
 public:
  Builder(const SpringsPart& part, std::string key, Model& model, State& state)
      : part_(part), key_(std::move(key)), m_(model), s_(state), base_(Index(model.mass.size())) {
    made_.type = part.type;
    made_.first_particle = base_;
    first_edge_ = Index(m_.edges.size());
    made_.first_triangle = Index(m_.triangles.size());
    made_.first_rod = Index(m_.constraints.rods.size());
    made_.first_wire = Index(m_.constraints.wires.size());
    made_.ball_radius = part_.ball_radius;
    made_.label = part_.label;
    made_.line_radius = part_.line_radius;
    made_.show = part_.show;
    made_.colour = part_.colour;
    made_.colour_low = part_.colour_low, made_.colour_high = part_.colour_high;
    made_.trail = part_.trail;
    made_.palette = part_.palette;
  }

  void run() {
    switch (part_.type) {
      case SpringsPart::Type::cloth:
        cloth();
        break;
      case SpringsPart::Type::rope:
        rope();
        break;
      case SpringsPart::Type::soft_body:
        soft_body();
        break;
      case SpringsPart::Type::points:
        points();
        break;
    }
    made_.num_particles = Index(m_.mass.size()) - base_;
    made_.num_triangles = Index(m_.triangles.size()) - made_.first_triangle;
    const auto kinds = m_.kind.begin() + first_edge_;
    const auto first_bend = std::find(kinds, m_.kind.end(), std::uint8_t(Springs::bend));  // they come last
    m_.part_edges.push_back(
        Index3(first_edge_, Index(m_.edges.size()) - first_edge_, Index(first_bend - kinds)));
    Refusals refusals;
    refusals.keep([&] {
      if (part_.colour_low > part_.colour_high)
        throw Error(Problem{.key = key_ + ".colour_high",
                            .what = "must not be below colour_low",
                            .value = fmt::format("{:g}", double(part_.colour_high)),
                            .allowed = fmt::format("at least {:g}", double(part_.colour_low))});
    });
    for (std::size_t p = 0; p < part_.pins.size(); ++p) refusals.keep([&] { pin(p); });
    for (std::size_t k = 0; k < part_.wires.size(); ++k) refusals.keep([&] { wire(k); });
    refusals.refuse();
    made_.num_rods = Index(m_.constraints.rods.size()) - made_.first_rod;
    made_.num_wires = Index(m_.constraints.wires.size()) - made_.first_wire;
    m_.parts.push_back(made_);
  }

 private:
  void particle(const Vec3& x, Real mass) {
    const Vec3 placed = turn_ * x + part_.position;
    m_.mass.push_back(mass);
    s_.particles.x.push_back(placed);
    s_.particles.v.push_back(part_.velocity);
    s_.particles.inverse_mass.push_back(1 / mass);
  }

  /// rest_length < 0: as placed.
  void spring(Index a, Index b, Real stiffness, Springs::Kind kind, Real rest_length = -1) {
    if (stiffness == 0) return;
    const auto& x = s_.particles.x;
    if (rest_length < 0) rest_length = (x[std::size_t(base_ + b)] - x[std::size_t(base_ + a)]).norm();
    if (part_.stiffness_of == SpringsPart::StiffnessOf::elongation) {
      require(rest_length > 0, key_ + ".stiffness_of",
              "elongation has no meaning for a spring of rest length zero");
      stiffness /= rest_length;
    }
    m_.edges.push_back(Index2(base_ + a, base_ + b));
    m_.stiffness.push_back(stiffness);
    m_.rest_length.push_back(rest_length);
    m_.damping.push_back(part_.damping_time * stiffness);
    m_.kind.push_back(kind);
  }

  void rod(Index a, Index b, Real length) {
    m_.constraints.rods.push_back(Index2(base_ + a, base_ + b));
    m_.constraints.rod_length.push_back(length);
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
        if (i < nx) spring(at(i, j), at(i + 1, j), part_.structural_stiffness, Springs::structural);
        if (j < nz) spring(at(i, j), at(i, j + 1), part_.structural_stiffness, Springs::structural);
      }
    for (Index j = 0; j < nz; ++j)
      for (Index i = 0; i < nx; ++i) {
        spring(at(i, j), at(i + 1, j + 1), part_.shear_stiffness, Springs::shear);
        spring(at(i + 1, j), at(i, j + 1), part_.shear_stiffness, Springs::shear);
      }
    for (Index j = 0; j <= nz; ++j)
      for (Index i = 0; i <= nx; ++i) {
        if (i + 2 <= nx) spring(at(i, j), at(i + 2, j), part_.bending_stiffness, Springs::bend);
        if (j + 2 <= nz) spring(at(i, j), at(i, j + 2), part_.bending_stiffness, Springs::bend);
      }
    for (const Index3& t : mesh.triangles) m_.triangles.push_back((t.array() + base_).matrix());
  }

  void rope() {
    const Vec3 along = part_.to - part_.from;
    const Index n = part_.segments;
    const Real length = along.norm() * (1 + part_.slack);
    require(length > 0, key_ + ".to", "must differ from `from`");
    const Real rest = length / Real(n), half = part_.linear_density * rest / 2;
    for (Index i = 0; i <= n; ++i)
      particle(part_.from + along * (Real(i) / Real(n)), i == 0 || i == n ? half : 2 * half);
    for (Index i = 0; i < n; ++i)
      part_.inextensible ? rod(i, i + 1, rest)
                         : spring(i, i + 1, part_.structural_stiffness, Springs::structural, rest);
    for (Index i = 0; i + 2 <= n; ++i) spring(i, i + 2, part_.bending_stiffness, Springs::bend, 2 * rest);
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
    for (const Index2& e : unique_edges(lattice.tetrahedra))
      spring(e[0], e[1], part_.structural_stiffness, Springs::structural);

    for (std::size_t k = 0; k < lattice.tetrahedra.size(); ++k) {
      m_.tetrahedra.push_back((lattice.tetrahedra[k].array() + base_).matrix());
      m_.rest_volume.push_back(volumes[k]);
    }

    made_.first_visual = Index(m_.embedding.vertices.size());
    made_.num_visual = Index(mesh.x.size());
    made_.first_visual_triangle = Index(m_.visual_triangles.size());
    made_.num_visual_triangles = Index(mesh.triangles.size());
    const TetEmbedding embedding = embed_in_tetrahedra(mesh.x, lattice.x, lattice.tetrahedra);
    for (const Index4& v : embedding.vertices) m_.embedding.vertices.push_back((v.array() + base_).matrix());
    m_.embedding.weights.insert(m_.embedding.weights.end(), embedding.weights.begin(),
                                embedding.weights.end());
    m_.visual_triangles.insert(m_.visual_triangles.end(), mesh.triangles.begin(), mesh.triangles.end());
  }

  void points() {
    const std::size_t n = part_.points.size();
    require(n > 0, key_ + ".points", "must hold at least one point");
    require(part_.masses.empty() || part_.masses.size() == n, key_ + ".masses",
            "must hold one number for each point", part_.masses.size());
    require(part_.rest_lengths.empty() || part_.rest_lengths.size() == part_.springs.size(),
            key_ + ".rest_lengths", "must hold one number for each spring", part_.rest_lengths.size());
    for (std::size_t i = 0; i < n; ++i)
      particle(part_.points[i], part_.masses.empty() ? part_.mass : part_.masses[i]);
    const auto check = [&](const char* list, std::size_t k, const Index2& e) {
      const bool there = e.minCoeff() >= 0 && std::size_t(e.maxCoeff()) < n;
      if (e[0] == e[1] || !there)
        throw Error(
            Problem{.key = fmt::format("{}.{}[{}]", key_, list, k),
                    .what = there ? "must join two different points" : "joins a point that is not there",
                    .value = fmt::format("[{}, {}]", e[0], e[1]),
                    .allowed = fmt::format("0 to {}", n - 1)});
    };
    Refusals refusals;
    for (std::size_t s = 0; s < part_.springs.size(); ++s)
      refusals.keep([&] {
        const Index2 e = part_.springs[s];
        check("springs", s, e);
        spring(e[0], e[1], part_.structural_stiffness, Springs::user,
               part_.rest_lengths.empty() ? Real(-1) : part_.rest_lengths[s]);
      });
    for (std::size_t r = 0; r < part_.rods.size(); ++r)
      refusals.keep([&] {
        const Index2 e = part_.rods[r];
        check("rods", r, e);
        const Real length = (part_.points[std::size_t(e[1])] - part_.points[std::size_t(e[0])]).norm();
        require(length > 0, fmt::format("{}.rods[{}]", key_, r), "joins two points at one place");
        rod(e[0], e[1], length);
      });
    refusals.refuse();
  }

  void wire(std::size_t k) {
    const SpringsWire& wire = part_.wires[k];
    const std::string key = fmt::format("{}.wires[{}]", key_, k);
    require(wire.axis.norm() > 0, key + ".axis", "must not be zero");
    require(wire.pitch != 0, key + ".pitch", "must not be zero");
    const Vec3 axis = wire.axis.normalized();
    Vec3 radial = wire.radial - wire.radial.dot(axis) * axis;
    if (radial.norm() > Real(1e-3) * wire.radial.norm())
      radial.normalize();
    else if (wire.shape == WireShape::helix)
      throw Error(Problem{.key = key + ".radial", .what = "must not be along the axis"});
    else
      radial = axis.unitOrthogonal();
    for (const Index i : require_particles(wire.beads, key + ".beads", std::size_t(made_.num_particles))) {
      m_.constraints.beads.push_back(base_ + i);
      m_.constraints.bead_wire.push_back(Index(m_.constraints.wires.size()));
    }
    m_.constraints.wires.push_back({wire.shape, wire.origin, axis, radial, wire.radius, wire.pitch});
  }

  void pin(std::size_t p) {
    const SpringsPin& pin = part_.pins[p];
    const std::string key = fmt::format("{}.pins[{}]", key_, p);
    const PinnedGrid grid = part_.type == SpringsPart::Type::cloth
                                ? PinnedGrid{Index(part_.cells_x), Index(part_.cells_z)}
                                : PinnedGrid{};
    for (const Index i : hold_pinned(pin, key, base_, s_.particles.x, s_.particles.inverse_mass, grid)) {
      m_.pinned.push_back(i);
      m_.pin_group.push_back(Index(pin.group));
      m_.pin_position.push_back(s_.particles.x[std::size_t(i)]);
    }
  }

  const SpringsPart& part_;
  const Quat turn_ = rotation_from_degrees(part_.rotation);
  std::string key_;
  Model& m_;
  State& s_;
  Index base_;
  Index first_edge_;
  Springs::Part made_;
};

}  // namespace

void Springs::check(const Spec& spec, const Params& params) {
  std::vector<Index> groups;
  for (const SpringsPart& part : spec.parts)
    for (const SpringsPin& pin : part.pins) groups.push_back(Index(pin.group));
  check_pin_motions(params.pins, groups);
}

std::optional<Problem> Springs::moves_nothing(const Model& model, std::string_view path) {
  return pins_move_nothing(path, model.pin_group);
}

std::size_t Springs::memory(const Spec& spec) {
  std::size_t bytes = 0;
  for (const SpringsPart& part : spec.parts) {
    // Model and state, and the workspace's matrix with both its triangles and its preconditioner.
    bytes += particles_of(part) * (40 * sizeof(Real) + 2 * sizeof(Index3));
    if (part.type == SpringsPart::Type::soft_body) bytes += memory_per_triangle * part.mesh.triangles.size();
    bytes += edges_of(part) * (sizeof(Index2) + 3 * sizeof(Real) + 2 * (8 * sizeof(Real) + 16));
  }
  return bytes;
}

std::size_t Springs::scratch_memory(const Spec& spec, const Params& params) {
  // Bytes for each spring, of which cloth has six a particle. Two blocks of a row with its index, padded, and
  // a sixth of two copies of the state, three vectors and a mass, which the world keeps; a sixth of
  // twelve vectors that implicit methods have ready for a step that bounces; a
  // triangular factor beside its matrix; a hierarchy whose coarser matrices are denser than they are small;
  // and the factor of a scalar matrix in double precision with its fill-in, which grows with the number of
  // particles hardly for cloth under nested dissection (George 1973), by n^(1/3) in bodies.
  constexpr std::size_t row = 8 * sizeof(Real) + 18 + (2 * 10 * sizeof(Real)) / 6;
  constexpr std::size_t bounces = 36 * sizeof(Real) / 6;
  const bool prefactored = params.integrator == Integrator::local_global;
  const bool solves = !prefactored && is_implicit(params.integrator);
  std::size_t bytes = 0;
  for (const SpringsPart& part : spec.parts) {
    const std::size_t edges = edges_of(part);
    bytes += edges * row;
    // A body's tetrahedra, five for six springs: what they resist with, and all that could be flat.
    if (part.type == SpringsPart::Type::soft_body)
      bytes += edges * 5 * (2 * sizeof(Index4) + 2 * sizeof(Index) + 16 * sizeof(Real)) / 6;
    if (is_implicit(params.integrator)) bytes += edges * bounces;
    if (solves && params.preconditioner == Preconditioner::incomplete_cholesky)
      bytes += edges * (130 * sizeof(Real) / sizeof(float));
    if (solves && params.preconditioner == Preconditioner::multigrid)
      bytes += edges * (230 * sizeof(Real) / sizeof(float));
    if (prefactored) {
      bytes += edges * (22 * 3 * sizeof(Real)) / 6;  // vectors of L-BFGS
      const double deep = part.type == SpringsPart::Type::soft_body ? std::cbrt(double(edges) / 7e3) : 1.0;
      bytes += static_cast<std::size_t>(530 * double(edges) * std::max(1.0, deep));
    }
  }
  return bytes;
}

void Springs::build(const Spec& spec, Model& model, State& state) {
  model = {};
  state = {};
  require(!spec.parts.empty(), "parts", "must hold at least one part");
  std::size_t n = 0;
  for (const SpringsPart& part : spec.parts) n += particles_of(part);
  require(n <= std::size_t(1) << 30, "parts", "hold more than 2^30 particles", n);
  Refusals refusals;
  for (std::size_t p = 0; p < spec.parts.size(); ++p)
    refusals.keep([&] { Builder(spec.parts[p], fmt::format("parts[{}]", p), model, state).run(); });
  refusals.refuse();
  state.velocity_change.assign(model.mass.size(), Vec3::Zero());
  state.pressed.assign(model.mass.size(), 0);
  update(model);
}

}  // namespace plenum::inline PLENUM_ABI
