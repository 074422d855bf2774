#include "plenum/solvers/stable_fluids/stable_fluids.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/base/error.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Model = StableFluids::Model;
using State = StableFluids::State;
using Params = StableFluids::Params;
using Workspace = StableFluids::Workspace;
using Field = std::vector<Real>;

/// How a field goes on beyond the walls: as it is, or so that it is zero at the wall across x or y.
enum class Rim { goes_on, no_flow_x, no_flow_y };

void fill_rim(const Model& m, Rim rim, Field& f) {
  const Index n = m.n;
  const Real x = rim == Rim::no_flow_x ? Real(-1) : Real(1), y = rim == Rim::no_flow_y ? Real(-1) : Real(1);
  for (Index i = 1; i <= n; ++i) {
    f[m.at(0, i)] = x * f[m.at(1, i)];
    f[m.at(n + 1, i)] = x * f[m.at(n, i)];
    f[m.at(i, 0)] = y * f[m.at(i, 1)];
    f[m.at(i, n + 1)] = y * f[m.at(i, n)];
  }
  for (const Index i : {Index{0}, n + 1})
    for (const Index j : {Index{0}, n + 1}) {
      const Index inner_i = i == 0 ? 1 : n, inner_j = j == 0 ? 1 : n;
      f[m.at(i, j)] = (f[m.at(inner_i, j)] + f[m.at(i, inner_j)]) / 2;
    }
}

template <class F>
void for_cells(const Model& m, F&& f) {
  for (Index j = 1; j <= m.n; ++j)
    for (Index i = 1; i <= m.n; ++i) f(i, j, m.at(i, j));
}

/// x c - a (sum of the four neighbours of x) = b, by sweeps of Gauss and Seidel from the x that there is.
void relax(const Model& m, Rim rim, Field& x, const Field& b, Real a, Real c, int sweeps) {
  const auto up = static_cast<std::size_t>(m.n + 2);
  for (int s = 0; s < sweeps; ++s) {
    for_cells(m, [&](Index, Index, std::size_t q) {
      x[q] = (b[q] + a * (x[q - 1] + x[q + 1] + x[q - up] + x[q + up])) / c;
    });
    fill_rim(m, rim, x);
  }
}

/// 1. What comes from jets.
void add_jets(const Model& m, const Params& params, State& s, Real dt) {
  for (const StableFluids::Jet& jet : params.jets) {
    if (s.time < static_cast<double>(jet.start) || s.time >= static_cast<double>(jet.stop)) continue;
    for_cells(m, [&](Index i, Index j, std::size_t q) {
      const Real x = m.h * (static_cast<Real>(i) - Real(0.5)) - jet.position.x(),
                 y = m.h * (static_cast<Real>(j) - Real(0.5)) - jet.position.y();
      const Real covered = std::clamp((jet.radius - std::hypot(x, y)) / m.h + Real(0.5), Real(0), Real(1));
      s.u[q] += dt * covered * jet.push.x();
      s.v[q] += dt * covered * jet.push.y();
      s.ink[q] += dt * covered * jet.ink;
    });
  }
}

/// 2. Backward Euler: x1 - dt k lap x1 = x0, stable for every dt. `before` is scratch memory.
void diffuse(const Model& m, Rim rim, Field& x, Field& before, Real k, Real dt, int sweeps) {
  if (k == 0) return;
  std::copy(x.begin(), x.end(), before.begin());
  const Real a = dt * k / (m.h * m.h);
  relax(m, rim, x, before, a, 1 + 4 * a, sweeps);
}

/// 3. Takes the gradient of a pressure away so that div u = 0: lap p = div u, u -= grad p, with central
/// differences. (Here p is the pressure times dt / density.)
void project(const Model& m, Field& u, Field& v, Field& p, Field& b, int sweeps) {
  const auto up = static_cast<std::size_t>(m.n + 2);
  for_cells(m, [&](Index, Index, std::size_t q) {
    b[q] = -m.h / 2 * ((u[q + 1] - u[q - 1]) + (v[q + up] - v[q - up]));
  });
  std::fill(p.begin(), p.end(), Real(0));
  relax(m, Rim::goes_on, p, b, 1, 4, sweeps);
  for_cells(m, [&](Index, Index, std::size_t q) {
    u[q] -= (p[q + 1] - p[q - 1]) / (2 * m.h);
    v[q] -= (p[q + up] - p[q - up]) / (2 * m.h);
  });
  fill_rim(m, Rim::no_flow_x, u);
  fill_rim(m, Rim::no_flow_y, v);
}

/// 4. Each cell takes what was where the flow (u, v) comes from: never more than there is, so it is stable
/// for every dt.
void advect(const Model& m, Rim rim, Field& to, const Field& from, const Field& u, const Field& v, Real dt) {
  const Real step = dt / m.h, low = Real(0.5), high = static_cast<Real>(m.n) + Real(0.5);
  for_cells(m, [&](Index i, Index j, std::size_t q) {
    const Real x = std::clamp(static_cast<Real>(i) - step * u[q], low, high),
               y = std::clamp(static_cast<Real>(j) - step * v[q], low, high);
    const auto i0 = static_cast<Index>(x), j0 = static_cast<Index>(y);
    const Real fx = x - static_cast<Real>(i0), fy = y - static_cast<Real>(j0);
    const auto row = [&](Index jj) { return (1 - fx) * from[m.at(i0, jj)] + fx * from[m.at(i0 + 1, jj)]; };
    to[q] = (1 - fy) * row(j0) + fy * row(j0 + 1);
  });
  fill_rim(m, rim, to);
}

}  // namespace

