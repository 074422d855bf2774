// Bodies that move in the liquid.
//
// What a body takes of the control volume around each face is its closed part, which moves with it: a cell
// loses what its faces let out and what the body's parts of them drive out (tied_bodies.cpp). Source: Batty,
// Bertails & Bridson 2007, "A fast variational framework for accurate solid-fluid coupling", section 3.
//
// Volumes are counted by eighths of cells (quarters, of a flat grid) as wide as half a cell: the part of one
// that is outside is 1/2 + d / width, within [0, 1], from the distance d of its middle, which is exact for
// planes along the grid's.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "plenum/base/error.h"
#include "plenum/integrate/free_rotation.h"
#include "plenum/solvers/liquid/detail/seam.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using Model = Liquid::Model;
using Workspace = Liquid::Workspace;
using Body = LiquidBodies::Body;
using Part = LiquidBodies::Part;
using Three = std::array<Index, 3>;

/// Bit of part_at: more than half of the cell is the body's.
constexpr std::uint16_t covered = 0x8000;
constexpr std::size_t most_parts = 0x7fff;

Vec3 turn_between(const Quat& from, const Quat& to) {
  Quat q = to * from.conjugate();
  if (q.w() < 0) q.coeffs() = -q.coeffs();
  const Real s = q.vec().norm();
  return s > 0 ? Vec3(2 * std::atan2(s, q.w()) / s * q.vec()) : Vec3(Vec3::Zero());
}

/// Items that a body may take from: those around its bounds, and a ghost beyond the sides.
void find_items(const Model& m, Part& part) {
  const GridShape& shape = m.shape;
  const Aabb bounds = part.solid.shape->bounds(part.pose);
  part.low = {0, 0, 0}, part.high = {1, 1, 1};
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    const auto last = static_cast<Real>(shape.cells[a] + 1);
    part.low[a] =
        static_cast<Index>(std::clamp(std::floor((bounds.low[c] - m.low[c]) / m.h) - 1, Real(-1), last));
    part.high[a] =
        static_cast<Index>(std::clamp(std::ceil((bounds.high[c] - m.low[c]) / m.h) + 1, Real(-1), last));
  }
  if (shape.is_flat()) {
    const Real z = m.low.z() + m.h / 2;
    if (bounds.low.z() > z || bounds.high.z() < z) part.high = part.low;
    return;
  }
  // Bounds may be much larger than what is in the box: a plane's are infinite, and a tub's hold its inside.
  constexpr Index block = 8;
  bool large = false;
  for (std::size_t a = 0; a < 3; ++a) large = large || part.high[a] - part.low[a] > 4 * block;
  if (!large) return;
  const Real far = (block * std::sqrt(Real(3)) / 2 + 2) * m.h;
  Three low = part.high, high = part.low;
  for (Index k = part.low[2]; k < part.high[2]; k += block)
    for (Index j = part.low[1]; j < part.high[1]; j += block)
      for (Index i = part.low[0]; i < part.high[0]; i += block) {
        const Vec3 middle =
            m.low + m.h * (Vec3(static_cast<Real>(i), static_cast<Real>(j), static_cast<Real>(k)) +
                           Vec3::Constant(Real(block) / 2));
        if (part.solid.shape->signed_distance(part.pose.to_local(middle)).distance > far) continue;
        const Three at = {i, j, k};
        for (std::size_t a = 0; a < 3; ++a) {
          low[a] = std::min(low[a], at[a]);
          high[a] = std::max(high[a], std::min(at[a] + block, part.high[a]));
        }
      }
  part.low = low, part.high = high;
}

bool is_empty(const Part& part) {
  return part.low[0] >= part.high[0] || part.low[1] >= part.high[1] || part.low[2] >= part.high[2];
}
std::size_t count_items(const Part& part) {
  std::size_t n = 1;
  for (std::size_t a = 0; a < 3; ++a) n *= static_cast<std::size_t>(part.high[a] - part.low[a]);
  return n;
}

