// Velocities from particles to faces and back.
//
// A particle gives its momentum to the faces around it by linear (hat) weights, component by component. The
// momentum and the weight of two faces that are neighbours along x are four numbers side by side, so that a
// particle reads and writes whole vectors. Particles are in the order of cells; slabs of a few planes of
// cells are one thread's, every second one at a time, so that no two threads meet at a face.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/base/independent.h"
#include "plenum/math/wide.h"
#include "plenum/solvers/liquid/detail/seam.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using Model = Liquid::Model;
using State = Liquid::State;
using Params = Liquid::Params;
using Workspace = Liquid::Workspace;
using Transfer = Liquid::Transfer;

typedef Real Two __attribute__((vector_size(2 * sizeof(Real))));

[[gnu::always_inline]] inline Four load_four(const Real* p) {
  Four a;
  std::memcpy(&a, p, sizeof a);
  return a;
}
[[gnu::always_inline]] inline Two load_two(const Real* p) {
  Two a;
  std::memcpy(&a, p, sizeof a);
  return a;
}
template <class V>
[[gnu::always_inline]] inline void add_to(Real* p, const V& a) {
  V sum;
  std::memcpy(&sum, p, sizeof sum);
  sum += a;
  std::memcpy(p, &sum, sizeof sum);
}

/// Strides of a grid, and where positions are in it.
template <int D>
struct Lattice {
  Vec3 low;
  Real inv_h;
  std::ptrdiff_t sy, sz, origin;
  explicit Lattice(const Model& m)
      : low(m.low),
        inv_h(1 / m.h),
        sy(m.shape.stride(1)),
        sz(D == 3 ? m.shape.stride(2) : 0),
        origin(1 + sy + sz) {}
};

/// Particles that go through a stage together: arrays by axis or component, in the first cache. So stages
/// that need nothing of one another overlap, and where positions stand is found in vectors.
constexpr std::size_t run_size = 128;
template <class T>
using RunOf = std::array<T, run_size>;

/// Where positions stand between faces and between centres.
template <int D>
struct Places {
  std::array<RunOf<Real>, D> of_face, of_centre;  ///< parts of the way from the lower item to the upper one
  std::array<RunOf<std::int32_t>, D + 1> first;   ///< lower item of components, and of centres

  /// x(p, axis) [m]
  template <class X>
  [[gnu::always_inline]] void find(const Lattice<D>& l, std::size_t n, X&& x) {
    const std::array<std::int32_t, 3> stride = {1, static_cast<std::int32_t>(l.sy),
                                                static_cast<std::int32_t>(l.sz)};
    const auto origin = static_cast<std::int32_t>(l.origin);
    const Real inv_h = l.inv_h;
    std::array<Real, 3> low;
    for (int a = 0; a < D; ++a) low[static_cast<std::size_t>(a)] = l.low[a];
    PLENUM_INDEPENDENT
    for (std::size_t p = 0; p < n; ++p) {
      std::array<std::int32_t, D> face, centre;
      std::int32_t middle = origin;
      for (int a = 0; a < D; ++a) {
        const auto c = static_cast<std::size_t>(a);
        const Real g = (x(p, a) - low[c]) * inv_h, t = g + Real(0.5);
        const auto f = static_cast<std::int32_t>(g), m = static_cast<std::int32_t>(t);
        of_face[c][p] = g - static_cast<Real>(f);
        of_centre[c][p] = t - static_cast<Real>(m);
        face[c] = f * stride[c];
        centre[c] = (m - 1) * stride[c];
        middle += centre[c];
      }
      for (std::size_t c = 0; c < D; ++c) first[c][p] = middle - centre[c] + face[c];
      first[D][p] = middle;
    }
  }
  template <int c, int axis>
  [[gnu::always_inline]] Real part(std::size_t p) const {
    return c == axis ? of_face[axis][p] : of_centre[axis][p];
  }
};

/// f.operator()<c>() for every component.
template <int D, class F>
[[gnu::always_inline]] inline void for_components(F&& f) {
  f.template operator()<0>();
  f.template operator()<1>();
  if constexpr (D == 3) f.template operator()<2>();
}

/// x(p, axis) of an array of positions.
[[gnu::always_inline]] inline auto positions(const Vec3* x) {
  return [x](std::size_t p, int a) { return x[p][a]; };
}

