// How long steps and sub-steps are where bodies are fast for their size, or spin fast.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "../../validation/rigid_scenes.h"
#include "plenum/base/random.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Form;
using validation::RigidScene;

double substeps_of(const Report& report) {
  for (const Report::Measure& m : report.measures())
    if (m.name == std::string_view("sub-steps")) return m.value;
  return 0;
}

/// Steps as a world does, in as many parts as max_dt() asks for; returns that number.
int step_in_parts(RigidScene& scene, double dt = 1.0 / 60) {
  const double most = double(Rigid::max_dt(scene.model, scene.state, scene.params));
  const int parts = std::max(1, static_cast<int>(std::ceil(dt / most)));
  for (int k = 0; k < parts; ++k) scene.step(dt / parts);
  return parts;
}

/// [J] Of body 1, its speed that of the middle of a sub-step: symplectic Euler keeps that in free fall.
double energy(const RigidScene& scene, double h) {
  const Frames& f = scene.state.frames;
  const double mass = 1 / double(f.inverse_mass[1]);
  const Vector3<double> v = f.v[1].cast<double>(), w = scene.body_spin(1),
                        inertia = scene.model.inertia[1].cast<double>();
  return mass * (0.5 * v.squaredNorm() - 0.5 * h * 9.81 * v.y() + 9.81 * double(f.x[1].y())) +
         0.5 * inertia.dot(w.cwiseAbs2());
}

// Tops and rods that turn by a radian and more in a default sub-step. Cones on their tips gained 3 to 16 % of
// their energy by impulses that were forgotten though their arms stay, and rods that rolled lay by 0.7 of
// their radius in the floor. Energy may differ by what free fall over two sizes makes of it where the number
// of sub-steps changes, m g v h / 2, and by rounding.
TEST(RigidPace, WhatSpinsFastGainsNoEnergy) {
  for (const bool cone : {true, false})
    for (const double size : {0.01, 0.03})
      for (const double tilt : {0.0, 8.0, 40.0})
        for (const double spin : {40.0, 60.0, 100.0}) {
          BodySpec body;
          rigid::ShapeSpec& shape = body.shapes[0];
          shape.shape = cone ? Form::cone : Form::cylinder;
          shape.radius = Real((cone ? 0.5 : 0.1) * size), shape.half_height = Real((cone ? 0.4 : 0.5) * size);
          body.rotation = Vec3(Real((cone ? 180 : 0) - tilt), 0, 0);
          body.position = Vec3(0, Real(0.9 * size), 0);
          body.friction = Real(cone ? 0.4 : 0.9);
          body.angular_velocity = Vec3(0, Real(spin / std::sqrt(size)), 0);
          RigidScene scene({.bodies = {validation::floor_box(), body}});
          const double mass = 1 / double(scene.state.frames.inverse_mass[1]);
          const double start = energy(scene, 1.0 / 480);
          const double fall = mass * 9.81 * std::sqrt(2 * 9.81 * 2 * size) / 960;
          double most = 0, lowest = size;
          for (int k = 0; k < 240; ++k) {
            const double taken = substeps_of(scene.step());
            most = std::max(most, energy(scene, 1 / (60 * taken)) - start);
            if (k > 120) lowest = std::min(lowest, double(scene.state.frames.x[1].y()));
          }
          EXPECT_LT(most, fall + 1e-4 * start) << cone << " " << size << " " << tilt << " " << spin;
          // A rod on its side is its radius high, and nothing lower but what is on its base or tip.
          if (!cone) {
            EXPECT_GT(lowest, 0.08 * size) << size << " " << tilt << " " << spin;
          }
        }
}

