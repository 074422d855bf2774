// Joints of rigid bodies among position-based ones, where they hold heavy things.
#include <gtest/gtest.h>

#include <cmath>

#include "pbd/built.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum { namespace {

using D3 = Vector3<double>;

PbdBody ball(const std::string& name, const Vec3& position, Real radius, double mass) {
  PbdBody body;
  body.shape = PbdBody::Form::sphere, body.name = name, body.position = position, body.radius = radius;
  body.density = Real(mass / (4.0 / 3.0 * 3.14159265358979323846 * std::pow(double(radius), 3)));
  return body;
}
PbdBody link(const std::string& name, const Vec3& position, double mass) {
  PbdBody body;
  body.name = name, body.position = position;
  body.half_extents = Vec3(Real(0.1), Real(0.02), Real(0.04));
  body.density = Real(mass / (8 * 0.1 * 0.02 * 0.04));
  return body;
}
PbdJoint joint(PbdJoint::Type type, const std::string& a, const std::string& b, const Vec3& anchor) {
  PbdJoint made;
  made.type = type, made.body_a = a, made.body_b = b, made.anchor = anchor, made.axis = Vec3::UnitZ();
  return made;
}

double energy(const plenum_test::Built& of) {
  double sum = 0;
  const Frames& f = of.state.frames;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double m = 1 / double(f.inverse_mass[i]);
    const D3 w = (f.rotation(i).conjugate() * f.w[i]).cast<double>();
    sum += m / 2 * f.v[i].cast<double>().squaredNorm() +
           of.model.bodies[i].inertia.cast<double>().dot(w.cwiseProduct(w)) / 2 -
           m * of.params.gravity.cast<double>().dot(f.x[i].cast<double>());
  }
  return sum;
}

// A ball of a few centimetres between two joints that are several of its radii off, with a heavy one on the
// second: from 192 times its mass on it gained energy, without bound in some seconds.
TEST(PbdJoints, LightBodiesOnLongLeversGainNoEnergy) {
  struct Case {
    double lever, mass, heavy;
  };
  for (const Case& c : {Case{0.2, 1, 300}, Case{0.3, 1, 300}, Case{0.3, 0.05, 170}}) {
    const Real l = Real(c.lever);
    plenum_test::Built b(PbdSpec{.bodies = {ball("a", Vec3(l, 2, 0), Real(0.05), c.mass),
                                            ball("b", Vec3(2 * l + Real(0.3), 2, 0), Real(0.2), c.heavy)},
                                 .joints = {joint(PbdJoint::Type::ball, "a", "", Vec3(0, 2, 0)),
                                            joint(PbdJoint::Type::ball, "a", "b", Vec3(2 * l, 2, 0))}});
    const double first = energy(b), fall = 9.81 * c.heavy * (2 * c.lever + 0.3);
    for (int k = 0; k < 900; ++k) {
      b.step();
      ASSERT_LT(energy(b), first + 1e-3 * fall) << c.lever << ' ' << c.heavy << ' ' << k;
    }
    EXPECT_LT(b.last.value("largest_gap", 1), 1e-4) << c.lever << ' ' << c.heavy;
  }
}

// Ten links of 0.8 kg with 335 kg at their end hang as long as they are while they swing; one after the
// other, hinges were drawn out by 46 %.
TEST(PbdJoints, ChainsOfHingesCarryHeavyBodies) {
  PbdSpec spec;
  for (int k = 0; k < 10; ++k)
    spec.bodies.push_back(link("l" + std::to_string(k), Vec3(Real(0.1 + 0.2 * k), 2, 0), 0.8));
  spec.bodies.push_back(ball("ball", Vec3(Real(2.2), 2, 0), Real(0.2), 335));
  for (int k = 0; k < 11; ++k)
    spec.joints.push_back(joint(PbdJoint::Type::hinge, k < 10 ? "l" + std::to_string(k) : "ball",
                                k > 0 ? "l" + std::to_string(k - 1) : "", Vec3(Real(0.2 * k), 2, 0)));
  plenum_test::Built chain(spec);
  double farthest = 0;
  for (int k = 0; k < 180; ++k) {
    chain.step();
    farthest = std::max(farthest, double((chain.state.frames.x[10] - Vec3(0, 2, 0)).norm()));
  }
  EXPECT_LT(farthest, 2.2 * 1.002);
}

