// What a hand holds of position-based bodies.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "plenum/base/parallel.h"
#include "plenum/geometry/crossings.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/pbd/pbd.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

// A free particle takes the steps of implicit Euler for a critically damped spring to a target that moves:
// v1 = v0 + h g + h (w^2 (x_T - x1) + 2 w (v_T - v1)). Source: Macklin, Mueller & Chentanez 2016, eq. 26.
TEST(PbdGrasp, AFreeParticleTakesImplicitEulersSteps) {
  for (const Real rate : {Real(3), Real(60), Real(2000)})
    for (const int substeps : {1, 10})
      for (const int iterations : {1, 5}) {
        PbdPart rope{.type = PbdPart::Type::rope};
        rope.segments = 1, rope.stretch_compliance = Real(1e15);
        Pbd::Model model;
        Pbd::State state;
        Pbd::build({.parts = {rope}}, model, state);
        Pbd::Params params;
        params.substeps = substeps, params.iterations = iterations;
        Pbd::Workspace workspace;
        const Real dt = Real(1) / 60;
        const Vec3 way(Real(0.01), Real(0.02), 0);
        Vector3<double> x = Vector3<double>::Zero(), v = x, target = Vector3<double>(0, 0.1, 0.3);
        const Vector3<double> g(0, -9.81, 0), going = way.cast<double>() / double(dt);
        const double h = double(dt) / substeps, w = double(rate);
        for (int k = 0; k < 30; ++k) {
          const Vec3 from = target.cast<Real>();
          const Grasp grasp{.sample = 0, .from = from, .to = from + way, .rate = rate};
          Pbd::grasp(workspace, std::span(&grasp, 1));
          Pbd::step(model, state, params, workspace, dt);
          for (int s = 0; s < substeps; ++s) {
            target += h * going;
            v = (v + h * g + w * w * h * (target - x) + 2 * w * h * going) / (1 + 2 * w * h + w * w * h * h);
            x += h * v;
          }
          // Where rounding leaves it: velocities are differences of places over h.
          const double rounding = double(std::numeric_limits<Real>::epsilon()) * (k + 1);
          ASSERT_LT((state.particles.x[0].cast<double>() - x).norm(), 20 * rounding) << rate << " " << k;
          ASSERT_LT((state.particles.v[0].cast<double>() - v).norm(), 20 * rounding / h) << rate << " " << k;
        }
        // Nothing of it is left once it is let go.
        const Vec3 before = state.particles.v[0];
        Pbd::step(model, state, params, workspace, dt);
        EXPECT_LT((state.particles.v[0] - before - dt * params.gravity).norm(), 1e-3);
      }
}

// A hand that leads a corner of a cloth round and round, beyond its reach, wrings it about itself. Let go, it
// comes back: where all that is tangled moved as one with the row that holds it, it stood still in the air
// for ever, drawn out to six times its length.
TEST(PbdGrasp, WrungClothComesBackInTheConservativeMode) {
  World world({.fps = 60});
  world.add<Obstacle>("ground", {.parts = {{.shape = Obstacle::Kind::plane}}});
  PbdPart part;
  part.cells_x = part.cells_z = 12, part.bending_stiffness = Real(1e-5);
  part.position = Vec3(0, Real(1.2), 0), part.rotation = Vec3(90, 0, 0);
  part.pins.resize(1);
  part.pins[0].where = ParticlePin::Where::back;
  Pbd::Params params;
  params.contact = Pbd::Contact::conservative, params.thickness = Real(0.006);
  SystemOf<Pbd>& cloth = world.add<Pbd>("cloth", PbdSpec{.parts = {part}}, params);
  constexpr Index held = 110;
  const Vec3 from = cloth.state.particles.x[std::size_t(held)];
  for (int frame = 10; frame < 130; ++frame) {
    const double a = 5.0 * (frame - 10) / 60;
    const Vec3 round(Real(0.8 * std::sin(a)), Real(0.4 * std::sin(1.7 * a) + 0.3),
                     Real(0.8 * std::sin(0.7 * a)));
    world.drag(1, held, from + round, Real(25));
    ASSERT_TRUE(world.step_frame().ok) << frame;
  }
  world.release();
  for (int frame = 0; frame < 180; ++frame) ASSERT_TRUE(world.step_frame().ok) << frame;
  const Pbd::Model& model = cloth.model;
  int drawn = 0;
  for (std::size_t e = 0; e < model.edges.size(); ++e)
    drawn += Pbd::strain(model, cloth.state, e) > Real(0.35);
  EXPECT_LT(drawn, int(model.edges.size()) / 10);
  EXPECT_TRUE(crossings(cloth.state.particles.x, model.surface_edges, model.surface).empty());
}

