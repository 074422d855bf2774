#include "plenum/solvers/pbd/pbd.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plenum/base/parallel.h"
#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

using detail::Place;

Pbd::Workspace::Workspace() = default;
Pbd::Workspace::~Workspace() = default;
Pbd::Workspace::Workspace(Workspace&&) noexcept = default;
Pbd::Workspace& Pbd::Workspace::operator=(Workspace&&) noexcept = default;

namespace {

constexpr std::size_t particles_per_block = 1024;
/// Part of what is enclosed that bodies and solids may press it off what it is to be, and rounds of the two
/// to that end. A balloon under 85 times its mass lost 2 % in forty substeps and 40 % in ten by one round.
constexpr double held_volume = 1e-3;
constexpr int most_volume_rounds = 16;
/// Of these, in which walls are held to their lengths too. What a body presses out goes where it is not, and
/// draws out light walls there, which one sweep in a substep holds by their inertia alone: a slab of 60 times
/// a balloon's mass fell through it, and threw it apart as it met the ground.
constexpr int wall_rounds = 4;
/// Substeps after which ways are counted anew. One of k substeps is rounded by a part of k h v, so that a
/// velocity is by the same part of k v, however small h is: over a thousand substeps bars at 4 m/s burst by
/// it, over ten they are as at rest.
constexpr int most_counted = 10;
constexpr Real coarsest = Real(0.05);  ///< rounding of a position, of the distance that surfaces keep

bool has_air(const Pbd::Model& model, const Pbd::Params& params) {
  return !model.triangles.empty() && params.air_density > 0 && (params.drag > 0 || params.lift > 0);
}

/// Where a pin holds its particle at the part s of a step, [m]. Those of groups are where they lead at its
/// end.
Vec3 place_of_pin(const Pbd::Model& model, const Pbd::Params& params, std::size_t p, Real s) {
  const Vec3& at = model.pin_position[p];
  const Index group = model.pin_group[p];
  if (group < 0) {
    const Pbd::Model::Ride& ride = model.rides[std::size_t(-1 - group)];
    return between(ride.from, ride.to, s) * at;
  }
  return std::size_t(group) < params.pins.size() ? params.pins[std::size_t(group)](at) : at;
}

/// Gives held particles the velocity that takes them where their pins will be after dt, and mass to the
/// released ones.
void move_pins(const Pbd::Model& model, Pbd::State& state, const Pbd::Params& params, Real dt) {
  for (std::size_t p = 0; p < model.pinned.size(); ++p) {
    const auto i = static_cast<std::size_t>(model.pinned[p]);
    const Index group = model.pin_group[p];
    const bool is_let_go =
        group >= 0 && std::size_t(group) < params.pins.size() && params.pins[std::size_t(group)].released;
    state.particles.inverse_mass[i] = is_let_go ? 1 / model.mass[i] : Real(0);
    if (group < 0 || is_let_go) continue;
    state.particles.v[i] = (place_of_pin(model, params, p, 1) - state.particles.x[i]) / dt;
  }
}

/// Gives particles that ride on what turns the velocity that takes them where it will be after the substep of
/// h [s] that ends at the part s of the step.
void lead_riders(const Pbd::Model& model, Pbd::State& state, const Pbd::Params& params, const PbdWorkspace& w,
                 Real s, Real h) {
  for (std::size_t p = 0; p < model.pinned.size(); ++p) {
    if (model.pin_group[p] >= 0) continue;
    const auto i = static_cast<std::size_t>(model.pinned[p]);
    const Vec3 gone = place_of_pin(model, params, p, s) - w.x0[i];
    state.particles.v[i] = (gone - w.gone[i]) / h;
  }
}

/// [m] How far into the step a particle is that goes by itself for h [s].
Vec3 ahead(const Vec3& gone, const Vec3& v, Real h) {
  return gone + h * v;
}

/// Where particles go by themselves in a substep of h [s].
void predict(const Pbd::Model& model, Pbd::State& state, const Pbd::Params& params, PbdWorkspace& w, Real h) {
  const bool air = has_air(model, params);
  if (air) blow(model, state, params, w, h);
  const std::span<const Vec3> weights = w.enclosures.weigh(w.gone, params, h);
  const Real kept = 1 / (1 + h * params.damping);
  Particles& p = state.particles;
  parallel_for(p.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Real inverse_mass = p.inverse_mass[i];
      if (inverse_mass > 0) {
        Vec3 push = Vec3::Zero();
        if (air)
          for (const Index t : w.incident[i]) push += w.air[std::size_t(t)];
        p.v[i] = kept * p.v[i] + (h * params.gravity + (inverse_mass / 3) * push);
        if (!weights.empty()) p.v[i] += inverse_mass * weights[i];
      }
      const Vec3& gone = w.gone[i];
      const Vec3 x = ahead(gone, p.v[i], h);
      w.places[i] = Place{{x.x(), x.y(), x.z()}, inverse_mass};
      if (w.is_damped) w.before[i] = Place{{gone.x(), gone.y(), gone.z()}, inverse_mass};
    }
  });
}

