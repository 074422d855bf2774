#include "plenum/geometry/spline.h"

#include <algorithm>
#include <cmath>

namespace plenum::inline PLENUM_ABI {
namespace {
constexpr int parts_between = 256;
}

Spline::Spline(std::vector<Vec3> points) : points_(std::move(points)) {
  const int steps = parts_between * (int(points_.size()) - 1);
  length_.assign(std::size_t(steps) + 1, 0);
  const auto at = [&](int k) { return place(Real(k) / parts_between); };
  for (int k = 1; k <= steps; ++k)
    length_[std::size_t(k)] = length_[std::size_t(k - 1)] + (at(k).first - at(k - 1).first).norm();
}

/// At t in [0, points - 1].
std::pair<Vec3, Vec3> Spline::place(Real t) const {
  const auto last = Index(points_.size()) - 1;
  const Index k = std::clamp(Index(std::floor(t)), 0, last - 1);
  const Real u = t - Real(k);
  const auto at = [&](Index i) -> Vec3 {
    if (i < 0) return 2 * points_[0] - points_[1];
    if (i > last) return 2 * points_[std::size_t(last)] - points_[std::size_t(last - 1)];
    return points_[std::size_t(i)];
  };
  const Vec3 p0 = at(k - 1), p1 = at(k), p2 = at(k + 1), p3 = at(k + 2);
  const Vec3 a = (p2 - p0) / 2, b = p0 - Real(2.5) * p1 + 2 * p2 - p3 / 2,
             c = (Real(3) * (p1 - p2) + p3 - p0) / 2;
  return {p1 + u * (a + u * (b + u * c)), a + u * (2 * b + u * 3 * c)};
}

std::pair<Vec3, Vec3> Spline::at(Real s) const {
  const auto found = std::upper_bound(length_.begin(), length_.end() - 1, s);
  const auto k = std::max<std::ptrdiff_t>(found - length_.begin(), 1);
  const Real low = length_[std::size_t(k - 1)], high = length_[std::size_t(k)];
  return place((Real(k - 1) + (s - low) / std::max(high - low, Real(1e-9))) / parts_between);
}

}  // namespace plenum::inline PLENUM_ABI
