#pragma once
// The volume that a closed surface encloses, as one constraint on all of its vertices: what balloons hold.
#include <cmath>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// The gradient [m^2] of the volume by the vertex at x: dV/dx = 1/6 sum (a - x) cross (b - x) over its
/// triangles (x, a, b), a third of their area vectors. ring: the vertices around it, counter-clockwise seen
/// from outside, at(v) [m] where each is. Over a closed surface gradients sum to zero, as do x cross dV/dx,
/// and sum x . dV/dx = 3 V, V being homogeneous of the third degree. Source: Mueller, Heidelberger, Hennix &
/// Ratcliff 2007, "Position based dynamics", section 4.4.
template <class P, class Ring, class At>
P volume_gradient(const P& x, const Ring& ring, At&& at) {
  P sum = P::Zero();
  if (ring.empty()) return sum;
  P before = at(ring.back()) - x;
  for (const auto v : ring) {
    const P next = at(v) - x;
    sum += before.cross(next);
    before = next;
  }
  return sum / 6;
}

/// [Pa] An ideal gas of the given amount n R T [J] at a constant temperature, against what presses from
/// outside [Pa]: Boyle's law, p V = n R T. volume [m^3] > 0.
inline double gas_pressure(double volume, double amount, double outside) {
  return amount / volume - outside;
}

/// [m^3] Where the pressure of that gas takes a volume that grows by `yield` [m^3/Pa] > 0 with each pascal
/// from what it is without: the only V >= 0 with V = free + yield (amount / V - outside).
inline double gas_volume(double free, double yield, double amount, double outside) {
  const double b = free - yield * outside, c = yield * amount;  // V^2 - b V - c = 0
  const double root = std::sqrt(b * b + 4 * c);
  if (b >= 0) return (b + root) / 2;
  return c > 0 ? 2 * c / (root - b) : 0;
}

}  // namespace plenum::inline PLENUM_ABI
