#pragma once
// What the tests of joints share: specifications, and scenes of one or two bodies.
#include <string>

#include "../../validation/rigid_scenes.h"
#include "plenum/solvers/rigid/detail/joint_rows.h"

namespace plenum::test {

inline rigid::JointSpec joint(rigid::JointType type, const std::string& a, const std::string& b,
                              const Vec3& anchor, const Vec3& axis = Vec3::UnitX()) {
  rigid::JointSpec spec;
  spec.type = type, spec.body_a = a, spec.body_b = b, spec.anchor = anchor, spec.axis = axis;
  spec.anchor_b = anchor + Vec3(Real(0.3), Real(0.1), 0);
  return spec;
}

inline rigid::AxisSpec within(double lower, double upper) {
  rigid::AxisSpec axis;
  axis.mode = rigid::AxisMode::limited, axis.lower = Real(lower), axis.upper = Real(upper);
  return axis;
}
/// Two boxes of unequal sides, 1 m apart, in a joint between them.
inline Rigid::Spec pair(const rigid::JointSpec& spec) {
  rigid::BodySpec a = validation::box(Vec3(Real(0.3), Real(0.1), Real(0.2)), Vec3::Zero());
  rigid::BodySpec b = validation::box(Vec3(Real(0.15), Real(0.3), Real(0.1)), Vec3(1, Real(0.2), Real(0.1)));
  a.name = "left", b.name = "right";
  a.rotation = Vec3(10, 20, 30), b.rotation = Vec3(-20, 15, 40);
  return {.bodies = {a, b}, .joints = {spec}};
}

/// A rod that hangs level from a hinge at its left end, about z.
inline validation::RigidScene arm(const rigid::AxisSpec& motion, double break_force = 0) {
  rigid::JointSpec hinge = joint(rigid::JointType::hinge, "", "0", Vec3::Zero(), Vec3::UnitZ());
  hinge.motion = motion, hinge.break_force = Real(break_force);
  return validation::RigidScene(
      {.bodies = {validation::box(Vec3(Real(0.5), Real(0.05), Real(0.05)), Vec3(Real(0.5), 0, 0))},
       .joints = {hinge}});
}

inline detail::JointPose joint_pose(const validation::RigidScene& scene, std::size_t i) {
  return {scene.state.frames.x[i].cast<double>(), scene.state.frames.rotation(i).cast<double>().normalized()};
}

}  // namespace plenum::test
