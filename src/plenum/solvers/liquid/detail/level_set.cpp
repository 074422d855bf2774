// The stages that are another's where a level set and not particles says where the liquid is.
//
// Osher & Sethian 1988, "Fronts propagating with curvature-dependent speed"; Foster & Fedkiw 2001, "Practical
// animation of liquids"; Enright, Marschner & Fedkiw 2002, "Animation and rendering of complex water
// surfaces": velocities are projected where phi is negative, go on beyond the surface, and carry phi,
// particles beside its zero, and themselves.
#include "plenum/solvers/liquid/detail/level_set.h"

#include <fmt/format.h>

#include <limits>

#include "plenum/base/error.h"
#include "plenum/solvers/liquid/detail/emit.h"
#include "plenum/solvers/liquid/detail/seam.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using Model = Liquid::Model;
using State = Liquid::State;
using Workspace = Liquid::Workspace;
using MirrorWorkspace = Liquid::MirrorWorkspace;

/// Parts of steps from one seeding of the correcting particles to the next. Enright et al. 2002, section 3.5,
/// ask for it where the surface has been stretched; in fewer parts it is by little.
constexpr std::uint64_t parts_between_seeds = 10;
/// Steps of redistancing where a shape was joined to phi, which is a distance elsewhere.
constexpr int redistancing_steps = 5;

LevelSetBox box_of(const Model& m) {
  return {m.shape, m.low, m.h};
}
GridBox sides_of(const Model& m) {
  GridBox box;
  for (std::size_t side = 0; side < 6; ++side) {
    switch (m.sides[side].kind) {
      case Liquid::Side::Kind::free_slip:
        box.sides[side] = GridSide::free_slip;
        break;
      case Liquid::Side::Kind::no_slip:
        box.sides[side] = GridSide::no_slip;
        break;
      case Liquid::Side::Kind::outflow:
        box.sides[side] = GridSide::outflow;
        break;
      case Liquid::Side::Kind::periodic:
        box.sides[side] = GridSide::periodic;
        break;
    }
    box.velocity[side] = m.sides[side].velocity;
  }
  return box;
}

/// Linear between items around a place [cells from the low corner]; the first item of a cell stands at
/// `offset` in it. The place is in the box.
Real between_items(const GridShape& shape, const Real* q, const Vec3& place, const Vec3& offset) {
  std::array<Index, 3> at = {};
  std::array<Real, 3> part = {};
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    const Real to = place[c] - offset[c];
    at[a] = std::clamp(static_cast<Index>(std::floor(to)), Index{-1}, shape.cells[a]);
    part[a] = std::clamp(to - static_cast<Real>(at[a]), Real(0), Real(1));
  }
  const std::size_t first = shape.index(at[0], at[1], at[2]);
  Real sum = 0;
  for (int corner = 0; corner < 1 << shape.dimensions(); ++corner) {
    Real weight = 1;
    std::size_t item = first;
    for (int c = 0; c < shape.dimensions(); ++c) {
      const bool up = (corner >> c & 1) != 0;
      const Real f = part[static_cast<std::size_t>(c)];
      weight *= up ? f : 1 - f;
      if (up) item += static_cast<std::size_t>(shape.stride(c));
    }
    if (weight > 0) sum += weight * q[item];
  }
  return sum;
}

/// A liquid goes on beyond sides as in a mirror. A side where it would end is not a surface of it, though the
/// distance to what fills the box be zero there.
void extend_phi(const Model& m, std::span<Real> phi) {
  extend(m.shape, Beyond::mirrored, phi);
}

const Vec3 middle = Vec3::Constant(Real(0.5));

Vec3 place_of(const Model& m, Index i, Index j, Index k, const Vec3& offset) {
  Vec3 cells(static_cast<Real>(i), static_cast<Real>(j), static_cast<Real>(k));
  cells += offset;
  if (m.shape.is_flat()) cells.z() = Real(0.5);
  return m.low + m.h * cells;
}

