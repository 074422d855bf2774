// What position-based bodies show.
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {
namespace {

template <class T>
std::span<const T> piece(const std::vector<T>& all, Index first, Index count) {
  return std::span(all).subspan(std::size_t(first), std::size_t(count));
}

/// A rope of few segments as the smooth thread that it stands for: a curve through its particles (Catmull &
/// Rom 1974, "A class of local interpolating splines").
void draw_thread(std::span<const Vec3> x, Real radius, int palette, DrawableSink& sink) {
  constexpr int finer = 4;
  const auto n = x.size();
  std::vector<Vec3> curve;
  std::vector<Index2> segments;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const Vec3 &p1 = x[i], &p2 = x[i + 1], p0 = i > 0 ? x[i - 1] : Vec3(2 * p1 - p2),
               p3 = i + 2 < n ? x[i + 2] : Vec3(2 * p2 - p1);
    const Vec3 a = (p2 - p0) / 2, b = p0 - Real(2.5) * p1 + 2 * p2 - p3 / 2,
               c = (Real(3) * (p1 - p2) + p3 - p0) / 2;
    for (int k = 0; k < finer; ++k) {
      const Real u = Real(k) / finer;
      segments.push_back(Index2(Index(curve.size()), Index(curve.size()) + 1));
      curve.push_back(p1 + u * (a + u * (b + u * c)));
    }
  }
  curve.push_back(x[n - 1]);
  sink.lines({.x = curve, .segments = segments, .radius = radius, .palette = palette});
}

/// A thread for each piece that it has come to be.
void draw_rope(const Pbd::Part& part, std::span<const Index2> edges, const std::vector<Vec3>& all,
               int palette, DrawableSink& sink) {
  std::vector<Vec3> x;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (x.empty()) x.push_back(all[std::size_t(edges[e][0])]);
    x.push_back(all[std::size_t(edges[e][1])]);
    if (e + 1 < edges.size() && edges[e + 1][0] == edges[e][1]) continue;
    draw_thread(x, part.line_radius, palette, sink);
    x.clear();
  }
}

}  // namespace

void Pbd::geometry(const Model& model, const State& state, DrawableSink& sink) {
  const std::vector<Vec3>& x = state.particles.x;
  std::vector<Vec3> visual(model.embedding.vertices.size());
  update_embedded(model.embedding, x, visual);
  for (std::size_t p = 0; p < model.parts.size(); ++p) {
    const Part& part = model.parts[p];
    const int palette = part.palette < 0 ? -1 - static_cast<int>(p) : part.palette;
    if (part.num_visual > 0)
      sink.triangles(
          {.x = piece(visual, part.first_visual, part.num_visual),
           .triangles = piece(model.visual_triangles, part.first_visual_triangle, part.num_visual_triangles),
           .look = Look::body,
           .palette = palette});
    else if (part.num_triangles > 0)
      sink.triangles({.x = x,
                      .triangles = piece(model.triangles, part.first_triangle, part.num_triangles),
                      .look = part.type == PbdPart::Type::cloth || part.type == PbdPart::Type::mesh_cloth
                                  ? Look::cloth
                                  : Look::body,
                      .palette = palette});
    else if (part.type == PbdPart::Type::rope)
      draw_rope(part, piece(model.edges, part.first_edge, part.num_edges), x, palette, sink);
    else if (part.num_edges > 0)
      sink.lines({.x = x,
                  .segments = piece(model.edges, part.first_edge, part.num_edges),
                  .radius = part.line_radius,
                  .palette = palette});
  }
  for (std::size_t b = 0; b < model.bodies.size(); ++b) {
    const Body& body = model.bodies[b];
    const Pose frame = state.frames.pose(b);
    const auto number = static_cast<int>(model.parts.size() + b);
    sink.triangles({.x = body.mesh.x,
                    .triangles = body.mesh.triangles,
                    .pose = {frame * body.shape_in.position, frame.rotation * body.shape_in.rotation},
                    .lasts = true,
                    .look = body.is_led ? Look::obstacle : Look::body,
                    .palette = body.palette < 0 ? -1 - number : body.palette,
                    .body = static_cast<Index>(b)});
  }
}

}  // namespace plenum::inline PLENUM_ABI
