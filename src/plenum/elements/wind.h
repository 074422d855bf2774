#pragma once
// The push of moving air on a triangle.
#include <Eigen/Geometry>
#include <cmath>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// What the air does to a flat piece of surface, and how that changes with its velocity.
template <class T>
struct AirForce {
  Vector3<T> force;  ///< F [N]
  // F falls by no more than (across I + w w^T) dv when the surface speeds up by dv; positive semi-definite.
  T across;      ///< [N s/m], >= 0
  Vector3<T> w;  ///< [(N s/m)^1/2]
};

/// Air of relative velocity u on a flat piece of area A with unit normal m on its lee side (u . m >= 0). The
/// drag coefficient refers to the area seen from upwind, A cos(t), t between u and m; the lift, which is at
/// right angles to u, is that of a thin plate: linear in the incidence at grazing flow and zero in frontal
/// flow, for which sin(t) cos(t) is the simplest form (Hoerner & Borst 1985, "Fluid-dynamic lift", chapter 4,
/// section 1):
///
///   drag  = rho/2 C_D (A cos t) |u| u
///   lift  = rho/2 C_L (A cos t) |u| (|u| m - cos t u)
///
/// With s = u . m = |u| cos t, F = rho A s / 2 [(C_D - C_L s/|u|) u + C_L |u| m]. F . u = rho A C_D s |u|^2 /
/// 2 is never negative: in still air the force takes energy. No choice of the coefficients is a pure pressure
/// along m at every incidence: at C_D = C_L the part of F along the surface is (1 - c) sin(t) / (1 + c - c^2)
/// of the part along m, c = cos(t); 0 in frontal flow, 0.35 at 60 degrees, 1 in the limit of grazing flow.
///
/// For implicit steps, F is bounded by B u with B = rho A / 2 [C_D s I + (C_D s + C_L |u|) m m^T] along m and
/// across it, so that (mass + h B) dv = h F never turns u around, however light the surface or long the step.
///
/// area_vector: A times either unit normal [m^2]; relative_velocity: of the air, seen from the piece [m/s];
/// density [kg/m^3]; drag, lift: coefficients >= 0.
template <class T>
AirForce<T> air_force(const Vector3<T>& area_vector, const Vector3<T>& relative_velocity, T density, T drag,
                      T lift) {
  const T area = area_vector.norm(), speed = relative_velocity.norm();
  if (!(area > 0) || !(speed > 0)) return {Vector3<T>::Zero(), T(0), Vector3<T>::Zero()};
  Vector3<T> m = area_vector / area;
  T s = relative_velocity.dot(m);
  if (s < 0) s = -s, m = -m;
  const T scale = T(0.5) * density * area;
  return {scale * s * ((drag - lift * s / speed) * relative_velocity + lift * speed * m), scale * drag * s,
          std::sqrt(scale * (drag * s + lift * speed)) * m};
}

}  // namespace plenum::inline PLENUM_ABI
