// Smoke as a medium: particles and cloth in its wind.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "plenum/scene/scene.h"
#include "plenum/solvers/particles/particles.h"
#include "plenum/solvers/pbd/pbd.h"
#include "plenum/solvers/smoke/smoke.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

/// A stream along x without sides, and a cloud of particles at rest in it.
World stream(int particles, double mass, const std::string& more = "", int cells_x = 16) {
  std::string at;
  for (int k = 0; k < particles; ++k)
    at += std::string(k ? ", " : "") + "[" + std::to_string(0.5 + 0.01 * (k % 10)) + ", " +
          std::to_string(0.5 + 0.01 * (k / 10)) + ", 0.5]";
  World world =
      load_scene_text(R"({"world": {"fps": 100}, "systems": [
    {"type": "smoke", "name": "air", "model": {"cells_x": )" +
                          std::to_string(cells_x) + R"(, "cells_y": 16, "cells_z": 16, "spacing": 0.0625,
      "left": {"kind": "periodic"}, "right": {"kind": "periodic"}, "bottom": {"kind": "periodic"},
      "top": {"kind": "periodic"}, "back": {"kind": "periodic"}, "front": {"kind": "periodic"}},
     "params": {"gravity": [0, 0, 0]}})" +
                          more +
                          (particles ? R"(,
    {"type": "particles", "name": "motes", "model": {"radius": 0.01, "mass": )" +
                                           std::to_string(mass) + R"(, "positions": [)" + at +
                                           R"(]}, "params": {"gravity": [0, 0, 0]}})"
                                     : std::string()) +
                          "]}",
                      "s.json")
          .world;
  for (Real& u : dynamic_cast<SystemOf<Smoke>&>(*world.find("air")).state.velocity.along[0]) u = 2;
  return world;
}
ParticleSystem::State& motes(World& world) {
  return dynamic_cast<SystemOf<ParticleSystem>&>(*world.find("motes")).state;
}
SystemOf<Smoke>& air(World& world) {
  return dynamic_cast<SystemOf<Smoke>&>(*world.find("air"));
}
/// Of the gas [kg m/s].
Vector3<double> momentum(const Smoke::Model& m, const Smoke::State& s) {
  const double h = static_cast<double>(m.h);
  Vector3<double> sum = Vector3<double>::Zero();
  for (int c = 0; c < 3; ++c)
    for (Index k = 0; k < m.shape.cells[2]; ++k)
      for (Index j = 0; j < m.shape.cells[1]; ++j)
        for (Index i = 0; i < m.shape.cells[0]; ++i)
          sum[c] += 1.2 * h * h * h * static_cast<double>(s.velocity[c][m.shape.index(i, j, k)]);
  return sum;
}

TEST(SmokeWind, AParticleApproachesAUniformFlowAsItsClosedFormSays) {
  // Light enough to leave the gas of its cell, 0.3 g, as it is.
  constexpr double mass = 2e-6, u = 2;
  World world = stream(1, mass);
  // dw/dt = -k w^2 from w = u: w = u / (1 + k u t).
  const double k = 1.2 / 2 * 0.47 * std::numbers::pi * 1e-4 / mass;
  for (int f = 1; f <= 30; ++f) {
    ASSERT_TRUE(world.step_frame().ok);
    const double w = u - static_cast<double>(motes(world).particles.v[0].x());
    const double exact = u / (1 + k * u * f / 100);
    // Its mass is a hundredth of what the gas around it has, by which this slows down.
    EXPECT_NEAR(w, exact, 0.03 * exact) << f;
  }
  EXPECT_GT(static_cast<double>(motes(world).particles.v[0].x()), 0.9 * u);
}

TEST(SmokeWind, WhatParticlesGainTheGasLoses) {
  World world = stream(100, 1e-4);
  SystemOf<Smoke>& gas = air(world);
  const Vector3<double> before = momentum(gas.model, gas.state);
  Medium& medium = *gas.medium();
  const Samples samples = world.find("motes")->boundary()->samples();
  medium.immerse(1, samples, Real(0.01));
  std::vector<Vec3> given(samples.x.size(), Vec3::Zero());
  medium.reaction(1, given);
  Vector3<double> sum = Vector3<double>::Zero();
  for (const Vec3& j : given) sum += j.cast<double>();
  EXPECT_GT(sum.x(), 1e-6);
  // Velocities of 2 m/s hold the loss to a rounding each; sums of doubles to some of theirs.
  const double rounding = 1.2 * 2 *
                          (static_cast<double>(std::numeric_limits<Real>::epsilon()) +
                           8 * std::numeric_limits<double>::epsilon());
  EXPECT_LT((momentum(gas.model, gas.state) - before + sum).norm(), rounding);

  // And so the ledger says, step by step.
  World other = stream(100, 1e-4);
  for (int f = 0; f < 20; ++f) {
    Vector3<double> was = Vector3<double>::Zero(), is = was;
    for (const Vec3& v : motes(other).particles.v) was += 1e-4 * v.cast<double>();
    ASSERT_TRUE(other.step_frame().ok);
    for (const Vec3& v : motes(other).particles.v) is += 1e-4 * v.cast<double>();
    const auto entry = other.ledger().find({"air", "motes"});
    ASSERT_NE(entry, other.ledger().end());
    EXPECT_LT((is - was - entry->second.impulse).norm(), 1e-5 * (is - was).norm() + 1e-10);
  }
}

