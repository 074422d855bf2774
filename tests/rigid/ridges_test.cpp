// Flat bodies on ridges of meshes and height fields: what bears is felt, not the ground that hovers below.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

}  // namespace
}  // namespace plenum