/// The sub-cells of a part's items: what is outside of the body; all is beyond them.
struct SubCells {
  Three low, size, box;
  std::array<bool, 3> wraps;
  bool flat;
  const Real* outside;
  SubCells(const Model& m, const Part& part, const LiquidBodies& b)
      : wraps(periodic_axes(m)), flat(m.shape.is_flat()), outside(b.outside.data() + part.first) {
    for (std::size_t a = 0; a < 3; ++a) {
      const Index scale = flat && a == 2 ? 1 : 2;
      low[a] = scale * part.low[a], size[a] = scale * (part.high[a] - part.low[a]);
      box[a] = scale * m.shape.cells[a];
    }
  }
  Real at(Index i, Index j, Index k) const {
    i -= low[0], j -= low[1], k -= low[2];
    if (i < 0 || j < 0 || k < 0 || i >= size[0] || j >= size[1] || k >= size[2]) return 1;
    return outside[i + size[0] * (j + size[1] * static_cast<std::ptrdiff_t>(k))];
  }
  /// Mean over sub-cells first <= (i, j, k) < first + count.
  Real mean(const Three& first, const Three& count) const {
    Real sum = 0;
    for (Index k = 0; k < count[2]; ++k)
      for (Index j = 0; j < count[1]; ++j)
        for (Index i = 0; i < count[0]; ++i) sum += at(first[0] + i, first[1] + j, first[2] + k);
    return sum / static_cast<Real>(count[0] * count[1] * count[2]);
  }
  /// A sub-cell's number, or beyond a side that of its mirror image: the model's capacity has left out what
  /// is beyond, so that of a cell all of which a body fills nothing must be left.
  Index mirrored(std::size_t a, Index i) const {
    if (wraps[a]) return i;
    return i < 0 ? -1 - i : i >= box[a] ? 2 * box[a] - 1 - i : i;
  }
  /// Weighed by the hat function around an item's centre, exactly as far as sub-cells are even.
  Real around(const Three& item) const {
    constexpr std::array<Real, 4> hat = {Real(0.125), Real(0.375), Real(0.375), Real(0.125)};
    Real sum = 0;
    for (Index k = 0; k < (flat ? 1 : 4); ++k)
      for (Index j = 0; j < 4; ++j)
        for (Index i = 0; i < 4; ++i)
          sum += hat[static_cast<std::size_t>(i)] * hat[static_cast<std::size_t>(j)] *
                 (flat ? Real(1) : hat[static_cast<std::size_t>(k)]) *
                 at(mirrored(0, 2 * item[0] - 1 + i), mirrored(1, 2 * item[1] - 1 + j),
                    flat ? item[2] : mirrored(2, 2 * item[2] - 1 + k));
    return sum;
  }
};

void measure_sub_cells(const Model& m, const Part& part, LiquidBodies& b) {
  const bool flat = m.shape.is_flat();
  const auto side = [](Index n) { return static_cast<std::size_t>(n); };
  const std::size_t nx = 2 * side(part.high[0] - part.low[0]), ny = 2 * side(part.high[1] - part.low[1]),
                    nz = (flat ? 1 : 2) * side(part.high[2] - part.low[2]);
  const std::span<Vec3> point(b.point.data(), nx * ny * nz);
  const std::span<Real> outside(b.outside.data() + part.first, nx * ny * nz);
  parallel_for(ny * nz, std::max<std::size_t>(1, 4096 / nx), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const auto place = [](Index low, std::size_t n) {
        return static_cast<Real>(low) + (static_cast<Real>(n) + Real(0.5)) / 2;
      };
      const Real y = place(part.low[1], row % ny), z = flat ? Real(0.5) : place(part.low[2], row / ny);
      for (std::size_t i = 0; i < nx; ++i)
        point[row * nx + i] = m.low + m.h * Vec3(place(part.low[0], i), y, z);
    }
  });
  part.solid.shape->signed_distances(part.pose, point, outside);
  const Real per_width = 2 / m.h;
  parallel_for(outside.size(), 8192, [&](std::size_t begin, std::size_t end) {
    for (std::size_t q = begin; q < end; ++q)
      outside[q] = std::clamp(Real(0.5) + per_width * outside[q], Real(0), Real(1));
  });
}