template <int D, bool affine>
void scatter(const Model& m, Workspace& w, std::size_t begin, std::size_t end) {
  const Lattice<D> l(m);
  const Real share = Real(1) / static_cast<Real>(m.per_cell()), h = m.h;
  const std::ptrdiff_t sy = l.sy, sz = l.sz;
  const std::array<Real*, 3> pairs = {w.pairs[0].data(), w.pairs[1].data(), w.pairs[2].data()};
  const std::array<const Vec3*, 3> slopes = {w.du.data(), w.dv.data(), w.dw.data()};
  Real* const crowd = w.crowd.data();
  const Vec3* const v = w.v.data() + begin;
  Places<D> at;
  at.find(l, end - begin, positions(w.x.data() + begin));
  for (std::size_t p = 0; p < end - begin; ++p) {
    // What passes from a particle to the next is sums in memory, of all components at a time.
    for_components<D>([&]<int c>() {
      const Real fx = at.template part<c, 0>(p), fy = at.template part<c, 1>(p);
      const Real gx = 1 - fx, gy = 1 - fy;
      const Four weight = {gx, gx, fx, fx};
      Real* to = pairs[c] + 2 * static_cast<std::ptrdiff_t>(at.first[c][p]);
      Real u = v[p][c];
      Four a, dy{}, dz{};
      if constexpr (affine) {
        const Vec3 slope = h * slopes[c][begin + p];
        u -= slope.x() * fx + slope.y() * fy;
        if constexpr (D == 3) u -= slope.z() * at.template part<c, D - 1>(p);
        a = weight * Four{u, 1, u + slope.x(), 1};
        dy = weight * Four{slope.y(), 0, slope.y(), 0};
        dz = weight * Four{slope.z(), 0, slope.z(), 0};
      } else {
        a = weight * Four{u, 1, u, 1};
      }
      if constexpr (D == 2) {
        add_to(to, gy * a);
        add_to(to + 2 * sy, fy * (a + dy));
      } else {
        const Real fz = at.template part<c, D - 1>(p), gz = 1 - fz;
        add_to(to, (gy * gz) * a);
        add_to(to + 2 * sy, (fy * gz) * (a + dy));
        add_to(to + 2 * sz, (gy * fz) * (a + dz));
        add_to(to + 2 * (sy + sz), (fy * fz) * (a + dy + dz));
      }
    });
    const Real fx = at.template part<-1, 0>(p), fy = at.template part<-1, 1>(p);
    const Two weight = {share * (1 - fx), share * fx};
    Real* to = crowd + at.first[D][p];
    if constexpr (D == 2) {
      add_to(to, (1 - fy) * weight);
      add_to(to + sy, fy * weight);
    } else {
      const Real fz = at.template part<-1, D - 1>(p), gz = 1 - fz;
      add_to(to, ((1 - fy) * gz) * weight);
      add_to(to + sy, (fy * gz) * weight);
      add_to(to + sz, ((1 - fy) * fz) * weight);
      add_to(to + sy + sz, (fy * fz) * weight);
    }
  }
}

/// Moves a quantity into the order of cells.
void reorder(const std::vector<std::uint32_t>& order, std::size_t begin, std::size_t end,
             const std::vector<Vec3>& from, std::vector<Vec3>& to) {
  for (std::size_t p = begin; p < end; ++p) to[p] = from[order[p]];
}

/// Two rows of two items each.
[[gnu::always_inline]] inline Four load_rows(const Real* lower, const Real* upper) {
  const Two a = load_two(lower), b = load_two(upper);
  return __builtin_shufflevector(a, b, 0, 1, 2, 3);
}

/// out[p] = items of a plain array around places, interpolated.
template <int D, int c>
[[gnu::always_inline]] inline void interpolate(const Lattice<D>& l, const Places<D>& at, std::size_t n,
                                               const Real* items, Real* out) {
  const std::ptrdiff_t sy = l.sy, sz = l.sz;
  for (std::size_t p = 0; p < n; ++p) {
    const Real* q = items + at.first[c][p];
    const Real fx = at.template part<c, 0>(p), fy = at.template part<c, 1>(p);
    Four rows = load_rows(q, q + sy);
    if constexpr (D == 3) {
      const Real fz = at.template part<c, D - 1>(p);
      rows += fz * (load_rows(q + sz, q + sy + sz) - rows);
    }
    const Real low = rows[0] + fx * (rows[1] - rows[0]), high = rows[2] + fx * (rows[3] - rows[2]);
    out[p] = low + fy * (high - low);
  }
}

