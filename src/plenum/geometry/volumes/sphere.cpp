#include "plenum/geometry/volumes/sphere.h"

#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace plenum::inline PLENUM_ABI {
namespace {

using Point = Vector3<double>;

/// Rounded up, so that squares of single precision, off by less than 4 epsilon, hide nothing.
Real rounded_up(double radius) {
  constexpr double epsilon = std::numeric_limits<Real>::epsilon();
  return static_cast<Real>(radius * (1 + 4 * epsilon)) + std::numeric_limits<Real>::min();
}

/// A sphere and the points that determine it.
struct Ball {
  Point centre = Point::Zero();
  double radius = -1;
  std::array<Point, 4> support;
  int count = 0;

  double excess(const Point& p) const { return (p - centre).norm() - radius; }
};

/// The smallest sphere with all of these 1 to 4 points on its boundary: its centre p0 + sum_i t_i q_i, with
/// q_i = p_i - p0, is as far from each, 2 q_i . (centre - p0) = q_i . q_i. Radius -1 if they depend on each
/// other.
Ball ball_through(std::span<const Point> p) {
  Ball ball;
  ball.count = static_cast<int>(p.size());
  std::copy(p.begin(), p.end(), ball.support.begin());
  const int n = ball.count - 1;
  Matrix3<double> gram = Matrix3<double>::Identity();
  Point right = Point::Zero();
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) gram(i, j) = 2 * (p[i + 1] - p[0]).dot(p[j + 1] - p[0]);
    right[i] = 0.5 * gram(i, i);
  }
  const Eigen::FullPivLU<Eigen::Matrix3d> lu(gram);
  if (!lu.isInvertible()) return ball;
  const Point t = lu.solve(right);
  Point offset = Point::Zero();
  for (int i = 0; i < n; ++i) offset += t[i] * (p[i + 1] - p[0]);
  ball.centre = p[0] + offset;
  ball.radius = offset.norm();
  return ball;
}

/// The smallest sphere around the support of `old` and a point outside of `old`: the smallest of those
/// through the point and some of the others that holds them all.
Ball enlarged(const Ball& old, const Point& p) {
  Ball best;
  for (int chosen = 0; chosen < 1 << old.count; ++chosen) {
    std::array<Point, 5> through = {p};
    std::size_t n = 1;
    for (int i = 0; i < old.count; ++i)
      if (chosen >> i & 1) through[n++] = old.support[static_cast<std::size_t>(i)];
    if (n > 4) continue;
    const Ball ball = ball_through({through.data(), n});
    if (ball.radius < 0 || (best.radius >= 0 && ball.radius >= best.radius)) continue;
    bool holds = true;
    for (int i = 0; i < old.count; ++i)
      holds &= ball.excess(old.support[static_cast<std::size_t>(i)]) <= 1e-12 * ball.radius;
    if (holds) best = ball;
  }
  return best;
}

}  // namespace

template <>
Sphere fit<Sphere>(std::span<const Vec3> x) {
  const Point origin = x[0].cast<double>();  // so that a far one costs nothing
  Ball ball;
  ball.radius = 0;
  ball.count = 1;
  ball.support[0].setZero();
  for (;;) {
    std::size_t farthest = 0;
    double most = -1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double d = (x[i].cast<double>() - origin - ball.centre).squaredNorm();
      if (d > most) most = d, farthest = i;
    }
    const Point p = x[farthest].cast<double>() - origin;
    if (ball.excess(p) <= 0) break;
    const Ball larger = enlarged(ball, p);
    if (!(larger.radius > ball.radius)) break;  // what is left is rounding
    ball = larger;
  }
  const Vec3 centre = (origin + ball.centre).cast<Real>();
  double radius2 = 0;
  for (const Vec3& p : x)
    radius2 = std::max(radius2, (p.cast<double>() - centre.cast<double>()).squaredNorm());
  return {centre, rounded_up(std::sqrt(radius2))};
}

Sphere merge(const Sphere& a, const Sphere& b) {
  const Point between = b.centre.cast<double>() - a.centre.cast<double>();
  const double distance = between.norm(), ra = a.radius, rb = b.radius;
  if (distance + rb <= ra) return a;
  if (distance + ra <= rb) return b;
  const double radius = 0.5 * (distance + ra + rb);
  const Point exact = a.centre.cast<double>() + (radius - ra) / distance * between;
  const Vec3 centre = exact.cast<Real>();
  const auto farthest = [&](const Sphere& s) {
    return (s.centre.cast<double>() - centre.cast<double>()).norm() + s.radius;
  };
  return {centre, rounded_up(std::max(farthest(a), farthest(b)))};
}

double volume(const Sphere& a) {
  return 4 * std::numbers::pi / 3 * std::pow(static_cast<double>(a.radius), 3);
}

double surface_area(const Sphere& a) {
  return 4 * std::numbers::pi * std::pow(static_cast<double>(a.radius), 2);
}

}  // namespace plenum::inline PLENUM_ABI
