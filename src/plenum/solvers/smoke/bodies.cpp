// Bodies that move in the gas.
//
// Of each face a body closes the part that is within it, which moves with the body: a cell loses what flows
// through the open parts of its faces and what the body drives through the closed ones. The same parts, in
// the transposed order, give the body its impulse, so that what the gas and the bodies gain sums up to what
// the walls give, to rounding. Source: Batty, Bertails & Bridson 2007, "A fast variational framework for
// accurate solid-fluid coupling", section 4, with areas of faces as in Ng, Min & Gibou 2009, "An efficient
// fluid-solid coupling algorithm for single-phase flows".
#include <algorithm>
#include <cmath>

#include "plenum/geometry/shape.h"
#include "plenum/solvers/smoke/detail/stages.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using Model = Smoke::Model;
using State = Smoke::State;
using Workspace = Smoke::Workspace;
using Body = SmokeBodies::Body;
using Part = SmokeBodies::Part;
using Three = std::array<Index, 3>;

/// Layers of items within bodies that get values of the gas beside them; deeper ones go with the body.
constexpr int layers = 3;

Vec3 turn_from(const Quat& from, const Quat& to) {
  Quat q = to * from.conjugate();
  if (q.w() < 0) q.coeffs() = -q.coeffs();
  const Real s = q.vec().norm();
  return s > 0 ? Vec3(2 * std::atan2(s, q.w()) / s * q.vec()) : Vec3(Vec3::Zero());
}

/// f(i, j, k, item) for items low <= (i, j, k) < high, one after the other.
template <class F>
void for_box(const GridShape& shape, const Three& low, const Three& high, F&& f) {
  for (Index k = low[2]; k < high[2]; ++k)
    for (Index j = low[1]; j < high[1]; ++j) {
      std::size_t at = shape.index(low[0], j, k);
      for (Index i = low[0]; i < high[0]; ++i, ++at) f(i, j, k, at);
    }
}
/// The same in parallel over rows.
template <class F>
void for_box_rows(const GridShape& shape, const Three& low, const Three& high, F&& f) {
  if (low[0] >= high[0] || low[1] >= high[1] || low[2] >= high[2]) return;
  const auto ny = static_cast<std::size_t>(high[1] - low[1]);
  parallel_for(ny * static_cast<std::size_t>(high[2] - low[2]), 32, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const Index j = low[1] + static_cast<Index>(row % ny), k = low[2] + static_cast<Index>(row / ny);
      f(j, k, shape.index(low[0], j, k));
    }
  });
}

/// Items that there are of a quantity: component c, or cells (3).
Three items_of(const GridShape& shape, std::size_t c) {
  Three n = shape.cells;
  if (c < 3) ++n[c];
  return n;
}

/// Items around a part's bounds at a pose, cells and their upper faces.
void find_items(const Model& m, const Pose& pose, Part& part) {
  const GridShape& shape = m.shape;
  const Aabb bounds = part.solid.shape->bounds(pose);
  part.low = {0, 0, 0}, part.high = {1, 1, 1};
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    const auto n = static_cast<Real>(shape.cells[a]);
    part.low[a] =
        static_cast<Index>(std::clamp(std::floor((bounds.low[c] - m.low[c]) / m.h) - 1, Real(0), n));
    part.high[a] =
        static_cast<Index>(std::clamp(std::ceil((bounds.high[c] - m.low[c]) / m.h) + 2, Real(0), n + 1));
  }
  const Real z = m.low.z() + m.h / 2;
  if (shape.is_flat() && (bounds.low.z() > z || bounds.high.z() < z)) part.high = part.low;
  for (std::size_t a = 0; a < 3; ++a)
    if (part.low[a] >= part.high[a]) part.high = part.low;
}

/// Whether bodies leave the face alone: it is on a side of the box that is closed or leads on.
bool on_side(const Model& m, std::size_t c, Index along) {
  return (along == 0 && m.box.sides[2 * c] != GridSide::outflow && m.box.sides[2 * c] != GridSide::inflow) ||
         (along == m.shape.cells[c] && m.box.sides[2 * c + 1] != GridSide::outflow &&
          m.box.sides[2 * c + 1] != GridSide::inflow);
}

