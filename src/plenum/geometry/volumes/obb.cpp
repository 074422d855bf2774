#include "plenum/geometry/volumes/obb.h"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "plenum/base/error.h"
#include "plenum/geometry/convex_hull.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Point = Vector3<double>;
constexpr Real epsilon = std::numeric_limits<Real>::epsilon();

/// First and second moments of a distribution of mass.
struct Moments {
  double mass = 0;
  Point first = Point::Zero();
  Matrix3<double> second = Matrix3<double>::Zero();

  void add(const Point& p) {
    mass += 1;
    first += p;
    second += p * p.transpose();
  }
  /// A triangle; the source's section 4.
  void add(const Point& p, const Point& q, const Point& r) {
    const double area = 0.5 * (q - p).cross(r - p).norm();
    const Point middle = (p + q + r) / 3;
    mass += area;
    first += area * middle;
    second += area / 12 *
              (9 * middle * middle.transpose() + p * p.transpose() + q * q.transpose() + r * r.transpose());
  }
  /// Columns: unit and right-handed, by increasing variance.
  Matrix3<double> principal_axes() const {
    const Point mean = first / mass;
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(second / mass - mean * mean.transpose());
    Matrix3<double> axes = solver.eigenvectors();
    axes.col(2) = axes.col(0).cross(axes.col(1));
    return axes;
  }
};

using Point2 = Vector2<double>;

/// The convex polygon around points. Source: Andrew 1979, "Another efficient algorithm for convex hulls in
/// two dimensions". Sorts the points.
std::vector<Point2> convex_polygon(std::vector<Point2>& x) {
  std::sort(x.begin(), x.end(),
            [](const Point2& a, const Point2& b) { return a[0] < b[0] || (a[0] == b[0] && a[1] < b[1]); });
  const auto turns_left = [](const Point2& a, const Point2& b, const Point2& c) {
    return (b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0]);
  };
  std::vector<Point2> polygon;
  for (int side = 0; side < 2; ++side) {  // below from left to right, then back above
    const std::size_t begin = polygon.size();
    for (const Point2& p : x) {
      while (polygon.size() >= begin + 2 && !turns_left(polygon[polygon.size() - 2], polygon.back(), p))
        polygon.pop_back();
      polygon.push_back(p);
    }
    polygon.pop_back();  // it begins the other side
    std::reverse(x.begin(), x.end());
  }
  return polygon;
}

/// Of the surface of the convex hull; of the points themselves if that has no area.
Moments hull_moments(std::span<const Vec3> x) {
  const Point origin = x[0].cast<double>();  // so that a far one costs nothing
  Moments surface;
  if (x.size() > 3) try {
      // Axes vary little with the last corners of a hull, and these cost most.
      constexpr std::size_t most_vertices = 64;
      const TriangleMesh hull = triangulate(convex_hull(x, most_vertices));
      std::vector<Point> p;
      for (const Vec3& v : hull.x) p.push_back(v.cast<double>() - origin);
      for (const Index3& t : hull.triangles) surface.add(p[t[0]], p[t[1]], p[t[2]]);
    } catch (const Error&) {  // the points have no volume
    }
  if (surface.mass > 0) return surface;
  Moments points;
  for (const Vec3& v : x) points.add(v.cast<double>() - origin);
  const Matrix3<double> axes = points.principal_axes();
  const Point u = axes.col(2), v = axes.col(1);
  std::vector<Point2> flat;
  for (const Vec3& p : x) {
    const Point d = p.cast<double>() - origin;
    flat.emplace_back(u.dot(d), v.dot(d));
  }
  const std::vector<Point2> polygon = convex_polygon(flat);
  const auto at = [&](std::size_t i) -> Point { return polygon[i][0] * u + polygon[i][1] * v; };
  for (std::size_t i = 2; i < polygon.size(); ++i) surface.add(at(0), at(i - 1), at(i));
  return surface.mass > 0 ? surface : points;
}

