// Box against box: separating axes (Gottschalk, Lin & Manocha 1996, "OBBTree", section 5), four lanes at a
// time, and the overlap of the reference rectangle with the other box's face, all candidates at once.
#include <cmath>

#include "plenum/geometry/collide/detail/pairs.h"
#include "plenum/geometry/collide/detail/reduce.h"
#include "plenum/geometry/detail/quad.h"

namespace plenum::inline PLENUM_ABI::detail {
namespace {

using QuadMask = decltype(Quad{} < Quad{});

Quad abs(Quad a) {
  return a < 0 ? -a : a;
}
Quad square_root(Quad a) {
  return Quad{std::sqrt(a[0]), std::sqrt(a[1]), std::sqrt(a[2]), std::sqrt(a[3])};
}
/// Lanes (1, 2, 0): the next axis of each lane.
Quad next(Quad a) {
  return shuffle<1, 2, 0, 3>(a, a);
}
Quad after_next(Quad a) {
  return shuffle<2, 0, 1, 3>(a, a);
}

/// One box seen from the other, the reference: rotation, centre, half extents.
struct Seen {
  Real q[3][3];
  Real p[3];
  const Real *reference, *other;
};

/// Points in which the face of the other box that faces `axis` of the reference overlaps the reference's
/// face. x is in the reference's frame, halfway between the surfaces. Returns their number.
int overlap_faces(const Seen& s, int axis, Real margin, Real slop, std::uint32_t tag, Manifold::Point* out) {
  const int u = axis == 2 ? 0 : axis + 1, v = axis == 0 ? 2 : axis - 1;
  const Real side = s.p[axis] < 0 ? Real(-1) : Real(1);
  int j = 0;
  for (int k = 1; k < 3; ++k)
    if (std::abs(s.q[axis][k]) > std::abs(s.q[axis][j])) j = k;
  const int j1 = j == 2 ? 0 : j + 1, j2 = j == 0 ? 2 : j - 1;
  const Real facing = s.q[axis][j] * side > 0 ? Real(-1) : Real(1);
  // The incident face: centre and half edges, in coordinates (u, v) of the reference face and height w.
  const Real c = facing * s.other[j], a = s.other[j1], b = s.other[j2];
  const Real cu = s.p[u] + c * s.q[u][j], cv = s.p[v] + c * s.q[v][j];
  const Real cw = side * (s.p[axis] + c * s.q[axis][j]) - s.reference[axis];
  const Real au = a * s.q[u][j1], av = a * s.q[v][j1], aw = side * a * s.q[axis][j1];
  const Real bu = b * s.q[u][j2], bv = b * s.q[v][j2], bw = side * b * s.q[axis][j2];
  const Real hu = s.reference[u], hv = s.reference[v];
  const Quad sign_a{1, -1, -1, 1}, sign_b{1, 1, -1, -1};
  const Quad pu = cu + au * sign_a + bu * sign_b, pv = cv + av * sign_a + bv * sign_b,
             pw = cw + aw * sign_a + bw * sign_b;

  // 24 candidates: 4 corners of the incident face, 4 of the reference face, 16 crossings of their edges.
  Real x[24], y[24], w[24];
  std::int32_t valid[24];
  const auto store = [&](int at, Quad cx, Quad cy, Quad cz, QuadMask mask) {
    std::memcpy(x + at, &cx, sizeof cx);
    std::memcpy(y + at, &cy, sizeof cy);
    std::memcpy(w + at, &cz, sizeof cz);
    mask &= cz <= margin;
    for (int k = 0; k < 4; ++k) valid[at + k] = static_cast<std::int32_t>(mask[k]);
  };
  // Corners within the slop count as inside and are moved onto the border: nearly aligned faces then meet in
  // the same corners every time.
  const Quad reach_u = abs(pu), reach_v = abs(pv);
  const QuadMask inside = (reach_u <= hu + slop) & (reach_v <= hv + slop);
  store(0, max(min(pu, fill_quad(hu)), fill_quad(-hu)), max(min(pv, fill_quad(hv)), fill_quad(-hv)), pw,
        inside);
  int total = 4;
  if (!(inside[0] & inside[1] & inside[2] & inside[3])) {
    total = 24;
    const Real inverse = 1 / (au * bv - av * bu);  // a face that faces the axis is not seen edge-on
    const Quad ru = hu * sign_a, rv = hv * sign_b, du = ru - cu, dv = rv - cv;
    const Quad fa = (du * bv - dv * bu) * inverse, fb = (au * dv - av * du) * inverse;
    const Real limit_a = 1 - slop / a, limit_b = 1 - slop / b;
    store(4, ru, rv, cw + fa * aw + fb * bw, (abs(fa) < limit_a) & (abs(fb) < limit_b));
    const Quad qu = shuffle<1, 2, 3, 0>(pu, pu), qv = shuffle<1, 2, 3, 0>(pv, pv),
               qw = shuffle<1, 2, 3, 0>(pw, pw);
    const Real near_u = hu + Real(1.5) * slop, near_v = hv + Real(1.5) * slop;
    const auto cross = [&](int at, Real border, bool along_u) {
      // Edges with one end beyond the side u = border (or v = border), where they pass it.
      const Real outward = border < 0 ? Real(-1) : Real(1), limit = std::abs(border) + slop;
      const Quad from = along_u ? pu : pv, to = along_u ? qu : qv;
      const QuadMask crosses = (from * outward > limit) ^ (to * outward > limit);
      const Quad span = to - from;
      const Quad t =
          max(min((border - from) / (span == 0 ? fill_quad(1) : span), fill_quad(1)), fill_quad(0));
      const Quad across = along_u ? pv + t * (qv - pv) : pu + t * (qu - pu);
      const Real half = along_u ? hv : hu;
      const Quad kept = max(min(across, fill_quad(half)), fill_quad(-half));
      store(at, along_u ? fill_quad(border) : kept, along_u ? kept : fill_quad(border), pw + t * (qw - pw),
            crosses & (abs(across) <= (along_u ? near_v : near_u)));
    };
    cross(8, hu, true);
    cross(12, -hu, true);
    cross(16, hv, false);
    cross(20, -hv, false);
  }
  int list[24], count = 0;
  for (int k = 0; k < total; ++k) {
    list[count] = k;
    count += valid[k] != 0;
  }
  tag = tag << 8 | static_cast<std::uint32_t>((side > 0) << 7 | j << 5 | (facing > 0) << 4);
  for (int k = 0; k < count; ++k) {
    const int i = list[k];
    Manifold::Point& p = out[k];
    p.x[axis] = side * (s.reference[axis] + Real(0.5) * w[i]);
    p.x[u] = x[i];
    p.x[v] = y[i];
    p.separation = w[i];
    p.id = (tag << 8) | static_cast<std::uint32_t>(i + 1);
  }
  return count;
}

}  // namespace

bool collide_boxes(const Vec3& half_a, const Vec3& half_b, const Pose& b_in_a, Real margin,
                   ManifoldCache& cache, Manifold& m) {
  const Mat3 r = b_in_a.rotation.toRotationMatrix();
  const Vec3& t = b_in_a.position;
  const Quad tq{t[0], t[1], t[2], 0}, ha{half_a[0], half_a[1], half_a[2], 0},
      hb{half_b[0], half_b[1], half_b[2], 0}, none{0, 0, 0, -huge};
  const Quad row[3] = {
      {r(0, 0), r(0, 1), r(0, 2), 0}, {r(1, 0), r(1, 1), r(1, 2), 0}, {r(2, 0), r(2, 1), r(2, 2), 0}};
  const Quad column[3] = {
      {r(0, 0), r(1, 0), r(2, 0), 0}, {r(0, 1), r(1, 1), r(2, 1), 0}, {r(0, 2), r(1, 2), r(2, 2), 0}};
  m.count = 0;
  // Separations along the 15 axes: 3 faces of A, 3 of B, then 3 x 3 pairs of edges; every fourth is void.
  Quad s[5];
  s[0] = abs(tq) - ha - abs(column[0]) * half_b[0] - abs(column[1]) * half_b[1] - abs(column[2]) * half_b[2] +
         none;
  const Quad tb = row[0] * t[0] + row[1] * t[1] + row[2] * t[2];
  const Quad ar[3] = {abs(row[0]), abs(row[1]), abs(row[2])};
  s[1] = abs(tb) - hb - ar[0] * half_a[0] - ar[1] * half_a[1] - ar[2] * half_a[2] + none;
  const Quad faces = max(s[0], s[1]);
  if (faces[0] > margin || faces[1] > margin || faces[2] > margin) {
    m.apart = std::max({faces[0], faces[1], faces[2]});
    cache = {};
    return true;
  }
  const Quad hb1 = next(hb), hb2 = after_next(hb);
  for (int i = 0; i < 3; ++i) {
    const int i1 = i == 2 ? 0 : i + 1, i2 = i == 0 ? 2 : i - 1;
    const Quad length2 = 1 - row[i] * row[i];
    // Nearly parallel edges span no axis of their own: the faces' axes answer for them. Below 1e-3 rad the
    // loss is less than 1e-3 of the extent and dividing would amplify rounding more.
    const QuadMask parallel = length2 < Real(1e-6);
    const Quad inverse = 1 / square_root(parallel ? fill_quad(1) : length2);
    const Quad apart = abs(t[i2] * row[i1] - t[i1] * row[i2]) - half_a[i1] * ar[i2] - half_a[i2] * ar[i1] -
                       hb1 * after_next(ar[i]) - hb2 * next(ar[i]);
    s[2 + i] = (parallel ? fill_quad(-huge) : apart * inverse) + none;
  }
  const Quad edges = max(max(s[2], s[3]), s[4]);
  if (edges[0] > margin || edges[1] > margin || edges[2] > margin) {
    m.apart = std::max({edges[0], edges[1], edges[2]});
    cache = {};
    return true;
  }

  const Real slop = preference * std::min(half_a.minCoeff(), half_b.minCoeff());
  Real value[20];
  std::memcpy(value, s, sizeof s);
  if (cache.kind == 1 && cache.a[0] < 20) value[cache.a[0]] += 2 * slop;
  const auto largest = [&](int first, int last) {
    int best = first;
    for (int k = first + 1; k < last; ++k)
      if (value[k] > value[best]) best = k;
    return best;
  };
  const int face_a = largest(0, 3), face_b = largest(4, 7), edge = largest(8, 19);
  const int face = value[face_b] > value[face_a] + slop ? face_b : face_a;
  int choice = face;
  if (value[edge] > value[choice] + slop) choice = edge;
  cache.kind = 1;
  cache.a[0] = static_cast<std::uint8_t>(choice);

  // Contact over a face of at least `fewest` points. Declines where none is as low as `enough`.
  const auto on_face = [&](Real enough, int fewest) {
    const bool on_a = face < 4;
    const int axis = on_a ? face : face - 4;
    Seen seen;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) seen.q[i][j] = on_a ? r(i, j) : r(j, i);
      seen.p[i] = on_a ? t[i] : -tb[i];
    }
    seen.reference = on_a ? half_a.data() : half_b.data();
    seen.other = on_a ? half_b.data() : half_a.data();
    Manifold::Point points[24];
    const int count = overlap_faces(seen, axis, margin, slop, static_cast<std::uint32_t>(face + 1), points);
    Real least = huge;
    for (int k = 0; k < count; ++k) least = std::min(least, points[k].separation);
    if (count < fewest || least > enough) return false;
    const Real side = seen.p[axis] < 0 ? Real(-1) : Real(1);
    keep_four(points, count, side * Vec3::Unit(axis), 2 * slop, m);
    m.turns = on_a ? Manifold::Turns::with_a : Manifold::Turns::with_b;
    if (!on_a) {
      m.normal = -side * r.col(axis);
      for (int k = 0; k < m.count; ++k) m.points[k].x = r * m.points[k].x + t;
    }
    cache.a[0] = static_cast<std::uint8_t>(face);
    return true;
  };
  const Real over = (face < 4 ? s[0] : s[1])[face % 4];
  // Where the deepest corner is not over the face, the nearest features are others.
  if (choice < 8) return on_face(over + 2 * slop, 1);

  const int i = (choice - 8) / 4, j = (choice - 8) % 4;
  Vec3 normal = Vec3::Unit(i).cross(r.col(j)).normalized();
  if (normal.dot(t) < 0) normal = -normal;
  const Real apart = s[choice / 4][choice % 4],
             along = std::abs(face < 4 ? normal[face] : normal.dot(r.col(face - 4)));
  const Real flat = flat_preference * std::min(half_a.minCoeff(), half_b.minCoeff());
  if (along > nearly_flat && apart - over < flat && on_face(apart + 2 * slop, 2)) return true;
  Vec3 pa = Vec3::Zero(), pb = t;
  std::uint32_t id = static_cast<std::uint32_t>(choice + 1) << 8;
  for (int k = 0; k < 3; ++k) {
    const Real along_b = normal.dot(r.col(k));
    if (k != i) {
      pa[k] = normal[k] > 0 ? half_a[k] : -half_a[k];
      id |= static_cast<std::uint32_t>(normal[k] > 0) << k;
    }
    if (k != j) {
      pb += r.col(k) * (along_b > 0 ? -half_b[k] : half_b[k]);
      id |= static_cast<std::uint32_t>(along_b > 0) << (3 + k);
    }
  }
  const Vec3 d = pb - pa, ub = r.col(j);
  const Real c = r(i, j), da = d[i], db = d.dot(ub);
  const Real sa = (da - c * db) / (1 - c * c), sb = c * sa - db;
  if (std::abs(sa) > half_a[i] + slop || std::abs(sb) > half_b[j] + slop) return false;
  pa[i] += sa;
  pb += sb * ub;
  m.normal = normal;
  m.set_edges(Vec3::Unit(i), ub);
  m.count = 1;
  m.points[0] = {Real(0.5) * (pa + pb), normal.dot(pb - pa), id << 8};
  return true;
}

}  // namespace plenum::inline PLENUM_ABI::detail