template <class F>
void for_cells(const GridShape& shape, F&& f) {
  for (Index k = 0; k < shape.cells[2]; ++k)
    for (Index j = 0; j < shape.cells[1]; ++j)
      for (Index i = 0; i < shape.cells[0]; ++i) f(shape.index(i, j, k), i, j, k);
}

/// Centres in a solid, as far as the surface's band reaches, and where each is mirrored to: before the solid
/// the surface goes on in it as in a mirror and meets it squarely, as it does those of particles
/// (geometry.cpp). `depth` [shape.size()] is how deep a centre is in solids so far, no less than zero.
void add_mirrors(const Model& m, const Shape& solid, const Pose& pose, const ItemBox& cells,
                 MirrorWorkspace& work, std::vector<Model::Mirror>& mirrors) {
  const GridShape& shape = m.shape;
  if (cells.low[0] >= cells.high[0]) return;
  const auto n = static_cast<std::size_t>(cells.high[0] - cells.low[0]);
  work.x.resize(n), work.normal.resize(n), work.distance.resize(n);
  work.depth.resize(shape.size());
  for (Index k = cells.low[2]; k < cells.high[2]; ++k)
    for (Index j = cells.low[1]; j < cells.high[1]; ++j) {
      for (std::size_t i = 0; i < n; ++i)
        work.x[i] = place_of(m, cells.low[0] + static_cast<Index>(i), j, k, middle);
      solid.signed_distances(pose, work.x, work.distance, work.normal);
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t item = shape.index(cells.low[0] + static_cast<Index>(i), j, k);
        const Real distance = work.distance[i];
        // Of two solids that overlap the deeper one's surface is the farther and the liquid's: it comes
        // later.
        if (!(distance < -work.depth[item]) || distance < -level_set_band * m.h) continue;
        work.depth[item] = -distance;
        Vec3 place = (work.x[i] - 2 * distance * work.normal[i] - m.low) / m.h;
        for (int c = 0; c < 3; ++c)
          place[c] =
              std::clamp(place[c], Real(0), static_cast<Real>(shape.cells[static_cast<std::size_t>(c)]));
        mirrors.push_back({static_cast<std::uint32_t>(item), place});
      }
    }
}

void mirror_in_solids(const Model& m, std::span<const Model::Mirror> mirrors, std::vector<Real>& image,
                      std::span<Real> phi) {
  if (mirrors.empty()) return;
  image.resize(mirrors.size());
  parallel_for(mirrors.size(), 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t n = begin; n < end; ++n)
      image[n] = between_items(m.shape, phi.data(), mirrors[n].place, middle);
  });
  for (std::size_t n = 0; n < mirrors.size(); ++n) phi[mirrors[n].item] = image[n];
  extend_phi(m, phi);
}

/// [m] Signed distance of a centre to where f(place) changes, from where it does so on the ways to the
/// centres beside it: that to the plane through these places. It knows of no change beyond the box, as sides
/// of it are no surface. `in(i, j, k)` is f at centres; without a change beside it the distance is `deep`.
template <class In, class F>
Real distance_to_change(const Model& m, Index i, Index j, Index k, Real deep, In&& in, F&& f) {
  const bool here = in(i, j, k);
  const std::array<Index, 3> cell = {i, j, k};
  Real sum = 0;
  for (int c = 0; c < m.shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    Real least = 2;  // [cells]
    for (const Index side : {-1, 1}) {
      std::array<Index, 3> other = cell;
      other[a] += side;
      if (other[a] < 0 || other[a] >= m.shape.cells[a] || in(other[0], other[1], other[2]) == here) continue;
      Real low = 0, high = 1;
      for (int halving = 0; halving < 16; ++halving) {
        const Real half = (low + high) / 2;
        Vec3 offset = middle;
        offset[c] += static_cast<Real>(side) * half;
        (f(place_of(m, i, j, k, offset)) == here ? low : high) = half;
      }
      least = std::min(least, (low + high) / 2);
    }
    if (least < 2) sum += 1 / (least * least);
  }
  const Real distance = sum > 0 ? m.h / std::sqrt(sum) : deep;
  return here ? -distance : distance;
}