/// Whether bending is projected with the distances between its points, once a sweep.
bool weaves(const Pbd::Params& params) {
  return params.solver == Pbd::Solver::gauss_seidel && params.stretch_sweeps == 1;
}

void hold_by_tethers(PbdWorkspace& w, detail::Projection how) {
  if (how.strain_limit > 0) w.giving_tethers.sweep(w.places.data(), how);
  how.strain_limit = 0;
  w.tethers.sweep(w.places.data(), how);
}

/// The part of classic PBD's error that each of `taken` sweeps takes away, as much in all as the `asked`
/// ones.
Real part_of_each(Real part, int asked, int taken) {
  return part < 1 ? 1 - std::pow(1 - part, Real(asked) / Real(taken)) : part;
}

/// sweep(how, is it the first, is it the last) as often back as there, `sweeps` times or one more.
///
/// Meshes have about as many distances as ways to move, lattices more, so that a sweep takes much of some
/// errors and little of others. What it leaves, e -> G e, is in one order alone complex in part. A substep
/// takes its way for its velocity, z^2 = g (2 z - 1) for each eigenvalue g of G: near 1, |z| > 1 as soon as
/// the imaginary part of g is more than about (1 - |g|)^(3/2). Shells grew by 1 to 3 % a substep from
/// rounding and trembled for ever; bars that something pushed swung up to thousands of joules. Back and there
/// the multipliers are those of the symmetric Gauss-Seidel method (Sheldon 1955, "On the numerical solution
/// of elliptic difference equations"), N^-1 of N = (D + L) D^-1 (D + L^T) >= A, G is I - W J^T N^-1 J with
/// eigenvalues in [0, 1], and |z|^2 = g. So it is with n sweeps back and then n there. In turn, a sweep
/// begins with what the one before has just done, and hung meshes stretched twice as far.
template <class Sweep>
void back_and_there(detail::Projection how, int sweeps, Sweep&& sweep) {
  const int even = sweeps + sweeps % 2;
  how.part = part_of_each(how.part, sweeps, even);
  const bool is_first = how.is_first, is_last = how.is_last;
  for (int k = 0; k < even; ++k) {
    const bool begins = k == 0, ends = k + 1 == even;
    how.is_first = is_first && begins, how.is_last = is_last && ends, how.is_back = 2 * k < even;
    sweep(how, begins, ends);
  }
}

/// Lengths of ropes and meshes, threads and areas; and what keeps these from bending, if that is asked for,
/// first and last.
void sweep_meshes(PbdWorkspace& w, const detail::Projection& how, int sweeps, bool with_bending) {
  PbdMeshes& m = w.meshes;
  Place* const places = w.places.data();
  back_and_there(how, sweeps, [&](const detail::Projection& now, bool begins, bool ends) {
    detail::Projection bending = now;
    bending.part = part_of_each(how.part, 1, 2);
    if (with_bending && begins)
      m.rods.sweep(places, bending), m.plates.sweep(places, bending), m.angles.sweep(places, bending);
    if (now.is_back)
      m.areas.sweep(places, now), m.strains.sweep(places, now), m.distances.sweep(places, now);
    else
      m.distances.sweep(places, now), m.strains.sweep(places, now), m.areas.sweep(places, now);
    if (with_bending && ends)
      m.angles.sweep(places, bending), m.plates.sweep(places, bending), m.rods.sweep(places, bending);
  });
}

