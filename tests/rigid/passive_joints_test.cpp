// Random assemblies that nothing drives: they gain no energy where they pass singular poses, where ropes snap
// taut, and where they fall on a floor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "../../validation/rigid_scenes.h"
#include "rigid/joints.h"

namespace plenum { namespace {

using rigid::JointSpec;
using rigid::JointType;
using validation::RigidScene;

struct Energy {
  double kinetic = 0, total = 0;
};
Energy energy_of(const RigidScene& scene) {
  Energy e;
  const Frames& f = scene.state.frames;
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (!(f.inverse_mass[i] > 0)) continue;
    const double mass = 1 / double(f.inverse_mass[i]);
    const Vector3<double> spin = scene.body_spin(i);
    e.kinetic += (mass * f.v[i].cast<double>().squaredNorm() +
                  spin.dot(scene.model.inertia[i].cast<double>().cwiseProduct(spin))) /
                 2;
    e.total -= mass * double(scene.params.gravity.dot(f.x[i]));
  }
  e.total += e.kinetic;
  return e;
}

/// Parts of the largest kinetic energy by which the energy of 10 s exceeds that after the first step, which
/// fits velocities to the joints, or the least since.
struct Gain {
  double over_first = 0, over_least = 0;
};
Gain gain(RigidScene& scene) {
  scene.step();
  const Energy first = energy_of(scene);
  double mass = 0;
  for (const Real inverse : scene.state.frames.inverse_mass) mass += inverse > 0 ? 1 / double(inverse) : 0;
  double least = first.total, highest = least, most = 0,
         kinetic = std::max(first.kinetic, mass * 9.81 * 0.01);
  for (int k = 0; k < 600; ++k) {
    scene.step();
    const Energy e = energy_of(scene);
    if (!std::isfinite(e.total)) return {e.total, e.total};
    kinetic = std::max(kinetic, e.kinetic);
    most = std::max(most, e.total - least), least = std::min(least, e.total);
    highest = std::max(highest, e.total);
  }
  return {(highest - first.total) / kinetic, most / kinetic};
}

/// Random numbers that are the same with every library.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double operator()(double low, double high) {
    return low + (high - low) * double(engine_()) / double(std::mt19937::max());
  }
  unsigned below(unsigned n) { return unsigned(engine_() % n); }
  Vec3 vector(double low, double high) {
    const double x = (*this)(low, high), y = (*this)(low, high), z = (*this)(low, high);
    return Vector3<double>(x, y, z).cast<Real>();
  }

 private:
  std::mt19937 engine_;
};

void set_going(RigidScene& scene, std::size_t bodies, Random& random) {
  for (std::size_t i = 0; i < bodies; ++i)
    scene.state.frames.v[i] = random.vector(-2, 2), scene.state.frames.w[i] = random.vector(-4, 4);
}

/// What energies swing by about their mean: positions and speeds are half a sub-step apart, which is h w / 2
/// of the energy that goes to and fro, at up to 30 rad/s.
constexpr double to_and_fro = 30.0 / 480 / 2;

// What two coaxial hinges hold turns on as on one: the bound on the work of loops is no brake. A box that
// rests far away makes the island be relaxed in every sub-step.
TEST(RigidPassiveJoints, LoopsKeepTheirEnergy) {
  for (const double rate : {5.0, 20.0})
    for (const bool other : {false, true}) {
      rigid::Spec spec{
          .bodies = {validation::box(Vec3(Real(0.3), Real(0.1), Real(0.05)), Vec3(Real(0.3), 0, 0))}};
      for (const double z : {-0.5, 0.5})
        spec.joints.push_back(test::joint(JointType::hinge, "", "0", Vec3(0, 0, Real(z)), Vec3::UnitZ()));
      if (other) {
        spec.bodies.push_back(validation::floor_box());
        spec.bodies.back().position = Vec3(20, -20, 0);
        spec.bodies.push_back(validation::box(Vec3::Constant(Real(0.2)), Vec3(20, Real(-19.3), 0)));
      }
      RigidScene scene(spec);
      scene.state.frames.w[0] = Vec3(0, 0, Real(rate));
      scene.state.frames.v[0] = Vec3(0, Real(0.3 * rate), 0);
      for (Real& scale : scene.model.gravity_scale) scale = 0;
      scene.step();
      const double first = scene.state.frames.w[0].norm();
      EXPECT_NEAR(first, rate, 0.01 * rate);
      for (int k = 0; k < 1200; ++k) scene.step();
      EXPECT_NEAR(scene.state.frames.w[0].norm() / first, 1, 1e-3) << rate << ' ' << other;
    }
}

