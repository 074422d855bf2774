#include "plenum/geometry/ray.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "plenum/geometry/detail/polynomial_roots.h"
#include "plenum/geometry/distance.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Point = Vector3<double>;

/// Keeps the first of the candidate surface points that lies on the ray.
class First {
 public:
  explicit First(const Ray& ray) : ray_(ray), best_(ray.t_max) {}
  /// The outward normal need not have unit length.
  void consider(double t, const Point& normal) {
    if (!(t >= ray_.t_min) || !(t <= best_)) return;
    best_ = t;
    normal_ = normal;
    found_ = true;
  }
  std::optional<RayHit> hit() const {
    if (!found_) return std::nullopt;
    return RayHit{Real(best_), normal_.normalized().cast<Real>()};
  }

 private:
  const Ray& ray_;
  double best_;
  Point normal_ = Point::Zero();
  bool found_ = false;
};

/// Calls visit(t) for the real roots of a t^2 + 2 b t + c; without cancellation.
template <class Visit>
void quadratic_roots(double a, double b, double c, Visit&& visit) {
  if (a == 0) {
    if (b != 0) visit(-c / (2 * b));
    return;
  }
  const double discriminant = b * b - a * c;
  if (discriminant < 0) return;
  const double q = -(b + std::copysign(std::sqrt(discriminant), b));
  visit(q / a);
  if (q != 0) visit(c / q);
}

/// The ray in double, moved along itself to the point nearest the origin, where quadratics are well
/// conditioned however far the ray began.
struct Centred {
  explicit Centred(const Ray& ray) : d(ray.direction.cast<double>()) {
    const Point from = ray.origin.cast<double>();
    shift = -from.dot(d) / d.squaredNorm();
    o = from + shift * d;
  }
  Point at(double t) const { return o + t * d; }
  Point o, d;
  double shift;  // parameter of the ray at o
};

void consider_ball(First& first, const Centred& r, double height, double radius, auto&& keep) {
  const Point o = r.o - Point(0, height, 0);
  quadratic_roots(r.d.squaredNorm(), o.dot(r.d), o.squaredNorm() - radius * radius, [&](double t) {
    const Point p = r.at(t);
    if (keep(p)) first.consider(t + r.shift, p - Point(0, height, 0));
  });
}

/// a b - c d with its true sign, so that the two triangles of an edge agree on which side the ray passes,
/// whatever the compiler fuses. Products of floats are exact in double; for doubles, Kahan's algorithm
/// (Jeannerod, Louvet & Muller 2013) has a relative error of at most 1.5 ulp.
double difference_of_products(Real a, Real b, Real c, Real d) {
  if constexpr (std::is_same_v<Real, float>) {
    return double(a) * double(b) - double(c) * double(d);
  } else {
    const double cd = c * d;
    return std::fma(double(a), double(b), -cd) + std::fma(-double(c), double(d), cd);
  }
}

void consider_tube(First& first, const Centred& r, double radius, double half_height) {
  const double a = r.d[0] * r.d[0] + r.d[2] * r.d[2], b = r.o[0] * r.d[0] + r.o[2] * r.d[2];
  quadratic_roots(a, b, r.o[0] * r.o[0] + r.o[2] * r.o[2] - radius * radius, [&](double t) {
    const Point p = r.at(t);
    if (std::abs(p[1]) <= half_height) first.consider(t + r.shift, Point(p[0], 0, p[2]));
  });
}

void consider_disc(First& first, const Centred& r, double radius, double height, double up) {
  if (r.d[1] == 0) return;
  const double t = (height - r.o[1]) / r.d[1];
  const Point p = r.at(t);
  if (p[0] * p[0] + p[2] * p[2] <= radius * radius) first.consider(t + r.shift, Point(0, up, 0));
}

}  // namespace