/// The box along given axes around the points origin + p(0) ... p(n - 1).
template <class PointOf>
Obb box_along(const Mat3& axes, const Point& origin, std::size_t n, const PointOf& p) {
  const Matrix3<double> to_box = axes.cast<double>().transpose();
  Point low = to_box * p(0), high = low;
  for (std::size_t i = 1; i < n; ++i) {
    const Point at = to_box * p(i);
    low = low.cwiseMin(at);
    high = high.cwiseMax(at);
  }
  const Point middle = to_box.transpose() * (0.5 * (low + high));
  const Vec3 centre = (origin + middle).cast<Real>();
  const Point rounded = to_box * (centre.cast<double>() - origin);
  Point half = (high - rounded).cwiseMax(rounded - low);
  // Axes are unit and at right angles to within epsilon, and the sums of three products here, in corners and
  // in tests of points round by a few epsilon of the diagonal.
  half.array() += 16 * static_cast<double>(epsilon) * half.norm();
  return {centre, axes, half.cast<Real>() + Vec3::Constant(std::numeric_limits<Real>::min())};
}

}  // namespace

template <>
Obb fit<Obb>(std::span<const Vec3> x) {
  const Mat3 axes = hull_moments(x).principal_axes().cast<Real>();
  const Point origin = x[0].cast<double>();
  return box_along(axes, origin, x.size(),
                   [&](std::size_t i) -> Point { return x[i].cast<double>() - origin; });
}

Obb merge(const Obb& a, const Obb& b) {
  const Point origin = a.centre.cast<double>();
  Point corners[16];
  for (std::size_t i = 0; i < 16; ++i) {
    const Obb& box = i < 8 ? a : b;
    const Point t(i & 1 ? box.half[0] : -box.half[0], i & 2 ? box.half[1] : -box.half[1],
                  i & 4 ? box.half[2] : -box.half[2]);
    corners[i] = box.centre.cast<double>() - origin + box.axes.cast<double>() * t;
  }
  const auto point = [&](std::size_t i) -> const Point& { return corners[i]; };
  Moments both;
  for (const Point& p : corners) both.add(p);
  Obb best = box_along(both.principal_axes().cast<Real>(), origin, 16, point);
  for (const Mat3* axes : {&a.axes, &b.axes}) {
    const Obb other = box_along(*axes, origin, 16, point);
    if (surface_area(other) < surface_area(best)) best = other;
  }
  return best;
}

bool overlap(const Obb& a, const Obb& b) {
  // b in the frame of a: placed at t, with axes r.
  const Vec3 t = a.axes.transpose() * (b.centre - a.centre);
  const Mat3 r = a.axes.transpose() * b.axes;
  const Mat3 abs_r = r.cwiseAbs();
  const Vec3 &ha = a.half, &hb = b.half;
  // More than all roundings of a line below while |t| is up to the sum of the half diagonals; beyond that the
  // boxes are apart. It also keeps edges that are nearly parallel, whose cross product is all rounding, from
  // separating anything.
  const Real slack = 16 * epsilon * (ha.sum() + hb.sum());
  for (int i = 0; i < 3; ++i)
    if (std::abs(t[i]) > ha[i] + abs_r.row(i).dot(hb) + slack) return false;
  for (int j = 0; j < 3; ++j)
    if (std::abs(r.col(j).dot(t)) > abs_r.col(j).dot(ha) + hb[j] + slack) return false;
  for (int i = 0; i < 3; ++i) {
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      const Real reach_a = ha[i1] * abs_r(i2, j) + ha[i2] * abs_r(i1, j);
      const Real reach_b = hb[j1] * abs_r(i, j2) + hb[j2] * abs_r(i, j1);
      if (std::abs(t[i2] * r(i1, j) - t[i1] * r(i2, j)) > reach_a + reach_b + slack) return false;
    }
  }
  return true;
}

bool contains(const Obb& a, const Vec3& p) {
  const Vec3 at = a.axes.transpose() * (p - a.centre);
  return (at.cwiseAbs().array() <= a.half.array()).all();
}

double volume(const Obb& a) {
  return 8 * a.half.cast<double>().prod();
}

double surface_area(const Obb& a) {
  const Vector3<double> h = a.half.cast<double>();
  return 8 * (h[0] * h[1] + h[1] * h[2] + h[2] * h[0]);
}

}  // namespace plenum::inline PLENUM_ABI
