#include "plenum/solvers/particles/particles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/base/parallel.h"
#include "plenum/solvers/particles/detail/emit.h"
#include "plenum/solvers/particles/detail/flight.h"

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
}

/// Room for every particle there may ever be, so that no later step allocates.
void reserve(const Model& model, State& s, Workspace& w, std::size_t num_emitters) {
  s.particles.x.reserve(model.capacity);
  s.particles.v.reserve(model.capacity);
  s.particles.inverse_mass.reserve(model.capacity);
  s.birth.reserve(model.capacity);
  s.lifetime.reserve(model.capacity);
  s.id.reserve(model.capacity);
  w.x0.reserve(model.capacity);
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
  struct Scan {
    std::size_t dead = 0;
    double next = never;
  };
  const std::size_t n = s.size();
  const Scan scan = ordered_reduce(
      n, block, Scan{},
      [&](std::size_t begin, std::size_t end) {
        Scan found;
        for (std::size_t i = begin; i < end; ++i) {
          const double e = expiry(s, i);
          if (e <= t)
            ++found.dead;
          else
            found.next = std::min(found.next, e);
        }
        return found;
      },
      [](const Scan& a, const Scan& b) {
        return Scan{a.dead + b.dead, std::min(a.next, b.next)};
      });
  s.next_expiry = scan.next;
  if (scan.dead == 0) return 0;

  const std::size_t left = n - scan.dead;
  std::size_t last = n;
  for (std::size_t i = 0; i < left; ++i) {
    if (expiry(s, i) > t) continue;
    do --last;
    while (expiry(s, last) <= t);
    s.particles.x[i] = s.particles.x[last];
    s.particles.v[i] = s.particles.v[last];
    s.particles.inverse_mass[i] = s.particles.inverse_mass[last];
    s.birth[i] = s.birth[last];
    s.lifetime[i] = s.lifetime[last];
    s.id[i] = s.id[last];
  }
  resize_all(s, left);
  static_cast<void>(w);
  return scan.dead;
}

/// Appends what emitter e gives between s.time and s.time + h, each at its own moment, flown to the end of
/// the step.
void emit(const Model& model, State& s, const Params& params, Workspace& w, std::size_t e, Real h,
          Report& report) {
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
      fly(params, at, left, {&w.x0[i], 1}, {&s.particles.inverse_mass[i], 1}, {&s.particles.v[i], 1},
          {&s.particles.x[i], 1});
    }
  });
  s.emitted[e] += static_cast<std::int64_t>(n);
  s.next_id += static_cast<std::int64_t>(n);
  s.next_expiry = std::min(s.next_expiry, t1);
}

}  // namespace

Real ParticleSystem::max_dt(const Model&, const State&, const Params& params) {
  // Kicks by a force are stable for w h < 2 (Hairer, Lubich & Wanner 2003, section 5); at the centre of an
  // attractor w^2 = mu / radius^3. A tenth of that keeps orbits.
  Real limit = std::numeric_limits<Real>::infinity();
  for (const Attractor& a : params.attractors)
    if (a.strength != 0)
      limit = std::min(limit, Real(0.2) * std::sqrt(a.radius * a.radius * a.radius / std::abs(a.strength)));
  return limit;
}

Report ParticleSystem::step(const Model& model, State& s, const Params& params, Workspace& w, Real h) {
  Report report;
  reserve(model, s, w, params.emitters.size());
  std::size_t died = 0;
  {
    const StageTimer timer(report.stages, "remove");
    died = remove_dead(s, w, s.time + static_cast<double>(h));
  }
  {
    const StageTimer timer(report.stages, "fly");
    Particles& p = s.particles;
    const std::size_t n = p.size();
    std::swap(p.x, w.x0);
    p.x.resize(n);
    parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
      const std::size_t m = end - begin;
      fly(params, s.time, h, {w.x0.data() + begin, m}, {p.inverse_mass.data() + begin, m},
          {p.v.data() + begin, m}, {p.x.data() + begin, m});
    });
  }
  {
    const StageTimer timer(report.stages, "emit");
    for (std::size_t e = 0; e < params.emitters.size(); ++e) emit(model, s, params, w, e, h, report);
  }
  s.time += static_cast<double>(h);
  report.measure("particles", static_cast<double>(s.size()));
  report.measure("died", static_cast<double>(died));
  return report;
}

void ParticleSystem::fields(const Model&, State& s, FieldVisitor& visit) {
  visit({"position", "m", Centring::particle}, s.particles.x);
  visit({"velocity", "m/s", Centring::particle}, s.particles.v);
  visit({"inverse_mass", "1/kg", Centring::particle}, s.particles.inverse_mass);
  visit({"birth", "s", Centring::particle}, s.birth);
  visit({"lifetime", "s", Centring::particle}, s.lifetime);
  visit({"id", "", Centring::particle}, s.id);
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
  view.x = s.particles.x;
  view.radius = model.radius;
  view.look = Look::particle;
  view.palette = model.palette;
  std::vector<Real> values(model.colour == Colour::plain ? 0 : s.size());
  if (model.colour == Colour::speed) {
    for (std::size_t i = 0; i < s.size(); ++i) values[i] = s.particles.v[i].norm();
    view.colour = {.values = values, .quantity = "speed", .unit = "m/s"};
  } else if (model.colour == Colour::age) {
    for (std::size_t i = 0; i < s.size(); ++i) values[i] = static_cast<Real>(s.time - s.birth[i]);
    view.colour = {.values = values, .quantity = "age", .unit = "s"};
  }
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
          .restitution = params.restitution};
}

void ParticleSystem::absorb(const Model&, State& s, std::span<const SampleImpulse> impulses) {
  for (const SampleImpulse& j : impulses) {
    const auto i = static_cast<std::size_t>(j.sample);
    s.particles.v[i] += s.particles.inverse_mass[i] * j.impulse;
    s.particles.x[i] += j.displacement;
  }
}

}  // namespace plenum::inline PLENUM_ABI