WatertightRay::WatertightRay(const Ray& ray) : ray_(ray) {
  ray.direction.cwiseAbs().maxCoeff(&kz_);
  kx_ = (kz_ + 1) % 3;
  ky_ = (kx_ + 1) % 3;
  if (ray.direction[kz_] < 0) std::swap(kx_, ky_);  // keeps the winding of triangles
  sx_ = ray.direction[kx_] / ray.direction[kz_];
  sy_ = ray.direction[ky_] / ray.direction[kz_];
  sz_ = Real(1) / ray.direction[kz_];
  // The divisor is chosen, not the quotient: compilers divide all three at once before they choose.
  const auto is_zero = ray.direction.array() == 0;
  inverse_ = is_zero.select(Vec3::Ones(), ray.direction).cwiseInverse();
  inverse_ = is_zero.select(Vec3::Zero(), inverse_).eval();
}

std::optional<WatertightRay::Hit> WatertightRay::intersect(const Vec3& a, const Vec3& b, const Vec3& c,
                                                           Real t_max) const {
  const Vec3 pa = a - ray_.origin, pb = b - ray_.origin, pc = c - ray_.origin;
  const Real ax = pa[kx_] - sx_ * pa[kz_], ay = pa[ky_] - sy_ * pa[kz_];
  const Real bx = pb[kx_] - sx_ * pb[kz_], by = pb[ky_] - sy_ * pb[kz_];
  const Real cx = pc[kx_] - sx_ * pc[kz_], cy = pc[ky_] - sy_ * pc[kz_];
  const double u = difference_of_products(cx, by, cy, bx);
  const double v = difference_of_products(ax, cy, ay, cx);
  const double w = difference_of_products(bx, ay, by, ax);
  if ((u < 0 || v < 0 || w < 0) && (u > 0 || v > 0 || w > 0)) return std::nullopt;
  const double determinant = u + v + w;
  if (determinant == 0) return std::nullopt;
  const double t =
      (u * double(sz_ * pa[kz_]) + v * double(sz_ * pb[kz_]) + w * double(sz_ * pc[kz_])) / determinant;
  if (!(t >= ray_.t_min && t <= t_max)) return std::nullopt;
  const double scale = 1 / determinant;
  return Hit{Real(t), Vec3(Real(u * scale), Real(v * scale), Real(w * scale))};
}

bool WatertightRay::meets(const Vec3& low, const Vec3& high, Real t_max, Real& entry) const {
  // Slabs. A ray along one is within it for good or never; nothing is divided by 0, which would trap.
  Real near = ray_.t_min, far = t_max;
  for (int axis = 0; axis < 3; ++axis) {
    if (inverse_[axis] == 0) {
      if (ray_.origin[axis] < low[axis] || ray_.origin[axis] > high[axis]) return false;
      continue;
    }
    const Real t0 = (low[axis] - ray_.origin[axis]) * inverse_[axis];
    const Real t1 = (high[axis] - ray_.origin[axis]) * inverse_[axis];
    const Real first = t0 < t1 ? t0 : t1, last = t0 < t1 ? t1 : t0;
    near = first > near ? first : near;
    far = last < far ? last : far;
  }
  entry = near;
  // Twice the rounding error of the three operations, Woop et al. 2013 section 4.
  constexpr Real slack = 1 + 6 * std::numeric_limits<Real>::epsilon();
  return near <= far * (far > 0 ? slack : 1 / slack);
}

std::optional<RayHit> intersect_triangle(const Ray& ray, const Vec3& a, const Vec3& b, const Vec3& c) {
  const auto hit = WatertightRay(ray).intersect(a, b, c, ray.t_max);
  if (!hit) return std::nullopt;
  const Point pa = a.cast<double>(), pb = b.cast<double>(), pc = c.cast<double>();
  return RayHit{hit->t, (pb - pa).cross(pc - pa).normalized().cast<Real>(), -1, hit->barycentric};
}

std::optional<RayHit> intersect_plane(const Ray& ray) {
  First first(ray);
  if (ray.direction[1] != 0) first.consider(-double(ray.origin[1]) / ray.direction[1], Point::UnitY());
  return first.hit();
}