/// Puts back what the solids of the model leave open.
void restore(const Model& m, SmokeBodies& b) {
  const GridShape& shape = m.shape;
  const auto dimensions = static_cast<std::size_t>(shape.dimensions());
  if (b.known[3].size() != shape.size()) {
    b.open.assign(shape, 1);
    for (std::vector<std::uint8_t>& known : b.known) known.assign(shape.size(), 0);
    b.changed.assign(1, {Three{0, 0, 0}, Three{shape.cells[0] + 1, shape.cells[1] + 1,
                                               shape.is_flat() ? 1 : shape.cells[2] + 1}});
  }
  for (const std::array<Three, 2>& box : b.changed)
    for (std::size_t q = 0; q < 4; ++q) {
      if (q < 3 && q >= dimensions) continue;
      Three high = box[1];
      const Three n = items_of(shape, q);
      for (std::size_t a = 0; a < 3; ++a) high[a] = std::min(high[a], n[a]);
      for_box_rows(shape, box[0], high, [&](Index, Index, std::size_t first) {
        const auto count = static_cast<std::size_t>(high[0] - box[0][0]);
        if (m.known[q].empty())
          std::fill_n(b.known[q].data() + first, count, std::uint8_t{1});
        else
          std::copy_n(m.known[q].data() + first, count, b.known[q].data() + first);
        if (q == 3) return;
        Real* open = b.open.along[q].data() + first;
        if (m.open[static_cast<int>(q)].empty())
          std::fill_n(open, count, Real(1));
        else
          std::copy_n(m.open[static_cast<int>(q)].data() + first, count, open);
      });
    }
  b.changed.clear();
}

/// Takes a part at a pose out of the faces.
void close_part(const Model& m, const Pose& pose, const Part& part, SmokeBodies& b) {
  const GridShape& shape = m.shape;
  const bool flat = shape.is_flat();
  const auto nx = static_cast<std::size_t>(part.high[0] - part.low[0]),
             ny = static_cast<std::size_t>(part.high[1] - part.low[1]),
             nz = static_cast<std::size_t>(part.high[2] - part.low[2]);
  // Distances at the corners of cells; a flat grid is the section through its middle.
  const std::size_t cx = nx + 1, cy = ny + 1, cz = flat ? 1 : nz + 1, corners = cx * cy * cz;
  if (b.corner.size() < corners) b.corner.resize(corners), b.distance.resize(corners);
  for (std::size_t k = 0; k < cz; ++k)
    for (std::size_t j = 0; j < cy; ++j)
      for (std::size_t i = 0; i < cx; ++i)
        b.corner[i + cx * (j + cy * k)] =
            m.low + m.h * Vec3(static_cast<Real>(part.low[0]) + static_cast<Real>(i),
                               static_cast<Real>(part.low[1]) + static_cast<Real>(j),
                               flat ? Real(0.5) : static_cast<Real>(part.low[2]) + static_cast<Real>(k));
  part.solid.shape->signed_distances(pose, std::span<const Vec3>(b.corner.data(), corners),
                                     std::span<Real>(b.distance.data(), corners));
  const Real* d = b.distance.data();
  for_box_rows(shape, part.low, part.high, [&](Index j, Index k, std::size_t first) {
    const auto row =
        static_cast<std::size_t>(j - part.low[1]) + ny * static_cast<std::size_t>(k - part.low[2]);
    const Real* at = d + cx * (static_cast<std::size_t>(j - part.low[1]) +
                               cy * static_cast<std::size_t>(flat ? 0 : k - part.low[2]));
    for (std::size_t i = 0; i < nx; ++i) {
      std::array<Real, 3>& closed = b.closed[part.first + row * nx + i];
      closed = {0, 0, 0};
      const Three item = {part.low[0] + static_cast<Index>(i), j, k};
      for (std::size_t c = 0; c < static_cast<std::size_t>(shape.dimensions()); ++c) {
        bool is_face = !on_side(m, c, item[c]);
        for (std::size_t a = 0; a < 3; ++a) is_face = is_face && (a == c || item[a] < shape.cells[a]);
        if (!is_face) continue;
        const auto x = [&](std::size_t right, std::size_t up, std::size_t over) {
          return at[i + right + cx * (up + cy * over)];
        };
        Real part_open;
        if (flat)
          part_open =
              c == 0 ? positive_length(x(0, 0, 0), x(0, 1, 0)) : positive_length(x(0, 0, 0), x(1, 0, 0));
        else
          part_open = c == 0   ? positive_area(x(0, 0, 0), x(0, 1, 0), x(0, 1, 1), x(0, 0, 1))
                      : c == 1 ? positive_area(x(0, 0, 0), x(1, 0, 0), x(1, 0, 1), x(0, 0, 1))
                               : positive_area(x(0, 0, 0), x(1, 0, 0), x(1, 1, 0), x(0, 1, 0));
        Real& open = b.open.along[c][first + i];
        const Real left = std::min(open, part_open < sliver ? Real(0) : part_open);
        closed[c] = open - left;
        open = left;
      }
    }
  });
}

