// What keyframes hold moves evenly through the parts into which explicit methods divide a frame.
#include <gtest/gtest.h>

#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/springs/springs.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

/// A mass on a stiff spring, towed along x by its pin at 3 m/s, without gravity.
World towed(int threads = 1) {
  World world({.fps = 30});
  world.set_threads(threads);
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  part.points = {Vec3(0, 0, 0), Vec3(-1, 0, 0)};
  part.springs = {Index2(0, 1)};
  part.mass = Real(0.01);
  part.structural_stiffness = 5000;
  part.damping_time = 0;
  part.velocity = Vec3(3, 0, 0);
  part.pins = {{.indices = {0}}};
  Springs::Model model;
  Springs::State state;
  Springs::build({.parts = {part}}, model, state);
  Springs::Params params;
  params.gravity.setZero();
  params.integrator = Springs::Integrator::symplectic_euler;
  params.pins.resize(1);
  world.add<Springs>("tow", std::move(model), std::move(state), params);
  world.add_keyframes("tow", {.path = "pins[0].offset",
                              .interpolation = Keyframes::Interpolation::linear,
                              .times = {0, 10},
                              .values = {0, 0, 0, 30, 0, 0}});
  return world;
}

TEST(PinKeyframes, APinMovesAtConstantVelocityThroughTheParts) {
  World world = towed();
  auto& tow = dynamic_cast<SystemOf<Springs>&>(world.system(0));
  for (int f = 1; f <= 30; ++f) {
    const FrameReport report = world.step_frame();
    ASSERT_GT(report.systems[0].substeps, 10);  // 2 / sqrt(k / m) = 2.8 ms
    EXPECT_NEAR(tow.state.particles.v[0].x(), 3, 1e-2) << f;
    EXPECT_NEAR(tow.state.particles.x[0].x(), 0.1 * f, 1e-5) << f;
    // Towed at the velocity it starts with, the mass feels nothing. A pin that jumped 0.1 m in the first part
    // of each frame would set it swinging by as much.
    EXPECT_NEAR(tow.state.particles.x[1].x() - tow.state.particles.x[0].x(), -1, 1e-4) << f;
  }
}

TEST(PinKeyframes, TheHashIsTheSameForEveryThreadCountAndAfterARestart) {
  World whole = towed(), first = towed(), second = towed();
  for (int f = 0; f < 20; ++f) whole.step_frame();
  for (const int threads : {2, 3, 5, 8}) {
    World other = towed(threads);
    for (int f = 0; f < 20; ++f) other.step_frame();
    EXPECT_EQ(other.hash(), whole.hash()) << threads;
  }
  for (int f = 0; f < 9; ++f) first.step_frame();
  second.restore(first.snapshot());
  while (second.frame() < 20) second.step_frame();
  EXPECT_EQ(second.hash(), whole.hash());
}

TEST(PinKeyframes, AMovingObstaclePushesEvenlyThroughTheParts) {
  // A wall at 3 m/s behind a net of one mass on a spring so weak that it does not matter, in 30 parts a
  // frame.
  World world({.fps = 30});
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  part.points = {Vec3(Real(0.5), 0, 0), Vec3(Real(0.5), 5, 0), Vec3(Real(0.5), 6, 0)};
  part.springs = {Index2(1, 2)};
  part.mass = Real(0.001);
  part.structural_stiffness = 1000;
  Springs::Model model;
  Springs::State state;
  Springs::build({.parts = {part}}, model, state);
  Springs::Params params;
  params.gravity.setZero();
  params.integrator = Springs::Integrator::symplectic_euler;
  auto& net = world.add<Springs>("net", std::move(model), std::move(state), params);
  Obstacle::Model wall;
  Obstacle::State at;
  Obstacle::build({.parts = {{.shape = Obstacle::Kind::box, .half_extents = Vec3(Real(0.05), 1, 1)}}}, wall,
                  at);
  world.add<Obstacle>("wall", std::move(wall), at);
  world.add_keyframes("wall", {.path = "position",
                               .interpolation = Keyframes::Interpolation::linear,
                               .times = {0, 10},
                               .values = {0, 0, 0, 30, 0, 0}});
  for (int f = 1; f <= 30; ++f) {
    const FrameReport report = world.step_frame();
    ASSERT_GT(report.systems[0].substeps, 10);
    // The wall's face and the net's thickness of 0.01 m before it.
    const double face = 0.1 * f + 0.06;
    if (face < 0.5) continue;
    EXPECT_NEAR(net.state.particles.x[0].x(), face, 1e-3) << f;
    EXPECT_NEAR(net.state.particles.v[0].x(), 3, 1e-2) << f;
  }
}

}}  // namespace plenum