bool is_liquid(const std::vector<Real>& capacity, Real phi, std::size_t item) {
  return phi < 0 && capacity[item] > least_capacity;
}

/// Velocity of items within a shape.
template <class InShape>
void set_velocity(const Model& m, const ItemBox& cells, const Vec3& velocity, InShape&& in_shape,
                  FaceField& out) {
  for (int c = 0; c < m.shape.dimensions(); ++c) {
    Vec3 offset = middle;
    offset[c] = 0;
    ItemBox faces = cells;
    ++faces.high[static_cast<std::size_t>(c)];
    for (Index k = faces.low[2]; k < faces.high[2]; ++k)
      for (Index j = faces.low[1]; j < faces.high[1]; ++j)
        for (Index i = faces.low[0]; i < faces.high[0]; ++i)
          if (in_shape(place_of(m, i, j, k, offset)))
            out.along[static_cast<std::size_t>(c)][m.shape.index(i, j, k)] = velocity[c];
  }
}

/// Takes out the particles in cells whose phi was given anew: what they know is of before.
void forget_changed(const Model& m, std::span<const Real> before, State& s) {
  TrackerParticles& particles = s.correction;
  std::size_t kept = 0;
  for (std::size_t p = 0; p < particles.size(); ++p) {
    std::array<Index, 3> cell;
    if (find_cell(m, particles.x[p], cell)) {
      const std::size_t item = m.shape.index(cell[0], cell[1], cell[2]);
      if (before[item] != s.phi[item]) continue;
    }
    particles.x[kept] = particles.x[p];
    particles.radius[kept] = particles.radius[p];
    particles.sign[kept] = particles.sign[p];
    ++kept;
  }
  particles.x.resize(kept), particles.radius.resize(kept), particles.sign.resize(kept);
}

}  // namespace

double level_set_volume(const Model& m, const State& s, const Workspace* w) {
  const WetParts wet(m, s, w);
  const double cells = sum_over_rows(ItemBox{{0, 0, 0}, m.shape.cells}, [&](Index j, Index k) {
    const std::size_t row = m.shape.index(0, j, k);
    Real sum = 0;
    for (std::size_t item = row; item < row + static_cast<std::size_t>(m.shape.cells[0]); ++item)
      sum += wet.of(item);
    return static_cast<double>(sum);
  });
  const auto h = static_cast<double>(m.h);
  return cells * h * h * (m.shape.is_flat() ? 1 : h);
}

void mirror_in_bodies(const Model& m, State& s, Workspace& w) {
  w.body_mirrors.clear();
  // As many as are items of bodies, which differ little from step to step, and some more.
  if (w.body_mirrors.capacity() < w.immersed.closed.size()) {
    w.body_mirrors.reserve(2 * w.immersed.closed.size());
    w.image.reserve(2 * w.immersed.closed.size());
  }
  for (const LiquidBodies::Part& part : w.immersed.parts) {
    ItemBox cells{part.low, part.high};
    for (std::size_t a = 0; a < 3; ++a) {
      // Items were found where it was half-way through its way.
      cells.low[a] = std::clamp(cells.low[a] - 2, Index{0}, m.shape.cells[a]);
      cells.high[a] = std::clamp(cells.high[a] + 2, Index{0}, m.shape.cells[a]);
    }
    if (part.low[0] < part.high[0])
      add_mirrors(m, *part.solid.shape, part.pose, cells, w.mirroring, w.body_mirrors);
  }
  for (const Model::Mirror& mirror : w.body_mirrors) w.mirroring.depth[mirror.item] = 0;
  mirror_in_solids(m, w.body_mirrors, w.image, s.phi);
}

