#include "plenum/solvers/smoke/smoke.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plenum/base/independent.h"
#include "plenum/integrate/grid_diffusion.h"
#include "plenum/integrate/grid_projection.h"
#include "plenum/linear/vector_ops.h"
#include "plenum/math/wide.h"
#include "plenum/solvers/smoke/detail/stages.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

namespace {

using Model = Smoke::Model;
using State = Smoke::State;
using Params = Smoke::Params;
using Workspace = Smoke::Workspace;

/// Accelerations [m/s^2] that give back swirls: epsilon h (N x w), N = grad |w| / |grad |w||, at cell centres
/// into workspace.vorticity. Source: Steinhoff & Underhill 1994; Fedkiw, Stam & Jensen 2001, equations 9
/// to 11.
void confine_vorticity(const Model& m, const FaceField& velocity, Real epsilon, Workspace& w) {
  const GridShape& shape = m.shape;
  const int dimensions = shape.dimensions();
  for (int c = 0; c < 3; ++c)
    if (dimensions == 3 || c == 2) w.vorticity[static_cast<std::size_t>(c)].resize(shape.size());
  w.vorticity_size.resize(shape.size());
  const Real half = 1 / (4 * m.h);  // central differences of means of two faces
  // d u_c / d x_axis at the centre of a cell.
  const Real* const components[3] = {velocity[0].data(), velocity[1].data(), velocity[2].data()};
  const std::ptrdiff_t strides[3] = {shape.stride(0), shape.stride(1), shape.stride(2)};
  const auto slope = [&](int c, int axis, std::ptrdiff_t at) {
    const Real* u = components[c] + at;
    const std::ptrdiff_t s = strides[axis], up = strides[c];
    return half * ((u[s] + u[s + up]) - (u[-s] + u[-s + up]));
  };
  Real *wx = w.vorticity[0].data(), *wy = w.vorticity[1].data(), *wz = w.vorticity[2].data(),
       *size = w.vorticity_size.data();
  for_item_rows(shape, -1, [&](Index, Index, std::ptrdiff_t first, Index n) {
    const std::ptrdiff_t end = first + n;
    if (dimensions == 2) {
      PLENUM_INDEPENDENT
      for (std::ptrdiff_t at = first; at < end; ++at) {
        wz[at] = slope(1, 0, at) - slope(0, 1, at);
        size[at] = std::abs(wz[at]);
      }
      return;
    }
    PLENUM_INDEPENDENT
    for (std::ptrdiff_t at = first; at < end; ++at) {
      const Real x = slope(2, 1, at) - slope(1, 2, at), y = slope(0, 2, at) - slope(2, 0, at),
                 z = slope(1, 0, at) - slope(0, 1, at);
      wx[at] = x, wy[at] = y, wz[at] = z;
      size[at] = std::sqrt(x * x + y * y + z * z);
    }
  });
  fill_cell_ghosts(shape, m.box, 0, w.vorticity_size);
  const Real strength = epsilon * m.h;
  const std::ptrdiff_t sy = shape.stride(1), sz = shape.stride(2);
  // epsilon h / |g|; where there is no gradient any number will do, but for infinity.
  const auto scaled = [&](Real squared) { return strength / std::max(std::sqrt(squared), Real(1e-30)); };
  for_item_rows(shape, -1, [&](Index, Index, std::ptrdiff_t first, Index n) {
    const std::ptrdiff_t end = first + n;
    if (dimensions == 2) {
      // (gx, gy, 0) x (0, 0, z); the x component takes the place of nothing that is read.
      Real* fx = w.scalar.data();
      PLENUM_INDEPENDENT
      for (std::ptrdiff_t at = first; at < end; ++at) {
        const Real gx = size[at + 1] - size[at - 1], gy = size[at + sy] - size[at - sy];
        const Real scale = scaled(gx * gx + gy * gy), z = wz[at];
        fx[at] = scale * gy * z;
        wz[at] = -scale * gx * z;
      }
      return;
    }
    PLENUM_INDEPENDENT
    for (std::ptrdiff_t at = first; at < end; ++at) {
      const Real gx = size[at + 1] - size[at - 1], gy = size[at + sy] - size[at - sy],
                 gz = size[at + sz] - size[at - sz];
      const Real scale = scaled(gx * gx + gy * gy + gz * gz);
      const Real x = wx[at], y = wy[at], z = wz[at];
      wx[at] = scale * (gy * z - gz * y);
      wy[at] = scale * (gz * x - gx * z);
      wz[at] = scale * (gx * y - gy * x);
    }
  });
}

/// The most of its vorticity's velocity, h |w|, that confinement gives a cell in a step. It feeds the
/// shortest waves by exp(epsilon dt) a step, while interpolation takes from them no more in a long step than
/// in one of a cell: what gives them more than it takes grows without bound.
constexpr Real most_confined = Real(0.1);

/// The arrays that confine_vorticity left along axis c.
std::vector<Real>& confinement(const GridShape& shape, Workspace& w, int c) {
  if (shape.is_flat()) return c == 0 ? w.scalar : w.vorticity[2];
  return w.vorticity[static_cast<std::size_t>(c)];
}

/// forced = u + dt (forces): the body's acceleration, buoyancy in the approximation of Boussinesq, g (a soot
/// - b T) (Fedkiw, Stam & Jensen 2001, equation 8), and the confinement of vorticity.
void add_forces(const Model& m, const State& s, const Params& params, Workspace& w, Real dt) {
  const GridShape& shape = m.shape;
  const bool confines = params.vorticity_confinement > 0;
  if (confines) {
    confine_vorticity(m, s.velocity, std::min(params.vorticity_confinement, most_confined / dt), w);
    for (int c = 0; c < shape.dimensions(); ++c) fill_cell_ghosts(shape, m.box, 0, confinement(shape, w, c));
  }
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto axis = static_cast<std::size_t>(c);
    const std::ptrdiff_t below = shape.stride(c);
    const Real given = dt * params.acceleration[c], soot = dt * params.gravity[c] * params.soot_weight / 2,
               heat = -dt * params.gravity[c] * params.thermal_expansion / 2;
    const Real* extra = confines ? confinement(shape, w, c).data() : nullptr;
    for_item_rows(shape, c, [&](Index, Index, std::ptrdiff_t first, Index n) {
      const Real *u = s.velocity[c].data() + first, *rho = s.density.data() + first,
                 *t = s.temperature.data() + first;
      Real* out = w.forced.along[axis].data() + first;
      PLENUM_INDEPENDENT
      for (Index i = 0; i < n; ++i)
        out[i] = u[i] + given + soot * (rho[i] + rho[i - below]) + heat * (t[i] + t[i - below]);
      if (extra) {
        const Real* f = extra + first;
        PLENUM_INDEPENDENT
        for (Index i = 0; i < n; ++i) out[i] += dt / 2 * (f[i] + f[i - below]);
      }
    });
    fill_component_ghosts(shape, m.box, c, w.forced.along[axis]);
  }
}

