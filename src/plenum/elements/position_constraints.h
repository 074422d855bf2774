#pragma once
// Constraints C(x) = 0 on a few points, each with its gradients, over numbers or over lanes of them (V3). A
// position-based solver moves the points along the gradients until C = 0 or, with a compliance, until C is
// what the multiplier asks (Mueller et al. 2007, "Position based dynamics"; Macklin, Mueller & Chentanez
// 2016, "XPBD: position-based simulation of compliant constrained dynamics").
//
// A constraint is a structure without members: `points` of it, `numbers` that describe its rest state, and
// value(x, rest, gradients). The gradients' sum vanishes, and so does that of x_i cross g_i: internal
// constraints neither push nor turn a body as a whole. Degenerate ones have gradients of zero.
#include <type_traits>

#include "plenum/math/wide.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Two points stay apart: C = |x1 - x0| - l [m].
struct DistanceConstraint {
  static constexpr int points = 2, numbers = 1;
  /// rest: l [m] >= 0.
  template <class T>
  [[gnu::always_inline]] static T value(const V3<T> (&x)[2], const T (&rest)[1], V3<T> (&gradient)[2]) {
    const V3<T> d = x[1] - x[0];
    const T square = dot(d, d), length = root(square);
    gradient[1] = inverse_or_nothing(length) * d;
    gradient[0] = -gradient[1];
    return length - rest[0];
  }
  /// C of a relative elongation.
  template <class T>
  static T elongated(const T& by, const T (&rest)[1]) {
    return by * rest[0];
  }
  /// C of what has shrunk to a part of its size.
  template <class T>
  static T shrunk(const T& to, const T (&rest)[1]) {
    return (to - all_of<T>(1)) * rest[0];
  }
};

/// The volume of a tetrahedron stays: C = (x1 - x0) . (x2 - x0) cross (x3 - x0) / 6 - V [m^3].
struct VolumeConstraint {
  static constexpr int points = 4, numbers = 1;
  /// rest: V [m^3].
  template <class T>
  [[gnu::always_inline]] static T value(const V3<T> (&x)[4], const T (&rest)[1], V3<T> (&gradient)[4]) {
    const T sixth = all_of<T>(1.0 / 6);
    const V3<T> a = x[1] - x[0], b = x[2] - x[0], c = x[3] - x[0];
    gradient[1] = sixth * cross(b, c);
    gradient[2] = sixth * cross(c, a);
    gradient[3] = sixth * cross(a, b);
    gradient[0] = -(gradient[1] + gradient[2] + gradient[3]);
    return dot(a, gradient[1]) - rest[0];
  }
  /// The gradient vanishes where the points are on a line. In a projection they go no farther than about
  /// twice what they are apart.
  template <class T>
  [[gnu::always_inline]] static T least_response(const T& error) {
    return error * error;
  }
};

/// The deformation gradient F of a tetrahedron: its columns, the images of the axes at rest. rest: the rows
/// of the inverse of (x1 - x0, x2 - x0, x3 - x0) at rest [1/m], one after the other.
template <class T, int n>
[[gnu::always_inline]] inline void deformation(const V3<T> (&x)[4], const T (&rest)[n], V3<T> (&f)[3]) {
  const V3<T> a = x[1] - x[0], b = x[2] - x[0], c = x[3] - x[0];
  for (int k = 0; k < 3; ++k) f[k] = rest[k] * a + rest[3 + k] * b + rest[6 + k] * c;
}
/// What dC/dF, by columns, is by the four points.
template <class T, int n>
[[gnu::always_inline]] inline void by_points(const V3<T> (&p)[3], const T (&rest)[n], V3<T> (&gradient)[4]) {
  for (int i = 0; i < 3; ++i)
    gradient[i + 1] = rest[3 * i] * p[0] + rest[3 * i + 1] * p[1] + rest[3 * i + 2] * p[2];
  gradient[0] = -(gradient[1] + gradient[2] + gradient[3]);
}

