// Whether a net's arrays fit together, and bounds of its frequencies.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "plenum/geometry/measures.h"
#include "plenum/solvers/springs/detail/require.h"
#include "plenum/solvers/springs/springs.h"

namespace plenum::inline PLENUM_ABI {
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
  require(model.air_mass.size() == model.triangles.size(), "air_mass", "must be as many as triangles",
          model.air_mass.size());
  for (const Real m : model.air_mass) require(m > 0, "air_mass", "must be positive", m);
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
  model.air_mass = least_corner_masses(model.mass, model.triangles);
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
