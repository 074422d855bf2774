#include "plenum/solvers/particles/particles.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plenum/base/parallel.h"
#include "plenum/solvers/particles/detail/emit.h"
#include "plenum/solvers/particles/detail/flight.h"
#include "plenum/solvers/particles/detail/pair_forces.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Model = ParticleSystem::Model;
using State = ParticleSystem::State;
using Params = ParticleSystem::Params;
using Workspace = ParticleSystem::Workspace;

constexpr std::size_t block = 4096;
constexpr double never = std::numeric_limits<double>::max();  // finite, so that checks of the state accept it

double expiry(const State& s, std::size_t i) {
  return s.lifetime[i] > 0 ? s.birth[i] + static_cast<double>(s.lifetime[i]) : never;
}

void resize_all(State& s, std::size_t n) {
  s.particles.resize(n);
  s.birth.resize(n);
  s.lifetime.resize(n);
  s.id.resize(n);
  if (!s.acceleration.empty()) s.acceleration.resize(n, Vec3::Zero());
  s.pair_origin.clear();  // the list is of other particles now
}

/// Room for every particle there may ever be, so that no later step allocates.
void reserve(const Model& model, State& s, Workspace& w, std::size_t num_emitters, bool pairs) {
  s.particles.x.reserve(model.capacity);
  s.particles.v.reserve(model.capacity);
  s.particles.inverse_mass.reserve(model.capacity);
  s.birth.reserve(model.capacity);
  s.lifetime.reserve(model.capacity);
  s.id.reserve(model.capacity);
  w.x0.reserve(model.capacity);
  w.dead.reserve(model.capacity);
  w.deaths.reserve(model.capacity / block + 2);
  if (pairs) {
    s.acceleration.reserve(model.capacity);
    s.pair_origin.reserve(model.capacity);
  }
  if (s.due.size() < num_emitters) {
    s.due.resize(num_emitters, 0.0);
    s.emitted.resize(num_emitters, 0);
    s.emitter_position.resize(num_emitters, Vec3::Zero());
    s.emitter_direction.resize(num_emitters, Vec3::Zero());
  }
}

/// Removes what is dead by time t [s]; returns how many. The places of the dead are taken by the last of the
/// living, in order: that moves as many particles as died, whereas keeping the order of all would move all of
/// them.
std::size_t remove_dead(State& s, Workspace& w, double t) {
  if (t < s.next_expiry) return 0;
  const std::size_t n = s.size(), num_blocks = (n + block - 1) / block;
  w.deaths.resize(num_blocks + 1);
  s.next_expiry = ordered_reduce(
      num_blocks, 1, never,
      [&](std::size_t begin, std::size_t end) {
        double next = never;
        for (std::size_t b = begin; b < end; ++b) {
          std::size_t dead = 0;
          for (std::size_t i = b * block; i < std::min(n, (b + 1) * block); ++i) {
            const double e = expiry(s, i);
            dead += e <= t;
            next = e <= t ? next : std::min(next, e);
          }
          w.deaths[b] = dead;
        }
        return next;
      },
      [](double a, double b) { return std::min(a, b); });
  w.deaths[num_blocks] = 0;
  std::size_t dead = 0;
  for (std::size_t b = 0; b <= num_blocks; ++b) dead += std::exchange(w.deaths[b], dead);
  if (dead == 0) return 0;
  w.dead.resize(dead);
  parallel_blocks(num_blocks, [&](std::size_t b) {
    std::size_t at = w.deaths[b];
    if (at == w.deaths[b + 1]) return;
    for (std::size_t i = b * block; i < std::min(n, (b + 1) * block); ++i)
      if (expiry(s, i) <= t) w.dead[at++] = static_cast<Index>(i);
  });

  const std::size_t left = n - dead;
  std::size_t last = n, tail = dead;  // the dead of w.dead[tail..] stand at or behind `last`
  for (std::size_t k = 0; k < dead && static_cast<std::size_t>(w.dead[k]) < left; ++k) {
    for (--last; tail > 0 && static_cast<std::size_t>(w.dead[tail - 1]) == last; --last) --tail;
    const auto i = static_cast<std::size_t>(w.dead[k]);
    s.particles.x[i] = s.particles.x[last];
    s.particles.v[i] = s.particles.v[last];
    s.particles.inverse_mass[i] = s.particles.inverse_mass[last];
    s.birth[i] = s.birth[last];
    s.lifetime[i] = s.lifetime[last];
    s.id[i] = s.id[last];
    if (!s.acceleration.empty()) s.acceleration[i] = s.acceleration[last];
  }
  resize_all(s, left);
  return dead;
}