/// Velocities within solids: none where the gas sticks to them, else those of the gas beside.
void fill_solids(const Model& m, FaceField& velocity) {
  if (m.known[3].empty()) return;
  for (int c = 0; c < m.shape.dimensions(); ++c) {
    const auto axis = static_cast<std::size_t>(c);
    if (m.solids_grip) {
      for_item_rows(m.shape, c, [&](Index, Index, std::ptrdiff_t first, Index n) {
        for (std::ptrdiff_t at = first; at < first + n; ++at)
          if (!m.known[axis][static_cast<std::size_t>(at)])
            velocity.along[axis][static_cast<std::size_t>(at)] = 0;
      });
    } else {
      extrapolate(m.shape, m.extrapolation[axis], velocity.along[axis]);
    }
  }
}

void advect_all(const Model& m, State& s, const Params& params, Workspace& w, Real dt) {
  const GridShape& shape = m.shape;
  const Real step = dt / m.h;
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto axis = static_cast<std::size_t>(c);
    advect(shape, m.box, s.velocity, step, params.advection, params.trace,
           {c, w.forced[c], w.moved.along[axis]}, w.advection,
           [&](std::span<Real> q) { fill_component_ghosts(shape, m.box, c, q); });
  }
  const bool bodies = w.immersed.any();
  const auto carry = [&](std::vector<Real>& q, Real decay) {
    if (!m.known[3].empty()) extrapolate(shape, m.extrapolation[3], q);
    if (bodies) extrapolate(shape, w.immersed.extrapolation[3], q);
    if (bodies || !m.known[3].empty()) fill_cell_ghosts(shape, m.box, 0, q);
    advect(shape, m.box, s.velocity, step, params.advection, params.trace, {-1, q, w.scalar}, w.advection,
           [&](std::span<Real> a) { fill_cell_ghosts(shape, m.box, 0, a); });
    const Real left = std::exp(-decay * dt);
    for_item_rows(shape, -1, [&](Index, Index, std::ptrdiff_t first, Index n) {
      Real* a = w.scalar.data() + first;
      for (Index i = 0; i < n; ++i) a[i] *= left;
      if (!m.known[3].empty())
        for (Index i = 0; i < n; ++i)
          if (!m.known[3][static_cast<std::size_t>(first + i)]) a[i] = 0;
    });
    fill_cell_ghosts(shape, m.box, 0, w.scalar);
    std::swap(q, w.scalar);
  };
  carry(s.density, params.settling);
  if (m.coloured)
    for (std::vector<Real>& channel : s.scattered) carry(channel, params.settling);
  carry(s.temperature, params.cooling);
  std::swap(s.velocity, w.moved);
}

