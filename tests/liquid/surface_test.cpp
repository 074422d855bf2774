// What pictures show of a liquid: a closed surface, within the box and without gaps beside solids.
#include <gtest/gtest.h>

#include "../../validation/liquid_cups.h"
#include "plenum/base/hash.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/topology.h"
#include "plenum/solvers/liquid/liquid.h"
#include "plenum/world/world.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

LiquidFill filled_box(const Vec3& low, const Vec3& high) {
  LiquidFill fill;
  fill.shape = GridSolid::Kind::box;
  fill.half_extents = (high - low) / 2;
  fill.position = (high + low) / 2;
  return fill;
}

constexpr Real side = Real(1) / 32;

/// A column beside a pillar that stands in the box.
Liquid::Spec column(int nz) {
  Liquid::Spec spec;
  spec.cells_x = 32, spec.cells_y = 24, spec.cells_z = nz;
  spec.spacing = side;
  const Real depth = side * static_cast<Real>(nz);
  spec.fill = {filled_box(Vec3::Zero(), Vec3(Real(0.375), Real(0.5), depth))};
  GridSolid pillar;
  pillar.shape = GridSolid::Kind::box;
  pillar.half_extents = Vec3(Real(0.1), Real(0.5), Real(0.1));
  pillar.position = Vec3(Real(0.65), Real(0.3), depth / 2);
  spec.solids = {pillar};
  return spec;
}

World world_of(const Liquid::Spec& spec) {
  World world({.fps = 60});
  Liquid::Model model;
  Liquid::State state;
  Liquid::build(spec, model, state);
  world.add<Liquid>("water", std::move(model), std::move(state), Liquid::Params{});
  return world;
}

struct Seen final : DrawableSink {
  int solids = 0, spheres_seen = 0;
  std::vector<TriangleMesh> liquids;
  void triangles(const TriangleView&) override { ++solids; }
  void spheres(const SphereView&) override { ++spheres_seen; }
  void lines(const LineView&) override {}
  void liquid(const LiquidView& view) override {
    liquids.push_back(
        {.x = {view.x.begin(), view.x.end()}, .triangles = {view.triangles.begin(), view.triangles.end()}});
    EXPECT_EQ(view.normals.size(), view.x.size());
  }
};

TEST(LiquidSurface, OfABreakingDamIsClosedAndInTheBox) {
  World world = world_of(column(20));
  const Vec3 high = side * Vec3(32, 24, 20);
  for (int k = 0; k < 60; ++k) {
    ASSERT_TRUE(world.step_frame().ok);
    if (k % 6 != 0) continue;
    Seen seen;
    world.system(0).geometry(seen);
    ASSERT_EQ(seen.liquids.size(), 1u);
    const TopologyReport report = topology(seen.liquids[0]);
    EXPECT_TRUE(report.closed() && report.manifold() && report.oriented()) << k << ": " << report.complaint();
    EXPECT_EQ(report.unreferenced_vertices, 0u);
    // Cut off at the sides; a step of smoothing goes from a vertex towards the mean of its neighbours, which
    // are in cells around it.
    for (const Vec3& x : seen.liquids[0].x)
      ASSERT_TRUE((x.array() > -side / 2).all() && ((high - x).array() > -side / 2).all()) << k;
  }
}

TEST(LiquidSurface, EnclosesWhatIsFilled) {
  Liquid::Spec spec = column(20);
  spec.solids.clear();
  Liquid::Model model;
  Liquid::State state;
  Liquid::build(spec, model, state);
  Liquid::SurfaceWorkspace work;
  SurfaceMesh mesh;
  Liquid::surface(model, state, work, mesh);
  const double depth = 20.0 / 32, wanted = 0.375 * 0.5 * depth;
  // Along the one free edge a rod is rounded off that is no thicker than the reach of particles.
  const double lost = 4.0 / (32 * 32) * depth;
  EXPECT_NEAR(enclosed_volume(mesh.x, mesh.triangles), wanted, lost);
}

TEST(LiquidSurface, GoesOnIntoSolids) {
  // A pillar in a pool: below the pool's surface there is no wall of the liquid before the pillar's.
  Liquid::Spec spec = column(32);
  spec.fill = {filled_box(Vec3::Zero(), Vec3(1, Real(0.5), 1))};
  Liquid::Model model;
  Liquid::State state;
  Liquid::build(spec, model, state);
  Liquid::SurfaceWorkspace work;
  SurfaceMesh mesh;
  Liquid::surface(model, state, work, mesh);
  const GridSolid& pillar = spec.solids[0];
  const Shape solid = pillar.solid();
  int inner = 0;
  for (const Vec3& x : mesh.x) {
    const bool below = x.y() > 2 * side && x.y() < Real(0.5) - 3 * side;
    const bool beside = x.x() > side && x.x() < 1 - side && x.z() > side && x.z() < 1 - side;
    if (!below || !beside) continue;
    ++inner;
    EXPECT_LT(solid.signed_distance(pillar.pose().to_local(x)).distance, -side / 2);
  }
  // The pillar is thicker than what is mirrored in it: eleven layers have four sides of a hollow each.
  EXPECT_GE(inner, 4 * 11);
}

