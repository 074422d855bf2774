// What falls fast and straight comes down as it fell, on every kind of floor; what is slender as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "rigid/scene_laws.h"

namespace plenum { namespace {

using validation::RigidScene;

rigid::BodySpec ground(rigid::Form form) {
  if (form == rigid::Form::box) return validation::floor_box();
  rigid::BodySpec body;
  body.motion = rigid::Motion::fixed;
  rigid::ShapeSpec& shape = body.shapes[0];
  shape = {};
  shape.shape = form;
  constexpr int n = 21;
  constexpr double spacing = 0.13;
  if (form == rigid::Form::height_field) {
    shape.columns = n, shape.grid_spacing = Real(spacing);
    shape.heights.assign(std::size_t(n) * n, Real(0));
  }
  if (form == rigid::Form::mesh) {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        shape.mesh.x.push_back(Vec3(Real((i - n / 2) * spacing), 0, Real((j - n / 2) * spacing)));
    for (Index j = 0; j + 1 < n; ++j)
      for (Index i = 0; i + 1 < n; ++i) {
        const Index a = j * n + i;
        shape.mesh.triangles.push_back({a, a + n, a + 1});
        shape.mesh.triangles.push_back({a + 1, a + n, a + n + 1});
      }
  }
  return body;
}

constexpr rigid::Form grounds[] = {rigid::Form::box, rigid::Form::plane, rigid::Form::mesh,
                                   rigid::Form::height_field};

// A body without spin that meets a plane with the whole of a face gets none (Newton-Euler: no couple acts).
TEST(Falls, PostsStayUprightWhereTheyFallStraight) {
  for (const rigid::Form form : grounds)
    for (const double half : {0.05, 0.1, 0.2})
      for (const double height : {1.0, 2.0, 10.0}) {
        RigidScene scene({.bodies = {ground(form),
                                     validation::box(Vec3(Real(half), Real(0.5), Real(half)),
                                                     Vec3(Real(0.0137), Real(0.5 + height), Real(0.0211)))}});
        double spin = 0, lowest = 1;
        const int frames = static_cast<int>(60 * (std::sqrt(2 * height / 9.81) + 1));
        for (int k = 0; k < frames; ++k) {
          scene.step();
          spin = std::max(spin, double(scene.state.frames.w[1].norm()));
          lowest = std::min(lowest, double(scene.state.frames.x[1].y()) - 0.5);
        }
        const auto which = testing::Message()
                           << names_of(form)[std::size_t(form)] << " " << half << " m from " << height;
        EXPECT_LT(spin, 0.01) << which;
        EXPECT_GT(lowest, -0.01 * 2 * half) << which;  // the bar of hard scenes, of the width
        EXPECT_GT((scene.state.frames.rotation(1) * Vec3::UnitY()).y(), 0.9999) << which;
      }
}

// Rods of a centimetre at 10 m/s would turn by hundreds of radians in a sub-step as they strike.
TEST(Falls, NeedlesGainNoEnergy) {
  for (const rigid::Form form : {rigid::Form::box, rigid::Form::plane, rigid::Form::height_field})
    for (const bool level : {true, false})
      for (const double length : {0.01, 0.05})
        for (const double thickness : {0.04, 0.1}) {
          std::mt19937 random(5);
          std::uniform_real_distribution<double> part;
          for (int k = 0; k < 25; ++k) {
            rigid::BodySpec rod = validation::box(
                Vec3(Real(0.5 * length), Real(0.5 * thickness * length), Real(0.5 * thickness * length)),
                Vec3(Real(0.1 * part(random)), Real(0.3 + 6 * part(random)), Real(0.1 * part(random))));
            if (!level)
              rod.rotation =
                  Vec3(Real(360 * part(random)), Real(360 * part(random)), Real(360 * part(random)));
            RigidScene scene({.bodies = {ground(form), rod}});
            const double start = test::energy(scene);
            const int frames = static_cast<int>(60 * std::sqrt(2 * double(rod.position.y()) / 9.81)) + 10;
            for (int f = 0; f < frames; ++f) {
              scene.step();
              ASSERT_LT(test::energy(scene), 1.001 * start)
                  << names_of(form)[std::size_t(form)] << (level ? " level " : " ") << length << " m, "
                  << thickness << " of it thick, drop " << k << " frame " << f;
            }
          }
        }
}

}  // namespace
}  // namespace plenum