/// Takes a part out of the grid.
void overlay(const Model& m, const Part& part, std::size_t number, LiquidBodies& b) {
  const GridShape& shape = m.shape;
  const SubCells sub(m, part, b);
  const bool flat = shape.is_flat();
  const Three whole = {2, 2, flat ? 1 : 2};
  const auto nx = static_cast<std::size_t>(part.high[0] - part.low[0]);
  const ItemBox box{part.low, part.high};
  for_rows(box, [&](Index j, Index k) {
    const std::size_t row =
        static_cast<std::size_t>(j - part.low[1]) + box.rows_y() * static_cast<std::size_t>(k - part.low[2]);
    auto* closed = b.closed.data() + part.first_item + row * nx;
    for (Index i = part.low[0]; i < part.high[0]; ++i, ++closed) {
      const Three item = {i, j, k}, corner = {2 * i, 2 * j, flat ? k : 2 * k};
      const std::size_t at = shape.index(i, j, k);
      *closed = {0, 0, 0};
      for (int c = 0; c < shape.dimensions(); ++c) {
        const auto a = static_cast<std::size_t>(c);
        Three first = corner;
        first[a] -= 1;
        const Real outside = sub.mean(first, whole);
        if (outside >= 1) continue;
        Real& open = b.open.along[a][at];
        const Real left = std::min(open, outside < sliver ? Real(0) : outside);
        if (!on_closed_side(m, c, item[a])) (*closed)[a] = open - left;
        open = left;
      }
      const Real around = sub.around(item);
      if (around >= 1) continue;
      b.capacity[at] *= around;
      const Real outside = sub.mean(corner, whole);
      if (outside >= 1) continue;
      std::uint16_t& of = b.part_at[at];
      const std::uint16_t half = outside < Real(0.5) ? covered : std::uint16_t{0};
      if ((of & ~covered) == 0 || half) of = static_cast<std::uint16_t>((of & covered) | half | (number + 1));
    }
  });
}

/// Closes faces that a part separates though it hardly fills them: they move with it as a whole.
void close_thin_part(const Model& m, const Part& part, LiquidBodies& b) {
  const GridShape& shape = m.shape;
  const auto nx = static_cast<std::size_t>(part.high[0] - part.low[0]);
  const ItemBox box{part.low, part.high};
  const auto for_faces = [&](auto&& f) {
    for_rows(box, [&](Index j, Index k) {
      const std::size_t row = static_cast<std::size_t>(j - part.low[1]) +
                              box.rows_y() * static_cast<std::size_t>(k - part.low[2]);
      auto* closed = b.closed.data() + part.first_item + row * nx;
      for (Index i = part.low[0]; i < part.high[0]; ++i, ++closed)
        for (int c = 0; c < shape.dimensions(); ++c) {
          const auto a = static_cast<std::size_t>(c);
          if (on_closed_side(m, c, Three{i, j, k}[a])) continue;
          f(b.open.along[a][shape.index(i, j, k)], (*closed)[a]);
        }
    });
  };
  // What is closed besides was open to the liquid before.
  for_faces([](Real open, Real& closed) { closed += open; });
  close_walls(shape, m.low, m.h, GridWall(*part.solid.shape, part.pose), b.open, periodic_axes(m));
  for_faces([](Real open, Real& closed) { closed -= open; });
}

