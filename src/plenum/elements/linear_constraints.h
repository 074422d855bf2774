#pragma once
// Constraints on a weighted sum of points, C = sum_i k_i x_i [m] with sum k_i = 0, which is zero at rest: the
// bending of what is straight or flat at rest. The energy |C|^2 / (2 alpha) is quadratic, so that one
// projection of XPBD is exact, and does not depend on how the body as a whole is turned.
#include <array>
#include <cmath>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// A weighted sum of points with its compliance.
template <int points>
struct LinearConstraint {
  std::array<double, points> weights;  ///< k_i, their sum is 0
  double compliance;                   ///< alpha [m/N]
};

/// Two triangles (a, b, c) and (b, a, d), flat at rest, of a plate of flexural rigidity D [N m]. Weights are
/// those of Bergou, Wardetzky, Harmon, Zorin & Grinspun 2006, "A quadratic bending model for inextensible
/// surfaces", section 3: cotangents of the angles at the edge's ends, C the edge's length times the angle.
/// alpha = (A_1 + A_2) / D, with which a sheet of equilateral triangles has the energy D/2 times the integral
/// of the square of its curvature in every direction: bonds k theta^2 / 2 have the rigidity k sqrt(3) / 2
/// (Seung & Nelson 1988, "Defects in flexible membranes with crystalline order"). Theirs is a third of that:
/// edges' shares of the curvature are right on the mean, but the mean of their squares is three times the
/// square of their mean.
template <class P>
LinearConstraint<4> isometric_bending(const P& a, const P& b, const P& c, const P& d, double rigidity) {
  const auto cotangent = [](const P& at, const P& one, const P& other) {
    const P u = one - at, v = other - at;
    return u.dot(v) / u.cross(v).norm();
  };
  const double c1 = cotangent(a, b, c), c2 = cotangent(a, b, d), c3 = cotangent(b, a, c),
               c4 = cotangent(b, a, d);
  const double areas = 0.5 * ((b - a).cross(c - a).norm() + (b - a).cross(d - a).norm());
  return {{c3 + c4, c1 + c2, -c1 - c3, -c2 - c4}, areas / rigidity};
}

/// Three neighbours of a rod, straight at rest, of flexural rigidity E I [N m^2], with segments of l1 and l2
/// [m] at rest: the energy EI/2 times the integral of the square of the curvature, lumped to the middle one
/// over (l1 + l2) / 2, where the curvature is the second divided difference.
inline LinearConstraint<3> rod_bending(double l1, double l2, double rigidity) {
  const double length = (l1 + l2) / 2;
  return {{1 / l1, -1 / l1 - 1 / l2, 1 / l2}, length / rigidity};
}

/// The twist of a rectangular cell of hx x hz [m] of a plate, of its corners (0, 0), (1, 0), (0, 1), (1, 1):
/// with bending of rows and columns as of rods, a finite-difference plate whose energy is D/2 times the
/// integral of kappa_x^2 + kappa_z^2 + 2 kappa_xz^2, that of one whose Poisson's ratio is 0, the same in
/// every direction.
inline LinearConstraint<4> cell_twist(double hx, double hz, double rigidity) {
  return {{1, -1, -1, 1}, hx * hz / (2 * rigidity)};
}

}  // namespace plenum::inline PLENUM_ABI