TEST(RigidPace, WhatTouchesTurnsByHalfARadianInASubStep) {
  BodySpec rod;
  rod.shapes[0].half_extents = Vec3(Real(0.05), Real(0.005), Real(0.005));
  rod.position = Vec3(0, Real(0.005), 0);
  const auto taken = [&](double spin) {
    rod.angular_velocity = Vec3(0, Real(spin), 0);
    return substeps_of(RigidScene({.bodies = {validation::floor_box(), rod}}).step());
  };
  EXPECT_EQ(taken(200), 8);
  EXPECT_EQ(taken(290), 10);   // 290 / 60 / 0.5
  EXPECT_EQ(taken(5000), 32);  // at most four times as many
  rod.position = Vec3(0, 1, 0);
  EXPECT_EQ(taken(5000), 8);  // what is in the air touches nothing
  BodySpec ball;
  ball.shapes[0].shape = Form::sphere, ball.shapes[0].radius = Real(0.02);
  ball.position = Vec3(0, Real(0.02), 0), ball.angular_velocity = Vec3(0, 0, 1000);
  EXPECT_EQ(substeps_of(RigidScene({.bodies = {validation::floor_box(), ball}}).step()), 8);
}

TEST(RigidPace, WhatIsFastInACrowdIsSteppedInParts) {
  const auto two = [](double size, double speed) {
    Rigid::Spec spec;
    for (const double side : {-1.0, 1.0}) {
      spec.bodies.push_back(
          validation::box(Vec3::Constant(Real(size / 2)), Vec3(Real(0.5005 * side * size), 5, 0)));
      spec.bodies.back().velocity = Vec3(Real(-0.5 * side * speed), 10, 0);
    }
    return spec;
  };
  const auto limit = [](RigidScene& scene) {
    return double(Rigid::max_dt(scene.model, scene.state, scene.params));
  };
  // Before it is asked it knows of no neighbours; both fly at 10 m/s besides, which does not count.
  RigidScene slow(two(0.1, 1)), fast(two(0.1, 12)), faster(two(0.01, 100));
  for (RigidScene* scene : {&slow, &fast, &faster}) {
    scene->params.gravity.setZero();
    EXPECT_NEAR(limit(*scene), 1.0 / 30, 1e-4);
    scene->step(1e-8);
    scene->state.dt = Real(1.0 / 60);  // as if it had been a frame
  }
  EXPECT_NEAR(limit(slow), 1.0 / 30, 1e-4);
  EXPECT_NEAR(limit(fast), 0.1 / 12, 1e-5);  // its size in a step
  EXPECT_NEAR(limit(faster), 1.0 / 480, 1e-6);
  // Back to whole frames, by twice as long steps each time.
  faster.state.frames.v.assign(2, Vec3::Zero());
  faster.state.dt = Real(1.0 / 480);
  EXPECT_NEAR(limit(faster), 1.0 / 240, 1e-5);
}

// Eighty small boxes fall by up to a metre into a bin of 4 cm, at up to 4 m/s, 7 of their sizes in a frame.
// In whole frames they ended up by 0.03 of their size in each other, compounds of four by half of it, and
// what was driven into the floor left the bin. Overlap at rest: 1 % of the size, but for a pair in two
// hundred.
TEST(RigidPace, SmallBoxesPouredIntoABinKeepApart) {
  constexpr double size = 0.01;
  std::uint64_t seed = 0;
  const auto random = [&](double low, double high) {
    return Real(low + (high - low) * double(uniform4(77, seed++, 1)[0]));
  };
  const auto at = [&](double x, double y, double z) -> Vec3 {
    return Vec3(Real(x), Real(y), Real(z)) * Real(size);
  };
  Rigid::Spec spec{.bodies = {validation::fixed_box(at(4, 1, 4), at(0, -1, 0))}};
  for (const double side : {-1.0, 1.0}) {
    spec.bodies.push_back(validation::fixed_box(at(1, 60, 4), at(3 * side, 60, 0)));
    spec.bodies.push_back(validation::fixed_box(at(4, 60, 1), at(0, 60, 3 * side)));
  }
  for (int i = 0; i < 80; ++i) {
    const Vec3 half(random(0.15, 0.4), random(0.1, 0.4), random(0.1, 0.4));
    BodySpec body = i % 2 ? validation::box_of_four(Real(2 * size) * half, Vec3::Zero())
                          : validation::box(Real(size) * half, Vec3::Zero());
    body.orientation = Vec4(random(-1, 1), random(-1, 1), random(-1, 1), random(-1, 1)).normalized();
    body.position = Real(size) * Vec3(random(-1, 1), Real(1.2 + 1.2 * i), random(-1, 1));
    body.friction = random(0.2, 1);
    spec.bodies.push_back(body);
  }
  RigidScene scene(spec);
  int parts = 0;
  for (int k = 0; k < 360; ++k) parts += step_in_parts(scene);
  EXPECT_GT(parts, 400);
  EXPECT_LT(parts, 720);
  const Rigid::Contacts& c = scene.state.contacts;
  std::size_t deep = 0;
  for (std::size_t k = 0; k < c.pair.size(); ++k)
    for (int p = 0; p < c.count[k]; ++p)
      if (c.separation[k][p] < Real(-0.01 * size)) {
        ++deep;
        break;
      }
  EXPECT_LE(200 * deep, c.pair.size());
  for (std::size_t i = 5; i < scene.state.frames.size(); ++i) {
    const Vec3 x = scene.state.frames.x[i] / Real(size);
    EXPECT_TRUE(x.y() > 0 && std::abs(x.x()) < 2 && std::abs(x.z()) < 2) << i << " is at " << x.transpose();
  }
}

