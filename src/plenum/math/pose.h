#pragma once
// Rigid placements.
#include <Eigen/Geometry>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

template <class T>
using Quaternion = Eigen::Quaternion<T, Eigen::DontAlign>;
using Quat = Quaternion<Real>;

/// The placement X_WB of a body B in the world W: x_W = rotation * x_B + position.
struct Pose {
  Vec3 position = Vec3::Zero();      ///< [m]
  Quat rotation = Quat::Identity();  ///< unit

  Vec3 operator*(const Vec3& x) const { return rotation * x + position; }
  Vec3 to_local(const Vec3& x) const { return rotation.conjugate() * (x - position); }
};

}  // namespace plenum::inline PLENUM_ABI
