#include "plenum/geometry/chains.h"

#include <Eigen/Geometry>
#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace plenum::inline PLENUM_ABI {
namespace {

using D3 = Vector3<double>;
using D2 = Vector2<double>;

D3 any_across(const D3& direction) {
  return direction.cross(std::abs(direction.x()) < 0.9 * direction.norm() ? D3::UnitX() : D3::UnitY())
      .normalized();
}

/// The argument where a function that falls crosses `value`, between two others.
template <class F>
double where_falls_to(double value, double low, double high, const F& f) {
  for (int k = 0; k < 100; ++k) {
    const double middle = (low + high) / 2;
    (f(middle) > value ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Pulls h across and v along gravity at the middle of a chain of n links of unit weight and length which
/// spans `span` across and along: link k, counted from the middle, then has the direction (h, v - k). They
/// are where the sum of |(h, v - k)| less (h, v) . span is least: its derivatives are what is missing at the
/// end. None if the chain would fold within a link, which then would have to push.
std::optional<D2> pulls_of(int n, const D2& span) {
  // What they are of a thread, y = A cosh(x / A).
  const double ratio = std::sqrt(double(n) * n - span[1] * span[1]) / span[0];
  const double wide =
      where_falls_to(-ratio, 1e-6, 2 * std::log(2 * ratio) + 2, [](double y) { return -std::sinh(y) / y; });
  const double middle = std::atanh(span[1] / n);
  const double first = std::sinh(middle + wide), last = std::sinh(middle - wide);
  D2 pulls = D2(1, (first + last) / 2) * (n / (first - last));
  struct Sums {
    double value;
    D2 gradient;
    Eigen::Matrix2d curvature;
  };
  const auto sums = [&](const D2& at) {
    Sums s{-at.dot(span), -span, Eigen::Matrix2d::Zero()};
    for (int i = 0; i < n; ++i) {
      const D2 along(at[0], at[1] - (i - (n - 1) / 2.0)), across(-along[1], along[0]);
      const double size = along.norm();
      s.value += size, s.gradient += along / size;
      s.curvature += across * across.transpose() / (size * size * size);
    }
    return s;
  };
  Sums now = sums(pulls);
  for (int k = 0; k < 60 && now.gradient.norm() > 1e-13 * n; ++k) {
    const D2 step = now.curvature.inverse() * now.gradient;
    double part = 1;
    for (; part > 1e-6; part /= 2) {
      const D2 next = pulls - part * step;
      if (!(next[0] > 0)) continue;
      const Sums then = sums(next);
      if (!(then.value < now.value || then.gradient.norm() < now.gradient.norm())) continue;
      pulls = next, now = then;
      break;
    }
    if (!(part > 1e-6)) break;
  }
  if (!(now.gradient.norm() < 1e-7 * n)) return std::nullopt;
  return pulls;
}

/// The joints of links with directions in the plane of `x` and `y`.
template <class F>
std::vector<Vec3> joints(const D3& from, const D3& to, int links, double link, const D3& x, const D3& y,
                         const F& direction) {
  std::vector<D3> at = {from};
  for (int i = 0; i < links; ++i) {
    const D2 along = direction(i);
    at.push_back(at.back() + link * (along[0] * x + along[1] * y));
  }
  const D3 missing = to - at.back();  // rounding
  std::vector<Vec3> out;
  for (int i = 0; i <= links; ++i)
    out.push_back((at[std::size_t(i)] + missing * (double(i) / links)).cast<Real>());
  return out;
}

}  // namespace

std::vector<Vec3> hanging_chain(const Vec3& from, const Vec3& to, int links, Real link, const Vec3& down) {
  constexpr double least = std::numbers::pi / 9;
  const D3 way = (to - from).cast<double>(), unit = way.normalized();
  D3 y = down.cast<double>().normalized();
  D3 x = unit - unit.dot(y) * y;
  const double sine = std::min(x.norm(), 1.0);
  x = sine > 1e-9 ? D3(x / sine) : any_across(y);
  if (const double off = std::asin(sine); off < least) {
    const double turn = unit.dot(y) > 0 ? off - least : least - off;
    const D3 turned = std::cos(turn) * y + std::sin(turn) * x;
    x = std::cos(turn) * x - std::sin(turn) * y, y = turned;
  }
  const double length = double(link);
  const std::optional<D2> pulls = pulls_of(links, D2(way.dot(x), way.dot(y)) / length);
  if (!pulls) return arc_chain(from, to, links, link, (y - y.dot(unit) * unit).normalized().cast<Real>());
  return joints(from.cast<double>(), to.cast<double>(), links, length, x, y, [&](int i) -> D2 {
    return D2((*pulls)[0], (*pulls)[1] - (i - (links - 1) / 2.0)).normalized();
  });
}

std::vector<Vec3> arc_chain(const Vec3& from, const Vec3& to, int links, Real link, const Vec3& side) {
  const D3 way = (to - from).cast<double>(), y = side.cast<double>();
  const double chord = way.norm() / double(link);
  const D3 x = chord > 1e-9 ? D3(way.normalized()) : any_across(y);
  // Each link is turned against the one before.
  const double turn = where_falls_to(chord, 0, 2 * std::numbers::pi / links, [&](double angle) {
    return angle > 0 ? std::sin(links * angle / 2) / std::sin(angle / 2) : double(links);
  });
  return joints(from.cast<double>(), to.cast<double>(), links, double(link), x, y, [&](int i) -> D2 {
    const double angle = ((links - 1) / 2.0 - i) * turn;
    return {std::cos(angle), std::sin(angle)};
  });
}

}  // namespace plenum::inline PLENUM_ABI
