#include "plenum/solvers/liquid/liquid.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/solvers/liquid/detail/emit.h"
#include "plenum/solvers/liquid/detail/level_set.h"
#include "plenum/solvers/liquid/detail/seam.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

namespace {

/// Layers of faces around the liquid's that are given velocities: those that a particle can reach in a part
/// of a step and two more, within bounds. A particle may be a cell away from those that have a pressure
/// (leave_shallow_cells), and asks the faces across the edges and corners of its own.
int layers_for(const Liquid::Model& m, double speed, Real dt) {
  const double ways = speed * static_cast<double>(dt) / static_cast<double>(m.h);
  return static_cast<int>(std::clamp(std::ceil(ways) + 2, 3.0, 6.0));
}

constexpr const char* goes_through_thin =
    "a level set goes through bodies that are, or as meshes and hulls may be, thinner than two cells; make "
    "them thicker, the cells smaller, or the tracker particles";

/// Cells that a part of a step may cross before a volume is no longer held: a dam that crosses four to ten
/// lacks a fifth to two thirds of it.
constexpr double most_cells_crossed = 3;
constexpr const char* coarse_parts =
    "the liquid crosses more than three cells in each part of a step and loses volume; raise most_parts, "
    "lower "
    "cfl or take shorter steps";

double particle_mass(const Liquid::Model& m, Real density) {
  const auto h = static_cast<double>(m.h);
  return static_cast<double>(density) * h * h * (m.shape.is_flat() ? 1 : h) / m.per_cell();
}

/// One part of a step.
void step_part(const Liquid::Model& m, Liquid::State& s, const Liquid::Params& params, Liquid::Workspace& w,
               double speed, Real dt, Real s0, Real s1, int& reseeded, Report& report) {
  const int layers = layers_for(m, speed, dt);
  const bool bodies = w.immersed.any();
  if (bodies) {
    const StageTimer timer(report.stages, "bodies");
    place_bodies(m, w, s0, dt);
    find_led_velocities(w, dt, s0, s1);
    if (s.time > 0) sweep_thin_bodies(m, s, w);
    clear_bodies(m, s, w);
  }
  find_wall_parts(m, w);
  {
    const StageTimer timer(report.stages, "sorting");
    sort_particles(m, s, w, static_cast<Index>(layers));
    if (!params.sources.empty() && emit_liquid(m, s, params, w))
      sort_particles(m, s, w, static_cast<Index>(layers));
  }
  if (!w.walls.empty() && !w.occupied.is_empty()) leave_far_sides(m, s, w);
  if (w.slab_begin.back() < s.x.size()) {
    bool lost = false;
    for (std::size_t side = 0; side < 6; ++side) lost = lost || m.is_open(side);
    if (!lost) report.warn("particles left the closed box; shorten the step", 1);
  }
  {
    const StageTimer timer(report.stages, "particles_to_faces");
    particles_to_faces(m, s, params, w);
  }
  const double begin = s.time;
  s.time += static_cast<double>(dt);
  open_inlets(m, params, w, begin, s.time);
  if (w.occupied.is_empty()) {
    if (bodies) move_bodies(w, dt / 2);
    let_in(m, s, params, w, begin, s.time);
    return;
  }
  {
    const StageTimer timer(report.stages, "faces");
    close_holes(m, w);
    leave_shallow_cells(m, w);
    if (bodies) find_sunk_cells(m, w);
    find_velocities(m, params, w, dt);
    if (!w.walls.empty()) set_wall_faces(m, w);
    set_inlet_faces(m, w);
    wrap_velocities(m, w);
  }
  if (params.viscosity > 0) diffuse_liquid(m, params, w, dt, report);
  project_liquid(m, s, params, w, dt, report);
  if (bodies) move_bodies(w, dt / 2);
  if (params.volume_rate > 0) spread_crowds(m, s, params, w, dt, report);
  {
    const StageTimer timer(report.stages, "faces");
    extrapolate_velocities(m, w, layers);
  }
  {
    const StageTimer timer(report.stages, "faces_to_particles");
    if (params.reseed) reseeded += reseed_particles(m, s, w);
    faces_to_particles(m, s, params, w, dt);
    let_in(m, s, params, w, begin, s.time);
  }
  if (bodies) {
    const StageTimer timer(report.stages, "bodies");
    lead_bodies(w, s1);
    sweep_thin_bodies(m, s, w);
  }
}

/// One part of a step of a liquid that a level set tracks.
void step_level_set(const Liquid::Model& m, Liquid::State& s, const Liquid::Params& params,
                    Liquid::Workspace& w, double speed, Real dt, Real s0, Real s1, Report& report) {
  // Phi is carried as far from the surface as its band reaches, and asks the faces a layer farther; the
  // surface itself through fewer.
  const int crossed = layers_for(m, speed, dt) - 2, layers = crossed + 4;
  const bool bodies = w.immersed.any();
  if (bodies) {
    const StageTimer timer(report.stages, "bodies");
    place_bodies(m, w, s0, dt);
    find_led_velocities(w, dt, s0, s1);
    if (s.time == 0) {  // what starts in a body is none of the liquid
      mirror_in_bodies(m, s, w);
      s.volume_wanted = level_set_volume(m, s, &w);
    }
  }
  find_wall_parts(m, w);
  const double begin = s.time;
  s.time += static_cast<double>(dt);
  {
    const StageTimer timer(report.stages, "faces");
    open_inlets(m, params, w, begin, s.time);
    emit_to_level_set(m, params, s, w);
    load_level_set(m, s, w);
    if (w.occupied.is_empty()) {
      if (bodies) move_bodies(w, dt / 2);
      return;
    }
    if (bodies) find_sunk_cells(m, w);
    find_velocities(m, params, w, dt);
    if (!w.walls.empty()) set_wall_faces(m, w);
    set_inlet_faces(m, w);
  }
  if (params.viscosity > 0) diffuse_liquid(m, params, w, dt, report);
  project_liquid(m, s, params, w, dt, report);
  if (bodies) {
    move_bodies(w, dt / 2);
    lead_bodies(w, s1);
  }
  count_passing(m, s, w, dt);
  if (params.volume_rate > 0) restore_volume(m, s, params, w, dt, report);
  {
    const StageTimer timer(report.stages, "faces");
    extrapolate_velocities(m, w, layers, crossed);
  }
  carry_level_set(m, s, params, w, dt, report);
}

}  // namespace

