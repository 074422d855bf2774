// Making nets: descriptions of what a scene says, and the generators.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plenum/base/error.h"
#include "plenum/geometry/shapes.h"
#include "plenum/math/pose.h"
#include "plenum/solvers/springs/springs.h"

namespace plenum::inline PLENUM_ABI {

void SpringsPin::describe(Describer& d) {
  d("where", where, {.doc = "which particles of the part are held"});
  if (d.when("where", "indices", where == Where::indices))
    d("indices", indices, {.min = 0, .doc = "of the part's own particles"});
  if (d.when("where", "box", where == Where::box)) {
    d("box_min", box_min, {.unit = "m", .doc = "corner of a box in the world that holds what is inside"});
    d("box_max", box_max, {.unit = "m", .doc = "opposite corner"});
  }
  d("group", group, {.min = 0, .max = 255, .doc = "of params.pins, which move it"});
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
    d("from", from, {.unit = "m", .doc = "one end, before placement"});
    d("to", to, {.unit = "m", .doc = "other end, before placement"});
    d("segments", segments, {.min = 1, .max = 1000000, .doc = "springs along the rope"});
    d("slack", slack, {.min = -0.9, .max = 10, .doc = "rest length over distance, less one"});
    d("linear_density", linear_density, {.unit = "kg/m", .min = 1e-6, .max = 1e4, .doc = "of the rope"});
  }
  if (d.when("type", "points", type == Type::points)) {
    d("points", points, {.unit = "m", .doc = "positions, before placement", .required = true});
    d("springs", springs, {.min = 0, .doc = "pairs of points joined by springs"});
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
  d("position", position, {.unit = "m", .doc = "of the part's origin"});
  d("rotation", rotation, {.unit = "rad", .doc = "about the axis along it, by its length"});
  d("velocity", velocity, {.unit = "m/s", .doc = "at the start"});
  d("pins", pins, {.doc = "particles that are held"});
}

void SpringsSpec::describe(Describer& d) {
  d("parts", parts, {.doc = "of the net", .required = true, .max_count = 4096});
}

namespace {

using Model = Springs::Model;
using State = Springs::State;

Quat rotation_of(const Vec3& v) {
  const Real angle = v.norm();
  if (angle == 0) return Quat::Identity();
  return Quat(Eigen::AngleAxis<Real>(angle, v / angle));
}

void require(bool holds, const std::string& key, const char* what, const std::string& value = {}) {
  if (!holds) throw Error(Problem{.key = key, .what = what, .value = value});
}

std::size_t particles_of(const SpringsPart& part) {
  switch (part.type) {
    case SpringsPart::Type::cloth:
      return std::size_t(part.cells_x + 1) * std::size_t(part.cells_z + 1);
    case SpringsPart::Type::rope:
      return std::size_t(part.segments) + 1;
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
    made_.first_edge = Index(m_.edges.size());
    made_.first_triangle = Index(m_.triangles.size());
  }

  void run() {
    switch (part_.type) {
      case SpringsPart::Type::cloth:
        cloth();
        break;
      case SpringsPart::Type::rope:
        rope();
        break;
      case SpringsPart::Type::points:
        points();
        break;
    }
    made_.num_particles = Index(m_.mass.size()) - base_;
    made_.num_edges = Index(m_.edges.size()) - made_.first_edge;
    made_.num_triangles = Index(m_.triangles.size()) - made_.first_triangle;
    const auto kinds = m_.kind.begin() + made_.first_edge;
    made_.num_drawn_edges =
        Index(std::find(kinds, m_.kind.end(), std::uint8_t(Springs::bend)) - kinds);  // they come last
    pins();
    m_.parts.push_back(made_);
  }

 private:
  void particle(const Vec3& x, Real mass) {
    const Vec3 placed = rotation_of(part_.rotation) * x + part_.position;
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
    for (Index i = 0; i < n; ++i) spring(i, i + 1, part_.structural_stiffness, Springs::structural, rest);
    for (Index i = 0; i + 2 <= n; ++i) spring(i, i + 2, part_.bending_stiffness, Springs::bend, 2 * rest);
  }

  void points() {
    const std::size_t n = part_.points.size();
    require(n > 0, key_ + ".points", "must hold at least one point");
    require(part_.masses.empty() || part_.masses.size() == n, key_ + ".masses",
            "must hold one number for each point", std::to_string(part_.masses.size()));
    require(part_.rest_lengths.empty() || part_.rest_lengths.size() == part_.springs.size(),
            key_ + ".rest_lengths", "must hold one number for each spring",
            std::to_string(part_.rest_lengths.size()));
    for (std::size_t i = 0; i < n; ++i)
      particle(part_.points[i], part_.masses.empty() ? part_.mass : part_.masses[i]);
    for (std::size_t s = 0; s < part_.springs.size(); ++s) {
      const Index2 e = part_.springs[s];
      const bool valid = e[0] != e[1] && e.minCoeff() >= 0 && std::size_t(e.maxCoeff()) < n;
      if (!valid)
        throw Error(Problem{.key = fmt::format("{}.springs[{}]", key_, s),
                            .what = "must join two different points",
                            .value = fmt::format("[{}, {}]", e[0], e[1]),
                            .allowed = fmt::format("0 to {}", n - 1)});
      spring(e[0], e[1], part_.structural_stiffness, Springs::user,
             part_.rest_lengths.empty() ? Real(-1) : part_.rest_lengths[s]);
    }
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
    if (pin.where == Where::indices) {
      for (std::size_t k = 0; k < pin.indices.size(); ++k)
        if (pin.indices[k] < 0 || pin.indices[k] >= n)
          throw Error(Problem{.key = fmt::format("{}.indices[{}]", key, k),
                              .what = "is not a particle of the part",
                              .value = std::to_string(pin.indices[k]),
                              .allowed = fmt::format("0 to {}", n - 1)});
      return pin.indices;
    }
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
  std::string key_;
  Model& m_;
  State& s_;
  Index base_;
  Springs::Part made_;
};

}  // namespace

std::size_t Springs::memory(const Spec& spec) {
  std::size_t bytes = 0;
  for (const SpringsPart& part : spec.parts) {
    // Model and state, and the workspace's matrix with both its triangles and its preconditioner.
    bytes += particles_of(part) * (40 * sizeof(Real) + 2 * sizeof(Index3));
    bytes += edges_of(part) * (sizeof(Index2) + 3 * sizeof(Real) + 2 * (8 * sizeof(Real) + 16));
  }
  return bytes;
}

void Springs::build(const Spec& spec, Model& model, State& state) {
  model = {};
  state = {};
  require(!spec.parts.empty(), "parts", "must hold at least one part");
  std::size_t n = 0;
  for (const SpringsPart& part : spec.parts) n += particles_of(part);
  require(n <= std::size_t(1) << 30, "parts", "hold more than 2^30 particles", std::to_string(n));
  for (std::size_t p = 0; p < spec.parts.size(); ++p)
    Builder(spec.parts[p], fmt::format("parts[{}]", p), model, state).run();
  state.velocity_change.assign(model.mass.size(), Vec3::Zero());
  update(model);
}

void Springs::update(Model& model) {
  const std::size_t n = model.mass.size(), edges = model.edges.size();
  require(model.stiffness.size() == edges && model.rest_length.size() == edges &&
              model.damping.size() == edges && model.kind.size() == edges,
          "edges", "and their arrays must have one length");
  require(model.pin_group.size() == model.pinned.size() && model.pin_position.size() == model.pinned.size(),
          "pinned", "and its arrays must have one length");
  for (const Real mass : model.mass) require(mass > 0, "mass", "must be positive", std::to_string(mass));
  for (const Index i : model.pinned)
    require(i >= 0 && std::size_t(i) < n, "pinned", "must be particles", std::to_string(i));
  for (const Index3& t : model.triangles)
    require(t.minCoeff() >= 0 && std::size_t(t.maxCoeff()) < n, "triangles", "must join particles");
  std::vector<double> stiffness(n, 0), damping(n, 0);
  for (std::size_t e = 0; e < edges; ++e) {
    const Index2 ends = model.edges[e];
    require(ends[0] != ends[1] && ends.minCoeff() >= 0 && std::size_t(ends.maxCoeff()) < n, "edges",
            "must join two different particles", fmt::format("[{}, {}]", ends[0], ends[1]));
    require(model.stiffness[e] >= 0, "stiffness", "must not be negative", std::to_string(model.stiffness[e]));
    require(model.damping[e] >= 0, "damping", "must not be negative", std::to_string(model.damping[e]));
    require(model.rest_length[e] >= 0, "rest_length", "must not be negative",
            std::to_string(model.rest_length[e]));
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
  ++model.revision;
}

}  // namespace plenum::inline PLENUM_ABI
