// Slender bodies that spin on floors, wheels that roll, and small bodies that begin deep in large ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/base/random.h"
#include "rigid/joints.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Form;
using validation::RigidScene;

// Its arms turn with it as its moments of inertia do. A stick of 1 m that lies flat keeps its spin.
TEST(RigidSpin, OfWhatLiesFlatIsKept) {
  for (const bool capsule : {false, true})
    for (const double spin : {5.0, 20.0, 40.0}) {
      BodySpec floor = validation::floor_box(),
               stick = validation::box(Vec3(Real(0.5), Real(0.02), Real(0.02)), Vec3(0, Real(0.02), 0));
      if (capsule) {
        stick.shapes[0].shape = Form::capsule, stick.shapes[0].radius = Real(0.02);
        stick.shapes[0].half_height = Real(0.48), stick.rotation = Vec3(0, 0, 90);
      }
      floor.friction = stick.friction = 0;
      stick.angular_velocity = Vec3(0, Real(spin), 0);
      RigidScene scene({.bodies = {floor, stick}});
      for (int k = 0; k < 120; ++k) {
        scene.step();
        ASSERT_NEAR(scene.state.frames.w[1].norm(), spin, 0.01 * spin) << capsule << " " << k;
        ASSERT_LT(scene.state.frames.x[1].y(), 0.021) << capsule << " " << spin << " " << k;
      }
    }
}

TEST(RigidRolling, WheelsAndCoinsKeepTheirSpeed) {
  for (const Form floor_form : {Form::plane, Form::box})
    for (const double half_width : {0.1, 0.02})
      for (const double speed : {1.0, 5.0, 20.0}) {
        BodySpec floor = validation::fixed_box(Vec3(500, 1, 50), Vec3(0, -1, 0)), wheel;
        if (floor_form == Form::plane) floor.shapes[0].shape = Form::plane, floor.position.setZero();
        wheel.shapes[0].shape = Form::cylinder, wheel.shapes[0].radius = Real(0.3);
        wheel.shapes[0].half_height = Real(half_width);
        wheel.rotation = Vec3(90, 0, 0), wheel.position = Vec3(0, Real(0.3), 0);
        wheel.velocity = Vec3(Real(speed), 0, 0), wheel.angular_velocity = Vec3(0, 0, Real(-speed / 0.3));
        wheel.friction = floor.friction = 1;
        RigidScene scene({.bodies = {floor, wheel}});
        for (int k = 0; k < 120; ++k) scene.step();
        EXPECT_NEAR(scene.state.frames.v[1].x(), speed, 0.002 * speed) << half_width;
      }
}

// Cones that lie on their sides roll about their apexes, by symmetry at a constant rate, whatever their shape
// and size: contacts and friction are symmetric in time to the first order of a sub-step, and what is left is
// a part in a thousand; in the smallest, rounding of places.
TEST(RigidRolling, ConesAboutTheirApexesKeepTheirEnergy) {
  for (const double size : {1.0, 0.1})
    for (const double radius : {0.15, 0.25, 0.3, 0.4}) {
      BodySpec floor = validation::floor_box(), cone;
      floor.friction = cone.friction = Real(0.8);
      cone.shapes[0].shape = Form::cone;
      cone.shapes[0].radius = Real(radius * size), cone.shapes[0].half_height = Real(0.3 * size);
      cone.position = Vec3(0, Real(0.3 * size), 0), cone.rotation = Vec3(-69, 0, 0);
      cone.velocity = Vec3(Real(-std::sqrt(size)), 0, 0);
      cone.angular_velocity = Vec3(0, Real(1 / std::sqrt(size)), Real(5 / std::sqrt(size)));
      RigidScene scene({.bodies = {floor, cone}});
      scene.params.sleeping = false;
      for (int k = 0; k < 300; ++k) scene.step();  // dropped, it comes to roll
      const auto kinetic = [&] {
        const double height = scene.state.frames.x[1].y(),
                     mass = 1 / double(scene.state.frames.inverse_mass[1]);
        return test::energy(scene) - mass * 9.81 * height;
      };
      const double first = test::energy(scene), rolls = kinetic();
      ASSERT_GT(scene.state.frames.w[1].norm(), 1);
      double most = first;
      for (int k = 0; k < 3600; ++k) {
        scene.step();
        most = std::max(most, test::energy(scene));
      }
      EXPECT_LT(most - first, 0.005 * rolls) << radius << ' ' << size;
      EXPECT_GT(test::energy(scene) - first, -0.005 * rolls) << radius << ' ' << size;
    }
}