/// Appends what emitter e gives between s.time and s.time + h, each at its own moment, flown to the end of
/// the step.
void emit(const Model& model, State& s, const Params& params, const Flight& flight, Workspace& w,
          std::size_t e, Real h, Report& report) {
  const ParticleEmitter& emitter = params.emitters[e];
  const bool first = s.emitter_direction[e] == Vec3::Zero();
  const Vec3 position0 = first ? emitter.position : s.emitter_position[e];
  const Vec3 direction0 = first ? emitter.direction : s.emitter_direction[e];
  s.emitter_position[e] = emitter.position;
  s.emitter_direction[e] = emitter.direction;
  if (!has_surface(model, emitter)) {
    report.warn("an emitter names a surface that is not there; give it in surfaces");
    return;
  }
  const double t0 = s.time, t1 = s.time + static_cast<double>(h);
  const double begin = std::max(t0, static_cast<double>(emitter.start));
  const double end = std::min(t1, static_cast<double>(emitter.stop));
  const double rate = static_cast<double>(emitter.rate);
  if (!(end > begin) || !(rate > 0)) return;
  const double due = s.due[e] + rate * (end - begin);
  const double whole = std::floor(due);
  double wanted = whole;
  if (emitter.count > 0)
    wanted = std::min(wanted, static_cast<double>(std::max<std::int64_t>(0, emitter.count - s.emitted[e])));
  const std::size_t n0 = s.size();
  const double room = static_cast<double>(model.capacity - std::min(n0, model.capacity));
  if (wanted > room)
    report.warn("no room for emitted particles; raise max_particles, or lower rate or lifetime",
                static_cast<std::int64_t>(wanted - room));
  const auto n = static_cast<std::size_t>(std::min(wanted, room));
  const double due0 = s.due[e];
  s.due[e] = due - whole;
  if (n == 0) return;

  resize_all(s, n0 + n);
  w.x0.resize(n0 + n);
  parallel_for(n, block, [&](std::size_t from, std::size_t to) {
    for (std::size_t j = from; j < to; ++j) {
      const std::size_t i = n0 + j;
      const double at = std::min(end, begin + (static_cast<double>(j + 1) - due0) / rate);
      const Real along = static_cast<Real>((at - t0) / static_cast<double>(h));
      const Birth birth = draw_birth(model, emitter, e, s.emitted[e] + static_cast<std::int64_t>(j),
                                     position0 + along * (emitter.position - position0),
                                     direction0 + along * (emitter.direction - direction0));
      w.x0[i] = birth.x;
      s.particles.v[i] = birth.v;
      s.particles.inverse_mass[i] = model.inverse_mass;
      s.birth[i] = at;
      s.lifetime[i] = birth.lifetime;
      s.id[i] = static_cast<std::uint32_t>(s.next_id + static_cast<std::int64_t>(j));
      const Real left = static_cast<Real>(t1 - at);
      fly(flight, left, {&w.x0[i], 1}, {&s.particles.inverse_mass[i], 1}, {&s.particles.v[i], 1},
          {&s.particles.x[i], 1});
    }
  });
  s.emitted[e] += static_cast<std::int64_t>(n);
  s.next_id += static_cast<std::int64_t>(n);
  if (emitter.lifetime > 0) s.next_expiry = std::min(s.next_expiry, t1);
}