Vec3 velocity_at(const Model& m, const State& s, const Vec3& x) {
  Vec3 u = Vec3::Zero(), place = (x - m.low) / m.h;
  for (int c = 0; c < m.shape.dimensions(); ++c)
    place[c] = std::clamp(place[c], Real(0), static_cast<Real>(m.shape.cells[static_cast<std::size_t>(c)]));
  for (int c = 0; c < m.shape.dimensions(); ++c) {
    Vec3 offset = middle, to = place;
    offset[c] = 0;
    // Beyond the last centres there is nothing but what sides make of it.
    for (int a = 0; a < m.shape.dimensions(); ++a)
      if (a != c)
        to[a] = std::clamp(to[a], Real(0.5),
                           static_cast<Real>(m.shape.cells[static_cast<std::size_t>(a)]) - Real(0.5));
    u[c] = between_items(m.shape, s.velocity[c].data(), to, offset);
  }
  return u;
}

void fill_level_set(const Liquid::Spec& spec, Model& m, State& s) {
  const GridShape& shape = m.shape;
  const Real band = level_set_band * m.h;
  s.phi.assign(shape.size(), band);
  s.velocity.assign(shape, 0);
  m.mirrors.clear();
  MirrorWorkspace mirrors;
  for (const GridSolid& solid : m.solids)
    add_mirrors(m, solid.solid(), solid.pose(), ItemBox{{0, 0, 0}, shape.cells}, mirrors, m.mirrors);
  std::vector<Shape> shapes;
  for (const LiquidFill& fill : spec.fill) shapes.push_back(fill.solid());
  std::vector<std::uint8_t> is_filled(shape.size(), 0);
  std::vector<Vec3> x(static_cast<std::size_t>(shape.cells[0]));
  std::vector<Real> distance(x.size());
  for (std::size_t f = 0; f < spec.fill.size(); ++f) {
    const Pose pose = spec.fill[f].pose();
    bool any = false;
    for (Index k = 0; k < shape.cells[2]; ++k)
      for (Index j = 0; j < shape.cells[1]; ++j) {
        for (Index i = 0; i < shape.cells[0]; ++i)
          x[static_cast<std::size_t>(i)] = place_of(m, i, j, k, middle);
        shapes[f].signed_distances(pose, x, distance);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t item = shape.index(static_cast<Index>(i), j, k);
          if (!(distance[i] < 0) || is_filled[item] != 0) continue;
          is_filled[item] = 1;
          any = any || m.capacity[item] > least_capacity;
        }
      }
    if (!any)
      throw Error(Problem{.key = fmt::format("fill[{}]", f),
                          .what = "holds no centre of a cell that is not filled or solid already",
                          .remedy = "move it into the box, make it larger, or take it out"});
    Vec3 velocity = spec.fill[f].velocity;
    if (shape.is_flat()) velocity.z() = 0;
    // Beyond the surface too, as velocities go on there.
    if (!velocity.isZero(0))
      set_velocity(
          m, ItemBox{{0, 0, 0}, shape.cells}, velocity,
          [&](const Vec3& at) { return shapes[f].signed_distance(pose.to_local(at)).distance < band; },
          s.velocity);
  }
  const auto is_in = [&](Index i, Index j, Index k) { return is_filled[shape.index(i, j, k)] != 0; };
  const auto fills = [&](const Vec3& at) {
    for (std::size_t f = 0; f < shapes.size(); ++f)
      if (shapes[f].signed_distance(spec.fill[f].pose().to_local(at)).distance < 0) return true;
    return false;
  };
  for_cells(shape, [&](std::size_t item, Index i, Index j, Index k) {
    s.phi[item] = distance_to_change(m, i, j, k, band, is_in, fills);
  });
  RedistanceWorkspace work;
  std::vector<Real> image;
  extend_phi(m, s.phi);
  redistance(shape, m.h, band, s.phi, work, 0, Beyond::mirrored);
  mirror_in_solids(m, m.mirrors, image, s.phi);
  s.volume_wanted = level_set_volume(m, s);
  TrackerWorkspace tracking;
  if (m.tracker == Liquid::Tracker::particle_level_set)
    seed_particles(box_of(m), s.phi, m.per_cell(), 0, s.correction, tracking);
}