void diffuse(const Model& m, State& s, const Params& params, Workspace& w, Real dt, Report& report) {
  const GridShape& shape = m.shape;
  const Real number = params.viscosity * dt / (m.h * m.h);
  const bool bodies = w.immersed.any(), grips = bodies && m.solids_grip;
  if (grips) {
    find_grip(m, w);
    expect_rubbing(m, params, w, number, s.velocity);
  }
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto axis = static_cast<std::size_t>(c);
    DiffusedItems items{.end = shape.cells,
                        .moves = bodies ? w.immersed.known[axis] : m.known[axis],
                        .cling = grips ? w.immersed.cling[axis] : m.cling[axis]};
    // Faces on the sides are given there, or follow from what is beside them; those of periodic axes are one.
    if (m.box.sides[2 * axis] != GridSide::periodic) items.begin[axis] = 1;
    std::vector<Real>& u = s.velocity.along[axis];
    std::vector<Real>& from = w.moved.along[axis];
    const auto fill = [&](std::span<Real> q) { fill_component_ghosts(shape, m.box, c, q); };
    // Faces in solids through whose other part something flows stand still where it clings.
    for (std::size_t at = 0; at < m.cling[axis].size(); ++at)
      if (m.cling[axis][at] < 0) u[at] = 0;
    if (grips) hold_gas(w, c, u);
    fill(u);
    std::copy(u.begin(), u.end(), from.begin());
    if (params.diffusion == Smoke::Diffusion::explicit_euler) {
      diffuse_explicitly(shape, items, number, from, u);
      if (grips) {
        pull_gas(w, c, number, from, u, true);
        rub_bodies(m, params, w, c, number, from, u);
      }
      fill(u);
      continue;
    }
    Real size = 0, change = 0;
    for (const Real value : from) size = std::max(size, std::abs(value));
    constexpr int most_sweeps = 400;
    const Real tolerance = size * 10 * std::numeric_limits<Real>::epsilon();
    if (grips) pull_gas(w, c, number, u, from, false);
    const int sweeps =
        diffuse_implicitly(shape, items, number, from, u, fill, tolerance, most_sweeps, change);
    if (grips) rub_bodies(m, params, w, c, number, u, u);
    report.iterations += sweeps;
    if (sweeps == most_sweeps && change > Real(1e-4) * size)
      report.warn("viscosity did not converge in its sweeps; lower viscosity or shorten the step");
  }
  if (grips) take_rubbing(w);
}

/// Largest speed along one axis [m/s].
double largest_speed(const GridShape& shape, const FaceField& velocity) {
  double most = 0;
  for (int c = 0; c < shape.dimensions(); ++c) {
    const std::span<const Real> u = velocity[c];
    most = std::max(most, ordered_reduce(
                              u.size(), 8192, 0.0,
                              [&](std::size_t begin, std::size_t end) {
                                detail::Wide part{};
                                std::size_t i = begin;
                                for (; i + detail::wide <= end; i += detail::wide) {
                                  const detail::Wide a = detail::load_wide(&u[i]);
                                  part = detail::max(detail::max(a, -a), part);
                                }
                                Real most = 0;
                                for (int l = 0; l < detail::wide; ++l) most = std::max(most, part[l]);
                                for (; i < end; ++i) most = std::max(most, std::abs(u[i]));
                                return static_cast<double>(most);
                              },
                              [](double a, double b) { return std::max(a, b); }));
  }
  return most;
}

