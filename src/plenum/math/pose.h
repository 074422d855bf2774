#pragma once
// Rigid placements.
#include <Eigen/Geometry>
#include <numbers>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

template <class T>
using Quaternion = Eigen::Quaternion<T, Eigen::DontAlign>;
using Quat = Quaternion<Real>;

/// Rotation of intrinsic angles [deg] about x, then y, then z: as scene files and parameters give it.
inline Quat rotation_from_degrees(const Vec3& degrees) {
  const Vec3 angle = degrees * Real(std::numbers::pi / 180);
  return Quat(Eigen::AngleAxis<Real>(angle.x(), Vec3::UnitX()) *
              Eigen::AngleAxis<Real>(angle.y(), Vec3::UnitY()) *
              Eigen::AngleAxis<Real>(angle.z(), Vec3::UnitZ()));
}

/// The placement X_WB of a body B in the world W: x_W = rotation * x_B + position.
struct Pose {
  Vec3 position = Vec3::Zero();      ///< [m]
  Quat rotation = Quat::Identity();  ///< unit

  Vec3 operator*(const Vec3& x) const { return rotation * x + position; }
  Vec3 to_local(const Vec3& x) const { return rotation.conjugate() * (x - position); }
};

/// Between the poses a (s = 0) and b (s = 1): straight, and turning at a constant rate the shorter way.
inline Pose between(const Pose& a, const Pose& b, Real s) {
  if (s <= 0) return a;
  if (s >= 1) return b;
  return {a.position + s * (b.position - a.position), a.rotation.slerp(s, b.rotation)};
}

}  // namespace plenum::inline PLENUM_ABI
