// Inlets: windows in closed sides of the box through which liquid comes.
//
// The part A of each face that a window covers is that of its square (edge, in two dimensions) which is in
// the inlet's shape, however thin that is. What comes in goes to the right-hand side
// of the pressure, A u of each face, and as particles into the cells: each of the places of a face's square
// lets one in whenever A u t has grown by the distance between particles, at the moment when it has, so that
// what is in the box grows as the flow says, to a particle of each place.
#include <fmt/format.h>

#include <utility>

#include "plenum/base/error.h"
#include "plenum/base/random.h"
#include "plenum/solvers/liquid/detail/emit.h"
#include "plenum/solvers/liquid/detail/seam.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using Model = Liquid::Model;

/// Part of the time from t0 to t1 [s] in which an inlet is open.
Real part_open(const LiquidInlet& inlet, double t0, double t1) {
  const double from = std::max(t0, static_cast<double>(inlet.start)),
               to = std::min(t1, static_cast<double>(inlet.stop));
  return t1 > t0 ? static_cast<Real>(std::max(to - from, 0.0) / (t1 - t0)) : Real(0);
}

/// Part of the line from x0 to x1 that is in a solid: ends of what is in it are found by bisection between
/// points an eighth of the line apart.
Real length_in(const Shape& solid, const Pose& pose, const Vec3& x0, const Vec3& x1) {
  constexpr int points = 8, halvings = 12;
  const auto is_in = [&](Real t) {
    return solid.signed_distance(pose.to_local(x0 + t * (x1 - x0))).distance <= 0;
  };
  Real sum = 0, from = 0;
  bool was_in = is_in(0);
  for (int k = 1; k <= points; ++k) {
    Real to = static_cast<Real>(k) / points;
    const bool in = is_in(to);
    const Real width = to - from;
    if (in == was_in) {
      sum += in ? width : Real(0);
    } else {
      Real low = from, high = to;
      for (int half = 0; half < halvings; ++half) {
        const Real middle = (low + high) / 2;
        (is_in(middle) == was_in ? low : high) = middle;
      }
      sum += was_in ? low - from : to - low;
    }
    from = to, was_in = in;
  }
  return sum;
}

/// Part of a face across an axis, with number `item`, that is in a solid: the mean of lines across it.
Real part_in(const Model& m, const Shape& solid, const Pose& pose, std::size_t axis,
             const std::array<Index, 3>& item) {
  constexpr int lines = 64;
  const bool flat = m.shape.is_flat();
  const auto at = [&](Real s, Real t) {
    Vec3 x;
    bool first = true;
    for (int c = 0; c < 3; ++c) {
      const auto a = static_cast<std::size_t>(c);
      Real in_cell = 0;
      if (c == 2 && flat)
        in_cell = Real(0.5);
      else if (a != axis)
        in_cell = std::exchange(first, false) ? s : t;
      x[c] = m.low[c] + m.h * (static_cast<Real>(item[a]) + in_cell);
    }
    return x;
  };
  // Nothing is nearer than the distance says.
  const Vec3 middle = at(Real(0.5), Real(0.5));
  const Real distance = solid.signed_distance(pose.to_local(middle)).distance;
  if (std::abs(distance) > m.h) return distance < 0 ? Real(1) : Real(0);
  if (flat) return length_in(solid, pose, at(0, 0), at(1, 0));
  Real sum = 0;
  for (int line = 0; line < lines; ++line) {
    const Real t = (static_cast<Real>(line) + Real(0.5)) / lines;
    sum += length_in(solid, pose, at(0, t), at(1, t));
  }
  return sum / lines;
}

