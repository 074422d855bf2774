// Boxes and hulls against each other: separating axes over faces and pairs of edges, the latter pruned by
// their arcs on the Gauss map. Source: Gregorius 2013, "The separating axis test between convex polyhedra",
// Game Developers Conference. Loops run over eight faces, vertices or edges at a time.
#include <cmath>
#include <cstring>
#ifdef __AVX__
#include <immintrin.h>
#endif

#include "plenum/geometry/collide/detail/clip.h"
#include "plenum/geometry/collide/detail/pairs.h"
#include "plenum/geometry/collide/detail/reduce.h"

namespace plenum::inline PLENUM_ABI::detail {
namespace {

constexpr int lane = static_cast<int>(ConvexHull::lane);
typedef Real Lanes __attribute__((vector_size(lane * sizeof(Real))));
using LanesMask = decltype(Lanes{} < Lanes{});
inline void load(Lanes& out, const Real* p) {
  std::memcpy(&out, p, sizeof out);
}

/// A hull, or a box as one: the unit cube's topology with scaled lanes.
struct Polyhedron {
  const ConvexHull* topology;
  const Real* lanes;
  int vertices, faces, edges;  // padded counts
  Vec3 centre;
  Real least;  // half extent

  Vec3 vertex(std::size_t i) const {
    return {lanes[i], lanes[static_cast<std::size_t>(vertices) + i],
            lanes[2 * static_cast<std::size_t>(vertices) + i]};
  }
  const Real* planes() const { return lanes + 3 * vertices; }
  const Real* edge_rows() const { return planes() + 4 * faces; }
  Vec3 normal(std::size_t f) const {
    const Real* p = planes() + f;
    return {p[0], p[faces], p[2 * faces]};
  }
  Real offset(std::size_t f) const { return planes()[static_cast<std::size_t>(3 * faces) + f]; }
};

/// Least of n . x over the vertices.
Real lowest(const Polyhedron& p, const Vec3& n) {
  const Real *x = p.lanes, *y = x + p.vertices, *z = y + p.vertices;
  Lanes low = Lanes{} + huge;
  for (int v = 0; v < p.vertices; v += lane) {
    Lanes px, py, pz;
    load(px, x + v);
    load(py, y + v);
    load(pz, z + v);
    const Lanes along = px * n[0] + py * n[1] + pz * n[2];
    low = along < low ? along : low;
  }
  Real least = low[0];
  for (int k = 1; k < lane; ++k) least = std::min(least, low[k]);
  return least;
}

/// Separation along any direction of b's frame, from A to B: valid for every axis.
Real separation_along(const Polyhedron& a, const Polyhedron& b, const Mat3& r, const Vec3& t, const Vec3& n) {
  const Vec3 na = r * n;
  return lowest(b, n) + na.dot(t) + lowest(a, -na);
}

constexpr std::size_t box_lanes = 3 * 8 + 4 * 8 + 12 * 16;

const ConvexHull& unit_cube() {
  static const ConvexHull cube = ConvexHull::box(Vec3::Ones());
  return cube;
}
[[maybe_unused]] const ConvexHull& made_at_start = unit_cube();  // no allocation later

Polyhedron polyhedron(const Shape& shape, Real* box_memory) {
  Polyhedron p;
  if (const auto* hull = std::get_if<ConvexHullShape>(&shape.variant())) {
    p.topology = hull->hull.get();
    p.lanes = p.topology->lanes.data();
    p.centre = p.topology->centre;
    p.least = Real(0.5) * p.topology->bounds.size().minCoeff();
  } else {
    const Vec3& h = std::get<BoxShape>(shape.variant()).half_extents;
    p.topology = &unit_cube();
    p.lanes = box_memory;
    p.centre = Vec3::Zero();
    p.least = h.minCoeff();
    const Real* unit = p.topology->lanes.data();
    std::memcpy(box_memory, unit, 56 * sizeof(Real));
    for (int axis = 0; axis < 3; ++axis) {
      for (int i = 0; i < 8; ++i) box_memory[8 * axis + i] = h[axis] * unit[8 * axis + i];
      for (int i = 0; i < 2; ++i) box_memory[24 + 24 + 2 * axis + i] = h[axis];
    }
  }
  p.vertices = static_cast<int>(ConvexHull::padded(p.topology->vertices.size()));
  p.faces = static_cast<int>(ConvexHull::padded(p.topology->faces.size()));
  p.edges = static_cast<int>(ConvexHull::padded(p.topology->edges.size()));
  return p;
}

/// The edges' rows of a box, which many pairs never need.
void fill_edges(const Shape& shape, Real* box_memory) {
  const auto* box = std::get_if<BoxShape>(&shape.variant());
  if (!box) return;
  const Real* unit = unit_cube().lanes.data();
  for (int row = 0; row < 12; ++row) {
    const Real scale = row < 3 || row >= 9 ? box->half_extents[row % 3] : Real(1);
    for (int i = 0; i < 16; ++i) box_memory[56 + 16 * row + i] = scale * unit[56 + 16 * row + i];
  }
}

/// A pose as plain numbers: x -> r x + t.
struct PlainPose {
  Real r[3][3];
  Real t[3];
};

struct FaceAxis {
  int face = -1;
  Real separation = -huge;
};

/// The face of p that separates q most; `motion` takes p's frame to q's. `favourite` is credited `credit`.
/// Stops early, with any face that separates by more than `enough`.
FaceAxis best_face(const Polyhedron& p, const Polyhedron& q, const PlainPose& motion, Real enough,
                   int favourite, Real credit) {
  FaceAxis best;
  Real best_value = -huge;
  const Real *nx = p.planes(), *ny = nx + p.faces, *nz = ny + p.faces, *offset = nz + p.faces;
  const int count = static_cast<int>(p.topology->faces.size());
  const int corners = static_cast<int>(q.topology->vertices.size());
  const Real *vx = q.lanes, *vy = vx + q.vertices, *vz = vy + q.vertices;
  for (int f = 0; f < count; f += lane) {
    Lanes x, y, z, d;
    load(x, nx + f);
    load(y, ny + f);
    load(z, nz + f);
    load(d, offset + f);
    const auto& r = motion.r;
    const Lanes qx = r[0][0] * x + r[0][1] * y + r[0][2] * z, qy = r[1][0] * x + r[1][1] * y + r[1][2] * z,
                qz = r[2][0] * x + r[2][1] * y + r[2][2] * z;
    const Lanes shift = d + qx * motion.t[0] + qy * motion.t[1] + qz * motion.t[2];
    Lanes low = qx * vx[0] + qy * vy[0] + qz * vz[0];
    for (int v = 1; v < corners; ++v) {
      const Lanes along = qx * vx[v] + qy * vy[v] + qz * vz[v];
      low = along < low ? along : low;
    }
    Real separation[lane];
    low -= shift;
    std::memcpy(separation, &low, sizeof low);
    const int end = std::min(lane, count - f);
    for (int k = 0; k < end; ++k) {
      const Real value = separation[k] + (f + k == favourite ? credit : Real(0));
      if (value > best_value) {
        best_value = value;
        best = {f + k, separation[k]};
      }
    }
    if (best.separation > enough) return best;
  }
  return best;
}

struct EdgeAxis {
  int a = -1, b = -1;
  Real separation = -huge;
};

inline Lanes square_root(Lanes x) {
  for (int k = 0; k < lane; ++k) x[k] = std::sqrt(x[k]);
  return x;
}

inline bool any(LanesMask mask) {
#if defined(__AVX__) && !defined(PLENUM_DOUBLE)
  return !_mm256_testz_si256(reinterpret_cast<__m256i>(mask), reinterpret_cast<__m256i>(mask));
#else
  bool result = false;
  for (int k = 0; k < lane; ++k) result |= mask[k] != 0;
  return result;
#endif
}

/// The pair of edges whose common normal separates most, in b's frame. `axis` is the best face's normal
/// there, from A to B. Where two edges are the best pair of all, they hold points as far from each other as
/// they separate, which is no farther than the best face does or than the margin: so one edge must come
/// within `reach` of the other solid along any axis, and those that do not along `axis` are left out.
EdgeAxis best_edges(const Polyhedron& a, const Polyhedron& b, const PlainPose& motion, const Vec3& axis,
                    Real reach, Real enough, const EdgeAxis& favourite, Real credit) {
  const int count_a = static_cast<int>(a.topology->edges.size()),
            count_b = static_cast<int>(b.topology->edges.size());
  const auto& r = motion.r;
  // Heights along the axis, B's first.
  alignas(64) Real along_a[ConvexHull::max_vertices], along_b[ConvexHull::max_vertices];
  const auto heights = [](const Polyhedron& p, const Vec3& n, Real shift, Real* along) {
    const Real *x = p.lanes, *y = x + p.vertices, *z = y + p.vertices;
    for (int v = 0; v < p.vertices; v += lane) {
      Lanes px, py, pz;
      load(px, x + v);
      load(py, y + v);
      load(pz, z + v);
      const Lanes h = px * n[0] + py * n[1] + pz * n[2] + shift;
      std::memcpy(along + v, &h, sizeof h);
    }
  };
  heights(b, axis, 0, along_b);
  const Vec3 axis_a(r[0][0] * axis[0] + r[1][0] * axis[1] + r[2][0] * axis[2],
                    r[0][1] * axis[0] + r[1][1] * axis[1] + r[2][1] * axis[2],
                    r[0][2] * axis[0] + r[1][2] * axis[1] + r[2][2] * axis[2]);
  heights(a, axis_a, axis[0] * motion.t[0] + axis[1] * motion.t[1] + axis[2] * motion.t[2], along_a);
  Real low_b = huge, high_a = -huge;
  for (int v = 0; v < b.vertices; ++v) low_b = std::min(low_b, along_b[v]);
  for (int v = 0; v < a.vertices; ++v) high_a = std::max(high_a, along_a[v]);

  // B's edges within reach, packed.
  constexpr int most_edges = 3 * static_cast<int>(ConvexHull::max_vertices);
  alignas(64) Real rows[12][most_edges];
  int number[most_edges], packed = 0;
  const Real* rows_b = b.edge_rows();
  for (int j = 0; j < count_b; ++j) {
    const ConvexHull::Edge& e = b.topology->edges[static_cast<std::size_t>(j)];
    number[packed] = j;
    packed += std::min(along_b[e.a], along_b[e.b]) <= high_a + reach;
  }
  if (packed == 0) return {};
  const int padded = static_cast<int>(ConvexHull::padded(static_cast<std::size_t>(packed)));
  for (int row = 0; row < 12; ++row) {
    for (int k = 0; k < packed; ++k) rows[row][k] = rows_b[row * b.edges + number[k]];
    for (int k = packed; k < padded; ++k) rows[row][k] = 0;
  }

  const Real* rows_a = a.edge_rows();
  // Each lane keeps its best; they are compared at the end.
  Lanes best = Lanes{} - huge;
  LanesMask best_pair = LanesMask{} - 1;
  for (int i = 0; i < count_a; ++i) {
    const ConvexHull::Edge& e = a.topology->edges[static_cast<std::size_t>(i)];
    if (std::max(along_a[e.a], along_a[e.b]) < low_b - reach) continue;
    const auto turned = [&](int row) {
      const Real x = rows_a[row * a.edges + i], y = rows_a[(row + 1) * a.edges + i],
                 z = rows_a[(row + 2) * a.edges + i];
      return Vec3(r[0][0] * x + r[0][1] * y + r[0][2] * z, r[1][0] * x + r[1][1] * y + r[1][2] * z,
                  r[2][0] * x + r[2][1] * y + r[2][2] * z);
    };
    const Vec3 edge = turned(0), left = turned(3), right = turned(6), outward = left + right;
    const Vec3 start = turned(9) + Vec3(motion.t[0], motion.t[1], motion.t[2]);
    const Real parallel = Real(1e-6) * edge.squaredNorm();
    for (int j = 0; j < padded; j += lane) {
      Lanes x, y, z, lx, ly, lz, rx, ry, rz;
      load(x, rows[0] + j);
      load(y, rows[1] + j);
      load(z, rows[2] + j);
      load(lx, rows[3] + j);
      load(ly, rows[4] + j);
      load(lz, rows[5] + j);
      load(rx, rows[6] + j);
      load(ry, rows[7] + j);
      load(rz, rows[8] + j);
      // The arcs of A's normals and of B's negated ones cross on the sphere of directions.
      const Lanes p1 = lx * edge[0] + ly * edge[1] + lz * edge[2],
                  p2 = rx * edge[0] + ry * edge[1] + rz * edge[2];
      const Lanes q1 = x * left[0] + y * left[1] + z * left[2],
                  q2 = x * right[0] + y * right[1] + z * right[2];
      const LanesMask cross = (p1 * p2 < 0) & (q1 * q2 < 0) & (p1 * q2 < 0);
      if (!any(cross)) continue;
      Lanes sx, sy, sz;
      load(sx, rows[9] + j);
      load(sy, rows[10] + j);
      load(sz, rows[11] + j);
      const Lanes nx = edge[1] * z - edge[2] * y, ny = edge[2] * x - edge[0] * z,
                  nz = edge[0] * y - edge[1] * x;
      const Lanes n2 = nx * nx + ny * ny + nz * nz;
      const Lanes out = nx * outward[0] + ny * outward[1] + nz * outward[2];
      const Lanes apart = nx * (sx - start[0]) + ny * (sy - start[1]) + nz * (sz - start[2]);
      // Nearly parallel edges have no axis of their own; the neighbouring faces' axes answer for them.
      const LanesMask usable = cross & (n2 > parallel * (x * x + y * y + z * z));
      Lanes separation = (out < 0 ? -apart : apart) / square_root(usable ? n2 : Lanes{} + 1);
      if (i == favourite.a)
        for (int k = 0; k < lane; ++k)
          if (j + k < packed && number[j + k] == favourite.b) separation[k] += credit;
      const LanesMask better = usable & (separation > best);
      best = better ? separation : best;
      best_pair = better ? LanesMask{} + ((i << 16) | j) : best_pair;
      if (any(better & (separation > enough + credit))) break;
    }
  }
  EdgeAxis result;
  for (int k = 0; k < lane; ++k) {
    const auto pair = static_cast<int>(best_pair[k]);
    if (pair < 0 || best[k] <= result.separation) continue;
    result = {pair >> 16, number[(pair & 0xffff) + k], best[k]};
  }
  if (result.a == favourite.a && result.b == favourite.b) result.separation -= credit;
  return result;
}

PlainPose motion_of(const Mat3& r, const Vec3& t) {
  PlainPose m;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) m.r[i][j] = r(i, j);
    m.t[i] = t[i];
  }
  return m;
}