bool has_pairs(const Params& params) {
  return params.pair.epsilon > 0 && params.pair.n > params.pair.m;
}

/// The pair parameters that hold in a periodic box: no cut-off beyond its shortest side.
LennardJones within_box(const Model& model, const Params& params) {
  LennardJones lj = params.pair;
  for (int c = 0; c < 3; ++c) {
    const Real side = (model.periodic_high[c] - model.periodic_low[c]) / lj.sigma;
    if (!(side > 0)) continue;
    lj.cutoff = std::min(lj.cutoff, side);
    lj.skin = std::min(lj.skin, side - lj.cutoff);
  }
  return lj;
}

PairList::Setting list_setting(const Model& model, const Vec2& sigma_and_range) {
  return {sigma_and_range[0], sigma_and_range[1], model.periodic_low, model.periodic_high};
}

Real largest_squared_distance(std::span<const Vec3> a, std::span<const Vec3> b) {
  return ordered_reduce(
      a.size(), block, Real(0),
      [&](std::size_t begin, std::size_t end) {
        Real most = 0;
        for (std::size_t i = begin; i < end; ++i) most = std::max(most, (a[i] - b[i]).squaredNorm());
        return most;
      },
      [](Real x, Real y) { return std::max(x, y); });
}

/// Accelerations of all particles where they are now. The list is renewed when a particle has gone half the
/// skin.
PairEnergy update_accelerations(const Model& model, State& s, const Params& params, Workspace& w,
                                Report& report) {
  const LennardJones lj = within_box(model, params);
  if (lj.cutoff < params.pair.cutoff)
    report.warn("the cut-off is longer than the periodic box and was shortened; enlarge the box");
  const Vec2 wanted(lj.sigma, lj.cutoff + lj.skin);
  const Real slack = lj.skin * lj.sigma / 2;
  std::span<const Vec3> x = s.particles.x;
  int renewed = 0;
  if (s.pair_origin.size() != x.size() || s.pair_setting != wanted ||
      !(largest_squared_distance(x, s.pair_origin) <= slack * slack)) {
    s.pair_origin.assign(x.begin(), x.end());
    s.pair_setting = wanted;
    renewed = 1;
  }
  const PairList::Setting setting = list_setting(model, s.pair_setting);
  if (renewed || !w.pairs.is_of(s.pair_origin, setting)) {
    const StageTimer timer(report.stages, "list");
    w.pairs.build(s.pair_origin, setting);
  }
  report.measure("lists", renewed);
  const StageTimer timer(report.stages, "pairs");
  s.acceleration.resize(x.size());
  if (params.report_energy)
    return pair_accelerations_and_energy(lj, x, s.particles.inverse_mass, w.pairs, s.acceleration);
  pair_accelerations(lj, x, s.particles.inverse_mass, w.pairs, s.acceleration);
  return {};
}

void kick(State& s, Real h) {
  parallel_for(s.size(), block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) s.particles.v[i] += h * s.acceleration[i];
  });
}

Vector3<double> mean_velocity(const State& s) {
  const std::size_t n = s.size();
  const Vector3<double> sum = ordered_reduce(
      n, block, Vector3<double>(Vector3<double>::Zero()),
      [&](std::size_t begin, std::size_t end) {
        Vector3<double> part = Vector3<double>::Zero();
        for (std::size_t i = begin; i < end; ++i) part += s.particles.v[i].cast<double>();
        return part;
      },
      [](const Vector3<double>& a, const Vector3<double>& b) { return Vector3<double>(a + b); });
  return n > 0 ? Vector3<double>(sum / static_cast<double>(n)) : sum;
}

double kinetic_energy(const State& s) {
  return ordered_sum(s.size(), block, [&](std::size_t begin, std::size_t end) {
    double part = 0;
    for (std::size_t i = begin; i < end; ++i)
      if (s.particles.inverse_mass[i] > 0)
        part += s.particles.v[i].cast<double>().squaredNorm() /
                static_cast<double>(s.particles.inverse_mass[i]) / 2;
    return part;
  });
}

