// Volumes: light through them, and what is before and behind them.
#include "plenum/draw/detail/volume.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plenum/draw/headless.h"
#include "plenum/draw/renderer.h"
#include "plenum/geometry/shapes.h"

namespace plenum { namespace {

/// A cube of side 1 around the origin, filled evenly.
struct Cube {
  GridShape shape{{32, 32, 32}};
  std::vector<Real> density = std::vector<Real>(shape.size(), 1);
  VolumeView view(Real extinction, Real albedo) const {
    return {.shape = shape,
            .density = density,
            .low = Vec3::Constant(Real(-0.5)),
            .spacing = Real(1) / 32,
            .extinction = extinction,
            .albedo = Vec3::Constant(albedo)};
  }
};

TEST(LitVolume, OpticalDepthIsExtinctionTimesTheWayThrough) {
  const Cube cube;
  const Vec3 toward = Vec3(Real(0.3), Real(0.9), Real(-0.2)).normalized();
  const detail::LitVolume lit = detail::light_volume(cube.view(2, 1), toward);
  ASSERT_EQ(lit.size, (std::array<int, 3>{32, 32, 32}));
  const auto texel = [&](int i, int j, int k) {
    return &lit.texels[3 * (static_cast<std::size_t>(i) +
                            32 * (static_cast<std::size_t>(j) + 32 * static_cast<std::size_t>(k)))];
  };
  for (int j = 0; j < 32; ++j) {
    EXPECT_EQ(texel(16, j, 16)[0], 2);
    // From the middle of the uppermost cells on, straight up.
    EXPECT_NEAR(texel(16, j, 16)[2], 2 * (31 - j) / 32.0, 1e-5);
    // Towards the light, the way is longer by the slope, as long as it leaves through the top.
    if (j >= 16) {
      EXPECT_NEAR(texel(10, j, 20)[1], 2 * (31 - j) / 32.0 / static_cast<double>(toward.y()), 1e-4);
    }
  }
}

TEST(LitVolume, KeepsOnlyWhatHoldsAnything) {
  Cube cube;
  std::fill(cube.density.begin(), cube.density.end(), Real(0));
  EXPECT_EQ(detail::light_volume(cube.view(2, 1), Vec3::UnitY()).size[0], 0);
  cube.density[cube.shape.index(5, 6, 7)] = 1;
  const detail::LitVolume lit = detail::light_volume(cube.view(2, 1), Vec3::UnitY());
  EXPECT_EQ(lit.size, (std::array<int, 3>{3, 3, 3}));
  EXPECT_NEAR(static_cast<double>(lit.box.low.x()), -0.5 + 4 / 32.0, 1e-6);
}

double linear(std::uint8_t c) {
  const double x = c / 255.0;
  return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
}

TEST(DrawVolume, DimsWhatIsBehindAndIsHiddenByWhatIsBefore) {
  const HeadlessContext context;
  Renderer renderer;
  Style style;
  style.floor = false;
  style.background_top = style.background_bottom = {230, 230, 230};
  Camera camera;
  camera.eye = Vec3(0, 0, 3);
  camera.field_of_view = Real(0.5);
  const auto middle = [&](auto&& show) {
    renderer.begin_frame(camera, style, 160, 90);
    show();
    return linear(renderer.finish().at(80, 45).g);
  };
  const Cube cube;
  const double wall = middle([] {});
  for (const Real extinction : {Real(0.5), Real(1), Real(2)}) {
    // Beer and Lambert, for a way of 1 m through what scatters nothing; the steps miss the way by one of 32.
    const double seen = middle([&] { renderer.volume(cube.view(extinction, 0)); });
    EXPECT_NEAR(seen / wall, std::exp(-static_cast<double>(extinction)),
                0.04 * static_cast<double>(extinction));
  }
  EXPECT_LT(middle([&] { renderer.volume(cube.view(100, 0)); }), 0.01);
  // What scatters is brighter than what does not.
  EXPECT_GT(middle([&] { renderer.volume(cube.view(100, Real(0.9))); }), 0.1);
  const TriangleMesh ball = icosphere_mesh(Real(0.3), 4);
  const auto show_ball = [&](Real z) {
    renderer.triangles(
        {.x = ball.x, .triangles = ball.triangles, .pose = {.position = Vec3(0, 0, z)}, .palette = 0});
  };
  const double alone = middle([&] { show_ball(1); });
  const double before = middle([&] { show_ball(1), renderer.volume(cube.view(100, 0)); });
  EXPECT_NEAR(before, alone, 0.02);
  EXPECT_LT(middle([&] { show_ball(-1), renderer.volume(cube.view(100, 0)); }), 0.01);
}

TEST(DrawVolume, ScattersTheColoursThatItHolds) {
  const HeadlessContext context;
  Renderer renderer;
  Style style;
  style.floor = false;
  Camera camera;
  camera.eye = Vec3(0, 0, 3);
  camera.field_of_view = Real(0.5);
  const auto picture = [&](const VolumeView& view) {
    renderer.begin_frame(camera, style, 160, 90);
    renderer.volume(view);
    return renderer.finish();
  };
  const Cube cube;
  const VolumeView grey = cube.view(8, Real(0.5));
  std::array<std::vector<Real>, 3> parts;
  for (std::vector<Real>& part : parts) part.assign(cube.shape.size(), Real(0.5));
  VolumeView same = grey;
  same.albedo = Vec3(1, 0, 1);
  same.scattered = {parts[0], parts[1], parts[2]};
  const Rgb8 a = picture(grey).at(80, 45), b = picture(same).at(80, 45);
  EXPECT_EQ((std::array{a.r, a.g, a.b}), (std::array{b.r, b.g, b.b}));
  // Red on the left, green on the right.
  for (Index k = 0; k < 32; ++k)
    for (Index j = 0; j < 32; ++j)
      for (Index i = 0; i < 32; ++i) {
        const std::size_t at = cube.shape.index(i, j, k);
        parts[0][at] = i < 16 ? Real(0.8) : Real(0.05);
        parts[1][at] = i < 16 ? Real(0.05) : Real(0.8);
        parts[2][at] = Real(0.05);
      }
  const auto two = picture(same);
  EXPECT_GT(two.at(70, 45).r, 2 * two.at(70, 45).g);
  EXPECT_GT(two.at(90, 45).g, 2 * two.at(90, 45).r);
}

TEST(DrawDyes, TrianglesHaveTheColoursOfTheirVertices) {
  const HeadlessContext context;
  Renderer renderer;
  Style style;
  style.floor = false;
  Camera camera;
  camera.eye = Vec3(0, 0, 3);
  camera.field_of_view = Real(0.5);
  const std::vector<Vec3> x = {Vec3(-1, -1, 0), Vec3(1, -1, 0), Vec3(1, 1, 0), Vec3(-1, 1, 0)};
  const std::vector<Index3> triangles = {Index3(0, 1, 2), Index3(0, 2, 3)};
  const Vec3 red(Real(0.7), Real(0.02), Real(0.02)), blue(Real(0.02), Real(0.02), Real(0.7));
  const std::vector<Vec3> dyes = {red, blue, blue, red};
  renderer.begin_frame(camera, style, 160, 90);
  renderer.triangles({.x = x, .triangles = triangles, .look = Look::cloth, .dyes = dyes});
  const auto seen = renderer.finish();
  EXPECT_GT(seen.at(45, 45).r, 2 * seen.at(45, 45).b);
  EXPECT_GT(seen.at(115, 45).b, 2 * seen.at(115, 45).r);
  // Half-way as bright as in the middle of both, as light adds.
  EXPECT_NEAR(linear(seen.at(80, 45).r), linear(seen.at(80, 45).b), 0.05);
}

}}  // namespace plenum
