// Emission and flight of particles that do not feel each other.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "plenum/solvers/particles/particles.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

using P = ParticleSystem;
static_assert(Buildable<P> && HasSamples<P>);

struct Simulation {
  P::Model model;
  P::State state;
  P::Params params;
  P::Workspace workspace;
  explicit Simulation(const P::Spec& spec) { P::build(spec, model, state); }
  Report step(double h) { return P::step(model, state, params, workspace, static_cast<Real>(h)); }
};

P::Spec one_particle(const Vec3& v) {
  P::Spec spec;
  spec.max_particles = 1;
  spec.mass = 1;
  spec.positions = {Vec3::Zero()};
  spec.velocities = {v};
  return spec;
}

TEST(Flight, WithoutAirItIsTheExactParabolaForAnyStep) {
  Simulation sim(one_particle({3, 4, 0}));
  for (int k = 0; k < 4; ++k) sim.step(0.25);
  EXPECT_NEAR(sim.state.particles.x[0].x(), 3, 1e-5);
  EXPECT_NEAR(sim.state.particles.x[0].y(), 4 - 9.81 / 2, 1e-5);
  EXPECT_NEAR(sim.state.particles.v[0].y(), 4 - 9.81, 1e-5);
}

TEST(Emission, IsEvenInTimeWhateverTheStep) {
  // Straight up without gravity or spread: the positions show the times of birth.
  P::Spec spec;
  Simulation sim(spec);
  sim.params.gravity.setZero();
  sim.params.emitters.emplace_back();
  ParticleEmitter& e = sim.params.emitters[0];
  e.rate = Real(37.5);
  e.speed = 1;
  e.speed_variation = e.spread = 0;
  for (int k = 0; k < 60; ++k) sim.step(1.0 / 60);
  ASSERT_EQ(sim.state.size(), 37u);
  for (std::size_t i = 0; i < 37; ++i) {
    const double age = 1 - double(i + 1) / 37.5;
    EXPECT_NEAR(sim.state.particles.x[i].y(), age, 1e-5);
  }
}

}}  // namespace plenum