void restore(const Model& m, LiquidBodies& b) {
  const GridShape& shape = m.shape;
  if (b.capacity.size() != shape.size()) {
    if (m.open[0].empty())
      b.open.assign(shape, 1);
    else
      b.open = m.open;
    b.capacity = m.capacity;
    b.part_at.assign(shape.size(), 0);
    b.changed.clear();
  }
  for (const std::array<std::array<Index, 3>, 2>& box : b.changed)
    for_rows(ItemBox{box[0], box[1]}, [&](Index j, Index k) {
      const auto &low = box[0], &high = box[1];
      const std::size_t first = shape.index(low[0], j, k);
      const auto n = static_cast<std::size_t>(high[0] - low[0]);
      for (int c = 0; c < shape.dimensions(); ++c) {
        Real* to = b.open.along[static_cast<std::size_t>(c)].data() + first;
        if (m.open[c].empty())
          std::fill_n(to, n, Real(1));
        else
          std::copy_n(m.open[c].data() + first, n, to);
      }
      std::copy_n(m.capacity.data() + first, n, b.capacity.data() + first);
      std::fill_n(b.part_at.data() + first, n, std::uint16_t{0});
    });
  b.changed.clear();
}

}  // namespace

void begin_bodies(const Model& m, const Liquid::State& s, Workspace& w, Real dt) {
  LiquidBodies& b = w.immersed;
  b.bodies.clear();
  b.parts.clear();
  b.pushes.clear();
  const Vec3 size = m.h * Vec3(static_cast<Real>(m.shape.cells[0]), static_cast<Real>(m.shape.cells[1]),
                               static_cast<Real>(m.shape.cells[2]));
  Aabb tank;
  tank.extend(m.low), tank.extend(m.low + size);
  for (std::size_t t = 0; t < b.told.size(); ++t) {
    const SolidBody& solid = b.told[t];
    Aabb way = solid.shape->bounds(solid.pose0);
    way.extend(solid.shape->bounds(solid.pose));
    way = way.grown(2 * m.h);
    int images = 0;
    for_images(m, way, 0, [&](const Vec3& shift) {
      if (((way.low + shift).array() > tank.high.array()).any() ||
          ((way.high + shift).array() < tank.low.array()).any() || b.parts.size() == most_parts)
        return;
      Part& part = b.parts.emplace_back();
      part.solid = solid;
      part.number = t;
      part.image = images++;
      part.shift = shift;
      part.pose = part.before = moved(solid.pose0, shift);
      part.is_thin = may_be_thin(*solid.shape, m.h);
    });
    if (images == 0) continue;
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
      of.centre = of.is_led ? solid.pose0.position : solid.centre;
      of.velocity = solid.velocity + solid.angular_velocity.cross(of.centre - solid.pose0.position);
      of.angular_velocity = solid.angular_velocity;
      of.acceleration = solid.acceleration;
      of.inverse_mass = solid.inverse_mass;
      of.inverse_inertia = solid.inverse_inertia;
      of.impulse = of.couple = Vector3<double>::Zero();
    }
    // What its solver made of its way is not quite what the liquid took it for.
    const auto at = std::lower_bound(s.part.begin(), s.part.end(), static_cast<Index>(t));
    const bool is_known = at != s.part.end() && *at == static_cast<Index>(t);
    const auto q = static_cast<std::size_t>(at - s.part.begin());
    for (std::size_t p = b.parts.size() - static_cast<std::size_t>(images); p < b.parts.size(); ++p) {
      Part& part = b.parts[p];
      part.body = body;
      if (!part.is_thin || !is_known) continue;
      part.before.position = s.part_position[q];
      part.before.rotation.coeffs() = s.part_rotation[q];
      part.before = moved(part.before, part.shift);
    }
  }
  for (Body& body : b.bodies) {
    if (body.is_led) continue;
    body.hold = s.holds.of(body.first, body.velocity, body.angular_velocity);
    body.acceleration += body.hold.reckoned / dt;
    body.angular_acceleration += body.hold.reckoned_turn / dt;
  }
  // Those of a body stand together; bodies come in the order of their first parts.
  std::sort(b.parts.begin(), b.parts.end(), [](const Part& p, const Part& q) {
    return std::tuple(p.body, p.number, p.image) < std::tuple(q.body, q.number, q.image);
  });
}