Real Liquid::max_dt(const Model&, const State&, const Params&) {
  return std::numeric_limits<Real>::infinity();
}

Report Liquid::step(const Model& m, State& s, const Params& params, Workspace& w, Real dt) {
  Report report;
  double squares = 0;
  for (const LiquidSource& source : params.sources)
    squares = std::max(squares, static_cast<double>(source.velocity.squaredNorm()));
  squares = std::max(squares, ordered_reduce(
                                  s.v.size(), 8192, 0.0,
                                  [&](std::size_t begin, std::size_t end) {
                                    Real most = 0;
                                    for (std::size_t p = begin; p < end; ++p)
                                      most = std::max(most, s.v[p].squaredNorm());
                                    return static_cast<double>(most);
                                  },
                                  [](double a, double b) { return std::max(a, b); }));
  squares = std::max(squares, std::pow(fastest_inlet(m, params), 2));
  if (m.has_level_set()) squares = std::max(squares, std::pow(fastest_of_level_set(m, s), 2));
  begin_bodies(m, s, w, dt);
  if (m.has_level_set()) report.warn(goes_through_thin, count_thin_parts(w));
  squares = std::max(squares, std::pow(fastest_body(w, dt), 2));
  // What gravity adds in the step counts too.
  const double speed = std::sqrt(squares) + static_cast<double>(params.gravity.norm() * dt);
  const double ways = speed * static_cast<double>(dt) / static_cast<double>(m.h);
  const int parts = static_cast<int>(std::clamp(std::ceil(ways / static_cast<double>(params.cfl)), 1.0,
                                                static_cast<double>(params.most_parts)));
  if (ways > most_cells_crossed * parts) report.warn(coarse_parts);
  int reseeded = 0;
  with_ready_threads([&] {
    const auto part = [&](int k) { return static_cast<Real>(k) / static_cast<Real>(parts); };
    for (int k = 0; k < parts; ++k) {
      const Real length = dt / static_cast<Real>(parts);
      if (m.has_level_set())
        step_level_set(m, s, params, w, speed, length, part(k), part(k + 1), report);
      else
        step_part(m, s, params, w, speed, length, part(k), part(k + 1), reseeded, report);
    }
  });
  end_bodies(s, w);
  report.measure("particles", static_cast<double>(m.has_level_set() ? s.correction.size() : s.x.size()));
  report.measure("cfl", ways / parts);
  report.measure("parts", parts);
  report.measure("reseeded", reseeded);
  if (params.measure) {
    report.measure("kinetic_energy", kinetic_energy(m, s, params.density, &w), "J");
    report.measure("potential_energy", potential_energy(m, s, params, &w), "J");
    report.measure("volume", volume(m, s, &w), m.shape.is_flat() ? "m^2" : "m^3");
  }
  return report;
}

