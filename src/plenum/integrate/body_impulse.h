#pragma once
// What impulses do to rigid bodies.
#include "plenum/integrate/free_rotation.h"
#include "plenum/state/boundary.h"
#include "plenum/state/frames.h"

namespace plenum::inline PLENUM_ABI {

/// Gives frame i an impulse. One that comes after the body has gone for `lead` moves it on by what that would
/// have changed on the way; one that came as it went says by what it has.
inline void take_impulse(Frames& f, std::size_t i, const BodyImpulse& j) {
  if (f.inverse_mass[i] == 0 && f.inverse_inertia[i].isZero(0)) return;
  const Vec3 dv = f.inverse_mass[i] * j.impulse;
  const Vec3 dw = world_inertia<Real>(f.rotation(i), f.inverse_inertia[i]) *
                  ((j.point - f.x[i]).cross(j.impulse) + j.couple);
  f.v[i] += dv, f.w[i] += dw;
  const Vec3 shift = j.lead * dv + j.shift, turn = j.lead * dw + j.turn;
  if (shift.isZero(0) && turn.isZero(0)) return;
  f.x[i] += shift;
  f.q[i] = turned(f.rotation(i), turn).coeffs();
}

}  // namespace plenum::inline PLENUM_ABI