/// Which items of the parts' boxes hold gas, from what is open.
void mark_items(const Model& m, SmokeBodies& b) {
  const GridShape& shape = m.shape;
  const int dimensions = shape.dimensions();
  for (const Part& part : b.parts) {
    for_box(shape, part.low, part.high, [&](Index i, Index j, Index k, std::size_t at) {
      const Three item = {i, j, k};
      bool is_cell = true, holds = false;
      for (std::size_t a = 0; a < 3; ++a) is_cell = is_cell && item[a] < shape.cells[a];
      for (int c = 0; c < dimensions; ++c) {
        const auto a = static_cast<std::size_t>(c);
        bool is_face = true;
        for (std::size_t other = 0; other < 3; ++other)
          is_face = is_face && (other == a || item[other] < shape.cells[other]);
        const std::vector<Real>& open = b.open.along[a];
        if (is_face) b.known[a][at] = open[at] > 0 ? 1 : 0;
        holds = holds || open[at] > 0 || open[at + static_cast<std::size_t>(shape.stride(c))] > 0;
      }
      if (is_cell) b.known[3][at] = holds ? 1 : 0;
    });
    b.changed.push_back({part.low, part.high});
  }
}

/// Items of the quantity q without gas in the parts' boxes, in layers.
void find_layers(const Model& m, std::size_t q, SmokeBodies& b) {
  const GridShape& shape = m.shape;
  Extrapolation& out = b.extrapolation[q];
  std::vector<std::uint8_t>& known = b.known[q];
  out.items.clear(), out.layers.clear();
  const Three n = items_of(shape, q);
  // While they are looked for, items found are marked by 2 and their layer.
  for (int layer = 0; layer < layers; ++layer) {
    const auto mark = static_cast<std::uint8_t>(2 + layer);
    for (const Part& part : b.parts) {
      Three high = part.high;
      for (std::size_t a = 0; a < 3; ++a) high[a] = std::min(high[a], n[a]);
      for_box(shape, part.low, high, [&](Index, Index, Index, std::size_t at) {
        if (known[at] != 0) return;
        unsigned neighbours = 0;
        for (int c = 0; c < shape.dimensions(); ++c)
          for (int s = 0; s < 2; ++s) {
            const std::uint8_t other = known[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(at) +
                                                                      (s ? 1 : -1) * shape.stride(c))];
            if (other != 0 && other < mark) neighbours |= 1u << (2 * c + s);
          }
        if (neighbours == 0) return;
        out.items.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint8_t>(neighbours)});
        known[at] = mark;
      });
    }
    out.layers.push_back(static_cast<std::uint32_t>(out.items.size()));
  }
  for (const Extrapolation::Item& item : out.items) known[item.item] = 0;
}

/// f(cell, item, n) for cells of gas in a part's box with the volume [faces] that the body at unit velocity
/// along each axis drives out of them.
template <class F>
void for_driven(const Model& m, const Part& part, const SmokeBodies& b, F&& f) {
  const GridShape& shape = m.shape;
  const auto nx = static_cast<std::size_t>(part.high[0] - part.low[0]),
             ny = static_cast<std::size_t>(part.high[1] - part.low[1]);
  const std::array<std::size_t, 3> stride = {1, nx, nx * ny};
  // Beyond the box's low end a cell has no item, but its upper face has.
  for_box(shape, part.low, part.high, [&](Index i, Index j, Index k, std::size_t at) {
    const Three cell = {i, j, k};
    for (std::size_t a = 0; a < 3; ++a)
      if (cell[a] >= shape.cells[a]) return;
    if (!b.known[3][at]) return;
    const std::size_t here = part.first + static_cast<std::size_t>(i - part.low[0]) +
                             nx * static_cast<std::size_t>(j - part.low[1]) +
                             nx * ny * static_cast<std::size_t>(k - part.low[2]);
    Vec3 n = Vec3::Zero();
    for (int c = 0; c < shape.dimensions(); ++c) {
      const auto a = static_cast<std::size_t>(c);
      const Real upper = cell[a] + 1 < part.high[a] ? b.closed[here + stride[a]][a] : Real(0);
      n[c] = upper - b.closed[here][a];
    }
    if (!n.isZero(0)) f(cell, n);
  });
}

}  // namespace

