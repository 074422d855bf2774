// What pictures of smoke are made of.
#include <algorithm>
#include <cmath>

#include "plenum/integrate/flow_drawing.h"
#include "plenum/solvers/smoke/smoke.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Of what ink is on.
constexpr Real paper = Real(0.99);

/// What a metre of ink in a clear liquid leaves of the light that paper under it scatters (Beer & Lambert):
/// inks absorb what they do not scatter, so that yellow and blue give green.
Vec3 ink_at(const Smoke::Model& m, const Smoke::State& s, std::size_t at) {
  Vec3 light;
  for (int c = 0; c < 3; ++c) {
    const Real scattered =
        m.coloured ? s.scattered[static_cast<std::size_t>(c)][at] : soot_albedo[c] * s.density[at];
    light[c] = paper * std::exp(-m.extinction * std::max(s.density[at] - scattered, Real(0)));
  }
  return light;
}

/// What cell (i, j, k) is coloured by, on a sheet normal to an axis.
Real shown(const Smoke::Model& m, const Smoke::State& s, int axis, Index i, Index j, Index k) {
  const std::size_t at = m.shape.index(i, j, k);
  const auto up = [&](int c) { return at + static_cast<std::size_t>(m.shape.stride(c)); };
  switch (m.show) {
    case Smoke::Show::density:
      return s.density[at];
    case Smoke::Show::temperature:
      return s.temperature[at];
    case Smoke::Show::speed: {
      Real sum = 0;
      for (int c = 0; c < m.shape.dimensions(); ++c) {
        const Real u = (s.velocity[c][at] + s.velocity[c][up(c)]) / 2;
        sum += u * u;
      }
      return std::sqrt(sum);
    }
    case Smoke::Show::vorticity: {
      const auto slope = [&](int component, int along) {
        const Real* u = s.velocity[component].data() + at;
        const std::ptrdiff_t a = m.shape.stride(along), b = m.shape.stride(component);
        return ((u[a] + u[a + b]) - (u[-a] + u[-a + b])) / (4 * m.h);
      };
      const int b = (axis + 1) % 3, c = (axis + 2) % 3;
      return slope(c, b) - slope(b, c);
    }
    case Smoke::Show::ink:
      break;
  }
  return 0;
}

GridFlow flow_of(const Smoke::Model& m, const Smoke::State& s) {
  return {.shape = m.shape, .low = m.low, .h = m.h, .velocity = s.velocity, .fluid = m.known[3]};
}

void draw_sheet(const Smoke::Model& m, const Smoke::State& s, int axis, Real at, DrawableSink& sink) {
  static constexpr const char* units[] = {"kg/m^3", "K", "m/s", "1/s", ""};
  GridFlow box = flow_of(m, s);
  if (m.show == Smoke::Show::ink) {
    const auto dye = [&](Index i, Index j, Index k) { return ink_at(m, s, m.shape.index(i, j, k)); };
    draw_slice(box, {.axis = axis, .at = at, .value = {}, .dye = dye}, sink);
    return;
  }
  box.fluid = {};
  draw_slice(box,
             {.axis = axis,
              .at = at,
              .colour = {.quantity = names_of(m.show)[static_cast<std::size_t>(m.show)],
                         .unit = units[static_cast<int>(m.show)],
                         .is_signed = m.show == Smoke::Show::vorticity,
                         .low = m.show_low,
                         .high = m.show_high},
              .value = [&](Index i, Index j, Index k) { return shown(m, s, axis, i, j, k); }},
             sink);
}

}  // namespace

void Smoke::geometry(const Model& m, const State& s, DrawableSink& sink) {
  for (const SmokeShape& solid : m.solids) {
    const TriangleMesh mesh = solid.mesh();
    sink.triangles({.x = mesh.x,
                    .triangles = mesh.triangles,
                    .pose = solid.pose(),
                    .look = Look::obstacle,
                    .palette = m.palette});
  }
  if (!m.shape.is_flat()) {
    sink.volume({.shape = m.shape,
                 .density = s.density,
                 .low = m.low,
                 .spacing = m.h,
                 .extinction = m.extinction,
                 .albedo = soot_albedo,
                 .scattered = {s.scattered[0], s.scattered[1], s.scattered[2]}});
    return;
  }
  draw_sheet(m, s, 2, 0, sink);
}

void Smoke::debug(const Model& m, const State& s, const Params&, const DebugDraw& wanted,
                  DrawableSink& sink) {
  if (wanted.slice != DebugDraw::Slice::none && !m.shape.is_flat())
    draw_sheet(m, s, static_cast<int>(wanted.slice) - 1, wanted.slice_at, sink);
  draw_flow(flow_of(m, s), wanted, m.shape.is_flat() || wanted.slice != DebugDraw::Slice::none, sink);
}

}  // namespace plenum::inline PLENUM_ABI
