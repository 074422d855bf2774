#pragma once
// Strict constraints C(x) = 0 on points: a fixed distance between two of them, and a wire that one of them
// slides on. Each gives its value, its gradient, and its curvature along a motion, v^T (d^2C/dx^2) v, which
// is the part of C'' = grad C . a + v^T H v that does not depend on the acceleration (Witkin & Baraff 2001,
// "Physically based modeling: constrained dynamics", section 3).
#include <Eigen/Geometry>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

template <class T>
struct ConstraintTerm {
  T value;              ///< C [m]
  Vector3<T> gradient;  ///< dC/dx, about a unit vector near C = 0; of the second point where there are two
  T curvature;          ///< v^T H v [m/s^2]
};

/// Points i and j stay `length` apart: C = (|d|^2 - L^2) / (2 L), d = x_j - x_i, with gradient d/L by x_j and
/// -d/L by x_i, and curvature |v_j - v_i|^2 / L. The quadratic form is smooth where the points meet. d [m];
/// relative_velocity = v_j - v_i [m/s]; length [m] > 0.
template <class T>
ConstraintTerm<T> distance_constraint(const Vector3<T>& d, const Vector3<T>& relative_velocity, T length) {
  return {(d.squaredNorm() - length * length) / (2 * length), d / length,
          relative_velocity.squaredNorm() / length};
}

enum class WireShape : int { line, circle, helix };
constexpr std::array<const char*, 3> names_of(WireShape) {
  return {"line", "circle", "helix"};
}

/// A curve in space as the meeting of two surfaces. axis: direction of a line, normal of a circle's plane,
/// axis of a helix. radial, at right angles to it: where the helix passes at the height of the origin.
template <class T>
struct Wire {
  WireShape shape = WireShape::line;
  Vector3<T> origin = Vector3<T>::Zero();   ///< [m] on the line; centre of the circle; on the helix' axis
  Vector3<T> axis = Vector3<T>::UnitY();    ///< unit
  Vector3<T> radial = Vector3<T>::UnitX();  ///< unit, at right angles to axis
  T radius = 1;                             ///< [m] > 0, of circle and helix
  T pitch = 1;                              ///< [m] != 0, rise of a helix in one turn; right-handed if > 0

  template <class U>
  Wire<U> cast() const {
    return {shape,
            origin.template cast<U>(),
            axis.template cast<U>(),
            radial.template cast<U>(),
            static_cast<U>(radius),
            static_cast<U>(pitch)};
  }
};

/// Which points are bound, and by what.
template <class T>
struct ConstraintSet {
  std::vector<Index2> rods;      ///< [R] pairs at a fixed distance
  std::vector<T> rod_length;     ///< [R] m, > 0
  std::vector<Index> beads;      ///< [B] points on wires
  std::vector<Index> bead_wire;  ///< [B] < number of wires
  std::vector<Wire<T>> wires;

  bool empty() const { return rods.empty() && beads.empty(); }
};

/// The two constraints that hold a point x [m] with velocity v [m/s] on a wire. With (p, q, z) the
/// coordinates along radial, axis x radial and axis:
///   line:    C = p, q
///   circle:  C = z, (|x - o|^2 - R^2) / (2 R)
///   helix:   C = (p^2 + q^2 - R^2) / (2 R), q cos(kz) - p sin(kz),  k = 2 pi / pitch;
/// the second of a helix is R sin(angle - kz) on its cylinder, zero on the curve and on the one opposite.
template <class T>
std::array<ConstraintTerm<T>, 2> wire_constraints(const Wire<T>& wire, const Vector3<T>& x,
                                                  const Vector3<T>& v) {
  const Vector3<T>&e1 = wire.radial, &e3 = wire.axis, e2 = e3.cross(e1), r = x - wire.origin;
  const T p = r.dot(e1), q = r.dot(e2), z = r.dot(e3), R = wire.radius;
  switch (wire.shape) {
    case WireShape::line:
      return {{{p, e1, T(0)}, {q, e2, T(0)}}};
    case WireShape::circle:
      return {{{z, e3, T(0)}, {(r.squaredNorm() - R * R) / (2 * R), r / R, v.squaredNorm() / R}}};
    case WireShape::helix:
      break;
  }
  const T k = T(2 * std::numbers::pi) / wire.pitch, c = std::cos(k * z), s = std::sin(k * z);
  const T vp = v.dot(e1), vq = v.dot(e2), vz = v.dot(e3);
  const ConstraintTerm<T> cylinder{(p * p + q * q - R * R) / (2 * R), (p * e1 + q * e2) / R,
                                   (vp * vp + vq * vq) / R};
  const ConstraintTerm<T> sheet{q * c - p * s, c * e2 - s * e1 - k * (q * s + p * c) * e3,
                                -2 * k * vz * (c * vp + s * vq) - k * k * (q * c - p * s) * vz * vz};
  return {{cylinder, sheet}};
}

}  // namespace plenum::inline PLENUM_ABI