rigid::BodySpec rod(const Vec3& from, const Vec3& to, double half) {
  rigid::BodySpec body =
      validation::box(Vec3((to - from).norm() / 2, Real(half), Real(half)), (from + to) / 2);
  body.rotation = Vec3(0, 0, Real(std::atan2(to.y() - from.y(), to.x() - from.x()) * 180 / std::numbers::pi));
  body.passes = {0};
  return body;
}

// The parts of a slider-crank and of a crank-rocker turn unevenly, and the energy that goes to and fro with
// them: their loops brake nothing. Rods of 0.2, 0.6 and 0.5 m, no gravity. The piston weighs a half, four
// times or sixteen times what both rods do: what tension does to the light parts is no vibration to be
// damped. Where they turn fastest, at the dead points, that is a tenth of a radian a sub-step, (x/2)^2 of the
// energy.
TEST(RigidPassiveJoints, MechanismsKeepTheirEnergy) {
  struct Case {
    bool slides;
    double piston, rate;
  };
  for (const auto [slides, piston, rate] :
       {Case{false, 0.03, 5}, {false, 0.03, 20}, {true, 0.03, 5}, {true, 0.08, 10}, {true, 0.16, 5}}) {
    const Vec3 o = Vec3::Zero(), a(Real(0.2), 0, 0), z = Vec3::UnitZ();
    // Where circles of 0.6 about a and of 0.5 about (0.6, 0) meet; or straight on.
    const double across = (0.4 * 0.4 + 0.6 * 0.6 - 0.5 * 0.5) / (2 * 0.4);
    const Vec3 b = slides ? Vec3(Real(0.8), 0, 0)
                          : Vec3(Real(0.2 + across), Real(std::sqrt(0.6 * 0.6 - across * across)), 0),
               end = slides ? b : Vec3(Real(0.6), 0, 0);
    rigid::Spec spec{.bodies = {rod(o, a, 0.02), rod(a, b, 0.02)}};
    if (slides)
      spec.bodies.push_back(validation::box(Vec3(Real(0.1), Real(piston), Real(piston)), b)),
          spec.bodies.back().passes = {0};
    else
      spec.bodies.push_back(rod(end, b, 0.02));
    spec.joints = {test::joint(JointType::hinge, "", "0", o, z),
                   test::joint(JointType::hinge, "0", "1", a, z),
                   test::joint(JointType::hinge, "1", "2", b, z),
                   test::joint(slides ? JointType::slider : JointType::hinge, "", "2", end,
                               slides ? Vec3(Vec3::UnitX()) : z)};
    RigidScene scene(spec);
    scene.params.gravity.setZero();
    scene.state.frames.w[0] = Vec3(0, 0, Real(20 * rate)),
    scene.state.frames.v[0] = Vec3(0, Real(2 * rate), 0);
    scene.step();  // what the others' inertia leaves of it; then as fast as is wanted
    const Real part = Real(rate) / scene.state.frames.w[0].norm();
    for (std::size_t i = 0; i < 3; ++i) scene.state.frames.v[i] *= part, scene.state.frames.w[i] *= part;
    scene.step();
    const double first = energy_of(scene).total;
    for (int k = 0; k < 1200; ++k) scene.step();
    EXPECT_NEAR(energy_of(scene).total / first, 1, 0.1 * 0.1 / 4 + 2e-3) << slides << piston << rate;
  }
}

// A bridge of twelve planks that sags, one of them a hundred times as heavy: as firm where axes of the world
// are locked, as in games seen from the side, as where none is.
TEST(RigidPassiveJoints, LockedAxesLeaveThemFirm) {
  for (const bool locked : {false, true}) {
    rigid::Spec spec;
    for (int i = 0; i < 12; ++i) {
      spec.bodies.push_back(
          validation::box(Vec3(Real(0.24), Real(0.05), Real(0.2)), Vec3(Real(0.5 * i), 0, 0)));
      rigid::BodySpec& plank = spec.bodies.back();
      plank.passes = {0}, plank.density = i == 6 ? 50000 : 500;
      plank.lock_z = plank.lock_turn_x = plank.lock_turn_y = locked;
    }
    for (int i = 0; i <= 12; ++i)
      spec.joints.push_back(test::joint(JointType::ball, i > 0 ? std::to_string(i - 1) : "",
                                        i < 12 ? std::to_string(i) : "", Vec3(Real(0.5 * i - 0.25), 0, 0)));
    spec.joints.back().anchor -= Vec3(Real(0.01), 0, 0), spec.joints.back().body_b = "";
    RigidScene scene(spec);
    for (int k = 0; k < 600; ++k) {
      scene.step();
      for (const Rigid::Joint& joint : scene.model.joints) {
        const auto place = [&](Index body, const Pose& in) -> Vec3 {
          return body < 0 ? in.position
                          : Vec3(scene.state.frames.x[std::size_t(body)] +
                                 scene.state.frames.rotation(std::size_t(body)) * in.position);
        };
        // 1 % of their thickness.
        ASSERT_LT((place(joint.a, joint.in_a) - place(joint.b, joint.in_b)).norm(), 1e-3) << locked << k;
      }
    }
  }
}

