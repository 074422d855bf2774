// Axes that bodies do not move along or turn about, and mass properties that are given.
#include <gtest/gtest.h>

#include "../../validation/rigid_scenes.h"
#include "plenum/base/error.h"
#include "plenum/solvers/rigid/detail/locks.h"

namespace plenum { namespace {

using rigid::BodySpec;
using validation::RigidScene;

TEST(RigidAxes, LockedOnesStayWhatHits) {
  // A plank in a plane, struck out of it, and a post that keeps upright on a turning heap.
  BodySpec plank = validation::box(Vec3(Real(0.5), Real(0.1), Real(0.1)), Vec3(0, 1, 0));
  plank.lock_z = plank.lock_turn_x = plank.lock_turn_y = true;
  BodySpec post = validation::box(Vec3(Real(0.2), Real(0.6), Real(0.2)), Vec3(Real(0.3), 3, 0));
  post.lock_turn_x = post.lock_turn_y = post.lock_turn_z = true;
  BodySpec ball = validation::box(Vec3::Constant(Real(0.2)), Vec3(Real(0.3), Real(1.2), 2));
  ball.velocity = Vec3(0, 0, -10);
  RigidScene scene({.bodies = {validation::floor_box(), plank, post, ball}});
  // Along locked axes too, as a program may set it.
  scene.state.frames.v[1] = Vec3(1, 0, 5), scene.state.frames.w[1] = Vec3(3, 2, 1);
  for (int k = 0; k < 300; ++k) {
    scene.step();
    const Frames& f = scene.state.frames;
    ASSERT_EQ(f.x[1].z(), 0);
    ASSERT_LT((f.rotation(1) * Vec3::UnitZ() - Vec3::UnitZ()).norm(), Real(1e-5));
    ASSERT_LT((f.rotation(2).coeffs() - Quat::Identity().coeffs()).norm(), Real(1e-6));
    ASSERT_GT(f.x[1].y(), Real(0.09));
  }
  // It came to lie on the floor.
  EXPECT_LT(scene.state.frames.v[1].norm(), Real(1e-3));
}

/// What turns about z, with w [rad/s].
BodySpec leader(const Vec3& half_extents, double w) {
  BodySpec body = validation::box(half_extents, Vec3::Zero());
  body.motion = rigid::Motion::kinematic;
  body.angular_velocity = Vec3(0, 0, Real(w));
  return body;
}
rigid::JointSpec between(rigid::JointType type, int a, int b, const Vec3& at, const Vec3& axis) {
  rigid::JointSpec joint;
  joint.type = type, joint.body_a = std::to_string(a), joint.body_b = std::to_string(b);
  joint.anchor = at, joint.axis = axis;
  return joint;
}

TEST(RigidAxes, JointsReckonWithLocks) {
  // A crank r and a rod l drive a piston that nothing but its locks guides: x = r cos + sqrt(l^2 - r^2
  // sin^2).
  const double r = 0.8, l = 1, w = 3;
  BodySpec crank = leader(Vec3(Real(r / 2), Real(0.05), Real(0.05)), w);
  BodySpec rod = validation::box(Vec3(Real(l / 2), Real(0.04), Real(0.04)), Vec3(Real(r + l / 2), 0, 0));
  BodySpec piston = validation::box(Vec3::Constant(Real(0.1)), Vec3(Real(r + l), 0, 0));
  piston.lock_y = piston.lock_z = piston.lock_turn_x = piston.lock_turn_y = piston.lock_turn_z = true;
  crank.passes = rod.passes = piston.passes = {0};
  using rigid::JointType;
  RigidScene scene({.bodies = {crank, rod, piston},
                    .joints = {between(JointType::hinge, 0, 1, Vec3(Real(r), 0, 0), Vec3::UnitZ()),
                               between(JointType::hinge, 1, 2, Vec3(Real(r + l), 0, 0), Vec3::UnitZ())}});
  for (int k = 1; k <= 300; ++k) {
    scene.step();
    const double angle = w * k / 60, s = r * std::sin(angle);
    // The first order of gaps that joints close within a step.
    ASSERT_NEAR(double(scene.state.frames.x[2].x()), r * std::cos(angle) + std::sqrt(l * l - s * s), 2e-3);
  }
}

TEST(RigidAxes, LeadersAndLocksThatBarEachOtherStayBounded) {
  // What is led about z and what cannot go along x, or not along x nor turn: no motion fits them both. A
  // lever gives five times the leader's speed at most, and gaps closed add to it.
  for (const rigid::JointType type : {rigid::JointType::ball, rigid::JointType::hinge,
                                      rigid::JointType::fixed, rigid::JointType::universal})
    for (const bool also_turn : {false, true}) {
      BodySpec body = validation::box(Vec3(Real(0.3), Real(0.1), Real(0.1)), Vec3(Real(0.7), 0, 0));
      body.lock_y = true, body.lock_turn_z = also_turn;
      BodySpec first = leader(Vec3(Real(0.3), Real(0.1), Real(0.1)), 4);
      first.passes = body.passes = {0};
      rigid::JointSpec joint = between(type, 0, 1, Vec3(Real(0.35), 0, 0), Vec3::UnitX());
      joint.second_axis = Vec3::UnitY();
      joint.motion.mode = joint.turn_x.mode = joint.turn_y.mode = rigid::AxisMode::locked;
      RigidScene scene({.bodies = {first, body}, .joints = {joint}});
      double fastest = 0;
      for (int k = 0; k < 600; ++k) {
        scene.step();
        const Frames& f = scene.state.frames;
        fastest = std::max(fastest, double(f.v[1].norm() + Real(0.3) * f.w[1].norm()));
      }
      EXPECT_LT(fastest, 500) << int(type) << also_turn;
      EXPECT_TRUE(scene.state.frames.x[1].allFinite());
    }
}

TEST(RigidAxes, TurningUnderALockKeepsMomentumAndEnergy) {
  // About no axis x: what is left of the angular momentum, and the energy, stay to the order of the step.
  const Vector3<double> inertia(1, 2, 3);
  const auto error_of = [&](int steps) {
    Quaternion<double> q(0.5, 0.1, -0.7, 0.3);
    q.normalize();
    Vector3<double> w(0, 2, 1);
    const auto momentum = [&] {
      const Matrix3<double> r = q.toRotationMatrix();
      return Vector3<double>(r * inertia.cwiseProduct(r.transpose() * w));
    };
    const Vector3<double> before = momentum();
    for (int k = 0; k < steps; ++k) detail::turn_with_locks(q, inertia, std::uint8_t(1 << 3), w, 1.0 / steps);
    EXPECT_EQ(w.x(), 0);
    EXPECT_LT((momentum() - before).tail<2>().norm(), 1e-12 * before.norm());
    return std::abs(w.dot(momentum()) - Vector3<double>(0, 2, 1).dot(before));
  };
  const double coarse = error_of(100), fine = error_of(200);
  EXPECT_LT(fine, 1e-4);
  EXPECT_GT(coarse / fine, 3.5);  // the midpoint rule is of second order
}

Rigid::Model built(const BodySpec& body, Rigid::State& state) {
  Rigid::Model model;
  Rigid::build({.bodies = {body}}, model, state);
  return model;
}

TEST(RigidMass, IsWhatIsGiven) {
  Rigid::State state;
  BodySpec body = validation::unit_box(0, 0, 0);
  body.mass = 3;
  Rigid::Model model = built(body, state);
  EXPECT_NEAR(1 / state.frames.inverse_mass[0], 3, 1e-6);
  EXPECT_NEAR(model.inertia[0].x(), 3.0 / 6, 1e-6);  // of a cube: m a^2 / 6
  body.inertia = Vec3(1, 2, Real(2.5));
  model = built(body, state);
  EXPECT_EQ(model.inertia[0], Vec3(1, 2, Real(2.5)));
}

TEST(RigidMass, OfPointsIsTheirs) {
  // Four points of a tetrahedron, by hand: centre (1/4, 1/4, 1/4) m, and sums of m (r^2 E - r r^T).
  Rigid::State state;
  BodySpec body = validation::unit_box(0, 0, 0);
  body.point_masses = {{Vec3::Zero(), 2}, {Vec3::UnitX(), 2}, {Vec3::UnitY(), 2}, {Vec3::UnitZ(), 2}};
  const Rigid::Model model = built(body, state);
  EXPECT_NEAR(1 / state.frames.inverse_mass[0], 8, 1e-5);
  EXPECT_LT((state.frames.x[0] - Vec3::Constant(Real(0.25))).norm(), 1e-6);
  // About the centre: diagonal 2 * 2 (1 - 1/4) = 3, off it 8/16 = 1/2; eigenvalues 4, 2.5, 2.5.
  Vec3 moments = model.inertia[0];
  std::sort(moments.data(), moments.data() + 3);
  EXPECT_NEAR(moments[0], 2.5, 1e-5);
  EXPECT_NEAR(moments[1], 2.5, 1e-5);
  EXPECT_NEAR(moments[2], 4, 1e-5);
}

TEST(RigidMass, TwoBodiesOfOneNameAreRefused) {
  BodySpec one = validation::unit_box(0, 0, 0), two = validation::unit_box(0, 3, 0);
  one.name = two.name = "box";
  Rigid::Model model;
  Rigid::State state;
  EXPECT_THROW(Rigid::build({.bodies = {one, two}}, model, state), Error);
}

TEST(RigidMass, ThatNoBodyHasIsRefused) {
  Rigid::State state;
  const auto message = [&](const BodySpec& body) -> std::string {
    try {
      built(body, state);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  BodySpec body = validation::unit_box(0, 0, 0);
  body.inertia = Vec3(1, 2, Real(3.0001));
  EXPECT_NE(message(body).find("inertia"), std::string::npos) << message(body);
  body.inertia = Vec3(1, 2, Real(3.000001));  // within 1e-6 of it
  EXPECT_EQ(message(body), "");
  for (const Vec3& none : {Vec3(1, 1, 0), Vec3(-1, -1, -1)}) {
    body.inertia = none;
    EXPECT_NE(message(body).find("not above 0"), std::string::npos) << message(body);
  }
  body.inertia.setZero();
  body.point_masses = {{Vec3::Zero(), 1}, {Vec3::UnitX(), 1}, {Vec3(3, 0, 0), 1}};
  EXPECT_NE(message(body).find("line"), std::string::npos) << message(body);
  body.mass = 2;
  EXPECT_NE(message(body).find("one of both"), std::string::npos) << message(body);
  body = validation::unit_box(0, 0, 0);
  body.orientation.setZero();
  EXPECT_NE(message(body).find("orientation"), std::string::npos) << message(body);
  body = validation::unit_box(0, 0, 0);
  body.density = 0;
  EXPECT_NE(message(body).find("density"), std::string::npos) << message(body);
  body.density = rigid::not_given;
  for (const Real mass : {Real(0), Real(-2), std::numeric_limits<Real>::infinity()}) {
    body.mass = mass;
    EXPECT_NE(message(body).find("mass"), std::string::npos) << message(body);
  }
  body.mass = 1, body.position.x() = std::numeric_limits<Real>::quiet_NaN();
  EXPECT_NE(message(body).find("position"), std::string::npos) << message(body);
  body.shapes.clear();
  EXPECT_NE(message(body).find("shapes"), std::string::npos) << message(body);
}

}  // namespace
}  // namespace plenum