void Liquid::meet(Workspace& w, std::span<const SolidBody> bodies) {
  w.immersed.told.assign(bodies.begin(), bodies.end());
}
std::span<const BodyImpulse> Liquid::pushes(const Workspace& w) {
  return w.immersed.pushes;
}

double Liquid::kinetic_energy(const Model& m, const State& s, Real density, const Workspace* flowed) {
  if (m.has_level_set()) {
    const WetParts wet(m, s, flowed);
    double sum = 0;
    for (int c = 0; c < m.shape.dimensions(); ++c)
      sum += sum_over_rows(ItemBox{{0, 0, 0}, m.shape.cells}, [&](Index j, Index k) {
        const std::size_t row = m.shape.index(0, j, k);
        const auto stride = static_cast<std::size_t>(m.shape.stride(c));
        Real row_sum = 0;
        for (std::size_t cell = row; cell < row + static_cast<std::size_t>(m.shape.cells[0]); ++cell) {
          const Real full = wet.of(cell);
          if (!(full > 0)) continue;
          const Real *u = s.velocity[c].data() + cell, low = u[0], high = u[stride];
          row_sum += full * (low * low + high * high) / 2;
        }
        return static_cast<double>(row_sum);
      });
    return particle_mass(m, density) * m.per_cell() / 2 * sum;
  }
  return particle_mass(m, density) / 2 *
         ordered_sum(s.v.size(), 8192, [&](std::size_t begin, std::size_t end) {
           double sum = 0;
           for (std::size_t p = begin; p < end; ++p) sum += static_cast<double>(s.v[p].squaredNorm());
           return sum;
         });
}

double Liquid::potential_energy(const Model& m, const State& s, const Params& params,
                                const Workspace* flowed) {
  // Along a periodic axis gravity has no potential.
  Vec3 gravity = params.gravity;
  for (int c = 0; c < m.shape.dimensions(); ++c)
    if (m.is_periodic(static_cast<std::size_t>(c))) gravity[c] = 0;
  if (m.has_level_set()) {
    const WetParts wet(m, s, flowed);
    return -particle_mass(m, params.density) * m.per_cell() *
           sum_over_rows(ItemBox{{0, 0, 0}, m.shape.cells}, [&](Index j, Index k) {
             double sum = 0;
             for (Index i = 0; i < m.shape.cells[0]; ++i) {
               const std::size_t cell = m.shape.index(i, j, k);
               const Vec3 centre =
                   m.h * Vec3(static_cast<Real>(i) + Real(0.5), static_cast<Real>(j) + Real(0.5),
                              static_cast<Real>(k) + Real(0.5));
               sum += static_cast<double>(wet.of(cell) * gravity.dot(centre));
             }
             return sum;
           });
  }
  return -particle_mass(m, params.density) *
         ordered_sum(s.x.size(), 8192, [&](std::size_t begin, std::size_t end) {
           double sum = 0;
           for (std::size_t p = begin; p < end; ++p) sum += static_cast<double>(gravity.dot(s.x[p] - m.low));
           return sum;
         });
}

double Liquid::volume(const Model& m, const State& s, const Workspace* flowed) {
  if (m.has_level_set()) return level_set_volume(m, s, flowed);
  std::vector<Real> full;
  fullness(m, s, full);
  const GridShape& shape = m.shape;
  double sum = 0;
  for (Index k = 0; k < shape.cells[2]; ++k)
    for (Index j = 0; j < shape.cells[1]; ++j)
      for (Index i = 0; i < shape.cells[0]; ++i) {
        const std::size_t at = shape.index(i, j, k);
        if (m.capacity[at] < Real(0.5)) continue;
        sum += static_cast<double>(std::clamp(depth_of(full[at]) + Real(0.5), Real(0), Real(1)));
      }
  const auto h = static_cast<double>(m.h);
  return sum * h * h * (shape.is_flat() ? 1 : h);
}

