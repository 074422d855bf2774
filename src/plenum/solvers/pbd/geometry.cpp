// What position-based bodies show.
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {
namespace {

template <class T>
std::span<const T> piece(const std::vector<T>& all, Index first, Index count) {
  return std::span(all).subspan(std::size_t(first), std::size_t(count));
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
