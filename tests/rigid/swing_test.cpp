// What swings on an edge, a peg or in each other: contacts whose normals turn with a body that moves.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "plenum/base/real.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Form;
using rigid::ShapeSpec;
using test::energy;
using validation::RigidScene;
constexpr double pi = std::numbers::pi;

enum class Peg { capsule, ridge };

/// Where the middle of a frame's upper bar touches the peg, above the peg's axis [m].
double top_of(Peg peg) {
  return peg == Peg::capsule ? 0.05 : 0.05 * std::numbers::sqrt2;
}

/// A square frame of four bars, 0.8 m wide, 0.1 m thick, `deep` m deep, that hangs by its upper bar on a peg
/// along z, tilted by `angle` about that.
Rigid::Spec frame_on_peg(Peg form, double angle, double friction, double deep) {
  BodySpec peg;
  peg.motion = rigid::Motion::fixed;
  peg.friction = Real(friction);
  ShapeSpec& on = peg.shapes[0];
  if (form == Peg::capsule) {
    on.shape = Form::capsule, on.radius = Real(0.05), on.half_height = 1, on.rotation = Vec3(90, 0, 0);
  } else {
    on.shape = Form::box, on.half_extents = Vec3(Real(0.05), Real(0.05), 1), on.rotation = Vec3(0, 0, 45);
  }
  BodySpec frame;
  frame.friction = Real(friction);
  frame.shapes.clear();
  const auto bar = [&](const Vec3& half, const Vec3& at) {
    ShapeSpec s;
    s.shape = Form::box, s.half_extents = half, s.position = at;
    frame.shapes.push_back(s);
  };
  const Real z = Real(deep / 2), wide = Real(0.4), thin = Real(0.05), off = Real(0.35), high = Real(0.3);
  for (const Real side : {Real(-1), Real(1)}) {
    bar(Vec3(wide, thin, z), Vec3(0, side * off, 0));
    bar(Vec3(thin, high, z), Vec3(side * off, 0, 0));
  }
  // The lower face of the upper bar is 0.3 m above the frame's middle, and on the peg.
  const double below = form == Peg::capsule ? 0.3 - top_of(form) : 0.3 - top_of(form) * std::cos(angle);
  const double along = form == Peg::capsule ? 0 : -top_of(form) * std::sin(angle);
  frame.position = Vec3(Real(below * std::sin(angle) + along * std::cos(angle)),
                        Real(-below * std::cos(angle) + along * std::sin(angle)), 0);
  frame.rotation = Vec3(0, 0, Real(angle * 180 / pi));
  return {.bodies = {peg, frame}};
}

// On a knife's edge a frame is a pendulum; on a peg it rolls, and its middle is farther below the peg's axis.
// Rocking of a flat face on a cylinder of radius R, with the middle d below the face and k the radius of
// gyration: w^2 = g (R + d) / (k^2 + d^2) (Den Hartog 1948, "Mechanics", for bodies above: d < 0).
TEST(RigidSwing, AFrameOnAPegSwingsInTheTimeOfTheClosedForm) {
  for (const Peg peg : {Peg::capsule, Peg::ridge})
    for (const double angle : {0.05, 0.2}) {
      RigidScene scene(frame_on_peg(peg, angle, 2, 0.6));
      const double radius = peg == Peg::capsule ? 0.05 : 0, d = 0.3;
      const double gyration2 =
          double(scene.model.inertia[1].z()) * double(scene.state.frames.inverse_mass[1]);
      const double period = 2 * pi * std::sqrt((gyration2 + d * d) / (9.81 * (radius + d)));
      // From one passage through the middle to the twentieth.
      constexpr double dt = 1.0 / 60;
      double last = angle, first = -1, passed = 0;
      int passages = 0;
      for (int k = 1; passages < 21; ++k) {
        ASSERT_LT(k, 4000);
        scene.step(dt);
        const Vec4& q = scene.state.frames.q[1];
        const double now = 2 * std::atan2(double(q[2]), double(q[3]));
        if ((last > 0) != (now > 0)) {
          passed = dt * (k - now / (now - last));
          if (passages++ == 0) first = passed;
        }
        last = now;
      }
      // An arc of 0.2 rad takes a^2/16 = 0.0025 longer than a small one; the first step lets the frame down
      // by the slop of its contacts.
      EXPECT_NEAR((passed - first) / 10 / period, 1, 0.005) << int(peg) << " from " << angle;
    }
}