// An arm of six boxes joined fast to each other and to the world stays level, and at rest.
TEST(PbdJoints, FixedArmsDoNotSag) {
  PbdSpec spec;
  for (int k = 0; k < 6; ++k) {
    spec.bodies.push_back(link("l" + std::to_string(k), Vec3(Real(0.1 + 0.2 * k), 2, 0), k < 5 ? 1 : 400));
    spec.joints.push_back(joint(PbdJoint::Type::fixed, "l" + std::to_string(k),
                                k > 0 ? "l" + std::to_string(k - 1) : "", Vec3(Real(0.2 * k), 2, 0)));
  }
  plenum_test::Built arm(spec);
  arm.run(120);
  EXPECT_NEAR(double(arm.state.frames.x[5].y()), 2, 1e-4);
  EXPECT_LT(double(arm.state.frames.v[5].norm()), 1e-4);
}

// Between two places: a taut bridge is a loop without a way left to give as it sags.
TEST(PbdJoints, TautBridgesLieStill) {
  PbdSpec spec;
  for (int k = 0; k < 10; ++k)
    spec.bodies.push_back(link("l" + std::to_string(k), Vec3(Real(0.1 + 0.2 * k), 2, 0), 0.8));
  for (int k = 0; k < 11; ++k)
    spec.joints.push_back(joint(PbdJoint::Type::hinge, "l" + std::to_string(std::min(k, 9)),
                                k > 0 && k < 10 ? "l" + std::to_string(k - 1) : "",
                                Vec3(Real(0.2 * k), 2, 0)));
  plenum_test::Built bridge(spec);
  bridge.run(600);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_LT(double(bridge.state.frames.v[i].norm()), 1e-3) << i;
    EXPECT_NEAR(double(bridge.state.frames.x[i].y()), 2, 0.02) << i;
  }
}

// Joints of one body couple all with all.
TEST(PbdJoints, HubsOfManyJointsAreHeld) {
  PbdSpec spec;
  spec.bodies.push_back(ball("hub", Vec3(0, 2, 0), Real(0.2), 10));
  for (int k = 0; k < 40; ++k) {
    const double angle = 2 * 3.14159265358979323846 * k / 40;
    const Vec3 out(Real(std::cos(angle)), 0, Real(std::sin(angle)));
    const std::string name = "s" + std::to_string(k);
    spec.bodies.push_back(ball(name, Vec3(0, 2, 0) + out, Real(0.03), 0.1));
    spec.joints.push_back(joint(PbdJoint::Type::ball, name, "hub", Vec3(0, 2, 0) + Real(0.5) * out));
  }
  plenum_test::Built wheel(spec);
  wheel.params.gravity.setZero();
  wheel.state.frames.w[0] = Vec3(0, 2, 0);
  const double first = energy(wheel);
  wheel.run(120);
  EXPECT_LT(energy(wheel), first * 1.001);
  EXPECT_LT(wheel.last.value("largest_gap", 1), 0.01);
}

// Friction is against what slides, however a box lies to its way.
TEST(PbdJoints, BoxesSlideStraightOn) {
  PbdBody plane;
  plane.motion = PbdBody::Motion::led, plane.half_extents = Vec3(5, Real(0.5), 5);
  plane.position = Vec3(0, Real(-0.5), 0);
  for (const Real yaw : {Real(30), Real(45)}) {
    PbdBody bar;
    bar.half_extents = Vec3(Real(0.4), Real(0.1), Real(0.05)), bar.position = Vec3(0, Real(0.1), 0);
    bar.rotation = Vec3(0, yaw, 0), bar.velocity = Vec3(4, 0, 0);
    plane.friction = bar.friction = Real(0.5);
    plenum_test::Built slide(PbdSpec{.bodies = {plane, bar}});
    slide.run(90);
    const double way = 16 / (2 * 0.5 * 9.81);
    EXPECT_NEAR(double(slide.state.frames.x[1].x()), way, 0.01 * way) << yaw;
    EXPECT_NEAR(double(slide.state.frames.x[1].z()), 0, 1e-3 * way) << yaw;
  }
}

// What hangs on a pinned rope that does not give sinks by what its attachment gives.
TEST(PbdJoints, AttachmentsOfRopesGive) {
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.from = Vec3(0, 2, 0), rope.to = Vec3(0, 1, 0), rope.segments = 10;
  rope.pins.push_back({.where = ParticlePin::Where::first});
  PbdAttachment hook;
  hook.particles.where = ParticlePin::Where::last, hook.body = "crate", hook.compliance = Real(1e-3);
  rope.attachments = {hook};
  plenum_test::Built hung(PbdSpec{.parts = {rope}, .bodies = {ball("crate", Vec3(0, 1, 0), Real(0.1), 8)}});
  // At ten substeps the sweep of the rope, which is light, adds half of it.
  hung.params.damping = 5, hung.params.substeps = 80;
  hung.run(300);
  EXPECT_NEAR(1 - double(hung.state.frames.x[0].y()), 8 * 9.81 * 1e-3, 0.03 * 8 * 9.81 * 1e-3);
}

}}  // namespace plenum::