/// Faces on closed sides that an inlet covers and through which it leads in; of two inlets at a face the
/// first has it. `left` [shape.size()] by axis: what solids and inlets leave of faces. Returns whether it
/// covers any.
bool find_inlet_faces(Model& m, std::size_t number, FaceField& left) {
  const GridShape& shape = m.shape;
  const LiquidInlet& inlet = m.inlets[number];
  const Shape solid = inlet.solid();
  const Pose pose = inlet.pose();
  bool covers = false;
  for (std::size_t side = 0; side < 2 * static_cast<std::size_t>(shape.dimensions()); ++side) {
    if (!m.is_closed(side)) continue;
    const std::size_t axis = side / 2;
    const bool high = side % 2 != 0;
    const Real inwards = (high ? -1 : 1) * inlet.velocity[static_cast<Index>(axis)];
    std::array<Index, 3> low = {0, 0, 0}, end = shape.cells;
    low[axis] = high ? shape.cells[axis] : 0, end[axis] = low[axis] + 1;
    for (Index k = low[2]; k < end[2]; ++k)
      for (Index j = low[1]; j < end[1]; ++j)
        for (Index i = low[0]; i < end[0]; ++i) {
          const std::size_t face = shape.index(i, j, k);
          Real& rest = left.along[axis][face];
          const Real part = std::min(part_in(m, solid, pose, axis, {i, j, k}), rest);
          if (part < sliver) continue;
          covers = true;
          if (!(inwards > 0)) continue;
          rest = 0;
          std::array<Index, 3> cell = {i, j, k};
          if (high) --cell[axis];
          m.inlet_faces.push_back({.face = static_cast<std::uint32_t>(face),
                                   .axis = static_cast<std::uint8_t>(axis),
                                   .high = high,
                                   .inlet = static_cast<std::uint32_t>(number),
                                   .cell = cell,
                                   .part = part});
        }
  }
  return covers;
}

/// The face of an inlet with a number, if most of it is one's.
const Liquid::InletFace* find_inlet_face(const Model& m, std::size_t axis, std::size_t face) {
  const auto key = [](const Liquid::InletFace& f) { return std::pair(f.axis, f.face); };
  const std::pair wanted(static_cast<std::uint8_t>(axis), static_cast<std::uint32_t>(face));
  const auto at = std::lower_bound(m.inlet_faces.begin(), m.inlet_faces.end(), wanted,
                                   [&](const Liquid::InletFace& f, const auto& k) { return key(f) < k; });
  return at != m.inlet_faces.end() && key(*at) == wanted && at->part > Real(0.5) ? &*at : nullptr;
}

/// f(face, velocity across it [m/s], over all of it) for those of inlets that are open, where there are
/// velocities.
template <class F>
void for_open_faces(const Model& m, const Liquid::Workspace& w, F&& f) {
  for (const Liquid::InletFace& face : m.inlet_faces) {
    bool in = w.inflow[face.inlet] > 0;
    for (std::size_t c = 0; c < 3; ++c)
      in = in && face.cell[c] >= w.window.low[c] && face.cell[c] < w.window.high[c];
    if (in)
      f(face, part_let_through(m, w, face) * w.inflow[face.inlet] * m.inlets[face.inlet].velocity[face.axis]);
  }
}

/// A place for particle `seed` of a face's square, on the side [m]: on a lattice, jittered, and within the
/// inlet's shape if that has been met in a few trials.
Vec3 place_on_face(const Model& m, const Liquid::InletFace& face, int seed, std::uint64_t index) {
  const LiquidInlet& inlet = m.inlets[face.inlet];
  const int n = m.per_side;
  const Shape solid = inlet.solid();
  const Pose pose = inlet.pose();
  constexpr int trials = 16;
  Vec3 x;
  for (int trial = 0; trial < trials; ++trial) {
    const Vec4 random = uniform4(1, index, static_cast<std::uint64_t>(trial));
    int rest = seed;
    for (int c = 0; c < 3; ++c) {
      const auto a = static_cast<std::size_t>(c);
      Real in_cell;
      if (a == face.axis) {
        in_cell = face.high ? Real(1) : Real(0);
      } else if (c == 2 && m.shape.is_flat()) {
        in_cell = Real(0.5);
      } else {
        const int place = rest % n;
        rest /= n;
        in_cell = face.part < 1
                      ? random[c]
                      : (static_cast<Real>(place) + Real(0.5) + m.jitter * (random[c] - Real(0.5))) /
                            static_cast<Real>(n);
      }
      x[c] = m.low[c] + m.h * (static_cast<Real>(face.cell[a]) + in_cell);
    }
    if (face.part >= 1 || solid.signed_distance(pose.to_local(x)).distance <= 0) break;
  }
  return x;
}

}  // namespace