std::int64_t count_thin_parts(const Workspace& w) {
  return std::count_if(w.immersed.parts.begin(), w.immersed.parts.end(),
                       [](const Part& part) { return part.is_thin; });
}

double fastest_body(const Workspace& w, Real dt) {
  double most = 0;
  for (const Part& part : w.immersed.parts) {
    const Body& body = w.immersed.bodies[part.body];
    const SolidBody& solid = part.solid;
    Vec3 v = body.velocity + dt * body.acceleration, turning = body.angular_velocity;
    if (body.is_led) {
      v = (solid.pose.position - solid.pose0.position) / dt;
      turning = turn_between(solid.pose0.rotation, solid.pose.rotation) / dt;
    }
    Real speed = v.norm();
    if (const Real rate = turning.norm(); rate > 0) {
      const Aabb bounds = solid.shape->bounds(solid.pose0);
      speed += rate * ((bounds.centre() - body.centre).norm() + bounds.size().norm() / 2);
    }
    if (std::isfinite(speed)) most = std::max(most, static_cast<double>(speed));
  }
  return most;
}

void lead_bodies(Workspace& w, Real s) {
  for (Part& part : w.immersed.parts)
    if (w.immersed.bodies[part.body].is_led)
      part.pose = moved(between(part.solid.pose0, part.solid.pose, s), part.shift);
}

void place_bodies(const Model& m, Workspace& w, Real s, Real dt) {
  LiquidBodies& b = w.immersed;
  restore(m, b);
  // Bodies go by the mean of their velocities before the step and after. Buoyancy of where they were at its
  // start would amplify their bobbing by (omega dt)^2 / 4 a step; half-way the map of phase space has the
  // determinant 1, as the leapfrog's has (Hairer, Lubich & Wanner 2003, "Geometric numerical integration
  // illustrated by the Stoermer-Verlet method").
  move_bodies(w, dt / 2);
  lead_bodies(w, s);
  std::size_t sub_cells = 0, items = 0, most = 0;
  for (Part& part : b.parts) {
    find_items(m, part);
    if (is_empty(part)) part.high = part.low;
    const std::size_t n = count_items(part), subs = n * (m.shape.is_flat() ? 4 : 8);
    part.first = sub_cells, part.first_item = items;
    sub_cells += subs, items += n;
    most = std::max(most, subs);
  }
  if (b.point.size() < most) b.point.resize(most);
  if (b.outside.size() < sub_cells) b.outside.resize(sub_cells);
  if (b.closed.size() < items) b.closed.resize(items);
  for (std::size_t p = 0; p < b.parts.size(); ++p) {
    const Part& part = b.parts[p];
    if (is_empty(part)) continue;
    measure_sub_cells(m, part, b);
    overlay(m, part, p, b);
    b.changed.push_back({part.low, part.high});
    if (!part.is_thin) continue;
    close_thin_part(m, part, b);
    // Its surface may cross the faces next to its items.
    for (int c = 0; c < m.shape.dimensions(); ++c) {
      const auto a = static_cast<std::size_t>(c);
      b.changed.back()[0][a] = std::max(part.low[a] - 2, Index(-1));
      b.changed.back()[1][a] = std::min(part.high[a] + 2, m.shape.cells[a] + 2);
    }
  }
  if (const std::array<bool, 3> periodic = periodic_axes(m); any(periodic)) {
    join_sides(m, b.open);
    wrap_items<1>(m.shape, periodic, all_items(m.shape), b.capacity.data());
  }
}