/// The two constraints whose energies make a neo-Hookean solid that withstands inversion, with Lame's
/// parameters mu and lambda: mu/2 (tr F^T F + J^2 - 4 J) + lambda/2 (J - 1)^2, times V, J = det F. But for a
/// constant this is mu/2 tr F^T F + (lambda + mu)/2 (J - 1 - mu/(lambda + mu))^2, the energy of Macklin &
/// Mueller 2021, "A constraint-based formulation of stable neo-Hookean materials", eqs. 6 to 12, and Smith,
/// de Goes & Kim 2018, "Stable neo-Hookean flesh simulation", section 3.4. Theirs is shared out otherwise:
/// sqrt(tr F^T F) does not vanish at rest, where its gradient is that of the volume, and all that resists
/// shear is in its second derivatives, which XPBD leaves out (Macklin, Mueller & Chentanez 2016, eq. 10). It
/// so takes explicit steps of shear, and bursts where a wave crosses a tetrahedron in a substep. Constraints
/// that vanish at rest have what resists in the products of their gradients.
///
/// Deviatoric: C = sqrt(tr F^T F + J^2 - 4 J) with compliance 1 / (mu V). It is never negative: tr F^T F is
/// at least 3 |J|^(2/3); and zero where F turns, or is zero.
struct DeviatoricConstraint {
  static constexpr int points = 4, numbers = 9;
  template <class T>
  [[gnu::always_inline]] static T value(const V3<T> (&x)[4], const T (&rest)[9], V3<T> (&gradient)[4]) {
    V3<T> f[3];
    deformation(x, rest, f);
    const V3<T> cofactor[3] = {cross(f[1], f[2]), cross(f[2], f[0]), cross(f[0], f[1])};
    const T one = all_of<T>(1), two = all_of<T>(2), half = all_of<T>(0.5), zero{};
    const T j = dot(f[0], cofactor[0]);
    const T xx = dot(f[0], f[0]), yy = dot(f[1], f[1]), zz = dot(f[2], f[2]);
    const T far = xx + yy + zz + j * (j - all_of<T>(4));
    // Near rest the sum has lost its digits. By Green's strain G, 2 G = F^T F - 1, whose first, second and
    // third invariant are t, s and d: J^2 = 1 + 2 t + 4 s + 8 d, and with J - 1 = (J^2 - 1) / (1 + J) only
    // what is of the second order is left.
    const T a = half * (xx - one), b = half * (yy - one), c = half * (zz - one);
    const T yz = half * dot(f[1], f[2]), zx = half * dot(f[2], f[0]), xy = half * dot(f[0], f[1]);
    const T t = a + b + c, s = a * b + b * c + c * a - (yz * yz + zx * zx + xy * xy);
    const T d = a * (b * c - yz * yz) - xy * (xy * c - yz * zx) + zx * (xy * yz - b * zx);
    const T inverse = inverse_or_nothing(one + j);
    const T grown = (two * t + all_of<T>(4) * s + all_of<T>(8) * d) * inverse;
    const T near = grown * grown + (two * t * grown - all_of<T>(8) * s - all_of<T>(16) * d) * inverse;
    const T square = ((far < all_of<T>(0.1)) & (j > half)) ? near : far;
    const T size = root(square > zero ? square : zero), scale = inverse_or_nothing(size);
    const T of_cofactor = scale * (j - two);
    for (int k = 0; k < 3; ++k) f[k] = scale * f[k] + of_cofactor * cofactor[k];
    by_points(f, rest, gradient);
    return size;
  }
};
/// Hydrostatic: C = J - 1 with compliance 1 / (lambda V).
struct HydrostaticConstraint {
  static constexpr int points = 4, numbers = 9;
  template <class T>
  [[gnu::always_inline]] static T value(const V3<T> (&x)[4], const T (&rest)[9], V3<T> (&gradient)[4]) {
    V3<T> f[3];
    deformation(x, rest, f);
    const V3<T> cofactor[3] = {cross(f[1], f[2]), cross(f[2], f[0]), cross(f[0], f[1])};
    by_points(cofactor, rest, gradient);
    return dot(f[0], cofactor[0]) - all_of<T>(1);
  }
};