/// [m/s] Sum over the faces of sides that something flows in by, or out: what passes each, whichever way.
double sum_of_inflow(const Model& m, const FaceField& open, const FaceField& velocity) {
  const GridShape& shape = m.shape;
  double sum = 0;
  for (std::size_t side = 0; side < 2 * static_cast<std::size_t>(shape.dimensions()); ++side) {
    if (m.box.sides[side] != GridSide::inflow) continue;
    const std::size_t axis = side / 2;
    std::array<Index, 3> low = {0, 0, 0}, high = shape.cells;
    low[axis] = side % 2 ? shape.cells[axis] : 0, high[axis] = low[axis] + 1;
    const std::vector<Real>&u = velocity.along[axis], &part = open.along[axis];
    for (Index k = low[2]; k < high[2]; ++k)
      for (Index j = low[1]; j < high[1]; ++j)
        for (Index i = low[0]; i < high[0]; ++i) {
          const std::size_t face = shape.index(i, j, k);
          sum += std::abs(static_cast<double>(u[face] * (part.empty() ? Real(1) : part[face])));
        }
  }
  return sum;
}

void project(const Model& m, State& s, const Params& params, Workspace& w, Real dt, Report& report) {
  const GridShape& shape = m.shape;
  const bool bodies = w.immersed.any();
  if (!bodies && !w.pressure.is_made())
    w.pressure = PressureSolver(
        grid_poisson(shape, m.box.pressure_sides(), {.x = m.open[0], .y = m.open[1], .z = m.open[2]}));
  PressureSolver& solver = bodies ? pressure_around_bodies(m, w) : w.pressure;
  const FaceField& open = bodies ? w.immersed.open : m.open;
  const RowLayout& layout = solver.poisson().layout;
  const DivergenceMeasure before = negative_divergence(shape, s.velocity, open, layout, solver.b);
  const double scale =
      static_cast<double>(dt) / (static_cast<double>(params.air_density) * static_cast<double>(m.h));
  for_item_rows(shape, -1, [&](Index j, Index k, std::ptrdiff_t first, Index n) {
    double* x = solver.x.data() + layout.row(j, k);
    for (Index i = 0; i < n; ++i)
      x[i] = scale * static_cast<double>(s.pressure[static_cast<std::size_t>(first + i)]);
    if (!bodies) return;
    for (Index i = 0; i < n; ++i)
      if (!w.immersed.known[3][static_cast<std::size_t>(first + i)]) x[i] = 0;
  });
  if (bodies) {
    lift_bodies(m, params, w, dt);
    tie_bodies(m, params, w);
  }
  const double speed = largest_speed(shape, s.velocity);
  const double inflow = bodies ? sum_of_inflow(m, open, s.velocity) : 0;
  // Velocities are known to a rounding each, and so is their divergence: a quarter of an ulp in the mean, by
  // the root of six (four) faces.
  double squares = 0;
  for (int c = 0; c < shape.dimensions(); ++c) squares += dot(s.velocity[c], s.velocity[c]);
  const double rounding =
      static_cast<double>(std::numeric_limits<Real>::epsilon()) / 4 * std::sqrt(2 * squares);
  const SolveReport solved = solver.solve(
      params.pressure_solver, {.relative_tolerance = static_cast<double>(params.pressure_tolerance),
                               .absolute_tolerance = rounding,
                               .max_iterations = params.pressure_iterations});
  if (bodies) push_bodies(m, params, w);
  subtract_gradient(shape, m.box, open, solver.poisson(), solver.x, s.velocity);
  for_item_rows(shape, -1, [&](Index j, Index k, std::ptrdiff_t first, Index n) {
    const double* x = solver.x.data() + layout.row(j, k);
    for (Index i = 0; i < n; ++i)
      s.pressure[static_cast<std::size_t>(first + i)] = static_cast<Real>(x[i] / scale);
  });
  report.iterations += solved.iterations;
  report.measure("pressure_iterations", solved.iterations);
  report.measure("pressure_residual", solved.residual);
  report.measure("cfl", speed * static_cast<double>(dt) / static_cast<double>(m.h));
  report.measure("divergence_before", before.most / static_cast<double>(m.h), "1/s");
  if (const char* misfit = misfit_of(params.pressure_solver, solver.method_for(params.pressure_solver)))
    report.warn(misfit);
  // Bodies that go through a wall take the gas's place or leave it: beside them only what is as much as a
  // side brings in, shared by all cells, counts.
  const bool overflows =
      bodies
          ? inflow > 0 && solver.imbalance() > inflow / (4 * static_cast<double>(shape.num_cells()))
          : solver.imbalance() > 1e-3 * std::max(before.most, 1e-30) && speed > 0 &&
                solver.imbalance() > 10 * speed * static_cast<double>(std::numeric_limits<Real>::epsilon());
  if (overflows) report.warn("more flows into a closed region than out of it; give the box an outflow");
  // What sweeps are asked to do in a given number is not expected to converge.
  const bool sweeps = params.pressure_solver == PressureMethod::jacobi ||
                      params.pressure_solver == PressureMethod::gauss_seidel ||
                      params.pressure_solver == PressureMethod::sor;
  // Nobody sees what moves a millionth of a cell.
  const bool moves = speed * static_cast<double>(dt) > 1e-6 * static_cast<double>(m.h);
  if (!overflows && moves && !solved.converged() && !sweeps &&
      solved.residual > 10 * static_cast<double>(params.pressure_tolerance))
    report.warn("the projection did not converge; raise pressure_iterations or pressure_tolerance");
}

}  // namespace