void begin_bodies(const Model& m, const State& s, Workspace& w, Real dt) {
  SmokeBodies& b = w.immersed;
  b.bodies.clear();
  b.parts.clear();
  b.pushes.clear();
  Aabb box = Smoke::stirred_box(m);
  for (std::size_t t = 0; t < b.told.size(); ++t) {
    const SolidBody& solid = b.told[t];
    Aabb way = solid.shape->bounds(solid.pose0);
    way.extend(solid.shape->bounds(solid.pose));
    if (!way.grown(m.h).overlaps(box)) continue;
    std::size_t body = b.bodies.size();
    while (body > 0 && !(solid.owner >= 0 &&
                         b.told[static_cast<std::size_t>(b.bodies[body - 1].first)].owner == solid.owner))
      --body;
    if (body > 0) {
      --body;
    } else {
      body = b.bodies.size();
      Body& of = b.bodies.emplace_back();
      of.first = static_cast<Index>(t);
      of.is_led = solid.inverse_mass == 0 && solid.inverse_inertia.isZero(0);
      of.inverse_mass = solid.inverse_mass;
      of.inverse_inertia = solid.inverse_inertia;
      of.impulse = of.couple = Vector3<double>::Zero();
      if (of.is_led) {
        of.centre = (solid.pose0.position + solid.pose.position) / 2;
        of.velocity = (solid.pose.position - solid.pose0.position) / dt;
        of.angular_velocity = turn_from(solid.pose0.rotation, solid.pose.rotation) / dt;
      } else {
        of.centre = solid.centre;
        of.velocity = solid.velocity + solid.angular_velocity.cross(of.centre - solid.pose0.position) +
                      dt * solid.acceleration;
        of.angular_velocity = solid.angular_velocity;
        of.hold = s.holds.of(of.first, of.velocity - dt * solid.acceleration, of.angular_velocity);
        of.velocity += of.hold.reckoned;
        of.angular_velocity += of.hold.reckoned_turn;
      }
    }
    Part& part = b.parts.emplace_back();
    part.solid = solid;
    part.number = t;
    part.body = body;
  }
  std::sort(b.parts.begin(), b.parts.end(), [](const Part& p, const Part& q) {
    return std::pair(p.body, p.number) < std::pair(q.body, q.number);
  });
  const auto is_at = [](const Pose& a, const Pose& b) {
    return a.position == b.position && a.rotation.coeffs() == b.rotation.coeffs();
  };
  b.still = b.stood.size() == b.parts.size();
  b.stood.resize(b.parts.size());
  for (std::size_t p = 0; p < b.parts.size(); ++p) {
    const SolidBody& solid = b.parts[p].solid;
    const bool stands = is_at(solid.pose0, solid.pose);
    b.still = b.still && stands && b.stood[p].first == solid.shape && is_at(b.stood[p].second, solid.pose);
    b.stood[p] = {stands ? solid.shape : nullptr, solid.pose};
  }
  if (!b.still) b.grip_known = false;
}

void end_bodies(State& s, const Workspace& w) {
  s.holds.clear();
  for (const Body& body : w.immersed.bodies)  // in the order of their first parts
    if (!body.is_led) s.holds.add(body.first, body.velocity, body.angular_velocity, body.hold);
}

void place_bodies(const Model& m, Workspace& w, bool at_end) {
  SmokeBodies& b = w.immersed;
  std::size_t items = 0;
  for (Part& part : b.parts) {
    find_items(m, at_end ? part.solid.pose : part.solid.pose0, part);
    part.first = items;
    std::size_t n = 1;
    for (std::size_t a = 0; a < 3; ++a) n *= static_cast<std::size_t>(part.high[a] - part.low[a]);
    items += n;
  }
  if (b.still) return;
  restore(m, b);
  if (b.closed.size() < items) b.closed.resize(items);
  for (const Part& part : b.parts)
    if (part.low[0] < part.high[0]) close_part(m, at_end ? part.solid.pose : part.solid.pose0, part, b);
  mark_items(m, b);
  if (!at_end) return find_layers(m, 3, b);
  for (int c = 0; c < m.shape.dimensions(); ++c) find_layers(m, static_cast<std::size_t>(c), b);
}