void clear_bodies(const Model& m, Liquid::State& s, Workspace& w) {
  const LiquidBodies& b = w.immersed;
  const GridShape& shape = m.shape;
  const int dimensions = shape.dimensions();
  const Real inv_h = 1 / m.h, gap = Real(1e-3) * m.h;
  // The part whose cell a particle is in, or none.
  const auto part_of = [&](const Vec3& x) -> const Part* {
    std::array<Index, 3> cell{};
    for (int c = 0; c < dimensions; ++c) {
      const auto a = static_cast<std::size_t>(c);
      const Real g = (x[c] - m.low[c]) * inv_h;
      if (!(g >= 0 && g < static_cast<Real>(shape.cells[a]))) return nullptr;
      cell[a] = static_cast<Index>(g);
    }
    const auto number = static_cast<std::size_t>(b.part_at[shape.index(cell[0], cell[1], cell[2])] &
                                                 static_cast<std::uint16_t>(~covered));
    return number == 0 ? nullptr : &b.parts[number - 1];
  };
  if (s.time == 0) {
    std::size_t kept = 0;
    const bool affine = s.du.size() == s.x.size();
    for (std::size_t p = 0; p < s.x.size(); ++p) {
      const Part* const part = part_of(s.x[p]);
      if (part && part->solid.shape->signed_distance(part->pose.to_local(s.x[p])).distance < 0) continue;
      s.x[kept] = s.x[p], s.v[kept] = s.v[p];
      if (affine) s.du[kept] = s.du[p], s.dv[kept] = s.dv[p], s.dw[kept] = s.dw[p];
      ++kept;
    }
    s.x.resize(kept), s.v.resize(kept);
    if (affine) s.du.resize(kept), s.dv.resize(kept), s.dw.resize(kept);
    return;
  }
  parallel_for(s.x.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      Vec3& x = s.x[p];
      const Part* const part = part_of(x);
      if (!part) continue;
      const SignedDistance<Real> at = part->solid.shape->signed_distance(part->pose.to_local(x));
      if (!(at.distance < gap)) continue;
      Vec3 n = part->pose.rotation * at.normal;
      if (dimensions == 2) {
        n.z() = 0;
        const Real in_plane = n.norm();
        if (in_plane < Real(0.1)) continue;
        n /= in_plane;
      }
      const Body& body = b.bodies[part->body];
      const Vec3 solid = body.velocity + body.angular_velocity.cross(x - part->shift - body.centre);
      x += (gap - at.distance) * n;
      s.v[p] -= std::min((s.v[p] - solid).dot(n), Real(0)) * n;
      for (int c = 0; c < dimensions; ++c) {
        const auto a = static_cast<std::size_t>(c);
        if (m.is_closed(2 * a)) x[c] = std::max(x[c], m.low[c] + gap);
        if (m.is_closed(2 * a + 1))
          x[c] = std::min(x[c], m.low[c] + static_cast<Real>(shape.cells[a]) * m.h - gap);
      }
      x = wrapped(m, x);
    }
  });
}

void find_wall_parts(const Model& m, Workspace& w) {
  w.walls.assign(m.walls.begin(), m.walls.end());
  w.wall_parts.clear();
  const LiquidBodies& b = w.immersed;
  for (std::size_t p = 0; p < b.parts.size(); ++p)
    if (b.parts[p].is_thin && !is_empty(b.parts[p])) {
      w.walls.emplace_back(*b.parts[p].solid.shape, b.parts[p].pose);
      w.wall_parts.push_back(p);
    }
}

void for_wall_faces(const Model& m, const Workspace& w, FunctionRef<void(int, std::size_t, Real)> f) {
  const LiquidBodies& b = w.immersed;
  for (const Part& part : b.parts) {
    if (!part.is_thin || is_empty(part)) continue;
    const Body& body = b.bodies[part.body];
    const auto* closed = b.closed.data() + part.first_item;
    for (Index k = part.low[2]; k < part.high[2]; ++k)
      for (Index j = part.low[1]; j < part.high[1]; ++j)
        for (Index i = part.low[0]; i < part.high[0]; ++i, ++closed)
          for (int c = 0; c < m.shape.dimensions(); ++c) {
            const auto a = static_cast<std::size_t>(c);
            const std::size_t face = m.shape.index(i, j, k);
            if (!((*closed)[a] > 0) || b.open.along[a][face] > 0) continue;
            Vec3 arm = m.low - body.centre - part.shift +
                       m.h * Vec3(static_cast<Real>(i), static_cast<Real>(j), static_cast<Real>(k));
            for (int d = 0; d < 3; ++d)
              if (d != c) arm[d] += m.h / 2;
            f(c, face, (body.velocity + body.angular_velocity.cross(arm))[c]);
          }
  }
}