/// The face to clip: of those at the vertex of p deepest along `direction` the one that looks there most.
std::size_t incident_face(const Polyhedron& p, const Vec3& direction, Real slop) {
  const std::size_t count = p.topology->vertices.size();
  std::size_t deepest = 0;
  Real most = -huge;
  for (std::size_t i = 0; i < count; ++i) {
    const Real along = p.lanes[i] * direction[0] +
                       p.lanes[static_cast<std::size_t>(p.vertices) + i] * direction[1] +
                       p.lanes[2 * static_cast<std::size_t>(p.vertices) + i] * direction[2];
    if (along > most) {
      most = along;
      deepest = i;
    }
  }
  const Vec3 v = p.vertex(deepest);
  std::size_t best = 0;
  most = -huge;
  for (std::size_t f = 0; f < p.topology->faces.size(); ++f) {
    const Vec3 n = p.normal(f);
    const Real along = n.dot(v) < p.offset(f) - slop ? -huge : n.dot(direction);
    if (along > most) {
      most = along;
      best = f;
    }
  }
  return best;
}

constexpr std::size_t most_corners = ConvexHull::max_vertices;

int gather(const Polyhedron& p, std::size_t face, Vec3* x) {
  const ConvexHull::Face& f = p.topology->faces[face];
  for (std::size_t k = 0; k < f.count; ++k) x[k] = p.vertex(p.topology->corners[f.first + k]);
  return f.count;
}