// What is pulled against what is held stretches it by compliance, and does not go off.
TEST(PbdGrasp, ClothThatCannotGiveWayStaysWithinItsTethers) {
  PbdPart part;
  part.cells_x = part.cells_z = 10;
  part.pins.resize(1);
  part.pins[0].where = ParticlePin::Where::back;
  Pbd::Model model;
  Pbd::State state;
  Pbd::build({.parts = {part}}, model, state);
  Pbd::Params params;
  Pbd::Workspace workspace;
  const Index corner = 10 * 11;
  for (int k = 0; k < 120; ++k) {
    const Grasp grasp{.sample = corner, .from = Vec3(0, 0, 5), .to = Vec3(0, 0, 5), .rate = 3000};
    Pbd::grasp(workspace, std::span(&grasp, 1));
    Pbd::step(model, state, params, workspace, Real(1) / 60);
    for (const Vec3& x : state.particles.x) ASSERT_TRUE(x.allFinite());
  }
  for (std::size_t i = 0; i < state.particles.size(); ++i) {
    if (Index(i) != corner) {
      EXPECT_LT(state.particles.x[i].norm(), 2) << i;
    }
  }
}

// The hand holds all that the system can move, its bodies too: with the spring's M w^2 a crate draws out what
// it hangs on by g / w^2, and by twice that at most as it bounces, being hung at once. It was held by as much
// as the rope's own mass asks for, and sank by 0.25 m.
TEST(PbdGrasp, AHandHoldsWhatHangsOnARope) {
  for (const bool with_body : {false, true})
    for (const int substeps : {10, 40}) {
      PbdPart rope{.type = PbdPart::Type::rope};
      rope.from = Vec3(0, 2, 0), rope.to = Vec3(0, Real(1.2), 0);
      rope.segments = 16, rope.linear_density = Real(0.125);
      PbdSpec spec;
      if (with_body) {
        PbdAttachment tie;
        tie.particles.where = ParticlePin::Where::indices, tie.particles.indices = {16};
        tie.body = "crate";
        rope.attachments = {tie};
        PbdBody crate;
        crate.name = "crate", crate.density = 600;
        crate.half_extents = Vec3::Constant(Real(0.2)), crate.position = Vec3(0, 1, 0);
        spec.bodies = {crate};
      }
      spec.parts = {rope};
      Pbd::Model model;
      Pbd::State state;
      Pbd::build(spec, model, state);
      Pbd::Params params;
      params.air_density = 0, params.substeps = substeps;
      World world({.fps = 60});
      const auto& system = world.add<Pbd>("rope", std::move(model), std::move(state), params);
      constexpr double w = 2 * std::numbers::pi * 25;
      for (int k = 0; k < 300; ++k) {
        world.drag(0, 0, Vec3(0, 2, 0), 25, 0);
        ASSERT_TRUE(world.step_frame().ok);
      }
      EXPECT_LT(std::abs(double(system.state.particles.x[0].y()) - 2), 2 * 9.81 / (w * w))
          << with_body << ' ' << substeps;
    }
}

}}  // namespace plenum