void sweep_thin_bodies(const Model& m, Liquid::State& s, Workspace& w) {
  // In the frame of a part a particle that stands goes the other way. The part's surface does not move
  // there, so that what no way crosses is never crossed, however the part turns.
  LiquidBodies& b = w.immersed;
  const bool flat = m.shape.is_flat();
  const Real gap = wall_gap * m.h;
  for (Part& part : b.parts) {
    const Pose before = part.before;
    part.before = part.pose;
    if (!part.is_thin || is_empty(part) ||
        (before.position == part.pose.position && before.rotation.coeffs() == part.pose.rotation.coeffs()))
      continue;
    const GridWall still(*part.solid.shape, Pose{});
    Aabb way = part.solid.shape->bounds(before);
    way.extend(part.solid.shape->bounds(part.pose));
    way = way.grown(m.h);
    const Body& body = b.bodies[part.body];
    parallel_for(s.x.size(), 4096, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) {
        Vec3& x = s.x[p];
        if ((x.array() < way.low.array()).any() || (x.array() > way.high.array()).any()) continue;
        const WallStop stop =
            stop_at_walls({&still, 1}, before.to_local(x), part.pose.to_local(x), gap, false);
        Vec3 to = part.pose * stop.x;
        if (flat) to.z() = x.z();
        if (stop.num_met == 0 && (to - x).squaredNorm() < gap * gap / 4) continue;
        for (int c = 0; c < m.shape.dimensions(); ++c) {
          const auto a = static_cast<std::size_t>(c);
          const Real high = m.low[c] + static_cast<Real>(m.shape.cells[a]) * m.h - gap;
          if (m.is_closed(2 * a)) to[c] = std::max(to[c], m.low[c] + gap);
          if (m.is_closed(2 * a + 1)) to[c] = std::min(to[c], high);
        }
        // Solids that stand are no way out.
        if (!m.walls.empty()) to = stop_at_walls(m.walls, x, to, gap, flat).x;
        const Vec3 solid = body.velocity + body.angular_velocity.cross(to - part.shift - body.centre);
        for (int met = 0; met < stop.num_met; ++met) {
          Vec3 n = part.pose.rotation * stop.normal[static_cast<std::size_t>(met)];
          if (flat) n.z() = 0;
          s.v[p] -= std::min((s.v[p] - solid).dot(n), Real(0)) * n;
        }
        x = wrapped(m, to);
      }
    });
  }
}

void find_sunk_cells(const Model& m, Workspace& w) {
  // A cell that is mostly the body's may hold no particle however deep it lies: it is air only if air can
  // come to it. Without these cells the pressure would end in a free surface within the body.
  LiquidBodies& b = w.immersed;
  const GridShape& shape = m.shape;
  b.sunk.clear();
  for (const Part& part : b.parts) {
    ItemBox box{part.low, part.high};
    for (int c = 0; c < shape.dimensions(); ++c) {
      const auto a = static_cast<std::size_t>(c);
      box.low[a] = std::max(box.low[a], w.solved.low[a]);
      box.high[a] = std::min(box.high[a], w.solved.high[a]);
    }
    for (Index k = box.low[2]; k < box.high[2]; ++k)
      for (Index j = box.low[1]; j < box.high[1]; ++j)
        for (Index i = box.low[0]; i < box.high[0]; ++i) {
          const std::size_t at = shape.index(i, j, k);
          if (w.liquid[at] || !(b.part_at[at] & covered)) continue;
          bool enclosed = true, any = false;
          const Three cell = {i, j, k};
          for (int c = 0; c < shape.dimensions() && enclosed; ++c)
            for (int upper = 0; upper < 2; ++upper) {
              const auto a = static_cast<std::size_t>(c);
              const Index along = cell[a] + upper;
              const std::size_t face = at + (upper ? static_cast<std::size_t>(shape.stride(c)) : 0);
              if (on_closed_side(m, c, along) || !(b.open[c][face] > 0)) continue;
              const bool beyond = !w.wraps[a] && (along == 0 || along == shape.cells[a]);
              const std::size_t other = upper ? face : at - static_cast<std::size_t>(shape.stride(c));
              enclosed = enclosed && !beyond && (w.liquid[other] || (b.part_at[other] & covered));
              any = true;
            }
          if (enclosed && any) b.sunk.push_back(static_cast<std::uint32_t>(at));
        }
  }
  for (const std::uint32_t at : b.sunk) w.liquid[at] = 1;
  wrap_liquid(m, w);
}