Report StableFluids::step(const Model& m, State& s, const Params& params, Workspace& w, Real dt) {
  Report report;
  for (Field* f : {&w.u, &w.v, &w.ink, &w.pressure, &w.divergence})
    if (f->size() != m.size()) f->assign(m.size(), 0);
  const int sweeps = params.sweeps;

  add_jets(m, params, s, dt);
  diffuse(m, Rim::no_flow_x, s.u, w.u, params.viscosity, dt, sweeps);
  diffuse(m, Rim::no_flow_y, s.v, w.v, params.viscosity, dt, sweeps);
  project(m, s.u, s.v, w.pressure, w.divergence, sweeps);
  // The flow carries itself: of what is carried there must be a copy.
  std::swap(s.u, w.u), std::swap(s.v, w.v);
  advect(m, Rim::no_flow_x, s.u, w.u, w.u, w.v, dt);
  advect(m, Rim::no_flow_y, s.v, w.v, w.u, w.v, dt);
  project(m, s.u, s.v, w.pressure, w.divergence, sweeps);

  diffuse(m, Rim::goes_on, s.ink, w.ink, params.ink_diffusion, dt, sweeps);
  fill_rim(m, Rim::goes_on, s.ink);
  std::swap(s.ink, w.ink);
  advect(m, Rim::goes_on, s.ink, w.ink, s.u, s.v, dt);

  s.time += static_cast<double>(dt);
  report.iterations = 2 * sweeps;
  return report;
}

Real StableFluids::max_dt(const Model&, const State&, const Params&) {
  return std::numeric_limits<Real>::infinity();
}

std::size_t StableFluids::memory(const Spec& spec) {
  return 8 * sizeof(Real) * static_cast<std::size_t>(spec.cells + 2) *
         static_cast<std::size_t>(spec.cells + 2);
}

void StableFluids::build(const Spec& spec, Model& m, State& s) {
  m.n = spec.cells;
  m.h = spec.size / static_cast<Real>(spec.cells);
  s = {};
  for (Field* f : {&s.u, &s.v, &s.ink}) f->assign(m.size(), 0);
}

void StableFluids::check(const Model& m, const State& s) {
  const auto fits = [&](const char* key, const Field& f) {
    if (f.size() != m.size())
      throw Error(Problem{.key = key,
                          .what = "has another number of items than the grid",
                          .value = fmt::format("{}", f.size()),
                          .allowed = fmt::format("{}", m.size())});
  };
  fits("velocity_x", s.u), fits("velocity_y", s.v), fits("ink", s.ink);
}

void StableFluids::fields(const Model&, State& s, FieldVisitor& visit) {
  visit({"velocity_x", "m/s", Centring::global}, s.u);
  visit({"velocity_y", "m/s", Centring::global}, s.v);
  visit({"ink", "1", Centring::global}, s.ink);
  visit({"time", "s", Centring::global}, s.time);
}

void StableFluids::geometry(const Model& m, const State& s, DrawableSink& sink) {
  // A sheet with a corner at each cell's centre, and at the middle of the walls beside it.
  std::vector<Vec3> x;
  std::vector<Real> values;
  std::vector<Index3> triangles;
  const auto along = [&](Index i) {
    return m.h * std::clamp(static_cast<Real>(i) - Real(0.5), Real(0), static_cast<Real>(m.n));
  };
  for (Index j = 0; j <= m.n + 1; ++j)
    for (Index i = 0; i <= m.n + 1; ++i) {
      x.push_back({along(i), along(j), 0});
      values.push_back(s.ink[m.at(i, j)]);
      if (i > m.n || j > m.n) continue;
      const auto a = static_cast<Index>(m.at(i, j)), b = a + 1, c = a + m.n + 2, d = c + 1;
      triangles.push_back({a, b, d});
      triangles.push_back({a, d, c});
    }
  TriangleView view{.x = x, .triangles = triangles, .look = Look::cloth};
  view.colour = {.values = values, .quantity = "ink", .unit = "1", .low = 0, .high = 1};
  sink.triangles(view);
}

void StableFluids::Jet::describe(Describer& d) {
  d("position", position,
    {.unit = "m", .min = -1e4, .max = 1e4, .doc = "of its middle, from the lower left corner"});
  d("radius", radius, {.unit = "m", .min = 0, .max = 1e4, .doc = "of the jet"});
  d("push", push, {.unit = "m/s^2", .min = -1e4, .max = 1e4, .doc = "acceleration of what is in it"});
  d("ink", ink, {.unit = "1/s", .min = 0, .max = 1e4, .doc = "that comes", .usual = 50});
  d("start", start, {.unit = "s", .min = -1e9, .max = 1e9, .doc = "when it begins"});
  d("stop", stop, {.unit = "s", .min = -1e9, .max = 1e9, .doc = "when it ends"});
}
void StableFluids::Spec::describe(Describer& d) {
  d("cells", cells, {.min = 2, .max = 2048, .doc = "along each side of the square"});
  d("size", size, {.unit = "m", .min = 1e-3, .max = 1e4, .doc = "of a side"});
}
void StableFluids::Params::describe(Describer& d) {
  d("viscosity", viscosity, {.unit = "m^2/s", .min = 0, .max = 1e4, .doc = "kinematic"});
  d("ink_diffusion", ink_diffusion, {.unit = "m^2/s", .min = 0, .max = 1e4, .doc = "of the ink"});
  d("sweeps", sweeps, {.min = 1, .max = 10000, .doc = "of Gauss and Seidel for each equation"});
  d("jets", jets, {.doc = "where ink comes from", .max_count = 1000});
}

static_assert(Buildable<StableFluids>);

}  // namespace plenum::inline PLENUM_ABI
