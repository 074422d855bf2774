// Steps of bodies that touch allocate nothing, once there has been as much of everything as there will be.
#include <gtest/gtest.h>

#include "plenum/base/parallel.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/pbd/pbd.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

class TouchingBodies : public ::testing::TestWithParam<Pbd::Contact> {};
INSTANTIATE_TEST_SUITE_P(Modes, TouchingBodies,
                         ::testing::Values(Pbd::Contact::fast, Pbd::Contact::conservative));

TEST_P(TouchingBodies, AllocateNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  PbdPart held;
  held.cells_x = held.cells_z = 16;
  held.bending_stiffness = Real(1e-5);
  held.pins.resize(1);
  held.pins[0].where = ParticlePin::Where::corners;
  PbdPart falling = held;
  falling.pins.clear();
  falling.size_x = falling.size_z = Real(0.6);
  falling.position = Vec3(0, Real(0.1), 0), falling.rotation = Vec3(10, 30, 0);
  falling.velocity = Vec3(1, -3, 0);
  PbdPart block{.type = PbdPart::Type::bar};
  block.half_extents = Vec3(Real(0.1), Real(0.1), Real(0.1));
  block.cells_x = block.cells_y = block.cells_z = 3;
  block.position = Vec3(0, Real(0.4), 0), block.rotation = Vec3(20, 30, 10);
  Pbd::Model model;
  Pbd::State start;
  Pbd::build({.parts = {held, falling, block}}, model, start);
  Pbd::Params params;
  params.contact = GetParam();
  params.thickness = Real(0.005);
  params.restitution = Real(0.5);
  Pbd::Workspace workspace;
  with_threads(1, [&] {
    // Three times from the same start: the hierarchy of boxes has a memory of its own, of where they were,
    // which the second time is that of the third.
    double most = 0;
    Pbd::step(model, start, params, workspace, Real(1) / 60);  // a state is complete once it has begun
    for (int round = 0; round < 3; ++round) {
      Pbd::State state = start;
      for (int k = 0; k < 60; ++k) {
        const long made = plenum_test::count_allocations([&] {
          most =
              std::max(most, Pbd::step(model, state, params, workspace, Real(1) / 60).value("contact_pairs"));
        });
        if (round == 2) {
          ASSERT_EQ(made, 0) << "in step " << k;
        }
      }
    }
    EXPECT_GT(most, 100);
  });
}

// Nor what crosses from the start.
TEST(CrossingBodies, AllocateNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  PbdPart flat, upright;
  flat.cells_x = flat.cells_z = 16, upright.cells_x = upright.cells_z = 17;
  upright.rotation = Vec3(0, 0, 90), upright.position = Vec3(Real(0.013), 0, 0);
  Pbd::Model model;
  Pbd::State start;
  Pbd::build({.parts = {flat, upright}}, model, start);
  Pbd::Params params;
  params.contact = Pbd::Contact::conservative;
  Pbd::Workspace workspace;
  with_threads(1, [&] {
    for (int round = 0; round < 3; ++round) {
      Pbd::State state = start;
      for (int k = 0; k < 30; ++k) {
        double crossing = 0;
        const long made = plenum_test::count_allocations(
            [&] { crossing = Pbd::step(model, state, params, workspace, Real(1) / 60).value("crossings"); });
        ASSERT_GT(crossing, 0);
        if (round == 2) {
          ASSERT_EQ(made, 0) << "in step " << k;
        }
      }
    }
  });
}

// Nor does any solver, nor damping, once a step has laid out what they need.
TEST(SolvedBodies, AllocateNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  PbdPart cloth;
  cloth.bending_stiffness = Real(1e-4);
  cloth.stretching = PbdPart::Stretching::strain;
  cloth.damping_time = cloth.bending_damping_time = Real(1e-3);
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.position = Vec3(0, 2, 0);
  for (const auto solver : {Pbd::Solver::gauss_seidel, Pbd::Solver::jacobi, Pbd::Solver::chebyshev}) {
    Pbd::Model model;
    Pbd::State state;
    Pbd::build({.parts = {cloth, bar}}, model, state);
    Pbd::Params params;
    params.solver = solver, params.iterations = 12, params.substeps = 2;
    Pbd::Workspace workspace;
    with_threads(1, [&] {
      Pbd::step(model, state, params, workspace, Real(1) / 60);
      EXPECT_EQ(
          plenum_test::count_allocations([&] { Pbd::step(model, state, params, workspace, Real(1) / 60); }),
          0);
    });
  }
}