/// Points over a face of p of the face of q that looks at it, in p's frame. Returns their number.
int face_points(const Polyhedron& p, std::size_t face, const Polyhedron& q, const Mat3& r, const Vec3& t,
                Real margin, Real slop, std::uint32_t tag, Manifold::Point* out) {
  const Vec3 n = p.normal(face);
  const std::size_t other = incident_face(q, -(r.transpose() * n), Real(1e-2) * slop);
  Vec3 reference[most_corners], incident[most_corners];
  const int nr = gather(p, face, reference), ni = gather(q, other, incident);
  for (int i = 0; i < ni; ++i) incident[i] = r * incident[i] + t;
  ClipVertex<Real> buffer[2][2 * most_corners];
  const int count = clip<Real>(reference, nr, incident, ni, n, slop, buffer);
  tag = mix(tag, static_cast<std::uint32_t>(face << 16 | other));
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    const ClipVertex<Real>& v = buffer[0][i];
    const Real gap = n.dot(v.x) - p.offset(face);
    if (gap > margin) continue;
    out[kept++] = {v.x - Real(0.5) * gap * n, gap, mix(tag, v.id)};
  }
  return kept;
}

std::uint16_t two_bytes(const std::uint8_t* p) {
  return static_cast<std::uint16_t>(p[0] | p[1] << 8);
}
void put_two_bytes(std::uint8_t* p, int value) {
  p[0] = static_cast<std::uint8_t>(value & 0xff);
  p[1] = static_cast<std::uint8_t>(value >> 8);
}

}  // namespace