// A compact box and a rod that whirl about a hinge half a metre away turn by up to an eighth of a radian in a
// sub-step, and so does what a motor drives that never reaches its speed: it has all that the motor gives.
// Fitting speeds to the joint at the turn x of a sub-step takes (x/2)^2 of the energy, once.
TEST(RigidPassiveJoints, CranksKeepTheirEnergyAndThatOfMotors) {
  for (const double half : {0.1, 0.4})
    for (const double strength : {0.0, 5.0})
      for (const double rate : {6.0, 30.0, 60.0}) {
        rigid::Spec spec{
            .bodies = {validation::box(Vec3(Real(0.1), Real(half), Real(0.1)), Vec3(0, Real(0.5), 0))}};
        spec.joints = {test::joint(JointType::hinge, "", "0", Vec3::Zero(), Vec3::UnitZ())};
        if (strength > 0) {
          spec.joints[0].motion.drive = rigid::Drive::velocity;
          spec.joints[0].motion.speed = 1000, spec.joints[0].motion.strength = Real(strength);
        }
        RigidScene scene(spec);
        scene.params.gravity.setZero();
        scene.state.frames.w[0] = Vec3(0, 0, Real(rate));
        scene.state.frames.v[0] = Vec3(Real(-0.5 * rate), 0, 0);
        scene.step();
        const double first = energy_of(scene).total;
        double given = 0;
        for (int k = 0; k < 600; ++k) {
          const double before = double(scene.state.frames.w[0].z());
          scene.step();
          given += strength * (before + double(scene.state.frames.w[0].z())) / 120;
        }
        const double turn = scene.state.frames.w[0].norm() / 480, last = energy_of(scene).total;
        EXPECT_NEAR(last, first + given, (1e-3 + turn * turn / 4) * last) << half << strength << rate;
      }
}

// A free chain of six boxes that whirls and folds: joints that are right to the second step of Newton's
// method only leave it its energy, 480 times a second for a minute. With one step it gained 2 %.
TEST(RigidPassiveJoints, AWhirlingChainGainsNothing) {
  rigid::Spec spec;
  for (int i = 0; i < 6; ++i) {
    const double angle = std::numbers::pi / 3 * i;
    spec.bodies.push_back(validation::box(Vec3(Real(0.2), Real(0.05), Real(0.05)),
                                          Vec3(Real(0.5 * std::cos(angle)), Real(0.5 * std::sin(angle)), 0)));
    spec.bodies.back().rotation = Vec3(0, 0, Real(60 * i + 90));
    spec.bodies.back().passes = {0};
  }
  for (std::size_t i = 0; i < 5; ++i)
    spec.joints.push_back(test::joint(JointType::ball, std::to_string(i), std::to_string(i + 1),
                                      (spec.bodies[i].position + spec.bodies[i + 1].position) / 2));
  for (const double rate : {2.0, 5.0}) {
    RigidScene scene(spec);
    scene.params.gravity.setZero();
    for (std::size_t i = 0; i < 6; ++i) {
      const Vec3 turn(0, 0, Real(rate));
      scene.state.frames.w[i] = turn;
      scene.state.frames.v[i] = turn.cross(scene.state.frames.x[i]) + Vec3(0, 0, Real(i % 2 ? 0.5 : -0.5));
    }
    scene.step();
    const double first = energy_of(scene).total;
    for (int k = 0; k < 3600; ++k) scene.step();
    EXPECT_NEAR(energy_of(scene).total / first, 1, 1e-3) << rate;
  }
}