// Loads are forces: a stack does not feel that the next step is an eighth as long, awake or waking. Its boxes
// would be thrown up by all that lies on them times seven eighths of the old step, at 0.14 m/s each at least;
// a quarter of that is left to springs, which are firmer in short steps. Where it is: the overlap that is
// left alone.
TEST(RigidPace, StacksDoNotFeelThatStepsChange) {
  for (const bool sleeps : {false, true}) {
    Rigid::Spec spec{.bodies = {validation::floor_box()}};
    for (int i = 0; i < 6; ++i)
      spec.bodies.push_back(validation::box(Vec3::Constant(Real(0.5)), Vec3(0, Real(0.5 + i), 0)));
    RigidScene scene(spec);
    scene.params.sleeping = sleeps;
    for (int k = 0; k < 300; ++k) scene.step();
    ASSERT_EQ(sleeps, scene.state.rest.island[6] >= 0);
    const std::vector<Vec3> x = scene.state.frames.x;
    scene.params.sleeping = false;
    for (const double dt : {1.0 / 480, 1.0 / 480, 1.0 / 60, 1.0 / 60, 1.0 / 240}) {
      scene.step(dt);
      for (std::size_t i = 1; i <= 6; ++i) {
        EXPECT_LT(scene.state.frames.v[i].norm(), Real(0.035)) << sleeps << " " << dt << ", box " << i;
        EXPECT_LT((scene.state.frames.x[i] - x[i]).norm(), Real(1e-4)) << sleeps << " " << dt;
      }
    }
  }
}

// Where a compound lies aslant on contacts that yield, its faces are still those of one plane. Taken one by
// one they were loaded by chance, and let a body of a centimetre creep by 0.3 of its size in a minute on a
// third of the slope that friction bears. Less than what may overlap, in 20 s.
TEST(RigidPace, SmallCompoundsLieStillOnSlopes) {
  constexpr double friction = 0.5, degree = 3.14159265358979 / 180;
  for (const double size : {0.01, 0.1})
    for (const double angle : {8 * degree, 24 * degree}) {
      const BodySpec plane = validation::slope(angle, friction, 1);
      BodySpec body =
          validation::box_of_four(Real(size) * Vec3(1, Real(0.5), 1),
                                  Real(0.25 * size) * Vec3(Real(std::sin(angle)), Real(std::cos(angle)), 0));
      body.friction = plane.friction, body.rotation = plane.rotation;
      RigidScene scene({.bodies = {plane, body}});
      for (int k = 0; k < 60; ++k) scene.step();
      const Vec3 x = scene.state.frames.x[1];
      for (int k = 0; k < 1200; ++k) scene.step();
      const Vector3<double> gone = (scene.state.frames.x[1] - x).cast<double>();
      EXPECT_LT(std::abs(gone.dot(validation::down(angle))), 0.01 * size) << size << " " << angle / degree;
    }
}

}}  // namespace plenum