/// With lengths last, or colours there first, crushed lattices tremble, or single volumes are twice as far
/// off.
void sweep_lattices(PbdWorkspace& w, const detail::Projection& how, int sweeps) {
  Place* const places = w.places.data();
  back_and_there(how, sweeps, [&](const detail::Projection& now, bool, bool) {
    if (now.is_back) w.volumes.sweep(places, now);
    w.lattices.sweep(places, now);
    if (!now.is_back) w.volumes.sweep(places, now);
  });
}

/// One sweep over all constraints, and some more over what keeps things from stretching.
void sweep(PbdWorkspace& w, const detail::Projection& how, int stretch_sweeps) {
  Place* const places = w.places.data();
  w.plates.sweep(places, how);
  w.angles.sweep(places, how);
  w.rods.sweep(places, how);
  w.shapes.project(w.places, w.x0, how);
  w.solids.sweep(places, how);
  w.solid_strains.sweep(places, how);
  w.areas.sweep(places, how);
  detail::Projection stretch = how;
  for (int k = 0; k < stretch_sweeps; ++k) {
    stretch.is_first = how.is_first && k == 0, stretch.is_last = how.is_last && k + 1 == stretch_sweeps;
    w.strains.sweep(places, stretch);
    if (k == 0) {
      hold_by_tethers(w, how);
      // With cells before rows hung cloth is stretched by 4 to 25 % more.
      w.woven_rods.sweep(places, how), w.woven_cells.sweep(places, how);
    }
    w.distances.sweep(places, stretch);
  }
  sweep_meshes(w, how, stretch_sweeps, true), sweep_lattices(w, how, stretch_sweeps);
}

/// Once more over what keeps walls of balloons from stretching, and solids' volumes: back, or there. With
/// lengths of lattices too, these tremble in contact.
void hold_walls(PbdWorkspace& w, detail::Projection how, bool is_back) {
  how.is_first = how.is_last = false, how.is_back = is_back;
  w.volumes.sweep(w.places.data(), how), w.solids.sweep(w.places.data(), how);
  sweep_meshes(w, how, 1, false);
}

/// The same with what has packs projected all at once; the rest follows from where that leads. What the rest
/// and others move since the last sweep is not accelerated in this one. Returns by how much constraints fail
/// to hold as it begins.
double sweep_at_once(PbdWorkspace& w, detail::Projection how) {
  const std::size_t n = w.places.size();
  w.shared.resize(n), w.sums.resize(n);
  how.sums = w.sums.data();
  parallel_for(n, particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Place& p = w.places[i];
      const Real* const left = w.shared[i].x;
      const bool is_moved = !how.is_first && (p.x[0] != left[0] || p.x[1] != left[1] || p.x[2] != left[2]);
      w.shared[i] = {{p.x[0], p.x[1], p.x[2]}, w.shares[i] * p.inverse_mass};
      w.sums[i] = {{0, 0, 0}, is_moved ? Real(1) : Real(0)};
    }
  });
  Place* const places = w.shared.data();
  const auto all = [&](auto&... batches) { return (batches.sweep_at_once(places, how) + ...); };
  const double residual = all(w.plates, w.angles, w.rods, w.volumes, w.solids, w.solid_strains, w.areas,
                              w.strains, w.distances, w.lattices, w.meshes.rods, w.meshes.plates,
                              w.meshes.angles, w.meshes.areas, w.meshes.strains, w.meshes.distances);
  parallel_for(n, particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (w.shares[i] == 0) continue;
      for (int c = 0; c < 3; ++c) w.places[i].x[c] += w.sums[i].x[c] / w.shares[i];
      for (int c = 0; c < 3; ++c) w.shared[i].x[c] = w.places[i].x[c];
    }
  });
  w.shapes.project(w.places, w.x0, how);
  hold_by_tethers(w, how);
  return residual;
}

// What sweeps leave of an error e is p(t) e, with t in [1 - r, 1] the part that a Jacobi sweep leaves. A
// substep takes what it has moved by as its velocity, x_n+1 = p (2 x_n - x_n-1): z^2 - 2 p z + p = 0. For p
// in [0, 1] both |z|^2 = p. Where the error changes its sign, p < 0, one is p - sqrt(p^2 - p), and stays
// above -1 only as long as p > -1/3: what oversteps by more than that swings up from substep to substep.
constexpr Real most_overstepped = Real(1) / 3;

