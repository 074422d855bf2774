// What comes into the gas: from sources, and from hands that stir it.
#include <cmath>

#include "plenum/solvers/smoke/detail/stages.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using Model = Smoke::Model;
using State = Smoke::State;
using Params = Smoke::Params;
using Workspace = Smoke::Workspace;

/// Draws the items of one quantity that are within a source towards its value.
void draw_towards(const Model& m, const SmokeSource& source, const Shape& solid, int c, Real value, Real part,
                  std::span<Real> q) {
  const Pose pose = source.pose();
  const Aabb bounds = solid.bounds(pose);
  std::array<Index, 3> n = m.shape.cells;
  if (c >= 0) ++n[static_cast<std::size_t>(c)];
  std::array<Index, 3> begin{}, end{};
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const Real low = (bounds.low[axis] - m.low[axis]) / m.h - 1,
               high = (bounds.high[axis] - m.low[axis]) / m.h + 2;
    begin[a] = static_cast<Index>(std::clamp(std::floor(low), Real(0), static_cast<Real>(n[a])));
    end[a] = static_cast<Index>(std::clamp(std::ceil(high), Real(0), static_cast<Real>(n[a])));
  }
  if (begin[0] >= end[0] || begin[1] >= end[1] || begin[2] >= end[2]) return;
  const auto ny = static_cast<std::size_t>(end[1] - begin[1]);
  parallel_for(
      ny * static_cast<std::size_t>(end[2] - begin[2]), 16, [&](std::size_t first, std::size_t last) {
        for (std::size_t row = first; row < last; ++row)
          for (Index i = begin[0]; i < end[0]; ++i) {
            const Index j = begin[1] + static_cast<Index>(row % ny),
                        k = begin[2] + static_cast<Index>(row / ny);
            const Real distance = solid.signed_distance(pose.to_local(place(m, c, i, j, k))).distance;
            // A cell at the surface is covered in part.
            const Real covered = std::clamp(Real(0.5) - distance / m.h, Real(0), Real(1));
            Real& item = q[m.shape.index(i, j, k)];
            item += part * covered * (value - item);
          }
      });
}

/// f(item, x) for the items of a quantity (component c, -1: cells) in a box of space.
template <class F>
void for_items_in(const Model& m, int c, const Aabb& bounds, F&& f) {
  std::array<Index, 3> begin{}, end{};
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const auto n = static_cast<Real>(m.shape.cells[a] + (axis == c ? 1 : 0));
    begin[a] = static_cast<Index>(std::clamp(std::floor((bounds.low[axis] - m.low[axis]) / m.h), Real(0), n));
    end[a] =
        static_cast<Index>(std::clamp(std::ceil((bounds.high[axis] - m.low[axis]) / m.h) + 1, Real(0), n));
  }
  if (m.shape.is_flat()) begin[2] = 0, end[2] = 1;
  if (begin[0] >= end[0] || begin[1] >= end[1] || begin[2] >= end[2]) return;
  const auto ny = static_cast<std::size_t>(end[1] - begin[1]);
  parallel_for(ny * static_cast<std::size_t>(end[2] - begin[2]), 16,
               [&](std::size_t first, std::size_t last) {
                 for (std::size_t row = first; row < last; ++row)
                   for (Index i = begin[0]; i < end[0]; ++i) {
                     const Index j = begin[1] + static_cast<Index>(row % ny),
                                 k = begin[2] + static_cast<Index>(row / ny);
                     f(m.shape.index(i, j, k), place(m, c, i, j, k));
                   }
               });
}

/// Where a stroke may act.
Aabb reach_of(const Model& m, const Stroke& stroke) {
  Aabb box;
  box.extend(stroke.from), box.extend(stroke.to);
  box = box.grown(stroke.radius);
  // Along its direction it has no end.
  for (int axis = 0; axis < 3; ++axis) {
    if (std::abs(stroke.along[axis]) < Real(1e-3)) continue;
    const bool straight = std::abs(stroke.along[axis]) > Real(0.999);
    for (int other = 0; other < 3; ++other)
      if (!straight || other == axis)
        box.low[other] = m.low[other],
        box.high[other] =
            m.low[other] + m.h * static_cast<Real>(m.shape.cells[static_cast<std::size_t>(other)]);
  }
  return box;
}

