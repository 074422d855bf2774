// The gas as a medium: it drags particles and cloth along, and they drag it (elements/quadratic_drag.h).
// Samples come one after the other, each into the gas that the ones before have left.
#include <Eigen/Geometry>
#include <cmath>

#include "plenum/elements/quadratic_drag.h"
#include "plenum/solvers/smoke/detail/stages.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

namespace {

/// The faces of one component around a point and their weights, which sum up to one.
struct Around {
  std::array<std::size_t, 8> item;
  std::array<Real, 8> weight;
  int count = 0;

  Around(const Smoke::Model& m, int c, const Vec3& x) {
    std::array<std::array<Index, 2>, 3> at{};
    std::array<std::array<Real, 2>, 3> part = {{{1, 0}, {1, 0}, {1, 0}}};
    for (int axis = 0; axis < m.shape.dimensions(); ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const Index cells = m.shape.cells[a];
      Real g = (x[axis] - m.low[axis]) / m.h - (axis == c ? Real(0) : Real(0.5));
      if (m.box.sides[2 * a] == GridSide::periodic) {
        const auto n = static_cast<Real>(cells);
        g -= n * std::floor(g / n);
        g = g >= 0 && g < n ? g
                            : Real(0);  // by rounding, and where x is too far away for its place to be known
        const auto i = static_cast<Index>(g);
        at[a] = {i, (i + 1) % cells};
        part[a] = {1 - (g - static_cast<Real>(i)), g - static_cast<Real>(i)};
      } else {
        const Index last = cells - (axis == c ? 0 : 1);
        g = std::clamp(g, Real(0), static_cast<Real>(last));
        const Index i = std::min(static_cast<Index>(g), last - 1);
        at[a] = {i, i + 1};
        part[a] = {1 - (g - static_cast<Real>(i)), g - static_cast<Real>(i)};
      }
    }
    for (std::size_t k = 0; k < (m.shape.is_flat() ? 1 : 2); ++k)
      for (std::size_t j = 0; j < 2; ++j)
        for (std::size_t i = 0; i < 2; ++i) {
          item[static_cast<std::size_t>(count)] = m.shape.index(at[0][i], at[1][j], at[2][k]);
          weight[static_cast<std::size_t>(count++)] = part[0][i] * part[1][j] * part[2][k];
        }
  }
  Real value(std::span<const Real> q) const {
    Real sum = 0;
    for (std::size_t n = 0; n < static_cast<std::size_t>(count); ++n) sum += weight[n] * q[item[n]];
    return sum;
  }
  void add(Real change, std::vector<Real>& q) const {
    for (std::size_t n = 0; n < static_cast<std::size_t>(count); ++n) q[item[n]] += weight[n] * change;
  }
  Real squares() const {
    Real sum = 0;
    for (std::size_t n = 0; n < static_cast<std::size_t>(count); ++n) sum += weight[n] * weight[n];
    return sum;
  }
};

bool holds(const Smoke::Model& m, const Vec3& x) {
  for (int c = 0; c < m.shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    const Real g = (x[c] - m.low[c]) / m.h;
    if (m.box.sides[2 * a] != GridSide::periodic && !(g >= 0 && g <= static_cast<Real>(m.shape.cells[a])))
      return false;
  }
  return x.allFinite();
}

}  // namespace

void Smoke::Wind::probe(std::span<const Vec3> x, std::span<MediumProbe> out) const {
  parallel_for(x.size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      out[i] = {};
      if (!holds(*model, x[i])) continue;
      out[i].density = density;
      for (int c = 0; c < model->shape.dimensions(); ++c)
        out[i].velocity[c] = Around(*model, c, x[i]).value(state->velocity[c]);
    }
  });
}

void Smoke::Wind::immerse(std::size_t owner, const Samples& samples, Real h) {
  if (impulses.size() <= owner) impulses.resize(owner + 1);
  std::vector<Vec3>& given = impulses[owner];
  given.assign(samples.x.size(), Vec3::Zero());
  const int dimensions = model->shape.dimensions();
  const Real face_mass = density * model->h * model->h * (dimensions == 3 ? model->h : Real(1));
  for (std::size_t i = 0; i < samples.x.size(); ++i) {
    const Vec3& x = samples.x[i];
    if (!holds(*model, x)) continue;
    const std::array<Around, 3> around = {Around(*model, 0, x), Around(*model, 1, x),
                                          Around(*model, dimensions == 3 ? 2 : 0, x)};
    Vec3 w = -samples.v[i], lightness = Vec3::Zero();
    for (int c = 0; c < dimensions; ++c) {
      const auto a = static_cast<std::size_t>(c);
      w[c] += around[a].value(state->velocity[c]);
      lightness[c] = around[a].squares() / face_mass;
    }
    if (dimensions == 2) w.z() = 0;
    const Real area = drag_area(samples, i, drag, plate_drag, w);
    if (dimensions == 2) w.z() = 0;
    const Real speed = w.norm();
    if (!(speed > 0) || !(area > 0)) continue;
    const Vec3 j =
        drag_impulse(w, density, area, samples.inverse_mass[i] + (w / speed).cwiseAbs2().dot(lightness), h);
    given[i] = j;
    dragged_twice = dragged_twice || samples.has_air;
    for (int c = 0; c < dimensions; ++c) {
      const auto a = static_cast<std::size_t>(c);
      around[a].add(-j[c] / face_mass, state->velocity.along[a]);
    }
  }
}

void Smoke::Wind::reaction(std::size_t owner, std::span<Vec3> out) const {
  if (owner >= impulses.size()) return;
  const std::size_t n = std::min(out.size(), impulses[owner].size());
  std::copy_n(impulses[owner].begin(), n, out.begin());
}

Medium* Smoke::medium(const Model& m, State& s, const Params& params, Workspace& w) {
  w.wind.model = &m, w.wind.state = &s;
  w.wind.density = params.air_density;
  w.wind.drag = params.sphere_drag, w.wind.plate_drag = params.plate_drag;
  return &w.wind;
}

}  // namespace plenum::inline PLENUM_ABI