// Coins that roll on their rims, upright and leaning, with and without nutation: neither which sample of the
// rim is the lowest nor that their spin vanishes at times does any work. As of cones, contacts and friction
// are symmetric in time to the first order of a sub-step; a part in a hundred is left at 240 of these a
// second.
TEST(RigidRolling, CoinsOnTheirRimsKeepTheirEnergy) {
  struct Case {
    double lean, spin, rate;
  };
  for (const auto [lean, spin, rate] : {Case{70, 10, 60}, {70, 3, 60}, {25, 10, 60}, {70, 3, 30}}) {
    BodySpec floor = validation::fixed_box(Vec3(500, 1, 500), Vec3(0, -1, 0)), coin;
    floor.friction = coin.friction = 2;
    const Real angle = Real(lean * std::numbers::pi / 180), radius = Real(0.3), half = Real(0.03);
    coin.shapes[0].shape = Form::cylinder;
    coin.shapes[0].radius = radius, coin.shapes[0].half_height = half;
    const Vec3 axis(0, std::cos(angle), std::sin(angle)), down(0, -std::sin(angle), std::cos(angle));
    const Vec3 to_contact = radius * down - half * axis;
    coin.rotation = Vec3(Real(lean), 0, 0), coin.position.y() = -to_contact.y();
    coin.angular_velocity = Real(spin) * axis, coin.velocity = -coin.angular_velocity.cross(to_contact);
    RigidScene scene({.bodies = {floor, coin}});
    scene.step(1 / rate);
    const double first = test::energy(scene);
    for (int k = 0; k < int(20 * rate); ++k) {
      scene.step(1 / rate);
      ASSERT_NEAR(test::energy(scene) / first, 1, 0.01) << lean << ' ' << spin << ' ' << rate << ' ' << k;
    }
    EXPECT_GT(scene.state.frames.w[1].norm(), 1);
  }
}

// What is tossed onto a floor, spins, lands on its rim and comes to lie never has more energy than it began
// with: coins of two centimetres, flat cones, cans.
TEST(RigidRolling, TossedCoinsAndConesGainNothing) {
  struct Kind {
    Form form;
    double radius, flatness;
  };
  std::uint64_t seed = 0;
  const auto random = [&](double low, double high) {
    return Real(low + (high - low) * double(uniform4(1, seed++, 0)[0]));
  };
  for (const auto [form, radius, flatness] : {Kind{Form::cylinder, 0.02, 0.1},
                                              {Form::cone, 0.3, 0.25},
                                              {Form::cone, 0.05, 0.5},
                                              {Form::cylinder, 0.1, 1}})
    for (int toss = 0; toss < 120; ++toss) {
      const double speed = std::sqrt(9.81 * radius), turn = 3 * speed / radius;
      BodySpec floor = validation::floor_box(), body;
      floor.friction = body.friction = Real(0.5);
      body.shapes[0].shape = form;
      body.shapes[0].radius = Real(radius), body.shapes[0].half_height = Real(flatness * radius);
      body.position.y() = random(1.5, 4) * Real(radius);
      body.rotation = Vec3(random(-180, 180), random(-180, 180), random(-180, 180));
      body.velocity = Vec3(random(-1, 1), random(-1, 1), random(-1, 1)) * Real(speed);
      body.angular_velocity = Vec3(random(-1, 1), random(-1, 1), random(-1, 1)) * Real(turn);
      RigidScene scene({.bodies = {floor, body}});
      const double first = test::energy(scene);
      for (int k = 0; k < 120; ++k) {
        scene.step();
        ASSERT_LT(test::energy(scene), 1.001 * first) << radius << ' ' << toss << ' ' << k;
      }
    }
}