/// Where particles may be, and where there are velocities for them: a thousandth of a cell off closed sides;
/// through open and periodic ones they may go.
template <int D>
struct Bounds {
  std::array<Real, D> low, high, stay_low, stay_high;
  std::array<bool, D> wraps;
  bool any = false;  ///< of `wraps`
  explicit Bounds(const Model& m) {
    constexpr Real gap = Real(1e-3), far = std::numeric_limits<Real>::max();
    for (int a = 0; a < D; ++a) {
      const auto c = static_cast<std::size_t>(a);
      low[c] = m.low[a] + gap * m.h;
      high[c] = m.low[a] + (static_cast<Real>(m.shape.cells[c]) - gap) * m.h;
      stay_low[c] = m.is_closed(2 * c) ? low[c] : -far;
      stay_high[c] = m.is_closed(2 * c + 1) ? high[c] : far;
      wraps[c] = m.is_periodic(c);
      any = any || wraps[c];
    }
  }
};

/// Takes a position that is in the box out of solids, along the distance's gradient, and out of its velocity
/// what leads in. The distance is linear between corners of cells.
template <int D>
void push_out(const Model& m, const Lattice<D>& l, std::array<Real, 3>& x, std::array<Real, 3>& v) {
  std::array<Real, 3> f{};
  std::ptrdiff_t corner = l.origin;
  const std::array<std::ptrdiff_t, 3> stride = {1, l.sy, l.sz};
  for (int a = 0; a < D; ++a) {
    const auto c = static_cast<std::size_t>(a);
    const Real g = (x[c] - l.low[a]) * l.inv_h;
    // Beyond open sides there is nothing.
    if (!(g >= 0 && g < static_cast<Real>(m.shape.cells[c]))) return;
    const auto cell = static_cast<Index>(g);
    f[c] = g - static_cast<Real>(cell);
    corner += cell * stride[c];
  }
  if (!m.near_walls.empty() && m.near_walls[static_cast<std::size_t>(corner)]) return;
  const Real* d = m.distance.data() + corner;
  if (d[0] > 2 * m.h) return;  // farther than the cell's diagonal
  const auto lerp = [](Real a, Real b, Real t) { return a + t * (b - a); };
  const auto of_plane = [&](std::ptrdiff_t o, Real& dx, Real& dy) {
    const Real a = d[o], b = d[o + 1], c = d[o + l.sy], e = d[o + l.sy + 1];
    dx = lerp(b - a, e - c, f[1]);
    dy = lerp(c - a, e - b, f[0]);
    return lerp(lerp(a, b, f[0]), lerp(c, e, f[0]), f[1]);
  };
  std::array<Real, 3> slope{};
  Real here = of_plane(0, slope[0], slope[1]);
  if constexpr (D == 3) {
    Real dx, dy;
    const Real above = of_plane(l.sz, dx, dy);
    slope = {lerp(slope[0], dx, f[2]), lerp(slope[1], dy, f[2]), above - here};
    here = lerp(here, above, f[2]);
  }
  if (here >= 0) return;
  const Real size = std::sqrt(slope[0] * slope[0] + slope[1] * slope[1] + slope[2] * slope[2]);
  if (!(size > 0)) return;
  Real into = 0;
  for (std::size_t c = 0; c < D; ++c) {
    slope[c] /= size;
    x[c] -= here * slope[c];
    into += v[c] * slope[c];
  }
  for (std::size_t c = 0; c < D; ++c) v[c] -= std::min(into, Real(0)) * slope[c];
}

