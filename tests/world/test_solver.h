#pragma once
// The smallest solver: points that orbit the origin on springs of their own, stepped by symplectic Euler.
#include "plenum/base/describe.h"
#include "plenum/state/particles.h"
#include "plenum/state/solver.h"

namespace plenum::test {

struct Orbits {
  struct Model {};
  struct State {
    Particles particles;
    std::int64_t steps = 0;
  };
  struct Params {
    Real stiffness = 10;            // [1/s^2]
    Vec3 gravity = Vec3(0, -1, 0);  // [m/s^2]
    Real limit = 1;                 // [s] what max_dt answers
    Real poison = 0;                // added to the velocity of point 3
    void describe(Describer& d) {
      d("stiffness", stiffness, {.unit = "1/s^2", .min = 0, .max = 1e6});
      d("gravity", gravity, {.unit = "m/s^2", .min = -100, .max = 100});
      d("limit", limit, {.unit = "s", .min = 1e-9, .max = 1});
      d("poison", poison);
    }
  };
  struct Workspace {
    std::vector<Vec3> x0, v0;
  };
  static Real max_dt(const Model&, const State&, const Params& p) { return p.limit; }
  static Report step(const Model&, State& s, const Params& p, Workspace& w, Real dt) {
    Report report;
    const StageTimer timer(report.stages, "orbit");
    w.x0 = s.particles.x;
    w.v0 = s.particles.v;
    parallel_for(s.particles.size(), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        s.particles.v[i] += dt * (p.gravity - p.stiffness * s.particles.x[i]);
        if (i == 3) s.particles.v[i].x() += p.poison;
        s.particles.x[i] += dt * s.particles.v[i];
      }
    });
    ++s.steps;
    report.measure("speed of the first", s.particles.v[0].norm(), "m/s");
    return report;
  }
  static void fields(const Model&, auto&& s, FieldVisitor& visit) {
    visit({"position", "m", Centring::particle}, s.particles.x);
    visit({"velocity", "m/s", Centring::particle}, s.particles.v);
    visit({"steps", "1", Centring::global}, s.steps);
  }
  static void geometry(const Model&, const State& s, DrawableSink& sink) {
    sink.spheres({.x = s.particles.x});
  }
  static Samples samples(const Model&, const State& s, const Params&, const Workspace& w) {
    return {.x0 = w.x0.size() == s.particles.size() ? w.x0 : s.particles.x,
            .x = s.particles.x,
            .v = s.particles.v,
            .v0 = w.v0.size() == s.particles.size() ? w.v0 : s.particles.v,
            .inverse_mass = s.particles.inverse_mass};
  }
  static void absorb(const Model&, State& s, std::span<const SampleImpulse> impulses) {
    for (const SampleImpulse& j : impulses) {
      const auto i = static_cast<std::size_t>(j.sample);
      s.particles.v[i] += s.particles.inverse_mass[i] * j.impulse;
      s.particles.x[i] += j.displacement;
    }
  }
};
static_assert(Solver<Orbits> && HasSamples<Orbits>);

inline Orbits::State ring(std::size_t n) {
  Orbits::State s;
  s.particles.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Real a = Real(6.28318) * Real(i) / Real(n);
    s.particles.x[i] = Vec3(std::cos(a), Real(0.1) * Real(i % 7), std::sin(a));
    s.particles.v[i] = Vec3(-std::sin(a), 0, std::cos(a));
  }
  return s;
}

}  // namespace plenum::test
