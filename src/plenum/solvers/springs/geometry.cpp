// What a net shows: surfaces, springs as threads, balls, and the colours of a field.
#include <cmath>
#include <numbers>

#include "plenum/solvers/springs/springs.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Colour = SpringsPart::Colour;
using Show = SpringsPart::Show;

template <class T>
std::span<const T> piece(const std::vector<T>& all, Index first, Index count) {
  return std::span(all).subspan(std::size_t(first), std::size_t(count));
}

/// A wire as a chain of segments: a circle once around, a helix three turns to either side, a line 5 m.
void sample(const Wire<Real>& wire, std::vector<Vec3>& x, std::vector<Index2>& segments) {
  const Vec3 side = wire.axis.cross(wire.radial);
  const auto along_curve = [&](Real turn) -> Vec3 {
    const Real angle = turn * Real(2 * std::numbers::pi);
    const Vec3 round = wire.radius * (std::cos(angle) * wire.radial + std::sin(angle) * side);
    switch (wire.shape) {
      case WireShape::line:
        return turn * wire.axis;
      case WireShape::circle:
        return round;
      case WireShape::helix:
        return round + wire.pitch * turn * wire.axis;
    }
    return Vec3::Zero();
  };
  const Real from = wire.shape == WireShape::circle ? 0 : wire.shape == WireShape::helix ? -3 : -5;
  const Real to = wire.shape == WireShape::circle ? 1 : -from;
  const int count = wire.shape == WireShape::line ? 1 : static_cast<int>(64 * (to - from));
  for (int k = 0; k <= count; ++k) {
    x.push_back(wire.origin + along_curve(from + (to - from) * Real(k) / Real(count)));
    if (k > 0) segments.push_back(Index2(k - 1, k));
  }
}

/// The fields that parts are coloured by, at particles and at the visual vertices that ride on them; made
/// only if a part asks for them.
class ShownFields {
 public:
  ShownFields(const Springs::Model& model, const Springs::State& state) {
    const auto any = [&](Colour colour) {
      for (const Springs::Part& part : model.parts)
        if (part.colour == colour) return true;
      return false;
    };
    if (any(Colour::speed)) find_speeds(model, state);
    if (any(Colour::strain)) find_strains(model, state);
  }
  std::span<const Real> at_particles(Colour colour) const { return at_particles_[std::size_t(colour)]; }
  std::span<const Real> at_visual(Colour colour) const { return at_visual_[std::size_t(colour)]; }

 private:
  void find_speeds(const Springs::Model& model, const Springs::State& state) {
    const std::vector<Vec3>& v = state.particles.v;
    std::vector<Vec3> riding(model.embedding.vertices.size());
    update_embedded(model.embedding, v, riding);
    const auto norms = [](const std::vector<Vec3>& of, std::vector<Real>& out) {
      for (const Vec3& u : of) out.push_back(u.norm());
    };
    norms(v, at_particles_[std::size_t(Colour::speed)]);
    norms(riding, at_visual_[std::size_t(Colour::speed)]);
  }

  void find_strains(const Springs::Model& model, const Springs::State& state) {
    std::vector<Real>& mean = at_particles_[std::size_t(Colour::strain)];
    mean.assign(state.particles.size(), 0);
    std::vector<Index> count(mean.size(), 0);
    for (std::size_t e = 0; e < model.edges.size(); ++e) {
      if (model.kind[e] == Springs::bend) continue;
      const Real strain = Springs::strain(model, state, e);
      for (const Index i : model.edges[e]) mean[std::size_t(i)] += strain, ++count[std::size_t(i)];
    }
    for (std::size_t i = 0; i < mean.size(); ++i)
      if (count[i] > 0) mean[i] /= Real(count[i]);
    const TetEmbedding& embedding = model.embedding;
    std::vector<Real>& riding = at_visual_[std::size_t(Colour::strain)];
    riding.assign(embedding.vertices.size(), 0);
    for (std::size_t i = 0; i < riding.size(); ++i)
      for (int k = 0; k < 4; ++k)
        riding[i] += embedding.weights[i][k] * mean[std::size_t(embedding.vertices[i][k])];
  }

  std::array<std::vector<Real>, names_of(Colour()).size()> at_particles_, at_visual_;
};

