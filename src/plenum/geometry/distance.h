#pragma once
// Exact signed Euclidean distances to primitives, with their gradients, in the primitives' own frames:
// centred at the origin, axis y. Negative inside. Exact distances are 1-Lipschitz: a step of length d from a
// point at distance d never passes the surface, on which conservative continuous collision rests.
//
// The normal is the unit gradient of the distance, so the closest point of the surface is x - distance
// normal. Where the gradient is not unique (the medial axis) it is one of the one-sided ones. The kernels
// have no branches the compiler cannot turn into selections, so that loops over them vectorize. Derived from
// the definition: nearest point of a segment, a rectangle or a circle in the half-plane (radius, y).
#include <algorithm>
#include <cmath>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Signed distance [m] and its unit gradient.
template <class T>
struct SignedDistance {
  T distance;
  Vector3<T> normal;
};

namespace detail {

/// Distance and gradient in the half-plane (radius, y) of a body of revolution.
template <class T>
struct ProfileDistance {
  T distance, normal_radius, normal_y;
};

/// Turns a distance in the half-plane into one in space. On the axis every radial direction serves.
template <class T, class Profile>
inline SignedDistance<T> revolved(const Vector3<T>& x, Profile&& profile) {
  const T radius = std::sqrt(x[0] * x[0] + x[2] * x[2]);
  const ProfileDistance<T> p = profile(radius, x[1]);
  const bool on_axis = !(radius > 0);
  const T scale = p.normal_radius / (on_axis ? T(1) : radius);
  return {p.distance,
          Vector3<T>(on_axis ? p.normal_radius : scale * x[0], p.normal_y, on_axis ? T(0) : scale * x[2])};
}

/// Signed distance to the rectangle |a| <= ha, |b| <= hb from a point of its quadrant a >= 0, b >= 0.
template <class T>
inline ProfileDistance<T> quadrant_distance(T a, T b, T ha, T hb) {
  const T qa = a - ha, qb = b - hb;
  const T oa = std::max(qa, T(0)), ob = std::max(qb, T(0));
  const T outside = std::sqrt(oa * oa + ob * ob);
  const T inside = std::max(qa, qb);
  const bool is_outside = outside > 0;
  const T scale = T(1) / (is_outside ? outside : T(1));
  const bool a_is_nearer = qa > qb;
  return {is_outside ? outside : inside, is_outside ? oa * scale : (a_is_nearer ? T(1) : T(0)),
          is_outside ? ob * scale : (a_is_nearer ? T(0) : T(1))};
}

}  // namespace detail

/// Half-space below the plane y = 0.
template <class T>
inline SignedDistance<T> plane_distance(const Vector3<T>& x) {
  return {x[1], Vector3<T>(0, 1, 0)};
}

/// Ball. radius [m] > 0.
template <class T>
inline SignedDistance<T> sphere_distance(const Vector3<T>& x, T radius) {
  const T length = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
  const bool at_centre = !(length > 0);
  const T scale = T(1) / (at_centre ? T(1) : length);
  return {length - radius, Vector3<T>(scale * x[0], at_centre ? T(1) : scale * x[1], scale * x[2])};
}

/// Box |x_i| <= half_extents_i [m], > 0.
template <class T>
inline SignedDistance<T> box_distance(const Vector3<T>& x, const Vector3<T>& half_extents) {
  const T qx = std::abs(x[0]) - half_extents[0], qy = std::abs(x[1]) - half_extents[1],
          qz = std::abs(x[2]) - half_extents[2];
  const T ox = std::max(qx, T(0)), oy = std::max(qy, T(0)), oz = std::max(qz, T(0));
  const T outside = std::sqrt(ox * ox + oy * oy + oz * oz);
  const T inside = std::max(qx, std::max(qy, qz));
  const bool is_outside = outside > 0;
  const T scale = T(1) / (is_outside ? outside : T(1));
  // Inside, the nearest face; ties go to x, then y. Selections of numbers, not of truth values, vectorize.
  const T face_x = qx >= inside ? T(1) : T(0);
  const T face_y = qy >= inside ? T(1) - face_x : T(0);
  const T face_z = T(1) - face_x - face_y;
  const T nx = is_outside ? ox * scale : face_x, ny = is_outside ? oy * scale : face_y,
          nz = is_outside ? oz * scale : face_z;
  return {is_outside ? outside : inside,
          Vector3<T>(x[0] < 0 ? -nx : nx, x[1] < 0 ? -ny : ny, x[2] < 0 ? -nz : nz)};
}

