// Bodies on ridges of meshes and height fields: what bears is felt, not the ground that hovers below flat
// ones, and no ridge drives what is round.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "plenum/base/random.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using validation::RigidScene;

/// A ridge of width 0.4 along x between ground that is `lower`, in widths of the cube.
rigid::ShapeSpec ridge(rigid::Form form, double lower, double width) {
  rigid::ShapeSpec shape;
  shape.shape = form;
  if (form == rigid::Form::height_field) {
    constexpr int n = 41;
    shape.columns = n;
    shape.grid_spacing = Real(0.2 * width);
    for (int row = 0; row < n; ++row)
      for (int column = 0; column < n; ++column)
        shape.heights.push_back(std::abs(row - n / 2) <= 1 ? Real(0) : Real(-lower * width));
    return shape;
  }
  const double z[] = {-4, -0.2, -0.2, 0.2, 0.2, 4}, y[] = {-lower, -lower, 0, 0, -lower, -lower};
  for (int i = 0; i < 6; ++i)
    for (const double x : {-10.0, 10.0})
      shape.mesh.x.push_back(Vec3(Real(x * width), Real(y[i] * width), Real(z[i] * width)));
  for (Index a = 0; a < 10; a += 2) {
    shape.mesh.triangles.push_back({a, a + 2, a + 1});
    shape.mesh.triangles.push_back({a + 1, a + 2, a + 3});
  }
  return shape;
}

// The bar of hard scenes: one part in a hundred of the size, whatever that is.
TEST(Ridges, BearCubesThatLieAndFall) {
  for (const rigid::Form form : {rigid::Form::mesh, rigid::Form::height_field})
    for (const double width : {0.01, 0.1, 1.0})
      for (const double lower : {0.005, 0.02, 0.05, 0.1})
        for (const double height : {0.0, 2.0}) {
          rigid::BodySpec ground;
          ground.motion = rigid::Motion::fixed;
          ground.shapes = {ridge(form, lower, width)};
          const Real half = Real(0.5 * width);
          RigidScene scene(
              {.bodies = {ground, validation::box(Vec3::Constant(half), Vec3(0, half + Real(height), 0))}});
          double sunk = 0;
          for (int k = 0; k < 120; ++k) {
            scene.step();
            sunk = std::max(sunk, 0.5 - double(scene.state.frames.x[1].y()) / width);
          }
          const auto which = testing::Message() << (form == rigid::Form::mesh ? "mesh " : "field ") << width
                                                << " m, " << lower << " lower, from " << height << " m";
          EXPECT_LT(sunk, 0.01) << which;
          EXPECT_NEAR(scene.state.frames.x[1].y() / width, 0.5, 0.01) << which;
          EXPECT_LT(scene.state.frames.v[1].norm(), scene.params.sleep_speed * std::sqrt(width)) << which;
        }
}

/// Facets of 20 cm, whose corners are up to `high` [m].
rigid::ShapeSpec rough_ground(rigid::Form form, unsigned seed, Real high = Real(0.01)) {
  constexpr int n = 31;
  constexpr Real spacing = Real(0.2);
  rigid::ShapeSpec shape;
  shape.shape = form;
  std::mt19937 rng(seed);
  std::vector<Real> heights;
  for (int i = 0; i < n * n; ++i) heights.push_back(high * Real(rng() % 1000) / 1000);
  if (form == rigid::Form::height_field) {
    shape.columns = n;
    shape.grid_spacing = spacing;
    shape.heights = std::move(heights);
    return shape;
  }
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column)
      shape.mesh.x.push_back(Vec3(Real(column - n / 2) * spacing, heights[std::size_t(n * row + column)],
                                  Real(row - n / 2) * spacing));
  for (Index row = 0; row + 1 < n; ++row)
    for (Index column = 0; column + 1 < n; ++column) {
      const Index a = n * row + column, b = a + 1, c = a + n, d = c + 1;
      shape.mesh.triangles.push_back({a, c, b});
      shape.mesh.triangles.push_back({b, c, d});
    }
  return shape;
}

// A box on a few of many corners, none of them as deep as another, comes to rest and sleeps. It may rock for
// a while, on two corners and now one, now another.
TEST(RoughGround, BearsBoxesThatComeToRest) {
  for (const rigid::Form form : {rigid::Form::mesh, rigid::Form::height_field}) {
    int awake = 0;
    for (unsigned seed = 0; seed < 16; ++seed) {
      rigid::BodySpec ground;
      ground.motion = rigid::Motion::fixed;
      ground.shapes = {rough_ground(form, seed)};
      const Real half = seed % 2 ? Real(0.15) : Real(0.5);
      RigidScene scene(
          {.bodies = {ground, validation::box(Vec3(Real(0.5), half, Real(0.5)),
                                              Vec3(Real(0.037) * Real(seed), half + Real(0.02), 0))}});
      scene.params.sleeping = true;
      for (int k = 0; k < 600; ++k) scene.step();
      awake += scene.state.rest.island[1] < 0;
      EXPECT_LT(scene.state.frames.v[1].norm(), 0.1) << seed;
    }
    EXPECT_LE(awake, 1) << (form == rigid::Form::mesh ? "mesh" : "field");
  }
}

// What is round and tossed onto facets smaller than itself, and as large, touches ridges with its ends, rims
// and sides. No contact does work on it but by what it turns within a step, and by pushing out what went in:
// less than it takes to raise it by its radius. It had gained up to half a million times that.
TEST(RoughGround, GivesNoEnergyToWhatIsRound) {
  std::uint64_t seed = 0;
  const auto random = [&](double low, double high) {
    return Real(low + (high - low) * double(uniform4(2, seed++, 0)[0]));
  };
  for (const rigid::Form form : {rigid::Form::cylinder, rigid::Form::cone, rigid::Form::capsule})
    for (unsigned toss = 0; toss < 60; ++toss) {
      const Real radius = random(0.05, 0.3), half = radius * random(0.2, 3);
      rigid::BodySpec ground, body;
      ground.motion = rigid::Motion::fixed;
      ground.shapes = {
          rough_ground(toss % 2 ? rigid::Form::mesh : rigid::Form::height_field, toss, Real(0.05))};
      body.shapes[0].shape = form;
      body.shapes[0].radius = radius, body.shapes[0].half_height = half;
      body.position.y() = std::hypot(radius, half) + radius * random(0.5, 3);
      body.rotation = Vec3(random(-180, 180), random(-180, 180), random(-180, 180));
      const Real speed = std::sqrt(Real(9.81) * radius), spin = 3 * speed / radius;
      body.velocity = Vec3(random(-1, 1), random(-1, 1), random(-1, 1)) * speed;
      body.angular_velocity = Vec3(random(-1, 1), random(-1, 1), random(-1, 1)) * spin;
      RigidScene scene({.bodies = {ground, body}});
      const double unit = 9.81 * double(radius) / double(scene.state.frames.inverse_mass[1]);
      double least = test::energy(scene);
      for (int k = 0; k < 240; ++k) {
        scene.step();
        if (scene.state.frames.x[1].cwiseAbs().maxCoeff() > 2) break;  // it is about to roll off the ground
        const double now = test::energy(scene);
        ASSERT_LT(now - least, unit) << int(form) << ' ' << toss << ' ' << k;
        least = std::min(least, now);
      }
    }
}

}  // namespace
}  // namespace plenum
