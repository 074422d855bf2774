// Coloured soot: how it mixes, that colours are kept as the soot is, and the hands that stir it.
#include <gtest/gtest.h>

#include <cmath>

#include "plenum/solvers/smoke/smoke.h"
#include "plenum/world/pointer.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

Smoke::Spec sheet() {
  Smoke::Spec spec;
  spec.cells_x = 48, spec.cells_y = 32, spec.cells_z = 1;
  spec.spacing = Real(1) / 32;
  spec.coloured = true;
  spec.show = Smoke::Show::ink;
  return spec;
}
struct Ink {
  Smoke::Model model;
  Smoke::State state;
  Smoke::Params params;
  Smoke::Workspace workspace;
  explicit Ink(const Smoke::Spec& spec) {
    Smoke::build(spec, model, state);
    params.gravity = Vec3::Zero();
  }
  Report step(double dt) { return Smoke::step(model, state, params, workspace, static_cast<Real>(dt)); }
};
SmokeSource drop(const Vec3& position, Real radius, const Vec3& colour) {
  SmokeSource source;
  source.position = position, source.radius = radius, source.colour = colour;
  source.temperature = 0;
  return source;
}

TEST(SmokeInk, InksMixByTheirAmounts) {
  const Vec3 yellow(Real(0.9), Real(0.8), Real(0.1)), blue(Real(0.1), Real(0.3), Real(0.9));
  Ink ink(sheet());
  const Vec3 middle(Real(0.75), Real(0.5), 0);
  ink.params.sources = {drop(middle, Real(0.3), yellow)};
  ink.params.sources[0].rate = Real(1e6);
  ink.step(0.1);
  const std::size_t at = ink.model.shape.index(24, 16, 0);
  EXPECT_NEAR(static_cast<double>(ink.state.density[at]), 1, 1e-6);
  // Half as dense, and drawn towards by the part 1 - exp(-rate dt): what is left of the one, and the other.
  ink.params.sources = {drop(middle, Real(0.3), blue)};
  ink.params.sources[0].density = Real(0.5), ink.params.sources[0].rate = 5;
  ink.step(0.1);
  const double part = 1 - std::exp(-0.5), of_yellow = 1 - part, of_blue = 0.5 * part;
  EXPECT_NEAR(static_cast<double>(ink.state.density[at]), of_yellow + of_blue, 1e-6);
  for (int c = 0; c < 3; ++c)
    EXPECT_NEAR(static_cast<double>(ink.state.scattered[static_cast<std::size_t>(c)][at]),
                of_yellow * static_cast<double>(yellow[c]) + of_blue * static_cast<double>(blue[c]), 1e-6);
}

TEST(SmokeInk, ColoursAreKeptAsTheSootIs) {
  // Every stage is homogeneous in what it carries: a channel of half of the soot stays half of it to the bit,
  // by any advection, and with it what a closed box loses or gains of both.
  for (const AdvectionScheme scheme :
       {AdvectionScheme::semi_lagrangian, AdvectionScheme::cubic, AdvectionScheme::maccormack}) {
    Smoke::Spec spec = sheet();
    SmokeShape pole;
    pole.position = Vec3(Real(0.8), Real(0.6), 0);
    spec.solids = {pole};
    Ink ink(spec);
    ink.params.advection = scheme;
    ink.params.settling = Real(0.2);
    ink.params.sources = {drop(Vec3(Real(0.5), Real(0.5), 0), Real(0.12), Vec3(1, Real(0.5), Real(0.25)))};
    SmokeBrush brush;
    brush.colour = Vec3(1, Real(0.5), Real(0.25));
    ink.params.brushes = {brush};
    for (int k = 0; k < 30; ++k) {
      ink.params.brushes[0].position = Vec3(Real(0.2) + Real(0.03) * static_cast<Real>(k),
                                            Real(0.4) + Real(0.1) * std::sin(Real(0.4 * k)), 0);
      ink.step(1.0 / 30);
    }
    double soot = 0;
    for (Index j = 0; j < 32; ++j)
      for (Index i = 0; i < 48; ++i) {
        const std::size_t at = ink.model.shape.index(i, j, 0);
        soot += static_cast<double>(ink.state.density[at]);
        // But where numbers or, in the cubic's limiter, their products are so small that they are flushed to
        // zero.
        constexpr double least = 1e-18;
        const auto all = static_cast<double>(ink.state.density[at]);
        ASSERT_NEAR(static_cast<double>(ink.state.scattered[0][at]), all, least);
        ASSERT_NEAR(static_cast<double>(ink.state.scattered[1][at]), all / 2, least);
        ASSERT_NEAR(static_cast<double>(ink.state.scattered[2][at]), all / 4, least);
      }
    EXPECT_GT(soot, 50);
  }
}