/// The relaxation with which n sweeps, p = t^n, do not overstep by too much.
Real stable_relaxation(Real relaxation, int sweeps) {
  return std::min(relaxation, 1 + std::pow(most_overstepped, 1 / Real(sweeps)));
}

/// Chebyshev's factors omega in the sweeps of a substep: 1 in the first ten, while what a substep begins with
/// makes errors go their own ways (Wang 2015, section 5.1). From then on the residual cannot exceed what it
/// was if all is linear, as Chebyshev's polynomials are at most 1 where eigenvalues are; where it does, what
/// is not linear has taken over, and it begins anew.
/// The polynomial of k sweeps, T_k(t / rho) / T_k(1 / rho), swings within 1 / T_k(1 / rho) of nothing: rho is
/// no larger than with which the sweeps that are left bring that down to what may be overstepped by.
class ChebyshevFactors {
 public:
  ChebyshevFactors(Real radius, int sweeps) : radius_(radius), left_(sweeps) { begin(); }
  Real factor() const { return factor_; }
  /// After a sweep that began with this residual.
  void advance(double residual) {
    // Until the first accelerated sweep is over, `limit_` is the residual of the sweep before.
    if (!(residual <= limit_)) begin();
    if (sweeps_ <= delay) limit_ = residual;
    ++sweeps_, --left_;
    factor_ = sweeps_ < delay ? 1 : sweeps_ == delay ? 2 / (2 - square_) : 4 / (4 - square_ * factor_);
  }

 private:
  static constexpr int delay = 10;
  void begin() {
    sweeps_ = 0;
    const Real k = Real(std::max(1, left_ - delay));
    const Real radius = std::min(radius_, 1 / std::cosh(std::acosh(1 / most_overstepped) / k));
    square_ = radius * radius;
  }
  Real radius_, square_ = 0, factor_ = 1;
  int sweeps_ = 0, left_;  ///< since it began, and to the end of the substep
  double limit_ = std::numeric_limits<double>::infinity();
};

/// Where constraints begin to count, from w.x0.
void begin_constraints(const Pbd::State& state, PbdWorkspace& w) {
  const Particles& p = state.particles;
  parallel_for(p.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      w.places[i] = Place{{w.x0[i].x(), w.x0[i].y(), w.x0[i].z()}, p.inverse_mass[i]};
  });
  const Place* const places = w.places.data();
  w.plates.begin(places), w.angles.begin(places), w.rods.begin(places), w.volumes.begin(places);
  w.woven_cells.begin(places), w.woven_rods.begin(places);
  w.solids.begin(places), w.distances.begin(places), w.lattices.begin(places), w.tethers.begin(places);
  w.giving_tethers.begin(places);
  w.strains.begin(places), w.solid_strains.begin(places), w.areas.begin(places);
  w.meshes.rods.begin(places), w.meshes.plates.begin(places), w.meshes.angles.begin(places);
  w.meshes.areas.begin(places), w.meshes.strains.begin(places), w.meshes.distances.begin(places);
  w.enclosures.begin(w.x0);
  if (!w.coarse.empty()) w.coarse.begin(w.places);
}

/// Begins a step: where everything is.
void begin(const Pbd::State& state, PbdWorkspace& w) {
  const Particles& p = state.particles;
  parallel_for(p.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) w.x0[i] = p.x[i], w.v0[i] = p.v[i], w.gone[i].setZero();
  });
  w.step_x0.clear();
  begin_constraints(state, w), w.shapes.begin(w.x0);
}

/// Counts ways anew from where particles have gone in `since` [s], so that they stay short. What their places
/// are rounded by there is what is left of the ways, exactly (Knuth 1997, "The art of computer programming",
/// volume 2, section 4.2.2, theorem B): nothing moves.
void count_anew(const Pbd::State& state, PbdWorkspace& w, Real since, bool touches) {
  const std::size_t n = w.x0.size();
  if (w.step_x0.empty()) w.step_x0 = w.x0;
  w.shift.resize(n);
  parallel_for(n, particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Vec3 from = w.x0[i], way = w.gone[i];
      w.x0[i] = from + way;
      const Vec3 shift = w.x0[i] - from;
      w.gone[i] = (from - (w.x0[i] - shift)) + (way - shift);
      w.shift[i] = shift;
    }
  });
  begin_constraints(state, w), w.shapes.count_from(w.x0);
  w.supports.count_anew(w.shift, since);
  if (touches) w.contacts.count_anew(w.shift);
}

