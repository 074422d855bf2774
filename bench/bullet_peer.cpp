#include "bullet_peer.h"

#include <cstdio>

namespace plenum::bench {

void say_if_bullet_is_missing() {
  static const bool said = [] {
    if (!has_bullet())
      std::fprintf(stderr,
                   "bench: Bullet is missing, so rigid and soft bodies have no peer beside them (Debian: "
                   "libbullet-dev, then build again)\n");
    return true;
  }();
  (void)said;
}

}  // namespace plenum::bench

#ifdef PLENUM_BULLET
#include <btBulletDynamicsCommon.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "plenum/base/error.h"
#include "plenum/solvers/rigid/materials.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::bench {
namespace {

btVector3 bullet(const Vec3& v) {
  return {btScalar(v.x()), btScalar(v.y()), btScalar(v.z())};
}

/// A shape about the centre of mass, along the principal axes: where its body has them, given `origin`, the
/// frame of the shape's points in them.
std::unique_ptr<btCollisionShape> shape_of(const rigid::ShapeSpec& shape, const Pose& origin) {
  switch (shape.shape) {
    case rigid::Form::sphere:
      return std::make_unique<btSphereShape>(btScalar(shape.radius));
    case rigid::Form::capsule:
      return std::make_unique<btCapsuleShape>(btScalar(shape.radius), btScalar(2 * shape.half_height));
    case rigid::Form::box:
      return std::make_unique<btBoxShape>(bullet(shape.half_extents));
    case rigid::Form::hull: {
      auto hull = std::make_unique<btConvexHullShape>();
      for (const Vec3& p : shape.points) hull->addPoint(bullet(origin * p), false);
      hull->recalcLocalAabb();
      return hull;
    }
    default:
      throw Error("the scenes that Bullet runs too have spheres, capsules, boxes and hulls");
  }
}

BodyPose pose_of(const btRigidBody& body, const Pose& origin) {
  const btTransform& at = body.getWorldTransform();
  const btQuaternion q = at.getRotation();
  const auto turned = Quaternion<double>(q.w(), q.x(), q.y(), q.z()).normalized();
  const btVector3& x = at.getOrigin();
  return {Vector3<double>(x.x(), x.y(), x.z()) + turned * origin.position.cast<double>(),
          (turned * origin.rotation.cast<double>()).normalized()};
}

}  // namespace

bool has_bullet() {
  return true;
}

PeerRun run_bullet(const rigid::Spec& spec, int steps,
                   const std::function<void(int, const std::vector<BodyPose>&)>& look) {
  Rigid::Model model;
  Rigid::State state;
  Rigid::build(spec, model, state);
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher(&configuration);
  btDbvtBroadphase broad;
  btSequentialImpulseConstraintSolver solver;
  std::vector<std::unique_ptr<btCollisionShape>> shapes;
  std::vector<std::unique_ptr<btRigidBody>> bodies;
  std::vector<std::unique_ptr<btTypedConstraint>> joints;
  btDiscreteDynamicsWorld world(&dispatcher, &broad, &solver, &configuration);
  world.setGravity({0, btScalar(-9.81), 0});
  for (std::size_t i = 0; i < spec.bodies.size(); ++i) {
    const rigid::BodySpec& body = spec.bodies[i];
    shapes.push_back(shape_of(body.shapes[0], model.origin[i]));
    const Real inverse_mass = state.frames.inverse_mass[i];
    btRigidBody::btRigidBodyConstructionInfo info(btScalar(inverse_mass > 0 ? 1 / inverse_mass : 0), nullptr,
                                                  shapes.back().get(), bullet(model.inertia[i]));
    const Vec4& q = state.frames.q[i];
    info.m_startWorldTransform =
        btTransform(btQuaternion(btScalar(q[0]), btScalar(q[1]), btScalar(q[2]), btScalar(q[3])),
                    bullet(state.frames.x[i]));
    info.m_friction = std::sqrt(btScalar(rigid::material_of(spec, body, 0).friction));
    info.m_restitution = 0;
    bodies.push_back(std::make_unique<btRigidBody>(info));
    bodies.back()->setActivationState(DISABLE_DEACTIVATION);
    // What passes its own layer touches nothing.
    world.addRigidBody(bodies.back().get(), 1, body.passes.empty() ? 1 : 0);
  }
  for (const Rigid::Joint& joint : model.joints) {
    if (joint.type != rigid::JointType::ball) throw Error("the scenes that Bullet runs too have ball joints");
    btRigidBody& b = *bodies[std::size_t(joint.b)];
    const btVector3 in_b = bullet(joint.in_b.position);
    if (joint.a < 0)
      joints.push_back(std::make_unique<btPoint2PointConstraint>(b, in_b));
    else
      joints.push_back(std::make_unique<btPoint2PointConstraint>(*bodies[std::size_t(joint.a)], b,
                                                                 bullet(joint.in_a.position), in_b));
    world.addConstraint(joints.back().get(), true);
  }
  PeerRun run;
  const auto see = [&] {
    run.poses.clear();
    for (std::size_t i = 0; i < bodies.size(); ++i) run.poses.push_back(pose_of(*bodies[i], model.origin[i]));
  };
  double total = 0;
  for (int k = 0; k < steps; ++k) {
    const auto start = std::chrono::steady_clock::now();
    world.stepSimulation(btScalar(1) / 60, 0);
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    total += ms;
    run.worst_ms = std::max(run.worst_ms, ms);
    if (look) see(), look(k, run.poses);
  }
  run.ms_per_step = total / steps;
  see();
  for (const auto& joint : joints) world.removeConstraint(joint.get());
  for (const auto& body : bodies) world.removeRigidBody(body.get());
  return run;
}

}  // namespace plenum::bench
#else
namespace plenum::bench {
bool has_bullet() {
  return false;
}
PeerRun run_bullet(const rigid::Spec&, int, const std::function<void(int, const std::vector<BodyPose>&)>&) {
  return {};
}
}  // namespace plenum::bench
#endif
