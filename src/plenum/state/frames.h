#pragma once
// Rigid frames: the state shared by rigid bodies and, later, the material frames of rods.
#include <vector>

#include "plenum/math/pose.h"

namespace plenum::inline PLENUM_ABI {

/// Each frame sits in a body's centre of mass, along its principal axes, so that its inertia is diagonal.
struct Frames {
  std::vector<Vec3> x;                ///< [N] m, of the centre of mass
  std::vector<Vec4> q;                ///< [N] unit quaternion x, y, z, w, from the frame to the world
  std::vector<Vec3> v;                ///< [N] m/s, of the centre of mass
  std::vector<Vec3> w;                ///< [N] rad/s, in the world
  std::vector<Real> inverse_mass;     ///< [N] 1/kg, >= 0; 0: kinematic or static
  std::vector<Vec3> inverse_inertia;  ///< [N] 1/(kg m^2), >= 0, about the frame's axes; 0: does not turn

  std::size_t size() const { return x.size(); }
  void resize(std::size_t n) {
    x.resize(n, Vec3::Zero());
    q.resize(n, Vec4(0, 0, 0, 1));
    v.resize(n, Vec3::Zero());
    w.resize(n, Vec3::Zero());
    inverse_mass.resize(n, Real(1));
    inverse_inertia.resize(n, Vec3::Ones());
  }
  Quat rotation(std::size_t i) const { return Quat(q[i][3], q[i][0], q[i][1], q[i][2]); }
  Pose pose(std::size_t i) const { return {x[i], rotation(i)}; }
};

}  // namespace plenum::inline PLENUM_ABI
