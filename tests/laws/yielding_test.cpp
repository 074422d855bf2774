// Nets and rigid bodies that push each other, within the nets' implicit solve.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "plenum/scene/scene.h"
#include "plenum/solvers/rigid/rigid.h"
#include "plenum/solvers/springs/springs.h"

namespace plenum { namespace {

constexpr double radius = 0.3;

/// A ball above the middle of a cloth of 2 x 2 m, held by its frame or free.
Scene ball_and_cloth(double density, double height, double stiffness, double fps, bool framed,
                     const std::string& gravity, double tolerance = 1e-3) {
  const auto text = [](double x) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%g", x);
    return std::string(digits);
  };
  const std::string pins =
      framed ? R"([{"where": "back"}, {"where": "front"}, {"where": "left"}, {"where": "right"}])" : "[]";
  return load_scene_text(R"({"world": {"fps": )" + text(fps) + R"(}, "systems": [
        {"type": "rigid", "name": "ball", "params": {"gravity": )" +
                             gravity + R"(}, "model": {"bodies": [
          {"shapes": [{"shape": "sphere", "radius": 0.3}], "density": )" +
                             text(density) + R"(, "position": [0, )" + text(height) + R"(, 0]}]}},
        {"type": "springs", "name": "cloth", "params": {"air_density": 0, "tolerance": )" +
                             text(tolerance) + R"(, "gravity": )" + gravity + R"(}, "model": {"parts": [
          {"type": "cloth", "size_x": 2, "size_z": 2, "cells_x": 30, "cells_z": 30, "structural_stiffness": )" +
                             text(stiffness) + R"(, "pins": )" + pins + R"(}]}}]})",
                         "ball.json");
}

TEST(SlowYielding, ABallThatFallsOnFramedClothIsCaughtAndThrownNoHigherThanItWas) {
  // From foam, a tenth as heavy as it would need to be to be told from the cloth, to what stretches it far.
  for (const double fps : {30.0, 60.0})
    for (const double density : {5.0, 20.0, 200.0, 1000.0})
      for (const double stiffness : {1e3, 1e4, 1e5}) {
        if (density / stiffness > 0.5) continue;  // its meshes would open as wide as the ball
        SCOPED_TRACE(std::to_string(density) + " kg/m^3, " + std::to_string(stiffness) + " N/m, " +
                     std::to_string(fps) + " Hz");
        const double height = 1.3;
        Scene scene = ball_and_cloth(density, height, stiffness, fps, true, "[0, -9.81, 0]");
        auto& ball = dynamic_cast<SystemOf<Rigid>&>(*scene.world.find("ball"));
        auto& cloth = dynamic_cast<SystemOf<Springs>&>(*scene.world.find("cloth"));
        double highest = 0, lowest = height;
        for (int f = 0; f < int(4 * fps); ++f) {
          ASSERT_TRUE(scene.world.step_frame().ok);
          const double y = double(ball.state.frames.x[0].y());
          if (y > lowest) highest = std::max(highest, y);  // on its way back
          lowest = std::min(lowest, y);
        }
        EXPECT_LE(highest, height);
        // The cloth's middle is still below its centre.
        const Vec3& centre = ball.state.frames.x[0];
        int below = 0, above = 0;
        for (const Vec3& x : cloth.state.particles.x)
          if (std::hypot(x.x() - centre.x(), x.z() - centre.z()) < Real(radius / 2))
            ++(x.y() < centre.y() ? below : above);
        EXPECT_EQ(above, 0);
        EXPECT_GT(below, 4);
      }
}

TEST(SlowYielding, ExplicitNetsThrowNoBallHigherThanItFell) {
  // They divide a frame into hundreds of parts, in each of which contact answers where the ball then is.
  const double fps = 30;
  for (const double density : {5.0, 50.0}) {
    const double height = 1.2;
    Scene scene = ball_and_cloth(density, height, 5e3, fps, true, "[0, -9.81, 0]");
    auto& ball = dynamic_cast<SystemOf<Rigid>&>(*scene.world.find("ball"));
    auto& cloth = dynamic_cast<SystemOf<Springs>&>(*scene.world.find("cloth"));
    cloth.parameters.integrator = Springs::Integrator::velocity_verlet;
    double highest = 0, lowest = height;
    for (int f = 0; f < int(1.2 * fps); ++f) {
      ASSERT_TRUE(scene.world.step_frame().ok);
      const double y = double(ball.state.frames.x[0].y());
      if (y > lowest) highest = std::max(highest, y);  // on its way back
      lowest = std::min(lowest, y);
    }
    EXPECT_GT(highest, radius) << density;
    EXPECT_LE(highest, height) << density;
  }
}

TEST(Yielding, ABallThatStrikesAFreeClothKeepsTheirMomentum) {
  for (const double density : {2.0, 20.0, 500.0}) {
    Scene scene = ball_and_cloth(density, 0.5, 1e4, 60, false, "[0, 0, 0]", 1e-6);
    auto& ball = dynamic_cast<SystemOf<Rigid>&>(*scene.world.find("ball"));
    auto& cloth = dynamic_cast<SystemOf<Springs>&>(*scene.world.find("cloth"));
    ball.state.frames.v[0] = Vec3(0, -4, Real(0.5));
    const auto momentum = [&] {
      Vector3<double> p = ball.state.frames.v[0].cast<double>() / double(ball.state.frames.inverse_mass[0]);
      for (std::size_t i = 0; i < cloth.model.mass.size(); ++i)
        p += double(cloth.model.mass[i]) * cloth.state.particles.v[i].cast<double>();
      return p;
    };
    const auto energy = [&] {
      double e =
          ball.state.frames.v[0].cast<double>().squaredNorm() / double(ball.state.frames.inverse_mass[0]);
      for (std::size_t i = 0; i < cloth.model.mass.size(); ++i)
        e += double(cloth.model.mass[i]) * cloth.state.particles.v[i].cast<double>().squaredNorm();
      return e / 2;
    };
    const Vector3<double> before = momentum();
    const double start = energy();
    double most = 0;
    for (int f = 0; f < 60; ++f) {
      ASSERT_TRUE(scene.world.step_frame().ok);
      most = std::max(most, energy());
    }
    // What the linear solve leaves is momentum that the net loses: a part of the blow that adds up over
    // steps.
    EXPECT_LT((momentum() - before).norm(), 1e-3 * before.norm()) << density;
    EXPECT_LE(most, 1.001 * start) << density;
  }
}

}}  // namespace plenum::<anonymous>
