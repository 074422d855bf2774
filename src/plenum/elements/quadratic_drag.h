#pragma once
// Drag of fast flow on the samples of a surface, which they and the medium around them share.
//
// F = 1/2 rho C A |w| w with the medium's velocity w seen from the sample (Newton; coefficients C of spheres
// and of plates across the flow: Hoerner 1965, "Fluid-dynamic drag", chapter 3). A sample of mass m and the
// medium around it, of mass M, share their momentum, and w falls as
//   dw/dt = -k |w| w,  k = 1/2 rho C A (1/m + 1/M),  so that  w(h) = w / (1 + k |w| h):
// stable for any step, however light the one and however heavy the other is.
#include <numbers>

#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

inline Real radius_of(const Samples& samples, std::size_t i) {
  return samples.radii.empty() ? samples.radius : samples.radii[i];
}

/// C A [m^2] of a sample; cloth is pushed across itself, and of w [m/s] only that is left.
inline Real drag_area(const Samples& samples, std::size_t i, Real of_spheres, Real of_plates, Vec3& w) {
  if (!samples.area.empty()) {
    const Vec3& n = samples.normal[i];
    w = w.dot(n) * n;
    return of_plates * samples.area[i];
  }
  const Real radius = radius_of(samples, i);
  return of_spheres * std::numbers::pi_v<Real> * radius * radius;
}

/// [N s] on the sample in a step of h [s], (w - w(h)) / (1/m + 1/M), in a medium of that density [kg/m^3];
/// `both` [1/kg] is 1/m + 1/M.
inline Vec3 drag_impulse(const Vec3& w, Real density, Real area, Real both, Real h) {
  const Real rate = density / 2 * area * w.norm();  // [kg/s]
  return rate * h / (1 + rate * both * h) * w;
}

}  // namespace plenum::inline PLENUM_ABI
