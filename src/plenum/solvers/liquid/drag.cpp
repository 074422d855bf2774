// The liquid as a medium: it drags and lifts particles and cloth, and they push it.
//
// Drag of fast flow (elements/quadratic_drag.h), and of spheres the weight of what they displace (Archimedes)
// with the inertia of half as much that goes along with them (Lamb 1932, "Hydrodynamics", section 92),
// without which bubbles would be thrown up by hundreds of g. Samples come one after the other, each into the
// liquid that the ones before have left. Around a sample are the particles of the liquid that are nearer than
// a cell along each axis, with the grid's own weights; how much of these there is, over that of a full cell,
// says how deep it is immersed.
#include <Eigen/Geometry>
#include <cmath>
#include <numbers>
#include <utility>

#include "plenum/elements/quadratic_drag.h"
#include "plenum/solvers/liquid/detail/seam.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

namespace {

using Three = std::array<Index, 3>;

/// Numbers of cells along an axis, from the first to behind the last.
struct Run {
  Index low, end;
};
/// Cells next to one along an axis and itself: two runs of them around a seam.
struct Runs {
  std::array<Run, 2> runs;
  int count = 1;
  Runs(const Liquid::Model& m, const Three& cell, std::size_t a) {
    const Index n = m.shape.cells[a], at = cell[a];
    runs[0] = {std::max(at - 1, Index{0}), std::min(at + 2, n)};
    if (!m.is_periodic(a) || (at > 0 && at + 1 < n)) return;
    const Index beyond = at == 0 ? n - 1 : 0;
    if (beyond >= runs[0].low && beyond < runs[0].end) return;
    runs[1] = {beyond, beyond + 1}, count = 2;
  }
  template <class F>
  void for_each(F&& f) const {
    for (int r = 0; r < count; ++r)
      for (Index i = runs[static_cast<std::size_t>(r)].low; i < runs[static_cast<std::size_t>(r)].end; ++i)
        f(i);
  }
};
/// f(number of the first and last + 1 cell in a row) for the rows of cells around one.
template <class F>
void for_rows_around(const Liquid::Model& m, const Three& cell, F&& f) {
  const Runs along(m, cell, 0);
  Runs(m, cell, 2).for_each([&](Index k) {
    Runs(m, cell, 1).for_each([&](Index j) {
      for (int r = 0; r < along.count; ++r) {
        const Run& run = along.runs[static_cast<std::size_t>(r)];
        f(m.shape.index(run.low, j, k), m.shape.index(run.end - 1, j, k) + 1);
      }
    });
  });
}

/// [h] how far two places in the box are apart along an axis, by the shorter way around.
Real apart(const Liquid::Model& m, int c, Real a, Real b) {
  const auto axis = static_cast<std::size_t>(c);
  const Real d = std::abs(a - b) / m.h;
  return m.is_periodic(axis) ? std::min(d, std::abs(static_cast<Real>(m.shape.cells[axis]) - d)) : d;
}

/// [kg] of a particle of the liquid, of a flat grid a metre deep.
Real mass_of(const Liquid::Model& m, Real density) {
  return density * m.h * m.h * (m.shape.is_flat() ? Real(1) : m.h) / static_cast<Real>(m.per_cell());
}

}  // namespace

template <class F>
void Liquid::Drag::for_near(const Vec3& at, F&& f) const {
  const Vec3 x = wrapped(*model, at);
  Three cell;
  if (!find_cell(*model, x, cell)) return;
  const int dimensions = model->shape.dimensions();
  for_rows_around(*model, cell, [&](std::size_t begin, std::size_t end) {
    for (auto q = static_cast<std::size_t>(first[begin]); q < static_cast<std::size_t>(first[end]); ++q) {
      const Index p = near[q];
      Real weight = 1;
      for (int c = 0; c < dimensions; ++c)
        weight *= std::max(1 - apart(*model, c, state->x[static_cast<std::size_t>(p)][c], x[c]), Real(0));
      if (weight > 0) f(static_cast<std::size_t>(p), weight);
    }
  });
}

void Liquid::Drag::gather(std::span<const Vec3> x) {
  const Model& m = *model;
  first.assign(m.shape.size() + 1, 0);
  near.clear();
  // Cells around samples, then the particles in these.
  Three cell;
  bool any = false;
  for (const Vec3& at : x)
    if (find_cell(m, wrapped(m, at), cell)) {
      any = true;
      for_rows_around(m, cell, [&](std::size_t begin, std::size_t end) {
        std::fill(first.begin() + static_cast<std::ptrdiff_t>(begin),
                  first.begin() + static_cast<std::ptrdiff_t>(end), 1);
      });
    }
  if (!any) {
    first.assign(m.shape.size() + 1, 0);
    return;
  }
  found.clear();
  for (std::size_t p = 0; p < state->x.size(); ++p) {
    if (!find_cell(m, state->x[p], cell)) continue;
    const std::size_t at = m.shape.index(cell[0], cell[1], cell[2]);
    if (first[at] != 0) found.push_back({static_cast<Index>(at), static_cast<Index>(p)});
  }
  std::fill(first.begin(), first.end(), 0);
  for (const auto& [at, p] : found) ++first[static_cast<std::size_t>(at)];
  Index sum = 0;
  for (Index& n : first) n = std::exchange(sum, sum + n);
  near.resize(found.size());
  for (const auto& [at, p] : found) near[static_cast<std::size_t>(first[static_cast<std::size_t>(at)]++)] = p;
  std::copy_backward(first.begin(), first.end() - 1, first.end());
  first[0] = 0;
}

