#pragma once
// The push of moving air on a triangle.
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// What the air does to a flat piece of surface, and how that changes with its velocity.
template <class T>
struct AirForce {
  Vector3<T> force;  ///< F [N]
  // An implicit step solves (mass / h + across I + w w^T) dv = F.
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
/// For implicit steps of h on a piece of mass m (`lightness` h/m, 0 for explicit ones): a free piece would be
/// dragged by D = rho A C_D s / 2, and turned by the lift, which takes nothing from |u|. A lift that were
/// added as it is at the start would make energy of every turn, and one whose derivative were added as a
/// symmetric matrix would as well, since it is skew. So the step is made to give a free piece what that
/// motion is:
///
///   u1 = R u / (1 + h D / m),  R a turn by p with sin(p) = q s z / (|u| sqrt(s^2 + q^2 (1 + z)^2)),
///   z = rho A C_L |u| h / (2 m),  q = |u| sin t,
///
/// the turn towards grazing flow of d tan(t')/dt = -z/h tan(t'), t' = 90 degrees - t, by an implicit step.
/// With e along u and n across it, along the lift, F = F_drag + F_lift + m/h (1 - cos p) |u| e, across = D
/// and w w^T = m/h (F_lift h / (m |u| sin p) - 1) (1 + h D / m) n n^T solve to u1, which is never faster than
/// u; the third term of F, the lift's share along u in a turn, is of second order. What is held feels F.
///
/// area_vector: A times either unit normal [m^2]; relative_velocity: of the air, seen from the piece [m/s];
/// density [kg/m^3]; drag, lift: coefficients >= 0; lightness [s/kg] >= 0.
template <class T>
AirForce<T> air_force(const Vector3<T>& area_vector, const Vector3<T>& relative_velocity, T density, T drag,
                      T lift, T lightness = T(0)) {
  const Vector3<T> zero = Vector3<T>::Zero();
  const T area = area_vector.norm(), speed = relative_velocity.norm();
  if (!(area > 0) || !(speed > 0)) return {zero, T(0), zero};
  Vector3<T> m = area_vector / area;
  T s = relative_velocity.dot(m);
  if (s < 0) s = -s, m = -m;
  const Vector3<T> along = relative_velocity / speed;
  const T scale = T(0.5) * density * area, slope = scale * lift * speed, resistance = scale * drag * s;
  const Vector3<T> across = m - (s / speed) * along;  // as long as sin(t)
  const T sine = across.norm(), q = speed * sine;
  AirForce<T> air{resistance * relative_velocity + (slope * s) * across, resistance, zero};
  const T z = slope * lightness, longer = std::sqrt(s * s + (q + q * z) * (q + q * z));
  if (!(lightness > 0) || !(z * q * s > 0)) return air;
  const T ratio = speed / longer;  // of the turn's sine to what the lift would give without it
  const T turn = std::min(z * (s / speed) * sine * ratio, T(1)), cosine = std::sqrt(1 - turn * turn);
  air.force += (turn * turn / (1 + cosine) * speed / lightness) * along;
  air.w =
      (std::sqrt(std::max(1 / ratio - 1, T(0)) * (1 + resistance * lightness) / lightness) / sine) * across;
  return air;
}

}  // namespace plenum::inline PLENUM_ABI
