#include "plenum/geometry/polygon.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

namespace plenum::inline PLENUM_ABI {
namespace {

using Point2 = std::array<double, 2>;

/// Twice the signed area of a triangle; positive if it turns left.
double turn(const Point2& a, const Point2& b, const Point2& c) {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

/// Newell's normal: the polygon's area vector, twice, whatever its shape (Sutherland et al. 1974).
Vector3<double> newell_normal(std::span<const Vec3> corners) {
  const Vector3<double> origin = corners[0].cast<double>();
  Vector3<double> sum = Vector3<double>::Zero();
  for (std::size_t i = 1; i + 1 < corners.size(); ++i)
    sum += (corners[i].cast<double>() - origin).cross(corners[i + 1].cast<double>() - origin);
  return sum;
}

}  // namespace

Index PolygonTriangulator::column_of(double x) const {
  const double at = (x - low_[0]) * scale_[0];
  return at > 0 ? static_cast<Index>(std::min(at, double(side_ - 1))) : 0;  // NaN goes to 0
}
Index PolygonTriangulator::row_of(double y) const {
  const double at = (y - low_[1]) * scale_[1];
  return at > 0 ? static_cast<Index>(std::min(at, double(side_ - 1))) : 0;
}

void PolygonTriangulator::sort_reflex_corners() {
  // Corners lie on a curve, which meets about four cells a side; a few corners in each, and memory of a few
  // times theirs.
  const double count = double(reflex_.size());
  side_ = std::max<Index>(1, static_cast<Index>(std::min({count / 16, 4 * std::sqrt(count), 2048.0})));
  low_ = p_[0];
  Point2 high = p_[0];
  for (const Point2& q : p_)
    for (int k = 0; k < 2; ++k) {
      low_[k] = std::min(low_[k], q[k]);
      high[k] = std::max(high[k], q[k]);
    }
  for (int k = 0; k < 2; ++k) scale_[k] = high[k] > low_[k] ? side_ / (high[k] - low_[k]) : 0;
  const auto cell_of = [&](Index r) { return row_of(p_[r][1]) * side_ + column_of(p_[r][0]); };
  cell_begin_.assign(std::size_t(side_) * std::size_t(side_) + 1, 0);
  for (const Index r : reflex_) ++cell_begin_[cell_of(r) + 1];
  for (std::size_t c = 1; c < cell_begin_.size(); ++c) cell_begin_[c] += cell_begin_[c - 1];
  cell_items_.resize(reflex_.size());
  for (std::size_t i = reflex_.size(); i-- > 0;) {
    // Filled from the back of each cell; the starts are mended below.
    cell_items_[--cell_begin_[cell_of(reflex_[i]) + 1]] = reflex_[i];
  }
  // Every entry has moved down to its own cell's start: shift them by one.
  for (std::size_t c = 0; c + 1 < cell_begin_.size(); ++c) cell_begin_[c] = cell_begin_[c + 1];
  cell_begin_.back() = static_cast<Index>(reflex_.size());
}

bool PolygonTriangulator::is_ear(Index corner, bool strict) {
  const Index ia = before_[corner], ic = next_[corner];
  const Point2 &a = p_[ia], &b = p_[corner], &c = p_[ic];
  const double area = turn(a, b, c);
  if (strict ? !(area > 0) : !(area >= 0)) return false;
  // Only a reflex corner can be the innermost one in the triangle.
  const Index left = column_of(std::min({a[0], b[0], c[0]})), right = column_of(std::max({a[0], b[0], c[0]}));
  const Index low = row_of(std::min({a[1], b[1], c[1]})), high = row_of(std::max({a[1], b[1], c[1]}));
  for (Index row = low; row <= high; ++row) {
    const std::uint64_t cells = std::uint64_t(right - left) + 1;
    if (work_left_ < cells) return work_left_ = 0, false;
    work_left_ -= cells;
    const Index begin = cell_begin_[row * side_ + left], end = cell_begin_[row * side_ + right + 1];
    for (Index i = begin; i < end; ++i) {
      const Index r = cell_items_[i];
      if (r == ia || r == corner || r == ic || next_[r] < 0) continue;
      if (work_left_ == 0) return false;
      --work_left_;
      const Point2& q = p_[r];
      if (q == a || q == b || q == c) continue;  // a slit touches itself
      if (turn(a, b, q) >= 0 && turn(b, c, q) >= 0 && turn(c, a, q) >= 0) return false;
    }
  }
  return true;
}

std::span<const Index3> PolygonTriangulator::triangulate(std::span<const Vec3> corners) {
  const auto n = static_cast<Index>(corners.size());
  triangles_.clear();
  const auto fan = [&](Index first) {
    for (Index i = next_[first]; next_[i] != first; i = next_[i]) triangles_.emplace_back(first, i, next_[i]);
  };
  next_.resize(corners.size());
  before_.resize(corners.size());
  for (Index i = 0; i < n; ++i) {
    next_[i] = i + 1 < n ? i + 1 : 0;
    before_[i] = i > 0 ? i - 1 : n - 1;
  }
  const Vector3<double> normal = newell_normal(corners);
  if (n == 3 || !(normal.squaredNorm() > 0)) {
    fan(0);
    return triangles_;
  }
  const Vector3<double> w = normal.normalized(), u = w.unitOrthogonal(), v = w.cross(u);
  p_.resize(corners.size());
  for (Index i = 0; i < n; ++i) {
    const Vector3<double> d = corners[i].cast<double>() - corners[0].cast<double>();
    p_[i] = {d.dot(u), d.dot(v)};
  }
  reflex_.clear();
  for (Index i = 0; i < n; ++i)
    if (!(turn(p_[before_[i]], p_[i], p_[next_[i]]) > 0)) reflex_.push_back(i);
  if (reflex_.empty()) {
    fan(0);
    return triangles_;
  }
  sort_reflex_corners();
  Index at = 0, left = n;
  Index failures = 0;
  bool strict = true;
  while (left > 3) {
    if (is_ear(at, strict)) {
      const Index a = before_[at], c = next_[at];
      triangles_.emplace_back(a, at, c);
      next_[a] = c;
      before_[c] = a;
      next_[at] = -1;  // gone
      at = next_[c];   // leaving the new corner alone for a turn makes fewer slivers
      --left;
      failures = 0;
      strict = true;
      continue;
    }
    if (work_left_ == 0) return {};
    --work_left_;
    at = next_[at];
    if (++failures < left) continue;
    if (!strict) break;
    strict = false;  // only collinear corners are left to clip, or the polygon crosses itself
    failures = 0;
  }
  fan(at);
  return triangles_;
}

}  // namespace plenum::inline PLENUM_ABI