void Liquid::Drag::probe(std::span<const Vec3> x, std::span<MediumProbe> out) const {
  // Without an order of its particles: few are asked for.
  const int dimensions = model->shape.dimensions();
  parallel_for(x.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      out[i] = {};
      Real sum = 0;
      const Vec3 at = wrapped(*model, x[i]);
      Vec3 velocity = Vec3::Zero();
      for (std::size_t p = 0; p < state->x.size(); ++p) {
        Real weight = 1;
        for (int c = 0; c < dimensions && weight > 0; ++c)
          weight *= std::max(1 - apart(*model, c, state->x[p][c], at[c]), Real(0));
        sum += weight;
        velocity += weight * state->v[p];
      }
      if (!(sum > 0)) continue;
      out[i].density = density * std::min(sum / static_cast<Real>(model->per_cell()), Real(1));
      out[i].velocity = velocity / sum;
    }
  });
}

void Liquid::Drag::immerse(std::size_t owner, const Samples& samples, Real h) {
  if (impulses.size() <= owner) impulses.resize(owner + 1);
  std::vector<Vec3>& given = impulses[owner];
  given.assign(samples.x.size(), Vec3::Zero());
  if (samples.x.empty()) return;
  gather(samples.x);
  if (near.empty()) return;
  const bool flat = model->shape.is_flat();
  const Real particle = mass_of(*model, density), full = static_cast<Real>(model->per_cell());
  for (std::size_t i = 0; i < samples.x.size(); ++i) {
    const Vec3& x = samples.x[i];
    Real sum = 0, squares = 0;
    Vec3 momentum = Vec3::Zero();
    for_near(x, [&](std::size_t p, Real weight) {
      sum += weight, squares += weight * weight;
      momentum += weight * state->v[p];
    });
    if (!(sum > 0)) continue;
    const Real wet = std::min(sum / full, Real(1)), inverse_mass = samples.inverse_mass[i];
    Vec3 w = momentum / sum - samples.v[i];
    if (flat) w.z() = 0;
    // Of the liquid: by how much a unit of impulse changes its velocity here.
    const Real lightness = squares / (sum * sum * particle);
    const Real area = drag_area(samples, i, drag, plate_drag, w);
    if (flat) w.z() = 0;
    Real along_with = 0, displaced = 0;
    if (samples.area.empty()) {
      const Real radius = radius_of(samples, i);
      displaced = wet * density * Real(4) / 3 * std::numbers::pi_v<Real> * radius * radius * radius;
      if (inverse_mass > 0) along_with = displaced / 2;
    }
    // What moves as one with the sample makes it heavier.
    const Real share = 1 / (1 + along_with * inverse_mass), both = share * inverse_mass + lightness;
    // Drag of half-way through the step, of the second order in what falls at its last speed.
    if (inverse_mass > 0) {
      const Vec3 fallen = h / 2 * share * (1 - displaced * inverse_mass) * gravity;
      w -= samples.area.empty() ? fallen : Vec3(fallen.dot(samples.normal[i]) * samples.normal[i]);
      if (flat) w.z() = 0;
    }
    Vec3 j = drag_impulse(w, wet * density, area, both, h);
    j = share * (j - (displaced + along_with) * h * gravity);
    if (flat) j.z() = 0;
    given[i] = j;
    const Vec3 each = j / (sum * particle);
    for_near(x, [&](std::size_t p, Real weight) { state->v[p] -= weight * each; });
  }
}

void Liquid::Drag::reaction(std::size_t owner, std::span<Vec3> out) const {
  if (owner >= impulses.size()) return;
  const std::size_t n = std::min(out.size(), impulses[owner].size());
  std::copy_n(impulses[owner].begin(), n, out.begin());
}

Medium* Liquid::medium(const Model& m, State& s, const Params& params, Workspace& w) {
  if (m.has_level_set()) return nullptr;  // it is particles that take the impulses
  w.drag.model = &m, w.drag.state = &s;
  w.drag.gravity = params.gravity;
  w.drag.density = params.density;
  w.drag.drag = params.sphere_drag, w.drag.plate_drag = params.plate_drag;
  return &w.drag;
}

}  // namespace plenum::inline PLENUM_ABI