void emit_to_level_set(const Model& m, const Liquid::Params& params, State& s, Workspace& w) {
  bool inlets = false;
  for (const Real part : w.inflow) inlets = inlets || part > 0;
  const auto flows = [&](const LiquidSource& source) {
    return s.time >= static_cast<double>(source.start) && s.time < static_cast<double>(source.stop);
  };
  if (!inlets && std::none_of(params.sources.begin(), params.sources.end(), flows)) return;
  const double before = level_set_volume(m, s, &w);
  w.before.assign(s.phi.begin(), s.phi.end());
  bool changed = false;
  const auto join = [&](std::size_t item, Real distance) {
    if (distance >= s.phi[item]) return;
    s.phi[item] = std::max(distance, -level_set_band * m.h);
    changed = true;
  };
  for (const LiquidSource& source : params.sources) {
    if (!flows(source)) continue;
    const Shape solid = source.solid();
    const Pose pose = source.pose();
    Aabb bounds = solid.bounds(pose);
    const Vec3 around = Vec3::Constant(m.h);
    const ItemBox cells = cells_around(m, {bounds.low - around, bounds.high + around});
    const auto fills = [&](const Vec3& x) { return solid.signed_distance(pose.to_local(x)).distance < 0; };
    const auto is_in = [&](Index i, Index j, Index k) { return fills(place_of(m, i, j, k, middle)); };
    for (Index k = cells.low[2]; k < cells.high[2]; ++k)
      for (Index j = cells.low[1]; j < cells.high[1]; ++j)
        for (Index i = cells.low[0]; i < cells.high[0]; ++i)
          join(m.shape.index(i, j, k), distance_to_change(m, i, j, k, m.h, is_in, fills));
    Vec3 velocity = source.velocity;
    if (m.shape.is_flat()) velocity.z() = 0;
    // What flows out of it into air does so as a whole, and not torn by the air beside it that stood.
    const auto flows_out = [&](const Vec3& x) {
      const Real distance = solid.signed_distance(pose.to_local(x)).distance;
      return distance < 0 ||
             (distance < m.h && between_items(m.shape, w.before.data(), (x - m.low) / m.h, middle) > 0);
    };
    set_velocity(m, cells, velocity, flows_out, s.velocity);
  }
  for (const Liquid::InletFace& face : m.inlet_faces) {
    if (!(w.inflow[face.inlet] > 0)) continue;
    const auto [i, j, k] = face.cell;
    const Real part = part_let_through(m, w, face);
    if (!(part > 0)) continue;
    join(m.shape.index(i, j, k), m.h * (Real(0.5) - part));
    for (int c = 0; c < m.shape.dimensions(); ++c) {
      const Real u = w.inflow[face.inlet] * m.inlets[face.inlet].velocity[c];
      const std::size_t item = m.shape.index(i, j, k);
      Real* const faces = s.velocity.along[static_cast<std::size_t>(c)].data();
      if (s.phi[item] > -m.h) faces[item] = faces[item + static_cast<std::size_t>(m.shape.stride(c))] = u;
    }
  }
  if (!changed) return;
  forget_changed(m, w.before, s);
  extend_phi(m, s.phi);
  redistance(m.shape, m.h, level_set_band * m.h, s.phi, w.tracking.redistancing, redistancing_steps,
             Beyond::mirrored);
  mirror_in_solids(m, m.mirrors, w.image, s.phi);
  mirror_in_bodies(m, s, w);
  s.volume_wanted += level_set_volume(m, s, &w) - before;
}

double fastest_of_level_set(const Model& m, const State& s) {
  const GridShape& shape = m.shape;
  const ItemBox box{{0, 0, 0}, shape.cells};
  return std::sqrt(ordered_reduce(
      box.rows(), box.block(), 0.0,
      [&](std::size_t begin, std::size_t end) {
        Real most = 0;
        for (std::size_t row = begin; row < end; ++row) {
          const std::size_t first =
              shape.index(0, static_cast<Index>(row % box.rows_y()), static_cast<Index>(row / box.rows_y()));
          for (std::size_t item = first; item < first + static_cast<std::size_t>(shape.cells[0]); ++item) {
            if (s.phi[item] > m.h) continue;
            Real square = 0;
            for (int c = 0; c < shape.dimensions(); ++c) {
              const Real* u = s.velocity[c].data() + item;
              const Real a = u[0], b = u[shape.stride(c)];
              square += std::max(a * a, b * b);
            }
            most = std::max(most, square);
          }
        }
        return static_cast<double>(most);
      },
      [](double a, double b) { return std::max(a, b); }));
}