double periodic_volume(const Model& model) {
  return (model.periodic_high - model.periodic_low).cast<double>().prod();
}

/// What a uniform fluid beyond the cut-off adds, if it is asked for and the box says what density that is.
PairEnergy with_tail(const Model& model, const LennardJones& lj, std::size_t n, PairEnergy sums) {
  const double volume = periodic_volume(model);
  if (lj.truncation != LennardJones::Truncation::cut_with_tail || !(volume > 0)) return sums;
  const Mie mie(lj);
  const double sigma = static_cast<double>(lj.sigma), eps = static_cast<double>(lj.epsilon);
  const double rc = static_cast<double>(lj.cutoff),
               rho = static_cast<double>(n) / volume * sigma * sigma * sigma;
  sums.potential += eps * static_cast<double>(n) * mie.tail_energy(rho, rc);
  sums.virial += eps * 3 * static_cast<double>(n) / rho * mie.tail_pressure(rho, rc);
  return sums;
}

/// Longest step at which velocity Verlet keeps the energy: a fifth of 2/w (Hairer, Lubich & Wanner 2003,
/// section 5), with w^2 = 2 k / m of a pair whose spring constant k is the largest of
///   4 U''(r0), the stiffest wave of a close-packed crystal (four times a pair's);
///   U''(r) at the closest approach of the two fastest, U_repulsive(r) = C eps (sigma/r)^n = m v^2.
Real pair_max_dt(const State& s, const Params& params) {
  if (s.size() < 2) return std::numeric_limits<Real>::infinity();
  const Vector3<double> mean = mean_velocity(s);
  struct Most {
    double energy = 0, inverse_mass = 0;
  };
  const Most most = ordered_reduce(
      s.size(), block, Most{},
      [&](std::size_t begin, std::size_t end) {
        Most part;
        for (std::size_t i = begin; i < end; ++i) {
          const double w = static_cast<double>(s.particles.inverse_mass[i]);
          if (!(w > 0)) continue;
          part.energy = std::max(part.energy, (s.particles.v[i].cast<double>() - mean).squaredNorm() / w);
          part.inverse_mass = std::max(part.inverse_mass, w);
        }
        return part;
      },
      [](const Most& a, const Most& b) {
        return Most{std::max(a.energy, b.energy), std::max(a.inverse_mass, b.inverse_mass)};
      });
  if (!(most.inverse_mass > 0)) return std::numeric_limits<Real>::infinity();
  const Mie mie(params.pair);
  const double eps = static_cast<double>(params.pair.epsilon), sigma = static_cast<double>(params.pair.sigma);
  const double closest = std::pow(mie.prefactor * eps / std::max(most.energy, 1e-30 * eps), 1 / mie.n);
  const double repulsion =
      closest < mie.minimum() ? mie.prefactor * mie.n * (mie.n + 1) * std::pow(closest, -mie.n - 2) : 0.0;
  const double stiffness = eps / (sigma * sigma) * std::max(4 * mie.curvature(mie.minimum()), repulsion);
  return static_cast<Real>(0.2 * 2 / std::sqrt(2 * stiffness * most.inverse_mass));
}

}  // namespace

Real ParticleSystem::max_dt(const Model&, const State& s, const Params& params) {
  // Kicks by a force are stable for w h < 2; at the centre of an attractor w^2 = mu / radius^3. A tenth keeps
  // orbits.
  Real limit = std::numeric_limits<Real>::infinity();
  for (const Attractor& a : params.attractors)
    if (a.strength != 0)
      limit = std::min(limit, Real(0.2) * std::sqrt(a.radius * a.radius * a.radius / std::abs(a.strength)));
  if (has_pairs(params)) limit = std::min(limit, pair_max_dt(s, params));
  return limit;
}

