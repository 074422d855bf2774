// Particle systems in a world: the same bits for any number of threads, after a restart and without scratch
// memory.
#include <gtest/gtest.h>

#include "plenum/base/parallel.h"
#include "plenum/world/world.h"
#include "simulation.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using P = ParticleSystem;
static_assert(Buildable<P> && HasSamples<P>);

/// A bit of everything: births, deaths and air; forces between molecules, some of which live for a while
/// only.
World fountain(int threads) {
  WorldSettings settings;
  settings.threads = threads;
  World world(settings);
  {
    P::Spec spec;
    spec.max_particles = 9000;
    P::Model model;
    P::State state;
    P::build(spec, model, state);
    P::Params params;
    params.linear_drag = Real(1e-4);
    params.quadratic_drag = Real(1e-4);
    params.wind = {1, 0, 0};
    params.turbulence.speed = 1;
    params.turbulence.octaves = 2;
    params.attractors.push_back({{0, 1, 0}, 1, Real(0.5)});
    params.vortices.emplace_back();
    for (int e = 0; e < 2; ++e) {
      ParticleEmitter& emitter = params.emitters.emplace_back();
      emitter.shape = ParticleEmitter::Shape::disc;
      emitter.position = {static_cast<Real>(e), 0, 0};
      emitter.rate = 60000;
      emitter.lifetime = Real(0.06);
      emitter.lifetime_variation = Real(0.5);
    }
    world.add<P>("fountain", std::move(model), std::move(state), params);
  }
  {
    P::Spec spec;
    spec.blocks.resize(2);
    for (ParticleBlock& block : spec.blocks) {
      block.lattice = ParticleBlock::Lattice::fcc;
      block.spacing = Real(0.07);
      block.low = {Real(-0.25), 3, Real(-0.25)};
      block.high = {Real(0.25), Real(3.5), Real(0.25)};
      block.thermal_speed = Real(0.3);
    }
    spec.blocks[1].low.y() = Real(2.5);
    spec.blocks[1].high.y() = 3;
    spec.blocks[1].lifetime = Real(0.1);
    P::Model model;
    P::State state;
    P::build(spec, model, state);
    P::Params params;
    params.pair.epsilon = Real(1e-4);
    params.pair.sigma = Real(0.045);
    params.emitters.emplace_back().rate = 8;  // six sigma apart
    params.emitters.back().speed = 2;
    world.add<P>("droplet", std::move(model), std::move(state), params);
  }
  return world;
}

TEST(ParticleWorld, HashesTheSameForAnyNumberOfThreads) {
  Hash128 expected;
  for (const int threads : {1, 2, 3, 5, 8}) {
    World world = fountain(threads);
    for (int k = 0; k < 12; ++k) ASSERT_TRUE(world.step_frame().ok);
    if (threads == 1) expected = world.hash();
    EXPECT_EQ(world.hash(), expected) << threads;
  }
}

TEST(ParticleWorld, ResumesToTheSameBits) {
  World world = fountain(2);
  for (int k = 0; k < 10; ++k) world.step_frame();
  const std::vector<std::byte> saved = world.snapshot();
  for (int k = 0; k < 10; ++k) world.step_frame();
  World resumed = fountain(3);
  resumed.restore(saved);
  for (int k = 0; k < 10; ++k) resumed.step_frame();
  EXPECT_EQ(resumed.hash(), world.hash());
}

TEST(ParticleWorld, NeedsNothingOfItsScratchMemory) {
  World world = fountain(2), poisoned = fountain(2);
  for (int k = 0; k < 20; ++k) {
    world.step_frame();
    poisoned.system(0).poison_workspace();
    poisoned.step_frame();
  }
  EXPECT_EQ(poisoned.hash(), world.hash());
}

// On one thread, so that all of a step runs on the thread that is counted.
long allocations_of(Simulation& sim, int warm_up, int steps, double h) {
  long count = 0;
  with_threads(1, [&] {
    for (int k = 0; k < warm_up; ++k) sim.step(h);
    count = plenum_test::count_allocations([&] {
      for (int k = 0; k < steps; ++k) sim.step(h);
    });
  });
  return count;
}

TEST(ParticleWorld, SteadyBirthsAndDeathsAllocateNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  P::Spec spec;
  spec.max_particles = 20000;
  Simulation sim(spec);
  sim.params.turbulence.speed = 1;
  sim.params.linear_drag = Real(1e-5);
  ParticleEmitter& emitter = sim.params.emitters.emplace_back();
  emitter.rate = 20000;
  emitter.lifetime = Real(0.3);
  EXPECT_EQ(allocations_of(sim, 60, 60, 1.0 / 60), 0);
  EXPECT_GT(sim.size(), 5000u);
}