void clear_bodies(const Model& m, const Workspace& w, std::vector<Real>& q) {
  for (const Part& part : w.immersed.parts) {
    Three high = part.high;
    for (std::size_t a = 0; a < 3; ++a) high[a] = std::min(high[a], m.shape.cells[a]);
    for_box_rows(m.shape, part.low, high, [&](Index, Index, std::size_t first) {
      const auto count = static_cast<std::size_t>(high[0] - part.low[0]);
      for (std::size_t at = first; at < first + count; ++at)
        if (!w.immersed.known[3][at]) q[at] = 0;
    });
  }
}

void fill_bodies(const Model& m, const Workspace& w, FaceField& velocity) {
  const SmokeBodies& b = w.immersed;
  const GridShape& shape = m.shape;
  for (const Part& part : b.parts) {
    const Body& body = b.bodies[part.body];
    const auto nx = static_cast<std::size_t>(part.high[0] - part.low[0]),
               ny = static_cast<std::size_t>(part.high[1] - part.low[1]);
    for_box_rows(shape, part.low, part.high, [&](Index j, Index k, std::size_t first) {
      const std::size_t row = part.first + nx * (static_cast<std::size_t>(j - part.low[1]) +
                                                 ny * static_cast<std::size_t>(k - part.low[2]));
      for (std::size_t i = 0; i < nx; ++i)
        for (int c = 0; c < shape.dimensions(); ++c) {
          const auto a = static_cast<std::size_t>(c);
          if (b.closed[row + i][a] > 0 && !b.known[a][first + i])
            velocity.along[a][first + i] =
                body.velocity_at(place(m, c, part.low[0] + static_cast<Index>(i), j, k))[c];
        }
    });
  }
  if (m.solids_grip) return;
  for (int c = 0; c < shape.dimensions(); ++c)
    extrapolate(shape, b.extrapolation[static_cast<std::size_t>(c)],
                velocity.along[static_cast<std::size_t>(c)]);
}

PressureSolver& pressure_around_bodies(const Model& m, Workspace& w) {
  SmokeBodies& b = w.immersed;
  const GridShape& shape = m.shape;
  const FaceField& open = b.open;
  if (b.still) {
    b.pressure.ties.clear();
    return b.pressure;
  }
  const PressureSides sides = m.box.pressure_sides();
  if (std::find(sides.begin(), sides.end(), PressureSide::periodic) != sides.end()) {
    b.pressure = PressureSolver(grid_poisson(shape, sides, {.x = open[0], .y = open[1], .z = open[2]}));
    return b.pressure;
  }
  b.pressure.remake(shape.cells, shape.dimensions(), [&](Index j, Index k, const PoissonRow& row) {
    for (Real* to : row.to) std::fill_n(to, shape.cells[0], Real(0));
    const std::size_t first = shape.index(0, j, k);
    for (int c = 0; c < shape.dimensions(); ++c) {
      const auto a = static_cast<std::size_t>(c);
      for (std::size_t upper = 0; upper < 2; ++upper) {
        const Real* f = open[c].data() + first + (upper ? shape.stride(c) : 0);
        Real* const to = row.to[2 * a + upper];
        const Index last = upper ? shape.cells[a] - 1 : 0;
        for (Index i = 0; i < shape.cells[0]; ++i) {
          if ((c == 0 ? i : c == 1 ? j : k) != last)
            to[i] = f[i];
          else if (sides[2 * a + upper] == PressureSide::open)
            row.to[6][i] += 2 * f[i];
        }
      }
    }
  });
  return b.pressure;
}

void lift_bodies(const Model& m, const Smoke::Params& params, Workspace& w, Real dt) {
  // The pressure that is solved for is that beyond the one of gas at rest, rho g . x, whose push on a body is
  // the weight of what it displaces (Archimedes), counted by what it closes of the faces across gravity.
  SmokeBodies& b = w.immersed;
  const auto h = static_cast<double>(m.h);
  const double unit = static_cast<double>(params.air_density) * h * h * (m.shape.is_flat() ? 1 : h);
  for (const Part& part : b.parts) {
    Body& body = b.bodies[part.body];
    if (body.is_led) continue;
    Vector3<double> lift = Vector3<double>::Zero(), turn = Vector3<double>::Zero();
    const auto nx = static_cast<std::size_t>(part.high[0] - part.low[0]),
               ny = static_cast<std::size_t>(part.high[1] - part.low[1]);
    for_box(m.shape, part.low, part.high, [&](Index i, Index j, Index k, std::size_t) {
      const std::array<Real, 3>& closed = b.closed[part.first + static_cast<std::size_t>(i - part.low[0]) +
                                                   nx * (static_cast<std::size_t>(j - part.low[1]) +
                                                         ny * static_cast<std::size_t>(k - part.low[2]))];
      for (int c = 0; c < m.shape.dimensions(); ++c) {
        const Real part_closed = closed[static_cast<std::size_t>(c)];
        if (!(part_closed > 0)) continue;
        Vector3<double> push = Vector3<double>::Zero();
        push[c] = -unit * static_cast<double>(dt * params.gravity[c] * part_closed);
        Vector3<double> arm = (place(m, c, i, j, k) - body.centre).cast<double>();
        if (m.shape.is_flat()) arm.z() = 0;
        lift += push, turn += arm.cross(push);
      }
    });
    body.velocity += body.inverse_mass * lift.cast<Real>();
    body.angular_velocity += body.inverse_inertia * turn.cast<Real>();
    body.impulse += lift, body.couple += turn;
  }
}