void find_inlets(Model& m, Refusals& refusals) {
  if (m.inlets.empty()) return;
  FaceField left = m.open;
  if (left[0].empty()) left.assign(m.shape, 1);
  for (std::size_t number = 0; number < m.inlets.size(); ++number) {
    const std::size_t faces = m.inlet_faces.size();
    if (m.shape.is_flat()) m.inlets[number].velocity.z() = 0;
    bool covers = false;
    const std::string key = fmt::format("inlets[{}]", number);
    under(key, [&] {
      m.inlets[number].require_closed();
      covers = find_inlet_faces(m, number, left);
    });
    if (!covers)
      refusals.keep(Problem{.key = key,
                            .what = "covers nothing of a closed side that is not covered already",
                            .remedy = "move it so that a closed side of the box goes through it"});
    else if (m.inlet_faces.size() == faces)
      refusals.keep(
          Problem{.key = key + ".velocity",
                  .what = "leads nothing into the box through the sides that the inlet covers",
                  .value = fmt::format("[{}, {}, {}]", m.inlets[number].velocity.x(),
                                       m.inlets[number].velocity.y(), m.inlets[number].velocity.z()),
                  .remedy = "turn it inwards"});
  }
  std::sort(m.inlet_faces.begin(), m.inlet_faces.end(),
            [](const Liquid::InletFace& a, const Liquid::InletFace& b) {
              return std::pair(a.axis, a.face) < std::pair(b.axis, b.face);
            });
}

void open_inlets(const Model& m, const Liquid::Params& params, Liquid::Workspace& w, double t0, double t1) {
  w.inflow.resize(m.inlets.size());
  for (std::size_t k = 0; k < m.inlets.size(); ++k)
    w.inflow[k] = params.inflow * part_open(m.inlets[k], t0, t1);
}

void set_inlet_faces(const Model& m, Liquid::Workspace& w) {
  for_open_faces(m, w, [&](const Liquid::InletFace& face, Real u) {
    w.known[face.axis][face.face] = 1;
    Real* pair = w.pairs[face.axis].data() + 2 * static_cast<std::size_t>(face.face);
    pair[0] = pair[1] = u;
  });
}

void fill_inlet_faces(const Model& m, Liquid::Workspace& w) {
  for_open_faces(m, w, [&](const Liquid::InletFace& face, Real u) {
    Real *pair = w.pairs[face.axis].data(), *carry = w.carry[face.axis].data();
    pair[2 * static_cast<std::size_t>(face.face)] = carry[face.face] = u;
    // In edges and corners of the box it goes on as beside the other sides.
    std::array<Index, 3> item = face.cell;
    if (face.high) ++item[face.axis];
    std::array<std::ptrdiff_t, 4> at = {static_cast<std::ptrdiff_t>(face.face)};
    std::size_t count = 1;
    for (int c = 0; c < m.shape.dimensions(); ++c) {
      const auto a = static_cast<std::size_t>(c);
      if (a == face.axis || w.wraps[a]) continue;
      const bool low = item[a] == 0;
      if (!low && item[a] != m.shape.cells[a] - 1) continue;
      const SideHold hold = hold_beside(m, w, 2 * a + (low ? 0 : 1), face.axis, item);
      for (std::size_t k = 0; k < count; ++k) {
        const std::ptrdiff_t from = at[k], to = from + (low ? -1 : 1) * m.shape.stride(c);
        const Real v = carry[from];
        pair[2 * to] = carry[to] = hold.holds ? 2 * hold.velocity - v : v;
        at[count + k] = to;
      }
      count *= 2;
    }
  });
}

double add_inflow(const Model& m, Liquid::Workspace& w) {
  const RowLayout& layout = w.pressure.poisson().layout;
  const CellWindow& solved = w.solved;
  double sum = 0;
  for_open_faces(m, w, [&](const Liquid::InletFace& face, Real u) {
    const Index i = face.cell[0], j = face.cell[1], k = face.cell[2];
    if (!w.liquid[m.shape.index(i, j, k)]) return;
    w.pressure
        .b[layout.row(j - solved.low[1], k - solved.low[2]) + static_cast<std::size_t>(i - solved.low[0])] +=
        std::abs(u);
    sum += static_cast<double>(std::abs(u));
  });
  return sum;
}

