#include "plenum/solvers/springs/springs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plenum/base/error.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/springs/spring_system.h"
#include "plenum/world/world.h"
#include "springs/nets.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using test::hanging_cloth;
using test::Net;
using test::net_of;

std::vector<Springs::Integrator> every_integrator() {
  std::vector<Springs::Integrator> all;
  for (std::size_t i = 0; i < names_of(Springs::Integrator{}).size(); ++i)
    all.push_back(static_cast<Springs::Integrator>(i));
  return all;
}

TEST(SpringsBuild, ClothHasTheMassOfItsAreaAndTheSpringsOfAGrid) {
  SpringsPart part;
  part.cells_x = 5, part.cells_z = 3, part.size_x = 2, part.size_z = 3, part.areal_density = Real(0.4);
  const Net net = net_of(part);
  EXPECT_EQ(net.model.mass.size(), 24u);
  EXPECT_NEAR(test::total_mass(net), 0.4 * 6, 1e-6);
  // 5*4 + 3*6 structural, 2*15 shear, 4*4 + 2*6 bending.
  EXPECT_EQ(net.model.edges.size(), 38u + 30u + 28u);
  EXPECT_EQ(net.model.triangles.size(), 30u);
  for (std::size_t e = 0; e < net.model.edges.size(); ++e)
    EXPECT_NEAR(Springs::strain(net.model, net.state, e), 0, 1e-6);
}

TEST(SpringsBuild, ASoftBodyHasTheMassOfItsMeshWhichRidesOnIt) {
  SpringsPart part;
  part.type = SpringsPart::Type::soft_body;
  part.mesh = icosphere_mesh(Real(0.5), 3);
  part.spacing = Real(0.15);
  part.density = 300;
  part.position = Vec3(1, 2, 3);
  part.rotation = Vec3(0, 57, 0);
  Net net = net_of(part);
  EXPECT_NEAR(test::total_mass(net), 300 * enclosed_volume(part.mesh.x, part.mesh.triangles), 1e-2);
  struct Sink final : DrawableSink {
    std::vector<Vec3> x;
    std::size_t triangles_seen = 0;
    void triangles(const TriangleView& view) override {
      x.assign(view.x.begin(), view.x.end());
      triangles_seen = view.triangles.size();
      for (const Index3& t : view.triangles) ASSERT_LT(std::size_t(t.maxCoeff()), view.x.size());
    }
    void spheres(const SphereView&) override {}
    void lines(const LineView&) override {}
  } sink;
  Springs::geometry(net.model, net.state, sink);
  ASSERT_EQ(sink.x.size(), part.mesh.x.size());
  EXPECT_EQ(sink.triangles_seen, part.mesh.triangles.size());
  for (const Vec3& x : sink.x) EXPECT_NEAR((x - part.position).norm(), 0.5, 1e-3);
  // It follows an affine motion exactly: barycentric weights reproduce linear maps.
  for (Vec3& x : net.state.particles.x) x = Vec3(2 * x[0] + x[1], x[1] - x[2], 3 * x[2] + 1);
  const std::vector<Vec3> before = sink.x;
  Springs::geometry(net.model, net.state, sink);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Vec3& b = before[i];
    EXPECT_NEAR((sink.x[i] - Vec3(2 * b[0] + b[1], b[1] - b[2], 3 * b[2] + 1)).norm(), 0, 1e-4);
  }
}

TEST(SpringsBuild, ASoftBodyNeedsASurfaceThatEnclosesAVolume) {
  SpringsPart part;
  part.type = SpringsPart::Type::soft_body;
  part.spacing = Real(0.15);
  const TriangleMesh ball = icosphere_mesh(Real(0.5), 2);
  const auto refused = [&](const char* what) {
    try {
      net_of(part);
      ADD_FAILURE() << "accepted, should be refused for: " << what;
    } catch (const Error& e) {
      EXPECT_EQ(e.problem().key, "parts[0].mesh");
      EXPECT_NE(e.problem().what.find(what), std::string::npos) << e.what();
      EXPECT_NE(e.problem().remedy, "");
    }
  };
  part.mesh = ball;
  part.mesh.triangles.pop_back();
  refused("3 boundary edges (");
  part.mesh = ball;
  std::swap(part.mesh.triangles[0][0], part.mesh.triangles[0][1]);
  refused("3 edges with a flipped triangle (");
  part.mesh = ball;
  part.mesh.triangles.push_back(ball.triangles[7]);
  refused("1 duplicate triangle (320)");
  part.mesh = ball;
  part.mesh.triangles.emplace_back(3, 3, 5);
  refused("1 degenerate triangle (320)");
  part.mesh = ball;
  for (Index3& t : part.mesh.triangles) std::swap(t[0], t[1]);
  refused("faces inward");
  part.mesh = grid_mesh(Vec2(1, 1), 2, 2);
  refused("8 boundary edges (");
  part.mesh = {};
  refused("has no triangles");
}

