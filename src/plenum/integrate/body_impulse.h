#pragma once
// What impulses do to rigid bodies.
#include "plenum/integrate/free_rotation.h"
#include "plenum/state/boundary.h"
#include "plenum/state/frames.h"

namespace plenum::inline PLENUM_ABI {

/// The angular velocity [rad/s] of a body that is turned from the attitude q0 to q1, so that its angular
/// momentum stays. inverse [1/(kg m^2)]: about its axes, > 0.
inline Vec3 turned_spin(const Vec3& w, const Quat& q0, const Quat& q1, const Vec3& inverse) {
  const Vec3 momentum = q0 * Vec3((q0.conjugate() * w).cwiseQuotient(inverse));
  return q1 * Vec3((q1.conjugate() * momentum).cwiseProduct(inverse));
}

/// Gives frame i, of the inverse masses [1/kg] along the axes of the world and the inverse inertia
/// [1/(kg m^2)] in the world, an impulse. One that comes after the body has gone for `lead` moves it on by
/// what that would have changed on the way; one that came as it went says by what it has. Turned so, a long
/// body that kept its angular velocity would not keep its angular momentum; what `is_locked` about an axis
/// does not.
inline void take_impulse(Frames& f, std::size_t i, const BodyImpulse& j, const Vec3& inverse_masses,
                         const Mat3& inverse_inertia, bool is_locked) {
  const Vec3 dv = inverse_masses.cwiseProduct(j.impulse);
  const Vec3 dw = inverse_inertia * ((j.point - f.x[i]).cross(j.impulse) + j.couple);
  f.v[i] += dv, f.w[i] += dw;
  const Vec3 shift = j.lead * dv + j.shift, turn = j.lead * dw + j.turn;
  if (shift.isZero(0) && turn.isZero(0)) return;
  f.x[i] += shift;
  const Quat before = f.rotation(i), now = turned(before, turn);
  f.q[i] = now.coeffs();
  if (!is_locked && f.inverse_inertia[i].minCoeff() > 0)
    f.w[i] = turned_spin(f.w[i], before, now, f.inverse_inertia[i]);
}

/// The same, by what the frame says of itself.
inline void take_impulse(Frames& f, std::size_t i, const BodyImpulse& j) {
  if (f.inverse_mass[i] == 0 && f.inverse_inertia[i].isZero(0)) return;
  take_impulse(f, i, j, Vec3::Constant(f.inverse_mass[i]),
               world_inertia<Real>(f.rotation(i), f.inverse_inertia[i]), false);
}

}  // namespace plenum::inline PLENUM_ABI