/// Draws the gas along with a stroke, and what is on its way towards the values of a brush.
void add_stroke(const Model& m, State& s, const Stroke& stroke, const SmokeBrush& brush, Real dt) {
  const Aabb reach = reach_of(m, stroke);
  const Real part = -std::expm1(-brush.rate * dt);
  const auto draw = [&](int c, Real value, std::vector<Real>& q) {
    for_items_in(m, c, reach, [&](std::size_t at, const Vec3& x) {
      const Real weight = part * stroke.weight(x);
      q[at] += weight * (value - q[at]);
    });
  };
  if (stroke.velocity != Vec3::Zero())
    for (int c = 0; c < m.shape.dimensions(); ++c)
      draw(c, stroke.velocity[c], s.velocity.along[static_cast<std::size_t>(c)]);
  if (!(brush.density > 0)) return;
  draw(-1, brush.density, s.density);
  draw(-1, brush.temperature, s.temperature);
  for (int c = 0; c < 3 && m.coloured; ++c)
    draw(-1, brush.density * brush.colour[c], s.scattered[static_cast<std::size_t>(c)]);
}

/// Inks of a hand's strokes, one after the other: linear albedos.
const std::array<Vec3, 6>& hand_inks() {
  static const std::array<Vec3, 6> inks = {
      Vec3(Real(0.02), Real(0.32), Real(0.75)), Vec3(Real(0.80), Real(0.05), Real(0.28)),
      Vec3(Real(0.95), Real(0.62), Real(0.03)), Vec3(Real(0.04), Real(0.48), Real(0.22)),
      Vec3(Real(0.90), Real(0.22), Real(0.03)), Vec3(Real(0.26), Real(0.07), Real(0.62))};
  return inks;
}

}  // namespace

void add_sources(const Model& m, State& s, const Params& params, Real dt) {
  for (const SmokeSource& source : params.sources) {
    if (s.time < static_cast<double>(source.start) || s.time >= static_cast<double>(source.stop)) continue;
    const Shape solid = source.solid();
    const Real part = -std::expm1(-source.rate * dt);
    draw_towards(m, source, solid, -1, source.density, part, s.density);
    draw_towards(m, source, solid, -1, source.temperature, part, s.temperature);
    for (int c = 0; c < 3 && m.coloured; ++c)
      draw_towards(m, source, solid, -1, source.density * source.colour[c], part,
                   s.scattered[static_cast<std::size_t>(c)]);
    if (source.moves)
      for (int c = 0; c < m.shape.dimensions(); ++c)
        draw_towards(m, source, solid, c, source.velocity[c], part,
                     s.velocity.along[static_cast<std::size_t>(c)]);
  }
}

void stir_gas(const Model& m, State& s, const Params& params, Workspace& w, Real dt) {
  const auto flattened = [&](Vec3 x) {
    if (m.shape.is_flat()) x.z() = m.low.z() + m.h / 2;
    return x;
  };
  for (std::size_t b = 0; b < params.brushes.size(); ++b) {
    const SmokeBrush& brush = params.brushes[b];
    if (s.time < static_cast<double>(brush.start) || s.time >= static_cast<double>(brush.stop)) continue;
    const Vec3 to = flattened(brush.position), from = b < s.brushed.size() ? flattened(s.brushed[b]) : to;
    add_stroke(m, s, {.from = from, .to = to, .radius = brush.radius, .velocity = (to - from) / dt}, brush,
               dt);
  }
  s.brushed.resize(params.brushes.size());
  for (std::size_t b = 0; b < params.brushes.size(); ++b) s.brushed[b] = params.brushes[b].position;
  if (w.stroke) {
    const std::array<Vec3, 6>& inks = hand_inks();
    add_stroke(
        m, s, *w.stroke,
        {.density = params.stroke_density,
         .colour = inks[static_cast<std::size_t>(std::max<Index>(0, w.stroke->number - 1)) % inks.size()]},
        dt);
    w.stroke.reset();
  }
  if (w.gust) {
    // As fast as a stroke draws along.
    const Real part = -std::expm1(-SmokeBrush{}.rate * dt), speed = w.gust->velocity.norm();
    for (int c = 0; c < m.shape.dimensions() && speed > 0; ++c) {
      std::vector<Real>& u = s.velocity.along[static_cast<std::size_t>(c)];
      for_items_in(m, c, Smoke::stirred_box(m), [&](std::size_t at, const Vec3& x) {
        const Vec3 wind = w.gust->at(x);
        u[at] += part * wind.norm() / speed * (w.gust->velocity[c] - u[at]);
      });
    }
    w.gust.reset();
  }
}

}}  // namespace plenum::inline PLENUM_ABI::detail