// A step reads nothing but model, state and parameters: scratch memory that an earlier step has used changes
// no bit, nor what an earlier contact of another kind has left where this one now is.
TEST(RigidRolling, ScratchMemoryChangesNothing) {
  std::vector<BodySpec> bodies = {validation::floor_box()};
  for (int i = 0; i < 12; ++i) {
    BodySpec& body = bodies.emplace_back();
    body.shapes[0].shape = i % 3 == 0 ? Form::cone : i % 3 == 1 ? Form::cylinder : Form::box;
    body.shapes[0].radius = Real(0.4), body.shapes[0].half_height = Real(i % 2 ? 0.05 : 0.25);
    body.shapes[0].half_extents = Vec3(Real(0.3), Real(0.1), Real(0.2));
    body.position = Vec3(Real(i % 4 * 0.7), Real(0.5 + 0.5 * (i / 4)), Real(i % 2 * 0.4));
    body.rotation = Vec3(Real(40 * i), 0, Real(25 * i));
    body.velocity = Vec3(Real(i % 5 - 2), 0, 1);
    body.angular_velocity = Vec3(Real(i - 6), 2, Real(3 * (i % 4)));
  }
  RigidScene kept({.bodies = bodies}), fresh({.bodies = bodies});
  for (int k = 0; k < 300; ++k) {
    kept.step(1.0 / 30);
    fresh.workspace = {};
    fresh.step(1.0 / 30);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      ASSERT_EQ(kept.state.frames.v[i], fresh.state.frames.v[i]) << k << ' ' << i;
      ASSERT_EQ(kept.state.frames.w[i], fresh.state.frames.w[i]) << k << ' ' << i;
    }
  }
}

// Where all is known of a small body's friction but for rounding, no speed is made of that.
// One end in a shoulder, the other rolls on the floor about it: by symmetry at a constant rate.
TEST(RigidRolling, ALimbAboutItsShoulderKeepsItsSpeed) {
  const double radius = 0.05, half = 0.25, lean = 0.6;  // [m], [m] of the line between its ends' middles, rad
  const Vector3<double> along(std::cos(lean), std::sin(lean), 0), hand(0, radius, 0),
      shoulder = hand + 2 * half * along;
  for (const double spin : {0.2, 1.0}) {
    BodySpec limb;
    limb.shapes[0].shape = Form::capsule;
    limb.shapes[0].radius = Real(radius), limb.shapes[0].half_height = Real(half);
    limb.position = (hand + half * along).cast<Real>();
    limb.orientation =
        Quaternion<double>::FromTwoVectors(Vector3<double>::UnitY(), along).coeffs().cast<Real>();
    RigidScene scene({.bodies = {validation::floor_box(), limb},
                      .joints = {test::joint(rigid::JointType::ball, "", "1", shoulder.cast<Real>())}});
    // About the line from where it touches to the shoulder.
    scene.state.frames.w[1] = (spin * shoulder.normalized()).cast<Real>();
    scene.state.frames.v[1] = scene.state.frames.w[1].cross(Vec3((hand + half * along).cast<Real>()));
    for (int k = 0; k < 1200; ++k) scene.step();
    EXPECT_NEAR(scene.state.frames.w[1].norm(), spin, 0.02 * spin);
  }
}

TEST(RigidOverlap, OfSmallBodiesDeepInLargeOnesIsNoExplosion) {
  for (const rigid::Motion motion : {rigid::Motion::dynamic, rigid::Motion::fixed})
    for (const double ratio : {20.0, 50.0, 200.0, 1000.0})
      for (const bool centred : {true, false}) {
        const Vec3 half(Real(0.3), Real(0.4), Real(0.2));
        BodySpec large = validation::box(half, Vec3::Zero());
        large.motion = motion;
        const BodySpec small =
            validation::box(half / Real(ratio), centred ? Vec3(0, 0, 0) : Vec3(Real(0.05), Real(0.02), 0));
        RigidScene scene({.bodies = {large, small}});
        scene.params.gravity.setZero();
        for (int k = 0; k < 60; ++k) {
          scene.step();
          ASSERT_LT(scene.state.frames.v[1].norm(), 10) << ratio << " " << k;
        }
      }
}

}}  // namespace plenum