/// Takes ways that meet walls to where they stop, and out of velocities what leads in. x0, x1 and v are of n
/// particles, by axis.
template <int D>
void stop_run(const Model& m, const Workspace& w, std::size_t n, const std::array<RunOf<Real>, D>& x0,
              std::array<RunOf<Real>, D>& x1, std::array<RunOf<Real>, D>& v) {
  const bool moving = w.walls.size() > m.walls.size();
  const Bounds<D> bounds(m);
  // [h] that x is from walls at least; negative: its cell is not near any.
  const auto clearance = [&](const Vec3& at) -> Real {
    const Vec3 x = bounds.any ? wrapped(m, at) : at;
    std::array<Index, 3> cell{};
    std::array<Real, 3> t{};
    for (int c = 0; c < D; ++c) {
      const auto a = static_cast<std::size_t>(c);
      const Real g = (x[c] - m.low[c]) / m.h;
      if (!(g >= 0 && g < static_cast<Real>(m.shape.cells[a]))) return -1;
      cell[a] = static_cast<Index>(g);
      t[a] = g - static_cast<Real>(cell[a]);
    }
    return m.clearance.at(m.shape.index(cell[0], cell[1], cell[2]), t);
  };
  const auto is_free = [&](const Vec3& from, const Vec3& to) {
    const Real squared = (to - from).squaredNorm(), free = clearance(from);
    if (free < 0) return squared < m.h * m.h && clearance(to) < 0;
    const Real left = m.h * (free - wall_gap);
    return left > 0 && squared < left * left;
  };
  for (std::size_t p = 0; p < n; ++p) {
    Vec3 from(0, 0, m.low.z() + m.h / 2), to = from;
    for (std::size_t c = 0; c < D; ++c)
      from[static_cast<Index>(c)] = x0[c][p], to[static_cast<Index>(c)] = x1[c][p];
    if (!moving && is_free(from, to)) continue;
    WallStop stop = stop_at_walls(w.walls, from, to, wall_gap * m.h, D == 2);
    // Along a wall it may have slid out of the box: to its side then, or nowhere if a wall is between.
    if (stop.num_met > 0) {
      Vec3 in = stop.x;
      for (std::size_t c = 0; c < D; ++c) {
        Real& a = in[static_cast<Index>(c)];
        a = std::min(std::max(a, bounds.stay_low[c]), bounds.stay_high[c]);
      }
      if (in != stop.x)
        stop.x = std::any_of(w.walls.begin(), w.walls.end(),
                             [&](const GridWall& wall) { return wall.blocks(from, in); })
                     ? from
                     : in;
    }
    Vec3 u = Vec3::Zero();
    for (std::size_t c = 0; c < D; ++c) u[static_cast<Index>(c)] = v[c][p];
    for (int met = 0; met < stop.num_met; ++met) {
      const auto q = static_cast<std::size_t>(met);
      const Vec3& normal = stop.normal[q];
      Vec3 solid = Vec3::Zero();
      if (stop.wall[q] >= m.walls.size()) {
        const LiquidBodies::Part& part = w.immersed.parts[w.wall_parts[stop.wall[q] - m.walls.size()]];
        const LiquidBodies::Body& body = w.immersed.bodies[part.body];
        solid = body.velocity + body.angular_velocity.cross(stop.x - part.shift - body.centre);
      }
      u -= std::min((u - solid).dot(normal), Real(0)) * normal;
    }
    for (std::size_t c = 0; c < D; ++c)
      x1[c][p] = stop.x[static_cast<Index>(c)], v[c][p] = u[static_cast<Index>(c)];
  }
}

/// Ways of at most this many parts.
constexpr int most_trace_parts = 8;