/// The ways of particles in a substep of h [s], w.ways, less what damping takes of them.
void damp(PbdWorkspace& w, Real h) {
  parallel_for(w.ways.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Place& to = w.places[i];
      const Vec3& from = w.gone[i];
      w.ways[i] = {{to.x[0] - from.x(), to.x[1] - from.y(), to.x[2] - from.z()}, to.inverse_mass};
    }
  });
  const detail::Damping how{1 / (h * h), 1 / h, w.before.data()};
  const auto all = [&](auto&... batches) { (batches.damp(w.ways.data(), how), ...); };
  all(w.plates, w.angles, w.rods, w.volumes, w.solids, w.solid_strains, w.areas, w.strains, w.distances,
      w.lattices, w.meshes.rods, w.meshes.plates, w.meshes.angles, w.meshes.areas, w.meshes.strains,
      w.meshes.distances);
}

/// Velocities from where particles went, less what is damped. What rounding took of the way that they went by
/// themselves is given back (Kahan 1965, "Further remarks on reducing truncation errors"): in a substep of 17
/// microseconds at 10 m/s gravity leads farther by h^2 g = 3e-9 m, an ulp of the centimetres gone since the
/// step began is more.
void keep(Pbd::State& state, PbdWorkspace& w, Real h, bool is_damped) {
  if (is_damped) damp(w, h);
  Particles& p = state.particles;
  const Real per_h = 1 / h;
  parallel_for(p.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Place& place = w.places[i];
      const Vec3 gone(place.x[0], place.x[1], place.x[2]);
      if (place.inverse_mass > 0) {
        const Vec3 lost = h * p.v[i] - (ahead(w.gone[i], p.v[i], h) - w.gone[i]);
        const Vec3 way =
            is_damped ? Vec3(w.ways[i].x[0], w.ways[i].x[1], w.ways[i].x[2]) : Vec3(gone - w.gone[i]);
        p.v[i] = per_h * (way + lost);
      }
      w.gone[i] = gone;
      p.x[i] = w.x0[i] + gone;
    }
  });
}

PbdContactSettings contact_settings(const Pbd::Model& model, const Pbd::Params& params, Real h) {
  const Real distance = Pbd::contact_distance(model, params);
  return {.h = h,
          .distance = distance,
          .friction = params.friction,
          .static_friction = std::max(params.static_friction, params.friction),
          .tube = std::max(distance / 4, model.shortest_edge / 10),
          .longest_way = 4 * model.shortest_edge,
          .conservative = params.contact == Pbd::Contact::conservative};
}

/// Particles as bodies see them.
PbdParticles body_view(Pbd::State& state, PbdWorkspace& w) {
  return {w.places, w.gone, w.x0, state.particles.v, state.particles.inverse_mass, w.rests};
}

void begin_bodies(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params, Real dt,
                  PbdWorkspace& w) {
  w.body_starts.resize(model.bodies.size());
  for (std::size_t i = 0; i < model.bodies.size(); ++i) w.body_starts[i] = state.frames.pose(i);
  w.rests.resize(state.particles.size());
  w.bodies.begin_step(model, state, params, dt);
}

/// [m] Of any particle.
Real largest_coordinate(const Pbd::State& state) {
  const std::vector<Vec3>& x = state.particles.x;
  return ordered_reduce(
      x.size(), particles_per_block, Real(0),
      [&](std::size_t begin, std::size_t end) {
        Real most = 0;
        for (std::size_t i = begin; i < end; ++i) most = std::max(most, x[i].cwiseAbs().maxCoeff());
        return most;
      },
      [](Real a, Real b) { return std::max(a, b); });
}

/// How much crosses as the step begins, and where the middle of it is.
void report_crossings(const Pbd::Model& model, const Pbd::State& state, std::span<const Index2> crossing,
                      Report& report) {
  Vector3<double> middle = Vector3<double>::Zero();
  for (const Index2& c : crossing)
    for (const Index i : model.surface_edges[std::size_t(c[0])])
      middle += state.particles.x[std::size_t(i)].cast<double>() / (2.0 * double(crossing.size()));
  report.measure("crossing_x", middle.x()), report.measure("crossing_y", middle.y());
  report.measure("crossing_z", middle.z());
  report.warn(
      "bodies cross each other or themselves as a step begins, and hang together there until they part: "
      "place "
      "them apart (the measures crossings and crossing_x, y, z say how many edges cross triangles, and where "
      "they are on the mean), or set contact to none");
}

}  // namespace