Real Smoke::max_dt(const Model& m, const State&, const Params& params) {
  if (params.viscosity > 0 && params.diffusion == Diffusion::explicit_euler)
    return largest_diffusion_number(m.shape) * m.h * m.h / params.viscosity;
  return std::numeric_limits<Real>::infinity();
}

Report Smoke::step(const Model& m, State& s, const Params& params, Workspace& w, Real dt) {
  Report report;
  const GridShape& shape = m.shape;
  for (FaceField* field : {&w.forced, &w.moved})
    for (int c = 0; c < shape.dimensions(); ++c) {
      std::vector<Real>& a = field->along[static_cast<std::size_t>(c)];
      if (a.size() != shape.size()) a.assign(shape.size(), 0);
    }
  if (w.scalar.size() != shape.size()) w.scalar.assign(shape.size(), 0);
  begin_bodies(m, s, w, dt);
  const bool bodies = w.immersed.any();
  if (bodies) {
    const StageTimer timer(report.stages, "bodies");
    place_bodies(m, w, false);
  }
  {
    const StageTimer timer(report.stages, "sources");
    add_sources(m, s, params, dt);
    stir_gas(m, s, params, w, dt);
    fill_solids(m, s.velocity);
    fill_velocity_ghosts(shape, m.box, s.velocity);
    fill_cell_ghosts(shape, m.box, 0, s.density);
    fill_cell_ghosts(shape, m.box, 0, s.temperature);
    if (m.coloured)
      for (std::vector<Real>& channel : s.scattered) fill_cell_ghosts(shape, m.box, 0, channel);
  }
  {
    const StageTimer timer(report.stages, "forces");
    add_forces(m, s, params, w, dt);
    if (params.vorticity_confinement * dt > most_confined)
      report.warn("vorticity_confinement is held to a tenth over the step's length; shorten the step");
  }
  {
    const StageTimer timer(report.stages, "advection");
    advect_all(m, s, params, w, dt);
  }
  if (bodies) {
    const StageTimer timer(report.stages, "bodies");
    place_bodies(m, w, true);
    for (std::vector<Real>* q : {&s.density, &s.temperature}) clear_bodies(m, w, *q);
    for (std::vector<Real>& channel : s.scattered)
      if (m.coloured) clear_bodies(m, w, channel);
  }
  if (params.viscosity > 0) {
    const StageTimer timer(report.stages, "diffusion");
    if (bodies) fill_bodies(m, w, s.velocity);
    fill_solids(m, s.velocity);
    diffuse(m, s, params, w, dt, report);
  }
  {
    const StageTimer timer(report.stages, "projection");
    fill_velocity_ghosts(shape, m.box, s.velocity);
    project(m, s, params, w, dt, report);
    if (bodies) fill_bodies(m, w, s.velocity);
    fill_solids(m, s.velocity);
    fill_velocity_ghosts(shape, m.box, s.velocity);
  }
  end_bodies(s, w);
  s.time += static_cast<double>(dt);
  const auto is_dyed = [](const auto& from) { return from.colour != soot_albedo; };
  if (!m.coloured && (std::any_of(params.sources.begin(), params.sources.end(), is_dyed) ||
                      std::any_of(params.brushes.begin(), params.brushes.end(), is_dyed)))
    report.warn("the colours of sources and brushes do nothing; set model.coloured");
  if (std::exchange(w.wind.dragged_twice, false))
    report.warn("cloth in it is dragged by air of its own besides; set that cloth's air_density to 0");
  if (params.report_energy) report.measure("kinetic_energy", kinetic_energy(m, s, params.air_density), "J");
  return report;
}