// A normal kept over a step pushes a little along the way that the contact turns: by explicit Euler's
// measure, w^2 dt/2 of the energy a second, which takes a frame over the peg in half a minute.
TEST(RigidSwing, FramesOnPegsGainNoEnergyInAMinute) {
  for (const Peg peg : {Peg::capsule, Peg::ridge})
    for (const double friction : {0.0, 0.5, 2.0})
      // A ridge is met by its other sides from a tilt of 45 degrees on.
      for (const double angle : {0.1, 0.5, peg == Peg::capsule ? 1.4 : 0.7})
        for (const int substeps : {4, 8}) {
          RigidScene scene(frame_on_peg(peg, angle, friction, 0.1));
          scene.params.substeps = substeps;
          const double start = test::energy(scene), height = 0.3 * (1 - std::cos(angle));
          const double swing = 9.81 * height / double(scene.state.frames.inverse_mass[1]);
          double most = 0;
          for (int k = 0; k < 3600; ++k) {
            scene.step();
            most = std::max(most, test::energy(scene) - start);
          }
          EXPECT_LT(most, 0.02 * swing)
              << int(peg) << ", friction " << friction << ", from " << angle << " rad, " << substeps;
        }
}

TEST(RigidRolling, OfWhatRollsOnItsRimKeepsEnergyAndHeight) {
  // A cone on its side about its tip: its turning is along the line of contact, its middle goes level. And a
  // disc that leans, whose lowest place goes round.
  for (const bool is_cone : {true, false}) {
    const double radius = 0.3, half = is_cone ? 0.5 : 0.02, lean = is_cone ? std::atan(0.3) : 20 * pi / 180;
    BodySpec body;
    body.shapes[0].shape = is_cone ? Form::cone : Form::cylinder;
    body.shapes[0].radius = Real(radius), body.shapes[0].half_height = Real(half);
    body.rotation = Vec3(0, 0, Real(is_cone ? -90 - lean * 180 / pi : 90 - lean * 180 / pi));
    body.friction = 2;
    const Quat q = rotation_from_degrees(body.rotation);
    const Vec3 axis = q * Vec3(Vec3::UnitY()), aside = (axis * axis.y() - Vec3::UnitY()).normalized();
    const Vec3 below = Real(is_cone ? -half : axis.y() > 0 ? -half : half) * axis + Real(radius) * aside;
    body.position = Vec3(0, -below.y(), 0);
    const double spin = is_cone ? 5 : 15;
    const Vec3 along = Real(half) * axis - below;  // of the cone's line of contact
    body.angular_velocity = Real(spin / (is_cone ? along.norm() : 1)) * (is_cone ? along : axis);
    BodySpec floor;
    floor.shapes[0].shape = Form::plane, floor.motion = rigid::Motion::fixed, floor.friction = 2;
    RigidScene scene({.bodies = {floor, body}});
    const Vec3 arm = scene.state.frames.x[1] - body.position - below;
    scene.state.frames.v[1] = scene.state.frames.w[1].cross(arm);
    const double start = energy(scene), height = double(scene.state.frames.x[1].y()),
                 moving = start - 9.81 * height / double(scene.state.frames.inverse_mass[1]);
    for (int k = 0; k < 120; ++k) {
      scene.step();
      EXPECT_NEAR(energy(scene), start, 0.005 * moving) << is_cone << " " << k;
      if (!is_cone) continue;
      EXPECT_NEAR(scene.state.frames.x[1].y(), height, 1e-4) << k;
      EXPECT_NEAR(scene.state.frames.v[1].y(), 0, 0.002) << k;
    }
  }
}

}}  // namespace plenum::<anonymous>