void tie_bodies(const Model& m, const Smoke::Params& params, Workspace& w) {
  SmokeBodies& b = w.immersed;
  BodyTies& ties = b.pressure.ties;
  const RowLayout& layout = b.pressure.poisson().layout;
  const auto h = static_cast<double>(m.h);
  // Impulse [N s] of a body for sum g x = 1 m/s.
  const double unit = static_cast<double>(params.air_density) * h * h * (m.shape.is_flat() ? 1 : h);
  ties.clear();
  ties.bodies.resize(b.bodies.size());
  std::size_t next = 0;
  for (std::size_t of = 0; of < b.bodies.size(); ++of) {
    const Body& body = b.bodies[of];
    BodyTies::Body& tied = ties.bodies[of];
    tied.begin = ties.ties.size();
    BodyTies::Six velocity;
    velocity << body.velocity.cast<double>(), body.angular_velocity.cast<double>();
    for (; next < b.parts.size() && b.parts[next].body == of; ++next)
      for_driven(m, b.parts[next], b, [&](const Three& cell, const Vec3& n) {
        // A cell that nothing but a wall is left of has no pressure.
        if (!(b.pressure.poisson().diagonal(cell[0], cell[1], cell[2]) > 0)) return;
        Vec3 arm = place(m, -1, cell[0], cell[1], cell[2]) - body.centre;
        if (m.shape.is_flat()) arm.z() = 0;
        // The two faces of a cell across an axis act along one line with its centre.
        const Vec3 turning = arm.cross(n);
        const std::size_t item = layout.index(cell[0], cell[1], cell[2]);
        ties.ties.push_back(
            {static_cast<std::uint32_t>(item), {n.x(), n.y(), n.z(), turning.x(), turning.y(), turning.z()}});
        double out = 0;
        for (int q = 0; q < 6; ++q)
          out += static_cast<double>(ties.ties.back().g[static_cast<std::size_t>(q)]) * velocity[q];
        b.pressure.b[item] -= static_cast<Real>(out);
      });
    tied.end = ties.ties.size();
    tied.s.setZero();
    tied.s.topLeftCorner<3, 3>().diagonal().setConstant(unit * static_cast<double>(body.inverse_mass));
    tied.s.bottomRightCorner<3, 3>() = unit * body.inverse_inertia.cast<double>();
  }
}

void push_bodies(const Model& m, const Smoke::Params& params, Workspace& w) {
  SmokeBodies& b = w.immersed;
  BodyTies& ties = b.pressure.ties;
  const auto h = static_cast<double>(m.h);
  const double unit = static_cast<double>(params.air_density) * h * h * (m.shape.is_flat() ? 1 : h);
  for (std::size_t of = 0; of < b.bodies.size(); ++of) {
    Body& body = b.bodies[of];
    const BodyTies::Six given = unit * ties.gather(ties.bodies[of], std::span<const double>(b.pressure.x));
    const Vector3<double> push = given.head<3>(), turn = given.tail<3>();
    body.velocity += body.inverse_mass * push.cast<Real>();
    body.angular_velocity += body.inverse_inertia * turn.cast<Real>();
    body.impulse += push, body.couple += turn;
    if (body.impulse.isZero(0) && body.couple.isZero(0)) continue;
    b.pushes.push_back({.body = body.first,
                        .impulse = body.impulse.cast<Real>(),
                        .point = body.centre,
                        .couple = body.couple.cast<Real>(),
                        .spread = true});
  }
}

}}  // namespace plenum::inline PLENUM_ABI::detail