void load_level_set(const Model& m, const State& s, Workspace& w) {
  const GridShape& shape = m.shape;
  CellWindow occupied{shape.cells, {0, 0, 0}};
  const std::vector<Real>& capacity = capacities(m, w);
  w.liquid.resize(shape.size());
  std::fill(w.liquid.begin(), w.liquid.end(), std::uint8_t{0});
  for_cells(shape, [&](std::size_t item, Index i, Index j, Index k) {
    if (!is_liquid(capacity, s.phi[item], item)) return;
    w.liquid[item] = 1;
    const std::array<Index, 3> cell = {i, j, k};
    for (std::size_t a = 0; a < 3; ++a) {
      occupied.low[a] = std::min(occupied.low[a], cell[a]);
      occupied.high[a] = std::max(occupied.high[a], cell[a] + 1);
    }
  });
  if (occupied.low[0] >= occupied.high[0]) occupied = {};
  // Phi and velocities are of the whole box.
  set_windows(m, occupied, std::max({shape.cells[0], shape.cells[1], shape.cells[2]}), w);
  w.crowd.resize(shape.size());
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    w.pairs[a].resize(2 * shape.size());
    w.carry[a].resize(shape.size());
    const Real* const u = s.velocity[c].data();
    Real *const pair = w.pairs[a].data(), *const carry = w.carry[a].data();
    parallel_for(shape.size(), 1 << 14, [&](std::size_t begin, std::size_t end) {
      for (std::size_t item = begin; item < end; ++item)
        pair[2 * item] = u[item], pair[2 * item + 1] = 1, carry[item] = 0;
    });
  }
}

namespace {

/// What lies on an open side and reaches no centre has no pressure that would move it, and has left.
void drain_films(const Model& m, State& s) {
  for (int c = 0; c < m.shape.dimensions(); ++c)
    for (const bool high : {false, true}) {
      const auto a = static_cast<std::size_t>(c);
      if (!m.is_open(2 * a + (high ? 1 : 0))) continue;
      ItemBox side{{0, 0, 0}, m.shape.cells};
      side.low[a] = high ? m.shape.cells[a] - 1 : 0, side.high[a] = side.low[a] + 1;
      const std::ptrdiff_t inwards = (high ? -1 : 1) * m.shape.stride(c);
      for_rows(side, [&](Index j, Index k) {
        for (Index i = side.low[0]; i < side.high[0]; ++i) {
          Real* const phi = s.phi.data() + m.shape.index(i, j, k);
          if (*phi >= 0 && phi[inwards] >= 0) *phi = std::max(*phi, m.h / 2);
        }
      });
    }
}

}  // namespace

void count_passing(const Model& m, State& s, const Workspace& w, Real dt) {
  const GridShape& shape = m.shape;
  double passes = 0;  // [m/s] times faces, out of the box
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    for (const bool high : {false, true}) {
      if (!m.is_open(2 * a + (high ? 1 : 0))) continue;
      ItemBox side{{0, 0, 0}, shape.cells};
      side.low[a] = high ? shape.cells[a] - 1 : 0, side.high[a] = side.low[a] + 1;
      for (Index k = side.low[2]; k < side.high[2]; ++k)
        for (Index j = side.low[1]; j < side.high[1]; ++j)
          for (Index i = side.low[0]; i < side.high[0]; ++i) {
            const std::size_t cell = shape.index(i, j, k),
                              face = cell + (high ? static_cast<std::size_t>(shape.stride(c)) : 0);
            if (!w.liquid[cell]) continue;
            const Real open = m.open[c].empty() ? Real(1) : m.open[c][face];
            passes += static_cast<double>((high ? 1 : -1) * open * w.pairs[a][2 * face]);
          }
    }
  }
  for (const Liquid::InletFace& face : m.inlet_faces)
    if (w.inflow[face.inlet] > 0 && w.liquid[m.shape.index(face.cell[0], face.cell[1], face.cell[2])])
      passes -= static_cast<double>(std::abs(part_let_through(m, w, face) * w.inflow[face.inlet] *
                                             m.inlets[face.inlet].velocity[face.axis]));
  const auto h = static_cast<double>(m.h);
  s.volume_wanted -= passes * static_cast<double>(dt) * h * (shape.is_flat() ? 1 : h);
  // What leaves is counted by whole faces of cells: the last drops of a flow that has left would swell to
  // what that is wrong by.
  bool is_open = false;
  for (std::size_t side = 0; side < 6; ++side) is_open = is_open || m.is_open(side);
  if (!is_open) return;
  const double volume = level_set_volume(m, s, &w);
  s.volume_wanted =
      std::clamp(s.volume_wanted, volume / (1 + most_volume_excess), volume / (1 - most_volume_excess));
}

