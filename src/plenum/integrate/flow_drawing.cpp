#include "plenum/integrate/flow_drawing.h"

#include <Eigen/Geometry>

#include <algorithm>
#include <cmath>

namespace plenum::inline PLENUM_ABI {
namespace {

/// Arrows or lines along the box's longest side, if nothing else is wanted.
constexpr Real flat_count = 32, solid_count = 14;
/// Parts of the spacing: radius of a line, of an arrow's shaft, length of an arrow's barbs.
constexpr Real flat_radius = Real(0.035), solid_radius = Real(0.028), shaft_radius = Real(0.03),
               barb = Real(0.22);
/// Usual speeds at which arrows are as long as they get, and colours end.
constexpr Real most_usual = 2;

Real spacing_of(const GridFlow& flow, const DebugDraw& wanted) {
  const auto& n = flow.shape.cells;
  const Real longest = flow.h * static_cast<Real>(std::max({n[0], n[1], flow.shape.is_flat() ? 1 : n[2]}));
  const Real chosen = longest / (flow.shape.is_flat() ? flat_count : solid_count);
  // No more than memory bears.
  return wanted.flow_spacing > 0 ? std::max(wanted.flow_spacing, longest / 128) : chosen;
}

/// Lines with a radius and a speed at each point.
struct FlowLines {
  std::vector<Vec3> x;
  std::vector<Index2> segments;
  std::vector<Real> radii, speed;