TEST(SmokeWind, HeavySwarmsDoNotOvershoot) {
  // Each as heavy as the gas of forty cells: the gas around them comes to rest, and never turns round.
  World world = stream(100, 0.01);
  for (int f = 0; f < 50; ++f) {
    ASSERT_TRUE(world.step_frame().ok);
    for (const Vec3& v : motes(world).particles.v) {
      ASSERT_GE(v.x(), 0);
      ASSERT_LT(v.x(), 2);
    }
    for (const Real u : air(world).state.velocity[0]) ASSERT_LT(std::abs(u), 4);
  }
}

TEST(SmokeWind, ClothWithAirOfItsOwnIsToldOf) {
  const std::string twice = "dragged by air of its own";
  for (const bool own : {true, false}) {
    World world = stream(0, 0,
                         std::string(R"(,
    {"type": "pbd", "name": "sheet", "model": {"parts": [{"type": "cloth", "cells_x": 4, "cells_z": 4, "size_x": 0.4, "size_z": 0.4, "position": [0.5, 0.5, 0.5], "rotation": [0, 0, 90]}]},
     "params": {"air_density": )") +
                             (own ? "1.2" : "0") + "}}");
    const FrameReport report = world.step_frame();
    bool told = false;
    for (std::size_t s = 0; s < world.size(); ++s)
      for (const auto& warning : report.systems[s].warnings())
        told = told || std::string(warning.text).find(twice) != std::string::npos;
    EXPECT_EQ(told, own);
  }
}

TEST(SmokeWind, ClothAcrossTheFlowIsPushedByItsDrag) {
  World world = stream(0, 0, R"(,
    {"type": "pbd", "name": "sheet", "model": {"parts": [{"type": "cloth", "cells_x": 8, "cells_z": 8, "size_x": 0.4, "size_z": 0.4, "position": [0.5, 0.5, 0.5], "rotation": [0, 0, 90]}]},
     "params": {"gravity": [0, 0, 0], "air_density": 0}})");
  ASSERT_TRUE(world.step_frame().ok);
  const auto entry = world.ledger().find({"air", "sheet"});
  ASSERT_NE(entry, world.ledger().end());
  // 1/2 rho C A u^2 for a hundredth of a second; a sheet that is light and gas that is carried along make it
  // less, by less than a fifth in the first step.
  const double full = 1.2 / 2 * 1.17 * 0.16 * 4 * 0.01;
  EXPECT_LT(entry->second.impulse.x(), full);
  EXPECT_GT(entry->second.impulse.x(), 0.8 * full);
  EXPECT_NEAR(entry->second.impulse.y(), 0, 1e-3 * full);
  const auto& particles = dynamic_cast<SystemOf<Pbd>&>(*world.find("sheet")).state.particles;
  for (const Vec3& v : particles.v) EXPECT_GT(v.x(), 0);
}

TEST(SmokeWind, ProbesWhatFlowsAtPoints) {
  World world = stream(1, 1);
  SystemOf<Smoke>& gas = air(world);
  // Linear between faces: a shear flow is met exactly.
  const GridShape& shape = gas.model.shape;
  for (Index k = 0; k < 16; ++k)
    for (Index j = 0; j < 16; ++j)
      for (Index i = 0; i < 16; ++i) gas.state.velocity.along[0][shape.index(i, j, k)] = static_cast<Real>(j);
  const std::vector<Vec3> x = {Vec3(Real(0.3), Real(0.5), Real(0.5)), Vec3(Real(0.7), Real(0.25), Real(0.1))};
  std::vector<MediumProbe> out(2);
  gas.medium()->probe(x, out);
  EXPECT_NEAR(out[0].velocity.x(), 7.5, 1e-5);
  EXPECT_NEAR(out[1].velocity.x(), 3.5, 1e-5);
  EXPECT_NEAR(out[0].density, 1.2, 1e-6);
}

TEST(SmokeWind, ReachesWhatIsManyBoxesAwayAlongPeriodicSides) {
  World world = stream(0, 0, "", 13);
  Medium& medium = *air(world).medium();
  // So far that rounding leaves nothing of where in the box that is, up to the largest numbers that there
  // are.
  const Real most = std::numeric_limits<Real>::max() / 32;
  std::vector<Vec3> x;
  for (const Real far : {Real(1e3), Real(1e9), Real(1e20), most})
    for (const Real sign : {Real(-1), Real(1)})
      for (const Real part : {Real(0.3), Real(0.7), Real(1)})
        x.push_back(Vec3(sign * part * far, -sign * far, part * far));
  std::vector<MediumProbe> out(x.size());
  medium.probe(x, out);
  for (const MediumProbe& probe : out) {
    EXPECT_GT(probe.density, 0);
    EXPECT_NEAR(static_cast<double>((probe.velocity - Vec3(2, 0, 0)).norm()), 0,
                1e-5);  // weights add up to one
  }
}

}}  // namespace plenum::(anonymous)
