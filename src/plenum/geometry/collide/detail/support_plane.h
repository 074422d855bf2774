#pragma once
// On which of many contact points a body comes to rest.
#include <cmath>
#include <limits>

#include "plenum/geometry/collide/detail/core.h"
#include "plenum/geometry/collide/manifold.h"

namespace plenum::inline PLENUM_ABI::detail {

/// Gaps as an affine function of the place.
struct SupportPlane {
  Point at, tilt;
  double level;  ///< m, at `at`
  double gap(const Point& x) const { return level + tilt.dot(x - at); }
};

/// The plane in which a body would come to rest if it were let down on the points and were heavy at `centre`:
/// below none of their gaps, and as high at the centre as that allows, which is the facet under the centre of
/// the lower convex hull of all gaps. Level at `deepest`, the least gap, if the centre is not over the
/// points: then the body tips.
///
/// The facet is found from above as the dual simplex method does: whatever point is farthest below a triangle
/// about the centre takes the place of one of its corners. The first triangle is one without points, far out
/// and far up. Nothing moves for less than `slop` [m].
inline SupportPlane support_plane(const Manifold::Point* points, int count, const Point& centre,
                                  const Point& normal, double deepest, double slop) {
  const SupportPlane level{centre, Point(0, 0, 0), deepest};
  const Point u = normal.unitOrthogonal(), v = normal.cross(u);
  struct Corner {
    double x, y, gap;
  };
  const auto corner_of = [&](const Manifold::Point& p) {
    const Point from = p.x.cast<double>() - centre;
    return Corner{u.dot(from), v.dot(from), static_cast<double>(p.separation)};
  };
  double extent = slop, highest = 0;
  for (int i = 0; i < count; ++i) {
    const Corner p = corner_of(points[i]);
    extent = std::max({extent, std::abs(p.x), std::abs(p.y)});
    highest = std::max(highest, p.gap - deepest);
  }
  const double far = 8 * extent, up = deepest + 1e6 * (highest + slop);
  Corner corners[3] = {{0, far, up}, {-0.8660254 * far, -0.5 * far, up}, {0.8660254 * far, -0.5 * far, up}};
  // Weights of the corners that make up the centre: the areas opposite to them.
  const auto weigh = [](const Corner* c, double* weight) {
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
      const Corner &a = c[(k + 1) % 3], &b = c[(k + 2) % 3];
      weight[k] = a.x * b.y - a.y * b.x;
      sum += weight[k];
    }
    for (int k = 0; k < 3; ++k) weight[k] = sum != 0 ? weight[k] / sum : -1;
  };
  SupportPlane plane = level;
  constexpr int most_steps = 64;
  for (int step = 0; step < most_steps; ++step) {
    const double ax = corners[1].x - corners[0].x, ay = corners[1].y - corners[0].y,
                 bx = corners[2].x - corners[0].x, by = corners[2].y - corners[0].y,
                 a = corners[1].gap - corners[0].gap, b = corners[2].gap - corners[0].gap,
                 area = ax * by - ay * bx;
    if (area == 0) return level;
    const double tx = (a * by - b * ay) / area, ty = (b * ax - a * bx) / area;
    plane.tilt = tx * u + ty * v;
    plane.level = corners[0].gap - tx * corners[0].x - ty * corners[0].y;
    int lowest = -1;
    double least = -slop;
    for (int i = 0; i < count; ++i)
      if (const double above =
              static_cast<double>(points[i].separation) - plane.gap(points[i].x.cast<double>());
          above < least) {
        least = above;
        lowest = i;
      }
    if (lowest < 0) break;
    // The triangle that is left still has the centre in it.
    int worst = 0;
    double best = -std::numeric_limits<double>::infinity();
    for (int k = 0; k < 3; ++k) {
      Corner trial[3] = {corners[0], corners[1], corners[2]};
      trial[k] = corner_of(points[lowest]);
      double weight[3];
      weigh(trial, weight);
      if (const double inside = std::min({weight[0], weight[1], weight[2]}); inside > best) {
        best = inside;
        worst = k;
      }
    }
    corners[worst] = corner_of(points[lowest]);
  }
  for (const Corner& c : corners)
    if (c.gap == up) return level;
  return plane;
}

}  // namespace plenum::inline PLENUM_ABI::detail
