// Any two convex shapes: GJK between their cores, EPA where those overlap, then the features that face each
// other, clipped.
#include <algorithm>
#include <cmath>
#include <optional>

#include "plenum/geometry/collide/detail/clip_features.h"
#include "plenum/geometry/collide/detail/core.h"
#include "plenum/geometry/collide/detail/pairs.h"
#include "plenum/geometry/collide/detail/reduce.h"
#include "plenum/geometry/collide/epa.h"

namespace plenum::inline PLENUM_ABI::detail {
namespace {

/// Separation of two cores along a unit direction from A to B.
double separation(const Core& a, const Core& b, const Point& n) {
  return n.dot(b.support(-n)) - n.dot(a.support(n));
}

/// A direction from A to B, the separation along it, and the points that face each other there.
struct Axis {
  Point n;
  double gap;
  Point on_a, on_b;
};

/// Climbs from axis.n to a direction of locally greatest separation: B moved along the direction until a
/// small gap is left has a closest point, whose normal is the next direction. (Where A and B are apart the
/// greatest is the distance, and there is one.) False if that does not settle.
bool climb(const Core& a, const Core& b, double least, Axis& axis) {
  const double gap = 0.2 * least, enough = 0.1 * preference * least;
  axis.gap = separation(a, b, axis.n);
  for (int k = 0; k < 8; ++k) {
    const Point shift = (gap - axis.gap) * axis.n;
    const auto g = gjk<double>([&](const Point& d) { return a.support(d); },
                               [&](const Point& d) { return Point(b.support(d) + shift); }, axis.n, 1e-5);
    if (g.overlap) return false;
    const double next = g.lower_bound - shift.dot(g.normal), gain = next - axis.gap;
    const bool has_settled = gain <= enough && axis.n.dot(g.normal) > 1 - 5e-5;
    if (gain > 0) {
      axis.n = g.normal;
      axis.gap = next;
    }
    axis.on_a = g.a;
    axis.on_b = g.b - shift;
    if (has_settled) return true;
  }
  return false;
}

// A direction as three 16-bit integers.
void remember(const Point& n, ManifoldCache& cache) {
  const auto put = [](std::uint8_t* to, double x) {
    const auto v = static_cast<std::uint16_t>(static_cast<std::int16_t>(std::lround(32767 * x)));
    to[0] = static_cast<std::uint8_t>(v & 0xff);
    to[1] = static_cast<std::uint8_t>(v >> 8);
  };
  put(cache.a, n[0]);
  put(cache.a + 2, n[1]);
  put(cache.b, n[2]);
}

Point remembered(const ManifoldCache& cache) {
  const auto get = [](const std::uint8_t* from) {
    return static_cast<double>(static_cast<std::int16_t>(static_cast<std::uint16_t>(from[0] | from[1] << 8)));
  };
  return {get(cache.a), get(cache.a + 2), get(cache.b)};
}

}  // namespace

void collide_cores(const Shape& shape_a, const Shape& shape_b, const Pose& b_in_a, Real margin_real,
                   ManifoldCache& cache, Manifold& m) {
  m.count = 0;
  const auto core_a = Core::of(shape_a, Pose{}), core_b = Core::of(shape_b, b_in_a);
  if (!core_a || !core_b) return;
  const Core &a = *core_a, &b = *core_b;
  const double ra = a.radius(), rb = b.radius(), radius = ra + rb, margin = static_cast<double>(margin_real);
  const auto support_a = [&](const Point& d) { return a.support(d); };
  const auto support_b = [&](const Point& d) { return b.support(d); };
  const double least = std::min(a.least_extent(), b.least_extent()), slop = preference * least;
  const double fine = 1e-7 * least;
  const auto keep_apart = [&](double gap) { m.apart = static_cast<Real>(gap - radius); };
  Collector out;
  Feature fa, fb;
  // Contact over a face that separates by `gap` (of the cores); declined where the deepest point is not over
  // it.
  const auto on_face = [&](bool of_a, const Point& n, double gap) {
    a.feature(n, of_a, fa);
    b.feature(-n, !of_a, fb);
    if (of_a)
      keep_deeper_end(n, rb, fb);
    else
      keep_deeper_end(-n, ra, fa);
    const std::uint32_t tag = mix(of_a ? 2 : 3, mix(fa.id, fb.id));
    if (of_a)
      clip_to_face(fa, fb, n, ra, rb, margin, slop, tag, out);
    else
      clip_to_face(fb, fa, -n, rb, ra, margin, slop, tag, out);
    double deepest = std::numeric_limits<double>::infinity();
    for (int i = 0; i < out.count; ++i)
      deepest = std::min(deepest, static_cast<double>(out.points[i].separation));
    if (deepest <= gap - radius + 2 * slop) return true;
    out.count = 0;
    return false;
  };
  const auto finish = [&](int kind, const Point& n) {
    cache = {};
    cache.kind = static_cast<std::uint8_t>(kind);
    if (kind == 2 || kind == 3) {
      const std::uint32_t face = kind == 2 ? fa.id : fb.id;
      std::uint8_t* to = kind == 2 ? cache.a : cache.b;
      to[0] = static_cast<std::uint8_t>(face & 0xff);
      to[1] = static_cast<std::uint8_t>(face >> 8);
    } else {
      remember(n, cache);
    }
    keep_four(out.points, out.count, n.cast<Real>(), static_cast<Real>(2 * slop), m);
    m.turns = kind == 2   ? Manifold::Turns::with_a
              : kind == 3 ? Manifold::Turns::with_b
                          : Manifold::Turns::with_neither;
  };

  if (cache.kind == 2 || cache.kind == 3) {
    const bool of_a = cache.kind == 2;
    const std::uint8_t* from = of_a ? cache.a : cache.b;
    const auto normal = (of_a ? a : b).normal_of_face(static_cast<std::uint32_t>(from[0] | from[1] << 8));
    if (normal) {
      const Point n = of_a ? *normal : Point(-*normal);
      const double gap = separation(a, b, n);
      if (gap - radius <= margin && gap - radius > -static_cast<double>(steady_depth(3)) * least &&
          on_face(of_a, n, gap)) {
        if (gap - radius > -static_cast<double>(steady_depth(out.count)) * least)
          return finish(of_a ? 2 : 3, n);
        out.count = 0;
      }
    }
  }

  // Any direction that still separates is proof enough. Kind 8 remembers one, coarsely.
  if (cache.kind == 8) {
    const Point n(static_cast<std::int8_t>(cache.a[0]), static_cast<std::int8_t>(cache.a[1]),
                  static_cast<std::int8_t>(cache.a[2]));
    const double gap = separation(a, b, n) / n.norm();
    if (gap > margin + radius) return keep_apart(gap);
  }
  Axis axis;
  bool is_known = false;
  // Where cores overlap, the last direction is kept like a face while it is shallow.
  const auto is_shallow = [&](double depth) { return axis.gap - radius > -depth * least; };
  Point start = b.centre() - a.centre();
  if (cache.kind == 9) {  // the direction of the last contact without a face
    const Point n = remembered(cache);
    if (const double norm = n.norm(); norm > 1) {
      axis.n = start = n / norm;
      const double gap = separation(a, b, axis.n);
      if (gap > margin + radius) return keep_apart(gap);
      if (gap < 0.02 * least)
        is_known = climb(a, b, least, axis) && is_shallow(static_cast<double>(steady_depth(3)));
      if (is_known && axis.gap > margin + radius) {
        keep_apart(axis.gap);
        return remember(axis.n, cache);
      }
    }
  }
  if (!is_known) {
    const auto g = gjk<double>(support_a, support_b, start, 1e-6, fine, margin + radius);
    if (!g.overlap && g.lower_bound > margin + radius) {
      keep_apart(g.lower_bound);
      cache = {};
      cache.kind = 8;
      for (int i = 0; i < 3; ++i)
        cache.a[i] = static_cast<std::uint8_t>(static_cast<std::int8_t>(std::lround(127 * g.normal[i])));
      return;
    }
    axis = {g.normal, g.distance, g.a, g.b};
    if (g.overlap || g.distance < fine) {
      // Shallow overlaps of shapes that are apart once they are shrunk; EPA for the others.
      const auto e = epa<double>(support_a, support_b, g.simplex, 1e-4, fine);
      axis = {e.normal, -e.depth, e.a, e.b};
    }
  }
  const Point n = axis.n, on_a = axis.on_a, on_b = axis.on_b;
  const double gap = axis.gap;

  // A face whose own axis separates as well as the best makes the manifold; the last choice is preferred.
  const auto face_a = a.face_normal(n), face_b = b.face_normal(-n);
  const double along_a = face_a ? separation(a, b, *face_a) : -std::numeric_limits<double>::infinity();
  const double along_b =
      face_b ? separation(a, b, Point(-*face_b)) : -std::numeric_limits<double>::infinity();
  const auto tolerance = [&](int kind) { return (cache.kind == kind ? 3 : 1) * slop; };
  const bool use_a = along_a >= gap - tolerance(2), use_b = along_b >= gap - tolerance(3);
  if (use_a || use_b) {
    const double bias = cache.kind == 3 ? -2 * slop : slop;
    const bool of_a = use_a && (!use_b || along_a + bias >= along_b);
    const Point normal = of_a ? *face_a : Point(-*face_b);
    if (on_face(of_a, normal, gap)) return finish(of_a ? 2 : 3, normal);
  }
  a.feature(n, false, fa);
  b.feature(-n, false, fb);
  if (fa.count == 2 && fb.count == 2)
    pair_segments(fa, fb, n, ra, rb, margin, mix(4, mix(fa.id, fb.id)), out);
  if (out.count == 0 && gap - radius <= margin) {
    const Point pa = on_a + ra * n, pb = on_b - rb * n;
    out.points[out.count++] = {(0.5 * (pa + pb)).cast<Real>(), static_cast<Real>(gap - radius),
                               mix(5, mix(fa.id, fb.id))};
  }
  finish(9, n);
  // Two edges, or lines along which what is round touches.
  const auto line_a = line_through(a, fa, on_a, slop), line_b = line_through(b, fb, on_b, slop);
  if (m.count == 1 && line_a && line_b && line_a->cross(*line_b).squaredNorm() > 1e-3)
    m.set_edges(line_a->cast<Real>(), line_b->cast<Real>());
}

}  // namespace plenum::inline PLENUM_ABI::detail