template <int D, Transfer transfer>
void gather(const Model& m, State& s, const Params& params, const Workspace& w, Real dt, std::size_t begin,
            std::size_t n) {
  const Lattice<D> l(m);
  const Bounds<D> bounds(m);
  const std::ptrdiff_t sy = l.sy, sz = l.sz;
  const Real inv_h = l.inv_h, flip = params.flip;
  Vec3 *const position = s.x.data() + begin, *const velocity = s.v.data() + begin;
  const std::array<Vec3*, 3> slopes = {s.du.data(), s.dv.data(), s.dw.data()};
  std::array<RunOf<Real>, D> x, v, u, middle, start;
  Places<D> at;
  for (std::size_t p = 0; p < n; ++p)
    for (int c = 0; c < D; ++c) {
      const auto a = static_cast<std::size_t>(c);
      x[a][p] = position[p][c];
      v[a][p] = velocity[p][c];
    }
  const auto of = [](const std::array<RunOf<Real>, D>& q) {
    return [&q](std::size_t p, int a) { return q[static_cast<std::size_t>(a)][p]; };
  };
  at.find(l, n, of(x));
  for_components<D>([&]<int c>() {
    const Real* const pairs = w.pairs[c].data();
    for (std::size_t p = 0; p < n; ++p) {
      const Real* q = pairs + 2 * static_cast<std::ptrdiff_t>(at.first[c][p]);
      const Real fx = at.template part<c, 0>(p), fy = at.template part<c, 1>(p);
      Four a = load_four(q), b = load_four(q + 2 * sy), dz{};
      if constexpr (D == 3) {
        const Real fz = at.template part<c, D - 1>(p);
        const Four da = load_four(q + 2 * sz) - a, db = load_four(q + 2 * (sy + sz)) - b;
        if constexpr (transfer == Transfer::apic) dz = da + fy * (db - da);
        a += fz * da;
        b += fz * db;
      }
      const Four dy = b - a, sum = a + fy * dy;
      const Real here = sum[0] + fx * (sum[2] - sum[0]);
      u[c][p] = here;
      if constexpr (transfer == Transfer::apic)
        slopes[c][begin + p] =
            inv_h * Vec3(sum[2] - sum[0], dy[0] + fx * (dy[2] - dy[0]), dz[0] + fx * (dz[2] - dz[0]));
      if constexpr (transfer == Transfer::flip) {
        const Real change = sum[1] + fx * (sum[3] - sum[1]);
        v[c][p] = flip * (v[c][p] + change) + (1 - flip) * here;
      } else {
        v[c][p] = here;
      }
    }
  });
  // The midpoint rule, in parts of about a cell of the run's fastest.
  Real fastest = 0;
  for (std::size_t p = 0; p < n; ++p) {
    Real square = 0;
    for (std::size_t c = 0; c < D; ++c) square += u[c][p] * u[c][p];
    fastest = std::max(fastest, square);
  }
  const Real ways = std::sqrt(fastest) * dt * inv_h;
  const int parts = ways < 1 ? 1 : static_cast<int>(std::min(std::ceil(ways), Real(most_trace_parts)));
  const Real part = dt / static_cast<Real>(parts);
  const auto clamped = [&](std::size_t c, Real a) {
    return std::min(std::max(a, bounds.low[c]), bounds.high[c]);
  };
  const auto keep_in = [&](std::array<RunOf<Real>, D>& q) {
    for (std::size_t c = 0; c < D; ++c) {
      if (!bounds.wraps[c]) continue;
      for (std::size_t p = 0; p < n; ++p)
        q[c][p] = wrapped(q[c][p], m.low[static_cast<Index>(c)], m.h, m.shape.cells[c]);
    }
  };
  const auto carry = [&](std::array<RunOf<Real>, D>& out) {
    for_components<D>([&]<int c>() { interpolate<D, c>(l, at, n, w.carry[c].data(), out[c].data()); });
  };
  for (int q = 0; q < parts; ++q) {
    if (q > 0) {
      for (std::size_t c = 0; c < D; ++c)
        for (std::size_t p = 0; p < n; ++p) middle[c][p] = clamped(c, x[c][p]);
      at.find(l, n, of(middle));
      carry(u);
    }
    for (std::size_t c = 0; c < D; ++c) {
      if (bounds.wraps[c])
        for (std::size_t p = 0; p < n; ++p) middle[c][p] = x[c][p] + part / 2 * u[c][p];
      else
        for (std::size_t p = 0; p < n; ++p) middle[c][p] = clamped(c, x[c][p] + part / 2 * u[c][p]);
    }
    if (bounds.any) keep_in(middle);
    at.find(l, n, of(middle));
    carry(u);
    if (!w.walls.empty()) start = x;
    for (std::size_t c = 0; c < D; ++c)
      for (std::size_t p = 0; p < n; ++p) x[c][p] += part * u[c][p];
    if (bounds.any) {
      // Ways stay as long as they are.
      if (!w.walls.empty()) middle = x;
      keep_in(x);
      if (!w.walls.empty())
        for (std::size_t c = 0; c < D; ++c)
          for (std::size_t p = 0; p < n; ++p) start[c][p] += x[c][p] - middle[c][p];
    }
    if (!m.distance.empty())
      for (std::size_t p = 0; p < n; ++p) {
        std::array<Real, 3> y{}, vy{};
        for (std::size_t c = 0; c < D; ++c) y[c] = x[c][p], vy[c] = v[c][p];
        push_out<D>(m, l, y, vy);
        for (std::size_t c = 0; c < D; ++c) x[c][p] = y[c], v[c][p] = vy[c];
      }
    for (std::size_t c = 0; c < D; ++c) {
      const Real low = bounds.stay_low[c], high = bounds.stay_high[c];
      for (std::size_t p = 0; p < n; ++p) {
        const Real a = x[c][p];
        v[c][p] = a < low ? std::max(v[c][p], Real(0)) : a > high ? std::min(v[c][p], Real(0)) : v[c][p];
        x[c][p] = std::min(std::max(a, low), high);
      }
    }
    if (!w.walls.empty()) stop_run<D>(m, w, n, start, x, v);
    if (bounds.any && (!w.walls.empty() || !m.distance.empty())) keep_in(x);
  }
  for (std::size_t p = 0; p < n; ++p)
    for (int c = 0; c < D; ++c) {
      const auto a = static_cast<std::size_t>(c);
      position[p][c] = x[a][p];
      velocity[p][c] = v[a][p];
    }
}

