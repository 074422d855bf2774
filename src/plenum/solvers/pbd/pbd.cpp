#include "plenum/solvers/pbd/pbd.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "plenum/base/parallel_evenly.h"
#include "plenum/solvers/pbd/detail/idle.h"
#include "plenum/solvers/pbd/detail/pins.h"
#include "plenum/solvers/pbd/detail/sweeps.h"
#include "plenum/solvers/pbd/detail/teleport.h"

namespace plenum::inline PLENUM_ABI {

using detail::Place;
using detail::place_of_pin;

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
constexpr Real least_follow = Real(0.01);   ///< of what walls are off, for which there is another round
constexpr double dented = 5 * held_volume;  ///< of what nothing but the wind presses
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

/// Goes on to blow balloons up, or to let them out, for h [s].
void inflate(const Pbd::Model& model, Pbd::State& state, const Pbd::Params& params, PbdWorkspace& w, Real h) {
  for (std::size_t e = 0; e < state.inflation.size(); ++e)
    state.inflation[e] = inflated(model.enclosures[e], state.inflation[e], params.inflation, h);
  w.enclosures.inflate(state.inflation);
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
  parallel_for_evenly(p.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
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
    }
  });
}

/// Whether bending is projected with the distances between its points, once a sweep.
bool weaves(const Pbd::Params& params) {
  return params.solver == Pbd::Solver::gauss_seidel && params.stretch_sweeps == 1;
}

/// Begins a step: where everything is.
void begin(const Pbd::State& state, PbdWorkspace& w) {
  const Particles& p = state.particles;
  parallel_for_evenly(p.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) w.x0[i] = p.x[i], w.v0[i] = p.v[i], w.gone[i].setZero();
  });
  w.step_x0.clear();
  detail::begin_constraints(state, w), w.shapes.begin(w.x0);
}

/// Counts ways anew from where particles have gone in `since` [s], so that they stay short. What their places
/// are rounded by there is what is left of the ways, exactly (Knuth 1997, "The art of computer programming",
/// volume 2, section 4.2.2, theorem B): nothing moves.
void count_anew(const Pbd::State& state, PbdWorkspace& w, Real since, bool touches) {
  const std::size_t n = w.x0.size();
  if (w.step_x0.empty()) w.step_x0 = w.x0;
  w.shift.resize(n);
  parallel_for_evenly(n, particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Vec3 from = w.x0[i], way = w.gone[i];
      w.x0[i] = from + way;
      const Vec3 shift = w.x0[i] - from;
      w.gone[i] = (from - (w.x0[i] - shift)) + (way - shift);
      w.shift[i] = shift;
    }
  });
  detail::begin_constraints(state, w), w.shapes.count_from(w.x0);
  w.supports.count_anew(w.shift, since);
  if (touches) w.contacts.count_anew(w.shift);
}

/// Velocities from where particles went, less what is damped. What rounding took of the way that they went by
/// themselves is given back (Kahan 1965, "Further remarks on reducing truncation errors"): in a substep of 17
/// microseconds at 10 m/s gravity leads farther by h^2 g = 3e-9 m, an ulp of the centimetres gone since the
/// step began is more.
///
/// Where constraints contradict each other beyond measure, what they would make faster than `pbd_fastest` is
/// not: whether there was any.
bool keep(Pbd::State& state, PbdWorkspace& w, Real h, int damping_sweeps) {
  const bool is_damped = damping_sweeps > 0;
  if (is_damped) detail::damp(w, h, damping_sweeps), w.spins.note_damped(w.places, w.gone, w.ways);
  Particles& p = state.particles;
  const Real per_h = 1 / h, farthest = h * pbd_fastest;
  const auto most_of = [&](const Vec3& v) { return std::max(farthest, h * v.norm()); };
  const auto is_free = [&](Real length, const Vec3& v) { return length <= Real(1.001) * most_of(v); };
  std::atomic<bool> any = false;
  parallel_for_evenly(p.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Place& place = w.places[i];
      Vec3 gone(place.x[0], place.x[1], place.x[2]);
      if (place.inverse_mass > 0) {
        const Vec3 moved = gone - w.gone[i];
        const Real length = moved.norm();
        // What is not finite to begin with stays so, for all to see, and what is as fast by itself as fast.
        if (!(length <= farthest) && p.v[i].allFinite() && !is_free(length, p.v[i])) [[unlikely]] {
          any.store(true, std::memory_order_relaxed);
          gone = w.gone[i];
          if (std::isfinite(length)) gone += (most_of(p.v[i]) / length) * moved;
          p.v[i] = per_h * (gone - w.gone[i]);
          w.gone[i] = gone, p.x[i] = w.x0[i] + gone;
          continue;
        }
        const Vec3 lost = h * p.v[i] - (ahead(w.gone[i], p.v[i], h) - w.gone[i]);
        const Vec3 way =
            is_damped ? Vec3(w.ways[i].x[0], w.ways[i].x[1], w.ways[i].x[2]) : Vec3(gone - w.gone[i]);
        p.v[i] = per_h * (way + lost);
      }
      w.gone[i] = gone;
      p.x[i] = w.x0[i] + gone;
    }
  });
  return any;
}

