// What pictures of smoke are made of.
#include <algorithm>
#include <cmath>

#include "plenum/solvers/smoke/smoke.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// A grey between soot, which takes most of the light, and steam, which scatters nearly all: it shows before
/// light walls and dark ones.
const Vec3 soot_albedo(Real(0.45), Real(0.46), Real(0.49));

/// What cell (i, j, k) is coloured by.
Real shown(const Smoke::Model& m, const Smoke::State& s, Index i, Index j, Index k) {
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
      const auto slope = [&](int c, int axis) {
        const Real* u = s.velocity[c].data() + at;
        const std::ptrdiff_t a = m.shape.stride(axis), b = m.shape.stride(c);
        return ((u[a] + u[a + b]) - (u[-a] + u[-a + b])) / (4 * m.h);
      };
      return slope(1, 0) - slope(0, 1);
    }
  }
  return 0;
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
                 .albedo = soot_albedo});
    return;
  }
  // A sheet of the section z = const through the middle, with a corner at each cell's centre and the sides'
  // corners at the box's own.
  const Index nx = m.shape.cells[0], ny = m.shape.cells[1], k = 0;
  std::vector<Vec3> x;
  std::vector<Real> values;
  std::vector<Index3> triangles;
  const auto along = [](Index i, Index n) {
    return i == 0 ? Real(0) : i == n + 1 ? static_cast<Real>(n) : static_cast<Real>(i) - Real(0.5);
  };
  const Real z = m.low.z() + m.h * (static_cast<Real>(k) + Real(0.5));
  for (Index j = 0; j <= ny + 1; ++j)
    for (Index i = 0; i <= nx + 1; ++i) {
      x.push_back({m.low.x() + m.h * along(i, nx), m.low.y() + m.h * along(j, ny), z});
      values.push_back(
          shown(m, s, std::clamp<Index>(i - 1, 0, nx - 1), std::clamp<Index>(j - 1, 0, ny - 1), k));
    }
  for (Index j = 0; j <= ny; ++j)
    for (Index i = 0; i <= nx; ++i) {
      const Index a = i + (nx + 2) * j, b = a + 1, c = a + nx + 2, d = c + 1;
      triangles.push_back({a, b, d});
      triangles.push_back({a, d, c});
    }
  static constexpr const char* units[] = {"kg/m^3", "K", "m/s", "1/s"};
  TriangleView view{.x = x, .triangles = triangles, .look = Look::cloth};
  view.colour = {.values = values,
                 .quantity = names_of(m.show)[static_cast<std::size_t>(m.show)],
                 .unit = units[static_cast<int>(m.show)],
                 .is_signed = m.show == Show::vorticity,
                 .low = m.show_low,
                 .high = m.show_high};
  sink.triangles(view);
}

}  // namespace plenum::inline PLENUM_ABI
