#include "plenum/geometry/height_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plenum/base/error.h"
#include "plenum/geometry/detail/require.h"
#include "plenum/geometry/triangle_distance.h"

namespace plenum::inline PLENUM_ABI {

HeightField::HeightField(Index columns, Index rows, Real spacing, std::span<const Real> heights)
    : columns_(columns), rows_(rows), spacing_(spacing), heights_(heights.begin(), heights.end()) {
  if (columns < 2 || rows < 2 || std::int64_t(columns) * rows > (std::int64_t(1) << 29))
    throw Error(Problem{.key = "columns",
                        .what = "and rows make no height field",
                        .value = fmt::format("{} x {}", columns, rows),
                        .allowed = "2 or more each, at most 2^29 points"});
  detail::require_length("spacing", spacing);
  if (heights.size() != std::size_t(columns) * std::size_t(rows))
    throw Error(Problem{.key = "heights",
                        .what = "has the wrong length",
                        .value = fmt::format("{}", heights.size()),
                        .allowed = fmt::format("{} ({} rows of {})", std::size_t(columns) * std::size_t(rows),
                                               rows, columns)});
  for (std::size_t i = 0; i < heights.size(); ++i)
    if (!std::isfinite(heights[i]))
      throw Error(Problem{.key = fmt::format("heights[{}]", i),
                          .what = "is not a height",
                          .value = fmt::format("{}", heights[i]),
                          .allowed = "finite"});

  const Index triangles = 2 * (columns - 1) * (rows - 1);
  sides_.reserve(std::size_t(triangles));
  for (Index t = 0; t < triangles; ++t) {
    Index3 v;
    Vec3 x[3], q[3];
    fetch(t, v, x);
    bool has[3];
    for (int k = 0; k < 3; ++k) {
      const Index other = opposite(t, k);
      has[k] = other >= 0;
      q[k] = has[k] ? vertex(other) : Vec3(Vec3::Zero());
    }
    sides_.push_back(detail::side_bits(x, q, has));
  }
  std::size_t total = 0;
  for (Index c = columns - 1, r = rows - 1;; c = (c + 1) / 2, r = (r + 1) / 2) {
    levels_.push_back({c, r, total});
    total += std::size_t(c) * std::size_t(r);
    if (c == 1 && r == 1) break;
  }
  extremes_.resize(total);
  for (Index k = 0; k + 1 < rows; ++k)
    for (Index i = 0; i + 1 < columns; ++i) {
      const Real a = vertex(i, k)[1], b = vertex(i + 1, k)[1], c = vertex(i, k + 1)[1],
                 d = vertex(i + 1, k + 1)[1];
      extremes_[std::size_t(k * (columns - 1) + i)] = Vec2(std::min({a, b, c, d}), std::max({a, b, c, d}));
    }
  for (Index level = 1; level < Index(levels_.size()); ++level) {
    const Level &here = levels_[std::size_t(level)], &below = levels_[std::size_t(level - 1)];
    for (Index k = 0; k < here.rows; ++k)
      for (Index i = 0; i < here.columns; ++i) {
        Vec2 e(std::numeric_limits<Real>::infinity(), -std::numeric_limits<Real>::infinity());
        each_child({level, i, k}, [&](const Cell& child) {
          const Vec2& x = extremes_[below.first + std::size_t(child.k * below.columns + child.i)];
          e = Vec2(std::min(e[0], x[0]), std::max(e[1], x[1]));
        });
        extremes_[here.first + std::size_t(k * here.columns + i)] = e;
      }
  }
}

Index2 HeightField::cells_between(Real low, Real high, Index points) const {
  const Real middle = Real(0.5) * Real(points - 1), last = Real(points - 1);
  // Rounding of the grid's coordinates must not lose a cell.
  const Real slack = 4 * std::numeric_limits<Real>::epsilon() * last;
  const Real from = std::clamp(low / spacing_ + middle - slack, Real(0), last),
             to = std::clamp(high / spacing_ + middle + slack, Real(0), last);
  const Index first = std::min(static_cast<Index>(from), points - 2);
  return {first, std::max(std::min(static_cast<Index>(to) + 1, points - 1), first)};
}

Aabb HeightField::box_of(const Cell& c) const {
  const Level& level = levels_[std::size_t(c.level)];
  const Vec2& e = extremes_[level.first + std::size_t(c.k * level.columns + c.i)];
  const Index i0 = c.i << c.level, k0 = c.k << c.level;
  const Index i1 = std::min((c.i + 1) << c.level, columns_ - 1),
              k1 = std::min((c.k + 1) << c.level, rows_ - 1);
  const Vec3 low = vertex(i0, k0), high = vertex(i1, k1);
  return {{low[0], e[0], low[2]}, {high[0], e[1], high[2]}};
}

Aabb HeightField::bounds() const {
  return box_of({Index(levels_.size()) - 1, 0, 0});
}

Index3 HeightField::corners(Index triangle) const {
  const Index cell = triangle / 2, i = cell % (columns_ - 1), k = cell / (columns_ - 1);
  const Index a = k * columns_ + i, far = a + columns_ + 1;
  return triangle % 2 == 0 ? Index3(a, a + columns_, far) : Index3(a, far, a + 1);
}

void HeightField::fetch(Index triangle, Index3& v, Vec3 (&x)[3]) const {
  const Index cell = triangle / 2, k = cell / (columns_ - 1), i = cell - k * (columns_ - 1);
  const bool lower = triangle % 2 == 0;
  const Index a = k * columns_ + i;
  v = lower ? Index3(a, a + columns_, a + columns_ + 1) : Index3(a, a + columns_ + 1, a + 1);
  x[0] = vertex(i, k);
  x[1] = lower ? vertex(i, k + 1) : vertex(i + 1, k + 1);
  x[2] = lower ? vertex(i + 1, k + 1) : vertex(i + 1, k);
}

Index HeightField::opposite(Index triangle, int side) const {
  const Index cell = triangle / 2, i = cell % (columns_ - 1), k = cell / (columns_ - 1);
  const auto at = [&](Index column, Index row) {
    return column < 0 || row < 0 || column >= columns_ || row >= rows_ ? Index(-1) : row * columns_ + column;
  };
  // Half 2 c has the sides (i,k)-(i,k+1), (i,k+1)-(i+1,k+1) and the diagonal; half 2 c + 1 the diagonal,
  // (i+1,k+1)-(i+1,k), (i+1,k)-(i,k).
  if (triangle % 2 == 0) return side == 0 ? at(i - 1, k) : side == 1 ? at(i + 1, k + 2) : at(i + 1, k);
  return side == 0 ? at(i, k + 1) : side == 1 ? at(i + 2, k + 1) : at(i, k - 1);
}

bool HeightField::covers(Real x, Real z) const {
  const Real half_x = Real(0.5) * Real(columns_ - 1) * spacing_,
             half_z = Real(0.5) * Real(rows_ - 1) * spacing_;
  return std::abs(x) <= half_x && std::abs(z) <= half_z;
}

Index HeightField::triangle_at(Real x, Real z) const {
  const auto locate = [&](Real at, Index points, Real& within) {
    const Real s = std::clamp(at / spacing_ + Real(0.5) * Real(points - 1), Real(0), Real(points - 1));
    const Index cell = std::min(static_cast<Index>(s), points - 2);
    within = s - Real(cell);
    return cell;
  };
  Real u, w;
  const Index i = locate(x, columns_, u), k = locate(z, rows_, w);
  return 2 * (k * (columns_ - 1) + i) + (w >= u ? 0 : 1);
}

SignedDistance<Real> HeightField::signed_distance(const Vec3& x) const {
  using Point = Vector3<double>;
  const Point p = x.cast<double>();
  const auto corner = [&](Index v) { return Point(vertex(v).cast<double>()); };
  double best = std::numeric_limits<double>::infinity();
  Point closest = Point::Zero(), normal = Point::UnitY();
  const auto consider = [&](Index t) {
    const Index3 v = corners(t);
    const Point a = corner(v[0]), b = corner(v[1]), c = corner(v[2]);
    const Point q = closest_on_triangle<double>(p, a, b, c).point;
    const double d = (q - p).squaredNorm();
    if (d < best) {
      best = d;
      closest = q;
      normal = (b - a).cross(c - a).normalized();
    }
  };
  // The triangle over or under the point bounds the search.
  const Index under = triangle_at(x[0], x[2]);
  consider(under);
  const Index3 v = corners(under);
  const Point a = corner(v[0]), n = (corner(v[1]) - a).cross(corner(v[2]) - a);
  const bool below = covers(x[0], x[2]) && n.dot(p - a) < 0;
  Stack stack;
  stack.push({Index(levels_.size()) - 1, 0, 0});
  while (stack.size > 0) {
    const Cell c = stack.pop();
    if (static_cast<double>(c.key) >= best) continue;
    if (c.level == 0) {
      const Index cell = c.k * (columns_ - 1) + c.i;
      consider(2 * cell);
      consider(2 * cell + 1);
      continue;
    }
    // The nearest child on top.
    const int first = stack.size;
    each_child(c, [&](Cell child) {
      // Rounding must not hide a box: its key is a little less.
      child.key = box_of(child).squared_distance(x) * (1 - 8 * std::numeric_limits<Real>::epsilon());
      if (static_cast<double>(child.key) < best) stack.push(child);
    });
    std::sort(stack.cells + first, stack.cells + stack.size,
              [](const Cell& l, const Cell& r) { return l.key > r.key; });
  }
  const double distance = std::sqrt(best);
  const double scale = static_cast<double>(bounds().size().maxCoeff());
  Point gradient = normal;
  if (distance > 1e-12 * scale) gradient = (below ? closest - p : p - closest) / distance;
  return {static_cast<Real>(below ? -distance : distance), gradient.cast<Real>()};
}

std::optional<RayHit> HeightField::intersect(const Ray& ray) const {
  const WatertightRay watertight(ray);
  std::optional<RayHit> found;
  Real t_max = ray.t_max, entry;
  Stack stack;
  Cell root{Index(levels_.size()) - 1, 0, 0};
  const auto meets = [&](Cell& c) {
    const Aabb box = box_of(c);
    if (!watertight.meets(box.low, box.high, t_max, entry)) return false;
    c.key = entry;
    return true;
  };
  if (meets(root)) stack.push(root);
  while (stack.size > 0) {
    const Cell c = stack.pop();
    if (c.key > t_max) continue;
    if (c.level == 0) {
      const Index cell = c.k * (columns_ - 1) + c.i;
      for (Index t = 2 * cell; t < 2 * cell + 2; ++t) {
        const Index3 v = corners(t);
        const Vec3 p = vertex(v[0]), q = vertex(v[1]), r = vertex(v[2]);
        const auto hit = watertight.intersect(p, q, r, t_max);
        if (!hit || (found && hit->t >= t_max)) continue;
        t_max = hit->t;
        found = RayHit{hit->t, (q - p).cross(r - p).normalized(), t, hit->barycentric};
      }
      continue;
    }
    const int first = stack.size;
    each_child(c, [&](Cell child) {
      if (meets(child)) stack.push(child);
    });
    std::sort(stack.cells + first, stack.cells + stack.size,
              [](const Cell& l, const Cell& r) { return l.key > r.key; });
  }
  return found;
}

TriangleMesh height_field_mesh(const HeightField& field) {
  TriangleMesh mesh;
  const Index points = field.columns() * field.rows(),
              triangles = 2 * (field.columns() - 1) * (field.rows() - 1);
  for (Index v = 0; v < points; ++v) mesh.x.push_back(field.vertex(v));
  for (Index t = 0; t < triangles; ++t) mesh.triangles.push_back(field.corners(t));
  return mesh;
}

}  // namespace plenum::inline PLENUM_ABI