namespace {

/// What faces have, with ghosts that go on as what is beside them where no stage has set any.
void copy_faces(const GridShape& shape, int c, const Real* from, std::size_t numbers, std::vector<Real>& to) {
  to.resize(shape.size());
  parallel_for(shape.size(), 1 << 14, [&](std::size_t begin, std::size_t end) {
    for (std::size_t item = begin; item < end; ++item) to[item] = from[numbers * item];
  });
  const auto set_plane = [&](int axis, Index at, Index like) {
    const auto a = static_cast<std::size_t>(axis);
    ItemBox plane = all_items(shape);
    plane.low[a] = at, plane.high[a] = at + 1;
    const std::ptrdiff_t way = (like - at) * shape.stride(axis);
    for_rows(plane, [&](Index j, Index k) {
      for (Index i = plane.low[0]; i < plane.high[0]; ++i) {
        const auto item = static_cast<std::ptrdiff_t>(shape.index(i, j, k));
        to[static_cast<std::size_t>(item)] = to[static_cast<std::size_t>(item + way)];
      }
    });
  };
  for (int axis = 0; axis < shape.dimensions(); ++axis) {
    const Index n = shape.cells[static_cast<std::size_t>(axis)];
    if (axis == c) set_plane(axis, -1, 0);
    set_plane(axis, n + 1, n);
  }
}

}  // namespace

void carry_level_set(const Model& m, State& s, const Liquid::Params& params, Workspace& w, Real dt,
                     Report& report) {
  const StageTimer timer(report.stages, "advection");
  const GridShape& shape = m.shape;
  const GridBox box = sides_of(m);
  const Real step = dt / m.h;
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    copy_faces(shape, c, w.carry[a].data(), 1, w.flow.along[a]);
    copy_faces(shape, c, w.pairs[a].data(), 2, w.carried.along[a]);
  }
  for (int c = 0; c < shape.dimensions(); ++c)
    advect(shape, box, w.flow, step, params.advection, params.trace,
           {c, w.carried[c], s.velocity.along[static_cast<std::size_t>(c)]}, w.tracking.advection,
           [&](std::span<Real> q) { fill_component_ghosts(shape, box, c, q); });
  const bool corrected = m.tracker == Liquid::Tracker::particle_level_set;
  carry_surface(box_of(m), box, w.flow, dt,
                {.beyond = Beyond::mirrored, .outside = Outside::empty, .band = level_set_band}, s.phi,
                corrected ? &s.correction : nullptr, w.tracking);
  mirror_in_solids(m, m.mirrors, w.image, s.phi);
  mirror_in_bodies(m, s, w);
  drain_films(m, s);
  ++s.num_parts;
  if (!corrected) return;
  if (s.num_parts % parts_between_seeds == 0)
    seed_particles(box_of(m), s.phi, m.per_cell(), s.num_parts, s.correction, w.tracking.particles,
                   Outside::empty);
  fit_radii(box_of(m), s.phi, s.correction);
}

}}  // namespace plenum::inline PLENUM_ABI::detail