SideHold hold_beside(const Model& m, const Liquid::Workspace& w, std::size_t side, int c,
                     std::array<Index, 3> item) {
  const std::size_t axis = side / 2;
  item[axis] = side % 2 ? m.shape.cells[axis] : 0;
  if (!m.inlet_faces.empty() && static_cast<int>(axis) != c) {
    const std::size_t face = m.shape.index(item[0], item[1], item[2]);
    const auto along = static_cast<std::size_t>(c);
    std::array<Index, 3> below = item;
    below[along] = w.wraps[along] && item[along] == 0 ? m.shape.cells[along] - 1 : item[along] - 1;
    for (const std::size_t at : {face, m.shape.index(below[0], below[1], below[2])})
      if (const Liquid::InletFace* found = find_inlet_face(m, axis, at); found && w.inflow[found->inlet] > 0)
        return {true, w.inflow[found->inlet] * m.inlets[found->inlet].velocity[c]};
  }
  return {!m.has_slip(side), m.sides[side].velocity[c]};
}

double fastest_inlet(const Model& m, const Liquid::Params& params) {
  double most = 0;
  for (const LiquidInlet& inlet : m.inlets)
    most = std::max(most, static_cast<double>(params.inflow * inlet.velocity.norm()));
  return most;
}

void let_in(const Model& m, Liquid::State& s, const Liquid::Params& params, const Liquid::Workspace& w,
            double t0, double t1) {
  const auto is_in_body = [&](const Vec3& x) {
    for (const LiquidBodies::Part& part : w.immersed.parts)
      if (part.solid.shape->signed_distance(part.pose.to_local(x)).distance < 0) return true;
    return false;
  };
  const int seeds = m.per_cell() / m.per_side;
  const auto h = static_cast<double>(m.h);
  for (const Liquid::InletFace& face : m.inlet_faces) {
    const LiquidInlet& inlet = m.inlets[face.inlet];
    const Vec3 velocity = params.inflow * inlet.velocity;
    const double speed = std::abs(static_cast<double>(velocity[face.axis])),
                 rate = static_cast<double>(face.part) * speed * m.per_side / h,
                 start = static_cast<double>(inlet.start), from = std::max(t0, start) - start,
                 to = std::min(t1, static_cast<double>(inlet.stop)) - start;
    if (!(to > from) || !(rate > 0)) continue;
    // What has gone through the whole box in this time is gone.
    const double longest = h * static_cast<double>(m.shape.cells[face.axis]) / speed,
                 earliest = std::max(from, t1 - start - longest);
    for (int seed = 0; seed < seeds; ++seed) {
      const auto phase = static_cast<double>(
          Real(0.5) +
          m.jitter *
              (uniform4(2, face.face, static_cast<std::uint64_t>(3 * seed) + face.axis)[0] - Real(0.5)));
      const auto first = static_cast<std::int64_t>(std::floor(rate * earliest + 1 - phase)),
                 last = static_cast<std::int64_t>(std::floor(rate * to + 1 - phase));
      for (std::int64_t number = first; number < last; ++number) {
        const double age = t1 - start - (static_cast<double>(number) + phase) / rate;
        Vec3 x = place_on_face(m, face, seed, s.num_emitted++);
        if (is_in_body(x)) continue;
        const Vec3 begin = x;
        x += static_cast<Real>(age) * velocity;
        for (int c = 0; c < m.shape.dimensions(); ++c) {
          const auto a = static_cast<std::size_t>(c);
          if (m.is_periodic(a)) continue;
          const Real gap = wall_gap * m.h, high = m.low[c] + m.h * static_cast<Real>(m.shape.cells[a]);
          x[c] = std::min(std::max(x[c], m.low[c] + gap), high - gap);
        }
        if (!m.walls.empty()) x = stop_at_walls(m.walls, begin, x, wall_gap * m.h, m.shape.is_flat()).x;
        s.x.push_back(wrapped(m, x));
        s.v.push_back(velocity);
      }
    }
  }
  for (std::vector<Vec3>* a : {&s.du, &s.dv, &s.dw})
    if (!a->empty()) a->resize(s.x.size(), Vec3::Zero());
}

}}  // namespace plenum::inline PLENUM_ABI::detail