/// Of the third run from the same start.
void expect_no_allocations(const char* what, const PbdSpec& spec, const Pbd::Params& params, int steps) {
  Pbd::Model model;
  Pbd::State start;
  Pbd::build(spec, model, start);
  Pbd::Workspace workspace;
  with_threads(1, [&] {
    Pbd::State state;
    for (int round = 0; round < 3; ++round) {
      // Lists of bodies that touch keep their room.
      state.touching.clear(), state.touch_normal.clear();
      state.particles = start.particles, state.frames = start.frames, state.time = 0;
      for (int k = 0; k < steps; ++k) {
        const long made =
            plenum_test::count_allocations([&] { Pbd::step(model, state, params, workspace, Real(1) / 60); });
        if (round == 2) {
          ASSERT_EQ(made, 0) << what << " in step " << k;
        }
      }
    }
  });
}

// Nor balloons, shapes, damped solids, heaps of bodies, and cloth in the wind.
TEST(WholeBodies, AllocateNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  PbdBody ground, crate;
  ground.half_extents = Vec3(Real(0.5), Real(0.05), Real(0.5)), ground.position = Vec3(0, Real(-0.4), 0);
  ground.motion = PbdBody::Motion::led;
  crate.half_extents = Vec3::Constant(Real(0.1)), crate.position = Vec3(0, Real(0.6), 0);
  PbdPart balloon{.type = PbdPart::Type::mesh_cloth};
  balloon.mesh = icosphere_mesh(Real(0.3), 2), balloon.inflated = true;
  expect_no_allocations("balloon", {.parts = {balloon}, .bodies = {ground, crate}}, {}, 60);
  balloon.filling = PbdPart::Filling::gas, balloon.overpressure = 100;
  expect_no_allocations("gas", {.parts = {balloon}, .bodies = {ground, crate}}, {}, 60);
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.cells_x = 6, bar.cells_y = bar.cells_z = 2, bar.damping_time = Real(0.01);
  for (const auto material : {PbdPart::Material::neo_hookean, PbdPart::Material::strain,
                              PbdPart::Material::distances, PbdPart::Material::shape_matching}) {
    bar.material = material;
    if (material == PbdPart::Material::shape_matching) bar.cluster_radius = Real(0.2), bar.damping_time = 0;
    for (const auto solver : {Pbd::Solver::gauss_seidel, Pbd::Solver::chebyshev})
      expect_no_allocations("bar", {.parts = {bar}}, {.solver = solver, .iterations = 12}, 10);
  }
  std::vector<PbdBody> heap = {ground};
  for (int k = 0; k < 5; ++k) {
    crate.position = Vec3(Real(0.01 * k), Real(-0.2 + 0.21 * k), 0);
    heap.push_back(crate);
  }
  expect_no_allocations("heap", {.bodies = heap}, {}, 60);
  PbdPart sheet;
  sheet.cells_x = sheet.cells_z = 20;
  sheet.pins.resize(1);
  sheet.pins[0].where = ParticlePin::Where::corners;
  Pbd::Params windy;
  windy.wind = Vec3(5, 0, 2), windy.turbulence.speed = 2;
  expect_no_allocations("cloth in the wind", {.parts = {sheet}}, windy, 60);
  // What flies at it makes substeps finer, and all that the step was asked to do goes with these.
  PbdBody thrown = crate;
  thrown.position = Vec3(0, Real(0.5), 0), thrown.velocity = Vec3(0, -20, 0);
  Pbd::Params moved;
  moved.pins.resize(1), moved.contact = Pbd::Contact::conservative;
  expect_no_allocations("a box thrown at cloth", {.parts = {sheet}, .bodies = {thrown}}, moved, 10);
}

}}  // namespace plenum