Real Pbd::max_dt(const Model&, const State&, const Params&) {
  return std::numeric_limits<Real>::infinity();
}

Report Pbd::step(const Model& model, State& state, const Params& params, Workspace& workspace, Real dt) {
  Report report;
  if (!(dt > 0) || (model.mass.empty() && model.bodies.empty())) return report;
  PbdWorkspace& w = laid_out(workspace, model, weaves(params));
  if (has_air(model, params)) w.eddies = curl_noise_at(params.turbulence, state.time);
  state.time += static_cast<double>(dt);
  move_pins(model, state, params, dt);
  w.supports.take(std::exchange(w.offered, {}));
  if (w.coarse_revision != model.revision || w.coarse.levels() != params.coarse_levels) {
    w.coarse.lay_out(model, params.coarse_levels);
    w.coarse_revision = model.revision;
  }
  if (params.stretch_sweeps > 1 && params.solver != Solver::gauss_seidel)
    report.warn("stretch_sweeps are of the solver gauss_seidel alone: take more iterations instead");
  if (params.coarse_levels > 0 && w.coarse.empty())
    report.warn(
        "coarse_levels hold parts of the type cloth with `stretching` `distances`, of which there are none "
        "of four cells or more that are whole: set coarse_levels to 0, or make cloth of that type");
  const Real h = dt / Real(params.substeps);
  const PbdContactSettings touch = contact_settings(model, params, h);
  const bool touches = params.contact != Contact::none && touch.distance > 0 && !model.surface.empty();
  if (touches && w.contacts_revision != model.revision) {
    w.contacts.lay_out(model.mass.size(), model.surface, model.torn_from);
    w.contacts_revision = model.revision;
    w.may_cross = true;
  }
  // Where nothing crosses and nothing is to, nothing does. In the mode `fast` rims of a tear pass.
  std::span<const Index2> crossing;
  const bool is_conservative = params.contact == Contact::conservative;
  if (touches && w.may_cross && (is_conservative || model.torn_from.empty()))
    crossing = w.crossings.find(state.particles.x, model.surface_edges, model.surface);
  if (!crossing.empty()) report_crossings(model, state, crossing, report);
  const std::size_t num_crossing = crossing.size();
  detail::Projection how{.compliance_scale = 1 / (h * h)};
  if (params.method == Method::pbd) how = {.compliance_scale = 0, .part = params.stiffness};
  how.relaxation = stable_relaxation(params.relaxation, params.iterations);
  how.strain_limit = params.strain_limit;
  with_ready_threads([&] {
    begin(state, w);
    if (touches) w.contacts.begin_step(w.x0, model.surface_edges, model.surface, crossing);
    const bool bodies = !model.bodies.empty() || !model.holds.empty();
    if (bodies) begin_bodies(model, state, params, dt, w);
    int counted = 0;  // the substep since whose begin ways are counted
    const auto hold_on_solids = [&](int s) {
      w.supports.hold(w.places, w.gone, Real(s + 1 - counted) * h, h,
                      bodies ? std::span(w.rests) : std::span<PbdRest>());
    };
    for (int s = 0; s < params.substeps; ++s) {
      if (s - counted == most_counted) count_anew(state, w, Real(s - counted) * h, touches), counted = s;
      lead_riders(model, state, params, w, Real(s + 1) / Real(params.substeps), h);
      predict(model, state, params, w, h);
      // What nothing presses comes back from inside out as fast as it may.
      const bool is_pressed = bodies || touches || !w.supports.empty();
      if (is_pressed) note_energies(model, state, w);
      w.enclosures.reset(), w.shapes.reset();
      if (bodies) std::fill(w.rests.begin(), w.rests.end(), PbdRest{});
      if (bodies) w.bodies.predict(model, params, h);
      const bool bounces = touches && params.restitution > 0;
      if (bounces || !w.supports.empty()) w.struck = state.particles.v;
      if (!w.supports.empty()) w.supports.begin_substep();
      w.grasps.hold(w.places, w.gone, w.x0, Real(s) / Real(params.substeps),
                    Real(s + 1) / Real(params.substeps), h);
      ChebyshevFactors chebyshev(params.spectral_radius, params.iterations);
      for (int k = 0; k < params.iterations; ++k) {
        how.is_first = k == 0, how.is_last = k + 1 == params.iterations && w.enclosures.empty();
        // What they move is not accelerated in the sweep that follows.
        if (!w.coarse.empty() && (k == 0 || params.solver == Solver::gauss_seidel))
          w.coarse.project(w.places, how);
        if (params.solver == Solver::gauss_seidel) {
          sweep(w, how, params.stretch_sweeps);
        } else {
          if (params.solver == Solver::chebyshev) how.acceleration = chebyshev.factor();
          chebyshev.advance(sweep_at_once(w, how));
        }
        w.enclosures.project(w.places, params.inflation, how);
        const auto hold_on_others = [&] {
          // What lies on particles is to know what these lie on.
          if (bodies) hold_on_solids(s), w.bodies.sweep(model, params, body_view(state, w), how);
          hold_on_solids(s);
        };
        hold_on_others();
        // What a volume presses out, a heavy body presses in again, but for the ratio of their masses; in
        // rounds of the two the body gets to be borne. Classic stiffness is by sweeps, and has none.
        if (how.part == 1 && (bodies || !w.supports.empty()))
          for (int round = 0;
               round < most_volume_rounds && w.enclosures.hold(w.places, params.inflation, how, held_volume);
               ++round) {
            if (round < wall_rounds && params.solver == Solver::gauss_seidel)
              hold_walls(w, how, round % 2 == 0);
            hold_on_others();
          }
      }
      if (touches)
        // What is pressed against solids would be pushed into them, and out again after the step, through
        // what is near.
        w.contacts.hold(w.places, w.gone, state.particles.v, params.substeps - s, touch, [&](int round) {
          const bool is_off = how.part == 1 && round < most_volume_rounds &&
                              w.enclosures.hold(w.places, params.inflation, how, held_volume);
          if (is_off && round <= wall_rounds && params.solver == Solver::gauss_seidel)
            hold_walls(w, how, round % 2 == 1);
          if (is_off || round < PbdContacts::least_rounds)
            w.enclosures.project(w.places, params.inflation, how);
          hold_on_solids(s);
          if (bodies) w.bodies.hold_on_led(body_view(state, w));
          return is_off;
        });
      keep(state, w, h, w.is_damped && params.method == Method::xpbd);
      if (is_pressed) calm_solids(model, state, w);
      if (bounces) w.contacts.bounce(state.particles.v, w.struck, params.restitution, h);
      w.supports.bounce(state.particles.v, w.struck, state.particles.inverse_mass, h);
      if (bodies) w.bodies.keep(body_view(state, w), h);
    }
    if (bodies) w.bodies.end_step(model, state);
  });
  w.supports.take({});
  w.grasps.clear(), w.gust.reset();
  report.iterations = params.substeps * params.iterations;
  // Rounding must not let held particles drift from their pins.
  for (std::size_t p = 0; p < model.pinned.size(); ++p) {
    const auto i = static_cast<std::size_t>(model.pinned[p]);
    if (state.particles.inverse_mass[i] == 0) state.particles.x[i] = place_of_pin(model, params, p, 1);
  }
  measure(model, state, params, w, report);
  if (!model.holds.empty()) report.measure("largest_gap", w.bodies.largest_gap(model, state));
  if (touches) {
    const PbdContacts::Counts& counts = w.contacts.counts();
    report.measure("contact_pairs", double(counts.pairs));
    report.measure("contact_searches", double(counts.searches));
    std::size_t left = num_crossing;
    if (!is_conservative || !model.torn_from.empty() ||
        num_crossing + counts.meeting + counts.forced + counts.let_go > 0)
      left = w.crossings.find(state.particles.x, model.surface_edges, model.surface).size();
    report.measure("crossings", double(left));
    if (is_conservative) report.measure("contact_zones", double(counts.zones + counts.frozen));
    w.may_cross = left + counts.forced + counts.let_go + counts.meeting > 0;
    // Pairs that cross have been told of, and are not looked at.
    if (counts.meeting > 0)
      report.warn(
          "surfaces lie exactly in each other, so that nothing tells on which sides they are, and come to "
          "cross (the measure crossings): place them apart at the start, or set contact to none");
    if (counts.cut > 0)
      report.warn(
          "bodies go so far in a substep that there is no room for all that they might touch on the way, and "
          "are slowed down; take more substeps, or shorter steps");
    if (largest_coordinate(state) * std::numeric_limits<Real>::epsilon() > coarsest * touch.distance)
      report.warn(
          "bodies are so far from the origin that numbers there are too coarse for their thickness, and may "
          "stand still or sink into each other: put the scene nearer to its origin, or make them thicker");
    if (counts.forced > 0)
      report.warn("held particles go through what cannot give way, and cross it; lead them round it");
    if (counts.let_go > 0)
      report.warn(
          "bodies are as near to each other as rounding, and may have come to cross: take more substeps or "
          "a larger thickness");
  }
  return report;
}