std::optional<RayHit> intersect_sphere(const Ray& ray, Real radius) {
  First first(ray);
  consider_ball(first, Centred(ray), 0, radius, [](const Point&) { return true; });
  return first.hit();
}

std::optional<RayHit> intersect_box(const Ray& ray, const Vec3& half_extents) {
  First first(ray);
  const Centred r(ray);
  const Point half = half_extents.cast<double>();
  for (int axis = 0; axis < 3; ++axis) {
    if (r.d[axis] == 0) continue;
    const int u = (axis + 1) % 3, v = (axis + 2) % 3;
    for (const double side : {-1.0, 1.0}) {
      const double t = (side * half[axis] - r.o[axis]) / r.d[axis];
      const Point p = r.at(t);
      if (std::abs(p[u]) <= half[u] && std::abs(p[v]) <= half[v])
        first.consider(t + r.shift, side * Point::Unit(axis));
    }
  }
  return first.hit();
}

std::optional<RayHit> intersect_capsule(const Ray& ray, Real radius, Real half_height) {
  First first(ray);
  const Centred r(ray);
  consider_tube(first, r, radius, half_height);
  consider_ball(first, r, half_height, radius, [&](const Point& p) { return p[1] >= half_height; });
  consider_ball(first, r, -half_height, radius, [&](const Point& p) { return p[1] <= -half_height; });
  return first.hit();
}

std::optional<RayHit> intersect_cylinder(const Ray& ray, Real radius, Real half_height) {
  First first(ray);
  const Centred r(ray);
  consider_tube(first, r, radius, half_height);
  consider_disc(first, r, radius, half_height, 1);
  consider_disc(first, r, radius, -half_height, -1);
  return first.hit();
}

std::optional<RayHit> intersect_cone(const Ray& ray, Real radius, Real half_height) {
  First first(ray);
  const Centred r(ray);
  // Slope: x^2 + z^2 = k^2 (h - y)^2, with k = radius / height, for -h <= y <= h.
  const double k = radius / (2.0 * half_height), h = half_height, depth = h - r.o[1];
  const double a = r.d[0] * r.d[0] + r.d[2] * r.d[2] - k * k * r.d[1] * r.d[1];
  const double b = r.o[0] * r.d[0] + r.o[2] * r.d[2] + k * k * depth * r.d[1];
  const double c = r.o[0] * r.o[0] + r.o[2] * r.o[2] - k * k * depth * depth;
  quadratic_roots(a, b, c, [&](double t) {
    const Point p = r.at(t);
    if (std::abs(p[1]) <= h) first.consider(t + r.shift, Point(p[0], k * k * (h - p[1]), p[2]));
  });
  consider_disc(first, r, radius, -half_height, -1);
  return first.hit();
}

std::optional<RayHit> intersect_torus(const Ray& ray, Real major_radius, Real minor_radius) {
  First first(ray);
  const Centred r(ray);
  const double R = major_radius, q = minor_radius, reach = R + q;
  if (r.o.norm() > reach) return std::nullopt;
  // (|p|^2 + R^2 - r^2)^2 = 4 R^2 (x^2 + z^2) along p = o + t d with o . d = 0, in units of t |d|.
  const double speed = r.d.norm();
  const Point d = r.d / speed;
  const double m = r.o.squaredNorm() + R * R - q * q, f = 4 * R * R;
  const std::array<double, 5> quartic = {m * m - f * (r.o[0] * r.o[0] + r.o[2] * r.o[2]),
                                         -2 * f * (r.o[0] * d[0] + r.o[2] * d[2]),
                                         2 * m - f * (d[0] * d[0] + d[2] * d[2]), 0, 1};
  const auto roots = detail::polynomial_roots<4>(quartic, -reach, reach);
  for (std::size_t i = 0; i < roots.count; ++i) {
    const double t = roots.values[i];
    first.consider(t / speed + r.shift, torus_distance<double>(r.o + t * d, R, q).normal);
  }
  return first.hit();
}

}  // namespace plenum::inline PLENUM_ABI