TEST(SmokeInk, ColoursThatDoNothingAreToldOf) {
  Smoke::Spec spec = sheet();
  Ink coloured(spec);
  spec.coloured = false;
  Ink grey(spec);
  coloured.params.sources = grey.params.sources = {drop(Vec3::Zero(), Real(0.2), Vec3(1, 0, 0))};
  EXPECT_TRUE(coloured.step(0.01).warnings().empty());
  EXPECT_EQ(grey.step(0.01).warnings().size(), 1U);
  EXPECT_TRUE(grey.state.scattered[0].empty());
}

World stirred(int threads, int cells_z = 1) {
  World world({.fps = 30, .substeps = 2});
  world.set_threads(threads);
  Smoke::Spec spec = sheet();
  spec.cells_z = cells_z;
  Ink ink(spec);
  ink.params.sources = {
      drop(Vec3(Real(0.9), Real(0.5), Real(0.2)), Real(0.15), Vec3(Real(0.9), Real(0.4), 0))};
  ink.params.brushes.resize(1);
  ink.params.brushes[0].colour = Vec3(0, Real(0.4), Real(0.8));
  world.add<Smoke>("ink", std::move(ink.model), std::move(ink.state), std::move(ink.params));
  world.add_keyframes("ink", {.path = "brushes[0].position",
                              .times = {0, 0.3, 0.6},
                              .values = {0.3, 0.3, 0.2, 0.7, 0.6, 0.2, 1.2, 0.3, 0.2}});
  return world;
}
Smoke::State& state_of(World& world) {
  return dynamic_cast<SystemOf<Smoke>&>(world.system(0)).state;
}

TEST(SmokeInk, SameBitsForEveryNumberOfThreadsAndAfterRestoring) {
  for (const int nz : {1, 12}) {
    std::string first;
    std::vector<std::byte> middle;
    for (const int threads : {1, 2, 3, 5, 8}) {
      World world = stirred(threads, nz);
      for (int k = 0; k < 14; ++k) {
        if (k == 7) middle = world.snapshot();
        ASSERT_TRUE(world.step_frame().ok);
      }
      if (first.empty()) first = world.hash().hex();
      EXPECT_EQ(world.hash().hex(), first) << nz << " " << threads;
    }
    World again = stirred(2, nz);
    again.restore(middle);
    for (int k = 7; k < 14; ++k) ASSERT_TRUE(again.step_frame().ok);
    EXPECT_EQ(again.hash().hex(), first);
  }
}

TEST(SmokeInk, ABrushDrawsTheGasAlong) {
  Ink ink(sheet());
  SmokeBrush brush;
  brush.radius = Real(0.1), brush.rate = 200, brush.density = 0;
  ink.params.brushes = {brush};
  Real x = Real(0.4);
  for (int k = 0; k < 5; ++k, x += Real(0.02)) {
    ink.params.brushes[0].position = Vec3(x, Real(0.5), 0);
    ink.step(1.0 / 50);
  }
  // A metre a second in its middle, less what the pressure gives to the gas around.
  const auto at = [&](Index i, Index j) {
    return static_cast<double>(ink.state.velocity[0][ink.model.shape.index(i, j, 0)]);
  };
  EXPECT_GT(at(15, 16), 0.4);
  EXPECT_LT(at(15, 16), 1.0);
  EXPECT_LT(at(15, 26), 0.0);  // what it pushes away comes back beside it
  for (const Real soot : ink.state.density) EXPECT_EQ(soot, 0);
}