void Liquid::fullness(const Model& m, const State& s, std::vector<Real>& out) {
  const GridShape& shape = m.shape;
  out.assign(shape.size(), 0);
  if (m.has_level_set()) {
    for (std::size_t at = 0; at < out.size(); ++at) out[at] = fullness_of(-s.phi[at] / m.h);
    return;
  }
  const int dimensions = shape.dimensions();
  const Real share = Real(1) / static_cast<Real>(m.per_cell());
  for (const Vec3& x : s.x) {
    std::array<Index, 3> low{};
    std::array<std::array<Real, 2>, 3> weight = {{{1, 0}, {1, 0}, {1, 0}}};
    bool in = true;
    for (int c = 0; c < dimensions; ++c) {
      const auto a = static_cast<std::size_t>(c);
      const Real g = (x[c] - m.low[c]) / m.h + Real(0.5);
      in = in && g >= 0 && g < static_cast<Real>(shape.cells[a] + 1);
      if (!in) break;
      low[a] = static_cast<Index>(g) - 1;
      const Real t = g - static_cast<Real>(low[a] + 1);
      weight[a] = {1 - t, t};
    }
    if (!in) continue;
    for (Index k = 0; k < (dimensions == 3 ? 2 : 1); ++k)
      for (Index j = 0; j < 2; ++j)
        for (Index i = 0; i < 2; ++i)
          out[shape.index(low[0] + i, low[1] + j, low[2] + k)] +=
              share * weight[0][static_cast<std::size_t>(i)] * weight[1][static_cast<std::size_t>(j)] *
              weight[2][static_cast<std::size_t>(k)];
  }
  const std::array<bool, 3> periodic = periodic_axes(m);
  fold_items<1>(shape, periodic, grown(shape, CellWindow{.high = shape.cells}, 1, 1), out.data());
  wrap_items<1>(shape, periodic, all_items(shape), out.data());
  for (std::size_t at = 0; at < out.size(); ++at) out[at] /= std::max(m.capacity[at], least_capacity);
}

void Liquid::fields(const Model& m, State& s, FieldVisitor& visit) {
  visit({"position", "m", Centring::particle}, s.x);
  visit({"velocity", "m/s", Centring::particle}, s.v);
  visit({"gradient_of_u", "1/s", Centring::global}, s.du);
  visit({"gradient_of_v", "1/s", Centring::global}, s.dv);
  visit({"gradient_of_w", "1/s", Centring::global}, s.dw);
  visit({"pressure", "Pa", Centring::global}, s.pressure);
  visit({"time", "s", Centring::global}, s.time);
  visit({"num_emitted", "", Centring::global}, s.num_emitted);
  if (m.has_level_set()) {
    visit({"phi", "m", Centring::global}, s.phi);
    visit({"face_velocity_x", "m/s", Centring::global}, s.velocity.along[0]);
    visit({"face_velocity_y", "m/s", Centring::global}, s.velocity.along[1]);
    visit({"face_velocity_z", "m/s", Centring::global}, s.velocity.along[2]);
    visit({"correction_position", "m", Centring::global}, s.correction.x);
    visit({"correction_radius", "m", Centring::global}, s.correction.radius);
    visit({"correction_sign", "", Centring::global}, s.correction.sign);
    visit({"volume_wanted", m.shape.is_flat() ? "m^2" : "m^3", Centring::global}, s.volume_wanted);
    visit({"num_parts", "", Centring::global}, s.num_parts);
  }
  s.holds.fields(visit);
  visit({"part", "", Centring::global}, s.part);
  visit({"part_position", "m", Centring::global}, s.part_position);
  visit({"part_rotation", "", Centring::global}, s.part_rotation);
  visit.derived({"speed", "m/s", Centring::particle}, [&](std::vector<Real>& out) {
    out.resize(s.v.size());
    for (std::size_t p = 0; p < out.size(); ++p) out[p] = s.v[p].norm();
  });
}

}  // namespace plenum::inline PLENUM_ABI
