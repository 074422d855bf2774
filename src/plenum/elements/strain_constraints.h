#pragma once
// Strains of triangles and tetrahedra along axes of their material, each a constraint of its own: warp, weft
// and shear of cloth can be as stiff as they are. Conventions are those of position_constraints.h. Source:
// Mueller, Chentanez, Kim & Macklin 2014, "Strain based dynamics", sections 4 and 5: of the entries of F^T F,
// those on the diagonal as lengths of the images f_a of unit axes, the others over these lengths.
#include "plenum/elements/position_constraints.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// The images of the material axes of a triangle: columns of F = (x1 - x0, x2 - x0) D^-1. rest: the rows of
/// D^-1 [1/m], D being the sides (x1 - x0, x2 - x0) in the material's plane, one after the other.
template <class T>
[[gnu::always_inline]] inline V3<T> triangle_image(const V3<T> (&x)[3], const T (&rest)[4], int axis) {
  return rest[axis] * (x[1] - x[0]) + rest[2 + axis] * (x[2] - x[0]);
}

/// Threads along one axis of a triangle keep their lengths: C = |f_a| - 1.
template <int axis>
struct TriangleStretchConstraint {
  static constexpr int points = 3, numbers = 4;
  template <class T>
  [[gnu::always_inline]] static T value(const V3<T> (&x)[3], const T (&rest)[4], V3<T> (&gradient)[3]) {
    const V3<T> f = triangle_image(x, rest, axis);
    const T length = root(dot(f, f));
    const V3<T> n = inverse_or_nothing(length) * f;
    gradient[1] = rest[axis] * n, gradient[2] = rest[2 + axis] * n;
    gradient[0] = -(gradient[1] + gradient[2]);
    return length - all_of<T>(1);
  }
  /// C of a relative elongation.
  template <class T>
  static T elongated(const T& by, const T (&)[4]) {
    return by;
  }
  /// C of what has shrunk to a part of its size.
  template <class T>
  static T shrunk(const T& to, const T (&)[4]) {
    return to - all_of<T>(1);
  }
};

/// The angle phi by which two images are no longer at right angles, as C = 2 tan(phi/2), and what it is by
/// them. sin(phi) = f_a . f_b / (|f_a| |f_b|), which the source takes, has a gradient that vanishes where the
/// two come to lie along each other, and one projection would throw them any distance apart; that of C grows,
/// and a projection turns them by sin(phi).
template <class T>
[[gnu::always_inline]] inline T sheared(const V3<T>& a, const V3<T>& b, V3<T>& by_a, V3<T>& by_b) {
  const T ia = inverse_or_nothing(root(dot(a, a))), ib = inverse_or_nothing(root(dot(b, b)));
  const V3<T> u = ia * a, v = ib * b;
  const T sine = dot(u, v), one = all_of<T>(1);
  const V3<T> across_a = v - sine * u, across_b = u - sine * v;  // both cos(phi) long
  const T cosine = root(dot(across_a, across_a));
  const T scale = (one + one) / (one + cosine), turned = scale * inverse_or_nothing(cosine);
  by_a = (ia * turned) * across_a, by_b = (ib * turned) * across_b;
  return scale * sine;
}

/// Warp and weft stay at right angles.
struct TriangleShearConstraint {
  static constexpr int points = 3, numbers = 4;
  template <class T>
  [[gnu::always_inline]] static T value(const V3<T> (&x)[3], const T (&rest)[4], V3<T> (&gradient)[3]) {
    V3<T> by_a, by_b;
    const T c = sheared(triangle_image(x, rest, 0), triangle_image(x, rest, 1), by_a, by_b);
    gradient[1] = rest[0] * by_a + rest[1] * by_b, gradient[2] = rest[2] * by_a + rest[3] * by_b;
    gradient[0] = -(gradient[1] + gradient[2]);
    return c;
  }
};

/// The area of a triangle stays: C = |(x1 - x0) cross (x2 - x0)| / 2 - A [m^2].
struct TriangleAreaConstraint {
  static constexpr int points = 3, numbers = 1;
  /// rest: A [m^2].
  template <class T>
  [[gnu::always_inline]] static T value(const V3<T> (&x)[3], const T (&rest)[1], V3<T> (&gradient)[3]) {
    const V3<T> a = x[1] - x[0], b = x[2] - x[0], n = cross(a, b);
    const T twice = root(dot(n, n)), half = all_of<T>(0.5);
    const V3<T> unit = (half * inverse_or_nothing(twice)) * n;
    gradient[1] = cross(b, unit), gradient[2] = cross(unit, a);
    gradient[0] = -(gradient[1] + gradient[2]);
    return half * twice - rest[0];
  }
  /// C of what has shrunk to a part of its size.
  template <class T>
  static T shrunk(const T& to, const T (&rest)[1]) {
    return (to * to - all_of<T>(1)) * rest[0];
  }
};

/// Fibres along one axis of a tetrahedron keep their lengths: C = |f_a| - 1. rest as of deformation().
template <int axis>
struct TetrahedronStretchConstraint {
  static constexpr int points = 4, numbers = 9;
  static constexpr bool is_solid = true;
  template <class T>
  [[gnu::always_inline]] static T value(const V3<T> (&x)[4], const T (&rest)[9], V3<T> (&gradient)[4]) {
    V3<T> f[3], by[3] = {};
    deformation(x, rest, f);
    const T length = root(dot(f[axis], f[axis]));
    by[axis] = inverse_or_nothing(length) * f[axis];
    by_points(by, rest, gradient);
    return length - all_of<T>(1);
  }
};

/// Two axes of a tetrahedron stay at right angles.
template <int a, int b>
struct TetrahedronShearConstraint {
  static constexpr int points = 4, numbers = 9;
  template <class T>
  [[gnu::always_inline]] static T value(const V3<T> (&x)[4], const T (&rest)[9], V3<T> (&gradient)[4]) {
    V3<T> f[3], by[3] = {};
    deformation(x, rest, f);
    const T c = sheared(f[a], f[b], by[a], by[b]);
    by_points(by, rest, gradient);
    return c;
  }
};

}}  // namespace plenum::PLENUM_ABI::detail