Report ParticleSystem::step(const Model& model, State& s, const Params& params, Workspace& w, Real h) {
  Report report;
  const bool pairs = has_pairs(params);
  if (params.pair.epsilon > 0 && !pairs)
    report.warn("pair.n must be above pair.m; there are no forces between particles");
  const bool air_moves =
      params.wind != Vec3::Zero() || params.turbulence.speed > 0 || !params.vortices.empty();
  if (air_moves && params.linear_drag == 0 && params.quadratic_drag == 0)
    report.warn(
        "wind, turbulence and vortices are not felt without drag; raise linear_drag or quadratic_drag");
  reserve(model, s, w, params.emitters.size(), pairs);
  const Flight flight(params, s.time + static_cast<double>(h) / 2);
  std::size_t died = 0;
  {
    const StageTimer timer(report.stages, "remove");
    died = remove_dead(s, w, s.time + static_cast<double>(h));
  }
  // Velocity Verlet: half a kick, flight, the forces there, half a kick. What is born on the way misses the
  // first half.
  if (pairs) {
    if (s.acceleration.size() != s.size()) update_accelerations(model, s, params, w, report);
    kick(s, h / 2);
  } else {
    s.acceleration.clear();
    s.pair_origin.clear();
  }
  {
    const StageTimer timer(report.stages, "fly");
    Particles& p = s.particles;
    const std::size_t n = p.size();
    std::swap(p.x, w.x0);
    p.x.resize(n);
    parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
      const std::size_t m = end - begin;
      fly(flight, h, {w.x0.data() + begin, m}, {p.inverse_mass.data() + begin, m}, {p.v.data() + begin, m},
          {p.x.data() + begin, m});
    });
  }
  {
    const StageTimer timer(report.stages, "emit");
    for (std::size_t e = 0; e < params.emitters.size(); ++e) emit(model, s, params, flight, w, e, h, report);
  }
  PairEnergy energy;
  if (pairs) {
    energy = with_tail(model, within_box(model, params), s.size(),
                       update_accelerations(model, s, params, w, report));
    kick(s, h / 2);
  }
  s.time += static_cast<double>(h);
  report.measure("particles", static_cast<double>(s.size()));
  report.measure("died", static_cast<double>(died));
  if (params.report_energy) {
    const double kinetic = kinetic_energy(s), volume = periodic_volume(model);
    report.measure("kinetic_energy", kinetic, "J");
    if (pairs) {
      report.measure("pair_energy", energy.potential, "J");
      if (volume > 0) report.measure("pressure", (2 * kinetic + energy.virial) / (3 * volume), "Pa");
    }
  }
  return report;
}

PairEnergy ParticleSystem::pair_energy(const Model& model, const State& s, const Params& params,
                                       Workspace& w) {
  if (!has_pairs(params)) return {};
  const LennardJones lj = within_box(model, params);
  // The list of the state may serve if nobody has gone too far since; else the workspace's is made anew.
  const Real slack = lj.skin * lj.sigma / 2;
  const PairList::Setting setting = list_setting(model, Vec2(lj.sigma, lj.cutoff + lj.skin));
  const bool near = w.pairs.setting == setting && w.pairs.origin.size() == s.size() &&
                    largest_squared_distance(s.particles.x, w.pairs.origin) <= slack * slack;
  if (!near) w.pairs.build(s.particles.x, setting);
  w.unused_acceleration.resize(s.size());
  const PairEnergy sums = pair_accelerations_and_energy(lj, s.particles.x, s.particles.inverse_mass, w.pairs,
                                                        w.unused_acceleration);
  return with_tail(model, lj, s.size(), sums);
}

