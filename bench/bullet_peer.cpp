#include "bullet_peer.h"

#ifdef PLENUM_BULLET
#include <btBulletDynamicsCommon.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "plenum/solvers/rigid/materials.h"

namespace plenum::bench {
namespace {

btVector3 bullet(const Vec3& v) {
  return {btScalar(v.x()), btScalar(v.y()), btScalar(v.z())};
}

std::unique_ptr<btCollisionShape> shape_of(const rigid::ShapeSpec& shape) {
  switch (shape.shape) {
    case rigid::Form::sphere:
      return std::make_unique<btSphereShape>(btScalar(shape.radius));
    case rigid::Form::capsule:
      return std::make_unique<btCapsuleShape>(btScalar(shape.radius), btScalar(2 * shape.half_height));
    case rigid::Form::hull: {
      auto hull = std::make_unique<btConvexHullShape>();
      for (const Vec3& p : shape.points) hull->addPoint(bullet(p));
      return hull;
    }
    default:
      return std::make_unique<btBoxShape>(bullet(shape.half_extents));
  }
}

double volume_of(const rigid::ShapeSpec& shape) {
  constexpr double pi = 3.14159265358979;
  const double r = double(shape.radius), h = double(shape.half_height);
  switch (shape.shape) {
    case rigid::Form::sphere:
      return 4 * pi / 3 * r * r * r;
    case rigid::Form::capsule:
      return pi * r * r * (2 * h + 4 * r / 3);
    case rigid::Form::hull: {  // Bullet's inertia of a hull is that of its box; its mass may be too
      Vec3 low = shape.points[0], high = low;
      for (const Vec3& p : shape.points) low = low.cwiseMin(p), high = high.cwiseMax(p);
      return double((high - low).prod()) / 3;
    }
    default:
      return 8 * double(shape.half_extents.prod());
  }
}

}  // namespace

bool has_bullet() {
  return true;
}

PeerRun run_bullet(const rigid::Spec& spec, int steps) {
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher(&configuration);
  btDbvtBroadphase broad;
  btSequentialImpulseConstraintSolver solver;
  std::vector<std::unique_ptr<btCollisionShape>> shapes;
  std::vector<std::unique_ptr<btRigidBody>> bodies;
  btDiscreteDynamicsWorld world(&dispatcher, &broad, &solver, &configuration);
  world.setGravity({0, btScalar(-9.81), 0});
  for (const rigid::BodySpec& body : spec.bodies) {
    shapes.push_back(shape_of(body.shapes[0]));
    const bool moves = body.motion == rigid::Motion::dynamic;
    const rigid::Material material = rigid::material_of(spec, body, 0);
    const auto mass = btScalar(moves ? double(material.density) * volume_of(body.shapes[0]) : 0);
    btVector3 inertia(0, 0, 0);
    if (moves) shapes.back()->calculateLocalInertia(mass, inertia);
    btRigidBody::btRigidBodyConstructionInfo info(mass, nullptr, shapes.back().get(), inertia);
    const Vec4& q = body.orientation;
    info.m_startWorldTransform = btTransform(
        btQuaternion(btScalar(q[0]), btScalar(q[1]), btScalar(q[2]), btScalar(q[3])), bullet(body.position));
    info.m_friction = std::sqrt(btScalar(material.friction));
    info.m_restitution = 0;
    bodies.push_back(std::make_unique<btRigidBody>(info));
    bodies.back()->setActivationState(DISABLE_DEACTIVATION);
    world.addRigidBody(bodies.back().get());
  }
  PeerRun run;
  double total = 0;
  for (int k = 0; k < steps; ++k) {
    const auto start = std::chrono::steady_clock::now();
    world.stepSimulation(btScalar(1) / 60, 0);
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    total += ms;
    run.worst_ms = std::max(run.worst_ms, ms);
  }
  run.ms_per_step = total / steps;
  for (const auto& body : bodies) {
    const btTransform& at = body->getWorldTransform();
    const btQuaternion q = at.getRotation();
    run.poses.push_back({{at.getOrigin().x(), at.getOrigin().y(), at.getOrigin().z()},
                         Quaternion<double>(q.w(), q.x(), q.y(), q.z()).normalized()});
    world.removeRigidBody(body.get());
  }
  return run;
}

}  // namespace plenum::bench
#else
namespace plenum::bench {
bool has_bullet() {
  return false;
}
PeerRun run_bullet(const rigid::Spec&, int) {
  return {};
}
}  // namespace plenum::bench
#endif