/// All points within `radius` [m] of the segment |y| <= half_height on the y axis. half_height [m] >= 0.
template <class T>
inline SignedDistance<T> capsule_distance(const Vector3<T>& x, T radius, T half_height) {
  const T y = x[1] - std::max(-half_height, std::min(half_height, x[1]));
  const T length = std::sqrt(x[0] * x[0] + y * y + x[2] * x[2]);
  const bool on_segment = !(length > 0);
  const T scale = T(1) / (on_segment ? T(1) : length);
  return {length - radius, Vector3<T>(on_segment ? T(1) : scale * x[0], scale * y, scale * x[2])};
}

/// Cylinder about the y axis, |y| <= half_height.
template <class T>
inline SignedDistance<T> cylinder_distance(const Vector3<T>& x, T radius, T half_height) {
  return detail::revolved(x, [&](T rho, T y) {
    auto p = detail::quadrant_distance(rho, std::abs(y), radius, half_height);
    p.normal_y = std::copysign(p.normal_y, y);
    return p;
  });
}

/// Cone about the y axis: base disc of `radius` at y = -half_height, apex at y = +half_height.
template <class T>
inline SignedDistance<T> cone_distance(const Vector3<T>& x, T radius, T half_height) {
  return detail::revolved(x, [&](T rho, T y) {
    const T height = 2 * half_height;
    const T slope2 = radius * radius + height * height;
    const T inverse_slope = T(1) / std::sqrt(slope2);
    // Outward unit normal of the slope; signed distance to its line.
    const T sr = height * inverse_slope, sy = radius * inverse_slope;
    const T up = y + half_height;
    const T to_line = sr * (rho - radius) + sy * up;
    // Nearest point of the slope, at fraction t from the rim to the apex, and of the base disc.
    const T t = ((radius - rho) * radius + up * height) / slope2;
    const T tc = std::max(T(0), std::min(T(1), t));
    const T ar = rho - radius * (1 - tc), ay = up - height * tc;
    const T br = std::max(rho - radius, T(0)), by = up;
    const T to_slope2 = ar * ar + ay * ay, to_base2 = br * br + by * by;
    const bool inside = (to_line < 0) & (up > 0);
    const bool on_base = to_base2 < to_slope2;
    // Over the interior of a face its normal is the gradient, exactly; else the direction from the nearest
    // point, which is then a rim or the apex and never passed through from inside.
    const bool over_slope = !on_base & (t > 0) & (t < 1), over_base = on_base & (rho < radius);
    const T corner = std::sqrt(on_base ? to_base2 : to_slope2);
    const bool at_corner = !(corner > 0);
    const T scale = T(1) / (at_corner ? T(1) : corner);
    const T cr = at_corner ? sr : scale * (on_base ? br : ar),
            cy = at_corner ? sy : scale * (on_base ? by : ay);
    const T sign = inside ? T(-1) : T(1);
    return detail::ProfileDistance<T>{over_slope ? to_line : (over_base ? -up : sign * corner),
                                      over_slope ? sr : (over_base ? T(0) : sign * cr),
                                      over_slope ? sy : (over_base ? T(-1) : sign * cy)};
  });
}

/// Torus about the y axis: all points within minor_radius of the circle of major_radius. major > minor > 0.
template <class T>
inline SignedDistance<T> torus_distance(const Vector3<T>& x, T major_radius, T minor_radius) {
  return detail::revolved(x, [&](T rho, T y) {
    const T a = rho - major_radius;
    const T length = std::sqrt(a * a + y * y);
    const bool on_circle = !(length > 0);
    const T scale = T(1) / (on_circle ? T(1) : length);
    return detail::ProfileDistance<T>{length - minor_radius, on_circle ? T(1) : scale * a, scale * y};
  });
}

}  // namespace plenum::inline PLENUM_ABI
