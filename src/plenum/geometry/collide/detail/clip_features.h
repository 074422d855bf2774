#pragma once
// Contact points where a feature of one core faces a feature of another.
#include <algorithm>
#include <cmath>

#include "plenum/geometry/collide/detail/clip.h"
#include "plenum/geometry/collide/detail/core.h"
#include "plenum/geometry/collide/detail/reduce.h"

namespace plenum::inline PLENUM_ABI::detail {

struct Collector {
  Manifold::Point points[2 * Feature::most_corners];
  int count = 0;
};

/// Points of `incident` over the face `reference`, whose unit outward normal is n. `radius` of the
/// reference's and of the incident core; `sign` is +1 if n points from A to B.
inline void clip_to_face(const Feature& reference, const Feature& incident, const Point& n,
                         double reference_radius, double incident_radius, double margin, double slop,
                         std::uint32_t tag, Collector& out) {
  ClipVertex<double> buffer[2][2 * Feature::most_corners];
  const int count = clip<double>(reference.x, reference.count, incident.x, incident.count, n, slop, buffer);
  const ClipVertex<double>* v = buffer[0];
  for (int i = 0; i < count; ++i) {
    const double height = n.dot(v[i].x - reference.x[0]), gap = height - reference_radius - incident_radius;
    if (gap > margin) continue;
    const Point x = v[i].x + n * (0.5 * gap + reference_radius - height);
    out.points[out.count++] = {x.cast<Real>(), static_cast<Real>(gap), mix(tag, v[i].id)};
  }
}

/// Of a rounded segment that is clearly tilted against the normal only the deeper end touches: below the rest
/// the surface is not one radius away along n. The sine 0.1 costs half a percent of the radius.
inline void keep_deeper_end(const Point& n, double radius, Feature& f) {
  if (f.count != 2 || !(radius > 0)) return;
  const Point along = f.x[1] - f.x[0];
  const double rise = n.dot(along);
  if (std::abs(rise) <= 0.1 * along.norm()) return;
  if (rise < 0) {
    f.x[0] = f.x[1];
    f.id += 8;
  }
  f.count = 1;
}

/// Two points where nearly parallel segments run beside each other; none if they do not.
inline void pair_segments(const Feature& fa, const Feature& fb, const Point& n, double ra, double rb,
                          double margin, std::uint32_t tag, Collector& out) {
  const Point along = fa.x[1] - fa.x[0], other = fb.x[1] - fb.x[0];
  const double length2 = along.squaredNorm();
  constexpr double most_sine = 0.02;  // lateral offsets of the ends stay within a fiftieth of the overlap
  if (along.cross(other).squaredNorm() > most_sine * most_sine * length2 * other.squaredNorm()) return;
  const bool forward = along.dot(other) > 0;
  const auto fraction = [&](const Point& x) { return (x - fa.x[0]).dot(along) / length2; };
  const double t0 = fraction(fb.x[forward ? 0 : 1]), t1 = fraction(fb.x[forward ? 1 : 0]);
  const double low = std::max(0.0, t0), high = std::min(1.0, t1);
  if (!(high - low > 1e-3) || !(t1 > t0)) return;
  for (int end = 0; end < 2; ++end) {
    const double t = end ? high : low, u = (t - t0) / (t1 - t0);
    const Point pa = fa.x[0] + t * along,
                pb = forward ? Point(fb.x[0] + u * other) : Point(fb.x[1] - u * other);
    const double gap = n.dot(pb - pa) - ra - rb;
    if (gap > margin) continue;
    const Point x = 0.5 * (pa + pb + (ra - rb) * n);
    const bool from_a = end ? high == 1.0 : low == 0.0;
    out.points[out.count++] = {x.cast<Real>(), static_cast<Real>(gap),
                               mix(tag, static_cast<std::uint32_t>(2 * end + from_a))};
  }
}

}  // namespace plenum::inline PLENUM_ABI::detail