TEST(LiquidSurface, GoesOnIntoBodies) {
  // The same with a pillar that is another system's.
  Liquid::Spec spec = column(32);
  const GridSolid pillar = spec.solids[0];
  spec.solids.clear();
  spec.fill = {filled_box(Vec3::Zero(), Vec3(1, Real(0.5), 1))};
  Liquid::Model model;
  Liquid::State state;
  Liquid::build(spec, model, state);
  const Shape solid = pillar.solid();
  SolidBody body;
  body.shape = &solid;
  body.pose0 = body.pose = pillar.pose();
  Liquid::Workspace step;
  Liquid::meet(step, {&body, 1});
  Liquid::step(model, state, {}, step, Real(1e-4));
  Liquid::SurfaceWorkspace work;
  SurfaceMesh mesh;
  Liquid::surface(model, state, work, mesh, step.immersed.seen);
  int inner = 0;
  for (const Vec3& x : mesh.x) {
    const bool below = x.y() > 2 * side && x.y() < Real(0.5) - 3 * side;
    const bool beside = x.x() > side && x.x() < 1 - side && x.z() > side && x.z() < 1 - side;
    if (!below || !beside) continue;
    ++inner;
    EXPECT_LT(solid.signed_distance(body.pose.to_local(x)).distance, -side / 2);
  }
  EXPECT_GE(inner, 4 * 11);
}

TEST(LiquidSurface, StaysOnItsSideOfThinWalls) {
  // Full vessels with walls of a twentieth and a third of a cell, as solids and as bodies: none of the
  // surface is outside of them, to the rounding of where a way meets a wall.
  for (const double wall : {0.05, 0.3})
    for (const bool is_body : {false, true}) {
      const int n = 24;
      const validation::Vessel vessel{
          .radius = 0.3, .height = 0.6, .wall = wall / n, .segments = 48, .has_lid = true};
      const Pose pose{Vec3(0, Real(0.2), 0), rotation_from_degrees(Vec3(0, 0, 10))};
      Liquid::Spec spec = validation::content_of(vessel, pose.position, Vec3(0, 0, 10), 0.5, n, false);
      GridSolid solid;
      solid.shape = GridSolid::Kind::mesh;
      solid.surface = vessel.mesh();
      solid.position = pose.position, solid.rotation = Vec3(0, 0, 10);
      if (!is_body) spec.solids = {solid};
      Liquid::Model model;
      Liquid::State state;
      Liquid::build(spec, model, state);
      const Shape shape = solid.solid();
      SolidBody body;
      body.shape = &shape;
      body.pose0 = body.pose = pose;
      Liquid::Workspace step;
      for (int k = 0; k < 30; ++k) {
        if (is_body) Liquid::meet(step, {&body, 1});
        Liquid::step(model, state, {}, step, Real(1) / 60);
      }
      Liquid::SurfaceWorkspace work;
      SurfaceMesh mesh;
      Liquid::surface(model, state, work, mesh, step.immersed.seen);
      if (plenum_test::can_count_allocations) {
        EXPECT_EQ(plenum_test::count_allocations(
                      [&] { Liquid::surface(model, state, work, mesh, step.immersed.seen); }),
                  0);
      }
      Real farthest = 0;
      for (const Vec3& x : mesh.x) {
        const Vec3 at = pose.to_local(x);
        if (!vessel.holds(at)) farthest = std::max(farthest, shape.exact_distance(at).distance);
      }
      EXPECT_GT(mesh.x.size(), 500u);
      EXPECT_LT(farthest, Real(1e-5)) << wall << " " << is_body;
    }
}

TEST(LiquidSurface, IsDrawnWithoutATraceInTheState) {
  World drawn = world_of(column(16)), undrawn = world_of(column(16));
  for (int k = 0; k < 12; ++k) {
    ASSERT_TRUE(drawn.step_frame().ok && undrawn.step_frame().ok);
    Seen seen;
    drawn.system(0).geometry(seen);
    EXPECT_FALSE(seen.liquids.at(0).triangles.empty());
    EXPECT_EQ(seen.solids, 1);
    EXPECT_EQ(drawn.hash(), undrawn.hash());
  }
}

TEST(LiquidSurface, IsTheSameForEveryNumberOfThreads) {
  Liquid::Model model;
  Liquid::State state;
  Liquid::build(column(20), model, state);
  Liquid::SurfaceWorkspace work;
  SurfaceMesh mesh;
  Hash128 first;
  for (int threads = 1; threads <= 8; ++threads)
    with_threads(threads, [&] {
      Liquid::surface(model, state, work, mesh);
      Hasher hasher;
      hasher.add(mesh.x.data(), mesh.x.size() * sizeof(Vec3));
      hasher.add(mesh.triangles.data(), mesh.triangles.size() * sizeof(Index3));
      if (threads == 1) first = hasher.digest();
      EXPECT_EQ(hasher.digest(), first) << threads;
    });
}

TEST(LiquidSurface, AllocatesNothingTheSecondTime) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer has a heap of its own";
  Liquid::Model model;
  Liquid::State state;
  Liquid::build(column(16), model, state);
  Liquid::SurfaceWorkspace work;
  SurfaceMesh mesh;
  Liquid::surface(model, state, work, mesh);
  EXPECT_EQ(plenum_test::count_allocations([&] { Liquid::surface(model, state, work, mesh); }), 0);
}

TEST(LiquidSurface, IsShownAsTheSceneSays) {
  const auto seen_of = [](int nz, Liquid::Show show) {
    Liquid::Spec spec = column(nz);
    spec.show = show;
    Liquid::Model model;
    Liquid::State state;
    Liquid::build(spec, model, state);
    Seen seen;
    Liquid::geometry(model, state, seen);
    return std::pair(seen.liquids.size(), seen.spheres_seen);
  };
  using Counts = std::pair<std::size_t, int>;
  EXPECT_EQ(seen_of(16, Liquid::Show::surface), Counts(1, 0));
  EXPECT_EQ(seen_of(16, Liquid::Show::particles), Counts(0, 1));
  EXPECT_EQ(seen_of(16, Liquid::Show::nothing), Counts(0, 0));
  EXPECT_EQ(seen_of(1, Liquid::Show::surface), Counts(0, 1));
}

}}  // namespace plenum