bool collide_polyhedra(const Shape& shape_a, const Shape& shape_b, const Pose& b_in_a, Real margin,
                       ManifoldCache& cache, Manifold& m) {
  alignas(64) Real memory_a[box_lanes], memory_b[box_lanes];
  const Polyhedron a = polyhedron(shape_a, memory_a), b = polyhedron(shape_b, memory_b);
  const Mat3 r = b_in_a.rotation.toRotationMatrix();
  const Vec3& t = b_in_a.position;
  const Vec3 back = -(r.transpose() * t);
  const PlainPose a_to_b = motion_of(r.transpose(), back), b_to_a = motion_of(r, t);
  const Real slop = preference * std::min(a.least, b.least),
             flat = flat_preference * std::min(a.least, b.least);
  m.count = 0;

  // kind: 2 a face of A, 3 a face of B, 4 a pair of edges touched last; 5, 6, 7 they separated.
  const int last = cache.kind;
  const EdgeAxis last_edges{two_bytes(cache.a), two_bytes(cache.b), 0};
  Manifold::Point points[2 * most_corners];
  // Writes the manifold of a face, if it has at least `fewest` points. Declines where none is as low as
  // `enough`, and where one is deeper than `deepest` tells.
  const auto on_face = [&](bool of_a, std::size_t face, Real separation, Real enough, int fewest,
                           auto&& deepest) {
    const int count = of_a ? face_points(a, face, b, r, t, margin, slop, 2, points)
                           : face_points(b, face, a, r.transpose(), back, margin, slop, 3, points);
    Real least = huge;
    for (int i = 0; i < count; ++i) least = std::min(least, points[i].separation);
    if (count < fewest || least > enough || separation < -deepest(count)) return false;
    cache = {};
    cache.kind = of_a ? 2 : 3;
    put_two_bytes(of_a ? cache.a : cache.b, static_cast<int>(face));
    keep_four(points, count, of_a ? a.normal(face) : b.normal(face), 2 * slop, m);
    m.turns = of_a ? Manifold::Turns::with_a : Manifold::Turns::with_b;
    if (!of_a) {
      m.normal = -(r * m.normal);
      for (int i = 0; i < m.count; ++i) m.points[i].x = r * m.points[i].x + t;
    }
    return true;
  };
  if (last == 2 || last == 3 || last == 5 || last == 6) {
    const bool of_a = last == 2 || last == 5;
    const Polyhedron &p = of_a ? a : b, &q = of_a ? b : a;
    const std::size_t face = of_a ? two_bytes(cache.a) : two_bytes(cache.b);
    if (face < p.topology->faces.size()) {
      const Vec3 n = p.normal(face), there = of_a ? Vec3(r.transpose() * n) : Vec3(r * n);
      const Real separation = lowest(q, there) + (of_a ? n.dot(t) : n.dot(back)) - p.offset(face);
      const Real least = std::min(a.least, b.least);
      if (separation > margin) {
        m.apart = separation;
        cache.kind = of_a ? 5 : 6;
        return true;
      }
      if (last < 5 && separation > -steady_depth(3) * least &&
          on_face(of_a, face, separation, separation + 2 * slop, 1,
                  [&](int count) { return steady_depth(count) * least; }))
        return true;
    }
  }

  FaceAxis face_a, face_b;
  EdgeAxis edges;
  const auto separated = [&](Real separation, int kind, int fa, int fb) {
    if (separation <= margin) return false;
    m.apart = separation;
    cache = {};
    cache.kind = static_cast<std::uint8_t>(kind + 3);
    put_two_bytes(cache.a, fa);
    put_two_bytes(cache.b, fb);
    return true;
  };
  const auto try_a = [&] {
    face_a = best_face(a, b, a_to_b, margin, last == 2 ? last_edges.a : -1, 2 * slop);
    return separated(face_a.separation, 2, face_a.face, 0);
  };
  const auto try_b = [&] {
    face_b = best_face(b, a, b_to_a, margin, last == 3 ? last_edges.b : -1, 2 * slop);
    return separated(face_b.separation, 3, 0, face_b.face);
  };
  if (last == 7 && last_edges.a < static_cast<int>(a.topology->edges.size()) &&
      last_edges.b < static_cast<int>(b.topology->edges.size())) {
    const ConvexHull::Edge& ea = a.topology->edges[static_cast<std::size_t>(last_edges.a)];
    const ConvexHull::Edge& eb = b.topology->edges[static_cast<std::size_t>(last_edges.b)];
    const Vec3 ua = r.transpose() * (a.vertex(ea.b) - a.vertex(ea.a));
    const Vec3 cross = ua.cross(b.vertex(eb.b) - b.vertex(eb.a));
    const Vec3 n = cross.dot(b.centre - r.transpose() * (a.centre - t)) < 0 ? Vec3(-cross) : cross;
    if (const Real apart = separation_along(a, b, r, t, n); apart > margin * n.norm()) {
      m.apart = apart / n.norm();
      return true;
    }
  }
  if (try_a() || try_b()) return true;
  const bool a_is_best = face_a.separation >= face_b.separation;
  const Real face_separation = std::max(face_a.separation, face_b.separation);
  const Vec3 axis = a_is_best ? Vec3(r.transpose() * a.normal(static_cast<std::size_t>(face_a.face)))
                              : Vec3(-b.normal(static_cast<std::size_t>(face_b.face)));
  fill_edges(shape_a, memory_a);
  fill_edges(shape_b, memory_b);
  edges = best_edges(a, b, a_to_b, axis, std::max(std::abs(face_separation), margin) + slop, margin,
                     last == 4 ? last_edges : EdgeAxis{}, 2 * slop);
  if (separated(edges.separation, 4, edges.a, edges.b)) return true;

  const auto credit = [&](int kind) { return last == kind ? 2 * slop : Real(0); };
  const Real value_a = face_a.separation + credit(2), value_b = face_b.separation + credit(3),
             value_e = edges.separation + credit(4);
  const bool on_a = value_b <= value_a + slop;
  const Real value_f = on_a ? value_a : value_b;
  const FaceAxis& face = on_a ? face_a : face_b;
  const auto on_best_face = [&](Real enough, int fewest) {
    return on_face(on_a, static_cast<std::size_t>(face.face), face.separation, enough, fewest,
                   [](int) { return huge; });
  };
  cache = {};
  if (edges.a >= 0 && value_e > value_f + slop) {
    const ConvexHull::Edge& ea = a.topology->edges[static_cast<std::size_t>(edges.a)];
    const ConvexHull::Edge& eb = b.topology->edges[static_cast<std::size_t>(edges.b)];
    const Vec3 pa = a.vertex(ea.a), ua = a.vertex(ea.b) - pa, pb = r * b.vertex(eb.a) + t,
               ub = r * b.vertex(eb.b) + t - pb;
    Vec3 normal = ua.cross(ub).normalized();
    if (normal.dot(a.normal(ea.left) + a.normal(ea.right)) < 0) normal = -normal;
    const Vec3 looks = on_a ? a.normal(static_cast<std::size_t>(face.face))
                            : Vec3(-(r * b.normal(static_cast<std::size_t>(face.face))));
    if (normal.dot(looks) > nearly_flat && edges.separation - face.separation < flat &&
        on_best_face(edges.separation + 2 * slop, 2))
      return true;
    cache.kind = 4;
    put_two_bytes(cache.a, edges.a);
    put_two_bytes(cache.b, edges.b);
    const Vec3 d = pb - pa;
    const Real aa = ua.squaredNorm(), bb = ub.squaredNorm(), ab = ua.dot(ub), da = d.dot(ua), db = d.dot(ub);
    const Real determinant = aa * bb - ab * ab;
    const Real s = (da * bb - db * ab) / determinant, u = (da * ab - db * aa) / determinant;
    const Real slack_a = slop / std::sqrt(aa), slack_b = slop / std::sqrt(bb);
    if (s < -slack_a || s > 1 + slack_a || u < -slack_b || u > 1 + slack_b) return false;
    const Vec3 xa = pa + s * ua, xb = pb + u * ub;
    m.normal = normal;
    m.set_edges(ua, ub);
    m.count = 1;
    m.points[0] = {Real(0.5) * (xa + xb), normal.dot(xb - xa),
                   mix(mix(4, static_cast<std::uint32_t>(edges.a)), static_cast<std::uint32_t>(edges.b))};
    return true;
  }
  // Where the deepest corner is not over the face, the nearest features are others.
  return on_best_face(face.separation + 2 * slop, 1);
}

}  // namespace plenum::inline PLENUM_ABI::detail