void find_led_velocities(Workspace& w, Real dt, Real s0, Real s1) {
  LiquidBodies& b = w.immersed;
  for (std::size_t p = b.parts.size(); p-- > 0;) {
    const Part& part = b.parts[p];
    Body& body = b.bodies[part.body];
    if (!body.is_led) continue;
    const Pose from = between(part.solid.pose0, part.solid.pose, s0),
               to = between(part.solid.pose0, part.solid.pose, s1);
    body.centre = from.position;
    body.velocity = (to.position - from.position) / dt;
    body.angular_velocity = turn_between(from.rotation, to.rotation) / dt;
  }
}

void move_bodies(Workspace& w, Real dt) {
  LiquidBodies& b = w.immersed;
  for (Part& part : b.parts) {
    const Body& body = b.bodies[part.body];
    if (body.is_led) continue;
    const Quat turn = turned<Real>(Quat::Identity(), Vec3(dt * body.angular_velocity));
    const Vec3 centre = body.centre + part.shift;
    part.pose.position = centre + dt * body.velocity + turn * (part.pose.position - centre);
    part.pose.rotation = (turn * part.pose.rotation).normalized();
  }
  for (Body& body : b.bodies)
    if (!body.is_led) body.centre += dt * body.velocity;
}

void end_bodies(Liquid::State& s, Workspace& w) {
  LiquidBodies& b = w.immersed;
  s.holds.clear();
  for (const Body& body : b.bodies)  // in the order of their first parts
    if (!body.is_led) s.holds.add(body.first, body.velocity, body.angular_velocity, body.hold);
  b.thin.clear();
  for (std::size_t p = 0; p < b.parts.size(); ++p)
    if (b.parts[p].is_thin) b.thin.push_back(p);
  std::sort(b.thin.begin(), b.thin.end(),
            [&](std::size_t p, std::size_t q) { return b.parts[p].number < b.parts[q].number; });
  // Images go as one of them does.
  b.thin.erase(
      std::unique(b.thin.begin(), b.thin.end(),
                  [&](std::size_t p, std::size_t q) { return b.parts[p].number == b.parts[q].number; }),
      b.thin.end());
  s.part.clear(), s.part_position.clear(), s.part_rotation.clear();
  for (const std::size_t p : b.thin) {
    s.part.push_back(static_cast<Index>(b.parts[p].number));
    s.part_position.push_back(moved(b.parts[p].before, -b.parts[p].shift).position);
    s.part_rotation.push_back(b.parts[p].before.rotation.coeffs());
  }
  b.seen.clear();
  for (const Part& part : b.parts)
    if (!is_empty(part) && part.solid.shape->bounds().size().allFinite())
      b.seen.emplace_back(*part.solid.shape, part.pose);
  for (const Body& body : b.bodies) {
    if (body.impulse.isZero(0) && body.couple.isZero(0)) continue;
    const SolidBody& solid = b.told[static_cast<std::size_t>(body.first)];
    b.pushes.push_back({.body = body.first,
                        .impulse = body.impulse.cast<Real>(),
                        .point = body.is_led ? solid.pose0.position : solid.centre,
                        .couple = body.couple.cast<Real>(),
                        .spread = true});
  }
}

}}  // namespace plenum::inline PLENUM_ABI::detail