/// Rounds of what is enclosed and walls, where a volume was off by a part `off` of it: one more for each time
/// that this is twice `least`. A round holds what contradicts itself somewhat tighter than the last one, so
/// that with counts which jumped with the pressure balloons would press softly and spring back hard: those
/// whose walls did not give rolled off by themselves at 2 m/s.
int rounds_for(double off, double least) {
  if (!(off > least)) return 1;
  return int(std::min(double(most_volume_rounds), 1 + std::ceil(std::log2(off / least))));
}

/// Walls once more, by a part of what they are off.
void hold_walls_by(PbdWorkspace& w, detail::Projection how, Real part, bool is_back) {
  how.part *= part;
  detail::hold_walls(w, how, is_back);
}

/// What balloons enclose, and solids, and what others() then make of them, in rounds until the two agree:
/// what a volume presses out, a heavy body presses in again, but for the ratio of their masses, and so gets
/// to be borne. Classic stiffness is by sweeps, and has none.
///
/// Walls that are dented, as by the wind, are held anew in rounds of their own. By one of each in a substep
/// they are drawn out elsewhere, farther than a sweep takes back: light balloons that fell through the air at
/// 60 substeps a second were gone in one. Walls go last after a gas, which gives, and before a volume.
/// `goes_on`: another sweep follows. Returns of which kinds walls do not contradict what they enclose, so
/// that they may be held again.
template <class Others>
unsigned hold_enclosed(PbdWorkspace& w, const detail::Projection& how, bool has_others, bool goes_on,
                       Others&& others) {
  using Enclosures = PbdEnclosures;
  const bool in_rounds = how.part == 1 && !w.enclosures.empty();
  const auto meet_others = [&] {
    w.spins.take(w.places, w.gone);
    if (!has_others) return;
    if (in_rounds || goes_on) w.spins.pause(w.places);
    others();
    if (in_rounds || goes_on) w.spins.resume(w.places);
  };
  auto off = w.enclosures.project(w.places, how);
  const bool is_gas_off = off.gases > held_volume;
  const int dents = rounds_for(std::max(off.gases, off.volumes), dented);
  for (int k = 0; k < dents && in_rounds && !has_others && off.volumes > held_volume; ++k) {
    detail::hold_walls(w, how, k % 2 == 0);
    off = w.enclosures.project(w.places, how);
  }
  meet_others();
  if (!in_rounds) return Enclosures::all;
  for (int k = 0, rounds = 1; k < rounds && is_gas_off; ++k) {
    const double by = w.enclosures.project(w.places, how, Enclosures::gases).gases;
    if (k == 0) rounds = std::max(dents, rounds_for(by, held_volume));
    detail::hold_walls(w, how, k % 2 == 0);
    meet_others();
  }
  const unsigned which = is_gas_off ? Enclosures::volumes | Enclosures::solids : Enclosures::all;
  for (int k = 0; k < most_volume_rounds && has_others; ++k) {
    const Real follow = w.enclosures.hold(w.places, how, held_volume, which);
    if (!(follow > least_follow)) break;
    if (k < wall_rounds) hold_walls_by(w, how, follow, k % 2 == 0);
    meet_others();
  }
  return which;
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

/// In a substep a rigid body goes no farther past what it may touch than a part of its own size, as long as
/// that takes no more than so many times the substeps: what goes farther parts cells of cloth, and passes
/// between particles that were pushed aside. Balls of five radii a frame did in one of four cases.
constexpr Real longest_stride = Real(0.2);
constexpr int most_finer = 16;

int substeps_for(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params, Real dt) {
  const Particles& p = state.particles;
  Real most = 0;  // strides
  for (std::size_t b = 0; b < model.bodies.size() && !model.surface.empty(); ++b) {
    const Vec3 &x = state.frames.x[b], &v = state.frames.v[b];
    const Real stride = longest_stride * model.bodies[b].reach;
    const Real fast = stride * Real(params.substeps) / dt;  // [m/s]
    if (!(v.squaredNorm() > fast * fast) || !v.allFinite()) continue;
    const Real margin = model.bodies[b].reach + Pbd::solid_distance(model, params);
    for (std::size_t i = 0; i < p.size(); ++i) {
      // Where the particle comes nearest to the body, as both go on.
      const Vec3 from = p.x[i] - x, goes = p.v[i] - v;
      const Real speed2 = goes.squaredNorm();
      if (!(speed2 > fast * fast)) continue;
      const Real t = std::clamp(-from.dot(goes) / speed2, Real(0), dt);
      const Real near = margin + model.shortest_edge + t * std::sqrt(speed2) / 8;
      if ((from + t * goes).squaredNorm() < near * near)
        most = std::max(most, dt * std::sqrt(speed2) / stride);
    }
  }
  const auto wanted = int(std::min(std::ceil(most), Real(most_finer) * Real(params.substeps)));
  return std::max(wanted, params.substeps);
}

}  // namespace

