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
  for (int k = 0; k < 180; ++k) {
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