TEST(ParticleWorld, ALiquidAllocatesNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  P::Spec spec;
  spec.max_particles = 0;
  spec.mass = 1;
  spec.periodic_high = Vec3::Constant(Real(13.6));
  spec.blocks.resize(1);
  spec.blocks[0].lattice = ParticleBlock::Lattice::fcc;
  spec.blocks[0].low.setZero();
  spec.blocks[0].high = spec.periodic_high;
  spec.blocks[0].spacing = Real(1.7);
  spec.blocks[0].thermal_speed = Real(1.2);
  Simulation sim(spec);
  sim.params.gravity.setZero();
  sim.params.pair.epsilon = sim.params.pair.sigma = 1;
  EXPECT_EQ(sim.size(), 2048u);
  EXPECT_EQ(allocations_of(sim, 150, 150, 0.005), 0);
}

TEST(ParticleWorld, SamplesSpanTheStepAndAbsorbGoesBothWays) {
  P::Spec spec;
  spec.mass = 2;
  spec.positions = {{0, 0, 0}, {1, 0, 0}};
  spec.velocities = {{1, 0, 0}, {0, 1, 0}};
  Simulation sim(spec);
  sim.params.gravity.setZero();
  sim.params.restitution = Real(0.7);
  ParticleEmitter& emitter = sim.params.emitters.emplace_back();
  emitter.rate = 25;
  emitter.position = {0, 5, 0};
  sim.step(0.1);
  const Samples samples = P::samples(sim.model, sim.state, sim.params, sim.workspace);
  ASSERT_EQ(samples.x.size(), 4u);
  ASSERT_EQ(samples.x0.size(), 4u);
  EXPECT_EQ(samples.x0[0], Vec3::Zero());
  EXPECT_LT((samples.x[0] - Vec3(Real(0.1), 0, 0)).norm(), 1e-6);
  EXPECT_EQ(samples.x0[2], Vec3(0, 5, 0));  // born there
  EXPECT_EQ(samples.restitution, Real(0.7));
  const SampleImpulse j{1, {0, 4, 0}, {0, 0, 3}};
  P::absorb(sim.model, sim.state, {&j, 1});
  EXPECT_LT((sim.v(1) - Vector3<double>(0, 3, 0)).norm(), 1e-6);
  EXPECT_NEAR(sim.x(1).z(), 3, 1e-6);
}

TEST(ParticleWorld, ParametersCanBeKeyframed) {
  World world = fountain(1);
  Keyframes keys;
  keys.path = "emitters[1].rate";
  keys.times = {0, 1};
  keys.values = {0, 6000};
  world.add_keyframes("fountain", keys);
  keys.path = "turbulence.speed";
  world.add_keyframes("fountain", keys);
  EXPECT_TRUE(world.step_frame().ok);
}

TEST(ParticleWorld, ShowsItsParticlesInTheirBox) {
  struct Sink final : DrawableSink {
    std::vector<Vec3> x;
    std::string quantity;
    std::size_t values = 0;
    std::vector<std::uint32_t> ids;
    Vec3 period = Vec3::Zero();
    Real trail = 0, high = 0;
    void triangles(const TriangleView&) override {}
    void lines(const LineView&) override {}
    void spheres(const SphereView& view) override {
      x.assign(view.x.begin(), view.x.end());
      quantity = view.colour.quantity;
      values = view.colour.values.size();
      ids.assign(view.ids.begin(), view.ids.end());
      period = view.period;
      trail = view.trail;
      high = view.colour.high;
    }
  } sink;
  P::Spec spec;
  spec.positions = {{Real(2.5), Real(-0.25), 7}};
  spec.periodic_low = {0, 0, 0};
  spec.periodic_high = {1, 1, 0};
  spec.colour = P::Colour::age;
  spec.colour_high = 5;
  spec.trail = 2;
  const Simulation sim(spec);
  P::geometry(sim.model, sim.state, sink);
  ASSERT_EQ(sink.x.size(), 1u);
  EXPECT_LT((sink.x[0] - Vec3(Real(0.5), Real(0.75), 7)).norm(), 1e-5);
  EXPECT_EQ(sink.quantity, "age");
  EXPECT_EQ(sink.values, 1u);
  EXPECT_EQ(sink.high, 5);
  // What a trail needs: who is who, and where the box leads back in.
  EXPECT_EQ(sink.trail, 2);
  EXPECT_EQ(sink.ids, sim.state.id);
  EXPECT_EQ(sink.period, Vec3(1, 1, 0));
}

}}  // namespace plenum