// A body slides along an axis of another, and a rod or a taut rope, at first normal to that axis, ties it
// too: it could not move but for the curvature of the rod's way.
TEST(SlowRigidPassiveJoints, GainNothingAtDeadPoints) {
  for (unsigned seed = 0; seed < 96; ++seed) {
    Random random(seed);
    const unsigned hold = seed % 4;  // the first body: on a hinge, on a ball, free; or none
    rigid::Spec spec;
    const Vec3 at(Real(random(-0.5, 0.5)), Real(random(0.5, 1)), Real(random(-0.5, 0.5)));
    for (const Vec3& x : {Vec3(Vec3::Zero()), at}) {
      spec.bodies.push_back(validation::box(random.vector(0.05, 0.3), x));
      spec.bodies.back().density = Real(random(200, 3000));
      spec.bodies.back().passes = {0};
    }
    const Vec3 axis = random.vector(-1, 1).normalized();
    Vec3 normal = random.vector(-1, 1);
    normal = (normal - normal.dot(axis) * axis).normalized();
    if (hold < 2)
      spec.joints.push_back(test::joint(hold == 0 ? JointType::hinge : JointType::ball, "", "0",
                                        random.vector(-0.3, 0.3), random.vector(-1, 1)));
    spec.joints.push_back(test::joint(JointType::slider, hold == 3 ? "" : "0", "1", at, axis));
    JointSpec tie = test::joint(seed / 4 % 2 ? JointType::rope : JointType::distance, "1",
                                seed / 8 % 2 && hold != 3 ? "0" : "", at + random.vector(-0.2, 0.2));
    tie.anchor_b = tie.anchor + Real(random(0.2, 1)) * normal;
    spec.joints.push_back(tie);
    RigidScene scene(spec);
    if (seed / 16 % 2) scene.params.gravity.setZero();
    set_going(scene, 2, random);
    EXPECT_LT(gain(scene).over_least, to_and_fro) << seed;
  }
}

// Two to five boxes in joints of any type, some held, that fall on a floor.
RigidScene falling(unsigned seed, double lightest, double heaviest) {
  constexpr JointType types[] = {JointType::ball,     JointType::hinge, JointType::slider,   JointType::fixed,
                                 JointType::distance, JointType::rope,  JointType::universal};
  Random random(seed);
  const unsigned n = 2 + random.below(4);
  rigid::Spec spec;
  for (unsigned i = 0; i < n; ++i) {
    const Vec3 half = random.vector(0.05, 0.3);
    spec.bodies.push_back(validation::box(half, random.vector(-1, 1) + Vec3(0, 2, 0)));
    rigid::BodySpec& body = spec.bodies.back();
    body.density = Real(lightest * std::pow(heaviest / lightest, random(0, 1)) / double(8 * half.prod()));
    body.rotation = random.vector(-90, 90);
    body.passes = {0};  // each other: some begin in each other
  }
  const auto add = [&](int a, unsigned b) {
    const Vec3 to = spec.bodies[b].position,
               from = a < 0 ? Vec3(to + random.vector(-0.5, 0.5)) : spec.bodies[std::size_t(a)].position;
    JointSpec joint = test::joint(types[random.below(7)], a < 0 ? "" : std::to_string(a), std::to_string(b),
                                  (from + to) / 2, random.vector(-1, 1));
    joint.second_axis = random.vector(-1, 1);
    if (joint.type == JointType::distance || joint.type == JointType::rope)
      joint.anchor = from, joint.anchor_b = to;
    spec.joints.push_back(joint);
  };
  for (unsigned i = 1; i < n; ++i) add(int(random.below(i)), i);
  if (seed % 3 == 0) add(-1, random.below(n));
  if (seed % 5 == 0 && n > 2) add(0, n - 1);  // a loop
  spec.bodies.push_back(validation::floor_box());
  spec.bodies.back().layer = 1;
  RigidScene scene(spec);
  set_going(scene, n, random);
  return scene;
}

TEST(SlowRigidPassiveJoints, GainNothingAsTheyFall) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    RigidScene scene = falling(seed, 1, 30);
    EXPECT_LT(gain(scene).over_least, to_and_fro) << seed;
  }
}

// Masses of 1:10 000: joints that a heavy load has drawn apart are closed again, which lifts it; but never
// does any have more than it began with.
TEST(SlowRigidPassiveJoints, HeavyOnesNeverHaveMoreThanAtFirst) {
  for (unsigned seed = 0; seed < 240; ++seed) {
    RigidScene scene = falling(seed, 0.1, 1000);
    EXPECT_LT(gain(scene).over_first, 0.01) << seed;
  }
}

}}  // namespace plenum
