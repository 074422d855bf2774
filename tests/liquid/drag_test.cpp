// The liquid as a medium: particles and cloth in it.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "../../validation/liquid_scenes.h"
#include "plenum/scene/scene.h"
#include "plenum/solvers/particles/particles.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

using validation::Water;

constexpr double g = 9.81, water_density = 1000;

/// A metre wide, 3/4 deep, at rest: its particles stand on a lattice.
Liquid::Spec pool(int nz) {
  Liquid::Spec spec;
  spec.cells_x = spec.cells_y = 16, spec.cells_z = nz;
  spec.spacing = Real(1) / 16;
  spec.jitter = 0;
  LiquidFill fill;
  fill.shape = GridSolid::Kind::box;
  fill.half_extents = Vec3(Real(0.5), Real(0.375), static_cast<Real>(nz) / 32);
  fill.position = fill.half_extents;
  spec.fill = {fill};
  return spec;
}

/// One sample in it, a sphere or a piece of cloth that lies flat.
struct Immersed {
  Water water;
  double mass;
  Real radius, area;
  Vec3 x = Vec3(Real(0.5), Real(0.6), Real(0.5)), v = Vec3::Zero(), normal = Vec3::UnitY();
  Immersed(double m, double r, double a = 0)
      : water(pool(16)), mass(m), radius(static_cast<Real>(r)), area(static_cast<Real>(a)) {}
  Vec3 immerse(double dt) {
    Medium& medium = *Liquid::medium(water.model, water.state, water.params, water.workspace);
    const Real inverse = static_cast<Real>(1 / mass);
    Samples samples{.x0 = {&x, 1}, .x = {&x, 1}, .v = {&v, 1}, .inverse_mass = {&inverse, 1}};
    samples.radius = radius;
    if (area > 0) samples.area = {&area, 1}, samples.normal = {&normal, 1};
    medium.immerse(3, samples, static_cast<Real>(dt));
    Vec3 j = Vec3::Zero();
    medium.reaction(3, {&j, 1});
    return j;
  }
  void step(double dt) {
    const Vec3 j = immerse(dt);
    water.step(dt);
    v += static_cast<Real>(dt) * Vec3(0, static_cast<Real>(-g), 0) + j * static_cast<Real>(1 / mass);
    x += static_cast<Real>(dt) * v;
  }
};
double volume_of(double radius) {
  return 4.0 / 3 * std::numbers::pi * radius * radius * radius;
}

TEST(LiquidDrag, ABallSinksAsFastAsItsDragAndItsWeightSay) {
  const double r = 0.002, s = 3;
  Immersed ball(s * water_density * volume_of(r), r);
  for (int k = 0; k < 200; ++k) ball.step(1.0 / 400);
  const double wanted = std::sqrt(8.0 / 3 * r * g * (s - 1) / 0.47);
  // As far as water at rest stands still, to the pressure's tolerance.
  EXPECT_NEAR(-static_cast<double>(ball.v.y()), wanted, 0.02 * wanted);
}

TEST(LiquidDrag, WhatIsAsHeavyAsWaterStays) {
  const double r = 0.002;
  Immersed ball(water_density * volume_of(r), r);
  for (int k = 0; k < 200; ++k) ball.step(1.0 / 100);
  EXPECT_LT(static_cast<double>((ball.x - Vec3(Real(0.5), Real(0.6), Real(0.5))).norm()), 0.01);
}

TEST(LiquidDrag, ABubbleRisesWithItsAddedMass) {
  const double r = 0.002, s = 0.001, dt = 1e-3;
  Immersed bubble(s * water_density * volume_of(r), r);
  bubble.step(dt);
  // (1 - s) g / (s + 1/2), before drag has anything to act on (Lamb 1932, section 92).
  const double wanted = (1 - s) / (s + 0.5) * g * dt;
  EXPECT_NEAR(static_cast<double>(bubble.v.y()), wanted, 0.01 * wanted);
  for (int k = 0; k < 100; ++k) bubble.step(1.0 / 60);
  EXPECT_LT(bubble.v.norm(), 2);  // and is stable, though a thousand times as light as the water
}

TEST(LiquidDrag, ClothSinksAsAPlate) {
  const double mass = 0.001, area = 1e-3;
  Immersed cloth(mass, 0, area);
  for (int k = 0; k < 200; ++k) cloth.step(1.0 / 400);
  const double wanted = std::sqrt(2 * mass * g / (water_density * 1.17 * area));
  EXPECT_NEAR(-static_cast<double>(cloth.v.y()), wanted, 0.03 * wanted);
}

TEST(LiquidDrag, WhatTheyGainTheLiquidLoses) {
  for (const double area : {0.0, 0.01}) {
    Immersed sample(0.2, 0.03, area);
    sample.v = Vec3(Real(0.4), Real(-2), Real(0.3));
    const auto momentum = [&] {
      Vector3<double> sum = Vector3<double>::Zero();
      const double h = 1.0 / 16;
      for (const Vec3& v : sample.water.state.v) sum += water_density * h * h * h / 8 * v.cast<double>();
      return sum;
    };
    sample.water.state.v.assign(sample.water.state.x.size(), Vec3(Real(0.1), 0, 0));
    const Vector3<double> before = momentum(), j = sample.immerse(0.01).cast<double>();
    EXPECT_GT(j.norm(), 0.01);
    // A rounding of each of some hundred velocities.
    EXPECT_LT((momentum() - before + j).norm(), 1e-5 * j.norm());
  }
}

TEST(LiquidDrag, IsBookedInTheLedger) {
  World world = load_scene_text(R"({"world": {"fps": 60}, "systems": [
    {"type": "liquid", "name": "water", "model": {"cells_x": 16, "cells_y": 16, "cells_z": 16, "spacing": 0.0625,
      "fill": [{"shape": "box", "half_extents": [0.5, 0.3, 0.5], "position": [0.5, 0.3, 0.5]}]}},
    {"type": "particles", "name": "sand", "model": {"radius": 0.004, "mass": 0.0007,
      "positions": [[0.4, 0.5, 0.5], [0.5, 0.4, 0.5], [0.6, 0.9, 0.5]]}}]})",
                                "s.json")
                    .world;
  const auto& sand = dynamic_cast<SystemOf<ParticleSystem>&>(*world.find("sand")).state.particles;
  for (int f = 0; f < 12; ++f) {
    const std::vector<Vec3> before = sand.v;
    ASSERT_TRUE(world.step_frame().ok);
    Vector3<double> gained = Vector3<double>::Zero();
    for (std::size_t i = 0; i < 3; ++i)
      gained += 0.0007 * ((sand.v[i] - before[i]).cast<double>() + Vector3<double>(0, g / 60, 0));
    const auto entry = world.ledger().find({"water", "sand"});
    ASSERT_NE(entry, world.ledger().end());
    EXPECT_LT((gained - entry->second.impulse).norm(), 1e-4 * 0.0007);
  }
  EXPECT_LT(sand.v[0].norm(), 1);                      // in water
  EXPECT_GT(-sand.v[2].y(), 0.9 * g * 12 / 60 * 0.9);  // still in the air
}

}}  // namespace plenum::(anonymous)
