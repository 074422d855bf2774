#pragma once
// What joints between rigid bodies are made from.
#include <array>
#include <string>

#include "plenum/base/describe.h"

namespace plenum::inline PLENUM_ABI { namespace rigid {

enum class JointType : int { ball, hinge, slider, fixed, distance, rope, universal, six_axes, mouse };
constexpr std::array<const char*, 9> names_of(JointType) {
  return {"ball", "hinge", "slider", "fixed", "distance", "rope", "universal", "six_axes", "mouse"};
}

enum class AxisMode : int { free, locked, limited };
constexpr std::array<const char*, 3> names_of(AxisMode) {
  return {"free", "locked", "limited"};
}

enum class Drive : int { none, velocity, spring };
constexpr std::array<const char*, 3> names_of(Drive) {
  return {"none", "velocity", "spring"};
}

/// What one freedom of a joint may do. Lengths in m, angles in degrees.
struct AxisSpec {
  AxisMode mode = AxisMode::free;
  Real lower = 0, upper = 0;
  Drive drive = Drive::none;
  Real speed = 0;
  Real target = 0;
  Real stiffness = 0, damping = 0;
  Real strength = Real(1e9);
  void describe(Describer& d);
};

struct JointSpec {
  JointType type = JointType::ball;
  std::string body_a = {};
  std::string body_b = {};
  Vec3 anchor = Vec3::Zero();
  Vec3 anchor_b = Vec3::Zero();
  Vec3 axis = Vec3::UnitX();
  Vec3 second_axis = Vec3::UnitY();
  AxisSpec motion = {};
  AxisSpec x = {}, y = {}, z = {}, turn_x = {}, turn_y = {}, turn_z = {};
  Real cone = 180, twist = 180;
  Real turn_damping = 0;
  Real length = 0;
  Real stiffness = 0, damping = 0;
  Vec3 target = Vec3::Zero();
  Real frequency = 5, damping_ratio = 1;
  Real strength = Real(1e9);
  bool collide = false;
  Real break_force = 0, break_torque = 0;
  std::string key_a = {}, key_b = {};  ///< what messages call body_a and body_b; for programs
  void describe(Describer& d);
};

}}  // namespace plenum::PLENUM_ABI::rigid