void Pbd::settle(const Model& model, State& state, const Params& params, Workspace& workspace) {
  if (params.contact != Contact::conservative || !(contact_distance(model, params) > 0) || !workspace.impl)
    return;
  PbdWorkspace& w = *workspace.impl;
  const std::size_t n = state.particles.size();
  if (w.contacts.empty() || w.contacts_revision != model.revision || w.gone.size() != n) return;
  // Held particles are put where their pins are, which is another way of rounding.
  const auto is_moved = [&](std::size_t i) {
    return state.particles.inverse_mass[i] > 0 && state.particles.x[i] != w.x0[i] + w.gone[i];
  };
  std::size_t first = 0;
  while (first < n && !is_moved(first)) ++first;
  if (first == n) return;
  w.led.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3 to = is_moved(i) ? Vec3(state.particles.x[i] - w.x0[i]) : w.gone[i];
    for (int c = 0; c < 3; ++c) w.places[i].x[c] = to[c];
    w.led[i] = to;
  }
  w.contacts.settle(w.places, w.gone, contact_settings(model, params, 0));
  for (std::size_t i = 0; i < n; ++i) {
    const Place& place = w.places[i];
    const Vec3 to(place.x[0], place.x[1], place.x[2]);
    if (place.inverse_mass > 0 && to != w.led[i]) state.particles.x[i] = w.x0[i] + to;
  }
}

