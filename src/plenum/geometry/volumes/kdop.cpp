#include "plenum/geometry/volumes/kdop.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace plenum::inline PLENUM_ABI {
namespace {

using Point = Vector3<double>;

template <int k>
Kdop<k> fit_slabs(std::span<const Vec3> x) {
  constexpr Real infinity = std::numeric_limits<Real>::infinity(),
                 epsilon = std::numeric_limits<Real>::epsilon();
  constexpr auto normals = kdop_directions<k>();
  Kdop<k> a;
  a.low.fill(infinity);
  a.high.fill(-infinity);
  for (const Vec3& p : x) {
    // Two sums round by at most epsilon / 2 of |x| + |y| + |z| each; a single coordinate is exact.
    const Real rounding = 2 * epsilon * p.lpNorm<1>();
    for (std::size_t i = 0; i < a.slabs; ++i) {
      const Real at = Real(normals[i][0]) * p[0] + Real(normals[i][1]) * p[1] + Real(normals[i][2]) * p[2];
      const Real margin = i < 3 ? Real(0) : rounding;
      a.low[i] = std::min(a.low[i], at - margin);
      a.high[i] = std::max(a.high[i], at + margin);
    }
  }
  return a;
}

/// The part of a convex polygon where n . x <= offset. Source: Sutherland & Hodgman 1974, "Reentrant polygon
/// clipping".
void cut(std::vector<Point>& polygon, std::vector<Point>& scratch, const Point& n, double offset) {
  scratch.clear();
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Point &a = polygon[i], &b = polygon[(i + 1) % polygon.size()];
    const double above_a = n.dot(a) - offset, above_b = n.dot(b) - offset;
    if (above_a <= 0) scratch.push_back(a);
    if ((above_a < 0 && above_b > 0) || (above_a > 0 && above_b < 0))
      scratch.push_back(a + above_a / (above_a - above_b) * (b - a));
  }
  std::swap(polygon, scratch);
}

struct Measures {
  double volume = 0, area = 0;
};

/// Each face is a large square in its plane cut by all other planes; with the middle of the box it spans a
/// pyramid.
template <int k>
Measures measure(const Kdop<k>& a) {
  constexpr auto normals = kdop_directions<k>();
  struct Plane {
    Point n;
    double offset;
  };
  std::array<Plane, k> planes;
  Point middle, size;
  for (int i = 0; i < 3; ++i) {
    middle[i] = 0.5 * (double(a.low[i]) + double(a.high[i]));
    size[i] = double(a.high[i]) - double(a.low[i]);
  }
  for (std::size_t i = 0; i < a.slabs; ++i) {
    const Point d(normals[i][0], normals[i][1], normals[i][2]);
    const double length = d.norm(), at = d.dot(middle);
    planes[2 * i] = {d / length, (a.high[i] - at) / length};
    planes[2 * i + 1] = {-d / length, (at - a.low[i]) / length};
  }
  Measures sum;
  std::vector<Point> polygon, scratch;
  for (const Plane& face : planes) {
    const Point u = 2 * size.norm() * face.n.unitOrthogonal(), v = face.n.cross(u);
    const Point foot = face.offset * face.n;
    polygon = {foot + u + v, foot - u + v, foot - u - v, foot + u - v};
    for (const Plane& other : planes)
      if (&other != &face) cut(polygon, scratch, other.n, other.offset);
    Point twice = Point::Zero();
    for (std::size_t i = 2; i < polygon.size(); ++i)
      twice += (polygon[i - 1] - polygon[0]).cross(polygon[i] - polygon[0]);
    const double area = 0.5 * twice.norm();
    sum.area += area;
    sum.volume += area * face.offset / 3;
  }
  return sum;
}

}  // namespace

template <>
Kdop<14> fit<Kdop<14>>(std::span<const Vec3> x) {
  return fit_slabs<14>(x);
}
template <>
Kdop<18> fit<Kdop<18>>(std::span<const Vec3> x) {
  return fit_slabs<18>(x);
}
template <>
Kdop<26> fit<Kdop<26>>(std::span<const Vec3> x) {
  return fit_slabs<26>(x);
}

template <int k>
double volume(const Kdop<k>& a) {
  return measure(a).volume;
}
template <int k>
double surface_area(const Kdop<k>& a) {
  return measure(a).area;
}

template double volume(const Kdop<14>&);
template double volume(const Kdop<18>&);
template double volume(const Kdop<26>&);
template double surface_area(const Kdop<14>&);
template double surface_area(const Kdop<18>&);
template double surface_area(const Kdop<26>&);

}  // namespace plenum::inline PLENUM_ABI