ColourBy coloured(const Springs::Part& part, std::span<const Real> values) {
  if (part.colour == Colour::plain) return {};
  const bool is_strain = part.colour == Colour::strain;
  return {.values = values,
          .quantity = is_strain ? "strain" : "speed",
          .unit = is_strain ? "1" : "m/s",
          .is_signed = is_strain,
          .low = part.colour_low,
          .high = part.colour_high};
}

/// Relative elongation of each of the edges.
std::vector<Real> strains_of(std::span<const Vec3> x, std::span<const Index2> edges,
                             std::span<const Real> rest) {
  std::vector<Real> strains;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const Real length = (x[std::size_t(edges[e][1])] - x[std::size_t(edges[e][0])]).norm();
    strains.push_back(rest[e] > 0 ? length / rest[e] - 1 : 0);
  }
  return strains;
}

}  // namespace

void Springs::geometry(const Model& model, const State& state, DrawableSink& sink) {
  const std::vector<Vec3>& x = state.particles.x;
  std::vector<Vec3> visual(model.embedding.vertices.size());
  update_embedded(model.embedding, x, visual);
  const ShownFields fields(model, state);
  std::vector<Real> radii;
  for (std::size_t p = 0; p < model.parts.size(); ++p) {
    const Part& part = model.parts[p];
    const int palette = part.palette < 0 ? -1 - static_cast<int>(p) : part.palette;
    const std::span<const Real> values = fields.at_particles(part.colour);
    const auto threads = [&](std::span<const Index2> edges, std::span<const Real> rest) {
      if (edges.empty() || !(part.line_radius > 0)) return;
      std::vector<Real> strains;
      if (part.colour == Colour::strain) strains = strains_of(x, edges, rest);
      sink.lines({.x = x,
                  .segments = edges,
                  .radius = part.line_radius,
                  .palette = palette,
                  .colour = coloured(part, strains.empty() ? values : strains),
                  .colours_segments = !strains.empty()});
    };
    const bool has_surface = part.num_visual > 0 || part.num_triangles > 0;
    if (part.show != Show::springs && part.num_visual > 0)
      sink.triangles(
          {.x = piece(visual, part.first_visual, part.num_visual),
           .triangles = piece(model.visual_triangles, part.first_visual_triangle, part.num_visual_triangles),
           .look = Look::body,
           .palette = palette,
           .colour = coloured(
               part, part.colour == Colour::plain
                         ? std::span<const Real>()
                         : fields.at_visual(part.colour)
                               .subspan(std::size_t(part.first_visual), std::size_t(part.num_visual)))});
    else if (part.show != Show::springs && part.num_triangles > 0)
      sink.triangles({.x = x,
                      .triangles = piece(model.triangles, part.first_triangle, part.num_triangles),
                      .look = Look::cloth,
                      .palette = palette,
                      .colour = coloured(part, values)});
    if (part.show != Show::surface || !has_surface) {
      const Index first = model.part_edges[p][0], drawn = model.part_edges[p][2];
      threads(piece(model.edges, first, drawn), piece(model.rest_length, first, drawn));
    }
    threads(piece(model.constraints.rods, part.first_rod, part.num_rods),
            piece(model.constraints.rod_length, part.first_rod, part.num_rods));
    for (const Wire<Real>& wire : piece(model.constraints.wires, part.first_wire, part.num_wires)) {
      std::vector<Vec3> points;
      std::vector<Index2> segments;
      sample(wire, points, segments);
      if (part.line_radius > 0)
        sink.lines({.x = points, .segments = segments, .radius = part.line_radius, .palette = palette});
    }
    if (part.ball_radius > 0) {
      // What is held is a pivot, not a weight.
      radii.clear();
      for (const Real w : piece(state.particles.inverse_mass, part.first_particle, part.num_particles))
        radii.push_back(w > 0 ? part.ball_radius : part.ball_radius / 3);
      const auto first = std::size_t(part.first_particle), count = std::size_t(part.num_particles);
      sink.spheres({.x = piece(x, part.first_particle, part.num_particles),
                    .radii = radii,
                    .look = Look::body,
                    .palette = palette,
                    .colour = coloured(part, values.empty() ? values : values.subspan(first, count)),
                    .trail = part.trail});
    }
    if (!part.label.empty() && part.num_particles > 0)
      sink.label({.at = x[static_cast<std::size_t>(part.first_particle)] + Vec3(0, part.ball_radius / 3, 0),
                  .text = part.label});
  }
}

}  // namespace plenum::inline PLENUM_ABI