TEST(SpringsBuild, ASoftBodyDropsVerticesThatNoTriangleHas) {
  SpringsPart part;
  part.type = SpringsPart::Type::soft_body;
  part.spacing = Real(0.15);
  part.mesh = icosphere_mesh(Real(0.5), 2);
  const Net clean = net_of(part);
  part.mesh.x.push_back(Vec3(7, 7, 7));
  const Net net = net_of(part);
  EXPECT_EQ(net.state.particles.x, clean.state.particles.x);
  EXPECT_EQ(net.model.mass, clean.model.mass);
  EXPECT_EQ(net.model.embedding.vertices.size(), clean.model.embedding.vertices.size());
}

TEST(SpringsBuild, BadInputIsRefusedByKey) {
  const auto key_of = [](const SpringsPart& part) -> std::string {
    try {
      net_of(part);
    } catch (const Error& e) {
      return e.problem().key;
    }
    return "accepted";
  };
  SpringsPart points;
  points.type = SpringsPart::Type::points;
  EXPECT_EQ(key_of(points), "parts[0].points");
  points.points = {Vec3(0, 0, 0), Vec3(1, 0, 0)};
  EXPECT_EQ(key_of(points), "accepted");
  points.springs = {Index2(0, 1), Index2(0, 2)};
  EXPECT_EQ(key_of(points), "parts[0].springs[1]");
  points.springs = {Index2(0, 1)};
  points.masses = {1};
  EXPECT_EQ(key_of(points), "parts[0].masses");
  points.masses.clear();
  points.rest_lengths = {1, 2};
  EXPECT_EQ(key_of(points), "parts[0].rest_lengths");
  points.rest_lengths.clear();
  points.pins = {{.where = SpringsPin::Where::left}};
  EXPECT_EQ(key_of(points), "parts[0].pins[0].where");
  points.pins = {{.indices = {0, 7}}};
  EXPECT_EQ(key_of(points), "parts[0].pins[0].indices[1]");
}

TEST(Springs, AHangingMassStretchesItsSpringByItsWeightOverTheStiffness) {
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  part.points = {Vec3(0, 0, 0), Vec3(0, -1, 0)};
  part.springs = {Index2(0, 1)};
  part.mass = 2;
  part.structural_stiffness = 100;
  part.pins = {{.indices = {0}}};
  for (const auto integrator : every_integrator()) {
    Net net = net_of(part);
    const Springs::Params params{.integrator = integrator, .point_damping = 4};
    for (int k = 0; k < 1000; ++k) net.step(params, Real(0.01));
    EXPECT_NEAR(net.state.particles.x[1][1], -(1 + 2 * 9.81 / 100), 1e-4);
    EXPECT_EQ(net.state.particles.x[0], Vec3(0, 0, 0));
  }
}

TEST(Springs, TheHashIsTheSameForEveryThreadCountAndPoisonedWorkspace) {
  // Enough particles for several blocks of every loop, heavy enough for few sub-steps of explicit Euler.
  SpringsPart part = hanging_cloth(60);
  part.areal_density = 200;
  part.structural_stiffness = part.shear_stiffness = 20;
  part.pins.push_back({.where = SpringsPin::Where::front_left, .group = 1});
  for (const auto integrator : every_integrator()) {
    const auto run = [&](int threads, bool poison) {
      World world;
      world.set_threads(threads);
      Net net = net_of(part);
      Springs::Params params;
      params.integrator = integrator;
      params.wind = Vec3(3, 1, 0);
      auto& system = world.add<Springs>("cloth", net.model, net.state, params);
      for (int f = 0; f < 2; ++f) {
        if (poison) system.poison_workspace();
        world.step_frame();
      }
      return world.hash();
    };
    const Hash128 one = run(1, false);
    for (const int threads : {2, 3, 5, 8})
      EXPECT_EQ(run(threads, threads == 3), one) << int(integrator) << " on " << threads;
  }
}

TEST(Springs, AResumedRunEndsAsAnUninterruptedOne) {
  for (const auto integrator : every_integrator()) {
    const auto make = [&] {
      SpringsPart part = hanging_cloth(8);
      part.structural_stiffness = part.shear_stiffness = 50;
      part.areal_density = 5;
      Net net = net_of(part);
      Springs::Params params;
      params.integrator = integrator;
      params.tear_strain = Real(0.02);  // so that the model changes too
      World world;
      world.add<Springs>("cloth", net.model, net.state, params);
      return world;
    };
    World whole = make(), first = make(), second = make();
    for (int f = 0; f < 16; ++f) whole.step_frame();
    for (int f = 0; f < 9; ++f) first.step_frame();
    second.restore(first.snapshot());
    for (int f = 9; f < 16; ++f) second.step_frame();
    EXPECT_EQ(second.hash(), whole.hash()) << int(integrator);
    EXPECT_GT(dynamic_cast<SystemOf<Springs>&>(whole.system(0)).model.revision, 1) << "nothing tore";
  }
}

TEST(Springs, ASteadyStepAllocatesNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "allocations are counted elsewhere";
  Net net = net_of(hanging_cloth(16));
  for (const auto integrator : every_integrator()) {
    const Springs::Params params{.integrator = integrator};
    for (const int threads : {1, 2})
      with_threads(threads, [&] {
        const Real dt = std::min(Real(1) / 60, Springs::max_dt(net.model, net.state, params));
        for (int k = 0; k < 3; ++k) net.step(params, dt);
        EXPECT_EQ(plenum_test::count_allocations([&] {
                    for (int k = 0; k < 5; ++k) net.step(params, dt);
                  }),
                  0);
      });
  }
}

/// A rope of rods whose last particle slides on a level wire, for multipliers.
SpringsPart rope_of_rods() {
  SpringsPart part;
  part.type = SpringsPart::Type::rope;
  part.segments = 64;
  part.inextensible = true;
  part.pins = {{.where = SpringsPin::Where::first}};
  part.wires = {{.beads = {64}, .origin = Vec3(1, 0, 0), .axis = Vec3(1, 0, 0)}};
  return part;
}

TEST(Springs, TheLimitOfStiffnessIsOneOfTheScaledStiffness) {
  const std::vector<Vec3> x = {Vec3::Zero(), Vec3(Real(1.5), 0, 0)}, v(2, Vec3::Zero());
  const std::vector<Index2> edges = {Index2(0, 1)};
  const std::vector<Real> base(2, 1), length = {1}, none = {0};
  const auto pull = [&](Real stiffness, Real scale, Real limit) {
    const std::vector<Real> k = {stiffness};
    SpringSystem<Real> system(2, edges, std::span<const Real>(k), std::span<const Real>(length),
                              std::span<const Real>(none));
    std::vector<Vec3> b(2);
    system.assemble(x, v, base, 1, scale, 1, b, limit);
    return b[0].x();
  };
  // h k (|d| - l0), with k the scaled stiffness, or the limit if that is less.
  EXPECT_NEAR(pull(1e8, Real(1e-4), 1e5), 0.5e4, 1);
  EXPECT_NEAR(pull(1e8, Real(1e-2), 1e5), 0.5e5, 10);
  EXPECT_NEAR(pull(1e4, 100, 1e5), 0.5e5, 10);
  EXPECT_NEAR(pull(1e4, 2, 1e5), 1e4, 1);
  EXPECT_NEAR(pull(1e4, Real(0.5), std::numeric_limits<Real>::max()), 0.25e4, 1);
}

TEST(Springs, AStepWithMultipliersAllocatesNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "allocations are counted elsewhere";
  for (std::size_t k = 0; k < names_of(Springs::Stabilization{}).size(); ++k)
    for (const auto integrator : every_integrator()) {
      Net net = net_of(rope_of_rods());
      const Springs::Params params{.integrator = integrator,
                                   .stabilization = static_cast<Springs::Stabilization>(k)};
      const Real dt = std::min(Real(1) / 600, Springs::max_dt(net.model, net.state, params));
      for (int step = 0; step < 3; ++step) net.step(params, dt);
      EXPECT_EQ(plenum_test::count_allocations([&] {
                  for (int step = 0; step < 5; ++step) net.step(params, dt);
                }),
                0)
          << names_of(integrator)[std::size_t(integrator)] << k;
    }
}

TEST(Springs, ConstraintsThatAreNotMetAreReported) {
  // A rope of rods drawn straight between its pin and an upright wire can only stay level, and no finite
  // force along it bears its weight; at a long step its rods come apart. Sliding on a level wire, in short
  // steps, they do not.
  SpringsPart part = rope_of_rods();
  const auto warnings = [&](const Vec3& axis, Real dt) {
    part.wires[0].axis = axis;
    Net net = net_of(part);
    std::size_t count = 0;
    for (int k = 0; k < 60; ++k) count += net.step({}, dt).warnings().size();
    return count;
  };
  EXPECT_GT(warnings(Vec3(0, 1, 0), Real(1) / 60), 0u);
  EXPECT_EQ(warnings(Vec3(1, 0, 0), Real(1) / 600), 0u);
}

TEST(Springs, MultipliersHashTheSameForEveryThreadCount) {
  for (const auto integrator : {Springs::Integrator::implicit_euler, Springs::Integrator::symplectic_euler,
                                Springs::Integrator::rk4}) {
    const auto run = [&](int threads) {
      World world({.fps = 300});
      world.set_threads(threads);
      Net net = net_of(rope_of_rods());
      world.add<Springs>("rope", net.model, net.state, {.integrator = integrator});
      for (int f = 0; f < 10; ++f) EXPECT_TRUE(world.step_frame().ok);
      return world.hash();
    };
    const Hash128 one = run(1);
    for (const int threads : {2, 3, 8}) EXPECT_EQ(run(threads), one) << int(integrator) << " on " << threads;
  }
}

}}  // namespace plenum