/// Twice the arc whose tangent is t = s / (1 + c) for a unit vector (c, s): the angle from -pi to pi. The
/// argument is halved until a short series holds to rounding.
template <class T>
[[gnu::always_inline]] inline T angle_of(const T& c, const T& s) {
  const T zero{}, one = all_of<T>(1), two = all_of<T>(2);
  const T t = s * inverse_or_nothing(one + c);  // tan(angle / 2), without bound near pi
  // Of what is beyond a quarter turn by its complement: atan t = pi/2 - atan 1/t.
  const T size = t < zero ? -t : t;
  const auto large = (size > one) | (c < all_of<T>(-0.9999999));
  const T inner = large ? ((one + c) * inverse_or_nothing(s < zero ? -s : s)) : size;
  const T u = inner / (one + root(one + inner * inner)),
          w = u / (one + root(one + u * u));  // tan of a quarter
  const T q = w * w;
  T sum = all_of<T>(1.0 / 23);
  for (int k = 21; k > 0; k -= 2) {
    if (sizeof(Real) == 4 && !std::is_same_v<T, double> && k > 11) continue;  // 0.2^13 is below rounding
    sum = all_of<T>(1.0 / k) - q * sum;
  }
  const T half = two * two * w * sum;
  const T whole = two * (large ? all_of<T>(1.57079632679489661923) - half : half);
  return s < zero ? -whole : whole;
}

/// Two triangles (a, b, c) and (b, a, d) keep their angle about the edge from a to b: C = theta - theta_0
/// [rad], theta = 0 if flat, positive if c and d are both on the side that normals point away from.
/// Gradients: Tamstorf & Grinspun 2013, "Discrete bending forces and their Jacobians", section 3.
struct DihedralConstraint {
  static constexpr int points = 4, numbers = 1;
  /// [rad] Points go along the gradient, which farther than that leads away from the circle they are to turn
  /// on: two triangles folded onto each other would be drawn out to three times their height at once, and
  /// sheets that are stiffer against bending than against being drawn out boiled by that.
  static constexpr double most_change = 0.25;
  static constexpr double period = 2 * 3.14159265358979323846;
  /// rest: theta_0 [rad] from -pi to pi. x: a, b, c, d.
  template <class T>
  [[gnu::always_inline]] static T value(const V3<T> (&x)[4], const T (&rest)[1], V3<T> (&gradient)[4]) {
    const V3<T> e = x[1] - x[0], c = x[2] - x[0], d = x[3] - x[0];
    const V3<T> n1 = cross(e, c), n2 = cross(d, e);  // twice the areas long
    const T inverse_e2 = inverse_or_nothing(dot(e, e)), length = root(dot(e, e));
    const T a1 = inverse_or_nothing(dot(n1, n1)), a2 = inverse_or_nothing(dot(n2, n2));
    const V3<T> by_c = (T{} - length * a1) * n1, by_d = (T{} - length * a2) * n2;
    const T at_c = dot(c, e) * inverse_e2, at_d = dot(d, e) * inverse_e2;  // feet along the edge
    gradient[2] = by_c, gradient[3] = by_d;
    gradient[1] = -(at_c * by_c + at_d * by_d);
    gradient[0] = -(gradient[1] + by_c + by_d);
    const T across = dot(cross(n1, n2), e) * inverse_or_nothing(length), along = dot(n1, n2);
    const T scale = inverse_or_nothing(root(across * across + along * along));
    const T angle = angle_of(along * scale, across * scale) - rest[0];
    // By the shorter way round.
    const T pi = all_of<T>(3.14159265358979323846), turn = pi + pi;
    return angle > pi ? angle - turn : angle < -pi ? angle + turn : angle;
  }
  /// The gradient of an end of the edge vanishes where the edge meets the two others at right angles, and
  /// that end may be all that is free. Points go no farther than twice what they are apart, times C.
  template <class T>
  [[gnu::always_inline]] static T least_response(const T&) {
    return all_of<T>(1);
  }
};

}}  // namespace plenum::PLENUM_ABI::detail