  Index add(const Vec3& at, Real radius, Real v) {
    x.push_back(at), radii.push_back(radius), speed.push_back(v);
    return static_cast<Index>(x.size()) - 1;
  }
  void draw(bool over, Real most, DrawableSink& sink) const {
    if (segments.empty()) return;
    LineView view{.x = x, .segments = segments, .radii = radii};
    if (over)
      view.look = Look::mark, view.palette = mark_white;
    else
      view.colour = {.values = speed, .quantity = "speed", .unit = "m/s", .low = 0, .high = most};
    sink.lines(view);
  }
};

void draw_streamlines(const GridFlow& flow, Real apart, Real most, bool over, DrawableSink& sink) {
  const Real radius = (flow.shape.is_flat() ? flat_radius : solid_radius) * apart;
  const Streamlines lines = evenly_spaced_streamlines(flow, apart);
  FlowLines out;
  Index first = 0;
  for (const Index end : lines.ends) {
    // Thicker along the flow, so that one sees which way it goes.
    const Real count = static_cast<Real>(end - first);
    for (Index k = first; k < end; ++k) {
      const Vec3& x = lines.x[static_cast<std::size_t>(k)];
      const Real part = static_cast<Real>(k - first) / count;
      const Index at = out.add(x, radius * (Real(0.25) + part), flow.velocity_at(x).norm());
      if (k > first) out.segments.push_back({at - 1, at});
    }
    first = end;
  }
  out.draw(over, most, sink);
}

void draw_arrows(const GridFlow& flow, const DebugDraw& wanted, Real apart, Real most, bool over,
                 DrawableSink& sink) {
  FlowLines out;
  const auto& n = flow.shape.cells;
  std::array<Index, 3> count = {1, 1, 1};
  for (int a = 0; a < flow.shape.dimensions(); ++a)
    count[static_cast<std::size_t>(a)] = std::max<Index>(
        1,
        static_cast<Index>(std::lround(flow.h * static_cast<Real>(n[static_cast<std::size_t>(a)]) / apart)));
  const int layer = flow.shape.is_flat() ? -1 : static_cast<int>(wanted.slice) - 1;
  if (layer >= 0) count[static_cast<std::size_t>(layer)] = 1;
  for (Index k = 0; k < count[2]; ++k)
    for (Index j = 0; j < count[1]; ++j)
      for (Index i = 0; i < count[0]; ++i) {
        const std::array<Index, 3> at = {i, j, k};
        Vec3 x;
        for (int a = 0; a < 3; ++a) {
          const auto axis = static_cast<std::size_t>(a);
          const Real part = a == layer
                                ? std::clamp(wanted.slice_at, Real(0.001), Real(0.999))
                                : (static_cast<Real>(at[axis]) + Real(0.5)) / static_cast<Real>(count[axis]);
          x[a] = flow.low[a] + flow.h * static_cast<Real>(n[axis]) * part;
        }
        if (!flow.holds(x)) continue;
        const Vec3 u = flow.velocity_at(x);
        const Real speed = u.norm();
        if (!(speed > Real(0.02) * most)) continue;
        const Real part = std::min(Real(1), speed / most);
        const Vec3 along = u / speed, half = Real(0.45) * apart * part * along;
        const Vec3 across = flow.shape.is_flat()              ? Vec3(Vec3::UnitZ().cross(along))
                            : std::abs(along.y()) < Real(0.9) ? Vec3(Vec3::UnitY().cross(along).normalized())
                                                              : Vec3(Vec3::UnitX().cross(along).normalized());
        const Real radius = shaft_radius * apart;
        const Index tail = out.add(x - half, radius, speed), head = out.add(x + half, radius, speed);
        out.segments.push_back({tail, head});
        const Real length = barb * apart * std::sqrt(part);
        const Vec3 other = along.cross(across);
        for (int turn = 0; turn < (flow.shape.is_flat() ? 2 : 4); ++turn) {
          const Vec3 side = (turn % 2 == 0 ? Real(1) : Real(-1)) * (turn < 2 ? across : other);
          out.segments.push_back(
              {head, out.add(x + half + length * (Real(0.5) * side - along), radius / 2, speed)});
        }
      }
  out.draw(over, most, sink);
}

}  // namespace

void draw_slice(const GridFlow& flow, const GridSlice& slice, DrawableSink& sink) {
  const auto axis = static_cast<std::size_t>(slice.axis);
  const std::size_t u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
  const Index nu = flow.shape.cells[u], nv = flow.shape.cells[v], n = flow.shape.cells[axis];
  const Index layer = std::clamp(static_cast<Index>(slice.at * static_cast<Real>(n)), Index(0), n - 1);
  std::vector<Vec3> x;
  std::vector<Real> values;
  std::vector<Vec3> dyes;
  std::vector<Index3> triangles;
  const auto along = [](Index i, Index count) {
    return i == 0 ? Real(0) : i == count + 1 ? static_cast<Real>(count) : static_cast<Real>(i) - Real(0.5);
  };
  const auto cell = [&](Index i, Index j) {
    std::array<Index, 3> c;
    c[axis] = layer, c[u] = std::clamp<Index>(i - 1, 0, nu - 1), c[v] = std::clamp<Index>(j - 1, 0, nv - 1);
    return c;
  };
  std::vector<std::uint8_t> holds;
  for (Index j = 0; j <= nv + 1; ++j)
    for (Index i = 0; i <= nu + 1; ++i) {
      Vec3 at;
      at[static_cast<int>(axis)] = static_cast<Real>(layer) + Real(0.5);
      at[static_cast<int>(u)] = along(i, nu), at[static_cast<int>(v)] = along(j, nv);
      x.push_back(flow.low + flow.h * at);
      const std::array<Index, 3> c = cell(i, j);
      const bool fluid = flow.fluid.empty() || flow.fluid[flow.shape.index(c[0], c[1], c[2])] != 0;
      holds.push_back(fluid ? 1 : 0);
      if (slice.dye)
        dyes.push_back(fluid ? slice.dye(c[0], c[1], c[2]) : Vec3(Vec3::Zero()));
      else
        values.push_back(fluid ? slice.value(c[0], c[1], c[2]) : 0);
    }
  // Counter-clockwise as seen from the side of large coordinates.
  const bool turned = axis == 1;
  const auto add = [&](Index a, Index b, Index c) {
    for (const Index k : {a, b, c})
      if (holds[static_cast<std::size_t>(k)] == 0) return;
    triangles.push_back(turned ? Index3{a, c, b} : Index3{a, b, c});
  };
  for (Index j = 0; j <= nv; ++j)
    for (Index i = 0; i <= nu; ++i) {
      const Index a = i + (nu + 2) * j, b = a + 1, c = a + nu + 2, d = c + 1;
      add(a, b, d), add(a, d, c);
    }
  TriangleView view{.x = x, .triangles = triangles, .look = Look::cloth, .colour = slice.colour};
  view.colour.values = values;
  view.dyes = dyes;
  sink.triangles(view);
}

void draw_flow(const GridFlow& flow, const DebugDraw& wanted, bool over, DrawableSink& sink) {
  if (!wanted.arrows && !wanted.streamlines) return;
  const Real apart = spacing_of(flow, wanted), most = most_usual * flow.usual_speed();
  if (!(most > 0)) return;
  if (wanted.streamlines) draw_streamlines(flow, apart, most, over, sink);
  if (wanted.arrows) draw_arrows(flow, wanted, apart, most, over, sink);
}

}  // namespace plenum::inline PLENUM_ABI