Real Pbd::strain(const Model& model, const State& state, std::size_t edge) {
  const Index2 e = model.edges[edge];
  const Real l0 = model.rest_length[edge];
  const Real l = (state.particles.x[std::size_t(e[1])] - state.particles.x[std::size_t(e[0])]).norm();
  return l0 > 0 ? l / l0 - 1 : 0;
}

void Pbd::fields(const Model& model, State& state, FieldVisitor& visit) {
  visit({"position", "m", Centring::particle}, state.particles.x);
  visit({"velocity", "m/s", Centring::particle}, state.particles.v);
  visit({"inverse_mass", "1/kg", Centring::particle}, state.particles.inverse_mass);
  visit({"time", "s", Centring::global}, state.time);
  // Of bodies, of which there may be none: lists of their own.
  Frames& f = state.frames;
  visit({"body_position", "m", Centring::edge}, f.x);
  visit({"body_rotation", "1", Centring::edge}, f.q);
  visit({"body_velocity", "m/s", Centring::edge}, f.v);
  visit({"body_angular_velocity", "rad/s", Centring::edge}, f.w);
  visit({"body_inverse_mass", "1/kg", Centring::edge}, f.inverse_mass);
  visit({"body_inverse_inertia", "1/(kg m^2)", Centring::edge}, f.inverse_inertia);
  visit({"body_touching", "1", Centring::edge}, state.touching);
  visit({"body_touch_normal", "1", Centring::edge}, state.touch_normal);
  visit.derived({"speed", "m/s", Centring::particle}, [&](std::vector<Real>& out) {
    out.resize(state.particles.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = state.particles.v[i].norm();
  });
  visit.derived({"strain", "1", Centring::edge}, [&](std::vector<Real>& out) {
    out.resize(model.edges.size());
    for (std::size_t e = 0; e < out.size(); ++e) out[e] = strain(model, state, e);
  });
}

}  // namespace plenum::inline PLENUM_ABI