void Smoke::meet(Workspace& w, std::span<const SolidBody> bodies) {
  w.immersed.told.assign(bodies.begin(), bodies.end());
}

Aabb Smoke::stirred_box(const Model& m) {
  const Vec3 size = m.h * Vec3(static_cast<Real>(m.shape.cells[0]), static_cast<Real>(m.shape.cells[1]),
                               static_cast<Real>(m.shape.cells[2]));
  Aabb box{m.low, m.low + size};
  if (m.shape.is_flat()) box.low.z() = box.high.z() = m.low.z() + m.h / 2;
  return box;
}

double Smoke::kinetic_energy(const Model& m, const State& s, Real air_density) {
  const GridShape& shape = m.shape;
  double sum = 0;
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto axis = static_cast<std::size_t>(c);
    std::array<Index, 3> n = shape.cells;
    const bool wraps = m.box.sides[2 * axis] == GridSide::periodic;
    if (!wraps) ++n[axis];
    const auto ny = static_cast<std::size_t>(n[1]);
    sum += ordered_sum(ny * static_cast<std::size_t>(n[2]), 16, [&](std::size_t begin, std::size_t end) {
      double part = 0;
      for (std::size_t row = begin; row < end; ++row)
        for (Index i = 0; i < n[0]; ++i) {
          const auto j = static_cast<Index>(row % ny), k = static_cast<Index>(row / ny);
          const std::size_t at = shape.index(i, j, k);
          const Index along = c == 0 ? i : c == 1 ? j : k;
          const bool outer = !wraps && (along == 0 || along == shape.cells[axis]);
          const double open = m.open[c].empty() ? 1 : static_cast<double>(m.open[c][at]);
          const double u = static_cast<double>(s.velocity[c][at]);
          part += (outer ? 0.5 : 1.0) * open * u * u;
        }
      return part;
    });
  }
  const double h = static_cast<double>(m.h);
  return sum / 2 * static_cast<double>(air_density) * h * h * (shape.is_flat() ? 1 : h);
}

void Smoke::fields(const Model& m, State& s, FieldVisitor& visit) {
  visit({"velocity_x", "m/s", Centring::global}, s.velocity.along[0]);
  visit({"velocity_y", "m/s", Centring::global}, s.velocity.along[1]);
  visit({"velocity_z", "m/s", Centring::global}, s.velocity.along[2]);
  visit({"density", "kg/m^3", Centring::global}, s.density);
  visit({"scattered_red", "kg/m^3", Centring::global}, s.scattered[0]);
  visit({"scattered_green", "kg/m^3", Centring::global}, s.scattered[1]);
  visit({"scattered_blue", "kg/m^3", Centring::global}, s.scattered[2]);
  visit({"temperature", "K", Centring::global}, s.temperature);
  visit({"pressure", "Pa", Centring::global}, s.pressure);
  visit({"time", "s", Centring::global}, s.time);
  visit({"brushed", "m", Centring::global}, s.brushed);
  s.holds.fields(visit);
  visit.derived({"speed", "m/s", Centring::cell}, [&](std::vector<Real>& out) {
    out.clear();
    out.reserve(m.shape.num_cells());
    for (Index k = 0; k < m.shape.cells[2]; ++k)
      for (Index j = 0; j < m.shape.cells[1]; ++j)
        for (Index i = 0; i < m.shape.cells[0]; ++i) {
          Real sum = 0;
          for (int c = 0; c < m.shape.dimensions(); ++c) {
            const std::size_t at = m.shape.index(i, j, k);
            const Real u =
                (s.velocity[c][at] + s.velocity[c][at + static_cast<std::size_t>(m.shape.stride(c))]) / 2;
            sum += u * u;
          }
          out.push_back(std::sqrt(sum));
        }
  });
}

}  // namespace plenum::inline PLENUM_ABI