void ParticleSystem::fields(const Model&, State& s, FieldVisitor& visit) {
  visit({"position", "m", Centring::particle}, s.particles.x);
  visit({"velocity", "m/s", Centring::particle}, s.particles.v);
  visit({"inverse_mass", "1/kg", Centring::particle}, s.particles.inverse_mass);
  visit({"birth", "s", Centring::particle}, s.birth);
  visit({"lifetime", "s", Centring::particle}, s.lifetime);
  visit({"id", "", Centring::particle}, s.id);
  visit({"acceleration", "m/s^2", Centring::global}, s.acceleration);
  visit({"pair_origin", "m", Centring::global}, s.pair_origin);
  visit({"pair_setting", "", Centring::global}, s.pair_setting);
  visit({"time", "s", Centring::global}, s.time);
  visit({"next_expiry", "s", Centring::global}, s.next_expiry);
  visit({"next_id", "", Centring::global}, s.next_id);
  visit({"emitter_due", "", Centring::global}, s.due);
  visit({"emitter_count", "", Centring::global}, s.emitted);
  visit({"emitter_position", "m", Centring::global}, s.emitter_position);
  visit({"emitter_direction", "", Centring::global}, s.emitter_direction);
  visit.derived({"speed", "m/s", Centring::particle}, [&](std::vector<Real>& out) {
    out.resize(s.size());
    for (std::size_t i = 0; i < s.size(); ++i) out[i] = s.particles.v[i].norm();
  });
  visit.derived({"age", "s", Centring::particle}, [&](std::vector<Real>& out) {
    out.resize(s.size());
    for (std::size_t i = 0; i < s.size(); ++i) out[i] = static_cast<Real>(s.time - s.birth[i]);
  });
}

void ParticleSystem::geometry(const Model& model, const State& s, DrawableSink& sink) {
  SphereView view;
  std::vector<Vec3> wrapped;
  view.x = s.particles.x;
  if ((model.periodic_high.array() > model.periodic_low.array()).any()) {
    // Particles keep their way across the box's faces; they are shown in the box.
    wrapped = s.particles.x;
    for (Vec3& x : wrapped)
      for (int c = 0; c < 3; ++c) {
        const Real side = model.periodic_high[c] - model.periodic_low[c];
        if (side > 0) x[c] -= side * std::floor((x[c] - model.periodic_low[c]) / side);
      }
    view.x = wrapped;
    view.period = (model.periodic_high - model.periodic_low).cwiseMax(Vec3::Zero());
  }
  view.radius = model.radius;
  view.look = Look::particle;
  view.palette = model.palette;
  view.trail = model.trail;
  view.ids = s.id;
  std::vector<Real> values(model.colour == Colour::plain ? 0 : s.size());
  if (model.colour == Colour::speed) {
    for (std::size_t i = 0; i < s.size(); ++i) values[i] = s.particles.v[i].norm();
    view.colour = {.values = values, .quantity = "speed", .unit = "m/s"};
  } else if (model.colour == Colour::age) {
    for (std::size_t i = 0; i < s.size(); ++i) values[i] = static_cast<Real>(s.time - s.birth[i]);
    view.colour = {.values = values, .quantity = "age", .unit = "s"};
  }
  view.colour.low = model.colour_low, view.colour.high = model.colour_high;
  sink.spheres(view);
}

Samples ParticleSystem::samples(const Model& model, const State& s, const Params& params,
                                const Workspace& w) {
  const Particles& p = s.particles;
  // Before the first step there is no start of a step: the particles stand.
  return {.x0 = w.x0.size() == p.size() ? std::span<const Vec3>(w.x0) : std::span<const Vec3>(p.x),
          .x = p.x,
          .v = p.v,
          .inverse_mass = p.inverse_mass,
          .radius = model.radius,
          .friction = params.friction,
          .restitution = params.restitution,
          .id = s.id};
}

void ParticleSystem::absorb(const Model&, State& s, std::span<const SampleImpulse> impulses) {
  for (const SampleImpulse& j : impulses) {
    const auto i = static_cast<std::size_t>(j.sample);
    s.particles.v[i] += s.particles.inverse_mass[i] * j.impulse;
    s.particles.x[i] += j.displacement;
  }
}

}  // namespace plenum::inline PLENUM_ABI
