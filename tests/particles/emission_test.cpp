// Births and deaths.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/shapes.h"
#include "simulation.h"

namespace plenum { namespace {

ParticleEmitter& add_emitter(Simulation& sim) {
  sim.params.gravity.setZero();
  return sim.params.emitters.emplace_back();
}

TEST(Emission, IsEvenInTimeWhateverTheStep) {
  // Straight up at 1 m/s without gravity or spread: heights are ages, and the ages are evenly spaced.
  for (const int fps : {7, 60, 1000}) {
    Simulation sim({});
    ParticleEmitter& e = add_emitter(sim);
    e.rate = Real(37.5);
    e.speed = 1;
    e.speed_variation = e.spread = 0;
    for (int k = 0; k < fps; ++k) sim.step(1.0 / fps);
    ASSERT_EQ(sim.size(), 37u);
    for (std::size_t i = 0; i < 37; ++i) EXPECT_NEAR(sim.x(i).y(), 1 - double(i + 1) / 37.5, 1e-4);
  }
}

TEST(Emission, FollowsAMovingEmitterWithinAStep) {
  Simulation sim({});
  ParticleEmitter& e = add_emitter(sim);
  e.rate = 1000;
  e.speed = 0;
  sim.step(1.0 / 60);
  const std::size_t before = sim.size();
  e.position = {1, 0, 0};
  sim.step(1.0 / 60);
  // Born along the way, a sixtieth of a second apart from end to end.
  for (std::size_t i = before; i < sim.size(); ++i) {
    const double s = (sim.state.birth[i] - 1.0 / 60) * 60;
    EXPECT_NEAR(sim.x(i).x(), s, 1e-4);
  }
  EXPECT_GT(sim.size(), before + 15);
}

TEST(Emission, KeepsItsTimesAndItsCount) {
  Simulation sim({});
  ParticleEmitter& e = add_emitter(sim);
  e.rate = 100;
  e.start = Real(0.25);
  e.stop = Real(0.5);
  for (int k = 0; k < 60; ++k) sim.step(1.0 / 60);
  EXPECT_NEAR(double(sim.size()), 25, 1);
  for (const double birth : sim.state.birth) {
    EXPECT_GE(birth, 0.25);
    EXPECT_LE(birth, 0.5 + 1e-6);
  }
  Simulation few({});
  ParticleEmitter& f = add_emitter(few);
  f.count = 17;
  for (int k = 0; k < 60; ++k) few.step(1.0 / 60);
  EXPECT_EQ(few.size(), 17u);
}

TEST(Emission, FillsItsConeUniformly) {
  ParticleSystem::Spec spec;
  spec.max_particles = 200000;
  Simulation sim(spec);
  ParticleEmitter& e = add_emitter(sim);
  e.rate = 1e6;
  e.speed = 2;
  e.speed_variation = Real(0.5);
  e.spread = Real(1.2 * 180 / std::numbers::pi);
  e.direction = {1, 2, -2};
  sim.step(0.1);
  const Vector3<double> axis = Vector3<double>(1, 2, -2) / 3;
  double mean_height = 0, mean_speed = 0;
  const double n = double(sim.size());
  for (std::size_t i = 0; i < sim.size(); ++i) {
    const double speed = sim.v(i).norm();
    const double height = 1 - sim.v(i).dot(axis) / speed;
    ASSERT_LE(height, 1 - std::cos(1.2) + 1e-5);
    ASSERT_GE(speed, 1 - 1e-5);
    ASSERT_LE(speed, 3 + 1e-5);
    mean_height += height / n;
    mean_speed += speed / n;
  }
  // Uniform by solid angle: the height over the cap's pole is uniform. Four standard errors.
  EXPECT_NEAR(mean_height, (1 - std::cos(1.2)) / 2, 4 * (1 - std::cos(1.2)) / std::sqrt(12 * n));
  EXPECT_NEAR(mean_speed, 2, 4 * 2 / std::sqrt(12 * n));
}

TEST(Emission, FromADiscIsUniformByArea) {
  ParticleSystem::Spec spec;
  Simulation sim(spec);
  ParticleEmitter& e = add_emitter(sim);
  e.shape = ParticleEmitter::Shape::disc;
  e.rate = 1e6;
  e.speed = 0;
  e.radius = 2;
  e.position = {1, 2, 3};
  e.direction = {0, 0, -1};
  sim.step(0.05);
  double square = 0;
  for (std::size_t i = 0; i < sim.size(); ++i) {
    const Vector3<double> d = sim.x(i) - Vector3<double>(1, 2, 3);
    ASSERT_NEAR(d.z(), 0, 1e-5);
    ASSERT_LE(d.norm(), 2 + 1e-5);
    square += d.squaredNorm() / double(sim.size());
  }
  EXPECT_NEAR(square, 2, 4 * 4 / std::sqrt(12.0 * double(sim.size())));  // r^2 is uniform in [0, 4]
}

TEST(Emission, FromAMeshIsByAreaAlongItsNormals) {
  // Two triangles of areas 1 and 3, facing +z and +x.
  ParticleSystem::Spec spec;
  spec.surfaces.resize(1);
  TriangleMesh& mesh = spec.surfaces[0].mesh;
  mesh.x = {{0, 0, 0}, {2, 0, 0}, {0, 1, 0}, {5, 0, 0}, {5, 2, 0}, {5, 0, 3}};
  mesh.triangles = {{0, 1, 2}, {3, 4, 5}};
  Simulation sim(spec);
  ParticleEmitter& e = add_emitter(sim);
  e.shape = ParticleEmitter::Shape::mesh;
  e.rate = 4e5;
  e.spread = 0;
  e.speed = 1;
  e.speed_variation = 0;
  sim.step(0.1);
  double large = 0;
  Vector3<double> centroid = Vector3<double>::Zero();
  for (std::size_t i = 0; i < sim.size(); ++i) {
    const bool second = sim.v(i).x() > 0.5;
    EXPECT_LT((sim.v(i) - (second ? Vector3<double>(1, 0, 0) : Vector3<double>(0, 0, 1))).norm(), 1e-5);
    if (!second) continue;
    large += 1;
    const Vector3<double> start = sim.x(i) - (0.1 - sim.state.birth[i]) * sim.v(i);
    EXPECT_NEAR(start.x(), 5, 1e-4);
    centroid += start;
  }
  const double n = double(sim.size());
  EXPECT_NEAR(large / n, 0.75, 4 * std::sqrt(0.75 * 0.25 / n));
  EXPECT_NEAR(centroid.y() / large, 2.0 / 3, 0.02);
  EXPECT_NEAR(centroid.z() / large, 1, 0.03);
}

TEST(Emission, WithoutItsSurfaceOrRoomItWarns) {
  ParticleSystem::Spec spec;
  spec.max_particles = 10;
  Simulation sim(spec);
  ParticleEmitter& e = add_emitter(sim);
  e.rate = 600;
  Report report;
  for (int k = 0; k < 3; ++k) report = sim.step(1.0 / 60);
  EXPECT_EQ(sim.size(), 10u);
  EXPECT_EQ(report.warnings().size(), 1u);
  e.shape = ParticleEmitter::Shape::mesh;
  e.surface = 3;
  EXPECT_EQ(sim.step(1.0 / 60).warnings().size(), 1u);
}

TEST(Emission, DeathComesAtTheEndOfLifeAndOthersStayWhoTheyAre) {
  ParticleSystem::Spec spec;
  spec.max_particles = 5000;
  spec.positions = {{0, 0, 0}};  // lives forever
  Simulation sim(spec);
  ParticleEmitter& e = add_emitter(sim);
  e.rate = 500;
  e.lifetime = Real(0.4);
  e.lifetime_variation = Real(0.5);
  e.speed = 1;
  e.direction = {1, 0, 0};
  e.speed_variation = e.spread = 0;
  double died = 0;
  for (int k = 0; k < 120; ++k) {
    died += sim.step(1.0 / 60).value("died");
    std::set<std::uint32_t> ids(sim.state.id.begin(), sim.state.id.end());
    ASSERT_EQ(ids.size(), sim.size());
    ASSERT_EQ(ids.count(0), 1u);
    for (std::size_t i = 0; i < sim.size(); ++i) {
      if (sim.state.id[i] == 0) continue;
      const double age = sim.state.time - sim.state.birth[i];
      ASSERT_LT(age, static_cast<double>(sim.state.lifetime[i]));
      ASSERT_NEAR(sim.x(i).x(), age, 1e-4);  // nothing was mixed up
    }
  }
  // Mean number alive: rate times mean lifetime.
  EXPECT_NEAR(double(sim.size()) - 1, 500 * 0.4, 20);
  EXPECT_EQ(died + double(sim.size()) - 1, double(sim.state.emitted[0]));
}

TEST(Blocks, FillBoxesAndBallsWithLattices) {
  ParticleSystem::Spec spec;
  spec.blocks.resize(3);
  spec.blocks[0].lattice = ParticleBlock::Lattice::fcc;
  spec.blocks[0].low = {0, 0, 0};
  spec.blocks[0].high = {3, 2, 1};
  spec.blocks[0].spacing = 1;
  spec.blocks[1].shape = ParticleBlock::Shape::ball;
  spec.blocks[1].centre = {10, 0, 0};
  spec.blocks[1].radius = 2;
  spec.blocks[1].spacing = Real(0.1);
  spec.blocks[2].lattice = ParticleBlock::Lattice::random;
  spec.blocks[2].count = 500;
  spec.blocks[2].thermal_speed = 2;
  spec.blocks[2].velocity = {1, 0, 0};
  const Simulation sim(spec);
  const double ball = 4.0 / 3 * std::numbers::pi * 8 / 1e-3;
  EXPECT_NEAR(double(sim.size()), 24 + ball + 500, 0.02 * ball);
  for (std::size_t i = 0; i < 24; ++i)
    for (std::size_t j = 0; j < i; ++j) ASSERT_GT((sim.x(i) - sim.x(j)).norm(), std::sqrt(0.5) - 1e-5);
  Vector3<double> mean = Vector3<double>::Zero();
  double square = 0;
  for (std::size_t i = sim.size() - 500; i < sim.size(); ++i) mean += sim.v(i) / 500;
  for (std::size_t i = sim.size() - 500; i < sim.size(); ++i)
    square += (sim.v(i) - mean).squaredNorm() / 1500;
  EXPECT_LT((mean - Vector3<double>(1, 0, 0)).norm(), 1e-5);
  EXPECT_NEAR(square, 4, 4 * 4 * std::sqrt(2.0 / 1500));  // chi-squared
}

TEST(Blocks, RefuseWhatCannotBe) {
  ParticleSystem::Spec spec;
  spec.positions = {{0, 0, 0}, {1, 0, 0}};
  spec.velocities = {{0, 0, 0}};
  ParticleSystem::Model model;
  ParticleSystem::State state;
  EXPECT_THROW(ParticleSystem::build(spec, model, state), Error);
  spec.velocities.clear();
  spec.blocks.resize(1);
  spec.blocks[0].spacing = Real(1e-6);
  EXPECT_GT(ParticleSystem::memory(spec), std::size_t{1} << 40);  // without allocating it
  EXPECT_THROW(ParticleSystem::build(spec, model, state), Error);
  spec.blocks = {{.low = Vec3(1, 1, 1), .high = Vec3(2, 0, 2)}};
  EXPECT_THROW(ParticleSystem::build(spec, model, state), Error);
  spec.blocks.clear();
  spec.surfaces.resize(1);
  EXPECT_THROW(ParticleSystem::build(spec, model, state), Error);
  spec.surfaces[0].mesh.x = {{0, 0, 0}};
  spec.surfaces[0].mesh.triangles = {{0, 0, 5}};
  EXPECT_THROW(ParticleSystem::build(spec, model, state), Error);
}

}}  // namespace plenum
