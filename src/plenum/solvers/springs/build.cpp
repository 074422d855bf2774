// Making nets: descriptions of what a scene says, and the generators.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/base/error.h"
#include "plenum/geometry/lattice.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/topology.h"
#include "plenum/math/pose.h"
#include "plenum/solvers/springs/springs.h"

namespace plenum::inline PLENUM_ABI {
namespace {
constexpr double far = 1e6;  // [m] positions of things in a scene
}

void SpringsPin::describe(Describer& d) {
  d("where", where, {.doc = "which particles of the part are held"});
  if (d.when("where", "indices", where == Where::indices))
    d("indices", indices, {.min = 0, .doc = "of the part's own particles"});
  if (d.when("where", "box", where == Where::box)) {
    d("box_min", box_min,
      {.unit = "m",
       .min = -far,
       .max = far,
       .doc = "corner of a box in the world that holds what is inside"});
    d("box_max", box_max, {.unit = "m", .min = -far, .max = far, .doc = "opposite corner"});
  }
  d("group", group, {.min = 0, .max = 255, .doc = "of params.pins, which move it"});
}

void SpringsWire::describe(Describer& d) {
  d("shape", shape, {.doc = "of the curve"});
  d("beads", beads, {.min = 0, .doc = "particles of the part that slide on it", .required = true});
  d("origin", origin,
    {.unit = "m", .min = -far, .max = far, .doc = "in the world: a point of the line, or the centre"});
  d("axis", axis, {.min = -far, .max = far, .doc = "of a line or a helix; normal of a circle's plane"});
  d("radius", radius, {.unit = "m", .min = 1e-4, .max = 1e4, .doc = "of the circle or the helix"});
  if (d.when("shape", "helix", shape == WireShape::helix)) {
    d("radial", radial,
      {.min = -far, .max = far, .doc = "from the axis to the curve, at the height of the origin"});
    d("pitch", pitch,
      {.unit = "m", .min = -1e4, .max = 1e4, .doc = "rise in one turn, right-handed if positive"});
  }
}

void SpringsPart::describe(Describer& d) {
  d("type", type, {.doc = "what is generated"});
  if (d.when("type", "cloth", type == Type::cloth)) {
    d("size_x", size_x, {.unit = "m", .min = 1e-3, .max = 1e4, .doc = "of the rectangle, before placement"});
    d("size_z", size_z, {.unit = "m", .min = 1e-3, .max = 1e4, .doc = "of the rectangle, before placement"});
    d("cells_x", cells_x, {.min = 1, .max = 4000, .doc = "cells along x"});
    d("cells_z", cells_z, {.min = 1, .max = 4000, .doc = "cells along z"});
    d("areal_density", areal_density, {.unit = "kg/m^2", .min = 1e-6, .max = 1e4, .doc = "of the cloth"});
    d("shear_stiffness", shear_stiffness,
      {.unit = "N/m", .min = 0, .max = 1e9, .doc = "of springs across the cells", .logarithmic = true});
  }
  if (d.when("type", "rope", type == Type::rope)) {
    d("from", from, {.unit = "m", .min = -far, .max = far, .doc = "one end, before placement"});
    d("to", to, {.unit = "m", .min = -far, .max = far, .doc = "other end, before placement"});
    d("segments", segments, {.min = 1, .max = 1000000, .doc = "springs along the rope"});
    d("inextensible", inextensible, {.doc = "neighbours stay at their rest distance, as if joined by rods"});
    d("slack", slack, {.min = -0.9, .max = 10, .doc = "rest length over distance, less one"});
    d("linear_density", linear_density, {.unit = "kg/m", .min = 1e-6, .max = 1e4, .doc = "of the rope"});
  }
  if (d.when("type", "soft_body", type == Type::soft_body)) {
    d("mesh", mesh,
      {.doc = "surface that is filled, and drawn: closed, facing outward, without duplicate or degenerate "
              "triangles",
       .required = true});
    d("spacing", spacing, {.unit = "m", .min = 1e-4, .max = 1e4, .doc = "of the lattice that fills it"});
    d("density", density, {.unit = "kg/m^3", .min = 1e-3, .max = 1e5, .doc = "of the body"});
  }
  if (d.when("type", "points", type == Type::points)) {
    d("points", points,
      {.unit = "m", .min = -far, .max = far, .doc = "positions, before placement", .required = true});
    d("springs", springs, {.min = 0, .doc = "pairs of points joined by springs"});
    d("rods", rods, {.min = 0, .doc = "pairs of points that stay as far apart as they are placed"});
    d("masses", masses, {.unit = "kg", .min = 1e-9, .max = 1e9, .doc = "of the points; none: mass each"});
    d("mass", mass, {.unit = "kg", .min = 1e-9, .max = 1e9, .doc = "of each point without one in masses"});
    d("rest_lengths", rest_lengths,
      {.unit = "m", .min = 0, .max = 1e6, .doc = "of the springs; none: as placed"});
  }
  d("stiffness_of", stiffness_of,
    {.doc = "whether stiffness is per length [N/m] or per relative elongation [N]"});
  d("structural_stiffness", structural_stiffness,
    {.unit = "N/m", .min = 0, .max = 1e9, .doc = "of springs between neighbours", .logarithmic = true});
  d("bending_stiffness", bending_stiffness,
    {.unit = "N/m", .min = 0, .max = 1e9, .doc = "of springs between next neighbours", .logarithmic = true});
  d("damping_time", damping_time,
    {.unit = "s", .min = 0, .max = 10, .doc = "damping along a spring over its stiffness"});
  d("ball_radius", ball_radius,
    {.unit = "m",
     .min = 0,
     .max = 100,
     .doc = "of balls drawn at the particles, a third of it at pinned ones; 0: none"});
  d("line_radius", line_radius,
    {.unit = "m", .min = 0, .max = 100, .doc = "of threads drawn for springs and rods"});
  d("label", label, {.doc = "words drawn above the part's first particle; empty: none"});
  d("palette", palette,
    {.min = -1, .max = 1000, .doc = "which of the palette's colours; -1: one that no other part has"});
  d("position", position, {.unit = "m", .min = -far, .max = far, .doc = "of the part's origin"});
  d("rotation", rotation,
    {.unit = "deg", .min = -3600, .max = 3600, .doc = "intrinsic angles about x, then y, then z"});
  d("velocity", velocity, {.unit = "m/s", .min = -1e5, .max = 1e5, .doc = "at the start"});
  d("pins", pins, {.doc = "particles that are held"});
  d("wires", wires, {.doc = "curves that particles slide on"});
}

void SpringsSpec::describe(Describer& d) {
  d("parts", parts, {.doc = "of the net", .required = true, .max_count = 4096});
}

namespace {

using Model = Springs::Model;
using State = Springs::State;

/// Refuses input unless `holds`; the value is made text only then.
void require(bool holds, const std::string& key, const char* what) {
  if (!holds) throw Error(Problem{.key = key, .what = what});
}
template <class V>
void require(bool holds, const std::string& key, const char* what, const V& value) {
  if (holds) return;
  if constexpr (std::is_same_v<V, Index2>)
    throw Error(Problem{.key = key, .what = what, .value = fmt::format("[{}, {}]", value[0], value[1])});
  else
    throw Error(Problem{.key = key, .what = what, .value = fmt::format("{}", value)});
}

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
    pins();
    wires();
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
    TetMesh lattice;
    try {
      lattice = lattice_tetrahedra(part_.mesh, part_.spacing, {.inside = Inside::pseudonormals});
    } catch (const Error& error) {
      Problem problem = error.problem();
      problem.key = problem.key.empty() ? key_ + ".mesh" : key_ + "." + problem.key;
      throw Error(problem);
    }
    // The jagged lattice does not have quite the volume of the body; its mass is the body's.
    const double volume = enclosed_volume(part_.mesh.x, part_.mesh.triangles);
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
    made_.num_visual = Index(part_.mesh.x.size());
    made_.first_visual_triangle = Index(m_.visual_triangles.size());
    made_.num_visual_triangles = Index(part_.mesh.triangles.size());
    const TetEmbedding embedding = embed_in_tetrahedra(part_.mesh.x, lattice.x, lattice.tetrahedra);
    for (const Index4& v : embedding.vertices) m_.embedding.vertices.push_back((v.array() + base_).matrix());
    m_.embedding.weights.insert(m_.embedding.weights.end(), embedding.weights.begin(),
                                embedding.weights.end());
    m_.visual_triangles.insert(m_.visual_triangles.end(), part_.mesh.triangles.begin(),
                               part_.mesh.triangles.end());
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
      if (e[0] == e[1] || e.minCoeff() < 0 || std::size_t(e.maxCoeff()) >= n)
        throw Error(Problem{.key = fmt::format("{}.{}[{}]", key_, list, k),
                            .what = "must join two different points",
                            .value = fmt::format("[{}, {}]", e[0], e[1]),
                            .allowed = fmt::format("0 to {}", n - 1)});
    };
    for (std::size_t s = 0; s < part_.springs.size(); ++s) {
      const Index2 e = part_.springs[s];
      check("springs", s, e);
      spring(e[0], e[1], part_.structural_stiffness, Springs::user,
             part_.rest_lengths.empty() ? Real(-1) : part_.rest_lengths[s]);
    }
    for (std::size_t r = 0; r < part_.rods.size(); ++r) {
      const Index2 e = part_.rods[r];
      check("rods", r, e);
      const Real length = (part_.points[std::size_t(e[1])] - part_.points[std::size_t(e[0])]).norm();
      require(length > 0, fmt::format("{}.rods[{}]", key_, r), "joins two points at one place");
      rod(e[0], e[1], length);
    }
  }

  void wires() {
    for (std::size_t k = 0; k < part_.wires.size(); ++k) {
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
      for (const Index i : checked(wire.beads, key + ".beads")) {
        m_.constraints.beads.push_back(base_ + i);
        m_.constraints.bead_wire.push_back(Index(m_.constraints.wires.size()));
      }
      m_.constraints.wires.push_back({wire.shape, wire.origin, axis, radial, wire.radius, wire.pitch});
    }
  }

  /// Indices of the part's own particles, or an error that names the first that is not one.
  const std::vector<Index>& checked(const std::vector<Index>& indices, const std::string& key) const {
    for (std::size_t k = 0; k < indices.size(); ++k)
      if (indices[k] < 0 || indices[k] >= made_.num_particles)
        throw Error(Problem{.key = fmt::format("{}[{}]", key, k),
                            .what = "is not a particle of the part",
                            .value = std::to_string(indices[k]),
                            .allowed = fmt::format("0 to {}", made_.num_particles - 1)});
    return indices;
  }

  void pins() {
    for (std::size_t p = 0; p < part_.pins.size(); ++p) {
      const SpringsPin& pin = part_.pins[p];
      const std::string key = fmt::format("{}.pins[{}]", key_, p);
      for (const Index i : selected(pin, key)) {
        const Index particle = base_ + i;
        if (s_.particles.inverse_mass[std::size_t(particle)] == 0) continue;  // by an earlier pin
        m_.pinned.push_back(particle);
        m_.pin_group.push_back(Index(pin.group));
        m_.pin_position.push_back(s_.particles.x[std::size_t(particle)]);
        s_.particles.inverse_mass[std::size_t(particle)] = 0;
      }
    }
  }

  std::vector<Index> selected(const SpringsPin& pin, const std::string& key) const {
    using Where = SpringsPin::Where;
    const Index n = made_.num_particles;
    if (pin.where == Where::indices) return checked(pin.indices, key + ".indices");
    const bool is_cloth = part_.type == SpringsPart::Type::cloth;
    require(is_cloth || pin.where == Where::box || pin.where == Where::all || pin.where == Where::first ||
                pin.where == Where::last,
            key + ".where", "names an edge or a corner, which only cloth has",
            names_of(pin.where)[std::size_t(pin.where)]);
    const Index nx = part_.cells_x, nz = part_.cells_z;
    std::vector<Index> found;
    for (Index k = 0; k < n; ++k) {
      const Index i = k % (nx + 1), j = k / (nx + 1);
      const Vec3& x = s_.particles.x[std::size_t(base_ + k)];
      const bool left = i == 0, right = i == nx, back = j == 0, front = j == nz;
      const auto holds = [&] {
        switch (pin.where) {
          case Where::indices:
            return false;
          case Where::box:
            return (x.array() >= pin.box_min.array()).all() && (x.array() <= pin.box_max.array()).all();
          case Where::all:
            return true;
          case Where::corners:
            return (left || right) && (back || front);
          case Where::back_left:
            return back && left;
          case Where::back_right:
            return back && right;
          case Where::front_left:
            return front && left;
          case Where::front_right:
            return front && right;
          case Where::left:
            return left;
          case Where::right:
            return right;
          case Where::back:
            return back;
          case Where::front:
            return front;
          case Where::first:
            return k == 0;
          case Where::last:
            return k == n - 1;
        }
        return false;
      };
      if (holds()) found.push_back(k);
    }
    require(!found.empty(), key + ".where", "holds no particle of the part",
            names_of(pin.where)[std::size_t(pin.where)]);
    return found;
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
  // a sixth of two copies of the state, three vectors and a mass, which the world keeps; a
  // triangular factor beside its matrix; a hierarchy whose coarser matrices are denser than they are small;
  // and the factor of a scalar matrix in double precision with its fill-in, which grows with the number of
  // particles hardly for cloth under nested dissection (George 1973), by n^(1/3) in bodies.
  constexpr std::size_t row = 8 * sizeof(Real) + 18 + (2 * 10 * sizeof(Real)) / 6;
  const bool prefactored = params.integrator == Integrator::local_global;
  const bool solves = !prefactored && is_implicit(params.integrator);
  std::size_t bytes = 0;
  for (const SpringsPart& part : spec.parts) {
    const std::size_t edges = edges_of(part);
    bytes += edges * row;
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
  for (std::size_t p = 0; p < spec.parts.size(); ++p)
    Builder(spec.parts[p], fmt::format("parts[{}]", p), model, state).run();
  state.velocity_change.assign(model.mass.size(), Vec3::Zero());
  state.pressed.assign(model.mass.size(), 0);
  update(model);
}

namespace {

/// That the arrays of a net name only what is there.
void check_net(const Springs::Model& model) {
  const std::size_t n = model.mass.size(), edges = model.edges.size();
  require(model.stiffness.size() == edges && model.rest_length.size() == edges &&
              model.damping.size() == edges && model.kind.size() == edges,
          "edges", "and their arrays must have one length");
  require(model.pin_group.size() == model.pinned.size() && model.pin_position.size() == model.pinned.size(),
          "pinned", "and its arrays must have one length");
  for (const Real mass : model.mass) require(mass > 0, "mass", "must be positive", mass);
  for (const Index i : model.pinned) require(i >= 0 && std::size_t(i) < n, "pinned", "must be particles", i);
  for (const Index3& t : model.triangles)
    require(t.minCoeff() >= 0 && std::size_t(t.maxCoeff()) < n, "triangles", "must join particles");
  for (std::size_t e = 0; e < edges; ++e) {
    const Index2 ends = model.edges[e];
    require(ends[0] != ends[1] && ends.minCoeff() >= 0 && std::size_t(ends.maxCoeff()) < n, "edges",
            "must join two different particles", ends);
    require(model.stiffness[e] >= 0, "stiffness", "must not be negative", model.stiffness[e]);
    require(model.damping[e] >= 0, "damping", "must not be negative", model.damping[e]);
    require(model.rest_length[e] >= 0, "rest_length", "must not be negative", model.rest_length[e]);
  }
  const ConstraintSet<Real>& set = model.constraints;
  require(set.rod_length.size() == set.rods.size() && set.bead_wire.size() == set.beads.size(), "constraints",
          "and their arrays must have one length");
  for (std::size_t r = 0; r < set.rods.size(); ++r) {
    const Index2 ends = set.rods[r];
    require(ends[0] != ends[1] && ends.minCoeff() >= 0 && std::size_t(ends.maxCoeff()) < n, "rods",
            "must join two different particles", ends);
    require(set.rod_length[r] > 0, "rod_length", "must be positive", set.rod_length[r]);
  }
  for (std::size_t b = 0; b < set.beads.size(); ++b) {
    require(set.beads[b] >= 0 && std::size_t(set.beads[b]) < n, "beads", "must be particles", set.beads[b]);
    require(set.bead_wire[b] >= 0 && std::size_t(set.bead_wire[b]) < set.wires.size(), "bead_wire",
            "must be wires", set.bead_wire[b]);
  }
}

bool within(Index first, Index count, std::size_t size) {
  return first >= 0 && count >= 0 && std::size_t(first) + std::size_t(count) <= size;
}

}  // namespace

void Springs::check(const Model& model, const State& state) {
  const std::size_t n = model.mass.size();
  require(state.particles.x.size() == n && state.particles.v.size() == n &&
              state.particles.inverse_mass.size() == n && state.velocity_change.size() == n &&
              state.pressed.size() == n,
          "position", "and the other arrays of particles must have one length", state.particles.x.size());
  check_net(model);
  for (const Real w : state.particles.inverse_mass)
    require(w >= 0, "inverse_mass", "must not be negative", w);
  for (const std::uint8_t kind : model.kind) require(kind <= user, "kind", "is not one of springs", kind);
  require(model.part_edges.size() == model.parts.size(), "part_edges", "must be one for each part",
          model.part_edges.size());
  for (const Index3& p : model.part_edges)
    require(within(p[0], p[1], model.edges.size()) && p[2] >= 0 && p[2] <= p[1], "part_edges",
            "name edges that are not there");
  for (const Part& part : model.parts) {
    require(within(part.first_particle, part.num_particles, n), "position",
            "has fewer items than the net was built with", n);
    require(within(part.first_triangle, part.num_triangles, model.triangles.size()), "triangles",
            "has fewer items than the net was built with", model.triangles.size());
  }
  for (const Index4& v : model.embedding.vertices)
    require(v.minCoeff() >= 0 && std::size_t(v.maxCoeff()) < n, "position",
            "has fewer items than the visual mesh rides on", n);
  require(model.revision >= 0 && model.revision < std::numeric_limits<Index>::max(), "revision",
          "is not the number of a revision", model.revision);
}

void Springs::update(Model& model) {
  check_net(model);
  const std::size_t n = model.mass.size(), edges = model.edges.size();
  std::vector<double> stiffness(n, 0), damping(n, 0);
  for (std::size_t e = 0; e < edges; ++e) {
    const Index2 ends = model.edges[e];
    for (const Index i : ends) {
      stiffness[std::size_t(i)] += double(model.stiffness[e]);
      damping[std::size_t(i)] += double(model.damping[e]);
    }
  }
  // Irons & Treharne 1972, "A bound theorem in eigenvalues and its practical applications": no eigenvalue of
  // the whole exceeds the largest of its elements taken alone. Give spring e = (i, j) the part k_e / S_i of
  // the mass at i, with S_i the sum of stiffnesses there; alone it then has omega^2 = k_e (1/m_ie + 1/m_je)
  // = S_i/m_i + S_j/m_j. A tangent block never exceeds k, so this holds for every shape of the net.
  double frequency = 0, rate = 0;
  const auto per_mass = [&](const std::vector<double>& sum, Index i) {
    return sum[std::size_t(i)] / double(model.mass[std::size_t(i)]);
  };
  for (const Index2& e : model.edges) {
    frequency = std::max(frequency, per_mass(stiffness, e[0]) + per_mass(stiffness, e[1]));
    rate = std::max(rate, per_mass(damping, e[0]) + per_mass(damping, e[1]));
  }
  model.stiffness_bound = static_cast<Real>(frequency);
  model.damping_bound = static_cast<Real>(rate);
  double time = std::numeric_limits<double>::infinity();
  for (std::size_t e = 0; e < edges; ++e)
    if (model.stiffness[e] > 0) time = std::min(time, double(model.damping[e]) / double(model.stiffness[e]));
  model.damping_time = std::isfinite(time) ? static_cast<Real>(time) : 0;
  double length = 0;
  std::size_t counted = 0;
  for (std::size_t e = 0; e < edges; ++e)
    if (model.kind[e] != bend && model.rest_length[e] > 0) length += double(model.rest_length[e]), ++counted;
  model.reach = counted > 0 ? static_cast<Real>(length / double(counted)) : 0;

  const ConstraintSet<Real>& set = model.constraints;
  std::fill(stiffness.begin(), stiffness.end(), 0);  // of penalties, for one of unit stiffness each
  for (const Index2& rod : set.rods)
    for (const Index i : rod) stiffness[std::size_t(i)] += 1;
  double penalty = 0;
  for (const Index2& rod : set.rods)
    penalty = std::max(penalty, per_mass(stiffness, rod[0]) + per_mass(stiffness, rod[1]));
  double bead_penalty = 0;
  for (std::size_t b = 0; b < set.beads.size(); ++b) {
    const Index i = set.beads[b];
    // The squared gradients of both constraints; the second of a helix is the longer, 1 + (2 pi R / pitch)^2.
    const Wire<Real>& wire = set.wires[std::size_t(set.bead_wire[b])];
    const double turn =
        wire.shape == WireShape::helix ? 2 * std::numbers::pi * double(wire.radius / wire.pitch) : 0;
    bead_penalty = std::max(bead_penalty, (2 + turn * turn) / double(model.mass[std::size_t(i)]));
  }
  model.constraint_bound = static_cast<Real>(penalty + bead_penalty);
  ++model.revision;
}

}  // namespace plenum::inline PLENUM_ABI
