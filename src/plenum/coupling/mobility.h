#pragma once
// How a body answers a push at one of its points.
#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

/// Inverse mass matrix [1/kg] of a body at a world point (Mirtich 1996, eq. 2.28).
inline Mat3 inverse_mass_at(const SolidBody& body, const Vec3& point) {
  if (!(body.inverse_mass > 0)) return Mat3::Zero();
  const Vec3 r = point - body.centre;
  Mat3 cross;
  cross << 0, -r.z(), r.y(), r.z(), 0, -r.x(), -r.y(), r.x(), 0;
  return (body.inverse_mass * body.free).asDiagonal().toDenseMatrix() - cross * body.inverse_inertia * cross;
}

}  // namespace plenum::inline PLENUM_ABI