/// f.operator()<D>() for the grid's dimension.
template <class F>
void by_dimension(const Model& m, F&& f) {
  if (m.shape.is_flat())
    f.template operator()<2>();
  else
    f.template operator()<3>();
}

}  // namespace

void particles_to_faces(const Model& m, State& s, const Params& params, Workspace& w) {
  const GridShape& shape = m.shape;
  const bool affine = params.transfer == Transfer::apic;
  const std::size_t n = w.slab_begin.back();
  w.x.resize(n), w.v.resize(n);
  if (affine)
    for (std::vector<Vec3>* a : {&s.du, &s.dv, &s.dw}) a->resize(s.x.size(), Vec3::Zero());
  for (std::vector<Vec3>* a : {&w.du, &w.dv, &w.dw}) a->resize(affine ? n : 0);
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    if (w.pairs[a].size() != 2 * shape.size()) w.pairs[a].resize(2 * shape.size());
    if (w.carry[a].size() != shape.size()) w.carry[a].resize(shape.size());
  }
  if (w.crowd.size() != shape.size()) w.crowd.resize(shape.size());
  if (!w.window.is_empty())
    for_rows(grown(shape, w.window, 1, 1), [&](Index j, Index k) {
      const std::size_t first = shape.index(w.window.low[0] - 1, j, k);
      const auto count = static_cast<std::size_t>(w.window.high[0] - w.window.low[0] + 2);
      for (int c = 0; c < shape.dimensions(); ++c)
        std::fill_n(w.pairs[static_cast<std::size_t>(c)].data() + 2 * first, 2 * count, Real(0));
      std::fill_n(w.crowd.data() + first, count, Real(0));
    });
  // Planes that a tile writes: its own and one on either side.
  constexpr std::size_t tile = 4;
  const std::size_t slabs = w.slab_begin.size() - 1, tiles = (slabs + tile - 1) / tile;
  for (std::size_t colour = 0; colour < 2; ++colour)
    parallel_for((tiles + 1 - colour) / 2, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t t = first; t < last; ++t) {
        const std::size_t slab = (2 * t + colour) * tile;
        const std::size_t begin = w.slab_begin[slab], end = w.slab_begin[std::min(slabs, slab + tile)];
        for (std::size_t p = begin; p < end; p += run_size) {
          const std::size_t q = std::min(end, p + run_size);
          reorder(w.order, p, q, s.x, w.x);
          reorder(w.order, p, q, s.v, w.v);
          if (affine) {
            reorder(w.order, p, q, s.du, w.du);
            reorder(w.order, p, q, s.dv, w.dv);
            reorder(w.order, p, q, s.dw, w.dw);
          }
          by_dimension(m, [&]<int D>() {
            if (affine)
              scatter<D, true>(m, w, p, q);
            else
              scatter<D, false>(m, w, p, q);
          });
        }
      }
    });
  if (any(w.wraps)) {
    const ItemBox given = grown(shape, w.window, 1, 1), all = grown(shape, w.window, 1, 2);
    for (int c = 0; c < shape.dimensions(); ++c)
      fold_items<2>(shape, w.wraps, given, w.pairs[static_cast<std::size_t>(c)].data());
    fold_items<1>(shape, w.wraps, given, w.crowd.data());
    wrap_items<1>(shape, w.wraps, all, w.crowd.data());
  }
  std::swap(s.x, w.x);
  std::swap(s.v, w.v);
  if (affine) {
    std::swap(s.du, w.du);
    std::swap(s.dv, w.dv);
    std::swap(s.dw, w.dw);
  } else {
    for (std::vector<Vec3>* a : {&s.du, &s.dv, &s.dw}) a->clear();
  }
}

void faces_to_particles(const Model& m, State& s, const Params& params, Workspace& w, Real dt) {
  by_dimension(m, [&]<int D>() {
    parallel_for(s.x.size(), 32 * run_size, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; p += run_size) {
        const std::size_t n = std::min(run_size, end - p);
        switch (params.transfer) {
          case Transfer::pic:
            gather<D, Transfer::pic>(m, s, params, w, dt, p, n);
            break;
          case Transfer::flip:
            gather<D, Transfer::flip>(m, s, params, w, dt, p, n);
            break;
          case Transfer::apic:
            gather<D, Transfer::apic>(m, s, params, w, dt, p, n);
            break;
        }
      }
    });
  });
}

}}  // namespace plenum::inline PLENUM_ABI::detail