/// A camera before the sheet.
PointerRay ray_at(double x, double y) {
  const Vec3 eye(Real(0.75), Real(0.5), 3);
  return {eye, (Vec3(static_cast<Real>(x), static_cast<Real>(y), Real(1) / 64) - eye).normalized(),
          -Vec3::UnitZ()};
}

TEST(SmokeInk, TheMouseStirsASheetAndLeavesInk) {
  World world({.fps = 60});
  Ink made(sheet());
  world.add<Smoke>("ink", std::move(made.model), std::move(made.state), std::move(made.params));
  const GridShape shape = dynamic_cast<SystemOf<Smoke>&>(world.system(0)).model.shape;
  const auto item = [&](double x, double y) {
    return shape.index(static_cast<Index>(x * 32), static_cast<Index>(y * 32), 0);
  };
  Pointer pointer;
  EXPECT_FALSE(pointer.press(world, ray_at(1.7, 0.5), Real(0.01)));
  const auto stroke = [&](double y) {
    ASSERT_TRUE(pointer.press(world, ray_at(0.4, y), Real(0.01)));
    for (int k = 1; k <= 6; ++k) {
      pointer.move(world, ray_at(0.4 + 0.05 * k, y), 1.0 / 60);
      ASSERT_TRUE(world.step_frame().ok);
    }
  };
  stroke(0.3);
  const Smoke::State& s = state_of(world);
  EXPECT_GT(s.density[item(0.6, 0.3)], Real(0.2));
  EXPECT_EQ(s.density[item(0.6, 0.8)], 0);
  EXPECT_GT(s.velocity[0][item(0.7, 0.3)], Real(0.3));
  // Of one ink, and another one by the next stroke.
  const auto hue = [&](double x, double y) {
    const std::size_t at = item(x, y);
    return Vec3(Vec3(s.scattered[0][at], s.scattered[1][at], s.scattered[2][at]) / s.density[at]);
  };
  const Vec3 first = hue(0.5, 0.3);
  EXPECT_LT((hue(0.6, 0.3) - first).norm(), 0.01);
  pointer.release(world);
  stroke(0.7);
  EXPECT_GT((hue(0.6, 0.7) - first).norm(), 0.3);
  pointer.release(world);
  EXPECT_FALSE(pointer.holds());
  // What does not stir leaves nothing.
  const std::string before = world.hash().hex();
  World a({.fps = 60}), b({.fps = 60});
  for (World* const w : {&a, &b}) {
    Ink still(sheet());
    w->add<Smoke>("ink", std::move(still.model), std::move(still.state), std::move(still.params));
  }
  ASSERT_TRUE(pointer.press(a, ray_at(0.5, 0.5), Real(0.01)));
  pointer.move(a, ray_at(0.6, 0.5), 1.0 / 60);
  pointer.release(a);
  a.step_frame(), b.step_frame();
  EXPECT_EQ(a.hash(), b.hash());
}

TEST(SmokeInk, TheMouseBlowsThroughABox) {
  World world({.fps = 60});
  Smoke::Spec spec = sheet();
  spec.cells_z = 24;
  Ink made(spec);
  world.add<Smoke>("air", std::move(made.model), std::move(made.state), std::move(made.params));
  Pointer pointer;
  // Where nothing else is, the tool that pulls turns the camera.
  EXPECT_FALSE(pointer.press(world, ray_at(0.7, 0.5), Real(0.01)));
  pointer.settings.tool = PointerSettings::Tool::wind;
  ASSERT_TRUE(pointer.press(world, ray_at(0.7, 0.5), Real(0.01)));
  for (int k = 1; k <= 4; ++k) {
    pointer.move(world, ray_at(0.7, 0.5 + 0.02 * k), 1.0 / 60);
    ASSERT_TRUE(world.step_frame().ok);
  }
  const GridShape shape = dynamic_cast<SystemOf<Smoke>&>(world.system(0)).model.shape;
  EXPECT_GT(state_of(world).velocity[1][shape.index(22, 18, 12)], Real(0.2));
}

}}  // namespace plenum::(anonymous)