Real Pbd::max_dt(const Model&, const State&, const Params&) {
  return std::numeric_limits<Real>::infinity();
}

Report Pbd::step(const Model& model, State& state, const Params& asked, Workspace& workspace, Real dt) {
  Report report;
  if (!(dt > 0) || (model.mass.empty() && model.bodies.empty())) return report;
  PbdWorkspace& w = laid_out(workspace, model, weaves(asked));
  const int substeps = asked.method == Method::xpbd ? substeps_for(model, state, asked, dt) : asked.substeps;
  const Real thickness = solid_distance(model, asked);
  if (thickness < asked.thickness)
    report.warn(
        "thickness is more than a quarter of the largest part's size, and is held to that: give "
        "params.thickness less");
  const bool is_bounded = thickness < asked.thickness || substeps > asked.substeps;
  if (is_bounded) w.bounded = asked, w.bounded.thickness = thickness, w.bounded.substeps = substeps;
  const Params& params = is_bounded ? w.bounded : asked;
  if (has_air(model, params)) w.eddies = curl_noise_at(params.turbulence, state.time);
  state.time += static_cast<double>(dt);
  if (detail::teleport(model, state, params, dt) > 0) {
    // What it lay on is where it was.
    w.offered = {}, w.links = nullptr;
    report.warn(
        "pins jump by many times the size of what hangs on them, which jumps with them; let keyframes take "
        "longer if it is to be dragged there");
  }
  move_pins(model, state, params, dt);
  w.supports.take(std::exchange(w.offered, {}), std::exchange(w.links, nullptr), state.particles.x,
                  state.particles.v, dt);
  // What may tear is drawn out by what falls on it.
  if (!model.tethers.empty() && !tears(params)) w.supports.hang(w.pressed_tethers, params.strain_limit);
  if (w.coarse_revision != model.revision || w.coarse.levels() != params.coarse_levels) {
    w.coarse.lay_out(model, params.coarse_levels);
    w.coarse_revision = model.revision;
  }
  warn_of_idle(model, params, report);
  if (params.coarse_levels > 0 && w.coarse.empty())
    report.warn(
        "coarse_levels hold parts of the type cloth with `stretching` `distances`, of which there are none "
        "of four cells or more that are whole: set coarse_levels to 0, or make cloth of that type");
  const Real h = dt / Real(params.substeps);
  const PbdContactSettings touch = contact_settings(model, params, h);
  const bool touches = params.contact != Contact::none && touch.distance > 0 && !model.surface.empty();
  if (params.contact != Contact::none && !(touch.distance > 0) && !model.surface.empty())
    report.warn(
        "contact needs a thickness, and is none without: give params.thickness more than 0, or set contact "
        "to none");
  const Real skin_distance = touches ? touch.distance : 0;
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
  how.relaxation = detail::stable_relaxation(params.relaxation, params.iterations);
  how.strain_limit = params.strain_limit;
  bool is_held_back = false;
  if (state.inflation.size() != model.enclosures.size())
    state.inflation = inflation_at(model, state.particles.x, params.inflation);
  with_ready_threads([&] {
    begin(state, w);
    w.enclosures.set_distance(skin_distance);
    w.skins.shrink(model, state, params.inflation, skin_distance, dt);
    // Classic stiffness has no energy.
    const bool is_bound = !w.energy_bounds.empty() && params.method == Method::xpbd;
    if (is_bound)
      w.energy_bounds.begin_step(state.stored, w.x0);
    else
      state.stored.clear();
    if (touches) w.contacts.begin_step(w.x0, model.surface_edges, model.surface, crossing);
    const bool bodies = !model.bodies.empty() || !model.holds.empty();
    if (bodies) begin_bodies(model, state, params, dt, w);
    int counted = 0;  // the substep since whose begin ways are counted
    const auto substep_of = [&](int s) {
      return PbdSupports::Substep{w.x0,
                                  w.gone,
                                  Real(s + 1 - counted) * h,
                                  h,
                                  Real(s) / Real(params.substeps),
                                  Real(s + 1) / Real(params.substeps)};
    };
    const auto hold_on_solids = [&](int s) {
      w.supports.hold(substep_of(s), w.places, bodies ? std::span(w.rests) : std::span<PbdRest>());
    };
    for (int s = 0; s < params.substeps; ++s) {
      if (s - counted == most_counted) count_anew(state, w, Real(s - counted) * h, touches), counted = s;
      lead_riders(model, state, params, w, Real(s + 1) / Real(params.substeps), h);
      inflate(model, state, params, w, h);
      if (is_bound) w.energy_bounds.begin_substep(model, state.particles);
      predict(model, state, params, w, h);
      if (is_bound) w.energy_bounds.note_alone(state.particles);
      const bool is_pressed = bodies || touches || !w.supports.empty();
      note_energies(model, state, w, is_pressed);
      if (touches) note_skins(model, state, w);
      w.enclosures.reset(), w.shapes.reset();
      w.enclosures.let_out(w.gone, h);
      if (bodies) std::fill(w.rests.begin(), w.rests.end(), PbdRest{});
      if (bodies) w.bodies.predict(model, params, h);
      const bool bounces = touches && params.restitution > 0;
      if (bounces || !w.supports.empty()) w.struck = state.particles.v;
      if (!w.supports.empty()) w.supports.begin_substep(substep_of(s));
      const bool is_grasped = is_bound && !w.grasps.empty();
      if (is_grasped) w.energy_bounds.pause(w.places);
      w.grasps.hold(w.places, w.gone, w.x0, Real(s) / Real(params.substeps),
                    Real(s + 1) / Real(params.substeps), h);
      if (is_grasped) w.energy_bounds.resume(w.places, h, true);
      detail::ChebyshevFactors chebyshev(params.spectral_radius, params.iterations);
      unsigned again = PbdEnclosures::all;
      for (int k = 0; k < params.iterations; ++k) {
        how.is_first = k == 0, how.is_last = k + 1 == params.iterations && w.enclosures.empty();
        if (k == 0) w.spins.note(w.places);
        // What they move is not accelerated in the sweep that follows.
        if (!w.coarse.empty() && (k == 0 || params.solver == Solver::gauss_seidel))
          w.coarse.project(w.places, how);
        if (params.solver == Solver::gauss_seidel) {
          detail::sweep(w, how, params.stretch_sweeps);
        } else {
          if (params.solver == Solver::chebyshev) how.acceleration = chebyshev.factor();
          chebyshev.advance(detail::sweep_at_once(w, how));
          // Means of all that asks leave more of what walls are drawn out by than what is enclosed draws them
          // out anew: balloons of given volumes boiled at 20 m/s.
          if (w.enclosures.has_balloons())
            detail::hold_walls(w, how, true), detail::hold_walls(w, how, false);
        }
        again = hold_enclosed(w, how, bodies || !w.supports.empty(), k + 1 < params.iterations, [&] {
          // What lies on particles is to know what these lie on.
          if (is_bound) w.energy_bounds.pause(w.places);
          if (bodies) hold_on_solids(s), w.bodies.sweep(model, params, body_view(state, w), how);
          hold_on_solids(s);
          if (is_bound) w.energy_bounds.resume(w.places, h);
        });
      }
      if (touches) {
        // What is pressed against solids would be pushed into them, and out again after the step, through
        // what is near.
        w.spins.note(w.places);
        if (is_bound) w.energy_bounds.pause(w.places);
        w.limits.clear();
        if (is_conservative) w.supports.add_limits(substep_of(s), w.limits);
        if (is_conservative && bodies) w.bodies.add_limits(body_view(state, w), w.limits);
        w.contacts.hold(w.places, w.gone, state.particles.v, params.substeps - s, touch, w.spins.outside(),
                        w.limits, [&](int round) {
                          if (is_bound) w.energy_bounds.resume(w.places, h);
                          const Real follow = how.part == 1 && round < most_volume_rounds
                                                  ? w.enclosures.hold(w.places, how, held_volume, again)
                                                  : Real(0);
                          const bool is_off = follow > least_follow;
                          if (is_off && round <= wall_rounds) hold_walls_by(w, how, follow, round % 2 == 1);
                          if (is_off || round < PbdContacts::least_rounds)
                            w.enclosures.hold(w.places, how, 0, again & PbdEnclosures::balloons);
                          if (!is_off && round >= PbdContacts::least_rounds) w.spins.take(w.places, w.gone);
                          w.spins.pause(w.places);
                          if (is_bound) w.energy_bounds.pause(w.places);
                          hold_on_solids(s);
                          if (bodies) w.bodies.hold_again(body_view(state, w));
                          w.spins.resume(w.places);
                          return is_off;
                        });
        if (is_bound) w.energy_bounds.resume(w.places, h);
      }
      is_held_back |= keep(state, w, h, w.is_damped && params.method == Method::xpbd ? params.iterations : 0);
      if (touches) w.contacts.give_back(state.particles.v, h);
      w.spins.make_up(state.particles.x, state.particles.v, h);
      calm_solids(model, state, w, is_pressed);
      if (is_bound) w.energy_bounds.end_substep(model, state.particles, w.places, state.stored);
      if (touches) calm_crumpled(model, state, w, h);
      if (bounces) w.contacts.bounce(state.particles.v, w.struck, params.restitution, h);
      w.supports.bounce(state.particles.v, w.struck, state.particles.inverse_mass, h);
      if (bodies)
        is_held_back |= w.bodies.keep(body_view(state, w), h,
                                      touches ? w.contacts.strikes() : std::span<const PbdStrike>());
    }
    if (is_bound) w.energy_bounds.end_step(state.stored, w.x0, w.gone, dt);
    if (bodies) w.bodies.end_step(model, state);
  });
  if (is_held_back)
    report.warn(
        "constraints contradict each other so far that something would have gone faster than 10 000 m/s, and "
        "was held back: take more substeps, or stiffnesses that are less unlike");
  w.supports.end_step();
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
          "cross (the measure crossings): place them apart, or take contact conservative or more substeps; "
          "or set contact to none");
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
  w.limits.clear();
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3 to = is_moved(i) ? Vec3(state.particles.x[i] - w.x0[i]) : w.gone[i];
    // What has come out of a solid stays out: all else gives way.
    const Vec3 moved = to - w.gone[i];
    if (const Real length = moved.norm(); length > 0 && std::isfinite(length)) {
      const Vec3 n = moved / length;
      w.limits.push_back({.particle = Index(i), .normal = n, .least = n.dot(to), .goes = length});
    }
    for (int c = 0; c < 3; ++c) w.places[i].x[c] = to[c];
    w.led[i] = to;
  }
  w.contacts.settle(w.places, w.gone, contact_settings(model, params, 0), w.limits);
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
  visit({"inflation", "1", Centring::edge}, state.inflation);
  visit({"stored_energy", "J", Centring::edge}, state.stored);
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
